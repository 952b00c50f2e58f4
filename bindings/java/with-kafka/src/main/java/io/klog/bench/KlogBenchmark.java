package io.klog.bench;

import io.klog.Cursor;
import io.klog.KlogLog;
import io.klog.KlogManager;
import io.klog.RecordBatchBuilder;
import io.klog.RecordView;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/** klog over the backend of the process, by record or by call. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class KlogBenchmark {
    private Path dir;
    private KlogManager manager;
    private KlogLog appended;
    private KlogLog scanned;
    private Cursor cursor;
    private final RecordBatchBuilder batch = new RecordBatchBuilder();

    /** Opens a log to append to, and fills one to scan. */
    @Setup
    public void open() throws IOException {
        dir = Scratch.directory();
        manager = KlogManager.open(dir);
        appended = manager.logOrCreate("appended", 0);
        scanned = manager.logOrCreate("scanned", 0);
        for (int n = 0; n < Records.SCANNED; n += Records.BATCH) {
            scanned.append(fill());
        }
        cursor = scanned.cursor(0);
    }

    /** Keeps the log small. */
    @Setup(Level.Iteration)
    public void begin() {
        appended.truncateFully(0);
    }

    /** Closes and removes all. */
    @TearDown
    public void close() throws IOException {
        manager.close();
        Scratch.remove(dir);
    }

    private RecordBatchBuilder fill() {
        batch.clear();
        for (int n = 0; n < Records.BATCH; n++) {
            batch.add(Records.TIME, Records.KEY, Records.VALUE);
        }
        return batch;
    }

    /** A record of a batch that is filled and appended. */
    @Benchmark
    @OperationsPerInvocation(Records.BATCH)
    public long append() {
        return appended.append(fill()).lastOffset();
    }

    /** A record that a cursor gives, with a look at its key and value. */
    @Benchmark
    @OperationsPerInvocation(Records.SCANNED)
    public long scan() {
        long sum = 0;
        cursor.seek(0);
        for (RecordView r = cursor.next(); r != null; r = cursor.next()) {
            ByteBuffer value = r.value();
            sum += r.offset() + r.key().remaining() + value.get(value.position());
        }
        return sum;
    }

    /** The cheapest call. */
    @Benchmark
    public long endOffset() {
        return scanned.endOffset();
    }

    /** A record that is appended by itself. */
    @Benchmark
    public long appendOne() {
        return appended.append(Records.TIME, Records.KEY, Records.VALUE);
    }
}
