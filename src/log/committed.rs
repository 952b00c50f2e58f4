//! The aborted transactions that a reader of committed ones has to know. Implements log.md 5.4, state.md 5.6, 5.7.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Log;
use super::end::LogEnd;
use super::segments::SegmentList;
use crate::error::{Error, ErrorKind, Result};
use crate::format::batch::Batch;
use crate::format::control::{self, ControlBatch};
use crate::format::decoder::RecordDecoder;
use crate::format::txn_index::AbortedTxn;
use crate::segment::Segment;
use crate::types::{Offset, ProducerId};

/// An offset above all that was read up to the position `behind` of a segment: what the offset index tells, else the base of
/// the next segment, else the log end. It may lie far above.
pub(super) fn upper_bound(
    segments: &SegmentList,
    segment: &Arc<Segment>,
    behind: u64,
    end: LogEnd,
) -> Result<Offset> {
    if let Some(entry) = segment.with_indexes(|indexes| indexes.bound_above(behind))? {
        return Ok(entry.offset);
    }
    let above = segments
        .from_floor(segment.base_offset())
        .get(1)
        .map(|next| next.base_offset());
    Ok(above.unwrap_or(end.offset))
}

/// Tells batches of aborted transactions from others, batch after batch from where a read began.
#[derive(Default)]
pub(super) struct Aborted {
    /// Those that begin further on, the next one last.
    to_come: Vec<AbortedTxn>,
    /// Producers whose batches are of an aborted transaction now.
    open: BTreeSet<ProducerId>,
    decoder: Option<RecordDecoder>,
}

impl Aborted {
    /// By the list that goes with a read.
    #[must_use]
    pub(super) fn new(mut txns: Vec<AbortedTxn>) -> Self {
        txns.sort_by_key(|txn| std::cmp::Reverse(txn.first_offset));
        Self {
            to_come: txns,
            ..Self::default()
        }
    }

    /// Takes in the next batch. Whether its records belong to an aborted transaction.
    pub(super) fn take_in(&mut self, batch: &Batch<'_>) -> bool {
        if self.to_come.is_empty() && self.open.is_empty() {
            return false;
        }
        let header = batch.header();
        while let Some(txn) = self
            .to_come
            .pop_if(|txn| txn.first_offset <= header.last_offset)
        {
            self.open.insert(txn.producer_id);
        }
        if !header.is_v2() || !self.open.contains(&header.producer_id) {
            return false;
        }
        if header.attributes.is_control() {
            let decoder = self.decoder.get_or_insert_with(control::marker_decoder);
            if let Ok(ControlBatch::EndTxn(marker, _)) = control::read_control_batch(batch, decoder)
                && !marker.commit
            {
                self.open.remove(&header.producer_id);
            }
            return false;
        }
        header.attributes.is_transactional()
    }
}

/// The aborted transactions that overlap `[from, upto)`, in the order of the indexes.
pub(super) fn overlapping(
    segments: &SegmentList,
    from: Offset,
    upto: Offset,
) -> Result<Vec<AbortedTxn>> {
    let mut found = Vec::new();
    for segment in segments.from_floor(from) {
        for txn in segment.aborted_txns()?.iter() {
            if txn.last_offset >= from && txn.first_offset < upto {
                found.push(*txn);
            }
            // All transactions that began below had ended when this one did.
            if txn.last_stable_offset >= upto {
                return Ok(found);
            }
        }
    }
    Ok(found)
}

impl Log {
    /// The aborted transactions that overlap `[from, upto)`: what a reader that got batches up to `upto`
    /// ([`super::ReadResult::aborted_upto`]) from `from` on leaves out. In the order of the index; entries from above what was
    /// read may be among them. OFFSET_OUT_OF_RANGE if the segment that held `from` is gone, and with it part of the answer;
    /// [`Log::read_with_aborted`] never meets that.
    pub fn aborted_txns(&self, from: Offset, upto: Offset) -> Result<Vec<AbortedTxn>> {
        self.between_cuts(|| self.aborted_txns_once(from, upto))
    }

    pub(super) fn aborted_txns_once(&self, from: Offset, upto: Offset) -> Result<Vec<AbortedTxn>> {
        self.check_open()?;
        let segments = self.segments();
        if segments.floor(from).is_none() && from < upto {
            return Err(Error::new(
                ErrorKind::OffsetOutOfRange,
                format!(
                    "the log {} has no segment any more that held the offset {from}",
                    self.partition
                ),
            )
            .in_partition(self.partition.partition)
            .at_offset(from));
        }
        overlapping(&segments, from, upto)
    }
}
