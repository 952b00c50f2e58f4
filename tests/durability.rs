//! Flush and recovery point. log.md 7, 14.11.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a failure fails the test"
)]

mod support;

use std::fs;

use klog::log::{AppendOptions, WriteDurability};
use klog::types::Offset;

use support::engine::{Home, NOW, append, builder, fill, five, rec, t0};

#[test]
fn log_md_14_11_every_so_many_records_are_flushed() {
    let home = Home::new().set("flush.messages", 3);
    let log = t0(&home.open());
    let two = [rec(NOW, "k", "v"), rec(NOW, "k", "v")];
    append(&log, &two);
    assert_eq!(log.recovery_point().0, 0);
    append(&log, &two[..1]);
    assert_eq!(log.recovery_point().0, 3);
    append(&log, &two);
    assert_eq!(log.recovery_point().0, 3);
    log.flush().unwrap();
    assert_eq!(log.recovery_point().0, 5);
    log.flush().unwrap();
    assert_eq!(log.recovery_point().0, 5);
}

#[test]
fn log_md_7_1_a_flush_reaches_as_far_as_it_was_asked_to_and_never_back() {
    let home = Home::new();
    let log = t0(&home.open());
    fill(&log, 6);
    log.flush_to(Offset(4)).unwrap();
    assert_eq!(log.recovery_point().0, 4);
    log.flush_to(Offset(2)).unwrap();
    assert_eq!(log.recovery_point().0, 4);
    log.flush_to(Offset(100)).unwrap();
    assert_eq!(log.recovery_point().0, 6);
}

#[test]
fn log_md_14_4_a_roll_flushes_what_lies_below_the_new_segment() {
    let home = Home::new().set("internal.segment.bytes", 200);
    let log = t0(&home.open());
    for i in 0..3 {
        append(&log, &five(1000 + i));
        assert_eq!(log.recovery_point().0, 5 * i);
    }
    log.roll().unwrap();
    assert_eq!(log.recovery_point().0, 15);
}

#[test]
fn a_synced_append_is_flushed_when_it_returns() {
    let home = Home::new();
    let log = t0(&home.open());
    fill(&log, 2);
    assert_eq!(log.recovery_point().0, 0);
    let synced = AppendOptions {
        durability: WriteDurability::Synced,
        ..AppendOptions::default()
    };
    log.append(&mut builder(&[rec(NOW, "k", "v")]), &synced)
        .unwrap();
    assert_eq!(log.recovery_point().0, 3);
}

#[test]
fn the_recovery_point_is_kept_by_checkpoints_and_closing() {
    let home = Home::new();
    let manager = home.open();
    let log = t0(&manager);
    fill(&log, 3);
    log.flush().unwrap();
    fill(&log, 3);
    manager.checkpoint().unwrap();
    let checkpoint =
        || fs::read_to_string(home.dir.join("recovery-point-offset-checkpoint")).unwrap();
    assert_eq!(checkpoint(), "0\n1\nt 0 3\n");
    manager.abandon();
    let manager = home.open();
    assert_eq!(
        t0(&manager).recovery_point().0,
        3,
        "nothing more is known to be on the disk"
    );
    manager.close().unwrap();
    assert_eq!(checkpoint(), "0\n1\nt 0 6\n");
    assert_eq!(t0(&home.open()).recovery_point().0, 6);
}

#[test]
fn log_md_8_9_a_recovery_point_beyond_the_end_is_the_end() {
    let home = Home::new();
    let manager = home.open();
    fill(&t0(&manager), 3);
    manager.close().unwrap();
    let copy = home.copied();
    let log = t0(&copy.open_unclean(50));
    assert_eq!((log.recovery_point().0, log.end_offset().0), (3, 3));
    // After a clean shutdown it is the end, whatever the checkpoint says.
    home.checkpoint("recovery-point-offset-checkpoint", 1);
    assert_eq!(t0(&home.open()).recovery_point().0, 3);
}
