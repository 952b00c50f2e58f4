//! Making and opening segments, and the checks of what is believed on opening. Implements log.md 2.23, W8, 8.11 and
//! hard-cases.md HC11, HC12.
//!
//! An index is derived from its log, so a wrong one is made anew and never an error. Small indexes are checked whole when
//! the log is loaded, large ones at both ends then and whole before they are first used.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU8, AtomicU64};

use arc_swap::ArcSwap;
use once_cell::sync::OnceCell;
use parking_lot::Mutex;

use super::index::{ClosedIndexes, GrowingIndexes, Indexes, TimeRoom};
use super::scan::BatchScan;
use super::time::MaxTimestamp;
use super::write::{SegmentWriter, overwrite};
use super::{IndexCapacity, Segment, SegmentOptions, path_of, remove_files};
use crate::error::{Error, ErrorKind, Result};
use crate::format::batch::BatchHeader;
use crate::format::names::{FileState, SegmentFile, SegmentFileKind};
use crate::format::offset_index::{self, OffsetEntry};
use crate::format::time_index::{self, TimeEntry};
use crate::io::{FileSystem, OpenMode};
use crate::types::{MAX_RELATIVE_OFFSET, Offset, TimestampMs, to_usize};

/// Index files up to this size are checked whole when a log is loaded.
const CHECKED_WHOLE_BYTES: u64 = 64 * 1024;

/// What the look at a segment's index files found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexFiles {
    /// They can be believed, as far as was looked.
    Sane,
    /// There is no offset index: Kafka recovers the segment then, whatever its recovery point.
    OffsetIndexMissing,
    /// One is missing, damaged or contradicts the log: both are to be made anew.
    Wrong,
}

/// How much of the offset index is at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    Whole,
    /// The first and the last entry.
    Ends,
}

impl Segment {
    /// Makes the file of a new segment. `preallocate_bytes` is the size that the file gets at once, if any.
    pub fn create(
        fs: &Arc<dyn FileSystem>,
        dir: &Arc<Path>,
        base_offset: Offset,
        options: SegmentOptions,
        preallocate_bytes: Option<u64>,
        now: TimestampMs,
    ) -> Result<SegmentWriter> {
        let state = FileState::Live;
        Self::create_in_state(fs, dir, base_offset, options, preallocate_bytes, now, state)
    }

    /// Makes the file of a segment that is to replace others, in place of one that was given up before.
    pub fn create_cleaned(
        fs: &Arc<dyn FileSystem>,
        dir: &Arc<Path>,
        base_offset: Offset,
        options: SegmentOptions,
        preallocate_bytes: Option<u64>,
        now: TimestampMs,
    ) -> Result<SegmentWriter> {
        let state = FileState::Cleaned;
        remove_files(&**fs, dir, base_offset, state)?;
        Self::create_in_state(fs, dir, base_offset, options, preallocate_bytes, now, state)
    }

    fn create_in_state(
        fs: &Arc<dyn FileSystem>,
        dir: &Arc<Path>,
        base_offset: Offset,
        options: SegmentOptions,
        preallocate_bytes: Option<u64>,
        now: TimestampMs,
        state: FileState,
    ) -> Result<SegmentWriter> {
        let log = SegmentFile::live(base_offset, SegmentFileKind::Log).in_state(state);
        let file = fs.open(&dir.join(log.name()), OpenMode::Truncate)?;
        if let Some(bytes) = preallocate_bytes {
            file.set_len(bytes)?;
        }
        let mut segment = Self::around(fs, dir, base_offset, options, file, 0, now);
        segment.state = AtomicU8::new(state.number());
        segment.indexes = ArcSwap::from_pointee(segment.empty_indexes());
        SegmentWriter::new(Arc::new(segment), false)
    }

    /// Opens an existing segment for reading. Its indexes are opened when first used.
    pub fn open(
        fs: &Arc<dyn FileSystem>,
        dir: &Arc<Path>,
        base_offset: Offset,
        options: SegmentOptions,
        now: TimestampMs,
    ) -> Result<Arc<Self>> {
        let path = path_of(dir, base_offset, SegmentFileKind::Log);
        let file = fs.open(&path, OpenMode::ReadWrite)?;
        let size_bytes = file.len()?;
        if size_bytes > u64::from(MAX_RELATIVE_OFFSET) {
            return Err(Error::new(
                ErrorKind::TooLarge,
                format!(
                    "{} has {size_bytes} bytes; a segment has at most 2147483647",
                    path.display()
                ),
            )
            .in_file(&path));
        }
        Ok(Arc::new(Self::around(
            fs,
            dir,
            base_offset,
            options,
            file,
            size_bytes,
            now,
        )))
    }

    fn around(
        fs: &Arc<dyn FileSystem>,
        dir: &Arc<Path>,
        base_offset: Offset,
        options: SegmentOptions,
        file: Arc<dyn crate::io::File>,
        size_bytes: u64,
        created: TimestampMs,
    ) -> Self {
        Self {
            fs: Arc::clone(fs),
            dir: Arc::clone(dir),
            base_offset,
            options,
            file,
            state: AtomicU8::new(FileState::Live.number()),
            size_bytes: AtomicU64::new(size_bytes),
            created: AtomicI64::new(created.0),
            max_timestamp: Mutex::new(None),
            indexes: ArcSwap::from_pointee(Indexes::Closed(OnceCell::new())),
            aborted: Mutex::new(None),
        }
    }

    /// Looks at the index files as far as that is cheap. An error of the transaction index is CORRUPT_INDEX.
    pub fn check_index_files(self: &Arc<Self>) -> Result<IndexFiles> {
        self.check_txn_index()?;
        let offsets = match self
            .fs
            .open(&self.path(SegmentFileKind::OffsetIndex), OpenMode::Read)
        {
            Ok(file) => file,
            Err(e) if e.is_not_found() => return Ok(IndexFiles::OffsetIndexMissing),
            Err(e) => return Err(e),
        };
        let times = match self
            .fs
            .open(&self.path(SegmentFileKind::TimeIndex), OpenMode::Read)
        {
            Ok(file) => file,
            Err(e) if e.is_not_found() => return Ok(IndexFiles::Wrong),
            Err(e) => return Err(e),
        };
        let (offset_bytes, time_bytes) = (
            ends_of(&*offsets, offset_index::ENTRY_BYTES)?,
            ends_of(&*times, time_index::ENTRY_BYTES)?,
        );
        let whole = offsets.len()? == offset_bytes.len() as u64;
        let extent = if whole { Extent::Whole } else { Extent::Ends };
        Ok(if self.are_sane(&offset_bytes, &time_bytes, extent)? {
            IndexFiles::Sane
        } else {
            IndexFiles::Wrong
        })
    }

    /// Whether indexes agree with themselves and with the log: the last offset entry leads to its batch, and so does the last
    /// time entry, and an empty time index belongs to a log without timestamps.
    fn are_sane(&self, offsets: &[u8], times: &[u8], extent: Extent) -> Result<bool> {
        let size_bytes = self.size_bytes();
        let end_offset_bound = Offset(
            self.base_offset
                .0
                .saturating_add(i64::from(MAX_RELATIVE_OFFSET) + 1),
        );
        if !offset_index::is_sane(offsets, self.base_offset, size_bytes)
            || !time_index::is_sane(times, self.base_offset, end_offset_bound)
        {
            return Ok(false);
        }
        let entry = |i| OffsetEntry::decode(offsets, i, self.base_offset);
        if let Some(last) = (offsets.len() / offset_index::ENTRY_BYTES).checked_sub(1)
            && let Some(entry_last) = entry(last)
        {
            let from = if extent == Extent::Whole {
                last.checked_sub(1).and_then(entry)
            } else {
                Some(entry_last)
            };
            if !self.leads_to_its_batch(entry_last, from.map_or(0, |e| u64::from(e.position)))? {
                return Ok(false);
            }
        }
        let last = (times.len() / time_index::ENTRY_BYTES).checked_sub(1);
        match last.and_then(|i| TimeEntry::decode(times, i, self.base_offset)) {
            None => Ok(!self
                .first_batch_timestamp()?
                .is_some_and(TimestampMs::is_some)),
            // Without the entries between, the way to the batch would be long.
            Some(_) if extent == Extent::Ends => Ok(true),
            Some(entry) => Ok(self
                .header_of(offsets, entry.offset)?
                .is_some_and(|h| h.max_timestamp == entry.timestamp)),
        }
    }

    /// The header of the batch that holds `offset`, found by way of these bytes of an offset index.
    fn header_of(&self, offsets: &[u8], offset: Offset) -> Result<Option<BatchHeader>> {
        let entry = |i| OffsetEntry::decode(offsets, i, self.base_offset);
        let len = offsets.len() / offset_index::ENTRY_BYTES;
        let floor = offset_index::floor(len, |i| entry(i).is_some_and(|e| e.offset <= offset))
            .and_then(entry);
        let from = floor.map_or(0, |e| u64::from(e.position));
        let mut scan = BatchScan::headers(Arc::clone(&self.file), from..self.size_bytes());
        loop {
            match scan.next_batch() {
                Ok(Some(scanned)) if scanned.header.last_offset < offset => {}
                Ok(found) => return Ok(found.map(|scanned| scanned.header)),
                Err(e) if e.is_corrupt_data() => return Ok(None),
                Err(e) => return Err(e),
            }
        }
    }

    /// Whether an entry of the offset index leads to the batch that ends with its offset (hard-cases.md HC11). Where the
    /// offset lies in a hole, to the first batch behind the hole: then no look-up misses anything by it. The batches from
    /// `from` on are walked, which must be the place of a batch in front.
    fn leads_to_its_batch(&self, entry: OffsetEntry, from: u64) -> Result<bool> {
        let mut scan = BatchScan::headers(Arc::clone(&self.file), from..self.size_bytes());
        let position = u64::from(entry.position);
        loop {
            match scan.next_batch() {
                Ok(Some(scanned)) if scanned.position < position => {
                    if scanned.header.last_offset >= entry.offset {
                        return Ok(false);
                    }
                }
                Ok(Some(scanned)) => {
                    let header = &scanned.header;
                    let is_its =
                        header.last_offset == entry.offset || header.base_offset > entry.offset;
                    return Ok(scanned.position == position && is_its);
                }
                Ok(None) => return Ok(false),
                Err(e) if e.is_corrupt_data() => return Ok(false),
                Err(e) => return Err(e),
            }
        }
    }

    /// Opens the indexes of a closed segment for reading; if they cannot be believed they are made anew from the log,
    /// in the files too if these can be written.
    pub(super) fn open_checked_indexes(&self) -> Result<ClosedIndexes> {
        let (offset_path, time_path) = (
            self.path(SegmentFileKind::OffsetIndex),
            self.path(SegmentFileKind::TimeIndex),
        );
        match ClosedIndexes::open(&*self.fs, self.base_offset, &offset_path, &time_path) {
            Ok(opened) => {
                if self.are_sane(opened.offset_bytes()?, opened.time_bytes()?, Extent::Whole)? {
                    return Ok(opened);
                }
            }
            Err(e) if e.is_not_found() => {}
            Err(e) => return Err(e),
        }
        let (offsets, times) = self.derive_indexes()?.encode();
        // The bytes in memory serve as well: that the files cannot be written now is no reason to refuse a read.
        let _ = overwrite(&*self.fs, &offset_path, &offsets)
            .and_then(|()| overwrite(&*self.fs, &time_path, &times));
        Ok(ClosedIndexes::own(self.base_offset, offsets, times))
    }

    /// Makes the index files of a segment anew from its log (log.md 8.4). Nothing of the log is changed.
    pub fn rebuild_indexes(&self) -> Result<()> {
        let (offsets, times) = self.derive_indexes()?.encode();
        overwrite(
            &*self.fs,
            &self.path(SegmentFileKind::OffsetIndex),
            &offsets,
        )?;
        overwrite(&*self.fs, &self.path(SegmentFileKind::TimeIndex), &times)?;
        *self.max_timestamp.lock() = None;
        self.indexes
            .store(Arc::new(Indexes::Closed(OnceCell::new())));
        Ok(())
    }

    /// The entries that recovery would write, from the headers alone: to the first place that is no batch, or where
    /// offsets fall.
    fn derive_indexes(&self) -> Result<GrowingIndexes> {
        let capacity = IndexCapacity::of_bytes(self.options.index_bytes_max);
        let derived = GrowingIndexes::new(self.base_offset, capacity);
        let mut entries = EntriesDue::new(self.base_offset, self.options.index_interval_bytes);
        let mut scan = BatchScan::headers(Arc::clone(&self.file), 0..self.size_bytes());
        let mut expected = self.base_offset;
        loop {
            let scanned = match scan.next_batch() {
                Ok(Some(scanned)) => scanned,
                Ok(None) => break,
                Err(e) if e.is_corrupt_data() => break,
                Err(e) => return Err(e),
            };
            let header = &scanned.header;
            if !header.follows(expected) {
                break;
            }
            expected = header.last_offset.next();
            entries.batch(&derived, header, scanned.position);
        }
        entries.finish(&derived);
        Ok(derived)
    }

    /// Opens the segment for appending: its indexes are taken into memory. They must have been checked.
    pub fn into_writer(self: Arc<Self>) -> Result<SegmentWriter> {
        let capacity = IndexCapacity::of_bytes(self.options.index_bytes_max);
        let growing = match &*self.indexes() {
            Indexes::Growing(_) => None,
            Indexes::Closed(cell) => {
                let checked = cell.get_or_try_init(|| self.open_checked_indexes())?;
                let (offsets, times) = (checked.offset_bytes()?, checked.time_bytes()?);
                Some(GrowingIndexes::from_bytes(
                    self.base_offset,
                    capacity,
                    offsets,
                    times,
                ))
            }
        };
        let files_are_current = growing.is_some();
        if let Some(growing) = growing {
            self.indexes
                .store(Arc::new(Indexes::Growing(Box::new(growing))));
        }
        SegmentWriter::new(self, files_are_current)
    }

    /// Whether the end of the log is in order: from the last index entry on every batch has a good checksum, offsets
    /// rise, and the last batch ends at the end of the file (hard-cases.md HC12). The answer names what is wrong.
    pub fn check_tail(self: &Arc<Self>) -> Result<std::result::Result<(), String>> {
        let entry = self.with_indexes(|indexes| indexes.last_offset())?;
        let position = entry.map_or(0, |e| u64::from(e.position));
        let mut scan = BatchScan::new(Arc::clone(&self.file), position..self.size_bytes());
        Ok(scan.end_of_valid(self.base_offset)?.map(|_| ()))
    }
}

/// The whole of a small index file; of a large one its first and last entries, which must be in order too.
fn ends_of(file: &dyn crate::io::File, entry_bytes: usize) -> Result<Vec<u8>> {
    let len = file.len()?;
    let mut bytes;
    if len <= CHECKED_WHOLE_BYTES || !len.is_multiple_of(entry_bytes as u64) {
        bytes = vec![0; to_usize(len.min(CHECKED_WHOLE_BYTES + 1))];
        let read = file.read_at(&mut bytes, 0)?;
        bytes.truncate(read);
        // A length that is no multiple of an entry must stay one that is none.
        if !len.is_multiple_of(entry_bytes as u64) && bytes.len().is_multiple_of(entry_bytes) {
            bytes.push(0);
        }
        return Ok(bytes);
    }
    bytes = vec![0; 2 * entry_bytes];
    let (first, last) = bytes.split_at_mut(entry_bytes);
    file.read_at(first, 0)?;
    file.read_at(last, len - entry_bytes as u64)?;
    Ok(bytes)
}

/// When index entries are due, as a walk over a whole segment sees it (log.md 2.15). A writer that wrote the segment in
/// one go made the same entries.
pub(super) struct EntriesDue {
    interval: u64,
    last_entry_end: u64,
    max: MaxTimestamp,
}

impl EntriesDue {
    pub(super) fn new(base_offset: Offset, interval: u64) -> Self {
        let max = MaxTimestamp {
            timestamp: TimestampMs::NONE,
            offset: base_offset,
        };
        Self {
            interval,
            last_entry_end: 0,
            max,
        }
    }

    pub(super) fn batch(&mut self, indexes: &GrowingIndexes, header: &BatchHeader, position: u64) {
        if header.max_timestamp > self.max.timestamp {
            self.max = MaxTimestamp {
                timestamp: header.max_timestamp,
                offset: header.last_offset,
            };
        }
        if position - self.last_entry_end > self.interval
            && let Ok(at) = u32::try_from(position)
        {
            indexes.add_offset(OffsetEntry {
                offset: header.last_offset,
                position: at,
            });
            let MaxTimestamp { timestamp, offset } = self.max;
            indexes.maybe_add_time(TimeEntry { timestamp, offset }, TimeRoom::Usual);
            self.last_entry_end = position;
        }
    }

    pub(super) fn finish(self, indexes: &GrowingIndexes) -> MaxTimestamp {
        let MaxTimestamp { timestamp, offset } = self.max;
        if timestamp.is_some() {
            indexes.maybe_add_time(TimeEntry { timestamp, offset }, TimeRoom::LastEntry);
        }
        self.max
    }
}
