//! What a log gives of what lies in it, also where it is not understood. log.md 2.12, 5, hard-cases.md HC34.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a failure fails the test"
)]

mod support;

use std::sync::Arc;

use klog::error::ErrorKind;
use klog::format::batch;
use klog::log::{AppendOptions, CursorOptions, FirstBatch, Log, ReadOptions};
use klog::types::Offset;

use support::engine::{Home, NOW, append, fill, five, offsets, read, rec, scan, t0, v2};

#[test]
fn log_md_5_reads_begin_with_the_batch_that_holds_the_offset() {
    let home = Home::new();
    let log = t0(&home.open());
    append(&log, &five(1000));
    append(&log, &five(1001));
    let (result, bytes) = read(&log, 7, 1 << 20).unwrap();
    assert_eq!(
        (result.first_offset.0, result.next_offset.0, result.position),
        (5, 10, 116)
    );
    assert_eq!((result.batches, bytes.len()), (1, 116));
    let (all, _) = read(&log, 0, 1 << 20).unwrap();
    assert_eq!((all.batches, all.bytes, all.next_offset.0), (2, 232, 10));
}

#[test]
fn log_md_5_1_and_5_2_outside_of_the_log_is_out_of_range_and_its_end_is_empty() {
    let home = Home::new();
    let manager = home.open();
    append(&t0(&manager), &five(1000));
    manager.close().unwrap();
    home.start_checkpoint(2);
    let log = t0(&home.open());
    for outside in [-1, 0, 1, 6, i64::MAX] {
        assert_eq!(
            read(&log, outside, 100).unwrap_err().kind(),
            ErrorKind::OffsetOutOfRange,
            "{outside}"
        );
    }
    let (at_end, _) = read(&log, 5, 100).unwrap();
    assert_eq!((at_end.bytes, at_end.next_offset.0), (0, 5));
    // The batch that holds the start is given whole; a cursor passes over what lies below.
    let (first, _) = read(&log, 2, 100).unwrap();
    assert_eq!(first.first_offset.0, 0);
    assert_eq!(offsets(&log, 2), [2, 3, 4]);
}

#[test]
fn log_md_2_12_whole_batches_up_to_the_limit_and_the_first_in_any_case() {
    let home = Home::new();
    let log = t0(&home.open());
    fill(&log, 5);
    let give = |max_bytes, first_batch| {
        let mut buffer = vec![0; 1000];
        let result = log
            .read(
                Offset(1),
                &mut buffer,
                &ReadOptions {
                    max_bytes,
                    first_batch,
                    ..ReadOptions::default()
                },
            )
            .unwrap();
        (result.batches, result.bytes, result.is_first_larger)
    };
    assert_eq!(give(1000, FirstBatch::Always), (4, 288, false));
    assert_eq!(give(216, FirstBatch::Always), (3, 216, false));
    assert_eq!(give(215, FirstBatch::Always), (2, 144, false));
    assert_eq!(give(71, FirstBatch::Always), (1, 72, false));
    assert_eq!(give(0, FirstBatch::Always), (1, 72, false));
    assert_eq!(give(72, FirstBatch::IfItFits), (1, 72, false));
    assert_eq!(give(71, FirstBatch::IfItFits), (0, 0, true));
    assert_eq!(give(0, FirstBatch::IfItFits), (0, 0, false));
}

#[test]
fn a_buffer_too_small_for_the_first_batch_is_told_what_it_needs() {
    let home = Home::new();
    let log = t0(&home.open());
    append(&log, &five(1000));
    let error = log
        .read(Offset(0), &mut [0; 115], &ReadOptions::default())
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.position()),
        (ErrorKind::BufferTooSmall, Some(116))
    );
}

#[test]
fn log_md_5_3_a_read_gives_one_segment_and_the_next_goes_on() {
    let home = Home::new().set("internal.segment.bytes", 144);
    let log = t0(&home.open());
    fill(&log, 5);
    let mut next = 0;
    let mut seen = Vec::new();
    while next < 5 {
        let (result, _) = read(&log, next, 1 << 20).unwrap();
        seen.push((result.segment_base_offset.0, result.bytes));
        next = result.next_offset.0;
    }
    assert_eq!(seen, [(0, 144), (2, 144), (4, 72)]);
}

#[test]
fn a_cursor_goes_on_where_it_was_also_inside_a_batch_and_after_new_appends() {
    let home = Home::new();
    let log = t0(&home.open());
    append(&log, &five(1000));
    let mut cursor = log.cursor(Offset(1), CursorOptions::default());
    let take = |cursor: &mut klog::log::Cursor, max| {
        cursor
            .next_records(max)
            .unwrap()
            .iter()
            .map(|r| r.offset.0)
            .collect::<Vec<_>>()
    };
    assert_eq!(take(&mut cursor, 2), [1, 2]);
    assert_eq!(cursor.position(), Offset(3));
    assert_eq!(take(&mut cursor, 9), [3, 4]);
    assert_eq!(take(&mut cursor, 9), [0; 0]);
    append(&log, &five(1001));
    assert_eq!(take(&mut cursor, 9), [5, 6, 7, 8, 9]);
    cursor.seek(Offset(3));
    assert_eq!(take(&mut cursor, 9), [3, 4, 5, 6, 7, 8, 9]);
}

/// What is done to a batch.
type Change<'a> = &'a dyn Fn(&mut Vec<u8>);

/// fill(2), then a batch on disk that nobody understands, then one more; loaded unclean.
fn with_a_strange_batch(change: impl Fn(&mut Vec<u8>)) -> (Home, Vec<u8>, Arc<Log>) {
    let home = Home::new();
    let manager = home.open();
    fill(&t0(&manager), 2);
    manager.close().unwrap();
    let mut strange = v2(2, &[("k", "v")]);
    change(&mut strange);
    home.extend("0.log", &strange);
    let log = t0(&home.open_unclean(0));
    assert_eq!(log.end_offset().0, 3, "the batch counts as valid");
    append(&log, &[rec(NOW, "behind", "it")]);
    (home, strange, log)
}

#[test]
fn hc34_unknown_codecs_and_magics_on_disk_are_kept_given_as_they_are_and_an_error_once() {
    let unknown_codec = |bytes: &mut Vec<u8>| {
        bytes[22] |= 7;
        batch::seal(bytes);
    };
    let unknown_magic = |bytes: &mut Vec<u8>| bytes[16] = 3;
    let both: [(&str, ErrorKind, Change<'_>); 2] = [
        (
            "codec 7",
            ErrorKind::UnsupportedCompressionType,
            &unknown_codec,
        ),
        ("magic 3", ErrorKind::InvalidRecord, &unknown_magic),
    ];
    for (what, kind, change) in both {
        let (home, strange, log) = with_a_strange_batch(change);
        // Raw: both, as they are stored.
        let (result, bytes) = read(&log, 2, 1 << 20).unwrap();
        assert_eq!((result.batches, result.first_offset.0), (2, 2), "{what}");
        assert_eq!(bytes[..strange.len()], strange, "{what}");
        // Decoded: an error for that batch, once, and on with the next.
        let found = scan(&log, 0);
        let records: Vec<i64> = found
            .iter()
            .filter_map(|r| Some(r.as_ref().ok()?.0))
            .collect();
        assert_eq!(records, [0, 1, 3], "{what}");
        let errors: Vec<_> = found.iter().filter_map(|r| r.as_ref().err()).collect();
        assert_eq!(
            errors.iter().map(|e| e.kind()).collect::<Vec<_>>(),
            [kind],
            "{what}: {errors:?}"
        );
        // Closed and opened again it is still there.
        drop(log);
        assert_eq!(
            home.read("0.log")[144..144 + strange.len()],
            strange,
            "{what}"
        );
    }
}

#[test]
fn hc34_an_unknown_codec_is_refused_and_unknown_attributes_are_stored_as_sent() {
    let home = Home::new();
    let log = t0(&home.open());
    let mut codec_5 = v2(0, &[("k", "v")]);
    codec_5[22] |= 5;
    batch::seal(&mut codec_5);
    let refused = log
        .append_batches(&codec_5, &AppendOptions::default())
        .unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::UnsupportedCompressionType);
    assert_eq!((log.end_offset().0, home.read("0.log").len()), (0, 0));

    let mut magic_3 = v2(0, &[("k", "v")]);
    magic_3[16] = 3;
    let refused = log
        .append_batches(&magic_3, &AppendOptions::default())
        .unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::CorruptMessage);

    let mut odd = v2(0, &[("k", "v")]);
    odd[21..23].copy_from_slice(&0x7f80u16.to_be_bytes());
    batch::seal(&mut odd);
    log.append_batches(&odd, &AppendOptions::default()).unwrap();
    assert_eq!(home.read("0.log"), odd);
    assert_eq!(offsets(&log, 0), [0]);
}

#[test]
fn log_md_12_4_and_hc29_a_wrong_size_on_disk_ends_the_log() {
    for size in [
        -1,
        0,
        13,
        14,
        48,
        49,
        2_147_483_635,
        2_147_483_636,
        i32::MAX,
    ] {
        let home = Home::new();
        let manager = home.open();
        fill(&t0(&manager), 2);
        manager.close().unwrap();
        let mut wrong = v2(2, &[("k", "v")]);
        wrong[8..12].copy_from_slice(&size.to_be_bytes());
        home.extend("0.log", &wrong);
        home.extend("0.log", &v2(3, &[("good", "behind")]));
        let manager = home.open_unclean(0);
        assert_eq!(
            (t0(&manager).end_offset().0, home.read("0.log").len()),
            (2, 144),
            "{size}"
        );
    }
}
