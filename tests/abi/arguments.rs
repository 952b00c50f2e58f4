//! Handles, pointers, sizes, names, flags and keys that are wrong.

use std::ffi::{CString, c_char};
use std::ptr::{null, null_mut};

use klog::ffi::append::*;
use klog::ffi::config::*;
use klog::ffi::constants::*;
use klog::ffi::cursor::*;
use klog::ffi::log::*;
use klog::ffi::manager::*;
use klog::ffi::read::*;
use klog::ffi::types::*;

use crate::calls::*;

#[test]
fn handles_that_are_null_closed_or_of_another_kind_answer_statuses() {
    let root = tempfile::tempdir().unwrap();
    let owner = manager(root.path());
    let t = log(owner, "t");
    let mut cursor = klog_cursor { id: 0 };
    ok(|e| klog_cursor_open(t, 0, null(), &raw mut cursor, e));
    let mut end = 0;
    assert_eq!(
        klog_log_end_offset(klog_log { id: 0 }, &raw mut end),
        KLOG_ERR_NULL_HANDLE
    );
    assert_eq!(
        klog_log_end_offset(klog_log { id: owner.id }, &raw mut end),
        KLOG_ERR_WRONG_KIND
    );
    for random in [
        1,
        3 << 56,
        (3 << 56) | 0xffff_ffff,
        t.id ^ (1 << 40),
        u64::MAX,
    ] {
        let status = klog_log_end_offset(klog_log { id: random }, &raw mut end);
        assert!(
            [KLOG_ERR_WRONG_KIND, KLOG_ERR_STALE_HANDLE].contains(&status),
            "{random:#x}: {status}"
        );
    }
    // A closed manager's children say so; their closes still work, once.
    close(owner);
    let mut result = init!(klog_read_result);
    let mut info = init!(klog_log_info);
    let mut found = init!(klog_timestamp_offset);
    let one = record(b"k", b"v");
    let mut places = [one; 2];
    refused(KLOG_ERR_CLOSED, "closed", |e| {
        klog_append(t, &raw const one, 1, null(), null_mut(), e)
    });
    refused(KLOG_ERR_CLOSED, "closed", |e| {
        klog_read(t, 0, null(), null_mut(), 0, &raw mut result, e)
    });
    refused(KLOG_ERR_CLOSED, "closed", |e| {
        klog_log_get_info(t, &raw mut info, e)
    });
    refused(KLOG_ERR_CLOSED, "closed", |e| {
        klog_offset_for_timestamp(t, 0, &raw mut found, e)
    });
    refused(KLOG_ERR_CLOSED, "closed", |e| klog_flush(t, -1, 0, e));
    refused(KLOG_ERR_CLOSED, "closed", |e| klog_roll(t, null_mut(), e));
    refused(KLOG_ERR_CLOSED, "closed", |e| {
        klog_cursor_next(cursor, places.as_mut_ptr(), 2, &raw mut result, e)
    });
    assert_eq!(klog_log_end_offset(t, &raw mut end), KLOG_ERR_CLOSED);
    assert_eq!(klog_cursor_close(cursor), KLOG_OK);
    assert_eq!(klog_cursor_close(cursor), KLOG_ERR_STALE_HANDLE);
    assert_eq!(klog_log_close(t), KLOG_OK);
    assert_eq!(klog_log_close(t), KLOG_ERR_STALE_HANDLE);
    refused(KLOG_ERR_STALE_HANDLE, "closed", |e| {
        klog_manager_close(owner, 0, -1, e)
    });
    refused(KLOG_ERR_STALE_HANDLE, "closed", |e| {
        klog_flush_all(owner, 0, e)
    });
}

#[test]
fn an_old_handle_never_names_a_new_object() {
    let mut seen = std::collections::HashSet::new();
    for _ in 0..5000 {
        let mut config = klog_config { id: 0 };
        ok(|e| klog_config_create(KLOG_CONFIG_BROKER, &raw mut config, e));
        assert!(
            seen.insert(config.id),
            "{:#x} was given out twice",
            config.id
        );
        assert_eq!(klog_config_close(config), KLOG_OK);
    }
}

#[test]
fn null_pointers_are_named() {
    let root = tempfile::tempdir().unwrap();
    let owner = manager(root.path());
    let t = log(owner, "t");
    let mut cursor = klog_cursor { id: 0 };
    ok(|e| klog_cursor_open(t, 0, null(), &raw mut cursor, e));
    let options = init!(klog_manager_options);
    let mut manager_out = klog_manager { id: 0 };
    let mut log_out = klog_log { id: 0 };
    let mut result = init!(klog_read_result);
    let mut config = klog_config { id: 0 };
    ok(|e| klog_config_create(KLOG_CONFIG_BROKER, &raw mut config, e));
    let n = KLOG_ERR_NULL_ARGUMENT;
    refused(n, "opts", |e| {
        klog_manager_open(null(), &raw mut manager_out, e)
    });
    refused(n, "out", |e| {
        klog_manager_open(&raw const options, null_mut(), e)
    });
    refused(n, "topic", |e| {
        klog_log_open(owner, null(), NTS, 0, null(), &raw mut log_out, e)
    });
    refused(n, "out", |e| {
        klog_log_open(owner, c"t".as_ptr(), NTS, 0, null(), null_mut(), e)
    });
    refused(n, "records", |e| {
        klog_append(t, null(), 3, null(), null_mut(), e)
    });
    refused(n, "packed", |e| {
        klog_append_packed(t, null(), 3, null(), null_mut(), e)
    });
    refused(n, "batches", |e| {
        klog_append_batches(t, null(), 3, null(), null_mut(), e)
    });
    refused(n, "key", |e| {
        klog_append_one(t, null(), 3, null(), 0, 1, null_mut(), e)
    });
    refused(n, "value", |e| {
        klog_append_one(t, null(), 0, null(), 3, 1, null_mut(), e)
    });
    refused(n, "buf", |e| {
        klog_read(t, 0, null(), null_mut(), 10, &raw mut result, e)
    });
    refused(n, "out", |e| {
        klog_read(t, 0, null(), null_mut(), 0, null_mut(), e)
    });
    refused(n, "out", |e| klog_cursor_open(t, 0, null(), null_mut(), e));
    refused(n, "records", |e| {
        klog_cursor_next(cursor, null_mut(), 3, &raw mut result, e)
    });
    refused(n, "out", |e| {
        klog_cursor_next(cursor, null_mut(), 0, null_mut(), e)
    });
    refused(n, "buf", |e| {
        klog_cursor_next_packed(cursor, null_mut(), 100, &raw mut result, e)
    });
    refused(n, "out", |e| klog_log_get_info(t, null_mut(), e));
    refused(n, "out", |e| klog_manager_get_info(owner, null_mut(), e));
    refused(n, "out", |e| klog_offset_for_timestamp(t, 0, null_mut(), e));
    refused(n, "out", |e| klog_config_create(0, null_mut(), e));
    refused(n, "key", |e| {
        klog_config_set(config, null(), NTS, c"1".as_ptr(), NTS, e)
    });
    refused(n, "value", |e| {
        klog_config_set(config, c"log.segment.bytes".as_ptr(), NTS, null(), NTS, e)
    });
    assert_eq!(klog_log_end_offset(t, null_mut()), n);
    let mut bad_header = record(b"k", b"v");
    bad_header.header_count = 2;
    let err = refused(n, "headers", |e| {
        klog_append(t, &raw const bad_header, 1, null(), null_mut(), e)
    });
    assert_eq!(err.record_index, 0);
    // A null error struct is never a problem.
    assert_eq!(klog_append(t, null(), 3, null(), null_mut(), null_mut()), n);
    assert_eq!(end_offset(t), 0);
    assert_eq!(klog_config_close(config), KLOG_OK);
    close(owner);
}

/// As a later header may have it.
#[repr(C)]
struct Later {
    options: klog_append_options,
    unknown: u64,
}

/// As a later header may have it.
#[repr(C)]
struct LaterResult {
    result: klog_append_result,
    unknown: u64,
}

#[test]
fn wrong_struct_sizes_are_told_and_larger_structs_of_later_headers_are_fine() {
    let root = tempfile::tempdir().unwrap();
    let owner = manager(root.path());
    let t = log(owner, "t");
    let one = record(b"k", b"v");
    for size in [0, 7, 8, 104, 111, 113, 70_000] {
        let mut options = init!(klog_append_options);
        options.struct_size = size;
        refused(KLOG_ERR_STRUCT_SIZE, "klog_append_options", |e| {
            klog_append(t, &raw const one, 1, &raw const options, null_mut(), e)
        });
        let mut result = init!(klog_append_result);
        result.struct_size = if size == 104 { 96 } else { size };
        refused(KLOG_ERR_STRUCT_SIZE, "klog_append_result", |e| {
            klog_append(t, &raw const one, 1, null(), &raw mut result, e)
        });
    }
    assert_eq!(end_offset(t), 0, "nothing was appended");
    let mut later = Later {
        options: init!(klog_append_options),
        unknown: 0,
    };
    later.options.struct_size = u32::try_from(size_of::<Later>()).unwrap();
    ok(|e| {
        klog_append(
            t,
            &raw const one,
            1,
            (&raw const later).cast(),
            null_mut(),
            e,
        )
    });
    later.unknown = 1;
    refused(KLOG_ERR_STRUCT_SIZE, "", |e| {
        klog_append(
            t,
            &raw const one,
            1,
            (&raw const later).cast(),
            null_mut(),
            e,
        )
    });
    let mut result = LaterResult {
        result: init!(klog_append_result),
        unknown: 7,
    };
    result.result.struct_size = u32::try_from(size_of::<LaterResult>()).unwrap();
    ok(|e| klog_append(t, &raw const one, 1, null(), (&raw mut result).cast(), e));
    assert_eq!(
        (result.result.first_offset, result.unknown),
        (1, 0),
        "what the library does not know is zeroed"
    );
    let mut small = error();
    small.struct_size = 56;
    assert_eq!(klog_flush(t, -1, 9, &raw mut *small), KLOG_ERR_STRUCT_SIZE);
    small.struct_size = 64;
    assert_eq!(
        klog_flush(t, -1, 9, &raw mut *small),
        KLOG_ERR_INVALID_ARGUMENT
    );
    assert_eq!(
        (small.status, small.message[0]),
        (KLOG_ERR_INVALID_ARGUMENT, 0),
        "only the head was written"
    );
    small.struct_size = 80;
    assert_eq!(
        klog_flush(t, -1, 9, &raw mut *small),
        KLOG_ERR_INVALID_ARGUMENT
    );
    assert_eq!(text(&small.message).len(), 15, "as much text as fits");
    assert_ne!(small.flags & KLOG_ERRF_MESSAGE_CUT, 0);
    close(owner);
}

#[test]
fn names_partitions_and_flags_of_a_log_are_checked() {
    let root = tempfile::tempdir().unwrap();
    let owner = manager(root.path());
    let before = snapshot(root.path());
    let mut out = klog_log { id: 9 };
    let mut create = init!(klog_log_options);
    create.flags = KLOG_LOG_CREATE;
    let long = CString::new("x".repeat(250)).unwrap();
    for bad in [c"", c".", c"..", c"a/b", c"a b", c"\xff", long.as_c_str()] {
        let err = refused(KLOG_ERR_INVALID_TOPIC_EXCEPTION, "topic name", |e| {
            klog_log_open(
                owner,
                bad.as_ptr(),
                NTS,
                0,
                &raw const create,
                &raw mut out,
                e,
            )
        });
        assert_eq!((err.kafka_code, out.id), (17, 0));
    }
    let err = refused(KLOG_ERR_INVALID_PARTITIONS, "-1", |e| {
        klog_log_open(
            owner,
            c"u".as_ptr(),
            NTS,
            -1,
            &raw const create,
            &raw mut out,
            e,
        )
    });
    assert_eq!(err.kafka_code, 37);
    refused(KLOG_ERR_UNKNOWN_TOPIC_OR_PARTITION, "u-0", |e| {
        klog_log_open(owner, c"u".as_ptr(), NTS, 0, null(), &raw mut out, e)
    });
    create.flags = 0x80;
    refused(KLOG_ERR_INVALID_ARGUMENT, "opts.flags", |e| {
        klog_log_open(
            owner,
            c"u".as_ptr(),
            NTS,
            0,
            &raw const create,
            &raw mut out,
            e,
        )
    });
    create.flags = KLOG_LOG_CREATE;
    create.reserved[2] = 1;
    refused(KLOG_ERR_INVALID_ARGUMENT, "reserved", |e| {
        klog_log_open(
            owner,
            c"u".as_ptr(),
            NTS,
            0,
            &raw const create,
            &raw mut out,
            e,
        )
    });
    assert_eq!(snapshot(root.path()), before, "nothing was made or changed");
    close(owner);
}

#[test]
fn lengths_times_and_flags_of_records_are_checked() {
    let root = tempfile::tempdir().unwrap();
    let owner = manager(root.path());
    let t = log(owner, "t");
    let before = snapshot(root.path());
    let mut huge = record(b"k", b"v");
    huge.value_len = 1 << 31;
    let err = refused(KLOG_ERR_TOO_LARGE, "value", |e| {
        klog_append(t, &raw const huge, 1, null(), null_mut(), e)
    });
    assert_eq!(err.record_index, 0);
    huge.value_len = u64::MAX;
    refused(KLOG_ERR_TOO_LARGE, "value", |e| {
        klog_append(t, &raw const huge, 1, null(), null_mut(), e)
    });
    let one = record(b"k", b"v");
    refused(KLOG_ERR_TOO_LARGE, "records", |e| {
        klog_append(t, &raw const one, usize::MAX / 2, null(), null_mut(), e)
    });
    refused(KLOG_ERR_TOO_LARGE, "batches", |e| {
        klog_append_batches(
            t,
            (&raw const one).cast(),
            usize::MAX,
            null(),
            null_mut(),
            e,
        )
    });
    let mut forgot = record(b"k", b"v");
    forgot.timestamp_ms = 5;
    refused(
        KLOG_ERR_INVALID_ARGUMENT,
        "KLOG_RECORD_HAS_TIMESTAMP",
        |e| klog_append(t, &raw const forgot, 1, null(), null_mut(), e),
    );
    let mut control = record(b"k", b"v");
    control.flags = KLOG_RECORD_CONTROL;
    refused(KLOG_ERR_INVALID_ARGUMENT, "control", |e| {
        klog_append(t, &raw const control, 1, null(), null_mut(), e)
    });
    let mut negative = [record(b"k", b"v"); 2];
    negative[1].flags = KLOG_RECORD_HAS_TIMESTAMP;
    negative[1].timestamp_ms = -5;
    let err = refused(KLOG_ERR_INVALID_TIMESTAMP, "-5", |e| {
        klog_append(t, negative.as_ptr(), 2, null(), null_mut(), e)
    });
    assert_eq!((err.record_index, err.kafka_code), (1, 32));
    assert_eq!(end_offset(t), 0);
    assert_eq!(snapshot(root.path()), before, "nothing was made or changed");
    close(owner);
}

#[test]
fn options_of_appends_and_reads_are_checked() {
    let root = tempfile::tempdir().unwrap();
    let owner = manager(root.path());
    let t = log(owner, "t");
    let before = snapshot(root.path());
    let one = record(b"k", b"v");
    let options = |change: fn(&mut klog_append_options)| {
        let mut options = init!(klog_append_options);
        change(&mut options);
        options
    };
    for (change, status, part) in [
        (
            (|o| o.flags = 0x100) as fn(&mut klog_append_options),
            KLOG_ERR_INVALID_ARGUMENT,
            "opts.flags",
        ),
        (|o| o.origin = 9, KLOG_ERR_INVALID_ARGUMENT, "origin"),
        (
            |o| o.origin = KLOG_ORIGIN_REPLICATION,
            KLOG_ERR_INVALID_ARGUMENT,
            "origin",
        ),
        (
            |o| o.compression = 6,
            KLOG_ERR_INVALID_ARGUMENT,
            "compression",
        ),
        (
            |o| o.durability = 2,
            KLOG_ERR_INVALID_ARGUMENT,
            "durability",
        ),
        (
            |o| {
                o.flags = KLOG_APPEND_HAS_PRODUCER;
                o.producer_id = -1;
            },
            KLOG_ERR_INVALID_ARGUMENT,
            "producer -1",
        ),
        (
            |o| {
                o.flags = KLOG_APPEND_HAS_PRODUCER;
                o.producer_epoch = 40_000;
            },
            KLOG_ERR_INVALID_ARGUMENT,
            "producer_epoch 40000",
        ),
        (
            |o| {
                o.flags = KLOG_APPEND_IF_LOG_END;
                o.expected_log_end = 7;
            },
            KLOG_ERR_LOG_END_MISMATCH,
            "not at 7",
        ),
        (|o| o.reserved[4] = 1, KLOG_ERR_INVALID_ARGUMENT, "reserved"),
        (
            |o| {
                o.flags = KLOG_APPEND_HAS_EPOCH;
                o.leader_epoch = -1;
            },
            KLOG_ERR_INVALID_ARGUMENT,
            "negative",
        ),
    ] {
        let options = options(change);
        refused(status, part, |e| {
            klog_append(t, &raw const one, 1, &raw const options, null_mut(), e)
        });
    }
    let mut read = init!(klog_read_options);
    let mut result = init!(klog_read_result);
    read.isolation = 7;
    refused(KLOG_ERR_INVALID_ARGUMENT, "isolation", |e| {
        klog_read(t, 0, &raw const read, null_mut(), 0, &raw mut result, e)
    });
    read.isolation = 0;
    read.timeout_ms = -2;
    refused(KLOG_ERR_INVALID_ARGUMENT, "timeout_ms", |e| {
        klog_read(t, 0, &raw const read, null_mut(), 0, &raw mut result, e)
    });
    for out_of_range in [-1, 1, i64::MAX, i64::MIN] {
        let err = refused(KLOG_ERR_OFFSET_OUT_OF_RANGE, "0..0", |e| {
            klog_read(t, out_of_range, null(), null_mut(), 0, &raw mut result, e)
        });
        assert_eq!((err.offset, err.kafka_code), (out_of_range, 1));
    }
    assert_eq!(end_offset(t), 0);
    assert_eq!(snapshot(root.path()), before, "nothing was made or changed");
    close(owner);
}

#[test]
fn config_keys_are_checked_at_once_and_the_nearest_is_named() {
    let mut config = klog_config { id: 0 };
    ok(|e| klog_config_create(KLOG_CONFIG_BROKER, &raw mut config, e));
    let set = |key: &std::ffi::CStr, value: &std::ffi::CStr| {
        call(|e| klog_config_set(config, key.as_ptr(), NTS, value.as_ptr(), NTS, e))
    };
    let (status, message, err) = set(c"log.retention.byte", c"1");
    assert_eq!((status, err.kafka_code), (KLOG_ERR_UNKNOWN_CONFIG, 40));
    assert!(message.contains("log.retention.bytes"), "{message}");
    let (status, message, _) = set(c"log.segment.bytes", c"12");
    assert_eq!(status, KLOG_ERR_INVALID_CONFIG);
    assert!(message.contains("log.segment.bytes"), "{message}");
    assert_eq!(set(c"log.segment.bytes", c"2097152").0, KLOG_OK);
    let mut buf = [0 as c_char; 64];
    let mut needed = 0;
    let get = |buf: &mut [c_char], needed: &mut usize| {
        klog_config_get(
            config,
            c"log.segment.bytes".as_ptr(),
            NTS,
            buf.as_mut_ptr(),
            buf.len(),
            needed,
            null_mut(),
        )
    };
    assert_eq!(get(&mut buf[..3], &mut needed), KLOG_ERR_BUFFER_TOO_SMALL);
    assert_eq!((needed, buf[0]), (8, 0), "only the size was written");
    assert_eq!(get(&mut buf, &mut needed), KLOG_OK);
    assert_eq!(text(&buf), "2097152");
    let properties = b"log.retention.ms=5\nnonsense.key=1\nlog.segment.bytes=x\n";
    let err = refused(KLOG_ERR_INVALID_CONFIG, "log.segment.bytes", |e| {
        klog_config_load(config, properties.as_ptr().cast(), properties.len(), e)
    });
    assert_eq!(err.record_index, 3);
    ok(|e| klog_config_load(config, properties.as_ptr().cast(), 34, e));
    refused(KLOG_ERR_UNKNOWN_CONFIG, "retention.ms", |e| {
        klog_config_set_topic(
            config,
            c"t".as_ptr(),
            NTS,
            c"retention.m".as_ptr(),
            NTS,
            c"1".as_ptr(),
            NTS,
            e,
        )
    });
    ok(|e| klog_config_set_topic(config, c"t".as_ptr(), NTS, null(), 0, null(), 0, e));
    let mut index = 0;
    let mut lines = [0 as c_char; 4096];
    loop {
        let status = klog_config_describe(
            index,
            lines.as_mut_ptr(),
            lines.len(),
            null_mut(),
            null_mut(),
        );
        if status == KLOG_ERR_END {
            break;
        }
        assert_eq!(status, KLOG_OK);
        index += 1;
    }
    assert!(index > 80, "{index} keys");

    let root = tempfile::tempdir().unwrap();
    let path = CString::new(root.path().to_str().unwrap()).unwrap();
    let paths = [path.as_ptr()];
    let mut options = init!(klog_manager_options);
    options.dirs = paths.as_ptr();
    options.dir_count = 1;
    options.config = config;
    let mut owner = klog_manager { id: 0 };
    ok(|e| klog_manager_open(&raw const options, &raw mut owner, e));
    assert_eq!(
        klog_config_close(config),
        KLOG_OK,
        "configs are copied at use"
    );
    let mut report = [0 as c_char; 4096];
    ok(|e| klog_manager_report(owner, report.as_mut_ptr(), report.len(), null_mut(), e));
    assert!(
        text(&report).contains("nonsense.key"),
        "an unknown key of a text is a line of the report"
    );
    close(owner);
    refused(KLOG_ERR_STALE_HANDLE, "", |e| {
        klog_manager_open(&raw const options, &raw mut owner, e)
    });
}
