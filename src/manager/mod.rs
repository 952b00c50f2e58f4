//! All logs of one or several log directories: opening, listing, creating, closing.
//!
//! Owns the directories: their locks, clean-shutdown markers, checkpoints and what stands in `meta.properties`. A
//! directory or a log that cannot be opened is reported and left as it is; everything else is served. What is not Kafka's
//! is left alone.
//!
//! Promises: a directory is owned by one manager at a time, in this process and across processes; the clean-shutdown
//! marker stands only over directories whose every log was closed in order. A manager that only reads owns nothing and writes
//! nothing. Implements manager.md 1-3 and 10.
//!
//! Directories that are marked `-stray` are left as they are.

mod adopt;
mod checkpoints;
mod clean;
mod cleaner_gauges;
mod cleaner_offsets;
mod cleaning;
mod close;
mod create;
mod delete;
mod dirs;
mod follow;
mod loading;
mod meta;
mod move_intent;
mod moving;
mod open;
mod opening;
mod placement;
mod planning;
mod progress;
mod reconfigure;
mod resolve;
mod retain;
mod retry;
mod stats;
mod tasks;
mod truncate;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use arc_swap::ArcSwap;
use parking_lot::{Mutex, RwLock};

use crate::config::Resolved;
use crate::error::{Error, ErrorKind, Result};
use crate::format::meta_properties::MetaProperties;
use crate::io::{Clock, FileSystem, RealFs, SystemClock};
use crate::log::{DirHealth, Finding, Log};
use crate::types::TopicPartition;

pub use adopt::Adopted;
pub use clean::{CleanOptions, CleanedLog, Roll, total};
pub use cleaner_gauges::{CleanerGauges, Uncleanable};
use cleaning::Cleaning;
pub use create::CreateOptions;
use delete::Deletions;
use dirs::LogDir;
pub use dirs::MissingDir;
pub use follow::Access;
use follow::Following;
pub use opening::{DirOpening, LogOpening, OpenProgress};
pub use retain::{Pass, Retained};
use stats::Stats;
pub use stats::{DirStats, Snapshot};
use tasks::Schedule;
pub use tasks::{Task, TickResult};

/// How a manager is opened.
#[derive(Clone, Debug)]
pub struct ManagerOptions {
    /// The log directories. Relative ones count from the working directory at opening.
    pub dirs: Vec<PathBuf>,
    /// What to do about a directory that does not exist.
    pub missing_dir: MissingDir,
    /// Whose they are.
    pub access: Access,
    /// The configuration.
    pub config: Arc<Resolved>,
    /// The file system that they are on.
    pub fs: Arc<dyn FileSystem>,
    /// The wall clock.
    pub clock: Arc<dyn Clock>,
    /// Threads that load and close logs, for each directory; `None` is `num.recovery.threads.per.data.dir`.
    pub recovery_threads: Option<usize>,
    /// The broker epoch for the clean-shutdown marker; -1 for none.
    pub broker_epoch: i64,
    /// Where the high watermarks of the logs come from.
    pub high_watermarks: HighWatermarks,
    /// Where another thread can see how far the opening is.
    pub progress: Option<Arc<OpenProgress>>,
}

/// Where the high watermarks of the logs come from (manager.md 7.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum HighWatermarks {
    /// Each follows its log's end: there is one replica.
    #[default]
    FollowEnd,
    /// From `replication-offset-checkpoint` at opening; from then on the caller moves them, as a broker does.
    FromCheckpoint,
}

impl ManagerOptions {
    /// Directories of the machine's file system, with the machine's clock; they must exist.
    #[must_use]
    pub fn new(dirs: Vec<PathBuf>, config: Arc<Resolved>) -> Self {
        Self {
            dirs,
            missing_dir: MissingDir::Refuse,
            access: Access::Own,
            config,
            fs: Arc::new(RealFs),
            clock: Arc::new(SystemClock),
            recovery_threads: None,
            broker_epoch: -1,
            high_watermarks: HighWatermarks::FollowEnd,
            progress: None,
        }
    }
}

/// Logs in their directories.
#[derive(Debug)]
pub struct Manager {
    fs: Arc<dyn FileSystem>,
    /// If it only reads.
    following: Option<Following>,
    clock: Arc<dyn Clock>,
    config: ArcSwap<Resolved>,
    /// Held while the configuration is changed.
    reconfiguring: Mutex<()>,
    /// `None` leaves it to the configuration.
    recovery_threads: Option<usize>,
    broker_epoch: i64,
    high_watermarks: HighWatermarks,
    dirs: Vec<LogDir>,
    /// As they are spelled in the options.
    given_dirs: Vec<PathBuf>,
    logs: RwLock<BTreeMap<TopicPartition, Arc<Log>>>,
    /// Copies of logs that are on their way to another directory.
    futures: RwLock<BTreeMap<TopicPartition, Arc<Log>>>,
    failed: RwLock<Vec<FailedLog>>,
    /// Held while a log is loaded again.
    retrying: Mutex<()>,
    /// The partitions that somebody moves now.
    moving: Mutex<BTreeSet<TopicPartition>>,
    /// Written while a copy takes the place of its log; read while a log is changed that must not move meanwhile.
    /// Lock order: this, the list of logs, a directory's `checkpointing`, the locks of a log.
    swapping: RwLock<()>,
    report: Vec<Finding>,
    counts: OpenCounts,
    closed: AtomicBool,
    /// The logs that were made since the opening.
    made: Mutex<BTreeSet<TopicPartition>>,
    deletions: Mutex<Deletions>,
    schedule: Mutex<Schedule>,
    cleaning: Cleaning,
    /// What is counted and told of all this.
    stats: Stats,
}

/// A log that could not be opened; its directory is as it was.
#[derive(Clone, Debug)]
pub struct FailedLog {
    /// Its topic and partition.
    pub partition: TopicPartition,
    /// Whether it is the log itself or a copy.
    pub role: Role,
    /// Its directory.
    pub dir: PathBuf,
    /// Why.
    pub error: Error,
}

/// What a log is to its partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// The one that is served.
    Current,
    /// A copy on its way to another directory, marked `-future`.
    Future,
}

/// What opening did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenCounts {
    /// Segments that were recovered.
    pub segments_recovered: u64,
    /// Bytes that were cut off.
    pub bytes_truncated: u64,
    /// Segments whose indexes were made anew.
    pub indexes_rebuilt: u64,
}

/// A log directory as it is now.
#[derive(Clone, Debug)]
pub struct DirInfo {
    /// Its path.
    pub path: PathBuf,
    /// What took it offline.
    pub failure: Option<Error>,
    /// What its `meta.properties` says.
    pub meta: MetaProperties,
    /// Whether it was closed in order before this opening.
    pub was_clean: bool,
}

impl Manager {
    /// Every log, by topic, then partition.
    #[must_use]
    pub fn logs(&self) -> Vec<Arc<Log>> {
        self.logs.read().values().cloned().collect()
    }

    /// The logs that could not be opened, and were not since.
    #[must_use]
    pub fn failed_logs(&self) -> Vec<FailedLog> {
        self.failed.read().clone()
    }

    /// The log of a partition. What could not be opened answers why.
    pub fn log(&self, partition: &TopicPartition) -> Result<Arc<Log>> {
        self.check_open()?;
        // Held on: a log that is loaded again goes from one list to the other.
        let logs = self.logs.read();
        if let Some(log) = logs.get(partition) {
            return Ok(Arc::clone(log));
        }
        match self
            .failed
            .read()
            .iter()
            .find(|failed| failed.partition == *partition && failed.role == Role::Current)
        {
            Some(failed) => Err(failed.error.clone()),
            None => Err(self.unknown(partition, format!("there is no log {partition}"))),
        }
    }

    /// What is answered of a log that is not in the list: that it is unknown, or that a close emptied the list meanwhile.
    pub(crate) fn unknown(&self, partition: &TopicPartition, message: String) -> Error {
        self.check_open().err().unwrap_or_else(|| {
            Error::new(ErrorKind::UnknownTopicOrPartition, message)
                .in_partition(partition.partition)
        })
    }

    /// What opening found and did, sorted by directory and partition.
    #[must_use]
    pub fn report(&self) -> &[Finding] {
        &self.report
    }

    /// What opening did, in numbers.
    #[must_use]
    pub fn open_counts(&self) -> OpenCounts {
        self.counts
    }

    /// The directories, in the order given.
    #[must_use]
    pub fn dirs(&self) -> Vec<DirInfo> {
        self.dirs
            .iter()
            .map(|dir| DirInfo {
                path: dir.path.clone(),
                failure: dir.health.failure(),
                meta: dir.meta.read().clone(),
                was_clean: dir.was_clean,
            })
            .collect()
    }

    /// The configuration as it is now.
    #[must_use]
    pub fn config(&self) -> Arc<Resolved> {
        self.config.load_full()
    }

    /// The wall clock.
    #[must_use]
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// Makes every log durable. The first failure is answered; the other logs are flushed all the same.
    pub fn flush_all(&self) -> Result<()> {
        self.check_open()?;
        self.check_owned()?;
        let mut first = Ok(());
        for log in self.logs() {
            let flushed = log.flush();
            if first.is_ok() {
                first = flushed;
            }
        }
        first
    }

    fn check_open(&self) -> Result<()> {
        if self.closed.load(std::sync::atomic::Ordering::SeqCst) {
            return Err(Error::new(ErrorKind::Closed, "the manager is closed"));
        }
        Ok(())
    }

    fn dir_of(&self, log: &Log) -> Option<&LogDir> {
        self.dirs.iter().find(|dir| dir.holds(log))
    }
}

/// The state of a directory, for logs that are made in it.
fn health_of(dir: &LogDir) -> Arc<DirHealth> {
    Arc::clone(&dir.health)
}

/// The directory of a partition.
fn partition_dir(dir: &Path, partition: &TopicPartition) -> PathBuf {
    dir.join(partition.to_string())
}
