package io.klog.interop;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.storage.internals.log.CleanerConfig;
import org.apache.kafka.storage.internals.log.LogCleaner;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogManager;
import org.apache.kafka.storage.internals.log.UnifiedLog;

/**
 * Opens a data directory in place with Kafka's own log manager and shuts it down cleanly, as a broker's start and stop
 * do, and tells what Kafka found and said. The caller compares the files before and after.
 */
final class ManagerRun {
    private static final String CLEAN_MARKER = ".kafka_cleanshutdown";
    private static final int RECOVERY_THREADS = 1;
    /** num.recovery.threads.per.data.dir. */
    private static final int DEFAULT_RECOVERY_THREADS = 2;
    private static final String LOADER_THREAD = "log-recovery-";
    private static final long LOADER_PATIENCE_MS = 60_000;
    /** None of the periodic tasks runs: loading does not start them. */
    private static final long TASK_INTERVAL_MS = 60_000;

    private ManagerRun() { }

    static String run(Arguments arguments) throws Exception {
        Path dir = arguments.path("DIR");
        arguments.end();
        if (!Files.isDirectory(dir)) throw new BadRequest("not a directory: " + dir);
        LogCapture.take();
        List<String> lines = loadAndShutDown(dir);
        LogCapture.take().forEach(line -> lines.add(line.toString()));
        lines.add("clean " + (Files.exists(dir.resolve(CLEAN_MARKER)) ? "yes" : "no"));
        return String.join("\n", lines) + "\n";
    }

    /** How long Kafka takes to make its manager and to load the logs; what closing takes is not counted. */
    static String time(Arguments arguments) throws Exception {
        Path dir = arguments.path("DIR");
        arguments.end();
        if (!Files.isDirectory(dir)) throw new BadRequest("not a directory: " + dir);
        LogCapture.take();
        long began = System.nanoTime();
        LogManager manager = manager(dir, DEFAULT_RECOVERY_THREADS);
        try {
            manager.loadLogs(manager.initialDefaultConfig(), Map.of(), log -> false);
            long ended = System.nanoTime();
            return "load_ns=" + (ended - began) + " logs=" + manager.allLogs().size() + "\n";
        } finally {
            awaitLoaders();
            Set<UnifiedLog> logs = manager.allLogs();
            manager.shutdown();
            logs.forEach(Logs::drop);
            LogCapture.take();
        }
    }

    private static List<String> loadAndShutDown(Path dir) throws Exception {
        LogManager manager = manager(dir, RECOVERY_THREADS);
        try {
            manager.loadLogs(manager.initialDefaultConfig(), Map.of(), log -> false);
            Set<UnifiedLog> logs = manager.allLogs();
            List<String> lines = new ArrayList<>();
            logs.stream()
                .sorted(Comparator.comparing((UnifiedLog log) -> log.topicPartition().topic(), Text.BY_BYTES)
                    .thenComparingInt(log -> log.topicPartition().partition())
                    .thenComparing(UnifiedLog::isFuture))
                .forEach(log -> lines.add("log " + log.topicPartition() + (log.isFuture() ? " future" : "")
                    + " start=" + log.logStartOffset() + " end=" + log.logEndOffset()));
            return lines;
        } finally {
            awaitLoaders();
            Set<UnifiedLog> logs = manager.allLogs();
            manager.shutdown();
            logs.forEach(Logs::drop);
        }
    }

    /** A load that failed leaves the other logs' jobs running; DIR must not be touched once the answer is out. */
    static void awaitLoaders() throws InterruptedException {
        for (Thread thread : Thread.getAllStackTraces().keySet()) {
            if (thread.getName().startsWith(LOADER_THREAD)) thread.join(LOADER_PATIENCE_MS);
        }
    }

    static LogManager manager(Path dir, int recoveryThreads) throws IOException {
        return new LogManager(List.of(dir.toFile()), List.of(), resource -> new Properties(),
            new LogConfig(Map.of()), new CleanerConfig(false), recoveryThreads, TASK_INTERVAL_MS, TASK_INTERVAL_MS,
            TASK_INTERVAL_MS, TASK_INTERVAL_MS, Logs.MAX_TRANSACTION_TIMEOUT_MS, Logs.producerConfig(),
            Logs.PRODUCER_EXPIRATION_CHECK_MS, new InlineScheduler(), Logs.STATS, new LogDirFailureChannel(1),
            Time.SYSTEM, false, TASK_INTERVAL_MS, LogCleaner::new);
    }
}
