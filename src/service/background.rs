//! A thread that does what is due, for programs that do not want to call [`Manager::tick`] themselves.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::error::{Error, ErrorKind, Result};
use crate::manager::Manager;

/// The longest that the thread sleeps: the clock may be set, and keys may change.
const LONGEST_WAIT_MS: i64 = 1000;

/// A thread that runs a manager's tasks when they are due. It ends when this is dropped, after the task that runs.
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
}

impl Background {
    /// Starts the thread. It holds no manager that its program has dropped. If a task panics the thread ends, and
    /// `has_panicked` is set.
    pub fn start(manager: &Arc<Manager>, has_panicked: Arc<AtomicBool>) -> Result<Self> {
        let shared = Arc::new(Shared {
            has_panicked,
            ..Shared::default()
        });
        let own = Arc::clone(&shared);
        let manager = Arc::downgrade(manager);
        let thread = std::thread::Builder::new()
            .name("klog-background".to_owned())
            .spawn(move || run(&manager, &own))
            .map_err(|e| {
                Error::new(
                    ErrorKind::Limit,
                    format!("cannot start the thread for work in the background: {e}"),
                )
            })?;
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    /// What the last task that failed met. A task is tried again in its time; a directory that a failure took offline says so
    /// itself.
    #[must_use]
    pub fn last_failure(&self) -> Option<Error> {
        self.shared.failure.lock().clone()
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        *self.shared.is_stopped.lock() = true;
        self.shared.wake.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(manager: &Weak<Manager>, shared: &Shared) {
    loop {
        let wait_ms = {
            let Some(manager) = manager.upgrade() else {
                return;
            };
            let Ok(ticked) = catch_unwind(AssertUnwindSafe(|| manager.tick())) else {
                shared.has_panicked.store(true, Ordering::SeqCst);
                *shared.failure.lock() = Some(Error::new(
                    ErrorKind::Panic,
                    "a task in the background failed by a defect",
                ));
                return;
            };
            match ticked {
                Ok(done) => done.next_due.map_or(LONGEST_WAIT_MS, |due| {
                    due.0.saturating_sub(manager.clock().now().0)
                }),
                Err(e) if e.kind() == ErrorKind::Closed => return,
                Err(e) => {
                    *shared.failure.lock() = Some(e);
                    LONGEST_WAIT_MS
                }
            }
        };
        let wait_ms = u64::try_from(wait_ms.clamp(1, LONGEST_WAIT_MS)).unwrap_or(1);
        let mut is_stopped = shared.is_stopped.lock();
        if !*is_stopped {
            shared
                .wake
                .wait_for(&mut is_stopped, Duration::from_millis(wait_ms));
        }
        if *is_stopped {
            return;
        }
    }
}
