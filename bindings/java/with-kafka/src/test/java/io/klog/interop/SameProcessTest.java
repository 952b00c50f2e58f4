package io.klog.interop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.klog.AppendOptions;
import io.klog.Appender;
import io.klog.CleanOptions;
import io.klog.Compression;
import io.klog.Cursor;
import io.klog.Header;
import io.klog.Klog;
import io.klog.KlogConfig;
import io.klog.KlogLog;
import io.klog.KlogLogOptions;
import io.klog.KlogManager;
import io.klog.LogListing;
import io.klog.ReadOptions;
import io.klog.RecordBatchBuilder;
import io.klog.RecordView;
import io.klog.TopicPartition;
import io.klog.errors.LogDirLockedException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.server.util.FileLock;
import org.apache.kafka.storage.internals.log.FetchDataInfo;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Kafka's own storage and klog in one process, one after the other on one directory. */
class SameProcessTest {
    private static final long TIME = 1_700_000_000_000L;

    @TempDir
    Path dir;

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    /** A log of every kind. */
    private static void write(Path dir) throws Exception {
        try (KlogManager manager = KlogManager.open(dir)) {
            manager.createMeta(0, "z9na3q9PQmqPVP0mquDCww", 1);
            for (Compression codec : Compression.values()) {
                try (KlogLog log = manager.logOrCreate("codec-" + codec.name().toLowerCase(), 2)) {
                    for (int n = 0; n < 20; n++) {
                        log.append(batch(50, n), new AppendOptions().compression(codec).leaderEpoch(n / 7));
                    }
                }
            }
            try (KlogLog log = manager.log(new TopicPartition("rolled", 0), options("internal.segment.bytes", 10_000));
                    Appender appender = log.appender(null)) {
                for (int n = 0; n < 100; n++) {
                    appender.append(batch(10, n)).get();
                }
                log.deleteRecords(321);
                log.truncateTo(900);
            }
            try (KlogLog log = manager.logOrCreate("transactions", 0)) {
                for (int n = 0; n < 10; n++) {
                    log.append(batch(3, n), new AppendOptions().producer(7 + n % 2, 0, n / 2 * 3).transactional());
                    if (n % 2 == 1) {
                        log.endTransaction(7, 0, n % 4 == 1, 0);
                        log.endTransaction(8, 0, n % 3 == 0, 0);
                    }
                }
            }
            try (KlogLog log = manager.log(new TopicPartition("compacted", 0), options("cleanup.policy", "compact"))) {
                for (int n = 0; n < 200; n++) {
                    log.append(TIME + n, bytes("key-" + n % 17), n % 10 == 9 ? null : bytes("value-" + n));
                }
                assertTrue(log.clean(new CleanOptions().roll(true)).droppedSuperseded() > 100);
                log.append(TIME, bytes("key-3"), bytes("later"));
            }
        }
    }

    private static KlogLogOptions options(String key, Object value) {
        return new KlogLogOptions().create(true).config(KlogConfig.topic().set(key, value));
    }

    private static RecordBatchBuilder batch(int records, int seed) {
        RecordBatchBuilder batch = new RecordBatchBuilder();
        for (int n = 0; n < records; n++) {
            batch.add(TIME + seed * 100 + n, n % 3 == 0 ? null : bytes("key-" + n), n % 7 == 6 ? null : bytes("value " + seed + " " + n),
                    n % 5 == 0 ? List.of(new Header("n", bytes("" + n)), new Header("none", null)) : List.of());
        }
        return batch;
    }

    /** Of a checkpoint, whose order of lines means nothing, its lines; of any other file its checksum. */
    private static Map<String, String> files(Path dir) throws IOException {
        Map<String, String> all = new TreeMap<>();
        try (Stream<Path> paths = Files.walk(dir)) {
            // What is deleted goes when its time has come, or with the next load.
            for (Path path : paths.filter(f -> Files.isRegularFile(f) && !f.toString().endsWith(".deleted")).toList()) {
                all.put(dir.relativize(path).toString(), path.toString().endsWith("-checkpoint")
                        ? Files.readAllLines(path).stream().sorted().toList().toString() : Text.crc32c(Files.readAllBytes(path)));
            }
        }
        return all;
    }

    private static List<String> ends(KlogManager manager) {
        List<String> lines = new ArrayList<>();
        for (LogListing listing : manager.logs()) {
            try (KlogLog log = manager.log(listing.topicPartition())) {
                lines.add("log " + listing.topicPartition() + " start=" + log.info().logStartOffset() + " end=" + log.endOffset());
            }
        }
        return lines;
    }

    /** What Kafka said while it loaded the directory and shut down in order. */
    private static List<String> loadedByKafka(Path dir) throws Exception {
        return ManagerRun.run(new Arguments(List.of(dir.toString()))).lines().toList();
    }

    @Test
    void kafkaLoadsWhatJavaWroteAndChangesNothing() throws Exception {
        assertEquals(System.getProperty("klog.backend"), Klog.backend());
        write(dir);
        Map<String, String> before = files(dir);
        List<String> said = loadedByKafka(dir);
        Map<String, String> after = files(dir);
        List<String> expected;
        try (KlogManager manager = KlogManager.open(dir)) {
            assertEquals(0, manager.info().segmentsRecovered());
            expected = ends(manager);
        }
        assertEquals(9, expected.size());
        expected.add("clean yes");
        // No line of a warning, an error or a recovery.
        assertEquals(expected, said);
        assertEquals(before, after);
    }

    @Test
    void bothReadTheSameRecords() throws Exception {
        write(dir);
        int compared = 0;
        try (KlogManager manager = KlogManager.open(dir)) {
            for (LogListing listing : manager.logs()) {
                try (KlogLog log = manager.log(listing.topicPartition());
                        PrivateCopy copy = new PrivateCopy(dir, listing.topicPartition().toString()::equals)) {
                    long start = log.info().logStartOffset();
                    UnifiedLog kafkas = Logs.open(copy.root().resolve(listing.topicPartition().toString()), new LogConfig(Map.of()),
                            start, 0, true, Time.SYSTEM);
                    try (Cursor cursor = log.cursor(start, new ReadOptions().controlRecords(true))) {
                        compared += compare(kafkas, cursor, start);
                    } finally {
                        Logs.drop(kafkas);
                    }
                }
            }
        }
        assertTrue(compared > 6000, compared + " records");
    }

    private static int compare(UnifiedLog kafkas, Cursor cursor, long start) throws IOException {
        int count = 0;
        for (long next = start; next < kafkas.logEndOffset();) {
            FetchDataInfo info = kafkas.read(next, 1 << 20, FetchIsolation.LOG_END, true);
            for (Record theirs : info.records.records()) {
                if (theirs.offset() < start) {
                    continue;
                }
                RecordView ours = cursor.next();
                assertNotNull(ours, "a record at " + theirs.offset());
                assertEquals(theirs.offset() + "@" + theirs.timestamp(), ours.offset() + "@" + ours.timestamp());
                assertEquals(theirs.hasKey() ? theirs.key() : null, ours.hasKey() ? ours.key() : null);
                assertEquals(theirs.hasValue() ? theirs.value() : null, ours.hasValue() ? ours.value() : null);
                assertEquals(Arrays.stream(theirs.headers()).map(h -> h.key() + "=" + text(h.value())).toList(),
                        ours.headers().stream().map(h -> h.key() + "=" + text(h.value())).toList());
                count++;
                next = theirs.offset() + 1;
            }
            // Compaction may have taken what is behind.
            next = Math.max(next, info.records.batches().iterator().hasNext() ? lastOffset(info) + 1 : kafkas.logEndOffset());
        }
        assertEquals(null, cursor.next());
        return count;
    }

    private static long lastOffset(FetchDataInfo info) {
        long last = -1;
        for (var batch : info.records.batches()) {
            last = batch.lastOffset();
        }
        return last;
    }

    private static String text(byte[] value) {
        return value == null ? null : new String(value, StandardCharsets.UTF_8);
    }

    @Test
    void klogReadsAndGoesOnWithWhatKafkaWrote() throws Exception {
        Path place = Files.createDirectory(dir.resolve("k-0"));
        UnifiedLog kafkas = Logs.open(place, new LogConfig(Map.of()), 0, 0, true, Time.SYSTEM);
        for (int n = 0; n < 10; n++) {
            SimpleRecord[] records = {new SimpleRecord(TIME + n, bytes("key"), bytes("kafka " + n)), new SimpleRecord(TIME, bytes("gone"), null)};
            kafkas.appendAsLeader(MemoryRecords.withRecords(org.apache.kafka.common.compress.Compression.zstd().build(), records), 0);
        }
        kafkas.close();
        Logs.forget(kafkas);
        try (KlogManager manager = KlogManager.open(dir); KlogLog log = manager.log(new TopicPartition("k", 0))) {
            assertEquals(20, log.endOffset());
            try (Cursor cursor = log.cursor(18)) {
                assertEquals("kafka 9", text(cursor.next().valueBytes()));
                assertFalse(cursor.next().hasValue());
            }
            // A batch of Kafka's own making.
            ByteBuffer batch = MemoryRecords.withRecords(org.apache.kafka.common.compress.Compression.lz4().build(),
                    new SimpleRecord(TIME, bytes("key"), bytes("klog"))).buffer();
            assertEquals(20, log.appendRaw(batch, null).firstOffset());
        }
        assertEquals(List.of("log k-0 start=0 end=21", "clean yes"), loadedByKafka(dir));
    }

    @Test
    void oneOfThemOwnsADirectoryAtATime() throws Exception {
        try (KlogManager manager = KlogManager.open(dir)) {
            assertEquals(0, manager.logs().size());
            Exception refused = assertThrows(Exception.class, () -> loadedByKafka(dir));
            assertTrue(refused.getMessage().contains(".lock"), refused.getMessage());
            LogCapture.take();
        }
        FileLock lock = new FileLock(dir.resolve(".lock").toFile());
        assertTrue(lock.tryLock());
        try {
            assertThrows(LogDirLockedException.class, () -> KlogManager.open(dir));
        } finally {
            lock.destroy();
        }
        assertEquals(List.of("clean yes"), loadedByKafka(dir));
    }
}
