//! Firing a token in a signal handler: no memory is allocated or freed, also in a thread that never called the library, and
//! the call that carries the token ends. c-abi.md 1.6 (T3), 1.8.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a failure fails the test"
)]
#![allow(unsafe_code, reason = "signals are installed and sent by libc")]

mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicI32, AtomicU64, AtomicUsize, Ordering::SeqCst};

use klog::ffi::cancel::*;
use klog::ffi::constants::*;
use klog::ffi::types::*;

thread_local! {
    static IN_HANDLER: Cell<bool> = const { Cell::new(false) };
}

/// Allocations and frees of a thread that is in the handler.
static TOUCHED: AtomicUsize = AtomicUsize::new(0);
static TOKEN: AtomicU64 = AtomicU64::new(0);
static ANSWER: AtomicI32 = AtomicI32::new(-1);
static ERRNO: AtomicI32 = AtomicI32::new(-1);

struct Counting;

// SAFETY: all is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if IN_HANDLER.get() {
            TOUCHED.fetch_add(1, SeqCst);
        }
        // SAFETY: as the caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        if IN_HANDLER.get() {
            TOUCHED.fetch_add(1, SeqCst);
        }
        // SAFETY: as the caller's.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

extern "C" fn handler(_: libc::c_int) {
    IN_HANDLER.set(true);
    // SAFETY: errno is the thread's own.
    unsafe { *libc::__errno_location() = 77 };
    let id = TOKEN.load(SeqCst);
    ANSWER.store(klog_cancel_fire(klog_cancel { id }), SeqCst);
    // SAFETY: as above.
    ERRNO.store(unsafe { *libc::__errno_location() }, SeqCst);
    IN_HANDLER.set(false);
}

fn install() {
    // SAFETY: zero is a value of the struct; the handler does what is allowed in one.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as extern "C" fn(libc::c_int) as usize;
        assert_eq!(
            libc::sigaction(libc::SIGUSR1, &raw const action, std::ptr::null_mut()),
            0
        );
    }
}

/// Sends the signal to a thread of this process.
fn signal(thread: i32) {
    // SAFETY: no pointers; the thread is one of this process.
    let sent = unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, libc::SIGUSR1) };
    assert_eq!(sent, 0);
}

fn token() -> klog_cancel {
    let mut token = klog_cancel { id: 0 };
    assert_eq!(
        klog_cancel_create(&raw mut token, std::ptr::null_mut()),
        KLOG_OK
    );
    TOKEN.store(token.id, SeqCst);
    token
}

#[test]
fn a_token_is_fired_in_a_signal_handler() {
    let home = support::engine::Home::new();
    let path = std::ffi::CString::new(home.dir.to_str().unwrap()).unwrap();
    let dirs = [path.as_ptr()];
    // SAFETY: integers and pointers, for which zero is a value.
    let mut options: klog_manager_options = unsafe { std::mem::zeroed() };
    options.struct_size = 96;
    options.dirs = dirs.as_ptr();
    options.dir_count = 1;
    let mut owner = klog_manager { id: 0 };
    let opened = klog::ffi::manager::klog_manager_open(
        &raw const options,
        &raw mut owner,
        std::ptr::null_mut(),
    );
    assert_eq!(opened, KLOG_OK);
    let mut events = klog_events { id: 0 };
    let streamed = klog::ffi::events::klog_events_open(
        owner,
        KLOG_EVENT_ROLLED,
        0,
        &raw mut events,
        std::ptr::null_mut(),
        std::ptr::null_mut(),
    );
    assert_eq!(streamed, KLOG_OK);
    install();
    // In a thread that never called the library, while another one sleeps with the token.
    let cancel = token();
    let mut buf = [0u8; 64];
    let place = buf.as_mut_ptr() as usize;
    let answer = support::asleep::woken(
        || {
            klog::ffi::events::klog_events_poll(
                events,
                place as *mut std::ffi::c_void,
                64,
                std::ptr::null_mut(),
                -1,
                cancel,
                std::ptr::null_mut(),
            )
        },
        || {
            // SAFETY: it takes nothing and never fails.
            let other = std::thread::spawn(|| signal(unsafe { libc::gettid() }));
            other.join().unwrap();
        },
    );
    assert_eq!(answer, KLOG_ERR_CANCELLED);
    assert_eq!(ANSWER.load(SeqCst), KLOG_OK);
    assert_eq!(ERRNO.load(SeqCst), 77, "errno is left as it was");
    // A handle that is closed is found out the same way.
    assert_eq!(klog_cancel_close(cancel), KLOG_OK);
    // SAFETY: it takes nothing and never fails.
    let other = std::thread::spawn(|| signal(unsafe { libc::gettid() }));
    other.join().unwrap();
    assert_eq!(ANSWER.load(SeqCst), KLOG_ERR_STALE_HANDLE);
    // In the very thread that sleeps with it.
    let cancel = token();
    let ended = std::thread::scope(|scope| {
        let (tell, told) = std::sync::mpsc::channel();
        let sleeper = scope.spawn(move || {
            // SAFETY: it takes nothing and never fails.
            tell.send(unsafe { libc::gettid() }).unwrap();
            klog::ffi::events::klog_events_poll(
                events,
                place as *mut std::ffi::c_void,
                64,
                std::ptr::null_mut(),
                -1,
                cancel,
                std::ptr::null_mut(),
            )
        });
        let thread = told.recv().unwrap();
        while !support::asleep::sleeps(thread) {
            std::thread::yield_now();
        }
        signal(thread);
        sleeper.join().unwrap()
    });
    assert_eq!(ended, KLOG_ERR_CANCELLED);
    assert_eq!(TOUCHED.load(SeqCst), 0, "memory was allocated or freed");
    let closed = klog::ffi::manager::klog_manager_close(owner, 0, -1, std::ptr::null_mut());
    assert_eq!(closed, KLOG_OK);
}
