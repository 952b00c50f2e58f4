package io.klog;

/** What became of one of the appends of {@link KlogManager#appendAll}. */
public final class AppendOutcome {
    private final long firstOffset;
    private final long lastOffset;
    private final long logAppendTime;
    private final KlogException failure;

    AppendOutcome(long firstOffset, long lastOffset, long logAppendTime, KlogException failure) {
        this.firstOffset = firstOffset;
        this.lastOffset = lastOffset;
        this.logAppendTime = logAppendTime;
        this.failure = failure;
    }

    /**
     * The first offset that was assigned.
     *
     * @return -1 if nothing was appended
     */
    public long firstOffset() {
        return firstOffset;
    }

    /**
     * The last offset that was assigned.
     *
     * @return -1 if nothing was appended
     */
    public long lastOffset() {
        return lastOffset;
    }

    /**
     * The time of the append, if the topic's timestamps are that.
     *
     * @return in ms since 1970, else -1
     */
    public long logAppendTime() {
        return logAppendTime;
    }

    /**
     * Why it was not appended.
     *
     * @return null if it was
     */
    public KlogException failure() {
        return failure;
    }

    @Override
    public String toString() {
        return failure == null ? firstOffset + ".." + lastOffset : failure.getMessage();
    }
}
