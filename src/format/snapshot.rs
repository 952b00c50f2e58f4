//! Producer snapshots: the state of all producers up to the offset in the file's name. Implements records.md 9.

use super::bytes::{i16_at, i32_at, i64_at, put, u32_at};
use super::crc::crc32c;
use crate::error::{Error, ErrorKind, Result};
use crate::types::{Offset, ProducerId, TimestampMs};

const VERSION: i16 = 1;
const HEADER_BYTES: usize = 10;
const ENTRY_BYTES: usize = 46;
/// Kafka reads no more entries than this.
const MAX_ENTRIES: u32 = 1_000_000;

/// No file that can be read is larger.
pub const BYTES_MAX: u64 = HEADER_BYTES as u64 + MAX_ENTRIES as u64 * ENTRY_BYTES as u64;

/// What a snapshot holds of one producer: of its remembered batches only the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProducerEntry {
    /// The producer.
    pub producer_id: ProducerId,
    /// Its current epoch.
    pub epoch: i16,
    /// Last sequence of its last batch, -1 without one.
    pub last_sequence: i32,
    /// Last offset of its last batch, -1 without one.
    pub last_offset: Offset,
    /// Last minus first offset of that batch.
    pub offset_delta: i32,
    /// Its last timestamp.
    pub timestamp: TimestampMs,
    /// Coordinator epoch of its last marker, -1 without one.
    pub coordinator_epoch: i32,
    /// First offset of its open transaction.
    pub txn_first_offset: Option<Offset>,
}

/// Reads a snapshot. What does not parse is CORRUPT_STATE: the file is worthless, an older one or the log has the state.
pub fn parse(content: &[u8]) -> Result<Vec<ProducerEntry>> {
    entries_of(content)?
        .map(|e| parse_entry(e).ok_or_else(|| corrupt(format_args!("an entry ends early"))))
        .collect()
}

/// Whether [`parse`] would read it; takes no memory.
pub fn check(content: &[u8]) -> Result<()> {
    entries_of(content).map(|_| ())
}

fn entries_of(content: &[u8]) -> Result<impl Iterator<Item = &[u8]>> {
    let version = i16_at(content, 0)
        .ok_or_else(|| corrupt(format_args!("it has {} bytes", content.len())))?;
    if version != VERSION {
        return Err(corrupt(format_args!(
            "its version is {version}, not {VERSION}"
        )));
    }
    let (Some(crc), Some(count)) = (u32_at(content, 2), i32_at(content, 6)) else {
        return Err(corrupt(format_args!("it has {} bytes", content.len())));
    };
    let computed = crc32c(content.get(6..).unwrap_or_default());
    if crc != computed {
        return Err(corrupt(format_args!(
            "its checksum is {computed:08x}, stored is {crc:08x}"
        )));
    }
    let entries = content.get(HEADER_BYTES..).unwrap_or_default();
    let whole = entries.len() / ENTRY_BYTES;
    let count = usize::try_from(count)
        .ok()
        .filter(|&n| n <= whole && n <= MAX_ENTRIES as usize);
    let count =
        count.ok_or_else(|| corrupt(format_args!("its number of entries is not what follows")))?;
    Ok(entries.chunks_exact(ENTRY_BYTES).take(count))
}

fn parse_entry(bytes: &[u8]) -> Option<ProducerEntry> {
    Some(ProducerEntry {
        producer_id: ProducerId(i64_at(bytes, 0)?),
        epoch: i16_at(bytes, 8)?,
        last_sequence: i32_at(bytes, 10)?,
        last_offset: Offset(i64_at(bytes, 14)?),
        offset_delta: i32_at(bytes, 22)?,
        timestamp: TimestampMs(i64_at(bytes, 26)?),
        coordinator_epoch: i32_at(bytes, 34)?,
        txn_first_offset: i64_at(bytes, 38).filter(|&o| o >= 0).map(Offset),
    })
}

/// Writes a snapshot with the entries in the order given.
#[must_use]
pub fn write<'a>(entries: impl IntoIterator<Item = &'a ProducerEntry>) -> Vec<u8> {
    let mut out = vec![0; HEADER_BYTES];
    for entry in entries {
        out.extend_from_slice(&entry.producer_id.0.to_be_bytes());
        out.extend_from_slice(&entry.epoch.to_be_bytes());
        out.extend_from_slice(&entry.last_sequence.to_be_bytes());
        out.extend_from_slice(&entry.last_offset.0.to_be_bytes());
        out.extend_from_slice(&entry.offset_delta.to_be_bytes());
        out.extend_from_slice(&entry.timestamp.0.to_be_bytes());
        out.extend_from_slice(&entry.coordinator_epoch.to_be_bytes());
        out.extend_from_slice(
            &entry
                .txn_first_offset
                .unwrap_or(Offset::NONE)
                .0
                .to_be_bytes(),
        );
    }
    let count = u32::try_from((out.len() - HEADER_BYTES) / ENTRY_BYTES).unwrap_or(u32::MAX);
    put(&mut out, 0, VERSION.to_be_bytes());
    put(&mut out, 6, count.to_be_bytes());
    let crc = crc32c(out.get(6..).unwrap_or_default());
    put(&mut out, 2, crc.to_be_bytes());
    out
}

fn corrupt(what: std::fmt::Arguments<'_>) -> Error {
    Error::new(
        ErrorKind::CorruptState,
        format!("corrupt producer snapshot: {what}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::goldens::{T, unhex};

    fn golden() -> (Vec<ProducerEntry>, Vec<u8>) {
        let entries = vec![
            ProducerEntry {
                producer_id: ProducerId(4001),
                epoch: 7,
                last_sequence: 44,
                last_offset: Offset(103),
                offset_delta: 3,
                timestamp: TimestampMs(T + 70),
                coordinator_epoch: 12,
                txn_first_offset: None,
            },
            ProducerEntry {
                producer_id: ProducerId(4002),
                epoch: 0,
                last_sequence: -1,
                last_offset: Offset(-1),
                offset_delta: 0,
                timestamp: TimestampMs(T + 1),
                coordinator_epoch: -1,
                txn_first_offset: Some(Offset(490)),
            },
        ];
        let bytes = unhex(
            "00011ae731aa000000020000000000000fa100070000002c0000000000000067000000030000018bcfe568460000000cffffffffffffffff\
             0000000000000fa20000ffffffffffffffffffffffff000000000000018bcfe56801ffffffff00000000000001ea",
        );
        (entries, bytes)
    }

    #[test]
    fn g_snapshot_is_written_and_read() {
        let (entries, bytes) = golden();
        assert_eq!(write(&entries), bytes);
        assert_eq!(parse(&bytes).unwrap(), entries);
        assert_eq!(write(&[]), unhex("000148674bc700000000"));
    }

    #[test]
    fn hc18_damaged_snapshots_are_corrupt() {
        let (_, bytes) = golden();
        let reseal = |mut bytes: Vec<u8>| {
            let crc = crc32c(&bytes[6..]);
            put(&mut bytes, 2, crc.to_be_bytes());
            bytes
        };
        let with = |at: usize, value: u8| {
            let mut changed = bytes.clone();
            changed[at] = value;
            changed
        };
        for damaged in [
            vec![],
            vec![0],
            vec![0; 5],
            vec![0; 200],
            vec![7; 500],
            bytes[..20].to_vec(),
            with(30, 0xff),
            with(1, 2),
            reseal(with(9, 3)),
            reseal(with(6, 0xff)),
        ] {
            assert_eq!(
                parse(&damaged).unwrap_err().kind(),
                ErrorKind::CorruptState,
                "{damaged:?}"
            );
        }
        let mut longer = bytes.clone();
        longer.extend([9; 30]);
        assert_eq!(
            parse(&reseal(longer)).unwrap().len(),
            2,
            "bytes behind with a matching checksum are ignored"
        );
    }
}
