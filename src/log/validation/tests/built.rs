//! Records that klog encodes itself: the same findings, from what the builder noted.

use super::super::check_built;
use super::*;
use proptest::prelude::*;

fn built(records: &[Rec<'_>]) -> BatchBuilder {
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
    builder
}

#[test]
fn e18_e19_the_list_is_that_of_the_same_records_as_bytes() {
    let late = T0 + 3_600_001;
    let records = [
        (T0, None, Some("v")),
        (late, Some("k"), None),
        (-1, Some("k"), None),
        (late, None, None),
    ];
    let error = check_built(&built(&records), &compacted(), NOW).unwrap_err();
    let same = append(&plain(&records), &compacted()).unwrap_err();
    assert_eq!(error.record_errors(), same.record_errors());
    assert_eq!(
        (error.kind(), error.message()),
        (same.kind(), same.message())
    );
    assert_eq!(listed(&error), [(0, 87), (1, 32), (3, 87)]);
}

#[test]
fn a_builder_that_was_cleared_knows_nothing_of_before() {
    let mut builder = built(&[(5, None, None)]);
    builder.clear();
    assert_eq!(builder.min_timestamp(), None);
    builder
        .push(TimestampMs(-1), Some(b"k"), None, [].into_iter())
        .unwrap();
    let config = LogConfig {
        timestamp_before_max_ms: 1000,
        ..compacted()
    };
    check_built(&builder, &config, NOW).unwrap();
    assert_eq!(builder.min_timestamp(), None);
}

#[test]
fn a_topic_of_append_times_takes_any_timestamp() {
    check_built(&built(&[(5, None, None)]), &stamping(), NOW).unwrap();
}

proptest! {
    #[test]
    fn noted_and_walked_give_the_same_answer(
        records in proptest::collection::vec((prop_oneof![Just(-1i64), 0..5i64, T0 - 3..T0 + 3, Just(i64::MAX)], any::<bool>()), 1..6),
        compact in any::<bool>(), append_time in any::<bool>(), before in 0..4i64, after in 0..4i64,
        now in prop_oneof![Just(T0), Just(0), Just(-7), Just(i64::MAX)],
    ) {
        let records: Vec<Rec<'_>> = records.iter().map(|&(t, k)| (t, k.then_some("k"), None)).collect();
        let base = if append_time { stamping() } else { config() };
        let config = LogConfig {
            cleanup_policy: CleanupPolicy { compact, delete: !compact },
            timestamp_before_max_ms: before,
            timestamp_after_max_ms: after,
            ..base
        };
        let noted = check_built(&built(&records), &config, TimestampMs(now));
        let walked = append_as(Origin::Client, &plain(&records), &config, TimestampMs(now));
        let parts = |e: Error| (e.kind(), e.record_errors().to_vec());
        prop_assert_eq!(noted.map_err(parts), walked.map(|_| ()).map_err(parts));
    }
}
