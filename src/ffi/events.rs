//! Streams of what happens in a manager.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use super::args::{buffer, check_required};
use super::cancel::{patience, token};
use super::config::put_handle;
use super::guard::guard;
use super::handles::{self, Access, Kind, Object, Removed};
use super::types::{klog_cancel, klog_error, klog_events, klog_manager, klog_status};
use crate::error::{Error, ErrorKind};
use crate::io::Deadline;
use crate::service::{Descriptor, EventOptions, EventStream, Take};

/// Opens a stream of events: mask is KLOG_EVENT_ bits, 0 for all; it holds up to capacity of them, 0 for 1024. When it is
/// full the newest are lost and counted, and nobody waits. The stream begins with what the open found, as in
/// klog_manager_report, and with the directories that are offline by now; so nothing of the open is missed.
///
/// *fd is an eventfd of the stream's, to be waited on and never read or closed: it is readable while klog_events_poll has
/// something to answer, events or KLOG_ERR_CLOSED. Without an fd there is none.
///
/// Thread class T2, cost class C1. out is required, null on failure; fd and err are nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_events_open(
    manager: klog_manager,
    mask: u64,
    capacity: usize,
    out: *mut klog_events,
    fd: *mut c_int,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_events_open", err, |call| {
        check_required(out, "out")?;
        let opened = handles::with_manager(call, manager, Access::Look, |open| {
            let options = EventOptions {
                kinds: mask,
                capacity,
                descriptor: if fd.is_null() {
                    Descriptor::None
                } else {
                    Descriptor::EventFd
                },
            };
            let stream = EventStream::open(&open.manager, options)?;
            let raw_fd = stream.raw_fd();
            let handle = handles::add_events(stream, Arc::clone(&open.poison))?;
            if let Some(raw_fd) = raw_fd {
                // SAFETY: there is one only if `fd` is not null, and the header requires an int there.
                unsafe { fd.write_unaligned(raw_fd) };
            }
            Ok(handle)
        });
        put_handle(out, opened, klog_events { id: 0 })
    })
}

/// Takes events out of the stream, the oldest first, as many as fit, and waits for the first one up to timeout_ms: 0 not at
/// all, -1 without limit. buf gets a line for each, and a NUL: kind TAB ms since 1970 TAB directory TAB topic-partition TAB
/// status TAB offset TAB count TAB bytes TAB text LF. A field without a value is "-"; tab, LF and backslash inside of one are
/// \t, \n, \\. *count is how many lines were written.
///
/// KLOG_ERR_TIMED_OUT if none came, KLOG_ERR_CANCELLED once cancel was fired. KLOG_ERR_BUFFER_TOO_SMALL if the first one does not fit; it stays, and err->position says
/// how many bytes it needs. KLOG_ERR_CLOSED once the manager is closed, also for a call that waits.
///
/// Thread class T0, cost class C4. buf is required; cancel may be null; count and err are nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_events_poll(
    events: klog_events,
    buf: *mut c_void,
    cap: usize,
    count: *mut usize,
    timeout_ms: i64,
    cancel: klog_cancel,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_events_poll", err, |call| {
        check_required(buf, "buf")?;
        let deadline = Deadline::after(timeout_ms)?;
        let token = token(cancel)?;
        let patience = patience(deadline, token.as_ref());
        let mut lines = Lines {
            buffer: buffer(buf, cap, "buf")?,
            used: 0,
            needed: 0,
        };
        let taken = handles::with_events(call, events, |stream| {
            stream.poll_each(&patience, |event| lines.add(&event.to_string()))
        })?;
        if taken == 0 {
            return Err(Error::new(
                ErrorKind::BufferTooSmall,
                format!("the event needs {} bytes, {cap} are given", lines.needed),
            )
            .at_position(lines.needed as u64));
        }
        if !count.is_null() {
            // SAFETY: not null, and the header requires a size_t there.
            unsafe { count.write_unaligned(taken) };
        }
        Ok(())
    })
}

/// Lines in a caller's buffer, with a NUL behind the last.
struct Lines<'b> {
    buffer: &'b mut [u8],
    used: usize,
    /// Of the line that did not fit, with its LF and the NUL.
    needed: usize,
}

impl Lines<'_> {
    fn add(&mut self, line: &str) -> Take {
        let needed = line.len() + 2;
        let rest = self.buffer.get_mut(self.used..).unwrap_or_default();
        let Some((place, behind)) = rest
            .get_mut(..needed)
            .and_then(|all| all.split_at_mut_checked(line.len()))
        else {
            self.needed = needed;
            return Take::PutBack;
        };
        place.copy_from_slice(line.as_bytes());
        behind.copy_from_slice(b"\n\0");
        // The next line begins at the NUL.
        self.used += needed - 1;
        Take::More
    }
}

/// Ends the stream and its eventfd. Calls that wait in it answer KLOG_ERR_CLOSED.
///
/// Thread class T2, cost class C1.
#[unsafe(no_mangle)]
pub extern "C" fn klog_events_close(events: klog_events) -> klog_status {
    guard("klog_events_close", std::ptr::null_mut(), |_| {
        if let Removed::Own(taken) = handles::remove(Kind::Events, events.id)?
            && let Object::Events(stream, _) = taken.object()
        {
            stream.close();
        }
        Ok(())
    })
}
