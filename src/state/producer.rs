//! One producer of a log, and a change of it. Implements state.md 4.1-4.4, 4.8-4.10 and 6.1.
//!
//! Batches that are already in the log are taken as they stand, stale epochs included; what an append has to fulfil first
//! stands in [`super::append_rules`].

use std::collections::VecDeque;

use super::transactions::{CompletedTxn, Transactions};
use crate::format::batch::{BatchHeader, decrement_sequence};
use crate::format::control::EndTxnMarker;
use crate::format::snapshot::ProducerEntry;
use crate::types::{Offset, ProducerId, TimestampMs};

/// How many batches of a producer are remembered.
pub const REMEMBERED_BATCHES: usize = 5;

/// A batch that a producer wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchDescriptor {
    /// Sequence of its last record.
    pub last_sequence: i32,
    /// Its last offset.
    pub last_offset: Offset,
    /// Last minus first offset, and last minus first sequence.
    pub offset_delta: i32,
    /// Its max timestamp.
    pub timestamp: TimestampMs,
}

impl BatchDescriptor {
    /// Sequence of its first record.
    #[must_use]
    pub fn first_sequence(&self) -> i32 {
        decrement_sequence(self.last_sequence, self.offset_delta)
    }

    /// Its first offset.
    #[must_use]
    pub fn first_offset(&self) -> Offset {
        self.last_offset + -i64::from(self.offset_delta)
    }
}

/// What is known of one producer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Producer {
    /// Its current epoch, -1 for none.
    pub epoch: i16,
    /// Epoch of the coordinator of its last marker, -1 for none.
    pub coordinator_epoch: i32,
    /// Time of its last batch or marker.
    pub last_timestamp: TimestampMs,
    /// First offset of its open transaction.
    pub txn_first_offset: Option<Offset>,
    /// Its last batches, oldest first.
    pub batches: VecDeque<BatchDescriptor>,
}

impl Producer {
    pub(super) fn unknown() -> Self {
        Self {
            epoch: -1,
            coordinator_epoch: -1,
            last_timestamp: TimestampMs::NONE,
            txn_first_offset: None,
            batches: VecDeque::new(),
        }
    }

    /// The batch among the remembered ones that this one repeats: the same epoch, and the same first and last sequence
    /// (state.md 4.3).
    #[must_use]
    pub fn repeated(&self, header: &BatchHeader) -> Option<&BatchDescriptor> {
        if header.producer_epoch != self.epoch {
            return None;
        }
        let (first, last) = (header.base_sequence, header.last_sequence());
        self.batches
            .iter()
            .find(|batch| batch.first_sequence() == first && batch.last_sequence == last)
    }

    pub(super) fn last_sequence(&self) -> Option<i32> {
        self.batches.back().map(|batch| batch.last_sequence)
    }

    pub(super) fn take_epoch(&mut self, epoch: i16) {
        if self.epoch != epoch {
            self.batches.clear();
            self.epoch = epoch;
        }
    }

    pub(super) fn remember(&mut self, batch: BatchDescriptor) {
        if self.batches.len() == REMEMBERED_BATCHES {
            self.batches.pop_front();
        }
        // Most producers of many write one batch and are not heard of again.
        self.batches.reserve_exact(1);
        self.batches.push_back(batch);
    }

    /// The entry of a snapshot: of the batches only the last.
    #[must_use]
    pub fn snapshot_entry(&self, producer_id: ProducerId) -> ProducerEntry {
        let last = self.batches.back();
        ProducerEntry {
            producer_id,
            epoch: self.epoch,
            last_sequence: last.map_or(-1, |b| b.last_sequence),
            last_offset: last.map_or(Offset::NONE, |b| b.last_offset),
            offset_delta: last.map_or(0, |b| b.offset_delta),
            timestamp: self.last_timestamp,
            coordinator_epoch: self.coordinator_epoch,
            txn_first_offset: self.txn_first_offset,
        }
    }

    pub(super) fn from_entry(entry: &ProducerEntry) -> Self {
        let batch = BatchDescriptor {
            last_sequence: entry.last_sequence,
            last_offset: entry.last_offset,
            offset_delta: entry.offset_delta,
            timestamp: entry.timestamp,
        };
        Self {
            epoch: entry.epoch,
            coordinator_epoch: entry.coordinator_epoch,
            last_timestamp: entry.timestamp,
            txn_first_offset: entry.txn_first_offset,
            batches: (entry.last_offset.0 >= 0)
                .then_some(batch)
                .into_iter()
                .collect(),
        }
    }
}

/// A change of one producer, gathered over several batches and merged at once: what a step within it sees is the state
/// staged so far, and batches of an epoch that the producer left in between count as Kafka counts them.
#[derive(Clone, Debug)]
pub struct StagedProducer {
    pub(super) producer_id: ProducerId,
    /// Epochs, time and transaction as they will be; only the batches that are new.
    pub(super) staged: Producer,
    begun: Vec<Offset>,
    /// What the producer's state is while the change is not merged.
    before: Before,
}

/// What counts of a producer's state before a change.
#[derive(Clone, Copy, Debug)]
struct Before {
    epoch: i16,
    last_sequence: Option<i32>,
}

/// What a batch that lies in the log means against the state before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Oddity {
    /// A batch outside of a transaction inside the open transaction of its producer. A leader refuses it.
    NotTransactional,
}

impl StagedProducer {
    /// Begins a change of what is known of a producer.
    pub(super) fn of(producer_id: ProducerId, known: Option<&Producer>) -> Self {
        let staged = known.map_or_else(Producer::unknown, |producer| Producer {
            batches: VecDeque::new(),
            ..*producer
        });
        let before = Before {
            epoch: staged.epoch,
            last_sequence: known.and_then(Producer::last_sequence),
        };
        Self {
            producer_id,
            staged,
            begun: Vec::new(),
            before,
        }
    }

    /// Whose change it is.
    #[must_use]
    pub fn producer_id(&self) -> ProducerId {
        self.producer_id
    }

    /// Its epoch as it will be; -1 for none.
    #[must_use]
    pub fn epoch(&self) -> i16 {
        self.staged.epoch
    }

    /// Its epoch before the change; -1 for none.
    #[must_use]
    pub fn epoch_before(&self) -> i16 {
        self.before.epoch
    }

    /// Its last sequence in its epoch as it will be; -1 if it wrote no batch in it.
    #[must_use]
    pub fn last_sequence(&self) -> i32 {
        let before = self
            .before
            .last_sequence
            .filter(|_| self.staged.epoch == self.before.epoch);
        self.staged.last_sequence().or(before).unwrap_or(-1)
    }

    /// The coordinator epoch of its last marker; -1 for none.
    #[must_use]
    pub fn coordinator_epoch(&self) -> i32 {
        self.staged.coordinator_epoch
    }

    /// Whether a transaction is open.
    #[must_use]
    pub fn is_in_txn(&self) -> bool {
        self.staged.txn_first_offset.is_some()
    }

    /// Begins the transactions of this change among others.
    pub fn begin_in(&self, transactions: &mut Transactions) {
        for &first_offset in &self.begun {
            transactions.begin(first_offset, self.producer_id);
        }
    }

    /// Takes in a batch of data. The answer names what a leader would not have let in; the state is the same.
    pub fn replay_data(&mut self, header: &BatchHeader) -> Option<Oddity> {
        self.staged.take_epoch(header.producer_epoch);
        self.staged.remember(BatchDescriptor {
            last_sequence: header.last_sequence(),
            last_offset: header.last_offset,
            offset_delta: header.last_offset_delta(),
            timestamp: header.max_timestamp,
        });
        self.staged.last_timestamp = header.max_timestamp;
        match (
            self.staged.txn_first_offset,
            header.attributes.is_transactional(),
        ) {
            (Some(_), false) => Some(Oddity::NotTransactional),
            (None, true) => {
                self.staged.txn_first_offset = Some(header.base_offset);
                self.begun.push(header.base_offset);
                None
            }
            _ => None,
        }
    }

    /// Takes in a marker: an open transaction ends (state.md 4.9). A marker without one completes nothing.
    pub fn replay_marker(
        &mut self,
        header: &BatchHeader,
        marker: EndTxnMarker,
        timestamp: TimestampMs,
    ) -> Option<CompletedTxn> {
        let completed = self
            .staged
            .txn_first_offset
            .take()
            .map(|first_offset| CompletedTxn {
                producer_id: self.producer_id,
                first_offset,
                last_offset: header.base_offset,
                is_aborted: !marker.commit,
            });
        self.staged.take_epoch(header.producer_epoch);
        self.staged.coordinator_epoch = marker.coordinator_epoch;
        self.staged.last_timestamp = timestamp;
        completed
    }
}
