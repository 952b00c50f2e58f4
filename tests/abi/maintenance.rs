//! Retention, deletion and ticks as a C program uses them.

use std::ffi::CString;
use std::ptr::{null, null_mut};

use klog::ffi::append::*;
use klog::ffi::clean::*;
use klog::ffi::config::*;
use klog::ffi::constants::*;
use klog::ffi::log::*;
use klog::ffi::maintain::*;
use klog::ffi::manager::*;
use klog::ffi::types::*;

use crate::calls::*;

const NOW: i64 = 1_767_000_000_000;

/// A manager with a clock of the test's, in which the topic `t` keeps its records for a second.
fn managed(dir: &std::path::Path) -> (klog_manager, klog_log) {
    let mut config = klog_config { id: 0 };
    ok(|e| klog_config_create(0, &raw mut config, e));
    let text = b"topic.t.retention.ms=1000\ntopic.t.file.delete.delay.ms=5000\n\
        topic.c.cleanup.policy=compact\n";
    ok(|e| klog_config_load(config, text.as_ptr().cast(), text.len(), e));
    let path = CString::new(dir.to_str().unwrap()).unwrap();
    let dirs = [path.as_ptr()];
    let mut options = init!(klog_manager_options);
    options.flags = KLOG_OPEN_MANUAL_CLOCK;
    options.now_ms = NOW;
    options.dirs = dirs.as_ptr();
    options.dir_count = 1;
    options.config = config;
    let mut owner = klog_manager { id: 0 };
    ok(|e| klog_manager_open(&raw const options, &raw mut owner, e));
    assert_eq!(klog_config_close(config), KLOG_OK);
    (owner, log(owner, "t"))
}

fn retain(owner: klog_manager, only: klog_log, flags: u32) -> (u64, u64, i64) {
    let mut result = init!(klog_retain_result);
    ok(|e| klog_retain(owner, only, flags, &raw mut result, e));
    (
        result.segments_deleted,
        result.bytes_deleted,
        result.log_start_offset,
    )
}

#[test]
fn expired_segments_go_when_they_are_asked_to_or_by_ticks() {
    let root = tempfile::tempdir().unwrap();
    let (owner, t) = managed(root.path());
    let all = klog_log { id: 0 };
    for _ in 0..3 {
        ok(|e| klog_append_one(t, null(), 0, null(), 0, NOW, null_mut(), e));
        ok(|e| klog_roll(t, null_mut(), e));
    }
    assert_eq!(retain(owner, all, 0), (0, 0, -1));
    let mut ticked = init!(klog_tick_result);
    ok(|e| klog_tick(owner, NOW + 2000, 0, &raw mut ticked, e));
    assert_eq!(retain(owner, t, KLOG_DRY_RUN), (3, 3 * 68, 3));
    let mut info = init!(klog_log_info);
    ok(|e| klog_log_get_info(t, &raw mut info, e));
    assert_eq!((info.segments, info.log_start_offset), (4, 0));
    // The task comes after its first delay.
    ok(|e| klog_tick(owner, NOW + 29_999, 0, &raw mut ticked, e));
    ok(|e| klog_log_get_info(t, &raw mut info, e));
    assert_eq!(info.segments, 4);
    ok(|e| klog_tick(owner, NOW + 30_000, 0, &raw mut ticked, e));
    assert!(
        ticked.tasks_run >= 3 && ticked.next_due_ms > NOW + 30_000,
        "{ticked:?}"
    );
    ok(|e| klog_log_get_info(t, &raw mut info, e));
    assert_eq!(
        (info.segments, info.log_start_offset, info.log_end_offset),
        (1, 3, 3)
    );
    let retired = || {
        let files = snapshot(root.path());
        files
            .iter()
            .filter(|(path, _)| path.to_str().unwrap().ends_with(".deleted"))
            .count()
    };
    assert!(retired() > 0);
    ok(|e| klog_tick(owner, NOW + 36_000, 0, &raw mut ticked, e));
    assert_eq!(retired(), 0);
    refused(KLOG_ERR_INVALID_ARGUMENT, "budget_us", |e| {
        klog_tick(owner, -1, 5, null_mut(), e)
    });
    refused(KLOG_ERR_INVALID_ARGUMENT, "flags", |e| {
        klog_retain(owner, all, 8, null_mut(), e)
    });
    close(owner);
    let owner = manager(root.path());
    refused(KLOG_ERR_INVALID_ARGUMENT, "machine's clock", |e| {
        klog_tick(owner, 5, 0, null_mut(), e)
    });
    ok(|e| klog_tick(owner, -1, 0, null_mut(), e));
    close(owner);
}

#[test]
fn a_log_that_failed_to_load_is_loaded_again() {
    let root = tempfile::tempdir().unwrap();
    let (owner, t) = managed(root.path());
    ok(|e| klog_append_one(t, null(), 0, null(), 0, NOW, null_mut(), e));
    close(owner);
    let file = root.path().join("t-0/00000000000000000000.log");
    let kept = root.path().join("kept");
    std::fs::rename(&file, &kept).unwrap();
    std::os::unix::fs::symlink("/nowhere/at/all", &file).unwrap();
    let owner = manager(root.path());
    let retry = |name: &str, e: *mut klog_error| {
        klog_log_retry(owner, name.as_ptr().cast(), name.len(), 0, e)
    };
    let failed = refused(KLOG_ERR_KAFKA_STORAGE_ERROR, "t-0", |e| retry("t", e));
    assert_eq!(failed.partition, 0);
    refused(KLOG_ERR_UNKNOWN_TOPIC_OR_PARTITION, "u-0", |e| {
        retry("u", e)
    });
    refused(KLOG_ERR_INVALID_TOPIC_EXCEPTION, "", |e| retry("..", e));
    std::fs::rename(&kept, &file).unwrap();
    ok(|e| retry("t", e));
    ok(|e| retry("t", e));
    assert_eq!(end_offset(log(owner, "t")), 1);
    close(owner);
}

#[test]
fn a_deleted_log_is_gone_and_can_be_made_again() {
    let root = tempfile::tempdir().unwrap();
    let (owner, t) = managed(root.path());
    ok(|e| klog_append_one(t, null(), 0, null(), 0, NOW, null_mut(), e));
    refused(KLOG_ERR_INVALID_ARGUMENT, "flags", |e| {
        klog_log_delete(t, 1, e)
    });
    ok(|e| klog_log_delete(t, 0, e));
    let err = refused(KLOG_ERR_UNKNOWN_TOPIC_OR_PARTITION, "was deleted", |e| {
        klog_append_one(t, null(), 0, null(), 0, NOW, null_mut(), e)
    });
    assert_eq!(err.kafka_code, 3);
    let again = log(owner, "t");
    assert_eq!(end_offset(again), 0);
    let marked = || {
        let entries = std::fs::read_dir(root.path()).unwrap();
        entries
            .filter(|e| {
                e.as_ref()
                    .unwrap()
                    .file_name()
                    .to_str()
                    .unwrap()
                    .ends_with("-delete")
            })
            .count()
    };
    assert_eq!(marked(), 1);
    ok(|e| klog_tick(owner, NOW + 91_000, 0, null_mut(), e));
    assert_eq!(marked(), 0);
    close(owner);
}

#[test]
fn a_thread_of_the_library_ticks_until_the_manager_is_closed() {
    let root = tempfile::tempdir().unwrap();
    let path = CString::new(root.path().to_str().unwrap()).unwrap();
    let dirs = [path.as_ptr()];
    let mut options = init!(klog_manager_options);
    options.dirs = dirs.as_ptr();
    options.dir_count = 1;
    options.background_threads = 1;
    let threads = || {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap();
        let names = tasks
            .filter_map(|task| std::fs::read_to_string(task.unwrap().path().join("comm")).ok());
        names
            .filter(|name| name.trim() == "klog-background")
            .count()
    };
    let before = threads();
    let mut owner = klog_manager { id: 0 };
    ok(|e| klog_manager_open(&raw const options, &raw mut owner, e));
    let t = log(owner, "t");
    ok(|e| klog_append_one(t, null(), 0, null(), 0, NOW, null_mut(), e));
    assert!(threads() > before);
    close(owner);
    assert_eq!(threads(), before);
    close(manager(root.path()));
}

#[test]
fn a_log_is_compacted_when_it_is_asked_for_or_by_ticks() {
    let root = tempfile::tempdir().unwrap();
    let (owner, t) = managed(root.path());
    let c = log(owner, "c");
    let append = |key: &[u8], value: &[u8]| {
        let one = record(key, value);
        ok(|e| klog_append(c, &raw const one, 1, null(), null_mut(), e));
    };
    for value in [b"1", b"2", b"3"] {
        append(b"k", value);
    }
    append(b"l", b"1");
    let mut options = init!(klog_clean_options);
    options.flags = KLOG_CLEAN_ROLL | KLOG_DRY_RUN;
    let mut result = init!(klog_clean_result);
    for flags in [KLOG_CLEAN_ROLL | KLOG_DRY_RUN, KLOG_CLEAN_ROLL] {
        options.flags = flags;
        ok(|e| klog_clean(owner, c, &raw const options, &raw mut result, e));
        assert_eq!((result.logs_cleaned, result.first_dirty_offset), (1, 4));
        assert_eq!((result.records_read, result.records_kept), (4, 2));
        assert_eq!((result.dropped_superseded, result.map_slots_used), (2, 2));
        assert!(result.bytes_written < result.bytes_read);
    }
    // Nothing is left to clean.
    options.flags = 0;
    ok(|e| klog_clean(owner, c, &raw const options, &raw mut result, e));
    assert_eq!((result.logs_cleaned, result.first_dirty_offset), (0, -1));
    let first_dirty = |log| {
        let mut info = init!(klog_log_info);
        ok(|e| klog_log_get_info(log, &raw mut info, e));
        info.first_dirty_offset
    };
    assert_eq!([c, t].map(first_dirty), [4, -1]);
    let none = klog_cancel { id: 0 };
    ok(|e| klog_clean_await(c, 4, 0, none, e));
    refused(KLOG_ERR_TIMED_OUT, "up to 5", |e| {
        klog_clean_await(c, 5, 0, none, e)
    });
    refused(KLOG_ERR_TIMED_OUT, "20 ms", |e| {
        klog_clean_await(c, 5, 20, none, e)
    });

    let mut progress = init!(klog_clean_progress);
    ok(|e| klog_clean_get_progress(c, &raw mut progress, e));
    assert_eq!(
        (progress.phase, progress.started_ms),
        (KLOG_CLEAN_PHASE_IDLE, -1)
    );
    ok(|e| klog_clean_pause(c, e));
    refused(KLOG_ERR_CLEAN_PAUSED, "paused", |e| {
        klog_clean(owner, c, null(), null_mut(), e)
    });
    ok(|e| klog_clean_resume(c, e));
    refused(KLOG_ERR_INVALID_ARGUMENT, "neither", |e| {
        klog_clean_resume(c, e)
    });
    refused(KLOG_ERR_INVALID_CONFIG, "compact", |e| {
        klog_clean(owner, t, null(), null_mut(), e)
    });
    options.flags = KLOG_CLEAN_ROLL;
    refused(KLOG_ERR_INVALID_ARGUMENT, "need a log", |e| {
        klog_clean(owner, klog_log { id: 0 }, &raw const options, null_mut(), e)
    });

    // A tick does it by itself, and so does a call over all logs.
    for round in 0..2 {
        for key in [b"k", b"l", b"k"] {
            append(key, b"5");
        }
        ok(|e| klog_roll(c, null_mut(), e));
        if round == 0 {
            let mut ticked = init!(klog_tick_result);
            ok(|e| klog_tick(owner, NOW + 1_000_000, 0, &raw mut ticked, e));
        } else {
            let mut all = init!(klog_clean_options);
            all.min_dirty_ratio = 0.01;
            let nobody = klog_log { id: 0 };
            ok(|e| klog_clean(owner, nobody, &raw const all, &raw mut result, e));
            assert_eq!(result.logs_cleaned, 1);
        }
        ok(|e| klog_clean_await(c, 7 + 3 * round, 0, none, e));
    }
    close(owner);
}
