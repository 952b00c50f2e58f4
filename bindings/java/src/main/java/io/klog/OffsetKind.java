package io.klog;

/** An end of a log that can be waited for. */
public enum OffsetKind {
    /** The log end; something was appended. */
    LOG_END(0),
    /** The high watermark; readers of committed data get on. */
    HIGH_WATERMARK(1),
    /** The last stable offset; readers of committed transactions get on. */
    LAST_STABLE(2),
    /** The recovery point; records below survive a power cut. */
    DURABLE(3);

    private final int code;

    OffsetKind(int code) {
        this.code = code;
    }

    /** As in klog.h. */
    int code() {
        return code;
    }

    /** The end that a read of this isolation comes to. */
    static OffsetKind of(Isolation isolation) {
        switch (isolation) {
            case READ_UNCOMMITTED:
                return HIGH_WATERMARK;
            case READ_COMMITTED:
                return LAST_STABLE;
            default:
                return LOG_END;
        }
    }
}
