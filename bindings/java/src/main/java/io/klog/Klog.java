package io.klog;

import java.util.EnumSet;

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

    /**
     * The codecs that the native library was built with.
     *
     * @return without {@link Compression#CONFIG} and {@link Compression#NONE}, which need none
     */
    public static EnumSet<Compression> codecs() {
        long features = Library.calls().features();
        EnumSet<Compression> codecs = EnumSet.noneOf(Compression.class);
        add(codecs, Compression.GZIP, features & Layout.FEATURE_GZIP);
        add(codecs, Compression.SNAPPY, features & Layout.FEATURE_SNAPPY);
        add(codecs, Compression.LZ4, features & Layout.FEATURE_LZ4);
        add(codecs, Compression.ZSTD, features & Layout.FEATURE_ZSTD);
        return codecs;
    }

    /**
     * How many managers, logs, cursors, views, tokens and event streams the garbage collector found without a close. The first
     * one is logged; with {@code -Dklog.debug=true} it is told where it was opened.
     *
     * @return 0 in a program that closes what it opens
     */
    public static long leaks() {
        return Handle.leaked();
    }

    private static void add(EnumSet<Compression> codecs, Compression codec, long built) {
        if (built != 0) {
            codecs.add(codec);
        }
    }

    /** Whether cursors spoil what they lent before they go on. */
    static final boolean DEBUG = Boolean.getBoolean("klog.debug");
}
