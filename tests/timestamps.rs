//! Offsets for times. log.md 2.4, 6, 14.10, hard-cases.md HC28.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a failure fails the test"
)]

mod support;

use std::sync::Arc;

use klog::error::ErrorKind;
use klog::format::codec::Codec;
use klog::log::{AppendOptions, Log, TimeTarget};

use support::engine::{Home, NOW, append, append_in_epoch, builder, five, rec, t0};

/// Timestamp, offset and epoch for one of Kafka's targets.
fn find(log: &Log, target: i64) -> Option<(i64, i64, Option<i32>)> {
    let found = log
        .offset_for_timestamp(TimeTarget::from_kafka(target).unwrap())
        .unwrap();
    found.map(|r| (r.timestamp.0, r.offset.0, r.leader_epoch.map(|e| e.0)))
}

/// Timestamp and offset.
fn place(log: &Log, target: i64) -> Option<(i64, i64)> {
    find(log, target).map(|(timestamp, offset, _)| (timestamp, offset))
}

/// Six segments of one batch each with these times, epoch i in segment i.
fn six(home: &Home) -> Arc<Log> {
    let manager = home.open();
    let log = t0(&manager);
    for (i, ts) in [100, 300, 200, 50, 400, 400].into_iter().enumerate() {
        append_in_epoch(&log, &five(ts), i32::try_from(i).unwrap());
    }
    manager.close().unwrap();
    t0(&home.open())
}

#[test]
fn log_md_14_10_the_first_segment_that_is_late_enough_answers() {
    let home = Home::new().set("internal.segment.bytes", 200);
    let log = six(&home);
    for target in [60, 100] {
        assert_eq!(place(&log, target), Some((100, 0)));
    }
    for target in [150, 200, 300] {
        assert_eq!(place(&log, target), Some((300, 5)));
    }
    for target in [301, 400] {
        assert_eq!(place(&log, target), Some((400, 20)));
    }
    assert_eq!(find(&log, 401), None);
    assert_eq!(find(&log, -3), Some((400, 20, Some(4))));
    // Below -6 a number is a time like any other.
    assert_eq!(place(&log, -7), Some((100, 0)));
}

#[test]
fn log_md_14_10_and_6_3_below_the_log_start_the_answer_is_nothing() {
    let home = Home::new().set("internal.segment.bytes", 200);
    drop(six(&home));
    home.start_checkpoint(7);
    let copy = home.copied();
    let log = t0(&copy.open());
    assert_eq!((find(&log, 60), find(&log, 100)), (None, None));
    assert_eq!(place(&log, 250), Some((300, 7)));
    // The first segment that could have it has only records below the start: later ones are not asked.
    home.start_checkpoint(12);
    let log = t0(&home.open());
    assert_eq!(find(&log, 250), None);
}

#[test]
fn log_md_14_10_records_of_a_compressed_batch_are_looked_at_one_by_one() {
    let home = Home::new();
    let log = t0(&home.open());
    let records: Vec<_> = [100, 101, 150, 103, 104]
        .map(|ts| rec(ts, "k", "v"))
        .to_vec();
    let options = AppendOptions {
        codec: Some(Codec::Gzip),
        ..AppendOptions::default()
    };
    log.append(&mut builder(&records), &options).unwrap();
    assert_eq!(place(&log, 103), Some((150, 2)));
    assert_eq!(place(&log, -3), Some((150, 2)));
    assert_eq!(place(&log, 101), Some((101, 1)));
    assert_eq!(find(&log, 151), None);
}

#[test]
fn hc28_a_times_that_are_not_sorted() {
    let home = Home::new().set("internal.segment.bytes", 100);
    let log = t0(&home.open());
    for ts in [50, 10, 60, 20] {
        append(&log, &[rec(NOW + ts, "k", "v")]);
    }
    assert_eq!(log.segment_list().len(), 4);
    for target in [5, 20, 50] {
        assert_eq!(place(&log, NOW + target), Some((NOW + 50, 0)));
    }
    for target in [55, 60] {
        assert_eq!(place(&log, NOW + target), Some((NOW + 60, 2)));
    }
    assert_eq!(find(&log, NOW + 61), None);
    assert_eq!(place(&log, -3), Some((NOW + 60, 2)));
}

#[test]
fn hc28_b_the_first_record_of_the_first_batch_that_has_the_largest_time() {
    let home = Home::new();
    let log = t0(&home.open());
    let records: Vec<_> = [0, 9, 9, 0].map(|ts| rec(NOW + ts, "k", "v")).to_vec();
    append(&log, &records);
    log.roll().unwrap();
    append(&log, &[rec(NOW + 9, "k", "v")]);
    assert_eq!(place(&log, -3), Some((NOW + 9, 1)));
}

#[test]
fn hc28_c_an_empty_log_has_its_ends_and_no_times() {
    let home = Home::new();
    let log = t0(&home.open());
    assert_eq!(find(&log, -1), Some((-1, 0, None)));
    assert_eq!(find(&log, -2), Some((-1, 0, None)));
    assert_eq!(find(&log, -4), Some((-1, 0, None)));
    for target in [-3, -7, 0, NOW, i64::MAX] {
        assert_eq!(find(&log, target), None, "{target}");
    }
}

#[test]
fn log_md_6_1_the_ends_come_with_their_epochs() {
    let home = Home::new();
    let log = t0(&home.open());
    append_in_epoch(&log, &[rec(NOW, "k", "v")], 2);
    append_in_epoch(&log, &[rec(NOW, "k", "v")], 5);
    assert_eq!(find(&log, -1), Some((-1, 2, Some(5))));
    assert_eq!(find(&log, -2), Some((-1, 0, Some(2))));
    for tiered in [-5, -6] {
        assert_eq!(
            TimeTarget::from_kafka(tiered).unwrap_err().kind(),
            ErrorKind::Unsupported
        );
    }
}

#[test]
fn log_md_6_2_records_without_times_have_the_largest_time_none() {
    let home = Home::new();
    let manager = home.open();
    let log = t0(&manager);
    append(&log, &[rec(-1, "k", "v"), rec(-1, "k", "v")]);
    assert_eq!(place(&log, -3), Some((-1, 0)));
    manager.close().unwrap();
    assert_eq!(home.read("0.timeindex").len(), 0);
    assert_eq!(place(&t0(&home.open()), -3), Some((-1, 0)));
}

#[test]
fn log_md_6_4_a_record_too_large_to_unpack_is_an_error_of_the_look_up() {
    let home = Home::new().set("max.decompressed.message.bytes", 1000);
    let log = t0(&home.open());
    let large = "v".repeat(5000);
    let records = [rec(NOW, "k", &large), rec(NOW + 5, "k", "v")];
    let gzip = AppendOptions {
        codec: Some(Codec::Gzip),
        ..AppendOptions::default()
    };
    log.append(&mut builder(&records), &gzip).unwrap();
    let target = TimeTarget::from_kafka(NOW + 1).unwrap();
    assert_eq!(
        log.offset_for_timestamp(target).unwrap_err().kind(),
        ErrorKind::InvalidRecord
    );
    // Records that are not packed are not limited.
    let home = Home::new().set("max.decompressed.message.bytes", 1000);
    let log = t0(&home.open());
    append(&log, &records);
    assert_eq!(place(&log, NOW + 1), Some((NOW + 5, 1)));
}

#[test]
fn log_append_time_is_the_time_of_every_record() {
    let home = Home::new().set("message.timestamp.type", "LogAppendTime");
    let log = t0(&home.open());
    append(&log, &[rec(1, "k", "v"), rec(2, "k", "v")]);
    assert_eq!(place(&log, 5), Some((NOW, 0)));
    assert_eq!(place(&log, NOW), Some((NOW, 0)));
    assert_eq!(find(&log, NOW + 1), None);
}

#[test]
fn times_are_the_same_before_and_after_a_crash_and_a_close() {
    let home = Home::new()
        .set("internal.segment.bytes", 300)
        .set("index.interval.bytes", 0);
    let manager = home.open();
    let log = t0(&manager);
    for i in 0..20 {
        append(&log, &[rec(NOW + (i * 7) % 13, "key", "value")]);
    }
    let targets: Vec<i64> = (-2..16).map(|t| NOW + t).chain([-3, -1, -2]).collect();
    let answers = |log: &Log| {
        targets
            .iter()
            .map(|target| find(log, *target))
            .collect::<Vec<_>>()
    };
    let expected = answers(&log);
    manager.abandon();
    let copy = home.copied();
    assert_eq!(answers(&t0(&copy.open_unclean(0))), expected);
    let manager = home.open_unclean(20);
    manager.close().unwrap();
    assert_eq!(answers(&t0(&home.open())), expected);
}

/// What a log remembers of its segments' times must not change an answer: beside one that is asked once.
#[test]
fn answers_do_not_depend_on_what_was_asked_before() {
    let seed: u64 = std::env::var("KLOG_SEED").map_or_else(
        |_| u64::from(std::process::id()),
        |seed| seed.parse().unwrap(),
    );
    println!("KLOG_SEED={seed}");
    let mut state = seed;
    let mut random = |below: i64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        i64::try_from(state >> 40).unwrap() % below
    };
    for _ in 0..15 {
        let home = Home::new().set("internal.segment.bytes", 200);
        let manager = home.open();
        let log = t0(&manager);
        let mut asked = Vec::new();
        for _ in 0..20 {
            // Of some segments no record has a time: that of the file counts.
            let ts = if random(6) == 0 { -1 } else { random(1000) };
            append(&log, &five(ts));
            for _ in 0..random(3) {
                let target = random(1100);
                asked.push((target, find(&log, target)));
            }
        }
        for _ in 0..40 {
            let target = random(1100);
            let known = find(&log, target);
            let copy = home.copied();
            assert_eq!(known, find(&t0(&copy.open()), target), "for {target}");
            assert_eq!(known, find(&log, target), "for {target} again");
        }
        assert!(!asked.is_empty());
    }
}
