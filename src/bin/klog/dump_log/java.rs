//! What Java does to text and tables, where it shows in the output.

use std::collections::BTreeMap;

/// Java's replacement for bytes that are no UTF-8.
const REPLACEMENT: &[u8] = "\u{fffd}".as_bytes();

/// Gives UTF-8 to `take`, with a replacement for each run of bytes that Java's decoder finds malformed. Its runs are not those of
/// Rust's: an encoded surrogate is one of them, for instance.
pub(crate) fn decode_utf8(bytes: &[u8], mut take: impl FnMut(&[u8])) {
    let mut rest = bytes;
    loop {
        let valid = match std::str::from_utf8(rest) {
            Ok(_) => rest.len(),
            Err(e) => e.valid_up_to(),
        };
        if valid > 0 {
            take(&rest[..valid]);
        }
        rest = &rest[valid..];
        if rest.is_empty() {
            return;
        }
        take(REPLACEMENT);
        rest = &rest[malformed_run(rest)..];
    }
}

/// How many bytes one replacement stands for; `bytes` do not begin with a character.
fn malformed_run(bytes: &[u8]) -> usize {
    let byte = |i: usize| bytes.get(i).copied();
    let continues = |i: usize| byte(i).is_some_and(|b| b & 0xc0 == 0x80);
    let first = bytes[0];
    match first {
        0xe0..=0xef => {
            let bad_second = (first == 0xe0 && byte(1).is_some_and(|b| b & 0xe0 == 0x80))
                || byte(1).is_some_and(|b| b & 0xc0 != 0x80);
            match bytes.len() {
                1 => 1,
                _ if bad_second => 1,
                2 => 2,
                _ if continues(2) => 3, // a surrogate
                _ => 2,
            }
        }
        0xf0..=0xf7 => {
            let second = byte(1);
            let bad_second = second.is_some_and(|b| {
                (first == 0xf0 && !(0x90..=0xbf).contains(&b))
                    || (first == 0xf4 && b & 0xf0 != 0x80)
                    || b & 0xc0 != 0x80
            });
            if first > 0xf4 || bad_second {
                return 1;
            }
            match bytes.len() {
                len @ 1..=3 => {
                    if len == 3 && !continues(2) {
                        2
                    } else {
                        len
                    }
                }
                _ if continues(2) => 3,
                _ => 2,
            }
        }
        // Two bytes of which the second is none, or is missing; or no beginning of a character at all.
        _ => 1,
    }
}

/// How many bytes at the end of a piece of text belong to a character that may go on behind it.
pub(crate) fn undecided_tail(bytes: &[u8]) -> usize {
    for back in 1..=bytes.len().min(3) {
        let needed = match bytes[bytes.len() - back] {
            0x80..=0xbf => continue,
            0xc0..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xff => 4,
            _ => 1,
        };
        return if needed > back { back } else { 0 };
    }
    0
}

/// As [`decode_utf8`], into a string.
pub(crate) fn utf8(bytes: &[u8]) -> String {
    let mut text = Vec::with_capacity(bytes.len());
    decode_utf8(bytes, |piece| text.extend_from_slice(piece));
    String::from_utf8(text).unwrap_or_default()
}

/// The keys in the order in which a `HashMap` of these strings is walked; `keys` in the order of their insertion. What is
/// computed when it is absent goes to the front of its bucket, and the table grows before the key behind a full one.
pub(crate) fn hash_order(keys: &[String]) -> Vec<usize> {
    let mut capacity = 16;
    while keys.len() > capacity / 4 * 3 + 1 {
        capacity *= 2;
    }
    let mut buckets: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (i, key) in keys.iter().enumerate() {
        let hash = key.encode_utf16().fold(0_u32, |h, unit| {
            h.wrapping_mul(31).wrapping_add(unit.into())
        });
        let spread = hash ^ (hash >> 16);
        buckets
            .entry(spread as usize & (capacity - 1))
            .or_default()
            .push(i);
    }
    buckets
        .into_values()
        .flat_map(|bucket| bucket.into_iter().rev())
        .collect()
}

/// A double as `Double.toString` writes it.
pub(crate) fn double(value: f64) -> String {
    if value.is_nan() {
        return "NaN".into();
    }
    if value.is_infinite() {
        return if value < 0.0 { "-Infinity" } else { "Infinity" }.into();
    }
    let size = value.abs();
    if value == 0.0 || (1e-3..1e7).contains(&size) {
        let text = format!("{value}");
        return if text.contains('.') {
            text
        } else {
            text + ".0"
        };
    }
    let text = format!("{value:E}");
    let (digits, exponent) = text.split_once('E').unwrap_or((&text, "0"));
    let point = if digits.contains('.') { "" } else { ".0" };
    format!("{digits}{point}E{exponent}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_text_is_replaced_as_java_does() {
        for (bytes, expected) in [
            (&b"plain"[..], "plain"),
            (b"\xc3\xa4\xff!", "\u{e4}\u{fffd}!"),
            (b"\xed\xa0\x80x", "\u{fffd}x"),
            (b"\xed\xa0", "\u{fffd}"),
            (b"\xe0\x80\x80", "\u{fffd}\u{fffd}\u{fffd}"),
            (b"\xe2\x82x", "\u{fffd}x"),
            (b"\xf0\x9f\x98", "\u{fffd}"),
            (b"\xf0\x9f\x98x", "\u{fffd}x"),
            (b"\xf5\x80\x80\x80", "\u{fffd}\u{fffd}\u{fffd}\u{fffd}"),
            (b"\xc0\x80", "\u{fffd}\u{fffd}"),
        ] {
            assert_eq!(utf8(bytes), expected, "{bytes:x?}");
        }
    }

    #[test]
    fn text_in_pieces_is_the_same_text() {
        let text = b"a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\xff\xed\xa0\x80\xf0\x9f\xc3\xe0\x80x";
        for cut in 0..=text.len() {
            let first = cut - undecided_tail(&text[..cut]);
            let joined = utf8(&text[..first]) + &utf8(&text[first..]);
            assert_eq!(joined, utf8(text), "{cut}");
        }
    }

    #[test]
    fn doubles_look_as_in_java() {
        for (value, expected) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1024.0, "1024.0"),
            (0.001, "0.001"),
            (9_999_999.0, "9999999.0"),
            (1e7, "1.0E7"),
            (1.25e-4, "1.25E-4"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(double(value), expected);
        }
    }

    #[test]
    fn keys_are_in_the_order_of_a_hash_map() {
        let keys = ["b", "a", "Q", "1"].map(str::to_owned);
        // 'Q' is 81 and 'a' is 97: both are slot 1 of 16, as is '1', 49.
        assert_eq!(hash_order(&keys), [3, 2, 1, 0]);
    }
}
