//! How long a call may take: the monotonic clock, which nobody sets.

use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// A moment up to which something is waited for.
#[derive(Clone, Copy, Debug)]
pub struct Deadline(Option<Instant>);

impl Deadline {
    /// In `timeout_ms` from now: 0 is at once, -1 never. Below that: INVALID_ARGUMENT.
    pub fn after(timeout_ms: i64) -> Result<Self> {
        if timeout_ms == -1 {
            return Ok(Self(None));
        }
        let ms = u64::try_from(timeout_ms).map_err(|_| {
            Error::invalid_argument(format!(
                "timeout_ms is {timeout_ms}; it may be -1 for no limit, 0, or more"
            ))
        })?;
        // One beyond what the clock can tell never comes.
        Ok(Self(Instant::now().checked_add(Duration::from_millis(ms))))
    }

    /// Whether it has come.
    #[must_use]
    pub fn has_passed(&self) -> bool {
        self.0.is_some_and(|at| Instant::now() >= at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_once_has_passed_and_never_has_not() {
        assert!(Deadline::after(0).unwrap().has_passed());
        assert!(!Deadline::after(-1).unwrap().has_passed());
        assert!(!Deadline::after(i64::MAX).unwrap().has_passed());
        assert!(Deadline::after(-2).is_err());
    }
}
