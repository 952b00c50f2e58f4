package io.klog.interop;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.common.record.internal.FileRecords;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MutableRecordBatch;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.internals.BufferSupplier;
import org.apache.kafka.common.utils.internals.CloseableIterator;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.UnifiedLog;

/** Reads of a log that is there: its partition is t-0, its records lie a millisecond apart from offset 0 on. */
final class ReadSpeed {
    private static final int FETCH_BYTES = 1 << 20;
    private static final long TIME = 1_700_000_000_000L;

    private static final ByteBuffer FETCHED = ByteBuffer.allocate(2 * FETCH_BYTES);

    private ReadSpeed() { }

    /** The work, measured; the answer is a sum that depends on all of it. */
    @FunctionalInterface
    private interface Work {
        long on(UnifiedLog log) throws IOException;
    }

    private static String measure(Arguments arguments, Work work) throws IOException {
        Path dir = arguments.path("DIR");
        UnifiedLog log = Logs.open(dir.resolve("t-0"), new LogConfig(Map.of()), 0, Long.MAX_VALUE, true, Time.SYSTEM);
        try {
            long began = Speed.worked();
            long sum = work.on(log);
            return "ns=" + (Speed.worked() - began) + " sum=" + sum + "\n";
        } finally {
            // As the manager does it: else the next open would find indexes of full size.
            log.prepareActiveSegmentForClose();
            log.flush(true);
            log.close();
            Logs.forget(log);
        }
    }

    /** Puts what is read into memory; the bytes. */
    private static int into(FileRecords records, ByteBuffer buffer) throws IOException {
        int size = records.sizeInBytes();
        buffer.clear().limit(size);
        records.readInto(buffer, 0);
        return size;
    }

    /** As a consumer does: each batch's checksum is checked, and each record decoded. */
    static String scan(Arguments arguments) throws IOException {
        BufferSupplier buffers = BufferSupplier.create();
        return measure(arguments, log -> {
            long records = 0;
            long next = 0;
            long end = log.logEndOffset();
            while (next < end) {
                into((FileRecords) log.read(next, FETCH_BYTES, FetchIsolation.LOG_END, true).records, FETCHED);
                for (MutableRecordBatch batch : MemoryRecords.readableRecords(FETCHED).batches()) {
                    batch.ensureValid();
                    try (CloseableIterator<Record> each = batch.streamingIterator(buffers)) {
                        while (each.hasNext()) {
                            Record record = each.next();
                            if (record.keySize() + record.valueSize() > 0) records++;
                        }
                    }
                    next = batch.nextOffset();
                }
            }
            return records;
        });
    }

    static String fetch(Arguments arguments) throws IOException {
        return measure(arguments, log -> {
            long bytes = 0;
            long next = 0;
            long end = log.logEndOffset();
            while (next < end) {
                FileRecords read = (FileRecords) log.read(next, FETCH_BYTES, FetchIsolation.LOG_END, true).records;
                int size = into(read, FETCHED);
                bytes += size;
                // The last whole batch says where to go on: its header, found as a consumer finds it.
                next = afterWholeBatches(size);
            }
            return bytes;
        });
    }

    private static long afterWholeBatches(int size) {
        int at = 0;
        long next = -1;
        while (at + 27 <= size) {
            int length = 12 + FETCHED.getInt(at + 8);
            if (at + length > size) break;
            next = FETCHED.getLong(at) + FETCHED.getInt(at + 23) + 1;
            at += length;
        }
        return next;
    }

    /** The same order for all contestants: a linear congruential generator. */
    static long next(long state) {
        return state * 6_364_136_223_846_793_005L + 1_442_695_040_888_963_407L;
    }

    static String random(Arguments arguments) throws IOException {
        ByteBuffer buffer = ByteBuffer.allocate(1 << 16);
        return measure(arguments, log -> {
            long bytes = 0;
            long state = 1;
            long end = log.logEndOffset();
            long reads = arguments.int64("READS");
            for (long n = 0; n < reads; n++) {
                state = next(state);
                long offset = (state >>> 33) % end;
                bytes += into((FileRecords) log.read(offset, 1, FetchIsolation.LOG_END, true).records, buffer);
            }
            return bytes;
        });
    }

    static String timestamps(Arguments arguments) throws IOException {
        return measure(arguments, log -> {
            long sum = 0;
            long state = 1;
            long end = log.logEndOffset();
            long lookups = arguments.int64("LOOKUPS");
            for (long n = 0; n < lookups; n++) {
                state = next(state);
                long time = TIME + (state >>> 33) % end;
                sum += log.fetchOffsetByTimestamp(time, Optional.empty()).timestampAndOffsetOpt().get().offset;
            }
            return sum;
        });
    }
}
