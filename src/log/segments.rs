//! The segments of a log by base offset: an immutable list that readers hold while the writer makes the next one.
//! Implements log.md 2.25.

use std::sync::Arc;

use crate::segment::Segment;
use crate::types::Offset;

/// Segments, sorted by base offset. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct SegmentList(Arc<[Arc<Segment>]>);

impl SegmentList {
    /// A list of segments in any order; of two with one base the later one counts.
    #[must_use]
    pub fn new(segments: impl IntoIterator<Item = Arc<Segment>>) -> Self {
        let by_base: std::collections::BTreeMap<_, _> = segments
            .into_iter()
            .map(|segment| (segment.base_offset(), segment))
            .collect();
        Self(by_base.into_values().collect())
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All, rising.
    pub fn iter(&self) -> std::slice::Iter<'_, Arc<Segment>> {
        self.0.iter()
    }

    /// The one with the lowest base.
    #[must_use]
    pub fn first(&self) -> Option<&Arc<Segment>> {
        self.0.first()
    }

    /// The one with the highest base: the active segment.
    #[must_use]
    pub fn last(&self) -> Option<&Arc<Segment>> {
        self.0.last()
    }

    /// The segment with the greatest base at or below `offset`, with those above it.
    #[must_use]
    pub fn from_floor(&self, offset: Offset) -> &[Arc<Segment>] {
        match self.0.partition_point(|s| s.base_offset() <= offset) {
            0 => &[],
            above => self.0.get(above - 1..).unwrap_or_default(),
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
            .partition_point(|s| s.base_offset() < offset)
            .checked_sub(1)
            .and_then(|i| self.0.get(i))
    }

    /// Segments that may hold offsets of `[from, to)`: from the floor of `from`, or the first, up to bases below `to`.
    #[must_use]
    pub fn range(&self, from: Offset, to: Offset) -> &[Arc<Segment>] {
        let start = self
            .0
            .partition_point(|s| s.base_offset() <= from)
            .saturating_sub(1);
        let end = self.0.partition_point(|s| s.base_offset() < to);
        self.0.get(start..end).unwrap_or_default()
    }

    /// The list with one more, which replaces one of the same base.
    #[must_use]
    pub fn with(&self, segment: Arc<Segment>) -> Self {
        Self::new(self.0.iter().cloned().chain([segment]))
    }

    /// The list without the segments above this base.
    #[must_use]
    pub fn without_above(&self, base: Offset) -> Self {
        Self(
            self.0
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
