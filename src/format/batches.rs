//! Batches that follow each other in memory: what a read gave, or a broker sent. Implements c-abi.md 3.2.8.

use super::batch::{Batch, BatchHeader, Next, PREFIX_AND_MAGIC_BYTES, next_in_file};
use crate::error::{Error, Result};

/// A walk over whole batches. Each is checked before it is given: its size, that its magic is known, its checksum.
///
/// ```
/// # use klog::format::batches::Batches;
/// # use klog::format::builder::{BatchBuilder, BatchOptions};
/// # use klog::format::decoder::RecordDecoder;
/// # use klog::types::TimestampMs;
/// # fn main() -> klog::Result<()> {
/// let mut builder = BatchBuilder::new();
/// builder.push(TimestampMs(1), Some(b"k"), Some(b"v"), [].into_iter())?;
/// let bytes = builder.finish(&BatchOptions::default())?;
///
/// let mut decoder = RecordDecoder::new();
/// let mut batches = Batches::new(bytes);
/// while let Some(batch) = batches.next_batch()? {
///     decoder.begin(&batch)?;
///     while let Some(record) = decoder.next(&batch)? {
///         assert_eq!(record.key, Some(&b"k"[..]));
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Batches<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Batches<'a> {
    /// Over `bytes`, which begin with a batch. What is left behind the last whole one is not looked at.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// How many bytes the batches given so far have.
    #[must_use]
    pub fn position(&self) -> usize {
        self.at
    }

    /// The next batch; `None` if less than a whole one is left. CORRUPT_MESSAGE or INVALID_RECORD with its position for one
    /// that is damaged or of an unknown magic; the walk stays in front of it.
    pub fn next_batch(&mut self) -> Result<Option<Batch<'a>>> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let Some(batch) = first_batch(rest).map_err(|e| e.at_position(self.at as u64))? else {
            return Ok(None);
        };
        self.at += batch.bytes().len();
        Ok(Some(batch))
    }
}

fn first_batch(bytes: &[u8]) -> Result<Option<Batch<'_>>> {
    let Some(prefix) = bytes.first_chunk::<PREFIX_AND_MAGIC_BYTES>() else {
        return Ok(None);
    };
    let Next::Batch(size) = next_in_file(prefix, bytes.len() as u64)? else {
        return Ok(None);
    };
    let whole = bytes.get(..size as usize).unwrap_or_default();
    let header = BatchHeader::parse(whole);
    let located = |error: Error| match &header {
        Some(header) => error.at_offset(header.base_offset),
        None => error,
    };
    let batch = Batch::new(whole).map_err(located)?;
    let header = batch.header();
    batch
        .ensure_valid()
        .map_err(|e| e.at_offset(header.base_offset))?;
    // Any magic above 2 is read with the layout of 2, but nobody knows what its records are.
    if header.magic > 2 {
        return Err(Error::invalid_record(format!(
            "the batch at offset {} has the unknown magic {}",
            header.base_offset, header.magic
        ))
        .at_offset(header.base_offset));
    }
    Ok(Some(batch))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::format::builder::{BatchBuilder, BatchOptions};
    use crate::types::{Offset, TimestampMs};

    fn batches() -> Vec<u8> {
        let mut builder = BatchBuilder::new();
        let mut bytes = Vec::new();
        for offset in 0..3 {
            builder.clear();
            builder
                .push(TimestampMs(1), None, Some(b"value"), [].into_iter())
                .unwrap();
            let options = BatchOptions {
                base_offset: Offset(offset),
                ..BatchOptions::default()
            };
            bytes.extend_from_slice(builder.finish(&options).unwrap());
        }
        bytes
    }

    #[test]
    fn whole_batches_are_given_and_the_rest_is_left() {
        let bytes = batches();
        let one = bytes.len() / 3;
        for len in 0..=bytes.len() {
            let mut walk = Batches::new(&bytes[..len]);
            let mut count = 0;
            while let Some(batch) = walk.next_batch().unwrap() {
                assert_eq!(batch.header().base_offset.0, count);
                count += 1;
            }
            assert_eq!(walk.position(), len / one * one);
        }
    }

    #[test]
    fn what_is_damaged_is_told_with_its_place_and_not_passed_over() {
        let mut bytes = batches();
        let one = bytes.len() / 3;
        bytes[one + 60] ^= 1;
        let mut walk = Batches::new(&bytes);
        assert!(walk.next_batch().unwrap().is_some());
        for _ in 0..2 {
            let error = walk.next_batch().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::CorruptMessage);
            assert_eq!(error.position(), Some(one as u64));
            assert_eq!(error.offset(), Some(1));
        }
        assert_eq!(walk.position(), one);
    }
}
