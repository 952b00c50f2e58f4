//! Entries of the time index (`.timeindex`): no record up to that offset has a greater timestamp. Implements records.md
//! 7.1, 7.5.

use super::bytes::{i64_at, put, u32_at};
use crate::types::{Offset, TimestampMs};

/// Bytes of an entry.
pub const ENTRY_BYTES: usize = 12;

/// An entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TimeEntry {
    /// The largest timestamp so far.
    pub timestamp: TimestampMs,
    /// Last offset of the batch that has it.
    pub offset: Offset,
}

impl TimeEntry {
    /// The bytes of the entry in the index of the segment with this base; `None` if the offset does not fit.
    #[must_use]
    pub fn encode(&self, base: Offset) -> Option<[u8; ENTRY_BYTES]> {
        let relative = self.offset.relative_to(base)?;
        let mut bytes = [0; ENTRY_BYTES];
        put(&mut bytes, 0, self.timestamp.0.to_be_bytes());
        put(&mut bytes, 8, relative.to_be_bytes());
        Some(bytes)
    }

    /// Entry number `index` of `bytes`, whatever it says.
    #[must_use]
    pub fn decode(bytes: &[u8], index: usize, base: Offset) -> Option<Self> {
        let at = index.checked_mul(ENTRY_BYTES)?;
        let relative = u32_at(bytes, at + 8)?.cast_signed();
        Some(Self {
            timestamp: TimestampMs(i64_at(bytes, at)?),
            offset: base + i64::from(relative),
        })
    }
}

/// Whether all of an index is what a writer could have written for a segment that ends before `end`: whole entries,
/// timestamps rising strictly, offsets not falling, all inside the segment (log.md W8).
#[must_use]
pub fn is_sane(bytes: &[u8], base: Offset, end: Offset) -> bool {
    if !bytes.len().is_multiple_of(ENTRY_BYTES) {
        return false;
    }
    let mut last: Option<TimeEntry> = None;
    for index in 0..bytes.len() / ENTRY_BYTES {
        let Some(entry) = TimeEntry::decode(bytes, index, base) else {
            return false;
        };
        let in_range = entry.offset.relative_to(base).is_some()
            && entry.offset < end
            && entry.timestamp.0 >= 0;
        let rises = last.is_none_or(|l| l.timestamp < entry.timestamp && l.offset <= entry.offset);
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
    use crate::format::goldens::{T, unhex};

    #[test]
    fn g_timeindex_is_written_and_read() {
        let entries =
            [(T, 103), (T + 5, 250), (T + 9, 260), (T + 10, 261)].map(|(t, o)| TimeEntry {
                timestamp: TimestampMs(t),
                offset: Offset(o),
            });
        let bytes: Vec<u8> = entries
            .iter()
            .flat_map(|e| e.encode(Offset(100)).unwrap())
            .collect();
        let golden = "0000018bcfe56800000000030000018bcfe56805000000960000018bcfe56809000000a00000018bcfe5680a000000a1";
        assert_eq!(bytes, unhex(golden));
        for (i, e) in entries.iter().enumerate() {
            assert_eq!(TimeEntry::decode(&bytes, i, Offset(100)), Some(*e));
        }
        assert!(is_sane(&bytes, Offset(100), Offset(262)));
        assert!(!is_sane(&bytes, Offset(100), Offset(261)));
        assert!(!is_sane(&bytes[..47], Offset(100), Offset(262)));
        assert!(!is_sane(&[0; 24], Offset(100), Offset(262)));
    }
}
