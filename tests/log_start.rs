//! Where a log starts: the checkpoint against the segments that are there. log.md 8.7-8.9, 14.8.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a failure fails the test"
)]

mod support;

use klog::log::AppendOptions;

use support::engine::{
    Home, NOW, append, append_in_epoch, builder, epochs, five, offsets, read, rec, segments, t0,
};

/// Segments 0, 5, 10 of a batch each in epochs 0, 1, 2.
fn three_segments() -> Home {
    let home = Home::new().set("internal.segment.bytes", 200);
    let manager = home.open();
    for i in 0..3 {
        append_in_epoch(&t0(&manager), &five(1000 + i), i32::try_from(i).unwrap());
    }
    manager.close().unwrap();
    home
}

#[test]
fn log_md_14_8_a_start_beyond_the_end_begins_anew() {
    let home = three_segments();
    home.start_checkpoint(100);
    let log = t0(&home.open());
    assert_eq!(segments(&log), [(100, 0)]);
    let offsets = (
        log.start_offset().0,
        log.end_offset().0,
        log.recovery_point().0,
    );
    assert_eq!(offsets, (100, 100, 100));
    assert_eq!(epochs(&log), []);
    assert_eq!(append(&log, &[rec(NOW, "k", "v")]).first_offset.0, 100);
}

#[test]
fn log_md_14_8_a_start_inside_a_segment_cuts_epochs_and_snapshots() {
    let home = three_segments();
    home.start_checkpoint(7);
    home.checkpoint("recovery-point-offset-checkpoint", 9);
    let log = t0(&home.open());
    assert_eq!((log.start_offset().0, log.recovery_point().0), (7, 15));
    assert_eq!(epochs(&log), [(1, 7), (2, 10)]);
    assert!(!home.has("5.snapshot") && home.has("10.snapshot"));
    assert_eq!(segments(&log).len(), 3, "no segment goes before retention");
    assert_eq!(offsets(&log, 7), (7..15).collect::<Vec<_>>());
}

#[test]
fn log_md_14_8_without_its_first_segment_a_log_starts_with_the_next() {
    let home = three_segments();
    home.remove("0.log");
    home.start_checkpoint(2);
    let log = t0(&home.open());
    assert!(!home.has("0.index") && !home.has("0.timeindex"));
    assert_eq!(log.start_offset().0, 5);
    assert_eq!(
        epochs(&log),
        [(0, 2), (1, 5), (2, 10)],
        "cut by the checkpoint, as in Kafka"
    );
    assert_eq!(offsets(&log, 5), (5..15).collect::<Vec<_>>());
}

#[test]
fn log_md_14_8_an_empty_directory_begins_at_the_checkpointed_start() {
    let home = Home::new()
        .set("preallocate", "true")
        .set("internal.segment.bytes", 4096);
    std::fs::create_dir(home.dir.join("t-0")).unwrap();
    home.start_checkpoint(42);
    for clean in [true, false] {
        let home = home.copied();
        if clean {
            std::fs::write(home.dir.join(support::engine::CLEAN_MARKER), "").unwrap();
        }
        let log = t0(&home.open());
        assert_eq!(home.sizes(".log"), [(42, 4096)]);
        assert_eq!((log.start_offset().0, log.end_offset().0), (42, 42));
    }
}

#[test]
fn a_hole_between_segments_is_passed_over() {
    let home = three_segments();
    home.remove("5.log");
    let log = t0(&home.open());
    assert_eq!(offsets(&log, 0), (0..5).chain(10..15).collect::<Vec<_>>());
    let (result, _) = read(&log, 6, 1 << 20).unwrap();
    assert_eq!(
        (result.segment_base_offset.0, result.first_offset.0),
        (10, 10)
    );
}

#[test]
fn the_start_is_written_at_closing_where_it_lies_above_the_first_segment() {
    let home = three_segments();
    let checkpoint =
        || std::fs::read_to_string(home.dir.join("log-start-offset-checkpoint")).unwrap();
    assert_eq!(checkpoint(), "0\n0\n");
    home.start_checkpoint(7);
    let manager = home.open();
    append_in_epoch(&t0(&manager), &five(2000), 2);
    manager.close().unwrap();
    assert_eq!(checkpoint(), "0\n1\nt 0 7\n");
    assert_eq!(t0(&home.open()).start_offset().0, 7);
}

/// Behind offset 2^63-1 there is none for the end of the log.
#[test]
fn the_last_of_all_offsets_is_never_given_out() {
    let home = Home::new();
    let three = [rec(NOW, "a", "1"), rec(NOW, "b", "2"), rec(NOW, "c", "3")];
    t0(&home.open());
    home.remove("0.log");
    let first = i64::MAX - 3;
    home.start_checkpoint(first);
    let manager = home.open_unclean(0);
    let log = t0(&manager);
    append(&log, &three[..2]);
    for records in [&three[..], &three[..2]] {
        let error = log
            .append(&mut builder(records), &AppendOptions::default())
            .unwrap_err();
        assert!(error.to_string().contains("offset"), "{error}");
    }
    assert_eq!(log.end_offset().0, first + 2);
    append(&log, &three[..1]);
    assert_eq!(log.end_offset().0, i64::MAX);
    assert!(
        log.append(&mut builder(&three[..1]), &AppendOptions::default())
            .is_err()
    );
    manager.close().unwrap();
    assert_eq!(
        offsets(&t0(&home.open()), first),
        [first, first + 1, first + 2]
    );
    // And with what was closed taken for a crash.
    assert_eq!(
        offsets(&t0(&home.open_unclean(0)), first),
        [first, first + 1, first + 2]
    );
}
