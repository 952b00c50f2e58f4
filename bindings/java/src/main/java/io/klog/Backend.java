package io.klog;

import java.nio.ByteBuffer;

/**
 * The functions of klog.h, one method each, over JNI or over java.lang.foreign.
 *
 * <p>Nothing is translated here: a handle is its id, a pointer or a size is a long, the answer is the status. Structs are
 * laid out by the callers, in direct memory, at the offsets of {@link Layout}; so they are so once for both ways.
 * Whoever calls keeps the buffers reachable until the call is over ({@link Reachability}).
 */
interface Backend extends Functions {
    /** How this one calls, for {@link Klog#backend()}. */
    String name();

    /** The address of the first byte of a direct buffer, wherever its position is. */
    long address(ByteBuffer direct);

    /** The text, ended by a NUL, that is at an address. */
    String text(long address);

    /**
     * As {@link #read}, into a direct buffer of the caller's from its position to its limit. Where the buffer is of an arena,
     * that cannot be closed meanwhile.
     */
    int readInto(long log, long startOffset, long opts, ByteBuffer direct, long out, long err);

    /** As {@link #appendBatches}, from a direct buffer of the caller's, which is held as that of {@link #readInto}. */
    int appendFrom(long log, ByteBuffer direct, long opts, long out, long err);

    /** Whether {@link #pin} can be called. */
    boolean pins();

    /** Lends memory of the library to the thread that asks, and to no other. */
    Pinned pin(long address, long length);
}
