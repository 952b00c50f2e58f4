//! KLOG_OPEN_READ_ONLY and klog_manager_refresh: what is refused, what is seen, and that nothing is touched.

use std::ffi::{CString, c_char};
use std::path::{Path, PathBuf};
use std::ptr::{null, null_mut};
use std::time::SystemTime;

use klog::ffi::append::*;
use klog::ffi::constants::*;
use klog::ffi::cursor::*;
use klog::ffi::log::*;
use klog::ffi::maintain::*;
use klog::ffi::manager::*;
use klog::ffi::offsets::*;
use klog::ffi::read::*;
use klog::ffi::truncate::*;
use klog::ffi::types::*;

use crate::calls::*;

const NO_LOG: klog_log = klog_log { id: 0 };

fn open_with(dir: &Path, flags: u32, threads: u32) -> klog_manager {
    let path = CString::new(dir.to_str().unwrap()).unwrap();
    let pointers = [path.as_ptr()];
    let mut options = init!(klog_manager_options);
    options.dirs = pointers.as_ptr();
    options.dir_count = 1;
    options.flags = flags;
    options.background_threads = threads;
    let mut manager = klog_manager { id: 0 };
    ok(|e| klog_manager_open(&raw const options, &raw mut manager, e));
    manager
}

fn follow(dir: &Path) -> klog_manager {
    open_with(dir, KLOG_OPEN_READ_ONLY, 0)
}

fn existing(manager: klog_manager, topic: &str) -> klog_log {
    let topic = CString::new(topic).unwrap();
    let mut log = NO_LOG;
    ok(|e| klog_log_open(manager, topic.as_ptr(), NTS, 0, null(), &raw mut log, e));
    log
}

fn append(log: klog_log, count: usize) {
    for _ in 0..count {
        ok(|e| klog_append_one(log, null(), 0, null(), 0, 1, null_mut(), e));
    }
}

/// Modification times of everything in a directory.
fn times(dir: &Path) -> Vec<(PathBuf, SystemTime)> {
    let mut found = vec![(
        dir.to_path_buf(),
        dir.metadata().unwrap().modified().unwrap(),
    )];
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(times(&path));
        } else {
            let modified = path.metadata().unwrap().modified().unwrap();
            found.push((path, modified));
        }
    }
    found.sort();
    found
}

fn batch_of(log: klog_log) -> Vec<u8> {
    let mut bytes = vec![0u8; 4096];
    let mut result = init!(klog_read_result);
    ok(|e| {
        klog_read(
            log,
            0,
            null(),
            bytes.as_mut_ptr().cast(),
            bytes.len(),
            &raw mut result,
            e,
        )
    });
    bytes.truncate(result.bytes as usize);
    bytes
}

type Call<'c> = (
    &'static str,
    Box<dyn Fn(*mut klog_error) -> klog_status + 'c>,
);

fn open_log(
    manager: klog_manager,
    name: &str,
    flags: u32,
    topic_id: u8,
    err: *mut klog_error,
) -> klog_status {
    let mut options = init!(klog_log_options);
    options.flags = flags;
    options.topic_id = [topic_id; 16];
    let name = CString::new(name).unwrap();
    let mut opened = NO_LOG;
    klog_log_open(
        manager,
        name.as_ptr(),
        NTS,
        0,
        &raw const options,
        &raw mut opened,
        err,
    )
}

/// Every call that would change something.
fn changing<'c>(
    m: klog_manager,
    t: klog_log,
    batch: &'c [u8],
    values: &'c [klog_record],
) -> Vec<Call<'c>> {
    vec![
        (
            "klog_append",
            Box::new(move |e| klog_append(t, values.as_ptr(), 1, null(), null_mut(), e)),
        ),
        (
            "klog_append_one",
            Box::new(move |e| klog_append_one(t, null(), 0, null(), 0, 1, null_mut(), e)),
        ),
        (
            "klog_append_batches",
            Box::new(move |e| {
                klog_append_batches(t, batch.as_ptr().cast(), batch.len(), null(), null_mut(), e)
            }),
        ),
        (
            "klog_append_marker",
            Box::new(move |e| klog_append_marker(t, 1, 0, 1, 0, null_mut(), e)),
        ),
        ("klog_roll", Box::new(move |e| klog_roll(t, null_mut(), e))),
        ("klog_flush", Box::new(move |e| klog_flush(t, -1, 0, e))),
        ("klog_flush_all", Box::new(move |e| klog_flush_all(m, 0, e))),
        (
            "klog_checkpoint",
            Box::new(move |e| klog_checkpoint(m, KLOG_CHECKPOINT_RECOVERY_POINT, e)),
        ),
        (
            "klog_truncate_to",
            Box::new(move |e| klog_truncate_to(t, 1, null_mut(), e)),
        ),
        (
            "klog_truncate_fully",
            Box::new(move |e| klog_truncate_fully(t, 1, -1, e)),
        ),
        (
            "klog_delete_records",
            Box::new(move |e| klog_delete_records(t, 1, null_mut(), e)),
        ),
        (
            "klog_retain",
            Box::new(move |e| klog_retain(m, NO_LOG, 0, null_mut(), e)),
        ),
        (
            "klog_retain of one",
            Box::new(move |e| klog_retain(m, t, 0, null_mut(), e)),
        ),
        (
            "klog_log_delete",
            Box::new(move |e| klog_log_delete(t, 0, e)),
        ),
        (
            "klog_epoch_assign",
            Box::new(move |e| klog_epoch_assign(t, 3, 3, e)),
        ),
        (
            "klog_high_watermark_set",
            Box::new(move |e| klog_high_watermark_set(t, 1, null_mut(), e)),
        ),
        (
            "klog_log_open, made",
            Box::new(move |e| open_log(m, "new", KLOG_LOG_CREATE, 0, e)),
        ),
        (
            "klog_log_open, given an id",
            Box::new(move |e| open_log(m, "t", KLOG_LOG_HAS_TOPIC_ID, 7, e)),
        ),
        (
            "klog_log_open, manual",
            Box::new(move |e| open_log(m, "t", KLOG_LOG_MANUAL_HW, 0, e)),
        ),
    ]
}

#[test]
fn every_call_that_changes_something_is_refused_and_nothing_is_touched() {
    let root = tempfile::tempdir().unwrap();
    let owner = manager(root.path());
    append(log(owner, "t"), 3);
    close(owner);
    // As a crash leaves it: a load has something to do.
    std::fs::remove_file(root.path().join(".kafka_cleanshutdown")).unwrap();
    let segment = root.path().join("t-0/00000000000000000000.log");
    let mut content = std::fs::read(&segment).unwrap();
    content.extend_from_slice(&[0; 40]);
    std::fs::write(&segment, content).unwrap();
    let before = (snapshot(root.path()), times(root.path()));

    // A thread for work in the background has none.
    let m = open_with(root.path(), KLOG_OPEN_READ_ONLY | KLOG_OPEN_CREATE_DIRS, 1);
    let t = existing(m, "t");
    let batch = batch_of(t);
    let values = [record(b"k", b"v")];
    let calls = changing(m, t, &batch, &values);
    for (name, call) in &calls {
        let (status, message, _) = crate::calls::call(call);
        assert_eq!(status, KLOG_ERR_READ_ONLY, "{name}: {message}");
        assert!(message.contains("for reading only"), "{name}: {message}");
        assert_eq!(end_offset(t), 3, "{name}");
    }
    drop(calls);
    // What changes nothing is answered.
    ok(|e| klog_retain(m, t, KLOG_DRY_RUN, null_mut(), e));
    ok(|e| klog_manager_refresh(m, NO_LOG, e));
    ok(|e| klog_manager_refresh(m, t, e));
    let mut ticked = init!(klog_tick_result);
    ok(|e| klog_tick(m, -1, 0, &raw mut ticked, e));
    assert_eq!((ticked.tasks_run, ticked.next_due_ms), (0, i64::MAX));
    let name = "t";
    ok(|e| klog_log_retry(m, name.as_ptr().cast::<c_char>(), 1, 0, e));
    let mut info = init!(klog_manager_info);
    ok(|e| klog_manager_get_info(m, &raw mut info, e));
    assert_eq!((info.logs, info.bytes_truncated), (1, 40));
    close(m);
    assert_eq!((snapshot(root.path()), times(root.path())), before);
}

#[test]
fn what_an_owner_does_is_seen_after_a_refresh_by_all_who_look() {
    let root = tempfile::tempdir().unwrap();
    let owner = manager(root.path());
    let t = log(owner, "t");
    append(t, 2);
    let followers = [follow(root.path()), follow(root.path())];
    let seen = followers.map(|m| existing(m, "t"));
    let mut cursor = klog_cursor { id: 0 };
    ok(|e| klog_cursor_open(seen[0], 0, null(), &raw mut cursor, e));
    // A call gives what lies in one segment.
    let next = || {
        let mut given = 0;
        loop {
            let mut records = [record(b"", b""); 100];
            let mut result = init!(klog_read_result);
            let (status, message, _) =
                call(|e| klog_cursor_next(cursor, records.as_mut_ptr(), 100, &raw mut result, e));
            if status == KLOG_ERR_END {
                return given;
            }
            assert_eq!(status, KLOG_OK, "{message}");
            given += result.records;
        }
    };
    assert_eq!(next(), 2);
    append(t, 3);
    ok(|e| klog_roll(t, null_mut(), e));
    append(t, 1);
    assert_eq!((end_offset(seen[0]), next()), (2, 0));
    ok(|e| klog_manager_refresh(followers[0], seen[0], e));
    assert_eq!((end_offset(seen[0]), next()), (6, 4));
    assert_eq!(end_offset(seen[1]), 2, "each looks for itself");
    ok(|e| klog_manager_refresh(followers[1], NO_LOG, e));
    assert_eq!(end_offset(seen[1]), 6);
    // A log of another manager is not this one's.
    refused(
        KLOG_ERR_UNKNOWN_TOPIC_OR_PARTITION,
        "not of this manager",
        |e| klog_manager_refresh(followers[0], seen[1], e),
    );
    // The owner has nothing to look for.
    ok(|e| klog_manager_refresh(owner, NO_LOG, e));
    ok(|e| klog_manager_refresh(owner, t, e));

    let u = log(owner, "u");
    append(u, 1);
    ok(|e| klog_log_delete(t, 0, e));
    append(log(owner, "t"), 1);
    ok(|e| klog_manager_refresh(followers[0], NO_LOG, e));
    assert_eq!(end_offset(existing(followers[0], "u")), 1);
    assert_eq!(
        end_offset(existing(followers[0], "t")),
        1,
        "another one of its name"
    );
    let mut end = 0;
    assert_eq!(
        klog_log_end_offset(seen[0], &raw mut end),
        KLOG_ERR_UNKNOWN_TOPIC_OR_PARTITION
    );
    close(followers[0]);
    refused(KLOG_ERR_STALE_HANDLE, "closed", |e| {
        klog_manager_refresh(followers[0], NO_LOG, e)
    });
    close(owner);
    close(followers[1]);
}

#[test]
fn nothing_is_made_for_who_only_reads() {
    let root = tempfile::tempdir().unwrap();
    let missing = CString::new(root.path().join("missing").to_str().unwrap()).unwrap();
    let pointers = [missing.as_ptr()];
    let mut options = init!(klog_manager_options);
    options.dirs = pointers.as_ptr();
    options.dir_count = 1;
    options.flags = KLOG_OPEN_READ_ONLY | KLOG_OPEN_CREATE_DIRS;
    let mut manager = klog_manager { id: 0 };
    refused(KLOG_ERR_LOG_DIR_NOT_FOUND, "does not exist", |e| {
        klog_manager_open(&raw const options, &raw mut manager, e)
    });
    // Nor in a directory that is empty.
    let empty = root.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    close(follow(&empty));
    assert_eq!(snapshot(root.path()), []);
}
