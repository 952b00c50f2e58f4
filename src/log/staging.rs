//! What the batches of an append do to producers and transactions: checked before anything is stored, merged after.
//! Implements log.md 3.4 (10), (14), (15), state.md 4 and 5.4.

use std::ops::Range;

use super::validation::Origin;
use crate::error::{Error, Result};
use crate::format::batch::{Batch, BatchHeader};
use crate::format::control::{self, ControlBatch};
use crate::format::decoder::RecordDecoder;
use crate::format::txn_index::AbortedTxn;
use crate::state::append_rules::{self, Rules, TxnVersion};
use crate::state::producer::{BatchDescriptor, StagedProducer};
use crate::state::producers::Producers;
use crate::state::transactions::CompletedTxn;
use crate::types::Offset;

/// What an append is to producers.
#[derive(Debug)]
pub(super) enum Outcome {
    /// Its batch is in the log already (state.md 4.3).
    Duplicate(BatchDescriptor),
    /// These changes, once it is stored.
    Changes(Changes),
}

/// Changes that were checked and wait for the append to be stored.
#[derive(Debug, Default)]
pub(super) struct Changes {
    staged: Vec<StagedProducer>,
    completed: Vec<CompletedTxn>,
}

/// Checks the batches of an append, which have their final offsets: where each lies in `bytes`, and its header.
pub(super) fn check<'h>(
    producers: &Producers,
    bytes: &[u8],
    batches: impl Iterator<Item = (Range<usize>, &'h BatchHeader)>,
    origin: Origin,
    version: Option<TxnVersion>,
) -> Result<Outcome> {
    let rules = Rules {
        fences: origin != Origin::Replication,
        follows_sequence: origin == Origin::Client,
    };
    let mut changes = Changes::default();
    for (range, header) in batches.filter(|(_, header)| header.is_v2() && header.has_producer_id())
    {
        if origin == Origin::Client
            && let Some(known) = producers.get(header.producer_id)
            && let Some(repeated) = known.repeated(header)
        {
            return Ok(Outcome::Duplicate(*repeated));
        }
        if header.attributes.is_control() && !control::is_marker(header) {
            // A load makes nothing of it, nor must what is in memory before: only a leader's is taken as it is.
            if origin == Origin::Replication {
                continue;
            }
            return Err(Error::invalid_record(format!(
                "a control batch of a producer has {} bytes, at most {} are taken: markers have less than a hundred",
                header.size_bytes,
                control::MARKER_BYTES_MAX
            ))
            .at_offset(header.base_offset));
        }
        let assigns = matches!(origin, Origin::Client | Origin::Coordinator);
        if assigns && header.attributes.is_transactional() {
            append_rules::check_txn_epoch(producers, header)?;
        }
        let staged = changes.stage(producers, header);
        if !header.attributes.is_control() {
            append_rules::append_data(staged, header, rules)?;
            continue;
        }
        let batch = Batch::new(bytes.get(range).unwrap_or_default())?;
        let read = control::read_control_batch(&batch, &mut RecordDecoder::new())
            .map_err(|e| e.at_offset(header.base_offset))?;
        if let ControlBatch::EndTxn(marker, timestamp) = read {
            let version = match version {
                Some(version) => version,
                None if rules.fences => TxnVersion::from_number(-1)?,
                None => TxnVersion::Classic,
            };
            let completed =
                append_rules::append_marker(staged, header, marker, timestamp, rules, version)?;
            changes.completed.extend(completed);
        }
    }
    Ok(Outcome::Changes(changes))
}

impl Changes {
    fn stage(&mut self, producers: &Producers, header: &BatchHeader) -> &mut StagedProducer {
        let id = header.producer_id;
        let at = self.staged.iter().position(|s| s.producer_id() == id);
        let at = at.unwrap_or_else(|| {
            self.staged.push(producers.stage(id));
            self.staged.len() - 1
        });
        match self.staged.get_mut(at) {
            Some(staged) => staged,
            None => unreachable!("it was found or added"),
        }
    }

    /// The entries of the transaction index that the append adds: its aborted transactions, each with the last stable offset
    /// that holds when it ends (state.md 5.4).
    #[must_use]
    pub(super) fn aborted(&self, producers: &Producers) -> Vec<AbortedTxn> {
        if self.completed.iter().all(|txn| !txn.is_aborted) {
            return Vec::new();
        }
        let mut transactions = producers.transactions.clone();
        for staged in &self.staged {
            staged.begin_in(&mut transactions);
        }
        let mut entries = Vec::new();
        for txn in &self.completed {
            let last_stable_offset: Offset = transactions.last_stable_offset_at(txn);
            transactions.complete(txn);
            if txn.is_aborted {
                entries.push(AbortedTxn {
                    producer_id: txn.producer_id,
                    first_offset: txn.first_offset,
                    last_offset: txn.last_offset,
                    last_stable_offset,
                });
            }
        }
        entries
    }

    /// The append is stored: the changes count.
    pub(super) fn merge_into(self, producers: &mut Producers) {
        for staged in self.staged {
            producers.merge(staged);
        }
        for txn in &self.completed {
            producers.transactions.complete(txn);
        }
    }
}
