//! Closing a manager, at once or within a time: then a thread closes, the caller waits for it as long as it wants, and may come
//! again. Implements c-abi.md 1.2.9.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use parking_lot::Mutex;

use super::constants::KLOG_CLOSE_ABANDON;
use super::guard::Call;
use super::handles::{self, Kind, OpenManager, Removed};
use super::types::klog_manager;
use crate::error::{Error, ErrorKind, Result};
use crate::io::{Bell, Deadline, thread};

/// A close that runs, or has ended.
#[derive(Debug, Default)]
pub(crate) struct Closing {
    outcome: Mutex<Option<Result<()>>>,
    ended: Bell,
}

impl Closing {
    fn end(&self, outcome: Result<()>) {
        *self.outcome.lock() = Some(outcome);
        self.ended.ring();
    }

    /// How it ended; TIMED_OUT if it has not by then.
    fn wait(&self, deadline: Deadline) -> Result<()> {
        loop {
            let heard = self.ended.listen();
            if let Some(outcome) = &*self.outcome.lock() {
                return outcome.clone();
            }
            if deadline.has_passed() {
                return Err(Error::new(
                    ErrorKind::TimedOut,
                    "the manager is still closing: calls that were inside have not ended; close it again to wait for it",
                ));
            }
            self.ended.sleep(heard, deadline);
        }
    }
}

/// Closes a manager and ends its handle. TIMED_OUT if that is not done by the deadline: it goes on, and the handle can be closed
/// again.
pub(crate) fn close(
    call: &Call,
    manager: klog_manager,
    flags: u32,
    deadline: Deadline,
) -> Result<()> {
    if deadline != Deadline::NEVER {
        // In a forked child there is nothing to wait for.
        match handles::hold(Kind::Manager, manager.id) {
            Err(e) if e.kind() == ErrorKind::Forked => {}
            Err(e) => return Err(e),
            Ok(held) => {
                let closing = begin(&held, flags)?;
                match closing.wait(deadline) {
                    Err(e) if e.kind() == ErrorKind::TimedOut => return Err(e),
                    outcome => {
                        handles::remove(Kind::Manager, manager.id)?;
                        return outcome;
                    }
                }
            }
        }
    }
    match handles::remove(Kind::Manager, manager.id)? {
        Removed::Inherited => Ok(()),
        Removed::Own(taken) => {
            let open = taken.manager()?;
            call.works_on(&open.poison);
            match open.closing.get() {
                Some(closing) => closing.wait(Deadline::NEVER),
                None => close_now(open, flags),
            }
        }
    }
}

/// The close of this manager, which is begun if there is none.
fn begin(held: &handles::Taken, flags: u32) -> Result<Arc<Closing>> {
    let open = held.manager()?;
    let closing = open.closing.get_or_try_init(|| {
        let closing = Arc::new(Closing::default());
        let (own, held) = (Arc::clone(&closing), held.clone());
        thread::spawn("klog-close", move || {
            let closed = catch_unwind(AssertUnwindSafe(|| close_now(held.manager()?, flags)));
            own.end(closed.unwrap_or_else(|_| {
                Err(Error::new(
                    ErrorKind::Panic,
                    "a defect of klog in a close; the next open recovers",
                ))
            }));
        })?;
        Ok::<_, Error>(closing)
    })?;
    Ok(Arc::clone(closing))
}

fn close_now(open: &OpenManager, flags: u32) -> Result<()> {
    drop(open.background.lock().take());
    open.appending.end();
    if flags & KLOG_CLOSE_ABANDON != 0 || open.poison.load(Ordering::SeqCst) {
        // What a defect may have left half done must be recovered, not marked clean.
        open.manager.abandon();
        return Ok(());
    }
    open.manager.close()
}
