package io.klog.interop;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.storage.internals.log.LogManager;
import org.apache.kafka.storage.internals.log.UnifiedLog;

/** Whole directories: loading and making many logs, and what one costs that nobody uses. */
final class LoadSpeed {
    private LoadSpeed() { }

    /** To make the manager and to load the logs; closing is not counted. */
    static String load(Arguments arguments) throws Exception {
        Path dir = arguments.path("DIR");
        int threads = arguments.int32("THREADS");
        arguments.end();
        long began = System.nanoTime();
        LogManager manager = ManagerRun.manager(dir, threads);
        try {
            manager.loadLogs(manager.initialDefaultConfig(), Map.of(), log -> false);
            return Speed.took(began, System.nanoTime());
        } finally {
            shutDown(manager);
        }
    }

    /** To close in order what was loaded; loading is not counted. */
    static String close(Arguments arguments) throws Exception {
        Path dir = arguments.path("DIR");
        arguments.end();
        LogManager manager = ManagerRun.manager(dir, 2);
        manager.loadLogs(manager.initialDefaultConfig(), Map.of(), log -> false);
        ManagerRun.awaitLoaders();
        Set<UnifiedLog> logs = manager.allLogs();
        long began = System.nanoTime();
        manager.shutdown();
        long ended = System.nanoTime();
        logs.forEach(Logs::drop);
        LogCapture.take();
        return Speed.took(began, ended);
    }

    /** Logs without topic ids, and a batch of one record in each. */
    static String create(Arguments arguments) throws Exception {
        Path dir = arguments.path("DIR");
        AppendSpeed.Data data = AppendSpeed.Data.of(arguments.path("RECORDS-FILE"));
        int logs = arguments.int32("LOGS");
        boolean isFlushed = arguments.flag("FLUSHED");
        arguments.end();
        LogManager manager = ManagerRun.manager(dir, 1);
        manager.loadLogs(manager.initialDefaultConfig(), Map.of(), log -> false);
        ByteBuffer buffer = ByteBuffer.allocate(1 << 12);
        long began = System.nanoTime();
        for (int n = 0; n < logs; n++) {
            UnifiedLog log = manager.getOrCreateLog(new TopicPartition("t", n), Optional.empty());
            log.appendAsLeader(data.build(buffer, Compression.NONE, 0, 1), 0);
            if (isFlushed) log.flush(true);
        }
        long ended = System.nanoTime();
        Set<UnifiedLog> all = manager.allLogs();
        all.forEach(Logs::drop);
        // Only the locks of the directories are left; what is dropped may not be closed in order.
        manager.shutdown();
        return Speed.took(began, ended);
    }

    /** Heap, descriptors and mappings that the logs of a directory add, once it is loaded. */
    static String idle(Arguments arguments) throws Exception {
        Path dir = arguments.path("DIR");
        arguments.end();
        long[] before = held();
        LogManager manager = ManagerRun.manager(dir, 2);
        try {
            manager.loadLogs(manager.initialDefaultConfig(), Map.of(), log -> false);
            long[] after = held();
            List<String> fields = new ArrayList<>(List.of("logs=" + manager.allLogs().size()));
            String[] names = {"heap", "descriptors", "mappings"};
            for (int n = 0; n < names.length; n++) fields.add(names[n] + "=" + (after[n] - before[n]));
            return String.join(" ", fields) + "\n";
        } finally {
            shutDown(manager);
        }
    }

    private static long[] held() throws IOException {
        for (int n = 0; n < 3; n++) System.gc();
        long heap = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
        try (Stream<Path> descriptors = Files.list(Path.of("/proc/self/fd"));
                Stream<String> mappings = Files.lines(Path.of("/proc/self/maps"))) {
            return new long[] {heap, descriptors.count(), mappings.count()};
        }
    }

    private static void shutDown(LogManager manager) throws Exception {
        ManagerRun.awaitLoaders();
        Set<UnifiedLog> logs = manager.allLogs();
        manager.shutdown();
        logs.forEach(Logs::drop);
        LogCapture.take();
    }
}
