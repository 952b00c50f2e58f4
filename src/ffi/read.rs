//! Reading whole batches into the caller's buffer.

use std::ffi::c_void;

use super::args::{
    buffer, check_flags, check_output, check_required, check_reserved, copy_growable, isolation,
    read_input,
};
use super::cancel::{patience, token};
use super::constants::*;
use super::guard::guard;
use super::handles::{self, Access};
use super::tokens::Held;
use super::types::{klog_error, klog_log, klog_read_options, klog_read_result, klog_status};
use crate::error::{Error, ErrorKind, Result};
use crate::io::Deadline;
use crate::log::{FirstBatch, Log, ReadCut, ReadOptions};
use crate::service::{Patience, read_waiting};
use crate::types::{LeaderEpoch, Offset, to_usize};

/// Reads whole record batches of one segment, as a broker sends them, from the one that holds start_offset on: up to
/// min(max_bytes, cap) bytes, the first batch also if it is larger than max_bytes. Nothing to read is KLOG_OK with bytes 0.
/// Go on at out->next_offset.
///
/// With opts->timeout_ms other than 0 it waits until there are opts->min_bytes to be read from start_offset on, one at least;
/// then, and when the time is up, it gives what there is, which may be less where a segment ends. KLOG_ERR_TIMED_OUT if that is
/// nothing, and out says the offsets then too; KLOG_ERR_CANCELLED once opts->cancel was fired; KLOG_ERR_CLOSED once the log handle
/// or the manager is closed; KLOG_ERR_DIR_OFFLINE if nothing is there and nothing can come.
///
/// KLOG_ERR_OFFSET_OUT_OF_RANGE below the log start and above the log end. KLOG_ERR_FENCED_LEADER_EPOCH and
/// KLOG_ERR_UNKNOWN_LEADER_EPOCH with KLOG_READ_HAS_EPOCH. KLOG_ERR_BUFFER_TOO_SMALL if the first batch does
/// not fit cap: out->bytes_needed says what does. Checksums are not checked here; a cursor does. What is in buf behind
/// out->bytes, and after an error, means nothing.
///
/// Thread class T0, cost class C2, with opts->timeout_ms C4. buf may be null with cap 0; opts and err are nullable; out is required.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_read(
    log: klog_log,
    start_offset: i64,
    opts: *const klog_read_options,
    buf: *mut c_void,
    cap: usize,
    out: *mut klog_read_result,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_read", err, |call| {
        check_required(out, "out")?;
        check_output(out, "out")?;
        let options = read_input(opts)?;
        check_read_options(&options, KLOG_READ_NO_MIN_ONE | KLOG_READ_SLICE)?;
        let waits = Waits::new(&options)?;
        let buffer = buffer(buf, cap, "buf")?;
        handles::with_log(call, log, Access::Look, |open| {
            let wanted = batch_options(&options)?;
            open.log.check_leader_epoch(expected_epoch(&options))?;
            let read = read_waiting(
                &open.log,
                Offset(start_offset),
                &wanted,
                waits.min_bytes,
                &waits.patience()?.ended_by(&open.ending),
                || {
                    open.log
                        .read_with_aborted(Offset(start_offset), buffer, &wanted)
                },
            );
            let mut answer = offsets_of(&open.log, start_offset);
            match read {
                Ok((read, aborted)) => {
                    answer.bytes = read.bytes as u64;
                    answer.batches = read.batches;
                    answer.first_offset = read.first_offset.0;
                    answer.next_offset = read.next_offset.0;
                    answer.log_start_offset = read.log_start_offset.0;
                    answer.log_end_offset = read.log_end_offset.0;
                    answer.high_watermark = read.high_watermark.0;
                    answer.last_stable_offset = read.last_stable_offset.0;
                    answer.aborted_upto = read.aborted_upto.0;
                    answer.aborted_txns = u32::try_from(aborted.len()).unwrap_or(u32::MAX);
                    answer.segment_base_offset = read.segment_base_offset.0;
                    answer.position = read.position;
                    answer.flags = if read.is_first_larger {
                        KLOG_READF_FIRST_INCOMPLETE
                    } else {
                        0
                    };
                    copy_growable(out, answer);
                    Ok(())
                }
                Err(e) if e.kind() == ErrorKind::BufferTooSmall => {
                    answer.bytes_needed = e.position().unwrap_or(0);
                    copy_growable(out, answer);
                    Err(e)
                }
                Err(e) if e.kind() == ErrorKind::TimedOut => {
                    copy_growable(out, answer);
                    Err(e)
                }
                Err(e) => Err(e),
            }
        })
    })
}

/// How whole batches are read, of options that were checked.
pub(crate) fn batch_options(options: &klog_read_options) -> Result<ReadOptions> {
    let is_slice = options.flags & KLOG_READ_SLICE != 0;
    Ok(ReadOptions {
        max_bytes: match options.max_bytes {
            0 if !is_slice => usize::MAX,
            limit => to_usize(limit),
        },
        first_batch: if options.flags & KLOG_READ_NO_MIN_ONE == 0 {
            FirstBatch::Always
        } else {
            FirstBatch::IfItFits
        },
        isolation: isolation(options.isolation)?,
        cut: if is_slice {
            ReadCut::AtMaxBytes
        } else {
            ReadCut::BehindBatch
        },
    })
}

/// A result without data, with the log's offsets.
pub(crate) fn offsets_of(log: &Log, start_offset: i64) -> klog_read_result {
    let (end, watermarks) = log.ends();
    klog_read_result {
        struct_size: 0,
        flags: 0,
        bytes: 0,
        bytes_needed: 0,
        records: 0,
        batches: 0,
        first_offset: start_offset,
        next_offset: start_offset,
        log_start_offset: log.start_offset().0,
        high_watermark: watermarks.high_watermark.0,
        last_stable_offset: watermarks.last_stable_offset().0,
        log_end_offset: end.offset.0,
        aborted_txns: 0,
        reserved0: 0,
        segment_base_offset: -1,
        position: 0,
        aborted_upto: -1,
        reserved: [0; 3],
    }
}

/// Options that reads and cursors share.
pub(crate) fn check_read_options(options: &klog_read_options, known_flags: u32) -> Result<()> {
    check_flags(
        options.flags,
        known_flags | KLOG_READ_HAS_EPOCH,
        "opts.flags",
    )?;
    check_reserved(&options.reserved, "opts")?;
    isolation(options.isolation)?;
    if options.reserved0 != 0 {
        return Err(Error::invalid_argument("a reserved field of opts is not 0"));
    }
    if options.leader_epoch != 0 && options.flags & KLOG_READ_HAS_EPOCH == 0 {
        return Err(Error::invalid_argument(format!(
            "opts.leader_epoch is {} without KLOG_READ_HAS_EPOCH; set the flag, or 0",
            options.leader_epoch
        )));
    }
    Ok(())
}

/// The epoch that a reader takes for the log's latest, if it says one.
pub(crate) fn expected_epoch(options: &klog_read_options) -> Option<LeaderEpoch> {
    (options.flags & KLOG_READ_HAS_EPOCH != 0).then_some(LeaderEpoch(options.leader_epoch))
}

/// What a read's options say of waiting.
pub(crate) struct Waits {
    pub(crate) min_bytes: u64,
    timeout_ms: i64,
    token: Option<Held>,
}

impl Waits {
    pub(crate) fn new(options: &klog_read_options) -> Result<Self> {
        Deadline::after(options.timeout_ms)?;
        Ok(Self {
            min_bytes: options.min_bytes,
            timeout_ms: options.timeout_ms,
            token: token(options.cancel)?,
        })
    }

    /// For a call that begins now.
    pub(crate) fn patience(&self) -> Result<Patience<'_>> {
        Ok(patience(
            Deadline::after(self.timeout_ms)?,
            self.token.as_ref(),
        ))
    }
}
