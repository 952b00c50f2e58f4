//! Files that the system lets grow no further (`RLIMIT_FSIZE`): a write past the limit is short or fails with `EFBIG`, on a
//! real file system. A full disk is told the same way: one call fails, nothing is torn, and with room again all goes on.
//!
//! The limit holds for a whole process, the test's own output too, so a child is limited. As in any program that sets such
//! a limit, `SIGXFSZ` is ignored there.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a failure fails the test"
)]
#![allow(unsafe_code, reason = "limits of the process are set by libc")]

mod support;

use std::path::Path;

use klog::error::ErrorKind;
use klog::format::codec::Codec;
use klog::format::names::parse_topic_partition;
use klog::log::AppendOptions;
use klog::manager::CreateOptions;

use support::child::{self, Worker};
use support::engine::{Home, builder, log, offsets, t0};
use support::random::{Random, any_records};
use support::tree;

const TEST: &str = "a_file_that_may_not_grow_fails_one_call_and_nothing_is_lost";
const ROUNDS: usize = 60;

fn limit_files_to(bytes: u64) {
    let limit = libc::rlimit {
        rlim_cur: bytes,
        rlim_max: libc::RLIM_INFINITY,
    };
    // SAFETY: a plain struct of integers, of this process.
    let status = unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit) };
    assert_eq!(status, 0);
}

fn ignore_the_signal() {
    // SAFETY: no handler is installed, so none can be wrong.
    let before = unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    assert_ne!(before, libc::SIG_ERR);
}

fn home_at(dir: &Path) -> Home {
    Home::at(dir)
        .set("index.interval.bytes", 100)
        .set_for("asked", "preallocate", true)
        .set_for("asked", "internal.segment.bytes", 1_000_000)
}

/// The child. It says how many records it has appended.
fn fill_up(dir: &Path) {
    ignore_the_signal();
    let mut random = Random::from_env(TEST);
    let home = home_at(dir);
    let mut manager = home.open();
    let mut limit = 2_000;
    limit_files_to(limit);
    let asked = parse_topic_partition("asked-0").unwrap();
    let error = manager
        .get_or_create_log(&asked, &CreateOptions::default())
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoSpace, "{error}");

    for round in 0..ROUNDS {
        let log = t0(&manager);
        let (records, options, error) = loop {
            let records = any_records(&mut random);
            let options = AppendOptions {
                codec: Some(*random.pick(&Codec::ALL)),
                ..AppendOptions::default()
            };
            let end = log.end_offset();
            if let Err(error) = log.append(&mut builder(&records), &options) {
                assert_eq!(log.end_offset(), end, "round {round}");
                break (records, options, error);
            }
        };
        assert_eq!(error.kind(), ErrorKind::NoSpace, "round {round}: {error}");
        assert_eq!(
            error.os_errno(),
            Some(libc::EFBIG),
            "round {round}: {error}"
        );
        let kept: Vec<i64> = (0..log.end_offset().0).collect();
        assert_eq!(offsets(&log, 0), kept, "round {round}");
        if random.once_in(4) {
            // Whatever of the failed call is left would be found here. The limit still holds.
            drop(log);
            drop(manager);
            home.forget_marker();
            manager = home.open();
            assert_eq!(offsets(&t0(&manager), 0), kept, "round {round}, reopened");
        }
        limit += random.between(300, 2_000).cast_unsigned();
        limit_files_to(limit.max(log_bytes(&home) + 2_500));
        t0(&manager)
            .append(&mut builder(&records), &options)
            .unwrap_or_else(|error| panic!("round {round}: with room again: {error}"));
    }
    limit_files_to(libc::RLIM_INFINITY);
    // What was refused at first left nothing that is in the way.
    log(&manager, "asked-0");
    child::say(&format!("appended {}", t0(&manager).end_offset()));
    manager.close().unwrap();
    child::wait_for_the_end();
}

fn log_bytes(home: &Home) -> u64 {
    home.read("0.log").len() as u64
}

#[test]
fn a_file_that_may_not_grow_fails_one_call_and_nothing_is_lost() {
    if let Some(dir) = child::work_dir() {
        return fill_up(&dir);
    }
    let root = tree::scratch();
    let mut child = Worker::start(TEST, root.path(), &[]);
    let said = child.next_line();
    child.end();
    let end: i64 = said.strip_prefix("appended ").unwrap().parse().unwrap();
    let home = home_at(root.path());
    let manager = home.open();
    assert_eq!(
        offsets(&t0(&manager), 0),
        (0..end).collect::<Vec<_>>(),
        "after the last close"
    );
    assert!(end > 200, "hardly anything was appended");
}
