//! Files that are out of use and wait for their removal: renamed at once, removed after `file.delete.delay.ms`. Implements
//! log.md 11.5, manager.md 5.9.
//!
//! What is not removed before the log is closed goes at its next load.

use std::collections::VecDeque;
use std::path::PathBuf;

use super::{Log, Writer};
use crate::error::Result;
use crate::format::names::{FileState, SegmentFile, SegmentFileKind};
use crate::io::remove_file_if_exists;
use crate::segment::Segment;
use crate::types::{Offset, TimestampMs};

/// The files that wait, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Retired(VecDeque<RetiredSegment>);

#[derive(Debug)]
struct RetiredSegment {
    base: Offset,
    due: TimestampMs,
}

impl Log {
    /// Renames the files of a segment that is out of use, with the snapshot at its base. The directory is not synced.
    pub(super) fn retire_segment(&self, writer: &mut Writer, segment: &Segment) -> Result<()> {
        self.retire_files(segment)?;
        writer.producers.retire(segment.base_offset())
    }

    /// Renames the files of a segment that is out of use; the snapshot at its base stays. The directory is not synced.
    pub(super) fn retire_files(&self, segment: &Segment) -> Result<()> {
        let base = segment.base_offset();
        segment.detach()?;
        segment.rename_to(FileState::Deleted)?;
        let delay_ms = self.config().file_delete_delay_ms;
        let due = TimestampMs(self.clock.now().0.saturating_add(delay_ms));
        self.retired
            .lock()
            .0
            .push_back(RetiredSegment { base, due });
        Ok(())
    }

    /// Removes the files of segments whose time has come: the task `delete-file`. When the next ones are due.
    pub fn remove_retired(&self) -> Result<Option<TimestampMs>> {
        self.remove_retired_by(self.clock.now())
    }

    /// As [`Self::remove_retired`], as if it were `now`.
    pub fn remove_retired_by(&self, now: TimestampMs) -> Result<Option<TimestampMs>> {
        self.check_open()?;
        self.check_owned()?;
        self.health().check()?;
        loop {
            let base = {
                let mut retired = self.retired.lock();
                match retired.0.front() {
                    None => return Ok(None),
                    Some(first) if first.due > now => return Ok(Some(first.due)),
                    Some(first) => {
                        let base = first.base;
                        retired.0.pop_front();
                        base
                    }
                }
            };
            self.remove_files(base)
                .map_err(|e| self.health().judge(e))?;
        }
    }

    fn remove_files(&self, base: Offset) -> Result<()> {
        let kinds = SegmentFileKind::OF_SEGMENT
            .into_iter()
            .chain([SegmentFileKind::Snapshot]);
        for kind in kinds {
            let file = SegmentFile::live(base, kind).in_state(FileState::Deleted);
            let path: PathBuf = self.dir().join(file.name());
            remove_file_if_exists(&*self.fs, &path)?;
        }
        Ok(())
    }
}
