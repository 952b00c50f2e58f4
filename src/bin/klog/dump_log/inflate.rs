//! The records of a batch as a stream, for batches that are too large to be held.

use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;

use klog::format::codec::Codec;
use klog::io::File;

use super::HELD_BYTES;

/// How much is read at once.
const STEP_BYTES: usize = 64 * 1024;

/// Larger windows are an error here: 2^25 bytes is what zstd uses up to level 20.
const WINDOW_LOG_MAX: u32 = 25;

/// A reader over a stretch of a file.
struct Stretch {
    file: Arc<dyn File>,
    at: u64,
    end: u64,
}

impl Read for Stretch {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX);
        let n = buf.len().min(left);
        let read = self.file.read_at(&mut buf[..n], self.at);
        let read = read.map_err(|e| io::Error::other(e.to_string()))?;
        self.at += read as u64;
        Ok(read)
    }
}

/// Opens what lies between two places of a file as the bytes that it was compressed from.
pub(crate) fn open(
    file: Arc<dyn File>,
    at: u64,
    end: u64,
    codec: Codec,
) -> io::Result<Box<dyn BufRead>> {
    let stretch = BufReader::with_capacity(STEP_BYTES, Stretch { file, at, end });
    Ok(match codec {
        Codec::None => Box::new(stretch),
        Codec::Gzip => buffered(flate2::bufread::MultiGzDecoder::new(stretch)),
        Codec::Snappy => buffered(Snappy::begin(stretch)?),
        Codec::Lz4 => buffered(lz4::Decoder::new(stretch)?),
        Codec::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(stretch)?;
            decoder.window_log_max(WINDOW_LOG_MAX)?;
            buffered(decoder)
        }
    })
}

fn buffered(reader: impl Read + 'static) -> Box<dyn BufRead> {
    Box::new(BufReader::with_capacity(STEP_BYTES, reader))
}

/// Blocks of snappy behind a header, as Kafka's clients write them.
struct Snappy<R> {
    reader: R,
    packed: Vec<u8>,
    block: Vec<u8>,
    at: usize,
}

impl<R: BufRead> Snappy<R> {
    const HEADER: &'static [u8] = b"\x82SNAPPY\0";

    fn begin(mut reader: R) -> io::Result<Self> {
        let mut header = [0; 16];
        reader.read_exact(&mut header)?;
        if !header.starts_with(Self::HEADER) {
            return Err(io::Error::other("a large stream of snappy has no header"));
        }
        Ok(Self {
            reader,
            packed: Vec::new(),
            block: Vec::new(),
            at: 0,
        })
    }

    fn next_block(&mut self) -> io::Result<bool> {
        if self.reader.fill_buf()?.is_empty() {
            return Ok(false);
        }
        let mut size = [0; 4];
        self.reader.read_exact(&mut size)?;
        let too_large = || io::Error::other("a block of snappy is too large");
        let size = usize::try_from(u32::from_be_bytes(size)).map_err(|_| too_large())?;
        if size > HELD_BYTES {
            return Err(too_large());
        }
        self.packed.resize(size, 0);
        self.reader.read_exact(&mut self.packed)?;
        let len = snap::raw::decompress_len(&self.packed).map_err(io::Error::other)?;
        if len > HELD_BYTES {
            return Err(too_large());
        }
        self.block.resize(len, 0);
        snap::raw::Decoder::new()
            .decompress(&self.packed, &mut self.block)
            .map_err(io::Error::other)?;
        self.at = 0;
        Ok(true)
    }
}

impl<R: BufRead> Read for Snappy<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        while self.at == self.block.len() {
            if !self.next_block()? {
                return Ok(0);
            }
        }
        let n = buf.len().min(self.block.len() - self.at);
        buf[..n].copy_from_slice(&self.block[self.at..self.at + n]);
        self.at += n;
        Ok(n)
    }
}
