//! Messages of magic 0 and 1, and compressed wrappers around them.

use klog::format::batch::{Batch, BatchHeader, Next, next_in_memory};
use klog::format::codec::{Codec, Compressor, Decompressor, Lz4Header};
use klog::format::decoder::RecordDecoder;
use klog::format::legacy::{self, OldMessage, write_message, write_wrapper};
use klog::types::{Offset, TimestampMs};

use super::Choices;
use super::batch::{BODY_MAX, Decoded, Outcome, decode};

pub(super) fn body(data: &[u8]) {
    as_it_is(data);
    as_wrapper(data);
    as_message(data);
}

/// The bytes with a size that is theirs, and a magic below 2.
fn as_it_is(data: &[u8]) {
    if let Ok(batch) = Batch::new(data) {
        check(&batch);
    }
    if data.len() < 26 {
        return;
    }
    let mut fixed = data.to_vec();
    fixed[8..12].copy_from_slice(&u32::try_from(data.len() - 12).unwrap().to_be_bytes());
    fixed[16] &= 1;
    if let Ok(batch) = Batch::new(&fixed) {
        check(&batch);
    }
}

fn check(batch: &Batch<'_>) {
    let Outcome { records, failed } = decode(batch);
    if batch.header().is_v2() {
        return;
    }
    let base = legacy::base_offset(batch, &mut Decompressor::new());
    if failed {
        return;
    }
    // The base offset that is told without holding the records is that of the first one.
    let base = base.expect("what decodes has a base offset");
    assert_eq!(base, records[0].offset);
    if batch.header().magic == 1 && batch.header().base_offset != Offset::ZERO {
        assert_eq!(
            records[records.len() - 1].offset,
            batch.header().last_offset
        );
    }
}

/// A wrapper around the rest of the data, compressed: its records are those of the inner messages one by one.
fn as_wrapper(data: &[u8]) {
    let mut choices = Choices(data);
    let magic = i8::try_from(choices.below(2)).unwrap();
    let codec = [Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Lz4][choices.below(4)];
    let attributes = if magic == 1 && choices.below(2) == 1 {
        8
    } else {
        0
    };
    let offset = Offset(i64::from(u32::from_be_bytes(choices.array())));
    let inner = choices.0;
    let wrapper = OldMessage {
        offset,
        timestamp: TimestampMs(77),
        key: None,
        value: None,
    };
    let mut bytes = Vec::new();
    write_wrapper(
        &mut bytes,
        magic,
        attributes,
        codec,
        &wrapper,
        inner,
        &mut Compressor::new(),
    )
    .unwrap();
    let batch = Batch::new(&bytes).unwrap();
    batch.ensure_valid().unwrap();
    check(&batch);
    let found = decode(&batch);

    let mut plain: Vec<Decoded> = Vec::new();
    let mut rest = inner;
    // The first bytes that are no message of this magic, plain and whole, end the comparison.
    while rest.len() > 17 && rest[16] == magic.cast_unsigned() && rest[17].trailing_zeros() >= 3 {
        let Ok(Next::Batch(size)) = next_in_memory(rest) else {
            break;
        };
        let (one, behind) = rest.split_at(size as usize);
        let Ok(message) = Batch::new(one) else { break };
        let Outcome {
            records,
            failed: false,
        } = decode(&message)
        else {
            break;
        };
        plain.extend(records);
        rest = behind;
    }
    for (one, other) in found.records.iter().zip(&plain) {
        assert_eq!((&one.key, &one.value), (&other.key, &other.value));
        if attributes == 0 {
            assert_eq!(one.timestamp, other.timestamp);
        } else {
            assert_eq!(
                one.timestamp, 77,
                "the time of a wrapper is that of the append"
            );
        }
        if magic == 0 {
            assert_eq!(
                one.offset, other.offset,
                "magic 0 stores offsets as they are"
            );
        }
    }
    if rest.is_empty() && !plain.is_empty() && !found.failed {
        assert_eq!(found.records.len(), plain.len());
    }
    // What the header says of a wrapper that was written is what it was given.
    assert_eq!(BatchHeader::parse(&bytes).unwrap().base_offset, offset);
    let mut value = Vec::new();
    let header = if magic == 0 {
        Lz4Header::LegacyUnchecked
    } else {
        Lz4Header::Checked
    };
    Compressor::new()
        .compress(codec, None, header, inner, &mut value)
        .unwrap();
    assert!(bytes.ends_with(&value));
}

/// One message with a key and a value out of the data.
fn as_message(data: &[u8]) {
    let mut choices = Choices(data);
    let magic = i8::try_from(choices.below(2)).unwrap();
    let mut nullable = || (choices.u8() < 200).then(|| choices.long_bytes());
    let (key, value) = (nullable(), nullable());
    let message = OldMessage {
        offset: Offset(choices.i64()),
        timestamp: TimestampMs(choices.i64()),
        key,
        value,
    };
    let mut bytes = Vec::new();
    write_message(&mut bytes, magic, 0, &message);
    let batch = Batch::new(&bytes).unwrap();
    batch.ensure_valid().unwrap();
    let mut decoder = RecordDecoder::new();
    decoder.set_max_body_bytes(BODY_MAX);
    decoder.begin(&batch).unwrap();
    let record = decoder.next(&batch).unwrap().unwrap();
    assert_eq!(
        (record.offset, record.key, record.value),
        (message.offset, key, value)
    );
    assert_eq!(
        record.timestamp.0,
        if magic == 1 { message.timestamp.0 } else { -1 }
    );
    assert!(decoder.next(&batch).unwrap().is_none());
}

pub(super) fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for magic in [0, 1] {
        let message = |offset: i64| OldMessage {
            offset: Offset(offset),
            timestamp: TimestampMs(1_700_000_000_000 + offset),
            key: (offset % 2 == 0).then_some(b"k"),
            value: Some(b"value"),
        };
        let mut inner = Vec::new();
        for offset in 0..3 {
            write_message(&mut inner, magic, 0, &message(offset));
        }
        seeds.push(inner[..inner.len() / 3].to_vec());
        // As a wrapper around these: magic, codec, time, offset.
        for codec in 0..3 {
            seeds.push(
                [
                    &[magic.cast_unsigned(), codec, codec % 2, 0, 0, 0, 12],
                    &*inner,
                ]
                .concat(),
            );
        }
        for codec in [Codec::Gzip, Codec::Snappy, Codec::Lz4] {
            let mut bytes = Vec::new();
            let mut compressor = Compressor::new();
            write_wrapper(
                &mut bytes,
                magic,
                0,
                codec,
                &message(12),
                &inner,
                &mut compressor,
            )
            .unwrap();
            seeds.push(bytes);
        }
    }
    seeds
}
