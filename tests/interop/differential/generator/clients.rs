//! What clients append, good and bad.

use klog::format::codec::Codec;

use super::super::batches::{self, Spec, at, patched, with_more_records, with_records};
use super::super::op::{Append, Op, Origin, What};
use super::super::settings::Compression;
use super::super::side::State;
use super::*;

impl Generator {
    pub(super) fn client(&mut self, log: &State) -> Op {
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
    pub(super) fn fault(&mut self) -> What {
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

    pub(super) fn spec(&mut self) -> Spec {
        Spec::plain(self.settings.any_codec(&mut self.random))
    }

    /// Appends of producers whose state the log may know.
    pub(super) fn of_producer(&mut self, what: What, log: &State) -> Option<Append> {
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

    pub(super) fn of_no_producer(&mut self, what: What, log: &State) -> Append {
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

    pub(super) fn with_other_origin(&mut self, what: What) -> Option<Append> {
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
    pub(super) fn bad_batch(&mut self, what: What) -> Option<Vec<u8>> {
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
    pub(super) fn bad_records(&mut self, what: What) -> Option<Vec<u8>> {
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
}
