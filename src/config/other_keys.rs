//! Keys that do nothing in klog but may stand in a broker's file: those of older versions, which deserve a warning,
//! and those of 4.4.0 that concern a cluster, which do not.
//!
//! Implements config.md 7 and 8.

use super::key::Scope;

/// A key that Kafka 4.4.0 no longer has.
#[derive(Debug)]
pub(super) struct OldKey {
    /// The name; with `*` at its end, all that begin so.
    name: &'static str,
    pub(super) scope: Scope,
    /// The last version that had it.
    last: &'static str,
    /// What to do instead, or what klog does; may be empty.
    note: &'static str,
}

const FORMAT: &str = "; klog always writes message format 2";
const BOUNDS: &str =
    "; see log.message.timestamp.before.max.ms and log.message.timestamp.after.max.ms";
const TOPIC_BOUNDS: &str =
    "; see message.timestamp.before.max.ms and message.timestamp.after.max.ms";
const OVERRIDES: &str = "; use topic overrides";

macro_rules! rows {
    ($($scope:ident $last:literal $note:ident: $($name:literal)*;)*) => {
        &[$($(OldKey { name: $name, scope: Scope::$scope, last: $last, note: $note },)*)*]
    };
}

const NONE: &str = "";

/// config.md 7. `broker.id` is not here: 4.4.0 still has it, so section 8 passes it without a word.
static OLD_KEYS: &[OldKey] = rows! {
    Broker "3.9" FORMAT: "log.message.format.version";
    Topic "3.9" FORMAT: "message.format.version";
    Broker "3.9" BOUNDS: "log.message.timestamp.difference.max.ms";
    Topic "3.9" TOPIC_BOUNDS: "message.timestamp.difference.max.ms";
    Broker "3.9" NONE: "log.message.downconversion.enable" "inter.broker.protocol.version"
        "broker.id.generation.enable" "reserved.broker.max.id" "control.plane.listener.name"
        "controlled.shutdown.max.retries" "controlled.shutdown.retry.backoff.ms"
        "leader.imbalance.per.broker.percentage" "auto.include.jmx.reporter" "delegation.token.master.key"
        "password.encoder.*" "offsets.commit.required.acks" "eligible.leader.replicas.enable";
    Topic "3.9" NONE: "message.downconversion.enable";
    Broker "2.8" NONE: "zookeeper.sync.time.ms" "host.name" "port" "advertised.host.name" "advertised.port"
        "quota.producer.default" "quota.consumer.default";
    Broker "3.9" NONE: "zookeeper.*";
    Broker "4.0" NONE: "group.coordinator.new.enable" "group.share.enable" "group.share.max.groups"
        "share.fetch.max.fetch.records" "metadata.log.segment.min.bytes";
    Broker "0.8.2" NONE: "replica.lag.max.messages" "controller.message.queue.size";
    Broker "0.8.0" OVERRIDES: "log.segment.bytes.per.topic" "log.roll.hours.per.topic"
        "log.retention.hours.per.topic" "log.retention.bytes.per.topic" "log.flush.interval.ms.per.topic";
};

/// config.md 8: broker keys of 4.4.0 without a meaning for storage.
static CLUSTER_KEYS: &[&str] = &[
    // Identity and KRaft
    "process.roles",
    "node.id",
    "broker.id",
    "broker.rack",
    "broker.heartbeat.interval.ms",
    "broker.session.timeout.ms",
    "initial.broker.registration.timeout.ms",
    "server.max.startup.time.ms",
    "controller.*",
    "metadata.*",
    "internal.metadata.*",
    "unstable.*",
    "early.start.listeners",
    // Network
    "listeners",
    "advertised.listeners",
    "listener.*",
    "inter.broker.listener.name",
    "security.inter.broker.protocol",
    "socket.*",
    "connection.*",
    "connections.*",
    "max.connection*",
    "num.network.threads",
    "num.io.threads",
    "queued.max.*",
    "request.timeout.ms",
    "max.request.partition.size.limit",
    "max.incremental.fetch.session.cache.slots",
    "fetch.max.bytes",
    // Security
    "ssl.*",
    "sasl.*",
    "delegation.token.*",
    "authorizer.class.name",
    "principal.builder.class",
    "security.providers",
    "config.providers",
    "config.providers.*",
    // Replication
    "replica.*",
    "num.replica.fetchers",
    "num.replica.alter.log.dirs.threads",
    "default.replication.factor",
    "unclean.leader.election.*",
    "auto.leader.rebalance.enable",
    "leader.imbalance.*",
    "follower.fetch.*",
    "replication.quota.*",
    "alter.log.dirs.replication.quota.*",
    "controlled.shutdown.enable",
    // Groups, offsets, share
    "group.*",
    "offset.metadata.max.bytes",
    "offsets.*",
    "share.*",
    "errors.deadletterqueue.*",
    // Transactions
    "transaction.state.log.*",
    "transaction.abort.*",
    "transaction.remove.*",
    "transaction.two.phase.commit.enable",
    "transactional.id.expiration.ms",
    "add.partitions.to.txn.*",
    // Topics and policies
    "auto.create.topics.enable",
    "delete.topic.enable",
    "num.partitions",
    "create.topic.policy.class.name",
    "alter.config.policy.class.name",
    // Quotas, metrics, purgatories
    "quota.*",
    "controller.quota.*",
    "client.quota.callback.class",
    "metric.reporters",
    "metrics.*",
    "kafka.metrics.*",
    "telemetry.max.bytes",
    "*.purgatory.purge.interval.requests",
    // Tiered storage
    "remote.*",
];

impl OldKey {
    /// The name, where it is one key and not a family.
    pub(super) fn exact_name(&self) -> Option<&'static str> {
        (!self.name.ends_with('*')).then_some(self.name)
    }

    /// The warning for `key`, which this row matched.
    pub(super) fn warning(&self, key: &str) -> String {
        format!(
            "{key} is a key of Kafka up to {} and is ignored{}",
            self.last, self.note
        )
    }
}

/// The old keys of one level.
pub(super) fn old_keys(scope: Scope) -> impl Iterator<Item = &'static OldKey> {
    OLD_KEYS.iter().filter(move |old| old.scope == scope)
}

/// The row of an old key.
pub(super) fn find_old_key(scope: Scope, key: &str) -> Option<&'static OldKey> {
    old_keys(scope).find(|old| matches(old.name, key))
}

/// Whether a broker key is of the cluster's kind. Old keys come first: many would match a pattern here.
pub(super) fn is_cluster_key(scope: Scope, key: &str) -> bool {
    scope == Scope::Broker && CLUSTER_KEYS.iter().any(|pattern| matches(pattern, key))
}

fn matches(pattern: &str, key: &str) -> bool {
    match (pattern.strip_suffix('*'), pattern.strip_prefix('*')) {
        (Some(prefix), _) => key.starts_with(prefix),
        (_, Some(suffix)) => key.ends_with(suffix),
        _ => key == pattern,
    }
}
