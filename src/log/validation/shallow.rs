//! The look at the headers of all batches of an append, whoever appends. Implements state.md 2.

use std::ops::Range;

use super::Origin;
use crate::error::{Error, ErrorKind, RecordFlaws, Result};
use crate::format::batch::{Batch, BatchHeader, HEADER_BYTES, Next, next_in_memory};
use crate::format::codec::Codec;
use crate::types::{LeaderEpoch, Offset, TimestampMs};

/// What the shallow look at the bytes of an append found (state.md 2.5).
#[derive(Clone, Debug, PartialEq)]
#[allow(
    dead_code,
    reason = "some fields are for appends that bring their offsets"
)]
pub(in crate::log) struct Analysis {
    /// Bytes of the counted batches, which are a prefix of the input.
    pub(in crate::log) valid_bytes: usize,
    /// The counted batches in order: where they lie, and what their headers say.
    pub(in crate::log) batches: Vec<(Range<usize>, BatchHeader)>,
    /// Base offset of the first batch, -1 for magic 0 and 1: only the content tells it there.
    pub(in crate::log) first_offset: Offset,
    /// Last offset of the last batch.
    pub(in crate::log) last_offset: Offset,
    /// Last offset of the first batch.
    pub(in crate::log) last_offset_of_first_batch: Offset,
    /// Leader epoch of the last batch, if it has one.
    pub(in crate::log) last_leader_epoch: Option<LeaderEpoch>,
    /// The largest of the headers' max timestamps, -1 for none.
    pub(in crate::log) max_timestamp: TimestampMs,
    /// The codec of the last compressed batch.
    pub(in crate::log) source_codec: Codec,
}

impl Analysis {
    const NOTHING: Self = Self {
        valid_bytes: 0,
        batches: Vec::new(),
        first_offset: Offset::NONE,
        last_offset: Offset::NONE,
        last_offset_of_first_batch: Offset::NONE,
        last_leader_epoch: None,
        max_timestamp: TimestampMs::NONE,
        source_codec: Codec::None,
    };
}

/// Checks each batch of `bytes` as far as its header and checksum go. What follows the last whole batch is dropped; no
/// batch at all is no error. An error of any batch refuses the whole append.
pub(in crate::log) fn analyze(
    bytes: &[u8],
    origin: Origin,
    leader_epoch: LeaderEpoch,
    max_message_bytes: u32,
) -> Result<Analysis> {
    let mut found = Analysis::NOTHING;
    let mut at = 0;
    let mut is_skipping = false;
    loop {
        let rest = bytes.get(at..).unwrap_or_default();
        let Next::Batch(size) = next_in_memory(rest)? else {
            return Ok(found);
        };
        let Some(one) = rest.get(..size as usize) else {
            return Ok(found);
        };
        let range = at..at + one.len();
        at = range.end;
        // A skipped batch still has to have a size and a magic, and so have those behind it.
        if is_skipping {
            continue;
        }
        let header = parse(one)?;
        let epoch = header.leader_epoch;
        if origin == Origin::Replication && epoch != LeaderEpoch::NONE && epoch > leader_epoch {
            is_skipping = true;
            continue;
        }
        let is_rising = found.last_offset < header.last_offset;
        check(one, &header, origin, leader_epoch, max_message_bytes)?;
        let codec = header.attributes.codec()?;
        if !is_rising && origin.brings_offsets() {
            return Err(out_of_order(&header, found.last_offset));
        }
        found.count(range, header, codec);
    }
}

impl Analysis {
    fn count(&mut self, range: Range<usize>, header: BatchHeader, codec: Codec) {
        if self.batches.is_empty() {
            self.last_offset_of_first_batch = header.last_offset;
            if header.is_v2() {
                self.first_offset = header.base_offset;
            }
        }
        self.valid_bytes = range.end;
        self.last_offset = header.last_offset;
        self.last_leader_epoch =
            Some(header.leader_epoch).filter(|&epoch| epoch != LeaderEpoch::NONE);
        self.max_timestamp = self.max_timestamp.max(header.max_timestamp);
        if codec != Codec::None {
            self.source_codec = codec;
        }
        self.batches.push((range, header));
    }
}

/// The header, also of a batch that is too short for one: what is missing is 0. [`check`] refuses it, but not before what
/// its first fields are refused for.
fn parse(one: &[u8]) -> Result<BatchHeader> {
    if let Some(header) = BatchHeader::parse(one) {
        return Ok(header);
    }
    let mut padded = [0; HEADER_BYTES];
    for (place, &byte) in padded.iter_mut().zip(one) {
        *place = byte;
    }
    BatchHeader::parse(&padded).ok_or_else(|| too_short(one))
}

/// state.md 2.3, steps 1, 2, 5, 7 and 8.
fn check(
    one: &[u8],
    header: &BatchHeader,
    origin: Origin,
    leader_epoch: LeaderEpoch,
    max_message_bytes: u32,
) -> Result<()> {
    if origin == Origin::RaftLeader && header.leader_epoch != leader_epoch {
        return Err(Error::invalid_record(format!(
            "a batch has the leader epoch {}, that of the leader is {leader_epoch}",
            header.leader_epoch
        ))
        .at_offset(header.base_offset));
    }
    if origin == Origin::Client && header.is_v2() && header.base_offset != Offset::ZERO {
        return Err(Error::invalid_record(format!(
            "the batch of a producer has the base offset {}, not 0",
            header.base_offset
        )));
    }
    let is_whole = !header.is_v2() || one.len() >= HEADER_BYTES;
    if origin.brings_offsets() && is_whole && header.last_offset < header.base_offset {
        return Err(Error::corrupt(format!(
            "a batch has the base offset {} and the last offset {}",
            header.base_offset, header.last_offset
        ))
        .at_offset(header.base_offset));
    }
    if origin.has_size_limit() {
        ensure_batch_size(header.size_bytes, max_message_bytes)?;
    }
    if !is_whole {
        return Err(too_short(one).with_flaws(WRONG_CHECKSUM));
    }
    Batch::new(one)?
        .ensure_valid()
        .map_err(|e| e.with_flaws(WRONG_CHECKSUM))
}

/// Kafka counts a batch that is too short among those with a wrong checksum.
const WRONG_CHECKSUM: RecordFlaws = RecordFlaws {
    no_key: 0,
    magic: 0,
    checksum: 1,
    offset_or_sequence: 0,
};

/// MESSAGE_TOO_LARGE if a batch, header included, is larger than `max.message.bytes`.
pub(in crate::log) fn ensure_batch_size(size_bytes: u32, max_message_bytes: u32) -> Result<()> {
    if size_bytes <= max_message_bytes {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::MessageTooLarge,
        format!(
            "a batch of {size_bytes} bytes, at most {max_message_bytes} are allowed (max.message.bytes)"
        ),
    ))
}

#[cold]
fn too_short(one: &[u8]) -> Error {
    Error::corrupt(format!(
        "a batch of magic 2 has {} bytes, fewer than its header of {HEADER_BYTES}",
        one.len()
    ))
}

#[cold]
fn out_of_order(header: &BatchHeader, previous: Offset) -> Error {
    Error::new(
        ErrorKind::OffsetsOutOfOrder,
        format!(
            "a batch with the last offset {} comes behind one with {previous}",
            header.last_offset
        ),
    )
    .at_offset(header.last_offset)
}
