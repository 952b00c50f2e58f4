package io.klog;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Where things are that tests need, and other Java processes to run them in. */
final class Here {
    private Here() {
    }

    /** The repository. */
    static Path root() {
        return Paths.get(System.getProperty("klog.root")).toAbsolutePath().normalize();
    }

    /** The jar that is tested. */
    static Path jar() {
        return Paths.get(System.getProperty("klog.jar"));
    }

    /** What a process printed, its errors too, and how it ended. */
    record Ended(int status, String output) {
    }

    /** Runs Java of this version with the backend of this run. */
    static Ended java(String... arguments) throws IOException {
        List<String> command = new ArrayList<>();
        command.add(Paths.get(System.getProperty("java.home"), "bin", "java").toString());
        if (Runtime.version().feature() >= 22) {
            command.add("--enable-native-access=ALL-UNNAMED");
        }
        command.add("-Dklog.backend=" + System.getProperty("klog.backend"));
        command.add("-Dklog.cache.dir=" + System.getProperty("klog.cache.dir"));
        command.add("-Dklog.root=" + root());
        command.addAll(Arrays.asList(arguments));
        return run(command);
    }

    static Ended run(List<String> command) throws IOException {
        Path output = Files.createTempFile("klog", ".out");
        try {
            Process process = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile()).start();
            int status = process.waitFor();
            return new Ended(status, Files.readString(output, StandardCharsets.UTF_8));
        } catch (InterruptedException interrupted) {
            throw new IOException(interrupted);
        } finally {
            Files.delete(output);
        }
    }
}
