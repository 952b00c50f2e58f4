//! One of the two logs that a stream runs on, and what it answers.

use std::collections::BTreeMap;
use std::path::Path;

use super::op::Op;

/// A log under test. A side is open between [`Side::open`] and [`Side::close`] or [`Side::kill`].
pub(crate) trait Side {
    /// Opens the log `t-0` of a directory, or makes it.
    fn open(&mut self, dir: &Path, opening: &Opening) -> Result<(), Refusal>;
    /// Does one step; not one that ends the log.
    fn apply(&mut self, op: &Op) -> Answer;
    /// The log as it is now.
    fn state(&mut self) -> State;
    /// Where the batch begins that holds an offset, or the first one behind it, or the log end; none outside of the log.
    fn batch_base(&mut self, offset: i64) -> Option<i64>;
    /// Takes back the leader epochs that a refused append left.
    fn forget_epochs(&mut self, before: &State);
    /// Closes in order.
    fn close(&mut self);
    /// Lets go of everything unflushed, like a killed process.
    fn kill(&mut self);
    /// The canonical text of the log as a load of this directory finds it.
    fn dump(&mut self, dir: &Path) -> String;
}

/// How a log is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Opening {
    pub(crate) clean: bool,
    /// As checkpointed.
    pub(crate) recovery_point: i64,
    /// As checkpointed.
    pub(crate) start: i64,
    pub(crate) now: i64,
}

/// What a step gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Appended(Appended),
    Text(String),
    Slice(Slice),
    Refused(Refusal),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Appended {
    pub(crate) first: i64,
    pub(crate) last: i64,
    pub(crate) append_time: i64,
    pub(crate) max_timestamp: i64,
    pub(crate) start: i64,
}

/// What a read gave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Slice {
    /// The last batch may be cut.
    pub(crate) bytes: Vec<u8>,
    /// Segment and position of the first batch, or of where it will be.
    pub(crate) place: (i64, i64),
    /// Whether the first batch has more bytes than were allowed.
    pub(crate) is_first_larger: bool,
    /// Producer and first offset of aborted transactions.
    pub(crate) aborted: Vec<(i64, i64)>,
}

/// An error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// Kafka's name of it, such as `OFFSET_OUT_OF_RANGE`; klog's without `KLOG_ERR_`.
    pub(crate) name: String,
    /// The class of Kafka's exception.
    pub(crate) class: String,
    /// The rejected records.
    pub(crate) records: Vec<i64>,
    /// All of it, for people.
    pub(crate) text: String,
}

/// All that can be told of a log between two steps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) start: i64,
    pub(crate) end: i64,
    pub(crate) high_watermark: i64,
    pub(crate) stable: i64,
    pub(crate) recovery_point: i64,
    /// Bases and sizes.
    pub(crate) segments: Vec<(i64, u64)>,
    /// Epochs and where they begin.
    pub(crate) epochs: Vec<(i32, i64)>,
    pub(crate) producers: BTreeMap<i64, Producer>,
    /// `BASE PRODUCER FIRST LAST LSO`.
    pub(crate) aborted: Vec<[i64; 5]>,
    pub(crate) snapshots: Vec<i64>,
}

/// What a log knows of a producer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Producer {
    pub(crate) epoch: i16,
    pub(crate) coordinator_epoch: i32,
    pub(crate) timestamp: i64,
    pub(crate) txn_first: Option<i64>,
    pub(crate) batches: Vec<ProducerBatch>,
}

/// One of the last batches of a producer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProducerBatch {
    pub(crate) first_sequence: i32,
    pub(crate) last_sequence: i32,
    pub(crate) first: i64,
    pub(crate) last: i64,
    pub(crate) timestamp: i64,
}

impl State {
    /// The latest leader epoch.
    pub(crate) fn latest_epoch(&self) -> Option<i32> {
        self.epochs.last().map(|(epoch, _)| *epoch)
    }

    /// The producers with an open transaction.
    pub(crate) fn open_transactions(&self) -> impl Iterator<Item = i64> {
        let is_open = |(_, producer): &(&i64, &Producer)| producer.txn_first.is_some();
        self.producers.iter().filter(is_open).map(|(id, _)| *id)
    }

    /// Bytes of the last segment.
    pub(crate) fn active_size(&self) -> u64 {
        self.segments.last().map_or(0, |(_, size)| *size)
    }
}
