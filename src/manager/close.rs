//! Closing: each directory whose logs were all closed in order gets its checkpoints, then its clean-shutdown marker.
//! Implements manager.md 10.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::checkpoints::{Limit, Served};
use super::dirs::LogDir;
use super::{Access, Manager};
use crate::error::Result;
use crate::format::marker;
use crate::io::{OpenMode, thread};
use crate::log::Log;
use crate::types::TopicPartition;

impl Manager {
    /// Closes every log, writes checkpoints and markers, and gives the directories back. The first failure is answered;
    /// the rest is closed all the same, and what failed is recovered by the next open. Closing twice does nothing. A manager
    /// that only reads writes nothing.
    pub fn close(&self) -> Result<()> {
        if self.closed.swap(true, Ordering::SeqCst) {
            return Ok(());
        }
        self.stats.end_events();
        let _none_is_loaded_now = self.retrying.lock();
        self.abort_all_cleaning();
        if self.access() == Access::ReadOnly {
            self.abandon();
            return Ok(());
        }
        let _none_is_swapped_now = self.swapping.write();
        let mut logs: Vec<Arc<Log>> = std::mem::take(&mut *self.logs.write())
            .into_values()
            .collect();
        logs.extend(std::mem::take(&mut *self.futures.write()).into_values());
        let outcomes = self.close_logs(&logs);
        let mut first = Ok(());
        for dir in &self.dirs {
            let is_here = |log: &&Arc<Log>| dir.holds(log);
            let here: Vec<&Arc<Log>> = logs.iter().filter(is_here).collect();
            let failed = outcomes
                .iter()
                .find(|(log, outcome)| outcome.is_err() && is_here(log))
                .map(|(_, o)| o);
            let closed = match failed {
                Some(Err(e)) => Err(e.clone()),
                _ => self.close_dir(dir, &here),
            };
            // Dropping the lock gives the directory back.
            *dir.lock.lock() = None;
            if first.is_ok() {
                first = closed;
            }
        }
        first
    }

    /// Gives the directories back without writing anything: what a crash of the process would leave.
    pub fn abandon(&self) {
        self.closed.store(true, Ordering::SeqCst);
        self.abort_all_cleaning();
        self.stats.end_events();
        let _none_is_swapped_now = self.swapping.write();
        let logs = std::mem::take(&mut *self.logs.write());
        let futures = std::mem::take(&mut *self.futures.write());
        for log in logs.into_values().chain(futures.into_values()) {
            log.abandon();
        }
        for dir in &self.dirs {
            *dir.lock.lock() = None;
        }
    }

    fn close_logs<'a>(&self, logs: &'a [Arc<Log>]) -> Vec<(&'a Arc<Log>, Result<()>)> {
        let per_dir = self
            .recovery_threads
            .unwrap_or(self.config().broker.num_recovery_threads_per_data_dir as usize);
        let threads = (per_dir.max(1) * self.dirs.len()).min(logs.len());
        if threads <= 1 {
            return logs.iter().map(|log| (log, log.close())).collect();
        }
        let next = AtomicUsize::new(0);
        let outcomes = Mutex::new(Vec::with_capacity(logs.len()));
        let work = || {
            while let Some(log) = logs.get(next.fetch_add(1, Ordering::SeqCst)) {
                let outcome = log.close();
                outcomes.lock().push((log, outcome));
            }
        };
        std::thread::scope(|scope| {
            for n in 1..threads {
                let worker = thread::builder(format!("klog-closing-{n}"));
                let spawned = thread::with_signals_blocked(|| worker.spawn_scoped(scope, work));
                if spawned.is_err() {
                    break;
                }
            }
            work();
        });
        outcomes.into_inner()
    }

    /// Writes the directory's checkpoints and, if nothing in it is in doubt, its marker.
    fn close_dir(&self, dir: &LogDir, logs: &[&Arc<Log>]) -> Result<()> {
        if let Some(failure) = dir.health.failure() {
            return Err(failure);
        }
        self.write_checkpoints(dir, logs)?;
        // What was not loaded was not closed either.
        if !self.failed_in(dir).is_empty() {
            return Ok(());
        }
        let path = dir.path.join(marker::FILE);
        self.write_marker(dir, &path).map_err(|e| {
            // An empty marker is one too.
            let _ = self.fs.remove_file(&path);
            dir.health.judge(e)
        })
    }

    fn write_marker(&self, dir: &LogDir, path: &Path) -> Result<()> {
        let file = self.fs.open(path, OpenMode::Truncate)?;
        file.write_at(&marker::write(self.broker_epoch), 0)?;
        file.sync()?;
        self.fs.sync_dir(&dir.path)
    }

    /// Writes recovery points, log starts and high watermarks of the logs in a directory (manager.md 7.3, 7.4, 7.7).
    pub(super) fn write_checkpoints(&self, dir: &LogDir, logs: &[&Arc<Log>]) -> Result<()> {
        let _one_at_a_time = dir.checkpointing.lock();
        let mut served = Served::default();
        // Asked again, now that nobody writes: one that was deleted or moved since would vouch for another one's records.
        for log in logs
            .iter()
            .filter(|log| dir.holds(log) && !log.is_deleted())
        {
            served.add(log, Limit::None);
        }
        self.add_futures(dir, &mut served);
        dir.checkpoints
            .write(&*self.fs, &dir.path, served, &self.failed_in(dir))
            .map_err(|e| dir.health.judge(e))
    }

    /// Adds the copies in a directory: a partition and its copy are never in the same one.
    pub(super) fn add_futures(&self, dir: &LogDir, served: &mut Served) {
        for future in self.futures.read().values().filter(|log| dir.holds(log)) {
            served.add(future, Limit::None);
        }
    }

    /// The partitions in a directory that could not be loaded.
    pub(super) fn failed_in(&self, dir: &LogDir) -> Vec<TopicPartition> {
        let failed = self.failed.read();
        let here = failed
            .iter()
            .filter(|failed| failed.dir.parent() == Some(dir.path.as_path()));
        here.map(|failed| failed.partition.clone()).collect()
    }

    /// Writes the checkpoints of every directory now.
    pub fn checkpoint(&self) -> Result<()> {
        self.check_open()?;
        self.check_owned()?;
        self.dirs
            .iter()
            .filter(|dir| dir.is_online())
            .try_for_each(|dir| self.checkpoint_dir(dir))
    }

    /// Writes the checkpoints of the directory that a log lies in.
    pub(super) fn checkpoint_dir_of(&self, log: &Log) -> Result<()> {
        match self.dir_of(log) {
            Some(dir) => self.checkpoint_dir(dir),
            None => Ok(()),
        }
    }

    pub(super) fn checkpoint_dir(&self, dir: &LogDir) -> Result<()> {
        let logs = self.logs();
        let here: Vec<&Arc<Log>> = logs.iter().filter(|log| dir.holds(log)).collect();
        self.write_checkpoints(dir, &here)
    }
}
