//! How long a call may take: the monotonic clock, which nobody sets.

use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// A moment up to which something is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline(When);

/// In the order in which they come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum When {
    AtOnce,
    At(Instant),
    Never,
}

impl Deadline {
    /// It has passed.
    pub const AT_ONCE: Self = Self(When::AtOnce);
    /// It never comes.
    pub const NEVER: Self = Self(When::Never);

    /// In `timeout_ms` from now: 0 is at once, -1 never. Below that: INVALID_ARGUMENT.
    pub fn after(timeout_ms: i64) -> Result<Self> {
        match timeout_ms {
            -1 => Ok(Self::NEVER),
            0.. => Ok(Self::within(Duration::from_millis(
                timeout_ms.unsigned_abs(),
            ))),
            _ => Err(Error::invalid_argument(format!(
                "timeout_ms is {timeout_ms}; it may be -1 for no limit, 0, or more"
            ))),
        }
    }

    /// So long from now.
    #[must_use]
    pub fn within(time: Duration) -> Self {
        if time.is_zero() {
            return Self::AT_ONCE;
        }
        // One beyond what the clock can tell never comes.
        Self(
            Instant::now()
                .checked_add(time)
                .map_or(When::Never, When::At),
        )
    }

    /// So long from now; `None` is never.
    #[must_use]
    pub fn within_or_never(time: Option<Duration>) -> Self {
        time.map_or(Self::NEVER, Self::within)
    }

    /// Whether it has come.
    #[must_use]
    pub fn has_passed(&self) -> bool {
        self.left().is_some_and(|left| left.is_zero())
    }

    /// How long it is until then; `None` for ever.
    #[must_use]
    pub fn left(&self) -> Option<Duration> {
        match self.0 {
            When::AtOnce => Some(Duration::ZERO),
            When::At(at) => Some(at.saturating_duration_since(Instant::now())),
            When::Never => None,
        }
    }

    /// The one of both that comes first.
    #[must_use]
    pub fn or_earlier(self, other: Self) -> Self {
        Self(self.0.min(other.0))
    }
}

impl PartialOrd for Deadline {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Deadline {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.cmp(&other.0)
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
        assert!(Deadline::after(i64::MIN).is_err());
    }

    #[test]
    fn the_earlier_of_two_counts() {
        let soon = Deadline::within(Duration::from_mins(1));
        let later = Deadline::within(Duration::from_mins(2));
        assert_eq!(later.or_earlier(soon), soon);
        assert_eq!(soon.or_earlier(Deadline::NEVER), soon);
        assert_eq!(soon.or_earlier(Deadline::AT_ONCE), Deadline::AT_ONCE);
        assert!(Deadline::NEVER.left().is_none());
        assert!(soon.left().unwrap() <= Duration::from_mins(1));
    }
}
