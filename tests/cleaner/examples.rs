//! cleaner.md 12, example by example.

use klog::cleaner::filter::Fate;
use klog::format::builder::BatchOptions;
use klog::format::codec::{Codec, Compressor};
use klog::format::legacy::{OldMessage, write_message, write_wrapper};
use klog::types::{LeaderEpoch, Offset, TimestampMs};

use crate::bench::{Bench, NOW, TS, build, of, parse};

#[test]
fn cleaner_md_12_1_dedupe() {
    let mut bench = Bench::new();
    bench.plain("a:1 b:1");
    bench.plain("a:2");
    bench.roll();
    bench.plain("b:2");
    let cleaned = bench.pass(NOW);
    assert_eq!(bench.shape(), "{0: [0..1| 1=b:1] [2..2| 2=a:2]}");
    assert_eq!(bench.sizes(), [70, 70]);
    let stats = cleaned.stats;
    assert_eq!((cleaned.end.0, stats.map_keys), (3, 2));
    assert_eq!((stats.read_records, stats.read_bytes), (3, 149));
    assert_eq!((stats.kept_records(), stats.written_bytes), (2, 140));
}

#[test]
fn cleaner_md_12_2_a_tombstone_goes_at_its_horizon() {
    let mut bench = Bench::new();
    bench.plain("a:1 b:1");
    bench.plain("a:- c:1");
    bench.roll();
    bench.plain("z:1");
    bench.pass(NOW);
    let kept = "{0: [0..1| 1=b:1] [2..3| 2=a:- 3=c:1] DH=2001000}";
    assert_eq!(bench.shape(), kept);
    assert_eq!(bench.sizes(), [70, 82]);
    bench.again(2_000_500);
    assert_eq!(bench.shape(), kept);
    bench.again(2_001_000);
    assert_eq!(bench.shape(), "{0: [0..1| 1=b:1] [2..3| 3=c:1] DH=2001000}");
    assert_eq!(bench.sizes(), [70, 72]);
}

#[test]
fn cleaner_md_12_3_records_without_a_key_go() {
    let mut bench = Bench::new();
    bench.plain("null:1 a:1 null:2");
    bench.plain("null:3");
    bench.roll();
    bench.plain("z:1");
    let cleaned = bench.pass(NOW);
    assert_eq!(bench.shape(), "{0: [0..2| 1=a:1]}");
    assert_eq!(
        (cleaned.end.0, cleaned.stats.records(Fate::DropNoKey)),
        (4, 3)
    );
}

#[test]
fn cleaner_md_12_4_an_aborted_transaction_goes_bit_by_bit() {
    let mut bench = Bench::new();
    bench.txn(7, 0, "a:1 b:1");
    bench.plain("a:0");
    bench.txn(7, 2, "c:1");
    bench.abort(7);
    bench.roll();
    bench.plain("z:1");
    let kept = "{0: [2..2| 2=a:0] T P(7,2) n0 [3..3] ABORT P(7) [4]}";
    for now in [NOW, NOW + 1000, NOW + 2000] {
        bench.again(now);
        assert_eq!(bench.shape(), kept);
        assert_eq!(bench.sizes(), [70, 61, 78]);
        assert_eq!(bench.aborted(), [(0, 7, 0, 4, 5)]);
    }
    bench.expire();
    bench.again(2_004_000);
    assert_eq!(bench.shape(), "{0: [2..2| 2=a:0] ABORT P(7) [4]}");
    assert_eq!(bench.aborted(), [(0, 7, 0, 4, 5)]);
    bench.again(2_005_000);
    assert_eq!(
        bench.shape(),
        "{0: [2..2| 2=a:0] ABORT P(7) [4] DH=2006000}"
    );
    assert_eq!((bench.sizes(), bench.aborted()), (vec![70, 80], vec![]));
    bench.again(2_006_000);
    assert_eq!(bench.shape(), "{0: [2..2| 2=a:0]}");
}

#[test]
fn cleaner_md_12_5_a_commit_marker_goes_after_its_data() {
    let mut bench = Bench::new();
    bench.txn(7, 0, "a:1 b:1");
    bench.commit(7);
    bench.plain("a:2 b:2");
    bench.txn(7, 2, "d:1");
    bench.commit(7);
    bench.roll();
    bench.plain("z:1");
    bench.pass(NOW);
    let rest = "[3..4| 3=a:2 4=b:2] T P(7,2) [5..5| 5=d:1] COMMIT P(7) [6]}";
    assert_eq!(bench.shape(), format!("{{0: COMMIT P(7) [2] {rest}"));
    bench.again(2_000_100);
    let dated = format!("{{0: COMMIT P(7) [2] DH=2001100 {rest}");
    assert_eq!(bench.shape(), dated);
    bench.again(2_001_099);
    assert_eq!(bench.shape(), dated);
    bench.again(2_001_100);
    assert_eq!(bench.shape(), format!("{{0: {rest}"));
}

#[test]
fn cleaner_md_12_6_a_marker_without_data_stays_as_an_empty_batch() {
    let mut bench = Bench::new();
    bench.marker(9, true, 3);
    bench.plain("a:2");
    bench.roll();
    bench.plain("z:1");
    bench.pass(NOW);
    assert_eq!(
        bench.shape(),
        "{0: COMMIT P(9) [0] DH=2001000 [1..1| 1=a:2]}"
    );
    bench.again(2_002_000);
    assert_eq!(bench.shape(), "{0: C T P(9,-1) n0 [0..0] [1..1| 1=a:2]}");
    assert_eq!(bench.sizes(), [61, 70]);
    bench.again(2_009_000);
    assert_eq!(bench.sizes(), [61, 70]);
}

#[test]
fn cleaner_md_12_7_nothing_of_an_open_transaction_is_touched() {
    let mut bench = Bench::new();
    bench.plain("a:1");
    bench.plain("a:2");
    bench.roll();
    bench.txn(7, 0, "b:1");
    bench.roll();
    bench.plain("b:2");
    bench.roll();
    bench.plain("z:1");
    assert_eq!(bench.pass(NOW).end.0, 2);
    assert_eq!(
        bench.shape(),
        "{0: [1..1| 1=a:2]} {2: T P(7,0) [2..2| 2=b:1]} {3: [3..3| 3=b:2]}"
    );
}

#[test]
fn cleaner_md_12_8_an_open_transaction_inside_a_segment_holds_all_of_it() {
    let mut bench = Bench::new();
    bench.plain("a:1");
    bench.roll();
    bench.plain("a:2");
    bench.txn(7, 0, "b:1");
    bench.roll();
    bench.plain("z:1");
    assert_eq!(bench.pass(NOW).end.0, 1);
    assert_eq!(
        bench.shape(),
        "{0: [0..0| 0=a:1]} {1: [1..1| 1=a:2] T P(7,0) [2..2| 2=b:1]}"
    );
}

#[test]
fn cleaner_md_12_9_a_full_map_takes_two_rounds() {
    let mut bench = Bench::with(&[("delete.retention.ms", 86_400_000)]);
    (bench.slots, bench.load_factor) = (5, 0.9);
    bench.plain("a:1 b:1 c:1");
    bench.plain("a:2 d:1 e:1 a:3");
    bench.roll();
    bench.plain("b:2 c:-");
    bench.roll();
    bench.plain("z:1");
    assert_eq!(bench.pass(NOW).end.0, 5);
    assert_eq!(
        bench.shape(),
        "{0: [0..2| 1=b:1 2=c:1] [3..6| 3=a:2 4=d:1 5=e:1 6=a:3]} {7: [7..8| 7=b:2 8=c:-]}"
    );
    assert_eq!(bench.pass(NOW + 1).end.0, 9);
    assert_eq!(
        bench.shape(),
        "{0: [3..6| 4=d:1 5=e:1 6=a:3] [7..8| 7=b:2 8=c:-] DH=88400001}"
    );
}

#[test]
fn cleaner_md_12_10_a_tombstone_that_is_not_mapped_yet_gets_its_horizon() {
    let mut bench = Bench::new();
    (bench.slots, bench.load_factor) = (4, 0.75);
    for records in ["a:1 b:1 c:1", "d:1", "a:-"] {
        bench.plain(records);
    }
    bench.roll();
    bench.plain("z:1");
    assert_eq!(bench.pass(NOW).end.0, 3);
    assert_eq!(
        bench.shape(),
        "{0: [0..2| 0=a:1 1=b:1 2=c:1] [3..3| 3=d:1] [4..4| 4=a:-] DH=2001000}"
    );
    bench.pass(2_001_500);
    assert_eq!(bench.shape(), "{0: [0..2| 1=b:1 2=c:1] [3..3| 3=d:1]}");
}

#[test]
fn cleaner_md_12_11_the_last_batch_of_a_producer_stays() {
    let mut bench = Bench::new();
    bench.idem(5, 0, "a:1 b:1");
    bench.idem(5, 2, "a:2 b:2 c:2");
    bench.plain("a:3 b:3 c:3");
    bench.roll();
    bench.plain("z:1");
    bench.pass(NOW);
    assert_eq!(
        bench.shape(),
        "{0: P(5,2) n0 [2..4] [5..7| 5=a:3 6=b:3 7=c:3]}"
    );
    assert_eq!(bench.sizes().first(), Some(&61));
}

#[test]
fn cleaner_md_12_12_sequences_of_kept_records_do_not_change() {
    let mut bench = Bench::new();
    bench.idem(5, 10, "a:1 b:1 c:1 d:1");
    bench.idem(6, i32::MAX, "x:1 y:1");
    bench.plain("a:3 d:3 x:2");
    bench.roll();
    bench.plain("z:1");
    bench.pass(NOW);
    assert_eq!(
        bench.shape(),
        "{0: P(5,10) [0..3| 1=b:1 2=c:1] P(6,2147483647) [4..5| 5=y:1] [6..8| 6=a:3 7=d:3 8=x:2]}"
    );
}

#[test]
fn cleaner_md_12_13_what_is_compressed_stays_so() {
    let mut bench = Bench::new();
    bench.packed(Codec::Gzip, "a:1@1000 b:1@900 c:1@1100");
    bench.packed(Codec::Zstd, "d:1@1000 e:1@900");
    bench.packed(Codec::Lz4, "a:3@1000 c:3@999");
    bench.roll();
    bench.plain("z:1");
    let before = bench.sizes();
    bench.pass(NOW);
    assert_eq!(
        bench.shape(),
        "{0: gzip [0..2| 1=b:1@900] zstd [3..4| 3=d:1@1000 4=e:1@900] lz4 [5..6| 5=a:3@1000 6=c:3@999]}"
    );
    assert_eq!(bench.sizes().get(1..), before.get(1..));
}

#[test]
fn cleaner_md_12_14_the_time_of_the_append_is_every_records() {
    let mut bench = Bench::new();
    let appended = |ts| BatchOptions {
        log_append_time: Some(TimestampMs(ts)),
        ..BatchOptions::default()
    };
    bench.batch("a:1 b:1", &appended(TS));
    bench.batch("a:2 c:-", &appended(TS + 10));
    bench.roll();
    bench.plain("z:1");
    bench.pass(NOW);
    assert_eq!(
        bench.shape(),
        "{0: [0..1| 1=b:1] [2..3| 2=a:2@1000010 3=c:-@1000010] DH=2001000}"
    );
}

#[test]
fn cleaner_md_12_15_segments_of_which_nothing_is_left_stay_until_they_are_merged() {
    let mut bench = Bench::with(&[("internal.segment.bytes", 100)]);
    for records in ["a:1", "a:2", "a:3"] {
        bench.plain(records);
        bench.roll();
    }
    bench.pass(NOW);
    assert_eq!(bench.shape(), "{0:} {1:} {2: [2..2| 2=a:3]}");
    bench.again(NOW);
    assert_eq!(bench.shape(), "{0: [2..2| 2=a:3]}");
}

#[test]
fn cleaner_md_12_16_segments_that_do_not_fit_together_stay_apart() {
    let mut bench = Bench::with(&[("internal.segment.bytes", 150)]);
    for records in ["k:0 l:0", "m:0 n:0"] {
        bench.plain(records);
        bench.plain(records.replace(":0", ":1").split(' ').next().unwrap());
        bench.roll();
    }
    bench.pass(NOW);
    assert_eq!(
        bench.shape(),
        "{0: [0..1| 1=l:0] [2..2| 2=k:1]} {3: [3..4| 4=n:0] [5..5| 5=m:1]}"
    );
}

#[test]
fn cleaner_md_12_17_gaps_are_passed_over() {
    let mut bench = Bench::new();
    bench.plain("a:1");
    bench.roll();
    bench.plain_at(15, "b:1");
    bench.roll();
    bench.plain_at(30, "z:1");
    // The active segment began at 16, where the log ended then.
    let end = bench.log.segments().last().unwrap().base_offset().0;
    assert_eq!(bench.pass(NOW).end.0, end);
    assert_eq!(bench.shape(), "{0: [0..0| 0=a:1] [15..15| 15=b:1]}");
}

fn old(magic: i8, offset: i64, record: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    message(&mut bytes, magic, offset, record);
    bytes
}

fn message(bytes: &mut Vec<u8>, magic: i8, offset: i64, record: &str) {
    let (key, value, ts) = parse(record);
    let message = OldMessage {
        offset: Offset(offset),
        timestamp: TimestampMs(ts),
        key: key.map(str::as_bytes),
        value: value.map(str::as_bytes),
    };
    write_message(bytes, magic, 0, &message);
}

/// A wrapper of magic 0 or 1 with gzip, from `base` on.
fn wrapper(magic: i8, base: i64, records: &[&str], attributes: u8, time: i64) -> Vec<u8> {
    let mut inner = Vec::new();
    for (i, record) in (0..).zip(records) {
        let offset = if magic == 1 { i } else { base + i };
        message(&mut inner, magic, offset, record);
    }
    let outer = OldMessage {
        offset: Offset(base + records.len() as i64 - 1),
        timestamp: TimestampMs(time),
        key: None,
        value: None,
    };
    let mut bytes = Vec::new();
    let mut compressor = Compressor::new();
    write_wrapper(
        &mut bytes,
        magic,
        attributes,
        Codec::Gzip,
        &outer,
        &inner,
        &mut compressor,
    )
    .unwrap();
    bytes
}

#[test]
fn cleaner_md_12_20_old_formats_become_the_new_one() {
    let mut bench = Bench::new();
    for (offset, record) in [(0, "a:1"), (1, "b:1"), (2, "c:1")] {
        bench.raw(&old(0, offset, record));
    }
    bench.raw(&wrapper(1, 3, &["d:1@50", "a:2@40", "e:1@60"], 0, 60));
    bench.raw(&old(1, 6, "d:-@70"));
    bench.raw(&wrapper(0, 7, &["f:1", "g:1"], 0, -1));
    bench.roll();
    bench.plain("z:1");
    bench.pass(NOW);
    assert_eq!(
        bench.shape(),
        "{0: [1..1| 1=b:1@-1] [2..2| 2=c:1@-1] gzip [4..5| 4=a:2@40 5=e:1@60] [6..6| 6=d:-@70] DH=2001000 gzip [7..8| 7=f:1@-1 8=g:1@-1]}"
    );
    assert_eq!(
        (bench.sizes().first(), bench.sizes().get(3)),
        (Some(&70), Some(&72))
    );
}

#[test]
fn cleaner_md_12_21_old_formats_are_converted_where_nothing_goes_too() {
    let mut bench = Bench::new();
    bench.raw(&old(1, 0, "d:0@50"));
    bench.roll();
    bench.raw(&wrapper(1, 1, &["a:1", "b:1", "e:1"], 8, TS));
    bench.plain("e:2");
    bench.roll();
    bench.first_dirty = 1;
    bench.pass(NOW);
    assert_eq!(
        bench.shape(),
        "{0: [0..0| 0=d:0@50] gzip [1..2| 1=a:1 2=b:1] [4..4| 4=e:2]}"
    );
}

#[test]
fn cleaner_md_12_22_a_tombstone_of_an_old_format_goes_by_the_time_of_its_segment() {
    for (horizon_ago, expected) in [
        (
            0,
            "{0: [0..0| 0=a:1] [1..1| 1=a:-] DH=2001000 [2..2| 2=b:1]}",
        ),
        (1000, "{0: [0..0| 0=a:1] [2..2| 2=b:1]}"),
    ] {
        let mut bench = Bench::new();
        bench.raw(&[old(1, 0, "a:1"), old(1, 1, "a:-")].concat());
        bench.roll();
        bench.plain("b:1");
        bench.roll();
        bench.modified(0, 10_000_000 - horizon_ago);
        // A younger clean segment moves the horizon up.
        bench.modified(2, 10_000_000);
        bench.first_dirty = 2;
        if horizon_ago > 0 {
            bench.plain("c:1");
            bench.roll();
            bench.first_dirty = 3;
        }
        bench.pass(NOW);
        let shape = bench.shape().replace(" [3..3| 3=c:1]", "");
        assert_eq!(shape, expected);
    }
}

#[test]
fn cleaner_md_12_24_the_last_batch_below_the_high_watermark_stays_empty() {
    let mut bench = Bench::new();
    bench.plain("a:1");
    bench.plain("null:2");
    bench.roll();
    assert_eq!(bench.pass(NOW).end.0, 2);
    assert_eq!(bench.shape(), "{0: [0..0| 0=a:1] n0 [1..1]}");
    bench.plain("b:1");
    bench.plain("c:1");
    bench.roll();
    bench.pass(NOW);
    assert_eq!(
        bench.shape(),
        "{0: [0..0| 0=a:1] [2..2| 2=b:1] [3..3| 3=c:1]}"
    );
}

#[test]
fn cleaner_md_12_27_a_transaction_over_several_groups() {
    let mut bench = Bench::with(&[("internal.segment.bytes", 160)]);
    bench.txn(7, 0, "x:a");
    bench.txn(7, 1, "y:b");
    bench.roll();
    bench.txn(7, 2, "v:c");
    bench.plain("a:9");
    bench.roll();
    bench.abort(7);
    bench.plain("z:1");
    bench.roll();
    bench.pass(NOW);
    assert_eq!(
        bench.shape(),
        "{0:} {2: T P(7,2) n0 [2..2] [3..3| 3=a:9]} {4: ABORT P(7) [4] [5..5| 5=z:1]}"
    );
    assert_eq!(bench.aborted(), [(4, 7, 0, 4, 5)]);
}

#[test]
fn cleaner_md_12_28_interleaved_transactions() {
    let mut bench = Bench::new();
    bench.txn(1, 0, "a:1");
    bench.txn(2, 0, "b:1");
    bench.txn(1, 1, "c:1");
    bench.abort(2);
    bench.commit(1);
    bench.plain("b:2");
    bench.roll();
    bench.plain("z:1");
    bench.pass(NOW);
    assert_eq!(
        bench.shape(),
        "{0: T P(1,0) [0..0| 0=a:1] T P(2,0) n0 [1..1] T P(1,1) [2..2| 2=c:1] ABORT P(2) [3] COMMIT P(1) [4] [5..5| 5=b:2]}"
    );
    assert_eq!(bench.aborted(), [(0, 2, 1, 3, 0)]);
}

#[test]
fn cleaner_md_12_29_an_aborted_record_replaces_nothing() {
    let mut bench = Bench::new();
    bench.plain("a:1");
    bench.txn(7, 0, "a:2");
    bench.abort(7);
    bench.roll();
    bench.plain("z:1");
    bench.pass(NOW);
    assert_eq!(
        bench.shape(),
        "{0: [0..0| 0=a:1] T P(7,0) n0 [1..1] ABORT P(7) [2]}"
    );
}

#[test]
fn cleaner_md_12_30_control_batches_of_kraft_stay_for_ever() {
    let mut bench = Bench::with(&[("delete.retention.ms", 0)]);
    let control = BatchOptions {
        control: true,
        leader_epoch: LeaderEpoch(0),
        ..BatchOptions::default()
    };
    let mut builder = klog::format::builder::BatchBuilder::new();
    let key: &[u8] = &[0, 0, 0, 2];
    builder
        .push(TimestampMs(TS), Some(key), Some(b"x"), [].into_iter())
        .unwrap();
    let bytes = builder.finish(&control).unwrap().to_vec();
    bench.raw(&bytes);
    bench.plain("a:1");
    bench.roll();
    for pass in 0..3 {
        bench.again(NOW + 10_000 * pass);
        assert_eq!(bench.shape(), "{0: CONTROL P(-1) [0] [1..1| 1=a:1]}");
        assert_eq!(
            bench.home.read("0.log").get(..bytes.len()),
            Some(&bytes[..])
        );
    }
}

#[test]
fn cleaner_md_12_34_a_huge_batch_is_cleaned_and_a_torn_one_is_not() {
    let mut bench = Bench::with(&[("internal.segment.bytes", 100_000)]);
    bench.plain("a:1");
    bench.plain(&format!("a:{}", "x".repeat(5000)));
    bench.plain(&format!("b:{}", "y".repeat(70_000)));
    bench.roll();
    bench.pass(NOW);
    assert_eq!(bench.sizes().len(), 2);
    bench.plain("c:1");
    bench.roll();
    // The end of the segment is gone, behind the library's back.
    let size = bench.home.read("0.log").len();
    bench.home.cut("0.log", size - 10);
    let before = bench.home.read("0.log");
    assert!(bench.try_pass(NOW).is_err());
    assert_eq!(bench.home.read("0.log"), before);
    assert!(
        bench
            .home
            .files()
            .iter()
            .all(|name| !name.ends_with(".cleaned"))
    );
}

#[test]
fn cleaner_md_12_35_a_horizon_stays_once_it_is_set() {
    let mut bench = Bench::new();
    bench.plain("a:- b:1 c:1");
    bench.roll();
    bench.pass(NOW);
    assert_eq!(bench.shape(), "{0: [0..2| 0=a:- 1=b:1 2=c:1] DH=2001000}");
    bench.plain("b:2");
    bench.roll();
    bench.pass(2_000_400);
    assert!(
        bench
            .shape()
            .starts_with("{0: [0..2| 0=a:- 2=c:1] DH=2001000")
    );
    bench.plain("a:2");
    bench.roll();
    bench.pass(2_000_500);
    assert!(bench.shape().starts_with("{0: [0..2| 2=c:1] DH=2001000"));
}

#[test]
fn cleaner_md_12_36_times_beside_a_horizon() {
    let mut bench = Bench::new();
    bench.plain("a:1@5000 b:-@3000 c:1@9000");
    bench.plain("x:-@-1");
    bench.plain("c:2");
    bench.roll();
    bench.pass(NOW);
    assert_eq!(
        bench.shape(),
        "{0: [0..2| 0=a:1@5000 1=b:-@3000] DH=2001000 [3..3| 3=x:-@-1] DH=2001000 [4..4| 4=c:2]}"
    );
    // With no time to wait the tombstone stays for one pass all the same.
    let mut hasty = Bench::with(&[("delete.retention.ms", 0)]);
    hasty.plain("a:1");
    hasty.plain("a:-");
    hasty.roll();
    hasty.plain("z:1");
    hasty.pass(NOW);
    assert_eq!(hasty.shape(), "{0: [1..1| 1=a:-] DH=2000000}");
    hasty.again(NOW);
    assert_eq!(hasty.shape(), "{0:}");
}

#[test]
fn what_a_cleaned_log_had_before_it_has_after_a_restart() {
    let mut bench = Bench::new();
    bench.txn(7, 0, "a:1");
    bench.batch("b:1", &of(5, 0, false));
    bench.abort(7);
    bench.plain("a:- c:1");
    bench.raw(&build(
        "d:-",
        &BatchOptions {
            base_offset: Offset(5),
            leader_epoch: LeaderEpoch(0),
            ..BatchOptions::default()
        },
        Some(NOW + 5),
    ));
    bench.roll();
    bench.pass(NOW);
    let (shape, aborted) = (bench.shape(), bench.aborted());
    bench.reopen();
    assert_eq!((bench.shape(), bench.aborted()), (shape, aborted));
    assert!(bench.home.is_clean() || bench.manager.report().is_empty());
}

#[test]
fn cleaner_md_12_26_a_pass_that_begins_inside_a_segment_may_take_committed_data_for_aborted() {
    let mut bench = Bench::with(&[("index.interval.bytes", 60)]);
    bench.txn(7, 0, "x:1");
    bench.abort(7);
    for records in ["p:1", "p:2", "p:3"] {
        bench.plain(records);
    }
    bench.txn(7, 1, "a:1");
    bench.commit(7);
    bench.txn(7, 2, "a:2");
    bench.commit(7);
    bench.roll();
    bench.plain("z:1");
    bench.first_dirty = 4;
    let cleaned = bench.pass(NOW);
    assert_eq!(cleaned.stats.map_keys, 1);
    // Kafka's quirk keeps an old value, and loses none.
    assert_eq!(
        bench.shape(),
        "{0: ABORT P(7) [1] [4..4| 4=p:3] T P(7,1) [5..5| 5=a:1] COMMIT P(7) [6] T P(7,2) [7..7| 7=a:2] COMMIT P(7) [8]}"
    );
    assert_eq!(bench.aborted(), [(0, 7, 0, 1, 2)]);
}

/// An overflowing segment, which old versions of Kafka wrote: klog splits it when it is loaded, Kafka's cleaner when it meets it.
#[test]
fn cleaner_md_12_19_an_overflowing_segment_is_cleaned_in_parts() {
    for is_clean in [true, false] {
        let mut bench = Bench::new();
        bench.plain("a:1");
        bench.roll();
        let far = i64::from(klog::types::MAX_RELATIVE_OFFSET) + 10;
        bench.batch(
            "z:1",
            &BatchOptions {
                base_offset: Offset(far + 1),
                ..BatchOptions::default()
            },
        );
        bench.manager.close().unwrap();
        let options = BatchOptions {
            base_offset: Offset(far),
            leader_epoch: LeaderEpoch(0),
            ..BatchOptions::default()
        };
        bench.home.extend("0.log", &build("a:2", &options, None));
        for name in ["0.index", "0.timeindex"] {
            let _ = std::fs::remove_file(bench.home.path(name));
        }
        if !is_clean {
            bench.home.forget_marker();
            bench.home.checkpoint("recovery-point-offset-checkpoint", 0);
        }
        bench.load();
        assert_eq!(bench.pass(NOW).end.0, far + 1);
        assert_eq!(
            bench.shape(),
            format!("{{0:}} {{{far}: [{far}..{far}| {far}=a:2]}}")
        );
    }
}
