//! What the cleaner shows of itself. Implements cleaner.md 11.4, manager.md 14.

use std::path::PathBuf;
use std::thread::ThreadId;

use parking_lot::Mutex;

use super::Manager;
use crate::cleaner::examine::{Active, Examined, examine};
use crate::cleaner::stats::Stats;
use crate::types::TimestampMs;

/// The last passes of so many threads are remembered; who cleans in threads of its own may have many that are gone.
const THREADS_MAX: usize = 64;

/// What is remembered between two looks.
#[derive(Debug, Default)]
pub(super) struct LastRuns(Mutex<Remembered>);

#[derive(Debug, Default)]
struct Remembered {
    /// The last pass of each thread, the latest at the end.
    runs: Vec<(ThreadId, Run)>,
    /// The largest dirty share when a log was last chosen.
    max_dirty_ratio: f64,
    last_choice: Option<TimestampMs>,
    dead_threads: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Run {
    elapsed_ns: u64,
    delay_ms: i64,
    stats: Stats,
}

/// LogCleaner and LogCleanerManager, as Kafka shows them.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct CleanerGauges {
    /// The fullest offset map of the last passes, one a thread.
    pub max_buffer_utilization_percent: u64,
    /// The longest of them.
    pub max_clean_time_secs: u64,
    /// The longest that a record had waited beyond what the configuration allows.
    pub max_compaction_delay_secs: u64,
    /// Bytes that they wrote of those that they read.
    pub recopy_percent: u64,
    /// Threads of the cleaner that ended by a defect.
    pub dead_threads: u64,
    /// The largest dirty share when a log was last chosen.
    pub max_dirty_percent: u64,
    /// Since then; 0 if none was chosen yet.
    pub time_since_last_run_ms: u64,
    /// Its directories, in the order given.
    pub dirs: Vec<Uncleanable>,
}

/// The logs of a directory that the cleaner has given up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Uncleanable {
    /// The directory.
    pub path: PathBuf,
    /// How many there are.
    pub partitions: u64,
    /// Bytes of them that would be cleaned.
    pub bytes: u64,
}

impl LastRuns {
    /// A pass of this thread has ended.
    pub(super) fn note_pass(&self, elapsed_ns: u64, examined: &Examined, stats: &Stats) {
        let mut remembered = self.0.lock();
        let own = std::thread::current().id();
        remembered.runs.retain(|(thread, _)| *thread != own);
        if remembered.runs.len() == THREADS_MAX {
            remembered.runs.remove(0);
        }
        let run = Run {
            elapsed_ns,
            delay_ms: examined.cleanable.delay_ms,
            stats: *stats,
        };
        remembered.runs.push((own, run));
    }

    /// A log was chosen, or none, among logs of which the dirtiest has this share.
    pub(super) fn note_choice(&self, max_dirty_ratio: f64, now: TimestampMs) {
        let mut remembered = self.0.lock();
        remembered.max_dirty_ratio = max_dirty_ratio;
        remembered.last_choice = Some(now);
    }
}

fn percent(part: u64, whole: u64) -> u64 {
    part.saturating_mul(100) / whole.max(1)
}

impl Manager {
    /// A thread that cleans has ended by a defect.
    pub fn note_dead_cleaner(&self) {
        self.cleaning.last_runs.0.lock().dead_threads += 1;
    }

    /// What the cleaner shows of itself, at this moment.
    #[must_use]
    pub fn cleaner_gauges(&self) -> CleanerGauges {
        let dirs = self.uncleanable_by_dir();
        let remembered = self.cleaning.last_runs.0.lock();
        let runs = || remembered.runs.iter().map(|(_, run)| run);
        let most = |of: fn(&Run) -> u64| runs().map(of).max().unwrap_or(0);
        let all = |of: fn(&Stats) -> u64| runs().map(|run| of(&run.stats)).sum();
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of 0 to 1"
        )]
        let max_dirty_percent = (remembered.max_dirty_ratio * 100.0) as u64;
        CleanerGauges {
            max_buffer_utilization_percent: most(|run| {
                percent(run.stats.map_keys, run.stats.map_slots)
            }),
            max_clean_time_secs: most(|run| run.elapsed_ns / 1_000_000_000),
            max_compaction_delay_secs: most(|run| u64::try_from(run.delay_ms / 1000).unwrap_or(0)),
            recopy_percent: percent(all(|s| s.written_bytes), all(|s| s.read_bytes)),
            dead_threads: remembered.dead_threads,
            max_dirty_percent,
            time_since_last_run_ms: remembered.last_choice.map_or(0, |last| {
                u64::try_from(self.clock.now().0.saturating_sub(last.0)).unwrap_or(0)
            }),
            dirs,
        }
    }

    fn uncleanable_by_dir(&self) -> Vec<Uncleanable> {
        let logs: Vec<_> = self
            .uncleanable()
            .iter()
            .filter_map(|(partition, _)| self.log(partition).ok())
            .collect();
        let of = |dir: &super::dirs::LogDir| {
            let here = logs.iter().filter(|log| dir.holds(log));
            let mut given_up = Uncleanable {
                path: dir.path.clone(),
                ..Uncleanable::default()
            };
            for log in here {
                given_up.partitions += 1;
                let checkpoint = self.cleaner_offset(log).unwrap_or_default();
                let examined = examine(log, checkpoint, Active::AsItIs, self.clock.now());
                given_up.bytes += examined.map_or(0, |found| found.cleanable.cleanable_bytes);
            }
            given_up
        };
        self.dirs.iter().map(of).collect()
    }
}
