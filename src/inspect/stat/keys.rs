//! How many different keys there are, without keeping them.

use std::hash::Hasher;

use siphasher::sip::SipHasher13;

/// Registers of the estimate: 2^14.
const REGISTER_BITS: u32 = 14;
/// The standard error of [`super::LogStat::keys`]: 1.04 by the root of the number of registers.
pub const KEYS_ERROR: f64 = 0.008_125;

/// How many different keys there are, by the longest runs of zeros in their hashes (HyperLogLog).
pub(super) struct KeyCounter {
    registers: Vec<u8>,
}

impl KeyCounter {
    pub(super) fn new() -> Self {
        Self {
            registers: vec![0; 1 << REGISTER_BITS],
        }
    }

    pub(super) fn add(&mut self, key: &[u8]) {
        let mut hasher = SipHasher13::new();
        hasher.write(key);
        let hash = hasher.finish();
        let index = usize::try_from(hash >> (64 - REGISTER_BITS)).unwrap_or(0);
        let zeros = (hash << REGISTER_BITS)
            .leading_zeros()
            .min(64 - REGISTER_BITS);
        if let Some(register) = self.registers.get_mut(index) {
            *register = (*register).max(u8::try_from(zeros + 1).unwrap_or(u8::MAX));
        }
    }

    #[allow(
        clippy::naive_bytecount,
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an estimate, above 0 and far below 2^52"
    )]
    pub(super) fn estimate(&self) -> u64 {
        let m = self.registers.len() as f64;
        let sum: f64 = self.registers.iter().map(|r| (-f64::from(*r)).exp2()).sum();
        let raw = 0.7213 / (1.0 + 1.079 / m) * m * m / sum;
        let empty = self.registers.iter().filter(|r| **r == 0).count();
        let counted = if raw <= 2.5 * m && empty > 0 {
            m * (m / empty as f64).ln()
        } else {
            raw
        };
        counted.round() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_counted_within_three_errors() {
        for count in [0_u64, 1, 10, 1000, 30_000, 500_000] {
            let mut counter = KeyCounter::new();
            for key in 0..count {
                counter.add(&key.to_le_bytes());
                counter.add(&key.to_le_bytes());
            }
            let off = counter.estimate().abs_diff(count);
            // Three errors: 2.4375 of a hundred.
            assert!(off * 10_000 <= 244 * count, "{count}: {off}");
        }
    }
}
