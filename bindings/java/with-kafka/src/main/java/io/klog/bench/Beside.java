package io.klog.bench;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.ChainedOptionsBuilder;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

/**
 * C, klog over JNI, klog over java.lang.foreign and Kafka's own log take turns at the same work, and the best of each counts:
 * the machine's moods hit all of them. Prints a table, and fails above the bounds that the binding promises.
 *
 * <p>Arguments: the program beside.c, and how many turns.
 */
public final class Beside {
    /** Of what C's record costs. */
    private static final Map<String, Double> BOUNDS = Map.of("append", 2.0, "scan", 1.5);
    /** Bytes a record that the collector has to take: what a call leaves, shared by its records. */
    private static final double ALLOCATED_MAX = 0.5;
    /** Many and short, as C's rounds are: some of them are not interrupted by what else the machine does. */
    private static final int SHORT_ITERATIONS = 40;
    private static final List<String> CONTESTANTS = List.of("c", "jni", "ffm", "kafka");

    /** The best of each contestant, by the name of the work. */
    private final Map<String, Map<String, Double>> best = new LinkedHashMap<>();
    private final Map<String, Map<String, Double>> allocated = new LinkedHashMap<>();

    private Beside() {
        for (String contestant : CONTESTANTS) {
            best.put(contestant, new TreeMap<>());
            allocated.put(contestant, new TreeMap<>());
        }
    }

    /** Runs all. */
    public static void main(String[] args) throws Exception {
        Beside beside = new Beside();
        boolean foreign = Runtime.version().feature() >= 22;
        for (int turn = Integer.parseInt(args[1]); turn > 0; turn--) {
            beside.runC(args[0]);
            beside.run("jni", KlogBenchmark.class, "-Dklog.backend=jni");
            if (foreign) {
                beside.run("ffm", KlogBenchmark.class, "-Dklog.backend=ffm");
            }
            beside.run("kafka", KafkaBenchmark.class);
        }
        System.exit(beside.report() ? 0 : 1);
    }

    private void runC(String program) throws IOException, InterruptedException {
        Path dir = Scratch.directory();
        Process process = new ProcessBuilder(program, dir.toString(), "5").redirectError(ProcessBuilder.Redirect.INHERIT).start();
        try (BufferedReader lines = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                String[] words = line.split(" ");
                best.get("c").merge(words[0], Double.valueOf(words[1]), Math::min);
            }
        }
        if (process.waitFor() != 0) {
            throw new IOException(program + " failed");
        }
        Scratch.remove(dir);
    }

    private void run(String contestant, Class<?> work, String... options) throws RunnerException {
        ChainedOptionsBuilder how = options(work).forks(1).warmupIterations(4).warmupTime(TimeValue.milliseconds(500))
                .measurementIterations(SHORT_ITERATIONS).measurementTime(TimeValue.milliseconds(30)).jvmArgsAppend(options);
        if (Runtime.version().feature() >= 24) {
            // The second for JMH itself.
            how.jvmArgsPrepend("--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow");
        }
        take(contestant, new Runner(how.build()).run());
    }

    static ChainedOptionsBuilder options(Class<?> work) {
        return new OptionsBuilder().include(work.getName()).addProfiler(GCProfiler.class).verbosity(VerboseMode.SILENT);
    }

    private void take(String contestant, Collection<RunResult> results) {
        for (RunResult result : results) {
            String work = result.getPrimaryResult().getLabel();
            best.get(contestant).merge(work, result.getPrimaryResult().getStatistics().getMin(), Math::min);
            for (Result<?> more : result.getSecondaryResults().values()) {
                if (more.getLabel().endsWith("gc.alloc.rate.norm")) {
                    allocated.get(contestant).merge(work, more.getScore(), Math::min);
                }
            }
        }
    }

    /** False if a bound is broken. */
    private boolean report() {
        boolean good = true;
        System.out.printf("%-10s %8s%s%n", "", "c, ns", "    jni: ns   x C   B     ffm: ns   x C   B   kafka: ns   x C   B");
        for (Map.Entry<String, Double> c : best.get("c").entrySet()) {
            String work = c.getKey();
            StringBuilder line = new StringBuilder(String.format("%-10s %8.1f", work, c.getValue()));
            for (String contestant : CONTESTANTS.subList(1, CONTESTANTS.size())) {
                Double ns = best.get(contestant).get(work);
                if (ns == null) {
                    continue;
                }
                double ratio = ns / c.getValue();
                double bytes = allocated.get(contestant).get(work);
                line.append(String.format("  %9.1f %5.2f %5.1f", ns, ratio, bytes));
                if (!contestant.equals("kafka") && BOUNDS.containsKey(work)) {
                    good &= ratio <= BOUNDS.get(work) && bytes <= ALLOCATED_MAX;
                }
            }
            System.out.println(line);
        }
        System.out.println(good ? "within the bounds" : "ABOVE A BOUND: of C's append " + BOUNDS.get("append") + ", of its scan "
                + BOUNDS.get("scan") + ", " + ALLOCATED_MAX + " bytes allocated a record");
        return good;
    }
}
