//! What a call sleeps on until somebody rings: a futex.
//!
//! Who waits listens first, then looks at what it waits for, then sleeps with what it heard; who changes something rings
//! behind the change. So no ring is lost: one that comes after the listening ends the sleep, or lets it not begin.
//! Ringing takes no lock and allocates nothing: it may be done in a signal handler.

use std::sync::atomic::{AtomicU32, Ordering};

use super::Deadline;

/// A bell that any number of calls sleep on, and that wakes all of them. A call may be woken without reason: it looks
/// again, and goes back to sleep.
#[derive(Debug, Default)]
pub struct Bell {
    /// How often it rang: what the kernel compares before it lets a call sleep.
    rings: AtomicU32,
    /// How many sleep, or are about to.
    sleepers: AtomicU32,
}

/// How often a bell had rung when a call listened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heard(u32);

impl Bell {
    /// Wakes all that sleep.
    pub fn ring(&self) {
        self.rings.fetch_add(1, Ordering::SeqCst);
        // Pairs with `sleep`, which counts itself before the kernel looks at the rings: it is seen here, or sees this ring.
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            // SAFETY: the address is that of a live u32; waking reads nothing else.
            unsafe {
                libc::syscall(
                    libc::SYS_futex,
                    self.rings.as_ptr(),
                    libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
                    i32::MAX,
                )
            };
        }
    }

    /// To be called before the look at what is waited for.
    #[must_use]
    pub fn listen(&self) -> Heard {
        Heard(self.rings.load(Ordering::SeqCst))
    }

    /// Sleeps until it rings, or has rung since `heard`, or the deadline has passed; or without reason.
    pub fn sleep(&self, heard: Heard, deadline: Deadline) {
        let left = deadline.left().map(|left| libc::timespec {
            tv_sec: libc::time_t::try_from(left.as_secs()).unwrap_or(libc::time_t::MAX),
            tv_nsec: libc::c_long::from(left.subsec_nanos().cast_signed()),
        });
        let left = left.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        // SAFETY: the address is that of a live u32, `left` is null or leads to a timespec that outlives the call. An
        // interrupted sleep ends early, which callers expect.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                self.rings.as_ptr(),
                libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
                heard.0,
                left,
            )
        };
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;
    use std::time::{Duration, Instant};

    #[test]
    fn a_ring_between_listening_and_sleeping_is_not_lost() {
        let bell = Bell::default();
        let heard = bell.listen();
        bell.ring();
        // It would never end.
        bell.sleep(heard, Deadline::NEVER);
    }

    #[test]
    fn a_sleep_ends_at_its_deadline() {
        let bell = Bell::default();
        let began = Instant::now();
        let deadline = Deadline::within(Duration::from_millis(20));
        while !deadline.has_passed() {
            bell.sleep(bell.listen(), deadline);
        }
        assert!(began.elapsed() >= Duration::from_millis(20));
        bell.sleep(bell.listen(), Deadline::AT_ONCE);
    }

    /// Two threads pass a number back and forth, each sleeping on its own bell: a lost ring would stop them for ever.
    #[test]
    fn no_ring_is_lost_between_threads() {
        const TURNS: u64 = 20_000;
        let turn = AtomicU64::new(0);
        let bells = [Bell::default(), Bell::default()];
        std::thread::scope(|scope| {
            for own in 0..2 {
                let (turn, bells) = (&turn, &bells);
                scope.spawn(move || {
                    loop {
                        let heard = bells[own].listen();
                        let now = turn.load(Ordering::SeqCst);
                        if now >= TURNS {
                            return;
                        }
                        if now % 2 == own as u64 {
                            turn.store(now + 1, Ordering::SeqCst);
                            bells[1 - own].ring();
                        } else {
                            bells[own].sleep(heard, Deadline::NEVER);
                        }
                    }
                });
            }
        });
        assert_eq!(turn.load(Ordering::SeqCst), TURNS);
    }
}
