package io.klog.bench;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.FileRecords;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.server.util.KafkaScheduler;
import org.apache.kafka.storage.internals.log.FetchDataInfo;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;
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

/** The same work by Kafka's own log, as a broker does it: what a producer sends is built, appended, fetched and decoded. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class KafkaBenchmark {
    private static final int FETCH_BYTES = 1 << 20;

    private final KafkaScheduler scheduler = new KafkaScheduler(1);
    private final ByteBuffer batch = ByteBuffer.allocate(1 << 20);
    private final ByteBuffer fetched = ByteBuffer.allocate(2 * FETCH_BYTES);
    private Path dir;
    private UnifiedLog appended;
    private UnifiedLog scanned;

    /** Opens a log to append to, and fills one to scan. */
    @Setup
    public void open() throws IOException {
        scheduler.startup();
        dir = Scratch.directory();
        appended = log("appended-0");
        scanned = log("scanned-0");
        for (int n = 0; n < Records.SCANNED; n += Records.BATCH) {
            scanned.appendAsLeader(fill(Records.BATCH), 0);
        }
    }

    private UnifiedLog log(String name) throws IOException {
        Path path = Files.createDirectory(dir.resolve(name));
        return UnifiedLog.create(path.toFile(), new LogConfig(Map.of()), 0, 0, scheduler, new BrokerTopicStats(), Time.SYSTEM,
                900_000, new ProducerStateManagerConfig(86_400_000, false), 600_000, new LogDirFailureChannel(1), true,
                Optional.empty());
    }

    /** Keeps the log small. */
    @Setup(Level.Iteration)
    public void begin() throws IOException {
        appended.truncateFullyAndStartAt(0, Optional.empty());
    }

    /** Closes and removes all. */
    @TearDown
    public void close() throws Exception {
        appended.close();
        scanned.close();
        scheduler.shutdown();
        Scratch.remove(dir);
    }

    private MemoryRecords fill(int records) {
        MemoryRecordsBuilder builder = MemoryRecords.builder(batch.clear(), Compression.NONE, TimestampType.CREATE_TIME, 0);
        for (int n = 0; n < records; n++) {
            builder.append(Records.TIME, Records.KEY, Records.VALUE);
        }
        return builder.build();
    }

    /** A record of a batch that is filled and appended. */
    @Benchmark
    @OperationsPerInvocation(Records.BATCH)
    public long append() throws IOException {
        return appended.appendAsLeader(fill(Records.BATCH), 0).lastOffset();
    }

    /** A record that is fetched into memory and decoded, with a look at its key and value. */
    @Benchmark
    @OperationsPerInvocation(Records.SCANNED)
    public long scan() throws IOException {
        long sum = 0;
        long next = 0;
        while (next < Records.SCANNED) {
            FetchDataInfo info = scanned.read(next, FETCH_BYTES, FetchIsolation.LOG_END, true);
            FileRecords file = (FileRecords) info.records;
            fetched.clear().limit(file.sizeInBytes());
            file.readInto(fetched, 0);
            for (Record r : MemoryRecords.readableRecords(fetched).records()) {
                sum += r.offset() + r.keySize() + r.value().get(0);
                next = r.offset() + 1;
            }
        }
        return sum;
    }

    /** The cheapest call. */
    @Benchmark
    public long endOffset() {
        return scanned.logEndOffset();
    }

    /** A record that is appended by itself. */
    @Benchmark
    public long appendOne() throws IOException {
        return appended.appendAsLeader(fill(1), 0).lastOffset();
    }
}
