//! A log that several threads recover is recovered as by one. manager.md 2.3, log.md 8.7.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a failure fails the test"
)]

mod support;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use klog::config::ConfigSet;
use klog::io::{ManualClock, RealFs};
use klog::log::{AppendOptions, ProducerStamp, TxnMarker};
use klog::manager::{Manager, ManagerOptions, OpenCounts};
use klog::types::{LeaderEpoch, ProducerId, TimestampMs};

use support::engine::{Home, NOW, builder, rec, scan, t0};
use support::random::Random;
use support::{fixture, tree};

/// A log of many segments, with producers, transactions and epochs, as a crash leaves it.
fn crashed(random: &mut Random) -> Home {
    let home = Home::new()
        .set("internal.segment.bytes", 600 + random.below(2000))
        .set("index.interval.bytes", 100);
    let manager = home.open();
    let log = t0(&manager);
    let mut sequences = [0; 3];
    let mut epoch = 0;
    for n in 0..150 + random.below(200) {
        let n = i64::try_from(n).unwrap();
        let producer = random.below(5);
        if random.below(20) == 0 {
            epoch += 1;
        }
        let mut options = AppendOptions {
            leader_epoch: Some(LeaderEpoch(epoch)),
            ..AppendOptions::default()
        };
        let id = i64::try_from(producer).unwrap();
        if producer < 3 {
            options.producer = Some(ProducerStamp {
                id: ProducerId(id),
                epoch: 0,
                base_sequence: sequences[producer],
                is_transactional: producer > 0,
            });
            sequences[producer] += 2;
        }
        let records = [
            rec(NOW + n, "key", &"v".repeat(random.below(80))),
            rec(NOW, "k", "v"),
        ];
        log.append(&mut builder(&records), &options).unwrap();
        if (1..3).contains(&producer) && random.below(3) == 0 {
            let marker = TxnMarker {
                producer_id: ProducerId(id),
                producer_epoch: 0,
                commit: random.below(2) == 0,
                coordinator_epoch: 0,
            };
            let options = AppendOptions {
                leader_epoch: Some(LeaderEpoch(epoch)),
                ..AppendOptions::default()
            };
            log.append_marker(&marker, &options).unwrap();
        }
    }
    manager.abandon();
    home.checkpoint("recovery-point-offset-checkpoint", 0);
    home
}

/// Flips a byte, or cuts a file, somewhere in a `.log`; or takes indexes away.
fn damage(home: &Home, random: &mut Random) {
    let logs = home.sizes(".log");
    let (base, size) = logs[random.below(logs.len())];
    let name = format!("{base}.log");
    match random.below(4) {
        0 if size > 0 => home.flip(&name, random.below(usize::try_from(size).unwrap())),
        1 if size > 0 => home.cut(&name, random.below(usize::try_from(size).unwrap())),
        2 => {
            for (base, _) in logs {
                for kind in ["index", "timeindex", "txnindex"] {
                    let _ = fs::remove_file(home.path(&format!("{base}.{kind}")));
                }
            }
        }
        _ => {}
    }
}

fn open(dir: &Path, threads: usize, keys: &[(&str, String)]) -> (Manager, Vec<String>, OpenCounts) {
    let mut set = ConfigSet::broker();
    for (key, value) in keys {
        set.set(key, value).unwrap();
    }
    let manager = Manager::open(ManagerOptions {
        clock: Arc::new(ManualClock::new(TimestampMs(NOW))),
        fs: Arc::new(RealFs),
        recovery_threads: Some(threads),
        ..ManagerOptions::new(vec![dir.to_path_buf()], Arc::new(set.resolve().unwrap()))
    })
    .unwrap();
    let report = manager
        .report()
        .iter()
        .map(|finding| finding.to_string().replace(dir.to_str().unwrap(), "DIR"))
        .collect();
    let counts = manager.open_counts();
    (manager, report, counts)
}

/// Recovers copies of a directory with one thread and with several.
fn compare(dir: &Path, what: &str) -> u64 {
    let keys = [("log.index.interval.bytes", "100".to_owned())];
    let mut recovered = 0;
    let mut outcomes = Vec::new();
    for threads in [1, 2, 8] {
        let root = tree::scratch();
        let copy = root.path().join("logs");
        tree::copy(dir, &copy);
        let (manager, report, counts) = open(&copy, threads, &keys);
        let logs: Vec<_> = manager
            .logs()
            .iter()
            .map(|log| {
                let mut producers: Vec<String> =
                    log.producers().iter().map(|p| format!("{p:?}")).collect();
                producers.sort();
                (
                    format!("{:?}", log.info()),
                    producers,
                    scan(log, log.start_offset().0).len(),
                )
            })
            .collect();
        manager.abandon();
        recovered = counts.segments_recovered;
        outcomes.push((report, counts, logs, tree::content(&copy)));
    }
    let first = outcomes.remove(0);
    for other in outcomes {
        assert_eq!(first.0, other.0, "{what}");
        assert_eq!(first.1, other.1, "{what}");
        assert_eq!(first.2, other.2, "{what}");
        assert!(first.3 == other.3, "{what}: the files differ");
    }
    recovered
}

#[test]
fn several_threads_recover_what_one_does() {
    let mut seeds = Random::from_env("parallel_recovery");
    let mut recovered = 0;
    for n in 0..40 {
        let mut random = Random::new(seeds.u64());
        let home = crashed(&mut random);
        damage(&home, &mut random);
        home.forget_marker();
        recovered += compare(&home.dir, &format!("log {n}"));
    }
    println!("parallel recovery: {recovered} segments");
    assert!(recovered > 500, "{recovered}");
}

#[test]
fn several_threads_recover_what_brokers_left() {
    for name in ["kafka-4.4.0-crash", "kafka-4.4.0-torn", "kafka-4.4.0-mixed"] {
        let fixture = fixture::extract(name);
        let dir = fixture.dir.clone();
        let _ = fs::remove_file(dir.join(support::engine::CLEAN_MARKER));
        let _ = fs::remove_file(dir.join("recovery-point-offset-checkpoint"));
        assert!(compare(&dir, name) > 5);
    }
}
