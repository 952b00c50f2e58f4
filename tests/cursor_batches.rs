//! A cursor gives what decoding batch by batch gives, whatever it reads at a time and however many records are asked for: also
//! of batches that are larger than what it reads, that are damaged, or that lie about their records. records.md 2, c-abi.md
//! 3.2.5.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a failure fails the test"
)]

#[path = "crash/mod.rs"]
mod crash;

use std::sync::Arc;

use klog::ErrorKind;
use klog::format::batch::{Batch, BatchHeader, seal};
use klog::format::codec::Codec;
use klog::format::decoder::RecordDecoder;
use klog::format::record::Record as Decoded;
use klog::io::{FileSystem, ManualClock, OpenMode, SimFs, read_file};
use klog::log::{AppendOptions, CursorOptions, Log};
use klog::manager::CreateOptions;
use klog::types::{Offset, TimestampMs};

use crash::run::Seeds;
use crash::{DIR, Random, Record, T, batch_of, config, partition};

const SEEDS: u64 = 300;

/// What a reader meets.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Met {
    Record(Box<Seen>),
    /// A batch that gives no more.
    Failed(ErrorKind),
}

/// All of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    offset: i64,
    timestamp: i64,
    of_append: String,
    key: Option<Vec<u8>>,
    value: Option<Vec<u8>>,
    headers: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    epoch: i32,
    sequence: i32,
    is_transactional: bool,
}

impl Met {
    fn record(record: &Decoded<'_>) -> Self {
        Self::Record(Box::new(Seen {
            offset: record.offset.0,
            timestamp: record.timestamp.0,
            of_append: format!("{:?}", record.timestamp_type),
            key: record.key.map(<[u8]>::to_vec),
            value: record.value.map(<[u8]>::to_vec),
            headers: record
                .headers
                .map(|h| (h.key.to_vec(), h.value.map(<[u8]>::to_vec)))
                .collect(),
            epoch: record.leader_epoch.0,
            sequence: record.sequence,
            is_transactional: record.is_transactional,
        }))
    }

    fn told(&self) -> String {
        match self {
            Self::Record(seen) => format!("record {} at {}", seen.offset, seen.timestamp),
            Self::Failed(kind) => format!("{kind:?}"),
        }
    }
}

/// Batches of any size and shape, none damaged yet.
fn random_batch(random: &mut Random, id: &mut u64) -> Vec<u8> {
    let count = *random.pick(&[1, 1, 2, 5, 20, 300]);
    let large = *random.pick(&[0, 0, 0, 100, 9000, 40_000]);
    let records: Vec<Record> = (0..count)
        .map(|n| {
            *id += 1;
            let mut record = Record::random(random, *id, T);
            if large > 0 && (n == 0 || count < 6) {
                record.value = Some(random.bytes(large));
            }
            if random.one_in(9) {
                record.timestamp -= 1_000_000_000;
            }
            record
        })
        .collect();
    let codec = *random.pick(&[
        Codec::None,
        Codec::None,
        Codec::None,
        Codec::Lz4,
        Codec::Zstd,
        Codec::Gzip,
        Codec::Snappy,
    ]);
    batch_of(&records, codec)
}

const ATTRIBUTES: usize = 22;
const LOG_APPEND_TIME: u8 = 8;
const TRANSACTIONAL: u8 = 16;
const BASE_SEQUENCE: usize = 53;
const COUNT: usize = 57;
const RECORDS: usize = 61;

fn put(batch: &mut [u8], at: usize, value: i32) {
    batch[at..at + 4].copy_from_slice(&value.to_be_bytes());
}

/// Changes a stored batch. What was done.
fn change(random: &mut Random, batch: &mut [u8]) -> &'static str {
    let count = i32::from_be_bytes(batch[COUNT..COUNT + 4].try_into().unwrap());
    let done = match random.below(16) {
        0 => {
            let at = RECORDS + random.below(batch.len() - RECORDS);
            batch[at] ^= 1;
            return "checksum";
        }
        1 => {
            // The checksum is right, so that decoding has to tell.
            let at = RECORDS + random.below(batch.len() - RECORDS);
            batch[at] = random.bytes(1)[0];
            "body"
        }
        2 => {
            put(batch, COUNT, *random.pick(&[-1, i32::MIN, -2]));
            "negative count"
        }
        3 => {
            put(batch, COUNT, count - 1);
            "trailing bytes"
        }
        4 => {
            put(batch, COUNT, count + 1);
            "premature end"
        }
        5 => {
            batch[ATTRIBUTES] |= LOG_APPEND_TIME;
            "append time"
        }
        6 | 7 => {
            put(
                batch,
                BASE_SEQUENCE,
                i32::MAX - *random.pick(&[0, 1, 3, 100]),
            );
            "sequence"
        }
        8 => {
            batch[ATTRIBUTES] |= TRANSACTIONAL;
            "transactional"
        }
        _ => return "nothing",
    };
    seal(batch);
    done
}

/// The batches of a file with their places.
fn batches(bytes: &[u8]) -> Vec<(usize, BatchHeader)> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let header = BatchHeader::parse(&bytes[at..]).unwrap();
        let size = header.size_bytes as usize;
        found.push((at, header));
        at += size;
    }
    found
}

/// What decoding each batch by itself gives from `start` on. What a damaged batch says to lie below itself is passed over: a
/// reader never goes back.
fn decoded(bytes: &[u8], start: i64) -> Vec<Met> {
    let mut met = Vec::new();
    let mut from = start;
    for (at, header) in batches(bytes) {
        if header.last_offset.0 < start {
            continue;
        }
        let batch = Batch::new(&bytes[at..at + header.size_bytes as usize]).unwrap();
        let mut decoder = RecordDecoder::new();
        let begun = batch.ensure_valid().and_then(|()| decoder.begin(&batch));
        let mut next = || match &begun {
            Ok(()) => decoder
                .next(&batch)
                .map(|record| record.map(|r| Met::record(&r))),
            Err(e) => Err(e.clone()),
        };
        loop {
            match next() {
                Ok(None) => break,
                Ok(Some(Met::Record(seen))) if seen.offset < from => {}
                Ok(Some(record)) => met.push(record),
                Err(e) => {
                    met.push(Met::Failed(e.kind()));
                    break;
                }
            }
        }
        from = from.max(header.last_offset.0 + 1);
    }
    met
}

/// How a cursor is used.
#[derive(Debug)]
struct Use {
    start: i64,
    read_bytes: usize,
    max: usize,
    gives_back: bool,
    seeks: bool,
}

fn read(log: &Arc<Log>, how: &Use, random: &mut Random) -> Result<Vec<Met>, String> {
    let options = CursorOptions {
        read_bytes: how.read_bytes,
        ..CursorOptions::default()
    };
    // A cursor that was elsewhere before, or not.
    let mut cursor = if how.seeks {
        let end = usize::try_from(log.end_offset().0).unwrap();
        let elsewhere = i64::try_from(random.below(end)).unwrap();
        let mut cursor = log.cursor(Offset(elsewhere), options);
        for _ in 0..random.below(4) {
            let _ = cursor.next_records(1 + random.below(50));
            cursor.give_back(random.below(50));
        }
        cursor.seek(Offset(how.start));
        cursor
    } else {
        log.cursor(Offset(how.start), options)
    };
    let mut met = Vec::new();
    loop {
        let given: Vec<Met> = match cursor.next_records(how.max) {
            Ok(slice) if slice.is_empty() => return Ok(met),
            Ok(slice) => {
                let by_number = (0..slice.len()).map(|n| Met::record(&slice.get(n).unwrap()));
                let all: Vec<Met> = slice.iter().map(|record| Met::record(&record)).collect();
                if !by_number.eq(all.iter().cloned()) || all.len() > how.max {
                    return Err("a slice is not what its records are".to_owned());
                }
                all
            }
            Err(e) => vec![Met::Failed(e.kind())],
        };
        let is_error = matches!(given[0], Met::Failed(_));
        let mut used = given.len();
        if how.gives_back && !is_error {
            used = random.below(given.len() + 1);
            cursor.give_back(used);
            if let Some(Met::Record(next)) = given.get(used)
                && cursor.position().0 != next.offset
            {
                return Err(format!("the position is {}", cursor.position()));
            }
        }
        met.extend(given.into_iter().take(used));
    }
}

fn check(seed: u64) -> Result<(), String> {
    let mut random = Random::new(seed ^ 0x6375_7273_6f72);
    let (disk, clock) = (SimFs::new(), Arc::new(ManualClock::new(TimestampMs(T))));
    let config = config(&[
        ("max.message.bytes", "10000000"),
        ("segment.ms", "99000000000"),
    ]);
    let manager = crash::open(&disk, &clock, &config).unwrap();
    let log = manager
        .get_or_create_log(&partition("a"), &CreateOptions::default())
        .unwrap();
    let mut id = 0;
    for _ in 0..=random.below(24) {
        let batch = random_batch(&mut random, &mut id);
        log.append_batches(&batch, &AppendOptions::default())
            .unwrap();
    }
    // What the log ends with, behind its last index entry, is looked at when it is opened.
    for len in [20_000, 1] {
        let mut record = Record::random(&mut random, 0, T);
        record.value = Some(random.bytes(len));
        log.append_batches(&batch_of(&[record], Codec::None), &AppendOptions::default())
            .unwrap();
    }
    let end = log.end_offset();
    manager.close().unwrap();
    let path = format!("{DIR}/a-0/00000000000000000000.log");
    let mut bytes = read_file(&disk, path.as_ref()).unwrap().unwrap();
    let all = batches(&bytes);
    let mut told = Vec::new();
    for (at, header) in &all[..all.len() - 2] {
        let size = header.size_bytes as usize;
        let what = change(&mut random, &mut bytes[*at..*at + size]);
        told.push(format!("{} ({size} bytes): {what}", header.base_offset));
    }
    disk.open(path.as_ref(), OpenMode::ReadWrite)
        .unwrap()
        .write_at(&bytes, 0)
        .unwrap();
    let manager = crash::open(&disk, &clock, &config).unwrap();
    let log = manager.log(&partition("a")).unwrap();
    assert_eq!(log.end_offset(), end, "the load cut off what was changed");
    for _ in 0..12 {
        let end = usize::try_from(log.end_offset().0).unwrap();
        let how = Use {
            start: match random.below(3) {
                0 => 0,
                _ => i64::try_from(random.below(end)).unwrap(),
            },
            read_bytes: *random.pick(&[0, 0, 0, 1, 100, 5000, 16 * 1024, 1 << 20]),
            max: *random.pick(&[1, 2, 7, 100, 100_000]),
            gives_back: random.one_in(3),
            seeks: random.one_in(3),
        };
        let expected = decoded(&bytes, how.start);
        let found = read(&log, &how, &mut random).map_err(|e| format!("{how:?}: {e}"))?;
        if found != expected {
            let at = found
                .iter()
                .zip(&expected)
                .position(|(a, b)| a != b)
                .unwrap_or(found.len().min(expected.len()));
            let at_end = || "the end".to_owned();
            return Err(format!(
                "{how:?}: number {at} is {}, not {}\n  {}",
                found.get(at).map_or_else(at_end, Met::told),
                expected.get(at).map_or_else(at_end, Met::told),
                told.join("\n  ")
            ));
        }
    }
    Ok(())
}

#[test]
fn a_cursor_gives_what_each_batch_gives_by_itself() {
    Seeds::from_env(SEEDS).run("cursor_batches", check);
}
