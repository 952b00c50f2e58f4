//! Runs a check for many seeds on all processors, and says how to run the one that failed again.
#![allow(dead_code, reason = "each test binary uses the part it needs")]
#![allow(clippy::panic, reason = "a test that cannot go on has failed")]

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// What the environment asks for.
pub(crate) struct Seeds {
    first: u64,
    count: u64,
}

impl Seeds {
    /// `KLOG_SEED` for one, `KLOG_SEEDS` for another number than `count`; with both, so many from that one on.
    pub(crate) fn from_env(count: u64) -> Self {
        let read = |name: &str| {
            let text = std::env::var(name).ok()?;
            Some(
                text.parse::<u64>()
                    .unwrap_or_else(|_| panic!("{name}={text} is no number")),
            )
        };
        match read("KLOG_SEED") {
            Some(seed) => Self {
                first: seed,
                count: read("KLOG_SEEDS").unwrap_or(1),
            },
            None => Self {
                first: 0,
                count: read("KLOG_SEEDS").unwrap_or(count),
            },
        }
    }

    /// How many.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Whether these are at least as many as a floor on what is covered was set for.
    pub(crate) fn are_all_of(&self, count: u64) -> bool {
        self.first == 0 && self.count >= count
    }

    /// Runs `check` for each seed. A failure is told with the way to run it again, and fails the test: at once, or at the
    /// end with `KLOG_KEEP_GOING`, each problem in one line.
    pub(crate) fn run(&self, test: &str, check: impl Fn(u64) -> Result<(), String> + Sync) {
        let keep_going = std::env::var_os("KLOG_KEEP_GOING").is_some();
        let next = AtomicU64::new(self.first);
        let end = self.first + self.count;
        let failed = AtomicU64::new(0);
        let work = || {
            loop {
                let seed = next.fetch_add(1, Ordering::SeqCst);
                if seed >= end || (failed.load(Ordering::SeqCst) > 0 && !keep_going) {
                    return;
                }
                let told = Told { test, seed };
                match check(seed) {
                    Ok(()) => {}
                    Err(problem) if keep_going => {
                        failed.fetch_add(1, Ordering::SeqCst);
                        eprintln!(
                            "seed {seed}: {}",
                            problem.lines().next().unwrap_or_default()
                        );
                    }
                    Err(problem) => {
                        failed.fetch_add(1, Ordering::SeqCst);
                        panic!("{problem}");
                    }
                }
                std::mem::forget(told);
            }
        };
        let threads = thread::available_parallelism().map_or(1, std::num::NonZero::get);
        thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(work);
            }
        });
        let failed = failed.into_inner();
        assert!(failed == 0, "{failed} seeds failed");
    }
}

/// Says which seed it was when a check panics.
struct Told<'t> {
    test: &'t str,
    seed: u64,
}

impl Drop for Told<'_> {
    fn drop(&mut self) {
        let Self { test, seed } = self;
        eprintln!(
            "seed {seed} failed; again: KLOG_SEED={seed} cargo test --features sim --test {test}"
        );
    }
}
