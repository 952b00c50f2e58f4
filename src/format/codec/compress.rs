//! Compression, codec by codec behind one type. Implements records.md 5, the writing half.

use super::buffer::reserve;
use super::{Codec, Lz4Header, gzip, lz4, snappy, zstd};
use crate::Result;

/// The contexts and tables of compression, to be used again from batch to batch. Nothing is allocated before the first
/// use of a codec.
#[derive(Default)]
pub struct Compressor {
    gzip: gzip::Encoder,
    snappy: snappy::Encoder,
    lz4: lz4::Encoder,
    zstd: zstd::Encoder,
}

impl Compressor {
    /// A compressor that holds nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Compresses `input` in Kafka's framing and appends it to `out`. Of an empty `input` it makes a whole stream too,
    /// one without content.
    ///
    /// `level` has Kafka's meaning (records.md 5.6); `None` is the codec's default: gzip -1, lz4 9 (the fast
    /// compressor; every other level is the high compression of that level), zstd 3. The codecs without levels take no
    /// notice, and a level outside the range that the configuration allows is taken as the nearest one.
    ///
    /// # Errors
    /// [`NoMemory`](crate::ErrorKind::NoMemory) if memory cannot be reserved; `out` is then as it was before.
    pub fn compress(
        &mut self,
        codec: Codec,
        level: Option<i32>,
        header: Lz4Header,
        input: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let start = out.len();
        let done = match codec {
            Codec::None => reserve(out, input.len()).map(|()| out.extend_from_slice(input)),
            Codec::Gzip => self.gzip.encode(level, input, out),
            Codec::Snappy => self.snappy.encode(input, out),
            Codec::Lz4 => self.lz4.encode(level, header, input, out),
            Codec::Zstd => self.zstd.encode(level, input, out),
        };
        if done.is_err() {
            out.truncate(start);
        }
        done
    }
}
