//! A descriptor that is readable while something waits, or once a time has come: for the loops of programs that wait on
//! many descriptors and have no thread to spare.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use super::{Deadline, EventFd};
use crate::error::{Error, ErrorKind, Result};

/// An `epoll` descriptor with an `eventfd` and a `timerfd` in it: readable while either is. Close-on-exec; closed when
/// dropped.
#[derive(Debug)]
pub struct WaitFd {
    epoll: OwnedFd,
    event: EventFd,
    timer: OwnedFd,
}

impl WaitFd {
    /// Makes one, not readable. NO_FILES without the three descriptors.
    pub fn new() -> Result<Self> {
        let event = EventFd::new()?;
        // SAFETY: neither call takes a pointer.
        let epoll = owned("an epoll", unsafe {
            libc::epoll_create1(libc::EPOLL_CLOEXEC)
        })?;
        // SAFETY: as above.
        let timer = owned("a timerfd", unsafe {
            libc::timerfd_create(
                libc::CLOCK_MONOTONIC,
                libc::TFD_CLOEXEC | libc::TFD_NONBLOCK,
            )
        })?;
        for fd in [event.raw_fd(), timer.as_raw_fd()] {
            let mut wanted = libc::epoll_event {
                events: libc::EPOLLIN.cast_unsigned(),
                u64: 0,
            };
            // SAFETY: both descriptors are open, and `wanted` outlives the call.
            let added = unsafe {
                libc::epoll_ctl(epoll.as_raw_fd(), libc::EPOLL_CTL_ADD, fd, &raw mut wanted)
            };
            if added != 0 {
                return Err(last_error("fill an epoll descriptor"));
            }
        }
        Ok(Self {
            epoll,
            event,
            timer,
        })
    }

    /// Its number. It stays open as long as this object.
    #[must_use]
    pub fn raw_fd(&self) -> RawFd {
        self.epoll.as_raw_fd()
    }

    /// Makes it readable until [`Self::clear`].
    pub fn set(&self) {
        self.event.set();
    }

    /// Takes back [`Self::set`].
    pub fn clear(&self) {
        self.event.clear();
    }

    /// Lets it be readable from `at` on, until another time is set.
    pub fn set_time(&self, at: Deadline) {
        // A timer of 0 is none: what has passed comes in a nanosecond.
        let left = at.left().map_or((0, 0), |left| {
            (
                left.as_secs(),
                left.subsec_nanos().max(u32::from(left.as_secs() == 0)),
            )
        });
        let time = libc::itimerspec {
            it_interval: libc::timespec {
                tv_sec: 0,
                tv_nsec: 0,
            },
            it_value: libc::timespec {
                tv_sec: libc::time_t::try_from(left.0).unwrap_or(libc::time_t::MAX),
                tv_nsec: libc::c_long::from(left.1.cast_signed()),
            },
        };
        // SAFETY: the descriptor is open, and `time` outlives the call; what was set before is not asked for.
        unsafe {
            libc::timerfd_settime(
                self.timer.as_raw_fd(),
                0,
                &raw const time,
                std::ptr::null_mut(),
            )
        };
    }
}

fn owned(what: &str, fd: RawFd) -> Result<OwnedFd> {
    if fd < 0 {
        return Err(last_error(&format!("make {what}")));
    }
    // SAFETY: the descriptor is new and nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn last_error(what: &str) -> Error {
    let error = std::io::Error::last_os_error();
    let kind = match error.raw_os_error() {
        Some(libc::EMFILE | libc::ENFILE) => ErrorKind::NoFiles,
        _ => ErrorKind::Limit,
    };
    Error::new(kind, format!("cannot {what}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn is_readable_within(fd: &WaitFd, timeout_ms: i32) -> bool {
        let mut poll = libc::pollfd {
            fd: fd.raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one entry, which lives as long as the call.
        unsafe { libc::poll(&raw mut poll, 1, timeout_ms) == 1 }
    }

    #[test]
    fn it_is_readable_while_set_or_when_its_time_has_come() {
        let fd = WaitFd::new().unwrap();
        assert!(!is_readable_within(&fd, 0));
        fd.set();
        assert!(is_readable_within(&fd, 0));
        fd.clear();
        assert!(!is_readable_within(&fd, 0));
        fd.set_time(Deadline::within(Duration::from_millis(10)));
        assert!(is_readable_within(&fd, 60_000));
        // Until it is told otherwise.
        assert!(is_readable_within(&fd, 0));
        fd.set_time(Deadline::NEVER);
        assert!(!is_readable_within(&fd, 0));
        fd.set_time(Deadline::AT_ONCE);
        assert!(is_readable_within(&fd, 60_000));
        fd.set_time(Deadline::within(Duration::from_hours(1)));
        assert!(!is_readable_within(&fd, 0));
    }
}
