//! Batches and records that are too large to be held: they are read as streams. What a record says of itself comes before its
//! key and value in the output, but behind them in the file; so a second reader follows the first for keys and values.

use std::io::{self, BufRead};
use std::sync::Arc;

use klog::format::codec::Codec;
use klog::io::File;

use super::batches::{BatchAt, V2_HEADER_BYTES};
use super::file_name::FileName;
use super::inflate;
use super::java::{decode_utf8, undecided_tail};
use super::log::{V2Header, codec_name, increment_sequence};
use super::parser::Parser;
use super::records::Shown;
use super::source::Source;
use super::stop::{Result, Stop, Thrown};
use super::{Dump, HELD_BYTES};

/// What could be read of a record without its key and value, but for where those are.
#[derive(Default)]
struct Outline {
    timestamp_delta: i64,
    offset_delta: i32,
    key: Option<Place>,
    value: Option<Place>,
    header_keys: Vec<Vec<u8>>,
}

/// A stretch of the stream of records.
#[derive(Clone, Copy)]
struct Place {
    at: u64,
    len: u64,
}

/// Prints the records of a batch.
pub(crate) fn print(
    dump: &mut Dump<'_>,
    at: &BatchAt,
    header: &V2Header,
    source: &Source,
    name: &FileName,
    last_offset: &mut i64,
) -> Result<()> {
    let batch = Large::new(at, header, source)?;
    // Kafka has all records of a compressed batch before it prints the first.
    if batch.codec != Codec::None {
        let mut records = batch.records()?;
        while records.next()?.is_some() {}
    }
    let mut records = batch.records()?;
    let mut contents = batch.records()?;
    while let Some(outline) = records.next()? {
        let mut shown = outline.shown(header, at.offset);
        dump.gap(shown.offset, last_offset, name)?;
        let sequence = if header.base_sequence < 0 {
            -1
        } else {
            increment_sequence(header.base_sequence, outline.offset_delta)
        };
        let mut of_control = (None, None);
        if header.is_control() {
            of_control.0 = outline.key.map(|place| contents.take(place)).transpose()?;
            // What has no key is told by its key.
            if let Some(value) = outline.value.filter(|_| outline.key.is_some()) {
                if value.len > HELD_BYTES as u64 {
                    return Err(too_large("a control record"));
                }
                of_control.1 = Some(contents.take(value)?);
            }
        }
        (shown.key, shown.value) = (of_control.0.as_deref(), of_control.1.as_deref());
        let keys = outline.header_keys.iter().map(Vec::as_slice);
        dump.record_head(header, &shown, sequence, keys)?;
        if dump.options.prints_contents && !header.is_control() {
            print_contents(dump, &outline, &mut contents, shown.offset)?;
        }
        dump.console.out.line_end();
        dump.console.out.check()?;
    }
    Ok(())
}

/// The largest time of the records of a batch, at least -1.
pub(crate) fn max_timestamp(at: &BatchAt, header: &V2Header, source: &Source) -> Result<i64> {
    let mut records = Large::new(at, header, source)?.records()?;
    let mut latest = -1;
    while let Some(outline) = records.next()? {
        latest = latest.max(outline.timestamp(header));
    }
    Ok(latest)
}

fn print_contents(
    dump: &mut Dump<'_>,
    outline: &Outline,
    contents: &mut Reader,
    offset: i64,
) -> Result<()> {
    let len = |place: Option<Place>| place.map_or(0, |place| place.len);
    if len(outline.key) + len(outline.value) <= HELD_BYTES as u64 {
        let mut read = |place: Option<Place>| place.map(|place| contents.take(place)).transpose();
        let (key, value) = (read(outline.key)?, read(outline.value)?);
        return dump.contents(offset, Ok(key.as_deref()), Ok(value.as_deref()));
    }
    if !matches!(dump.options.parser, Parser::Plain { .. }) {
        return Err(too_large("a record of an internal topic"));
    }
    let mut prefix = if dump.options.skips_record_metadata {
        "| "
    } else {
        " "
    };
    for (title, place) in [("key: ", outline.key), ("payload: ", outline.value)] {
        let Some(place) = place else { continue };
        dump.console.out.text(prefix).text(title);
        prefix = " ";
        let out = &mut dump.console.out;
        contents.decode(place, |piece| {
            out.bytes(piece);
        })?;
    }
    Ok(())
}

fn too_large(what: &str) -> Stop {
    Thrown::new(
        "java.lang.OutOfMemoryError",
        format!("{what} has more than {HELD_BYTES} bytes"),
    )
    .into()
}

/// A batch that is not in memory.
struct Large {
    file: Arc<dyn File>,
    start: u64,
    end: u64,
    codec: Codec,
    count: i32,
}

impl Large {
    fn new(at: &BatchAt, header: &V2Header, source: &Source) -> Result<Self> {
        codec_name(header.attributes)?;
        let codec = u8::try_from(header.attributes & 0x07)
            .ok()
            .and_then(Codec::from_id);
        Ok(Self {
            file: source.file(),
            start: at.position + V2_HEADER_BYTES as u64,
            end: at.position + at.size,
            codec: codec.unwrap_or(Codec::None),
            count: header.count,
        })
    }

    fn records(&self) -> Result<Reader> {
        let opened = inflate::open(Arc::clone(&self.file), self.start, self.end, self.codec);
        Ok(Reader {
            stream: opened.map_err(|e| unreadable(&e))?,
            at: 0,
            left: self.count,
        })
    }
}

/// Reads records, or what lies at known places of them.
struct Reader {
    stream: Box<dyn BufRead>,
    at: u64,
    left: i32,
}

fn unreadable(error: &io::Error) -> Stop {
    Thrown::kafka(error.to_string()).into()
}

fn invalid(what: &str) -> Stop {
    Thrown::invalid_record(what).into()
}

impl Reader {
    /// The next record; behind the last one the stream must end.
    fn next(&mut self) -> Result<Option<Outline>> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let size = u64::try_from(self.varint()?)
            .map_err(|_| invalid("the size of a record is negative"))?;
        let end = self.at + size;
        self.bytes_left(end, 1)?;
        self.skip(1)?;
        let mut outline = Outline {
            timestamp_delta: self.varlong()?,
            offset_delta: self.varint()?,
            key: self.pass(end)?,
            value: self.pass(end)?,
            header_keys: Vec::new(),
        };
        let headers = u64::try_from(self.varint()?)
            .map_err(|_| invalid("the number of headers is negative"))?;
        self.bytes_left(end, headers)?;
        let mut held = 0;
        for _ in 0..headers {
            let len = u64::try_from(self.varint()?)
                .map_err(|_| invalid("the size of a header's key is negative"))?;
            self.bytes_left(end, len)?;
            held += len + 32;
            if held > HELD_BYTES as u64 {
                return Err(too_large("the names of a record's headers"));
            }
            let place = Place { at: self.at, len };
            outline.header_keys.push(self.take(place)?);
            self.pass(end)?;
        }
        if self.at != end {
            return Err(invalid("a record does not end where its size says"));
        }
        if self.left == 0
            && !self
                .stream
                .fill_buf()
                .map_err(|e| unreadable(&e))?
                .is_empty()
        {
            return Err(invalid(
                "Incorrect declared batch size, records still remaining in file",
            ));
        }
        Ok(Some(outline))
    }

    /// Passes over a key or a value.
    fn pass(&mut self, end: u64) -> Result<Option<Place>> {
        let Ok(len) = u64::try_from(self.varint()?) else {
            return Ok(None);
        };
        self.bytes_left(end, len)?;
        let place = Place { at: self.at, len };
        self.skip(len)?;
        Ok(Some(place))
    }

    fn bytes_left(&self, end: u64, wanted: u64) -> Result<()> {
        if self.at > end || end - self.at < wanted {
            return Err(invalid("Found invalid record structure"));
        }
        Ok(())
    }

    /// Gives what is there next, up to `n` bytes, and goes on behind it.
    fn piece(&mut self, n: u64, take: impl FnOnce(&[u8])) -> Result<u64> {
        let found = self.stream.fill_buf().map_err(|e| unreadable(&e))?;
        if found.is_empty() {
            return Err(invalid(
                "Incorrect declared batch size, premature EOF reached",
            ));
        }
        let len = found.len().min(usize::try_from(n).unwrap_or(usize::MAX));
        take(&found[..len]);
        self.stream.consume(len);
        self.at += len as u64;
        Ok(len as u64)
    }

    fn skip(&mut self, mut n: u64) -> Result<()> {
        while n > 0 {
            n -= self.piece(n, |_| ())?;
        }
        Ok(())
    }

    /// The bytes at a place in front.
    fn take(&mut self, place: Place) -> Result<Vec<u8>> {
        self.skip(place.at - self.at)?;
        let mut bytes = Vec::new();
        let mut left = place.len;
        while left > 0 {
            left -= self.piece(left, |piece| bytes.extend_from_slice(piece))?;
        }
        Ok(bytes)
    }

    /// Gives the bytes at a place in front as text.
    fn decode(&mut self, place: Place, mut take: impl FnMut(&[u8])) -> Result<()> {
        self.skip(place.at - self.at)?;
        let mut held = Vec::new();
        let mut left = place.len;
        while left > 0 {
            left -= self.piece(left, |piece| held.extend_from_slice(piece))?;
            let decided = held.len() - if left > 0 { undecided_tail(&held) } else { 0 };
            decode_utf8(&held[..decided], &mut take);
            held.drain(..decided);
        }
        Ok(())
    }

    fn byte(&mut self) -> Result<u8> {
        let mut byte = 0;
        self.piece(1, |piece| byte = piece[0])?;
        Ok(byte)
    }

    fn varint(&mut self) -> Result<i32> {
        i32::try_from(self.varlong_of(5)?).map_err(|_| invalid("a varint is too long"))
    }

    fn varlong(&mut self) -> Result<i64> {
        self.varlong_of(10)
    }

    fn varlong_of(&mut self, bytes_max: u32) -> Result<i64> {
        let mut value = 0_u64;
        for i in 0..bytes_max {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << (7 * i);
            if byte < 0x80 {
                return Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed());
            }
        }
        Err(invalid("a varint is too long"))
    }
}

impl Outline {
    fn timestamp(&self, header: &V2Header) -> i64 {
        if header.is_log_append_time() {
            header.max_timestamp
        } else {
            header.base_timestamp.wrapping_add(self.timestamp_delta)
        }
    }

    fn shown<'a>(&self, header: &V2Header, base_offset: i64) -> Shown<'a> {
        let size = |place: Option<Place>| {
            place.map_or(-1, |place| i32::try_from(place.len).unwrap_or(i32::MAX))
        };
        Shown {
            offset: base_offset.wrapping_add(self.offset_delta.into()),
            timestamp: self.timestamp(header),
            key_size: size(self.key),
            value_size: size(self.value),
            key: None,
            value: None,
        }
    }
}
