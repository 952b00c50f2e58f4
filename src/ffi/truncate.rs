//! Cutting logs.

use std::sync::Arc;

use super::guard::guard;
use super::handles::{self, Access, OpenLog};
use super::types::{klog_error, klog_log, klog_status};
use crate::error::{Error, ErrorKind, Result};
use crate::manager::Manager;
use crate::types::Offset;

pub(super) fn manager_of(open: &OpenLog) -> Result<Arc<Manager>> {
    open.log.check_open()?;
    open.manager
        .upgrade()
        .ok_or_else(|| Error::new(ErrorKind::Closed, "the manager of the log is closed"))
}

/// Cuts the log at offset, durably: offset is the next one to be assigned then. The whole batch that holds it goes, so that
/// offsets below it may be missing. High watermark, recovery point and log start come down with it if they lie above.
/// *truncated is 1 if anything was cut, else 0.
///
/// Thread class T0, cost class C3. truncated and err are nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_truncate_to(
    log: klog_log,
    offset: i64,
    truncated: *mut u32,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_truncate_to", err, |call| {
        handles::with_log(call, log, Access::Change, |open| {
            let was_cut = manager_of(open)?.truncate_to(&open.log, Offset(offset))?;
            if !truncated.is_null() {
                // SAFETY: not null, and the header requires a uint32_t there.
                unsafe { truncated.write_unaligned(u32::from(was_cut)) };
            }
            Ok(())
        })
    })
}

/// Drops all records, durably. The log goes on at new_offset; it starts at log_start_offset, -1 for new_offset.
///
/// Thread class T0, cost class C3. err is nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_truncate_fully(
    log: klog_log,
    new_offset: i64,
    log_start_offset: i64,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_truncate_fully", err, |call| {
        handles::with_log(call, log, Access::Change, |open| {
            let start = (log_start_offset != -1).then_some(Offset(log_start_offset));
            manager_of(open)?.truncate_fully(&open.log, Offset(new_offset), start)
        })
    })
}
