//! Moving logs, resolving what was found twice, and ending calls, as a C program does it.

use std::ptr::{null, null_mut};

use klog::ffi::append::*;
use klog::ffi::cancel::*;
use klog::ffi::constants::*;
use klog::ffi::log::*;
use klog::ffi::moving::*;
use klog::ffi::types::*;

use crate::calls::*;

const NEVER: klog_cancel = klog_cancel { id: 0 };

struct Two {
    root: tempfile::TempDir,
}

impl Two {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        for dir in ["a", "b"] {
            std::fs::create_dir(root.path().join(dir)).unwrap();
        }
        Self { root }
    }

    fn open(&self) -> klog_manager {
        let [a, b] = ["a", "b"].map(|dir| self.root.path().join(dir));
        let mut manager = klog_manager { id: 0 };
        ok(|e| {
            let (status, opened) = open_manager(&[&a, &b], e);
            manager = opened;
            status
        });
        manager
    }

    /// Which of the directories have a `t-0`.
    fn homes(&self) -> Vec<&'static str> {
        let has = |dir: &&str| self.root.path().join(dir).join("t-0").exists();
        ["a", "b"].into_iter().filter(has).collect()
    }
}

fn append_one(log: klog_log) {
    ok(|e| klog_append_one(log, null(), 0, b"v".as_ptr().cast(), 1, 1, null_mut(), e));
}

#[test]
fn a_log_moves_and_its_handles_stay_good() {
    let two = Two::new();
    let owner = two.open();
    let t = log(owner, "t");
    append_one(t);
    let other_handle = log(owner, "t");
    ok(|e| klog_log_move(t, 1, -1, NEVER, e));
    assert_eq!(two.homes(), ["b"]);
    append_one(t);
    append_one(other_handle);
    assert_eq!(end_offset(t), 3);
    ok(|e| klog_log_move(t, 1, -1, NEVER, e));
    ok(|e| klog_log_move(t, 0, 60_000, NEVER, e));
    assert_eq!((two.homes(), end_offset(t)), (vec!["a"], 3));
    close(owner);
    assert_eq!(end_offset(log(two.open(), "t")), 3);
}

#[test]
fn a_move_ends_by_its_time_and_by_a_token_and_goes_on_later() {
    let two = Two::new();
    let owner = two.open();
    let t = log(owner, "t");
    append_one(t);
    refused(KLOG_ERR_TIMED_OUT, "0 ms", |e| {
        klog_log_move(t, 1, 0, NEVER, e)
    });
    let mut token = klog_cancel { id: 0 };
    ok(|e| klog_cancel_create(&raw mut token, e));
    assert_eq!(klog_cancel_fire(token), KLOG_OK);
    refused(KLOG_ERR_CANCELLED, "cancelled", |e| {
        klog_log_move(t, 1, -1, token, e)
    });
    assert_eq!((two.homes(), end_offset(t)), (vec!["a"], 1));
    assert_eq!(klog_cancel_close(token), KLOG_OK);
    assert_eq!(klog_cancel_fire(token), KLOG_ERR_STALE_HANDLE);
    assert_eq!(klog_cancel_close(token), KLOG_ERR_STALE_HANDLE);
    refused(KLOG_ERR_STALE_HANDLE, "Cancel", |e| {
        klog_log_move(t, 1, -1, token, e)
    });
    refused(KLOG_ERR_WRONG_KIND, "no Cancel", |e| {
        klog_log_move(t, 1, -1, klog_cancel { id: t.id }, e)
    });
    ok(|e| klog_log_move(t, 1, -1, NEVER, e));
    assert_eq!(two.homes(), ["b"]);
    close(owner);
}

#[test]
fn moves_that_cannot_be_made_say_why() {
    let two = Two::new();
    let owner = two.open();
    let t = log(owner, "t");
    refused(
        KLOG_ERR_LOG_DIR_NOT_FOUND,
        "number 2, the manager has 2",
        |e| klog_log_move(t, 2, -1, NEVER, e),
    );
    refused(KLOG_ERR_INVALID_ARGUMENT, "timeout_ms is -2", |e| {
        klog_log_move(t, 1, -2, NEVER, e)
    });
    refused(KLOG_ERR_NULL_HANDLE, "Log", |e| {
        klog_log_move(klog_log { id: 0 }, 1, -1, NEVER, e)
    });
    refused(KLOG_ERR_NULL_ARGUMENT, "out", |e| {
        klog_cancel_create(null_mut(), e)
    });
    close(owner);
    refused(KLOG_ERR_CLOSED, "closed", |e| {
        klog_log_move(t, 1, -1, NEVER, e)
    });
}

#[test]
fn one_of_two_copies_is_dropped_and_the_other_is_loaded() {
    let two = Two::new();
    let owner = two.open();
    append_one(log(owner, "t"));
    close(owner);
    let (a, b) = (two.root.path().join("a/t-0"), two.root.path().join("b/t-0"));
    std::fs::create_dir(&b).unwrap();
    for file in std::fs::read_dir(&a).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), b.join(file.file_name())).unwrap();
    }
    let owner = two.open();
    let mut t = klog_log { id: 0 };
    refused(KLOG_ERR_DUPLICATE_LOG, "a/t-0", |e| {
        klog_log_open(owner, b"t".as_ptr().cast(), 1, 0, null(), &raw mut t, e)
    });
    let resolve =
        |partition, dir, e| klog_manager_resolve(owner, b"t".as_ptr().cast(), 1, partition, dir, e);
    refused(KLOG_ERR_INVALID_ARGUMENT, "t-1", |e| resolve(1, 0, e));
    refused(KLOG_ERR_LOG_DIR_NOT_FOUND, "number 7", |e| resolve(0, 7, e));
    refused(KLOG_ERR_INVALID_ARGUMENT, "no copy", |e| {
        klog_log_promote(owner, b"t".as_ptr().cast(), 1, 0, e)
    });
    ok(|e| resolve(0, 0, e));
    assert_eq!(two.homes(), ["b"]);
    ok(|e| klog_log_retry(owner, b"t".as_ptr().cast(), 1, 0, e));
    assert_eq!(end_offset(log(owner, "t")), 1);
    close(owner);
}
