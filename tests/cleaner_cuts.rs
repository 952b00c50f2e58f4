//! The power is cut, or the process killed, before every change of the disk that a pass of the cleaner makes: afterwards each
//! group of segments is the old one or the new one, a reader finds the same latest value of every key, and the next pass
//! ends where the first one would have. cleaner.md 8, log.md 11, hard-cases.md HC15, HC16.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    clippy::case_sensitive_file_extension_comparisons,
    reason = "a failure fails the test"
)]

mod support;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use klog::cleaner::examine::{Active, examine};
use klog::cleaner::pass::{PassOptions, Surroundings, clean};
use klog::cleaner::watch::Watch;
use klog::config::ConfigSet;
use klog::error::Result;
use klog::format::builder::{BatchBuilder, BatchOptions};
use klog::format::control;
use klog::io::sim::Fault;
use klog::io::{Clock, FileSystem, ManualClock, SimFs};
use klog::log::{AppendOptions, CursorOptions, Isolation, Log, Origin};
use klog::manager::{CreateOptions, Manager, ManagerOptions};
use klog::types::{LeaderEpoch, Offset, ProducerId, TimestampMs, TopicPartition};

use support::random::Random;

const DIR: &str = "/data";
const NOW: i64 = 1_767_000_000_000;
/// How many batches are appended at a time.
const ROUNDS: usize = 30;

/// Records by offset: key and value.
type Records = BTreeMap<i64, (String, Option<String>)>;

fn open(disk: &SimFs) -> Manager {
    let mut set = ConfigSet::broker();
    for (key, value) in [
        ("cleanup.policy", "compact"),
        ("internal.segment.bytes", "700"),
        ("index.interval.bytes", "100"),
        ("delete.retention.ms", "0"),
    ] {
        set.set_topic("t", key, value).unwrap();
    }
    let fs: Arc<dyn FileSystem> = Arc::new(disk.clone());
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::new(TimestampMs(NOW)));
    Manager::open(ManagerOptions {
        fs,
        clock,
        recovery_threads: Some(1),
        ..ManagerOptions::new(vec![PathBuf::from(DIR)], Arc::new(set.resolve().unwrap()))
    })
    .unwrap()
}

fn log_of(manager: &Manager) -> Arc<Log> {
    let partition = TopicPartition::new("t", 0);
    let log = manager.get_or_create_log(&partition, &CreateOptions::default());
    log.unwrap()
}

/// How a pass is made: of the log as it is, or so that a group becomes several segments.
#[derive(Clone, Copy, Debug)]
struct Shape {
    segment_bytes_max: u64,
}

fn pass(log: &Log, shape: Shape) -> Result<i64> {
    let now = TimestampMs(NOW);
    let examined = examine(log, Some(Offset::ZERO), Active::AsItIs, now)?;
    let options = PassOptions {
        segment_bytes_max: shape.segment_bytes_max,
        ..PassOptions::new(now, 24 * 1000)
    };
    let watch = Watch::default();
    clean(log, &examined, &options, Surroundings::new(&watch)).map(|cleaned| cleaned.end.0)
}

/// Keys with values and tombstones, and transactions of which some are aborted.
fn fill(log: &Log, random: &mut Random) {
    let options = AppendOptions {
        origin: Origin::Replication,
        leader_epoch: Some(LeaderEpoch(0)),
        ..AppendOptions::default()
    };
    let mut sequence = 0;
    for round in 0..ROUNDS {
        let is_txn = random.once_in(4);
        let mut builder = BatchBuilder::new();
        for _ in 0..=random.below(3) {
            let key = format!("k{}", random.below(9));
            let value = format!("v{round}");
            let value = (!random.once_in(4)).then_some(value.as_bytes());
            builder
                .push(
                    TimestampMs(NOW),
                    Some(key.as_bytes()),
                    value,
                    [].into_iter(),
                )
                .unwrap();
        }
        let count = builder.record_count();
        let mut batch = BatchOptions {
            base_offset: log.end_offset(),
            leader_epoch: LeaderEpoch(0),
            ..BatchOptions::default()
        };
        if is_txn {
            batch.producer_id = ProducerId(7);
            batch.producer_epoch = 0;
            batch.base_sequence = sequence;
            batch.transactional = true;
            sequence += count;
        }
        log.append_batches(builder.finish(&batch).unwrap(), &options)
            .unwrap();
        if is_txn {
            batch.base_offset = log.end_offset();
            let mut builder = BatchBuilder::new();
            let commit = random.once_in(2);
            let marker =
                control::write_end_marker(&mut builder, commit, 0, TimestampMs(NOW), &batch);
            log.append_batches(marker.unwrap(), &options).unwrap();
        }
    }
    log.roll().unwrap();
    log.flush().unwrap();
}

fn records(log: &Arc<Log>, isolation: Isolation) -> Records {
    let options = CursorOptions {
        isolation,
        ..CursorOptions::default()
    };
    let mut cursor = log.cursor(Offset::ZERO, options);
    let mut found = Records::new();
    loop {
        let records = cursor.next_records(100).unwrap();
        if records.is_empty() {
            return found;
        }
        for record in records.iter() {
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            let pair = (text(record.key.unwrap()), record.value.map(text));
            assert!(
                found.insert(record.offset.0, pair).is_none(),
                "twice at {}",
                record.offset
            );
        }
    }
}

/// What a reader of all committed records has in the end.
fn latest(records: &Records) -> BTreeMap<String, String> {
    let mut latest = BTreeMap::new();
    for (key, value) in records.values() {
        match value {
            Some(value) => latest.insert(key.clone(), value.clone()),
            None => latest.remove(key),
        };
    }
    latest
}

fn is_within(part: &Records, whole: &Records) -> bool {
    part.iter()
        .all(|(offset, pair)| whole.get(offset) == Some(pair))
}

/// Cuts at every moment of a pass; how many moments.
fn cut_everywhere(seed: u64, shape: Shape, cuts: u64) -> usize {
    let mut random = Random::new(seed);
    let disk = SimFs::new();
    klog::io::create_dir_all(&disk, DIR.as_ref()).unwrap();
    let manager = open(&disk);
    let log = log_of(&manager);
    fill(&log, &mut random);
    manager.checkpoint().unwrap();
    if random.once_in(2) {
        // Something is clean, and has horizons.
        pass(
            &log,
            Shape {
                segment_bytes_max: 1 << 30,
            },
        )
        .unwrap();
        fill(&log, &mut random);
    }
    disk.sync_all();
    let old = records(&log, Isolation::LogEnd);
    let expected = latest(&records(&log, Isolation::TxnCommitted));
    disk.record_moments();
    pass(&log, shape).unwrap();
    let moments = disk.take_moments();
    let new = records(&log, Isolation::LogEnd);
    assert!(new.len() < old.len() && is_within(&new, &old));
    assert_eq!(latest(&records(&log, Isolation::TxnCommitted)), expected);
    for (n, moment) in moments.iter().enumerate() {
        for cut in 0..=cuts {
            let after = if cut == 0 {
                moment.after_kill()
            } else {
                moment.after_power_cut(seed * 1000 + n as u64 * 10 + cut)
            };
            let what = format!("seed {seed}, {shape:?}, before change {n}, cut {cut}");
            check(&after, &old, &new, &expected, shape, &what);
        }
    }
    moments.len()
}

fn check(
    disk: &SimFs,
    old: &Records,
    new: &Records,
    expected: &BTreeMap<String, String>,
    shape: Shape,
    what: &str,
) {
    let manager = open(disk);
    assert!(
        manager.failed_logs().is_empty(),
        "{what}: {:?}",
        manager.report()
    );
    let log = log_of(&manager);
    let found = records(&log, Isolation::LogEnd);
    assert!(
        is_within(&found, old),
        "{what}: something came out of nowhere"
    );
    assert!(is_within(new, &found), "{what}: something is lost");
    let committed = records(&log, Isolation::TxnCommitted);
    assert_eq!(&latest(&committed), expected, "{what}");
    let files = disk.files_below(DIR.as_ref());
    let leftover = files.iter().find(|(path, _)| {
        let name = path.to_string_lossy();
        name.ends_with(".cleaned") || name.ends_with(".swap")
    });
    assert!(leftover.is_none(), "{what}: {leftover:?}");
    pass(&log, shape).unwrap_or_else(|e| panic!("{what}: the next pass: {e}"));
    let again = records(&log, Isolation::LogEnd);
    assert!(
        is_within(&again, new),
        "{what}: the next pass keeps what the first one dropped"
    );
    assert_eq!(
        &latest(&records(&log, Isolation::TxnCommitted)),
        expected,
        "{what}"
    );
    manager.close().unwrap();
}

#[test]
fn a_cut_at_any_moment_of_a_pass_costs_nothing() {
    let mut moments = 0;
    for seed in 0..6 {
        moments += cut_everywhere(
            seed,
            Shape {
                segment_bytes_max: 1 << 30,
            },
            3,
        );
    }
    assert!(moments > 200, "{moments}");
}

#[test]
fn a_cut_while_several_segments_are_swapped_in_together_costs_nothing() {
    let mut moments = 0;
    for seed in 100..103 {
        moments += cut_everywhere(
            seed,
            Shape {
                segment_bytes_max: 200,
            },
            3,
        );
    }
    assert!(moments > 200, "{moments}");
}

/// Every change of the disk fails once, with a full disk, too few descriptors, or for good. The pass fails or goes on; what is
/// read stays what it was, in the log that is open and after a restart.
#[test]
fn a_failure_of_any_step_of_a_pass_costs_nothing() {
    let mut random = Random::new(7);
    let disk = SimFs::new();
    klog::io::create_dir_all(&disk, DIR.as_ref()).unwrap();
    let manager = open(&disk);
    let log = log_of(&manager);
    fill(&log, &mut random);
    manager.close().unwrap();
    let old = records_on(&disk, Isolation::LogEnd);
    let expected = latest(&records_on(&disk, Isolation::TxnCommitted));
    for segment_bytes_max in [1 << 30, 200] {
        let shape = Shape { segment_bytes_max };
        let done = disk.after_kill();
        pass(&log_of(&open(&done)), shape).unwrap();
        let new = records_on(&done, Isolation::LogEnd);
        let mut failed = 0;
        for (n, errno) in
            (0..).flat_map(|n| [libc::EIO, libc::ENOSPC, libc::EMFILE].map(|e| (n, e)))
        {
            let disk = disk.after_kill();
            let manager = open(&disk);
            let log = log_of(&manager);
            let before = disk.counts().changes;
            disk.inject(Fault {
                kind: None,
                path_part: String::new(),
                skip: n,
                times: 1,
                errno,
                stored_bytes: 0,
            });
            let outcome = pass(&log, shape);
            disk.clear_faults();
            let is_over = n > disk.counts().changes - before + disk.counts().reads;
            let what = format!("{shape:?}, operation {n} fails with {errno}: {outcome:?}");
            failed += usize::from(outcome.is_err());
            let found = records(&log, Isolation::LogEnd);
            assert!(is_within(&found, &old) && is_within(&new, &found), "{what}");
            assert_eq!(
                latest(&records(&log, Isolation::TxnCommitted)),
                expected,
                "{what}"
            );
            let leftover = disk
                .files_below(DIR.as_ref())
                .into_iter()
                .find(|(path, _)| path.to_string_lossy().ends_with(".cleaned"));
            let is_offline = manager.dirs().iter().any(|dir| dir.failure.is_some());
            assert!(
                leftover.is_none() || is_offline || errno == libc::EIO,
                "{what}: {leftover:?}"
            );
            check(&disk.after_kill(), &old, &new, &expected, shape, &what);
            if is_over || n > 2000 {
                break;
            }
        }
        assert!(failed > 60, "{failed}");
    }
}

fn records_on(disk: &SimFs, isolation: Isolation) -> Records {
    records(&log_of(&open(&disk.after_kill())), isolation)
}
