//! One segment of a log: a `.log` file of batches with the indexes that find them.
//!
//! Owns the files `.log`, `.index`, `.timeindex`, `.txnindex` of one base offset. Any number of threads read a
//! [`Segment`] while one [`SegmentWriter`], under its log's append lock, adds to it: a reader is given the end up to
//! which bytes are complete and never looks beyond.
//!
//! Promises: index entries follow Kafka's rule exactly; what can be rebuilt is checked before it is believed; nothing is
//! mapped for writing, and an index is written by pwrite when its segment is closed. Implements log.md 2 and 12,
//! records.md 6-8.

mod entries;
mod follow;
mod index;
mod lookup;
mod open;
mod recover;
mod replace;
mod scan;
mod time;
mod truncate;
mod txn;
mod write;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU8, AtomicU64, Ordering};

use arc_swap::ArcSwap;
use parking_lot::Mutex;

use crate::error::Result;
use crate::format::names::{FileState, SegmentFile, SegmentFileKind};
use crate::format::txn_index::AbortedTxn;
use crate::io::{File, FileSystem, remove_file_if_exists};
use crate::types::{Offset, TimestampMs};

pub use index::{IndexCapacity, Indexes};
pub use lookup::BatchPosition;
pub use open::IndexFiles;
pub use recover::{Recovery, RecoverySink, Verified};
pub use scan::{BatchScan, Scanned, Tail};
pub use time::{MaxTimestamp, RecordTime};
pub use truncate::SegmentCut;
pub use write::SegmentWriter;

/// What a segment fixes when it is opened (log.md 2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentOptions {
    /// More bytes than this between two index entries make an entry due.
    pub index_interval_bytes: u64,
    /// The size in bytes that bounds each index file.
    pub index_bytes_max: u64,
}

/// A segment of a log.
#[derive(Debug)]
pub struct Segment {
    fs: Arc<dyn FileSystem>,
    dir: Arc<Path>,
    base_offset: Offset,
    options: SegmentOptions,
    file: Arc<dyn File>,
    /// How its files are called now, as a [`FileState`]. Two segments of one base may exist at a time: a cleaned one and the
    /// one that it replaces.
    state: AtomicU8,
    /// Bytes that are complete. Stored after they were written, read before they are looked at.
    size_bytes: AtomicU64,
    /// Wall time when this object was made, or emptied: what time-based rolling counts from without timestamps (log.md 2.1).
    created: AtomicI64,
    /// Largest timestamp so far with its offset; read from the time index when first asked for.
    max_timestamp: Mutex<Option<MaxTimestamp>>,
    indexes: ArcSwap<Indexes>,
    /// The entries of the transaction index, once they were asked for.
    aborted: Mutex<Option<Arc<Vec<AbortedTxn>>>>,
}

impl Segment {
    /// The offset in the names of its files: none of its records is below.
    #[must_use]
    pub fn base_offset(&self) -> Offset {
        self.base_offset
    }

    /// Bytes of complete batches.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes.load(Ordering::SeqCst)
    }

    /// Wall time when this object was made, or emptied.
    #[must_use]
    pub fn created(&self) -> TimestampMs {
        TimestampMs(self.created.load(Ordering::SeqCst))
    }

    /// What it was opened with.
    #[must_use]
    pub fn options(&self) -> &SegmentOptions {
        &self.options
    }

    /// The `.log` file.
    #[must_use]
    pub fn file(&self) -> &Arc<dyn File> {
        &self.file
    }

    /// The path of one of its files.
    #[must_use]
    pub fn path(&self, kind: SegmentFileKind) -> PathBuf {
        let file = SegmentFile::live(self.base_offset, kind);
        self.dir.join(file.in_state(self.state()).name())
    }

    /// How its files are called now.
    #[must_use]
    pub fn state(&self) -> FileState {
        FileState::from_number(self.state.load(Ordering::SeqCst))
    }

    /// Renames its files, the `.log` first; those that do not exist are passed over (log.md 2.21). The directory is not
    /// synced.
    pub fn rename_to(&self, to: FileState) -> Result<()> {
        rename_files(&*self.fs, &self.dir, self.base_offset, self.state(), to)?;
        self.state.store(to.number(), Ordering::SeqCst);
        Ok(())
    }

    /// Its indexes as they are now.
    #[must_use]
    pub fn indexes(&self) -> Arc<Indexes> {
        self.indexes.load_full()
    }

    /// Modification time of the `.log` file.
    pub fn modified(&self) -> Result<TimestampMs> {
        Ok(self.fs.stat(&self.path(SegmentFileKind::Log))?.modified)
    }

    /// Sets the modification time of one of its files.
    pub fn set_modified(&self, kind: SegmentFileKind, time: TimestampMs) -> Result<()> {
        self.fs.set_modified(&self.path(kind), time)
    }

    /// Takes into memory what readers may want of its other files, before these lose their names: who holds the segment can
    /// read it on.
    pub fn detach(&self) -> Result<()> {
        self.aborted_txns()?;
        match self.with_indexes(|_| Ok(())) {
            // Then its readers do without: it goes in any case.
            Err(e) if e.is_corrupt_data() || e.is_not_found() => Ok(()),
            other => other,
        }
    }

    /// Makes its bytes and its index files durable as they are (log.md 2.24).
    pub fn sync_all(&self) -> Result<()> {
        self.file.sync()?;
        self.sync_index_files()
    }

    /// Makes its index files durable as they are; those that do not exist are passed over.
    pub fn sync_index_files(&self) -> Result<()> {
        [
            SegmentFileKind::OffsetIndex,
            SegmentFileKind::TimeIndex,
            SegmentFileKind::TxnIndex,
        ]
        .into_iter()
        .try_for_each(|kind| sync_if_exists(&*self.fs, &self.path(kind)))
    }
}

fn sync_if_exists(fs: &dyn FileSystem, path: &Path) -> Result<()> {
    match fs.open(path, crate::io::OpenMode::Read) {
        Ok(file) => file.sync(),
        Err(e) if e.is_not_found() => Ok(()),
        Err(e) => Err(e),
    }
}

/// The path of a live file of a segment.
#[must_use]
pub fn path_of(dir: &Path, base_offset: Offset, kind: SegmentFileKind) -> PathBuf {
    dir.join(SegmentFile::live(base_offset, kind).name())
}

/// Renames the files of a segment from one state to another, the `.log` first; those that do not exist are passed over
/// (log.md 2.21). The directory is not synced.
pub fn rename_files(
    fs: &dyn FileSystem,
    dir: &Path,
    base_offset: Offset,
    from: FileState,
    to: FileState,
) -> Result<()> {
    for kind in SegmentFileKind::OF_SEGMENT {
        let file = SegmentFile::live(base_offset, kind);
        let (from, to) = (
            dir.join(file.in_state(from).name()),
            dir.join(file.in_state(to).name()),
        );
        match fs.rename(&from, &to) {
            Err(e) if e.is_not_found() => {}
            other => other?,
        }
    }
    Ok(())
}

/// Removes the files of a segment that are in one state; those that do not exist are passed over. Indexes go first: they are
/// nothing without their log. The directory is not synced.
pub fn remove_files(
    fs: &dyn FileSystem,
    dir: &Path,
    base_offset: Offset,
    state: FileState,
) -> Result<()> {
    for kind in SegmentFileKind::OF_SEGMENT.into_iter().rev() {
        let file = SegmentFile::live(base_offset, kind).in_state(state);
        remove_file_if_exists(fs, &dir.join(file.name()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
