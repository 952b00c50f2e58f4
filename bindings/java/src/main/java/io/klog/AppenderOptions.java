package io.klog;

import java.time.Duration;

/** How an {@link Appender} works. */
public final class AppenderOptions {
    /** All defaults. */
    static final AppenderOptions DEFAULT = new AppenderOptions();

    private AppendOptions append;
    private long batchBytes;
    private long queueBytes;
    private long lingerMicros;

    /** All defaults: batches of 64 KiB, a queue of 16 MiB, no lingering. */
    public AppenderOptions() {
    }

    /**
     * How its batches are appended: as a client, wherever the log ends. With a producer the sequence numbers go on from batch
     * to batch.
     *
     * @param options null for all defaults
     * @return this
     */
    public AppenderOptions append(AppendOptions options) {
        append = options;
        return this;
    }

    /**
     * How large a batch grows, uncompressed. {@code max.message.bytes} of the topic bounds it too.
     *
     * @param bytes 0 is 65536
     * @return this
     */
    public AppenderOptions batchBytes(long bytes) {
        batchBytes = bytes;
        return this;
    }

    /**
     * How much may be added that is not appended yet, before who adds has to append it.
     *
     * @param bytes 0 is 16777216
     * @return this
     */
    public AppenderOptions queueBytes(long bytes) {
        queueBytes = bytes;
        return this;
    }

    /**
     * How long a batch that is not full and that nobody waits for is kept for more records, by a manager that works in the
     * background.
     *
     * @param time zero unless set
     * @return this
     */
    public AppenderOptions linger(Duration time) {
        lingerMicros = time.toNanos() / 1000;
        return this;
    }

    /** Lays the options out in a frame, with those of the appends. */
    static long in(Frame frame, AppenderOptions options) {
        AppenderOptions o = options == null ? DEFAULT : options;
        long append = AppendOptions.inOfMany(frame, o.append);
        long address = frame.in(Layout.APPENDER_OPTIONS_SIZE);
        frame.inLong(Layout.APPENDER_OPTIONS_APPEND, append);
        frame.inLong(Layout.APPENDER_OPTIONS_BATCH_BYTES, o.batchBytes);
        frame.inLong(Layout.APPENDER_OPTIONS_QUEUE_BYTES, o.queueBytes);
        frame.inLong(Layout.APPENDER_OPTIONS_LINGER_US, o.lingerMicros);
        return address;
    }
}
