//! Readers of a log that its owner deletes.

use klog::error::ErrorKind;
use klog::log::CursorOptions;
use klog::manager::Task;
use klog::types::Offset;

use crate::pair::{Pair, followed};
use crate::support::engine::{Home, fill, log, read};

#[test]
fn a_read_of_a_log_whose_files_are_gone_says_that_it_was_deleted() {
    let home = Home::new()
        .set("internal.segment.bytes", 300)
        .set_broker("klog.max.open.files", 1);
    let pair = Pair::new(home);
    let (owned, seen) = pair.logs();
    fill(&owned, 20);
    pair.ensure_same();
    let mut cursor = seen.cursor(Offset(0), CursorOptions::default());
    pair.owner.delete_log(owned.partition()).unwrap();
    pair.home.clock.advance(60_000);
    pair.owner.run(Task::DeleteLogs).unwrap();
    let unknown = ErrorKind::UnknownTopicOrPartition;
    assert_eq!(read(&seen, 0, 1 << 16).unwrap_err().kind(), unknown);
    assert_eq!(
        cursor.next_records(1).map(|r| r.len()).unwrap_err().kind(),
        unknown
    );
    pair.follower.refresh().unwrap();
    assert!(pair.follower.logs().is_empty());
}

#[test]
fn what_is_held_open_is_read_on_until_the_next_look() {
    let pair = Pair::new(Home::new());
    let u = log(&pair.owner, "u-0");
    fill(&u, 5);
    pair.follower.refresh().unwrap();
    let seen = followed(&pair.follower, "u-0");
    pair.owner.delete_log(u.partition()).unwrap();
    pair.home.clock.advance(60_000);
    pair.owner.run(Task::DeleteLogs).unwrap();
    assert_eq!(read(&seen, 0, 1 << 16).unwrap().0.batches, 5);
    pair.follower.refresh().unwrap();
    assert!(read(&seen, 0, 1 << 16).is_err());
}
