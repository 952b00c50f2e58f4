//! Calls that sleep until something changes that they look at themselves.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use crate::log::Wake;

/// Who sleeps. Whoever enlists looks after that; whoever changes something wakes after that: so one sees the other.
#[derive(Debug, Default)]
pub(super) struct Sleepers {
    /// How many are enlisted: nobody pays for a lock when it is 0. SeqCst, as what is looked at behind it.
    count: AtomicUsize,
    enlisted: Mutex<Enlisted>,
}

#[derive(Debug, Default)]
struct Enlisted {
    next_id: u64,
    all: BTreeMap<u64, Arc<dyn Wake>>,
}

/// A place among the sleepers; dropping it leaves it.
#[derive(Debug)]
pub(super) struct Sleeping<'s> {
    sleepers: &'s Sleepers,
    id: u64,
}

impl Sleepers {
    pub(super) fn enlist(&self, wake: Arc<dyn Wake>) -> Sleeping<'_> {
        Sleeping {
            id: self.add(wake),
            sleepers: self,
        }
    }

    /// As [`Self::enlist`], for who leaves by [`Self::remove`].
    pub(super) fn add(&self, wake: Arc<dyn Wake>) -> u64 {
        let mut enlisted = self.enlisted.lock();
        let id = enlisted.next_id;
        enlisted.next_id += 1;
        enlisted.all.insert(id, wake);
        self.count.store(enlisted.all.len(), Ordering::SeqCst);
        id
    }

    pub(super) fn remove(&self, id: u64) {
        let left = {
            let mut enlisted = self.enlisted.lock();
            let left = enlisted.all.remove(&id);
            self.count.store(enlisted.all.len(), Ordering::SeqCst);
            left
        };
        drop(left);
    }

    /// Wakes all of them. They stay enlisted.
    pub(super) fn wake_all(&self) {
        if self.count.load(Ordering::SeqCst) == 0 {
            return;
        }
        let all: Vec<_> = self.enlisted.lock().all.values().cloned().collect();
        for wake in all {
            wake.wake();
        }
    }
}

impl Drop for Sleeping<'_> {
    fn drop(&mut self) {
        self.sleepers.remove(self.id);
    }
}
