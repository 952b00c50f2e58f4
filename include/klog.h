/*
 * klog.h: Apache Kafka's log as a C library.
 *
 * Opens Kafka data directories in process, appends, reads, looks up, flushes and recovers. What it leaves behind a stock
 * Kafka 4.4.0 broker loads as its own.
 *
 * This file is rendered from src/ffi by `make header`; change it there.
 *
 * CONTRACTS
 *
 * Answers. Every fallible function returns a klog_status: KLOG_OK (0), or a KLOG_ERR_ constant above 0. Details go into the
 * caller's klog_error, whose address may be null. On KLOG_OK it is untouched. errno means nothing after a call.
 *
 * Handles. klog_config, klog_manager, klog_log, klog_cursor, klog_view, klog_appender, klog_waiter, klog_cancel and
 * klog_events are numbers, copied freely; id 0 is null. Using a closed one is KLOG_ERR_STALE_HANDLE, never undefined; so is
 * closing twice. Children of a closed manager answer KLOG_ERR_CLOSED. Every open needs its close.
 *
 * Ownership. The caller owns every buffer and struct that it passes; the library keeps no pointer to it after the return.
 * The library never returns memory that the caller must free. A cursor lends records until the next call on it, a view its
 * bytes until its close, also beyond the close of its manager.
 *
 * Structs. struct_size is sizeof the struct; zero is the default of every other field:
 * `klog_append_options options = KLOG_INIT(klog_append_options);` is complete. reserved fields are 0.
 *
 * Texts in are pointer and length; KLOG_NTS as the length means that a NUL ends them. Texts out go to (buf, cap, *needed),
 * NUL included: if cap is too small nothing is written but *needed, and the answer is KLOG_ERR_BUFFER_TOO_SMALL. Outputs are
 * written on KLOG_OK only, except where a function says otherwise; an output handle is null on failure.
 *
 * Pointers. nullable ones may be null; null for a required one is KLOG_ERR_NULL_ARGUMENT, which names it. Checks come in this
 * order, the first failure decides: null pointers, struct sizes, flags and ranges, handle, state, data.
 *
 * Threads. T0: any thread at any time, also at once with a close. T1: one call at a time on a handle; a second one answers
 * KLOG_ERR_BUSY. T2: any thread, serialised inside. T3: as T0, and safe in a signal handler.
 *
 * Cost. C0: no lock, no system call. C1: memory only. C2: reads and writes of the page cache. C3: fsync, recovery, scans.
 * C4: sleeps on request.
 *
 * Defects. A panic inside the library answers KLOG_ERR_PANIC and poisons its manager: later changes answer
 * KLOG_ERR_POISONED, reads go on, close writes no clean-shutdown file, and the next open recovers.
 *
 * Fork. In a forked child every call with an inherited handle answers KLOG_ERR_FORKED, but for its close, which touches no
 * file.
 *
 * Waiting. timeout_ms is 0 for not at all, -1 for no limit, else milliseconds of the monotonic clock; when it is up the answer
 * is KLOG_ERR_TIMED_OUT. A klog_cancel, which may be null, ends the calls that carry it with KLOG_ERR_CANCELLED, and no others.
 * Closing what a call waits on ends it with KLOG_ERR_CLOSED. None of them loses data or a place: an append that was accepted
 * is completed, a cursor stays where it was. Signals do not end calls.
 *
 * The library installs no signal handler, prints nothing, reads no environment variable, and has threads of its own only while
 * a call runs, with background_threads other than 0 until the manager is closed, and for a close that is not waited for. They take no
 * signals, and are named klog-.
 */

#ifndef KLOG_H
#define KLOG_H

#include <stdint.h>
#include <stddef.h>
#if defined(__cplusplus)
#define KLOG_STATIC_ASSERT(condition, text) static_assert(condition, text)
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define KLOG_STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#else
#define KLOG_STATIC_ASSERT(condition, text) extern char klog_static_assertion[(condition) ? 1 : -1]
#endif

KLOG_STATIC_ASSERT(sizeof(void *) == 8, "klog is for 64-bit targets");

/** The caller must look at the answer. */
#if defined(__cplusplus) && __cplusplus >= 201703L
#define KLOG_NODISCARD [[nodiscard]]
#elif defined(__GNUC__)
#define KLOG_NODISCARD __attribute__((warn_unused_result))
#else
#define KLOG_NODISCARD
#endif

/** The initial value of a struct with a size: everything else is its default. */
#if defined(__cplusplus)
template <typename Struct>
inline Struct klog_init() {
    Struct value = Struct();
    value.struct_size = static_cast<uint32_t>(sizeof(Struct));
    return value;
}
#define KLOG_INIT(type) klog_init<type>()
#else
#define KLOG_INIT(type) { .struct_size = (uint32_t)sizeof(type) }
#endif

/** As the length of a text: it ends with a NUL. */
#define KLOG_NTS ((size_t)-1)
/** A record timestamp: none. */
#define KLOG_TIMESTAMP_NONE ((int64_t)-1)
/** A record timestamp: the time of the append. */
#define KLOG_TIMESTAMP_NOW INT64_MIN
/** klog_offset_for_timestamp: the log end. */
#define KLOG_TIMESTAMP_LATEST ((int64_t)-1)
/** klog_offset_for_timestamp: the log start. */
#define KLOG_TIMESTAMP_EARLIEST ((int64_t)-2)
/** klog_offset_for_timestamp: the first record with the largest timestamp. */
#define KLOG_TIMESTAMP_MAX ((int64_t)-3)


/**
 * The ABI number: the header of another number does not fit.
 */
#define KLOG_ABI 0

/**
 * A config of broker keys and topic overrides, for klog_manager_open.
 */
#define KLOG_CONFIG_BROKER 0

/**
 * A config of topic keys, for klog_log_open.
 */
#define KLOG_CONFIG_TOPIC 1

/**
 * klog_manager_open: klog_manager_options.now_ms is the time; it stands still.
 */
#define KLOG_OPEN_MANUAL_CLOCK 1

/**
 * klog_manager_open: klog_manager_options.broker_epoch goes into the clean-shutdown files.
 */
#define KLOG_OPEN_HAS_BROKER_EPOCH 2

/**
 * klog_manager_open: make log directories that do not exist. Without it they are KLOG_ERR_LOG_DIR_NOT_FOUND.
 */
#define KLOG_OPEN_CREATE_DIRS 4

/**
 * In klog_manager_options.flags: high watermarks come from replication-offset-checkpoint and are moved by the caller, with
 * klog_high_watermark_set. Without it they follow the log ends.
 */
#define KLOG_OPEN_HW_FROM_CHECKPOINT 8

/**
 * klog_manager_open: the directories may be another process's, such as a live broker's. No lock is taken; nothing in them is
 * created, written, renamed, removed or synced, and they need not be writable. What loading would change (a torn end cut,
 * indexes and states made anew) is held in memory. Calls that would change a log are KLOG_ERR_READ_ONLY; klog_tick and
 * background threads have nothing to do. klog_manager_refresh takes in what the owner did since.
 */
#define KLOG_OPEN_READ_ONLY 16

/**
 * klog_manager_options.flags: files are read, never mapped: for network file systems, and for data that another process may
 * cut. Touching a mapping behind the end of its file would end this process. Views are copies then.
 */
#define KLOG_OPEN_NO_MMAP 32

/**
 * klog_manager_close: write nothing, as a crash would; the next open recovers.
 */
#define KLOG_CLOSE_ABANDON 1

/**
 * klog_appender_close: drop what is not appended yet.
 */
#define KLOG_CLOSE_DISCARD 2

/**
 * klog_log_open: make the log if there is none.
 */
#define KLOG_LOG_CREATE 1

/**
 * klog_log_open: klog_log_options.topic_id counts.
 */
#define KLOG_LOG_HAS_TOPIC_ID 2

/**
 * In klog_log_options.flags: the caller moves the log's high watermark, with klog_high_watermark_set.
 */
#define KLOG_LOG_MANUAL_HW 4

/**
 * Flag of klog_retain and klog_clean: what would go is counted, nothing goes.
 */
#define KLOG_DRY_RUN 1

/**
 * Flag of klog_clean: a new active segment begins first, so that all that is in the log can be cleaned. Needs a log.
 */
#define KLOG_CLEAN_ROLL 2

/**
 * Flag of klog_clean: klog_clean_options.first_dirty_offset counts. Needs a log.
 */
#define KLOG_CLEAN_HAS_FIRST_DIRTY 4

/**
 * Phase of a pass of the cleaner: none runs.
 */
#define KLOG_CLEAN_PHASE_IDLE 0

/**
 * Phase: the dirty part is read to learn the last offset of each key.
 */
#define KLOG_CLEAN_PHASE_MAP 1

/**
 * Phase: segments are written anew.
 */
#define KLOG_CLEAN_PHASE_COPY 2

/**
 * Phase: new segments take the place of the old ones.
 */
#define KLOG_CLEAN_PHASE_SWAP 3

/**
 * Append origin: a client; offsets are assigned.
 */
#define KLOG_ORIGIN_CLIENT 0

/**
 * Append origin: a follower; offsets are kept.
 */
#define KLOG_ORIGIN_REPLICATION 1

/**
 * Append origin: a transaction or group coordinator.
 */
#define KLOG_ORIGIN_COORDINATOR 2

/**
 * Append origin: the leader of a Raft log.
 */
#define KLOG_ORIGIN_RAFT_LEADER 3

/**
 * Durability: the operating system has it, as in Kafka. Survives a crash of the process.
 */
#define KLOG_DURABILITY_PAGE_CACHE 0

/**
 * Durability: the disk has it. Survives a power cut.
 */
#define KLOG_DURABILITY_FSYNC 1

/**
 * Compression: the topic's compression.type; "producer" there means none.
 */
#define KLOG_COMPRESSION_CONFIG 0

/**
 * Compression: none. From here on 1 + Kafka's codec id.
 */
#define KLOG_COMPRESSION_NONE 1

/**
 * Compression: gzip.
 */
#define KLOG_COMPRESSION_GZIP 2

/**
 * Compression: snappy.
 */
#define KLOG_COMPRESSION_SNAPPY 3

/**
 * Compression: lz4.
 */
#define KLOG_COMPRESSION_LZ4 4

/**
 * Compression: zstd.
 */
#define KLOG_COMPRESSION_ZSTD 5

/**
 * Append: producer_id, producer_epoch and base_sequence count.
 */
#define KLOG_APPEND_HAS_PRODUCER 1

/**
 * Append: leader_epoch counts; without it the log's latest, 0 if it has none.
 */
#define KLOG_APPEND_HAS_EPOCH 2

/**
 * Append: a leader epoch below the log's latest is taken, and later ones are forgotten, as Kafka's log does it.
 */
#define KLOG_APPEND_ANY_EPOCH 4

/**
 * Append: expected_log_end counts.
 */
#define KLOG_APPEND_IF_LOG_END 8

/**
 * In klog_append_options.flags, with KLOG_APPEND_HAS_PRODUCER: the records belong to the producer's transaction.
 */
#define KLOG_APPEND_TRANSACTIONAL 16

/**
 * In klog_append_options.flags: markers among ready batches are of transaction version 2, whose epochs rise with each
 * transaction; without it of version 1.
 */
#define KLOG_APPEND_TXN_V2 32

/**
 * Record: timestamp_ms counts. Set by reads. Without it an append takes the time it is.
 */
#define KLOG_RECORD_HAS_TIMESTAMP 1

/**
 * Record: a control record. Set by reads; not for appends.
 */
#define KLOG_RECORD_CONTROL 2

/**
 * Record: belongs to a transaction. Set by reads, ignored by appends.
 */
#define KLOG_RECORD_TRANSACTIONAL 4

/**
 * Record: its timestamp is the time of the append. Set by reads, ignored by appends.
 */
#define KLOG_RECORD_LOG_APPEND_TIME 8

/**
 * Isolation: everything that is in the log.
 */
#define KLOG_ISOLATION_LOG_END 0

/**
 * Isolation: what is below the high watermark.
 */
#define KLOG_ISOLATION_HIGH_WATERMARK 1

/**
 * Isolation: what is below the last stable offset.
 */
#define KLOG_ISOLATION_TXN_COMMITTED 2

/**
 * Read: the first batch comes only if it fits max_bytes (Kafka's minOneMessage = false).
 */
#define KLOG_READ_NO_MIN_ONE 1

/**
 * Cursor: control records are given too.
 */
#define KLOG_READ_CONTROL 2

/**
 * In klog_read_options.flags: exactly the bytes that Kafka's log gives; max_bytes counts as it is, also 0, and cuts even
 * inside a batch. A smaller cap is KLOG_ERR_BUFFER_TOO_SMALL. Not for cursors.
 */
#define KLOG_READ_SLICE 4

/**
 * Packed buffers tell of batches: in front of the first record that is given of a batch there is an entry of kind 2 with its
 * header; of formats 0 and 1 both its offsets are the one that is stored. klog_cursor_next_packed and klog_decode_packed; klog_cursor_next, whose records are not packed, gives none.
 */
#define KLOG_READ_BATCH_INFO 8

/**
 * In klog_read_options.flags: leader_epoch is what the reader takes for the log's latest epoch. KLOG_ERR_FENCED_LEADER_EPOCH if
 * the log has a newer one, KLOG_ERR_UNKNOWN_LEADER_EPOCH if it does not know that one yet.
 */
#define KLOG_READ_HAS_EPOCH 16

/**
 * klog_read_result.flags: the first batch is larger than max_bytes.
 */
#define KLOG_READF_FIRST_INCOMPLETE 1

/**
 * klog_wait_options.kind: the log end; something was appended.
 */
#define KLOG_WAIT_LOG_END 0

/**
 * klog_wait_options.kind: the high watermark; readers of committed data get on.
 */
#define KLOG_WAIT_HIGH_WATERMARK 1

/**
 * klog_wait_options.kind: the last stable offset; readers of committed transactions get on.
 */
#define KLOG_WAIT_LAST_STABLE 2

/**
 * klog_wait_options.kind: the recovery point; records below survive a power cut.
 */
#define KLOG_WAIT_DURABLE 3

/**
 * klog_checkpoint: recovery points.
 */
#define KLOG_CHECKPOINT_RECOVERY_POINT 1

/**
 * klog_checkpoint: log start offsets.
 */
#define KLOG_CHECKPOINT_LOG_START 2

/**
 * klog_features: gzip is built in.
 */
#define KLOG_FEATURE_GZIP 1

/**
 * klog_features: snappy is built in.
 */
#define KLOG_FEATURE_SNAPPY 2

/**
 * klog_features: lz4 is built in.
 */
#define KLOG_FEATURE_LZ4 4

/**
 * klog_features: zstd is built in.
 */
#define KLOG_FEATURE_ZSTD 8

/**
 * klog_features: indexes are mapped into memory.
 */
#define KLOG_FEATURE_MMAP 16

/**
 * Of klog_metric.type: it rises and falls.
 */
#define KLOG_METRIC_GAUGE 0

/**
 * Of klog_metric.type: it only rises, from the opening of its manager, log or topic on: Kafka's meter.
 */
#define KLOG_METRIC_COUNTER 1

/**
 * Of klog_metric.type: how often, of Kafka's timer; it only rises.
 */
#define KLOG_METRIC_TIMER_COUNT 2

/**
 * Of klog_metric.type: how long all of them took together, of Kafka's timer; it only rises.
 */
#define KLOG_METRIC_TIMER_SUM 3

/**
 * Format of klog_metrics_text: OpenMetrics, version 1.0.0.
 */
#define KLOG_METRICS_OPENMETRICS 0

/**
 * Kind of event, "lost": the stream was full, count events are missing here. Comes whatever the mask is.
 */
#define KLOG_EVENT_LOST 1

/**
 * Kind of event, "recovered": bytes not known to be good were read again by the open; some may have been cut off.
 */
#define KLOG_EVENT_RECOVERED 2

/**
 * Kind of event, "repaired": a derived file was missing or wrong and was made anew, or a small file was replaced.
 */
#define KLOG_EVENT_REPAIRED 4

/**
 * Kind of event, "ignored": something that is not Kafka's was found and left alone.
 */
#define KLOG_EVENT_IGNORED 8

/**
 * Kind of event, "config": a configuration key was not used, or not as it was written.
 */
#define KLOG_EVENT_CONFIG 16

/**
 * Kind of event, "load-failed": a log could not be opened.
 */
#define KLOG_EVENT_LOAD_FAILED 32

/**
 * Kind of event, "dir-offline": a log directory went out of use, with its logs.
 */
#define KLOG_EVENT_DIR_OFFLINE 64

/**
 * Kind of event, "log-created": a log was made.
 */
#define KLOG_EVENT_LOG_CREATED 128

/**
 * Kind of event, "log-deleted": a log was deleted.
 */
#define KLOG_EVENT_LOG_DELETED 256

/**
 * Kind of event, "rolled": a segment began at offset.
 */
#define KLOG_EVENT_ROLLED 512

/**
 * Kind of event, "segments-deleted": retention took count segments with bytes; the log starts at offset.
 */
#define KLOG_EVENT_SEGMENTS_DELETED 1024

/**
 * Kind of event, "truncated": a log was cut, and ends at offset.
 */
#define KLOG_EVENT_TRUNCATED 2048

/**
 * Kind of event, "cleaned": a log was cleaned.
 */
#define KLOG_EVENT_CLEANED 4096

/**
 * Kind of event, "moved": a log was moved to another directory.
 */
#define KLOG_EVENT_MOVED 8192

/**
 * Kind of event, "task-failed": a task of klog_tick, or of the thread in the background, failed; the text begins with its
 * name.
 */
#define KLOG_EVENT_TASK_FAILED 16384

/**
 * klog_error.flags: the same call may succeed later.
 */
#define KLOG_ERRF_RETRIABLE 1

/**
 * klog_error.flags: close the manager.
 */
#define KLOG_ERRF_FATAL 2

/**
 * klog_error.flags: the log's directory went offline.
 */
#define KLOG_ERRF_DIR_OFFLINE 4

/**
 * klog_error.flags: the API was used wrongly.
 */
#define KLOG_ERRF_CALLER_BUG 8

/**
 * klog_error.flags: the message is longer than its field.
 */
#define KLOG_ERRF_MESSAGE_CUT 16

/**
 * klog_error.flags: the path is longer than its field.
 */
#define KLOG_ERRF_PATH_CUT 32

/**
 * Done.
 */
#define KLOG_OK 0

/**
 * A required pointer argument of the C ABI was null.
 */
#define KLOG_ERR_NULL_ARGUMENT 1

/**
 * An argument is outside what the operation accepts.
 */
#define KLOG_ERR_INVALID_ARGUMENT 2

/**
 * The `struct_size` of a C struct does not fit this library.
 */
#define KLOG_ERR_STRUCT_SIZE 3

/**
 * The header the caller was compiled with does not fit this library.
 */
#define KLOG_ERR_ABI 4

/**
 * Known, but not supported here.
 */
#define KLOG_ERR_UNSUPPORTED 5

/**
 * A C handle is null.
 */
#define KLOG_ERR_NULL_HANDLE 10

/**
 * A C handle names an object of another kind.
 */
#define KLOG_ERR_WRONG_KIND 11

/**
 * A C handle names an object that was closed.
 */
#define KLOG_ERR_STALE_HANDLE 12

/**
 * The call was made in a forked child.
 */
#define KLOG_ERR_FORKED 13

/**
 * The object or its parent is closed or closing.
 */
#define KLOG_ERR_CLOSED 14

/**
 * A second call ran at the same time on a handle that takes one at a time.
 */
#define KLOG_ERR_BUSY 15

/**
 * Called from inside a callback of the same handle.
 */
#define KLOG_ERR_REENTRANT 16

/**
 * The manager was opened for looking only.
 */
#define KLOG_ERR_READ_ONLY 17

/**
 * The timeout passed.
 */
#define KLOG_ERR_TIMED_OUT 20

/**
 * The caller's cancel token fired.
 */
#define KLOG_ERR_CANCELLED 21

/**
 * Nothing to do without waiting.
 */
#define KLOG_ERR_WOULD_BLOCK 22

/**
 * A bounded queue is full.
 */
#define KLOG_ERR_QUEUE_FULL 23

/**
 * Nothing left; not a failure.
 */
#define KLOG_ERR_END 24

/**
 * The caller's buffer is too small; not a failure.
 */
#define KLOG_ERR_BUFFER_TOO_SMALL 25

/**
 * Below the log start offset or above the log end offset.
 */
#define KLOG_ERR_OFFSET_OUT_OF_RANGE 30

/**
 * A checksum, size or magic byte is wrong.
 */
#define KLOG_ERR_CORRUPT_MESSAGE 31

/**
 * A record or batch breaks a rule of its format or of the log.
 */
#define KLOG_ERR_INVALID_RECORD 32

/**
 * A timestamp is outside the bounds that the topic allows.
 */
#define KLOG_ERR_INVALID_TIMESTAMP 33

/**
 * A batch is larger than `max.message.bytes`.
 */
#define KLOG_ERR_MESSAGE_TOO_LARGE 34

/**
 * An append is larger than a segment.
 */
#define KLOG_ERR_RECORD_LIST_TOO_LARGE 35

/**
 * A length above 2^31 - 1.
 */
#define KLOG_ERR_TOO_LARGE 36

/**
 * Message format 0 or 1 where 2 is required.
 */
#define KLOG_ERR_UNSUPPORTED_FOR_MESSAGE_FORMAT 37

/**
 * The compression codec is unknown or not allowed here.
 */
#define KLOG_ERR_UNSUPPORTED_COMPRESSION_TYPE 38

/**
 * The offsets of a follower append do not increase.
 */
#define KLOG_ERR_OFFSETS_OUT_OF_ORDER 39

/**
 * A follower append starts below the log end offset.
 */
#define KLOG_ERR_UNEXPECTED_APPEND_OFFSET 40

/**
 * An offset does not fit a segment's 31-bit relative range.
 */
#define KLOG_ERR_SEGMENT_OVERFLOW 41

/**
 * A producer's sequence number does not follow its last one.
 */
#define KLOG_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER 42

/**
 * Reserved: Kafka 4.4.0's storage never raises it.
 */
#define KLOG_ERR_DUPLICATE_SEQUENCE_NUMBER 43

/**
 * A producer epoch below the current one.
 */
#define KLOG_ERR_INVALID_PRODUCER_EPOCH 44

/**
 * Reserved: Kafka 4.4.0's storage never raises it.
 */
#define KLOG_ERR_PRODUCER_FENCED 45

/**
 * Reserved: Kafka 4.4.0's storage never raises it.
 */
#define KLOG_ERR_UNKNOWN_PRODUCER_ID 46

/**
 * The producer's transaction is in a state that does not allow this.
 */
#define KLOG_ERR_INVALID_TXN_STATE 47

/**
 * A transaction marker of an older coordinator.
 */
#define KLOG_ERR_TRANSACTION_COORDINATOR_FENCED 48

/**
 * The log end is not the one that the caller expected.
 */
#define KLOG_ERR_LOG_END_MISMATCH 49

/**
 * A leader epoch below the log's latest.
 */
#define KLOG_ERR_FENCED_LEADER_EPOCH 50

/**
 * A leader epoch above the log's latest.
 */
#define KLOG_ERR_UNKNOWN_LEADER_EPOCH 51

/**
 * No such log, or it was deleted.
 */
#define KLOG_ERR_UNKNOWN_TOPIC_OR_PARTITION 52

/**
 * A topic name outside `[a-zA-Z0-9._-]{1,249}`, or `.` or `..`.
 */
#define KLOG_ERR_INVALID_TOPIC_EXCEPTION 53

/**
 * A negative partition number.
 */
#define KLOG_ERR_INVALID_PARTITIONS 54

/**
 * The log has another topic id.
 */
#define KLOG_ERR_INCONSISTENT_TOPIC_ID 55

/**
 * A configuration value that Kafka or klog refuses.
 */
#define KLOG_ERR_INVALID_CONFIG 56

/**
 * A configuration key that neither Kafka nor klog knows.
 */
#define KLOG_ERR_UNKNOWN_CONFIG 57

/**
 * One partition was found in two directories.
 */
#define KLOG_ERR_DUPLICATE_LOG 58

/**
 * The offset lives in remote storage only.
 */
#define KLOG_ERR_OFFSET_MOVED_TO_TIERED_STORAGE 59

/**
 * An I/O error.
 */
#define KLOG_ERR_KAFKA_STORAGE_ERROR 60

/**
 * The disk or quota is full.
 */
#define KLOG_ERR_NO_SPACE 61

/**
 * An earlier I/O error took the log directory offline.
 */
#define KLOG_ERR_DIR_OFFLINE 62

/**
 * Another process or manager owns the directory.
 */
#define KLOG_ERR_DIR_LOCKED 63

/**
 * A log directory that was named does not exist or is not one.
 */
#define KLOG_ERR_LOG_DIR_NOT_FOUND 64

/**
 * The process or system has no file descriptor left.
 */
#define KLOG_ERR_NO_FILES 65

/**
 * An index is damaged and could not be rebuilt.
 */
#define KLOG_ERR_CORRUPT_INDEX 66

/**
 * A checkpoint, snapshot or metadata file is malformed.
 */
#define KLOG_ERR_CORRUPT_STATE 67

/**
 * A cleaning pass was aborted.
 */
#define KLOG_ERR_CLEAN_ABORTED 70

/**
 * Cleaning of the log is paused.
 */
#define KLOG_ERR_CLEAN_PAUSED 71

/**
 * Memory could not be reserved.
 */
#define KLOG_ERR_NO_MEMORY 80

/**
 * A limit on pins, handles or queues was reached.
 */
#define KLOG_ERR_LIMIT 81

/**
 * A defect of klog: a panic was caught.
 */
#define KLOG_ERR_PANIC 90

/**
 * An earlier panic poisoned the manager.
 */
#define KLOG_ERR_POISONED 91

/**
 * A defect of klog.
 */
#define KLOG_ERR_BUG 92

/**
 * Hash over every struct's layout and every constant of this header, for klog_abi_check.
 */
#define KLOG_LAYOUT_HASH 3106880494487818162

/**
 * The answer of a function: KLOG_OK or a KLOG_ERR_ constant.
 */
typedef int32_t klog_status;

/**
 * What went wrong. The caller's own: set struct_size to sizeof(klog_error), give its address, read it if the call did
 * not answer KLOG_OK (else it is untouched). Holds no pointer and needs no freeing.
 */
typedef struct {
    /**
     * In: how large the caller's struct is. At least 64, a multiple of 8.
     */
    uint32_t struct_size;
    /**
     * The status, as the call answered it.
     */
    klog_status status;
    /**
     * What Kafka 4.4.0 answers a client for the same failure; 0 where it has no counterpart.
     */
    int32_t kafka_code;
    /**
     * The operating system's error number, 0 without one.
     */
    int32_t os_errno;
    /**
     * KLOG_ERRF_ bits.
     */
    uint32_t flags;
    /**
     * Partition concerned, -1 if none.
     */
    int32_t partition;
    /**
     * Record offset concerned, -1 if none.
     */
    int64_t offset;
    /**
     * Byte position concerned, in a file or buffer; -1 if none.
     */
    int64_t position;
    /**
     * Index of the record in the input, or line of a text; -1 if none.
     */
    int32_t record_index;
    /**
     * Bytes of message, without its NUL.
     */
    uint32_t message_len;
    /**
     * Bytes of path, without its NUL.
     */
    uint32_t path_len;
    /**
     * 0.
     */
    uint32_t reserved0;
    /**
     * 0.
     */
    uint64_t reserved1;
    /**
     * One sentence in English, NUL-terminated UTF-8.
     */
    char message[448];
    /**
     * File or directory concerned, raw bytes, NUL-terminated; empty if none.
     */
    char path[512];
} klog_error;

/**
 * A configuration. A handle: copied freely, 0 is null, of no meaning after its close.
 */
typedef struct {
    /**
     * Not for the caller to interpret.
     */
    uint64_t id;
} klog_config;

/**
 * How to open a manager. Zero is the default of every field but struct_size, dirs and dir_count.
 */
typedef struct {
    /**
     * sizeof(klog_manager_options).
     */
    uint32_t struct_size;
    /**
     * KLOG_OPEN_ bits.
     */
    uint32_t flags;
    /**
     * The log directories, NUL-terminated paths. With dir_count 0 those of log.dirs in config.
     */
    const char *const *dirs;
    /**
     * How many.
     */
    uint64_t dir_count;
    /**
     * A broker config; null is all defaults. It is copied.
     */
    klog_config config;
    /**
     * 0: the program calls klog_tick. Else a thread of the library does that, until the manager is closed.
     */
    uint32_t background_threads;
    /**
     * Threads that load and close logs, for each directory; 0 is num.recovery.threads.per.data.dir.
     */
    uint32_t recovery_threads;
    /**
     * The time with KLOG_OPEN_MANUAL_CLOCK.
     */
    int64_t now_ms;
    /**
     * With KLOG_OPEN_HAS_BROKER_EPOCH.
     */
    int64_t broker_epoch;
    /**
     * 0.
     */
    uint64_t reserved[5];
} klog_manager_options;

/**
 * Log directories that are open. A handle.
 */
typedef struct {
    /**
     * Not for the caller to interpret.
     */
    uint64_t id;
} klog_manager;

/**
 * A log of a manager. A handle.
 */
typedef struct {
    /**
     * Not for the caller to interpret.
     */
    uint64_t id;
} klog_log;

/**
 * A manager at a glance.
 */
typedef struct {
    /**
     * In: sizeof(klog_manager_info).
     */
    uint32_t struct_size;
    /**
     * 0.
     */
    uint32_t flags;
    /**
     * Logs that are open.
     */
    uint64_t logs;
    /**
     * Segments that were recovered by the open.
     */
    uint64_t segments_recovered;
    /**
     * Bytes that recovery cut off.
     */
    uint64_t bytes_truncated;
    /**
     * Segments whose indexes were made anew.
     */
    uint64_t indexes_rebuilt;
    /**
     * Directories that work.
     */
    uint32_t dirs_online;
    /**
     * Directories that do not.
     */
    uint32_t dirs_offline;
    /**
     * Handles of this process that are open, of every kind.
     */
    uint64_t open_handles;
    /**
     * Bytes that the views of this manager's logs hold.
     */
    uint64_t pinned_bytes;
    /**
     * 0.
     */
    uint64_t reserved[8];
} klog_manager_info;

/**
 * How to open a log.
 */
typedef struct {
    /**
     * sizeof(klog_log_options).
     */
    uint32_t struct_size;
    /**
     * KLOG_LOG_ bits.
     */
    uint32_t flags;
    /**
     * The topic's id with KLOG_LOG_HAS_TOPIC_ID.
     */
    uint8_t topic_id[16];
    /**
     * A topic config that replaces the topic's overrides; null leaves them. It is copied.
     */
    klog_config config;
    /**
     * The directory to make the log in; null is the one with the fewest logs.
     */
    const char *dir;
    /**
     * Bytes of dir, or KLOG_NTS.
     */
    uint64_t dir_len;
    /**
     * 0.
     */
    uint64_t reserved[4];
} klog_log_options;

/**
 * A log at a glance, at one moment.
 */
typedef struct {
    /**
     * In: sizeof(klog_log_info).
     */
    uint32_t struct_size;
    /**
     * KLOG_LOG_HAS_TOPIC_ID if topic_id counts.
     */
    uint32_t flags;
    /**
     * The partition.
     */
    int32_t partition;
    /**
     * The latest leader epoch, -1 for none.
     */
    int32_t latest_epoch;
    /**
     * The topic's id.
     */
    uint8_t topic_id[16];
    /**
     * The first offset that can be read.
     */
    int64_t log_start_offset;
    /**
     * Readers of committed data stop here: the log end.
     */
    int64_t high_watermark;
    /**
     * Readers of committed transactions stop here.
     */
    int64_t last_stable_offset;
    /**
     * The next offset to be assigned.
     */
    int64_t log_end_offset;
    /**
     * Below this everything was flushed.
     */
    int64_t recovery_point;
    /**
     * Where the dirty part of the log begins, as far as compaction came; -1 if it never came, or another process owns it.
     */
    int64_t first_dirty_offset;
    /**
     * How many segments.
     */
    uint64_t segments;
    /**
     * Bytes of all .log files.
     */
    uint64_t bytes;
    /**
     * How many producers are known.
     */
    uint64_t producers;
    /**
     * 0.
     */
    uint64_t reserved[8];
} klog_log_info;

/**
 * A record found by its time.
 */
typedef struct {
    /**
     * In: sizeof(klog_timestamp_offset).
     */
    uint32_t struct_size;
    /**
     * 0.
     */
    uint32_t flags;
    /**
     * Its time; -1 for the ends of the log.
     */
    int64_t timestamp_ms;
    /**
     * Its offset; -1: no record qualifies.
     */
    int64_t offset;
    /**
     * Leader epoch of its batch, -1 for none.
     */
    int32_t leader_epoch;
    /**
     * 0.
     */
    uint32_t reserved0;
} klog_timestamp_offset;

/**
 * One header of a record.
 */
typedef struct {
    /**
     * Its name: UTF-8, may be empty, not null unless key_len is 0.
     */
    const char *key;
    /**
     * Bytes of its name.
     */
    uint64_t key_len;
    /**
     * Its value; null is a null value.
     */
    const void *value;
    /**
     * Bytes of its value.
     */
    uint64_t value_len;
} klog_header;

/**
 * A record. Null key: no key. Null value: a tombstone. Length 0 behind a non-null pointer: empty.
 */
typedef struct {
    /**
     * The key.
     */
    const void *key;
    /**
     * Bytes of the key.
     */
    uint64_t key_len;
    /**
     * The value.
     */
    const void *value;
    /**
     * Bytes of the value.
     */
    uint64_t value_len;
    /**
     * The headers, in order.
     */
    const klog_header *headers;
    /**
     * How many headers.
     */
    uint64_t header_count;
    /**
     * Its place in the log. Set by reads, ignored by appends.
     */
    int64_t offset;
    /**
     * Its time; counts with KLOG_RECORD_HAS_TIMESTAMP, else it must be 0 or KLOG_TIMESTAMP_NOW.
     */
    int64_t timestamp_ms;
    /**
     * Leader epoch of its batch, -1 for none. Set by reads, ignored by appends.
     */
    int32_t leader_epoch;
    /**
     * Its sequence number, -1 for none. Set by reads, ignored by appends.
     */
    int32_t sequence;
    /**
     * KLOG_RECORD_ bits.
     */
    uint32_t flags;
    /**
     * 0.
     */
    uint32_t reserved;
} klog_record;

/**
 * Why one record of an append was refused.
 */
typedef struct {
    /**
     * Its index.
     */
    int32_t record_index;
    /**
     * Kafka's code.
     */
    int32_t kafka_code;
} klog_record_error;

/**
 * How to append. Zero is the default of every field but struct_size.
 */
typedef struct {
    /**
     * sizeof(klog_append_options).
     */
    uint32_t struct_size;
    /**
     * KLOG_APPEND_ bits.
     */
    uint32_t flags;
    /**
     * 0.
     */
    uint32_t reserved0;
    /**
     * KLOG_ORIGIN_ constant.
     */
    uint32_t origin;
    /**
     * With KLOG_APPEND_HAS_EPOCH.
     */
    int32_t leader_epoch;
    /**
     * KLOG_COMPRESSION_ constant. Ready batches keep their own.
     */
    int32_t compression;
    /**
     * Kafka's level of that codec; 0 is its default, or the topic's with KLOG_COMPRESSION_CONFIG.
     */
    int32_t compression_level;
    /**
     * With KLOG_APPEND_HAS_PRODUCER.
     */
    int32_t base_sequence;
    /**
     * With KLOG_APPEND_HAS_PRODUCER.
     */
    int64_t producer_id;
    /**
     * With KLOG_APPEND_HAS_PRODUCER.
     */
    int32_t producer_epoch;
    /**
     * KLOG_DURABILITY_ constant.
     */
    uint32_t durability;
    /**
     * Where to write why records were refused; may be null.
     */
    klog_record_error *record_errors;
    /**
     * Room in record_errors.
     */
    uint64_t record_errors_cap;
    /**
     * With KLOG_APPEND_IF_LOG_END.
     */
    int64_t expected_log_end;
    /**
     * 0.
     */
    uint64_t reserved[5];
} klog_append_options;

/**
 * What an append did.
 */
typedef struct {
    /**
     * In: sizeof(klog_append_result).
     */
    uint32_t struct_size;
    /**
     * 0.
     */
    uint32_t flags;
    /**
     * First offset assigned, -1 if nothing was appended.
     */
    int64_t first_offset;
    /**
     * Last offset assigned, -1 if nothing was appended.
     */
    int64_t last_offset;
    /**
     * The first offset that can be read.
     */
    int64_t log_start_offset;
    /**
     * The time of the append if the topic's timestamps are that, else -1.
     */
    int64_t log_append_time_ms;
    /**
     * The largest timestamp, -1 for none.
     */
    int64_t max_timestamp;
    /**
     * Bytes written.
     */
    uint64_t bytes_appended;
    /**
     * How many records.
     */
    uint32_t records;
    /**
     * How many entries of record_errors were written.
     */
    uint32_t record_error_count;
    /**
     * 1: the high watermark rose with the append; 0: it stayed.
     */
    int32_t hw_change;
    /**
     * 0.
     */
    uint32_t reserved0;
    /**
     * 0.
     */
    uint64_t reserved[4];
} klog_append_result;

/**
 * One append of klog_append_many: log, records and count go in, the rest comes out.
 */
typedef struct {
    /**
     * Where to append.
     */
    klog_log log;
    /**
     * The records of one batch.
     */
    const klog_record *records;
    /**
     * How many records.
     */
    uint64_t count;
    /**
     * Out: first offset assigned, -1 if nothing was appended.
     */
    int64_t first_offset;
    /**
     * Out: last offset assigned, -1 if nothing was appended.
     */
    int64_t last_offset;
    /**
     * Out: the time of the append if the topic's timestamps are that, else -1.
     */
    int64_t log_append_time_ms;
    /**
     * Out: KLOG_OK, or why this one was not appended.
     */
    klog_status status;
    /**
     * Out: Kafka's code for that, 0 for none.
     */
    int32_t kafka_code;
    /**
     * 0.
     */
    uint64_t reserved;
} klog_append_item;

/**
 * One append of klog_append_many_packed: log, packed and len go in, the rest comes out.
 */
typedef struct {
    /**
     * Where to append.
     */
    klog_log log;
    /**
     * A packed buffer with the records of one batch.
     */
    const void *packed;
    /**
     * Its bytes.
     */
    uint64_t len;
    /**
     * Out: first offset assigned, -1 if nothing was appended.
     */
    int64_t first_offset;
    /**
     * Out: last offset assigned, -1 if nothing was appended.
     */
    int64_t last_offset;
    /**
     * Out: the time of the append if the topic's timestamps are that, else -1.
     */
    int64_t log_append_time_ms;
    /**
     * Out: KLOG_OK, or why this one was not appended.
     */
    klog_status status;
    /**
     * Out: Kafka's code for that, 0 for none.
     */
    int32_t kafka_code;
    /**
     * 0.
     */
    uint64_t reserved;
} klog_packed_item;

/**
 * How an appender works. Zero is the default of every field but struct_size.
 */
typedef struct {
    /**
     * sizeof(klog_appender_options).
     */
    uint32_t struct_size;
    /**
     * 0.
     */
    uint32_t flags;
    /**
     * How its batches are appended; null is the defaults. It is copied. Without KLOG_APPEND_IF_LOG_END and record_errors, of
     * origin KLOG_ORIGIN_CLIENT.
     */
    const klog_append_options *append;
    /**
     * A batch is closed when it holds so many bytes, uncompressed; 0 is 65536. max.message.bytes of the topic bounds it too.
     */
    uint64_t batch_bytes;
    /**
     * Adds wait when so many bytes are not appended yet; 0 is 16777216.
     */
    uint64_t queue_bytes;
    /**
     * How long a batch that is not full waits for more records; 0 is not at all.
     */
    int64_t linger_us;
    /**
     * 0.
     */
    uint64_t reserved[6];
} klog_appender_options;

/**
 * An accumulator of small appends to one log. A handle.
 */
typedef struct {
    /**
     * Not for the caller to interpret.
     */
    uint64_t id;
} klog_appender;

/**
 * A token that ends long calls (klog_cancel_create). A handle.
 */
typedef struct {
    /**
     * Not for the caller to interpret.
     */
    uint64_t id;
} klog_cancel;

/**
 * How to read. Zero is the default of every field but struct_size.
 */
typedef struct {
    /**
     * sizeof(klog_read_options).
     */
    uint32_t struct_size;
    /**
     * KLOG_READ_ bits.
     */
    uint32_t flags;
    /**
     * 0.
     */
    uint32_t reserved0;
    /**
     * KLOG_ISOLATION_ constant.
     */
    uint32_t isolation;
    /**
     * At most so many bytes; 0 is what the buffer holds, and for a cursor how much it reads at a time (16 KiB first, then more and more up to 256 KiB).
     */
    uint64_t max_bytes;
    /**
     * At most so many records a call of a cursor; 0 is no limit.
     */
    uint32_t max_records;
    /**
     * With KLOG_READ_HAS_EPOCH: the log's latest epoch, as the reader knows it; else 0.
     */
    int32_t leader_epoch;
    /**
     * With timeout_ms: wait until so many bytes can be read; 0 is one.
     */
    uint64_t min_bytes;
    /**
     * How long to wait if there is less: 0 not at all, -1 without limit.
     */
    int64_t timeout_ms;
    /**
     * What ends the waiting, and the call; null is nothing.
     */
    klog_cancel cancel;
    /**
     * 0.
     */
    uint64_t reserved[6];
} klog_read_options;

/**
 * What a read gave.
 */
typedef struct {
    /**
     * In: sizeof(klog_read_result).
     */
    uint32_t struct_size;
    /**
     * KLOG_READF_ bits.
     */
    uint32_t flags;
    /**
     * Bytes in the buffer.
     */
    uint64_t bytes;
    /**
     * With KLOG_ERR_BUFFER_TOO_SMALL: the bytes that the buffer must hold.
     */
    uint64_t bytes_needed;
    /**
     * How many records (cursor).
     */
    uint32_t records;
    /**
     * How many batches (klog_read).
     */
    uint32_t batches;
    /**
     * First offset of what was given; may be below the one asked for (klog_read).
     */
    int64_t first_offset;
    /**
     * Where the next read goes on.
     */
    int64_t next_offset;
    /**
     * The first offset that can be read.
     */
    int64_t log_start_offset;
    /**
     * As in klog_log_info.
     */
    int64_t high_watermark;
    /**
     * As in klog_log_info.
     */
    int64_t last_stable_offset;
    /**
     * The next offset to be assigned.
     */
    int64_t log_end_offset;
    /**
     * 0.
     */
    uint32_t aborted_txns;
    /**
     * 0.
     */
    uint32_t reserved0;
    /**
     * Base offset of the segment that the first byte lies in, -1 without bytes (klog_read).
     */
    int64_t segment_base_offset;
    /**
     * Where the first byte lies in it (klog_read).
     */
    uint64_t position;
    /**
     * -1.
     */
    int64_t aborted_upto;
    /**
     * 0.
     */
    uint64_t reserved[3];
} klog_read_result;

/**
 * A place in a log from which records are read. A handle.
 */
typedef struct {
    /**
     * Not for the caller to interpret.
     */
    uint64_t id;
} klog_cursor;

/**
 * Stored batches that stay as they are. A handle.
 */
typedef struct {
    /**
     * Not for the caller to interpret.
     */
    uint64_t id;
} klog_view;

/**
 * What a view holds: the same bytes as memory and as a region of a file.
 */
typedef struct {
    /**
     * In: sizeof(klog_view_info).
     */
    uint32_t struct_size;
    /**
     * KLOG_READF_ bits.
     */
    uint32_t flags;
    /**
     * The batches, for reading, until klog_view_close. Null if there are none.
     */
    const void *data;
    /**
     * How many bytes.
     */
    uint64_t len;
    /**
     * First offset of the first batch; may be below the one asked for. That one if there is no whole batch.
     */
    int64_t first_offset;
    /**
     * Where the next read goes on.
     */
    int64_t next_offset;
    /**
     * Base offset of the segment that the bytes lie in, -1 if there was nothing to read.
     */
    int64_t segment_base_offset;
    /**
     * Where the bytes begin in the segment file, for sendfile.
     */
    uint64_t position;
    /**
     * The segment file, open for reading at least; -1 without bytes. The view's: not to be closed, nor written.
     */
    int32_t fd;
    /**
     * 0.
     */
    uint32_t reserved0;
    /**
     * 0.
     */
    uint64_t reserved[3];
} klog_view_info;

/**
 * Where a leader epoch ends.
 */
typedef struct {
    /**
     * In: sizeof(klog_epoch_offset).
     */
    uint32_t struct_size;
    /**
     * The epoch that the answer is for: the one asked for, or the highest below it that the log has; -1 if the log cannot
     * know the epoch.
     */
    int32_t leader_epoch;
    /**
     * The offset behind its last record; -1 if the log cannot know the epoch.
     */
    int64_t end_offset;
} klog_epoch_offset;

/**
 * A transaction that was aborted.
 */
typedef struct {
    /**
     * Whose it was.
     */
    int64_t producer_id;
    /**
     * Its first offset.
     */
    int64_t first_offset;
    /**
     * The offset of its marker.
     */
    int64_t last_offset;
    /**
     * The last stable offset when it ended: all transactions that began below had ended then.
     */
    int64_t last_stable_offset;
} klog_aborted_txn;

/**
 * What retention took.
 */
typedef struct {
    /**
     * In: sizeof(klog_retain_result).
     */
    uint32_t struct_size;
    /**
     * 0.
     */
    uint32_t flags;
    /**
     * Segments that are gone, or would be.
     */
    uint64_t segments_deleted;
    /**
     * Bytes of their records.
     */
    uint64_t bytes_deleted;
    /**
     * Where the log starts now, or would; -1 for a pass over all logs.
     */
    int64_t log_start_offset;
    /**
     * 0.
     */
    uint64_t reserved[4];
} klog_retain_result;

/**
 * What a tick did.
 */
typedef struct {
    /**
     * In: sizeof(klog_tick_result).
     */
    uint32_t struct_size;
    /**
     * How many tasks were run.
     */
    uint32_t tasks_run;
    /**
     * When the next one is due, in ms since 1970.
     */
    int64_t next_due_ms;
    /**
     * 0.
     */
    uint64_t reserved[2];
} klog_tick_result;

/**
 * How logs are cleaned. All zero is as the configuration says.
 */
typedef struct {
    /**
     * In: sizeof(klog_clean_options).
     */
    uint32_t struct_size;
    /**
     * KLOG_DRY_RUN, KLOG_CLEAN_ROLL, KLOG_CLEAN_HAS_FIRST_DIRTY.
     */
    uint32_t flags;
    /**
     * Without a log: only those of which a larger share is dirty; 0 is each log's min.cleanable.dirty.ratio.
     */
    double min_dirty_ratio;
    /**
     * Memory of the map from key to offset, 24 bytes a slot; 0 is log.cleaner.dedupe.buffer.size / log.cleaner.threads.
     */
    uint64_t map_bytes;
    /**
     * Bytes a second that are read and written at most; 0 is log.cleaner.io.max.bytes.per.second.
     */
    uint64_t io_bytes_per_second;
    /**
     * Without a log: passes at most; 0 is as many as there is something to clean.
     */
    uint32_t max_logs;
    /**
     * 0.
     */
    uint32_t reserved0;
    /**
     * How long this may take, in ms; 0 is as long as it takes.
     */
    int64_t timeout_ms;
    /**
     * Ends the call when it is fired; may be null.
     */
    klog_cancel cancel;
    /**
     * Where the dirty part of the log begins, with KLOG_CLEAN_HAS_FIRST_DIRTY; else where its checkpoint says.
     */
    int64_t first_dirty_offset;
    /**
     * 0.
     */
    uint64_t reserved[3];
} klog_clean_options;

/**
 * What cleaning did, or would do: the sums over all passes.
 */
typedef struct {
    /**
     * In: sizeof(klog_clean_result).
     */
    uint32_t struct_size;
    /**
     * 0.
     */
    uint32_t flags;
    /**
     * Passes that were made.
     */
    uint64_t logs_cleaned;
    /**
     * Bytes of all batches that were looked at.
     */
    uint64_t bytes_read;
    /**
     * Bytes of the batches in their place.
     */
    uint64_t bytes_written;
    /**
     * Records that were looked at.
     */
    uint64_t records_read;
    /**
     * Records that stay.
     */
    uint64_t records_kept;
    /**
     * Records whose key has a later one.
     */
    uint64_t dropped_superseded;
    /**
     * Tombstones past their time.
     */
    uint64_t dropped_tombstones;
    /**
     * Records without a key.
     */
    uint64_t dropped_no_key;
    /**
     * Records of aborted transactions.
     */
    uint64_t dropped_aborted;
    /**
     * Markers of transactions of which nothing is left.
     */
    uint64_t dropped_markers;
    /**
     * Slots of the largest map from key to offset.
     */
    uint64_t map_slots;
    /**
     * Slots that were taken in it.
     */
    uint64_t map_slots_used;
    /**
     * How long it took.
     */
    uint64_t elapsed_ms;
    /**
     * How much of that it was held up so that it kept below a rate.
     */
    uint64_t throttled_ms;
    /**
     * Where the dirty part of the log begins now; -1 without a log, or if there was nothing to clean.
     */
    int64_t first_dirty_offset;
    /**
     * 0.
     */
    uint64_t reserved[4];
} klog_clean_result;

/**
 * How far a pass of the cleaner is.
 */
typedef struct {
    /**
     * In: sizeof(klog_clean_progress).
     */
    uint32_t struct_size;
    /**
     * 0.
     */
    uint32_t flags;
    /**
     * KLOG_CLEAN_PHASE_.
     */
    uint32_t phase;
    /**
     * 0.
     */
    uint32_t reserved0;
    /**
     * Bytes read in this phase.
     */
    uint64_t bytes_done;
    /**
     * Bytes to read in this phase.
     */
    uint64_t bytes_total;
    /**
     * Where the dirty part began; -1 if no pass runs.
     */
    int64_t first_dirty_offset;
    /**
     * Up to where the log is cleaned; -1 if no pass runs.
     */
    int64_t end_offset;
    /**
     * When the pass began, in ms since 1970; -1 if none runs.
     */
    int64_t started_ms;
    /**
     * 0.
     */
    uint64_t reserved[3];
} klog_clean_progress;

/**
 * What to wait for. Zero is the default of every field but struct_size.
 */
typedef struct {
    /**
     * sizeof(klog_wait_options).
     */
    uint32_t struct_size;
    /**
     * KLOG_WAIT_ constant: which end of the log.
     */
    uint32_t kind;
    /**
     * The end has to lie above this offset: the record at it is there then.
     */
    int64_t offset;
    /**
     * Bytes of stored batches that have to lie between the offset and the end; 0 is any.
     */
    uint64_t min_bytes;
    /**
     * How long to wait: 0 not at all, -1 without limit.
     */
    int64_t timeout_ms;
    /**
     * What ends the waiting; null is nothing.
     */
    klog_cancel cancel;
    /**
     * 0.
     */
    uint64_t reserved[2];
} klog_wait_options;

/**
 * Logs that are waited for together. A handle.
 */
typedef struct {
    /**
     * Not for the caller to interpret.
     */
    uint64_t id;
} klog_waiter;

/**
 * A log that a waiter found ready.
 */
typedef struct {
    /**
     * The handle that was armed.
     */
    klog_log log;
    /**
     * What was given with it.
     */
    uint64_t user_data;
    /**
     * Where the end is that was waited for; -1 unless status is KLOG_OK.
     */
    int64_t offset;
    /**
     * KLOG_WAIT_ constant.
     */
    uint32_t kind;
    /**
     * KLOG_OK, or why the wait ended without it.
     */
    klog_status status;
} klog_ready;

/**
 * A metric, as klog_metric_describe tells of it. Its texts are static.
 */
typedef struct {
    /**
     * In: sizeof(klog_metric).
     */
    uint32_t struct_size;
    /**
     * KLOG_METRIC_ constant.
     */
    uint32_t type;
    /**
     * Kafka's name: that of the MBean, without its tags.
     */
    const char *name;
    /**
     * Its unit; empty for a plain number.
     */
    const char *unit;
    /**
     * What it says, in a sentence.
     */
    const char *help;
} klog_metric;

/**
 * How far the opening of a log directory is.
 */
typedef struct {
    /**
     * In: sizeof(klog_open_progress).
     */
    uint32_t struct_size;
    /**
     * 0.
     */
    uint32_t flags;
    /**
     * Logs that were found in it; 0 until it was looked at.
     */
    uint64_t logs_total;
    /**
     * Those that are not loaded yet.
     */
    uint64_t logs_left;
    /**
     * Segments to be read again of the logs that are being loaded.
     */
    uint64_t segments_left;
    /**
     * Bytes to be read again of all logs that were looked at so far. It rises, until no log is left.
     */
    uint64_t bytes_total;
    /**
     * Those that were read.
     */
    uint64_t bytes_done;
    /**
     * 0.
     */
    uint64_t reserved[4];
} klog_open_progress;

/**
 * A stream of what happens in a manager. A handle.
 */
typedef struct {
    /**
     * Not for the caller to interpret.
     */
    uint64_t id;
} klog_events;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The version of the library that is loaded: (MAJOR << 16) | (MINOR << 8) | PATCH.
 *
 * Thread class T3, cost class C0.
 */
uint32_t klog_version_number(void);

/**
 * The version of the library that is loaded, as text. Static.
 *
 * Thread class T3, cost class C0.
 */
const char *klog_version_string(void);

/**
 * What is built in: KLOG_FEATURE_ bits.
 *
 * Thread class T3, cost class C0.
 */
uint64_t klog_features(void);

/**
 * Whether the header that the caller was compiled with fits this library: call
 * `klog_abi_check(KLOG_ABI, KLOG_LAYOUT_HASH, &err)` first. KLOG_ERR_ABI if not.
 *
 * Thread class T0, cost class C0. err is nullable.
 */
KLOG_NODISCARD
klog_status klog_abi_check(uint32_t abi,
                           uint64_t layout_hash_of_header,
                           klog_error *err);

/**
 * The name of a status, "KLOG_ERR_STALE_HANDLE"; "KLOG_ERR_?" for a number that is none. Static.
 *
 * Thread class T3, cost class C0.
 */
const char *klog_status_name(klog_status status);

/**
 * The name of an error code of Kafka's protocol, "OFFSET_OUT_OF_RANGE"; "UNKNOWN_SERVER_ERROR" for an unknown one.
 * Static.
 *
 * Thread class T3, cost class C0.
 */
const char *klog_kafka_error_name(int32_t kafka_code);

/**
 * Makes an empty configuration: KLOG_CONFIG_BROKER for klog_manager_open, KLOG_CONFIG_TOPIC for klog_log_open.
 *
 * Thread class T2, cost class C1. out is required, null on failure; err is nullable.
 */
KLOG_NODISCARD
klog_status klog_config_create(uint32_t kind,
                               klog_config *out,
                               klog_error *err);

/**
 * Sets a key. A bad value is KLOG_ERR_INVALID_CONFIG and an unknown key KLOG_ERR_UNKNOWN_CONFIG, which names the nearest
 * known one; both change nothing. Lengths may be KLOG_NTS.
 *
 * Thread class T1, cost class C1. key and value are required; err is nullable.
 */
KLOG_NODISCARD
klog_status klog_config_set(klog_config config,
                            const char *key,
                            size_t key_len,
                            const char *value,
                            size_t value_len,
                            klog_error *err);

/**
 * Sets a key for one topic, in a broker config. A null key of length 0 gives the topic an empty set of overrides: it is
 * managed then, with the defaults.
 *
 * Thread class T1, cost class C1. topic is required, key and value unless key_len is 0; err is nullable.
 */
KLOG_NODISCARD
klog_status klog_config_set_topic(klog_config config,
                                  const char *topic_name,
                                  size_t topic_len,
                                  const char *key,
                                  size_t key_len,
                                  const char *value,
                                  size_t value_len,
                                  klog_error *err);

/**
 * Takes in a text in the syntax of server.properties, read as Kafka reads it (ISO-8859-1 with \uXXXX), also with
 * topic.NAME.KEY lines. A bad value is an error with its line in err->record_index, and changes nothing; an unknown key
 * is a line of klog_manager_report when the config is used.
 *
 * Thread class T1, cost class C1. properties is required unless len is 0; err is nullable.
 */
KLOG_NODISCARD
klog_status klog_config_load(klog_config config,
                             const char *properties,
                             size_t len,
                             klog_error *err);

/**
 * The value of a key as it is in effect: set, or the default; empty if it has none. With its NUL it needs *needed bytes;
 * KLOG_ERR_BUFFER_TOO_SMALL if cap is below that.
 *
 * Thread class T1, cost class C1. key is required; buf may be null with cap 0; needed and err are nullable.
 */
KLOG_NODISCARD
klog_status klog_config_get(klog_config config,
                            const char *key,
                            size_t key_len,
                            char *buf,
                            size_t cap,
                            size_t *needed,
                            klog_error *err);

/**
 * What is known of key number index, as lines with a name each: `key: `, `scope: `, `type: `, `default: `, where there is one
 * `range: `, `dynamic: `, what else is to be said, and `doc: `. KLOG_ERR_END behind the last.
 *
 * Thread class T0, cost class C1. buf may be null with cap 0; needed and err are nullable.
 */
KLOG_NODISCARD
klog_status klog_config_describe(uint32_t index,
                                 char *buf,
                                 size_t cap,
                                 size_t *needed,
                                 klog_error *err);

/**
 * Ends a configuration. What was opened with it has a copy.
 *
 * Thread class T2, cost class C1.
 */
klog_status klog_config_close(klog_config config);

/**
 * Opens log directories: locks them, and loads and recovers every log in them. A directory or log that cannot be opened
 * is reported (klog_manager_report) and left as it is; the others are served. Fails if no directory can be used
 * (KLOG_ERR_LOG_DIR_NOT_FOUND, KLOG_ERR_KAFKA_STORAGE_ERROR), or if one is owned by another manager, broker or process
 * (KLOG_ERR_DIR_LOCKED); then nothing is open and nothing was changed. With KLOG_OPEN_READ_ONLY nothing is locked or changed
 * in any case: what follows of a load is seen by this manager alone. klog_manager_open_progress tells another thread how far
 * it is.
 *
 * Thread class T2, cost class C3. opts and out are required; out is null on failure; err is nullable.
 */
KLOG_NODISCARD
klog_status klog_manager_open(const klog_manager_options *opts,
                              klog_manager *out,
                              klog_error *err);

/**
 * Takes in what the owner of the directories did since the last look, with KLOG_OPEN_READ_ONLY: what it appended, rolled,
 * cleaned, cut, deleted and created. With a log of id 0 in all logs, else in that one. Nothing else does, but for a read that
 * finds its segment gone: it looks at that log and starts over. It costs as much as there is new, so it may be called again
 * and again. A batch that is not written to its end is not seen yet. Handles stay good; those of a log that was deleted
 * answer KLOG_ERR_UNKNOWN_TOPIC_OR_PARTITION from now on, also if another one has its name. Cursors go on from where they
 * are. The first failure is answered, the other logs are looked at all the same. On a manager that owns its directories:
 * KLOG_OK, and nothing happens.
 *
 * Thread class T0, cost class C2; C3 if a log was cut and must be loaded anew. err is nullable.
 */
KLOG_NODISCARD
klog_status klog_manager_refresh(klog_manager manager,
                                 klog_log only,
                                 klog_error *err);

/**
 * Counts of a manager, and what its open did.
 *
 * Thread class T0, cost class C1. out is required; err is nullable.
 */
KLOG_NODISCARD
klog_status klog_manager_get_info(klog_manager manager,
                                  klog_manager_info *out,
                                  klog_error *err);

/**
 * What the open found and did, a finding a line: kind TAB directory TAB topic-partition or "-" TAB status or "-" TAB text
 * LF. Kinds: recovered, repaired, ignored, config, failed. Tab, LF and backslash inside a field are \t, \n, \\.
 *
 * Thread class T0, cost class C1. buf may be null with cap 0; needed and err are nullable.
 */
KLOG_NODISCARD
klog_status klog_manager_report(klog_manager manager,
                                char *buf,
                                size_t cap,
                                size_t *needed,
                                klog_error *err);

/**
 * Every log, sorted: topic-partition TAB directory TAB topic id or "-" TAB flags LF. Flags: "-", or "unmanaged" for a
 * topic that was given no configuration, or "failed" for a log that could not be opened.
 *
 * Thread class T0, cost class C1. buf may be null with cap 0; needed and err are nullable.
 */
KLOG_NODISCARD
klog_status klog_manager_list(klog_manager manager,
                              char *buf,
                              size_t cap,
                              size_t *needed,
                              klog_error *err);

/**
 * The path of directory number index, and whether it works: KLOG_OK in *state, or the status of what took it offline.
 * KLOG_ERR_END behind the last.
 *
 * Thread class T0, cost class C1. buf may be null with cap 0; needed, state and err are nullable.
 */
KLOG_NODISCARD
klog_status klog_manager_dir_info(klog_manager manager,
                                  uint32_t index,
                                  char *buf,
                                  size_t cap,
                                  size_t *needed,
                                  klog_status *state,
                                  klog_error *err);

/**
 * Says whose a directory is: writes its meta.properties of version 1, so that a broker of that cluster takes the directory
 * for its own. Nothing else writes that file. dir is its number in klog_manager_dir_info; directory_id has 16 bytes, null
 * is a random one. A file that says the same stays.
 *
 * Thread class T2, cost class C3. cluster_id is required; directory_id and err are nullable. KLOG_ERR_INVALID_ARGUMENT if
 * the file says something else, or another directory is of another cluster or node.
 */
KLOG_NODISCARD
klog_status klog_meta_create(klog_manager manager,
                             uint32_t dir,
                             const char *cluster_id,
                             size_t cluster_id_len,
                             int32_t node_id,
                             const uint8_t *directory_id,
                             klog_error *err);

/**
 * Changes broker keys while logs are open: what topics without overrides of these keys go by, and the manager itself.
 * Either all changes are made or none. changes is a broker config with nothing but the keys to change.
 *
 * Thread class T0, cost class C2. err is nullable. KLOG_ERR_INVALID_CONFIG for keys that cannot be changed while logs are
 * open, or values that they do not take.
 */
KLOG_NODISCARD
klog_status klog_manager_set_config(klog_manager manager,
                                    klog_config changes,
                                    klog_error *err);

/**
 * Makes every log durable.
 *
 * Thread class T0, cost class C3. flags is 0; err is nullable.
 */
KLOG_NODISCARD
klog_status klog_flush_all(klog_manager manager,
                           uint32_t flags,
                           klog_error *err);

/**
 * Writes the checkpoints of all directories now: KLOG_CHECKPOINT_ bits. They are written together.
 *
 * Thread class T0, cost class C3. err is nullable.
 */
KLOG_NODISCARD
klog_status klog_checkpoint(klog_manager manager,
                            uint32_t which,
                            klog_error *err);

/**
 * Closes every log in order, writes checkpoints and clean-shutdown files, and gives the directories back. The logs, cursors,
 * appenders, waiters and event streams of this manager answer KLOG_ERR_CLOSED from now on; calls that wait for them wake with
 * it, and calls that are inside end first. What appenders hold that was not appended is dropped: close them before. The handle
 * ends, also with an error, which says what could not be stored; the next open recovers that. With KLOG_CLOSE_ABANDON nothing
 * is written.
 *
 * KLOG_ERR_TIMED_OUT if that took longer than timeout_ms (-1 is no limit, 0 only begins it): it goes on in a thread of the
 * library, calls with the handle answer KLOG_ERR_CLOSED, and the close may be called again, to wait for it and learn how it ended;
 * its flags do not count any more.
 *
 * Thread class T2, cost class C4. err is nullable.
 */
klog_status klog_manager_close(klog_manager manager,
                               uint32_t flags,
                               int64_t timeout_ms,
                               klog_error *err);

/**
 * Opens a log of a manager; with KLOG_LOG_CREATE it is made if there is none. Handles of one partition lead to one log.
 * A log that was made is there after a power cut once it was flushed (klog_flush, also without records), or the manager closed.
 * KLOG_ERR_UNKNOWN_TOPIC_OR_PARTITION if there is none; the status of its load if that failed.
 *
 * Thread class T2, cost class C2. topic and out are required; opts may be null; out is null on failure; err is nullable.
 */
KLOG_NODISCARD
klog_status klog_log_open(klog_manager manager,
                          const char *topic_name,
                          size_t topic_len,
                          int32_t partition,
                          const klog_log_options *opts,
                          klog_log *out,
                          klog_error *err);

/**
 * Loads a log again that failed to load when its manager was opened, as after a crash: the cause is mended, or of two
 * directories of one partition one is left. KLOG_OK also if the log is loaded already;
 * KLOG_ERR_UNKNOWN_TOPIC_OR_PARTITION if there is none; the status of the load if it fails again.
 *
 * Thread class T2, cost class C3. topic is required; err is nullable.
 */
KLOG_NODISCARD
klog_status klog_log_retry(klog_manager manager,
                           const char *topic_name,
                           size_t topic_len,
                           int32_t partition,
                           klog_error *err);

/**
 * Gives the log's topic these overrides, instead of those that it had; all logs of the topic go by them from now on, and
 * are managed. overrides is a topic config; an empty one leaves the defaults.
 *
 * Thread class T0, cost class C1. err is nullable. KLOG_ERR_INVALID_CONFIG if they contradict each other.
 */
KLOG_NODISCARD
klog_status klog_log_set_config(klog_log log,
                                klog_config overrides,
                                klog_error *err);

/**
 * The next offset to be assigned: the cheapest call.
 *
 * Thread class T0, cost class C0. out is required.
 */
KLOG_NODISCARD
klog_status klog_log_end_offset(klog_log log,
                                int64_t *out);

/**
 * Offsets, epochs and sizes of a log: one consistent snapshot.
 *
 * Thread class T0, cost class C1. out is required; err is nullable.
 */
KLOG_NODISCARD
klog_status klog_log_get_info(klog_log log,
                              klog_log_info *out,
                              klog_error *err);

/**
 * The offset for a time: of the first record at or after timestamp_ms in the first segment that reaches it. -1 latest,
 * -2 and -4 earliest, -3 the first record with the largest timestamp; -5 and -6 are KLOG_ERR_UNSUPPORTED. No record: offset
 * -1 and KLOG_OK.
 *
 * Thread class T0, cost class C2. out is required; err is nullable.
 */
KLOG_NODISCARD
klog_status klog_offset_for_timestamp(klog_log log,
                                      int64_t timestamp_ms,
                                      klog_timestamp_offset *out,
                                      klog_error *err);

/**
 * Makes everything below upto_offset durable, -1 for all of the log, and moves the recovery point. A failure takes the log
 * directory offline.
 *
 * Thread class T0, cost class C3. flags is 0; err is nullable.
 */
KLOG_NODISCARD
klog_status klog_flush(klog_log log,
                       int64_t upto_offset,
                       uint32_t flags,
                       klog_error *err);

/**
 * Begins a new segment at the log end; its base offset is written to *new_base_offset.
 *
 * Thread class T0, cost class C3. new_base_offset and err are nullable.
 */
KLOG_NODISCARD
klog_status klog_roll(klog_log log,
                      int64_t *new_base_offset,
                      klog_error *err);

/**
 * Ends the handle. The log stays open in its manager. Calls that wait with this handle answer KLOG_ERR_CLOSED, and so does
 * what was armed with it.
 *
 * Thread class T2, cost class C1.
 */
klog_status klog_log_close(klog_log log);

/**
 * Appends records as one batch, all or nothing. The library keeps no pointer into them. count 0 is no error: offsets -1.
 * A refused or failed append changes nothing.
 *
 * With KLOG_APPEND_HAS_PRODUCER the batch is that of an idempotent producer, and of its transaction with
 * KLOG_APPEND_TRANSACTIONAL. What is wrong with single records goes to opts->record_errors, as far as there is room.
 *
 * Statuses beside those of every function: KLOG_ERR_MESSAGE_TOO_LARGE, KLOG_ERR_RECORD_LIST_TOO_LARGE,
 * KLOG_ERR_INVALID_RECORD, KLOG_ERR_INVALID_TIMESTAMP, KLOG_ERR_LOG_END_MISMATCH,
 * KLOG_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER, KLOG_ERR_INVALID_PRODUCER_EPOCH, KLOG_ERR_INVALID_TXN_STATE,
 * KLOG_ERR_TOO_LARGE, KLOG_ERR_FENCED_LEADER_EPOCH, KLOG_ERR_NO_SPACE,
 * KLOG_ERR_KAFKA_STORAGE_ERROR, KLOG_ERR_DIR_OFFLINE, KLOG_ERR_CLOSED.
 *
 * Thread class T0, cost class C2, with KLOG_DURABILITY_FSYNC C3. records is required unless count is 0; opts, out and err
 * are nullable.
 */
KLOG_NODISCARD
klog_status klog_append(klog_log log,
                        const klog_record *records,
                        size_t count,
                        const klog_append_options *opts,
                        klog_append_result *out,
                        klog_error *err);

/**
 * As klog_append, from a packed buffer of len bytes (docs/format.md describes it). A buffer that breaks its rules is
 * KLOG_ERR_INVALID_ARGUMENT with err->record_index and err->position, and nothing is appended.
 *
 * Thread class T0, cost class C2, with KLOG_DURABILITY_FSYNC C3. packed is required; opts, out and err are nullable.
 */
KLOG_NODISCARD
klog_status klog_append_packed(klog_log log,
                               const void *packed,
                               size_t len,
                               const klog_append_options *opts,
                               klog_append_result *out,
                               klog_error *err);

/**
 * Appends ready record batches. Of a client (origin 0) one batch, as a broker gets it from a producer, or messages of magic
 * 0 and 1, which become one batch: every record is checked, offset, leader epoch and, where the topic says so, time and
 * codec are assigned. Of a follower (KLOG_ORIGIN_REPLICATION) as many as there are, with the offsets and epochs that they
 * have; those of an epoch above opts->leader_epoch are left out, with KLOG_APPEND_HAS_EPOCH. Bytes behind the last whole
 * batch are dropped. The caller's bytes are not changed. A batch that its producer sent before, one of the last five, is
 * KLOG_OK with the offsets of the first time.
 *
 * Statuses beside those of klog_append: KLOG_ERR_CORRUPT_MESSAGE, KLOG_ERR_INVALID_RECORD,
 * KLOG_ERR_UNSUPPORTED_COMPRESSION_TYPE, KLOG_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER, KLOG_ERR_INVALID_PRODUCER_EPOCH,
 * KLOG_ERR_INVALID_TXN_STATE, KLOG_ERR_TRANSACTION_COORDINATOR_FENCED; of a follower KLOG_ERR_UNEXPECTED_APPEND_OFFSET,
 * KLOG_ERR_OFFSETS_OUT_OF_ORDER.
 *
 * Thread class T0, cost class C2, with KLOG_DURABILITY_FSYNC C3. batches is required unless len is 0; opts, out and err are
 * nullable.
 */
KLOG_NODISCARD
klog_status klog_append_batches(klog_log log,
                                const void *batches,
                                size_t len,
                                const klog_append_options *opts,
                                klog_append_result *out,
                                klog_error *err);

/**
 * Appends one record without headers. A null key or value is null; KLOG_TIMESTAMP_NOW and KLOG_TIMESTAMP_NONE are
 * timestamps. Its offset is written to *offset.
 *
 * Thread class T0, cost class C2. key and value are required unless their length is 0; offset and err are
 * nullable.
 */
KLOG_NODISCARD
klog_status klog_append_one(klog_log log,
                            const void *key,
                            size_t key_len,
                            const void *value,
                            size_t value_len,
                            int64_t timestamp_ms,
                            int64_t *offset,
                            klog_error *err);

/**
 * Ends the transaction of a producer, as its coordinator does: commit is 1 for a commit, 0 for an abort. The batch that is
 * appended holds the marker alone. KLOG_ERR_INVALID_PRODUCER_EPOCH for an epoch below the producer's,
 * KLOG_ERR_TRANSACTION_COORDINATOR_FENCED for a coordinator epoch below that of its last marker.
 *
 * Thread class T0, cost class C2. out and err are nullable.
 */
KLOG_NODISCARD
klog_status klog_append_marker(klog_log log,
                               int64_t producer_id,
                               int32_t producer_epoch,
                               uint32_t commit,
                               int32_t coordinator_epoch,
                               klog_append_result *out,
                               klog_error *err);

/**
 * Appends to many logs of a manager in one call: each item is a batch of its own, as klog_append would append it, and has its
 * own answer. Items are appended in order, several of one log too; one that fails does not keep the others from being appended.
 * With KLOG_DURABILITY_FSYNC each log is synced once, after all items.
 *
 * KLOG_OK if every item was appended; else the status of the first one that was not, which err describes. Every item is
 * written in both cases, unless an argument of the call itself is wrong: then nothing was appended, and no item is written.
 * KLOG_APPEND_IF_LOG_END and record_errors are for one log: with them the call is KLOG_ERR_INVALID_ARGUMENT.
 *
 * Thread class T0, cost class C2, with KLOG_DURABILITY_FSYNC C3. items is required unless count is 0; opts and err are
 * nullable.
 */
KLOG_NODISCARD
klog_status klog_append_many(klog_manager manager,
                             klog_append_item *items,
                             size_t count,
                             const klog_append_options *opts,
                             klog_error *err);

/**
 * As klog_append_many, each item from a packed buffer.
 *
 * Thread class T0, cost class C2, with KLOG_DURABILITY_FSYNC C3. items is required unless count is 0; opts and err are
 * nullable.
 */
KLOG_NODISCARD
klog_status klog_append_many_packed(klog_manager manager,
                                    klog_packed_item *items,
                                    size_t count,
                                    const klog_append_options *opts,
                                    klog_error *err);

/**
 * Opens an appender for a log: what many threads add in small lots is appended in few batches, and with KLOG_DURABILITY_FSYNC
 * synced together. What is added is in the log in the order of its tickets.
 *
 * Who waits does the work: a call that waits for a ticket, flushes, or finds the queue full appends what is there, for all
 * others too, unless another one does it already. With background_threads of the manager other than 0 one thread of the
 * library does it for the batches that nobody waits for, when they are full or opts->linger_us has passed. Without, there is
 * none, and what nobody waits for stays where it is until the queue is full, or the close.
 *
 * With KLOG_APPEND_HAS_PRODUCER the sequence numbers begin at base_sequence and go on from batch to batch; a batch that is
 * refused uses none.
 *
 * Thread class T2, cost class C1. opts and err are nullable; out is required, null on failure. KLOG_ERR_INVALID_ARGUMENT with
 * KLOG_APPEND_IF_LOG_END, record_errors or another origin than KLOG_ORIGIN_CLIENT.
 */
KLOG_NODISCARD
klog_status klog_appender_open(klog_log log,
                               const klog_appender_options *opts,
                               klog_appender *out,
                               klog_error *err);

/**
 * Adds records, all or nothing, to be appended together and in this order. They are copied, and checked as far as they can be
 * by themselves; what the log says of them, klog_appender_wait tells. The batch that they are in is refused as a whole. *ticket
 * stands for them; 0 if count is 0. Adding does not sleep but while opts->queue_bytes are not appended yet.
 *
 * KLOG_ERR_QUEUE_FULL if the queue is full, timeout_ms is 0 and another call appends what is in it (if none does, this one does), KLOG_ERR_TIMED_OUT if it was full for timeout_ms (-1: no
 * limit): then, and after any other error, nothing was added. KLOG_ERR_CLOSED once the appender or the manager is closed.
 *
 * Thread class T0, cost class C4. records is required unless count is 0; ticket and err are nullable.
 */
KLOG_NODISCARD
klog_status klog_appender_add(klog_appender appender,
                              const klog_record *records,
                              size_t count,
                              int64_t timeout_ms,
                              uint64_t *ticket,
                              klog_error *err);

/**
 * As klog_appender_add, from a packed buffer of len bytes (docs/format.md describes it).
 *
 * Thread class T0, cost class C4. packed is required; ticket and err are nullable.
 */
KLOG_NODISCARD
klog_status klog_appender_add_packed(klog_appender appender,
                                     const void *packed,
                                     size_t len,
                                     int64_t timeout_ms,
                                     uint64_t *ticket,
                                     klog_error *err);

/**
 * Waits until the records of a ticket are appended, and durable with KLOG_DURABILITY_FSYNC. out->first_offset, last_offset
 * and records are those of the ticket; the rest is that of the batch that holds them. Any thread may wait for a ticket, any
 * number of times: the results of the last 16000 adds at least are kept.
 *
 * Fails as the append of the batch did, for each of its tickets. KLOG_ERR_TIMED_OUT after timeout_ms (0: not at all, -1: no
 * limit), KLOG_ERR_CANCELLED once cancel was fired: the records are still on their way, and can be waited for again. A call
 * that appends for all is not interrupted in it. KLOG_ERR_CLOSED if they were dropped by a close.
 * KLOG_ERR_INVALID_ARGUMENT for a ticket that this appender did not give out, or whose result is not kept. What was appended
 * is told also after the manager's close.
 *
 * Thread class T0, cost class C4. cancel may be null; out and err are nullable.
 */
KLOG_NODISCARD
klog_status klog_appender_wait(klog_appender appender,
                               uint64_t ticket,
                               int64_t timeout_ms,
                               klog_cancel cancel,
                               klog_append_result *out,
                               klog_error *err);

/**
 * Waits until everything is appended that was added before, and durable with KLOG_DURABILITY_FSYNC. The first failure since
 * the last flush is answered, also that of records that nobody waited for.
 *
 * KLOG_ERR_TIMED_OUT after timeout_ms; 0 does not sleep, -1 is no limit. After the manager's close it is KLOG_OK if there is
 * nothing that was not appended.
 *
 * Thread class T0, cost class C4. err is nullable.
 */
KLOG_NODISCARD
klog_status klog_appender_flush(klog_appender appender,
                                int64_t timeout_ms,
                                klog_error *err);

/**
 * Ends the appender, after a flush; with KLOG_CLOSE_DISCARD what is not being appended yet is dropped, and its tickets answer
 * KLOG_ERR_CLOSED to those that wait. The handle ends in any case, also if the flush fails: its failure is the answer. Close
 * appenders before their manager: of a closed one what is left is dropped.
 *
 * Thread class T2, cost class C2, with KLOG_DURABILITY_FSYNC C3. err is nullable.
 */
klog_status klog_appender_close(klog_appender appender,
                                uint32_t flags,
                                klog_error *err);

/**
 * Reads whole record batches of one segment, as a broker sends them, from the one that holds start_offset on: up to
 * min(max_bytes, cap) bytes, the first batch also if it is larger than max_bytes. Nothing to read is KLOG_OK with bytes 0.
 * Go on at out->next_offset.
 *
 * With opts->timeout_ms other than 0 it waits until there are opts->min_bytes to be read from start_offset on, one at least;
 * then, and when the time is up, it gives what there is, which may be less where a segment ends. KLOG_ERR_TIMED_OUT if that is
 * nothing, and out says the offsets then too; KLOG_ERR_CANCELLED once opts->cancel was fired; KLOG_ERR_CLOSED once the log handle
 * or the manager is closed; KLOG_ERR_DIR_OFFLINE if nothing is there and nothing can come.
 *
 * KLOG_ERR_OFFSET_OUT_OF_RANGE below the log start and above the log end. KLOG_ERR_FENCED_LEADER_EPOCH and
 * KLOG_ERR_UNKNOWN_LEADER_EPOCH with KLOG_READ_HAS_EPOCH. KLOG_ERR_BUFFER_TOO_SMALL if the first batch does
 * not fit cap: out->bytes_needed says what does. Checksums are not checked here; a cursor does. What is in buf behind
 * out->bytes, and after an error, means nothing.
 *
 * Thread class T0, cost class C2, with opts->timeout_ms C4. buf may be null with cap 0; opts and err are nullable; out is required.
 */
KLOG_NODISCARD
klog_status klog_read(klog_log log,
                      int64_t start_offset,
                      const klog_read_options *opts,
                      void *buf,
                      size_t cap,
                      klog_read_result *out,
                      klog_error *err);

/**
 * Opens a cursor at start_offset, which may lie inside a batch. Whether it can be read shows at the first call. What opts say
 * of waiting and of the leader epoch holds for each call on the cursor: with timeout_ms other than 0 it waits at the end of what may be read. A token
 * in opts->cancel goes on to end these calls as long as its own handle is open.
 *
 * Thread class T2, cost class C1. opts and err are nullable; out is required, null on failure.
 */
KLOG_NODISCARD
klog_status klog_cursor_open(klog_log log,
                             int64_t start_offset,
                             const klog_read_options *opts,
                             klog_cursor *out,
                             klog_error *err);

/**
 * Gives up to min(cap, max_records) records. Keys, values and headers point into memory that the cursor lends until the
 * next call on it or its close. out->records says how many; out->next_offset where the next call goes on.
 *
 * Without timeout_ms KLOG_ERR_END at the end of what may be read; out is written then too. With it the call waits there, until
 * opts->min_bytes of stored batches came (one at least), and gives what there is when the time is up: KLOG_ERR_TIMED_OUT if
 * that is nothing, and out is written then too; KLOG_ERR_CANCELLED once opts->cancel was fired; KLOG_ERR_CLOSED once the
 * cursor or the manager is closed. Whatever ends it, the cursor keeps its place. A batch that cannot be decoded gives its error once, after the
 * records before it, and the next call goes on behind it. Each batch's checksum is checked.
 *
 * Thread class T1, cost class C2, with timeout_ms C4. records is required unless cap is 0; out is required; err is nullable.
 */
KLOG_NODISCARD
klog_status klog_cursor_next(klog_cursor cursor,
                             klog_record *records,
                             size_t cap,
                             klog_read_result *out,
                             klog_error *err);

/**
 * As klog_cursor_next, as whole entries of a packed buffer of cap bytes; out->bytes says how many were written, out->records
 * counts records only. Of a cursor with KLOG_READ_BATCH_INFO each batch is told of once, before the first of its records that is given.
 * KLOG_ERR_BUFFER_TOO_SMALL and out->bytes_needed if not even the first record fits.
 *
 * Thread class T1, cost class C2, with timeout_ms C4. buf and out are required; err is nullable.
 */
KLOG_NODISCARD
klog_status klog_cursor_next_packed(klog_cursor cursor,
                                    void *buf,
                                    size_t cap,
                                    klog_read_result *out,
                                    klog_error *err);

/**
 * Goes on from offset. Whether it can be read shows at the next call. What was lent is given back.
 *
 * Thread class T1, cost class C1. err is nullable.
 */
KLOG_NODISCARD
klog_status klog_cursor_seek(klog_cursor cursor,
                             int64_t offset,
                             klog_error *err);

/**
 * Ends the cursor and what it lent. A call that waits in it answers KLOG_ERR_CLOSED.
 *
 * Thread class T2, cost class C1.
 */
klog_status klog_cursor_close(klog_cursor cursor);

/**
 * Holds stored batches of one segment without a copy, from the one that holds start_offset on, to at most max_bytes (0: to
 * the segment's end): what klog_read would give. info says where they are: as memory, and as a region of a descriptor, for
 * sendfile. Both stay as they are until klog_view_close, also if the log is cut, cleaned or deleted meanwhile, or its manager
 * closed. Nothing to read is KLOG_OK with len 0, and a view to close.
 *
 * The memory is that of the file, or a copy with KLOG_OPEN_NO_MMAP and on file systems that map nothing. It is only for
 * reading. Checksums are not checked here; klog_decode does. With KLOG_ISOLATION_TXN_COMMITTED the list that goes with it is
 * klog_aborted_txns from start_offset up to info->next_offset. Each view keeps a descriptor open.
 *
 * With opts->timeout_ms other than 0 it waits as klog_read does: KLOG_ERR_TIMED_OUT if nothing came, KLOG_ERR_CANCELLED,
 * KLOG_ERR_CLOSED, KLOG_ERR_DIR_OFFLINE.
 *
 * KLOG_ERR_OFFSET_OUT_OF_RANGE below the log start and above the log end, KLOG_ERR_NO_FILES, KLOG_ERR_NO_MEMORY.
 *
 * Thread class T0, cost class C2, with opts->timeout_ms C4. opts and err are nullable; out, null on failure, and info are required.
 */
KLOG_NODISCARD
klog_status klog_view_open(klog_log log,
                           int64_t start_offset,
                           const klog_read_options *opts,
                           klog_view *out,
                           klog_view_info *info,
                           klog_error *err);

/**
 * Ends a view, its memory and its descriptor. Good also after the log, its manager or the segment went.
 *
 * Thread class T0, cost class C1.
 */
klog_status klog_view_close(klog_view view);

/**
 * Decodes whole record batches of any origin and magic: as many as fit cap records and buf_cap bytes. Records point into
 * batches, or into buf where bytes had to be decompressed; header arrays are in buf too. out->records says how many there are,
 * out->bytes how many bytes of batches they took: go on behind those. KLOG_ERR_END if no whole batch is left; out is written
 * then too. Bytes behind the last whole batch, which a read with KLOG_READ_SLICE may give, are not looked at.
 *
 * flags: KLOG_READ_CONTROL gives control records too; else they are passed over, and records may be 0. KLOG_ERR_BUFFER_TOO_SMALL
 * if the first batch does not fit: out->records and out->bytes_needed are the cap and the buf_cap that it needs.
 * KLOG_ERR_CORRUPT_MESSAGE, KLOG_ERR_INVALID_RECORD or KLOG_ERR_UNSUPPORTED_COMPRESSION_TYPE if the first batch is damaged,
 * with err->position in batches; batches before a damaged one are given first. Each batch's checksum is checked.
 *
 * Thread class T0, cost class C1. batches, records and buf are required unless their size is 0; out is required; err is
 * nullable.
 */
KLOG_NODISCARD
klog_status klog_decode(const void *batches,
                        size_t len,
                        uint32_t flags,
                        klog_record *records,
                        size_t cap,
                        void *buf,
                        size_t buf_cap,
                        klog_read_result *out,
                        klog_error *err);

/**
 * As klog_decode, as a packed buffer of at most cap bytes; its head says how long it is. out->bytes counts bytes of batches.
 * With KLOG_READ_BATCH_INFO in flags an entry of kind 2 tells of each batch in front of its first record.
 *
 * Thread class T0, cost class C1. batches is required unless len is 0; buf and out are required; err is nullable.
 */
KLOG_NODISCARD
klog_status klog_decode_packed(const void *batches,
                               size_t len,
                               uint32_t flags,
                               void *buf,
                               size_t cap,
                               klog_read_result *out,
                               klog_error *err);

/**
 * Encodes records as one batch of magic 2 with the offsets from base_offset on, for klog_append_batches of a follower, or for
 * the network. Of opts count: compression (KLOG_COMPRESSION_CONFIG is none, there is no topic) and its level, the producer with
 * KLOG_APPEND_HAS_PRODUCER, KLOG_APPEND_TRANSACTIONAL, the leader epoch with KLOG_APPEND_HAS_EPOCH (else -1, as a producer
 * sends it); the others must be 0. The time of records without one is the system's.
 *
 * The size of the batch goes to *needed; 0 for no records. KLOG_ERR_BUFFER_TOO_SMALL if cap is less. KLOG_ERR_TOO_LARGE,
 * KLOG_ERR_INVALID_TIMESTAMP, KLOG_ERR_INVALID_ARGUMENT with err->record_index.
 *
 * Thread class T0, cost class C1. records is required unless count is 0; buf may be null with cap 0; opts, needed and err are
 * nullable.
 */
KLOG_NODISCARD
klog_status klog_encode(const klog_record *records,
                        size_t count,
                        const klog_append_options *opts,
                        int64_t base_offset,
                        void *buf,
                        size_t cap,
                        size_t *needed,
                        klog_error *err);

/**
 * As klog_encode, from a packed buffer of len bytes.
 *
 * Thread class T0, cost class C1. packed is required; buf may be null with cap 0; opts, needed and err are nullable.
 */
KLOG_NODISCARD
klog_status klog_encode_packed(const void *packed,
                               size_t len,
                               const klog_append_options *opts,
                               int64_t base_offset,
                               void *buf,
                               size_t cap,
                               size_t *needed,
                               klog_error *err);

/**
 * Where a leader epoch ends, as OffsetsForLeaderEpoch answers: the highest epoch of the log at or below it, and the offset
 * behind that epoch's last record. -1 for both if the log cannot know the epoch.
 *
 * Thread class T0, cost class C1. out is required; err is nullable.
 */
KLOG_NODISCARD
klog_status klog_offset_for_epoch(klog_log log,
                                  int32_t epoch,
                                  klog_epoch_offset *out,
                                  klog_error *err);

/**
 * Notes that a leader epoch begins at an offset, durably. Entries that contradict it go: those of the same or a later epoch
 * that begin at or above it.
 *
 * Thread class T0, cost class C3. err is nullable.
 */
KLOG_NODISCARD
klog_status klog_epoch_assign(klog_log log,
                              int32_t epoch,
                              int64_t start_offset,
                              klog_error *err);

/**
 * Moves the high watermark, also down: to hw, or to the nearest offset that it can be. What it is now is written to *out.
 * KLOG_ERR_INVALID_ARGUMENT if it follows the log end: it is the caller's with KLOG_LOG_MANUAL_HW or
 * KLOG_OPEN_HW_FROM_CHECKPOINT.
 *
 * Thread class T0, cost class C1. out and err are nullable.
 */
KLOG_NODISCARD
klog_status klog_high_watermark_set(klog_log log,
                                    int64_t hw,
                                    int64_t *out,
                                    klog_error *err);

/**
 * Deletes the records below before_offset for readers, durably, as DeleteRecords does; -1 is the high watermark. Their bytes go when
 * retention takes their segments. Where the log starts now is written to *log_start_offset.
 * KLOG_ERR_OFFSET_OUT_OF_RANGE above the high watermark.
 *
 * Thread class T0, cost class C3. log_start_offset and err are nullable.
 */
KLOG_NODISCARD
klog_status klog_delete_records(klog_log log,
                                int64_t before_offset,
                                int64_t *log_start_offset,
                                klog_error *err);

/**
 * Every producer that the log knows, by rising id, and each of the batches that are remembered of it:
 *
 * producer ID epoch=E last_seq=S last_offset=O offset_delta=D ts=T coordinator_epoch=C txn_first=F
 *
 * pbatch ID seq=A..B offset=A..B ts=T
 *
 * txn_first is the first offset of an open transaction, or "-". *needed is the length with its NUL.
 *
 * Thread class T0, cost class C1. buf may be null with cap 0; needed and err are nullable.
 */
KLOG_NODISCARD
klog_status klog_producers(klog_log log,
                           char *buf,
                           size_t cap,
                           size_t *needed,
                           klog_error *err);

/**
 * The aborted transactions that a reader of batches leaves out: those with a marker at or above from that began below upto,
 * in the order of the index. With from the offset that was read from and upto the result's aborted_upto it is Kafka's list.
 * *needed is how many there are.
 *
 * Thread class T0, cost class C2. buf is required unless cap is 0; needed and err are nullable.
 */
KLOG_NODISCARD
klog_status klog_aborted_txns(klog_log log,
                              int64_t from,
                              int64_t upto,
                              klog_aborted_txn *buf,
                              size_t cap,
                              size_t *needed,
                              klog_error *err);

/**
 * Cuts the log at offset, durably: offset is the next one to be assigned then. The whole batch that holds it goes, so that
 * offsets below it may be missing. High watermark, recovery point and log start come down with it if they lie above.
 * *truncated is 1 if anything was cut, else 0.
 *
 * Thread class T0, cost class C3. truncated and err are nullable.
 */
KLOG_NODISCARD
klog_status klog_truncate_to(klog_log log,
                             int64_t offset,
                             uint32_t *truncated,
                             klog_error *err);

/**
 * Drops all records, durably. The log goes on at new_offset; it starts at log_start_offset, -1 for new_offset.
 *
 * Thread class T0, cost class C3. err is nullable.
 */
KLOG_NODISCARD
klog_status klog_truncate_fully(klog_log log,
                                int64_t new_offset,
                                int64_t log_start_offset,
                                klog_error *err);

/**
 * One pass of retention: over one log, or with a log of id 0 over all that are managed and not compacted. Segments go from
 * the oldest on that lie below the log start, are too much for retention.bytes or too old for retention.ms. Their files are
 * renamed now and removed after file.delete.delay.ms; who reads them goes on. With KLOG_DRY_RUN nothing goes.
 *
 * A topic is managed if it was given a configuration, or klog made the log since the manager was opened. A log that is named
 * is taken whether it is managed or not.
 *
 * Thread class T0, cost class C3. out and err are nullable.
 */
KLOG_NODISCARD
klog_status klog_retain(klog_manager manager,
                        klog_log only,
                        uint32_t flags,
                        klog_retain_result *out,
                        klog_error *err);

/**
 * Deletes a log: it is gone for every call when this returns, and another one may be made under its name. Reads that run
 * go on; handles answer KLOG_ERR_UNKNOWN_TOPIC_OR_PARTITION. Its files are removed after the default file.delete.delay.ms,
 * by klog_tick, or by the manager that opens the directory next.
 *
 * Thread class T2, cost class C3. flags is 0; err is nullable.
 */
KLOG_NODISCARD
klog_status klog_log_delete(klog_log log,
                            uint32_t flags,
                            klog_error *err);

/**
 * Runs what is due: retention, flushes by time, checkpoints, removal of files and logs, expiry of producers, under the keys
 * and with the periods that Kafka has. With KLOG_OPEN_MANUAL_CLOCK the manager's clock is set to now_ms first, if that is
 * not -1; else now_ms must be -1. budget_us must be 0: all that is due is done.
 *
 * Thread class T0, cost class C3. out and err are nullable.
 */
KLOG_NODISCARD
klog_status klog_tick(klog_manager manager,
                      int64_t now_ms,
                      int64_t budget_us,
                      klog_tick_result *out,
                      klog_error *err);

/**
 * Compacts now: the log that is named in one pass, whatever share of it is dirty; with a log of id 0 every log that is managed
 * and compacted, the filthiest first, as long as one is dirty enough. With KLOG_DRY_RUN nothing is changed, and each log
 * is looked at once.
 *
 * KLOG_ERR_INVALID_CONFIG if the log's cleanup.policy has no compact. KLOG_ERR_BUSY if another pass runs on it,
 * KLOG_ERR_CLEAN_PAUSED if it is paused, KLOG_ERR_CLEAN_ABORTED if it was cut, deleted or paused meanwhile.
 * KLOG_ERR_CORRUPT_MESSAGE if a batch is damaged: the log stays as it was. Over several logs the first failure is answered
 * after all others were cleaned. KLOG_ERR_TIMED_OUT after timeout_ms,
 * KLOG_ERR_CANCELLED when cancel is fired; what was done by then stays done.
 *
 * Thread class T0, cost class C3. opts, out and err are nullable.
 */
KLOG_NODISCARD
klog_status klog_clean(klog_manager manager,
                       klog_log only,
                       const klog_clean_options *opts,
                       klog_clean_result *out,
                       klog_error *err);

/**
 * How far the pass is that runs on a log, in whatever thread; KLOG_CLEAN_PHASE_IDLE if none does.
 *
 * Thread class T0, cost class C0. err is nullable; out is required.
 */
KLOG_NODISCARD
klog_status klog_clean_get_progress(klog_log log,
                                    klog_clean_progress *out,
                                    klog_error *err);

/**
 * Lets no pass of the cleaner run on a log until klog_clean_resume; one that runs is ended, and waited for. Pauses count:
 * each needs its resume. They end with the manager.
 *
 * Thread class T0, cost class C4. err is nullable.
 */
KLOG_NODISCARD
klog_status klog_clean_pause(klog_log log,
                             klog_error *err);

/**
 * Takes back one klog_clean_pause. KLOG_ERR_INVALID_ARGUMENT if the log is not paused.
 *
 * Thread class T0, cost class C1. err is nullable.
 */
KLOG_NODISCARD
klog_status klog_clean_resume(klog_log log,
                              klog_error *err);

/**
 * Waits until the cleaner has come to an offset: until the log's checkpoint is at or above it. timeout_ms 0 only looks, -1
 * waits without end.
 *
 * KLOG_ERR_TIMED_OUT if the time passed first, KLOG_ERR_CANCELLED if cancel was fired. cancel may be null.
 *
 * Thread class T0, cost class C4. err is nullable.
 */
KLOG_NODISCARD
klog_status klog_clean_await(klog_log log,
                             int64_t offset,
                             int64_t timeout_ms,
                             klog_cancel cancel,
                             klog_error *err);

/**
 * Moves a log to another of its manager's directories, by its number in klog_manager_dir_info. Appends and reads of it go
 * on, but for a moment at the end, and all handles stay good. Its old files are removed after the default
 * file.delete.delay.ms. If the time is up, or cancel is fired, what was copied stays, and the next call goes on from there;
 * a call with the directory that the log is in gives it up. After any other error the log is where it was, or,
 * if only the old directory failed at the very end, where it was to go.
 *
 * Thread class T0, cost class C3. timeout_ms -1 is no limit; cancel may be null, err is nullable. KLOG_ERR_BUSY if the log
 * is being moved already; KLOG_ERR_LOG_DIR_NOT_FOUND if there is no such directory.
 */
KLOG_NODISCARD
klog_status klog_log_move(klog_log log,
                          uint32_t to_dir,
                          int64_t timeout_ms,
                          klog_cancel cancel,
                          klog_error *err);

/**
 * Drops one of the copies of a partition that was found in several directories, so that none of them was loaded: the one in
 * the directory of this number. It is removed as klog_log_delete removes. When one is left klog_log_retry loads it.
 *
 * Thread class T2, cost class C2. topic is required; err is nullable. KLOG_ERR_INVALID_ARGUMENT if the partition was not
 * found in several directories, or not in this one, or only there is a copy left.
 */
KLOG_NODISCARD
klog_status klog_manager_resolve(klog_manager manager,
                                 const char *topic_name,
                                 size_t topic_len,
                                 int32_t partition,
                                 uint32_t drop_dir,
                                 klog_error *err);

/**
 * Lets a copy that was on its way to another directory be the partition's log, where there is none: the directory that it
 * came from is lost, or not among those of this manager. It may lack what was appended last there.
 *
 * Thread class T2, cost class C3. topic is required; err is nullable. KLOG_ERR_INVALID_ARGUMENT if there is no such copy, or
 * the log is there.
 */
KLOG_NODISCARD
klog_status klog_log_promote(klog_manager manager,
                             const char *topic_name,
                             size_t topic_len,
                             int32_t partition,
                             klog_error *err);

/**
 * Makes a token. Firing it ends the calls that carry it with KLOG_ERR_CANCELLED, and no others: those that sleep wake, those
 * that work stop soon, and later ones end at once. What a call had done by then stays. A token is fired once; the next call
 * takes a new one.
 *
 * Thread class T0, cost class C1. out is required; err is nullable.
 */
KLOG_NODISCARD
klog_status klog_cancel_create(klog_cancel *out,
                               klog_error *err);

/**
 * Ends the calls that carry the token, those that run and those to come. Takes no lock, allocates nothing and leaves errno
 * as it is, so a signal handler may call it.
 *
 * Thread class T3; cost class C0, with a system call if a call sleeps.
 */
klog_status klog_cancel_fire(klog_cancel cancel);

/**
 * Ends a token's handle. Calls that carry it go on, and can no longer be ended by it.
 *
 * Thread class T0, cost class C1.
 */
klog_status klog_cancel_close(klog_cancel cancel);

/**
 * Waits until the end that opts->kind names lies above opts->offset, with opts->min_bytes of stored batches from there on; at
 * once if it does already. *offset is where that end is then.
 *
 * A reader waits for the offset that it would read next. One can also wait for an offset far ahead: the log need not have it
 * yet. The end may have moved on when the call returns, or have been cut back.
 *
 * KLOG_ERR_TIMED_OUT if it did not come in opts->timeout_ms: 0 only looks, -1 waits without limit. KLOG_ERR_CANCELLED once
 * opts->cancel was fired. KLOG_ERR_CLOSED once this handle, or the manager, is closed; KLOG_ERR_UNKNOWN_TOPIC_OR_PARTITION once
 * the log is deleted; KLOG_ERR_OFFSET_OUT_OF_RANGE if the log is cut meanwhile so that it ends below opts->offset, which lay in
 * it before: err->offset is the log end; KLOG_ERR_DIR_OFFLINE if the log's directory is out of use, so that nothing can come.
 * Of a read-only manager klog_manager_refresh lets what its owner did count.
 *
 * Thread class T0, cost class C4. opts is required; offset and err are nullable.
 */
KLOG_NODISCARD
klog_status klog_wait(klog_log log,
                      const klog_wait_options *opts,
                      int64_t *offset,
                      klog_error *err);

/**
 * Opens a waiter: logs are armed with it, and those that get ready are taken together. One does for thousands of logs.
 *
 * *fd is a descriptor of the waiter's, for poll, select, epoll or a loop that uses them; it is never to be read, written or
 * closed. It is readable while klog_waiter_poll has something to answer, entries or KLOG_ERR_CLOSED, also a timeout that has
 * passed. (It is an epoll descriptor with an eventfd and a timer in it.)
 *
 * Thread class T2, cost class C1. out is required, null on failure; fd and err are nullable. KLOG_ERR_NO_FILES without
 * descriptors left.
 */
KLOG_NODISCARD
klog_status klog_waiter_open(klog_manager manager,
                             klog_waiter *out,
                             int *fd,
                             klog_error *err);

/**
 * Arms the waiter for a log, once: when klog_wait with these options would answer, a poll gives an entry, with user_data. To
 * go on waiting arm it again. opts->timeout_ms counts from now: when it has passed the entry comes with KLOG_ERR_TIMED_OUT, so 0
 * is an entry at the next poll; -1 is no limit. A log may be armed several times, each gives an entry; it need not be of the
 * waiter's manager.
 *
 * Thread class T0, cost class C1. opts is required; opts->cancel must be null, since an entry waits for nobody: close the
 * waiter, or its log's handle; err is nullable.
 */
KLOG_NODISCARD
klog_status klog_waiter_arm(klog_waiter waiter,
                            klog_log log,
                            const klog_wait_options *opts,
                            uint64_t user_data,
                            klog_error *err);

/**
 * Takes entries of logs that are ready, those that got ready first, as many as fit, and waits for the first one up to
 * timeout_ms: 0 not at all, -1 without limit. An entry's status is KLOG_OK and its offset where the end is that was waited for;
 * or what klog_wait would have failed with, and the offset -1. It is armed no more. *count is how many were written.
 *
 * KLOG_ERR_TIMED_OUT if none was ready. KLOG_ERR_CLOSED once the waiter or the manager is closed, also for a call that waits.
 *
 * Thread class T0, cost class C4. buf is required unless cap is 0; count and err are nullable.
 */
KLOG_NODISCARD
klog_status klog_waiter_poll(klog_waiter waiter,
                             klog_ready *buf,
                             size_t cap,
                             size_t *count,
                             int64_t timeout_ms,
                             klog_error *err);

/**
 * Ends the waiter and its descriptor. What was armed is armed no more; calls that wait in it answer KLOG_ERR_CLOSED.
 *
 * Thread class T2, cost class C1.
 */
klog_status klog_waiter_close(klog_waiter waiter);

/**
 * What metric number index is. KLOG_ERR_END behind the last. The texts live as long as the process; new metrics come at the
 * end.
 *
 * Thread class T0, cost class C0. out is required; err is nullable.
 */
KLOG_NODISCARD
klog_status klog_metric_describe(uint32_t index,
                                 klog_metric *out,
                                 klog_error *err);

/**
 * The values of all metrics, in the order of klog_metric_describe; *count is how many there are. With a log those of this
 * log, of its topic, of its directory, or of the manager, whichever is the narrowest that there is. With a log of id 0 those
 * of the whole manager: numbers of logs and directories are added up, of RetentionSizeInPercent it is the largest.
 * KLOG_ERR_UNKNOWN_TOPIC_OR_PARTITION for a log of another manager, and for one that was deleted.
 *
 * Thread class T0, cost class C1. values is required unless cap is 0; count and err are nullable.
 */
KLOG_NODISCARD
klog_status klog_metrics_read(klog_manager manager,
                              klog_log only,
                              uint64_t *values,
                              size_t cap,
                              size_t *count,
                              klog_error *err);

/**
 * All metrics as text, for a scraper: format is KLOG_METRICS_OPENMETRICS. *needed is the length with its NUL. Logs come and
 * go: ask for the size and the text with some room in between.
 *
 * Thread class T0, cost class C1. buf may be null with cap 0; needed and err are nullable.
 */
KLOG_NODISCARD
klog_status klog_metrics_text(klog_manager manager,
                              uint32_t format,
                              char *buf,
                              size_t cap,
                              size_t *needed,
                              klog_error *err);

/**
 * How far the opening of a log directory is: for another thread while klog_manager_open runs, which may take minutes. dir is
 * the directory as it was given there. buf gets a line for each log that is being loaded: topic-partition TAB number of the
 * thread TAB segments left TAB bytes to be read TAB bytes read LF. Without a buffer only out is written.
 *
 * KLOG_ERR_END while no opening of this process has that directory: before it owns it, and once it is done.
 *
 * Thread class T0, cost class C1. dir and out are required; buf may be null with cap 0; needed and err are nullable.
 */
KLOG_NODISCARD
klog_status klog_manager_open_progress(const char *dir,
                                       size_t dir_len,
                                       klog_open_progress *out,
                                       char *buf,
                                       size_t cap,
                                       size_t *needed,
                                       klog_error *err);

/**
 * Opens a stream of events: mask is KLOG_EVENT_ bits, 0 for all; it holds up to capacity of them, 0 for 1024. When it is
 * full the newest are lost and counted, and nobody waits. The stream begins with what the open found, as in
 * klog_manager_report, and with the directories that are offline by now; so nothing of the open is missed.
 *
 * *fd is an eventfd of the stream's, to be waited on and never read or closed: it is readable while klog_events_poll has
 * something to answer, events or KLOG_ERR_CLOSED. Without an fd there is none.
 *
 * Thread class T2, cost class C1. out is required, null on failure; fd and err are nullable.
 */
KLOG_NODISCARD
klog_status klog_events_open(klog_manager manager,
                             uint64_t mask,
                             size_t capacity,
                             klog_events *out,
                             int *fd,
                             klog_error *err);

/**
 * Takes events out of the stream, the oldest first, as many as fit, and waits for the first one up to timeout_ms: 0 not at
 * all, -1 without limit. buf gets a line for each, and a NUL: kind TAB ms since 1970 TAB directory TAB topic-partition TAB
 * status TAB offset TAB count TAB bytes TAB text LF. A field without a value is "-"; tab, LF and backslash inside of one are
 * \t, \n, \\. *count is how many lines were written.
 *
 * KLOG_ERR_TIMED_OUT if none came, KLOG_ERR_CANCELLED once cancel was fired. KLOG_ERR_BUFFER_TOO_SMALL if the first one does not fit; it stays, and err->position says
 * how many bytes it needs. KLOG_ERR_CLOSED once the manager is closed, also for a call that waits.
 *
 * Thread class T0, cost class C4. buf is required; cancel may be null; count and err are nullable.
 */
KLOG_NODISCARD
klog_status klog_events_poll(klog_events events,
                             void *buf,
                             size_t cap,
                             size_t *count,
                             int64_t timeout_ms,
                             klog_cancel cancel,
                             klog_error *err);

/**
 * Ends the stream and its eventfd. Calls that wait in it answer KLOG_ERR_CLOSED.
 *
 * Thread class T2, cost class C1.
 */
klog_status klog_events_close(klog_events events);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* KLOG_H */
