//! Which segments retention takes, and taking them. Implements log.md 10.3-10.5, manager.md 5.
//!
//! In two steps, so that what is stored about the log can be made to say it first (deviations.md D32): the log starts later,
//! then the segments that lie below its start go.

use std::sync::Arc;

use super::counters::retention_percent;
use super::{Event, EventKind, Log};
use crate::config::LogConfig;
use crate::error::Result;
use crate::segment::Segment;
use crate::types::{Offset, TimestampMs};

/// What retention looks at of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentAge {
    /// Its base offset.
    pub base: Offset,
    /// Base of the next one; the log end for the last.
    pub upper: Offset,
    /// Bytes of its `.log`.
    pub size_bytes: u64,
    /// Its largest timestamp, or its file's time if it has none.
    pub largest_timestamp: TimestampMs,
}

/// What counts besides the segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetentionInput {
    /// Where the log starts.
    pub log_start: Offset,
    /// Nothing at or above it goes.
    pub high_watermark: Offset,
    /// `retention.bytes`, where the policy deletes.
    pub bytes_max: Option<u64>,
    /// `retention.ms`, where the policy deletes.
    pub age_max_ms: Option<i64>,
    /// The wall time.
    pub now: TimestampMs,
}

impl RetentionInput {
    /// By a log's configuration: without `delete` in its policy only segments below the log start go.
    #[must_use]
    pub fn of(
        config: &LogConfig,
        log_start: Offset,
        high_watermark: Offset,
        now: TimestampMs,
    ) -> Self {
        let deletes = config.cleanup_policy.delete;
        Self {
            log_start,
            high_watermark,
            bytes_max: config.retention_bytes.filter(|_| deletes),
            age_max_ms: config.retention_ms.filter(|_| deletes),
            now,
        }
    }
}

/// How many segments, from the oldest on, are to go: those below the log start, then what is too much, then what is too old
/// (manager.md 5.3). One that stays keeps all behind it.
#[must_use]
pub fn expired_segments(segments: &[SegmentAge], input: &RetentionInput) -> usize {
    let is_last = |i: usize| i + 1 == segments.len();
    let mut gone = expired_prefix(segments, 0, input, |i, segment| {
        !is_last(i) && segment.upper <= input.log_start
    });
    if let Some(bytes_max) = input.bytes_max {
        let total: u64 = segments.iter().skip(gone).map(|s| s.size_bytes).sum();
        let mut excess = total.checked_sub(bytes_max);
        gone = expired_prefix(segments, gone, input, |_, segment| {
            excess = excess.and_then(|excess| excess.checked_sub(segment.size_bytes));
            excess.is_some()
        });
    }
    if let Some(age_max_ms) = input.age_max_ms {
        gone = expired_prefix(segments, gone, input, |_, segment| {
            input.now.0.wrapping_sub(segment.largest_timestamp.0) > age_max_ms
        });
    }
    gone
}

/// Goes on from the first `from` segments as long as they may go (log.md 10.3). An empty last one never does.
fn expired_prefix(
    segments: &[SegmentAge],
    from: usize,
    input: &RetentionInput,
    mut predicate: impl FnMut(usize, &SegmentAge) -> bool,
) -> usize {
    let mut gone = from;
    while let Some(segment) = segments.get(gone) {
        let is_empty_last = gone + 1 == segments.len() && segment.size_bytes == 0;
        // In Kafka's order: the predicate of sizes counts down whenever it is asked.
        if segment.upper > input.high_watermark || !predicate(gone, segment) || is_empty_last {
            break;
        }
        gone += 1;
    }
    gone
}

/// What retention takes of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expired {
    /// How many segments.
    pub segments: usize,
    /// Their bytes.
    pub bytes: u64,
    /// Where the log starts then.
    pub log_start: Offset,
    /// Whether it is all of the log: a new segment begins first.
    is_all: bool,
}

/// What was deleted of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Deleted {
    /// How many segments.
    pub segments: usize,
    /// Their bytes.
    pub bytes: u64,
}

impl Log {
    /// What retention would take now. Nothing changes.
    pub fn expired(&self) -> Result<Expired> {
        self.check_open()?;
        let config = self.config();
        let (end, watermarks) = self.ends();
        let list = self.segments();
        let segments: Vec<&Arc<Segment>> = list.iter().collect();
        let mut ages = Vec::with_capacity(segments.len());
        for (i, segment) in segments.iter().enumerate() {
            ages.push(SegmentAge {
                base: segment.base_offset(),
                upper: segments
                    .get(i + 1)
                    .map_or(end.offset, |next| next.base_offset()),
                size_bytes: segment.size_bytes(),
                largest_timestamp: segment.largest_timestamp()?,
            });
        }
        let input = RetentionInput::of(
            &config,
            self.start_offset(),
            watermarks.high_watermark,
            self.clock.now(),
        );
        let count = expired_segments(&ages, &input);
        let gone = ages.get(..count).unwrap_or_default();
        Ok(Expired {
            segments: count,
            bytes: gone.iter().map(|age| age.size_bytes).sum(),
            log_start: gone.last().map_or(self.start_offset(), |last| {
                last.upper.max(self.start_offset())
            }),
            is_all: count > 0 && count == ages.len(),
        })
    }

    /// The first step of taking what has expired: the log starts behind it. Whether there is anything to take.
    pub fn begin_retention(&self) -> Result<bool> {
        self.check_open()?;
        self.check_owned()?;
        let expired = self.expired()?;
        if expired.segments == 0 {
            return Ok(false);
        }
        if expired.is_all {
            // What is appended meanwhile lies behind it and stays.
            self.roll()?;
        }
        self.raise_start(expired.log_start)?;
        Ok(true)
    }

    /// The second step: segments that lie wholly below the log start are put out of use. Who reads them goes on; their files
    /// are removed by [`Log::remove_retired`] after `file.delete.delay.ms`.
    pub fn delete_below_start(&self) -> Result<Deleted> {
        let mut writer = self.lock_writer();
        self.check_writable(&writer)?;
        let start = self.start_offset();
        let list = self.segments();
        let kept = list.from_floor(start);
        let first_kept = kept.first().map_or(start, |segment| segment.base_offset());
        let gone: Vec<Arc<Segment>> = list
            .iter()
            .filter(|segment| segment.base_offset() < first_kept)
            .cloned()
            .collect();
        if gone.is_empty() {
            return Ok(Deleted::default());
        }
        // What cannot be read of them shows before anything has changed.
        gone.iter()
            .try_for_each(|segment| segment.detach())
            .map_err(|e| self.health().judge(e))?;
        self.segments
            .store(Arc::new(super::SegmentList::new(kept.iter().cloned())));
        let retired = gone
            .iter()
            .try_for_each(|segment| self.retire_segment(&mut writer, segment));
        retired
            .and_then(|()| self.fs.sync_dir(&self.dir()))
            .map_err(|e| {
                self.health()
                    .judge(e)
                    .context(format_args!("retention of {}", self.partition))
            })?;
        let deleted = Deleted {
            segments: gone.len(),
            bytes: gone.iter().map(|segment| segment.size_bytes()).sum(),
        };
        self.tell(EventKind::SegmentsDeleted, |event| Event {
            offset: Some(start),
            count: Some(deleted.segments as u64),
            bytes: Some(deleted.bytes),
            ..event
        });
        Ok(deleted)
    }

    /// Notes how large a pass of retention left the log (manager.md 14, RetentionSizeInPercent).
    pub fn end_retention(&self) {
        let percent = retention_percent(self.size_bytes(), self.config().retention_bytes);
        self.counters.set_retention_percent(percent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ages(segments: &[(i64, u64, i64)], end: i64) -> Vec<SegmentAge> {
        (0..segments.len())
            .map(|i| SegmentAge {
                base: Offset(segments[i].0),
                upper: Offset(segments.get(i + 1).map_or(end, |next| next.0)),
                size_bytes: segments[i].1,
                largest_timestamp: TimestampMs(segments[i].2),
            })
            .collect()
    }

    fn input(hw: i64) -> RetentionInput {
        RetentionInput {
            log_start: Offset(0),
            high_watermark: Offset(hw),
            bytes_max: None,
            age_max_ms: None,
            now: TimestampMs(10_000),
        }
    }

    #[test]
    fn hc26_and_manager_md_5_5_a_log_never_falls_below_its_size() {
        let segments = ages(&[(0, 162, 1), (10, 162, 1), (20, 162, 1)], 30);
        let gone = |bytes| {
            expired_segments(
                &segments,
                &RetentionInput {
                    bytes_max: Some(bytes),
                    ..input(30)
                },
            )
        };
        assert_eq!(
            [486, 485, 325, 324, 163, 162, 0].map(gone),
            [0, 0, 0, 1, 1, 2, 3]
        );
        assert_eq!(expired_segments(&segments, &input(30)), 0);
    }

    #[test]
    fn manager_md_5_5_age_is_strict_and_one_young_segment_protects_the_rest() {
        let segments = ages(&[(0, 100, 5000), (10, 100, 5001), (20, 100, 1)], 30);
        let gone = |ms| {
            expired_segments(
                &segments,
                &RetentionInput {
                    age_max_ms: Some(ms),
                    ..input(30)
                },
            )
        };
        assert_eq!([5000, 4999, 4998, 0].map(gone), [0, 1, 3, 3]);
        let future = ages(&[(0, 100, 99_999), (10, 100, 1)], 20);
        assert_eq!(
            expired_segments(
                &future,
                &RetentionInput {
                    age_max_ms: Some(0),
                    ..input(20)
                }
            ),
            0
        );
    }

    #[test]
    fn hc25_the_high_watermark_bounds_everything() {
        let segments = ages(&[(0, 100, 1), (10, 100, 1), (20, 100, 1)], 30);
        for (hw, expected) in [(0, 0), (9, 0), (10, 1), (29, 2), (30, 3)] {
            let by_age = RetentionInput {
                age_max_ms: Some(0),
                ..input(hw)
            };
            let by_size = RetentionInput {
                bytes_max: Some(0),
                ..input(hw)
            };
            assert_eq!(expired_segments(&segments, &by_age), expected, "{hw}");
            assert_eq!(expired_segments(&segments, &by_size), expected, "{hw}");
        }
    }

    #[test]
    fn log_md_10_4_below_the_start_the_active_segment_stays() {
        let segments = ages(&[(0, 100, 1), (10, 100, 1), (20, 100, 1)], 30);
        for (start, expected) in [(9, 0), (10, 1), (15, 1), (20, 2), (30, 2)] {
            let by_start = RetentionInput {
                log_start: Offset(start),
                ..input(30)
            };
            assert_eq!(expired_segments(&segments, &by_start), expected, "{start}");
        }
    }

    #[test]
    fn manager_md_5_7_an_empty_active_segment_is_never_deleted() {
        let segments = ages(&[(0, 100, 1), (10, 0, 1)], 10);
        let by_age = RetentionInput {
            age_max_ms: Some(0),
            bytes_max: Some(0),
            ..input(10)
        };
        assert_eq!(expired_segments(&segments, &by_age), 1);
        assert_eq!(expired_segments(&ages(&[(10, 0, 1)], 10), &by_age), 0);
    }

    /// After the sizes were looked at the rest is judged by age.
    #[test]
    fn manager_md_5_3_the_steps_follow_each_other() {
        let segments = ages(
            &[(0, 100, 9999), (10, 100, 1), (20, 100, 1), (30, 100, 9999)],
            40,
        );
        let both = RetentionInput {
            bytes_max: Some(300),
            age_max_ms: Some(100),
            ..input(40)
        };
        assert_eq!(expired_segments(&segments, &both), 3);
        assert_eq!(
            expired_segments(
                &segments,
                &RetentionInput {
                    bytes_max: None,
                    ..both
                }
            ),
            0
        );
    }
}
