//! Cutting a log at its end, and beginning it anew elsewhere. Implements log.md 9, state.md 6.9, 7.6, 8.5.
//!
//! Readers see the shorter log first, then its files follow. The order is such that a crash leaves a log that ends where the
//! cut was wanted, or above: whole segments go from the last one down, their names durably, before the one that holds the
//! offset is cut. The recovery point and the log start that are
//! stored for the log must not lie above the cut: [`crate::manager::Manager`] sees to that before.
//!
//! Unlike other calls these sync under the append lock: nothing may be appended while a log is cut.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::end::{LogEnd, Watermarks};
use super::lock_order::{Level, Locked};
use super::producer_log::{RebuildRange, Shutdown};
use super::report::LoadNotes;
use super::roll::{PendingRoll, draw_jitter_ms};
use super::{Event, EventKind, Log, Names, SegmentList, Writer};
use crate::error::{Error, Result};
use crate::format::names::SegmentFileKind;
use crate::io::remove_file_if_exists;
use crate::segment::{Segment, SegmentWriter, path_of};
use crate::types::Offset;

impl Log {
    /// Cuts the log at `target`: it is the next offset to be assigned then. The whole batch that holds it goes, so that
    /// offsets below may be missing. The high watermark, and the log start, come down with it if they lie above. Whether
    /// anything was cut. [`crate::manager::Manager::truncate_to`] is what programs call.
    pub fn truncate_to(&self, target: Offset) -> Result<bool> {
        if target.0 < 0 {
            return Err(Error::invalid_argument(format!(
                "a log cannot be cut at the offset {target}"
            )));
        }
        let _flush = Locked::new(Level::Flush, || self.flush.lock());
        self.sync_new_log()?;
        let mut writer = self.lock_writer();
        self.check_writable(&writer)?;
        let end = writer.end;
        if target >= end {
            cut_epochs(&mut writer, end)?;
            return Ok(false);
        }
        let segments = self.segments();
        let Some(kept) = segments.floor(target).cloned() else {
            self.begin_anew(&mut writer, target, target)?;
            return Ok(true);
        };
        // Read first: what cannot be read is not cut.
        let cut = kept.plan_cut(target)?;
        let aborted = cut.aborted();
        let above: Vec<_> = segments
            .range(kept.base_offset().next(), Offset::MAX)
            .iter()
            .filter(|s| s.base_offset() > kept.base_offset())
            .cloned()
            .collect();
        let list = segments.without_above(kept.base_offset());
        let start = self.start_offset().min(target);
        let high_watermark = writer.high_watermark.min(target);
        let done = self
            .take_over(&mut writer, list, target, start, high_watermark, || {
                kept.take_cut(cut, self.clock.now()).map(Some)
            })
            .and_then(|()| {
                self.retire(&mut writer, &above)?;
                writer.active.cut_back()?;
                // Another one if views hold bytes that go.
                let kept = Arc::clone(writer.active.segment());
                self.segments.rcu(|list| list.with(Arc::clone(&kept)));
                kept.keep_aborted(aborted)?;
                kept.file().sync()?;
                cut_epochs(&mut writer, target)?;
                self.rebuild_producers(&mut writer)?;
                // The names of the snapshots that went and came.
                self.fs.sync_dir(&self.dir())
            });
        self.end_of_cut(&mut writer, done)?;
        Ok(true)
    }

    /// Drops all records; the log goes on at `target`, and starts at `start`, or there. The recovery point never rises by
    /// this. [`crate::manager::Manager::truncate_fully`] is what programs call.
    pub fn truncate_fully(&self, target: Offset, start: Option<Offset>) -> Result<()> {
        let start = start.unwrap_or(target);
        if target.0 < 0 || start.0 < 0 {
            return Err(Error::invalid_argument(format!(
                "a log cannot begin at the offset {target} and start at {start}"
            )));
        }
        let _flush = Locked::new(Level::Flush, || self.flush.lock());
        self.sync_new_log()?;
        let mut writer = self.lock_writer();
        self.check_writable(&writer)?;
        self.begin_anew(&mut writer, target, start)
    }

    fn begin_anew(&self, writer: &mut Writer, target: Offset, start: Offset) -> Result<()> {
        let all: Vec<_> = self.segments().iter().cloned().collect();
        // Both are what the log now is, whatever its high watermark was. No segment, until there is the new one.
        let high_watermark = target.max(start);
        let list = SegmentList::new([]);
        let taken = self.take_over(writer, list, target, start, high_watermark, || Ok(None));
        let done = taken.and_then(|()| {
            self.retire(writer, &all)?;
            for kind in SegmentFileKind::OF_SEGMENT {
                remove_file_if_exists(&*self.fs, &path_of(&self.dir(), target, kind))?;
            }
            let config = self.config();
            let preallocate = Some(config.initial_file_bytes()).filter(|&bytes| bytes > 0);
            writer.active = Segment::create(
                &self.fs,
                &self.dir(),
                target,
                super::load::segment_options(&config),
                preallocate,
                self.clock.now(),
            )?;
            writer.roll_jitter_ms = draw_jitter_ms(&config);
            let list = SegmentList::new([Arc::clone(writer.active.segment())]);
            self.segments.store(Arc::new(list));
            if writer.epochs.cache_mut().clear().is_change() {
                writer.epochs.store()?;
            }
            writer.producers.restart_at(target)?;
            self.rebuild_producers(writer)?;
            self.fs.sync_dir(&self.dir())
        });
        self.end_of_cut(writer, done)
    }

    /// Puts segments out of use, the last one first, with the snapshots at their bases.
    fn retire(&self, writer: &mut Writer, segments: &[Arc<Segment>]) -> Result<()> {
        for segment in segments.iter().rev() {
            self.retire_segment(writer, segment)?;
            // The next one down must not go before this one is gone.
            self.fs.sync_dir(&self.dir())?;
        }
        Ok(())
    }

    /// Lets readers see the shorter log, before any of its files is touched: those that began before look again, whatever
    /// they found or missed. `cut` makes the writer of what is left, if there is anything. Until producers and transactions
    /// are known again nothing is stable: markers may have gone.
    fn take_over(
        &self,
        writer: &mut Writer,
        segments: SegmentList,
        end: Offset,
        start: Offset,
        high_watermark: Offset,
        cut: impl FnOnce() -> Result<Option<SegmentWriter>>,
    ) -> Result<()> {
        self.cuts.fetch_add(1, Ordering::SeqCst);
        let active = cut();
        let (segment_base, position) = match &active {
            Ok(Some(active)) => (
                active.segment().base_offset(),
                active.segment().size_bytes(),
            ),
            _ => (end, 0),
        };
        if active.is_ok() {
            writer.pending_roll = PendingRoll::None;
            writer.end = end;
            self.recovery_point.fetch_min(end.0, Ordering::SeqCst);
            self.recovered_below.fetch_min(end.0, Ordering::SeqCst);
            self.start.store(start.0, Ordering::SeqCst);
            writer.settle_at(high_watermark);
            self.segments.store(Arc::new(segments));
            self.end.publish(
                LogEnd {
                    offset: end,
                    segment_base,
                    position,
                },
                Watermarks {
                    high_watermark,
                    first_unstable: Some(start),
                },
            );
        }
        self.cuts.fetch_add(1, Ordering::SeqCst);
        self.waits.notify(self);
        if let Some(active) = active? {
            writer.active = active;
        }
        Ok(())
    }

    /// Brings producers and transactions to where the log ends now.
    fn rebuild_producers(&self, writer: &mut Writer) -> Result<()> {
        let range = RebuildRange {
            log_start: self.start_offset(),
            end: writer.end,
            now: self.clock.now(),
        };
        let mut notes = LoadNotes::default();
        writer
            .producers
            .rebuild(&self.segments(), range, Shutdown::Unclean, &mut notes)?;
        let high_watermark = writer.high_watermark;
        writer.settle_at(high_watermark);
        self.publish(writer);
        Ok(())
    }

    /// A cut that failed half way is finished by the next load; until then nothing is appended.
    fn end_of_cut(&self, writer: &mut Writer, done: Result<()>) -> Result<()> {
        writer.names = Names::Durable;
        if done.is_ok() {
            self.tell(EventKind::Truncated, |event| Event {
                offset: Some(writer.end),
                ..event
            });
        }
        done.map_err(|error| {
            writer.broken = Some(error.clone());
            self.health()
                .judge(error)
                .context(format_args!("cut of {}", self.partition))
        })
    }
}

/// Forgets the epochs that begin at the end or above, durably.
fn cut_epochs(writer: &mut Writer, end: Offset) -> Result<()> {
    let mut epochs = writer.epochs.cache().clone();
    if epochs.truncate_from_end(end).is_change() {
        writer.epochs.store_as(epochs)?;
    }
    Ok(())
}
