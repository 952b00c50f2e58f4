//! Rows of how long a record takes from the append call into the hands of a reader that waits at the end of the log.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use klog::format::builder::{BatchBuilder, BatchOptions};
use klog::log::{AppendOptions, CursorOptions};
use klog::service::{Patience, next_records_waiting};
use klog::types::Offset;

use super::append::empty_log;
use super::data::{Data, EACH, TIME};
use super::kafka::{Kafka, number};
use super::rounds::{RAW, Row, cost};
use super::{Bench, fresh};

/// From one append to the next.
const PERIOD: Duration = Duration::from_micros(500);
/// Of how many of a thousand records the time is told.
const SHARES: [(&str, usize); 3] = [
    ("append to tail read, p50", 500),
    ("append to tail read, p99", 990),
    ("append to tail read, p99.9", 999),
];
const INCLUDES: &str = "a record each 0.5 ms, from the call of append until a reader has it that waits; Kafka: the appender wakes the reader, \
     which reads and decodes; raw: pwrite, condition variable, pread";

/// When each record was handed to append.
struct Sent {
    began: Instant,
    at_ns: Vec<AtomicU64>,
}

impl Sent {
    fn none_of(records: u64) -> Self {
        Self {
            began: Instant::now(),
            at_ns: (0..records).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    fn now_ns(&self) -> u64 {
        self.began.elapsed().as_nanos() as u64
    }

    /// Calls `append` with each number at its time.
    fn at_a_steady_rate(&self, mut append: impl FnMut(u64)) {
        let began = Instant::now();
        for (n, at_ns) in self.at_ns.iter().enumerate() {
            let due = PERIOD * n as u32;
            thread::sleep(due.saturating_sub(began.elapsed()));
            at_ns.store(self.now_ns(), Ordering::Release);
            append(n as u64);
        }
    }

    fn since(&self, n: u64) -> u64 {
        self.now_ns() - self.at_ns[n as usize].load(Ordering::Acquire)
    }
}

/// The times of the shares, in ns.
fn shares(mut times: Vec<u64>) -> [f64; 3] {
    times.sort_unstable();
    SHARES.map(|(_, thousandths)| {
        times[(times.len() * thousandths / 1000).min(times.len() - 1)] as f64
    })
}

fn by_klog(data: &Data, dir: &Path, records: u64) -> [f64; 3] {
    let log = empty_log(dir);
    let sent = Sent::none_of(records);
    let times = thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut cursor = log.cursor(Offset::ZERO, CursorOptions::default());
            let mut times = Vec::new();
            while (times.len() as u64) < records {
                let found = next_records_waiting(&mut cursor, 1000, 0, &Patience::ENDLESS).unwrap();
                for record in found.iter() {
                    std::hint::black_box((record.key, record.value));
                    times.push(sent.since(record.offset.0.cast_unsigned()));
                }
            }
            times
        });
        let mut builder = BatchBuilder::new();
        sent.at_a_steady_rate(|n| {
            data.fill(&mut builder, n % EACH, 1, TIME);
            log.append(&mut builder, &AppendOptions::default()).unwrap();
        });
        reader.join().unwrap()
    });
    log.close().unwrap();
    shares(times)
}

fn by_kafka(kafka: &mut Kafka, dir: &Path, records: u64) -> [f64; 3] {
    let fields = [records.to_string(), PERIOD.as_nanos().to_string()];
    let answer = kafka.ask_with_records("tail", &fresh(dir), &[&fields[0], &fields[1]]);
    ["p500", "p990", "p999"].map(|name| number(&answer, name))
}

/// What the machine takes for it.
fn raw(path: &PathBuf, batch: &[u8], records: u64) -> [f64; 3] {
    let _ = std::fs::remove_file(path);
    let file = File::options()
        .create(true)
        .truncate(true)
        .read(true)
        .write(true)
        .open(path)
        .unwrap();
    let sent = Sent::none_of(records);
    let (written, more) = (Mutex::new(0), Condvar::new());
    let times = thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut buffer = vec![0; batch.len()];
            (0..records)
                .map(|n| {
                    let guard = written.lock().unwrap();
                    drop(more.wait_while(guard, |written| *written <= n).unwrap());
                    file.read_exact_at(&mut buffer, n * batch.len() as u64)
                        .unwrap();
                    sent.since(n)
                })
                .collect()
        });
        sent.at_a_steady_rate(|n| {
            file.write_all_at(batch, n * batch.len() as u64).unwrap();
            *written.lock().unwrap() = n + 1;
            more.notify_one();
        });
        reader.join().unwrap()
    });
    shares(times)
}

pub(crate) fn rows(bench: &mut Bench) {
    if !SHARES.iter().any(|(name, _)| bench.wants(name)) {
        return;
    }
    let data = Data::new();
    let batch = data.batch(1, &BatchOptions::default());
    let records = bench.size.tail_records;
    let (klog, kafka, file) = (bench.path("klog"), bench.path("kafka"), bench.path("raw"));
    let (mut of_klog, mut of_kafka, mut of_raw) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=bench.size.rounds_of_slow {
        let by_raw = raw(&file, &batch, records);
        let by_kafka = bench
            .kafka
            .as_mut()
            .map(|asked| by_kafka(asked, &kafka, records));
        let by_klog = by_klog(&data, &klog, records);
        if round > 0 {
            of_raw.push(by_raw);
            of_kafka.extend(by_kafka);
            of_klog.push(by_klog);
        }
    }
    for (n, (name, _)) in SHARES.into_iter().enumerate() {
        let nth = |rounds: &[[f64; 3]]| rounds.iter().map(|shares| shares[n]).collect();
        bench.add(Row::new(
            (name, INCLUDES, cost("us", 1000.0)),
            nth(&of_klog),
            Some((nth(&of_kafka), None)),
            Some((RAW, nth(&of_raw), None)),
        ));
    }
}
