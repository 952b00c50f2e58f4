//! What is asked of single records: state.md 3.4 and 3.5, E18, E19.

use super::*;

const NULL_KEY: Rec<'_> = (T0, None, Some("v"));
const GOOD: Rec<'_> = (T0, Some("k"), Some("v"));

fn bounded(before: i64, after: i64) -> LogConfig {
    LogConfig {
        timestamp_before_max_ms: before,
        timestamp_after_max_ms: after,
        ..config()
    }
}

fn at(timestamp: i64) -> [Rec<'static>; 1] {
    [(timestamp, Some("k"), Some("v"))]
}

fn flagged(codec: Codec, timestamp: i64, max: i64) -> Vec<u8> {
    let options = BatchOptions {
        codec,
        log_append_time: Some(TimestampMs(max)),
        ..BatchOptions::default()
    };
    batch_with(&options, &[(timestamp, Some("k"), Some("v")); 2])
}

#[test]
fn e18_null_keys_of_a_compacted_topic_are_all_listed() {
    let keys = |keys: &[Option<&'static str>]| -> Vec<u8> {
        let records: Vec<Rec<'_>> = keys.iter().map(|k| (T0, *k, Some("v"))).collect();
        plain(&records)
    };
    let sent = keys(&[Some("a"), None, Some("b"), None]);
    append(&sent, &config()).unwrap();
    let error = append(&sent, &compacted()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRecord);
    assert_eq!(listed(&error), [(1, 87), (3, 87)]);
    assert_eq!(
        error.message(),
        "One or more records have been rejected due to 2 record errors in total, and only showing the first three \
         errors at most: [RecordError(batchIndex=1, message='Compacted topic cannot accept message without key'), \
         RecordError(batchIndex=3, message='Compacted topic cannot accept message without key')]"
    );
    let error = append(&keys(&[None; 5]), &compacted()).unwrap_err();
    assert_eq!(listed(&error).len(), 5);
    assert!(error.message().contains("5 record errors"));
    assert_eq!(error.message().matches("batchIndex").count(), 3);
    // An empty key is a key.
    append(&keys(&[Some("")]), &compacted()).unwrap();
    let answer = append_as(Origin::Coordinator, &keys(&[None]), &compacted(), NOW);
    assert_eq!(kind(answer), ErrorKind::InvalidRecord);
}

#[test]
fn e18_a_timestamp_error_names_the_append_and_the_key_comes_first_in_a_record() {
    let late = T0 + 3_600_001;
    let records = [
        NULL_KEY,
        (late, Some("k"), Some("v")),
        (late, None, Some("v")),
    ];
    // However the batch is stored.
    for codec in Codec::ALL {
        for compression in [Compression::Producer, Compression::Lz4] {
            let config = LogConfig {
                compression,
                ..compacted()
            };
            let error = append(&packed(codec, &records), &config).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidTimestamp);
            assert_eq!(listed(&error), [(0, 87), (1, 32), (2, 87)]);
            assert_eq!(
                error.message(),
                "One or more records have been rejected due to invalid timestamp"
            );
        }
    }
}

#[test]
fn rule_3_5_what_a_bad_record_says() {
    let error = append(&plain(&at(T0 - 11)), &bounded(10, 20)).unwrap_err();
    assert_eq!(
        error.record_errors()[0].message,
        format!(
            "Timestamp {} of message with offset 0 is out of range. The timestamp should be within [{}, {}]",
            T0 - 11,
            T0 - 10,
            T0 + 20
        )
    );
}

#[test]
fn e19_bounds_are_inclusive_and_no_timestamp_passes() {
    let config = bounded(1000, 2000);
    for codec in Codec::ALL {
        for (timestamp, is_fine) in [
            (T0 - 1001, false),
            (T0 - 1000, true),
            (T0 + 2000, true),
            (T0 + 2001, false),
            (-1, true),
        ] {
            let answer = append(&packed(codec, &at(timestamp)), &config);
            match answer {
                Ok(stored) => {
                    assert!(is_fine);
                    assert_eq!(stored.header.max_timestamp, TimestampMs(timestamp));
                }
                Err(error) => {
                    assert!(!is_fine);
                    assert_eq!(listed(&error), [(0, 32)]);
                }
            }
        }
    }
    for (timestamp, is_fine) in [(0, true), (T0 + 3_600_000, true), (T0 + 3_600_001, false)] {
        let answer = append(&plain(&at(timestamp)), &LogConfig::default());
        assert_eq!(answer.is_ok(), is_fine, "{timestamp}");
    }
}

#[test]
fn rule_3_4_differences_wrap_as_in_kafka() {
    // i64::MIN ms before the epoch: the difference wraps to a negative one, and nothing is too old.
    let sent = patched(plain(&at(T0)), 27, i64::MIN.to_be_bytes());
    append(&sent, &bounded(1000, i64::MAX)).unwrap();
    // Seen from the other side it is a timestamp far ahead.
    let answer = append(&sent, &bounded(1000, 2000));
    assert_eq!(kind(answer), ErrorKind::InvalidTimestamp);
}

#[test]
fn e19_a_topic_of_append_times_stamps_and_keeps_the_create_times_below() {
    let now = TimestampMs(T0 + 7777);
    let records_5_6 = [(5, Some("k"), Some("v")), (6, Some("k"), Some("v"))];
    for codec in [Codec::None, Codec::Gzip] {
        let sent = packed(codec, &records_5_6);
        let stored = append_as(Origin::Client, &sent, &stamping(), now).unwrap();
        assert_eq!(
            (stored.log_append_time, stored.header.max_timestamp),
            (now, now)
        );
        assert!(stored.header.attributes.is_log_append_time());
        assert_eq!(stored.bytes.len(), sent.len());
        assert_eq!(stored.bytes[61..], sent[61..], "records are not touched");
        assert_ne!(stored.header.crc, BatchHeader::parse(&sent).unwrap().crc);
        assert!(records(&stored.bytes).iter().all(|r| r.1 == now.0));
    }
    assert_eq!(plain(&records_5_6).len(), 79);
    for codec in [Codec::None, Codec::Gzip] {
        let error = append(&flagged(codec, T0, T0), &stamping()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidTimestamp);
        assert_eq!(listed(&error), [(0, 32), (1, 32)]);
    }
}

#[test]
fn e19_a_topic_of_create_times_takes_a_flagged_batch_by_its_max_timestamp() {
    for codec in [Codec::None, Codec::Zstd] {
        let stored = append(&flagged(codec, 5, T0), &config()).unwrap();
        assert!(!stored.header.attributes.is_log_append_time());
        assert_eq!(stored.header.max_timestamp, TimestampMs(T0));
        assert_eq!(
            records(&stored.bytes)[0].1,
            5,
            "the deltas are the producer's"
        );
        let error = append(&flagged(codec, 5, -1), &config()).unwrap_err();
        assert_eq!(listed(&error), [(0, 32), (1, 32)]);
        let error = append(&flagged(codec, 5, T0 - 1001), &bounded(1000, 2000)).unwrap_err();
        assert_eq!(listed(&error), [(0, 32), (1, 32)]);
    }
}

#[test]
fn rule_3_5_a_list_is_bounded_and_its_count_is_not() {
    let records = vec![(T0, None, None); 10_050];
    let error = append(&packed(Codec::Zstd, &records), &compacted()).unwrap_err();
    assert_eq!(error.record_errors().len(), 10_000);
    assert!(error.message().contains("10050 record errors"));
}

#[test]
fn rule_3_4_good_records_between_bad_ones_are_not_listed() {
    let error = append(&plain(&[GOOD, NULL_KEY, GOOD]), &compacted()).unwrap_err();
    assert_eq!(
        (listed(&error), error.record_index()),
        (vec![(1, 87)], Some(1))
    );
}
