package io.klog;

import static io.klog.ErrorsTest.bytes;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.klog.errors.KlogClosedException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.ConcurrentModificationException;
import java.util.EnumSet;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** What is closed says so, whenever and wherever it is used. */
class CloseTest {
    @TempDir
    Path dir;

    private static List<Executable> callsOn(KlogLog log) {
        RecordBatchBuilder batch = new RecordBatchBuilder().add(null, bytes("x"));
        return List.of(() -> log.append(batch), () -> log.append(null, new byte[0]), log::endOffset, log::info, log::roll, log::flush,
                () -> log.appendRaw(ByteBuffer.allocate(61), null), () -> log.read(0, ByteBuffer.allocate(100)),
                () -> log.cursor(0), () -> log.offsetForTime(0), () -> log.endOffsetForEpoch(0), () -> log.assignEpoch(1, 0),
                () -> log.setHighWatermark(0), () -> log.truncateTo(0), () -> log.truncateFully(0), () -> log.deleteRecords(0),
                log::retain, log::clean, log::cleanProgress, log::pauseCleaning, log::resumeCleaning,
                () -> log.isCleanedTo(0), () -> log.moveTo(0, -1, null), log::delete,
                () -> log.configure(KlogConfig.topic()), log::producers, () -> log.abortedTransactions(0, 1),
                () -> log.endTransaction(1, (short) 0, true, 0), log::metrics, log::refresh,
                () -> log.await(OffsetKind.LOG_END, 0, Duration.ZERO), () -> log.whenReached(OffsetKind.DURABLE, 0),
                () -> log.appender(null), () -> log.read(0, ByteBuffer.allocate(100), null, Duration.ZERO));
    }

    private static List<Executable> callsOn(KlogManager manager) {
        return List.of(manager::logs, manager::report, manager::dirs, manager::info, manager::refresh, manager::flushAll,
                () -> manager.logOrCreate("x", 0), () -> manager.retain(null, false), () -> manager.clean(null, null),
                () -> manager.checkpoint(EnumSet.allOf(CheckpointType.class)), manager::tick, manager::metrics,
                manager::metricsText, () -> manager.events(EnumSet.allOf(EventType.class), 0),
                () -> manager.configure(KlogConfig.broker()), () -> manager.retry(new TopicPartition("a", 0)),
                () -> manager.resolve(new TopicPartition("a", 0), 0), () -> manager.promote(new TopicPartition("a", 0)),
                () -> manager.appendAll(List.of(), null), () -> manager.createMeta(0, "z9na3q9PQmqPVP0mquDCww", 1));
    }

    @Test
    void aCloseThatIsLimitedEndsOrCanBeCalledAgain() {
        KlogManager manager = KlogManager.open(dir);
        KlogLog log = manager.logOrCreate("a", 0);
        log.append(null, bytes("x"));
        // It may be done at once, or not: then it is waited for.
        if (!manager.close(Duration.ZERO)) {
            assertTrue(manager.close(Duration.ofMinutes(1)));
        }
        assertTrue(manager.close(Duration.ZERO));
        manager.close();
        assertThrows(KlogClosedException.class, log::endOffset);
        try (KlogManager again = KlogManager.open(dir)) {
            assertEquals(1, again.logOrCreate("a", 0).endOffset());
            assertTrue(again.close(Duration.ofMinutes(1)));
        }
    }

    @Test
    void everyCallAfterACloseThrows() {
        KlogManager manager = KlogManager.open(dir);
        KlogLog log = manager.logOrCreate("a", 0);
        KlogLog other = manager.logOrCreate("a", 0);
        log.append(null, bytes("x"));
        Cursor cursor = log.cursor(0);
        Cursor open = log.cursor(0);
        open.next();
        EventStream events = manager.events(EnumSet.allOf(EventType.class), 0);

        other.close();
        other.close();
        callsOn(other).forEach(call -> assertThrows(KlogClosedException.class, call));
        assertEquals(1, log.endOffset());
        cursor.close();
        cursor.close();
        assertThrows(KlogClosedException.class, cursor::next);
        assertThrows(KlogClosedException.class, () -> cursor.seek(0));

        manager.close();
        manager.close();
        callsOn(manager).forEach(call -> assertThrows(KlogClosedException.class, call));
        callsOn(log).forEach(call -> assertThrows(KlogClosedException.class, call));
        assertThrows(KlogClosedException.class, open::next);
        assertThrows(KlogClosedException.class, events::poll);
        open.close();
        events.close();
        log.close();

        CancelToken token = new CancelToken();
        token.close();
        token.close();
        assertThrows(KlogClosedException.class, token::cancel);
    }

    @Test
    void nothingStaysOpen() {
        long before;
        try (KlogManager manager = KlogManager.open(dir)) {
            before = manager.info().openHandles();
            try (KlogLog log = manager.logOrCreate("a", 0);
                    Cursor cursor = log.cursor(0);
                    EventStream events = manager.events(EnumSet.of(EventType.ROLLED), 8);
                    CancelToken token = new CancelToken()) {
                assertEquals(before + 4, manager.info().openHandles());
            }
            assertThrows(KlogException.class, () -> KlogConfig.topic().set("retention.ms", "x"));
            assertEquals(before, manager.info().openHandles());
        }
    }

    private static long added(Appender appender, RecordBatchBuilder batch) throws Throwable {
        try {
            return appender.append(batch).get().lastOffset();
        } catch (ExecutionException told) {
            throw told.getCause();
        }
    }

    private static void check(AppendOutcome outcome) {
        if (outcome.failure() != null) {
            throw outcome.failure();
        }
    }

    @Test
    void whatIsLeftOpenEndsWithItsManager() {
        long before;
        try (KlogManager manager = KlogManager.open(dir)) {
            before = manager.info().openHandles();
        }
        try (KlogManager manager = KlogManager.open(dir)) {
            KlogLog log = manager.logOrCreate("a", 0);
            log.cursor(0);
            manager.events(EnumSet.of(EventType.ROLLED), 8);
            log.appender(null).add(new RecordBatchBuilder().add(null, bytes("x")));
            assertEquals(before + 4, manager.info().openHandles());
        }
        try (KlogManager manager = KlogManager.open(dir); KlogLog log = manager.logOrCreate("a", 0)) {
            assertEquals(1, log.endOffset());
            assertEquals(before + 1, manager.info().openHandles());
        }
    }

    @Test
    void aCloseMayComeAtAnyMoment() throws Exception {
        ExecutorService pool = Executors.newCachedThreadPool();
        try {
            for (int round = 0; round < 30; round++) {
                Path data = dir.resolve("r" + round);
                KlogManager manager = KlogManager.open(data);
                KlogLog log = manager.logOrCreate("a", 0);
                log.append(null, bytes("first"));
                Cursor shared = log.cursor(0);
                AtomicLong acknowledged = new AtomicLong(0);
                List<Future<?>> all = new ArrayList<>();
                Appender appender = log.appender(null);
                ByteBuffer buffer = ByteBuffer.allocateDirect(1 << 16);
                RecordBatchBuilder batch = new RecordBatchBuilder().add(null, bytes("second")).add(null, null);
                List<Executable> work = List.of(
                        () -> acknowledged.accumulateAndGet(log.append(null, bytes("x")), Math::max),
                        () -> acknowledged.accumulateAndGet(log.append(batch).lastOffset(), Math::max),
                        () -> log.read(0, buffer.clear()),
                        () -> {
                            try (Cursor cursor = log.cursor(0)) {
                                cursor.next();
                            }
                        },
                        () -> {
                            if (shared.next() == null) {
                                shared.seek(0);
                            }
                        },
                        () -> {
                            log.info();
                            manager.logs();
                            manager.metricsText();
                        },
                        () -> acknowledged.accumulateAndGet(log.await(OffsetKind.LOG_END, log.endOffset(), null) - 1, Math::max),
                        () -> manager.clean(null, null),
                        () -> acknowledged.accumulateAndGet(added(appender, batch), Math::max),
                        () -> manager.appendAll(List.of(new AppendItem(log, batch)), null).forEach(CloseTest::check));
                CountDownLatch running = new CountDownLatch(work.size());
                for (Executable call : work) {
                    all.add(pool.submit(() -> {
                        assertThrows(KlogClosedException.class, () -> {
                            running.countDown();
                            for (;;) {
                                call.execute();
                            }
                        });
                    }));
                }
                running.await();
                if (round % 3 == 0) {
                    shared.close();
                }
                manager.close();
                for (Future<?> each : all) {
                    each.get(60, TimeUnit.SECONDS);
                }
                try (KlogManager again = KlogManager.open(data)) {
                    assertTrue(again.log(new TopicPartition("a", 0)).endOffset() > acknowledged.get());
                }
            }
        } finally {
            pool.shutdownNow();
        }
    }

    @Test
    void aCursorThatTwoThreadsUseSaysSo() throws Exception {
        try (KlogManager manager = KlogManager.open(dir)) {
            KlogLog log = manager.logOrCreate("a", 0);
            log.append(null, bytes("x"));
            Cursor cursor = log.cursor(0);
            AtomicLong refused = new AtomicLong();
            Runnable use = () -> {
                for (int n = 0; n < 100_000 && refused.get() == 0; n++) {
                    try {
                        cursor.seek(0);
                    } catch (ConcurrentModificationException expected) {
                        refused.incrementAndGet();
                    }
                }
            };
            Thread[] threads = {new Thread(use), new Thread(use)};
            for (Thread thread : threads) {
                thread.start();
            }
            for (Thread thread : threads) {
                thread.join();
            }
            assertTrue(refused.get() > 0);
        }
    }
}
