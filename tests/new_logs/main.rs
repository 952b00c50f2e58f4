//! Logs that were made and not flushed yet: a power cut may take one whole, never a part that matters, and what was told of
//! one that went counts for no other. docs/durability.md.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a failure fails the test"
)]

#[path = "../crash/mod.rs"]
mod crash;
mod epochs;
#[path = "../support/mod.rs"]
mod support;

use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, mpsc};

use klog::error::Result;
use klog::io::sim::{Fault, Op, OpKind};
use klog::io::{FileOperation, FileWatch, ManualClock, SimFs, WatchedFs};
use klog::log::{AppendOptions, Log, WriteDurability};
use klog::manager::{CreateOptions, HighWatermarks, Manager, ManagerOptions, MissingDir};
use klog::types::{LeaderEpoch, Offset, TimestampMs, TopicPartition};
use klog::{Error, ErrorKind};

use crash::{DIR, Record, T, config, partition};
use support::asleep::sleeps;

/// How each power cut treats what was not synced.
const CUTS: u64 = 48;

fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::new(TimestampMs(T)))
}

fn open(disk: &SimFs) -> Manager {
    open_with(disk, HighWatermarks::FollowEnd)
}

fn open_with(disk: &SimFs, high_watermarks: HighWatermarks) -> Manager {
    crash::open_with(disk, &clock(), &config(&[]), high_watermarks).unwrap()
}

fn make(manager: &Manager, topic: &str) -> Arc<Log> {
    manager
        .get_or_create_log(&partition(topic), &CreateOptions::default())
        .unwrap()
}

fn record(n: i64) -> Record {
    Record {
        timestamp: T + n,
        key: Some(format!("k{n}").into()),
        value: Some(vec![b'v'; 40]),
        headers: Vec::new(),
        epoch: 0,
    }
}

fn append_as(log: &Log, options: &AppendOptions) -> Result<()> {
    let record = record(log.end_offset().0);
    log.append(&mut crash::builder_of(&[record]), options)
        .map(|_| ())
}

fn append(log: &Log, n: usize) {
    for _ in 0..n {
        append_as(log, &AppendOptions::default()).unwrap();
    }
}

fn append_synced(log: &Log) -> Result<()> {
    let options = AppendOptions {
        durability: WriteDurability::Synced,
        ..AppendOptions::default()
    };
    append_as(log, &options)
}

fn offsets(log: &Arc<Log>) -> Vec<i64> {
    crash::read_from(log, log.start_offset(), 0, 100)
        .unwrap()
        .into_iter()
        .map(|(offset, _)| offset)
        .collect()
}

/// What makes the first records of a log durable.
type FirstFlush = fn(&Log) -> Result<()>;

const FIRST_FLUSHES: [(&str, FirstFlush); 5] = [
    ("a flush", Log::flush),
    ("a flush up to an offset", |log| log.flush_to(Offset(1))),
    ("a synced append", append_synced),
    ("a roll", |log| log.roll().map(|_| ())),
    ("a close", Log::close),
];

#[test]
fn what_was_flushed_of_a_new_log_survives_every_power_cut_with_its_name() {
    for (how, flush) in FIRST_FLUSHES {
        let disk = SimFs::new();
        let manager = open(&disk);
        let (log, other) = (make(&manager, "a"), make(&manager, "b"));
        append(&log, 1);
        append(&other, 1);
        flush(&log).unwrap();
        for seed in 0..CUTS {
            let cut = disk.after_power_cut(seed);
            let manager = open(&cut);
            let found = manager
                .log(&partition("a"))
                .unwrap_or_else(|e| panic!("{how}, cut {seed}: {e}"));
            assert_eq!(offsets(&found)[..1], [0], "{how}, cut {seed}");
        }
    }
}

/// Who opens it next does not know that it is new.
#[test]
fn a_new_log_whose_process_was_killed_is_durable_with_what_is_flushed_next() {
    for seed in 0..CUTS {
        let disk = SimFs::new();
        append(&make(&open(&disk), "a"), 3);
        let disk = disk.after_kill();
        let manager = open(&disk);
        let log = manager.log(&partition("a")).unwrap();
        assert_eq!(log.end_offset().0, 3);
        if seed % 2 == 0 {
            append_synced(&log).unwrap();
        }
        log.flush().unwrap();
        let manager = open(&disk.after_power_cut(seed));
        let found = manager.log(&partition("a")).unwrap();
        assert_eq!(found.end_offset(), log.end_offset(), "cut {seed}");
    }
}

/// The names inside first, then that of the directory, and the bytes last: whatever of it there is, all it needs is there.
#[test]
fn the_first_flush_syncs_the_names_before_the_bytes() {
    let disk = SimFs::new();
    let log = make(&open(&disk), "a");
    append(&log, 1);
    disk.start_trace();
    log.flush().unwrap();
    let synced: Vec<String> = disk
        .trace()
        .iter()
        .filter(|op| matches!(op.kind, OpKind::Sync | OpKind::SyncDir))
        .map(|Op { path, .. }| path.display().to_string())
        .collect();
    let epochs = format!("{DIR}/a-0/leader-epoch-checkpoint.tmp");
    let log_file = format!("{DIR}/a-0/00000000000000000000.log");
    assert_eq!(
        synced,
        [epochs, format!("{DIR}/a-0"), DIR.to_owned(), log_file]
    );
    // Once.
    disk.start_trace();
    append(&log, 1);
    log.flush().unwrap();
    let is_dir_sync = |op: &Op| op.kind == OpKind::SyncDir;
    assert!(!disk.trace().iter().any(is_dir_sync));
}

/// A log without records is flushed too: then it is there.
#[test]
fn an_empty_log_that_was_flushed_survives_every_power_cut() {
    let disk = SimFs::new();
    make(&open(&disk), "a").flush().unwrap();
    for seed in 0..CUTS {
        let manager = open(&disk.after_power_cut(seed));
        assert!(manager.log(&partition("a")).is_ok(), "cut {seed}");
    }
}

/// At every moment of a change the power is cut. If that took the log, another one of its name is made, and the process
/// killed: the next load must not take what was stored of the first for the second.
fn check_the_next_log(
    high_watermarks: HighWatermarks,
    change: fn(&Manager, &Arc<Log>),
    check: fn(&Arc<Log>, &str),
) {
    let disk = SimFs::new();
    let manager = open_with(&disk, high_watermarks);
    let log = make(&manager, "a");
    append(&log, 5);
    disk.record_moments();
    change(&manager, &log);
    let moments = disk.take_moments();
    let mut made_again = 0;
    for (n, moment) in moments.iter().enumerate() {
        for seed in 0..CUTS {
            let at = format!("moment {n} of {}, cut {seed}", moments.len());
            let cut = moment.after_power_cut(seed);
            let manager = open_with(&cut, high_watermarks);
            if manager.log(&partition("a")).is_ok() {
                continue;
            }
            made_again += 1;
            let second = make(&manager, "a");
            append(&second, 3);
            let manager = open_with(&cut.after_kill(), high_watermarks);
            let found = manager.log(&partition("a")).unwrap();
            assert_eq!(
                (found.start_offset().0, found.end_offset().0),
                (0, 3),
                "{at}"
            );
            assert_eq!(offsets(&found), [0, 1, 2], "{at}");
            check(&found, &at);
        }
    }
    assert!(made_again > 0, "no cut took the log");
}

#[test]
fn a_log_start_that_was_stored_hides_no_record_of_the_next_log_of_the_name() {
    check_the_next_log(
        HighWatermarks::FollowEnd,
        |manager, log| {
            manager.delete_records(log, Offset(4)).unwrap();
        },
        |_, _| {},
    );
}

#[test]
fn a_high_watermark_that_was_stored_commits_no_record_of_the_next_log_of_the_name() {
    check_the_next_log(
        HighWatermarks::FromCheckpoint,
        |manager, log| {
            log.set_high_watermark(Offset(5)).unwrap();
            manager.checkpoint().unwrap();
        },
        |found, at| assert_eq!(found.high_watermark().0, 0, "{at}"),
    );
}

/// The crash comes in the middle of the deletion: the name is gone, and what was stored of the log is not yet.
#[test]
fn what_was_stored_of_a_deleted_log_is_not_said_of_the_next_one() {
    check_the_next_log(
        HighWatermarks::FromCheckpoint,
        |manager, log| {
            log.set_high_watermark(Offset(5)).unwrap();
            manager.delete_records(log, Offset(4)).unwrap();
            manager.delete_log(&partition("a")).unwrap();
        },
        |found, at| assert_eq!(found.high_watermark().0, 0, "{at}"),
    );
}

/// What is stored of it must not outlive it.
#[test]
fn a_new_log_is_there_once_records_of_it_were_deleted() {
    let disk = SimFs::new();
    let manager = open(&disk);
    let log = make(&manager, "a");
    append(&log, 5);
    log.delete_records(Offset(4)).unwrap();
    for seed in 0..CUTS {
        let manager = open(&disk.after_power_cut(seed));
        assert!(manager.log(&partition("a")).is_ok(), "cut {seed}");
    }
}

#[test]
fn a_new_log_is_there_once_it_was_cut() {
    let cuts: [fn(&Log); 3] = [
        |log| assert!(log.truncate_to(Offset(2)).unwrap()),
        |log| log.truncate_fully(Offset(2), None).unwrap(),
        // Nothing is to be cut, and what comes next is durable all the same.
        |log| assert!(!log.truncate_to(Offset(9)).unwrap()),
    ];
    for (n, cut) in cuts.into_iter().enumerate() {
        let disk = SimFs::new();
        let manager = open(&disk);
        let log = make(&manager, "a");
        append(&log, 5);
        cut(&log);
        append_synced(&log).unwrap();
        for seed in 0..CUTS {
            let manager = open(&disk.after_power_cut(seed));
            let found = manager.log(&partition("a"));
            let end = found.map(|log| log.end_offset());
            assert_eq!(end.ok(), Some(log.end_offset()), "way {n}, cut {seed}");
        }
    }
}

/// Whoever else reads the stored log starts trusts them.
#[test]
fn a_new_log_has_its_name_before_its_start_is_stored() {
    let disk = SimFs::new();
    let manager = open(&disk);
    let log = make(&manager, "a");
    append(&log, 5);
    disk.start_trace();
    manager.delete_records(&log, Offset(4)).unwrap();
    let trace = disk.trace();
    let first = |kind, path: &str| {
        let is_it = |op: &Op| op.kind == kind && op.path == Path::new(path);
        trace.iter().position(is_it).unwrap()
    };
    let is_stored = |op: &Op| op.kind == OpKind::Rename && op.path.parent() == Some(Path::new(DIR));
    let stored = trace.iter().position(is_stored);
    assert!(stored.is_some(), "{trace:?}");
    assert!(Some(first(OpKind::SyncDir, DIR)) < stored, "{trace:?}");
}

/// Does something when a directory is synced.
struct Syncs<F> {
    dir: &'static str,
    then: F,
}

impl<F> fmt::Debug for Syncs<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Syncs").finish_non_exhaustive()
    }
}

impl<F: Fn() -> Result<()> + Send + Sync> FileWatch for Syncs<F> {
    fn before(&self, operation: FileOperation, path: &Path) -> Result<()> {
        if operation == FileOperation::SyncDir && path == Path::new(self.dir) {
            return (self.then)();
        }
        Ok(())
    }
}

fn open_watched(
    dir: &'static str,
    then: impl Fn() -> Result<()> + Send + Sync + 'static,
) -> Manager {
    let watch = Arc::new(Syncs { dir, then });
    Manager::open(ManagerOptions {
        fs: Arc::new(WatchedFs::new(Arc::new(SimFs::new()), watch)),
        missing_dir: MissingDir::Create,
        recovery_threads: Some(1),
        ..ManagerOptions::new(vec![DIR.into()], config(&[]))
    })
    .unwrap()
}

fn disk_error() -> Error {
    let error = std::io::Error::from_raw_os_error(libc::EIO);
    Error::from_io("sync", Path::new(DIR), &error)
}

#[test]
fn a_name_that_could_not_be_synced_is_final_for_the_directory() {
    let (fails, syncs) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicUsize::new(0)),
    );
    let (f, s) = (Arc::clone(&fails), Arc::clone(&syncs));
    let manager = open_watched(DIR, move || {
        s.fetch_add(1, Ordering::SeqCst);
        if f.swap(false, Ordering::SeqCst) {
            return Err(disk_error());
        }
        Ok(())
    });
    let (log, other) = (make(&manager, "a"), make(&manager, "b"));
    append(&log, 1);
    append(&other, 1);
    fails.store(true, Ordering::SeqCst);
    let before = syncs.load(Ordering::SeqCst);
    let error = append_synced(&log).unwrap_err();
    assert!(error.took_dir_offline(), "{error:?}");
    for log in [&log, &other] {
        let calls: [Result<()>; 6] = [
            append_synced(log),
            log.flush(),
            log.flush_to(Offset(0)),
            log.roll().map(|_| ()),
            log.delete_records(Offset(1)).map(|_| ()),
            log.truncate_to(Offset(0)).map(|_| ()),
        ];
        for (n, answer) in calls.into_iter().enumerate() {
            let error = answer.expect_err("the directory is offline");
            assert_eq!(error.kind(), ErrorKind::DirOffline, "call {n}: {error}");
        }
    }
    assert_eq!(syncs.load(Ordering::SeqCst), before + 1, "tried again");
    assert!(manager.close().is_err());
}

/// A log without records has nothing to be flushed but its names, and they are on their way.
#[test]
fn who_flushes_an_empty_log_while_its_names_are_synced_waits_for_that() {
    for fails in [false, true] {
        let (to_second, second) = mpsc::channel::<Arc<Log>>();
        let (tell, told) = mpsc::channel::<i32>();
        let told = Mutex::new(told);
        let returned_early = Arc::new(AtomicBool::new(false));
        let returned = Arc::new(AtomicBool::new(false));
        let armed: Arc<Mutex<Option<mpsc::Sender<Arc<Log>>>>> = Arc::default();
        let flushed: Arc<OnceLock<Arc<Log>>> = Arc::default();
        let (arm, log_of) = (Arc::clone(&armed), Arc::clone(&flushed));
        let is_done = Arc::clone(&returned);
        let (is_early, is_back) = (Arc::clone(&returned_early), Arc::clone(&returned));
        let manager = open_watched(DIR, move || {
            let Some(to_second) = arm.lock().unwrap().take() else {
                return Ok(());
            };
            let log = Arc::clone(log_of.get().unwrap());
            to_second.send(log).unwrap();
            let thread = told.lock().unwrap().recv().unwrap();
            while !is_back.load(Ordering::SeqCst) && !sleeps(thread) {
                std::thread::yield_now();
            }
            is_early.store(is_back.load(Ordering::SeqCst), Ordering::SeqCst);
            if fails { Err(disk_error()) } else { Ok(()) }
        });
        let log = make(&manager, "a");
        std::thread::scope(|scope| {
            let other = scope.spawn(move || {
                let log = second.recv().unwrap();
                // SAFETY: it takes nothing and never fails.
                tell.send(unsafe { libc::gettid() }).unwrap();
                let answer = log.flush();
                is_done.store(true, Ordering::SeqCst);
                answer
            });
            flushed.set(Arc::clone(&log)).unwrap();
            *armed.lock().unwrap() = Some(to_second);
            let first = log.flush();
            assert!(armed.lock().unwrap().take().is_none(), "nothing was synced");
            let second = other.join().unwrap();
            assert_eq!((first.is_err(), second.is_err()), (fails, fails));
        });
        assert!(!returned_early.load(Ordering::SeqCst), "fails: {fails}");
    }
}

/// Its directory has another name then. Who waited for a flush that found no descriptor comes after the deletion.
#[test]
fn a_roll_that_comes_after_the_deletion_of_a_new_log_is_no_failure_of_the_disk() {
    let (to_others, begin) = mpsc::channel::<mpsc::Sender<i32>>();
    let begin = Mutex::new(begin);
    let armed: Arc<Mutex<Option<mpsc::Sender<_>>>> = Arc::default();
    let arm = Arc::clone(&armed);
    let manager = open_watched(DIR, move || {
        let Some(to_others) = arm.lock().unwrap().take() else {
            return Ok(());
        };
        // One after the other they come to wait for the flush that this is a part of.
        for _ in 0..2 {
            let (tell, told) = mpsc::channel();
            to_others.send(tell).unwrap();
            let thread = told.recv().unwrap();
            while !sleeps(thread) {
                std::thread::yield_now();
            }
        }
        let error = std::io::Error::from_raw_os_error(libc::EMFILE);
        Err(Error::from_io("sync", Path::new(DIR), &error))
    });
    let log = make(&manager, "a");
    append(&log, 1);
    let wait_for_turn = || {
        let tell = begin.lock().unwrap().recv().unwrap();
        // SAFETY: it takes nothing and never fails.
        tell.send(unsafe { libc::gettid() }).unwrap();
    };
    *armed.lock().unwrap() = Some(to_others);
    std::thread::scope(|scope| {
        let (is_deleting, deleting) = mpsc::channel();
        let deletion = scope.spawn({
            let (wait, manager) = (&wait_for_turn, &manager);
            move || {
                wait();
                is_deleting.send(()).unwrap();
                manager.delete_log(&partition("a"))
            }
        });
        let roll = scope.spawn({
            let (wait, log) = (&wait_for_turn, &log);
            move || {
                deleting.recv().unwrap();
                wait();
                log.roll()
            }
        });
        let flushed = log.flush();
        assert!(armed.lock().unwrap().take().is_none(), "nothing was synced");
        assert_eq!(flushed.unwrap_err().kind(), ErrorKind::NoFiles);
        deletion.join().unwrap().unwrap();
        // The one that came first goes first, if nobody else was quicker.
        if let Err(e) = roll.join().unwrap() {
            assert_eq!(e.kind(), ErrorKind::UnknownTopicOrPartition);
        }
    });
    assert!(manager.dirs()[0].failure.is_none());
    make(&manager, "a").flush().unwrap();
}

/// The log was never flushed when it begins to move: the copy was, before it takes its place.
#[test]
fn a_new_log_that_moves_is_there_once_or_was_never_there() {
    const DIRS: [&str; 2] = ["/data/one", "/data/two"];
    let open_both = |disk: &SimFs| {
        Manager::open(ManagerOptions {
            fs: Arc::new(disk.clone()),
            clock: clock(),
            recovery_threads: Some(1),
            ..ManagerOptions::new(DIRS.map(Into::into).to_vec(), config(&[]))
        })
        .unwrap()
    };
    let disk = SimFs::new();
    {
        use klog::io::{FileSystem, create_dir_all};
        for dir in DIRS {
            create_dir_all(&disk, Path::new(dir)).unwrap();
        }
        disk.sync_dir(Path::new("/")).unwrap();
    }
    let manager = open_both(&disk);
    let options = CreateOptions {
        dir: Some(DIRS[0].into()),
        ..CreateOptions::default()
    };
    let log = manager
        .get_or_create_log(&partition("a"), &options)
        .unwrap();
    append(&log, 4);
    disk.record_moments();
    manager
        .move_log(&log, Path::new(DIRS[1]), || Ok(()))
        .unwrap();
    append(&log, 1);
    log.flush().unwrap();
    let moments = disk.take_moments();
    let (mut gone, mut first, mut second) = (0, 0, 0);
    for (n, moment) in moments.iter().enumerate() {
        for seed in 0..CUTS / 2 {
            let at = format!("moment {n} of {}, cut {seed}", moments.len());
            let manager = open_both(&moment.after_power_cut(seed));
            assert!(manager.failed_logs().is_empty(), "{at}");
            let Ok(found) = manager.log(&partition("a")) else {
                gone += 1;
                // The name is free, also for another move.
                let again = manager
                    .get_or_create_log(&partition("a"), &options)
                    .unwrap();
                assert_eq!(again.end_offset().0, 0, "{at}");
                append(&again, 2);
                manager
                    .move_log(&again, Path::new(DIRS[1]), || Ok(()))
                    .unwrap_or_else(|e| panic!("{at}: {e}"));
                assert_eq!(offsets(&again), [0, 1], "{at}");
                continue;
            };
            let all = offsets(&found);
            assert_eq!(all, (0..found.end_offset().0).collect::<Vec<_>>(), "{at}");
            if found.dir().starts_with(DIRS[1]) {
                assert!(
                    all.len() >= 4,
                    "{at}: a copy took its place before it was whole"
                );
                second += 1;
            } else {
                first += 1;
            }
            if n == moments.len() - 1 {
                assert_eq!(all.len(), 5, "{at}");
            }
        }
    }
    println!(
        "new_logs: of cuts in a move {gone} found no log, {first} the old one, {second} the new one"
    );
    assert!(gone > 0 && first > 0 && second > 0);
}

/// Two logs share what makes their names durable.
#[test]
fn logs_that_were_made_together_share_the_sync_of_their_names() {
    let syncs = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&syncs);
    let manager = open_watched(DIR, move || {
        count.fetch_add(1, Ordering::SeqCst);
        Ok(())
    });
    let logs: Vec<_> = (0..10)
        .map(|n| {
            let name = TopicPartition::new("a", n);
            manager
                .get_or_create_log(&name, &CreateOptions::default())
                .unwrap()
        })
        .collect();
    let before = syncs.load(Ordering::SeqCst);
    for log in &logs {
        append_synced(log).unwrap();
    }
    assert_eq!(syncs.load(Ordering::SeqCst), before + 1);
}
