//! The configuration of one log, and where it comes from: topic defaults with a topic's overrides on top.
//!
//! A [`LogConfig`] is immutable and complete; it has passed every check, those across keys included.
//!
//! Implements config.md 4.5, 5 and 6.8.

use super::choices::{CleanupPolicy, Compression, TimestampType};
use super::topic_keys as keys;
use super::value::Value;
use super::values::Values;
use crate::error::{Error, ErrorKind, Result};

/// The topic defaults that a broker's keys give; [`Default`] is Kafka's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TopicDefaults(Values);

/// The overrides of one topic, each checked on its own. [`Default`] is the empty set, which still says that the topic
/// was given a configuration (manager.md 2.2).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TopicOverrides(Values);

/// The effective configuration of one log. [`Default`] is what Kafka gives a topic without overrides on a broker
/// without settings. Durations are milliseconds and never negative.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LogConfig {
    /// `cleanup.policy`.
    pub cleanup_policy: CleanupPolicy,
    /// `compression.type`.
    pub compression: Compression,
    /// `compression.gzip.level`: 1 to 9, or -1 for the codec's default.
    pub compression_gzip_level: i32,
    /// `compression.lz4.level`: 1 to 17.
    pub compression_lz4_level: i32,
    /// `compression.zstd.level`: -131072 to 22.
    pub compression_zstd_level: i32,
    /// `delete.retention.ms`: how long compaction keeps tombstones and markers.
    pub delete_retention_ms: i64,
    /// `file.delete.delay.ms`: how long files stay that are marked as deleted.
    pub file_delete_delay_ms: i64,
    /// `flush.messages`: records after which the log is flushed; at least 1.
    pub flush_messages: i64,
    /// `flush.ms`: age of the oldest unflushed record at which the log is flushed.
    pub flush_ms: i64,
    /// `index.interval.bytes`: bytes of log between two entries of the offset index.
    pub index_interval_bytes: u32,
    /// `max.compaction.lag.ms`: age at which a record must be compacted; at least 1.
    pub max_compaction_lag_ms: i64,
    /// `max.decompressed.message.bytes`: most bytes of a batch's records once decompressed; at least 1.
    pub max_decompressed_message_bytes: u32,
    /// `max.message.bytes`: most bytes of a whole batch as stored, not of a record (config.md 5.8).
    pub max_message_bytes: u32,
    /// `message.timestamp.after.max.ms`: how far a timestamp may lie in the future.
    pub timestamp_after_max_ms: i64,
    /// `message.timestamp.before.max.ms`: how far a timestamp may lie in the past.
    pub timestamp_before_max_ms: i64,
    /// `message.timestamp.type`.
    pub timestamp_type: TimestampType,
    /// `min.cleanable.dirty.ratio`: share of the log that must be dirty before it is compacted. Kafka takes NaN too,
    /// which is never reached.
    pub min_cleanable_dirty_ratio: f64,
    /// `min.compaction.lag.ms`: age below which a record is safe from compaction; at most `max_compaction_lag_ms`.
    pub min_compaction_lag_ms: i64,
    /// `preallocate`: whether a new segment's file gets its full size at once.
    pub preallocate: bool,
    /// `retention.bytes`: bytes above which the oldest segments go; `None` is no limit.
    pub retention_bytes: Option<u64>,
    /// `retention.ms`: age at which records go; `None` is for ever, 0 takes all that is not in the active segment.
    pub retention_ms: Option<i64>,
    /// Bytes at which a segment is full: `internal.segment.bytes` if it was given, else `segment.bytes` (config.md
    /// 5.1). Tests may set any number; a negative one is 0 here.
    pub segment_bytes: u32,
    /// `segment.index.bytes`: most bytes of an index file; at least 12. See [`Self::offset_index_bytes`].
    pub segment_index_bytes: u32,
    /// `segment.jitter.ms`: see [`Self::segment_jitter`].
    pub segment_jitter_ms: i64,
    /// `segment.ms`: at least 1. The age at which a segment is rolled is [`Self::max_segment_ms`].
    pub segment_ms: i64,
    /// What the topic itself set (manager.md 12.2: it stays when the defaults change).
    pub overrides: TopicOverrides,
}

impl Default for LogConfig {
    fn default() -> Self {
        Self::read(&Values::default(), TopicOverrides::default())
    }
}

impl TopicOverrides {
    pub(super) fn values_mut(&mut self) -> &mut Values {
        &mut self.0
    }

    /// The keys that the topic overrides, by name.
    pub fn keys(&self) -> impl Iterator<Item = &'static str> {
        self.0.keys()
    }

    /// The value of an override as text; `None` if the topic leaves the key at its default.
    pub fn get(&self, key: &str) -> Option<String> {
        self.0.get(key).map(Value::to_string)
    }

    /// Whether nothing is overridden.
    pub fn is_empty(&self) -> bool {
        self.keys().next().is_none()
    }
}

impl TopicDefaults {
    /// The defaults that a broker's values give, checked as topic values (config.md 4, 2.2).
    pub(super) fn from_broker(values: Values) -> Result<Self> {
        values.check_as_topic_values()?;
        check_compaction_lags(&values)?;
        Ok(Self(values))
    }

    /// The configuration of a log whose topic overrides nothing.
    #[must_use]
    pub fn log_config(&self) -> LogConfig {
        LogConfig::read(&self.0, TopicOverrides::default())
    }

    /// The configuration of a log with its topic's overrides.
    ///
    /// # Errors
    /// `InvalidConfig` if the merged `min.compaction.lag.ms` is above `max.compaction.lag.ms`.
    pub fn overlaid(&self, overrides: &TopicOverrides) -> Result<LogConfig> {
        let mut merged = self.0.clone();
        merged.overlay(&overrides.0);
        check_compaction_lags(&merged)?;
        Ok(LogConfig::read(&merged, overrides.clone()))
    }
}

/// config.md 6.8.
fn check_compaction_lags(values: &Values) -> Result<()> {
    let (min, max) = (
        values.read(&keys::MIN_COMPACTION_LAG_MS),
        values.read(&keys::MAX_COMPACTION_LAG_MS),
    );
    if min <= max {
        return Ok(());
    }
    let text = format!(
        "conflict topic config setting min.compaction.lag.ms ({min}) > max.compaction.lag.ms ({max})"
    );
    Err(Error::new(ErrorKind::InvalidConfig, text))
}

/// A number whose rule keeps it from being negative.
pub(super) fn unsigned(number: i32) -> u32 {
    u32::try_from(number).unwrap_or(0)
}

impl LogConfig {
    fn read(values: &Values, overrides: TopicOverrides) -> Self {
        let segment_bytes = values
            .read(&keys::INTERNAL_SEGMENT_BYTES)
            .unwrap_or_else(|| values.read(&keys::SEGMENT_BYTES));
        let retention_ms = values.read(&keys::RETENTION_MS);
        Self {
            cleanup_policy: CleanupPolicy::from_words(&values.read(&keys::CLEANUP_POLICY)),
            compression: Compression::from_name(&values.read(&keys::COMPRESSION_TYPE))
                .unwrap_or_default(),
            compression_gzip_level: values.read(&keys::COMPRESSION_GZIP_LEVEL),
            compression_lz4_level: values.read(&keys::COMPRESSION_LZ4_LEVEL),
            compression_zstd_level: values.read(&keys::COMPRESSION_ZSTD_LEVEL),
            delete_retention_ms: values.read(&keys::DELETE_RETENTION_MS),
            file_delete_delay_ms: values.read(&keys::FILE_DELETE_DELAY_MS),
            flush_messages: values.read(&keys::FLUSH_MESSAGES),
            flush_ms: values.read(&keys::FLUSH_MS),
            index_interval_bytes: unsigned(values.read(&keys::INDEX_INTERVAL_BYTES)),
            max_compaction_lag_ms: values.read(&keys::MAX_COMPACTION_LAG_MS),
            max_decompressed_message_bytes: unsigned(
                values.read(&keys::MAX_DECOMPRESSED_MESSAGE_BYTES),
            ),
            max_message_bytes: unsigned(values.read(&keys::MAX_MESSAGE_BYTES)),
            timestamp_after_max_ms: values.read(&keys::MESSAGE_TIMESTAMP_AFTER_MAX_MS),
            timestamp_before_max_ms: values.read(&keys::MESSAGE_TIMESTAMP_BEFORE_MAX_MS),
            timestamp_type: TimestampType::from_name(&values.read(&keys::MESSAGE_TIMESTAMP_TYPE))
                .unwrap_or_default(),
            min_cleanable_dirty_ratio: values.read(&keys::MIN_CLEANABLE_DIRTY_RATIO),
            min_compaction_lag_ms: values.read(&keys::MIN_COMPACTION_LAG_MS),
            preallocate: values.read(&keys::PREALLOCATE),
            retention_bytes: u64::try_from(values.read(&keys::RETENTION_BYTES)).ok(),
            retention_ms: (retention_ms >= 0).then_some(retention_ms),
            segment_bytes: unsigned(segment_bytes),
            segment_index_bytes: unsigned(values.read(&keys::SEGMENT_INDEX_BYTES)),
            segment_jitter_ms: values.read(&keys::SEGMENT_JITTER_MS),
            segment_ms: values.read(&keys::SEGMENT_MS),
            overrides,
        }
    }

    /// The age at which a segment is rolled, in milliseconds (config.md 5.4): a compacted log rolls in time for
    /// `max.compaction.lag.ms`, since the active segment is never compacted.
    #[must_use]
    pub fn max_segment_ms(&self) -> i64 {
        if self.cleanup_policy.compact {
            self.max_compaction_lag_ms.min(self.segment_ms)
        } else {
            self.segment_ms
        }
    }

    /// How much earlier a segment rolls by age, in milliseconds, for a random number that is drawn when the segment is
    /// created or loaded (config.md 5.3).
    #[must_use]
    pub fn segment_jitter(&self, random: i32) -> i64 {
        // The smallest number has no positive counterpart and counts as 0, as in Kafka.
        let random = random.checked_abs().unwrap_or(0);
        i64::from(random)
            .checked_rem(self.segment_jitter_ms.min(self.segment_ms))
            .unwrap_or(0)
    }

    /// Size in bytes that the file of a new segment gets before anything is written (config.md 5.5).
    #[must_use]
    pub fn initial_file_bytes(&self) -> u64 {
        if self.preallocate {
            u64::from(self.segment_bytes)
        } else {
            0
        }
    }

    /// Size in bytes of a full offset index: whole entries of 8 bytes (config.md 5.2).
    #[must_use]
    pub fn offset_index_bytes(&self) -> u32 {
        self.segment_index_bytes / 8 * 8
    }

    /// Size in bytes of a full time index: whole entries of 12 bytes (config.md 5.2).
    #[must_use]
    pub fn time_index_bytes(&self) -> u32 {
        self.segment_index_bytes / 12 * 12
    }

    /// The level for the codec of [`Self::compression`], where it has levels (config.md 5.7).
    #[must_use]
    pub fn compression_level(&self) -> Option<i32> {
        match self.compression {
            Compression::Gzip => Some(self.compression_gzip_level),
            Compression::Lz4 => Some(self.compression_lz4_level),
            Compression::Zstd => Some(self.compression_zstd_level),
            Compression::Uncompressed | Compression::Snappy | Compression::Producer => None,
        }
    }
}
