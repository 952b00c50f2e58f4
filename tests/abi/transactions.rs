//! Producers, transactions, conditions, cuts and watermarks as a C program uses them.

use std::collections::BTreeMap;
use std::ffi::c_char;
use std::ptr::{null, null_mut};

use klog::ffi::append::*;
use klog::ffi::config::*;
use klog::ffi::constants::*;
use klog::ffi::cursor::*;
use klog::ffi::log::*;
use klog::ffi::manager::*;
use klog::ffi::offsets::*;
use klog::ffi::truncate::*;
use klog::ffi::types::*;

use crate::calls::*;

/// Keys of the records that a cursor gives, with their offsets.
fn keys(log: klog_log, isolation: u32) -> Vec<(i64, String)> {
    let mut options = init!(klog_read_options);
    options.isolation = isolation;
    let mut cursor = klog_cursor { id: 0 };
    ok(|e| klog_cursor_open(log, 0, &raw const options, &raw mut cursor, e));
    let mut found = Vec::new();
    let mut places = [record(b"", b""); 16];
    let mut read = init!(klog_read_result);
    loop {
        let status = klog_cursor_next(cursor, places.as_mut_ptr(), 16, &raw mut read, null_mut());
        if status == KLOG_ERR_END {
            break;
        }
        assert_eq!(status, KLOG_OK);
        for place in &places[..read.records as usize] {
            // SAFETY: lent by the cursor until its next call.
            let key = unsafe {
                std::slice::from_raw_parts(place.key.cast::<u8>(), place.key_len as usize)
            };
            found.push((place.offset, String::from_utf8_lossy(key).into_owned()));
        }
    }
    assert_eq!(klog_cursor_close(cursor), KLOG_OK);
    found
}

fn append_as(
    log: klog_log,
    key: &str,
    flags: u32,
    sequence: i32,
    err: *mut klog_error,
) -> (i32, klog_append_result) {
    let mut options = init!(klog_append_options);
    options.flags = KLOG_APPEND_HAS_PRODUCER | flags;
    options.producer_id = 7;
    options.producer_epoch = 1;
    options.base_sequence = sequence;
    let one = record(key.as_bytes(), b"v");
    let mut result = init!(klog_append_result);
    let status = klog_append(
        log,
        &raw const one,
        1,
        &raw const options,
        &raw mut result,
        err,
    );
    (status, result)
}

fn text_of(f: impl Fn(*mut c_char, usize, *mut usize) -> klog_status) -> String {
    let mut needed = 0;
    assert_eq!(f(null_mut(), 0, &raw mut needed), KLOG_ERR_BUFFER_TOO_SMALL);
    let mut buffer = vec![0 as c_char; needed];
    assert_eq!(f(buffer.as_mut_ptr(), needed, &raw mut needed), KLOG_OK);
    text(&buffer)
}

#[test]
fn idempotent_and_transactional_appends() {
    let root = tempfile::tempdir().unwrap();
    let owner = manager(root.path());
    let t = log(owner, "t");
    let first = append_as(t, "a", 0, 0, null_mut());
    assert_eq!((first.0, first.1.first_offset), (KLOG_OK, 0));
    let again = append_as(t, "a", 0, 0, null_mut());
    assert_eq!(
        (again.0, again.1.first_offset, again.1.bytes_appended),
        (KLOG_OK, 0, 0)
    );
    let err = refused(KLOG_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER, "sequence 5", |e| {
        append_as(t, "x", 0, 5, e).0
    });
    assert_eq!(err.kafka_code, 45);
    assert_eq!(
        append_as(t, "b", KLOG_APPEND_TRANSACTIONAL, 1, null_mut()).0,
        KLOG_OK
    );
    refused(KLOG_ERR_INVALID_TXN_STATE, "transaction", |e| {
        append_as(t, "x", 0, 2, e).0
    });
    assert_eq!(keys(t, KLOG_ISOLATION_TXN_COMMITTED), [(0, "a".to_owned())]);
    ok(|e| klog_append_marker(t, 7, 1, 0, 3, null_mut(), e));
    refused(
        KLOG_ERR_TRANSACTION_COORDINATOR_FENCED,
        "coordinator epoch 2",
        |e| klog_append_marker(t, 7, 1, 1, 2, null_mut(), e),
    );
    refused(KLOG_ERR_INVALID_PRODUCER_EPOCH, "epoch 0", |e| {
        klog_append_marker(t, 7, 0, 1, 3, null_mut(), e)
    });
    for (producer, epoch, commit) in [(-1, 0, 0), (1, -1, 0), (1, 0, 2), (1, 40_000, 0)] {
        let (status, message, _) =
            call(|e| klog_append_marker(t, producer, epoch, commit, 0, null_mut(), e));
        assert_eq!(status, KLOG_ERR_INVALID_ARGUMENT, "{message}");
    }
    assert_eq!(
        append_as(t, "c", KLOG_APPEND_TRANSACTIONAL, 2, null_mut()).0,
        KLOG_OK
    );
    let mut marker = init!(klog_append_result);
    ok(|e| klog_append_marker(t, 7, 1, 1, 3, &raw mut marker, e));
    assert_eq!((marker.first_offset, marker.records), (4, 1));
    let committed = [(0, "a".to_owned()), (3, "c".to_owned())];
    assert_eq!(keys(t, KLOG_ISOLATION_TXN_COMMITTED), committed);
    assert_eq!(keys(t, KLOG_ISOLATION_LOG_END).len(), 3);
    let mut count = 0;
    // SAFETY: integers, for which zero is a value.
    let mut aborted: [klog_aborted_txn; 2] = unsafe { std::mem::zeroed() };
    let (status, ..) =
        call(|e| klog_aborted_txns(t, 0, 5, aborted.as_mut_ptr(), 0, &raw mut count, e));
    assert_eq!((status, count), (KLOG_ERR_BUFFER_TOO_SMALL, 1));
    ok(|e| klog_aborted_txns(t, 0, 5, aborted.as_mut_ptr(), 2, &raw mut count, e));
    let txn = aborted[0];
    assert_eq!(
        (
            txn.producer_id,
            txn.first_offset,
            txn.last_offset,
            txn.last_stable_offset
        ),
        (7, 1, 2, 3)
    );
    let lines = text_of(|buf, cap, needed| klog_producers(t, buf, cap, needed, null_mut()));
    assert!(
        lines.starts_with("producer 7 epoch=1 last_seq=2 last_offset=3 offset_delta=0 "),
        "{lines}"
    );
    assert_eq!(
        lines
            .lines()
            .filter(|line| line.starts_with("pbatch 7 "))
            .count(),
        3
    );
    close(owner);
}

#[test]
fn what_is_wrong_with_single_records_is_told() {
    let root = tempfile::tempdir().unwrap();
    let owner = manager(root.path());
    let mut config = klog_config { id: 0 };
    ok(|e| klog_config_create(1, &raw mut config, e));
    let (key, value) = (c"cleanup.policy", c"compact");
    ok(|e| klog_config_set(config, key.as_ptr(), NTS, value.as_ptr(), NTS, e));
    let mut options = init!(klog_log_options);
    options.flags = KLOG_LOG_CREATE;
    options.config = config;
    let mut t = klog_log { id: 0 };
    ok(|e| {
        klog_log_open(
            owner,
            c"compacted".as_ptr(),
            NTS,
            0,
            &raw const options,
            &raw mut t,
            e,
        )
    });
    let mut records = [
        record(b"a", b"1"),
        record(b"", b"2"),
        record(b"b", b"3"),
        record(b"", b"4"),
    ];
    records[1].key = null();
    records[3].key = null();
    let mut found = [klog_record_error {
        record_index: -1,
        kafka_code: 0,
    }; 3];
    let mut options = init!(klog_append_options);
    options.record_errors = found.as_mut_ptr();
    options.record_errors_cap = 3;
    let mut result = init!(klog_append_result);
    let err = refused(KLOG_ERR_INVALID_RECORD, "record", |e| {
        klog_append(
            t,
            records.as_ptr(),
            4,
            &raw const options,
            &raw mut result,
            e,
        )
    });
    assert_eq!((err.kafka_code, err.record_index), (87, 1));
    assert_eq!((result.record_error_count, result.first_offset), (2, -1));
    let found: Vec<_> = found
        .iter()
        .map(|f| (f.record_index, f.kafka_code))
        .collect();
    assert_eq!(found, [(1, 87), (3, 87), (-1, 0)]);
    assert_eq!(end_offset(t), 0);
    close(owner);
}

#[test]
fn eight_threads_append_on_condition_of_the_log_end() {
    const EACH: u32 = 200;
    let root = tempfile::tempdir().unwrap();
    let owner = manager(root.path());
    let t = log(owner, "t");
    let mismatches: u64 = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8u32)
            .map(|writer| {
                scope.spawn(move || {
                    let mut mismatches = 0;
                    let mut end = 0;
                    for n in 0..EACH {
                        let key = format!("{writer} {n}");
                        let one = record(key.as_bytes(), b"v");
                        loop {
                            let mut options = init!(klog_append_options);
                            options.flags = KLOG_APPEND_IF_LOG_END;
                            options.expected_log_end = end;
                            let mut result = init!(klog_append_result);
                            let (status, message, err) = call(|e| {
                                klog_append(
                                    t,
                                    &raw const one,
                                    1,
                                    &raw const options,
                                    &raw mut result,
                                    e,
                                )
                            });
                            if status == KLOG_OK {
                                assert_eq!(result.first_offset, end);
                                end += 1;
                                break;
                            }
                            assert_eq!(status, KLOG_ERR_LOG_END_MISMATCH, "{message}");
                            assert!(err.offset > end);
                            end = err.offset;
                            mismatches += 1;
                        }
                    }
                    mismatches
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .sum()
    });
    println!("{mismatches} mismatches");
    let mut next: BTreeMap<String, u32> = BTreeMap::new();
    let found = keys(t, KLOG_ISOLATION_LOG_END);
    assert_eq!(found.len(), 8 * EACH as usize);
    for (i, (offset, key)) in found.iter().enumerate() {
        assert_eq!(*offset, i as i64);
        let (writer, n) = key.split_once(' ').unwrap();
        let expected = next.entry(writer.to_owned()).or_default();
        assert_eq!(n, expected.to_string(), "writer {writer}");
        *expected += 1;
    }
    close(owner);
}

#[test]
fn cuts_epochs_and_watermarks() {
    let root = tempfile::tempdir().unwrap();
    let owner = manager(root.path());
    let t = log(owner, "t");
    refused(KLOG_ERR_INVALID_ARGUMENT, "follows the log end", |e| {
        klog_high_watermark_set(t, 0, null_mut(), e)
    });
    let mut options = init!(klog_log_options);
    options.flags = KLOG_LOG_CREATE | KLOG_LOG_MANUAL_HW;
    let mut t = klog_log { id: 0 };
    ok(|e| {
        klog_log_open(
            owner,
            c"m".as_ptr(),
            NTS,
            0,
            &raw const options,
            &raw mut t,
            e,
        )
    });
    for _ in 0..10 {
        ok(|e| klog_append_one(t, null(), 0, null(), 0, 1, null_mut(), e));
    }
    let mut out = -1;
    ok(|e| klog_high_watermark_set(t, 6, &raw mut out, e));
    assert_eq!(out, 6);
    let mut info = init!(klog_log_info);
    ok(|e| klog_log_get_info(t, &raw mut info, e));
    assert_eq!(
        (
            info.high_watermark,
            info.last_stable_offset,
            info.log_end_offset
        ),
        (6, 6, 10)
    );
    refused(KLOG_ERR_OFFSET_OUT_OF_RANGE, "high watermark", |e| {
        klog_delete_records(t, 7, null_mut(), e)
    });
    ok(|e| klog_delete_records(t, 3, &raw mut out, e));
    assert_eq!(out, 3);
    ok(|e| klog_epoch_assign(t, 4, 10, e));
    let mut epoch = init!(klog_epoch_offset);
    ok(|e| klog_offset_for_epoch(t, 4, &raw mut epoch, e));
    assert_eq!((epoch.leader_epoch, epoch.end_offset), (4, 10));
    ok(|e| klog_offset_for_epoch(t, 9, &raw mut epoch, e));
    assert_eq!((epoch.leader_epoch, epoch.end_offset), (-1, -1));
    let mut was_cut = 7;
    ok(|e| klog_truncate_to(t, 10, &raw mut was_cut, e));
    assert_eq!(was_cut, 0);
    ok(|e| klog_truncate_to(t, 8, &raw mut was_cut, e));
    assert_eq!((was_cut, end_offset(t)), (1, 8));
    refused(KLOG_ERR_INVALID_ARGUMENT, "-1", |e| {
        klog_truncate_to(t, -1, null_mut(), e)
    });
    ok(|e| klog_truncate_fully(t, 100, -1, e));
    assert_eq!(end_offset(t), 100);
    ok(|e| klog_append_one(t, null(), 0, null(), 0, 1, null_mut(), e));
    close(owner);
    // Opened from the checkpoint, the high watermark is where it was left.
    let mut open = init!(klog_manager_options);
    let path = std::ffi::CString::new(root.path().to_str().unwrap()).unwrap();
    let dirs = [path.as_ptr()];
    open.dirs = dirs.as_ptr();
    open.dir_count = 1;
    open.flags = KLOG_OPEN_HW_FROM_CHECKPOINT;
    let mut owner = klog_manager { id: 0 };
    ok(|e| klog_manager_open(&raw const open, &raw mut owner, e));
    let mut t = klog_log { id: 0 };
    ok(|e| klog_log_open(owner, c"m".as_ptr(), NTS, 0, null(), &raw mut t, e));
    ok(|e| klog_log_get_info(t, &raw mut info, e));
    assert_eq!((info.high_watermark, info.log_end_offset), (100, 101));
    close(owner);
    let (status, message, _) = call(|e| klog_truncate_to(t, 0, null_mut(), e));
    assert_ne!(status, KLOG_OK, "{message}");
}
