package io.klog;

import static io.klog.ErrorsTest.bytes;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.klog.errors.InvalidArgumentException;
import io.klog.errors.InvalidRecordException;
import io.klog.errors.KlogClosedException;
import io.klog.errors.OutOfOrderSequenceException;
import io.klog.errors.RecordTooLargeException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Many appends in few calls: appenders, and appends to many logs. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class AppenderTest {
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
        log.close();
        manager.close();
    }

    private static RecordBatchBuilder of(String... values) {
        RecordBatchBuilder batch = new RecordBatchBuilder();
        for (String value : values) {
            batch.add(null, bytes(value));
        }
        return batch;
    }

    private static KlogException failure(Future<?> future) {
        return (KlogException) assertThrows(ExecutionException.class, future::get).getCause();
    }

    private static int batches(KlogLog log) {
        return log.read(0, java.nio.ByteBuffer.allocate(1 << 20)).batches();
    }

    @Test
    void ticketsAreAppendedTogetherAndInOrder() {
        try (Appender appender = log.appender(null)) {
            RecordBatchBuilder batch = of("a", "b");
            long first = appender.add(batch);
            long second = appender.add(batch.clear().add(null, bytes("c")));
            assertEquals(0, appender.add(of()));
            assertEquals(0, log.endOffset());
            AppendResult result = appender.await(second, null);
            assertEquals("2..2 1", result.firstOffset() + ".." + result.lastOffset() + " " + result.records());
            result = appender.await(first, Duration.ZERO);
            assertEquals("0..1 2", result.firstOffset() + ".." + result.lastOffset() + " " + result.records());
            assertEquals(1, batches(log));
            assertThrows(InvalidArgumentException.class, () -> appender.await(99, null));
            appender.add(of("d"));
            appender.flush();
            assertEquals(4, log.endOffset());
            appender.add(of("e"));
        }
        assertEquals(5, log.endOffset());
    }

    @Test
    void futuresTellTheOffsetsOfManyThreads() throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(4);
        Set<Long> offsets = new HashSet<>();
        try (Appender appender = log.appender(new AppenderOptions().append(new AppendOptions().durability(Durability.FSYNC)))) {
            List<Future<List<Future<AppendResult>>>> all = new ArrayList<>();
            for (int thread = 0; thread < 4; thread++) {
                all.add(pool.submit(() -> {
                    RecordBatchBuilder batch = new RecordBatchBuilder();
                    List<Future<AppendResult>> futures = new ArrayList<>();
                    // More than may be untold at once.
                    for (int n = 0; n < 5000; n++) {
                        futures.add(appender.append(batch.clear().add(null, bytes("x")).add(null, bytes("y"))));
                    }
                    return futures;
                }));
            }
            for (Future<List<Future<AppendResult>>> each : all) {
                long last = -1;
                for (Future<AppendResult> future : each.get()) {
                    AppendResult result = future.get();
                    assertTrue(result.firstOffset() > last);
                    last = result.lastOffset();
                    assertEquals(result.firstOffset() + 1, last);
                    offsets.add(last);
                }
            }
            assertEquals(-1, appender.append(of()).get().firstOffset());
        } finally {
            pool.shutdown();
        }
        assertEquals(20_000, offsets.size());
        assertEquals(40_000, log.endOffset());
        assertTrue(log.info().recoveryPoint() >= 40_000);
    }

    @Test
    void whoFindsTheQueueFullAppendsWhatIsThere() {
        try (Appender appender = log.appender(new AppenderOptions().queueBytes(1000).batchBytes(500))) {
            RecordBatchBuilder batch = new RecordBatchBuilder().add(null, new byte[300]);
            appender.add(batch);
            assertEquals(0, log.endOffset());
            for (int n = 0; n < 99; n++) {
                appender.add(batch, n % 2 == 0 ? Duration.ZERO : null);
            }
            assertTrue(log.endOffset() >= 97, "of 100 " + log.endOffset());
            appender.flush(Duration.ofMinutes(1));
            assertEquals(100, log.endOffset());
        }
    }

    @Test
    void aRefusalIsToldToItsTicketAndToTheFlush() throws Exception {
        manager.log(new TopicPartition("c", 0),
                new KlogLogOptions().create(true).config(KlogConfig.topic().set("cleanup.policy", "compact"))).close();
        KlogLog compacted = manager.logOrCreate("c", 0);
        Appender appender = compacted.appender(null);
        assertInstanceOf(InvalidRecordException.class, failure(appender.append(of("no key"))));
        assertThrows(InvalidRecordException.class, appender::flush);
        appender.flush();
        assertEquals(0, appender.append(new RecordBatchBuilder().add(bytes("k"), bytes("v"))).get().firstOffset());
        appender.add(of("no key"));
        assertThrows(InvalidRecordException.class, appender::close);
        appender.close();
        assertThrows(KlogClosedException.class, () -> appender.add(of("x")));
        assertThrows(KlogClosedException.class, () -> appender.append(of("x")));
        assertThrows(KlogClosedException.class, appender::flush);
        assertThrows(InvalidArgumentException.class, () -> log.appender(
                new AppenderOptions().append(new AppendOptions().expectedLogEnd(0))));
        compacted.close();
    }

    @Test
    void aProducersSequencesGoOn() throws Exception {
        AppendOptions producer = new AppendOptions().producer(7, 0, 0);
        try (Appender appender = log.appender(new AppenderOptions().append(producer).batchBytes(1))) {
            for (int n = 0; n < 5; n++) {
                assertEquals(2 * n, appender.append(of("x", "y")).get().firstOffset());
            }
        }
        assertThrows(OutOfOrderSequenceException.class, () -> log.append(of("x"), new AppendOptions().producer(7, 0, 11)));
        assertEquals(10, log.append(of("x"), new AppendOptions().producer(7, 0, 10)).firstOffset());
    }

    @Test
    void aCloseAppendsAndADiscardDrops() throws Exception {
        Appender kept = log.appender(null);
        Appender dropped = log.appender(null);
        Appender left = log.appender(null);
        kept.add(of("a"));
        CompletableFuture<AppendResult> told = kept.append(of("b"));
        dropped.add(of("c"));
        dropped.discard();
        assertFalse(kept.append(of("d")).isCancelled());
        kept.close();
        assertTrue(told.isDone());
        assertEquals(1, told.get().firstOffset());
        assertEquals(3, log.endOffset());
        assertThrows(KlogClosedException.class, () -> dropped.append(of("x")));
        left.add(of("e"));
        CompletableFuture<AppendResult> last = left.append(of("f"));
        manager.close();
        assertEquals(4, last.get().lastOffset());
        assertThrows(KlogClosedException.class, () -> left.append(of("x")));
        try (KlogManager again = KlogManager.open(dir); KlogLog same = again.log(new TopicPartition("a", 0))) {
            assertEquals(5, same.endOffset());
        }
    }

    @Test
    void whatFollowsAFutureMayAppendAndClose() throws Exception {
        Appender appender = log.appender(null);
        CompletableFuture<Long> closed = appender.append(of("a")).thenCompose(done -> appender.append(of("b"))).thenApply(done -> {
            appender.close();
            return done.lastOffset();
        });
        assertEquals(1, closed.get());
        assertThrows(KlogClosedException.class, () -> appender.append(of("x")));
    }

    @Test
    void manyLogsAreAppendedToInOneCall() {
        KlogLog small = manager.log(new TopicPartition("s", 0),
                new KlogLogOptions().create(true).config(KlogConfig.topic().set("max.message.bytes", 100)));
        List<AppendItem> items = List.of(new AppendItem(log, of("a", "b")),
                new AppendItem(small, new RecordBatchBuilder().add(null, new byte[1000])), new AppendItem(small, of("c")),
                new AppendItem(log, of()), new AppendItem(log, of("d")));
        List<AppendOutcome> outcomes = manager.appendAll(items, new AppendOptions().durability(Durability.FSYNC));
        assertEquals("0..1", outcomes.get(0).toString());
        assertNull(outcomes.get(0).failure());
        assertInstanceOf(RecordTooLargeException.class, outcomes.get(1).failure());
        assertTrue(outcomes.get(1).failure().getMessage().contains("100"), outcomes.get(1).toString());
        assertEquals(-1, outcomes.get(1).firstOffset());
        assertEquals(List.of("0..0", "-1..-1", "2..2"), outcomes.subList(2, 5).stream().map(AppendOutcome::toString).toList());
        assertEquals(List.of(), manager.appendAll(List.of(), null));
        assertThrows(InvalidArgumentException.class, () -> manager.appendAll(items, new AppendOptions().expectedLogEnd(0)));
        assertEquals(3, log.endOffset());
        small.close();
        outcomes = manager.appendAll(List.of(new AppendItem(small, of("x")), new AppendItem(log, of("y"))), null);
        assertInstanceOf(KlogClosedException.class, outcomes.get(0).failure());
        assertEquals(3, outcomes.get(1).firstOffset());
    }
}
