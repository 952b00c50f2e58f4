package io.klog;

import java.util.Objects;

/** How to append. May be used for many appends, also at once as long as it is not changed. */
public final class AppendOptions {
    /** All defaults. */
    static final AppendOptions DEFAULT = new AppendOptions();

    private int flags;
    private Origin origin = Origin.CLIENT;
    private Compression compression = Compression.CONFIG;
    private int compressionLevel;
    private Durability durability = Durability.PAGE_CACHE;
    private int leaderEpoch;
    private long producerId;
    private int producerEpoch;
    private int baseSequence;
    private long expectedLogEnd;

    /** All defaults: as a client, compressed as the topic says, durable as Kafka's. */
    public AppendOptions() {
    }

    /**
     * Who appends.
     *
     * @param origin a client unless set
     * @return this
     */
    public AppendOptions origin(Origin origin) {
        this.origin = Objects.requireNonNull(origin, "origin");
        return this;
    }

    /**
     * How records are compressed; ready batches keep their own.
     *
     * @param compression as the topic says unless set
     * @return this
     */
    public AppendOptions compression(Compression compression) {
        return compression(compression, 0);
    }

    /**
     * How records are compressed; ready batches keep their own.
     *
     * @param compression the codec
     * @param level its level as in Kafka; 0 is the default
     * @return this
     */
    public AppendOptions compression(Compression compression, int level) {
        this.compression = Objects.requireNonNull(compression, "compression");
        this.compressionLevel = level;
        return this;
    }

    /**
     * What the append has reached when it returns.
     *
     * @param durability the page cache unless set
     * @return this
     */
    public AppendOptions durability(Durability durability) {
        this.durability = Objects.requireNonNull(durability, "durability");
        return this;
    }

    /**
     * The leader epoch of the batch, or of a follower the one it fetched with. Without it that is the log's latest.
     *
     * @param epoch an epoch below the log's latest is refused
     * @return this
     */
    public AppendOptions leaderEpoch(int epoch) {
        leaderEpoch = epoch;
        flags |= Layout.APPEND_HAS_EPOCH;
        return this;
    }

    /**
     * Takes a leader epoch below the log's latest too; later ones are forgotten, as Kafka's log does it.
     *
     * @return this
     */
    public AppendOptions anyLeaderEpoch() {
        flags |= Layout.APPEND_ANY_EPOCH;
        return this;
    }

    /**
     * Makes the batch that of an idempotent producer: a repeated one is answered with its first offsets.
     *
     * @param id the producer's id
     * @param epoch its epoch
     * @param baseSequence the sequence number of the first record
     * @return this
     */
    public AppendOptions producer(long id, int epoch, int baseSequence) {
        producerId = id;
        producerEpoch = epoch;
        this.baseSequence = baseSequence;
        flags |= Layout.APPEND_HAS_PRODUCER;
        return this;
    }

    /**
     * Makes the batch part of the producer's transaction; {@link KlogLog#endTransaction} ends that.
     *
     * @return this
     */
    public AppendOptions transactional() {
        flags |= Layout.APPEND_TRANSACTIONAL;
        return this;
    }

    /**
     * Says that markers among ready batches are of transaction version 2, whose epochs rise with each transaction.
     *
     * @return this
     */
    public AppendOptions transactionVersion2() {
        flags |= Layout.APPEND_TXN_V2;
        return this;
    }

    /**
     * Appends only if the log ends there; else {@link io.klog.errors.LogEndMismatchException}.
     *
     * @param offset the next offset to be assigned
     * @return this
     */
    public AppendOptions expectedLogEnd(long offset) {
        expectedLogEnd = offset;
        flags |= Layout.APPEND_IF_LOG_END;
        return this;
    }

    /** Lays the options out in a frame, with room for the errors of records. */
    static long in(Frame frame, AppendOptions options) {
        long address = inOfMany(frame, options);
        frame.inLong(Layout.APPEND_OPTIONS_RECORD_ERRORS, frame.recordErrors());
        frame.inLong(Layout.APPEND_OPTIONS_RECORD_ERRORS_CAP, frame.recordErrorsMax());
        return address;
    }

    /** Lays the options out in a frame, for several batches: there is no room for the errors of records. */
    static long inOfMany(Frame frame, AppendOptions options) {
        AppendOptions o = options == null ? DEFAULT : options;
        long address = frame.in(Layout.APPEND_OPTIONS_SIZE);
        frame.inInt(Layout.APPEND_OPTIONS_FLAGS, o.flags);
        frame.inInt(Layout.APPEND_OPTIONS_ORIGIN, o.origin.code());
        frame.inInt(Layout.APPEND_OPTIONS_LEADER_EPOCH, o.leaderEpoch);
        frame.inInt(Layout.APPEND_OPTIONS_COMPRESSION, o.compression.code());
        frame.inInt(Layout.APPEND_OPTIONS_COMPRESSION_LEVEL, o.compressionLevel);
        frame.inInt(Layout.APPEND_OPTIONS_BASE_SEQUENCE, o.baseSequence);
        frame.inLong(Layout.APPEND_OPTIONS_PRODUCER_ID, o.producerId);
        frame.inInt(Layout.APPEND_OPTIONS_PRODUCER_EPOCH, o.producerEpoch);
        frame.inInt(Layout.APPEND_OPTIONS_DURABILITY, o.durability.code());
        frame.inLong(Layout.APPEND_OPTIONS_EXPECTED_LOG_END, o.expectedLogEnd);
        return address;
    }
}
