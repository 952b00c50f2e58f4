//! The row of compaction: one pass over 2 million records with 200 thousand keys.

use std::path::{Path, PathBuf};

use klog::cleaner::examine::{Active, examine};
use klog::cleaner::pass::{PassOptions, Surroundings, clean};
use klog::cleaner::watch::Watch;
use klog::types::TimestampMs;

use super::clock::Worked;
use super::compacted::{MAP_BYTES, RECORDS, SEGMENT_BYTES, copy, open, write_log};
use super::kafka::number;
use super::rounds::{Contest, KafkaWork, M_RECORDS, Work};
use super::{Bench, fresh};

fn by_klog(source: PathBuf, dir: PathBuf) -> Work<'static> {
    Box::new(move || {
        copy(&source, &dir);
        let (manager, log) = open(&dir);
        let now = TimestampMs(1_800_000_000_000);
        let watch = Watch::default();
        let options = PassOptions::new(now, MAP_BYTES);
        let began = Worked::start();
        let examined = examine(&log, None, Active::AsItIs, now).unwrap();
        let cleaned = clean(&log, &examined, &options, Surroundings::new(&watch)).unwrap();
        let seconds = began.seconds();
        assert_eq!(cleaned.stats.map_keys, cleaned.stats.kept_records());
        manager.close().unwrap();
        RECORDS as f64 / seconds
    })
}

fn by_kafka(source: PathBuf, dir: PathBuf) -> KafkaWork<'static> {
    Box::new(move |kafka| {
        copy(&source, &dir);
        let fields = [
            "clean",
            dir.to_str().unwrap(),
            &MAP_BYTES.to_string(),
            &SEGMENT_BYTES.to_string(),
        ];
        let answer = kafka.ask(&fields);
        assert_eq!(number(&answer, "end") as u64, RECORDS, "{answer}");
        RECORDS as f64 / (number(&answer, "ns") / 1e9)
    })
}

pub(crate) fn rows(bench: &mut Bench) {
    let name = "clean 2 M records, 200 k keys";
    if !bench.wants(name) {
        return;
    }
    // In memory where there is such a place: what is compared is the cleaner, not the fsync of what it leaves.
    let memory = Path::new("/dev/shm");
    let place = if memory.is_dir() {
        memory
    } else {
        bench.root.path()
    };
    let root = tempfile::tempdir_in(place).unwrap();
    let source = root.path().join("source");
    write_log(&fresh(&source));
    bench.run_slow(Contest {
        name,
        includes: "one pass, one thread, a map of 128 MiB, segments of 64 MiB, on a file system in memory",
        unit: M_RECORDS,
        klog: by_klog(source.clone(), root.path().join("klog")),
        kafka: Some((by_kafka(source, root.path().join("kafka")), Some(4.0))),
        other: None,
    });
}
