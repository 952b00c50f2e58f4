//! Closing a log so that the next open finds nothing to do. Implements log.md 2.19, 2.20, manager.md 10.3.

use std::sync::atomic::Ordering;

use super::producer_log::{Durability, RebuildRange};
use super::{CLOSED, Log, OPEN};
use crate::error::Result;

impl Log {
    /// Brings everything into the files that a load reads, and makes it durable: the indexes of the active segment, the
    /// log, a producer snapshot at its end; nothing is left that a load would remove. Later calls answer CLOSED. When this
    /// fails the log is closed all the same, and its next load recovers. Of a log that another process owns nothing is written.
    pub fn close(&self) -> Result<()> {
        if self.follower.is_some() {
            self.abandon();
            return Ok(());
        }
        let prepared = {
            let mut writer = self.lock_writer();
            if self.state.load(Ordering::SeqCst) != OPEN {
                return Ok(());
            }
            let is_writable = self.check_writable(&writer);
            // From here on no append comes that the flush could miss.
            self.state.store(CLOSED, Ordering::SeqCst);
            self.waits.wake_all();
            is_writable.and_then(|()| writer.active.finish())
        };
        let closed = prepared
            .and_then(|()| self.flush_all_files())
            .and_then(|()| {
                let mut writer = self.lock_writer();
                writer.epochs.store()?;
                let end = writer.end;
                writer.producers.set_map_end(end);
                writer.producers.take_snapshot(Durability::Synced)?;
                self.fs.sync_dir(&self.dir())?;
                // Those that the next load would remove, such as the one of an earlier close: what was closed in order is as
                // a load leaves it, down to the names. That they are gone need not be durable.
                let bases: Vec<_> = self
                    .segments()
                    .iter()
                    .map(|segment| segment.base_offset())
                    .collect();
                let range = RebuildRange {
                    log_start: self.start_offset(),
                    end,
                    now: self.clock.now(),
                };
                writer.producers.tidy(&bases, range)
            });
        closed.map_err(|e| self.health().judge(e))
    }

    /// Closes without writing anything: what a crash of the process would leave.
    pub fn abandon(&self) {
        self.state.store(CLOSED, Ordering::SeqCst);
        self.waits.wake_all();
    }
}
