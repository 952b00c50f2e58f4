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

use std::path::Path;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, OnceLock};
use std::time::{Duration, Instant};

use klog::error::Result;
use klog::io::{FileOperation, FileWatch, RealFs, WatchedFs};
use klog::log::{AppendOptions, Log, WriteDurability};
use klog::manager::{HighWatermarks, Manager, ManagerOptions, MissingDir};
use klog::types::Offset;

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

impl FileWatch for Gate {
    fn before(&self, operation: FileOperation, path: &Path) -> Result<()> {
        let is_log = path.extension().is_some_and(|name| name == "log");
        if operation == FileOperation::Sync && is_log {
            self.pass();
        }
        Ok(())
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

fn open(home: &Home, gate: &Arc<Gate>) -> Manager {
    Manager::open(ManagerOptions {
        dirs: vec![home.dir.clone()],
        missing_dir: MissingDir::Refuse,
        access: klog::manager::Access::Own,
        config: home.config(),
        fs: Arc::new(WatchedFs::new(Arc::new(RealFs), Arc::clone(gate) as _)),
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
