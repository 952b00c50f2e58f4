//! The broker keys that klog knows: those of config.md 2, then klog's own of config.md 9.

use super::choices::{CleanupPolicy, Compression, TimestampType, UnmanagedTopics};
use super::key::{Key, KeyDef, Rule, Scope, keys};

/// Largest array of a JVM: the limit that Kafka sets for decompressed records.
pub(super) const MAX_DECOMPRESSED: i32 = 2_147_483_639;
/// Smallest segment that Kafka's public keys allow.
pub(super) const MIN_SEGMENT: i32 = 1_048_576;
pub(super) const SEGMENT_HINT: &str =
    "; smaller segments, as tests want them, take the topic key internal.segment.bytes";
/// Smallest index that can hold an entry of a time index (config.md 5.2).
pub(super) const MIN_INDEX: i32 = 12;
pub(super) const INDEX_HINT: &str = ", the size of one time index entry";
/// Why the system switch of tiered storage stays off (config.md 2.5).
const NO_TIERED_STORAGE: &str = "tiered storage is not supported";

keys! {
    /// Every broker key with its row, in the order of config.md 2 and 9.
    BROKER_KEYS, Broker;

    // 2.1 Directories and tasks
    LOG_DIRS: Option<Vec<String>> = Key::list_or_null("log.dirs",
        "The directories that hold the partitions. Wins over log.dir.").rule(Rule::SomeItems);
    LOG_DIR: Vec<String> = Key::list("log.dir", &["/tmp/kafka-logs"],
        "The directories if log.dirs is not set; one as a rule.").rule(Rule::SomeItems);
    CORDONED_LOG_DIRS: Vec<String> = Key::list("cordoned.log.dirs", &[],
        "Directories that get no new partitions: some of the configured ones, or * for all.")
        .rule(Rule::Items).dynamic();
    RECOVERY_THREADS: i32 = Key::int("num.recovery.threads.per.data.dir", 2,
        "Threads per directory that load logs at open and close them at shutdown.").at_least(1).dynamic();
    BACKGROUND_THREADS: i32 = Key::int("background.threads", 10,
        "Threads that run periodic and delayed tasks.").at_least(1).dynamic();
    INITIAL_TASK_DELAY_MS: i64 = Key::long("log.initial.task.delay.ms", 30_000,
        "Milliseconds from open to the first run of each periodic task.").at_least(0).internal();
    RETENTION_CHECK_INTERVAL_MS: i64 = Key::long("log.retention.check.interval.ms", 300_000,
        "Milliseconds between two passes of retention.").at_least(1);
    FLUSH_SCHEDULER_INTERVAL_MS: i64 = Key::long("log.flush.scheduler.interval.ms", i64::MAX,
        "Milliseconds between two checks for logs that flush.ms makes due; also the default of flush.ms.");
    FLUSH_OFFSET_CHECKPOINT_INTERVAL_MS: i32 = Key::int("log.flush.offset.checkpoint.interval.ms", 60_000,
        "Milliseconds between two writes of the recovery point checkpoint; 0 writes it once.").at_least(0);
    FLUSH_START_OFFSET_CHECKPOINT_INTERVAL_MS: i32 = Key::int(
        "log.flush.start.offset.checkpoint.interval.ms", 60_000,
        "Milliseconds between two writes of the log start offset checkpoint; 0 writes it once.").at_least(0);
    HIGH_WATERMARK_CHECKPOINT_INTERVAL_MS: i64 = Key::long(
        "replica.high.watermark.checkpoint.interval.ms", 5_000,
        "Milliseconds between two writes of the high watermark checkpoint.");
    DIR_FAILURE_TIMEOUT_MS: i64 = Key::long("log.dir.failure.timeout.ms", 30_000,
        "Milliseconds until a broker that cannot report a failed directory stops.").at_least(1).stored();
    METADATA_LOG_DIR: Option<String> = Key::string_or_null("metadata.log.dir",
        "The directory with the cluster's metadata log, which is never touched; the first one if not set.");

    // 2.2 Segments, retention, records: defaults of topic keys
    LOG_SEGMENT_BYTES: i32 = Key::int("log.segment.bytes", 1_073_741_824,
        "Bytes at which a segment is full.").at_least(MIN_SEGMENT).hint(SEGMENT_HINT).dynamic();
    LOG_ROLL_MS: Option<i64> = Key::long_or_null("log.roll.ms",
        "Milliseconds after which a segment is rolled although it is not full.").dynamic();
    LOG_ROLL_HOURS: i32 = Key::int("log.roll.hours", 168,
        "Hours after which a segment is rolled, if log.roll.ms is not set.").at_least(1);
    LOG_ROLL_JITTER_MS: Option<i64> = Key::long_or_null("log.roll.jitter.ms",
        "Most milliseconds by which a roll by age comes earlier, at random.").dynamic();
    LOG_ROLL_JITTER_HOURS: i32 = Key::int("log.roll.jitter.hours", 0,
        "Most hours by which a roll by age comes earlier, if log.roll.jitter.ms is not set.").at_least(0);
    LOG_INDEX_SIZE_MAX_BYTES: i32 = Key::int("log.index.size.max.bytes", 10_485_760,
        "Most bytes of an offset or time index; a full one rolls the segment.")
        .at_least(MIN_INDEX).hint(INDEX_HINT).dynamic();
    LOG_INDEX_INTERVAL_BYTES: i32 = Key::int("log.index.interval.bytes", 4_096,
        "Bytes of log between two entries of the offset index.").at_least(0).dynamic();
    LOG_PREALLOCATE: bool = Key::boolean("log.preallocate", false,
        "Whether the file of a new segment gets its full size at once.").dynamic();
    LOG_SEGMENT_DELETE_DELAY_MS: i64 = Key::long("log.segment.delete.delay.ms", 60_000,
        "Milliseconds for which files marked as deleted stay on disk.").at_least(0).dynamic();
    LOG_FLUSH_INTERVAL_MESSAGES: i64 = Key::long("log.flush.interval.messages", i64::MAX,
        "Records after which a log is flushed to disk.").at_least(1).dynamic();
    LOG_FLUSH_INTERVAL_MS: Option<i64> = Key::long_or_null("log.flush.interval.ms",
        "Milliseconds after which a log with unflushed records is flushed; else the scheduler's interval.")
        .dynamic();
    LOG_RETENTION_MS: Option<i64> = Key::long_or_null("log.retention.ms",
        "Milliseconds for which records are kept; negative for ever.").dynamic();
    LOG_RETENTION_MINUTES: Option<i32> = Key::int_or_null("log.retention.minutes",
        "Minutes for which records are kept, if log.retention.ms is not set; negative for ever.");
    LOG_RETENTION_HOURS: i32 = Key::int("log.retention.hours", 168,
        "Hours for which records are kept, if neither the milliseconds nor the minutes are set; negative for ever.");
    LOG_RETENTION_BYTES: i64 = Key::long("log.retention.bytes", -1,
        "Bytes of a partition above which its oldest segments go; negative for no limit.").dynamic();
    LOG_CLEANUP_POLICY: Vec<String> = Key::list("log.cleanup.policy", &["delete"],
        "How old records go: by retention, by compaction, by both, or (empty) not at all.")
        .rule(Rule::ItemsOf(CleanupPolicy::NAMES)).dynamic();
    MESSAGE_MAX_BYTES: i32 = Key::int("message.max.bytes", 1_048_588,
        "Most bytes of a record batch as stored; also how far the cleaner's buffers may grow.")
        .at_least(0).dynamic();
    MAX_DECOMPRESSED_MESSAGE_BYTES: i32 = Key::int("max.decompressed.message.bytes", MAX_DECOMPRESSED,
        "Most bytes of a batch's records once decompressed.").between(1, MAX_DECOMPRESSED).dynamic();
    LOG_MESSAGE_TIMESTAMP_TYPE: String = Key::string("log.message.timestamp.type", "CreateTime",
        "Whether records keep the time their producer gave or get the time of the append.")
        .rule(Rule::OneOf(TimestampType::NAMES)).dynamic();
    LOG_MESSAGE_TIMESTAMP_BEFORE_MAX_MS: i64 = Key::long("log.message.timestamp.before.max.ms", i64::MAX,
        "Most milliseconds that a record's timestamp may lie before the time of the append.").at_least(0).dynamic();
    LOG_MESSAGE_TIMESTAMP_AFTER_MAX_MS: i64 = Key::long("log.message.timestamp.after.max.ms", 3_600_000,
        "Most milliseconds that a record's timestamp may lie after the time of the append.").at_least(0).dynamic();
    COMPRESSION_TYPE: String = Key::string("compression.type", "producer",
        "The codec that stored batches have; producer keeps each batch's own.")
        .rule(Rule::OneOf(Compression::NAMES)).dynamic();
    COMPRESSION_GZIP_LEVEL: i32 = Key::int("compression.gzip.level", -1,
        "Level where compression.type is gzip; -1 is the codec's default.").rule(Rule::GzipLevel).dynamic();
    COMPRESSION_LZ4_LEVEL: i32 = Key::int("compression.lz4.level", 9,
        "Level where compression.type is lz4.").between(1, 17).dynamic();
    COMPRESSION_ZSTD_LEVEL: i32 = Key::int("compression.zstd.level", 3,
        "Level where compression.type is zstd.").between(-131_072, 22).dynamic();
    MIN_INSYNC_REPLICAS: i32 = Key::int("min.insync.replicas", 1,
        "Replicas that an acknowledged write needs; a matter of a cluster.").at_least(1).dynamic().stored();
    UNCLEAN_LEADER_ELECTION_ENABLE: bool = Key::boolean("unclean.leader.election.enable", false,
        "Whether a replica that lags may become leader; a matter of a cluster.").dynamic().stored();

    // 2.3 Cleaner
    CLEANER_ENABLE: bool = Key::boolean("log.cleaner.enable", true,
        "Whether logs with compaction are cleaned at all; if not, they have no retention either.");
    CLEANER_THREADS: i32 = Key::int("log.cleaner.threads", 1,
        "Threads that compact; 0 only where the cleaner is off.").at_least(0).dynamic();
    CLEANER_DEDUPE_BUFFER_SIZE: i64 = Key::long("log.cleaner.dedupe.buffer.size", 134_217_728,
        "Bytes of memory for the offset maps of all cleaner threads; over 1 MiB for each.").dynamic();
    CLEANER_IO_BUFFER_LOAD_FACTOR: f64 = Key::double("log.cleaner.io.buffer.load.factor", 0.9,
        "Share of an offset map's slots that are filled.").rule(Rule::Share).dynamic();
    CLEANER_IO_BUFFER_SIZE: i32 = Key::int("log.cleaner.io.buffer.size", 524_288,
        "Bytes of memory for the read and write buffers of all cleaner threads.").at_least(0).dynamic();
    CLEANER_IO_MAX_BYTES_PER_SECOND: f64 = Key::double("log.cleaner.io.max.bytes.per.second", f64::MAX,
        "Most bytes per second that all cleaner threads read and write together.").dynamic();
    CLEANER_BACKOFF_MS: i64 = Key::long("log.cleaner.backoff.ms", 15_000,
        "Milliseconds that a cleaner thread sleeps when nothing is to be cleaned.").at_least(0).dynamic();
    CLEANER_MIN_CLEANABLE_RATIO: f64 = Key::double("log.cleaner.min.cleanable.ratio", 0.5,
        "Share of a log that must be dirty before it is compacted.").rule(Rule::Between(0.0, 1.0)).dynamic();
    CLEANER_DELETE_RETENTION_MS: i64 = Key::long("log.cleaner.delete.retention.ms", 86_400_000,
        "Milliseconds for which compaction keeps tombstones and transaction markers.").at_least(0).dynamic();
    CLEANER_MIN_COMPACTION_LAG_MS: i64 = Key::long("log.cleaner.min.compaction.lag.ms", 0,
        "Milliseconds for which a record is safe from compaction.").at_least(0).dynamic();
    CLEANER_MAX_COMPACTION_LAG_MS: i64 = Key::long("log.cleaner.max.compaction.lag.ms", i64::MAX,
        "Milliseconds after which a record must be compacted, however clean its log is.").at_least(1).dynamic();

    // 2.4 Producers and transactions
    PRODUCER_ID_EXPIRATION_MS: i32 = Key::int("producer.id.expiration.ms", 86_400_000,
        "Milliseconds after which a silent producer is forgotten.").at_least(1).dynamic();
    PRODUCER_ID_EXPIRATION_CHECK_INTERVAL_MS: i32 = Key::int(
        "producer.id.expiration.check.interval.ms", 600_000,
        "Milliseconds between two searches of a log for silent producers.").at_least(1).internal();
    TRANSACTION_MAX_TIMEOUT_MS: i32 = Key::int("transaction.max.timeout.ms", 900_000,
        "Longest timeout of a transaction in milliseconds; one open for longer counts as late.").at_least(1);
    TRANSACTION_PARTITION_VERIFICATION_ENABLE: bool = Key::boolean(
        "transaction.partition.verification.enable", true,
        "Whether a broker asks the coordinator about a transaction before its first write; klog has none to ask.")
        .dynamic().stored();

    // 2.5 Tiered storage: not supported, but checked
    REMOTE_LOG_STORAGE_SYSTEM_ENABLE: bool = Key::boolean("remote.log.storage.system.enable", false,
        "Switch of tiered storage, which klog does not have.").rule(Rule::NeverTrue(NO_TIERED_STORAGE)).stored();
    LOG_LOCAL_RETENTION_MS: i64 = Key::long("log.local.retention.ms", -2, TIERED).at_least(-2).dynamic().stored();
    LOG_LOCAL_RETENTION_BYTES: i64 = Key::long("log.local.retention.bytes", -2, TIERED)
        .at_least(-2).dynamic().stored();
    LOG_REMOTE_COPY_LAG_MS: i64 = Key::long("log.remote.copy.lag.ms", 0, TIERED).at_least(-1).dynamic().stored();
    LOG_REMOTE_COPY_LAG_BYTES: i64 = Key::long("log.remote.copy.lag.bytes", -1, TIERED)
        .at_least(-1).dynamic().stored();
    REMOTE_FETCH_MAX_WAIT_MS: i32 = Key::int("remote.fetch.max.wait.ms", 500, TIERED)
        .at_least(1).dynamic().stored();
    REMOTE_LIST_OFFSETS_REQUEST_TIMEOUT_MS: i64 = Key::long(
        "remote.list.offsets.request.timeout.ms", 30_000, TIERED).at_least(1).dynamic().stored();
    REMOTE_INDEX_CACHE_BYTES: i64 = Key::long(
        "remote.log.index.file.cache.total.size.bytes", 1_073_741_824, TIERED).at_least(1).dynamic().stored();
    REMOTE_INDEX_CACHE_TTL_MS: i64 = Key::long("remote.log.index.file.cache.ttl.ms", 900_000, TIERED)
        .at_least(-1).internal().stored();
    REMOTE_COPIER_POOL_SIZE: i32 = Key::int("remote.log.manager.copier.thread.pool.size", 10, TIERED)
        .at_least(1).dynamic().stored();
    REMOTE_COPY_MAX_BYTES_PER_SECOND: i64 = Key::long(
        "remote.log.manager.copy.max.bytes.per.second", i64::MAX, TIERED).at_least(1).dynamic().stored();
    REMOTE_COPY_QUOTA_WINDOW_NUM: i32 = Key::int("remote.log.manager.copy.quota.window.num", 11, TIERED)
        .at_least(1).stored();
    REMOTE_COPY_QUOTA_WINDOW_SECONDS: i32 = Key::int(
        "remote.log.manager.copy.quota.window.size.seconds", 1, TIERED).at_least(1).stored();
    REMOTE_EXPIRATION_POOL_SIZE: i32 = Key::int(
        "remote.log.manager.expiration.thread.pool.size", 10, TIERED).at_least(1).dynamic().stored();
    REMOTE_FETCH_MAX_BYTES_PER_SECOND: i64 = Key::long(
        "remote.log.manager.fetch.max.bytes.per.second", i64::MAX, TIERED).at_least(1).dynamic().stored();
    REMOTE_FETCH_QUOTA_WINDOW_NUM: i32 = Key::int("remote.log.manager.fetch.quota.window.num", 11, TIERED)
        .at_least(1).stored();
    REMOTE_FETCH_QUOTA_WINDOW_SECONDS: i32 = Key::int(
        "remote.log.manager.fetch.quota.window.size.seconds", 1, TIERED).at_least(1).stored();
    REMOTE_FOLLOWER_POOL_SIZE: i32 = Key::int("remote.log.manager.follower.thread.pool.size", 2, TIERED)
        .at_least(1).dynamic().stored();
    REMOTE_TASK_INTERVAL_MS: i64 = Key::long("remote.log.manager.task.interval.ms", 30_000, TIERED)
        .at_least(1).stored();
    REMOTE_TASK_RETRY_BACKOFF_MAX_MS: i64 = Key::long(
        "remote.log.manager.task.retry.backoff.max.ms", 30_000, TIERED).at_least(1).internal().stored();
    REMOTE_TASK_RETRY_BACKOFF_MS: i64 = Key::long("remote.log.manager.task.retry.backoff.ms", 500, TIERED)
        .at_least(1).internal().stored();
    REMOTE_TASK_RETRY_JITTER: f64 = Key::double("remote.log.manager.task.retry.jitter", 0.2, TIERED)
        .rule(Rule::Between(0.0, 0.5)).internal().stored();
    REMOTE_POOL_SIZE: i32 = Key::int("remote.log.manager.thread.pool.size", 2, TIERED).at_least(1).stored();
    REMOTE_CUSTOM_METADATA_MAX_BYTES: i32 = Key::int(
        "remote.log.metadata.custom.metadata.max.bytes", 128, TIERED).at_least(0).stored();
    REMOTE_METADATA_MANAGER_CLASS_NAME: String = Key::string(
        "remote.log.metadata.manager.class.name",
        "org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager", TIERED)
        .rule(Rule::NonEmpty).stored();
    REMOTE_METADATA_MANAGER_CLASS_PATH: Option<String> = Key::string_or_null(
        "remote.log.metadata.manager.class.path", TIERED).stored();
    REMOTE_METADATA_MANAGER_IMPL_PREFIX: String = Key::string(
        "remote.log.metadata.manager.impl.prefix", "rlmm.config.", TIERED).rule(Rule::NonEmpty).stored();
    REMOTE_METADATA_MANAGER_LISTENER_NAME: Option<String> = Key::string_or_null(
        "remote.log.metadata.manager.listener.name", TIERED).rule(Rule::NonEmpty).stored();
    REMOTE_READER_MAX_PENDING_TASKS: i32 = Key::int("remote.log.reader.max.pending.tasks", 100, TIERED)
        .at_least(1).stored();
    REMOTE_READER_THREADS: i32 = Key::int("remote.log.reader.threads", 10, TIERED)
        .at_least(1).dynamic().stored();
    REMOTE_STORAGE_MANAGER_CLASS_NAME: Option<String> = Key::string_or_null(
        "remote.log.storage.manager.class.name", TIERED).rule(Rule::NonEmpty).stored();
    REMOTE_STORAGE_MANAGER_CLASS_PATH: Option<String> = Key::string_or_null(
        "remote.log.storage.manager.class.path", TIERED).stored();
    REMOTE_STORAGE_MANAGER_IMPL_PREFIX: String = Key::string(
        "remote.log.storage.manager.impl.prefix", "rsm.config.", TIERED).rule(Rule::NonEmpty).stored();

    // 9 Keys of klog itself
    MAX_OPEN_FILES: i32 = Key::int("klog.max.open.files", 0,
        "Most segment and index files open at once; 0 takes it from the process's limit of descriptors.").at_least(0);
    UNMANAGED_TOPICS: String = Key::string("klog.unmanaged.topics", "ignore",
        "What retention and the cleaner do with topics found on disk and given no configuration: leave them alone, \
         or manage them with the topic defaults.").rule(Rule::OneOf(UnmanagedTopics::NAMES));
    VERIFY_ON_OPEN: bool = Key::boolean("klog.verify.on.open", false,
        "Whether the checksum of every batch is checked after loading; damage is reported, nothing is cut.");
}

/// The text of keys that only matter with tiered storage.
const TIERED: &str = "Only matters with tiered storage, which klog does not have.";
