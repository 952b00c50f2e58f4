//! Who waits for a log, and is woken when an end passes an offset, or the log is cut, closed, deleted, or out of use.
//!
//! **No wake-up is lost.** Who waits enlists first and looks then; who changes an end stores it first and asks then whether
//! anybody is enlisted. All four accesses are sequentially consistent, so one of the two sees the other. Being woken is a
//! hint: the one that was woken looks again, and enlists again if it was for nothing.
//!
//! **An append pays one load** while nobody waits. Else it looks at those whose offset was passed, under the append lock; each
//! is woken once and taken off the list. Those that wait for what is far ahead cost next to nothing, however many they are.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::Log;
use super::health::DirHealth;
use super::watch::{WaitKind, Watch};
use crate::io::Bell;
use crate::types::Offset;

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

#[derive(Debug)]
struct Entries {
    next_id: u64,
    waiting: BTreeMap<u64, Entry>,
    /// The same by the offsets that have to be passed, for each [`WaitKind`].
    by_offset: [BTreeSet<(Offset, u64)>; WaitKind::ALL.len()],
    /// Where the log ended at the last look, and how often it was cut by then.
    end_seen: Offset,
    cuts_seen: u64,
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
            let left = entries.remove(self.id);
            self.list
                .count
                .store(entries.waiting.len(), Ordering::SeqCst);
            left
        };
        // Not under the lock: it may be the last reference to what was to be woken.
        drop(left);
    }
}

impl Default for Entries {
    fn default() -> Self {
        Self {
            next_id: 0,
            waiting: BTreeMap::new(),
            by_offset: <[_; WaitKind::ALL.len()]>::default(),
            end_seen: Offset::ZERO,
            cuts_seen: 0,
            health: Weak::new(),
            at_end: Vec::new(),
        }
    }
}

impl Entries {
    fn set_of(&mut self, kind: WaitKind) -> Option<&mut BTreeSet<(Offset, u64)>> {
        self.by_offset.get_mut(kind as usize)
    }

    fn add(&mut self, entry: Entry) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        let condition = *entry.watch.condition();
        if let Some(set) = self.set_of(condition.kind) {
            set.insert((condition.offset, id));
        }
        self.waiting.insert(id, entry);
        id
    }

    fn remove(&mut self, id: u64) -> Option<Entry> {
        let entry = self.waiting.remove(&id)?;
        let condition = *entry.watch.condition();
        if let Some(set) = self.set_of(condition.kind) {
            set.remove(&(condition.offset, id));
        }
        Some(entry)
    }

    /// Takes those off the list that have something to see.
    fn take_due(&mut self, log: &Log) -> Vec<Entry> {
        let mut ids = Vec::new();
        let cuts = log.cut_count();
        if cuts == self.cuts_seen {
            for (kind, set) in WaitKind::ALL.iter().zip(&self.by_offset) {
                let passed = (log.end_of(*kind), 0);
                ids.extend(set.range(..passed).map(|(_, id)| *id));
            }
        } else {
            self.cuts_seen = cuts;
            // It may have been cut below any of them.
            for entry in self.waiting.values() {
                entry.watch.saw_end(self.end_seen);
            }
            ids.extend(self.waiting.keys());
        }
        self.end_seen = log.end_offset();
        ids.retain(|id| {
            let entry = self.waiting.get_mut(id);
            entry.is_some_and(|entry| entry.watch.is_due(log))
        });
        ids.into_iter().filter_map(|id| self.remove(id)).collect()
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
            let due = entries.take_due(log);
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
            entries.by_offset = <[_; WaitKind::ALL.len()]>::default();
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
        if entries.waiting.is_empty() {
            // Nobody looked since.
            entries.end_seen = self.end_offset();
            entries.cuts_seen = self.cut_count();
        }
        let id = entries.add(Entry {
            watch: watch.clone(),
            wake,
        });
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
