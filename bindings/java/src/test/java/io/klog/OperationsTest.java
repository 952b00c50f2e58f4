package io.klog;

import static io.klog.ErrorsTest.bytes;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.klog.errors.CleaningAbortedException;
import io.klog.errors.InvalidConfigurationException;
import io.klog.errors.KlogCancelledException;
import io.klog.errors.LogDirNotFoundException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Everything beside appending and reading. */
class OperationsTest {
    private static final long NOW = 1_000_000_000_000L;

    @TempDir
    Path dir;
    private Path other;
    private KlogManager manager;

    @BeforeEach
    void open() {
        other = dir.resolve("d2");
        manager = KlogManager.open(new KlogManagerOptions(dir.resolve("d1"), other).createDirs(true).manualClock(NOW));
    }

    @AfterEach
    void close() {
        manager.close();
    }

    private KlogLog compacted() {
        KlogLog log = manager.log(new TopicPartition("c", 0),
                new KlogLogOptions().create(true).config(KlogConfig.topic().set("cleanup.policy", "compact")));
        for (int n = 0; n < 100; n++) {
            log.append(bytes("k" + n % 10), bytes("v" + n));
        }
        return log;
    }

    @Test
    void compactionKeepsTheLastOfEachKey() {
        KlogLog log = compacted();
        CleanResult would = log.clean(new CleanOptions().roll(true).dryRun(true));
        assertEquals(10, would.recordsKept());
        assertEquals(1, log.info().segments());
        CleanResult did = manager.clean(log, new CleanOptions().roll(true).mapBytes(1 << 20).ioBytesPerSecond(1 << 30));
        assertEquals(100, did.recordsRead());
        assertEquals(10, did.recordsKept());
        assertEquals(90, did.droppedSuperseded());
        assertEquals(100, did.firstDirtyOffset());
        assertTrue(log.isCleanedTo(100));
        assertFalse(log.isCleanedTo(101));
        assertEquals(CleanPhase.IDLE, log.cleanProgress().phase());
        assertEquals(-1, log.cleanProgress().startedMs());
        try (Cursor cursor = log.cursor(0)) {
            assertEquals(90, cursor.next().offset());
        }
        assertThrows(InvalidConfigurationException.class, () -> manager.logOrCreate("plain", 0).clean());
    }

    @Test
    void whatTakesLongCanBeDoneElsewhere() {
        ExecutorService other = Executors.newSingleThreadExecutor();
        try (KlogManager own = KlogManager.openAsync(new KlogManagerOptions(dir.resolve("own")).createDirs(true), other).join();
                KlogLog log = compacted()) {
            assertEquals(0, own.logs().size());
            log.flushAsync(other).join();
            assertEquals(100, log.info().recoveryPoint());
            assertEquals(90, log.cleanAsync(new CleanOptions().roll(true), other).join().droppedSuperseded());
            CompletionException failed = assertThrows(CompletionException.class,
                    () -> KlogManager.openAsync(new KlogManagerOptions(dir.resolve("none")), other).join());
            assertInstanceOf(LogDirNotFoundException.class, failed.getCause());
        } finally {
            other.shutdown();
        }
    }

    @Test
    void compactionCanBeCancelledAndPaused() {
        KlogLog log = compacted();
        try (CancelToken token = new CancelToken()) {
            token.cancel();
            assertThrows(KlogCancelledException.class, () -> log.clean(new CleanOptions().roll(true).cancel(token)));
        }
        log.pauseCleaning();
        assertEquals(Status.CLEAN_PAUSED, assertThrows(CleaningAbortedException.class, log::clean).status());
        log.resumeCleaning();
        assertEquals(1, log.clean(new CleanOptions().roll(true)).logsCleaned());
    }

    @Test
    void aLogMovesBetweenDirectories() {
        List<LogDir> dirs = manager.dirs();
        assertEquals(List.of(dir.resolve("d1").toString(), other.toString()), dirs.stream().map(LogDir::path).toList());
        assertEquals(Status.OK, dirs.get(1).state());
        KlogLog log = manager.log(new TopicPartition("m", 0), new KlogLogOptions().create(true).dir(dir.resolve("d1")));
        log.append(null, bytes("x"));
        log.moveTo(1, -1, null);
        assertEquals(other.resolve("m-0").toString(), manager.logs().get(0).dir());
        assertTrue(Files.isDirectory(other.resolve("m-0")));
        assertEquals(1, log.append(null, bytes("y")));
    }

    @Test
    void whatHappensIsToldAsEventsAndMetrics() {
        try (EventStream events = manager.events(EnumSet.of(EventType.LOG_CREATED, EventType.ROLLED, EventType.TRUNCATED), 16)) {
            assertEquals(List.of(), events.poll());
            KlogLog log = manager.logOrCreate("a-b", 3);
            log.append(null, bytes("x"));
            assertEquals(1, log.roll());
            assertTrue(log.truncateTo(0));
            List<KlogEvent> told = events.poll();
            assertEquals(List.of(EventType.LOG_CREATED, EventType.ROLLED, EventType.TRUNCATED),
                    told.stream().map(KlogEvent::type).toList());
            assertEquals(new TopicPartition("a-b", 3), told.get(1).topicPartition());
            assertEquals(1, told.get(1).offset());
            assertEquals(List.of(), events.poll());
        }
        for (List<Metric> all : List.of(manager.metrics(), manager.logOrCreate("a-b", 3).metrics())) {
            Metric in = all.stream().filter(m -> m.name().contains("MessagesInPerSec")).findFirst().orElseThrow();
            assertEquals(1, in.value());
            assertEquals(MetricType.COUNTER, in.type());
            assertFalse(in.help().isEmpty());
        }
        assertTrue(manager.metricsText().endsWith("# EOF\n"));
    }

    @Test
    void offsetsEpochsAndTransactionsAreFound() {
        KlogLog log = manager.logOrCreate("t", 0);
        RecordBatchBuilder batch = new RecordBatchBuilder().add(NOW, null, bytes("x"));
        log.append(batch, new AppendOptions().leaderEpoch(2));
        log.append(batch, new AppendOptions().producer(7, 0, 0).transactional());
        assertEquals(1, log.info().lastStableOffset());
        assertEquals(2, log.endTransaction(7, 0, false, 0).lastOffset());
        assertEquals(3, log.info().lastStableOffset());
        AbortedTransaction aborted = log.abortedTransactions(0, 3).get(0);
        assertEquals("7 1 2", aborted.producerId() + " " + aborted.firstOffset() + " " + aborted.lastOffset());
        assertTrue(log.producers().startsWith("producer 7 "), log.producers());
        ReadOptions committed = new ReadOptions().isolation(Isolation.READ_COMMITTED);
        try (Cursor cursor = log.cursor(0, committed)) {
            assertEquals(0, cursor.next().offset());
            assertNull(cursor.next());
            assertEquals(3, cursor.position());
        }
        assertEquals(1, log.read(0, java.nio.ByteBuffer.allocate(1000), committed).abortedTransactions());
        assertEquals(2, log.endOffsetForEpoch(2).leaderEpoch());
        assertEquals(3, log.endOffsetForEpoch(2).endOffset());
        assertEquals(-1, log.endOffsetForEpoch(5).endOffset());
        log.assignEpoch(4, 3);
        assertEquals(Status.FENCED_LEADER_EPOCH, refusal(log, 3));
        assertEquals(Status.UNKNOWN_LEADER_EPOCH, refusal(log, 5));
        log.read(0, java.nio.ByteBuffer.allocate(1000), new ReadOptions().leaderEpoch(4));
        assertEquals(4, log.info().latestEpoch());
        assertEquals(3, log.offsetForTime(KlogLog.LATEST).orElseThrow().offset());
        assertEquals(0, log.offsetForTime(KlogLog.EARLIEST).orElseThrow().offset());
        assertTrue(log.offsetForTime(NOW + 1_000_000_000).isEmpty());
    }

    /** What a read is answered that takes this for the log's latest leader epoch. */
    private static Status refusal(KlogLog log, int epoch) {
        ReadOptions options = new ReadOptions().leaderEpoch(epoch);
        return assertThrows(KlogException.class, () -> log.read(0, java.nio.ByteBuffer.allocate(1000), options)).status();
    }

    @Test
    void highWatermarksAreMovedByHandWhereAskedFor() {
        KlogLog log = manager.log(new TopicPartition("h", 0), new KlogLogOptions().create(true).manualHighWatermark(true)
                .topicId(new UUID(1, 2)));
        log.append(null, bytes("x"));
        log.append(null, bytes("y"));
        assertEquals(0, log.info().highWatermark());
        assertEquals(1, log.setHighWatermark(1));
        try (Cursor cursor = log.cursor(0, new ReadOptions().isolation(Isolation.READ_UNCOMMITTED))) {
            assertEquals(0, cursor.next().offset());
            assertNull(cursor.next());
        }
        assertEquals("AAAAAAAAAAEAAAAAAAAAAg", manager.logs().get(0).topicId());
    }

    @Test
    void configurationChangesWhileLogsAreOpen() {
        KlogLog log = manager.logOrCreate("r", 0);
        log.append(NOW, null, bytes("x"));
        log.configure(KlogConfig.topic().set("retention.ms", 1000));
        manager.tick(NOW + 1000);
        assertEquals(0, manager.retain(log, false).segmentsDeleted());
        TickResult tick = manager.tick(NOW + 2000);
        assertTrue(tick.nextDueMs() > NOW);
        assertEquals(0, log.info().logStartOffset());
        assertEquals(1, manager.retain(log, true).segmentsDeleted());
        assertEquals(0, log.info().logStartOffset());
        assertEquals(1, log.retain().segmentsDeleted());
        assertEquals(1, log.info().logStartOffset());
        manager.configure(KlogConfig.broker().set("log.retention.ms", 5000));
        log.truncateFully(9);
        assertEquals(9, log.endOffset());
        log.flush();
        assertEquals(9, log.info().recoveryPoint());
        manager.flushAll();
        manager.checkpoint(EnumSet.allOf(CheckpointType.class));
        manager.createMeta(0, "z9na3q9PQmqPVP0mquDCww", 1);
        assertEquals(2, manager.info().dirsOnline());
        assertNull(KlogManager.openProgress(other));
    }

    @Test
    void aReaderOfAnotherOwnersDirectoryTakesInWhatItDoes() {
        KlogLog log = manager.logOrCreate("a", 0);
        try (KlogManager reader = KlogManager.open(new KlogManagerOptions(dir.resolve("d1"), other).readOnly(true))) {
            KlogLog same = reader.log(new TopicPartition("a", 0));
            log.append(null, bytes("x"));
            assertEquals(0, same.endOffset());
            same.refresh();
            assertEquals(1, same.endOffset());
            log.append(null, bytes("y"));
            reader.refresh();
            assertEquals(2, same.endOffset());
        }
    }

    @Test
    void whatAnAbandonedManagerLeftIsRecoveredAndReported() {
        manager.logOrCreate("a", 0).append(null, bytes("x"));
        manager.abandon();
        open();
        assertEquals(1, manager.info().segmentsRecovered());
        assertTrue(manager.report().stream().anyMatch(l -> l.kind().equals("recovered")), manager.report().toString());
        assertEquals(1, manager.log(new TopicPartition("a", 0)).endOffset());
        assertFalse(manager.logs().get(0).failed());
    }
}
