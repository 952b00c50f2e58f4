//! Making a log durable, and how far it is. Implements log.md 7.
//!
//! One flush runs at a time, outside the append lock. Who waited for one meanwhile often finds its bytes covered by it:
//! so concurrent synchronous appends share an fsync.

use std::sync::atomic::Ordering;

use super::Log;
use super::lock_order::{Level, Locked};
use crate::error::Result;
use crate::io::OpenMode;
use crate::types::Offset;

/// What a flush up to an offset covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// Everything below it, and not more: a roll wants the old segments, not a sync of the new one.
    Below,
    /// Everything that is in the log by then: who shares the flush is done with it too.
    AtLeast,
    /// All of the log with an active segment that is empty: for closing.
    Whole,
}

impl Log {
    /// Makes everything durable that is in the log now.
    pub fn flush(&self) -> Result<()> {
        self.flush_appended(self.end_offset())
    }

    /// Makes everything below `upto` durable, or all of the log if it ends before; that is the recovery point then. Below
    /// the recovery point there is nothing to do. A failure takes the log directory offline: what the disk holds is
    /// unknown then.
    pub fn flush_to(&self, upto: Offset) -> Result<()> {
        self.flush_reaching(upto, Reach::Below)
    }

    /// Makes durable what was appended below `upto`, and what others appended meanwhile.
    pub(super) fn flush_appended(&self, upto: Offset) -> Result<()> {
        self.flush_reaching(upto, Reach::AtLeast)
    }

    /// As [`Self::flush`], with an active segment that is empty: for closing.
    pub(super) fn flush_all(&self) -> Result<()> {
        self.flush_reaching(self.end_offset(), Reach::Whole)
    }

    /// The flush that a roll asked for: everything below the new segment.
    pub(super) fn flush_due(&self) -> Result<()> {
        let due = { self.lock_writer().flush_due.take() };
        match due {
            Some(base) => self.flush_to(base),
            None => Ok(()),
        }
    }

    fn flush_reaching(&self, upto: Offset, reach: Reach) -> Result<()> {
        let covers = |upto: Offset| match reach {
            Reach::Below | Reach::AtLeast => upto <= self.recovery_point(),
            Reach::Whole => upto < self.recovery_point(),
        };
        if covers(upto) {
            return Ok(());
        }
        let _flush = Locked::new(Level::Flush, || self.flush.lock());
        if covers(upto) {
            return Ok(());
        }
        self.check_open()?;
        self.health.check()?;
        let (end, snapshot, sync_names) = {
            let mut writer = self.lock_writer();
            let snapshot = writer.producers.take_unsynced();
            (writer.end, snapshot, std::mem::take(&mut writer.unsynced_names))
        };
        let recovery_point = self.recovery_point();
        let (covered, segments_below) = match reach {
            Reach::Below => (upto.min(end), upto.min(end)),
            Reach::AtLeast => (end, end),
            Reach::Whole => (end, end.next()),
        };
        let synced = (|| {
            if let Some(path) = snapshot {
                self.fs.open(&path, OpenMode::Read)?.sync()?;
            }
            for segment in self.segments().range(recovery_point, segments_below) {
                segment.sync()?;
            }
            if sync_names {
                self.fs.sync_dir(&self.dir)?;
            }
            Ok(())
        })();
        synced.map_err(|e| self.health.fail(e).context(format_args!("flush of {}", self.partition)))?;
        self.recovery_point.fetch_max(covered.0, Ordering::SeqCst);
        Ok(())
    }
}
