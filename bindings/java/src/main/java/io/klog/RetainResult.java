package io.klog;

/** What retention took, or would take. */
public final class RetainResult {
    private final long segmentsDeleted;
    private final long bytesDeleted;
    private final long logStartOffset;

    /** Takes what a call wrote into its frame. */
    RetainResult(Frame frame) {
        segmentsDeleted = frame.outLong(Layout.RETAIN_RESULT_SEGMENTS_DELETED);
        bytesDeleted = frame.outLong(Layout.RETAIN_RESULT_BYTES_DELETED);
        logStartOffset = frame.outLong(Layout.RETAIN_RESULT_LOG_START_OFFSET);
    }

    /**
     * Segments that are gone.
     *
     * @return segments that are gone
     */
    public long segmentsDeleted() {
        return segmentsDeleted;
    }

    /**
     * Bytes of their records.
     *
     * @return bytes of their records
     */
    public long bytesDeleted() {
        return bytesDeleted;
    }

    /**
     * Where the log starts now; -1 for a pass over all logs.
     *
     * @return where the log starts now
     */
    public long logStartOffset() {
        return logStartOffset;
    }

    @Override
    public String toString() {
        return "RetainResult(segmentsDeleted=" + segmentsDeleted
                + ", bytesDeleted=" + bytesDeleted
                + ", logStartOffset=" + logStartOffset + ")";
    }
}
