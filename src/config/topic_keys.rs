//! The topic keys: Kafka's 38 of config.md 3, each with the broker keys that give its default.

use super::broker_keys::{INDEX_HINT, MAX_DECOMPRESSED, MIN_INDEX, MIN_SEGMENT, SEGMENT_HINT};
use super::choices::{CleanupPolicy, Compression, TimestampType};
use super::key::{Key, KeyDef, Rule, Scope, Synonym, keys};

const HOURS: i64 = 3_600_000;
const MINUTES: i64 = 60_000;

const fn same(key: &'static str) -> Synonym {
    Synonym { key, factor: 1 }
}

const fn times(key: &'static str, factor: i64) -> Synonym {
    Synonym { key, factor }
}

/// The text of keys that only matter with tiered storage.
const TIERED: &str = "Only matters with tiered storage, which klog does not have.";
/// The text of keys that throttle replication.
const THROTTLE: &str = "Replicas whose replication a broker slows down; a matter of a cluster.";
/// What Kafka answers to a topic that wants tiered storage while the system's switch is off.
const NO_TIERED_TOPIC: &str = "Tiered Storage functionality is disabled in the broker. \
    Topic cannot be configured with remote log storage.";

keys! {
    /// Every topic key with its row, by name.
    TOPIC_KEYS, Topic;

    CLEANUP_POLICY: Vec<String> = Key::list("cleanup.policy", &["delete"],
        "How old records go: by retention, by compaction, by both, or (empty) not at all.")
        .rule(Rule::ItemsOf(CleanupPolicy::NAMES)).from(&[same("log.cleanup.policy")]);
    COMPRESSION_GZIP_LEVEL: i32 = Key::int("compression.gzip.level", -1,
        "Level where compression.type is gzip; -1 is the codec's default.")
        .rule(Rule::GzipLevel).from(&[same("compression.gzip.level")]);
    COMPRESSION_LZ4_LEVEL: i32 = Key::int("compression.lz4.level", 9,
        "Level where compression.type is lz4.").between(1, 17).from(&[same("compression.lz4.level")]);
    COMPRESSION_TYPE: String = Key::string("compression.type", "producer",
        "The codec that stored batches have; producer keeps each batch's own.")
        .rule(Rule::OneOf(Compression::NAMES)).from(&[same("compression.type")]);
    COMPRESSION_ZSTD_LEVEL: i32 = Key::int("compression.zstd.level", 3,
        "Level where compression.type is zstd.").between(-131_072, 22).from(&[same("compression.zstd.level")]);
    DELETE_RETENTION_MS: i64 = Key::long("delete.retention.ms", 86_400_000,
        "Milliseconds for which compaction keeps tombstones and transaction markers.")
        .at_least(0).from(&[same("log.cleaner.delete.retention.ms")]);
    DEADLETTERQUEUE_GROUP_ENABLE: bool = Key::boolean("errors.deadletterqueue.group.enable", false,
        "Whether share groups may use the topic for records they gave up on; a matter of a cluster.").stored();
    FILE_DELETE_DELAY_MS: i64 = Key::long("file.delete.delay.ms", 60_000,
        "Milliseconds for which files marked as deleted stay on disk.")
        .at_least(0).from(&[same("log.segment.delete.delay.ms")]);
    FLUSH_MESSAGES: i64 = Key::long("flush.messages", i64::MAX,
        "Records after which the log is flushed to disk.")
        .at_least(1).from(&[same("log.flush.interval.messages")]);
    FLUSH_MS: i64 = Key::long("flush.ms", i64::MAX,
        "Milliseconds after which a log with unflushed records is flushed.")
        .at_least(0).from(&[same("log.flush.interval.ms"), same("log.flush.scheduler.interval.ms")]);
    FOLLOWER_THROTTLED_REPLICAS: Vec<String> = Key::list("follower.replication.throttled.replicas", &[], THROTTLE)
        .rule(Rule::Replicas).stored();
    INDEX_INTERVAL_BYTES: i32 = Key::int("index.interval.bytes", 4_096,
        "Bytes of log between two entries of the offset index.")
        .at_least(0).from(&[same("log.index.interval.bytes")]);
    INTERNAL_SEGMENT_BYTES: Option<i32> = Key::int_or_null("internal.segment.bytes",
        "For tests: bytes at which a segment is full, of any size. Wins over segment.bytes.").internal();
    LEADER_THROTTLED_REPLICAS: Vec<String> = Key::list("leader.replication.throttled.replicas", &[], THROTTLE)
        .rule(Rule::Replicas).stored();
    LOCAL_RETENTION_BYTES: i64 = Key::long("local.retention.bytes", -2, TIERED)
        .at_least(-2).from(&[same("log.local.retention.bytes")]).stored();
    LOCAL_RETENTION_MS: i64 = Key::long("local.retention.ms", -2, TIERED)
        .at_least(-2).from(&[same("log.local.retention.ms")]).stored();
    MAX_COMPACTION_LAG_MS: i64 = Key::long("max.compaction.lag.ms", i64::MAX,
        "Milliseconds after which a record must be compacted, however clean the log is.")
        .at_least(1).from(&[same("log.cleaner.max.compaction.lag.ms")]);
    MAX_DECOMPRESSED_MESSAGE_BYTES: i32 = Key::int("max.decompressed.message.bytes", MAX_DECOMPRESSED,
        "Most bytes of a batch's records once decompressed.")
        .between(1, MAX_DECOMPRESSED).from(&[same("max.decompressed.message.bytes")]);
    MAX_MESSAGE_BYTES: i32 = Key::int("max.message.bytes", 1_048_588,
        "Most bytes of a record batch as stored.").at_least(0).from(&[same("message.max.bytes")]);
    MESSAGE_TIMESTAMP_AFTER_MAX_MS: i64 = Key::long("message.timestamp.after.max.ms", 3_600_000,
        "Most milliseconds that a record's timestamp may lie after the time of the append.")
        .at_least(0).from(&[same("log.message.timestamp.after.max.ms")]);
    MESSAGE_TIMESTAMP_BEFORE_MAX_MS: i64 = Key::long("message.timestamp.before.max.ms", i64::MAX,
        "Most milliseconds that a record's timestamp may lie before the time of the append.")
        .at_least(0).from(&[same("log.message.timestamp.before.max.ms")]);
    MESSAGE_TIMESTAMP_TYPE: String = Key::string("message.timestamp.type", "CreateTime",
        "Whether records keep the time their producer gave or get the time of the append.")
        .rule(Rule::OneOf(TimestampType::NAMES)).from(&[same("log.message.timestamp.type")]);
    MIN_CLEANABLE_DIRTY_RATIO: f64 = Key::double("min.cleanable.dirty.ratio", 0.5,
        "Share of the log that must be dirty before it is compacted.")
        .rule(Rule::Between(0.0, 1.0)).from(&[same("log.cleaner.min.cleanable.ratio")]);
    MIN_COMPACTION_LAG_MS: i64 = Key::long("min.compaction.lag.ms", 0,
        "Milliseconds for which a record is safe from compaction; at most max.compaction.lag.ms.")
        .at_least(0).from(&[same("log.cleaner.min.compaction.lag.ms")]);
    MIN_INSYNC_REPLICAS: i32 = Key::int("min.insync.replicas", 1,
        "Replicas that an acknowledged write needs; a matter of a cluster.")
        .at_least(1).from(&[same("min.insync.replicas")]).stored();
    PREALLOCATE: bool = Key::boolean("preallocate", false,
        "Whether the file of a new segment gets its full size at once.").from(&[same("log.preallocate")]);
    REMOTE_COPY_LAG_BYTES: i64 = Key::long("remote.copy.lag.bytes", -1, TIERED)
        .at_least(-1).from(&[same("log.remote.copy.lag.bytes")]).stored();
    REMOTE_COPY_LAG_MS: i64 = Key::long("remote.copy.lag.ms", 0, TIERED)
        .at_least(-1).from(&[same("log.remote.copy.lag.ms")]).stored();
    REMOTE_LOG_COPY_DISABLE: bool = Key::boolean("remote.log.copy.disable", false, TIERED).stored();
    REMOTE_LOG_DELETE_ON_DISABLE: bool = Key::boolean("remote.log.delete.on.disable", false, TIERED).stored();
    REMOTE_STORAGE_ENABLE: bool = Key::boolean("remote.storage.enable", false,
        "Switch of tiered storage for the topic, which klog does not have.")
        .rule(Rule::NeverTrue(NO_TIERED_TOPIC)).stored();
    RETENTION_BYTES: i64 = Key::long("retention.bytes", -1,
        "Bytes of a partition above which its oldest segments go; negative for no limit.")
        .from(&[same("log.retention.bytes")]);
    RETENTION_MS: i64 = Key::long("retention.ms", 604_800_000,
        "Milliseconds for which records are kept: -1 for ever, 0 only while their segment is active.")
        .at_least(-1).from(&[same("log.retention.ms"), times("log.retention.minutes", MINUTES),
            times("log.retention.hours", HOURS)]);
    SEGMENT_BYTES: i32 = Key::int("segment.bytes", 1_073_741_824,
        "Bytes at which a segment is full.")
        .at_least(MIN_SEGMENT).hint(SEGMENT_HINT).from(&[same("log.segment.bytes")]);
    SEGMENT_INDEX_BYTES: i32 = Key::int("segment.index.bytes", 10_485_760,
        "Most bytes of an offset or time index; a full one rolls the segment.")
        .at_least(MIN_INDEX).hint(INDEX_HINT).from(&[same("log.index.size.max.bytes")]);
    SEGMENT_JITTER_MS: i64 = Key::long("segment.jitter.ms", 0,
        "Most milliseconds by which a roll by age comes earlier, at random.")
        .at_least(0).from(&[same("log.roll.jitter.ms"), times("log.roll.jitter.hours", HOURS)]);
    SEGMENT_MS: i64 = Key::long("segment.ms", 604_800_000,
        "Milliseconds after which a segment is rolled although it is not full.")
        .at_least(1).from(&[same("log.roll.ms"), times("log.roll.hours", HOURS)]);
    UNCLEAN_LEADER_ELECTION_ENABLE: bool = Key::boolean("unclean.leader.election.enable", false,
        "Whether a replica that lags may become leader; a matter of a cluster.")
        .from(&[same("unclean.leader.election.enable")]).stored();
}
