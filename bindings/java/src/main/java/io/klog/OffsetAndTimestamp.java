package io.klog;

/** A record found by its time. */
public final class OffsetAndTimestamp {
    private final long offset;
    private final long timestamp;
    private final int leaderEpoch;

    /** Takes what a call wrote into its frame. */
    OffsetAndTimestamp(Frame frame) {
        offset = frame.outLong(Layout.TIMESTAMP_OFFSET_OFFSET);
        timestamp = frame.outLong(Layout.TIMESTAMP_OFFSET_TIMESTAMP_MS);
        leaderEpoch = frame.outInt(Layout.TIMESTAMP_OFFSET_LEADER_EPOCH);
    }

    /**
     * Its offset.
     *
     * @return its offset
     */
    public long offset() {
        return offset;
    }

    /**
     * Its time in ms; -1 for the ends of the log.
     *
     * @return its time in ms
     */
    public long timestamp() {
        return timestamp;
    }

    /**
     * Leader epoch of its batch; -1 for none.
     *
     * @return leader epoch of its batch
     */
    public int leaderEpoch() {
        return leaderEpoch;
    }

    @Override
    public String toString() {
        return "OffsetAndTimestamp(offset=" + offset
                + ", timestamp=" + timestamp
                + ", leaderEpoch=" + leaderEpoch + ")";
    }
}
