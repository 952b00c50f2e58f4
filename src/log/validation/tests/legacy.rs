//! Messages of magic 0 and 1: state.md 3.4 (1, 2), 3.10, E17, and the append sides of HC36.

use super::*;
use crate::format::legacy::{OldMessage, write_message, write_wrapper};

fn old<'a>(offset: i64, timestamp: i64, key: Option<&'a [u8]>, value: &'a [u8]) -> OldMessage<'a> {
    OldMessage {
        offset: Offset(offset),
        timestamp: TimestampMs(timestamp),
        key,
        value: Some(value),
    }
}

/// `n` messages with the offsets 0, 1, ..
pub(super) fn messages(magic: i8, n: u8) -> Vec<u8> {
    let mut bytes = Vec::new();
    for i in 0..n {
        let (key, value) = ([b'k', b'0' + i], [b'v', b'0' + i]);
        let message = old(i64::from(i), T0 + i64::from(i), Some(&key), &value);
        write_message(&mut bytes, magic, 0, &message);
    }
    bytes
}

pub(super) fn wrapper_of(
    magic: i8,
    codec: Codec,
    attributes: u8,
    offset: i64,
    inner: &[u8],
) -> Vec<u8> {
    let mut bytes = Vec::new();
    let wrapper = old(offset, T0, None, &[]);
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
    bytes
}

/// A whole append of `n` compressed messages.
pub(super) fn wrapper(magic: i8, codec: Codec, n: u8) -> Vec<u8> {
    wrapper_of(magic, codec, 0, i64::from(n) - 1, &messages(magic, n))
}

fn rows(n: i64, timestamp: impl Fn(i64) -> i64) -> Vec<(i64, i64, String, String)> {
    (0..n)
        .map(|i| (i, timestamp(i), format!("k{i}"), format!("v{i}")))
        .collect()
}

#[test]
fn e17_old_messages_become_one_batch_of_83_bytes() {
    let zero = messages(0, 2);
    assert_eq!(zero.len(), 60);
    let stored = append(&zero, &config()).unwrap();
    assert_eq!((stored.bytes.len(), stored.header.magic), (83, 2));
    assert_eq!(records(&stored.bytes), rows(2, |_| -1));
    assert_eq!(stored.header.max_timestamp, TimestampMs::NONE);
    assert_eq!(stored.log_append_time, TimestampMs::NONE);

    let one = messages(1, 2);
    assert_eq!(one.len(), 76);
    let stored = append(&one, &config()).unwrap();
    assert_eq!(records(&stored.bytes), rows(2, |i| T0 + i));
    assert_eq!(stored.bytes, p(2), "what a producer of today would send");
}

#[test]
fn e17_a_wrapper_becomes_a_batch_of_its_codec() {
    for codec in [Codec::Gzip, Codec::Snappy, Codec::Lz4] {
        for magic in [0, 1] {
            let stored = append(&wrapper(magic, codec, 3), &config()).unwrap();
            assert_eq!((codec_of(&stored), stored.header.magic), (codec, 2));
            let expected = rows(3, |i| if magic == 0 { -1 } else { T0 + i });
            assert_eq!(records(&stored.bytes), expected);
        }
    }
    let plain = append(
        &wrapper(1, Codec::Gzip, 3),
        &storing(Compression::Uncompressed),
    );
    assert_eq!(plain.unwrap().bytes, p(3));
    let gzip = append(&messages(1, 3), &storing(Compression::Gzip)).unwrap();
    assert_eq!(codec_of(&gzip), Codec::Gzip);
    assert_eq!(records(&gzip.bytes), rows(3, |i| T0 + i));
}

#[test]
fn e17_wrappers_and_magics_do_not_mix_in_one_append() {
    let one = wrapper(1, Codec::Gzip, 2);
    for bytes in [
        [&one[..], &one].concat(),
        [&messages(1, 1)[..], &one].concat(),
        [&messages(1, 1)[..], &p(1)].concat(),
        [&messages(0, 1)[..], &messages(1, 1)].concat(),
        [&p(1)[..], &messages(1, 1)].concat(),
        [&p(1)[..], &p(1)].concat(),
    ] {
        for compression in [Compression::Producer, Compression::Gzip] {
            let config = storing(compression);
            assert_eq!(kind(append(&bytes, &config)), ErrorKind::InvalidRecord);
        }
    }
}

#[test]
fn rule_3_3_several_batches_are_refused_to_a_coordinator_too() {
    let bytes = [p(1), p(1)].concat();
    let answer = append_as(Origin::Coordinator, &bytes, &config(), NOW);
    assert_eq!(kind(answer), ErrorKind::InvalidRecord);
}

#[test]
fn rule_3_4_2_the_checksum_of_an_inner_message_counts() {
    let mut inner = messages(1, 3);
    *inner.last_mut().unwrap() ^= 1;
    let bytes = wrapper_of(1, Codec::Gzip, 0, 2, &inner);
    assert_eq!(kind(append(&bytes, &config())), ErrorKind::CorruptMessage);
    // At once: before the keys that were found missing are told.
    let mut no_key = Vec::new();
    write_message(&mut no_key, 1, 0, &old(0, T0, None, b"v"));
    no_key.extend(&inner[38..]);
    let bytes = wrapper_of(1, Codec::Gzip, 0, 2, &no_key);
    assert_eq!(
        kind(append(&bytes, &compacted())),
        ErrorKind::CorruptMessage
    );
}

#[test]
fn rule_3_4_1_an_inner_message_of_another_magic_is_a_record_error() {
    let late = T0 + 3_600_001;
    let mixed = |timestamp| {
        let mut inner = messages(0, 1);
        write_message(&mut inner, 1, 0, &old(1, timestamp, Some(b"k"), b"v"));
        wrapper_of(1, Codec::Gzip, 0, 1, &inner)
    };
    let error = append(&mixed(T0), &config()).unwrap_err();
    assert_eq!(
        (error.kind(), listed(&error)),
        (ErrorKind::InvalidRecord, vec![(0, 87)])
    );
    let error = append(&mixed(late), &config()).unwrap_err();
    assert_eq!(
        (error.kind(), listed(&error)),
        (ErrorKind::InvalidTimestamp, vec![(0, 87), (1, 32)])
    );
    // Its checksum and key are not looked at then.
    let mut inner = messages(0, 1);
    inner[12] ^= 1;
    let error = append(&wrapper_of(1, Codec::Gzip, 0, 0, &inner), &compacted()).unwrap_err();
    assert_eq!(listed(&error), [(0, 87)]);
}

#[test]
fn rule_3_10_a_wrapper_is_judged_as_a_whole() {
    let refused = |inner: &[u8], offset| {
        let bytes = wrapper_of(1, Codec::Gzip, 0, offset, inner);
        kind(append(&bytes, &config()))
    };
    assert_eq!(refused(&[], 0), ErrorKind::InvalidRecord, "no message");
    assert_eq!(
        refused(&messages(1, 3), 1),
        ErrorKind::InvalidRecord,
        "offset below the last"
    );
    let mut short = messages(1, 1);
    short[8..12].copy_from_slice(&13i32.to_be_bytes());
    assert_eq!(refused(&short, 0), ErrorKind::CorruptMessage, "size 13");
    // Also when a message before it has a wrong checksum, or no key.
    let mut late = messages(1, 2);
    late[30] ^= 1;
    late.extend(&short);
    assert_eq!(refused(&late, 2), ErrorKind::CorruptMessage);
    // A wrapper offset of 0 is what some producers send.
    let zero = wrapper_of(1, Codec::Gzip, 0, 0, &messages(1, 3));
    assert_eq!(
        records(&append(&zero, &config()).unwrap().bytes),
        rows(3, |i| T0 + i)
    );
}

#[test]
fn rule_3_10_neither_zstd_nor_a_null_value_makes_a_wrapper() {
    let zstd = wrapper(1, Codec::Zstd, 1);
    assert_eq!(kind(append(&zstd, &config())), ErrorKind::InvalidRecord);
    let mut null = Vec::new();
    let message = OldMessage {
        value: None,
        ..old(0, T0, None, b"")
    };
    write_message(&mut null, 1, Codec::Gzip.id(), &message);
    assert_eq!(kind(append(&null, &config())), ErrorKind::InvalidRecord);
}

#[test]
fn d17_a_key_that_passes_the_end_of_its_message_is_invalid() {
    let mut bytes = messages(1, 1);
    bytes[26..30].copy_from_slice(&100i32.to_be_bytes());
    let crc = crate::format::crc::crc32(&bytes[16..]);
    bytes[12..16].copy_from_slice(&crc.to_be_bytes());
    assert_eq!(kind(append(&bytes, &config())), ErrorKind::InvalidRecord);
}

#[test]
fn rule_3_4_4_old_messages_have_a_timestamp_type_too() {
    const APPEND_TIME: u8 = 8;
    let mut flagged = Vec::new();
    write_message(&mut flagged, 1, APPEND_TIME, &old(0, T0, None, b"v"));
    // In bounds a topic of create times takes it, one of append times does not.
    let stored = append(&flagged, &config()).unwrap();
    assert!(!stored.header.attributes.is_log_append_time());
    assert_eq!(
        kind(append(&flagged, &stamping())),
        ErrorKind::InvalidTimestamp
    );
    // Inside a wrapper every message has the wrapper's time.
    let inner = messages(1, 2);
    let bytes = wrapper_of(1, Codec::Gzip, APPEND_TIME, 1, &inner);
    let stored = append(&bytes, &config()).unwrap();
    assert_eq!(records(&stored.bytes), rows(2, |_| T0));
    let error = append(&bytes, &stamping()).unwrap_err();
    assert_eq!(listed(&error), [(0, 32), (1, 32)]);
    // Magic 0 has no type and no times: the log's own apply.
    let now = TimestampMs(T0 + 7);
    let stored = append_as(Origin::Client, &messages(0, 2), &stamping(), now).unwrap();
    assert_eq!(records(&stored.bytes), rows(2, |_| T0 + 7));
    assert_eq!(
        (stored.header.max_timestamp, stored.log_append_time),
        (now, now)
    );
}

#[test]
fn e18_the_index_of_a_bad_record_restarts_with_each_message() {
    let mut bytes = messages(1, 1);
    write_message(&mut bytes, 1, 0, &old(1, T0, None, b"v"));
    let error = append(&bytes, &compacted()).unwrap_err();
    assert_eq!(
        (error.kind(), listed(&error)),
        (ErrorKind::InvalidRecord, vec![(0, 87)])
    );
    // Later messages are not looked at any more.
    write_message(&mut bytes, 1, 0, &old(2, T0 + 9_000_000, None, b"v"));
    let error = append(&bytes, &compacted()).unwrap_err();
    assert_eq!(listed(&error), [(0, 87)]);
}

#[test]
fn rule_3_10_a_conversion_reads_everything_before_it_judges_a_record() {
    let mut late = Vec::new();
    write_message(&mut late, 1, 0, &old(0, T0 + 9_000_000, Some(b"k"), b"v"));
    let good = [&late[..], &p(1)].concat();
    assert_eq!(kind(append(&good, &config())), ErrorKind::InvalidTimestamp);
    let broken = patched(p(1), COUNT_AT, 2i32.to_be_bytes());
    let bad = [&late[..], &broken].concat();
    assert_eq!(kind(append(&bad, &config())), ErrorKind::InvalidRecord);
    // A rebuild that compresses does not.
    assert_eq!(
        kind(append(&bad, &storing(Compression::Gzip))),
        ErrorKind::InvalidTimestamp
    );
}

#[test]
fn hc36_holes_in_a_wrapper_are_closed_and_a_wrapper_inside_is_refused() {
    for magic in [0, 1] {
        let mut inner = Vec::new();
        for offset in [0, 2, 5] {
            write_message(&mut inner, magic, 0, &old(offset, T0, Some(b"k"), b"v"));
        }
        let stored = append(&wrapper_of(magic, Codec::Gzip, 0, 9, &inner), &config()).unwrap();
        let offsets: Vec<_> = records(&stored.bytes).iter().map(|r| r.0).collect();
        assert_eq!(offsets, [0, 1, 2]);
        let nested = wrapper(magic, Codec::Gzip, 2);
        let bytes = wrapper_of(magic, Codec::Gzip, 0, 1, &nested);
        assert_eq!(kind(append(&bytes, &config())), ErrorKind::InvalidRecord);
    }
}
