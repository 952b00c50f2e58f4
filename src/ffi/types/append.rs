//! Structs about appending.

use std::ffi::c_void;

use super::*;

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
