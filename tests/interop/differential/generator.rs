//! Draws a stream: each step from a seed and from what Kafka's log has become.

use std::collections::VecDeque;

use klog::format::codec::Codec;

use super::batches::{self, Spec, at, patched, with_more_records, with_records};
use super::op::{Append, Ending, Isolation, Op, Origin, Read, Reopen, What};
use super::settings::{Compression, Settings};
use super::side::{Producer, State};
use crate::support::engine::{NOW, Rec};
use crate::support::random::Random;

/// How many steps that change something a stream has at least.
pub(crate) const LEAST_CHANGES: usize = 60;

/// `producer.id.expiration.ms`.
const EXPIRATION_MS: i64 = 86_400_000;

const PRODUCERS: [i64; 6] = [0, 1, 2, 3, 7, 1 << 40];

/// Draws the steps of one stream.
pub(crate) struct Generator {
    random: Random,
    settings: Settings,
    now: i64,
    epoch: i32,
    changes: usize,
    done: usize,
    /// Steps that must come next.
    queue: VecDeque<Op>,
    /// Batches of idempotent producers, to be sent again.
    sent: VecDeque<Append>,
}

impl Generator {
    pub(crate) fn new(mut random: Random, settings: &Settings) -> Self {
        let changes = LEAST_CHANGES + random.below(40);
        let epoch = random.between(0, 3) as i32;
        Self {
            random,
            settings: settings.clone(),
            now: NOW,
            epoch,
            changes,
            done: 0,
            queue: VecDeque::new(),
            sent: VecDeque::new(),
        }
    }

    /// The next step, for a log that is like this now; none at the end.
    pub(crate) fn next(&mut self, log: &State) -> Option<Op> {
        if let Some(op) = self.queue.pop_front() {
            return Some(op);
        }
        if self.done == self.changes {
            return None;
        }
        if self.done > 0 && self.random.below(100) < 35 {
            return Some(self.query(log));
        }
        self.done += 1;
        if self.random.below(100) < 40 {
            // The step that this one is for comes next time.
            let step =
                *self
                    .random
                    .pick(&[1, 10, 300, 1000, 1001, self.settings.segment_ms.min(5001)]);
            self.now += step;
            let op = self.change(log);
            self.queue.push_front(op);
            return Some(Op::Clock(self.now));
        }
        Some(self.change(log))
    }

    fn query(&mut self, log: &State) -> Op {
        let random = &mut self.random;
        let offset = random.between(log.start - 1, log.end.max(log.start) + 2);
        match random.below(10) {
            0..=5 => Op::Read(Read {
                from: offset,
                max: if self.settings.reencodes {
                    1 << 20
                } else {
                    *random.pick(&[0, 1, 100, 300, 1000, 1 << 20])
                },
                isolation: *random.pick(&[
                    Isolation::LogEnd,
                    Isolation::HighWatermark,
                    Isolation::TxnCommitted,
                ]),
                min_one: self.settings.reencodes || !random.once_in(3),
            }),
            6 | 7 => {
                let near = self.now + random.between(-3000, 1000);
                Op::Timestamp(*random.pick(&[
                    -1,
                    -2,
                    -3,
                    -4,
                    -7,
                    0,
                    near,
                    near,
                    near,
                    NOW,
                    i64::MAX,
                ]))
            }
            8 => {
                let latest = log.latest_epoch().unwrap_or(0);
                Op::EpochEnd(random.between(-1, i64::from(latest) + 2) as i32)
            }
            _ => Op::Aborted {
                // Kafka's bare query knows nothing below its first segment.
                from: offset.max(log.start).max(log.segments[0].0),
                upto: log.end + random.between(-3, 2),
            },
        }
    }

    fn change(&mut self, log: &State) -> Op {
        if self.done == self.changes * 2 / 3 {
            return self.reopen(log, true);
        }
        match self.random.below(100) {
            0..=45 => self.client(log),
            46..=59 => self.follower(log),
            60..=69 => self.marker(log),
            70..=72 => self.raft(log),
            73..=81 => self.high_watermark(log),
            82 | 83 => Op::Roll,
            84 | 85 => Op::Flush,
            86..=88 => self.truncate(log),
            89 => self.truncate_fully(log),
            90..=92 => self.delete_records(log),
            93 => {
                self.now += EXPIRATION_MS + self.random.between(-1500, 1000);
                self.queue.push_back(Op::Expire);
                Op::Clock(self.now)
            }
            94 | 95 => Op::Checkpoint,
            _ => {
                let swap = self.random.once_in(4);
                self.reopen(log, swap)
            }
        }
    }

    fn reopen(&mut self, log: &State, swap: bool) -> Op {
        let high_watermark = Op::HighWatermark {
            offset: log.high_watermark,
            as_follower: false,
        };
        let kill = self.random.once_in(2);
        let ending = if kill { Ending::Kill } else { Ending::Close };
        let op = Op::Reopen(Reopen { ending, swap });
        self.queue.push_back(high_watermark);
        // Kafka forgets the largest time of a segment that is cut before anybody asked for it, klog reads it from the
        // batches and takes an index without it for damaged (D42).
        self.queue.push_back(Op::Timestamp(-3));
        if self.settings.small_index {
            // A rebuilt index may have more entries than the one before.
            self.queue.push_back(Op::Roll);
        }
        if kill && self.random.once_in(2) {
            self.queue.push_front(op);
            return Op::Checkpoint;
        }
        op
    }

    fn high_watermark(&mut self, log: &State) -> Op {
        let random = &mut self.random;
        let offset = match random.below(20) {
            0..=10 => log.end,
            11..=15 => random.between(log.start, log.end.max(log.start) + 1),
            16 | 17 => log.end + 5,
            18 => log.start - 1,
            _ => -5,
        };
        Op::HighWatermark {
            offset,
            as_follower: random.once_in(3),
        }
    }

    fn truncate(&mut self, log: &State) -> Op {
        let random = &mut self.random;
        let to = match random.below(20) {
            0..=9 => random.between(log.start, log.end.max(log.start) + 1),
            10..=13 => random.pick(&log.segments).0,
            14 | 15 => log.end + random.between(0, 3),
            16 | 17 => (log.start - random.between(1, 4)).max(0),
            18 => 0,
            _ => -1,
        };
        if self.settings.small_index {
            self.queue.push_back(Op::Roll);
        }
        Op::Truncate(to)
    }

    fn truncate_fully(&mut self, log: &State) -> Op {
        let random = &mut self.random;
        let to = *random.pick(&[log.end, log.end + 10, log.start, log.start / 2]);
        let start = match random.below(8) {
            0 => Some((to - 3).max(0)),
            1 => Some(to + 4),
            _ => None,
        };
        Op::TruncateFully { to, start }
    }

    fn delete_records(&mut self, log: &State) -> Op {
        let random = &mut self.random;
        let high = log.high_watermark;
        Op::DeleteRecords(match random.below(10) {
            0..=2 => high,
            3..=6 => random.between(log.start, high.max(log.start) + 1),
            7 => high + 1,
            8 => (log.start - 1).max(0),
            _ => log.end,
        })
    }

    // Records.

    fn time(&mut self) -> i64 {
        if self.random.once_in(10) {
            -1
        } else {
            self.now + self.random.between(-900, 900)
        }
    }

    fn bytes(&mut self, most: usize) -> Vec<u8> {
        let len = self.random.below(most + 1);
        if self.random.once_in(2) {
            self.random.bytes(len)
        } else {
            vec![b'v'; len]
        }
    }

    fn record(&mut self) -> Rec {
        let key = (self.settings.compacts || !self.random.once_in(5)).then(|| self.bytes(8));
        let value = (!self.random.once_in(10)).then(|| self.bytes(40));
        let headers = if self.random.once_in(6) {
            vec![("h".to_owned(), Some(self.bytes(5)))]
        } else {
            Vec::new()
        };
        Rec {
            ts: self.time(),
            key,
            value,
            headers,
        }
    }

    fn records(&mut self) -> Vec<Rec> {
        (0..=self.random.below(4)).map(|_| self.record()).collect()
    }

    /// One record with this many bytes of value, which no codec packs.
    fn large_record(&mut self, bytes: usize) -> Vec<Rec> {
        vec![Rec {
            value: Some(self.random.bytes(bytes)),
            key: Some(b"k".to_vec()),
            ..self.record()
        }]
    }

    // Leader appends.

    fn append(&mut self, what: What, bytes: Vec<u8>) -> Append {
        if self.random.once_in(12) {
            self.epoch += self.random.between(1, 3) as i32;
        }
        Append {
            origin: Origin::Client,
            epoch: self.epoch,
            txn_version: None,
            what,
            bytes,
        }
    }

    fn client(&mut self, log: &State) -> Op {
        let what = if self.random.below(100) < 30 {
            self.fault()
        } else {
            *self.random.pick(&[
                What::Plain,
                What::Plain,
                What::Plain,
                What::Idempotent,
                What::Idempotent,
                What::Transactional,
                What::Transactional,
                What::Transactional,
                What::Again,
                What::NewProducerEpoch,
                What::UnknownProducer,
            ])
        };
        let append = match self.of_producer(what, log) {
            Some(append) => append,
            None => self.of_no_producer(what, log),
        };
        Op::Append(append)
    }

    /// What can go wrong under these settings.
    fn fault(&mut self) -> What {
        use What::*;
        let settings = &self.settings;
        let mut faults = vec![
            SequenceGap,
            OldProducerEpoch,
            NewProducerEpochWithSequence,
            OtherKindInTransaction,
            CoordinatorData,
            UnknownAttributes,
            WrongMaxTimestamp,
            EmptyKey,
            GarbageBehind,
            CutBatch,
            WrongChecksum,
            ZerosBehind,
            UnknownMagic,
            ShortSize,
            OverflowingSize,
            ShortBatch,
            UnknownCodec,
            BrokenStream,
            BaseOffset,
            WrongCount,
            WrongLastDelta,
            NoRecords,
            ControlByClient,
            NegativeSequence,
            TwoBatches,
            MissingRecord,
            RecordTooMany,
            WrongDeltas,
            AppendTimeByClient,
            NegativeLeaderEpoch,
            OlderLeaderEpoch,
        ];
        if settings.takes_uncompressed() {
            faults.extend([
                OldFormat,
                TwoMagics,
                NegativeRecordSize,
                LongRecordSize,
                OverlongVarint,
                KeyPastMessage,
            ]);
            if settings.reencodes || settings.compression == Compression::To(Codec::None) {
                faults.extend([OldWrapper, NegativeTimestamp]);
            }
        }
        if matches!(settings.compression, Compression::Producer) {
            faults.push(NegativeTimestampInPlace);
        }
        if settings.compacts {
            faults.extend([NullKey; 3]);
        }
        if !settings.log_append_time {
            faults.extend([TooNew; 2]);
            if settings.before_ms != i64::MAX {
                faults.extend([TooOld; 2]);
            }
        }
        if settings.max_message_bytes < 1000 {
            faults.extend([TooLargeBatch; 2]);
        }
        if settings.segment_bytes < settings.max_message_bytes {
            faults.extend([TooLargeAppend; 2]);
        }
        *self.random.pick(&faults)
    }

    fn spec(&mut self) -> Spec {
        Spec::plain(self.settings.any_codec(&mut self.random))
    }

    /// Appends of producers whose state the log may know.
    fn of_producer(&mut self, what: What, log: &State) -> Option<Append> {
        let mut id = *self.random.pick(&PRODUCERS);
        if what == What::OtherKindInTransaction {
            id = log.open_transactions().next().unwrap_or(id);
        }
        let known = log.producers.get(&id);
        let next = known.map_or(0, next_sequence);
        let epoch = known.map_or(0, |producer| producer.epoch.max(0));
        let is_open = known.is_some_and(|producer| producer.txn_first.is_some());
        let mut spec = Spec {
            producer: id,
            epoch,
            sequence: next,
            transactional: is_open,
            ..self.spec()
        };
        match what {
            What::Idempotent => {
                if known.is_none() && self.random.once_in(4) {
                    // Near where sequences begin again.
                    spec.sequence = i32::MAX - self.random.between(0, 4) as i32;
                }
            }
            What::Transactional => spec.transactional = true,
            What::Again => {
                if self.sent.is_empty() {
                    return None;
                }
                let n = self.random.below(self.sent.len());
                let again = self.sent[n].clone();
                return Some(Append {
                    what,
                    ..self.append(what, again.bytes)
                });
            }
            What::NewProducerEpoch => (spec.epoch, spec.sequence) = (epoch + 1, 0),
            What::NewProducerEpochWithSequence => {
                (spec.epoch, spec.sequence) = (epoch + 1, next.max(1));
            }
            What::UnknownProducer => {
                (spec.producer, spec.sequence) = (1000 + self.random.between(0, 50), 17);
            }
            What::SequenceGap => spec.sequence = next.saturating_add(3),
            What::OldProducerEpoch => spec.epoch = epoch - 1,
            What::OtherKindInTransaction => spec.transactional = !is_open,
            _ => return None,
        }
        let records = self.records();
        let bytes = spec.batch(&records);
        let append = self.append(what, bytes);
        self.sent.push_back(append.clone());
        if self.sent.len() > 8 {
            self.sent.pop_front();
        }
        Some(append)
    }

    fn of_no_producer(&mut self, what: What, log: &State) -> Append {
        if let Some(append) = self.with_other_origin(what) {
            return append;
        }
        if let Some(bytes) = self.bad_batch(what) {
            return self.append(what, bytes);
        }
        if let Some(bytes) = self.bad_records(what) {
            return self.append(what, bytes);
        }
        let spec = self.spec();
        let records = self.records();
        let bytes = spec.batch(&records);
        match what {
            What::NegativeLeaderEpoch => Append {
                epoch: -1,
                ..self.append(what, bytes)
            },
            What::OlderLeaderEpoch => Append {
                epoch: (log.latest_epoch().unwrap_or(0) - 1).max(0),
                ..self.append(what, bytes)
            },
            // What needs a batch sent before.
            _ => self.append(What::Plain, bytes),
        }
    }

    fn with_other_origin(&mut self, what: What) -> Option<Append> {
        if what != What::CoordinatorData {
            return None;
        }
        let mut spec = self.spec();
        if spec.codec == Codec::None && self.random.once_in(2) {
            spec.base = 5;
        }
        if self.random.once_in(2) {
            // The coordinator's sequences are not looked at.
            spec = Spec {
                producer: 500,
                epoch: 0,
                sequence: 9,
                ..spec
            };
        }
        let records = self.records();
        let bytes = spec.batch(&records);
        Some(Append {
            origin: Origin::Coordinator,
            ..self.append(what, bytes)
        })
    }

    /// Batches that are wrong, or odd, below the level of their records.
    fn bad_batch(&mut self, what: What) -> Option<Vec<u8>> {
        let spec = self.spec();
        let packed = Spec::plain(self.settings.compressing_codec(&mut self.random));
        let records = self.records();
        let good = spec.batch(&records);
        let bytes = match what {
            What::UnknownAttributes => patched(good.clone(), at::ATTRIBUTES, &[0x41]),
            What::WrongMaxTimestamp => {
                patched(good, at::BASE_TIMESTAMP + 8, &(self.now + 77).to_be_bytes())
            }
            What::GarbageBehind => [good, vec![7; 11]].concat(),
            What::CutBatch => good[..good.len() - 3].to_vec(),
            What::WrongChecksum => {
                let mut bytes = good;
                let last = bytes.len() - 1;
                bytes[last] ^= 0x10;
                bytes
            }
            What::ZerosBehind => [good, vec![0; 20]].concat(),
            What::UnknownMagic => {
                let mut bytes = good;
                bytes[at::MAGIC] = *self.random.pick(&[3, 127, 255]);
                bytes
            }
            What::ShortSize => {
                let mut bytes = good;
                bytes[at::SIZE..at::SIZE + 4].copy_from_slice(&13_i32.to_be_bytes());
                bytes
            }
            What::OverflowingSize => {
                let mut bytes = good;
                bytes[at::SIZE..at::SIZE + 4].copy_from_slice(&(i32::MAX - 5).to_be_bytes());
                bytes
            }
            What::ShortBatch => {
                let mut bytes = good[..26].to_vec();
                bytes[at::SIZE..at::SIZE + 4].copy_from_slice(&14_i32.to_be_bytes());
                bytes
            }
            What::UnknownCodec => patched(good, at::ATTRIBUTES + 1, &[5]),
            What::BrokenStream => {
                let good = packed.batch(&records);
                let half = at::RECORDS + (good.len() - at::RECORDS) / 2;
                with_records(&good, &good[at::RECORDS..half])
            }
            What::BaseOffset => Spec { base: 3, ..spec }.batch(&records),
            What::WrongCount => patched(good, at::COUNT, &(records.len() as i32 + 1).to_be_bytes()),
            What::WrongLastDelta => {
                patched(good, at::LAST_DELTA, &(records.len() as i32).to_be_bytes())
            }
            What::NoRecords => with_records(&with_more_records(good, -(records.len() as i32)), &[]),
            What::ControlByClient => patched(good, at::ATTRIBUTES + 1, &[spec.codec.id() | 0x20]),
            What::NegativeSequence => Spec {
                producer: 900,
                epoch: 0,
                ..spec
            }
            .batch(&records),
            What::TwoBatches => [good.clone(), good].concat(),
            What::TwoMagics => [batches::old_messages(1, 0, &records), good].concat(),
            What::MissingRecord => with_more_records(good, 1),
            What::RecordTooMany => {
                let more = [records, vec![self.record()]].concat();
                with_more_records(spec.batch(&more), -1)
            }
            What::NegativeRecordSize | What::LongRecordSize | What::OverlongVarint => {
                let good = Spec::plain(Codec::None).batch(&records);
                let size: &[u8] = match what {
                    What::NegativeRecordSize => &[1],
                    What::LongRecordSize => &[0xfe, 0xff, 0x0f],
                    _ => &[0xff; 6],
                };
                with_records(&good, &[size, &good[at::RECORDS + 1..]].concat())
            }
            What::WrongDeltas => {
                let two = [self.record(), self.record()];
                let in_place = self.settings.takes_in_place(packed.codec);
                // Stored, or made good, unless it is compressed and taken as it is.
                if in_place {
                    packed.with_a_gap(&two)
                } else {
                    return None;
                }
            }
            _ => return None,
        };
        Some(bytes)
    }

    /// Batches whose records are wrong or odd.
    fn bad_records(&mut self, what: What) -> Option<Vec<u8>> {
        let mut spec = self.spec();
        let mut records = [self.records(), vec![self.record()]].concat();
        let n = self.random.below(records.len());
        match what {
            What::OldFormat => {
                let magic = self.random.below(2) as i8;
                return Some(batches::old_messages(magic, 0, &records));
            }
            What::OldWrapper => {
                let codec = Codec::ALL[1 + self.random.below(3)];
                return Some(batches::old_wrapper(codec, 0, &records));
            }
            What::KeyPastMessage => return Some(batches::key_past_message(&records[n])),
            What::EmptyKey => records[n].key = Some(Vec::new()),
            What::NullKey => {
                records[n].key = None;
                if self.random.once_in(2) {
                    records[0].key = None;
                }
                if self.random.once_in(5) && self.settings.takes_uncompressed() {
                    return Some(batches::old_messages(1, 0, &records));
                }
            }
            What::TooOld => records[n].ts = self.now - self.settings.before_ms - 1,
            What::TooNew => {
                records[n].ts = self.now + self.settings.after_ms + 1;
                if self.settings.compacts {
                    records[0].key = None;
                }
            }
            What::AppendTimeByClient => spec.append_time = Some(self.now),
            What::NegativeTimestamp | What::NegativeTimestampInPlace => {
                for record in &mut records {
                    record.ts = 0;
                }
                if what == What::NegativeTimestamp {
                    spec.codec = Codec::ALL[1 + self.random.below(4)];
                }
                let bytes = spec.batch(&records);
                return Some(patched(bytes, at::BASE_TIMESTAMP, &(-5_i64).to_be_bytes()));
            }
            What::TooLargeBatch => {
                records = self.large_record(self.settings.max_message_bytes);
            }
            What::TooLargeAppend => records = self.large_record(self.settings.segment_bytes),
            _ => return None,
        }
        Some(spec.batch(&records))
    }

    // Markers.

    fn marker(&mut self, log: &State) -> Op {
        let open: Vec<i64> = log.open_transactions().collect();
        let id = if open.is_empty() || self.random.once_in(8) {
            *self.random.pick(&PRODUCERS)
        } else {
            *self.random.pick(&open)
        };
        let unknown = Producer {
            epoch: 0,
            coordinator_epoch: -1,
            ..Producer::default()
        };
        let known = log.producers.get(&id).unwrap_or(&unknown).clone();
        let version = self.random.between(0, 3) as i16;
        let mut spec = Spec {
            producer: id,
            epoch: known.epoch.max(0) + i16::from(version == 2),
            ..Spec::plain(Codec::None)
        };
        let mut coordinator = known.coordinator_epoch.max(0);
        if self.random.once_in(3) {
            coordinator += 1;
        }
        let mut append = self.append(What::Marker, Vec::new());
        append.origin = Origin::Coordinator;
        append.txn_version = Some(version);
        append.what = match self.random.below(20) {
            0 => {
                spec.epoch = known.epoch - 1;
                What::OldMarkerEpoch
            }
            1 => {
                // As version 2 has it, only a new epoch ends a transaction.
                append.txn_version = Some(2);
                spec.epoch = known.epoch;
                What::OldMarkerEpoch
            }
            2 => {
                coordinator = known.coordinator_epoch - 1;
                What::OldCoordinator
            }
            3 => {
                append.txn_version = None;
                What::NoMarkerVersion
            }
            4 => What::UnknownMarker,
            _ if known.txn_first.is_none() => What::MarkerOfNothing,
            _ => What::Marker,
        };
        append.bytes = if append.what == What::UnknownMarker {
            spec.unknown_marker(self.now)
        } else {
            let commit = self.random.once_in(2);
            spec.marker(commit, coordinator, self.now)
        };
        Op::Append(append)
    }

    // Appends that bring their offsets.

    fn raft(&mut self, log: &State) -> Op {
        let what =
            *self
                .random
                .pick(&[What::Raft, What::Raft, What::RaftOtherEpoch, What::RaftBack]);
        let records = self.records();
        let mut append = self.append(what, Vec::new());
        append.origin = Origin::RaftLeader;
        let spec = Spec {
            base: if what == What::RaftBack {
                (log.end - 1).max(0)
            } else {
                log.end
            },
            leader_epoch: append.epoch + i32::from(what == What::RaftOtherEpoch),
            ..Spec::plain(self.settings.any_codec(&mut self.random))
        };
        append.bytes = spec.batch(&records);
        Op::Append(append)
    }

    fn follower(&mut self, log: &State) -> Op {
        use What::*;
        let mut choices = vec![Follow; 8];
        choices.extend([
            FollowGap,
            FollowGap,
            FollowBack,
            FollowNewerEpoch,
            FollowNoEpoch,
            FollowOldEpoch,
            FollowCut,
            FollowOldFormat,
        ]);
        if !self.settings.small_index {
            choices.extend([FollowOutOfOrder, FollowCorrupt]);
        }
        if self.random.once_in(3) {
            choices.push(FollowFarGap);
        }
        if self.settings.compacts {
            choices.push(FollowNullKey);
        }
        if self.settings.segment_bytes > self.settings.max_message_bytes + 300 {
            choices.push(FollowTooLarge);
        }
        let what = *self.random.pick(&choices);
        let mut append = self.append(what, Vec::new());
        append.origin = Origin::Replication;
        append.bytes = self.followed(what, log, append.epoch);
        Op::Append(append)
    }

    /// What a follower gets: batches from the log end on, with what is special about them.
    fn followed(&mut self, what: What, log: &State, leader_epoch: i32) -> Vec<u8> {
        let mut next = log.end;
        match what {
            What::FollowGap => next += self.random.between(1, 8),
            What::FollowFarGap => next += (1 << 31) + self.random.between(0, 3),
            What::FollowBack => next = (next - 1).max(0),
            _ => {}
        }
        let latest = log.latest_epoch().unwrap_or(0);
        let epoch = match what {
            What::FollowNoEpoch => -1,
            What::FollowOldEpoch => (latest - 1).clamp(0, leader_epoch),
            _ => leader_epoch,
        };
        let first = self.follow_batch(what, &mut next, epoch, log);
        let mut all = vec![first];
        match what {
            What::FollowNewerEpoch => {
                all.push(self.follow_batch(what, &mut next, epoch + 2, log));
            }
            What::FollowOutOfOrder => {
                let mut low = log.end;
                next += 4;
                all = vec![
                    self.follow_batch(what, &mut next, epoch, log),
                    self.follow_batch(what, &mut low, epoch, log),
                ];
            }
            What::FollowCut => {
                let mut cut = self.follow_batch(what, &mut next, epoch, log);
                cut.truncate(cut.len() - 1);
                all.push(cut);
            }
            What::FollowCorrupt => {
                let mut bad = self.follow_batch(what, &mut next, epoch, log);
                let last = bad.len() - 1;
                bad[last] ^= 1;
                all.push(bad);
            }
            What::Follow if !self.settings.small_index => {
                for _ in 0..self.random.below(4) {
                    if self.random.once_in(5) {
                        next += self.random.between(1, 4);
                    }
                    all.push(self.follow_batch(what, &mut next, epoch, log));
                }
            }
            _ => {}
        }
        all.concat()
    }

    fn follow_batch(&mut self, what: What, next: &mut i64, epoch: i32, log: &State) -> Vec<u8> {
        let mut records = self.records();
        match what {
            What::FollowNullKey => records[0].key = None,
            What::FollowTooLarge => {
                records = self.large_record(self.settings.max_message_bytes);
            }
            _ => {}
        }
        let base = *next;
        *next += records.len() as i64;
        if what == What::FollowOldFormat {
            let magic = self.random.below(2) as i8;
            return if magic == 1 && self.random.once_in(2) {
                batches::old_wrapper(Codec::ALL[1 + self.random.below(3)], base, &records)
            } else if self.settings.small_index {
                *next = base + 1;
                batches::old_messages(magic, base, &records[..1])
            } else {
                batches::old_messages(magic, base, &records)
            };
        }
        let spec = Spec {
            base,
            leader_epoch: epoch,
            ..Spec::plain(Codec::ALL[self.random.below(5)])
        };
        let id = *self.random.pick(&PRODUCERS);
        let known = log.producers.get(&id).cloned().unwrap_or_default();
        // A follower takes any sequence and any epoch.
        let of_producer = Spec {
            producer: id,
            epoch: (known.epoch + self.random.between(-1, 2) as i16).max(0),
            sequence: if self.random.once_in(4) {
                self.random.between(0, 1 << 31) as i32
            } else {
                next_sequence(&known)
            },
            transactional: known.txn_first.is_some(),
            ..spec
        };
        match self.random.below(10) {
            0 => of_producer.batch(&records),
            1 => Spec {
                transactional: true,
                ..of_producer
            }
            .batch(&records),
            2 => {
                *next = base + 1;
                let coordinator = known.coordinator_epoch.max(0);
                let commit = self.random.once_in(2);
                of_producer.marker(commit, coordinator, self.now)
            }
            _ => spec.batch(&records),
        }
    }
}

/// What follows the last batch that a log has of a producer.
fn next_sequence(producer: &Producer) -> i32 {
    producer.batches.last().map_or(0, |last| {
        if last.last_sequence == i32::MAX {
            0
        } else {
            last.last_sequence + 1
        }
    })
}
