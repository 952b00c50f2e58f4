//! Moving a log between directories: nothing is lost, whatever happens meanwhile, and one log is left at each moment.
//! manager.md 9.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::too_many_lines,
    reason = "a failure fails the test"
)]

#[path = "../support/mod.rs"]
mod support;

mod crashes;
mod meanwhile;
mod whole;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use klog::Error;
use klog::config::ConfigSet;
use klog::io::{Clock, FileSystem, ManualClock, SimFs};
use klog::log::{AppendOptions, CursorOptions, Log, ProducerStamp, TxnMarker};
use klog::manager::{CreateOptions, HighWatermarks, Manager, ManagerOptions, MissingDir};
use klog::types::{LeaderEpoch, Offset, ProducerId, TimestampMs, TopicPartition};

use support::engine::{self, NOW, append_in_epoch, builder, epochs, rec};

const A: &str = "/disk-a";
const B: &str = "/disk-b";

/// Two directories on a simulated disk.
struct Two {
    disk: SimFs,
    keys: Vec<(&'static str, String)>,
    high_watermarks: HighWatermarks,
}

impl Two {
    fn new() -> Self {
        let disk = SimFs::new();
        for dir in [A, B] {
            disk.create_dir(Path::new(dir)).unwrap();
        }
        disk.sync_dir(Path::new("/")).unwrap();
        Self::on(disk)
    }

    fn on(disk: SimFs) -> Self {
        Self {
            disk,
            keys: vec![("log.segment.bytes", (1 << 20).to_string())],
            high_watermarks: HighWatermarks::FollowEnd,
        }
    }

    fn try_open_in(&self, dirs: &[&str]) -> Result<Manager, Error> {
        let mut set = ConfigSet::broker();
        for (key, value) in &self.keys {
            set.set(key, value).unwrap();
        }
        Manager::open(ManagerOptions {
            missing_dir: MissingDir::Refuse,
            fs: Arc::new(self.disk.clone()),
            clock: Arc::new(ManualClock::new(TimestampMs(NOW))) as Arc<dyn Clock>,
            recovery_threads: Some(1),
            high_watermarks: self.high_watermarks,
            ..ManagerOptions::new(
                dirs.iter().map(PathBuf::from).collect(),
                Arc::new(set.resolve().unwrap()),
            )
        })
    }

    fn open(&self) -> Manager {
        self.try_open_in(&[A, B]).unwrap()
    }

    /// The directories of `t-0`, whatever their marks.
    fn places(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for dir in [A, B] {
            for entry in self.disk.list(Path::new(dir)).unwrap() {
                if entry.name.to_str().unwrap().starts_with("t-0") {
                    found.push(Path::new(dir).join(entry.name));
                }
            }
        }
        found
    }

    /// Those that are served.
    fn served(&self) -> Vec<PathBuf> {
        let mut places = self.places();
        places.retain(|place| place.ends_with("t-0"));
        places
    }
}

fn t0() -> TopicPartition {
    TopicPartition::new("t", 0)
}

/// Appends so many batches of one record, in the log's latest epoch.
fn fill(log: &Log, n: i64) {
    let from = log.end_offset().0;
    for i in from..from + n {
        let record = rec(NOW + i, &format!("k{i}"), &format!("v{i}"));
        log.append(&mut builder(&[record]), &AppendOptions::default())
            .unwrap();
    }
}

/// The log `t-0`, made in `dir` if need be.
fn log_in(manager: &Manager, dir: &str) -> Arc<Log> {
    let options = CreateOptions {
        dir: Some(PathBuf::from(dir)),
        ..CreateOptions::default()
    };
    manager.get_or_create_log(&t0(), &options).unwrap()
}

fn move_to(manager: &Manager, log: &Arc<Log>, dir: &str) -> Result<(), Error> {
    manager.move_log(log, Path::new(dir), || Ok(()))
}

/// What readers see of a log, and what stands beside its records.
#[derive(Clone, Debug, PartialEq)]
struct Content {
    start: i64,
    end: i64,
    high_watermark: i64,
    stable: i64,
    records: Vec<(i64, String, String)>,
    committed: Vec<(i64, String, String)>,
    epochs: Vec<(i32, i64)>,
    producers: Vec<String>,
}

fn content(log: &Arc<Log>) -> Content {
    let all = |isolation| {
        let mut cursor = log.cursor(
            log.start_offset(),
            CursorOptions {
                isolation,
                ..CursorOptions::default()
            },
        );
        let mut found = Vec::new();
        loop {
            let records = cursor.next_records(1000).unwrap();
            if records.is_empty() {
                return found;
            }
            found.extend(records.iter().map(|r| {
                let text =
                    |b: Option<&[u8]>| String::from_utf8_lossy(b.unwrap_or(b"-")).into_owned();
                (r.offset.0, text(r.key), text(r.value))
            }));
        }
    };
    let mut producers: Vec<String> = log.producers().iter().map(|p| format!("{p:?}")).collect();
    producers.sort();
    Content {
        start: log.start_offset().0,
        end: log.end_offset().0,
        high_watermark: log.high_watermark().0,
        stable: log.last_stable_offset().0,
        records: all(klog::log::Isolation::LogEnd),
        committed: all(klog::log::Isolation::TxnCommitted),
        epochs: epochs(log),
        producers,
    }
}

fn stamp(id: i64, sequence: i32, is_transactional: bool) -> AppendOptions {
    AppendOptions {
        producer: Some(ProducerStamp {
            id: ProducerId(id),
            epoch: 0,
            base_sequence: sequence,
            is_transactional,
        }),
        ..AppendOptions::default()
    }
}

/// Several segments, epochs, a start within a batch, a committed, an aborted and an open transaction, a producer whose
/// records are deleted.
fn eventful(manager: &Manager, log: &Arc<Log>) {
    let append = |records: &[engine::Rec], options: &AppendOptions| {
        log.append(&mut builder(records), options).unwrap()
    };
    let mark = |id, commit| {
        let marker = TxnMarker {
            producer_id: ProducerId(id),
            producer_epoch: 0,
            commit,
            coordinator_epoch: 0,
        };
        log.append_marker(&marker, &AppendOptions::default())
            .unwrap();
    };
    append(&[rec(NOW, "gone", "x")], &stamp(3, 0, false));
    fill(log, 5);
    log.roll().unwrap();
    append(&engine::five(NOW), &AppendOptions::default());
    append_in_epoch(log, &[rec(NOW, "e", "2")], 2);
    append(&[rec(NOW, "tx", "1")], &stamp(5, 0, true));
    append(&[rec(NOW, "tx", "2")], &stamp(6, 0, true));
    mark(5, true);
    log.roll().unwrap();
    mark(6, false);
    fill(log, 3);
    append(&[rec(NOW, "tx", "3")], &stamp(7, 0, true));
    fill(log, 2);
    log.assign_epoch(LeaderEpoch(9), log.end_offset()).unwrap();
    manager.delete_records(log, Offset(8)).unwrap();
}
