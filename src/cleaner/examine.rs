//! Looks at a log for what of it can be cleaned: gathers what [`super::choose`] decides by. Implements cleaner.md 2.2-2.5.

use std::sync::Arc;

use super::choose::{
    Cleanable, DirtySegment, LogBounds, compaction_delay_ms, first_dirty, first_uncleanable,
    non_active,
};
use crate::error::Result;
use crate::log::{Log, LogEnd, SegmentList, Shape};
use crate::types::{Offset, TimestampMs};

/// A log with what of it can be cleaned, as it was at one moment.
#[derive(Clone, Debug)]
pub struct Examined {
    /// The segments.
    pub(super) segments: Arc<SegmentList>,
    /// Tells whether the log was cut since.
    pub(super) shape: Shape,
    /// Where the log ended: what is appended later is not looked at.
    pub(super) end: LogEnd,
    /// What can be cleaned.
    pub cleanable: Cleanable,
    /// Whether the checkpoint did not fit the log: it is to be written anew, whether the log is cleaned now or not.
    pub rewrites_checkpoint: bool,
}

/// Which of a log's segments is taken for the one that is appended to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Active {
    /// The last one, as it is.
    AsItIs,
    /// An empty one behind it, as after a roll: for telling what a pass after a roll would do.
    AsIfRolled,
}

/// Looks at a log whose checkpoint is this one, as if it were `now`.
pub fn examine(
    log: &Log,
    checkpoint: Option<Offset>,
    active: Active,
    now: TimestampMs,
) -> Result<Examined> {
    let config = log.config();
    let (list, shape) = log.segments_and_shape();
    let (end, watermarks) = log.ends();
    let bounds = LogBounds {
        start: log.start_offset(),
        end: end.offset,
        last_stable: watermarks.last_stable_offset(),
    };
    let dirty = first_dirty(checkpoint, &bounds);
    let needs_times = config.min_compaction_lag_ms > 0;
    let mut segments = Vec::with_capacity(list.len() + 1);
    for segment in list.iter() {
        let largest_timestamp = if needs_times {
            segment.largest_timestamp()?
        } else {
            TimestampMs::NONE
        };
        segments.push(DirtySegment {
            base: segment.base_offset(),
            bytes: segment.size_bytes(),
            largest_timestamp,
        });
    }
    if active == Active::AsIfRolled && segments.last().is_some_and(|last| last.bytes > 0) {
        segments.push(DirtySegment {
            base: end.offset,
            bytes: 0,
            largest_timestamp: TimestampMs::NONE,
        });
    }
    let uncleanable = first_uncleanable(
        &segments,
        dirty.offset,
        &bounds,
        config.min_compaction_lag_ms,
        now,
    );
    let max_lag_ms = config.max_compaction_lag_ms;
    let delay_ms = if max_lag_ms == i64::MAX {
        0
    } else {
        let mut times = Vec::new();
        for dirty in non_active(&segments, dirty.offset) {
            let segment = list.floor(dirty.base);
            let time = segment.map(|segment| segment.first_batch_timestamp());
            times.extend(time.transpose()?.flatten());
        }
        compaction_delay_ms(times, max_lag_ms, now)
    };
    Ok(Examined {
        segments: list,
        shape,
        end,
        cleanable: Cleanable::new(&segments, dirty.offset, uncleanable, delay_ms),
        rewrites_checkpoint: dirty.rewrites_checkpoint,
    })
}
