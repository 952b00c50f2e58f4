package io.klog;

/** What an append did. */
public final class AppendResult {
    private final long firstOffset;
    private final long lastOffset;
    private final long logStartOffset;
    private final long logAppendTime;
    private final long maxTimestamp;
    private final long bytesAppended;
    private final int records;

    /** Of no records. */
    static final AppendResult NOTHING = new AppendResult();

    private AppendResult() {
        firstOffset = -1;
        lastOffset = -1;
        logStartOffset = -1;
        logAppendTime = -1;
        maxTimestamp = -1;
        bytesAppended = 0;
        records = 0;
    }

    /** Takes what a call wrote into its frame. */
    AppendResult(Frame frame) {
        firstOffset = frame.outLong(Layout.APPEND_RESULT_FIRST_OFFSET);
        lastOffset = frame.outLong(Layout.APPEND_RESULT_LAST_OFFSET);
        logStartOffset = frame.outLong(Layout.APPEND_RESULT_LOG_START_OFFSET);
        logAppendTime = frame.outLong(Layout.APPEND_RESULT_LOG_APPEND_TIME_MS);
        maxTimestamp = frame.outLong(Layout.APPEND_RESULT_MAX_TIMESTAMP);
        bytesAppended = frame.outLong(Layout.APPEND_RESULT_BYTES_APPENDED);
        records = frame.outInt(Layout.APPEND_RESULT_RECORDS);
    }

    /**
     * The first offset that was assigned; -1 if nothing was appended.
     *
     * @return the first offset that was assigned
     */
    public long firstOffset() {
        return firstOffset;
    }

    /**
     * The last offset that was assigned; -1 if nothing was appended.
     *
     * @return the last offset that was assigned
     */
    public long lastOffset() {
        return lastOffset;
    }

    /**
     * The first offset that can be read.
     *
     * @return the first offset that can be read
     */
    public long logStartOffset() {
        return logStartOffset;
    }

    /**
     * The time of the append in ms if the topic's timestamps are that, else -1.
     *
     * @return the time of the append in ms if the topic's timestamps are that, else -1
     */
    public long logAppendTime() {
        return logAppendTime;
    }

    /**
     * The largest timestamp in ms; -1 for none.
     *
     * @return the largest timestamp in ms
     */
    public long maxTimestamp() {
        return maxTimestamp;
    }

    /**
     * Bytes that were written; 0 for a batch that its producer sent before.
     *
     * @return bytes that were written
     */
    public long bytesAppended() {
        return bytesAppended;
    }

    /**
     * How many records.
     *
     * @return how many records
     */
    public int records() {
        return records;
    }

    @Override
    public String toString() {
        return "AppendResult(firstOffset=" + firstOffset
                + ", lastOffset=" + lastOffset
                + ", logStartOffset=" + logStartOffset
                + ", logAppendTime=" + logAppendTime
                + ", maxTimestamp=" + maxTimestamp
                + ", bytesAppended=" + bytesAppended
                + ", records=" + records + ")";
    }
}
