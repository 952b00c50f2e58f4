//! Draws what is in a log: batches with their offsets, as a follower copies them.

use std::collections::BTreeMap;

use klog::format::builder::{BatchBuilder, BatchOptions};
use klog::format::codec::{Codec, Compressor};
use klog::format::control;
use klog::format::legacy::{OldMessage, write_message, write_wrapper};
use klog::types::{LeaderEpoch, Offset, ProducerId, TimestampMs};

use crate::support::engine::{NOW, Rec};
use crate::support::random::Random;

/// What kinds of batches a log has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Uncompressed, magic 2: both sides write the same bytes.
    Plain,
    /// All codecs.
    Compressed,
    /// Messages of magic 0 and 1 too.
    Legacy,
}

/// What is appended next.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) bytes: Vec<u8>,
    pub(super) base: i64,
}

#[derive(Clone, Copy, Debug)]
struct Producer {
    epoch: i16,
    sequence: i32,
    in_transaction: bool,
}

/// Draws pieces, each behind the last one.
pub(super) struct Stream {
    kind: Kind,
    keys: usize,
    next: i64,
    now: i64,
    producers: BTreeMap<i64, Producer>,
}

const IDEMPOTENT: [i64; 3] = [1, 2, 3];
const TRANSACTIONAL: [i64; 3] = [10, 11, 12];

impl Stream {
    pub(super) fn new(random: &mut Random, kind: Kind) -> Self {
        let producer = |id: i64| {
            let sequence = if id == 3 { i32::MAX - 4 } else { 0 };
            let producer = Producer {
                epoch: 0,
                sequence,
                in_transaction: false,
            };
            (id, producer)
        };
        Self {
            kind,
            keys: *random.pick(&[3, 8, 20]),
            next: 0,
            now: NOW,
            producers: IDEMPOTENT
                .into_iter()
                .chain(TRANSACTIONAL)
                .map(producer)
                .collect(),
        }
    }

    pub(super) fn next(&mut self, random: &mut Random) -> Piece {
        if random.once_in(12) {
            self.next += random.between(1, 30);
        }
        self.now += random.between(0, 50);
        let piece = match random.below(100) {
            0..=14 if self.kind == Kind::Legacy => self.old(random),
            0..=39 => self.data(random, None, false),
            40..=59 => {
                let id = *random.pick(&IDEMPOTENT);
                self.data(random, Some(id), false)
            }
            60..=79 => {
                let id = *random.pick(&TRANSACTIONAL);
                self.data(random, Some(id), true)
            }
            80..=97 => self.marker(random),
            _ => self.raft(),
        };
        self.next = piece.1;
        Piece {
            bytes: piece.0,
            base: piece.2,
        }
    }

    fn record(&self, random: &mut Random) -> Rec {
        let key = match random.below(16) {
            0 => None,
            1 => Some(Vec::new()),
            _ => Some(format!("k{}", random.below(self.keys)).into_bytes()),
        };
        let value = match random.below(8) {
            0 | 1 => None,
            2 => Some(Vec::new()),
            _ => Some(vec![b'a' + random.below(26) as u8; random.below(60)]),
        };
        let headers = if random.once_in(6) {
            vec![("h".to_owned(), None), ("i".to_owned(), Some(vec![1, 2]))]
        } else {
            Vec::new()
        };
        let ts = if random.once_in(20) {
            -1
        } else {
            self.now + random.between(-100, 100)
        };
        Rec {
            ts,
            key,
            value,
            headers,
        }
    }

    fn codec(&self, random: &mut Random) -> Codec {
        if self.kind == Kind::Compressed && !random.once_in(3) {
            *random.pick(&[Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd])
        } else {
            Codec::None
        }
    }

    /// The bytes, the offset behind them, and their first one.
    fn data(
        &mut self,
        random: &mut Random,
        id: Option<i64>,
        transactional: bool,
    ) -> (Vec<u8>, i64, i64) {
        let base = self.next;
        let mut builder = BatchBuilder::new();
        let count = 1 + random.below(5) as i32;
        let mut delta = 0;
        for i in 0..count {
            // What an earlier cleaning left: gaps inside a batch.
            if i > 0 {
                delta += if id.is_none() && random.once_in(10) {
                    3
                } else {
                    1
                };
            }
            let record = self.record(random);
            let headers = record
                .headers
                .iter()
                .map(|(key, value)| klog::format::record::Header {
                    key: key.as_bytes(),
                    value: value.as_deref(),
                });
            let headers: Vec<_> = headers.collect();
            builder
                .push_at(
                    delta,
                    TimestampMs(record.ts),
                    record.key.as_deref(),
                    record.value.as_deref(),
                    headers.into_iter(),
                )
                .unwrap();
        }
        let last = delta
            + if id.is_none() && random.once_in(10) {
                2
            } else {
                0
            };
        let mut options = BatchOptions {
            base_offset: Offset(base),
            leader_epoch: LeaderEpoch(1),
            codec: self.codec(random),
            log_append_time: random.once_in(10).then_some(TimestampMs(self.now)),
            last_offset_delta: Some(last),
            ..BatchOptions::default()
        };
        if let Some(id) = id {
            let producer = self.producers.get_mut(&id).unwrap();
            if random.once_in(15) && !producer.in_transaction {
                producer.epoch += 1;
                producer.sequence = 0;
            }
            options.producer_id = ProducerId(id);
            options.producer_epoch = producer.epoch;
            options.base_sequence = producer.sequence;
            options.transactional = transactional;
            producer.in_transaction |= transactional;
            producer.sequence =
                klog::format::batch::increment_sequence(producer.sequence, last + 1);
        }
        let bytes = builder.finish(&options).unwrap().to_vec();
        (bytes, base + i64::from(last) + 1, base)
    }

    /// A marker, also of a transaction without data.
    fn marker(&mut self, random: &mut Random) -> (Vec<u8>, i64, i64) {
        let id = *random.pick(&TRANSACTIONAL);
        let producer = self.producers.get_mut(&id).unwrap();
        producer.in_transaction = false;
        let options = BatchOptions {
            base_offset: Offset(self.next),
            leader_epoch: LeaderEpoch(1),
            producer_id: ProducerId(id),
            producer_epoch: producer.epoch,
            ..BatchOptions::default()
        };
        let mut builder = BatchBuilder::new();
        let commit = random.once_in(2);
        let time = TimestampMs(self.now);
        let bytes = control::write_end_marker(&mut builder, commit, 0, time, &options);
        (bytes.unwrap().to_vec(), self.next + 1, self.next)
    }

    /// One record that the cleaner drops: it has no key.
    pub(super) fn keyless(&mut self) -> Piece {
        let base = self.next;
        let mut builder = BatchBuilder::new();
        builder
            .push(TimestampMs(self.now), None, Some(b"x"), [].into_iter())
            .unwrap();
        let options = BatchOptions {
            base_offset: Offset(base),
            leader_epoch: LeaderEpoch(1),
            ..BatchOptions::default()
        };
        self.next += 1;
        Piece {
            bytes: builder.finish(&options).unwrap().to_vec(),
            base,
        }
    }

    /// A control batch of KRaft, which no producer wrote.
    fn raft(&mut self) -> (Vec<u8>, i64, i64) {
        let mut builder = BatchBuilder::new();
        builder
            .push(
                TimestampMs(self.now),
                Some(&[0, 0, 0, 2]),
                Some(&[0, 0]),
                [].into_iter(),
            )
            .unwrap();
        let options = BatchOptions {
            base_offset: Offset(self.next),
            leader_epoch: LeaderEpoch(1),
            control: true,
            ..BatchOptions::default()
        };
        let bytes = builder.finish(&options).unwrap().to_vec();
        (bytes, self.next + 1, self.next)
    }

    /// A message of magic 0 or 1, or a wrapper of some.
    fn old(&mut self, random: &mut Random) -> (Vec<u8>, i64, i64) {
        let magic = random.below(2) as i8;
        let base = self.next;
        let count = if random.once_in(2) {
            1
        } else {
            1 + random.below(4) as i64
        };
        let records: Vec<Rec> = (0..count).map(|_| self.record(random)).collect();
        let mut inner = Vec::new();
        let is_wrapped = random.once_in(2);
        let is_relative = is_wrapped && magic == 1;
        for (i, record) in (0..).zip(&records) {
            let offset = if is_relative { i } else { base + i };
            let message = OldMessage {
                offset: Offset(offset),
                timestamp: TimestampMs(record.ts),
                key: record.key.as_deref(),
                value: record.value.as_deref(),
            };
            write_message(&mut inner, magic, 0, &message);
        }
        let next = base + count;
        if !is_wrapped {
            return (inner, next, base);
        }
        let codec = *random.pick(&[Codec::Gzip, Codec::Snappy, Codec::Lz4]);
        let newest = records.iter().map(|record| record.ts).max().unwrap();
        let wrapper = OldMessage {
            offset: Offset(next - 1),
            timestamp: TimestampMs(newest),
            key: None,
            value: None,
        };
        let mut bytes = Vec::new();
        let append_time = if magic == 1 && random.once_in(4) {
            8
        } else {
            0
        };
        write_wrapper(
            &mut bytes,
            magic,
            append_time,
            codec,
            &wrapper,
            &inner,
            &mut Compressor::new(),
        )
        .unwrap();
        (bytes, next, base)
    }
}
