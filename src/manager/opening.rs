//! How far an opening is, for other threads to see while it lasts: the manager itself is not there yet. Implements manager.md
//! 14 (remainingLogsToRecover, remainingSegmentsToRecover).

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::types::TopicPartition;

/// Given in [`super::ManagerOptions::progress`] and looked at by another thread while [`super::Manager::open`] runs.
///
/// ```
/// use std::sync::Arc;
///
/// use klog::config::ConfigSet;
/// use klog::manager::{Manager, ManagerOptions, OpenProgress};
///
/// # fn main() -> klog::Result<()> {
/// # let temporary = tempfile::tempdir().expect("a temporary directory");
/// # let data_dir = temporary.path().to_path_buf();
/// let progress = Arc::new(OpenProgress::default());
/// let mut options = ManagerOptions::new(vec![data_dir], Arc::new(ConfigSet::broker().resolve()?));
/// options.progress = Some(Arc::clone(&progress));
/// let opening = std::thread::spawn(move || Manager::open(options));
/// // As often as one likes, until the thread ends:
/// for dir in progress.dirs() {
///     println!("{}: {} of {} logs left", dir.path.display(), dir.logs_left, dir.logs_total);
/// }
/// # opening.join().expect("no panic")?.close()
/// # }
/// ```
#[derive(Debug, Default)]
pub struct OpenProgress {
    dirs: Mutex<Vec<Arc<DirCounters>>>,
}

/// How far the opening of a log directory is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DirOpening {
    /// The directory.
    pub path: PathBuf,
    /// Logs that were found in it; 0 until it was looked at.
    pub logs_total: u64,
    /// Those that are not loaded yet.
    pub logs_left: u64,
    /// Segments to be read again of the logs at work.
    pub segments_left: u64,
    /// Bytes to be read again of all logs that were looked at so far. It rises, until no log is left.
    pub bytes_total: u64,
    /// Those that were read. What is cut off counts as read once its log is loaded.
    pub bytes_done: u64,
    /// The logs that are being loaded.
    pub at_work: Vec<LogOpening>,
}

/// How far a log that is being loaded is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogOpening {
    /// Number of the thread, from 0, among those that work in the directory.
    pub thread: u32,
    /// The log.
    pub partition: TopicPartition,
    /// Segments to be read again, the one that is being read included.
    pub segments_left: u64,
    /// Bytes to be read again.
    pub bytes_total: u64,
    /// Those that were read.
    pub bytes_done: u64,
}

#[derive(Debug, Default)]
struct DirCounters {
    path: PathBuf,
    state: Mutex<DirState>,
}

#[derive(Debug, Default)]
struct DirState {
    logs_total: u64,
    logs_left: u64,
    /// Of the logs that are loaded.
    bytes_loaded: u64,
    at_work: BTreeMap<u32, Arc<Load>>,
}

#[derive(Debug)]
struct Load {
    partition: TopicPartition,
    // Written by the one thread that loads the log and only shown to others: Relaxed, pairs with nothing.
    segments_left: AtomicU64,
    bytes_total: AtomicU64,
    bytes_done: AtomicU64,
}

impl Load {
    fn snapshot(&self, thread: u32) -> LogOpening {
        LogOpening {
            thread,
            partition: self.partition.clone(),
            segments_left: self.segments_left.load(Ordering::Relaxed),
            bytes_total: self.bytes_total.load(Ordering::Relaxed),
            bytes_done: self.bytes_done.load(Ordering::Relaxed),
        }
    }
}

impl OpenProgress {
    /// How far each directory is, in the order given; none before the opening has begun.
    #[must_use]
    pub fn dirs(&self) -> Vec<DirOpening> {
        self.dirs.lock().iter().map(|dir| dir.snapshot()).collect()
    }

    /// The same counters, apart from what this object may be used for later.
    pub(super) fn own(&self) -> Self {
        Self {
            dirs: Mutex::new(self.dirs.lock().clone()),
        }
    }

    /// These directories are being opened.
    pub(super) fn begin(&self, paths: impl Iterator<Item = PathBuf>) {
        let counters = |path| {
            Arc::new(DirCounters {
                path,
                state: Mutex::default(),
            })
        };
        *self.dirs.lock() = paths.map(counters).collect();
    }

    /// So many logs were found in a directory.
    pub(super) fn plan(&self, dir: usize, logs: usize) -> LogsOfDir {
        let counters = self.dirs.lock().get(dir).cloned().unwrap_or_default();
        {
            let mut state = counters.state.lock();
            state.logs_total = logs as u64;
            state.logs_left = logs as u64;
        }
        LogsOfDir(counters)
    }

    /// No log is left, also of those that could not be loaded.
    pub(super) fn end(&self) {
        for dir in &*self.dirs.lock() {
            let mut state = dir.state.lock();
            state.logs_left = 0;
            state.at_work.clear();
        }
    }
}

impl DirCounters {
    fn snapshot(&self) -> DirOpening {
        let state = self.state.lock();
        let at_work: Vec<LogOpening> = state
            .at_work
            .iter()
            .map(|(thread, load)| load.snapshot(*thread))
            .collect();
        let sum = |of: fn(&LogOpening) -> u64| at_work.iter().map(of).sum::<u64>();
        DirOpening {
            path: self.path.clone(),
            logs_total: state.logs_total,
            logs_left: state.logs_left,
            segments_left: sum(|log| log.segments_left),
            bytes_total: state.bytes_loaded + sum(|log| log.bytes_total),
            bytes_done: state.bytes_loaded + sum(|log| log.bytes_done),
            at_work,
        }
    }
}

/// Makes the counters of a directory's logs.
pub(super) struct LogsOfDir(Arc<DirCounters>);

impl LogsOfDir {
    pub(super) fn log(&self, partition: &TopicPartition) -> LogCounters {
        LogCounters {
            dir: Arc::clone(&self.0),
            load: Arc::new(Load {
                partition: partition.clone(),
                segments_left: AtomicU64::new(0),
                bytes_total: AtomicU64::new(0),
                bytes_done: AtomicU64::new(0),
            }),
        }
    }
}

/// The counters of one log, for the thread that loads it.
#[derive(Debug)]
pub(super) struct LogCounters {
    dir: Arc<DirCounters>,
    load: Arc<Load>,
}

impl LogCounters {
    pub(super) fn begin(&self) {
        self.load.segments_left.store(0, Ordering::Relaxed);
        self.load.bytes_total.store(0, Ordering::Relaxed);
        self.load.bytes_done.store(0, Ordering::Relaxed);
        let mut state = self.dir.state.lock();
        let is_known = |load: &Arc<Load>| Arc::ptr_eq(load, &self.load);
        if !state.at_work.values().any(is_known) {
            let free = (0..u32::MAX).find(|thread| !state.at_work.contains_key(thread));
            state
                .at_work
                .insert(free.unwrap_or(u32::MAX), Arc::clone(&self.load));
        }
    }

    pub(super) fn expect(&self, segments: u64, bytes: u64) {
        self.load
            .segments_left
            .fetch_add(segments, Ordering::Relaxed);
        self.load.bytes_total.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn add_read(&self, bytes: u64) {
        self.load.bytes_done.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn end_segment(&self) {
        let left = &self.load.segments_left;
        let one_less = left.load(Ordering::Relaxed).saturating_sub(1);
        left.store(one_less, Ordering::Relaxed);
    }

    pub(super) fn end(&self) {
        let mut state = self.dir.state.lock();
        let before = state.at_work.len();
        state
            .at_work
            .retain(|_, load| !Arc::ptr_eq(load, &self.load));
        if state.at_work.len() < before {
            state.logs_left = state.logs_left.saturating_sub(1);
            state.bytes_loaded += self.load.bytes_total.load(Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_show_what_is_at_work_and_what_is_left() {
        let progress = OpenProgress::default();
        assert!(progress.dirs().is_empty());
        progress.begin([PathBuf::from("/a"), PathBuf::from("/b")].into_iter());
        let logs = progress.plan(1, 3);
        let of = |number| logs.log(&TopicPartition::new("t", number));
        let (first, second) = (of(0), of(1));
        first.begin();
        second.begin();
        first.expect(3, 300);
        first.add_read(100);
        first.end_segment();
        first.add_read(20);
        second.expect(1, 50);
        let [a, b] = <[DirOpening; 2]>::try_from(progress.dirs()).unwrap();
        assert_eq!((a.path.to_str(), a.logs_total), (Some("/a"), 0));
        assert_eq!((b.logs_total, b.logs_left, b.segments_left), (3, 3, 3));
        assert_eq!((b.bytes_total, b.bytes_done), (350, 120));
        let at_work: Vec<_> = b
            .at_work
            .iter()
            .map(|l| {
                (
                    l.thread,
                    l.partition.to_string(),
                    l.segments_left,
                    l.bytes_done,
                )
            })
            .collect();
        assert_eq!(
            at_work,
            [(0, "t-0".to_owned(), 2, 120), (1, "t-1".to_owned(), 1, 0)]
        );
        first.end();
        first.end();
        // What was cut off of it is done with.
        let b = progress.dirs().remove(1);
        assert_eq!((b.logs_left, b.segments_left), (2, 1));
        assert_eq!((b.bytes_total, b.bytes_done), (350, 300));
        // The thread that is free takes the next one; one that begins again begins at 0.
        let third = of(2);
        third.begin();
        third.expect(1, 10);
        third.begin();
        let b = progress.dirs().remove(1);
        assert_eq!((b.at_work[0].thread, b.at_work[0].bytes_total), (0, 0));
        assert_eq!(b.at_work.len(), 2);
        progress.end();
        let b = progress.dirs().remove(1);
        assert_eq!((b.logs_left, b.at_work.len()), (0, 0));
    }
}
