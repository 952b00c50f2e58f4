//! Cutting logs, with what is stored about them outside of their directories. Implements manager.md 7.5, 7.9, log.md 9.5.
//!
//! The recovery point and the log start on disk come down before the log is cut: above its new end a recovery point would
//! vouch for records that are appended there later, and a log start would make the next load drop all that is left.

use std::sync::Arc;

use super::Manager;
use super::checkpoints::Served;
use crate::error::{Error, ErrorKind, Result};
use crate::log::Log;
use crate::types::Offset;

impl Manager {
    /// Cuts a log at `target`, durably: see [`Log::truncate_to`]. Whether anything was cut.
    pub fn truncate_to(&self, log: &Arc<Log>, target: Offset) -> Result<bool> {
        if target.0 < 0 || target >= log.end_offset() {
            return log.truncate_to(target);
        }
        self.cut(log, target, || log.truncate_to(target))
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
        self.cut(log, target, || log.truncate_fully(target, start))
    }

    fn cut<T>(&self, log: &Arc<Log>, target: Offset, cut: impl FnOnce() -> Result<T>) -> Result<T> {
        self.check_open()?;
        let Some(dir) = self.dir_of(log) else {
            return Err(Error::new(
                ErrorKind::UnknownTopicOrPartition,
                format!("the log {} is not of this manager", log.partition()),
            ));
        };
        dir.health.check()?;
        let logs = self.logs();
        // Until the log is cut nobody may write what it was.
        let _one_at_a_time = dir.checkpointing.lock();
        let mut served = Served::default();
        for other in logs.iter().filter(|other| dir.holds(other)) {
            served.add(other, Arc::ptr_eq(other, log).then_some(target));
        }
        dir.checkpoints
            .write(&*self.fs, &dir.path, served)
            .map_err(|e| dir.health.judge(e))?;
        cut()
    }
}
