package io.klog;

import java.util.Objects;

/** How to read. May be used for many reads, also at once as long as it is not changed. */
public final class ReadOptions {
    /** All defaults. */
    static final ReadOptions DEFAULT = new ReadOptions();

    private int flags;
    private Isolation isolation = Isolation.LOG_END;
    private long maxBytes;
    private int maxRecords;
    private long minBytes;
    private int leaderEpoch;

    /** All defaults: up to the log end, as much as the buffer holds. */
    public ReadOptions() {
    }

    private ReadOptions flag(int flag, boolean on) {
        flags = on ? flags | flag : flags & ~flag;
        return this;
    }

    /**
     * Up to where the log is seen.
     *
     * @param isolation the log end unless set
     * @return this
     */
    public ReadOptions isolation(Isolation isolation) {
        this.isolation = Objects.requireNonNull(isolation, "isolation");
        return this;
    }

    /**
     * At most so many bytes; the first batch comes also if it is larger.
     *
     * @param bytes 0 is what the buffer holds
     * @return this
     */
    public ReadOptions maxBytes(long bytes) {
        maxBytes = bytes;
        return this;
    }

    /**
     * Of a cursor: at most so many records a call into the library.
     *
     * @param records 0 is no limit
     * @return this
     */
    public ReadOptions maxRecords(int records) {
        maxRecords = records;
        return this;
    }

    /**
     * Of a fetch that waits: so many bytes of stored batches have to be there.
     *
     * @param bytes 0 is any
     * @return this
     */
    public ReadOptions minBytes(long bytes) {
        minBytes = bytes;
        return this;
    }

    /**
     * What the reader takes for the log's latest leader epoch: a read is refused if the log has a newer one, or does not know
     * that one yet.
     *
     * @param epoch the epoch
     * @return this
     */
    public ReadOptions leaderEpoch(int epoch) {
        leaderEpoch = epoch;
        return flag(Layout.READ_HAS_EPOCH, true);
    }

    /**
     * Of a cursor: gives control records too.
     *
     * @param on whether to
     * @return this
     */
    public ReadOptions controlRecords(boolean on) {
        return flag(Layout.READ_CONTROL, on);
    }

    /**
     * Of a fetch: leaves the first batch out if it is larger than {@link #maxBytes}.
     *
     * @param on whether to
     * @return this
     */
    public ReadOptions strictMaxBytes(boolean on) {
        return flag(Layout.READ_NO_MIN_ONE, on);
    }

    /**
     * Of a fetch: exactly the bytes that Kafka's log gives, cut at {@link #maxBytes} even inside a batch.
     *
     * @param on whether to
     * @return this
     */
    public ReadOptions slice(boolean on) {
        return flag(Layout.READ_SLICE, on);
    }

    /** Which end of the log such a read comes to. */
    OffsetKind end() {
        return OffsetKind.of(isolation);
    }

    long minBytes() {
        return minBytes;
    }

    /** Lays the options out in a frame. Waiting is not the library's, which would hold a thread. */
    static long in(Frame frame, ReadOptions options) {
        ReadOptions o = options == null ? DEFAULT : options;
        long address = frame.in(Layout.READ_OPTIONS_SIZE);
        frame.inInt(Layout.READ_OPTIONS_FLAGS, o.flags);
        frame.inInt(Layout.READ_OPTIONS_ISOLATION, o.isolation.code());
        frame.inLong(Layout.READ_OPTIONS_MAX_BYTES, o.maxBytes);
        frame.inInt(Layout.READ_OPTIONS_MAX_RECORDS, o.maxRecords);
        frame.inInt(Layout.READ_OPTIONS_LEADER_EPOCH, o.leaderEpoch);
        return address;
    }
}
