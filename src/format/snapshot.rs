//! Producer snapshots: the state of all producers up to the offset in the file's name. Implements records.md 9.

use super::bytes::{i16_at, i32_at, i64_at, put, u32_at};
use super::crc::{crc32c, crc32c_append};
use crate::error::{Error, ErrorKind, Result};
use crate::types::{Offset, ProducerId, TimestampMs, to_usize};

const VERSION: i16 = 1;
const HEADER_BYTES: usize = 10;
const ENTRY_BYTES: usize = 46;
/// The checksum covers the bytes from here on.
const SUMMED_FROM: u64 = 6;
/// How much is read or written at a time; a multiple of the size of an entry.
const PIECE_BYTES: usize = 4096 * ENTRY_BYTES;
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

/// An entry as the file has it: the smallest form that holds all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredEntry([u8; ENTRY_BYTES]);

impl StoredEntry {
    /// Whose it is.
    #[must_use]
    pub fn producer_id(&self) -> ProducerId {
        ProducerId(i64_at(&self.0, 0).unwrap_or_default())
    }

    /// What it says.
    #[must_use]
    pub fn entry(&self) -> ProducerEntry {
        let bytes = &self.0;
        let int = |at| i32_at(bytes, at).unwrap_or_default();
        let long = |at| i64_at(bytes, at).unwrap_or_default();
        ProducerEntry {
            producer_id: self.producer_id(),
            epoch: i16_at(bytes, 8).unwrap_or_default(),
            last_sequence: int(10),
            last_offset: Offset(long(14)),
            offset_delta: int(22),
            timestamp: TimestampMs(long(26)),
            coordinator_epoch: int(34),
            txn_first_offset: Some(Offset(long(38))).filter(|first| first.0 >= 0),
        }
    }
}

impl From<&ProducerEntry> for StoredEntry {
    fn from(entry: &ProducerEntry) -> Self {
        let mut bytes = [0; ENTRY_BYTES];
        let txn_first = entry.txn_first_offset.unwrap_or(Offset::NONE);
        put(&mut bytes, 0, entry.producer_id.0.to_be_bytes());
        put(&mut bytes, 8, entry.epoch.to_be_bytes());
        put(&mut bytes, 10, entry.last_sequence.to_be_bytes());
        put(&mut bytes, 14, entry.last_offset.0.to_be_bytes());
        put(&mut bytes, 22, entry.offset_delta.to_be_bytes());
        put(&mut bytes, 26, entry.timestamp.0.to_be_bytes());
        put(&mut bytes, 34, entry.coordinator_epoch.to_be_bytes());
        put(&mut bytes, 38, txn_first.0.to_be_bytes());
        Self(bytes)
    }
}

/// Fills bytes with those at a position; how many there were.
pub type ReadAt<'r> = dyn FnMut(&mut [u8], u64) -> Result<usize> + 'r;

/// Reads a snapshot. What does not parse is CORRUPT_STATE: the file is worthless, an older one or the log has the state.
pub fn parse(content: &[u8]) -> Result<Vec<ProducerEntry>> {
    let mut entries = Vec::new();
    let mut read = |to: &mut [u8], at: u64| {
        let from = content.get(to_usize(at)..).unwrap_or_default();
        let n = from.len().min(to.len());
        if let (Some(to), Some(from)) = (to.get_mut(..n), from.get(..n)) {
            to.copy_from_slice(from);
        }
        Ok(n)
    };
    read_entries(content.len() as u64, &mut read, &mut |stored| {
        entries.push(stored.entry());
    })??;
    Ok(entries)
}

/// Reads a snapshot of so many bytes piece by piece. Nothing of one that does not parse is visited: that is the inner error, as
/// [`parse`] says it. The outer one is of reading.
pub fn read_entries(
    len: u64,
    read: &mut ReadAt<'_>,
    visit: &mut dyn FnMut(&StoredEntry),
) -> Result<Result<()>> {
    let count = match check(len, read)? {
        Ok(count) => count,
        Err(e) => return Ok(Err(e)),
    };
    let mut piece = vec![0; PIECE_BYTES.min(count as usize * ENTRY_BYTES)];
    let (mut at, mut left) = (HEADER_BYTES as u64, count as usize);
    while left > 0 {
        let n = (left * ENTRY_BYTES).min(PIECE_BYTES);
        let bytes = piece.get_mut(..n).unwrap_or_default();
        if read_full(read, bytes, at)? < n {
            return Ok(Err(corrupt(format_args!("an entry ends early"))));
        }
        for entry in bytes.as_chunks().0 {
            visit(&StoredEntry(*entry));
        }
        at += n as u64;
        left -= n / ENTRY_BYTES;
    }
    Ok(Ok(()))
}

/// How many entries a snapshot has, if it parses.
fn check(len: u64, read: &mut ReadAt<'_>) -> Result<Result<u32>> {
    let mut piece = vec![0; to_usize(len).min(PIECE_BYTES)];
    let mut head = [0; HEADER_BYTES];
    let head_len = read_full(read, &mut head, 0)?;
    let head = head.get(..head_len).unwrap_or_default();
    let too_short = || Ok(Err(corrupt(format_args!("it has {head_len} bytes"))));
    match i16_at(head, 0) {
        None => return too_short(),
        Some(VERSION) => {}
        Some(version) => {
            return Ok(Err(corrupt(format_args!(
                "its version is {version}, not {VERSION}"
            ))));
        }
    }
    let (Some(crc), Some(count)) = (u32_at(head, 2), i32_at(head, 6)) else {
        return too_short();
    };
    let (mut computed, mut at) = (0, SUMMED_FROM);
    loop {
        let n = to_usize(len.saturating_sub(at)).min(PIECE_BYTES);
        let bytes = piece.get_mut(..n).unwrap_or_default();
        let n = read_full(read, bytes, at)?;
        if n == 0 {
            break;
        }
        computed = crc32c_append(computed, piece.get(..n).unwrap_or_default());
        at += n as u64;
    }
    if crc != computed {
        return Ok(Err(corrupt(format_args!(
            "its checksum is {computed:08x}, stored is {crc:08x}"
        ))));
    }
    let whole = at.saturating_sub(HEADER_BYTES as u64) / ENTRY_BYTES as u64;
    let count = u32::try_from(count)
        .ok()
        .filter(|&n| u64::from(n) <= whole && n <= MAX_ENTRIES);
    Ok(count.ok_or_else(|| corrupt(format_args!("its number of entries is not what follows"))))
}

/// Reads until the bytes are full or there are no more.
fn read_full(read: &mut ReadAt<'_>, bytes: &mut [u8], at: u64) -> Result<usize> {
    let mut done = 0;
    while let Some(rest) = bytes.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match read(rest, at + done as u64)? {
            0 => break,
            n => done += n,
        }
    }
    Ok(done)
}

/// Writes a snapshot with the entries in the order given.
#[must_use]
pub fn write<'a>(entries: impl IntoIterator<Item = &'a ProducerEntry>) -> Vec<u8> {
    let mut out = vec![0; HEADER_BYTES];
    for entry in entries {
        out.extend_from_slice(&StoredEntry::from(entry).0);
    }
    let count = u32::try_from((out.len() - HEADER_BYTES) / ENTRY_BYTES).unwrap_or(u32::MAX);
    let crc = crc32c_append(
        crc32c(&count.to_be_bytes()),
        out.get(HEADER_BYTES..).unwrap_or_default(),
    );
    put_header(&mut out, crc, count);
    out
}

/// Writes a snapshot piece by piece, from its beginning on; a small one is one piece. The entries are asked for twice: the
/// checksum stands in front of them.
pub fn write_pieces<I: Iterator<Item = StoredEntry>>(
    entries: impl Fn() -> I,
    write: &mut dyn FnMut(&[u8], u64) -> Result<()>,
) -> Result<()> {
    let count = u32::try_from(entries().count()).unwrap_or(u32::MAX);
    let crc = entries().fold(crc32c(&count.to_be_bytes()), |crc, entry| {
        crc32c_append(crc, &entry.0)
    });
    let mut piece = vec![0; HEADER_BYTES];
    put_header(&mut piece, crc, count);
    let mut at = 0;
    for entry in entries() {
        if piece.len() + ENTRY_BYTES > PIECE_BYTES {
            write(&piece, at)?;
            at += piece.len() as u64;
            piece.clear();
        }
        piece.extend_from_slice(&entry.0);
    }
    write(&piece, at)
}

fn put_header(out: &mut [u8], crc: u32, count: u32) {
    put(out, 0, VERSION.to_be_bytes());
    put(out, 2, crc.to_be_bytes());
    put(out, 6, count.to_be_bytes());
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
    fn pieces_are_what_is_written_at_once() {
        let entry = |i: u32| ProducerEntry {
            producer_id: ProducerId(i64::from(i)),
            ..golden().0[(i % 2) as usize]
        };
        for count in [0_u32, 1, 4095, 4096, 4097, 10_000] {
            let entries: Vec<ProducerEntry> = (0..count).map(entry).collect();
            let (mut pieces, mut sizes) = (Vec::new(), Vec::new());
            let stored = || entries.iter().map(StoredEntry::from);
            write_pieces(stored, &mut |piece, at| {
                assert_eq!(at, pieces.len() as u64);
                pieces.extend_from_slice(piece);
                sizes.push(piece.len());
                Ok(())
            })
            .unwrap();
            assert!(pieces == write(&entries), "{count}");
            assert!(parse(&pieces).unwrap() == entries, "{count}");
            assert!(sizes.iter().all(|&n| n <= PIECE_BYTES), "{sizes:?}");
        }
    }

    #[test]
    fn nothing_is_visited_of_one_that_is_damaged_at_its_end() {
        let (_, mut bytes) = golden();
        *bytes.last_mut().unwrap() ^= 1;
        let mut read = |to: &mut [u8], at: u64| {
            // One byte at a time.
            to[0] = bytes[to_usize(at)];
            Ok(1)
        };
        let mut visited = 0;
        let read = read_entries(102, &mut read, &mut |_| visited += 1).unwrap();
        assert_eq!(
            (read.unwrap_err().kind(), visited),
            (ErrorKind::CorruptState, 0)
        );
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
