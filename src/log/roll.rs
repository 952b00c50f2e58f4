//! When a new segment begins, and how. Implements log.md 2.9, 2.10 and 4.

use std::sync::Arc;

use super::producer_log::Durability;
use super::{Log, Writer};
use crate::config::LogConfig;
use crate::error::{Error, ErrorKind, Result};
use crate::format::names::{FileState, SegmentFileKind};
use crate::io::remove_file_if_exists;
use crate::segment::{Segment, path_of, rename_files};
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
        (input.size_bytes + input.incoming_bytes > input.max_size_bytes, RollReason::Size),
        (!is_empty && waited_ms > input.max_age_ms, RollReason::Age),
        (input.is_index_full, RollReason::IndexFull),
        (input.incoming_last_offset.relative_to(input.base_offset).is_none(), RollReason::OffsetRange),
    ];
    checks.into_iter().find_map(|(rolls, reason)| rolls.then_some(reason))
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
        let base = {
            let mut writer = self.lock_writer();
            self.check_writable(&writer)?;
            let base = writer.end;
            self.roll_at(&mut writer, base)?;
            base
        };
        self.flush_due()?;
        Ok(base)
    }

    /// Begins a new segment at `base` under the append lock. If that fails the old segment stays active.
    pub(super) fn roll_at(&self, writer: &mut Writer, base: Offset) -> Result<()> {
        let active_base = writer.active.segment().base_offset();
        let replaces_active = base == active_base;
        if base < active_base || (replaces_active && writer.active.segment().size_bytes() > 0) {
            return Err(Error::new(
                ErrorKind::KafkaStorage,
                format!("cannot begin a segment at offset {base}: the active one begins at {active_base} and is not empty"),
            )
            .at_offset(base));
        }
        self.begin_segment(writer, base, replaces_active).map_err(|e| self.health.judge(e))
    }

    fn begin_segment(&self, writer: &mut Writer, base: Offset, replaces_active: bool) -> Result<()> {
        let config = self.config();
        if replaces_active {
            // A full index on an empty segment: its files make way for fresh ones of the same name (KAFKA-6388).
            rename_files(&*self.fs, &self.dir, base, FileState::Live, FileState::Deleted)?;
        } else {
            for kind in SegmentFileKind::OF_SEGMENT {
                remove_file_if_exists(&*self.fs, &path_of(&self.dir, base, kind))?;
            }
            writer.active.finish()?;
        }
        writer.producers.set_map_end(base);
        writer.producers.take_snapshot(Durability::Later)?;
        let preallocate = Some(config.initial_file_bytes()).filter(|&bytes| bytes > 0);
        let options = super::load::segment_options(&config);
        let next = Segment::create(&self.fs, &self.dir, base, options, preallocate, self.clock.now())?;
        let segment = Arc::clone(next.segment());

        let old = std::mem::replace(&mut writer.active, next);
        writer.roll_jitter_ms = draw_jitter_ms(&config);
        writer.unsynced_names = true;
        if !replaces_active {
            writer.flush_due = Some(base);
            old.close();
        }
        self.segments.rcu(|list| list.with(Arc::clone(&segment)));
        self.publish(writer);
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
        assert_eq!(should_roll(&RollInput { incoming_bytes: 101, ..input() }), Some(RollReason::Size));
    }

    #[test]
    fn log_md_2_10_age_counts_record_time_from_the_first_batch() {
        let at = |ts| should_roll(&RollInput { incoming_max_timestamp: TimestampMs(ts), ..input() });
        assert_eq!(at(6000), None);
        assert_eq!(at(6001), Some(RollReason::Age));
        assert_eq!(at(-1), None, "a batch without time never rolls by time when the first has one");
        let without =
            RollInput { rolling_timestamp: Some(TimestampMs::NONE), created: TimestampMs(100), ..input() };
        assert_eq!(should_roll(&RollInput { now: TimestampMs(1100), ..without }), None);
        assert_eq!(should_roll(&RollInput { now: TimestampMs(1101), ..without }), Some(RollReason::Age));
        let empty =
            RollInput { size_bytes: 0, rolling_timestamp: None, now: TimestampMs(i64::MAX), ..input() };
        assert_eq!(should_roll(&empty), None, "an empty segment never rolls for time");
    }

    #[test]
    fn full_indexes_and_far_offsets_roll_even_an_empty_segment() {
        let empty = RollInput { size_bytes: 0, rolling_timestamp: None, ..input() };
        assert_eq!(should_roll(&RollInput { is_index_full: true, ..empty }), Some(RollReason::IndexFull));
        let far = Offset(0x8000_0000);
        assert_eq!(
            should_roll(&RollInput { incoming_last_offset: far, ..empty }),
            Some(RollReason::OffsetRange)
        );
    }
}
