//! The two checksums of Kafka's files. Implements records.md 1.5.

use super::batch::BatchHeader;
use crate::error::{Error, Result};

/// The checksum of a batch of magic 2 covers its bytes from here on.
pub(super) const CRC_COVERS_FROM: usize = 21;
/// The checksum of a message of magic 0 or 1 covers its bytes from here on.
pub(super) const LEGACY_CRC_COVERS_FROM: usize = 16;

/// CRC-32C (Castagnoli): batches of magic 2 and producer snapshots.
#[must_use]
#[inline]
pub fn crc32c(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes)
}

/// [`crc32c()`] of bytes that go on behind others, whose sum is `before`; that of no bytes is 0.
#[must_use]
pub fn crc32c_append(before: u32, bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(before, bytes)
}

/// CRC-32 (IEEE): messages of magic 0 and 1, gzip members.
#[must_use]
#[inline]
pub fn crc32(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes)
}

/// The checksum of a batch that is not in memory as a whole: its bytes are given piece by piece.
pub struct BatchSum {
    header: BatchHeader,
    sum: Sum,
    /// How many of the bytes to come lie in front of what the checksum covers.
    skip: usize,
}

enum Sum {
    Castagnoli(u32),
    Ieee(crc32fast::Hasher),
}

impl BatchSum {
    /// For the batch with this header.
    #[must_use]
    pub fn new(header: &BatchHeader) -> Self {
        let (sum, skip) = if header.is_v2() {
            (Sum::Castagnoli(0), CRC_COVERS_FROM)
        } else {
            (Sum::Ieee(crc32fast::Hasher::new()), LEGACY_CRC_COVERS_FROM)
        };
        Self {
            header: *header,
            sum,
            skip,
        }
    }

    /// The next bytes.
    pub fn update(&mut self, piece: &[u8]) {
        let skipped = self.skip.min(piece.len());
        self.skip -= skipped;
        let covered = piece.get(skipped..).unwrap_or_default();
        match &mut self.sum {
            Sum::Castagnoli(sum) => *sum = crc32c::crc32c_append(*sum, covered),
            Sum::Ieee(hasher) => hasher.update(covered),
        }
    }

    /// Whether the sum of all bytes is the one stored.
    pub fn check(self) -> Result<()> {
        let computed = match self.sum {
            Sum::Castagnoli(sum) => sum,
            Sum::Ieee(hasher) => hasher.finalize(),
        };
        check(&self.header, computed)
    }
}

/// Compares a computed checksum with the one in the header.
pub(super) fn check(header: &BatchHeader, computed: u32) -> Result<()> {
    if computed == header.crc {
        return Ok(());
    }
    Err(Error::corrupt(format!(
        "the checksum of the batch at offset {} is {computed:08x}, stored is {:08x}",
        header.base_offset, header.crc
    ))
    .at_offset(header.base_offset))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_values_of_both_polynomials() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }
}
