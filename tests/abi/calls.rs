//! Short forms of the calls, as a C program would wrap them.

use std::ffi::{CString, c_char};
use std::path::Path;

use klog::ffi::constants::*;
use klog::ffi::log::*;
use klog::ffi::manager::*;
use klog::ffi::types::*;

pub(crate) const NTS: usize = usize::MAX;

/// A struct with its size and all else zero.
macro_rules! init {
    ($type:ty) => {{
        // SAFETY: every field of the ABI's structs is an integer or a pointer, for which zero is a value.
        let mut value: $type = unsafe { std::mem::zeroed() };
        value.struct_size = u32::try_from(size_of::<$type>()).unwrap();
        value
    }};
}

pub(crate) fn error() -> Box<klog_error> {
    Box::new(init!(klog_error))
}

pub(crate) fn text(field: &[c_char]) -> String {
    let bytes: Vec<u8> = field
        .iter()
        .take_while(|&&c| c != 0)
        .map(|&c| c as u8)
        .collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Calls with an error struct and answers status, message and the struct.
pub(crate) fn call(
    f: impl FnOnce(*mut klog_error) -> klog_status,
) -> (klog_status, String, Box<klog_error>) {
    let mut err = error();
    let status = f(&raw mut *err);
    (status, text(&err.message), err)
}

#[track_caller]
pub(crate) fn ok(f: impl FnOnce(*mut klog_error) -> klog_status) {
    let (status, message, _) = call(f);
    assert_eq!(status, KLOG_OK, "{message}");
}

/// The call answers `status`, and the message says `part`.
#[track_caller]
pub(crate) fn refused(
    status: i32,
    part: &str,
    f: impl FnOnce(*mut klog_error) -> klog_status,
) -> Box<klog_error> {
    let (answer, message, err) = call(f);
    assert_eq!(answer, status, "{message}");
    assert_eq!(err.status, status);
    assert!(message.contains(part), "{message:?} does not say {part:?}");
    err
}

pub(crate) fn open_manager(dirs: &[&Path], err: *mut klog_error) -> (klog_status, klog_manager) {
    let paths: Vec<CString> = dirs
        .iter()
        .map(|d| CString::new(d.to_str().unwrap()).unwrap())
        .collect();
    let pointers: Vec<*const c_char> = paths.iter().map(|p| p.as_ptr()).collect();
    let mut options = init!(klog_manager_options);
    options.dirs = pointers.as_ptr();
    options.dir_count = pointers.len() as u64;
    let mut manager = klog_manager { id: 77 };
    let status = klog_manager_open(&raw const options, &raw mut manager, err);
    (status, manager)
}

pub(crate) fn manager(dir: &Path) -> klog_manager {
    let mut err = error();
    let (status, manager) = open_manager(&[dir], &raw mut *err);
    assert_eq!(status, KLOG_OK, "{}", text(&err.message));
    manager
}

pub(crate) fn log(manager: klog_manager, topic: &str) -> klog_log {
    let topic = CString::new(topic).unwrap();
    let mut options = init!(klog_log_options);
    options.flags = KLOG_LOG_CREATE;
    let mut log = klog_log { id: 0 };
    ok(|e| {
        klog_log_open(
            manager,
            topic.as_ptr(),
            NTS,
            0,
            &raw const options,
            &raw mut log,
            e,
        )
    });
    log
}

pub(crate) fn record(key: &[u8], value: &[u8]) -> klog_record {
    // SAFETY: integers and pointers, for which zero is a value.
    let mut record: klog_record = unsafe { std::mem::zeroed() };
    record.key = key.as_ptr().cast();
    record.key_len = key.len() as u64;
    record.value = value.as_ptr().cast();
    record.value_len = value.len() as u64;
    record
}

pub(crate) fn end_offset(log: klog_log) -> i64 {
    let mut end = -7;
    assert_eq!(klog_log_end_offset(log, &raw mut end), KLOG_OK);
    end
}

pub(crate) fn close(manager: klog_manager) {
    ok(|e| klog_manager_close(manager, 0, -1, e));
}

/// Every file below a directory with its content.
pub(crate) fn snapshot(dir: &Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
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
