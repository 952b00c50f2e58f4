//! Sizes and offsets of every struct, and the hash over them that a header carries (c-abi.md 2.5).

use std::mem::{offset_of, size_of};

use super::types::*;

/// One field of a struct, or the struct itself under an empty name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The struct.
    pub of: &'static str,
    /// The field.
    pub field: &'static str,
    /// Bytes from the start of the struct; for the struct its size.
    pub bytes: usize,
}

/// The name of a field in C: what is a keyword of Rust only needs no mark there.
const fn c_name(name: &'static str) -> &'static str {
    match name.as_bytes() {
        [b'r', b'#', ..] => name.split_at(2).1,
        _ => name,
    }
}

macro_rules! layout {
    ($($name:ident { $($field:ident),* $(,)? })*) => {
        /// Every struct with its fields, in the header's order.
        pub const LAYOUT: &[Place] = &[$(
            Place { of: stringify!($name), field: "", bytes: size_of::<$name>() },
            $(Place { of: stringify!($name), field: c_name(stringify!($field)), bytes: offset_of!($name, $field) },)*
        )*];
    };
}

layout! {
    klog_config { id }
    klog_manager { id }
    klog_log { id }
    klog_cursor { id }
    klog_cancel { id }
    klog_events { id }
    klog_view { id }
    klog_waiter { id }
    klog_appender { id }
    klog_error {
        struct_size, status, kafka_code, os_errno, flags, partition, offset, position, record_index, message_len,
        path_len, reserved0, reserved1, message, path,
    }
    klog_header { key, key_len, value, value_len }
    klog_record {
        key, key_len, value, value_len, headers, header_count, offset, timestamp_ms, leader_epoch, sequence, flags,
        reserved,
    }
    klog_manager_options {
        struct_size, flags, dirs, dir_count, config, background_threads, recovery_threads, now_ms, broker_epoch,
        reserved,
    }
    klog_manager_info {
        struct_size, flags, logs, segments_recovered, bytes_truncated, indexes_rebuilt, dirs_online, dirs_offline,
        open_handles, pinned_bytes, reserved,
    }
    klog_log_options { struct_size, flags, topic_id, config, dir, dir_len, reserved }
    klog_log_info {
        struct_size, flags, partition, latest_epoch, topic_id, log_start_offset, high_watermark, last_stable_offset,
        log_end_offset, recovery_point, first_dirty_offset, segments, bytes, producers, reserved,
    }
    klog_record_error { record_index, kafka_code }
    klog_append_options {
        struct_size, flags, reserved0, origin, leader_epoch, compression, compression_level, base_sequence,
        producer_id, producer_epoch, durability, record_errors, record_errors_cap, expected_log_end, reserved,
    }
    klog_append_result {
        struct_size, flags, first_offset, last_offset, log_start_offset, log_append_time_ms, max_timestamp,
        bytes_appended, records, record_error_count, hw_change, reserved0, reserved,
    }
    klog_read_options {
        struct_size, flags, reserved0, isolation, max_bytes, max_records, leader_epoch, min_bytes, timeout_ms, cancel,
        reserved,
    }
    klog_read_result {
        struct_size, flags, bytes, bytes_needed, records, batches, first_offset, next_offset, log_start_offset,
        high_watermark, last_stable_offset, log_end_offset, aborted_txns, reserved0, segment_base_offset, position,
        aborted_upto, reserved,
    }
    klog_view_info {
        struct_size, flags, data, len, first_offset, next_offset, segment_base_offset, position, fd, reserved0, reserved,
    }
    klog_wait_options { struct_size, kind, offset, min_bytes, timeout_ms, cancel, reserved }
    klog_ready { log, user_data, offset, kind, status }
    klog_append_item {
        log, records, count, first_offset, last_offset, log_append_time_ms, status, kafka_code, reserved,
    }
    klog_packed_item {
        log, packed, len, first_offset, last_offset, log_append_time_ms, status, kafka_code, reserved,
    }
    klog_appender_options { struct_size, flags, append, batch_bytes, queue_bytes, linger_us, reserved }
    klog_timestamp_offset { struct_size, flags, timestamp_ms, offset, leader_epoch, reserved0 }
    klog_epoch_offset { struct_size, leader_epoch, end_offset }
    klog_retain_result { struct_size, flags, segments_deleted, bytes_deleted, log_start_offset, reserved }
    klog_tick_result { struct_size, tasks_run, next_due_ms, reserved }
    klog_aborted_txn { producer_id, first_offset, last_offset, last_stable_offset }
    klog_clean_options {
        struct_size, flags, min_dirty_ratio, map_bytes, io_bytes_per_second, max_logs, reserved0, timeout_ms, cancel,
        first_dirty_offset, reserved,
    }
    klog_clean_result {
        struct_size, flags, logs_cleaned, bytes_read, bytes_written, records_read, records_kept, dropped_superseded,
        dropped_tombstones, dropped_no_key, dropped_aborted, dropped_markers, map_slots, map_slots_used, elapsed_ms,
        throttled_ms, first_dirty_offset, reserved,
    }
    klog_clean_progress {
        struct_size, flags, phase, reserved0, bytes_done, bytes_total, first_dirty_offset, end_offset, started_ms,
        reserved,
    }
    klog_metric { struct_size, r#type, name, unit, help }
    klog_open_progress {
        struct_size, flags, logs_total, logs_left, segments_left, bytes_total, bytes_done, reserved,
    }
}

/// FNV-1a over all names and numbers, cut to 63 bits so that it is a plain constant in C.
#[must_use]
pub fn layout_hash() -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    let mut take = |bytes: &[u8]| {
        for byte in bytes {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    };
    for place in LAYOUT {
        take(place.of.as_bytes());
        take(b".");
        take(place.field.as_bytes());
        take(&(place.bytes as u64).to_le_bytes());
    }
    for constant in include_str!("constants.rs")
        .lines()
        .filter(|line| line.starts_with("pub const"))
    {
        take(constant.as_bytes());
    }
    hash >> 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_specification() {
        let of = |name: &str| {
            LAYOUT
                .iter()
                .find(|p| p.of == name && p.field.is_empty())
                .unwrap()
                .bytes
        };
        for (name, bytes) in [
            ("klog_error", 1024),
            ("klog_header", 32),
            ("klog_record", 80),
            ("klog_manager_options", 96),
            ("klog_manager_info", 128),
            ("klog_log_options", 80),
            ("klog_log_info", 168),
            ("klog_record_error", 8),
            ("klog_append_options", 112),
            ("klog_append_result", 104),
            ("klog_read_options", 104),
            ("klog_read_result", 136),
            ("klog_view_info", 88),
            ("klog_wait_options", 56),
            ("klog_ready", 32),
            ("klog_append_item", 64),
            ("klog_packed_item", 64),
            ("klog_appender_options", 88),
            ("klog_timestamp_offset", 32),
            ("klog_epoch_offset", 16),
            ("klog_aborted_txn", 32),
            ("klog_retain_result", 64),
            ("klog_tick_result", 32),
            ("klog_clean_options", 88),
            ("klog_clean_result", 160),
            ("klog_clean_progress", 80),
            ("klog_metric", 32),
            ("klog_open_progress", 80),
            ("klog_log", 8),
        ] {
            assert_eq!(of(name), bytes, "{name}");
        }
    }
}
