//! The C ABI under good and bad input: every misuse answers a status and a message that names what and where, creates
//! nothing and loses nothing (c-abi.md 1; hard-cases.md HC44 (a), (b), (d)).
#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap
)]

use std::ffi::{CString, c_char};
use std::path::Path;
use std::ptr::{null, null_mut};

use klog::ffi::append::*;
use klog::ffi::config::*;
use klog::ffi::constants::*;
use klog::ffi::cursor::*;
use klog::ffi::log::*;
use klog::ffi::manager::*;
use klog::ffi::read::*;
use klog::ffi::types::*;

const NTS: usize = usize::MAX;

/// A struct with its size and all else zero.
macro_rules! init {
    ($type:ty) => {{
        // SAFETY: every field of the ABI's structs is an integer or a pointer, for which zero is a value.
        let mut value: $type = unsafe { std::mem::zeroed() };
        value.struct_size = u32::try_from(size_of::<$type>()).unwrap();
        value
    }};
}

fn error() -> Box<klog_error> {
    Box::new(init!(klog_error))
}

fn text(field: &[c_char]) -> String {
    let bytes: Vec<u8> = field.iter().take_while(|&&c| c != 0).map(|&c| c as u8).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Calls with an error struct and answers status, message and the struct.
fn call(f: impl FnOnce(*mut klog_error) -> klog_status) -> (klog_status, String, Box<klog_error>) {
    let mut err = error();
    let status = f(&raw mut *err);
    (status, text(&err.message), err)
}

#[track_caller]
fn ok(f: impl FnOnce(*mut klog_error) -> klog_status) {
    let (status, message, _) = call(f);
    assert_eq!(status, KLOG_OK, "{message}");
}

/// The call answers `status`, and the message says `part`.
#[track_caller]
fn refused(status: i32, part: &str, f: impl FnOnce(*mut klog_error) -> klog_status) -> Box<klog_error> {
    let (answer, message, err) = call(f);
    assert_eq!(answer, status, "{message}");
    assert_eq!(err.status, status);
    assert!(message.contains(part), "{message:?} does not say {part:?}");
    err
}

fn open_manager(dirs: &[&Path], err: *mut klog_error) -> (klog_status, klog_manager) {
    let paths: Vec<CString> = dirs.iter().map(|d| CString::new(d.to_str().unwrap()).unwrap()).collect();
    let pointers: Vec<*const c_char> = paths.iter().map(|p| p.as_ptr()).collect();
    let mut options = init!(klog_manager_options);
    options.dirs = pointers.as_ptr();
    options.dir_count = pointers.len() as u64;
    let mut manager = klog_manager { id: 77 };
    let status = klog_manager_open(&raw const options, &raw mut manager, err);
    (status, manager)
}

fn manager(dir: &Path) -> klog_manager {
    let mut err = error();
    let (status, manager) = open_manager(&[dir], &raw mut *err);
    assert_eq!(status, KLOG_OK, "{}", text(&err.message));
    manager
}

fn log(manager: klog_manager, topic: &str) -> klog_log {
    let topic = CString::new(topic).unwrap();
    let mut options = init!(klog_log_options);
    options.flags = KLOG_LOG_CREATE;
    let mut log = klog_log { id: 0 };
    ok(|e| klog_log_open(manager, topic.as_ptr(), NTS, 0, &raw const options, &raw mut log, e));
    log
}

fn record(key: &[u8], value: &[u8]) -> klog_record {
    // SAFETY: integers and pointers, for which zero is a value.
    let mut record: klog_record = unsafe { std::mem::zeroed() };
    record.key = key.as_ptr().cast();
    record.key_len = key.len() as u64;
    record.value = value.as_ptr().cast();
    record.value_len = value.len() as u64;
    record
}

fn end_offset(log: klog_log) -> i64 {
    let mut end = -7;
    assert_eq!(klog_log_end_offset(log, &raw mut end), KLOG_OK);
    end
}

fn close(manager: klog_manager) {
    ok(|e| klog_manager_close(manager, 0, -1, e));
}

/// Every file below a directory with its content.
fn snapshot(dir: &Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut todo = vec![dir.to_path_buf()];
    while let Some(at) = todo.pop() {
        for entry in std::fs::read_dir(&at).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                todo.push(path);
            } else {
                let content = std::fs::read(&path).unwrap();
                found.push((path, content));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn directories_that_cannot_be_opened_are_named_and_untouched() {
    let root = tempfile::tempdir().unwrap();
    let missing = root.path().join("missing/deep");
    refused(KLOG_ERR_LOG_DIR_NOT_FOUND, "missing/deep", |e| {
        let (status, manager) = open_manager(&[&missing], e);
        assert_eq!(manager.id, 0, "the handle is null on failure");
        status
    });
    assert!(!root.path().join("missing").exists(), "nothing was made");

    let file = root.path().join("file");
    std::fs::write(&file, b"x").unwrap();
    let err = refused(KLOG_ERR_LOG_DIR_NOT_FOUND, "is not a directory", |e| open_manager(&[&file], e).0);
    assert_eq!(text(&err.path), file.to_str().unwrap());
    assert_eq!(std::fs::read(&file).unwrap(), b"x");

    refused(KLOG_ERR_INVALID_ARGUMENT, "no log directory", |e| open_manager(&[], e).0);
    refused(KLOG_ERR_INVALID_ARGUMENT, "is empty", |e| open_manager(&[Path::new("")], e).0);
    let dir = root.path().join("d");
    std::fs::create_dir(&dir).unwrap();
    let link = root.path().join("link");
    std::os::unix::fs::symlink(&dir, &link).unwrap();
    refused(KLOG_ERR_INVALID_ARGUMENT, "Duplicate log directory", |e| open_manager(&[&dir, &link], e).0);
    assert!(snapshot(&dir).is_empty());
}

#[test]
fn an_unreadable_directory_is_named() {
    use std::os::unix::fs::PermissionsExt;
    // SAFETY: no preconditions.
    if unsafe { libc::geteuid() } == 0 {
        // Root may read everything: an I/O error of another kind stands in, a lock file that is a directory.
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join(".lock")).unwrap();
        let err = refused(KLOG_ERR_KAFKA_STORAGE_ERROR, ".lock", |e| open_manager(&[root.path()], e).0);
        assert_eq!(err.os_errno, libc::EISDIR);
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("d");
    std::fs::create_dir(&dir).unwrap();
    std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0)).unwrap();
    let err = refused(KLOG_ERR_KAFKA_STORAGE_ERROR, "d", |e| open_manager(&[&dir], e).0);
    assert_eq!(err.os_errno, libc::EACCES);
    std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn missing_directories_are_made_when_asked_for() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("a/b");
    let path = CString::new(dir.to_str().unwrap()).unwrap();
    let paths = [path.as_ptr()];
    let mut options = init!(klog_manager_options);
    options.flags = KLOG_OPEN_CREATE_DIRS;
    options.dirs = paths.as_ptr();
    options.dir_count = 1;
    let mut manager = klog_manager { id: 0 };
    ok(|e| klog_manager_open(&raw const options, &raw mut manager, e));
    close(manager);
    assert!(dir.join(".kafka_cleanshutdown").exists());
}

#[test]
fn hc44_d_a_second_open_fails_also_by_another_path_and_the_first_goes_on() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("d");
    std::fs::create_dir(&dir).unwrap();
    let link = root.path().join("link");
    std::os::unix::fs::symlink(&dir, &link).unwrap();
    let first = manager(&dir);
    let t = log(first, "t");
    let before = snapshot(&dir);
    for again in [&dir, &link] {
        let err = refused(KLOG_ERR_DIR_LOCKED, "another process or manager", |e| open_manager(&[again], e).0);
        assert!(text(&err.path).starts_with(root.path().to_str().unwrap()));
    }
    assert_eq!(snapshot(&dir), before);
    let mut offset = -1;
    ok(|e| klog_append_one(t, null(), 0, b"v".as_ptr().cast(), 1, 5, &raw mut offset, e));
    assert_eq!(offset, 0);
    close(first);
    close(manager(&link));
}

#[test]
fn hc44_d_a_forked_child_may_only_close_and_the_parent_keeps_its_lock() {
    let root = tempfile::tempdir().unwrap();
    let owner = manager(root.path());
    let t = log(owner, "t");
    let mut cursor = klog_cursor { id: 0 };
    ok(|e| klog_cursor_open(t, 0, null(), &raw mut cursor, e));
    let before = snapshot(root.path());
    // SAFETY: the child calls the library, which this is the test of, and ends by _exit.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let mut wrong = 0;
        let mut end = 0;
        let mut expect = |status: klog_status, wanted: i32| wrong += i32::from(status != wanted);
        expect(klog_log_end_offset(t, &raw mut end), KLOG_ERR_FORKED);
        expect(klog_append_one(t, null(), 0, null(), 0, 1, null_mut(), null_mut()), KLOG_ERR_FORKED);
        expect(klog_flush_all(owner, 0, null_mut()), KLOG_ERR_FORKED);
        expect(klog_cursor_seek(cursor, 0, null_mut()), KLOG_ERR_FORKED);
        expect(klog_cursor_close(cursor), KLOG_OK);
        expect(klog_log_close(t), KLOG_OK);
        expect(klog_manager_close(owner, 0, -1, null_mut()), KLOG_OK);
        expect(klog_manager_close(owner, 0, -1, null_mut()), KLOG_ERR_STALE_HANDLE);
        // SAFETY: ends the child without running what the parent registered.
        unsafe { libc::_exit(wrong) };
    }
    let mut status = 0;
    // SAFETY: `child` is a child of this process, `status` outlives the call.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, "child: {status:#x}");
    assert_eq!(snapshot(root.path()), before, "the child touched no file");
    refused(KLOG_ERR_DIR_LOCKED, "", |e| open_manager(&[root.path()], e).0);
    let mut offset = -1;
    ok(|e| klog_append_one(t, null(), 0, null(), 0, 1, &raw mut offset, e));
    assert_eq!(offset, 0);
    close(owner);
}

#[test]
fn handles_that_are_null_closed_or_of_another_kind_answer_statuses() {
    let root = tempfile::tempdir().unwrap();
    let owner = manager(root.path());
    let t = log(owner, "t");
    let mut cursor = klog_cursor { id: 0 };
    ok(|e| klog_cursor_open(t, 0, null(), &raw mut cursor, e));
    let mut end = 0;
    assert_eq!(klog_log_end_offset(klog_log { id: 0 }, &raw mut end), KLOG_ERR_NULL_HANDLE);
    assert_eq!(klog_log_end_offset(klog_log { id: owner.id }, &raw mut end), KLOG_ERR_WRONG_KIND);
    for random in [1, 3 << 56, (3 << 56) | 0xffff_ffff, t.id ^ (1 << 40), u64::MAX] {
        let status = klog_log_end_offset(klog_log { id: random }, &raw mut end);
        assert!([KLOG_ERR_WRONG_KIND, KLOG_ERR_STALE_HANDLE].contains(&status), "{random:#x}: {status}");
    }
    // A closed manager's children say so; their closes still work, once.
    close(owner);
    let mut result = init!(klog_read_result);
    let mut info = init!(klog_log_info);
    let mut found = init!(klog_timestamp_offset);
    let one = record(b"k", b"v");
    let mut places = [one; 2];
    refused(KLOG_ERR_CLOSED, "closed", |e| klog_append(t, &raw const one, 1, null(), null_mut(), e));
    refused(KLOG_ERR_CLOSED, "closed", |e| klog_read(t, 0, null(), null_mut(), 0, &raw mut result, e));
    refused(KLOG_ERR_CLOSED, "closed", |e| klog_log_get_info(t, &raw mut info, e));
    refused(KLOG_ERR_CLOSED, "closed", |e| klog_offset_for_timestamp(t, 0, &raw mut found, e));
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
    refused(KLOG_ERR_STALE_HANDLE, "closed", |e| klog_manager_close(owner, 0, -1, e));
    refused(KLOG_ERR_STALE_HANDLE, "closed", |e| klog_flush_all(owner, 0, e));
}

#[test]
fn an_old_handle_never_names_a_new_object() {
    let mut seen = std::collections::HashSet::new();
    for _ in 0..5000 {
        let mut config = klog_config { id: 0 };
        ok(|e| klog_config_create(KLOG_CONFIG_BROKER, &raw mut config, e));
        assert!(seen.insert(config.id), "{:#x} was given out twice", config.id);
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
    refused(n, "opts", |e| klog_manager_open(null(), &raw mut manager_out, e));
    refused(n, "out", |e| klog_manager_open(&raw const options, null_mut(), e));
    refused(n, "topic", |e| klog_log_open(owner, null(), NTS, 0, null(), &raw mut log_out, e));
    refused(n, "out", |e| klog_log_open(owner, c"t".as_ptr(), NTS, 0, null(), null_mut(), e));
    refused(n, "records", |e| klog_append(t, null(), 3, null(), null_mut(), e));
    refused(n, "packed", |e| klog_append_packed(t, null(), 3, null(), null_mut(), e));
    refused(n, "batches", |e| klog_append_batches(t, null(), 3, null(), null_mut(), e));
    refused(n, "key", |e| klog_append_one(t, null(), 3, null(), 0, 1, null_mut(), e));
    refused(n, "value", |e| klog_append_one(t, null(), 0, null(), 3, 1, null_mut(), e));
    refused(n, "buf", |e| klog_read(t, 0, null(), null_mut(), 10, &raw mut result, e));
    refused(n, "out", |e| klog_read(t, 0, null(), null_mut(), 0, null_mut(), e));
    refused(n, "out", |e| klog_cursor_open(t, 0, null(), null_mut(), e));
    refused(n, "records", |e| klog_cursor_next(cursor, null_mut(), 3, &raw mut result, e));
    refused(n, "out", |e| klog_cursor_next(cursor, null_mut(), 0, null_mut(), e));
    refused(n, "buf", |e| klog_cursor_next_packed(cursor, null_mut(), 100, &raw mut result, e));
    refused(n, "out", |e| klog_log_get_info(t, null_mut(), e));
    refused(n, "out", |e| klog_manager_get_info(owner, null_mut(), e));
    refused(n, "out", |e| klog_offset_for_timestamp(t, 0, null_mut(), e));
    refused(n, "out", |e| klog_config_create(0, null_mut(), e));
    refused(n, "key", |e| klog_config_set(config, null(), NTS, c"1".as_ptr(), NTS, e));
    refused(n, "value", |e| klog_config_set(config, c"log.segment.bytes".as_ptr(), NTS, null(), NTS, e));
    assert_eq!(klog_log_end_offset(t, null_mut()), n);
    let mut bad_header = record(b"k", b"v");
    bad_header.header_count = 2;
    let err = refused(n, "headers", |e| klog_append(t, &raw const bad_header, 1, null(), null_mut(), e));
    assert_eq!(err.record_index, 0);
    // A null error struct is never a problem.
    assert_eq!(klog_append(t, null(), 3, null(), null_mut(), null_mut()), n);
    assert_eq!(end_offset(t), 0);
    assert_eq!(klog_config_close(config), KLOG_OK);
    close(owner);
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
    #[repr(C)]
    struct Later {
        options: klog_append_options,
        unknown: u64,
    }
    let mut later = Later { options: init!(klog_append_options), unknown: 0 };
    later.options.struct_size = u32::try_from(size_of::<Later>()).unwrap();
    ok(|e| klog_append(t, &raw const one, 1, (&raw const later).cast(), null_mut(), e));
    later.unknown = 1;
    refused(KLOG_ERR_STRUCT_SIZE, "", |e| {
        klog_append(t, &raw const one, 1, (&raw const later).cast(), null_mut(), e)
    });
    #[repr(C)]
    struct LaterResult {
        result: klog_append_result,
        unknown: u64,
    }
    let mut result = LaterResult { result: init!(klog_append_result), unknown: 7 };
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
    assert_eq!(klog_flush(t, -1, 9, &raw mut *small), KLOG_ERR_INVALID_ARGUMENT);
    assert_eq!((small.status, small.message[0]), (KLOG_ERR_INVALID_ARGUMENT, 0), "only the head was written");
    small.struct_size = 80;
    assert_eq!(klog_flush(t, -1, 9, &raw mut *small), KLOG_ERR_INVALID_ARGUMENT);
    assert_eq!(text(&small.message).len(), 15, "as much text as fits");
    assert_ne!(small.flags & KLOG_ERRF_MESSAGE_CUT, 0);
    close(owner);
}

#[test]
fn names_flags_lengths_and_keys_are_checked() {
    let root = tempfile::tempdir().unwrap();
    let owner = manager(root.path());
    let t = log(owner, "t");
    let before = snapshot(root.path());
    let mut out = klog_log { id: 9 };
    let mut create = init!(klog_log_options);
    create.flags = KLOG_LOG_CREATE;
    let long = CString::new("x".repeat(250)).unwrap();
    for bad in [c"", c".", c"..", c"a/b", c"a b", c"\xff", long.as_c_str()] {
        let err = refused(KLOG_ERR_INVALID_TOPIC_EXCEPTION, "topic name", |e| {
            klog_log_open(owner, bad.as_ptr(), NTS, 0, &raw const create, &raw mut out, e)
        });
        assert_eq!((err.kafka_code, out.id), (17, 0));
    }
    let err = refused(KLOG_ERR_INVALID_PARTITIONS, "-1", |e| {
        klog_log_open(owner, c"u".as_ptr(), NTS, -1, &raw const create, &raw mut out, e)
    });
    assert_eq!(err.kafka_code, 37);
    refused(KLOG_ERR_UNKNOWN_TOPIC_OR_PARTITION, "u-0", |e| {
        klog_log_open(owner, c"u".as_ptr(), NTS, 0, null(), &raw mut out, e)
    });
    create.flags = 0x80;
    refused(KLOG_ERR_INVALID_ARGUMENT, "opts.flags", |e| {
        klog_log_open(owner, c"u".as_ptr(), NTS, 0, &raw const create, &raw mut out, e)
    });
    create.flags = KLOG_LOG_CREATE;
    create.reserved[2] = 1;
    refused(KLOG_ERR_INVALID_ARGUMENT, "reserved", |e| {
        klog_log_open(owner, c"u".as_ptr(), NTS, 0, &raw const create, &raw mut out, e)
    });

    let mut huge = record(b"k", b"v");
    huge.value_len = 1 << 31;
    let err =
        refused(KLOG_ERR_TOO_LARGE, "value", |e| klog_append(t, &raw const huge, 1, null(), null_mut(), e));
    assert_eq!(err.record_index, 0);
    huge.value_len = u64::MAX;
    refused(KLOG_ERR_TOO_LARGE, "value", |e| klog_append(t, &raw const huge, 1, null(), null_mut(), e));
    let one = record(b"k", b"v");
    refused(KLOG_ERR_TOO_LARGE, "records", |e| {
        klog_append(t, &raw const one, usize::MAX / 2, null(), null_mut(), e)
    });
    refused(KLOG_ERR_TOO_LARGE, "batches", |e| {
        klog_append_batches(t, (&raw const one).cast(), usize::MAX, null(), null_mut(), e)
    });
    let mut forgot = record(b"k", b"v");
    forgot.timestamp_ms = 5;
    refused(KLOG_ERR_INVALID_ARGUMENT, "KLOG_RECORD_HAS_TIMESTAMP", |e| {
        klog_append(t, &raw const forgot, 1, null(), null_mut(), e)
    });
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

    let options = |change: fn(&mut klog_append_options)| {
        let mut options = init!(klog_append_options);
        change(&mut options);
        options
    };
    for (change, status, part) in [
        ((|o| o.flags = 0x100) as fn(&mut klog_append_options), KLOG_ERR_INVALID_ARGUMENT, "opts.flags"),
        (|o| o.origin = 9, KLOG_ERR_INVALID_ARGUMENT, "origin"),
        (|o| o.origin = KLOG_ORIGIN_REPLICATION, KLOG_ERR_UNSUPPORTED, "origin"),
        (|o| o.compression = 6, KLOG_ERR_INVALID_ARGUMENT, "compression"),
        (|o| o.durability = 2, KLOG_ERR_INVALID_ARGUMENT, "durability"),
        (|o| o.flags = KLOG_APPEND_HAS_PRODUCER, KLOG_ERR_UNSUPPORTED, "producer id"),
        (|o| o.flags = KLOG_APPEND_IF_LOG_END, KLOG_ERR_UNSUPPORTED, "log end"),
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
        refused(status, part, |e| klog_append(t, &raw const one, 1, &raw const options, null_mut(), e));
    }
    let mut read = init!(klog_read_options);
    let mut result = init!(klog_read_result);
    read.isolation = 7;
    refused(KLOG_ERR_INVALID_ARGUMENT, "isolation", |e| {
        klog_read(t, 0, &raw const read, null_mut(), 0, &raw mut result, e)
    });
    read.isolation = 0;
    read.timeout_ms = -1;
    refused(KLOG_ERR_UNSUPPORTED, "timeout_ms", |e| {
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
        klog_config_set_topic(config, c"t".as_ptr(), NTS, c"retention.m".as_ptr(), NTS, c"1".as_ptr(), NTS, e)
    });
    ok(|e| klog_config_set_topic(config, c"t".as_ptr(), NTS, null(), 0, null(), 0, e));
    let mut index = 0;
    let mut lines = [0 as c_char; 4096];
    loop {
        let status = klog_config_describe(index, lines.as_mut_ptr(), lines.len(), null_mut(), null_mut());
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
    assert_eq!(klog_config_close(config), KLOG_OK, "configs are copied at use");
    let mut report = [0 as c_char; 4096];
    ok(|e| klog_manager_report(owner, report.as_mut_ptr(), report.len(), null_mut(), e));
    assert!(text(&report).contains("nonsense.key"), "an unknown key of a text is a line of the report");
    close(owner);
    refused(KLOG_ERR_STALE_HANDLE, "", |e| klog_manager_open(&raw const options, &raw mut owner, e));
}

/// Appends through the three forms, reads through the three forms: the same records.
#[test]
fn arrays_packed_buffers_and_batches_are_three_forms_of_the_same() {
    let root = tempfile::tempdir().unwrap();
    let owner = manager(root.path());
    let t = log(owner, "t");
    let headers = [
        klog_header { key: c"h".as_ptr(), key_len: 1, value: b"x".as_ptr().cast(), value_len: 1 },
        klog_header { key: null(), key_len: 0, value: null(), value_len: 0 },
    ];
    let mut records = [record(b"a", b"1"), record(b"", b""), record(b"c", b"3")];
    records[1].value = null();
    records[2].headers = headers.as_ptr();
    records[2].header_count = 2;
    for (i, r) in records.iter_mut().enumerate() {
        r.flags = KLOG_RECORD_HAS_TIMESTAMP;
        r.timestamp_ms = 100 + i as i64;
    }
    let mut result = init!(klog_append_result);
    ok(|e| klog_append(t, records.as_ptr(), 3, null(), &raw mut result, e));
    assert_eq!(
        (result.first_offset, result.last_offset, result.records, result.max_timestamp),
        (0, 2, 3, 102)
    );

    // Packed out, packed in.
    let mut cursor = klog_cursor { id: 0 };
    ok(|e| klog_cursor_open(t, 0, null(), &raw mut cursor, e));
    let mut packed = vec![0u8; 4096];
    let mut read = init!(klog_read_result);
    let small = call(|e| klog_cursor_next_packed(cursor, packed.as_mut_ptr().cast(), 60, &raw mut read, e));
    assert_eq!((small.0, read.bytes_needed), (KLOG_ERR_BUFFER_TOO_SMALL, 32 + 56));
    ok(|e| klog_cursor_next_packed(cursor, packed.as_mut_ptr().cast(), 32 + 56, &raw mut read, e));
    assert_eq!(
        (read.records, read.first_offset, read.next_offset),
        (1, 0, 1),
        "one entry fits, the rest comes later"
    );
    ok(|e| klog_cursor_seek(cursor, 0, e));
    ok(|e| klog_cursor_next_packed(cursor, packed.as_mut_ptr().cast(), packed.len(), &raw mut read, e));
    assert_eq!((read.records, read.next_offset), (3, 3));
    packed.truncate(read.bytes as usize);
    // What only reading sets must be cleared before it is appended: offsets are ignored, the kind is the same.
    ok(|e| klog_append_packed(t, packed.as_ptr().cast(), packed.len(), null(), &raw mut result, e));
    assert_eq!((result.first_offset, result.last_offset), (3, 5));

    // A batch out, a batch in: its offset is 0 in the hands of a producer.
    let mut batch = vec![0u8; 4096];
    ok(|e| klog_read(t, 0, null(), batch.as_mut_ptr().cast(), batch.len(), &raw mut read, e));
    assert_eq!((read.batches, read.next_offset, read.segment_base_offset, read.position), (2, 6, 0, 0));
    let first_len = (read.bytes / 2) as usize;
    ok(|e| klog_append_batches(t, batch.as_ptr().cast(), first_len, null(), &raw mut result, e));
    assert_eq!((result.first_offset, result.last_offset, result.records), (6, 8, 3));
    let err = refused(KLOG_ERR_INVALID_RECORD, "one batch", |e| {
        let twice = [&batch[..first_len], &batch[..first_len]].concat();
        klog_append_batches(t, twice.as_ptr().cast(), twice.len(), null(), null_mut(), e)
    });
    assert_eq!(err.kafka_code, 87);
    let mut torn = batch[..first_len].to_vec();
    torn[first_len - 1] ^= 1;
    refused(KLOG_ERR_CORRUPT_MESSAGE, "checksum", |e| {
        klog_append_batches(t, torn.as_ptr().cast(), torn.len(), null(), null_mut(), e)
    });
    ok(|e| klog_append_batches(t, batch.as_ptr().cast(), 30, null(), &raw mut result, e));
    assert_eq!((result.first_offset, result.records), (-1, 0), "a cut batch is nothing, as in Kafka");

    // All copies read alike.
    ok(|e| klog_cursor_seek(cursor, 0, e));
    let mut places = [record(b"", b""); 64];
    ok(|e| klog_cursor_next(cursor, places.as_mut_ptr(), 64, &raw mut read, e));
    assert_eq!(read.records, 12);
    // SAFETY: lent by the cursor until its next call.
    let bytes = |p: *const std::ffi::c_void, len: u64| {
        (!p.is_null()).then(|| unsafe { std::slice::from_raw_parts(p.cast::<u8>(), len as usize) })
    };
    for (i, place) in places.iter().take(12).enumerate() {
        let (want_key, want_value): (&[u8], Option<&[u8]>) = match i % 3 {
            0 => (b"a", Some(b"1")),
            1 => (b"", None),
            _ => (b"c", Some(b"3")),
        };
        assert_eq!(place.offset, i as i64);
        assert_eq!(place.timestamp_ms, 100 + (i % 3) as i64);
        assert_eq!(bytes(place.key, place.key_len), Some(want_key));
        assert_eq!(bytes(place.value, place.value_len), want_value);
        assert_eq!(place.header_count, if i % 3 == 2 { 2 } else { 0 });
        if i % 3 == 2 {
            // SAFETY: two headers, lent by the cursor.
            let own = unsafe { std::slice::from_raw_parts(place.headers, 2) };
            assert_eq!(bytes(own[0].value, own[0].value_len), Some(&b"x"[..]));
            assert_eq!((own[1].key_len, own[1].value.is_null()), (0, true));
        }
    }
    assert_eq!(klog_cursor_next(cursor, places.as_mut_ptr(), 64, &raw mut read, null_mut()), KLOG_ERR_END);
    assert_eq!(read.next_offset, 12, "END says where the log ends");
    assert_eq!(klog_cursor_close(cursor), KLOG_OK);
    close(owner);
}

#[test]
fn hc44_b_no_pointer_is_kept() {
    let root = tempfile::tempdir().unwrap();
    let owner = manager(root.path());
    let t = log(owner, "t");
    for round in 0..50u8 {
        let mut value = vec![round; 1000];
        let one = record(b"k", &value);
        ok(|e| klog_append(t, &raw const one, 1, null(), null_mut(), e));
        value.fill(0xdb);
    }
    let mut cursor = klog_cursor { id: 0 };
    ok(|e| klog_cursor_open(t, 0, null(), &raw mut cursor, e));
    let mut places = [record(b"", b""); 64];
    let mut read = init!(klog_read_result);
    ok(|e| klog_cursor_next(cursor, places.as_mut_ptr(), 64, &raw mut read, e));
    for (i, place) in places.iter().take(50).enumerate() {
        // SAFETY: lent by the cursor.
        let value = unsafe { std::slice::from_raw_parts(place.value.cast::<u8>(), place.value_len as usize) };
        assert!(value.iter().all(|&b| b as usize == i));
    }
    close(owner);
}

#[test]
fn a_cursor_takes_one_call_at_a_time_and_others_are_busy() {
    let root = tempfile::tempdir().unwrap();
    let owner = manager(root.path());
    let t = log(owner, "t");
    let value = vec![7u8; 100_000];
    let one = record(b"k", &value);
    for _ in 0..50 {
        ok(|e| klog_append(t, &raw const one, 1, null(), null_mut(), e));
    }
    let mut cursor = klog_cursor { id: 0 };
    ok(|e| klog_cursor_open(t, 0, null(), &raw mut cursor, e));
    let statuses: Vec<i32> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(move || {
                    (0..200)
                        .map(|_| {
                            let mut read = init!(klog_read_result);
                            // SAFETY: integers and pointers, for which zero is a value.
                            let mut places: [klog_record; 4] = unsafe { std::mem::zeroed() };
                            let status =
                                klog_cursor_next(cursor, places.as_mut_ptr(), 4, &raw mut read, null_mut());
                            if status == KLOG_ERR_END {
                                let _ = klog_cursor_seek(cursor, 0, null_mut());
                            }
                            status
                        })
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        threads.into_iter().flat_map(|t| t.join().unwrap()).collect()
    });
    let allowed = [KLOG_OK, KLOG_ERR_END, KLOG_ERR_BUSY];
    assert!(statuses.iter().all(|s| allowed.contains(s)), "{statuses:?}");
    close(owner);
}

#[test]
fn calls_from_many_threads_during_close_answer_ok_or_closed() {
    for _ in 0..20 {
        let root = tempfile::tempdir().unwrap();
        let owner = manager(root.path());
        let t = log(owner, "t");
        let acknowledged = std::sync::atomic::AtomicI64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    loop {
                        let mut offset = -1;
                        let status = klog_append_one(
                            t,
                            null(),
                            0,
                            b"v".as_ptr().cast(),
                            1,
                            1,
                            &raw mut offset,
                            null_mut(),
                        );
                        match status {
                            KLOG_OK => {
                                acknowledged.fetch_max(offset + 1, std::sync::atomic::Ordering::SeqCst)
                            }
                            KLOG_ERR_CLOSED => break,
                            other => panic!("{other}"),
                        };
                    }
                });
            }
            while acknowledged.load(std::sync::atomic::Ordering::SeqCst) < 50 {
                std::hint::spin_loop();
            }
            close(owner);
        });
        let again = manager(root.path());
        let t = log(again, "t");
        assert!(end_offset(t) >= acknowledged.load(std::sync::atomic::Ordering::SeqCst));
        let mut info = init!(klog_manager_info);
        ok(|e| klog_manager_get_info(again, &raw mut info, e));
        assert_eq!((info.segments_recovered, info.bytes_truncated), (0, 0), "it was closed in order");
        close(again);
    }
}

#[cfg(feature = "test-hooks")]
mod panics {
    use super::*;
    use klog::ffi::panic_in;

    // The hook is one for the process: these run one after the other.
    static ONE_AT_A_TIME: std::sync::Mutex<()> = std::sync::Mutex::new(());

    #[test]
    fn hc44_a_a_panic_in_every_function_is_a_status_and_poisons_what_it_worked_on() {
        let _alone = ONE_AT_A_TIME.lock().unwrap();
        let source = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src/ffi")).unwrap();
        let mut exported = Vec::new();
        let mut guarded = Vec::new();
        for entry in source {
            let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
            let mut lines = text.lines().peekable();
            while let Some(line) = lines.next() {
                if line == "#[unsafe(no_mangle)]" {
                    let name = lines.by_ref().find(|l| l.contains("extern \"C\" fn")).unwrap();
                    let name = name.split("fn ").nth(1).unwrap().split('(').next().unwrap().to_owned();
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
        ];
        exported.retain(|name| !infallible.contains(&name.as_str()));
        exported.sort();
        guarded.sort();
        assert_eq!(exported, guarded, "every export is guarded under its own name");
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

    /// Calls a function with arguments that are as good as needed to reach its guard.
    fn call_by_name(name: &str, owner: klog_manager, t: klog_log) -> (klog_status, String) {
        let mut c = klog_config { id: 0 };
        let mut m = klog_manager { id: 0 };
        let mut l = klog_log { id: 0 };
        let mut cur = klog_cursor { id: 0 };
        let mut info = init!(klog_manager_info);
        let mut log_info = init!(klog_log_info);
        let mut found = init!(klog_timestamp_offset);
        let mut read = init!(klog_read_result);
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
        refused(KLOG_ERR_POISONED, "close it", |e| klog_append(t, &raw const one, 1, null(), null_mut(), e));
        refused(KLOG_ERR_POISONED, "close it", |e| klog_flush_all(owner, 0, e));
        let mut buf = [0u8; 200];
        let mut read = init!(klog_read_result);
        ok(|e| klog_read(t, 0, null(), buf.as_mut_ptr().cast(), buf.len(), &raw mut read, e));
        assert_eq!(read.batches, 1, "rolled data can still be read");
        close(owner);
        assert!(!root.path().join(".kafka_cleanshutdown").exists());
        let again = manager(root.path());
        let t = log(again, "t");
        assert_eq!(end_offset(t), 1);
        close(again);
        assert!(root.path().join(".kafka_cleanshutdown").exists());
    }
}
