//! Opening a log whose end, or whose middle, is not as it was written: what is cut, what is kept, what the next append gets.
//! hard-cases.md HC11-HC14, log.md 8.7, 8.11, 14.6, 14.13, 14.14.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a failure fails the test"
)]

mod support;

use klog::error::ErrorKind;
use klog::format::builder::BatchOptions;
use klog::log::{Finding, FindingKind};
use klog::manager::Manager;
use klog::types::{LeaderEpoch, Offset};

use support::engine::{
    Home, NOW, append, append_in_epoch, batch, epochs, fill, five, offsets, read, rec, scan,
    segments, t0, v2,
};

fn report_of(manager: &Manager, kind: FindingKind) -> Vec<String> {
    manager
        .report()
        .iter()
        .filter(|f| f.kind == kind)
        .map(|f: &Finding| f.text.clone())
        .collect()
}

/// fill(5), closed in order: 360 bytes.
fn five_records() -> Home {
    let home = Home::new();
    let manager = home.open();
    fill(&t0(&manager), 5);
    manager.close().unwrap();
    assert_eq!(home.read("0.log").len(), 360);
    home
}

/// Opens, appends one record, reads everything, closes, opens again: no offset is given twice, none is lost.
fn append_and_reopen(home: &Home, manager: &Manager, end: i64) {
    let log = t0(manager);
    assert_eq!(log.end_offset().0, end);
    let next = append(&log, &[rec(NOW, "new", "one")]);
    assert_eq!(next.first_offset.0, end);
    assert_eq!(offsets(&log, 0), (0..=end).collect::<Vec<_>>());
    manager.close().unwrap();
    let manager = home.open();
    assert_eq!(manager.report(), []);
    let log = t0(&manager);
    assert_eq!(log.end_offset().0, end + 1);
    let last = scan(&log, end).remove(0).unwrap();
    assert_eq!(last, (end, "new".to_owned(), "one".to_owned()));
    manager.close().unwrap();
}

#[test]
fn hc11_a_wrong_offset_index_does_not_move_the_end_of_the_log() {
    let good = Home::new().set("index.interval.bytes", 0);
    let manager = good.open();
    fill(&t0(&manager), 5);
    manager.close().unwrap();
    let index = good.read("0.index");
    assert_eq!(index.len(), 32);
    let with = |at: usize, number: i32| {
        let mut wrong = index.clone();
        wrong[at..at + 4].copy_from_slice(&number.to_be_bytes());
        wrong
    };
    let wrong: [(&str, Vec<u8>); 9] = [
        ("the last position far behind the end", with(28, 1_000_000)),
        ("the last position at the end", with(28, 360)),
        ("the last position inside a batch", with(28, 300)),
        ("the last position at another batch", with(28, 216)),
        ("a negative position", with(28, -1)),
        ("the last offset beyond the end", with(24, 50)),
        ("a negative offset", with(24, -2)),
        ("zeros", vec![0; 32]),
        ("35 bytes", [index.clone(), vec![1; 3]].concat()),
    ];
    for (what, content) in wrong {
        let home = good.copied();
        home.write("0.index", content);
        let manager = home.open();
        assert_eq!(t0(&manager).end_offset().0, 5, "{what}");
        assert_eq!(home.read("0.index"), index, "{what}");
        assert_eq!(manager.open_counts().indexes_rebuilt, 1, "{what}");
        append_and_reopen(&home, &manager, 5);
    }
}

#[test]
fn hc12_bytes_behind_the_last_batch_are_dropped_although_the_shutdown_was_clean() {
    let half = v2(5, &[("half", "a batch")]);
    let mut tails: Vec<Vec<u8>> = [1, 10, 17, 18, 100].map(|t| vec![0; t]).to_vec();
    tails.extend([
        vec![7; 5],
        vec![7; 40],
        half[..half.len() / 2].to_vec(),
        half[..half.len() - 1].to_vec(),
    ]);
    for tail in tails {
        let home = five_records();
        home.extend("0.log", &tail);
        let manager = home.open();
        assert_eq!(home.read("0.log").len(), 360, "{} bytes behind", tail.len());
        let recovered = report_of(&manager, FindingKind::Recovered);
        assert_eq!(recovered.len(), 1, "{recovered:?}");
        assert!(
            recovered[0].contains(&format!("cut off {} bytes", tail.len())),
            "{recovered:?}"
        );
        assert_eq!(manager.open_counts().bytes_truncated, tail.len() as u64);
        append_and_reopen(&home, &manager, 5);
    }
}

#[test]
fn hc12_a_last_batch_with_a_bad_checksum_is_dropped_although_the_shutdown_was_clean() {
    let home = five_records();
    home.flip("0.log", 4 * 72 + 65);
    let manager = home.open();
    assert_eq!(home.read("0.log").len(), 288);
    append_and_reopen(&home, &manager, 4);
}

#[test]
fn hc13_recovery_ends_where_offsets_go_back_whatever_the_index_interval() {
    for interval in [0, 4096] {
        for and_more in [false, true] {
            let home = five_records().set("index.interval.bytes", interval);
            home.extend("0.log", &v2(2, &[("dup", "z")]));
            if and_more {
                home.extend("0.log", &v2(5, &[("k5", "z")]));
            }
            // Not closed in order; closed in order without an index, which recovers; closed in order.
            let unclean = home.copied();
            let manager = unclean.open_unclean(0);
            assert_eq!(unclean.read("0.log").len(), 360, "interval {interval}");
            append_and_reopen(&unclean, &manager, 5);

            let no_index = home.copied();
            no_index.remove("0.index");
            let manager = no_index.open();
            assert_eq!(no_index.read("0.log").len(), 360, "interval {interval}");
            append_and_reopen(&no_index, &manager, 5);

            let manager = home.open();
            assert_eq!(home.read("0.log").len(), 360, "interval {interval}");
            append_and_reopen(&home, &manager, 5);
        }
    }
}

#[test]
fn hc13_a_batch_that_ends_before_it_begins_ends_recovery() {
    let home = five_records();
    let mut backwards = v2(5, &[("a", "b"), ("c", "d")]);
    backwards[23..27].copy_from_slice(&(-3i32).to_be_bytes());
    klog::format::batch::seal(&mut backwards);
    home.extend("0.log", &backwards);
    let manager = home.open_unclean(0);
    assert_eq!(home.read("0.log").len(), 360);
    append_and_reopen(&home, &manager, 5);
}

#[test]
fn hc13_gaps_upward_are_legal() {
    let home = five_records();
    home.extend("0.log", &v2(9, &[("k", "v")]));
    let manager = home.open_unclean(0);
    let log = t0(&manager);
    assert_eq!(log.end_offset().0, 10);
    assert_eq!(offsets(&log, 0), [0, 1, 2, 3, 4, 9]);
    assert_eq!(append(&log, &[rec(NOW, "k", "v")]).first_offset.0, 10);
}

/// fill(3), roll, three more, closed; then a bit of batch 1 is flipped.
fn damaged_first_segment() -> Home {
    let home = Home::new();
    let manager = home.open();
    let log = t0(&manager);
    fill(&log, 3);
    log.roll().unwrap();
    fill(&log, 3);
    manager.close().unwrap();
    assert_eq!(home.sizes(".log"), [(0, 216), (3, 216)]);
    home.flip("0.log", 137);
    home
}

#[test]
fn hc14_damage_above_the_recovery_point_ends_the_log() {
    let home = damaged_first_segment();
    let manager = home.open_unclean(0);
    let log = t0(&manager);
    assert_eq!(segments(&log), [(0, 72)]);
    assert_eq!((log.end_offset().0, log.recovery_point().0), (1, 0));
    assert_eq!(offsets(&log, 0), [0]);
    assert_eq!(
        home.files(),
        [
            "0.index",
            "0.log",
            "0.timeindex",
            "1.snapshot",
            "leader-epoch-checkpoint"
        ],
        "the snapshots of what went are gone"
    );
    let retired: Vec<String> = home.retired_files();
    for name in ["3.index.deleted", "3.log.deleted", "3.timeindex.deleted"] {
        assert!(retired.contains(&name.to_owned()), "{name} of {retired:?}");
    }
    manager.close().unwrap();
    let manager = home.open();
    assert_eq!(home.retired_files(), [""; 0]);
    append_and_reopen(&home, &manager, 1);
}

#[test]
fn hc14_damage_below_the_recovery_point_is_not_touched_and_read_as_it_is() {
    let home = damaged_first_segment();
    let before = home.read("0.log");
    let manager = home.open_unclean(3);
    let log = t0(&manager);
    assert_eq!(home.read("0.log"), before);
    assert_eq!(log.end_offset().0, 6);
    // The bytes as they are stored, and the error of that one batch from whoever looks into it.
    let (result, bytes) = read(&log, 0, 1 << 20).unwrap();
    assert_eq!((result.batches, bytes), (3, before));
    let found = scan(&log, 0);
    let offsets: Vec<i64> = found
        .iter()
        .filter_map(|record| Some(record.as_ref().ok()?.0))
        .collect();
    assert_eq!(offsets, [0, 2, 3, 4, 5]);
    let errors: Vec<ErrorKind> = found
        .iter()
        .filter_map(|record| Some(record.as_ref().err()?.kind()))
        .collect();
    assert_eq!(errors, [ErrorKind::CorruptMessage]);
}

#[test]
fn hc14_a_log_that_ends_below_its_start_begins_anew_there() {
    let home = Home::new();
    let manager = home.open();
    fill(&t0(&manager), 6);
    manager.close().unwrap();
    home.cut("0.log", 154);
    home.start_checkpoint(4);
    let manager = home.open_unclean(6);
    let log = t0(&manager);
    assert_eq!(segments(&log), [(4, 0)]);
    assert_eq!((log.start_offset().0, log.end_offset().0), (4, 4));
    assert_eq!(epochs(&log), []);
    assert_eq!(home.sizes(".log.deleted"), [(0, 144)]);
    assert_eq!(append(&log, &[rec(NOW, "k", "v")]).first_offset.0, 4);
}

/// log.md 14.4: segments 0, 5, .. 25 of a batch each, epoch i at 5i, all but the last flushed by the rolls.
fn six_segments() -> Home {
    let home = Home::new().set("internal.segment.bytes", 200);
    let manager = home.open();
    let log = t0(&manager);
    for i in 0..6 {
        append_in_epoch(&log, &five(1000 + i), i32::try_from(i).unwrap());
    }
    assert_eq!(
        segments(&log),
        [0, 5, 10, 15, 20, 25].map(|base| (base, 116))
    );
    assert_eq!(log.recovery_point().0, 25);
    manager.close().unwrap();
    home
}

#[test]
fn log_md_14_6_a_broken_segment_costs_what_the_recovery_point_says() {
    let home = six_segments();
    home.flip("10.log", 90);

    let clean = home.copied();
    assert_eq!(t0(&clean.open()).end_offset().0, 30);

    let flushed = home.copied();
    let log = t0(&flushed.open_unclean(20));
    assert_eq!((log.end_offset().0, log.recovery_point().0), (30, 20));
    assert_eq!(segments(&log).len(), 6);

    let log = t0(&home.open_unclean(0));
    assert_eq!(segments(&log), [(0, 116), (5, 116), (10, 0)]);
    assert_eq!((log.end_offset().0, log.recovery_point().0), (10, 0));
    assert_eq!(epochs(&log), [(0, 0), (1, 5)]);
    assert_eq!(
        home.sizes(".log.deleted"),
        [(15, 116), (20, 116), (25, 116)]
    );
    assert_eq!(
        home.sizes(".snapshot")
            .into_iter()
            .map(|(offset, _)| offset)
            .collect::<Vec<_>>(),
        [5, 10]
    );
}

#[test]
fn log_md_14_13_an_append_does_not_land_behind_a_cut_batch() {
    let home = Home::new();
    let manager = home.open();
    let log = t0(&manager);
    for i in 0..3 {
        append(&log, &five(1000 + i));
    }
    manager.close().unwrap();
    assert_eq!(home.read("0.log").len(), 348);
    home.cut("0.log", 347);
    // Kafka appends at 347; here the rest of the batch goes first.
    let manager = home.open();
    let log = t0(&manager);
    assert_eq!((log.end_offset().0, home.read("0.log").len()), (10, 232));
    append(&log, &five(2000));
    assert_eq!(home.read("0.log").len(), 348);
    assert_eq!(offsets(&log, 0), (0..15).collect::<Vec<_>>());
}

#[test]
fn log_md_14_14_offsets_out_of_order_end_the_log_in_front_of_them() {
    let batch = |base| {
        let pairs = [
            ("k0", "v0"),
            ("k1", "v1"),
            ("k2", "v2"),
            ("k3", "v3"),
            ("k4", "v4"),
        ];
        let bytes = v2(base, &pairs);
        assert_eq!(bytes.len(), 116);
        bytes
    };
    for interval in [0, 4096] {
        for index in [true, false] {
            let home = Home::new().set("index.interval.bytes", interval);
            let manager = home.open();
            t0(&manager);
            manager.close().unwrap();
            home.write("0.log", [batch(0), batch(10), batch(5)].concat());
            if !index {
                home.remove("0.index");
            }
            let manager = home.open_unclean(0);
            let log = t0(&manager);
            assert_eq!(
                (log.end_offset().0, home.read("0.log").len()),
                (15, 232),
                "interval {interval}"
            );
            // A read inside the gap begins with the batch behind it.
            let (result, _) = read(&log, 5, 1 << 20).unwrap();
            assert_eq!(result.first_offset.0, 10);
            manager.close().unwrap();
        }
    }
}

/// Four batches of five records, the last two three billion offsets further on.
fn overflowing() -> Vec<u8> {
    [0, 5, 3_000_000_000, 3_000_000_005]
        .into_iter()
        .flat_map(|base| {
            let options = BatchOptions {
                base_offset: Offset(base),
                leader_epoch: LeaderEpoch(0),
                ..BatchOptions::default()
            };
            batch(&five(1000), &options)
        })
        .collect()
}

#[test]
fn log_md_14_12_a_segment_with_offsets_too_far_apart_is_split() {
    let expected: Vec<i64> = (0..10).chain(3_000_000_000..3_000_000_010).collect();
    for (is_clean, tail) in [(false, &[][..]), (true, &[]), (false, &[7; 40])] {
        let home = Home::new();
        let manager = home.open();
        t0(&manager);
        manager.close().unwrap();
        home.write("0.log", [&overflowing(), tail].concat());
        home.remove("0.index");
        let manager = if is_clean {
            home.open()
        } else {
            home.open_unclean(0)
        };
        let log = t0(&manager);
        assert_eq!(
            segments(&log),
            [(0, 232), (3_000_000_000, 232)],
            "clean {is_clean}"
        );
        assert_eq!(
            (log.end_offset().0, offsets(&log, 0)),
            (3_000_000_010, expected.clone())
        );
        let told = manager
            .report()
            .iter()
            .any(|finding| finding.text.contains("split segment 0"));
        assert!(told, "{:?}", manager.report());
        manager.close().unwrap();
        let manager = home.open();
        assert_eq!(offsets(&t0(&manager), 0), expected);
        append(&t0(&manager), &[rec(NOW, "k", "v")]);
        assert_eq!(manager.report(), []);
    }
}

/// D47: Kafka leaves the old segment beside the new ones.
#[test]
fn d47_the_old_segment_goes_also_when_no_new_one_has_its_base() {
    let home = Home::new();
    let manager = home.open();
    t0(&manager);
    manager.close().unwrap();
    let bytes = overflowing();
    // Without its first two batches the file begins far above its base.
    let shifted = [&bytes[232..348], &v2(6_000_000_000, &[("k", "v")])[..]].concat();
    home.write("0.log", shifted);
    home.remove("0.index");
    let log = t0(&home.open_unclean(0));
    assert_eq!(
        segments(&log)
            .iter()
            .map(|(base, _)| *base)
            .collect::<Vec<_>>(),
        [3_000_000_000, 6_000_000_000]
    );
    assert!(!home.has("0.log"));
    assert_eq!(offsets(&log, log.start_offset().0).len(), 6);
}
