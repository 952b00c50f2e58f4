//! The offset and time index of a segment, while it grows and after it was closed. Implements records.md 6.4-6.7, 7.2-7.5.
//!
//! While a segment grows its entries are in memory, where readers find them without a lock while the writer adds more;
//! the files are written when the segment is closed. The files of a closed segment are mapped for reading.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use once_cell::sync::OnceCell;

use super::entries::Entries;
use crate::error::{Error, ErrorKind, Result};
use crate::format::offset_index::{self, OffsetEntry, floor};
use crate::format::time_index::{self, TimeEntry};
use crate::io::{File, FileSystem, Mapping, OpenMode};
use crate::types::{Offset, TimestampMs, to_usize};

/// How many entries the indexes of a segment may have (records.md 6.2, 7.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexCapacity {
    offsets: usize,
    times: usize,
}

impl IndexCapacity {
    /// The capacity of files of this size (`segment.index.bytes`).
    #[must_use]
    pub fn of_bytes(bytes: u64) -> Self {
        Self {
            offsets: to_usize(bytes) / offset_index::ENTRY_BYTES,
            times: to_usize(bytes) / time_index::ENTRY_BYTES,
        }
    }
}

/// The indexes of a segment.
#[derive(Debug)]
pub enum Indexes {
    /// Of the segment that is appended to.
    Growing(Box<GrowingIndexes>),
    /// Of a closed one: opened and checked when first used.
    Closed(OnceCell<ClosedIndexes>),
}

/// Entries in memory. One writer adds, any number of readers look.
#[derive(Debug)]
pub struct GrowingIndexes {
    base_offset: Offset,
    capacity: IndexCapacity,
    offsets: Entries<OffsetEntry>,
    times: Entries<TimeEntry>,
}

impl GrowingIndexes {
    pub(super) fn new(base_offset: Offset, capacity: IndexCapacity) -> Self {
        Self {
            base_offset,
            capacity,
            offsets: Entries::new([]),
            times: Entries::new([]),
        }
    }

    /// The entries of index files, which must be sane.
    pub(super) fn from_bytes(
        base_offset: Offset,
        capacity: IndexCapacity,
        offsets: &[u8],
        times: &[u8],
    ) -> Self {
        let offset = |i| OffsetEntry::decode(offsets, i, base_offset);
        let time = |i| TimeEntry::decode(times, i, base_offset);
        Self {
            base_offset,
            capacity,
            offsets: Entries::new(
                (0..offsets.len() / offset_index::ENTRY_BYTES).filter_map(offset),
            ),
            times: Entries::new((0..times.len() / time_index::ENTRY_BYTES).filter_map(time)),
        }
    }

    /// The entries below `target` of other indexes of the same segment (log.md 2.18).
    pub(super) fn below(
        base_offset: Offset,
        capacity: IndexCapacity,
        target: Offset,
        view: &IndexView<'_>,
    ) -> Result<Self> {
        let (offsets, times) = match view {
            IndexView::Growing(growing) => growing.encode(),
            IndexView::Closed(closed) => (
                closed.offset_bytes()?.to_vec(),
                closed.time_bytes()?.to_vec(),
            ),
        };
        let all = Self::from_bytes(base_offset, capacity, &offsets, &times);
        Ok(Self {
            offsets: Entries::new(all.offsets.iter().filter(|e| e.offset < target)),
            times: Entries::new(all.times.iter().filter(|e| e.offset < target)),
            ..all
        })
    }

    /// Whether the offset index takes no further entry (records.md 6.4).
    #[must_use]
    pub fn is_offset_index_full(&self) -> bool {
        self.offsets.count() >= self.capacity.offsets
    }

    /// Whether the time index takes no further entry but the last one of a closed segment (records.md 7.2).
    #[must_use]
    pub fn is_time_index_full(&self) -> bool {
        self.times.count() + 1 >= self.capacity.times
    }

    /// Adds an entry that is due. A full index stays as it is, as does one whose last entry is not below: appending
    /// never fails for an index (log.md 2.7).
    pub(super) fn add_offset(&self, entry: OffsetEntry) {
        let rises = self
            .last_offset()
            .is_none_or(|last| entry.offset > last.offset);
        let fits = entry.offset.relative_to(self.base_offset).is_some();
        if rises && fits && !self.is_offset_index_full() {
            self.offsets.push(entry);
        }
    }

    /// Adds an entry if its timestamp is above the last one (records.md 7.3).
    pub(super) fn maybe_add_time(&self, entry: TimeEntry, room: TimeRoom) {
        let full = match room {
            TimeRoom::Usual => self.is_time_index_full(),
            TimeRoom::LastEntry => false,
        };
        if !full && self.is_due(&entry) {
            self.times.push(entry);
        }
    }

    fn is_due(&self, entry: &TimeEntry) -> bool {
        let last = self.last_time();
        let rises = entry.timestamp > last.map_or(TimestampMs::NONE, |last| last.timestamp)
            && last.is_none_or(|last| entry.offset >= last.offset);
        rises && entry.offset.relative_to(self.base_offset).is_some()
    }

    /// The entry with the largest offset at or below `target`.
    pub(super) fn floor_offset(&self, target: Offset) -> Option<OffsetEntry> {
        let at = floor(self.offsets.count(), |i| {
            self.offsets.get(i).is_some_and(|e| e.offset <= target)
        });
        at.and_then(|i| self.offsets.get(i))
    }

    fn around_offset(&self, target: Offset) -> OffsetSurroundings {
        OffsetSurroundings::of(self.offsets.count(), target, |i| self.offsets.get(i))
    }

    fn last_offset(&self) -> Option<OffsetEntry> {
        self.offsets.last()
    }

    pub(super) fn last_time(&self) -> Option<TimeEntry> {
        self.times.last()
    }

    /// The bytes of both files.
    pub(super) fn encode(&self) -> (Vec<u8>, Vec<u8>) {
        let offsets = self
            .offsets
            .iter()
            .filter_map(|e| e.encode(self.base_offset))
            .flatten()
            .collect();
        let times = self
            .times
            .iter()
            .filter_map(|e| e.encode(self.base_offset))
            .flatten()
            .collect();
        (offsets, times)
    }

    /// The bytes of both files as they are when the segment is closed: `last_time` is added in the slot kept for it.
    pub(super) fn encode_finished(&self, last_time: Option<TimeEntry>) -> (Vec<u8>, Vec<u8>) {
        let (offsets, mut times) = self.encode();
        let last = last_time.filter(|entry| self.is_due(entry));
        times.extend(
            last.and_then(|entry| entry.encode(self.base_offset))
                .into_iter()
                .flatten(),
        );
        (offsets, times)
    }
}

/// The entries of an offset index next to an offset.
#[derive(Clone, Copy, Debug)]
pub(super) struct OffsetSurroundings {
    /// The last one at or below it.
    floor: Option<OffsetEntry>,
    /// The first one at or above it.
    ceiling: Option<OffsetEntry>,
    /// The one behind that.
    behind: Option<OffsetEntry>,
}

impl OffsetSurroundings {
    fn of(len: usize, target: Offset, entry: impl Fn(usize) -> Option<OffsetEntry>) -> Self {
        let below = floor(len, |i| entry(i).is_some_and(|e| e.offset < target));
        let at = below.map_or(0, |i| i + 1);
        let ceiling = entry(at);
        let exact = ceiling.filter(|e| e.offset == target);
        Self {
            floor: exact.or_else(|| below.and_then(&entry)),
            ceiling,
            behind: entry(at + 1),
        }
    }

    /// Whether there is an entry at or below the offset.
    pub(super) fn is_behind_an_entry(&self) -> bool {
        self.floor.is_some()
    }

    /// The bytes from the batch of the last entry at or below the offset up to that of the first one at or above it, or to the
    /// end of the segment. Empty if one entry is both.
    pub(super) fn below(&self, end: u64) -> Range<u64> {
        let start = self.floor.map_or(0, |e| u64::from(e.position));
        start..self.ceiling.map_or(end, |e| u64::from(e.position))
    }

    /// The bytes from the batch of the first entry at or above the offset up to that of the next one.
    pub(super) fn above(&self, end: u64) -> Option<Range<u64>> {
        let start = u64::from(self.ceiling?.position);
        let behind = self.behind.map_or(end, |e| u64::from(e.position));
        (start < end).then_some(start..behind.min(end))
    }
}

/// Whether the slot may be used that a time index keeps free for the entry of closing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeRoom {
    Usual,
    LastEntry,
}

/// The index files of a closed segment.
#[derive(Debug)]
pub struct ClosedIndexes {
    base_offset: Offset,
    offsets: IndexFile,
    times: IndexFile,
}

/// An index file of so many bytes is read: a mapping of it would take more memory, and a descriptor.
const READ_WHOLE_BYTES: u64 = 4096;

/// An index file: mapped, or read if it is small.
#[derive(Debug)]
struct IndexFile {
    bytes: Mapping,
    /// The file behind the mapping; none if the bytes are the program's own.
    file: Option<Arc<dyn File>>,
}

impl IndexFile {
    fn own(bytes: Vec<u8>) -> Self {
        Self {
            bytes: Mapping::from_bytes(bytes),
            file: None,
        }
    }

    fn open(fs: &dyn FileSystem, path: &Path) -> Result<Self> {
        let file = fs.open(path, OpenMode::Read)?;
        let len = file.len()?;
        if len <= READ_WHOLE_BYTES {
            let mut bytes = vec![0; to_usize(len)];
            let read = file.read_at(&mut bytes, 0)?;
            bytes.truncate(read);
            return Ok(Self::own(bytes));
        }
        let bytes = file.map(len)?;
        Ok(Self {
            bytes,
            file: Some(file),
        })
    }

    /// The bytes, after a look whether the file still has them: another process may have cut it, and touching a page
    /// behind its end would kill this one (hard-cases.md HC42 (b)).
    fn bytes(&self) -> Result<&[u8]> {
        if let Some(file) = &self.file
            && file.len()? < self.bytes.len() as u64
        {
            return Err(Error::new(
                ErrorKind::CorruptIndex,
                format!(
                    "an index file of {} bytes was cut by someone else while it was in use",
                    self.bytes.len()
                ),
            ));
        }
        Ok(&self.bytes)
    }
}

impl ClosedIndexes {
    /// Opens both files; whether they can be believed is for the caller to check.
    pub(super) fn open(
        fs: &dyn FileSystem,
        base_offset: Offset,
        offsets: &Path,
        times: &Path,
    ) -> Result<Self> {
        Ok(Self {
            base_offset,
            offsets: IndexFile::open(fs, offsets)?,
            times: IndexFile::open(fs, times)?,
        })
    }

    /// Indexes that are not in files.
    pub(super) fn own(base_offset: Offset, offsets: Vec<u8>, times: Vec<u8>) -> Self {
        Self {
            base_offset,
            offsets: IndexFile::own(offsets),
            times: IndexFile::own(times),
        }
    }

    pub(super) fn offset_bytes(&self) -> Result<&[u8]> {
        self.offsets.bytes()
    }

    pub(super) fn time_bytes(&self) -> Result<&[u8]> {
        self.times.bytes()
    }
}

/// Read access to indexes in either state.
pub enum IndexView<'a> {
    /// Entries in memory.
    Growing(&'a GrowingIndexes),
    /// Files.
    Closed(&'a ClosedIndexes),
}

impl IndexView<'_> {
    /// The entry with the largest offset at or below `target`.
    pub fn floor_offset(&self, target: Offset) -> Result<Option<OffsetEntry>> {
        match self {
            Self::Growing(g) => Ok(g.floor_offset(target)),
            Self::Closed(c) => {
                let bytes = c.offsets.bytes()?;
                let entry = |i| OffsetEntry::decode(bytes, i, c.base_offset);
                let len = bytes.len() / offset_index::ENTRY_BYTES;
                Ok(floor(len, |i| entry(i).is_some_and(|e| e.offset <= target)).and_then(entry))
            }
        }
    }

    /// The entries next to `target`.
    pub(super) fn around_offset(&self, target: Offset) -> Result<OffsetSurroundings> {
        match self {
            Self::Growing(g) => Ok(g.around_offset(target)),
            Self::Closed(c) => {
                let bytes = c.offsets.bytes()?;
                let len = bytes.len() / offset_index::ENTRY_BYTES;
                let entry = |i| OffsetEntry::decode(bytes, i, c.base_offset).filter(|_| i < len);
                Ok(OffsetSurroundings::of(len, target, entry))
            }
        }
    }

    /// The entry with the largest position at or below `position`.
    pub fn floor_position(&self, position: u64) -> Result<Option<OffsetEntry>> {
        let find = |len: usize, entry: &dyn Fn(usize) -> Option<OffsetEntry>| {
            let is_at_or_below = |i| entry(i).is_some_and(|e| u64::from(e.position) <= position);
            floor(len, is_at_or_below).and_then(entry)
        };
        match self {
            Self::Growing(g) => Ok(find(g.offsets.count(), &|i| g.offsets.get(i))),
            Self::Closed(c) => {
                let bytes = c.offsets.bytes()?;
                let len = bytes.len() / offset_index::ENTRY_BYTES;
                Ok(find(len, &|i| OffsetEntry::decode(bytes, i, c.base_offset)))
            }
        }
    }

    /// The entry with the smallest position at or above `position`, by which Kafka bounds the offsets of a read. If that is
    /// the first entry Kafka takes the second (records.md 6.6).
    pub fn bound_above(&self, position: u64) -> Result<Option<OffsetEntry>> {
        let find = |len: usize, entry: &dyn Fn(usize) -> Option<OffsetEntry>| {
            let is_below = |i| entry(i).is_some_and(|e| u64::from(e.position) < position);
            let at = floor(len, is_below).map_or(0, |i| i + 1);
            let is_first = at == 0 && entry(0).is_some_and(|e| u64::from(e.position) == position);
            entry(if is_first { 1 } else { at })
        };
        match self {
            Self::Growing(g) => Ok(find(g.offsets.count(), &|i| g.offsets.get(i))),
            Self::Closed(c) => {
                let bytes = c.offsets.bytes()?;
                let len = bytes.len() / offset_index::ENTRY_BYTES;
                let entry = |i| OffsetEntry::decode(bytes, i, c.base_offset).filter(|_| i < len);
                Ok(find(len, &entry))
            }
        }
    }

    /// The entry with the largest timestamp at or below `target`.
    pub fn floor_time(&self, target: TimestampMs) -> Result<Option<TimeEntry>> {
        match self {
            Self::Growing(g) => {
                let at = floor(g.times.count(), |i| {
                    g.times.get(i).is_some_and(|e| e.timestamp <= target)
                });
                Ok(at.and_then(|i| g.times.get(i)))
            }
            Self::Closed(c) => {
                let bytes = c.times.bytes()?;
                let entry = |i| TimeEntry::decode(bytes, i, c.base_offset);
                let len = bytes.len() / time_index::ENTRY_BYTES;
                Ok(floor(len, |i| entry(i).is_some_and(|e| e.timestamp <= target)).and_then(entry))
            }
        }
    }

    /// The last entry of the time index.
    pub fn last_time(&self) -> Result<Option<TimeEntry>> {
        match self {
            Self::Growing(g) => Ok(g.last_time()),
            Self::Closed(c) => {
                let bytes = c.times.bytes()?;
                let last = (bytes.len() / time_index::ENTRY_BYTES).checked_sub(1);
                Ok(last.and_then(|i| TimeEntry::decode(bytes, i, c.base_offset)))
            }
        }
    }

    /// The last entry of the offset index.
    pub fn last_offset(&self) -> Result<Option<OffsetEntry>> {
        match self {
            Self::Growing(g) => Ok(g.last_offset()),
            Self::Closed(c) => {
                let bytes = c.offsets.bytes()?;
                let last = (bytes.len() / offset_index::ENTRY_BYTES).checked_sub(1);
                Ok(last.and_then(|i| OffsetEntry::decode(bytes, i, c.base_offset)))
            }
        }
    }

    /// How many entries the offset and the time index have.
    pub fn entry_counts(&self) -> Result<(usize, usize)> {
        match self {
            Self::Growing(g) => Ok((g.offsets.count(), g.times.count())),
            Self::Closed(c) => Ok((
                c.offsets.bytes()?.len() / offset_index::ENTRY_BYTES,
                c.times.bytes()?.len() / time_index::ENTRY_BYTES,
            )),
        }
    }

    /// All entries of the offset index.
    pub fn offset_entries(&self) -> Result<Vec<OffsetEntry>> {
        match self {
            Self::Growing(g) => Ok(g.offsets.iter().collect()),
            Self::Closed(c) => {
                let bytes = c.offsets.bytes()?;
                let len = bytes.len() / offset_index::ENTRY_BYTES;
                Ok((0..len)
                    .filter_map(|i| OffsetEntry::decode(bytes, i, c.base_offset))
                    .collect())
            }
        }
    }

    /// All entries of the time index.
    pub fn time_entries(&self) -> Result<Vec<TimeEntry>> {
        match self {
            Self::Growing(g) => Ok(g.times.iter().collect()),
            Self::Closed(c) => {
                let bytes = c.times.bytes()?;
                let len = bytes.len() / time_index::ENTRY_BYTES;
                Ok((0..len)
                    .filter_map(|i| TimeEntry::decode(bytes, i, c.base_offset))
                    .collect())
            }
        }
    }
}
