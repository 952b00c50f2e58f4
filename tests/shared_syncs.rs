//! Synchronous appends of several threads share an fsync, which holds up no append. log.md 7, design.md 4.
//!
//! The file system is real; its syncs of `.log` files are counted, and each waits at a gate until all threads have appended.
//! Were a lock of the appends held during a sync, nobody else could append and the gate would stay shut.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a failure fails the test"
)]

mod support;

use std::os::fd::RawFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, OnceLock};
use std::time::{Duration, Instant};

use klog::error::Result;
use klog::io::{DirEntry, File, FileLock, FileSystem, Mapping, OpenMode, RealFs, Stat};
use klog::log::{AppendOptions, Log, WriteDurability};
use klog::manager::{HighWatermarks, Manager, ManagerOptions, MissingDir};
use klog::types::{Offset, TimestampMs};

use support::engine::{Home, NOW, builder, offsets, rec, t0};

const THREADS: usize = 8;
const ROUNDS: usize = 25;
/// Far beyond what any machine needs.
const PATIENCE: Duration = Duration::from_mins(1);

/// What syncs of the log's file wait for.
#[derive(Default)]
struct Gate {
    log: OnceLock<Arc<Log>>,
    opens_at: AtomicI64,
    syncs: AtomicUsize,
}

impl std::fmt::Debug for Gate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gate").finish_non_exhaustive()
    }
}

impl Gate {
    fn pass(&self) {
        self.syncs.fetch_add(1, Ordering::SeqCst);
        let Some(log) = self.log.get() else { return };
        let began = Instant::now();
        while log.end_offset().0 < self.opens_at.load(Ordering::SeqCst) {
            assert!(began.elapsed() < PATIENCE, "appends wait for a sync");
            std::thread::yield_now();
        }
    }
}

#[derive(Debug)]
struct GatedFs(RealFs, Arc<Gate>);

#[derive(Debug)]
struct GatedFile {
    file: Arc<dyn File>,
    gate: Option<Arc<Gate>>,
}

impl File for GatedFile {
    fn read_at(&self, buf: &mut [u8], position: u64) -> Result<usize> {
        self.file.read_at(buf, position)
    }

    fn write_at(&self, buf: &[u8], position: u64) -> Result<()> {
        self.file.write_at(buf, position)
    }

    fn identity(&self) -> klog::error::Result<klog::io::FileIdentity> {
        self.file.identity()
    }

    fn len(&self) -> Result<u64> {
        self.file.len()
    }

    fn set_len(&self, len: u64) -> Result<()> {
        self.file.set_len(len)
    }

    fn sync(&self) -> Result<()> {
        if let Some(gate) = &self.gate {
            gate.pass();
        }
        self.file.sync()
    }

    fn map(&self, len: u64) -> Result<Mapping> {
        self.file.map(len)
    }

    fn raw_fd(&self) -> Option<RawFd> {
        self.file.raw_fd()
    }
}

impl FileSystem for GatedFs {
    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn File>> {
        let file = self.0.open(path, mode)?;
        let is_log = path.extension().is_some_and(|name| name == "log");
        let gate = is_log.then(|| Arc::clone(&self.1));
        Ok(Arc::new(GatedFile { file, gate }))
    }

    fn create_dir(&self, path: &Path) -> Result<()> {
        self.0.create_dir(path)
    }

    fn list(&self, dir: &Path) -> Result<Vec<DirEntry>> {
        self.0.list(dir)
    }

    fn stat(&self, path: &Path) -> Result<Stat> {
        self.0.stat(path)
    }

    fn canonicalize(&self, path: &Path) -> Result<PathBuf> {
        self.0.canonicalize(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.0.rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> Result<()> {
        self.0.remove_file(path)
    }

    fn remove_dir(&self, path: &Path) -> Result<()> {
        self.0.remove_dir(path)
    }

    fn sync_dir(&self, dir: &Path) -> Result<()> {
        self.0.sync_dir(dir)
    }

    fn set_modified(&self, path: &Path, time: TimestampMs) -> Result<()> {
        self.0.set_modified(path, time)
    }

    fn lock(&self, path: &Path) -> Result<Option<Box<dyn FileLock>>> {
        self.0.lock(path)
    }
}

fn open(home: &Home, gate: &Arc<Gate>) -> Manager {
    Manager::open(ManagerOptions {
        dirs: vec![home.dir.clone()],
        missing_dir: MissingDir::Refuse,
        access: klog::manager::Access::Own,
        config: home.config(),
        fs: Arc::new(GatedFs(RealFs, Arc::clone(gate))),
        clock: Arc::clone(&home.clock) as Arc<dyn klog::io::Clock>,
        recovery_threads: Some(1),
        broker_epoch: -1,
        high_watermarks: HighWatermarks::FollowEnd,
        progress: None,
    })
    .unwrap()
}

#[test]
fn appends_that_are_synced_at_the_same_time_share_an_fsync() {
    let home = Home::new();
    let gate = Arc::new(Gate::default());
    let manager = open(&home, &gate);
    let log = t0(&manager);
    // The first append into a segment makes its names durable too.
    append_synced(&log);
    assert!(gate.log.set(Arc::clone(&log)).is_ok());
    let before = gate.syncs.load(Ordering::SeqCst);
    let barrier = Barrier::new(THREADS);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..ROUNDS {
                    if barrier.wait().is_leader() {
                        let all = log.end_offset().0 + i64::try_from(THREADS).unwrap();
                        gate.opens_at.store(all, Ordering::SeqCst);
                    }
                    barrier.wait();
                    let end = append_synced(&log);
                    assert!(log.recovery_point() >= end, "it returned before its sync");
                }
            });
        }
    });
    let syncs = gate.syncs.load(Ordering::SeqCst) - before;
    println!("{} synchronous appends, {syncs} syncs", THREADS * ROUNDS);
    // One that was begun before all had appended, and one for those that it did not cover.
    assert!(
        syncs <= 2 * ROUNDS,
        "{syncs} syncs for {} appends",
        THREADS * ROUNDS
    );
    let all: Vec<i64> = (0..log.end_offset().0).collect();
    assert_eq!(all.len(), 1 + THREADS * ROUNDS);
    assert_eq!(offsets(&log, 0), all);
    drop(log);
    manager.close().unwrap();
}

fn append_synced(log: &Log) -> Offset {
    let options = AppendOptions {
        durability: WriteDurability::Synced,
        ..AppendOptions::default()
    };
    let done = log
        .append(&mut builder(&[rec(NOW, "k", "v")]), &options)
        .unwrap();
    Offset(done.last_offset.0 + 1)
}
