//! A descriptor that is readable while something waits: what programs put into their epoll or poll loop.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use crate::error::{Error, ErrorKind, Result};

/// An `eventfd`, not readable until [`EventFd::set`]. Close-on-exec and never blocking; closed when dropped.
#[derive(Debug)]
pub struct EventFd(OwnedFd);

impl EventFd {
    /// Makes one. NO_FILES without a descriptor left.
    pub fn new() -> Result<Self> {
        // SAFETY: the call takes no pointer.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if fd < 0 {
            let error = std::io::Error::last_os_error();
            let kind = match error.raw_os_error() {
                Some(libc::EMFILE | libc::ENFILE) => ErrorKind::NoFiles,
                _ => ErrorKind::Limit,
            };
            return Err(Error::new(kind, format!("cannot make an eventfd: {error}")));
        }
        // SAFETY: the descriptor is new and nobody else's.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Its number. It stays open as long as this object.
    #[must_use]
    pub fn raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// Makes it readable.
    pub fn set(&self) {
        let one = 1u64.to_ne_bytes();
        // SAFETY: the descriptor is open, and `one` has the eight bytes. The only failure is a counter at its end, and
        // then the descriptor is readable already.
        let _ = unsafe { libc::write(self.0.as_raw_fd(), one.as_ptr().cast(), one.len()) };
    }

    /// Makes it not readable.
    pub fn clear(&self) {
        let mut count = [0u8; 8];
        // SAFETY: the descriptor is open, and `count` has room for the eight bytes. The only failure is that it was not
        // readable.
        let _ = unsafe { libc::read(self.0.as_raw_fd(), count.as_mut_ptr().cast(), count.len()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_readable(fd: &EventFd) -> bool {
        let mut poll = libc::pollfd {
            fd: fd.raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one entry, which lives as long as the call.
        unsafe { libc::poll(&raw mut poll, 1, 0) == 1 }
    }

    #[test]
    fn it_is_readable_from_set_to_clear_however_often_either_was_called() {
        let fd = EventFd::new().unwrap();
        assert!(!is_readable(&fd));
        fd.clear();
        fd.set();
        fd.set();
        assert!(is_readable(&fd));
        fd.clear();
        assert!(!is_readable(&fd));
        // SAFETY: the descriptor is open.
        let flags = unsafe { libc::fcntl(fd.raw_fd(), libc::F_GETFD) };
        assert_eq!(flags & libc::FD_CLOEXEC, libc::FD_CLOEXEC);
    }
}
