package io.klog.interop;

import java.io.File;
import java.nio.file.Path;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.storage.internals.log.UnifiedLog;

/** What a subdirectory of a data directory is, by its name: the log of a partition, or one that is not to be loaded. */
enum DirectoryKind {
    LOG, METADATA, DELETE, STRAY, FUTURE, OTHER, UNKNOWN;

    /** KRaft's own log; Kafka's log manager leaves it to others. */
    private static final String METADATA_TOPIC = "__cluster_metadata";
    private static final String TIERED_STORAGE_CACHE = "remote-log-index-cache";

    static DirectoryKind of(String name) {
        if (name.equals(TIERED_STORAGE_CACHE)) return OTHER;
        TopicPartition partition;
        try {
            partition = partition(name);
        } catch (KafkaException | IllegalArgumentException e) {
            return UNKNOWN;
        }
        if (partition.topic().equals(METADATA_TOPIC)) return METADATA;
        if (name.endsWith("-delete")) return DELETE;
        if (name.endsWith("-stray")) return STRAY;
        if (name.endsWith("-future")) return FUTURE;
        return LOG;
    }

    static TopicPartition partition(String name) {
        return partition(Path.of(name).toAbsolutePath());
    }

    static TopicPartition partition(Path dir) {
        return UnifiedLog.parseTopicPartitionName(new File(dir.toString()));
    }
}
