//! Appenders, and appends to many logs in one call.

use std::ptr::{null, null_mut};

use klog::ffi::appender::*;
use klog::ffi::cancel::*;
use klog::ffi::constants::*;
use klog::ffi::cursor::*;
use klog::ffi::log::*;
use klog::ffi::maintain::*;
use klog::ffi::manager::*;
use klog::ffi::many::*;
use klog::ffi::types::*;

use crate::asleep::woken;
use crate::calls::*;
use crate::waiting::{NEVER, append, options, token, waits};

/// Adds a record; its ticket.
fn add(appender: klog_appender, value: &[u8]) -> u64 {
    let one = record(b"k", value);
    let mut ticket = 0;
    ok(|e| klog_appender_add(appender, &raw const one, 1, -1, &raw mut ticket, e));
    ticket
}

/// What a wait for a ticket answers: its status and its offset.
fn got(appender: klog_appender, ticket: u64, timeout_ms: i64) -> (klog_status, i64) {
    let mut out = init!(klog_append_result);
    out.first_offset = -7;
    let status = klog_appender_wait(
        appender,
        ticket,
        timeout_ms,
        NEVER,
        &raw mut out,
        null_mut(),
    );
    (status, out.first_offset)
}

fn open_appender(t: klog_log, change: impl FnOnce(&mut klog_appender_options)) -> klog_appender {
    let mut options = init!(klog_appender_options);
    change(&mut options);
    let mut appender = klog_appender { id: 0 };
    ok(|e| klog_appender_open(t, &raw const options, &raw mut appender, e));
    appender
}

#[test]
fn an_appender_collects_and_tells_each_its_offsets() {
    let root = tempfile::tempdir().unwrap();
    let owner = manager(root.path());
    let t = log(owner, "t");
    let hour = |o: &mut klog_appender_options| o.linger_us = 3_600_000_000;
    let appender = open_appender(t, hour);
    let (first, second) = (add(appender, b"a"), add(appender, b"b"));
    let packed = {
        let mut buf = vec![0u8; 4096];
        let mut read = init!(klog_read_result);
        let source = log(owner, "source");
        append(source);
        append(source);
        let mut cursor = klog_cursor { id: 0 };
        ok(|e| klog_cursor_open(source, 0, null(), &raw mut cursor, e));
        ok(|e| klog_cursor_next_packed(cursor, buf.as_mut_ptr().cast(), 4096, &raw mut read, e));
        buf.truncate(read.bytes as usize);
        buf
    };
    let mut third = 0;
    ok(|e| {
        klog_appender_add_packed(
            appender,
            packed.as_ptr().cast(),
            packed.len(),
            0,
            &raw mut third,
            e,
        )
    });
    let mut none = 7;
    ok(|e| klog_appender_add(appender, null(), 0, 0, &raw mut none, e));
    assert_eq!((none, got(appender, 0, 0)), (0, (KLOG_OK, -1)));
    assert_eq!(got(appender, first, 0), (KLOG_ERR_TIMED_OUT, -7));
    let cancel = token();
    let cancelled = woken(
        || klog_appender_wait(appender, first, -1, cancel, null_mut(), null_mut()),
        || assert_eq!(klog_cancel_fire(cancel), KLOG_OK),
    );
    assert_eq!(cancelled, KLOG_ERR_CANCELLED);
    assert_eq!(end_offset(t), 0);
    ok(|e| klog_appender_flush(appender, -1, e));
    assert_eq!(end_offset(t), 4);
    assert_eq!(got(appender, second, 0), (KLOG_OK, 1));
    let mut out = init!(klog_append_result);
    ok(|e| klog_appender_wait(appender, third, 0, NEVER, &raw mut out, e));
    assert_eq!((out.first_offset, out.last_offset, out.records), (2, 3, 2));
    assert_eq!(got(appender, 9, 0), (KLOG_ERR_INVALID_ARGUMENT, -7));
    let late = add(appender, b"c");
    let closed = woken(
        || got(appender, late, -1),
        || ok(|e| klog_appender_close(appender, 0, e)),
    );
    assert_eq!(closed, (KLOG_OK, 4));
    refused(KLOG_ERR_STALE_HANDLE, "closed", |e| {
        klog_appender_close(appender, 0, e)
    });
    let appender = open_appender(t, hour);
    let lost = add(appender, b"d");
    let closed = woken(
        || got(appender, lost, -1).0,
        || ok(|e| klog_appender_close(appender, KLOG_CLOSE_DISCARD, e)),
    );
    assert_eq!(closed, KLOG_ERR_CLOSED);
    assert_eq!(end_offset(t), 5);
    let appender = open_appender(t, hour);
    let lost = add(appender, b"e");
    let ended = woken(|| got(appender, lost, -1).0, || close(owner));
    assert_eq!(ended, KLOG_ERR_CLOSED);
    let one = record(b"k", b"v");
    refused(KLOG_ERR_CLOSED, "closed", |e| {
        klog_appender_add(appender, &raw const one, 1, -1, null_mut(), e)
    });
    refused(KLOG_ERR_CLOSED, "", |e| klog_appender_close(appender, 0, e));
}

#[test]
fn a_manager_with_threads_appends_what_nobody_waits_for() {
    let root = tempfile::tempdir().unwrap();
    let path = std::ffi::CString::new(root.path().to_str().unwrap()).unwrap();
    let dirs = [path.as_ptr()];
    let mut options_of_manager = init!(klog_manager_options);
    options_of_manager.dirs = dirs.as_ptr();
    options_of_manager.dir_count = 1;
    options_of_manager.background_threads = 1;
    let mut owner = klog_manager { id: 0 };
    ok(|e| klog_manager_open(&raw const options_of_manager, &raw mut owner, e));
    let t = log(owner, "t");
    let appender = open_appender(t, |o| o.linger_us = 1000);
    add(appender, b"a");
    assert_eq!(waits(t, &options(0, -1)), (KLOG_OK, 1));
    // One that is left open does not keep the manager from closing.
    add(appender, b"b");
    close(owner);
}

#[test]
fn wrong_options_of_an_appender_are_named() {
    let root = tempfile::tempdir().unwrap();
    let owner = manager(root.path());
    let t = log(owner, "t");
    let wrong = |part: &str,
                 change: fn(&mut klog_appender_options),
                 change_append: fn(&mut klog_append_options)| {
        let mut append = init!(klog_append_options);
        change_append(&mut append);
        let mut options = init!(klog_appender_options);
        options.append = &raw const append;
        change(&mut options);
        let mut appender = klog_appender { id: 7 };
        refused(KLOG_ERR_INVALID_ARGUMENT, part, |e| {
            klog_appender_open(t, &raw const options, &raw mut appender, e)
        });
        assert_eq!(appender.id, 0);
    };
    wrong("flags", |o| o.flags = 1, |_| ());
    wrong("reserved", |o| o.reserved[5] = 1, |_| ());
    wrong("linger_us", |o| o.linger_us = -1, |_| ());
    wrong(
        "KLOG_APPEND_IF_LOG_END",
        |_| (),
        |a| a.flags = KLOG_APPEND_IF_LOG_END,
    );
    wrong("record_errors", |_| (), |a| a.record_errors_cap = 1);
    wrong("origin", |_| (), |a| a.origin = KLOG_ORIGIN_REPLICATION);
    let appender = open_appender(t, |_| ());
    let n = KLOG_ERR_NULL_ARGUMENT;
    refused(n, "records", |e| {
        klog_appender_add(appender, null(), 1, 0, null_mut(), e)
    });
    refused(n, "packed", |e| {
        klog_appender_add_packed(appender, null(), 1, 0, null_mut(), e)
    });
    refused(n, "out", |e| klog_appender_open(t, null(), null_mut(), e));
    let mut one = record(b"k", b"v");
    one.flags = KLOG_RECORD_CONTROL;
    refused(KLOG_ERR_INVALID_ARGUMENT, "record 0", |e| {
        klog_appender_add(appender, &raw const one, 1, 0, null_mut(), e)
    });
    refused(KLOG_ERR_INVALID_ARGUMENT, "timeout_ms", |e| {
        klog_appender_flush(appender, -2, e)
    });
    refused(KLOG_ERR_INVALID_ARGUMENT, "flags", |e| {
        klog_appender_close(appender, KLOG_CLOSE_ABANDON, e)
    });
    ok(|e| klog_appender_close(appender, 0, e));
    close(owner);
}

fn item(log: klog_log, records: &[klog_record]) -> klog_append_item {
    // SAFETY: integers and pointers, for which zero is a value.
    let mut item: klog_append_item = unsafe { std::mem::zeroed() };
    item.log = log;
    item.records = records.as_ptr();
    item.count = records.len() as u64;
    item
}

#[test]
fn many_logs_are_appended_to_in_one_call_with_an_answer_each() {
    let root = tempfile::tempdir().unwrap();
    let owner = manager(root.path());
    let (t, u, gone) = (log(owner, "t"), log(owner, "u"), log(owner, "gone"));
    ok(|e| klog_log_delete(gone, 0, e));
    let two = [record(b"k", b"a"), record(b"k", b"b")];
    let mut good = [
        item(t, &two),
        item(u, &two[..1]),
        item(t, &two[..1]),
        item(u, &[]),
    ];
    let mut synced = init!(klog_append_options);
    synced.durability = KLOG_DURABILITY_FSYNC;
    ok(|e| klog_append_many(owner, good.as_mut_ptr(), 4, &raw const synced, e));
    let told = |items: &[klog_append_item]| -> Vec<(i32, i64, i64)> {
        items
            .iter()
            .map(|item| (item.status, item.first_offset, item.last_offset))
            .collect()
    };
    assert_eq!(told(&good), [(0, 0, 1), (0, 0, 0), (0, 2, 2), (0, -1, -1)]);
    let mut info = init!(klog_log_info);
    for log in [t, u] {
        ok(|e| klog_log_get_info(log, &raw mut info, e));
        assert_eq!(info.recovery_point, info.log_end_offset);
    }
    // One that fails does not hold up the others; the answer is the first failure.
    let elsewhere = tempfile::tempdir().unwrap();
    let another = manager(elsewhere.path());
    let theirs = log(another, "t");
    let mut mixed = [
        item(t, &two),
        item(gone, &two),
        item(klog_log { id: 0 }, &two),
        item(theirs, &two),
        item(u, &two),
    ];
    mixed[4].reserved = 1;
    let err = refused(KLOG_ERR_UNKNOWN_TOPIC_OR_PARTITION, "gone-0", |e| {
        klog_append_many(owner, mixed.as_mut_ptr(), 5, null(), e)
    });
    assert_eq!(err.kafka_code, 3);
    assert_eq!(
        told(&mixed),
        [
            (KLOG_OK, 3, 4),
            (KLOG_ERR_UNKNOWN_TOPIC_OR_PARTITION, -1, -1),
            (KLOG_ERR_NULL_HANDLE, -1, -1),
            (KLOG_ERR_INVALID_ARGUMENT, -1, -1),
            (KLOG_ERR_INVALID_ARGUMENT, -1, -1)
        ]
    );
    assert_eq!(mixed[1].kafka_code, 3);
    assert_eq!(
        (end_offset(t), end_offset(u), end_offset(theirs)),
        (5, 1, 0)
    );
    // What is wrong with the call itself leaves everything.
    let mut options = init!(klog_append_options);
    options.flags = KLOG_APPEND_IF_LOG_END;
    refused(KLOG_ERR_INVALID_ARGUMENT, "KLOG_APPEND_IF_LOG_END", |e| {
        klog_append_many(owner, good.as_mut_ptr(), 4, &raw const options, e)
    });
    refused(KLOG_ERR_NULL_ARGUMENT, "items", |e| {
        klog_append_many(owner, null_mut(), 1, null(), e)
    });
    refused(KLOG_ERR_NULL_HANDLE, "", |e| {
        klog_append_many(klog_manager { id: 0 }, good.as_mut_ptr(), 4, null(), e)
    });
    assert_eq!(end_offset(t), 5);
    // The same from a packed buffer.
    let mut buf = vec![0u8; 4096];
    let mut read = init!(klog_read_result);
    let mut cursor = klog_cursor { id: 0 };
    ok(|e| klog_cursor_open(t, 0, null(), &raw mut cursor, e));
    ok(|e| klog_cursor_next_packed(cursor, buf.as_mut_ptr().cast(), 4096, &raw mut read, e));
    // SAFETY: integers and pointers, for which zero is a value.
    let mut packed: [klog_packed_item; 2] = unsafe { std::mem::zeroed() };
    packed[0].log = u;
    packed[0].packed = buf.as_ptr().cast();
    packed[0].len = read.bytes;
    packed[1].log = u;
    packed[1].packed = b"nonsense".as_ptr().cast();
    packed[1].len = 8;
    refused(KLOG_ERR_INVALID_ARGUMENT, "packed buffer", |e| {
        klog_append_many_packed(owner, packed.as_mut_ptr(), 2, null(), e)
    });
    assert_eq!((packed[0].status, packed[0].first_offset), (KLOG_OK, 1));
    assert_eq!(
        (packed[1].status, end_offset(u)),
        (KLOG_ERR_INVALID_ARGUMENT, 6)
    );
    close(another);
    close(owner);
}
