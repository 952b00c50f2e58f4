//! The four compressions of a batch, each in the framing that Kafka writes and with the tolerance that Kafka has in
//! reading (records.md 5).
//!
//! [`Compressor`] and [`Decompressor`] hold the contexts and buffers of all codecs, so that a thread which keeps one
//! of each allocates nothing per batch. Crates do the compression itself; headers, blocks, members and trailers are
//! read and written here, since what is accepted has to be exactly what Kafka accepts.
//!
//! Invariants:
//! - No input makes this module panic.
//! - No size that the input merely claims is allocated, but for the window of zstd (below).
//! - Output grows with the bytes that arrive: [`Decompressor::read_into`] never passes the bound it is given.
//! - Every defect of a stream is [`ErrorKind::CorruptMessage`], and its message
//!   names the codec and what was found.
//!
//! # Memory
//! Beside the caller's output a [`Decompressor`] holds what the formats make inevitable, and never more than the
//! compressed bytes can fill:
//! - gzip: a window of 32 KiB;
//! - lz4: one block: 64 KiB in what Kafka writes, 4 MiB at most;
//! - snappy: one block, if it does not fit in the bound of the call: 32 KiB in what Kafka writes. A stream without
//!   xerial framing is one block as a whole, at most 22 times its compressed size;
//! - zstd: the window that the frame asks for, at most 128 MiB, of which only what is written becomes resident. What a
//!   frame of a large window has taken is given back when the next stream begins.
#![deny(clippy::indexing_slicing)]

mod block;
mod buffer;
mod compress;
mod decompress;
mod gzip;
mod lz4;
mod snappy;
mod snappy_large;
#[cfg(test)]
mod tests;
mod zstd;

pub use compress::Compressor;
pub use decompress::Decompressor;

use std::fmt;

use crate::{Error, ErrorKind};

/// How the records of a batch are compressed: Kafka's codec ids (records.md 2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Codec {
    /// Not compressed.
    None = 0,
    /// gzip: deflate in members of RFC 1952.
    Gzip = 1,
    /// Snappy blocks in the framing of the xerial library.
    Snappy = 2,
    /// The LZ4 frame format.
    Lz4 = 3,
    /// The Zstandard frame format; batches of magic 2 only.
    Zstd = 4,
}

impl Codec {
    /// Every codec, in the order of the ids.
    pub const ALL: [Self; 5] = [Self::None, Self::Gzip, Self::Snappy, Self::Lz4, Self::Zstd];

    /// The codec with this id; none for the ids 5 to 7, which fit the attributes but mean nothing.
    #[must_use]
    pub const fn from_id(id: u8) -> Option<Self> {
        match id {
            0 => Some(Self::None),
            1 => Some(Self::Gzip),
            2 => Some(Self::Snappy),
            3 => Some(Self::Lz4),
            4 => Some(Self::Zstd),
            _ => None,
        }
    }

    /// The id, as in the lowest three bits of a batch's attributes.
    #[must_use]
    pub const fn id(self) -> u8 {
        self as u8
    }

    /// Kafka's name for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gzip => "gzip",
            Self::Snappy => "snappy",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        }
    }
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Whose header checksum an LZ4 frame carries (records.md 4.7). Other codecs do not look at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lz4Header {
    /// Magic 1 and 2: the checksum of the LZ4 frame format, verified.
    Checked,
    /// Magic 0: computed over the frame's magic number too, which is wrong and has to be written so; never verified.
    LegacyUnchecked,
}

/// A good stream that takes more memory than its reader allows.
fn too_large(what: impl fmt::Display) -> Error {
    Error::new(ErrorKind::TooLarge, what.to_string())
}

/// A defect of a compressed stream.
fn corrupt(codec: Codec, found: impl fmt::Display) -> Error {
    Error::corrupt(format!("not a valid {codec} stream: {found}"))
}
