package io.klog;

import static io.klog.ErrorsTest.bytes;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What goes in comes out: records, and whole batches. */
class RecordsTest {
    @TempDir
    Path dir;
    private KlogManager manager;
    private KlogLog log;

    @BeforeEach
    void open() {
        manager = KlogManager.open(dir);
        log = manager.logOrCreate("a", 0);
    }

    @AfterEach
    void close() {
        manager.close();
    }

    @Test
    void randomRecordsComeBackAsTheyWere() {
        long seed = Long.getLong("klog.seed", System.nanoTime());
        Random random = new Random(seed);
        List<RecordCopy> expected = new ArrayList<>();
        RecordBatchBuilder batch = new RecordBatchBuilder(0);
        for (int n = 0; n < 300; n++) {
            batch.clear();
            for (int i = random.nextInt(20); i >= 0; i--) {
                RecordCopy r = new RecordCopy(expected.size(), random.nextInt(1 << 30), random(random), random(random),
                        headers(random));
                batch.add(r.timestamp(), r.key(), r.value(), r.headers());
                expected.add(r);
            }
            Compression codec = Compression.values()[1 + random.nextInt(5)];
            log.append(batch, new AppendOptions().compression(codec));
        }
        int from = random.nextInt(expected.size());
        try (Cursor cursor = log.cursor(from, new ReadOptions().maxRecords(random.nextInt(50)))) {
            for (RecordCopy r : expected.subList(from, expected.size())) {
                RecordView view = cursor.next();
                RecordCopy copy = view.copy();
                String which = "seed " + seed + ", record " + r.offset();
                assertEquals(r.offset(), copy.offset(), which);
                assertEquals(r.timestamp(), copy.timestamp(), which);
                assertArrayEquals(r.key(), copy.key(), which);
                assertArrayEquals(r.value(), copy.value(), which);
                assertEquals(r.headers(), copy.headers(), which);
                assertEquals(r.headers().size(), view.headerCount(), which);
                assertEquals(r.key() == null ? null : ByteBuffer.wrap(r.key()), view.key(), which);
                assertEquals(r.value() == null ? null : ByteBuffer.wrap(r.value()), view.value(), which);
                assertEquals(r.offset() + 1, cursor.position(), which);
            }
            assertNull(cursor.next());
        }
    }

    private static byte[] random(Random random) {
        int kind = random.nextInt(10);
        byte[] bytes = kind == 0 ? null : new byte[kind == 1 ? 0 : random.nextInt(kind == 2 ? 3000 : 40)];
        if (bytes != null) {
            random.nextBytes(bytes);
        }
        return bytes;
    }

    private static List<Header> headers(Random random) {
        if (random.nextInt(3) != 0) {
            return Collections.emptyList();
        }
        Header[] headers = new Header[random.nextInt(4)];
        Arrays.setAll(headers, i -> new Header(i == 1 ? "" : "n\u00e4me" + i, random(random)));
        return Arrays.asList(headers);
    }

    @Test
    void aRecordLargerThanTheCursorsBufferComesWhole() {
        KlogLog large = manager.log(new TopicPartition("large", 0), new KlogLogOptions().create(true)
                .config(KlogConfig.topic().set("max.message.bytes", 4 << 20)));
        byte[] value = new byte[3 << 20];
        new Random(1).nextBytes(value);
        large.append(5, bytes("k"), value);
        large.append(6, bytes("l"), bytes("small"));
        try (Cursor cursor = large.cursor(0)) {
            assertArrayEquals(value, cursor.next().valueBytes());
            assertArrayEquals(bytes("small"), cursor.next().valueBytes());
        }
    }

    @Test
    void aCursorGivesOneViewAndGoesOnAtTheEnd() {
        log.append(1, bytes("a"), null);
        try (Cursor cursor = log.cursor(0)) {
            RecordView first = cursor.next();
            assertFalse(first.hasValue());
            assertEquals(0, first.valueSize());
            assertNull(first.value());
            assertNull(cursor.next());
            assertNull(cursor.next());
            log.append(2, null, bytes("later"));
            assertSame(first, cursor.next());
            assertEquals(1, first.offset());
            assertFalse(first.hasKey());
            cursor.seek(0);
            assertEquals(0, cursor.position());
            int count = 0;
            for (RecordView each : cursor) {
                assertEquals(count++, each.offset());
            }
            assertEquals(2, count);
        }
    }

    @Test
    void batchesGoFromOneLogToAnotherAsAFollowerTakesThem() {
        for (int n = 0; n < 50; n++) {
            log.append(new RecordBatchBuilder().add(n, bytes("k" + n), bytes("v")).add(n, null, new byte[n]));
        }
        KlogLog copy = manager.logOrCreate("copy", 0);
        AppendOptions follower = new AppendOptions().origin(Origin.REPLICATION);
        ByteBuffer heap = ByteBuffer.allocate(700);
        ByteBuffer direct = ByteBuffer.allocateDirect(900);
        for (long offset = 0; offset < log.endOffset();) {
            ByteBuffer buffer = offset % 4 == 0 ? heap : direct;
            buffer.clear();
            buffer.position(7);
            ReadResult read = log.read(offset, buffer, null);
            assertEquals(7 + read.bytes(), buffer.position());
            assertTrue(read.batches() > 0);
            buffer.flip();
            buffer.position(7);
            copy.appendRaw(buffer, follower);
            assertEquals(7, buffer.position());
            offset = read.nextOffset();
        }
        ByteBuffer all = ByteBuffer.allocate(100_000);
        ByteBuffer again = ByteBuffer.allocateDirect(100_000);
        log.read(0, all);
        copy.read(0, again);
        assertEquals(all.flip(), again.flip());
        assertEquals(0, log.read(100, all.clear()).bytes());
    }

    @Test
    void buffersAreAppendedFromTheirPositions() {
        ByteBuffer key = ByteBuffer.wrap(bytes("__key__"), 2, 3);
        ByteBuffer value = ByteBuffer.allocateDirect(10);
        value.put(bytes("ab")).flip();
        log.append(new RecordBatchBuilder().add(RecordBatchBuilder.TIMESTAMP_NONE, key, value));
        assertEquals(2, key.position());
        try (Cursor cursor = log.cursor(0)) {
            RecordView record = cursor.next();
            assertEquals("key", new String(record.keyBytes()));
            assertEquals("ab", new String(record.valueBytes()));
            assertEquals(-1, record.timestamp());
            assertTrue(record.toString().contains("key=3 bytes"));
        }
    }
}
