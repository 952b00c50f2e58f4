//! Appending: an array of records, a packed buffer, or ready batches.

use std::ffi::c_void;

use parking_lot::Mutex;

use super::args::{
    array, array_mut, bytes, check_flags, check_int_len, check_output, check_required,
    check_reserved, copy_growable, read_input, size,
};
use super::constants::*;
use super::guard::{guard, panic_if_told};
use super::handles::{self, Access};
use super::types::{
    klog_append_options, klog_append_result, klog_error, klog_header, klog_log, klog_record,
    klog_record_error, klog_status,
};
use crate::error::{Error, Result};
use crate::format::builder::BatchBuilder;
use crate::format::codec::Codec;
use crate::format::packed::PackedReader;
use crate::format::record::Header;
use crate::log::{
    AppendOptions, AppendResult, LeaderEpochRule, Origin, ProducerStamp, TxnMarker, WriteDurability,
};
use crate::types::{LeaderEpoch, Offset, ProducerId, TimestampMs};

/// `KLOG_TIMESTAMP_NOW`: the header defines it, cbindgen cannot print it.
pub(super) const TIMESTAMP_NOW: i64 = i64::MIN;

/// Builders that wait for the next append, with their memory.
static BUILDERS: Mutex<Vec<BatchBuilder>> = Mutex::new(Vec::new());
const BUILDERS_MAX: usize = 16;
/// A builder with more memory than this is given up.
const KEPT_BYTES: usize = 4 * 1024 * 1024;

pub(crate) fn with_builder<T>(work: impl FnOnce(&mut BatchBuilder) -> Result<T>) -> Result<T> {
    let mut builder = BUILDERS.lock().pop().unwrap_or_default();
    builder.clear();
    let answer = work(&mut builder);
    if builder.capacity_bytes() <= KEPT_BYTES {
        let mut kept = BUILDERS.lock();
        if kept.len() < BUILDERS_MAX {
            kept.push(builder);
        }
    }
    answer
}

/// Appends records as one batch, all or nothing. The library keeps no pointer into them. count 0 is no error: offsets -1.
/// A refused or failed append changes nothing.
///
/// With KLOG_APPEND_HAS_PRODUCER the batch is that of an idempotent producer, and of its transaction with
/// KLOG_APPEND_TRANSACTIONAL. What is wrong with single records goes to opts->record_errors, as far as there is room.
///
/// Statuses beside those of every function: KLOG_ERR_MESSAGE_TOO_LARGE, KLOG_ERR_RECORD_LIST_TOO_LARGE,
/// KLOG_ERR_INVALID_RECORD, KLOG_ERR_INVALID_TIMESTAMP, KLOG_ERR_LOG_END_MISMATCH,
/// KLOG_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER, KLOG_ERR_INVALID_PRODUCER_EPOCH, KLOG_ERR_INVALID_TXN_STATE,
/// KLOG_ERR_TOO_LARGE, KLOG_ERR_FENCED_LEADER_EPOCH, KLOG_ERR_NO_SPACE,
/// KLOG_ERR_KAFKA_STORAGE_ERROR, KLOG_ERR_DIR_OFFLINE, KLOG_ERR_CLOSED.
///
/// Thread class T0, cost class C2, with KLOG_DURABILITY_FSYNC C3. records is required unless count is 0; opts, out and err
/// are nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_append(
    log: klog_log,
    records: *const klog_record,
    count: usize,
    opts: *const klog_append_options,
    out: *mut klog_append_result,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_append", err, |call| {
        let records = array(records, count, "records")?;
        let prepared = prepare(opts, out)?;
        handles::with_log(call, log, Access::Change, |open| {
            open.log.check_open()?;
            panic_if_told("klog_append: inside");
            let now = open.log.now();
            let appended = with_builder(|builder| {
                for (index, record) in records.iter().enumerate() {
                    push_record(builder, record, index, now)?;
                }
                open.log.append(builder, &prepared.options)
            });
            prepared.give(out, appended)
        })
    })
}

/// As klog_append, from a packed buffer of len bytes (docs/format.md describes it). A buffer that breaks its rules is
/// KLOG_ERR_INVALID_ARGUMENT with err->record_index and err->position, and nothing is appended.
///
/// Thread class T0, cost class C2, with KLOG_DURABILITY_FSYNC C3. packed is required; opts, out and err are nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_append_packed(
    log: klog_log,
    packed: *const c_void,
    len: usize,
    opts: *const klog_append_options,
    out: *mut klog_append_result,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_append_packed", err, |call| {
        check_required(packed, "packed")?;
        let mut reader = PackedReader::new(bytes(packed, len, "packed")?)?;
        let prepared = prepare(opts, out)?;
        handles::with_log(call, log, Access::Change, |open| {
            open.log.check_open()?;
            let now = open.log.now();
            let appended = with_builder(|builder| {
                push_packed(builder, &mut reader, now)?;
                open.log.append(builder, &prepared.options)
            });
            prepared.give(out, appended)
        })
    })
}

/// Appends ready record batches. Of a client (origin 0) one batch, as a broker gets it from a producer, or messages of magic
/// 0 and 1, which become one batch: every record is checked, offset, leader epoch and, where the topic says so, time and
/// codec are assigned. Of a follower (KLOG_ORIGIN_REPLICATION) as many as there are, with the offsets and epochs that they
/// have; those of an epoch above opts->leader_epoch are left out, with KLOG_APPEND_HAS_EPOCH. Bytes behind the last whole
/// batch are dropped. The caller's bytes are not changed. A batch that its producer sent before, one of the last five, is
/// KLOG_OK with the offsets of the first time.
///
/// Statuses beside those of klog_append: KLOG_ERR_CORRUPT_MESSAGE, KLOG_ERR_INVALID_RECORD,
/// KLOG_ERR_UNSUPPORTED_COMPRESSION_TYPE, KLOG_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER, KLOG_ERR_INVALID_PRODUCER_EPOCH,
/// KLOG_ERR_INVALID_TXN_STATE, KLOG_ERR_TRANSACTION_COORDINATOR_FENCED; of a follower KLOG_ERR_UNEXPECTED_APPEND_OFFSET,
/// KLOG_ERR_OFFSETS_OUT_OF_ORDER.
///
/// Thread class T0, cost class C2, with KLOG_DURABILITY_FSYNC C3. batches is required unless len is 0; opts, out and err are
/// nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_append_batches(
    log: klog_log,
    batches: *const c_void,
    len: usize,
    opts: *const klog_append_options,
    out: *mut klog_append_result,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_append_batches", err, |call| {
        let batches = bytes(batches, len, "batches")?;
        let prepared = prepare(opts, out)?;
        handles::with_log(call, log, Access::Change, |open| {
            let appended = open.log.append_batches(batches, &prepared.options);
            prepared.give(out, appended)
        })
    })
}

/// Appends one record without headers. A null key or value is null; KLOG_TIMESTAMP_NOW and KLOG_TIMESTAMP_NONE are
/// timestamps. Its offset is written to *offset.
///
/// Thread class T0, cost class C2. key and value are required unless their length is 0; offset and err are
/// nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_append_one(
    log: klog_log,
    key: *const c_void,
    key_len: usize,
    value: *const c_void,
    value_len: usize,
    timestamp_ms: i64,
    offset: *mut i64,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_append_one", err, |call| {
        let key = nullable(key, key_len as u64, "key", 0)?;
        let value = nullable(value, value_len as u64, "value", 0)?;
        handles::with_log(call, log, Access::Change, |open| {
            let timestamp = if timestamp_ms == TIMESTAMP_NOW {
                open.log.now()
            } else {
                TimestampMs(timestamp_ms)
            };
            let result = with_builder(|builder| {
                builder.push(timestamp, key, value, [].into_iter())?;
                open.log.append(builder, &AppendOptions::default())
            })?;
            if !offset.is_null() {
                // SAFETY: not null, and the header requires an int64_t there.
                unsafe { offset.write_unaligned(result.first_offset.0) };
            }
            Ok(())
        })
    })
}

/// Ends the transaction of a producer, as its coordinator does: commit is 1 for a commit, 0 for an abort. The batch that is
/// appended holds the marker alone. KLOG_ERR_INVALID_PRODUCER_EPOCH for an epoch below the producer's,
/// KLOG_ERR_TRANSACTION_COORDINATOR_FENCED for a coordinator epoch below that of its last marker.
///
/// Thread class T0, cost class C2. out and err are nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_append_marker(
    log: klog_log,
    producer_id: i64,
    producer_epoch: i32,
    commit: u32,
    coordinator_epoch: i32,
    out: *mut klog_append_result,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_append_marker", err, |call| {
        if !out.is_null() {
            check_output(out, "out")?;
        }
        if commit > 1 {
            return Err(Error::invalid_argument(format!(
                "commit is {commit}; 1 commits, 0 aborts"
            )));
        }
        let marker = TxnMarker {
            producer_id: ProducerId(producer_id),
            producer_epoch: producer_epoch_of(producer_epoch, "producer_epoch")?,
            commit: commit == 1,
            coordinator_epoch,
        };
        handles::with_log(call, log, Access::Change, |open| {
            let result = open.log.append_marker(&marker, &AppendOptions::default())?;
            give_result(out, &result, 0);
            Ok(())
        })
    })
}

pub(super) fn producer_epoch_of(epoch: i32, name: &str) -> Result<i16> {
    i16::try_from(epoch).map_err(|_| {
        Error::invalid_argument(format!(
            "{name} {epoch} is no producer epoch (at most 32767)"
        ))
    })
}

/// What a caller wants of an append.
struct Prepared<'c> {
    options: AppendOptions,
    /// Its room for what is wrong with single records.
    record_errors: &'c mut [klog_record_error],
}

/// Checks options and the place of the result, before the handle is looked at.
fn prepare<'c>(
    opts: *const klog_append_options,
    out: *mut klog_append_result,
) -> Result<Prepared<'c>> {
    if !out.is_null() {
        check_output(out, "out")?;
    }
    let given = read_input(opts)?;
    Ok(Prepared {
        options: append_options(&given)?,
        record_errors: array_mut(
            given.record_errors,
            size(given.record_errors_cap, "opts.record_errors_cap")?,
            "opts.record_errors",
        )?,
    })
}

impl Prepared<'_> {
    /// Gives the answer to the caller; of an append that was refused for its records, what is wrong with each.
    fn give(self, out: *mut klog_append_result, appended: Result<AppendResult>) -> Result<()> {
        let error = match appended {
            Ok(result) => {
                give_result(out, &result, 0);
                return Ok(());
            }
            Err(error) => error,
        };
        let found = error.record_errors();
        for (place, record) in self.record_errors.iter_mut().zip(found) {
            *place = klog_record_error {
                record_index: i32::try_from(record.index).unwrap_or(i32::MAX),
                kafka_code: record.kafka_code,
            };
        }
        let written = self.record_errors.len().min(found.len());
        if written > 0 {
            give_result(out, &NOTHING, u32::try_from(written).unwrap_or(u32::MAX));
        }
        Err(error)
    }
}

/// The result of an append that was refused.
const NOTHING: AppendResult = AppendResult {
    first_offset: Offset::NONE,
    last_offset: Offset::NONE,
    log_start_offset: Offset::NONE,
    log_append_time: TimestampMs::NONE,
    max_timestamp: TimestampMs::NONE,
    bytes_appended: 0,
    records: 0,
};

/// A KLOG_COMPRESSION_ constant; `None` is what the topic says.
pub(super) fn codec_of(compression: i32) -> Result<Option<Codec>> {
    match compression {
        KLOG_COMPRESSION_CONFIG => Ok(None),
        KLOG_COMPRESSION_NONE => Ok(Some(Codec::None)),
        KLOG_COMPRESSION_GZIP => Ok(Some(Codec::Gzip)),
        KLOG_COMPRESSION_SNAPPY => Ok(Some(Codec::Snappy)),
        KLOG_COMPRESSION_LZ4 => Ok(Some(Codec::Lz4)),
        KLOG_COMPRESSION_ZSTD => Ok(Some(Codec::Zstd)),
        other => Err(Error::invalid_argument(format!(
            "compression {other} is none of the KLOG_COMPRESSION_ constants"
        ))),
    }
}

pub(crate) fn append_options(options: &klog_append_options) -> Result<AppendOptions> {
    let known = KLOG_APPEND_HAS_PRODUCER
        | KLOG_APPEND_HAS_EPOCH
        | KLOG_APPEND_ANY_EPOCH
        | KLOG_APPEND_IF_LOG_END
        | KLOG_APPEND_TRANSACTIONAL
        | KLOG_APPEND_TXN_V2;
    check_flags(options.flags, known, "opts.flags")?;
    check_reserved(&options.reserved, "opts")?;
    let origin = match options.origin {
        KLOG_ORIGIN_CLIENT => Origin::Client,
        KLOG_ORIGIN_REPLICATION => Origin::Replication,
        KLOG_ORIGIN_COORDINATOR => Origin::Coordinator,
        KLOG_ORIGIN_RAFT_LEADER => Origin::RaftLeader,
        other => {
            return Err(Error::invalid_argument(format!(
                "origin {other} is none of the KLOG_ORIGIN_ constants"
            )));
        }
    };
    let codec = codec_of(options.compression)?;
    let durability = match options.durability {
        KLOG_DURABILITY_PAGE_CACHE => WriteDurability::PageCache,
        KLOG_DURABILITY_FSYNC => WriteDurability::Synced,
        other => {
            return Err(Error::invalid_argument(format!(
                "durability {other} is none of the KLOG_DURABILITY_ constants"
            )));
        }
    };
    let has_epoch = options.flags & KLOG_APPEND_HAS_EPOCH != 0;
    let any_epoch = options.flags & KLOG_APPEND_ANY_EPOCH != 0;
    let has = |flag| options.flags & flag != 0;
    Ok(AppendOptions {
        origin,
        producer: if has(KLOG_APPEND_HAS_PRODUCER) {
            Some(ProducerStamp {
                id: ProducerId(options.producer_id),
                epoch: producer_epoch_of(options.producer_epoch, "opts.producer_epoch")?,
                base_sequence: options.base_sequence,
                is_transactional: has(KLOG_APPEND_TRANSACTIONAL),
            })
        } else {
            None
        },
        expected_log_end: has(KLOG_APPEND_IF_LOG_END).then_some(Offset(options.expected_log_end)),
        txn_version: has(KLOG_APPEND_TXN_V2).then_some(2).or(Some(1)),
        leader_epoch: has_epoch.then_some(LeaderEpoch(options.leader_epoch)),
        epoch_rule: if any_epoch {
            LeaderEpochRule::TakeAny
        } else {
            LeaderEpochRule::RefuseOlder
        },
        codec,
        level: Some(options.compression_level).filter(|&level| level != 0),
        durability,
    })
}

pub(crate) fn push_record(
    builder: &mut BatchBuilder,
    record: &klog_record,
    index: usize,
    now: TimestampMs,
) -> Result<()> {
    let read_bits = KLOG_RECORD_TRANSACTIONAL | KLOG_RECORD_LOG_APPEND_TIME;
    let unknown_bits = record.flags & !(KLOG_RECORD_HAS_TIMESTAMP | read_bits);
    let has_timestamp = record.flags & KLOG_RECORD_HAS_TIMESTAMP != 0;
    let timestamp = match (has_timestamp, record.timestamp_ms) {
        (true, TIMESTAMP_NOW) | (false, 0 | TIMESTAMP_NOW) => Some(now),
        (true, timestamp) => Some(TimestampMs(timestamp)),
        (false, _) => None,
    };
    let Some(timestamp) = timestamp.filter(|_| unknown_bits == 0 && record.reserved == 0) else {
        return Err(not_to_be_appended(record, index));
    };
    let key = nullable(record.key, record.key_len, "key", index)?;
    let value = nullable(record.value, record.value_len, "value", index)?;
    let count = check_int_len(record.header_count, "header_count", index)?;
    if count == 0 {
        return builder.push(timestamp, key, value, std::iter::empty());
    }
    let headers = array(record.headers, count, "headers").map_err(|e| e.at_record(index))?;
    for header in headers {
        nullable(header.key.cast(), header.key_len, "header key", index)?;
        nullable(header.value, header.value_len, "header value", index)?;
    }
    builder.push(timestamp, key, value, headers.iter().map(header))
}

#[cold]
fn not_to_be_appended(record: &klog_record, index: usize) -> Error {
    let what = if record.flags & KLOG_RECORD_CONTROL != 0 {
        "a control record cannot be appended".to_owned()
    } else if record.flags & KLOG_RECORD_HAS_TIMESTAMP == 0
        && ![0, TIMESTAMP_NOW].contains(&record.timestamp_ms)
    {
        format!(
            "timestamp_ms is {} without KLOG_RECORD_HAS_TIMESTAMP; set the flag, or 0",
            record.timestamp_ms
        )
    } else {
        format!(
            "unknown flags {:#x} or a reserved field that is not 0",
            record.flags
        )
    };
    Error::invalid_argument(format!("record {index}: {what}")).at_record(index)
}

/// Adds the records of a packed buffer.
pub(crate) fn push_packed(
    builder: &mut BatchBuilder,
    reader: &mut PackedReader<'_>,
    now: TimestampMs,
) -> Result<()> {
    while let Some(record) = reader.next_record()? {
        let timestamp = if record.timestamp.0 == TIMESTAMP_NOW {
            now
        } else {
            record.timestamp
        };
        if record.headers.len() == 0 {
            builder.push(timestamp, record.key, record.value, std::iter::empty())?;
        } else {
            builder.push(timestamp, record.key, record.value, record.headers)?;
        }
    }
    Ok(())
}

/// A header whose pointers were checked.
fn header<'a>(header: &klog_header) -> Header<'a> {
    let part = |pointer, len| nullable(pointer, len, "header", 0).ok().flatten();
    Header {
        key: part(header.key.cast(), header.key_len).unwrap_or_default(),
        value: part(header.value, header.value_len),
    }
}

/// Bytes that may be null: then their length is 0.
#[inline]
fn nullable<'a>(
    pointer: *const c_void,
    len: u64,
    name: &str,
    index: usize,
) -> Result<Option<&'a [u8]>> {
    let len = check_int_len(len, name, index)?;
    if pointer.is_null() && len == 0 {
        return Ok(None);
    }
    bytes(pointer, len, name)
        .map(Some)
        .map_err(|e| e.at_record(index))
}

pub(crate) fn give_result(out: *mut klog_append_result, result: &AppendResult, record_errors: u32) {
    if out.is_null() {
        return;
    }
    copy_growable(
        out,
        klog_append_result {
            struct_size: 0,
            flags: 0,
            first_offset: result.first_offset.0,
            last_offset: result.last_offset.0,
            log_start_offset: result.log_start_offset.0,
            log_append_time_ms: result.log_append_time.0,
            max_timestamp: result.max_timestamp.0,
            bytes_appended: result.bytes_appended,
            records: result.records,
            record_error_count: record_errors,
            hw_change: i32::from(result.first_offset != Offset::NONE),
            reserved0: 0,
            reserved: [0; 4],
        },
    );
}
