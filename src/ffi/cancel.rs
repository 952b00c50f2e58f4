//! Tokens that end calls from another thread.

use std::sync::Arc;

use super::args::check_required;
use super::config::put_handle;
use super::guard::guard;
use super::handles::{self, Kind};
use super::types::{klog_cancel, klog_error, klog_status};
use crate::error::{Error, ErrorKind, Result};
use crate::io::Deadline;
use crate::service::CancelToken;

/// Makes a token. A call that was given one ends with KLOG_ERR_CANCELLED soon after it was fired, and at once if it was fired
/// before; what the call had done by then stays.
///
/// Thread class T0, cost class C1. out is required; err is nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_cancel_create(out: *mut klog_cancel, err: *mut klog_error) -> klog_status {
    guard("klog_cancel_create", err, |_| {
        check_required(out, "out")?;
        put_handle(
            out,
            handles::add_cancel(Arc::new(CancelToken::default())),
            klog_cancel { id: 0 },
        )
    })
}

/// Ends the calls that carry the token, those that run and those to come.
///
/// Thread class T3, cost class C0.
#[unsafe(no_mangle)]
pub extern "C" fn klog_cancel_fire(cancel: klog_cancel) -> klog_status {
    handles::fire_cancel(cancel)
}

/// Ends a token's handle. Calls that carry it go on, and can no longer be ended by it.
///
/// Thread class T0, cost class C1.
#[unsafe(no_mangle)]
pub extern "C" fn klog_cancel_close(cancel: klog_cancel) -> klog_status {
    guard("klog_cancel_close", std::ptr::null_mut(), |_| {
        handles::remove(Kind::Cancel, cancel.id).map(drop)
    })
}

/// What a long call asks between its steps whether to go on: CANCELLED if its token was fired, TIMED_OUT when its time is up.
pub(crate) fn go_on(cancel: klog_cancel, timeout_ms: i64) -> Result<impl FnMut() -> Result<()>> {
    let deadline = Deadline::after(timeout_ms)?;
    let token = match cancel.id {
        0 => None,
        _ => Some(handles::cancel_token(cancel)?),
    };
    Ok(move || {
        if let Some(token) = &token {
            token.check()?;
        }
        if deadline.has_passed() {
            return Err(Error::new(
                ErrorKind::TimedOut,
                format!("not done within {timeout_ms} ms; what was done stays"),
            ));
        }
        Ok(())
    })
}
