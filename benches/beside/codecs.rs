//! The codecs by themselves, with what they keep from call to call: the limit of a batch that is compressed.

use std::io::Write;

use klog::format::codec::Codec;

pub(crate) enum Alone {
    Lz4(Box<lz4_flex::block::CompressTable>, Vec<u8>),
    Zstd(zstd::bulk::Compressor<'static>, Vec<u8>),
    Snappy(Box<snap::raw::Encoder>, Vec<u8>),
    Gzip,
}

impl Alone {
    pub(crate) fn new(codec: Codec) -> Self {
        let out = vec![0; 1 << 17];
        match codec {
            Codec::Lz4 => Self::Lz4(Box::new(lz4_flex::block::CompressTable::small()), out),
            Codec::Zstd => Self::Zstd(zstd::bulk::Compressor::new(3).unwrap(), out),
            Codec::Snappy => Self::Snappy(Box::new(snap::raw::Encoder::new()), out),
            Codec::Gzip => Self::Gzip,
            Codec::None => panic!("no codec"),
        }
    }

    /// Compresses; the size.
    pub(crate) fn compress(&mut self, input: &[u8]) -> usize {
        match self {
            Self::Lz4(table, out) => {
                lz4_flex::block::compress_into_with_table(input, out, table).unwrap()
            }
            Self::Zstd(compressor, out) => {
                compressor.compress_to_buffer(input, &mut out[..]).unwrap()
            }
            Self::Snappy(encoder, out) => encoder.compress(input, out).unwrap(),
            Self::Gzip => {
                let level = flate2::Compression::new(6);
                let mut encoder = flate2::write::GzEncoder::new(Vec::new(), level);
                encoder.write_all(input).unwrap();
                encoder.finish().unwrap().len()
            }
        }
    }
}
