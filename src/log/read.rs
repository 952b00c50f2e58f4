//! Reading batches as they are stored. Implements log.md 2.12 and 5.1-5.5.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::end::LogEnd;
use super::segments::SegmentList;
use super::{Log, committed};
use crate::error::{Error, ErrorKind, Result};
use crate::format::batch::{BatchHeader, Next, PREFIX_AND_MAGIC_BYTES, next_in_file};
use crate::format::txn_index::AbortedTxn;
use crate::segment::{BatchPosition, Segment};
use crate::types::{Offset, to_usize};

/// How much is read of a batch before it is known to be the one that is wanted, at most.
const AHEAD_BYTES_MAX: usize = 64 * 1024;

/// How to read.
#[derive(Clone, Copy, Debug)]
pub struct ReadOptions {
    /// At most so many bytes, but for the first batch.
    pub max_bytes: usize,
    /// Whether the first batch is wanted even if it is larger than `max_bytes`.
    pub first_batch: FirstBatch,
    /// How far may be read.
    pub isolation: Isolation,
    /// Where what is read ends.
    pub cut: ReadCut,
}

/// Where what is read ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ReadCut {
    /// Behind a batch.
    #[default]
    BehindBatch,
    /// Where `max_bytes` says, also inside a batch: what Kafka's log gives (log.md 2.12). A buffer that is too small for that
    /// is BUFFER_TOO_SMALL.
    AtMaxBytes,
}

/// How far a reader may read (state.md 9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Isolation {
    /// To the log end.
    #[default]
    LogEnd,
    /// To the high watermark.
    HighWatermark,
    /// To the last stable offset: transactions below it have ended. Those that were aborted are in what is read; the list of
    /// them comes with it.
    TxnCommitted,
}

/// What a limit on bytes means for the first batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum FirstBatch {
    /// It comes whole, so that a reader always gets on.
    #[default]
    Always,
    /// It comes only if it fits.
    IfItFits,
}

impl Default for ReadOptions {
    /// As much as the buffer holds, the first batch in any case.
    fn default() -> Self {
        Self {
            max_bytes: usize::MAX,
            first_batch: FirstBatch::Always,
            isolation: Isolation::LogEnd,
            cut: ReadCut::BehindBatch,
        }
    }
}

/// What a read gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadResult {
    /// Bytes of whole batches in the buffer.
    pub bytes: usize,
    /// How many batches.
    pub batches: u32,
    /// First offset of the first batch, which may be below the one asked for; that one if there is no batch.
    pub first_offset: Offset,
    /// Where to go on: behind the last batch, and never at or before the offset asked for if there was any.
    pub next_offset: Offset,
    /// The first offset that can be read.
    pub log_start_offset: Offset,
    /// Readers of committed data stop here.
    pub high_watermark: Offset,
    /// Readers of committed transactions stop here.
    pub last_stable_offset: Offset,
    /// The next offset to be assigned.
    pub log_end_offset: Offset,
    /// With [`Isolation::TxnCommitted`], the upper bound of the list of aborted transactions that goes with what was read
    /// ([`Log::aborted_txns`]); else, and if nothing may be read yet, -1: no transaction lies below it.
    pub aborted_upto: Offset,
    /// Base of the segment that the first byte lies in, -1 without bytes.
    pub segment_base_offset: Offset,
    /// Where the first byte lies in it.
    pub position: u64,
    /// Whether the first batch was left out because it is larger than `max_bytes`: Kafka's `firstEntryIncomplete`, which a
    /// read that gives it in any case never says.
    pub is_first_larger: bool,
}

impl ReadResult {
    /// How far a reader of this isolation could read then.
    #[must_use]
    pub fn readable_upto(&self, isolation: Isolation) -> Offset {
        match isolation {
            Isolation::LogEnd => self.log_end_offset,
            Isolation::HighWatermark => self.high_watermark,
            Isolation::TxnCommitted => self.last_stable_offset,
        }
    }
}

impl Log {
    /// Reads whole batches of one segment into `buffer`, from the one that holds `start` on. No data is no error.
    /// OFFSET_OUT_OF_RANGE below the log start and above the log end; BUFFER_TOO_SMALL, with the bytes needed as its
    /// position, if the first batch does not fit.
    pub fn read(
        &self,
        start: Offset,
        buffer: &mut [u8],
        options: &ReadOptions,
    ) -> Result<ReadResult> {
        let read = self.between_cuts(|| self.read_once(start, buffer, options, None))?;
        self.counters.gave(read.bytes);
        Ok(read)
    }

    /// As [`Self::read`], with the list of aborted transactions that goes with what was read, of the same moment, so that no
    /// aborted record is taken for a committed one: the list is empty unless the read is one of committed transactions.
    pub fn read_with_aborted(
        &self,
        start: Offset,
        buffer: &mut [u8],
        options: &ReadOptions,
    ) -> Result<(ReadResult, Vec<AbortedTxn>)> {
        let mut aborted = Vec::new();
        let read = self.between_cuts(|| {
            aborted.clear();
            self.read_once(start, buffer, options, Some(&mut aborted))
        })?;
        self.counters.gave(read.bytes);
        Ok((read, aborted))
    }

    /// Looks at the log, again and again until no cut came in between: what was seen may be from before and after it; and
    /// after one it is no wonder that bytes or files are missing. Nor that a file is which retention took meanwhile.
    /// Of a log that another process owns what that did is taken in first.
    pub(super) fn between_cuts<T>(&self, mut look: impl FnMut() -> Result<T>) -> Result<T> {
        let mut refreshes = 0;
        loop {
            let cuts = self.cuts.load(Ordering::SeqCst);
            let list = self.segments();
            let seen = look();
            let has_vanished = matches!(&seen, Err(e) if e.is_not_found())
                && !Arc::ptr_eq(&list, &self.segments());
            let is_whole = cuts.is_multiple_of(2) && self.cuts.load(Ordering::SeqCst) == cuts;
            if is_whole && !has_vanished {
                match seen {
                    Err(e) if self.finds_more(&e, &mut refreshes)? => {}
                    seen => return seen,
                }
            }
            std::hint::spin_loop();
        }
    }

    fn read_once(
        &self,
        start: Offset,
        buffer: &mut [u8],
        options: &ReadOptions,
        aborted: Option<&mut Vec<AbortedTxn>>,
    ) -> Result<ReadResult> {
        let (nothing, place) = self.locate_reading(start, options, buffer)?;
        let Some(place) = place else {
            return Ok(nothing);
        };
        let mut found = read_segment(&place, buffer, options, &nothing)?;
        if options.isolation == Isolation::TxnCommitted {
            let behind = found.position + found.bytes as u64;
            let Place { segments, end, .. } = &place;
            found.aborted_upto = committed::upper_bound(segments, &place.segment, behind, *end)?;
            if let Some(aborted) = aborted {
                *aborted = committed::overlapping(segments, start, found.aborted_upto)?;
            }
        }
        Ok(found)
    }

    /// Finds where a read begins; without a place the answer, which has no bytes, is complete.
    pub(super) fn locate(
        &self,
        start: Offset,
        options: &ReadOptions,
    ) -> Result<(ReadResult, Option<Place>)> {
        self.locate_reading(start, options, &mut [])
    }

    /// As [`Self::locate`]; where one read both finds the place and gives bytes from there on, `buffer` has those.
    fn locate_reading(
        &self,
        start: Offset,
        options: &ReadOptions,
        buffer: &mut [u8],
    ) -> Result<(ReadResult, Option<Place>)> {
        self.check_open()?;
        let (end, watermarks) = self.end.load_all();
        let log_start = self.start_offset();
        let segments = self.segments();
        // A log may start below its first segment (log.md 9.3); what lies between is no gap to step over.
        let is_below_all = segments
            .first()
            .is_some_and(|first| start < first.base_offset());
        if start < log_start || start > end.offset || is_below_all {
            return Err(Error::new(
                ErrorKind::OffsetOutOfRange,
                format!(
                    "offset {start} is outside of {log_start}..{} of the log {}",
                    end.offset, self.partition
                ),
            )
            .in_partition(self.partition.partition)
            .at_offset(start));
        }
        let upper = match options.isolation {
            Isolation::LogEnd => end.offset,
            Isolation::HighWatermark => watermarks.high_watermark,
            Isolation::TxnCommitted => watermarks.last_stable_offset(),
        };
        let nothing = ReadResult {
            bytes: 0,
            batches: 0,
            first_offset: start,
            next_offset: start,
            log_start_offset: log_start,
            high_watermark: watermarks.high_watermark,
            last_stable_offset: watermarks.last_stable_offset(),
            log_end_offset: end.offset,
            aborted_upto: Offset::NONE,
            segment_base_offset: Offset::NONE,
            position: 0,
            is_first_larger: false,
        };
        if start >= upper {
            let answer = nothing_at(start, nothing, end, &segments, options.cut)?;
            return Ok((answer, None));
        }
        let ahead = buffer.len().min(AHEAD_BYTES_MAX);
        let ahead = buffer.get_mut(..ahead).unwrap_or_default();
        for segment in segments.from_floor(start) {
            let is_above = segment.base_offset() >= upper;
            if is_above && options.cut == ReadCut::BehindBatch {
                break;
            }
            let complete = readable_bytes(segment, end);
            let readable = if is_above {
                0
            } else if upper == end.offset {
                complete
            } else {
                bytes_below(segment, upper, complete)?
            };
            // Kafka finds the batch first and asks then whether it may be read.
            let searched = match options.cut {
                ReadCut::AtMaxBytes => complete,
                ReadCut::BehindBatch => readable,
            };
            let found = segment.translate_reading(start, searched, ahead)?;
            let Some((first, held_bytes)) = found else {
                continue;
            };
            let place = Place {
                segment: Arc::clone(segment),
                first,
                held_bytes,
                readable,
                segments: Arc::clone(&segments),
                end,
            };
            return Ok((nothing, Some(place)));
        }
        // Everything from here to the bound was compacted away.
        let nothing = ReadResult {
            next_offset: upper,
            ..nothing
        };
        let answer = nothing_at(end.offset, nothing, end, &segments, options.cut)?;
        Ok((answer, None))
    }
}

/// Where a read begins, with what it saw of the log.
pub(super) struct Place {
    pub(super) segment: Arc<Segment>,
    /// The batch that holds the offset, or the next one.
    pub(super) first: BatchPosition,
    /// How many bytes from there on the buffer of the read has already.
    held_bytes: usize,
    /// How many bytes of the segment may be read.
    pub(super) readable: u64,
    segments: Arc<SegmentList>,
    end: LogEnd,
}

impl Place {
    /// Whether the first batch is too large to be given.
    pub(super) fn is_first_left_out(&self, options: &ReadOptions) -> bool {
        options.max_bytes < self.first.size_bytes as usize
            && options.first_batch == FirstBatch::IfItFits
    }

    /// The answer of a read from here that has no bytes yet.
    pub(super) fn answer(&self, options: &ReadOptions, nothing: &ReadResult) -> ReadResult {
        ReadResult {
            segment_base_offset: self.segment.base_offset(),
            position: self.first.position,
            // Who wants no bytes hears nothing of what they would be (log.md 2.12).
            is_first_larger: self.is_first_left_out(options) && options.max_bytes > 0,
            ..*nothing
        }
    }

    /// How many bytes are wanted from the first batch on.
    pub(super) fn wanted_bytes(&self, options: &ReadOptions) -> usize {
        let wanted = match options.first_batch {
            FirstBatch::Always => options.max_bytes.max(self.first.size_bytes as usize),
            FirstBatch::IfItFits => options.max_bytes,
        };
        wanted.min(to_usize(self.readable.saturating_sub(self.first.position)))
    }
}

/// An empty answer; in Kafka's form with the place where what is wanted begins, or will begin.
fn nothing_at(
    start: Offset,
    nothing: ReadResult,
    end: LogEnd,
    segments: &SegmentList,
    cut: ReadCut,
) -> Result<ReadResult> {
    if cut == ReadCut::BehindBatch {
        return Ok(nothing);
    }
    let mut place = (end.segment_base, end.position);
    if start < end.offset {
        for segment in segments.from_floor(start) {
            let complete = readable_bytes(segment, end);
            if let Some(position) = segment.position_of(start, complete)? {
                place = (segment.base_offset(), position);
                break;
            }
        }
    }
    Ok(ReadResult {
        segment_base_offset: place.0,
        position: place.1,
        ..nothing
    })
}

/// Reads bytes from the first batch on, those that are not there yet; how many are there then.
fn fill(place: &Place, buffer: &mut [u8]) -> Result<usize> {
    let held = place.held_bytes.min(buffer.len());
    match buffer.get_mut(held..) {
        Some(rest) if !rest.is_empty() => {
            let at = place.first.position + held as u64;
            Ok(held + place.segment.file().read_at(rest, at)?)
        }
        _ => Ok(held),
    }
}

/// How many bytes of a segment lie in front of the batch that holds `upper`, or of the first one behind it.
pub(super) fn bytes_below(segment: &Arc<Segment>, upper: Offset, complete: u64) -> Result<u64> {
    let bound = segment.position_of(upper, complete)?;
    Ok(bound.unwrap_or(complete))
}

/// How many bytes of a segment lie below a published end.
pub(super) fn readable_bytes(segment: &Segment, end: LogEnd) -> u64 {
    match segment.base_offset().cmp(&end.segment_base) {
        std::cmp::Ordering::Less => segment.size_bytes(),
        std::cmp::Ordering::Equal => end.position,
        std::cmp::Ordering::Greater => 0,
    }
}

/// Reads from a batch on.
fn read_segment(
    place: &Place,
    buffer: &mut [u8],
    options: &ReadOptions,
    nothing: &ReadResult,
) -> Result<ReadResult> {
    let Place { segment, first, .. } = place;
    let first_bytes = first.size_bytes as usize;
    let found = place.answer(options, nothing);
    if options.cut == ReadCut::AtMaxBytes {
        return read_slice(place, buffer, options, found);
    }
    if place.is_first_left_out(options) {
        return Ok(found);
    }
    if buffer.len() < first_bytes {
        return Err(Error::new(
            ErrorKind::BufferTooSmall,
            format!(
                "the batch at offset {} has {first_bytes} bytes, the buffer {}",
                first.base_offset,
                buffer.len()
            ),
        )
        .at_offset(first.base_offset)
        .at_position(u64::from(first.size_bytes)));
    }
    let wanted = place.wanted_bytes(options).min(buffer.len());
    let buffer = buffer.get_mut(..wanted).unwrap_or_default();
    let read = fill(place, buffer)?;
    let whole = whole_batches(buffer.get(..read).unwrap_or_default())?;
    if whole.batches == 0 {
        // The file is shorter than what was published: someone else cut it.
        return Err(Error::corrupt(format!(
            "segment {} ends inside the batch at position {}, {read} of {wanted} bytes could be read",
            segment.base_offset(),
            first.position
        ))
        .at_offset(first.base_offset)
        .at_position(first.position));
    }
    Ok(ReadResult {
        bytes: whole.bytes,
        batches: whole.batches,
        first_offset: first.base_offset,
        next_offset: whole.next_offset,
        ..found
    })
}

/// Reads exactly the bytes that Kafka's log gives, which may end inside a batch.
fn read_slice(
    place: &Place,
    buffer: &mut [u8],
    options: &ReadOptions,
    found: ReadResult,
) -> Result<ReadResult> {
    let first = &place.first;
    let wanted = place.wanted_bytes(options);
    if buffer.len() < wanted {
        return Err(Error::new(
            ErrorKind::BufferTooSmall,
            format!("the slice has {wanted} bytes, the buffer {}", buffer.len()),
        )
        .at_offset(first.base_offset)
        .at_position(wanted as u64));
    }
    let buffer = buffer.get_mut(..wanted).unwrap_or_default();
    let read = fill(place, buffer)?;
    // Its end may be no batch; what is damaged is found by who decodes it.
    let whole = whole_batches(buffer.get(..read).unwrap_or_default()).unwrap_or(Whole {
        bytes: 0,
        batches: 0,
        next_offset: Offset::ZERO,
    });
    let has_batch = whole.batches > 0;
    Ok(ReadResult {
        bytes: read,
        batches: whole.batches,
        first_offset: if has_batch {
            first.base_offset
        } else {
            found.first_offset
        },
        next_offset: if has_batch {
            whole.next_offset
        } else {
            found.next_offset
        },
        ..found
    })
}

struct Whole {
    bytes: usize,
    batches: u32,
    next_offset: Offset,
}

/// The whole batches at the front of `bytes`.
fn whole_batches(bytes: &[u8]) -> Result<Whole> {
    let mut whole = Whole {
        bytes: 0,
        batches: 0,
        next_offset: Offset::ZERO,
    };
    loop {
        let rest = bytes.get(whole.bytes..).unwrap_or_default();
        let Some(prefix) = rest.first_chunk::<PREFIX_AND_MAGIC_BYTES>() else {
            return Ok(whole);
        };
        match next_in_file(prefix, rest.len() as u64) {
            Ok(Next::Batch(size)) => {
                let Some(header) = rest.get(..size as usize).and_then(BatchHeader::parse) else {
                    return Ok(whole);
                };
                whole.bytes += size as usize;
                whole.batches += 1;
                // In a damaged log offsets may fall; going on where they fell to would lead here again.
                whole.next_offset = whole.next_offset.max(header.last_offset.saturating_next());
            }
            Ok(Next::End) => return Ok(whole),
            // Bytes that are no batch end the answer; the next read from there meets them first and says so.
            Err(_) if whole.batches > 0 => return Ok(whole),
            Err(e) => return Err(e),
        }
    }
}
