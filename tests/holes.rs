//! Logs with holes, as followers and cuts leave them, and logs that begin below their start: what Kafka was seen to do with
//! them. Cites log.md 1.5, 2.12, 3-5, 9, state.md 2.3, 5.6, 6.5.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a failure fails the test"
)]

mod support;

use std::sync::Arc;

use klog::error::ErrorKind;
use klog::format::legacy::{OldMessage, write_message};
use klog::log::{
    AppendOptions, AppendResult, FirstBatch, Isolation, Log, Origin, ReadCut, ReadOptions,
    ReadResult,
};
use klog::manager::Manager;
use klog::types::{LeaderEpoch, Offset, TimestampMs};

use support::engine::{Home, NOW, segments, t0, v2};
use support::producing::step;

fn open(home: &Home) -> (Manager, Arc<Log>) {
    let manager = home.open();
    let log = t0(&manager);
    log.leave_high_watermark_to_caller().unwrap();
    (manager, log)
}

fn follow(log: &Log, bytes: &[u8]) -> AppendResult {
    let options = AppendOptions {
        origin: Origin::Replication,
        leader_epoch: Some(LeaderEpoch(0)),
        ..AppendOptions::default()
    };
    log.append_batches(bytes, &options).unwrap()
}

/// A batch of two records, 83 bytes.
fn two(base: i64) -> Vec<u8> {
    v2(base, &[("k0", "v0"), ("k1", "v1")])
}

fn old_message(offset: i64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let message = OldMessage {
        offset: Offset(offset),
        timestamp: TimestampMs(NOW),
        key: Some(b"k"),
        value: Some(b"v"),
    };
    write_message(&mut bytes, 1, 0, &message);
    bytes
}

fn read(log: &Log, from: i64, max_bytes: usize, isolation: Isolation) -> ReadResult {
    let options = ReadOptions {
        max_bytes,
        first_batch: FirstBatch::IfItFits,
        isolation,
        cut: ReadCut::AtMaxBytes,
    };
    let mut buffer = vec![0; 1 << 16];
    log.read(Offset(from), &mut buffer, &options).unwrap()
}

#[test]
fn a_followers_batches_above_the_end_roll_at_their_first_offset() {
    let home = Home::new().set("internal.segment.bytes", 100);
    let (_manager, log) = open(&home);
    follow(&log, &two(0));
    follow(&log, &two(10));
    assert_eq!(segments(&log), [(0, 83), (10, 83)]);
    assert_eq!(log.recovery_point(), Offset(10));
    // An old message does not tell where its append begins: it rolls at the log end.
    let result = follow(&log, &old_message(20));
    assert_eq!((result.first_offset.0, result.last_offset.0), (-1, 20));
    assert_eq!(log.segment_list().last().unwrap().base_offset(), Offset(12));
    assert_eq!(log.recovery_point(), Offset(12));
}

#[test]
fn offsets_too_far_from_the_base_roll_at_the_first_of_them() {
    let home = Home::new();
    let (_manager, log) = open(&home);
    follow(&log, &two(0));
    let far = 1 << 31;
    follow(&log, &two(far));
    assert_eq!(segments(&log), [(0, 83), (far, 83)]);
    assert_eq!(log.end_offset(), Offset(far + 2));
}

#[test]
fn a_duplicate_is_no_reason_to_flush() {
    let home = Home::new().set("flush.messages", 1);
    let (manager, log) = open(&home);
    step("I 1/0 0+2").at_offsets(&log, 0, 1);
    assert_eq!(log.recovery_point(), Offset(2));
    manager.abandon();
    let manager = home.open_unclean(0);
    let log = t0(&manager);
    assert_eq!(log.recovery_point(), Offset(0));
    step("I 1/0 0+2").at_offsets(&log, 0, 1);
    assert_eq!(log.recovery_point(), Offset(0));
}

#[test]
fn a_log_that_starts_above_its_end_has_its_high_watermark_there_or_at_its_end() {
    let home = Home::new();
    let (manager, log) = open(&home);
    let begin = || {
        manager
            .truncate_fully(&log, Offset(5), Some(Offset(20)))
            .unwrap();
        assert_eq!(log.high_watermark(), Offset(20));
    };
    begin();
    assert_eq!(log.set_high_watermark(Offset(30)).unwrap(), Offset(5));
    assert_eq!(log.set_high_watermark(Offset(1)).unwrap(), Offset(20));
    step("P 2").at_offsets(&log, 5, 6);
    assert_eq!(log.high_watermark(), Offset(7));
    begin();
    log.roll().unwrap();
    assert_eq!(log.high_watermark(), Offset(5));
}

#[test]
fn nothing_is_read_below_the_first_segment() {
    let home = Home::new();
    let (manager, log) = open(&home);
    manager
        .truncate_fully(&log, Offset(9), Some(Offset(4)))
        .unwrap();
    let mut buffer = [0; 100];
    let error = log
        .read(Offset(6), &mut buffer, &ReadOptions::default())
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OffsetOutOfRange);
    assert_eq!(
        read(&log, 9, 100, Isolation::LogEnd).segment_base_offset,
        Offset(9)
    );
}

#[test]
fn a_read_from_a_hole_finds_the_batch_behind_it_though_that_is_not_committed() {
    let home = Home::new().set("internal.segment.bytes", 100);
    let (_manager, log) = open(&home);
    follow(&log, &two(10));
    log.set_high_watermark(Offset(10)).unwrap();
    let result = read(&log, 3, 20, Isolation::HighWatermark);
    assert_eq!((result.bytes, result.position), (0, 0));
    assert_eq!(result.segment_base_offset, Offset(0));
    assert!(result.is_first_larger, "20 bytes are less than the batch");
    assert!(!read(&log, 3, 83, Isolation::HighWatermark).is_first_larger);
    // The same where the batch lies in a segment that begins at the watermark.
    follow(&log, &two(20));
    log.set_high_watermark(Offset(20)).unwrap();
    let result = read(&log, 15, 20, Isolation::HighWatermark);
    assert_eq!((result.bytes, result.is_first_larger), (0, true));
    assert_eq!(result.segment_base_offset, Offset(20));
}

#[test]
fn no_aborted_transactions_go_with_a_read_that_may_read_nothing_yet() {
    let home = Home::new();
    let (_manager, log) = open(&home);
    step("T 1/0 0+2").at_offsets(&log, 0, 1);
    step("A 1/0 0").at_offsets(&log, 2, 2);
    let result = read(&log, 1, 100, Isolation::TxnCommitted);
    assert_eq!((result.bytes, result.aborted_upto), (0, Offset::NONE));
    log.set_high_watermark(Offset(3)).unwrap();
    let result = read(&log, 1, 100, Isolation::TxnCommitted);
    assert_eq!((result.bytes, result.aborted_upto), (100, Offset(3)));
    // At the end there is nothing to leave out.
    let result = read(&log, 3, 100, Isolation::TxnCommitted);
    assert_eq!((result.bytes, result.aborted_upto), (0, Offset::NONE));
}

#[test]
fn a_segment_begun_anew_in_place_has_no_transaction_index() {
    let home = Home::new();
    let (manager, log) = open(&home);
    step("T 1/0 0+2").at_offsets(&log, 0, 1);
    step("A 1/0 0").at_offsets(&log, 2, 2);
    manager.truncate_to(&log, Offset(0)).unwrap();
    assert!(home.has("0.txnindex"));
    log.roll().unwrap();
    assert!(!home.has("0.txnindex"));
}

#[test]
fn a_close_leaves_the_snapshots_of_a_log_that_starts_at_its_end_to_the_next_load() {
    let home = Home::new();
    let manager = home.open();
    let log = t0(&manager);
    step("I 1/0 0+2").at_offsets(&log, 0, 1);
    log.roll().unwrap();
    step("I 1/0 2+2").at_offsets(&log, 2, 3);
    log.delete_records(Offset(4)).unwrap();
    manager.close().unwrap();
    assert_eq!(home.sizes(".snapshot").len(), 2);
    // That removes them, and with them what they knew (state.md 6.6).
    let manager = home.open();
    assert_eq!(home.sizes(".snapshot").len(), 0);
    assert_eq!(t0(&manager).info().producers, 0);
}

#[test]
fn d96_a_batch_that_an_open_transaction_forbids_is_recovered_with_a_note() {
    let home = Home::new();
    let (manager, log) = open(&home);
    step("T 1/0 0+2").at_offsets(&log, 0, 1);
    step("P 2").at_offsets(&log, 2, 3);
    step("P 2").at_offsets(&log, 4, 5);
    log.set_high_watermark(Offset(4)).unwrap();
    log.delete_records(Offset(4)).unwrap();
    // The cut makes the producers anew, from the log start on.
    manager.truncate_to(&log, Offset(4)).unwrap();
    step("I 1/0 2+2").at_offsets(&log, 4, 5);
    manager.abandon();
    let manager = home.open_unclean(0);
    let log = t0(&manager);
    assert_eq!(log.end_offset(), Offset(6));
    let said = manager.report().iter().any(|finding| {
        let text = format!("{finding:?}");
        text.contains("is not transactional although a transaction is open")
    });
    assert!(said, "{:?}", manager.report());
}

#[test]
fn d98_transactions_that_ended_below_the_high_watermark_stay_settled_when_the_log_is_cut() {
    let home = Home::new();
    let (manager, log) = open(&home);
    step("T 1/0 0+2").at_offsets(&log, 0, 1);
    step("C 1/0 0").at_offsets(&log, 2, 2);
    step("P 2").at_offsets(&log, 3, 4);
    step("P 2").at_offsets(&log, 5, 6);
    log.set_high_watermark(Offset(3)).unwrap();
    manager.truncate_to(&log, Offset(5)).unwrap();
    assert_eq!(log.last_stable_offset(), Offset(3));
    step("P 1").at_offsets(&log, 5, 5);
    assert_eq!(log.last_stable_offset(), Offset(3));
}
