//! Control records: transaction markers and KRaft's own. Implements records.md 3.

use super::batch::{Batch, BatchHeader};
use super::builder::{BatchBuilder, BatchOptions};
use super::bytes::{i16_at, i32_at};
use super::decoder::RecordDecoder;
use super::record::Record;
use crate::error::{Error, Result};
use crate::types::TimestampMs;

/// What a control record's key says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlKey {
    /// Version of the key; above 0 is read as 0.
    pub version: i16,
    /// The type: 0 abort, 1 commit, 2 to 6 KRaft's, others unknown.
    pub control_type: i16,
}

/// A producer's transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndTxnMarker {
    /// Whether it was committed, not aborted.
    pub commit: bool,
    /// Version of the value.
    pub version: i16,
    /// Epoch of the coordinator that wrote the marker.
    pub coordinator_epoch: i32,
}

/// The type of an ABORT marker.
pub const ABORT: i16 = 0;
/// The type of a COMMIT marker.
pub const COMMIT: i16 = 1;

/// Reads a control record's key (records.md 3.2).
pub fn parse_key(key: Option<&[u8]>) -> Result<ControlKey> {
    let key = key.ok_or_else(|| Error::invalid_record("a control record has no key"))?;
    let (Some(version), Some(control_type)) = (i16_at(key, 0), i16_at(key, 2)) else {
        return Err(Error::invalid_record(format!(
            "the key of a control record has {} bytes, not 4",
            key.len()
        )));
    };
    if version < 0 {
        return Err(Error::invalid_record(format!(
            "the key of a control record has the version {version}"
        )));
    }
    Ok(ControlKey {
        version,
        control_type,
    })
}

/// Reads the value of an ABORT or COMMIT marker (records.md 3.3).
pub fn parse_end_marker(key: ControlKey, value: Option<&[u8]>) -> Result<EndTxnMarker> {
    let value = value.ok_or_else(|| Error::invalid_record("a transaction marker has no value"))?;
    let (Some(version), Some(coordinator_epoch)) = (i16_at(value, 0), i32_at(value, 2)) else {
        return Err(Error::invalid_record(format!(
            "the value of a transaction marker has {} bytes, not 6",
            value.len()
        )));
    };
    if version < 0 {
        return Err(Error::invalid_record(format!(
            "the value of a transaction marker has the version {version}"
        )));
    }
    Ok(EndTxnMarker {
        commit: key.control_type == COMMIT,
        version,
        coordinator_epoch,
    })
}

/// What a control batch means to producer state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlBatch {
    /// It ends a transaction; the time is that of the marker record.
    EndTxn(EndTxnMarker, TimestampMs),
    /// Compaction took its record: it ends nothing.
    Empty,
}

/// Control batches above this size are no markers, which have less than a hundred bytes: they are not read.
pub const MARKER_BYTES_MAX: u32 = 1 << 20;

/// Whether a batch may be a marker of a producer.
#[must_use]
pub fn is_marker(header: &BatchHeader) -> bool {
    header.attributes.is_control()
        && header.has_producer_id()
        && header.size_bytes <= MARKER_BYTES_MAX
}

/// A decoder for markers: what a small batch is decompressed to is not held if it is far more.
#[must_use]
pub fn marker_decoder() -> RecordDecoder {
    let mut decoder = RecordDecoder::new();
    decoder.bound_memory(MARKER_BYTES_MAX as usize);
    decoder
}

/// Reads what a control batch of a producer means: only its first record counts. A type other than ABORT and COMMIT is
/// INVALID_RECORD here (records.md 3.6).
pub fn read_control_batch(batch: &Batch<'_>, decoder: &mut RecordDecoder) -> Result<ControlBatch> {
    decoder.begin(batch)?;
    let Some(record) = decoder.next(batch)? else {
        return Ok(ControlBatch::Empty);
    };
    let (marker, timestamp) = end_marker_of(&record)?;
    Ok(ControlBatch::EndTxn(marker, timestamp))
}

fn end_marker_of(record: &Record<'_>) -> Result<(EndTxnMarker, TimestampMs)> {
    let key = parse_key(record.key)?;
    if key.control_type != ABORT && key.control_type != COMMIT {
        return Err(Error::invalid_record(format!(
            "a control record of a producer has the type {}, not 0 (abort) or 1 (commit)",
            key.control_type
        )));
    }
    Ok((parse_end_marker(key, record.value)?, record.timestamp))
}

/// Makes the batch of a transaction marker; the options bring offset, epochs and producer.
pub fn write_end_marker<'b>(
    builder: &'b mut BatchBuilder,
    commit: bool,
    coordinator_epoch: i32,
    timestamp: TimestampMs,
    options: &BatchOptions,
) -> Result<&'b mut [u8]> {
    let control_type = if commit { COMMIT } else { ABORT };
    let [t0, t1] = control_type.to_be_bytes();
    let [e0, e1, e2, e3] = coordinator_epoch.to_be_bytes();
    builder.clear();
    builder.push(
        timestamp,
        Some(&[0, 0, t0, t1]),
        Some(&[0, 0, e0, e1, e2, e3]),
        [].into_iter(),
    )?;
    builder.finish(&BatchOptions {
        control: true,
        transactional: true,
        base_sequence: -1,
        ..*options
    })
}
