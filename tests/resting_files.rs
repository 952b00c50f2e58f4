//! Files of logs that nobody uses have no descriptor, and whatever is done with them works as if they had. hard-cases.md
//! HC42 (a).
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a failure fails the test"
)]

mod support;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use klog::ErrorKind;
use klog::log::{CursorOptions, Log, ReadOptions};
use klog::manager::{CleanOptions, CreateOptions, Manager, ManagerOptions};
use klog::types::{Offset, TopicPartition};

use support::engine::{Home, NOW, append, fill, offsets, rec, t0};

/// Files of the directory that this process has open.
fn open_files(dir: &Path) -> Vec<PathBuf> {
    let dir = dir.canonicalize().unwrap();
    let fds = std::fs::read_dir("/proc/self/fd").unwrap();
    let mut open: Vec<PathBuf> = fds
        .filter_map(|fd| std::fs::read_link(fd.ok()?.path()).ok())
        .filter(|path| path.starts_with(&dir) && !path.ends_with(".lock"))
        .collect();
    open.sort();
    open
}

fn partition(n: i32) -> TopicPartition {
    TopicPartition::new("t", n)
}

fn log(manager: &Manager, n: i32) -> Arc<Log> {
    manager
        .get_or_create_log(&partition(n), &CreateOptions::default())
        .unwrap()
}

#[test]
fn logs_that_were_opened_and_not_used_have_no_descriptors() {
    const LOGS: i32 = 1000;
    let home = Home::new();
    let manager = home.open();
    for n in 0..LOGS {
        append(&log(&manager, n), &[rec(NOW, "k", "v")]);
    }
    manager.close().unwrap();
    for is_clean in [true, false] {
        if !is_clean {
            home.forget_marker();
        }
        let manager = home.open();
        let none: Vec<PathBuf> = Vec::new();
        assert_eq!(open_files(&home.dir), none, "clean: {is_clean}");
        // One that is used has some, and only that.
        assert!(!offsets(&log(&manager, 7), 0).is_empty());
        append(&log(&manager, 7), &[rec(NOW, "k", "v")]);
        let used = open_files(&home.dir);
        let is_its = |path: &PathBuf| path.to_str().unwrap().contains("/t-7/");
        assert!(!used.is_empty() && used.iter().all(is_its), "{used:?}");
        manager.close().unwrap();
    }
}

#[test]
fn everything_works_over_a_few_descriptors_after_a_load() {
    const LOGS: i32 = 20;
    let home = Home::new()
        .set_broker("klog.max.open.files", 16)
        .set_broker("log.segment.delete.delay.ms", 0)
        .set("internal.segment.bytes", 400)
        .set("cleanup.policy", "compact")
        .set("min.cleanable.dirty.ratio", 0);
    let other = home.dir.with_file_name("other");
    std::fs::create_dir(&other).unwrap();
    let open = || {
        Manager::open(ManagerOptions {
            dirs: vec![home.dir.clone(), other.clone()],
            ..home.options()
        })
        .unwrap()
    };
    let manager = open();
    for n in 0..LOGS {
        let log = log(&manager, n);
        for i in 0..40 {
            append(&log, &[rec(NOW, &format!("k{}", i % 7), &format!("v{i}"))]);
        }
    }
    manager.close().unwrap();
    let manager = open();
    for n in 0..LOGS {
        let log = log(&manager, n);
        let before = offsets(&log, 0);
        assert_eq!(before.len(), 40);
        match n % 5 {
            0 => {
                manager.clean(&log, &CleanOptions::default()).unwrap();
                assert!(offsets(&log, 0).len() < 40);
            }
            1 => {
                let to = if log.dir().starts_with(&home.dir) {
                    &other
                } else {
                    &home.dir
                };
                manager.move_log(&log, to, || Ok(())).unwrap();
                assert_eq!(offsets(&log, 0), before);
            }
            2 => {
                manager.truncate_to(&log, Offset(13)).unwrap();
                assert_eq!(log.end_offset(), Offset(13));
            }
            3 => manager.delete_log(&partition(n)).unwrap(),
            _ => {
                fill(&log, 5);
                log.flush().unwrap();
            }
        }
        let few = open_files(&home.dir).len() + open_files(&other).len();
        assert!(few <= 40, "{few} files are open");
    }
    let ends: Vec<_> = (0..LOGS)
        .filter_map(|n| manager.log(&partition(n)).ok())
        .map(|log| (log.end_offset(), offsets(&log, 0)))
        .collect();
    manager.close().unwrap();
    let manager = open();
    let found: Vec<_> = (0..LOGS)
        .filter_map(|n| manager.log(&partition(n)).ok())
        .map(|log| (log.end_offset(), offsets(&log, 0)))
        .collect();
    assert_eq!(found, ends);
    manager.close().unwrap();
}

/// A directory that is renamed takes its files along, those at rest too.
#[test]
fn who_reads_a_loaded_log_while_it_is_deleted_meets_no_file_that_is_missing() {
    let home = Home::new().set("internal.segment.bytes", 100);
    for round in 0..30 {
        let manager = home.open();
        let log = t0(&manager);
        fill(&log, 60);
        manager.close().unwrap();
        let manager = home.open();
        let log = t0(&manager);
        let is_reading = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let readers: Vec<_> = (0..2)
                .map(|reader| {
                    let (log, is_reading) = (&log, &is_reading);
                    scope.spawn(move || {
                        let mut buffer = vec![0; 4096];
                        let mut at = Offset(reader * 30);
                        loop {
                            match log.read(at, &mut buffer, &ReadOptions::default()) {
                                Ok(read) if read.next_offset < log.end_offset() => {
                                    at = read.next_offset;
                                }
                                Ok(_) => at = Offset(0),
                                Err(e) => return e,
                            }
                            is_reading.store(true, Ordering::SeqCst);
                        }
                    })
                })
                .collect();
            while !is_reading.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
            manager.delete_log(log.partition()).unwrap();
            for reader in readers {
                let error = reader.join().unwrap();
                assert_eq!(
                    error.kind(),
                    ErrorKind::UnknownTopicOrPartition,
                    "round {round}: {error}"
                );
            }
        });
        manager.close().unwrap();
    }
}

/// Cursors and views are of bytes that were there, or an error; never of a file that somebody put in the place.
#[test]
fn a_file_that_was_replaced_while_it_rested_is_not_read_as_the_old_one() {
    let home = Home::new().set("internal.segment.bytes", 100);
    let manager = home.open();
    fill(&t0(&manager), 6);
    manager.close().unwrap();
    let manager = home.open();
    let log = t0(&manager);
    assert!(open_files(&home.dir).is_empty());
    let first = log.segments().first().unwrap().base_offset().0;
    let path = home.path(&format!("{first}.log"));
    let content = std::fs::read(&path).unwrap();
    let copy = home.path("copy");
    std::fs::write(&copy, content).unwrap();
    std::fs::rename(&copy, &path).unwrap();
    let mut cursor = log.cursor(Offset(0), CursorOptions::default());
    let error = cursor.next_records(10).err().unwrap();
    assert!(error.is_not_found(), "{error}");
    assert!(error.message().contains("another file"), "{error}");
    // The directory goes on, and so does the log where its files are its own.
    let last = log.end_offset() + -1;
    assert_eq!(offsets(&log, last.0), [last.0]);
    fill(&log, 1);
    log.flush().unwrap();
    assert!(manager.dirs()[0].failure.is_none());
}
