//! Rows of appending to one log.

use std::fs::File;
use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use klog::config::LogConfig;
use klog::format::builder::{BatchBuilder, BatchOptions};
use klog::format::codec::Codec;
use klog::log::{AppendOptions, Log, Shutdown};

use super::clock::Worked;
use super::codecs::Alone;
use super::data::{Data, EACH, TIME, open_log};
use super::rounds::{Contest, Floor, K_CALLS, KafkaWork, M_RECORDS, RAW, Unit, Work};
use super::{Bench, fresh};

/// Where the checksum of a batch begins.
pub(crate) const CHECKED_FROM: usize = 21;

/// A log that nothing was appended to.
pub(crate) fn empty_log(dir: &Path) -> Arc<Log> {
    open_log(
        &fresh(dir).join("t-0"),
        LogConfig::default(),
        Shutdown::Unclean,
    )
}

/// The same bytes to a new file: the checksum and a pwrite for each batch.
pub(crate) fn raw(path: PathBuf, batch: Vec<u8>, batches: u64, records: u64) -> Work<'static> {
    Box::new(move || {
        let mut write = raw_writer(&path, batch.clone());
        let began = Worked::start();
        for n in 0..batches {
            write(n);
        }
        (batches * records) as f64 / began.seconds()
    })
}

/// Writes the same batch to a new file as often as it is called, with how often it was before.
fn raw_writer(path: &Path, batch: Vec<u8>) -> impl FnMut(u64) + use<> {
    let _ = std::fs::remove_file(path);
    let file = File::create(path).unwrap();
    move |n| {
        black_box(crc32c::crc32c(&batch[CHECKED_FROM..]));
        file.write_all_at(&batch, n * batch.len() as u64).unwrap();
    }
}

/// What is built and appended.
#[derive(Clone, Copy)]
struct Built {
    batches: u64,
    each: u64,
    codec: Codec,
}

impl Built {
    fn by_klog(self, data: &Data, dir: PathBuf) -> Work<'_> {
        let options = AppendOptions {
            codec: Some(self.codec),
            ..AppendOptions::default()
        };
        Box::new(move || {
            let log = empty_log(&dir);
            let mut builder = BatchBuilder::new();
            let began = Worked::start();
            for n in 0..self.batches {
                data.fill(&mut builder, (n * self.each) % EACH, self.each, TIME);
                black_box(log.append(&mut builder, &options).unwrap());
            }
            self.records() / began.seconds()
        })
    }

    fn by_kafka(self, dir: PathBuf) -> KafkaWork<'static> {
        Box::new(move |kafka| {
            let fields = [
                &self.batches.to_string(),
                &self.each.to_string(),
                self.codec.name(),
            ];
            let seconds = kafka.seconds_with_records("append_built", &fresh(&dir), &fields);
            self.records() / seconds
        })
    }

    fn records(self) -> f64 {
        (self.batches * self.each) as f64
    }
}

/// A hundred a batch, uncompressed, by one thread.
pub(crate) fn append_by_klog(data: &Data, dir: PathBuf, batches: u64) -> Work<'_> {
    let built = Built {
        batches,
        each: EACH,
        codec: Codec::None,
    };
    built.by_klog(data, dir)
}

/// The rows of the design.
pub(crate) fn rows(bench: &mut Bench) {
    let data = Data::new();
    let batches = bench.size.batches;
    let ready = data.batch(EACH, &BatchOptions::default());
    let (klog, kafka, file) = (bench.path("klog"), bench.path("kafka"), bench.path("raw"));
    let bytes = ready.clone();
    let kafka_dir = kafka.clone();
    bench.run(Contest {
        name: "append, ready batches",
        includes: "as a leader: checks, offsets, one CRC; raw: CRC and pwrite",
        unit: M_RECORDS,
        klog: Box::new(|| {
            let log = empty_log(&klog);
            let began = Worked::start();
            for _ in 0..batches {
                black_box(
                    log.append_batches(&bytes, &AppendOptions::default())
                        .unwrap(),
                );
            }
            (batches * EACH) as f64 / began.seconds()
        }),
        kafka: Some((
            Box::new(move |kafka| {
                let fields = [batches.to_string()];
                let dir = fresh(&kafka_dir);
                let seconds = kafka.seconds_with_records("append_ready", &dir, &[&fields[0]]);
                (batches * EACH) as f64 / seconds
            }),
            Some(1.6),
        )),
        other: Some((
            RAW,
            raw(file.clone(), ready.clone(), batches, EACH),
            Some(0.8),
        )),
        limit: None,
    });
    built_row(
        bench,
        (
            "build and append, 100 a batch",
            "encoding from keys and values, then as above; raw as above",
            M_RECORDS,
        ),
        Built {
            batches,
            each: EACH,
            codec: Codec::None,
        },
        Some(2.0),
        Some((RAW, raw(file.clone(), ready, batches, EACH), Some(0.6))),
        None,
    );
    let one = data.batch(1, &BatchOptions::default());
    built_row(
        bench,
        (
            "build and append, 1 a batch",
            "each record a batch; raw: CRC and pwrite each",
            K_CALLS,
        ),
        Built {
            batches: batches * 20,
            each: 1,
            codec: Codec::None,
        },
        Some(3.0),
        Some((RAW, raw(file, one, batches * 20, 1), Some(0.5))),
        None,
    );
    for (codec, name) in [
        (Codec::Lz4, "build and append, lz4"),
        (Codec::Zstd, "build and append, zstd"),
    ] {
        codec_row(bench, codec, name, Some(1.5), Some(0.8));
    }
}

fn codec_row(
    bench: &mut Bench,
    codec: Codec,
    name: &'static str,
    floor: Floor,
    alone_floor: Floor,
) {
    let batches = bench.size.batches / if codec == Codec::Gzip { 10 } else { 4 };
    let data = Data::new();
    let body = data.batch(EACH, &BatchOptions::default())[61..].to_vec();
    let stored = data.batch(
        EACH,
        &BatchOptions {
            codec,
            ..BatchOptions::default()
        },
    );
    let alone = compressing(codec, body.clone(), batches, || |_| ());
    let file = bench.path("raw");
    let with_raw = compressing(codec, body, batches, move || {
        let mut write = raw_writer(&file, stored.clone());
        move |n| write(n)
    });
    built_row(
        bench,
        (
            name,
            "100 a batch, the codec's default level; beside the codec's own crate on the same bytes, which writes nothing; raw: the codec, \
             CRC and pwrite of what comes out",
            M_RECORDS,
        ),
        Built {
            batches,
            each: EACH,
            codec,
        },
        floor,
        Some(("codec alone", alone, alone_floor)),
        Some(with_raw),
    );
}

/// The codec's own crate on the same bytes, and what is to be done after each batch.
fn compressing<'a, After: FnMut(u64) + 'a>(
    codec: Codec,
    body: Vec<u8>,
    batches: u64,
    begin: impl Fn() -> After + 'a,
) -> Work<'a> {
    Box::new(move || {
        let mut codec = Alone::new(codec);
        let mut after = begin();
        let began = Worked::start();
        for n in 0..batches {
            black_box(codec.compress(&body));
            after(n);
        }
        (batches * EACH) as f64 / began.seconds()
    })
}

fn built_row(
    bench: &mut Bench,
    (name, includes, unit): (&'static str, &'static str, Unit),
    built: Built,
    floor: Floor,
    other: Option<(&'static str, Work<'_>, Floor)>,
    limit: Option<Work<'_>>,
) {
    let data = Data::new();
    bench.run(Contest {
        name,
        includes,
        unit,
        klog: built.by_klog(&data, bench.path("klog")),
        kafka: Some((built.by_kafka(bench.path("kafka")), floor)),
        other,
        limit,
    });
}

/// The other codecs.
pub(crate) fn more_rows(bench: &mut Bench) {
    codec_row(bench, Codec::Snappy, "build and append, snappy", None, None);
    codec_row(bench, Codec::Gzip, "build and append, gzip", None, None);
}
