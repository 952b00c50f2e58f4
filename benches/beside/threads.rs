//! Rows of several threads that append at once: to one log, and each to a log of its own.

use std::fs::File;
use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Instant;

use klog::config::LogConfig;
use klog::format::builder::{BatchBuilder, BatchOptions};
use klog::log::{AppendOptions, Log, Shutdown};

use super::append::CHECKED_FROM;
use super::data::{Data, EACH, TIME, open_log};
use super::rounds::{Contest, KafkaWork, M_RECORDS, RAW, Work};
use super::{Bench, fresh};

/// Runs `work` in so many threads at once, with their numbers; the seconds from when the first begins until the last is done.
pub(crate) fn in_threads(threads: u64, work: impl Fn(u64) + Sync) -> f64 {
    let ready = Barrier::new(threads as usize);
    let times: Vec<(Instant, Instant)> = thread::scope(|scope| {
        let (ready, work) = (&ready, &work);
        let run = |n| {
            move || {
                ready.wait();
                let began = Instant::now();
                work(n);
                (began, Instant::now())
            }
        };
        let all: Vec<_> = (0..threads).map(|n| scope.spawn(run(n))).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let began = times.iter().map(|(began, _)| *began).min().unwrap();
    let ended = times.iter().map(|(_, ended)| *ended).max().unwrap();
    ended.duration_since(began).as_secs_f64()
}

/// So many threads append so many batches to so many logs.
#[derive(Clone, Copy)]
struct Together {
    batches: u64,
    threads: u64,
    logs: u64,
}

impl Together {
    fn by_klog(self, data: &Data, dir: PathBuf) -> Work<'_> {
        Box::new(move || {
            let dir = fresh(&dir);
            let logs: Vec<Arc<Log>> = (0..self.logs).map(|n| log(&dir, n)).collect();
            let seconds = in_threads(self.threads, |n| {
                let log = &logs[(n % self.logs) as usize];
                let mut builder = BatchBuilder::new();
                for _ in 0..self.batches / self.threads {
                    data.fill(&mut builder, 0, EACH, TIME);
                    black_box(log.append(&mut builder, &AppendOptions::default()).unwrap());
                }
            });
            self.records() / seconds
        })
    }

    fn by_kafka(self, dir: PathBuf) -> KafkaWork<'static> {
        Box::new(move |kafka| {
            let fields = [self.batches, EACH, self.threads, self.logs].map(|n| n.to_string());
            let fields = [&fields[0], &fields[1], "none", &fields[2], &fields[3]];
            let seconds = kafka.seconds_with_records("append_built", &fresh(&dir), &fields);
            self.records() / seconds
        })
    }

    /// Each thread takes the next place in its file; checksum and pwrite.
    fn raw(self, dir: PathBuf, batch: Vec<u8>) -> Work<'static> {
        Box::new(move || {
            let dir = fresh(&dir);
            let file = |n| File::create(dir.join(format!("{n}"))).unwrap();
            let files: Vec<(File, AtomicU64)> = (0..self.logs)
                .map(|n| (file(n), AtomicU64::new(0)))
                .collect();
            let seconds = in_threads(self.threads, |n| {
                let (file, end) = &files[(n % self.logs) as usize];
                for _ in 0..self.batches / self.threads {
                    black_box(crc32c::crc32c(&batch[CHECKED_FROM..]));
                    let at = end.fetch_add(batch.len() as u64, Ordering::Relaxed);
                    file.write_all_at(&batch, at).unwrap();
                }
            });
            self.records() / seconds
        })
    }

    fn records(self) -> f64 {
        (self.batches / self.threads * self.threads * EACH) as f64
    }
}

fn log(dir: &Path, n: u64) -> Arc<Log> {
    let dir = dir.join(format!("t-{n}"));
    open_log(&dir, LogConfig::default(), Shutdown::Unclean)
}

pub(crate) fn rows(bench: &mut Bench) {
    let data = Data::new();
    let batch = data.batch(EACH, &BatchOptions::default());
    for (threads, logs, name) in [
        (1, 1, "build and append, 1 thread"),
        (2, 1, "build and append, 2 threads"),
        (4, 1, "build and append, 4 threads"),
        (2, 2, "build and append, 2 threads, a log each"),
        (4, 4, "build and append, 4 threads, a log each"),
    ] {
        let work = Together {
            batches: bench.size.batches,
            threads,
            logs,
        };
        bench.run(Contest {
            name,
            includes: "100 a batch, all to one log or each thread to its own, time on the wall; raw: CRC and pwrite, to as many files",
            unit: M_RECORDS,
            klog: work.by_klog(&data, bench.path("klog")),
            kafka: Some((work.by_kafka(bench.path("kafka")), None)),
            other: Some((RAW, work.raw(bench.path("raw-files"), batch.clone()), None)),
            limit: None,
        });
    }
}
