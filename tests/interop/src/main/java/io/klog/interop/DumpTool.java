package io.klog.interop;

import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.apache.kafka.tools.DumpLogSegments;

/** Kafka's own segment dump tool: a second opinion on files, from code that the log does not use. */
final class DumpTool {
    private DumpTool() { }

    /**
     * The tool's output for all files, with all records and every index entry that does not agree with its log; then
     * the sanity check of each index file, which an index of full size with zeros at its end does not pass.
     */
    static String run(Arguments arguments) throws IOException {
        List<String> files = Arrays.asList(arguments.text("FILE[,FILE...]").split(","));
        arguments.end();
        StringBuilder out = new StringBuilder();
        out.append(tool("--deep-iteration", "--print-data-log", "--files", String.join(",", files)));
        for (String file : files) {
            if (!file.endsWith(".index") && !file.endsWith(".timeindex")) continue;
            try {
                out.append(tool("--index-sanity-check", "--files", file));
            } catch (RuntimeException e) {
                out.append(file).append(" failed sanity check: ").append(Failure.describe(e)).append('\n');
            }
        }
        return out.toString();
    }

    /**
     * The tool with any arguments. What it prints goes to the files {@code out} and {@code err} in a directory, as bytes;
     * the answer says how it ended. As a process would, it names an exception on standard error.
     */
    static String runAs(Arguments arguments) throws IOException {
        Path home = arguments.path("DIR");
        String[] all = arguments.rest().toArray(String[]::new);
        PrintStream out = System.out;
        PrintStream err = System.err;
        String ended = "done";
        try (PrintStream outFile = file(home.resolve("out")); PrintStream errFile = file(home.resolve("err"))) {
            System.setOut(outFile);
            System.setErr(errFile);
            DumpLogSegments.main(all);
        } catch (Throwable e) {
            ended = "thrown " + e.toString().replaceAll("\\s+", " ");
        } finally {
            System.setOut(out);
            System.setErr(err);
        }
        return ended + "\n";
    }

    private static PrintStream file(Path path) throws IOException {
        return new PrintStream(new BufferedOutputStream(Files.newOutputStream(path)), false, StandardCharsets.UTF_8);
    }

    /** The tool prints what it finds to standard output, and what it finds wrong to standard error. */
    private static String tool(String... arguments) throws IOException {
        ByteArrayOutputStream output = new ByteArrayOutputStream();
        PrintStream out = System.out;
        PrintStream err = System.err;
        try (PrintStream captured = new PrintStream(output, false, StandardCharsets.UTF_8)) {
            System.setOut(captured);
            System.setErr(captured);
            DumpLogSegments.main(arguments);
        } finally {
            System.setOut(out);
            System.setErr(err);
        }
        return output.toString(StandardCharsets.UTF_8);
    }
}
