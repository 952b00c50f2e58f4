//! The records of a batch, one after the other. Implements records.md 2.9-2.11, 4.3-4.6.
//!
//! Records of an uncompressed batch are read where they lie. A compressed batch is decompressed as records are asked
//! for: memory grows with what was really read, never with what a header claims, and a body above the limit is an error
//! before it is decompressed.

#![allow(clippy::inline_always)] // a scan spends its time here: copies between the steps cost a fifth of it

use super::batch::{Batch, BatchHeader, TimestampType, increment_sequence};
use super::codec::{Codec, Decompressor, Lz4Header};
use super::legacy::{self, InnerMessage};
use super::record::{BatchFacts, Body, Record, RecordParts, parse_body};
use super::varint::{MAX_VARINT_BYTES, read_varint};
use crate::error::{Error, ErrorKind, Result};
use crate::types::{LeaderEpoch, Offset, TimestampMs};

/// How many bytes are decompressed at a time beyond what the next record needs.
pub(super) const STEP_BYTES: usize = 32 * 1024;

/// The largest body of a record in a compressed batch, where no smaller limit is set (records.md 2.10).
pub const MAX_BODY_BYTES: usize = 2_147_483_639;

/// Decodes batches, one at a time, reusing its buffers. It borrows nothing: the bytes of the batch are given with each
/// call, and must be the same until the next [`RecordDecoder::begin`].
pub struct RecordDecoder {
    decompressor: Decompressor,
    /// Decompressed bytes; records point into it when the batch is compressed.
    inflated: Vec<u8>,
    inflating: bool,
    /// Where the next record begins, in `inflated` or in the batch.
    at: usize,
    max_body_bytes: usize,
    /// Whether what is above the limit is TOO_LARGE: good, but not for this reader.
    is_bounded: bool,
    inner_rule: InnerRule,
    is_foreign: bool,
    facts: BatchFacts,
    left: Left,
}

/// How the messages inside a wrapper of magic 0 or 1 are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum InnerRule {
    /// One after the other; their checksums are not looked at (records.md 4.9), and another magic is an error.
    #[default]
    AsReader,
    /// As in an append: first the wrapper as a whole. Then another magic is told by
    /// [`RecordDecoder::is_foreign`], and otherwise a wrong checksum is CORRUPT_MESSAGE (state.md 3.4 (1, 2), 3.10).
    AsLeader,
    /// Each with its checksum; another magic is fine (cleaner.md 5.7, 6.13).
    AsCleaner,
}

/// What is left of the batch that was begun.
#[derive(Clone, Copy)]
enum Left {
    Nothing,
    /// Magic 2: so many records, at least one.
    Records(i32),
    /// A single message of magic 0 or 1.
    Message,
    /// Inner messages of a compressed wrapper; `shift` is added to their offsets.
    Inner {
        shift: i64,
        met_any: bool,
    },
}

impl Default for RecordDecoder {
    fn default() -> Self {
        Self::new()
    }
}

impl RecordDecoder {
    /// A decoder without a batch.
    #[must_use]
    pub fn new() -> Self {
        Self {
            decompressor: Decompressor::new(),
            inflated: Vec::new(),
            inflating: false,
            at: 0,
            max_body_bytes: MAX_BODY_BYTES,
            is_bounded: false,
            inner_rule: InnerRule::AsReader,
            is_foreign: false,
            facts: BatchFacts {
                timestamp_type: TimestampType::None,
                leader_epoch: LeaderEpoch::NONE,
                is_control: false,
                is_transactional: false,
            },
            left: Left::Nothing,
        }
    }

    /// Bodies of compressed records above `bytes` are INVALID_RECORD from now on (`max.decompressed.message.bytes`).
    pub fn set_max_body_bytes(&mut self, bytes: usize) {
        self.max_body_bytes = bytes;
    }

    /// Takes no more memory than a few times `bytes` from now on, whatever a batch decompresses to. What needs more is
    /// TOO_LARGE: a record, a block of snappy, a window of zstd. A smaller limit of bodies that was set before stays.
    pub fn bound_memory(&mut self, bytes: usize) {
        if bytes < self.max_body_bytes {
            self.max_body_bytes = bytes;
            self.is_bounded = true;
        }
        self.decompressor.bound_memory(bytes);
    }

    /// How inner messages are looked at from now on.
    pub fn set_inner_rule(&mut self, rule: InnerRule) {
        self.inner_rule = rule;
    }

    /// Whether the record given last has another magic than its wrapper.
    #[must_use]
    pub fn is_foreign(&self) -> bool {
        self.is_foreign
    }

    /// Bytes of memory kept for decompressed records.
    #[must_use]
    pub fn capacity_bytes(&self) -> usize {
        self.inflated.capacity()
    }

    /// Begins with a batch. Its checksum is not checked here.
    pub fn begin(&mut self, batch: &Batch<'_>) -> Result<()> {
        self.inflated.clear();
        self.begin_behind(batch)
    }

    /// Begins with a batch, keeping what was decompressed of those before: places of their records stay good.
    pub fn begin_behind(&mut self, batch: &Batch<'_>) -> Result<()> {
        let header = batch.header();
        self.left = Left::Nothing;
        self.is_foreign = false;
        self.inflating = header.attributes.is_compressed();
        self.at = if self.inflating {
            self.inflated.len()
        } else {
            0
        };
        self.facts = BatchFacts {
            timestamp_type: header.timestamp_type(),
            leader_epoch: header.leader_epoch,
            is_control: header.attributes.is_control(),
            is_transactional: header.attributes.is_transactional(),
        };
        self.left = if header.is_v2() {
            self.begin_v2(batch)?
        } else {
            self.begin_legacy(batch)?
        };
        Ok(())
    }

    fn begin_v2(&mut self, batch: &Batch<'_>) -> Result<Left> {
        let header = batch.header();
        let count = header.record_count;
        if count < 0 {
            return Err(invalid(
                header,
                format_args!("has the record count {count}"),
            ));
        }
        // With no record the rest is not looked at, not even whether it opens (records.md 2.11, 5.7).
        if count == 0 {
            return Ok(Left::Nothing);
        }
        match header.attributes.codec()? {
            Codec::None => self.at = batch.bytes().len() - batch.records_bytes().len(),
            codec => self
                .decompressor
                .begin(codec, Lz4Header::Checked, batch.records_bytes())?,
        }
        Ok(Left::Records(count))
    }

    fn begin_legacy(&mut self, batch: &Batch<'_>) -> Result<Left> {
        if !self.inflating {
            return Ok(Left::Message);
        }
        // A leader knows the whole wrapper before it judges the first message (state.md 3.10).
        if self.inner_rule == InnerRule::AsLeader {
            legacy::check_wrapper(batch, &mut self.decompressor, self.max_body_bytes)?;
        }
        let shift = legacy::wrapper_shift(batch, &mut self.decompressor)?;
        legacy::open_wrapper(batch, &mut self.decompressor)?;
        Ok(Left::Inner {
            shift,
            met_any: false,
        })
    }

    /// The next record, or `None` after the last. `batch` is the one that was begun. After an error the rest of the
    /// batch is given up.
    #[inline]
    pub fn next<'a>(&'a mut self, batch: &Batch<'a>) -> Result<Option<Record<'a>>> {
        match self.advance(batch)? {
            Some(parts) => Ok(Some(self.view(batch, &parts))),
            None => Ok(None),
        }
    }

    /// The first half of [`Self::next`]: goes to the next record. What was given before is gone.
    #[inline(always)]
    pub fn advance(&mut self, batch: &Batch<'_>) -> Result<Option<RecordParts>> {
        if self.inflating && self.at >= STEP_BYTES {
            self.discard_consumed();
        }
        self.next_parts(batch)
    }

    /// The second half of [`Self::next`]: the record that was gone to last.
    #[must_use]
    #[inline(always)]
    pub fn view<'a>(&'a self, batch: &Batch<'a>, parts: &RecordParts) -> Record<'a> {
        let buffer = if self.inflating {
            &self.inflated
        } else {
            batch.bytes()
        };
        parts.of(buffer, &self.facts)
    }

    /// As [`Self::next`], with the record's bytes as places: in [`Self::inflated`] if [`Self::is_inflating`], else in
    /// the batch. Decompressed bytes stay until [`Self::discard_consumed`] or the next batch.
    #[inline(always)]
    pub fn next_parts(&mut self, batch: &Batch<'_>) -> Result<Option<RecordParts>> {
        let answer = match self.left {
            Left::Nothing => return Ok(None),
            Left::Records(left) => self.next_record(batch, left),
            Left::Message => {
                self.left = Left::Nothing;
                let header = batch.header();
                legacy::parse_message(batch.bytes(), 0)
                    .map(|m| Some(m.at(header.base_offset, header.max_timestamp)))
            }
            Left::Inner { shift, met_any } => self.next_inner(batch, shift, met_any),
        };
        if answer.is_err() {
            self.left = Left::Nothing;
        }
        answer
    }

    /// Forgets decompressed bytes of records that were given out. Places given before mean nothing afterwards.
    pub fn discard_consumed(&mut self) {
        if self.inflating {
            self.inflated.drain(..self.at);
            self.at = 0;
        } else {
            self.inflated.clear();
        }
    }

    /// Whether the records of the batch begun last lie in [`Self::inflated`].
    #[must_use]
    pub fn is_inflating(&self) -> bool {
        self.inflating
    }

    /// The decompressed bytes.
    #[must_use]
    pub fn inflated(&self) -> &[u8] {
        &self.inflated
    }

    /// What all records of the batch begun last share.
    #[must_use]
    pub fn facts(&self) -> &BatchFacts {
        &self.facts
    }

    /// Gives the records that are left of a batch of magic 2 that is not compressed, until `take` wants no more. `false` if
    /// the batch is not like that. Fewer steps a record than [`Self::next_parts`], to the same end.
    #[inline(always)]
    pub(crate) fn give_plain(
        &mut self,
        batch: &Batch<'_>,
        mut take: impl FnMut(RecordParts) -> bool,
    ) -> Result<bool> {
        let Left::Records(mut left) = self.left else {
            return Ok(false);
        };
        if self.inflating {
            return Ok(false);
        }
        let places = Places::of(batch.header());
        let mut at = self.at;
        // Whatever ends it early is no reason to go on.
        self.left = Left::Nothing;
        loop {
            let body = plain_body(batch, &mut at)?;
            left -= 1;
            if left == 0 {
                self.at = at;
                self.ensure_exhausted(batch)?;
            }
            let goes_on = take(places.parts(body));
            if left == 0 {
                return Ok(true);
            }
            if !goes_on {
                self.at = at;
                self.left = Left::Records(left);
                return Ok(true);
            }
        }
    }

    #[inline(always)]
    fn next_record(&mut self, batch: &Batch<'_>, left: i32) -> Result<Option<RecordParts>> {
        let body = if self.inflating {
            self.inflated_body(batch)?
        } else {
            plain_body(batch, &mut self.at)?
        };
        if left > 1 {
            self.left = Left::Records(left - 1);
        } else {
            self.left = Left::Nothing;
            self.ensure_exhausted(batch)?;
        }
        Ok(Some(Places::of(batch.header()).parts(body)))
    }

    #[inline(never)]
    fn inflated_body(&mut self, batch: &Batch<'_>) -> Result<Body> {
        self.inflate(batch.records_bytes(), MAX_VARINT_BYTES)?;
        let rest = self.inflated.get(self.at..).unwrap_or_default();
        if rest.is_empty() {
            return Err(premature(batch.header()));
        }
        let (len, n) = read_varint(rest)?;
        let len = usize::try_from(len)
            .map_err(|_| invalid(batch.header(), format_args!("has a record of {len} bytes")))?;
        if len > self.max_body_bytes {
            return Err(self.above_limit(
                batch.header(),
                format_args!(
                    "has a record of {len} bytes, above the limit of {}",
                    self.max_body_bytes
                ),
            ));
        }
        let start = self.at + n;
        self.inflate(batch.records_bytes(), n + len)?;
        let body = self
            .inflated
            .get(start..start + len)
            .ok_or_else(|| premature(batch.header()))?;
        self.at = start + len;
        parse_body(body, start)
    }

    #[cold]
    fn above_limit(&self, header: &BatchHeader, what: std::fmt::Arguments<'_>) -> Error {
        let error = invalid(header, what);
        if self.is_bounded {
            return Error::new(ErrorKind::TooLarge, error.to_string())
                .at_offset(header.base_offset);
        }
        error
    }

    /// Decompresses until `wanted` bytes follow `at`, or to the end of the stream.
    fn inflate(&mut self, compressed: &[u8], wanted: usize) -> Result<()> {
        loop {
            let missing = wanted.saturating_sub(self.inflated.len() - self.at);
            if missing == 0 {
                return Ok(());
            }
            let step = missing.clamp(STEP_BYTES, 32 * STEP_BYTES);
            if self
                .decompressor
                .read_into(compressed, &mut self.inflated, step)?
                == 0
            {
                return Ok(());
            }
        }
    }

    #[inline(never)]
    fn ensure_exhausted(&mut self, batch: &Batch<'_>) -> Result<()> {
        let left = if self.inflating {
            self.inflate(batch.records_bytes(), 1)?;
            self.inflated.len() - self.at
        } else {
            batch.bytes().len() - self.at
        };
        if left == 0 {
            return Ok(());
        }
        let count = batch.header().record_count;
        Err(invalid(
            batch.header(),
            format_args!("has bytes left behind its {count} records"),
        ))
    }

    #[inline(never)]
    fn next_inner(
        &mut self,
        batch: &Batch<'_>,
        shift: i64,
        met_any: bool,
    ) -> Result<Option<RecordParts>> {
        let header = batch.header();
        let compressed = legacy::wrapper_value(batch)?;
        self.inflate(compressed, super::batch::PREFIX_BYTES)?;
        let rest = self.inflated.get(self.at..).unwrap_or_default();
        let size = legacy::inner_size(rest, MAX_BODY_BYTES)?;
        if let Some(size) = size.map(|size| size - super::batch::PREFIX_BYTES)
            && size > self.max_body_bytes
        {
            let limit = self.max_body_bytes;
            return Err(self.above_limit(
                header,
                format_args!("has an inner message of {size} bytes, above the limit of {limit}"),
            ));
        }
        let whole = match size {
            Some(size) => {
                self.inflate(compressed, size)?;
                self.inflated.get(self.at..self.at + size)
            }
            None => None,
        };
        // A partial message ends the wrapper silently; a wrapper without any message is wrong (records.md 4.3).
        let Some(whole) = whole else {
            self.left = Left::Nothing;
            if met_any {
                return Ok(None);
            }
            return Err(invalid(
                header,
                format_args!("is a compressed wrapper without an inner message"),
            ));
        };
        let inner = InnerMessage::read(whole)?;
        self.is_foreign = inner.magic != header.magic;
        match (self.inner_rule, self.is_foreign) {
            (InnerRule::AsReader, true) => {
                return Err(invalid(
                    header,
                    format_args!("has an inner message of magic {}", inner.magic),
                ));
            }
            (InnerRule::AsLeader, false) | (InnerRule::AsCleaner, _) => inner.check(whole)?,
            (InnerRule::AsReader, false) | (InnerRule::AsLeader, true) => {}
        }
        let message = legacy::parse_message(whole, self.at)?;
        self.at += whole.len();
        self.left = Left::Inner {
            shift,
            met_any: true,
        };
        let timestamp = if header.attributes.is_log_append_time() {
            header.max_timestamp
        } else {
            inner.timestamp
        };
        Ok(Some(message.at(Offset(inner.offset) + shift, timestamp)))
    }
}

/// Where the records of a batch lie, in offsets, time and sequence.
#[derive(Clone, Copy)]
struct Places {
    base_offset: Offset,
    base_timestamp: i64,
    /// The time of all, if it is that of the append.
    append_time: Option<TimestampMs>,
    base_sequence: i32,
}

impl Places {
    #[inline(always)]
    fn of(header: &BatchHeader) -> Self {
        let is_append_time = header.attributes.is_log_append_time();
        Self {
            base_offset: header.base_offset,
            base_timestamp: header.base_timestamp.0,
            append_time: is_append_time.then_some(header.max_timestamp),
            base_sequence: header.base_sequence,
        }
    }

    #[inline(always)]
    fn parts(&self, body: Body) -> RecordParts {
        let own_time = TimestampMs(self.base_timestamp.wrapping_add(body.timestamp_delta));
        let sequence = if self.base_sequence < 0 {
            -1
        } else {
            increment_sequence(self.base_sequence, body.offset_delta)
        };
        body.at(
            self.base_offset + i64::from(body.offset_delta),
            self.append_time.unwrap_or(own_time),
            sequence,
        )
    }
}

/// The body of the record at `at` of a batch that is not compressed; `at` is behind it then.
#[inline(always)]
fn plain_body(batch: &Batch<'_>, at: &mut usize) -> Result<Body> {
    let rest = batch.bytes().get(*at..).unwrap_or_default();
    if rest.is_empty() {
        return Err(premature(batch.header()));
    }
    let (len, n) = read_varint(rest)?;
    let start = *at + n;
    let body = usize::try_from(len)
        .ok()
        .and_then(|len| rest.get(n..)?.get(..len));
    let Some(body) = body else {
        return Err(overrun(batch.header(), len, rest.len() - n));
    };
    *at = start + body.len();
    parse_body(body, start)
}

#[cold]
fn overrun(header: &BatchHeader, len: i32, left: usize) -> Error {
    invalid(
        header,
        format_args!("has a record of {len} bytes, {left} are left"),
    )
}

#[cold]
fn invalid(header: &BatchHeader, what: std::fmt::Arguments<'_>) -> Error {
    Error::invalid_record(format!("the batch at offset {} {what}", header.base_offset))
        .at_offset(header.base_offset)
}

#[cold]
fn premature(header: &BatchHeader) -> Error {
    invalid(
        header,
        format_args!(
            "ends before the last of its {} records",
            header.record_count
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::builder::{BatchBuilder, BatchOptions};

    #[test]
    fn a_bound_of_memory_does_not_lift_the_limit_of_bodies() {
        let mut builder = BatchBuilder::new();
        builder
            .push(TimestampMs(1), None, Some(&[7; 2000]), [].into_iter())
            .unwrap();
        let options = BatchOptions {
            codec: Codec::Gzip,
            ..BatchOptions::default()
        };
        let bytes = builder.finish(&options).unwrap().to_vec();
        let batch = Batch::new(&bytes).unwrap();
        for (limit, bound, refused) in [
            (1000, 1 << 20, Some(ErrorKind::InvalidRecord)),
            (1000, 500, Some(ErrorKind::TooLarge)),
            (5000, 1000, Some(ErrorKind::TooLarge)),
            (5000, 1 << 20, None),
        ] {
            let mut decoder = RecordDecoder::new();
            decoder.set_max_body_bytes(limit);
            decoder.bound_memory(bound);
            decoder.begin(&batch).unwrap();
            let found = decoder.next(&batch).err().map(|e| e.kind());
            assert_eq!(found, refused, "{limit} {bound}");
        }
    }
}
