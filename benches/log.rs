//! klog beside the machine: append and scan as multiples of raw I/O with the same checksum, in one run.
//!
//! Contestants take turns round by round; the first round is thrown away. Only the ratios mean something: machines differ
//! and are noisy. `make bench` runs it; a ratio below its floor fails.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::cast_precision_loss,
    clippy::too_many_lines
)]

#[path = "support/mod.rs"]
mod support;

use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use klog::config::LogConfig;
use klog::format::builder::{BatchBuilder, BatchOptions};
use klog::io::{RealFs, SystemClock};
use klog::log::{
    AppendOptions, CursorOptions, DirHealth, LoadOptions, Log, LogPlace, ReadOptions, Shutdown,
};
use klog::types::{Offset, TimestampMs, TopicPartition};

use support::{Contest, Scale, finish, timed};

const ROUNDS: usize = 7;
const RECORDS: usize = 1_000_000;
const BATCH_RECORDS: usize = 100;
/// Each figure must reach this part of the raw one.
const FLOOR: f64 = 0.4;

/// Records as they are usual: a key of 14 bytes, a value of 100.
struct Data {
    keys: Vec<[u8; 14]>,
    value: [u8; 100],
}

impl Data {
    fn new() -> Self {
        let mut keys = Vec::new();
        for n in 0..BATCH_RECORDS {
            let mut key = [0; 14];
            key.copy_from_slice(format!("key-{n:010}").as_bytes());
            keys.push(key);
        }
        let mut value = [0; 100];
        for (i, byte) in value.iter_mut().enumerate() {
            *byte = b'a' + u8::try_from(i % 26).unwrap();
        }
        Self { keys, value }
    }

    fn fill(&self, builder: &mut BatchBuilder) {
        builder.clear();
        for (n, key) in self.keys.iter().enumerate() {
            let time = TimestampMs(1_700_000_000_000 + i64::try_from(n).unwrap());
            builder
                .push(time, Some(key), Some(&self.value), [].into_iter())
                .unwrap();
        }
    }
}

fn open_log(dir: &Path) -> Arc<Log> {
    std::fs::create_dir_all(dir).unwrap();
    let place = LogPlace {
        partition: TopicPartition::new("bench", 0),
        dir: dir.to_path_buf(),
        fs: Arc::new(RealFs),
        clock: Arc::new(SystemClock),
        health: Arc::new(DirHealth::new(dir.to_path_buf())),
    };
    let options = LoadOptions {
        shutdown: Shutdown::Unclean,
        recovery_point: Offset::ZERO,
        log_start: Offset::ZERO,
        config: Arc::new(LogConfig::default()),
        producer_expiration_ms: 86_400_000,
        high_watermark: klog::log::HighWatermark::FollowsEnd,
        progress: None,
        spare_threads: Arc::default(),
        new_name: None,
    };
    Arc::new(Log::open(place, &options).unwrap().0)
}

fn main() {
    let root = tempfile::tempdir_in(".")
        .or_else(|_| tempfile::tempdir())
        .unwrap();
    let data = Data::new();
    let mut builder = BatchBuilder::new();
    data.fill(&mut builder);
    let batch = builder.finish(&BatchOptions::default()).unwrap().to_vec();
    let batches = RECORDS / BATCH_RECORDS;
    println!(
        "{RECORDS} records in batches of {BATCH_RECORDS}, {} bytes each",
        batch.len()
    );

    let raw_file = root.path().join("raw");
    let raw_append = || {
        let _ = std::fs::remove_file(&raw_file);
        let file = std::fs::File::create(&raw_file).unwrap();
        timed(|| {
            let mut position = 0;
            for _ in 0..batches {
                black_box(crc32c::crc32c(&batch[21..]));
                file.write_all_at(&batch, position).unwrap();
                position += batch.len() as u64;
            }
        })
    };
    let mut round = 0;
    let fresh = |round: &mut i32| {
        let old = root.path().join(format!("log-{round}"));
        let _ = std::fs::remove_dir_all(old);
        *round += 1;
        open_log(&root.path().join(format!("log-{round}")))
    };
    let ready = Contest::run("append, ready batches", ROUNDS, "raw", raw_append, || {
        let log = fresh(&mut round);
        timed(|| {
            for _ in 0..batches {
                black_box(
                    log.append_batches(&batch, &AppendOptions::default())
                        .unwrap(),
                );
            }
        })
    });
    let built = Contest::run("build and append", ROUNDS, "raw", raw_append, || {
        let log = fresh(&mut round);
        timed(|| {
            for _ in 0..batches {
                data.fill(&mut builder);
                black_box(log.append(&mut builder, &AppendOptions::default()).unwrap());
            }
        })
    });

    let log = open_log(&root.path().join(format!("log-{round}")));
    let file = std::fs::File::open(&raw_file).unwrap();
    let mut buffer = vec![0; 256 * 1024];
    let raw_scan = || {
        timed(|| {
            let mut position = 0;
            loop {
                let read = file.read_at(&mut buffer, position).unwrap();
                if read == 0 {
                    break;
                }
                black_box(crc32c::crc32c(&buffer[..read]));
                position += read as u64;
            }
        })
    };
    let scan = Contest::run(
        "scan, every record decoded",
        ROUNDS,
        "raw",
        raw_scan,
        || {
            let mut cursor = log.cursor(Offset::ZERO, CursorOptions::default());
            let mut count = 0;
            let time = timed(|| {
                loop {
                    let records = cursor.next_records(1000).unwrap();
                    if records.is_empty() {
                        break;
                    }
                    for record in records.iter() {
                        black_box((record.offset, record.key, record.value));
                        count += 1;
                    }
                }
            });
            assert_eq!(count, RECORDS);
            time
        },
    );
    let mut raw_buffer = vec![0; 1024 * 1024];
    let raw_fetch = || {
        timed(|| {
            let mut position = 0;
            loop {
                let read = file.read_at(&mut raw_buffer, position).unwrap();
                if read == 0 {
                    break;
                }
                position += read as u64;
            }
        })
    };
    let mut fetch_buffer = vec![0; 1024 * 1024];
    let fetch = Contest::run("fetch, 1 MiB a call", ROUNDS, "raw", raw_fetch, || {
        let mut next = Offset::ZERO;
        timed(|| {
            loop {
                let read = log
                    .read(next, &mut fetch_buffer, &ReadOptions::default())
                    .unwrap();
                if read.bytes == 0 {
                    break;
                }
                next = read.next_offset;
            }
        })
    });
    let scale = Scale {
        amount: RECORDS as f64 / 1e6,
        unit: "M rec/s",
    };
    finish(&[ready, built, scan, fetch].map(|contest| contest.report(scale, FLOOR)));
}
