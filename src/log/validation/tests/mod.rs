//! Tests of validation, one file for each concept; here is what they build appends with. Names cite the rule or case.

mod built;
mod hostile;
mod kept;
mod legacy;
mod property;
mod rebuilt;
mod rules;
mod shallow;

use super::leader::Validated;
use super::{Origin, analyze, validate_leader};
use crate::config::{CleanupPolicy, Compression, LogConfig, TimestampType};
use crate::error::{Error, ErrorKind, Result};
use crate::format::batch::{Batch, BatchHeader, seal};
use crate::format::builder::{BatchBuilder, BatchOptions};
use crate::format::codec::{Codec, Compressor, Lz4Header};
use crate::format::decoder::RecordDecoder;
use crate::types::{LeaderEpoch, Offset, TimestampMs};

/// The time of the examples, also the clock's.
const T0: i64 = 1_700_000_000_000;
const NOW: TimestampMs = TimestampMs(T0);

const ATTRIBUTES_AT: usize = 21;
const LAST_OFFSET_DELTA_AT: usize = 23;
const BASE_SEQUENCE_AT: usize = 53;
const COUNT_AT: usize = 57;
const RECORDS_AT: usize = 61;

/// A record of a test: timestamp, key, value.
type Rec<'a> = (i64, Option<&'a str>, Option<&'a str>);

fn batch_with(options: &BatchOptions, records: &[Rec<'_>]) -> Vec<u8> {
    let mut builder = BatchBuilder::new();
    for (timestamp, key, value) in records {
        builder
            .push(
                TimestampMs(*timestamp),
                key.map(str::as_bytes),
                value.map(str::as_bytes),
                [].into_iter(),
            )
            .unwrap();
    }
    builder.finish(options).unwrap().to_vec()
}

fn plain(records: &[Rec<'_>]) -> Vec<u8> {
    batch_with(&BatchOptions::default(), records)
}

fn packed(codec: Codec, records: &[Rec<'_>]) -> Vec<u8> {
    let options = BatchOptions {
        codec,
        ..BatchOptions::default()
    };
    batch_with(&options, records)
}

/// `P n` of state.md 11: records k0=v0, k1=v1, .. at T0, T0+1, ..
fn numbered(options: &BatchOptions, n: usize) -> Vec<u8> {
    let texts: Vec<_> = (0..n).map(|i| (format!("k{i}"), format!("v{i}"))).collect();
    let records: Vec<Rec<'_>> = (T0..)
        .zip(&texts)
        .map(|(t, (k, v))| (t, Some(k.as_str()), Some(v.as_str())))
        .collect();
    batch_with(options, &records)
}

fn p(n: usize) -> Vec<u8> {
    numbered(&BatchOptions::default(), n)
}

/// The batch with other bytes at a place, and a checksum for it.
fn patched<const N: usize>(mut batch: Vec<u8>, at: usize, bytes: [u8; N]) -> Vec<u8> {
    batch[at..at + N].copy_from_slice(&bytes);
    seal(&mut batch);
    batch
}

/// A batch with this header and these bytes as records, compressed by the header's codec.
fn with_payload(header: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut batch = header[..RECORDS_AT].to_vec();
    let codec = BatchHeader::parse(header)
        .unwrap()
        .attributes
        .codec()
        .unwrap();
    Compressor::new()
        .compress(codec, None, Lz4Header::Checked, payload, &mut batch)
        .unwrap();
    let size = u32::try_from(batch.len() - 12).unwrap();
    batch[8..12].copy_from_slice(&size.to_be_bytes());
    seal(&mut batch);
    batch
}

fn config() -> LogConfig {
    LogConfig::default()
}

fn storing(compression: Compression) -> LogConfig {
    LogConfig {
        compression,
        ..config()
    }
}

fn compacted() -> LogConfig {
    LogConfig {
        cleanup_policy: CleanupPolicy {
            compact: true,
            delete: false,
        },
        ..config()
    }
}

fn stamping() -> LogConfig {
    LogConfig {
        timestamp_type: TimestampType::LogAppendTime,
        ..config()
    }
}

/// What a leader append of these bytes stores.
fn append_as(
    origin: Origin,
    bytes: &[u8],
    config: &LogConfig,
    now: TimestampMs,
) -> Result<Validated> {
    let analysis = analyze(bytes, origin, LeaderEpoch(0), config.max_message_bytes)?;
    let validated = validate_leader(bytes, &analysis, origin, config, now)?;
    let batch = Batch::new(&validated.bytes).unwrap();
    batch.ensure_valid().unwrap();
    assert_eq!(*batch.header(), validated.header);
    assert_eq!(validated.header.base_offset, Offset::ZERO);
    Ok(validated)
}

fn append(bytes: &[u8], config: &LogConfig) -> Result<Validated> {
    append_as(Origin::Client, bytes, config, NOW)
}

fn kind<T>(result: Result<T>) -> ErrorKind {
    match result {
        Ok(_) => unreachable!("the append was accepted"),
        Err(error) => error.kind(),
    }
}

/// The listed record errors as (index, Kafka's code).
fn listed(error: &Error) -> Vec<(usize, i32)> {
    let errors = error.record_errors();
    assert_eq!(error.record_index(), errors.first().map(|e| e.index));
    errors.iter().map(|e| (e.index, e.kafka_code)).collect()
}

/// The records of a stored batch: offset, timestamp, key, value; `-` is null.
fn records(bytes: &[u8]) -> Vec<(i64, i64, String, String)> {
    let batch = Batch::new(bytes).unwrap();
    let mut decoder = RecordDecoder::new();
    decoder.begin(&batch).unwrap();
    let text =
        |b: Option<&[u8]>| b.map_or("-".to_owned(), |b| String::from_utf8_lossy(b).into_owned());
    let mut found = Vec::new();
    while let Some(r) = decoder.next(&batch).unwrap() {
        found.push((r.offset.0, r.timestamp.0, text(r.key), text(r.value)));
    }
    found
}

fn codec_of(validated: &Validated) -> Codec {
    validated.header.attributes.codec().unwrap()
}
