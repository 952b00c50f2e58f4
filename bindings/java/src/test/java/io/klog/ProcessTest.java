package io.klog;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What klog leaves of the process that it works in: everything as it was. */
class ProcessTest {
    @TempDir
    Path dir;

    /** A process that uses all of klog that has threads, and looks at itself before and after. Its argument is a directory. */
    static final class Guest {
        private Guest() {
        }

        public static void main(String[] args) throws Exception {
            List<String> signals = signals();
            try (KlogManager manager = KlogManager.open(new KlogManagerOptions(Paths.get(args[0])).createDirs(true).background(true));
                    KlogLog log = manager.logOrCreate("a", 0);
                    Appender appender = log.appender(null);
                    EventStream events = manager.events(java.util.EnumSet.allOf(EventType.class), 0)) {
                CompletableFuture<Long> told = log.whenReached(OffsetKind.LOG_END, 9);
                for (int n = 0; n < 10; n++) {
                    appender.append(new RecordBatchBuilder().add(null, new byte[10]));
                }
                appender.flush();
                told.get();
                log.flush();
                events.poll();
            }
            // The thread that told of the close ends soon after it.
            while (threads().stream().anyMatch(t -> t.startsWith("klog"))) {
                Thread.onSpinWait();
            }
            System.out.println(signals.equals(signals()) ? "signals as before" : signals + " became " + signals());
            System.out.println(openBelow(args[0]) + " of its files open");
        }

        /** What is blocked in this thread, and ignored and caught in the process. */
        private static List<String> signals() throws IOException {
            List<String> lines = new ArrayList<>();
            for (String line : Files.readAllLines(Paths.get("/proc/thread-self/status"))) {
                if (line.matches("Sig(Blk|Ign|Cgt):.*")) {
                    lines.add(line);
                }
            }
            return lines;
        }

        /** The names of the process's threads, those of the library too. */
        private static List<String> threads() throws IOException {
            List<String> names = new ArrayList<>();
            try (Stream<Path> tasks = Files.list(Paths.get("/proc/self/task"))) {
                for (Path task : tasks.toList()) {
                    try {
                        names.add(new String(Files.readAllBytes(task.resolve("comm")), StandardCharsets.UTF_8).trim());
                    } catch (IOException gone) {
                        continue;
                    }
                }
            }
            return names;
        }

        private static long openBelow(String dir) throws IOException {
            try (Stream<Path> open = Files.list(Paths.get("/proc/self/fd"))) {
                return open.filter(fd -> {
                    try {
                        return Files.readSymbolicLink(fd).startsWith(dir);
                    } catch (IOException gone) {
                        return false;
                    }
                }).count();
            }
        }
    }

    @Test
    void signalsThreadsAndFilesAreAsBefore() throws IOException {
        List<String> options = new ArrayList<>();
        if (System.getProperty("klog.backend").equals("jni")) {
            options.add("-Xcheck:jni");
        }
        options.addAll(List.of("-cp", Here.jar() + File.pathSeparator + System.getProperty("klog.test.classes"),
                "io.klog.ProcessTest$Guest", dir.toString()));
        Here.Ended ended = Here.java(options.toArray(new String[0]));
        assertEquals("signals as before\n0 of its files open\n", ended.output());
    }
}
