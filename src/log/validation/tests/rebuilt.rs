//! Batches that are made anew: state.md 3.1, 3.2, 3.9, E8, E17.

use super::*;
use crate::format::record::Header;
use crate::types::ProducerId;

#[test]
fn e17_every_codec_becomes_the_one_of_the_topic() {
    for (compression, target) in [
        (Compression::Gzip, Codec::Gzip),
        (Compression::Snappy, Codec::Snappy),
        (Compression::Lz4, Codec::Lz4),
        (Compression::Zstd, Codec::Zstd),
        (Compression::Uncompressed, Codec::None),
    ] {
        for source in Codec::ALL {
            let options = BatchOptions {
                codec: source,
                ..BatchOptions::default()
            };
            let stored = append(&numbered(&options, 3), &storing(compression)).unwrap();
            assert_eq!(codec_of(&stored), target, "{source} to {target}");
            assert_eq!(records(&stored.bytes), records(&p(3)));
            if target == Codec::None {
                assert_eq!(stored.bytes, p(3));
            }
        }
    }
}

#[test]
fn rule_3_9_producer_and_transaction_stay_control_and_horizon_go() {
    let options = BatchOptions {
        codec: Codec::Zstd,
        producer_id: ProducerId(7),
        producer_epoch: 1,
        base_sequence: 0,
        transactional: true,
        ..BatchOptions::default()
    };
    let sent = numbered(&options, 2);
    let stored = append(&sent, &storing(Compression::Gzip)).unwrap();
    let header = stored.header;
    assert!(header.attributes.is_transactional());
    assert_eq!(
        (
            header.producer_id,
            header.producer_epoch,
            header.base_sequence
        ),
        (ProducerId(7), 1, 0)
    );
    // Unknown bits, control, delete horizon: only a coordinator gets so far with control.
    let sent = patched(sent, ATTRIBUTES_AT, [0x7f, 0xf4]);
    let stored = append_as(Origin::Coordinator, &sent, &storing(Compression::Gzip), NOW);
    assert_eq!(stored.unwrap().header.attributes.0, 0x11);
}

#[test]
fn rule_3_9_headers_values_and_odd_timestamps_are_those_that_came() {
    let mut builder = BatchBuilder::new();
    let header = |key, value| Header { key, value };
    let headers = [
        header(b"a".as_slice(), None),
        header(b"", Some(b"x".as_slice())),
    ];
    for (timestamp, key, value) in [
        (T0, Some(b"k".as_slice()), None),
        (-1, None, Some(b"v".as_slice())),
        (T0 - 50, Some(b""), Some(b"")),
    ] {
        builder
            .push(TimestampMs(timestamp), key, value, headers.iter().copied())
            .unwrap();
    }
    let plain = builder.finish(&BatchOptions::default()).unwrap().to_vec();
    let packed = builder
        .finish(&BatchOptions {
            codec: Codec::Lz4,
            ..BatchOptions::default()
        })
        .unwrap()
        .to_vec();
    let stored = append(&packed, &storing(Compression::Uncompressed)).unwrap();
    assert_eq!(stored.bytes, plain, "base timestamp is the first record's");
    let gzip = append(&plain, &storing(Compression::Gzip)).unwrap();
    let back = append(&gzip.bytes, &storing(Compression::Uncompressed)).unwrap();
    assert_eq!(back.bytes, plain);
}

#[test]
fn a_header_name_that_is_no_utf_8_is_kept() {
    let mut builder = BatchBuilder::new();
    let header = Header {
        key: b"\xff\xfe",
        value: None,
    };
    builder
        .push(NOW, Some(b"k"), None, [header].into_iter())
        .unwrap();
    let sent = builder.finish(&BatchOptions::default()).unwrap().to_vec();
    let gzip = append(&sent, &storing(Compression::Gzip)).unwrap();
    let back = append(&gzip.bytes, &storing(Compression::Uncompressed)).unwrap();
    assert_eq!(back.bytes, sent);
}

#[test]
fn rule_3_9_append_times_are_set_over_the_deltas_of_create_times() {
    let config = LogConfig {
        compression: Compression::Gzip,
        ..stamping()
    };
    let now = TimestampMs(T0 + 99);
    let stored = append_as(Origin::Client, &p(3), &config, now).unwrap();
    assert_eq!(
        (stored.header.max_timestamp, stored.log_append_time),
        (now, now)
    );
    assert_eq!(stored.header.base_timestamp, TimestampMs(T0));
    assert!(records(&stored.bytes).iter().all(|r| r.1 == now.0));
}

#[test]
fn rule_3_9_a_producer_that_is_not_whole_is_refused_by_a_rebuild_only() {
    let of = |producer_id, producer_epoch, base_sequence, transactional| {
        let options = BatchOptions {
            producer_id: ProducerId(producer_id),
            producer_epoch,
            base_sequence,
            transactional,
            ..BatchOptions::default()
        };
        numbered(&options, 1)
    };
    for sent in [
        of(-1, -1, -1, true),
        of(7, -1, 0, false),
        of(-5, -1, -1, false),
    ] {
        append(&sent, &config()).unwrap();
        let answer = append(&sent, &storing(Compression::Gzip));
        assert_eq!(kind(answer), ErrorKind::InvalidRecord);
    }
    append(&of(-5, 0, 0, true), &storing(Compression::Gzip)).unwrap();
    append(&of(-1, 3, 5, false), &storing(Compression::Gzip)).unwrap();
}

#[test]
fn d11_a_timestamp_below_none_is_refused_by_a_rebuild_only() {
    let sent = patched(p(1), 27, (-2i64).to_be_bytes());
    append(&sent, &config()).unwrap();
    let error = append(&sent, &storing(Compression::Gzip)).unwrap_err();
    assert_eq!(
        (error.kind(), error.record_index()),
        (ErrorKind::InvalidTimestamp, Some(0))
    );
}

#[test]
fn rule_3_1_a_level_belongs_to_the_codec_that_the_topic_names() {
    let value = (0..4000u32)
        .map(|i| char::from(b'a' + (i.wrapping_mul(i) % 7) as u8))
        .collect::<String>();
    let sent = plain(&[(T0, Some("k"), Some(&value))]);
    let of = |level| {
        let config = LogConfig {
            compression_gzip_level: level,
            ..storing(Compression::Gzip)
        };
        append(&sent, &config).unwrap().bytes.len()
    };
    assert!(of(9) < of(1), "{} {}", of(9), of(1));
}

#[test]
fn e8_a_rebuilt_batch_is_measured_again() {
    let value = "x".repeat(500);
    let sent = packed(Codec::Gzip, &[(T0, Some("k"), Some(&value))]);
    assert!(sent.len() < 200);
    let config = |compression, max| LogConfig {
        max_message_bytes: max,
        ..storing(compression)
    };
    append(&sent, &config(Compression::Producer, 200)).unwrap();
    let answer = append(&sent, &config(Compression::Uncompressed, 200));
    assert_eq!(kind(answer), ErrorKind::MessageTooLarge);
    let answer = append(&sent, &config(Compression::Uncompressed, 570));
    assert_eq!(kind(answer), ErrorKind::MessageTooLarge);
    let stored = append(&sent, &config(Compression::Uncompressed, 571)).unwrap();
    assert_eq!(stored.bytes.len(), 571);
    // What is wrong with a record comes before the size, wherever it stands.
    let records = [(T0, Some("k"), Some(value.as_str())), (T0, None, None)];
    let compacted = LogConfig {
        max_message_bytes: 200,
        ..LogConfig {
            compression: Compression::Uncompressed,
            ..compacted()
        }
    };
    let error = append(&packed(Codec::Gzip, &records), &compacted).unwrap_err();
    assert_eq!(listed(&error), [(1, 87)]);
}

#[test]
fn e8_max_message_bytes_is_inclusive() {
    let with = |max| LogConfig {
        max_message_bytes: max,
        ..config()
    };
    append(&p(2), &with(90)).unwrap();
    assert_eq!(kind(append(&p(3), &with(90))), ErrorKind::MessageTooLarge);
    append(&p(3), &with(94)).unwrap();
    assert_eq!(
        [p(1).len(), p(2).len(), p(3).len(), p(20).len()],
        [72, 83, 94, 301]
    );
}
