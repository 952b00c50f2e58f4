//! How far the recovery of each log has come, on disk: a recovery that is interrupted goes on from there (deviations.md D90).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use super::checkpoints::Checkpoints;
use super::opening::LogCounters;
use crate::error::Result;
use crate::format::checkpoint::{self, Offsets, RECOVERY_POINT_FILE};
use crate::io::{FileSystem, replace_file};
use crate::log::RecoveryProgress;
use crate::types::{Offset, TopicPartition};

/// The recovery points of a directory while its logs are loaded.
#[derive(Debug)]
pub(super) struct DirProgress {
    fs: Arc<dyn FileSystem>,
    path: PathBuf,
    recovery_points: Mutex<Offsets>,
}

impl DirProgress {
    /// As they were read.
    pub(super) fn new(fs: &Arc<dyn FileSystem>, dir: &Path, checkpoints: &Checkpoints) -> Self {
        Self {
            fs: Arc::clone(fs),
            path: dir.join(RECOVERY_POINT_FILE),
            recovery_points: Mutex::new(checkpoints.recovery_points().clone()),
        }
    }
}

/// That of one log.
#[derive(Debug)]
pub(super) struct LogProgress {
    pub(super) dir: Arc<DirProgress>,
    pub(super) partition: TopicPartition,
    /// Those that other threads look at.
    pub(super) counters: LogCounters,
}

impl RecoveryProgress for LogProgress {
    fn recovered_below(&self, offset: Offset) -> Result<()> {
        let mut points = self.dir.recovery_points.lock();
        points.insert(self.partition.clone(), offset);
        replace_file(&*self.dir.fs, &self.dir.path, &checkpoint::write(&points))
    }

    fn begins(&self) {
        self.counters.begin();
    }

    fn expects(&self, segments: u64, bytes: u64) {
        self.counters.expect(segments, bytes);
    }

    fn has_read(&self, bytes: u64) {
        self.counters.add_read(bytes);
    }

    fn segment_done(&self) {
        self.counters.end_segment();
    }

    fn ends(&self) {
        self.counters.end();
    }
}
