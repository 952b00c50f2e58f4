//! What a topic asks of every record, and the answer that names each record that does not comply. Implements state.md 3.4
//! (1, 3, 4) and 3.5.

#![allow(clippy::inline_always)] // asked once for every record

use std::fmt::Write as _;

use crate::config::{LogConfig, TimestampType};
use crate::error::{Error, ErrorKind, RecordError, RecordFlaws, Result};
use crate::format::builder::BatchBuilder;
use crate::format::skim::skim;
use crate::types::{Offset, TimestampMs};

/// Errors that are listed of one append. Kafka lists all, in memory that a small compressed batch may so demand.
const LISTED_MAX: usize = 10_000;

/// What is asked of every record.
#[derive(Clone, Copy)]
pub(super) struct Rules {
    needs_key: bool,
    keeps_create_time: bool,
    now: i64,
    before_max_ms: i64,
    after_max_ms: i64,
}

/// What is wrong with a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// It has another format than the wrapper it came in.
    Magic,
    /// The topic is compacted.
    NullKey,
    /// Too far from now.
    Timestamp,
    /// The batch says that its timestamps are the log's.
    AppendTime,
}

impl Rules {
    pub(super) fn new(config: &LogConfig, now: TimestampMs) -> Self {
        Self {
            needs_key: config.cleanup_policy.compact,
            keeps_create_time: config.timestamp_type == TimestampType::CreateTime,
            now: now.0,
            before_max_ms: config.timestamp_before_max_ms,
            after_max_ms: config.timestamp_after_max_ms,
        }
    }

    /// The time that all timestamps become, if the topic's are those of the log.
    pub(super) fn append_time(&self) -> Option<TimestampMs> {
        (!self.keeps_create_time).then_some(TimestampMs(self.now))
    }

    /// The first that is wrong with a record of a batch which declares LogAppendTime or does not.
    #[inline(always)]
    pub(super) fn finding(
        &self,
        has_key: bool,
        timestamp: TimestampMs,
        declares_append_time: bool,
    ) -> Option<Finding> {
        if self.needs_key && !has_key {
            return Some(Finding::NullKey);
        }
        if self.keeps_create_time && timestamp != TimestampMs::NONE {
            // Differences wrap, as in Kafka.
            let is_out = self.now.wrapping_sub(timestamp.0) > self.before_max_ms
                || timestamp.0.wrapping_sub(self.now) > self.after_max_ms;
            return is_out.then_some(Finding::Timestamp);
        }
        declares_append_time.then_some(Finding::AppendTime)
    }

    fn describe(&self, finding: Finding, timestamp: TimestampMs, offset: Offset) -> RecordError {
        let (kind, message) = match finding {
            Finding::Magic => (
                ErrorKind::InvalidRecord,
                format!("The magic of the message with offset {offset} does not match outer magic"),
            ),
            Finding::NullKey => (
                ErrorKind::InvalidRecord,
                "Compacted topic cannot accept message without key".to_owned(),
            ),
            Finding::Timestamp => (
                ErrorKind::InvalidTimestamp,
                format!(
                    "Timestamp {timestamp} of message with offset {offset} is out of range. \
                     The timestamp should be within [{}, {}]",
                    self.now.wrapping_sub(self.before_max_ms),
                    self.now.wrapping_add(self.after_max_ms)
                ),
            ),
            Finding::AppendTime => (
                ErrorKind::InvalidTimestamp,
                format!(
                    "Invalid timestamp type in message with offset {offset}. \
                     Producer should not set timestamp type to LogAppendTime"
                ),
            ),
        };
        RecordError {
            index: 0,
            kafka_code: kind.default_kafka_code(),
            message,
        }
    }
}

/// What was found in the records of one batch.
#[derive(Default)]
pub(super) struct Findings {
    listed: Vec<RecordError>,
    count: usize,
    flaws: RecordFlaws,
    has_timestamp: bool,
}

impl Findings {
    /// Whether all records complied so far.
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Notes what is wrong with the record at `index`.
    #[cold]
    pub(super) fn add(
        &mut self,
        finding: Finding,
        index: usize,
        timestamp: TimestampMs,
        offset: Offset,
        rules: &Rules,
    ) {
        self.count += 1;
        match finding {
            Finding::Magic => self.flaws.magic += 1,
            Finding::NullKey => self.flaws.no_key += 1,
            Finding::Timestamp | Finding::AppendTime => {}
        }
        self.has_timestamp |= matches!(finding, Finding::Timestamp | Finding::AppendTime);
        if self.listed.len() < LISTED_MAX {
            let error = rules.describe(finding, timestamp, offset);
            self.listed.push(RecordError { index, ..error });
        }
    }

    /// The error of the append, if any record does not comply.
    pub(super) fn into_result(self) -> Result<()> {
        if self.count == 0 {
            return Ok(());
        }
        let error = if self.has_timestamp {
            Error::new(
                ErrorKind::InvalidTimestamp,
                "One or more records have been rejected due to invalid timestamp",
            )
        } else {
            Error::invalid_record(format!(
                "One or more records have been rejected due to {} record errors in total, and only showing the \
                 first three errors at most: [{}]",
                self.count,
                first_three(&self.listed)
            ))
        };
        Err(error.with_flaws(self.flaws).with_record_errors(self.listed))
    }
}

fn first_three(errors: &[RecordError]) -> String {
    let mut text = String::new();
    for error in errors.iter().take(3) {
        if !text.is_empty() {
            text.push_str(", ");
        }
        // Writing to a string does not fail.
        let _ = write!(
            text,
            "RecordError(batchIndex={}, message='{}')",
            error.index, error.message
        );
    }
    text
}

/// Judges the records of a builder by what it noted of them; only if one does not comply they are looked at one by one.
pub(in crate::log) fn check_built(
    builder: &BatchBuilder,
    config: &LogConfig,
    now: TimestampMs,
) -> Result<()> {
    let rules = Rules::new(config, now);
    let ends = [
        builder.min_timestamp().unwrap_or(TimestampMs::NONE),
        builder.max_timestamp(),
    ];
    // Between two timestamps in bounds all are, as long as the difference from now does not wrap.
    let complies = ends
        .iter()
        .all(|&end| rules.finding(!builder.has_null_key(), end, false).is_none());
    if complies && now.0 >= 0 {
        return Ok(());
    }
    let mut findings = Findings::default();
    let mut index = 0;
    skim(builder.records_bytes(), builder.record_count(), |brief| {
        let base = builder.base_timestamp().0;
        let timestamp = TimestampMs(base.wrapping_add(brief.timestamp_delta));
        if let Some(finding) = rules.finding(brief.has_key, timestamp, false) {
            let offset = Offset(i64::from(brief.offset_delta));
            findings.add(finding, index, timestamp, offset, &rules);
        }
        index += 1;
        true
    })?;
    findings.into_result()
}
