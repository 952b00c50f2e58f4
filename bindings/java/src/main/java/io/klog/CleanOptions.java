package io.klog;

/** How logs are compacted. All defaults are as the configuration says. */
public final class CleanOptions {
    /** All defaults. */
    static final CleanOptions DEFAULT = new CleanOptions();

    private int flags;
    private double minDirtyRatio;
    private long mapBytes;
    private long ioBytesPerSecond;
    private int maxLogs;
    private long timeoutMs;
    private long firstDirtyOffset;
    private CancelToken cancel;

    /** All as the configuration says. */
    public CleanOptions() {
    }

    /**
     * Counts what would go; nothing is changed.
     *
     * @param on whether to
     * @return this
     */
    public CleanOptions dryRun(boolean on) {
        flags = on ? flags | Layout.DRY_RUN : flags & ~Layout.DRY_RUN;
        return this;
    }

    /**
     * Begins a new active segment first, so that everything can be cleaned. Needs a log.
     *
     * @param on whether to
     * @return this
     */
    public CleanOptions roll(boolean on) {
        flags = on ? flags | Layout.CLEAN_ROLL : flags & ~Layout.CLEAN_ROLL;
        return this;
    }

    /**
     * Where the dirty part begins, instead of where the cleaner's checkpoint says. Needs a log.
     *
     * @param offset the first dirty offset
     * @return this
     */
    public CleanOptions firstDirtyOffset(long offset) {
        firstDirtyOffset = offset;
        flags |= Layout.CLEAN_HAS_FIRST_DIRTY;
        return this;
    }

    /**
     * Of all logs: only those of which a larger share is dirty.
     *
     * @param ratio 0 is each log's {@code min.cleanable.dirty.ratio}
     * @return this
     */
    public CleanOptions minDirtyRatio(double ratio) {
        minDirtyRatio = ratio;
        return this;
    }

    /**
     * Memory of the map from key to offset, 24 bytes a slot.
     *
     * @param bytes 0 is {@code log.cleaner.dedupe.buffer.size} / {@code log.cleaner.threads}
     * @return this
     */
    public CleanOptions mapBytes(long bytes) {
        mapBytes = bytes;
        return this;
    }

    /**
     * Bytes a second that are read and written at most.
     *
     * @param bytes 0 is {@code log.cleaner.io.max.bytes.per.second}
     * @return this
     */
    public CleanOptions ioBytesPerSecond(long bytes) {
        ioBytesPerSecond = bytes;
        return this;
    }

    /**
     * Of all logs: passes at most.
     *
     * @param logs 0 is as many as there is something to clean
     * @return this
     */
    public CleanOptions maxLogs(int logs) {
        maxLogs = logs;
        return this;
    }

    /**
     * How long it may take.
     *
     * @param ms in ms; 0 is as long as it takes
     * @return this
     */
    public CleanOptions timeoutMs(long ms) {
        timeoutMs = ms;
        return this;
    }

    /**
     * Ends it when the token is fired.
     *
     * @param token the token; null for none
     * @return this
     */
    public CleanOptions cancel(CancelToken token) {
        cancel = token;
        return this;
    }

    /** Lays the options out in a frame. */
    static long in(Frame frame, CleanOptions options) {
        CleanOptions o = options == null ? DEFAULT : options;
        long address = frame.in(Layout.CLEAN_OPTIONS_SIZE);
        frame.inInt(Layout.CLEAN_OPTIONS_FLAGS, o.flags);
        frame.inDouble(Layout.CLEAN_OPTIONS_MIN_DIRTY_RATIO, o.minDirtyRatio);
        frame.inLong(Layout.CLEAN_OPTIONS_MAP_BYTES, o.mapBytes);
        frame.inLong(Layout.CLEAN_OPTIONS_IO_BYTES_PER_SECOND, o.ioBytesPerSecond);
        frame.inInt(Layout.CLEAN_OPTIONS_MAX_LOGS, o.maxLogs);
        frame.inLong(Layout.CLEAN_OPTIONS_TIMEOUT_MS, o.timeoutMs);
        frame.inLong(Layout.CLEAN_OPTIONS_CANCEL, CancelToken.id(o.cancel));
        frame.inLong(Layout.CLEAN_OPTIONS_FIRST_DIRTY_OFFSET, o.firstDirtyOffset);
        return address;
    }
}
