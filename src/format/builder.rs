//! Makes batches of magic 2 from records, encoding each once into a buffer that is used again. Implements records.md
//! 2.1-2.8 as a writer.

use super::batch::{Attributes, BatchHeader, HEADER_BYTES, write_header};
use super::codec::{Codec, Compressor, Lz4Header};
use super::record::Header;
use super::varint::{put_varint, put_varlong, varint_len, varlong_len};
use crate::error::{Error, ErrorKind, Result};
use crate::types::{LeaderEpoch, Offset, ProducerId, TimestampMs};

/// A batch has at most as many bytes as its size field can say, and a segment file no more.
const MAX_BATCH_BYTES: usize = 0x7fff_ffff;

/// Collects records and makes one batch of them. All memory is kept for the next batch.
pub struct BatchBuilder {
    /// Room for the header, then the records as they are stored uncompressed; the first `used` bytes count. It grows and does
    /// not shrink, so that its memory is cleared once, not for each batch.
    buffer: Vec<u8>,
    used: usize,
    /// Room for the header, then the compressed records.
    compressed: Vec<u8>,
    compressor: Compressor,
    record_count: i32,
    base_timestamp: TimestampMs,
    max_timestamp: TimestampMs,
    /// The smallest that is not -1.
    min_timestamp: Option<TimestampMs>,
    has_null_key: bool,
    last_offset_delta: i32,
    delete_horizon: Option<TimestampMs>,
}

/// A place among the records of a builder.
#[derive(Clone, Copy, Debug)]
pub struct BuilderMark {
    bytes: usize,
    record_count: i32,
    base_timestamp: TimestampMs,
    max_timestamp: TimestampMs,
    min_timestamp: Option<TimestampMs>,
    has_null_key: bool,
    last_offset_delta: i32,
}

impl BuilderMark {
    /// How many records there were.
    #[must_use]
    pub fn record_count(&self) -> i32 {
        self.record_count
    }

    /// Bytes of the batch then, uncompressed.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

/// What a batch says besides its records.
#[derive(Clone, Copy, Debug)]
pub struct BatchOptions {
    /// First offset of the range.
    pub base_offset: Offset,
    /// Leader epoch, -1 for none.
    pub leader_epoch: LeaderEpoch,
    /// How the records are compressed.
    pub codec: Codec,
    /// The codec's level; `None` is its default (records.md 5.6).
    pub level: Option<i32>,
    /// The time of the append, if that is what the records' timestamps shall be.
    pub log_append_time: Option<TimestampMs>,
    /// Producer id, -1 for none.
    pub producer_id: ProducerId,
    /// Producer epoch, -1 for none.
    pub producer_epoch: i16,
    /// Sequence number of the first record, -1 for none.
    pub base_sequence: i32,
    /// Whether the records belong to a transaction.
    pub transactional: bool,
    /// Whether the records are control records.
    pub control: bool,
    /// Last offset of the range minus the first; `None` is that of the last record (records.md 2.6).
    pub last_offset_delta: Option<i32>,
    /// The max timestamp field of a batch with create time; `None` is the largest of the records.
    pub max_timestamp: Option<TimestampMs>,
}

impl Default for BatchOptions {
    /// Uncompressed, create time, offset 0, no leader epoch, no producer.
    fn default() -> Self {
        Self {
            base_offset: Offset::ZERO,
            leader_epoch: LeaderEpoch::NONE,
            codec: Codec::None,
            level: None,
            log_append_time: None,
            producer_id: ProducerId::NONE,
            producer_epoch: -1,
            base_sequence: -1,
            transactional: false,
            control: false,
            last_offset_delta: None,
            max_timestamp: None,
        }
    }
}

impl Default for BatchBuilder {
    fn default() -> Self {
        Self::new()
    }
}

impl BatchBuilder {
    /// A builder without records.
    #[must_use]
    pub fn new() -> Self {
        let mut builder = Self {
            buffer: vec![0; HEADER_BYTES],
            used: HEADER_BYTES,
            compressed: Vec::new(),
            compressor: Compressor::new(),
            record_count: 0,
            base_timestamp: TimestampMs::NONE,
            max_timestamp: TimestampMs::NONE,
            min_timestamp: None,
            has_null_key: false,
            last_offset_delta: -1,
            delete_horizon: None,
        };
        builder.clear();
        builder
    }

    /// Forgets the records, keeps the memory.
    pub fn clear(&mut self) {
        self.used = HEADER_BYTES;
        self.record_count = 0;
        self.base_timestamp = TimestampMs::NONE;
        self.max_timestamp = TimestampMs::NONE;
        self.min_timestamp = None;
        self.has_null_key = false;
        self.last_offset_delta = -1;
        self.delete_horizon = None;
    }

    /// The batch to come shall carry this delete horizon in place of a base timestamp (records.md 2.4). Before the
    /// first record only.
    pub fn set_delete_horizon(&mut self, horizon: TimestampMs) {
        debug_assert_eq!(
            self.record_count, 0,
            "record timestamps are stored relative to the horizon"
        );
        self.delete_horizon = Some(horizon);
    }

    /// How many records there are.
    #[must_use]
    pub fn record_count(&self) -> i32 {
        self.record_count
    }

    /// Bytes of the batch if it is not compressed.
    #[must_use]
    pub fn uncompressed_bytes(&self) -> usize {
        self.used
    }

    /// Bytes of memory kept.
    #[must_use]
    pub fn capacity_bytes(&self) -> usize {
        self.buffer.capacity() + self.compressed.capacity()
    }

    /// The largest timestamp so far, -1 for none.
    #[must_use]
    pub fn max_timestamp(&self) -> TimestampMs {
        self.max_timestamp
    }

    /// The smallest timestamp so far; `None` if all are -1.
    #[must_use]
    pub fn min_timestamp(&self) -> Option<TimestampMs> {
        self.min_timestamp
    }

    /// Whether a record so far has a null key.
    #[must_use]
    pub fn has_null_key(&self) -> bool {
        self.has_null_key
    }

    /// The timestamp that those of the records are stored relative to.
    #[must_use]
    pub fn base_timestamp(&self) -> TimestampMs {
        self.base_timestamp
    }

    /// The records so far as a batch stores them uncompressed.
    #[must_use]
    pub fn records_bytes(&self) -> &[u8] {
        self.buffer.get(HEADER_BYTES..self.used).unwrap_or_default()
    }

    /// Where the builder is now, to come back to.
    #[must_use]
    pub fn mark(&self) -> BuilderMark {
        BuilderMark {
            bytes: self.used,
            record_count: self.record_count,
            base_timestamp: self.base_timestamp,
            max_timestamp: self.max_timestamp,
            min_timestamp: self.min_timestamp,
            has_null_key: self.has_null_key,
            last_offset_delta: self.last_offset_delta,
        }
    }

    /// Forgets the records that were added since `mark`, which is one of this builder's since its last [`Self::clear`].
    pub fn rewind(&mut self, mark: &BuilderMark) {
        debug_assert!(mark.bytes <= self.used && mark.record_count <= self.record_count);
        self.used = mark.bytes.min(self.used);
        self.record_count = mark.record_count;
        self.base_timestamp = mark.base_timestamp;
        self.max_timestamp = mark.max_timestamp;
        self.min_timestamp = mark.min_timestamp;
        self.has_null_key = mark.has_null_key;
        self.last_offset_delta = mark.last_offset_delta;
    }

    /// Adds a record behind the last one. Timestamp -1 is none; other negative ones are INVALID_TIMESTAMP.
    #[inline]
    pub fn push<'a, H>(
        &mut self,
        timestamp: TimestampMs,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        headers: H,
    ) -> Result<()>
    where
        H: ExactSizeIterator<Item = Header<'a>> + Clone,
    {
        self.push_at(
            self.last_offset_delta.wrapping_add(1),
            timestamp,
            key,
            value,
            headers,
        )
    }

    /// Adds a record at a distance from the base offset; distances rise.
    pub fn push_at<'a, H>(
        &mut self,
        offset_delta: i32,
        timestamp: TimestampMs,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        headers: H,
    ) -> Result<()>
    where
        H: ExactSizeIterator<Item = Header<'a>> + Clone,
    {
        let index = usize::try_from(self.record_count).unwrap_or(0);
        if timestamp.0 < -1 || offset_delta <= self.last_offset_delta {
            return Err(self.refused(index, offset_delta, timestamp));
        }
        let first = if self.record_count == 0 {
            timestamp
        } else {
            self.base_timestamp
        };
        let base = self.delete_horizon.unwrap_or(first);
        let timestamp_delta = timestamp.0.wrapping_sub(base.0);
        let header_count = length(headers.len(), index)?;
        let mut body_bytes =
            1 + varlong_len(timestamp_delta) + varint_len(offset_delta) + varint_len(header_count);
        for bytes in [key, value] {
            body_bytes = nullable_len(bytes, body_bytes);
        }
        for header in headers.clone() {
            body_bytes = nullable_len(Some(header.key), body_bytes);
            body_bytes = nullable_len(header.value, body_bytes);
        }
        let body_size = length(body_bytes, index)?;
        let record_bytes = body_bytes.saturating_add(varint_len(body_size));
        let mut out = Writer {
            rest: self.room(record_bytes, index)?,
        };
        out.varint(body_size);
        out.bytes(&[0]);
        out.varlong(timestamp_delta);
        out.varint(offset_delta);
        out.nullable(key);
        out.nullable(value);
        out.varint(header_count);
        for header in headers {
            out.nullable(Some(header.key));
            out.nullable(header.value);
        }
        // An iterator that gave other headers the second time; zeros are left of what it gave less.
        debug_assert!(out.rest.is_empty(), "the headers are the same twice");
        self.used += record_bytes;
        self.base_timestamp = base;
        self.max_timestamp = self.max_timestamp.max(timestamp);
        if timestamp.is_some() {
            let smallest = self.min_timestamp.unwrap_or(timestamp);
            self.min_timestamp = Some(smallest.min(timestamp));
        }
        self.has_null_key |= key.is_none();
        self.last_offset_delta = offset_delta;
        self.record_count += 1;
        Ok(())
    }

    #[cold]
    fn refused(&self, index: usize, offset_delta: i32, timestamp: TimestampMs) -> Error {
        let error = if timestamp.0 < -1 {
            Error::new(
                ErrorKind::InvalidTimestamp,
                format!(
                    "record {index} has the negative timestamp {timestamp}; -1 is the only one, for none"
                ),
            )
        } else {
            Error::invalid_argument(format!(
                "record {index} has the offset delta {offset_delta}, not above {} of the one before",
                self.last_offset_delta
            ))
        };
        error.at_record(index)
    }

    /// Room for a record behind the last one.
    #[inline]
    fn room(&mut self, record_bytes: usize, index: usize) -> Result<&mut [u8]> {
        let end = self.used.saturating_add(record_bytes);
        if end > self.buffer.len() {
            self.grow(end, index)?;
        }
        Ok(self.buffer.get_mut(self.used..end).unwrap_or_default())
    }

    #[cold]
    fn grow(&mut self, end: usize, index: usize) -> Result<()> {
        if end > MAX_BATCH_BYTES {
            return Err(too_large(index, end));
        }
        let missing = end - self.buffer.len();
        self.buffer.try_reserve(missing).map_err(|_| {
            Error::new(
                ErrorKind::NoMemory,
                format!("no memory for a batch of {end} bytes"),
            )
        })?;
        // All that was reserved, which is twice as much as before: so this is seldom.
        let capacity = self.buffer.capacity();
        self.buffer.resize(capacity, 0);
        Ok(())
    }

    /// The batch of the records added so far. It stays the builder's until the next change of it; what lies outside the
    /// checksum may be stamped in place ([`super::batch::stamp`]).
    pub fn finish(&mut self, options: &BatchOptions) -> Result<&mut [u8]> {
        let mut attributes = Attributes::default()
            .with_codec(options.codec)
            .with_log_append_time(options.log_append_time.is_some())
            .with_transactional(options.transactional)
            .with_control(options.control)
            .with_delete_horizon(self.delete_horizon.is_some() && self.record_count > 0);
        let last_offset_delta = options
            .last_offset_delta
            .unwrap_or(self.last_offset_delta.max(0));
        let batch = if options.codec == Codec::None || self.record_count == 0 {
            attributes = attributes.with_codec(Codec::None);
            self.buffer.get_mut(..self.used).unwrap_or_default()
        } else {
            self.compressed.clear();
            self.compressed.resize(HEADER_BYTES, 0);
            let records = self.buffer.get(HEADER_BYTES..self.used);
            let records = records.unwrap_or_default();
            self.compressor.compress(
                options.codec,
                options.level,
                Lz4Header::Checked,
                records,
                &mut self.compressed,
            )?;
            self.compressed.as_mut_slice()
        };
        if batch.len() > MAX_BATCH_BYTES {
            return Err(too_large(
                usize::try_from(self.record_count).unwrap_or(0),
                batch.len(),
            ));
        }
        let header = BatchHeader {
            magic: 2,
            size_bytes: 0,
            base_offset: options.base_offset,
            last_offset: options.base_offset + i64::from(last_offset_delta),
            attributes,
            crc: 0,
            leader_epoch: options.leader_epoch,
            base_timestamp: self.base_timestamp,
            max_timestamp: options
                .log_append_time
                .or(options.max_timestamp)
                .unwrap_or(self.max_timestamp),
            producer_id: options.producer_id,
            producer_epoch: options.producer_epoch,
            base_sequence: options.base_sequence,
            record_count: self.record_count,
        };
        write_header(batch, &header);
        Ok(batch)
    }
}

#[inline]
fn nullable_len(bytes: Option<&[u8]>, sum: usize) -> usize {
    // A length beyond i32 makes the sum fail the check of the whole body.
    let len = bytes.map_or(0, <[u8]>::len);
    let prefix = bytes.map_or(1, |b| {
        varint_len(i32::try_from(b.len()).unwrap_or(i32::MAX))
    });
    sum.saturating_add(prefix).saturating_add(len)
}

/// Writes into a place that was measured before.
struct Writer<'b> {
    rest: &'b mut [u8],
}

impl Writer<'_> {
    #[inline]
    fn bytes(&mut self, bytes: &[u8]) {
        let rest = std::mem::take(&mut self.rest);
        if let Some((place, rest)) = rest.split_at_mut_checked(bytes.len()) {
            place.copy_from_slice(bytes);
            self.rest = rest;
        }
    }

    #[inline]
    fn varint(&mut self, value: i32) {
        let used = put_varint(self.rest, value);
        self.skip(used);
    }

    #[inline]
    fn varlong(&mut self, value: i64) {
        let used = put_varlong(self.rest, value);
        self.skip(used);
    }

    #[inline]
    fn skip(&mut self, bytes: usize) {
        let rest = std::mem::take(&mut self.rest);
        self.rest = rest.get_mut(bytes..).unwrap_or_default();
    }

    #[inline]
    fn nullable(&mut self, bytes: Option<&[u8]>) {
        match bytes {
            None => self.varint(-1),
            Some(bytes) => {
                self.varint(i32::try_from(bytes.len()).unwrap_or(i32::MAX));
                self.bytes(bytes);
            }
        }
    }
}

#[inline]
fn length(len: usize, index: usize) -> Result<i32> {
    i32::try_from(len).map_err(|_| too_large(index, len))
}

#[cold]
fn too_large(index: usize, bytes: usize) -> Error {
    Error::new(
        ErrorKind::TooLarge,
        format!("record {index} makes {bytes} bytes; a record and a batch have at most 2147483647"),
    )
    .at_record(index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::batch::{Batch, TimestampType};
    use crate::format::decoder::RecordDecoder;
    use proptest::prelude::*;

    type Owned = (
        i64,
        Option<Vec<u8>>,
        Option<Vec<u8>>,
        Vec<(Vec<u8>, Option<Vec<u8>>)>,
    );

    fn records() -> impl Strategy<Value = Vec<Owned>> {
        let bytes = || proptest::collection::vec(any::<u8>(), 0..80);
        let headers = proptest::collection::vec((bytes(), proptest::option::of(bytes())), 0..4);
        let timestamp = prop_oneof![
            Just(-1i64),
            Just(0),
            0..i64::MAX,
            1_700_000_000_000i64..1_700_000_100_000
        ];
        proptest::collection::vec(
            (
                timestamp,
                proptest::option::of(bytes()),
                proptest::option::of(bytes()),
                headers,
            ),
            1..30,
        )
    }

    proptest! {
        #[test]
        fn what_was_built_is_read_back(
            records in records(),
            codec in 0u8..5,
            base in 0i64..i64::MAX / 2,
            sequence in -1i32..i32::MAX,
            append_time in proptest::option::of(0i64..i64::MAX),
        ) {
            let codec = Codec::from_id(codec).unwrap();
            let mut builder = BatchBuilder::new();
            for (ts, key, value, headers) in &records {
                let headers: Vec<_> = headers
                    .iter()
                    .map(|(k, v)| Header { key: k, value: v.as_deref() })
                    .collect();
                builder.push(TimestampMs(*ts), key.as_deref(), value.as_deref(), headers.iter().copied()).unwrap();
            }
            let options = BatchOptions {
                base_offset: Offset(base),
                leader_epoch: LeaderEpoch(3),
                codec,
                log_append_time: append_time.map(TimestampMs),
                base_sequence: sequence,
                ..BatchOptions::default()
            };
            let bytes = builder.finish(&options).unwrap();
            let batch = Batch::new(bytes).unwrap();
            batch.ensure_valid().unwrap();
            let header = *batch.header();
            prop_assert_eq!(header.last_offset, Offset(base) + (records.len() as i64 - 1));
            prop_assert_eq!(header.record_count as usize, records.len());
            let mut decoder = RecordDecoder::new();
            decoder.begin(&batch).unwrap();
            for (i, (ts, key, value, headers)) in records.iter().enumerate() {
                let record = decoder.next(&batch).unwrap().unwrap();
                prop_assert_eq!(record.offset, Offset(base + i as i64));
                prop_assert_eq!(record.timestamp.0, append_time.unwrap_or(*ts));
                prop_assert_eq!(record.key, key.as_deref());
                prop_assert_eq!(record.value, value.as_deref());
                let read: Vec<_> =
                    record.headers.map(|h| (h.key.to_vec(), h.value.map(<[u8]>::to_vec))).collect();
                prop_assert_eq!(&read, headers);
                prop_assert_eq!(record.timestamp_type == TimestampType::LogAppendTime, append_time.is_some());
            }
            prop_assert!(decoder.next(&batch).unwrap().is_none());
        }
    }

    #[test]
    fn a_negative_timestamp_is_refused_by_index() {
        let mut builder = BatchBuilder::new();
        builder
            .push(TimestampMs(-1), None, None, [].into_iter())
            .unwrap();
        let error = builder
            .push(TimestampMs(-2), None, None, [].into_iter())
            .unwrap_err();
        assert_eq!(
            (error.kind(), error.record_index()),
            (ErrorKind::InvalidTimestamp, Some(1))
        );
    }
}
