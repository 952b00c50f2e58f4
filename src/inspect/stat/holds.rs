//! What a cleaner and retention would take of a log, and which key and which offset hold them back.

use std::sync::Arc;

use super::{LogStat, Share};
use crate::cleaner::examine::{Active, examine};
use crate::error::Result;
use crate::log::Log;
use crate::manager::{CleanOptions, Manager, Pass};
use crate::types::{Offset, TimestampMs};

/// What the cleaner would do about a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cleaning {
    /// It is not compacted.
    Off,
    /// Only the active segment is dirty.
    ActiveOnly,
    /// An open transaction, or the high watermark.
    Unstable,
    /// `min.compaction.lag.ms`.
    TooYoung,
    /// `min.cleanable.dirty.ratio`.
    TooClean,
    /// It would be cleaned.
    Due,
    /// A pass would fail.
    Fails,
}

/// What retention would do about a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Deleting {
    /// `cleanup.policy` has no delete, and nothing lies below the start.
    Off,
    /// Neither age nor size ends anything.
    KeepsAll,
    /// Nothing is old or large enough now.
    Waits,
    /// Segments would go.
    Due,
}

/// What the cleaner would do, or what keeps it from that.
pub(super) fn cleaning(
    manager: &Manager,
    log: &Arc<Log>,
    now: TimestampMs,
    stat: &mut LogStat,
) -> Result<()> {
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
        stat.cleaning = if dirty >= active {
            Cleaning::ActiveOnly
        } else if stable < active && bound <= stable {
            Cleaning::Unstable
        } else {
            Cleaning::TooYoung
        };
        stat.clean = if stat.cleaning == Cleaning::ActiveOnly {
            format!(
                "nothing is dirty below the active segment at {active}, which is never cleaned: it rolls by segment.bytes={} or segment.ms={}",
                config.segment_bytes, config.segment_ms
            )
        } else if stat.cleaning == Cleaning::Unstable {
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
    stat.cleaning = if is_due {
        Cleaning::Due
    } else {
        Cleaning::TooClean
    };
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
        Err(e) => {
            stat.cleaning = Cleaning::Fails;
            stat.clean = format!("a pass would fail: {e}");
        }
    }
    Ok(())
}

/// What retention would delete, or what keeps it from that.
pub(super) fn retention(log: &Log, now: TimestampMs, stat: &mut LogStat) -> Result<()> {
    let config = log.config();
    let expired = log.expired()?;
    stat.retention_takes = (expired.segments, expired.bytes);
    stat.retention_upto = expired.log_start;
    let segments = log.segment_list();
    if let (true, Some(age_max_ms)) = (config.cleanup_policy.delete, config.retention_ms) {
        // None goes before those in front of it.
        let mut due_ms = i64::MIN;
        for segment in segments.iter().skip(expired.segments) {
            let age = segment.largest_timestamp()?.0.saturating_add(age_max_ms);
            // Kafka deletes what is older than that, not what is as old.
            due_ms = due_ms.max(age.saturating_add(1));
            let share = Share {
                stored_bytes: segment.size_bytes(),
                ..Share::default()
            };
            stat.due.add(TimestampMs(due_ms), share);
            stat.next_due.get_or_insert(TimestampMs(due_ms));
        }
    }
    if expired.segments > 0 {
        stat.deleting = Deleting::Due;
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
    stat.deleting = if config.retention_ms.is_none() && config.retention_bytes.is_none() {
        Deleting::KeepsAll
    } else {
        Deleting::Waits
    };
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
