//! Kafka's metrics of storage, in the order of manager.md 14.

use std::ffi::CStr;

use super::MetricKind::{Counter, Gauge, TimerCount, TimerSum};
use super::Together::{Max, Sum};
use super::{Metric, MetricKind, Source};

const NONE: &CStr = c"";
const BYTES: &CStr = c"bytes";
const PERCENT: &CStr = c"percent";
const SECONDS: &CStr = c"seconds";
const MS: &CStr = c"milliseconds";

const fn row(
    name: &'static CStr,
    kind: MetricKind,
    unit: &'static CStr,
    source: Source,
    help: &'static CStr,
) -> Metric {
    Metric {
        name,
        kind,
        unit,
        help,
        source,
    }
}

/// A record offset, which is never negative.
fn offset(offset: crate::types::Offset) -> u64 {
    u64::try_from(offset.0).unwrap_or(0)
}

/// Every metric. The order is that of their values; new ones come at the end of it.
pub static METRICS: &[Metric] = &[
    row(
        c"kafka.log:type=LogManager,name=OfflineLogDirectoryCount",
        Gauge,
        NONE,
        Source::Manager(|stats| stats.dirs.iter().filter(|dir| dir.is_offline).count() as u64),
        c"Log directories that went out of use by an I/O error.",
    ),
    row(
        c"kafka.log:type=LogManager,name=CordonedLogDirectoryCount",
        Gauge,
        NONE,
        Source::Manager(|stats| stats.dirs.iter().filter(|dir| dir.is_cordoned).count() as u64),
        c"Log directories that cordoned.log.dirs names.",
    ),
    row(
        c"kafka.log:type=LogManager,name=LogDirectoryOffline",
        Gauge,
        NONE,
        Source::Dir("logDirectory", |dir| u64::from(dir.is_offline)),
        c"Whether the log directory is out of use.",
    ),
    row(
        c"kafka.log:type=LogManager,name=LogDirectoryCordoned",
        Gauge,
        NONE,
        Source::Dir("logDirectory", |dir| u64::from(dir.is_cordoned)),
        c"Whether cordoned.log.dirs names the log directory.",
    ),
    row(
        c"kafka.log:type=LogManager,name=remainingLogsToRecover",
        Gauge,
        NONE,
        Source::Dir("dir", |dir| dir.opening.logs_left),
        c"Logs that are not loaded yet; 0 once the manager is open.",
    ),
    row(
        c"kafka.log:type=LogManager,name=remainingSegmentsToRecover",
        Gauge,
        NONE,
        Source::Loading,
        c"Segments that are to be read again of the log that a thread loads.",
    ),
    row(
        c"kafka.log:type=Log,name=NumLogSegments",
        Gauge,
        NONE,
        Source::Log(|log| log.segments().len() as u64, Sum),
        c"Segments of the log.",
    ),
    row(
        c"kafka.log:type=Log,name=LogStartOffset",
        Gauge,
        NONE,
        Source::Log(|log| offset(log.start_offset()), Sum),
        c"The first offset that can be read.",
    ),
    row(
        c"kafka.log:type=Log,name=LogEndOffset",
        Gauge,
        NONE,
        Source::Log(|log| offset(log.end_offset()), Sum),
        c"The next offset to be assigned.",
    ),
    row(
        c"kafka.log:type=Log,name=Size",
        Gauge,
        BYTES,
        Source::Log(crate::log::Log::size_bytes, Sum),
        c"Bytes of all segments of the log.",
    ),
    row(
        c"kafka.log:type=Log,name=RetentionSizeInPercent",
        Gauge,
        PERCENT,
        Source::Log(crate::log::Log::retention_size_percent, Max),
        c"How much of retention.bytes the last pass of retention left; 0 before it, and without a limit.",
    ),
    row(
        c"kafka.log:type=LogFlushStats,name=LogFlushRateAndTimeMs",
        TimerCount,
        MS,
        Source::Flush(|flushes| flushes.count),
        c"Flushes of segments, and how long they take.",
    ),
    row(
        c"kafka.log:type=LogFlushStats,name=LogFlushRateAndTimeMs,attribute=Sum",
        TimerSum,
        MS,
        Source::Flush(|flushes| flushes.total_ns / 1_000_000),
        c"How long all flushes of segments took together.",
    ),
    row(
        c"kafka.log:type=LogCleaner,name=max-buffer-utilization-percent",
        Gauge,
        PERCENT,
        Source::Cleaner(|cleaner| cleaner.max_buffer_utilization_percent),
        c"How full the fullest offset map of the last runs was.",
    ),
    row(
        c"kafka.log:type=LogCleaner,name=max-clean-time-secs",
        Gauge,
        SECONDS,
        Source::Cleaner(|cleaner| cleaner.max_clean_time_secs),
        c"How long the longest of the last runs took.",
    ),
    row(
        c"kafka.log:type=LogCleaner,name=max-compaction-delay-secs",
        Gauge,
        SECONDS,
        Source::Cleaner(|cleaner| cleaner.max_compaction_delay_secs),
        c"How much later than max.compaction.lag.ms the latest of the last runs came.",
    ),
    row(
        c"kafka.log:type=LogCleaner,name=cleaner-recopy-percent",
        Gauge,
        PERCENT,
        Source::Cleaner(|cleaner| cleaner.recopy_percent),
        c"Bytes written of 100 that were read in the last runs.",
    ),
    row(
        c"kafka.log:type=LogCleaner,name=DeadThreadCount",
        Gauge,
        NONE,
        Source::Cleaner(|cleaner| cleaner.dead_threads),
        c"Threads of the cleaner that ended by a defect.",
    ),
    row(
        c"kafka.log:type=LogCleanerManager,name=uncleanable-partitions-count",
        Gauge,
        NONE,
        Source::DirtyDir(|dir| dir.partitions),
        c"Logs that the cleaner has given up.",
    ),
    row(
        c"kafka.log:type=LogCleanerManager,name=uncleanable-bytes",
        Gauge,
        BYTES,
        Source::DirtyDir(|dir| dir.bytes),
        c"Bytes to be cleaned of logs that the cleaner has given up.",
    ),
    row(
        c"kafka.log:type=LogCleanerManager,name=max-dirty-percent",
        Gauge,
        PERCENT,
        Source::Cleaner(|cleaner| cleaner.max_dirty_percent),
        c"How much of the dirtiest log was dirty when one was chosen last.",
    ),
    row(
        c"kafka.log:type=LogCleanerManager,name=time-since-last-run-ms",
        Gauge,
        MS,
        Source::Cleaner(|cleaner| cleaner.time_since_last_run_ms),
        c"How long ago a log was last looked for to be cleaned.",
    ),
    row(
        c"kafka.server:type=BrokerTopicMetrics,name=MessagesInPerSec",
        Counter,
        NONE,
        Source::Topic(|counts| counts.messages_in),
        c"Records that were appended as their leader.",
    ),
    row(
        c"kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec",
        Counter,
        BYTES,
        Source::Topic(|counts| counts.bytes_in),
        c"Bytes of batches that were appended as their leader, as they came.",
    ),
    row(
        c"kafka.server:type=BrokerTopicMetrics,name=BytesOutPerSec",
        Counter,
        BYTES,
        Source::Topic(|counts| counts.bytes_out),
        c"Bytes of batches that were read.",
    ),
    row(
        c"kafka.server:type=BrokerTopicMetrics,name=BytesRejectedPerSec",
        Counter,
        BYTES,
        Source::Topic(|counts| counts.bytes_rejected),
        c"Bytes of appends that were refused because a batch was larger than max.message.bytes.",
    ),
    row(
        c"kafka.server:type=BrokerTopicMetrics,name=NoKeyCompactedTopicRecordsPerSec",
        Counter,
        NONE,
        Source::AllTopics(|counts| counts.no_key_records),
        c"Records without a key that were refused for a compacted topic.",
    ),
    row(
        c"kafka.server:type=BrokerTopicMetrics,name=InvalidMagicNumberRecordsPerSec",
        Counter,
        NONE,
        Source::AllTopics(|counts| counts.invalid_magic_records),
        c"Records and batches that were refused for a format other than that of what they came in.",
    ),
    row(
        c"kafka.server:type=BrokerTopicMetrics,name=InvalidMessageCrcRecordsPerSec",
        Counter,
        NONE,
        Source::AllTopics(|counts| counts.invalid_checksum_records),
        c"Records and batches that were refused for their checksum.",
    ),
    row(
        c"kafka.server:type=BrokerTopicMetrics,name=InvalidOffsetOrSequenceRecordsPerSec",
        Counter,
        NONE,
        Source::AllTopics(|counts| counts.invalid_offset_or_sequence_records),
        c"Batches that were refused for their offsets, their count of records or their sequence.",
    ),
];
