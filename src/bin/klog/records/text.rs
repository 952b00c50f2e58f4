//! The text format: `offset TAB timestamp TAB key TAB value [TAB headers]`.

use std::io::Write;

use klog::error::{Error, Result};
use klog::format::record::Record;

use super::{Incoming, escape, number};

pub(super) fn write(out: &mut dyn Write, record: &Record<'_>) -> std::io::Result<()> {
    write!(out, "{}\t{}\t", record.offset, record.timestamp)?;
    escape::write(out, record.key, b"")?;
    out.write_all(b"\t")?;
    escape::write(out, record.value, b"")?;
    if !record.headers.is_empty() {
        out.write_all(b"\t")?;
        escape::write_headers(out, record.headers, b"")?;
    }
    out.write_all(b"\n")
}

pub(super) fn read(line: &[u8]) -> Result<Incoming> {
    let fields: Vec<&[u8]> = line.split(|b| *b == b'\t').collect();
    let (offset, timestamp, key, value, headers) = match fields[..] {
        [offset, timestamp, key, value] => (offset, timestamp, key, value, &b""[..]),
        [offset, timestamp, key, value, headers] => (offset, timestamp, key, value, headers),
        _ => {
            return Err(Error::invalid_argument(format!(
                "{} fields, expected offset, timestamp, key, value and perhaps headers with tabs between them",
                fields.len()
            )));
        }
    };
    Ok(Incoming {
        offset: Some(number("offset", offset)?),
        timestamp: Some(number("timestamp", timestamp)?),
        key: escape::read(key)?,
        value: escape::read(value)?,
        headers: escape::read_headers(headers)?,
        ..Incoming::new()
    })
}
