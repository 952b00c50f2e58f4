package io.klog;

import static io.klog.ErrorsTest.bytes;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Many virtual threads at once: they share the memory of calls, and need none each. */
class VirtualThreadTest {
    @TempDir
    Path dir;

    @Test
    void tenThousandOfThemAppendAndRead() throws Exception {
        Assumptions.assumeTrue(Runtime.version().feature() >= 21, "virtual threads begin with Java 21");
        // By its name: the tests are compiled for Java 17.
        ExecutorService pool = (ExecutorService) Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
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
}
