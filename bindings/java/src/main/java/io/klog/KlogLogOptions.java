package io.klog;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.UUID;

/** How to open a log. */
public final class KlogLogOptions {
    /** The log must be there, and keeps its configuration. */
    static final KlogLogOptions DEFAULT = new KlogLogOptions();

    int flags;
    byte[] topicId = new byte[16];
    KlogConfig config;
    String dir;

    /** The log must be there, and keeps its configuration. */
    public KlogLogOptions() {
    }

    /**
     * Makes the log if there is none.
     *
     * @param on whether to
     * @return this
     */
    public KlogLogOptions create(boolean on) {
        flags = on ? flags | Layout.LOG_CREATE : flags & ~Layout.LOG_CREATE;
        return this;
    }

    /**
     * The topic's id: a log that has another one is refused.
     *
     * @param id the id
     * @return this
     */
    public KlogLogOptions topicId(UUID id) {
        topicId = ByteBuffer.allocate(16).putLong(id.getMostSignificantBits()).putLong(id.getLeastSignificantBits()).array();
        flags |= Layout.LOG_HAS_TOPIC_ID;
        return this;
    }

    /**
     * Overrides of the topic, instead of those that it has.
     *
     * @param config a configuration from {@link KlogConfig#topic()}
     * @return this
     */
    public KlogLogOptions config(KlogConfig config) {
        this.config = config;
        return this;
    }

    /**
     * The directory to make the log in. Without it that is the one with the fewest logs.
     *
     * @param dir one of the manager's directories
     * @return this
     */
    public KlogLogOptions dir(Path dir) {
        this.dir = dir.toString();
        return this;
    }

    /**
     * Leaves the high watermark to {@link KlogLog#setHighWatermark}. Without it, it follows the log end.
     *
     * @param on whether to
     * @return this
     */
    public KlogLogOptions manualHighWatermark(boolean on) {
        flags = on ? flags | Layout.LOG_MANUAL_HW : flags & ~Layout.LOG_MANUAL_HW;
        return this;
    }
}
