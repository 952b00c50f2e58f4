package io.klog;

/** Something that happened in a manager. What a kind does not have is empty, null or -1. */
public final class KlogEvent {
    private final EventType type;
    private final long timestamp;
    private final String dir;
    private final TopicPartition topicPartition;
    private final String status;
    private final long offset;
    private final long count;
    private final long bytes;
    private final String text;

    /** A line of the stream. */
    KlogEvent(EventType type, long timestamp, String dir, TopicPartition topicPartition, String status, long offset, long count, long bytes, String text) {
        this.type = type;
        this.timestamp = timestamp;
        this.dir = dir;
        this.topicPartition = topicPartition;
        this.status = status;
        this.offset = offset;
        this.count = count;
        this.bytes = bytes;
        this.text = text;
    }

    /**
     * What happened.
     *
     * @return what happened
     */
    public EventType type() {
        return type;
    }

    /**
     * When, in ms since 1970.
     *
     * @return when, in ms since 1970
     */
    public long timestamp() {
        return timestamp;
    }

    /**
     * The directory.
     *
     * @return the directory
     */
    public String dir() {
        return dir;
    }

    /**
     * The log.
     *
     * @return the log
     */
    public TopicPartition topicPartition() {
        return topicPartition;
    }

    /**
     * The name of a status.
     *
     * @return the name of a status
     */
    public String status() {
        return status;
    }

    /**
     * An offset, as the kind says.
     *
     * @return an offset, as the kind says
     */
    public long offset() {
        return offset;
    }

    /**
     * A count, as the kind says.
     *
     * @return a count, as the kind says
     */
    public long count() {
        return count;
    }

    /**
     * Bytes, as the kind says.
     *
     * @return bytes, as the kind says
     */
    public long bytes() {
        return bytes;
    }

    /**
     * What it was, in words.
     *
     * @return what it was, in words
     */
    public String text() {
        return text;
    }

    @Override
    public String toString() {
        return "KlogEvent(type=" + type + ", timestamp=" + timestamp + ", dir=" + dir + ", topicPartition=" + topicPartition + ", status=" + status + ", offset=" + offset + ", count=" + count + ", bytes=" + bytes + ", text=" + text + ")";
    }
}
