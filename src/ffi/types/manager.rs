//! Structs about managers and their logs.

use std::ffi::c_char;

use super::*;

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
