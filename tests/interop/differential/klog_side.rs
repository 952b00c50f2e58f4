//! klog's log as the other side.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use klog::config::{ConfigSet, Resolved};
use klog::error::Error;
use klog::inspect::{DumpOptions, dump};
use klog::io::{FileSystem, ManualClock, RealFs};
use klog::log::{
    AppendOptions, FirstBatch, Isolation as KlogIsolation, LeaderEpochRule, Log,
    Origin as KlogOrigin, ReadCut, ReadOptions, TimeTarget,
};
use klog::manager::{CreateOptions, HighWatermarks, Manager, ManagerOptions, MissingDir};
use klog::types::{LeaderEpoch, Offset, TimestampMs, TopicPartition};

use super::files::write_checkpoints;
use super::kafka_side::whole_batches;
use super::op::{Append, Isolation, Op, Origin, Read};
use super::settings::Settings;
use super::side::{
    Answer, Appended, Opening, Producer, ProducerBatch, Refusal, Side, Slice, State,
};
use crate::support::engine::NOW;

/// A log in a manager of its own.
pub(crate) struct KlogSide {
    config: Arc<Resolved>,
    clock: Arc<ManualClock>,
    open: Option<(Manager, Arc<Log>)>,
}

impl KlogSide {
    pub(crate) fn new(settings: &Settings) -> Self {
        let mut set = ConfigSet::broker();
        for (key, value) in &settings.pairs {
            set.set_topic("t", key, value).unwrap();
        }
        Self {
            config: Arc::new(set.resolve().unwrap()),
            clock: Arc::new(ManualClock::new(TimestampMs(NOW))),
            open: None,
        }
    }

    fn log(&self) -> &Arc<Log> {
        &self.open.as_ref().unwrap().1
    }

    fn try_open(&self, dir: &Path) -> Result<(Manager, Arc<Log>), Error> {
        let manager = Manager::open(ManagerOptions {
            dirs: vec![dir.to_path_buf()],
            missing_dir: MissingDir::Refuse,
            access: klog::manager::Access::Own,
            config: Arc::clone(&self.config),
            fs: Arc::new(RealFs),
            clock: Arc::clone(&self.clock) as Arc<dyn klog::io::Clock>,
            recovery_threads: Some(1),
            broker_epoch: -1,
            high_watermarks: HighWatermarks::FromCheckpoint,
            progress: None,
        })?;
        let options = CreateOptions {
            is_watermark_manual: true,
            ..CreateOptions::default()
        };
        let log = manager.get_or_create_log(&TopicPartition::new("t", 0), &options)?;
        Ok((manager, log))
    }

    fn append(&self, append: &Append) -> Result<Answer, Error> {
        let options = AppendOptions {
            origin: match append.origin {
                Origin::Client => KlogOrigin::Client,
                Origin::Coordinator => KlogOrigin::Coordinator,
                Origin::Replication => KlogOrigin::Replication,
                Origin::RaftLeader => KlogOrigin::RaftLeader,
            },
            txn_version: append.txn_version,
            leader_epoch: Some(LeaderEpoch(append.epoch)),
            epoch_rule: LeaderEpochRule::TakeAny,
            ..AppendOptions::default()
        };
        let result = self.log().append_batches(&append.bytes, &options)?;
        Ok(Answer::Appended(Appended {
            first: result.first_offset.0,
            last: result.last_offset.0,
            append_time: result.log_append_time.0,
            max_timestamp: result.max_timestamp.0,
            start: result.log_start_offset.0,
        }))
    }

    fn read(&self, read: &Read) -> Result<Answer, Error> {
        let options = ReadOptions {
            max_bytes: read.max,
            first_batch: if read.min_one {
                FirstBatch::Always
            } else {
                FirstBatch::IfItFits
            },
            isolation: match read.isolation {
                Isolation::LogEnd => KlogIsolation::LogEnd,
                Isolation::HighWatermark => KlogIsolation::HighWatermark,
                Isolation::TxnCommitted => KlogIsolation::TxnCommitted,
            },
            cut: ReadCut::AtMaxBytes,
        };
        let mut buffer = vec![0; 2 << 20];
        let from = Offset(read.from);
        let result = self.log().read(from, &mut buffer, &options)?;
        self.read_whole(from, &options, &buffer[..result.bytes]);
        buffer.truncate(result.bytes);
        let aborted = if read.isolation == Isolation::TxnCommitted {
            self.log().aborted_txns(from, result.aborted_upto)?
        } else {
            Vec::new()
        };
        Ok(Answer::Slice(Slice {
            place: (
                result.segment_base_offset.0,
                result.position.try_into().unwrap(),
            ),
            bytes: buffer,
            is_first_larger: result.is_first_larger,
            aborted: aborted
                .iter()
                .map(|txn| (txn.producer_id.0, txn.first_offset.0))
                .collect(),
        }))
    }

    /// A read that ends behind a batch gives the whole batches of `slice`.
    fn read_whole(&self, from: Offset, options: &ReadOptions, slice: &[u8]) {
        let options = ReadOptions {
            cut: ReadCut::BehindBatch,
            ..*options
        };
        let mut buffer = vec![0; 2 << 20];
        let result = self.log().read(from, &mut buffer, &options).unwrap();
        let whole = &slice[..whole_batches(slice)];
        assert_eq!(&buffer[..result.bytes], whole, "from {from} {options:?}");
    }

    fn step(&mut self, op: &Op) -> Result<Answer, Error> {
        let (manager, log) = self.open.as_ref().unwrap();
        let text = match op {
            Op::Append(append) => return self.append(append),
            Op::Read(read) => return self.read(read),
            Op::Clock(now) => {
                self.clock.set(TimestampMs(*now));
                String::new()
            }
            Op::Roll => format!("base={}", log.roll()?),
            Op::Flush => {
                log.flush()?;
                format!("recovery_point={}", log.recovery_point())
            }
            Op::HighWatermark { offset, .. } => {
                log.set_high_watermark(Offset(*offset))?;
                String::new()
            }
            Op::Truncate(to) => {
                let is_cut = manager.truncate_to(log, Offset(*to))?;
                format!("truncated={} end={}", u8::from(is_cut), log.end_offset())
            }
            Op::TruncateFully { to, start } => {
                manager.truncate_fully(log, Offset(*to), start.map(Offset))?;
                format!("start={} end={}", log.start_offset(), log.end_offset())
            }
            Op::DeleteRecords(to) => {
                let before = log.start_offset();
                let start = log.delete_records(Offset(*to))?;
                format!("raised={} start={start}", u8::from(start > before))
            }
            Op::Expire => {
                log.expire_producers()?;
                format!("producers={}", log.info().producers)
            }
            Op::Timestamp(target) => log
                .offset_for_timestamp(TimeTarget::from_kafka(*target)?)?
                .map_or_else(
                    || "none".to_owned(),
                    |found| {
                        let epoch = found.leader_epoch.map_or("-".to_owned(), |e| e.to_string());
                        let (offset, timestamp) = (found.offset, found.timestamp);
                        format!("offset={offset} ts={timestamp} epoch={epoch}")
                    },
                ),
            Op::EpochEnd(epoch) => log
                .end_offset_for_epoch(LeaderEpoch(*epoch))
                .map_or("-".to_owned(), |(epoch, end)| format!("{epoch}:{end}")),
            Op::Aborted { from, upto } => {
                let found = log.aborted_txns(Offset(*from), Offset(*upto))?;
                let found: Vec<String> = found
                    .iter()
                    .map(|txn| {
                        format!(
                            "{}:{}:{}:{}",
                            txn.producer_id,
                            txn.first_offset,
                            txn.last_offset,
                            txn.last_stable_offset
                        )
                    })
                    .collect();
                if found.is_empty() {
                    "-".to_owned()
                } else {
                    found.join(",")
                }
            }
            Op::Checkpoint | Op::Reopen(_) => panic!("{op} is none of one log"),
        };
        Ok(Answer::Text(text))
    }
}

impl Side for KlogSide {
    fn open(&mut self, dir: &Path, opening: &Opening) -> Result<(), Refusal> {
        self.clock.set(TimestampMs(opening.now));
        write_checkpoints(dir, opening);
        // As in Kafka, the high watermark is set by the steps alone.
        let _ = fs::remove_file(dir.join("replication-offset-checkpoint"));
        self.open = Some(self.try_open(dir).map_err(|error| refusal(&error))?);
        Ok(())
    }

    fn apply(&mut self, op: &Op) -> Answer {
        self.step(op)
            .unwrap_or_else(|error| Answer::Refused(refusal(&error)))
    }

    fn state(&mut self) -> State {
        let log = self.log();
        let info = log.info();
        let segments = log.segment_list();
        let aborted = |segment: &Arc<klog::segment::Segment>| {
            let base = segment.base_offset().0;
            let txns = segment.aborted_txns().unwrap();
            let line = |txn: &klog::format::txn_index::AbortedTxn| {
                [
                    base,
                    txn.producer_id.0,
                    txn.first_offset.0,
                    txn.last_offset.0,
                    txn.last_stable_offset.0,
                ]
            };
            txns.iter().map(line).collect::<Vec<_>>()
        };
        let mut snapshots: Vec<i64> = fs::read_dir(log.dir())
            .unwrap()
            .filter_map(|entry| {
                let name = entry.unwrap().file_name().into_string().unwrap();
                name.strip_suffix(".snapshot")?.parse().ok()
            })
            .collect();
        snapshots.sort_unstable();
        State {
            start: info.log_start_offset.0,
            end: info.log_end_offset.0,
            high_watermark: info.high_watermark.0,
            stable: info.last_stable_offset.0,
            recovery_point: info.recovery_point.0,
            segments: segments
                .iter()
                .map(|segment| (segment.base_offset().0, segment.size_bytes()))
                .collect(),
            epochs: log
                .epochs()
                .iter()
                .map(|entry| (entry.epoch.0, entry.start_offset.0))
                .collect(),
            producers: log
                .producers()
                .iter()
                .map(|(id, known)| (id.0, producer(known)))
                .collect(),
            aborted: segments.iter().flat_map(aborted).collect(),
            snapshots,
        }
    }

    /// Only Kafka moves offsets to where batches begin.
    fn batch_base(&mut self, _: i64) -> Option<i64> {
        None
    }

    /// It leaves none.
    fn forget_epochs(&mut self, _: &State) {}

    fn close(&mut self) {
        let (manager, _) = self.open.take().unwrap();
        manager.close().unwrap();
    }

    fn kill(&mut self) {
        let (manager, _) = self.open.take().unwrap();
        manager.abandon();
    }

    fn dump(&mut self, dir: &Path) -> String {
        let fs: Arc<dyn FileSystem> = Arc::new(RealFs);
        let mut out = Vec::new();
        let options = DumpOptions {
            only: None,
            config: Arc::clone(&self.config),
            now: TimestampMs(0),
        };
        dump(&fs, dir, &options, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }
}

fn producer(known: &klog::state::producer::Producer) -> Producer {
    Producer {
        epoch: known.epoch,
        coordinator_epoch: known.coordinator_epoch,
        timestamp: known.last_timestamp.0,
        txn_first: known.txn_first_offset.map(|first| first.0),
        batches: known
            .batches
            .iter()
            .map(|batch| ProducerBatch {
                first_sequence: batch.first_sequence(),
                last_sequence: batch.last_sequence,
                first: batch.first_offset().0,
                last: batch.last_offset.0,
                timestamp: batch.timestamp.0,
            })
            .collect(),
    }
}

fn refusal(error: &Error) -> Refusal {
    let name = error.kind().name();
    let rejected = error.record_errors();
    Refusal {
        name: name.strip_prefix("KLOG_ERR_").unwrap_or(name).to_owned(),
        class: String::new(),
        records: rejected.iter().map(|record| record.index as i64).collect(),
        text: format!("{error} {rejected:?}"),
    }
}
