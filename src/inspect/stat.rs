//! What a log is made of, and why it is not smaller: batches and codecs, keys, days, what a cleaner and retention would take,
//! and what holds them back.

use std::collections::BTreeMap;
use std::hash::Hasher;
use std::path::Path;
use std::sync::Arc;

use siphasher::sip::SipHasher13;

use super::Look;
use crate::cleaner::examine::{Active, examine};
use crate::config::Resolved;
use crate::error::Result;
use crate::format::decoder::RecordDecoder;
use crate::io::{Clock, FileSystem, ManualClock};
use crate::log::{Finding, Log};
use crate::manager::{CleanOptions, Manager, Pass};
use crate::segment::BatchScan;
use crate::types::{Offset, TimestampMs, TopicPartition};

/// Records of larger batches are not looked at.
const BATCH_BYTES_MAX: u32 = 16 << 20;
const DAY_MS: i64 = 86_400_000;
/// Days beyond these are counted with the last one: a hostile log has one a record.
const DAYS_MAX: usize = 10_000;

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
    /// What the cleaner would do, or what holds it back.
    pub clean: String,
    /// Segments and bytes that retention would delete now.
    pub retention_takes: (usize, u64),
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
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::new(now));
    let look = Look::at(base, &clock, dir, config)?;
    let logs = match only {
        Some(partition) => vec![look.manager.log(partition)?],
        None => look.manager.logs(),
    };
    let mut stats = Vec::new();
    for log in logs {
        stats.push(of_log(&look.manager, &log, now)?);
    }
    Ok((stats, look.findings()))
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
        tombstones: 0,
        null_keys: 0,
        keys: 0,
        unread_batches: 0,
        has_config: manager.is_managed(log),
        clean_saves: None,
        clean: String::new(),
        retention_takes: (0, 0),
        retention: String::new(),
    };
    count(log, &mut stat)?;
    cleaning(manager, log, now, &mut stat)?;
    retention(log, now, &mut stat)?;
    Ok(stat)
}

fn count(log: &Log, stat: &mut LogStat) -> Result<()> {
    let mut keys = KeyCounter::new();
    let mut decoder = RecordDecoder::new();
    decoder.bound_memory(BATCH_BYTES_MAX as usize);
    for segment in log.segment_list() {
        let mut scan = BatchScan::new(Arc::clone(segment.file()), 0..segment.size_bytes());
        loop {
            let scanned = match scan.next_batch() {
                Ok(Some(scanned)) => scanned,
                Ok(None) => break,
                Err(e) if e.is_corrupt_data() => {
                    stat.unread_batches += 1;
                    break;
                }
                Err(e) => return Err(e),
            };
            let header = scanned.header;
            let mut share = Share {
                batches: 1,
                stored_bytes: u64::from(header.size_bytes),
                ..Share::default()
            };
            let is_read = header.size_bytes <= BATCH_BYTES_MAX && {
                let batch = scan.bytes_of(&scanned)?;
                batch.ensure_valid().is_ok()
                    && decoder.begin(&batch).is_ok()
                    && loop {
                        match decoder.next(&batch) {
                            Err(_) => break false,
                            Ok(None) => break true,
                            Ok(Some(record)) => {
                                let len = |bytes: Option<&[u8]>| bytes.map_or(0, <[u8]>::len);
                                let headers = record.headers.into_iter();
                                let headers: usize =
                                    headers.map(|h| h.key.len() + len(h.value)).sum();
                                let payload = len(record.key) + len(record.value) + headers;
                                share.records += 1;
                                share.payload_bytes += payload as u64;
                                if record.is_control {
                                    continue;
                                }
                                match (record.key, record.value) {
                                    (None, _) => stat.null_keys += 1,
                                    (Some(_), None) => stat.tombstones += 1,
                                    _ => {}
                                }
                                if let Some(key) = record.key {
                                    keys.add(key);
                                }
                            }
                        }
                    }
            };
            stat.unread_batches += u64::from(!is_read);
            let codec = header
                .attributes
                .codec()
                .map_or("unknown", crate::format::codec::Codec::name);
            let day = header.max_timestamp.0.div_euclid(DAY_MS) * DAY_MS;
            let day = match stat.days.last_key_value() {
                Some((last, _)) if stat.days.len() >= DAYS_MAX => *last,
                _ => day,
            };
            stat.total += share;
            *stat.codecs.entry(codec).or_default() += share;
            *stat.days.entry(day).or_default() += share;
        }
    }
    stat.keys = keys.estimate();
    Ok(())
}

impl std::ops::AddAssign for Share {
    fn add_assign(&mut self, other: Self) {
        self.batches += other.batches;
        self.records += other.records;
        self.stored_bytes += other.stored_bytes;
        self.payload_bytes += other.payload_bytes;
    }
}

/// What the cleaner would do, or what keeps it from that.
fn cleaning(manager: &Manager, log: &Arc<Log>, now: TimestampMs, stat: &mut LogStat) -> Result<()> {
    let config = log.config();
    if !config.cleanup_policy.compact {
        "not compacted: cleanup.policy has no compact".clone_into(&mut stat.clean);
        return Ok(());
    }
    let checkpoint = manager.first_dirty_offset(log);
    let cleanable = examine(log, checkpoint, Active::AsItIs, now)?.cleanable;
    let (dirty, bound) = (cleanable.first_dirty, cleanable.first_uncleanable);
    if cleanable.cleanable_bytes == 0 {
        let active = log
            .segment_list()
            .last()
            .map_or(Offset::ZERO, |segment| segment.base_offset());
        let stable = log.last_stable_offset();
        stat.clean = if dirty >= active {
            format!(
                "nothing is dirty below the active segment at {active}, which is never cleaned: it rolls by segment.bytes={} or segment.ms={}",
                config.segment_bytes, config.segment_ms
            )
        } else if stable < active && bound <= stable {
            format!(
                "the last stable offset {stable} holds it back: a transaction is open there, or the high watermark"
            )
        } else {
            format!(
                "min.compaction.lag.ms={} holds it back at {bound}: what lies behind is younger",
                config.min_compaction_lag_ms
            )
        };
        return Ok(());
    }
    let (ratio, least) = (cleanable.ratio(), config.min_cleanable_dirty_ratio);
    let is_due = cleanable.is_candidate(least);
    stat.clean = if is_due {
        format!(
            "would be cleaned from {dirty} to {bound}: {ratio:.3} is dirty, min.cleanable.dirty.ratio={least}"
        )
    } else {
        format!(
            "min.cleanable.dirty.ratio={least} holds it back: only {ratio:.3} is dirty, from {dirty} to {bound}"
        )
    };
    let options = CleanOptions {
        pass: Some(Pass::DryRun),
        ..CleanOptions::default()
    };
    match manager.clean(log, &options) {
        Ok(pass) => {
            stat.clean_saves = pass.map(|pass| {
                let stats = pass.stats;
                stats.read_bytes.saturating_sub(stats.written_bytes)
            });
        }
        Err(e) => stat.clean = format!("a pass would fail: {e}"),
    }
    Ok(())
}

/// What retention would delete, or what keeps it from that.
fn retention(log: &Log, now: TimestampMs, stat: &mut LogStat) -> Result<()> {
    let config = log.config();
    let expired = log.expired()?;
    stat.retention_takes = (expired.segments, expired.bytes);
    if expired.segments > 0 {
        stat.retention = format!(
            "would delete {} segments below {} now",
            expired.segments, expired.log_start
        );
        return Ok(());
    }
    if !config.cleanup_policy.delete {
        "nothing is deleted: cleanup.policy has no delete".clone_into(&mut stat.retention);
        return Ok(());
    }
    let mut parts = Vec::new();
    let segments = log.segment_list();
    match (config.retention_ms, segments.first()) {
        (None, _) => parts.push("retention.ms=-1 keeps records of any age".to_owned()),
        (Some(age_max_ms), Some(oldest)) => {
            let largest = oldest.largest_timestamp()?;
            let due_ms = largest.0.saturating_add(age_max_ms).saturating_sub(now.0);
            parts.push(format!(
                "retention.ms={age_max_ms} takes the oldest segment, at {}, in {due_ms} ms: its largest timestamp is {largest}",
                oldest.base_offset()
            ));
        }
        (Some(_), None) => {}
    }
    match config.retention_bytes {
        None => parts.push("retention.bytes=-1 keeps any size".to_owned()),
        Some(most) => parts.push(format!(
            "retention.bytes={most} keeps {} bytes: the oldest segment goes when what is behind it has as many",
            log.size_bytes()
        )),
    }
    stat.retention = parts.join("; ");
    Ok(())
}

/// Registers of the estimate: 2^14.
const REGISTER_BITS: u32 = 14;
/// The standard error of [`LogStat::keys`]: 1.04 by the root of the number of registers.
pub const KEYS_ERROR: f64 = 0.008_125;

/// How many different keys there are, by the longest runs of zeros in their hashes (HyperLogLog).
struct KeyCounter {
    registers: Vec<u8>,
}

impl KeyCounter {
    fn new() -> Self {
        Self {
            registers: vec![0; 1 << REGISTER_BITS],
        }
    }

    fn add(&mut self, key: &[u8]) {
        let mut hasher = SipHasher13::new();
        hasher.write(key);
        let hash = hasher.finish();
        let index = usize::try_from(hash >> (64 - REGISTER_BITS)).unwrap_or(0);
        let zeros = (hash << REGISTER_BITS)
            .leading_zeros()
            .min(64 - REGISTER_BITS);
        if let Some(register) = self.registers.get_mut(index) {
            *register = (*register).max(u8::try_from(zeros + 1).unwrap_or(u8::MAX));
        }
    }

    #[allow(
        clippy::naive_bytecount,
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an estimate, above 0 and far below 2^52"
    )]
    fn estimate(&self) -> u64 {
        let m = self.registers.len() as f64;
        let sum: f64 = self.registers.iter().map(|r| (-f64::from(*r)).exp2()).sum();
        let raw = 0.7213 / (1.0 + 1.079 / m) * m * m / sum;
        let empty = self.registers.iter().filter(|r| **r == 0).count();
        let counted = if raw <= 2.5 * m && empty > 0 {
            m * (m / empty as f64).ln()
        } else {
            raw
        };
        counted.round() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_counted_within_three_errors() {
        for count in [0_u64, 1, 10, 1000, 30_000, 500_000] {
            let mut counter = KeyCounter::new();
            for key in 0..count {
                counter.add(&key.to_le_bytes());
                counter.add(&key.to_le_bytes());
            }
            let off = counter.estimate().abs_diff(count);
            // Three errors: 2.4375 of a hundred.
            assert!(off * 10_000 <= 244 * count, "{count}: {off}");
        }
    }
}
