//! Group commit: many small appends of many threads in few batches.

use std::ffi::c_void;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::append::{give_result, push_packed, push_record};
use super::args::{
    array, bytes, check_flags, check_output, check_required, check_reserved, read_input, size,
};
use super::cancel::{patience, token};
use super::config::put_handle;
use super::constants::*;
use super::guard::guard;
use super::handles::{self, Access, Kind, Object, Removed};
use super::many::shared_options;
use super::types::{
    klog_append_result, klog_appender, klog_appender_options, klog_cancel, klog_error, klog_log,
    klog_record, klog_status,
};
use crate::error::{Error, Result};
use crate::format::packed::PackedReader;
use crate::io::Deadline;
use crate::service::{Appender, AppenderOptions, AppenderThread, Leftover, Ticket};

/// The thread of a manager's appenders: started for the first one, if its program wants threads of the library.
#[derive(Default)]
pub(crate) struct Appending {
    state: Mutex<ThreadState>,
    has_panicked: Arc<std::sync::atomic::AtomicBool>,
}

#[derive(Default)]
enum ThreadState {
    #[default]
    Unwanted,
    NotStarted,
    Runs(Arc<AppenderThread>),
}

impl Appending {
    /// With a thread, or without; a panic in it sets `has_panicked`.
    pub(crate) fn new(
        has_thread: bool,
        has_panicked: Arc<std::sync::atomic::AtomicBool>,
    ) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(if has_thread {
                ThreadState::NotStarted
            } else {
                ThreadState::Unwanted
            }),
            has_panicked,
        })
    }

    fn thread(&self) -> Result<Option<Arc<AppenderThread>>> {
        let mut state = self.state.lock();
        if matches!(*state, ThreadState::NotStarted) {
            let thread = AppenderThread::start(Arc::clone(&self.has_panicked))?;
            *state = ThreadState::Runs(Arc::new(thread));
        }
        Ok(match &*state {
            ThreadState::Runs(thread) => Some(Arc::clone(thread)),
            _ => None,
        })
    }

    /// Ends the thread, for good.
    pub(crate) fn end(&self) {
        let state = std::mem::replace(&mut *self.state.lock(), ThreadState::Unwanted);
        if let ThreadState::Runs(thread) = state {
            thread.stop();
        }
    }
}

/// Opens an appender for a log: what many threads add in small lots is appended in few batches, and with KLOG_DURABILITY_FSYNC
/// synced together. What is added is in the log in the order of its tickets.
///
/// Who waits does the work: a call that waits for a ticket, flushes, or finds the queue full appends what is there, for all
/// others too, unless another one does it already. With background_threads of the manager other than 0 one thread of the
/// library does it for the batches that nobody waits for, when they are full or opts->linger_us has passed. Without, there is
/// none, and what nobody waits for stays where it is until the queue is full, or the close.
///
/// With KLOG_APPEND_HAS_PRODUCER the sequence numbers begin at base_sequence and go on from batch to batch; a batch that is
/// refused uses none.
///
/// Thread class T2, cost class C1. opts and err are nullable; out is required, null on failure. KLOG_ERR_INVALID_ARGUMENT with
/// KLOG_APPEND_IF_LOG_END, record_errors or another origin than KLOG_ORIGIN_CLIENT.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_appender_open(
    log: klog_log,
    opts: *const klog_appender_options,
    out: *mut klog_appender,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_appender_open", err, |call| {
        check_required(out, "out")?;
        let opened = (|| {
            let options = options(&read_input(opts)?)?;
            handles::with_log(call, log, Access::Change, |open| {
                open.log.check_open()?;
                let options = AppenderOptions {
                    thread: open.appending.thread()?,
                    ..options
                };
                let appender = Appender::open(&open.log, options)?;
                handles::add_appender(appender, Arc::clone(&open.poison))
            })
        })();
        put_handle(out, opened, klog_appender { id: 0 })
    })
}

fn options(given: &klog_appender_options) -> Result<AppenderOptions> {
    check_flags(given.flags, 0, "opts.flags")?;
    check_reserved(&given.reserved, "opts")?;
    let linger_us = u64::try_from(given.linger_us).map_err(|_| {
        Error::invalid_argument(format!(
            "opts.linger_us is {}; it may be 0 or more",
            given.linger_us
        ))
    })?;
    let default = AppenderOptions::default();
    let bytes = |value, name, default| match value {
        0 => Ok(default),
        value => size(value, name),
    };
    Ok(AppenderOptions {
        append: shared_options(&read_input(given.append)?)?,
        batch_bytes: bytes(given.batch_bytes, "opts.batch_bytes", default.batch_bytes)?,
        queue_bytes: bytes(given.queue_bytes, "opts.queue_bytes", default.queue_bytes)?,
        linger: Duration::from_micros(linger_us),
        thread: None,
    })
}

/// Adds records, all or nothing, to be appended together and in this order. They are copied, and checked as far as they can be
/// by themselves; what the log says of them, klog_appender_wait tells. The batch that they are in is refused as a whole. *ticket
/// stands for them; 0 if count is 0. Adding does not sleep but while opts->queue_bytes are not appended yet.
///
/// KLOG_ERR_QUEUE_FULL if the queue is full, timeout_ms is 0 and another call appends what is in it (if none does, this one does), KLOG_ERR_TIMED_OUT if it was full for timeout_ms (-1: no
/// limit): then, and after any other error, nothing was added. KLOG_ERR_CLOSED once the appender or the manager is closed.
///
/// Thread class T0, cost class C4. records is required unless count is 0; ticket and err are nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_appender_add(
    appender: klog_appender,
    records: *const klog_record,
    count: usize,
    timeout_ms: i64,
    ticket: *mut u64,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_appender_add", err, |call| {
        let records = array(records, count, "records")?;
        let patience = patience(Deadline::after(timeout_ms)?, None);
        let added = handles::with_appender(call, appender, |appender| {
            let now = appender.now();
            appender.add(&patience, |builder| {
                records
                    .iter()
                    .enumerate()
                    .try_for_each(|(index, record)| push_record(builder, record, index, now))
            })
        })?;
        give_ticket(ticket, added);
        Ok(())
    })
}

/// As klog_appender_add, from a packed buffer of len bytes (docs/format.md describes it).
///
/// Thread class T0, cost class C4. packed is required; ticket and err are nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_appender_add_packed(
    appender: klog_appender,
    packed: *const c_void,
    len: usize,
    timeout_ms: i64,
    ticket: *mut u64,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_appender_add_packed", err, |call| {
        check_required(packed, "packed")?;
        let reader = PackedReader::new(bytes(packed, len, "packed")?)?;
        let patience = patience(Deadline::after(timeout_ms)?, None);
        let added = handles::with_appender(call, appender, |appender| {
            let now = appender.now();
            appender.add(&patience, |builder| {
                push_packed(builder, &mut reader.clone(), now)
            })
        })?;
        give_ticket(ticket, added);
        Ok(())
    })
}

fn give_ticket(out: *mut u64, ticket: Ticket) {
    if !out.is_null() {
        // SAFETY: not null, and the header requires a uint64_t there.
        unsafe { out.write_unaligned(ticket.0) };
    }
}

/// Waits until the records of a ticket are appended, and durable with KLOG_DURABILITY_FSYNC. out->first_offset, last_offset
/// and records are those of the ticket; the rest is that of the batch that holds them. Any thread may wait for a ticket, any
/// number of times: the results of the last 16000 adds at least are kept.
///
/// Fails as the append of the batch did, for each of its tickets. KLOG_ERR_TIMED_OUT after timeout_ms (0: not at all, -1: no
/// limit), KLOG_ERR_CANCELLED once cancel was fired: the records are still on their way, and can be waited for again. A call
/// that appends for all is not interrupted in it. KLOG_ERR_CLOSED if they were dropped by a close.
/// KLOG_ERR_INVALID_ARGUMENT for a ticket that this appender did not give out, or whose result is not kept. What was appended
/// is told also after the manager's close.
///
/// Thread class T0, cost class C4. cancel may be null; out and err are nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_appender_wait(
    appender: klog_appender,
    ticket: u64,
    timeout_ms: i64,
    cancel: klog_cancel,
    out: *mut klog_append_result,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_appender_wait", err, |call| {
        if !out.is_null() {
            check_output(out, "out")?;
        }
        let deadline = Deadline::after(timeout_ms)?;
        let token = token(cancel)?;
        let result = handles::with_appender(call, appender, |appender| {
            appender.wait(Ticket(ticket), &patience(deadline, token.as_ref()))
        })?;
        give_result(out, &result, 0);
        Ok(())
    })
}

/// Waits until everything is appended that was added before, and durable with KLOG_DURABILITY_FSYNC. The first failure since
/// the last flush is answered, also that of records that nobody waited for.
///
/// KLOG_ERR_TIMED_OUT after timeout_ms; 0 does not sleep, -1 is no limit. After the manager's close it is KLOG_OK if there is
/// nothing that was not appended.
///
/// Thread class T0, cost class C4. err is nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_appender_flush(
    appender: klog_appender,
    timeout_ms: i64,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_appender_flush", err, |call| {
        let patience = patience(Deadline::after(timeout_ms)?, None);
        handles::with_appender(call, appender, |appender| appender.flush(&patience))
    })
}

/// Ends the appender, after a flush; with KLOG_CLOSE_DISCARD what is not being appended yet is dropped, and its tickets answer
/// KLOG_ERR_CLOSED to those that wait. The handle ends in any case, also if the flush fails: its failure is the answer. Close
/// appenders before their manager: of a closed one what is left is dropped.
///
/// Thread class T2, cost class C2, with KLOG_DURABILITY_FSYNC C3. err is nullable.
#[unsafe(no_mangle)]
pub extern "C" fn klog_appender_close(
    appender: klog_appender,
    flags: u32,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_appender_close", err, |call| {
        check_flags(flags, KLOG_CLOSE_DISCARD, "flags")?;
        match handles::remove(Kind::Appender, appender.id)? {
            Removed::Inherited => Ok(()),
            Removed::Own(taken) => match taken.object() {
                Object::Appender(appender, poison) => {
                    call.works_on(poison);
                    let is_poisoned = poison.load(std::sync::atomic::Ordering::SeqCst);
                    if flags & KLOG_CLOSE_DISCARD != 0 || is_poisoned {
                        appender.close(Leftover::Drop)
                    } else {
                        appender.close(Leftover::Append)
                    }
                }
                _ => Err(handles::wrong_object()),
            },
        }
    })
}
