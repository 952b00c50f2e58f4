//! The structs of klog.h. Layouts are fixed (c-abi.md 1.5, 3.1): fields are added only in place of `reserved` or at the
//! end, and never to structs that travel in arrays.

use std::ffi::{c_char, c_void};

/// The answer of a function: KLOG_OK or a KLOG_ERR_ constant.
pub type klog_status = i32;

/// A configuration. A handle: copied freely, 0 is null, of no meaning after its close.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct klog_config {
    /// Not for the caller to interpret.
    pub id: u64,
}

/// Log directories that are open. A handle.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct klog_manager {
    /// Not for the caller to interpret.
    pub id: u64,
}

/// A log of a manager. A handle.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct klog_log {
    /// Not for the caller to interpret.
    pub id: u64,
}

/// A place in a log from which records are read. A handle.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct klog_cursor {
    /// Not for the caller to interpret.
    pub id: u64,
}

/// A token that ends long calls (klog_cancel_create). A handle.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct klog_cancel {
    /// Not for the caller to interpret.
    pub id: u64,
}

/// A stream of what happens in a manager. A handle.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct klog_events {
    /// Not for the caller to interpret.
    pub id: u64,
}

/// Stored batches that stay as they are. A handle.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct klog_view {
    /// Not for the caller to interpret.
    pub id: u64,
}

/// Logs that are waited for together. A handle.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct klog_waiter {
    /// Not for the caller to interpret.
    pub id: u64,
}

/// An accumulator of small appends to one log. A handle.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct klog_appender {
    /// Not for the caller to interpret.
    pub id: u64,
}

/// What went wrong. The caller's own: set struct_size to sizeof(klog_error), give its address, read it if the call did
/// not answer KLOG_OK (else it is untouched). Holds no pointer and needs no freeing.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct klog_error {
    /// In: how large the caller's struct is. At least 64, a multiple of 8.
    pub struct_size: u32,
    /// The status, as the call answered it.
    pub status: klog_status,
    /// What Kafka 4.4.0 answers a client for the same failure; 0 where it has no counterpart.
    pub kafka_code: i32,
    /// The operating system's error number, 0 without one.
    pub os_errno: i32,
    /// KLOG_ERRF_ bits.
    pub flags: u32,
    /// Partition concerned, -1 if none.
    pub partition: i32,
    /// Record offset concerned, -1 if none.
    pub offset: i64,
    /// Byte position concerned, in a file or buffer; -1 if none.
    pub position: i64,
    /// Index of the record in the input, or line of a text; -1 if none.
    pub record_index: i32,
    /// Bytes of message, without its NUL.
    pub message_len: u32,
    /// Bytes of path, without its NUL.
    pub path_len: u32,
    /// 0.
    pub reserved0: u32,
    /// 0.
    pub reserved1: u64,
    /// One sentence in English, NUL-terminated UTF-8.
    pub message: [c_char; 448],
    /// File or directory concerned, raw bytes, NUL-terminated; empty if none.
    pub path: [c_char; 512],
}

/// One header of a record.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct klog_header {
    /// Its name: UTF-8, may be empty, not null unless key_len is 0.
    pub key: *const c_char,
    /// Bytes of its name.
    pub key_len: u64,
    /// Its value; null is a null value.
    pub value: *const c_void,
    /// Bytes of its value.
    pub value_len: u64,
}

/// A record. Null key: no key. Null value: a tombstone. Length 0 behind a non-null pointer: empty.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct klog_record {
    /// The key.
    pub key: *const c_void,
    /// Bytes of the key.
    pub key_len: u64,
    /// The value.
    pub value: *const c_void,
    /// Bytes of the value.
    pub value_len: u64,
    /// The headers, in order.
    pub headers: *const klog_header,
    /// How many headers.
    pub header_count: u64,
    /// Its place in the log. Set by reads, ignored by appends.
    pub offset: i64,
    /// Its time; counts with KLOG_RECORD_HAS_TIMESTAMP, else it must be 0 or KLOG_TIMESTAMP_NOW.
    pub timestamp_ms: i64,
    /// Leader epoch of its batch, -1 for none. Set by reads, ignored by appends.
    pub leader_epoch: i32,
    /// Its sequence number, -1 for none. Set by reads, ignored by appends.
    pub sequence: i32,
    /// KLOG_RECORD_ bits.
    pub flags: u32,
    /// 0.
    pub reserved: u32,
}

/// How to open a manager. Zero is the default of every field but struct_size, dirs and dir_count.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct klog_manager_options {
    /// sizeof(klog_manager_options).
    pub struct_size: u32,
    /// KLOG_OPEN_ bits.
    pub flags: u32,
    /// The log directories, NUL-terminated paths. With dir_count 0 those of log.dirs in config.
    pub dirs: *const *const c_char,
    /// How many.
    pub dir_count: u64,
    /// A broker config; null is all defaults. It is copied.
    pub config: klog_config,
    /// 0: the program calls klog_tick. Else a thread of the library does that, until the manager is closed.
    pub background_threads: u32,
    /// Threads that load and close logs, for each directory; 0 is num.recovery.threads.per.data.dir.
    pub recovery_threads: u32,
    /// The time with KLOG_OPEN_MANUAL_CLOCK.
    pub now_ms: i64,
    /// With KLOG_OPEN_HAS_BROKER_EPOCH.
    pub broker_epoch: i64,
    /// 0.
    pub reserved: [u64; 5],
}

/// A manager at a glance.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct klog_manager_info {
    /// In: sizeof(klog_manager_info).
    pub struct_size: u32,
    /// 0.
    pub flags: u32,
    /// Logs that are open.
    pub logs: u64,
    /// Segments that were recovered by the open.
    pub segments_recovered: u64,
    /// Bytes that recovery cut off.
    pub bytes_truncated: u64,
    /// Segments whose indexes were made anew.
    pub indexes_rebuilt: u64,
    /// Directories that work.
    pub dirs_online: u32,
    /// Directories that do not.
    pub dirs_offline: u32,
    /// Handles of this process that are open, of every kind.
    pub open_handles: u64,
    /// Bytes that the views of this manager's logs hold.
    pub pinned_bytes: u64,
    /// 0.
    pub reserved: [u64; 8],
}

/// How to open a log.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct klog_log_options {
    /// sizeof(klog_log_options).
    pub struct_size: u32,
    /// KLOG_LOG_ bits.
    pub flags: u32,
    /// The topic's id with KLOG_LOG_HAS_TOPIC_ID.
    pub topic_id: [u8; 16],
    /// A topic config that replaces the topic's overrides; null leaves them. It is copied.
    pub config: klog_config,
    /// The directory to make the log in; null is the one with the fewest logs.
    pub dir: *const c_char,
    /// Bytes of dir, or KLOG_NTS.
    pub dir_len: u64,
    /// 0.
    pub reserved: [u64; 4],
}

/// A log at a glance, at one moment.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct klog_log_info {
    /// In: sizeof(klog_log_info).
    pub struct_size: u32,
    /// KLOG_LOG_HAS_TOPIC_ID if topic_id counts.
    pub flags: u32,
    /// The partition.
    pub partition: i32,
    /// The latest leader epoch, -1 for none.
    pub latest_epoch: i32,
    /// The topic's id.
    pub topic_id: [u8; 16],
    /// The first offset that can be read.
    pub log_start_offset: i64,
    /// Readers of committed data stop here: the log end.
    pub high_watermark: i64,
    /// Readers of committed transactions stop here.
    pub last_stable_offset: i64,
    /// The next offset to be assigned.
    pub log_end_offset: i64,
    /// Below this everything was flushed.
    pub recovery_point: i64,
    /// Where the dirty part of the log begins, as far as compaction came; -1 if it never came, or another process owns it.
    pub first_dirty_offset: i64,
    /// How many segments.
    pub segments: u64,
    /// Bytes of all .log files.
    pub bytes: u64,
    /// How many producers are known.
    pub producers: u64,
    /// 0.
    pub reserved: [u64; 8],
}

/// Why one record of an append was refused.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct klog_record_error {
    /// Its index.
    pub record_index: i32,
    /// Kafka's code.
    pub kafka_code: i32,
}

/// How to append. Zero is the default of every field but struct_size.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct klog_append_options {
    /// sizeof(klog_append_options).
    pub struct_size: u32,
    /// KLOG_APPEND_ bits.
    pub flags: u32,
    /// 0.
    pub reserved0: u32,
    /// KLOG_ORIGIN_ constant.
    pub origin: u32,
    /// With KLOG_APPEND_HAS_EPOCH.
    pub leader_epoch: i32,
    /// KLOG_COMPRESSION_ constant. Ready batches keep their own.
    pub compression: i32,
    /// Kafka's level of that codec; 0 is its default, or the topic's with KLOG_COMPRESSION_CONFIG.
    pub compression_level: i32,
    /// With KLOG_APPEND_HAS_PRODUCER.
    pub base_sequence: i32,
    /// With KLOG_APPEND_HAS_PRODUCER.
    pub producer_id: i64,
    /// With KLOG_APPEND_HAS_PRODUCER.
    pub producer_epoch: i32,
    /// KLOG_DURABILITY_ constant.
    pub durability: u32,
    /// Where to write why records were refused; may be null.
    pub record_errors: *mut klog_record_error,
    /// Room in record_errors.
    pub record_errors_cap: u64,
    /// With KLOG_APPEND_IF_LOG_END.
    pub expected_log_end: i64,
    /// 0.
    pub reserved: [u64; 5],
}

/// What an append did.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct klog_append_result {
    /// In: sizeof(klog_append_result).
    pub struct_size: u32,
    /// 0.
    pub flags: u32,
    /// First offset assigned, -1 if nothing was appended.
    pub first_offset: i64,
    /// Last offset assigned, -1 if nothing was appended.
    pub last_offset: i64,
    /// The first offset that can be read.
    pub log_start_offset: i64,
    /// The time of the append if the topic's timestamps are that, else -1.
    pub log_append_time_ms: i64,
    /// The largest timestamp, -1 for none.
    pub max_timestamp: i64,
    /// Bytes written.
    pub bytes_appended: u64,
    /// How many records.
    pub records: u32,
    /// How many entries of record_errors were written.
    pub record_error_count: u32,
    /// 1: the high watermark rose with the append; 0: it stayed.
    pub hw_change: i32,
    /// 0.
    pub reserved0: u32,
    /// 0.
    pub reserved: [u64; 4],
}

/// How to read. Zero is the default of every field but struct_size.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct klog_read_options {
    /// sizeof(klog_read_options).
    pub struct_size: u32,
    /// KLOG_READ_ bits.
    pub flags: u32,
    /// 0.
    pub reserved0: u32,
    /// KLOG_ISOLATION_ constant.
    pub isolation: u32,
    /// At most so many bytes; 0 is what the buffer holds, and for a cursor how much it reads at a time (256 KiB).
    pub max_bytes: u64,
    /// At most so many records a call of a cursor; 0 is no limit.
    pub max_records: u32,
    /// Not used yet; 0.
    pub leader_epoch: i32,
    /// With timeout_ms: wait until so many bytes can be read; 0 is one.
    pub min_bytes: u64,
    /// How long to wait if there is less: 0 not at all, -1 without limit.
    pub timeout_ms: i64,
    /// What ends the waiting, and the call; null is nothing.
    pub cancel: klog_cancel,
    /// 0.
    pub reserved: [u64; 6],
}

/// What a read gave.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct klog_read_result {
    /// In: sizeof(klog_read_result).
    pub struct_size: u32,
    /// KLOG_READF_ bits.
    pub flags: u32,
    /// Bytes in the buffer.
    pub bytes: u64,
    /// With KLOG_ERR_BUFFER_TOO_SMALL: the bytes that the buffer must hold.
    pub bytes_needed: u64,
    /// How many records (cursor).
    pub records: u32,
    /// How many batches (klog_read).
    pub batches: u32,
    /// First offset of what was given; may be below the one asked for (klog_read).
    pub first_offset: i64,
    /// Where the next read goes on.
    pub next_offset: i64,
    /// The first offset that can be read.
    pub log_start_offset: i64,
    /// As in klog_log_info.
    pub high_watermark: i64,
    /// As in klog_log_info.
    pub last_stable_offset: i64,
    /// The next offset to be assigned.
    pub log_end_offset: i64,
    /// 0.
    pub aborted_txns: u32,
    /// 0.
    pub reserved0: u32,
    /// Base offset of the segment that the first byte lies in, -1 without bytes (klog_read).
    pub segment_base_offset: i64,
    /// Where the first byte lies in it (klog_read).
    pub position: u64,
    /// -1.
    pub aborted_upto: i64,
    /// 0.
    pub reserved: [u64; 3],
}

/// What a view holds: the same bytes as memory and as a region of a file.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct klog_view_info {
    /// In: sizeof(klog_view_info).
    pub struct_size: u32,
    /// KLOG_READF_ bits.
    pub flags: u32,
    /// The batches, for reading, until klog_view_close. Null if there are none.
    pub data: *const c_void,
    /// How many bytes.
    pub len: u64,
    /// First offset of the first batch; may be below the one asked for. That one if there is no whole batch.
    pub first_offset: i64,
    /// Where the next read goes on.
    pub next_offset: i64,
    /// Base offset of the segment that the bytes lie in, -1 if there was nothing to read.
    pub segment_base_offset: i64,
    /// Where the bytes begin in the segment file, for sendfile.
    pub position: u64,
    /// The segment file, open for reading at least; -1 without bytes. The view's: not to be closed, nor written.
    pub fd: i32,
    /// 0.
    pub reserved0: u32,
    /// 0.
    pub reserved: [u64; 3],
}

/// What to wait for. Zero is the default of every field but struct_size.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct klog_wait_options {
    /// sizeof(klog_wait_options).
    pub struct_size: u32,
    /// KLOG_WAIT_ constant: which end of the log.
    pub kind: u32,
    /// The end has to lie above this offset: the record at it is there then.
    pub offset: i64,
    /// Bytes of stored batches that have to lie between the offset and the end; 0 is any.
    pub min_bytes: u64,
    /// How long to wait: 0 not at all, -1 without limit.
    pub timeout_ms: i64,
    /// What ends the waiting; null is nothing.
    pub cancel: klog_cancel,
    /// 0.
    pub reserved: [u64; 2],
}

/// A log that a waiter found ready.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct klog_ready {
    /// The handle that was armed.
    pub log: klog_log,
    /// What was given with it.
    pub user_data: u64,
    /// Where the end is that was waited for; -1 unless status is KLOG_OK.
    pub offset: i64,
    /// KLOG_WAIT_ constant.
    pub kind: u32,
    /// KLOG_OK, or why the wait ended without it.
    pub status: klog_status,
}

/// One append of klog_append_many: log, records and count go in, the rest comes out.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct klog_append_item {
    /// Where to append.
    pub log: klog_log,
    /// The records of one batch.
    pub records: *const klog_record,
    /// How many records.
    pub count: u64,
    /// Out: first offset assigned, -1 if nothing was appended.
    pub first_offset: i64,
    /// Out: last offset assigned, -1 if nothing was appended.
    pub last_offset: i64,
    /// Out: the time of the append if the topic's timestamps are that, else -1.
    pub log_append_time_ms: i64,
    /// Out: KLOG_OK, or why this one was not appended.
    pub status: klog_status,
    /// Out: Kafka's code for that, 0 for none.
    pub kafka_code: i32,
    /// 0.
    pub reserved: u64,
}

/// One append of klog_append_many_packed: log, packed and len go in, the rest comes out.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct klog_packed_item {
    /// Where to append.
    pub log: klog_log,
    /// A packed buffer with the records of one batch.
    pub packed: *const c_void,
    /// Its bytes.
    pub len: u64,
    /// Out: first offset assigned, -1 if nothing was appended.
    pub first_offset: i64,
    /// Out: last offset assigned, -1 if nothing was appended.
    pub last_offset: i64,
    /// Out: the time of the append if the topic's timestamps are that, else -1.
    pub log_append_time_ms: i64,
    /// Out: KLOG_OK, or why this one was not appended.
    pub status: klog_status,
    /// Out: Kafka's code for that, 0 for none.
    pub kafka_code: i32,
    /// 0.
    pub reserved: u64,
}

/// How an appender works. Zero is the default of every field but struct_size.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct klog_appender_options {
    /// sizeof(klog_appender_options).
    pub struct_size: u32,
    /// 0.
    pub flags: u32,
    /// How its batches are appended; null is the defaults. It is copied. Without KLOG_APPEND_IF_LOG_END and record_errors, of
    /// origin KLOG_ORIGIN_CLIENT.
    pub append: *const klog_append_options,
    /// A batch is closed when it holds so many bytes, uncompressed; 0 is 65536. max.message.bytes of the topic bounds it too.
    pub batch_bytes: u64,
    /// Adds wait when so many bytes are not appended yet; 0 is 16777216.
    pub queue_bytes: u64,
    /// How long a batch that is not full waits for more records; 0 is not at all.
    pub linger_us: i64,
    /// 0.
    pub reserved: [u64; 6],
}

/// A record found by its time.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct klog_timestamp_offset {
    /// In: sizeof(klog_timestamp_offset).
    pub struct_size: u32,
    /// 0.
    pub flags: u32,
    /// Its time; -1 for the ends of the log.
    pub timestamp_ms: i64,
    /// Its offset; -1: no record qualifies.
    pub offset: i64,
    /// Leader epoch of its batch, -1 for none.
    pub leader_epoch: i32,
    /// 0.
    pub reserved0: u32,
}

/// Where a leader epoch ends.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct klog_epoch_offset {
    /// In: sizeof(klog_epoch_offset).
    pub struct_size: u32,
    /// The epoch that the answer is for: the one asked for, or the highest below it that the log has; -1 if the log cannot
    /// know the epoch.
    pub leader_epoch: i32,
    /// The offset behind its last record; -1 if the log cannot know the epoch.
    pub end_offset: i64,
}

/// A transaction that was aborted.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct klog_aborted_txn {
    /// Whose it was.
    pub producer_id: i64,
    /// Its first offset.
    pub first_offset: i64,
    /// The offset of its marker.
    pub last_offset: i64,
    /// The last stable offset when it ended: all transactions that began below had ended then.
    pub last_stable_offset: i64,
}

/// What retention took.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct klog_retain_result {
    /// In: sizeof(klog_retain_result).
    pub struct_size: u32,
    /// 0.
    pub flags: u32,
    /// Segments that are gone, or would be.
    pub segments_deleted: u64,
    /// Bytes of their records.
    pub bytes_deleted: u64,
    /// Where the log starts now, or would; -1 for a pass over all logs.
    pub log_start_offset: i64,
    /// 0.
    pub reserved: [u64; 4],
}

/// What a tick did.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct klog_tick_result {
    /// In: sizeof(klog_tick_result).
    pub struct_size: u32,
    /// How many tasks were run.
    pub tasks_run: u32,
    /// When the next one is due, in ms since 1970.
    pub next_due_ms: i64,
    /// 0.
    pub reserved: [u64; 2],
}

/// How logs are cleaned. All zero is as the configuration says.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct klog_clean_options {
    /// In: sizeof(klog_clean_options).
    pub struct_size: u32,
    /// KLOG_DRY_RUN, KLOG_CLEAN_ROLL, KLOG_CLEAN_HAS_FIRST_DIRTY.
    pub flags: u32,
    /// Without a log: only those of which a larger share is dirty; 0 is each log's min.cleanable.dirty.ratio.
    pub min_dirty_ratio: f64,
    /// Memory of the map from key to offset, 24 bytes a slot; 0 is log.cleaner.dedupe.buffer.size / log.cleaner.threads.
    pub map_bytes: u64,
    /// Bytes a second that are read and written at most; 0 is log.cleaner.io.max.bytes.per.second.
    pub io_bytes_per_second: u64,
    /// Without a log: passes at most; 0 is as many as there is something to clean.
    pub max_logs: u32,
    /// 0.
    pub reserved0: u32,
    /// How long this may take, in ms; 0 is as long as it takes.
    pub timeout_ms: i64,
    /// Ends the call when it is fired; may be null.
    pub cancel: klog_cancel,
    /// Where the dirty part of the log begins, with KLOG_CLEAN_HAS_FIRST_DIRTY; else where its checkpoint says.
    pub first_dirty_offset: i64,
    /// 0.
    pub reserved: [u64; 3],
}

/// What cleaning did, or would do: the sums over all passes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct klog_clean_result {
    /// In: sizeof(klog_clean_result).
    pub struct_size: u32,
    /// 0.
    pub flags: u32,
    /// Passes that were made.
    pub logs_cleaned: u64,
    /// Bytes of all batches that were looked at.
    pub bytes_read: u64,
    /// Bytes of the batches in their place.
    pub bytes_written: u64,
    /// Records that were looked at.
    pub records_read: u64,
    /// Records that stay.
    pub records_kept: u64,
    /// Records whose key has a later one.
    pub dropped_superseded: u64,
    /// Tombstones past their time.
    pub dropped_tombstones: u64,
    /// Records without a key.
    pub dropped_no_key: u64,
    /// Records of aborted transactions.
    pub dropped_aborted: u64,
    /// Markers of transactions of which nothing is left.
    pub dropped_markers: u64,
    /// Slots of the largest map from key to offset.
    pub map_slots: u64,
    /// Slots that were taken in it.
    pub map_slots_used: u64,
    /// How long it took.
    pub elapsed_ms: u64,
    /// How much of that it was held up so that it kept below a rate.
    pub throttled_ms: u64,
    /// Where the dirty part of the log begins now; -1 without a log, or if there was nothing to clean.
    pub first_dirty_offset: i64,
    /// 0.
    pub reserved: [u64; 4],
}

/// How far a pass of the cleaner is.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct klog_clean_progress {
    /// In: sizeof(klog_clean_progress).
    pub struct_size: u32,
    /// 0.
    pub flags: u32,
    /// KLOG_CLEAN_PHASE_.
    pub phase: u32,
    /// 0.
    pub reserved0: u32,
    /// Bytes read in this phase.
    pub bytes_done: u64,
    /// Bytes to read in this phase.
    pub bytes_total: u64,
    /// Where the dirty part began; -1 if no pass runs.
    pub first_dirty_offset: i64,
    /// Up to where the log is cleaned; -1 if no pass runs.
    pub end_offset: i64,
    /// When the pass began, in ms since 1970; -1 if none runs.
    pub started_ms: i64,
    /// 0.
    pub reserved: [u64; 3],
}

/// A metric, as klog_metric_describe tells of it. Its texts are static.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct klog_metric {
    /// In: sizeof(klog_metric).
    pub struct_size: u32,
    /// KLOG_METRIC_ constant.
    pub r#type: u32,
    /// Kafka's name: that of the MBean, without its tags.
    pub name: *const c_char,
    /// Its unit; empty for a plain number.
    pub unit: *const c_char,
    /// What it says, in a sentence.
    pub help: *const c_char,
}

/// How far the opening of a log directory is.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct klog_open_progress {
    /// In: sizeof(klog_open_progress).
    pub struct_size: u32,
    /// 0.
    pub flags: u32,
    /// Logs that were found in it; 0 until it was looked at.
    pub logs_total: u64,
    /// Those that are not loaded yet.
    pub logs_left: u64,
    /// Segments to be read again of the logs that are being loaded.
    pub segments_left: u64,
    /// Bytes to be read again of all logs that were looked at so far. It rises, until no log is left.
    pub bytes_total: u64,
    /// Those that were read.
    pub bytes_done: u64,
    /// 0.
    pub reserved: [u64; 4],
}
