//! Looking at a directory while its owner works in it: `klog dump` takes no lock, never fails, and shows what was there
//! when it looked (design.md 3).
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a failure fails the test"
)]

mod support;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use klog::log::{AppendOptions, WriteDurability};

use support::canonical::Text;
use support::child::{self, Worker};
use support::command::klog;
use support::engine::{Home, builder, log, rec, t0};

/// Dumps that must grow from one to the next.
const DUMPS: usize = 25;
/// Segments that the log must have by then.
const SEGMENTS: usize = 6;
/// Looks at a directory from which a log vanishes.
const LOOKS: usize = 60;

fn home_of(dir: &Path) -> Home {
    let small = |home: Home, topic| home.set_for(topic, "internal.segment.bytes", 16384);
    let home = small(small(Home::at(dir), "t"), "packed");
    home.set_for("packed", "compression.type", "lz4")
        .set_for("t", "index.interval.bytes", 300)
}

/// The child: appends to two logs, which roll every few batches, until its parent wants no more.
fn append_to_two_logs(dir: &Path) {
    let home = home_of(dir);
    let manager = home.open();
    let logs = [t0(&manager), log(&manager, "packed-3")];
    let ended = AtomicBool::new(false);
    // Synced appends: slow enough that a dump takes part of them, not all.
    let options = AppendOptions {
        durability: WriteDurability::Synced,
        ..AppendOptions::default()
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            child::wait_for_the_end();
            ended.store(true, Ordering::SeqCst);
        });
        let mut n = 0;
        while !ended.load(Ordering::SeqCst) {
            for log in &logs {
                let records: Vec<_> = (0..=n % 4)
                    .map(|i| rec(n * 10 + i, &format!("key {n}"), &"v".repeat(100)))
                    .collect();
                log.append(&mut builder(&records), &options).unwrap();
            }
            n += 1;
            child::say(&n.to_string());
        }
    });
    manager.close().unwrap();
}

/// Batches and records of each log without where they lie.
fn batches(text: &str) -> BTreeMap<String, Vec<String>> {
    let without_position = |line: &String| match line.strip_prefix("batch pos=") {
        Some(rest) => rest.split_once(' ').unwrap().1.to_owned(),
        None => line.clone(),
    };
    let content = |segments: Vec<support::canonical::SegmentLines>| {
        segments
            .iter()
            .flat_map(|s| s.content.iter().map(without_position))
            .collect()
    };
    Text::parse(text)
        .logs
        .iter()
        .map(|(name, lines)| (name.clone(), content(lines.segments())))
        .collect()
}

#[test]
fn each_dump_of_a_log_that_grows_is_a_prefix_of_the_next() {
    if let Some(dir) = child::work_dir() {
        return append_to_two_logs(&dir);
    }
    // On a disk, where a sync takes its time.
    let root = tempfile::tempdir().unwrap();
    let mut owner = Worker::start(
        "each_dump_of_a_log_that_grows_is_a_prefix_of_the_next",
        root.path(),
        &[],
    );
    owner.next_line();
    let mut before: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let (mut grown, mut segments) = (0, 0);
    while grown < DUMPS || segments < SEGMENTS {
        let run = klog([OsStr::new("dump"), root.path().as_os_str()]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        let now = batches(&run.stdout);
        assert_eq!(now.keys().collect::<Vec<_>>(), ["packed-3", "t-0"]);
        for (name, lines) in &now {
            let earlier = before.get(name).map_or(&[][..], Vec::as_slice);
            assert!(
                lines.len() >= earlier.len(),
                "{name} lost {} lines",
                earlier.len() - lines.len()
            );
            assert_eq!(&lines[..earlier.len()], earlier, "{name} reads differently");
            // What follows is whole: the text of an unfinished batch is not shown.
            assert!(lines.iter().all(|l| !l.starts_with("bad")
                && !l.starts_with("rest")
                && !l.contains("crc_ok=0")));
        }
        grown += usize::from(
            now.values().map(Vec::len).sum::<usize>() > before.values().map(Vec::len).sum(),
        );
        segments = Text::parse(&run.stdout).log("t-0").segments().len();
        before = now;
        // The owner goes on whatever we do; this waits until it has gone on.
        owner.wait_for_more();
    }
    owner.end();
    // Closed, it shows at least as much.
    let last = batches(&support::command::dump(root.path()));
    assert!(
        last.iter()
            .all(|(name, lines)| lines.starts_with(&before[name]))
    );
}

/// The child: a log that comes and goes as a whole, beside one that stays.
fn make_and_remove_a_log(dir: &Path) {
    let log = fs::read(dir.join("stays-0/00000000000000000000.log")).unwrap();
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            child::wait_for_the_end();
            ended.store(true, Ordering::SeqCst);
        });
        let (live, marked) = (
            dir.join("goes-0"),
            dir.join("goes-0.0123456789abcdef0123456789abcdef-delete"),
        );
        while !ended.load(Ordering::SeqCst) {
            fs::create_dir(&live).unwrap();
            for base in [0, 7, 9] {
                fs::write(
                    live.join(format!("{base:020}.log")),
                    if base == 0 { &log[..] } else { &[] },
                )
                .unwrap();
                fs::write(live.join(format!("{base:020}.index")), []).unwrap();
            }
            // By retention the first segment goes first; then the topic is deleted.
            for file in ["00000000000000000000.log", "00000000000000000000.index"] {
                fs::rename(live.join(file), live.join(format!("{file}.deleted"))).unwrap();
                fs::remove_file(live.join(format!("{file}.deleted"))).unwrap();
            }
            fs::rename(&live, &marked).unwrap();
            fs::remove_dir_all(&marked).unwrap();
        }
    });
}

#[test]
fn files_and_logs_that_vanish_do_not_make_a_dump_fail() {
    if let Some(dir) = child::work_dir() {
        return make_and_remove_a_log(&dir);
    }
    let home = Home::new();
    let manager = home.open();
    support::engine::fill(&log(&manager, "stays-0"), 5);
    manager.close().unwrap();
    let expected = Text::parse(&home.dump_all()).log("stays-0").clone();
    let remover = Worker::start(
        "files_and_logs_that_vanish_do_not_make_a_dump_fail",
        &home.dir,
        &[],
    );
    let (mut with, mut without) = (0, 0);
    // Until both were seen; the remover is much faster than a dump.
    while (with < 3 || without < 3) || with + without < LOOKS {
        let run = klog([OsStr::new("dump"), home.dir.as_os_str()]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        let listed = klog([OsStr::new("ls"), home.dir.as_os_str()]);
        assert_eq!(listed.code, 0, "{}", listed.stderr);
        let text = Text::parse(&run.stdout);
        assert_eq!(text.log("stays-0"), &expected);
        match text.get("goes-0") {
            Some(lines) => {
                assert!(!lines.is_error(), "{}", run.stderr);
                with += 1;
            }
            None => without += 1,
        }
    }
    remover.end();
}
