//! Producers of which some are at rest, against all of them held the plain way: long random histories, in which snapshots are
//! loaded, also ones in any order with several entries of one producer, and producers expire.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::producer::Producer;
use super::producers::Producers;
use crate::format::batch::{Attributes, BatchHeader};
use crate::format::control::EndTxnMarker;
use crate::format::snapshot::{self, ProducerEntry, StoredEntry};
use crate::types::{LeaderEpoch, Offset, ProducerId, TimestampMs};

const EXPIRATION_MS: i64 = 6;

#[derive(Clone, Debug)]
enum Step {
    /// Batches of one producer, staged together: epoch, first sequence, whether transactional.
    Data(i64, Vec<(i16, i32, bool)>),
    /// A marker, with its epoch and its time.
    End(i64, i16, i64),
    Expire(i64),
    /// What a snapshot of the state says is loaded.
    Reload(i64),
    /// Something else is loaded.
    Load(i64, Vec<ProducerEntry>),
    /// What is asked goes on with a copy.
    Copy,
}

fn id() -> impl Strategy<Value = i64> {
    prop_oneof![8 => 0..9_i64, 1 => Just(i64::MAX), 1 => Just(i64::MIN), 1 => Just(-1_i64)]
}

fn entry() -> impl Strategy<Value = ProducerEntry> {
    let int = prop_oneof![4 => -1..20_i32, 1 => Just(i32::MAX), 1 => Just(i32::MIN)];
    let long = prop_oneof![4 => -1..20_i64, 1 => Just(i64::MAX), 1 => Just(i64::MIN)];
    let time =
        prop_oneof![6 => 0..60_i64, 1 => Just(i64::MAX), 1 => Just(i64::MIN), 1 => Just(-1_i64)];
    (
        id(),
        -1..3_i16,
        int.clone(),
        long,
        int.clone(),
        time,
        int,
        prop_oneof![3 => Just(None), 1 => (0..40_i64).prop_map(|first| Some(Offset(first)))],
    )
        .prop_map(
            |(id, epoch, last_sequence, last_offset, offset_delta, time, coordinator, first)| {
                ProducerEntry {
                    producer_id: ProducerId(id),
                    epoch,
                    last_sequence,
                    last_offset: Offset(last_offset),
                    offset_delta,
                    timestamp: TimestampMs(time),
                    coordinator_epoch: coordinator,
                    txn_first_offset: first,
                }
            },
        )
}

fn step() -> impl Strategy<Value = Step> {
    let batches = prop::collection::vec((0..3_i16, 0..9_i32, any::<bool>()), 1..7);
    prop_oneof![
        8 => (id(), batches).prop_map(|(id, batches)| Step::Data(id, batches)),
        3 => (id(), 0..3_i16, 0..60_i64).prop_map(|(id, epoch, time)| Step::End(id, epoch, time)),
        2 => (0..9_i64).prop_map(Step::Expire),
        2 => (0..9_i64).prop_map(Step::Reload),
        1 => (0..60_i64, prop::collection::vec(entry(), 0..30)).prop_map(|(now, all)| Step::Load(now, all)),
        1 => Just(Step::Copy),
    ]
}

fn header(id: i64, epoch: i16, sequence: i32, at: i64, transactional: bool) -> BatchHeader {
    BatchHeader {
        magic: 2,
        size_bytes: 61,
        base_offset: Offset(at),
        last_offset: Offset(at),
        attributes: Attributes::default().with_transactional(transactional),
        crc: 0,
        leader_epoch: LeaderEpoch(0),
        base_timestamp: TimestampMs(at),
        max_timestamp: TimestampMs(at),
        producer_id: ProducerId(id),
        producer_epoch: epoch,
        base_sequence: sequence,
        record_count: 1,
    }
}

/// All producers as they are when they write: what a load and an expiry mean is said here once more.
#[derive(Default)]
struct Plain {
    by_id: BTreeMap<ProducerId, Producer>,
    open: BTreeMap<Offset, ProducerId>,
}

impl Plain {
    fn expire(&mut self, now: i64) -> usize {
        let before = self.by_id.len();
        self.by_id
            .retain(|_, known| stays(known, now, EXPIRATION_MS));
        before - self.by_id.len()
    }

    fn load(&mut self, entries: &[ProducerEntry], now: i64, expiration_ms: i64) {
        *self = Self::default();
        for entry in entries {
            let known = Producer::from_entry(entry);
            if stays(&known, now, expiration_ms) {
                if let Some(first) = known.txn_first_offset {
                    self.open.insert(first, entry.producer_id);
                }
                self.by_id.insert(entry.producer_id, known);
            }
        }
    }

    fn entries(&self) -> Vec<ProducerEntry> {
        self.by_id
            .iter()
            .map(|(id, known)| known.snapshot_entry(*id))
            .collect()
    }
}

fn stays(known: &Producer, now: i64, expiration_ms: i64) -> bool {
    known.txn_first_offset.is_some() || now.wrapping_sub(known.last_timestamp.0) < expiration_ms
}

fn load(producers: &mut Producers, entries: &[ProducerEntry], now: i64, expiration_ms: i64) {
    let mut loading = producers.load(TimestampMs(now), expiration_ms);
    for entry in entries {
        loading.take(entry);
    }
}

fn check(producers: &Producers, plain: &Plain) -> Result<(), TestCaseError> {
    let all: Vec<(ProducerId, Producer)> = producers
        .iter()
        .map(|(id, known)| (id, known.into_owned()))
        .collect();
    let expected: Vec<(ProducerId, Producer)> =
        plain.by_id.iter().map(|(id, p)| (*id, p.clone())).collect();
    prop_assert_eq!(&all, &expected);
    prop_assert_eq!(producers.len(), expected.len());
    for id in (-2..11).chain([i64::MIN, i64::MAX]).map(ProducerId) {
        let known = producers.get(id);
        prop_assert_eq!(known.as_deref(), plain.by_id.get(&id));
        let page: Vec<ProducerId> = producers.iter_after(Some(id)).map(|(id, _)| id).collect();
        let behind: Vec<ProducerId> = plain.by_id.keys().copied().filter(|at| *at > id).collect();
        prop_assert_eq!(page, behind);
    }
    // The bytes of a snapshot, in pieces and as a whole.
    let mut file = Vec::new();
    let mut write = |piece: &[u8], _| {
        file.extend_from_slice(piece);
        Ok(())
    };
    snapshot::write_pieces(|| producers.stored(), &mut write).expect("is written");
    prop_assert_eq!(file, snapshot::write(&plain.entries()));
    prop_assert_eq!(
        producers.transactions.first_unstable_offset(),
        plain.open.keys().next().copied()
    );
    Ok(())
}

proptest! {
    #[test]
    fn producers_at_rest_are_what_they_are_when_all_are_held(steps in prop::collection::vec(step(), 1..60)) {
        let (mut producers, mut plain) = (Producers::default(), Plain::default());
        let mut at = 0;
        for step in steps {
            match step {
                Step::Data(id, batches) => {
                    let mut staged = producers.stage(ProducerId(id));
                    let known = plain.by_id.entry(ProducerId(id)).or_insert_with(Producer::unknown);
                    for (epoch, sequence, transactional) in batches {
                        at += 1;
                        let header = header(id, epoch, sequence, at, transactional);
                        staged.replay_data(&header);
                        if transactional && known.txn_first_offset.is_none() {
                            known.txn_first_offset = Some(Offset(at));
                            plain.open.insert(Offset(at), ProducerId(id));
                        }
                    }
                    // What a change of many batches means to one producer is told elsewhere.
                    let mut alone = Producers::default();
                    load(&mut alone, &[], 0, 0);
                    alone.merge(staged.clone());
                    producers.merge(staged.clone());
                    let staged_epoch = staged.epoch();
                    if known.epoch != staged_epoch {
                        known.batches.clear();
                        known.epoch = staged_epoch;
                    }
                    let new = alone.get(ProducerId(id)).expect("is there").into_owned();
                    for batch in new.batches {
                        known.remember(batch);
                    }
                    known.last_timestamp = new.last_timestamp;
                }
                Step::End(id, epoch, time) => {
                    at += 1;
                    let mut staged = producers.stage(ProducerId(id));
                    let marker = EndTxnMarker { commit: true, version: 0, coordinator_epoch: 4 };
                    let completed = staged.replay_marker(&header(id, epoch, -1, at, true), marker, TimestampMs(time));
                    producers.merge(staged);
                    let known = plain.by_id.entry(ProducerId(id)).or_insert_with(Producer::unknown);
                    let first = known.txn_first_offset.take();
                    prop_assert_eq!(completed.map(|txn| txn.first_offset), first);
                    if let Some(completed) = completed {
                        producers.transactions.complete(&completed);
                        producers.transactions.on_high_watermark(Offset(at + 1));
                        plain.open.remove(&completed.first_offset);
                    }
                    known.take_epoch(epoch);
                    known.coordinator_epoch = 4;
                    known.last_timestamp = TimestampMs(time);
                }
                Step::Expire(ahead) => {
                    prop_assert_eq!(
                        producers.expire(TimestampMs(at + ahead), EXPIRATION_MS),
                        plain.expire(at + ahead)
                    );
                }
                Step::Reload(ahead) => {
                    let entries = plain.entries();
                    let stored: Vec<StoredEntry> = producers.stored().collect();
                    let as_stored: Vec<ProducerEntry> = stored.iter().map(StoredEntry::entry).collect();
                    prop_assert_eq!(&as_stored, &entries);
                    load(&mut producers, &as_stored, at + ahead, EXPIRATION_MS);
                    plain.load(&entries, at + ahead, EXPIRATION_MS);
                }
                Step::Load(now, entries) => {
                    load(&mut producers, &entries, now, EXPIRATION_MS);
                    plain.load(&entries, now, EXPIRATION_MS);
                }
                Step::Copy => producers = producers.clone(),
            }
            check(&producers, &plain)?;
        }
    }
}
