//! The order of a log's locks, checked in debug builds: whoever holds the append lock may not wait for the flush lock,
//! since a flush takes the append lock at its end.

use std::ops::{Deref, DerefMut};

/// A lock by its place in the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Flush,
    Append,
}

/// A guard that knows its place.
pub(super) struct Locked<G> {
    guard: G,
    #[cfg(debug_assertions)]
    _held: check::Held,
}

impl<G> Locked<G> {
    /// Takes a lock. In debug builds it is an error of the program to hold one of a later place, or the same, meanwhile.
    pub(super) fn new(level: Level, lock: impl FnOnce() -> G) -> Self {
        #[cfg(debug_assertions)]
        let held = check::Held::enter(level);
        #[cfg(not(debug_assertions))]
        let _ = level;
        Self {
            guard: lock(),
            #[cfg(debug_assertions)]
            _held: held,
        }
    }
}

impl<G: Deref> Deref for Locked<G> {
    type Target = G::Target;

    fn deref(&self) -> &G::Target {
        &self.guard
    }
}

impl<G: DerefMut> DerefMut for Locked<G> {
    fn deref_mut(&mut self) -> &mut G::Target {
        &mut self.guard
    }
}

#[cfg(debug_assertions)]
mod check {
    use super::Level;
    use std::cell::RefCell;

    thread_local! {
        static HELD: RefCell<Vec<Level>> = const { RefCell::new(Vec::new()) };
    }

    pub(super) struct Held(Level);

    impl Held {
        pub(super) fn enter(level: Level) -> Self {
            HELD.with_borrow_mut(|held| {
                assert!(
                    held.iter().all(|&h| h < level),
                    "lock order: {level:?} while holding {held:?}"
                );
                held.push(level);
            });
            Self(level)
        }
    }

    impl Drop for Held {
        fn drop(&mut self) {
            HELD.with_borrow_mut(|held| held.retain(|&h| h != self.0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_are_taken_in_their_order_and_may_be_taken_again() {
        for _ in 0..2 {
            let flush = Locked::new(Level::Flush, || Box::new(1));
            let append = Locked::new(Level::Append, || Box::new(2));
            assert_eq!(*flush + *append, 3);
        }
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "lock order")]
    fn the_flush_lock_under_the_append_lock_is_found_out() {
        let _append = Locked::new(Level::Append, || Box::new(1));
        let _flush = Locked::new(Level::Flush, || Box::new(2));
    }
}
