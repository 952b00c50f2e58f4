//! Rows of compaction: one pass over a log whose every segment but the last is dirty.

use std::path::PathBuf;

use klog::cleaner::examine::{Active, examine};
use klog::cleaner::pass::{PassOptions, Surroundings, clean};
use klog::cleaner::watch::Watch;
use klog::format::codec::Codec;
use klog::types::TimestampMs;

use super::clock::Worked;
use super::compacted::{Filling, Keys, MAP_BYTES, SEGMENT_BYTES, copy, open, write_log};
use super::kafka::number;
use super::rounds::{Contest, Floor, KafkaWork, M_RECORDS, Work};
use super::{Bench, in_memory};

/// A pass may take so much memory beside its map.
const BUFFERS_MIB: u64 = 32;

/// The most memory that the process had since the last call, in MiB.
fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = peak.unwrap().trim().trim_end_matches(" kB");
    let kib: u64 = kib.parse().unwrap();
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    kib / 1024
}

fn by_klog(source: PathBuf, dir: PathBuf, records: u64) -> Work<'static> {
    Box::new(move || {
        copy(&source, &dir);
        let (manager, log) = open(&dir);
        peak_mib();
        let before = peak_mib();
        let now = TimestampMs(1_800_000_000_000);
        let watch = Watch::default();
        let options = PassOptions::new(now, MAP_BYTES);
        let began = Worked::start();
        let examined = examine(&log, None, Active::AsItIs, now).unwrap();
        let cleaned = clean(&log, &examined, &options, Surroundings::new(&watch)).unwrap();
        let seconds = began.seconds();
        let taken = peak_mib().saturating_sub(before);
        assert!(taken <= MAP_BYTES / (1 << 20) + BUFFERS_MIB, "{taken} MiB");
        assert_eq!(cleaned.stats.map_keys, cleaned.stats.kept_records());
        manager.close().unwrap();
        records as f64 / seconds
    })
}

fn by_kafka(source: PathBuf, dir: PathBuf, records: u64) -> KafkaWork<'static> {
    Box::new(move |kafka| {
        copy(&source, &dir);
        let fields = [
            "clean",
            dir.to_str().unwrap(),
            &MAP_BYTES.to_string(),
            &SEGMENT_BYTES.to_string(),
        ];
        let answer = kafka.ask(&fields);
        assert_eq!(number(&answer, "end") as u64, records, "{answer}");
        records as f64 / (number(&answer, "ns") / 1e9)
    })
}

fn row(bench: &mut Bench, name: &'static str, filling: Filling, floor: Floor) {
    if !bench.wants(name) {
        return;
    }
    // In memory where there is such a place: what is compared is the cleaner, not the fsync of what it leaves.
    let root = in_memory().unwrap_or_else(|| tempfile::tempdir_in(bench.root.path()).unwrap());
    let source = root.path().join("source");
    let values: Vec<[u8; 100]> = match filling.codec {
        Codec::None => vec![[b'v'; 100]],
        _ => bench
            .data
            .records()
            .iter()
            .map(|(_, value)| *value)
            .collect(),
    };
    write_log(&source, filling, &values);
    bench.run_slow(Contest {
        name,
        includes: "one pass, one thread, a map of 128 MiB, segments of 64 MiB, on a file system in memory; half a million records where no number is told, 50 k keys where none are",
        unit: M_RECORDS,
        klog: by_klog(source.clone(), root.path().join("klog"), filling.records),
        kafka: Some((
            by_kafka(source, root.path().join("kafka"), filling.records),
            floor,
        )),
        other: None,
        limit: None,
    });
}

/// The row of the design.
pub(crate) fn rows(bench: &mut Bench) {
    let filling = Filling {
        records: bench.size.cleaned,
        keys: Keys::Of(bench.size.cleaned / 10),
        codec: Codec::None,
    };
    row(bench, "clean 2 M records, 200 k keys", filling, Some(4.0));
}

/// The codecs, and other keys.
pub(crate) fn more_rows(bench: &mut Bench) {
    let records = bench.size.cleaned / 4;
    let with_codec = |codec| (Keys::Of(records / 10), codec);
    for (name, (keys, codec)) in [
        ("clean, lz4", with_codec(Codec::Lz4)),
        ("clean, zstd", with_codec(Codec::Zstd)),
        ("clean, snappy", with_codec(Codec::Snappy)),
        ("clean, gzip", with_codec(Codec::Gzip)),
        ("clean, 100 keys", (Keys::Of(100), Codec::None)),
        (
            "clean, as many keys as records",
            (Keys::Of(records), Codec::None),
        ),
        (
            "clean, nothing to remove",
            (Keys::AllDifferent, Codec::None),
        ),
    ] {
        let filling = Filling {
            records,
            keys,
            codec,
        };
        row(bench, name, filling, None);
    }
}
