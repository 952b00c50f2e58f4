//! Directories that cannot be opened, that are locked, that a forked child has.

use std::ffi::CString;
use std::path::Path;
use std::ptr::{null, null_mut};

use klog::ffi::append::*;
use klog::ffi::constants::*;
use klog::ffi::cursor::*;
use klog::ffi::log::*;
use klog::ffi::manager::*;
use klog::ffi::types::*;

use crate::calls::*;

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
    let err = refused(KLOG_ERR_LOG_DIR_NOT_FOUND, "is not a directory", |e| {
        open_manager(&[&file], e).0
    });
    assert_eq!(text(&err.path), file.to_str().unwrap());
    assert_eq!(std::fs::read(&file).unwrap(), b"x");

    refused(KLOG_ERR_INVALID_ARGUMENT, "no log directory", |e| {
        open_manager(&[], e).0
    });
    refused(KLOG_ERR_INVALID_ARGUMENT, "is empty", |e| {
        open_manager(&[Path::new("")], e).0
    });
    let dir = root.path().join("d");
    std::fs::create_dir(&dir).unwrap();
    let link = root.path().join("link");
    std::os::unix::fs::symlink(&dir, &link).unwrap();
    refused(KLOG_ERR_INVALID_ARGUMENT, "Duplicate log directory", |e| {
        open_manager(&[&dir, &link], e).0
    });
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
        let err = refused(KLOG_ERR_KAFKA_STORAGE_ERROR, ".lock", |e| {
            open_manager(&[root.path()], e).0
        });
        assert_eq!(err.os_errno, libc::EISDIR);
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("d");
    std::fs::create_dir(&dir).unwrap();
    std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o0)).unwrap();
    let err = refused(KLOG_ERR_KAFKA_STORAGE_ERROR, "d", |e| {
        open_manager(&[&dir], e).0
    });
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
        let err = refused(KLOG_ERR_DIR_LOCKED, "another process or manager", |e| {
            open_manager(&[again], e).0
        });
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
        expect(
            klog_append_one(t, null(), 0, null(), 0, 1, null_mut(), null_mut()),
            KLOG_ERR_FORKED,
        );
        expect(klog_flush_all(owner, 0, null_mut()), KLOG_ERR_FORKED);
        expect(klog_cursor_seek(cursor, 0, null_mut()), KLOG_ERR_FORKED);
        expect(klog_cursor_close(cursor), KLOG_OK);
        expect(klog_log_close(t), KLOG_OK);
        expect(klog_manager_close(owner, 0, -1, null_mut()), KLOG_OK);
        expect(
            klog_manager_close(owner, 0, -1, null_mut()),
            KLOG_ERR_STALE_HANDLE,
        );
        // SAFETY: ends the child without running what the parent registered.
        unsafe { libc::_exit(wrong) };
    }
    let mut status = 0;
    // SAFETY: `child` is a child of this process, `status` outlives the call.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert!(
        libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0,
        "child: {status:#x}"
    );
    assert_eq!(snapshot(root.path()), before, "the child touched no file");
    refused(KLOG_ERR_DIR_LOCKED, "", |e| {
        open_manager(&[root.path()], e).0
    });
    let mut offset = -1;
    ok(|e| klog_append_one(t, null(), 0, null(), 0, 1, &raw mut offset, e));
    assert_eq!(offset, 0);
    close(owner);
}

#[test]
fn whose_a_directory_is_is_written_on_request_only() {
    let root = tempfile::tempdir().unwrap();
    let owner = manager(root.path());
    let file = root.path().join("meta.properties");
    let create = |cluster: &str, node, id: *const u8, e| {
        klog_meta_create(
            owner,
            0,
            cluster.as_ptr().cast(),
            cluster.len(),
            node,
            id,
            e,
        )
    };
    assert!(!file.exists());
    refused(KLOG_ERR_INVALID_ARGUMENT, "a cluster has a name", |e| {
        create("", 1, null(), e)
    });
    refused(KLOG_ERR_INVALID_ARGUMENT, "keeps for itself", |e| {
        create("c", 1, [0; 16].as_ptr(), e)
    });
    assert!(!file.exists());
    ok(|e| create("c", 1, [7; 16].as_ptr(), e));
    let written = std::fs::read(&file).unwrap();
    ok(|e| create("c", 1, null(), e));
    ok(|e| create("c", 1, [7; 16].as_ptr(), e));
    for (cluster, node, id) in [("d", 1, 7), ("c", 2, 7), ("c", 1, 8)] {
        refused(KLOG_ERR_INVALID_ARGUMENT, "says something else", |e| {
            create(cluster, node, [id; 16].as_ptr(), e)
        });
    }
    refused(KLOG_ERR_NULL_ARGUMENT, "cluster_id", |e| {
        klog_meta_create(owner, 0, null(), 1, 1, null(), e)
    });
    assert_eq!(std::fs::read(&file).unwrap(), written);
    close(owner);
    close(manager(root.path()));
}
