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
#[path = "support/directories.rs"]
mod directories;
#[path = "../tests/support/jvm.rs"]
mod jvm;
#[path = "../tests/support/referee.rs"]
mod referee;

use std::path::{Path, PathBuf};
use std::time::Duration;

use bench::{Contest, Scale, finish, timed};
use directories::{RECOVERY_BYTES, forget, large, many, open};
use referee::Referee;

/// At least so many times as fast as Kafka.
const OPEN_FLOOR: f64 = 5.0;
const RECOVERY_FLOOR: f64 = 3.0;
const ROUNDS: usize = 5;

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
