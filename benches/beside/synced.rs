//! Rows of appends that are on the disk when they return.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::Instant;

use klog::format::builder::{BatchBuilder, BatchOptions};
use klog::log::{AppendOptions, WriteDurability};

use super::append::{empty_log, in_threads};
use super::data::{Data, EACH, TIME};
use super::rounds::{A_SECOND, Contest, KafkaWork, Work};
use super::{Bench, fresh};

const BATCHES: u64 = 300;
const THREADS: u64 = 16;

fn by_klog(data: &Data, dir: PathBuf, batches: u64, threads: u64) -> Work<'_> {
    let options = AppendOptions {
        durability: WriteDurability::Synced,
        ..AppendOptions::default()
    };
    Box::new(move || {
        let log = empty_log(&dir);
        let seconds = in_threads(threads, || {
            let mut builder = BatchBuilder::new();
            for _ in 0..batches / threads {
                data.fill(&mut builder, 0, EACH, TIME);
                log.append(&mut builder, &options).unwrap();
            }
        });
        batches as f64 / seconds
    })
}

fn by_kafka(dir: PathBuf, batches: u64, threads: u64) -> KafkaWork<'static> {
    Box::new(move |kafka| {
        let fields = [batches.to_string(), threads.to_string()];
        let fields = [fields[0].as_str(), fields[1].as_str()];
        batches as f64 / kafka.seconds_with_records("append_synced", &fresh(&dir), &fields)
    })
}

pub(crate) fn rows(bench: &mut Bench) {
    let data = Data::new();
    let batch = data.batch(EACH, &BatchOptions::default());
    let file = bench.path("raw");
    let (klog, kafka) = (bench.path("klog"), bench.path("kafka"));
    bench.run(Contest {
        name: "append + fsync, 1 thread",
        includes: "batches of 100, each on the disk before the next; Kafka: flush.messages=1; raw: pwrite and fdatasync",
        unit: A_SECOND,
        klog: by_klog(&data, klog.clone(), BATCHES, 1),
        kafka: Some((by_kafka(kafka.clone(), BATCHES, 1), None)),
        other: Some((
            "raw",
            Box::new(move || {
                let _ = std::fs::remove_file(&file);
                let file = File::create(&file).unwrap();
                let began = Instant::now();
                for n in 0..BATCHES {
                    file.write_all_at(&batch, n * batch.len() as u64).unwrap();
                    file.sync_data().unwrap();
                }
                BATCHES as f64 / began.elapsed().as_secs_f64()
            }),
            Some(0.9),
        )),
    });
    bench.run(Contest {
        name: "append + fsync, 16 threads",
        includes: "the same from 16 threads to one log, beside klog with one",
        unit: A_SECOND,
        klog: by_klog(&data, klog.clone(), BATCHES * THREADS / 4, THREADS),
        kafka: Some((by_kafka(kafka, BATCHES, THREADS), None)),
        other: Some(("1 thread", by_klog(&data, klog, BATCHES, 1), Some(6.0))),
    });
}
