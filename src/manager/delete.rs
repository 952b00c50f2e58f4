//! Deleting logs: out of sight at once, off the disk later. Implements manager.md 8.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Manager;
use super::dirs::LogDir;
use crate::error::{Error, ErrorKind, Result};
use crate::format::names::marked_dir_name;
use crate::format::uuid::Uuid;
use crate::io::FileSystem;
use crate::log::{DirHealth, EventKind, Log};
use crate::types::{TimestampMs, TopicPartition};

/// The suffix of a directory that waits for its removal.
pub(super) const DELETE: &str = "delete";

/// Directories that wait for their removal, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Deletions(VecDeque<Deletion>);

#[derive(Debug)]
struct Deletion {
    path: PathBuf,
    since: TimestampMs,
    health: Arc<DirHealth>,
}

impl Deletions {
    /// A directory that has its `-delete` name.
    pub(super) fn push(&mut self, path: PathBuf, since: TimestampMs, dir: &LogDir) {
        self.0.push_back(Deletion {
            path,
            since,
            health: Arc::clone(&dir.health),
        });
    }
}

impl Manager {
    /// Deletes a log: it is gone for every call when this returns, and another one may be made under its name. Handles of it
    /// answer UNKNOWN_TOPIC_OR_PARTITION; reads that run go on. Its files are removed by [`Manager::remove_deleted`] after
    /// the default `file.delete.delay.ms`, or by the manager that opens the directory next.
    pub fn delete_log(&self, partition: &TopicPartition) -> Result<()> {
        self.check_open()?;
        self.check_owned()?;
        // It does not move meanwhile.
        let _none_is_swapped_now = self.swapping.read();
        let log = self.log(partition)?;
        let Some(dir) = self.dir_of(&log) else {
            return Err(Error::new(
                ErrorKind::Bug,
                format!("{partition} lies in no directory of its manager"),
            ));
        };
        dir.health.check()?;
        self.without_cleaning(partition, || {
            self.remove_cleaner_offset(&log)?;
            self.delete_now(partition, &log, dir)
        })?;
        self.forget_uncleanable(partition);
        self.tell(EventKind::LogDeleted, dir, partition);
        let future = self.futures.read().get(partition).cloned();
        if let Some(future) = future {
            self.drop_future(&future)?;
        }
        self.checkpoint_dir(dir)
    }

    /// Deletes a log that is not cleaned meanwhile.
    fn delete_now(&self, partition: &TopicPartition, log: &Arc<Log>, dir: &LogDir) -> Result<()> {
        {
            // Held from here to the new name: who makes the log anew must not find the old directory.
            let mut logs = self.logs.write();
            if !logs
                .get(partition)
                .is_some_and(|known| Arc::ptr_eq(known, log))
            {
                let message = format!("the log {partition} was deleted meanwhile");
                return Err(self.unknown(partition, message));
            }
            let frozen = log.freeze()?;
            let name = marked_dir_name(partition, Uuid::random()?, DELETE);
            let path = dir.path.join(name);
            let judge = |e| {
                dir.health
                    .judge(e)
                    .context(format_args!("delete {partition}"))
            };
            // If it keeps its name it is still the partition's log.
            self.fs.rename(&log.dir(), &path).map_err(judge)?;
            frozen.mark_deleted();
            drop(frozen);
            logs.remove(partition);
            self.stats.departs(log, &logs);
            self.made.lock().remove(partition);
            self.fs.sync_dir(&dir.path).map_err(judge)?;
            self.deletions.lock().push(path, self.clock.now(), dir);
        }
        Ok(())
    }

    /// Removes the directories whose time has come: the task `kafka-delete-logs`. When the next one is due. What cannot be
    /// removed is left to the next opening; the first such failure is answered, the others go.
    pub fn remove_deleted(&self) -> Result<Option<TimestampMs>> {
        self.check_open()?;
        self.check_owned()?;
        let delay_ms = self.config().default_log_config().file_delete_delay_ms;
        let now = self.clock.now();
        let mut first = Ok(());
        loop {
            let deletion = {
                let mut deletions = self.deletions.lock();
                let due = |d: &Deletion| TimestampMs(d.since.0.saturating_add(delay_ms));
                match deletions.0.front() {
                    None => return first.map(|()| None),
                    Some(oldest) if due(oldest) > now => {
                        let due = due(oldest);
                        return first.map(|()| Some(due));
                    }
                    Some(_) => deletions.0.pop_front(),
                }
            };
            let Some(deletion) = deletion else { continue };
            let removed = deletion
                .health
                .check()
                .and_then(|()| remove_tree(&*self.fs, &deletion.path))
                .map_err(|e| deletion.health.judge(e));
            if first.is_ok() {
                first = removed;
            }
        }
    }
}

/// Removes a directory with all that is in it; of a link only the link. What is gone already is fine.
pub(super) fn remove_tree(fs: &dyn FileSystem, path: &Path) -> Result<()> {
    match fs.remove_file(path) {
        Err(e) if e.is_not_found() => return Ok(()),
        Err(e) if is_of_directory(&e) => {}
        other => return other,
    }
    for entry in fs.list(path)? {
        remove_tree(fs, &path.join(&entry.name))?;
    }
    match fs.remove_dir(path) {
        Err(e) if e.is_not_found() => Ok(()),
        other => other,
    }
}

/// What systems answer who is to remove a directory as if it were a file.
fn is_of_directory(e: &Error) -> bool {
    matches!(e.os_errno(), Some(libc::EISDIR | libc::EPERM))
}
