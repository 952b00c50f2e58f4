//! The constants of klog.h. Plain literals: cbindgen copies them as they stand (c-abi.md 5.1.3).

/// The ABI number: the header of another number does not fit.
pub const KLOG_ABI: u32 = 0;

/// A config of broker keys and topic overrides, for klog_manager_open.
pub const KLOG_CONFIG_BROKER: u32 = 0;
/// A config of topic keys, for klog_log_open.
pub const KLOG_CONFIG_TOPIC: u32 = 1;

/// klog_manager_open: klog_manager_options.now_ms is the time; it stands still.
pub const KLOG_OPEN_MANUAL_CLOCK: u32 = 1;
/// klog_manager_open: klog_manager_options.broker_epoch goes into the clean-shutdown files.
pub const KLOG_OPEN_HAS_BROKER_EPOCH: u32 = 2;
/// klog_manager_open: make log directories that do not exist. Without it they are KLOG_ERR_LOG_DIR_NOT_FOUND.
pub const KLOG_OPEN_CREATE_DIRS: u32 = 4;
/// In klog_manager_options.flags: high watermarks come from replication-offset-checkpoint and are moved by the caller, with
/// klog_high_watermark_set. Without it they follow the log ends.
pub const KLOG_OPEN_HW_FROM_CHECKPOINT: u32 = 8;
/// klog_manager_open: the directories may be another process's, such as a live broker's. No lock is taken; nothing in them is
/// created, written, renamed, removed or synced, and they need not be writable. What loading would change (a torn end cut,
/// indexes and states made anew) is held in memory. Calls that would change a log are KLOG_ERR_READ_ONLY; klog_tick and
/// background threads have nothing to do. klog_manager_refresh takes in what the owner did since.
pub const KLOG_OPEN_READ_ONLY: u32 = 16;
/// klog_manager_options.flags: files are read, never mapped: for network file systems, and for data that another process may
/// cut. Touching a mapping behind the end of its file would end this process. Views are copies then.
pub const KLOG_OPEN_NO_MMAP: u32 = 32;

/// klog_manager_close: write nothing, as a crash would; the next open recovers.
pub const KLOG_CLOSE_ABANDON: u32 = 1;
/// klog_appender_close: drop what is not appended yet.
pub const KLOG_CLOSE_DISCARD: u32 = 2;

/// klog_log_open: make the log if there is none.
pub const KLOG_LOG_CREATE: u32 = 1;
/// klog_log_open: klog_log_options.topic_id counts.
pub const KLOG_LOG_HAS_TOPIC_ID: u32 = 2;
/// In klog_log_options.flags: the caller moves the log's high watermark, with klog_high_watermark_set.
pub const KLOG_LOG_MANUAL_HW: u32 = 4;

/// Flag of klog_retain and klog_clean: what would go is counted, nothing goes.
pub const KLOG_DRY_RUN: u32 = 1;
/// Flag of klog_clean: a new active segment begins first, so that all that is in the log can be cleaned. Needs a log.
pub const KLOG_CLEAN_ROLL: u32 = 2;
/// Flag of klog_clean: klog_clean_options.first_dirty_offset counts. Needs a log.
pub const KLOG_CLEAN_HAS_FIRST_DIRTY: u32 = 4;

/// Phase of a pass of the cleaner: none runs.
pub const KLOG_CLEAN_PHASE_IDLE: u32 = 0;
/// Phase: the dirty part is read to learn the last offset of each key.
pub const KLOG_CLEAN_PHASE_MAP: u32 = 1;
/// Phase: segments are written anew.
pub const KLOG_CLEAN_PHASE_COPY: u32 = 2;
/// Phase: new segments take the place of the old ones.
pub const KLOG_CLEAN_PHASE_SWAP: u32 = 3;

/// Append origin: a client; offsets are assigned.
pub const KLOG_ORIGIN_CLIENT: u32 = 0;
/// Append origin: a follower; offsets are kept.
pub const KLOG_ORIGIN_REPLICATION: u32 = 1;
/// Append origin: a transaction or group coordinator.
pub const KLOG_ORIGIN_COORDINATOR: u32 = 2;
/// Append origin: the leader of a Raft log.
pub const KLOG_ORIGIN_RAFT_LEADER: u32 = 3;

/// Durability: the operating system has it, as in Kafka. Survives a crash of the process.
pub const KLOG_DURABILITY_PAGE_CACHE: u32 = 0;
/// Durability: the disk has it. Survives a power cut.
pub const KLOG_DURABILITY_FSYNC: u32 = 1;

/// Compression: the topic's compression.type; "producer" there means none.
pub const KLOG_COMPRESSION_CONFIG: i32 = 0;
/// Compression: none. From here on 1 + Kafka's codec id.
pub const KLOG_COMPRESSION_NONE: i32 = 1;
/// Compression: gzip.
pub const KLOG_COMPRESSION_GZIP: i32 = 2;
/// Compression: snappy.
pub const KLOG_COMPRESSION_SNAPPY: i32 = 3;
/// Compression: lz4.
pub const KLOG_COMPRESSION_LZ4: i32 = 4;
/// Compression: zstd.
pub const KLOG_COMPRESSION_ZSTD: i32 = 5;

/// Append: producer_id, producer_epoch and base_sequence count.
pub const KLOG_APPEND_HAS_PRODUCER: u32 = 1;
/// Append: leader_epoch counts; without it the log's latest, 0 if it has none.
pub const KLOG_APPEND_HAS_EPOCH: u32 = 2;
/// Append: a leader epoch below the log's latest is taken, and later ones are forgotten, as Kafka's log does it.
pub const KLOG_APPEND_ANY_EPOCH: u32 = 4;
/// Append: expected_log_end counts.
pub const KLOG_APPEND_IF_LOG_END: u32 = 8;
/// In klog_append_options.flags, with KLOG_APPEND_HAS_PRODUCER: the records belong to the producer's transaction.
pub const KLOG_APPEND_TRANSACTIONAL: u32 = 16;
/// In klog_append_options.flags: markers among ready batches are of transaction version 2, whose epochs rise with each
/// transaction; without it of version 1.
pub const KLOG_APPEND_TXN_V2: u32 = 32;

/// Record: timestamp_ms counts. Set by reads. Without it an append takes the time it is.
pub const KLOG_RECORD_HAS_TIMESTAMP: u32 = 1;
/// Record: a control record. Set by reads; not for appends.
pub const KLOG_RECORD_CONTROL: u32 = 2;
/// Record: belongs to a transaction. Set by reads, ignored by appends.
pub const KLOG_RECORD_TRANSACTIONAL: u32 = 4;
/// Record: its timestamp is the time of the append. Set by reads, ignored by appends.
pub const KLOG_RECORD_LOG_APPEND_TIME: u32 = 8;

/// Isolation: everything that is in the log.
pub const KLOG_ISOLATION_LOG_END: u32 = 0;
/// Isolation: what is below the high watermark.
pub const KLOG_ISOLATION_HIGH_WATERMARK: u32 = 1;
/// Isolation: what is below the last stable offset.
pub const KLOG_ISOLATION_TXN_COMMITTED: u32 = 2;

/// Read: the first batch comes only if it fits max_bytes (Kafka's minOneMessage = false).
pub const KLOG_READ_NO_MIN_ONE: u32 = 1;
/// Cursor: control records are given too.
pub const KLOG_READ_CONTROL: u32 = 2;
/// In klog_read_options.flags: exactly the bytes that Kafka's log gives; max_bytes counts as it is, also 0, and cuts even
/// inside a batch. A smaller cap is KLOG_ERR_BUFFER_TOO_SMALL. Not for cursors.
pub const KLOG_READ_SLICE: u32 = 4;
/// Packed buffers tell of batches: in front of the first record that is given of a batch there is an entry of kind 2 with its
/// header; of formats 0 and 1 both its offsets are the one that is stored. klog_cursor_next_packed and klog_decode_packed; klog_cursor_next, whose records are not packed, gives none.
pub const KLOG_READ_BATCH_INFO: u32 = 8;
/// In klog_read_options.flags: leader_epoch is what the reader takes for the log's latest epoch. KLOG_ERR_FENCED_LEADER_EPOCH if
/// the log has a newer one, KLOG_ERR_UNKNOWN_LEADER_EPOCH if it does not know that one yet.
pub const KLOG_READ_HAS_EPOCH: u32 = 16;

/// klog_read_result.flags: the first batch is larger than max_bytes.
pub const KLOG_READF_FIRST_INCOMPLETE: u32 = 1;

/// klog_wait_options.kind: the log end; something was appended.
pub const KLOG_WAIT_LOG_END: u32 = 0;
/// klog_wait_options.kind: the high watermark; readers of committed data get on.
pub const KLOG_WAIT_HIGH_WATERMARK: u32 = 1;
/// klog_wait_options.kind: the last stable offset; readers of committed transactions get on.
pub const KLOG_WAIT_LAST_STABLE: u32 = 2;
/// klog_wait_options.kind: the recovery point; records below survive a power cut.
pub const KLOG_WAIT_DURABLE: u32 = 3;

/// klog_checkpoint: recovery points.
pub const KLOG_CHECKPOINT_RECOVERY_POINT: u32 = 1;
/// klog_checkpoint: log start offsets.
pub const KLOG_CHECKPOINT_LOG_START: u32 = 2;

/// klog_features: gzip is built in.
pub const KLOG_FEATURE_GZIP: u64 = 1;
/// klog_features: snappy is built in.
pub const KLOG_FEATURE_SNAPPY: u64 = 2;
/// klog_features: lz4 is built in.
pub const KLOG_FEATURE_LZ4: u64 = 4;
/// klog_features: zstd is built in.
pub const KLOG_FEATURE_ZSTD: u64 = 8;
/// klog_features: indexes are mapped into memory.
pub const KLOG_FEATURE_MMAP: u64 = 16;

/// Of klog_metric.type: it rises and falls.
pub const KLOG_METRIC_GAUGE: u32 = 0;
/// Of klog_metric.type: it only rises, from the opening of its manager, log or topic on: Kafka's meter.
pub const KLOG_METRIC_COUNTER: u32 = 1;
/// Of klog_metric.type: how often, of Kafka's timer; it only rises.
pub const KLOG_METRIC_TIMER_COUNT: u32 = 2;
/// Of klog_metric.type: how long all of them took together, of Kafka's timer; it only rises.
pub const KLOG_METRIC_TIMER_SUM: u32 = 3;

/// Format of klog_metrics_text: OpenMetrics, version 1.0.0.
pub const KLOG_METRICS_OPENMETRICS: u32 = 0;

/// Kind of event, "lost": the stream was full, count events are missing here. Comes whatever the mask is.
pub const KLOG_EVENT_LOST: u64 = 1;
/// Kind of event, "recovered": bytes not known to be good were read again by the open; some may have been cut off.
pub const KLOG_EVENT_RECOVERED: u64 = 2;
/// Kind of event, "repaired": a derived file was missing or wrong and was made anew, or a small file was replaced.
pub const KLOG_EVENT_REPAIRED: u64 = 4;
/// Kind of event, "ignored": something that is not Kafka's was found and left alone.
pub const KLOG_EVENT_IGNORED: u64 = 8;
/// Kind of event, "config": a configuration key was not used, or not as it was written.
pub const KLOG_EVENT_CONFIG: u64 = 16;
/// Kind of event, "load-failed": a log could not be opened.
pub const KLOG_EVENT_LOAD_FAILED: u64 = 32;
/// Kind of event, "dir-offline": a log directory went out of use, with its logs.
pub const KLOG_EVENT_DIR_OFFLINE: u64 = 64;
/// Kind of event, "log-created": a log was made.
pub const KLOG_EVENT_LOG_CREATED: u64 = 128;
/// Kind of event, "log-deleted": a log was deleted.
pub const KLOG_EVENT_LOG_DELETED: u64 = 256;
/// Kind of event, "rolled": a segment began at offset.
pub const KLOG_EVENT_ROLLED: u64 = 512;
/// Kind of event, "segments-deleted": retention took count segments with bytes; the log starts at offset.
pub const KLOG_EVENT_SEGMENTS_DELETED: u64 = 1024;
/// Kind of event, "truncated": a log was cut, and ends at offset.
pub const KLOG_EVENT_TRUNCATED: u64 = 2048;
/// Kind of event, "cleaned": a log was cleaned.
pub const KLOG_EVENT_CLEANED: u64 = 4096;
/// Kind of event, "moved": a log was moved to another directory.
pub const KLOG_EVENT_MOVED: u64 = 8192;
/// Kind of event, "task-failed": a task of klog_tick, or of the thread in the background, failed; the text begins with its
/// name.
pub const KLOG_EVENT_TASK_FAILED: u64 = 16384;

/// klog_error.flags: the same call may succeed later.
pub const KLOG_ERRF_RETRIABLE: u32 = 1;
/// klog_error.flags: close the manager.
pub const KLOG_ERRF_FATAL: u32 = 2;
/// klog_error.flags: the log's directory went offline.
pub const KLOG_ERRF_DIR_OFFLINE: u32 = 4;
/// klog_error.flags: the API was used wrongly.
pub const KLOG_ERRF_CALLER_BUG: u32 = 8;
/// klog_error.flags: the message is longer than its field.
pub const KLOG_ERRF_MESSAGE_CUT: u32 = 16;
/// klog_error.flags: the path is longer than its field.
pub const KLOG_ERRF_PATH_CUT: u32 = 32;

// The statuses. Names equal Kafka's wherever Kafka has the error.
/// Done.
pub const KLOG_OK: i32 = 0;
/// A required pointer argument of the C ABI was null.
pub const KLOG_ERR_NULL_ARGUMENT: i32 = 1;
/// An argument is outside what the operation accepts.
pub const KLOG_ERR_INVALID_ARGUMENT: i32 = 2;
/// The `struct_size` of a C struct does not fit this library.
pub const KLOG_ERR_STRUCT_SIZE: i32 = 3;
/// The header the caller was compiled with does not fit this library.
pub const KLOG_ERR_ABI: i32 = 4;
/// Known, but not supported here.
pub const KLOG_ERR_UNSUPPORTED: i32 = 5;
/// A C handle is null.
pub const KLOG_ERR_NULL_HANDLE: i32 = 10;
/// A C handle names an object of another kind.
pub const KLOG_ERR_WRONG_KIND: i32 = 11;
/// A C handle names an object that was closed.
pub const KLOG_ERR_STALE_HANDLE: i32 = 12;
/// The call was made in a forked child.
pub const KLOG_ERR_FORKED: i32 = 13;
/// The object or its parent is closed or closing.
pub const KLOG_ERR_CLOSED: i32 = 14;
/// A second call ran at the same time on a handle that takes one at a time.
pub const KLOG_ERR_BUSY: i32 = 15;
/// Called from inside a callback of the same handle.
pub const KLOG_ERR_REENTRANT: i32 = 16;
/// The manager was opened for looking only.
pub const KLOG_ERR_READ_ONLY: i32 = 17;
/// The timeout passed.
pub const KLOG_ERR_TIMED_OUT: i32 = 20;
/// The caller's cancel token fired.
pub const KLOG_ERR_CANCELLED: i32 = 21;
/// Nothing to do without waiting.
pub const KLOG_ERR_WOULD_BLOCK: i32 = 22;
/// A bounded queue is full.
pub const KLOG_ERR_QUEUE_FULL: i32 = 23;
/// Nothing left; not a failure.
pub const KLOG_ERR_END: i32 = 24;
/// The caller's buffer is too small; not a failure.
pub const KLOG_ERR_BUFFER_TOO_SMALL: i32 = 25;
/// Below the log start offset or above the log end offset.
pub const KLOG_ERR_OFFSET_OUT_OF_RANGE: i32 = 30;
/// A checksum, size or magic byte is wrong.
pub const KLOG_ERR_CORRUPT_MESSAGE: i32 = 31;
/// A record or batch breaks a rule of its format or of the log.
pub const KLOG_ERR_INVALID_RECORD: i32 = 32;
/// A timestamp is outside the bounds that the topic allows.
pub const KLOG_ERR_INVALID_TIMESTAMP: i32 = 33;
/// A batch is larger than `max.message.bytes`.
pub const KLOG_ERR_MESSAGE_TOO_LARGE: i32 = 34;
/// An append is larger than a segment.
pub const KLOG_ERR_RECORD_LIST_TOO_LARGE: i32 = 35;
/// A length above 2^31 - 1.
pub const KLOG_ERR_TOO_LARGE: i32 = 36;
/// Message format 0 or 1 where 2 is required.
pub const KLOG_ERR_UNSUPPORTED_FOR_MESSAGE_FORMAT: i32 = 37;
/// The compression codec is unknown or not allowed here.
pub const KLOG_ERR_UNSUPPORTED_COMPRESSION_TYPE: i32 = 38;
/// The offsets of a follower append do not increase.
pub const KLOG_ERR_OFFSETS_OUT_OF_ORDER: i32 = 39;
/// A follower append starts below the log end offset.
pub const KLOG_ERR_UNEXPECTED_APPEND_OFFSET: i32 = 40;
/// An offset does not fit a segment's 31-bit relative range.
pub const KLOG_ERR_SEGMENT_OVERFLOW: i32 = 41;
/// A producer's sequence number does not follow its last one.
pub const KLOG_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER: i32 = 42;
/// Reserved: Kafka 4.4.0's storage never raises it.
pub const KLOG_ERR_DUPLICATE_SEQUENCE_NUMBER: i32 = 43;
/// A producer epoch below the current one.
pub const KLOG_ERR_INVALID_PRODUCER_EPOCH: i32 = 44;
/// Reserved: Kafka 4.4.0's storage never raises it.
pub const KLOG_ERR_PRODUCER_FENCED: i32 = 45;
/// Reserved: Kafka 4.4.0's storage never raises it.
pub const KLOG_ERR_UNKNOWN_PRODUCER_ID: i32 = 46;
/// The producer's transaction is in a state that does not allow this.
pub const KLOG_ERR_INVALID_TXN_STATE: i32 = 47;
/// A transaction marker of an older coordinator.
pub const KLOG_ERR_TRANSACTION_COORDINATOR_FENCED: i32 = 48;
/// The log end is not the one that the caller expected.
pub const KLOG_ERR_LOG_END_MISMATCH: i32 = 49;
/// A leader epoch below the log's latest.
pub const KLOG_ERR_FENCED_LEADER_EPOCH: i32 = 50;
/// A leader epoch above the log's latest.
pub const KLOG_ERR_UNKNOWN_LEADER_EPOCH: i32 = 51;
/// No such log, or it was deleted.
pub const KLOG_ERR_UNKNOWN_TOPIC_OR_PARTITION: i32 = 52;
/// A topic name outside `[a-zA-Z0-9._-]{1,249}`, or `.` or `..`.
pub const KLOG_ERR_INVALID_TOPIC_EXCEPTION: i32 = 53;
/// A negative partition number.
pub const KLOG_ERR_INVALID_PARTITIONS: i32 = 54;
/// The log has another topic id.
pub const KLOG_ERR_INCONSISTENT_TOPIC_ID: i32 = 55;
/// A configuration value that Kafka or klog refuses.
pub const KLOG_ERR_INVALID_CONFIG: i32 = 56;
/// A configuration key that neither Kafka nor klog knows.
pub const KLOG_ERR_UNKNOWN_CONFIG: i32 = 57;
/// One partition was found in two directories.
pub const KLOG_ERR_DUPLICATE_LOG: i32 = 58;
/// The offset lives in remote storage only.
pub const KLOG_ERR_OFFSET_MOVED_TO_TIERED_STORAGE: i32 = 59;
/// An I/O error.
pub const KLOG_ERR_KAFKA_STORAGE_ERROR: i32 = 60;
/// The disk or quota is full.
pub const KLOG_ERR_NO_SPACE: i32 = 61;
/// An earlier I/O error took the log directory offline.
pub const KLOG_ERR_DIR_OFFLINE: i32 = 62;
/// Another process or manager owns the directory.
pub const KLOG_ERR_DIR_LOCKED: i32 = 63;
/// A log directory that was named does not exist or is not one.
pub const KLOG_ERR_LOG_DIR_NOT_FOUND: i32 = 64;
/// The process or system has no file descriptor left.
pub const KLOG_ERR_NO_FILES: i32 = 65;
/// An index is damaged and could not be rebuilt.
pub const KLOG_ERR_CORRUPT_INDEX: i32 = 66;
/// A checkpoint, snapshot or metadata file is malformed.
pub const KLOG_ERR_CORRUPT_STATE: i32 = 67;
/// A cleaning pass was aborted.
pub const KLOG_ERR_CLEAN_ABORTED: i32 = 70;
/// Cleaning of the log is paused.
pub const KLOG_ERR_CLEAN_PAUSED: i32 = 71;
/// Memory could not be reserved.
pub const KLOG_ERR_NO_MEMORY: i32 = 80;
/// A limit on pins, handles or queues was reached.
pub const KLOG_ERR_LIMIT: i32 = 81;
/// A defect of klog: a panic was caught.
pub const KLOG_ERR_PANIC: i32 = 90;
/// An earlier panic poisoned the manager.
pub const KLOG_ERR_POISONED: i32 = 91;
/// A defect of klog.
pub const KLOG_ERR_BUG: i32 = 92;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn every_status_has_a_constant_of_its_number() {
        let text = include_str!("constants.rs");
        assert_eq!(KLOG_OK, 0);
        for kind in ErrorKind::ALL {
            let line = format!("pub const {}: i32 = {};", kind.name(), kind.status());
            assert!(text.contains(&line), "{line}");
        }
    }
}
