//! Keeps the cleaner's reads and writes below a rate. Implements cleaner.md 3.12.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::io::Clock;
use crate::types::TimestampMs;

/// How often the rate is looked at.
const CHECK_INTERVAL_MS: i64 = 300;

/// Holds threads up, as long as the bytes that they report passed faster than a rate. All threads share one.
#[derive(Debug)]
pub struct Throttle {
    clock: Arc<dyn Clock>,
    bytes_per_second: f64,
    period: Mutex<Period>,
}

#[derive(Debug)]
struct Period {
    since: TimestampMs,
    bytes: f64,
    waited: Duration,
}

impl Throttle {
    /// At most so many bytes a second; `None` without a limit that could be felt.
    #[must_use]
    pub fn new(bytes_per_second: f64, clock: &Arc<dyn Clock>) -> Option<Self> {
        // Beyond this no machine comes; Kafka's default is the largest number there is.
        let is_felt = bytes_per_second > 0.0 && bytes_per_second < 1e15;
        is_felt.then(|| Self {
            clock: Arc::clone(clock),
            bytes_per_second,
            period: Mutex::new(Period {
                since: clock.now(),
                bytes: 0.0,
                waited: Duration::ZERO,
            }),
        })
    }

    /// How long threads were made to wait, all together.
    #[must_use]
    pub fn waited(&self) -> Duration {
        self.period.lock().waited
    }

    /// So many bytes were read or written. Waits if they passed too fast; others wait with this one.
    #[allow(
        clippy::cast_precision_loss,
        reason = "counts of bytes far below 2^52, in a rate"
    )]
    pub fn passed(&self, bytes: u64) {
        let mut period = self.period.lock();
        period.bytes += bytes as f64;
        let elapsed_ms = self.clock.now().0.saturating_sub(period.since.0);
        // A clock that was set back begins a new period.
        if (0..=CHECK_INTERVAL_MS).contains(&elapsed_ms) {
            return;
        }
        let elapsed = Duration::from_millis(u64::try_from(elapsed_ms).unwrap_or(u64::MAX));
        if let Some(pause) = pause_after(period.bytes, elapsed, self.bytes_per_second) {
            // Nobody signals: only time ends this.
            Condvar::new().wait_for(&mut Mutex::new(()).lock(), pause);
            period.waited += pause;
        }
        period.since = self.clock.now();
        period.bytes = 0.0;
    }
}

/// How long to wait so that so many bytes in that time are no faster than the rate.
fn pause_after(bytes: f64, elapsed: Duration, bytes_per_second: f64) -> Option<Duration> {
    let due = bytes / bytes_per_second;
    let pause = due - elapsed.as_secs_f64();
    // Kafka rounds to whole milliseconds, and does not sleep for less.
    (pause >= 0.0005)
        .then(|| Duration::try_from_secs_f64(pause).ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cleaner_md_3_12_it_waits_as_long_as_the_bytes_were_early() {
        let pause = |bytes, ms| {
            pause_after(bytes, Duration::from_millis(ms), 1000.0).map(|p| p.as_millis())
        };
        assert_eq!(pause(500.0, 400), Some(100));
        assert_eq!(pause(500.0, 500), None);
        assert_eq!(pause(500.0, 900), None);
    }

    #[test]
    fn kafkas_default_is_no_limit() {
        let clock: Arc<dyn Clock> = Arc::new(crate::io::SystemClock);
        assert!(Throttle::new(f64::MAX, &clock).is_none());
        assert!(Throttle::new(0.0, &clock).is_none());
        assert!(Throttle::new(1e6, &clock).is_some());
    }
}
