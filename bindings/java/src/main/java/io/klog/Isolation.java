package io.klog;

/** Up to where a read sees the log. */
public enum Isolation {
    /** Everything that is in the log. */
    LOG_END(0),
    /** What is below the high watermark. */
    READ_UNCOMMITTED(1),
    /** What is below the last stable offset, without aborted records. */
    READ_COMMITTED(2);

    private final int code;

    Isolation(int code) {
        this.code = code;
    }

    /** As in klog.h. */
    int code() {
        return code;
    }
}
