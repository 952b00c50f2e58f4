package io.klog;

import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** On the paths that are meant to be reused no record costs the collector anything. */
class AllocationTest {
    private static final int RECORDS = 100_000;
    private static final int BATCH = 1000;
    private static final int WARM_SCANS = 60;

    @TempDir
    Path dir;

    private static long allocated() {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        return threads.getThreadAllocatedBytes(Thread.currentThread().getId());
    }

    private static void append(KlogLog log, RecordBatchBuilder batch, byte[] key, byte[] value) {
        for (int n = 0; n < RECORDS; n += BATCH) {
            batch.clear();
            for (int i = 0; i < BATCH; i++) {
                batch.add(n, key, value);
            }
            log.append(batch);
        }
    }

    private static long scan(Cursor cursor) {
        long sum = 0;
        cursor.seek(0);
        for (RecordView r = cursor.next(); r != null; r = cursor.next()) {
            ByteBuffer value = r.value();
            sum += r.offset() + r.timestamp() + r.key().remaining() + value.get(value.position());
        }
        return sum;
    }

    @Test
    void neitherAppendingNorReadingARecordAllocates() {
        try (KlogManager manager = KlogManager.open(dir); KlogLog log = manager.logOrCreate("a", 0); Cursor cursor = log.cursor(0)) {
            RecordBatchBuilder batch = new RecordBatchBuilder();
            byte[] key = new byte[12];
            byte[] value = new byte[100];
            append(log, batch, key, value);
            // The interpreter boxes what compiled calls do not.
            for (int warm = 0; warm < WARM_SCANS; warm++) {
                scan(cursor);
            }

            long before = allocated();
            append(log, batch, key, value);
            double appended = (double) (allocated() - before) / RECORDS;
            before = allocated();
            long sum = scan(cursor);
            double read = (double) (allocated() - before) / (2 * RECORDS);

            assertTrue(sum > 0);
            // What is left is the result of each append: one in a thousand records.
            assertTrue(appended < 1, appended + " bytes for each record appended");
            assertTrue(read < 0.1, read + " bytes for each record read");
        }
    }
}
