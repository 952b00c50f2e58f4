//! Crashes and failures at every step of a move.

use std::path::Path;

use klog::ErrorKind;
use klog::io::sim::{Fault, Op, OpKind};
use klog::log::AppendOptions;

use super::support::engine::{NOW, builder, rec};
use super::*;

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
