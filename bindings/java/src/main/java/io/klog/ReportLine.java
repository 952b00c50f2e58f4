package io.klog;

/** What the opening of a manager found and did. */
public final class ReportLine {
    private final String kind;
    private final String dir;
    private final TopicPartition topicPartition;
    private final String status;
    private final String text;

    /** A line of the report. */
    ReportLine(String kind, String dir, TopicPartition topicPartition, String status, String text) {
        this.kind = kind;
        this.dir = dir;
        this.topicPartition = topicPartition;
        this.status = status;
        this.text = text;
    }

    /**
     * Recovered, repaired, ignored, config or failed, in lower case.
     *
     * @return recovered, repaired, ignored, config or failed, in lower case
     */
    public String kind() {
        return kind;
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
     * The log; null if it is none.
     *
     * @return the log
     */
    public TopicPartition topicPartition() {
        return topicPartition;
    }

    /**
     * The name of a status; empty without one.
     *
     * @return the name of a status
     */
    public String status() {
        return status;
    }

    /**
     * What it was.
     *
     * @return what it was
     */
    public String text() {
        return text;
    }

    @Override
    public String toString() {
        return "ReportLine(kind=" + kind + ", dir=" + dir + ", topicPartition=" + topicPartition + ", status=" + status + ", text=" + text + ")";
    }
}
