//! Transactions as readers see them: the examples of state.md 11, E9 to E11 and E13, and E21 of the high watermark.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a failure fails the test"
)]

mod support;

use std::sync::Arc;

use klog::error::ErrorKind;
use klog::format::builder::{BatchBuilder, BatchOptions};
use klog::format::record::Header;
use klog::log::{
    AppendOptions, CursorOptions, Isolation, LeaderEpochRule, Log, Origin, ReadCut, ReadOptions,
    ReadResult,
};
use klog::manager::Manager;
use klog::types::{LeaderEpoch, Offset, ProducerId, TimestampMs};

use support::engine::{Home, NOW, t0};
use support::producing::{aborted, step, two_aborted};

fn manual(home: &Home) -> (Manager, Arc<Log>) {
    let manager = home.open();
    let log = t0(&manager);
    log.leave_high_watermark_to_caller().unwrap();
    (manager, log)
}

fn hw(log: &Log, offset: i64) -> i64 {
    log.set_high_watermark(Offset(offset)).unwrap().0
}

fn lso(log: &Log) -> i64 {
    log.last_stable_offset().0
}

fn unstable(log: &Log) -> Option<i64> {
    log.ends().1.first_unstable.map(|offset| offset.0)
}

fn read(log: &Log, from: i64, max_bytes: usize, isolation: Isolation) -> (ReadResult, String) {
    let mut buffer = vec![0; 1 << 16];
    let options = ReadOptions {
        max_bytes,
        isolation,
        // Kafka's list goes by the bytes of its slice.
        cut: ReadCut::AtMaxBytes,
        ..ReadOptions::default()
    };
    let result = log.read(Offset(from), &mut buffer, &options).unwrap();
    let list = log.aborted_txns(Offset(from), result.aborted_upto).unwrap();
    let list: Vec<String> = list
        .iter()
        .map(|txn| format!("{}@{}", txn.producer_id, txn.first_offset))
        .collect();
    (result, list.join(" "))
}

/// A committed read from an offset: where it ends, and the aborted transactions that come with it.
fn committed(log: &Log, from: i64) -> (i64, String) {
    let (result, list) = read(log, from, 1 << 16, Isolation::TxnCommitted);
    (
        if result.bytes == 0 {
            -1
        } else {
            result.next_offset.0 - 1
        },
        list,
    )
}

/// Offsets that a cursor of committed transactions gives.
fn given(log: &Arc<Log>) -> Vec<i64> {
    let options = CursorOptions {
        isolation: Isolation::TxnCommitted,
        ..CursorOptions::default()
    };
    let mut cursor = log.cursor(log.start_offset(), options);
    let mut offsets = Vec::new();
    loop {
        let records = cursor.next_records(2).unwrap();
        if records.is_empty() {
            return offsets;
        }
        offsets.extend(records.iter().map(|record| record.offset.0));
    }
}

#[test]
fn e9_the_last_stable_offset() {
    let home = Home::new();
    let (_manager, log) = manual(&home);
    step("P 2").at_offsets(&log, 0, 1);
    step("T 1/0 0+2").at_offsets(&log, 2, 3);
    step("T 2/0 0+1").at_offsets(&log, 4, 4);
    step("P 1").at_offsets(&log, 5, 5);
    assert_eq!(unstable(&log), Some(2));
    assert_eq!((hw(&log, 4), lso(&log)), (4, 2));
    assert_eq!((hw(&log, 6), lso(&log)), (6, 2));
    assert_eq!(committed(&log, 0).0, 1);
    for from in [3, 6] {
        assert_eq!(committed(&log, from).0, -1, "nothing at {from}");
    }
    let outside = log
        .read(Offset(7), &mut [], &ReadOptions::default())
        .unwrap_err();
    assert_eq!(outside.kind(), ErrorKind::OffsetOutOfRange);
    step("A 1/0 0").at_offsets(&log, 6, 6);
    assert_eq!(aborted(&log), [(0, "1:2..6 4".to_owned())]);
    assert_eq!(lso(&log), 2);
    assert_eq!((hw(&log, 7), lso(&log)), (7, 4));
    step("C 2/0 0").at_offsets(&log, 7, 7);
    assert_eq!(lso(&log), 4);
    assert_eq!((hw(&log, 8), lso(&log), unstable(&log)), (8, 8, None));
    assert_eq!(committed(&log, 0), (7, "1@2".to_owned()));
    assert_eq!(committed(&log, 5), (7, "1@2".to_owned()));
    assert_eq!(given(&log), [0, 1, 4, 5]);
    assert_eq!((hw(&log, 99), hw(&log, 3), hw(&log, -5)), (8, 3, 0));
    assert!(log.raise_high_watermark(Offset(99)).is_err());
    assert_eq!(log.raise_high_watermark(Offset(3)).unwrap().0, 3);
    assert_eq!(log.raise_high_watermark(Offset(2)).unwrap().0, 3);
}

#[test]
fn e10_aborted_lists_over_segments() {
    let home = Home::new();
    let (_manager, log) = manual(&home);
    step("T 1/0 0+2").at_offsets(&log, 0, 1);
    log.roll().unwrap();
    step("T 2/0 0+2").at_offsets(&log, 2, 3);
    step("A 2/0 0").at_offsets(&log, 4, 4);
    log.roll().unwrap();
    step("T 3/0 0+1").at_offsets(&log, 5, 5);
    step("A 1/0 0").at_offsets(&log, 6, 6);
    log.roll().unwrap();
    step("P 2").at_offsets(&log, 7, 8);
    step("A 3/0 0").at_offsets(&log, 9, 9);
    hw(&log, 10);
    let entries = aborted(&log);
    let entries: Vec<(i64, &str)> = entries
        .iter()
        .map(|(base, text)| (*base, text.as_str()))
        .collect();
    assert_eq!(
        entries,
        [(2, "2:2..4 0"), (5, "1:0..6 5"), (7, "3:5..9 10")]
    );
    assert!(!home.has("0.txnindex"));
    for (from, last, list) in [
        (0, 1, "1@0"),
        (2, 4, "2@2 1@0"),
        (4, 4, "2@2 1@0"),
        (5, 6, "1@0 3@5"),
        (7, 9, "3@5"),
        (9, 9, "3@5"),
        (10, -1, ""),
    ] {
        assert_eq!(
            committed(&log, from),
            (last, list.to_owned()),
            "from {from}"
        );
    }
    assert_eq!(given(&log), [7, 8]);
}

#[test]
fn e11_the_bound_of_the_list_is_coarse() {
    let home = Home::new().set("index.interval.bytes", 1);
    let (_manager, log) = manual(&home);
    step("T 1/0 0+2").at_offsets(&log, 0, 1);
    step("P 2").at_offsets(&log, 2, 3);
    step("A 1/0 0").at_offsets(&log, 4, 4);
    step("T 2/0 0+2").at_offsets(&log, 5, 6);
    step("P 2").at_offsets(&log, 7, 8);
    step("A 2/0 0").at_offsets(&log, 9, 9);
    hw(&log, 10);
    let (one, list) = read(&log, 0, 100, Isolation::TxnCommitted);
    assert_eq!((one.next_offset.0, list.as_str()), (2, "1@0"));
    let (two, list) = read(&log, 0, 170, Isolation::TxnCommitted);
    assert_eq!((two.next_offset.0, list.as_str()), (4, "1@0 2@5"));
    // What the cursor leaves out does not depend on the size of its reads.
    for read_bytes in [1, 80, 170, 300, 0] {
        let options = CursorOptions {
            isolation: Isolation::TxnCommitted,
            read_bytes,
            ..CursorOptions::default()
        };
        let mut cursor = log.cursor(Offset(0), options);
        let mut offsets = Vec::new();
        loop {
            let records = cursor.next_records(100).unwrap();
            if records.is_empty() {
                break;
            }
            offsets.extend(records.iter().map(|record| record.offset.0));
        }
        assert_eq!(offsets, [2, 3, 7, 8], "{read_bytes}");
    }
}

#[test]
fn e13_a_log_that_starts_inside_a_transaction() {
    let home = Home::new();
    let (_manager, log) = manual(&home);
    step("T 1/0 0+3").at_offsets(&log, 0, 2);
    step("P 3").at_offsets(&log, 3, 5);
    hw(&log, 6);
    assert_eq!(log.delete_records(Offset(4)).unwrap().0, 4);
    // Kafka moves both to the base of the batch, 3 (D23).
    assert_eq!((unstable(&log), lso(&log)), (Some(4), 4));
    assert_eq!(committed(&log, 4).0, -1);
    step("A 1/0 0").at_offsets(&log, 6, 6);
    hw(&log, 7);
    assert_eq!(unstable(&log), None);
    let (result, list) = read(&log, 4, 1 << 16, Isolation::TxnCommitted);
    assert_eq!(
        (result.first_offset.0, result.next_offset.0, list.as_str()),
        (3, 7, "1@0")
    );
    assert_eq!(given(&log), [4, 5]);
    assert_eq!(
        log.delete_records(Offset(8)).unwrap_err().kind(),
        ErrorKind::OffsetOutOfRange
    );
    assert_eq!(
        log.delete_records(Offset(-2)).unwrap_err().kind(),
        ErrorKind::OffsetOutOfRange
    );
    assert_eq!(
        log.delete_records(Offset(2)).unwrap().0,
        4,
        "it never moves back"
    );
    assert_eq!(log.delete_records(Offset(-1)).unwrap().0, 7);
}

/// Kafka moves it to the base of the batch at the first read (D23).
#[test]
fn e21_and_d23_a_high_watermark_inside_a_batch_stays() {
    let home = Home::new();
    let (manager, log) = manual(&home);
    step("P 3").at_offsets(&log, 0, 2);
    step("P 3").at_offsets(&log, 3, 5);
    assert_eq!(hw(&log, 4), 4);
    let (result, _) = read(&log, 0, 1 << 16, Isolation::HighWatermark);
    assert_eq!((result.next_offset.0, log.high_watermark().0), (3, 4));
    assert_eq!(read(&log, 3, 1 << 16, Isolation::HighWatermark).0.bytes, 0);
    assert_eq!(hw(&log, 6), 6);
    step("P 1").at_offsets(&log, 6, 6);
    assert_eq!(log.high_watermark().0, 6, "appending does not raise it");
    manager.close().unwrap();
    let checkpoint =
        std::fs::read_to_string(home.dir.join("replication-offset-checkpoint")).unwrap();
    assert_eq!(checkpoint, "0\n1\nt 0 6\n");
}

#[test]
fn a_high_watermark_that_follows_the_end_is_not_the_callers() {
    let home = Home::new();
    let log = t0(&home.open());
    step("T 1/0 0+3").at_offsets(&log, 0, 2);
    assert_eq!((log.high_watermark().0, lso(&log)), (3, 0));
    assert_eq!(
        log.set_high_watermark(Offset(1)).unwrap_err().kind(),
        ErrorKind::InvalidArgument
    );
    step("C 1/0 0").at_offsets(&log, 3, 3);
    assert_eq!((log.high_watermark().0, lso(&log)), (4, 4));
    assert_eq!(given(&log), [0, 1, 2]);
}

/// What the first transaction leaves unstable lies in a segment of its own when it is found again.
#[test]
fn open_transactions_survive_closes_and_crashes() {
    let home = Home::new();
    let manager = home.open();
    let log = t0(&manager);
    step("P 2").at_offsets(&log, 0, 1);
    step("T 1/0 0+2").at_offsets(&log, 2, 3);
    log.roll().unwrap();
    step("P 2").at_offsets(&log, 4, 5);
    manager.close().unwrap();
    for is_clean in [true, false] {
        let home = home.copied();
        let manager = if is_clean {
            home.open()
        } else {
            home.open_unclean(0)
        };
        let log = t0(&manager);
        assert_eq!(
            (lso(&log), log.high_watermark().0),
            (2, 6),
            "clean {is_clean}"
        );
        step("A 1/0 0").at_offsets(&log, 6, 6);
        assert_eq!(aborted(&log), [(4, "1:2..6 7".to_owned())]);
        assert_eq!(given(&log), [0, 1, 4, 5]);
        manager.abandon();
        let log = t0(&home.open_unclean(0));
        assert_eq!(
            (aborted(&log), lso(&log)),
            (vec![(4, "1:2..6 7".to_owned())], 7)
        );
    }
}

/// Kafka goes by such an index as it is, and shows what was aborted (tests/interop/damaged.rs).
#[test]
fn a_transaction_index_whose_markers_do_not_rise_is_made_anew() {
    let home = Home::new();
    let manager = home.open();
    let log = t0(&manager);
    two_aborted(&log);
    step("P 1").at_offsets(&log, 6, 6);
    let expected = aborted(&log);
    manager.close().unwrap();
    let good = home.read("0.txnindex");
    let (first, second) = good.split_at(34);
    let damaged = [
        [second, first].concat(),
        [first, first].concat(),
        [first, second, second].concat(),
        [first, second, &[0; 34]].concat(),
        vec![0; 68],
    ];
    for content in damaged {
        for is_clean in [true, false] {
            let home = home.copied();
            home.write("0.txnindex", &content);
            let manager = if is_clean {
                home.open()
            } else {
                home.open_unclean(7)
            };
            let log = t0(&manager);
            assert_eq!(given(&log), [6], "{content:?}");
            assert_eq!(aborted(&log), expected, "{content:?}");
            manager.close().unwrap();
            assert_eq!(home.read("0.txnindex"), good, "{content:?}");
        }
    }
}

/// Kafka takes one of any size for a marker. What is made of it must be the same before and after a load.
#[test]
fn a_control_batch_that_is_far_larger_than_a_marker_ends_nothing() {
    let home = Home::new().set("max.message.bytes", 8 << 20);
    let manager = home.open();
    let log = t0(&manager);
    step("T 1/0 0+2").at_offsets(&log, 0, 1);
    let mut builder = BatchBuilder::new();
    let large = vec![0; 2 << 20];
    let header = Header {
        key: b"padding",
        value: Some(&large),
    };
    let (key, value) = ([0; 4], [0; 6]);
    builder
        .push(
            TimestampMs(NOW),
            Some(&key),
            Some(&value),
            [header].into_iter(),
        )
        .unwrap();
    let options = BatchOptions {
        producer_id: ProducerId(1),
        producer_epoch: 0,
        transactional: true,
        control: true,
        ..BatchOptions::default()
    };
    let mut bytes = builder.finish(&options).unwrap().to_vec();
    let append = |bytes: &[u8], origin| {
        let options = AppendOptions {
            origin,
            epoch_rule: LeaderEpochRule::TakeAny,
            ..AppendOptions::default()
        };
        log.append_batches(bytes, &options)
    };
    let refused = append(&bytes, Origin::Coordinator).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidRecord, "{refused}");
    assert_eq!(log.end_offset(), Offset(2));
    // A leader's is stored as it is, and the transaction goes on.
    klog::format::batch::stamp(&mut bytes, Offset(2), LeaderEpoch(0));
    append(&bytes, Origin::Replication).unwrap();
    let seen = |log: &Log| (log.end_offset(), lso(log), log.producers(), aborted(log));
    let before = seen(&log);
    assert_eq!((before.0, before.1), (Offset(3), 0));
    manager.close().unwrap();
    let manager = home.open();
    assert_eq!(seen(&t0(&manager)), before);
    manager.abandon();
    assert_eq!(seen(&t0(&home.open_unclean(0))), before);
}
