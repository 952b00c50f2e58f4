//! The LZ4 frame format, as far as Kafka knows it. Implements records.md 4.7, 5.4 and the lz4 levels of 5.6.
//!
//! ```text
//! 04 22 4d 18 | FLG | BD | [content size, 8] | header checksum |
//! size, bit 31: stored | block | [block checksum, 4]           |   for each block, little-endian
//! end mark 0 | [content checksum, 4]                           |
//! ```
//!
//! A frame is read here and not by a crate, since Kafka is laxer in some points (content size and checksum are not
//! verified, what follows a frame is ignored) and stricter in others (no dependent blocks). Blocks are independent of
//! one another and no larger than the frame's BD byte allows, so a block is decoded in one call.

use lz4_flex::block::{
    CompressTable, compress_into_with_table, decompress_into, get_maximum_output_size,
};
use twox_hash::XxHash32;

use super::block::Block;
use super::buffer::{grow, no_memory, reserve, take, take_array};
use super::{Codec, Lz4Header, corrupt};
use crate::{Error, ErrorKind, Result};

const MAGIC: [u8; 4] = [0x04, 0x22, 0x4d, 0x18];

/// Version 1, independent blocks, no checksums, no content size.
const WRITTEN_FLG: u8 = 0x60;
/// Blocks of up to 64 KiB.
const WRITTEN_BD: u8 = 0x40;
const WRITTEN_BLOCK: usize = 64 * 1024;

const FLG_VERSION: u8 = 0b1100_0000;
const FLG_VERSION_1: u8 = 0b0100_0000;
const FLG_INDEPENDENT: u8 = 0b0010_0000;
const FLG_BLOCK_CHECKSUM: u8 = 0b0001_0000;
const FLG_CONTENT_SIZE: u8 = 0b0000_1000;
const FLG_CONTENT_CHECKSUM: u8 = 0b0000_0100;
/// A reserved bit, and the one of a dictionary id, which Kafka takes for reserved.
const FLG_RESERVED: u8 = 0b0000_0011;

const BD_RESERVED: u8 = 0b1000_1111;

/// In a block's size field: the block is stored as it is.
const STORED: u32 = 0x8000_0000;
const END_MARK: [u8; 4] = [0; 4];

/// What a byte of a compressed block yields at most.
const EXPANSION_MAX: usize = 255;

/// The level that means the fast compressor.
const FAST_LEVEL: i32 = 9;
/// Kafka's range of levels, the fast one included.
const LEVELS: (i32, i32) = (1, 17);

/// Blocks from this size on need hash tables of wider positions.
const LARGE_BLOCK: usize = 65535;

/// Compresses blocks; the scratch space holds one that is compressed.
#[derive(Default)]
pub(super) struct Encoder {
    small: Option<CompressTable>,
    large: Option<CompressTable>,
    scratch: Vec<u8>,
}

impl Encoder {
    pub(super) fn encode(
        &mut self,
        level: Option<i32>,
        header: Lz4Header,
        input: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<()> {
        if self.scratch.is_empty() {
            grow(&mut self.scratch, get_maximum_output_size(WRITTEN_BLOCK))?;
        }
        let descriptor = [WRITTEN_FLG, WRITTEN_BD];
        reserve(out, MAGIC.len() + descriptor.len() + 1)?;
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&descriptor);
        out.push(match header {
            Lz4Header::Checked => header_checksum(&descriptor),
            Lz4Header::LegacyUnchecked => header_checksum(&[&MAGIC[..], &descriptor].concat()),
        });
        for block in input.chunks(WRITTEN_BLOCK) {
            let length = self.compress_block(level, block)?;
            let (stored, body) = match self.scratch.get(..length) {
                Some(compressed) if length < block.len() => (0, compressed),
                _ => (STORED, block),
            };
            let field = u32::try_from(body.len()).map_err(|e| bug(&e))? | stored;
            reserve(out, 4 + body.len())?;
            out.extend_from_slice(&field.to_le_bytes());
            out.extend_from_slice(body);
        }
        reserve(out, END_MARK.len())?;
        out.extend_from_slice(&END_MARK);
        Ok(())
    }

    /// Compresses one block into the scratch space, which fits it at its worst; answers its length there.
    fn compress_block(&mut self, level: Option<i32>, block: &[u8]) -> Result<usize> {
        let level = level.unwrap_or(FAST_LEVEL).clamp(LEVELS.0, LEVELS.1);
        if level != FAST_LEVEL {
            let mode = lz4::block::CompressionMode::HIGHCOMPRESSION(level);
            // In a scratch space that fits, only getting the library's own tables can fail.
            return lz4::block::compress_to_buffer(block, Some(mode), false, &mut self.scratch)
                .map_err(|_| no_memory(block.len()));
        }
        let table = if block.len() < LARGE_BLOCK {
            self.small.get_or_insert_with(CompressTable::small)
        } else {
            self.large.get_or_insert_with(CompressTable::large)
        };
        compress_into_with_table(block, &mut self.scratch, table).map_err(|e| bug(&e))
    }
}

/// The scratch space fits every block.
fn bug(error: &dyn std::fmt::Display) -> Error {
    Error::new(
        ErrorKind::Bug,
        format!("lz4 cannot compress a block: {error}"),
    )
}

#[allow(clippy::cast_possible_truncation)] // the second lowest byte is what counts
fn header_checksum(descriptor: &[u8]) -> u8 {
    (XxHash32::oneshot(0, descriptor) >> 8) as u8
}

/// Where the reading of a frame stands.
pub(super) struct State {
    /// How much of the current block is at the front of the input, if it is stored.
    stored: usize,
    /// Bytes behind a stored block that were looked at already.
    stored_tail: usize,
    block_max: usize,
    block_checksum: bool,
    content_checksum: bool,
    ended: bool,
}

impl State {
    /// Reads the frame header.
    pub(super) fn begin(header: Lz4Header, input: &mut &[u8]) -> Result<Self> {
        let mut rest = *input;
        let cut = || corrupt(Codec::Lz4, "the frame header is cut off");
        let magic: [u8; 4] = take_array(&mut rest).ok_or_else(cut)?;
        if magic != MAGIC {
            let [a, b, c, d] = magic;
            return Err(corrupt(
                Codec::Lz4,
                format_args!("it begins with {a:02x} {b:02x} {c:02x} {d:02x}"),
            ));
        }
        let descriptor = rest;
        let [flg, bd] = take_array(&mut rest).ok_or_else(cut)?;
        let block_max = check_descriptor(flg, bd)?;
        if flg & FLG_CONTENT_SIZE != 0 {
            // Not compared with anything.
            take(&mut rest, 8).ok_or_else(cut)?;
        }
        let descriptor = descriptor
            .get(..descriptor.len() - rest.len())
            .unwrap_or_default();
        let [checksum] = take_array(&mut rest).ok_or_else(cut)?;
        let found = header_checksum(descriptor);
        if header == Lz4Header::Checked && checksum != found {
            let problem =
                format_args!("header checksum {found:#04x} where the frame says {checksum:#04x}");
            return Err(corrupt(Codec::Lz4, problem));
        }
        *input = rest;
        Ok(Self {
            stored: 0,
            stored_tail: 0,
            block_max,
            block_checksum: flg & FLG_BLOCK_CHECKSUM != 0,
            content_checksum: flg & FLG_CONTENT_CHECKSUM != 0,
            ended: false,
        })
    }
}

/// Reads the blocks of one frame.
pub(super) struct Reader<'d, 'r, 'i> {
    /// What is left of the current block, if it was compressed.
    block: &'d mut Block,
    state: &'d mut State,
    /// What was not read yet.
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

    pub(super) fn read_into(&mut self, out: &mut Vec<u8>, max: usize) -> Result<usize> {
        loop {
            let given = self.block.drain(out, max)? + self.drain_stored(out, max)?;
            if given > 0 || self.state.ended {
                return Ok(given);
            }
            // Blocks may be empty; each turn consumes one.
            self.next_block()?;
        }
    }

    fn drain_stored(&mut self, out: &mut Vec<u8>, max: usize) -> Result<usize> {
        let given = take(self.input, max.min(self.state.stored)).unwrap_or_default();
        reserve(out, given.len())?;
        out.extend_from_slice(given);
        self.state.stored -= given.len();
        if self.state.stored == 0 {
            take(self.input, std::mem::take(&mut self.state.stored_tail));
        }
        Ok(given.len())
    }

    /// Takes in the next block, or the end of the frame.
    fn next_block(&mut self) -> Result<()> {
        let Some(field) = take_array(self.input).map(u32::from_le_bytes) else {
            return Err(corrupt(Codec::Lz4, "the frame has no end mark"));
        };
        let size = field & !STORED;
        if size == 0 {
            return self.end_frame();
        }
        let Some(size) = usize::try_from(size)
            .ok()
            .filter(|&size| size <= self.state.block_max)
        else {
            let problem = format_args!(
                "a block of {size} bytes in a frame of blocks up to {}",
                self.state.block_max
            );
            return Err(corrupt(Codec::Lz4, problem));
        };
        let mut rest = *self.input;
        let Some(bytes) = take(&mut rest, size) else {
            let problem = format_args!(
                "a block of {size} bytes where {} are left",
                self.input.len()
            );
            return Err(corrupt(Codec::Lz4, problem));
        };
        if self.state.block_checksum {
            check_block(bytes, &mut rest)?;
        }
        if field & STORED != 0 {
            self.state.stored = size;
            self.state.stored_tail = self.input.len() - size - rest.len();
            return Ok(());
        }
        *self.input = rest;
        // Decoded beside `out`, since zeroing there what the block might need costs as much as copying what it has.
        // The frame's maximum is only a claim: a short block cannot fill it.
        let room = self.state.block_max.min(size.saturating_mul(EXPANSION_MAX));
        self.block.fill(room, |room| {
            decompress_into(bytes, room)
                .map_err(|error| corrupt(Codec::Lz4, format_args!("{error}, in a block")))
        })
    }

    /// The content checksum has to be there, but Kafka never compared it. What follows is not looked at.
    fn end_frame(&mut self) -> Result<()> {
        if self.state.content_checksum && take(self.input, 4).is_none() {
            return Err(corrupt(Codec::Lz4, "the content checksum is cut off"));
        }
        self.state.ended = true;
        Ok(())
    }
}

/// Takes the checksum of a block off the input and compares it.
fn check_block(bytes: &[u8], rest: &mut &[u8]) -> Result<()> {
    let Some(checksum) = take_array(rest).map(u32::from_le_bytes) else {
        return Err(corrupt(Codec::Lz4, "a block checksum is cut off"));
    };
    let found = XxHash32::oneshot(0, bytes);
    if checksum != found {
        let problem =
            format_args!("block checksum {found:#010x} where the frame says {checksum:#010x}");
        return Err(corrupt(Codec::Lz4, problem));
    }
    Ok(())
}

/// Refuses what Kafka refuses, and answers the size of the largest block.
fn check_descriptor(flg: u8, bd: u8) -> Result<usize> {
    let refuse = |what: &str| {
        Err(corrupt(
            Codec::Lz4,
            format_args!("FLG {flg:#04x}, BD {bd:#04x}: {what}"),
        ))
    };
    if flg & FLG_RESERVED != 0 || bd & BD_RESERVED != 0 {
        return refuse("reserved bits or a dictionary");
    }
    if flg & FLG_VERSION != FLG_VERSION_1 {
        return refuse("a version other than 1");
    }
    if flg & FLG_INDEPENDENT == 0 {
        return refuse("blocks that depend on one another");
    }
    match bd >> 4 {
        code @ 4..=7 => Ok(1 << (2 * code + 8)),
        _ => refuse("a block size below 64 KiB"),
    }
}
