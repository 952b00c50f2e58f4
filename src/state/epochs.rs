//! The leader epochs of a log and their first offsets. Implements state.md 7.
//!
//! Invariant: epochs and start offsets both rise strictly.

use crate::format::epoch_checkpoint::EpochEntry;
use crate::types::{LeaderEpoch, Offset};

/// The cache that Kafka keeps in `leader-epoch-checkpoint`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EpochCache {
    entries: Vec<EpochEntry>,
}

/// Whether a call changed the cache, so that its file must be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Change {
    /// The file on disk still says the same.
    None,
    /// The file is out of date.
    Changed,
}

impl Change {
    fn of(changed: bool) -> Self {
        if changed { Self::Changed } else { Self::None }
    }

    /// Whether the file is out of date.
    #[must_use]
    pub fn is_change(self) -> bool {
        self == Self::Changed
    }
}

impl EpochCache {
    /// The cache that the lines of a file make: they count as assignments one after the other, so that a conflicting
    /// line drops earlier ones (records.md 10.4).
    #[must_use]
    pub fn from_lines(lines: &[EpochEntry]) -> Self {
        let mut cache = Self::default();
        for line in lines {
            let _ = cache.assign(line.epoch, line.start_offset);
        }
        cache
    }

    /// All entries, rising.
    #[must_use]
    pub fn entries(&self) -> &[EpochEntry] {
        &self.entries
    }

    /// Whether no epoch is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The latest epoch.
    #[must_use]
    pub fn latest(&self) -> Option<LeaderEpoch> {
        self.entries.last().map(|e| e.epoch)
    }

    /// The first entry.
    #[must_use]
    pub fn earliest(&self) -> Option<EpochEntry> {
        self.entries.first().copied()
    }

    /// Notes that `epoch` wrote from `start_offset` on (state.md 7.2). Entries that contradict it go. Both are at
    /// least 0.
    pub fn assign(&mut self, epoch: LeaderEpoch, start_offset: Offset) -> Change {
        debug_assert!(
            epoch.0 >= 0 && start_offset.0 >= 0,
            "no epoch and no offset is negative"
        );
        if self
            .entries
            .last()
            .is_some_and(|last| last.epoch == epoch && start_offset >= last.start_offset)
        {
            return Change::None;
        }
        while self
            .entries
            .last()
            .is_some_and(|last| last.epoch >= epoch || last.start_offset >= start_offset)
        {
            self.entries.pop();
        }
        self.entries.push(EpochEntry {
            epoch,
            start_offset,
        });
        Change::Changed
    }

    /// As recovery does: only an epoch above the latest counts (state.md 7.4). What comes from a file that nobody checked
    /// may have a negative offset, which is none.
    pub fn assign_recovered(&mut self, epoch: LeaderEpoch, start_offset: Offset) -> Change {
        if epoch.0 < 0 || start_offset.0 < 0 || self.latest().is_some_and(|latest| epoch <= latest)
        {
            return Change::None;
        }
        self.assign(epoch, start_offset)
    }

    /// Drops entries that start at `end` or above (state.md 7.6).
    pub fn truncate_from_end(&mut self, end: Offset) -> Change {
        let before = self.entries.len();
        if end.0 >= 0 {
            self.entries.retain(|e| e.start_offset < end);
        }
        Change::of(self.entries.len() != before)
    }

    /// Drops entries that end at or below `start`; the one that holds `start` begins there now (state.md 7.6).
    pub fn truncate_from_start(&mut self, start: Offset) -> Change {
        let kept = self.entries.partition_point(|e| e.start_offset <= start);
        let Some(holder) = kept
            .checked_sub(1)
            .and_then(|i| self.entries.get(i))
            .copied()
        else {
            return Change::None;
        };
        if kept == 1 && holder.start_offset == start {
            return Change::None;
        }
        self.entries.splice(
            ..kept,
            [EpochEntry {
                epoch: holder.epoch,
                start_offset: start,
            }],
        );
        Change::Changed
    }

    /// The epochs of a log whose batches count as written under `latest` where they were under a later one.
    #[must_use]
    pub fn capped(&self, latest: LeaderEpoch) -> Self {
        let capped = |e: &EpochEntry| EpochEntry {
            epoch: e.epoch.min(latest),
            ..*e
        };
        Self::from_lines(&self.entries.iter().map(capped).collect::<Vec<_>>())
    }

    /// Forgets all entries.
    pub fn clear(&mut self) -> Change {
        let had_any = !self.entries.is_empty();
        self.entries.clear();
        Change::of(had_any)
    }

    /// The epoch in which `offset` was written, if the cache reaches back that far (state.md 7.8).
    #[must_use]
    pub fn epoch_for_offset(&self, offset: Offset) -> Option<LeaderEpoch> {
        let above = self.entries.partition_point(|e| e.start_offset <= offset);
        above
            .checked_sub(1)
            .and_then(|i| self.entries.get(i))
            .map(|e| e.epoch)
    }

    /// Where `epoch` ended, with the epoch that the answer is for (state.md 7.5); `None` where Kafka says (-1, -1).
    #[must_use]
    pub fn end_offset_for(
        &self,
        epoch: LeaderEpoch,
        log_end: Offset,
    ) -> Option<(LeaderEpoch, Offset)> {
        if epoch == LeaderEpoch::NONE {
            return None;
        }
        if self.latest() == Some(epoch) {
            return Some((epoch, log_end));
        }
        let above = self.entries.partition_point(|e| e.epoch <= epoch);
        let next = self.entries.get(above)?;
        let found = above
            .checked_sub(1)
            .and_then(|i| self.entries.get(i))
            .map_or(epoch, |e| e.epoch);
        Some((found, next.start_offset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(entries: &[(i32, i64)]) -> EpochCache {
        EpochCache {
            entries: entries
                .iter()
                .map(|&(e, o)| EpochEntry {
                    epoch: LeaderEpoch(e),
                    start_offset: Offset(o),
                })
                .collect(),
        }
    }

    #[test]
    fn later_epochs_become_the_latest_that_is_allowed_from_the_first_of_them_on() {
        let c = cache(&[(0, 0), (2, 5), (4, 9), (7, 12)]);
        for (latest, expected) in [
            (9, c.clone()),
            (7, c.clone()),
            (5, cache(&[(0, 0), (2, 5), (4, 9), (5, 12)])),
            (3, cache(&[(0, 0), (2, 5), (3, 9)])),
            (2, cache(&[(0, 0), (2, 5)])),
            (0, cache(&[(0, 0)])),
        ] {
            assert_eq!(c.capped(LeaderEpoch(latest)), expected, "{latest}");
        }
        assert_eq!(cache(&[(4, 9)]).capped(LeaderEpoch(1)), cache(&[(1, 9)]));
        assert!(EpochCache::default().capped(LeaderEpoch(1)).is_empty());
    }

    #[test]
    fn e15_assignments() {
        let mut c = EpochCache::default();
        let mut assign = |e, o| {
            let _ = c.assign(LeaderEpoch(e), Offset(o));
            c.clone()
        };
        assign(2, 6);
        assert_eq!(assign(2, 7), cache(&[(2, 6)]));
        assert_eq!(assign(2, 5), cache(&[(2, 5)]));
        assign(3, 9);
        assert_eq!(assign(4, 9), cache(&[(2, 5), (4, 9)]));
        assign(6, 12);
        assert_eq!(assign(5, 20), cache(&[(2, 5), (4, 9), (5, 20)]));
        assert_eq!(assign(8, 7), cache(&[(2, 5), (8, 7)]));
        assert_eq!(assign(8, 5), cache(&[(8, 5)]));
        assert_eq!(assign(1, 30), cache(&[(1, 30)]));
    }

    #[test]
    fn e15_end_offsets_and_cuts() {
        let c = cache(&[(2, 5), (4, 10), (5, 20), (9, 30)]);
        let end = |e| {
            c.end_offset_for(LeaderEpoch(e), Offset(40))
                .map_or((-1, -1), |(e, o)| (e.0, o.0))
        };
        assert_eq!(
            [-1, 0, 1, 2, 3, 4, 5, 6, 8, 9, 10].map(end),
            [
                (-1, -1),
                (0, 5),
                (1, 5),
                (2, 10),
                (2, 10),
                (4, 20),
                (5, 30),
                (5, 30),
                (5, 30),
                (9, 40),
                (-1, -1)
            ]
        );
        let from_start = |o| {
            let mut c = c.clone();
            let _ = c.truncate_from_start(Offset(o));
            c
        };
        assert_eq!(from_start(7), cache(&[(2, 7), (4, 10), (5, 20), (9, 30)]));
        assert_eq!(from_start(10), cache(&[(4, 10), (5, 20), (9, 30)]));
        assert_eq!(from_start(15), cache(&[(4, 15), (5, 20), (9, 30)]));
        assert_eq!(from_start(50), cache(&[(9, 50)]));
        assert_eq!(from_start(3), c);
        let from_end = |o| {
            let mut c = c.clone();
            let _ = c.truncate_from_end(Offset(o));
            c
        };
        assert_eq!(from_end(10), cache(&[(2, 5)]));
        assert_eq!(from_end(15), cache(&[(2, 5), (4, 10)]));
        assert_eq!(from_end(31), c);
        assert_eq!(from_end(5), cache(&[]));
    }

    #[test]
    fn hc40_lines_of_a_file_that_do_not_rise_fall_out() {
        let lines = [(0, 0), (2, 10), (1, 20)].map(|(e, o)| EpochEntry {
            epoch: LeaderEpoch(e),
            start_offset: Offset(o),
        });
        let mut c = EpochCache::from_lines(&lines);
        assert_eq!(c, cache(&[(0, 0), (1, 20)]));
        assert_eq!(c.truncate_from_end(Offset(3)), Change::Changed);
        assert_eq!(c, cache(&[(0, 0)]));
    }

    /// Every sequence of up to five assignments over a small alphabet keeps the invariant, and what was assigned last
    /// is what the cache answers for its offset.
    #[test]
    fn all_short_histories_keep_epochs_and_offsets_rising() {
        fn step(c: &EpochCache, depth: u32, checked: &mut u64) {
            for pair in c.entries.windows(2) {
                assert!(
                    pair[0].epoch < pair[1].epoch && pair[0].start_offset < pair[1].start_offset,
                    "{c:?}"
                );
            }
            *checked += 1;
            if depth == 0 {
                return;
            }
            for e in 0..4 {
                for o in 0..4 {
                    let mut next = c.clone();
                    let change = next.assign(LeaderEpoch(e), Offset(o));
                    assert_eq!(change.is_change(), next != *c);
                    assert_eq!(next.epoch_for_offset(Offset(10)), Some(LeaderEpoch(e)));
                    step(&next, depth - 1, checked);
                }
            }
            for o in 0..5 {
                for cut in [
                    EpochCache::truncate_from_end,
                    EpochCache::truncate_from_start,
                ] {
                    let mut next = c.clone();
                    let change = cut(&mut next, Offset(o));
                    assert_eq!(change.is_change(), next != *c);
                    step(&next, depth - 1, checked);
                }
            }
        }
        let mut checked = 0;
        step(&EpochCache::default(), 4, &mut checked);
        assert!(checked > 400_000, "{checked}");
    }
}
