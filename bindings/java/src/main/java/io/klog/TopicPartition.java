package io.klog;

import java.util.Objects;

/** A topic's name and a partition of it: what a log is known by. */
public final class TopicPartition implements Comparable<TopicPartition> {
    private final String topic;
    private final int partition;

    /**
     * Names a partition.
     *
     * @param topic its topic
     * @param partition its number
     */
    public TopicPartition(String topic, int partition) {
        this.topic = Objects.requireNonNull(topic, "topic");
        this.partition = partition;
    }

    /** As a log's directory is named: everything before the last dash is the topic. */
    static TopicPartition parse(String name) {
        int dash = name.lastIndexOf('-');
        return new TopicPartition(name.substring(0, dash), Integer.parseInt(name.substring(dash + 1)));
    }

    /**
     * The topic.
     *
     * @return its name
     */
    public String topic() {
        return topic;
    }

    /**
     * The partition.
     *
     * @return its number
     */
    public int partition() {
        return partition;
    }

    @Override
    public int compareTo(TopicPartition other) {
        int byTopic = topic.compareTo(other.topic);
        return byTopic != 0 ? byTopic : Integer.compare(partition, other.partition);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof TopicPartition && ((TopicPartition) other).partition == partition
                && ((TopicPartition) other).topic.equals(topic);
    }

    @Override
    public int hashCode() {
        return 31 * topic.hashCode() + partition;
    }

    @Override
    public String toString() {
        return topic + "-" + partition;
    }
}
