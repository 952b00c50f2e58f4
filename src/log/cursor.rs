//! A cursor: many records a call, each batch read, checked and decompressed once.
//!
//! It reads a stretch of whole batches into its buffer and hands out records that point there, or into what was
//! decompressed. What a call lends is good until the next one. The place is kept inside a batch too.

use std::sync::Arc;

use super::Log;
use super::committed::Aborted;
use super::read::{FirstBatch, Isolation, ReadOptions};
use crate::error::{Error, ErrorKind, Result};
use crate::format::batch::{Batch, BatchHeader};
use crate::format::decoder::RecordDecoder;
use crate::format::record::{BatchFacts, Record, RecordParts};
use crate::types::{Offset, to_usize};

/// How much is read first when nothing else is asked for: many want a few records and no more.
const FIRST_READ_BYTES: usize = 16 * 1024;
/// Each time four times as much, up to this.
const DEFAULT_READ_BYTES: usize = 256 * 1024;
/// A call ends when it has decompressed so many bytes.
const INFLATED_BYTES_MAX: usize = 4 * 1024 * 1024;

/// How a cursor reads.
#[derive(Clone, Copy, Debug, Default)]
pub struct CursorOptions {
    /// How much is read from the log at a time, in bytes; 0 for the default: 16 KiB at first, then more and more up to
    /// 256 KiB. A larger batch is read whole.
    pub read_bytes: usize,
    /// Whether control records are given too.
    pub control_records: ControlRecords,
    /// How far is read. Records of aborted transactions are passed over with [`Isolation::TxnCommitted`].
    pub isolation: Isolation,
    /// A batch of more bytes is not read into memory, nor one that needs a few times as many to be decompressed: TOO_LARGE. 0 is
    /// no limit.
    pub batch_bytes_max: usize,
}

/// What a cursor does with control records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ControlRecords {
    /// Passes over them: they are no data.
    #[default]
    Hide,
    /// Gives them as records.
    Show,
}

/// A place in a log from which records are read forwards.
pub struct Cursor {
    log: Arc<Log>,
    options: CursorOptions,
    /// Records below are passed over: the offset that was asked for lies inside a batch. Later the place in front of the
    /// batch: what a damaged log has below it would lead back here for ever.
    wanted_from: Offset,
    /// Where the next read begins. It never goes back.
    next: Offset,
    /// Whole batches as they were read; the first `filled` bytes count.
    buffer: Vec<u8>,
    filled: usize,
    /// Where the next batch begins in `buffer`.
    batch_at: usize,
    decoder: RecordDecoder,
    aborted: Aborted,
    /// The batch that is half given.
    current: Option<Current>,
    /// What the last call gave.
    given: Vec<Given>,
    groups: Vec<Group>,
    /// From here on it is given again by the next call.
    given_again: usize,
    /// What the next call answers: the last one had good records before it.
    pending: Option<Error>,
}

#[derive(Clone, Copy)]
struct Current {
    start: usize,
    end: usize,
    next_offset: Offset,
}

/// A record that was given, and the number of its batch in `groups`.
#[derive(Clone, Copy)]
struct Given {
    parts: RecordParts,
    group: u32,
}

/// What the records of one batch share.
#[derive(Clone, Copy)]
struct Group {
    header: BatchHeader,
    facts: BatchFacts,
    /// Where the batch begins in the buffer; `None` if its bytes were decompressed.
    batch_start: Option<usize>,
}

/// Records that a cursor lends.
#[derive(Clone, Copy)]
pub struct RecordSlice<'c> {
    given: &'c [Given],
    groups: &'c [Group],
    buffer: &'c [u8],
    inflated: &'c [u8],
}

impl<'c> RecordSlice<'c> {
    /// How many.
    #[must_use]
    pub fn len(&self) -> usize {
        self.given.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.given.is_empty()
    }

    /// Record number `index`.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<Record<'c>> {
        self.given.get(index).map(|given| self.record(given))
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Record<'c>> + use<'c> {
        let slice = *self;
        // Records of one batch follow each other.
        let mut at = None;
        self.given.iter().map(move |given| {
            let (source, facts) = match at {
                Some((group, source, facts)) if group == given.group => (source, facts),
                _ => {
                    let group = slice.group(given);
                    let source = slice.source(group);
                    at = Some((given.group, source, &group.facts));
                    (source, &group.facts)
                }
            };
            given.parts.of(source, facts)
        })
    }

    /// How many headers the records have together.
    #[must_use]
    pub fn header_count(&self) -> usize {
        let count = |given: &Given| given.parts.header_count() as usize;
        self.given.iter().map(count).sum()
    }

    /// The header of the batch that record number `index` is stored in.
    #[must_use]
    pub fn batch_of(&self, index: usize) -> Option<&'c BatchHeader> {
        let given = self.given.get(index)?;
        Some(&self.group(given).header)
    }

    #[inline]
    fn group(&self, given: &Given) -> &'c Group {
        let Some(group) = self.groups.get(given.group as usize) else {
            unreachable!("a record is given with its batch")
        };
        group
    }

    #[inline]
    fn record(&self, given: &Given) -> Record<'c> {
        let group = self.group(given);
        given.parts.of(self.source(group), &group.facts)
    }

    /// Where the bytes of a batch's records lie.
    #[inline]
    fn source(&self, group: &Group) -> &'c [u8] {
        match group.batch_start {
            Some(start) => self.buffer.get(start..).unwrap_or_default(),
            None => self.inflated,
        }
    }
}

impl Log {
    /// A cursor at `start`. Whether the offset can be read shows at the first call.
    #[must_use]
    pub fn cursor(self: &Arc<Self>, start: Offset, options: CursorOptions) -> Cursor {
        let mut decoder = RecordDecoder::new();
        decoder.set_max_body_bytes(to_usize(u64::from(
            self.config().max_decompressed_message_bytes,
        )));
        if options.batch_bytes_max > 0 {
            decoder.bound_memory(options.batch_bytes_max);
        }
        Cursor {
            log: Arc::clone(self),
            options,
            wanted_from: start,
            next: start,
            buffer: Vec::new(),
            filled: 0,
            batch_at: 0,
            decoder,
            aborted: Aborted::default(),
            current: None,
            given: Vec::new(),
            groups: Vec::new(),
            given_again: 0,
            pending: None,
        }
    }
}

impl Cursor {
    /// Where the next call goes on: behind the last record given, or behind what was passed over after it.
    #[must_use]
    pub fn position(&self) -> Offset {
        self.given
            .get(self.given_again)
            .map_or(self.next, |again| again.parts.offset)
    }

    /// The log that it reads.
    #[must_use]
    pub fn log(&self) -> &Arc<Log> {
        &self.log
    }

    /// How far it reads.
    #[must_use]
    pub fn isolation(&self) -> Isolation {
        self.options.isolation
    }

    /// Whether it has read more than it has given: then the next call gives records, or the error of a batch, without a look
    /// at the log, unless none of what it has read is to be given.
    #[must_use]
    pub fn has_read_ahead(&self) -> bool {
        self.given_again < self.given.len()
            || self.current.is_some()
            || self.pending.is_some()
            || self.batch_at < self.filled
    }

    /// Goes on from `offset`. Whether it can be read shows at the next call.
    pub fn seek(&mut self, offset: Offset) {
        self.wanted_from = offset;
        self.next = offset;
        self.filled = 0;
        self.batch_at = 0;
        self.current = None;
        self.pending = None;
        self.given.clear();
        self.given_again = 0;
    }

    /// Takes back all but the first `used` records that the last call gave: the next call gives the others again.
    pub fn give_back(&mut self, used: usize) {
        let unused = self.given.len().saturating_sub(used);
        self.given_again = self.given.len() - unused;
    }

    /// What the last call of [`Self::next_records`] gave, for as long as that is lent.
    #[must_use]
    pub fn given_last(&self) -> RecordSlice<'_> {
        RecordSlice {
            given: self.given.get(..self.given_again).unwrap_or_default(),
            groups: &self.groups,
            buffer: &self.buffer,
            inflated: self.decoder.inflated(),
        }
    }

    /// Up to `max` records from the cursor's place on; none at the log end. They are lent until the next call. A batch
    /// that cannot be decoded gives its error once, after the records before it, and the next call goes on behind it.
    pub fn next_records(&mut self, max: usize) -> Result<RecordSlice<'_>> {
        if self.given_again < self.given.len() {
            self.given.drain(..self.given_again);
            let rest = self.given.get(..max).unwrap_or(&self.given);
            self.given_again = rest.len();
            return Ok(RecordSlice {
                given: rest,
                groups: &self.groups,
                buffer: &self.buffer,
                inflated: self.decoder.inflated(),
            });
        }
        self.given.clear();
        self.groups.clear();
        self.decoder.discard_consumed();
        if let Some(error) = self.pending.take() {
            return Err(error);
        }
        while self.given.len() < max && self.decoder.inflated().len() < INFLATED_BYTES_MAX {
            // What was given points into the buffer, so it is not read anew before the next call.
            let at_end_of_buffer = self.current.is_none() && self.batch_at >= self.filled;
            if at_end_of_buffer && (!self.given.is_empty() || !self.read_on()?) {
                break;
            }
            if let Err(error) = self.give(max) {
                if self.given.is_empty() {
                    return Err(error);
                }
                self.pending = Some(error);
                break;
            }
        }
        self.given_again = self.given.len();
        Ok(RecordSlice {
            given: &self.given,
            groups: &self.groups,
            buffer: &self.buffer,
            inflated: self.decoder.inflated(),
        })
    }

    /// Fills the buffer from the next offset on. Whether there was anything.
    fn read_on(&mut self) -> Result<bool> {
        let wanted = if self.options.read_bytes == 0 {
            self.buffer
                .len()
                .saturating_mul(4)
                .clamp(FIRST_READ_BYTES, DEFAULT_READ_BYTES)
        } else {
            self.options.read_bytes
        };
        self.grow_buffer(wanted)?;
        let options = ReadOptions {
            max_bytes: wanted,
            first_batch: FirstBatch::Always,
            isolation: self.options.isolation,
            ..ReadOptions::default()
        };
        let from = self.next;
        let (read, aborted) = loop {
            match self.log.read_with_aborted(from, &mut self.buffer, &options) {
                // Once, or again if the log was cut meanwhile and holds a larger batch there now.
                Err(e) if e.kind() == ErrorKind::BufferTooSmall => {
                    let needed = e.position().map_or(0, to_usize);
                    if needed <= self.buffer.len() {
                        return Err(e);
                    }
                    let limit = self.options.batch_bytes_max;
                    if limit > 0 && needed > limit {
                        return Err(Error::new(
                            ErrorKind::TooLarge,
                            format!("the batch at offset {from} has {needed} bytes, more than the {limit} that may be read at once"),
                        )
                        .at_offset(from));
                    }
                    self.grow_buffer(needed)?;
                }
                other => break other?,
            }
        };
        if self.options.isolation == Isolation::TxnCommitted {
            self.aborted = Aborted::new(aborted);
        }
        self.filled = read.bytes;
        self.batch_at = 0;
        if read.bytes == 0 {
            self.next = self.next.max(read.next_offset);
        }
        Ok(read.bytes > 0)
    }

    fn grow_buffer(&mut self, bytes: usize) -> Result<()> {
        let missing = bytes.saturating_sub(self.buffer.len());
        self.buffer.try_reserve(missing).map_err(|_| {
            Error::new(
                ErrorKind::NoMemory,
                format!("no memory to read {bytes} bytes"),
            )
        })?;
        self.buffer.resize(self.buffer.len() + missing, 0);
        Ok(())
    }

    /// Gives records of the batch that is half given, or of the next one in the buffer. After an error the place is
    /// behind that batch.
    fn give(&mut self, max: usize) -> Result<()> {
        let current = match self.current {
            Some(current) => current,
            None => match self.begin_batch()? {
                Some(current) => current,
                None => return Ok(()),
            },
        };
        self.current = None;
        self.next = self.next.max(current.next_offset);
        let batch = Batch::new(
            self.buffer
                .get(current.start..current.end)
                .unwrap_or_default(),
        )?;
        let batch_start = (!self.decoder.is_inflating()).then_some(current.start);
        let group = u32::try_from(self.groups.len()).unwrap_or(u32::MAX);
        self.groups.push(Group {
            header: *batch.header(),
            facts: *self.decoder.facts(),
            batch_start,
        });
        let (given, wanted_from) = (&mut self.given, self.wanted_from);
        self.decoder.give_plain(&batch, |parts| {
            if parts.offset >= wanted_from {
                given.push(Given { parts, group });
            }
            given.len() < max
        })?;
        loop {
            if self.given.len() >= max || self.decoder.inflated().len() >= INFLATED_BYTES_MAX {
                self.current = Some(current);
                self.next = self.given.last().map_or(current.next_offset, |last| {
                    last.parts
                        .offset
                        .next()
                        .clamp(self.wanted_from, current.next_offset)
                });
                return Ok(());
            }
            let Some(parts) = self.decoder.next_parts(&batch)? else {
                // Batches without a record that is wanted may come by the million before one that has some.
                if self.given.last().is_none_or(|last| last.group != group) {
                    self.groups.pop();
                }
                return Ok(());
            };
            if parts.offset >= self.wanted_from {
                self.given.push(Given { parts, group });
            } else if batch_start.is_none() && self.given.is_empty() {
                self.decoder.discard_consumed();
            }
        }
    }

    /// Takes up the next batch of the buffer; `None` if it holds no record that is wanted.
    fn begin_batch(&mut self) -> Result<Option<Current>> {
        let rest = self
            .buffer
            .get(self.batch_at..self.filled)
            .unwrap_or_default();
        let size = BatchHeader::parse(rest).map_or(rest.len(), |header| header.size_bytes as usize);
        let (start, end) = (self.batch_at, (self.batch_at + size).min(self.filled));
        self.batch_at = end;
        let batch = Batch::new(self.buffer.get(start..end).unwrap_or_default())?;
        let header = *batch.header();
        let next_offset = header.last_offset.saturating_next();
        self.wanted_from = self.wanted_from.max(self.next);
        self.next = self.next.max(next_offset);
        let is_hidden =
            header.attributes.is_control() && self.options.control_records == ControlRecords::Hide;
        let is_aborted = self.aborted.take_in(&batch);
        if is_hidden || is_aborted || header.last_offset < self.wanted_from {
            return Ok(None);
        }
        batch.ensure_valid()?;
        if header.magic > 2 {
            return Err(Error::invalid_record(format!(
                "the batch at offset {} has the unknown magic {}",
                header.base_offset, header.magic
            ))
            .at_offset(header.base_offset));
        }
        self.decoder
            .begin_behind(&batch)
            .map_err(|e| e.at_offset(header.base_offset))?;
        Ok(Some(Current {
            start,
            end,
            next_offset,
        }))
    }
}
