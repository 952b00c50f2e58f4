//! One error type for the whole crate. Its kinds are the C status codes (`klog_status`) and carry the code that
//! Kafka 4.4.0 answers a client for the same failure.
//!
//! An [`Error`] is made once, at the place that knows, and passed up unchanged. Its message is one sentence with the
//! values that matter; the numbers and the path are fields too, so that no caller parses text.

use std::fmt;
use std::path::{Path, PathBuf};

/// Result of every fallible operation of klog.
pub type Result<T> = std::result::Result<T, Error>;

macro_rules! error_kinds {
    ($($(#[$doc:meta])* $variant:ident = $status:literal, $name:literal, kafka $kafka:literal;)*) => {
        /// What went wrong; the number is the C status `KLOG_ERR_...`, never reused or renumbered.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(i32)]
        #[non_exhaustive]
        pub enum ErrorKind { $($(#[$doc])* $variant = $status,)* }

        impl ErrorKind {
            /// Every kind, in the order of the status numbers.
            pub const ALL: &'static [ErrorKind] = &[$(ErrorKind::$variant,)*];

            /// The C status, above 0.
            #[must_use]
            pub const fn status(self) -> i32 {
                self as i32
            }

            /// The name of the C constant, `KLOG_ERR_...`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(ErrorKind::$variant => concat!("KLOG_ERR_", $name),)* }
            }

            /// [`Self::name`] with a terminating NUL, for the C ABI.
            #[must_use]
            pub const fn c_name(self) -> &'static std::ffi::CStr {
                match self {
                    $(ErrorKind::$variant => match std::ffi::CStr::from_bytes_with_nul(
                        concat!("KLOG_ERR_", $name, "\0").as_bytes()) {
                        Ok(name) => name,
                        Err(_) => c"KLOG_ERR_?",
                    },)*
                }
            }

            /// The error code of Kafka's protocol for this kind; 0 where Kafka has no counterpart.
            #[must_use]
            pub const fn default_kafka_code(self) -> i32 {
                match self { $(ErrorKind::$variant => $kafka,)* }
            }

            /// The kind with this C status.
            #[must_use]
            pub const fn from_status(status: i32) -> Option<Self> {
                match status { $($status => Some(ErrorKind::$variant),)* _ => None }
            }
        }
    };
}

error_kinds! {
    /// A required pointer argument of the C ABI was null.
    NullArgument = 1, "NULL_ARGUMENT", kafka 0;
    /// An argument is outside what the operation accepts.
    InvalidArgument = 2, "INVALID_ARGUMENT", kafka -1;
    /// The `struct_size` of a C struct does not fit this library.
    StructSize = 3, "STRUCT_SIZE", kafka 0;
    /// The header the caller was compiled with does not fit this library.
    Abi = 4, "ABI", kafka 0;
    /// Known, but not supported here.
    Unsupported = 5, "UNSUPPORTED", kafka 35;
    /// A C handle is null.
    NullHandle = 10, "NULL_HANDLE", kafka 0;
    /// A C handle names an object of another kind.
    WrongKind = 11, "WRONG_KIND", kafka 0;
    /// A C handle names an object that was closed.
    StaleHandle = 12, "STALE_HANDLE", kafka 0;
    /// The call was made in a forked child.
    Forked = 13, "FORKED", kafka 0;
    /// The object or its parent is closed or closing.
    Closed = 14, "CLOSED", kafka 56;
    /// A second call ran at the same time on a handle that takes one at a time.
    Busy = 15, "BUSY", kafka 0;
    /// Called from inside a callback of the same handle.
    Reentrant = 16, "REENTRANT", kafka 0;
    /// The manager was opened for looking only.
    ReadOnly = 17, "READ_ONLY", kafka 0;
    /// The timeout passed.
    TimedOut = 20, "TIMED_OUT", kafka 7;
    /// The caller's cancel token fired.
    Cancelled = 21, "CANCELLED", kafka 0;
    /// Nothing to do without waiting.
    WouldBlock = 22, "WOULD_BLOCK", kafka 0;
    /// A bounded queue is full.
    QueueFull = 23, "QUEUE_FULL", kafka 0;
    /// Nothing left; not a failure.
    End = 24, "END", kafka 0;
    /// The caller's buffer is too small; not a failure.
    BufferTooSmall = 25, "BUFFER_TOO_SMALL", kafka 0;
    /// Below the log start offset or above the log end offset.
    OffsetOutOfRange = 30, "OFFSET_OUT_OF_RANGE", kafka 1;
    /// A checksum, size or magic byte is wrong.
    CorruptMessage = 31, "CORRUPT_MESSAGE", kafka 2;
    /// A record or batch breaks a rule of its format or of the log.
    InvalidRecord = 32, "INVALID_RECORD", kafka 87;
    /// A timestamp is outside the bounds that the topic allows.
    InvalidTimestamp = 33, "INVALID_TIMESTAMP", kafka 32;
    /// A batch is larger than `max.message.bytes`.
    MessageTooLarge = 34, "MESSAGE_TOO_LARGE", kafka 10;
    /// An append is larger than a segment.
    RecordListTooLarge = 35, "RECORD_LIST_TOO_LARGE", kafka 18;
    /// A length above 2^31 - 1.
    TooLarge = 36, "TOO_LARGE", kafka 0;
    /// Message format 0 or 1 where 2 is required.
    UnsupportedForMessageFormat = 37, "UNSUPPORTED_FOR_MESSAGE_FORMAT", kafka 43;
    /// The compression codec is unknown or not allowed here.
    UnsupportedCompressionType = 38, "UNSUPPORTED_COMPRESSION_TYPE", kafka 76;
    /// The offsets of a follower append do not increase.
    OffsetsOutOfOrder = 39, "OFFSETS_OUT_OF_ORDER", kafka -1;
    /// A follower append starts below the log end offset.
    UnexpectedAppendOffset = 40, "UNEXPECTED_APPEND_OFFSET", kafka -1;
    /// An offset does not fit a segment's 31-bit relative range.
    SegmentOverflow = 41, "SEGMENT_OVERFLOW", kafka -1;
    /// A producer's sequence number does not follow its last one.
    OutOfOrderSequenceNumber = 42, "OUT_OF_ORDER_SEQUENCE_NUMBER", kafka 45;
    /// Reserved: Kafka 4.4.0's storage never raises it.
    DuplicateSequenceNumber = 43, "DUPLICATE_SEQUENCE_NUMBER", kafka 46;
    /// A producer epoch below the current one.
    InvalidProducerEpoch = 44, "INVALID_PRODUCER_EPOCH", kafka 47;
    /// Reserved: Kafka 4.4.0's storage never raises it.
    ProducerFenced = 45, "PRODUCER_FENCED", kafka 90;
    /// Reserved: Kafka 4.4.0's storage never raises it.
    UnknownProducerId = 46, "UNKNOWN_PRODUCER_ID", kafka 59;
    /// The producer's transaction is in a state that does not allow this.
    InvalidTxnState = 47, "INVALID_TXN_STATE", kafka 48;
    /// A transaction marker of an older coordinator.
    TransactionCoordinatorFenced = 48, "TRANSACTION_COORDINATOR_FENCED", kafka 52;
    /// The log end is not the one that the caller expected.
    LogEndMismatch = 49, "LOG_END_MISMATCH", kafka 0;
    /// A leader epoch below the log's latest.
    FencedLeaderEpoch = 50, "FENCED_LEADER_EPOCH", kafka 74;
    /// A leader epoch above the log's latest.
    UnknownLeaderEpoch = 51, "UNKNOWN_LEADER_EPOCH", kafka 75;
    /// No such log, or it was deleted.
    UnknownTopicOrPartition = 52, "UNKNOWN_TOPIC_OR_PARTITION", kafka 3;
    /// A topic name outside `[a-zA-Z0-9._-]{1,249}`, or `.` or `..`.
    InvalidTopic = 53, "INVALID_TOPIC_EXCEPTION", kafka 17;
    /// A negative partition number.
    InvalidPartitions = 54, "INVALID_PARTITIONS", kafka 37;
    /// The log has another topic id.
    InconsistentTopicId = 55, "INCONSISTENT_TOPIC_ID", kafka 103;
    /// A configuration value that Kafka or klog refuses.
    InvalidConfig = 56, "INVALID_CONFIG", kafka 40;
    /// A configuration key that neither Kafka nor klog knows.
    UnknownConfig = 57, "UNKNOWN_CONFIG", kafka 40;
    /// One partition was found in two directories.
    DuplicateLog = 58, "DUPLICATE_LOG", kafka -1;
    /// The offset lives in remote storage only.
    OffsetMovedToTieredStorage = 59, "OFFSET_MOVED_TO_TIERED_STORAGE", kafka 109;
    /// An I/O error.
    KafkaStorage = 60, "KAFKA_STORAGE_ERROR", kafka 56;
    /// The disk or quota is full.
    NoSpace = 61, "NO_SPACE", kafka 56;
    /// An earlier I/O error took the log directory offline.
    DirOffline = 62, "DIR_OFFLINE", kafka 56;
    /// Another process or manager owns the directory.
    DirLocked = 63, "DIR_LOCKED", kafka -1;
    /// A log directory that was named does not exist or is not one.
    LogDirNotFound = 64, "LOG_DIR_NOT_FOUND", kafka 57;
    /// The process or system has no file descriptor left.
    NoFiles = 65, "NO_FILES", kafka 56;
    /// An index is damaged and could not be rebuilt.
    CorruptIndex = 66, "CORRUPT_INDEX", kafka -1;
    /// A checkpoint, snapshot or metadata file is malformed.
    CorruptState = 67, "CORRUPT_STATE", kafka -1;
    /// A cleaning pass was aborted.
    CleanAborted = 70, "CLEAN_ABORTED", kafka -1;
    /// Cleaning of the log is paused.
    CleanPaused = 71, "CLEAN_PAUSED", kafka -1;
    /// Memory could not be reserved.
    NoMemory = 80, "NO_MEMORY", kafka -1;
    /// A limit on pins, handles or queues was reached.
    Limit = 81, "LIMIT", kafka -1;
    /// A defect of klog: a panic was caught.
    Panic = 90, "PANIC", kafka -1;
    /// An earlier panic poisoned the manager.
    Poisoned = 91, "POISONED", kafka -1;
    /// A defect of klog.
    Bug = 92, "BUG", kafka -1;
}

impl ErrorKind {
    /// Whether the same call can succeed here later.
    #[must_use]
    pub const fn is_retriable(self) -> bool {
        matches!(
            self,
            Self::TimedOut
                | Self::Cancelled
                | Self::WouldBlock
                | Self::QueueFull
                | Self::Busy
                | Self::NoSpace
                | Self::NoFiles
                | Self::CleanAborted
                | Self::CleanPaused
                | Self::NoMemory
                | Self::Limit
        )
    }

    /// Whether only closing the manager is left to do.
    #[must_use]
    pub const fn is_fatal(self) -> bool {
        matches!(self, Self::Panic | Self::Poisoned | Self::Bug)
    }

    /// Whether the caller used the API wrongly.
    #[must_use]
    pub const fn is_caller_bug(self) -> bool {
        matches!(
            self,
            Self::NullArgument
                | Self::InvalidArgument
                | Self::StructSize
                | Self::Abi
                | Self::Unsupported
                | Self::NullHandle
                | Self::WrongKind
                | Self::StaleHandle
                | Self::Forked
                | Self::TooLarge
        )
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What went wrong, with everything that is known about where.
#[derive(Clone)]
pub struct Error(Box<Context>);

#[derive(Clone)]
struct Context {
    kind: ErrorKind,
    kafka_code: i32,
    message: String,
    path: Option<PathBuf>,
    os_errno: Option<i32>,
    partition: Option<i32>,
    offset: Option<i64>,
    position: Option<u64>,
    record_index: Option<usize>,
    record_errors: Vec<RecordError>,
    flaws: RecordFlaws,
    dir_offline: bool,
    cut_meanwhile: bool,
}

/// What is wrong with one record of an append that was refused for its records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordError {
    /// The index of the record in its batch, from 0.
    pub index: usize,
    /// The code that Kafka 4.4.0 has for this finding.
    pub kafka_code: i32,
    /// One sentence in English.
    pub message: String,
}

/// How often Kafka counts each fault of the records of an append that was refused (manager.md 14).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordFlaws {
    /// Records without a key for a compacted topic.
    pub no_key: u64,
    /// Records or batches of another format than what they came in.
    pub magic: u64,
    /// Checksums that are wrong.
    pub checksum: u64,
    /// Batches that claim impossible offsets or sequences.
    pub offset_or_sequence: u64,
}

impl Error {
    /// An error of this kind. The message says what was expected, what was found, and what to do.
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Context {
            kind,
            kafka_code: kind.default_kafka_code(),
            message: message.into(),
            path: None,
            os_errno: None,
            partition: None,
            offset: None,
            position: None,
            record_index: None,
            record_errors: Vec::new(),
            flaws: RecordFlaws::default(),
            dir_offline: false,
            cut_meanwhile: false,
        }))
    }

    /// The error of a system call on `path`; `action` is what was being done, as in "read". A full disk and a lack of
    /// descriptors have kinds of their own, since the directory stays usable.
    #[must_use]
    pub fn from_io(action: &str, path: &Path, error: &std::io::Error) -> Self {
        let errno = error.raw_os_error();
        let kind = match errno {
            Some(libc::ENOSPC | libc::EDQUOT | libc::EFBIG) => ErrorKind::NoSpace,
            Some(libc::EMFILE | libc::ENFILE) => ErrorKind::NoFiles,
            Some(libc::ENOMEM) => ErrorKind::NoMemory,
            _ => ErrorKind::KafkaStorage,
        };
        let mut made =
            Self::new(kind, format!("cannot {action} {}: {error}", path.display())).in_file(path);
        made.0.os_errno = errno;
        made
    }

    /// The error of a sync that failed. Whatever its number, what the disk holds is unknown then: KAFKA_STORAGE_ERROR
    /// (hard-cases.md HC41).
    #[must_use]
    pub fn from_sync(path: &Path, error: &std::io::Error) -> Self {
        let text = format!("cannot sync {}: {error}", path.display());
        let mut made = Self::new(ErrorKind::KafkaStorage, text).in_file(path);
        made.0.os_errno = error.raw_os_error();
        made
    }

    /// Short for a [`ErrorKind::CorruptMessage`].
    #[must_use]
    pub fn corrupt(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::CorruptMessage, message)
    }

    /// Short for a [`ErrorKind::InvalidRecord`].
    #[must_use]
    pub fn invalid_record(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidRecord, message)
    }

    /// Short for a [`ErrorKind::InvalidArgument`].
    #[must_use]
    pub fn invalid_argument(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidArgument, message)
    }

    /// Adds the file or directory concerned.
    #[must_use]
    pub fn in_file(mut self, path: &Path) -> Self {
        self.0.path = Some(path.to_path_buf());
        self
    }

    /// Adds the partition number concerned.
    #[must_use]
    pub fn in_partition(mut self, partition: i32) -> Self {
        self.0.partition = Some(partition);
        self
    }

    /// Adds the record offset concerned.
    #[must_use]
    pub fn at_offset(mut self, offset: impl Into<i64>) -> Self {
        self.0.offset = Some(offset.into());
        self
    }

    /// Adds the byte position in the file or buffer.
    #[must_use]
    pub fn at_position(mut self, position: u64) -> Self {
        self.0.position = Some(position);
        self
    }

    /// Adds the index of the record in the caller's input (or the line in a text).
    #[must_use]
    pub fn at_record(mut self, index: usize) -> Self {
        self.0.record_index = Some(index);
        self
    }

    /// Adds what is wrong with single records; the first of them is the record concerned.
    #[must_use]
    pub fn with_record_errors(mut self, errors: Vec<RecordError>) -> Self {
        self.0.record_index = errors.first().map(|error| error.index);
        self.0.record_errors = errors;
        self
    }

    /// Adds what Kafka counts of the records that this refuses.
    #[must_use]
    pub fn with_flaws(mut self, flaws: RecordFlaws) -> Self {
        self.0.flaws = flaws;
        self
    }

    /// Replaces Kafka's code where one kind stands for several of Kafka's errors.
    #[must_use]
    pub fn with_kafka_code(mut self, code: i32) -> Self {
        self.0.kafka_code = code;
        self
    }

    /// Marks that the directory of the log went offline by this failure.
    #[must_use]
    pub fn taking_dir_offline(mut self) -> Self {
        self.0.dir_offline = true;
        self
    }

    /// Marks that a file lost bytes to another process after it was opened: what there is now may be in order.
    #[must_use]
    pub fn as_cut_meanwhile(mut self) -> Self {
        self.0.cut_meanwhile = true;
        self
    }

    /// Puts "where: " in front of the message.
    #[must_use]
    pub fn context(mut self, what: impl fmt::Display) -> Self {
        self.0.message = format!("{what}: {}", self.0.message);
        self
    }

    /// What kind of failure this is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The code that Kafka 4.4.0 answers a client for the same failure; 0 where it has none.
    #[must_use]
    pub fn kafka_code(&self) -> i32 {
        self.0.kafka_code
    }

    /// One sentence in English with the values that matter.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The file or directory concerned.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }

    /// The operating system's error number.
    #[must_use]
    pub fn os_errno(&self) -> Option<i32> {
        self.0.os_errno
    }

    /// The partition concerned.
    #[must_use]
    pub fn partition(&self) -> Option<i32> {
        self.0.partition
    }

    /// The record offset concerned.
    #[must_use]
    pub fn offset(&self) -> Option<i64> {
        self.0.offset
    }

    /// The byte position concerned, in the file or buffer.
    #[must_use]
    pub fn position(&self) -> Option<u64> {
        self.0.position
    }

    /// The index of the record in the caller's input, or the line in a text.
    #[must_use]
    pub fn record_index(&self) -> Option<usize> {
        self.0.record_index
    }

    /// What is wrong with single records, in their order, where an append was refused for that.
    #[must_use]
    pub fn record_errors(&self) -> &[RecordError] {
        &self.0.record_errors
    }

    /// What Kafka counts of the records that this refused.
    #[must_use]
    pub fn flaws(&self) -> RecordFlaws {
        self.0.flaws
    }

    /// Whether the log's directory went offline by this failure.
    #[must_use]
    pub fn took_dir_offline(&self) -> bool {
        self.0.dir_offline
    }

    /// Whether a system call found no such file.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.0.os_errno == Some(libc::ENOENT)
    }

    /// Whether another process took away what was being read, a file or bytes of one: who looks again may find all in order.
    #[must_use]
    pub fn is_changed_meanwhile(&self) -> bool {
        self.0.cut_meanwhile || self.is_not_found()
    }

    /// Whether this came from the operating system, so that the bytes on disk are not known to be wrong
    /// (hard-cases.md HC22: an I/O error is never corruption).
    #[must_use]
    pub fn is_io(&self) -> bool {
        self.0.os_errno.is_some()
    }

    /// Whether recovery takes this for the end of the log: bytes that were read and found wrong (records.md 2.16).
    #[must_use]
    pub fn is_corrupt_data(&self) -> bool {
        matches!(
            self.0.kind,
            ErrorKind::CorruptMessage | ErrorKind::InvalidRecord
        )
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.kind, self.0.message)?;
        if let Some(position) = self.0.position {
            write!(f, " (position {position})")?;
        }
        if let Some(path) = &self.0.path {
            write!(f, " [{}]", path.display())?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_maps_back_to_its_kind_and_rises() {
        let mut last = 0;
        for &kind in ErrorKind::ALL {
            assert!(kind.status() > last, "{kind} is out of order");
            last = kind.status();
            assert_eq!(ErrorKind::from_status(kind.status()), Some(kind));
            assert_eq!(kind.c_name().to_str(), Ok(kind.name()));
        }
        assert_eq!(ErrorKind::from_status(0), None);
    }

    #[test]
    fn a_full_disk_and_missing_descriptors_are_told_apart_from_other_io_errors() {
        let of = |errno| {
            Error::from_io(
                "write",
                Path::new("/x"),
                &std::io::Error::from_raw_os_error(errno),
            )
            .kind()
        };
        assert_eq!(of(libc::ENOSPC), ErrorKind::NoSpace);
        assert_eq!(of(libc::EDQUOT), ErrorKind::NoSpace);
        assert_eq!(of(libc::EMFILE), ErrorKind::NoFiles);
        assert_eq!(of(libc::EIO), ErrorKind::KafkaStorage);
    }

    #[test]
    fn a_failed_sync_is_a_storage_error_whatever_its_number() {
        let full = std::io::Error::from_raw_os_error(libc::ENOSPC);
        let error = Error::from_sync(Path::new("/x"), &full);
        assert_eq!(
            (error.kind(), error.os_errno()),
            (ErrorKind::KafkaStorage, Some(libc::ENOSPC))
        );
    }
}
