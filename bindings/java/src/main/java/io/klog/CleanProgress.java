package io.klog;

/** How far a pass of the cleaner is. */
public final class CleanProgress {
    private final CleanPhase phase;
    private final long bytesDone;
    private final long bytesTotal;
    private final long firstDirtyOffset;
    private final long endOffset;
    private final long startedMs;

    /** Takes what a call wrote into its frame. */
    CleanProgress(Frame frame) {
        phase = CleanPhase.of(frame.outInt(Layout.CLEAN_PROGRESS_PHASE));
        bytesDone = frame.outLong(Layout.CLEAN_PROGRESS_BYTES_DONE);
        bytesTotal = frame.outLong(Layout.CLEAN_PROGRESS_BYTES_TOTAL);
        firstDirtyOffset = frame.outLong(Layout.CLEAN_PROGRESS_FIRST_DIRTY_OFFSET);
        endOffset = frame.outLong(Layout.CLEAN_PROGRESS_END_OFFSET);
        startedMs = frame.outLong(Layout.CLEAN_PROGRESS_STARTED_MS);
    }

    /**
     * What it does; {@link CleanPhase#IDLE} if none runs.
     *
     * @return what it does
     */
    public CleanPhase phase() {
        return phase;
    }

    /**
     * Bytes read in this phase.
     *
     * @return bytes read in this phase
     */
    public long bytesDone() {
        return bytesDone;
    }

    /**
     * Bytes to read in this phase.
     *
     * @return bytes to read in this phase
     */
    public long bytesTotal() {
        return bytesTotal;
    }

    /**
     * Where the dirty part began; -1 if no pass runs.
     *
     * @return where the dirty part began
     */
    public long firstDirtyOffset() {
        return firstDirtyOffset;
    }

    /**
     * Up to where the log is cleaned; -1 if no pass runs.
     *
     * @return up to where the log is cleaned
     */
    public long endOffset() {
        return endOffset;
    }

    /**
     * When the pass began, in ms since 1970; -1 if none runs.
     *
     * @return when the pass began, in ms since 1970
     */
    public long startedMs() {
        return startedMs;
    }

    @Override
    public String toString() {
        return "CleanProgress(phase=" + phase
                + ", bytesDone=" + bytesDone
                + ", bytesTotal=" + bytesTotal
                + ", firstDirtyOffset=" + firstDirtyOffset
                + ", endOffset=" + endOffset
                + ", startedMs=" + startedMs + ")";
    }
}
