//! One waiter for many logs.

use std::sync::Arc;
use std::time::Duration;

use klog::error::ErrorKind;
use klog::io::Deadline;
use klog::log::{Condition, Log};
use klog::service::{Ending, Patience, Waiter};
use klog::types::Offset;

use crate::end_above;
use crate::support::asleep::woken;
use crate::support::engine::{Home, fill, log, t0};

fn is_readable(fd: i32) -> bool {
    is_readable_within(fd, 0)
}

fn is_readable_within(fd: i32, timeout_ms: i32) -> bool {
    let mut poll = libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: one entry, which lives as long as the call.
    unsafe { libc::poll(&raw mut poll, 1, timeout_ms) == 1 }
}

fn poll<T: klog::service::Tag>(waiter: &Waiter<T>, max: usize) -> Vec<(T, Result<i64, ErrorKind>)> {
    match waiter.poll(max, &Patience::NONE) {
        Err(e) if e.kind() == ErrorKind::TimedOut => Vec::new(),
        other => other
            .unwrap()
            .into_iter()
            .map(|ready| {
                let outcome = ready.outcome.map(|o| o.0).map_err(|e| e.kind());
                (ready.tag, outcome)
            })
            .collect(),
    }
}

#[test]
fn a_waiter_gives_each_log_once_when_it_is_ready() {
    let home = Home::new();
    let manager = home.open();
    let (t, u) = (t0(&manager), log(&manager, "u-0"));
    let waiter = Waiter::open(&manager).unwrap();
    let fd = waiter.raw_fd();
    let arm = |log: &Arc<Log>, condition, tag| {
        waiter
            .arm(log, condition, Deadline::NEVER, tag, None)
            .unwrap();
    };
    arm(&t, end_above(0), "t");
    arm(&u, end_above(0), "u");
    assert!(!is_readable(fd) && poll(&waiter, 10).is_empty());
    fill(&u, 1);
    assert!(is_readable(fd));
    assert_eq!(poll(&waiter, 10), [("u", Ok(1))]);
    assert!(!is_readable(fd), "taken");
    fill(&u, 1);
    assert!(!is_readable(fd), "armed no more");
    // What is there already is there at once.
    arm(&u, end_above(1), "again");
    fill(&t, 1);
    assert_eq!(poll(&waiter, 1), [("again", Ok(2))]);
    assert!(is_readable(fd), "there is more");
    assert_eq!(poll(&waiter, 1), [("t", Ok(1))]);
    // With bytes: not before there are enough.
    let bytes = Condition {
        min_bytes: 200,
        ..end_above(1)
    };
    arm(&t, bytes, "bytes");
    fill(&t, 2);
    assert!(!is_readable(fd));
    fill(&t, 1);
    assert_eq!(poll(&waiter, 1), [("bytes", Ok(4))]);
    // Woken while another thread sleeps in it.
    arm(&t, end_above(4), "asleep");
    let taken = woken(
        || waiter.poll(10, &Patience::ENDLESS).unwrap().len(),
        || fill(&t, 1),
    );
    assert_eq!(taken, 1);
    arm(&t, end_above(5), "cut");
    arm(&u, end_above(5), "deleted");
    manager.truncate_to(&t, Offset(1)).unwrap();
    manager.delete_log(u.partition()).unwrap();
    assert_eq!(
        poll(&waiter, 10),
        [
            ("cut", Err(ErrorKind::OffsetOutOfRange)),
            ("deleted", Err(ErrorKind::UnknownTopicOrPartition))
        ]
    );
    let ending = Arc::new(Ending::default());
    waiter
        .arm(
            &t,
            end_above(9),
            Deadline::NEVER,
            "ended",
            Some(Arc::clone(&ending)),
        )
        .unwrap();
    ending.come();
    assert!(is_readable(fd));
    assert_eq!(poll(&waiter, 10), [("ended", Err(ErrorKind::Closed))]);
    arm(&t, end_above(9), "never");
    let closed = woken(
        || {
            waiter
                .poll(10, &Patience::ENDLESS)
                .map(|_| ())
                .unwrap_err()
                .kind()
        },
        || manager.close().unwrap(),
    );
    assert_eq!(closed, ErrorKind::Closed);
    assert!(is_readable(fd), "there is an answer");
    let late = waiter.arm(&t, end_above(9), Deadline::NEVER, "late", None);
    assert_eq!(late.unwrap_err().kind(), ErrorKind::Closed);
}

#[test]
fn what_was_cut_and_came_back_before_the_poll_is_given_as_it_is_then() {
    let home = Home::new();
    let manager = home.open();
    let t = t0(&manager);
    fill(&t, 3);
    let waiter = Waiter::open(&manager).unwrap();
    waiter
        .arm(&t, end_above(3), Deadline::NEVER, 1, None)
        .unwrap();
    fill(&t, 1);
    assert!(is_readable(waiter.raw_fd()));
    // What woke it is gone: it is armed again, and not given.
    manager.truncate_to(&t, Offset(3)).unwrap();
    assert!(poll(&waiter, 10).is_empty());
    assert!(!is_readable(waiter.raw_fd()));
    fill(&t, 1);
    assert_eq!(poll(&waiter, 10), [(1, Ok(4))]);
    manager.close().unwrap();
}

#[test]
fn timeouts_of_a_waiter_make_its_descriptor_readable() {
    let home = Home::new();
    let manager = home.open();
    let t = t0(&manager);
    let waiter = Waiter::open(&manager).unwrap();
    let fd = waiter.raw_fd();
    let arm = |deadline, tag| waiter.arm(&t, end_above(0), deadline, tag, None).unwrap();
    arm(Deadline::AT_ONCE, "at once");
    assert!(is_readable(fd));
    assert_eq!(poll(&waiter, 9), [("at once", Err(ErrorKind::TimedOut))]);
    arm(Deadline::within(Duration::from_hours(1)), "late");
    arm(Deadline::within(Duration::from_millis(20)), "soon");
    assert!(is_readable_within(fd, 60_000));
    assert_eq!(poll(&waiter, 9), [("soon", Err(ErrorKind::TimedOut))]);
    assert!(!is_readable(fd));
    // A thread that sleeps in it wakes by itself.
    arm(Deadline::within(Duration::from_millis(20)), "again");
    let ready = waiter.poll(9, &Patience::ENDLESS).unwrap();
    assert_eq!(ready[0].tag, "again");
    fill(&t, 1);
    assert_eq!(poll(&waiter, 9), [("late", Ok(1))]);
    manager.close().unwrap();
}

#[test]
fn five_thousand_logs_wait_on_one_waiter() {
    const LOGS: usize = 5000;
    let home = Home::new();
    let manager = home.open();
    let logs: Vec<Arc<Log>> = (0..LOGS)
        .map(|n| log(&manager, &format!("t-{n}")))
        .collect();
    let waiter = Waiter::open(&manager).unwrap();
    for (number, log) in logs.iter().enumerate() {
        waiter
            .arm(log, end_above(0), Deadline::NEVER, number, None)
            .unwrap();
    }
    assert!(poll(&waiter, LOGS).is_empty());
    let expected: Vec<usize> = (0..LOGS).step_by(7).collect();
    for &number in &expected {
        fill(&logs[number], 1);
    }
    let mut ready: Vec<usize> = Vec::new();
    while ready.len() < expected.len() {
        ready.extend(poll(&waiter, 100).into_iter().map(|(number, _)| number));
    }
    assert_eq!(ready, expected, "in the order in which they got ready");
    manager.abandon();
    // Those that were left are closed with their manager, and are not given one by one.
    assert_eq!(
        waiter
            .poll(LOGS, &Patience::NONE)
            .map(|_| ())
            .unwrap_err()
            .kind(),
        ErrorKind::Closed
    );
}
