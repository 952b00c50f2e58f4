//! Who wants a log flushed at the same time shares one sync: the first one does it for those that have come by then.
//!
//! Threads that append and sync in turn come back together. The next one to sync would go alone if it did not wait until the
//! others have appended again; so it waits for as many as shared the sync before, at most half as long as that took, and never
//! long. Alone it does not wait.

use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::io::{Deadline, Stopwatch};

/// A leader never waits longer than this: after a sync that took seconds the others may have gone for good.
const GATHER_MAX: Duration = Duration::from_millis(10);

/// The threads that wait for a flush of a log.
#[derive(Debug, Default)]
pub(super) struct FlushGroup {
    state: Mutex<State>,
    /// A flush has ended.
    ended: Condvar,
    /// As many have come as are waited for.
    gathered: Condvar,
}

#[derive(Debug, Default)]
struct State {
    has_leader: bool,
    /// How many flushes have ended.
    ended: u64,
    /// How many wait for the leader to end.
    waiting: usize,
    /// How many shared the last flush, its leader among them.
    last_size: usize,
    last_took: Duration,
}

/// The right to flush, for all that have come. Dropped, it lets them look whether they are done.
#[derive(Debug)]
pub(super) struct Leader<'a> {
    group: &'a FlushGroup,
    began: Stopwatch,
    size: usize,
}

impl FlushGroup {
    /// Waits until `is_done`, or until the caller is to flush.
    pub(super) fn join(&self, is_done: impl Fn() -> bool) -> Option<Leader<'_>> {
        let mut state = self.state.lock();
        while state.has_leader {
            state.waiting += 1;
            if state.waiting + 1 >= state.last_size {
                self.gathered.notify_one();
            }
            let ended = state.ended;
            while state.ended == ended {
                self.ended.wait(&mut state);
            }
            if is_done() {
                return None;
            }
        }
        state.has_leader = true;
        let size = self.gather(&mut state);
        drop(state);
        Some(Leader {
            group: self,
            began: Stopwatch::start(),
            size,
        })
    }

    /// Lets those come back that shared the last flush. How many there are then.
    fn gather(&self, state: &mut MutexGuard<'_, State>) -> usize {
        let until = Deadline::within((state.last_took / 2).min(GATHER_MAX));
        while state.waiting + 1 < state.last_size && !until.has_passed() {
            let left = until.left().unwrap_or_default();
            let _ = self.gathered.wait_for(state, left);
        }
        state.waiting + 1
    }
}

impl Drop for Leader<'_> {
    fn drop(&mut self) {
        let took = Duration::from_nanos(self.began.elapsed_ns());
        let mut state = self.group.state.lock();
        state.has_leader = false;
        // Before they wake: those of the last flush are none of the next one.
        state.ended += 1;
        state.waiting = 0;
        (state.last_size, state.last_took) = (self.size, took);
        drop(state);
        self.group.ended.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn all_that_wait_share_the_flush_that_follows() {
        let (group, end, flushed, flushes) = (
            FlushGroup::default(),
            AtomicUsize::new(0),
            AtomicUsize::new(0),
            AtomicUsize::new(0),
        );
        std::thread::scope(|threads| {
            for _ in 0..8 {
                threads.spawn(|| {
                    for _ in 0..200 {
                        let mine = end.fetch_add(1, Ordering::SeqCst) + 1;
                        let is_done = || flushed.load(Ordering::SeqCst) >= mine;
                        if let Some(_leader) = group.join(is_done) {
                            let upto = end.load(Ordering::SeqCst);
                            std::thread::yield_now();
                            flushed.fetch_max(upto, Ordering::SeqCst);
                            flushes.fetch_add(1, Ordering::SeqCst);
                        }
                        assert!(is_done());
                    }
                });
            }
        });
        let flushes = flushes.into_inner();
        assert_eq!(flushed.into_inner(), 1600);
        assert!((200..=1600).contains(&flushes), "{flushes}");
        assert!(!group.state.lock().has_leader);
    }

    /// Those that shared a sync of an hour may have gone for good.
    #[test]
    fn a_leader_does_not_wait_long_for_those_that_do_not_come_back() {
        let group = FlushGroup::default();
        {
            let mut state = group.state.lock();
            (state.last_size, state.last_took) = (64, Duration::from_hours(1));
        }
        let began = Stopwatch::start();
        assert_eq!(group.join(|| false).map(|leader| leader.size), Some(1));
        let waited = Duration::from_nanos(began.elapsed_ns());
        assert!(waited < Duration::from_mins(1), "{waited:?}");
    }

    #[test]
    fn one_alone_never_waits_and_a_leader_that_panics_leaves_its_place() {
        let group = FlushGroup::default();
        for _ in 0..3 {
            let leader = group.join(|| false).expect("nobody else is there");
            assert_eq!(leader.size, 1);
        }
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _leader = group.join(|| false);
            panic!("in a flush");
        }));
        assert!(panicked.is_err());
        assert!(group.join(|| false).is_some());
    }
}
