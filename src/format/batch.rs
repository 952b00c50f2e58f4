//! The header of a batch, of every magic, and the bytes of a whole one. Implements records.md 2.1-2.5, 2.13, 4.1.
//!
//! A message of magic 0 or 1 with its 12-byte prefix is a batch too: a single record, or a compressed wrapper of many.
//! Headers are read leniently, as Kafka's file reader does: any magic above 2 has the layout of 2, any below 2 that of 0
//! and 1. [`Batch::ensure_valid`] is the strict check.

use std::fmt;

use super::bytes::{array, i16_at, i32_at, i64_at, put, u32_at};
use super::codec::Codec;
use super::crc::{self, CRC_COVERS_FROM, LEGACY_CRC_COVERS_FROM, crc32, crc32c};
use crate::error::{Error, ErrorKind, Result};
use crate::types::{LeaderEpoch, Offset, ProducerId, TimestampMs};

/// Offset and size in front of every batch: bytes that the size field does not count.
pub const PREFIX_BYTES: usize = 12;
/// Prefix, leader epoch or CRC, magic: what tells the layout of the rest.
pub const PREFIX_AND_MAGIC_BYTES: usize = 17;
/// The header of a batch of magic 2, records excluded.
pub const HEADER_BYTES: usize = 61;
/// The smallest value of the size field that is not corrupt.
pub const MIN_SIZE_FIELD: i32 = 14;

const SIZE_AT: usize = 8;
/// Where a batch of magic 2 has its leader epoch, which its checksum leaves out.
pub(crate) const LEADER_EPOCH_AT: usize = 12;
/// Where every batch has its magic.
pub(crate) const MAGIC_AT: usize = 16;
const CRC_AT: usize = 17;
const ATTRIBUTES_AT: usize = 21;
const LAST_OFFSET_DELTA_AT: usize = 23;
const BASE_TIMESTAMP_AT: usize = 27;
const MAX_TIMESTAMP_AT: usize = 35;
const PRODUCER_ID_AT: usize = 43;
const PRODUCER_EPOCH_AT: usize = 51;
const BASE_SEQUENCE_AT: usize = 53;
const COUNT_AT: usize = 57;

const LEGACY_CRC_AT: usize = 12;
const LEGACY_ATTRIBUTES_AT: usize = 17;
const LEGACY_TIMESTAMP_AT: usize = 18;

/// Whose time a record's timestamp is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimestampType {
    /// Magic 0 has no timestamps.
    None,
    /// The producer's.
    CreateTime,
    /// The log's, when it was appended: every record has the batch's max timestamp.
    LogAppendTime,
}

impl TimestampType {
    /// `none`, `create` or `append`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::CreateTime => "create",
            Self::LogAppendTime => "append",
        }
    }
}

/// The attribute bits of a batch (records.md 2.3). Unknown bits are kept as they are read.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Attributes(pub u16);

impl Attributes {
    const CODEC: u16 = 0x07;
    const LOG_APPEND_TIME: u16 = 0x08;
    const TRANSACTIONAL: u16 = 0x10;
    const CONTROL: u16 = 0x20;
    const DELETE_HORIZON: u16 = 0x40;
    /// The bits that have a meaning; rewriting attributes clears the others.
    const KNOWN: u16 = 0x7f;

    /// The compression codec; an error for the ids 5 to 7, which no version has defined.
    pub fn codec(self) -> Result<Codec> {
        let id = self.0 & Self::CODEC;
        u8::try_from(id).ok().and_then(Codec::from_id).ok_or_else(|| {
            Error::new(
                ErrorKind::UnsupportedCompressionType,
                format!("unknown compression codec {id}; known are 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd"),
            )
        })
    }

    /// Whether the codec bits say that the records are compressed, also by an unknown codec.
    #[must_use]
    pub const fn is_compressed(self) -> bool {
        self.0 & Self::CODEC != 0
    }

    /// Whether the batch's max timestamp stands for all of its records.
    #[must_use]
    pub const fn is_log_append_time(self) -> bool {
        self.0 & Self::LOG_APPEND_TIME != 0
    }

    /// Whether the batch belongs to a transaction.
    #[must_use]
    pub const fn is_transactional(self) -> bool {
        self.0 & Self::TRANSACTIONAL != 0
    }

    /// Whether the batch holds control records, which no consumer sees.
    #[must_use]
    pub const fn is_control(self) -> bool {
        self.0 & Self::CONTROL != 0
    }

    /// Whether the base timestamp field holds the delete horizon (records.md 2.4).
    #[must_use]
    pub const fn has_delete_horizon(self) -> bool {
        self.0 & Self::DELETE_HORIZON != 0
    }

    /// The same batch with another codec.
    #[must_use]
    pub const fn with_codec(self, codec: Codec) -> Self {
        Self((self.0 & !Self::CODEC) | codec.id() as u16)
    }

    /// The same batch with another timestamp type.
    #[must_use]
    pub const fn with_log_append_time(self, append: bool) -> Self {
        Self(self.set(Self::LOG_APPEND_TIME, append))
    }

    /// The same batch in a transaction or not.
    #[must_use]
    pub const fn with_transactional(self, transactional: bool) -> Self {
        Self(self.set(Self::TRANSACTIONAL, transactional))
    }

    /// The same batch with control records or not.
    #[must_use]
    pub const fn with_control(self, control: bool) -> Self {
        Self(self.set(Self::CONTROL, control))
    }

    /// The same batch with a delete horizon or not.
    #[must_use]
    pub const fn with_delete_horizon(self, horizon: bool) -> Self {
        Self(self.set(Self::DELETE_HORIZON, horizon))
    }

    /// Without the bits that have no meaning.
    #[must_use]
    pub const fn known_bits(self) -> Self {
        Self(self.0 & Self::KNOWN)
    }

    const fn set(self, bit: u16, on: bool) -> u16 {
        if on { self.0 | bit } else { self.0 & !bit }
    }
}

impl fmt::Debug for Attributes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#06x}", self.0)
    }
}

/// What the fixed part of a batch says. Fields that magic 0 and 1 do not have are -1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchHeader {
    /// The format: 0, 1 or 2. Other values are possible in damaged files.
    pub magic: i8,
    /// All bytes of the batch, prefix included.
    pub size_bytes: u32,
    /// First offset of the range. For magic 0 and 1 the offset field, which is the **last** offset of a wrapper:
    /// [`super::legacy::base_offset`] looks inside.
    pub base_offset: Offset,
    /// Last offset of the range; compaction may have removed its record.
    pub last_offset: Offset,
    /// Codec, timestamp type and flags.
    pub attributes: Attributes,
    /// The stored checksum.
    pub crc: u32,
    /// Leader epoch.
    pub leader_epoch: LeaderEpoch,
    /// The raw field: timestamp of the first record appended, or the delete horizon.
    pub base_timestamp: TimestampMs,
    /// Largest record timestamp, or the append time. Magic 1: the message's timestamp. Magic 0: none.
    pub max_timestamp: TimestampMs,
    /// Producer id.
    pub producer_id: ProducerId,
    /// Producer epoch.
    pub producer_epoch: i16,
    /// Sequence number of the first record.
    pub base_sequence: i32,
    /// How many records the header claims; a claim, not to allocate by. -1 for magic 0 and 1.
    pub record_count: i32,
}

impl BatchHeader {
    /// Reads the header from the first bytes of a batch: [`HEADER_BYTES`] of them, fewer if the batch is shorter.
    /// `None` if there are too few for its format. Checks nothing else.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let [magic] = array(bytes, MAGIC_AT)?;
        let magic = magic.cast_signed();
        let offset = Offset(i64_at(bytes, 0)?);
        let size_bytes = total_size(i32_at(bytes, SIZE_AT)?)?;
        if magic < 2 {
            return Self::parse_legacy(bytes, magic, offset, size_bytes);
        }
        let header: [u8; HEADER_BYTES] = array(bytes, 0)?;
        let last_offset_delta = i32_at(&header, LAST_OFFSET_DELTA_AT)?;
        Some(Self {
            magic,
            size_bytes,
            base_offset: offset,
            last_offset: offset + i64::from(last_offset_delta),
            attributes: Attributes(i16_at(&header, ATTRIBUTES_AT)?.cast_unsigned()),
            crc: u32_at(&header, CRC_AT)?,
            leader_epoch: LeaderEpoch(i32_at(&header, LEADER_EPOCH_AT)?),
            base_timestamp: TimestampMs(i64_at(&header, BASE_TIMESTAMP_AT)?),
            max_timestamp: TimestampMs(i64_at(&header, MAX_TIMESTAMP_AT)?),
            producer_id: ProducerId(i64_at(&header, PRODUCER_ID_AT)?),
            producer_epoch: i16_at(&header, PRODUCER_EPOCH_AT)?,
            base_sequence: i32_at(&header, BASE_SEQUENCE_AT)?,
            record_count: i32_at(&header, COUNT_AT)?,
        })
    }

    fn parse_legacy(bytes: &[u8], magic: i8, offset: Offset, size_bytes: u32) -> Option<Self> {
        let [attributes] = array(bytes, LEGACY_ATTRIBUTES_AT)?;
        // Kafka reads what is neither magic 0 nor 2 as magic 1, also the negative ones that only damage makes.
        let timestamp = match magic {
            0 => -1,
            1 => i64_at(bytes, LEGACY_TIMESTAMP_AT)?,
            _ => i64_at(bytes, LEGACY_TIMESTAMP_AT).unwrap_or(-1),
        };
        // Magic 0 has no timestamp type; the other high bits never had a meaning.
        let known = if magic == 0 { 0x07 } else { 0x0f };
        Some(Self {
            magic,
            size_bytes,
            base_offset: offset,
            last_offset: offset,
            attributes: Attributes(u16::from(attributes & known)),
            crc: u32_at(bytes, LEGACY_CRC_AT)?,
            leader_epoch: LeaderEpoch::NONE,
            base_timestamp: TimestampMs::NONE,
            max_timestamp: TimestampMs(timestamp),
            producer_id: ProducerId::NONE,
            producer_epoch: -1,
            base_sequence: -1,
            record_count: -1,
        })
    }

    /// Whether this has the layout of magic 2.
    #[must_use]
    pub const fn is_v2(&self) -> bool {
        self.magic >= 2
    }

    /// Whose time the record timestamps are.
    #[must_use]
    pub const fn timestamp_type(&self) -> TimestampType {
        if self.magic == 0 {
            TimestampType::None
        } else if self.attributes.is_log_append_time() {
            TimestampType::LogAppendTime
        } else {
            TimestampType::CreateTime
        }
    }

    /// The time from which tombstones and markers of this batch may go, if one was set.
    #[must_use]
    pub const fn delete_horizon(&self) -> Option<TimestampMs> {
        if self.is_v2() && self.attributes.has_delete_horizon() {
            Some(self.base_timestamp)
        } else {
            None
        }
    }

    /// Whether the batch touches producer state.
    #[must_use]
    pub const fn has_producer_id(&self) -> bool {
        self.producer_id.is_some()
    }

    /// Sequence of the last record, wrapped (records.md 2.5); -1 without a base sequence.
    #[must_use]
    pub fn last_sequence(&self) -> i32 {
        if self.base_sequence == -1 {
            return -1;
        }
        increment_sequence(self.base_sequence, self.last_offset_delta())
    }

    /// Whether the offsets rise and can come behind everything below `expected`. None is the largest possible one, behind
    /// which there would be no log end.
    #[must_use]
    pub fn follows(&self, expected: Offset) -> bool {
        expected <= self.base_offset
            && self.base_offset <= self.last_offset
            && self.last_offset < Offset::MAX
    }

    /// Last offset minus base offset, as stored.
    #[must_use]
    #[allow(clippy::cast_possible_truncation)] // the difference was made from an i32
    pub fn last_offset_delta(&self) -> i32 {
        (self.last_offset - self.base_offset) as i32
    }
}

/// `sequence + delta`, where 0 follows 2147483647 (records.md 2.5).
#[must_use]
pub const fn increment_sequence(sequence: i32, delta: i32) -> i32 {
    match sequence.checked_add(delta) {
        Some(sum) => sum,
        None => delta
            .wrapping_sub(i32::MAX.wrapping_sub(sequence))
            .wrapping_sub(1),
    }
}

/// `sequence - delta`, where 2147483647 comes before 0 (records.md 2.5).
#[must_use]
pub const fn decrement_sequence(sequence: i32, delta: i32) -> i32 {
    if sequence < delta {
        i32::MAX
            .wrapping_sub(delta.wrapping_sub(sequence))
            .wrapping_add(1)
    } else {
        sequence.wrapping_sub(delta)
    }
}

/// Prefix and what the size field counts, if that is a size at all.
#[must_use]
pub fn total_size(size_field: i32) -> Option<u32> {
    u32::try_from(size_field).ok()?.checked_add(12)
}

/// The bytes of one whole batch.
#[derive(Clone, Copy)]
pub struct Batch<'a> {
    bytes: &'a [u8],
    header: BatchHeader,
}

impl fmt::Debug for Batch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.header.fmt(f)
    }
}

impl<'a> Batch<'a> {
    /// The batch that `bytes` are. The bytes must be exactly those of one batch; its size is checked, not its checksum.
    pub fn new(bytes: &'a [u8]) -> Result<Self> {
        match BatchHeader::parse(bytes) {
            Some(header) if header.size_bytes as usize == bytes.len() => Ok(Self { bytes, header }),
            Some(header) => Err(Error::corrupt(format!(
                "a batch says it has {} bytes, {} are there",
                header.size_bytes,
                bytes.len()
            ))),
            None => Err(Error::corrupt(format!(
                "{} bytes are too few for a batch",
                bytes.len()
            ))),
        }
    }

    /// What its fixed part says.
    #[must_use]
    pub fn header(&self) -> &BatchHeader {
        &self.header
    }

    /// All of its bytes.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The records of a batch of magic 2, as stored: one after the other, or compressed.
    #[must_use]
    pub fn records_bytes(&self) -> &'a [u8] {
        self.bytes.get(HEADER_BYTES..).unwrap_or_default()
    }

    /// The checksum of its content.
    #[must_use]
    pub fn compute_crc(&self) -> u32 {
        if self.header.is_v2() {
            crc32c(self.bytes.get(CRC_COVERS_FROM..).unwrap_or_default())
        } else {
            crc32(self.bytes.get(LEGACY_CRC_COVERS_FROM..).unwrap_or_default())
        }
    }

    /// Size and checksum, as Kafka's `ensureValid` (records.md 2.13, steps 3 and 4).
    pub fn ensure_valid(&self) -> Result<()> {
        crc::check(&self.header, self.compute_crc())
    }
}

/// Writes what a leader assigns: base offset and leader epoch lie outside the checksum (records.md 2.2).
pub fn stamp(batch: &mut [u8], base_offset: Offset, leader_epoch: LeaderEpoch) {
    put(batch, 0, base_offset.0.to_be_bytes());
    put(batch, LEADER_EPOCH_AT, leader_epoch.0.to_be_bytes());
}

/// Lowers the leader epoch in the beginning of a batch to `latest`, if it is a later one; messages of magic 0 and 1 have
/// none. Whether anything changed.
pub fn cap_epoch(prefix: &mut [u8; PREFIX_AND_MAGIC_BYTES], latest: LeaderEpoch) -> bool {
    let epoch = i32_at(prefix, LEADER_EPOCH_AT).unwrap_or_default();
    let is_later = array::<1>(prefix, MAGIC_AT) == Some([2]) && epoch > latest.0;
    if is_later {
        put(prefix, LEADER_EPOCH_AT, latest.0.to_be_bytes());
    }
    is_later
}

/// Sets timestamp type and max timestamp of a batch of magic 2; if both are as wanted nothing changes, else the
/// checksum is made anew and unknown attribute bits are cleared (records.md 2.4).
pub fn set_max_timestamp(batch: &mut [u8], append_time: bool, max_timestamp: TimestampMs) {
    let Some(header) = BatchHeader::parse(batch) else {
        return;
    };
    if header.attributes.is_log_append_time() == append_time
        && header.max_timestamp == max_timestamp
    {
        return;
    }
    let attributes = header
        .attributes
        .known_bits()
        .with_log_append_time(append_time);
    put(batch, ATTRIBUTES_AT, attributes.0.to_be_bytes());
    put(batch, MAX_TIMESTAMP_AT, max_timestamp.0.to_be_bytes());
    seal(batch);
}

/// Writes the checksum of a batch of magic 2.
pub fn seal(batch: &mut [u8]) {
    let crc = crc32c(batch.get(CRC_COVERS_FROM..).unwrap_or_default());
    put(batch, CRC_AT, crc.to_be_bytes());
}

/// Writes a whole header of magic 2 over the first [`HEADER_BYTES`] of `batch`, whose length becomes the size field,
/// and the checksum of what follows.
pub(super) fn write_header(batch: &mut [u8], header: &BatchHeader) {
    let size_field = u32::try_from(batch.len() - PREFIX_BYTES).unwrap_or(u32::MAX);
    stamp(batch, header.base_offset, header.leader_epoch);
    put(batch, SIZE_AT, size_field.to_be_bytes());
    put(batch, MAGIC_AT, [2]);
    put(batch, ATTRIBUTES_AT, header.attributes.0.to_be_bytes());
    put(
        batch,
        LAST_OFFSET_DELTA_AT,
        header.last_offset_delta().to_be_bytes(),
    );
    put(
        batch,
        BASE_TIMESTAMP_AT,
        header.base_timestamp.0.to_be_bytes(),
    );
    put(
        batch,
        MAX_TIMESTAMP_AT,
        header.max_timestamp.0.to_be_bytes(),
    );
    put(batch, PRODUCER_ID_AT, header.producer_id.0.to_be_bytes());
    put(
        batch,
        PRODUCER_EPOCH_AT,
        header.producer_epoch.to_be_bytes(),
    );
    put(batch, BASE_SEQUENCE_AT, header.base_sequence.to_be_bytes());
    put(batch, COUNT_AT, header.record_count.to_be_bytes());
    seal(batch);
}

/// What the next bytes of a sequence of batches are (records.md 2.14, 2.15).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// A batch of this many bytes, prefix included.
    Batch(u32),
    /// The sequence ends here without error: nothing more, or a partial batch.
    End,
}

/// What comes next in memory when `bytes` are left: the strict walk of an append (records.md 2.15). A wrong size or
/// magic is an error.
pub fn next_in_memory(bytes: &[u8]) -> Result<Next> {
    let Some(size_field) = i32_at(bytes, SIZE_AT) else {
        return Ok(Next::End);
    };
    let size = checked_size(size_field)?;
    let Some([magic]) = array::<1>(bytes, MAGIC_AT) else {
        return Ok(Next::End);
    };
    if magic > 2 {
        return Err(Error::corrupt(format!(
            "unknown magic {} of a batch; known are 0, 1, 2",
            magic.cast_signed()
        )));
    }
    Ok(if bytes.len() < size as usize {
        Next::End
    } else {
        Next::Batch(size)
    })
}

/// What comes next in a file when `prefix` was read at a place with `left` bytes to the end: the walk of a reader,
/// which knows every magic (records.md 2.14). The caller stops by itself when 17 bytes or fewer are left.
pub fn next_in_file(prefix: &[u8; PREFIX_AND_MAGIC_BYTES], left: u64) -> Result<Next> {
    let size_field = i32_at(prefix, SIZE_AT).unwrap_or(0);
    if size_field < MIN_SIZE_FIELD {
        return Err(size_too_small(size_field));
    }
    // A size near 2^31 simply leaves the file: a partial batch.
    match total_size(size_field) {
        Some(size) if u64::from(size) <= left => Ok(Next::Batch(size)),
        _ => Ok(Next::End),
    }
}

fn checked_size(size_field: i32) -> Result<u32> {
    if size_field < MIN_SIZE_FIELD {
        return Err(size_too_small(size_field));
    }
    match total_size(size_field) {
        Some(size) if i32::try_from(size).is_ok() => Ok(size),
        _ => Err(Error::corrupt(format!(
            "the size field {size_field} of a batch is above what a batch can have"
        ))),
    }
}

fn size_too_small(size_field: i32) -> Error {
    Error::corrupt(format!(
        "the size field of a batch is {size_field}, at least {MIN_SIZE_FIELD} is needed"
    ))
}
