//! The numbers of the field, as types: an offset is not a timestamp, and neither is a position.
//!
//! Arithmetic wraps as Kafka's does: the values come from files, and no file may make this crate panic.

use std::fmt;
use std::ops::{Add, Sub};

macro_rules! number {
    ($(#[$doc:meta])* $name:ident($int:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        #[repr(transparent)]
        pub struct $name(pub $int);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl From<$name> for $int {
            fn from(value: $name) -> $int {
                value.0
            }
        }
    };
}

number!(
    /// The place of a record in its log, from 0. -1 stands for "none" where Kafka stores it so.
    Offset(i64)
);
number!(
    /// Milliseconds since 1970-01-01 UTC. -1 is "no timestamp".
    TimestampMs(i64)
);
number!(
    /// The number of a leadership, stamped into each batch of magic 2. -1 is "none".
    LeaderEpoch(i32)
);
number!(
    /// The id of an idempotent producer. -1 is "none".
    ProducerId(i64)
);

impl Offset {
    /// The smallest offset of a log.
    pub const ZERO: Self = Self(0);
    /// "No offset", as Kafka writes it.
    pub const NONE: Self = Self(-1);
    /// The largest representable offset.
    pub const MAX: Self = Self(i64::MAX);

    /// The offset after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }

    /// The offset after this one; behind the largest there is none, which stays.
    #[must_use]
    pub const fn saturating_next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// This offset relative to a segment's base, if it fits the 31 bits that an index stores.
    #[must_use]
    pub fn relative_to(self, base: Self) -> Option<u32> {
        let relative = self.0.checked_sub(base.0)?;
        u32::try_from(relative)
            .ok()
            .filter(|&r| r <= MAX_RELATIVE_OFFSET)
    }
}

/// The largest distance of an offset from its segment's base (records.md 6.4).
pub const MAX_RELATIVE_OFFSET: u32 = 0x7fff_ffff;

impl Add<i64> for Offset {
    type Output = Self;
    fn add(self, delta: i64) -> Self {
        Self(self.0.wrapping_add(delta))
    }
}

impl Sub for Offset {
    type Output = i64;
    fn sub(self, other: Self) -> i64 {
        self.0.wrapping_sub(other.0)
    }
}

impl TimestampMs {
    /// "No timestamp".
    pub const NONE: Self = Self(-1);

    /// Whether this is a point in time and not "none".
    #[must_use]
    pub const fn is_some(self) -> bool {
        self.0 >= 0
    }
}

impl LeaderEpoch {
    /// "No leader epoch".
    pub const NONE: Self = Self(-1);
}

impl ProducerId {
    /// "No producer".
    pub const NONE: Self = Self(-1);

    /// Whether a batch with this id touches producer state (records.md 2.1: "has producer id" means > -1).
    #[must_use]
    pub const fn is_some(self) -> bool {
        self.0 > -1
    }
}

/// A topic's name and the number of one of its partitions.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicPartition {
    /// The topic; its order is that of its bytes.
    pub topic: std::sync::Arc<str>,
    /// The partition, from 0.
    pub partition: i32,
}

impl TopicPartition {
    /// A partition of `topic`. Names are not checked here: a directory may hold any (manager.md 3.6).
    #[must_use]
    pub fn new(topic: impl Into<std::sync::Arc<str>>, partition: i32) -> Self {
        Self {
            topic: topic.into(),
            partition,
        }
    }
}

impl fmt::Display for TopicPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.topic, self.partition)
    }
}

impl fmt::Debug for TopicPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

const _: () = assert!(usize::BITS == 64, "klog is for 64-bit targets");

/// A 64-bit size or position as an index into memory.
#[must_use]
#[allow(clippy::cast_possible_truncation)] // usize has 64 bits, asserted above
pub const fn to_usize(value: u64) -> usize {
    value as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_offsets_fit_31_bits_and_do_not_wrap() {
        assert_eq!(Offset(5).relative_to(Offset(5)), Some(0));
        assert_eq!(Offset(4).relative_to(Offset(5)), None);
        assert_eq!(
            Offset(0x7fff_ffff).relative_to(Offset(0)),
            Some(0x7fff_ffff)
        );
        assert_eq!(Offset(0x8000_0000).relative_to(Offset(0)), None);
        assert_eq!(Offset(i64::MAX).relative_to(Offset(i64::MIN)), None);
    }
}
