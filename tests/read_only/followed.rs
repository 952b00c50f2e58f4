//! What an owner does to its logs is what a follower sees after a refresh.

use klog::error::ErrorKind;
use klog::log::{CursorOptions, Isolation, Log};
use klog::manager::{Access, HighWatermarks, Manager, ManagerOptions, Pass, Task};
use klog::types::Offset;

use crate::pair::{Pair, all, ensure_same, followed};
use crate::support::engine::{
    Home, NOW, append_in_epoch, fill, five, log, offsets, rec, segments, t0,
};
use crate::support::producing::step;

#[test]
fn what_was_appended_is_seen_after_a_refresh_and_not_before() {
    let pair = Pair::new(Home::new());
    let (owned, followed) = pair.logs();
    fill(&owned, 3);
    assert_eq!(
        (followed.end_offset(), all(&followed, Isolation::LogEnd)),
        (Offset(0), vec![])
    );
    for _ in 0..5 {
        pair.ensure_same();
        fill(&owned, 4);
    }
    let mut cursor = followed.cursor(Offset(17), CursorOptions::default());
    assert_eq!(cursor.next_records(9).unwrap().len(), 2);
    assert_eq!(cursor.next_records(9).unwrap().len(), 0);
    pair.follower.refresh().unwrap();
    // It goes on where it was.
    let records = cursor.next_records(9).unwrap();
    assert_eq!(
        records.iter().map(|r| r.offset.0).collect::<Vec<_>>(),
        [19, 20, 21, 22]
    );
    pair.ensure_same();
}

#[test]
fn segments_that_the_owner_rolls_to_are_followed() {
    let home = Home::new()
        .set("internal.segment.bytes", 300)
        .set("index.interval.bytes", 100);
    let pair = Pair::new(home);
    let (owned, seen) = pair.logs();
    for round in 0..12 {
        for _ in 0..round {
            append_in_epoch(&owned, &five(NOW + owned.end_offset().0), round);
        }
        pair.ensure_same();
    }
    assert!(segments(&owned).len() > 20);
    owned.roll().unwrap();
    pair.ensure_same();
    assert_eq!(segments(&seen), segments(&owned));
    // And those that it finds when it is opened.
    let late = pair.home.follow();
    ensure_same(&owned, &followed(&late, "t-0"));
}

#[test]
fn what_retention_takes_is_gone_after_a_refresh_and_readers_go_on() {
    let home = Home::new()
        .set("internal.segment.bytes", 300)
        .set("retention.bytes", 600)
        // Whatever a reader wants is opened anew.
        .set_broker("klog.max.open.files", 1);
    let pair = Pair::new(home);
    let (owned, seen) = pair.logs();
    fill(&owned, 40);
    pair.ensure_same();
    let mut cursor = seen.cursor(
        Offset(0),
        CursorOptions {
            read_bytes: 100,
            ..CursorOptions::default()
        },
    );
    assert_eq!(cursor.next_records(1).unwrap().len(), 1);
    pair.owner.retain_all(Pass::Apply).unwrap();
    let renamed = pair.home.retired_files();
    assert!(!renamed.is_empty());
    // Its file lost its name, and nobody had it open: the log is looked at, and starts further on now.
    let mut last = Ok(0);
    for _ in 0..40 {
        last = cursor.next_records(1).map(|records| records.len());
        if last.is_err() {
            break;
        }
    }
    assert_eq!(last.unwrap_err().kind(), ErrorKind::OffsetOutOfRange);
    ensure_same(&owned, &seen);
    assert!(seen.start_offset() > Offset(0));
    pair.home.clock.advance(60_000);
    pair.owner.run(Task::DeleteFiles).unwrap();
    assert_eq!(pair.home.retired_files(), [""; 0]);
    fill(&owned, 20);
    pair.owner.retain_all(Pass::Apply).unwrap();
    pair.ensure_same();
}

#[test]
fn a_log_start_that_was_raised_is_seen_once_it_is_stored() {
    let pair = Pair::new(Home::new().set("internal.segment.bytes", 300));
    let (owned, seen) = pair.logs();
    fill(&owned, 20);
    pair.owner.delete_records(&owned, Offset(7)).unwrap();
    pair.ensure_same();
    assert_eq!(seen.start_offset(), Offset(7));
    let error = seen.aborted_txns(Offset(0), Offset(1));
    assert!(error.is_ok());
}

fn fill_in(log: &Log, n: i64, epoch: i32) {
    for i in 0..n {
        append_in_epoch(log, &[rec(NOW + i, &format!("k{i}"), "v")], epoch);
    }
}

#[test]
fn a_log_that_was_cut_is_read_as_it_is_now() {
    let home = Home::new().set("internal.segment.bytes", 300);
    let pair = Pair::new(home);
    let (owned, seen) = pair.logs();
    fill(&owned, 10);
    pair.ensure_same();
    // Inside of the active segment, shorter than it was known to be.
    pair.owner.truncate_to(&owned, Offset(9)).unwrap();
    pair.ensure_same();
    // The same length and offsets, but other records.
    append_in_epoch(&owned, &[rec(NOW, "k9", "other")], 1);
    pair.ensure_same();
    pair.owner.truncate_to(&owned, Offset(9)).unwrap();
    append_in_epoch(&owned, &[rec(NOW, "k9", "OTHER")], 1);
    pair.ensure_same();
    // Longer than it was.
    pair.owner.truncate_to(&owned, Offset(9)).unwrap();
    append_in_epoch(&owned, &[rec(NOW, "k9", "longer than it was before")], 2);
    fill_in(&owned, 1, 2);
    pair.ensure_same();
    // Below the active segment; and again up to the same bases.
    let bases: Vec<i64> = segments(&owned).iter().map(|s| s.0).collect();
    pair.owner.truncate_to(&owned, Offset(2)).unwrap();
    append_in_epoch(&owned, &five(NOW), 3);
    fill_in(&owned, 5, 3);
    pair.ensure_same();
    assert_ne!(
        bases,
        segments(&owned).iter().map(|s| s.0).collect::<Vec<_>>()
    );
    // Everything.
    pair.owner
        .truncate_fully(&owned, Offset(100), None)
        .unwrap();
    pair.ensure_same();
    fill_in(&owned, 3, 4);
    pair.ensure_same();
    assert_eq!(offsets(&seen, 100), [100, 101, 102]);
    pair.owner.truncate_fully(&owned, Offset(50), None).unwrap();
    fill_in(&owned, 3, 4);
    pair.ensure_same();
}

#[test]
fn a_cursor_of_a_log_that_was_cut_below_it_is_told_so() {
    let pair = Pair::new(Home::new());
    let (owned, seen) = pair.logs();
    fill(&owned, 10);
    pair.ensure_same();
    let mut cursor = seen.cursor(Offset(8), CursorOptions::default());
    assert_eq!(cursor.next_records(9).unwrap().len(), 2);
    pair.owner.truncate_to(&owned, Offset(5)).unwrap();
    // Not looked at yet: nothing is there to be read.
    assert_eq!(cursor.next_records(9).unwrap().len(), 0);
    pair.follower.refresh().unwrap();
    let error = cursor.next_records(9).map(|r| r.len()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OffsetOutOfRange);
}

#[test]
fn logs_that_come_and_go_and_come_again_are_told_apart() {
    let home = Home::new().set_for("u", "index.interval.bytes", 1);
    let pair = Pair::new(home);
    let u = log(&pair.owner, "u-3");
    fill(&u, 5);
    assert!(
        pair.follower
            .logs()
            .iter()
            .all(|l| &*l.partition().topic != "u")
    );
    pair.follower.refresh().unwrap();
    let seen = followed(&pair.follower, "u-3");
    ensure_same(&u, &seen);
    pair.owner.delete_log(u.partition()).unwrap();
    pair.follower.refresh().unwrap();
    let unknown = ErrorKind::UnknownTopicOrPartition;
    assert_eq!(seen.check_open().unwrap_err().kind(), unknown);
    assert_eq!(
        pair.follower.log(u.partition()).unwrap_err().kind(),
        unknown
    );
    let again = log(&pair.owner, "u-3");
    fill(&again, 2);
    pair.follower.refresh().unwrap();
    ensure_same(&again, &followed(&pair.follower, "u-3"));
    // Deleted and made again between two looks, which are at this log alone.
    let seen = followed(&pair.follower, "u-3");
    pair.owner.delete_log(u.partition()).unwrap();
    let again = log(&pair.owner, "u-3");
    fill(&again, 3);
    pair.follower.refresh_log(&seen).unwrap();
    assert_eq!(seen.check_open().unwrap_err().kind(), unknown);
    assert_eq!(
        pair.follower.refresh_log(&seen).unwrap_err().kind(),
        unknown
    );
    ensure_same(&again, &followed(&pair.follower, "u-3"));
    pair.ensure_same();
}

#[test]
fn transactions_and_producers_are_the_owners() {
    let home = Home::new().set("internal.segment.bytes", 600);
    let pair = Pair::new(home);
    let (owned, seen) = pair.logs();
    step("I 1/0 0+2").at_offsets(&owned, 0, 1);
    step("T 2/0 0+2").at_offsets(&owned, 2, 3);
    pair.ensure_same();
    assert_eq!(seen.last_stable_offset(), Offset(2));
    step("T 3/0 0+2").at_offsets(&owned, 4, 5);
    step("A 2/0 0").at_offsets(&owned, 6, 6);
    pair.ensure_same();
    assert_eq!(seen.last_stable_offset(), Offset(4));
    step("C 3/0 0").at_offsets(&owned, 7, 7);
    pair.ensure_same();
    // Over a roll, with an abort of what began before it.
    step("T 2/0 2+2").at_offsets(&owned, 8, 9);
    owned.roll().unwrap();
    pair.ensure_same();
    step("T 3/0 2+1").at_offsets(&owned, 10, 10);
    step("A 2/0 0").at_offsets(&owned, 11, 11);
    owned.roll().unwrap();
    step("A 3/0 0").at_offsets(&owned, 12, 12);
    pair.ensure_same();
    step("T 2/1 0+3").at_offsets(&owned, 13, 15);
    step("A 2/1 0").at_offsets(&owned, 16, 16);
    pair.ensure_same();
    let late = pair.home.follow();
    ensure_same(&owned, &followed(&late, "t-0"));
    // What the owner cuts off opens a transaction again.
    pair.owner.truncate_to(&owned, Offset(12)).unwrap();
    pair.ensure_same();
    assert_eq!(seen.last_stable_offset(), Offset(10));
}

#[test]
fn high_watermarks_are_those_of_the_checkpoint_if_that_is_wanted() {
    let home = Home::new();
    let options = |access| ManagerOptions {
        access,
        high_watermarks: HighWatermarks::FromCheckpoint,
        ..home.options()
    };
    let owner = Manager::open(options(Access::Own)).unwrap();
    let owned = t0(&owner);
    fill(&owned, 10);
    owned.set_high_watermark(Offset(4)).unwrap();
    owner.checkpoint().unwrap();
    let follower = Manager::open(options(Access::ReadOnly)).unwrap();
    let seen = followed(&follower, "t-0");
    assert_eq!(seen.high_watermark(), Offset(4));
    assert_eq!(all(&seen, Isolation::HighWatermark).len(), 4);
    owned.set_high_watermark(Offset(9)).unwrap();
    follower.refresh().unwrap();
    assert_eq!(seen.high_watermark(), Offset(4));
    owner.checkpoint().unwrap();
    follower.refresh().unwrap();
    assert_eq!(seen.high_watermark(), Offset(9));
    ensure_same(&owned, &seen);
}

#[test]
fn an_owner_that_closes_and_opens_again_is_followed_on() {
    let home = Home::new().set("internal.segment.bytes", 300);
    let Pair {
        home,
        owner,
        follower,
    } = Pair::new(home);
    fill(&t0(&owner), 12);
    owner.close().unwrap();
    follower.refresh().unwrap();
    let seen = followed(&follower, "t-0");
    assert_eq!(seen.end_offset(), Offset(12));
    let owner = home.open();
    let owned = t0(&owner);
    ensure_same(&owned, &seen);
    fill(&owned, 12);
    follower.refresh().unwrap();
    ensure_same(&owned, &seen);
    owner.abandon();
    let owner = home.open();
    follower.refresh().unwrap();
    ensure_same(&t0(&owner), &seen);
}

#[test]
fn a_log_that_could_not_be_loaded_is_tried_again_when_asked() {
    let home = Home::new();
    let owner = home.open();
    fill(&t0(&owner), 3);
    owner.close().unwrap();
    let big = home.path("0.log");
    let content = home.read("0.log");
    std::fs::File::create(&big)
        .unwrap()
        .set_len(3 << 30)
        .unwrap();
    let follower = home.follow();
    let partition = klog::types::TopicPartition::new("t", 0);
    assert_eq!(
        follower.log(&partition).unwrap_err().kind(),
        ErrorKind::TooLarge
    );
    home.write("0.log", content);
    assert!(follower.refresh().is_ok());
    assert_eq!(follower.failed_logs().len(), 1, "nobody asked for it");
    let seen = follower.retry_log(&partition).unwrap();
    assert_eq!(offsets(&seen, 0), [0, 1, 2]);
    assert!(follower.failed_logs().is_empty());
}

#[test]
fn a_manager_that_owns_its_directories_has_nothing_to_refresh() {
    let home = Home::new();
    let owner = home.open();
    let owned = t0(&owner);
    fill(&owned, 3);
    owner.refresh().unwrap();
    owner.refresh_log(&owned).unwrap();
    assert_eq!(owned.refresh(None).unwrap(), klog::log::Refreshed::UpToDate);
    assert_eq!((owner.access(), offsets(&owned, 0).len()), (Access::Own, 3));
    owner.close().unwrap();
    assert_eq!(owner.refresh().unwrap_err().kind(), ErrorKind::Closed);
}
