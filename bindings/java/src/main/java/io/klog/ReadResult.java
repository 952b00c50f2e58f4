package io.klog;

/** What a fetch gave. */
public final class ReadResult {
    private final int batches;
    private final long bytes;
    private final long firstOffset;
    private final long nextOffset;
    private final long logStartOffset;
    private final long highWatermark;
    private final long lastStableOffset;
    private final long logEndOffset;
    private final long segmentBaseOffset;
    private final long position;
    private final int abortedTransactions;
    private final long abortedUpto;

    /** Takes what a call wrote into its frame. */
    ReadResult(Frame frame) {
        batches = frame.outInt(Layout.READ_RESULT_BATCHES);
        bytes = frame.outLong(Layout.READ_RESULT_BYTES);
        firstOffset = frame.outLong(Layout.READ_RESULT_FIRST_OFFSET);
        nextOffset = frame.outLong(Layout.READ_RESULT_NEXT_OFFSET);
        logStartOffset = frame.outLong(Layout.READ_RESULT_LOG_START_OFFSET);
        highWatermark = frame.outLong(Layout.READ_RESULT_HIGH_WATERMARK);
        lastStableOffset = frame.outLong(Layout.READ_RESULT_LAST_STABLE_OFFSET);
        logEndOffset = frame.outLong(Layout.READ_RESULT_LOG_END_OFFSET);
        segmentBaseOffset = frame.outLong(Layout.READ_RESULT_SEGMENT_BASE_OFFSET);
        position = frame.outLong(Layout.READ_RESULT_POSITION);
        abortedTransactions = frame.outInt(Layout.READ_RESULT_ABORTED_TXNS);
        abortedUpto = frame.outLong(Layout.READ_RESULT_ABORTED_UPTO);
    }

    /**
     * How many batches.
     *
     * @return how many batches
     */
    public int batches() {
        return batches;
    }

    /**
     * Bytes that were put into the buffer.
     *
     * @return bytes that were put into the buffer
     */
    public long bytes() {
        return bytes;
    }

    /**
     * First offset of what was given; it may lie below the one asked for.
     *
     * @return first offset of what was given
     */
    public long firstOffset() {
        return firstOffset;
    }

    /**
     * Where the next fetch goes on.
     *
     * @return where the next fetch goes on
     */
    public long nextOffset() {
        return nextOffset;
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
     * The last stable offset.
     *
     * @return the last stable offset
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
     * Base offset of the segment that the first byte lies in; -1 without bytes.
     *
     * @return base offset of the segment that the first byte lies in
     */
    public long segmentBaseOffset() {
        return segmentBaseOffset;
    }

    /**
     * Where the first byte lies in its segment.
     *
     * @return where the first byte lies in its segment
     */
    public long position() {
        return position;
    }

    /**
     * How many aborted transactions Kafka would list, with {@link Isolation#READ_COMMITTED}.
     *
     * @return how many aborted transactions Kafka would list, with {@link Isolation#READ_COMMITTED}
     */
    public int abortedTransactions() {
        return abortedTransactions;
    }

    /**
     * Up to where to ask {@link KlogLog#abortedTransactions}; -1 if there is no need.
     *
     * @return up to where to ask {@link KlogLog#abortedTransactions}
     */
    public long abortedUpto() {
        return abortedUpto;
    }

    @Override
    public String toString() {
        return "ReadResult(batches=" + batches
                + ", bytes=" + bytes
                + ", firstOffset=" + firstOffset
                + ", nextOffset=" + nextOffset
                + ", logStartOffset=" + logStartOffset
                + ", highWatermark=" + highWatermark
                + ", lastStableOffset=" + lastStableOffset
                + ", logEndOffset=" + logEndOffset
                + ", segmentBaseOffset=" + segmentBaseOffset
                + ", position=" + position
                + ", abortedTransactions=" + abortedTransactions
                + ", abortedUpto=" + abortedUpto + ")";
    }
}
