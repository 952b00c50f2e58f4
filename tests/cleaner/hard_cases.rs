//! hard-cases.md HC1-HC10, and other cases of their kinds.

use klog::error::ErrorKind;
use klog::format::batch::BatchHeader;
use klog::format::builder::BatchOptions;
use klog::format::codec::{Codec, Compressor};
use klog::format::legacy::{OldMessage, write_message, write_wrapper};
use klog::log::{AppendOptions, CursorOptions, Isolation, Origin, ReadOptions};
use klog::types::{LeaderEpoch, MAX_RELATIVE_OFFSET, Offset, TimestampMs};

use crate::bench::{Bench, NOW, build, of};
use crate::support::engine::{offsets, read};

/// A pass over a damaged log fails, and leaves it as it was.
fn ensure_refused(bench: &Bench, position: u64) {
    let before = bench.home.read("0.log");
    let error = bench.try_pass(NOW).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CorruptMessage, "{error}");
    assert_eq!(error.position(), Some(position), "{error}");
    assert!(
        error.to_string().contains("00000000000000000000.log"),
        "{error}"
    );
    assert_eq!(bench.home.read("0.log"), before);
    let files = bench.home.files();
    assert!(
        !files
            .iter()
            .any(|name| name.ends_with(".cleaned") || name.ends_with(".swap")),
        "{files:?}"
    );
}

#[test]
fn hc1_a_damaged_batch_is_never_sealed_again() {
    // Wherever the damage is: in a batch that loses a record, in one that stays whole; in a header, a key, a value.
    for (batch, at) in [(0, 30), (0, 70), (0, 80), (1, 25), (1, 66), (1, 70)] {
        let bench = Bench::new();
        bench.plain("a:AAAA b:BBBB c:XXXX");
        bench.plain("a:CCCC");
        bench.roll();
        bench.plain("z:1");
        let position = if batch == 0 {
            0
        } else {
            bench.sizes()[0] as usize
        };
        bench.home.flip("0.log", position + at);
        ensure_refused(&bench, position as u64);
    }
}

/// Offsets lie outside of the checksum: a batch that claims later ones would replace good records.
#[test]
fn hc1_a_batch_that_claims_other_offsets_is_damaged_too() {
    for (batch, byte) in [(0, 3), (0, 7), (1, 3), (1, 7), (2, 3), (2, 6)] {
        let bench = Bench::new();
        for records in ["a:1 b:1", "a:2 b:2", "a:3 b:3"] {
            bench.plain(records);
        }
        bench.roll();
        bench.plain("a:4");
        let sizes = bench.sizes();
        let position: u32 = sizes.iter().take(batch).sum();
        bench.home.flip("0.log", position as usize + byte);
        let before = bench.home.read("0.log");
        let error = bench.try_pass(NOW).unwrap_err();
        assert_eq!(
            error.kind(),
            ErrorKind::CorruptMessage,
            "{batch} {byte}: {error}"
        );
        assert_eq!(bench.home.read("0.log"), before);
    }
}

#[test]
fn hc1_damage_inside_a_wrapper_of_an_old_format_is_found_too() {
    let mut inner = Vec::new();
    for offset in 0..2 {
        let message = OldMessage {
            offset: Offset(offset),
            timestamp: TimestampMs(5),
            key: Some(b"key"),
            value: Some(b"value"),
        };
        write_message(&mut inner, 1, 0, &message);
    }
    // The wrapper's own checksum is good.
    let last = inner.len() - 1;
    inner[last] ^= 1;
    let outer = OldMessage {
        offset: Offset(1),
        timestamp: TimestampMs(5),
        key: None,
        value: None,
    };
    let mut bytes = Vec::new();
    write_wrapper(
        &mut bytes,
        1,
        0,
        Codec::Gzip,
        &outer,
        &inner,
        &mut Compressor::new(),
    )
    .unwrap();
    let bench = Bench::new();
    bench.raw(&bytes);
    bench.plain("a:1");
    bench.roll();
    ensure_refused(&bench, 0);
}

#[test]
fn hc1_a_key_that_damage_made_up_costs_no_good_record() {
    let mut bench = Bench::with(&[("internal.segment.bytes", 100)]);
    bench.plain("c:1");
    bench.roll();
    bench.plain("b:1");
    bench.roll();
    bench.plain("z:1");
    // The key b becomes c: a map that believed it would drop c:1 in the first group.
    let log = bench.home.read("1.log");
    let at = log.iter().rposition(|&byte| byte == b'b').unwrap();
    bench.home.flip("1.log", at);
    assert!(bench.try_pass(NOW).is_err());
    assert!(bench.home.read("0.log").ends_with(b"c\x021\x00"));
    bench.first_dirty = 0;
}

#[test]
fn hc2_markers_are_not_told_apart_by_their_keys() {
    let mut bench = Bench::new();
    for id in 1..=3 {
        bench.txn(id, 0, &format!("x{id}:v"));
        bench.marker(id, id != 2, 0);
    }
    bench.plain("z:1");
    bench.roll();
    assert_eq!(bench.pass(NOW).end.0, 7);
    assert_eq!(
        bench.shape(),
        "{0: T P(1,0) [0..0| 0=x1:v] COMMIT P(1) [1] T P(2,0) n0 [2..2] ABORT P(2) [3] T P(3,0) [4..4| 4=x3:v] COMMIT P(3) [5] [6..6| 6=z:1]}"
    );
    assert_eq!(bench.aborted(), [(0, 2, 2, 3, 4)]);
    assert_eq!(bench.home.read("0.txnindex").len(), 34);
}

#[test]
fn hc3_aborts_above_the_mapped_part_are_known() {
    let mut bench = Bench::new();
    (bench.slots, bench.load_factor) = (4, 0.75);
    for key in ["k0", "k1", "k2", "k3"] {
        bench.plain(&format!("{key}:v"));
    }
    bench.txn(9, 0, "k0:ABORTED");
    bench.abort(9);
    bench.plain("z:1");
    bench.roll();
    let shape = "{0: [0..0| 0=k0:v] [1..1| 1=k1:v] [2..2| 2=k2:v] [3..3| 3=k3:v] T P(9,0) n0 [4..4] ABORT P(9) [5] [6..6| 6=z:1]}";
    for end in [3, 7] {
        assert_eq!(bench.pass(NOW).end.0, end);
        assert_eq!(bench.shape(), shape);
        assert_eq!(bench.aborted(), [(0, 9, 4, 5, 6)]);
        let options = ReadOptions {
            isolation: Isolation::TxnCommitted,
            ..ReadOptions::default()
        };
        let (_, aborted) = bench
            .log
            .read_with_aborted(Offset(4), &mut vec![0; 1000], &options)
            .unwrap();
        assert_eq!(aborted.len(), 1);
    }
}

#[test]
fn hc4_a_tombstone_is_marked_once_and_goes_at_its_horizon() {
    let mut bench = Bench::new();
    for records in ["a:1 b:2", "a:-", "c:9"] {
        bench.plain(records);
    }
    bench.roll();
    bench.pass(NOW);
    let marked = "[0..1| 1=b:2] [2..2| 2=a:-] DH=2001000 [3..3| 3=c:9]";
    assert_eq!(bench.shape(), format!("{{0: {marked}}}"));
    bench.plain("d:1");
    bench.roll();
    bench.pass(NOW + 999);
    assert_eq!(bench.shape(), format!("{{0: {marked} [4..4| 4=d:1]}}"));
    bench.plain("e:1");
    bench.roll();
    bench.pass(NOW + 1000);
    assert_eq!(
        bench.shape(),
        "{0: [0..1| 1=b:2] [3..3| 3=c:9] [4..4| 4=d:1] [5..5| 5=e:1]}"
    );
}

#[test]
fn hc5_a_map_that_is_too_small_still_gets_on() {
    let mut bench = Bench::with(&[("internal.segment.bytes", 2048)]);
    (bench.slots, bench.load_factor) = (4, 0.75);
    for i in 0..10 {
        bench.plain(&format!("k{}:{i}", i % 5));
    }
    bench.roll();
    let ends = [(); 3].map(|()| bench.pass(NOW).end.0);
    assert_eq!(ends, [3, 6, 9]);
    assert!(
        bench.shape().starts_with("{0: [4..4| 4=k4:4]"),
        "{}",
        bench.shape()
    );

    let mut one = Bench::new();
    (one.slots, one.load_factor) = (4, 0.75);
    one.plain("k0:1 k1:1 k2:1 k3:1 k4:1 k5:1 k6:1 k7:1 k8:1 k9:1");
    one.roll();
    let ends = [(); 2].map(|()| one.pass(NOW).end.0);
    assert_eq!(ends, [3, 6]);
}

#[test]
fn hc6_and_d82_the_last_old_message_below_the_high_watermark_becomes_an_empty_batch() {
    for magic in [0, 1] {
        let mut bytes = Vec::new();
        for (offset, key, value) in [(0, Some("a"), "1"), (1, None, "3")] {
            let message = OldMessage {
                offset: Offset(offset),
                timestamp: TimestampMs(1_000_000),
                key: key.map(str::as_bytes),
                value: Some(value.as_bytes()),
            };
            write_message(&mut bytes, magic, 0, &message);
        }
        let mut bench = Bench::new();
        bench.raw(&bytes);
        bench.roll();
        assert_eq!(bench.pass(NOW).end.0, 2);
        let ts = if magic == 0 { "@-1" } else { "" };
        assert_eq!(bench.shape(), format!("{{0: [0..0| 0=a:1{ts}] n0 [1..1]}}"));
    }
}

/// Messages of an old format become batches of the new one: where a batch begins, what it is packed with, what it has no
/// value for.
#[test]
fn hc7_messages_of_old_formats_become_batches_by_their_own_rules() {
    let message = |offset, key, value| OldMessage {
        offset: Offset(offset),
        timestamp: TimestampMs(1_000_000),
        key,
        value,
    };
    let (a, b, c): (&[u8], &[u8], &[u8]) = (b"a", b"b", b"c");
    let first = [
        message(0, Some(a), Some(b"1".as_slice())),
        message(1, Some(b), Some(b"2")),
        message(2, None, Some(b"3")),
    ];
    let second = [
        message(3, Some(a), Some(b"4".as_slice())),
        message(4, Some(c), None),
    ];
    for magic in [0, 1] {
        let ts = if magic == 0 { "@-1" } else { "" };
        let mut plain = Vec::new();
        for old in first.iter().chain(&second) {
            write_message(&mut plain, magic, 0, old);
        }
        let mut packed = Vec::new();
        for group in [&first[..], &second] {
            let mut inner = Vec::new();
            for (i, old) in group.iter().enumerate() {
                // Magic 1 counts from the wrapper.
                let offset = if magic == 0 { old.offset.0 } else { i as i64 };
                write_message(&mut inner, magic, 0, &message(offset, old.key, old.value));
            }
            let last = group[group.len() - 1].offset.0;
            let outer = message(last, None, None);
            let gzip = Codec::Gzip;
            write_wrapper(
                &mut packed,
                magic,
                0,
                gzip,
                &outer,
                &inner,
                &mut Compressor::new(),
            )
            .unwrap();
        }
        for (bytes, kept) in [
            (
                plain,
                [(1, 1, false), (3, 3, false), (4, 4, true)].as_slice(),
            ),
            (packed, [(1, 1, false), (3, 4, true)].as_slice()),
        ] {
            let is_packed = kept.len() == 2;
            let mut bench = Bench::new();
            bench.raw(&bytes);
            bench.plain("z:1");
            bench.roll();
            assert_eq!(bench.pass(NOW).stats.kept_records(), 4, "magic {magic}");
            let (_, stored) = read(&bench.log, 0, 1 << 20).unwrap();
            let mut at = 0;
            for &(base, last, has_horizon) in kept {
                let header = BatchHeader::parse(&stored[at..]).unwrap();
                assert!(header.is_v2(), "magic {magic}");
                assert_eq!((header.base_offset.0, header.last_offset.0), (base, last));
                let attributes = header.attributes;
                assert_eq!(attributes.has_delete_horizon(), has_horizon, "{base}");
                let codec = if is_packed { Codec::Gzip } else { Codec::None };
                assert_eq!(attributes.codec().unwrap(), codec);
                assert_eq!((header.leader_epoch.0, header.producer_id.0), (-1, -1));
                at += header.size_bytes as usize;
            }
            let shape = bench.shape();
            assert!(shape.contains(&format!("1=b:2{ts}")), "{shape}");
            assert!(shape.contains(&format!("3=a:4{ts}")), "{shape}");
        }
    }
}

#[test]
fn hc8_what_is_empty_is_known_to_producers_and_readers() {
    let mut bench = Bench::new();
    bench.idem(5, 0, "a:1");
    bench.idem(5, 1, "a:2 b:1");
    bench.plain("a:3 b:3");
    bench.roll();
    bench.pass(NOW);
    assert_eq!(bench.shape(), "{0: P(5,1) n0 [1..2] [3..4| 3=a:3 4=b:3]}");
    // At a time when the producer is not forgotten.
    bench.home.clock.set(TimestampMs(NOW));
    bench.reopen();
    // The same batch again is a repetition.
    let again = build("a:2 b:1", &of(5, 1, false), None);
    let options = AppendOptions {
        origin: Origin::Client,
        ..AppendOptions::default()
    };
    let repeated = bench.log.append_batches(&again, &options).unwrap();
    assert_eq!(
        (repeated.first_offset, repeated.last_offset),
        (Offset(1), Offset(2))
    );
    assert_eq!(bench.log.end_offset(), Offset(5));
    let (first, _) = read(&bench.log, 0, 100).unwrap();
    assert_eq!((first.batches, first.next_offset), (1, Offset(3)));
    let mut cursor = bench.log.cursor(Offset::ZERO, CursorOptions::default());
    let records = cursor.next_records(10).unwrap();
    let offsets: Vec<i64> = records.iter().map(|record| record.offset.0).collect();
    assert_eq!(offsets, [3, 4]);
}

#[test]
fn hc9_groups_span_no_more_than_31_bits() {
    let m = i64::from(MAX_RELATIVE_OFFSET);
    for (n, expected) in [
        (
            m + 1,
            "{0: [0..0| 0=a:1] [10..10| 10=b:1]} {N: [N..N| N=c:1]}",
        ),
        (
            m + 2,
            "{0: [0..0| 0=a:1]} {10: [10..10| 10=b:1] [N..N| N=c:1]}",
        ),
    ] {
        let mut bench = Bench::new();
        bench.manager.close().unwrap();
        for (base, record) in [(0, "a:1"), (10, "b:1"), (n, "c:1"), (n + 5, "z:1")] {
            let options = BatchOptions {
                base_offset: Offset(base),
                leader_epoch: LeaderEpoch(0),
                ..BatchOptions::default()
            };
            bench
                .home
                .write(&format!("{base}.log"), build(record, &options, None));
        }
        bench.home.forget_marker();
        bench.load();
        bench.pass(NOW);
        assert_eq!(bench.shape(), expected.replace('N', &n.to_string()));
    }
}

#[test]
fn hc9_and_d83_output_that_outgrows_a_segment_goes_on_in_another() {
    let mut bench = Bench::new();
    for i in 0..6 {
        bench.plain(&format!("a{i}:1 b{i}:1"));
    }
    bench.plain("a0:2");
    bench.roll();
    bench.plain("z:1");
    bench.segment_bytes_max = 170;
    bench.pass(NOW);
    let segments = bench.log.segments();
    let sizes: Vec<u64> = segments
        .iter()
        .map(|segment| segment.size_bytes())
        .collect();
    assert!(
        segments.len() > 3 && sizes.iter().all(|&size| size <= 170),
        "{sizes:?}"
    );
    let shape = bench.shape();
    bench.reopen();
    assert_eq!(bench.shape(), shape);
    let offsets = offsets(&bench.log, 0);
    assert_eq!(offsets, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]);
}

#[test]
fn d87_a_pass_over_nothing_moves_nothing() {
    let mut bench = Bench::new();
    bench.plain("a:1");
    bench.plain("a:2");
    bench.roll();
    assert_eq!(bench.pass(NOW).end.0, 2);
    let cleaned = bench.pass(NOW);
    assert_eq!((cleaned.end.0, cleaned.stats.read_bytes), (2, 0));
}
