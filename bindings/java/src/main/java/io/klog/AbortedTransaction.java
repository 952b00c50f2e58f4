package io.klog;

import java.util.ArrayList;
import java.util.List;

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

    /** Those of a log that begin below upto and end at or above from. */
    static List<AbortedTransaction> list(long log, long from, long upto) {
        Frame frame = Frame.take();
        try {
            DirectBuffer buffer = frame.bulk(64 * Layout.ABORTED_TXN_SIZE);
            for (;;) {
                int status = Library.calls().abortedTxns(
                        log, from, upto, buffer.address, buffer.capacity() / Layout.ABORTED_TXN_SIZE, frame.number(), frame.error());
                int count = (int) frame.numberValue();
                if (status == Status.BUFFER_TOO_SMALL.code()) {
                    buffer = frame.bulk(DirectBuffer.grown(buffer.capacity(), (long) count * Layout.ABORTED_TXN_SIZE));
                    continue;
                }
                frame.check(status);
                List<AbortedTransaction> all = new ArrayList<>(count);
                for (int at = 0; at < count * Layout.ABORTED_TXN_SIZE; at += Layout.ABORTED_TXN_SIZE) {
                    all.add(new AbortedTransaction(buffer.bytes.getLong(at + Layout.ABORTED_TXN_PRODUCER_ID),
                            buffer.bytes.getLong(at + Layout.ABORTED_TXN_FIRST_OFFSET),
                            buffer.bytes.getLong(at + Layout.ABORTED_TXN_LAST_OFFSET),
                            buffer.bytes.getLong(at + Layout.ABORTED_TXN_LAST_STABLE_OFFSET)));
                }
                return all;
            }
        } finally {
            frame.give();
        }
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
