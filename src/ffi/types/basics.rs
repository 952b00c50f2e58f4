//! What every call knows: the status, handles, the error, records.

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
