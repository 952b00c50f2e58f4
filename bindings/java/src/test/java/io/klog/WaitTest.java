package io.klog;

import static io.klog.ErrorsTest.bytes;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.klog.errors.KlogClosedException;
import io.klog.errors.KlogTimeoutException;
import io.klog.errors.OffsetOutOfRangeException;
import io.klog.errors.UnknownTopicOrPartitionException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Waiting for a log to get on. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class WaitTest {
    @TempDir
    Path dir;

    private KlogManager manager;
    private KlogLog log;

    @BeforeEach
    void open() {
        // That of the test before ends soon after its manager.
        while (waiterThreads() > 0) {
            Thread.onSpinWait();
        }
        manager = KlogManager.open(dir);
        log = manager.logOrCreate("a", 0);
    }

    @AfterEach
    void close() {
        log.close();
        manager.close();
    }

    /** A thread with a result. */
    static final class Waiting<T> {
        private final FutureTask<T> task;
        final Thread thread;

        Waiting(Callable<T> work) {
            task = new FutureTask<>(work);
            thread = new Thread(task);
            thread.start();
        }

        /** Comes back when the thread is parked. */
        Waiting<T> parked() {
            while (thread.getState() != Thread.State.WAITING) {
                if (task.isDone()) {
                    throw new AssertionError("did not wait");
                }
                Thread.onSpinWait();
            }
            return this;
        }

        T result() throws Exception {
            return task.get(30, TimeUnit.SECONDS);
        }

        Throwable failure() {
            return assertThrows(ExecutionException.class, this::result).getCause();
        }
    }

    static long waiterThreads() {
        return Thread.getAllStackTraces().keySet().stream().filter(t -> t.getName().equals("klog-waiter")).count();
    }

    @Test
    void whatIsThereIsNotWaitedFor() throws Exception {
        log.append(null, bytes("x"));
        assertEquals(1, log.await(OffsetKind.LOG_END, 0, Duration.ZERO));
        assertEquals(1, log.whenReached(OffsetKind.LOG_END, 0).getNow(-1L));
        assertThrows(KlogTimeoutException.class, () -> log.await(OffsetKind.LOG_END, 1, Duration.ZERO));
        assertThrows(KlogTimeoutException.class, () -> log.await(OffsetKind.LOG_END, 1, Duration.ofSeconds(-1)));
        assertEquals(0, waiterThreads(), "nobody waited");
    }

    @Test
    void anAppendEndsAWait() throws Exception {
        Waiting<Long> near = new Waiting<>(() -> log.await(OffsetKind.LOG_END, 0, null)).parked();
        Waiting<Long> far = new Waiting<>(() -> log.await(OffsetKind.LOG_END, 2, Duration.ofDays(1L << 40))).parked();
        CompletableFuture<Long> told = log.whenReached(OffsetKind.LOG_END, 1);
        log.append(null, bytes("x"));
        assertEquals(1, near.result());
        assertFalse(told.isDone());
        log.append(null, bytes("y"));
        assertEquals(2, told.get());
        far.parked();
        log.append(null, bytes("z"));
        assertEquals(3, far.result());
    }

    @Test
    void everyEndCanBeWaitedFor() throws Exception {
        KlogLog manual = manager.log(new TopicPartition("b", 0), new KlogLogOptions().create(true).manualHighWatermark(true));
        CompletableFuture<Long> mark = manual.whenReached(OffsetKind.HIGH_WATERMARK, 0);
        CompletableFuture<Long> stable = log.whenReached(OffsetKind.LAST_STABLE, 0);
        CompletableFuture<Long> durable = log.whenReached(OffsetKind.DURABLE, 0);
        manual.append(null, bytes("x"));
        log.append(new RecordBatchBuilder().add(null, bytes("x")), new AppendOptions().producer(7, 0, 0).transactional());
        log.await(OffsetKind.LOG_END, 0, null);
        assertFalse(mark.isDone() || stable.isDone() || durable.isDone());
        manual.setHighWatermark(1);
        assertEquals(1, mark.get());
        log.endTransaction(7, (short) 0, true, 0);
        assertEquals(2, stable.get());
        log.flush();
        assertEquals(2, durable.get());
        manual.close();
    }

    @Test
    void theTimePassesOrTheThreadIsInterrupted() throws Exception {
        assertThrows(KlogTimeoutException.class, () -> log.await(OffsetKind.LOG_END, 0, Duration.ofMillis(3)));
        Waiting<Long> waiting = new Waiting<>(() -> log.await(OffsetKind.LOG_END, 0, null)).parked();
        waiting.thread.interrupt();
        assertInstanceOf(InterruptedException.class, waiting.failure());
        log.append(null, bytes("x"));
        assertInstanceOf(InterruptedException.class, new Waiting<>(() -> {
            Thread.currentThread().interrupt();
            return log.await(OffsetKind.LOG_END, 0, null);
        }).failure());
    }

    @Test
    void whoWaitsLongIsArmedAgainAndWhoGaveUpIsNot() throws Exception {
        long usual = Waits.armedMs;
        Waits.armedMs = 1;
        try {
            Waiting<Long> waiting = new Waiting<>(() -> log.await(OffsetKind.LOG_END, 0, null)).parked();
            CompletableFuture<Long> told = log.whenReached(OffsetKind.LOG_END, 0);
            CompletableFuture<Long> givenUp = log.whenReached(OffsetKind.LOG_END, 0);
            assertTrue(givenUp.cancel(false));
            // Each of these is as long as several armings.
            for (int n = 0; n < 20; n++) {
                assertThrows(KlogTimeoutException.class, () -> log.await(OffsetKind.LOG_END, 0, Duration.ofMillis(3)));
            }
            waiting.parked();
            assertFalse(told.isDone());
            log.append(null, bytes("x"));
            assertEquals(1, waiting.result());
            assertEquals(1, told.get());
        } finally {
            Waits.armedMs = usual;
        }
    }

    @Test
    void aCloseEndsWhatWaits() throws Exception {
        KlogLog second = manager.logOrCreate("a", 0);
        Cursor cursor = log.cursor(0);
        Waiting<RecordView> record = new Waiting<>(() -> cursor.next((Duration) null)).parked();
        Waiting<Long> onSecond = new Waiting<>(() -> second.await(OffsetKind.LOG_END, 0, null)).parked();
        Waiting<Long> onFirst = new Waiting<>(() -> log.await(OffsetKind.LOG_END, 0, null)).parked();
        CompletableFuture<Long> told = log.whenReached(OffsetKind.LOG_END, 0);

        cursor.close();
        assertInstanceOf(KlogClosedException.class, record.failure());
        second.close();
        assertInstanceOf(KlogClosedException.class, onSecond.failure());
        onFirst.parked();
        assertFalse(told.isDone());
        manager.close();
        assertInstanceOf(KlogClosedException.class, onFirst.failure());
        assertInstanceOf(KlogClosedException.class, assertThrows(ExecutionException.class, told::get).getCause());
        assertThrows(KlogClosedException.class, () -> log.await(OffsetKind.LOG_END, 0, null));
        assertThrows(KlogClosedException.class, () -> log.whenReached(OffsetKind.LOG_END, 0));
    }

    @Test
    void aCutAndADeletionEndWhatWaits() throws Exception {
        for (int n = 0; n < 5; n++) {
            log.append(null, bytes("x"));
        }
        Waiting<Long> waiting = new Waiting<>(() -> log.await(OffsetKind.LOG_END, 5, null)).parked();
        log.truncateTo(2);
        assertInstanceOf(OffsetOutOfRangeException.class, waiting.failure());
        CompletableFuture<Long> told = log.whenReached(OffsetKind.LOG_END, 5);
        log.delete();
        assertInstanceOf(UnknownTopicOrPartitionException.class, assertThrows(ExecutionException.class, told::get).getCause());
    }

    @Test
    void aCursorFollowsALog() throws Exception {
        try (Cursor cursor = log.cursor(0)) {
            assertNull(cursor.next(Duration.ofMillis(2)));
            Waiting<String> sum = new Waiting<>(() -> {
                StringBuilder all = new StringBuilder();
                for (int n = 0; n < 100; n++) {
                    all.append(new String(cursor.next((Duration) null).valueBytes())).append(' ');
                }
                return all.toString();
            });
            StringBuilder expected = new StringBuilder();
            for (int n = 0; n < 100; n++) {
                log.append(null, bytes("" + n));
                expected.append(n).append(' ');
            }
            assertEquals(expected.toString(), sum.result());
            assertNull(cursor.next(Duration.ZERO));
            Thread.currentThread().interrupt();
            assertThrows(InterruptedException.class, () -> cursor.next(Duration.ofSeconds(1)));
            log.append(null, bytes("last"));
            assertEquals("last", new String(cursor.next(Duration.ZERO).valueBytes()));
        }
    }

    @Test
    void aFetchWaitsForItsBytes() throws Exception {
        ByteBuffer buffer = ByteBuffer.allocateDirect(1 << 16);
        assertEquals(0, log.read(0, buffer, null, Duration.ofMillis(2)).bytes());
        Waiting<ReadResult> fetch = new Waiting<>(() -> log.read(0, buffer, new ReadOptions().minBytes(150), null)).parked();
        log.append(null, new byte[20]);
        fetch.parked();
        log.append(null, new byte[20]);
        assertEquals(2, fetch.result().batches());
        assertEquals(1, log.read(1, buffer, new ReadOptions().minBytes(1000), Duration.ofMillis(2)).batches());
    }

    @Test
    void aThousandWaitersAddOneThreadThatEndsWithTheManager() throws Exception {
        assertEquals(0, waiterThreads());
        int threads = Thread.activeCount();
        List<CompletableFuture<Long>> all = new ArrayList<>();
        for (int n = 0; n < 1000; n++) {
            all.add(log.whenReached(OffsetKind.LOG_END, n % 2));
        }
        assertEquals(1, waiterThreads());
        assertTrue(Thread.activeCount() <= threads + 1);
        log.append(null, bytes("x"));
        log.append(null, bytes("y"));
        for (CompletableFuture<Long> each : all) {
            assertTrue(each.get() > 0);
        }
        manager.close();
        while (waiterThreads() > 0) {
            Thread.onSpinWait();
        }
    }

    @Test
    void whatFollowsInTheWaitersThreadMayNotWait() throws Exception {
        CompletableFuture<Boolean> refused = new CompletableFuture<>();
        log.whenReached(OffsetKind.LOG_END, 0).thenAccept(end -> {
            try {
                log.await(OffsetKind.LOG_END, end, null);
                refused.complete(false);
            } catch (IllegalStateException expected) {
                refused.complete(true);
            } catch (InterruptedException unexpected) {
                refused.completeExceptionally(unexpected);
            }
        });
        log.append(null, bytes("x"));
        assertTrue(refused.get());
        assertEquals(2, log.whenReached(OffsetKind.LOG_END, 0).thenApplyAsync(end -> log.append(null, bytes("y")) + 1).get());
    }
}
