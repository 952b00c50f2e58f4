//! Cutting logs at either end, with what is stored about them outside of their directories. Implements manager.md 7.5, 7.9, log.md 9.5.
//!
//! The recovery point and the log start on disk come down before the log is cut: above its new end a recovery point would
//! vouch for records that are appended there later, and a log start would make the next load drop all that is left. For the
//! same reason the start is stored before records are deleted: to a reader they are gone from then on.

use std::sync::Arc;

use super::Manager;
use super::checkpoints::{Limit, Served};
use crate::error::{Error, ErrorKind, Result};
use crate::log::Log;
use crate::types::Offset;

impl Manager {
    /// Cuts a log at `target`, durably: see [`Log::truncate_to`]. Whether anything was cut.
    pub fn truncate_to(&self, log: &Arc<Log>, target: Offset) -> Result<bool> {
        if target.0 < 0 || target >= log.end_offset() {
            return log.truncate_to(target);
        }
        self.without_cleaning(log.partition(), || {
            // What is appended to the segment that is left is dirty, and so is all of it for the cleaner.
            let segments = log.segments();
            let left = segments.floor(target).map_or(target, |s| s.base_offset());
            self.check_changeable(log)?;
            self.lower_cleaner_offset(log, left)?;
            if segments.floor(target).is_none() {
                self.empty_above(log, target)?;
            }
            self.cut(log, target, || log.truncate_to(target))
        })
    }

    /// Drops all records of a log, which goes on at `target`, durably: see [`Log::truncate_fully`].
    pub fn truncate_fully(
        &self,
        log: &Arc<Log>,
        target: Offset,
        start: Option<Offset>,
    ) -> Result<()> {
        if target.0 < 0 {
            return log.truncate_fully(target, start);
        }
        self.without_cleaning(log.partition(), || {
            self.check_changeable(log)?;
            self.lower_cleaner_offset(log, target)?;
            self.empty_above(log, start.map_or(target, |start| start.min(target)))?;
            self.cut(log, target, || log.truncate_fully(target, start))
        })
    }

    /// Deletes the records below `before`, durably: see [`Log::delete_records`]. Where the log starts now.
    pub fn delete_records(&self, log: &Arc<Log>, before: Offset) -> Result<Offset> {
        let (high_watermark, start) = (log.high_watermark(), log.start_offset());
        let target = if before == Offset::NONE {
            high_watermark
        } else {
            before
        };
        if target <= start || target > high_watermark {
            return log.delete_records(before);
        }
        // What is stored must not outlive the log.
        log.ensure_named()?;
        // On disk first: what was deleted for a reader must not come back.
        self.change(log, Limit::StartAtLeast(target), || {
            log.delete_records(target)
        })
    }

    /// Before all of a log goes that is to go on below where it starts: the start that is stored comes down first, and would
    /// let records come back that were deleted in front of it. Without records there are none.
    fn empty_above(&self, log: &Arc<Log>, target: Offset) -> Result<()> {
        let start = log.start_offset();
        let segments = log.segments();
        let has_deleted = segments
            .first()
            .is_some_and(|first| first.base_offset() < start);
        if target >= start || !has_deleted {
            return Ok(());
        }
        self.cut(log, start, || log.truncate_fully(start, None))
    }

    fn check_changeable(&self, log: &Log) -> Result<()> {
        self.check_open()?;
        log.check_open()
    }

    fn cut<T>(&self, log: &Arc<Log>, target: Offset, cut: impl FnOnce() -> Result<T>) -> Result<T> {
        self.change(log, Limit::NoneAbove(target), cut)
    }

    /// Changes where a log starts or ends, with what is stored about it on the safe side meanwhile.
    fn change<T>(
        &self,
        log: &Arc<Log>,
        limit: Limit,
        change: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        // A log that moves meanwhile would leave its offsets in another directory.
        let _none_is_swapped_now = self.swapping.read();
        self.check_open()?;
        self.check_owned()?;
        log.check_open()?;
        let Some(dir) = self.dir_of(log) else {
            return Err(Error::new(
                ErrorKind::UnknownTopicOrPartition,
                format!("the log {} is not of this manager", log.partition()),
            ));
        };
        dir.health.check()?;
        let logs = self.logs();
        // Until the log is changed nobody may write what it was.
        let _one_at_a_time = dir.checkpointing.lock();
        let write = |limit| {
            let mut served = Served::default();
            self.add_futures(dir, &mut served);
            for other in logs.iter().filter(|other| dir.holds(other)) {
                let limit = if Arc::ptr_eq(other, log) {
                    limit
                } else {
                    Limit::None
                };
                served.add(other, limit);
            }
            if !logs.iter().any(|other| Arc::ptr_eq(other, log)) {
                // A copy on its way here.
                served.add(log, limit);
            }
            dir.checkpoints
                .write(&*self.fs, &dir.path, served, &self.failed_in(dir))
        };
        let outcome = write(limit)
            .map_err(|e| dir.health.judge(e))
            .and_then(|()| change());
        if outcome.is_err() && matches!(limit, Limit::StartAtLeast(_)) && dir.health.check().is_ok()
        {
            // What failed has deleted nothing. If that cannot be written either, the next checkpoint says it.
            let _ = write(Limit::None).map_err(|e| dir.health.judge(e));
        }
        outcome
    }
}
