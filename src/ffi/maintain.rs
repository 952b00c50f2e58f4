//! Retention, deletion, and what is to be done from time to time.

use std::sync::Arc;

use super::args::{check_flags, check_output, copy_growable};
use super::constants::*;
use super::guard::guard;
use super::handles::{self, Access, OpenLog};
use super::types::{
    klog_error, klog_log, klog_manager, klog_retain_result, klog_status, klog_tick_result,
};
use crate::error::{Error, ErrorKind, Result};
use crate::log::Log;
use crate::manager::{Manager, Pass, Retained};
use crate::types::{Offset, TimestampMs};

/// The manager that a log is of.
pub(crate) fn manager_of(open: &OpenLog) -> Result<Arc<Manager>> {
    open.log.check_open()?;
    open.manager
        .upgrade()
        .ok_or_else(|| Error::new(ErrorKind::Closed, "the manager of the log is closed"))
}

/// One pass of retention: over one log, or with a log of id 0 over all that are managed and not compacted. Segments go from
/// the oldest on that lie below the log start, are too much for retention.bytes or too old for retention.ms. Their files are
/// renamed now and removed after file.delete.delay.ms; who reads them goes on. With KLOG_DRY_RUN nothing goes.
///
/// A topic is managed if it was given a configuration, or klog made the log since the manager was opened. A log that is named
/// is taken whether it is managed or not.
///
/// Thread class T0, cost class C3. out and err are nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_retain(
    manager: klog_manager,
    only: klog_log,
    flags: u32,
    out: *mut klog_retain_result,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_retain", err, |call| {
        check_flags(flags, KLOG_DRY_RUN, "flags")?;
        if !out.is_null() {
            check_output(out, "out")?;
        }
        let pass = if flags & KLOG_DRY_RUN == 0 {
            Pass::Apply
        } else {
            Pass::DryRun
        };
        let named: Option<Arc<Log>> = match only.id {
            0 => None,
            _ => Some(handles::with_log(call, only, Access::Look, |open| {
                Ok(Arc::clone(&open.log))
            })?),
        };
        let done: Vec<Retained> =
            handles::with_manager(call, manager, Access::Change, |open| match &named {
                Some(log) => Ok(vec![open.manager.retain(log, pass)?]),
                None => open.manager.retain_all(pass),
            })?;
        if !out.is_null() {
            copy_growable(
                out,
                klog_retain_result {
                    struct_size: 0,
                    flags: 0,
                    segments_deleted: done.iter().map(|r| r.deleted.segments as u64).sum(),
                    bytes_deleted: done.iter().map(|r| r.deleted.bytes).sum(),
                    log_start_offset: match (&named, done.first()) {
                        (Some(_), Some(one)) => one.log_start.0,
                        _ => Offset::NONE.0,
                    },
                    reserved: [0; 4],
                },
            );
        }
        Ok(())
    })
}

/// Deletes a log: it is gone for every call when this returns, and another one may be made under its name. Reads that run
/// go on; handles answer KLOG_ERR_UNKNOWN_TOPIC_OR_PARTITION. Its files are removed after the default file.delete.delay.ms,
/// by klog_tick, or by the manager that opens the directory next.
///
/// Thread class T2, cost class C3. flags is 0; err is nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_log_delete(log: klog_log, flags: u32, err: *mut klog_error) -> klog_status {
    guard("klog_log_delete", err, |call| {
        check_flags(flags, 0, "flags")?;
        handles::with_log(call, log, Access::Change, |open| {
            manager_of(open)?.delete_log(open.log.partition())
        })
    })
}

/// Runs what is due: retention, flushes by time, checkpoints, removal of files and logs, expiry of producers, under the keys
/// and with the periods that Kafka has. With KLOG_OPEN_MANUAL_CLOCK the manager's clock is set to now_ms first, if that is
/// not -1; else now_ms must be -1. budget_us must be 0: all that is due is done.
///
/// Thread class T0, cost class C3. out and err are nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_tick(
    manager: klog_manager,
    now_ms: i64,
    budget_us: i64,
    out: *mut klog_tick_result,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_tick", err, |call| {
        if !out.is_null() {
            check_output(out, "out")?;
        }
        if budget_us != 0 {
            return Err(Error::invalid_argument(
                "budget_us must be 0: a tick does all that is due",
            ));
        }
        let done = handles::with_manager(call, manager, Access::Change, |open| {
            match (&open.clock, now_ms) {
                (_, -1) => {}
                (Some(clock), now_ms) => clock.set(TimestampMs(now_ms)),
                (None, _) => {
                    return Err(Error::invalid_argument(
                        "now_ms must be -1: the manager goes by the machine's clock",
                    ));
                }
            }
            open.manager.tick()
        })?;
        if !out.is_null() {
            copy_growable(
                out,
                klog_tick_result {
                    struct_size: 0,
                    tasks_run: u32::try_from(done.tasks.len()).unwrap_or(u32::MAX),
                    next_due_ms: done.next_due.map_or(i64::MAX, |due| due.0),
                    reserved: [0; 2],
                },
            );
        }
        Ok(())
    })
}
