//! What is counted of one log, as Kafka's broker counts it. Implements manager.md 14 (BrokerTopicMetrics).
//!
//! Each log counts by itself, so that appends to different logs share no cache line; topics and the whole are added up when
//! somebody looks. What the log is about is not read from here: a counter that lags behind is never acted on.

use std::ops::AddAssign;
use std::sync::atomic::{AtomicU64, Ordering};

use super::AppendResult;
use crate::error::{Error, ErrorKind};

// All are Relaxed and pair with nothing: each is a number of its own, no other memory is reached through it, and who reads
// several sees each at a moment of its own.

/// Counters of one log, from its opening on.
#[derive(Debug, Default)]
pub(crate) struct LogCounters {
    messages_in: AtomicU64,
    bytes_in: AtomicU64,
    bytes_rejected: AtomicU64,
    no_key: AtomicU64,
    invalid_magic: AtomicU64,
    invalid_checksum: AtomicU64,
    invalid_offset_or_sequence: AtomicU64,
    retention_percent: AtomicU64,
    read: ReadCounters,
}

/// Apart from the others: readers and the writer do not take the line from each other.
#[derive(Debug, Default)]
#[repr(align(64))]
struct ReadCounters {
    bytes_out: AtomicU64,
}

/// The counters of a log, or of several, at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogCounts {
    /// Records that leaders appended.
    pub messages_in: u64,
    /// Bytes of the batches that leaders appended, as they came.
    pub bytes_in: u64,
    /// Bytes of batches that were read.
    pub bytes_out: u64,
    /// Bytes of appends that held a batch larger than `max.message.bytes`.
    pub bytes_rejected: u64,
    /// Records without a key for a compacted topic.
    pub no_key_records: u64,
    /// Records and batches of another format than what they came in.
    pub invalid_magic_records: u64,
    /// Wrong checksums.
    pub invalid_checksum_records: u64,
    /// Batches that claim impossible offsets or sequences.
    pub invalid_offset_or_sequence_records: u64,
}

impl AddAssign for LogCounts {
    fn add_assign(&mut self, other: Self) {
        self.messages_in += other.messages_in;
        self.bytes_in += other.bytes_in;
        self.bytes_out += other.bytes_out;
        self.bytes_rejected += other.bytes_rejected;
        self.no_key_records += other.no_key_records;
        self.invalid_magic_records += other.invalid_magic_records;
        self.invalid_checksum_records += other.invalid_checksum_records;
        self.invalid_offset_or_sequence_records += other.invalid_offset_or_sequence_records;
    }
}

impl LogCounters {
    /// An append of a leader succeeded, also one that was recognised as a repetition. Its records are counted by the range of
    /// their offsets: all as a broker does it.
    pub(super) fn appended(&self, done: &AppendResult, bytes: u64) {
        let records = done.last_offset.next() - done.first_offset;
        let records = u64::try_from(records).unwrap_or(0);
        self.messages_in.fetch_add(records, Ordering::Relaxed);
        self.bytes_in.fetch_add(bytes, Ordering::Relaxed);
    }

    /// An append of `bytes` was refused.
    #[cold]
    pub(super) fn refused(&self, error: &Error, bytes: u64) {
        if error.kind() == ErrorKind::MessageTooLarge {
            self.bytes_rejected.fetch_add(bytes, Ordering::Relaxed);
        }
        let flaws = error.flaws();
        for (counter, count) in [
            (&self.no_key, flaws.no_key),
            (&self.invalid_magic, flaws.magic),
            (&self.invalid_checksum, flaws.checksum),
            (&self.invalid_offset_or_sequence, flaws.offset_or_sequence),
        ] {
            counter.fetch_add(count, Ordering::Relaxed);
        }
    }

    /// A read gave bytes.
    pub(super) fn gave(&self, bytes: usize) {
        self.read
            .bytes_out
            .fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// What the last pass of retention left, in percent of `retention.bytes`.
    pub(super) fn set_retention_percent(&self, percent: u64) {
        self.retention_percent.store(percent, Ordering::Relaxed);
    }

    /// See [`Self::set_retention_percent`]; 0 before the first pass.
    pub(super) fn retention_percent(&self) -> u64 {
        self.retention_percent.load(Ordering::Relaxed)
    }

    /// What was counted so far.
    pub(super) fn counts(&self) -> LogCounts {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        LogCounts {
            messages_in: of(&self.messages_in),
            bytes_in: of(&self.bytes_in),
            bytes_out: of(&self.read.bytes_out),
            bytes_rejected: of(&self.bytes_rejected),
            no_key_records: of(&self.no_key),
            invalid_magic_records: of(&self.invalid_magic),
            invalid_checksum_records: of(&self.invalid_checksum),
            invalid_offset_or_sequence_records: of(&self.invalid_offset_or_sequence),
        }
    }
}

/// A log's size in percent of `retention.bytes`; 0 where that limits nothing (manager.md 14).
pub(super) fn retention_percent(size_bytes: u64, retention_bytes: Option<u64>) -> u64 {
    let Some(limit) = retention_bytes.filter(|&limit| limit > 0) else {
        return 0;
    };
    let percent = u128::from(size_bytes) * 100 / u128::from(limit);
    u64::try_from(percent).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::RecordFlaws;

    #[test]
    fn manager_md_14_retention_size_in_percent_is_0_without_a_limit_and_never_overflows() {
        assert_eq!(retention_percent(500, Some(1000)), 50);
        assert_eq!(retention_percent(999, Some(1000)), 99);
        assert_eq!(retention_percent(2001, Some(1000)), 200);
        assert_eq!(retention_percent(500, Some(0)), 0);
        assert_eq!(retention_percent(500, None), 0);
        assert_eq!(retention_percent(u64::MAX, Some(100)), u64::MAX);
        assert_eq!(retention_percent(u64::MAX, Some(1)), u64::MAX);
    }

    #[test]
    fn only_an_append_that_is_too_large_counts_its_bytes_as_rejected() {
        let counters = LogCounters::default();
        counters.refused(&Error::new(ErrorKind::MessageTooLarge, ""), 70);
        counters.refused(&Error::new(ErrorKind::RecordListTooLarge, ""), 700);
        let flaws = RecordFlaws {
            no_key: 3,
            magic: 2,
            checksum: 1,
            offset_or_sequence: 4,
        };
        counters.refused(&Error::invalid_record("").with_flaws(flaws), 7000);
        let counts = counters.counts();
        assert_eq!(
            counts,
            LogCounts {
                bytes_rejected: 70,
                no_key_records: 3,
                invalid_magic_records: 2,
                invalid_checksum_records: 1,
                invalid_offset_or_sequence_records: 4,
                ..LogCounts::default()
            }
        );
    }
}
