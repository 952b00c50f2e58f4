//! Calls that change a log, drawn at random, made, and noted in its model. What depends on the log is chosen when the call
//! is made, so that a script can be run again on a log that went another way.

use std::sync::Arc;

use super::model::{Marker, Model, Stamp, State, Stored};
use super::{Random, Record, builder_of, partition};
use klog::ErrorKind;
use klog::format::batch::increment_sequence;
use klog::format::builder::{BatchBuilder, BatchOptions};
use klog::format::codec::Codec;
use klog::format::control;
use klog::log::{AppendOptions, Log, Origin, ProducerStamp, TxnMarker, WriteDurability};
use klog::manager::Manager;
use klog::types::{LeaderEpoch, Offset, ProducerId, TimestampMs};

/// Whose records they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    Nobody,
    Producer(i64),
    Transaction(i64),
}

/// The end of a transaction, by which version of the protocol, and whether by a new coordinator.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End {
    pub(crate) id: i64,
    pub(crate) commit: bool,
    pub(crate) raises_epoch: bool,
    pub(crate) new_coordinator: bool,
}

/// A part of what a follower gets at once.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    Data(Who, Vec<Record>, Codec),
    End(End),
}

/// One call.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    Append {
        who: Who,
        records: Vec<Record>,
        codec: Codec,
        /// As a ready batch.
        is_ready: bool,
        new_producer_epoch: bool,
        new_epoch: bool,
        durability: WriteDurability,
    },
    End(End, WriteDurability),
    Follow {
        parts: Vec<Part>,
        gap: i64,
        new_epoch: bool,
        durability: WriteDurability,
    },
    /// The last batch of a producer once more.
    Repeat(i64),
    /// A sequence that does not follow.
    SkipSequence(i64),
    MoveHighWatermark(u64),
    DeleteRecords(u64),
    TruncateTo(u64),
    TruncateFully(u64),
}

/// Why a call did not do what it should.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It failed.
    Klog(klog::Error),
    /// It answered what is not so.
    Wrong(String),
}

impl From<klog::Error> for Failure {
    fn from(error: klog::Error) -> Self {
        Self::Klog(error)
    }
}

impl From<Failure> for String {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Klog(error) => format!("{error:?}"),
            Failure::Wrong(what) => what,
        }
    }
}

type Done = Result<String, Failure>;

fn wrong(what: impl Into<String>) -> Failure {
    Failure::Wrong(what.into())
}

/// What kinds of changes a history has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kinds {
    pub(crate) producers: bool,
    pub(crate) follows: bool,
    pub(crate) cuts: bool,
    pub(crate) deletes: bool,
}

impl Kinds {
    pub(crate) fn random(random: &mut Random) -> Self {
        Self {
            producers: !random.one_in(4),
            follows: random.one_in(2),
            cuts: random.one_in(2),
            deletes: random.one_in(3),
        }
    }
}

const PRODUCERS: [i64; 2] = [1, 2];
const TRANSACTIONS: [i64; 3] = [11, 12, 13];

fn random_who(random: &mut Random, kinds: Kinds) -> Who {
    if !kinds.producers {
        return Who::Nobody;
    }
    match random.below(6) {
        0..=1 => Who::Nobody,
        2 => Who::Producer(*random.pick(&PRODUCERS)),
        _ => Who::Transaction(*random.pick(&TRANSACTIONS)),
    }
}

fn random_end(random: &mut Random) -> End {
    End {
        id: *random.pick(&TRANSACTIONS),
        commit: random.one_in(2),
        raises_epoch: random.one_in(3),
        new_coordinator: random.one_in(4),
    }
}

fn random_records(random: &mut Random, next_id: &mut u64, now: i64) -> Vec<Record> {
    let n = 1 + random.below(4);
    let first = *next_id;
    *next_id += n as u64;
    (0..n as u64)
        .map(|i| Record::random(random, first + i, now))
        .collect()
}

fn random_codec(random: &mut Random) -> Codec {
    *random.pick(&[
        Codec::None,
        Codec::None,
        Codec::None,
        Codec::Lz4,
        Codec::Snappy,
        Codec::Gzip,
        Codec::Zstd,
    ])
}

impl Change {
    /// An append of any kind.
    pub(crate) fn append(
        random: &mut Random,
        kinds: Kinds,
        durability: WriteDurability,
        next_id: &mut u64,
        now: i64,
    ) -> Self {
        if kinds.producers && random.one_in(4) {
            return Self::End(random_end(random), durability);
        }
        if kinds.follows && random.one_in(3) {
            let n = 1 + random.below(3);
            let parts = (0..n)
                .map(|_| {
                    if kinds.producers && random.one_in(3) {
                        Part::End(random_end(random))
                    } else {
                        let who = random_who(random, kinds);
                        let records = random_records(random, next_id, now);
                        Part::Data(who, records, random_codec(random))
                    }
                })
                .collect();
            return Self::Follow {
                parts,
                gap: *random.pick(&[0, 0, 0, 2]),
                new_epoch: random.one_in(6),
                durability,
            };
        }
        let who = random_who(random, kinds);
        if who != Who::Nobody && random.one_in(8) {
            let id = match who {
                Who::Producer(id) | Who::Transaction(id) => id,
                Who::Nobody => -1,
            };
            return if random.one_in(2) {
                Self::Repeat(id)
            } else {
                Self::SkipSequence(id)
            };
        }
        Self::Append {
            who,
            records: random_records(random, next_id, now),
            codec: random_codec(random),
            is_ready: random.one_in(4),
            new_producer_epoch: random.one_in(8),
            new_epoch: random.one_in(6),
            durability,
        }
    }

    /// A change that is no append, if the history has such.
    pub(crate) fn other(random: &mut Random, kinds: Kinds, is_manual: bool) -> Option<Self> {
        let x = random.next();
        let all = [
            (is_manual, Self::MoveHighWatermark(x)),
            (kinds.deletes, Self::DeleteRecords(x)),
            (kinds.cuts, Self::TruncateTo(x)),
            (kinds.cuts, Self::TruncateTo(x)),
            (kinds.cuts && x.is_multiple_of(3), Self::TruncateFully(x)),
        ];
        let possible: Vec<_> = all.into_iter().filter(|(is, _)| *is).collect();
        if possible.is_empty() {
            return None;
        }
        Some(random.pick(&possible).1.clone())
    }

    /// Makes the call, and notes in the model what it did.
    pub(crate) fn make(&self, manager: &Manager, model: &mut Model) -> Done {
        let log = manager.log(&partition(model.topic))?;
        let done = self.make_on(manager, &log, model)?;
        // A recovery point is a promise.
        model.flushed(log.recovery_point().0);
        if log.end_offset().0 != model.end || log.start_offset().0 != model.start {
            return Err(wrong(format!(
                "{self:?}: the log is {}..{}, not {}..{}",
                log.start_offset(),
                log.end_offset(),
                model.start,
                model.end
            )));
        }
        Ok(format!("{} {done}", model.topic))
    }

    fn make_on(&self, manager: &Manager, log: &Arc<Log>, model: &mut Model) -> Done {
        match self {
            Self::Append {
                who,
                records,
                codec,
                is_ready,
                new_producer_epoch,
                new_epoch,
                durability,
            } => {
                let stamp = next_stamp(log, *who, *new_producer_epoch);
                let epoch = next_epoch(log, model, *new_epoch);
                let options = options(epoch, *codec, *durability);
                append(log, model, records, stamp, *is_ready, &options)
            }
            Self::End(end, durability) => append_end(log, model, *end, *durability),
            Self::Follow {
                parts,
                gap,
                new_epoch,
                durability,
            } => {
                let epoch = next_epoch(log, model, *new_epoch);
                follow(log, model, parts, *gap, epoch, *durability)
            }
            Self::Repeat(id) => repeat(log, model, *id),
            Self::SkipSequence(id) => skip_sequence(log, model, *id),
            Self::MoveHighWatermark(x) => {
                let Some(high_watermark) = &mut model.high_watermark else {
                    return Ok("follows".to_owned());
                };
                let to = within(*x, model.start - 1, model.end + 2);
                let now = log.set_high_watermark(Offset(to))?.0;
                *high_watermark = now;
                if now == to.clamp(model.start, model.end.max(model.start)) {
                    Ok(format!("high watermark {now}"))
                } else {
                    Err(wrong(format!("{to} made the high watermark {now}")))
                }
            }
            Self::DeleteRecords(x) => {
                let upto = within(*x, model.start, model.high_watermark() + 1);
                let start = manager.delete_records(log, Offset(upto))?.0;
                model.start = model.start.max(upto);
                model.max_start = model.max_start.max(model.start);
                if start == model.start {
                    Ok(format!("deleted below {upto}"))
                } else {
                    Err(wrong(format!("deleting below {upto} gave {start}")))
                }
            }
            Self::TruncateTo(x) => {
                let target = within(*x, (model.start - 2).max(0), model.end + 2);
                let first_base = log.segments().first().map_or(0, |s| s.base_offset().0);
                let was_cut = manager.truncate_to(log, Offset(target))?;
                if was_cut != (target < model.end) {
                    return Err(wrong(format!("cut at {target}: {was_cut}")));
                }
                if was_cut && target < first_base {
                    model.begin_anew(target, target);
                } else if was_cut {
                    model.cut(target);
                }
                Ok(format!("cut at {target}"))
            }
            Self::TruncateFully(x) => {
                let target = within(x / 8, (model.start - 3).max(0), model.end + 10);
                let start = [None, None, Some((target - 2).max(0)), Some(target)]
                    [usize::try_from(x % 4).unwrap()];
                manager.truncate_fully(log, Offset(target), start.map(Offset))?;
                model.begin_anew(target, start.unwrap_or(target));
                Ok(format!("dropped, goes on at {target}, starts at {start:?}"))
            }
        }
    }
}

/// An offset of `[low, high)`.
fn within(x: u64, low: i64, high: i64) -> i64 {
    low + i64::try_from(x % u64::try_from(high - low).unwrap()).unwrap()
}

fn options(epoch: i32, codec: Codec, durability: WriteDurability) -> AppendOptions {
    AppendOptions {
        leader_epoch: Some(LeaderEpoch(epoch)),
        codec: Some(codec),
        durability,
        ..AppendOptions::default()
    }
}

fn next_epoch(log: &Log, model: &Model, is_new: bool) -> i32 {
    let latest = log.epochs().last().map_or(0, |e| e.epoch.0);
    let stored = model.batches.last().map_or(0, |batch| batch.epoch);
    latest.max(stored) + i32::from(is_new)
}

/// What a producer writes next, by what the log knows of it.
fn next_stamp(log: &Log, who: Who, new_epoch: bool) -> Option<Stamp> {
    let (id, transactional) = match who {
        Who::Nobody => return None,
        Who::Producer(id) => (id, false),
        Who::Transaction(id) => (id, true),
    };
    let producers = log.producers();
    let known = producers.iter().find(|(known, _)| known.0 == id);
    let (epoch, sequence) = match known {
        // A producer that nobody knows may come with any sequence.
        None => (0, if id == 2 { i32::MAX - 2 } else { 0 }),
        Some((_, known)) if new_epoch => (known.epoch + 1, 0),
        Some((_, known)) => (
            known.epoch,
            known
                .batches
                .back()
                .map_or(0, |last| increment_sequence(last.last_sequence, 1)),
        ),
    };
    Some(Stamp {
        id,
        epoch,
        sequence,
        transactional,
    })
}

fn batch_options(stamp: Option<Stamp>, codec: Codec) -> BatchOptions {
    let mut options = BatchOptions {
        codec,
        ..BatchOptions::default()
    };
    if let Some(stamp) = stamp {
        options.producer_id = ProducerId(stamp.id);
        options.producer_epoch = stamp.epoch;
        options.base_sequence = stamp.sequence;
        options.transactional = stamp.transactional;
    }
    options
}

fn ready_batch(records: &[Record], stamp: Option<Stamp>, codec: Codec) -> Vec<u8> {
    let mut builder = builder_of(records);
    builder
        .finish(&batch_options(stamp, codec))
        .unwrap()
        .to_vec()
}

fn stored(
    base: i64,
    records: &[Record],
    epoch: i32,
    append_time: TimestampMs,
    stamp: Option<Stamp>,
    append: u64,
) -> Stored {
    let records: Vec<Record> = records
        .iter()
        .map(|record| Record {
            epoch,
            timestamp: if append_time.is_some() {
                append_time.0
            } else {
                record.timestamp
            },
            ..record.clone()
        })
        .collect();
    Stored {
        base,
        last: base + i64::try_from(records.len()).unwrap() - 1,
        max_timestamp: records.iter().map(|r| r.timestamp).max().unwrap(),
        records,
        epoch,
        stamp,
        marker: None,
        append,
    }
}

fn note_synced(model: &mut Model, durability: WriteDurability) {
    if durability == WriteDurability::Synced {
        model.durable = model.batches.len();
    }
}

fn append(
    log: &Log,
    model: &mut Model,
    records: &[Record],
    stamp: Option<Stamp>,
    is_ready: bool,
    options: &AppendOptions,
) -> Done {
    let codec = options.codec.unwrap();
    let result = if is_ready {
        log.append_batches(&ready_batch(records, stamp, codec), options)
    } else {
        let options = AppendOptions {
            producer: stamp.map(|stamp| ProducerStamp {
                id: ProducerId(stamp.id),
                epoch: stamp.epoch,
                base_sequence: stamp.sequence,
                is_transactional: stamp.transactional,
            }),
            ..*options
        };
        log.append(&mut builder_of(records), &options)
    };
    let result = match result {
        Err(e) if e.kind() == ErrorKind::RecordListTooLarge => return Ok("refused".to_owned()),
        other => other?,
    };
    if result.first_offset.0 != model.end {
        return Err(wrong(format!("the append got {result:?}")));
    }
    model.appends += 1;
    let epoch = options.leader_epoch.unwrap().0;
    let batch = stored(
        model.end,
        records,
        epoch,
        result.log_append_time,
        stamp,
        model.appends,
    );
    let told = format!("{}..{} epoch {epoch} {stamp:?}", batch.base, batch.last);
    model.push(batch);
    note_synced(model, options.durability);
    Ok(told)
}

/// What the marker of a transaction says.
fn marker_of(epoch: i16, coordinator_epoch: i32, end: End) -> (Stamp, Marker) {
    let stamp = Stamp {
        id: end.id,
        epoch: if epoch < 0 {
            0
        } else {
            epoch + i16::from(end.raises_epoch)
        },
        sequence: -1,
        transactional: true,
    };
    let marker = Marker {
        commit: end.commit,
        coordinator_epoch: coordinator_epoch.max(0) + i32::from(end.new_coordinator),
    };
    (stamp, marker)
}

fn append_end(log: &Log, model: &mut Model, end: End, durability: WriteDurability) -> Done {
    let producers = log.producers();
    let known = producers.iter().find(|(known, _)| known.0 == end.id);
    let (stamp, marker) = marker_of(
        known.map_or(-1, |(_, p)| p.epoch),
        known.map_or(-1, |(_, p)| p.coordinator_epoch),
        end,
    );
    let epoch = next_epoch(log, model, false);
    let options = AppendOptions {
        leader_epoch: Some(LeaderEpoch(epoch)),
        txn_version: Some(if end.raises_epoch { 2 } else { 1 }),
        durability,
        ..AppendOptions::default()
    };
    let marker_to_write = TxnMarker {
        producer_id: ProducerId(stamp.id),
        producer_epoch: stamp.epoch,
        commit: marker.commit,
        coordinator_epoch: marker.coordinator_epoch,
    };
    let result = log.append_marker(&marker_to_write, &options)?;
    if result.first_offset.0 != model.end || result.last_offset.0 != model.end {
        return Err(wrong(format!("the marker got {result:?}")));
    }
    model.appends += 1;
    let told = format!("{end:?} at {}", model.end);
    model.push(Stored {
        base: model.end,
        last: model.end,
        records: Vec::new(),
        epoch,
        max_timestamp: result.max_timestamp.0,
        stamp: Some(stamp),
        marker: Some(marker),
        append: model.appends,
    });
    note_synced(model, durability);
    Ok(told)
}

/// The batches of a follower's append, as their leader has them.
fn follow(
    log: &Log,
    model: &mut Model,
    parts: &[Part],
    gap: i64,
    epoch: i32,
    durability: WriteDurability,
) -> Done {
    let mut after = model.clone();
    after.appends += 1;
    let mut bytes = Vec::new();
    let mut base = model.end + gap;
    for part in parts {
        let state = State::of(&after.batches);
        let (batch, mut encoded) = match part {
            Part::Data(who, records, codec) => {
                let stamp = leaders_stamp(&state, *who);
                let none = TimestampMs::NONE;
                let batch = stored(base, records, epoch, none, stamp, after.appends);
                (batch, ready_batch(records, stamp, *codec))
            }
            Part::End(end) => {
                let known = state.producers.get(&end.id);
                let (stamp, marker) = marker_of(
                    known.map_or(-1, |p| p.epoch),
                    known.map_or(-1, |p| p.coordinator_epoch),
                    *end,
                );
                let now = log.now();
                let encoded = control::write_end_marker(
                    &mut BatchBuilder::new(),
                    marker.commit,
                    marker.coordinator_epoch,
                    now,
                    &batch_options(Some(stamp), Codec::None),
                )?
                .to_vec();
                let batch = Stored {
                    base,
                    last: base,
                    records: Vec::new(),
                    epoch,
                    max_timestamp: now.0,
                    stamp: Some(stamp),
                    marker: Some(marker),
                    append: after.appends,
                };
                (batch, encoded)
            }
        };
        klog::format::batch::stamp(&mut encoded, Offset(base), LeaderEpoch(epoch));
        bytes.extend(encoded);
        base = batch.last + 1;
        after.push(batch);
    }
    let options = AppendOptions {
        origin: Origin::Replication,
        leader_epoch: Some(LeaderEpoch(epoch)),
        durability,
        ..AppendOptions::default()
    };
    let result = match log.append_batches(&bytes, &options) {
        Err(e) if e.kind() == ErrorKind::RecordListTooLarge => return Ok("refused".to_owned()),
        other => other?,
    };
    if result.last_offset.0 != after.end - 1 {
        return Err(wrong(format!("the follower's append got {result:?}")));
    }
    let told = format!(
        "followed {}..{} epoch {epoch}: {:?}",
        model.end + gap,
        after.end,
        after.batches[model.batches.len()..]
            .iter()
            .map(|b| (b.stamp, b.marker.map(|m| m.commit)))
            .collect::<Vec<_>>()
    );
    *model = after;
    note_synced(model, durability);
    Ok(told)
}

fn leaders_stamp(state: &State, who: Who) -> Option<Stamp> {
    let (id, transactional) = match who {
        Who::Nobody => return None,
        Who::Producer(id) => (id, false),
        Who::Transaction(id) => (id, true),
    };
    let known = state.producers.get(&id);
    Some(Stamp {
        id,
        epoch: known.map_or(0, |known| known.epoch),
        sequence: known
            .and_then(|known| known.batches.last())
            .map_or(0, |last| {
                increment_sequence(i32::try_from(last[1]).unwrap(), 1)
            }),
        transactional,
    })
}

/// The last batch that a log knows of a producer, if the model has it too.
fn last_of(log: &Log, model: &Model, id: i64) -> Option<Stored> {
    let producers = log.producers();
    let (_, known) = producers.iter().find(|(known, _)| known.0 == id)?;
    let last = known.batches.back()?;
    model
        .batches
        .iter()
        .find(|batch| batch.last == last.last_offset.0)
        .cloned()
}

fn repeat(log: &Log, model: &Model, id: i64) -> Done {
    let Some(last) = last_of(log, model, id) else {
        return Ok("nothing to repeat".to_owned());
    };
    let bytes = ready_batch(&last.records, last.stamp, Codec::None);
    let options = options(
        next_epoch(log, model, false),
        Codec::None,
        WriteDurability::PageCache,
    );
    let result = match log.append_batches(&bytes, &options) {
        Err(e) if e.kind() == ErrorKind::RecordListTooLarge => return Ok("refused".to_owned()),
        other => other?,
    };
    if (
        result.first_offset.0,
        result.last_offset.0,
        result.bytes_appended,
    ) == (last.base, last.last, 0)
    {
        Ok(format!("repeated {}..{}", last.base, last.last))
    } else {
        Err(wrong(format!("the repeated {last:?} got {result:?}")))
    }
}

fn skip_sequence(log: &Log, model: &Model, id: i64) -> Done {
    let Some(last) = last_of(log, model, id) else {
        return Ok("nothing to skip".to_owned());
    };
    let stamp = last.stamp.map(|stamp| Stamp {
        sequence: increment_sequence(stamp.sequence, 100),
        ..stamp
    });
    let bytes = ready_batch(&last.records, stamp, Codec::None);
    let options = options(
        next_epoch(log, model, false),
        Codec::None,
        WriteDurability::PageCache,
    );
    match log.append_batches(&bytes, &options) {
        Err(e)
            if matches!(
                e.kind(),
                ErrorKind::OutOfOrderSequenceNumber | ErrorKind::RecordListTooLarge
            ) =>
        {
            Ok("refused a sequence".to_owned())
        }
        Err(e) => Err(e.into()),
        Ok(result) => Err(wrong(format!("a skipped sequence got {result:?}"))),
    }
}
