//! The records that all contestants write: a hundred, each with a key of 14 bytes and a value of 100 like those of programs, so
//! that codecs find what they find in life.

use std::path::Path;
use std::sync::Arc;

use klog::config::LogConfig;
use klog::format::builder::{BatchBuilder, BatchOptions};
use klog::io::{RealFs, SystemClock};
use klog::log::{AppendOptions, DirHealth, HighWatermark, LoadOptions, Log, LogPlace, Shutdown};
use klog::types::{Offset, TimestampMs, TopicPartition};

/// Records of a batch.
pub(crate) const EACH: u64 = 100;
/// Of the first record; each other is a millisecond later.
pub(crate) const TIME: i64 = 1_700_000_000_000;

pub(crate) struct Data {
    records: Vec<([u8; 14], [u8; 100])>,
}

impl Data {
    pub(crate) fn new() -> Self {
        let words = ["view", "click", "order", "cancel", "search"];
        let mut state = 1_u64;
        let mut random = |below: u64| {
            state = next(state);
            (state >> 33) % below
        };
        let record = |n: u64| {
            let value = format!(
                r#"{{"id":{:010},"user":"user-{:06}","action":"{}","item":{:08},"price":{:05},"ok":true,"note":"{:>40}"#,
                random(1 << 32),
                random(1_000_000),
                words[random(5) as usize],
                random(100_000_000),
                random(100_000),
                ""
            );
            let mut record = ([0; 14], [0; 100]);
            record.0.copy_from_slice(format!("key-{n:010}").as_bytes());
            record.1.copy_from_slice(&value.as_bytes()[..100]);
            record
        };
        Self {
            records: (0..EACH).map(record).collect(),
        }
    }

    /// Keys and values.
    pub(crate) fn records(&self) -> &[([u8; 14], [u8; 100])] {
        &self.records
    }

    /// For the JVM: keys and values one after the other.
    pub(crate) fn write(&self, path: &Path) {
        let mut all = Vec::new();
        for (key, value) in &self.records {
            all.extend_from_slice(key);
            all.extend_from_slice(value);
        }
        std::fs::write(path, all).unwrap();
    }

    /// So many records from that one on; the first has this time.
    pub(crate) fn fill(&self, builder: &mut BatchBuilder, from: u64, count: u64, time: i64) {
        builder.clear();
        let chosen = &self.records[from as usize..(from + count) as usize];
        for (n, (key, value)) in chosen.iter().enumerate() {
            let time = TimestampMs(time + n as i64);
            builder
                .push(time, Some(key), Some(value), [].into_iter())
                .unwrap();
        }
    }

    /// A batch of the first so many records.
    pub(crate) fn batch(&self, count: u64, options: &BatchOptions) -> Vec<u8> {
        let mut builder = BatchBuilder::new();
        self.fill(&mut builder, 0, count, TIME);
        builder.finish(options).unwrap().to_vec()
    }

    /// A log with so many batches whose times are a millisecond apart, closed in order, in `dir`/t-0.
    pub(crate) fn write_log(&self, dir: &Path, batches: u64, options: &AppendOptions) {
        let log = open_log(&dir.join("t-0"), LogConfig::default(), Shutdown::Unclean);
        let mut builder = BatchBuilder::new();
        for n in 0..batches {
            self.fill(&mut builder, 0, EACH, TIME + (n * EACH) as i64);
            log.append(&mut builder, options).unwrap();
        }
        log.close().unwrap();
    }
}

/// Opens or makes a log outside of a manager.
pub(crate) fn open_log(dir: &Path, config: LogConfig, shutdown: Shutdown) -> Arc<Log> {
    std::fs::create_dir_all(dir).unwrap();
    let place = LogPlace {
        partition: TopicPartition::new("t", 0),
        dir: dir.to_path_buf(),
        fs: Arc::new(RealFs),
        clock: Arc::new(SystemClock),
        health: Arc::new(DirHealth::new(dir.to_path_buf())),
    };
    let options = LoadOptions {
        shutdown,
        recovery_point: match shutdown {
            Shutdown::Clean => Offset(i64::MAX),
            Shutdown::Unclean => Offset::ZERO,
        },
        log_start: Offset::ZERO,
        config: Arc::new(config),
        producer_expiration_ms: 86_400_000,
        high_watermark: HighWatermark::FollowsEnd,
        progress: None,
        spare_threads: Arc::default(),
        new_name: None,
    };
    Arc::new(Log::open(place, &options).unwrap().0)
}

/// The same order for all contestants: a linear congruential generator.
pub(crate) fn next(state: u64) -> u64 {
    state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407)
}
