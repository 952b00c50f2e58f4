//! Tokens that end calls from another thread.

use super::args::check_required;
use super::config::put_handle;
use super::constants::KLOG_OK;
use super::guard::guard;
use super::tokens::{self, Held};
use super::types::{klog_cancel, klog_error, klog_status};
use crate::error::{Error, ErrorKind, Result};
use crate::io::Deadline;
use crate::service::Patience;

/// Makes a token. Firing it ends the calls that carry it with KLOG_ERR_CANCELLED, and no others: those that sleep wake, those
/// that work stop soon, and later ones end at once. What a call had done by then stays. A token is fired once; the next call
/// takes a new one.
///
/// Thread class T0, cost class C1. out is required; err is nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_cancel_create(out: *mut klog_cancel, err: *mut klog_error) -> klog_status {
    guard("klog_cancel_create", err, |_| {
        check_required(out, "out")?;
        put_handle(out, tokens::create(), klog_cancel { id: 0 })
    })
}

/// Ends the calls that carry the token, those that run and those to come. Takes no lock, allocates nothing and leaves errno
/// as it is, so a signal handler may call it.
///
/// Thread class T3; cost class C0, with a system call if a call sleeps.
#[unsafe(no_mangle)]
pub extern "C" fn klog_cancel_fire(cancel: klog_cancel) -> klog_status {
    match tokens::fire(cancel) {
        Ok(()) => KLOG_OK,
        Err(kind) => kind.status(),
    }
}

/// Ends a token's handle. Calls that carry it go on, and can no longer be ended by it.
///
/// Thread class T0, cost class C1.
#[unsafe(no_mangle)]
pub extern "C" fn klog_cancel_close(cancel: klog_cancel) -> klog_status {
    guard("klog_cancel_close", std::ptr::null_mut(), |_| {
        tokens::close(cancel)
    })
}

/// What a long call asks between its steps whether to go on: CANCELLED if its token was fired, TIMED_OUT when its time is up.
pub(crate) fn go_on(cancel: klog_cancel, timeout_ms: i64) -> Result<impl FnMut() -> Result<()>> {
    let deadline = Deadline::after(timeout_ms)?;
    let token = token(cancel)?;
    Ok(move || {
        if let Some(token) = &token {
            token.token().check()?;
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

/// The token that a call carries; none for a null handle.
pub(crate) fn token(cancel: klog_cancel) -> Result<Option<Held>> {
    match cancel.id {
        0 => Ok(None),
        _ => tokens::carry(cancel).map(Some),
    }
}

/// How long a call waits that carries a token, or none.
pub(crate) fn patience(deadline: Deadline, token: Option<&Held>) -> Patience<'_> {
    let patience = Patience::until(deadline);
    match token {
        Some(held) => patience.cancelled_by(held.token()),
        None => patience,
    }
}
