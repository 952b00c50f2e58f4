//! The segments of a log by base offset: an immutable list that readers hold while the writer makes the next one.
//! Implements log.md 2.25.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::error::Result;
use crate::segment::Segment;
use crate::types::{Offset, TimestampMs};

/// Segments, sorted by base offset. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct SegmentList(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    segments: Box<[Arc<Segment>]>,
    /// Of the first ones, as many as were asked for: the largest timestamp up to and with each. Never of the last one, which
    /// is appended to, nor behind one without timestamps.
    reached: Mutex<Vec<TimestampMs>>,
}

impl SegmentList {
    /// A list of segments in any order; of two with one base the later one counts.
    #[must_use]
    pub fn new(segments: impl IntoIterator<Item = Arc<Segment>>) -> Self {
        let segments: Vec<_> = segments.into_iter().collect();
        // As they mostly come.
        if segments.is_sorted_by(|a, b| a.base_offset() < b.base_offset()) {
            return Self::of_sorted(segments.into());
        }
        let by_base: std::collections::BTreeMap<_, _> = segments
            .into_iter()
            .map(|segment| (segment.base_offset(), segment))
            .collect();
        Self::of_sorted(by_base.into_values().collect())
    }

    fn of_sorted(segments: Box<[Arc<Segment>]>) -> Self {
        Self(Arc::new(Inner {
            segments,
            reached: Mutex::default(),
        }))
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.segments.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.segments.is_empty()
    }

    /// All, rising.
    pub fn iter(&self) -> std::slice::Iter<'_, Arc<Segment>> {
        self.0.segments.iter()
    }

    /// The one with the lowest base.
    #[must_use]
    pub fn first(&self) -> Option<&Arc<Segment>> {
        self.0.segments.first()
    }

    /// The one with the highest base: the active segment.
    #[must_use]
    pub fn last(&self) -> Option<&Arc<Segment>> {
        self.0.segments.last()
    }

    /// The segment with the greatest base at or below `offset`, with those above it.
    #[must_use]
    pub fn from_floor(&self, offset: Offset) -> &[Arc<Segment>] {
        match self
            .0
            .segments
            .partition_point(|s| s.base_offset() <= offset)
        {
            0 => &[],
            above => self.0.segments.get(above - 1..).unwrap_or_default(),
        }
    }

    /// The segment with the greatest base at or below `offset`.
    #[must_use]
    pub fn floor(&self, offset: Offset) -> Option<&Arc<Segment>> {
        self.from_floor(offset).first()
    }

    /// The segment with the greatest base below `offset`.
    #[must_use]
    pub fn below(&self, offset: Offset) -> Option<&Arc<Segment>> {
        self.0
            .segments
            .partition_point(|s| s.base_offset() < offset)
            .checked_sub(1)
            .and_then(|i| self.0.segments.get(i))
    }

    /// Segments that may hold offsets of `[from, to)`: from the floor of `from`, or the first, up to bases below `to`.
    #[must_use]
    pub fn range(&self, from: Offset, to: Offset) -> &[Arc<Segment>] {
        let start = self
            .0
            .segments
            .partition_point(|s| s.base_offset() <= from)
            .saturating_sub(1);
        let end = self.0.segments.partition_point(|s| s.base_offset() < to);
        self.0.segments.get(start..end).unwrap_or_default()
    }

    /// The first one whose time is `target` or later ([`Segment::largest_timestamp`]). None is looked at twice, and none behind
    /// the answer.
    pub fn first_reaching(&self, target: TimestampMs) -> Result<Option<&Arc<Segment>>> {
        let segments = &self.0.segments;
        let (known, mut largest) = {
            let reached = self.0.reached.lock();
            let largest = reached.last().copied().unwrap_or(TimestampMs::NONE);
            if !reached.is_empty() && largest >= target {
                return Ok(segments.get(reached.partition_point(|&max| max < target)));
            }
            (reached.len(), largest)
        };
        let mut more = Vec::new();
        let mut found = None;
        for (i, segment) in segments.iter().enumerate().skip(known) {
            let max = segment.max_timestamp()?.timestamp;
            if i == known + more.len() && i + 1 < segments.len() && max.is_some() {
                largest = largest.max(max);
                more.push(largest);
            }
            if max >= target || (!max.is_some() && segment.modified()? >= target) {
                found = Some(segment);
                break;
            }
        }
        let mut reached = self.0.reached.lock();
        if reached.len() == known {
            reached.append(&mut more);
        }
        Ok(found)
    }

    /// The list with one more, which replaces one of the same base.
    #[must_use]
    pub fn with(&self, segment: Arc<Segment>) -> Self {
        Self::new(self.0.segments.iter().cloned().chain([segment]))
    }

    /// The list without the segments above this base.
    #[must_use]
    pub fn without_above(&self, base: Offset) -> Self {
        Self::of_sorted(
            self.0
                .segments
                .iter()
                .filter(|s| s.base_offset() <= base)
                .cloned()
                .collect(),
        )
    }
}

impl<'a> IntoIterator for &'a SegmentList {
    type Item = &'a Arc<Segment>;
    type IntoIter = std::slice::Iter<'a, Arc<Segment>>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
