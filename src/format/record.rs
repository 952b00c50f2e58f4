//! One record: as a caller sees it, and its body in a batch of magic 2. Implements records.md 2.8, 2.9.

#![allow(clippy::inline_always)] // as in the decoder

use super::batch::TimestampType;
use super::skim::Brief;
use super::varint::{read_varint, read_varlong, zigzag_decode32};
use crate::error::{Error, Result};
use crate::types::{LeaderEpoch, Offset, TimestampMs};

/// A record as it is read. Bytes are borrowed from the buffer it was decoded from.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// Its place in the log.
    pub offset: Offset,
    /// Its time; -1 for none. With log-append time that of the batch.
    pub timestamp: TimestampMs,
    /// Whose time that is.
    pub timestamp_type: TimestampType,
    /// The key; `None` is null, which differs from empty.
    pub key: Option<&'a [u8]>,
    /// The value; `None` is null: a tombstone.
    pub value: Option<&'a [u8]>,
    /// The headers, in order.
    pub headers: Headers<'a>,
    /// Leader epoch of its batch, -1 for none.
    pub leader_epoch: LeaderEpoch,
    /// Its sequence number, -1 for none.
    pub sequence: i32,
    /// Whether it is a control record, which is not data of any producer.
    pub is_control: bool,
    /// Whether it belongs to a transaction.
    pub is_transactional: bool,
}

/// One header of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header<'a> {
    /// Its name; Kafka stores UTF-8 but does not check it.
    pub key: &'a [u8],
    /// Its value; `None` is null.
    pub value: Option<&'a [u8]>,
}

/// The headers of a record: an iterator over bytes that were checked when the record was decoded. It is `Copy` as the
/// record is: a copy iterates for itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Headers<'a> {
    bytes: &'a [u8],
    count: u32,
}

impl Headers<'_> {
    /// How many are left.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether none are left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

#[allow(clippy::copy_iterator)] // as a slice: a copy is another look at the same bytes
impl<'a> Iterator for Headers<'a> {
    type Item = Header<'a>;

    fn next(&mut self) -> Option<Header<'a>> {
        self.count = self.count.checked_sub(1)?;
        let (header, rest) = read_header(self.bytes).ok()?;
        self.bytes = rest;
        Some(header)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len(), Some(self.len()))
    }
}

impl ExactSizeIterator for Headers<'_> {}

/// Bytes of a record as their place in the buffer that it was decoded from: places stay good when the buffer moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Span {
    start: u32,
    len: u32,
}

impl Span {
    /// Null, as a key or value.
    const NULL: Self = Self {
        start: u32::MAX,
        len: 0,
    };

    pub(super) fn new(start: usize, len: usize) -> Option<Self> {
        Some(Self {
            start: u32::try_from(start).ok().filter(|&s| s != u32::MAX)?,
            len: u32::try_from(len).ok()?,
        })
    }

    /// The bytes in `buffer`; `None` is null.
    #[must_use]
    pub fn of(self, buffer: &[u8]) -> Option<&[u8]> {
        // No place is beyond it.
        if self.start == u32::MAX {
            return None;
        }
        let start = self.start as usize;
        buffer.get(start..start + self.len as usize)
    }
}

/// A decoded record with its bytes as places.
#[derive(Clone, Copy, Debug)]
pub struct RecordParts {
    /// Its place in the log.
    pub offset: Offset,
    /// Its time, as a reader sees it.
    pub timestamp: TimestampMs,
    /// The key.
    pub key: Span,
    /// The value.
    pub value: Span,
    headers: Span,
    header_count: u32,
    /// Its sequence number, -1 for none.
    pub sequence: i32,
}

/// What all records of a batch share.
#[derive(Clone, Copy, Debug)]
pub struct BatchFacts {
    /// Whose time the timestamps are.
    pub timestamp_type: TimestampType,
    /// Leader epoch, -1 for none.
    pub leader_epoch: LeaderEpoch,
    /// Whether the records are control records.
    pub is_control: bool,
    /// Whether the records belong to a transaction.
    pub is_transactional: bool,
}

impl RecordParts {
    /// How many headers it has.
    #[must_use]
    #[inline]
    pub fn header_count(&self) -> u32 {
        self.header_count
    }

    /// The record with its bytes in `buffer`, the one it was decoded from.
    #[must_use]
    #[inline]
    pub fn of<'a>(&self, buffer: &'a [u8], facts: &BatchFacts) -> Record<'a> {
        Record {
            offset: self.offset,
            timestamp: self.timestamp,
            timestamp_type: facts.timestamp_type,
            key: self.key.of(buffer),
            value: self.value.of(buffer),
            headers: Headers {
                bytes: self.headers.of(buffer).unwrap_or_default(),
                count: self.header_count,
            },
            leader_epoch: facts.leader_epoch,
            sequence: self.sequence,
            is_control: facts.is_control,
            is_transactional: facts.is_transactional,
        }
    }

    /// A message of magic 0 or 1: no headers, no sequence.
    pub(super) fn legacy(
        offset: Offset,
        timestamp: TimestampMs,
        key: Option<Span>,
        value: Option<Span>,
    ) -> Self {
        Self {
            offset,
            timestamp,
            key: key.unwrap_or(Span::NULL),
            value: value.unwrap_or(Span::NULL),
            headers: Span::default(),
            header_count: 0,
            sequence: -1,
        }
    }
}

/// The fields of a record's body, relative to its batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Body {
    pub(super) timestamp_delta: i64,
    pub(super) offset_delta: i32,
    pub(super) key: Span,
    pub(super) value: Span,
    headers: Span,
    header_count: u32,
}

impl Body {
    pub(super) fn at(self, offset: Offset, timestamp: TimestampMs, sequence: i32) -> RecordParts {
        RecordParts {
            offset,
            timestamp,
            key: self.key,
            value: self.value,
            headers: self.headers,
            header_count: self.header_count,
            sequence,
        }
    }
}

/// Reads the body of a record, which is `body` and nothing more; `start` is the place of `body` in its buffer.
#[inline(always)]
pub(super) fn parse_body(body: &[u8], start: usize) -> Result<Body> {
    match parse_usual(body, start) {
        Some(body) => Ok(body),
        None => parse_any(body, start),
    }
}

/// A body as most are: no number of it has more than two bytes, and there are no headers. `None` if it is not like that, be it
/// that it is wrong.
#[inline(always)]
fn parse_usual(body: &[u8], start: usize) -> Option<Body> {
    let last = body.len().checked_sub(1)?;
    // No place in it is beyond what a span can say.
    u32::try_from(start + body.len()).ok()?;
    let start = u32::try_from(start).ok()?;
    // The attributes of a record are unused.
    let mut at = 1;
    let timestamp_delta = take_short(body, &mut at)?;
    let offset_delta = take_short(body, &mut at)?;
    let key = take_short_span(body, &mut at, start)?;
    let value = take_short_span(body, &mut at, start)?;
    // That the last byte is the next one says that key and value end before it.
    if at != last || *body.get(last)? != 0 {
        return None;
    }
    Some(Body {
        timestamp_delta: i64::from(zigzag_decode32(timestamp_delta)),
        offset_delta: zigzag_decode32(offset_delta),
        key,
        value,
        headers: Span::default(),
        header_count: 0,
    })
}

/// How the length of a null key or value is stored: -1.
const NULL_LEN: u32 = 1;

/// A number of one or two bytes, as it is stored.
#[inline(always)]
fn take_short(body: &[u8], at: &mut usize) -> Option<u32> {
    let a = *body.get(*at)?;
    if a < 0x80 {
        *at += 1;
        return Some(u32::from(a));
    }
    let b = *body.get(*at + 1)?;
    *at += 2;
    (b < 0x80).then(|| u32::from(a & 0x7f) | u32::from(b) << 7)
}

/// The place of a key or value with a short length, which may lie beyond the end of the body.
#[inline(always)]
#[allow(
    clippy::cast_possible_truncation,
    reason = "the caller saw to it that every place in the body fits"
)]
fn take_short_span(body: &[u8], at: &mut usize, start: u32) -> Option<Span> {
    match take_short(body, at)? {
        NULL_LEN => Some(Span::NULL),
        len if len & 1 == 0 => {
            let place = start.wrapping_add(*at as u32);
            *at += len as usize / 2;
            Some(Span {
                start: place,
                len: len / 2,
            })
        }
        _ => None,
    }
}

#[inline(never)]
fn parse_any(body: &[u8], start: usize) -> Result<Body> {
    let end = start + body.len();
    // The attributes of a record are unused.
    let mut rest = body.get(1..).unwrap_or_default();
    let (timestamp_delta, n) = read_varlong(rest)?;
    rest = rest.get(n..).unwrap_or_default();
    let (offset_delta, n) = read_varint(rest)?;
    rest = rest.get(n..).unwrap_or_default();
    let key = take_nullable(&mut rest, end, "key")?;
    let value = take_nullable(&mut rest, end, "value")?;
    let (header_count, n) = read_varint(rest)?;
    rest = rest.get(n..).unwrap_or_default();
    let (headers, header_count) = if header_count == 0 && rest.is_empty() {
        (Span::default(), 0)
    } else {
        (
            Span::new(end - rest.len(), rest.len()).ok_or_else(too_far)?,
            check_headers(rest, header_count)?,
        )
    };
    Ok(Body {
        timestamp_delta,
        offset_delta,
        key,
        value,
        headers,
        header_count,
    })
}

/// What validation asks for of the record at the front of `rest`, with what follows it, if it is as most are: no number of it
/// has more than two bytes, and there are no headers. `None` if it is not like that, be it that it is wrong.
#[inline(always)]
pub(super) fn usual_brief(rest: &[u8]) -> Option<(Brief, &[u8])> {
    // All in front of the key, each number with two bytes.
    let front: &[u8; 9] = rest.first_chunk()?;
    let mut at = 0;
    let end = take_short_bytes(front, &mut at)? + at;
    // The attributes of a record are unused.
    at += 1;
    let timestamp_delta = take_short(front, &mut at)?;
    let offset_delta = take_short(front, &mut at)?;
    let has_key = skip_short(front, &mut at)?;
    skip_short(rest, &mut at)?;
    // That the last byte is the next one says that key and value end before it.
    let (&last, behind) = rest.get(at..)?.split_first()?;
    if at + 1 != end || last != 0 {
        return None;
    }
    let brief = Brief {
        timestamp_delta: i64::from(zigzag_decode32(timestamp_delta)),
        offset_delta: zigzag_decode32(offset_delta),
        has_key,
    };
    Some((brief, behind))
}

/// A length of one or two bytes that is not negative.
#[inline(always)]
fn take_short_bytes(bytes: &[u8], at: &mut usize) -> Option<usize> {
    let len = take_short(bytes, at)?;
    (len & 1 == 0).then_some(len as usize / 2)
}

/// Passes over a key or value with a short length, which may lie beyond the end; whether it is not null.
#[inline(always)]
fn skip_short(record: &[u8], at: &mut usize) -> Option<bool> {
    match take_short(record, at)? {
        NULL_LEN => Some(false),
        len if len & 1 == 0 => {
            *at += len as usize / 2;
            Some(true)
        }
        _ => None,
    }
}

/// Reads what validation asks for of the body of a record: [`parse_body`] without places.
#[inline(always)]
pub(super) fn parse_brief(body: &[u8]) -> Result<Brief> {
    let rest = body.get(1..).unwrap_or_default();
    let (timestamp_delta, n) = read_varlong(rest)?;
    let rest = rest.get(n..).unwrap_or_default();
    let (offset_delta, n) = read_varint(rest)?;
    let rest = rest.get(n..).unwrap_or_default();
    let (has_key, rest) = skip_nullable(rest, "key")?;
    let (_, rest) = skip_nullable(rest, "value")?;
    // Most records end with no headers.
    if *rest != [0] {
        let (header_count, n) = read_varint(rest)?;
        check_headers(rest.get(n..).unwrap_or_default(), header_count)?;
    }
    Ok(Brief {
        timestamp_delta,
        offset_delta,
        has_key,
    })
}

#[inline(always)]
fn skip_nullable<'a>(rest: &'a [u8], what: &str) -> Result<(bool, &'a [u8])> {
    let (len, n) = read_varint(rest)?;
    let after = rest.get(n..).unwrap_or_default();
    let Ok(len) = usize::try_from(len) else {
        return Ok((false, after));
    };
    match after.get(len..) {
        Some(behind) => Ok((true, behind)),
        None => Err(overrun(what, len, after.len())),
    }
}

/// Reads all headers once; they must be all that is left.
#[inline(never)]
fn check_headers(rest: &[u8], header_count: i32) -> Result<u32> {
    // The claimed count is checked before anything is done that often (records.md 2.9 (e)).
    let header_count = u32::try_from(header_count)
        .ok()
        .filter(|&count| count as usize <= rest.len())
        .ok_or_else(|| {
            Error::invalid_record(format!(
                "a record claims {header_count} headers, {} bytes are left",
                rest.len()
            ))
        })?;
    let mut left = rest;
    for _ in 0..header_count {
        left = read_header(left)?.1;
    }
    if left.is_empty() {
        return Ok(header_count);
    }
    Err(Error::invalid_record(format!(
        "a record has {} bytes behind its last field: its size is wrong",
        left.len()
    )))
}

/// A key or value at the front of `rest`, which ends at `end` of the buffer: any negative length is null.
#[inline(always)]
fn take_nullable(rest: &mut &[u8], end: usize, what: &str) -> Result<Span> {
    let (len, n) = read_varint(rest)?;
    let after = rest.get(n..).unwrap_or_default();
    let Ok(len) = usize::try_from(len) else {
        *rest = after;
        return Ok(Span::NULL);
    };
    let Some(behind) = after.get(len..) else {
        return Err(overrun(what, len, after.len()));
    };
    *rest = behind;
    Span::new(end - after.len(), len).ok_or_else(too_far)
}

fn read_header(bytes: &[u8]) -> Result<(Header<'_>, &[u8])> {
    let (key_len, n) = read_varint(bytes)?;
    let rest = bytes.get(n..).unwrap_or_default();
    let key_len = usize::try_from(key_len).map_err(|_| {
        Error::invalid_record(format!(
            "the length {key_len} of a header's key is negative"
        ))
    })?;
    let (key, rest) = rest
        .split_at_checked(key_len)
        .ok_or_else(|| overrun("header key", key_len, rest.len()))?;
    let (value_len, n) = read_varint(rest)?;
    let rest = rest.get(n..).unwrap_or_default();
    let Ok(value_len) = usize::try_from(value_len) else {
        return Ok((Header { key, value: None }, rest));
    };
    let (value, rest) = rest
        .split_at_checked(value_len)
        .ok_or_else(|| overrun("header value", value_len, rest.len()))?;
    Ok((
        Header {
            key,
            value: Some(value),
        },
        rest,
    ))
}

#[cold]
fn overrun(what: &str, len: usize, left: usize) -> Error {
    Error::invalid_record(format!(
        "the {what} of a record has {len} bytes, {left} are left"
    ))
}

#[cold]
fn too_far() -> Error {
    Error::invalid_record("a record lies more than 4 GiB into its batch")
}

#[cfg(test)]
mod tests {
    use super::super::varint::{write_varint, write_varlong};
    use super::*;
    use proptest::prelude::*;

    fn body(timestamp: i64, offset: i32, sizes: [i32; 2], headers: u8) -> Vec<u8> {
        let mut bytes = vec![0];
        write_varlong(&mut bytes, timestamp);
        write_varint(&mut bytes, offset);
        for size in sizes {
            write_varint(&mut bytes, size);
            bytes.extend((0..size).map(|_| 7));
        }
        write_varint(&mut bytes, i32::from(headers));
        bytes.extend((0..headers).flat_map(|_| [2, b'h', 1]));
        bytes
    }

    proptest! {
        #[test]
        fn a_usual_body_is_read_as_any(
            timestamp in prop_oneof![-9000i64..9000, any::<i64>()],
            offset in prop_oneof![0i32..9000, any::<i32>()],
            sizes in [-1i32..200, -1i32..9000],
            headers in 0u8..3,
            flips in proptest::collection::vec((any::<usize>(), any::<u8>()), 0..3),
            cut in any::<Option<u16>>(),
            start in 0usize..5000,
        ) {
            let mut bytes = body(timestamp, offset, sizes, headers);
            if flips.is_empty() && cut.is_none() {
                let is_short = |value: i64| (-8192..8192).contains(&value);
                let is_usual = headers == 0
                    && is_short(timestamp)
                    && is_short(i64::from(offset))
                    && sizes.iter().all(|&size| is_short(i64::from(size)));
                prop_assert_eq!(parse_usual(&bytes, start).is_some(), is_usual);
            }
            for (at, value) in flips {
                // Most of what is read stands in front.
                let at = at % bytes.len().min(if value % 2 == 0 { 8 } else { usize::MAX });
                bytes[at] = value;
            }
            bytes.truncate(cut.map_or(bytes.len(), usize::from));
            if let Some(usual) = parse_usual(&bytes, start) {
                prop_assert_eq!(parse_any(&bytes, start).map_err(|e| e.kind()), Ok(usual));
            }
        }
    }

    #[test]
    fn no_place_is_taken_for_null() {
        let bytes = body(0, 0, [-1, 0], 0);
        let far = u32::MAX as usize - bytes.len();
        assert!(parse_usual(&bytes, far).is_some_and(|b| b.value != Span::NULL));
        assert_eq!(parse_usual(&bytes, far + 1), None);
    }
}
