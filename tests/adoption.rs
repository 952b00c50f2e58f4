//! `klog adopt` without a broker: what the copy has, and what is refused. With a broker: `tests/interop/adoption.rs`.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a failure fails the test"
)]

mod support;

use std::ffi::OsStr;

use klog::format::names::parse_topic_partition;
use klog::format::uuid::Uuid;
use klog::log::AppendOptions;
use klog::manager::CreateOptions;

use support::canonical::{LogLines, Text};
use support::command::{self, Run, klog};
use support::engine::{Home, append_in_epoch, fill, log, rec, t0};
use support::producing::step;
use support::tree;

/// A broker's directory as it is after the topic `t` was created: an empty log with an id.
fn broker() -> Home {
    let home = Home::new();
    let manager = home.open();
    let options = CreateOptions {
        topic_id: Some(Uuid::parse("Ehx7oGy6RYuFZd6eHiM37g").unwrap()),
        ..CreateOptions::default()
    };
    let partition = parse_topic_partition("t-0").unwrap();
    manager.get_or_create_log(&partition, &options).unwrap();
    fill(&log(&manager, "other-0"), 2);
    manager.close().unwrap();
    home
}

fn adopt(source: &Home, broker: &Home) -> Run {
    let dirs = [source.dir.as_os_str(), broker.dir.as_os_str()];
    klog([OsStr::new("adopt"), dirs[0], dirs[1], OsStr::new("t-0")])
}

fn dump(home: &Home) -> LogLines {
    Text::parse(&command::dump(&home.dir)).log("t-0").clone()
}

/// Refused, with these words; neither directory is changed.
fn ensure_refused(source: &Home, broker: &Home, words: &str) {
    let before = [source, broker].map(|home| tree::content(&home.dir));
    let run = adopt(source, broker);
    assert_eq!((run.code, run.stdout.as_str()), (1, ""), "{}", run.stderr);
    assert!(run.stderr.contains(words), "{}", run.stderr);
    let after = [source, broker].map(|home| tree::content(&home.dir));
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(tree::differences(before, after), [""; 0], "{words}");
    }
}

#[test]
fn the_copy_has_the_brokers_id_no_foreign_epoch_or_producer_and_every_record() {
    let source = Home::new();
    let manager = source.open();
    let from = t0(&manager);
    for (i, epoch) in [0, 2, 5, 8].into_iter().enumerate() {
        append_in_epoch(&from, &[rec(1000, "k", "v")], epoch);
        if i % 2 == 1 {
            from.roll().unwrap();
        }
    }
    step("I 1/0 0+2").epoch(8).append(&from).unwrap();
    step("T 2/0 0+2").epoch(8).append(&from).unwrap();
    step("A 2/0 0").epoch(8).append(&from).unwrap();
    from.delete_records(klog::types::Offset(1)).unwrap();
    manager.close().unwrap();
    let theirs = dump(&source);
    assert_eq!(theirs.starting("epoch").len(), 3);
    assert_eq!(theirs.starting("producer").len(), 2);

    let broker = broker();
    let before = tree::content(&source.dir);
    let run = adopt(&source, &broker);
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (0, "adopted t-0 start=1 end=9\n"),
        "{}",
        run.stderr
    );
    assert_eq!(
        tree::differences(&before, &tree::content(&source.dir)),
        [""; 0]
    );

    let ours = dump(&broker);
    for word in ["rec", "ctl", "aborted"] {
        assert_eq!(ours.starting(word), theirs.starting(word));
    }
    assert_eq!(ours.field("topic_id"), "Ehx7oGy6RYuFZd6eHiM37g");
    assert_eq!(
        (ours.number("start"), ours.number("recovery_point")),
        (1, 9)
    );
    assert_eq!(ours.starting("epoch"), ["epoch 0 1"]);
    assert!(ours.starting("producer").is_empty());
    let batches = ours.starting("batch");
    assert!(batches.iter().all(|batch| batch.contains(" lepoch=0 ")));
    assert!(
        ours.starting("batch")
            .iter()
            .all(|batch| batch.ends_with("crc_ok=1"))
    );
    // Nothing else was touched, and the directory is in order.
    assert!(broker.is_clean());
    assert_eq!(tree::partitions(&broker.dir), ["other-0", "t-0"]);
    let manager = broker.open();
    assert_eq!(manager.report(), []);
    assert_eq!(log(&manager, "other-0").end_offset().0, 2);
    let adopted = t0(&manager);
    assert_eq!(adopted.end_offset().0, 9);
    assert_eq!(adopted.high_watermark().0, 9);
    fill(&adopted, 1);
    manager.close().unwrap();
}

#[test]
fn what_would_lose_or_mix_up_records_is_refused_and_nothing_changes() {
    let source = Home::new();
    let manager = source.open();
    fill(&t0(&manager), 3);
    manager.close().unwrap();

    let empty = Home::new();
    empty.open().close().unwrap();
    ensure_refused(
        &source,
        &empty,
        "its topic must be created in the broker first",
    );
    ensure_refused(&empty, &broker(), "there is no log t-0");
    let without_id = Home::new();
    let manager = without_id.open();
    t0(&manager);
    manager.close().unwrap();
    ensure_refused(&source, &without_id, "it has no topic id");
    let used = broker();
    let manager = used.open();
    fill(&t0(&manager), 1);
    manager.close().unwrap();
    ensure_refused(&source, &used, "it has had records");
    let open = Home::new();
    let manager = open.open();
    step("T 2/0 0+2").append(&t0(&manager)).unwrap();
    manager.close().unwrap();
    ensure_refused(
        &open,
        &broker(),
        "open transaction of the producer 2 since offset 0",
    );

    // A directory in use is refused by its lock, whichever it is.
    let broker = broker();
    for home in [&source, &broker] {
        let manager = home.open();
        let run = adopt(&source, &broker);
        assert_eq!((run.code, run.stdout.as_str()), (1, ""));
        assert!(run.stderr.contains("DIR_LOCKED"), "{}", run.stderr);
        manager.close().unwrap();
    }
    assert_eq!(adopt(&source, &broker).code, 0);
    assert_eq!(klog(["adopt", "a", "b"]).code, 2);
    assert_eq!(klog(["adopt", "a", "b", "no partition"]).code, 2);
}

#[test]
fn a_log_that_was_not_closed_in_order_is_recovered_first_and_an_empty_one_stays_empty() {
    let source = Home::new();
    let manager = source.open();
    fill(&t0(&manager), 3);
    let batches = step("P 2").bytes();
    t0(&manager)
        .append_batches(&batches, &AppendOptions::default())
        .unwrap();
    manager.abandon();
    let target = broker();
    let run = adopt(&source, &target);
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (0, "adopted t-0 start=0 end=5\n"),
        "{}",
        run.stderr
    );
    assert!(source.is_clean());

    let empty = Home::new();
    let manager = empty.open();
    t0(&manager);
    manager.close().unwrap();
    let target = broker();
    let run = adopt(&empty, &target);
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (0, "adopted t-0 start=0 end=0\n"),
        "{}",
        run.stderr
    );
    assert_eq!(target.open().report(), []);
}
