//! Counts by time, of any span, in little room: the spans become wider when there are too many.

use std::collections::BTreeMap;

use super::Share;
use crate::types::TimestampMs;

/// So many spans with anything in them are kept.
const SPANS_MAX: usize = 512;
const MINUTE_MS: i64 = 60_000;
const DAY_MS: i64 = 1440 * MINUTE_MS;

/// How wide spans may be: each a multiple of the one before. Wider ones are twice as wide, and so on.
const WIDTHS_MS: [i64; 9] = [
    MINUTE_MS,
    5 * MINUTE_MS,
    15 * MINUTE_MS,
    30 * MINUTE_MS,
    60 * MINUTE_MS,
    180 * MINUTE_MS,
    360 * MINUTE_MS,
    720 * MINUTE_MS,
    DAY_MS,
];

/// The width after one.
#[must_use]
pub fn wider(width_ms: i64) -> i64 {
    WIDTHS_MS
        .into_iter()
        .find(|w| *w > width_ms)
        .unwrap_or(width_ms.saturating_mul(2))
}

/// Counts by time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeline {
    width_ms: i64,
    spans: BTreeMap<i64, Share>,
    timeless: Share,
}

impl Default for Timeline {
    fn default() -> Self {
        Self {
            width_ms: MINUTE_MS,
            spans: BTreeMap::new(),
            timeless: Share::default(),
        }
    }
}

impl Timeline {
    /// How long each span is.
    #[must_use]
    pub fn width_ms(&self) -> i64 {
        self.width_ms
    }

    /// What falls into each span, by its first millisecond since 1970; spans without anything are left out.
    #[must_use]
    pub fn spans(&self) -> &BTreeMap<i64, Share> {
        &self.spans
    }

    /// What has no timestamp.
    #[must_use]
    pub fn timeless(&self) -> Share {
        self.timeless
    }

    /// Counts something of a time.
    pub fn add(&mut self, time: TimestampMs, share: Share) {
        if time == TimestampMs::NONE {
            self.timeless += share;
            return;
        }
        *self.span(time.0) += share;
        self.fit();
    }

    /// Counts all that another one has.
    pub fn merge(&mut self, other: &Self) {
        self.timeless += other.timeless;
        self.widen(other.width_ms);
        for (start, share) in &other.spans {
            *self.span(*start) += *share;
        }
        self.fit();
    }

    /// The same with spans of at least this width.
    #[must_use]
    pub fn widened(&self, width_ms: i64) -> Self {
        let mut wide = self.clone();
        wide.widen(width_ms);
        wide
    }

    fn span(&mut self, time_ms: i64) -> &mut Share {
        let start = time_ms.saturating_sub(time_ms.rem_euclid(self.width_ms));
        self.spans.entry(start).or_default()
    }

    fn fit(&mut self) {
        while self.spans.len() > SPANS_MAX {
            self.widen(wider(self.width_ms));
        }
    }

    fn widen(&mut self, width_ms: i64) {
        if width_ms <= self.width_ms {
            return;
        }
        while self.width_ms < width_ms {
            self.width_ms = wider(self.width_ms);
        }
        for (start, share) in std::mem::take(&mut self.spans) {
            *self.span(start) += share;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one() -> Share {
        Share {
            batches: 1,
            records: 2,
            stored_bytes: 3,
            payload_bytes: 4,
        }
    }

    fn records(timeline: &Timeline) -> u64 {
        timeline.spans().values().map(|share| share.records).sum()
    }

    #[test]
    fn each_width_is_a_multiple_of_the_one_before() {
        let mut width = MINUTE_MS;
        for _ in 0..40 {
            let next = wider(width);
            assert!(next > width && next % width == 0, "{next}");
            width = next;
        }
    }

    #[test]
    fn nothing_is_lost_whatever_the_times_are() {
        let times: Vec<i64> = (0..5000_i64)
            .map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64))
            .chain([i64::MIN, i64::MAX, 0, -2])
            .collect();
        let mut timeline = Timeline::default();
        for time in &times {
            timeline.add(TimestampMs(*time), one());
        }
        timeline.add(TimestampMs::NONE, one());
        assert!(timeline.spans().len() <= SPANS_MAX);
        let timeless = times.iter().filter(|time| **time == -1).count() as u64;
        assert_eq!(records(&timeline), 2 * (times.len() as u64 - timeless));
        assert_eq!(timeline.timeless().records, 2 * (1 + timeless));
    }

    #[test]
    fn short_times_are_told_apart_and_merging_is_counting_all() {
        let mut left = Timeline::default();
        let mut right = Timeline::default();
        let mut all = Timeline::default();
        for minute in 0..100 {
            left.add(TimestampMs(minute * MINUTE_MS + 59_999), one());
            all.add(TimestampMs(minute * MINUTE_MS), one());
        }
        assert_eq!((left.width_ms(), left.spans().len()), (MINUTE_MS, 100));
        for day in 0..400 {
            right.add(TimestampMs(day * DAY_MS), one());
            all.add(TimestampMs(day * DAY_MS), one());
        }
        left.merge(&right);
        assert_eq!(left.spans().len(), 499);
        assert_eq!(left, all);
        let wide = left.widened(3 * DAY_MS);
        assert_eq!((wide.width_ms(), wide.spans().len()), (4 * DAY_MS, 100));
        assert_eq!(records(&wide), 1000);
    }
}
