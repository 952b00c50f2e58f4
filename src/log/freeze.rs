//! A log that stands still, and goes on from the files of a copy. Implements manager.md 9.3, 9.4.
//!
//! While a log is frozen whoever would change it waits; readers go on, and see the same records before and after. It is the
//! same [`Log`] all the time: nobody who holds it has to ask for it again.

use std::path::Path;
use std::sync::atomic::Ordering;

use parking_lot::MutexGuard;

use super::producer_log::write_snapshot;
use super::retired::Retired;
use super::{DELETED, Log, Writer};
use crate::error::{Error, Result};
use crate::format::epoch_checkpoint;
use crate::format::names::{SegmentFile, SegmentFileKind};
use crate::io::{FileSystem, replace_file};
use crate::types::Offset;

/// A log in which nothing changes until this is dropped.
#[derive(Debug)]
pub struct Frozen<'l> {
    log: &'l Log,
    /// No flush runs either: it would end in files that are left behind.
    _flush: MutexGuard<'l, ()>,
}

impl Log {
    /// Lets nothing change in the log until the answer is dropped. Flushes that run end first; appends wait.
    pub fn freeze(&self) -> Result<Frozen<'_>> {
        let flush = self.flush.lock();
        let _writer = self.writer.lock();
        self.check_open()?;
        self.is_frozen.store(true, Ordering::SeqCst);
        Ok(Frozen {
            log: self,
            _flush: flush,
        })
    }

    /// Lets every call answer that the log is gone; what runs under its locks ends first.
    pub fn mark_deleted(&self) {
        if let Ok(frozen) = self.freeze() {
            frozen.mark_deleted();
        }
    }

    /// Takes the append lock, once the log is not frozen.
    pub(super) fn unfrozen_writer(&self) -> MutexGuard<'_, Writer> {
        let mut writer = self.writer.lock();
        while self.is_frozen.load(Ordering::SeqCst) {
            self.thawed.wait(&mut writer);
        }
        writer
    }
}

impl Frozen<'_> {
    /// Writes what stands beside the batches, and does not follow from them alone, for a copy that ends at `end`: leader epochs
    /// without records, producers whose records are gone. Durable.
    pub fn write_state(&self, fs: &dyn FileSystem, dir: &Path, end: Offset) -> Result<()> {
        let writer = self.log.writer.lock();
        let epochs = epoch_checkpoint::write(writer.epochs.cache().entries());
        replace_file(fs, &dir.join(epoch_checkpoint::FILE), &epochs)?;
        if end <= self.log.start_offset() {
            return Ok(());
        }
        let name = SegmentFile::live(end, SegmentFileKind::Snapshot).name();
        write_snapshot(fs, &dir.join(name), writer.producers.producers())?.sync()?;
        fs.sync_dir(dir)
    }

    /// Gives a copy that was loaded the leader epochs of the log again: a load forgets those without a record. Durable.
    pub fn restore_epochs(&self, copy: &Log) -> Result<()> {
        let epochs = self.log.writer.lock().epochs.cache().clone();
        let mut writer = copy.writer.lock();
        if *writer.epochs.cache() == epochs {
            return Ok(());
        }
        writer.epochs.store_as(epochs)
    }

    /// The log goes on from the files of `copy`, which holds the same records. Nobody else has the copy.
    pub fn go_on_from(&self, copy: Log) {
        let log = self.log;
        let mut writer = log.writer.lock();
        // Readers that look meanwhile look again.
        log.cuts.fetch_add(1, Ordering::SeqCst);
        log.segments.store(copy.segments.load_full());
        log.home.store(copy.home.load_full());
        log.recovery_point
            .store(copy.recovery_point.load(Ordering::SeqCst), Ordering::SeqCst);
        log.recovered_below.store(
            copy.recovered_below.load(Ordering::SeqCst),
            Ordering::SeqCst,
        );
        log.last_flush.store(log.clock.now().0, Ordering::SeqCst);
        // They lie in the old directory, and go with it.
        *log.retired.lock() = Retired::default();
        let mut next = copy.writer.into_inner();
        // A cut may have left the end above the last batch: what was handed out as the end stays that.
        next.end = next.end.max(writer.end);
        next.high_watermark = writer.high_watermark;
        next.is_watermark_manual = writer.is_watermark_manual;
        std::mem::swap(
            next.producers.producers_mut(),
            writer.producers.producers_mut(),
        );
        *writer = next;
        log.publish(&writer);
        log.cuts.fetch_add(1, Ordering::SeqCst);
        log.waits_have_moved();
    }

    /// Lets every call answer that the log is gone: its directory has another name, and nothing of it is touched from here on.
    pub fn mark_deleted(&self) {
        let _writer = self.log.writer.lock();
        self.log.state.store(DELETED, Ordering::SeqCst);
        self.log.waits.wake_all();
    }

    /// Lets nothing be appended any more, until the log is opened again: its directory is not to be trusted as the latest.
    pub fn refuse_appends(&self, cause: Error) {
        self.log.writer.lock().broken = Some(cause);
    }
}

impl Drop for Frozen<'_> {
    fn drop(&mut self) {
        let _writer = self.log.writer.lock();
        self.log.is_frozen.store(false, Ordering::SeqCst);
        self.log.thawed.notify_all();
    }
}
