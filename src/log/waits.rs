//! Who waits for a log, and is woken when an end passes an offset, or the log is cut, closed, deleted, or out of use.
//!
//! **No wake-up is lost.** Who waits enlists first and looks then; who changes an end stores it first and asks then whether
//! anybody is enlisted. All four accesses are sequentially consistent, so one of the two sees the other. Being woken is a
//! hint: the one that was woken looks again, and enlists again if it was for nothing.
//!
//! **An append pays one load** while nobody waits. Else it looks through those that wait for this log, under the append
//! lock; each is woken once and taken off the list.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::Log;
use super::health::DirHealth;
use super::watch::Watch;
use crate::io::Bell;

/// Somebody to be woken. It is told once, holds no lock of the log meanwhile, and must not wait for anything.
pub(crate) trait Wake: Debug + Send + Sync {
    fn wake(&self);
}

impl Wake for Bell {
    fn wake(&self) {
        self.ring();
    }
}

/// Those that wait for a log.
#[derive(Debug, Default)]
pub(crate) struct WaitList {
    /// How many are enlisted. SeqCst: see above.
    count: AtomicUsize,
    enlisted: Mutex<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    next_id: u64,
    waiting: BTreeMap<u64, Entry>,
    /// The directory that tells this list when it goes out of use.
    health: Weak<DirHealth>,
    /// Those that want to hear of the log's end only.
    at_end: Vec<Weak<dyn Wake>>,
}

#[derive(Debug)]
struct Entry {
    watch: Watch,
    wake: Arc<dyn Wake>,
}

/// A place in the list; dropping it leaves the list.
#[derive(Debug)]
pub(crate) struct Enlisted {
    list: Arc<WaitList>,
    id: u64,
}

impl Drop for Enlisted {
    fn drop(&mut self) {
        let left = {
            let mut entries = self.list.enlisted.lock();
            let left = entries.waiting.remove(&self.id);
            self.list
                .count
                .store(entries.waiting.len(), Ordering::SeqCst);
            left
        };
        // Not under the lock: it may be the last reference to what was to be woken.
        drop(left);
    }
}

impl WaitList {
    /// Wakes those whose condition holds.
    #[inline]
    pub(super) fn notify(&self, log: &Log) {
        // Pairs with the store of `enlist`: the ends were stored before this, and whoever enlists looks at them after.
        if self.count.load(Ordering::SeqCst) != 0 {
            self.wake_due(log);
        }
    }

    #[cold]
    fn wake_due(&self, log: &Log) {
        let due = {
            let mut entries = self.enlisted.lock();
            let due: Vec<Entry> = entries
                .waiting
                .extract_if(.., |_, entry| entry.watch.is_due(log))
                .map(|(_, entry)| entry)
                .collect();
            self.count.store(entries.waiting.len(), Ordering::SeqCst);
            due
        };
        for entry in due {
            entry.wake.wake();
        }
    }

    /// Wakes all: the log, or its directory, is not what it was.
    pub(super) fn wake_all(&self) {
        let (waiting, at_end) = {
            let mut entries = self.enlisted.lock();
            self.count.store(0, Ordering::SeqCst);
            (std::mem::take(&mut entries.waiting), entries.at_end.clone())
        };
        for entry in waiting.into_values() {
            entry.wake.wake();
        }
        for wake in at_end.iter().filter_map(Weak::upgrade) {
            wake.wake();
        }
    }
}

impl Log {
    /// Lets `wake` be woken, once, when what is watched for may be there. The caller looks after this: it may be there
    /// already.
    pub(crate) fn enlist(&self, watch: &Watch, wake: Arc<dyn Wake>) -> Enlisted {
        let health = self.health();
        let mut entries = self.waits.enlisted.lock();
        self.waits.be_told_by(&mut entries, &health);
        let id = entries.next_id;
        entries.next_id += 1;
        let watch = *watch;
        entries.waiting.insert(id, Entry { watch, wake });
        // Pairs with the load of `notify`: the caller looks at the ends after this.
        self.waits
            .count
            .store(entries.waiting.len(), Ordering::SeqCst);
        Enlisted {
            list: Arc::clone(&self.waits),
            id,
        }
    }

    /// Lets `wake` be woken whenever the log is closed or deleted, or its directory goes out of use.
    pub(crate) fn wake_at_end(&self, wake: Weak<dyn Wake>) {
        let health = self.health();
        let mut entries = self.waits.enlisted.lock();
        self.waits.be_told_by(&mut entries, &health);
        entries.at_end.retain(|known| known.strong_count() > 0);
        entries.at_end.push(wake);
    }

    /// The log went to another directory: those that wait are to hear of that one.
    pub(super) fn waits_have_moved(&self) {
        let health = self.health();
        let mut entries = self.waits.enlisted.lock();
        if entries.health.strong_count() > 0 {
            self.waits.be_told_by(&mut entries, &health);
        }
    }
}

impl WaitList {
    fn be_told_by(self: &Arc<Self>, entries: &mut Entries, health: &Arc<DirHealth>) {
        if !std::ptr::eq(entries.health.as_ptr(), Arc::as_ptr(health)) {
            entries.health = Arc::downgrade(health);
            health.tell_when_offline(Arc::downgrade(self));
        }
    }
}
