//! Batches of clients, good and bad in every field: Kafka and klog accept the same, store the same, and refuse the rest for
//! the same reason, record by record (state.md 2, 3).

use klog::error::{Error, ErrorKind};
use klog::format::batch::{Batch, HEADER_BYTES, seal};
use klog::format::builder::{BatchBuilder, BatchOptions};
use klog::format::codec::{Codec, Compressor, Lz4Header};
use klog::format::decoder::RecordDecoder;
use klog::format::legacy::{OldMessage, write_message, write_wrapper};
use klog::format::record::Header;
use klog::log::{AppendOptions, AppendResult, Log, ReadOptions};
use klog::types::{LeaderEpoch, Offset, TimestampMs};

use crate::kafka::{KafkaLog, Opening, field, number_of};
use crate::support::engine::{Home, NOW, t0};
use crate::support::random::Random;
use crate::support::referee::error_name;
use crate::support::tree;

/// Appends for each topic.
const APPENDS: usize = 350;

const TOPICS: [&[(&str, &str)]; 9] = [
    &[],
    &[("cleanup.policy", "compact")],
    &[("message.timestamp.type", "LogAppendTime")],
    &[
        ("message.timestamp.before.max.ms", "1000"),
        ("message.timestamp.after.max.ms", "2000"),
    ],
    &[
        ("compression.type", "uncompressed"),
        ("max.message.bytes", "200"),
    ],
    &[
        ("compression.type", "gzip"),
        ("cleanup.policy", "compact,delete"),
    ],
    &[
        ("compression.type", "zstd"),
        ("message.timestamp.type", "LogAppendTime"),
    ],
    &[
        ("compression.type", "lz4"),
        ("message.timestamp.before.max.ms", "1000"),
    ],
    &[
        ("max.decompressed.message.bytes", "40"),
        ("max.message.bytes", "150"),
    ],
];

#[derive(Default, Debug)]
struct Tally {
    stored: usize,
    refused: usize,
    listed: usize,
    unexpected: usize,
    deviating: usize,
}

#[test]
fn clients_are_answered_as_by_kafka() {
    let mut random = Random::from_env("clients_are_answered_as_by_kafka");
    let mut tally = Tally::default();
    for topic in TOPICS {
        let home = topic
            .iter()
            .fold(Home::new(), |home, (key, value)| home.set(key, value));
        let manager = home.open();
        let log = t0(&manager);
        let by_kafka = tree::scratch();
        let settings: Vec<(&str, String)> =
            topic.iter().map(|(k, v)| (*k, (*v).to_owned())).collect();
        let opening = Opening {
            clean: true,
            recovery_point: 0,
            start: 0,
            now: NOW,
            settings: &settings,
        };
        let kafka = KafkaLog::open(by_kafka.path(), "t-0", &opening);
        for _ in 0..APPENDS {
            let bytes = any_append(&mut random);
            let what = || format!("{topic:?}: {}", crate::support::canonical::hex(&bytes));
            let options = AppendOptions {
                leader_epoch: Some(LeaderEpoch(3)),
                ..AppendOptions::default()
            };
            let own = log.append_batches(&bytes, &options);
            if own
                .as_ref()
                .is_err_and(|e| e.kind() == ErrorKind::Unsupported)
            {
                continue;
            }
            match (own, kafka.try_append(3, &bytes)) {
                (Ok(own), Ok(theirs)) => {
                    tally.stored += 1;
                    ensure_same_answer(&own, &theirs, what);
                    if own.records > 0 {
                        ensure_same_batch(
                            &log,
                            own.first_offset,
                            &kafka,
                            number_of(&theirs, "first"),
                            what,
                        );
                    }
                }
                (Err(own), Err(theirs)) => {
                    tally.refused += 1;
                    tally.listed += usize::from(!own.record_errors().is_empty());
                    tally.unexpected += usize::from(error_name(&theirs) == "UNKNOWN_SERVER_ERROR");
                    if is_read_to_the_end(&bytes, &own, &theirs) {
                        tally.deviating += 1;
                    } else {
                        ensure_same_refusal(&own, &theirs, what);
                    }
                }
                // What klog refuses because the records do not fit the header that Kafka believes (D8, D9).
                (Err(own), Ok(_)) => {
                    tally.deviating += 1;
                    assert_eq!(own.kind(), ErrorKind::InvalidRecord, "{own}\n{}", what());
                    assert!(own.record_errors().is_empty(), "{own}\n{}", what());
                }
                // It allocates what a message claims; the claim is that of a message that is not whole.
                (Ok(_), Err(theirs)) if theirs.starts_with("OutOfMemoryError") => {
                    tally.deviating += 1;
                }
                (Ok(own), Err(theirs)) => panic!("klog took it: {own:?}\n{theirs}\n{}", what()),
            }
        }
        kafka.close();
    }
    println!("clients_are_answered_as_by_kafka: {tally:?}");
    assert!(
        tally.stored > 300 && tally.listed > 30 && tally.refused > 300,
        "{tally:?}"
    );
    assert!(tally.deviating * 10 < tally.stored, "{tally:?}");
}

/// Whether klog refuses a compressed batch for what Kafka has not looked at when it refuses: the sizes of its records (D8),
/// or the rest of the stream (D7).
fn is_read_to_the_end(bytes: &[u8], own: &Error, theirs: &str) -> bool {
    let is_compressed = bytes.get(16) == Some(&2) && bytes.get(22).is_some_and(|a| a & 7 != 0);
    let lists = theirs.contains("\nrecord ");
    let is_sizes =
        own.kind() == ErrorKind::InvalidRecord && own.record_errors().is_empty() && lists;
    let is_stream = own.kind() == ErrorKind::CorruptMessage && !lists;
    is_compressed && (is_sizes || is_stream)
}

fn ensure_same_answer(own: &AppendResult, theirs: &str, what: impl Fn() -> String) {
    let first = number_of(theirs, "first");
    if own.first_offset == Offset::NONE {
        assert_eq!(first, -1, "{}", what());
        return;
    }
    // After a deviation the ends differ.
    let span = number_of(theirs, "last") - first;
    assert_eq!(own.last_offset - own.first_offset, span, "{}", what());
    assert_eq!(
        own.log_append_time.0,
        number_of(theirs, "append_time"),
        "{}",
        what()
    );
    assert_eq!(
        own.max_timestamp.0,
        number_of(theirs, "max_ts"),
        "{}",
        what()
    );
}

fn ensure_same_refusal(own: &Error, theirs: &str, what: impl Fn() -> String) {
    let code = match error_name(theirs) {
        "CORRUPT_MESSAGE" => 2,
        "MESSAGE_TOO_LARGE" => 10,
        "INVALID_TIMESTAMP" => 32,
        "INVALID_RECORD" => 87,
        // What Kafka did not expect klog names (D3-D17).
        "UNKNOWN_SERVER_ERROR" => {
            let named = [
                ErrorKind::CorruptMessage,
                ErrorKind::InvalidRecord,
                ErrorKind::InvalidTimestamp,
                ErrorKind::UnsupportedCompressionType,
            ];
            assert!(named.contains(&own.kind()), "{own:?}\n{theirs}\n{}", what());
            return;
        }
        other => panic!("{other}: {theirs}\n{}", what()),
    };
    assert_eq!(own.kafka_code(), code, "{own:?}\n{theirs}\n{}", what());
    let indexes: Vec<usize> = theirs
        .lines()
        .filter_map(|line| {
            line.strip_prefix("record ")?
                .split(' ')
                .next()?
                .parse()
                .ok()
        })
        .collect();
    let listed: Vec<usize> = own.record_errors().iter().map(|e| e.index).collect();
    assert_eq!(listed, indexes, "{own:?}\n{theirs}\n{}", what());
}

/// The same bytes but for the base offset; of a batch that was compressed anew the same header and records.
fn ensure_same_batch(
    log: &Log,
    own: Offset,
    kafka: &KafkaLog,
    theirs: i64,
    what: impl Fn() -> String,
) {
    let mut buffer = vec![0; 1 << 20];
    let options = ReadOptions {
        max_bytes: 0,
        ..ReadOptions::default()
    };
    let read = log.read(own, &mut buffer, &options).unwrap();
    let mut own = buffer[..read.bytes].to_vec();
    let answer = kafka.read(theirs, 0, true).unwrap();
    let mut theirs = unhex(field(&answer, "data"));
    for batch in [&mut own, &mut theirs] {
        batch[..8].fill(0);
    }
    if own == theirs {
        return;
    }
    let (own, theirs) = (Batch::new(&own).unwrap(), Batch::new(&theirs).unwrap());
    let mut header = *own.header();
    let is_odd = odd_names(&own);
    assert!(header.attributes.is_compressed() || is_odd, "{}", what());
    header.size_bytes = theirs.header().size_bytes;
    header.crc = theirs.header().crc;
    assert_eq!(&header, theirs.header(), "{}", what());
    assert_eq!(content(&own), content(&theirs), "{}", what());
}

fn content(batch: &Batch<'_>) -> Vec<String> {
    let mut decoder = RecordDecoder::new();
    decoder.begin(batch).unwrap();
    let mut content = Vec::new();
    while let Some(record) = decoder.next(batch).unwrap() {
        let key = |key| String::from_utf8_lossy(key).into_owned();
        let headers: Vec<_> = record.headers.map(|h| (key(h.key), h.value)).collect();
        content.push(format!(
            "{} {} {:?} {:?} {headers:?}",
            record.offset, record.timestamp, record.key, record.value
        ));
    }
    content
}

/// Whether a header's name is no UTF-8: Kafka stores U+FFFD in its place when it makes a batch anew, klog the name.
fn odd_names(batch: &Batch<'_>) -> bool {
    let mut decoder = RecordDecoder::new();
    decoder.begin(batch).unwrap();
    while let Some(mut record) = decoder.next(batch).unwrap() {
        if record.headers.any(|h| std::str::from_utf8(h.key).is_err()) {
            return true;
        }
    }
    false
}

fn unhex(text: &str) -> Vec<u8> {
    let digits = |at| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(digits).collect()
}

fn any_append(random: &mut Random) -> Vec<u8> {
    let mut bytes = any_batch(random);
    if random.once_in(12) {
        bytes.extend(any_batch(random));
    }
    if random.once_in(15) {
        let len = random.below(25);
        let more = random.bytes(len);
        bytes.extend(if random.once_in(2) {
            vec![0; len]
        } else {
            more
        });
    }
    if random.once_in(15) {
        let len = random.below(bytes.len().max(1));
        bytes.truncate(len);
    }
    if random.once_in(40) {
        let at = random.below(bytes.len().max(1));
        if let Some(byte) = bytes.get_mut(at) {
            *byte ^= 1 << random.below(8);
        }
    }
    bytes
}

fn any_batch(random: &mut Random) -> Vec<u8> {
    match random.below(10) {
        0 => old_messages(random),
        1 => old_wrapper(random),
        _ => new_batch(random),
    }
}

fn any_timestamp(random: &mut Random) -> i64 {
    match random.below(14) {
        0 => -1,
        1 => NOW - 1001,
        2 => NOW + 2001,
        3 => NOW + 3_600_001,
        4 => 0,
        _ => NOW - 1000 + random.below(3000) as i64,
    }
}

fn any_key(random: &mut Random) -> Option<Vec<u8>> {
    let len = random.below(4);
    (!random.once_in(8)).then(|| random.bytes(len))
}

fn new_batch(random: &mut Random) -> Vec<u8> {
    let mut builder = BatchBuilder::new();
    for _ in 0..=random.below(4) {
        let (key, value) = (any_key(random), vec![b'v'; random.below(30)]);
        let headers = [Header {
            key: b"h",
            value: None,
        }];
        let headers = &headers[..usize::from(random.once_in(4))];
        builder
            .push(
                TimestampMs(any_timestamp(random)),
                key.as_deref(),
                Some(&value),
                headers.iter().copied(),
            )
            .unwrap();
    }
    let codec = if random.once_in(2) {
        Codec::None
    } else {
        Codec::from_id(random.below(5) as u8).unwrap()
    };
    let append_time = random.once_in(12);
    let options = BatchOptions {
        codec,
        log_append_time: append_time.then(|| TimestampMs(any_timestamp(random))),
        ..BatchOptions::default()
    };
    let mut batch = builder.finish(&options).unwrap().to_vec();
    if random.once_in(5) {
        let plain = builder.finish(&BatchOptions::default()).unwrap();
        let mut records = plain[HEADER_BYTES..].to_vec();
        change_records(random, &mut records);
        batch.truncate(HEADER_BYTES);
        Compressor::new()
            .compress(codec, None, Lz4Header::Checked, &records, &mut batch)
            .unwrap();
    } else if random.once_in(20) {
        change_records(random, &mut batch);
    }
    if random.once_in(4) {
        change_header(random, &mut batch);
    }
    if batch.len() >= HEADER_BYTES {
        if !random.once_in(30) {
            let size = u32::try_from(batch.len() - 12).unwrap();
            batch[8..12].copy_from_slice(&size.to_be_bytes());
        }
        seal(&mut batch);
    }
    batch
}

fn change_records(random: &mut Random, records: &mut Vec<u8>) {
    match random.below(4) {
        0 => {
            let len = random.below(records.len().max(1));
            records.truncate(len);
        }
        1 => records.push(0),
        _ => {
            let at = random.below(records.len().max(1));
            if let Some(byte) = records.get_mut(at) {
                *byte = random.bytes(1)[0];
            }
        }
    }
}

fn change_header(random: &mut Random, batch: &mut [u8]) {
    let small = (random.below(7) as i32 - 1).to_be_bytes();
    let time = any_timestamp(random).to_be_bytes();
    if batch.len() < HEADER_BYTES {
        return;
    }
    match random.below(8) {
        0 => batch[57..61].copy_from_slice(&small),
        1 => batch[23..27].copy_from_slice(&small),
        2 => {
            batch[57..61].copy_from_slice(&small);
            let delta = i32::from_be_bytes(small) - 1;
            batch[23..27].copy_from_slice(&delta.to_be_bytes());
        }
        3 => batch[21..23].copy_from_slice(&random.bytes(2)),
        4 => batch[22] ^= 1 << random.below(8),
        5 => batch[27..35].copy_from_slice(&time),
        6 => batch[35..43].copy_from_slice(&time),
        _ => batch[7] = 5,
    }
}

fn old_messages(random: &mut Random) -> Vec<u8> {
    let mut bytes = Vec::new();
    let magic = i8::from(!random.once_in(3));
    for offset in 0..=random.below(3) {
        let key = any_key(random);
        let message = OldMessage {
            offset: Offset(offset as i64),
            timestamp: TimestampMs(any_timestamp(random)),
            key: key.as_deref(),
            value: (!random.once_in(6)).then_some(b"value"),
        };
        let magic = if random.once_in(15) { 1 - magic } else { magic };
        let attributes = if random.once_in(10) { 8 } else { 0 };
        write_message(&mut bytes, magic, attributes, &message);
    }
    bytes
}

fn old_wrapper(random: &mut Random) -> Vec<u8> {
    let mut inner = old_messages(random);
    if random.once_in(5) {
        change_records(random, &mut inner);
    }
    let magic = inner.get(16).map_or(1, |&m| (m & 1).cast_signed());
    let codec = [Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd][random.below(13) / 4];
    let wrapper = OldMessage {
        offset: Offset(random.below(5) as i64),
        timestamp: TimestampMs(any_timestamp(random)),
        key: None,
        value: None,
    };
    let attributes = if random.once_in(8) { 8 } else { 0 };
    let mut bytes = Vec::new();
    write_wrapper(
        &mut bytes,
        magic,
        attributes,
        codec,
        &wrapper,
        &inner,
        &mut Compressor::new(),
    )
    .unwrap();
    bytes
}
