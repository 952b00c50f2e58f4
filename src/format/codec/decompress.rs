//! Decompression, codec by codec behind one type. Implements records.md 5, the reading half.
//!
//! Kafka reports a bad header when it opens a stream and everything else while it reads; so do
//! [`Decompressor::begin`] and [`Decompressor::read_into`].

use super::block::Block;
use super::buffer::reserve;
use super::{Codec, Lz4Header, gzip, lz4, snappy, zstd};
use crate::error::{Error, Result};

/// The contexts and buffers of decompression, to be used again from stream to stream. Nothing is allocated before the
/// first stream of a codec. It borrows nothing: the compressed bytes are given with each call, and must be the same
/// from [`Decompressor::begin`] to the end of the stream.
///
/// ```
/// use klog::format::codec::{Codec, Compressor, Decompressor, Lz4Header};
///
/// let mut compressed = Vec::new();
/// Compressor::new().compress(Codec::Zstd, None, Lz4Header::Checked, b"records", &mut compressed)?;
///
/// let mut decompressor = Decompressor::new();
/// decompressor.begin(Codec::Zstd, Lz4Header::Checked, &compressed)?;
/// let mut records = Vec::new();
/// while decompressor.read_into(&compressed, &mut records, 4096)? > 0 {}
/// assert_eq!(records, b"records");
/// # Ok::<(), klog::Error>(())
/// ```
#[derive(Default)]
pub struct Decompressor {
    inflate: gzip::Inflater,
    zstd: zstd::Context,
    block: Block,
    state: State,
    /// How many bytes of the input are not read yet.
    unread: usize,
    /// The largest block of snappy, and window of zstd, that memory is taken for.
    max_block_bytes: Option<usize>,
}

/// Where the reading of the current stream stands.
#[derive(Default)]
enum State {
    #[default]
    Ended,
    Plain,
    Gzip(gzip::State),
    Snappy(snappy::State),
    Lz4(lz4::State),
    Zstd(zstd::State),
    Failed(Error),
}

impl Decompressor {
    /// A decompressor that holds nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes no memory for blocks of snappy above `bytes` from now on, nor for what is decompressed through a window of zstd that
    /// is larger: TOO_LARGE.
    pub fn bound_memory(&mut self, bytes: usize) {
        self.max_block_bytes = Some(bytes);
    }

    /// Starts on a compressed stream, which ends with `input`, and reads its header. A stream begun before is gone.
    ///
    /// # Errors
    /// [`CorruptMessage`](crate::ErrorKind::CorruptMessage) if the stream has no valid header. zstd finds that out
    /// when it is read, and takes an empty input for an empty stream, as Kafka does.
    pub fn begin(&mut self, codec: Codec, header: Lz4Header, input: &[u8]) -> Result<()> {
        self.block.begin();
        self.state = State::Ended;
        let mut rest = input;
        self.state = match codec {
            Codec::None => State::Plain,
            Codec::Gzip => State::Gzip(gzip::State::begin(&mut self.inflate, &mut rest)?),
            Codec::Snappy => State::Snappy(snappy::State::begin(&mut rest)?),
            Codec::Lz4 => State::Lz4(lz4::State::begin(header, &mut rest)?),
            Codec::Zstd => State::Zstd(zstd::State::begin(&mut self.zstd, rest)?),
        };
        self.unread = rest.len();
        Ok(())
    }

    /// Appends the next bytes to `out` and answers how many: at most `max`, at least one (if `max` is not 0) unless
    /// the stream is at its end. `Ok(0)` says that the end was found where it belongs, with every checksum that Kafka
    /// verifies. `input` is what the stream was begun with.
    ///
    /// One call decodes one block or step at most, so `max` may be large without cost. `out` grows as bytes arrive;
    /// reserve in it what is expected if it is to be exact.
    ///
    /// # Errors
    /// [`CorruptMessage`](crate::ErrorKind::CorruptMessage) for a defect of the stream,
    /// [`NoMemory`](crate::ErrorKind::NoMemory) if memory cannot be reserved. `out` is then as it was before the call,
    /// and every further call fails alike.
    pub fn read_into(&mut self, input: &[u8], out: &mut Vec<u8>, max: usize) -> Result<usize> {
        if max == 0 {
            return Ok(0);
        }
        let start = out.len();
        let mut rest = input
            .get(input.len().saturating_sub(self.unread)..)
            .unwrap_or_default();
        let limit = self.max_block_bytes.unwrap_or(usize::MAX);
        let read = match &mut self.state {
            State::Ended => Ok(0),
            State::Failed(failure) => return Err(failure.clone()),
            State::Plain => copy_plain(&mut rest, out, max),
            State::Gzip(state) => {
                gzip::Reader::resume(&mut self.inflate, state, &mut rest).read_into(out, max)
            }
            State::Snappy(state) => {
                snappy::Reader::resume(&mut self.block, state, &mut rest).read_into(out, max, limit)
            }
            State::Lz4(state) => {
                lz4::Reader::resume(&mut self.block, state, &mut rest).read_into(out, max)
            }
            State::Zstd(state) => zstd::Reader::resume(&mut self.zstd, state, &mut rest)
                .and_then(|mut reader| reader.read_into(out, max, limit)),
        };
        self.unread = rest.len();
        if let Err(failure) = &read {
            out.truncate(start);
            self.state = State::Failed(failure.clone());
        }
        read
    }

    /// What the buffers of lz4, snappy and zstd hold of memory.
    #[cfg(test)]
    pub(super) fn memory(&self) -> usize {
        let of_large = match &self.state {
            State::Snappy(state) => state.memory(),
            _ => 0,
        };
        self.block.capacity() + of_large + self.zstd.memory()
    }
}

fn copy_plain(rest: &mut &[u8], out: &mut Vec<u8>, max: usize) -> Result<usize> {
    let (given, left) = rest.split_at_checked(max).unwrap_or((rest, &[]));
    reserve(out, given.len())?;
    out.extend_from_slice(given);
    *rest = left;
    Ok(given.len())
}
