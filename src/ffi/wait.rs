//! Waiting for one log, and readiness of many on one descriptor.

use std::ffi::c_int;
use std::sync::Arc;

use super::args::{array_mut, check_required, check_reserved, read_input};
use super::cancel::{patience, token};
use super::config::put_handle;
use super::constants::*;
use super::guard::guard;
use super::handles::{self, Access, Kind, Object, Removed};
use super::types::{
    klog_error, klog_log, klog_manager, klog_ready, klog_status, klog_wait_options, klog_waiter,
};
use crate::error::{Error, Result};
use crate::io::Deadline;
use crate::log::{Condition, WaitKind};
use crate::service::{Ready, Waiter, wait};
use crate::types::Offset;

/// Waits until the end that opts->kind names lies above opts->offset, with opts->min_bytes of stored batches from there on; at
/// once if it does already. *offset is where that end is then.
///
/// A reader waits for the offset that it would read next. One can also wait for an offset far ahead: the log need not have it
/// yet. The end may have moved on when the call returns, or have been cut back.
///
/// KLOG_ERR_TIMED_OUT if it did not come in opts->timeout_ms: 0 only looks, -1 waits without limit. KLOG_ERR_CANCELLED once
/// opts->cancel was fired. KLOG_ERR_CLOSED once this handle, or the manager, is closed; KLOG_ERR_UNKNOWN_TOPIC_OR_PARTITION once
/// the log is deleted; KLOG_ERR_OFFSET_OUT_OF_RANGE if the log is cut meanwhile so that it ends below opts->offset, which lay in
/// it before: err->offset is the log end; KLOG_ERR_DIR_OFFLINE if the log's directory is out of use, so that nothing can come.
/// Of a read-only manager klog_manager_refresh lets what its owner did count.
///
/// Thread class T0, cost class C4. opts is required; offset and err are nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_wait(
    log: klog_log,
    opts: *const klog_wait_options,
    offset: *mut i64,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_wait", err, |call| {
        check_required(opts, "opts")?;
        let options = read_input(opts)?;
        let condition = condition(&options)?;
        let deadline = Deadline::after(options.timeout_ms)?;
        let token = token(options.cancel)?;
        handles::with_log(call, log, Access::Look, |open| {
            let patience = patience(deadline, token.as_ref()).ended_by(&open.ending);
            let reached = wait(&open.log, condition, &patience)?;
            if !offset.is_null() {
                // SAFETY: not null, and the header requires an int64_t there.
                unsafe { offset.write_unaligned(reached.0) };
            }
            Ok(())
        })
    })
}

fn condition(options: &klog_wait_options) -> Result<Condition> {
    check_reserved(&options.reserved, "opts")?;
    if options.offset < 0 {
        return Err(Error::invalid_argument(format!(
            "opts.offset is {}; an offset is 0 or more",
            options.offset
        )));
    }
    Ok(Condition {
        kind: match options.kind {
            KLOG_WAIT_LOG_END => WaitKind::LogEnd,
            KLOG_WAIT_HIGH_WATERMARK => WaitKind::HighWatermark,
            KLOG_WAIT_LAST_STABLE => WaitKind::LastStable,
            KLOG_WAIT_DURABLE => WaitKind::Durable,
            other => {
                return Err(Error::invalid_argument(format!(
                    "opts.kind {other} is none of the KLOG_WAIT_ constants"
                )));
            }
        },
        offset: Offset(options.offset),
        min_bytes: options.min_bytes,
    })
}

fn kind_number(kind: WaitKind) -> u32 {
    match kind {
        WaitKind::LogEnd => KLOG_WAIT_LOG_END,
        WaitKind::HighWatermark => KLOG_WAIT_HIGH_WATERMARK,
        WaitKind::LastStable => KLOG_WAIT_LAST_STABLE,
        WaitKind::Durable => KLOG_WAIT_DURABLE,
    }
}

/// Opens a waiter: logs are armed with it, and those that get ready are taken together. One does for thousands of logs.
///
/// *fd is a descriptor of the waiter's, for poll, select, epoll or a loop that uses them; it is never to be read, written or
/// closed. It is readable while klog_waiter_poll has something to answer, entries or KLOG_ERR_CLOSED, also a timeout that has
/// passed. (It is an epoll descriptor with an eventfd and a timer in it.)
///
/// Thread class T2, cost class C1. out is required, null on failure; fd and err are nullable. KLOG_ERR_NO_FILES without
/// descriptors left.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_waiter_open(
    manager: klog_manager,
    out: *mut klog_waiter,
    fd: *mut c_int,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_waiter_open", err, |call| {
        check_required(out, "out")?;
        let opened = handles::with_manager(call, manager, Access::Look, |open| {
            let waiter = Waiter::open(&open.manager)?;
            let raw_fd = waiter.raw_fd();
            let handle = handles::add_waiter(waiter, Arc::clone(&open.poison))?;
            if !fd.is_null() {
                // SAFETY: not null, and the header requires an int there.
                unsafe { fd.write_unaligned(raw_fd) };
            }
            Ok(handle)
        });
        put_handle(out, opened, klog_waiter { id: 0 })
    })
}

/// Arms the waiter for a log, once: when klog_wait with these options would answer, a poll gives an entry, with user_data. To
/// go on waiting arm it again. opts->timeout_ms counts from now: when it has passed the entry comes with KLOG_ERR_TIMED_OUT, so 0
/// is an entry at the next poll; -1 is no limit. A log may be armed several times, each gives an entry; it need not be of the
/// waiter's manager.
///
/// Thread class T0, cost class C1. opts is required; opts->cancel must be null, since an entry waits for nobody: close the
/// waiter, or its log's handle; err is nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_waiter_arm(
    waiter: klog_waiter,
    log: klog_log,
    opts: *const klog_wait_options,
    user_data: u64,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_waiter_arm", err, |call| {
        check_required(opts, "opts")?;
        let options = read_input(opts)?;
        let condition = condition(&options)?;
        let deadline = Deadline::after(options.timeout_ms)?;
        if options.cancel.id != 0 {
            return Err(Error::invalid_argument(
                "opts.cancel is not null: what is armed waits for nobody, and is not cancelled",
            ));
        }
        handles::with_waiter(call, waiter, |waiter| {
            handles::with_log(call, log, Access::Look, |open| {
                let ending = Some(Arc::clone(&open.ending));
                waiter.arm(&open.log, condition, deadline, (log, user_data), ending)
            })
        })
    })
}

/// Takes entries of logs that are ready, those that got ready first, as many as fit, and waits for the first one up to
/// timeout_ms: 0 not at all, -1 without limit. An entry's status is KLOG_OK and its offset where the end is that was waited for;
/// or what klog_wait would have failed with, and the offset -1. It is armed no more. *count is how many were written.
///
/// KLOG_ERR_TIMED_OUT if none was ready. KLOG_ERR_CLOSED once the waiter or the manager is closed, also for a call that waits.
///
/// Thread class T0, cost class C4. buf is required unless cap is 0; count and err are nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_waiter_poll(
    waiter: klog_waiter,
    buf: *mut klog_ready,
    cap: usize,
    count: *mut usize,
    timeout_ms: i64,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_waiter_poll", err, |call| {
        let places = array_mut(buf, cap, "buf")?;
        let deadline = Deadline::after(timeout_ms)?;
        let taken = handles::with_waiter(call, waiter, |waiter| {
            waiter.poll(places.len(), &patience(deadline, None))
        })?;
        for (place, ready) in places.iter_mut().zip(&taken) {
            *place = entry(ready);
        }
        if !count.is_null() {
            // SAFETY: not null, and the header requires a size_t there.
            unsafe { count.write_unaligned(taken.len()) };
        }
        Ok(())
    })
}

fn entry(ready: &Ready<(klog_log, u64)>) -> klog_ready {
    let (log, user_data) = ready.tag;
    let (offset, status) = match &ready.outcome {
        Ok(offset) => (offset.0, KLOG_OK),
        Err(e) => (-1, e.kind().status()),
    };
    klog_ready {
        log,
        user_data,
        offset,
        kind: kind_number(ready.condition.kind),
        status,
    }
}

/// Ends the waiter and its descriptor. What was armed is armed no more; calls that wait in it answer KLOG_ERR_CLOSED.
///
/// Thread class T2, cost class C1.
#[unsafe(no_mangle)]
pub extern "C" fn klog_waiter_close(waiter: klog_waiter) -> klog_status {
    guard("klog_waiter_close", std::ptr::null_mut(), |_| {
        if let Removed::Own(taken) = handles::remove(Kind::Waiter, waiter.id)?
            && let Object::Waiter(waiter, _) = taken.object()
        {
            waiter.close();
        }
        Ok(())
    })
}
