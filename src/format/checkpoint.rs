//! Offset checkpoints of a log directory: text files of `topic partition offset` lines. Implements records.md 10.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::error::{Error, ErrorKind, Result};
use crate::types::{Offset, TopicPartition};

/// Name of the file with the recovery points.
pub const RECOVERY_POINT_FILE: &str = "recovery-point-offset-checkpoint";
/// Name of the file with the log start offsets that differ from their first segment's base.
pub const LOG_START_FILE: &str = "log-start-offset-checkpoint";
/// Name of the file with the high watermarks.
pub const HIGH_WATERMARK_FILE: &str = "replication-offset-checkpoint";
/// Name of the file with the first dirty offsets.
pub const CLEANER_FILE: &str = "cleaner-offset-checkpoint";

/// The entries of a checkpoint, sorted by topic, then partition.
pub type Offsets = BTreeMap<TopicPartition, Offset>;

/// Reads a checkpoint of offsets. Of two entries for one partition the last one counts (records.md 10.4).
pub fn parse(content: &[u8]) -> Result<Offsets> {
    let mut entries = Offsets::new();
    parse_lines(content, |fields, line| {
        let [topic, partition, offset] = fields else {
            return Err(malformed(line));
        };
        let entry = (
            parse_int(partition, line)?,
            Offset(parse_int(offset, line)?),
        );
        entries.insert(TopicPartition::new(*topic, entry.0), entry.1);
        Ok(())
    })?;
    Ok(entries)
}

/// Writes a checkpoint of offsets.
#[must_use]
pub fn write(entries: &Offsets) -> Vec<u8> {
    let mut text = format!("0\n{}\n", entries.len());
    for (partition, offset) in entries {
        let _ = writeln!(text, "{} {} {offset}", partition.topic, partition.partition);
    }
    text.into_bytes()
}

/// Walks the lines of a checkpoint with one more field a line than blanks between them. An empty file, and one with
/// only the version, has no entries. Lines are as Java's reader sees them: they end in LF, CR LF or CR.
pub(super) fn parse_lines(
    content: &[u8],
    mut entry: impl FnMut(&[&str], usize) -> Result<()>,
) -> Result<()> {
    let text = std::str::from_utf8(content).map_err(|e| {
        corrupt(
            1,
            format_args!("it is not UTF-8 at byte {}", e.valid_up_to()),
        )
    })?;
    let mut lines = java_lines(text).zip(1..);
    let Some((version, line)) = lines.next() else {
        return Ok(());
    };
    let version: i32 = parse_int(version, line)?;
    if version != 0 {
        return Err(corrupt(
            line,
            format_args!("its version is {version}, only 0 is known"),
        ));
    }
    let Some((count, line)) = lines.next() else {
        return Ok(());
    };
    let count: i32 = parse_int(count, line)?;
    let expected = usize::try_from(count)
        .map_err(|_| corrupt(line, format_args!("the number of entries is {count}")))?;
    let mut found = 0;
    for (text, line) in lines {
        // Java's split on runs of blanks: a leading one gives an empty first field, trailing ones give none.
        let is_blank = |c: char| matches!(c, ' ' | '\t' | '\x0b' | '\x0c');
        if text.is_empty() || text.starts_with(is_blank) {
            return Err(malformed(line));
        }
        let fields: Vec<&str> = text
            .split(is_blank)
            .filter(|field| !field.is_empty())
            .collect();
        entry(&fields, line)?;
        found += 1;
    }
    if found == expected {
        Ok(())
    } else {
        Err(corrupt(
            2,
            format_args!("{expected} entries are announced, {found} are there"),
        ))
    }
}

fn java_lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest.find(['\n', '\r']).unwrap_or(rest.len());
        let (line, tail) = rest.split_at(end);
        rest = tail
            .strip_prefix("\r\n")
            .or_else(|| tail.strip_prefix(['\n', '\r']))
            .unwrap_or(tail);
        Some(line)
    })
}

/// A decimal number with an optional sign, as Java's `parseInt` and `parseLong` read it.
pub(super) fn parse_int<T: std::str::FromStr>(text: &str, line: usize) -> Result<T> {
    text.parse()
        .map_err(|_| corrupt(line, format_args!("{text:?} is no number")))
}

pub(super) fn malformed(line: usize) -> Error {
    corrupt(
        line,
        format_args!("the line does not have the fields that it should"),
    )
}

pub(super) fn corrupt(line: usize, what: std::fmt::Arguments<'_>) -> Error {
    Error::new(
        ErrorKind::CorruptState,
        format!("malformed checkpoint, line {line}: {what}"),
    )
    .with_kafka_code(56)
    .at_record(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(entries: &[(&str, i32, i64)]) -> Offsets {
        entries
            .iter()
            .map(|(t, p, o)| (TopicPartition::new(*t, *p), Offset(*o)))
            .collect()
    }

    #[test]
    fn the_goldens_of_records_md_10_2_are_written_and_read() {
        let entries = of(&[("orders", 0, 1234), ("a.b_c-d", 12, 0)]);
        assert_eq!(
            parse(b"0\n2\norders 0 1234\na.b_c-d 12 0\n").unwrap(),
            entries
        );
        assert_eq!(write(&entries), b"0\n2\na.b_c-d 12 0\norders 0 1234\n");
        assert_eq!(write(&Offsets::new()), b"0\n0\n");
        assert_eq!(parse(b"0\n0\n").unwrap(), Offsets::new());
    }

    #[test]
    fn an_empty_file_and_one_with_only_a_version_have_no_entries() {
        for content in [&b""[..], b"0", b"0\n"] {
            assert_eq!(parse(content).unwrap(), Offsets::new());
        }
    }

    #[test]
    fn what_kafka_accepts_is_accepted() {
        let one = of(&[("t", 0, 5)]);
        for content in [
            "0\r\n1\r\nt 0 5\r\n",
            "0\n1\nt\t0   5\n",
            "0\n1\nt 0 5 \n",
            "0\n1\nt 0 5",
            "0\n1\nt +0 +5\n",
            "0\r1\rt 0 5\r",
        ] {
            assert_eq!(parse(content.as_bytes()).unwrap(), one, "{content:?}");
        }
        assert_eq!(
            parse(b"0\n2\nt 0 1\nt 0 5\n").unwrap(),
            one,
            "the last one counts"
        );
        assert_eq!(parse(b"0\n1\nt 0 -7\n").unwrap(), of(&[("t", 0, -7)]));
    }

    #[test]
    fn what_kafka_refuses_is_refused_with_its_line() {
        for (content, line) in [
            ("x\n0\n", 1),
            ("1\n0\n", 1),
            ("0\nx\n", 2),
            ("0\n-1\n", 2),
            ("0\n2\nt 0 5\n", 2),
            ("0\n0\nt 0 5\n", 2),
            ("0\n1\nt 0\n", 3),
            ("0\n1\nt 0 5 6\n", 3),
            ("0\n1\n t 0 5\n", 3),
            ("0\n1\nt 0 5\n\n", 4),
            ("0\n1\nt x 5\n", 3),
            ("0\n1\nt 0 9223372036854775808\n", 3),
            ("\0\0\0\0", 1),
        ] {
            let error = parse(content.as_bytes()).unwrap_err();
            assert_eq!(
                (error.kind(), error.record_index()),
                (ErrorKind::CorruptState, Some(line)),
                "{content:?}"
            );
        }
        assert!(parse(b"0\n1\nt\xff 0 5\n").is_err());
    }
}
