//! Changes at runtime: config.md 5.12 and manager.md 12.

use super::super::ConfigSet;
use super::{broker, refusal};
use crate::error::ErrorKind;

#[track_caller]
fn change_refused(current: &[(&str, &str)], changes: &[(&str, &str)]) -> String {
    refusal(broker(current).with_changes(&broker(changes)))
}

/// manager.md 12.1.
#[test]
fn dynamic_keys_lie_on_top_of_the_current_ones() {
    let current = broker(&[
        ("log.retention.hours", "1"),
        ("log.segment.bytes", "2000000"),
    ]);
    let changed = current
        .with_changes(&broker(&[("log.retention.ms", "77")]))
        .unwrap()
        .resolve()
        .unwrap();
    let log = changed.topic_defaults.log_config();
    assert_eq!((log.retention_ms, log.segment_bytes), (Some(77), 2_000_000));
    assert_eq!(
        current
            .resolve()
            .unwrap()
            .topic_defaults
            .log_config()
            .retention_ms,
        Some(3_600_000)
    );
    assert_eq!(current.with_changes(&ConfigSet::broker()).unwrap(), current);
}

/// manager.md 12.1.
#[test]
fn keys_that_need_a_restart_are_refused_by_name() {
    assert_eq!(
        change_refused(
            &[],
            &[
                ("log.retention.hours", "2"),
                ("log.dirs", "/x"),
                ("log.retention.ms", "7")
            ]
        ),
        "Cannot update these configs dynamically: [log.dirs, log.retention.hours]"
    );
    for key in [
        "log.roll.hours",
        "log.flush.scheduler.interval.ms",
        "log.retention.check.interval.ms",
    ] {
        assert!(change_refused(&[], &[(key, "5")]).contains(key));
    }
    assert!(change_refused(&[], &[("log.cleaner.enable", "false")]).contains("log.cleaner.enable"));
}

/// config.md 5.12 [run].
#[test]
fn pools_change_by_a_factor_of_two_at_most() {
    let threads = |new| broker(&[]).with_changes(&broker(&[("background.threads", new)]));
    assert!(threads("5").is_ok() && threads("20").is_ok());
    assert_eq!(
        refusal(threads("4")),
        "Dynamic thread count update validation failed for background.threads=4, \
         value should be at least half the current value 10"
    );
    assert_eq!(
        refusal(threads("21")),
        "Dynamic thread count update validation failed for background.threads=21, \
         value should not be greater than double the current value 10"
    );
    let recovery = [("num.recovery.threads.per.data.dir", "3")];
    assert!(
        broker(&recovery)
            .with_changes(&broker(&[("num.recovery.threads.per.data.dir", "1")]))
            .is_ok()
    );
    assert!(
        change_refused(&recovery, &[("num.recovery.threads.per.data.dir", "7")])
            .contains("current value 3")
    );
}

/// config.md 2.3, cleaner.md 3.13 [run].
#[test]
fn cleaner_threads_change_by_a_factor_of_two_at_most() {
    let four = [("log.cleaner.threads", "4")];
    for (new, text) in [
        ("0", "Log cleaner threads should be at least 1"),
        (
            "1",
            "Log cleaner threads cannot be reduced to less than half the current value 4",
        ),
        (
            "9",
            "Log cleaner threads cannot be increased to more than double the current value 4",
        ),
    ] {
        let message = change_refused(&four, &[("log.cleaner.threads", new)]);
        assert_eq!(message, format!("log.cleaner.threads={new}: {text}"));
    }
    for new in ["2", "4", "8"] {
        broker(&four)
            .with_changes(&broker(&[("log.cleaner.threads", new)]))
            .unwrap();
    }
    let off = [
        ("log.cleaner.enable", "false"),
        ("log.cleaner.threads", "0"),
    ];
    broker(&off)
        .with_changes(&broker(&[("log.cleaner.threads", "3")]))
        .unwrap();
}

#[test]
fn changes_are_broker_keys_only() {
    let mut with_topic = ConfigSet::broker();
    with_topic.manage_topic("t").unwrap();
    for (current, changes) in [
        (ConfigSet::broker(), ConfigSet::topic()),
        (ConfigSet::topic(), ConfigSet::broker()),
        (ConfigSet::broker(), with_topic),
    ] {
        assert_eq!(
            current.with_changes(&changes).unwrap_err().kind(),
            ErrorKind::InvalidArgument
        );
    }
}
