package io.klog;

/** The native library: which one is loaded, and how it is called. Loading it, where it was not used yet. */
public final class Klog {
    private Klog() {
    }

    /**
     * The version of the native library.
     *
     * @return as text, such as 0.1.0
     */
    public static String libraryVersion() {
        return Library.calls().versionString();
    }

    /**
     * How the library is called.
     *
     * @return {@code jni} or {@code ffm}
     */
    public static String backend() {
        return Library.calls().name();
    }

    /** Whether cursors spoil what they lent before they go on. */
    static final boolean DEBUG = Boolean.getBoolean("klog.debug");
}
