package io.klog;

/** What compaction did, or would do: the sums over all passes. */
public final class CleanResult {
    private final long logsCleaned;
    private final long bytesRead;
    private final long bytesWritten;
    private final long recordsRead;
    private final long recordsKept;
    private final long droppedSuperseded;
    private final long droppedTombstones;
    private final long droppedNoKey;
    private final long droppedAborted;
    private final long droppedMarkers;
    private final long mapSlots;
    private final long mapSlotsUsed;
    private final long elapsedMs;
    private final long throttledMs;
    private final long firstDirtyOffset;

    /** Takes what a call wrote into its frame. */
    CleanResult(Frame frame) {
        logsCleaned = frame.outLong(Layout.CLEAN_RESULT_LOGS_CLEANED);
        bytesRead = frame.outLong(Layout.CLEAN_RESULT_BYTES_READ);
        bytesWritten = frame.outLong(Layout.CLEAN_RESULT_BYTES_WRITTEN);
        recordsRead = frame.outLong(Layout.CLEAN_RESULT_RECORDS_READ);
        recordsKept = frame.outLong(Layout.CLEAN_RESULT_RECORDS_KEPT);
        droppedSuperseded = frame.outLong(Layout.CLEAN_RESULT_DROPPED_SUPERSEDED);
        droppedTombstones = frame.outLong(Layout.CLEAN_RESULT_DROPPED_TOMBSTONES);
        droppedNoKey = frame.outLong(Layout.CLEAN_RESULT_DROPPED_NO_KEY);
        droppedAborted = frame.outLong(Layout.CLEAN_RESULT_DROPPED_ABORTED);
        droppedMarkers = frame.outLong(Layout.CLEAN_RESULT_DROPPED_MARKERS);
        mapSlots = frame.outLong(Layout.CLEAN_RESULT_MAP_SLOTS);
        mapSlotsUsed = frame.outLong(Layout.CLEAN_RESULT_MAP_SLOTS_USED);
        elapsedMs = frame.outLong(Layout.CLEAN_RESULT_ELAPSED_MS);
        throttledMs = frame.outLong(Layout.CLEAN_RESULT_THROTTLED_MS);
        firstDirtyOffset = frame.outLong(Layout.CLEAN_RESULT_FIRST_DIRTY_OFFSET);
    }

    /**
     * Passes that were made.
     *
     * @return passes that were made
     */
    public long logsCleaned() {
        return logsCleaned;
    }

    /**
     * Bytes of all batches that were looked at.
     *
     * @return bytes of all batches that were looked at
     */
    public long bytesRead() {
        return bytesRead;
    }

    /**
     * Bytes of the batches in their place.
     *
     * @return bytes of the batches in their place
     */
    public long bytesWritten() {
        return bytesWritten;
    }

    /**
     * Records that were looked at.
     *
     * @return records that were looked at
     */
    public long recordsRead() {
        return recordsRead;
    }

    /**
     * Records that stay.
     *
     * @return records that stay
     */
    public long recordsKept() {
        return recordsKept;
    }

    /**
     * Records whose key has a later one.
     *
     * @return records whose key has a later one
     */
    public long droppedSuperseded() {
        return droppedSuperseded;
    }

    /**
     * Tombstones past their time.
     *
     * @return tombstones past their time
     */
    public long droppedTombstones() {
        return droppedTombstones;
    }

    /**
     * Records without a key.
     *
     * @return records without a key
     */
    public long droppedNoKey() {
        return droppedNoKey;
    }

    /**
     * Records of aborted transactions.
     *
     * @return records of aborted transactions
     */
    public long droppedAborted() {
        return droppedAborted;
    }

    /**
     * Markers of transactions of which nothing is left.
     *
     * @return markers of transactions of which nothing is left
     */
    public long droppedMarkers() {
        return droppedMarkers;
    }

    /**
     * Slots of the largest map from key to offset.
     *
     * @return slots of the largest map from key to offset
     */
    public long mapSlots() {
        return mapSlots;
    }

    /**
     * Slots that were taken in it.
     *
     * @return slots that were taken in it
     */
    public long mapSlotsUsed() {
        return mapSlotsUsed;
    }

    /**
     * How long it took, in ms.
     *
     * @return how long it took, in ms
     */
    public long elapsedMs() {
        return elapsedMs;
    }

    /**
     * How much of that it was held up to keep below a rate, in ms.
     *
     * @return how much of that it was held up to keep below a rate, in ms
     */
    public long throttledMs() {
        return throttledMs;
    }

    /**
     * Where the dirty part begins now; -1 without a log, or if there was nothing to clean.
     *
     * @return where the dirty part begins now
     */
    public long firstDirtyOffset() {
        return firstDirtyOffset;
    }

    @Override
    public String toString() {
        return "CleanResult(logsCleaned=" + logsCleaned
                + ", bytesRead=" + bytesRead
                + ", bytesWritten=" + bytesWritten
                + ", recordsRead=" + recordsRead
                + ", recordsKept=" + recordsKept
                + ", droppedSuperseded=" + droppedSuperseded
                + ", droppedTombstones=" + droppedTombstones
                + ", droppedNoKey=" + droppedNoKey
                + ", droppedAborted=" + droppedAborted
                + ", droppedMarkers=" + droppedMarkers
                + ", mapSlots=" + mapSlots
                + ", mapSlotsUsed=" + mapSlotsUsed
                + ", elapsedMs=" + elapsedMs
                + ", throttledMs=" + throttledMs
                + ", firstDirtyOffset=" + firstDirtyOffset + ")";
    }
}
