//! A file system that is really full: a tmpfs of half a megabyte. One call fails, nothing is torn, no signal comes, and with
//! room again all goes on. design.md 5.8, hard-cases.md HC22, HC42 (d).
//!
//! To mount it takes the right to have mounts of one's own (`unshare`); where the system does not give that the test says so
//! and looks at nothing. `tests/full_files.rs` needs no right.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a failure fails the test"
)]
#![allow(unsafe_code, reason = "file systems are mounted by libc")]

mod support;

use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use klog::config::ConfigSet;
use klog::io::ManualClock;
use klog::log::{AppendOptions, Log};
use klog::manager::{CreateOptions, Manager, ManagerOptions, Pass, Task};
use klog::types::{Offset, TimestampMs, TopicPartition};
use klog::{Error, ErrorKind};

use support::child::{self, Worker};
use support::engine::{NOW, builder, offsets, rec};
use support::tree;

const TEST: &str = "a_full_file_system_fails_one_call_and_nothing_is_lost";
const SIZE: &str = "size=512k";
const ROUNDS: usize = 30;

fn mount(dir: &Path) {
    let text = |bytes: &[u8]| CString::new(bytes).unwrap();
    let (kind, target, options) = (
        text(b"tmpfs"),
        text(dir.as_os_str().as_bytes()),
        text(SIZE.as_bytes()),
    );
    // SAFETY: texts that end with NUL and live until the call returns.
    let status = unsafe {
        libc::mount(
            kind.as_ptr(),
            target.as_ptr(),
            kind.as_ptr(),
            0,
            options.as_ptr().cast(),
        )
    };
    assert_eq!(status, 0, "{}", std::io::Error::last_os_error());
}

fn open(dirs: &[PathBuf]) -> Result<Manager, Error> {
    let mut set = ConfigSet::broker();
    set.set("log.index.interval.bytes", "0").unwrap();
    set.set("log.segment.delete.delay.ms", "0").unwrap();
    set.set_topic("t", "internal.segment.bytes", "60000")
        .unwrap();
    set.set_topic("t", "file.delete.delay.ms", "0").unwrap();
    set.set_topic("t", "retention.bytes", "100000").unwrap();
    Manager::open(ManagerOptions {
        clock: Arc::new(ManualClock::new(TimestampMs(NOW))),
        ..ManagerOptions::new(dirs.to_vec(), Arc::new(set.resolve().unwrap()))
    })
}

fn log_in(manager: &Manager, dir: &Path) -> Arc<Log> {
    let options = CreateOptions {
        dir: Some(dir.to_path_buf()),
        ..CreateOptions::default()
    };
    manager
        .get_or_create_log(&TopicPartition::new("t", 0), &options)
        .unwrap()
}

fn append(log: &Log, bytes: usize) -> Result<Offset, Error> {
    let record = rec(NOW, "k", &"v".repeat(bytes));
    let appended = log.append(&mut builder(&[record]), &AppendOptions::default())?;
    Ok(appended.last_offset)
}

/// What a call on a full disk answers.
fn assert_full(e: &Error) {
    assert_eq!(e.kind(), ErrorKind::NoSpace, "{e:?}");
    assert_eq!(e.os_errno(), Some(libc::ENOSPC), "{e:?}");
}

fn work(root: &Path) {
    let small = root.join("small");
    let roomy = root.join("roomy");
    for dir in [&small, &roomy] {
        fs::create_dir_all(dir).unwrap();
    }
    mount(&small);
    // What takes the room, as another program would.
    let ballast = small.join("ballast");
    fs::write(&ballast, vec![0; 100_000]).unwrap();
    let dirs = [small.clone(), roomy.clone()];
    let mut manager = open(&dirs).unwrap();
    let mut full = 0;
    for round in 0..ROUNDS {
        let log = log_in(&manager, &small);
        let error = loop {
            let end = log.end_offset();
            match append(&log, 700 + 37 * round) {
                Ok(offset) => assert_eq!(offset, end),
                Err(e) => {
                    assert_eq!(log.end_offset(), end, "round {round}");
                    break e;
                }
            }
        };
        assert_full(&error);
        full += 1;
        let start = log.start_offset().0;
        let kept: Vec<i64> = (start..log.end_offset().0).collect();
        assert_eq!(
            offsets(&log, start),
            kept,
            "round {round}: reading takes no room"
        );
        // Whatever is asked for now is refused or done, and changes nothing else.
        for refused in [log.roll().map(drop), manager.checkpoint(), log.flush()] {
            if let Err(e) = refused {
                assert_full(&e);
            }
        }
        assert!(
            manager.dirs().iter().all(|dir| dir.failure.is_none()),
            "round {round}"
        );
        if round % 3 == 0 {
            // A close on a full disk may fail; what is found then is what was there.
            let _ = manager.close();
            drop((log, manager));
            let opened = open(&dirs);
            manager = opened.unwrap_or_else(|e| {
                assert_full(&e);
                fs::remove_file(&ballast).unwrap();
                open(&dirs).unwrap()
            });
            if let Ok(log) = manager.log(&TopicPartition::new("t", 0)) {
                assert_eq!(offsets(&log, start), kept, "round {round}, reopened");
            } else {
                // Loading needs room for an index: it loads when there is some.
                fs::remove_file(&ballast).unwrap();
                let log = manager.retry_log(&TopicPartition::new("t", 0)).unwrap();
                assert_eq!(offsets(&log, start), kept, "round {round}, loaded again");
            }
            fs::write(&ballast, vec![0; 1]).unwrap();
        }
        // Room again, and retention makes more.
        let _ = fs::remove_file(&ballast);
        let log = log_in(&manager, &small);
        append(&log, 500).unwrap();
        manager.retain(&log, Pass::Apply).unwrap();
        manager.run(Task::DeleteFiles).unwrap();
        fs::write(&ballast, vec![0; 60_000]).unwrap();
    }
    // A log that does not fit the other directory stays where it is, and leaves nothing there.
    let log = log_in(&manager, &small);
    manager.move_log(&log, &roomy, || Ok(())).unwrap();
    manager.run(Task::DeleteLogs).unwrap();
    while log.end_offset().0 - log.start_offset().0 < 2000 {
        append(&log, 1000).unwrap();
    }
    let (start, end) = (log.start_offset(), log.end_offset());
    assert_full(&manager.move_log(&log, &small, || Ok(())).unwrap_err());
    assert_eq!(manager.futures(), []);
    let left: Vec<_> = fs::read_dir(&small)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("t-0"))
        .collect();
    assert_eq!(left, [""; 0]);
    append(&log, 10).unwrap();
    assert_eq!(
        offsets(&log, start.0),
        (start.0..=end.0).collect::<Vec<_>>()
    );
    manager.close().unwrap();
    child::say(&format!("full {full}"));
    child::wait_for_the_end();
}

#[test]
fn a_full_file_system_fails_one_call_and_nothing_is_lost() {
    if let Some(dir) = child::work_dir() {
        return work(&dir);
    }
    let root = tree::scratch();
    let mut child = match Worker::start_with_mounts(TEST, root.path()) {
        Ok(child) => child,
        Err(why) => {
            println!("not looked at: no right to mount a small file system ({why})");
            return;
        }
    };
    assert_eq!(child.next_line(), format!("full {ROUNDS}"));
    child.end();
}
