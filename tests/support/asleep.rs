//! Threads that are known to sleep before something wakes them.

use std::sync::mpsc;

/// Whether a thread of this process sleeps.
pub(crate) fn sleeps(thread: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/self/task/{thread}/stat")).unwrap();
    stat.rsplit(')')
        .next()
        .unwrap()
        .trim_start()
        .starts_with('S')
}

/// Runs `wake` when another thread sleeps in `call`; what that one was answered.
pub(crate) fn woken<T: Send>(call: impl FnOnce() -> T + Send, wake: impl FnOnce()) -> T {
    all_woken(vec![call], wake).pop().unwrap()
}

/// As [`woken`], with a thread for each call, and `wake` when all of them sleep.
pub(crate) fn all_woken<T: Send, C: FnOnce() -> T + Send>(
    calls: Vec<C>,
    wake: impl FnOnce(),
) -> Vec<T> {
    std::thread::scope(|scope| {
        let (tell, told) = mpsc::channel();
        let threads: Vec<_> = calls
            .into_iter()
            .map(|call| {
                let tell = tell.clone();
                scope.spawn(move || {
                    // SAFETY: it takes nothing and never fails.
                    tell.send(unsafe { libc::gettid() }).unwrap();
                    call()
                })
            })
            .collect();
        let ids: Vec<i32> = threads.iter().map(|_| told.recv().unwrap()).collect();
        for id in ids {
            while !sleeps(id) {
                std::thread::yield_now();
            }
        }
        wake();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    })
}
