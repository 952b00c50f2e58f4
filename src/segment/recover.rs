//! Recovery of a segment: everything that is derived from its log is made anew, and the log ends in front of the first
//! bytes that are wrong. Implements log.md 2.15, 2.16, hard-cases.md HC13.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Segment;
use super::index::Indexes;
use super::open::EntriesDue;
use super::scan::BatchScan;
use super::time::MaxTimestamp;
use super::write::SegmentWriter;
use crate::error::{Error, ErrorKind, Result};
use crate::format::batch::{Batch, BatchHeader};
use crate::format::control;
use crate::format::txn_index::AbortedTxn;

/// What the log that a segment belongs to learns from its batches.
pub trait RecoverySink {
    /// A valid batch, in order; a control batch of a producer comes with its bytes. An aborted transaction that ends with
    /// it goes into the segment's index.
    fn batch(
        &mut self,
        header: &BatchHeader,
        control: Option<&Batch<'_>>,
    ) -> Result<Option<AbortedTxn>>;
}

/// What a recovery did.
#[derive(Clone, Debug)]
pub struct Recovery {
    /// Bytes behind the last good batch, to be cut off.
    pub truncated_bytes: u64,
    /// What was wrong with them.
    pub reason: Option<String>,
}

/// What a look at every batch of a segment found. Nothing has changed yet.
#[derive(Debug)]
pub struct Verified {
    indexes: Indexes,
    max_timestamp: MaxTimestamp,
    valid_bytes: u64,
    reason: Option<String>,
}

impl Segment {
    /// Recovers the segment up to the files of its log and indexes, which are as they were until
    /// [`SegmentWriter::finish`] cuts and writes them: what has to be in order before bytes go comes in between. It can be
    /// appended to afterwards. An I/O error cuts nothing (hard-cases.md HC22). An offset that does not fit the segment's
    /// range is SEGMENT_OVERFLOW and cuts nothing either.
    pub fn recover(
        self: Arc<Self>,
        sink: &mut dyn RecoverySink,
    ) -> Result<(SegmentWriter, Recovery)> {
        let mut aborted = Vec::new();
        let verified = self.verify(|header, control| {
            aborted.extend(sink.batch(header, control)?);
            Ok(())
        })?;
        self.accept(verified, &aborted)
    }

    /// Looks at every batch and makes the entries of the indexes, in memory. `tell` hears of each good batch, in order; a
    /// control batch of a producer comes with its bytes. Can be done by any thread while nothing is appended.
    pub fn verify(
        &self,
        mut tell: impl FnMut(&BatchHeader, Option<&Batch<'_>>) -> Result<()>,
    ) -> Result<Verified> {
        let indexes = self.empty_indexes();
        let Indexes::Growing(growing) = &indexes else {
            return Err(Error::new(ErrorKind::Bug, "new indexes do not grow"));
        };
        let mut entries = EntriesDue::new(self.base_offset, self.options.index_interval_bytes);
        let mut scan = BatchScan::new(Arc::clone(&self.file), 0..self.size_bytes());
        let mut expected = self.base_offset;
        let mut valid_bytes = 0;
        let reason = loop {
            let scanned = match scan.next_valid(expected) {
                Ok(Some(scanned)) => scanned,
                Ok(None) => break scan.trailing(),
                Err(e) if e.is_corrupt_data() => break Some(e.to_string()),
                Err(e) => return Err(e),
            };
            if scanned
                .header
                .last_offset
                .relative_to(self.base_offset)
                .is_none()
            {
                return Err(Error::new(
                    ErrorKind::SegmentOverflow,
                    format!(
                        "segment {} holds the offset {}, which is too far from its base",
                        self.base_offset, scanned.header.last_offset
                    ),
                )
                .at_offset(scanned.header.last_offset)
                .at_position(scanned.position));
            }
            entries.batch(growing, &scanned.header, scanned.position);
            let header = &scanned.header;
            let is_marker = control::is_marker(header);
            let control = if is_marker {
                Some(scan.bytes_of(&scanned)?)
            } else {
                None
            };
            tell(header, control.as_ref())?;
            expected = scanned.header.last_offset.next();
            valid_bytes = scanned.end();
        };
        let max_timestamp = entries.finish(growing);
        Ok(Verified {
            indexes,
            max_timestamp,
            valid_bytes,
            reason,
        })
    }

    /// Takes over what [`Self::verify`] found, with the transactions that were found to be aborted: see [`Self::recover`].
    pub fn accept(
        self: Arc<Self>,
        verified: Verified,
        aborted: &[AbortedTxn],
    ) -> Result<(SegmentWriter, Recovery)> {
        let truncated_bytes = self.size_bytes() - verified.valid_bytes;
        self.size_bytes
            .store(verified.valid_bytes, Ordering::SeqCst);
        self.reset_txn_index()?;
        for txn in aborted {
            self.append_aborted(txn)?;
        }
        *self.max_timestamp.lock() = Some(verified.max_timestamp);
        self.indexes.store(Arc::new(verified.indexes));
        Ok((
            SegmentWriter::new(self, false)?,
            Recovery {
                truncated_bytes,
                reason: verified.reason,
            },
        ))
    }
}
