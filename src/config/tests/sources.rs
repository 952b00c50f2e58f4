//! Calls and properties texts: unknown, old and ignored keys, topic lines, errors with lines.

use proptest::prelude::*;

use super::super::{ConfigSet, ConfigWarning, describe_all};
use crate::error::ErrorKind;

#[track_caller]
fn unknown(config: &mut ConfigSet, key: &str) -> String {
    let error = config.set(key, "1").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnknownConfig);
    assert_eq!(config.get(key).unwrap_err().message(), error.message());
    error.message().to_string()
}

/// config.md 1.6.
#[test]
fn an_unknown_key_is_an_error_that_names_the_nearest_one() {
    let mut broker = ConfigSet::broker();
    let mut topic = ConfigSet::topic();
    for (message, expect) in [
        (
            unknown(&mut broker, "log.retention.hour"),
            "log.retention.hour; the nearest known one is log.retention.hours",
        ),
        (
            unknown(&mut broker, "log.dris"),
            "log.dris; the nearest known one is log.dirs",
        ),
        (
            unknown(&mut broker, "klog.verify.on-open"),
            "klog.verify.on-open; the nearest known one is klog.verify.on.open",
        ),
        (
            unknown(&mut topic, "retention.mss"),
            "retention.mss; the nearest known one is retention.ms",
        ),
        (
            unknown(&mut topic, "cleanup_policy"),
            "cleanup_policy; the nearest known one is cleanup.policy",
        ),
    ] {
        assert!(message.ends_with(expect), "{message} instead of {expect}");
    }
    assert!(
        unknown(&mut topic, "x")
            .starts_with("Unknown topic config name: x; the nearest known one is ")
    );
    assert!(
        unknown(&mut broker, &"log.segment.bytes".repeat(10_000))
            .contains("the nearest known one is ")
    );
    assert_eq!((broker, topic), (ConfigSet::broker(), ConfigSet::topic()));
}

/// config.md 1.6, 4.4: a key of the other level.
#[test]
fn a_key_of_the_other_level_is_unknown_with_the_right_key_named() {
    let mut broker = ConfigSet::broker();
    let mut topic = ConfigSet::topic();
    for (message, expect) in [
        (
            unknown(&mut broker, "retention.ms"),
            "Unknown broker config name: retention.ms; it is a topic key: set log.retention.ms for all topics, or \
             topic.<name>.retention.ms for one",
        ),
        (
            unknown(&mut broker, "internal.segment.bytes"),
            "Unknown broker config name: internal.segment.bytes; it is a topic key: set \
             topic.<name>.internal.segment.bytes for one topic",
        ),
        (
            unknown(&mut topic, "log.retention.hours"),
            "Unknown topic config name: log.retention.hours; it is a broker key: the topic key is retention.ms",
        ),
        (
            unknown(&mut topic, "log.dir"),
            "Unknown topic config name: log.dir; it is a broker key; the nearest topic key is flush.ms",
        ),
        (
            unknown(&mut broker, "topic.a.retention.mss"),
            "Unknown broker config name: topic.a.retention.mss; the nearest known one is topic.a.retention.ms",
        ),
        (
            unknown(&mut broker, "topic.retention"),
            "Unknown broker config name: topic.retention; after topic. it needs the name of a topic and a topic key",
        ),
    ] {
        assert_eq!(message, expect);
    }
}

/// config.md 7, D75: from a call and from a text, once each.
#[test]
fn old_keys_are_ignored_with_one_warning() {
    let mut config = ConfigSet::broker();
    config.set("log.message.format.version", "2.8").unwrap();
    config.set("log.message.format.version", "3.0").unwrap();
    let text =
        b"log.message.format.version=2.0\nzookeeper.ssl.protocol=x\nlog.retention.hours.per.topic=a:1\n\
                 log.message.timestamp.difference.max.ms=5\ntopic.t.message.format.version=1.0\n";
    let warnings = config.load_properties(text).unwrap();
    let shown: Vec<_> = warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        shown,
        [
            "line 2: zookeeper.ssl.protocol is a key of Kafka up to 3.9 and is ignored",
            "line 3: log.retention.hours.per.topic is a key of Kafka up to 0.8.0 and is ignored; use topic overrides",
            "line 4: log.message.timestamp.difference.max.ms is a key of Kafka up to 3.9 and is ignored; \
             see log.message.timestamp.before.max.ms and log.message.timestamp.after.max.ms",
            "line 5: topic.t.message.format.version is a key of Kafka up to 3.9 and is ignored; \
             klog always writes message format 2",
        ]
    );
    assert_eq!(config.warnings().len(), 5);
    assert_eq!(
        config.warnings()[0].to_string(),
        "log.message.format.version is a key of Kafka up to 3.9 and is ignored; klog always writes message format 2"
    );
    assert_eq!(config.get("zookeeper.connect").unwrap(), None);
    // The topic of an ignored override was given a configuration all the same.
    assert!(
        config
            .resolve()
            .unwrap()
            .overrides_for("t")
            .unwrap()
            .is_empty()
    );
    config
        .set_topic("u", "message.downconversion.enable", "true")
        .unwrap();
    assert!(
        config
            .resolve()
            .unwrap()
            .overrides_for("u")
            .unwrap()
            .is_empty()
    );
}

/// config.md 7: the whole list, by level.
#[test]
fn every_old_key_is_known_as_one() {
    let broker = "log.message.format.version log.message.timestamp.difference.max.ms log.message.downconversion.enable \
        inter.broker.protocol.version broker.id.generation.enable reserved.broker.max.id zookeeper.connect \
        zookeeper.session.timeout.ms zookeeper.set.acl zookeeper.ssl.keystore.location \
        zookeeper.metadata.migration.enable zookeeper.clientCnxnSocket zookeeper.sync.time.ms host.name port \
        advertised.host.name advertised.port quota.producer.default quota.consumer.default \
        control.plane.listener.name controlled.shutdown.max.retries controlled.shutdown.retry.backoff.ms \
        leader.imbalance.per.broker.percentage auto.include.jmx.reporter delegation.token.master.key \
        password.encoder.secret offsets.commit.required.acks eligible.leader.replicas.enable \
        group.coordinator.new.enable group.share.enable group.share.max.groups share.fetch.max.fetch.records \
        metadata.log.segment.min.bytes replica.lag.max.messages controller.message.queue.size \
        log.segment.bytes.per.topic log.roll.hours.per.topic log.retention.hours.per.topic \
        log.retention.bytes.per.topic log.flush.interval.ms.per.topic";
    let topic =
        "message.format.version message.timestamp.difference.max.ms message.downconversion.enable";
    for (mut config, keys) in [(ConfigSet::broker(), broker), (ConfigSet::topic(), topic)] {
        let keys: Vec<_> = keys.split_ascii_whitespace().collect();
        for key in &keys {
            config.set(key, "whatever").unwrap();
        }
        let warned: Vec<_> = config
            .warnings()
            .iter()
            .map(|warning| warning.key.as_str())
            .collect();
        assert_eq!(warned, keys);
    }
    // Names of 0.7 are nobody's.
    assert_eq!(
        ConfigSet::broker()
            .set("log.file.size", "1")
            .unwrap_err()
            .kind(),
        ErrorKind::UnknownConfig
    );
}

/// config.md 8.
#[test]
fn keys_of_a_cluster_pass_without_a_word() {
    let keys = "process.roles node.id broker.id broker.rack controller.quorum.voters \
        metadata.log.max.record.bytes.between.snapshots \
        internal.metadata.delete.delay.millis unstable.api.versions.enable early.start.listeners listeners \
        listener.security.protocol.map listener.name.x.ssl.keystore.location socket.send.buffer.bytes \
        connection.failed.authentication.delay.ms connections.max.idle.ms max.connections max.connection.creation.rate \
        queued.max.requests fetch.max.bytes ssl.keystore.location sasl.enabled.mechanisms delegation.token.max.lifetime.ms \
        config.providers config.providers.file.class replica.fetch.max.bytes num.replica.fetchers \
        unclean.leader.election.interval.ms leader.imbalance.check.interval.seconds group.initial.rebalance.delay.ms \
        offsets.topic.replication.factor share.coordinator.threads errors.deadletterqueue.topic.name.prefix \
        transaction.state.log.min.isr transactional.id.expiration.ms add.partitions.to.txn.retry.backoff.ms \
        auto.create.topics.enable num.partitions quota.window.num metric.reporters metrics.num.samples \
        kafka.metrics.reporters fetch.purgatory.purge.interval.requests remote.anything";
    let mut config = ConfigSet::broker();
    for key in keys.split_ascii_whitespace() {
        config.set(key, "${any:thing}").unwrap();
        assert_eq!(config.get(key).unwrap(), None, "{key}");
    }
    assert_eq!(config, ConfigSet::broker());
    // At topic level they are unknown.
    assert_eq!(
        ConfigSet::topic().set("node.id", "1").unwrap_err().kind(),
        ErrorKind::UnknownConfig
    );
    // What klog uses is checked although a pattern of section 8 would match it.
    for key in [
        "replica.high.watermark.checkpoint.interval.ms",
        "unclean.leader.election.enable",
        "remote.log.reader.threads",
    ] {
        assert_eq!(
            config.set(key, "x").unwrap_err().kind(),
            ErrorKind::InvalidConfig,
            "{key}"
        );
    }
}

/// config.md 1.6, 1.7, c-abi.md 3.2.9.
#[test]
fn a_text_sets_broker_keys_and_overrides_and_warns_of_unknown_keys() {
    let mut config = ConfigSet::broker();
    config.set("log.retention.hours", "1").unwrap();
    let text = b"# a broker\nprocess.roles=broker,controller\nlog.dirs = /a,\\\n  /b\n\
        log.retention.hour=3\ninternal.segment.bytes=100\ntopic.a.retention.ms=5\ntopic.a.b.delete.retention.ms=6\n\
        topic.a.retention.mss=7\ntopic.a.cleanup.policy=compact,compact\nlog.segment.bytes=1\nlog.segment.bytes=2000000\n";
    let warnings = config.load_properties(text).unwrap();
    let expect = [
        (
            5,
            "log.retention.hour",
            "Unknown broker config name: log.retention.hour; the nearest known one is log.retention.hours",
        ),
        (
            6,
            "internal.segment.bytes",
            "Unknown broker config name: internal.segment.bytes; it is a topic key: set \
             topic.<name>.internal.segment.bytes for one topic",
        ),
        (
            9,
            "topic.a.retention.mss",
            "Unknown broker config name: topic.a.retention.mss; the nearest known one is topic.a.retention.ms",
        ),
        (
            10,
            "topic.a.cleanup.policy",
            "topic.a.cleanup.policy has duplicate items; the first of each is kept",
        ),
    ];
    let expect = expect.map(|(line, key, text)| ConfigWarning {
        line: Some(line),
        key: key.into(),
        text: text.into(),
    });
    assert_eq!(warnings, expect);
    assert_eq!(config.warnings(), expect);
    let resolved = config.resolve().unwrap();
    assert_eq!(resolved.warnings, expect);
    assert_eq!(resolved.topics().collect::<Vec<_>>(), ["a", "a.b"]);
    assert_eq!(resolved.log_config("a").retention_ms, Some(5));
    assert!(resolved.log_config("a").cleanup_policy.compact);
    assert_eq!(resolved.log_config("a.b").delete_retention_ms, 6);
    assert_eq!(resolved.log_config("a.b").retention_ms, Some(3_600_000));
    // The last of two entries counts, and only it is checked.
    assert_eq!(resolved.log_config("other").segment_bytes, 2_000_000);
}

#[test]
fn an_error_in_a_text_names_its_line_and_leaves_the_set_as_it_was() {
    let mut config = ConfigSet::broker();
    config.set("log.retention.hours", "1").unwrap();
    let before = config.clone();
    for (text, line, message) in [
        (
            "log.retention.hours=2\nnope=1\n\nbackground.threads=x",
            4,
            "line 4: Invalid value x for configuration background.threads: Not a number of type INT",
        ),
        (
            "log.retention.hours=2\ntopic.t.flush.ms=-1",
            2,
            "line 2: topic t: Invalid value -1 for configuration flush.ms: Value must be at least 0",
        ),
        ("log.dirs=\\u12", 1, "line 1: Malformed \\uxxxx encoding."),
    ] {
        let error = config.load_properties(text.as_bytes()).unwrap_err();
        assert_eq!(
            (error.kind(), error.record_index(), error.message()),
            (ErrorKind::InvalidConfig, Some(line), message)
        );
        assert_eq!(config, before);
    }
}

#[test]
fn a_text_in_utf_8_is_read_as_java_reads_it_with_a_warning() {
    let mut config = ConfigSet::broker();
    let warnings = config
        .load_properties("log.dirs=/\u{e9}\n".as_bytes())
        .unwrap();
    assert_eq!(
        config.get("log.dirs").unwrap().as_deref(),
        Some("/\u{c3}\u{a9}")
    );
    assert_eq!((warnings.len(), warnings[0].line), (1, Some(1)));
    let mut config = ConfigSet::broker();
    assert_eq!(
        config
            .load_properties(b"log.dirs=/\xe9\nlog.dir=/\\u00e9\\u20ac\n")
            .unwrap(),
        []
    );
    assert_eq!(
        config.get("log.dir").unwrap().as_deref(),
        Some("/\u{e9}\u{20ac}")
    );
}

#[test]
fn overrides_need_a_broker_configuration_and_a_name_that_a_topic_may_have() {
    let mut config = ConfigSet::broker();
    for name in ["", ".", "..", "a b", "a/b", "\u{e9}", &"x".repeat(250)] {
        assert_eq!(
            config.set_topic(name, "flush.ms", "1").unwrap_err().kind(),
            ErrorKind::InvalidTopic,
            "{name}"
        );
        assert_eq!(
            config.manage_topic(name).unwrap_err().kind(),
            ErrorKind::InvalidTopic,
            "{name}"
        );
    }
    let error = config.set_topic("t", "flush.mss", "1").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnknownConfig);
    assert_eq!(
        error.message(),
        "topic t: Unknown topic config name: flush.mss; the nearest known one is flush.ms"
    );
    let error = config.set_topic("t", "flush.ms", "x").unwrap_err();
    assert_eq!(
        error.message(),
        "topic t: Invalid value x for configuration flush.ms: Not a number of type LONG"
    );
    assert_eq!(config, ConfigSet::broker());
    let mut topic = ConfigSet::topic();
    assert_eq!(
        topic.set_topic("t", "flush.ms", "1").unwrap_err().kind(),
        ErrorKind::InvalidArgument
    );
    assert_eq!(
        topic.resolve().unwrap_err().kind(),
        ErrorKind::InvalidArgument
    );
    assert_eq!(
        config.topic_overrides().unwrap_err().kind(),
        ErrorKind::InvalidArgument
    );
    // A topic's own text knows no topics.
    let warnings = topic
        .load_properties(b"flush.ms=7\ntopic.t.flush.ms=8\n")
        .unwrap();
    assert_eq!(warnings.len(), 1);
    assert_eq!(
        topic.topic_overrides().unwrap().get("flush.ms").as_deref(),
        Some("7")
    );
}

proptest! {
    #[test]
    fn no_text_makes_loading_panic_and_a_refused_one_changes_nothing(
        text in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        let mut config = ConfigSet::broker();
        if config.load_properties(&text).is_err() {
            prop_assert_eq!(&config, &ConfigSet::broker());
        }
        let _ = config.resolve();
    }

    #[test]
    fn texts_of_real_keys_never_panic_and_what_is_accepted_reads_back(
        entries in proptest::collection::vec(
            (any::<prop::sample::Index>(), any::<bool>(), "[-+]?[0-9]{1,20}|[a-z*,.:]{0,9}|true|[0-9]\\.[0-9]{1,3}"),
            0..8,
        ),
    ) {
        let keys: Vec<_> = describe_all().map(|key| key.key).collect();
        let mut config = ConfigSet::broker();
        for (index, of_topic, value) in &entries {
            let key = index.get(&keys);
            let line = if *of_topic { format!("topic.t.{key}={value}") } else { format!("{key}={value}") };
            let _ = config.load_properties(line.as_bytes());
        }
        let mut again = ConfigSet::broker();
        for key in &keys {
            if let Ok(Some(value)) = config.get(key) {
                again.set(key, &value).unwrap();
                prop_assert_eq!(again.get(key).unwrap(), Some(value));
            }
        }
        if let Ok(resolved) = config.resolve() {
            prop_assert!(resolved.log_config("t").segment_ms >= 1);
        }
    }
}
