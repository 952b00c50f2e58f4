//! Cutting logs at either end: log.md 9, 14.4, 14.5 and the example E12 of state.md 11, leader epochs (E16), and what a cut must not do.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a failure fails the test"
)]

mod support;

use std::sync::Arc;

use klog::error::ErrorKind;
use klog::log::{AppendOptions, Isolation, LeaderEpochRule, Log, Origin, ReadOptions};
use klog::manager::Manager;
use klog::types::{LeaderEpoch, Offset};

use support::engine::{
    Home, NOW, append_in_epoch, epochs, fill, five, offsets, rec, segments, t0, v2,
};
use support::producing::{aborted, queue, step};

fn ends(log: &Log) -> (i64, i64, i64) {
    (
        log.start_offset().0,
        log.high_watermark().0,
        log.end_offset().0,
    )
}

fn snapshots(home: &Home) -> Vec<i64> {
    home.sizes(".snapshot")
        .into_iter()
        .map(|(offset, _)| offset)
        .collect()
}

fn e12(home: &Home) -> (Manager, Arc<Log>) {
    let manager = home.open();
    let log = t0(&manager);
    log.leave_high_watermark_to_caller().unwrap();
    step("I 1/0 0+2").at_offsets(&log, 0, 1);
    log.roll().unwrap();
    step("T 2/0 0+2").at_offsets(&log, 2, 3);
    step("I 1/0 2+2").at_offsets(&log, 4, 5);
    log.roll().unwrap();
    step("A 2/0 0").at_offsets(&log, 6, 6);
    step("I 1/0 4+2").at_offsets(&log, 7, 8);
    log.roll().unwrap();
    step("P 1").at_offsets(&log, 9, 9);
    log.set_high_watermark(Offset(10)).unwrap();
    (manager, log)
}

#[test]
fn e12_truncation_with_snapshots() {
    let home = Home::new();
    let (manager, log) = e12(&home);
    let cut = |target| manager.truncate_to(&log, Offset(target)).unwrap();
    assert_eq!(snapshots(&home), [2, 6, 9]);
    assert!(!cut(12) && !cut(10));
    assert!(cut(8), "inside of 7..8");
    assert_eq!(
        (ends(&log), offsets(&log, 0).last().copied()),
        ((0, 8, 8), Some(5))
    );
    assert_eq!(snapshots(&home), [2, 6, 8]);
    assert!(
        home.retired_files()
            .contains(&"9.snapshot.deleted".to_owned())
    );
    assert_eq!(queue(&log, 1), "2..3@4..5");
    assert_eq!(aborted(&log), [(6, "2:2..6 7".to_owned())]);
    assert!(cut(6));
    assert_eq!(snapshots(&home), [2, 6]);
    assert_eq!(
        log.last_stable_offset().0,
        2,
        "the transaction of 2 is open again"
    );
    assert_eq!(aborted(&log), []);
    step("I 1/0 2+2").at_offsets(&log, 4, 5);
    assert!(cut(3));
    assert_eq!((ends(&log), snapshots(&home)), ((0, 3, 3), vec![2, 3]));
    assert_eq!(
        (offsets(&log, 0), queue(&log, 2).as_str()),
        (vec![0, 1], "none")
    );
    assert!(cut(0));
    assert_eq!((ends(&log), snapshots(&home)), ((0, 0, 0), vec![]));
    let refused = manager.truncate_to(&log, Offset(-1)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
    manager.truncate_fully(&log, Offset(100), None).unwrap();
    assert_eq!((ends(&log), snapshots(&home)), ((100, 100, 100), vec![]));
    assert!(cut(50));
    assert_eq!(ends(&log), (50, 50, 50));
    manager
        .truncate_fully(&log, Offset(200), Some(Offset(150)))
        .unwrap();
    assert_eq!((ends(&log), snapshots(&home)), ((150, 200, 200), vec![200]));
    fill(&log, 3);
    manager.close().unwrap();
    let log = t0(&home.open());
    assert_eq!(
        (log.start_offset().0, offsets(&log, 200)),
        (200, vec![200, 201, 202])
    );
}

#[test]
fn e16_leader_epochs_through_the_log() {
    let home = Home::new();
    let manager = home.open();
    let log = t0(&manager);
    let two = || [rec(NOW, "a", "1"), rec(NOW, "b", "2")];
    append_in_epoch(&log, &two(), 1);
    append_in_epoch(&log, &two(), 2);
    log.roll().unwrap();
    append_in_epoch(&log, &two(), 2);
    append_in_epoch(&log, &two(), 5);
    assert_eq!(epochs(&log), [(1, 0), (2, 2), (5, 6)]);
    let end = |epoch| {
        log.end_offset_for_epoch(LeaderEpoch(epoch))
            .map(|(e, o)| (o.0, e.0))
    };
    assert_eq!(
        [0, 1, 3, 5, 6].map(end),
        [Some((0, 0)), Some((2, 1)), Some((6, 2)), Some((8, 5)), None]
    );
    log.delete_records(Offset(3)).unwrap();
    assert_eq!((epochs(&log), end(1)), (vec![(2, 3), (5, 6)], Some((3, 1))));
    assert_eq!(
        String::from_utf8(home.read("leader-epoch-checkpoint")).unwrap(),
        "0\n2\n2 3\n5 6\n"
    );
    manager.truncate_to(&log, Offset(6)).unwrap();
    assert_eq!((epochs(&log), log.start_offset().0), (vec![(2, 3)], 3));
    manager.truncate_to(&log, Offset(2)).unwrap();
    assert_eq!((epochs(&log), log.start_offset().0), (vec![], 2));
    log.assign_epoch(LeaderEpoch(7), Offset(2)).unwrap();
    assert_eq!(epochs(&log), [(7, 2)]);
    assert!(log.assign_epoch(LeaderEpoch(-1), Offset(2)).is_err());
}

/// A batch of a follower: base offset, records, leader epoch.
fn kept(base: i64, n: i64, epoch: i32) -> Vec<u8> {
    let pairs: Vec<(&str, &str)> = (0..n).map(|_| ("k", "v")).collect();
    let mut bytes = v2(base, &pairs);
    klog::format::batch::stamp(&mut bytes, Offset(base), LeaderEpoch(epoch));
    bytes
}

#[test]
fn e16_what_a_follower_appends() {
    let home = Home::new();
    let log = t0(&home.open());
    append_in_epoch(
        &log,
        &[rec(NOW, "a", "1"), rec(NOW, "b", "2"), rec(NOW, "c", "3")],
        0,
    );
    append_in_epoch(&log, &[rec(NOW, "d", "4"), rec(NOW, "e", "5")], 3);
    let follow = |bytes: &[u8], epoch| {
        let options = AppendOptions {
            origin: Origin::Replication,
            leader_epoch: Some(LeaderEpoch(epoch)),
            epoch_rule: LeaderEpochRule::TakeAny,
            ..AppendOptions::default()
        };
        log.append_batches(bytes, &options)
    };
    let kind = |bytes: &[u8], epoch| {
        let before = support::producing::state_of(&log);
        let error = follow(bytes, epoch).unwrap_err();
        assert_eq!(support::producing::state_of(&log), before, "{error}");
        error.kind()
    };
    follow(&[kept(5, 2, 4), kept(7, 1, 5)].concat(), 5).unwrap();
    assert_eq!(epochs(&log), [(0, 0), (3, 3), (4, 5), (5, 7)]);
    let result = follow(&[kept(8, 1, 5), kept(9, 1, 9)].concat(), 6).unwrap();
    assert_eq!((result.last_offset.0, log.end_offset().0), (8, 9));
    assert_eq!(follow(&kept(9, 1, 9), 6).unwrap().first_offset.0, -1);
    follow(&kept(12, 1, 6), 6).unwrap();
    assert_eq!(log.end_offset().0, 13);
    assert_eq!(kind(&kept(11, 1, 6), 6), ErrorKind::UnexpectedAppendOffset);
    assert_eq!(kind(&kept(11, 4, 6), 6), ErrorKind::UnexpectedAppendOffset);
    assert_eq!(
        kind(&[kept(15, 2, 6), kept(14, 1, 6)].concat(), 6),
        ErrorKind::OffsetsOutOfOrder
    );
    // Kafka compares last offsets only, and stores the offsets 16 to 18 twice.
    assert_eq!(
        kind(&[kept(15, 4, 6), kept(16, 4, 6)].concat(), 6),
        ErrorKind::OffsetsOutOfOrder
    );
    let cut = kept(14, 1, 6);
    follow(&[kept(13, 1, 6), cut[..cut.len() - 1].to_vec()].concat(), 6).unwrap();
    assert_eq!(log.end_offset().0, 14);
    let mut corrupt = kept(15, 1, 6);
    *corrupt.last_mut().unwrap() ^= 1;
    assert_eq!(
        kind(&[kept(14, 1, 6), corrupt].concat(), 6),
        ErrorKind::CorruptMessage
    );
    follow(&kept(14, 1, 2), 6).unwrap();
    assert_eq!(epochs(&log), [(0, 0), (2, 14)]);
    assert_eq!(kind(&kept(15, 1, -1), 6), ErrorKind::InvalidArgument);
    let mut old = Vec::new();
    for offset in [15, 16] {
        let message = klog::format::legacy::OldMessage {
            offset: Offset(offset),
            timestamp: klog::types::TimestampMs(NOW),
            key: Some(b"k"),
            value: Some(b"v"),
        };
        klog::format::legacy::write_message(&mut old, 1, 0, &message);
    }
    follow(&old, 6).unwrap();
    assert_eq!((epochs(&log), log.end_offset().0), (vec![], 17));
    assert_eq!(
        String::from_utf8(home.read("leader-epoch-checkpoint")).unwrap(),
        "0\n0\n"
    );
}

#[test]
fn log_md_9_2_edges() {
    let home = Home::new().set("index.interval.bytes", 0);
    let manager = home.open();
    let log = t0(&manager);
    for max in [100, 500, 300] {
        append_in_epoch(&log, &five(max), 0);
    }
    log.roll().unwrap();
    append_in_epoch(&log, &five(400), 0);
    // A segment whose base it is stays, emptied.
    assert!(manager.truncate_to(&log, Offset(15)).unwrap());
    assert_eq!(segments(&log), [(0, 348), (15, 0)]);
    // Inside of a batch the whole batch goes, and offsets in front are missing.
    assert!(manager.truncate_to(&log, Offset(12)).unwrap());
    assert_eq!((segments(&log), log.end_offset().0), (vec![(0, 232)], 12));
    fill(&log, 1);
    assert_eq!(offsets(&log, 0), (0..10).chain([12]).collect::<Vec<_>>());
    // Below the log start the start comes down too.
    log.delete_records(Offset(11)).unwrap();
    assert!(manager.truncate_to(&log, Offset(3)).unwrap());
    assert_eq!(ends(&log), (3, 3, 3));
    let found = log
        .offset_for_timestamp(klog::log::TimeTarget::MaxTimestamp)
        .unwrap();
    assert!(found.is_none(), "{found:?}");
    manager.abandon();
    assert_eq!(
        t0(&home.open()).end_offset().0,
        3,
        "the log start that is stored tells of it"
    );
}

/// What is appended after a cut is not vouched for by what was durable before.
#[test]
fn d29_the_recovery_point_on_disk_comes_down_first() {
    let home = Home::new();
    let manager = home.open();
    let log = t0(&manager);
    fill(&log, 10);
    log.flush().unwrap();
    log.delete_records(Offset(6)).unwrap();
    manager.checkpoint().unwrap();
    let read = |name: &str| std::fs::read_to_string(home.dir.join(name)).unwrap();
    assert_eq!(read("recovery-point-offset-checkpoint"), "0\n1\nt 0 10\n");
    assert_eq!(read("log-start-offset-checkpoint"), "0\n1\nt 0 6\n");
    manager.truncate_to(&log, Offset(4)).unwrap();
    assert_eq!(read("recovery-point-offset-checkpoint"), "0\n1\nt 0 4\n");
    assert_eq!(read("log-start-offset-checkpoint"), "0\n1\nt 0 4\n");
    assert_eq!(log.recovery_point().0, 4);
    // Killed now, the log is there up to the cut.
    manager.abandon();
    let log = t0(&home.open());
    assert_eq!(ends(&log), (4, 4, 4));
    fill(&log, 2);
    assert_eq!(offsets(&log, 4), [4, 5]);
}

#[test]
fn a_reader_that_is_ahead_of_a_cut_is_told_so() {
    let home = Home::new();
    let manager = home.open();
    let log = t0(&manager);
    fill(&log, 10);
    let mut cursor = log.cursor(Offset(8), klog::log::CursorOptions::default());
    assert_eq!(cursor.next_records(1).unwrap().len(), 1);
    manager.truncate_to(&log, Offset(5)).unwrap();
    let error = log
        .read(Offset(8), &mut [0; 100], &klog::log::ReadOptions::default())
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OffsetOutOfRange);
    fill(&log, 1);
    assert_eq!(offsets(&log, 0), [0, 1, 2, 3, 4, 5]);
}

#[test]
fn hc39_a_cut_moves_all_that_depends_on_it() {
    let home = Home::new();
    let manager = home.open();
    let log = t0(&manager);
    step("P 4").at_offsets(&log, 0, 3);
    step("P 4").at_offsets(&log, 4, 7);
    assert!(manager.truncate_to(&log, Offset(6)).unwrap());
    assert_eq!((offsets(&log, 0), ends(&log).1), (vec![0, 1, 2, 3], 6));
    step("P 1").at_offsets(&log, 6, 6);
    assert_eq!(offsets(&log, 4), [6]);

    let home = Home::new();
    let manager = home.open();
    let log = t0(&manager);
    log.leave_high_watermark_to_caller().unwrap();
    step("T 7/0 0+1").at_offsets(&log, 0, 0);
    step("T 8/0 0+1").at_offsets(&log, 1, 1);
    step("A 7/0 0").at_offsets(&log, 2, 2);
    log.set_high_watermark(Offset(3)).unwrap();
    assert_eq!(log.last_stable_offset().0, 1);
    assert_eq!(aborted(&log), [(0, "7:0..2 1".to_owned())]);
    assert!(manager.truncate_to(&log, Offset(2)).unwrap());
    log.set_high_watermark(Offset(2)).unwrap();
    assert_eq!(home.read("0.txnindex").len(), 0);
    assert_eq!((log.last_stable_offset().0, aborted(&log)), (0, vec![]));

    let home = Home::new();
    let manager = home.open();
    let log = t0(&manager);
    fill(&log, 3);
    log.assign_epoch(LeaderEpoch(4), Offset(3)).unwrap();
    assert!(!manager.truncate_to(&log, Offset(10)).unwrap());
    assert_eq!(epochs(&log), [(0, 0)]);
    assert!(manager.truncate_to(&log, Offset(0)).unwrap());
    assert_eq!((ends(&log), epochs(&log)), ((0, 0, 0), vec![]));
    let refused = manager.truncate_to(&log, Offset(-1)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
}

#[test]
fn hc40_epochs_live_and_recovered() {
    let follow = |log: &Log, bytes: &[u8], epoch| {
        let options = AppendOptions {
            origin: Origin::Replication,
            leader_epoch: Some(LeaderEpoch(epoch)),
            ..AppendOptions::default()
        };
        log.append_batches(bytes, &options).unwrap()
    };
    let home = Home::new();
    let manager = home.open();
    let log = t0(&manager);
    follow(&log, &kept(0, 1, 5), 5);
    follow(&log, &kept(1, 1, 3), 5);
    assert_eq!(epochs(&log), [(3, 1)]);
    manager.abandon();
    home.write("leader-epoch-checkpoint", "0\n0\n");
    assert_eq!(epochs(&t0(&home.open_unclean(0))), [(5, 0)]);

    let home = Home::new();
    let log = t0(&home.open());
    let all = [kept(0, 1, 5), kept(1, 1, 6), kept(2, 1, 5)].concat();
    follow(&log, &all, 5);
    assert_eq!(offsets(&log, 0), [0]);

    let home = Home::new();
    let manager = home.open();
    fill(&t0(&manager), 3);
    manager.close().unwrap();
    home.write("leader-epoch-checkpoint", "0\n3\n0 0\n2 10\n1 20\n");
    let manager = home.open();
    let log = t0(&manager);
    assert_eq!(epochs(&log), [(0, 0)]);
    log.assign_epoch(LeaderEpoch(4), Offset(3)).unwrap();
    let end = |epoch| {
        log.end_offset_for_epoch(LeaderEpoch(epoch))
            .map(|(e, o)| (e.0, o.0))
    };
    assert_eq!([4, 2, 9].map(end), [Some((4, 3)), Some((0, 3)), None]);
    manager.close().unwrap();
    assert_eq!(epochs(&t0(&home.open())), [(0, 0)]);
}

/// What a follower gets may begin above the log end, and the roll that it needs comes all the same.
#[test]
fn a_follower_rolls_over_a_gap() {
    let home = Home::new().set("internal.segment.bytes", 100);
    let manager = home.open();
    let log = t0(&manager);
    let options = AppendOptions {
        origin: Origin::Replication,
        leader_epoch: Some(LeaderEpoch(0)),
        ..AppendOptions::default()
    };
    for base in [0, 5, 9] {
        log.append_batches(&kept(base, 1, 0), &options).unwrap();
    }
    let bases: Vec<i64> = segments(&log).iter().map(|(base, _)| *base).collect();
    assert_eq!((bases, offsets(&log, 0)), (vec![0, 5, 9], vec![0, 5, 9]));
}

/// log.md 5.2: there is no segment to read from, so a reader is not led past what there is above.
#[test]
fn a_log_that_starts_below_its_first_segment_is_not_read_there() {
    let home = Home::new();
    let manager = home.open();
    let log = t0(&manager);
    manager
        .truncate_fully(&log, Offset(20), Some(Offset(15)))
        .unwrap();
    step("P 2").at_offsets(&log, 20, 21);
    for isolation in [Isolation::LogEnd, Isolation::TxnCommitted] {
        let options = ReadOptions {
            isolation,
            ..ReadOptions::default()
        };
        let error = log.read(Offset(15), &mut [0; 500], &options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OffsetOutOfRange);
        assert_eq!(
            log.read(Offset(20), &mut [0; 500], &options)
                .unwrap()
                .batches,
            1
        );
    }
}

/// design.md 5.2: what was deleted, and acknowledged, does not come back.
#[test]
fn deleted_records_do_not_come_back_after_a_crash() {
    let home = Home::new();
    let manager = home.open();
    let log = t0(&manager);
    fill(&log, 5);
    assert_eq!(manager.delete_records(&log, Offset(-1)).unwrap().0, 5);
    assert_eq!(manager.delete_records(&log, Offset(3)).unwrap().0, 5);
    let refused = manager.delete_records(&log, Offset(6)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::OffsetOutOfRange);
    manager.abandon();
    let log = t0(&home.open());
    assert_eq!((log.start_offset().0, log.end_offset().0), (5, 5));
}

/// The log of log.md 14.4: six segments of one batch each, each batch in an epoch of its own.
fn six_segments(home: &Home) -> (Manager, Arc<Log>) {
    let manager = home.open();
    let log = t0(&manager);
    for i in 0..6 {
        append_in_epoch(&log, &five(1000 + i), i32::try_from(i).unwrap());
    }
    assert_eq!(bases(&log), [0, 5, 10, 15, 20, 25]);
    assert_eq!(log.recovery_point().0, 25);
    (manager, log)
}

fn bases(log: &Log) -> Vec<i64> {
    segments(log).into_iter().map(|(base, _)| base).collect()
}

#[test]
fn log_md_14_4_truncation_to_an_offset_and_fully() {
    let home = Home::new().set("internal.segment.bytes", 200);
    let (manager, log) = six_segments(&home);
    assert!(manager.truncate_to(&log, Offset(13)).unwrap());
    assert_eq!(segments(&log), [(0, 116), (5, 116), (10, 0)]);
    assert_eq!((ends(&log), log.recovery_point().0), ((0, 13, 13), 13));
    assert_eq!(epochs(&log), [(0, 0), (1, 5), (2, 10)]);
    assert_eq!(snapshots(&home), [5, 10, 13]);
    append_in_epoch(&log, &[rec(NOW, "k", "v")], 2);
    assert_eq!(bases(&log), [0, 5, 10]);
    let (found, _) = support::engine::read(&log, 11, 1).unwrap();
    assert_eq!((found.first_offset.0, found.next_offset.0), (13, 14));

    log.delete_records(Offset(7)).unwrap();
    assert!(manager.truncate_to(&log, Offset(3)).unwrap());
    assert_eq!((ends(&log), log.recovery_point().0), ((3, 3, 3), 3));
    assert_eq!(segments(&log), [(0, 0)]);
    assert!(epochs(&log).is_empty());

    manager.truncate_fully(&log, Offset(50), None).unwrap();
    assert_eq!((ends(&log), log.recovery_point().0), ((50, 50, 50), 3));
    append_in_epoch(&log, &[rec(NOW, "k", "v"), rec(NOW, "k", "w")], 2);
    assert!(manager.truncate_to(&log, Offset(10)).unwrap());
    assert_eq!((ends(&log), segments(&log)), ((10, 10, 10), vec![(10, 0)]));
}

#[test]
fn log_md_14_5_the_log_start_goes_up_and_segments_go() {
    let home = Home::new()
        .set("internal.segment.bytes", 200)
        .set("retention.ms", -1);
    let (manager, log) = six_segments(&home);
    log.leave_high_watermark_to_caller().unwrap();
    let retained = |expected: &[i64]| {
        manager.retain(&log, klog::manager::Pass::Apply).unwrap();
        assert_eq!(bases(&log), expected);
    };
    log.set_high_watermark(Offset(20)).unwrap();
    let refused = manager.delete_records(&log, Offset(21)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::OffsetOutOfRange);
    assert_eq!(manager.delete_records(&log, Offset(12)).unwrap().0, 12);
    assert_eq!(log.start_offset().0, 12);
    assert_eq!(epochs(&log).first(), Some(&(2, 12)));
    let refused = support::engine::read(&log, 11, 1).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::OffsetOutOfRange);
    let (found, _) = support::engine::read(&log, 12, 1).unwrap();
    assert_eq!((found.first_offset.0, found.next_offset.0), (10, 15));
    retained(&[10, 15, 20, 25]);

    log.set_high_watermark(Offset(30)).unwrap();
    manager.delete_records(&log, Offset(30)).unwrap();
    retained(&[25]);
    log.roll().unwrap();
    retained(&[30]);
}
