//! Calls that change a log, drawn at random, made, and noted in its model. What depends on the log is chosen when the call
//! is made, so that a script can be run again on a log that went another way.

use std::sync::Arc;

use super::appends::{
    append, append_end, follow, followed, marker_batch, next_end, next_epoch, next_stamp, options,
    repeat, skip_sequence, stored,
};
use super::model::{Doubt, Model};
use super::{Random, Record, partition};
use klog::format::codec::Codec;
use klog::log::{Log, WriteDurability};
use klog::manager::Manager;
use klog::types::{Offset, TimestampMs};

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

pub(super) type Done = Result<String, Failure>;

pub(super) fn wrong(what: impl Into<String>) -> Failure {
    Failure::Wrong(what.into())
}

/// What kinds of changes a history has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is there or not, whatever the others are"
)]
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
        let attempted = self.attempted(&log, model);
        let before = (model.appends, model.start, model.end);
        let done = match self.make_on(manager, &log, model) {
            Err(failure) => {
                if let Self::Follow { gap, .. } = self {
                    model.rolled_to = model.rolled_to.max(model.end + gap);
                }
                if let Some(Doubt::Appended(batches)) = &attempted
                    && batches
                        .last()
                        .is_some_and(|last| last.last + 1 == log.end_offset().0)
                {
                    // It is in the log, and could not be made durable.
                    batches.iter().cloned().for_each(|batch| model.push(batch));
                } else if model.doubt.is_none() {
                    model.doubt = attempted;
                }
                return Err(failure);
            }
            done => done?,
        };
        if (model.appends, model.start, model.end) != before {
            model.doubt = None;
        }
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
                let upto = delete_target(*x, model);
                let start = manager.delete_records(log, Offset(upto))?.0;
                model.start = model.start.max(upto);
                model.is_named |= upto > 0;
                model.max_start = model.max_start.max(model.start);
                if start == model.start {
                    Ok(format!("deleted below {upto}"))
                } else {
                    Err(wrong(format!("deleting below {upto} gave {start}")))
                }
            }
            Self::TruncateTo(x) => {
                let target = cut_target(*x, model);
                let after = after_cut(log, model, target);
                let was_cut = manager.truncate_to(log, Offset(target))?;
                if was_cut != (target < model.end) {
                    return Err(wrong(format!("cut at {target}: {was_cut}")));
                }
                *model = after;
                Ok(format!("cut at {target}"))
            }
            Self::TruncateFully(x) => {
                let (target, start) = drop_target(*x, model);
                manager.truncate_fully(log, Offset(target), start.map(Offset))?;
                model.begin_anew(target, start.unwrap_or(target));
                Ok(format!("dropped, goes on at {target}, starts at {start:?}"))
            }
        }
    }

    /// Whether it takes away what is at the end.
    pub(crate) fn is_cut(&self) -> bool {
        matches!(self, Self::TruncateTo(_) | Self::TruncateFully(_))
    }

    /// What the call may leave if it fails.
    fn attempted(&self, log: &Log, model: &Model) -> Option<Doubt> {
        let mut after = model.clone();
        match self {
            Self::Append {
                who,
                records,
                new_producer_epoch,
                new_epoch,
                ..
            } => {
                let stamp = next_stamp(log, *who, *new_producer_epoch);
                let epoch = next_epoch(log, model, *new_epoch);
                let none = TimestampMs::NONE;
                let batch = stored(model.end, records, epoch, none, stamp, model.appends + 1);
                Some(Doubt::Appended(vec![batch]))
            }
            Self::End(end, _) => {
                let (stamp, marker) = next_end(log, *end);
                let epoch = next_epoch(log, model, false);
                let batch = marker_batch(model, model.end, epoch, log.now().0, stamp, marker);
                Some(Doubt::Appended(vec![batch]))
            }
            Self::Follow {
                parts,
                gap,
                new_epoch,
                ..
            } => {
                let epoch = next_epoch(log, model, *new_epoch);
                let (after, _) = followed(log, model, parts, *gap, epoch);
                let batches = after.batches[model.batches.len()..].to_vec();
                Some(Doubt::Appended(batches))
            }
            Self::Repeat(_) | Self::SkipSequence(_) | Self::MoveHighWatermark(_) => None,
            Self::DeleteRecords(x) => {
                after.start = after.start.max(delete_target(*x, model));
                after.max_start = after.max_start.max(after.start);
                Some(Doubt::Changed(Box::new(after)))
            }
            Self::TruncateTo(x) => {
                let after = after_cut(log, model, cut_target(*x, model));
                Some(Doubt::Changed(Box::new(after)))
            }
            Self::TruncateFully(x) => {
                let (target, start) = drop_target(*x, model);
                after.begin_anew(target, start.unwrap_or(target));
                Some(Doubt::Changed(Box::new(after)))
            }
        }
    }
}

fn delete_target(x: u64, model: &Model) -> i64 {
    within(x, model.start, model.high_watermark() + 1)
}

fn cut_target(x: u64, model: &Model) -> i64 {
    within(x, (model.start - 2).max(0), model.end + 2)
}

fn drop_target(x: u64, model: &Model) -> (i64, Option<i64>) {
    let target = within(x / 8, (model.start - 3).max(0), model.end + 10);
    let starts = [None, None, Some((target - 2).max(0)), Some(target)];
    (target, starts[usize::try_from(x % 4).unwrap()])
}

fn after_cut(log: &Log, model: &Model, target: i64) -> Model {
    let mut after = model.clone();
    let first_base = log.segments().first().map_or(0, |s| s.base_offset().0);
    if target < model.end && target < first_base {
        after.begin_anew(target, target);
    } else if target < model.end {
        after.cut(target);
    }
    after
}

/// An offset of `[low, high)`.
fn within(x: u64, low: i64, high: i64) -> i64 {
    low + i64::try_from(x % u64::try_from(high - low).unwrap()).unwrap()
}
