//! Cuts of segments that views hold, on a simulated disk: the file is replaced, and wherever the process is killed, the power cut
//! or an operation fails meanwhile, what is found is the log as it was, down to where it was cut. c-abi.md 1.11.3.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod crash;

use std::sync::Arc;

use crash::{Record, T};
use klog::config::Resolved;
use klog::io::sim::{Fault, OpKind};
use klog::io::{ManualClock, SimFs};
use klog::log::{AppendOptions, Log};
use klog::manager::Manager;
use klog::types::{Offset, TimestampMs};

const RECORDS: i64 = 12;

/// Takes all records from a log.
type Drop = fn(&Manager, &Arc<Log>) -> klog::Result<()>;

fn record(value: &str) -> Record {
    Record {
        timestamp: T,
        key: None,
        value: Some(value.into()),
        headers: Vec::new(),
        epoch: 0,
    }
}

fn open(disk: &SimFs, config: &Arc<Resolved>) -> (Manager, Arc<Log>) {
    let clock = Arc::new(ManualClock::new(TimestampMs(T)));
    let manager = crash::open(disk, &clock, config).unwrap();
    let log = manager
        .get_or_create_log(
            &crash::partition("a"),
            &klog::manager::CreateOptions::default(),
        )
        .unwrap();
    (manager, log)
}

fn append(log: &Log, value: &str) -> klog::Result<()> {
    log.append(
        &mut crash::builder_of(&[record(value)]),
        &AppendOptions::default(),
    )
    .map(drop)
}

/// Twelve records in three segments, durable, all of them held by somebody.
fn held_log(config: &Arc<Resolved>) -> (SimFs, Manager, Arc<Log>) {
    let disk = SimFs::new();
    klog::io::create_dir_all(&disk, crash::DIR.as_ref()).unwrap();
    let (manager, log) = open(&disk, config);
    for _ in 0..RECORDS {
        append(&log, "old").unwrap();
    }
    assert!(log.segments().len() > 2);
    manager.flush_all().unwrap();
    disk.sync_all();
    disk.pin_everything();
    (disk, manager, log)
}

/// A load finds old records up to the cut or beyond, and what came after the cut only behind the cut.
fn check(disk: &SimFs, config: &Arc<Resolved>, cut: i64, what: &str) {
    let (manager, log) = open(disk, config);
    let found = crash::read_from(&log, Offset(0), 0, 1000).unwrap();
    assert_eq!(
        log.end_offset().0,
        i64::try_from(found.len()).unwrap(),
        "{what}"
    );
    let old = found
        .iter()
        .zip(0..)
        .take_while(|((offset, record), n)| offset == n && record.value.as_deref() == Some(b"old"))
        .count();
    assert!(i64::try_from(old).unwrap() >= cut, "{what}: {old} are left");
    for (offset, record) in found.iter().skip(old) {
        assert_eq!(i64::try_from(old).unwrap(), cut, "{what}: {offset}");
        assert_eq!(
            record.value.as_deref(),
            Some(&b"new"[..]),
            "{what}: {offset}"
        );
    }
    append(&log, "later").unwrap();
    manager.close().unwrap();
    let left = disk.files_below(crash::DIR.as_ref());
    let cleaned = left
        .iter()
        .any(|(path, _)| path.to_string_lossy().ends_with(".cleaned"));
    assert!(!cleaned, "{what}");
}

#[test]
fn whatever_crashes_come_while_a_held_segment_is_cut_its_prefix_is_left() {
    let config = crash::config(&[("internal.segment.bytes", "300")]);
    let mut crashes = 0;
    for cut in [0, 1, 5, 7, 9, 11] {
        let (disk, manager, log) = held_log(&config);
        disk.record_moments();
        manager.truncate_to(&log, Offset(cut)).unwrap();
        append(&log, "new").unwrap();
        append(&log, "new").unwrap();
        manager.flush_all().unwrap();
        let moments = disk.take_moments();
        check(&disk.after_kill(), &config, cut, "without a crash");
        for (n, moment) in moments.iter().enumerate() {
            check(
                &moment.after_kill(),
                &config,
                cut,
                &format!("cut {cut}, kill at {n}"),
            );
            for seed in 0..10 {
                let what = format!("cut {cut}, power cut {seed} at {n}");
                check(&moment.after_power_cut(seed), &config, cut, &what);
                crashes += 1;
            }
        }
    }
    assert!(crashes > 500, "{crashes}");
}

#[test]
fn an_operation_that_fails_leaves_the_log_as_it_was_or_to_be_loaded_again() {
    let config = crash::config(&[("internal.segment.bytes", "300")]);
    let cut = 5;
    let mut failed = 0;
    for skipped in 0.. {
        let (disk, manager, log) = held_log(&config);
        disk.inject(Fault {
            kind: None,
            path_part: "a-0".into(),
            skip: skipped,
            times: 1,
            errno: libc::EIO,
            stored_bytes: 0,
        });
        let outcome = manager.truncate_to(&log, Offset(cut));
        disk.clear_faults();
        manager.abandon();
        check(
            &disk.after_kill(),
            &config,
            cut,
            &format!("operation {skipped} fails"),
        );
        match outcome {
            Err(_) => failed += 1,
            Ok(_) if skipped > 5 => break,
            Ok(_) => {}
        }
    }
    assert!(failed > 10, "{failed}");
}

#[test]
fn a_disk_without_room_for_the_copy_refuses_the_cut_and_the_log_goes_on() {
    let config = crash::config(&[("internal.segment.bytes", "300")]);
    for kind in [OpKind::Write, OpKind::Create, OpKind::Sync] {
        let (disk, manager, log) = held_log(&config);
        disk.inject(Fault::once(kind, ".cleaned", libc::ENOSPC));
        assert!(manager.truncate_to(&log, Offset(5)).is_err(), "{kind:?}");
        assert_eq!(log.end_offset(), Offset(RECORDS), "{kind:?}");
        append(&log, "old").unwrap();
        assert!(manager.truncate_to(&log, Offset(5)).unwrap());
        append(&log, "new").unwrap();
        manager.close().unwrap();
        check(&disk, &config, 5, &format!("{kind:?}"));
    }
}

/// A log that starts inside of its first batch goes on below: what was deleted of the batch does not come back.
#[test]
fn deleted_records_do_not_come_back_while_a_log_begins_anew_below() {
    let config = crash::config(&[]);
    let drops: [(&str, Drop); 4] = [
        ("cut at 11", |m, log| {
            m.truncate_to(log, Offset(11)).map(drop)
        }),
        ("dropped at 11", |m, log| {
            m.truncate_fully(log, Offset(11), None)
        }),
        ("dropped at 12, from 11", |m, log| {
            m.truncate_fully(log, Offset(12), Some(Offset(11)))
        }),
        ("dropped at 20, from 11", |m, log| {
            m.truncate_fully(log, Offset(20), Some(Offset(11)))
        }),
    ];
    for (name, act) in drops {
        let disk = SimFs::new();
        klog::io::create_dir_all(&disk, crash::DIR.as_ref()).unwrap();
        let (manager, log) = open(&disk, &config);
        manager.truncate_fully(&log, Offset(13), None).unwrap();
        let three = ["13", "14", "15"].map(record);
        log.append(&mut crash::builder_of(&three), &AppendOptions::default())
            .unwrap();
        log.flush().unwrap();
        manager.delete_records(&log, Offset(14)).unwrap();
        manager.checkpoint().unwrap();
        disk.record_moments();
        act(&manager, &log).unwrap();
        let moments = disk.take_moments();
        assert!(moments.len() > 10, "{}", moments.len());
        for (n, moment) in moments.iter().enumerate() {
            let crashed = (0..10).map(|seed| moment.after_power_cut(seed));
            for disk in crashed.chain([moment.after_kill()]) {
                let (_manager, log) = open(&disk, &config);
                let start = log.start_offset();
                let found = crash::read_from(&log, start, 0, 1000).unwrap();
                let offsets: Vec<i64> = found.iter().map(|(offset, _)| *offset).collect();
                assert!(
                    offsets.is_empty() || offsets == [14, 15],
                    "{name}, moment {n}: {offsets:?}"
                );
            }
        }
    }
}
