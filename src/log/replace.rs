//! Putting new segments in the place of old ones: how a cleaned log takes over. Implements log.md 11.1-11.3, cleaner.md 8.
//!
//! A power cut leaves the old segments or the new ones, and no mixture that tells another story. The steps are durable one
//! after the other where a load could be misled:
//! 1. New files, complete and synced, go from `.cleaned` to `.swap`, the highest base first: as long as one is `.cleaned` the
//!    load takes the set for unfinished.
//! 2. Old files go to `.deleted`, the lowest base first. A load that finds the `.swap` files removes old segments in their
//!    range by itself. Those behind that range go one by one: were a later one gone before an earlier one, a record
//!    would be back that a later tombstone had deleted.
//! 3. New files get their names, the lowest base first.
//!
//! Who reads an old segment goes on reading it: its indexes are in memory and its file stays open.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{Log, SegmentList, Writer};
use crate::error::{Error, ErrorKind, Result};
use crate::format::names::{FileState, SegmentFile, SegmentFileKind};
use crate::segment::{Segment, SegmentWriter, remove_files, rename_files};
use crate::types::{Offset, ProducerId};

/// Tells whether a log was cut since. What was read of it before may be gone then, and must not come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape(u64);

/// What is known last of a producer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastOfProducer {
    /// Where its last data ends, if any is known.
    pub data: Option<Offset>,
    /// Its epoch.
    pub epoch: i16,
}

/// What is known last of all producers of a log.
#[derive(Clone, Debug)]
pub struct LastOfProducers {
    /// By rising id: the end of the last data, and the epoch. There may be a million.
    by_id: Vec<(ProducerId, Offset, i16)>,
}

impl LastOfProducers {
    /// What is known last of one.
    #[must_use]
    pub fn get(&self, producer_id: ProducerId) -> Option<LastOfProducer> {
        let at = self.by_id.binary_search_by_key(&producer_id, |of| of.0);
        let (_, data, epoch) = *self.by_id.get(at.ok()?)?;
        Some(LastOfProducer {
            data: Some(data).filter(|data| data.0 >= 0),
            epoch,
        })
    }
}

impl Log {
    /// The segments, with what tells later whether the log was cut in the meantime.
    #[must_use]
    pub fn segments_and_shape(&self) -> (Arc<SegmentList>, Shape) {
        let _writer = self.lock_writer();
        (self.segments(), Shape(self.cuts.load(Ordering::SeqCst)))
    }

    /// What is known last of each producer, at this moment.
    #[must_use]
    pub fn last_of_producers(&self) -> LastOfProducers {
        let writer = self.lock_writer();
        let producers = writer.producers.producers();
        let mut by_id = Vec::with_capacity(producers.len());
        by_id.extend(producers.stored().map(|stored| {
            let entry = stored.entry();
            (entry.producer_id, entry.last_offset, entry.epoch)
        }));
        LastOfProducers { by_id }
    }

    /// Makes a segment that is to replace others ([`Self::replace_segments`]); a load removes it before that.
    pub fn create_cleaned(&self, base: Offset) -> Result<SegmentWriter> {
        self.check_open()?;
        self.health().check()?;
        let config = self.config();
        let preallocate = Some(config.initial_file_bytes()).filter(|&bytes| bytes > 0);
        Segment::create_cleaned(
            &self.fs,
            &self.dir(),
            base,
            super::load::segment_options(&config),
            preallocate,
            self.clock.now(),
        )
        .map_err(|e| self.health().judge(e))
    }

    /// Removes the files of a segment that was made to replace others and is not wanted any more, as far as that can be done.
    pub fn discard_cleaned(&self, base: Offset) {
        let _ = remove_files(&*self.fs, &self.dir(), base, FileState::Cleaned);
    }

    /// Puts `new` segments, which are complete and synced, in the place of `old` ones. CLEAN_ABORTED, with nothing changed, if the
    /// log was cut since `shape`, or an old segment went otherwise. A failure half way leaves a log that takes no changes until
    /// it is opened again, which finishes the replacement.
    pub fn replace_segments(
        &self,
        new: &[Arc<Segment>],
        old: &[Arc<Segment>],
        shape: Shape,
    ) -> Result<()> {
        let mut writer = self.lock_writer();
        self.check_writable(&writer)?;
        self.check_replaceable(&writer, old, shape)?;
        // What cannot be read of them shows before anything has changed.
        old.iter()
            .try_for_each(|segment| segment.detach())
            .and_then(|()| self.swap_in(new))
            .map_err(|e| self.undo_swap(&mut writer, new, e))?;
        let done = self.finish_swap(&mut writer, new, old);
        done.map_err(|error| {
            writer.broken = Some(error.clone());
            self.health().judge(error).context(format_args!(
                "replacement of segments of {}",
                self.partition
            ))
        })
    }

    fn check_replaceable(&self, writer: &Writer, old: &[Arc<Segment>], shape: Shape) -> Result<()> {
        let list = self.segments();
        let active = writer.active.segment().base_offset();
        let is_there = |segment: &Arc<Segment>| {
            segment.base_offset() < active
                && list
                    .floor(segment.base_offset())
                    .is_some_and(|known| Arc::ptr_eq(known, segment))
        };
        if self.cuts.load(Ordering::SeqCst) == shape.0 && old.iter().all(is_there) {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::CleanAborted,
            format!(
                "segments of the log {} went while they were being replaced",
                self.partition
            ),
        )
        .in_partition(self.partition.partition))
    }

    fn swap_in(&self, new: &[Arc<Segment>]) -> Result<()> {
        // Before the first has its new name all have their old ones: what a load does not see it cannot take for unfinished.
        self.fs.sync_dir(&self.dir())?;
        for segment in new.iter().rev() {
            segment.rename_to(FileState::Swap)?;
            // One lower down must not look complete before this one is.
            self.fs.sync_dir(&self.dir())?;
        }
        Ok(())
    }

    /// Takes back what was renamed. Files that stay would replace at the next load whatever the log is by then: if they
    /// cannot be removed nothing may change any more.
    fn undo_swap(&self, writer: &mut Writer, new: &[Arc<Segment>], error: Error) -> Error {
        if self.remove_swaps(new).is_err() {
            writer.broken = Some(error.clone());
        }
        self.health().judge(error)
    }

    /// In an order in which a load always finds that the set is not complete.
    fn remove_swaps(&self, new: &[Arc<Segment>]) -> Result<()> {
        let remove_all = |state| {
            new.iter().try_for_each(|segment| {
                remove_files(&*self.fs, &self.dir(), segment.base_offset(), state)
            })
        };
        if let Some(lowest) = new.first() {
            let base = lowest.base_offset();
            rename_files(
                &*self.fs,
                &self.dir(),
                base,
                FileState::Swap,
                FileState::Cleaned,
            )?;
            self.fs.sync_dir(&self.dir())?;
        }
        remove_all(FileState::Swap)?;
        self.fs.sync_dir(&self.dir())?;
        remove_all(FileState::Cleaned)
    }

    fn finish_swap(
        &self,
        writer: &mut Writer,
        new: &[Arc<Segment>],
        old: &[Arc<Segment>],
    ) -> Result<()> {
        let is_old = |segment: &Arc<Segment>| old.iter().any(|o| Arc::ptr_eq(o, segment));
        let mut end = Offset::ZERO;
        for segment in new {
            end = end.max(segment.read_next_offset()?);
        }
        for segment in old {
            let is_behind = segment.base_offset() >= end;
            if is_behind {
                self.rename_log_first(segment, FileState::Deleted)?;
            }
            self.retire_files(segment)?;
            if is_behind {
                self.fs.sync_dir(&self.dir())?;
            }
        }
        self.fs.sync_dir(&self.dir())?;
        for segment in new {
            self.rename_log_first(segment, FileState::Live)?;
            segment.rename_to(FileState::Live)?;
            // A load takes the last .swap files for all that there is to do, and what lies between two of them for old.
            self.fs.sync_dir(&self.dir())?;
        }
        // Opened anew: the files have kept their descriptors through the renames, and would for ever.
        let opened: Vec<Arc<Segment>> = new
            .iter()
            .map(|segment| {
                self.reopened(segment)
                    .unwrap_or_else(|_| Arc::clone(segment))
            })
            .collect();
        let list = self.segments();
        let kept = list.iter().filter(|segment| !is_old(segment)).cloned();
        self.segments
            .store(Arc::new(SegmentList::new(kept.chain(opened))));
        for segment in old {
            let base = segment.base_offset();
            if new.iter().all(|segment| segment.base_offset() != base) {
                writer.producers.retire(base)?;
            }
        }
        Ok(())
    }

    /// A `.log` whose transaction index is elsewhere would show aborted records: where there are any, it gets its name before
    /// its indexes do.
    fn rename_log_first(&self, segment: &Segment, to: FileState) -> Result<()> {
        if segment.aborted_txns()?.is_empty() {
            return Ok(());
        }
        let log = SegmentFile::live(segment.base_offset(), SegmentFileKind::Log);
        let renamed = self.dir().join(log.in_state(to).name());
        self.fs
            .rename(&segment.path(SegmentFileKind::Log), &renamed)?;
        self.fs.sync_dir(&self.dir())
    }

    fn reopened(&self, segment: &Arc<Segment>) -> Result<Arc<Segment>> {
        Segment::open(
            &self.fs,
            &self.dir(),
            segment.base_offset(),
            *segment.options(),
            segment.created(),
        )
    }
}
