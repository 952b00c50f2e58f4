//! Keeping the cleaner and other changes of a log apart. Implements cleaner.md 1.1-1.6, 1.14, 1.15, 10.
//!
//! Whoever changes what the cleaner reads waits until a pass over that log has ended, and holds the next one back meanwhile.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use parking_lot::{Condvar, Mutex};

use super::Manager;
use super::cleaner_gauges::LastRuns;
use crate::cleaner::state::{Ended, States};
use crate::cleaner::throttle::Throttle;
use crate::cleaner::watch::{Progress, Watch};
use crate::config::BrokerConfig;
use crate::error::{Error, ErrorKind, Result};
use crate::format::checkpoint::Offsets;
use crate::io::Clock;
use crate::log::Log;
use crate::types::TopicPartition;

/// How long a waiter sleeps at most before it looks whether its caller still wants to wait.
const WAIT: Duration = Duration::from_millis(100);

/// Who cleans what.
#[derive(Debug, Default)]
pub(super) struct Cleaning {
    states: Mutex<States>,
    changed: Condvar,
    /// Logs that a pass failed on, and why. They are left alone until somebody asks for them by name.
    uncleanable: Mutex<BTreeMap<TopicPartition, Error>>,
    /// The cleaner offsets of the directories that were looked at; held while a file is read, changed and written.
    pub(super) offsets: Mutex<BTreeMap<PathBuf, Offsets>>,
    /// `log.cleaner.io.max.bytes.per.second`, for all passes together.
    throttle: ArcSwapOption<Throttle>,
    /// What the metrics show.
    pub(super) last_runs: LastRuns,
}

impl Cleaning {
    pub(super) fn new(broker: &BrokerConfig, clock: &Arc<dyn Clock>) -> Self {
        let cleaning = Self::default();
        cleaning.set_rate(broker, clock);
        cleaning
    }

    /// Passes go by this rate from now on; those that run keep theirs.
    pub(super) fn set_rate(&self, broker: &BrokerConfig, clock: &Arc<dyn Clock>) {
        let throttle = Throttle::new(broker.cleaner.io_max_bytes_per_second, clock);
        self.throttle.store(throttle.map(Arc::new));
    }

    pub(super) fn throttle(&self) -> Option<Arc<Throttle>> {
        self.throttle.load_full()
    }

    /// Until something changed, or a tenth of a second.
    pub(super) fn wait_a_little(&self) {
        self.changed.wait_for(&mut self.states.lock(), WAIT);
    }
}

/// Work on a log for the cleaner; others wait for its end.
pub(super) struct Work<'a> {
    manager: &'a Manager,
    partition: TopicPartition,
    pub(super) watch: Arc<Watch>,
    is_over: bool,
}

impl Work<'_> {
    /// Ends the work. Whether somebody waited, who changes the log now: then what was found does not count any more.
    pub(super) fn end(mut self) -> Result<Ended> {
        self.is_over = true;
        self.manager.end_work(&self.partition)
    }

    /// Ends the work with something that must be done before others may go on, unless somebody waits already.
    pub(super) fn end_with(mut self, last: impl FnOnce() -> Result<()>) -> Result<()> {
        self.is_over = true;
        // Whoever aborts from here on waits until this is done.
        let done = if self.watch.is_aborted() {
            Ok(())
        } else {
            last()
        };
        self.manager.end_work(&self.partition)?;
        done
    }
}

impl Drop for Work<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            let _ = self.manager.end_work(&self.partition);
        }
    }
}

impl Manager {
    /// Begins work on a log for the cleaner; `None` if somebody else works on it, or paused it.
    pub(super) fn begin_work(&self, partition: &TopicPartition) -> Result<Option<Work<'_>>> {
        let mut states = self.cleaning.states.lock();
        // Closing aborts what runs, under this lock, after it has said that it closes.
        self.check_open()?;
        Ok(states.begin(partition).map(|watch| Work {
            manager: self,
            partition: partition.clone(),
            watch,
            is_over: false,
        }))
    }

    fn end_work(&self, partition: &TopicPartition) -> Result<Ended> {
        let ended = self.cleaning.states.lock().end(partition);
        self.cleaning.changed.notify_all();
        ended
    }

    /// Lets no pass run on a log until [`Self::resume_cleaning`]: one that runs is ended, and waited for. Pauses count.
    pub fn pause_cleaning(&self, partition: &TopicPartition) -> Result<()> {
        let mut states = self.cleaning.states.lock();
        // Somebody else waits for the end of the same pass: then this one pauses once more.
        while states.is_aborted(partition) {
            self.cleaning.changed.wait_for(&mut states, WAIT);
        }
        let must_wait = states.abort_and_pause(partition)?;
        while must_wait && !states.is_paused(partition) {
            self.cleaning.changed.wait_for(&mut states, WAIT);
        }
        Ok(())
    }

    /// Takes back one pause. INVALID_ARGUMENT if there is none.
    pub fn resume_cleaning(&self, partition: &TopicPartition) -> Result<()> {
        let resumed = self.cleaning.states.lock().resume(partition);
        self.cleaning.changed.notify_all();
        resumed
    }

    /// Changes a log that no pass runs on meanwhile.
    pub(super) fn without_cleaning<T>(
        &self,
        partition: &TopicPartition,
        change: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        self.pause_cleaning(partition)?;
        let _paused = Paused(self, partition);
        change()
    }

    /// As [`Self::without_cleaning`], if nobody else works on the log or paused it; else nothing is done.
    pub(super) fn if_not_cleaned<T>(
        &self,
        partition: &TopicPartition,
        change: impl FnOnce() -> Result<T>,
    ) -> Result<Option<T>> {
        {
            let mut states = self.cleaning.states.lock();
            if !states.is_free(partition) {
                return Ok(None);
            }
            states.abort_and_pause(partition)?;
        }
        let _paused = Paused(self, partition);
        change().map(Some)
    }

    /// Ends all passes, for closing.
    pub(super) fn abort_all_cleaning(&self) {
        debug_assert!(self.closed.load(Ordering::SeqCst), "others would begin");
        let mut states = self.cleaning.states.lock();
        states.abort_all();
        while states.any_runs() {
            self.cleaning.changed.wait_for(&mut states, WAIT);
        }
    }

    /// Why work on a log cannot begin.
    pub(super) fn not_free(&self, partition: &TopicPartition) -> Error {
        let (kind, what) = if self.cleaning.states.lock().is_paused(partition) {
            (ErrorKind::CleanPaused, "paused; resume it first")
        } else {
            (ErrorKind::Busy, "under way already")
        };
        Error::new(kind, format!("the cleaning of {partition} is {what}"))
            .in_partition(partition.partition)
    }

    /// How far the pass is that runs on a log.
    #[must_use]
    pub fn cleaning_progress(&self, log: &Log) -> Option<Progress> {
        let running = self.cleaning.states.lock().running(log.partition());
        running.map(|watch| watch.progress())
    }

    /// The logs that the cleaner has given up, and why. A pass that is asked for by name and succeeds takes one off the list.
    #[must_use]
    pub fn uncleanable(&self) -> Vec<(TopicPartition, Error)> {
        let marked = self.cleaning.uncleanable.lock();
        let all = marked.iter().map(|(p, e)| (p.clone(), e.clone()));
        all.collect()
    }

    pub(super) fn is_uncleanable(&self, partition: &TopicPartition) -> bool {
        self.cleaning.uncleanable.lock().contains_key(partition)
    }

    /// Remembers how a pass over a log ended. What only stopped it says nothing of the log.
    pub(super) fn note_outcome(&self, partition: &TopicPartition, error: Option<&Error>) {
        let mut marked = self.cleaning.uncleanable.lock();
        match error {
            None => {
                marked.remove(partition);
            }
            Some(e) if e.is_io() || is_passing(e.kind()) => {}
            Some(e) => {
                if marked.insert(partition.clone(), e.clone()).is_none() {
                    self.tell_given_up(partition, e);
                }
            }
        }
    }

    pub(super) fn forget_uncleanable(&self, partition: &TopicPartition) {
        self.cleaning.uncleanable.lock().remove(partition);
    }
}

/// Failures that are not the log's own: another pass may go through.
const fn is_passing(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::Cancelled
            | ErrorKind::CleanAborted
            | ErrorKind::CleanPaused
            | ErrorKind::TimedOut
            | ErrorKind::Closed
            | ErrorKind::UnknownTopicOrPartition
            | ErrorKind::DirOffline
            | ErrorKind::KafkaStorage
            | ErrorKind::NoMemory
            | ErrorKind::InvalidConfig
    )
}

/// Resumes when dropped, however the change ended (KAFKA-15082).
struct Paused<'a>(&'a Manager, &'a TopicPartition);

impl Drop for Paused<'_> {
    fn drop(&mut self) {
        let _ = self.0.resume_cleaning(self.1);
    }
}
