package io.klog;

/** What klog answers: {@code KLOG_OK} and the {@code KLOG_ERR_} constants of klog.h, under their names. */
public enum Status {
    /** Done. */
    OK(0),
    /** A required pointer argument of the C ABI was null. */
    NULL_ARGUMENT(1),
    /** An argument is outside what the operation accepts. */
    INVALID_ARGUMENT(2),
    /** The {@code struct_size} of a C struct does not fit this library. */
    STRUCT_SIZE(3),
    /** The header the caller was compiled with does not fit this library. */
    ABI(4),
    /** Known, but not supported here. */
    UNSUPPORTED(5),
    /** A C handle is null. */
    NULL_HANDLE(10),
    /** A C handle names an object of another kind. */
    WRONG_KIND(11),
    /** A C handle names an object that was closed. */
    STALE_HANDLE(12),
    /** The call was made in a forked child. */
    FORKED(13),
    /** The object or its parent is closed or closing. */
    CLOSED(14),
    /** A second call ran at the same time on a handle that takes one at a time. */
    BUSY(15),
    /** Called from inside a callback of the same handle. */
    REENTRANT(16),
    /** The manager was opened for looking only. */
    READ_ONLY(17),
    /** The timeout passed. */
    TIMED_OUT(20),
    /** The caller's cancel token fired. */
    CANCELLED(21),
    /** Nothing to do without waiting. */
    WOULD_BLOCK(22),
    /** A bounded queue is full. */
    QUEUE_FULL(23),
    /** Nothing left; not a failure. */
    END(24),
    /** The caller's buffer is too small; not a failure. */
    BUFFER_TOO_SMALL(25),
    /** Below the log start offset or above the log end offset. */
    OFFSET_OUT_OF_RANGE(30),
    /** A checksum, size or magic byte is wrong. */
    CORRUPT_MESSAGE(31),
    /** A record or batch breaks a rule of its format or of the log. */
    INVALID_RECORD(32),
    /** A timestamp is outside the bounds that the topic allows. */
    INVALID_TIMESTAMP(33),
    /** A batch is larger than {@code max.message.bytes}. */
    MESSAGE_TOO_LARGE(34),
    /** An append is larger than a segment. */
    RECORD_LIST_TOO_LARGE(35),
    /** A length above 2^31 - 1. */
    TOO_LARGE(36),
    /** Message format 0 or 1 where 2 is required. */
    UNSUPPORTED_FOR_MESSAGE_FORMAT(37),
    /** The compression codec is unknown or not allowed here. */
    UNSUPPORTED_COMPRESSION_TYPE(38),
    /** The offsets of a follower append do not increase. */
    OFFSETS_OUT_OF_ORDER(39),
    /** A follower append starts below the log end offset. */
    UNEXPECTED_APPEND_OFFSET(40),
    /** An offset does not fit a segment's 31-bit relative range. */
    SEGMENT_OVERFLOW(41),
    /** A producer's sequence number does not follow its last one. */
    OUT_OF_ORDER_SEQUENCE_NUMBER(42),
    /** Reserved: Kafka 4.4.0's storage never raises it. */
    DUPLICATE_SEQUENCE_NUMBER(43),
    /** A producer epoch below the current one. */
    INVALID_PRODUCER_EPOCH(44),
    /** Reserved: Kafka 4.4.0's storage never raises it. */
    PRODUCER_FENCED(45),
    /** Reserved: Kafka 4.4.0's storage never raises it. */
    UNKNOWN_PRODUCER_ID(46),
    /** The producer's transaction is in a state that does not allow this. */
    INVALID_TXN_STATE(47),
    /** A transaction marker of an older coordinator. */
    TRANSACTION_COORDINATOR_FENCED(48),
    /** The log end is not the one that the caller expected. */
    LOG_END_MISMATCH(49),
    /** A leader epoch below the log's latest. */
    FENCED_LEADER_EPOCH(50),
    /** A leader epoch above the log's latest. */
    UNKNOWN_LEADER_EPOCH(51),
    /** No such log, or it was deleted. */
    UNKNOWN_TOPIC_OR_PARTITION(52),
    /** A topic name outside {@code [a-zA-Z0-9._-]{1,249}}, or {@code .} or {@code ..}. */
    INVALID_TOPIC_EXCEPTION(53),
    /** A negative partition number. */
    INVALID_PARTITIONS(54),
    /** The log has another topic id. */
    INCONSISTENT_TOPIC_ID(55),
    /** A configuration value that Kafka or klog refuses. */
    INVALID_CONFIG(56),
    /** A configuration key that neither Kafka nor klog knows. */
    UNKNOWN_CONFIG(57),
    /** One partition was found in two directories. */
    DUPLICATE_LOG(58),
    /** The offset lives in remote storage only. */
    OFFSET_MOVED_TO_TIERED_STORAGE(59),
    /** An I/O error. */
    KAFKA_STORAGE_ERROR(60),
    /** The disk or quota is full. */
    NO_SPACE(61),
    /** An earlier I/O error took the log directory offline. */
    DIR_OFFLINE(62),
    /** Another process or manager owns the directory. */
    DIR_LOCKED(63),
    /** A log directory that was named does not exist or is not one. */
    LOG_DIR_NOT_FOUND(64),
    /** The process or system has no file descriptor left. */
    NO_FILES(65),
    /** An index is damaged and could not be rebuilt. */
    CORRUPT_INDEX(66),
    /** A checkpoint, snapshot or metadata file is malformed. */
    CORRUPT_STATE(67),
    /** A cleaning pass was aborted. */
    CLEAN_ABORTED(70),
    /** Cleaning of the log is paused. */
    CLEAN_PAUSED(71),
    /** Memory could not be reserved. */
    NO_MEMORY(80),
    /** A limit on pins, handles or queues was reached. */
    LIMIT(81),
    /** A defect of klog: a panic was caught. */
    PANIC(90),
    /** An earlier panic poisoned the manager. */
    POISONED(91),
    /** A defect of klog. */
    BUG(92),
    /** A status that a later version of the library has. */
    UNKNOWN(-1);

    private static final Status[] BY_CODE = new Status[100];

    static {
        for (Status status : values()) {
            if (status.code >= 0) {
                BY_CODE[status.code] = status;
            }
        }
    }

    private final int code;

    Status(int code) {
        this.code = code;
    }

    /**
     * The number in klog.h.
     *
     * @return the number
     */
    public int code() {
        return code;
    }

    static Status of(int code) {
        Status known = code >= 0 && code < BY_CODE.length ? BY_CODE[code] : null;
        return known != null ? known : UNKNOWN;
    }
}
