//! A copy of a log for an owner that knows nothing of who wrote it: a broker that serves the partition from now on.
//!
//! Records, offsets, indexes and the list of aborted transactions are as they were. Leader epochs are not above the one from
//! which the owner goes on: to it later ones would be from the future. Producers are forgotten: the owner gives their ids to
//! others, whose first batches would be taken for repetitions. Promise: the copy is durable, and a load of it, as of a log
//! that was closed in order, finds nothing to do. Implements records.md 11, state.md 6.2, 7.3.

use std::path::Path;

use super::Log;
use crate::error::{Error, ErrorKind, Result};
use crate::format::batch::{Next, PREFIX_AND_MAGIC_BYTES, cap_epoch, next_in_file};
use crate::format::names::{SegmentFile, SegmentFileKind};
use crate::format::{epoch_checkpoint, snapshot};
use crate::io::{File, FileSystem, OpenMode, exists, replace_file};
use crate::segment::path_of;
use crate::types::{LeaderEpoch, Offset};

/// How much is copied at a time.
const CHUNK_BYTES: usize = 1 << 20;

impl Log {
    /// Closes the log and copies it into `dir`, an empty directory of `fs`. `latest` is the owner's leader epoch.
    /// INVALID_TXN_STATE if a transaction is open: nobody could end it in the copy. On any other error the log is closed.
    pub fn close_and_copy(
        &self,
        fs: &dyn FileSystem,
        dir: &Path,
        latest: LeaderEpoch,
    ) -> Result<()> {
        self.check_open()?;
        self.check_owned()?;
        if let Some((id, first)) = self.open_transaction() {
            return Err(Error::new(
                ErrorKind::InvalidTxnState,
                format!(
                    "the log {} has an open transaction of the producer {id} since offset {first}; end it first",
                    self.partition
                ),
            )
            .in_partition(self.partition.partition)
            .at_offset(first));
        }
        self.close()?;
        let epochs = {
            let writer = self.lock_writer();
            writer.epochs.cache().clone()
        };
        let has_later = epochs.latest().is_some_and(|own| own > latest);
        for segment in self.segments().iter() {
            let base = segment.base_offset();
            for kind in SegmentFileKind::OF_SEGMENT {
                let from = path_of(&self.dir(), base, kind);
                if kind != SegmentFileKind::Log && !exists(&*self.fs, &from)? {
                    continue;
                }
                let cap = (kind == SegmentFileKind::Log && has_later).then_some(latest);
                copy_file(&*self.fs, &from, fs, &path_of(dir, base, kind), cap)?;
            }
        }
        // The last segment is empty and its snapshot has no producer: whatever a later load reads anew begins here.
        let end = self.end_offset();
        fs.open(&path_of(dir, end, SegmentFileKind::Log), OpenMode::Create)?
            .sync()?;
        if end > Offset::ZERO {
            let name = SegmentFile::live(end, SegmentFileKind::Snapshot).name();
            let file = fs.open(&dir.join(name), OpenMode::Truncate)?;
            file.write_at(&snapshot::write([]), 0)?;
            file.sync()?;
        }
        let content = epoch_checkpoint::write(epochs.capped(latest).entries());
        replace_file(fs, &dir.join(epoch_checkpoint::FILE), &content)
    }

    fn open_transaction(&self) -> Option<(i64, Offset)> {
        let writer = self.lock_writer();
        let mut producers = writer.producers.producers().iter();
        producers.find_map(|(id, producer)| producer.txn_first_offset.map(|first| (id.0, first)))
    }
}

/// Copies a file, its time too, durably; with a `cap` it is a `.log` whose leader epochs come down to that.
fn copy_file(
    from_fs: &dyn FileSystem,
    from: &Path,
    to_fs: &dyn FileSystem,
    to: &Path,
    cap: Option<LeaderEpoch>,
) -> Result<()> {
    let source = from_fs.open(from, OpenMode::Read)?;
    let target = to_fs.open(to, OpenMode::Truncate)?;
    let mut buffer = vec![0; CHUNK_BYTES];
    let mut position = 0;
    loop {
        let read = source.read_at(&mut buffer, position)?;
        let Some(chunk) = buffer.get(..read).filter(|chunk| !chunk.is_empty()) else {
            break;
        };
        target.write_at(chunk, position)?;
        position += read as u64;
    }
    if let Some(latest) = cap {
        cap_epochs(&*target, latest)?;
    }
    to_fs.set_modified(to, from_fs.stat(from)?.modified)?;
    target.sync()
}

/// Leader epochs lie outside the checksums: nothing else of a batch changes.
fn cap_epochs(log: &dyn File, latest: LeaderEpoch) -> Result<()> {
    let len = log.len()?;
    let mut position = 0;
    let mut prefix = [0; PREFIX_AND_MAGIC_BYTES];
    while len - position > PREFIX_AND_MAGIC_BYTES as u64 {
        log.read_at(&mut prefix, position)?;
        let Next::Batch(size) = next_in_file(&prefix, len - position)? else {
            break;
        };
        if cap_epoch(&mut prefix, latest) {
            log.write_at(&prefix, position)?;
        }
        position += u64::from(size);
    }
    Ok(())
}
