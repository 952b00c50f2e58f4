//! Structs about retention, compaction, and what a manager tells of itself.

use std::ffi::c_char;

use super::*;

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
