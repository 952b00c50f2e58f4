//! Rows of recovering 500 MB, one log in four segments or four logs, of which only the records are left.

use std::fs::{self, File};
use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use klog::manager::Manager;

use super::directories::{forget, large, log_dirs, options};
use super::rounds::{Contest, Floor, GB, KafkaWork, RAW, Work};
use super::{Bench, made_for};

fn by_klog(dir: PathBuf, threads: usize) -> Work<'static> {
    Box::new(move || {
        forget(&dir);
        let mut options = options(&dir);
        options.recovery_threads = Some(threads);
        let began = Instant::now();
        let manager = Manager::open(options).unwrap();
        let seconds = began.elapsed().as_secs_f64();
        assert!(manager.open_counts().segments_recovered >= 1);
        manager.close().unwrap();
        log_bytes(&dir) as f64 / seconds
    })
}

fn by_kafka(dir: PathBuf, threads: usize) -> KafkaWork<'static> {
    Box::new(move |kafka| {
        forget(&dir);
        let seconds = kafka.seconds("load", &dir, &[&threads.to_string()]);
        log_bytes(&dir) as f64 / seconds
    })
}

fn log_files(dir: &Path) -> Vec<PathBuf> {
    let dirs = log_dirs(dir);
    let entries = dirs.iter().flat_map(|dir| fs::read_dir(dir).unwrap());
    entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "log"))
        .collect()
}

fn log_bytes(dir: &Path) -> u64 {
    let files = log_files(dir);
    files
        .iter()
        .map(|file| fs::metadata(file).unwrap().len())
        .sum()
}

fn raw(dir: PathBuf) -> Work<'static> {
    let mut buffer = vec![0; 256 * 1024];
    Box::new(move || {
        let began = Instant::now();
        for path in log_files(&dir) {
            let file = File::open(path).unwrap();
            let mut position = 0;
            loop {
                let read = file.read_at(&mut buffer, position).unwrap();
                if read == 0 {
                    break;
                }
                black_box(crc32c::crc32c(&buffer[..read]));
                position += read as u64;
            }
        }
        log_bytes(&dir) as f64 / began.elapsed().as_secs_f64()
    })
}

fn row(bench: &mut Bench, name: &'static str, logs: i32, threads: usize, floors: [Floor; 2]) {
    if !bench.wants(name) {
        return;
    }
    let dirs = ["klog", "kafka"].map(|who| bench.path(&format!("large-{who}")));
    if !dirs[0].is_dir() || log_dirs(&dirs[0]).len() != logs as usize {
        let bytes = bench.size.recovered_bytes;
        made_for([&dirs[0], &dirs[1]], |dir| large(dir, logs, bytes));
    }
    let [klog, kafka] = dirs;
    bench.run(Contest {
        name,
        includes: "opening a directory of 500 MB, one log unless the row says more: each CRC checked, indexes written and synced; raw: pread and CRC in one thread",
        unit: GB,
        klog: by_klog(klog.clone(), threads),
        kafka: Some((by_kafka(kafka, threads), floors[0])),
        other: Some((RAW, raw(klog), floors[1])),
        limit: None,
    });
}

/// The row of the design, with the default of num.recovery.threads.per.data.dir.
pub(crate) fn rows(bench: &mut Bench) {
    row(bench, "recovery, no indexes", 1, 2, [Some(3.0), Some(0.6)]);
}

pub(crate) fn more_rows(bench: &mut Bench) {
    row(bench, "recovery, 1 thread", 1, 1, [None, None]);
    row(bench, "recovery, 4 logs, 1 thread", 4, 1, [None, None]);
    row(bench, "recovery, 4 logs, 2 threads", 4, 2, [None, None]);
}
