//! What the cleaner has to show. Nothing is cleaned yet: all of it is 0.

use std::path::PathBuf;

use crate::manager::Manager;

/// LogCleaner and LogCleanerManager of manager.md 14.
#[derive(Clone, Debug, Default)]
pub(super) struct CleanerStats {
    pub(super) max_buffer_utilization_percent: u64,
    pub(super) max_clean_time_secs: u64,
    pub(super) max_compaction_delay_secs: u64,
    pub(super) recopy_percent: u64,
    pub(super) dead_threads: u64,
    pub(super) max_dirty_percent: u64,
    pub(super) time_since_last_run_ms: u64,
    pub(super) dirs: Vec<DirtyStats>,
}

/// Those of one directory.
#[derive(Clone, Debug, Default)]
pub(super) struct DirtyStats {
    pub(super) path: PathBuf,
    pub(super) uncleanable_partitions: u64,
    pub(super) uncleanable_bytes: u64,
}

impl CleanerStats {
    /// At this moment.
    pub(super) fn of(manager: &Manager) -> Self {
        let dirs = manager.dirs().into_iter();
        Self {
            dirs: dirs
                .map(|dir| DirtyStats {
                    path: dir.path,
                    ..DirtyStats::default()
                })
                .collect(),
            ..Self::default()
        }
    }
}
