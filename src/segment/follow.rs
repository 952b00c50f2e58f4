//! A segment that another process appends to, as one that only reads it sees it: what was taken in counts, and no more.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::scan::{BatchScan, Scanned};
use super::write::SegmentWriter;
use super::{Segment, SegmentOptions};
use crate::error::Result;
use crate::format::txn_index::AbortedTxn;
use crate::io::FileSystem;
use crate::types::{Offset, TimestampMs};

impl Segment {
    /// Opens a segment of which nothing counts yet. Its index files are its owner's business: entries are kept in memory.
    pub fn follow(
        fs: &Arc<dyn FileSystem>,
        dir: &Arc<Path>,
        base_offset: Offset,
        options: SegmentOptions,
        now: TimestampMs,
    ) -> Result<SegmentWriter> {
        let segment = Self::open(fs, dir, base_offset, options, now)?;
        segment.size_bytes.store(0, Ordering::SeqCst);
        segment.indexes.store(Arc::new(segment.empty_indexes()));
        *segment.aborted.lock() = Some(Arc::default());
        SegmentWriter::new(segment, false)
    }

    /// Adds an entry to the transaction index as this process knows it. The file, which is its owner's, is not looked at any
    /// more.
    pub fn note_aborted(&self, txn: AbortedTxn) {
        let mut known = self.aborted.lock();
        Arc::make_mut(known.get_or_insert_default()).push(txn);
    }

    /// The last batch that counts, found from the last index entry on.
    pub fn last_batch(self: &Arc<Self>) -> Result<Option<Scanned>> {
        let entry = self.with_indexes(|indexes| indexes.last_offset())?;
        let position = entry.map_or(0, |e| u64::from(e.position));
        let mut scan = BatchScan::headers(Arc::clone(&self.file), position..self.size_bytes());
        let mut last = None;
        while let Some(scanned) = scan.next_batch()? {
            last = Some(scanned);
        }
        Ok(last)
    }
}
