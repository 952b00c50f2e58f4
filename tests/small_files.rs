//! The small files beside a log: leader epochs, producer snapshots, topic id. What cannot be read of them costs nothing that
//! the log has. hard-cases.md HC17-HC19.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a failure fails the test"
)]

mod support;

use std::path::Path;

use klog::error::ErrorKind;
use klog::format::builder::BatchOptions;
use klog::format::snapshot;
use klog::format::uuid::Uuid;
use klog::log::FindingKind;
use klog::manager::Manager;
use klog::types::{LeaderEpoch, ProducerId};

use support::engine::{Home, NOW, append, batch, epochs, fill, rec, t0};

const EPOCHS: &str = "leader-epoch-checkpoint";
const METADATA: &str = "partition.metadata";

/// Whether the report has a repair that names this.
fn tells(manager: &Manager, what: &str) -> bool {
    manager
        .report()
        .iter()
        .any(|f| f.kind == FindingKind::Repaired && f.text.contains(what))
}

fn five_records() -> Home {
    let home = Home::new();
    let manager = home.open();
    fill(&t0(&manager), 5);
    manager.close().unwrap();
    assert_eq!(home.read(EPOCHS), b"0\n1\n0 0\n");
    home
}

/// The contents of HC17, and whether one is a checkpoint without entries.
const BROKEN_EPOCHS: [(&[u8], bool); 7] = [
    (b"", true),
    (&[0; 8], false),
    (b"0\n", true),
    (b"0\n2\n0 0\n", false),
    (b"0\n1\n0 zero\n", false),
    (b"1\n0\n", false),
    (b"0\n1\n0 0\n\0\0\0\0", false),
];

#[test]
fn hc17_epochs_of_a_file_that_does_not_parse_come_from_the_log_clean_or_not() {
    for (content, is_empty) in BROKEN_EPOCHS {
        for clean in [false, true] {
            let home = five_records();
            home.write(EPOCHS, content);
            let manager = if clean {
                home.open()
            } else {
                home.open_unclean(0)
            };
            let what = format!("{:?}, clean {clean}", String::from_utf8_lossy(content));
            let log = t0(&manager);
            assert_eq!(log.end_offset().0, 5, "{what}");
            // A file without entries is one, and believed after a clean shutdown.
            let expected = if is_empty && clean {
                vec![]
            } else {
                vec![(0, 0)]
            };
            assert_eq!(epochs(&log), expected, "{what}");
            assert_eq!(
                tells(&manager, EPOCHS),
                !is_empty,
                "{what}: {:?}",
                manager.report()
            );
            if !is_empty {
                assert_eq!(home.read(EPOCHS), b"0\n1\n0 0\n", "{what}: written anew");
            }
            assert_eq!(append(&log, &[rec(NOW, "k", "v")]).first_offset.0, 5);
            manager.close().unwrap();
            let manager = home.open();
            assert_eq!(manager.report(), [], "{what}");
        }
    }
}

#[test]
fn hc17_the_epochs_of_the_whole_log_are_rebuilt_and_not_only_of_what_is_recovered() {
    let home = Home::new();
    let manager = home.open();
    let log = t0(&manager);
    for epoch in [0, 0, 3, 7] {
        support::engine::append_in_epoch(&log, &[rec(NOW, "k", "v")], epoch);
        log.roll().unwrap();
    }
    let expected = epochs(&log);
    assert_eq!(expected, [(0, 0), (3, 2), (7, 3)]);
    manager.close().unwrap();
    home.write(EPOCHS, "what");
    let copy = home.copied();
    assert_eq!(epochs(&t0(&copy.open())), expected);
    assert_eq!(epochs(&t0(&home.open_unclean(4))), expected);
}

#[test]
fn hc17_blanks_and_line_ends_of_other_systems_parse() {
    for content in ["0\n1\n0 0", "0\r\n1\r\n0 0\r\n", "0\n1\n0  0 \n"] {
        let home = five_records();
        home.write(EPOCHS, content);
        let manager = home.open();
        assert_eq!(epochs(&t0(&manager)), [(0, 0)], "{content:?}");
        assert!(!tells(&manager, EPOCHS), "{content:?}");
    }
}

#[test]
fn what_a_crash_left_of_a_replacement_is_removed() {
    let home = five_records();
    home.write("leader-epoch-checkpoint.tmp", "half");
    let manager = home.open_unclean(0);
    assert_eq!(epochs(&t0(&manager)), [(0, 0)]);
    assert!(!home.has("leader-epoch-checkpoint.tmp"));
}

/// A batch of producer 1, as an idempotent client sends it.
fn of_producer(base: i64) -> Vec<u8> {
    let options = BatchOptions {
        base_offset: klog::types::Offset(base),
        leader_epoch: LeaderEpoch(0),
        producer_id: ProducerId(1),
        producer_epoch: 0,
        base_sequence: i32::try_from(base).unwrap(),
        ..BatchOptions::default()
    };
    batch(&[rec(NOW, "a", "b")], &options)
}

/// A log with one batch of producer 1, closed in order.
fn one_producer() -> Home {
    let home = Home::new();
    let manager = home.open();
    t0(&manager);
    manager.close().unwrap();
    home.write("0.log", of_producer(0));
    home.open_unclean(0).close().unwrap();
    assert_eq!(home.read("1.snapshot").len(), 56);
    home
}

fn last_sequences(home: &Home) -> Vec<(i64, i32)> {
    let manager = home.open();
    let known = t0(&manager)
        .producers()
        .into_iter()
        .map(|(id, p)| (id.0, p.snapshot_entry(id).last_sequence));
    known.collect()
}

#[test]
fn hc18_a_damaged_snapshot_is_removed_and_the_producer_comes_from_the_log() {
    let good = one_producer().read("1.snapshot");
    let mut flipped = good.clone();
    flipped[30] ^= 1;
    for content in [
        vec![],
        vec![0],
        vec![0; 5],
        vec![0; 200],
        vec![7; 500],
        good[..40].to_vec(),
        flipped,
    ] {
        let home = one_producer();
        home.write("1.snapshot", &content);
        let manager = home.open();
        assert!(tells(&manager, "snapshot"), "{:?}", manager.report());
        let log = t0(&manager);
        let (id, producer) = log.producers().remove(0);
        assert_eq!(
            (id, producer.snapshot_entry(id).last_sequence),
            (ProducerId(1), 0)
        );
        assert_eq!(home.read("1.snapshot").len(), 56, "written anew");
        snapshot::parse(&home.read("1.snapshot")).unwrap();
        manager.close().unwrap();
        assert_eq!(home.open().report(), []);
    }
}

#[test]
fn hc18_the_snapshot_before_a_damaged_one_is_used() {
    let home = one_producer();
    let manager = home.open();
    t0(&manager).roll().unwrap();
    manager.close().unwrap();
    home.write("1.log", of_producer(1));
    home.open_unclean(1).close().unwrap();
    assert_eq!(home.sizes(".snapshot"), [(1, 56), (2, 56)]);
    // The older one says something that the log does not: so it shows that it was read.
    let mut entries = snapshot::parse(&home.read("1.snapshot")).unwrap();
    entries[0].coordinator_epoch = 77;
    home.write("1.snapshot", snapshot::write(&entries));
    home.write("2.snapshot", [0; 56]);
    let manager = home.open();
    let (id, producer) = t0(&manager).producers().remove(0);
    let entry = producer.snapshot_entry(id);
    assert_eq!((entry.last_sequence, entry.coordinator_epoch), (1, 77));
}

#[test]
fn hc18_a_snapshot_over_a_longer_file_keeps_nothing_of_it() {
    let home = one_producer();
    let manager = home.open();
    append(&t0(&manager), &[rec(NOW, "k", "v")]);
    home.write("2.snapshot", [7; 500]);
    manager.close().unwrap();
    assert_eq!(home.read("2.snapshot").len(), 56);
    assert_eq!(home.open().report(), []);
    assert_eq!(last_sequences(&home.copied()), [(1, 0)]);
}

const GOOD_ID: &str = "AAAAAAAAAAAAAAAAAAAAAQ";

fn with_metadata(content: Option<&[u8]>) -> Home {
    let home = Home::new();
    let manager = home.open();
    fill(&t0(&manager), 1);
    manager.close().unwrap();
    match content {
        Some(content) => home.write(METADATA, content),
        None => assert!(!home.has(METADATA)),
    }
    home
}

/// An id that is given is written, stays, and is the only one.
fn assign_and_reopen(home: &Home, manager: &Manager, what: &str) {
    let id = Uuid::parse(GOOD_ID).unwrap();
    t0(manager).assign_topic_id(id).unwrap();
    assert_eq!(
        home.read(METADATA),
        format!("version: 0\ntopic_id: {GOOD_ID}").as_bytes(),
        "{what}"
    );
    manager.close().unwrap();
    let manager = home.open();
    assert_eq!(manager.report(), [], "{what}");
    let log = t0(&manager);
    assert_eq!(log.topic_id(), Some(id), "{what}");
    log.assign_topic_id(id).unwrap();
    let other = log.assign_topic_id(Uuid::parse("AAAAAAAAAAAAAAAAAAAAAg").unwrap());
    assert_eq!(
        other.unwrap_err().kind(),
        ErrorKind::InconsistentTopicId,
        "{what}"
    );
    assert_eq!(log.topic_id(), Some(id), "{what}");
    manager.close().unwrap();
}

#[test]
fn hc19_a_log_without_a_topic_id_opens_and_takes_one() {
    let home = with_metadata(None);
    let manager = home.open();
    assert_eq!(manager.report(), []);
    assert_eq!(t0(&manager).topic_id(), None);
    assign_and_reopen(&home, &manager, "no file");
}

#[test]
fn hc19_a_broken_topic_id_is_put_aside_and_another_can_be_given() {
    let zero = format!("version: 0\ntopic_id: {}\n", "A".repeat(22));
    let broken: [&[u8]; 5] = [
        b"",
        b"version: 0\n",
        &[0; 4],
        zero.as_bytes(),
        b"topic_id: xx",
    ];
    for content in broken {
        let home = with_metadata(Some(content));
        let what = String::from_utf8_lossy(content).into_owned();
        let manager = home.open();
        let log = t0(&manager);
        assert_eq!((log.topic_id(), log.end_offset().0), (None, 1), "{what:?}");
        assert!(
            tells(&manager, METADATA),
            "{what:?}: {:?}",
            manager.report()
        );
        assert!(
            !home.has(METADATA),
            "{what:?}: a stock broker does not start on it"
        );
        assert_eq!(home.read("partition.metadata.corrupt"), content, "{what:?}");
        assign_and_reopen(&home, &manager, &what);
        assert_eq!(
            home.read("partition.metadata.corrupt"),
            content,
            "{what:?}: kept"
        );
    }
}

#[test]
fn hc19_a_later_version_of_the_file_is_read() {
    let home = with_metadata(Some(
        format!("version: 1\ntopic_id: {GOOD_ID}\n").as_bytes(),
    ));
    let manager = home.open();
    assert_eq!(t0(&manager).topic_id(), Some(Uuid::parse(GOOD_ID).unwrap()));
    assert!(Path::new(&home.path(METADATA)).exists());
    assert_eq!(manager.report(), []);
}
