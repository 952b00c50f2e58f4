//! Watermarks, leader epochs, producers and transactions of a log.

use std::ffi::c_char;

use super::args::{check_output, copy_growable, give_array, give_text};
use super::guard::guard;
use super::handles::{self, Access};
use super::maintain::manager_of;
use super::types::{klog_aborted_txn, klog_epoch_offset, klog_error, klog_log, klog_status};
use crate::inspect::producer_lines;
use crate::types::{LeaderEpoch, Offset};

/// Writes an offset where the caller wants one.
fn give_offset(out: *mut i64, offset: Offset) {
    if !out.is_null() {
        // SAFETY: not null, and the header requires an int64_t there.
        unsafe { out.write_unaligned(offset.0) };
    }
}

/// Where a leader epoch ends, as OffsetsForLeaderEpoch answers: the highest epoch of the log at or below it, and the offset
/// behind that epoch's last record. -1 for both if the log cannot know the epoch.
///
/// Thread class T0, cost class C1. out is required; err is nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_offset_for_epoch(
    log: klog_log,
    epoch: i32,
    out: *mut klog_epoch_offset,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_offset_for_epoch", err, |call| {
        check_output(out, "out")?;
        handles::with_log(call, log, Access::Look, |open| {
            open.log.check_open()?;
            let found = open.log.end_offset_for_epoch(LeaderEpoch(epoch));
            copy_growable(
                out,
                klog_epoch_offset {
                    struct_size: 0,
                    leader_epoch: found.map_or(-1, |(epoch, _)| epoch.0),
                    end_offset: found.map_or(-1, |(_, offset)| offset.0),
                },
            );
            Ok(())
        })
    })
}

/// Notes that a leader epoch begins at an offset, durably. Entries that contradict it go: those of the same or a later epoch
/// that begin at or above it.
///
/// Thread class T0, cost class C3. err is nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_epoch_assign(
    log: klog_log,
    epoch: i32,
    start_offset: i64,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_epoch_assign", err, |call| {
        handles::with_log(call, log, Access::Change, |open| {
            open.log
                .assign_epoch(LeaderEpoch(epoch), Offset(start_offset))
        })
    })
}

/// Moves the high watermark, also down: to hw, or to the nearest offset that it can be. What it is now is written to *out.
/// KLOG_ERR_INVALID_ARGUMENT if it follows the log end: it is the caller's with KLOG_LOG_MANUAL_HW or
/// KLOG_OPEN_HW_FROM_CHECKPOINT.
///
/// Thread class T0, cost class C1. out and err are nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_high_watermark_set(
    log: klog_log,
    hw: i64,
    out: *mut i64,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_high_watermark_set", err, |call| {
        handles::with_log(call, log, Access::Change, |open| {
            let now = open.log.set_high_watermark(Offset(hw))?;
            give_offset(out, now);
            Ok(())
        })
    })
}

/// Deletes the records below before_offset for readers, durably, as DeleteRecords does; -1 is the high watermark. Their bytes go when
/// retention takes their segments. Where the log starts now is written to *log_start_offset.
/// KLOG_ERR_OFFSET_OUT_OF_RANGE above the high watermark.
///
/// Thread class T0, cost class C3. log_start_offset and err are nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_delete_records(
    log: klog_log,
    before_offset: i64,
    log_start_offset: *mut i64,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_delete_records", err, |call| {
        handles::with_log(call, log, Access::Change, |open| {
            let start = manager_of(open)?.delete_records(&open.log, Offset(before_offset))?;
            give_offset(log_start_offset, start);
            Ok(())
        })
    })
}

/// Every producer that the log knows, by rising id, and each of the batches that are remembered of it:
///
/// producer ID epoch=E last_seq=S last_offset=O offset_delta=D ts=T coordinator_epoch=C txn_first=F
///
/// pbatch ID seq=A..B offset=A..B ts=T
///
/// txn_first is the first offset of an open transaction, or "-". *needed is the length with its NUL.
///
/// Thread class T0, cost class C1. buf may be null with cap 0; needed and err are nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_producers(
    log: klog_log,
    buf: *mut c_char,
    cap: usize,
    needed: *mut usize,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_producers", err, |call| {
        let text = handles::with_log(call, log, Access::Look, |open| {
            open.log.check_open()?;
            Ok(producer_lines(&open.log))
        })?;
        give_text(&text, buf, cap, needed)
    })
}

/// The aborted transactions that a reader of batches leaves out: those with a marker at or above from that began below upto,
/// in the order of the index. With from the offset that was read from and upto the result's aborted_upto it is Kafka's list.
/// *needed is how many there are.
///
/// Thread class T0, cost class C2. buf is required unless cap is 0; needed and err are nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_aborted_txns(
    log: klog_log,
    from: i64,
    upto: i64,
    buf: *mut klog_aborted_txn,
    cap: usize,
    needed: *mut usize,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_aborted_txns", err, |call| {
        let found = handles::with_log(call, log, Access::Look, |open| {
            open.log.aborted_txns(Offset(from), Offset(upto))
        })?;
        let items: Vec<_> = found
            .iter()
            .map(|txn| klog_aborted_txn {
                producer_id: txn.producer_id.0,
                first_offset: txn.first_offset.0,
                last_offset: txn.last_offset.0,
                last_stable_offset: txn.last_stable_offset.0,
            })
            .collect();
        give_array(&items, buf, cap, needed)
    })
}
