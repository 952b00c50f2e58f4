//! Checkpoint files of a directory that say something else than they should. hard-cases.md HC20, manager.md 2.5, deviations.md
//! D59.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a failure fails the test"
)]

mod support;

use std::fs;

use klog::ErrorKind;
use klog::log::FindingKind;
use klog::types::Offset;

use support::engine::{Home, fill, offsets, read, t0};

const RECOVERY_POINTS: &str = "recovery-point-offset-checkpoint";
const LOG_STARTS: &str = "log-start-offset-checkpoint";
const HIGH_WATERMARKS: &str = "replication-offset-checkpoint";
const CLEANED: &str = "cleaner-offset-checkpoint";

/// `fill(5)`, records deleted up to 3, closed in order.
fn started_at_3() -> Home {
    let home = Home::new();
    let manager = home.open();
    fill(&t0(&manager), 5);
    manager.delete_records(&t0(&manager), Offset(3)).unwrap();
    manager.close().unwrap();
    home
}

/// What is done to a file, and whether what it said is lost.
fn contents(entry: i64) -> [(&'static str, Vec<u8>, bool); 12] {
    let text = |text: String| text.into_bytes();
    [
        ("empty", Vec::new(), true),
        ("zeros", vec![0; 40], true),
        ("count too high", text(format!("0\n2\nt 0 {entry}\n")), true),
        ("count too low", text(format!("0\n0\nt 0 {entry}\n")), true),
        ("no number", b"0\n1\nt 0 x\n".to_vec(), true),
        ("version 1", text(format!("1\n1\nt 0 {entry}\n")), true),
        (
            "another partition",
            text(format!("0\n2\nt 0 {entry}\ngone 7 3\n")),
            false,
        ),
        ("negative", b"0\n1\nt 0 -4\n".to_vec(), true),
        ("not UTF-8", b"0\n1\n\xff 0 3\n".to_vec(), true),
        (
            "line ends of other systems",
            text(format!("0\r\n1\r\nt\t0   +{entry} \r\n")),
            false,
        ),
        ("twice", text(format!("0\n2\nt 0 1\nt 0 {entry}\n")), false),
        (
            "too large a number",
            b"0\n1\nt 0 99999999999999999999\n".to_vec(),
            true,
        ),
    ]
}

#[test]
fn hc20_a_log_start_that_cannot_be_read_makes_deleted_records_seen_again() {
    for (what, content, is_lost) in contents(3) {
        for clean in [true, false] {
            let home = started_at_3();
            if !clean {
                home.forget_marker();
            }
            fs::write(home.dir.join(LOG_STARTS), &content).unwrap();
            let manager = home.open();
            let log = t0(&manager);
            let start = if is_lost { 0 } else { 3 };
            assert_eq!(log.start_offset(), Offset(start), "{what}");
            assert_eq!(
                offsets(&log, start),
                (start..5).collect::<Vec<_>>(),
                "{what}"
            );
            if start == 3 {
                assert_eq!(
                    read(&log, 2, 100).unwrap_err().kind(),
                    ErrorKind::OffsetOutOfRange
                );
            }
            assert!(manager.dirs()[0].failure.is_none(), "{what}");
            manager.close().unwrap();
            let expected = if is_lost { "0\n0\n" } else { "0\n1\nt 0 3\n" };
            assert_eq!(
                fs::read_to_string(home.dir.join(LOG_STARTS)).unwrap(),
                expected,
                "{what}"
            );
        }
    }
}

#[test]
fn hc20_a_recovery_point_that_cannot_be_read_is_0_and_one_above_the_end_is_the_end() {
    for (what, content, is_lost) in
        contents(5)
            .into_iter()
            .chain([("above the end", b"0\n1\nt 0 88\n".to_vec(), false)])
    {
        let home = started_at_3();
        home.forget_marker();
        fs::write(home.dir.join(RECOVERY_POINTS), &content).unwrap();
        let manager = home.open();
        let log = t0(&manager);
        assert_eq!(
            (log.start_offset(), log.end_offset()),
            (Offset(3), Offset(5)),
            "{what}"
        );
        // Unknown is 0, which the log start lies above.
        let point = if is_lost { 3 } else { 5 };
        assert_eq!(log.recovery_point(), Offset(point), "{what}");
        // The last segment is always read again without the marker.
        assert_eq!(manager.open_counts().segments_recovered, 1, "{what}");
        assert!(manager.dirs()[0].failure.is_none(), "{what}");
        manager.close().unwrap();
        assert_eq!(
            fs::read_to_string(home.dir.join(RECOVERY_POINTS)).unwrap(),
            "0\n1\nt 0 5\n",
            "{what}"
        );
    }
}

#[test]
fn hc20_what_does_not_parse_is_told_by_file_and_line_and_rewritten() {
    for file in [RECOVERY_POINTS, LOG_STARTS, HIGH_WATERMARKS] {
        for (what, content, _) in contents(3) {
            let home = started_at_3();
            fs::write(home.dir.join(file), &content).unwrap();
            let manager = home.open();
            let told = manager
                .report()
                .iter()
                .any(|f| f.kind == FindingKind::Repaired && f.text.contains(file));
            let parses = matches!(
                what,
                "empty" | "another partition" | "negative" | "line ends of other systems" | "twice"
            );
            assert_eq!(told, !parses, "{file}: {what}: {:?}", manager.report());
            manager.close().unwrap();
            let rewritten = fs::read(home.dir.join(file)).unwrap();
            assert!(rewritten.starts_with(b"0\n"), "{file}: {what}");
            assert!(
                !rewritten.windows(4).any(|w| w == b"gone"),
                "{file}: {what}"
            );
            let manager = home.open();
            assert!(manager.report().is_empty(), "{:?}", manager.report());
            manager.close().unwrap();
        }
    }
}

/// The cleaner's file is not read to open a log: whatever is in it, the directory opens and the file stays for the cleaner.
#[test]
fn hc20_the_cleaners_file_never_keeps_a_directory_from_opening() {
    for (what, content, _) in contents(3) {
        let home = started_at_3();
        fs::write(home.dir.join(CLEANED), &content).unwrap();
        let manager = home.open();
        assert_eq!(t0(&manager).end_offset(), Offset(5), "{what}");
        assert!(manager.dirs()[0].failure.is_none(), "{what}");
        manager.close().unwrap();
        assert!(home.is_clean());
    }
}
