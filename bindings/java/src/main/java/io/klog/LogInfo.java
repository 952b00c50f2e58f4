package io.klog;

/** A log at one moment. */
public final class LogInfo {
    private final int latestEpoch;
    private final long logStartOffset;
    private final long highWatermark;
    private final long lastStableOffset;
    private final long logEndOffset;
    private final long recoveryPoint;
    private final long firstDirtyOffset;
    private final long segments;
    private final long bytes;
    private final long producers;

    /** Takes what a call wrote into its frame. */
    LogInfo(Frame frame) {
        latestEpoch = frame.outInt(Layout.LOG_INFO_LATEST_EPOCH);
        logStartOffset = frame.outLong(Layout.LOG_INFO_LOG_START_OFFSET);
        highWatermark = frame.outLong(Layout.LOG_INFO_HIGH_WATERMARK);
        lastStableOffset = frame.outLong(Layout.LOG_INFO_LAST_STABLE_OFFSET);
        logEndOffset = frame.outLong(Layout.LOG_INFO_LOG_END_OFFSET);
        recoveryPoint = frame.outLong(Layout.LOG_INFO_RECOVERY_POINT);
        firstDirtyOffset = frame.outLong(Layout.LOG_INFO_FIRST_DIRTY_OFFSET);
        segments = frame.outLong(Layout.LOG_INFO_SEGMENTS);
        bytes = frame.outLong(Layout.LOG_INFO_BYTES);
        producers = frame.outLong(Layout.LOG_INFO_PRODUCERS);
    }

    /**
     * The latest leader epoch; -1 for none.
     *
     * @return the latest leader epoch
     */
    public int latestEpoch() {
        return latestEpoch;
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
     * The high watermark.
     *
     * @return the high watermark
     */
    public long highWatermark() {
        return highWatermark;
    }

    /**
     * Readers of committed transactions stop here.
     *
     * @return readers of committed transactions stop here
     */
    public long lastStableOffset() {
        return lastStableOffset;
    }

    /**
     * The next offset to be assigned.
     *
     * @return the next offset to be assigned
     */
    public long logEndOffset() {
        return logEndOffset;
    }

    /**
     * Below this everything was flushed.
     *
     * @return below this everything was flushed
     */
    public long recoveryPoint() {
        return recoveryPoint;
    }

    /**
     * Where compaction goes on; -1 if it never came.
     *
     * @return where compaction goes on
     */
    public long firstDirtyOffset() {
        return firstDirtyOffset;
    }

    /**
     * How many segments.
     *
     * @return how many segments
     */
    public long segments() {
        return segments;
    }

    /**
     * Bytes of all segments.
     *
     * @return bytes of all segments
     */
    public long bytes() {
        return bytes;
    }

    /**
     * How many producers are known.
     *
     * @return how many producers are known
     */
    public long producers() {
        return producers;
    }

    @Override
    public String toString() {
        return "LogInfo(latestEpoch=" + latestEpoch
                + ", logStartOffset=" + logStartOffset
                + ", highWatermark=" + highWatermark
                + ", lastStableOffset=" + lastStableOffset
                + ", logEndOffset=" + logEndOffset
                + ", recoveryPoint=" + recoveryPoint
                + ", firstDirtyOffset=" + firstDirtyOffset
                + ", segments=" + segments
                + ", bytes=" + bytes
                + ", producers=" + producers + ")";
    }
}
