//! Any bytes: nothing panics, and what is accepted is one batch with the offsets 0..n-1.

use super::*;
use proptest::prelude::*;

fn some_config() -> impl Strategy<Value = LogConfig> {
    let compression = prop::sample::select(vec![
        Compression::Producer,
        Compression::Uncompressed,
        Compression::Gzip,
        Compression::Snappy,
        Compression::Lz4,
        Compression::Zstd,
    ]);
    (compression, any::<bool>(), any::<bool>(), 80..400u32).prop_map(
        |(compression, compact, append_time, max)| LogConfig {
            compression,
            cleanup_policy: CleanupPolicy {
                compact,
                delete: true,
            },
            timestamp_type: if append_time {
                TimestampType::LogAppendTime
            } else {
                TimestampType::CreateTime
            },
            max_message_bytes: max,
            max_decompressed_message_bytes: max,
            ..config()
        },
    )
}

fn origin() -> impl Strategy<Value = Origin> {
    prop::sample::select(vec![
        Origin::Client,
        Origin::Coordinator,
        Origin::Replication,
        Origin::RaftLeader,
    ])
}

fn sent() -> impl Strategy<Value = Vec<u8>> {
    let codec = prop::sample::select(Codec::ALL.to_vec());
    let old = prop::sample::select(vec![Codec::Gzip, Codec::Snappy, Codec::Lz4]);
    prop_oneof![
        (codec, 1..4usize).prop_map(|(codec, n)| {
            let options = BatchOptions {
                codec,
                ..BatchOptions::default()
            };
            numbered(&options, n)
        }),
        (0..2i8, 1..4u8).prop_map(|(magic, n)| super::legacy::messages(magic, n)),
        (0..2i8, old, 1..4u8).prop_map(|(magic, codec, n)| super::legacy::wrapper(magic, codec, n)),
        Just(super::kept::marker(0)),
        proptest::collection::vec(any::<u8>(), 0..150),
    ]
}

fn check(bytes: &[u8], origin: Origin, config: &LogConfig) {
    let before = bytes.to_vec();
    let Ok(found) = analyze(bytes, origin, LeaderEpoch(0), config.max_message_bytes) else {
        return;
    };
    assert!(found.valid_bytes <= bytes.len());
    let mut at = 0;
    for (range, header) in &found.batches {
        assert_eq!((range.start, range.len()), (at, header.size_bytes as usize));
        at = range.end;
    }
    assert_eq!(at, found.valid_bytes);
    if origin.brings_offsets() {
        return;
    }
    let Ok(stored) = append_as(origin, bytes, config, NOW) else {
        return;
    };
    assert_eq!(bytes, before);
    let header = stored.header;
    assert_eq!(header.magic, 2);
    assert!(header.size_bytes <= config.max_message_bytes);
    assert_eq!(header.last_offset_delta() + 1, header.record_count);
    let is_stamping = config.timestamp_type == TimestampType::LogAppendTime;
    assert_eq!(header.attributes.is_log_append_time(), is_stamping);
    let records = records(&stored.bytes);
    assert_eq!(records.len(), usize::try_from(header.record_count).unwrap());
    if origin == Origin::Client {
        assert!((0..).zip(&records).all(|(i, record)| record.0 == i));
    }
    // Its records are judged by the largest timestamp that its header claims, which is not theirs once the topic made it one
    // of their own times (state.md 3.4 (4)).
    let declares_append_time = |header: &BatchHeader| header.attributes.is_log_append_time();
    if !is_stamping && found.batches.iter().any(|(_, h)| declares_append_time(h)) {
        return;
    }
    let largest = records.iter().map(|r| r.1).max().unwrap().max(-1);
    assert_eq!(header.max_timestamp.0, largest);
    // What is stored and sent again is stored the same.
    if !is_stamping && origin == Origin::Client {
        let again = append_as(origin, &stored.bytes, config, NOW).unwrap();
        assert_eq!(again.bytes, stored.bytes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]
    #[test]
    fn what_is_accepted_is_one_valid_batch(
        mut bytes in sent(), more in sent(), is_more in any::<bool>(),
        flips in proptest::collection::vec((0usize..400, any::<u8>()), 0..4),
        is_sealed in any::<bool>(), origin in origin(), config in some_config(),
    ) {
        for (at, value) in flips {
            if !bytes.is_empty() {
                let at = at % bytes.len();
                bytes[at] = value;
            }
        }
        if is_sealed && bytes.get(16) == Some(&2) {
            seal(&mut bytes);
        }
        if is_more {
            bytes.extend(more);
        }
        check(&bytes, origin, &config);
    }
}
