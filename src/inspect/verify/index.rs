//! Index files beside their log: each entry has to say what the batch at its place says.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{PREALLOCATED, REBUILT, Report, SPARSE};
use crate::error::Result;
use crate::format::batch::BatchHeader;
use crate::format::offset_index::{self, OffsetEntry};
use crate::format::time_index::{self, TimeEntry};
use crate::io::{File, FileSystem, OpenMode};
use crate::types::{MAX_RELATIVE_OFFSET, Offset, TimestampMs, to_usize};

/// After so many bytes an entry is due, where `index.interval.bytes` says nothing else.
const INTERVAL_BYTES: u64 = 4096;
/// Entries are read so many bytes at a time; a multiple of all entry sizes.
const CHUNK_BYTES: usize = 8 * 12 * 34 * 16;

/// A file of equal entries, read one after the other.
pub(super) struct Entries {
    file: Arc<dyn File>,
    pub(super) path: PathBuf,
    entry_bytes: usize,
    len: u64,
    at: u64,
    chunk: Vec<u8>,
    chunk_at: u64,
}

impl Entries {
    /// None if there is no such file.
    pub(super) fn open(
        fs: &dyn FileSystem,
        path: &Path,
        entry_bytes: usize,
        report: &mut Report,
    ) -> Result<Option<Self>> {
        let file = match fs.open(path, OpenMode::Read) {
            Ok(file) => file,
            Err(e) if e.is_not_found() => return Ok(None),
            Err(e) => return Err(e),
        };
        let len = file.len()?;
        if len > u64::from(MAX_RELATIVE_OFFSET) {
            let what = format!("{len} bytes, more than an index can have");
            report.damage(path, None, what, REBUILT);
            return Ok(None);
        }
        Ok(Some(Self {
            file,
            path: path.to_path_buf(),
            entry_bytes,
            len,
            at: 0,
            chunk: Vec::new(),
            chunk_at: 0,
        }))
    }

    /// Bytes behind the last whole entry.
    pub(super) fn rest_bytes(&self) -> u64 {
        self.len % self.entry_bytes as u64
    }

    /// The next entry with its position.
    pub(super) fn next(&mut self) -> Result<Option<(u64, &[u8])>> {
        let at = self.at;
        if at + self.entry_bytes as u64 > self.len {
            return Ok(None);
        }
        if at < self.chunk_at
            || at + self.entry_bytes as u64 > self.chunk_at + self.chunk.len() as u64
        {
            self.chunk.resize(CHUNK_BYTES, 0);
            let read = self.file.read_at(&mut self.chunk, at)?;
            self.chunk.truncate(read);
            self.chunk_at = at;
        }
        self.at += self.entry_bytes as u64;
        let from = usize::try_from(at - self.chunk_at).unwrap_or(usize::MAX);
        Ok(self
            .chunk
            .get(from..from.saturating_add(self.entry_bytes))
            .map(|entry| (at, entry)))
    }

    /// Whether all entries from `position` on are zero.
    fn is_zero_from(&mut self, position: u64) -> Result<bool> {
        let end = self.len - self.rest_bytes();
        let mut piece = vec![0; CHUNK_BYTES];
        let mut at = position;
        // There may be gigabytes of hole.
        while let Some(written) = self.file.written_from(at)?.filter(|at| *at < end) {
            // Not what its owner has added meanwhile.
            let n = to_usize(end - written).min(CHUNK_BYTES);
            let read = self
                .file
                .read_at(piece.get_mut(..n).unwrap_or_default(), written)?;
            let bytes = piece.get(..read).unwrap_or_default();
            if bytes.is_empty() {
                break;
            }
            if bytes.iter().any(|b| *b != 0) {
                return Ok(false);
            }
            at = written + read as u64;
        }
        Ok(true)
    }
}

/// What an index may have behind its entries.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Zeros {
    /// Nothing: it was cut to its entries.
    Refused,
    /// Zeros: it is preallocated while it is written to.
    Allowed,
}

/// Tells of an entry of zeros: of room that was not taken back, if nothing but zeros comes behind it and they are allowed.
fn report_zeros(
    entries: &mut Entries,
    position: u64,
    zeros: Zeros,
    report: &mut Report,
) -> Result<()> {
    let is_rest_zero = entries.is_zero_from(position)?;
    if is_rest_zero && zeros == Zeros::Allowed {
        report.note(
            &entries.path,
            Some(position),
            "zeros behind its entries: room that a writer made and did not take back",
            PREALLOCATED,
        );
    } else {
        report.damage(
            &entries.path,
            Some(position),
            "zeros in place of entries",
            REBUILT,
        );
    }
    Ok(())
}

/// The offset index of a segment, walked beside it.
pub(super) struct OffsetCheck {
    entries: Option<Entries>,
    base: Offset,
    zeros: Zeros,
    next: Option<(u64, OffsetEntry)>,
    /// An entry for several batches, whose last is still to come.
    open: Option<(u64, OffsetEntry)>,
    last: Option<OffsetEntry>,
    /// Where the last batch begins.
    last_batch: u64,
}

impl OffsetCheck {
    pub(super) fn new(entries: Option<Entries>, base: Offset, zeros: Zeros) -> Self {
        Self {
            entries,
            base,
            zeros,
            next: None,
            open: None,
            last: None,
            last_batch: 0,
        }
    }

    /// Takes the next entry up.
    pub(super) fn step(&mut self, report: &mut Report) -> Result<()> {
        self.next = None;
        let Some(entries) = &mut self.entries else {
            return Ok(());
        };
        let Some((position, bytes)) = entries.next()? else {
            return Ok(());
        };
        let is_zero = bytes.iter().all(|b| *b == 0);
        let Some(entry) = OffsetEntry::decode(bytes, 0, self.base) else {
            return Ok(());
        };
        if is_zero && (position > 0 || self.zeros == Zeros::Allowed) {
            report_zeros(entries, position, self.zeros, report)?;
            self.entries = None;
            return Ok(());
        }
        if self
            .last
            .is_some_and(|last| last.offset >= entry.offset || last.position >= entry.position)
        {
            let what = format!(
                "the entry ({}, {}) does not rise above the one before",
                entry.offset, entry.position
            );
            report.damage(&entries.path, Some(position), what, REBUILT);
        }
        self.last = Some(entry);
        self.next = Some((position, entry));
        Ok(())
    }

    pub(super) fn batch(
        &mut self,
        at: u64,
        header: &BatchHeader,
        report: &mut Report,
    ) -> Result<()> {
        self.last_batch = at;
        while let Some((position, entry)) = self.next.filter(|(_, e)| u64::from(e.position) <= at) {
            if u64::from(entry.position) < at {
                self.wrong(position, &entry, "no batch begins there", report);
            } else if let Some((open_at, open)) = self.open.replace((position, entry)) {
                self.wrong(
                    open_at,
                    &open,
                    "no batch ends with that offset there",
                    report,
                );
            }
            self.step(report)?;
        }
        if let Some((position, entry)) = self.open
            && header.last_offset >= entry.offset
        {
            self.open = None;
            if header.last_offset > entry.offset {
                self.wrong(
                    position,
                    &entry,
                    "no batch ends with that offset there",
                    report,
                );
            }
        }
        Ok(())
    }

    /// The segment ends here, or cannot be read further.
    pub(super) fn end(&mut self, is_whole: bool, report: &mut Report) -> Result<()> {
        if let Some(entries) = self.entries.as_ref().filter(|_| self.last.is_none())
            && self.last_batch > INTERVAL_BYTES
        {
            let what = format!("no entry for {} bytes of batches", self.last_batch);
            report.note(&entries.path, None, what, SPARSE);
        }
        if let Some((position, entry)) = self.open.take().filter(|_| is_whole) {
            self.wrong(
                position,
                &entry,
                "no batch ends with that offset there",
                report,
            );
        }
        while let Some((position, entry)) = self.next.filter(|_| is_whole) {
            self.wrong(position, &entry, "no batch begins there", report);
            self.step(report)?;
        }
        Ok(())
    }

    fn wrong(&self, position: u64, entry: &OffsetEntry, why: &str, report: &mut Report) {
        let Some(entries) = &self.entries else {
            return;
        };
        let what = format!(
            "the entry ({}, {}) is false: {why}",
            entry.offset, entry.position
        );
        report.damage(&entries.path, Some(position), what, REBUILT);
    }
}

/// The time index of a segment, walked beside it.
pub(super) struct TimeCheck {
    entries: Option<Entries>,
    base: Offset,
    zeros: Zeros,
    next: Option<(u64, TimeEntry)>,
    last: Option<TimeEntry>,
    max: TimestampMs,
}

impl TimeCheck {
    pub(super) fn new(entries: Option<Entries>, base: Offset, zeros: Zeros) -> Self {
        Self {
            entries,
            base,
            zeros,
            next: None,
            last: None,
            max: TimestampMs::NONE,
        }
    }

    pub(super) fn step(&mut self, report: &mut Report) -> Result<()> {
        self.next = None;
        let Some(entries) = &mut self.entries else {
            return Ok(());
        };
        let Some((position, bytes)) = entries.next()? else {
            return Ok(());
        };
        let is_zero = bytes.iter().all(|b| *b == 0);
        let Some(entry) = TimeEntry::decode(bytes, 0, self.base) else {
            return Ok(());
        };
        if is_zero && (position > 0 || self.zeros == Zeros::Allowed) {
            report_zeros(entries, position, self.zeros, report)?;
            self.entries = None;
            return Ok(());
        }
        if self
            .last
            .is_some_and(|last| last.timestamp >= entry.timestamp || last.offset > entry.offset)
        {
            let what = format!(
                "the entry ({}, {}) does not rise above the one before",
                entry.timestamp, entry.offset
            );
            report.damage(&entries.path, Some(position), what, REBUILT);
        }
        self.last = Some(entry);
        self.next = Some((position, entry));
        Ok(())
    }

    pub(super) fn batch(&mut self, header: &BatchHeader, report: &mut Report) -> Result<()> {
        self.max = self.max.max(header.max_timestamp);
        while let Some((position, entry)) =
            self.next.filter(|(_, e)| e.offset <= header.last_offset)
        {
            let is_there =
                header.last_offset == entry.offset && header.max_timestamp == entry.timestamp;
            if !is_there || entry.timestamp != self.max {
                self.wrong(position, &entry, report);
            }
            self.step(report)?;
        }
        Ok(())
    }

    pub(super) fn end(&mut self, is_whole: bool, report: &mut Report) -> Result<()> {
        while let Some((position, entry)) = self.next.filter(|_| is_whole) {
            self.wrong(position, &entry, report);
            self.step(report)?;
        }
        if let Some(entries) = self
            .entries
            .as_ref()
            .filter(|_| self.zeros == Zeros::Refused)
            && is_whole
            && self.max.0 >= 0
            && self.last.is_none_or(|last| last.timestamp < self.max)
        {
            let what = format!(
                "the largest timestamp {} of the segment is not in it",
                self.max
            );
            report.damage(&entries.path, None, what, REBUILT);
        }
        Ok(())
    }

    fn wrong(&self, position: u64, entry: &TimeEntry, report: &mut Report) {
        let Some(entries) = &self.entries else {
            return;
        };
        let what = format!(
            "the entry ({}, {}) is false: no batch that ends there has that timestamp, or one before has {}",
            entry.timestamp, entry.offset, self.max
        );
        report.damage(&entries.path, Some(position), what, REBUILT);
    }
}

/// Opens the offset index.
pub(super) fn offsets(
    fs: &dyn FileSystem,
    path: &Path,
    report: &mut Report,
) -> Result<Option<Entries>> {
    Entries::open(fs, path, offset_index::ENTRY_BYTES, report)
}

/// Opens the time index.
pub(super) fn times(
    fs: &dyn FileSystem,
    path: &Path,
    report: &mut Report,
) -> Result<Option<Entries>> {
    Entries::open(fs, path, time_index::ENTRY_BYTES, report)
}
