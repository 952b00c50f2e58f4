//! Batches that are stored as they came: state.md 3.2, 3.3, 3.6-3.8, 3.12.

use super::*;
use crate::format::control::write_end_marker;
use crate::types::ProducerId;

const PRODUCER: BatchOptions = BatchOptions {
    base_offset: Offset(0),
    leader_epoch: LeaderEpoch(-1),
    codec: Codec::None,
    level: None,
    log_append_time: None,
    producer_id: ProducerId(7),
    producer_epoch: 1,
    base_sequence: 0,
    transactional: true,
    control: false,
    last_offset_delta: None,
    max_timestamp: None,
};

pub(super) fn marker(base: i64) -> Vec<u8> {
    let options = BatchOptions {
        base_offset: Offset(base),
        ..PRODUCER
    };
    let mut builder = BatchBuilder::new();
    write_end_marker(&mut builder, true, 3, NOW, &options)
        .unwrap()
        .to_vec()
}

/// The record bytes of a batch with each offset delta as given.
fn with_deltas(codec: Codec, deltas: &[i32]) -> Vec<u8> {
    let keys: Vec<_> = (0..deltas.len()).map(|i| format!("k{i}")).collect();
    let records: Vec<Rec<'_>> = keys
        .iter()
        .map(|k| (T0, Some(k.as_str()), Some("v")))
        .collect();
    let mut payload = plain(&records)[RECORDS_AT..].to_vec();
    // Length, attributes, timestamp delta, offset delta; each record has 11 bytes less one.
    let size = payload.len() / deltas.len();
    for (record, delta) in payload.chunks_mut(size).zip(deltas) {
        record[3] = u8::try_from(delta * 2).unwrap();
    }
    with_payload(&packed(codec, &records), &payload)
}

#[test]
fn rule_3_2_a_batch_of_the_codec_that_is_stored_stays_as_it_was_sent() {
    for (codec, compression) in [
        (Codec::None, Compression::Producer),
        (Codec::None, Compression::Uncompressed),
        (Codec::Gzip, Compression::Producer),
        (Codec::Gzip, Compression::Gzip),
        (Codec::Snappy, Compression::Snappy),
        (Codec::Lz4, Compression::Lz4),
        (Codec::Zstd, Compression::Zstd),
    ] {
        let options = BatchOptions { codec, ..PRODUCER };
        let sent = numbered(&options, 3);
        let stored = append(&sent, &storing(compression)).unwrap();
        assert_eq!(stored.bytes, sent, "{codec} {compression:?}");
    }
    // Levels are not compared.
    let options = BatchOptions {
        codec: Codec::Gzip,
        level: Some(9),
        ..BatchOptions::default()
    };
    let sent = numbered(&options, 30);
    let config = LogConfig {
        compression_gzip_level: 1,
        ..storing(Compression::Gzip)
    };
    assert_eq!(append(&sent, &config).unwrap().bytes, sent);
}

#[test]
fn rule_3_2_a_marker_stays_uncompressed_on_every_topic() {
    let sent = marker(0);
    assert_eq!(sent.len(), 78);
    for compression in [Compression::Producer, Compression::Gzip, Compression::Zstd] {
        let stored = append_as(Origin::Coordinator, &sent, &storing(compression), NOW).unwrap();
        assert_eq!(stored.bytes, sent);
    }
}

#[test]
fn rule_3_3_a_client_batch_has_as_many_records_as_offsets() {
    let sent = p(3);
    for (at, value) in [
        (COUNT_AT, 0i32),
        (COUNT_AT, -1),
        (COUNT_AT, 2),
        (COUNT_AT, 4),
        (LAST_OFFSET_DELTA_AT, -1),
        (LAST_OFFSET_DELTA_AT, 1),
        (LAST_OFFSET_DELTA_AT, i32::MAX),
        (LAST_OFFSET_DELTA_AT, i32::MIN),
    ] {
        let bytes = patched(sent.clone(), at, value.to_be_bytes());
        assert_eq!(
            kind(append(&bytes, &config())),
            ErrorKind::InvalidRecord,
            "{at}: {value}"
        );
    }
    // Header and header agree, the records do not.
    for n in [1i32, 2, 4] {
        let bytes = patched(sent.clone(), COUNT_AT, n.to_be_bytes());
        let bytes = patched(bytes, LAST_OFFSET_DELTA_AT, (n - 1).to_be_bytes());
        assert_eq!(kind(append(&bytes, &config())), ErrorKind::InvalidRecord);
    }
}

#[test]
fn rule_3_3_e_a_client_writes_no_control_batch() {
    let error = append(&marker(0), &config()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRecord);
    assert!(error.record_errors().is_empty());
}

#[test]
fn rule_3_3_f_a_producer_of_a_client_has_a_sequence() {
    let sent = numbered(&PRODUCER, 2);
    append(&sent, &config()).unwrap();
    for sequence in [-1i32, i32::MIN] {
        let bytes = patched(sent.clone(), BASE_SEQUENCE_AT, sequence.to_be_bytes());
        assert_eq!(kind(append(&bytes, &config())), ErrorKind::InvalidRecord);
        append_as(Origin::Coordinator, &bytes, &config(), NOW).unwrap();
    }
}

#[test]
fn rule_3_3_what_is_not_checked_is_stored_as_sent() {
    let no_epoch = BatchOptions {
        producer_epoch: -1,
        ..PRODUCER
    };
    let no_producer = BatchOptions {
        producer_id: ProducerId(-1),
        base_sequence: -1,
        ..PRODUCER
    };
    let odd_producer = BatchOptions {
        producer_id: ProducerId(-5),
        base_sequence: -1,
        ..PRODUCER
    };
    for options in [no_epoch, no_producer, odd_producer] {
        let sent = numbered(&options, 2);
        assert_eq!(append(&sent, &config()).unwrap().bytes, sent);
    }
}

#[test]
fn rule_3_6_structure_errors_have_no_list_and_come_before_record_errors() {
    // The first record has no key, which a compacted topic refuses; the second one is broken.
    let records = [(T0, None, Some("v")), (T0, Some("k"), Some("v"))];
    for codec in Codec::ALL {
        let mut payload = plain(&records)[RECORDS_AT..].to_vec();
        *payload.last_mut().unwrap() = 9; // so many headers
        let bytes = with_payload(&packed(codec, &records), &payload);
        let error = append(&bytes, &compacted()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidRecord, "{codec}");
        assert!(error.record_errors().is_empty(), "{codec}: {error}");
    }
}

#[test]
fn rule_3_6_each_structure_error_of_a_record_is_found_in_every_codec() {
    // One record: length, attributes, timestamp delta, offset delta, key, value, headers.
    let good = [14u8, 0, 0, 0, 2, b'k', 1, 0];
    let bad: [(&str, &[u8]); 9] = [
        ("negative size", &[1, 0, 0, 0, 2, b'k', 1, 0]),
        ("longer than the rest", &[16, 0, 0, 0, 2, b'k', 1, 0]),
        ("size below what is read", &[12, 0, 0, 0, 2, b'k', 1, 0]),
        ("size above what is read", &[16, 0, 0, 0, 2, b'k', 1, 0, 0]),
        ("negative header count", &[14, 0, 0, 0, 2, b'k', 1, 1]),
        ("more headers than bytes", &[14, 0, 0, 0, 2, b'k', 1, 4]),
        ("negative header key", &[18, 0, 0, 0, 2, b'k', 1, 2, 1, 1]),
        (
            "over-long size",
            &[0x8e, 0x80, 0x80, 0x80, 0x80, 0x80, 0, 0],
        ),
        ("nothing", &[]),
    ];
    for codec in Codec::ALL {
        let head = packed(codec, &[(T0, Some("k"), None)]);
        append(&with_payload(&head, &good), &config()).unwrap();
        for (what, payload) in bad {
            let answer = append(&with_payload(&head, payload), &config());
            assert_eq!(kind(answer), ErrorKind::InvalidRecord, "{codec}: {what}");
        }
        let two = [good, good].concat();
        let answer = append(&with_payload(&head, &two), &config());
        assert_eq!(kind(answer), ErrorKind::InvalidRecord, "{codec}: one more");
    }
}

#[test]
fn rule_3_7_the_offsets_of_a_client_are_0_1_2() {
    for codec in Codec::ALL {
        append(&with_deltas(codec, &[0, 1, 2]), &config()).unwrap();
        for deltas in [[0, 0, 0], [0, 1, 5], [1, 2, 3], [0, 2, 1]] {
            let bytes = with_deltas(codec, &deltas);
            assert_eq!(
                kind(append(&bytes, &config())),
                ErrorKind::InvalidRecord,
                "{codec} {deltas:?}"
            );
        }
    }
    // A rebuild numbers anew whatever comes.
    let odd = with_deltas(Codec::Gzip, &[0, 1, 5]);
    let stored = append(&odd, &storing(Compression::Uncompressed)).unwrap();
    let offsets: Vec<_> = records(&stored.bytes).iter().map(|r| r.0).collect();
    assert_eq!(offsets, [0, 1, 2]);
}

#[test]
fn rule_3_7_a_coordinator_brings_base_offset_0_where_offsets_are_compared() {
    let as_coordinator = |bytes: &[u8], config: &LogConfig| {
        append_as(Origin::Coordinator, bytes, config, NOW).map(|v| v.bytes)
    };
    let at = |base, codec| {
        let options = BatchOptions {
            base_offset: Offset(base),
            codec,
            ..BatchOptions::default()
        };
        numbered(&options, 2)
    };
    // Uncompressed and kept: anything, also deltas.
    assert_eq!(
        as_coordinator(&at(5, Codec::None), &config()).unwrap(),
        p(2)
    );
    as_coordinator(&with_deltas(Codec::None, &[0, 0]), &config()).unwrap();
    // Compressed and kept, or a marker on a topic that compresses: 0 only.
    as_coordinator(&at(0, Codec::Gzip), &config()).unwrap();
    let answer = as_coordinator(&at(5, Codec::Gzip), &config());
    assert_eq!(kind(answer), ErrorKind::InvalidRecord);
    let answer = as_coordinator(&marker(5), &storing(Compression::Gzip));
    assert_eq!(kind(answer), ErrorKind::InvalidRecord);
    assert_eq!(as_coordinator(&marker(5), &config()).unwrap(), marker(0));
    // Rebuilt: anything.
    let rebuilt = as_coordinator(&at(5, Codec::Gzip), &storing(Compression::Uncompressed));
    assert_eq!(rebuilt.unwrap(), p(2));
}

#[test]
fn rule_3_7_a_coordinator_batch_covers_as_many_offsets_as_it_has_records() {
    for delta in [0i32, 5, -1] {
        let bytes = patched(p(2), LAST_OFFSET_DELTA_AT, delta.to_be_bytes());
        let answer = append_as(Origin::Coordinator, &bytes, &config(), NOW);
        assert_eq!(kind(answer), ErrorKind::InvalidRecord);
    }
}

#[test]
fn rule_3_8_only_what_differs_is_rewritten_and_clears_unknown_bits() {
    // Nothing differs: also unknown bits stay.
    let odd = patched(p(2), ATTRIBUTES_AT, [0x7f, 0xc0]);
    assert_eq!(append(&odd, &config()).unwrap().bytes, odd);
    // E19: a wrong max timestamp is corrected; bit 6 stays, the unknown ones go.
    let options = BatchOptions {
        max_timestamp: Some(TimestampMs(T0 + 5)),
        ..BatchOptions::default()
    };
    let wrong = numbered(&options, 2);
    assert_eq!(append(&wrong, &config()).unwrap().bytes, p(2));
    let wrong = patched(wrong, ATTRIBUTES_AT, [0x7f, 0xc0]);
    let stored = append(&wrong, &config()).unwrap();
    assert_eq!(stored.header.attributes.0, 0x40);
    assert_eq!(stored.header.max_timestamp, TimestampMs(T0 + 1));
    // Negative timestamps give -1.
    let negative = patched(p(1), 27, (-9i64).to_be_bytes());
    let stored = append(&negative, &config()).unwrap();
    assert_eq!(stored.header.max_timestamp, TimestampMs::NONE);
    assert_eq!(records(&stored.bytes)[0].1, -9);
}

#[test]
fn rule_3_8_the_callers_bytes_stay_as_they_are() {
    let sent = p(2);
    let before = sent.clone();
    let stored = append_as(Origin::Client, &sent, &stamping(), TimestampMs(T0 + 9)).unwrap();
    assert_ne!(stored.bytes, sent);
    assert_eq!(sent, before);
}

#[test]
fn rule_3_12_a_coordinator_batch_without_records_is_refused() {
    for count in [0i32, -1] {
        let bytes = patched(p(1)[..RECORDS_AT].to_vec(), COUNT_AT, count.to_be_bytes());
        let mut bytes = bytes;
        bytes[8..12].copy_from_slice(&49i32.to_be_bytes());
        for compression in [Compression::Producer, Compression::Gzip] {
            let answer = append_as(Origin::Coordinator, &bytes, &storing(compression), NOW);
            assert_eq!(kind(answer), ErrorKind::InvalidRecord);
        }
    }
}
