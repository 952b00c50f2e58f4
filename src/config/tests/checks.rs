//! Checks across keys: config.md 6 and cleaner.md 3.11.

use super::super::CordonedDirs;
use super::{broker, refusal, resolve, topic};

/// config.md 6, first failure decides [run].
#[test]
fn cross_key_checks_come_in_order_and_after_those_of_single_keys() {
    let all = [
        ("log.roll.ms", "0"),
        ("log.roll.jitter.ms", "-1"),
        ("log.retention.ms", "0"),
        ("log.cleaner.dedupe.buffer.size", "5"),
        ("cordoned.log.dirs", "*,/c"),
        ("log.flush.interval.ms", "-1"),
        ("log.cleaner.min.compaction.lag.ms", "2"),
        ("log.cleaner.max.compaction.lag.ms", "1"),
    ];
    let expect = [
        "log.roll.ms must be",
        "log.roll.jitter.ms must be",
        "log.retention.ms must be",
        "log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread.",
        "When cordoned.log.dirs is set to *, it must not contain other values",
        "Invalid value -1 for configuration flush.ms",
        "conflict topic config setting min.compaction.lag.ms (2) > max.compaction.lag.ms (1)",
    ];
    for (first, text) in expect.iter().enumerate() {
        let message = refusal(resolve(&all[first..]));
        assert!(message.starts_with(text), "{message} instead of {text}");
    }
}

/// config.md 6.5 [run], D77.
#[test]
fn each_cleaner_thread_needs_more_than_a_mebibyte() {
    let with = |size, threads| {
        resolve(&[
            ("log.cleaner.dedupe.buffer.size", size),
            ("log.cleaner.threads", threads),
        ])
    };
    for (size, threads) in [("1048576", "1"), ("3145730", "3"), ("-5", "1")] {
        assert_eq!(
            refusal(with(size, threads)),
            "log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread."
        );
    }
    assert_eq!(
        with("1048577", "1")
            .unwrap()
            .broker
            .cleaner
            .map_slots_per_thread(),
        43_690
    );
    with("3145731", "3").unwrap();
    assert!(
        refusal(resolve(&[("log.cleaner.threads", "0")]))
            .starts_with("log.cleaner.threads must be at least 1")
    );
    let off = resolve(&[
        ("log.cleaner.threads", "0"),
        ("log.cleaner.enable", "false"),
    ])
    .unwrap()
    .broker
    .cleaner;
    assert_eq!(
        (
            off.threads,
            off.map_bytes_per_thread(),
            off.io_buffer_bytes_per_thread()
        ),
        (0, 134_217_728, 262_144)
    );
    // A cleaner that is off is checked all the same, as in Kafka.
    let small = [
        ("log.cleaner.enable", "false"),
        ("log.cleaner.dedupe.buffer.size", "5"),
    ];
    assert!(refusal(resolve(&small)).starts_with("log.cleaner.dedupe.buffer.size"));
}

/// cleaner.md 3.11, HC5.
#[test]
fn an_offset_map_without_room_for_keys_is_refused() {
    let with = |factor| {
        resolve(&[
            ("log.cleaner.dedupe.buffer.size", "1048577"),
            ("log.cleaner.io.buffer.load.factor", factor),
        ])
    };
    assert!(refusal(with("0.00002")).contains("log.cleaner.io.buffer.load.factor"));
    with("0.00003").unwrap();
}

/// config.md 2.3.
#[test]
fn a_thread_uses_at_most_two_gibibytes_for_its_map() {
    let resolved = resolve(&[
        ("log.cleaner.dedupe.buffer.size", "6442450944"),
        ("log.cleaner.threads", "2"),
    ])
    .unwrap();
    assert_eq!(
        resolved.broker.cleaner.map_bytes_per_thread(),
        2_147_483_647
    );
    let [warning] = &*resolved.warnings else {
        panic!("{:?}", resolved.warnings)
    };
    assert_eq!(warning.key, "log.cleaner.dedupe.buffer.size");
    assert!(
        resolve(&[("log.cleaner.dedupe.buffer.size", "2147483647")])
            .unwrap()
            .warnings
            .is_empty()
    );
}

/// config.md 6.4, 6.6, 6.7 [run].
#[test]
fn cordoned_directories_must_be_configured_ones() {
    let with = |dirs, cordoned| resolve(&[("log.dirs", dirs), ("cordoned.log.dirs", cordoned)]);
    assert_eq!(
        with("/a,/b", "*").unwrap().broker.cordoned_log_dirs,
        CordonedDirs::All
    );
    assert_eq!(
        with("/a,/b", "*,*").unwrap().broker.cordoned_log_dirs,
        CordonedDirs::All
    );
    assert_eq!(
        with("/a,/b", "/b").unwrap().broker.cordoned_log_dirs,
        CordonedDirs::These(vec!["/b".into()])
    );
    assert_eq!(
        with("/a,/b", "").unwrap().broker.cordoned_log_dirs,
        CordonedDirs::These(vec![])
    );
    let missing = "All entries in cordoned.log.dirs must be present in log.dirs or log.dir. Missing entries : ";
    assert_eq!(
        refusal(with("/a,/b", "/c,/d,/a")),
        format!("{missing}/c, /d")
    );
    assert_eq!(refusal(with("/a", "/a/")), format!("{missing}/a/"));
    // Whoever names the directories himself has them checked then.
    let broker = resolve(&[("cordoned.log.dirs", "/c")]).unwrap().broker;
    assert_eq!(
        refusal(broker.check_dirs(&["/a".into()])),
        format!("{missing}/c")
    );
    broker.check_dirs(&["/a".into(), "/c".into()]).unwrap();
    assert_eq!(
        refusal(broker.check_dirs(&[])),
        "At least one log directory must be defined via log.dirs or log.dir."
    );
}

/// config.md 6.8 [run]: on overrides merged with the defaults.
#[test]
fn compaction_lags_are_compared_after_merging() {
    let conflict =
        "conflict topic config setting min.compaction.lag.ms (100) > max.compaction.lag.ms (50)";
    assert_eq!(
        refusal(topic(&[
            ("min.compaction.lag.ms", "100"),
            ("max.compaction.lag.ms", "50")
        ])),
        conflict
    );
    topic(&[
        ("min.compaction.lag.ms", "50"),
        ("max.compaction.lag.ms", "50"),
    ])
    .unwrap();
    let mut config = broker(&[("log.cleaner.max.compaction.lag.ms", "50")]);
    config
        .set_topic("t", "min.compaction.lag.ms", "100")
        .unwrap();
    assert_eq!(refusal(config.resolve()), format!("topic t: {conflict}"));
    config
        .set_topic("t", "max.compaction.lag.ms", "100")
        .unwrap();
    config.resolve().unwrap();
}
