//! `leader-epoch-checkpoint` of a partition: text lines of `epoch startOffset`. Implements records.md 10.
//!
//! The lines are given as they stand; which of them survive each other is for `state::epochs` to say.

use std::fmt::Write as _;

use super::checkpoint::{malformed, parse_int, parse_lines};
use crate::error::Result;
use crate::types::{LeaderEpoch, Offset};

/// Name of the file in a partition's directory.
pub const FILE: &str = "leader-epoch-checkpoint";

/// An epoch and the first offset written in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EpochEntry {
    /// The leadership.
    pub epoch: LeaderEpoch,
    /// Its first offset.
    pub start_offset: Offset,
}

/// Reads the entries in the order of the file. A negative number is as malformed as none.
pub fn parse(content: &[u8]) -> Result<Vec<EpochEntry>> {
    let mut entries = Vec::new();
    parse_lines(content, |fields, line| {
        let [epoch, start] = fields else {
            return Err(malformed(line));
        };
        let entry = EpochEntry {
            epoch: LeaderEpoch(parse_int(epoch, line)?),
            start_offset: Offset(parse_int(start, line)?),
        };
        if entry.epoch.0 < 0 || entry.start_offset.0 < 0 {
            return Err(malformed(line));
        }
        entries.push(entry);
        Ok(())
    })?;
    Ok(entries)
}

/// Writes entries in the order given.
#[must_use]
pub fn write(entries: &[EpochEntry]) -> Vec<u8> {
    let mut text = format!("0\n{}\n", entries.len());
    for entry in entries {
        let _ = writeln!(text, "{} {}", entry.epoch, entry.start_offset);
    }
    text.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_golden_of_records_md_10_2() {
        let entries = [(0, 0), (3, 1500)].map(|(e, o)| EpochEntry {
            epoch: LeaderEpoch(e),
            start_offset: Offset(o),
        });
        assert_eq!(write(&entries), b"0\n2\n0 0\n3 1500\n");
        assert_eq!(parse(b"0\n2\n0 0\n3 1500\n").unwrap(), entries);
    }

    #[test]
    fn hc17_what_does_not_parse_is_an_error() {
        for content in [
            &b"\0\0\0\0\0\0\0\0"[..],
            b"0\n2\n0 0\n",
            b"0\n1\n0 zero\n",
            b"1\n0\n",
            b"0\n1\n0 0\n\0\0\0\0",
            b"0\n1\n-1 0\n",
        ] {
            assert!(parse(content).is_err(), "{content:?}");
        }
        for content in [
            &b"0\n1\n0 0 \n"[..],
            b"0\n1\n0  0\n",
            b"0\r\n1\r\n0 0\r\n",
            b"0\n1\n0 0",
        ] {
            assert_eq!(parse(content).unwrap().len(), 1, "{content:?}");
        }
        assert_eq!(parse(b"").unwrap(), []);
        assert_eq!(parse(b"0\n").unwrap(), []);
    }
}
