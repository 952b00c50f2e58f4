//! A read-only manager refuses what would change something, and leaves its directory as it is to the last byte and time.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use klog::error::{ErrorKind, Result};
use klog::format::uuid::Uuid;
use klog::log::{AppendOptions, Isolation, Log, TxnMarker};
use klog::manager::{Access, CreateOptions, Manager, ManagerOptions, MissingDir, Pass, Task};
use klog::types::{LeaderEpoch, Offset, ProducerId, TopicPartition};

use crate::pair::{all, ensure_same, followed};
use crate::support::engine::{Home, NOW, builder, fill, log, offsets, rec, t0, v2};
use crate::support::tree;

/// Directories as a load would change them: an end that is torn, indexes and a marker that are not there.
fn to_be_mended() -> Home {
    let home = Home::new().set("internal.segment.bytes", 300);
    let owner = home.open();
    fill(&t0(&owner), 10);
    fill(&log(&owner, "u-0"), 3);
    owner.close().unwrap();
    home.forget_marker();
    home.remove("0.index");
    home.remove("leader-epoch-checkpoint");
    home.extend("8.log", &v2(10, &[("a", "torn")])[..30]);
    home.write("8.log.cleaned", "left by a crash");
    home.write("0.timeindex.deleted", "");
    home
}

type Call<'c> = (&'static str, Box<dyn Fn() -> Result<()> + 'c>);

/// The calls of a log.
fn of_log(t: &Log) -> Vec<Call<'_>> {
    let marker = TxnMarker {
        producer_id: ProducerId(1),
        producer_epoch: 0,
        commit: true,
        coordinator_epoch: 0,
    };
    let options = AppendOptions::default;
    let records = || builder(&[rec(NOW, "k", "v")]);
    vec![
        (
            "append",
            Box::new(move || t.append(&mut records(), &options()).map(drop)),
        ),
        (
            "append_batches",
            Box::new(move || {
                t.append_batches(&v2(0, &[("k", "v")]), &options())
                    .map(drop)
            }),
        ),
        (
            "append_marker",
            Box::new(move || t.append_marker(&marker, &options()).map(drop)),
        ),
        ("roll", Box::new(|| t.roll().map(drop))),
        ("flush", Box::new(|| t.flush())),
        ("flush_to", Box::new(|| t.flush_to(Offset(1)))),
        ("flush_if_due", Box::new(|| t.flush_if_due())),
        (
            "delete_below_start",
            Box::new(|| t.delete_below_start().map(drop)),
        ),
        ("remove_retired", Box::new(|| t.remove_retired().map(drop))),
        (
            "assign_topic_id",
            Box::new(|| t.assign_topic_id(Uuid([7; 16]))),
        ),
        (
            "assign_epoch",
            Box::new(|| t.assign_epoch(LeaderEpoch(3), Offset(3))),
        ),
        (
            "set_high_watermark",
            Box::new(|| t.set_high_watermark(Offset(3)).map(drop)),
        ),
        (
            "raise_high_watermark",
            Box::new(|| t.raise_high_watermark(Offset(3)).map(drop)),
        ),
        (
            "leave_high_watermark",
            Box::new(|| t.leave_high_watermark_to_caller()),
        ),
        (
            "expire_producers",
            Box::new(|| t.expire_producers().map(drop)),
        ),
    ]
}

/// The calls of a manager; another one owns its directory.
fn of_manager<'c>(manager: &'c Manager, t: &'c Arc<Log>, owner: &'c Manager) -> Vec<Call<'c>> {
    let create = |partition: &TopicPartition, topic_id| {
        let options = CreateOptions {
            topic_id,
            ..CreateOptions::default()
        };
        manager.get_or_create_log(partition, &options).map(drop)
    };
    let new = || TopicPartition::new("new", 0);
    let partition = t.partition();
    vec![
        ("flush_all", Box::new(|| manager.flush_all())),
        (
            "truncate_to",
            Box::new(|| manager.truncate_to(t, Offset(3)).map(drop)),
        ),
        (
            "truncate_to the end",
            Box::new(|| manager.truncate_to(t, Offset(99)).map(drop)),
        ),
        (
            "truncate_fully",
            Box::new(|| manager.truncate_fully(t, Offset(3), None)),
        ),
        (
            "delete_records",
            Box::new(|| manager.delete_records(t, Offset(3)).map(drop)),
        ),
        (
            "delete_records of none",
            Box::new(|| manager.delete_records(t, Offset(0)).map(drop)),
        ),
        (
            "retain",
            Box::new(|| manager.retain(t, Pass::Apply).map(drop)),
        ),
        (
            "retain_all",
            Box::new(|| manager.retain_all(Pass::Apply).map(drop)),
        ),
        (
            "move_log",
            Box::new(|| manager.move_log(t, Path::new("/elsewhere"), || Ok(()))),
        ),
        (
            "resolve",
            Box::new(move || manager.resolve(partition, Path::new("/elsewhere"))),
        ),
        (
            "promote_future",
            Box::new(move || manager.promote_future(partition).map(drop)),
        ),
        (
            "create_meta",
            Box::new(|| manager.create_meta(Path::new("/elsewhere"), "c", 1, None)),
        ),
        (
            "delete_log",
            Box::new(move || manager.delete_log(partition)),
        ),
        (
            "remove_deleted",
            Box::new(|| manager.remove_deleted().map(drop)),
        ),
        ("checkpoint", Box::new(|| manager.checkpoint())),
        ("create", Box::new(move || create(&new(), None))),
        (
            "open with a topic id",
            Box::new(move || create(partition, Some(Uuid([7; 16])))),
        ),
        (
            "adopt into",
            Box::new(move || manager.adopt(owner, partition).map(drop)),
        ),
        (
            "adopt from",
            Box::new(move || owner.adopt(manager, partition).map(drop)),
        ),
    ]
}

#[test]
fn every_call_that_would_change_something_is_refused_and_says_what_to_do() {
    let home = to_be_mended();
    let manager = home.follow();
    let t = followed(&manager, "t-0");
    let before = (tree::content(&home.dir), tree::times(&home.dir));
    let elsewhere = Home::new();
    let owner = elsewhere.open();
    let mut calls = of_log(&t);
    calls.extend(of_manager(&manager, &t, &owner));
    for (name, call) in &calls {
        let error = call().expect_err(name);
        assert_eq!(error.kind(), ErrorKind::ReadOnly, "{name}: {error}");
        assert!(error.message().contains("open"), "{name}: {error}");
        assert_eq!(offsets(&t, 0).len(), 10, "{name}");
    }
    // What changes nothing is answered.
    assert!(
        manager
            .get_or_create_log(t.partition(), &CreateOptions::default())
            .is_ok()
    );
    assert_eq!(
        manager.retain(&t, Pass::DryRun).unwrap().deleted.segments,
        0
    );
    home.clock.advance(1 << 40);
    let ticked = manager.tick().unwrap();
    assert_eq!((ticked.tasks, ticked.next_due), (vec![], None));
    manager.run(Task::Retention).unwrap();
    manager.run(Task::Checkpoint).unwrap();
    drop(calls);
    manager.close().unwrap();
    assert_eq!(t.flush().unwrap_err().kind(), ErrorKind::Closed);
    assert_eq!((tree::content(&home.dir), tree::times(&home.dir)), before);
}

#[test]
fn a_directory_that_a_load_would_change_is_read_as_after_it_and_stays() {
    let home = to_be_mended();
    let before = (tree::content(&home.dir), tree::times(&home.dir));
    let loaded = home.copied();
    let owner = loaded.open();
    for refreshes in [0, 3] {
        let manager = home.follow();
        for _ in 0..refreshes {
            manager.refresh().unwrap();
        }
        ensure_same(&t0(&owner), &followed(&manager, "t-0"));
        assert!(manager.open_counts().bytes_truncated > 0);
        manager.close().unwrap();
        assert_eq!((tree::content(&home.dir), tree::times(&home.dir)), before);
    }
}

#[test]
fn the_marker_of_a_clean_shutdown_stays() {
    let home = Home::new();
    let owner = home.open();
    fill(&t0(&owner), 3);
    owner.close().unwrap();
    let before = (tree::content(&home.dir), tree::times(&home.dir));
    let manager = home.follow();
    assert!(manager.dirs()[0].was_clean);
    assert_eq!(offsets(&followed(&manager, "t-0"), 0), [0, 1, 2]);
    drop(manager);
    assert_eq!((tree::content(&home.dir), tree::times(&home.dir)), before);
    assert!(home.is_clean());
}

#[test]
fn a_directory_without_the_right_to_write_is_read() {
    let home = to_be_mended();
    let protect = |mode_of_files, mode_of_dirs| {
        for name in ["t-0", "u-0", "."] {
            let dir = home.dir.join(name);
            for entry in fs::read_dir(&dir).unwrap() {
                let path = entry.unwrap().path();
                if path.is_file() {
                    fs::set_permissions(&path, fs::Permissions::from_mode(mode_of_files)).unwrap();
                }
            }
            fs::set_permissions(&dir, fs::Permissions::from_mode(mode_of_dirs)).unwrap();
        }
    };
    protect(0o444, 0o555);
    let manager = home.follow();
    assert_eq!(offsets(&followed(&manager, "t-0"), 0).len(), 10);
    manager.refresh().unwrap();
    manager.close().unwrap();
    protect(0o644, 0o755);
}

#[test]
fn a_directory_that_is_not_there_is_not_made() {
    let home = Home::new();
    let missing = home.dir.join("missing");
    let error = Manager::open(ManagerOptions {
        dirs: vec![missing.clone()],
        missing_dir: MissingDir::Create,
        access: Access::ReadOnly,
        ..home.options()
    })
    .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LogDirNotFound);
    assert!(!missing.exists());
}

#[test]
fn followers_and_an_owner_are_there_at_once() {
    let home = Home::new().set("internal.segment.bytes", 300);
    let first = home.follow();
    let owner = home.open();
    let second = home.follow();
    let owned = t0(&owner);
    for _ in 0..4 {
        fill(&owned, 5);
        for follower in [&first, &second] {
            follower.refresh().unwrap();
            ensure_same(&owned, &followed(follower, "t-0"));
        }
    }
    // They keep nobody from closing, or from opening again.
    owner.close().unwrap();
    let owner = home.open();
    first.close().unwrap();
    fill(&t0(&owner), 5);
    second.refresh().unwrap();
    assert_eq!(all(&followed(&second, "t-0"), Isolation::LogEnd).len(), 25);
}
