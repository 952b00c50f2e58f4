//! A sign of life on a terminal while the work is long.

use std::sync::mpsc;
use std::time::Duration;

use indicatif::ProgressBar;

/// Shorter work shows nothing.
const PATIENCE: Duration = Duration::from_millis(800);
const TICK: Duration = Duration::from_millis(100);

/// Does `work`. If standard error is a terminal and it takes a while, a spinner turns there with `what`.
pub(crate) fn show<T>(what: &'static str, work: impl FnOnce() -> T) -> T {
    std::thread::scope(|scope| {
        let (done, wait) = mpsc::channel::<()>();
        scope.spawn(move || {
            if wait.recv_timeout(PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
                // indicatif draws on standard error, and only if that is a terminal.
                let spinner = ProgressBar::new_spinner().with_message(what);
                spinner.enable_steady_tick(TICK);
                let _ = wait.recv();
                spinner.finish_and_clear();
            }
        });
        let answer = work();
        drop(done);
        answer
    })
}
