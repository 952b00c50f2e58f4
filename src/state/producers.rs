//! What a log remembers of all its producers. Implements state.md 4.1, 4.11 and 6.1, 6.5.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Bound;

use super::at_rest::AtRest;
use super::producer::{Producer, StagedProducer};
use super::transactions::Transactions;
use crate::format::snapshot::{ProducerEntry, StoredEntry};
use crate::types::{Offset, ProducerId, TimestampMs};

/// The producers of a log and their transactions, up to an offset.
#[derive(Clone, Debug, Default)]
pub struct Producers {
    /// Those that changed since they were loaded.
    by_id: BTreeMap<ProducerId, Producer>,
    /// Those of a snapshot, in as few bytes as that has of them. One that is in `by_id` too counts no more.
    at_rest: AtRest,
    /// The transactions that make offsets unstable.
    pub transactions: Transactions,
}

/// A producer in the form that it is held in.
enum Held<'p> {
    Live(&'p Producer),
    AtRest(&'p StoredEntry),
}

impl PartialEq for Producers {
    fn eq(&self, other: &Self) -> bool {
        self.transactions == other.transactions && self.iter().eq(other.iter())
    }
}

impl Eq for Producers {}

impl Producers {
    fn held_after(
        &self,
        after: Option<ProducerId>,
    ) -> impl Iterator<Item = (ProducerId, Held<'_>)> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let mut live = self.by_id.range((from, Bound::Unbounded)).peekable();
        let mut at_rest = self.at_rest.after(after).iter().peekable();
        std::iter::from_fn(move || {
            let of_live = live.peek().map(|(id, _)| **id);
            let of_rest = at_rest.peek().map(|stored| stored.producer_id());
            if of_live.is_none_or(|live| of_rest.is_some_and(|rest| rest < live)) {
                return at_rest
                    .next()
                    .map(|stored| (stored.producer_id(), Held::AtRest(stored)));
            }
            if of_live == of_rest {
                at_rest.next();
            }
            live.next()
                .map(|(id, producer)| (*id, Held::Live(producer)))
        })
    }

    /// Every producer, by rising id.
    pub fn iter(&self) -> impl Iterator<Item = (ProducerId, Cow<'_, Producer>)> {
        self.iter_after(None)
    }

    /// The producers with ids above one, rising.
    pub fn iter_after(
        &self,
        after: Option<ProducerId>,
    ) -> impl Iterator<Item = (ProducerId, Cow<'_, Producer>)> {
        self.held_after(after).map(|(id, held)| {
            let producer = match held {
                Held::Live(producer) => Cow::Borrowed(producer),
                Held::AtRest(stored) => Cow::Owned(Producer::from_entry(&stored.entry())),
            };
            (id, producer)
        })
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_id.len() + self.at_rest.len()
    }

    /// Whether neither a producer nor a transaction is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0 && self.transactions.is_empty()
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.by_id.clear();
        self.at_rest = AtRest::default();
        self.transactions.clear();
    }

    /// One producer.
    #[must_use]
    pub fn get(&self, producer_id: ProducerId) -> Option<Cow<'_, Producer>> {
        if let Some(producer) = self.by_id.get(&producer_id) {
            return Some(Cow::Borrowed(producer));
        }
        let stored = self.at_rest.get(producer_id)?;
        Some(Cow::Owned(Producer::from_entry(&stored.entry())))
    }

    /// Forgets the producers that have expired by `now` (state.md 4.11). How many.
    pub fn expire(&mut self, now: TimestampMs, expiration_ms: i64) -> usize {
        let before = self.len();
        let live = &self.by_id;
        self.at_rest.retain(|stored| {
            let entry = stored.entry();
            // What became live has left for good: it must not come back when that expires.
            !live.contains_key(&entry.producer_id)
                && !is_expired(entry.txn_first_offset, entry.timestamp, now, expiration_ms)
        });
        self.by_id.retain(|_, known| {
            !is_expired(
                known.txn_first_offset,
                known.last_timestamp,
                now,
                expiration_ms,
            )
        });
        before - self.len()
    }

    /// Begins a change of one producer.
    #[must_use]
    pub fn stage(&self, producer_id: ProducerId) -> StagedProducer {
        StagedProducer::of(producer_id, self.get(producer_id).as_deref())
    }

    /// Makes a staged change.
    pub fn merge(&mut self, change: StagedProducer) {
        change.begin_in(&mut self.transactions);
        let StagedProducer {
            producer_id,
            staged,
            ..
        } = change;
        let at_rest = &mut self.at_rest;
        let producer = self.by_id.entry(producer_id).or_insert_with(|| {
            at_rest
                .leave(producer_id)
                .map_or_else(Producer::unknown, |entry| Producer::from_entry(&entry))
        });
        producer.take_epoch(staged.epoch);
        for batch in staged.batches {
            producer.remember(batch);
        }
        producer.coordinator_epoch = staged.coordinator_epoch;
        producer.last_timestamp = staged.last_timestamp;
        producer.txn_first_offset = staged.txn_first_offset;
    }

    /// Begins to take in a snapshot, before anything else is known; producers that have expired by `now` are left out
    /// (state.md 4.11, 6.5).
    pub fn load(&mut self, now: TimestampMs, expiration_ms: i64) -> Loading<'_> {
        self.clear();
        Loading {
            producers: self,
            now,
            expiration_ms,
        }
    }

    /// The entries of a snapshot of this state.
    pub fn stored(&self) -> impl Iterator<Item = StoredEntry> {
        self.held_after(None).map(|(id, held)| match held {
            Held::Live(producer) => StoredEntry::from(&producer.snapshot_entry(id)),
            Held::AtRest(stored) => *stored,
        })
    }
}

/// A snapshot that is being taken in, entry by entry; all of it counts when this is dropped.
#[derive(Debug)]
pub struct Loading<'p> {
    producers: &'p mut Producers,
    now: TimestampMs,
    expiration_ms: i64,
}

impl Loading<'_> {
    /// Takes in an entry. Of several for one producer the last counts.
    pub fn take(&mut self, entry: &ProducerEntry) {
        let txn_first = entry.txn_first_offset;
        if is_expired(txn_first, entry.timestamp, self.now, self.expiration_ms) {
            return;
        }
        let id = entry.producer_id;
        if let Some(first) = txn_first {
            self.producers.transactions.begin(first, id);
        }
        // As it will be written: what means nothing in the file is not kept.
        let stored = StoredEntry::from(&Producer::from_entry(entry).snapshot_entry(id));
        self.producers.at_rest.push(stored);
    }
}

impl Drop for Loading<'_> {
    fn drop(&mut self) {
        self.producers.at_rest.sort();
    }
}

/// Whether a producer is to be forgotten: no open transaction, and its last timestamp is old (state.md 4.11).
fn is_expired(
    txn_first_offset: Option<Offset>,
    last_timestamp: TimestampMs,
    now: TimestampMs,
    expiration_ms: i64,
) -> bool {
    txn_first_offset.is_none() && now.0.wrapping_sub(last_timestamp.0) >= expiration_ms
}

#[cfg(test)]
mod tests {
    use super::super::producer::Oddity;
    use super::super::transactions::CompletedTxn;
    use super::*;
    use crate::format::batch::{Attributes, BatchHeader};
    use crate::format::control::EndTxnMarker;
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

    fn reload(to: &mut Producers, from: &Producers, now: TimestampMs) {
        let mut loading = to.load(now, 1000);
        from.stored()
            .for_each(|stored| loading.take(&stored.entry()));
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
        reload(&mut again, &producers, TimestampMs(0));
        let (_, producer) = again.iter().next().unwrap();
        assert_eq!(producer.batches.len(), 1);
        assert_eq!(producer.batches[0].first_offset(), Offset(10));
    }

    #[test]
    fn a_producer_at_rest_counts_until_it_writes_and_never_again() {
        let mut first = Producers::default();
        for id in [1, 5, 9] {
            replay(&mut first, &data(id, 0, 0, id, 1, false));
        }
        let mut producers = Producers::default();
        reload(&mut producers, &first, TimestampMs(0));
        assert_eq!(producers, first);
        replay(&mut producers, &data(5, 0, 1, 20, 1, false));
        replay(&mut producers, &data(7, 0, 0, 21, 1, false));
        let ids = |producers: &Producers, after| -> Vec<i64> {
            producers.iter_after(after).map(|(id, _)| id.0).collect()
        };
        assert_eq!(ids(&producers, None), [1, 5, 7, 9]);
        assert_eq!(ids(&producers, Some(ProducerId(5))), [7, 9]);
        assert_eq!(ids(&producers, Some(ProducerId(6))), [7, 9]);
        assert_eq!(producers.len(), 4);
        let five = producers.get(ProducerId(5)).unwrap();
        assert_eq!(five.batches.len(), 2, "what was at rest is not forgotten");
        assert_eq!(producers.stored().count(), 4);
        assert!(
            producers
                .stored()
                .any(|stored| stored.entry().last_offset == Offset(20))
        );
        // 1 and 9 from the snapshot, and 5 with what it wrote later.
        assert_eq!(producers.expire(TimestampMs(1020), 1000), 3);
        assert_eq!(ids(&producers, None), [7]);
        assert_eq!(producers.get(ProducerId(5)), None, "not what it once was");
        assert_eq!(producers.len(), 1);
    }

    #[test]
    fn entries_of_a_snapshot_come_in_any_order_and_the_last_of_a_producer_counts() {
        let mut from = Producers::default();
        for id in 0..50 {
            replay(&mut from, &data(id, 0, 0, id, 1, false));
        }
        let entries: Vec<ProducerEntry> = from.stored().map(|stored| stored.entry()).collect();
        let mut producers = Producers::default();
        let mut loading = producers.load(TimestampMs(0), 1000);
        for i in 0..100 {
            let mut entry = entries[i * 37 % 50];
            entry.epoch = i16::try_from(i / 50).unwrap();
            loading.take(&entry);
        }
        drop(loading);
        assert_eq!(producers.len(), 50);
        let all: Vec<_> = producers.iter().map(|(id, p)| (id.0, p.epoch)).collect();
        assert_eq!(all, (0..50).map(|id| (id, 1)).collect::<Vec<_>>());
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
            reload(&mut loaded, &producers, TimestampMs(now));
            loaded.iter().map(|(id, _)| id.0).collect::<Vec<_>>()
        };
        assert_eq!(load(1099), [1, 2]);
        assert_eq!(load(1100), [2]);
        assert_eq!(load(i64::MAX), [2]);
    }
}
