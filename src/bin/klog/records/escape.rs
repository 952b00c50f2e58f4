//! Bytes as text that a person can read and a program can take back.
//!
//! UTF-8 stands as it is but for control characters and the backslash; every other byte is `\xNN`. Null is `\N`.

use std::io::Write;

use klog::error::{Error, Result};
use klog::format::record::Headers;

/// Null.
const NULL: &[u8] = b"\\N";

/// Writes bytes or null. The bytes of `also` are escaped too.
pub(super) fn write(out: &mut dyn Write, bytes: Option<&[u8]>, also: &[u8]) -> std::io::Result<()> {
    let Some(bytes) = bytes else {
        return out.write_all(NULL);
    };
    for chunk in bytes.utf8_chunks() {
        let mut plain = chunk.valid().as_bytes();
        while let Some(at) = plain
            .iter()
            .position(|b| *b < 0x20 || matches!(b, b'\\' | 0x7f) || also.contains(b))
        {
            out.write_all(plain.get(..at).unwrap_or_default())?;
            match plain.get(at) {
                Some(b'\t') => out.write_all(b"\\t")?,
                Some(b'\n') => out.write_all(b"\\n")?,
                Some(b'\r') => out.write_all(b"\\r")?,
                Some(b'\\') => out.write_all(b"\\\\")?,
                Some(byte) => write!(out, "\\x{byte:02x}")?,
                None => {}
            }
            plain = plain.get(at + 1..).unwrap_or_default();
        }
        out.write_all(plain)?;
        for byte in chunk.invalid() {
            write!(out, "\\x{byte:02x}")?;
        }
    }
    Ok(())
}

/// Reads what [`write`] wrote.
pub(super) fn read(text: &[u8]) -> Result<Option<Vec<u8>>> {
    if text == NULL {
        return Ok(None);
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.iter().position(|b| *b == b'\\') {
        bytes.extend_from_slice(rest.get(..at).unwrap_or_default());
        let (byte, len) = match rest.get(at + 1) {
            Some(b't') => (b'\t', 2),
            Some(b'n') => (b'\n', 2),
            Some(b'r') => (b'\r', 2),
            Some(b'\\') => (b'\\', 2),
            Some(b'x') => (
                hex(rest.get(at + 2..at + 4)).ok_or_else(|| bad(rest, at))?,
                4,
            ),
            _ => return Err(bad(rest, at)),
        };
        bytes.push(byte);
        rest = rest.get(at + len..).unwrap_or_default();
    }
    bytes.extend_from_slice(rest);
    Ok(Some(bytes))
}

/// Writes headers: `name=value,name=value`.
pub(super) fn write_headers(
    out: &mut dyn Write,
    headers: Headers<'_>,
    also: &[u8],
) -> std::io::Result<()> {
    let name_also: Vec<u8> = [b"=,", also].concat();
    let value_also: Vec<u8> = [b",", also].concat();
    for (i, header) in headers.enumerate() {
        if i > 0 {
            out.write_all(b",")?;
        }
        write(out, Some(header.key), &name_also)?;
        out.write_all(b"=")?;
        write(out, header.value, &value_also)?;
    }
    Ok(())
}

/// Headers of a line: names with their values.
type OwnHeaders = Vec<(Vec<u8>, Option<Vec<u8>>)>;

/// Reads what [`write_headers`] wrote.
pub(super) fn read_headers(text: &[u8]) -> Result<OwnHeaders> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    text.split(|b| *b == b',')
        .map(|header| {
            let at = header.iter().position(|b| *b == b'=').ok_or_else(|| {
                Error::invalid_argument(format!(
                    "the header {:?} has no `=`: expected NAME=VALUE,NAME=VALUE",
                    String::from_utf8_lossy(header)
                ))
            })?;
            let name = read(header.get(..at).unwrap_or_default())?
                .ok_or_else(|| Error::invalid_argument("a header's name cannot be null"))?;
            Ok((name, read(header.get(at + 1..).unwrap_or_default())?))
        })
        .collect()
}

fn hex(digits: Option<&[u8]>) -> Option<u8> {
    let digits = std::str::from_utf8(digits.filter(|d| d.len() == 2)?).ok()?;
    u8::from_str_radix(digits, 16).ok()
}

fn bad(text: &[u8], at: usize) -> Error {
    let shown = text.get(at..(at + 4).min(text.len())).unwrap_or_default();
    Error::invalid_argument(format!(
        "{:?} is no escape: \\t \\n \\r \\\\ \\xNN are, and \\N alone for null",
        String::from_utf8_lossy(shown)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_bytes_come_back() {
        let all: Vec<u8> = (0..=255).chain("\u{3c0}\\N".bytes()).collect();
        for bytes in [None, Some(&b""[..]), Some(b"\\N"), Some(&all)] {
            let mut text = Vec::new();
            write(&mut text, bytes, b"=,").unwrap();
            assert!(std::str::from_utf8(&text).is_ok());
            assert!(!text.iter().any(|b| b"\t\n\r=,".contains(b)));
            assert_eq!(read(&text).unwrap().as_deref(), bytes);
        }
    }

    #[test]
    fn what_is_no_escape_is_refused() {
        for text in [&b"\\"[..], b"\\q", b"\\x1", b"\\xzz", b"a\\N"] {
            assert!(read(text).is_err(), "{text:?}");
        }
    }
}
