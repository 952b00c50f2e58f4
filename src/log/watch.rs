//! What is waited for in a log, and whether it is there: an offset passed by one of the ends, with so many bytes stored
//! from there on. Implements log.md 1.1 as far as ends go, and c-abi.md 3.1 (klog_wait_options).
//!
//! Whoever waits looks; nothing here sleeps.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Log;
use super::end::LogEnd;
use super::read::{bytes_below, readable_bytes};
use crate::error::{Error, ErrorKind, Result};
use crate::types::Offset;

/// Which end of a log is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum WaitKind {
    /// The log end: something was appended.
    #[default]
    LogEnd,
    /// The high watermark: readers of committed data get on.
    HighWatermark,
    /// The last stable offset: readers of committed transactions get on.
    LastStable,
    /// The recovery point: records below survive a power cut.
    Durable,
}

impl WaitKind {
    /// All of them.
    pub(crate) const ALL: [Self; 4] = [
        Self::LogEnd,
        Self::HighWatermark,
        Self::LastStable,
        Self::Durable,
    ];
}

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Which end.
    pub kind: WaitKind,
    /// The end has to be above this offset: then the record at it is there.
    pub offset: Offset,
    /// As many bytes of stored batches have to lie between the offset and the end, counted from the batch that holds the
    /// offset on; 0 and 1 are any.
    pub min_bytes: u64,
}

/// A condition with what was learnt about it so far.
#[derive(Clone, Debug)]
pub(crate) struct Watch {
    condition: Condition,
    /// Whether the offset lay in the log at some look, or was its end: if it lies above the end later, the log was cut. Shared by
    /// all clones: one that sleeps is to know what was seen meanwhile.
    was_inside: Arc<AtomicBool>,
    /// Where bytes are counted from.
    from: Option<Place>,
}

/// Where a batch lies, good until the log is cut.
#[derive(Clone, Copy, Debug)]
struct Place {
    cuts: u64,
    segment_base: Offset,
    position: u64,
}

/// What a look at the ends of a log says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// The end has passed the offset; this is where it is.
    Passed(Offset),
    /// The log was cut below the offset.
    Cut,
    NotYet,
}

fn verdict(offset: Offset, value: Offset, log_end: Offset, was_inside: bool) -> Verdict {
    if value > offset {
        Verdict::Passed(value)
    } else if was_inside && offset > log_end {
        Verdict::Cut
    } else {
        Verdict::NotYet
    }
}

impl Watch {
    /// What is watched for.
    pub(crate) fn condition(&self) -> &Condition {
        &self.condition
    }

    /// The log ended there at some time while this was watched for.
    pub(super) fn saw_end(&self, log_end: Offset) {
        if self.condition.offset <= log_end {
            self.was_inside.store(true, Ordering::SeqCst);
        }
    }

    /// Whether a look would answer something, as far as the ends of the log tell. Also under the append lock.
    pub(super) fn is_due(&mut self, log: &Log) -> bool {
        let (end, value) = log.ends_of(self.condition.kind);
        match self.verdict(value, end.offset) {
            Verdict::Passed(value) => self.has_bytes(log, end, value),
            Verdict::Cut => true,
            Verdict::NotYet => false,
        }
    }

    fn verdict(&self, value: Offset, log_end: Offset) -> Verdict {
        self.saw_end(log_end);
        let was_inside = self.was_inside.load(Ordering::SeqCst);
        verdict(self.condition.offset, value, log_end, was_inside)
    }

    /// Whether enough bytes lie between the offset and `upto`. What cannot be counted is enough: who reads finds out.
    fn has_bytes(&mut self, log: &Log, end: LogEnd, upto: Offset) -> bool {
        let enough = self.condition.min_bytes;
        if enough <= 1 || self.condition.offset < log.start_offset() {
            return true;
        }
        let cuts = log.cut_count();
        let known = self.from.filter(|place| place.cuts == cuts);
        let Ok(from) = known.map_or_else(|| Place::of(log, self.condition.offset, end), Ok) else {
            return true;
        };
        self.from = Some(from);
        log.bytes_between(from, end, upto, enough)
            .map_or(true, |bytes| bytes >= enough)
    }
}

impl Place {
    fn of(log: &Log, offset: Offset, end: LogEnd) -> Result<Self> {
        let place = |segment_base, position| Self {
            cuts: log.cut_count(),
            segment_base,
            position,
        };
        if offset < end.offset {
            for segment in log.segments().from_floor(offset) {
                if let Some(position) = segment.position_of(offset, readable_bytes(segment, end))? {
                    return Ok(place(segment.base_offset(), position));
                }
            }
        }
        Ok(place(end.segment_base, end.position))
    }
}

impl Log {
    /// Begins to watch for a condition.
    pub(crate) fn watch(&self, condition: Condition) -> Watch {
        let end = self.end.load();
        let from = if condition.min_bytes > 1 && condition.offset <= end.offset {
            Place::of(self, condition.offset, end).ok()
        } else {
            None
        };
        Watch {
            condition,
            was_inside: Arc::new(AtomicBool::new(condition.offset <= end.offset)),
            from,
        }
    }

    /// Where the end is that is waited for, once the condition holds; `None` as long as it does not and may still come to.
    /// CLOSED, UNKNOWN_TOPIC_OR_PARTITION once the log is closed or deleted; OFFSET_OUT_OF_RANGE, with the log end, once it
    /// was cut below the offset; DIR_OFFLINE once its directory is out of use.
    pub(crate) fn look_for(&self, watch: &mut Watch) -> Result<Option<Offset>> {
        self.check_open()?;
        let (end, value) = self.ends_of(watch.condition.kind);
        match watch.verdict(value, end.offset) {
            Verdict::Passed(value) if watch.has_bytes(self, end, value) => {
                return Ok(Some(value));
            }
            Verdict::Cut => {
                return Err(Error::new(
                    ErrorKind::OffsetOutOfRange,
                    format!(
                        "the log {} was cut: it ends at {}, below the offset {} that is waited for",
                        self.partition, end.offset, watch.condition.offset
                    ),
                )
                .in_partition(self.partition.partition)
                .at_offset(end.offset));
            }
            Verdict::Passed(_) | Verdict::NotYet => {}
        }
        self.health().check()?;
        Ok(None)
    }

    /// Where the end of a kind is.
    pub(super) fn end_of(&self, kind: WaitKind) -> Offset {
        self.ends_of(kind).1
    }

    /// The log end, and the end of a kind.
    fn ends_of(&self, kind: WaitKind) -> (LogEnd, Offset) {
        let (end, watermarks) = self.end.load_all();
        let value = match kind {
            WaitKind::LogEnd => end.offset,
            WaitKind::HighWatermark => watermarks.high_watermark,
            WaitKind::LastStable => watermarks.last_stable_offset(),
            WaitKind::Durable => Offset(self.recovery_point.load(Ordering::SeqCst)),
        };
        (end, value)
    }

    /// Bytes of batches from a place on up to the batch that holds `upto`, or at least `enough`.
    fn bytes_between(&self, from: Place, end: LogEnd, upto: Offset, enough: u64) -> Result<u64> {
        let mut bytes = 0u64;
        for segment in self.segments().from_floor(from.segment_base) {
            if segment.base_offset() >= upto || bytes >= enough {
                break;
            }
            let complete = readable_bytes(segment, end);
            let below = if upto >= end.offset {
                complete
            } else {
                bytes_below(segment, upto, complete)?
            };
            let before = if segment.base_offset() == from.segment_base {
                from.position
            } else {
                0
            };
            bytes += below.saturating_sub(before);
        }
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_passes_an_offset_when_it_is_above_and_a_cut_shows_only_to_who_was_inside() {
        let of = |value, end, inside| verdict(Offset(10), Offset(value), Offset(end), inside);
        assert_eq!(of(11, 11, true), Verdict::Passed(Offset(11)));
        assert_eq!(of(10, 10, true), Verdict::NotYet);
        // The high watermark may be behind.
        assert_eq!(of(3, 12, true), Verdict::NotYet);
        assert_eq!(of(9, 9, true), Verdict::Cut);
        // Who waits for what is to come is not cut.
        assert_eq!(of(9, 9, false), Verdict::NotYet);
        // A recovery point may lie above the end.
        assert_eq!(of(11, 9, true), Verdict::Passed(Offset(11)));
    }
}
