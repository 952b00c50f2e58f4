//! Metrics, events and the progress of an opening, as a C program asks for them.

use std::ffi::{CStr, CString, c_char};
use std::os::unix::ffi::OsStrExt;
use std::ptr::{null, null_mut};

use klog::ffi::append::*;
use klog::ffi::constants::*;
use klog::ffi::events::*;
use klog::ffi::log::*;
use klog::ffi::maintain::*;
use klog::ffi::metrics::*;
use klog::ffi::testing::{klog_testing_hold, let_go};
use klog::ffi::types::*;

use crate::calls::*;

const ALL: klog_log = klog_log { id: 0 };
const NEVER: klog_cancel = klog_cancel { id: 0 };

fn static_text(pointer: *const c_char) -> &'static str {
    // SAFETY: the texts of a metric are static and end with a NUL.
    unsafe { CStr::from_ptr(pointer) }.to_str().unwrap()
}

/// Name, type and unit of every metric.
fn described() -> Vec<(&'static str, u32, &'static str)> {
    let mut all = Vec::new();
    for index in 0.. {
        let mut metric = init!(klog_metric);
        let (status, message, _) = call(|e| klog_metric_describe(index, &raw mut metric, e));
        if status == KLOG_ERR_END {
            assert_eq!(message, "", "the end is no failure");
            return all;
        }
        assert_eq!(status, KLOG_OK, "{message}");
        assert!(!static_text(metric.help).is_empty());
        all.push((
            static_text(metric.name),
            metric.r#type,
            static_text(metric.unit),
        ));
    }
    unreachable!()
}

fn values(owner: klog_manager, only: klog_log) -> Vec<u64> {
    let mut values = vec![0; 100];
    let mut count = 0;
    ok(|e| klog_metrics_read(owner, only, values.as_mut_ptr(), 100, &raw mut count, e));
    values.truncate(count);
    values
}

fn append(t: klog_log) {
    ok(|e| klog_append_one(t, null(), 0, b"v".as_ptr().cast(), 1, 1, null_mut(), e));
}

#[test]
fn metrics_are_described_read_and_written_in_one_order() {
    let root = tempfile::tempdir().unwrap();
    let owner = manager(root.path());
    let (t, u) = (log(owner, "t"), log(owner, "u"));
    append(t);
    append(t);
    append(u);
    let table = described();
    let of = |only, name: &str| {
        let at = table.iter().position(|(n, _, _)| n.ends_with(name));
        values(owner, only)[at.unwrap()]
    };
    assert_eq!(table.len(), values(owner, ALL).len());
    let bytes_in = table
        .iter()
        .find(|(name, _, _)| name.ends_with("name=BytesInPerSec"));
    assert_eq!(
        *bytes_in.unwrap(),
        (
            "kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec",
            KLOG_METRIC_COUNTER,
            "bytes"
        )
    );
    assert_eq!(of(ALL, "MessagesInPerSec"), 3);
    assert_eq!(of(t, "MessagesInPerSec"), 2);
    assert_eq!(of(u, "name=LogEndOffset"), 1);
    let mut needed = 0;
    refused(KLOG_ERR_BUFFER_TOO_SMALL, "", |e| {
        klog_metrics_text(owner, 0, null_mut(), 0, &raw mut needed, e)
    });
    let mut text = vec![0u8; needed];
    ok(|e| klog_metrics_text(owner, 0, text.as_mut_ptr().cast(), needed, null_mut(), e));
    let text = CStr::from_bytes_with_nul(&text).unwrap().to_str().unwrap();
    assert!(text.ends_with("# EOF\n"));
    assert!(
        text.contains("kafka_server_BrokerTopicMetrics_MessagesInPerSec_total{topic=\"t\"} 2\n")
    );
    // Misuse.
    let n = KLOG_ERR_NULL_ARGUMENT;
    refused(n, "out", |e| klog_metric_describe(0, null_mut(), e));
    refused(n, "buf", |e| {
        klog_metrics_read(owner, ALL, null_mut(), 100, null_mut(), e)
    });
    refused(n, "buf", |e| {
        klog_metrics_text(owner, 0, null_mut(), needed, null_mut(), e)
    });
    let mut few = [0u64; 3];
    let mut count = 0;
    refused(KLOG_ERR_BUFFER_TOO_SMALL, "", |e| {
        klog_metrics_read(owner, ALL, few.as_mut_ptr(), 3, &raw mut count, e)
    });
    assert_eq!((count, few), (table.len(), [0; 3]));
    refused(KLOG_ERR_INVALID_ARGUMENT, "format", |e| {
        klog_metrics_text(owner, 1, null_mut(), 0, null_mut(), e)
    });
    for size in [0, 7, 24, 33, 70_000] {
        let mut metric = init!(klog_metric);
        metric.struct_size = size;
        refused(KLOG_ERR_STRUCT_SIZE, "klog_metric", |e| {
            klog_metric_describe(0, &raw mut metric, e)
        });
    }
    let read = |m, only, e| klog_metrics_read(m, only, null_mut(), 0, null_mut(), e);
    refused(KLOG_ERR_NULL_HANDLE, "", |e| {
        read(klog_manager { id: 0 }, ALL, e)
    });
    refused(KLOG_ERR_WRONG_KIND, "", |e| {
        read(owner, klog_log { id: owner.id }, e)
    });
    let elsewhere = tempfile::tempdir().unwrap();
    let another = manager(elsewhere.path());
    refused(KLOG_ERR_UNKNOWN_TOPIC_OR_PARTITION, "t-0", |e| {
        read(another, t, e)
    });
    close(another);
    ok(|e| klog_log_delete(u, 0, e));
    refused(KLOG_ERR_UNKNOWN_TOPIC_OR_PARTITION, "u-0", |e| {
        read(owner, u, e)
    });
    close(owner);
    refused(KLOG_ERR_STALE_HANDLE, "closed", |e| read(owner, ALL, e));
    refused(KLOG_ERR_STALE_HANDLE, "closed", |e| read(owner, t, e));
    refused(KLOG_ERR_STALE_HANDLE, "closed", |e| {
        klog_metrics_text(owner, 0, null_mut(), 0, null_mut(), e)
    });
}

/// A stream of these kinds, and its descriptor.
fn open_events(owner: klog_manager, mask: u64, capacity: usize) -> (klog_events, i32) {
    let mut events = klog_events { id: 0 };
    let mut fd = -7;
    ok(|e| klog_events_open(owner, mask, capacity, &raw mut events, &raw mut fd, e));
    (events, fd)
}

/// The lines that a poll gives, each as its fields; or the status.
fn poll(events: klog_events, timeout_ms: i64) -> Result<Vec<Vec<String>>, klog_status> {
    let mut buf = [0u8; 4096];
    let mut count = 0;
    let (status, _, _) = call(|e| {
        klog_events_poll(
            events,
            buf.as_mut_ptr().cast(),
            buf.len(),
            &raw mut count,
            timeout_ms,
            NEVER,
            e,
        )
    });
    if status != KLOG_OK {
        return Err(status);
    }
    let text = CStr::from_bytes_until_nul(&buf).unwrap().to_str().unwrap();
    let lines: Vec<Vec<String>> = text
        .lines()
        .map(|line| line.split('\t').map(str::to_owned).collect())
        .collect();
    assert!(lines.iter().all(|fields| fields.len() == 9), "{text}");
    assert_eq!(lines.len(), count);
    Ok(lines)
}

fn is_readable(fd: i32) -> bool {
    let mut poll = libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: one entry, which lives as long as the call.
    unsafe { libc::poll(&raw mut poll, 1, 0) == 1 && poll.revents == libc::POLLIN }
}

#[test]
fn events_come_as_lines_and_the_descriptor_tells_when() {
    let root = tempfile::tempdir().unwrap();
    let owner = manager(root.path());
    let (events, fd) = open_events(owner, 0, 0);
    assert!(fd >= 0 && !is_readable(fd));
    assert_eq!(poll(events, 0), Err(KLOG_ERR_TIMED_OUT));
    assert_eq!(poll(events, 1), Err(KLOG_ERR_TIMED_OUT));
    let t = log(owner, "t");
    append(t);
    ok(|e| klog_roll(t, null_mut(), e));
    assert!(is_readable(fd));
    let lines = poll(events, -1).unwrap();
    assert!(!is_readable(fd));
    let dir = root.path().to_str().unwrap();
    let expected = [
        ["log-created", dir, "t-0", "-", "-", "-", "-", ""],
        ["rolled", dir, "t-0", "-", "1", "-", "-", ""],
    ];
    for (line, expected) in lines.iter().zip(expected) {
        assert!(line[1].parse::<i64>().unwrap() > 1_600_000_000_000);
        let others: Vec<&str> = line
            .iter()
            .enumerate()
            .filter(|(i, _)| *i != 1)
            .map(|(_, field)| &**field)
            .collect();
        assert_eq!(others, expected);
    }
    assert_eq!(lines.len(), 2);
    // A buffer for the first of two; what does not fit stays.
    append(t);
    ok(|e| klog_roll(t, null_mut(), e));
    append(t);
    ok(|e| klog_roll(t, null_mut(), e));
    let mut buf = [7u8; 300];
    let mut count = 9;
    let give = |buf: &mut [u8], count: *mut usize, e| {
        klog_events_poll(
            events,
            buf.as_mut_ptr().cast(),
            buf.len(),
            count,
            0,
            NEVER,
            e,
        )
    };
    let err = refused(KLOG_ERR_BUFFER_TOO_SMALL, "", |e| {
        give(&mut buf[..20], &raw mut count, e)
    });
    assert_eq!((count, buf[0]), (9, 7), "nothing was written");
    assert!(is_readable(fd));
    let needed = usize::try_from(err.position).unwrap();
    refused(KLOG_ERR_BUFFER_TOO_SMALL, "", |e| {
        give(&mut buf[..needed - 1], null_mut(), e)
    });
    ok(|e| give(&mut buf[..needed], &raw mut count, e));
    assert_eq!(count, 1);
    assert_eq!(
        (buf[needed - 2], buf[needed - 1], buf[needed]),
        (b'\n', 0, 7)
    );
    assert_eq!(poll(events, 0).unwrap()[0][5], "3");
    assert_eq!(klog_events_close(events), KLOG_OK);
    assert_eq!(klog_events_close(events), KLOG_ERR_STALE_HANDLE);
    assert_eq!(poll(events, 0), Err(KLOG_ERR_STALE_HANDLE));
    close(owner);
}

#[test]
fn a_full_stream_tells_how_much_it_lost() {
    let root = tempfile::tempdir().unwrap();
    let owner = manager(root.path());
    let t = log(owner, "t");
    let (events, _) = open_events(owner, KLOG_EVENT_ROLLED, 2);
    for _ in 0..5 {
        append(t);
        ok(|e| klog_roll(t, null_mut(), e));
    }
    let lines = poll(events, 0).unwrap();
    let told: Vec<_> = lines.iter().map(|l| (&*l[0], &*l[5], &*l[6])).collect();
    assert_eq!(
        told,
        [
            ("rolled", "1", "-"),
            ("rolled", "2", "-"),
            ("lost", "-", "3")
        ]
    );
    assert_eq!(klog_events_close(events), KLOG_OK);
    close(owner);
}

#[test]
fn streams_are_checked_and_end_with_their_manager() {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir(root.path().join("lost+found")).unwrap();
    let owner = manager(root.path());
    let mut events = klog_events { id: 9 };
    let n = KLOG_ERR_NULL_ARGUMENT;
    refused(n, "out", |e| {
        klog_events_open(owner, 0, 0, null_mut(), null_mut(), e)
    });
    refused(KLOG_ERR_INVALID_ARGUMENT, "0x8000", |e| {
        klog_events_open(owner, 0x8000, 0, &raw mut events, null_mut(), e)
    });
    assert_eq!(events.id, 0);
    // The open itself is told, also without a descriptor.
    ok(|e| klog_events_open(owner, 0, 0, &raw mut events, null_mut(), e));
    let lines = poll(events, 0).unwrap();
    assert_eq!((&*lines[0][0], lines.len()), ("ignored", 1));
    assert!(lines[0][8].contains("lost+found"));
    refused(n, "buf", |e| {
        klog_events_poll(events, null_mut(), 0, null_mut(), 0, NEVER, e)
    });
    let mut buf = [0u8; 100];
    let mut polled = |timeout_ms, cancel, e| {
        klog_events_poll(
            events,
            buf.as_mut_ptr().cast(),
            100,
            null_mut(),
            timeout_ms,
            cancel,
            e,
        )
    };
    refused(KLOG_ERR_INVALID_ARGUMENT, "timeout_ms", |e| {
        polled(-2, NEVER, e)
    });
    refused(KLOG_ERR_WRONG_KIND, "Cancel", |e| {
        polled(0, klog_cancel { id: 1 }, e)
    });
    refused(KLOG_ERR_TIMED_OUT, "", |e| polled(0, NEVER, e));
    let (other, fd) = open_events(owner, KLOG_EVENT_ROLLED, 0);
    assert!(!is_readable(fd));
    let waited = std::thread::scope(|scope| {
        let waits = scope.spawn(|| poll(other, -1));
        close(owner);
        waits.join().unwrap()
    });
    assert_eq!(waited, Err(KLOG_ERR_CLOSED));
    assert!(is_readable(fd), "for ever: there is an answer");
    assert_eq!(poll(other, -1), Err(KLOG_ERR_CLOSED));
    assert!(is_readable(fd));
    refused(KLOG_ERR_STALE_HANDLE, "closed", |e| {
        klog_events_open(owner, 0, 0, &raw mut events, null_mut(), e)
    });
    assert_eq!(klog_events_close(other), KLOG_OK);
    // The closed one of its own thread wakes too.
    let owner = manager(root.path());
    let (events, _) = open_events(owner, KLOG_EVENT_ROLLED, 0);
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| poll(events, -1));
        assert_eq!(klog_events_close(events), KLOG_OK);
        let answer = waits.join().unwrap();
        assert!(
            [Err(KLOG_ERR_CLOSED), Err(KLOG_ERR_STALE_HANDLE)].contains(&answer),
            "{answer:?}"
        );
    });
    close(owner);
}

/// The progress of an opening, and its lines.
fn progress(dir: &CStr) -> Result<(klog_open_progress, String), klog_status> {
    let mut out = init!(klog_open_progress);
    let mut buf = [0u8; 4096];
    let (status, _, _) = call(|e| {
        klog_manager_open_progress(
            dir.as_ptr(),
            NTS,
            &raw mut out,
            buf.as_mut_ptr().cast(),
            buf.len(),
            null_mut(),
            e,
        )
    });
    if status != KLOG_OK {
        return Err(status);
    }
    let lines = CStr::from_bytes_until_nul(&buf).unwrap();
    Ok((out, lines.to_str().unwrap().to_owned()))
}

/// A file that nobody can read before somebody writes: an opening that comes to it stands still.
#[test]
fn another_thread_sees_how_far_an_opening_is() {
    let root = tempfile::tempdir().unwrap();
    let dir = CString::new(root.path().as_os_str().as_bytes()).unwrap();
    let owner = manager(root.path());
    for name in ["t", "u"] {
        append(log(owner, name));
    }
    close(owner);
    assert_eq!(progress(&dir).unwrap_err(), KLOG_ERR_END);
    let held = root.path().join("u-0/partition.metadata");
    let held = held.to_str().unwrap();
    let (open, path) = (c"open", CString::new(held).unwrap());
    assert_eq!(klog_testing_hold(open.as_ptr(), path.as_ptr()), KLOG_OK);
    let (owner, (seen, lines)) = std::thread::scope(|scope| {
        let opening = scope.spawn(|| manager(root.path()));
        let seen = loop {
            assert!(!opening.is_finished(), "it was not held");
            match progress(&dir) {
                // It stands at the one that cannot be read, whatever has become of the other.
                Ok((seen, lines)) if lines.contains("u-0\t") => break (seen, lines),
                Ok(_) | Err(KLOG_ERR_END) => std::thread::yield_now(),
                Err(status) => panic!("{status}"),
            }
        };
        let_go(held);
        (opening.join().unwrap(), seen)
    });
    assert_eq!(seen.logs_total, 2);
    assert!((1..=2).contains(&seen.logs_left), "{}", seen.logs_left);
    let line = lines.lines().find(|line| line.starts_with("u-0\t"));
    assert!(line.unwrap().ends_with("\t0\t0\t0"), "{lines}");
    assert_eq!(progress(&dir).unwrap_err(), KLOG_ERR_END, "it is done");
    let mut out = init!(klog_open_progress);
    let n = KLOG_ERR_NULL_ARGUMENT;
    refused(n, "dir", |e| {
        klog_manager_open_progress(null(), NTS, &raw mut out, null_mut(), 0, null_mut(), e)
    });
    refused(n, "out", |e| {
        klog_manager_open_progress(dir.as_ptr(), NTS, null_mut(), null_mut(), 0, null_mut(), e)
    });
    close(owner);
}
