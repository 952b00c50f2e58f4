//! Many partitions under the limits that a process has: descriptors and memory. hard-cases.md HC42 (a).
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::cast_possible_truncation,
    reason = "a failure fails the test"
)]

mod support;

use klog::manager::{CreateOptions, Manager};
use klog::types::TopicPartition;

use support::engine::{Home, NOW, append, offsets, rec};

const PARTITIONS: i32 = 20_000;
const DESCRIPTORS: u64 = 1024;
/// What an idle partition may cost.
const BYTES_EACH_MAX: usize = 4096;

fn partition(n: i32) -> TopicPartition {
    TopicPartition::new("t", n)
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Memory of the process that is in use, in bytes.
fn resident_bytes() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = text.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}

fn append_to_each(manager: &Manager, from: i32) {
    for n in from..PARTITIONS {
        let log = manager
            .get_or_create_log(&partition(n), &CreateOptions::default())
            .unwrap();
        append(&log, &[rec(NOW, "key", &format!("value of {n}"))]);
    }
}

#[test]
fn twenty_thousand_partitions_work_under_a_thousand_descriptors() {
    // SAFETY: a plain struct of integers, of this process.
    unsafe {
        let limit = libc::rlimit {
            rlim_cur: DESCRIPTORS,
            rlim_max: DESCRIPTORS,
        };
        assert_eq!(libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit), 0);
    }
    let home = Home::new();
    let manager = home.open();
    let before = resident_bytes();
    append_to_each(&manager, 0);
    let each = (resident_bytes() - before) / PARTITIONS as usize;
    println!(
        "many_partitions: {each} bytes for a partition, {} descriptors",
        descriptors()
    );
    assert!(each <= BYTES_EACH_MAX, "{each} bytes each");
    assert!(descriptors() < DESCRIPTORS as usize);
    for n in (0..PARTITIONS).rev().step_by(7) {
        assert_eq!(offsets(&manager.log(&partition(n)).unwrap(), 0), [0], "{n}");
    }
    manager.close().unwrap();

    let manager = home.open();
    assert_eq!(manager.logs().len(), PARTITIONS as usize);
    append_to_each(&manager, PARTITIONS - 3000);
    for n in (0..PARTITIONS).step_by(11) {
        let expected: &[i64] = if n < PARTITIONS - 3000 { &[0] } else { &[0, 1] };
        assert_eq!(
            offsets(&manager.log(&partition(n)).unwrap(), 0),
            expected,
            "{n}"
        );
    }
    assert!(descriptors() < DESCRIPTORS as usize);
    manager.close().unwrap();
}
