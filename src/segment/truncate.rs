//! Cutting a segment short at an offset. Implements log.md 2.18.
//!
//! In three steps, so that a failure changes nothing and no reader looks behind the end: what would be left is worked out,
//! then it counts in memory, then the log publishes the new end, then the files are cut.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::index::{GrowingIndexes, Indexes};
use super::scan::BatchScan;
use super::time::MaxTimestamp;
use super::write::SegmentWriter;
use super::{IndexCapacity, Segment};
use crate::error::Result;
use crate::io::File;
use crate::types::{Offset, TimestampMs};

/// What is left of a segment that is cut at an offset.
#[derive(Debug)]
pub struct SegmentCut {
    size_bytes: u64,
    indexes: GrowingIndexes,
    max_timestamp: MaxTimestamp,
    aborted: usize,
    prefix: Option<Arc<dyn File>>,
}

impl SegmentCut {
    /// Bytes of the `.log` that are left.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Entries of the transaction index that are left.
    #[must_use]
    pub fn aborted(&self) -> usize {
        self.aborted
    }
}

impl Segment {
    /// Works out what is left when the batch that holds `target`, and all behind it, goes. Nothing changes; what takes much
    /// room or time is done now, so that it fails now.
    pub fn plan_cut(self: &Arc<Self>, target: Offset) -> Result<SegmentCut> {
        let size_bytes = self
            .position_of(target, self.size_bytes())?
            .unwrap_or(self.size_bytes());
        let capacity = IndexCapacity::of_bytes(self.options.index_bytes_max);
        let indexes = self.with_indexes(|view| {
            GrowingIndexes::below(self.base_offset, capacity, target, &view)
        })?;
        let mut max_timestamp = self.max_timestamp()?;
        if max_timestamp.timestamp.is_some() {
            max_timestamp = self.max_timestamp_below(size_bytes, &indexes)?;
        }
        Ok(SegmentCut {
            size_bytes,
            indexes,
            max_timestamp,
            aborted: self.aborted_below(target)?,
            prefix: self.prefix_if_pinned(size_bytes)?,
        })
    }

    /// The last time entry, or a batch behind its place that is larger.
    fn max_timestamp_below(&self, end: u64, indexes: &GrowingIndexes) -> Result<MaxTimestamp> {
        let mut max = indexes.last_time().map_or(
            MaxTimestamp {
                timestamp: TimestampMs::NONE,
                offset: self.base_offset,
            },
            |entry| MaxTimestamp {
                timestamp: entry.timestamp,
                offset: entry.offset,
            },
        );
        let position = indexes
            .floor_offset(max.offset)
            .map_or(0, |entry| u64::from(entry.position));
        let mut scan = BatchScan::headers(Arc::clone(&self.file), position..end);
        while let Some(scanned) = scan.next_batch()? {
            if scanned.header.max_timestamp > max.timestamp {
                max = MaxTimestamp {
                    timestamp: scanned.header.max_timestamp,
                    offset: scanned.header.last_offset,
                };
            }
        }
        Ok(max)
    }

    /// Lets only what is left count, and opens it for appending. The files are cut by [`SegmentWriter::cut_back`] and
    /// [`Segment::keep_aborted`], once no reader is led behind the new end.
    pub fn take_cut(self: &Arc<Self>, cut: SegmentCut, now: TimestampMs) -> Result<SegmentWriter> {
        self.size_bytes.store(cut.size_bytes, Ordering::SeqCst);
        self.indexes
            .store(Arc::new(Indexes::Growing(Box::new(cut.indexes))));
        *self.max_timestamp.lock() = Some(cut.max_timestamp);
        if cut.size_bytes == 0 {
            self.created.store(now.0, Ordering::SeqCst);
        }
        Ok(SegmentWriter::new(Arc::clone(self), false)?.with_prefix(cut.prefix))
    }
}
