package io.klog;

import java.nio.ByteBuffer;

/** The functions of klog.h over JNI; src/main/c/klogjni.c is the other side. */
final class JniBackend extends JniFunctions {
    private JniBackend() {
    }

    /** Loads the library; its JNI_OnLoad binds the native methods. */
    static Backend open(String path) {
        System.load(path);
        return new JniBackend();
    }

    /** As open, with the file that java.library.path leads to. */
    static Backend openSystem(String library) {
        System.loadLibrary(library);
        return new JniBackend();
    }

    @Override
    public String name() {
        return "jni";
    }

    @Override
    public native long address(ByteBuffer direct);

    @Override
    public native String text(long address);

    @Override
    public int readInto(long log, long startOffset, long opts, ByteBuffer direct, long out, long err) {
        int status = read(log, startOffset, opts, address(direct) + direct.position(), direct.remaining(), out, err);
        Reachability.fence(direct);
        return status;
    }

    @Override
    public int appendFrom(long log, ByteBuffer direct, long opts, long out, long err) {
        int status = appendBatches(log, address(direct) + direct.position(), direct.remaining(), opts, out, err);
        Reachability.fence(direct);
        return status;
    }

    @Override
    public boolean pins() {
        return false;
    }

    /** A direct buffer cannot be taken back: who looked at it too late would end the process. */
    @Override
    public Pinned pin(long address, long length) {
        throw new UnsupportedOperationException();
    }
}
