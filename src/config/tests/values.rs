//! Single values: config.md 1 to 3 and 9.

use super::super::{ConfigSet, UnmanagedTopics};
use super::{broker, refusal, resolve, topic};
use crate::error::ErrorKind;

/// The effective text of a broker key after setting it.
fn reread(key: &str, value: &str) -> String {
    broker(&[(key, value)]).get(key).unwrap().unwrap()
}

#[track_caller]
fn refused(key: &str, value: &str) -> String {
    refusal(ConfigSet::broker().set(key, value))
}

/// config.md 1.1.
#[test]
fn numbers_are_decimal_with_blanks_around_and_one_sign() {
    for (text, value) in [
        ("+5", "5"),
        (" 7 ", "7"),
        ("\t9\n", "9"),
        ("007", "7"),
        ("1048576", "1048576"),
    ] {
        assert_eq!(reread("background.threads", text), value);
    }
    for text in [
        "",
        " ",
        "1_000",
        "1e3",
        "0x10",
        "5k",
        "--1",
        "+",
        "1.0",
        "2147483648",
        "\u{a0}9",
        "9 9",
    ] {
        let expect = format!(
            "Invalid value {text} for configuration background.threads: Not a number of type INT"
        );
        assert_eq!(refused("background.threads", text), expect);
    }
    assert_eq!(
        refused("log.cleaner.backoff.ms", "9223372036854775808"),
        "Invalid value 9223372036854775808 for configuration log.cleaner.backoff.ms: Not a number of type LONG"
    );
    assert_eq!(
        refused("log.cleaner.io.max.bytes.per.second", "abc"),
        "Invalid value abc for configuration log.cleaner.io.max.bytes.per.second: Not a number of type DOUBLE"
    );
    // A number is printed as what it is, not as it was written.
    assert_eq!(
        refused("background.threads", " -05 "),
        "Invalid value -5 for configuration background.threads: Value must be at least 1"
    );
}

/// config.md 1.2.
#[test]
fn booleans_are_true_or_false_in_any_case() {
    assert_eq!(reread("log.preallocate", " TRUE "), "true");
    assert_eq!(reread("log.preallocate", "False"), "false");
    for text in ["", "yes", "1", "t", "truefalse"] {
        let expect = format!(
            "Invalid value {text} for configuration log.preallocate: Expected value to be either true or false"
        );
        assert_eq!(refused("log.preallocate", text), expect);
    }
}

/// config.md 1.3 [run].
#[test]
fn lists_drop_duplicates_with_a_warning_and_refuse_empty_items() {
    let mut config = ConfigSet::broker();
    config.set("log.dirs", " /a ,/b, /a").unwrap();
    config.set("log.cleanup.policy", "delete,delete").unwrap();
    assert_eq!(config.get("log.dirs").unwrap().as_deref(), Some("/a,/b"));
    assert_eq!(
        config.get("log.cleanup.policy").unwrap().as_deref(),
        Some("delete")
    );
    let texts: Vec<_> = config
        .warnings()
        .iter()
        .map(|warning| warning.text.as_str())
        .collect();
    assert_eq!(
        texts,
        [
            "log.dirs has duplicate items; the first of each is kept",
            "log.cleanup.policy has duplicate items; the first of each is kept"
        ]
    );
    for text in ["/a,", ",", "/a,,/b", ",/a"] {
        assert_eq!(
            refused("log.dirs", text),
            "Configuration 'log.dirs' values must not be empty."
        );
    }
    assert_eq!(
        refused("cordoned.log.dirs", "/a,"),
        "Configuration 'cordoned.log.dirs' values must not be empty."
    );
    for (key, text) in [("log.dirs", ""), ("log.dirs", "  "), ("log.dir", "")] {
        let expect = format!(
            "Configuration '{key}' must not be empty. Valid values include: any non-empty value"
        );
        assert_eq!(refused(key, text), expect);
    }
    assert_eq!(reread("log.cleanup.policy", ""), "");
    assert_eq!(
        refused("log.cleanup.policy", "foo,"),
        "Invalid value foo for configuration log.cleanup.policy: String must be one of: compact, delete"
    );
    assert_eq!(
        refused("log.cleanup.policy", "delete,"),
        "Configuration 'log.cleanup.policy' values must not be empty."
    );
}

/// config.md 1.4, 2.2.
#[test]
fn names_are_case_sensitive() {
    assert_eq!(reread("compression.type", " gzip "), "gzip");
    for text in ["none", "GZIP", "", "gzip,zstd"] {
        let expect = format!(
            "Invalid value {text} for configuration compression.type: \
             String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer"
        );
        assert_eq!(refused("compression.type", text), expect);
    }
    assert_eq!(
        refused("log.message.timestamp.type", "logappendtime"),
        "Invalid value logappendtime for configuration log.message.timestamp.type: \
         String must be one of: CreateTime, LogAppendTime"
    );
    assert_eq!(
        refused("log.cleanup.policy", "Compact"),
        "Invalid value Compact for configuration log.cleanup.policy: String must be one of: compact, delete"
    );
    assert_eq!(
        refused("klog.unmanaged.topics", "keep"),
        "Invalid value keep for configuration klog.unmanaged.topics: String must be one of: ignore, manage"
    );
}

/// config.md 2.2 [run]: a range with a gap.
#[test]
fn gzip_has_no_level_zero() {
    for text in ["0", "10", "-2"] {
        let expect = format!(
            "Invalid value {text} for configuration compression.gzip.level: \
             Value must be between 1 and 9 or equal to -1"
        );
        assert_eq!(refused("compression.gzip.level", text), expect);
        assert_eq!(refusal(topic(&[("compression.gzip.level", text)])), expect);
    }
}

/// config.md 1.4 [run]: NaN breaks no bound. The load factor is klog's to refuse (2.3, D77).
#[test]
fn a_ratio_may_be_nan_but_a_load_factor_may_not() {
    assert!(
        topic(&[("min.cleanable.dirty.ratio", "NaN")])
            .unwrap()
            .min_cleanable_dirty_ratio
            .is_nan()
    );
    assert!(
        refused("log.cleaner.min.cleanable.ratio", "Infinity")
            .ends_with("Value must be no more than 1")
    );
    for text in ["0", "-1", "1.0001", "NaN", "Infinity"] {
        let message = refused("log.cleaner.io.buffer.load.factor", text);
        assert!(
            message.ends_with("Value must be greater than 0 and no more than 1"),
            "{message}"
        );
    }
    assert_eq!(reread("log.cleaner.io.buffer.load.factor", "1"), "1.0");
}

/// config.md 1.7, D78. Values that are not read anyway may refer to a provider.
#[test]
fn a_provider_reference_is_refused_where_the_value_matters() {
    let message = refused("log.dirs", "${file:/x:y}");
    assert!(
        message.starts_with("Invalid value ${file:/x:y} for configuration log.dirs: "),
        "{message}"
    );
    ConfigSet::broker()
        .set("ssl.keystore.password", "${file:/x:y}")
        .unwrap();
}

/// config.md 2.5.
#[test]
fn tiered_storage_cannot_be_switched_on() {
    let message = refused("remote.log.storage.system.enable", "true");
    assert_eq!(
        message,
        "remote.log.storage.system.enable: tiered storage is not supported"
    );
    assert_eq!(
        refusal(topic(&[("remote.storage.enable", "true")])),
        "remote.storage.enable: Tiered Storage functionality is disabled in the broker. \
         Topic cannot be configured with remote log storage."
    );
    topic(&[
        ("remote.storage.enable", "false"),
        ("remote.log.copy.disable", "true"),
    ])
    .unwrap();
    topic(&[("local.retention.bytes", "-1"), ("retention.bytes", "5")]).unwrap();
    assert!(
        refused("remote.log.storage.manager.impl.prefix", "").ends_with("String must be non-empty")
    );
}

/// config.md 3: the form of throttled replicas [run].
#[test]
fn throttled_replicas_are_a_star_or_pairs() {
    let key = "leader.replication.throttled.replicas";
    for text in [
        "*", "", "0:1", "0:1,1:2", "0:1,0:1", "0:1,", "1:2,,3:4", "*,", "01:2",
    ] {
        topic(&[(key, text)]).unwrap();
    }
    for text in ["a:b", "0", "*,0:1", "0 : 1", "-1:2", "1:2:3", ":"] {
        let expect = format!(
            "Invalid value [{}] for configuration {key}: {key} must be the literal '*' or a list of replicas in the \
             following format: [partitionId]:[brokerId],[partitionId]:[brokerId],...",
            text.replace(',', ", ")
        );
        assert_eq!(refusal(topic(&[(key, text)])), expect);
    }
}

/// config.md 9.
#[test]
fn klogs_own_keys_are_broker_keys() {
    let broker = resolve(&[
        ("klog.max.open.files", "500"),
        ("klog.unmanaged.topics", "manage"),
        ("klog.verify.on.open", "true"),
    ])
    .unwrap()
    .broker;
    assert_eq!(
        (broker.max_open_files, broker.verify_on_open),
        (Some(500), true)
    );
    assert_eq!(broker.unmanaged_topics, UnmanagedTopics::Manage);
    assert_eq!(
        ConfigSet::topic()
            .set("klog.verify.on.open", "true")
            .unwrap_err()
            .kind(),
        ErrorKind::UnknownConfig
    );
}
