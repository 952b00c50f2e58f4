//! Panics inside of the library, which are statuses outside.

use std::ptr::{null, null_mut};

use klog::ffi::append::*;
use klog::ffi::appender::*;
use klog::ffi::cancel::*;
use klog::ffi::clean::*;
use klog::ffi::codec::*;
use klog::ffi::config::*;
use klog::ffi::constants::*;
use klog::ffi::cursor::*;
use klog::ffi::events::*;
use klog::ffi::log::*;
use klog::ffi::maintain::*;
use klog::ffi::manager::*;
use klog::ffi::many::*;
use klog::ffi::metrics::*;
use klog::ffi::moving::*;
use klog::ffi::offsets::*;
use klog::ffi::read::*;
use klog::ffi::truncate::*;
use klog::ffi::types::*;
use klog::ffi::view::*;
use klog::ffi::wait::*;

use crate::calls::*;

use klog::ffi::testing::panic_in;

// The hook is one for the process: these run one after the other.
static ONE_AT_A_TIME: std::sync::Mutex<()> = std::sync::Mutex::new(());

#[test]
fn hc44_a_a_panic_in_every_function_is_a_status_and_poisons_what_it_worked_on() {
    let _alone = ONE_AT_A_TIME.lock().unwrap();
    let source = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src/ffi")).unwrap();
    let mut exported = Vec::new();
    let mut guarded = Vec::new();
    // Directories in it hold structs, no functions.
    let files = source
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file());
    for path in files {
        let text = std::fs::read_to_string(path).unwrap();
        let mut lines = text.lines().peekable();
        while let Some(line) = lines.next() {
            if line == "#[unsafe(no_mangle)]" {
                let name = lines
                    .by_ref()
                    .find(|l| l.contains("extern \"C\" fn"))
                    .unwrap();
                let name = name
                    .split("fn ")
                    .nth(1)
                    .unwrap()
                    .split('(')
                    .next()
                    .unwrap()
                    .to_owned();
                exported.push(name);
            }
            if let Some(rest) = line.trim().strip_prefix("guard(\"") {
                guarded.push(rest.split('"').next().unwrap().to_owned());
            }
        }
    }
    // Those that cannot fail are not guarded.
    let infallible = [
        "klog_version_number",
        "klog_version_string",
        "klog_features",
        "klog_status_name",
        "klog_kafka_error_name",
        // Called in signal handlers, where a guard may not run; it stores one atomic.
        "klog_cancel_fire",
    ];
    exported
        .retain(|name| !infallible.contains(&name.as_str()) && !name.starts_with("klog_testing_"));
    guarded.retain(|name| !name.starts_with("klog_testing_"));
    exported.sort();
    guarded.sort();
    assert_eq!(
        exported, guarded,
        "every export is guarded under its own name"
    );
    assert!(exported.len() >= 30, "{}", exported.len());

    for name in &exported {
        let root = tempfile::tempdir().unwrap();
        let owner = manager(root.path());
        let t = log(owner, "t");
        ok(|e| klog_append_one(t, null(), 0, null(), 0, 1, null_mut(), e));
        ok(|e| klog_roll(t, null_mut(), e));
        panic_in(name);
        let status = call_by_name(name, owner, t);
        assert_eq!(status.0, KLOG_ERR_PANIC, "{name}: {}", status.1);
        // The process lives, the next calls work, nothing waits for ever.
        let mut end = 0;
        assert_eq!(klog_log_end_offset(t, &raw mut end), KLOG_OK, "{name}");
        let _ = klog_manager_close(owner, 0, -1, null_mut());
        close(manager(root.path()));
    }
}

#[allow(clippy::too_many_lines, reason = "a line a function")]
/// Calls a function with arguments that are as good as needed to reach its guard.
fn call_by_name(name: &str, owner: klog_manager, t: klog_log) -> (klog_status, String) {
    let mut c = klog_config { id: 0 };
    let mut m = klog_manager { id: 0 };
    let mut l = klog_log { id: 0 };
    let mut cur = klog_cursor { id: 0 };
    let mut view = klog_view { id: 0 };
    let mut view_info = init!(klog_view_info);
    let mut info = init!(klog_manager_info);
    let mut log_info = init!(klog_log_info);
    let mut found = init!(klog_timestamp_offset);
    let mut read = init!(klog_read_result);
    let mut epoch = init!(klog_epoch_offset);
    let mut cleaning = init!(klog_clean_progress);
    let mut metric = init!(klog_metric);
    let mut progress = init!(klog_open_progress);
    let mut events = klog_events { id: 0 };
    let mut waiter = klog_waiter { id: 0 };
    let mut appender = klog_appender { id: 0 };
    let never = klog_cancel { id: 0 };
    let mut end = 0;
    let (status, message, _) = call(|e| match name {
        "klog_abi_check" => klog::ffi::version::klog_abi_check(0, 0, e),
        "klog_config_create" => klog_config_create(0, &raw mut c, e),
        "klog_config_set" => klog_config_set(c, null(), 0, null(), 0, e),
        "klog_config_set_topic" => klog_config_set_topic(c, null(), 0, null(), 0, null(), 0, e),
        "klog_config_load" => klog_config_load(c, null(), 0, e),
        "klog_config_get" => klog_config_get(c, null(), 0, null_mut(), 0, null_mut(), e),
        "klog_config_describe" => klog_config_describe(0, null_mut(), 0, null_mut(), e),
        "klog_config_close" => klog_config_close(c),
        "klog_manager_open" => klog_manager_open(null(), &raw mut m, e),
        "klog_manager_refresh" => klog_manager_refresh(owner, t, e),
        "klog_manager_get_info" => klog_manager_get_info(owner, &raw mut info, e),
        "klog_manager_report" => klog_manager_report(owner, null_mut(), 0, null_mut(), e),
        "klog_manager_list" => klog_manager_list(owner, null_mut(), 0, null_mut(), e),
        "klog_manager_dir_info" => {
            klog_manager_dir_info(owner, 0, null_mut(), 0, null_mut(), null_mut(), e)
        }
        "klog_manager_close" => klog_manager_close(owner, 0, -1, e),
        "klog_flush_all" => klog_flush_all(owner, 0, e),
        "klog_checkpoint" => klog_checkpoint(owner, 0, e),
        "klog_log_open" => klog_log_open(owner, null(), 0, 0, null(), &raw mut l, e),
        "klog_log_end_offset" => klog_log_end_offset(t, &raw mut end),
        "klog_log_get_info" => klog_log_get_info(t, &raw mut log_info, e),
        "klog_log_close" => klog_log_close(l),
        "klog_offset_for_timestamp" => klog_offset_for_timestamp(t, 0, &raw mut found, e),
        "klog_flush" => klog_flush(t, -1, 0, e),
        "klog_roll" => klog_roll(t, null_mut(), e),
        "klog_append" => klog_append(t, null(), 0, null(), null_mut(), e),
        "klog_append_packed" => klog_append_packed(t, null(), 0, null(), null_mut(), e),
        "klog_append_batches" => klog_append_batches(t, null(), 0, null(), null_mut(), e),
        "klog_append_one" => klog_append_one(t, null(), 0, null(), 0, 0, null_mut(), e),
        "klog_read" => klog_read(t, 0, null(), null_mut(), 0, &raw mut read, e),
        "klog_cursor_open" => klog_cursor_open(t, 0, null(), &raw mut cur, e),
        "klog_cursor_next" => klog_cursor_next(cur, null_mut(), 0, &raw mut read, e),
        "klog_cursor_next_packed" => klog_cursor_next_packed(cur, null_mut(), 0, &raw mut read, e),
        "klog_cursor_seek" => klog_cursor_seek(cur, 0, e),
        "klog_cursor_close" => klog_cursor_close(cur),
        "klog_view_open" => klog_view_open(t, 0, null(), &raw mut view, &raw mut view_info, e),
        "klog_view_close" => klog_view_close(view),
        "klog_decode" => klog_decode(null(), 0, 0, null_mut(), 0, null_mut(), 0, &raw mut read, e),
        "klog_decode_packed" => klog_decode_packed(null(), 0, 0, null_mut(), 0, &raw mut read, e),
        "klog_encode" => klog_encode(null(), 0, null(), 0, null_mut(), 0, null_mut(), e),
        "klog_encode_packed" => {
            klog_encode_packed(null(), 0, null(), 0, null_mut(), 0, null_mut(), e)
        }
        "klog_append_marker" => klog_append_marker(t, 1, 0, 1, 0, null_mut(), e),
        "klog_offset_for_epoch" => klog_offset_for_epoch(t, 0, &raw mut epoch, e),
        "klog_epoch_assign" => klog_epoch_assign(t, 0, 0, e),
        "klog_high_watermark_set" => klog_high_watermark_set(t, 0, null_mut(), e),
        "klog_delete_records" => klog_delete_records(t, 0, null_mut(), e),
        "klog_producers" => klog_producers(t, null_mut(), 0, null_mut(), e),
        "klog_aborted_txns" => klog_aborted_txns(t, 0, 0, null_mut(), 0, null_mut(), e),
        "klog_truncate_to" => klog_truncate_to(t, 0, null_mut(), e),
        "klog_truncate_fully" => klog_truncate_fully(t, 0, -1, e),
        "klog_retain" => klog_retain(owner, klog_log { id: 0 }, 0, null_mut(), e),
        "klog_log_delete" => klog_log_delete(t, 0, e),
        "klog_meta_create" => klog_meta_create(owner, 0, null(), 0, 0, null(), e),
        "klog_log_retry" => klog_log_retry(owner, null(), 0, 0, e),
        "klog_log_move" => klog_log_move(t, 0, -1, klog_cancel { id: 0 }, e),
        "klog_manager_resolve" => klog_manager_resolve(owner, null(), 0, 0, 0, e),
        "klog_log_promote" => klog_log_promote(owner, null(), 0, 0, e),
        "klog_manager_set_config" => klog_manager_set_config(owner, c, e),
        "klog_log_set_config" => klog_log_set_config(t, c, e),
        "klog_cancel_close" => klog_cancel_close(klog_cancel { id: 0 }),
        "klog_cancel_create" => klog_cancel_create(null_mut(), e),
        "klog_tick" => klog_tick(owner, -1, 0, null_mut(), e),
        "klog_clean" => klog_clean(owner, klog_log { id: 0 }, null(), null_mut(), e),
        "klog_clean_get_progress" => klog_clean_get_progress(t, &raw mut cleaning, e),
        "klog_clean_pause" => klog_clean_pause(t, e),
        "klog_clean_resume" => klog_clean_resume(t, e),
        "klog_clean_await" => klog_clean_await(t, 0, 0, klog_cancel { id: 0 }, e),
        "klog_metric_describe" => klog_metric_describe(0, &raw mut metric, e),
        "klog_metrics_read" => {
            klog_metrics_read(owner, klog_log { id: 0 }, null_mut(), 0, null_mut(), e)
        }
        "klog_metrics_text" => klog_metrics_text(owner, 0, null_mut(), 0, null_mut(), e),
        "klog_manager_open_progress" => {
            klog_manager_open_progress(null(), 0, &raw mut progress, null_mut(), 0, null_mut(), e)
        }
        "klog_events_open" => klog_events_open(owner, 0, 0, &raw mut events, null_mut(), e),
        "klog_events_poll" => klog_events_poll(events, null_mut(), 0, null_mut(), 0, never, e),
        "klog_events_close" => klog_events_close(events),
        "klog_wait" => klog_wait(t, null(), null_mut(), e),
        "klog_waiter_open" => klog_waiter_open(owner, &raw mut waiter, null_mut(), e),
        "klog_waiter_arm" => klog_waiter_arm(waiter, t, null(), 0, e),
        "klog_waiter_poll" => klog_waiter_poll(waiter, null_mut(), 0, null_mut(), 0, e),
        "klog_waiter_close" => klog_waiter_close(waiter),
        "klog_append_many" => klog_append_many(owner, null_mut(), 0, null(), e),
        "klog_append_many_packed" => klog_append_many_packed(owner, null_mut(), 0, null(), e),
        "klog_appender_open" => klog_appender_open(t, null(), &raw mut appender, e),
        "klog_appender_add" => klog_appender_add(appender, null(), 0, 0, null_mut(), e),
        "klog_appender_add_packed" => {
            klog_appender_add_packed(appender, null(), 0, 0, null_mut(), e)
        }
        "klog_appender_wait" => klog_appender_wait(appender, 0, 0, never, null_mut(), e),
        "klog_appender_flush" => klog_appender_flush(appender, 0, e),
        "klog_appender_close" => klog_appender_close(appender, 0, e),
        other => panic!("no call of {other} here"),
    });
    (status, message)
}

#[test]
fn hc44_a_a_poisoned_manager_takes_no_changes_and_leaves_no_clean_marker() {
    let _alone = ONE_AT_A_TIME.lock().unwrap();
    let root = tempfile::tempdir().unwrap();
    let owner = manager(root.path());
    let t = log(owner, "t");
    ok(|e| klog_append_one(t, null(), 0, b"kept".as_ptr().cast(), 4, 1, null_mut(), e));
    ok(|e| klog_roll(t, null_mut(), e));
    panic_in("klog_append: inside");
    let one = record(b"k", b"v");
    let err = refused(KLOG_ERR_PANIC, "klog_append", |e| {
        klog_append(t, &raw const one, 1, null(), null_mut(), e)
    });
    assert_ne!(err.flags & KLOG_ERRF_FATAL, 0);
    refused(KLOG_ERR_POISONED, "close it", |e| {
        klog_append(t, &raw const one, 1, null(), null_mut(), e)
    });
    refused(KLOG_ERR_POISONED, "close it", |e| {
        klog_flush_all(owner, 0, e)
    });
    let mut buf = [0u8; 200];
    let mut read = init!(klog_read_result);
    ok(|e| {
        klog_read(
            t,
            0,
            null(),
            buf.as_mut_ptr().cast(),
            buf.len(),
            &raw mut read,
            e,
        )
    });
    assert_eq!(read.batches, 1, "rolled data can still be read");
    close(owner);
    assert!(!root.path().join(".kafka_cleanshutdown").exists());
    let again = manager(root.path());
    let t = log(again, "t");
    assert_eq!(end_offset(t), 1);
    close(again);
    assert!(root.path().join(".kafka_cleanshutdown").exists());
}
