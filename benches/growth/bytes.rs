//! Curves over the bytes of a log.

use std::path::Path;
use std::sync::Arc;

use klog::cleaner::examine::{Active, examine};
use klog::cleaner::pass::{PassOptions, Surroundings, clean};
use klog::cleaner::watch::Watch;
use klog::format::builder::BatchBuilder;
use klog::format::codec::Codec;
use klog::log::{AppendOptions, CursorOptions, Log};
use klog::manager::{CreateOptions, Manager};
use klog::types::{Offset, TimestampMs, TopicPartition};

use super::clock::Worked;
use super::compacted::{self, Filling, Keys, MAP_BYTES};
use super::curve::{Asked, Curve};
use super::data::{Data, EACH, TIME};
use super::directories::{forget, options};
use super::{Sizes, fresh, shortest, timed};

/// What a record takes in a batch of a hundred, about.
const RECORD_BYTES: u64 = 122;

fn log_of(manager: &Manager) -> Arc<Log> {
    let partition = TopicPartition::new("t", 0);
    let log = manager.get_or_create_log(&partition, &CreateOptions::default());
    log.unwrap()
}

fn append(dir: &Path, batches: u64) -> f64 {
    let data = Data::new();
    let manager = Manager::open(options(&fresh(dir))).unwrap();
    let log = log_of(&manager);
    let mut builder = BatchBuilder::new();
    let began = Worked::start();
    for n in 0..batches {
        data.fill(&mut builder, 0, EACH, TIME + (n * EACH) as i64);
        log.append(&mut builder, &AppendOptions::default()).unwrap();
    }
    let seconds = began.seconds();
    manager.close().unwrap();
    seconds
}

fn scan(dir: &Path, records: u64) -> f64 {
    let manager = Manager::open(options(dir)).unwrap();
    let mut cursor = log_of(&manager).cursor(Offset::ZERO, CursorOptions::default());
    let mut found = 0;
    let began = Worked::start();
    loop {
        let slice = cursor.next_records(1000).unwrap();
        if slice.is_empty() {
            break;
        }
        for record in slice.iter() {
            std::hint::black_box((record.offset, record.key, record.value));
            found += 1;
        }
    }
    let seconds = began.seconds();
    assert_eq!(found, records);
    manager.close().unwrap();
    seconds
}

fn recover(dir: &Path) -> f64 {
    forget(dir);
    let mut options = options(dir);
    options.recovery_threads = Some(1);
    let (seconds, manager) = timed(|| Manager::open(options).unwrap());
    assert!(manager.open_counts().segments_recovered >= 1);
    manager.close().unwrap();
    seconds
}

fn clean_once(source: &Path, dir: &Path) -> f64 {
    compacted::copy(source, dir);
    let (manager, log) = compacted::open(dir);
    let now = TimestampMs(1_800_000_000_000);
    let watch = Watch::default();
    let began = Worked::start();
    let examined = examine(&log, None, Active::AsItIs, now).unwrap();
    let options = PassOptions::new(now, MAP_BYTES);
    let cleaned = clean(&log, &examined, &options, Surroundings::new(&watch)).unwrap();
    let seconds = began.seconds();
    assert_eq!(cleaned.stats.map_keys, cleaned.stats.kept_records());
    manager.close().unwrap();
    seconds
}

pub(crate) fn curves(sizes: &Sizes, root: &Path) -> Vec<Curve> {
    let mut curves =
        ["append", "scan", "recover", "clean"].map(|name| Curve::new(name, Asked::Linear));
    let (dir, copy) = (root.join("bytes"), root.join("copy"));
    for megabytes in sizes.megabytes {
        let records = megabytes * 1_000_000 / RECORD_BYTES / EACH * EACH;
        let batches = records / EACH;
        // The large ones take long, and are less in danger of being disturbed.
        let rounds = if *megabytes >= 1000 { 1 } else { sizes.rounds };
        let costs = [
            shortest(rounds, || append(&dir, batches)),
            shortest(rounds, || scan(&dir, records)),
            shortest(rounds, || recover(&dir)),
            {
                let filling = Filling {
                    records,
                    keys: Keys::Of(records / 10),
                    codec: Codec::None,
                };
                compacted::write_log(&fresh(&dir), filling, &[[b'v'; 100]]);
                shortest(rounds, || clean_once(&dir, &copy))
            },
        ];
        for (curve, cost) in curves.iter_mut().zip(costs) {
            curve.add(*megabytes, cost);
        }
    }
    for dir in [dir, copy] {
        fresh(&dir);
    }
    curves.into()
}
