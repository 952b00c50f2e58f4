package io.klog;

/** What an event tells of. */
public enum EventType {
    /** The stream was full, count events are missing here. Comes whatever the mask is. */
    LOST(1),
    /** Bytes not known to be good were read again by the open; some may have been cut off. */
    RECOVERED(2),
    /** A derived file was missing or wrong and was made anew, or a small file was replaced. */
    REPAIRED(4),
    /** Something that is not Kafka's was found and left alone. */
    IGNORED(8),
    /** A configuration key was not used, or not as it was written. */
    CONFIG(16),
    /** A log could not be opened. */
    LOAD_FAILED(32),
    /** A log directory went out of use, with its logs. */
    DIR_OFFLINE(64),
    /** A log was made. */
    LOG_CREATED(128),
    /** A log was deleted. */
    LOG_DELETED(256),
    /** A segment began at offset. */
    ROLLED(512),
    /** Retention took count segments with bytes; the log starts at offset. */
    SEGMENTS_DELETED(1024),
    /** A log was cut, and ends at offset. */
    TRUNCATED(2048),
    /** A log was cleaned. */
    CLEANED(4096),
    /** A log was moved to another directory. */
    MOVED(8192),
    /** A task of a tick, or of the thread in the background, failed; the text begins with its name. */
    TASK_FAILED(16384);

    private final int code;

    EventType(int code) {
        this.code = code;
    }

    /** The bit in klog.h. */
    int code() {
        return code;
    }

    /** The kind that a line names; LOST for one of a later library. */
    static EventType of(String kind) {
        for (EventType type : values()) {
            if (type.name().toLowerCase(java.util.Locale.ROOT).replace('_', '-').equals(kind)) {
                return type;
            }
        }
        return LOST;
    }
}
