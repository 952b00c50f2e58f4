//! Making a log. Implements manager.md 3.

use std::path::PathBuf;
use std::sync::Arc;

use super::dirs::LogDir;
use super::{HighWatermarks, Manager, health_of, partition_dir};
use crate::error::{Error, ErrorKind, Result};
use crate::format::names::{check_partition, check_topic};
use crate::format::partition_metadata;
use crate::format::uuid::Uuid;
use crate::io::replace_file;
use crate::log::{HighWatermark, LoadOptions, Log, LogPlace, Shutdown};
use crate::types::{Offset, TopicPartition};

/// How a log is made.
#[derive(Clone, Debug, Default)]
pub struct CreateOptions {
    /// The topic's id. A broker takes a log without one for stray.
    pub topic_id: Option<Uuid>,
    /// The log directory to make it in; `None` is the live one with the fewest logs.
    pub dir: Option<PathBuf>,
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
        // Held while the log is made: two callers must not make it twice.
        let mut logs = self.logs.write();
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
        let dir = self.choose_dir(options, logs.values())?;
        let log = Arc::new(self.create_in(dir, partition, options)?);
        logs.insert(partition.clone(), Arc::clone(&log));
        self.made.lock().insert(partition.clone());
        Ok(log)
    }

    fn choose_dir<'a>(
        &self,
        options: &CreateOptions,
        logs: impl Iterator<Item = &'a Arc<Log>>,
    ) -> Result<&LogDir> {
        if let Some(wanted) = &options.dir {
            return self
                .dirs
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
                });
        }
        let mut counts = vec![0usize; self.dirs.len()];
        for log in logs {
            let at = self
                .dirs
                .iter()
                .position(|dir| log.dir().parent() == Some(dir.path.as_path()));
            if let Some(count) = at.and_then(|i| counts.get_mut(i)) {
                *count += 1;
            }
        }
        let fewest = self.dirs.iter().zip(counts).min_by_key(|(_, count)| *count);
        fewest
            .map(|(dir, _)| dir)
            .ok_or_else(|| Error::new(ErrorKind::LogDirNotFound, "no log directory is left"))
    }

    fn create_in(
        &self,
        dir: &LogDir,
        partition: &TopicPartition,
        options: &CreateOptions,
    ) -> Result<Log> {
        let path = partition_dir(&dir.path, partition);
        let judge = |e: Error| {
            dir.health
                .judge(e)
                .context(format_args!("create {partition}"))
        };
        self.fs.create_dir(&path).map_err(judge)?;
        self.fs.sync_dir(&dir.path).map_err(judge)?;
        let is_empty = self.fs.list(&path).map_err(judge)?.is_empty();
        if let Some(id) = options.topic_id {
            replace_file(
                &*self.fs,
                &path.join(partition_metadata::FILE),
                &partition_metadata::write(id),
            )
            .map_err(judge)?;
        }
        let place = LogPlace {
            partition: partition.clone(),
            dir: path,
            fs: Arc::clone(&self.fs),
            clock: Arc::clone(&self.clock),
            health: health_of(dir),
        };
        let is_manual =
            options.is_watermark_manual || self.high_watermarks == HighWatermarks::FromCheckpoint;
        let load = LoadOptions {
            // What lies in a directory that was not there at opening is known to nobody (manager.md 3.4).
            shutdown: if is_empty {
                Shutdown::Clean
            } else {
                Shutdown::Unclean
            },
            recovery_point: Offset::ZERO,
            log_start: Offset::ZERO,
            config: Arc::clone(self.config.log_config(&partition.topic)),
            producer_expiration_ms: self.config.broker.producer_id_expiration_ms,
            high_watermark: if is_manual {
                HighWatermark::SetByCaller(None)
            } else {
                HighWatermark::FollowsEnd
            },
            progress: None,
        };
        Ok(Log::open(place, &load).map_err(judge)?.0)
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
