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

/// Whether an empty active segment is flushed too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bound {
    /// Segments with a base below the offset.
    Exclusive,
    /// Also the one that begins at it.
    Inclusive,
}

impl Log {
    /// Makes everything durable that is in the log now.
    pub fn flush(&self) -> Result<()> {
        self.flush_to(self.end_offset())
    }

    /// Makes everything below `upto` durable, or all of the log if it ends before. Below the recovery point there is
    /// nothing to do. A failure takes the log directory offline: what the disk holds is unknown then.
    pub fn flush_to(&self, upto: Offset) -> Result<()> {
        self.flush_bound(upto, Bound::Exclusive)
    }

    /// As [`Self::flush`], with an active segment that is empty: for closing.
    pub(super) fn flush_all(&self) -> Result<()> {
        self.flush_bound(self.end_offset(), Bound::Inclusive)
    }

    /// The flush that a roll asked for: everything below the new segment.
    pub(super) fn flush_due(&self) -> Result<()> {
        let due = { self.lock_writer().flush_due.take() };
        match due {
            Some(base) => self.flush_to(base),
            None => Ok(()),
        }
    }

    fn flush_bound(&self, upto: Offset, bound: Bound) -> Result<()> {
        let covers = |upto: Offset| match bound {
            Bound::Exclusive => upto <= self.recovery_point(),
            Bound::Inclusive => upto < self.recovery_point(),
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
        // What was appended while this one waited is covered too, at no further cost.
        let (end, snapshot, sync_names) = {
            let mut writer = self.lock_writer();
            let snapshot = writer.producers.take_unsynced();
            (writer.end, snapshot, std::mem::take(&mut writer.unsynced_names))
        };
        let recovery_point = self.recovery_point();
        let last = match bound {
            Bound::Exclusive => end,
            Bound::Inclusive => end.next(),
        };
        let synced = (|| {
            if let Some(path) = snapshot {
                self.fs.open(&path, OpenMode::Read)?.sync()?;
            }
            for segment in self.segments().range(recovery_point, last) {
                segment.sync()?;
            }
            if sync_names {
                self.fs.sync_dir(&self.dir)?;
            }
            Ok(())
        })();
        synced.map_err(|e| self.health.fail(e).context(format_args!("flush of {}", self.partition)))?;
        self.recovery_point.fetch_max(end.0, Ordering::SeqCst);
        Ok(())
    }
}
