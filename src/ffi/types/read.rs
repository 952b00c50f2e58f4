//! Structs about reading, finding offsets, and waiting.

use std::ffi::c_void;

use super::*;

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
    /// At most so many bytes; 0 is what the buffer holds, and for a cursor how much it reads at a time (16 KiB first, then more and more up to 256 KiB).
    pub max_bytes: u64,
    /// At most so many records a call of a cursor; 0 is no limit.
    pub max_records: u32,
    /// With KLOG_READ_HAS_EPOCH: the log's latest epoch, as the reader knows it; else 0.
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
