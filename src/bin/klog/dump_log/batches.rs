//! The batches of a log file as Kafka's file reader walks over them: by their sizes, looking at nothing else.

use super::file_name::FileName;
use super::source::Source;
use super::stop::{Result, Thrown};

/// Offset and size.
pub(crate) const PREFIX_BYTES: usize = 12;
/// Prefix, and what follows up to the magic.
const FRONT_BYTES: usize = 17;
const MIN_SIZE: i32 = 14;
/// The header of magic 2.
pub(crate) const V2_HEADER_BYTES: usize = 61;

/// Where a batch is, and what its first bytes say.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BatchAt {
    pub(crate) position: u64,
    pub(crate) offset: i64,
    /// All bytes of the batch.
    pub(crate) size: u64,
    pub(crate) magic: i8,
}

/// A walk over a stretch of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Walk {
    position: u64,
    end: u64,
}

impl Walk {
    pub(crate) fn new(position: u64, end: u64) -> Self {
        Self { position, end }
    }

    /// Where the next batch begins.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// The next batch; `None` where less than a whole one is left.
    pub(crate) fn next(&mut self, source: &mut Source, name: &FileName) -> Result<Option<BatchAt>> {
        if self.position + (FRONT_BYTES as u64) >= self.end {
            return Ok(None);
        }
        let front = source.at(self.position, FRONT_BYTES)?;
        let front: [u8; FRONT_BYTES] = front.try_into().map_err(|_| {
            Thrown::corrupt_record("Unexpected EOF while attempting to read the next batch")
        })?;
        let size = i32_at(&front, 8).unwrap_or_default();
        if size < MIN_SIZE {
            return Err(Thrown::corrupt_record(format!(
                "Found record size {size} smaller than minimum record overhead ({MIN_SIZE}) in file {name}."
            ))
            .into());
        }
        let size = u64::from(size.unsigned_abs()) + PREFIX_BYTES as u64;
        if self.position + size > self.end {
            return Ok(None);
        }
        let batch = BatchAt {
            position: self.position,
            offset: i64_at(&front, 0).unwrap_or_default(),
            size,
            magic: front[16].cast_signed(),
        };
        self.position += size;
        Ok(Some(batch))
    }
}

impl BatchAt {
    /// The first `n` bytes, which may reach behind the batch, but not behind the file.
    pub(crate) fn header<'s>(
        &self,
        source: &'s mut Source,
        name: &FileName,
        n: usize,
    ) -> Result<&'s [u8]> {
        let bytes = source.at(self.position, n)?;
        if bytes.len() < n {
            return Err(Thrown::kafka(format!(
                "Failed to load record batch at position {} from FileRecords(size={}, file={name}, start=0, end=2147483647)",
                self.position,
                self.size,
            ))
            .into());
        }
        Ok(bytes)
    }

    /// The last offset.
    pub(crate) fn last_offset(&self, source: &mut Source, name: &FileName) -> Result<i64> {
        if self.magic < 2 {
            return Ok(self.offset);
        }
        let header = self.header(source, name, V2_HEADER_BYTES)?;
        let delta = i32_at(header, 23).unwrap_or_default();
        Ok(self.offset.wrapping_add(delta.into()))
    }
}

pub(crate) fn i16_at(bytes: &[u8], at: usize) -> Option<i16> {
    Some(i16::from_be_bytes(array_at(bytes, at)?))
}

pub(crate) fn i32_at(bytes: &[u8], at: usize) -> Option<i32> {
    Some(i32::from_be_bytes(array_at(bytes, at)?))
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(array_at(bytes, at)?))
}

pub(crate) fn i64_at(bytes: &[u8], at: usize) -> Option<i64> {
    Some(i64::from_be_bytes(array_at(bytes, at)?))
}

fn array_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}
