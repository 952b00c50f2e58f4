//! Entries of the transaction index (`.txnindex`): aborted transactions by their markers. Implements records.md 8.

use super::bytes::{i16_at, i64_at, put};
use crate::error::{Error, ErrorKind, Result};
use crate::types::{Offset, ProducerId};

/// Bytes of an entry.
pub const ENTRY_BYTES: usize = 34;

/// A transaction that was aborted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AbortedTxn {
    /// Whose it was.
    pub producer_id: ProducerId,
    /// Its first offset; may lie in an older segment.
    pub first_offset: Offset,
    /// Offset of its marker.
    pub last_offset: Offset,
    /// The last stable offset when the marker was written.
    pub last_stable_offset: Offset,
}

impl AbortedTxn {
    /// The bytes of the entry.
    #[must_use]
    pub fn encode(&self) -> [u8; ENTRY_BYTES] {
        let mut bytes = [0; ENTRY_BYTES];
        put(&mut bytes, 2, self.producer_id.0.to_be_bytes());
        put(&mut bytes, 10, self.first_offset.0.to_be_bytes());
        put(&mut bytes, 18, self.last_offset.0.to_be_bytes());
        put(&mut bytes, 26, self.last_stable_offset.0.to_be_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        Some(Self {
            producer_id: ProducerId(i64_at(bytes, 2)?),
            first_offset: Offset(i64_at(bytes, 10)?),
            last_offset: Offset(i64_at(bytes, 18)?),
            last_stable_offset: Offset(i64_at(bytes, 26)?),
        })
    }
}

/// Reads all entries; a shorter tail is ignored. A version other than 0 is CORRUPT_INDEX, and a marker that does not lie behind
/// the one before: a file of zeros is no list of transactions.
pub fn parse(content: &[u8]) -> Result<Vec<AbortedTxn>> {
    let mut entries = Vec::new();
    parse_more(&mut entries, content)?;
    Ok(entries)
}

/// As [`parse`], of what comes behind `entries`.
pub fn parse_more(entries: &mut Vec<AbortedTxn>, content: &[u8]) -> Result<()> {
    for bytes in content.chunks_exact(ENTRY_BYTES) {
        let index = entries.len();
        let entry = match i16_at(bytes, 0) {
            Some(0) => AbortedTxn::decode(bytes).ok_or_else(|| unexpected(index, -1))?,
            version => return Err(unexpected(index, version.unwrap_or(-1))),
        };
        if let Some(before) = entries.last().map(|before| before.last_offset)
            && before >= entry.last_offset
        {
            return Err(corrupt(
                index,
                format_args!(
                    "has a marker at {}, the one before has one at {before}",
                    entry.last_offset
                ),
            ));
        }
        entries.push(entry);
    }
    Ok(())
}

fn unexpected(index: usize, version: i16) -> Error {
    corrupt(
        index,
        format_args!("has the version {version}, only 0 is known"),
    )
}

fn corrupt(index: usize, what: std::fmt::Arguments<'_>) -> Error {
    let what = format!("entry {index} of the transaction index {what}");
    Error::new(ErrorKind::CorruptIndex, what).at_record(index)
}

/// What [`collect`] found in one segment.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Collected {
    /// Transactions that touch the range, in the order of the index.
    pub aborted: Vec<AbortedTxn>,
    /// Whether later segments cannot hold more of them.
    pub is_complete: bool,
}

/// The aborted transactions with data in `[from, upto)` (records.md 8.6).
#[must_use]
pub fn collect(entries: &[AbortedTxn], from: Offset, upto: Offset) -> Collected {
    let mut found = Collected::default();
    for entry in entries {
        if entry.last_offset >= from && entry.first_offset < upto {
            found.aborted.push(*entry);
        }
        if entry.last_stable_offset >= upto {
            found.is_complete = true;
            break;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::goldens::unhex;

    fn txn(pid: i64, first: i64, last: i64, lso: i64) -> AbortedTxn {
        AbortedTxn {
            producer_id: ProducerId(pid),
            first_offset: Offset(first),
            last_offset: Offset(last),
            last_stable_offset: Offset(lso),
        }
    }

    #[test]
    fn g_txnindex_is_written_read_and_searched() {
        let entries = [txn(4001, 110, 120, 115), txn(4002, 105, 130, 131)];
        let bytes: Vec<u8> = entries.iter().flat_map(AbortedTxn::encode).collect();
        let golden = "00000000000000000fa1000000000000006e000000000000007800000000000000730000\
                      0000000000000fa2000000000000006900000000000000820000000000000083";
        assert_eq!(bytes, unhex(golden));
        assert_eq!(parse(&bytes).unwrap(), entries);
        assert_eq!(
            parse(&bytes[..50]).unwrap(),
            entries[..1],
            "a short tail is ignored"
        );
        let of = |from, upto| {
            let found = collect(&entries, Offset(from), Offset(upto));
            (found.aborted, found.is_complete)
        };
        assert_eq!(of(100, 200), (entries.to_vec(), false));
        assert_eq!(of(100, 115), (entries[..1].to_vec(), true));
        assert_eq!(of(121, 140), (entries[1..].to_vec(), false));
    }

    #[test]
    fn an_unknown_version_is_a_corrupt_index() {
        let mut bytes = txn(1, 2, 3, 4).encode().to_vec();
        bytes[1] = 1;
        assert_eq!(parse(&bytes).unwrap_err().kind(), ErrorKind::CorruptIndex);
    }
}
