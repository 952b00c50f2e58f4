//! Taking over a log that was written in another directory: under the topic id and with the checkpoints of this one.
//!
//! The copy grows in a directory marked `-delete`, which any owner removes if we do not come to the end, and takes the
//! place of the partition's empty log in one rename, when all of it is durable. Implements manager.md 1.7.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::delete::{DELETE, remove_tree};
use super::dirs::LogDir;
use super::{HighWatermarks, Manager, health_of};
use crate::error::{Error, ErrorKind, Result};
use crate::format::names::marked_dir_name;
use crate::format::partition_metadata;
use crate::format::uuid::Uuid;
use crate::io::replace_file;
use crate::log::{DirHealth, HighWatermark, LoadOptions, Log, LogPlace, Shutdown};
use crate::types::{LeaderEpoch, Offset, TopicPartition};

/// The epoch under which what was written elsewhere counts: never later than the broker's own. Which that is the directory
/// does not say, as an epoch without a record does not survive a load.
const EPOCH: LeaderEpoch = LeaderEpoch(0);

/// A log that was taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adopted {
    /// The first offset that can be read.
    pub log_start: Offset,
    /// The next offset to be assigned.
    pub log_end: Offset,
}

impl Manager {
    /// Takes a partition over from the directory of another manager, for the broker that has its topic: the broker's empty
    /// log of that partition is replaced by a copy under its topic id and the leader epoch 0, and without the
    /// producers, whose ids it gives to others. The other directory keeps its log, closed. Nothing here has changed if this
    /// fails before the copy takes its place, and the other's log may be closed then.
    pub fn adopt(&self, from: &Manager, partition: &TopicPartition) -> Result<Adopted> {
        self.check_open()?;
        self.check_owned()?;
        from.check_owned()?;
        let old = self.log(partition).map_err(|e| match e.kind() {
            ErrorKind::UnknownTopicOrPartition => {
                e.context("its topic must be created in the broker first")
            }
            _ => e,
        })?;
        let refuse = |why: &str| {
            Error::invalid_argument(format!("cannot replace the log {partition}: {why}"))
                .in_partition(partition.partition)
                .in_file(&old.dir())
        };
        let Some(topic_id) = old.topic_id() else {
            return Err(refuse(
                "it has no topic id, so that no broker knows it; create the topic in the broker first",
            ));
        };
        if old.end_offset() > Offset::ZERO {
            return Err(refuse(
                "it has had records, whose offsets would be given out again",
            ));
        }
        let Some(dir) = self.dir_of(&old) else {
            return Err(refuse("it lies in no directory of its manager"));
        };
        dir.health.check()?;
        let source = from.log(partition)?;
        let copy = dir
            .path
            .join(marked_dir_name(partition, Uuid::random()?, DELETE));
        let copied = self.copy_into(&copy, &source, topic_id);
        if let Err(e) = copied {
            // What is left of it is removed by whoever opens the directory next.
            let _ = remove_tree(&*self.fs, &copy);
            return Err(e.context(format_args!("adopt {partition}")));
        }
        let log = self.replace(dir, &old, &copy, source.start_offset())?;
        self.checkpoint_dir(dir)?;
        Ok(Adopted {
            log_start: log.start_offset(),
            log_end: log.end_offset(),
        })
    }

    /// Makes the copy, and loads it once.
    fn copy_into(&self, copy: &Path, source: &Log, topic_id: Uuid) -> Result<()> {
        self.fs.create_dir(copy)?;
        source.close_and_copy(&*self.fs, copy, EPOCH)?;
        replace_file(
            &*self.fs,
            &copy.join(partition_metadata::FILE),
            &partition_metadata::write(topic_id),
        )?;
        // Its health is its own: a copy that does not load is no reason to give up the directory.
        let health = Arc::new(DirHealth::new(copy.to_path_buf()));
        let (start, end) = (source.start_offset(), source.end_offset());
        let loaded = self.load_adopted(source.partition(), copy.to_path_buf(), health, start)?;
        let found = (loaded.start_offset(), loaded.end_offset());
        loaded.close()?;
        if found == (start, end) {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::CorruptState,
            format!(
                "the copy has the offsets {} to {}, not {start} to {end}",
                found.0, found.1
            ),
        )
        .in_file(copy))
    }

    /// Puts the copy in the place of the old log, which is to be removed.
    fn replace(
        &self,
        dir: &LogDir,
        old: &Arc<Log>,
        copy: &Path,
        start: Offset,
    ) -> Result<Arc<Log>> {
        let partition = old.partition();
        let place = old.dir().to_path_buf();
        let mut removed = dir
            .path
            .join(marked_dir_name(partition, Uuid::random()?, DELETE));
        // Held until the new log is there: nobody may make the partition meanwhile.
        let mut logs = self.logs.write();
        let frozen = old.freeze()?;
        let judge = |e| {
            dir.health
                .judge(e)
                .context(format_args!("adopt {partition}"))
        };
        // In one step where that can be: else a crash between the two leaves the partition to the broker, which makes it anew.
        if self.fs.exchange(copy, &place).map_err(judge)? {
            removed = copy.to_path_buf();
        } else {
            self.fs.rename(&place, &removed).map_err(judge)?;
        }
        if removed != copy
            && let Err(e) = self.fs.rename(copy, &place)
        {
            // The old one is the partition's log still, if it can have its name again.
            if self.fs.rename(&removed, &place).is_err() {
                frozen.mark_deleted();
                logs.remove(partition);
            }
            return Err(judge(e));
        }
        frozen.mark_deleted();
        drop(frozen);
        logs.remove(partition);
        self.fs.sync_dir(&dir.path).map_err(judge)?;
        // It was empty. If it does not go now, whoever opens the directory next removes it.
        let _ = remove_tree(&*self.fs, &removed);
        let log = Arc::new(self.load_adopted(partition, place, health_of(dir), start)?);
        logs.insert(partition.clone(), Arc::clone(&log));
        Ok(log)
    }

    fn load_adopted(
        &self,
        partition: &TopicPartition,
        dir: PathBuf,
        health: Arc<DirHealth>,
        log_start: Offset,
    ) -> Result<Log> {
        let place = LogPlace {
            partition: partition.clone(),
            dir,
            fs: Arc::clone(&self.fs),
            clock: Arc::clone(&self.clock),
            health,
        };
        let load = LoadOptions {
            shutdown: Shutdown::Clean,
            recovery_point: Offset::ZERO,
            log_start,
            config: Arc::clone(self.config().log_config(&partition.topic)),
            producer_expiration_ms: self.config().broker.producer_id_expiration_ms,
            high_watermark: match self.high_watermarks {
                HighWatermarks::FollowEnd => HighWatermark::FollowsEnd,
                HighWatermarks::FromCheckpoint => {
                    HighWatermark::SetByCaller(Some(Offset(i64::MAX)))
                }
            },
            progress: None,
            spare_threads: Arc::default(),
            new_name: None,
        };
        Ok(Log::open(place, &load)?.0)
    }
}
