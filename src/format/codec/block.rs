//! The buffer for one decoded block of lz4 or snappy that cannot go straight to the output.

use super::buffer::{grow, reserve};
use crate::Result;

/// What a block buffer keeps between streams: the largest block of LZ4. Only a raw snappy block is larger.
const KEPT_BYTES: usize = 4 * 1024 * 1024;

/// One decoded block, given out from the front.
///
/// Invariant: `from <= to <= bytes.len()`; what was not given out yet lies between. Bytes behind `to` are left over
/// from earlier blocks, so that room is not filled with zeros again for each block.
#[derive(Debug, Default)]
pub(super) struct Block {
    bytes: Vec<u8>,
    from: usize,
    to: usize,
}

impl Block {
    /// Forgets what a stream before may have left.
    pub(super) fn begin(&mut self) {
        (self.from, self.to) = (0, 0);
        if self.bytes.capacity() > KEPT_BYTES {
            self.bytes = Vec::new();
        }
    }

    /// Lets `decode` fill a room of `size` bytes; it answers how many it wrote.
    pub(super) fn fill(
        &mut self,
        size: usize,
        decode: impl FnOnce(&mut [u8]) -> Result<usize>,
    ) -> Result<()> {
        (self.from, self.to) = (0, 0);
        if self.bytes.len() < size {
            let missing = size - self.bytes.len();
            grow(&mut self.bytes, missing)?;
        }
        let room = self.bytes.get_mut(..size).unwrap_or_default();
        self.to = decode(room)?.min(size);
        Ok(())
    }

    /// Appends up to `max` bytes to `out` and answers how many: 0 if nothing is left.
    pub(super) fn drain(&mut self, out: &mut Vec<u8>, max: usize) -> Result<usize> {
        let left = self.bytes.get(self.from..self.to).unwrap_or_default();
        let given = left.get(..max).unwrap_or(left);
        reserve(out, given.len())?;
        out.extend_from_slice(given);
        self.from += given.len();
        Ok(given.len())
    }

    /// What the buffer holds of memory.
    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.bytes.capacity()
    }
}
