//! Opening directories beside Kafka's own classes, in one run: many partitions after a clean stop, and a log to be recovered.
//!
//! Each has a copy of the directory; both use the default number of threads. The JVM is warm: the first round is thrown away.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::cast_precision_loss,
    dead_code
)]

#[path = "support/mod.rs"]
mod bench;
#[path = "../tests/support/jvm.rs"]
mod jvm;
#[path = "../tests/support/referee.rs"]
mod referee;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bench::{Contest, Scale, finish, timed};
use klog::config::{ConfigSet, Resolved};
use klog::format::builder::BatchBuilder;
use klog::format::uuid::Uuid;
use klog::log::AppendOptions;
use klog::manager::{CreateOptions, Manager, ManagerOptions};
use klog::types::{TimestampMs, TopicPartition};
use referee::Referee;

/// At least so many times as fast as Kafka.
const OPEN_FLOOR: f64 = 5.0;
const RECOVERY_FLOOR: f64 = 3.0;
const RECOVERY_BYTES: u64 = 500 << 20;
const ROUNDS: usize = 5;

fn config() -> Arc<Resolved> {
    let mut set = ConfigSet::broker();
    set.set("log.segment.bytes", "134217728").unwrap();
    Arc::new(set.resolve().unwrap())
}

fn open(dir: &Path) -> Manager {
    Manager::open(ManagerOptions::new(vec![dir.to_path_buf()], config())).unwrap()
}

/// A directory of so many partitions, each with a batch, closed in order.
fn many(dir: &Path, partitions: i32) {
    fs::create_dir_all(dir).unwrap();
    let manager = open(dir);
    let mut builder = BatchBuilder::new();
    for n in 0..partitions {
        let partition = TopicPartition::new(format!("topic-{}", n / 100), n % 100);
        let options = CreateOptions {
            topic_id: Some(Uuid::random().unwrap()),
            ..CreateOptions::default()
        };
        let log = manager.get_or_create_log(&partition, &options).unwrap();
        builder.clear();
        builder
            .push(TimestampMs(1), Some(b"key"), Some(b"value"), [].into_iter())
            .unwrap();
        log.append(&mut builder, &AppendOptions::default()).unwrap();
    }
    manager.close().unwrap();
}

/// A directory of one log of 500 MB in four segments.
fn large(dir: &Path) {
    fs::create_dir_all(dir).unwrap();
    let manager = open(dir);
    let log = manager
        .get_or_create_log(&TopicPartition::new("t", 0), &CreateOptions::default())
        .unwrap();
    let mut builder = BatchBuilder::new();
    while log.segments().iter().map(|s| s.size_bytes()).sum::<u64>() < RECOVERY_BYTES {
        for _ in 0..64 {
            builder.clear();
            for n in 0..100 {
                builder
                    .push(
                        TimestampMs(n),
                        Some(b"key-0000000000"),
                        Some(&[b'v'; 100]),
                        [].into_iter(),
                    )
                    .unwrap();
            }
            log.append(&mut builder, &AppendOptions::default()).unwrap();
        }
    }
    manager.close().unwrap();
}

/// Leaves the batches only.
fn forget(dir: &Path) {
    for file in [".kafka_cleanshutdown", "recovery-point-offset-checkpoint"] {
        let _ = fs::remove_file(dir.join(file));
    }
    for entry in fs::read_dir(dir.join("t-0")).unwrap() {
        let path = entry.unwrap().path();
        let ending = path
            .extension()
            .and_then(|e| e.to_str())
            .unwrap_or_default();
        if ["index", "timeindex", "txnindex", "snapshot"].contains(&ending) {
            fs::remove_file(path).unwrap();
        }
    }
}

fn kafka_load(referee: &mut Referee, dir: &Path) -> Duration {
    let answer = referee.line(&["time_load", dir.to_str().unwrap()]);
    let (time, _) = answer
        .strip_prefix("load_ns=")
        .unwrap()
        .split_once(' ')
        .unwrap();
    Duration::from_nanos(time.parse().unwrap())
}

/// How long klog takes, and how many segments it recovered.
fn klog_load(dir: &Path) -> (Duration, u64) {
    let mut manager = None;
    let time = timed(|| manager = Some(open(dir)));
    let manager = manager.unwrap();
    let counts = manager.open_counts();
    manager.close().unwrap();
    (time, counts.segments_recovered)
}

fn main() {
    let root = tempfile::tempdir_in(".")
        .or_else(|_| tempfile::tempdir())
        .unwrap();
    let mut referee = Referee::start_fast();
    let both = |name: &str| -> [PathBuf; 2] {
        ["kafka", "klog"].map(|who| root.path().join(format!("{name}-{who}")))
    };
    let mut opened = |name, partitions: i32| {
        let [kafka, klog] = both(&partitions.to_string());
        many(&kafka, partitions);
        many(&klog, partitions);
        let contest = Contest::run(
            name,
            ROUNDS,
            "Kafka",
            || kafka_load(&mut referee, &kafka),
            || klog_load(&klog).0,
        );
        let scale = Scale {
            amount: f64::from(partitions),
            unit: "logs/s",
        };
        contest.report(scale, OPEN_FLOOR)
    };
    let met = [
        opened("open 1,000 partitions", 1000),
        opened("open 5,000 partitions", 5000),
    ];
    let [kafka, klog] = both("large");
    large(&kafka);
    large(&klog);
    let recovered = Contest::run(
        "recover 500 MB without indexes",
        ROUNDS,
        "Kafka",
        || {
            forget(&kafka);
            kafka_load(&mut referee, &kafka)
        },
        || {
            forget(&klog);
            let (time, recovered) = klog_load(&klog);
            assert!(recovered >= 4, "{recovered}");
            time
        },
    );
    let scale = Scale {
        amount: RECOVERY_BYTES as f64 / 1e9,
        unit: "GB/s",
    };
    finish(&[met[0], met[1], recovered.report(scale, RECOVERY_FLOOR)]);
}
