package io.klog;

import static io.klog.ErrorsTest.bytes;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Many virtual threads at once: they share the memory of calls, and need none each. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class VirtualThreadTest {
    @TempDir
    Path dir;

    private static ExecutorService virtualThreads() throws ReflectiveOperationException {
        Assumptions.assumeTrue(Runtime.version().feature() >= 21, "virtual threads begin with Java 21");
        // By its name: the tests are compiled for Java 17.
        return (ExecutorService) Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
    }

    @Test
    void tenThousandOfThemAppendAndRead() throws Exception {
        ExecutorService pool = virtualThreads();
        try (KlogManager manager = KlogManager.open(dir); KlogLog log = manager.logOrCreate("a", 0)) {
            List<Future<Boolean>> all = new ArrayList<>();
            for (int n = 0; n < 10_000; n++) {
                byte[] value = bytes("value " + n);
                all.add(pool.submit(() -> {
                    long offset = log.append(null, value);
                    Thread.yield();
                    return log.info().logEndOffset() > offset && log.offsetForTime(KlogLog.EARLIEST).isPresent();
                }));
            }
            for (Future<Boolean> each : all) {
                assertEquals(true, each.get());
            }
            assertEquals(10_000, log.endOffset());
        } finally {
            pool.shutdown();
        }
    }

    @Test
    void aThousandOfThemWaitAndHoldNoThread() throws Exception {
        ExecutorService pool = virtualThreads();
        try (Recording pinned = new Recording(); KlogManager manager = KlogManager.open(dir)) {
            pinned.enable("jdk.VirtualThreadPinned").withoutThreshold();
            pinned.start();
            KlogLog log = manager.logOrCreate("a", 0);
            List<Future<Long>> all = new ArrayList<>();
            List<Thread> threads = Collections.synchronizedList(new ArrayList<>());
            for (int n = 0; n < 1000; n++) {
                boolean follows = n % 2 == 0;
                all.add(pool.submit(() -> {
                    threads.add(Thread.currentThread());
                    if (follows) {
                        try (Cursor cursor = log.cursor(0)) {
                            return cursor.next((Duration) null).offset();
                        }
                    }
                    return log.await(OffsetKind.LOG_END, 0, null) - 1;
                }));
            }
            // If waiting held the threads that carry them not all would come so far.
            while (threads.size() < 1000 || !threads.stream().allMatch(t -> t.getState() == Thread.State.WAITING)) {
                Thread.onSpinWait();
            }
            log.append(null, bytes("x"));
            for (Future<Long> each : all) {
                assertEquals(0, each.get());
            }
            log.close();
            pinned.stop();
            Path recorded = dir.resolve("pinned.jfr");
            pinned.dump(recorded);
            assertEquals(List.of(), RecordingFile.readAllEvents(recorded));
        } finally {
            pool.shutdown();
        }
    }
}
