//! Batches of magic 0 and 1: single messages, and compressed wrappers of many.

use klog::format::codec::{Codec, Decompressor, Lz4Header};

use super::batches::{BatchAt, PREFIX_BYTES, i32_at, i64_at, u32_at};
use super::file_name::FileName;
use super::log::{codec_name, position, size, timestamp_type};
use super::parser::Part;
use super::records::{Shown, thrown};
use super::source::Source;
use super::stop::{Result, Thrown};
use super::{Dump, HELD_BYTES};

const MIN_MESSAGE_BYTES: usize = 14;

/// A message behind its offset and size.
#[derive(Clone, Copy)]
struct Message<'a> {
    bytes: &'a [u8],
    /// The wrapper's time, where that is the time of all messages in it.
    append_time: Option<i64>,
}

impl<'a> Message<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            append_time: None,
        }
    }

    fn magic(&self) -> Result<i8> {
        Ok(self.byte(4)?.cast_signed())
    }

    fn attributes(&self) -> Result<i16> {
        Ok(i16::from(self.byte(5)?))
    }

    fn byte(&self, at: usize) -> Result<u8> {
        Ok(*self.bytes.get(at).ok_or_else(Thrown::out_of_bounds)?)
    }

    fn checksum(&self) -> Result<u32> {
        Ok(u32_at(self.bytes, 0).ok_or_else(Thrown::out_of_bounds)?)
    }

    fn is_valid(&self) -> Result<bool> {
        Ok(self.bytes.len() >= MIN_MESSAGE_BYTES
            && self.checksum()? == crc32fast::hash(&self.bytes[4..]))
    }

    fn timestamp(&self) -> Result<i64> {
        if self.magic()? == 0 {
            return Ok(-1);
        }
        match self.append_time {
            Some(time) => Ok(time),
            None => Ok(i64_at(self.bytes, 6).ok_or_else(Thrown::out_of_bounds)?),
        }
    }

    fn timestamp_type(&self) -> Result<&'static str> {
        if self.magic()? == 0 {
            return Ok("NoTimestampType");
        }
        Ok(timestamp_type(self.attributes()?))
    }

    fn key_size(&self) -> Result<i32> {
        let at = key_size_at(self.bytes);
        Ok(i32_at(self.bytes, at).ok_or_else(Thrown::out_of_bounds)?)
    }

    fn value_size_at(&self) -> Result<usize> {
        let key = usize::try_from(self.key_size()?).unwrap_or(0);
        Ok(key_size_at(self.bytes) + 4 + key)
    }

    fn value_size(&self) -> Result<i32> {
        let at = self.value_size_at()?;
        Ok(i32_at(self.bytes, at).ok_or_else(Thrown::out_of_bounds)?)
    }

    fn key(&self) -> Part<'a> {
        self.sized(key_size_at(self.bytes))
    }

    fn value(&self) -> Part<'a> {
        let at = key_size_at(self.bytes);
        let key = i32_at(self.bytes, at).ok_or_else(Thrown::out_of_bounds)?;
        self.sized(at + 4 + usize::try_from(key).unwrap_or(0))
    }

    fn sized(&self, at: usize) -> Part<'a> {
        let size = i32_at(self.bytes, at).ok_or_else(Thrown::out_of_bounds)?;
        let Ok(size) = usize::try_from(size) else {
            return Ok(None);
        };
        let rest = self.bytes.get(at + 4..).unwrap_or_default();
        match rest.get(..size) {
            Some(bytes) => Ok(Some(bytes)),
            None => Err(Thrown::illegal_argument(format!(
                "newLimit > capacity: ({size} > {})",
                rest.len()
            ))),
        }
    }

    fn codec(&self) -> Result<Codec> {
        let attributes = self.attributes()?;
        codec_name(attributes)?;
        Ok(u8::try_from(attributes & 0x07)
            .ok()
            .and_then(Codec::from_id)
            .unwrap_or(Codec::None))
    }
}

/// Where the size of the key is: every format but the first has a time before it.
fn key_size_at(message: &[u8]) -> usize {
    if message.get(4) == Some(&0) { 6 } else { 14 }
}

/// Prints the line of a batch.
pub(crate) fn batch(
    dump: &mut Dump<'_>,
    at: &BatchAt,
    source: &mut Source,
    name: &FileName,
) -> Result<()> {
    dump.console.out.text("offset: ").int(at.offset);
    let header_bytes = match at.magic {
        0 => 18,
        1 => 26,
        magic => {
            return Err(Thrown::illegal_argument(format!(
                "Invalid magic used in LegacyRecord: {magic}"
            ))
            .into());
        }
    };
    let header = at.header(source, name, header_bytes)?;
    let header = Message::new(&header[PREFIX_BYTES..]);
    let (timestamp_type, timestamp) = (header.timestamp_type()?, header.timestamp()?);
    let codec = codec_name(header.attributes()?)?;
    let checksum = header.checksum()?;
    let is_valid = is_valid(at, checksum, source)?;
    let out = &mut dump.console.out;
    out.text(" position: ").int(position(at));
    out.text(" ").text(timestamp_type).text(": ").int(timestamp);
    out.text(" size: ").int(size(at));
    out.text(" magic: ").int(at.magic);
    out.text(" compresscodec: ").text(codec);
    out.text(" crc: ").int(checksum);
    out.text(" isvalid: ").bool(is_valid).line_end();
    Ok(())
}

fn is_valid(at: &BatchAt, stored: u32, source: &mut Source) -> Result<bool> {
    const STEP_BYTES: usize = 256 * 1024;
    let end = at.position + at.size;
    let mut from = at.position + 16;
    let mut hasher = crc32fast::Hasher::new();
    while from < end {
        let n = usize::try_from(end - from)
            .unwrap_or(usize::MAX)
            .min(STEP_BYTES);
        let piece = source.at(from, n)?;
        if piece.is_empty() {
            return Ok(false);
        }
        hasher.update(piece);
        from += piece.len() as u64;
    }
    Ok(hasher.finalize() == stored)
}

/// Prints the records of a batch.
pub(crate) fn records(
    dump: &mut Dump<'_>,
    at: &BatchAt,
    source: &mut Source,
    name: &FileName,
    last_offset: &mut i64,
) -> Result<()> {
    messages(at, source, |offset, message, outer| {
        record(dump, message, offset, outer, name, last_offset)?;
        dump.console.out.check()
    })
}

/// The largest time of the messages of a batch, at least -1.
pub(crate) fn max_timestamp(at: &BatchAt, source: &mut Source) -> Result<i64> {
    let mut latest = -1;
    messages(at, source, |_, message, _| {
        latest = latest.max(message.timestamp()?);
        Ok(())
    })?;
    Ok(latest)
}

/// Gives each message of a batch with its offset, and the message around it.
fn messages(
    at: &BatchAt,
    source: &mut Source,
    mut each: impl FnMut(i64, Message<'_>, Message<'_>) -> Result<()>,
) -> Result<()> {
    if at.size > HELD_BYTES as u64 {
        return Err(Thrown::new(
            "java.lang.OutOfMemoryError",
            format!("a message of magic {} with {} bytes", at.magic, at.size),
        )
        .into());
    }
    let bytes = source.at(at.position, usize::try_from(at.size).unwrap_or(usize::MAX))?;
    let outer = Message::new(bytes.get(PREFIX_BYTES..).unwrap_or_default());
    let codec = outer.codec()?;
    if codec == Codec::None {
        return each(at.offset, outer, outer);
    }
    let inner = unwrap(outer, codec)?;
    let mut messages = Messages { bytes: &inner };
    // The last message tells where the offsets of magic 1 begin; nothing is printed before all could be read.
    let mut last = None;
    while let Some((offset, message)) = messages.next()? {
        message.magic()?;
        last = Some(offset);
    }
    let Some(last) = last else {
        return Err(Thrown::invalid_record(
            "Found invalid compressed record set with no inner records",
        )
        .into());
    };
    let shift = shift(outer.magic()?, at.offset, last)?;
    let append_time = (outer.timestamp_type()? == "LogAppendTime")
        .then(|| outer.timestamp())
        .transpose()?;
    let mut messages = Messages { bytes: &inner };
    while let Some((offset, mut message)) = messages.next()? {
        if message.magic()? == 1 {
            message.append_time = append_time;
        }
        if message.codec()? != Codec::None {
            return Err(Thrown::invalid_record("Inner messages must not be compressed").into());
        }
        each(offset.wrapping_add(shift), message, outer)?;
    }
    Ok(())
}

/// What the offsets inside a wrapper are counted from: magic 0 has them as they are.
fn shift(magic: i8, wrapper: i64, last: i64) -> Result<i64> {
    if magic == 0 || wrapper == 0 {
        return Ok(0);
    }
    if wrapper < last {
        return Err(Thrown::invalid_record(format!(
            "Found invalid wrapper offset in compressed v1 message set, wrapper offset '{wrapper}' is less than the last inner message offset '{last}' and it is not zero."
        ))
        .into());
    }
    Ok(wrapper - last)
}

fn unwrap(outer: Message<'_>, codec: Codec) -> Result<Vec<u8>> {
    let magic = outer.magic()?;
    if codec == Codec::Zstd {
        return Err(Thrown::invalid_record(format!(
            "Invalid wrapper compressionType found in legacy deep record iterator {magic}"
        ))
        .into());
    }
    let value = outer.value()?.ok_or_else(|| {
        Thrown::invalid_record(format!(
            "Found invalid compressed record set with null value (magic = {magic})"
        ))
    })?;
    let header = if magic == 0 {
        Lz4Header::LegacyUnchecked
    } else {
        Lz4Header::Checked
    };
    let mut decompressor = Decompressor::new();
    decompressor.begin(codec, header, value).map_err(thrown)?;
    let mut inner = Vec::new();
    while decompressor
        .read_into(value, &mut inner, HELD_BYTES)
        .map_err(thrown)?
        > 0
    {
        if inner.len() > 2 * HELD_BYTES {
            return Err(Thrown::new(
                "java.lang.OutOfMemoryError",
                format!(
                    "a wrapper of magic {magic} with more than {} bytes",
                    inner.len()
                ),
            )
            .into());
        }
    }
    Ok(inner)
}

/// The messages in a wrapper, one behind the other.
struct Messages<'a> {
    bytes: &'a [u8],
}

impl<'a> Messages<'a> {
    /// The next one and the offset it has; `None` where less than a whole one is left.
    fn next(&mut self) -> Result<Option<(i64, Message<'a>)>> {
        let (Some(offset), Some(size)) = (i64_at(self.bytes, 0), i32_at(self.bytes, 8)) else {
            return Ok(None);
        };
        let message = usize::try_from(size)
            .ok()
            .filter(|&size| size >= MIN_MESSAGE_BYTES);
        let size = message.ok_or_else(|| {
            Thrown::corrupt_record(format!(
                "Record size is less than the minimum record overhead ({MIN_MESSAGE_BYTES})"
            ))
        })?;
        let rest = &self.bytes[PREFIX_BYTES..];
        let Some((message, rest)) = rest.split_at_checked(size) else {
            return Ok(None);
        };
        self.bytes = rest;
        Ok(Some((offset, Message::new(message))))
    }
}

fn record(
    dump: &mut Dump<'_>,
    message: Message<'_>,
    offset: i64,
    outer: Message<'_>,
    name: &FileName,
    last_offset: &mut i64,
) -> Result<()> {
    dump.gap(offset, last_offset, name)?;
    if !dump.options.skips_record_metadata {
        let shown = Shown {
            offset,
            timestamp: message.timestamp()?,
            key_size: message.key_size()?,
            value_size: message.value_size()?,
            key: None,
            value: None,
        };
        dump.record_metadata(outer.timestamp_type()?, &shown);
        let (is_valid, checksum) = (message.is_valid()?, message.checksum()?);
        let out = &mut dump.console.out;
        out.text(" isValid: ")
            .bool(is_valid)
            .text(" crc: ")
            .int(checksum);
    }
    if dump.options.prints_contents {
        dump.contents(offset, message.key(), message.value())?;
    }
    dump.console.out.line_end();
    Ok(())
}
