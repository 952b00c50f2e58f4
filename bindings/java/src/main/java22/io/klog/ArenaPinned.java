package io.klog;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;

/** Memory of the library in an arena of the thread that asked for it: Java itself checks every access. */
final class ArenaPinned implements Pinned {
    private final Arena arena = Arena.ofConfined();
    private final ByteBuffer bytes;

    ArenaPinned(long address, long length) {
        bytes = MemorySegment.ofAddress(address).reinterpret(length, arena, null).asByteBuffer().asReadOnlyBuffer();
    }

    @Override
    public ByteBuffer bytes() {
        return bytes;
    }

    @Override
    public void end() {
        arena.close();
    }
}
