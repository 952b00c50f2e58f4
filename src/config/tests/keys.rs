//! The table of keys against Kafka's.

use super::super::key::{Effect, Scope, ValueType};
use super::super::value::{Value, check, parse};
use super::super::values::{find, table};
use super::super::{ConfigSet, describe, describe_all};
use super::refusal;

/// config.md 2 and 9: key, type, default, smallest and largest value, what it is besides. Not taken from klog's table:
/// it is what Kafka 4.4.0 says of itself, but for the two smallest index sizes (5.2) and klog's own keys.
const BROKER: &str = "
    background.threads INT 10 1 - dyn
    compression.gzip.level INT -1 -1 9 dyn
    compression.lz4.level INT 9 1 17 dyn
    compression.type STRING producer - - dyn
    compression.zstd.level INT 3 -131072 22 dyn
    cordoned.log.dirs LIST - - - dyn
    log.cleaner.backoff.ms LONG 15000 0 - dyn
    log.cleaner.dedupe.buffer.size LONG 134217728 - - dyn
    log.cleaner.delete.retention.ms LONG 86400000 0 - dyn
    log.cleaner.enable BOOLEAN true - -
    log.cleaner.io.buffer.load.factor DOUBLE 0.9 - - dyn
    log.cleaner.io.buffer.size INT 524288 0 - dyn
    log.cleaner.io.max.bytes.per.second DOUBLE 1.7976931348623157E308 - - dyn
    log.cleaner.max.compaction.lag.ms LONG max 1 - dyn
    log.cleaner.min.cleanable.ratio DOUBLE 0.5 0 1 dyn
    log.cleaner.min.compaction.lag.ms LONG 0 0 - dyn
    log.cleaner.threads INT 1 0 - dyn
    log.cleanup.policy LIST delete - - dyn
    log.dir LIST /tmp/kafka-logs - -
    log.dir.failure.timeout.ms LONG 30000 1 -
    log.dirs LIST null - -
    log.flush.interval.messages LONG max 1 - dyn
    log.flush.interval.ms LONG null - - dyn
    log.flush.offset.checkpoint.interval.ms INT 60000 0 -
    log.flush.scheduler.interval.ms LONG max - -
    log.flush.start.offset.checkpoint.interval.ms INT 60000 0 -
    log.index.interval.bytes INT 4096 0 - dyn
    log.index.size.max.bytes INT 10485760 12 - dyn
    log.initial.task.delay.ms LONG 30000 0 - internal
    log.local.retention.bytes LONG -2 -2 - dyn
    log.local.retention.ms LONG -2 -2 - dyn
    log.message.timestamp.after.max.ms LONG 3600000 0 - dyn
    log.message.timestamp.before.max.ms LONG max 0 - dyn
    log.message.timestamp.type STRING CreateTime - - dyn
    log.preallocate BOOLEAN false - - dyn
    log.remote.copy.lag.bytes LONG -1 -1 - dyn
    log.remote.copy.lag.ms LONG 0 -1 - dyn
    log.retention.bytes LONG -1 - - dyn
    log.retention.check.interval.ms LONG 300000 1 -
    log.retention.hours INT 168 - -
    log.retention.minutes INT null - -
    log.retention.ms LONG null - - dyn
    log.roll.hours INT 168 1 -
    log.roll.jitter.hours INT 0 0 -
    log.roll.jitter.ms LONG null - - dyn
    log.roll.ms LONG null - - dyn
    log.segment.bytes INT 1073741824 1048576 - dyn
    log.segment.delete.delay.ms LONG 60000 0 - dyn
    max.decompressed.message.bytes INT 2147483639 1 2147483639 dyn
    message.max.bytes INT 1048588 0 - dyn
    metadata.log.dir STRING null - -
    min.insync.replicas INT 1 1 - dyn
    num.recovery.threads.per.data.dir INT 2 1 - dyn
    producer.id.expiration.check.interval.ms INT 600000 1 - internal
    producer.id.expiration.ms INT 86400000 1 - dyn
    remote.fetch.max.wait.ms INT 500 1 - dyn
    remote.list.offsets.request.timeout.ms LONG 30000 1 - dyn
    remote.log.index.file.cache.total.size.bytes LONG 1073741824 1 - dyn
    remote.log.index.file.cache.ttl.ms LONG 900000 -1 - internal
    remote.log.manager.copier.thread.pool.size INT 10 1 - dyn
    remote.log.manager.copy.max.bytes.per.second LONG max 1 - dyn
    remote.log.manager.copy.quota.window.num INT 11 1 -
    remote.log.manager.copy.quota.window.size.seconds INT 1 1 -
    remote.log.manager.expiration.thread.pool.size INT 10 1 - dyn
    remote.log.manager.fetch.max.bytes.per.second LONG max 1 - dyn
    remote.log.manager.fetch.quota.window.num INT 11 1 -
    remote.log.manager.fetch.quota.window.size.seconds INT 1 1 -
    remote.log.manager.follower.thread.pool.size INT 2 1 - dyn
    remote.log.manager.task.interval.ms LONG 30000 1 -
    remote.log.manager.task.retry.backoff.max.ms LONG 30000 1 - internal
    remote.log.manager.task.retry.backoff.ms LONG 500 1 - internal
    remote.log.manager.task.retry.jitter DOUBLE 0.2 0 0.5 internal
    remote.log.manager.thread.pool.size INT 2 1 -
    remote.log.metadata.custom.metadata.max.bytes INT 128 0 -
    remote.log.metadata.manager.class.name STRING org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager - -
    remote.log.metadata.manager.class.path STRING null - -
    remote.log.metadata.manager.impl.prefix STRING rlmm.config. - -
    remote.log.metadata.manager.listener.name STRING null - -
    remote.log.reader.max.pending.tasks INT 100 1 -
    remote.log.reader.threads INT 10 1 - dyn
    remote.log.storage.manager.class.name STRING null - -
    remote.log.storage.manager.class.path STRING null - -
    remote.log.storage.manager.impl.prefix STRING rsm.config. - -
    remote.log.storage.system.enable BOOLEAN false - -
    replica.high.watermark.checkpoint.interval.ms LONG 5000 - -
    transaction.max.timeout.ms INT 900000 1 -
    transaction.partition.verification.enable BOOLEAN true - - dyn
    unclean.leader.election.enable BOOLEAN false - - dyn
    klog.max.open.files INT 0 0 -
    klog.unmanaged.topics STRING ignore - -
    klog.verify.on.open BOOLEAN false - -
";

/// config.md 3, in the same way.
const TOPIC: &str = "
    cleanup.policy LIST delete - - dyn
    compression.gzip.level INT -1 -1 9 dyn
    compression.lz4.level INT 9 1 17 dyn
    compression.type STRING producer - - dyn
    compression.zstd.level INT 3 -131072 22 dyn
    delete.retention.ms LONG 86400000 0 - dyn
    errors.deadletterqueue.group.enable BOOLEAN false - - dyn
    file.delete.delay.ms LONG 60000 0 - dyn
    flush.messages LONG max 1 - dyn
    flush.ms LONG max 0 - dyn
    follower.replication.throttled.replicas LIST - - - dyn
    index.interval.bytes INT 4096 0 - dyn
    internal.segment.bytes INT null - - dyn internal
    leader.replication.throttled.replicas LIST - - - dyn
    local.retention.bytes LONG -2 -2 - dyn
    local.retention.ms LONG -2 -2 - dyn
    max.compaction.lag.ms LONG max 1 - dyn
    max.decompressed.message.bytes INT 2147483639 1 2147483639 dyn
    max.message.bytes INT 1048588 0 - dyn
    message.timestamp.after.max.ms LONG 3600000 0 - dyn
    message.timestamp.before.max.ms LONG max 0 - dyn
    message.timestamp.type STRING CreateTime - - dyn
    min.cleanable.dirty.ratio DOUBLE 0.5 0 1 dyn
    min.compaction.lag.ms LONG 0 0 - dyn
    min.insync.replicas INT 1 1 - dyn
    preallocate BOOLEAN false - - dyn
    remote.copy.lag.bytes LONG -1 -1 - dyn
    remote.copy.lag.ms LONG 0 -1 - dyn
    remote.log.copy.disable BOOLEAN false - - dyn
    remote.log.delete.on.disable BOOLEAN false - - dyn
    remote.storage.enable BOOLEAN false - - dyn
    retention.bytes LONG -1 - - dyn
    retention.ms LONG 604800000 -1 - dyn
    segment.bytes INT 1073741824 1048576 - dyn
    segment.index.bytes INT 10485760 12 - dyn
    segment.jitter.ms LONG 0 0 - dyn
    segment.ms LONG 604800000 1 - dyn
    unclean.leader.election.enable BOOLEAN false - - dyn
";

struct Row {
    scope: Scope,
    key: &'static str,
    value_type: &'static str,
    default: Option<&'static str>,
    bounds: [Option<&'static str>; 2],
    dynamic: bool,
    internal: bool,
}

fn rows() -> Vec<Row> {
    let of = |scope: Scope, text: &'static str| {
        text.lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .map(move |line| {
                let [key, value_type, default, min, max, marks @ ..] =
                    &*line.split(' ').collect::<Vec<_>>()
                else {
                    panic!("{line}")
                };
                Row {
                    scope,
                    key,
                    value_type,
                    default: match *default {
                        "null" => None,
                        "-" => Some(""),
                        "max" => Some("9223372036854775807"),
                        other => Some(other),
                    },
                    bounds: [*min, *max].map(|bound| (bound != "-").then_some(bound)),
                    dynamic: marks.contains(&"dyn"),
                    internal: marks.contains(&"internal"),
                }
            })
    };
    of(Scope::Broker, BROKER)
        .chain(of(Scope::Topic, TOPIC))
        .collect()
}

fn set(row: &Row, value: &str) -> crate::Result<()> {
    let mut config = if row.scope == Scope::Broker {
        ConfigSet::broker()
    } else {
        ConfigSet::topic()
    };
    config.set(row.key, value)
}

#[test]
fn every_key_has_the_type_default_and_marks_of_kafka() {
    let rows = rows();
    assert_eq!(
        rows.iter().filter(|row| row.scope == Scope::Topic).count(),
        38
    );
    for row in &rows {
        let found: Vec<_> = describe_all()
            .filter(|key| key.key == row.key && key.scope == row.scope)
            .collect();
        let [key] = &*found else {
            panic!("{} is described {} times", row.key, found.len())
        };
        assert_eq!(key.value_type.to_string(), row.value_type, "{}", row.key);
        assert_eq!(key.default.as_deref(), row.default, "{}", row.key);
        assert_eq!(
            (key.dynamic, key.internal),
            (row.dynamic, row.internal),
            "{}",
            row.key
        );
        let config = if row.scope == Scope::Broker {
            ConfigSet::broker()
        } else {
            ConfigSet::topic()
        };
        assert_eq!(
            config.get(row.key).unwrap().as_deref(),
            row.default,
            "{}",
            row.key
        );
    }
    assert_eq!(describe_all().count(), rows.len());
}

#[test]
fn numbers_are_accepted_up_to_their_bounds_and_refused_beyond() {
    for row in rows()
        .iter()
        .filter(|row| matches!(row.value_type, "INT" | "LONG"))
    {
        let of_type = match row.value_type {
            "INT" => (i128::from(i32::MIN), i128::from(i32::MAX)),
            _ => (i128::from(i64::MIN), i128::from(i64::MAX)),
        };
        let [min, max] = row
            .bounds
            .map(|bound| bound.map(|text| text.parse::<i128>().unwrap()));
        for good in [min.unwrap_or(of_type.0), max.unwrap_or(of_type.1)] {
            set(row, &good.to_string()).unwrap();
        }
        for (bad, text) in [
            (
                min.map(|min| min - 1),
                min.map(|min| format!("Value must be at least {min}")),
            ),
            (
                max.map(|max| max + 1),
                max.map(|max| format!("Value must be no more than {max}")),
            ),
            (
                Some(of_type.0 - 1),
                Some(format!("Not a number of type {}", row.value_type)),
            ),
            (
                Some(of_type.1 + 1),
                Some(format!("Not a number of type {}", row.value_type)),
            ),
        ] {
            let (Some(bad), Some(text)) = (bad, text) else {
                continue;
            };
            let (bad, text) = match row.key {
                "compression.gzip.level" if text.starts_with("Value") => (
                    bad,
                    "Value must be between 1 and 9 or equal to -1".to_string(),
                ),
                // The first number beyond a bound may be beyond the type too.
                _ if bad < of_type.0 || bad > of_type.1 => {
                    (bad, format!("Not a number of type {}", row.value_type))
                }
                _ => (bad, text),
            };
            let message = refusal(set(row, &bad.to_string()));
            let expect = format!("Invalid value {bad} for configuration {}: {text}", row.key);
            assert!(
                message.starts_with(&expect),
                "{message} instead of {expect}"
            );
        }
    }
}

#[test]
fn a_share_is_accepted_up_to_its_bounds_and_refused_beyond() {
    for row in rows()
        .iter()
        .filter(|row| row.value_type == "DOUBLE" && row.bounds[0].is_some())
    {
        let [min, max] = row
            .bounds
            .map(|bound| bound.unwrap().parse::<f64>().unwrap());
        set(row, &min.to_string()).unwrap();
        set(row, &max.to_string()).unwrap();
        assert!(
            refusal(set(row, &(min - 0.001).to_string()))
                .ends_with(&format!("Value must be at least {min}"))
        );
        assert!(
            refusal(set(row, &(max + 0.001).to_string()))
                .ends_with(&format!("Value must be no more than {max}"))
        );
    }
}

#[test]
fn every_default_obeys_its_own_rule_and_reads_back_from_its_text() {
    for row in table(Scope::Broker).iter().chain(table(Scope::Topic)) {
        let default = row.default_value();
        check(row, &default).unwrap();
        if default != Value::Null {
            assert_eq!(
                parse(row, &default.to_string()).unwrap().value,
                default,
                "{}",
                row.name
            );
        }
    }
}

/// config.md 4: a broker without settings gives Kafka's topic defaults. The last broker key has the default.
#[test]
fn topic_defaults_are_those_of_the_broker_keys_they_come_from() {
    for topic_key in table(Scope::Topic) {
        for synonym in topic_key.synonyms {
            assert!(
                find(Scope::Broker, synonym.key).is_some(),
                "{}",
                synonym.key
            );
        }
        let Some(last) = topic_key.synonyms.last() else {
            continue;
        };
        let expect = match find(Scope::Broker, last.key).unwrap().default_value() {
            Value::Int(number) if topic_key.value_type == ValueType::Long => {
                Value::Long(i64::from(number) * last.factor)
            }
            other => other,
        };
        assert_eq!(topic_key.default_value(), expect, "{}", topic_key.name);
    }
}

/// manager.md 12.1: of the broker keys behind a topic key the first can be changed at runtime.
#[test]
fn the_first_broker_key_of_a_topic_key_is_dynamic_and_later_ones_are_not() {
    for topic_key in table(Scope::Topic) {
        for (index, synonym) in topic_key.synonyms.iter().enumerate() {
            assert_eq!(
                find(Scope::Broker, synonym.key).unwrap().dynamic,
                index == 0,
                "{}",
                synonym.key
            );
        }
    }
}

#[test]
fn keys_are_described_by_number_until_there_are_no_more() {
    let all: Vec<_> = describe_all().collect();
    for (index, key) in all.iter().enumerate() {
        assert_eq!(describe(index).as_ref(), Some(key));
        assert!(key.doc.ends_with('.') && key.doc.len() > 20, "{}", key.key);
    }
    assert_eq!(describe(all.len()), None);
}

#[test]
fn a_description_reads_as_lines() {
    let text = |scope, name: &str| {
        describe_all()
            .find(|key| key.scope == scope && key.key == name)
            .unwrap()
            .to_string()
    };
    assert_eq!(
        text(Scope::Topic, "retention.ms"),
        "key: retention.ms\nscope: topic\ntype: LONG\ndefault: 604800000\nrange: at least -1\ndynamic: yes\n\
         broker keys: log.retention.ms, log.retention.minutes, log.retention.hours\n\
         doc: Milliseconds for which records are kept: -1 for ever, 0 only while their segment is active.\n"
    );
    assert_eq!(
        text(Scope::Broker, "log.roll.hours"),
        "key: log.roll.hours\nscope: broker\ntype: INT\ndefault: 168\nrange: at least 1\ndynamic: no\n\
         topic key: segment.ms\ndoc: Hours after which a segment is rolled, if log.roll.ms is not set.\n"
    );
    let stored = text(Scope::Topic, "min.insync.replicas");
    assert!(
        stored.contains("\neffect: none, checked and kept\n"),
        "{stored}"
    );
}

/// config.md 2.2, 2.4, 2.5, 3, D79: what belongs to a cluster is kept without effect; the rest is used.
#[test]
fn only_keys_of_a_cluster_are_without_effect() {
    let stored: Vec<_> = describe_all()
        .filter(|key| {
            key.effect == Effect::Stored && !key.doc.starts_with("Only matters with tiered storage")
        })
        .map(|key| (key.scope, key.key))
        .collect();
    let expect = [
        (Scope::Broker, "log.dir.failure.timeout.ms"),
        (Scope::Broker, "min.insync.replicas"),
        (Scope::Broker, "unclean.leader.election.enable"),
        (Scope::Broker, "transaction.partition.verification.enable"),
        (Scope::Broker, "remote.log.storage.system.enable"),
        (Scope::Topic, "errors.deadletterqueue.group.enable"),
        (Scope::Topic, "follower.replication.throttled.replicas"),
        (Scope::Topic, "leader.replication.throttled.replicas"),
        (Scope::Topic, "min.insync.replicas"),
        (Scope::Topic, "remote.storage.enable"),
        (Scope::Topic, "unclean.leader.election.enable"),
    ];
    assert_eq!(stored, expect);
}
