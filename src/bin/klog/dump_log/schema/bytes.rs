//! Reading the simple types of messages, with the words of Java for what cannot be read.

use super::super::stop::Thrown;

type Result<T> = std::result::Result<T, Thrown>;

const TAGS_MAX: i32 = 10_000;

/// Bytes that are read from their start on.
#[derive(Clone, Copy)]
pub(crate) struct Bytes<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Bytes<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(crate) fn position(&self) -> usize {
        self.at
    }

    pub(crate) fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let found = self
            .bytes
            .get(self.at..)
            .and_then(|rest| rest.first_chunk());
        let found = *found.ok_or_else(Thrown::underflow)?;
        self.at += N;
        Ok(found)
    }

    pub(crate) fn int8(&mut self) -> Result<i8> {
        self.array().map(i8::from_be_bytes)
    }

    pub(crate) fn int16(&mut self) -> Result<i16> {
        self.array().map(i16::from_be_bytes)
    }

    pub(crate) fn int32(&mut self) -> Result<i32> {
        self.array().map(i32::from_be_bytes)
    }

    pub(crate) fn int64(&mut self) -> Result<i64> {
        self.array().map(i64::from_be_bytes)
    }

    pub(crate) fn float64(&mut self) -> Result<f64> {
        self.array().map(f64::from_be_bytes)
    }

    pub(crate) fn uuid(&mut self) -> Result<[u8; 16]> {
        self.array()
    }

    /// A varint without a sign, as the signed number that Java takes it for.
    pub(crate) fn varint(&mut self) -> Result<i32> {
        let mut value = 0_u32;
        for shift in [0, 7, 14, 21] {
            let byte = self.array::<1>()?[0];
            value |= u32::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value.cast_signed());
            }
        }
        let byte = self.array::<1>()?[0];
        value |= u32::from(byte) << 28;
        if byte >= 0x80 {
            return Err(Thrown::illegal_argument(format!(
                "Varint is too long, the most significant bit in the 5th byte is set, converted value: {value:x}"
            )));
        }
        Ok(value.cast_signed())
    }

    /// How many tags follow.
    pub(crate) fn tag_count(&mut self) -> Result<i32> {
        let count = self.varint()?;
        let remaining = self.remaining();
        if count < 0 {
            return Err(Thrown::runtime(format!(
                "Invalid negative number of tagged fields {count}"
            )));
        }
        if usize::try_from(count).unwrap_or(usize::MAX) > remaining {
            return Err(Thrown::runtime(format!(
                "Tried to read {count} tagged fields, but there are only {remaining} bytes remaining."
            )));
        }
        if count > TAGS_MAX {
            return Err(Thrown::runtime(format!(
                "Tried to read {count} tagged fields, which exceeds the maximum allowed count of {TAGS_MAX}."
            )));
        }
        Ok(count)
    }

    pub(crate) fn slice(&mut self, len: i32) -> Result<&'a [u8]> {
        let remaining = self.remaining();
        let Ok(wanted) = usize::try_from(len) else {
            return Err(Thrown::new(
                "java.lang.NegativeArraySizeException",
                len.to_string(),
            ));
        };
        if wanted > remaining {
            return Err(Thrown::runtime(format!(
                "Error reading byte array of {len} byte(s): only {remaining} byte(s) available"
            )));
        }
        let slice = &self.bytes[self.at..self.at + wanted];
        self.at += wanted;
        Ok(slice)
    }
}
