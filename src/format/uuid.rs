//! Kafka's UUIDs: 16 bytes, as text 22 characters of URL-safe base64 without padding. Implements records.md 1.7.

use base64::Engine;
use base64::alphabet::URL_SAFE;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use crate::error::{Error, ErrorKind, Result};

/// Java's URL decoder takes padding or leaves it.
const ENGINE: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new()
        .with_encode_padding(false)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The longest text that Kafka reads.
const MAX_TEXT_CHARS: usize = 24;

/// An id of a topic, directory or cluster.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Uuid(pub [u8; 16]);

impl Uuid {
    /// The id that stands for none.
    pub const ZERO: Self = Self([0; 16]);

    /// Reads the text form.
    pub fn parse(text: &str) -> Result<Self> {
        let wrong = || {
            Error::new(
                ErrorKind::CorruptState,
                format!("{text:?} is no id of 22 base64 characters"),
            )
        };
        if text.len() > MAX_TEXT_CHARS {
            return Err(wrong());
        }
        let bytes = ENGINE.decode(text).map_err(|_| wrong())?;
        bytes.try_into().map(Self).map_err(|_| wrong())
    }

    /// A new random id that Kafka would give out: not one of the 100 reserved ones, and not starting with a dash, which
    /// tools take for an option.
    pub fn random() -> Result<Self> {
        loop {
            let mut bytes = [0; 16];
            getrandom::fill(&mut bytes).map_err(|e| {
                Error::new(
                    ErrorKind::KafkaStorage,
                    format!("no random bytes from the system: {e}"),
                )
            })?;
            // Version 4, variant 2, as java.util.UUID makes them.
            bytes[6] = (bytes[6] & 0x0f) | 0x40;
            bytes[8] = (bytes[8] & 0x3f) | 0x80;
            let id = Self(bytes);
            if !id.is_reserved() && !id.to_string().starts_with('-') {
                return Ok(id);
            }
        }
    }

    /// Whether Kafka keeps this id for itself: the most significant half 0, the other below 100 as a signed number.
    #[must_use]
    pub fn is_reserved(self) -> bool {
        let value = u128::from_be_bytes(self.0);
        let (high, low) = (value >> 64, value.to_be_bytes());
        let low = low.last_chunk().map_or(0, |half| i64::from_be_bytes(*half));
        high == 0 && low < 100
    }
}

impl std::fmt::Display for Uuid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&ENGINE.encode(self.0))
    }
}

impl std::fmt::Debug for Uuid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_bytes_are_two_forms_of_one_id() {
        let id = Uuid::parse("Ehx7oGy6RYuFZd6eHiM37g").unwrap();
        assert_eq!(id.to_string(), "Ehx7oGy6RYuFZd6eHiM37g");
        assert_eq!(Uuid::parse("Ehx7oGy6RYuFZd6eHiM37g==").unwrap(), id);
        assert_eq!(Uuid::parse("AAAAAAAAAAAAAAAAAAAAAA").unwrap(), Uuid::ZERO);
        for wrong in [
            "",
            "xx",
            "Ehx7oGy6RYuFZd6eHiM37gA",
            "Ehx7oGy6RYuFZd6eHiM37g===",
            "Ehx7oGy6RYuFZd6eHiM3 g",
        ] {
            assert!(Uuid::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn random_ids_differ_and_are_free() {
        let (a, b) = (Uuid::random().unwrap(), Uuid::random().unwrap());
        assert_ne!(a, b);
        assert!(!a.is_reserved());
        assert!(Uuid::ZERO.is_reserved());
    }
}
