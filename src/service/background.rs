//! Threads that do what is due, for programs that do not want to call [`Manager::tick`] themselves.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::error::{Error, ErrorKind, Result};
use crate::io::thread;
use crate::manager::Manager;

/// The longest that the thread sleeps: the clock may be set, and keys may change.
const LONGEST_WAIT_MS: i64 = 1000;

/// A thread that runs a manager's tasks when they are due, and `log.cleaner.threads` that clean its logs, more or fewer when
/// that changes. They end when this is dropped, after the task that runs; a pass of the cleaner ends early.
#[derive(Debug)]
pub struct Background {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    is_stopped: Mutex<bool>,
    wake: Condvar,
    /// The failure of the last tick that failed.
    failure: Mutex<Option<Error>>,
    has_panicked: Arc<AtomicBool>,
    /// The threads that clean, by number.
    cleaners: Mutex<Vec<JoinHandle<()>>>,
}

impl Background {
    /// Starts the threads. They hold no manager that its program has dropped. If a task panics its thread ends, and
    /// `has_panicked` is set.
    pub fn start(manager: &Arc<Manager>, has_panicked: Arc<AtomicBool>) -> Result<Self> {
        let shared = Arc::new(Shared {
            has_panicked,
            ..Shared::default()
        });
        let mut started = Self {
            shared: Arc::clone(&shared),
            thread: None,
        };
        if manager.config().broker.cleaner.enable {
            manager.clean_in_threads();
            shared.adjust_cleaners(manager)?;
        }
        let weak = Arc::downgrade(manager);
        started.thread = Some(thread::spawn("klog-background", move || {
            run(&weak, &shared);
        })?);
        Ok(started)
    }

    /// What the last task that failed met. A task is tried again in its time; a directory that a failure took offline says so
    /// itself.
    #[must_use]
    pub fn last_failure(&self) -> Option<Error> {
        self.shared.failure.lock().clone()
    }

    /// How many threads clean now.
    #[must_use]
    pub fn cleaner_threads(&self) -> usize {
        let cleaners = self.shared.cleaners.lock();
        cleaners.iter().filter(|c| !c.is_finished()).count()
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        *self.shared.is_stopped.lock() = true;
        self.shared.wake.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        for thread in self.shared.cleaners.lock().drain(..) {
            let _ = thread.join();
        }
    }
}

impl Shared {
    /// Lets as many threads clean as the configuration says. One that is too many ends after its pass; one that ended by a
    /// defect is not replaced.
    fn adjust_cleaners(self: &Arc<Self>, manager: &Arc<Manager>) -> Result<()> {
        let cleaner = &manager.config().broker.cleaner;
        if !cleaner.enable || self.has_panicked.load(Ordering::SeqCst) {
            return Ok(());
        }
        let mut cleaners = self.cleaners.lock();
        // Those with the highest numbers end first.
        while cleaners.last().is_some_and(JoinHandle::is_finished) {
            if let Some(ended) = cleaners.pop() {
                let _ = ended.join();
            }
        }
        for number in cleaners.len()..cleaner.threads as usize {
            let (weak, shared) = (Arc::downgrade(manager), Arc::clone(self));
            cleaners.push(thread::spawn(
                &format!("klog-cleaner-{number}"),
                move || {
                    clean(&weak, &shared, number);
                },
            )?);
        }
        Ok(())
    }

    /// Waits, unless it is all over. Whether it is.
    fn is_over_after(&self, wait_ms: u64) -> bool {
        let mut is_stopped = self.is_stopped.lock();
        if !*is_stopped {
            self.wake
                .wait_for(&mut is_stopped, Duration::from_millis(wait_ms));
        }
        *is_stopped
    }

    fn fail(&self, error: Error) {
        *self.failure.lock() = Some(error);
    }

    fn note_panic(&self) {
        self.has_panicked.store(true, Ordering::SeqCst);
        self.fail(Error::new(
            ErrorKind::Panic,
            "a task in the background failed by a defect",
        ));
    }
}

/// A thread of the cleaner: turn after turn, with a pause when there is nothing to clean.
fn clean(manager: &Weak<Manager>, shared: &Shared, number: usize) {
    let cancel = || {
        if *shared.is_stopped.lock() {
            return Err(Error::new(
                ErrorKind::Cancelled,
                "the thread of the cleaner was asked to end",
            ));
        }
        Ok(())
    };
    loop {
        let wait_ms = {
            let Some(manager) = manager.upgrade() else {
                return;
            };
            if number >= manager.config().broker.cleaner.threads as usize {
                return;
            }
            let turn = catch_unwind(AssertUnwindSafe(|| manager.clean_turn(Some(&cancel))));
            let backoff_ms = manager.config().broker.cleaner.backoff_ms;
            match turn {
                Err(_) => {
                    manager.note_dead_cleaner();
                    return shared.note_panic();
                }
                Ok(Ok(true)) => 0,
                Ok(Ok(false)) => backoff_ms,
                Ok(Err(e)) if e.kind() == ErrorKind::Closed => return,
                Ok(Err(e)) => {
                    shared.fail(e);
                    backoff_ms
                }
            }
        };
        if shared.is_over_after(u64::try_from(wait_ms).unwrap_or(0)) {
            return;
        }
    }
}

fn run(manager: &Weak<Manager>, shared: &Arc<Shared>) {
    loop {
        let wait_ms = {
            let Some(manager) = manager.upgrade() else {
                return;
            };
            if let Err(e) = shared.adjust_cleaners(&manager) {
                shared.fail(e);
            }
            let Ok(ticked) = catch_unwind(AssertUnwindSafe(|| manager.tick())) else {
                return shared.note_panic();
            };
            match ticked {
                Ok(done) => done.next_due.map_or(LONGEST_WAIT_MS, |due| {
                    due.0.saturating_sub(manager.clock().now().0)
                }),
                Err(e) if e.kind() == ErrorKind::Closed => return,
                Err(e) => {
                    shared.fail(e);
                    LONGEST_WAIT_MS
                }
            }
        };
        let wait_ms = u64::try_from(wait_ms.clamp(1, LONGEST_WAIT_MS)).unwrap_or(1);
        if shared.is_over_after(wait_ms) {
            return;
        }
    }
}
