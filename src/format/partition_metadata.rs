//! `partition.metadata`: the topic id of a partition. Implements records.md 11.3, manager.md 1.7.

use super::uuid::Uuid;
use crate::error::{Error, ErrorKind, Result};

/// Name of the file in a partition's directory.
pub const FILE: &str = "partition.metadata";
/// What a file is renamed to that does not parse; Kafka ignores that name.
pub const CORRUPT_FILE: &str = "partition.metadata.corrupt";

/// Reads the topic id. The key's name on the second line is not checked, nor is what follows it.
pub fn parse(content: &[u8]) -> Result<Uuid> {
    let text = std::str::from_utf8(content).map_err(|_| malformed("it is not UTF-8"))?;
    let mut lines = text.lines();
    let version: i32 = value_of(lines.next())?
        .parse()
        .map_err(|_| malformed("the version is no number"))?;
    if version < 0 {
        return Err(malformed("the version is negative"));
    }
    let id = Uuid::parse(value_of(lines.next())?)?;
    if id == Uuid::ZERO {
        return Err(malformed("the topic id is all zero"));
    }
    Ok(id)
}

/// The text behind a colon and blanks: exactly two parts.
fn value_of(line: Option<&str>) -> Result<&str> {
    let line = line.ok_or_else(|| malformed("it has fewer than two lines"))?;
    let mut parts = colon_parts(line);
    match (parts.next(), parts.next(), parts.next()) {
        (Some(_), Some(value), None) => Ok(value),
        _ => Err(malformed("a line is not of the form `key: value`")),
    }
}

/// Splits at each colon that is followed by blanks, as Kafka does; empty parts at the end do not count.
fn colon_parts(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(line.trim_end_matches([':', ' ', '\t']));
    std::iter::from_fn(move || {
        let text = rest?;
        let at = text.char_indices().find(|&(i, c)| {
            c == ':'
                && text
                    .get(i + 1..)
                    .is_some_and(|after| after.starts_with([' ', '\t']))
        });
        match at {
            Some((i, _)) => {
                rest = text
                    .get(i + 1..)
                    .map(|after| after.trim_start_matches([' ', '\t']));
                text.get(..i)
            }
            None => rest.take(),
        }
    })
}

/// Writes the file's content: no newline at the end.
#[must_use]
pub fn write(topic_id: Uuid) -> Vec<u8> {
    format!("version: 0\ntopic_id: {topic_id}").into_bytes()
}

fn malformed(what: &str) -> Error {
    Error::new(ErrorKind::CorruptState, format!("malformed {FILE}: {what}")).with_kafka_code(56)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_golden_of_records_md_11_3() {
        let id = Uuid::parse("Ehx7oGy6RYuFZd6eHiM37g").unwrap();
        let content = b"version: 0\ntopic_id: Ehx7oGy6RYuFZd6eHiM37g";
        assert_eq!((write(id), content.len()), (content.to_vec(), 43));
        assert_eq!(parse(content).unwrap(), id);
    }

    #[test]
    fn hc19_broken_files_are_errors_and_a_later_version_is_read() {
        for content in [
            &b""[..],
            b"version: 0\n",
            b"\0\0\0\0",
            b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA",
            b"version: 0\ntopic_id: xx",
            b"version: -1\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ",
            b"version\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ",
            b"version: x\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ",
        ] {
            assert_eq!(
                parse(content).unwrap_err().kind(),
                ErrorKind::CorruptState,
                "{content:?}"
            );
        }
        let id = parse(b"version: 1\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ\n").unwrap();
        assert_eq!(id.to_string(), "AAAAAAAAAAAAAAAAAAAAAQ");
        assert_eq!(
            parse(b"version: 0\nanything: AAAAAAAAAAAAAAAAAAAAAQ\nmore\n").unwrap(),
            id
        );
    }
}
