//! A live broker rolls a log while a follower opens it or looks at it: the indexes of the segment that was active, which it
//! holds at their full size until then, are cut to what is in them, and a new segment is there.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use klog::error::Result;
use klog::io::{FileOperation, FileWatch, RealFs, WatchedFs};
use klog::log::Isolation;
use klog::manager::{Access, Manager, ManagerOptions};

use crate::pair::{all, followed};
use crate::support::engine::{Home, fill, t0};

const FULL_INDEX_BYTES: u64 = 65_520;
const INDEXES: [&str; 2] = ["8.index", "8.timeindex"];

/// A directory whose owner rolls `t-0` at some operation of who looks at it.
#[derive(Debug)]
struct Rolling {
    log: PathBuf,
    /// The files of the new segment.
    aside: PathBuf,
    /// The indexes that are cut, and where.
    cut: Vec<(PathBuf, u64)>,
    operations: AtomicUsize,
    /// Before which one it happens.
    at: AtomicUsize,
}

impl Rolling {
    /// Takes a log of the segments 0, 4, 8 and 12 back to before its last roll.
    fn new(home: &Home, at: usize) -> Self {
        let (log, aside) = (home.dir.join("t-0"), home.dir.with_extension("aside"));
        fs::create_dir(&aside).unwrap();
        for name in ["12.log", "12.index", "12.timeindex"] {
            let path = home.path(name);
            fs::rename(&path, aside.join(path.file_name().unwrap())).unwrap();
        }
        let cut = INDEXES.map(|name| {
            let len = fs::metadata(home.path(name)).unwrap().len();
            set_len(&home.path(name), FULL_INDEX_BYTES);
            (home.path(name), len)
        });
        Self {
            log,
            aside,
            cut: cut.to_vec(),
            operations: AtomicUsize::new(0),
            at: AtomicUsize::new(at),
        }
    }

    fn roll(&self) {
        for (path, len) in &self.cut {
            set_len(path, *len);
        }
        for entry in fs::read_dir(&self.aside).unwrap() {
            let entry = entry.unwrap();
            fs::rename(entry.path(), self.log.join(entry.file_name())).unwrap();
        }
    }
}

fn set_len(path: &Path, len: u64) {
    let file = fs::File::options().write(true).open(path).unwrap();
    file.set_len(len).unwrap();
}

impl FileWatch for Rolling {
    fn before(&self, _: FileOperation, path: &Path) -> Result<()> {
        if path.starts_with(&self.log) {
            let n = self.operations.fetch_add(1, Ordering::SeqCst);
            if n == self.at.load(Ordering::SeqCst) {
                self.roll();
            }
        }
        Ok(())
    }
}

fn open(home: &Home, owner: &Arc<Rolling>) -> Manager {
    let manager = Manager::open(ManagerOptions {
        access: Access::ReadOnly,
        fs: Arc::new(WatchedFs::new(
            Arc::new(RealFs),
            Arc::clone(owner) as Arc<dyn FileWatch>,
        )),
        ..home.options()
    });
    manager.unwrap()
}

#[test]
fn a_roll_at_any_moment_of_a_look_is_taken_in() {
    let whole = Home::new()
        .set("internal.segment.bytes", 300)
        .set("index.interval.bytes", 0);
    let owner = whole.open();
    fill(&t0(&owner), 14);
    let expected = all(&t0(&owner), Isolation::LogEnd);
    owner.close().unwrap();
    whole.forget_marker();
    for recovery_point in [0, 8] {
        whole.checkpoint("recovery-point-offset-checkpoint", recovery_point);
        let mut met = (0, 0);
        for at in 0.. {
            let home = whole.copied();
            let owner = Arc::new(Rolling::new(&home, at));
            let follower = open(&home, &owner);
            assert!(
                follower.failed_logs().is_empty(),
                "{:?}",
                follower.failed_logs()
            );
            let of_opening = owner.operations.load(Ordering::SeqCst);
            let is_late = at >= of_opening;
            let seen = followed(&follower, "t-0");
            follower.refresh().unwrap();
            if at >= owner.operations.load(Ordering::SeqCst) {
                break;
            }
            if is_late {
                met.1 += 1;
            } else {
                met.0 += 1;
            }
            follower.refresh().unwrap();
            assert_eq!(all(&seen, Isolation::LogEnd), expected, "rolled at {at}");
        }
        assert!(met.0 > 20 && met.1 > 5, "{met:?}");
    }
}
