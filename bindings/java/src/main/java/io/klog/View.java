package io.klog;

import java.nio.ByteBuffer;

/**
 * Stored record batches without a copy: memory of the segment file, which stays as it is until {@link #close()}, also if the
 * log is cut, cleaned or deleted, or its manager closed. Each view keeps a file open.
 *
 * <p>Belongs to the thread that opened it: looking at its bytes or closing it in another one throws, and so does looking at
 * them after the close. Needs Java 22 or later, and java.lang.foreign: over JNI such a look would end the process.
 */
public final class View implements AutoCloseable {
    private final Pinned pinned;
    private final long firstOffset;
    private final long nextOffset;
    private final long segmentBaseOffset;
    private final long position;
    /** Outlives its manager. */
    private final Handle handle;

    private View(long id, Pinned pinned, Frame frame) {
        handle = new Handle(this, id, null, view -> Library.calls().viewClose(view));
        this.pinned = pinned;
        firstOffset = frame.outLong(Layout.VIEW_INFO_FIRST_OFFSET);
        nextOffset = frame.outLong(Layout.VIEW_INFO_NEXT_OFFSET);
        segmentBaseOffset = frame.outLong(Layout.VIEW_INFO_SEGMENT_BASE_OFFSET);
        position = frame.outLong(Layout.VIEW_INFO_POSITION);
    }

    static View open(long log, long offset, ReadOptions options) {
        Backend calls = Library.calls();
        if (!calls.pins()) {
            throw new UnsupportedOperationException("views need java.lang.foreign, which this run has not: take Java 22 or later"
                    + " and leave -Dklog.backend=jni out, or read into a buffer");
        }
        Frame frame = Frame.take();
        try {
            long in = ReadOptions.in(frame, options);
            frame.check(calls.viewOpen(log, offset, in, frame.number(), frame.out(Layout.VIEW_INFO_SIZE), frame.error()));
            long id = frame.numberValue();
            Pinned pinned = calls.pin(frame.outLong(Layout.VIEW_INFO_DATA), frame.outLong(Layout.VIEW_INFO_LEN));
            return new View(id, pinned, frame);
        } finally {
            frame.give();
        }
    }

    /**
     * The batches, for reading. {@code MemorySegment.ofBuffer} makes a segment of it that ends with this view too.
     *
     * @return always the same buffer; empty if there was nothing to read
     */
    public ByteBuffer buffer() {
        return pinned.bytes();
    }

    /**
     * First offset of the first batch.
     *
     * @return may be below the one asked for; that one if there is no whole batch
     */
    public long firstOffset() {
        return firstOffset;
    }

    /**
     * Where the next read goes on.
     *
     * @return an offset
     */
    public long nextOffset() {
        return nextOffset;
    }

    /**
     * Base offset of the segment that the bytes lie in.
     *
     * @return -1 if there was nothing to read
     */
    public long segmentBaseOffset() {
        return segmentBaseOffset;
    }

    /**
     * Where the bytes begin in the segment's file.
     *
     * @return in bytes
     */
    public long position() {
        return position;
    }

    /** Gives the memory and the file back. The second time it does nothing. */
    @Override
    public void close() {
        if (!handle.isClosed()) {
            pinned.end();
            handle.close();
        }
    }
}
