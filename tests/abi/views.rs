//! Views of stored batches.

use std::ptr::{null, null_mut};

use klog::ffi::append::*;
use klog::ffi::codec::*;
use klog::ffi::constants::*;
use klog::ffi::log::*;
use klog::ffi::manager::*;
use klog::ffi::read::*;
use klog::ffi::truncate::*;
use klog::ffi::types::*;
use klog::ffi::view::*;

use crate::calls::*;

fn fill(t: klog_log, count: i64) {
    for n in 0..count {
        ok(|e| klog_append_one(t, null(), 0, b"value".as_ptr().cast(), 5, n, null_mut(), e));
    }
}

fn view(t: klog_log, from: i64) -> (klog_view, klog_view_info) {
    let mut view = klog_view { id: 0 };
    let mut info = init!(klog_view_info);
    ok(|e| klog_view_open(t, from, null(), &raw mut view, &raw mut info, e));
    (view, info)
}

/// What a view lends.
fn lent(info: &klog_view_info) -> &'static [u8] {
    // SAFETY: the tests close a view only when they are done with its bytes.
    unsafe { std::slice::from_raw_parts(info.data.cast(), info.len as usize) }
}

fn manager_info(manager: klog_manager) -> klog_manager_info {
    let mut info = init!(klog_manager_info);
    ok(|e| klog_manager_get_info(manager, &raw mut info, e));
    info
}

#[test]
fn a_view_is_counted_and_outlives_log_and_manager() {
    let root = tempfile::tempdir().unwrap();
    let owner = manager(root.path());
    let t = log(owner, "t");
    fill(t, 5);
    let mut read = init!(klog_read_result);
    let mut buf = vec![0u8; 4096];
    ok(|e| {
        klog_read(
            t,
            2,
            null(),
            buf.as_mut_ptr().cast(),
            buf.len(),
            &raw mut read,
            e,
        )
    });
    let (handle, info) = view(t, 2);
    assert_eq!(lent(&info), &buf[..read.bytes as usize]);
    assert_eq!(
        (
            info.first_offset,
            info.next_offset,
            info.segment_base_offset,
            info.position
        ),
        (read.first_offset, read.next_offset, 0, read.position)
    );
    assert!(info.fd >= 0);
    assert_eq!(manager_info(owner).pinned_bytes, info.len);
    let mut truncated = 0;
    ok(|e| klog_truncate_to(t, 3, &raw mut truncated, e));
    assert_eq!(truncated, 1);
    assert_eq!(klog_log_close(t), KLOG_OK);
    close(owner);
    assert_eq!(lent(&info), &buf[..read.bytes as usize]);
    assert_eq!(klog_view_close(handle), KLOG_OK);
    assert_eq!(klog_view_close(handle), KLOG_ERR_STALE_HANDLE);
    // SAFETY: a look at a number that names no descriptor of ours any more.
    assert_eq!(unsafe { libc::fcntl(info.fd, libc::F_GETFD) }, -1);
}

#[test]
fn nothing_to_read_is_a_view_without_bytes() {
    let root = tempfile::tempdir().unwrap();
    let owner = manager(root.path());
    let t = log(owner, "t");
    let (handle, info) = view(t, 0);
    assert!(info.data.is_null());
    assert_eq!(
        (
            info.len,
            info.fd,
            info.next_offset,
            info.segment_base_offset
        ),
        (0, -1, 0, -1)
    );
    assert_eq!(klog_view_close(handle), KLOG_OK);
    fill(t, 1);
    let mut options = init!(klog_read_options);
    options.max_bytes = 10;
    options.flags = KLOG_READ_NO_MIN_ONE;
    let mut handle = klog_view { id: 0 };
    let mut info = init!(klog_view_info);
    ok(|e| klog_view_open(t, 0, &raw const options, &raw mut handle, &raw mut info, e));
    assert_eq!((info.len, info.flags), (0, KLOG_READF_FIRST_INCOMPLETE));
    assert_eq!(klog_view_close(handle), KLOG_OK);
    options.flags |= KLOG_READ_SLICE;
    ok(|e| klog_view_open(t, 0, &raw const options, &raw mut handle, &raw mut info, e));
    assert_eq!((info.len, info.next_offset), (10, 0));
    assert_eq!(klog_view_close(handle), KLOG_OK);
    close(owner);
}

#[test]
fn without_mappings_a_view_is_a_copy_with_a_region() {
    let root = tempfile::tempdir().unwrap();
    let path = std::ffi::CString::new(root.path().to_str().unwrap()).unwrap();
    let dirs = [path.as_ptr()];
    let mut options = init!(klog_manager_options);
    options.dirs = dirs.as_ptr();
    options.dir_count = 1;
    options.flags = KLOG_OPEN_NO_MMAP;
    let mut owner = klog_manager { id: 0 };
    ok(|e| klog_manager_open(&raw const options, &raw mut owner, e));
    let t = log(owner, "t");
    fill(t, 3);
    let (handle, info) = view(t, 0);
    let before = lent(&info).to_vec();
    let file = root.path().join("t-0/00000000000000000000.log");
    std::fs::write(&file, b"another process writes something else").unwrap();
    assert_eq!(lent(&info), before);
    assert!(info.fd >= 0);
    assert_eq!(klog_view_close(handle), KLOG_OK);
    ok(|e| klog_manager_close(owner, KLOG_CLOSE_ABANDON, -1, e));
}

#[test]
fn a_view_that_is_refused_opens_nothing() {
    let root = tempfile::tempdir().unwrap();
    let owner = manager(root.path());
    let t = log(owner, "t");
    fill(t, 1);
    let mut handle = klog_view { id: 7 };
    let mut info = init!(klog_view_info);
    let (h, i) = (&raw mut handle, &raw mut info);
    refused(KLOG_ERR_NULL_ARGUMENT, "out", |e| {
        klog_view_open(t, 0, null(), null_mut(), i, e)
    });
    refused(KLOG_ERR_NULL_ARGUMENT, "info", |e| {
        klog_view_open(t, 0, null(), h, null_mut(), e)
    });
    assert_eq!(handle.id, 0, "null on failure");
    let mut small = init!(klog_view_info);
    small.struct_size = 80;
    refused(KLOG_ERR_STRUCT_SIZE, "klog_view_info", |e| {
        klog_view_open(t, 0, null(), h, &raw mut small, e)
    });
    let mut options = init!(klog_read_options);
    options.flags = KLOG_READ_CONTROL;
    refused(KLOG_ERR_INVALID_ARGUMENT, "flags", |e| {
        klog_view_open(t, 0, &raw const options, h, i, e)
    });
    for outside in [-1, 2] {
        handle.id = 7;
        refused(KLOG_ERR_OFFSET_OUT_OF_RANGE, "outside", |e| {
            klog_view_open(t, outside, null(), h, i, e)
        });
        assert_eq!(handle.id, 0, "null on failure");
    }
    refused(KLOG_ERR_NULL_HANDLE, "null", |e| {
        klog_view_open(klog_log { id: 0 }, 0, null(), h, i, e)
    });
    refused(KLOG_ERR_WRONG_KIND, "no Log", |e| {
        klog_view_open(klog_log { id: owner.id }, 0, null(), h, i, e)
    });
    assert_eq!(klog_view_close(klog_view { id: t.id }), KLOG_ERR_WRONG_KIND);
    assert_eq!(klog_view_close(klog_view { id: 0 }), KLOG_ERR_NULL_HANDLE);
    assert_eq!(manager_info(owner).pinned_bytes, 0);
    close(owner);
    refused(KLOG_ERR_CLOSED, "closed", |e| {
        klog_view_open(t, 0, null(), h, i, e)
    });
}

#[test]
fn a_view_decodes_where_it_lies() {
    let root = tempfile::tempdir().unwrap();
    let owner = manager(root.path());
    let t = log(owner, "t");
    fill(t, 3);
    let (handle, info) = view(t, 0);
    let mut records = [record(b"", b""); 5];
    let mut result = init!(klog_read_result);
    ok(|e| {
        klog_decode(
            info.data,
            info.len as usize,
            0,
            records.as_mut_ptr(),
            5,
            null_mut(),
            0,
            &raw mut result,
            e,
        )
    });
    assert_eq!(
        (result.records, result.bytes, result.next_offset),
        (3, info.len, 3)
    );
    let range = lent(&info).as_ptr_range();
    assert!(range.contains(&records[2].value.cast()), "no copy");
    close(owner);
    assert_eq!(klog_view_close(handle), KLOG_OK);
}
