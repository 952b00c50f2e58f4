//! Messages of magic 0 and 1, and the compressed wrappers around them. Implements records.md 4.
//!
//! They are read for ever, and written only by tests and by followers that copy them: a leader writes magic 2.

use super::batch::{Batch, MIN_SIZE_FIELD, PREFIX_BYTES};
use super::bytes::{i32_at, i64_at, u32_at};
use super::codec::{Codec, Compressor, Decompressor, Lz4Header};
use super::crc::{LEGACY_CRC_COVERS_FROM, crc32};
use super::decoder::STEP_BYTES;
use super::record::{RecordParts, Span};
use crate::error::{Error, RecordFlaws, Result};
use crate::types::{Offset, TimestampMs};

/// Where the key length of a message stands.
const fn key_at(magic: i8) -> usize {
    if magic == 0 { 18 } else { 26 }
}

/// A message with its key and value as places.
pub(super) struct Message {
    key: Option<Span>,
    value: Option<Span>,
}

impl Message {
    pub(super) fn at(self, offset: Offset, timestamp: TimestampMs) -> RecordParts {
        RecordParts::legacy(offset, timestamp, self.key, self.value)
    }
}

/// Reads key and value of a message with its prefix, which is `bytes` and nothing more; `start` is the place of
/// `bytes` in its buffer. A length that passes the end is INVALID_RECORD (records.md 4.9).
pub(super) fn parse_message(bytes: &[u8], start: usize) -> Result<Message> {
    let magic = bytes.get(16).map_or(0, |m| m.cast_signed());
    let mut at = key_at(magic);
    let key = take(bytes, start, &mut at, "key")?;
    let value = take(bytes, start, &mut at, "value")?;
    Ok(Message { key, value })
}

fn take(bytes: &[u8], start: usize, at: &mut usize, what: &str) -> Result<Option<Span>> {
    let wrong = |len: i64| {
        let left = bytes.len().saturating_sub(*at);
        Error::invalid_record(format!(
            "the {what} of a message of an old format has {len} bytes, {left} are left"
        ))
    };
    let len = i32_at(bytes, *at).ok_or_else(|| wrong(4))?;
    let Ok(size) = usize::try_from(len) else {
        *at += 4;
        return Ok(None);
    };
    if bytes.len() - *at - 4 < size {
        return Err(wrong(i64::from(len)));
    }
    let span = Span::new(start + *at + 4, size).ok_or_else(|| wrong(i64::from(len)))?;
    *at += 4 + size;
    Ok(Some(span))
}

/// The compressed stream that a wrapper carries as its value.
pub(super) fn wrapper_value<'a>(batch: &Batch<'a>) -> Result<&'a [u8]> {
    let message = parse_message(batch.bytes(), 0)?;
    message
        .value
        .and_then(|span| span.of(batch.bytes()))
        .ok_or_else(|| {
            Error::invalid_record(format!(
                "the compressed wrapper at offset {} has no value",
                batch.header().base_offset
            ))
            .at_offset(batch.header().base_offset)
        })
}

pub(super) fn open_wrapper(batch: &Batch<'_>, decompressor: &mut Decompressor) -> Result<()> {
    let codec = batch.header().attributes.codec()?;
    if codec == Codec::Zstd {
        return Err(Error::invalid_record(
            "zstd is not allowed in messages of an old format",
        ));
    }
    let header = if batch.header().magic == 0 {
        Lz4Header::LegacyUnchecked
    } else {
        Lz4Header::Checked
    };
    decompressor.begin(codec, header, wrapper_value(batch)?)
}

/// The size with prefix of the inner message at the front of `bytes`; `None` if not even a prefix is left.
pub(super) fn inner_size(bytes: &[u8], max_body_bytes: usize) -> Result<Option<usize>> {
    let Some(size) = i32_at(bytes, 8) else {
        return Ok(None);
    };
    if size < MIN_SIZE_FIELD {
        return Err(Error::corrupt(format!(
            "the size field of an inner message is {size}, at least {MIN_SIZE_FIELD} is needed"
        )));
    }
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    if size > max_body_bytes {
        return Err(Error::invalid_record(format!(
            "an inner message has {size} bytes, above the limit of {max_body_bytes}"
        )));
    }
    Ok(Some(size + PREFIX_BYTES))
}

/// What is needed of an inner message besides key and value.
pub(super) struct InnerMessage {
    /// As stored: absolute in magic 0, relative in magic 1.
    pub(super) offset: i64,
    pub(super) timestamp: TimestampMs,
    pub(super) magic: i8,
    crc: u32,
}

impl InnerMessage {
    /// Whether the checksum is that of the content.
    pub(super) fn check(&self, bytes: &[u8]) -> Result<()> {
        let computed = crc32(bytes.get(LEGACY_CRC_COVERS_FROM..).unwrap_or_default());
        if computed == self.crc {
            return Ok(());
        }
        Err(Error::corrupt(format!(
            "the checksum of an inner message is {computed:08x}, stored is {:08x}",
            self.crc
        ))
        .with_flaws(RecordFlaws {
            checksum: 1,
            ..RecordFlaws::default()
        }))
    }

    pub(super) fn read(bytes: &[u8]) -> Result<Self> {
        let short = || Error::invalid_record("an inner message is too short for its format");
        let magic = bytes.get(16).copied().ok_or_else(short)?.cast_signed();
        if bytes.get(17).copied().ok_or_else(short)? & 0x07 != 0 {
            return Err(Error::invalid_record(
                "an inner message is compressed again",
            ));
        }
        let timestamp = if magic == 1 {
            i64_at(bytes, 18).ok_or_else(short)?
        } else {
            -1
        };
        Ok(Self {
            offset: i64_at(bytes, 0).ok_or_else(short)?,
            timestamp: TimestampMs(timestamp),
            magic,
            crc: u32_at(bytes, 12).ok_or_else(short)?,
        })
    }
}

/// What to add to the stored offsets of a wrapper's inner messages (records.md 4.4). Magic 0 stores them absolute;
/// magic 1 relative to a base that only the last of them tells, so the stream is walked once for it.
pub(super) fn wrapper_shift(batch: &Batch<'_>, decompressor: &mut Decompressor) -> Result<i64> {
    let wrapper = batch.header().base_offset;
    if batch.header().magic != 1 || wrapper == Offset::ZERO {
        return Ok(0);
    }
    let (_, last) = inner_offsets(batch, decompressor, usize::MAX)?;
    if wrapper.0 < last {
        return Err(Error::invalid_record(format!(
            "the compressed wrapper at offset {wrapper} has an inner message with the greater offset {last}"
        ))
        .at_offset(wrapper));
    }
    Ok(wrapper.0.wrapping_sub(last))
}

/// Walks over a whole wrapper once: the stream, the sizes of the inner messages, and that there is one.
pub(super) fn check_wrapper(
    batch: &Batch<'_>,
    decompressor: &mut Decompressor,
    max_body_bytes: usize,
) -> Result<()> {
    inner_offsets(batch, decompressor, max_body_bytes).map(|_| ())
}

/// The first offset of a batch of magic 0 or 1: inside a wrapper only its content tells it (records.md 4.5).
pub fn base_offset(batch: &Batch<'_>, decompressor: &mut Decompressor) -> Result<Offset> {
    let header = batch.header();
    if header.is_v2() || !header.attributes.is_compressed() {
        return Ok(header.base_offset);
    }
    let (first, last) = inner_offsets(batch, decompressor, usize::MAX)?;
    let relative = header.magic == 1 && header.base_offset != Offset::ZERO;
    Ok(Offset(if relative {
        header.base_offset.0.wrapping_sub(last).wrapping_add(first)
    } else {
        first
    }))
}

/// The stored offsets of the first and the last inner message. Bodies are skipped without being held.
fn inner_offsets(
    batch: &Batch<'_>,
    decompressor: &mut Decompressor,
    max_body_bytes: usize,
) -> Result<(i64, i64)> {
    open_wrapper(batch, decompressor)?;
    let mut stream = Skimmed {
        decompressor,
        value: wrapper_value(batch)?,
        buffer: Vec::new(),
        at: 0,
    };
    let mut found: Option<(i64, i64)> = None;
    while stream.ensure(PREFIX_BYTES)? {
        let front = stream.front();
        let (Some(offset), Some(size)) = (i64_at(front, 0), inner_size(front, max_body_bytes)?)
        else {
            break;
        };
        // A message counts only if it is whole.
        if !stream.skip(size)? {
            break;
        }
        found = Some((found.map_or(offset, |(first, _)| first), offset));
    }
    found.ok_or_else(|| {
        let offset = batch.header().base_offset;
        Error::invalid_record(format!(
            "the compressed wrapper at offset {offset} has no inner message"
        ))
        .at_offset(offset)
    })
}

/// A decompressed stream of which only a little is held at a time.
struct Skimmed<'a> {
    decompressor: &'a mut Decompressor,
    value: &'a [u8],
    buffer: Vec<u8>,
    at: usize,
}

impl Skimmed<'_> {
    fn front(&self) -> &[u8] {
        self.buffer.get(self.at..).unwrap_or_default()
    }

    fn more(&mut self) -> Result<bool> {
        self.buffer.drain(..self.at);
        self.at = 0;
        Ok(self
            .decompressor
            .read_into(self.value, &mut self.buffer, STEP_BYTES)?
            > 0)
    }

    /// Whether `n` bytes are at the front, after decompressing more if need be.
    fn ensure(&mut self, n: usize) -> Result<bool> {
        while self.buffer.len() - self.at < n {
            if !self.more()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Passes over `n` bytes; whether there were that many.
    fn skip(&mut self, mut n: usize) -> Result<bool> {
        loop {
            let here = n.min(self.buffer.len() - self.at);
            self.at += here;
            n -= here;
            if n == 0 {
                return Ok(true);
            }
            if !self.more()? {
                return Ok(false);
            }
        }
    }
}

/// A message to be written in an old format.
#[derive(Clone, Copy, Debug)]
pub struct OldMessage<'a> {
    /// Its offset field.
    pub offset: Offset,
    /// Its time; not stored in magic 0.
    pub timestamp: TimestampMs,
    /// The key; `None` is null.
    pub key: Option<&'a [u8]>,
    /// The value; `None` is null.
    pub value: Option<&'a [u8]>,
}

/// Appends one message of magic 0 or 1; `attributes` are its codec and, in magic 1, its timestamp type.
pub fn write_message(out: &mut Vec<u8>, magic: i8, attributes: u8, message: &OldMessage<'_>) {
    let start = out.len();
    out.extend_from_slice(&message.offset.0.to_be_bytes());
    out.extend_from_slice(&[0; 8]); // size and checksum, below
    out.extend_from_slice(&[magic.cast_unsigned(), attributes]);
    if magic == 1 {
        out.extend_from_slice(&message.timestamp.0.to_be_bytes());
    }
    for bytes in [message.key, message.value] {
        let len = bytes.map_or(-1, |b| i32::try_from(b.len()).unwrap_or(i32::MAX));
        out.extend_from_slice(&len.to_be_bytes());
        out.extend_from_slice(bytes.unwrap_or_default());
    }
    let written = out.get_mut(start..).unwrap_or_default();
    let size = u32::try_from(written.len() - PREFIX_BYTES).unwrap_or(u32::MAX);
    super::bytes::put(written, 8, size.to_be_bytes());
    let crc = crc32(written.get(16..).unwrap_or_default());
    super::bytes::put(written, 12, crc.to_be_bytes());
}

/// Appends a compressed wrapper of magic 0 or 1 around `inner`, messages that were written with
/// [`write_message`] and hold the offsets that their format wants (records.md 4.4).
pub fn write_wrapper(
    out: &mut Vec<u8>,
    magic: i8,
    attributes: u8,
    codec: Codec,
    wrapper: &OldMessage<'_>,
    inner: &[u8],
    compressor: &mut Compressor,
) -> Result<()> {
    let mut value = Vec::new();
    let header = if magic == 0 {
        Lz4Header::LegacyUnchecked
    } else {
        Lz4Header::Checked
    };
    compressor.compress(codec, None, header, inner, &mut value)?;
    let wrapper = OldMessage {
        value: Some(&value),
        key: None,
        ..*wrapper
    };
    write_message(out, magic, attributes | codec.id(), &wrapper);
    Ok(())
}
