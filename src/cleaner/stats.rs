//! What a pass did, in numbers. Implements cleaner.md 11.1, c-abi.md 3.2.14.

use std::ops::AddAssign;

use super::filter::Fate;
use crate::types::Offset;

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
    /// Records that stay.
    pub kept_records: u64,
    /// Records without a key, which should not be in a compacted log.
    pub dropped_no_key: u64,
    /// Records whose key has a later one.
    pub dropped_superseded: u64,
    /// Tombstones past their horizon.
    pub dropped_tombstones: u64,
    /// Records of aborted transactions.
    pub dropped_aborted: u64,
    /// Markers of transactions of which nothing is left.
    pub dropped_markers: u64,
    /// How many slots the offset map has room for.
    pub map_slots: u64,
    /// How many of them keys took.
    pub map_keys: u64,
}

impl Stats {
    /// Counts what became of so many records.
    pub(super) fn count(&mut self, fate: Fate, records: u64) {
        let counter = match fate {
            Fate::DropAborted => &mut self.dropped_aborted,
            Fate::DropMarker => &mut self.dropped_markers,
            Fate::DropNoKey => &mut self.dropped_no_key,
            Fate::DropSuperseded => &mut self.dropped_superseded,
            Fate::DropTombstone => &mut self.dropped_tombstones,
            Fate::KeepControl | Fate::KeepUnmapped | Fate::KeepLatest | Fate::KeepTombstone => {
                &mut self.kept_records
            }
        };
        *counter += records;
    }
}

impl AddAssign for Stats {
    fn add_assign(&mut self, other: Self) {
        self.mapped_bytes += other.mapped_bytes;
        self.mapped_records += other.mapped_records;
        self.read_bytes += other.read_bytes;
        self.read_records += other.read_records;
        self.written_bytes += other.written_bytes;
        self.kept_records += other.kept_records;
        self.dropped_no_key += other.dropped_no_key;
        self.dropped_superseded += other.dropped_superseded;
        self.dropped_tombstones += other.dropped_tombstones;
        self.dropped_aborted += other.dropped_aborted;
        self.dropped_markers += other.dropped_markers;
        self.map_slots = self.map_slots.max(other.map_slots);
        self.map_keys = self.map_keys.max(other.map_keys);
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
