//! Placeholder until merged.
use std::ops::Range;

use crate::config::LogConfig;
use crate::error::{Error, Result};
use crate::format::batch::{Batch, BatchHeader, Next, next_in_memory};
use crate::format::codec::Codec;
use crate::types::{LeaderEpoch, Offset, TimestampMs};

/// Who appends (state.md 1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Origin {
    /// A producer.
    #[default]
    Client,
    /// A follower.
    Replication,
    /// A coordinator.
    Coordinator,
    /// A raft leader.
    RaftLeader,
}

pub(super) struct Analysis {
    pub(super) valid_bytes: usize,
    pub(super) batches: Vec<(Range<usize>, BatchHeader)>,
    pub(super) first_offset: Offset,
    pub(super) last_offset: Offset,
    pub(super) last_offset_of_first_batch: Offset,
    pub(super) last_leader_epoch: Option<LeaderEpoch>,
    pub(super) max_timestamp: TimestampMs,
    pub(super) source_codec: Codec,
}

pub(super) struct Validated {
    pub(super) bytes: Vec<u8>,
    pub(super) header: BatchHeader,
    pub(super) log_append_time: TimestampMs,
}

pub(super) fn analyze(
    bytes: &[u8],
    origin: Origin,
    _leader_epoch: LeaderEpoch,
    _max: u32,
) -> Result<Analysis> {
    let mut a = Analysis {
        valid_bytes: 0,
        batches: Vec::new(),
        first_offset: Offset::NONE,
        last_offset: Offset::NONE,
        last_offset_of_first_batch: Offset::NONE,
        last_leader_epoch: None,
        max_timestamp: TimestampMs::NONE,
        source_codec: Codec::None,
    };
    let mut at = 0;
    while let Next::Batch(size) = next_in_memory(&bytes[at..])? {
        let one = &bytes[at..at + size as usize];
        let batch = Batch::new(one)?;
        let header = *batch.header();
        if origin == Origin::Client && header.is_v2() && header.base_offset != Offset::ZERO {
            return Err(Error::invalid_record("base offset"));
        }
        batch.ensure_valid()?;
        header.attributes.codec()?;
        if a.batches.is_empty() {
            a.first_offset = header.base_offset;
            a.last_offset_of_first_batch = header.last_offset;
        }
        a.last_offset = header.last_offset;
        a.max_timestamp = a.max_timestamp.max(header.max_timestamp);
        a.batches.push((at..at + size as usize, header));
        at += size as usize;
        a.valid_bytes = at;
    }
    Ok(a)
}

pub(super) fn validate_leader(
    bytes: &[u8],
    analysis: &Analysis,
    _origin: Origin,
    _config: &LogConfig,
    _now: TimestampMs,
) -> Result<Validated> {
    let (range, header) = analysis.batches[0].clone();
    Ok(Validated {
        bytes: bytes[range].to_vec(),
        header,
        log_append_time: TimestampMs::NONE,
    })
}
