//! Batches of many records, more than are looked up together, through passes of the cleaner, against a plain account of
//! cleaner.md 5 and 6: compressed ones and others, of old formats, in transactions, with tombstones and horizons, with maps that
//! fill up within a batch.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use klog::format::builder::{BatchBuilder, BatchOptions};
use klog::format::codec::{Codec, Compressor};
use klog::format::decoder::RecordDecoder;
use klog::format::legacy::{OldMessage, write_message, write_wrapper};
use klog::segment::BatchScan;
use klog::types::{LeaderEpoch, Offset, TimestampMs};

use crate::bench::{Bench, NOW, TS, of};
use crate::support::random::Random;

/// The topic key `delete.retention.ms` of the bench.
const DELETE_RETENTION_MS: i64 = 1000;
/// More than are looked up together by a few, and by none.
const COUNTS: [usize; 9] = [1, 2, 50, 8191, 8192, 8193, 16_384, 16_385, 20_000];
const CODECS: [Codec; 5] = [
    Codec::None,
    Codec::Gzip,
    Codec::Snappy,
    Codec::Lz4,
    Codec::Zstd,
];

#[derive(Clone, Debug, PartialEq, Eq)]
struct Record {
    offset: i64,
    time: i64,
    /// A number, as text.
    key: Option<u32>,
    has_value: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Plain,
    /// Of a producer, with its first sequence, and whether in a transaction.
    Of(i64, i32, bool),
    /// A marker of a producer: whether it commits.
    End(i64, bool),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Batch {
    base: i64,
    last: i64,
    magic: i8,
    codec: Codec,
    kind: Kind,
    horizon: Option<i64>,
    /// Of a marker: one without key and value.
    records: Vec<Record>,
    max_time: i64,
}

impl Batch {
    fn is_control(&self) -> bool {
        matches!(self.kind, Kind::End(..))
    }

    fn bytes(&self) -> Vec<u8> {
        let mut text = Vec::new();
        let value = |i: i64| format!("value-{}", i % 10);
        if self.magic == 1 {
            for (i, record) in (0..).zip(&self.records) {
                write_message(
                    &mut text,
                    1,
                    0,
                    &OldMessage {
                        offset: Offset(i),
                        timestamp: TimestampMs(record.time),
                        key: record
                            .key
                            .map(|key| key.to_string())
                            .as_deref()
                            .map(str::as_bytes),
                        value: Some(value(record.offset).as_bytes()),
                    },
                );
            }
            let outer = OldMessage {
                offset: Offset(self.last),
                timestamp: TimestampMs(self.max_time),
                key: None,
                value: None,
            };
            let mut out = Vec::new();
            write_wrapper(
                &mut out,
                1,
                0,
                self.codec,
                &outer,
                &text,
                &mut Compressor::new(),
            )
            .unwrap();
            return out;
        }
        let mut builder = BatchBuilder::new();
        if let Some(horizon) = self.horizon {
            builder.set_delete_horizon(TimestampMs(horizon));
        }
        for record in &self.records {
            let key = record.key.map(|key| key.to_string());
            let text = value(record.offset);
            builder
                .push_at(
                    (record.offset - self.base) as i32,
                    TimestampMs(record.time),
                    key.as_deref().map(str::as_bytes),
                    record.has_value.then_some(text.as_bytes()),
                    [].into_iter(),
                )
                .unwrap();
        }
        let common = match self.kind {
            Kind::Of(id, sequence, transactional) => of(id, sequence, transactional),
            _ => BatchOptions::default(),
        };
        let options = BatchOptions {
            base_offset: Offset(self.base),
            leader_epoch: LeaderEpoch(0),
            codec: self.codec,
            last_offset_delta: Some((self.last - self.base) as i32),
            ..common
        };
        builder.finish(&options).unwrap().to_vec()
    }
}

/// A log as the model knows it.
#[derive(Default)]
struct Model {
    batches: Vec<Batch>,
    /// Where segments begin.
    bases: Vec<i64>,
    /// Aborted transactions: producer, first offset, marker.
    aborted: Vec<(i64, i64, i64)>,
    /// The last data of each producer.
    last_data: BTreeMap<i64, i64>,
}

/// Whose records were aborted, while batches go by.
struct Transactions<'m> {
    aborted: &'m [(i64, i64, i64)],
    /// Of aborted and of committed transactions: those of which data was met.
    met: BTreeSet<i64>,
}

impl Transactions<'_> {
    fn is_aborted(&mut self, batch: &Batch) -> bool {
        let Kind::Of(id, _, true) = batch.kind else {
            return false;
        };
        self.met.insert(id);
        self.aborted
            .iter()
            .any(|(of, first, marker)| *of == id && *first <= batch.last && batch.last < *marker)
    }

    /// Whether nothing is left of the transaction that a marker ends.
    fn is_marker_alone(&mut self, batch: &Batch) -> bool {
        let Kind::End(id, _) = batch.kind else {
            return false;
        };
        // A marker without its record ends nothing any more.
        batch.records.is_empty() || !self.met.remove(&id)
    }
}

/// What a pass did.
#[derive(Debug, PartialEq, Eq)]
struct Counted {
    end: i64,
    mapped: u64,
    kept: u64,
}

impl Model {
    fn transactions(&self) -> Transactions<'_> {
        Transactions {
            aborted: &self.aborted,
            met: BTreeSet::new(),
        }
    }

    /// The latest offset of each key and how far was mapped.
    fn map(&self, start: i64, keys_max: usize) -> (BTreeMap<u32, i64>, i64, u64) {
        let (mut map, mut upto, mut mapped) = (BTreeMap::new(), -1, 0);
        let mut transactions = self.transactions();
        for (i, batch) in self.batches.iter().enumerate() {
            // What lies before `start` is not looked at: it is of no transaction that is open there.
            if batch.last < start {
                continue;
            }
            let is_aborted = transactions.is_aborted(batch);
            if batch.is_control() || is_aborted {
                mapped += batch.records.len() as u64;
            } else {
                for record in &batch.records {
                    if let Some(key) = record.key.filter(|_| record.offset >= start) {
                        if map.len() >= keys_max {
                            return (map, upto, mapped);
                        }
                        map.insert(key, record.offset);
                        upto = record.offset;
                    }
                    mapped += 1;
                }
            }
            upto = batch.last;
            if let Some(next) = self.batches.get(i + 1)
                && let Some(base) = self
                    .bases
                    .iter()
                    .find(|base| **base > batch.last && **base <= next.base)
            {
                upto = base - 1;
            }
        }
        (map, self.end() - 1, mapped)
    }

    fn end(&self) -> i64 {
        *self.bases.last().unwrap()
    }

    fn clean(&mut self, start: i64, keys_max: usize, now: i64) -> Counted {
        let (map, upto, mapped) = self.map(start, keys_max);
        let mut transactions = self.transactions();
        let (mut kept_records, mut cleaned) = (0, Vec::new());
        // Nothing of a segment above the end is touched.
        let end_of_pass = upto + 1;
        for batch in &self.batches {
            let base = self.bases.iter().rev().find(|base| **base <= batch.base);
            if *base.unwrap() >= end_of_pass {
                cleaned.push(batch.clone());
                continue;
            }
            let is_aborted = transactions.is_aborted(batch);
            let is_alone = transactions.is_marker_alone(batch);
            let is_due = batch.horizon.is_some_and(|horizon| horizon <= now);
            let goes = is_aborted || (is_alone && is_due);
            let keeps = |record: &Record| {
                if goes {
                    return false;
                }
                if batch.is_control() || record.offset > upto {
                    return true;
                }
                let Some(key) = record.key else {
                    return false;
                };
                map.get(&key).is_none_or(|latest| *latest <= record.offset)
                    && (record.has_value || !is_due)
            };
            let records: Vec<Record> = batch.records.iter().filter(|r| keeps(r)).cloned().collect();
            kept_records += records.len() as u64;
            let of = match batch.kind {
                Kind::Of(id, ..) => Some(id),
                Kind::Plain | Kind::End(..) => None,
            };
            let is_last = of.is_some_and(|id| self.last_data.get(&id) == Some(&batch.last));
            if records.is_empty() {
                if is_last {
                    cleaned.push(Batch {
                        codec: Codec::None,
                        horizon: None,
                        records,
                        ..batch.clone()
                    });
                }
                continue;
            }
            let has_tombstone = !batch.is_control() && records.iter().any(|r| !r.has_value);
            let horizon = batch
                .horizon
                .or_else(|| (has_tombstone || is_alone).then_some(now + DELETE_RETENTION_MS));
            let max_time = records.iter().map(|r| r.time).max().unwrap();
            let (base, last) = if batch.magic == 2 {
                (batch.base, batch.last)
            } else {
                (records[0].offset, records[records.len() - 1].offset)
            };
            cleaned.push(Batch {
                base,
                last,
                magic: 2,
                horizon,
                max_time,
                records,
                ..batch.clone()
            });
        }
        self.batches = cleaned;
        Counted {
            end: end_of_pass,
            mapped,
            kept: kept_records,
        }
    }
}

/// What lies in all segments but the active one.
fn found(bench: &Bench) -> Vec<Batch> {
    let segments = bench.log.segments();
    let mut found = Vec::new();
    for segment in segments.iter().take(segments.len() - 1) {
        let mut scan = BatchScan::new(Arc::clone(segment.file()), 0..segment.size_bytes());
        while let Some(scanned) = scan.next_batch().unwrap() {
            let batch = scan.bytes_of(&scanned).unwrap();
            batch.ensure_valid().unwrap();
            let header = *batch.header();
            let is_control = header.attributes.is_control();
            let mut decoder = RecordDecoder::new();
            decoder.begin(&batch).unwrap();
            let (mut records, mut commits) = (Vec::new(), None);
            while let Some(record) = decoder.next(&batch).unwrap() {
                let key = record.key.filter(|_| !is_control);
                if is_control {
                    commits = Some(record.key.unwrap()[3] == 1);
                } else if let Some(value) = record.value {
                    assert_eq!(value, format!("value-{}", record.offset.0 % 10).as_bytes());
                }
                records.push(Record {
                    offset: record.offset.0,
                    time: record.timestamp.0,
                    key: key.map(|key| std::str::from_utf8(key).unwrap().parse().unwrap()),
                    has_value: record.value.is_some(),
                });
            }
            let id = header.producer_id.0;
            found.push(Batch {
                base: if header.magic == 2 {
                    header.base_offset.0
                } else {
                    records[0].offset
                },
                last: header.last_offset.0,
                magic: header.magic,
                codec: header.attributes.codec().unwrap(),
                kind: if is_control {
                    Kind::End(id, commits.unwrap_or_default())
                } else if id >= 0 {
                    Kind::Of(
                        id,
                        header.base_sequence,
                        header.attributes.is_transactional(),
                    )
                } else {
                    Kind::Plain
                },
                horizon: header.delete_horizon().map(|horizon| horizon.0),
                records,
                max_time: header.max_timestamp.0,
            });
        }
    }
    found
}

struct Writer<'b> {
    bench: &'b Bench,
    model: Model,
    sequences: BTreeMap<i64, i32>,
    open: BTreeMap<i64, i64>,
}

impl Writer<'_> {
    fn roll(&mut self) {
        self.bench.roll();
        self.model.bases.push(self.bench.log.end_offset().0);
    }

    fn data(&mut self, random: &mut Random, count: usize) {
        let gap = if random.once_in(4) {
            random.between(1, 9)
        } else {
            0
        };
        let base = self.bench.log.end_offset().0 + gap;
        let codec = *random.pick(&CODECS);
        let is_old = random.once_in(6) && codec != Codec::None && codec != Codec::Zstd;
        let keys = *random.pick(&[3, 300, 30_000]);
        let without_key = *random.pick(&[2, 9, usize::MAX]);
        let without_value = if is_old {
            usize::MAX
        } else {
            *random.pick(&[2, 9, usize::MAX])
        };
        // As a pass leaves them: with offsets missing, also at the end.
        let with_holes = !is_old && random.once_in(3);
        let mut records = Vec::new();
        let mut offset = base;
        for _ in 0..count {
            offset += if with_holes { random.between(0, 3) } else { 0 };
            records.push(Record {
                offset,
                time: TS + random.between(0, 1000),
                key: (!random.once_in(without_key)).then(|| random.below(keys) as u32),
                has_value: !random.once_in(without_value),
            });
            offset += 1;
        }
        let last = offset - 1 + if with_holes { random.between(0, 3) } else { 0 };
        let kind = match random.below(4) {
            _ if is_old => Kind::Plain,
            0 | 1 => Kind::Plain,
            _ => {
                let id = random.between(1, 4);
                let sequence = self.sequences.entry(id).or_default();
                let first = *sequence;
                *sequence += (last - base + 1) as i32;
                // Producers 2 and 3 write in transactions.
                if id > 1 {
                    self.open.entry(id).or_insert(base);
                }
                self.model.last_data.insert(id, last);
                Kind::Of(id, first, id > 1)
            }
        };
        let horizon = (!is_old && random.once_in(4)).then(|| NOW + random.between(-500, 2500));
        let max_time = records.iter().map(|r| r.time).max().unwrap();
        let batch = Batch {
            base,
            last,
            magic: if is_old { 1 } else { 2 },
            codec,
            kind,
            horizon,
            records,
            max_time,
        };
        self.bench.raw(&batch.bytes());
        self.model.batches.push(batch);
    }

    fn end(&mut self, id: i64, commit: bool) {
        let at = self.bench.log.end_offset().0;
        let first = self.open.remove(&id).unwrap();
        self.bench.marker(id, commit, 0);
        if !commit {
            self.model.aborted.push((id, first, at));
        }
        self.model.batches.push(Batch {
            base: at,
            last: at,
            magic: 2,
            codec: Codec::None,
            kind: Kind::End(id, commit),
            horizon: None,
            records: vec![Record {
                offset: at,
                time: TS,
                key: None,
                has_value: true,
            }],
            max_time: TS,
        });
    }
}

fn explain(found: &[Batch], expected: &[Batch], what: &str) {
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        let short = |b: &Batch| {
            let records = b.records.len();
            format!(
                "{:?} {records}",
                Batch {
                    records: Vec::new(),
                    ..b.clone()
                }
            )
        };
        assert_eq!(short(found), short(expected), "{what}: batch {i}");
        assert!(
            found.records == expected.records,
            "{what}: records of batch {i}"
        );
    }
    assert_eq!(found.len(), expected.len(), "{what}");
}

#[test]
fn batches_of_many_records_lose_what_they_have_to() {
    let mut random = Random::from_env("batches_of_many_records");
    let logs = std::env::var("KLOG_LOGS").map_or(8, |n| n.parse().unwrap());
    for log in 0..logs {
        let mut bench = Bench::with(&[
            ("internal.segment.bytes", 64 << 20),
            ("max.message.bytes", 64 << 20),
        ]);
        let slots = *random.pick(&[100, 6000, 12_000, 1_000_000]);
        bench.slots = slots;
        let mut writer = Writer {
            bench: &bench,
            model: Model {
                bases: vec![0],
                ..Model::default()
            },
            sequences: BTreeMap::new(),
            open: BTreeMap::new(),
        };
        for _ in 0..random.between(4, 12) {
            let count = *random.pick(&COUNTS);
            writer.data(&mut random, count);
            for id in [2, 3] {
                if writer.open.contains_key(&id) && random.once_in(3) {
                    writer.end(id, random.once_in(2));
                }
            }
            if random.once_in(4) {
                writer.roll();
            }
        }
        for id in [2, 3] {
            if writer.open.contains_key(&id) {
                writer.end(id, random.once_in(2));
            }
        }
        writer.roll();
        let mut model = writer.model;
        model.bases.dedup();
        bench.plain("999999:1");
        explain(&found(&bench), &model.batches, "as written");
        bench.load_factor = 0.75;
        let keys_max = (slots * 3 / 4) as usize;
        let mut now = NOW;
        for pass in 0..4 {
            let what = format!("log {log} pass {pass} with {slots} slots");
            let expected = model.clean(0, keys_max, now);
            let cleaned = bench.again(now);
            let counted = Counted {
                end: cleaned.end.0,
                mapped: cleaned.stats.mapped_records,
                kept: cleaned.stats.kept_records(),
            };
            assert_eq!(counted, expected, "{what}");
            explain(&found(&bench), &model.batches, &what);
            now += random.between(1, 1200);
            let segments = bench.log.segments();
            model.bases = segments.iter().map(|s| s.base_offset().0).collect();
            if pass == 1 {
                bench.reopen();
                // They wrote long before the clock of the test.
                model.last_data.clear();
            }
        }
    }
}
