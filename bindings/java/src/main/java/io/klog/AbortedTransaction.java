package io.klog;

/** A transaction that was aborted. */
public final class AbortedTransaction {
    private final long producerId;
    private final long firstOffset;
    private final long lastOffset;
    private final long lastStableOffset;

    /** As the index has it. */
    AbortedTransaction(long producerId, long firstOffset, long lastOffset, long lastStableOffset) {
        this.producerId = producerId;
        this.firstOffset = firstOffset;
        this.lastOffset = lastOffset;
        this.lastStableOffset = lastStableOffset;
    }

    /**
     * Whose it was.
     *
     * @return whose it was
     */
    public long producerId() {
        return producerId;
    }

    /**
     * Its first offset.
     *
     * @return its first offset
     */
    public long firstOffset() {
        return firstOffset;
    }

    /**
     * The offset of its marker.
     *
     * @return the offset of its marker
     */
    public long lastOffset() {
        return lastOffset;
    }

    /**
     * The last stable offset when it ended.
     *
     * @return the last stable offset when it ended
     */
    public long lastStableOffset() {
        return lastStableOffset;
    }

    @Override
    public String toString() {
        return "AbortedTransaction(producerId=" + producerId + ", firstOffset=" + firstOffset + ", lastOffset=" + lastOffset + ", lastStableOffset=" + lastStableOffset + ")";
    }
}
