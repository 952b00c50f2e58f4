//! What keys come to: config.md 2, 4 and 5.

use std::path::PathBuf;

use super::super::{
    BrokerConfig, CleanupPolicy, Compression, ConfigSet, LogConfig, TimestampType, UnmanagedTopics,
};
use super::{broker, defaults, refusal, resolve, topic};

#[test]
fn a_broker_without_settings_has_kafkas_defaults() {
    let resolved = resolve(&[]).unwrap();
    assert_eq!(resolved.broker, BrokerConfig::default());
    assert_eq!(resolved.topic_defaults.log_config(), LogConfig::default());
    let broker = resolved.broker;
    assert_eq!(
        (
            broker.num_recovery_threads_per_data_dir,
            broker.background_threads
        ),
        (2, 10)
    );
    assert_eq!(
        (
            broker.initial_task_delay_ms,
            broker.retention_check_interval_ms
        ),
        (30_000, 300_000)
    );
    assert_eq!(broker.flush_scheduler_interval_ms, i64::MAX);
    assert_eq!(broker.flush_offset_checkpoint_interval_ms, 60_000);
    assert_eq!(broker.flush_start_offset_checkpoint_interval_ms, 60_000);
    assert_eq!(broker.replica_high_watermark_checkpoint_interval_ms, 5_000);
    assert_eq!(broker.producer_id_expiration_ms, 86_400_000);
    assert_eq!(broker.producer_id_expiration_check_interval_ms, 600_000);
    assert_eq!(broker.transaction_max_timeout_ms, 900_000);
    assert_eq!(
        (broker.max_open_files, broker.verify_on_open),
        (None, false)
    );
    assert_eq!(broker.unmanaged_topics, UnmanagedTopics::Ignore);
    assert_eq!(broker.metadata_log_dir, None);
    let cleaner = broker.cleaner;
    assert_eq!(
        (cleaner.enable, cleaner.threads, cleaner.backoff_ms),
        (true, 1, 15_000)
    );
    assert_eq!(
        (
            cleaner.map_bytes_per_thread(),
            cleaner.map_slots_per_thread()
        ),
        (134_217_728, 5_592_405)
    );
    assert_eq!(
        (
            cleaner.io_buffer_bytes_per_thread(),
            cleaner.max_message_bytes
        ),
        (262_144, 1_048_588)
    );
    let log = LogConfig::default();
    assert_eq!(
        log.cleanup_policy,
        CleanupPolicy {
            compact: false,
            delete: true
        }
    );
    assert_eq!(
        (log.compression, log.compression_level()),
        (Compression::Producer, None)
    );
    assert_eq!(
        (log.segment_bytes, log.segment_ms, log.segment_jitter_ms),
        (1_073_741_824, 604_800_000, 0)
    );
    assert_eq!(
        (log.retention_ms, log.retention_bytes),
        (Some(604_800_000), None)
    );
    assert_eq!((log.flush_messages, log.flush_ms), (i64::MAX, i64::MAX));
    assert_eq!(
        (log.max_message_bytes, log.max_decompressed_message_bytes),
        (1_048_588, 2_147_483_639)
    );
    assert_eq!(
        (log.timestamp_before_max_ms, log.timestamp_after_max_ms),
        (i64::MAX, 3_600_000)
    );
    assert_eq!(log.timestamp_type, TimestampType::CreateTime);
    assert_eq!(
        (log.min_compaction_lag_ms, log.max_compaction_lag_ms),
        (0, i64::MAX)
    );
    assert_eq!(
        (log.delete_retention_ms, log.file_delete_delay_ms),
        (86_400_000, 60_000)
    );
    assert!((log.min_cleanable_dirty_ratio - 0.5).abs() < f64::EPSILON);
    assert!(!log.preallocate && log.index_interval_bytes == 4_096 && log.overrides.is_empty());
}

/// config.md 2.1 [run].
#[test]
fn log_dirs_wins_over_log_dir_and_neither_leaves_the_choice_to_the_caller() {
    let dirs = |pairs: &[(&str, &str)]| resolve(pairs).unwrap().broker;
    let paths = |list: &[&str]| list.iter().map(PathBuf::from).collect::<Vec<_>>();
    assert_eq!(
        dirs(&[("log.dirs", "/x"), ("log.dir", "/y")]).log_dirs,
        Some(paths(&["/x"]))
    );
    assert_eq!(
        dirs(&[("log.dir", "/y,/z")]).log_dirs,
        Some(paths(&["/y", "/z"]))
    );
    assert_eq!(dirs(&[]).log_dirs, None);
    assert_eq!(dirs(&[]).log_dirs_or_default(), paths(&["/tmp/kafka-logs"]));
    assert_eq!(
        dirs(&[("metadata.log.dir", " /m ")]).metadata_log_dir,
        Some(PathBuf::from("/m"))
    );
}

/// config.md 2.2: what the topic keys get from the broker's.
#[test]
fn broker_keys_become_topic_defaults() {
    let log = defaults(&[
        ("log.segment.bytes", "1048576"),
        ("log.index.size.max.bytes", "12"),
        ("log.index.interval.bytes", "0"),
        ("log.preallocate", "true"),
        ("log.segment.delete.delay.ms", "1"),
        ("log.flush.interval.messages", "2"),
        ("log.retention.bytes", "-9"),
        ("log.cleanup.policy", "compact, delete"),
        ("message.max.bytes", "0"),
        ("max.decompressed.message.bytes", "3"),
        ("log.message.timestamp.type", "LogAppendTime"),
        ("log.message.timestamp.before.max.ms", "4"),
        ("log.message.timestamp.after.max.ms", "5"),
        ("compression.type", "zstd"),
        ("compression.zstd.level", "-6"),
        ("log.cleaner.min.cleanable.ratio", "0.7"),
        ("log.cleaner.delete.retention.ms", "8"),
        ("log.cleaner.min.compaction.lag.ms", "9"),
        ("log.cleaner.max.compaction.lag.ms", "10"),
    ]);
    assert_eq!(
        (log.segment_bytes, log.initial_file_bytes()),
        (1_048_576, 1_048_576)
    );
    assert_eq!((log.segment_index_bytes, log.index_interval_bytes), (12, 0));
    assert_eq!(
        (
            log.file_delete_delay_ms,
            log.flush_messages,
            log.retention_bytes
        ),
        (1, 2, None)
    );
    assert_eq!(
        log.cleanup_policy,
        CleanupPolicy {
            compact: true,
            delete: true
        }
    );
    assert_eq!(
        (log.max_message_bytes, log.max_decompressed_message_bytes),
        (0, 3)
    );
    assert_eq!(log.timestamp_type, TimestampType::LogAppendTime);
    assert_eq!(
        (log.timestamp_before_max_ms, log.timestamp_after_max_ms),
        (4, 5)
    );
    assert_eq!(
        (log.compression, log.compression_level()),
        (Compression::Zstd, Some(-6))
    );
    assert!((log.min_cleanable_dirty_ratio - 0.7).abs() < f64::EPSILON);
    assert_eq!(
        (
            log.delete_retention_ms,
            log.min_compaction_lag_ms,
            log.max_compaction_lag_ms
        ),
        (8, 9, 10)
    );
}

/// config.md 4.1, 4.6, 6.3 [run].
#[test]
fn retention_takes_the_finest_unit_that_is_set() {
    let of = |pairs: &[(&str, &str)]| defaults(pairs).retention_ms;
    assert_eq!(
        of(&[("log.retention.minutes", "5"), ("log.retention.ms", "77")]),
        Some(77)
    );
    assert_eq!(
        of(&[("log.retention.hours", "1"), ("log.retention.minutes", "2")]),
        Some(120_000)
    );
    assert_eq!(
        of(&[("log.retention.hours", "2147483647")]),
        Some(7_730_941_129_200_000)
    );
    for key in [
        "log.retention.ms",
        "log.retention.minutes",
        "log.retention.hours",
    ] {
        assert_eq!(of(&[(key, "-7")]), None);
        assert_eq!(
            refusal(resolve(&[(key, "0")])),
            "log.retention.ms must be unlimited (-1) or, greater than or equal to 1"
        );
    }
    // At topic level 0 is fine and -2 is not.
    assert_eq!(
        topic(&[("retention.ms", "0")]).unwrap().retention_ms,
        Some(0)
    );
    assert_eq!(topic(&[("retention.ms", "-1")]).unwrap().retention_ms, None);
    assert_eq!(
        refusal(topic(&[("retention.ms", "-2")])),
        "Invalid value -2 for configuration retention.ms: Value must be at least -1"
    );
    assert_eq!(
        topic(&[("retention.bytes", "-77")])
            .unwrap()
            .retention_bytes,
        None
    );
    assert_eq!(
        topic(&[("retention.bytes", "0")]).unwrap().retention_bytes,
        Some(0)
    );
}

/// config.md 4.2, 6.1, 6.2 [run].
#[test]
fn roll_time_and_jitter_take_milliseconds_before_hours() {
    assert_eq!(
        defaults(&[("log.roll.ms", "5"), ("log.roll.hours", "3")]).segment_ms,
        5
    );
    assert_eq!(
        defaults(&[("log.roll.hours", "2147483647")]).segment_ms,
        7_730_941_129_200_000
    );
    assert_eq!(
        defaults(&[("log.roll.jitter.hours", "2")]).segment_jitter_ms,
        7_200_000
    );
    for text in ["0", "-1"] {
        assert_eq!(
            refusal(resolve(&[("log.roll.ms", text)])),
            "log.roll.ms must be greater than or equal to 1"
        );
    }
    assert_eq!(
        refusal(resolve(&[("log.roll.jitter.ms", "-1")])),
        "log.roll.jitter.ms must be greater than or equal to 0"
    );
}

/// config.md 4.3, 2.2 [run].
#[test]
fn the_scheduler_interval_is_the_default_of_flush_ms() {
    assert_eq!(
        defaults(&[("log.flush.scheduler.interval.ms", "77")]).flush_ms,
        77
    );
    let both = [
        ("log.flush.scheduler.interval.ms", "77"),
        ("log.flush.interval.ms", "5"),
    ];
    assert_eq!(defaults(&both).flush_ms, 5);
    for key in ["log.flush.interval.ms", "log.flush.scheduler.interval.ms"] {
        assert_eq!(
            refusal(resolve(&[(key, "-1")])),
            "Invalid value -1 for configuration flush.ms: Value must be at least 0"
        );
    }
}

/// config.md 4.5.
#[test]
fn overrides_lie_on_top_of_the_defaults_and_are_remembered() {
    let mut config = broker(&[
        ("log.retention.ms", "100"),
        ("log.segment.bytes", "2000000"),
    ]);
    config.set_topic("a", "retention.ms", " +7 ").unwrap();
    config.set_topic("a", "cleanup.policy", "").unwrap();
    config.manage_topic("b").unwrap();
    config.manage_topic("a").unwrap();
    let resolved = config.resolve().unwrap();
    let a = resolved.log_config("a");
    assert_eq!((a.retention_ms, a.segment_bytes), (Some(7), 2_000_000));
    assert_eq!(
        a.cleanup_policy,
        CleanupPolicy {
            compact: false,
            delete: false
        }
    );
    assert_eq!(
        a.overrides.keys().collect::<Vec<_>>(),
        ["cleanup.policy", "retention.ms"]
    );
    assert_eq!(a.overrides.get("retention.ms").as_deref(), Some("7"));
    assert_eq!(a.overrides.get("segment.bytes"), None);
    assert!(resolved.overrides_for("b").unwrap().is_empty());
    assert!(resolved.overrides_for("c").is_none());
    assert_eq!(resolved.log_config("c"), resolved.log_config("b"));
    assert_eq!(resolved.topics().collect::<Vec<_>>(), ["a", "b"]);
    // manager.md 12.2: new defaults, the topic's own overrides.
    let changed = resolve(&[
        ("log.retention.ms", "200"),
        ("log.segment.bytes", "3000000"),
    ])
    .unwrap();
    let again = changed.topic_defaults.overlaid(&a.overrides).unwrap();
    assert_eq!(
        (again.retention_ms, again.segment_bytes),
        (Some(7), 3_000_000)
    );
}

/// config.md 5.1 [run].
#[test]
fn a_segment_of_any_size_takes_the_internal_key() {
    assert_eq!(
        topic(&[("internal.segment.bytes", "100")])
            .unwrap()
            .segment_bytes,
        100
    );
    let both = [
        ("internal.segment.bytes", "0"),
        ("segment.bytes", "1048576"),
    ];
    assert_eq!(topic(&both).unwrap().segment_bytes, 0);
    assert_eq!(
        topic(&[("internal.segment.bytes", "-5")])
            .unwrap()
            .segment_bytes,
        0
    );
    assert_eq!(
        topic(&[("preallocate", "true"), ("internal.segment.bytes", "77")])
            .unwrap()
            .initial_file_bytes(),
        77
    );
    // config.md 7.1: the text says where small segments went.
    for (message, key) in [
        (refusal(topic(&[("segment.bytes", "14")])), "segment.bytes"),
        (
            refusal(ConfigSet::broker().set("log.segment.bytes", "14")),
            "log.segment.bytes",
        ),
    ] {
        let expect =
            format!("Invalid value 14 for configuration {key}: Value must be at least 1048576");
        assert!(
            message.starts_with(&expect) && message.contains("internal.segment.bytes"),
            "{message}"
        );
    }
}

/// config.md 5.2, D76.
#[test]
fn index_sizes_are_rounded_down_to_whole_entries_and_hold_one() {
    let log = LogConfig::default();
    assert_eq!(
        (log.offset_index_bytes(), log.time_index_bytes()),
        (10_485_760, 10_485_756)
    );
    let log = topic(&[("segment.index.bytes", "23")]).unwrap();
    assert_eq!((log.offset_index_bytes(), log.time_index_bytes()), (16, 12));
    for text in ["4", "11"] {
        let message = refusal(topic(&[("segment.index.bytes", text)]));
        let expect = format!(
            "Invalid value {text} for configuration segment.index.bytes: Value must be at least 12"
        );
        assert!(message.starts_with(&expect), "{message}");
    }
}

/// config.md 5.3.
#[test]
fn jitter_stays_below_the_smaller_of_jitter_and_segment_time() {
    assert_eq!(LogConfig::default().segment_jitter(i32::MAX), 0);
    let log = topic(&[("segment.jitter.ms", "1000"), ("segment.ms", "7")]).unwrap();
    assert_eq!(
        [0, 6, 7, -8, i32::MIN].map(|random| log.segment_jitter(random)),
        [0, 6, 0, 1, 0]
    );
    let log = topic(&[("segment.jitter.ms", "10")]).unwrap();
    assert_eq!(
        [25, -25, i32::MAX].map(|random| log.segment_jitter(random)),
        [5, 5, 7]
    );
}

/// config.md 5.4 [run], 5.5.
#[test]
fn a_compacted_log_rolls_in_time_for_its_compaction() {
    let pairs = [
        ("cleanup.policy", "compact"),
        ("max.compaction.lag.ms", "100"),
    ];
    assert_eq!(topic(&pairs).unwrap().max_segment_ms(), 100);
    assert_eq!(topic(&pairs[1..]).unwrap().max_segment_ms(), 604_800_000);
    let sooner = [pairs[0], pairs[1], ("segment.ms", "5")];
    assert_eq!(topic(&sooner).unwrap().max_segment_ms(), 5);
    assert_eq!(
        topic(&[("preallocate", "true")])
            .unwrap()
            .initial_file_bytes(),
        1_073_741_824
    );
    assert_eq!(LogConfig::default().initial_file_bytes(), 0);
}

/// config.md 5.7.
#[test]
fn codecs_with_levels_know_theirs() {
    let of = |name| {
        let log = topic(&[("compression.type", name)]).unwrap();
        (log.compression.name(), log.compression_level())
    };
    assert_eq!(of("gzip"), ("gzip", Some(-1)));
    assert_eq!(of("lz4"), ("lz4", Some(9)));
    assert_eq!(of("zstd"), ("zstd", Some(3)));
    assert_eq!(of("snappy"), ("snappy", None));
    assert_eq!(of("uncompressed"), ("uncompressed", None));
    assert_eq!(of("producer"), ("producer", None));
}
