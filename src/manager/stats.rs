//! What a manager counts and tells: for [`crate::service`]. Implements manager.md 14 as far as the values go.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;

use super::Manager;
use super::dirs::LogDir;
use super::opening::{DirOpening, OpenProgress};
use super::tasks::Task;
use crate::error::{Error, Result};
use crate::log::{
    Event, EventKind, EventListener, FindingKind, FlushStats, Log, LogCounts, Monitor,
};
use crate::types::TopicPartition;

/// What a manager holds of this.
#[derive(Debug)]
pub(super) struct Stats {
    monitor: Arc<Monitor>,
    opening: OpenProgress,
    departed: Mutex<Departed>,
}

/// What logs counted that are gone: a counter never falls.
#[derive(Debug, Default)]
struct Departed {
    all_topics: LogCounts,
    /// Of topics that have logs left. One that has none is forgotten, as in Kafka.
    topics: BTreeMap<String, LogCounts>,
}

/// Everything that a manager counts, at one moment.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Snapshot {
    /// Its directories, in the order given.
    pub dirs: Vec<DirStats>,
    /// Its logs, sorted; then the copies on their way to another directory.
    pub logs: Vec<Arc<Log>>,
    /// The counters of each topic that has a log.
    pub topics: BTreeMap<String, LogCounts>,
    /// The counters of all topics, also of those that are gone.
    pub all_topics: LogCounts,
    /// Flushes of segments.
    pub flushes: FlushStats,
}

/// What there is to tell of a directory.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DirStats {
    /// Its path.
    pub path: PathBuf,
    /// Whether it is out of use.
    pub is_offline: bool,
    /// Whether `cordoned.log.dirs` names it.
    pub is_cordoned: bool,
    /// How far the loading of its logs is.
    pub opening: DirOpening,
}

impl Stats {
    pub(super) fn new(monitor: Arc<Monitor>, opening: OpenProgress) -> Self {
        Self {
            monitor,
            opening,
            departed: Mutex::default(),
        }
    }

    /// A log is no longer among the `logs`, whose lock is held: what it counted stays counted. What a stale handle of it
    /// counts from now on does not.
    pub(super) fn departs(&self, log: &Log, logs: &BTreeMap<TopicPartition, Arc<Log>>) {
        let counts = log.counts();
        let topic = &*log.partition().topic;
        let mut departed = self.departed.lock();
        departed.all_topics += counts;
        if logs.keys().any(|left| *left.topic == *topic) {
            *departed.topics.entry(topic.to_owned()).or_default() += counts;
        } else {
            departed.topics.remove(topic);
        }
    }

    /// Nothing is told any more.
    pub(super) fn end_events(&self) {
        self.monitor.events().end();
    }
}

impl Manager {
    /// What is counted, at this moment. CLOSED once it was closed.
    pub fn stats(&self) -> Result<Snapshot> {
        self.check_open()?;
        // Held until all is added up: a log that goes meanwhile must not count twice, or not at all.
        let served = self.logs.read();
        let departed = self.stats.departed.lock();
        let mut all_topics = departed.all_topics;
        let mut topics = departed.topics.clone();
        for log in served.values() {
            let counts = log.counts();
            all_topics += counts;
            match topics.get_mut(&*log.partition().topic) {
                Some(topic) => *topic += counts,
                None => {
                    topics.insert(log.partition().topic.to_string(), counts);
                }
            }
        }
        let mut logs: Vec<_> = served.values().cloned().collect();
        logs.extend(self.futures.read().values().cloned());
        drop(departed);
        drop(served);
        let config = self.config();
        let opening = self.stats.opening.dirs().into_iter();
        let dirs = self.dirs.iter().zip(opening);
        Ok(Snapshot {
            dirs: dirs
                .map(|(dir, opening)| DirStats {
                    path: dir.path.clone(),
                    is_offline: !dir.is_online(),
                    is_cordoned: config.broker.is_cordoned(&dir.path),
                    opening,
                })
                .collect(),
            logs,
            topics,
            all_topics,
            flushes: self.stats.monitor.flushes(),
        })
    }

    /// Bytes that the views of its logs hold ([`Log::view`]).
    #[must_use]
    pub fn pinned_bytes(&self) -> u64 {
        let pinned = self.stats.monitor.pinned_bytes();
        pinned.load(std::sync::atomic::Ordering::SeqCst)
    }

    /// Whether a log is one of this manager's.
    pub(crate) fn serves(&self, log: &Arc<Log>) -> bool {
        let logs = self.logs.read();
        logs.get(log.partition())
            .is_some_and(|own| Arc::ptr_eq(own, log))
    }

    /// Lets a listener hear what opening found, what is still so, and then all that comes.
    pub(crate) fn listen(&self, listener: &Arc<dyn EventListener>) -> Result<()> {
        self.check_open()?;
        let monitor = &self.stats.monitor;
        // That a directory went offline stands in the report too; it is told as what it still is.
        let is_of_dir =
            |kind, partition: &Option<_>| kind == FindingKind::Failed && Option::is_none(partition);
        let found = self
            .report
            .iter()
            .filter(|finding| !is_of_dir(finding.kind, &finding.partition))
            .map(|finding| Event::of_finding(finding, monitor.since()));
        monitor.events().listen(listener, found);
        Ok(())
    }

    /// Where it tells what happens.
    pub(crate) fn monitor(&self) -> &Arc<Monitor> {
        &self.stats.monitor
    }

    /// Tells what happened to a log.
    pub(super) fn tell(&self, kind: EventKind, dir: &LogDir, partition: &TopicPartition) {
        let monitor = &self.stats.monitor;
        monitor.events().publish(kind, || Event {
            dir: Some(dir.path.clone()),
            partition: Some(partition.clone()),
            ..Event::new(kind, monitor.now())
        });
    }

    /// Tells that the cleaner gave a log up.
    pub(super) fn tell_given_up(&self, partition: &TopicPartition, error: &Error) {
        let monitor = &self.stats.monitor;
        let kind = EventKind::TaskFailed;
        monitor.events().publish(kind, || Event {
            partition: Some(partition.clone()),
            text: format!(
                "the cleaner leaves {partition} alone until it is asked for by name: {error}"
            ),
            ..Event::new(kind, monitor.now()).with_error(error)
        });
    }

    /// Tells that a task failed.
    pub(super) fn tell_failed(&self, task: Task, error: &Error) {
        let monitor = &self.stats.monitor;
        let kind = EventKind::TaskFailed;
        monitor.events().publish(kind, || Event {
            text: format!("{}: {error}", task.name()),
            ..Event::new(kind, monitor.now()).with_error(error)
        });
    }
}
