//! From an offset to bytes. Implements log.md 2.11-2.13.

use std::ops::Range;
use std::sync::Arc;

use super::Segment;
use super::index::{IndexView, Indexes, OffsetSurroundings};
use super::scan::{BatchScan, HEADERS_CHUNK_BYTES, Scanned, header_at};
use crate::error::Result;
use crate::format::batch::{BatchHeader, HEADER_BYTES};
use crate::types::{Offset, to_usize};

/// Where a batch lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchPosition {
    /// First offset of its range.
    pub base_offset: Offset,
    /// Last offset of its range.
    pub last_offset: Offset,
    /// Where it begins in the file.
    pub position: u64,
    /// All of its bytes.
    pub size_bytes: u32,
}

impl Segment {
    /// Looks into the indexes; those of a closed segment are opened and checked if this is the first time.
    pub fn with_indexes<T>(&self, look: impl FnOnce(IndexView<'_>) -> Result<T>) -> Result<T> {
        match &**self.indexes.load() {
            Indexes::Growing(growing) => look(IndexView::Growing(growing)),
            Indexes::Closed(cell) => look(IndexView::Closed(
                cell.get_or_try_init(|| self.open_checked_indexes())?,
            )),
        }
    }

    /// The first batch whose last offset is at or above `target`, among the first `end` bytes; `None` if there is none.
    pub fn translate(self: &Arc<Self>, target: Offset, end: u64) -> Result<Option<BatchPosition>> {
        let found = self.translate_reading(target, end, &mut [])?;
        Ok(found.map(|(batch, _)| batch))
    }

    /// As [`Self::translate`]. Where the index tells the batch, `ahead` gets what lies from there on, as far as it belongs to
    /// the entry: so many bytes from the beginning of the batch on are there already.
    pub fn translate_reading(
        self: &Arc<Self>,
        target: Offset,
        end: u64,
        ahead: &mut [u8],
    ) -> Result<Option<(BatchPosition, usize)>> {
        let around = self.with_indexes(|indexes| indexes.around_offset(target))?;
        if let Some(above) = self.likely_stretch(&around, end)
            && let Some(found) = self.read_holding(target, above, end, ahead)?
        {
            return Ok(Some(found));
        }
        let Some((mut scan, scanned)) = self.find_below(&around, target, end)? else {
            return Ok(None);
        };
        let batch = BatchPosition {
            base_offset: scan.base_offset_of(&scanned)?,
            last_offset: scanned.header.last_offset,
            position: scanned.position,
            size_bytes: scanned.header.size_bytes,
        };
        Ok(Some((batch, 0)))
    }

    /// Where the batch of [`Self::translate`] begins. It is not looked into: of a compressed one of an old format the first
    /// offset, which nobody asks for here, would cost reading all of it.
    pub fn position_of(self: &Arc<Self>, target: Offset, end: u64) -> Result<Option<u64>> {
        let around = self.with_indexes(|indexes| indexes.around_offset(target))?;
        if let Some(above) = self.likely_stretch(&around, end)
            && let Some((batch, _)) = self.read_holding(target, above, end, &mut [])?
        {
            return Ok(Some(batch.position));
        }
        let found = self.find_below(&around, target, end)?;
        Ok(found.map(|(_, scanned)| scanned.position))
    }

    /// The batch of [`Self::translate`], by a walk from the last index entry at or below `target` on.
    fn find_below(
        &self,
        around: &OffsetSurroundings,
        target: Offset,
        end: u64,
    ) -> Result<Option<(BatchScan, Scanned)>> {
        let mut scan = self.headers_below(around, end);
        while let Some(scanned) = scan.next_batch()? {
            if scanned.header.last_offset >= target {
                return Ok(Some((scan, scanned)));
            }
        }
        Ok(None)
    }

    /// A walk that begins at or in front of the batch that holds `target`, or the next one. It holds what a look at that batch
    /// takes, if the index tells it.
    pub(super) fn walk_to(self: &Arc<Self>, target: Offset, end: u64) -> Result<BatchScan> {
        let around = self.with_indexes(|indexes| indexes.around_offset(target))?;
        if let Some(above) = self.likely_stretch(&around, end) {
            let scan = BatchScan::headers(Arc::clone(&self.file), above.start..end);
            let mut scan = scan.expecting(above.end - above.start);
            match scan.next_batch() {
                Ok(Some(first))
                    if is_plain(&first.header) && first.header.base_offset <= target =>
                {
                    scan.back_to(&first);
                    return Ok(scan);
                }
                // What is wrong there is told by who comes there from below.
                Err(e) if !e.is_corrupt_data() => return Err(e),
                _ => {}
            }
        }
        Ok(self.headers_below(&around, end))
    }

    /// The stretch of the first index entry at or above an offset, if its batch is likely to hold the offset.
    fn likely_stretch(&self, around: &OffsetSurroundings, end: u64) -> Option<Range<u64>> {
        let below = around.below(end);
        let is_next = below.is_empty() || self.is_of_one_batch(around, &below);
        around.above(end).filter(|_| is_next)
    }

    /// Whether between two entries there is likely nothing but the batch of the first one. As long as batches are smaller than
    /// the interval of the index two entries are less than two intervals apart, and many batches lie between them; a larger one
    /// is followed by an entry. The first batch of a segment has none.
    fn is_of_one_batch(&self, around: &OffsetSurroundings, below: &Range<u64>) -> bool {
        let interval = self.options.index_interval_bytes;
        let bytes = below.end.saturating_sub(below.start);
        around.is_behind_an_entry() && bytes > interval.saturating_mul(2)
    }

    /// A walk over headers from the last index entry at or below an offset on.
    fn headers_below(&self, around: &OffsetSurroundings, end: u64) -> BatchScan {
        let below = around.below(end);
        let scan = BatchScan::headers(Arc::clone(&self.file), below.start..end);
        // All of them, and the one of the next entry.
        let bytes = below.end.saturating_sub(below.start) + HEADER_BYTES as u64;
        if self.is_of_one_batch(around, &below) || bytes > HEADERS_CHUNK_BYTES as u64 {
            return scan;
        }
        scan.expecting(bytes)
    }

    /// The batch at the begin of a stretch if it holds `target`, and how many bytes of it `ahead` got.
    fn read_holding(
        &self,
        target: Offset,
        stretch: Range<u64>,
        end: u64,
        ahead: &mut [u8],
    ) -> Result<Option<(BatchPosition, usize)>> {
        let rest = end - stretch.start;
        let room = to_usize(stretch.end - stretch.start).min(ahead.len());
        let mut head = [0; HEADER_BYTES];
        let place = match ahead.get_mut(..room) {
            Some(place) if room >= HEADER_BYTES => place,
            _ => head
                .get_mut(..to_usize(rest).min(HEADER_BYTES))
                .unwrap_or_default(),
        };
        let read = self.file.read_at(place, stretch.start)?;
        let read_bytes = place.get(..read).unwrap_or_default();
        // What is wrong there is told by who comes there from below.
        let Ok(Some(header)) = header_at(read_bytes, stretch.start, rest) else {
            return Ok(None);
        };
        if !is_plain(&header) || target < header.base_offset || target > header.last_offset {
            return Ok(None);
        }
        let batch = BatchPosition {
            base_offset: header.base_offset,
            last_offset: header.last_offset,
            position: stretch.start,
            size_bytes: header.size_bytes,
        };
        Ok(Some((batch, if room >= HEADER_BYTES { read } else { 0 })))
    }

    /// Where the last whole batch ends that ends at or below `limit`, from `first` on, and the offset behind it; `None` if even
    /// `first` ends above. Looks near `limit` only: what lies between is not looked at. Bytes that are no batch end the
    /// stretch.
    pub fn end_of_batches(
        &self,
        first: &BatchPosition,
        limit: u64,
    ) -> Result<Option<(u64, Offset)>> {
        let first_end = first.position + u64::from(first.size_bytes);
        if first_end > limit {
            return Ok(None);
        }
        let mut limit = limit;
        loop {
            let below = limit.saturating_sub(1);
            let entry = self.with_indexes(|indexes| indexes.floor_position(below))?;
            let from = entry.map_or(0, |e| u64::from(e.position)).max(first_end);
            let mut found = None;
            let mut scan = BatchScan::headers(Arc::clone(&self.file), from..limit);
            loop {
                match scan.next_batch() {
                    Ok(Some(scanned)) => {
                        found = Some((scanned.end(), scanned.header.last_offset.saturating_next()));
                    }
                    Ok(None) => break,
                    Err(e) if e.is_corrupt_data() => break,
                    Err(e) => return Err(e),
                }
            }
            if found.is_some() {
                return Ok(found);
            }
            if from == first_end {
                return Ok(Some((first_end, first.last_offset.saturating_next())));
            }
            // The batch of the entry ends above the limit: the one in front of it is the last.
            limit = from;
        }
    }

    /// The offset behind the last whole batch of the file, found from the last index entry on; the base offset if there
    /// is none (log.md 2.13). A size field that no batch can have is CORRUPT_MESSAGE.
    pub fn read_next_offset(self: &Arc<Self>) -> Result<Offset> {
        let entry = self.with_indexes(|indexes| indexes.last_offset())?;
        let position = entry.map_or(0, |e| u64::from(e.position));
        let mut scan = BatchScan::headers(Arc::clone(&self.file), position..self.size_bytes());
        let mut next = self.base_offset;
        while let Some(scanned) = scan.next_batch()? {
            next = scanned.header.last_offset.next();
        }
        Ok(next)
    }
}

/// Whether a header tells the base offset: that of a compressed wrapper of an old format stands inside.
fn is_plain(header: &BatchHeader) -> bool {
    header.is_v2() || !header.attributes.is_compressed()
}
