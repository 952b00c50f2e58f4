//! When a new segment begins, and how. Implements log.md 2.9, 2.10 and 4, W1, W2.
//!
//! A segment begins when all before it is durable: bytes, indexes, names. Else a power cut could take the end of one
//! segment and leave the next, a hole that no load can tell from one that compaction left. The flush comes first, without
//! the append lock; appends wait for it, so that nothing is written behind it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::producer_log::Durability;
use super::{Event, EventKind, Log, Names, Writer};
use crate::config::LogConfig;
use crate::error::{Error, ErrorKind, Result};
use crate::format::names::SegmentFileKind;
use crate::io::remove_file_if_exists;
use crate::segment::{Segment, path_of};
use crate::types::{Offset, TimestampMs};

/// Why a new segment begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RollReason {
    /// The data would make it larger than `segment.bytes`.
    Size,
    /// It is older than `segment.ms`.
    Age,
    /// One of its indexes takes no further entry.
    IndexFull,
    /// The last offset does not fit its relative range.
    OffsetRange,
}

/// What the decision to roll depends on.
#[derive(Clone, Copy, Debug)]
pub struct RollInput {
    /// Base offset of the active segment.
    pub base_offset: Offset,
    /// Its bytes.
    pub size_bytes: u64,
    /// `segment.bytes`.
    pub max_size_bytes: u64,
    /// Bytes to be appended.
    pub incoming_bytes: u64,
    /// Last offset to be appended.
    pub incoming_last_offset: Offset,
    /// Largest timestamp to be appended, -1 for none.
    pub incoming_max_timestamp: TimestampMs,
    /// `segment.ms` and what limits it, less the segment's jitter.
    pub max_age_ms: i64,
    /// Max timestamp of the segment's first batch, if it has one.
    pub rolling_timestamp: Option<TimestampMs>,
    /// When the segment was opened.
    pub created: TimestampMs,
    /// The wall time.
    pub now: TimestampMs,
    /// Whether one of its indexes is full.
    pub is_index_full: bool,
}

/// How far a roll is, under the append lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PendingRoll {
    /// Nobody wants one.
    None,
    /// One waits for the flush of everything before it, and appends wait for the roll.
    Waits,
    /// Everything below this offset is durable and the active segment finished: at this end a segment may begin.
    Ready(Offset),
}

/// Whether a new segment began, or could not yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(super) enum Rolled {
    /// It began, or none was due.
    Done,
    /// [`Log::flush_for_append`] has to come first, without the append lock.
    FlushFirst,
}

/// Whether a new segment must begin before the data is appended; the first reason in Kafka's order.
#[must_use]
pub fn should_roll(input: &RollInput) -> Option<RollReason> {
    let since = match input.rolling_timestamp {
        Some(first) if first.is_some() => (input.incoming_max_timestamp, first),
        _ => (input.now, input.created),
    };
    let waited_ms = since.0.0.wrapping_sub(since.1.0);
    let is_empty = input.size_bytes == 0;
    let checks = [
        (
            input.size_bytes + input.incoming_bytes > input.max_size_bytes,
            RollReason::Size,
        ),
        (!is_empty && waited_ms > input.max_age_ms, RollReason::Age),
        (input.is_index_full, RollReason::IndexFull),
        (
            input
                .incoming_last_offset
                .relative_to(input.base_offset)
                .is_none(),
            RollReason::OffsetRange,
        ),
    ];
    checks
        .into_iter()
        .find_map(|(rolls, reason)| rolls.then_some(reason))
}

/// A segment's part of `segment.jitter.ms`, drawn anew for each (log.md 2.3).
pub(super) fn draw_jitter_ms(config: &LogConfig) -> i64 {
    if config.segment_jitter_ms == 0 {
        return 0;
    }
    // Without random bytes all segments roll in step: what the jitter is there to avoid, but no fault.
    let random = getrandom::u32().unwrap_or(0);
    config.segment_jitter(random.cast_signed())
}

impl Log {
    /// Begins a new segment at the log end. Its base offset.
    pub fn roll(&self) -> Result<Offset> {
        loop {
            {
                let mut writer = self.lock_writer();
                self.check_writable(&writer)?;
                let base = writer.end;
                if self.roll_at(&mut writer, base)? == Rolled::Done {
                    return Ok(base);
                }
            }
            self.flush_for_append()?;
        }
    }

    /// Begins a new segment at the log end, `base`, under the append lock, if all before it is durable. If that fails the
    /// old segment stays active.
    pub(super) fn roll_at(&self, writer: &mut Writer, base: Offset) -> Result<Rolled> {
        let active_base = writer.active.segment().base_offset();
        let is_empty = writer.active.segment().size_bytes() == 0;
        if base < active_base || (base == active_base && !is_empty) {
            return Err(Error::new(
                ErrorKind::KafkaStorage,
                format!("cannot begin a segment at offset {base}: the active one begins at {active_base} and is not empty"),
            )
            .at_offset(base));
        }
        // What is appended may begin above the log end; what was flushed goes up to that.
        if base != active_base && writer.pending_roll != PendingRoll::Ready(writer.end) {
            writer.pending_roll = PendingRoll::Waits;
            return Ok(Rolled::FlushFirst);
        }
        writer.pending_roll = PendingRoll::None;
        self.begin_segment(writer, base)
            .map_err(|e| self.health().judge(e))?;
        // All before it is durable, also if it begins above the end.
        self.recovery_point.fetch_max(base.0, Ordering::SeqCst);
        self.waits.notify(self);
        Ok(Rolled::Done)
    }

    /// An empty active segment of the same base is begun anew in its place: its indexes are full (KAFKA-6388).
    fn begin_segment(&self, writer: &mut Writer, base: Offset) -> Result<()> {
        let config = self.config();
        let is_new = base != writer.active.segment().base_offset();
        for kind in SegmentFileKind::OF_SEGMENT {
            // The log begun anew in place is there all the time; what a cut left of its transaction index goes.
            if is_new || kind == SegmentFileKind::TxnIndex {
                remove_file_if_exists(&*self.fs, &path_of(&self.dir(), base, kind))?;
            }
        }
        writer.producers.set_map_end(base);
        writer.producers.take_snapshot(Durability::Later)?;
        // That of one begun in place is as durable as it was.
        if is_new {
            writer.names = Names::OfNewSegment;
        }
        let preallocate = Some(config.initial_file_bytes()).filter(|&bytes| bytes > 0);
        let options = super::load::segment_options(&config);
        let created = Segment::create(
            &self.fs,
            &self.dir(),
            base,
            options,
            preallocate,
            self.clock.now(),
        );
        let next = match created {
            Ok(next) => next,
            Err(error) if is_new => {
                // What is left of it would be the end of the log at the next load, whatever is appended before it.
                let path = path_of(&self.dir(), base, SegmentFileKind::Log);
                if let Err(left) = remove_file_if_exists(&*self.fs, &path) {
                    writer.broken = Some(left);
                }
                return Err(error);
            }
            Err(error) => return Err(error),
        };
        let segment = Arc::clone(next.segment());
        let old = std::mem::replace(&mut writer.active, next);
        if is_new {
            old.close();
        }
        writer.roll_jitter_ms = draw_jitter_ms(&config);
        self.segments.rcu(|list| list.with(Arc::clone(&segment)));
        writer.follow_end();
        self.publish(writer);
        if is_new {
            self.tell(EventKind::Rolled, |event| Event {
                offset: Some(base),
                ..event
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input() -> RollInput {
        RollInput {
            base_offset: Offset(0),
            size_bytes: 100,
            max_size_bytes: 200,
            incoming_bytes: 100,
            incoming_last_offset: Offset(5),
            incoming_max_timestamp: TimestampMs(5000),
            max_age_ms: 1000,
            rolling_timestamp: Some(TimestampMs(5000)),
            created: TimestampMs(0),
            now: TimestampMs(0),
            is_index_full: false,
        }
    }

    #[test]
    fn log_md_2_9_size_rolls_strictly_above_the_limit() {
        assert_eq!(should_roll(&input()), None);
        assert_eq!(
            should_roll(&RollInput {
                incoming_bytes: 101,
                ..input()
            }),
            Some(RollReason::Size)
        );
    }

    #[test]
    fn log_md_2_10_age_counts_record_time_from_the_first_batch() {
        let at = |ts| {
            should_roll(&RollInput {
                incoming_max_timestamp: TimestampMs(ts),
                ..input()
            })
        };
        assert_eq!(at(6000), None);
        assert_eq!(at(6001), Some(RollReason::Age));
        assert_eq!(
            at(-1),
            None,
            "a batch without time never rolls by time when the first has one"
        );
        let without = RollInput {
            rolling_timestamp: Some(TimestampMs::NONE),
            created: TimestampMs(100),
            ..input()
        };
        assert_eq!(
            should_roll(&RollInput {
                now: TimestampMs(1100),
                ..without
            }),
            None
        );
        assert_eq!(
            should_roll(&RollInput {
                now: TimestampMs(1101),
                ..without
            }),
            Some(RollReason::Age)
        );
        let empty = RollInput {
            size_bytes: 0,
            rolling_timestamp: None,
            now: TimestampMs(i64::MAX),
            ..input()
        };
        assert_eq!(
            should_roll(&empty),
            None,
            "an empty segment never rolls for time"
        );
    }

    #[test]
    fn full_indexes_and_far_offsets_roll_even_an_empty_segment() {
        let empty = RollInput {
            size_bytes: 0,
            rolling_timestamp: None,
            ..input()
        };
        assert_eq!(
            should_roll(&RollInput {
                is_index_full: true,
                ..empty
            }),
            Some(RollReason::IndexFull)
        );
        let far = Offset(0x8000_0000);
        assert_eq!(
            should_roll(&RollInput {
                incoming_last_offset: far,
                ..empty
            }),
            Some(RollReason::OffsetRange)
        );
    }
}
