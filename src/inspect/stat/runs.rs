//! The segments of a log, of which there may be any number, in little room.

use crate::types::{Offset, TimestampMs};

/// Neighbours are put together so that there are no more.
const RUNS_MAX: usize = 128;

/// One segment, or a few that are neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentRun {
    /// Where the first begins.
    pub base: Offset,
    /// Where the last ends: the base of the next, or the end of the log.
    pub end: Offset,
    /// How many.
    pub segments: usize,
    /// Bytes of their `.log` files.
    pub bytes: u64,
    /// Records in them.
    pub records: u64,
    /// The smallest and the largest of the batches' largest timestamps.
    pub times: Option<(TimestampMs, TimestampMs)>,
}

impl SegmentRun {
    /// With a batch of this time.
    pub fn see(&mut self, time: TimestampMs) {
        let (first, last) = self.times.unwrap_or((time, time));
        self.times = Some((first.min(time), last.max(time)));
    }

    fn take(&mut self, next: &Self) {
        self.end = next.end;
        self.segments += next.segments;
        self.bytes += next.bytes;
        self.records += next.records;
        for time in next.times.into_iter().flat_map(|(a, b)| [a, b]) {
            self.see(time);
        }
    }
}

/// All segments of a log, in runs of as many each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentRuns {
    runs: Vec<SegmentRun>,
    per_run: usize,
}

impl Default for SegmentRuns {
    fn default() -> Self {
        Self {
            runs: Vec::new(),
            per_run: 1,
        }
    }
}

impl SegmentRuns {
    /// The runs, the oldest first.
    #[must_use]
    pub fn list(&self) -> &[SegmentRun] {
        &self.runs
    }

    /// How many segments each run has; the last may have fewer.
    #[must_use]
    pub fn per_run(&self) -> usize {
        self.per_run
    }

    /// Takes the next segment in.
    pub fn push(&mut self, next: SegmentRun) {
        match self.runs.last_mut() {
            Some(last) if last.segments < self.per_run => last.take(&next),
            _ => self.runs.push(next),
        }
        if self.runs.len() > RUNS_MAX {
            self.per_run *= 2;
            let halves = std::mem::take(&mut self.runs);
            for run in halves {
                match self.runs.last_mut() {
                    Some(last) if last.segments < self.per_run => last.take(&run),
                    _ => self.runs.push(run),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn however_many_segments_there_are_nothing_is_lost_and_little_is_kept() {
        for count in [0_i64, 1, 127, 128, 129, 1000, 100_000] {
            let mut runs = SegmentRuns::default();
            for i in 0..count {
                runs.push(SegmentRun {
                    base: Offset(i * 10),
                    end: Offset(i * 10 + 10),
                    segments: 1,
                    bytes: 100,
                    records: 9,
                    times: Some((TimestampMs(i), TimestampMs(i + 1))),
                });
            }
            let list = runs.list();
            assert!(list.len() <= RUNS_MAX);
            assert_eq!(list.iter().map(|r| r.segments as i64).sum::<i64>(), count);
            assert_eq!(
                list.iter().map(|r| r.bytes).sum::<u64>(),
                100 * count as u64
            );
            assert_eq!(
                list.iter().map(|r| r.records).sum::<u64>(),
                9 * count as u64
            );
            for (left, right) in list.iter().zip(&list[list.len().min(1)..]) {
                assert_eq!(left.end, right.base);
                assert_eq!(left.segments, runs.per_run());
            }
            let last = list.last().map(|run| (run.end, run.times.unwrap().1));
            let expected = (count > 0).then_some((Offset(count * 10), TimestampMs(count)));
            assert_eq!(last, expected);
        }
    }
}
