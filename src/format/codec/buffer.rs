//! Buffers that grow without aborting when memory is short, and bytes taken from the front of an input.

use crate::{Error, ErrorKind, Result};

/// Makes room for `count` more bytes in `out`.
pub(super) fn reserve(out: &mut Vec<u8>, count: usize) -> Result<()> {
    out.try_reserve(count).map_err(|_| no_memory(count))
}

/// A failure to get `count` bytes of memory.
pub(super) fn no_memory(count: usize) -> Error {
    Error::new(
        ErrorKind::NoMemory,
        format!("no memory for {count} more bytes of records"),
    )
}

/// Appends `count` zeros to `out`, for a decoder to write over.
pub(super) fn grow(out: &mut Vec<u8>, count: usize) -> Result<&mut [u8]> {
    reserve(out, count)?;
    let start = out.len();
    out.resize(start + count, 0);
    Ok(out.get_mut(start..).unwrap_or_default())
}

/// How much room a decoder gets at a time that cannot tell the size of its output: too little costs further steps, too
/// much is filled with zeros for nothing.
pub(super) struct Pace {
    room: usize,
}

impl Pace {
    /// No step is larger, so that the output grows with what arrives.
    const MAX: usize = 64 * 1024;
    /// A small batch should take one step.
    const MIN: usize = 1024;
    /// A first guess at how far records shrink.
    const USUAL_RATIO: usize = 8;

    /// The pace for a stream of `compressed` bytes.
    pub(super) fn new(compressed: usize) -> Self {
        Self {
            room: compressed
                .saturating_mul(Self::USUAL_RATIO)
                .clamp(Self::MIN, Self::MAX),
        }
    }

    /// The room for the next step.
    pub(super) fn room(&self, max: usize) -> usize {
        self.room.min(max)
    }

    /// Takes notice of what a step yielded in the room it was given. The room shrinks too, so that streams of many
    /// small members or frames do not cost a large room for each.
    pub(super) fn stepped(&mut self, given: usize, produced: usize) {
        let next = if produced == given {
            self.room * 2
        } else {
            self.room / 2
        };
        self.room = next.clamp(Self::MIN, Self::MAX);
    }
}

/// Takes the first `count` bytes off `input`, if it has as many.
pub(super) fn take<'i>(input: &mut &'i [u8], count: usize) -> Option<&'i [u8]> {
    let (taken, rest) = input.split_at_checked(count)?;
    *input = rest;
    Some(taken)
}

/// Takes the first `N` bytes off `input`, if it has as many.
pub(super) fn take_array<const N: usize>(input: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = input.split_first_chunk()?;
    *input = rest;
    Some(*taken)
}
