//! Moving a log to another directory while it is appended to and read. Implements manager.md 9, c-abi.md 3.2.
//!
//! A copy grows in a directory marked `-future`; when it has caught up the log stands still for as long as it takes to make
//! the copy durable and to give it the log's name; then the log goes on from the files of the copy, and its old directory is
//! deleted. At each moment one of both is complete, and whoever opens the directories after a crash finds exactly one:
//! `move_intent.rs` says how. A move that was interrupted goes on from what was copied.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::checkpoints::Checkpoints;
use super::delete::{DELETE, remove_tree};
use super::dirs::LogDir;
use super::loading::load_options;
use super::move_intent::MoveIntent;
use super::{HighWatermarks, Manager, Role, health_of, partition_dir};
use crate::error::{Error, ErrorKind, Result};
use crate::format::names::{MAX_NAME_BYTES, marked_dir_name};
use crate::format::uuid::Uuid;
use crate::log::{CopyStep, EventKind, Frozen, LoadOptions, Log, LogPlace, Shutdown};
use crate::types::TopicPartition;

/// The suffix of a directory that a log is on its way to.
const FUTURE: &str = "future";
/// So often the copy runs after the log before appends have to wait for it.
const ROUNDS_MAX: usize = 16;

impl Manager {
    /// Moves a log to another of the manager's directories; handles of it stay good. Appends and reads go on, but for a moment
    /// at the end. `go_on` is asked between steps: its error ends the move and is answered, what was copied stays, and the
    /// next call goes on from there. Any other failure before the log has moved takes the copy away. To the directory
    /// that the log is in: a move elsewhere that was interrupted is given up. BUSY if it is being moved already.
    pub fn move_log(
        &self,
        log: &Arc<Log>,
        to: &Path,
        mut go_on: impl FnMut() -> Result<()>,
    ) -> Result<()> {
        self.check_open()?;
        log.check_open()?;
        self.check_owned()?;
        let to = self.dir_named(to)?;
        to.health.check()?;
        let partition = log.partition();
        let _one_at_a_time = Moving::begin(self, partition)?;
        let Some(future) = self.future_in(log, to)? else {
            return Ok(());
        };
        let mut was_interrupted = false;
        let mut go_on = || {
            let answer = go_on();
            was_interrupted = answer.is_err();
            answer
        };
        // The copy and the log must not be cleaned one without the other.
        let moved = self.without_cleaning(partition, || {
            self.copy_and_swap(log, &future, to, &mut go_on)
        });
        if moved.is_err() && !was_interrupted {
            let _none_is_swapped_now = self.swapping.read();
            if self.futures.read().contains_key(partition) {
                // It may be what fills the disk. If it does not go now the next opening finds it.
                let _ = self.drop_future(&future);
            }
        }
        moved.map_err(|e| {
            e.context(format_args!("move {partition} to {}", to.path.display()))
                .in_partition(partition.partition)
        })
    }

    /// The partitions that have a copy on its way to another directory, with the directory of that.
    #[must_use]
    pub fn futures(&self) -> Vec<(TopicPartition, PathBuf)> {
        let futures = self.futures.read();
        let of = |(partition, future): (&TopicPartition, &Arc<Log>)| {
            (partition.clone(), future.dir().to_path_buf())
        };
        futures.iter().map(of).collect()
    }

    /// The copy of a log in the directory that it is to move to: as far as it came, or an empty one. Copies elsewhere are given
    /// up. `None` if the log is there already.
    fn future_in(&self, log: &Log, to: &LogDir) -> Result<Option<Arc<Log>>> {
        let _none_is_swapped_now = self.swapping.read();
        self.check_open()?;
        let partition = log.partition();
        self.drop_failed_future(partition)?;
        let known = self.futures.read().get(partition).cloned();
        match known {
            Some(future) if to.holds(&future) && !to.holds(log) => return Ok(Some(future)),
            Some(future) => self.drop_future(&future)?,
            None => {}
        }
        if to.holds(log) {
            return Ok(None);
        }
        self.create_future(log, to).map(Some)
    }

    fn create_future(&self, log: &Log, to: &LogDir) -> Result<Arc<Log>> {
        let partition = log.partition();
        let name = marked_dir_name(partition, Uuid::random()?, FUTURE);
        // A name that was shortened would be that of another partition.
        if !name.starts_with(&format!("{partition}.")) {
            return Err(Error::new(
                ErrorKind::InvalidTopic,
                format!(
                    "{partition} cannot be moved: the name of its copy would have more than {MAX_NAME_BYTES} bytes"
                ),
            )
            .in_partition(partition.partition));
        }
        let load = LoadOptions {
            config: log.config(),
            ..load_options(
                &self.config(),
                &Checkpoints::default(),
                partition,
                HighWatermarks::FollowEnd,
            )
        };
        let future = self.create_at(to, &to.path.join(name), partition, log.topic_id(), load)?;
        // What tells of the copy before it is whole relies on its names.
        future.flush()?;
        let future = Arc::new(future);
        self.futures
            .write()
            .insert(partition.clone(), Arc::clone(&future));
        // What stands there of an older log of this name must not vouch for the copy.
        self.checkpoint_dir(to)?;
        Ok(future)
    }

    fn copy_and_swap(
        &self,
        log: &Arc<Log>,
        future: &Arc<Log>,
        to: &LogDir,
        go_on: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        let mut copy = Copy {
            manager: self,
            log,
            future,
            buffer: Vec::new(),
            cuts_seen: None,
        };
        for _ in 0..ROUNDS_MAX {
            go_on()?;
            let copied = copy.catch_up(go_on)?;
            // Most of it is made durable before the log has to stand still.
            future.flush()?;
            if copied == 0 {
                break;
            }
        }
        loop {
            go_on()?;
            if self.swap(&mut copy, to)? {
                return Ok(());
            }
        }
    }

    /// Lets the copy take the log's place. Not if the log was cut since they were last compared.
    fn swap(&self, copy: &mut Copy<'_>, to: &LogDir) -> Result<bool> {
        let _one_at_a_time = self.swapping.write();
        self.check_open()?;
        let (log, future) = (copy.log, copy.future);
        let Some(from) = self.dir_of(log) else {
            return Err(Error::new(
                ErrorKind::Bug,
                format!("{} lies in no directory of its manager", log.partition()),
            ));
        };
        from.health.check()?;
        to.health.check()?;
        let frozen = log.freeze()?;
        if !copy.catch_up_with_frozen()? {
            return Ok(false);
        }
        if future.start_offset() < log.start_offset() {
            future.delete_records(log.start_offset().min(future.end_offset()))?;
        }
        future.delete_below_start()?;
        // What is stored for the log once it lies there must not be above what it is.
        future.leave_high_watermark_to_caller()?;
        future.set_high_watermark(log.high_watermark())?;
        future.close()?;
        frozen
            .write_state(&*self.fs, &future.dir(), future.end_offset())
            .map_err(|e| to.health.judge(e))?;
        self.checkpoint_dir(to)?;
        self.forget_cleaner_offset_in(to, log.partition())?;
        let old = log.dir();
        let intent = MoveIntent::new(
            log.partition(),
            &old,
            &partition_dir(&to.path, log.partition()),
        )?;
        let moved = intent
            .write(&*self.fs)
            .map_err(|e| from.health.judge(e))
            .and_then(|()| self.take_place(&frozen, future, to, &intent));
        if let Err(e) = moved {
            if let Err(uncleared) = intent.clear(&*self.fs) {
                // The note is true only as long as nothing is appended here.
                frozen.refuse_appends(uncleared.clone());
                let _ = from.health.judge(uncleared);
            }
            return Err(e);
        }
        self.futures.write().remove(log.partition());
        drop(frozen);
        self.tell(EventKind::Moved, to, log.partition());
        self.move_cleaner_offset(log, from)?;
        self.put_away(from, &intent, log.partition())?;
        Ok(true)
    }

    /// Gives the copy its name, and lets the log go on from its files. On failure it has its old name again, if that can be
    /// had.
    fn take_place(
        &self,
        frozen: &Frozen<'_>,
        future: &Log,
        to: &LogDir,
        intent: &MoveIntent,
    ) -> Result<()> {
        let before = future.dir();
        let renamed = self
            .fs
            .rename(&before, &intent.to)
            .and_then(|()| self.fs.sync_dir(&to.path))
            .and_then(|()| self.load_moved(future, to, intent.to.clone()))
            .and_then(|copy| frozen.restore_epochs(&copy).map(|()| copy));
        match renamed {
            Ok(copy) => {
                frozen.go_on_from(copy);
                Ok(())
            }
            Err(e) => {
                let back = self.fs.rename(&intent.to, &before);
                let _ = back.and_then(|()| self.fs.sync_dir(&to.path));
                Err(to.health.judge(e))
            }
        }
    }

    pub(super) fn load_moved(&self, future: &Log, to: &LogDir, dir: PathBuf) -> Result<Log> {
        let place = LogPlace {
            partition: future.partition().clone(),
            dir,
            fs: Arc::clone(&self.fs),
            clock: Arc::clone(&self.clock),
            health: health_of(to),
        };
        let options = LoadOptions {
            shutdown: Shutdown::Clean,
            recovery_point: future.recovery_point(),
            log_start: future.start_offset(),
            config: future.config(),
            ..load_options(
                &self.config(),
                &to.checkpoints,
                future.partition(),
                HighWatermarks::FollowEnd,
            )
        };
        let (copy, _) = Log::open(place, &options)?;
        if copy.end_offset() == future.end_offset() {
            return Ok(copy);
        }
        Err(Error::new(
            ErrorKind::CorruptState,
            format!(
                "the copy ends at {} once it is loaded, and ended at {} before",
                copy.end_offset(),
                future.end_offset()
            ),
        )
        .in_file(&copy.dir()))
    }

    /// Takes the old directory out of use. The log has moved, whatever comes of this; what is left to do is done by the next
    /// opening.
    fn put_away(
        &self,
        from: &LogDir,
        intent: &MoveIntent,
        partition: &TopicPartition,
    ) -> Result<()> {
        let judge = |e| from.health.judge(e);
        let removed = intent.put_away(&*self.fs, partition).map_err(judge)?;
        self.deletions.lock().push(removed, self.clock.now(), from);
        intent.clear(&*self.fs).map_err(judge)?;
        self.checkpoint_dir(from)
    }

    /// Gives up a copy. No copy may take its log's place meanwhile.
    pub(super) fn drop_future(&self, future: &Log) -> Result<()> {
        let Some(dir) = self.dir_of(future) else {
            return Ok(());
        };
        let partition = future.partition();
        dir.health.check()?;
        let frozen = match future.freeze() {
            Ok(frozen) => Some(frozen),
            // It may have been closed when it was to take its log's place.
            Err(e) if e.kind() == ErrorKind::Closed => None,
            Err(e) => return Err(e),
        };
        self.remove_copy(dir, partition, &future.dir())?;
        if let Some(frozen) = frozen {
            frozen.mark_deleted();
        }
        self.futures.write().remove(partition);
        self.checkpoint_dir(dir)
    }

    /// Gives up what is left of a copy that did not load.
    fn drop_failed_future(&self, partition: &TopicPartition) -> Result<()> {
        let is_it = |failed: &super::FailedLog| {
            failed.partition == *partition && failed.role == Role::Future
        };
        let found: Vec<_> = self
            .failed
            .read()
            .iter()
            .filter(|f| is_it(f))
            .cloned()
            .collect();
        for failed in found {
            let home = failed.dir.parent();
            if let Some(dir) = self
                .dirs
                .iter()
                .find(|dir| home == Some(dir.path.as_path()))
            {
                dir.health.check()?;
                self.remove_copy(dir, partition, &failed.dir)?;
            }
            self.failed.write().retain(|other| other.dir != failed.dir);
        }
        Ok(())
    }

    fn remove_copy(&self, dir: &LogDir, partition: &TopicPartition, path: &Path) -> Result<()> {
        let removed = dir
            .path
            .join(marked_dir_name(partition, Uuid::random()?, DELETE));
        self.fs
            .rename(path, &removed)
            .and_then(|()| self.fs.sync_dir(&dir.path))
            .map_err(|e| dir.health.judge(e))?;
        // Nobody reads it, and it may be what fills the disk.
        if remove_tree(&*self.fs, &removed).is_err() {
            self.deletions.lock().push(removed, self.clock.now(), dir);
        }
        Ok(())
    }
}

/// A log and its copy while the one runs after the other.
struct Copy<'m> {
    manager: &'m Manager,
    log: &'m Arc<Log>,
    future: &'m Arc<Log>,
    buffer: Vec<u8>,
    /// The cuts of the log when both were last found to be the same.
    cuts_seen: Option<u64>,
}

impl Copy<'_> {
    /// Copies until the copy has all that the log has now. How many bytes.
    fn catch_up(&mut self, go_on: &mut dyn FnMut() -> Result<()>) -> Result<u64> {
        let mut copied = 0;
        loop {
            go_on()?;
            self.manager.check_open()?;
            self.log.check_open()?;
            let cuts = self.log.cut_count();
            if self.cuts_seen != Some(cuts) {
                if let Some(first) = self.future.first_difference(self.log)? {
                    self.manager.truncate_to(self.future, first)?;
                }
                self.cuts_seen = Some(cuts);
            }
            match self.future.copy_from(self.log, &mut self.buffer)? {
                CopyStep::Appended(bytes) => copied += bytes,
                CopyStep::BeginAt { first, start } => {
                    self.manager
                        .truncate_fully(self.future, first, Some(start))?;
                }
                CopyStep::CaughtUp if self.log.cut_count() == cuts => return Ok(copied),
                CopyStep::CaughtUp => {}
            }
        }
    }

    /// The same while the log stands still. Whether that was possible.
    fn catch_up_with_frozen(&mut self) -> Result<bool> {
        if self.cuts_seen != Some(self.log.cut_count()) {
            return Ok(false);
        }
        loop {
            match self.future.copy_from(self.log, &mut self.buffer)? {
                CopyStep::Appended(_) => {}
                CopyStep::CaughtUp => return Ok(true),
                CopyStep::BeginAt { .. } => return Ok(false),
            }
        }
    }
}

/// That a partition is being moved.
struct Moving<'m> {
    manager: &'m Manager,
    partition: &'m TopicPartition,
}

impl<'m> Moving<'m> {
    fn begin(manager: &'m Manager, partition: &'m TopicPartition) -> Result<Self> {
        if manager.moving.lock().insert(partition.clone()) {
            return Ok(Self { manager, partition });
        }
        Err(Error::new(
            ErrorKind::Busy,
            format!("{partition} is being moved already"),
        )
        .in_partition(partition.partition))
    }
}

impl Drop for Moving<'_> {
    fn drop(&mut self) {
        self.manager.moving.lock().remove(self.partition);
    }
}
