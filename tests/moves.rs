//! Moving a log between directories: nothing is lost, whatever happens meanwhile, and one log is left at each moment.
//! manager.md 9.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::too_many_lines,
    reason = "a failure fails the test"
)]

mod support;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use klog::config::ConfigSet;
use klog::io::sim::{Fault, Op, OpKind};
use klog::io::{Clock, FileSystem, ManualClock, RealFs, SimFs};
use klog::log::{AppendOptions, CursorOptions, Log, ProducerStamp, TxnMarker, WriteDurability};
use klog::manager::{CreateOptions, HighWatermarks, Manager, ManagerOptions, MissingDir};
use klog::types::{LeaderEpoch, Offset, ProducerId, TimestampMs, TopicPartition};
use klog::{Error, ErrorKind};

use support::engine::{self, NOW, append_in_epoch, builder, epochs, rec, scan, segments};

const A: &str = "/disk-a";
const B: &str = "/disk-b";

/// Two directories on a simulated disk.
struct Two {
    disk: SimFs,
    keys: Vec<(&'static str, String)>,
    high_watermarks: HighWatermarks,
}

impl Two {
    fn new() -> Self {
        let disk = SimFs::new();
        for dir in [A, B] {
            disk.create_dir(Path::new(dir)).unwrap();
        }
        disk.sync_dir(Path::new("/")).unwrap();
        Self::on(disk)
    }

    fn on(disk: SimFs) -> Self {
        Self {
            disk,
            keys: vec![("log.segment.bytes", (1 << 20).to_string())],
            high_watermarks: HighWatermarks::FollowEnd,
        }
    }

    fn try_open_in(&self, dirs: &[&str]) -> Result<Manager, Error> {
        let mut set = ConfigSet::broker();
        for (key, value) in &self.keys {
            set.set(key, value).unwrap();
        }
        Manager::open(ManagerOptions {
            missing_dir: MissingDir::Refuse,
            fs: Arc::new(self.disk.clone()),
            clock: Arc::new(ManualClock::new(TimestampMs(NOW))) as Arc<dyn Clock>,
            recovery_threads: Some(1),
            high_watermarks: self.high_watermarks,
            ..ManagerOptions::new(
                dirs.iter().map(PathBuf::from).collect(),
                Arc::new(set.resolve().unwrap()),
            )
        })
    }

    fn open(&self) -> Manager {
        self.try_open_in(&[A, B]).unwrap()
    }

    /// The directories of `t-0`, whatever their marks.
    fn places(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for dir in [A, B] {
            for entry in self.disk.list(Path::new(dir)).unwrap() {
                if entry.name.to_str().unwrap().starts_with("t-0") {
                    found.push(Path::new(dir).join(entry.name));
                }
            }
        }
        found
    }

    /// Those that are served.
    fn served(&self) -> Vec<PathBuf> {
        let mut places = self.places();
        places.retain(|place| place.ends_with("t-0"));
        places
    }
}

fn t0() -> TopicPartition {
    TopicPartition::new("t", 0)
}

/// Appends so many batches of one record, in the log's latest epoch.
fn fill(log: &Log, n: i64) {
    let from = log.end_offset().0;
    for i in from..from + n {
        let record = rec(NOW + i, &format!("k{i}"), &format!("v{i}"));
        log.append(&mut builder(&[record]), &AppendOptions::default())
            .unwrap();
    }
}

/// The log `t-0`, made in `dir` if need be.
fn log_in(manager: &Manager, dir: &str) -> Arc<Log> {
    let options = CreateOptions {
        dir: Some(PathBuf::from(dir)),
        ..CreateOptions::default()
    };
    manager.get_or_create_log(&t0(), &options).unwrap()
}

fn move_to(manager: &Manager, log: &Arc<Log>, dir: &str) -> Result<(), Error> {
    manager.move_log(log, Path::new(dir), || Ok(()))
}

/// What readers see of a log, and what stands beside its records.
#[derive(Clone, Debug, PartialEq)]
struct Content {
    start: i64,
    end: i64,
    high_watermark: i64,
    stable: i64,
    records: Vec<(i64, String, String)>,
    committed: Vec<(i64, String, String)>,
    epochs: Vec<(i32, i64)>,
    producers: Vec<String>,
}

fn content(log: &Arc<Log>) -> Content {
    let all = |isolation| {
        let mut cursor = log.cursor(
            log.start_offset(),
            CursorOptions {
                isolation,
                ..CursorOptions::default()
            },
        );
        let mut found = Vec::new();
        loop {
            let records = cursor.next_records(1000).unwrap();
            if records.is_empty() {
                return found;
            }
            found.extend(records.iter().map(|r| {
                let text =
                    |b: Option<&[u8]>| String::from_utf8_lossy(b.unwrap_or(b"-")).into_owned();
                (r.offset.0, text(r.key), text(r.value))
            }));
        }
    };
    let mut producers: Vec<String> = log.producers().iter().map(|p| format!("{p:?}")).collect();
    producers.sort();
    Content {
        start: log.start_offset().0,
        end: log.end_offset().0,
        high_watermark: log.high_watermark().0,
        stable: log.last_stable_offset().0,
        records: all(klog::log::Isolation::LogEnd),
        committed: all(klog::log::Isolation::TxnCommitted),
        epochs: epochs(log),
        producers,
    }
}

fn stamp(id: i64, sequence: i32, is_transactional: bool) -> AppendOptions {
    AppendOptions {
        producer: Some(ProducerStamp {
            id: ProducerId(id),
            epoch: 0,
            base_sequence: sequence,
            is_transactional,
        }),
        ..AppendOptions::default()
    }
}

/// Several segments, epochs, a start within a batch, a committed, an aborted and an open transaction, a producer whose
/// records are deleted.
fn eventful(manager: &Manager, log: &Arc<Log>) {
    let append = |records: &[engine::Rec], options: &AppendOptions| {
        log.append(&mut builder(records), options).unwrap()
    };
    let mark = |id, commit| {
        let marker = TxnMarker {
            producer_id: ProducerId(id),
            producer_epoch: 0,
            commit,
            coordinator_epoch: 0,
        };
        log.append_marker(&marker, &AppendOptions::default())
            .unwrap();
    };
    append(&[rec(NOW, "gone", "x")], &stamp(3, 0, false));
    fill(log, 5);
    log.roll().unwrap();
    append(&engine::five(NOW), &AppendOptions::default());
    append_in_epoch(log, &[rec(NOW, "e", "2")], 2);
    append(&[rec(NOW, "tx", "1")], &stamp(5, 0, true));
    append(&[rec(NOW, "tx", "2")], &stamp(6, 0, true));
    mark(5, true);
    log.roll().unwrap();
    mark(6, false);
    fill(log, 3);
    append(&[rec(NOW, "tx", "3")], &stamp(7, 0, true));
    fill(log, 2);
    log.assign_epoch(LeaderEpoch(9), log.end_offset()).unwrap();
    manager.delete_records(log, Offset(8)).unwrap();
}

#[test]
fn a_moved_log_is_what_it_was_before_and_after_a_reopening() {
    let two = Two::new();
    let manager = two.open();
    let log = log_in(&manager, A);
    eventful(&manager, &log);
    let before = content(&log);
    move_to(&manager, &log, B).unwrap();
    assert_eq!(content(&log), before);
    assert_eq!(&*log.dir(), Path::new("/disk-b/t-0"));
    assert!(Arc::ptr_eq(&log, &manager.log(&t0()).unwrap()));
    assert_eq!(two.served(), [Path::new("/disk-b/t-0")]);
    // What it knows of producers came along: also of one whose records are gone.
    let again = log
        .append(&mut builder(&[rec(NOW, "gone", "x")]), &stamp(3, 0, false))
        .unwrap();
    assert_eq!(again.first_offset, Offset(0));
    assert_eq!(content(&log), before);
    // And back, and on.
    move_to(&manager, &log, A).unwrap();
    fill(&log, 3);
    let after = content(&log);
    assert_eq!(after.records.len(), before.records.len() + 3);
    manager.close().unwrap();
    let manager = two.open();
    let mut reopened = content(&manager.log(&t0()).unwrap());
    // An epoch without a record does not outlive a load.
    reopened.epochs.clone_from(&after.epochs);
    assert_eq!(reopened, after);
    assert!(manager.report().is_empty(), "{:?}", manager.report());
    manager.close().unwrap();
}

#[test]
fn an_empty_log_and_one_that_begins_high_move_too() {
    for start in [0, 7] {
        let two = Two::new();
        let manager = two.open();
        let log = log_in(&manager, A);
        if start > 0 {
            manager.truncate_fully(&log, Offset(start), None).unwrap();
        }
        move_to(&manager, &log, B).unwrap();
        assert_eq!(
            (log.start_offset(), log.end_offset()),
            (Offset(start), Offset(start))
        );
        fill(&log, 2);
        assert_eq!(engine::offsets(&log, start), [start, start + 1]);
        manager.close().unwrap();
        let log = two.open().log(&t0()).unwrap();
        assert_eq!(
            (log.start_offset(), log.end_offset()),
            (Offset(start), Offset(start + 2))
        );
    }
}

/// At every moment of a move the process is killed, or the power cut: one log is there, with all that it must have.
#[test]
fn a_crash_at_any_moment_of_a_move_leaves_exactly_one_log() {
    let (mut moments_checked, mut finished, mut stayed) = (0, 0, 0);
    for seed in 0..6 {
        let two = Two::new();
        let manager = two.open();
        let log = log_in(&manager, A);
        eventful(&manager, &log);
        // Appended and not synced, at the moment when the move begins.
        log.flush().unwrap();
        let durable = log.end_offset();
        if seed % 2 == 1 {
            fill(&log, 4);
        }
        let before = content(&log);
        two.disk.record_moments();
        move_to(&manager, &log, B).unwrap();
        let moments = two.disk.take_moments();
        for (n, moment) in moments.iter().enumerate() {
            for (crash, disk) in [
                ("a kill", moment.after_kill()),
                (
                    "a power cut",
                    moment.after_power_cut(seed * 1000 + n as u64),
                ),
            ] {
                let at = format!("seed {seed}, moment {n} of {}, {crash}", moments.len());
                let crashed = Two::on(disk);
                let manager = crashed.open();
                assert!(
                    manager.failed_logs().is_empty(),
                    "{at}: {:?}",
                    manager.failed_logs()
                );
                assert_eq!(crashed.served().len(), 1, "{at}: {:?}", crashed.places());
                let log = manager.log(&t0()).unwrap();
                let found = content(&log);
                let lost = before.end - found.end;
                assert!(
                    lost == 0 || (crash == "a power cut" && found.end >= durable.0),
                    "{at}: ends at {}",
                    found.end
                );
                assert_eq!(found.start, before.start, "{at}");
                assert_eq!(
                    found.records[..],
                    before.records[..before.records.len() - usize::try_from(lost).unwrap()],
                    "{at}"
                );
                moments_checked += 1;
                if log.dir().starts_with(B) {
                    finished += 1;
                } else {
                    stayed += 1;
                    // A move that was interrupted can be done now.
                    fill(&log, 1);
                    let grown = content(&log);
                    move_to(&manager, &log, B).unwrap();
                    assert_eq!(content(&log), grown, "{at}");
                }
                fill(&log, 1);
                let last = content(&log);
                manager.close().unwrap();
                let manager = crashed.open();
                assert_eq!(crashed.served(), [Path::new("/disk-b/t-0")], "{at}");
                assert_eq!(
                    content(&manager.log(&t0()).unwrap()).records,
                    last.records,
                    "{at}"
                );
                manager.close().unwrap();
            }
        }
    }
    println!("moves: {moments_checked} crashes, {finished} found the log moved, {stayed} not");
    assert!(moments_checked >= 500 && finished >= 60 && stayed >= 300);
}

fn trace_of_a_move() -> Vec<Op> {
    let two = Two::new();
    let manager = two.open();
    let log = log_in(&manager, A);
    eventful(&manager, &log);
    two.disk.start_trace();
    move_to(&manager, &log, B).unwrap();
    two.disk.trace()
}

/// Every operation of a move fails. The log goes on where it is, or where it moved to, and nothing of it is lost.
#[test]
fn every_operation_of_a_move_may_fail() {
    let ops = trace_of_a_move();
    let (mut surfaced, mut again, mut offline) = (0, 0, 0);
    for (n, op) in ops.iter().enumerate() {
        for errno in [libc::EIO, libc::ENOSPC, libc::EMFILE] {
            let at = format!("operation {n} {op:?} fails with {errno}");
            let two = Two::new();
            let manager = two.open();
            let log = log_in(&manager, A);
            eventful(&manager, &log);
            let before = content(&log);
            two.disk.inject(Fault {
                kind: None,
                path_part: String::new(),
                skip: n as u64,
                times: 1,
                errno,
                stored_bytes: op.bytes / 2,
            });
            let moved = move_to(&manager, &log, B);
            two.disk.clear_faults();
            if let Err(e) = &moved {
                surfaced += 1;
                assert_eq!(e.os_errno(), Some(errno), "{at}: {e:?}");
            }
            let offline_dirs: Vec<bool> =
                manager.dirs().iter().map(|d| d.failure.is_some()).collect();
            offline += usize::from(offline_dirs.contains(&true));
            let home_is_offline = offline_dirs[usize::from(log.dir().starts_with(B))];
            if home_is_offline {
                let refused = log.append(
                    &mut builder(&[rec(NOW, "k", "v")]),
                    &AppendOptions::default(),
                );
                assert_eq!(refused.unwrap_err().kind(), ErrorKind::DirOffline, "{at}");
            } else {
                assert_eq!(content(&log), before, "{at}");
                fill(&log, 1);
                if moved.is_err() && !offline_dirs[1] && !log.dir().starts_with(B) {
                    again += 1;
                    move_to(&manager, &log, B)
                        .unwrap_or_else(|e| panic!("{at}, then again: {e:?}"));
                    fill(&log, 1);
                }
            }
            let last = if home_is_offline {
                before
            } else {
                content(&log)
            };
            let _ = manager.close();
            drop((manager, log));
            let manager = two.open();
            let served = two.served();
            if served.len() == 1 {
                let log = manager.log(&t0()).unwrap();
                assert_eq!(content(&log).records, last.records, "{at}");
            } else {
                // The new directory failed when its copy had its name already, and could not take it back: a person decides.
                assert_eq!(op.kind, OpKind::SyncDir, "{at}: {served:?}");
                assert!(offline_dirs[1], "{at}");
                assert_eq!(
                    manager.log(&t0()).unwrap_err().kind(),
                    ErrorKind::DuplicateLog
                );
                manager.resolve(&t0(), Path::new(B)).unwrap();
                let log = manager.retry_log(&t0()).unwrap();
                assert_eq!(content(&log).records, last.records, "{at}");
            }
            manager.close().unwrap();
        }
    }
    println!(
        "moves: {} operations, {surfaced} failures surfaced, {offline} took a directory offline, {again} moved then",
        ops.len()
    );
    assert!(ops.len() >= 60 && surfaced >= 150 && again >= 80);
}

#[test]
fn a_move_that_is_interrupted_goes_on_from_what_was_copied() {
    let two = Two::new();
    let manager = two.open();
    let log = log_in(&manager, A);
    let value = "v".repeat(60_000);
    for i in 0..64 {
        log.append(
            &mut builder(&[rec(NOW + i, "k", &value)]),
            &AppendOptions::default(),
        )
        .unwrap();
    }
    log.flush().unwrap();
    let mut steps = 0;
    let stopped = manager
        .move_log(&log, Path::new(B), || {
            steps += 1;
            if steps > 3 {
                return Err(Error::new(ErrorKind::TimedOut, "enough"));
            }
            Ok(())
        })
        .unwrap_err();
    assert_eq!(stopped.kind(), ErrorKind::TimedOut);
    let futures = manager.futures();
    assert_eq!(futures.len(), 1);
    assert!(futures[0].1.starts_with(B));
    manager.close().unwrap();

    let manager = two.open();
    assert_eq!(manager.futures(), futures, "found again");
    let log = manager.log(&t0()).unwrap();
    let written = two.disk.counts().bytes_written;
    move_to(&manager, &log, B).unwrap();
    let written = two.disk.counts().bytes_written - written;
    assert!(
        (1_000_000..3_000_000).contains(&written),
        "{written} bytes of 3.8 million"
    );
    assert_eq!(scan(&log, 0).len(), 64);
    assert_eq!(manager.futures(), []);

    // To where it is: a move elsewhere is given up.
    let _ = manager.move_log(&log, Path::new(A), || {
        Err(Error::new(ErrorKind::Cancelled, "no"))
    });
    assert_eq!(manager.futures().len(), 1);
    move_to(&manager, &log, B).unwrap();
    assert_eq!((manager.futures(), two.served().len()), (Vec::new(), 1));
    manager.close().unwrap();
}

/// What happens to the log between two steps of a move.
type Meanwhile = fn(&Manager, &Arc<Log>);

#[test]
fn what_happens_to_the_log_meanwhile_happens_to_the_copy() {
    let cases: [(&str, Meanwhile); 6] = [
        ("appends", |_, log| fill(log, 7)),
        ("a cut, then other records", |m, log| {
            m.truncate_to(log, Offset(11)).unwrap();
            for i in 0..9 {
                let record = rec(NOW, "other", &i.to_string());
                log.append(&mut builder(&[record]), &AppendOptions::default())
                    .unwrap();
            }
        }),
        ("all is dropped", |m, log| {
            m.truncate_fully(log, Offset(40), None).unwrap();
            fill(log, 3);
        }),
        ("begins lower", |m, log| {
            m.truncate_fully(log, Offset(2), None).unwrap();
            fill(log, 30);
        }),
        ("records are deleted", |m, log| {
            m.delete_records(log, Offset(13)).unwrap();
        }),
        ("segments are deleted", |m, log| {
            log.roll().unwrap();
            m.delete_records(log, log.end_offset()).unwrap();
            m.retain(log, klog::manager::Pass::Apply).unwrap();
        }),
    ];
    for (name, meanwhile) in cases {
        for at_step in 1..6 {
            let two = Two::new();
            let manager = two.open();
            let log = log_in(&manager, A);
            eventful(&manager, &log);
            let mut step = 0;
            manager
                .move_log(&log, Path::new(B), || {
                    step += 1;
                    if step == at_step {
                        meanwhile(&manager, &log);
                    }
                    Ok(())
                })
                .unwrap_or_else(|e| panic!("{name} at {at_step}: {e:?}"));
            assert!(step >= 4, "{step}");
            let moved = content(&log);
            assert!(log.dir().starts_with(B));

            // The same without a move.
            let other = Two::new();
            let reference = other.open();
            let log = log_in(&reference, A);
            eventful(&reference, &log);
            if at_step <= step {
                meanwhile(&reference, &log);
            }
            assert_eq!(moved, content(&log), "{name} at {at_step}");
            manager.close().unwrap();
            let reopened = two.open();
            let log = reopened.log(&t0()).unwrap();
            assert_eq!(content(&log).records, moved.records, "{name} at {at_step}");
            assert_eq!(log.start_offset().0, moved.start, "{name} at {at_step}");
        }
    }
}

#[test]
fn a_log_that_is_deleted_while_it_moves_is_gone() {
    let two = Two::new();
    let manager = two.open();
    let log = log_in(&manager, A);
    eventful(&manager, &log);
    let mut step = 0;
    let moved = manager.move_log(&log, Path::new(B), || {
        step += 1;
        if step == 3 {
            manager.delete_log(&t0()).unwrap();
        }
        Ok(())
    });
    assert_eq!(
        moved.unwrap_err().kind(),
        ErrorKind::UnknownTopicOrPartition
    );
    assert_eq!((two.served(), manager.futures()), (Vec::new(), Vec::new()));
    let log = log_in(&manager, B);
    assert_eq!(log.end_offset(), Offset(0));
    manager.close().unwrap();
}

#[test]
fn a_manager_that_is_closed_while_a_log_moves_leaves_both_directories_in_order() {
    let two = Two::new();
    let manager = two.open();
    let log = log_in(&manager, A);
    eventful(&manager, &log);
    let mut step = 0;
    let moved = manager.move_log(&log, Path::new(B), || {
        step += 1;
        if step == 3 {
            manager.close().unwrap();
        }
        Ok(())
    });
    assert_eq!(moved.unwrap_err().kind(), ErrorKind::Closed);
    let manager = two.open();
    assert!(manager.dirs().iter().all(|dir| dir.was_clean));
    assert_eq!(manager.futures().len(), 1);
    let log = manager.log(&t0()).unwrap();
    move_to(&manager, &log, B).unwrap();
    assert_eq!(log.end_offset(), Offset(22));
}

#[test]
fn what_cannot_move_is_refused_before_anything_is_done() {
    let two = Two::new();
    let manager = two.open();
    let log = log_in(&manager, A);
    fill(&log, 1);
    let unknown = move_to(&manager, &log, "/disk-c").unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::LogDirNotFound);

    let mut nested = None;
    manager
        .move_log(&log, Path::new(B), || {
            nested.get_or_insert_with(|| move_to(&manager, &log, B));
            Ok(())
        })
        .unwrap();
    assert_eq!(nested.unwrap().unwrap_err().kind(), ErrorKind::Busy);

    // 213 characters are the most that leave room for the mark.
    for (len, fits) in [(213, true), (214, false), (249, false)] {
        let long = TopicPartition::new("x".repeat(len), 0);
        let options = CreateOptions {
            dir: Some(PathBuf::from(A)),
            ..CreateOptions::default()
        };
        let long = manager.get_or_create_log(&long, &options).unwrap();
        let moved = move_to(&manager, &long, B);
        match moved {
            Ok(()) => assert!(fits),
            Err(e) => assert!(!fits && e.kind() == ErrorKind::InvalidTopic, "{e:?}"),
        }
    }
    assert!(manager.dirs().iter().all(|dir| dir.failure.is_none()));
    manager.close().unwrap();
}

#[test]
fn a_high_watermark_that_the_caller_moves_stays_where_it_is() {
    let mut two = Two::new();
    two.high_watermarks = HighWatermarks::FromCheckpoint;
    let manager = two.open();
    let log = log_in(&manager, A);
    fill(&log, 6);
    log.set_high_watermark(Offset(4)).unwrap();
    move_to(&manager, &log, B).unwrap();
    assert_eq!(
        (log.high_watermark(), log.end_offset()),
        (Offset(4), Offset(6))
    );
    assert_eq!(log.raise_high_watermark(Offset(5)).unwrap(), Offset(5));
    drop((manager, log));
    let killed = Two {
        disk: two.disk.after_kill(),
        ..two
    };
    let log = killed.open().log(&t0()).unwrap();
    assert_eq!(
        (log.high_watermark(), log.end_offset()),
        (Offset(4), Offset(6))
    );
}

#[test]
fn manager_md_9_6_a_copy_without_its_log_is_kept_and_can_be_promoted() {
    let two = Two::new();
    let manager = two.open();
    let log = log_in(&manager, A);
    fill(&log, 9);
    let mut steps = 0;
    let _ = manager.move_log(&log, Path::new(B), || {
        steps += 1;
        if steps > 3 {
            return Err(Error::new(ErrorKind::Cancelled, "no"));
        }
        Ok(())
    });
    let refused = manager.promote_future(&t0()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
    manager.close().unwrap();
    let alone = two.try_open_in(&[B]).unwrap();
    assert_eq!(
        alone.log(&t0()).unwrap_err().kind(),
        ErrorKind::UnknownTopicOrPartition
    );
    let log = alone.promote_future(&t0()).unwrap();
    assert_eq!(
        (log.end_offset(), &*log.dir()),
        (Offset(9), Path::new("/disk-b/t-0"))
    );
    fill(&log, 1);
    alone.close().unwrap();

    // Now there are two. Neither is served until somebody says which.
    let manager = two.open();
    assert_eq!(
        manager.log(&t0()).unwrap_err().kind(),
        ErrorKind::DuplicateLog
    );
    let files = two.disk.files_below(Path::new("/"));
    for wrong in ["/disk-c", "/disk-a/x"] {
        assert!(manager.resolve(&t0(), Path::new(wrong)).is_err());
    }
    assert!(
        manager
            .resolve(&TopicPartition::new("u", 0), Path::new(A))
            .is_err()
    );
    assert_eq!(two.disk.files_below(Path::new("/")), files);
    manager.resolve(&t0(), Path::new(A)).unwrap();
    assert!(
        manager.resolve(&t0(), Path::new(B)).is_err(),
        "the last one stays"
    );
    assert_eq!(manager.retry_log(&t0()).unwrap().end_offset(), Offset(10));
    manager.close().unwrap();
    assert_eq!(two.open().log(&t0()).unwrap().end_offset(), Offset(10));
}

/// Threads append, synced and not, and read, while the log goes from one directory to the other and back.
#[test]
fn a_log_moves_while_others_append_and_read() {
    let root = support::tree::scratch();
    let dirs: Vec<PathBuf> = ["a", "b"].iter().map(|d| root.path().join(d)).collect();
    for dir in &dirs {
        std::fs::create_dir(dir).unwrap();
    }
    let mut set = ConfigSet::broker();
    set.set("log.segment.bytes", "1048576").unwrap();
    let config = Arc::new(set.resolve().unwrap());
    let open = || {
        Manager::open(ManagerOptions {
            fs: Arc::new(RealFs),
            ..ManagerOptions::new(dirs.clone(), Arc::clone(&config))
        })
        .unwrap()
    };
    let manager = open();
    let log = manager
        .get_or_create_log(&t0(), &CreateOptions::default())
        .unwrap();
    let is_done = AtomicBool::new(false);
    let acknowledged = AtomicI64::new(0);
    // Appended while a log moves: the copy has to run after it.
    let wanted = AtomicI64::new(0);
    let value = "v".repeat(5000);
    let moves = 12;
    std::thread::scope(|scope| {
        for n in 0..2 {
            let (log, is_done, acknowledged, value) = (&log, &is_done, &acknowledged, &value);
            let wanted = &wanted;
            scope.spawn(move || {
                let mut count = 0;
                while !is_done.load(Ordering::SeqCst) {
                    let options = AppendOptions {
                        durability: if count % 8 == 0 {
                            WriteDurability::Synced
                        } else {
                            WriteDurability::PageCache
                        },
                        ..AppendOptions::default()
                    };
                    let record = rec(NOW, &format!("{n}"), &format!("{count} {value}"));
                    let result = log.append(&mut builder(&[record]), &options).unwrap();
                    acknowledged.fetch_max(result.last_offset.0 + 1, Ordering::SeqCst);
                    count += 1;
                    // Not more than the test has room for.
                    while result.last_offset.0 > wanted.load(Ordering::SeqCst)
                        && !is_done.load(Ordering::SeqCst)
                    {
                        std::thread::yield_now();
                    }
                }
            });
        }
        scope.spawn(|| {
            let mut cursor = log.cursor(Offset::ZERO, CursorOptions::default());
            let mut next = [0, 0];
            let mut offset = 0;
            loop {
                let was_done = is_done.load(Ordering::SeqCst);
                let records = cursor.next_records(50).unwrap();
                for record in records.iter() {
                    assert_eq!(record.offset.0, offset);
                    offset += 1;
                    let of: usize = String::from_utf8_lossy(record.key.unwrap())
                        .parse()
                        .unwrap();
                    let text = String::from_utf8_lossy(record.value.unwrap()).into_owned();
                    assert!(
                        text.starts_with(&format!("{} ", next[of])),
                        "{of}: {text:.20}"
                    );
                    next[of] += 1;
                }
                if records.is_empty() && was_done {
                    assert_eq!(offset, log.end_offset().0);
                    return;
                }
            }
        });
        for n in 0..moves {
            let grown = acknowledged.load(Ordering::SeqCst) + 20;
            wanted.store(grown + 400, Ordering::SeqCst);
            while acknowledged.load(Ordering::SeqCst) < grown {
                std::thread::yield_now();
            }
            let to = &dirs[usize::from(log.dir().starts_with(&dirs[0]))];
            manager
                .move_log(&log, to, || Ok(()))
                .unwrap_or_else(|e| panic!("move {n}: {e:?}"));
            assert!(log.dir().starts_with(to));
        }
        is_done.store(true, Ordering::SeqCst);
    });
    let end = log.end_offset();
    assert_eq!(end.0, acknowledged.load(Ordering::SeqCst));
    assert!(segments(&log).len() > 1);
    manager.close().unwrap();
    let manager = open();
    let log = manager.log(&t0()).unwrap();
    assert_eq!(log.end_offset(), end);
    assert_eq!(engine::offsets(&log, 0), (0..end.0).collect::<Vec<_>>());
    manager.remove_deleted().unwrap();
    println!("moves: {moves} moves, {} records meanwhile", end.0);
}
