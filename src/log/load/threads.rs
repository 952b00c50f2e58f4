//! Threads that a load may use beside the one that runs it.

use std::sync::atomic::{AtomicUsize, Ordering};

/// How many threads are free to help; shared by the loads of a manager, so that together they are never more than
/// `num.recovery.threads.per.data.dir` allows.
#[derive(Debug, Default)]
pub struct SpareThreads(AtomicUsize);

impl SpareThreads {
    /// So many more are free.
    pub fn add(&self, n: usize) {
        self.0.fetch_add(n, Ordering::SeqCst);
    }

    /// Takes one, until the answer is dropped; `None` if none is free.
    pub(super) fn take(&self) -> Option<Taken<'_>> {
        self.0
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |free| {
                free.checked_sub(1)
            })
            .is_ok()
            .then_some(Taken(self))
    }
}

/// A thread that is in use.
pub(super) struct Taken<'s>(&'s SpareThreads);

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.0.add(1);
    }
}
