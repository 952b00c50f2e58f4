//! Making a log. Implements manager.md 3.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::checkpoints::Checkpoints;
use super::delete::remove_tree;
use super::dirs::LogDir;
use super::loading::load_options;
use super::placement::{Candidate, by_preference};
use super::{HighWatermarks, Manager, health_of, partition_dir};
use crate::error::{Error, ErrorKind, Result};
use crate::format::names::{check_partition, check_topic};
use crate::format::partition_metadata;
use crate::format::uuid::Uuid;
use crate::io::{exists, replace_file};
use crate::log::{EventKind, HighWatermark, LoadOptions, Log, LogPlace, Shutdown};
use crate::types::TopicPartition;

/// How a log is made.
#[derive(Clone, Debug, Default)]
pub struct CreateOptions {
    /// The topic's id. A broker takes a log without one for stray.
    pub topic_id: Option<Uuid>,
    /// The log directory to make it in; `None` is the live one with the fewest logs.
    pub dir: Option<PathBuf>,
    /// The `directory.id` of the log directory to make it in, if `dir` names none; one that no directory has says nothing.
    pub directory_id: Option<Uuid>,
    /// Whether the caller moves its high watermark, also if the log is there already.
    pub is_watermark_manual: bool,
}

impl Manager {
    /// The log of a partition, made if there is none. An existing log must have the topic id given, if one is given; one
    /// that has none yet takes it.
    pub fn get_or_create_log(
        &self,
        partition: &TopicPartition,
        options: &CreateOptions,
    ) -> Result<Arc<Log>> {
        self.check_open()?;
        check_topic(&partition.topic)?;
        check_partition(partition.partition)?;
        match self.log(partition) {
            Ok(log) => return existing(log, options),
            Err(e) if e.kind() == ErrorKind::UnknownTopicOrPartition => {}
            Err(e) => return Err(e),
        }
        self.check_owned()?;
        // Held while the log is made: two callers must not make it twice, nor may it be made behind a close.
        let mut logs = self.logs.write();
        self.check_open()?;
        if let Some(log) = logs.get(partition) {
            return existing(Arc::clone(log), options);
        }
        if let Some(offline) = self.dirs.iter().find(|dir| !dir.is_online()) {
            return Err(Error::new(
                ErrorKind::KafkaStorage,
                format!(
                    "cannot create the log {partition}: it may be in the directory {}, which is offline",
                    offline.path.display()
                ),
            )
            .in_partition(partition.partition));
        }
        let log = Arc::new(self.create_somewhere(partition, options, logs.values())?);
        logs.insert(partition.clone(), Arc::clone(&log));
        self.made.lock().insert(partition.clone());
        if let Some(dir) = self.dir_of(&log) {
            self.tell(EventKind::LogCreated, dir, partition);
        }
        Ok(log)
    }

    /// Makes a log in the directory that is wanted, or else in the first of those that are best that works.
    fn create_somewhere<'a>(
        &self,
        partition: &TopicPartition,
        options: &CreateOptions,
        logs: impl Iterator<Item = &'a Arc<Log>>,
    ) -> Result<Log> {
        if let Some(wanted) = &options.dir {
            return self.create_in(self.dir_named(wanted)?, partition, options);
        }
        let has_id = |dir: &&LogDir| dir.meta.read().directory_id == options.directory_id;
        if options.directory_id.is_some()
            && let Some(dir) = self.dirs.iter().find(has_id)
        {
            return self.create_in(dir, partition, options);
        }
        // With one directory there is nothing to choose, and each log costs the same however many there are.
        let mut homes = Vec::new();
        if self.dirs.len() > 1 {
            homes.extend(logs.map(|log| log.dir()));
            homes.extend(self.futures.read().values().map(|log| log.dir()));
        }
        let config = self.config();
        let candidates: Vec<Candidate> = self
            .dirs
            .iter()
            .map(|dir| Candidate {
                logs: homes
                    .iter()
                    .filter(|home| home.parent() == Some(dir.path.as_path()))
                    .count(),
                is_live: dir.is_online(),
                is_cordoned: config.broker.is_cordoned(&dir.path),
            })
            .collect();
        let mut last = Error::new(ErrorKind::KafkaStorage, "no log directory is left");
        for dir in by_preference(&candidates)
            .into_iter()
            .filter_map(|at| self.dirs.get(at))
        {
            match self.create_in(dir, partition, options) {
                // The directory failed, not the log.
                Err(e) if !dir.is_online() => last = e,
                other => return other,
            }
        }
        Err(last)
    }

    /// The log directory of this path, as it was given.
    pub(super) fn dir_named(&self, wanted: &Path) -> Result<&LogDir> {
        self.dirs
            .iter()
            .find(|dir| dir.path == *wanted)
            .ok_or_else(|| {
                Error::new(
                    ErrorKind::LogDirNotFound,
                    format!(
                        "{} is not a log directory of this manager",
                        wanted.display()
                    ),
                )
                .in_file(wanted)
            })
    }

    fn create_in(
        &self,
        dir: &LogDir,
        partition: &TopicPartition,
        options: &CreateOptions,
    ) -> Result<Log> {
        let is_manual =
            options.is_watermark_manual || self.high_watermarks == HighWatermarks::FromCheckpoint;
        let high_watermark = if is_manual {
            HighWatermark::SetByCaller(None)
        } else {
            HighWatermark::FollowsEnd
        };
        let load = LoadOptions {
            high_watermark,
            ..load_options(
                &self.config(),
                &Checkpoints::default(),
                partition,
                HighWatermarks::FollowEnd,
            )
        };
        let path = partition_dir(&dir.path, partition);
        self.create_at(dir, &path, partition, options.topic_id, load)
    }

    /// Makes a log in a directory of this path, which must lie in `dir`. If that fails nothing of it stays: the partition may
    /// be made in another directory then.
    pub(super) fn create_at(
        &self,
        dir: &LogDir,
        path: &Path,
        partition: &TopicPartition,
        topic_id: Option<Uuid>,
        load: LoadOptions,
    ) -> Result<Log> {
        let was_there = exists(&*self.fs, path);
        let made = was_there
            .clone()
            .and_then(|_| self.make_log(dir, path, partition, topic_id, load));
        let made = made.map_err(|e| {
            dir.health
                .judge(e)
                .context(format_args!("create {partition}"))
        });
        if made.is_err() && matches!(was_there, Ok(false)) && dir.is_online() {
            let undone = remove_tree(&*self.fs, path).and_then(|()| self.fs.sync_dir(&dir.path));
            if let Err(e) = undone {
                // Left behind it would be a second log of the partition.
                let _ = dir
                    .health
                    .fail(e.context("what is left of a log that could not be made"));
            }
        }
        made
    }

    fn make_log(
        &self,
        dir: &LogDir,
        path: &Path,
        partition: &TopicPartition,
        topic_id: Option<Uuid>,
        load: LoadOptions,
    ) -> Result<Log> {
        self.fs.create_dir(path)?;
        let is_empty = self.fs.list(path)?.is_empty();
        let new_name = is_empty.then(|| dir.health.name_made());
        if new_name.is_none() {
            self.fs.sync_dir(&dir.path)?;
        }
        if let Some(id) = topic_id {
            replace_file(
                &*self.fs,
                &path.join(partition_metadata::FILE),
                &partition_metadata::write(id),
            )?;
        }
        let place = LogPlace {
            partition: partition.clone(),
            dir: path.to_path_buf(),
            fs: Arc::clone(&self.fs),
            clock: Arc::clone(&self.clock),
            health: health_of(dir),
        };
        let load = LoadOptions {
            // What lies in a directory that was not there at opening is known to nobody (manager.md 3.4).
            shutdown: if is_empty {
                Shutdown::Clean
            } else {
                Shutdown::Unclean
            },
            new_name,
            ..load
        };
        Ok(Log::open(place, &load)?.0)
    }
}

fn existing(log: Arc<Log>, options: &CreateOptions) -> Result<Arc<Log>> {
    if let Some(id) = options.topic_id {
        log.assign_topic_id(id)?;
    }
    if options.is_watermark_manual {
        log.leave_high_watermark_to_caller()?;
    }
    Ok(log)
}
