//! A walk over the batches of a file, reading ahead. Implements records.md 2.14, log.md 12.4-12.6.
//!
//! The walk knows no checksum and no order: it follows the size fields to the end that it was given. Memory is one
//! buffer; a batch that claims to be larger is looked at piece by piece.

use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};
use crate::format::batch::{
    Batch, BatchHeader, HEADER_BYTES, Next, PREFIX_AND_MAGIC_BYTES, next_in_file,
};
use crate::format::codec::Decompressor;
use crate::format::legacy;
use crate::io::File;
use crate::types::{Offset, to_usize};

/// The largest batch that the walk holds in memory without being asked to.
const CHUNK_BYTES: usize = 1024 * 1024;
/// How much is read at a time when only headers are wanted, at most.
pub(super) const HEADERS_CHUNK_BYTES: usize = 16 * 1024;
/// How much is read then at first: a look-up ends at one of the next headers, and batches are often larger than this.
const HEADERS_FIRST_BYTES: usize = 512;
/// By how much a read is larger than that before it where batches turn out to be small.
const HEADERS_GROWTH: usize = 4;

/// What is expected is read at once up to here.
const EXPECTED_BYTES_MAX: usize = 64 * 1024;

thread_local! {
    /// A buffer for the next look-up of this thread, which zeroes no new one then.
    static SPARE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// A batch that the walk met.
#[derive(Clone, Copy, Debug)]
pub struct Scanned {
    /// Where it begins in the file.
    pub position: u64,
    /// What its fixed part says.
    pub header: BatchHeader,
}

impl Scanned {
    /// Where it ends in the file.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.position + u64::from(self.header.size_bytes)
    }
}

/// How a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// At the end, or with a few bytes that are no batch: so many are left.
    Rest(u64),
    /// At a size field that no batch can have.
    Bad,
}

/// Walks over the batches of a file from a position to an end.
pub struct BatchScan {
    file: Arc<dyn File>,
    position: u64,
    end: u64,
    chunk_bytes: usize,
    /// What `chunk_bytes` grows to while headers lie close to each other.
    max_chunk_bytes: usize,
    /// Its first `held` bytes are those of the file from `buffer_at` on; what is behind was zeroed once and is reused.
    buffer: Vec<u8>,
    buffer_at: u64,
    held: usize,
}

impl BatchScan {
    /// A walk for which whole batches are wanted.
    #[must_use]
    pub fn new(file: Arc<dyn File>, range: Range<u64>) -> Self {
        Self::reading(file, range, CHUNK_BYTES)
    }

    /// A walk for which only the headers are wanted: it reads less ahead, and next to nothing of large batches.
    #[must_use]
    pub fn headers(file: Arc<dyn File>, range: Range<u64>) -> Self {
        let mut scan = Self::reading(file, range, HEADERS_FIRST_BYTES);
        scan.max_chunk_bytes = HEADERS_CHUNK_BYTES;
        scan
    }

    /// The same, of which about so many bytes will be looked at: as far as that is not much they are read at once.
    #[must_use]
    pub fn expecting(mut self, bytes: u64) -> Self {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        if bytes <= EXPECTED_BYTES_MAX {
            self.chunk_bytes = self.chunk_bytes.max(bytes);
        }
        self
    }

    /// A walk that reads so many bytes at a time.
    #[must_use]
    pub fn reading(file: Arc<dyn File>, range: Range<u64>, chunk_bytes: usize) -> Self {
        Self {
            file,
            position: range.start,
            end: range.end,
            chunk_bytes,
            max_chunk_bytes: chunk_bytes,
            buffer: Vec::new(),
            buffer_at: range.start,
            held: 0,
        }
    }

    /// Where the next batch is looked for.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Bytes between the place of the next batch and the end.
    #[must_use]
    pub fn rest_bytes(&self) -> u64 {
        self.end.saturating_sub(self.position)
    }

    /// The next batch; `None` at the end or where less than a batch is left. A size field below 14 is CORRUPT_MESSAGE
    /// with its position; so is a batch too short for the format that its magic tells.
    pub fn next_batch(&mut self) -> Result<Option<Scanned>> {
        // 17 bytes or fewer at the end are not even looked at (records.md 2.14).
        if self.rest_bytes() <= PREFIX_AND_MAGIC_BYTES as u64 {
            return Ok(None);
        }
        let position = self.position;
        let rest = self.rest_bytes();
        let head = self.bytes_at(position, to_usize(rest).min(HEADER_BYTES))?;
        let Some(header) = header_at(head, position, rest)? else {
            return Ok(None);
        };
        self.position += u64::from(header.size_bytes);
        Ok(Some(Scanned { position, header }))
    }

    /// Goes back to a batch that was given last.
    pub(super) fn back_to(&mut self, scanned: &Scanned) {
        self.position = scanned.position;
    }

    /// All bytes of a batch that [`Self::next_batch`] gave last.
    pub fn bytes_of(&mut self, scanned: &Scanned) -> Result<Batch<'_>> {
        let position = scanned.position;
        let bytes = self.bytes_at(position, scanned.header.size_bytes as usize)?;
        if bytes.len() < scanned.header.size_bytes as usize {
            return Err(Error::corrupt("the file ends inside a batch").at_position(position));
        }
        Batch::new(bytes).map_err(|e| e.at_position(position))
    }

    /// Checks the checksum of a batch that [`Self::next_batch`] gave last, without holding more of it than a chunk.
    pub fn ensure_valid(&mut self, scanned: &Scanned) -> Result<()> {
        let size = scanned.header.size_bytes as usize;
        if size <= self.chunk_bytes.max(CHUNK_BYTES) {
            return self
                .bytes_of(scanned)?
                .ensure_valid()
                .map_err(|e| e.at_position(scanned.position));
        }
        let mut sum = crate::format::crc::BatchSum::new(&scanned.header);
        let mut at = 0;
        while at < size {
            let n = (size - at).min(CHUNK_BYTES);
            let piece = self.bytes_at(scanned.position + at as u64, n)?;
            if piece.len() < n {
                return Err(
                    Error::corrupt("the file ends inside a batch").at_position(scanned.position)
                );
            }
            sum.update(piece);
            at += n;
        }
        sum.check().map_err(|e| e.at_position(scanned.position))
    }

    /// The next batch, which must have a good checksum and offsets from `expected` on; else CORRUPT_MESSAGE.
    pub fn next_valid(&mut self, expected: Offset) -> Result<Option<Scanned>> {
        let Some(scanned) = self.next_batch()? else {
            return Ok(None);
        };
        self.ensure_valid(&scanned)?;
        let header = &scanned.header;
        if !header.follows(expected) {
            return Err(Error::corrupt(format!(
                "the batch at position {} has the offsets {}..{}, expected was {expected} or more",
                scanned.position, header.base_offset, header.last_offset
            ))
            .at_position(scanned.position));
        }
        Ok(Some(scanned))
    }

    /// Walks to the end over batches with good checksums and offsets that rise from `expected` on. The offset behind the
    /// last one; or what is wrong, bytes that are no whole batch among it.
    pub fn end_of_valid(
        &mut self,
        mut expected: Offset,
    ) -> Result<std::result::Result<Offset, String>> {
        loop {
            match self.next_valid(expected) {
                Ok(Some(scanned)) => expected = scanned.header.last_offset.next(),
                Ok(None) => return Ok(self.trailing().map_or(Ok(expected), Err)),
                Err(e) if e.is_corrupt_data() => return Ok(Err(e.to_string())),
                Err(e) => return Err(e),
            }
        }
    }

    /// First offset of a batch that [`Self::next_batch`] gave last; a wrapper of an old format tells it only from inside.
    pub fn base_offset_of(&mut self, scanned: &Scanned) -> Result<Offset> {
        if scanned.header.is_v2() || !scanned.header.attributes.is_compressed() {
            return Ok(scanned.header.base_offset);
        }
        legacy::base_offset(&self.bytes_of(scanned)?, &mut Decompressor::new())
    }

    /// What lies behind the last whole batch, if anything does.
    #[must_use]
    pub fn trailing(&self) -> Option<String> {
        let rest = self.rest_bytes();
        (rest > 0).then(|| {
            format!(
                "{rest} bytes behind the last whole batch, at position {}",
                self.position()
            )
        })
    }

    /// `len` bytes at `position`, fewer only if the file ends before them.
    #[inline]
    fn bytes_at(&mut self, position: u64, len: usize) -> Result<&[u8]> {
        if position < self.buffer_at || position + len as u64 > self.buffer_at + self.held as u64 {
            self.fill(position, len)?;
        }
        let held = self.buffer.get(..self.held).unwrap_or_default();
        let rest = held
            .get(to_usize(position - self.buffer_at)..)
            .unwrap_or_default();
        Ok(rest.get(..len).unwrap_or(rest))
    }

    /// Reads a chunk that begins at `position`, keeping what is there of it already.
    fn fill(&mut self, position: u64, len: usize) -> Result<()> {
        let kept_from = position
            .checked_sub(self.buffer_at)
            .map(to_usize)
            .filter(|&from| from < self.held);
        let kept = match kept_from {
            Some(from) => {
                self.buffer.copy_within(from..self.held, 0);
                self.held - from
            }
            None => 0,
        };
        let is_near = position <= self.buffer_at + 2 * self.held as u64;
        if is_near && self.held > 0 {
            self.chunk_bytes = self
                .chunk_bytes
                .saturating_mul(HEADERS_GROWTH)
                .min(self.max_chunk_bytes);
        }
        self.buffer_at = position;
        self.held = kept;
        let room = to_usize(self.end.saturating_sub(position));
        let target = len.max(self.chunk_bytes).min(room);
        if target <= kept {
            return Ok(());
        }
        if self.buffer.is_empty() && target <= EXPECTED_BYTES_MAX {
            self.buffer = SPARE.try_with(Cell::take).unwrap_or_default();
        }
        if self.buffer.len() < target {
            self.buffer
                .try_reserve(target - self.buffer.len())
                .map_err(|_| {
                    Error::new(
                        ErrorKind::NoMemory,
                        format!("no memory for a batch of {len} bytes"),
                    )
                })?;
            self.buffer.resize(target, 0);
        }
        if let Some(free) = self.buffer.get_mut(kept..target) {
            self.held = kept + self.file.read_at(free, position + kept as u64)?;
        }
        Ok(())
    }
}

impl Drop for BatchScan {
    fn drop(&mut self) {
        let buffer = std::mem::take(&mut self.buffer);
        if (1..=EXPECTED_BYTES_MAX).contains(&buffer.len()) {
            // At the end of a thread there may be none any more.
            let _ = SPARE.try_with(|spare| spare.set(buffer));
        }
    }
}

/// The header of the batch that begins with `head`, at `position` with `rest` bytes to the end; `None` if it ends behind that.
pub(super) fn header_at(head: &[u8], position: u64, rest: u64) -> Result<Option<BatchHeader>> {
    let Some(prefix) = head.first_chunk::<PREFIX_AND_MAGIC_BYTES>() else {
        return Err(
            Error::corrupt("the file ends inside the header of a batch").at_position(position)
        );
    };
    let size = match next_in_file(prefix, rest).map_err(|e| e.at_position(position))? {
        Next::Batch(size) => size,
        Next::End => return Ok(None),
    };
    let fixed = head
        .get(..head.len().min(size as usize))
        .unwrap_or_default();
    let header = BatchHeader::parse(fixed).ok_or_else(|| {
        Error::corrupt(format!(
            "the batch at position {position} has {size} bytes, too few for its format"
        ))
        .at_position(position)
    })?;
    Ok(Some(header))
}
