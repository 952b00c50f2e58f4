package io.klog;

/** Where a leader epoch ends. */
public final class EpochEndOffset {
    private final int leaderEpoch;
    private final long endOffset;

    /** Takes what a call wrote into its frame. */
    EpochEndOffset(Frame frame) {
        leaderEpoch = frame.outInt(Layout.EPOCH_OFFSET_LEADER_EPOCH);
        endOffset = frame.outLong(Layout.EPOCH_OFFSET_END_OFFSET);
    }

    /**
     * The epoch that the answer is for: the highest at or below the one asked for; -1 if the log cannot know it.
     *
     * @return the epoch that the answer is for: the highest at or below the one asked for
     */
    public int leaderEpoch() {
        return leaderEpoch;
    }

    /**
     * The offset behind its last record; -1 if the log cannot know it.
     *
     * @return the offset behind its last record
     */
    public long endOffset() {
        return endOffset;
    }

    @Override
    public String toString() {
        return "EpochEndOffset(leaderEpoch=" + leaderEpoch
                + ", endOffset=" + endOffset + ")";
    }
}
