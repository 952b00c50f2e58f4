//! Rows of reading one log that the page cache holds.

use std::fs::File;
use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use klog::config::LogConfig;
use klog::format::builder::BatchOptions;
use klog::format::codec::Codec;
use klog::log::{AppendOptions, CursorOptions, Log, ReadOptions, Shutdown, TimeTarget};
use klog::types::{Offset, TimestampMs};

use super::clock::Worked;
use super::data::{Data, EACH, TIME, next, open_log};
use super::rounds::{Contest, Floor, GB, K_CALLS, KafkaWork, M_RECORDS, RAW, Work};
use super::{Bench, fresh};

/// The rows of the design; they share a log.
const NAMES: [&str; 4] = [
    "scan, every record decoded",
    "fetch, 1 MiB a call",
    "random read of one batch",
    "offset for a timestamp",
];
const FETCH_BYTES: usize = 1 << 20;

pub(crate) fn open(dir: &Path) -> Arc<Log> {
    open_log(&dir.join("t-0"), LogConfig::default(), Shutdown::Clean)
}

fn log_file(dir: &Path) -> File {
    File::open(dir.join("t-0").join("00000000000000000000.log")).unwrap()
}

/// Reads the file from its begin to its end, so much at a time, and shows it to `look`; the bytes.
fn read_all(file: &File, buffer: &mut [u8], look: impl Fn(&[u8])) -> u64 {
    let mut position = 0;
    loop {
        let read = file.read_at(buffer, position).unwrap();
        if read == 0 {
            return position;
        }
        look(&buffer[..read]);
        position += read as u64;
    }
}

pub(crate) fn scan_by_klog(log: Arc<Log>, records: u64) -> Work<'static> {
    Box::new(move || {
        let mut cursor = log.cursor(Offset::ZERO, CursorOptions::default());
        let mut count = 0;
        let began = Worked::start();
        loop {
            let slice = cursor.next_records(1000).unwrap();
            if slice.is_empty() {
                break;
            }
            for record in slice.iter() {
                black_box((record.offset, record.key, record.value));
                count += 1;
            }
        }
        let seconds = began.seconds();
        assert_eq!(count, records);
        records as f64 / seconds
    })
}

fn fetch_by_klog(log: Arc<Log>) -> Work<'static> {
    let mut buffer = vec![0; FETCH_BYTES];
    Box::new(move || {
        let (mut at, mut bytes) = (Offset::ZERO, 0);
        let began = Worked::start();
        loop {
            let read = log.read(at, &mut buffer, &ReadOptions::default()).unwrap();
            if read.bytes == 0 {
                return bytes as f64 / began.seconds();
            }
            bytes += read.bytes;
            at = read.next_offset;
        }
    })
}

fn random_by_klog(log: Arc<Log>, records: u64, reads: u64) -> Work<'static> {
    let mut buffer = vec![0; 1 << 16];
    let options = ReadOptions {
        max_bytes: 1,
        ..ReadOptions::default()
    };
    Box::new(move || {
        let mut state = 1;
        let began = Worked::start();
        for _ in 0..reads {
            state = next(state);
            let offset = Offset(((state >> 33) % records).cast_signed());
            let read = log.read(offset, &mut buffer, &options).unwrap();
            assert_eq!(black_box(read).batches, 1);
        }
        reads as f64 / began.seconds()
    })
}

fn lookups_by_klog(log: Arc<Log>, records: u64, look_ups: u64) -> Work<'static> {
    Box::new(move || {
        let mut state = 1;
        let began = Worked::start();
        for _ in 0..look_ups {
            state = next(state);
            let offset = ((state >> 33) % records).cast_signed();
            let target = TimeTarget::At(TimestampMs(TIME + offset));
            let found = log.offset_for_timestamp(target).unwrap().unwrap();
            assert_eq!(black_box(found).offset.0, offset);
        }
        look_ups as f64 / began.seconds()
    })
}

pub(crate) fn asked<'a>(
    command: &'static str,
    dir: &Path,
    amount: f64,
    field: Option<u64>,
) -> KafkaWork<'a> {
    let dir = dir.to_path_buf();
    Box::new(move |kafka| {
        let fields: Vec<String> = field.iter().map(u64::to_string).collect();
        let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
        amount / kafka.seconds(command, &dir, &fields)
    })
}

/// The rows of the design.
pub(crate) fn rows(bench: &mut Bench) {
    if !NAMES.iter().any(|name| bench.wants(name)) {
        return;
    }
    let data = Data::new();
    let (klog, kafka) = (bench.path("read-klog"), bench.path("read-kafka"));
    let batches = bench.size.batches;
    let (look_ups, reads) = (bench.size.look_ups, 2 * bench.size.look_ups);
    for dir in [&klog, &kafka] {
        data.write_log(&fresh(dir), batches, &AppendOptions::default());
    }
    let log = open(&klog);
    let records = batches * EACH;
    let batch_bytes = data.batch(EACH, &BatchOptions::default()).len() as u64;
    let bytes = (batches * batch_bytes) as f64;
    let file = log_file(&klog);
    let mut buffer = vec![0; 256 * 1024];
    bench.run(Contest {
        name: NAMES[0],
        includes: "each CRC checked, offset, key and value of each record; raw: pread of 256 KiB and CRC",
        unit: M_RECORDS,
        klog: scan_by_klog(Arc::clone(&log), records),
        kafka: Some((asked("scan", &kafka, records as f64, None), Some(2.5))),
        other: Some((
            RAW,
            Box::new(|| {
                let began = Worked::start();
                read_all(&file, &mut buffer, |read| {
                    black_box(crc32c::crc32c(read));
                });
                records as f64 / began.seconds()
            }),
            Some(0.6),
        )),
        limit: None,
    });
    let mut large = vec![0; FETCH_BYTES];
    bench.run(Contest {
        name: NAMES[1],
        includes: "whole batches into a buffer, no CRC, next offset; raw: pread of 1 MiB",
        unit: GB,
        klog: fetch_by_klog(Arc::clone(&log)),
        kafka: Some((asked("fetch", &kafka, bytes, None), None)),
        other: Some((
            RAW,
            Box::new(|| {
                let began = Worked::start();
                let read = read_all(&file, &mut large, |_| ());
                read as f64 / began.seconds()
            }),
            Some(0.9),
        )),
        limit: None,
    });
    bench.run(Contest {
        name: NAMES[2],
        includes: "look-up in the index, the batch of 100 into a buffer; raw: one pread of it",
        unit: K_CALLS,
        klog: random_by_klog(Arc::clone(&log), records, reads),
        kafka: Some((
            asked("random", &kafka, reads as f64, Some(reads)),
            Some(5.0),
        )),
        other: Some((
            RAW,
            random_raw(&file, batches, batch_bytes, reads),
            Some(0.5),
        )),
        limit: None,
    });
    bench.run(Contest {
        name: NAMES[3],
        includes: "times of all the log in no order, and the offset of each; raw: one pread of its batch",
        unit: K_CALLS,
        klog: lookups_by_klog(Arc::clone(&log), records, look_ups),
        kafka: Some((
            asked("timestamps", &kafka, look_ups as f64, Some(look_ups)),
            Some(5.0),
        )),
        other: Some((
            RAW,
            random_raw(&file, batches, batch_bytes, look_ups),
            None,
        )),
        limit: None,
    });
    log.close().unwrap();
}

fn random_raw(file: &File, batches: u64, batch_bytes: u64, reads: u64) -> Work<'_> {
    let mut one = vec![0; batch_bytes as usize];
    Box::new(move || {
        let mut state = 1;
        let began = Worked::start();
        for _ in 0..reads {
            state = next(state);
            let offset = (state >> 33) % (batches * EACH);
            file.read_exact_at(&mut one, offset / EACH * batch_bytes)
                .unwrap();
        }
        reads as f64 / began.seconds()
    })
}

/// Scans of compressed logs.
pub(crate) fn more_rows(bench: &mut Bench) {
    let of: [(Codec, &'static str, Floor); 4] = [
        (Codec::Lz4, "scan, lz4", None),
        (Codec::Zstd, "scan, zstd", None),
        (Codec::Snappy, "scan, snappy", None),
        (Codec::Gzip, "scan, gzip", None),
    ];
    for (codec, name, floor) in of {
        if !bench.wants(name) {
            continue;
        }
        let batches = bench.size.batches / 4;
        let (klog, kafka) = (bench.path("read-klog"), bench.path("read-kafka"));
        let options = AppendOptions {
            codec: Some(codec),
            ..AppendOptions::default()
        };
        for dir in [&klog, &kafka] {
            Data::new().write_log(&fresh(dir), batches, &options);
        }
        let log = open(&klog);
        let records = batches * EACH;
        bench.run(Contest {
            name,
            includes: "each CRC checked, each batch decompressed, offset, key and value of each record",
            unit: M_RECORDS,
            klog: scan_by_klog(Arc::clone(&log), records),
            kafka: Some((asked("scan", &kafka, records as f64, None), floor)),
            other: None,
            limit: None,
        });
        log.close().unwrap();
    }
}
