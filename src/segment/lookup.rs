//! From an offset to bytes. Implements log.md 2.11-2.13.

use std::sync::Arc;

use super::Segment;
use super::index::{IndexView, Indexes};
use super::scan::BatchScan;
use crate::error::Result;
use crate::types::Offset;

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
        let entry = self.with_indexes(|indexes| indexes.floor_offset(target))?;
        let position = entry.map_or(0, |e| u64::from(e.position));
        let mut scan = BatchScan::headers(Arc::clone(&self.file), position..end);
        while let Some(scanned) = scan.next_batch()? {
            if scanned.header.last_offset >= target {
                return Ok(Some(BatchPosition {
                    base_offset: scan.base_offset_of(&scanned)?,
                    last_offset: scanned.header.last_offset,
                    position: scanned.position,
                    size_bytes: scanned.header.size_bytes,
                }));
            }
        }
        Ok(None)
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
