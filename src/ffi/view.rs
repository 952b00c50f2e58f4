//! Views: stored batches without a copy.

use super::args::{check_output, check_required, copy_growable, read_input};
use super::config::put_handle;
use super::constants::*;
use super::guard::guard;
use super::handles::{self, Access, Kind};
use super::read::{Waits, batch_options, check_read_options, expected_epoch};
use super::types::{
    klog_error, klog_log, klog_read_options, klog_status, klog_view, klog_view_info,
};
use crate::log::View;
use crate::service::view_waiting;
use crate::types::Offset;

/// Holds stored batches of one segment without a copy, from the one that holds start_offset on, to at most max_bytes (0: to
/// the segment's end): what klog_read would give. info says where they are: as memory, and as a region of a descriptor, for
/// sendfile. Both stay as they are until klog_view_close, also if the log is cut, cleaned or deleted meanwhile, or its manager
/// closed. Nothing to read is KLOG_OK with len 0, and a view to close.
///
/// The memory is that of the file, or a copy with KLOG_OPEN_NO_MMAP and on file systems that map nothing. It is only for
/// reading. Checksums are not checked here; klog_decode does. With KLOG_ISOLATION_TXN_COMMITTED the list that goes with it is
/// klog_aborted_txns from start_offset up to info->next_offset. Each view keeps a descriptor open.
///
/// With opts->timeout_ms other than 0 it waits as klog_read does: KLOG_ERR_TIMED_OUT if nothing came, KLOG_ERR_CANCELLED,
/// KLOG_ERR_CLOSED, KLOG_ERR_DIR_OFFLINE.
///
/// KLOG_ERR_OFFSET_OUT_OF_RANGE below the log start and above the log end, KLOG_ERR_NO_FILES, KLOG_ERR_NO_MEMORY.
///
/// Thread class T0, cost class C2, with opts->timeout_ms C4. opts and err are nullable; out, null on failure, and info are required.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_view_open(
    log: klog_log,
    start_offset: i64,
    opts: *const klog_read_options,
    out: *mut klog_view,
    info: *mut klog_view_info,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_view_open", err, |call| {
        check_required(out, "out")?;
        let made = (|| {
            check_output(info, "info")?;
            let options = read_input(opts)?;
            check_read_options(&options, KLOG_READ_NO_MIN_ONE | KLOG_READ_SLICE)?;
            let waits = Waits::new(&options)?;
            let view = handles::with_log(call, log, Access::Look, |open| {
                open.log.check_leader_epoch(expected_epoch(&options))?;
                view_waiting(
                    &open.log,
                    Offset(start_offset),
                    &batch_options(&options)?,
                    waits.min_bytes,
                    &waits.patience()?.ended_by(&open.ending),
                )
            })?;
            let seen = info_of(&view);
            let handle = handles::add_view(view)?;
            copy_growable(info, seen);
            Ok(handle)
        })();
        put_handle(out, made, klog_view { id: 0 })
    })
}

fn info_of(view: &View) -> klog_view_info {
    let bytes = view.bytes();
    klog_view_info {
        struct_size: 0,
        flags: if view.is_first_larger() {
            KLOG_READF_FIRST_INCOMPLETE
        } else {
            0
        },
        data: if bytes.is_empty() {
            std::ptr::null()
        } else {
            bytes.as_ptr().cast()
        },
        len: bytes.len() as u64,
        first_offset: view.first_offset().0,
        next_offset: view.next_offset().0,
        segment_base_offset: view.segment_base_offset().0,
        position: view.position(),
        fd: view.fd().unwrap_or(-1),
        reserved0: 0,
        reserved: [0; 3],
    }
}

/// Ends a view, its memory and its descriptor. Good also after the log, its manager or the segment went.
///
/// Thread class T0, cost class C1.
#[unsafe(no_mangle)]
pub extern "C" fn klog_view_close(view: klog_view) -> klog_status {
    guard("klog_view_close", std::ptr::null_mut(), |_| {
        handles::remove(Kind::View, view.id).map(drop)
    })
}
