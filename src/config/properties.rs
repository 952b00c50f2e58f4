//! Reads the text of a Java properties file: `server.properties`, and `meta.properties` in a log directory.
//!
//! Decoding is ISO-8859-1 with `\uXXXX` escapes and nothing else, because Kafka reads both files so: a path that is
//! written in UTF-8 names the same directory here as in a broker that starts from the same file. Lines, comments,
//! continuation and escapes follow `java.util.Properties`. The crate of that name resolves escapes in comments (so
//! that `# C:\users` is an error), takes Unicode blanks for blanks and refuses surrogate pairs, hence own code.
//!
//! Implements config.md 1.7 and the syntax of manager.md 1.6.

use std::collections::HashMap;

use crate::error::{Error, ErrorKind, Result};

/// One entry of a properties text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property {
    /// The line where the entry starts, from 1.
    pub line: usize,
    /// The key with its escapes resolved.
    pub key: String,
    /// The value with its escapes resolved; blanks at its end are part of it.
    pub value: String,
}

/// Reads a properties text. Of several entries with one key only the last is returned, as a Java program would see it;
/// the order is that of the lines.
///
/// # Errors
/// `InvalidConfig` with the line in [`Error::record_index`] if `\u` is not followed by four hexadecimal digits. Java
/// refuses nothing else. An unpaired surrogate becomes U+FFFD.
///
/// # Examples
/// ```
/// let found = klog::config::parse_properties(b"# where\nlog.dirs = /a,\\\n   /b\n")?;
/// assert_eq!((found[0].line, found[0].value.as_str()), (2, "/a,/b"));
/// # Ok::<(), klog::Error>(())
/// ```
pub fn parse_properties(text: &[u8]) -> Result<Vec<Property>> {
    let mut found: Vec<Option<Property>> = Vec::new();
    let mut last: HashMap<String, usize> = HashMap::new();
    for (line, content) in logical_lines(text) {
        let (key, value) = split(&content);
        let property = Property {
            line,
            key: unescape(key, line)?,
            value: unescape(value, line)?,
        };
        if let Some(earlier) = last
            .insert(property.key.clone(), found.len())
            .and_then(|i| found.get_mut(i))
        {
            *earlier = None;
        }
        found.push(Some(property));
    }
    Ok(found.into_iter().flatten().collect())
}

const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | 0x0c)
}

fn trim_start(line: &[u8]) -> &[u8] {
    let blanks = line.iter().take_while(|&&b| is_blank(b)).count();
    line.split_at(blanks).1
}

/// The lines as an editor counts them; CR, LF and CR LF end a line.
fn natural_lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest
            .iter()
            .position(|b| matches!(b, b'\n' | b'\r'))
            .unwrap_or(rest.len());
        let (line, tail) = rest.split_at(end);
        rest = match tail {
            [b'\r', b'\n', next @ ..] | [_, next @ ..] => next,
            [] => tail,
        };
        Some(line)
    })
}

/// Lines joined at a backslash before the line's end, without comments and blank lines; with the number of the first.
fn logical_lines(text: &[u8]) -> Vec<(usize, Vec<u8>)> {
    let mut lines = Vec::new();
    // The entry that a backslash leaves open; never empty, so that a comment after a lone backslash is still one.
    let mut open: Option<(usize, Vec<u8>)> = None;
    for (index, natural) in natural_lines(text).enumerate() {
        let part = trim_start(natural);
        let (first, mut content) = open.take().unwrap_or((index + 1, Vec::new()));
        if content.is_empty() && matches!(part, [] | [b'#' | b'!', ..]) {
            continue;
        }
        let backslashes = part.iter().rev().take_while(|&&b| b == b'\\').count();
        content.extend_from_slice(part);
        if backslashes % 2 == 1 {
            content.pop();
            open = (!content.is_empty()).then_some((first, content));
        } else {
            lines.push((first, content));
        }
    }
    lines.extend(open);
    lines
}

/// Key and value, escapes still in place: the key ends at the first `=`, `:` or blank that no backslash protects; one
/// separator with the blanks around it is dropped.
fn split(line: &[u8]) -> (&[u8], &[u8]) {
    let mut escaped = false;
    let end = line.iter().position(|&byte| {
        let ends = !escaped && (is_blank(byte) || matches!(byte, b'=' | b':'));
        escaped = !escaped && byte == b'\\';
        ends
    });
    let (key, rest) = line.split_at(end.unwrap_or(line.len()));
    match trim_start(rest) {
        [b'=' | b':', value @ ..] => (key, trim_start(value)),
        value => (key, value),
    }
}

/// Resolves escapes. Java's characters are UTF-16 units, so a pair of `\u` escapes may be one character.
fn unescape(raw: &[u8], line: usize) -> Result<String> {
    let mut units: Vec<u16> = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let [byte, tail @ ..] = rest {
        let (unit, next) = match (byte, tail) {
            (b'\\', [b'u', tail @ ..]) => {
                let Some((digits, tail)) = tail.split_at_checked(4) else {
                    return Err(malformed(line));
                };
                let unit = digits
                    .iter()
                    .try_fold(0u16, |unit, &digit| Some(unit << 4 | hex(digit)?));
                (unit.ok_or_else(|| malformed(line))?, tail)
            }
            (b'\\', [escaped, tail @ ..]) => {
                let byte = match escaped {
                    b't' => b'\t',
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b'f' => 0x0c,
                    other => *other,
                };
                (u16::from(byte), tail)
            }
            _ => (u16::from(*byte), tail),
        };
        units.push(unit);
        rest = next;
    }
    Ok(String::from_utf16_lossy(&units))
}

fn hex(digit: u8) -> Option<u16> {
    char::from(digit)
        .to_digit(16)
        .and_then(|value| u16::try_from(value).ok())
}

fn malformed(line: usize) -> Error {
    Error::new(
        ErrorKind::InvalidConfig,
        format!("line {line}: Malformed \\uxxxx encoding."),
    )
    .at_record(line)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &[u8]) -> Vec<(usize, String, String)> {
        parse_properties(text)
            .unwrap()
            .into_iter()
            .map(|p| (p.line, p.key, p.value))
            .collect()
    }

    fn entry(text: &str) -> (String, String) {
        let found = read(text.as_bytes());
        assert_eq!(found.len(), 1, "{text:?} -> {found:?}");
        (found[0].1.clone(), found[0].2.clone())
    }

    /// Each pair was seen with `java.util.Properties` (config.md 1.7).
    #[test]
    fn separators_blanks_and_escapes_are_read_as_java_reads_them() {
        for (text, key, value) in [
            ("a=b", "a", "b"),
            ("a:b", "a", "b"),
            ("a b", "a", "b"),
            ("  a \t=\x0c b  ", "a", "b  "),
            ("a = = b", "a", "= b"),
            ("a := b", "a", "= b"),
            ("a", "a", ""),
            ("a=", "a", ""),
            ("=b", "", "b"),
            ("a\\ b\\=c\\:d e", "a b=c:d", "e"),
            ("a=b\\", "a", "b"),
            ("a=b\\\\", "a", "b\\"),
            ("a=C:\\temp\\new\\q", "a", "C:\temp\newq"),
            (
                "a=\\u00e9\\u20AC\\uD83D\\uDE00",
                "a",
                "\u{e9}\u{20ac}\u{1f600}",
            ),
            ("\\u0061=b", "a", "b"),
            ("a=\\u003d\\uD83D", "a", "=\u{fffd}"),
            ("a=b # no comment", "a", "b # no comment"),
            ("a\\\\=b", "a\\", "b"),
        ] {
            assert_eq!(
                entry(text),
                (key.to_string(), value.to_string()),
                "{text:?}"
            );
        }
    }

    #[test]
    fn lines_join_at_an_odd_number_of_backslashes_and_keep_the_first_number() {
        let text = b"# C:\\users\\\n\n! c\r\na=1\\\r\n   2\\\n#3\rb=x\\\n\n  c : y\\\\\nd=z";
        let expect = [
            (4, "a", "12#3"),
            (7, "b", "x"),
            (9, "c", "y\\"),
            (10, "d", "z"),
        ];
        let expect = expect.map(|(line, key, value)| (line, key.to_string(), value.to_string()));
        assert_eq!(read(text), expect);
        assert_eq!(
            read(b"\\\n# comment\n a=b"),
            [(3, "a".to_string(), "b".to_string())]
        );
    }

    #[test]
    fn the_last_of_several_entries_with_one_key_wins() {
        let expect = [
            (2, "b".to_string(), "2".to_string()),
            (3, "a".to_string(), "3".to_string()),
        ];
        assert_eq!(read(b"a=1\nb=2\na=3\n"), expect);
    }

    #[test]
    fn bytes_are_latin_1_whatever_the_editor_meant() {
        assert_eq!(entry("a=\u{e9}").1, "\u{c3}\u{a9}");
        assert_eq!(
            read(b"a=\xe9"),
            [(1, "a".to_string(), "\u{e9}".to_string())]
        );
    }

    #[test]
    fn a_malformed_unicode_escape_is_an_error_with_its_line() {
        for text in [
            "a=1\nb=\\u12",
            "a=1\nb=\\u12g4",
            "a=1\n\\u=4",
            "a=1\nb=\\u+123",
        ] {
            let error = parse_properties(text.as_bytes()).unwrap_err();
            assert_eq!(
                (error.kind(), error.record_index()),
                (ErrorKind::InvalidConfig, Some(2)),
                "{text:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_give_entries_or_an_error(
            text in proptest::collection::vec(proptest::sample::select(b"ab\\=: \n\r#!u01\t\xff".to_vec()), 0..200),
        ) {
            if let Ok(found) = parse_properties(&text) {
                prop_assert!(found.windows(2).all(|pair| pair[0].line < pair[1].line));
            }
        }
    }
}
