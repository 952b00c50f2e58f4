package io.klog;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;

/**
 * A process of its own, for virtual machines with other options: all scenarios, then threads that append and read while the
 * garbage collector is asked to run. Prints "ok" at the end.
 */
final class Workload {
    private static final int RECORDS = 20_000;

    private Workload() {
    }

    /** Arguments: an empty directory; further scenarios. */
    public static void main(String[] args) throws Exception {
        Path dir = Paths.get(args[0]);
        Path scenarios = Paths.get(System.getProperty("klog.root"), "tests", "scenarios");
        try (Stream<Path> files = Files.list(scenarios)) {
            Stream<Path> all = Stream.concat(files, Stream.of(args).skip(1).map(Paths::get));
            for (Path file : all.filter(f -> f.toString().endsWith(".scn")).toList()) {
                List<String> wrong = Scenario.run(file, Files.createDirectories(dir.resolve(file.getFileName())));
                if (!wrong.isEmpty()) {
                    throw new AssertionError(wrong);
                }
            }
        }
        load(dir.resolve("load"));
        System.out.println("ok over " + Klog.backend());
    }

    private static void load(Path dir) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(5);
        try (KlogManager manager = KlogManager.open(dir)) {
            List<Future<Void>> all = new ArrayList<>();
            List<KlogLog> logs = new ArrayList<>();
            for (int n = 0; n < 2; n++) {
                KlogLog log = manager.logOrCreate("load", n);
                logs.add(log);
                all.add(pool.submit(() -> append(log)));
                all.add(pool.submit(() -> read(log)));
            }
            Future<?> storm = pool.submit(() -> {
                while (!Thread.currentThread().isInterrupted()) {
                    System.gc();
                }
            });
            for (Future<Void> each : all) {
                each.get();
            }
            storm.cancel(true);
            logs.forEach(KlogLog::close);
        } finally {
            pool.shutdown();
        }
    }

    private static Void append(KlogLog log) {
        RecordBatchBuilder batch = null;
        for (int n = 0; n < RECORDS; n++) {
            if (n % 100 == 0) {
                // A new one each time, for the collector to take.
                batch = new RecordBatchBuilder(64);
            }
            batch.add(n, key(n), value(n), n % 7 == 0 ? List.of(new Header("n", key(n))) : List.of());
            if (n % 100 == 99) {
                log.append(batch);
            }
        }
        return null;
    }

    private static Void read(KlogLog log) {
        long next = 0;
        while (next < RECORDS) {
            ByteBuffer batches = next % 3 == 0 ? ByteBuffer.allocate(1 << 16) : ByteBuffer.allocateDirect(1 << 16);
            log.read(next, batches);
            try (Cursor cursor = log.cursor(next)) {
                for (RecordView r : cursor) {
                    if (r.offset() != next || !java.util.Arrays.equals(r.valueBytes(), value((int) next))
                            || !r.key().equals(ByteBuffer.wrap(key((int) next)))) {
                        throw new AssertionError("record " + next + " is " + r);
                    }
                    next++;
                }
            }
        }
        return null;
    }

    private static byte[] key(int n) {
        return ("key-" + n).getBytes(StandardCharsets.UTF_8);
    }

    private static byte[] value(int n) {
        return ("the value of record " + n).repeat(1 + n % 5).getBytes(StandardCharsets.UTF_8);
    }
}
