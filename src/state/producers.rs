//! What a log remembers of its producers. Implements state.md 4.1-4.4, 4.8-4.11 and 6.1.
//!
//! Batches that are already in the log are taken as they stand, stale epochs included; what an append has to fulfil first
//! stands in [`super::append_rules`].

use std::collections::{BTreeMap, VecDeque};

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
    fn unknown() -> Self {
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

    fn last_sequence(&self) -> Option<i32> {
        self.batches.back().map(|batch| batch.last_sequence)
    }

    fn take_epoch(&mut self, epoch: i16) {
        if self.epoch != epoch {
            self.batches.clear();
            self.epoch = epoch;
        }
    }

    fn remember(&mut self, batch: BatchDescriptor) {
        if self.batches.len() == REMEMBERED_BATCHES {
            self.batches.pop_front();
        }
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

    fn from_entry(entry: &ProducerEntry) -> Self {
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
    producer_id: ProducerId,
    /// Epochs, time and transaction as they will be; only the batches that are new.
    staged: Producer,
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

/// The producers of a log and their transactions, up to an offset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Producers {
    by_id: BTreeMap<ProducerId, Producer>,
    /// The transactions that make offsets unstable.
    pub transactions: Transactions,
}

impl Producers {
    /// Every producer, by rising id.
    pub fn iter(&self) -> impl Iterator<Item = (ProducerId, &Producer)> {
        self.by_id.iter().map(|(id, producer)| (*id, producer))
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Whether neither a producer nor a transaction is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty() && self.transactions.is_empty()
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.by_id.clear();
        self.transactions.clear();
    }

    /// One producer.
    #[must_use]
    pub fn get(&self, producer_id: ProducerId) -> Option<&Producer> {
        self.by_id.get(&producer_id)
    }

    /// Forgets the producers that have expired by `now` (state.md 4.11). How many.
    pub fn expire(&mut self, now: TimestampMs, expiration_ms: i64) -> usize {
        let before = self.by_id.len();
        self.by_id
            .retain(|_, producer| !is_expired(producer, now, expiration_ms));
        before - self.by_id.len()
    }

    /// Begins a change of one producer.
    #[must_use]
    pub fn stage(&self, producer_id: ProducerId) -> StagedProducer {
        let known = self.by_id.get(&producer_id);
        let staged = known.map_or_else(Producer::unknown, |producer| Producer {
            batches: VecDeque::new(),
            ..*producer
        });
        let before = Before {
            epoch: staged.epoch,
            last_sequence: known.and_then(Producer::last_sequence),
        };
        StagedProducer {
            producer_id,
            staged,
            begun: Vec::new(),
            before,
        }
    }

    /// Makes a staged change.
    pub fn merge(&mut self, change: StagedProducer) {
        change.begin_in(&mut self.transactions);
        let StagedProducer {
            producer_id,
            staged,
            ..
        } = change;
        let producer = self
            .by_id
            .entry(producer_id)
            .or_insert_with(Producer::unknown);
        producer.take_epoch(staged.epoch);
        for batch in staged.batches {
            producer.remember(batch);
        }
        producer.coordinator_epoch = staged.coordinator_epoch;
        producer.last_timestamp = staged.last_timestamp;
        producer.txn_first_offset = staged.txn_first_offset;
    }

    /// Takes in the entries of a snapshot; those that have expired by `now` are left out (state.md 4.11, 6.5).
    pub fn load(&mut self, entries: &[ProducerEntry], now: TimestampMs, expiration_ms: i64) {
        for entry in entries {
            let producer = Producer::from_entry(entry);
            if is_expired(&producer, now, expiration_ms) {
                continue;
            }
            if let Some(first) = producer.txn_first_offset {
                self.transactions.begin(first, entry.producer_id);
            }
            self.by_id.insert(entry.producer_id, producer);
        }
    }

    /// The entries of a snapshot of this state.
    #[must_use]
    pub fn snapshot(&self) -> Vec<ProducerEntry> {
        self.iter()
            .map(|(id, producer)| producer.snapshot_entry(id))
            .collect()
    }
}

/// Whether a producer is to be forgotten: no open transaction, and its last timestamp is old (state.md 4.11).
#[must_use]
pub fn is_expired(producer: &Producer, now: TimestampMs, expiration_ms: i64) -> bool {
    producer.txn_first_offset.is_none()
        && now.0.wrapping_sub(producer.last_timestamp.0) >= expiration_ms
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::batch::Attributes;
    use crate::types::LeaderEpoch;

    fn data(
        pid: i64,
        epoch: i16,
        sequence: i32,
        base: i64,
        n: i64,
        transactional: bool,
    ) -> BatchHeader {
        BatchHeader {
            magic: 2,
            size_bytes: 61,
            base_offset: Offset(base),
            last_offset: Offset(base + n - 1),
            attributes: Attributes::default().with_transactional(transactional),
            crc: 0,
            leader_epoch: LeaderEpoch(0),
            base_timestamp: TimestampMs(0),
            max_timestamp: TimestampMs(base),
            producer_id: ProducerId(pid),
            producer_epoch: epoch,
            base_sequence: sequence,
            record_count: i32::try_from(n).unwrap(),
        }
    }

    fn replay(producers: &mut Producers, header: &BatchHeader) -> Option<Oddity> {
        let mut staged = producers.stage(header.producer_id);
        let oddity = staged.replay_data(header);
        producers.merge(staged);
        oddity
    }

    fn end(producers: &mut Producers, header: &BatchHeader, commit: bool) -> Option<CompletedTxn> {
        let mut staged = producers.stage(header.producer_id);
        let marker = EndTxnMarker {
            commit,
            version: 0,
            coordinator_epoch: 6,
        };
        let completed = staged.replay_marker(header, marker, TimestampMs(77));
        producers.merge(staged);
        completed
    }

    #[test]
    fn the_last_five_batches_are_remembered_and_one_survives_a_snapshot() {
        let mut producers = Producers::default();
        for i in 0..6 {
            assert_eq!(
                replay(
                    &mut producers,
                    &data(1, 0, 2 * i, i64::from(2 * i), 2, false)
                ),
                None
            );
        }
        let (_, producer) = producers.iter().next().unwrap();
        let sequences: Vec<_> = producer
            .batches
            .iter()
            .map(|b| (b.first_sequence(), b.last_sequence))
            .collect();
        assert_eq!(sequences, [(2, 3), (4, 5), (6, 7), (8, 9), (10, 11)]);
        let mut again = Producers::default();
        again.load(&producers.snapshot(), TimestampMs(0), 1000);
        let (_, producer) = again.iter().next().unwrap();
        assert_eq!(producer.batches.len(), 1);
        assert_eq!(producer.batches[0].first_offset(), Offset(10));
    }

    #[test]
    fn e3_sequences_wrap_inside_a_batch() {
        let mut producers = Producers::default();
        replay(&mut producers, &data(1, 0, i32::MAX, 3, 2, false));
        let (_, producer) = producers.iter().next().unwrap();
        assert_eq!(
            (
                producer.batches[0].first_sequence(),
                producer.batches[0].last_sequence
            ),
            (i32::MAX, 0)
        );
    }

    #[test]
    fn e5_a_marker_ends_the_transaction_and_sets_epochs() {
        let mut producers = Producers::default();
        replay(&mut producers, &data(9, 3, 0, 1, 1, true));
        assert_eq!(
            producers.transactions.first_unstable_offset(),
            Some(Offset(1))
        );
        let completed = end(&mut producers, &data(9, 4, -1, 2, 1, true), false).unwrap();
        assert_eq!(
            (
                completed.first_offset,
                completed.last_offset,
                completed.is_aborted
            ),
            (Offset(1), Offset(2), true)
        );
        let (_, producer) = producers.iter().next().unwrap();
        assert_eq!((producer.epoch, producer.coordinator_epoch), (4, 6));
        assert!(producer.batches.is_empty() && producer.txn_first_offset.is_none());
        assert_eq!(producer.last_timestamp, TimestampMs(77));
        assert_eq!(
            end(&mut producers, &data(9, 4, -1, 3, 1, true), true),
            None,
            "nothing was open"
        );
    }

    #[test]
    fn e6_a_plain_batch_inside_a_transaction_is_named() {
        let mut producers = Producers::default();
        replay(&mut producers, &data(1, 0, 0, 0, 2, true));
        assert_eq!(
            replay(&mut producers, &data(1, 0, 2, 2, 1, false)),
            Some(Oddity::NotTransactional)
        );
        let (_, producer) = producers.iter().next().unwrap();
        assert_eq!(
            producer.txn_first_offset,
            Some(Offset(0)),
            "the transaction stays open"
        );
    }

    #[test]
    fn e4_a_stale_epoch_in_the_log_overwrites_the_entry() {
        let mut producers = Producers::default();
        replay(&mut producers, &data(1, 6, 0, 0, 1, false));
        replay(&mut producers, &data(1, 2, 50, 1, 1, false));
        let (_, producer) = producers.iter().next().unwrap();
        assert_eq!((producer.epoch, producer.batches.len()), (2, 1));
    }

    #[test]
    fn expired_producers_are_left_out_of_a_load_unless_a_transaction_is_open() {
        let mut producers = Producers::default();
        replay(&mut producers, &data(1, 0, 0, 100, 1, false));
        replay(&mut producers, &data(2, 0, 0, 101, 1, true));
        let load = |now| {
            let mut loaded = Producers::default();
            loaded.load(&producers.snapshot(), TimestampMs(now), 1000);
            loaded.iter().map(|(id, _)| id.0).collect::<Vec<_>>()
        };
        assert_eq!(load(1099), [1, 2]);
        assert_eq!(load(1100), [2]);
        assert_eq!(load(i64::MAX), [2]);
    }
}
