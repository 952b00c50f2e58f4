package io.klog.interop;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.CompressionType;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.UnifiedLog;

/** Appends as a leader to a log made for it: ready batches, batches that are built before, and each one synced. */
final class AppendSpeed {
    /** How many records the file of records has, and what they are like. */
    static final int RECORDS = 100;
    private static final int KEY_BYTES = 14;
    private static final int VALUE_BYTES = 100;
    /** Of the first record; each other is a millisecond later. */
    private static final long TIME = 1_700_000_000_000L;
    private static final int BUFFER_BYTES = 1 << 16;

    private AppendSpeed() { }

    /** The records that all contestants write. */
    record Data(byte[][] keys, byte[][] values) {
        static Data of(Path file) throws IOException {
            ByteBuffer all = ByteBuffer.wrap(Files.readAllBytes(file));
            Data data = new Data(new byte[RECORDS][KEY_BYTES], new byte[RECORDS][VALUE_BYTES]);
            for (int n = 0; n < RECORDS; n++) all.get(data.keys[n]).get(data.values[n]);
            return data;
        }

        /** So many records from that one on, in the buffer, which is used again and again. */
        MemoryRecords build(ByteBuffer buffer, Compression compression, int from, int count) {
            MemoryRecordsBuilder builder =
                MemoryRecords.builder(buffer.clear(), compression, TimestampType.CREATE_TIME, 0);
            for (int n = from; n < from + count; n++) builder.append(TIME + n, keys[n], values[n]);
            return builder.build();
        }
    }

    static UnifiedLog fresh(Path dir, Map<String, String> config) throws IOException {
        Path path = dir.resolve("t-0");
        Files.createDirectories(path);
        return Logs.open(path, new LogConfig(config), 0, 0, true, Time.SYSTEM);
    }

    static String ready(Arguments arguments) throws Exception {
        Path dir = arguments.path("DIR");
        Data data = Data.of(arguments.path("RECORDS-FILE"));
        int batches = arguments.int32("BATCHES");
        arguments.end();
        ByteBuffer bytes = data.build(ByteBuffer.allocate(BUFFER_BYTES), Compression.NONE, 0, RECORDS).buffer();
        UnifiedLog log = fresh(dir, Map.of());
        long began = Speed.worked();
        for (int n = 0; n < batches; n++) {
            // The append wrote its offset there, and takes a client's batch with 0 only.
            bytes.putLong(0, 0);
            log.appendAsLeader(MemoryRecords.readableRecords(bytes.duplicate()), 0);
        }
        long ended = Speed.worked();
        Logs.drop(log);
        return Speed.took(began, ended);
    }

    static String built(Arguments arguments) throws Exception {
        Path dir = arguments.path("DIR");
        Data data = Data.of(arguments.path("RECORDS-FILE"));
        int batches = arguments.int32("BATCHES");
        int each = arguments.int32("EACH");
        Compression compression = Compression.of(CompressionType.forName(arguments.text("CODEC"))).build();
        boolean isTogether = arguments.more();
        int threads = isTogether ? arguments.int32("THREADS") : 1;
        int logs = isTogether ? arguments.int32("LOGS") : 1;
        arguments.end();
        List<UnifiedLog> made = new ArrayList<>();
        List<Callable<Void>> parts = new ArrayList<>();
        for (int n = 0; n < logs; n++) made.add(fresh(logs == 1 ? dir : dir.resolve("of-" + n), Map.of()));
        for (int n = 0; n < threads; n++) parts.add(part(made.get(n % logs), data, compression, batches / threads, each));
        String took;
        if (isTogether) {
            took = together(parts);
        } else {
            long began = Speed.worked();
            parts.get(0).call();
            took = Speed.took(began, Speed.worked());
        }
        made.forEach(Logs::drop);
        return took;
    }

    /** With flush.messages=1, each append is followed by an fsync. */
    static String synced(Arguments arguments) throws Exception {
        Path dir = arguments.path("DIR");
        Data data = Data.of(arguments.path("RECORDS-FILE"));
        int batches = arguments.int32("BATCHES");
        int threads = arguments.int32("THREADS");
        arguments.end();
        UnifiedLog log = fresh(dir, Map.of("flush.messages", "1"));
        String took = together(Collections.nCopies(threads, part(log, data, Compression.NONE, batches / threads, RECORDS)));
        Logs.drop(log);
        return took;
    }

    private static Callable<Void> part(UnifiedLog log, Data data, Compression compression, int batches, int each) {
        return () -> {
            ByteBuffer buffer = ByteBuffer.allocate(BUFFER_BYTES);
            for (int n = 0; n < batches; n++) {
                log.appendAsLeader(data.build(buffer, compression, (n * each) % RECORDS, each), 0);
            }
            return null;
        };
    }

    private static String together(List<Callable<Void>> parts) throws Exception {
        try (Pool pool = new Pool(parts.size())) {
            long began = System.nanoTime();
            pool.all(parts);
            return Speed.took(began, System.nanoTime());
        }
    }

    /** Threads that are there before the work begins. */
    private static final class Pool implements AutoCloseable {
        private final ExecutorService service;

        Pool(int threads) throws Exception {
            service = Executors.newFixedThreadPool(threads);
            all(Collections.nCopies(threads, () -> null));
        }

        void all(List<Callable<Void>> parts) throws Exception {
            for (Future<Void> done : service.invokeAll(parts)) done.get();
        }

        @Override
        public void close() {
            service.shutdownNow();
        }
    }
}
