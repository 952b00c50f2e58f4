//! Deciding by hand which copy of a partition counts. Implements manager.md 9.5, 9.6, deviations.md D58, D72.

use std::path::Path;
use std::sync::Arc;

use super::delete::DELETE;
use super::{Manager, Role, partition_dir};
use crate::error::{Error, ErrorKind, Result};
use crate::format::names::marked_dir_name;
use crate::format::uuid::Uuid;
use crate::log::Log;
use crate::types::TopicPartition;

impl Manager {
    /// Drops the copy in `dir` of a partition that was found in several directories: it is deleted as [`Self::delete_log`]
    /// deletes. When one is left, [`Self::retry_log`] loads it. INVALID_ARGUMENT if the partition was not found in several
    /// directories, or not once in this one.
    pub fn resolve(&self, partition: &TopicPartition, dir: &Path) -> Result<()> {
        let _none_is_loaded_now = self.retrying.lock();
        self.check_open()?;
        self.check_owned()?;
        let home = self.dir_named(dir)?;
        home.health.check()?;
        let copies: Vec<_> = self
            .failed
            .read()
            .iter()
            .filter(|failed| failed.partition == *partition && failed.role == Role::Current)
            .filter(|failed| failed.error.kind() == ErrorKind::DuplicateLog)
            .map(|failed| failed.dir.clone())
            .collect();
        let here: Vec<_> = copies
            .iter()
            .filter(|copy| copy.parent() == Some(home.path.as_path()))
            .collect();
        let [dropped] = here.as_slice() else {
            let found = copies.len();
            return Err(Error::invalid_argument(format!(
                "{partition} was found {} times in {}, and in {found} directories as a partition with several; name one that has it once",
                here.len(),
                home.path.display()
            ))
            .in_partition(partition.partition));
        };
        if copies.len() < 2 {
            return Err(Error::invalid_argument(format!(
                "{} is the only copy of {partition} that is left; load it again",
                dropped.display()
            ))
            .in_partition(partition.partition));
        }
        let removed = home
            .path
            .join(marked_dir_name(partition, Uuid::random()?, DELETE));
        self.fs
            .rename(dropped, &removed)
            .and_then(|()| self.fs.sync_dir(&home.path))
            .map_err(|e| home.health.judge(e))?;
        self.failed.write().retain(|failed| failed.dir != **dropped);
        self.deletions.lock().push(removed, self.clock.now(), home);
        Ok(())
    }

    /// Lets a copy that was on its way to another directory be the partition's log, where there is none: the directory that it
    /// came from is gone, or not among those of this manager. It may lack what was appended last there.
    pub fn promote_future(&self, partition: &TopicPartition) -> Result<Arc<Log>> {
        let _none_is_loaded_now = self.retrying.lock();
        let _none_is_swapped_now = self.swapping.write();
        self.check_open()?;
        self.check_owned()?;
        let refuse = |why: &str| {
            Err(Error::invalid_argument(format!(
                "no copy of {partition} can take its place: {why}"
            ))
            .in_partition(partition.partition))
        };
        let Some(future) = self.futures.read().get(partition).cloned() else {
            return refuse("there is none");
        };
        match self.log(partition) {
            Ok(_) => return refuse("the log is there"),
            Err(e) if e.kind() == ErrorKind::UnknownTopicOrPartition => {}
            Err(e) => return Err(e),
        }
        let Some(home) = self.dir_of(&future) else {
            return refuse("its directory is not of this manager");
        };
        home.health.check()?;
        future.close()?;
        self.checkpoint_dir(home)?;
        let place = partition_dir(&home.path, partition);
        self.fs
            .rename(&future.dir(), &place)
            .and_then(|()| self.fs.sync_dir(&home.path))
            .map_err(|e| home.health.judge(e))?;
        let mut logs = self.logs.write();
        self.futures.write().remove(partition);
        let log = Arc::new(
            self.load_moved(&future, home, place)
                .map_err(|e| home.health.judge(e))?,
        );
        logs.insert(partition.clone(), Arc::clone(&log));
        Ok(log)
    }
}
