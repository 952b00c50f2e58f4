//! Making a log durable, and how far it is. Implements log.md 7, W1, W2.
//!
//! All but the bytes of the active segment is durable before anything is appended to it: the segments before it with
//! their indexes, its own name, the snapshot at its base. So making records durable is one sync of one open file. Only of a
//! log that was made since the last flush nothing is: a power cut may take it whole, and the first flush makes its names
//! durable with its bytes.
//!
//! One flush runs at a time, outside the append lock; who waited for one meanwhile finds its bytes covered by it or by the
//! next ([`super::flush_group`]): so concurrent synchronous appends share an fsync.

use std::sync::atomic::Ordering;

use super::lock_order::{Level, Locked};
use super::roll::PendingRoll;
use super::{DELETED, Log, Names};
use crate::error::{Error, Result};
use crate::types::Offset;

/// Which files of the active segment a flush makes durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Files {
    /// The one that the records are in.
    Log,
    /// Its indexes too.
    All,
}

/// What a flush up to an offset leaves as the recovery point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// That offset and not more, as Kafka does.
    Exactly,
    /// Everything that was in the log by then: who shares the flush is done with it too.
    AtLeast,
}

impl Log {
    /// Makes everything durable that is in the log now.
    pub fn flush(&self) -> Result<()> {
        self.check_open()?;
        self.check_owned()?;
        self.flush_appended(self.end_offset())
    }

    /// Makes everything below `upto` durable, or all of the log if it ends before; that is the recovery point then. Below
    /// the recovery point there is nothing to do. A failure takes the log directory offline: what the disk holds is
    /// unknown then.
    pub fn flush_to(&self, upto: Offset) -> Result<()> {
        self.check_open()?;
        self.check_owned()?;
        self.flush_below(upto, Reach::Exactly)
    }

    /// Makes everything durable if the last flush that found something was `flush.ms` ago: the task `kafka-log-flusher`.
    pub fn flush_if_due(&self) -> Result<()> {
        self.check_open()?;
        self.check_owned()?;
        let last = self.last_flush.load(Ordering::SeqCst);
        if self.clock.now().0.saturating_sub(last) < self.config().flush_ms {
            return Ok(());
        }
        self.flush()
    }

    /// Makes durable what was appended below `upto`, and what others appended meanwhile; also when the log was closed
    /// since.
    pub fn flush_appended(&self, upto: Offset) -> Result<()> {
        self.flush_below(upto, Reach::AtLeast)
    }

    fn flush_below(&self, upto: Offset, reach: Reach) -> Result<()> {
        let is_done = || upto <= self.recovery_point();
        let _leader = loop {
            if is_done() && !self.is_new() {
                return Ok(());
            }
            // Of a log without records all is done but its names: who waited for one that failed looks for itself.
            if let Some(leader) = self.flush_group.join(is_done) {
                break leader;
            }
        };
        let _flush = Locked::new(Level::Flush, || self.flush.lock());
        self.health().check()?;
        self.sync_new_log()?;
        if is_done() {
            return Ok(());
        }
        let end = self.sync_active(Files::Log)?;
        self.raise_recovery_point(match reach {
            Reach::Exactly => upto.min(end),
            Reach::AtLeast => end,
        });
        Ok(())
    }

    /// What appends wait for: before a roll, the files of the active segment are closed and made durable; after one, the
    /// names of the new segment and what lies beside it. All wait for it together, so it is done once.
    pub(super) fn flush_for_append(&self) -> Result<()> {
        let _flush = Locked::new(Level::Flush, || self.flush.lock());
        self.sync_names()?;
        let finished = {
            let mut writer = self.lock_writer();
            self.check_writable(&writer)?;
            if writer.pending_roll != PendingRoll::Waits {
                return Ok(());
            }
            writer.active.finish().map_err(|e| self.judge_flush(e))
        };
        let synced = finished
            .and_then(|()| self.sync_active(Files::All))
            .and_then(|end| self.sync_txn_index_name().map(|()| end));
        if let Ok(end) = synced {
            self.raise_recovery_point(end);
        }
        let mut writer = self.lock_writer();
        writer.pending_roll = synced
            .as_ref()
            .map_or(PendingRoll::None, |&end| PendingRoll::Ready(end));
        synced.map(|_| ())
    }

    /// As [`Self::flush`], for closing: with all files and names. The active segment must be finished.
    pub(super) fn flush_all_files(&self) -> Result<()> {
        let _flush = Locked::new(Level::Flush, || self.flush.lock());
        self.health().check()?;
        self.sync_names()?;
        let end = self.sync_active(Files::All)?;
        self.raise_recovery_point(end);
        Ok(())
    }

    /// Syncs the active segment, under the flush lock. The end that was reached: what was appended while this one waited
    /// is covered too, at no further cost. The recovery point stays.
    fn sync_active(&self, files: Files) -> Result<Offset> {
        let (end, active) = {
            let writer = self.lock_writer();
            (writer.end, writer.active.segment().clone())
        };
        let health = self.health();
        let synced = health.monitor().time_flush(|| match files {
            Files::Log => active.file().sync(),
            Files::All => active.sync_all(),
        });
        synced.map_err(|e| self.judge_flush(e))?;
        Ok(end)
    }

    /// A transaction index that is missing is not missed, other than one of offsets: its name is durable before there is a
    /// segment behind its own, or the next load would take that for all that is to be recovered.
    fn sync_txn_index_name(&self) -> Result<()> {
        let active = self.lock_writer().active.segment().clone();
        let is_there = active.aborted_txns().map(|aborted| !aborted.is_empty());
        is_there
            .and_then(|is_there| {
                if is_there {
                    self.fs.sync_dir(&self.dir())
                } else {
                    Ok(())
                }
            })
            .map_err(|e| self.judge_flush(e))
    }

    fn raise_recovery_point(&self, to: Offset) {
        if self.recovery_point.fetch_max(to.0, Ordering::SeqCst) < to.0 {
            self.last_flush.store(self.clock.now().0, Ordering::SeqCst);
            self.waits.notify(self);
        }
    }

    /// Makes the names of a log durable that was made since the last flush: before anything outside of its directory tells
    /// of it.
    pub(crate) fn ensure_named(&self) -> Result<()> {
        if !self.is_new() {
            return Ok(());
        }
        let _flush = Locked::new(Level::Flush, || self.flush.lock());
        self.check_open()?;
        self.sync_new_log()
    }

    /// As [`Self::ensure_named`], under the flush lock: before the first bytes of it are durable.
    pub(super) fn sync_new_log(&self) -> Result<()> {
        if self.is_new() {
            self.sync_names()
        } else {
            Ok(())
        }
    }

    /// Whether it was made since the last flush, and is still there.
    fn is_new(&self) -> bool {
        let writer = self.lock_writer();
        let is_new = matches!(writer.names, Names::OfNewLog(_) | Names::BeingSynced(_));
        is_new && self.state.load(Ordering::SeqCst) != DELETED
    }

    /// Makes the names durable that are not yet, with the snapshot that a roll made, under the flush lock.
    fn sync_names(&self) -> Result<()> {
        if self.is_deleted() {
            // Its directory has another name: that it is not found is no failure of the disk.
            return self.check_open();
        }
        self.health().check()?;
        let (names, snapshot) = {
            let mut writer = self.lock_writer();
            let names = writer.names;
            match names {
                Names::Durable => return Ok(()),
                // Appends go on meanwhile. A file that one of them replaces is not left to the sync that has begun.
                Names::OfNewLog(name) => {
                    let settled = writer.epochs.settle();
                    settled.map_err(|e| self.judge_flush(e))?;
                    writer.names = Names::BeingSynced(name);
                }
                Names::BeingSynced(_) | Names::OfNewSegment => {}
            }
            (names, writer.producers.take_unsynced())
        };
        let synced = snapshot
            .as_ref()
            .map_or(Ok(()), |file| file.sync())
            .and_then(|()| self.fs.sync_dir(&self.dir()))
            .and_then(|()| match names {
                Names::OfNewLog(name) | Names::BeingSynced(name) => {
                    self.health().sync_name(&*self.fs, name)
                }
                Names::Durable | Names::OfNewSegment => Ok(()),
            });
        let mut writer = self.lock_writer();
        match synced {
            // No roll came between: it waits for a flush.
            Ok(()) => {
                writer.names = Names::Durable;
                Ok(())
            }
            Err(e) => {
                writer.names = names;
                if let Some(file) = snapshot {
                    writer.producers.put_back_unsynced(file);
                }
                drop(writer);
                Err(self.judge_flush(e))
            }
        }
    }

    fn judge_flush(&self, error: Error) -> Error {
        self.health()
            .judge(error)
            .context(format_args!("flush of {}", self.partition))
    }
}
