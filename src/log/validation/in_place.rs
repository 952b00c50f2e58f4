//! A batch that is stored as it came: its records are walked over, only timestamp type and max timestamp may change.
//! Implements state.md 3.6-3.8.

#![allow(clippy::inline_always)] // done for every record

use super::records::{Findings, Rules};
use crate::error::{Error, Result};
use crate::format::batch::{Batch, set_max_timestamp, stamp};
use crate::format::control::read_control_batch;
use crate::format::decoder::RecordDecoder;
use crate::format::skim::skim;
use crate::types::{Offset, TimestampMs};

/// What the offsets of the records have to be (state.md 3.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OffsetRule {
    /// 0, 1, 2, ..: base offset and deltas together.
    FromZero,
    /// Whatever a coordinator sends uncompressed.
    Any,
}

/// What the walk over the records told, but for what is wrong with single ones: apart from that it stays in registers.
struct Walk {
    /// The index of the next record.
    index: i64,
    max_timestamp: TimestampMs,
    /// The first record whose offset is not its index.
    misplaced: Option<i64>,
}

impl Walk {
    const START: Self = Self {
        index: 0,
        max_timestamp: TimestampMs::NONE,
        misplaced: None,
    };

    #[inline(always)]
    fn meet(
        &mut self,
        (has_key, timestamp, offset): (bool, TimestampMs, Offset),
        judge: &Judge<'_>,
        findings: &mut Findings,
    ) {
        let finding = judge
            .rules
            .finding(has_key, timestamp, judge.declares_append_time);
        if let Some(finding) = finding {
            let index = to_index(self.index);
            findings.add(finding, index, timestamp, offset, judge.rules);
        }
        if offset.0 != self.index && self.misplaced.is_none() {
            self.misplaced = Some(self.index);
        }
        self.max_timestamp = self.max_timestamp.max(timestamp);
        self.index += 1;
    }
}

fn to_index(index: i64) -> usize {
    usize::try_from(index).unwrap_or(0)
}

struct Judge<'r> {
    rules: &'r Rules,
    declares_append_time: bool,
}

/// Judges the records of `batch`, and copies it with timestamp type and max timestamp as the topic wants them.
pub(super) fn keep(
    batch: &Batch<'_>,
    offsets: OffsetRule,
    rules: &Rules,
    decoder: &mut RecordDecoder,
) -> Result<Vec<u8>> {
    let header = batch.header();
    let judge = Judge {
        rules,
        declares_append_time: header.attributes.is_log_append_time(),
    };
    let walk = if header.attributes.is_compressed() {
        walk_compressed(batch, &judge, decoder)?
    } else {
        walk_plain(batch, &judge)?
    };
    // A leader makes the base offset from the last one: another range would cover offsets of other batches.
    if i64::from(header.last_offset_delta()) + 1 != walk.index {
        return Err(Error::invalid_record(format!(
            "a batch of {} records has the last offset delta {}",
            walk.index,
            header.last_offset_delta()
        )));
    }
    if let Some(index) = walk.misplaced
        && offsets == OffsetRule::FromZero
    {
        return Err(Error::invalid_record(format!(
            "the offset of record {index} is not {index} within its batch"
        ))
        .at_record(to_index(index)));
    }
    // What a producer's state cannot be read from never gets into the log (state.md 4.9).
    if header.attributes.is_control() && header.has_producer_id() {
        read_control_batch(batch, decoder)?;
    }
    let mut own = batch.bytes().to_vec();
    stamp(&mut own, Offset::ZERO, header.leader_epoch);
    let append_time = rules.append_time();
    set_max_timestamp(
        &mut own,
        append_time.is_some(),
        append_time.unwrap_or(walk.max_timestamp),
    );
    Ok(own)
}

fn walk_plain(batch: &Batch<'_>, judge: &Judge<'_>) -> Result<Walk> {
    let header = *batch.header();
    let mut walk = Walk::START;
    let mut findings = Findings::default();
    skim(batch.records_bytes(), header.record_count, |brief| {
        let (timestamp, offset) = (brief.timestamp(&header), brief.offset(&header));
        walk.meet((brief.has_key, timestamp, offset), judge, &mut findings);
        true
    })?;
    findings.into_result()?;
    Ok(walk)
}

fn walk_compressed(
    batch: &Batch<'_>,
    judge: &Judge<'_>,
    decoder: &mut RecordDecoder,
) -> Result<Walk> {
    let mut walk = Walk::START;
    let mut findings = Findings::default();
    decoder.begin(batch)?;
    while let Some(record) = decoder.next(batch)? {
        let met = (record.key.is_some(), record.timestamp, record.offset);
        walk.meet(met, judge, &mut findings);
    }
    findings.into_result()?;
    Ok(walk)
}
