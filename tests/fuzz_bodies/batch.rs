//! Batches of magic 2: header, records, and all codecs around them.

use klog::format::batch::{
    Batch, BatchHeader, HEADER_BYTES, Next, TimestampType, next_in_memory, seal, set_max_timestamp,
    stamp,
};
use klog::format::builder::{BatchBuilder, BatchOptions};
use klog::format::codec::{Codec, Compressor, Lz4Header};
use klog::format::decoder::RecordDecoder;
use klog::format::record::Header;
use klog::types::{LeaderEpoch, Offset, ProducerId, TimestampMs};

use super::Choices;

/// Bodies of compressed records above this are refused here.
pub(super) const BODY_MAX: usize = 1024 * 1024;
/// Decoding stops when it gave so many bytes: a small batch may stand for gigabytes.
const BYTES_MAX: usize = 4 * 1024 * 1024;

/// A record with its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Decoded {
    pub(super) offset: Offset,
    pub(super) timestamp: i64,
    pub(super) sequence: i32,
    pub(super) key: Option<Vec<u8>>,
    pub(super) value: Option<Vec<u8>>,
    pub(super) headers: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) records: Vec<Decoded>,
    /// Whether it ended with an error, or was too much.
    pub(super) failed: bool,
}

/// Decodes a batch, with a look at what the decoder holds.
pub(super) fn decode(batch: &Batch<'_>) -> Outcome {
    let mut decoder = RecordDecoder::new();
    decoder.set_max_body_bytes(BODY_MAX);
    let mut outcome = Outcome {
        records: Vec::new(),
        failed: true,
    };
    if decoder.begin(batch).is_err() {
        assert!(
            decoder.next(batch).unwrap().is_none(),
            "what did not begin has nothing"
        );
        return outcome;
    }
    let mut given = 0;
    loop {
        match decoder.next(batch) {
            Ok(Some(record)) => {
                let headers: Vec<_> = record
                    .headers
                    .map(|h| (h.key.to_vec(), h.value.map(<[u8]>::to_vec)))
                    .collect();
                assert_eq!(headers.len(), record.headers.len());
                given +=
                    1 + record.key.map_or(0, <[u8]>::len) + record.value.map_or(0, <[u8]>::len);
                given += headers
                    .iter()
                    .map(|(k, v)| k.len() + v.as_ref().map_or(1, Vec::len))
                    .sum::<usize>();
                outcome.records.push(Decoded {
                    offset: record.offset,
                    timestamp: record.timestamp.0,
                    sequence: record.sequence,
                    key: record.key.map(<[u8]>::to_vec),
                    value: record.value.map(<[u8]>::to_vec),
                    headers,
                });
            }
            Ok(None) => {
                outcome.failed = false;
                break;
            }
            Err(error) => {
                assert!(!error.is_io());
                break;
            }
        }
        assert!(
            decoder.inflated().len() <= 2 * BODY_MAX,
            "a decoder holds little more than one record"
        );
        if given > BYTES_MAX {
            return outcome;
        }
    }
    assert!(
        decoder.next(batch).unwrap().is_none(),
        "after the end, or an error, there is nothing"
    );
    let claimed = batch.header().record_count;
    if batch.header().is_v2() && claimed >= 0 {
        let found = i32::try_from(outcome.records.len()).unwrap();
        assert!(found <= claimed && (outcome.failed || found == claimed));
    }
    outcome
}

pub(super) fn body(data: &[u8]) {
    as_it_is(data);
    as_records(data);
    as_input(data);
}

fn as_it_is(data: &[u8]) {
    let header = BatchHeader::parse(data);
    match next_in_memory(data) {
        Ok(Next::Batch(size)) => {
            assert!(size as usize <= data.len());
            if let Ok(batch) = Batch::new(&data[..size as usize]) {
                assert_eq!(header.as_ref(), Some(batch.header()));
                check(&batch);
            }
        }
        Ok(Next::End) | Err(_) => {}
    }
    // With a size that is theirs, and the magic of this format.
    if data.len() >= HEADER_BYTES {
        let mut fixed = data.to_vec();
        fixed[8..12].copy_from_slice(&u32::try_from(data.len() - 12).unwrap().to_be_bytes());
        fixed[16] = 2;
        seal(&mut fixed);
        let batch = Batch::new(&fixed).unwrap();
        batch.ensure_valid().unwrap();
        check(&batch);
    }
}

/// A header out of the first bytes, and the rest as records: plain or compressed makes no difference.
fn as_records(data: &[u8]) {
    let mut choices = Choices(data);
    let (count, attributes) = (i32::from(choices.u8() % 8), choices.u8() & 0x78);
    let mut header = [0; HEADER_BYTES];
    header[..8].copy_from_slice(&choices.array::<8>());
    header[16] = 2;
    header[22] = attributes;
    header[23..43].copy_from_slice(&choices.array::<20>());
    header[53..57].copy_from_slice(&choices.array::<4>());
    header[57..].copy_from_slice(&count.to_be_bytes());
    let records = choices.0;
    let of = |codec: Codec| {
        let mut bytes = header.to_vec();
        bytes[22] |= codec.id();
        Compressor::new()
            .compress(codec, None, Lz4Header::Checked, records, &mut bytes)
            .unwrap();
        let size = u32::try_from(bytes.len() - 12).unwrap();
        bytes[8..12].copy_from_slice(&size.to_be_bytes());
        seal(&mut bytes);
        bytes
    };
    let plain = of(Codec::None);
    let plain = Batch::new(&plain).unwrap();
    let expected = decode(&plain);
    check(&plain);
    for codec in [Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd] {
        let bytes = of(codec);
        let batch = Batch::new(&bytes).unwrap();
        assert_eq!(
            decode(&batch),
            expected,
            "{codec} gives what no codec gives"
        );
    }
}

/// Records out of the data are written and read back.
fn as_input(data: &[u8]) {
    let mut choices = Choices(data);
    let codec = Codec::ALL[choices.below(5)];
    let append_time = (choices.u8() < 60).then_some(TimestampMs(1_700_000_000_000));
    let mut builder = BatchBuilder::new();
    let mut expected = Vec::new();
    while !choices.is_empty() && expected.len() < 20 {
        let mut nullable = |limit| {
            (choices.u8() < limit).then(|| {
                let len = choices.below(60);
                choices.bytes(len)
            })
        };
        let (key, value) = (nullable(200), nullable(230));
        let headers: Vec<_> = (0..choices.below(3))
            .map(|_| {
                (
                    choices.bytes(3),
                    (choices.u8() < 200).then(|| choices.bytes(4)),
                )
            })
            .collect();
        let timestamp = TimestampMs(choices.i64());
        let as_headers: Vec<_> = headers
            .iter()
            .map(|(key, value)| Header { key, value: *value })
            .collect();
        let pushed = builder.push(timestamp, key, value, as_headers.iter().copied());
        assert_eq!(pushed.is_ok(), timestamp.0 >= -1);
        if pushed.is_ok() {
            let headers: Vec<_> = headers
                .iter()
                .map(|(k, v)| (k.to_vec(), v.map(<[u8]>::to_vec)))
                .collect();
            expected.push((append_time.unwrap_or(timestamp).0, key, value, headers));
        }
    }
    let options = BatchOptions {
        codec,
        log_append_time: append_time,
        base_offset: Offset(5),
        ..BatchOptions::default()
    };
    let bytes = builder.finish(&options).unwrap();
    let batch = Batch::new(bytes).unwrap();
    batch.ensure_valid().unwrap();
    let found = decode(&batch);
    assert!(!found.failed && found.records.len() == expected.len());
    for (found, (timestamp, key, value, headers)) in found.records.iter().zip(&expected) {
        assert_eq!(
            (
                found.timestamp,
                found.key.as_deref(),
                found.value.as_deref()
            ),
            (*timestamp, *key, *value)
        );
        assert_eq!(&found.headers, headers);
    }
    check(&batch);
}

/// What must hold of any batch.
fn check(batch: &Batch<'_>) {
    let header = *batch.header();
    let found = decode(batch);
    let _ = (
        header.last_sequence(),
        header.delete_horizon(),
        header.timestamp_type(),
    );
    if !header.is_v2() {
        return;
    }
    // What a leader writes into it lies outside the checksum.
    let is_valid = batch.ensure_valid().is_ok();
    let mut stamped = batch.bytes().to_vec();
    stamp(&mut stamped, Offset(i64::MAX), LeaderEpoch(9));
    let moved = Batch::new(&stamped).unwrap();
    assert_eq!(moved.ensure_valid().is_ok(), is_valid);
    assert_eq!(
        (moved.header().base_offset, moved.header().leader_epoch),
        (Offset(i64::MAX), LeaderEpoch(9))
    );
    if is_valid {
        set_max_timestamp(&mut stamped, true, TimestampMs(3));
        let timed = Batch::new(&stamped).unwrap();
        timed.ensure_valid().unwrap();
        assert_eq!(
            timed.header().timestamp_type(),
            TimestampType::LogAppendTime
        );
        let records = decode(&timed).records;
        assert!(records.iter().all(|record| record.timestamp == 3));
    }
    if !found.failed {
        check_written_again(&header, &found.records);
    }
}

/// Records that were read are written and read back; what is written once is written the same again.
fn check_written_again(header: &BatchHeader, records: &[Decoded]) {
    let mut builder = BatchBuilder::new();
    if let (Some(horizon), false) = (header.delete_horizon(), records.is_empty()) {
        builder.set_delete_horizon(horizon);
    }
    for record in records {
        let delta = record.offset - header.base_offset;
        let Ok(delta) = i32::try_from(delta) else {
            return;
        };
        let headers: Vec<_> = record
            .headers
            .iter()
            .map(|(key, value)| Header {
                key,
                value: value.as_deref(),
            })
            .collect();
        let pushed = builder.push_at(
            delta,
            TimestampMs(record.timestamp),
            record.key.as_deref(),
            record.value.as_deref(),
            headers.iter().copied(),
        );
        // A writer wants rising offsets and times that are none below -1; a reader takes any.
        if pushed.is_err() {
            return;
        }
    }
    let codec = header.attributes.codec().unwrap_or(Codec::None);
    let is_append_time = header.attributes.is_log_append_time();
    let options = BatchOptions {
        base_offset: header.base_offset,
        leader_epoch: header.leader_epoch,
        codec,
        level: None,
        log_append_time: is_append_time.then_some(header.max_timestamp),
        producer_id: header.producer_id,
        producer_epoch: header.producer_epoch,
        base_sequence: header.base_sequence,
        transactional: header.attributes.is_transactional(),
        control: header.attributes.is_control(),
        last_offset_delta: Some(header.last_offset_delta()),
        max_timestamp: Some(header.max_timestamp),
    };
    let written = builder.finish(&options).unwrap().to_vec();
    let again = Batch::new(&written).unwrap();
    again.ensure_valid().unwrap();
    let kept = |h: &BatchHeader| {
        (
            h.base_offset,
            h.last_offset,
            h.leader_epoch,
            h.max_timestamp,
            h.producer_id,
            h.record_count,
        )
    };
    assert_eq!(kept(again.header()), kept(header));
    let mut expected = records.to_vec();
    for record in &mut expected {
        if header.producer_id == ProducerId::NONE && header.base_sequence < 0 {
            record.sequence = -1;
        }
    }
    assert_eq!(
        decode(&again),
        Outcome {
            records: expected,
            failed: false
        }
    );
    assert_eq!(builder.finish(&options).unwrap(), written);
}

pub(super) fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for codec in Codec::ALL {
        let mut builder = BatchBuilder::new();
        for (i, value) in (0..).zip([0, 10, 20, 300]) {
            let header = Header {
                key: b"h",
                value: (i % 2 == 0).then_some(b"v"),
            };
            let value = vec![b'v'; value];
            builder
                .push(
                    TimestampMs(1_700_000_000_000 - i),
                    Some(b"key"),
                    Some(&value),
                    [header].into_iter(),
                )
                .unwrap();
        }
        let options = BatchOptions {
            base_offset: Offset(100),
            leader_epoch: LeaderEpoch(5),
            codec,
            producer_id: ProducerId(4001),
            producer_epoch: 7,
            base_sequence: 41,
            transactional: true,
            ..BatchOptions::default()
        };
        let bytes = builder.finish(&options).unwrap().to_vec();
        if codec == Codec::None {
            // As a header and records: count, attributes, offset, deltas and times, sequence.
            seeds.push([&[4, 0], &[0; 32][..], &bytes[HEADER_BYTES..]].concat());
            seeds.push([&[3, 0x48], &[1; 32][..], &bytes[HEADER_BYTES..]].concat());
        }
        seeds.push(bytes);
    }
    let mut empty = BatchBuilder::new();
    let options = BatchOptions {
        last_offset_delta: Some(3),
        control: true,
        ..BatchOptions::default()
    };
    seeds.push(empty.finish(&options).unwrap().to_vec());
    let mut cleaned = BatchBuilder::new();
    cleaned.set_delete_horizon(TimestampMs(1_700_090_000_000));
    cleaned
        .push_at(
            1,
            TimestampMs(1_700_000_000_001),
            Some(b"b"),
            None,
            [].into_iter(),
        )
        .unwrap();
    cleaned
        .push_at(
            5,
            TimestampMs(1_700_000_000_002),
            None,
            Some(b""),
            [].into_iter(),
        )
        .unwrap();
    seeds.push(cleaned.finish(&BatchOptions::default()).unwrap().to_vec());
    seeds.push((0..=255).collect());
    seeds
}
