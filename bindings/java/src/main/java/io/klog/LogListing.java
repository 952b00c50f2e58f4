package io.klog;

/** A log of a manager, as {@link KlogManager#logs()} lists it. */
public final class LogListing {
    private final TopicPartition topicPartition;
    private final String dir;
    private final String topicId;
    private final boolean managed;
    private final boolean failed;

    /** A line of the list. */
    LogListing(TopicPartition topicPartition, String dir, String topicId, boolean managed, boolean failed) {
        this.topicPartition = topicPartition;
        this.dir = dir;
        this.topicId = topicId;
        this.managed = managed;
        this.failed = failed;
    }

    /**
     * What it is.
     *
     * @return what it is
     */
    public TopicPartition topicPartition() {
        return topicPartition;
    }

    /**
     * The directory with its files.
     *
     * @return the directory with its files
     */
    public String dir() {
        return dir;
    }

    /**
     * The topic's id as Kafka writes it; empty without one.
     *
     * @return the topic's id as Kafka writes it
     */
    public String topicId() {
        return topicId;
    }

    /**
     * Whether retention and compaction take care of it.
     *
     * @return whether retention and compaction take care of it
     */
    public boolean managed() {
        return managed;
    }

    /**
     * Whether it could not be opened.
     *
     * @return whether it could not be opened
     */
    public boolean failed() {
        return failed;
    }

    @Override
    public String toString() {
        return "LogListing(topicPartition=" + topicPartition + ", dir=" + dir + ", topicId=" + topicId + ", managed=" + managed + ", failed=" + failed + ")";
    }
}
