//! A log on a disk that lists what is done to it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use klog::config::ConfigSet;
use klog::format::builder::BatchBuilder;
use klog::io::sim::{Op, OpKind};
use klog::io::{ManualClock, SimFs};
use klog::log::{AppendOptions, Log};
use klog::manager::{Manager, ManagerOptions, MissingDir};
use klog::types::TimestampMs;

use crate::support::engine::{NOW, t0};

/// Batches of a segment.
pub(crate) const SEGMENT_BATCHES: i64 = 16;
/// What a batch of [`append_one`] takes.
const BATCH_BYTES: i64 = 168;

/// Each log is made once.
static MADE: Mutex<BTreeMap<i64, Disk>> = Mutex::new(BTreeMap::new());

/// What was done.
#[derive(Clone, Copy, Default)]
pub(crate) struct Done {
    /// Listings and stats.
    pub(crate) looks: u64,
    /// Files opened, or made.
    pub(crate) opens: u64,
    pub(crate) reads: u64,
    pub(crate) bytes_read: u64,
    pub(crate) writes: u64,
    pub(crate) bytes_written: u64,
    /// Of files and of directories.
    pub(crate) syncs: u64,
    /// Renames, removals and cuts.
    pub(crate) others: u64,
}

impl Done {
    fn of(operations: &[Op]) -> Self {
        let mut done = Self::default();
        for operation in operations {
            let bytes = operation.bytes as u64;
            match operation.kind {
                OpKind::Look => done.looks += 1,
                OpKind::Open | OpKind::Create | OpKind::CreateDir => done.opens += 1,
                OpKind::Read => {
                    done.reads += 1;
                    done.bytes_read += bytes;
                }
                OpKind::Write => {
                    done.writes += 1;
                    done.bytes_written += bytes;
                }
                OpKind::Sync | OpKind::SyncDir => done.syncs += 1,
                OpKind::SetLen | OpKind::Rename | OpKind::Remove => done.others += 1,
            }
        }
        done
    }

    /// All that a system call each would do.
    pub(crate) fn calls(&self) -> u64 {
        self.looks + self.opens + self.reads + self.writes + self.syncs + self.others
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes_read + self.bytes_written
    }
}

impl fmt::Display for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} looks, {} opens, {} reads of {} bytes, {} writes of {} bytes, {} syncs, {} others",
            self.looks,
            self.opens,
            self.reads,
            self.bytes_read,
            self.writes,
            self.bytes_written,
            self.syncs,
            self.others
        )
    }
}

/// A disk in memory, and how logs on it are opened.
pub(crate) struct Disk {
    fs: SimFs,
    segment_bytes: i64,
    policy: &'static str,
}

impl Disk {
    pub(crate) fn new(segment_bytes: i64) -> Self {
        Self {
            fs: SimFs::new(),
            segment_bytes,
            policy: "delete",
        }
    }

    /// With segments of [`SEGMENT_BATCHES`].
    pub(crate) fn segmented() -> Self {
        Self::new(SEGMENT_BATCHES * BATCH_BYTES)
    }

    /// The same, its logs to be cleaned.
    pub(crate) fn compacted() -> Self {
        Self {
            policy: "compact",
            ..Self::segmented()
        }
    }

    /// A disk of the caller's own with a log of so many segments, closed in order.
    pub(crate) fn log_of(segments: i64) -> Self {
        let mut made = MADE.lock().unwrap();
        let disk = made.entry(segments).or_insert_with(|| Self::make(segments));
        disk.after_kill()
    }

    fn make(segments: i64) -> Self {
        let disk = Self::segmented();
        let manager = disk.open();
        let log = t0(&manager);
        for n in 0..segments * SEGMENT_BATCHES {
            append_one(&log, n);
        }
        assert_eq!(log.segments().len() as i64, segments, "segments were meant");
        manager.close().unwrap();
        disk
    }

    pub(crate) fn open(&self) -> Manager {
        let mut set = ConfigSet::broker();
        for (key, value) in [
            ("internal.segment.bytes", self.segment_bytes),
            // An entry a batch, so that the indexes are as deep as they can be.
            ("index.interval.bytes", 1),
            ("segment.index.bytes", 1 << 20),
        ] {
            set.set_topic("t", key, &value.to_string()).unwrap();
        }
        set.set_topic("t", "cleanup.policy", self.policy).unwrap();
        Manager::open(ManagerOptions {
            missing_dir: MissingDir::Create,
            fs: Arc::new(self.fs.clone()),
            clock: Arc::new(ManualClock::new(TimestampMs(NOW))),
            recovery_threads: Some(1),
            ..ManagerOptions::new(vec!["/data".into()], Arc::new(set.resolve().unwrap()))
        })
        .unwrap()
    }

    /// What the work does to the disk.
    pub(crate) fn count<T>(&self, work: impl FnOnce() -> T) -> (Done, T) {
        self.fs.start_trace();
        let result = work();
        let trace = self.fs.trace();
        (Done::of(&trace), result)
    }

    /// The same disk after the process was killed.
    pub(crate) fn after_kill(&self) -> Self {
        Self {
            fs: self.fs.after_kill(),
            ..*self
        }
    }
}

/// A batch of one record; its time is a second for each offset.
pub(crate) fn append_one(log: &Log, n: i64) {
    let mut builder = BatchBuilder::new();
    let (key, value) = (format!("{n:08}"), [b'v'; 85]);
    let time = TimestampMs(time_of(n));
    builder
        .push(time, Some(key.as_bytes()), Some(&value), [].into_iter())
        .unwrap();
    log.append(&mut builder, &AppendOptions::default()).unwrap();
}

pub(crate) fn time_of(offset: i64) -> i64 {
    NOW - 100_000_000 + offset * 1000
}

/// What each more costs, from one size to the next: (size, cost) in growing order.
pub(crate) fn each_more(points: &[(i64, u64)]) -> Vec<f64> {
    let steps = points.windows(2);
    steps
        .map(|pair| (pair[1].1 as f64 - pair[0].1 as f64) / (pair[1].0 - pair[0].0) as f64)
        .collect()
}

/// Fails if another one costs noticeably more where there are many than where there are few.
pub(crate) fn assert_linear(what: &str, points: &[(i64, u64)]) {
    let each = each_more(points);
    println!("{what}: {points:?}, each more {each:.2?}");
    for later in &each[1..] {
        assert!(
            *later <= each[0] * 1.1 + 0.5,
            "{what}: {points:?} grows worse than linear, each more {each:.2?}"
        );
    }
}
