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

use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use klog::config::LogConfig;
use klog::format::builder::{BatchBuilder, BatchOptions};
use klog::io::{RealFs, SystemClock};
use klog::log::{
    AppendOptions, CursorOptions, DirHealth, LoadOptions, Log, LogPlace, ReadOptions, Shutdown,
};
use klog::types::{Offset, TimestampMs, TopicPartition};

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
    };
    Arc::new(Log::open(place, &options).unwrap().0)
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

struct Contest {
    name: &'static str,
    raw: Vec<f64>,
    klog: Vec<f64>,
}

impl Contest {
    fn run(
        name: &'static str,
        mut raw: impl FnMut() -> Duration,
        mut klog: impl FnMut() -> Duration,
    ) -> Self {
        let mut contest = Self {
            name,
            raw: Vec::new(),
            klog: Vec::new(),
        };
        // `cargo bench -- scan` gives only those whose name has the word.
        let words: Vec<String> = std::env::args()
            .skip(1)
            .filter(|arg| !arg.starts_with('-'))
            .collect();
        let is_wanted = words.is_empty() || words.iter().any(|word| name.contains(word.as_str()));
        let rounds = if is_wanted { ROUNDS } else { 0 };
        for round in 0..=rounds {
            let (a, b) = (raw().as_secs_f64(), klog().as_secs_f64());
            if round > 0 {
                contest.raw.push(a);
                contest.klog.push(b);
            }
        }
        contest
    }

    /// Prints the contest and answers whether klog reached its floor.
    fn report(&self, floor: f64) -> bool {
        if self.raw.is_empty() {
            return true;
        }
        let mut ratios: Vec<f64> = self
            .raw
            .iter()
            .zip(&self.klog)
            .map(|(raw, klog)| raw / klog)
            .collect();
        ratios.sort_by(f64::total_cmp);
        let ratio = ratios[ratios.len() / 2];
        let per_second = |seconds: &[f64]| {
            let mut sorted = seconds.to_vec();
            sorted.sort_by(f64::total_cmp);
            RECORDS as f64 / sorted[sorted.len() / 2] / 1e6
        };
        println!(
            "{:<28} raw {:6.2} M rec/s   klog {:6.2} M rec/s   ratio {ratio:.2} ({:.2}..{:.2})   floor {floor}",
            self.name,
            per_second(&self.raw),
            per_second(&self.klog),
            ratios[0],
            ratios[ratios.len() - 1],
        );
        ratio >= floor
    }
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
    let ready = Contest::run("append, ready batches", raw_append, || {
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
    let built = Contest::run("build and append", raw_append, || {
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
    let scan = Contest::run("scan, every record decoded", raw_scan, || {
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
    });
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
    let fetch = Contest::run("fetch, 1 MiB a call", raw_fetch, || {
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
    let met = [
        ready.report(FLOOR),
        built.report(FLOOR),
        scan.report(FLOOR),
        fetch.report(FLOOR),
    ];
    if met.contains(&false) {
        eprintln!("a ratio is below its floor");
        std::process::exit(1);
    }
}
