//! What of a log can be cleaned, and which log is cleaned first. Implements cleaner.md 2. Decisions over values; what they
//! look at is gathered by [`super::examine`].

use crate::types::{Offset, TimestampMs};

/// What is looked at of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirtySegment {
    /// Its base offset.
    pub base: Offset,
    /// Bytes of its log.
    pub bytes: u64,
    /// Its largest timestamp, or its file's time; needed with a `min.compaction.lag.ms` only.
    pub largest_timestamp: TimestampMs,
}

/// The offsets that bound what is cleaned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogBounds {
    /// Where the log starts.
    pub start: Offset,
    /// The next offset to be assigned.
    pub end: Offset,
    /// Data at or above may belong to an open transaction, or be unreplicated.
    pub last_stable: Offset,
}

/// Where the dirty part of a log begins (cleaner.md 2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstDirty {
    /// The offset.
    pub offset: Offset,
    /// Whether the checkpoint does not fit the log and is to be written anew.
    pub rewrites_checkpoint: bool,
}

/// Where the dirty part begins by the checkpoint: one that lies outside the log counts as the log start.
#[must_use]
pub fn first_dirty(checkpoint: Option<Offset>, bounds: &LogBounds) -> FirstDirty {
    let stored = checkpoint.unwrap_or(bounds.start);
    if stored < bounds.start || stored > bounds.end {
        FirstDirty {
            offset: bounds.start,
            rewrites_checkpoint: true,
        }
    } else {
        FirstDirty {
            offset: stored,
            rewrites_checkpoint: false,
        }
    }
}

/// Where `segments(from, to)` of cleaner.md 2.3 begins and ends in a list of bases: from the one that holds `from`, or the
/// first, to all below `to`.
#[must_use]
pub fn segment_range(
    segments: &[DirtySegment],
    from: Offset,
    to: Offset,
) -> std::ops::Range<usize> {
    if to <= from {
        return 0..0;
    }
    let start = segments
        .partition_point(|s| s.base <= from)
        .saturating_sub(1);
    let end = segments.partition_point(|s| s.base < to);
    start..end.max(start)
}

/// The segments from the one that holds `from` on, without the active one.
#[must_use]
pub fn non_active(segments: &[DirtySegment], from: Offset) -> &[DirtySegment] {
    let Some(active) = segments.last() else {
        return &[];
    };
    if from > active.base {
        return &[];
    }
    segments
        .get(segment_range(segments, from, active.base))
        .unwrap_or_default()
}

/// Where the part begins that must not be cleaned yet (cleaner.md 2.2): at an open transaction or the high watermark, at
/// the active segment, or at the first segment that is younger than `min_lag_ms`.
#[must_use]
pub fn first_uncleanable(
    segments: &[DirtySegment],
    first_dirty: Offset,
    bounds: &LogBounds,
    min_lag_ms: i64,
    now: TimestampMs,
) -> Offset {
    let active = segments.last().map_or(bounds.end, |active| active.base);
    let mut bound = bounds.last_stable.min(active);
    if min_lag_ms > 0 {
        let oldest = now.0.wrapping_sub(min_lag_ms);
        let young = non_active(segments, first_dirty)
            .iter()
            .find(|segment| segment.largest_timestamp.0 > oldest);
        bound = young.map_or(bound, |young| bound.min(young.base));
    }
    first_dirty.max(bound)
}

/// How long a record has waited beyond `max.compaction.lag.ms` (cleaner.md 2.4), by the times of the first batches of the
/// dirty segments; 0 if none has. What has no time does not count.
#[must_use]
pub fn compaction_delay_ms(
    first_batch_times: impl IntoIterator<Item = TimestampMs>,
    max_lag_ms: i64,
    now: TimestampMs,
) -> i64 {
    let earliest = first_batch_times
        .into_iter()
        .filter(|time| time.0 > 0)
        .min()
        .map_or(i64::MAX, |time| time.0);
    let limit = now.0.wrapping_sub(max_lag_ms.max(0));
    if earliest < limit {
        limit.wrapping_sub(earliest)
    } else {
        0
    }
}

/// A log with what of it can be cleaned (cleaner.md 2.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cleanable {
    /// Where the dirty part begins.
    pub first_dirty: Offset,
    /// Where the part begins that is not cleaned: the base of a segment.
    pub first_uncleanable: Offset,
    /// Bytes of the clean part.
    pub clean_bytes: u64,
    /// Bytes of the dirty part that can be cleaned. A segment that the border cuts counts on both sides.
    pub cleanable_bytes: u64,
    /// How long a record waits beyond what the configuration allows; above 0 it must be cleaned.
    pub delay_ms: i64,
}

impl Cleanable {
    /// What lies between the bounds.
    #[must_use]
    pub fn new(
        segments: &[DirtySegment],
        first_dirty: Offset,
        uncleanable: Offset,
        delay_ms: i64,
    ) -> Self {
        let active = segments.last().map_or(uncleanable, |active| active.base);
        let first_uncleanable = non_active(segments, uncleanable)
            .first()
            .map_or(active, |segment| segment.base);
        let bytes = |from, to| -> u64 {
            let range = segment_range(segments, from, to);
            let covered = segments.get(range).unwrap_or_default();
            covered.iter().map(|segment| segment.bytes).sum()
        };
        Self {
            first_dirty,
            first_uncleanable,
            clean_bytes: bytes(Offset::NONE, first_dirty),
            cleanable_bytes: bytes(first_dirty.min(first_uncleanable), first_uncleanable),
            delay_ms,
        }
    }

    /// Bytes of both parts.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        self.clean_bytes + self.cleanable_bytes
    }

    /// The share of what can be cleaned; 0 of an empty log.
    #[must_use]
    #[allow(
        clippy::cast_precision_loss,
        reason = "as Kafka computes it; a log has fewer than 2^52 bytes"
    )]
    pub fn ratio(&self) -> f64 {
        let total = self.total_bytes();
        if total == 0 {
            0.0
        } else {
            self.cleanable_bytes as f64 / total as f64
        }
    }

    /// Whether it is a candidate (cleaner.md 2.6): enough of it is dirty, or something of it must be cleaned.
    #[must_use]
    pub fn is_candidate(&self, min_ratio: f64) -> bool {
        let must = self.delay_ms > 0 && self.cleanable_bytes > 0;
        self.total_bytes() > 0 && (must || self.ratio() > min_ratio)
    }
}

/// Which of the candidates is the filthiest: the first with the largest share of dirty bytes.
#[must_use]
pub fn filthiest(candidates: &[Cleanable]) -> Option<usize> {
    let mut best: Option<(usize, f64)> = None;
    for (i, candidate) in candidates.iter().enumerate() {
        let ratio = candidate.ratio();
        if best.is_none_or(|(_, largest)| ratio > largest) {
            best = Some((i, ratio));
        }
    }
    best.map(|(i, _)| i)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segments(all: &[(i64, u64, i64)]) -> Vec<DirtySegment> {
        let segment = |&(base, bytes, time): &(i64, u64, i64)| DirtySegment {
            base: Offset(base),
            bytes,
            largest_timestamp: TimestampMs(time),
        };
        all.iter().map(segment).collect()
    }

    fn bounds(start: i64, end: i64) -> LogBounds {
        LogBounds {
            start: Offset(start),
            end: Offset(end),
            last_stable: Offset(end),
        }
    }

    fn cleanable(
        list: &[DirtySegment],
        checkpoint: Option<i64>,
        bounds: &LogBounds,
    ) -> (Cleanable, bool) {
        let dirty = first_dirty(checkpoint.map(Offset), bounds);
        let upto = first_uncleanable(list, dirty.offset, bounds, 0, TimestampMs(0));
        (
            Cleanable::new(list, dirty.offset, upto, 0),
            dirty.rewrites_checkpoint,
        )
    }

    #[test]
    fn hc10_a_checkpoint_that_does_not_fit_the_log_harms_nothing() {
        let list = segments(&[(0, 216, 1), (3, 216, 1), (6, 216, 1)]);
        for (checkpoint, start, expected) in [
            (None, 0, (0, 6, 0, 432, false)),
            (Some(3), 0, (3, 6, 216, 216, false)),
            (Some(4), 0, (4, 6, 432, 216, false)),
            (Some(6), 0, (6, 6, 432, 0, false)),
            (Some(7), 0, (7, 7, 648, 0, false)),
            (Some(9), 0, (9, 9, 648, 0, false)),
            (Some(10), 0, (0, 6, 0, 432, true)),
            (Some(2), 3, (3, 6, 216, 216, true)),
        ] {
            let (found, rewrites) = cleanable(&list, checkpoint, &bounds(start, 9));
            // Kafka answers the offset that was asked for where that lies above the active base; klog as the spec of the
            // log to clean says it: the active base.
            let upto = found.first_uncleanable.0.max(found.first_dirty.0);
            assert_eq!(
                (
                    found.first_dirty.0,
                    upto,
                    found.clean_bytes,
                    found.cleanable_bytes,
                    rewrites
                ),
                expected,
                "{checkpoint:?} {start}"
            );
        }
        let (half, _) = cleanable(&list, Some(3), &bounds(0, 9));
        assert!(!half.is_candidate(0.5), "the ratio must be above the limit");
        assert!(half.is_candidate(0.49));
        let (clean, _) = cleanable(&list, Some(6), &bounds(0, 9));
        assert!(!clean.is_candidate(0.0));
    }

    #[test]
    fn cleaner_md_12_32_checkpoints_are_repaired() {
        let log = bounds(0, 3);
        for (checkpoint, expected) in [
            (-5, (0, true)),
            (0, (0, false)),
            (2, (2, false)),
            (3, (3, false)),
            (4, (0, true)),
        ] {
            let found = first_dirty(Some(Offset(checkpoint)), &log);
            assert_eq!((found.offset.0, found.rewrites_checkpoint), expected);
        }
        let later = bounds(1, 3);
        let found = [None, Some(Offset(0))].map(|cp| first_dirty(cp, &later));
        assert_eq!(
            found.map(|f| (f.offset.0, f.rewrites_checkpoint)),
            [(1, false), (1, true)]
        );
    }

    #[test]
    fn cleaner_md_12_31_one_young_segment_holds_back_those_behind_it() {
        let list = segments(&[(0, 70, 100), (1, 70, 2000), (2, 70, 500), (3, 0, -1)]);
        let upto =
            |now| first_uncleanable(&list, Offset(0), &bounds(0, 3), 1000, TimestampMs(now)).0;
        assert_eq!([1099, 1100, 2999, 3000].map(upto), [0, 1, 1, 3]);
    }

    #[test]
    fn cleaner_md_12_33_what_waited_too_long_must_be_cleaned() {
        let delay =
            |now| compaction_delay_ms([500, -1, 0, 900].map(TimestampMs), 1000, TimestampMs(now));
        assert_eq!([1500, 1501].map(delay), [0, 1]);
        assert_eq!(compaction_delay_ms([TimestampMs(-1)], 1, TimestampMs(9)), 0);
        let list = segments(&[(0, 70, 1), (1, 70, 1)]);
        let must = Cleanable::new(&list, Offset(0), Offset(1), 1);
        assert!(must.is_candidate(1.0));
        let nothing = Cleanable::new(&list, Offset(1), Offset(1), 1);
        assert!(!nothing.is_candidate(1.0));
    }

    #[test]
    fn cleaner_md_12_8_an_uncleanable_offset_inside_a_segment_rounds_down() {
        let list = segments(&[(0, 70, 1), (1, 140, 1), (3, 70, 1)]);
        let log = LogBounds {
            last_stable: Offset(2),
            ..bounds(0, 4)
        };
        let (found, _) = cleanable(&list, None, &log);
        assert_eq!(
            (found.first_uncleanable, found.cleanable_bytes),
            (Offset(1), 70)
        );
    }

    #[test]
    fn the_filthiest_is_the_first_with_the_largest_ratio() {
        let of = |clean_bytes, cleanable_bytes, delay_ms| Cleanable {
            first_dirty: Offset(0),
            first_uncleanable: Offset(9),
            clean_bytes,
            cleanable_bytes,
            delay_ms,
        };
        assert_eq!(
            filthiest(&[of(5, 5, 9), of(1, 9, 0), of(10, 90, 0)]),
            Some(1)
        );
        assert_eq!(filthiest(&[]), None);
    }
}
