//! How long work takes.

/// Processor time of this thread: what other programs of a shared machine take does not count. For work that one thread does
/// without waiting.
pub(crate) struct Worked(libc::timespec);

impl Worked {
    pub(crate) fn start() -> Self {
        Self(now())
    }

    /// In seconds, since the start.
    pub(crate) fn seconds(&self) -> f64 {
        let now = now();
        (now.tv_sec - self.0.tv_sec) as f64 + (now.tv_nsec - self.0.tv_nsec) as f64 / 1e9
    }
}

fn now() -> libc::timespec {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: it fills a plain struct.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    assert_eq!(status, 0, "a thread has a clock");
    time
}
