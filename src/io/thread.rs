//! Threads of the library: named, small, and with every signal blocked, so that the signals of the program that loads klog
//! reach its own threads only. Implements c-abi.md 1.12.1.

use std::thread::{Builder, JoinHandle};

use crate::error::{Error, ErrorKind, Result};

const STACK_BYTES: usize = 512 * 1024;

/// A builder of a thread; to be spawned inside of [`with_signals_blocked`].
pub fn builder(name: impl Into<String>) -> Builder {
    Builder::new().name(name.into()).stack_size(STACK_BYTES)
}

/// Spawns a thread. LIMIT if the system gives none.
pub fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    with_signals_blocked(|| builder(name).spawn(work)).map_err(|e| {
        Error::new(
            ErrorKind::Limit,
            format!("cannot start the thread {name}: {e}"),
        )
    })
}

/// Does something while the calling thread takes no signals: threads that it starts meanwhile never take any. Signals that
/// come meanwhile come afterwards.
pub fn with_signals_blocked<T>(work: impl FnOnce() -> T) -> T {
    /// Puts the mask back, also after a panic.
    struct Restore(libc::sigset_t);
    impl Drop for Restore {
        fn drop(&mut self) {
            // SAFETY: a set that the system filled; this thread's mask alone is changed.
            unsafe {
                libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut())
            };
        }
    }
    // SAFETY: both sets are filled before they are read; this thread's mask alone is changed.
    let before = unsafe {
        let (mut all, mut before) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        before
    };
    let _restore = Restore(before);
    work()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_blocked(signal: libc::c_int) -> bool {
        // SAFETY: the mask of this thread is read into a set of its own.
        unsafe {
            let mut mask = std::mem::zeroed();
            libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &raw mut mask);
            libc::sigismember(&raw const mask, signal) == 1
        }
    }

    #[test]
    fn a_thread_takes_no_signal_and_who_started_it_takes_them_as_before() {
        let (tell, told) = std::sync::mpsc::channel();
        let thread = spawn("klog-test", move || {
            let name = std::thread::current().name().map(str::to_owned);
            let all = [
                libc::SIGTERM,
                libc::SIGUSR1,
                libc::SIGALRM,
                libc::SIGCHLD,
                libc::SIGPROF,
            ];
            tell.send((name, all.map(is_blocked))).unwrap();
        });
        let (name, blocked) = told.recv().unwrap();
        thread.unwrap().join().unwrap();
        assert_eq!((name.as_deref(), blocked), (Some("klog-test"), [true; 5]));
        assert!(!is_blocked(libc::SIGTERM));
    }
}
