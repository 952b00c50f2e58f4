package io.klog.interop;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.internal.FileRecords;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MutableRecordBatch;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.storage.internals.log.UnifiedLog;

/**
 * How long a record takes from the call of append until a reader has it that waits at the end of the log. In a broker the append
 * completes the fetch that waits; here it wakes the reader, which reads then.
 */
final class TailSpeed {
    private static final int FETCH_BYTES = 1 << 20;

    private final UnifiedLog log;
    private final AppendSpeed.Data data;
    private final long periodNanos;
    private final AtomicLongArray sent;

    private TailSpeed(UnifiedLog log, AppendSpeed.Data data, int records, long periodNanos) {
        this.log = log;
        this.data = data;
        this.periodNanos = periodNanos;
        sent = new AtomicLongArray(records);
    }

    static String run(Arguments arguments) throws Exception {
        Path dir = arguments.path("DIR");
        AppendSpeed.Data data = AppendSpeed.Data.of(arguments.path("RECORDS-FILE"));
        int records = arguments.int32("RECORDS");
        long periodNanos = arguments.int64("PERIOD-NS");
        arguments.end();
        UnifiedLog log = AppendSpeed.fresh(dir, Map.of());
        TailSpeed tail = new TailSpeed(log, data, records, periodNanos);
        ExecutorService reader = Executors.newSingleThreadExecutor();
        try {
            Callable<long[]> reading = tail::read;
            Future<long[]> times = reader.submit(reading);
            tail.append();
            long[] sorted = times.get();
            Arrays.sort(sorted);
            StringBuilder answer = new StringBuilder();
            for (int thousandths : new int[] {500, 990, 999}) {
                int at = Math.min((int) ((long) records * thousandths / 1000), records - 1);
                answer.append("p").append(thousandths).append("=").append(sorted[at]).append(" ");
            }
            return answer.append("\n").toString();
        } finally {
            reader.shutdownNow();
            Logs.drop(log);
        }
    }

    private void append() throws IOException {
        ByteBuffer buffer = ByteBuffer.allocate(1 << 12);
        long began = System.nanoTime();
        for (int n = 0; n < sent.length(); n++) {
            for (long left; (left = began + n * periodNanos - System.nanoTime()) > 0;) LockSupport.parkNanos(left);
            sent.set(n, System.nanoTime());
            log.appendAsLeader(data.build(buffer, Compression.NONE, n % AppendSpeed.RECORDS, 1), 0);
            synchronized (this) {
                notifyAll();
            }
        }
    }

    private long[] read() throws Exception {
        ByteBuffer fetched = ByteBuffer.allocate(FETCH_BYTES);
        long[] times = new long[sent.length()];
        long next = 0;
        while (next < times.length) {
            synchronized (this) {
                while (log.logEndOffset() <= next) wait();
            }
            FileRecords found = (FileRecords) log.read(next, FETCH_BYTES, FetchIsolation.LOG_END, true).records;
            fetched.clear().limit(found.sizeInBytes());
            found.readInto(fetched, 0);
            for (MutableRecordBatch batch : MemoryRecords.readableRecords(fetched).batches()) {
                batch.ensureValid();
                for (Record record : batch) {
                    times[(int) record.offset()] = System.nanoTime() - sent.get((int) record.offset());
                }
                next = batch.nextOffset();
            }
        }
        return times;
    }
}
