//! Loading again what could not be loaded at opening. Implements c-abi.md 3.2.11, manager.md 2.8, 2.9, deviations.md D57, D58.

use std::sync::Arc;

use super::loading::load_options;
use super::{Access, FailedLog, Manager, Role, health_of};
use crate::error::{Error, ErrorKind, Result};
use crate::io::exists;
use crate::log::{LoadOptions, Log, LogPlace, Shutdown};
use crate::types::TopicPartition;

impl Manager {
    /// Loads a log again that failed to load, as after a crash, with the offsets that its directory kept for it. A log that
    /// is loaded is answered as it is; one that fails again stays failed, with the new error. Of a partition that was found
    /// in several directories one must be left.
    pub fn retry_log(&self, partition: &TopicPartition) -> Result<Arc<Log>> {
        // Not the lock of the list: others go on while this one is recovered. Closing waits.
        let _one_at_a_time = self.retrying.lock();
        match self.log(partition) {
            Ok(log) => return Ok(log),
            Err(e) if self.failed_of(partition).is_empty() => return Err(e),
            Err(_) => {}
        }
        let failed = self.the_one_left(partition)?;
        let loaded = self
            .load_again(&failed)
            .map_err(|e| e.in_partition(partition.partition));
        match loaded {
            Ok(log) => self.serve(Arc::new(log)),
            Err(error) => {
                for entry in &mut *self.failed.write() {
                    if entry.partition == *partition && entry.dir == failed.dir {
                        entry.error = error.clone();
                    }
                }
                Err(error)
            }
        }
    }

    fn failed_of(&self, partition: &TopicPartition) -> Vec<FailedLog> {
        let failed = self.failed.read();
        failed
            .iter()
            .filter(|failed| failed.partition == *partition && failed.role == Role::Current)
            .cloned()
            .collect()
    }

    /// What is still there of a partition that failed. Directories that are gone are forgotten, unless all are.
    fn the_one_left(&self, partition: &TopicPartition) -> Result<FailedLog> {
        let mut left = Vec::new();
        for failed in self.failed_of(partition) {
            if exists(&*self.fs, &failed.dir)? {
                left.push(failed);
            }
        }
        match left.len() {
            0 => Err(Error::new(
                ErrorKind::UnknownTopicOrPartition,
                format!("{partition} failed to load, and its directory is gone now"),
            )
            .in_partition(partition.partition)),
            1 => Ok(left.remove(0)),
            _ => {
                let paths: Vec<String> = left
                    .iter()
                    .map(|failed| failed.dir.display().to_string())
                    .collect();
                Err(Error::new(
                    ErrorKind::DuplicateLog,
                    format!(
                        "{partition} is still in {}; remove all but one of them",
                        paths.join(" and ")
                    ),
                )
                .in_partition(partition.partition))
            }
        }
    }

    fn load_again(&self, failed: &FailedLog) -> Result<Log> {
        let partition = &failed.partition;
        let dir = self
            .dirs
            .iter()
            .find(|dir| failed.dir.parent() == Some(dir.path.as_path()))
            .ok_or_else(|| {
                Error::new(
                    ErrorKind::LogDirNotFound,
                    format!(
                        "{} is in no directory of this manager",
                        failed.dir.display()
                    ),
                )
            })?;
        dir.health.check()?;
        let place = LogPlace {
            partition: partition.clone(),
            dir: failed.dir.clone(),
            fs: Arc::clone(&self.fs),
            clock: Arc::clone(&self.clock),
            health: health_of(dir),
        };
        let options = LoadOptions {
            // Somebody may have worked on it meanwhile.
            shutdown: Shutdown::Unclean,
            ..load_options(
                &self.config(),
                &dir.checkpoints,
                partition,
                self.high_watermarks,
            )
        };
        match self.access() {
            Access::Own => Ok(Log::open(place, &options)?.0),
            Access::ReadOnly => Ok(Log::follow(place, &options)?.0),
        }
    }

    /// Puts a loaded log among the others. What its directory kept for it may vouch for more than was found, so it is
    /// written anew before anybody can append.
    fn serve(&self, log: Arc<Log>) -> Result<Arc<Log>> {
        let mut logs = self.logs.write();
        self.check_open()?;
        let before = {
            let mut failed = self.failed.write();
            let before = failed.clone();
            failed.retain(|failed| {
                failed.partition != *log.partition() || failed.role == Role::Future
            });
            before
        };
        if let Some(dir) = self.dir_of(&log).filter(|_| self.access() == Access::Own) {
            let mut here: Vec<&Arc<Log>> = logs.values().filter(|log| dir.holds(log)).collect();
            here.push(&log);
            if let Err(e) = self.write_checkpoints(dir, &here) {
                *self.failed.write() = before;
                return Err(e);
            }
        }
        // It may have changed while the log was loaded.
        let config = self.config();
        log.set_config(Arc::clone(config.log_config(&log.partition().topic)));
        log.set_producer_expiration_ms(config.broker.producer_id_expiration_ms);
        logs.insert(log.partition().clone(), Arc::clone(&log));
        Ok(log)
    }
}
