//! What a producer sends, as any bytes: refused without a trace, or stored as one batch that reads back.

use std::sync::Arc;

use klog::Error;
use klog::config::{ConfigSet, Resolved};
use klog::format::batch::{Batch, HEADER_BYTES, seal};
use klog::format::builder::{BatchBuilder, BatchOptions};
use klog::format::codec::{Codec, Compressor, Lz4Header};
use klog::format::crc::crc32;
use klog::format::legacy::{OldMessage, write_message, write_wrapper};
use klog::io::{FileSystem, ManualClock, SimFs};
use klog::log::{AppendOptions, AppendResult, Log, ReadOptions};
use klog::manager::{CreateOptions, Manager, ManagerOptions, MissingDir};
use klog::types::{Offset, TimestampMs, TopicPartition};

use super::Choices;
use super::batch::decode;

const NOW: TimestampMs = TimestampMs(1_700_000_000_000);
const MESSAGE_MAX: usize = 2000;
const COMPRESSIONS: [&str; 6] = ["producer", "uncompressed", "gzip", "snappy", "lz4", "zstd"];

pub(super) fn body(data: &[u8]) {
    let mut choices = Choices(data);
    let config = config(choices.u8(), choices.u8());
    let codec = Codec::ALL[choices.below(5)];
    let disk = SimFs::new();
    disk.create_dir("/data".as_ref()).unwrap();
    let manager = Manager::open(ManagerOptions {
        dirs: vec!["/data".into()],
        missing_dir: MissingDir::Refuse,
        access: klog::manager::Access::Own,
        config,
        fs: Arc::new(disk),
        clock: Arc::new(ManualClock::new(NOW)),
        recovery_threads: Some(1),
        broker_epoch: -1,
        high_watermarks: klog::manager::HighWatermarks::FollowEnd,
        progress: None,
    })
    .unwrap();
    let partition = TopicPartition::new("a", 0);
    let log = manager
        .get_or_create_log(&partition, &CreateOptions::default())
        .unwrap();
    let input = choices.0;
    append(&log, input);
    append(&log, &sealed(input));
    append(&log, &framed(codec, input));
    append(&log, &wrapped(codec, input));
}

fn config(storing: u8, rules: u8) -> Arc<Resolved> {
    let mut set = ConfigSet::broker();
    let mut give = |key: &str, value: &str| set.set_topic("a", key, value).unwrap();
    give(
        "compression.type",
        COMPRESSIONS[usize::from(storing) % COMPRESSIONS.len()],
    );
    give("max.message.bytes", &MESSAGE_MAX.to_string());
    give("max.decompressed.message.bytes", "1000");
    if rules & 1 != 0 {
        give("cleanup.policy", "compact");
    }
    if rules & 2 != 0 {
        give("message.timestamp.type", "LogAppendTime");
    }
    if rules & 4 != 0 {
        give("message.timestamp.before.max.ms", "1000");
    }
    Arc::new(set.resolve().unwrap())
}

/// The bytes with a size and a checksum that are theirs.
fn sealed(input: &[u8]) -> Vec<u8> {
    let mut bytes = input.to_vec();
    if bytes.len() < 26 {
        return bytes;
    }
    let size = u32::try_from(bytes.len() - 12).unwrap();
    bytes[8..12].copy_from_slice(&size.to_be_bytes());
    if bytes[16] == 2 {
        seal(&mut bytes);
    } else {
        bytes[16] &= 1;
        let crc = crc32(&bytes[16..]);
        bytes[12..16].copy_from_slice(&crc.to_be_bytes());
    }
    bytes
}

/// A header of a client around the input, whose first byte says how many records it is.
fn framed(codec: Codec, input: &[u8]) -> Vec<u8> {
    let mut choices = Choices(input);
    let count = i32::from(choices.u8() % 8);
    let mut bytes = vec![0; HEADER_BYTES];
    bytes[16] = 2;
    bytes[22] = codec.id();
    bytes[23..27].copy_from_slice(&(count - 1).to_be_bytes());
    bytes[27..35].copy_from_slice(&NOW.0.to_be_bytes());
    bytes[43..57].fill(0xff);
    bytes[57..].copy_from_slice(&count.to_be_bytes());
    Compressor::new()
        .compress(codec, None, Lz4Header::Checked, choices.0, &mut bytes)
        .unwrap();
    sealed(&bytes)
}

fn wrapped(codec: Codec, input: &[u8]) -> Vec<u8> {
    let wrapper = OldMessage {
        offset: Offset(0),
        timestamp: NOW,
        key: None,
        value: None,
    };
    let mut bytes = Vec::new();
    write_wrapper(
        &mut bytes,
        1,
        0,
        codec,
        &wrapper,
        input,
        &mut Compressor::new(),
    )
    .unwrap();
    bytes
}

fn append(log: &Arc<Log>, bytes: &[u8]) {
    let given = bytes.to_vec();
    let end = log.end_offset();
    let answer = log.append_batches(bytes, &AppendOptions::default());
    assert!(given == bytes, "the caller's bytes stay");
    match answer {
        Ok(stored) if stored.records == 0 => assert_eq!(log.end_offset(), end),
        Ok(stored) => check_stored(log, end, &stored),
        Err(error) => {
            assert_eq!(log.end_offset(), end);
            check_error(&error);
        }
    }
}

fn check_error(error: &Error) {
    assert!(!error.is_io(), "{error:?}");
    let listed = error.record_errors();
    assert!(listed.windows(2).all(|pair| pair[0].index < pair[1].index));
    if let Some(first) = listed.first() {
        assert_eq!(error.record_index(), Some(first.index));
        let is_timestamp = listed.iter().any(|e| e.kafka_code == 32);
        assert_eq!(error.kafka_code() == 32, is_timestamp);
    }
}

fn check_stored(log: &Arc<Log>, end: Offset, stored: &AppendResult) {
    assert_eq!(stored.first_offset, end);
    assert_eq!(stored.last_offset, end + (i64::from(stored.records) - 1));
    assert_eq!(log.end_offset(), stored.last_offset.next());
    let mut buffer = vec![0; MESSAGE_MAX];
    let read = log.read(end, &mut buffer, &ReadOptions::default()).unwrap();
    assert_eq!(
        (read.batches, read.bytes as u64),
        (1, stored.bytes_appended)
    );
    let batch = Batch::new(&buffer[..read.bytes]).unwrap();
    batch.ensure_valid().unwrap();
    assert_eq!(batch.header().max_timestamp, stored.max_timestamp);
    let found = decode(&batch);
    // A few bytes may stand for so many records that decoding gave up.
    if found.records.len() == stored.records as usize {
        assert!(!found.failed);
    }
    for (i, record) in (0..).zip(&found.records) {
        assert_eq!(record.offset, end + i);
        assert!(record.timestamp <= stored.max_timestamp.0.max(-1));
    }
}

pub(super) fn seeds() -> Vec<Vec<u8>> {
    let mut builder = BatchBuilder::new();
    let keys: [Option<&[u8]>; 3] = [Some(b"a"), None, Some(b"")];
    for (time, key) in (NOW.0..).zip(keys) {
        builder
            .push(TimestampMs(time), key, Some(b"value"), [].into_iter())
            .unwrap();
    }
    let mut seeds = Vec::new();
    for (i, codec) in (0..).zip(Codec::ALL) {
        let options = BatchOptions {
            codec,
            ..BatchOptions::default()
        };
        let batch = builder.finish(&options).unwrap();
        let storing = [0, 1, 0, 2, 3][usize::from(i)];
        seeds.push([&[storing, i, i], &*batch].concat());
    }
    // Its records alone, behind their count.
    let plain = builder.finish(&BatchOptions::default()).unwrap();
    for codec in 0..5 {
        seeds.push([&[codec, 0, codec, 3], &plain[HEADER_BYTES..]].concat());
    }
    for magic in [0, 1] {
        let mut messages = Vec::new();
        for (i, key) in (0..).zip(keys) {
            let message = OldMessage {
                offset: Offset(i),
                timestamp: NOW,
                key,
                value: Some(b"v"),
            };
            write_message(&mut messages, magic, 0, &message);
        }
        seeds.push([&[0, 2, 1], &*messages].concat());
        seeds.push([&[5, 0, 2], &*messages].concat());
    }
    seeds
}
