//! Times of a segment: its largest timestamp, and the record for a time. Implements log.md 2.4, 2.10, 2.14, 6.2.

use std::sync::Arc;

use super::Segment;
use super::scan::BatchScan;
use crate::error::Result;
use crate::format::batch::{Batch, BatchHeader};
use crate::format::decoder::RecordDecoder;
use crate::format::skim::skim;
use crate::types::{LeaderEpoch, Offset, TimestampMs, to_usize};

/// The largest timestamp of a segment, and the last offset of the batch that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaxTimestamp {
    /// -1 without any.
    pub timestamp: TimestampMs,
    /// The segment's base without any.
    pub offset: Offset,
}

/// A record found by its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordTime {
    /// Its time.
    pub timestamp: TimestampMs,
    /// Its offset.
    pub offset: Offset,
    /// Leader epoch of its batch, if it has one.
    pub leader_epoch: Option<LeaderEpoch>,
}

impl Segment {
    /// The largest timestamp so far: in memory, or the last entry of the time index.
    pub fn max_timestamp(&self) -> Result<MaxTimestamp> {
        let mut known = self.max_timestamp.lock();
        if let Some(max) = *known {
            return Ok(max);
        }
        let last = self.with_indexes(|indexes| indexes.last_time())?;
        let max = last.map_or(
            MaxTimestamp {
                timestamp: TimestampMs::NONE,
                offset: self.base_offset,
            },
            |e| MaxTimestamp {
                timestamp: e.timestamp,
                offset: e.offset,
            },
        );
        *known = Some(max);
        Ok(max)
    }

    /// What time-based decisions take for the time of the segment: its largest timestamp, else the modification time of
    /// its file.
    pub fn largest_timestamp(&self) -> Result<TimestampMs> {
        let max = self.max_timestamp()?.timestamp;
        if max.is_some() {
            Ok(max)
        } else {
            self.modified()
        }
    }

    /// The first record at or after `start` with a timestamp of at least `target`, in a segment of which `end` bytes are
    /// complete (log.md 2.14). Bodies of compressed records above `max_body_bytes` are INVALID_RECORD.
    pub fn find_by_timestamp(
        self: &Arc<Self>,
        target: TimestampMs,
        start: Offset,
        end: u64,
        max_body_bytes: usize,
    ) -> Result<Option<RecordTime>> {
        let entry = self.with_indexes(|indexes| indexes.floor_time(target))?;
        let from = entry.map_or(self.base_offset, |e| {
            // No record up to that one is later than the entry says.
            if e.timestamp < target {
                e.offset.saturating_next()
            } else {
                e.offset
            }
        });
        let mut scan = self.walk_to(from.max(start), end)?;
        while let Some(scanned) = scan.next_batch()? {
            if scanned.header.max_timestamp < target {
                continue;
            }
            let batch = scan.bytes_of(&scanned)?;
            if let Some((timestamp, offset)) =
                first_reaching(&batch, target, start, max_body_bytes)?
            {
                return Ok(Some(found(&scanned.header, timestamp, offset)));
            }
        }
        Ok(None)
    }

    /// The first record with the segment's largest timestamp, in the first batch that states it (log.md 6.2): the answer is
    /// that batch's even if compaction took the record, and a batch of magic 0 has no times.
    pub fn find_max_timestamp(
        self: &Arc<Self>,
        max: MaxTimestamp,
        end: u64,
        max_body_bytes: usize,
    ) -> Result<Option<RecordTime>> {
        let entry = self.with_indexes(|indexes| indexes.floor_offset(max.offset))?;
        let position = entry.map_or(0, |e| u64::from(e.position));
        let mut scan = BatchScan::headers(Arc::clone(&self.file), position..end);
        let first = loop {
            match scan.next_batch()? {
                Some(scanned) if scanned.header.max_timestamp == max.timestamp => break scanned,
                Some(_) => {}
                None => return Ok(None),
            }
        };
        if first.header.magic == 0 {
            return Ok(None);
        }
        let mut decoder = RecordDecoder::new();
        decoder.set_max_body_bytes(max_body_bytes);
        let batch = scan.bytes_of(&first)?;
        decoder.begin(&batch)?;
        while let Some(record) = decoder.next(&batch)? {
            if record.timestamp == max.timestamp {
                return Ok(Some(found(&first.header, record.timestamp, record.offset)));
            }
        }
        Ok(None)
    }

    /// Max timestamp of the first batch, from which time-based rolling counts; none for an empty segment.
    pub fn first_batch_timestamp(&self) -> Result<Option<TimestampMs>> {
        let mut head = [0; crate::format::batch::HEADER_BYTES];
        let read = self
            .file
            .read_at(&mut head, 0)?
            .min(to_usize(self.size_bytes()));
        Ok(BatchHeader::parse(&head[..read]).map(|header| header.max_timestamp))
    }
}

/// The first record of a batch at or behind `start` with a timestamp of at least `target`.
fn first_reaching(
    batch: &Batch<'_>,
    target: TimestampMs,
    start: Offset,
    max_body_bytes: usize,
) -> Result<Option<(TimestampMs, Offset)>> {
    let header = batch.header();
    if header.is_v2() && !header.attributes.is_compressed() {
        let mut hit = None;
        skim(batch.records_bytes(), header.record_count, |brief| {
            let (timestamp, offset) = (brief.timestamp(header), brief.offset(header));
            if timestamp >= target && offset >= start {
                hit = Some((timestamp, offset));
            }
            hit.is_none()
        })
        .map_err(|e| e.at_offset(header.base_offset))?;
        return Ok(hit);
    }
    let mut decoder = RecordDecoder::new();
    decoder.set_max_body_bytes(max_body_bytes);
    decoder.begin(batch)?;
    while let Some(record) = decoder.next(batch)? {
        if record.timestamp >= target && record.offset >= start {
            return Ok(Some((record.timestamp, record.offset)));
        }
    }
    Ok(None)
}

fn found(header: &BatchHeader, timestamp: TimestampMs, offset: Offset) -> RecordTime {
    let leader_epoch = Some(header.leader_epoch).filter(|epoch| epoch.0 >= 0);
    RecordTime {
        timestamp,
        offset,
        leader_epoch,
    }
}
