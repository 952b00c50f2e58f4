//! The offset checkpoints of a log directory. Implements manager.md 2.5, 7.1-7.4, records.md 10, hard-cases.md HC20.

use std::path::Path;

use crate::error::Result;
use crate::format::checkpoint::{self, LOG_START_FILE, Offsets, RECOVERY_POINT_FILE};
use crate::io::{FileSystem, read_file, replace_file};
use crate::types::{Offset, TopicPartition};

/// What the files said at opening, as far as it is still needed.
#[derive(Debug, Default)]
pub(super) struct Checkpoints {
    recovery_points: Offsets,
    log_starts: Offsets,
}

/// A file that could not be understood; it counts as absent.
pub(super) struct Unreadable {
    pub(super) problem: String,
}

impl Checkpoints {
    /// Reads both files. One that is malformed counts as empty and is named.
    pub(super) fn read(fs: &dyn FileSystem, dir: &Path) -> Result<(Self, Vec<Unreadable>)> {
        let mut unreadable = Vec::new();
        let mut read = |name: &str| -> Result<Offsets> {
            let path = dir.join(name);
            match checkpoint::parse(&read_file(fs, &path)?.unwrap_or_default()) {
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
        Ok((
            Self {
                recovery_points,
                log_starts,
            },
            unreadable,
        ))
    }

    pub(super) fn recovery_point(&self, partition: &TopicPartition) -> Offset {
        offset_of(&self.recovery_points, partition)
    }

    pub(super) fn log_start(&self, partition: &TopicPartition) -> Offset {
        offset_of(&self.log_starts, partition)
    }

    /// Keeps only the entries of partitions that are in the directory but not served: they are written again as they
    /// were.
    pub(super) fn keep_only(&mut self, unserved: &[TopicPartition]) {
        self.recovery_points
            .retain(|partition, _| unserved.contains(partition));
        self.log_starts
            .retain(|partition, _| unserved.contains(partition));
    }

    pub(super) fn write_recovery_points(
        &self,
        fs: &dyn FileSystem,
        dir: &Path,
        served: Offsets,
    ) -> Result<()> {
        write(fs, dir, RECOVERY_POINT_FILE, &self.recovery_points, served)
    }

    pub(super) fn write_log_starts(
        &self,
        fs: &dyn FileSystem,
        dir: &Path,
        served: Offsets,
    ) -> Result<()> {
        write(fs, dir, LOG_START_FILE, &self.log_starts, served)
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

fn write(
    fs: &dyn FileSystem,
    dir: &Path,
    name: &str,
    kept: &Offsets,
    served: Offsets,
) -> Result<()> {
    let mut all = kept.clone();
    all.extend(served);
    replace_file(fs, &dir.join(name), &checkpoint::write(&all))
}
