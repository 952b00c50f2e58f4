//! The high watermark and the last stable offset. Implements log.md 1.5-1.7, state.md 5.1-5.3, 8.
//!
//! By default the high watermark follows the log end: klog is the only replica. A program that replicates moves it itself,
//! as a broker does.

use super::end::{LogEnd, Watermarks};
use super::producer_log::ProducerLog;
use super::{Log, Writer};
use crate::error::{Error, ErrorKind, Result};
use crate::types::Offset;

/// Who moves the high watermark of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum HighWatermark {
    /// It is the log end after every append.
    #[default]
    FollowsEnd,
    /// The caller moves it; at opening it is the offset given, or the log start.
    SetByCaller(Option<Offset>),
}

/// An offset that a high watermark can be, nearest to the one wanted (log.md 1.5).
#[must_use]
pub(super) fn clamped(wanted: Offset, log_start: Offset, end: Offset) -> Offset {
    // A log that was begun anew may start above its end: there the end counts.
    if wanted < log_start {
        log_start
    } else {
        wanted.min(end)
    }
}

/// What readers are to see (log.md 1.7).
pub(super) fn of(producers: &ProducerLog, high_watermark: Offset, log_start: Offset) -> Watermarks {
    let transactions = &producers.producers().transactions;
    Watermarks {
        high_watermark,
        first_unstable: transactions
            .first_unstable_offset()
            .map(|first| first.max(log_start)),
    }
}

impl Writer {
    /// The log end moved: so does a high watermark that follows it, and one that lies above it (log.md 1.2, 3.4 (13)).
    pub(super) fn follow_end(&mut self) {
        if !self.is_watermark_manual || self.high_watermark > self.end {
            self.settle_at(self.end);
        }
    }

    /// The high watermark is this one now: transactions that ended below it are settled.
    pub(super) fn settle_at(&mut self, high_watermark: Offset) {
        self.high_watermark = high_watermark;
        self.producers
            .producers_mut()
            .transactions
            .on_high_watermark(high_watermark);
    }
}

impl Log {
    /// The log end and the watermarks, of one moment.
    #[must_use]
    pub fn ends(&self) -> (LogEnd, Watermarks) {
        self.end.load_all()
    }

    /// Readers of committed data stop here.
    #[must_use]
    pub fn high_watermark(&self) -> Offset {
        self.end.load_all().1.high_watermark
    }

    /// Readers of committed transactions stop here.
    #[must_use]
    pub fn last_stable_offset(&self) -> Offset {
        self.end.load_all().1.last_stable_offset()
    }

    /// Leaves the high watermark to the caller from now on. It stays where it is.
    pub fn leave_high_watermark_to_caller(&self) -> Result<()> {
        self.check_open()?;
        self.check_owned()?;
        self.lock_writer().is_watermark_manual = true;
        Ok(())
    }

    /// Moves the high watermark, also down: into the log's range if it lies outside (log.md 1.5). Where it is now.
    /// INVALID_ARGUMENT if it follows the log end.
    pub fn set_high_watermark(&self, to: Offset) -> Result<Offset> {
        self.move_high_watermark(|_, writer, start| Ok(clamped(to, start, writer.end)))
    }

    /// Moves the high watermark up, or leaves it if it is there already. Where it is now. INVALID_ARGUMENT above the log
    /// end, or if it follows that.
    pub fn raise_high_watermark(&self, to: Offset) -> Result<Offset> {
        self.move_high_watermark(|log, writer, _| {
            if to > writer.end {
                return Err(Error::invalid_argument(format!(
                    "the high watermark {to} lies above the end {} of the log {}",
                    writer.end, log.partition
                )));
            }
            Ok(to.max(writer.high_watermark))
        })
    }

    fn move_high_watermark(
        &self,
        choose: impl FnOnce(&Self, &Writer, Offset) -> Result<Offset>,
    ) -> Result<Offset> {
        let mut writer = self.lock_writer();
        self.check_open()?;
        self.check_owned()?;
        if !writer.is_watermark_manual {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                format!(
                    "the high watermark of {} follows the log end; open the log with the high watermark left to the caller to move it",
                    self.partition
                ),
            ));
        }
        let chosen = choose(self, &writer, self.start_offset())?;
        writer.settle_at(chosen);
        self.publish(&writer);
        Ok(chosen)
    }
}
