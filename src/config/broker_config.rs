//! What a manager reads of the broker keys, and the checks across them.
//!
//! Implements config.md 5.10 and 6.1-6.7, and the refusals of cleaner.md 3.11.

use std::path::{Path, PathBuf};

use super::broker_keys as keys;
use super::choices::UnmanagedTopics;
use super::log_config::unsigned;
use super::set::ConfigWarning;
use super::topic_keys;
use super::values::Values;
use crate::error::{Error, ErrorKind, Result};

/// Memory of an offset map that one key takes: 16 bytes of hash and 8 of offset.
const MAP_SLOT_BYTES: u64 = 24;
/// What each cleaner thread's share of the map memory must exceed.
const MIN_MAP_BYTES: i64 = 1_048_576;

/// What the broker keys say, apart from the topic defaults. [`Default`] is Kafka's. Durations are milliseconds.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct BrokerConfig {
    /// `log.dirs`, else `log.dir`, in this order; `None` if neither was given, so that whoever opens the directories
    /// names them, or takes [`Self::log_dirs_or_default`] as a broker does.
    pub log_dirs: Option<Vec<PathBuf>>,
    /// `cordoned.log.dirs`.
    pub cordoned_log_dirs: CordonedDirs,
    /// `metadata.log.dir`; `None` is the first of the directories.
    pub metadata_log_dir: Option<PathBuf>,
    /// `num.recovery.threads.per.data.dir`; at least 1.
    pub num_recovery_threads_per_data_dir: u32,
    /// `background.threads`; at least 1.
    pub background_threads: u32,
    /// `log.initial.task.delay.ms`.
    pub initial_task_delay_ms: i64,
    /// `log.retention.check.interval.ms`; at least 1.
    pub retention_check_interval_ms: i64,
    /// `log.flush.scheduler.interval.ms`. Kafka has no lower bound for it.
    pub flush_scheduler_interval_ms: i64,
    /// `log.flush.offset.checkpoint.interval.ms`; 0 runs the task once.
    pub flush_offset_checkpoint_interval_ms: i64,
    /// `log.flush.start.offset.checkpoint.interval.ms`; 0 runs the task once.
    pub flush_start_offset_checkpoint_interval_ms: i64,
    /// `replica.high.watermark.checkpoint.interval.ms`. Kafka has no lower bound for it.
    pub replica_high_watermark_checkpoint_interval_ms: i64,
    /// What the cleaner needs.
    pub cleaner: CleanerConfig,
    /// `producer.id.expiration.ms`; at least 1.
    pub producer_id_expiration_ms: i64,
    /// `producer.id.expiration.check.interval.ms`; at least 1.
    pub producer_id_expiration_check_interval_ms: i64,
    /// `transaction.max.timeout.ms`; at least 1.
    pub transaction_max_timeout_ms: i64,
    /// `klog.max.open.files`; `None` takes the bound from the process's limit of descriptors.
    pub max_open_files: Option<u32>,
    /// `klog.unmanaged.topics`.
    pub unmanaged_topics: UnmanagedTopics,
    /// `klog.verify.on.open`.
    pub verify_on_open: bool,
}

/// The keys of the cleaner, for all of its threads together.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct CleanerConfig {
    /// `log.cleaner.enable`.
    pub enable: bool,
    /// `log.cleaner.threads`; at least 1 where the cleaner is on.
    pub threads: u32,
    /// `log.cleaner.dedupe.buffer.size`.
    pub dedupe_buffer_bytes: u64,
    /// `log.cleaner.io.buffer.load.factor`; above 0, up to 1.
    pub io_buffer_load_factor: f64,
    /// `log.cleaner.io.buffer.size`.
    pub io_buffer_bytes: u32,
    /// `log.cleaner.io.max.bytes.per.second`. Kafka has no bounds for it.
    pub io_max_bytes_per_second: f64,
    /// `log.cleaner.backoff.ms`.
    pub backoff_ms: i64,
    /// `message.max.bytes`: how far an I/O buffer may grow.
    pub max_message_bytes: u32,
}

/// Which directories get no new partitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CordonedDirs {
    /// Every one.
    All,
    /// These, spelled as in the configuration; as a rule none.
    These(Vec<PathBuf>),
}

impl Default for BrokerConfig {
    fn default() -> Self {
        Self::read(&Values::default())
    }
}

impl BrokerConfig {
    /// Reads values that passed [`check_across_keys`].
    pub(super) fn read(values: &Values) -> Self {
        let log_dir = || {
            values
                .get(keys::LOG_DIR.def.name)
                .map(|_| values.read(&keys::LOG_DIR))
        };
        let max_open_files = unsigned(values.read(&keys::MAX_OPEN_FILES));
        let unmanaged_topics = values.read(&keys::UNMANAGED_TOPICS);
        Self {
            log_dirs: values.read(&keys::LOG_DIRS).or_else(log_dir).map(paths),
            cordoned_log_dirs: CordonedDirs::read(values),
            metadata_log_dir: values.read(&keys::METADATA_LOG_DIR).map(PathBuf::from),
            num_recovery_threads_per_data_dir: unsigned(values.read(&keys::RECOVERY_THREADS)),
            background_threads: unsigned(values.read(&keys::BACKGROUND_THREADS)),
            initial_task_delay_ms: values.read(&keys::INITIAL_TASK_DELAY_MS),
            retention_check_interval_ms: values.read(&keys::RETENTION_CHECK_INTERVAL_MS),
            flush_scheduler_interval_ms: values.read(&keys::FLUSH_SCHEDULER_INTERVAL_MS),
            flush_offset_checkpoint_interval_ms: values
                .read(&keys::FLUSH_OFFSET_CHECKPOINT_INTERVAL_MS)
                .into(),
            flush_start_offset_checkpoint_interval_ms: values
                .read(&keys::FLUSH_START_OFFSET_CHECKPOINT_INTERVAL_MS)
                .into(),
            replica_high_watermark_checkpoint_interval_ms: values
                .read(&keys::HIGH_WATERMARK_CHECKPOINT_INTERVAL_MS),
            cleaner: CleanerConfig::read(values),
            producer_id_expiration_ms: values.read(&keys::PRODUCER_ID_EXPIRATION_MS).into(),
            producer_id_expiration_check_interval_ms: values
                .read(&keys::PRODUCER_ID_EXPIRATION_CHECK_INTERVAL_MS)
                .into(),
            transaction_max_timeout_ms: values.read(&keys::TRANSACTION_MAX_TIMEOUT_MS).into(),
            max_open_files: (max_open_files > 0).then_some(max_open_files),
            unmanaged_topics: UnmanagedTopics::from_name(&unmanaged_topics).unwrap_or_default(),
            verify_on_open: values.read(&keys::VERIFY_ON_OPEN),
        }
    }

    /// The directories of a broker that was configured so: [`Self::log_dirs`], else Kafka's default.
    #[must_use]
    pub fn log_dirs_or_default(&self) -> Vec<PathBuf> {
        self.log_dirs
            .clone()
            .unwrap_or_else(|| paths(Values::default().read(&keys::LOG_DIR)))
    }

    /// Whether no new log is to be put into a directory (manager.md 3.3). Paths count from the working directory.
    #[must_use]
    pub fn is_cordoned(&self, dir: &Path) -> bool {
        match &self.cordoned_log_dirs {
            CordonedDirs::All => true,
            CordonedDirs::These(dirs) => dirs.iter().any(|cordoned| is_same(cordoned, dir)),
        }
    }

    /// Checks the directories that are going to be opened against the configuration. Whoever names the directories
    /// himself calls this; those of `log.dirs` have been checked.
    ///
    /// # Errors
    /// `InvalidConfig` if there are none (config.md 6.4), or `cordoned.log.dirs` names one that is not among them
    /// (6.7). Directories are compared as they are spelled.
    pub fn check_dirs(&self, dirs: &[PathBuf]) -> Result<()> {
        if dirs.is_empty() {
            return Err(refused(
                "At least one log directory must be defined via log.dirs or log.dir.",
            ));
        }
        let CordonedDirs::These(cordoned) = &self.cordoned_log_dirs else {
            return Ok(());
        };
        let is_spelled = |dir: &PathBuf| {
            dirs.iter()
                .any(|known| known.as_os_str() == dir.as_os_str())
        };
        let missing: Vec<_> = cordoned
            .iter()
            .filter(|dir| !is_spelled(dir))
            .map(|dir| dir.display().to_string())
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(refused(format!(
            "All entries in cordoned.log.dirs must be present in log.dirs or log.dir. Missing entries : {}",
            missing.join(", ")
        )))
    }
}

/// Whether two paths are spelled alike, seen from the working directory.
fn is_same(a: &Path, b: &Path) -> bool {
    a.as_os_str() == b.as_os_str()
        || matches!((std::path::absolute(a), std::path::absolute(b)), (Ok(a), Ok(b)) if a == b)
}

impl CordonedDirs {
    fn read(values: &Values) -> Self {
        let dirs = values.read(&keys::CORDONED_LOG_DIRS);
        if dirs.iter().any(|dir| dir == "*") {
            Self::All
        } else {
            Self::These(paths(dirs))
        }
    }
}

impl CleanerConfig {
    fn read(values: &Values) -> Self {
        Self {
            enable: values.read(&keys::CLEANER_ENABLE),
            threads: unsigned(values.read(&keys::CLEANER_THREADS)),
            dedupe_buffer_bytes: u64::try_from(values.read(&keys::CLEANER_DEDUPE_BUFFER_SIZE))
                .unwrap_or(0),
            io_buffer_load_factor: values.read(&keys::CLEANER_IO_BUFFER_LOAD_FACTOR),
            io_buffer_bytes: unsigned(values.read(&keys::CLEANER_IO_BUFFER_SIZE)),
            io_max_bytes_per_second: values.read(&keys::CLEANER_IO_MAX_BYTES_PER_SECOND),
            backoff_ms: values.read(&keys::CLEANER_BACKOFF_MS),
            max_message_bytes: unsigned(values.read(&keys::MESSAGE_MAX_BYTES)),
        }
    }

    /// Bytes of one thread's offset map, which never exceeds 2147483647 (config.md 2.3).
    #[must_use]
    pub fn map_bytes_per_thread(&self) -> u32 {
        u32::try_from(self.share_of_map_memory())
            .map_or(i32::MAX.unsigned_abs(), |b| b.min(i32::MAX.unsigned_abs()))
    }

    /// Keys that one thread's offset map has room for (config.md 5.10).
    #[must_use]
    pub fn map_slots_per_thread(&self) -> u64 {
        u64::from(self.map_bytes_per_thread()) / MAP_SLOT_BYTES
    }

    /// Bytes of one thread's read buffer, and of its write buffer (config.md 2.3).
    #[must_use]
    pub fn io_buffer_bytes_per_thread(&self) -> u32 {
        self.io_buffer_bytes / self.threads.max(1) / 2
    }

    fn share_of_map_memory(&self) -> u64 {
        self.dedupe_buffer_bytes / u64::from(self.threads.max(1))
    }

    /// If memory is left unused because a thread's map cannot be that large.
    pub(super) fn warning(&self) -> Option<ConfigWarning> {
        let (threads, share) = (self.threads, self.share_of_map_memory());
        let key = keys::CLEANER_DEDUPE_BUFFER_SIZE.def.name;
        (share > i32::MAX.unsigned_abs().into()).then(|| ConfigWarning {
            line: None,
            key: key.to_string(),
            text: format!(
                "{key} has {share} bytes for each of {threads} cleaner threads; they use 2147483647"
            ),
        })
    }
}

/// The checks of config.md 6 that concern broker keys, in its order. `topic` holds what the broker values give as topic
/// defaults, not yet checked.
pub(super) fn check_across_keys(broker: &Values, topic: &Values) -> Result<()> {
    if topic.read(&topic_keys::SEGMENT_MS) < 1 {
        return Err(refused("log.roll.ms must be greater than or equal to 1"));
    }
    if topic.read(&topic_keys::SEGMENT_JITTER_MS) < 0 {
        return Err(refused(
            "log.roll.jitter.ms must be greater than or equal to 0",
        ));
    }
    if topic.read(&topic_keys::RETENTION_MS) == 0 {
        return Err(refused(
            "log.retention.ms must be unlimited (-1) or, greater than or equal to 1",
        ));
    }
    check_cleaner(broker)?;
    let cordoned = broker.read(&keys::CORDONED_LOG_DIRS);
    if cordoned.len() > 1 && cordoned.iter().any(|dir| dir == "*") {
        return Err(refused(
            "When cordoned.log.dirs is set to *, it must not contain other values",
        ));
    }
    // 6.4 cannot fail here, since log.dirs and log.dir need an item to be set at all.
    let config = BrokerConfig::read(broker);
    config
        .log_dirs
        .as_deref()
        .map_or(Ok(()), |dirs| config.check_dirs(dirs))
}

/// config.md 6.5, with klog's answers to what 4.4.0 divides by zero or never ends on.
fn check_cleaner(broker: &Values) -> Result<()> {
    let threads = i64::from(broker.read(&keys::CLEANER_THREADS));
    if threads == 0 {
        return if broker.read(&keys::CLEANER_ENABLE) {
            Err(refused(
                "log.cleaner.threads must be at least 1 unless log.cleaner.enable is false",
            ))
        } else {
            Ok(())
        };
    }
    if broker.read(&keys::CLEANER_DEDUPE_BUFFER_SIZE) / threads <= MIN_MAP_BYTES {
        return Err(refused(
            "log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread.",
        ));
    }
    let cleaner = CleanerConfig::read(broker);
    let slots = u32::try_from(cleaner.map_slots_per_thread()).unwrap_or(u32::MAX);
    // cleaner.md 3.11: with room for no key a pass would end where it began.
    if f64::from(slots) * cleaner.io_buffer_load_factor <= 1.0 {
        return Err(refused(format!(
            "log.cleaner.io.buffer.load.factor must let an offset map of {slots} slots hold more than one key"
        )));
    }
    Ok(())
}

fn paths(dirs: Vec<String>) -> Vec<PathBuf> {
    dirs.into_iter().map(PathBuf::from).collect()
}

fn refused(text: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidConfig, text)
}
