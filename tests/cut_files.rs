//! Files that others cut while klog has them open: errors of the calls that meet them, and no signal to the process.
//! hard-cases.md HC42.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a failure fails the test"
)]

mod support;

use klog::error::{Error, ErrorKind};
use klog::log::TimeTarget;
use klog::types::TimestampMs;

use support::engine::{Home, NOW, append, fill, offsets, read, rec, segments, t0};

/// The error of a call that met a file which somebody cut.
fn is_of_a_cut_file(error: &Error) -> bool {
    [
        ErrorKind::CorruptMessage,
        ErrorKind::KafkaStorage,
        ErrorKind::CorruptIndex,
    ]
    .contains(&error.kind())
}

/// Three segments with dense indexes, the first two closed.
fn three_segments() -> Home {
    let home = Home::new()
        .set("index.interval.bytes", 0)
        .set("segment.index.bytes", 80_000);
    let manager = home.open();
    let log = t0(&manager);
    for _ in 0..3 {
        if !segments(&log).is_empty() && log.end_offset().0 > 0 {
            log.roll().unwrap();
        }
        fill(&log, 1000);
    }
    manager.close().unwrap();
    home
}

#[test]
fn hc42_b_files_cut_to_nothing_by_another_process_are_errors_of_the_calls() {
    for names in [
        &["0.log"][..],
        &["0.index"],
        &["0.timeindex"],
        &["0.index", "0.timeindex", "0.log"],
    ] {
        for used_before in [false, true] {
            let home = three_segments();
            let manager = home.open();
            let log = t0(&manager);
            let look_up = |ts| log.offset_for_timestamp(TimeTarget::At(TimestampMs(ts)));
            if used_before {
                read(&log, 500, 1000).unwrap();
                look_up(NOW + 500).unwrap();
            }
            for name in names {
                home.cut(name, 0);
            }
            for offset in [0, 1, 500, 999] {
                match read(&log, offset, 1000) {
                    Ok((result, _)) => assert!(!names.contains(&"0.log"), "{names:?} {result:?}"),
                    Err(error) => assert!(is_of_a_cut_file(&error), "{names:?}: {error}"),
                }
                if let Err(error) = look_up(NOW + offset) {
                    assert!(is_of_a_cut_file(&error), "{names:?}: {error}");
                }
            }
            // The directory is online, the other segments are read, appends go on.
            append(&log, &[rec(NOW, "k", "v")]);
            assert_eq!(
                offsets(&log, 1000),
                (1000..3001).collect::<Vec<_>>(),
                "{names:?}"
            );
            assert!(
                manager.dirs().iter().all(|dir| dir.failure.is_none()),
                "{names:?}"
            );
            drop(manager);
        }
    }
}

#[test]
fn hc42_b_a_page_of_an_index_that_is_gone_is_not_touched() {
    // Longer than a page: what is left of the file is still mapped, what is gone would raise a signal.
    let home = three_segments();
    let manager = home.open();
    let log = t0(&manager);
    read(&log, 999, 1000).unwrap();
    assert!(home.read("0.index").len() > 4096);
    home.cut("0.index", 4096);
    home.cut("0.timeindex", 4096);
    for offset in 0..1000 {
        match read(&log, offset, 100) {
            Ok((result, _)) => assert_eq!(result.first_offset.0, offset),
            Err(error) => assert!(is_of_a_cut_file(&error), "{error}"),
        }
    }
    // Opened again, the index is made anew and all is there.
    manager.abandon();
    let manager = home.open_unclean(3000);
    assert_eq!(offsets(&t0(&manager), 0).len(), 3000);
}

#[test]
fn hc42_b_a_cut_active_segment_is_an_error_until_the_log_is_opened_again() {
    let home = Home::new().set("index.interval.bytes", 0);
    let manager = home.open();
    let log = t0(&manager);
    fill(&log, 10);
    home.cut("0.log", 72 * 4 + 10);
    assert_eq!(read(&log, 3, 72).unwrap().0.first_offset.0, 3);
    for offset in [4, 5, 9] {
        let error = read(&log, offset, 72).unwrap_err();
        assert!(is_of_a_cut_file(&error), "{error}");
    }
    manager.abandon();
    let manager = home.open_unclean(0);
    assert_eq!(offsets(&t0(&manager), 0), [0, 1, 2, 3]);
}

#[test]
fn hc42_c_empty_index_files_are_as_good_as_none() {
    let home = Home::new().set("index.interval.bytes", 0);
    let manager = home.open();
    t0(&manager);
    manager.close().unwrap();
    assert_eq!(
        (home.read("0.index").len(), home.read("0.timeindex").len()),
        (0, 0)
    );
    let manager = home.open();
    let log = t0(&manager);
    fill(&log, 5);
    assert_eq!(offsets(&log, 0), [0, 1, 2, 3, 4]);
    manager.close().unwrap();
    // An entry for each append but the first, by Kafka's rule of the interval; of times one more at closing.
    assert_eq!(
        home.dump().starting("oi").len() * 8,
        home.read("0.index").len()
    );
    assert!(!home.read("0.index").is_empty() && !home.read("0.timeindex").is_empty());
}
