//! Which segments are cleaned into one. Implements cleaner.md 4.4.

use std::ops::Range;

use crate::types::{MAX_RELATIVE_OFFSET, Offset};

/// What grouping looks at of a segment, before it is cleaned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentSize {
    /// Its base offset.
    pub base: Offset,
    /// Bytes of its log.
    pub log_bytes: u64,
    /// Bytes of its offset index: entries times their size.
    pub offset_index_bytes: u64,
    /// Bytes of its time index, in the same way.
    pub time_index_bytes: u64,
}

/// What a group may not exceed. A group of one segment may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupLimits {
    /// `segment.bytes`.
    pub log_bytes: u64,
    /// `segment.index.bytes`, for either index.
    pub index_bytes: u64,
}

/// Divides segments, in their order, into groups. Behind the last one the log goes on at `first_uncleanable`.
#[must_use]
pub fn group_segments(
    segments: &[SegmentSize],
    limits: GroupLimits,
    first_uncleanable: Offset,
) -> Vec<Range<usize>> {
    let mut groups: Vec<Range<usize>> = Vec::new();
    let mut sum = SegmentSize {
        base: Offset::ZERO,
        log_bytes: 0,
        offset_index_bytes: 0,
        time_index_bytes: 0,
    };
    for (i, segment) in segments.iter().enumerate() {
        let behind = segments
            .get(i + 1)
            .map_or(first_uncleanable, |next| next.base);
        match groups.last_mut() {
            Some(group) if fits(&sum, segment, behind, limits) => {
                group.end = i + 1;
                sum.log_bytes += segment.log_bytes;
                sum.offset_index_bytes += segment.offset_index_bytes;
                sum.time_index_bytes += segment.time_index_bytes;
            }
            _ => {
                groups.push(i..i + 1);
                sum = *segment;
            }
        }
    }
    groups
}

/// Whether a segment, behind which the log goes on at `behind`, may join a group. An empty one may whatever its offsets
/// are (KAFKA-12889).
fn fits(sum: &SegmentSize, segment: &SegmentSize, behind: Offset, limits: GroupLimits) -> bool {
    let span = behind.0.wrapping_sub(1).wrapping_sub(sum.base.0);
    sum.log_bytes + segment.log_bytes <= limits.log_bytes
        && sum.offset_index_bytes + segment.offset_index_bytes <= limits.index_bytes
        && sum.time_index_bytes + segment.time_index_bytes <= limits.index_bytes
        && (segment.log_bytes == 0 || span <= i64::from(MAX_RELATIVE_OFFSET))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: GroupLimits = GroupLimits {
        log_bytes: 1000,
        index_bytes: 80,
    };

    fn segment(base: i64, log_bytes: u64) -> SegmentSize {
        SegmentSize {
            base: Offset(base),
            log_bytes,
            offset_index_bytes: 0,
            time_index_bytes: 0,
        }
    }

    fn lengths(segments: &[SegmentSize], upto: i64) -> Vec<usize> {
        let groups = group_segments(segments, LIMITS, Offset(upto));
        let mut at = 0;
        for group in &groups {
            assert_eq!(group.start, at);
            at = group.end;
        }
        assert_eq!(at, segments.len());
        groups.iter().map(Range::len).collect()
    }

    #[test]
    fn sizes_are_summed_up_to_the_limit_and_the_first_one_is_taken_whatever_it_has() {
        let of = |sizes: &[u64]| {
            let segments: Vec<_> = (0..)
                .zip(sizes)
                .map(|(i, &size)| segment(i, size))
                .collect();
            lengths(&segments, 100)
        };
        assert_eq!(of(&[500, 500, 1]), [2, 1]);
        assert_eq!(
            of(&[5000, 0, 5000]),
            [1, 1, 1],
            "nothing fits beside what is too large"
        );
        assert_eq!(of(&[0, 0, 1000, 0]), [4]);
        assert_eq!(of(&[]), [0; 0]);
    }

    #[test]
    fn indexes_are_summed_too() {
        let with = |offsets: u64, times: u64| {
            let big = SegmentSize {
                offset_index_bytes: offsets,
                time_index_bytes: times,
                ..segment(0, 1)
            };
            lengths(
                &[
                    big,
                    SegmentSize {
                        base: Offset(1),
                        ..big
                    },
                ],
                100,
            )
        };
        assert_eq!(with(40, 40), [2]);
        assert_eq!(with(48, 0), [1, 1]);
        assert_eq!(with(0, 48), [1, 1]);
    }

    #[test]
    fn hc9_and_cleaner_md_12_18_a_group_spans_no_more_than_31_bits() {
        let m = i64::from(MAX_RELATIVE_OFFSET);
        for (n, expected) in [(m + 1, vec![2, 1]), (m + 2, vec![1, 2])] {
            let segments = [segment(0, 1), segment(10, 1), segment(n, 1)];
            assert_eq!(lengths(&segments, n + 5), expected, "{n}");
        }
        assert_eq!(
            lengths(&[segment(0, 1), segment(5, 1), segment(m + 1, 1)], m + 3),
            [2, 1]
        );
        assert_eq!(lengths(&[segment(0, 1), segment(5, 1)], m + 2), [1, 1]);
        assert_eq!(
            lengths(&[segment(0, 1), segment(5, 0), segment(m + 9, 0)], m + 20),
            [3]
        );
    }
}
