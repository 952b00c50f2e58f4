//! What a log is made of, and why it is not smaller: batches and codecs, keys, days, what a cleaner and retention would take,
//! and what holds them back.

mod count;
mod holds;
mod keys;
mod runs;
mod timeline;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::Look;
use crate::config::Resolved;
use crate::error::Result;
use crate::io::{Clock, FileSystem, ManualClock};
use crate::log::{Finding, FindingKind, Log};
use crate::manager::Manager;
use crate::types::{Offset, TimestampMs, TopicPartition};

pub use holds::{Cleaning, Deleting};
pub use keys::KEYS_ERROR;
pub use runs::{SegmentRun, SegmentRuns};
pub use timeline::{Timeline, wider};

/// Counts of batches, or of records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// Batches.
    pub batches: u64,
    /// Records.
    pub records: u64,
    /// Bytes as stored.
    pub stored_bytes: u64,
    /// Bytes of keys, values and headers.
    pub payload_bytes: u64,
}

/// What a log is made of.
#[derive(Clone, Debug)]
pub struct LogStat {
    /// Which log.
    pub partition: TopicPartition,
    /// Where it starts.
    pub start: Offset,
    /// Where it ends.
    pub end: Offset,
    /// How many segments.
    pub segments: usize,
    /// All of it.
    pub total: Share,
    /// By codec.
    pub codecs: BTreeMap<&'static str, Share>,
    /// By day, in ms since 1970 of its first moment in UTC.
    pub days: BTreeMap<i64, Share>,
    /// By time, as finely as there is room for.
    pub timeline: Timeline,
    /// By the size of the batch as stored: from 2^n bytes to below 2^(n+1).
    pub batch_sizes: BTreeMap<u32, Share>,
    /// The segments, the oldest first.
    pub runs: SegmentRuns,
    /// Records with a key and without a value.
    pub tombstones: u64,
    /// Records without a key.
    pub null_keys: u64,
    /// About how many keys there are; a third of the estimates is off by more than [`KEYS_ERROR`], one of twenty by twice that.
    pub keys: u64,
    /// Batches that were not looked into: damaged, or too large.
    pub unread_batches: u64,
    /// Whether its topic was given a configuration; if not, Kafka's defaults are meant.
    pub has_config: bool,
    /// Bytes that a pass of the cleaner would save now; none if it would do nothing.
    pub clean_saves: Option<u64>,
    /// What the cleaner would do, in a word.
    pub cleaning: Cleaning,
    /// What the cleaner would do, or what holds it back.
    pub clean: String,
    /// Segments and bytes that retention would delete now.
    pub retention_takes: (usize, u64),
    /// Where the log would start then.
    pub retention_upto: Offset,
    /// When the bytes of each segment go by age if nothing is appended; those that would go now are left out.
    pub due: Timeline,
    /// When the oldest segment goes by age.
    pub next_due: Option<TimestampMs>,
    /// What retention would do, in a word.
    pub deleting: Deleting,
    /// What retention would do and when, or what holds it back.
    pub retention: String,
}

/// What a log directory is made of, log by log. Nothing is written, no lock is taken.
pub fn stat(
    base: &Arc<dyn FileSystem>,
    dir: &Path,
    only: Option<&TopicPartition>,
    config: &Arc<Resolved>,
    now: TimestampMs,
) -> Result<(Vec<LogStat>, Vec<Finding>)> {
    let mut stats = Vec::new();
    let findings = each(base, dir, only, config, now, &mut |stat| stats.push(stat))?;
    Ok((stats, findings))
}

/// As [`stat()`], with each log as soon as it was looked at: of many thousands nobody has to keep all.
///
/// A log that cannot be read to its end is a finding, unless it is the only one that was asked for.
pub fn each(
    base: &Arc<dyn FileSystem>,
    dir: &Path,
    only: Option<&TopicPartition>,
    config: &Arc<Resolved>,
    now: TimestampMs,
    visit: &mut dyn FnMut(LogStat),
) -> Result<Vec<Finding>> {
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::new(now));
    let look = Look::at(base, &clock, dir, config)?;
    if let Some(partition) = only {
        visit(of_log(&look.manager, &look.manager.log(partition)?, now)?);
        let mut findings = look.findings();
        findings.retain(|finding| finding.partition.as_ref().is_none_or(|p| p == partition));
        return Ok(findings);
    }
    let mut failed = Vec::new();
    for log in look.manager.logs() {
        match of_log(&look.manager, &log, now) {
            Ok(stat) => visit(stat),
            Err(e) => failed.push(Finding {
                kind: if e.is_changed_meanwhile() {
                    FindingKind::Ignored
                } else {
                    FindingKind::Failed
                },
                dir: dir.to_path_buf(),
                partition: Some(log.partition().clone()),
                status: Some(e.kind()),
                text: format!("was not read to its end: {e}"),
            }),
        }
    }
    let mut findings = look.findings();
    findings.extend(failed);
    Ok(findings)
}

fn of_log(manager: &Manager, log: &Arc<Log>, now: TimestampMs) -> Result<LogStat> {
    let info = log.info();
    let mut stat = LogStat {
        partition: log.partition().clone(),
        start: info.log_start_offset,
        end: info.log_end_offset,
        segments: info.segments,
        total: Share::default(),
        codecs: BTreeMap::new(),
        days: BTreeMap::new(),
        timeline: Timeline::default(),
        batch_sizes: BTreeMap::new(),
        runs: SegmentRuns::default(),
        tombstones: 0,
        null_keys: 0,
        keys: 0,
        unread_batches: 0,
        has_config: manager.is_managed(log),
        clean_saves: None,
        cleaning: Cleaning::Off,
        clean: String::new(),
        retention_takes: (0, 0),
        retention_upto: info.log_start_offset,
        due: Timeline::default(),
        next_due: None,
        deleting: Deleting::Off,
        retention: String::new(),
    };
    count::count(log, &mut stat)?;
    holds::cleaning(manager, log, now, &mut stat)?;
    holds::retention(log, now, &mut stat)?;
    Ok(stat)
}

impl std::ops::AddAssign for Share {
    fn add_assign(&mut self, other: Self) {
        self.batches += other.batches;
        self.records += other.records;
        self.stored_bytes += other.stored_bytes;
        self.payload_bytes += other.payload_bytes;
    }
}
