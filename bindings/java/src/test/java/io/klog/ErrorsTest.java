package io.klog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.klog.errors.BufferTooSmallException;
import io.klog.errors.InvalidArgumentException;
import io.klog.errors.InvalidConfigurationException;
import io.klog.errors.InvalidRecordException;
import io.klog.errors.InvalidTopicException;
import io.klog.errors.LogDirLockedException;
import io.klog.errors.LogDirNotFoundException;
import io.klog.errors.LogEndMismatchException;
import io.klog.errors.OffsetOutOfRangeException;
import io.klog.errors.ReadOnlyException;
import io.klog.errors.RecordTooLargeException;
import io.klog.errors.UnknownTopicOrPartitionException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Failures are exceptions of their kind, with all that klog knows of them. */
class ErrorsTest {
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

    private KlogLog topic(String name, String key, Object value) {
        return manager.log(new TopicPartition(name, 0),
                new KlogLogOptions().create(true).config(KlogConfig.topic().set(key, value)));
    }

    @Test
    void statusesAreThoseOfTheLibrary() {
        int known = 0;
        for (int code = 0; code < 200; code++) {
            String name = Library.calls().statusName(code);
            Status status = Status.of(code);
            if (name.equals("KLOG_ERR_?")) {
                assertEquals(Status.UNKNOWN, status, "code " + code);
            } else {
                assertEquals(code == 0 ? "KLOG_OK" : "KLOG_ERR_" + status.name(), name);
                known++;
            }
        }
        assertTrue(known > 50);
        assertEquals(known, Status.values().length - 1);
    }

    @Test
    void anOffsetBehindTheLogEndIsOutOfRange() {
        OffsetOutOfRangeException e =
                assertThrows(OffsetOutOfRangeException.class, () -> log.read(91, ByteBuffer.allocate(100)));
        assertEquals(Status.OFFSET_OUT_OF_RANGE, e.status());
        assertEquals(1, e.kafkaCode());
        assertEquals("OFFSET_OUT_OF_RANGE", e.error());
        assertEquals(91, e.offset());
        assertEquals(0, e.partition());
        assertFalse(e.retriable());
        assertFalse(e.fatal());
        assertTrue(e.getMessage().startsWith("KLOG_ERR_OFFSET_OUT_OF_RANGE: "), e.getMessage());
        try (Cursor cursor = log.cursor(91)) {
            assertThrows(OffsetOutOfRangeException.class, cursor::next);
        }
    }

    @Test
    void recordsThatAreRefusedAreNamed() {
        KlogLog compacted = topic("c", "cleanup.policy", "compact");
        RecordBatchBuilder batch = new RecordBatchBuilder();
        batch.add(bytes("k"), bytes("v")).add(null, bytes("v")).add(null, null);
        for (int again = 0; again < 2; again++) {
            InvalidRecordException e = assertThrows(InvalidRecordException.class, () -> compacted.append(batch));
            assertEquals(List.of(1, 2), e.recordErrors().stream().map(RecordError::recordIndex).toList());
            assertEquals(87, e.recordErrors().get(0).kafkaCode());
        }
        assertEquals(0, compacted.endOffset());
        assertEquals(List.of(), assertThrows(RecordTooLargeException.class,
                () -> topic("m", "max.message.bytes", 100).append(bytes("k"), new byte[300])).recordErrors());
    }

    @Test
    void aBufferThatIsTooSmallSaysWhatIsNeeded() {
        log.append(null, new byte[1000]);
        for (ByteBuffer small : List.of(ByteBuffer.allocate(10), ByteBuffer.allocateDirect(10))) {
            BufferTooSmallException e = assertThrows(BufferTooSmallException.class, () -> log.read(0, small));
            assertEquals(0, small.position());
            ByteBuffer fits = ByteBuffer.allocate((int) e.bytesNeeded());
            assertEquals(e.bytesNeeded(), log.read(0, fits).bytes());
            assertFalse(fits.hasRemaining());
        }
        assertThrows(IllegalArgumentException.class, () -> log.read(0, ByteBuffer.allocate(100).asReadOnlyBuffer()));
    }

    @Test
    void aLogEndThatIsNotTheExpectedOneIsTold() {
        log.append(null, bytes("x"));
        RecordBatchBuilder batch = new RecordBatchBuilder().add(null, bytes("y"));
        assertEquals(1, assertThrows(LogEndMismatchException.class,
                () -> log.append(batch, new AppendOptions().expectedLogEnd(7))).offset());
        assertEquals(1, log.append(batch, new AppendOptions().expectedLogEnd(1)).firstOffset());
    }

    @Test
    void configurationIsCheckedWhenItIsSet() {
        KlogConfig config = KlogConfig.topic();
        InvalidConfigurationException bad =
                assertThrows(InvalidConfigurationException.class, () -> config.set("segment.bytes", "many"));
        assertTrue(bad.getMessage().contains("segment.bytes"), bad.getMessage());
        InvalidConfigurationException unknown =
                assertThrows(InvalidConfigurationException.class, () -> config.set("segment.byte", 1));
        assertEquals(Status.UNKNOWN_CONFIG, unknown.status());
        assertTrue(unknown.getMessage().contains("segment.bytes"), unknown.getMessage());
        assertEquals("7", config.set("retention.ms", 7).get("retention.ms"));
        assertEquals("delete", config.get("cleanup.policy"));
        assertEquals("99", KlogConfig.broker().load("log.retention.ms=99\n").get("log.retention.ms"));
    }

    @Test
    void directoriesThatCannotBeOpenedAreToldApart() {
        assertThrows(LogDirLockedException.class, () -> KlogManager.open(dir));
        Path nowhere = dir.resolve("n\u00f6where");
        LogDirNotFoundException e =
                assertThrows(LogDirNotFoundException.class, () -> KlogManager.open(new KlogManagerOptions(nowhere)));
        assertTrue(e.getMessage().contains(nowhere.toString()) || e.path().equals(nowhere.toString()), e.getMessage());
        assertThrows(InvalidArgumentException.class, () -> KlogManager.open(new KlogManagerOptions()));
    }

    @Test
    void logsThatAreNotThereOrCannotBeAreToldApart() {
        assertThrows(UnknownTopicOrPartitionException.class, () -> manager.log(new TopicPartition("nope", 0)));
        assertThrows(InvalidTopicException.class, () -> manager.logOrCreate("a/b", 0));
        assertThrows(InvalidTopicException.class, () -> manager.logOrCreate("x".repeat(20_000), 0));
        log.delete();
        assertThrows(UnknownTopicOrPartitionException.class, () -> log.append(null, new byte[0]));
    }

    @Test
    void aReadOnlyManagerRefusesChanges() {
        try (KlogManager reader = KlogManager.open(new KlogManagerOptions(dir).readOnly(true));
                KlogLog same = reader.log(new TopicPartition("a", 0))) {
            assertThrows(ReadOnlyException.class, () -> same.append(null, bytes("x")));
        }
    }

    static byte[] bytes(String text) {
        return text.getBytes(java.nio.charset.StandardCharsets.UTF_8);
    }
}
