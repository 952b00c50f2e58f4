//! Snappy in the framing of the xerial library. Implements records.md 5.3.
//!
//! ```text
//! 82 53 4e 41 50 50 59 00 | version | compatible version |   16 bytes, int32 big-endian
//! compressed length | one raw snappy block |                 for each chunk
//! ```
//!
//! A stream without that header is one raw snappy block as a whole: the same codec id, written by other clients.
//!
//! A block states its decompressed length in its first bytes. That is taken for true only as far as the compressed
//! bytes could make it.

use snap::raw::{Decoder, decompress_len, max_compress_len};

use super::block::Block;
use super::buffer::{grow, reserve, take, take_array};
use super::snappy_large::LargeBlock;
use super::{Codec, corrupt, too_large};
use crate::{Error, ErrorKind, Result};

const MAGIC: [u8; 8] = [0x82, b'S', b'N', b'A', b'P', b'P', b'Y', 0];

/// How a header in place of a chunk is told: the first bytes of the magic, which are no length.
const MAGIC_HEAD: [u8; 4] = [0x82, b'S', b'N', b'A'];

/// Version 1, compatible with version 1.
const HEADER: [u8; 16] = [
    0x82, b'S', b'N', b'A', b'P', b'P', b'Y', 0, 0, 0, 0, 1, 0, 0, 0, 1,
];

/// What a chunk holds at most, uncompressed.
const CHUNK: usize = 32 * 1024;

/// More than any element of a block yields for each of its bytes: a copy of 3 bytes yields 64.
const EXPANSION_MAX: usize = 22;

/// Compresses chunks; the scratch space holds one that is compressed.
#[derive(Default)]
pub(super) struct Encoder {
    encoder: Option<snap::raw::Encoder>,
    scratch: Vec<u8>,
}

impl Encoder {
    pub(super) fn encode(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<()> {
        if self.scratch.is_empty() {
            grow(&mut self.scratch, max_compress_len(CHUNK))?;
        }
        let encoder = self.encoder.get_or_insert_with(snap::raw::Encoder::new);
        reserve(out, HEADER.len())?;
        out.extend_from_slice(&HEADER);
        for chunk in input.chunks(CHUNK) {
            let length = encoder
                .compress(chunk, &mut self.scratch)
                .map_err(|e| bug(&e))?;
            let block = self.scratch.get(..length).unwrap_or_default();
            let field = u32::try_from(length).map_err(|e| bug(&e))?;
            reserve(out, 4 + length)?;
            out.extend_from_slice(&field.to_be_bytes());
            out.extend_from_slice(block);
        }
        Ok(())
    }
}

/// The scratch space fits every chunk.
fn bug(error: &dyn std::fmt::Display) -> Error {
    Error::new(
        ErrorKind::Bug,
        format!("snappy cannot compress a chunk: {error}"),
    )
}

/// Blocks above this are not held as a whole: what a buffer keeps between streams.
const HELD_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Where the reading of a stream stands.
pub(super) struct State {
    rest: Rest,
    /// The block that is being read, if it is a large one.
    large: Option<LargeBlock>,
}

/// What the rest of the input is.
enum Rest {
    /// One raw block.
    Raw,
    /// Chunks of the xerial framing.
    Chunks,
    /// Nothing.
    Ended,
}

impl State {
    pub(super) fn begin(input: &mut &[u8]) -> Result<Self> {
        if input.is_empty() {
            return Err(corrupt(Codec::Snappy, "it has no bytes"));
        }
        // Which versions the header states is not looked at here, only in later ones.
        let rest = match input.split_at_checked(HEADER.len()) {
            Some((header, rest)) if header.starts_with(&MAGIC) => {
                *input = rest;
                Rest::Chunks
            }
            _ => Rest::Raw,
        };
        Ok(Self { rest, large: None })
    }

    /// What it holds of memory.
    #[cfg(test)]
    pub(super) fn memory(&self) -> usize {
        self.large.as_ref().map_or(0, LargeBlock::capacity)
    }
}

/// Reads blocks one after another.
pub(super) struct Reader<'d, 'r, 'i> {
    block: &'d mut Block,
    state: &'d mut State,
    input: &'r mut &'i [u8],
}

impl<'d, 'r, 'i> Reader<'d, 'r, 'i> {
    pub(super) fn resume(
        block: &'d mut Block,
        state: &'d mut State,
        input: &'r mut &'i [u8],
    ) -> Self {
        Self {
            block,
            state,
            input,
        }
    }

    pub(super) fn read_into(
        &mut self,
        out: &mut Vec<u8>,
        max: usize,
        limit: usize,
    ) -> Result<usize> {
        loop {
            let given = self.block.drain(out, max)?;
            if given > 0 {
                return Ok(given);
            }
            if let Some(large) = &mut self.state.large {
                let given = large.read_into(self.input, out, max)?;
                if given > 0 {
                    return Ok(given);
                }
                self.state.large = None;
            }
            let before = *self.input;
            let Some(compressed) = self.next_block()? else {
                return Ok(0);
            };
            let length = decoded_length(compressed)?;
            if length > HELD_BYTES_MAX
                && let Some(large) = LargeBlock::begin(compressed, length)?
            {
                // Its bytes are read as they are needed.
                let unread = large.unread() + self.input.len();
                *self.input = before.get(before.len() - unread..).unwrap_or_default();
                self.state.large = Some(large);
                continue;
            }
            if length > limit {
                return Err(too_large(format_args!(
                    "a block of snappy has {length} bytes, above the limit of {limit}"
                )));
            }
            if length <= max {
                decode(compressed, grow(out, length)?)?;
                // Blocks may be empty; each turn consumes one.
                if length > 0 {
                    return Ok(length);
                }
            } else {
                self.block.fill(length, |room| decode(compressed, room))?;
            }
        }
    }

    /// The next compressed block, if there is one.
    fn next_block(&mut self) -> Result<Option<&'i [u8]>> {
        match self.state.rest {
            Rest::Raw => {
                self.state.rest = Rest::Ended;
                Ok(Some(std::mem::take(self.input)))
            }
            Rest::Chunks => self.next_chunk(),
            Rest::Ended => Ok(None),
        }
    }

    fn next_chunk(&mut self) -> Result<Option<&'i [u8]>> {
        loop {
            // Up to three stray bytes at the end are ignored.
            let Some(head) = take_array(self.input) else {
                self.state.rest = Rest::Ended;
                return Ok(None);
            };
            if head == MAGIC_HEAD {
                self.skip_header()?;
                continue;
            }
            let length = i32::from_be_bytes(head);
            return match usize::try_from(length)
                .ok()
                .and_then(|length| take(self.input, length))
            {
                Some(chunk) => Ok(Some(chunk)),
                None => Err(corrupt(
                    Codec::Snappy,
                    format_args!(
                        "a chunk of {length} bytes where {} are left",
                        self.input.len()
                    ),
                )),
            };
        }
    }

    /// Skips a header between chunks, where streams were put together. Unlike the first one's, its version counts.
    fn skip_header(&mut self) -> Result<()> {
        let [_, _, _, _, magic_tail @ ..] = MAGIC;
        match (
            take_array(self.input),
            take_array(self.input).map(i32::from_be_bytes),
        ) {
            (Some(tail), Some(1..)) if tail == magic_tail && take(self.input, 4).is_some() => {
                Ok(())
            }
            _ => Err(corrupt(
                Codec::Snappy,
                "a header between chunks is cut off or not of version 1 or later",
            )),
        }
    }
}

/// The decompressed length that a block states, if it can be.
fn decoded_length(compressed: &[u8]) -> Result<usize> {
    let stated = decompress_len(compressed).map_err(|error| corrupt(Codec::Snappy, error))?;
    if compressed.is_empty() || stated > compressed.len().saturating_mul(EXPANSION_MAX) {
        let size = compressed.len();
        return Err(corrupt(
            Codec::Snappy,
            format_args!("a block of {size} bytes that states {stated} decompressed"),
        ));
    }
    Ok(stated)
}

/// Decodes a block into `room`, which has its decompressed length.
fn decode(compressed: &[u8], room: &mut [u8]) -> Result<usize> {
    Decoder::new()
        .decompress(compressed, room)
        .map_err(|error| corrupt(Codec::Snappy, error))
}
