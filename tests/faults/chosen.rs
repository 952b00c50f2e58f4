//! Faults at chosen places.

use super::crash::change::{Change, Who};
use super::crash::model::After;
use super::crash::{self, Random, Record, T};
use super::world::{Step, World};
use klog::format::codec::Codec;
use klog::io::sim::{Fault, OpKind};
use klog::io::{FileSystem, OpenMode, SimFs};
use klog::log::{AppendOptions, WriteDurability};
use klog::types::{LeaderEpoch, Offset};
use klog::{Error, ErrorKind};

/// A log on a disk of its own with `n` records, each a batch of 72 bytes (hard-cases.md 0.2).
fn filled(n: usize) -> World {
    let mut world = World::new(&crash::config(&[]));
    world.act(&Step::Open).unwrap();
    world.act(&Step::Create("a", None)).unwrap();
    for i in 0..n {
        append_one(&mut world, i).unwrap();
    }
    world
}

fn append_one(world: &mut World, i: usize) -> Result<(), Error> {
    let record = Record {
        timestamp: T,
        key: Some(format!("k{i}").into()),
        value: Some(format!("v{i}").into()),
        headers: Vec::new(),
        epoch: 0,
    };
    world.act(&Step::Change(
        0,
        Change::Append {
            who: Who::Nobody,
            records: vec![record],
            codec: Codec::None,
            is_ready: false,
            new_producer_epoch: false,
            new_epoch: false,
            durability: WriteDurability::PageCache,
        },
    ))
}

const FIRST_LOG: &str = "a-0/00000000000000000000.log";

fn log_bytes(disk: &SimFs) -> usize {
    let path = format!("{}/{FIRST_LOG}", crash::DIR);
    klog::io::read_file(disk, path.as_ref())
        .unwrap()
        .unwrap()
        .len()
}

#[test]
fn hc22_a_short_write_is_cut_back_before_the_call_returns() {
    let mut world = filled(5);
    assert_eq!(log_bytes(&world.disk), 360);
    let fault = Fault::once(OpKind::Write, FIRST_LOG, libc::ENOSPC);
    world.disk.inject(Fault {
        stored_bytes: 30,
        ..fault
    });
    assert_eq!(
        append_one(&mut world, 5).unwrap_err().kind(),
        ErrorKind::NoSpace
    );
    assert_eq!(log_bytes(&world.disk), 360);
    world.check_unchanged().unwrap();
    append_one(&mut world, 5).unwrap();
    assert_eq!(log_bytes(&world.disk), 432);
    world.check_unchanged().unwrap();
}

#[test]
fn hc22_no_append_lands_behind_garbage_that_could_not_be_cut() {
    let mut world = filled(5);
    world.disk.inject(Fault {
        stored_bytes: 30,
        ..Fault::once(OpKind::Write, FIRST_LOG, libc::ENOSPC)
    });
    world
        .disk
        .inject(Fault::once(OpKind::SetLen, FIRST_LOG, libc::ENOSPC));
    assert_eq!(
        append_one(&mut world, 5).unwrap_err().kind(),
        ErrorKind::NoSpace
    );
    assert_eq!(log_bytes(&world.disk), 390, "the cut failed");
    let refused = append_one(&mut world, 5).unwrap_err();
    assert_eq!(
        (refused.kind(), refused.os_errno()),
        (ErrorKind::KafkaStorage, None)
    );
    assert!(
        refused
            .message()
            .contains("takes no appends until it is opened again"),
        "{refused}"
    );
    assert!(world.log(0).1.roll().is_err());
    world.check_unchanged().unwrap();
    let manager = world.manager.take().unwrap();
    assert!(
        manager.close().is_err(),
        "nothing claims that it was closed in order"
    );
    drop(manager);
    world.reopen_unclean().unwrap();
    append_one(&mut world, 5).unwrap();
    assert_eq!(log_bytes(&world.disk), 432);
}

#[test]
fn a_new_epoch_that_was_refused_is_not_found_later() {
    let mut world = filled(3);
    world.act(&Step::Flush(0)).unwrap();
    // The file with the new epoch has its name; that the directory could not be synced refuses the append.
    world
        .disk
        .inject(Fault::once(OpKind::SyncDir, "a-0", libc::EMFILE));
    let (_, log) = world.log(0);
    let options = AppendOptions {
        leader_epoch: Some(LeaderEpoch(7)),
        ..AppendOptions::default()
    };
    let record = Record::random(&mut Random::new(1), 1, T);
    assert_eq!(
        log.append(&mut crash::builder_of(&[record]), &options)
            .unwrap_err()
            .kind(),
        ErrorKind::NoFiles
    );
    assert_eq!(log.epochs().len(), 1);
    world.check_unchanged().unwrap();
    // The old leader goes on: its records are its own after the next open too.
    append_one(&mut world, 3).unwrap();
    world.check_unchanged().unwrap();
}

#[test]
fn hc22_a_failed_roll_leaves_the_old_segment_active_and_no_new_one() {
    for (kind, errno) in [
        (OpKind::Create, libc::EMFILE),
        (OpKind::SetLen, libc::ENOSPC),
    ] {
        let mut world = World::new(&crash::config(&[
            ("preallocate", "true"),
            ("internal.segment.bytes", "2000"),
        ]));
        world.act(&Step::Open).unwrap();
        world.act(&Step::Create("a", None)).unwrap();
        append_one(&mut world, 0).unwrap();
        world
            .disk
            .inject(Fault::once(kind, "00000000000000000001.log", errno));
        assert_eq!(
            world.act(&Step::Roll(0)).unwrap_err().os_errno(),
            Some(errno)
        );
        assert_eq!(world.log(0).1.segments().len(), 1);
        append_one(&mut world, 1).unwrap();
        let logs = crash::files(&world.disk)
            .into_iter()
            .filter(|(path, _)| path.extension().is_some_and(|e| e == "log"));
        assert_eq!(
            logs.count(),
            1,
            "a file that stays is the end of the log for the next load"
        );
        world.check_unchanged().unwrap();
        world.act(&Step::Roll(0)).unwrap();
        append_one(&mut world, 2).unwrap();
        world.check_unchanged().unwrap();
    }
}

#[test]
fn hc41_a_failed_sync_is_final_for_the_directory() {
    for errno in [libc::EIO, libc::ENOSPC] {
        let mut world = filled(3);
        world.act(&Step::Create("b", None)).unwrap();
        world.act(&Step::Flush(0)).unwrap();
        append_one(&mut world, 3).unwrap();
        world
            .disk
            .inject(Fault::once(OpKind::Sync, FIRST_LOG, errno));
        let error = world.act(&Step::Flush(0)).unwrap_err();
        assert_eq!(
            (error.kind(), error.os_errno()),
            (ErrorKind::KafkaStorage, Some(errno))
        );
        assert!(error.took_dir_offline());
        let (_, log) = world.log(0);
        assert_eq!(log.recovery_point(), Offset(3), "the recovery point stays");
        // Later syncs would succeed: nobody asks for one.
        let syncs = world.disk.counts().syncs;
        assert_eq!(log.flush().unwrap_err().kind(), ErrorKind::DirOffline);
        world.check_offline().unwrap();
        assert!(world.disk.counts().syncs > syncs, "the next open recovers");
    }
}

#[test]
fn hc22_an_error_in_recovery_fails_the_one_log_and_changes_none() {
    for (kind, path) in [
        (OpKind::Read, FIRST_LOG),
        (OpKind::Open, FIRST_LOG),
        (OpKind::Create, "a-0/00000000000000000006.snapshot"),
        (OpKind::Write, "a-0/00000000000000000006.snapshot"),
        (OpKind::Sync, "a-0/00000000000000000003.log"),
        (OpKind::SyncDir, "a-0"),
    ] {
        for errno in [libc::EIO, libc::ENOSPC, libc::EMFILE] {
            let mut world = filled(3);
            world.act(&Step::Roll(0)).unwrap();
            for i in 3..6 {
                append_one(&mut world, i).unwrap();
            }
            world.act(&Step::Create("b", None)).unwrap();
            let disk = world.disk.after_kill();
            let before = crash::files(&disk);
            disk.inject(Fault::once(kind, path, errno));
            let manager = crash::open(&disk, &world.clock, &world.config).unwrap();
            let failed = manager.failed_logs();
            assert_eq!(failed.len(), 1, "{kind:?} {path} {errno}");
            assert_eq!(
                (&*failed[0].partition.topic, failed[0].error.os_errno()),
                ("a", Some(errno))
            );
            assert!(manager.log(&crash::partition("b")).is_ok());
            let is_log = |file: &&(std::path::PathBuf, Vec<u8>)| {
                file.0.extension().is_some_and(|e| e == "log")
            };
            assert!(
                crash::files(&disk)
                    .iter()
                    .filter(is_log)
                    .eq(before.iter().filter(is_log)),
                "no log was changed"
            );
            drop(manager);
            let exactly = world.expected(After::Kill);
            world.check_disk(&disk, &exactly).unwrap();
        }
    }
}

#[test]
fn hc42_d_a_presized_index_on_a_full_disk_is_an_error_and_no_signal() {
    let config = crash::config(&[("index.interval.bytes", "0")]);
    let mut world = World::new(&config);
    world.act(&Step::Open).unwrap();
    world.act(&Step::Create("a", None)).unwrap();
    append_one(&mut world, 0).unwrap();
    world.manager.take().unwrap().abandon();
    // As a broker leaves it that was killed: full size, all zeros but the entries.
    for name in [
        "00000000000000000000.index",
        "00000000000000000000.timeindex",
    ] {
        let path = format!("{}/a-0/{name}", crash::DIR);
        world
            .disk
            .open(path.as_ref(), OpenMode::Create)
            .unwrap()
            .set_len(10 << 20)
            .unwrap();
    }
    world.reopen_unclean().unwrap();
    let mut appended = 1;
    for room in [1000, 3000, 10_000] {
        let used: usize = crash::files(&world.disk)
            .iter()
            .map(|(_, content)| content.len())
            .sum();
        world.disk.set_capacity(used as u64 + room);
        let error = loop {
            match append_one(&mut world, appended) {
                Ok(()) => appended += 1,
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), ErrorKind::NoSpace, "{error}");
        assert!(!error.took_dir_offline());
        world.check_unchanged().unwrap();
    }
    assert!(appended > 100, "only {appended}");
    world.disk.set_capacity(u64::MAX);
    append_one(&mut world, appended).unwrap();
    world.act(&Step::Close).unwrap();
    world.act(&Step::Open).unwrap();
    world.check_unchanged().unwrap();
}

/// deviations.md D67: an opening that failed before anything was changed leaves the marker, and the next one believes it.
#[test]
fn d67_a_marker_that_was_taken_is_put_back_if_the_opening_fails() {
    let mut world = filled(3);
    world.act(&super::world::Step::Close).unwrap();
    let path = format!("{}/.kafka_cleanshutdown", super::crash::DIR);
    let read = |world: &World| klog::io::read_file(&world.disk, path.as_ref()).unwrap();
    let before = read(&world).unwrap();
    world
        .disk
        .inject(Fault::once(OpKind::SyncDir, super::crash::DIR, libc::EIO));
    // The first sync of the directory is that of its own name.
    let mut skipped = Fault::once(OpKind::SyncDir, super::crash::DIR, libc::EIO);
    world.disk.clear_faults();
    skipped.skip = 0;
    world.disk.inject(skipped);
    assert!(world.act(&super::world::Step::Open).is_err());
    world.disk.clear_faults();
    assert_eq!(read(&world), Some(before));
    world.act(&super::world::Step::Open).unwrap();
    assert!(world.manager.as_ref().unwrap().dirs()[0].was_clean);
}
