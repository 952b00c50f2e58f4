//! Input made to hurt: the append sides of HC30-HC32, HC33 (a, b), HC34, HC35 and state.md 3.6.

use super::kept::marker;
use super::*;

fn limited(bytes: u32) -> LogConfig {
    LogConfig {
        max_decompressed_message_bytes: bytes,
        ..config()
    }
}

const A_B: [Rec<'_>; 2] = [(T0, Some("a"), Some("1")), (T0, Some("b"), Some("2"))];

#[test]
fn hc30_a_count_that_lies_is_refused() {
    let counted = |bytes: Vec<u8>, count: i32| {
        let bytes = patched(bytes, COUNT_AT, count.to_be_bytes());
        patched(bytes, LAST_OFFSET_DELTA_AT, (count - 1).to_be_bytes())
    };
    let mut empty = p(1)[..RECORDS_AT].to_vec();
    empty[8..12].copy_from_slice(&49i32.to_be_bytes());
    for bytes in [
        patched(p(1), COUNT_AT, (-1i32).to_be_bytes()),
        counted(empty, 0),
        counted(packed(Codec::Gzip, &A_B), 1),
        counted(packed(Codec::Gzip, &A_B), 3),
        counted(packed(Codec::Zstd, &A_B), i32::MAX),
        counted(plain(&A_B), i32::MAX),
    ] {
        for compression in [Compression::Producer, Compression::Uncompressed] {
            let answer = append(&bytes, &storing(compression));
            assert_eq!(kind(answer), ErrorKind::InvalidRecord);
        }
    }
}

#[test]
fn hc31_a_body_above_the_limit_is_refused_before_it_is_there() {
    let zeros = "\0".repeat(1_000_000);
    for codec in [Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd] {
        let sent = packed(codec, &[(T0, Some("k"), Some(&zeros))]);
        let error = append(&sent, &limited(1000)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidRecord, "{codec}");
        assert!(error.record_errors().is_empty());
        append(&sent, &config()).unwrap();
    }
    // Never for what came uncompressed.
    let sent = plain(&[(T0, Some("k"), Some(&zeros[..5000]))]);
    append(&sent, &limited(1000)).unwrap();
}

#[test]
fn rule_3_6_the_limit_is_on_the_body_and_inclusive() {
    // attributes, two deltas, key, value of 91, headers: 100 bytes.
    let sent = packed(Codec::Gzip, &[(T0, Some("k"), Some(&"v".repeat(92)))]);
    append(&sent, &limited(100)).unwrap();
    assert_eq!(kind(append(&sent, &limited(99))), ErrorKind::InvalidRecord);
}

#[test]
fn hc31_a_large_output_is_walked_without_being_held() {
    // 64 MiB of records of 64 KiB each.
    let value = "\0".repeat(64 * 1024);
    let records = vec![(T0, Some("k"), Some(value.as_str())); 1024];
    let sent = packed(Codec::Zstd, &records);
    let stored = append(&sent, &config()).unwrap();
    assert_eq!(stored.bytes, sent);
    let held = super::super::scratch::with_scratch(&config(), |scratch| {
        scratch.decoder.capacity_bytes() + scratch.builder.capacity_bytes()
    });
    assert!(held < 1024 * 1024, "{held} bytes");
    // Nor to find that it is too large once uncompressed.
    let answer = append(&sent, &storing(Compression::Uncompressed));
    assert_eq!(kind(answer), ErrorKind::MessageTooLarge);
}

#[test]
fn hc32_a_stream_that_does_not_unpack_is_corrupt() {
    for codec in [Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd] {
        let sent = packed(codec, &A_B);
        for cut in [RECORDS_AT + 3, sent.len() - 5] {
            let mut bytes = sent[..cut].to_vec();
            let size = u32::try_from(cut - 12).unwrap();
            bytes[8..12].copy_from_slice(&size.to_be_bytes());
            seal(&mut bytes);
            for compression in [Compression::Producer, Compression::Uncompressed] {
                let answer = append(&bytes, &storing(compression));
                assert_eq!(
                    kind(answer),
                    ErrorKind::CorruptMessage,
                    "{codec} cut at {cut}"
                );
            }
        }
    }
}

#[test]
fn hc33_a_b_offsets_inside_the_batch_do_not_lie() {
    // (a) the first record says 10; (b) all say 0.
    let mut bytes = plain(&A_B);
    bytes[RECORDS_AT + 3] = 20;
    seal(&mut bytes);
    let error = append(&bytes, &config()).unwrap_err();
    assert_eq!(
        (error.kind(), error.record_index()),
        (ErrorKind::InvalidRecord, Some(0))
    );
    let mut payload = plain(&A_B)[RECORDS_AT..].to_vec();
    let second = payload.len() / 2;
    payload[second + 3] = 0;
    let bytes = with_payload(&packed(Codec::Gzip, &A_B), &payload);
    let error = append(&bytes, &config()).unwrap_err();
    assert_eq!(
        (error.kind(), error.record_index()),
        (ErrorKind::InvalidRecord, Some(1))
    );
}

#[test]
fn hc34_unknown_attribute_bits_are_stored_as_sent() {
    let sent = patched(p(1), ATTRIBUTES_AT, [0x7f, 0x80]);
    assert_eq!(append(&sent, &config()).unwrap().bytes, sent);
}

#[test]
fn hc35_a_marker_that_is_none_is_refused() {
    const COMMIT: Option<&[u8]> = Some(&[0, 0, 0, 1]);
    const VALUE: Option<&[u8]> = Some(&[0, 0, 0, 0, 0, 3]);
    let as_coordinator = |key: Option<&[u8]>, value: Option<&[u8]>, producer: bool| {
        let mut builder = BatchBuilder::new();
        builder.push(NOW, key, value, [].into_iter()).unwrap();
        let id = if producer { 7 } else { -1 };
        let options = BatchOptions {
            producer_id: crate::types::ProducerId(id),
            producer_epoch: 0,
            control: true,
            transactional: producer,
            ..BatchOptions::default()
        };
        let bytes = builder.finish(&options).unwrap().to_vec();
        append_as(Origin::Coordinator, &bytes, &config(), NOW)
    };
    as_coordinator(COMMIT, VALUE, true).unwrap();
    as_coordinator(COMMIT, Some(&[0, 1, 0, 0, 0, 3, 9]), true).unwrap();
    for (key, value) in [
        (Some(&[0u8, 0, 0, 2][..]), VALUE),
        (Some(&[0, 0, 0, 9]), VALUE),
        (Some(&[0, 0]), VALUE),
        (None, VALUE),
        (Some(&[0xff, 0xff, 0, 1]), VALUE),
        (COMMIT, None),
        (COMMIT, Some(&[0])),
        (COMMIT, Some(&[0xff, 0xff, 0, 0, 0, 3])),
    ] {
        let answer = as_coordinator(key, value, true);
        assert_eq!(kind(answer), ErrorKind::InvalidRecord, "{key:?} {value:?}");
        // Without a producer nobody reads it.
        as_coordinator(key, value, false).unwrap();
    }
    // On a compacted topic its key counts as any.
    append_as(Origin::Coordinator, &marker(0), &compacted(), NOW).unwrap();
}
