//! Producers as a snapshot has them, until they write again. A log may know a million of them; few of those are heard of again
//! before they expire.

use crate::format::snapshot::{ProducerEntry, StoredEntry};
use crate::types::ProducerId;

/// Entries of a snapshot by rising producer id, in one piece of memory.
#[derive(Clone, Debug, Default)]
pub(super) struct AtRest {
    entries: Vec<StoredEntry>,
    /// How many of them count no more: taking one out of the middle would move all behind it.
    left: usize,
}

impl AtRest {
    /// How many are at rest.
    pub(super) fn len(&self) -> usize {
        self.entries.len() - self.left
    }

    /// Adds one; [`Self::sort`] comes before anything else is asked.
    pub(super) fn push(&mut self, stored: StoredEntry) {
        self.entries.push(stored);
    }

    /// Puts those that were added in order. Of several of one producer the last counts.
    pub(super) fn sort(&mut self) {
        if !self
            .entries
            .is_sorted_by(|a, b| a.producer_id() < b.producer_id())
        {
            self.entries.sort_by_key(StoredEntry::producer_id);
            self.entries.dedup_by(|later, kept| {
                let is_same = later.producer_id() == kept.producer_id();
                if is_same {
                    *kept = *later;
                }
                is_same
            });
        }
        self.entries.shrink_to_fit();
    }

    fn find(&self, id: ProducerId) -> Option<usize> {
        self.entries
            .binary_search_by_key(&id, StoredEntry::producer_id)
            .ok()
    }

    /// One of them; also one that has left.
    pub(super) fn get(&self, id: ProducerId) -> Option<&StoredEntry> {
        self.entries.get(self.find(id)?)
    }

    /// Those with ids above one; also those that have left.
    pub(super) fn after(&self, id: Option<ProducerId>) -> &[StoredEntry] {
        let from = id.map_or(0, |id| {
            self.entries
                .partition_point(|stored| stored.producer_id() <= id)
        });
        self.entries.get(from..).unwrap_or_default()
    }

    /// One leaves, once: from now on somebody else has what is known of it.
    pub(super) fn leave(&mut self, id: ProducerId) -> Option<ProducerEntry> {
        let entry = self.get(id)?.entry();
        self.left += 1;
        Some(entry)
    }

    /// Keeps some; those that have left are none of them.
    pub(super) fn retain(&mut self, keep: impl FnMut(&StoredEntry) -> bool) {
        self.entries.retain(keep);
        self.left = 0;
        self.entries.shrink_to_fit();
    }
}
