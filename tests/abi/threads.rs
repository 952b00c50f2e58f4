//! Many threads, and a close among them.

use std::ptr::{null, null_mut};

use klog::ffi::append::*;
use klog::ffi::constants::*;
use klog::ffi::cursor::*;
use klog::ffi::manager::*;
use klog::ffi::types::*;

use crate::calls::*;

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
                            let status = klog_cursor_next(
                                cursor,
                                places.as_mut_ptr(),
                                4,
                                &raw mut read,
                                null_mut(),
                            );
                            if status == KLOG_ERR_END {
                                let _ = klog_cursor_seek(cursor, 0, null_mut());
                            }
                            status
                        })
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        threads
            .into_iter()
            .flat_map(|t| t.join().unwrap())
            .collect()
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
                            KLOG_OK => acknowledged
                                .fetch_max(offset + 1, std::sync::atomic::Ordering::SeqCst),
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
        assert_eq!(
            (info.segments_recovered, info.bytes_truncated),
            (0, 0),
            "it was closed in order"
        );
        close(again);
    }
}
