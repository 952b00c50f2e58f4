//! The packed record buffer, format version 1: how records cross a language border, many in one call. Little-endian.
//! Implements bindings.md 4. klog's own format: never on disk.

use super::batch::BatchHeader;
use super::record::{Header, Record};
use crate::error::{Error, ErrorKind, Result};
use crate::types::TimestampMs;

/// `K P R 1`.
pub const MAGIC: u32 = 0x3152_504b;
const VERSION: u16 = 1;
/// The head of a buffer, in bytes.
pub const HEAD_BYTES: usize = 32;
/// The head of an entry, in bytes.
pub const ENTRY_HEAD_BYTES: usize = 48;
const ALIGNMENT: usize = 8;

const KIND_RECORD: u8 = 1;
const KIND_BATCH: u8 = 2;
/// An entry about a batch, in bytes.
pub const BATCH_ENTRY_BYTES: usize = ENTRY_HEAD_BYTES + 24;
const HAS_KEY: u8 = 1;
const HAS_VALUE: u8 = 2;
const CONTROL: u8 = 4;
const TRANSACTIONAL: u8 = 8;
const LOG_APPEND_TIME: u8 = 16;
/// The length of a header's value that is null.
const NULL_LEN: u32 = u32::MAX;

/// A record to be appended.
#[derive(Clone, Copy, Debug)]
pub struct PackedRecord<'a> {
    /// Its time; -1 for none, `i64::MIN` for "now".
    pub timestamp: TimestampMs,
    /// The key; `None` is null.
    pub key: Option<&'a [u8]>,
    /// The value; `None` is null.
    pub value: Option<&'a [u8]>,
    /// The headers.
    pub headers: PackedHeaders<'a>,
}

/// Headers of a packed record: an iterator over bytes that were checked.
#[derive(Clone, Copy, Debug)]
pub struct PackedHeaders<'a> {
    bytes: &'a [u8],
    count: u32,
}

#[allow(clippy::copy_iterator)] // as a slice: a copy is another look at the same bytes
impl<'a> Iterator for PackedHeaders<'a> {
    type Item = Header<'a>;

    fn next(&mut self) -> Option<Header<'a>> {
        self.count = self.count.checked_sub(1)?;
        let (header, rest) = take_header(self.bytes)?;
        self.bytes = rest;
        Some(header)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.count as usize, Some(self.count as usize))
    }
}

impl ExactSizeIterator for PackedHeaders<'_> {}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    super::bytes::array(bytes, at).map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    super::bytes::array(bytes, at).map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    super::bytes::array(bytes, at).map(u64::from_le_bytes)
}

fn take_header(bytes: &[u8]) -> Option<(Header<'_>, &[u8])> {
    let (key_len, value_len) = (u32_at(bytes, 0)?, u32_at(bytes, 4)?);
    let (key, rest) = bytes.get(8..)?.split_at_checked(key_len as usize)?;
    if value_len == NULL_LEN {
        return Some((Header { key, value: None }, rest));
    }
    let (value, rest) = rest.split_at_checked(value_len as usize)?;
    Some((
        Header {
            key,
            value: Some(value),
        },
        rest,
    ))
}

/// Walks over the records of a buffer that a caller gives for appending.
#[derive(Clone, Debug)]
pub struct PackedReader<'a> {
    bytes: &'a [u8],
    at: usize,
    left: u32,
    index: usize,
}

impl<'a> PackedReader<'a> {
    /// Reads the head. INVALID_ARGUMENT with the position of what is wrong.
    pub fn new(buffer: &'a [u8]) -> Result<Self> {
        let head = || {
            buffer
                .first_chunk::<HEAD_BYTES>()
                .map(<[u8; HEAD_BYTES]>::as_slice)
        };
        let head = head().ok_or_else(|| {
            wrong(
                0,
                0,
                format!(
                    "a packed buffer has a head of 32 bytes, here are {}",
                    buffer.len()
                ),
            )
        })?;
        let field = |what: &str, at: u64| wrong(0, at, format!("the packed buffer's {what}"));
        if u32_at(head, 0) != Some(MAGIC) {
            return Err(field("magic is not 0x3152504b", 0));
        }
        if u16_at(head, 4) != Some(VERSION) {
            return Err(field("version is not 1", 4));
        }
        let head_bytes = u16_at(head, 6).map_or(0, usize::from);
        let left = u32_at(head, 8).unwrap_or(0);
        if u32_at(head, 12) != Some(0) {
            return Err(field("flags are not 0", 12));
        }
        let total = u64_at(head, 24).unwrap_or(0);
        let bytes = usize::try_from(total)
            .ok()
            .and_then(|total| buffer.get(..total));
        let bytes = bytes.ok_or_else(|| {
            wrong(
                0,
                24,
                format!(
                    "the packed buffer says it has {total} bytes, {} were given",
                    buffer.len()
                ),
            )
        })?;
        if head_bytes < HEAD_BYTES
            || head_bytes > bytes.len()
            || !head_bytes.is_multiple_of(ALIGNMENT)
        {
            return Err(field(
                "head length is not a multiple of 8 from 32 up to its size",
                6,
            ));
        }
        Ok(Self {
            bytes,
            at: head_bytes,
            left,
            index: 0,
        })
    }

    /// How many entries are left.
    #[must_use]
    pub fn entries_left(&self) -> u32 {
        self.left
    }

    /// The next record; `None` behind the last. INVALID_ARGUMENT with its index and position if it breaks a rule.
    pub fn next_record(&mut self) -> Result<Option<PackedRecord<'a>>> {
        if self.left == 0 {
            return Ok(None);
        }
        let fail = |what: &str| {
            wrong(
                self.index,
                self.at as u64,
                format!("entry {} of the packed buffer {what}", self.index),
            )
        };
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let entry_len = u32_at(rest, 0).ok_or_else(|| fail("begins behind its end"))? as usize;
        if entry_len < ENTRY_HEAD_BYTES || !entry_len.is_multiple_of(ALIGNMENT) {
            return Err(fail("has a length that is no multiple of 8 from 48 up"));
        }
        let entry = rest
            .get(..entry_len)
            .ok_or_else(|| fail("leaves the buffer"))?;
        let record = read_entry(entry).map_err(fail)?;
        self.at += entry_len;
        self.index += 1;
        self.left -= 1;
        Ok(Some(record))
    }
}

fn read_entry(entry: &[u8]) -> std::result::Result<PackedRecord<'_>, &'static str> {
    const SHORT: &str = "is too short";
    let [kind, flags] = super::bytes::array(entry, 4).ok_or(SHORT)?;
    if kind != KIND_RECORD {
        return Err("is not of kind 1, a record");
    }
    if flags & !(HAS_KEY | HAS_VALUE) != 0 || u16_at(entry, 6) != Some(0) {
        return Err("has a bit set that only reading sets");
    }
    let timestamp = super::bytes::array(entry, 16)
        .map(i64::from_le_bytes)
        .ok_or(SHORT)?;
    let part = |at| u32_at(entry, at).map(u64::from).ok_or(SHORT);
    let (key_len, value_len, headers_len) = (part(24)?, part(28)?, part(32)?);
    let count = u32_at(entry, 36).ok_or(SHORT)?;
    if (flags & HAS_KEY == 0 && key_len != 0) || (flags & HAS_VALUE == 0 && value_len != 0) {
        return Err("has a length for a key or value that is null");
    }
    let body = entry.get(ENTRY_HEAD_BYTES..).unwrap_or_default();
    let used = key_len + value_len + headers_len;
    if used > body.len() as u64 || body.len() as u64 - used >= ALIGNMENT as u64 {
        return Err("has parts that do not add up to its length");
    }
    let (key, rest) = body
        .split_at_checked(crate::types::to_usize(key_len))
        .ok_or(SHORT)?;
    let (value, rest) = rest
        .split_at_checked(crate::types::to_usize(value_len))
        .ok_or(SHORT)?;
    let (headers, padding) = rest
        .split_at_checked(crate::types::to_usize(headers_len))
        .ok_or(SHORT)?;
    if padding.iter().any(|&b| b != 0) {
        return Err("has padding that is not zero");
    }
    let mut unread = headers;
    for _ in 0..count {
        unread = take_header(unread)
            .ok_or("has a header that leaves its area")?
            .1;
    }
    if !unread.is_empty() {
        return Err("has bytes behind its last header");
    }
    Ok(PackedRecord {
        timestamp: TimestampMs(timestamp),
        key: (flags & HAS_KEY != 0).then_some(key),
        value: (flags & HAS_VALUE != 0).then_some(value),
        headers: PackedHeaders {
            bytes: headers,
            count,
        },
    })
}

fn wrong(index: usize, position: u64, message: String) -> Error {
    Error::new(ErrorKind::InvalidArgument, message)
        .at_record(index)
        .at_position(position)
}

/// Writes records into a buffer of fixed size.
#[derive(Debug)]
pub struct PackedWriter<'b> {
    buffer: &'b mut [u8],
    at: usize,
    entries: u32,
}

/// A place in a buffer that is written.
#[derive(Clone, Copy, Debug)]
pub struct PackedMark {
    at: usize,
    entries: u32,
}

impl<'b> PackedWriter<'b> {
    /// A writer; `None` if the buffer has no room for a head. `first_offset` is what the read asked for.
    #[must_use]
    pub fn new(buffer: &'b mut [u8], first_offset: i64) -> Option<Self> {
        let head: &mut [u8; HEAD_BYTES] = buffer.first_chunk_mut()?;
        *head = [0; HEAD_BYTES];
        super::bytes::put(head, 0, MAGIC.to_le_bytes());
        super::bytes::put(head, 4, VERSION.to_le_bytes());
        super::bytes::put(head, 6, [32, 0]);
        super::bytes::put(head, 16, first_offset.to_le_bytes());
        Some(Self {
            buffer,
            at: HEAD_BYTES,
            entries: 0,
        })
    }

    /// Bytes that an entry for `record` takes.
    #[must_use]
    pub fn entry_bytes(record: &Record<'_>) -> usize {
        let len = |b: Option<&[u8]>| b.map_or(0, <[u8]>::len);
        (ENTRY_HEAD_BYTES + len(record.key) + len(record.value) + header_area_bytes(record))
            .next_multiple_of(ALIGNMENT)
    }

    /// Adds a record if there is room for all of it.
    #[inline]
    pub fn push(&mut self, record: &Record<'_>) -> bool {
        let (key, value) = (
            record.key.unwrap_or_default(),
            record.value.unwrap_or_default(),
        );
        let headers_len = header_area_bytes(record);
        let entry_len =
            (ENTRY_HEAD_BYTES + key.len() + value.len() + headers_len).next_multiple_of(ALIGNMENT);
        let Some(entry) = self
            .at
            .checked_add(entry_len)
            .and_then(|end| self.buffer.get_mut(self.at..end))
        else {
            return false;
        };
        let Ok(len) = u32::try_from(entry_len) else {
            return false;
        };
        // The padding; what is not padding of it is written below.
        if let Some(end) = entry.last_chunk_mut::<ALIGNMENT>() {
            *end = [0; ALIGNMENT];
        }
        let Some((head, body)) = entry.split_first_chunk_mut::<ENTRY_HEAD_BYTES>() else {
            return false;
        };
        *head = entry_head(record, len, key.len(), value.len(), headers_len);
        let body = write_bytes(write_bytes(body, key), value);
        write_headers(body, record);
        self.at += entry_len;
        self.entries += 1;
        true
    }

    /// Adds an entry that tells of the batch whose records come next, if there is room for all of it.
    pub fn push_batch(&mut self, header: &BatchHeader) -> bool {
        let end = self.at + BATCH_ENTRY_BYTES;
        let Some(entry) = self.buffer.get_mut(self.at..end) else {
            return false;
        };
        write_batch_entry(entry, header);
        self.at = end;
        self.entries += 1;
        true
    }

    /// The place behind what was added so far.
    #[must_use]
    pub fn mark(&self) -> PackedMark {
        PackedMark {
            at: self.at,
            entries: self.entries,
        }
    }

    /// Takes back what was added behind a place of this writer.
    pub fn rewind(&mut self, mark: PackedMark) {
        self.at = mark.at.min(self.at);
        self.entries = mark.entries.min(self.entries);
    }

    /// Completes the head; bytes of the buffer that count.
    #[must_use]
    pub fn finish(self) -> usize {
        super::bytes::put(self.buffer, 8, self.entries.to_le_bytes());
        super::bytes::put(self.buffer, 24, (self.at as u64).to_le_bytes());
        self.at
    }
}

#[inline]
fn header_area_bytes(record: &Record<'_>) -> usize {
    if record.headers.is_empty() {
        return 0;
    }
    record
        .headers
        .map(|h| 8 + h.key.len() + h.value.map_or(0, <[u8]>::len))
        .sum()
}

/// A length as it is written. Lengths fit: the whole entry's length does.
fn len_bytes(n: usize) -> [u8; 4] {
    u32::try_from(n).unwrap_or(u32::MAX).to_le_bytes()
}

#[inline]
fn entry_head(
    record: &Record<'_>,
    len: u32,
    key_len: usize,
    value_len: usize,
    headers_len: usize,
) -> [u8; ENTRY_HEAD_BYTES] {
    let flag = |on: bool, bit: u8| if on { bit } else { 0 };
    let flags = flag(record.key.is_some(), HAS_KEY)
        | flag(record.value.is_some(), HAS_VALUE)
        | flag(record.is_control, CONTROL)
        | flag(record.is_transactional, TRANSACTIONAL)
        | flag(
            record.timestamp_type == super::batch::TimestampType::LogAppendTime,
            LOG_APPEND_TIME,
        );
    let mut head = [0; ENTRY_HEAD_BYTES];
    let put = super::bytes::put::<4>;
    put(&mut head, 0, len.to_le_bytes());
    put(&mut head, 4, [KIND_RECORD, flags, 0, 0]);
    super::bytes::put(&mut head, 8, record.offset.0.to_le_bytes());
    super::bytes::put(&mut head, 16, record.timestamp.0.to_le_bytes());
    put(&mut head, 24, len_bytes(key_len));
    put(&mut head, 28, len_bytes(value_len));
    put(&mut head, 32, len_bytes(headers_len));
    put(&mut head, 36, len_bytes(record.headers.len()));
    put(&mut head, 40, record.leader_epoch.0.to_le_bytes());
    put(&mut head, 44, record.sequence.to_le_bytes());
    head
}

/// Writes bytes to the front of a place; what is left of it.
#[inline]
fn write_bytes<'b>(place: &'b mut [u8], bytes: &[u8]) -> &'b mut [u8] {
    match place.split_at_mut_checked(bytes.len()) {
        Some((front, rest)) => {
            front.copy_from_slice(bytes);
            rest
        }
        None => &mut [],
    }
}

#[inline]
fn write_headers(mut place: &mut [u8], record: &Record<'_>) {
    if record.headers.is_empty() {
        return;
    }
    for header in record.headers {
        let value_len = header
            .value
            .map_or(NULL_LEN.to_le_bytes(), |v| len_bytes(v.len()));
        place = write_bytes(place, &len_bytes(header.key.len()));
        place = write_bytes(place, &value_len);
        place = write_bytes(place, header.key);
        place = write_bytes(place, header.value.unwrap_or_default());
    }
}

fn write_batch_entry(entry: &mut [u8], header: &BatchHeader) {
    let put = super::bytes::put::<4>;
    let put_long = super::bytes::put::<8>;
    let put_short = super::bytes::put::<2>;
    entry.fill(0);
    put(entry, 0, 72_u32.to_le_bytes());
    super::bytes::put(entry, 4, [KIND_BATCH]);
    put_long(entry, 8, header.base_offset.0.to_le_bytes());
    put_long(entry, 16, header.max_timestamp.0.to_le_bytes());
    put(entry, 24, header.size_bytes.to_le_bytes());
    // Formats 0 and 1 count no records.
    put(entry, 28, header.record_count.to_le_bytes());
    put(entry, 36, u32::from(header.attributes.0).to_le_bytes());
    put(entry, 40, header.leader_epoch.0.to_le_bytes());
    put(entry, 44, header.base_sequence.to_le_bytes());
    put_long(entry, 48, header.producer_id.0.to_le_bytes());
    put_short(entry, 56, header.producer_epoch.to_le_bytes());
    put_short(entry, 58, i16::from(header.magic).to_le_bytes());
    put(entry, 60, header.crc.to_le_bytes());
    put_long(entry, 64, header.last_offset.0.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::batch::Batch;
    use crate::format::builder::{BatchBuilder, BatchOptions};
    use crate::format::decoder::RecordDecoder;
    use proptest::prelude::*;

    type Plain<'a> = (i64, Option<&'a [u8]>, Option<&'a [u8]>, &'a [Header<'a>]);

    fn pack(records: &[Plain<'_>]) -> Vec<u8> {
        let mut builder = BatchBuilder::new();
        for (ts, key, value, headers) in records {
            builder
                .push(TimestampMs(*ts), *key, *value, headers.iter().copied())
                .unwrap();
        }
        let bytes = builder.finish(&BatchOptions::default()).unwrap();
        let batch = Batch::new(bytes).unwrap();
        let mut decoder = RecordDecoder::new();
        decoder.begin(&batch).unwrap();
        let mut buffer = vec![0xdb; 4096];
        let mut writer = PackedWriter::new(&mut buffer, 0).unwrap();
        while let Some(record) = decoder.next(&batch).unwrap() {
            assert!(writer.push(&record));
        }
        let used = writer.finish();
        buffer.truncate(used);
        buffer
    }

    fn sample() -> Vec<u8> {
        let headers = [
            Header {
                key: b"h",
                value: Some(b"x"),
            },
            Header {
                key: b"",
                value: None,
            },
        ];
        pack(&[
            (5, Some(b"key"), Some(b"value"), &headers),
            (-1, None, None, &[]),
            (7, Some(b""), Some(b""), &[]),
        ])
    }

    #[test]
    fn what_was_written_is_read_back() {
        let buffer = sample();
        let mut reader = PackedReader::new(&buffer).unwrap();
        assert_eq!(reader.entries_left(), 3);
        let first = reader.next_record().unwrap().unwrap();
        assert_eq!(
            (first.timestamp.0, first.key, first.value),
            (5, Some(&b"key"[..]), Some(&b"value"[..]))
        );
        let headers: Vec<_> = first.headers.collect();
        assert_eq!(
            headers,
            [
                Header {
                    key: b"h",
                    value: Some(b"x")
                },
                Header {
                    key: b"",
                    value: None
                }
            ]
        );
        let second = reader.next_record().unwrap().unwrap();
        assert_eq!(
            (second.timestamp.0, second.key, second.value),
            (-1, None, None)
        );
        let third = reader.next_record().unwrap().unwrap();
        assert_eq!((third.key, third.value), (Some(&b""[..]), Some(&b""[..])));
        assert!(reader.next_record().unwrap().is_none());
    }

    #[test]
    fn an_entry_that_does_not_fit_is_left_out_whole() {
        let buffer = sample();
        let mut small = vec![0; HEAD_BYTES + 47];
        let mut writer = PackedWriter::new(&mut small, 9).unwrap();
        let mut reader = PackedReader::new(&buffer).unwrap();
        let record = reader.next_record().unwrap().unwrap();
        let record = Record {
            offset: crate::types::Offset(0),
            timestamp: record.timestamp,
            timestamp_type: crate::format::batch::TimestampType::CreateTime,
            key: record.key,
            value: record.value,
            headers: crate::format::record::Headers::default(),
            leader_epoch: crate::types::LeaderEpoch(0),
            sequence: -1,
            is_control: false,
            is_transactional: false,
        };
        assert!(!writer.push(&record));
        assert_eq!(writer.finish(), HEAD_BYTES);
        assert!(PackedWriter::new(&mut [0; 31], 0).is_none());
    }

    #[test]
    fn rule_4_1_broken_buffers_are_refused_with_their_place() {
        let good = sample();
        let with = |at: usize, value: u8| {
            let mut bytes = good.clone();
            bytes[at] = value;
            bytes
        };
        let first = HEAD_BYTES;
        let cases: Vec<(Vec<u8>, u64)> = vec![
            (good[..20].to_vec(), 0),
            (with(0, 0), 0),
            (with(4, 2), 4),
            (with(6, 33), 6),
            (with(12, 1), 12),
            (with(30, 1), 24),
            (with(first, 44), first as u64),
            (with(first + 3, 1), first as u64),
            (with(first + 4, 2), first as u64),
            (with(first + 5, 7), first as u64),
            (with(first + 6, 1), first as u64),
            (with(first + 24, 200), first as u64),
            (with(first + 36, 9), first as u64),
            (with(first + 5, 2), first as u64),
        ];
        for (bytes, position) in cases {
            let error = PackedReader::new(&bytes)
                .and_then(|mut r| r.next_record().map(|_| ()))
                .unwrap_err();
            assert_eq!(
                (error.kind(), error.position()),
                (ErrorKind::InvalidArgument, Some(position)),
                "{error}"
            );
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300), flips in proptest::collection::vec((0usize..200, any::<u8>()), 0..4)) {
            let mut mutated = sample();
            for (at, value) in flips {
                let at = at % mutated.len();
                mutated[at] = value;
            }
            for buffer in [&bytes, &mutated] {
                if let Ok(mut reader) = PackedReader::new(buffer) {
                    while let Ok(Some(record)) = reader.next_record() {
                        let _ = record.headers.count();
                    }
                }
            }
        }
    }
}
