//! The offset checkpoints of a log directory. Implements manager.md 2.5, 7.1-7.4, records.md 10, hard-cases.md HC20.

use std::path::Path;

use super::HighWatermarks;
use crate::error::Result;
use crate::format::checkpoint::{
    self, HIGH_WATERMARK_FILE, LOG_START_FILE, Offsets, RECOVERY_POINT_FILE,
};
use crate::io::{FileSystem, SMALL_FILE_BYTES_MAX, read_parsed, replace_file};
use crate::log::Log;
use crate::types::{Offset, TopicPartition};

/// What the files said at opening, as far as it is still needed.
#[derive(Debug, Default)]
pub(super) struct Checkpoints {
    recovery_points: Offsets,
    log_starts: Offsets,
    high_watermarks: Offsets,
}

/// A file that could not be understood; it counts as absent.
pub(super) struct Unreadable {
    pub(super) problem: String,
}

impl Checkpoints {
    /// Reads the files. One that is malformed counts as empty and is named.
    pub(super) fn read(fs: &dyn FileSystem, dir: &Path) -> Result<(Self, Vec<Unreadable>)> {
        let mut unreadable = Vec::new();
        let mut read = |name: &str| -> Result<Offsets> {
            let path = dir.join(name);
            let read = read_parsed(fs, &path, SMALL_FILE_BYTES_MAX, checkpoint::parse)?;
            match read.unwrap_or_else(|| Ok(Offsets::new())) {
                Ok(offsets) => Ok(offsets),
                Err(e) => {
                    unreadable.push(Unreadable {
                        problem: format!("{name}: {e}"),
                    });
                    Ok(Offsets::new())
                }
            }
        };
        let recovery_points = read(RECOVERY_POINT_FILE)?;
        let log_starts = read(LOG_START_FILE)?;
        let high_watermarks = read(HIGH_WATERMARK_FILE)?;
        Ok((
            Self {
                recovery_points,
                log_starts,
                high_watermarks,
            },
            unreadable,
        ))
    }

    pub(super) fn recovery_point(&self, partition: &TopicPartition) -> Offset {
        offset_of(&self.recovery_points, partition)
    }

    /// The recovery points as they were read.
    pub(super) fn recovery_points(&self) -> &Offsets {
        &self.recovery_points
    }

    pub(super) fn log_start(&self, partition: &TopicPartition) -> Offset {
        offset_of(&self.log_starts, partition)
    }

    pub(super) fn high_watermark(&self, partition: &TopicPartition) -> Option<Offset> {
        self.high_watermarks.get(partition).copied()
    }

    /// Whether the files vouch for more of a log than opening found: its end was lost, or cut inside a batch.
    pub(super) fn says_too_much(&self, log: &Log, high_watermarks: HighWatermarks) -> bool {
        let partition = log.partition();
        self.recovery_point(partition) > log.recovery_point()
            || high_watermarks == HighWatermarks::FromCheckpoint
                && self.high_watermark(partition) > Some(log.high_watermark())
    }

    /// The partitions that the files speak of, some of them more than once.
    pub(super) fn partitions(&self) -> impl Iterator<Item = &TopicPartition> {
        let all = [
            &self.recovery_points,
            &self.log_starts,
            &self.high_watermarks,
        ];
        all.into_iter().flat_map(Offsets::keys)
    }

    /// Keeps only the entries of partitions that are in the directory but not served: they are written again as they
    /// were.
    pub(super) fn keep_only(&mut self, unserved: &[TopicPartition]) {
        self.recovery_points
            .retain(|partition, _| unserved.contains(partition));
        self.log_starts
            .retain(|partition, _| unserved.contains(partition));
        self.high_watermarks
            .retain(|partition, _| unserved.contains(partition));
    }

    /// Writes all files: the entries that are kept for logs that failed to load, and those of the logs that are served.
    pub(super) fn write(
        &self,
        fs: &dyn FileSystem,
        dir: &Path,
        served: Served,
        failed: &[TopicPartition],
    ) -> Result<()> {
        for (name, kept, offsets) in [
            (
                RECOVERY_POINT_FILE,
                &self.recovery_points,
                served.recovery_points,
            ),
            (LOG_START_FILE, &self.log_starts, served.log_starts),
            (
                HIGH_WATERMARK_FILE,
                &self.high_watermarks,
                served.high_watermarks,
            ),
        ] {
            let mut all = kept.clone();
            all.retain(|partition, _| failed.contains(partition));
            all.extend(offsets);
            replace_file(fs, &dir.join(name), &checkpoint::write(&all))?;
        }
        Ok(())
    }
}

/// What the logs that are served say for the files.
#[derive(Debug, Default)]
pub(super) struct Served {
    recovery_points: Offsets,
    log_starts: Offsets,
    high_watermarks: Offsets,
}

/// What a change that is under way means for what is stored of its log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limit {
    /// Nothing: the log as it is.
    None,
    /// No offset is above this one: the log is cut there.
    NoneAbove(Offset),
    /// The log starts here, or above: what lies below is deleted.
    StartAtLeast(Offset),
}

impl Served {
    /// Adds a log as it is now, within a limit.
    pub(super) fn add(&mut self, log: &Log, limit: Limit) {
        let limited = |offset: Offset| match limit {
            Limit::NoneAbove(limit) => offset.min(limit),
            Limit::None | Limit::StartAtLeast(_) => offset,
        };
        let partition = log.partition();
        self.recovery_points
            .insert(partition.clone(), limited(log.stored_recovery_point()));
        let start = match limit {
            Limit::StartAtLeast(start) => log.start_offset().max(start),
            Limit::None | Limit::NoneAbove(_) => limited(log.start_offset()),
        };
        // One at the base of the first segment needs no entry (manager.md 7.4); but while a log is cut that may go.
        let first = log.segments().first().map(|first| first.base_offset());
        if matches!(limit, Limit::NoneAbove(_)) || first.is_some_and(|first| start > first) {
            self.log_starts.insert(partition.clone(), start);
        }
        self.high_watermarks
            .insert(partition.clone(), limited(log.high_watermark()));
    }
}

/// 0 without an entry. The files may hold negative offsets; no log starts there.
fn offset_of(offsets: &Offsets, partition: &TopicPartition) -> Offset {
    offsets
        .get(partition)
        .copied()
        .unwrap_or(Offset::ZERO)
        .max(Offset::ZERO)
}
