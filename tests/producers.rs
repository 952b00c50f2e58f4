//! Idempotent and transactional producers: the examples of state.md 11, E1 to E7 and E20.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a failure fails the test"
)]

mod support;

use klog::error::ErrorKind::{
    InvalidProducerEpoch, InvalidTxnState, OutOfOrderSequenceNumber, RecordListTooLarge,
    TransactionCoordinatorFenced,
};
use klog::log::Origin;
use klog::types::TimestampMs;

use support::engine::{Home, NOW, epochs, log, segments, t0};
use support::producing::{aborted, queue, step};

/// A home whose log leaves its high watermark to the test.
fn manual(home: &Home) -> (klog::manager::Manager, std::sync::Arc<klog::log::Log>) {
    let manager = home.open();
    let log = t0(&manager);
    log.leave_high_watermark_to_caller().unwrap();
    (manager, log)
}

#[test]
fn e1_five_duplicates_are_known_and_e2_a_restart_forgets_four() {
    let home = Home::new();
    let manager = home.open();
    let log = t0(&manager);
    for (i, text) in (0i64..).zip(["0+2", "2+2", "4+2", "6+2", "8+2", "10+2"]) {
        let first = 2 * i;
        step(&format!("I 1/0 {text}")).at_offsets(&log, first, first + 1);
    }
    assert_eq!(
        queue(&log, 1),
        "2..3@2..3 4..5@4..5 6..7@6..7 8..9@8..9 10..11@10..11"
    );
    step("I 1/0 0+2").refused(&log, OutOfOrderSequenceNumber);
    for first in [2, 4, 6, 8, 10] {
        let result = step(&format!("I 1/0 {first}+2")).at_offsets(&log, first, first + 1);
        assert_eq!(
            result.log_append_time.0,
            NOW + 1,
            "that of the stored batch, also with create time"
        );
        assert_eq!(result.bytes_appended, 0);
    }
    for text in ["I 1/0 10+1", "I 1/0 10+3", "I 1/0 14+1"] {
        step(text).refused(&log, OutOfOrderSequenceNumber);
    }
    // Only sequences are compared.
    step("T 1/0 10+2").at_offsets(&log, 10, 11);
    assert_eq!(log.end_offset().0, 12);
    step("I 1/0 12+1").at_offsets(&log, 12, 12);

    manager.close().unwrap();
    assert!(home.has("13.snapshot"));
    let manager = home.open();
    let log = t0(&manager);
    assert_eq!(queue(&log, 1), "12..12@12..12");
    step("I 1/0 12+1").at_offsets(&log, 12, 12);
    step("I 1/0 10+2").refused(&log, OutOfOrderSequenceNumber);
    step("I 2/3 7+1").at_offsets(&log, 13, 13);
    assert_eq!(queue(&log, 2), "7..7@13..13");
    step("I 2/3 7+1")
        .origin(Origin::Coordinator)
        .at_offsets(&log, 14, 14);
    step("I 2/3 0+1").refused(&log, OutOfOrderSequenceNumber);
}

#[test]
fn e3_sequences_wrap() {
    let home = Home::new();
    let manager = home.open();
    let a = t0(&manager);
    step("I 1/0 2147483644+3").at_offsets(&a, 0, 2);
    step("I 1/0 2147483647+2").at_offsets(&a, 3, 4);
    step("I 1/0 2147483647+2").at_offsets(&a, 3, 4);
    step("I 1/0 1+1").at_offsets(&a, 5, 5);
    assert_eq!(
        queue(&a, 1),
        "2147483644..2147483646@0..2 2147483647..0@3..4 1..1@5..5"
    );
    let b = log(&manager, "b-0");
    for (i, text) in (0i64..).zip(["2147483647+1", "0+1", "1+1"]) {
        step(&format!("I 1/0 {text}")).at_offsets(&b, i, i);
    }
}

#[test]
fn e4_older_epochs_are_fenced() {
    let home = Home::new();
    let log = t0(&home.open());
    step("I 1/5 0+1").at_offsets(&log, 0, 0);
    step("I 1/4 1+1").refused(&log, InvalidProducerEpoch);
    step("I 1/4 0+1").refused(&log, InvalidProducerEpoch);
    step("I 1/6 1+1").refused(&log, OutOfOrderSequenceNumber);
    step("I 1/6 0+1").at_offsets(&log, 1, 1);
    assert_eq!(queue(&log, 1), "0..0@1..1");
    step("I 1/6 9+1")
        .origin(Origin::Coordinator)
        .at_offsets(&log, 2, 2);
    step("I 1/2 50+1")
        .origin(Origin::Replication)
        .epoch(3)
        .at_offsets(&log, 3, 3);
    assert_eq!(log.producers()[0].1.epoch, 2);
    assert_eq!(queue(&log, 1), "50..50@3..3");
    step("I 1/6 10+1")
        .epoch(3)
        .refused(&log, OutOfOrderSequenceNumber);
    step("I 1/6 0+1").epoch(3).at_offsets(&log, 4, 4);
}

#[test]
fn e5_markers_and_epochs() {
    let home = Home::new();
    let (_manager, log) = manual(&home);
    step("C 9/2 5").at_offsets(&log, 0, 0);
    let (_, producer) = &log.producers()[0];
    assert_eq!(
        (
            producer.epoch,
            producer.coordinator_epoch,
            producer.batches.len()
        ),
        (2, 5, 0)
    );
    step("T 9/2 17+1").refused(&log, OutOfOrderSequenceNumber);
    step("I 9/2 17+1").refused(&log, OutOfOrderSequenceNumber);
    step("T 9/1 0+1").refused(&log, InvalidProducerEpoch);
    step("T 9/3 17+1").refused(&log, OutOfOrderSequenceNumber);
    step("T 9/3 0+1").at_offsets(&log, 1, 1);
    assert_eq!(log.ends().1.first_unstable.unwrap().0, 1);
    step("A 9/2 5").refused(&log, InvalidProducerEpoch);
    step("A 9/3 4").refused(&log, TransactionCoordinatorFenced);
    step("A 9/4 6").at_offsets(&log, 2, 2);
    let (_, producer) = &log.producers()[0];
    assert_eq!(
        (
            producer.epoch,
            producer.coordinator_epoch,
            producer.batches.len()
        ),
        (4, 6, 0)
    );
    assert_eq!(aborted(&log), [(0, "9:1..2 3".to_owned())]);
    assert_eq!(
        log.ends().1.first_unstable.unwrap().0,
        1,
        "the high watermark is 0"
    );
    step("T 9/4 0+1").at_offsets(&log, 3, 3);
    step("C 9/4 6")
        .version(2)
        .refused(&log, InvalidProducerEpoch);
    step("C 9/5 6").version(2).at_offsets(&log, 4, 4);
    step("C 9/5 6").version(2).at_offsets(&log, 5, 5);
    step("C 9/4 6")
        .version(2)
        .refused(&log, InvalidProducerEpoch);
}

#[test]
fn e6_transactions_and_idempotence() {
    let home = Home::new();
    let log = t0(&home.open());
    step("T 1/0 0+2").at_offsets(&log, 0, 1);
    step("I 1/0 2+1").refused(&log, InvalidTxnState);
    step("I 1/1 0+1").refused(&log, InvalidTxnState);
    step("C 1/0 0").at_offsets(&log, 2, 2);
    assert_eq!(queue(&log, 1), "0..1@0..1");
    step("T 1/0 0+2").at_offsets(&log, 0, 1);
    step("I 1/0 2+1").at_offsets(&log, 3, 3);
    step("C 1/0 0").at_offsets(&log, 4, 4);
    assert_eq!(aborted(&log), []);
    step("C 1/0 -1").refused(&log, TransactionCoordinatorFenced);
}

/// Kafka leaves epochs, a segment and a snapshot behind; klog nothing (D1).
#[test]
fn e7_and_d1_a_refused_or_repeated_append_leaves_no_trace() {
    let home = Home::new().set("internal.segment.bytes", 200);
    let manager = home.open();
    let log = t0(&manager);
    step("I 1/0 0+2").at_offsets(&log, 0, 1);
    step("I 1/0 2+2").at_offsets(&log, 2, 3);
    assert_eq!(
        (segments(&log), epochs(&log)),
        (vec![(0, 166)], vec![(0, 0)])
    );
    let files = home.files();
    step("I 1/0 2+2").epoch(1).at_offsets(&log, 2, 3);
    step("I 1/0 9+2")
        .epoch(2)
        .refused(&log, OutOfOrderSequenceNumber);
    step("P 20").epoch(3).refused(&log, RecordListTooLarge);
    assert_eq!(
        (segments(&log), epochs(&log)),
        (vec![(0, 166)], vec![(0, 0)])
    );
    assert_eq!(home.files(), files);
    // The next append that counts rolls.
    step("I 1/0 4+2").epoch(4).at_offsets(&log, 4, 5);
    assert_eq!(
        (segments(&log), epochs(&log)),
        (vec![(0, 166), (4, 83)], vec![(0, 0), (4, 4)])
    );
}

#[test]
fn e20_producers_expire_by_the_time_of_their_records() {
    let home = Home::new().set_broker("producer.id.expiration.ms", 1000);
    let log = t0(&home.open());
    step("I 1/0 0+1").at_offsets(&log, 0, 0);
    step("T 2/0 0+1").at_offsets(&log, 1, 1);
    home.clock.set(TimestampMs(NOW + 999));
    assert_eq!(log.expire_producers().unwrap(), 0);
    home.clock.set(TimestampMs(NOW + 1000));
    assert_eq!(log.expire_producers().unwrap(), 1);
    assert_eq!(
        (queue(&log, 1).as_str(), queue(&log, 2).as_str()),
        ("none", "0..0@1..1")
    );
    step("I 1/0 5+1").at_offsets(&log, 2, 2);
    step("I 3/0 0+1").at(-1).at_offsets(&log, 3, 3);
    assert_eq!(
        log.expire_producers().unwrap(),
        2,
        "the records of both are old or have no time"
    );
}

#[test]
fn hc37_sequences_wrap_and_a_restart_knows_one_batch() {
    let home = Home::new();
    let log_a = t0(&home.open());
    step("I 5/0 2147483646+3").at_offsets(&log_a, 0, 2);
    assert_eq!(queue(&log_a, 5), "2147483646..0@0..2");
    step("I 5/0 1+1").at_offsets(&log_a, 3, 3);
    step("I 5/0 2147483646+3").at_offsets(&log_a, 0, 2);
    assert_eq!(log_a.end_offset().0, 4);

    let home = Home::new();
    let manager = home.open();
    let log_b = t0(&manager);
    for i in 0..4 {
        step(&format!("I 5/0 {i}+1")).at_offsets(&log_b, i, i);
    }
    step("I 5/0 1+1").at_offsets(&log_b, 1, 1);
    manager.close().unwrap();
    let log_b = t0(&home.open());
    step("I 5/0 3+1").at_offsets(&log_b, 3, 3);
    step("I 5/0 1+1").refused(&log_b, OutOfOrderSequenceNumber);
    step("I 5/1 3+1").refused(&log_b, OutOfOrderSequenceNumber);
    step("I 5/1 0+1").at_offsets(&log_b, 4, 4);
    step("I 5/0 4+1").refused(&log_b, InvalidProducerEpoch);
    step("I 6/0 77+1").at_offsets(&log_b, 5, 5);
}

#[test]
fn hc38_without_snapshots_a_clean_log_is_read_again() {
    let home = Home::new();
    let (manager, log) = manual(&home);
    step("I 5/0 0+1").at_offsets(&log, 0, 0);
    step("T 7/0 0+1").at_offsets(&log, 1, 1);
    log.set_high_watermark(klog::types::Offset(2)).unwrap();
    assert_eq!(log.last_stable_offset().0, 1);
    manager.close().unwrap();
    assert!(home.is_clean() && home.has("2.snapshot"));
    home.remove("2.snapshot");
    let (_manager, log) = manual(&home);
    log.set_high_watermark(klog::types::Offset(2)).unwrap();
    assert_eq!(
        (queue(&log, 5), queue(&log, 7), log.last_stable_offset().0),
        ("0..0@0..0".to_owned(), "0..0@1..1".to_owned(), 1)
    );
    assert_eq!(home.read("2.snapshot").len(), 102);
    step("A 7/0 0").at_offsets(&log, 2, 2);
    assert_eq!(aborted(&log), [(0, "7:1..2 3".to_owned())]);
}

/// A log of three segments with a batch of producer 1 in each, closed in order: snapshots 2, 4, 6.
fn three_snapshots() -> Home {
    let home = Home::new();
    let (manager, log) = manual(&home);
    step("I 1/0 0+2").at_offsets(&log, 0, 1);
    log.roll().unwrap();
    step("I 1/0 2+2").at_offsets(&log, 2, 3);
    log.roll().unwrap();
    step("I 1/0 4+2").at_offsets(&log, 4, 5);
    manager.close().unwrap();
    assert_eq!(snapshots(&home), [2, 4, 6]);
    home
}

fn snapshots(home: &Home) -> Vec<i64> {
    home.sizes(".snapshot")
        .into_iter()
        .map(|(offset, _)| offset)
        .collect()
}

fn reopened(home: &Home) -> (String, Vec<i64>) {
    let (_manager, log) = manual(home);
    (queue(&log, 1), snapshots(home))
}

#[test]
fn e14_corrupt_missing_and_stray_snapshots() {
    let all = ("0..1@0..1 2..3@2..3 4..5@4..5".to_owned(), vec![2, 4, 6]);
    let last = ("4..5@4..5".to_owned(), vec![2, 4, 6]);
    let names = ["2.snapshot", "4.snapshot", "6.snapshot"];

    // The newest good one is loaded, what lies behind it is read.
    let home = three_snapshots();
    home.flip("6.snapshot", 30);
    home.cut("4.snapshot", 3);
    assert_eq!(reopened(&home), all);
    let home = three_snapshots();
    for name in names {
        home.flip(name, 30);
    }
    assert_eq!(reopened(&home), all);

    // Of strays the last one stays, if it is not beyond the end.
    let home = three_snapshots();
    for name in ["1.snapshot", "3.snapshot", "5.snapshot", "9.snapshot"] {
        home.write(name, home.read("6.snapshot"));
    }
    let from_4 = ("2..3@2..3 4..5@4..5".to_owned(), vec![2, 4, 6]);
    assert_eq!(reopened(&home), from_4);
    let home = three_snapshots();
    home.write("5.snapshot", home.read("6.snapshot"));
    home.remove("6.snapshot");
    let twice = ("4..5@4..5 4..5@4..5".to_owned(), vec![2, 4, 5, 6]);
    assert_eq!(reopened(&home), twice);

    // Without any a clean log is read again (HC38), an unclean one recovered.
    for (unclean, expected) in [(None, &all), (Some(0), &last), (Some(6), &last)] {
        let home = three_snapshots();
        for name in names {
            home.remove(name);
        }
        if let Some(recovery_point) = unclean {
            home.forget_marker();
            home.checkpoint("recovery-point-offset-checkpoint", recovery_point);
        }
        assert_eq!(reopened(&home), *expected, "recovery point {unclean:?}");
    }
}
