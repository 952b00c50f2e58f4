//! Cursors: many records a call.

use std::ffi::c_void;
use std::sync::Arc;

use super::args::{
    array_mut, buffer, check_output, check_required, copy_growable, isolation, read_input,
};
use super::config::put_handle;
use super::constants::*;
use super::guard::guard;
use super::handles::{self, Access, Kind, Object, OpenCursor, Removed};
use super::read::{Waits, check_read_options, expected_epoch, offsets_of};
use super::types::{
    klog_cursor, klog_error, klog_header, klog_log, klog_read_options, klog_read_result,
    klog_record, klog_status,
};
use crate::error::{Error, ErrorKind, Result};
use crate::format::batch::{BatchHeader, TimestampType};
use crate::format::packed::{BATCH_ENTRY_BYTES, HEAD_BYTES, PackedWriter};
use crate::format::record::Record;
use crate::log::{ControlRecords, CursorOptions, RecordSlice};
use crate::service::{Ending, next_records_waiting};
use crate::types::{Offset, to_usize};

/// Records that a packed call takes from the cursor at a time.
const PACKED_RECORDS_MAX: usize = 4096;

/// Opens a cursor at start_offset, which may lie inside a batch. Whether it can be read shows at the first call. What opts say
/// of waiting and of the leader epoch holds for each call on the cursor: with timeout_ms other than 0 it waits at the end of what may be read. A token
/// in opts->cancel goes on to end these calls as long as its own handle is open.
///
/// Thread class T2, cost class C1. opts and err are nullable; out is required, null on failure.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_cursor_open(
    log: klog_log,
    start_offset: i64,
    opts: *const klog_read_options,
    out: *mut klog_cursor,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_cursor_open", err, |call| {
        check_required(out, "out")?;
        let made = (|| {
            let options = read_input(opts)?;
            check_read_options(&options, KLOG_READ_CONTROL | KLOG_READ_BATCH_INFO)?;
            let waits = Waits::new(&options)?;
            handles::with_log(call, log, Access::Look, |open| {
                open.log.check_open()?;
                let cursor = open.log.cursor(
                    Offset(start_offset),
                    CursorOptions {
                        read_bytes: to_usize(options.max_bytes),
                        control_records: if options.flags & KLOG_READ_CONTROL == 0 {
                            ControlRecords::Hide
                        } else {
                            ControlRecords::Show
                        },
                        isolation: isolation(options.isolation)?,
                        ..CursorOptions::default()
                    },
                );
                let max_records = match options.max_records {
                    0 => usize::MAX,
                    limit => limit as usize,
                };
                let open_cursor = OpenCursor {
                    cursor,
                    log: Arc::clone(&open.log),
                    max_records,
                    batches: (options.flags & KLOG_READ_BATCH_INFO != 0).then(ToldBatches::default),
                    waits,
                    epoch: expected_epoch(&options),
                    headers: Vec::new(),
                };
                handles::add_cursor(open_cursor, Arc::clone(&open.poison))
            })
        })();
        put_handle(out, made, klog_cursor { id: 0 })
    })
}

/// Gives up to min(cap, max_records) records. Keys, values and headers point into memory that the cursor lends until the
/// next call on it or its close. out->records says how many; out->next_offset where the next call goes on.
///
/// Without timeout_ms KLOG_ERR_END at the end of what may be read; out is written then too. With it the call waits there, until
/// opts->min_bytes of stored batches came (one at least), and gives what there is when the time is up: KLOG_ERR_TIMED_OUT if
/// that is nothing, and out is written then too; KLOG_ERR_CANCELLED once opts->cancel was fired; KLOG_ERR_CLOSED once the
/// cursor or the manager is closed. Whatever ends it, the cursor keeps its place. A batch that cannot be decoded gives its error once, after the
/// records before it, and the next call goes on behind it. Each batch's checksum is checked.
///
/// Thread class T1, cost class C2, with timeout_ms C4. records is required unless cap is 0; out is required; err is nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_cursor_next(
    cursor: klog_cursor,
    records: *mut klog_record,
    cap: usize,
    out: *mut klog_read_result,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_cursor_next", err, |call| {
        check_output(out, "out")?;
        let places = array_mut(records, cap, "records")?;
        handles::with_cursor(call, cursor, |open, ending| {
            open.log.check_open()?;
            let max = places.len().min(open.max_records);
            take(open, ending, out, max)?;
            let given = open.cursor.given_last();
            open.headers.clear();
            if given.header_count() > 0 {
                open.headers.extend(
                    given
                        .iter()
                        .flat_map(|record| record.headers.map(lend_header)),
                );
            }
            let mut headers = open.headers.as_slice();
            for (place, record) in places.iter_mut().zip(given.iter()) {
                let (own, rest) = headers
                    .split_at_checked(record.headers.len())
                    .unwrap_or_default();
                headers = rest;
                *place = lend(&record, own);
            }
            let (count, first) = (given.len(), given.get(0).map(|record| record.offset.0));
            finish(open, out, count, first, 0)
        })
    })
}

/// As klog_cursor_next, as whole entries of a packed buffer of cap bytes; out->bytes says how many were written, out->records
/// counts records only. Of a cursor with KLOG_READ_BATCH_INFO each batch is told of once, before the first of its records that is given.
/// KLOG_ERR_BUFFER_TOO_SMALL and out->bytes_needed if not even the first record fits.
///
/// Thread class T1, cost class C2, with timeout_ms C4. buf and out are required; err is nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_cursor_next_packed(
    cursor: klog_cursor,
    buf: *mut c_void,
    cap: usize,
    out: *mut klog_read_result,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_cursor_next_packed", err, |call| {
        check_output(out, "out")?;
        check_required(buf, "buf")?;
        let buffer = buffer(buf, cap, "buf")?;
        handles::with_cursor(call, cursor, |open, ending| {
            open.log.check_open()?;
            let asked = open.cursor.position().0;
            let max = PACKED_RECORDS_MAX.min(open.max_records);
            take(open, ending, out, max)?;
            let given = open.cursor.given_last();
            let total = given.len();
            let first = given.get(0).map(|record| record.offset.0);
            let needed = needed_for_first(given, open.batches.as_ref());
            let (written, used) = PackedWriter::new(buffer, asked)
                .map_or((0, 0), |writer| pack(writer, given, open.batches.as_mut()));
            open.cursor.give_back(written);
            if total > 0 && written == 0 {
                let mut answer = offsets_of(&open.log, asked);
                answer.bytes_needed = needed as u64;
                copy_growable(out, answer);
                return Err(Error::new(
                    ErrorKind::BufferTooSmall,
                    format!("the next record needs a buffer of {needed} bytes, {cap} are given"),
                )
                .at_position(needed as u64));
            }
            finish(open, out, written, first, used)
        })
    })
}

/// Which batch a cursor told of last, by its base offset: each is told of once.
#[derive(Debug)]
pub(crate) struct ToldBatches {
    last: Offset,
}

impl Default for ToldBatches {
    fn default() -> Self {
        // No batch begins there.
        Self {
            last: Offset(i64::MIN),
        }
    }
}

impl ToldBatches {
    fn is_new(&self, header: &BatchHeader) -> bool {
        self.last != header.base_offset
    }
}

/// The buffer that the first of these records needs.
fn needed_for_first(given: RecordSlice<'_>, batches: Option<&ToldBatches>) -> usize {
    let record = given
        .get(0)
        .map_or(0, |record| PackedWriter::entry_bytes(&record));
    let is_told = given
        .batch_of(0)
        .zip(batches)
        .is_some_and(|(header, told)| told.is_new(header));
    HEAD_BYTES + record + if is_told { BATCH_ENTRY_BYTES } else { 0 }
}

/// Writes records as long as they fit: how many did, and how many bytes they took.
fn pack(
    mut writer: PackedWriter<'_>,
    given: RecordSlice<'_>,
    batches: Option<&mut ToldBatches>,
) -> (usize, usize) {
    let written = match batches {
        None => given
            .iter()
            .take_while(|record| writer.push(record))
            .count(),
        Some(told) => pack_with_batches(&mut writer, given, told),
    };
    (written, writer.finish())
}

fn pack_with_batches(
    writer: &mut PackedWriter<'_>,
    given: RecordSlice<'_>,
    told: &mut ToldBatches,
) -> usize {
    for (index, record) in given.iter().enumerate() {
        let mark = writer.mark();
        let news = given.batch_of(index).filter(|header| told.is_new(header));
        let fits = news.is_none_or(|header| writer.push_batch(header)) && writer.push(&record);
        if !fits {
            writer.rewind(mark);
            return index;
        }
        told.last = news.map_or(told.last, |header| header.base_offset);
    }
    given.len()
}

/// Lets the cursor take up to `max` records, when there are any to wait for within its options' time.
fn take(
    open: &mut OpenCursor,
    ending: &Ending,
    out: *mut klog_read_result,
    max: usize,
) -> Result<()> {
    open.log.check_leader_epoch(open.epoch)?;
    let patience = open.waits.patience()?.ended_by(ending);
    let taken = next_records_waiting(&mut open.cursor, max, open.waits.min_bytes, &patience);
    let taken = taken.map(|_| ());
    if matches!(&taken, Err(e) if e.kind() == ErrorKind::TimedOut) {
        copy_growable(out, offsets_of(&open.log, open.cursor.position().0));
    }
    taken
}

/// Writes what a call gave; END if that was nothing.
fn finish(
    open: &OpenCursor,
    out: *mut klog_read_result,
    count: usize,
    first: Option<i64>,
    bytes: usize,
) -> Result<()> {
    let position = open.cursor.position().0;
    let mut answer = offsets_of(&open.log, first.unwrap_or(position));
    answer.records = u32::try_from(count).unwrap_or(u32::MAX);
    answer.next_offset = position;
    answer.bytes = bytes as u64;
    copy_growable(out, answer);
    if count == 0 {
        return Err(Error::new(
            ErrorKind::End,
            format!("offset {position} is the log end"),
        ));
    }
    Ok(())
}

pub(super) fn lend_header(header: crate::format::record::Header<'_>) -> klog_header {
    klog_header {
        key: header.key.as_ptr().cast(),
        key_len: header.key.len() as u64,
        value: header.value.map_or(std::ptr::null(), |v| v.as_ptr().cast()),
        value_len: header.value.map_or(0, <[u8]>::len) as u64,
    }
}

pub(super) fn lend(record: &Record<'_>, headers: &[klog_header]) -> klog_record {
    let pointer = |bytes: Option<&[u8]>| bytes.map_or(std::ptr::null(), |b| b.as_ptr().cast());
    let len = |bytes: Option<&[u8]>| bytes.map_or(0, <[u8]>::len) as u64;
    let bits = [
        (true, KLOG_RECORD_HAS_TIMESTAMP),
        (record.is_control, KLOG_RECORD_CONTROL),
        (record.is_transactional, KLOG_RECORD_TRANSACTIONAL),
        (
            record.timestamp_type == TimestampType::LogAppendTime,
            KLOG_RECORD_LOG_APPEND_TIME,
        ),
    ];
    klog_record {
        key: pointer(record.key),
        key_len: len(record.key),
        value: pointer(record.value),
        value_len: len(record.value),
        headers: if headers.is_empty() {
            std::ptr::null()
        } else {
            headers.as_ptr()
        },
        header_count: headers.len() as u64,
        offset: record.offset.0,
        timestamp_ms: record.timestamp.0,
        leader_epoch: record.leader_epoch.0,
        sequence: record.sequence,
        flags: bits
            .iter()
            .filter(|(on, _)| *on)
            .fold(0, |flags, (_, bit)| flags | bit),
        reserved: 0,
    }
}

/// Goes on from offset. Whether it can be read shows at the next call. What was lent is given back.
///
/// Thread class T1, cost class C1. err is nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_cursor_seek(
    cursor: klog_cursor,
    offset: i64,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_cursor_seek", err, |call| {
        handles::with_cursor(call, cursor, |open, _| {
            open.log.check_open()?;
            open.cursor.seek(Offset(offset));
            if let Some(told) = &mut open.batches {
                *told = ToldBatches::default();
            }
            Ok(())
        })
    })
}

/// Ends the cursor and what it lent. A call that waits in it answers KLOG_ERR_CLOSED.
///
/// Thread class T2, cost class C1.
#[unsafe(no_mangle)]
pub extern "C" fn klog_cursor_close(cursor: klog_cursor) -> klog_status {
    guard("klog_cursor_close", std::ptr::null_mut(), |_| {
        if let Removed::Own(taken) = handles::remove(Kind::Cursor, cursor.id)?
            && let Object::Cursor(slot) = taken.object()
        {
            slot.ending.come();
        }
        Ok(())
    })
}
