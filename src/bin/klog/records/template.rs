//! Records by a pattern: `%k %v %o %T %h`, escapes of the shell kind, everything else as it stands.

use std::io::Write;

use klog::error::{Error, Result};
use klog::format::record::Record;

use super::{Incoming, escape, number};

/// A pattern for a line.
#[derive(Clone, Debug)]
pub(crate) struct Template(Vec<Part>);

#[derive(Clone, Debug)]
enum Part {
    Literal(Vec<u8>),
    Field {
        field: Field,
        /// The byte behind it, which has to be escaped inside of it.
        behind: Vec<u8>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Key,
    Value,
    RawKey,
    RawValue,
    Offset,
    Timestamp,
    Headers,
}

impl Template {
    /// Reads a pattern.
    pub(crate) fn parse(pattern: &str) -> Result<Self> {
        let mut parts: Vec<Part> = Vec::new();
        let mut literal = Vec::new();
        let mut chars = pattern.chars();
        while let Some(c) = chars.next() {
            match c {
                '%' => {
                    let field = match chars.next() {
                        Some('%') => {
                            literal.push(b'%');
                            continue;
                        }
                        Some('k') => Field::Key,
                        Some('v') => Field::Value,
                        Some('K') => Field::RawKey,
                        Some('V') => Field::RawValue,
                        Some('o') => Field::Offset,
                        Some('T') => Field::Timestamp,
                        Some('h') => Field::Headers,
                        other => return Err(unknown(pattern, '%', other)),
                    };
                    if !literal.is_empty() {
                        parts.push(Part::Literal(std::mem::take(&mut literal)));
                    }
                    parts.push(Part::Field {
                        field,
                        behind: Vec::new(),
                    });
                }
                '\\' => literal.push(match chars.next() {
                    Some('t') => b'\t',
                    Some('n') => b'\n',
                    Some('r') => b'\r',
                    Some('0') => 0,
                    Some('\\') => b'\\',
                    other => return Err(unknown(pattern, '\\', other)),
                }),
                other => literal.extend_from_slice(other.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        if !literal.is_empty() {
            parts.push(Part::Literal(literal));
        }
        let next: Vec<Option<u8>> = parts.iter().skip(1).map(Part::first_byte).collect();
        for (part, next) in parts.iter_mut().zip(next) {
            if let Part::Field { behind, .. } = part {
                behind.extend(next);
            }
        }
        Ok(Self(parts))
    }

    pub(super) fn write(&self, out: &mut dyn Write, record: &Record<'_>) -> std::io::Result<()> {
        for part in &self.0 {
            match part {
                Part::Literal(bytes) => out.write_all(bytes)?,
                Part::Field { field, behind } => match field {
                    Field::Key => escape::write(out, record.key, behind)?,
                    Field::Value => escape::write(out, record.value, behind)?,
                    Field::RawKey => out.write_all(record.key.unwrap_or_default())?,
                    Field::RawValue => out.write_all(record.value.unwrap_or_default())?,
                    Field::Offset => write!(out, "{}", record.offset)?,
                    Field::Timestamp => write!(out, "{}", record.timestamp)?,
                    Field::Headers => escape::write_headers(out, record.headers, behind)?,
                },
            }
        }
        out.write_all(b"\n")
    }

    /// Whether lines of this pattern can be read back; if not, why.
    pub(crate) fn ensure_readable(&self) -> Result<()> {
        let refuse = |why: &str| {
            Err(Error::invalid_argument(format!(
                "lines of this template cannot be read back: {why}"
            )))
        };
        for (i, part) in self.0.iter().enumerate() {
            match part {
                Part::Literal(bytes) if bytes.contains(&b'\n') => {
                    return refuse("a record has to be one line");
                }
                Part::Field {
                    field: Field::RawKey | Field::RawValue,
                    ..
                } => return refuse("%K and %V are not escaped; take %k and %v"),
                Part::Field { behind, .. } => match behind.first() {
                    Some(b'\\' | b'-' | b'=' | b',') => {
                        return refuse(r"behind a field neither `\` nor `-`, `=`, `,` can stand");
                    }
                    Some(byte) if byte.is_ascii_alphanumeric() => {
                        return refuse("behind a field neither a letter nor a digit can stand");
                    }
                    None if i + 1 < self.0.len() => {
                        return refuse("two fields need something between them");
                    }
                    _ => {}
                },
                Part::Literal(_) => {}
            }
        }
        Ok(())
    }

    pub(super) fn read(&self, line: &[u8]) -> Result<Incoming> {
        let mut record = Incoming::new();
        let mut rest = line;
        for part in &self.0 {
            match part {
                Part::Literal(bytes) => {
                    rest = rest.strip_prefix(&bytes[..]).ok_or_else(|| {
                        Error::invalid_argument(format!(
                            "expected {:?} at byte {} of the line",
                            String::from_utf8_lossy(bytes),
                            line.len() - rest.len()
                        ))
                    })?;
                }
                Part::Field { field, behind } => {
                    let end = behind
                        .first()
                        .and_then(|end| rest.iter().position(|b| b == end))
                        .unwrap_or(rest.len());
                    let (text, after) = rest.split_at(end);
                    rest = after;
                    match field {
                        Field::Key | Field::RawKey => record.key = escape::read(text)?,
                        Field::Value | Field::RawValue => record.value = escape::read(text)?,
                        Field::Offset => record.offset = Some(number("offset", text)?),
                        Field::Timestamp => record.timestamp = Some(number("timestamp", text)?),
                        Field::Headers => record.headers = escape::read_headers(text)?,
                    }
                }
            }
        }
        if rest.is_empty() {
            Ok(record)
        } else {
            Err(Error::invalid_argument(format!(
                "{} bytes are left behind what the template says",
                rest.len()
            )))
        }
    }
}

impl Part {
    fn first_byte(&self) -> Option<u8> {
        match self {
            Self::Literal(bytes) => bytes.first().copied(),
            Self::Field { .. } => None,
        }
    }
}

fn unknown(pattern: &str, lead: char, got: Option<char>) -> Error {
    let got = got.map(String::from).unwrap_or_default();
    Error::invalid_argument(format!(
        r"the template {pattern:?} has {lead}{got}: known are %k %v (escaped), %K %V (as they are), %o %T %h %% and \t \n \r \0 \\"
    ))
}
