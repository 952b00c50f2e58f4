//! A thread that appends what appenders hold when nobody waits for it. One does for all appenders of a manager: with callers
//! that wait it has nothing to do, since those append themselves.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;

use parking_lot::Mutex;

use super::Core;
use crate::error::Result;
use crate::io::{Bell, Deadline, thread};

/// The thread. It ends when this is stopped or dropped; what is not appended by then waits for who waits for it.
#[derive(Debug)]
pub struct AppenderThread {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
    process: u32,
}

#[derive(Debug, Default)]
struct Shared {
    calls: Mutex<Calls>,
    bell: Bell,
    is_stopped: AtomicBool,
    has_panicked: Arc<AtomicBool>,
}

/// Which appender wants it, and when.
#[derive(Debug, Default)]
struct Calls {
    count: u64,
    waiting: BTreeMap<(Deadline, u64), Weak<Core>>,
}

impl AppenderThread {
    /// Starts it. If an append panics `has_panicked` is set, and the thread goes on with the others.
    pub fn start(has_panicked: Arc<AtomicBool>) -> Result<Self> {
        let shared = Arc::new(Shared {
            has_panicked,
            ..Shared::default()
        });
        let own = Arc::clone(&shared);
        let thread = thread::spawn("klog-appender", move || own.run())?;
        Ok(Self {
            shared,
            thread: Mutex::new(Some(thread)),
            process: std::process::id(),
        })
    }

    /// Ends it, after the append that runs.
    pub fn stop(&self) {
        self.shared.is_stopped.store(true, Ordering::SeqCst);
        self.shared.bell.ring();
        let Some(thread) = self.thread.lock().take() else {
            return;
        };
        // It may be the one that drops the last reference to itself.
        if thread.thread().id() != std::thread::current().id() {
            let _ = thread.join();
        }
    }

    /// Lets it come to an appender then.
    pub(super) fn call(&self, at: Deadline, core: Weak<Core>) {
        {
            let mut calls = self.shared.calls.lock();
            calls.count += 1;
            let count = calls.count;
            calls.waiting.insert((at, count), core);
        }
        self.shared.bell.ring();
    }
}

impl Drop for AppenderThread {
    fn drop(&mut self) {
        if self.process == std::process::id() {
            self.stop();
        } else {
            // A forked child has no such thread.
            std::mem::forget(self.thread.get_mut().take());
        }
    }
}

impl Shared {
    fn run(&self) {
        loop {
            let heard = self.bell.listen();
            if self.is_stopped.load(Ordering::SeqCst) {
                return;
            }
            let (due, next) = self.take_due();
            for core in due.iter().filter_map(Weak::upgrade) {
                if catch_unwind(AssertUnwindSafe(|| core.come())).is_err() {
                    self.has_panicked.store(true, Ordering::SeqCst);
                }
            }
            if due.is_empty() {
                self.bell.sleep(heard, next);
            }
        }
    }

    /// Those whose time has come, and when the next one's does.
    fn take_due(&self) -> (Vec<Weak<Core>>, Deadline) {
        let mut calls = self.calls.lock();
        let mut due = Vec::new();
        loop {
            match calls.waiting.first_entry() {
                Some(first) if first.key().0.has_passed() => due.push(first.remove()),
                Some(first) => return (due, first.key().0),
                None => return (due, Deadline::NEVER),
            }
        }
    }
}
