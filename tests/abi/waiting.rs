//! Waiting, readiness, appenders and appends to many logs, as a C program calls them.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use klog::ffi::append::*;
use klog::ffi::cancel::*;
use klog::ffi::constants::*;
use klog::ffi::cursor::*;
use klog::ffi::events::*;
use klog::ffi::log::*;
use klog::ffi::read::*;
use klog::ffi::truncate::*;
use klog::ffi::types::*;
use klog::ffi::view::*;
use klog::ffi::wait::*;

use crate::asleep::{all_woken, woken};
use crate::calls::*;

pub(crate) const NEVER: klog_cancel = klog_cancel { id: 0 };

pub(crate) fn options(offset: i64, timeout_ms: i64) -> klog_wait_options {
    let mut options = init!(klog_wait_options);
    options.offset = offset;
    options.timeout_ms = timeout_ms;
    options
}

/// Waits for the log end to pass an offset: the status, and where it is then.
pub(crate) fn waits(log: klog_log, options: &klog_wait_options) -> (klog_status, i64) {
    let mut offset = -7;
    let status = klog_wait(log, options, &raw mut offset, null_mut());
    (status, offset)
}

pub(crate) fn append(t: klog_log) {
    ok(|e| klog_append_one(t, null(), 0, b"v".as_ptr().cast(), 1, 1, null_mut(), e));
}

pub(crate) fn token() -> klog_cancel {
    let mut token = klog_cancel { id: 0 };
    ok(|e| klog_cancel_create(&raw mut token, e));
    token
}

fn is_readable(fd: i32) -> bool {
    let mut poll = libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: one entry, which lives as long as the call.
    unsafe { libc::poll(&raw mut poll, 1, 0) == 1 }
}

#[test]
fn a_wait_ends_with_an_append_a_token_a_close_of_its_handle_or_of_the_manager() {
    let root = tempfile::tempdir().unwrap();
    let owner = manager(root.path());
    let t = log(owner, "t");
    assert_eq!(waits(t, &options(0, 0)), (KLOG_ERR_TIMED_OUT, -7));
    assert_eq!(waits(t, &options(0, 5)), (KLOG_ERR_TIMED_OUT, -7));
    assert_eq!(
        woken(|| waits(t, &options(0, -1)), || append(t)),
        (KLOG_OK, 1)
    );
    let cancel = token();
    let mut carried = options(1, -1);
    carried.cancel = cancel;
    let cancelled = woken(
        || waits(t, &carried),
        || assert_eq!(klog_cancel_fire(cancel), KLOG_OK),
    );
    assert_eq!(cancelled, (KLOG_ERR_CANCELLED, -7));
    // The handle alone is closed, not the log.
    let other = log(owner, "t");
    let closed = all_woken(
        vec![
            Box::new(|| waits(other, &options(1, -1))) as Box<dyn FnOnce() -> _ + Send>,
            Box::new(|| waits(t, &options(1, -1))),
        ],
        || {
            assert_eq!(klog_log_close(other), KLOG_OK);
            append(t);
        },
    );
    // The other one may have seen the append before it saw the close.
    assert!([(KLOG_ERR_CLOSED, -7), (KLOG_OK, 2)].contains(&closed[0]));
    assert_eq!(closed[1], (KLOG_OK, 2));
    let cut = woken(
        || waits(t, &options(2, -1)).0,
        || ok(|e| klog_truncate_to(t, 1, null_mut(), e)),
    );
    assert_eq!(cut, KLOG_ERR_OFFSET_OUT_OF_RANGE);
    let ended = woken(|| waits(t, &options(1, -1)).0, || close(owner));
    assert_eq!(ended, KLOG_ERR_CLOSED);
    // A fired token stays fired; a closed one is gone.
    assert_eq!(klog_cancel_close(cancel), KLOG_OK);
    assert_eq!(klog_cancel_fire(cancel), KLOG_ERR_STALE_HANDLE);
    assert_eq!(klog_cancel_close(cancel), KLOG_ERR_STALE_HANDLE);
    assert_eq!(waits(t, &carried).0, KLOG_ERR_STALE_HANDLE);
    assert_eq!(klog_cancel_fire(NEVER), KLOG_ERR_NULL_HANDLE);
    assert_eq!(
        klog_cancel_fire(klog_cancel { id: t.id }),
        KLOG_ERR_WRONG_KIND
    );
}

#[test]
fn wrong_options_of_a_wait_are_named() {
    let root = tempfile::tempdir().unwrap();
    let owner = manager(root.path());
    let t = log(owner, "t");
    let wait = |options: *const klog_wait_options, e| klog_wait(t, options, null_mut(), e);
    refused(KLOG_ERR_NULL_ARGUMENT, "opts", |e| wait(null(), e));
    let wrong = |part: &str, change: fn(&mut klog_wait_options)| {
        let mut options = options(0, 0);
        change(&mut options);
        refused(KLOG_ERR_INVALID_ARGUMENT, part, |e| {
            wait(&raw const options, e)
        });
    };
    wrong("kind", |o| o.kind = 4);
    wrong("offset", |o| o.offset = -1);
    wrong("timeout_ms", |o| o.timeout_ms = -2);
    wrong("timeout_ms", |o| o.timeout_ms = i64::MIN);
    wrong("reserved", |o| o.reserved[1] = 1);
    for size in [0, 7, 48, 57] {
        let mut options = options(0, 0);
        options.struct_size = size;
        refused(KLOG_ERR_STRUCT_SIZE, "klog_wait_options", |e| {
            wait(&raw const options, e)
        });
    }
    for kind in [
        KLOG_WAIT_LOG_END,
        KLOG_WAIT_HIGH_WATERMARK,
        KLOG_WAIT_LAST_STABLE,
        KLOG_WAIT_DURABLE,
    ] {
        let mut options = options(0, 0);
        options.kind = kind;
        refused(KLOG_ERR_TIMED_OUT, "", |e| wait(&raw const options, e));
    }
    close(owner);
}

fn poll(waiter: klog_waiter, timeout_ms: i64) -> Result<Vec<(u64, i64, klog_status)>, klog_status> {
    // SAFETY: integers, for which zero is a value.
    let mut places: [klog_ready; 4] = unsafe { std::mem::zeroed() };
    let mut count = 0;
    let status = klog_waiter_poll(
        waiter,
        places.as_mut_ptr(),
        4,
        &raw mut count,
        timeout_ms,
        null_mut(),
    );
    if status != KLOG_OK {
        return Err(status);
    }
    Ok(places[..count]
        .iter()
        .map(|ready| (ready.user_data, ready.offset, ready.status))
        .collect())
}

#[test]
fn a_waiter_tells_which_logs_are_ready() {
    let root = tempfile::tempdir().unwrap();
    let owner = manager(root.path());
    let (t, u) = (log(owner, "t"), log(owner, "u"));
    let mut waiter = klog_waiter { id: 0 };
    let mut fd = -7;
    ok(|e| klog_waiter_open(owner, &raw mut waiter, &raw mut fd, e));
    let arm = |log, options: &klog_wait_options, user_data| {
        ok(|e| klog_waiter_arm(waiter, log, options, user_data, e));
    };
    assert_eq!(poll(waiter, 0), Err(KLOG_ERR_TIMED_OUT));
    arm(t, &options(0, -1), 11);
    arm(u, &options(0, -1), 22);
    assert!(!is_readable(fd));
    append(u);
    assert!(is_readable(fd));
    assert_eq!(poll(waiter, -1), Ok(vec![(22, 1, KLOG_OK)]));
    assert!(!is_readable(fd));
    assert_eq!(
        woken(|| poll(waiter, -1), || append(t)),
        Ok(vec![(11, 1, KLOG_OK)])
    );
    arm(t, &options(1, 0), 33);
    assert_eq!(poll(waiter, 0), Ok(vec![(33, -1, KLOG_ERR_TIMED_OUT)]));
    arm(t, &options(1, -1), 44);
    assert_eq!(klog_log_close(t), KLOG_OK);
    assert_eq!(poll(waiter, 0), Ok(vec![(44, -1, KLOG_ERR_CLOSED)]));
    let mut carried = options(0, -1);
    carried.cancel = token();
    refused(KLOG_ERR_INVALID_ARGUMENT, "cancel", |e| {
        klog_waiter_arm(waiter, u, &raw const carried, 0, e)
    });
    refused(KLOG_ERR_NULL_ARGUMENT, "opts", |e| {
        klog_waiter_arm(waiter, u, null(), 0, e)
    });
    refused(KLOG_ERR_NULL_ARGUMENT, "buf", |e| {
        klog_waiter_poll(waiter, null_mut(), 1, null_mut(), 0, e)
    });
    refused(KLOG_ERR_INVALID_ARGUMENT, "timeout_ms", |e| {
        klog_waiter_poll(waiter, null_mut(), 0, null_mut(), -2, e)
    });
    refused(KLOG_ERR_NULL_ARGUMENT, "out", |e| {
        klog_waiter_open(owner, null_mut(), null_mut(), e)
    });
    let closed = woken(
        || poll(waiter, -1),
        || assert_eq!(klog_waiter_close(waiter), KLOG_OK),
    );
    assert_eq!(closed, Err(KLOG_ERR_CLOSED));
    assert_eq!(klog_waiter_close(waiter), KLOG_ERR_STALE_HANDLE);
    assert_eq!(poll(waiter, -1), Err(KLOG_ERR_STALE_HANDLE));
    ok(|e| klog_waiter_open(owner, &raw mut waiter, null_mut(), e));
    let ended = woken(|| poll(waiter, -1), || close(owner));
    assert_eq!(ended, Err(KLOG_ERR_CLOSED));
    assert_eq!(klog_waiter_close(waiter), KLOG_OK);
}

#[test]
fn reads_and_cursors_wait_and_are_ended() {
    let root = tempfile::tempdir().unwrap();
    let owner = manager(root.path());
    let t = log(owner, "t");
    let read = |timeout_ms, cancel| {
        let mut options = init!(klog_read_options);
        options.timeout_ms = timeout_ms;
        options.cancel = cancel;
        let mut buf = [0u8; 200];
        let mut out = init!(klog_read_result);
        let status = klog_read(
            t,
            0,
            &raw const options,
            buf.as_mut_ptr().cast(),
            200,
            &raw mut out,
            null_mut(),
        );
        (status, out.batches, out.log_end_offset)
    };
    assert_eq!(read(0, NEVER), (KLOG_OK, 0, 0));
    assert_eq!(read(5, NEVER), (KLOG_ERR_TIMED_OUT, 0, 0));
    let cancel = token();
    let cancelled = woken(
        || read(-1, cancel).0,
        || assert_eq!(klog_cancel_fire(cancel), KLOG_OK),
    );
    assert_eq!(cancelled, KLOG_ERR_CANCELLED);
    assert_eq!(woken(|| read(-1, NEVER), || append(t)), (KLOG_OK, 1, 1));
    let (cancel, mut wanted) = (token(), init!(klog_read_options));
    wanted.timeout_ms = -1;
    wanted.cancel = cancel;
    let mut cursor = klog_cursor { id: 0 };
    ok(|e| klog_cursor_open(t, 1, &raw const wanted, &raw mut cursor, e));
    let next = |cursor| {
        // SAFETY: integers and pointers, for which zero is a value.
        let mut places: [klog_record; 4] = unsafe { std::mem::zeroed() };
        let mut out = init!(klog_read_result);
        let status = klog_cursor_next(cursor, places.as_mut_ptr(), 4, &raw mut out, null_mut());
        (status, out.records)
    };
    assert_eq!(woken(|| next(cursor), || append(t)), (KLOG_OK, 1));
    let mut packed = [0u64; 64];
    let place = packed.as_mut_ptr() as usize;
    let next_packed = |cursor| {
        let mut out = init!(klog_read_result);
        let buf = place as *mut c_void;
        let status = klog_cursor_next_packed(cursor, buf, 512, &raw mut out, null_mut());
        (status, out.next_offset)
    };
    assert_eq!(woken(|| next_packed(cursor), || append(t)), (KLOG_OK, 3));
    let busy = woken(
        || next(cursor),
        || {
            assert_eq!(next(cursor).0, KLOG_ERR_BUSY);
            append(t);
        },
    );
    assert_eq!(busy, (KLOG_OK, 1));
    let closed = woken(
        || next(cursor),
        || assert_eq!(klog_cursor_close(cursor), KLOG_OK),
    );
    assert_eq!(closed.0, KLOG_ERR_CLOSED);
    ok(|e| klog_cursor_open(t, 4, &raw const wanted, &raw mut cursor, e));
    let cancelled = woken(
        || next(cursor),
        || assert_eq!(klog_cancel_fire(cancel), KLOG_OK),
    );
    assert_eq!(cancelled.0, KLOG_ERR_CANCELLED);
    wanted.cancel = NEVER;
    let mut other = klog_cursor { id: 0 };
    ok(|e| klog_cursor_open(t, 4, &raw const wanted, &raw mut other, e));
    let ended = woken(
        || {
            let mut out = init!(klog_read_result);
            let buf = place as *mut c_void;
            klog_cursor_next_packed(other, buf, 512, &raw mut out, null_mut())
        },
        || close(owner),
    );
    assert_eq!(ended, KLOG_ERR_CLOSED);
}

#[test]
fn a_view_waits_and_is_ended() {
    let root = tempfile::tempdir().unwrap();
    let owner = manager(root.path());
    let t = log(owner, "t");
    let open = |start_offset, timeout_ms, cancel| {
        let mut options = init!(klog_read_options);
        options.timeout_ms = timeout_ms;
        options.min_bytes = 100;
        options.cancel = cancel;
        let mut view = klog_view { id: 7 };
        let mut info = init!(klog_view_info);
        let status = klog_view_open(
            t,
            start_offset,
            &raw const options,
            &raw mut view,
            &raw mut info,
            null_mut(),
        );
        if status == KLOG_OK {
            assert_eq!(klog_view_close(view), KLOG_OK);
        } else {
            assert_eq!(view.id, 0);
        }
        (status, info.len, info.next_offset)
    };
    assert_eq!(open(0, 0, NEVER), (KLOG_OK, 0, 0));
    assert_eq!(open(0, 5, NEVER).0, KLOG_ERR_TIMED_OUT);
    let both = woken(
        || open(0, -1, NEVER),
        || {
            append(t);
            append(t);
        },
    );
    assert_eq!(
        (both.0, both.2),
        (KLOG_OK, 2),
        "one has less than 100 bytes"
    );
    assert!(both.1 > 100, "{both:?}");
    append(t);
    let less = open(2, 5, NEVER);
    assert_eq!((less.0, less.2), (KLOG_OK, 3), "what there is in time");
    let cancel = token();
    let cancelled = woken(
        || open(3, -1, cancel).0,
        || assert_eq!(klog_cancel_fire(cancel), KLOG_OK),
    );
    assert_eq!(cancelled, KLOG_ERR_CANCELLED);
    assert_eq!(open(9, -1, NEVER).0, KLOG_ERR_OFFSET_OUT_OF_RANGE);
    let ended = woken(|| open(3, -1, NEVER).0, || close(owner));
    assert_eq!(ended, KLOG_ERR_CLOSED);
}

#[test]
fn a_token_ends_a_poll_of_events() {
    let root = tempfile::tempdir().unwrap();
    let owner = manager(root.path());
    let mut events = klog_events { id: 0 };
    ok(|e| klog_events_open(owner, KLOG_EVENT_ROLLED, 0, &raw mut events, null_mut(), e));
    let cancel = token();
    let poll = || {
        let mut buf = [0u8; 100];
        klog_events_poll(
            events,
            buf.as_mut_ptr().cast(),
            100,
            null_mut(),
            -1,
            cancel,
            null_mut(),
        )
    };
    let cancelled = woken(poll, || assert_eq!(klog_cancel_fire(cancel), KLOG_OK));
    assert_eq!(
        (cancelled, poll()),
        (KLOG_ERR_CANCELLED, KLOG_ERR_CANCELLED)
    );
    close(owner);
}

/// Readers that know of another leader than the log does are told, in all forms of reading.
#[test]
fn reads_of_another_leader_epoch_are_refused() {
    let root = tempfile::tempdir().unwrap();
    let owner = manager(root.path());
    let t = log(owner, "t");
    append(t);
    ok(|e| klog::ffi::offsets::klog_epoch_assign(t, 5, 1, e));
    append(t);
    let statuses = |flags, leader_epoch| {
        let mut options = init!(klog_read_options);
        options.flags = flags;
        options.leader_epoch = leader_epoch;
        let opts = &raw const options;
        let mut buf = [0u8; 400];
        let place = buf.as_mut_ptr().cast();
        let mut out = init!(klog_read_result);
        let mut info = init!(klog_view_info);
        let (mut view, mut cursor) = (klog_view { id: 0 }, klog_cursor { id: 0 });
        let read = klog_read(t, 0, opts, place, 400, &raw mut out, null_mut());
        let viewed = klog_view_open(t, 0, opts, &raw mut view, &raw mut info, null_mut());
        if viewed == KLOG_OK {
            assert_eq!(klog_view_close(view), KLOG_OK);
        }
        let opened = klog_cursor_open(t, 0, opts, &raw mut cursor, null_mut());
        if opened != KLOG_OK {
            return [read, viewed, opened];
        }
        let next = klog_cursor_next_packed(cursor, place, 400, &raw mut out, null_mut());
        assert_eq!(klog_cursor_close(cursor), KLOG_OK);
        [read, viewed, next]
    };
    assert_eq!(statuses(0, 0), [KLOG_OK; 3]);
    assert_eq!(statuses(KLOG_READ_HAS_EPOCH, 5), [KLOG_OK; 3]);
    assert_eq!(
        statuses(KLOG_READ_HAS_EPOCH, 4),
        [KLOG_ERR_FENCED_LEADER_EPOCH; 3]
    );
    assert_eq!(
        statuses(KLOG_READ_HAS_EPOCH, 6),
        [KLOG_ERR_UNKNOWN_LEADER_EPOCH; 3]
    );
    assert_eq!(statuses(0, 5), [KLOG_ERR_INVALID_ARGUMENT; 3]);
    close(owner);
}
