//! Readers of a log that its owner deletes, or moves.

use std::fs;

use klog::error::ErrorKind;
use klog::log::CursorOptions;
use klog::manager::{Access, Manager, ManagerOptions, Task};
use klog::types::{Offset, TopicPartition};

use crate::pair::{Pair, followed};
use crate::support::engine::{Home, fill, log, offsets, read};
use crate::support::tree;

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

#[test]
fn a_partition_that_goes_to_another_directory_is_found_there() {
    let home = Home::new();
    let other = home.dir.with_file_name("other");
    fs::create_dir(&other).unwrap();
    let dirs = vec![home.dir.clone(), other.clone()];
    let owner = home.open();
    fill(&log(&owner, "t-0"), 5);
    fill(&log(&owner, "u-0"), 3);
    owner.close().unwrap();
    let follower = Manager::open(ManagerOptions {
        dirs,
        access: Access::ReadOnly,
        ..home.options()
    })
    .unwrap();
    let (t, u) = (followed(&follower, "t-0"), followed(&follower, "u-0"));
    // Both copies are there for a moment: what is served stays so.
    tree::copy(&home.dir.join("t-0"), &other.join("t-0"));
    follower.refresh().unwrap();
    assert_eq!(&*followed(&follower, "t-0").dir(), home.dir.join("t-0"));
    fs::remove_dir_all(home.dir.join("t-0")).unwrap();
    for _ in 0..2 {
        follower.refresh().unwrap();
    }
    let unknown = ErrorKind::UnknownTopicOrPartition;
    assert_eq!(t.check_open().unwrap_err().kind(), unknown);
    let moved = followed(&follower, "t-0");
    assert_eq!(
        (moved.dir(), offsets(&moved, 0).len()),
        (std::sync::Arc::from(other.join("t-0")), 5)
    );
    // Two copies of what is not served are none, until one is left.
    fs::rename(home.dir.join("u-0"), home.dir.join("v-0")).unwrap();
    tree::copy(&home.dir.join("v-0"), &other.join("v-0"));
    for _ in 0..2 {
        follower.refresh().unwrap();
        let error = follower.log(&TopicPartition::new("v", 0)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DuplicateLog);
        assert_eq!(follower.failed_logs().len(), 2);
    }
    assert!(u.check_open().is_err());
    fs::remove_dir_all(home.dir.join("v-0")).unwrap();
    follower.refresh().unwrap();
    assert_eq!(offsets(&followed(&follower, "v-0"), 0), [0, 1, 2]);
    assert!(follower.failed_logs().is_empty());
}
