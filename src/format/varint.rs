//! Variable-length integers. Implements records.md 1.2-1.4.
//!
//! Writers emit the shortest form. Readers accept over-long forms and drop excess value bits of the last byte, as Kafka
//! does; only a continuation bit in the last possible byte is an error.

#![allow(clippy::inline_always)] // a scan spends its time here

use crate::error::{Error, Result};

/// The longest form of a 32-bit value, in bytes.
pub const MAX_VARINT_BYTES: usize = 5;
/// The longest form of a 64-bit value, in bytes.
pub const MAX_VARLONG_BYTES: usize = 10;

/// Reads a zig-zag 32-bit value from the front of `bytes`; the value and its length in bytes.
#[inline(always)]
pub fn read_varint(bytes: &[u8]) -> Result<(i32, usize)> {
    let (raw, len) = read_unsigned_varint(bytes)?;
    Ok((zigzag_decode32(raw), len))
}

/// Reads a zig-zag 64-bit value from the front of `bytes`; the value and its length in bytes.
#[inline(always)]
pub fn read_varlong(bytes: &[u8]) -> Result<(i64, usize)> {
    // Most deltas fit one or two bytes.
    let (raw, len) = match *bytes {
        [a, ..] if a < 0x80 => (u64::from(a), 1),
        [a, b, ..] if b < 0x80 => (u64::from(a & 0x7f) | u64::from(b) << 7, 2),
        _ => read_long_unsigned_varlong(bytes)?,
    };
    Ok((zigzag_decode64(raw), len))
}

/// Reads an unsigned 32-bit value from the front of `bytes`; the value and its length in bytes.
#[inline(always)]
pub fn read_unsigned_varint(bytes: &[u8]) -> Result<(u32, usize)> {
    match *bytes {
        [a, ..] if a < 0x80 => Ok((u32::from(a), 1)),
        [a, b, ..] if b < 0x80 => Ok((u32::from(a & 0x7f) | u32::from(b) << 7, 2)),
        _ => read_long_unsigned_varint(bytes),
    }
}

#[inline(never)]
fn read_long_unsigned_varlong(bytes: &[u8]) -> Result<(u64, usize)> {
    let mut raw = 0u64;
    for (i, &byte) in bytes.iter().take(MAX_VARLONG_BYTES).enumerate() {
        raw |= u64::from(byte & 0x7f) << (7 * i);
        if byte < 0x80 {
            return Ok((raw, i + 1));
        }
    }
    Err(unfinished(bytes.len(), MAX_VARLONG_BYTES))
}

#[inline(never)]
fn read_long_unsigned_varint(bytes: &[u8]) -> Result<(u32, usize)> {
    let mut raw = 0u32;
    for (i, &byte) in bytes.iter().take(MAX_VARINT_BYTES).enumerate() {
        // Bits beyond the 32nd fall off, as in Kafka.
        raw |= u32::from(byte & 0x7f) << (7 * i);
        if byte < 0x80 {
            return Ok((raw, i + 1));
        }
    }
    Err(unfinished(bytes.len(), MAX_VARINT_BYTES))
}

#[cold]
fn unfinished(available: usize, max: usize) -> Error {
    Error::invalid_record(if available < max {
        format!("the data ends after {available} bytes of an unfinished variable-length integer")
    } else {
        format!("a variable-length integer has more than {max} bytes")
    })
}

/// The value of a zig-zag form.
pub(super) const fn zigzag_decode32(raw: u32) -> i32 {
    (raw >> 1).cast_signed() ^ -(raw & 1).cast_signed()
}

const fn zigzag_decode64(raw: u64) -> i64 {
    (raw >> 1).cast_signed() ^ -(raw & 1).cast_signed()
}

const fn zigzag_encode32(value: i32) -> u32 {
    ((value << 1) ^ (value >> 31)).cast_unsigned()
}

const fn zigzag_encode64(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)).cast_unsigned()
}

/// Appends a zig-zag 32-bit value.
#[inline]
pub fn write_varint(out: &mut Vec<u8>, value: i32) {
    write_raw(out, u64::from(zigzag_encode32(value)));
}

/// Appends a zig-zag 64-bit value.
#[inline]
pub fn write_varlong(out: &mut Vec<u8>, value: i64) {
    write_raw(out, zigzag_encode64(value));
}

/// Appends an unsigned 32-bit value.
#[inline]
pub fn write_unsigned_varint(out: &mut Vec<u8>, value: u32) {
    write_raw(out, u64::from(value));
}

#[inline]
fn write_raw(out: &mut Vec<u8>, raw: u64) {
    let mut place = [0; MAX_VARLONG_BYTES];
    let len = put_raw(&mut place, raw);
    out.extend_from_slice(place.get(..len).unwrap_or_default());
}

/// Writes a zig-zag 32-bit value to the front of `out`; how many bytes it has. Of one that does not fit only a part is written.
#[inline]
pub fn put_varint(out: &mut [u8], value: i32) -> usize {
    put_raw(out, u64::from(zigzag_encode32(value)))
}

/// Writes a zig-zag 64-bit value to the front of `out`; how many bytes it has. Of one that does not fit only a part is written.
#[inline]
pub fn put_varlong(out: &mut [u8], value: i64) -> usize {
    put_raw(out, zigzag_encode64(value))
}

#[inline(always)]
#[allow(clippy::cast_possible_truncation)] // seven bits at a time
fn put_raw(out: &mut [u8], raw: u64) -> usize {
    // Most values have one byte or two.
    match out {
        [a, ..] if raw < 0x80 => {
            *a = raw as u8;
            return 1;
        }
        [a, b, ..] if raw < 0x4000 => {
            *a = (raw as u8) | 0x80;
            *b = (raw >> 7) as u8;
            return 2;
        }
        _ => {}
    }
    put_long(out, raw)
}

#[inline(never)]
#[allow(clippy::cast_possible_truncation)] // seven bits at a time
fn put_long(out: &mut [u8], mut raw: u64) -> usize {
    let len = raw_len(raw);
    for place in out.iter_mut().take(len) {
        *place = (raw as u8) | 0x80;
        raw >>= 7;
    }
    if let Some(last) = out.get_mut(len - 1) {
        *last &= 0x7f;
    }
    len
}

/// How many bytes [`write_varint`] appends.
#[must_use]
#[inline]
pub const fn varint_len(value: i32) -> usize {
    raw_len(zigzag_encode32(value) as u64)
}

/// How many bytes [`write_varlong`] appends.
#[must_use]
#[inline]
pub const fn varlong_len(value: i64) -> usize {
    raw_len(zigzag_encode64(value))
}

#[inline(always)]
const fn raw_len(raw: u64) -> usize {
    // Most values have one byte or two.
    if raw < 0x4000 {
        return 1 + (raw >= 0x80) as usize;
    }
    // Seven bits a byte: nine sixty-fourths, rounded up, which is the same for all lengths there are.
    let bits = 64 - raw.leading_zeros() as usize;
    (bits * 9 + 64) / 64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_table_of_records_md_1_4_is_written_and_read() {
        let varints: [(i32, &str); 13] = [
            (0, "00"),
            (-1, "01"),
            (1, "02"),
            (63, "7e"),
            (-64, "7f"),
            (64, "8001"),
            (-65, "8101"),
            (8191, "fe7f"),
            (-8192, "ff7f"),
            (8192, "808001"),
            (1_048_576, "80808001"),
            (134_217_728, "8080808001"),
            (i32::MAX, "feffffff0f"),
        ];
        for (value, hex) in varints.into_iter().chain([(i32::MIN, "ffffffff0f")]) {
            let bytes = crate::format::goldens::unhex(hex);
            let mut out = Vec::new();
            write_varint(&mut out, value);
            assert_eq!(out, bytes, "{value}");
            assert_eq!(varint_len(value), out.len());
            assert_eq!(read_varint(&bytes).unwrap(), (value, bytes.len()));
            assert_eq!(
                read_varlong(&bytes).unwrap(),
                (i64::from(value), bytes.len())
            );
        }
        for (value, hex) in [
            (1_700_000_000_000, "80a0abfef962"),
            (-1_700_000_000_000, "ff9fabfef962"),
            (i64::MAX, "feffffffffffffffff01"),
            (i64::MIN, "ffffffffffffffffff01"),
        ] {
            let bytes = crate::format::goldens::unhex(hex);
            let mut out = Vec::new();
            write_varlong(&mut out, value);
            assert_eq!(out, bytes, "{value}");
            assert_eq!(varlong_len(value), out.len());
            assert_eq!(read_varlong(&bytes).unwrap(), (value, bytes.len()));
        }
        for (value, hex) in [(127, "7f"), (128, "8001"), (300, "ac02")] {
            let bytes = crate::format::goldens::unhex(hex);
            assert_eq!(read_unsigned_varint(&bytes).unwrap(), (value, bytes.len()));
        }
    }

    #[test]
    fn over_long_forms_are_read_and_excess_bits_dropped() {
        assert_eq!(read_varint(&[0x80, 0x00]).unwrap(), (0, 2));
        assert_eq!(
            read_varint(&[0xff, 0xff, 0xff, 0xff, 0x7f]).unwrap(),
            (i32::MIN, 5)
        );
        assert!(read_varint(&[0x80; 5]).is_err());
        assert!(read_varint(&[0x80; 4]).is_err());
        assert!(read_varlong(&[0x80; 10]).is_err());
        assert!(read_varint(&[]).is_err());
    }

    proptest! {
        #[test]
        fn every_value_is_read_back(small in any::<i32>(), large in any::<i64>()) {
            let mut out = Vec::new();
            write_varint(&mut out, small);
            write_varlong(&mut out, large);
            let (value, len) = read_varint(&out).unwrap();
            prop_assert_eq!((value, len), (small, varint_len(small)));
            prop_assert_eq!(read_varlong(&out[len..]).unwrap(), (large, varlong_len(large)));
        }
    }
}
