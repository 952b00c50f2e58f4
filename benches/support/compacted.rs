//! The log that both cleaners clean: 2 million records of 114 bytes with 200 thousand keys, 100 a batch.

use std::path::Path;
use std::sync::Arc;

use klog::config::ConfigSet;
use klog::format::builder::BatchBuilder;
use klog::log::{AppendOptions, Log};
use klog::manager::{CreateOptions, Manager, ManagerOptions};
use klog::types::{TimestampMs, TopicPartition};

pub(crate) const RECORDS: u64 = 2_000_000;
pub(crate) const KEYS: u64 = 200_000;
const BATCH_RECORDS: u64 = 100;
pub(crate) const SEGMENT_BYTES: u64 = 67_108_864;
/// log.cleaner.dedupe.buffer.size.
pub(crate) const MAP_BYTES: u64 = 134_217_728;

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

/// The log that is cleaned: keys in no order, each ten times or so.
pub(crate) fn write_log(dir: &Path) {
    std::fs::create_dir_all(dir).unwrap();
    let (manager, log) = open(dir);
    let mut builder = BatchBuilder::new();
    let mut state = 1u64;
    for batch in 0..RECORDS / BATCH_RECORDS {
        builder.clear();
        for _ in 0..BATCH_RECORDS {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let key = format!("key-{:010}", (state >> 33) % KEYS);
            let time = TimestampMs(1_700_000_000_000 + batch.cast_signed());
            builder
                .push(
                    time,
                    Some(key.as_bytes()),
                    Some(&[b'v'; 100]),
                    [].into_iter(),
                )
                .unwrap();
        }
        log.append(&mut builder, &AppendOptions::default()).unwrap();
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
