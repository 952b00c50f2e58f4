//! Directories that another process owns: opened read-only, brought up to date when asked. Implements c-abi.md 3.2.2.
//!
//! No lock is taken and nothing is written; what is beneath a read-only manager refuses every change. What its logs would be
//! after a load is held in memory ([`Log::follow`]).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use super::checkpoints::Checkpoints;
use super::dirs::LogDir;
use super::{FailedLog, HighWatermarks, Manager, Role, health_of};
use crate::error::{Error, ErrorKind, Result};
use crate::format::checkpoint::{HIGH_WATERMARK_FILE, LOG_START_FILE, RECOVERY_POINT_FILE};
use crate::format::names::{DirKind, classify_dir};
use crate::io::{EntryKind, FileIdentity, FileSystem, exists};
use crate::log::{HighWatermark, LoadOptions, Log, LogPlace, Refreshed, Shutdown, Stored};
use crate::types::{TimestampMs, TopicPartition};

/// What a manager may do with its directories.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Access {
    /// They are its own: locked, put in order, written to.
    #[default]
    Own,
    /// They may be another process's, such as a live broker's: no lock is taken, and nothing in them is created, written,
    /// renamed, removed or synced. What a load would change is held in memory. Calls that would change a log answer READ_ONLY.
    /// What the owner does meanwhile is seen after [`Manager::refresh`].
    ReadOnly,
}

/// What a read-only manager knows of its directories, one by one.
#[derive(Debug)]
pub(super) struct Following(Vec<Mutex<Known>>);

/// A directory's checkpoints as they were read last.
#[derive(Debug, Default)]
struct Known {
    /// Which files they were read from: each is replaced as a whole.
    files: Vec<Option<(FileIdentity, TimestampMs, u64)>>,
    checkpoints: Arc<Checkpoints>,
}

impl Following {
    pub(super) fn new(dirs: &[LogDir]) -> Self {
        Self(dirs.iter().map(|_| Mutex::default()).collect())
    }
}

impl Known {
    /// The checkpoints as they are now.
    fn look(&mut self, fs: &dyn FileSystem, dir: &Path) -> Result<Arc<Checkpoints>> {
        let mut files = Vec::new();
        for name in [RECOVERY_POINT_FILE, LOG_START_FILE, HIGH_WATERMARK_FILE] {
            files.push(match fs.stat(&dir.join(name)) {
                Ok(stat) => Some((stat.identity, stat.modified, stat.len)),
                Err(e) if e.is_not_found() => None,
                Err(e) => return Err(e),
            });
        }
        if files != self.files {
            // One that cannot be understood counts as empty.
            self.checkpoints = Arc::new(Checkpoints::read(fs, dir)?.0);
            self.files = files;
        }
        Ok(Arc::clone(&self.checkpoints))
    }
}

fn stored(checkpoints: &Checkpoints, partition: &TopicPartition) -> Stored {
    Stored {
        recovery_point: checkpoints.recovery_point(partition),
        log_start: checkpoints.log_start(partition),
        high_watermark: checkpoints.high_watermark(partition),
    }
}

/// A log that came since the last look.
struct Found<'d> {
    dir: &'d LogDir,
    path: PathBuf,
    partition: TopicPartition,
    stored: Stored,
}

/// The first failure of several steps that are all taken.
struct First(Result<()>);

impl First {
    fn note(&mut self, outcome: Result<()>) {
        if self.0.is_ok() {
            self.0 = outcome;
        }
    }
}

impl Manager {
    /// Whether its directories are its own.
    #[must_use]
    pub fn access(&self) -> Access {
        match self.following {
            Some(_) => Access::ReadOnly,
            None => Access::Own,
        }
    }

    /// READ_ONLY for what changes something, if the manager was opened so.
    pub(super) fn check_owned(&self) -> Result<()> {
        match self.access() {
            Access::Own => Ok(()),
            Access::ReadOnly => Err(Error::new(
                ErrorKind::ReadOnly,
                "the manager was opened for reading only; open the directories as their owner to change them",
            )),
        }
    }

    /// Takes in what the owner of the directories did since the last look: what it appended, rolled, cleaned, cut, deleted and
    /// created. Handles of a log stay good and go on with what there is now; those of a log that was deleted answer
    /// UNKNOWN_TOPIC_OR_PARTITION, also if there is another one of its name. It costs as much as there is new. The first
    /// failure is answered; the other logs are looked at all the same. On a manager that owns its directories there is
    /// nothing to do.
    pub fn refresh(&self) -> Result<()> {
        self.check_open()?;
        if self.following.is_none() {
            return Ok(());
        }
        // Closing waits.
        let _one_at_a_time = self.retrying.lock();
        self.check_open()?;
        let mut first = First(Ok(()));
        let mut found = Vec::new();
        let dirs = self.dirs.iter().enumerate();
        for (index, dir) in dirs.filter(|(_, dir)| dir.is_online()) {
            match self.refresh_dir(index, dir, &mut first) {
                Ok(here) => found.extend(here),
                Err(e) => first.note(Err(e)),
            }
        }
        self.forget_failed();
        for log in &found {
            let same = found
                .iter()
                .filter(|other| other.partition == log.partition);
            if same.count() == 1 {
                self.take_up(log);
            } else {
                // Between two directories it is neither's: when one is left it is that.
                let what = format!("{} is in several directories", log.partition);
                self.note_failed(log, Error::new(ErrorKind::DuplicateLog, what));
            }
        }
        first.0
    }

    /// Brings the logs of a directory up to date. Those that are there and not served.
    fn refresh_dir<'d>(
        &self,
        index: usize,
        dir: &'d LogDir,
        first: &mut First,
    ) -> Result<Vec<Found<'d>>> {
        let checkpoints = self.checkpoints_of(index, dir)?;
        for log in self.logs().iter().filter(|log| dir.holds(log)) {
            first.note(self.refresh_one(log, &stored(&checkpoints, log.partition())));
        }
        let found = self.unserved_in(dir)?.into_iter();
        Ok(found
            .map(|(path, partition)| Found {
                dir,
                path,
                stored: stored(&checkpoints, &partition),
                partition,
            })
            .collect())
    }

    /// As [`Self::refresh`], for one log. That it was deleted is no error here: what it is asked next answers that.
    pub fn refresh_log(&self, log: &Arc<Log>) -> Result<()> {
        self.check_open()?;
        log.check_open()?;
        if self.following.is_none() {
            return Ok(());
        }
        let own = self.logs.read().get(log.partition()).cloned();
        let mut dirs = self.dirs.iter().enumerate();
        let Some((index, dir)) = dirs
            .find(|(_, dir)| dir.holds(log))
            .filter(|_| own.is_some_and(|own| Arc::ptr_eq(&own, log)))
        else {
            let message = format!("the log {} is not of this manager", log.partition());
            return Err(self.unknown(log.partition(), message));
        };
        let checkpoints = self.checkpoints_of(index, dir)?;
        let stored = stored(&checkpoints, log.partition());
        self.refresh_one(log, &stored)?;
        if log.check_open().is_ok() {
            return Ok(());
        }
        let _one_at_a_time = self.retrying.lock();
        self.check_open()?;
        let is_served = self.logs.read().contains_key(log.partition());
        if !is_served && exists(&*self.fs, &log.dir())? {
            self.take_up(&Found {
                dir,
                path: log.dir().to_path_buf(),
                partition: log.partition().clone(),
                stored,
            });
        }
        Ok(())
    }

    fn checkpoints_of(&self, index: usize, dir: &LogDir) -> Result<Arc<Checkpoints>> {
        match self.following.as_ref().and_then(|f| f.0.get(index)) {
            Some(known) => known.lock().look(&*self.fs, &dir.path),
            None => Ok(Arc::default()),
        }
    }

    fn refresh_one(&self, log: &Arc<Log>, stored: &Stored) -> Result<()> {
        // One that a reader found gone is closed by now.
        if log.check_open().is_err() || log.refresh(Some(stored))? == Refreshed::Gone {
            log.mark_deleted();
            let mut logs = self.logs.write();
            if logs
                .get(log.partition())
                .is_some_and(|known| Arc::ptr_eq(known, log))
            {
                logs.remove(log.partition());
            }
        }
        Ok(())
    }

    /// The partitions of a directory that are not served, other than those whose load failed for a reason that stays.
    fn unserved_in(&self, dir: &LogDir) -> Result<Vec<(PathBuf, TopicPartition)>> {
        let entries = self.fs.list(&dir.path)?;
        let logs = self.logs.read();
        let failed = self.failed.read();
        let mut found = Vec::new();
        for entry in entries.iter().filter(|e| e.kind == EntryKind::Dir) {
            let DirKind::Log(partition) = classify_dir(&entry.name) else {
                continue;
            };
            let path = dir.path.join(&entry.name);
            let has_failed = failed.iter().any(|f| f.dir == path && !may_pass(&f.error));
            if !logs.contains_key(&partition) && !has_failed {
                found.push((path, partition));
            }
        }
        found.sort();
        Ok(found)
    }

    /// Forgets the failures that the next attempt tells again if they last, and those of logs that are gone.
    fn forget_failed(&self) {
        self.failed.write().retain(|failed| {
            !may_pass(&failed.error) && exists(&*self.fs, &failed.dir).unwrap_or(true)
        });
    }

    /// Serves a log that came since. One that is gone again is none.
    fn take_up(&self, found: &Found<'_>) {
        match self.follow_log(found) {
            Ok(log) => {
                let mut logs = self.logs.write();
                logs.insert(found.partition.clone(), Arc::new(log));
            }
            Err(_) if matches!(exists(&*self.fs, &found.path), Ok(false)) => {}
            Err(error) => self.note_failed(found, error),
        }
    }

    fn note_failed(&self, found: &Found<'_>, error: Error) {
        self.failed.write().push(FailedLog {
            partition: found.partition.clone(),
            role: Role::Current,
            dir: found.path.clone(),
            error: error.in_partition(found.partition.partition),
        });
    }

    fn follow_log(&self, found: &Found<'_>) -> Result<Log> {
        let Found {
            dir,
            path,
            partition,
            stored,
        } = found;
        let place = LogPlace {
            partition: partition.clone(),
            dir: path.clone(),
            fs: Arc::clone(&self.fs),
            clock: Arc::clone(&self.clock),
            health: health_of(dir),
        };
        let options = LoadOptions {
            shutdown: Shutdown::Unclean,
            recovery_point: stored.recovery_point,
            log_start: stored.log_start,
            config: Arc::clone(self.config().log_config(&partition.topic)),
            producer_expiration_ms: self.config().broker.producer_id_expiration_ms,
            high_watermark: match self.high_watermarks {
                HighWatermarks::FollowEnd => HighWatermark::FollowsEnd,
                HighWatermarks::FromCheckpoint => HighWatermark::SetByCaller(stored.high_watermark),
            },
            progress: None,
            spare_threads: Arc::default(),
            new_name: None,
        };
        Ok(Log::follow(place, &options)?.0)
    }
}

/// Whether a load that failed so may succeed without anybody mending anything: its owner took files or bytes away under it, or
/// the partition was between two directories.
fn may_pass(error: &Error) -> bool {
    error.is_changed_meanwhile() || error.kind() == ErrorKind::DuplicateLog
}
