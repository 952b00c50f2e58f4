package io.klog;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Memory outside of the heap whose address is known: little-endian, as klog's packed buffers are. */
final class DirectBuffer {
    final ByteBuffer bytes;
    final long address;

    private DirectBuffer(ByteBuffer bytes) {
        this.bytes = bytes;
        this.address = Library.calls().address(bytes);
    }

    static DirectBuffer allocate(int capacity) {
        return new DirectBuffer(ByteBuffer.allocateDirect(capacity).order(ByteOrder.LITTLE_ENDIAN));
    }

    int capacity() {
        return bytes.capacity();
    }

    /** The next capacity that holds so many bytes: doubled, so that growing costs little in all. */
    static int grown(int capacity, long needed) {
        if (needed > Integer.MAX_VALUE - 64) {
            throw new IllegalArgumentException(needed + " bytes do not fit a buffer");
        }
        long doubled = Math.max(capacity * 2L, needed);
        return (int) Math.min((doubled + 7) & ~7L, Integer.MAX_VALUE - 64);
    }
}
