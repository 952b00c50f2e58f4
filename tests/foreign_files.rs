//! What is not Kafka's is left alone and told, and what is Kafka's but of no use goes. hard-cases.md HC21, log.md 8.1, 8.4,
//! 14.7, deviations.md D38, D56.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a failure fails the test"
)]

mod support;

use std::collections::BTreeSet;
use std::fs;

use klog::log::FindingKind;
use klog::manager::Manager;

use support::engine::{Home, NOW, append, append_in_epoch, fill, five, log, rec, segments, t0};
use support::tree;

fn ignored(manager: &Manager) -> Vec<String> {
    let found = manager
        .report()
        .iter()
        .filter(|f| f.kind == FindingKind::Ignored);
    found.map(|f| f.text.clone()).collect()
}

/// Names of a log directory that are none of a log's. Of those that hold a directory, with something in it.
const IN_THE_LOG_DIRECTORY: [&str; 6] =
    ["lost+found", ".snapshot", "foo", "a-b", "t-0.bak", "b-01x"];

/// Names of a partition's directory.
const IN_A_PARTITION: [&str; 15] = [
    "foo.log",
    "foo.index",
    "foo.snapshot",
    "foo.swap",
    "foo.cleaned",
    "foo.deleted",
    ".nfs0001.snapshot",
    "00000000000000000002.log.bak",
    "0.log",
    "-5.log",
    "000000000000000000002.log",
    "99999999999999999999.log",
    "0000000000000000000x.log",
    "00000000000000000002.LOG",
    "00000000000000000002.snapshot.bak",
];

#[test]
fn hc21_what_is_not_kafkas_is_left_alone_and_told() {
    for clean in [true, false] {
        let home = Home::new();
        let manager = home.open();
        fill(&t0(&manager), 3);
        manager.close().unwrap();

        for name in IN_THE_LOG_DIRECTORY {
            fs::create_dir(home.dir.join(name)).unwrap();
            fs::write(home.dir.join(name).join("00000000000000000000.log"), "mine").unwrap();
        }
        fs::write(home.dir.join("core.1"), "mine").unwrap();
        let partition = home.dir.join("t-0");
        for name in IN_A_PARTITION {
            fs::write(partition.join(name), "mine").unwrap();
        }
        // A directory with the name of a segment's file, and one of anything.
        fs::create_dir(home.path("9.log")).unwrap();
        fs::create_dir(partition.join("sub")).unwrap();

        let before = tree::content(&home.dir);
        let manager = if clean {
            home.open()
        } else {
            home.open_unclean(0)
        };
        let told = ignored(&manager);
        for name in IN_THE_LOG_DIRECTORY {
            assert!(
                told.iter()
                    .any(|text| text.contains(&format!("left {name} alone"))),
                "{name}: {told:?}"
            );
        }
        for name in IN_A_PARTITION
            .iter()
            .chain(&["00000000000000000009.log", "sub"])
        {
            assert!(
                told.iter()
                    .any(|text| text.contains(&format!("left {name} alone"))),
                "{name}: {told:?}"
            );
        }
        // Nothing became a log or a segment.
        let logs: Vec<String> = manager
            .logs()
            .iter()
            .map(|log| log.partition().to_string())
            .collect();
        assert_eq!(logs, ["t-0"]);
        assert_eq!(segments(&t0(&manager)), [(0, 216)]);
        append(&t0(&manager), &[rec(NOW, "k", "v")]);
        manager.close().unwrap();

        let after = tree::content(&home.dir);
        for (path, content) in &before {
            let name = path.file_name().unwrap().to_str().unwrap();
            let is_foreign = IN_A_PARTITION.contains(&name)
                || path
                    .components()
                    .any(|part| IN_THE_LOG_DIRECTORY.contains(&part.as_os_str().to_str().unwrap()))
                || ["core.1", "sub", "00000000000000000009.log"].contains(&name);
            if is_foreign {
                assert_eq!(after.get(path), Some(content), "{}", path.display());
            }
        }
    }
}

#[test]
fn hc21_the_last_dash_splits_a_partitions_name() {
    let home = Home::new();
    let manager = home.open();
    fill(&log(&manager, "t--1"), 2);
    fill(&log(&manager, "a.b_c-d-12"), 1);
    manager.close().unwrap();
    let manager = home.open();
    let names: Vec<(String, i32)> = manager
        .logs()
        .iter()
        .map(|l| (l.partition().topic.to_string(), l.partition().partition))
        .collect();
    assert_eq!(names, [("a.b_c-d".to_owned(), 12), ("t-".to_owned(), 1)]);
}

#[test]
fn directories_that_wait_for_deletion_or_belong_to_a_broker_are_not_opened() {
    let home = Home::new();
    let manager = home.open();
    fill(&t0(&manager), 1);
    manager.close().unwrap();
    let names = [
        "u-0.0123456789abcdef0123456789abcdef-delete",
        "u-1.0123456789abcdef0123456789abcdef-future",
        "u-2.0123456789abcdef0123456789abcdef-stray",
        "__cluster_metadata-0",
        "remote-log-index-cache",
    ];
    for name in names {
        tree::copy(&home.dir.join("t-0"), &home.dir.join(name));
    }
    let before = tree::content(&home.dir);
    let manager = home.open_unclean(0);
    assert_eq!(manager.logs().len(), 1);
    assert_eq!(
        ignored(&manager),
        [""; 0],
        "they are Kafka's: nothing odd about them"
    );
    manager.close().unwrap();
    let after = tree::content(&home.dir);
    let of = |content: &tree::Content, name: &str| {
        content
            .iter()
            .filter(|(path, _)| path.starts_with(name))
            .map(|(p, c)| (p.clone(), c.clone()))
            .collect::<Vec<_>>()
    };
    for name in names {
        assert_eq!(of(&after, name), of(&before, name), "{name}");
    }
}

/// The log of log.md 14.4, closed.
fn six_segments() -> Home {
    let home = Home::new().set("internal.segment.bytes", 200);
    let manager = home.open();
    let log = t0(&manager);
    for i in 0..6 {
        append_in_epoch(&log, &five(1000 + i), i32::try_from(i).unwrap());
    }
    manager.close().unwrap();
    home
}

#[test]
fn log_md_14_7_missing_indexes_are_rebuilt_and_leftovers_go() {
    let home = six_segments();
    let intact = home.copied();
    home.remove("5.index");
    home.remove("10.timeindex");
    for name in [
        "99.index",
        "5.log.deleted",
        "99.snapshot",
        "7.snapshot.deleted",
        "foo.checkpoint.deleted",
    ] {
        home.write(name, "");
    }
    let manager = home.open();
    assert_eq!(t0(&manager).end_offset().0, 30);
    let files: BTreeSet<String> = home
        .files()
        .into_iter()
        .chain(home.retired_files())
        .collect();
    for gone in [
        "99.index",
        "99.snapshot",
        "5.log.deleted",
        "7.snapshot.deleted",
    ] {
        assert!(!files.contains(gone), "{gone} is still there");
    }
    assert!(files.contains("foo.checkpoint.deleted"));
    // A recovered segment loses the snapshots above it; the last two and that of the end are made anew (log.md 8.5).
    let snapshots: Vec<i64> = home
        .sizes(".snapshot")
        .into_iter()
        .map(|(offset, _)| offset)
        .collect();
    assert_eq!(snapshots, [5, 10, 20, 25, 30]);
    // Where Kafka leaves an empty time index, klog has that of recovery (D41).
    for name in ["5.index", "10.timeindex", "5.timeindex", "10.index"] {
        assert_eq!(home.read(name), intact.read(name), "{name}");
    }
    manager.close().unwrap();
}

#[test]
fn orphaned_indexes_go_with_a_word() {
    let home = six_segments();
    for name in ["99.index", "99.timeindex", "99.txnindex"] {
        home.write(name, [0; 24]);
    }
    let manager = home.open();
    for name in ["99.index", "99.timeindex", "99.txnindex"] {
        assert!(!home.has(name), "{name}");
        let told = manager
            .report()
            .iter()
            .filter(|f| f.kind == FindingKind::Repaired);
        assert_eq!(
            told.filter(|f| f.text.contains(&name[2..])).count(),
            1,
            "{:?}",
            manager.report()
        );
    }
}
