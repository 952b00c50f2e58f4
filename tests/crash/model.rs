//! What a log must hold and tell, by the simplest account of it: the list of its batches, from which everything else
//! follows (state.md 4, 5, 7, 8).

use std::collections::BTreeMap;

use super::Record;
use klog::format::batch::{decrement_sequence, increment_sequence};
use klog::format::uuid::Uuid;

/// Whose batch it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) id: i64,
    pub(crate) epoch: i16,
    pub(crate) sequence: i32,
    pub(crate) transactional: bool,
}

/// The end of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Marker {
    pub(crate) commit: bool,
    pub(crate) coordinator_epoch: i32,
}

/// A batch as a log holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) base: i64,
    pub(crate) last: i64,
    /// Its records; those of a marker are not told.
    pub(crate) records: Vec<Record>,
    pub(crate) epoch: i32,
    pub(crate) max_timestamp: i64,
    pub(crate) stamp: Option<Stamp>,
    pub(crate) marker: Option<Marker>,
    /// Number of the append that brought it.
    pub(crate) append: u64,
}

/// What is known of a log.
#[derive(Clone, Debug, Default)]
pub(crate) struct Model {
    pub(crate) topic: &'static str,
    pub(crate) batches: Vec<Stored>,
    /// So many batches are below a flush that returned.
    pub(crate) durable: usize,
    /// Whether the log was flushed, or its directory opened, since it was made: before that a power cut may take it whole.
    pub(crate) is_named: bool,
    pub(crate) start: i64,
    pub(crate) end: i64,
    /// The largest start that it ever had: what lies below may be forgotten.
    pub(crate) max_start: i64,
    /// How often everything was dropped.
    pub(crate) generation: u32,
    /// Whether it was ever cut: epochs of batches that went may stay.
    pub(crate) was_cut: bool,
    /// Where the first segment begins.
    pub(crate) first_base: i64,
    /// The high watermark, if it is the caller's.
    pub(crate) high_watermark: Option<i64>,
    pub(crate) topic_id: Option<Uuid>,
    /// Topic ids that failed calls may have stored all the same.
    pub(crate) doubtful_ids: Vec<Uuid>,
    pub(crate) appends: u64,
    /// Where a segment may begin that was made for an append which then failed.
    pub(crate) rolled_to: i64,
    /// What the first call that failed may have left all the same.
    pub(crate) doubt: Option<Doubt>,
}

/// What a failed call may have left.
#[derive(Clone, Debug)]
pub(crate) enum Doubt {
    /// These batches, behind the others.
    Appended(Vec<Stored>),
    /// The log as it would be, or something between.
    Changed(Box<Model>),
}

/// A producer as a replay of the log gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) epoch: i16,
    pub(crate) coordinator_epoch: i32,
    pub(crate) last_timestamp: i64,
    pub(crate) open_from: Option<i64>,
    /// First and last sequence, first and last offset of its last five batches.
    pub(crate) batches: Vec<[i64; 4]>,
}

/// A transaction that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) id: i64,
    pub(crate) first: i64,
    pub(crate) last: i64,
    pub(crate) commit: bool,
    /// The last stable offsets that the index may say: batch by batch, and by the whole append (state.md 5.4).
    pub(crate) stable: [i64; 2],
}

/// What follows from a list of batches.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    pub(crate) producers: BTreeMap<i64, Known>,
    pub(crate) ended: Vec<Ended>,
}

impl State {
    pub(crate) fn of(batches: &[Stored]) -> Self {
        let mut state = Self::default();
        for (i, batch) in batches.iter().enumerate() {
            state.take_in(batch, &batches[i + 1..]);
        }
        state
    }

    fn take_in(&mut self, batch: &Stored, behind: &[Stored]) {
        let Some(stamp) = batch.stamp else { return };
        let known = self.producers.entry(stamp.id).or_insert(Known {
            epoch: -1,
            coordinator_epoch: -1,
            last_timestamp: -1,
            open_from: None,
            batches: Vec::new(),
        });
        if known.epoch != stamp.epoch {
            known.epoch = stamp.epoch;
            known.batches.clear();
        }
        known.last_timestamp = batch.max_timestamp;
        let Some(marker) = batch.marker else {
            let delta = i32::try_from(batch.last - batch.base).unwrap();
            let last_sequence = increment_sequence(stamp.sequence, delta);
            assert_eq!(decrement_sequence(last_sequence, delta), stamp.sequence);
            known.batches.push([
                stamp.sequence.into(),
                last_sequence.into(),
                batch.base,
                batch.last,
            ]);
            if known.batches.len() > 5 {
                known.batches.remove(0);
            }
            if stamp.transactional {
                known.open_from.get_or_insert(batch.base);
            }
            return;
        };
        known.coordinator_epoch = marker.coordinator_epoch;
        let Some(first) = known.open_from.take() else {
            return;
        };
        let open = self
            .producers
            .iter()
            .filter(|(id, _)| **id != stamp.id)
            .filter_map(|(_, known)| known.open_from)
            .min();
        let begun_later = behind
            .iter()
            .take_while(|later| later.append == batch.append)
            .find(|later| {
                later
                    .stamp
                    .is_some_and(|s| s.transactional && s.id != stamp.id)
                    && later.marker.is_none()
            })
            .map(|later| later.base);
        let stable = open.unwrap_or(batch.base + 1);
        self.ended.push(Ended {
            id: stamp.id,
            first,
            last: batch.base,
            commit: marker.commit,
            stable: [stable, open.or(begun_later).unwrap_or(stable)],
        });
    }

    /// Where the oldest open transaction begins.
    pub(crate) fn first_open(&self) -> Option<i64> {
        self.producers.values().filter_map(|p| p.open_from).min()
    }

    /// Between these the last stable offset lies: transactions that ended at or above the high watermark count unless it was
    /// above them once.
    pub(crate) fn stable(&self, high_watermark: i64, start: i64) -> (i64, i64) {
        let bound = |first: Option<i64>| {
            first.map_or(high_watermark, |first| first.max(start).min(high_watermark))
        };
        let unsettled = self.ended.iter().filter(|e| e.last >= high_watermark);
        let low = unsettled.map(|e| e.first).chain(self.first_open()).min();
        (bound(low), bound(self.first_open()))
    }
}

impl Model {
    pub(crate) fn new(topic: &'static str, topic_id: Option<Uuid>, is_manual: bool) -> Self {
        Self {
            topic,
            topic_id,
            high_watermark: is_manual.then_some(0),
            ..Self::default()
        }
    }

    /// How many batches lie wholly below an offset.
    pub(crate) fn below(&self, offset: i64) -> usize {
        self.batches.partition_point(|batch| batch.last < offset)
    }

    pub(crate) fn high_watermark(&self) -> i64 {
        self.high_watermark.unwrap_or(self.end)
    }

    /// Everything below this offset is durable.
    pub(crate) fn flushed(&mut self, upto: i64) {
        self.durable = self.durable.max(self.below(upto));
        self.is_named |= upto > 0;
    }

    /// Everything in it is durable.
    pub(crate) fn flushed_whole(&mut self) {
        self.durable = self.batches.len();
        self.is_named = true;
    }

    pub(crate) fn state(&self) -> State {
        State::of(&self.batches)
    }

    pub(crate) fn push(&mut self, batch: Stored) {
        self.end = batch.last + 1;
        self.batches.push(batch);
    }

    /// The log was cut, or a crash left so much of it.
    pub(crate) fn cut(&mut self, end: i64) {
        let kept = self.below(end);
        self.was_cut = true;
        self.is_named = true;
        self.batches.truncate(kept);
        self.durable = self.durable.min(kept);
        self.end = end;
        self.start = self.start.min(end);
        self.high_watermark = self.high_watermark.map(|hw| hw.min(end));
    }

    /// The log was dropped; it goes on at `end`.
    pub(crate) fn begin_anew(&mut self, end: i64, start: i64) {
        self.batches.clear();
        self.durable = 0;
        self.is_named = true;
        (self.start, self.end, self.first_base) = (start, end, end);
        self.max_start = self.max_start.max(start).max(end);
        self.generation += 1;
        self.high_watermark = self.high_watermark.map(|_| end.max(start));
    }

    /// The epochs that the batches make, while nothing was ever dropped at the front.
    pub(crate) fn epochs(batches: &[Stored]) -> Vec<(i32, i64)> {
        let mut epochs: Vec<(i32, i64)> = Vec::new();
        for batch in batches {
            if epochs.last().is_none_or(|(last, _)| *last != batch.epoch) {
                epochs.push((batch.epoch, batch.base));
            }
        }
        epochs
    }

    /// Records with their offsets, from `start` to before the batch that holds `end`.
    pub(crate) fn records(batches: &[Stored], start: i64, end: i64) -> Vec<(i64, &Record)> {
        batches
            .iter()
            .filter(|batch| batch.last < end)
            .flat_map(|batch| (batch.base..).zip(&batch.records))
            .filter(|(offset, _)| *offset >= start)
            .collect()
    }

    /// As [`Self::records`], without those of aborted transactions.
    pub(crate) fn committed(batches: &[Stored], start: i64, end: i64) -> Vec<(i64, &Record)> {
        let ended = State::of(batches).ended;
        let is_aborted = |batch: &Stored| {
            batch.stamp.is_some_and(|stamp| {
                stamp.transactional
                    && ended.iter().any(|e| {
                        !e.commit && e.id == stamp.id && (e.first..=e.last).contains(&batch.base)
                    })
            })
        };
        batches
            .iter()
            .filter(|batch| batch.last < end && !is_aborted(batch))
            .flat_map(|batch| (batch.base..).zip(&batch.records))
            .filter(|(offset, _)| *offset >= start)
            .collect()
    }
}

/// What ended a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    Kill,
    PowerCut,
}

impl After {
    /// How many batches of a log must be there.
    pub(crate) fn promised(self, model: &Model) -> usize {
        match self {
            Self::Kill => model.batches.len(),
            Self::PowerCut => model.durable,
        }
    }
}

/// What must be true of a log when its directory is opened after a crash.
#[derive(Clone, Debug)]
pub(crate) struct Expected {
    pub(crate) topic: &'static str,
    /// Everything that was ever handed to an append of this log, and neither cut nor lost in an earlier crash.
    pub(crate) batches: Vec<Stored>,
    /// So many of them must be there.
    pub(crate) at_least: usize,
    /// No more than so many may be there.
    pub(crate) at_most: usize,
    /// Where it may start.
    pub(crate) starts: Vec<i64>,
    pub(crate) max_start: i64,
    pub(crate) was_cut: bool,
    /// It does not end above.
    pub(crate) end_at_most: i64,
    /// It may be empty and go on here: everything was being dropped.
    pub(crate) anew: Option<i64>,
    pub(crate) is_manual: bool,
    /// Whether the log itself must be there.
    pub(crate) exists: bool,
    /// The topic ids that it may have.
    pub(crate) topic_ids: Vec<Option<Uuid>>,
    pub(crate) generation: u32,
}

impl Expected {
    /// What must be there in the middle of a change: at least what is promised before it, unless it is cut; at most what
    /// either has.
    pub(crate) fn between(before: Option<&Model>, now: &Model, after: After) -> Self {
        let from = before.unwrap_or(now);
        let is_anew = before.is_some_and(|before| before.generation != now.generation);
        let longer = if is_anew || from.batches.len() > now.batches.len() {
            from
        } else {
            now
        };
        let promised = before.map_or(0, |before| after.promised(before));
        let mut topic_ids = vec![before.and_then(|model| model.topic_id), now.topic_id];
        if now.topic_id.is_none() {
            topic_ids.extend(now.doubtful_ids.iter().copied().map(Some));
        }
        let mut starts = vec![from.start, now.start];
        if is_anew {
            // Empty, and not yet where it goes on; or where the segment there begins.
            starts.extend([now.end, from.start.min(now.end)]);
        }
        starts.extend([from, now].map(|model| model.start.max(model.first_base)));
        Self {
            topic: now.topic,
            batches: longer.batches.clone(),
            at_least: if is_anew {
                0
            } else {
                promised.min(now.batches.len())
            },
            at_most: longer.batches.len(),
            starts,
            max_start: from.max_start.max(now.max_start),
            was_cut: from.was_cut || now.was_cut,
            end_at_most: from.end.max(now.end).max(now.rolled_to),
            anew: is_anew.then_some(now.end),
            is_manual: now.high_watermark.is_some(),
            exists: before.is_some_and(|before| after == After::Kill || before.is_named),
            topic_ids,
            generation: now.generation,
        }
    }

    /// As [`Self::between`] the log as it is and what a failed call may have left.
    pub(crate) fn in_doubt(model: &Model, after: After) -> Self {
        match &model.doubt {
            None => Self::between(Some(model), model, after),
            Some(Doubt::Appended(batches)) => {
                let mut longer = model.clone();
                batches.iter().cloned().for_each(|batch| longer.push(batch));
                Self::between(Some(model), &longer, after)
            }
            Some(Doubt::Changed(changed)) => Self::between(Some(model), changed, after),
        }
    }

    /// All of a log as it is.
    pub(crate) fn exactly(model: &Model) -> Self {
        Self::between(Some(model), model, After::Kill)
    }
}
