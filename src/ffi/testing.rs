//! What tests of any language tell the library to do: fail, wait, panic. Only in builds with the feature `test-hooks`; declared
//! for C in tests/c/klog_testing.h, never in klog.h. The clock needs no hook: KLOG_OPEN_MANUAL_CLOCK and klog_tick set it.
//!
//! All of it is of the process. Rules about files hold for managers that klog_manager_open opened, before or after.

use std::ffi::c_char;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use once_cell::sync::Lazy;
use parking_lot::{Condvar, Mutex};

use super::args::text;
use super::guard::guard;
use super::handles::{self, Access};
use super::types::{klog_log, klog_status};
use crate::error::{Error, Result};
use crate::io::{FileOperation, FileSystem, FileWatch, WatchedFs};

/// What is to happen to operations on files.
#[derive(Debug)]
struct Rule {
    operation: FileOperation,
    /// The path must contain it.
    part: String,
    /// So many pass first.
    skip: u64,
    does: Does,
}

#[derive(Debug)]
enum Does {
    /// So many fail with this errno.
    Fail { errno: i32, times: u64 },
    /// They wait until they are let go.
    Hold,
}

#[derive(Debug, Default)]
struct Rules {
    of_files: Vec<Rule>,
    /// Operations that wait.
    held: u32,
    panic_in: Option<String>,
}

#[derive(Debug, Default)]
struct Script {
    /// Whether there is any rule; most runs of tests have none, and pay one load for each operation.
    has_rules: AtomicBool,
    /// Whether a function is to panic: asked by every call.
    has_panic: AtomicBool,
    rules: Mutex<Rules>,
    changed: Condvar,
}

static SCRIPT: Lazy<Arc<Script>> = Lazy::new(Arc::default);

impl Script {
    fn change(&self, change: impl FnOnce(&mut Rules)) {
        let mut rules = self.rules.lock();
        change(&mut rules);
        self.has_rules
            .store(!rules.of_files.is_empty(), Ordering::SeqCst);
        drop(rules);
        self.changed.notify_all();
    }
}

impl FileWatch for Script {
    fn before(&self, operation: FileOperation, path: &Path) -> Result<()> {
        if !self.has_rules.load(Ordering::SeqCst) {
            return Ok(());
        }
        let text = path.to_string_lossy();
        let mut rules = self.rules.lock();
        let matching = |rule: &Rule| rule.operation == operation && text.contains(&rule.part);
        let Some(rule) = rules.of_files.iter_mut().find(|rule| matching(rule)) else {
            return Ok(());
        };
        if rule.skip > 0 {
            rule.skip -= 1;
            return Ok(());
        }
        match &mut rule.does {
            Does::Fail { times: 0, .. } => Ok(()),
            Does::Fail { errno, times } => {
                *times -= 1;
                let failure = std::io::Error::from_raw_os_error(*errno);
                Err(Error::from_io(operation.name(), path, &failure))
            }
            Does::Hold => {
                rules.held += 1;
                self.changed.notify_all();
                while rules.of_files.iter().any(&matching) {
                    self.changed.wait(&mut rules);
                }
                rules.held -= 1;
                self.changed.notify_all();
                Ok(())
            }
        }
    }
}

/// A file system that does as tests tell.
pub(super) fn watched(base: Arc<dyn FileSystem>) -> Arc<dyn FileSystem> {
    Arc::new(WatchedFs::new(base, Arc::clone(&SCRIPT) as _))
}

/// The next call of the exported function `name` panics.
pub fn panic_in(name: &str) {
    SCRIPT.rules.lock().panic_in = Some(name.to_owned());
    SCRIPT.has_panic.store(true, Ordering::SeqCst);
}

#[allow(clippy::panic, reason = "told to")]
pub(super) fn panic_if_told(name: &str) {
    if !SCRIPT.has_panic.load(Ordering::Relaxed) {
        return;
    }
    let mut rules = SCRIPT.rules.lock();
    if rules.panic_in.as_deref() == Some(name) {
        rules.panic_in = None;
        SCRIPT.has_panic.store(false, Ordering::SeqCst);
        drop(rules);
        panic!("as told");
    }
}

fn add_rule(operation: &str, part: &str, skip: u64, does: Does) -> Result<()> {
    let known = FileOperation::ALL.iter().find(|op| op.name() == operation);
    let operation = *known
        .ok_or_else(|| Error::invalid_argument(format!("{operation} is no operation on files")))?;
    SCRIPT.change(|rules| {
        rules.of_files.push(Rule {
            operation,
            part: part.to_owned(),
            skip,
            does,
        });
    });
    Ok(())
}

/// Of the operations of this name on paths that contain part, after the first `skip`, the next `times` fail with os_errno.
/// Both texts end with NUL. The first rule that was added decides.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_testing_fail(
    operation: *const c_char,
    part: *const c_char,
    skip: u64,
    times: u64,
    os_errno: i32,
) -> klog_status {
    guard("klog_testing_fail", std::ptr::null_mut(), |_| {
        let operation = text(operation, super::args::NTS, "operation")?;
        let part = text(part, super::args::NTS, "part")?;
        let does = Does::Fail {
            errno: os_errno,
            times,
        };
        add_rule(operation, part, skip, does)
    })
}

/// Operations of this name on paths that contain part wait until klog_testing_clear.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_testing_hold(operation: *const c_char, part: *const c_char) -> klog_status {
    guard("klog_testing_hold", std::ptr::null_mut(), |_| {
        let operation = text(operation, super::args::NTS, "operation")?;
        let part = text(part, super::args::NTS, "part")?;
        add_rule(operation, part, 0, Does::Hold)
    })
}

/// Waits until so many operations are held.
#[unsafe(no_mangle)]
pub extern "C" fn klog_testing_await_held(count: u32) {
    let mut rules = SCRIPT.rules.lock();
    while rules.held < count {
        SCRIPT.changed.wait(&mut rules);
    }
}

/// Ends what was told of paths that contain part, and lets go what is held there: other threads may have told something else.
pub fn let_go(part: &str) {
    SCRIPT.change(|rules| rules.of_files.retain(|rule| !rule.part.contains(part)));
}

/// Ends all that was told, and lets go what is held.
#[unsafe(no_mangle)]
pub extern "C" fn klog_testing_clear() {
    SCRIPT.change(|rules| {
        rules.of_files.clear();
        rules.panic_in = None;
        SCRIPT.has_panic.store(false, Ordering::SeqCst);
    });
}

/// The next call of this function panics inside.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_testing_panic(function: *const c_char) -> klog_status {
    guard("klog_testing_panic", std::ptr::null_mut(), |_| {
        panic_in(text(function, super::args::NTS, "function")?);
        Ok(())
    })
}

/// A call that does nothing: guard, handle, answer. What others cost is told as multiples of it.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_testing_empty_call(log: klog_log) -> klog_status {
    guard("klog_testing_empty_call", std::ptr::null_mut(), |call| {
        handles::with_log(call, log, Access::Look, |_| Ok(()))
    })
}
