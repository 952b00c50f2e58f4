//! Directories to be opened: many partitions after a clean stop, and large logs that are to be recovered.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use klog::config::{ConfigSet, Resolved};
use klog::format::builder::BatchBuilder;
use klog::log::AppendOptions;
use klog::manager::{CreateOptions, Manager, ManagerOptions};
use klog::types::{TimestampMs, TopicPartition};

fn config() -> Arc<Resolved> {
    let mut set = ConfigSet::broker();
    set.set("log.segment.bytes", "134217728").unwrap();
    Arc::new(set.resolve().unwrap())
}

/// How a directory is opened here.
pub(crate) fn options(dir: &Path) -> ManagerOptions {
    ManagerOptions::new(vec![dir.to_path_buf()], config())
}

pub(crate) fn open(dir: &Path) -> Manager {
    Manager::open(options(dir)).unwrap()
}

/// A directory of so many partitions, each with a batch, closed in order.
pub(crate) fn many(dir: &Path, partitions: i32) {
    fs::create_dir_all(dir).unwrap();
    let manager = open(dir);
    let mut builder = BatchBuilder::new();
    for n in 0..partitions {
        let partition = TopicPartition::new(format!("topic-{}", n / 100), n % 100);
        let options = CreateOptions {
            topic_id: Some(klog::format::uuid::Uuid::random().unwrap()),
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

/// A directory of so many logs, named t, with so many bytes together, in segments of 128 MB.
pub(crate) fn large(dir: &Path, logs: i32, bytes: u64) {
    fs::create_dir_all(dir).unwrap();
    let manager = open(dir);
    let mut builder = BatchBuilder::new();
    for n in 0..logs {
        let partition = TopicPartition::new("t", n);
        let log = manager
            .get_or_create_log(&partition, &CreateOptions::default())
            .unwrap();
        while log.segments().iter().map(|s| s.size_bytes()).sum::<u64>()
            < bytes / u64::from(logs.cast_unsigned())
        {
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
    }
    manager.close().unwrap();
}

/// The directories of the logs.
pub(crate) fn log_dirs(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.is_dir()).collect()
}

/// Leaves the batches only.
pub(crate) fn forget(dir: &Path) {
    for file in [".kafka_cleanshutdown", "recovery-point-offset-checkpoint"] {
        let _ = fs::remove_file(dir.join(file));
    }
    for entry in log_dirs(dir)
        .iter()
        .flat_map(|dir| fs::read_dir(dir).unwrap())
    {
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
