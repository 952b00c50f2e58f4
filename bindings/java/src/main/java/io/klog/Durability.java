package io.klog;

/** What an append has reached when it returns. */
public enum Durability {
    /** The operating system, as in Kafka: it survives a crash of the process. */
    PAGE_CACHE(0),
    /** The disk: it survives a power cut. */
    FSYNC(1);

    private final int code;

    Durability(int code) {
        this.code = code;
    }

    /** As in klog.h. */
    int code() {
        return code;
    }
}
