package io.klog.interop;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

/** Opens and drops single logs, with a broker's defaults for all that no test varies. */
final class Logs {
    static final int MAX_TRANSACTION_TIMEOUT_MS = 900_000;
    static final int PRODUCER_EXPIRATION_MS = 86_400_000;
    static final int PRODUCER_EXPIRATION_CHECK_MS = 600_000;
    static final BrokerTopicStats STATS = new BrokerTopicStats();

    private static final int FAILURE_QUEUE = 8;

    private Logs() { }

    /** Each log gets a failure channel of its own, so that an error in one leaves the others of its directory alone. */
    static UnifiedLog open(Path dir, LogConfig config, long start, long recoveryPoint, boolean clean, Time time)
            throws IOException {
        return UnifiedLog.create(dir.toFile(), config, start, recoveryPoint, new InlineScheduler(), STATS, time,
            MAX_TRANSACTION_TIMEOUT_MS, producerConfig(), PRODUCER_EXPIRATION_CHECK_MS,
            new LogDirFailureChannel(FAILURE_QUEUE), clean, Optional.empty());
    }

    /** Transaction verification needs a coordinator, and here is none. */
    static ProducerStateManagerConfig producerConfig() {
        return new ProducerStateManagerConfig(PRODUCER_EXPIRATION_MS, false);
    }

    /** Lets go of files and mappings and writes nothing: what a killed process leaves, or the end of a look. */
    static void drop(UnifiedLog log) {
        log.closeQuietly();
        forget(log);
    }

    /** Metrics outlive a log; without this, every log ever opened would stay in memory. */
    static void forget(UnifiedLog log) {
        log.removeLogMetrics();
        STATS.removeMetrics(log.topicPartition().topic());
    }
}
