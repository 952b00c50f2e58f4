//! Entries of the offset index (`.index`): the last offset of a batch, and where the batch begins. Implements records.md
//! 6.1, 6.5, 6.6.

use super::bytes::u32_at;
use crate::types::{MAX_RELATIVE_OFFSET, Offset};

/// Bytes of an entry.
pub const ENTRY_BYTES: usize = 8;

/// An entry: offsets up to this one are found from this position on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OffsetEntry {
    /// Last offset of the batch that begins at `position`.
    pub offset: Offset,
    /// Byte position in the `.log` file.
    pub position: u32,
}

impl OffsetEntry {
    /// The bytes of the entry in the index of the segment with this base; `None` if the offset does not fit.
    #[must_use]
    pub fn encode(&self, base: Offset) -> Option<[u8; ENTRY_BYTES]> {
        let relative = self.offset.relative_to(base)?;
        let value = (u64::from(relative) << 32) | u64::from(self.position);
        Some(value.to_be_bytes())
    }

    /// Entry number `index` of `bytes`, whatever it says: a damaged one may lie below the base.
    #[must_use]
    pub fn decode(bytes: &[u8], index: usize, base: Offset) -> Option<Self> {
        let at = index.checked_mul(ENTRY_BYTES)?;
        let relative = u32_at(bytes, at)?.cast_signed();
        Some(Self {
            offset: base + i64::from(relative),
            position: u32_at(bytes, at + 4)?,
        })
    }
}

/// The number of the last of `len` sorted entries for which `is_at_or_below` holds. Logarithmic.
#[must_use]
pub fn floor(len: usize, is_at_or_below: impl Fn(usize) -> bool) -> Option<usize> {
    let (mut low, mut high) = (0, len);
    while low < high {
        let middle = low + (high - low) / 2;
        if is_at_or_below(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low.checked_sub(1)
}

/// Whether all of an index is what a writer could have written over a log of `log_bytes` bytes (hard-cases.md HC11):
/// whole entries, relative offsets and positions rising strictly, positions inside the log.
#[must_use]
pub fn is_sane(bytes: &[u8], base: Offset, log_bytes: u64) -> bool {
    if !bytes.len().is_multiple_of(ENTRY_BYTES) {
        return false;
    }
    let mut last: Option<OffsetEntry> = None;
    for index in 0..bytes.len() / ENTRY_BYTES {
        let Some(entry) = OffsetEntry::decode(bytes, index, base) else {
            return false;
        };
        let in_range = entry.offset.relative_to(base).is_some()
            && entry.position <= MAX_RELATIVE_OFFSET
            && u64::from(entry.position) < log_bytes;
        let rises = last.is_none_or(|l| l.offset < entry.offset && l.position < entry.position);
        if !in_range || !rises {
            return false;
        }
        last = Some(entry);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::goldens::unhex;

    fn entry(offset: i64, position: u32) -> OffsetEntry {
        OffsetEntry {
            offset: Offset(offset),
            position,
        }
    }

    const G_INDEX: &str = "000000030000006d00000096000010000000076c00002009";

    #[test]
    fn g_index_is_written_and_read() {
        let entries = [entry(103, 109), entry(250, 4096), entry(2000, 8201)];
        let bytes: Vec<u8> = entries
            .iter()
            .flat_map(|e| e.encode(Offset(100)).unwrap())
            .collect();
        assert_eq!(bytes, unhex(G_INDEX));
        for (i, e) in entries.iter().enumerate() {
            assert_eq!(OffsetEntry::decode(&bytes, i, Offset(100)), Some(*e));
        }
        assert!(is_sane(&bytes, Offset(100), 8202));
        assert!(
            !is_sane(&bytes, Offset(100), 8201),
            "the last position must lie inside the log"
        );
    }

    #[test]
    fn hc11_what_no_writer_writes_is_not_sane() {
        let good = unhex(G_INDEX);
        let sane = |bytes: &[u8]| is_sane(bytes, Offset(100), 10_000);
        assert!(sane(&[]) && sane(&good));
        assert!(!sane(&good[..23]), "a part of an entry");
        assert!(
            !sane(&[good.clone(), vec![0; 24]].concat()),
            "zeros behind the entries"
        );
        assert!(!sane(&[vec![0; 16]].concat()), "two equal entries");
        let mut negative = good.clone();
        negative[0] = 0x80;
        assert!(!sane(&negative));
        let mut beyond = good;
        beyond[20] = 1;
        assert!(!sane(&beyond));
    }

    #[test]
    fn an_offset_out_of_the_relative_range_has_no_entry() {
        assert_eq!(entry(99, 0).encode(Offset(100)), None);
        assert_eq!(entry(100 + 0x8000_0000, 0).encode(Offset(100)), None);
        assert!(entry(100 + 0x7fff_ffff, 0).encode(Offset(100)).is_some());
    }

    #[test]
    fn floor_finds_the_last_entry_at_or_below() {
        let keys = [10, 20, 30];
        let of = |target: i32| floor(keys.len(), |i| keys[i] <= target);
        assert_eq!(
            [of(9), of(10), of(19), of(30), of(99)],
            [None, Some(0), Some(0), Some(2), Some(2)]
        );
        assert_eq!(floor(0, |_| true), None);
    }
}
