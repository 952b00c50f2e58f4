//! Transactions of a log: those that are open, and those that ended but are not replicated yet. Implements state.md 5.

use std::collections::BTreeMap;

use crate::types::{Offset, ProducerId};

/// A transaction that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompletedTxn {
    /// Whose it was.
    pub producer_id: ProducerId,
    /// Its first offset.
    pub first_offset: Offset,
    /// Offset of its marker.
    pub last_offset: Offset,
    /// Whether it was aborted.
    pub is_aborted: bool,
}

/// The transactions that make offsets unstable, by their first offsets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transactions {
    ongoing: BTreeMap<Offset, ProducerId>,
    /// Marker offsets of transactions that ended at or above the high watermark.
    unreplicated: BTreeMap<Offset, Offset>,
}

impl Transactions {
    /// A transaction begins.
    pub fn begin(&mut self, first_offset: Offset, producer_id: ProducerId) {
        self.ongoing.insert(first_offset, producer_id);
    }

    /// The last stable offset that the index stores for a transaction that ends now: the first offset of the earliest
    /// transaction of another producer that is open, else the one after the marker (state.md 5.4).
    #[must_use]
    pub fn last_stable_offset_at(&self, completed: &CompletedTxn) -> Offset {
        let other = self
            .ongoing
            .iter()
            .find(|(_, producer)| **producer != completed.producer_id);
        other.map_or(completed.last_offset.next(), |(first, _)| *first)
    }

    /// A transaction ended: it stays unstable until the high watermark passes its marker.
    pub fn complete(&mut self, completed: &CompletedTxn) {
        self.ongoing.remove(&completed.first_offset);
        self.unreplicated
            .insert(completed.first_offset, completed.last_offset);
    }

    /// The high watermark moved: transactions whose markers lie below it are settled (state.md 5.1).
    pub fn on_high_watermark(&mut self, high_watermark: Offset) {
        self.unreplicated
            .retain(|_, marker| *marker >= high_watermark);
    }

    /// The log starts later: transactions whose markers lie below it are gone.
    pub fn on_log_start(&mut self, log_start: Offset) {
        self.unreplicated.retain(|_, marker| *marker >= log_start);
    }

    /// The start of the oldest transaction that is not settled (state.md 5.2).
    #[must_use]
    pub fn first_unstable_offset(&self) -> Option<Offset> {
        let ongoing = self.ongoing.keys().next();
        let unreplicated = self.unreplicated.keys().next();
        [ongoing, unreplicated].into_iter().flatten().min().copied()
    }

    /// Whether no transaction is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ongoing.is_empty() && self.unreplicated.is_empty()
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.ongoing.clear();
        self.unreplicated.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completed(pid: i64, first: i64, last: i64) -> CompletedTxn {
        CompletedTxn {
            producer_id: ProducerId(pid),
            first_offset: Offset(first),
            last_offset: Offset(last),
            is_aborted: true,
        }
    }

    #[test]
    fn e9_the_last_stable_offset_waits_for_the_high_watermark() {
        let mut txns = Transactions::default();
        txns.begin(Offset(2), ProducerId(1));
        txns.begin(Offset(4), ProducerId(2));
        assert_eq!(txns.first_unstable_offset(), Some(Offset(2)));
        let first = completed(1, 2, 6);
        assert_eq!(txns.last_stable_offset_at(&first), Offset(4));
        txns.complete(&first);
        txns.on_high_watermark(Offset(6));
        assert_eq!(
            txns.first_unstable_offset(),
            Some(Offset(2)),
            "the marker lies at the high watermark"
        );
        txns.on_high_watermark(Offset(7));
        assert_eq!(txns.first_unstable_offset(), Some(Offset(4)));
        let second = completed(2, 4, 7);
        assert_eq!(txns.last_stable_offset_at(&second), Offset(8));
        txns.complete(&second);
        txns.on_high_watermark(Offset(8));
        assert_eq!(txns.first_unstable_offset(), None);
    }
}
