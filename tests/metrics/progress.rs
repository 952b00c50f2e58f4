//! How far an opening is, seen while it lasts.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use klog::error::Result;
use klog::io::{DirEntry, File, FileLock, FileSystem, OpenMode, RealFs, Stat};
use klog::manager::{DirOpening, Manager, ManagerOptions, OpenProgress};

use super::support::engine::{Home, fill, t0};
use super::*;

type Look = dyn Fn() + Send + Sync;

/// The real file system, and a look at something whenever a file gets its name.
struct Spy(Box<Look>);

impl std::fmt::Debug for Spy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Spy")
    }
}

impl FileSystem for Spy {
    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn File>> {
        RealFs.open(path, mode)
    }
    fn create_dir(&self, path: &Path) -> Result<()> {
        RealFs.create_dir(path)
    }
    fn list(&self, dir: &Path) -> Result<Vec<DirEntry>> {
        RealFs.list(dir)
    }
    fn stat(&self, path: &Path) -> Result<Stat> {
        RealFs.stat(path)
    }
    fn canonicalize(&self, path: &Path) -> Result<PathBuf> {
        RealFs.canonicalize(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        (self.0)();
        RealFs.rename(from, to)
    }
    fn remove_file(&self, path: &Path) -> Result<()> {
        RealFs.remove_file(path)
    }
    fn remove_dir(&self, path: &Path) -> Result<()> {
        RealFs.remove_dir(path)
    }
    fn sync_dir(&self, dir: &Path) -> Result<()> {
        RealFs.sync_dir(dir)
    }
    fn set_modified(&self, path: &Path, time: TimestampMs) -> Result<()> {
        RealFs.set_modified(path, time)
    }
    fn lock(&self, path: &Path) -> Result<Option<Box<dyn FileLock>>> {
        RealFs.lock(path)
    }
}

/// Opens as after a crash; what could be seen of the opening meanwhile, and when it was done.
fn watched_open(home: &Home) -> (Vec<DirOpening>, DirOpening) {
    let progress = Arc::new(OpenProgress::default());
    let seen: Arc<Mutex<Vec<DirOpening>>> = Arc::default();
    let look = {
        let (progress, seen) = (Arc::clone(&progress), Arc::clone(&seen));
        move || seen.lock().unwrap().extend(progress.dirs())
    };
    let manager = Manager::open(ManagerOptions {
        fs: Arc::new(Spy(Box::new(look))),
        clock: Arc::new(ManualClock::new(TimestampMs(NOW))),
        recovery_threads: Some(1),
        progress: Some(Arc::clone(&progress)),
        ..ManagerOptions::new(vec![home.dir.clone()], home.config())
    })
    .unwrap();
    let done = progress.dirs().remove(0);
    manager.abandon();
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    (seen, done)
}

#[test]
fn the_progress_of_a_recovery_is_seen_while_it_lasts() {
    let home = Home::new();
    let manager = home.open();
    for name in ["t-0", "t-1", "t-2"] {
        let log = log(&manager, name);
        for _ in 0..4 {
            fill(&log, 10);
            log.roll().unwrap();
        }
        fill(&log, 1);
    }
    let bytes: u64 = manager.logs().iter().map(|log| log.size_bytes()).sum();
    manager.abandon();
    let (seen, done) = watched_open(&home);
    assert!(seen.len() > 6, "{}", seen.len());
    let left: BTreeSet<u64> = seen.iter().map(|dir| dir.logs_left).collect();
    assert!(left.is_superset(&BTreeSet::from([1, 2, 3])), "{left:?}");
    for dir in &seen {
        assert_eq!((&dir.path, dir.logs_total), (&home.dir, 3));
        assert!(dir.bytes_done <= dir.bytes_total && dir.bytes_total <= bytes);
        assert!(dir.at_work.len() <= 1);
        let sums = dir.at_work.iter().fold((0, 0), |(segments, left), log| {
            (
                segments + log.segments_left,
                left + log.bytes_total - log.bytes_done,
            )
        });
        assert_eq!(
            sums,
            (dir.segments_left, dir.bytes_total - dir.bytes_done),
            "what is left is that of the logs at work"
        );
    }
    // Each log counts its segments down to one that is left when the last one but one is told of.
    for number in 0..3 {
        let of_log: Vec<u64> = seen
            .iter()
            .flat_map(|dir| &dir.at_work)
            .filter(|log| log.partition == TopicPartition::new("t", number))
            .map(|log| log.segments_left)
            .collect();
        assert!(of_log.is_sorted_by(|a, b| a >= b), "{of_log:?}");
        assert!(
            BTreeSet::from_iter(of_log.clone()).is_superset(&BTreeSet::from([1, 2, 3])),
            "{of_log:?}"
        );
    }
    let half = seen
        .iter()
        .filter(|dir| dir.bytes_done > 0 && dir.bytes_done < bytes)
        .count();
    assert!(half >= 6, "only {half} looks between begin and end");
    assert_eq!((done.logs_left, done.segments_left), (0, 0));
    assert_eq!((done.bytes_done, done.bytes_total), (bytes, bytes));
    assert!(done.at_work.is_empty());
}

#[test]
fn after_a_clean_stop_there_is_nothing_to_read_again() {
    let home = Home::new();
    let manager = home.open();
    append(&t0(&manager), &[rec(NOW, "k", "v")]);
    manager.close().unwrap();
    let (_, done) = watched_open(&home);
    assert_eq!(
        (done.logs_total, done.logs_left, done.bytes_total),
        (1, 0, 0)
    );
    // One index that is missing: that segment is.
    let manager = home.open();
    t0(&manager).roll().unwrap();
    manager.close().unwrap();
    home.remove("0.index");
    let (_, done) = watched_open(&home);
    assert_eq!(done.bytes_total, 70);
    assert_eq!(done.bytes_done, 70);
}
