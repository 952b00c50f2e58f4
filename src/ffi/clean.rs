//! Compaction: passes, their progress, pauses.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::args::{
    check_flags, check_output, check_required, check_reserved, copy_growable, read_input,
};
use super::constants::*;
use super::guard::guard;
use super::handles::{self, Access};
use super::maintain::manager_of;
use super::types::{
    klog_cancel, klog_clean_options, klog_clean_progress, klog_clean_result, klog_error, klog_log,
    klog_manager, klog_status,
};
use crate::cleaner::filter::Fate;
use crate::cleaner::watch::{CancelCheck, Phase};
use crate::error::{Error, ErrorKind, Result};
use crate::io::{Clock, SystemClock};
use crate::log::Log;
use crate::manager::{CleanOptions, CleanedLog, Manager, Pass, Roll, total};
use crate::types::{Offset, TimestampMs};

/// Compacts now: the log that is named in one pass, whatever share of it is dirty; with a log of id 0 every log that is managed
/// and compacted, the filthiest first, as long as one is dirty enough. With KLOG_DRY_RUN nothing is changed, and each log
/// is looked at once.
///
/// KLOG_ERR_INVALID_CONFIG if the log's cleanup.policy has no compact. KLOG_ERR_BUSY if another pass runs on it,
/// KLOG_ERR_CLEAN_PAUSED if it is paused, KLOG_ERR_CLEAN_ABORTED if it was cut, deleted or paused meanwhile.
/// KLOG_ERR_CORRUPT_MESSAGE if a batch is damaged: the log stays as it was. Over several logs the first failure is answered
/// after all others were cleaned. KLOG_ERR_TIMED_OUT after timeout_ms,
/// KLOG_ERR_CANCELLED when cancel is fired; what was done by then stays done.
///
/// Thread class T0, cost class C3. opts, out and err are nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_clean(
    manager: klog_manager,
    only: klog_log,
    opts: *const klog_clean_options,
    out: *mut klog_clean_result,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_clean", err, |call| {
        if !out.is_null() {
            check_output(out, "out")?;
        }
        let options = read_input(opts)?;
        check_options(&options, only.id != 0)?;
        let named: Option<Arc<Log>> = match only.id {
            0 => None,
            _ => Some(handles::with_log(call, only, Access::Look, |open| {
                Ok(Arc::clone(&open.log))
            })?),
        };
        let started = SystemClock.now();
        let in_time = go_on(options.cancel, options.timeout_ms)?;
        let passes = handles::with_manager(call, manager, Access::Change, |open| {
            run(&open.manager, named.as_ref(), &options, &in_time)
        })?;
        if !out.is_null() {
            copy_growable(out, result_of(&passes, named.is_some(), started));
        }
        match passes.into_iter().find_map(|pass| pass.outcome.err()) {
            Some(first) => Err(first),
            None => Ok(()),
        }
    })
}

fn check_options(options: &klog_clean_options, is_named: bool) -> Result<()> {
    let of_one = KLOG_CLEAN_ROLL | KLOG_CLEAN_HAS_FIRST_DIRTY;
    check_flags(options.flags, KLOG_DRY_RUN | of_one, "opts.flags")?;
    check_reserved(&options.reserved, "opts")?;
    check_reserved(&[u64::from(options.reserved0)], "opts")?;
    if options.flags & of_one != 0 && !is_named {
        return Err(Error::invalid_argument(
            "opts.flags: KLOG_CLEAN_ROLL and KLOG_CLEAN_HAS_FIRST_DIRTY need a log",
        ));
    }
    if !(0.0..=1.0).contains(&options.min_dirty_ratio) {
        return Err(Error::invalid_argument(format!(
            "opts.min_dirty_ratio is {}, a share from 0 to 1 was expected",
            options.min_dirty_ratio
        )));
    }
    if options.timeout_ms < 0 {
        return Err(Error::invalid_argument(
            "opts.timeout_ms is negative; 0 is as long as it takes",
        ));
    }
    Ok(())
}

/// What a call asks between its steps whether to go on. `timeout_ms` is above 0, or there is no limit.
fn go_on(cancel: klog_cancel, timeout_ms: i64) -> Result<impl Fn() -> Result<()> + Sync> {
    let token = super::cancel::token(cancel)?;
    let started = SystemClock.now();
    Ok(move || {
        if let Some(token) = &token {
            token.token().check()?;
        }
        ensure_in_time(started, timeout_ms)
    })
}

/// 0 is without end.
fn ensure_in_time(started: TimestampMs, timeout_ms: i64) -> Result<()> {
    if timeout_ms > 0 && SystemClock.now().0.saturating_sub(started.0) >= timeout_ms {
        return Err(Error::new(
            ErrorKind::TimedOut,
            format!("{timeout_ms} ms were not enough"),
        ));
    }
    Ok(())
}

#[allow(
    clippy::cast_precision_loss,
    reason = "a rate above 2^53 bytes a second is none"
)]
fn run(
    manager: &Manager,
    named: Option<&Arc<Log>>,
    options: &klog_clean_options,
    in_time: CancelCheck<'_>,
) -> Result<Vec<CleanedLog>> {
    let is_dry = options.flags & KLOG_DRY_RUN != 0;
    let wanted = CleanOptions {
        held_bytes_max: None,
        map_bytes: Some(options.map_bytes).filter(|&bytes| bytes > 0),
        min_dirty_ratio: Some(options.min_dirty_ratio).filter(|&ratio| ratio > 0.0),
        first_dirty: (options.flags & KLOG_CLEAN_HAS_FIRST_DIRTY != 0)
            .then_some(Offset(options.first_dirty_offset)),
        roll: if options.flags & KLOG_CLEAN_ROLL == 0 {
            Roll::Leave
        } else {
            Roll::First
        },
        io_bytes_per_second: Some(options.io_bytes_per_second as f64).filter(|&rate| rate > 0.0),
        pass: is_dry.then_some(Pass::DryRun),
        cancel: Some(in_time),
    };
    if let Some(log) = named {
        let cleaned = manager.clean(log, &wanted)?;
        return Ok(cleaned
            .map(|cleaned| CleanedLog {
                partition: log.partition().clone(),
                outcome: Ok(cleaned),
            })
            .into_iter()
            .collect());
    }
    let mut passes = Vec::new();
    let mut seen = BTreeSet::new();
    while options.max_logs == 0 || passes.len() < options.max_logs as usize {
        in_time()?;
        let Some(pass) = manager.clean_filthiest(&wanted, &seen)? else {
            break;
        };
        if is_dry || pass.outcome.is_err() {
            seen.insert(pass.partition.clone());
        }
        passes.push(pass);
    }
    Ok(passes)
}

fn result_of(passes: &[CleanedLog], is_named: bool, started: TimestampMs) -> klog_clean_result {
    let stats = total(passes);
    let done = passes.iter().filter_map(|pass| pass.outcome.as_ref().ok());
    let end = done.clone().next_back().filter(|_| is_named);
    let elapsed_ms = SystemClock.now().0.saturating_sub(started.0);
    klog_clean_result {
        struct_size: 0,
        flags: 0,
        logs_cleaned: done.count() as u64,
        bytes_read: stats.read_bytes,
        bytes_written: stats.written_bytes,
        records_read: stats.read_records,
        records_kept: stats.kept_records(),
        dropped_superseded: stats.records(Fate::DropSuperseded),
        dropped_tombstones: stats.records(Fate::DropTombstone),
        dropped_no_key: stats.records(Fate::DropNoKey),
        dropped_aborted: stats.records(Fate::DropAborted),
        dropped_markers: stats.records(Fate::DropMarker),
        map_slots: stats.map_slots,
        map_slots_used: stats.map_keys,
        elapsed_ms: u64::try_from(elapsed_ms).unwrap_or(0),
        throttled_ms: stats.throttled_ms,
        first_dirty_offset: end.map_or(-1, |cleaned| cleaned.end.0),
        reserved: [0; 4],
    }
}

/// How far the pass is that runs on a log, in whatever thread; KLOG_CLEAN_PHASE_IDLE if none does.
///
/// Thread class T0, cost class C0. err is nullable; out is required.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_clean_get_progress(
    log: klog_log,
    out: *mut klog_clean_progress,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_clean_get_progress", err, |call| {
        check_required(out, "out")?;
        check_output(out, "out")?;
        handles::with_log(call, log, Access::Look, |open| {
            let running = manager_of(open)?.cleaning_progress(&open.log);
            let phase = running.map_or(Phase::Idle, |running| running.phase);
            copy_growable(
                out,
                klog_clean_progress {
                    struct_size: 0,
                    flags: 0,
                    phase: match phase {
                        Phase::Idle => KLOG_CLEAN_PHASE_IDLE,
                        Phase::Mapping => KLOG_CLEAN_PHASE_MAP,
                        Phase::Copying => KLOG_CLEAN_PHASE_COPY,
                        Phase::Swapping => KLOG_CLEAN_PHASE_SWAP,
                    },
                    reserved0: 0,
                    bytes_done: running.map_or(0, |running| running.bytes_done),
                    bytes_total: running.map_or(0, |running| running.bytes_total),
                    first_dirty_offset: running.map_or(-1, |running| running.first_dirty.0),
                    end_offset: running.map_or(-1, |running| running.end.0),
                    started_ms: running.map_or(-1, |running| running.started.0),
                    reserved: [0; 3],
                },
            );
            Ok(())
        })
    })
}

/// Lets no pass of the cleaner run on a log until klog_clean_resume; one that runs is ended, and waited for. Pauses count:
/// each needs its resume. They end with the manager.
///
/// Thread class T0, cost class C4. err is nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_clean_pause(log: klog_log, err: *mut klog_error) -> klog_status {
    guard("klog_clean_pause", err, |call| {
        handles::with_log(call, log, Access::Change, |open| {
            manager_of(open)?.pause_cleaning(open.log.partition())
        })
    })
}

/// Takes back one klog_clean_pause. KLOG_ERR_INVALID_ARGUMENT if the log is not paused.
///
/// Thread class T0, cost class C1. err is nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_clean_resume(log: klog_log, err: *mut klog_error) -> klog_status {
    guard("klog_clean_resume", err, |call| {
        handles::with_log(call, log, Access::Change, |open| {
            manager_of(open)?.resume_cleaning(open.log.partition())
        })
    })
}

/// Waits until the cleaner has come to an offset: until the log's checkpoint is at or above it. timeout_ms 0 only looks, -1
/// waits without end.
///
/// KLOG_ERR_TIMED_OUT if the time passed first, KLOG_ERR_CANCELLED if cancel was fired. cancel may be null.
///
/// Thread class T0, cost class C4. err is nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_clean_await(
    log: klog_log,
    offset: i64,
    timeout_ms: i64,
    cancel: klog_cancel,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_clean_await", err, |call| {
        if timeout_ms < -1 {
            return Err(Error::invalid_argument(format!(
                "timeout_ms is {timeout_ms}; 0 only looks, -1 waits without end"
            )));
        }
        let in_time = go_on(cancel, timeout_ms)?;
        let go_on = || {
            if timeout_ms == 0 {
                return Err(Error::new(
                    ErrorKind::TimedOut,
                    format!("the log is not clean up to {offset} yet"),
                ));
            }
            in_time()
        };
        handles::with_log(call, log, Access::Look, |open| {
            manager_of(open)?.await_cleaned(&open.log, Offset(offset), &go_on)
        })
    })
}
