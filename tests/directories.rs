//! Several log directories in one manager: each fails for itself, nothing in a failed one is touched, and what a directory
//! says of itself is true after the next open. manager.md 1-3, 10, deviations.md 5.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a failure fails the test"
)]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use klog::config::ConfigSet;
use klog::error::{Error, ErrorKind};
use klog::format::uuid::Uuid;
use klog::log::{FindingKind, Log};
use klog::manager::{CreateOptions, Manager, ManagerOptions, MissingDir};
use klog::types::TopicPartition;

use support::engine::{CLEAN_MARKER, fill, log, offsets};
use support::tree;

/// Makes a directory unusable.
type Spoil = fn(&Path);

const RECOVERY_POINTS: &str = "recovery-point-offset-checkpoint";

/// Some directories below one that goes with the test.
struct Dirs {
    root: tempfile::TempDir,
    paths: Vec<PathBuf>,
}

impl Dirs {
    fn new(n: usize) -> Self {
        let root = tree::scratch();
        let paths: Vec<PathBuf> = (0..n)
            .map(|i| root.path().join(format!("disk-{i}")))
            .collect();
        for path in &paths {
            fs::create_dir(path).unwrap();
        }
        Self { root, paths }
    }

    fn try_open(&self) -> Result<Manager, Error> {
        let config = Arc::new(ConfigSet::broker().resolve().unwrap());
        Manager::open(ManagerOptions::new(self.paths.clone(), config))
    }

    fn open(&self) -> Manager {
        self.try_open().unwrap()
    }

    fn file(&self, dir: usize, name: &str) -> PathBuf {
        self.paths[dir].join(name)
    }

    fn is_clean(&self, dir: usize) -> bool {
        self.file(dir, CLEAN_MARKER).exists()
    }

    /// Makes a log of the first directory unloadable. The file that was replaced, and what it held.
    fn spoil(&self, partition: &str) -> (PathBuf, Vec<u8>) {
        let log_file = self.file(0, partition).join("00000000000000000000.log");
        let bytes = fs::read(&log_file).unwrap();
        fs::remove_file(&log_file).unwrap();
        std::os::unix::fs::symlink("/nowhere/at/all", &log_file).unwrap();
        (log_file, bytes)
    }

    /// A log in one of the directories, with `n` records.
    fn make(&self, manager: &Manager, dir: usize, partition: &str, n: i64) -> Arc<Log> {
        let options = CreateOptions {
            dir: Some(self.paths[dir].clone()),
            ..CreateOptions::default()
        };
        let log = manager
            .get_or_create_log(&name(partition), &options)
            .unwrap();
        fill(&log, n);
        log
    }
}

fn name(partition: &str) -> TopicPartition {
    klog::format::names::parse_topic_partition(partition).unwrap()
}

fn failures(manager: &Manager) -> Vec<Option<ErrorKind>> {
    manager
        .dirs()
        .iter()
        .map(|dir| dir.failure.as_ref().map(Error::kind))
        .collect()
}

/// Everything but the lock file, which comes and goes.
fn content(dir: &Path) -> tree::Content {
    tree::content(dir)
        .into_iter()
        .filter(|(path, _)| path != Path::new(".lock"))
        .collect()
}

#[test]
fn a_log_lies_where_it_was_asked_for_or_where_the_fewest_are() {
    let dirs = Dirs::new(3);
    let manager = dirs.open();
    dirs.make(&manager, 1, "a-0", 1);
    let homes: Vec<usize> = ["b-0", "b-1", "c-0"]
        .iter()
        .map(|partition| {
            let log = log(&manager, partition);
            dirs.paths
                .iter()
                .position(|path| log.dir().starts_with(path))
                .unwrap()
        })
        .collect();
    assert_eq!(homes, [0, 2, 0]);
    let foreign = CreateOptions {
        dir: Some(dirs.root.path().to_path_buf()),
        ..CreateOptions::default()
    };
    let refused = manager
        .get_or_create_log(&name("d-0"), &foreign)
        .unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::LogDirNotFound);
    manager.close().unwrap();
    let manager = dirs.open();
    assert!(manager.dirs().iter().all(|dir| dir.was_clean));
    let logs: Vec<String> = manager
        .logs()
        .iter()
        .map(|log| log.partition().to_string())
        .collect();
    assert_eq!(logs, ["a-0", "b-0", "b-1", "c-0"]);
}

#[test]
fn a_directory_that_cannot_be_used_fails_alone_and_keeps_every_byte() {
    let spoil: [(&str, ErrorKind, Spoil); 4] = [
        (
            "d61: meta.properties does not parse",
            ErrorKind::CorruptState,
            |dir| {
                fs::write(dir.join("meta.properties"), "version=1\nnode.id=x\n").unwrap();
            },
        ),
        (
            "meta.properties of another node",
            ErrorKind::CorruptState,
            |dir| {
                fs::write(
                    dir.join("meta.properties"),
                    "version=1\ncluster.id=c\nnode.id=8\n",
                )
                .unwrap();
            },
        ),
        ("gone", ErrorKind::LogDirNotFound, |dir| {
            fs::remove_dir_all(dir).unwrap();
        }),
        (
            "d60: a checkpoint that is no file",
            ErrorKind::KafkaStorage,
            |dir| {
                fs::remove_file(dir.join(RECOVERY_POINTS)).unwrap();
                fs::create_dir(dir.join(RECOVERY_POINTS)).unwrap();
            },
        ),
    ];
    for (what, kind, spoil) in spoil {
        let dirs = Dirs::new(2);
        let manager = dirs.open();
        dirs.make(&manager, 0, "a-0", 5);
        dirs.make(&manager, 1, "b-0", 5);
        manager.close().unwrap();
        fs::write(
            dirs.file(0, "meta.properties"),
            "version=1\ncluster.id=c\nnode.id=7\n",
        )
        .unwrap();
        spoil(&dirs.paths[1]);
        let exists = dirs.paths[1].exists();
        let before = if exists {
            content(&dirs.paths[1])
        } else {
            tree::Content::default()
        };

        let manager = dirs.open();
        assert_eq!(failures(&manager), [None, Some(kind)], "{what}");
        let told = manager
            .report()
            .iter()
            .find(|finding| finding.kind == FindingKind::Failed)
            .unwrap();
        assert_eq!(told.dir, dirs.paths[1], "{what}");
        assert_eq!(
            offsets(&manager.log(&name("a-0")).unwrap(), 0),
            [0, 1, 2, 3, 4]
        );
        let absent = manager.log(&name("b-0")).unwrap_err();
        assert_eq!(absent.kind(), ErrorKind::UnknownTopicOrPartition, "{what}");
        // It may lie in the directory that is offline: a second, empty one must not be made.
        let refused = manager
            .get_or_create_log(&name("b-0"), &CreateOptions::default())
            .unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::KafkaStorage, "{what}");
        let told = manager.close().unwrap_err();
        assert_eq!(told.kind(), kind, "{what}");
        assert!(dirs.is_clean(0), "{what}");
        if exists {
            assert_eq!(
                tree::differences(&before, &content(&dirs.paths[1])),
                [""; 0],
                "{what}"
            );
        } else {
            assert!(!dirs.paths[1].exists());
        }
    }
}

#[test]
fn without_any_usable_directory_nothing_opens_and_nothing_changes() {
    let dirs = Dirs::new(2);
    for dir in 0..2 {
        fs::write(dirs.file(dir, "meta.properties"), "version=9\n").unwrap();
        fs::write(dirs.file(dir, CLEAN_MARKER), "{}").unwrap();
    }
    let before = tree::content(dirs.root.path());
    let error = dirs.try_open().unwrap_err();
    assert!(error.to_string().contains("meta.properties"), "{error}");
    let after: tree::Content = tree::content(dirs.root.path())
        .into_iter()
        .filter(|(path, _)| !path.ends_with(".lock"))
        .collect();
    assert_eq!(tree::differences(&before, &after), [""; 0]);
}

#[test]
fn one_directory_under_two_names_is_refused() {
    let mut dirs = Dirs::new(1);
    let link = dirs.root.path().join("link");
    std::os::unix::fs::symlink(&dirs.paths[0], &link).unwrap();
    dirs.paths.push(link);
    let error = dirs.try_open().unwrap_err();
    assert!(
        error.to_string().contains("Duplicate log directory"),
        "{error}"
    );
    assert_eq!(content(&dirs.paths[0]), tree::Content::default());
}

#[test]
fn one_directory_inside_another_is_refused_and_both_are_named() {
    for (first, second) in [("a", "a/b-0"), ("a/b/c", "a")] {
        let mut dirs = Dirs::new(0);
        for name in [first, second] {
            let path = dirs.root.path().join(name);
            fs::create_dir_all(&path).unwrap();
            dirs.paths.push(path);
        }
        let before = tree::content(dirs.root.path());
        let error = dirs.try_open().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        for path in &dirs.paths {
            assert!(error.message().contains(path.to_str().unwrap()), "{error}");
        }
        assert_eq!(tree::content(dirs.root.path()), before);
    }
    // A name that only begins alike is another directory.
    let mut dirs = Dirs::new(1);
    let alike = dirs.root.path().join("disk-00");
    fs::create_dir(&alike).unwrap();
    dirs.paths.push(alike);
    dirs.open().close().unwrap();
}

#[test]
fn a_directory_is_chosen_by_its_id_and_the_ids_of_all_are_told() {
    let dirs = Dirs::new(3);
    let manager = dirs.open();
    let ids: Vec<Uuid> = (0..3u8).map(|n| Uuid([n + 9; 16])).collect();
    for (path, id) in dirs.paths.iter().zip(&ids) {
        manager.create_meta(path, "cluster", 1, Some(*id)).unwrap();
    }
    let twice = manager.create_meta(&dirs.paths[0], "cluster", 1, Some(ids[1]));
    assert_eq!(twice.unwrap_err().kind(), ErrorKind::InvalidArgument);
    let told = |manager: &Manager| -> Vec<Uuid> {
        let dirs = manager.dirs();
        dirs.iter()
            .map(|dir| dir.meta.directory_id.unwrap())
            .collect()
    };
    assert_eq!(told(&manager), ids);
    let make = |manager: &Manager, partition: &str, id| {
        let options = CreateOptions {
            directory_id: Some(id),
            ..CreateOptions::default()
        };
        let log = manager
            .get_or_create_log(&name(partition), &options)
            .unwrap();
        let home = log.dir().parent().unwrap().to_path_buf();
        dirs.paths.iter().position(|path| *path == home).unwrap()
    };
    assert_eq!(make(&manager, "a-0", ids[2]), 2);
    assert_eq!(make(&manager, "a-1", ids[2]), 2);
    // manager.md 3.2 (2): an id that no directory has says nothing.
    assert_eq!(make(&manager, "a-2", Uuid([77; 16])), 0);
    manager.close().unwrap();
    assert_eq!(told(&dirs.open()), ids);
}

#[test]
fn one_locked_directory_refuses_all_and_leaves_the_markers() {
    let dirs = Dirs::new(2);
    dirs.open().close().unwrap();
    let one = Dirs {
        root: tree::scratch(),
        paths: vec![dirs.paths[1].clone()],
    };
    let owner = one.open();
    let error = dirs.try_open().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DirLocked);
    assert!(error.to_string().contains("disk-1"), "{error}");
    assert!(dirs.is_clean(0), "the first directory is as it was");
    owner.close().unwrap();
    dirs.open().close().unwrap();
}

#[test]
fn d58_a_partition_in_two_directories_is_served_from_none_and_both_stay() {
    let dirs = Dirs::new(2);
    let manager = dirs.open();
    dirs.make(&manager, 0, "a-0", 3);
    dirs.make(&manager, 1, "b-0", 3);
    manager.close().unwrap();
    tree::copy(&dirs.file(0, "a-0"), &dirs.file(1, "a-0"));
    let before = [content(&dirs.file(0, "a-0")), content(&dirs.file(1, "a-0"))];
    let manager = dirs.open();
    let error = manager.log(&name("a-0")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DuplicateLog);
    for dir in &dirs.paths {
        assert!(error.to_string().contains(dir.to_str().unwrap()), "{error}");
    }
    let refused = manager
        .get_or_create_log(&name("a-0"), &CreateOptions::default())
        .unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::DuplicateLog);
    assert_eq!(offsets(&manager.log(&name("b-0")).unwrap(), 0), [0, 1, 2]);
    manager.close().unwrap();
    assert_eq!(
        [content(&dirs.file(0, "a-0")), content(&dirs.file(1, "a-0"))],
        before
    );
    assert!(
        !dirs.is_clean(0) && !dirs.is_clean(1),
        "what was not opened was not closed"
    );
    // One copy gone, the log is back, with the offset that its checkpoint kept.
    let manager = dirs.open();
    let still = manager.retry_log(&name("a-0")).unwrap_err();
    assert_eq!(still.kind(), ErrorKind::DuplicateLog);
    fs::remove_dir_all(dirs.file(1, "a-0")).unwrap();
    let log = manager.retry_log(&name("a-0")).unwrap();
    assert_eq!(offsets(&log, 0), [0, 1, 2]);
    assert!(manager.failed_logs().is_empty());
    drop(log);
    manager.abandon();
    let manager = dirs.open();
    assert_eq!(offsets(&manager.log(&name("a-0")).unwrap(), 0), [0, 1, 2]);
    assert_eq!(manager.log(&name("a-0")).unwrap().recovery_point().0, 3);
}

#[test]
fn d57_a_log_that_does_not_load_leaves_the_others_and_keeps_its_checkpoint() {
    let dirs = Dirs::new(1);
    let manager = dirs.open();
    dirs.make(&manager, 0, "a-0", 3);
    dirs.make(&manager, 0, "b-0", 3);
    manager.close().unwrap();
    let (log_file, bytes) = dirs.spoil("a-0");
    let manager = dirs.open();
    assert_eq!(manager.failed_logs().len(), 1);
    assert!(manager.log(&name("a-0")).is_err());
    fill(&manager.log(&name("b-0")).unwrap(), 2);
    manager.close().unwrap();
    assert!(!dirs.is_clean(0));
    let points = fs::read_to_string(dirs.file(0, RECOVERY_POINTS)).unwrap();
    assert_eq!(points, "0\n2\na 0 3\nb 0 5\n");
    fs::remove_file(&log_file).unwrap();
    fs::write(&log_file, bytes).unwrap();
    let manager = dirs.open();
    assert_eq!(offsets(&manager.log(&name("a-0")).unwrap(), 0), [0, 1, 2]);
    manager.close().unwrap();
    assert!(dirs.is_clean(0));
}

#[test]
fn d57_a_log_that_did_not_load_is_loaded_when_it_can_be() {
    let dirs = Dirs::new(1);
    let manager = dirs.open();
    dirs.make(&manager, 0, "a-0", 5);
    dirs.make(&manager, 0, "b-0", 3);
    manager.close().unwrap();
    let (log_file, bytes) = dirs.spoil("a-0");
    let manager = dirs.open();
    let partition = name("a-0");
    let first = manager.log(&partition).unwrap_err();
    let again = manager.retry_log(&partition).unwrap_err();
    assert_eq!(again.kind(), first.kind());
    assert_eq!(manager.failed_logs().len(), 1);
    // Loaded already, and never heard of.
    assert_eq!(manager.retry_log(&name("b-0")).unwrap().end_offset().0, 3);
    let unknown = manager.retry_log(&name("c-0")).unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::UnknownTopicOrPartition);

    // The last batch is gone: less is there than the recovery point that was kept says.
    fs::remove_file(&log_file).unwrap();
    fs::write(&log_file, &bytes[..bytes.len() - 1]).unwrap();
    let log = manager.retry_log(&partition).unwrap();
    assert_eq!(offsets(&log, 0), [0, 1, 2, 3]);
    assert!(manager.failed_logs().is_empty());
    assert!(Arc::ptr_eq(&log, &manager.log(&partition).unwrap()));
    let points = fs::read_to_string(dirs.file(0, RECOVERY_POINTS)).unwrap();
    assert_eq!(points, "0\n2\na 0 4\nb 0 3\n", "before any append");
    fill(&log, 2);
    manager.close().unwrap();
    assert!(dirs.is_clean(0));
    let manager = dirs.open();
    assert_eq!(
        offsets(&manager.log(&partition).unwrap(), 0),
        [0, 1, 2, 3, 4, 5]
    );
}

#[test]
fn d57_what_was_kept_for_a_log_goes_with_it() {
    let dirs = Dirs::new(1);
    let manager = dirs.open();
    dirs.make(&manager, 0, "a-0", 5);
    manager.close().unwrap();
    let (log_file, bytes) = dirs.spoil("a-0");
    let manager = dirs.open();
    fs::remove_file(&log_file).unwrap();
    fs::write(&log_file, &bytes).unwrap();
    manager.retry_log(&name("a-0")).unwrap();
    manager.delete_log(&name("a-0")).unwrap();
    manager.checkpoint().unwrap();
    let points = fs::read_to_string(dirs.file(0, RECOVERY_POINTS)).unwrap();
    assert_eq!(points, "0\n0\n");
}

#[test]
fn d59_a_malformed_checkpoint_counts_as_absent_is_told_and_rewritten() {
    for content in ["what", "0\n2\na 0 3\n", "1\n0\n", "0\n1\na 0 x\n"] {
        let dirs = Dirs::new(1);
        let manager = dirs.open();
        dirs.make(&manager, 0, "a-0", 3);
        manager.close().unwrap();
        fs::write(dirs.file(0, RECOVERY_POINTS), content).unwrap();
        let manager = dirs.open();
        let told = manager
            .report()
            .iter()
            .find(|finding| finding.kind == FindingKind::Repaired)
            .unwrap();
        assert!(told.text.contains(RECOVERY_POINTS), "{}", told.text);
        assert_eq!(offsets(&manager.log(&name("a-0")).unwrap(), 0), [0, 1, 2]);
        manager.close().unwrap();
        assert_eq!(
            fs::read_to_string(dirs.file(0, RECOVERY_POINTS)).unwrap(),
            "0\n1\na 0 3\n"
        );
    }
}

#[test]
fn d55_what_lies_where_a_log_is_made_is_loaded_as_after_a_crash() {
    let dirs = Dirs::new(2);
    let manager = dirs.open();
    dirs.make(&manager, 0, "a-0", 5);
    manager.close().unwrap();
    let files = dirs.file(0, "a-0");
    fs::rename(&files, dirs.root.path().join("aside")).unwrap();
    let manager = dirs.open();
    // Somebody puts it there while the directory is open, its last batch torn.
    let torn = dirs.root.path().join("aside/00000000000000000000.log");
    let bytes = fs::read(&torn).unwrap();
    fs::write(&torn, &bytes[..bytes.len() - 5]).unwrap();
    fs::rename(dirs.root.path().join("aside"), &files).unwrap();
    let log = dirs.make(&manager, 0, "a-0", 0);
    assert_eq!(offsets(&log, 0), [0, 1, 2, 3]);
    fill(&log, 1);
    manager.close().unwrap();
    assert_eq!(
        offsets(&dirs.open().log(&name("a-0")).unwrap(), 0),
        [0, 1, 2, 3, 4]
    );
}

#[test]
fn a_missing_directory_is_made_only_when_that_is_asked_for() {
    let dirs = Dirs::new(1);
    let missing = dirs.root.path().join("not/there/yet");
    let config = Arc::new(ConfigSet::broker().resolve().unwrap());
    let mut options = ManagerOptions::new(vec![missing.clone()], config);
    assert_eq!(
        Manager::open(options.clone()).unwrap_err().kind(),
        ErrorKind::LogDirNotFound
    );
    assert!(!dirs.root.path().join("not").exists());
    options.missing_dir = MissingDir::Create;
    let manager = Manager::open(options).unwrap();
    log(&manager, "a-0");
    manager.close().unwrap();
    assert!(missing.join(CLEAN_MARKER).exists());
}
