//! Logs that both cleaners clean: records of 114 bytes, 100 a batch.

use std::path::Path;
use std::sync::Arc;

use klog::config::ConfigSet;
use klog::format::builder::BatchBuilder;
use klog::format::codec::Codec;
use klog::log::{AppendOptions, Log};
use klog::manager::{CreateOptions, Manager, ManagerOptions};
use klog::types::{TimestampMs, TopicPartition};

const BATCH_RECORDS: u64 = 100;
pub(crate) const SEGMENT_BYTES: u64 = 67_108_864;
/// log.cleaner.dedupe.buffer.size.
pub(crate) const MAP_BYTES: u64 = 134_217_728;

/// Which keys the records have.
#[derive(Clone, Copy)]
pub(crate) enum Keys {
    /// One of so many each, in no order.
    Of(u64),
    /// Each another one: nothing can be removed.
    AllDifferent,
}

/// What is in a log.
#[derive(Clone, Copy)]
pub(crate) struct Filling {
    pub(crate) records: u64,
    pub(crate) keys: Keys,
    pub(crate) codec: Codec,
}

pub(crate) fn open(dir: &Path) -> (Manager, Arc<Log>) {
    let mut set = ConfigSet::broker();
    set.set_topic("t", "cleanup.policy", "compact").unwrap();
    set.set_topic("t", "segment.bytes", &SEGMENT_BYTES.to_string())
        .unwrap();
    let config = Arc::new(set.resolve().unwrap());
    let manager = Manager::open(ManagerOptions::new(vec![dir.to_path_buf()], config)).unwrap();
    let partition = TopicPartition::new("t", 0);
    let log = manager.get_or_create_log(&partition, &CreateOptions::default());
    (manager, log.unwrap())
}

/// Writes a log; all of it can be cleaned.
pub(crate) fn write_log(dir: &Path, filling: Filling, values: &[[u8; 100]]) {
    std::fs::create_dir_all(dir).unwrap();
    let (manager, log) = open(dir);
    let options = AppendOptions {
        codec: Some(filling.codec),
        ..AppendOptions::default()
    };
    let mut builder = BatchBuilder::new();
    let mut state = 1u64;
    for n in 0..filling.records {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let key = match filling.keys {
            Keys::Of(keys) => (state >> 33) % keys,
            Keys::AllDifferent => n,
        };
        let key = format!("key-{key:010}");
        let time = TimestampMs(1_700_000_000_000 + (n / BATCH_RECORDS).cast_signed());
        let value = &values[n as usize % values.len()];
        builder
            .push(time, Some(key.as_bytes()), Some(value), [].into_iter())
            .unwrap();
        if (n + 1) % BATCH_RECORDS == 0 {
            log.append(&mut builder, &options).unwrap();
            builder.clear();
        }
    }
    log.roll().unwrap();
    manager.close().unwrap();
}

pub(crate) fn copy(from: &Path, to: &Path) {
    let _ = std::fs::remove_dir_all(to);
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            std::fs::copy(&path, &target).unwrap();
        }
    }
}
