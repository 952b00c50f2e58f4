//! Around every exported function: panics become a status, failures are described, the caller's error struct is checked
//! first. Implements c-abi.md 1.10.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use super::constants::{KLOG_ERR_PANIC, KLOG_OK};
use super::error;
use super::types::{klog_error, klog_status};
use crate::error::{Error, ErrorKind, Result};

/// What a running call has learnt of its surroundings.
#[derive(Default)]
pub(crate) struct Call {
    /// The poison flag of the manager that it works on.
    poison: RefCell<Option<Arc<AtomicBool>>>,
}

impl Call {
    /// The call works on a manager with this poison flag.
    pub(crate) fn works_on(&self, poison: &Arc<AtomicBool>) {
        *self.poison.borrow_mut() = Some(Arc::clone(poison));
    }
}

thread_local! {
    /// How deep this thread is in calls of ours, so that the hook tells our panics from the program's.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    static LAST_PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

static HOOK: Once = Once::new();

/// The text of a panic inside a call of ours goes into the answer; nothing is printed for it. Others go the way that they
/// went before.
fn install_hook() {
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if DEPTH.get() == 0 {
                before(info);
            } else {
                LAST_PANIC.with_borrow_mut(|last| *last = Some(info.to_string()));
            }
        }));
    });
}

/// Runs the body of the exported function `name`.
pub(crate) fn guard(
    name: &'static str,
    err: *mut klog_error,
    body: impl FnOnce(&Call) -> Result<()>,
) -> klog_status {
    if let Err(status) = error::check(err) {
        return status;
    }
    install_hook();
    let call = Call::default();
    DEPTH.set(DEPTH.get() + 1);
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        panic_if_told(name);
        body(&call)
    }));
    DEPTH.set(DEPTH.get() - 1);
    match outcome {
        Ok(Ok(())) => KLOG_OK,
        Ok(Err(failure)) => {
            error::fill(err, &failure);
            failure.kind().status()
        }
        Err(payload) => {
            // Dropping another payload than a text could panic again; that one is leaked.
            if !payload.is::<&'static str>() && !payload.is::<String>() {
                std::mem::forget(payload);
            }
            if let Some(poison) = &*call.poison.borrow() {
                poison.store(true, Ordering::SeqCst);
            }
            let text = LAST_PANIC
                .with_borrow_mut(Option::take)
                .unwrap_or_else(|| "a panic without text".to_owned());
            error::fill(
                err,
                &Error::new(
                    ErrorKind::Panic,
                    format!("a defect of klog in {name}: {text}; close the manager"),
                ),
            );
            KLOG_ERR_PANIC
        }
    }
}

/// Does what a test told, before the body of a function.
pub(crate) fn panic_if_told(name: &str) {
    #[cfg(feature = "test-hooks")]
    super::testing::panic_if_told(name);
    #[cfg(not(feature = "test-hooks"))]
    let _ = name;
}
