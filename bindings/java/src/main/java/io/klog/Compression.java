package io.klog;

/** How a batch is compressed. */
public enum Compression {
    /** The topic's {@code compression.type}; "producer" there means none. */
    CONFIG(0),
    /** Not at all. */
    NONE(1),
    /** gzip. */
    GZIP(2),
    /** snappy. */
    SNAPPY(3),
    /** lz4. */
    LZ4(4),
    /** zstd. */
    ZSTD(5);

    private final int code;

    Compression(int code) {
        this.code = code;
    }

    /** As in klog.h. */
    int code() {
        return code;
    }
}
