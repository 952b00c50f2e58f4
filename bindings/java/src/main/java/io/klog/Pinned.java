package io.klog;

import java.nio.ByteBuffer;

/** Memory of the library, lent for reading until {@link #end}. */
interface Pinned {
    /** The memory; from the end on, and for other threads, every access throws. */
    ByteBuffer bytes();

    /** Takes the memory back from all who have it. Throws in another thread, and then nothing was taken. */
    void end();
}
