//! What a pass did, in numbers. Implements cleaner.md 11.1, c-abi.md 3.2.14.

use std::ops::AddAssign;

use super::filter::{Fate, Outcome, Retention};
use crate::types::Offset;

/// What was written in place of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchFate {
    /// Nothing, and its records were not looked at.
    DeletedUnread,
    /// Nothing: none of its records stays.
    Deleted,
    /// A batch without records, for its producer.
    EmptyForProducer,
    /// A batch without records, as the last one below the high watermark.
    EmptyAtHighWatermark,
    /// Its own bytes.
    Verbatim,
    /// A new batch.
    Rewritten,
    /// A new batch that has a delete horizon.
    RewrittenWithHorizon,
}

impl BatchFate {
    /// Every fate, in the order of their numbers.
    pub const ALL: [Self; 7] = [
        Self::DeletedUnread,
        Self::Deleted,
        Self::EmptyForProducer,
        Self::EmptyAtHighWatermark,
        Self::Verbatim,
        Self::Rewritten,
        Self::RewrittenWithHorizon,
    ];

    pub(super) const fn of(outcome: Outcome, retention: Retention) -> Self {
        match (outcome, retention) {
            (Outcome::Nothing, Retention::Delete) => Self::DeletedUnread,
            (Outcome::Nothing, _) => Self::Deleted,
            (Outcome::Empty, Retention::RetainEmptyAtHighWatermark) => Self::EmptyAtHighWatermark,
            (Outcome::Empty, _) => Self::EmptyForProducer,
            (Outcome::Verbatim, _) => Self::Verbatim,
            (Outcome::Rewritten(None), _) => Self::Rewritten,
            (Outcome::Rewritten(Some(_)), _) => Self::RewrittenWithHorizon,
        }
    }
}

/// Counts of a pass. Those of the second phase, in which segments are written, are Kafka's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Stats {
    /// Bytes of the batches that were mapped.
    pub mapped_bytes: u64,
    /// Records, and control batches, that were mapped or passed over.
    pub mapped_records: u64,
    /// Bytes of all batches that were looked at.
    pub read_bytes: u64,
    /// Their records, but for those of batches that went unread.
    pub read_records: u64,
    /// Bytes of the batches in their place.
    pub written_bytes: u64,
    /// How many slots the offset map has room for.
    pub map_slots: u64,
    /// How many of them keys took.
    pub map_keys: u64,
    /// How long the pass was held up so that it kept below a rate.
    pub throttled_ms: u64,
    records: [u64; Fate::ALL.len()],
    batches: [u64; BatchFate::ALL.len()],
}

impl Stats {
    /// How many records met a fate.
    #[must_use]
    pub fn records(&self, fate: Fate) -> u64 {
        self.records.get(fate as usize).copied().unwrap_or(0)
    }

    /// How many batches met a fate.
    #[must_use]
    pub fn batches(&self, fate: BatchFate) -> u64 {
        self.batches.get(fate as usize).copied().unwrap_or(0)
    }

    /// Records that stay.
    #[must_use]
    pub fn kept_records(&self) -> u64 {
        let kept = Fate::ALL.into_iter().filter(|fate| fate.keeps());
        kept.map(|fate| self.records(fate)).sum()
    }

    /// Counts what became of so many records.
    #[inline]
    pub(super) fn count(&mut self, fate: Fate, records: u64) {
        if let Some(counter) = self.records.get_mut(fate as usize) {
            *counter += records;
        }
    }

    /// Counts what became of a batch.
    pub(super) fn count_batch(&mut self, fate: BatchFate) {
        if let Some(counter) = self.batches.get_mut(fate as usize) {
            *counter += 1;
        }
    }
}

impl AddAssign for Stats {
    fn add_assign(&mut self, other: Self) {
        self.mapped_bytes += other.mapped_bytes;
        self.mapped_records += other.mapped_records;
        self.read_bytes += other.read_bytes;
        self.read_records += other.read_records;
        self.written_bytes += other.written_bytes;
        self.map_slots = self.map_slots.max(other.map_slots);
        self.map_keys = self.map_keys.max(other.map_keys);
        self.throttled_ms += other.throttled_ms;
        for (own, more) in self.records.iter_mut().zip(other.records) {
            *own += more;
        }
        for (own, more) in self.batches.iter_mut().zip(other.batches) {
            *own += more;
        }
    }
}

/// What a pass did to a log, or would do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cleaned {
    /// Where the dirty part begins now.
    pub end: Offset,
    /// The counts.
    pub stats: Stats,
}
