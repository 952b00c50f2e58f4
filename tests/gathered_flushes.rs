//! Many threads that want one log flushed at the same time, while that fails, or the log is closed, deleted, cut or moved:
//! each of them is answered. log.md 7.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a failure fails the test"
)]

#[path = "crash/mod.rs"]
mod crash;

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};

use klog::ErrorKind;
use klog::error::Result;
use klog::io::sim::{Fault, OpKind};
use klog::io::{FileSystem, SimFs};
use klog::log::{AppendOptions, Log, WriteDurability};
use klog::manager::{CreateOptions, Manager, ManagerOptions};
use klog::types::Offset;

use crash::{Random, Record, T, config, partition};

const THREADS: usize = 64;
const DIRS: [&str; 2] = ["/one", "/two"];

fn open(disk: &SimFs) -> (Manager, Arc<Log>) {
    for dir in DIRS {
        disk.create_dir(Path::new(dir)).unwrap();
    }
    let manager = Manager::open(ManagerOptions {
        fs: Arc::new(disk.clone()),
        ..ManagerOptions::new(DIRS.map(Into::into).to_vec(), config(&[]))
    })
    .unwrap();
    let options = CreateOptions {
        dir: Some(DIRS[0].into()),
        ..CreateOptions::default()
    };
    let log = manager
        .get_or_create_log(&partition("a"), &options)
        .unwrap();
    (manager, log)
}

/// Appends that are synced and flushes, by turns.
fn call(log: &Log, n: usize, round: usize) -> Result<()> {
    if n % 8 == 7 {
        return log.flush();
    }
    let options = AppendOptions {
        durability: WriteDurability::Synced,
        ..AppendOptions::default()
    };
    let id = (n * 1000 + round) as u64;
    let record = Record::random(&mut Random::new(id), id, T);
    log.append(&mut crash::builder_of(&[record]), &options)?;
    Ok(())
}

/// Lets all threads call for so many rounds while `meanwhile` runs. What each call answered that was an error.
fn run(log: &Arc<Log>, rounds: usize, meanwhile: impl FnOnce(&AtomicU64)) -> Vec<klog::Error> {
    let (began, barrier) = (AtomicU64::new(0), Barrier::new(THREADS + 1));
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|n| {
                let (log, began, barrier) = (log, &began, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    let answers = (0..rounds).map(|round| {
                        began.fetch_add(1, Ordering::SeqCst);
                        call(log, n, round)
                    });
                    answers.filter_map(Result::err).collect::<Vec<_>>()
                })
            })
            .collect();
        barrier.wait();
        meanwhile(&began);
        threads
            .into_iter()
            .flat_map(|t| t.join().unwrap())
            .collect()
    })
}

fn wait_for(began: &AtomicU64, calls: u64) {
    while began.load(Ordering::SeqCst) < calls {
        std::thread::yield_now();
    }
}

#[test]
fn each_of_many_is_told_that_the_sync_failed() {
    let disk = SimFs::new();
    let (manager, log) = open(&disk);
    log.flush().unwrap();
    assert!(run(&log, 10, |_| ()).is_empty());
    let before = log.recovery_point();
    assert_eq!(before, log.end_offset());
    disk.inject(Fault::once(OpKind::Sync, ".log", libc::EIO));
    let syncs = disk.counts().syncs;
    let errors = run(&log, 1, |_| ());
    // Those that flush when there is nothing to be flushed have nothing to fear.
    assert!(errors.len() >= THREADS - THREADS / 8, "{}", errors.len());
    assert!(
        errors
            .iter()
            .all(|e| e.took_dir_offline() || e.kind() == ErrorKind::DirOffline)
    );
    assert_eq!(disk.counts().syncs, syncs + 1, "a sync was tried again");
    assert_eq!(log.recovery_point(), before);
    assert!(manager.close().is_err());
}

#[test]
fn many_flush_a_log_while_it_is_closed() {
    let disk = SimFs::new();
    let (manager, log) = open(&disk);
    let errors = run(&log, 50, |began| {
        wait_for(began, 500);
        manager.close().unwrap();
    });
    assert!(
        errors.iter().all(|e| e.kind() == ErrorKind::Closed),
        "{errors:?}"
    );
    assert!(!errors.is_empty());
}

#[test]
fn many_flush_a_log_while_it_is_deleted() {
    let disk = SimFs::new();
    let (manager, log) = open(&disk);
    let errors = run(&log, 50, |began| {
        wait_for(began, 500);
        manager.delete_log(&partition("a")).unwrap();
    });
    let unknown = ErrorKind::UnknownTopicOrPartition;
    assert!(errors.iter().all(|e| e.kind() == unknown), "{errors:?}");
    assert!(manager.dirs().iter().all(|dir| dir.failure.is_none()));
}

#[test]
fn many_flush_a_log_while_it_is_cut_rolled_and_moved() {
    let disk = SimFs::new();
    let (manager, log) = open(&disk);
    let errors = run(&log, 100, |began| {
        for round in 1..=12_u64 {
            wait_for(began, 500 * round);
            match round % 4 {
                0 => {
                    log.roll().unwrap();
                }
                1 => {
                    let middle = Offset(log.end_offset().0 / 2);
                    manager.truncate_to(&log, middle).unwrap();
                }
                2 => manager.truncate_fully(&log, Offset(0), None).unwrap(),
                _ => {
                    let to = DIRS.iter().find(|dir| !log.dir().starts_with(dir));
                    manager
                        .move_log(&log, Path::new(to.unwrap()), || Ok(()))
                        .unwrap();
                }
            }
        }
    });
    assert!(errors.is_empty(), "{errors:?}");
    let (end, home) = (log.end_offset(), log.dir());
    manager.close().unwrap();
    let (manager, log) = open(&disk.after_power_cut(1));
    assert_eq!((log.end_offset(), log.dir()), (end, home));
    manager.close().unwrap();
}
