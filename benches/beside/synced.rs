//! Rows of appends that are on the disk when they return.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use klog::format::builder::{BatchBuilder, BatchOptions};
use klog::log::{AppendOptions, WriteDurability};

use super::append::empty_log;
use super::data::{Data, EACH, TIME};
use super::rounds::{A_SECOND, Contest, KafkaWork, RAW, Work};
use super::threads::in_threads;
use super::{Bench, fresh};

const THREADS: u64 = 16;

fn by_klog(data: &Data, dir: PathBuf, batches: u64, threads: u64) -> Work<'_> {
    let options = AppendOptions {
        durability: WriteDurability::Synced,
        ..AppendOptions::default()
    };
    Box::new(move || {
        let log = empty_log(&dir);
        let seconds = in_threads(threads, |_| {
            let mut builder = BatchBuilder::new();
            for _ in 0..batches / threads {
                data.fill(&mut builder, 0, EACH, TIME);
                log.append(&mut builder, &options).unwrap();
            }
        });
        (batches / threads * threads) as f64 / seconds
    })
}

fn by_kafka(dir: PathBuf, batches: u64, threads: u64) -> KafkaWork<'static> {
    Box::new(move |kafka| {
        let fields = [batches.to_string(), threads.to_string()];
        let fields = [fields[0].as_str(), fields[1].as_str()];
        batches as f64 / kafka.seconds_with_records("append_synced", &fresh(&dir), &fields)
    })
}

/// Each thread writes at the next place of one file, and syncs it.
fn raw(path: PathBuf, batch: Vec<u8>, batches: u64, threads: u64) -> Work<'static> {
    Box::new(move || {
        let _ = std::fs::remove_file(&path);
        let file = File::create(&path).unwrap();
        let end = AtomicU64::new(0);
        let seconds = in_threads(threads, |_| {
            for _ in 0..batches / threads {
                let at = end.fetch_add(batch.len() as u64, Ordering::Relaxed);
                file.write_all_at(&batch, at).unwrap();
                file.sync_data().unwrap();
            }
        });
        (batches / threads * threads) as f64 / seconds
    })
}

/// The rows of the design.
pub(crate) fn rows(bench: &mut Bench) {
    let data = Data::new();
    let batch = data.batch(EACH, &BatchOptions::default());
    let batches = bench.size.synced;
    let (klog, kafka) = (bench.path("klog"), bench.path("kafka"));
    bench.run(Contest {
        name: "append + fsync, 1 thread",
        includes: "batches of 100, each on the disk before the next; Kafka: flush.messages=1; raw: pwrite and fdatasync",
        unit: A_SECOND,
        klog: by_klog(&data, klog.clone(), batches, 1),
        kafka: Some((by_kafka(kafka.clone(), batches, 1), None)),
        other: Some((
            RAW,
            raw(bench.path("raw"), batch, batches, 1),
            Some(0.9),
        )),
        limit: None,
    });
    bench.run(Contest {
        name: "append + fsync, 16 threads",
        includes: "the same from 16 threads to one log, beside klog with one",
        unit: A_SECOND,
        klog: by_klog(&data, klog.clone(), batches * THREADS / 4, THREADS),
        kafka: Some((by_kafka(kafka, batches, THREADS), None)),
        other: Some(("1 thread", by_klog(&data, klog, batches, 1), Some(6.0))),
        limit: None,
    });
}

/// From 2 to 64 threads, beside as many that write and sync a file.
pub(crate) fn more_rows(bench: &mut Bench) {
    let data = Data::new();
    let batch = data.batch(EACH, &BatchOptions::default());
    for (threads, name) in [
        (2, "append + fsync, 2 threads"),
        (4, "append + fsync, 4 threads"),
        (8, "append + fsync, 8 threads"),
        (16, "append + fsync, 16 threads, beside raw"),
        (32, "append + fsync, 32 threads"),
        (64, "append + fsync, 64 threads"),
    ] {
        let batches = (bench.size.synced / 2).max(threads * 8);
        bench.run_slow(Contest {
            name,
            includes: "the same to one log; raw: as many threads that write to one file, and each its own fdatasync",
            unit: A_SECOND,
            klog: by_klog(&data, bench.path("klog"), batches * threads.min(4) / 2, threads),
            kafka: None,
            other: Some((
                RAW,
                raw(bench.path("raw"), batch.clone(), batches, threads),
                None,
            )),
            limit: None,
        });
    }
}
