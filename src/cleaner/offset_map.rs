//! From a key to the last offset that has it, for as many keys as a given memory holds. Implements cleaner.md 7, deviations.md
//! D80.
//!
//! A key is known by a keyed hash of 128 bits, whose key is drawn anew for each map and stored nowhere: whoever chooses the
//! records' keys cannot make two of them collide, and so cannot have a live record dropped.
//!
//! Slots are sorted by hash: a key's home grows with its hash, and a slot that is taken pushes the key behind those with
//! smaller hashes. So the table can grow in place, which keeps the memory at what the keys need and never above the limit.

use siphasher::sip128::SipHasher24;

use crate::error::{Error, ErrorKind, Result};
use crate::types::{Offset, to_usize};

/// Bytes of a slot: the hash and an offset.
pub const SLOT_BYTES: u64 = 24;

/// Slots that a map begins with.
const FIRST_SLOTS: usize = 1024;
/// By how many slots a map is extended where keys run over its end.
const EXTENSION_SLOTS: usize = 64;
/// A table that may still grow does so when more than this share of it is used.
const USED_BEFORE_GROWTH: (usize, usize) = (7, 10);

/// Marks a free slot: no record has this offset.
const FREE: i64 = i64::MIN;

/// The hash of a key, by the key of one map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyHash {
    high: u64,
    low: u64,
}

impl KeyHash {
    const fn is_below(self, slot: &Slot) -> bool {
        self.high < slot.high || (self.high == slot.high && self.low < slot.low)
    }
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    high: u64,
    low: u64,
    offset: i64,
}

impl Slot {
    const EMPTY: Self = Self {
        high: 0,
        low: 0,
        offset: FREE,
    };

    const fn is_free(&self) -> bool {
        self.offset == FREE
    }
}

/// Where a key is, or belongs.
enum Place {
    Taken(usize),
    Free(usize),
    /// Before this slot, which has a larger hash.
    Before(usize),
}

/// The offsets of keys.
#[derive(Debug)]
pub struct OffsetMap {
    hasher: SipHasher24,
    slots_max: usize,
    keys_max: usize,
    /// Homes: a key's first choice is among the first so many slots. There may be more behind them.
    homes: usize,
    slots: Vec<Slot>,
    keys: usize,
    latest_offset: Offset,
}

impl OffsetMap {
    /// A map in at most `memory_bytes`, of whose slots the share `load_factor` may be used. INVALID_CONFIG if that is not
    /// more than one key (cleaner.md 3.11).
    pub fn new(memory_bytes: u64, load_factor: f64) -> Result<Self> {
        let mut key = [0; 16];
        getrandom::fill(&mut key).map_err(|e| {
            Error::new(
                ErrorKind::KafkaStorage,
                format!("the system gives no random bytes: {e}"),
            )
        })?;
        Self::with_key(memory_bytes, load_factor, &key)
    }

    fn with_key(memory_bytes: u64, load_factor: f64, key: &[u8; 16]) -> Result<Self> {
        let slots_max = slots_of(memory_bytes);
        let keys_max = keys_max(slots_max, load_factor);
        if load_factor.is_nan() || load_factor <= 0.0 || load_factor > 1.0 || keys_max < 1 {
            return Err(Error::new(
                ErrorKind::InvalidConfig,
                format!(
                    "an offset map of {memory_bytes} bytes with the load factor {load_factor} has room for {keys_max} keys; it needs 24 bytes for each slot, a factor above 0 and up to 1, and room for a key"
                ),
            ));
        }
        let mut map = Self {
            hasher: SipHasher24::new_with_key(key),
            slots_max: to_usize(slots_max),
            keys_max: to_usize(keys_max),
            homes: 0,
            slots: Vec::new(),
            keys: 0,
            latest_offset: Offset::NONE,
        };
        map.resize(map.slots_max.min(FIRST_SLOTS))?;
        Ok(map)
    }

    /// How many slots the memory has room for.
    #[must_use]
    pub fn slots(&self) -> u64 {
        self.slots_max as u64
    }

    /// How many keys there are.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.keys as u64
    }

    /// Whether there is no key.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys == 0
    }

    /// Whether no further key is taken.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.keys >= self.keys_max
    }

    /// The offset that was mapped last, -1 for none (cleaner.md 5.4).
    #[must_use]
    pub fn latest_offset(&self) -> Offset {
        self.latest_offset
    }

    /// Everything up to this offset was mapped.
    pub fn set_latest_offset(&mut self, offset: Offset) {
        self.latest_offset = offset;
    }

    /// Bytes of memory in use.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.slots.capacity() as u64 * SLOT_BYTES
    }

    /// The hash by which this map knows a key.
    #[must_use]
    pub fn hash(&self, key: &[u8]) -> KeyHash {
        let hash = self.hasher.hash(key);
        KeyHash {
            high: hash.h1,
            low: hash.h2,
        }
    }

    /// Brings the places of keys that are asked for next into the processor's cache, all at once: one by one each would be
    /// waited for.
    pub fn warm(&self, hashes: impl Iterator<Item = KeyHash>) {
        let homes = hashes.map(|hash| self.home_of(hash.high));
        let seen = homes.fold(0, |seen, home| {
            seen ^ self.slots.get(home).map_or(0, |slot| slot.high)
        });
        std::hint::black_box(seen);
    }

    /// The offset of a key; `None` if it has none.
    #[must_use]
    pub fn get(&self, hash: KeyHash) -> Option<Offset> {
        match self.place_of(hash) {
            Place::Taken(at) => self.slots.get(at).map(|slot| Offset(slot.offset)),
            Place::Free(_) | Place::Before(_) => None,
        }
    }

    /// Maps a key to an offset, which replaces an earlier one also if it is smaller. A full map must not be asked to.
    pub fn put(&mut self, hash: KeyHash, offset: Offset) -> Result<()> {
        if self.is_full() {
            return Err(Error::new(
                ErrorKind::Bug,
                format!("the offset map is full with {} keys", self.keys),
            ));
        }
        self.latest_offset = offset;
        let place = self.place_of(hash);
        if let Place::Taken(at) = place {
            if let Some(slot) = self.slots.get_mut(at) {
                slot.offset = offset.0;
            }
            return Ok(());
        }
        let (used, of) = USED_BEFORE_GROWTH;
        let place = if self.homes < self.slots_max && (self.keys + 1) * of > self.homes * used {
            self.grow()?;
            self.place_of(hash)
        } else {
            place
        };
        let slot = Slot {
            high: hash.high,
            low: hash.low,
            offset: offset.0,
        };
        match place {
            Place::Taken(at) | Place::Free(at) => {
                // Behind the last slot: keys that belong to the end have filled it.
                if at >= self.slots.len() {
                    self.extend()?;
                }
                self.store(at, slot);
            }
            Place::Before(at) => self.insert_before(at, slot)?,
        }
        self.keys += 1;
        Ok(())
    }

    fn home_of(&self, high: u64) -> usize {
        // The product's upper half is below `homes`.
        to_usize(((u128::from(high) * self.homes as u128) >> 64) as u64)
    }

    fn place_of(&self, hash: KeyHash) -> Place {
        let home = self.home_of(hash.high);
        let from_home = self.slots.get(home..).unwrap_or_default();
        for (i, slot) in from_home.iter().enumerate() {
            if slot.is_free() {
                return Place::Free(home + i);
            }
            if slot.high == hash.high && slot.low == hash.low {
                return Place::Taken(home + i);
            }
            if hash.is_below(slot) {
                return Place::Before(home + i);
            }
        }
        Place::Free(self.slots.len())
    }

    /// Moves the slots from `at` up to the next free one behind by one.
    fn insert_before(&mut self, at: usize, slot: Slot) -> Result<()> {
        let behind = self.slots.get(at..).unwrap_or_default();
        let free = at
            + behind
                .iter()
                .position(Slot::is_free)
                .unwrap_or(behind.len());
        if free >= self.slots.len() {
            self.extend()?;
        }
        self.slots.copy_within(at..free, at + 1);
        self.store(at, slot);
        Ok(())
    }

    /// A few slots more at the end, which the keys that belong there have filled.
    fn extend(&mut self) -> Result<()> {
        self.set_len(self.slots.len() + EXTENSION_SLOTS)
    }

    fn set_len(&mut self, len: usize) -> Result<()> {
        // Exactly: a vector that doubles would take more than the limit.
        self.slots
            .try_reserve_exact(len.saturating_sub(self.slots.len()))
            .map_err(|_| {
                Error::new(
                    ErrorKind::NoMemory,
                    format!("no memory for an offset map of {len} slots"),
                )
            })?;
        self.slots.resize(len, Slot::EMPTY);
        Ok(())
    }

    fn grow(&mut self) -> Result<()> {
        let wanted = (self.homes * 2).min(self.slots_max);
        // The last step would be a small one: it is taken now.
        let wanted = if wanted * 3 / 2 >= self.slots_max {
            self.slots_max
        } else {
            wanted
        };
        self.resize(wanted)
    }

    /// Gives the table `homes` homes: all keys move to the end, in their order, then each to its place, which is never
    /// behind the one that it is taken from.
    fn resize(&mut self, homes: usize) -> Result<()> {
        let had = self.slots.len();
        self.homes = homes;
        let mut needed = 0;
        for slot in self.slots.iter().filter(|slot| !slot.is_free()) {
            needed = needed.max(self.home_of(slot.high)) + 1;
        }
        let len = homes.max(needed);
        self.set_len(len)?;
        let mut first = len;
        for at in (0..had).rev() {
            if let Some(slot) = self.slots.get(at).copied().filter(|slot| !slot.is_free()) {
                first -= 1;
                self.store(at, Slot::EMPTY);
                self.store(first, slot);
            }
        }
        let mut next = 0;
        for at in first..len {
            if let Some(slot) = self.slots.get(at).copied() {
                let place = next.max(self.home_of(slot.high));
                self.store(at, Slot::EMPTY);
                self.store(place, slot);
                next = place + 1;
            }
        }
        Ok(())
    }

    fn store(&mut self, at: usize, slot: Slot) {
        if let Some(place) = self.slots.get_mut(at) {
            *place = slot;
        }
    }
}

/// How many slots a memory has room for.
#[must_use]
pub fn slots_of(memory_bytes: u64) -> u64 {
    memory_bytes / SLOT_BYTES
}

/// How many keys a map of so many slots takes: the product, rounded down.
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "as Kafka computes it; slots are fewer than 2^52, and a negative factor gives 0"
)]
fn keys_max(slots: u64, load_factor: f64) -> u64 {
    (slots as f64 * load_factor) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    fn map(slots: u64, load_factor: f64) -> OffsetMap {
        OffsetMap::with_key(slots * SLOT_BYTES, load_factor, &[7; 16]).unwrap()
    }

    fn fill(map: &mut OffsetMap, keys: std::ops::Range<u64>) {
        for key in keys {
            let hash = map.hash(&key.to_be_bytes());
            map.put(hash, Offset(key.cast_signed())).unwrap();
        }
    }

    #[test]
    fn every_key_is_found_with_its_last_offset_while_the_table_grows() {
        let mut map = map(100_000, 0.9);
        for round in 0..2 {
            for key in 0u64..45_000 {
                let hash = map.hash(&key.to_be_bytes());
                map.put(hash, Offset((2 * key + round).cast_signed()))
                    .unwrap();
            }
        }
        assert_eq!(map.len(), 45_000);
        for key in 0u64..45_000 {
            let hash = map.hash(&key.to_be_bytes());
            assert_eq!(map.get(hash), Some(Offset((2 * key + 1).cast_signed())));
        }
        let absent = map.hash(b"no such key");
        assert_eq!(map.get(absent), None);
    }

    #[test]
    fn it_is_full_at_the_load_factor_and_not_before() {
        for (slots, factor, keys) in [
            (5, 0.9, 4),
            (100, 0.75, 75),
            (4, 0.75, 3),
            (1000, 1.0, 1000),
        ] {
            let mut map = map(slots, factor);
            assert_eq!(map.slots(), slots);
            fill(&mut map, 0..keys - 1);
            assert!(!map.is_full(), "{slots} slots");
            fill(&mut map, keys - 1..keys);
            assert!(map.is_full(), "{slots} slots");
            let hash = map.hash(b"x");
            assert!(map.put(hash, Offset(1)).is_err());
            for key in 0..keys {
                let hash = map.hash(&key.to_be_bytes());
                assert_eq!(map.get(hash), Some(Offset(key.cast_signed())));
            }
        }
    }

    #[test]
    fn memory_is_taken_as_it_fills_and_stays_within_the_limit() {
        let mut map = map(1_000_000, 0.9);
        assert!(map.memory_bytes() <= 1024 * SLOT_BYTES);
        fill(&mut map, 0..10_000);
        assert!(map.memory_bytes() < 40_000 * SLOT_BYTES);
        fill(&mut map, 10_000..900_000);
        assert!(map.is_full());
        // Keys that run over the end take a few slots more.
        assert!(map.memory_bytes() < 1_050_000 * SLOT_BYTES);
    }

    #[test]
    fn hc5_a_map_without_room_for_a_key_is_refused() {
        for (bytes, factor) in [
            (0, 0.9),
            (23, 1.0),
            (24, 0.9),
            (2400, 0.0),
            (2400, -1.0),
            (2400, 1.1),
            (2400, f64::NAN),
        ] {
            let error = OffsetMap::new(bytes, factor).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidConfig, "{bytes} {factor}");
        }
    }

    #[test]
    fn cleaner_md_7_2_the_latest_offset_is_that_of_the_last_put_or_set() {
        let mut map = map(10, 0.9);
        assert_eq!(map.latest_offset(), Offset::NONE);
        let (a, b) = (map.hash(b"a"), map.hash(b""));
        map.put(a, Offset(5)).unwrap();
        map.put(b, Offset(3)).unwrap();
        assert_eq!(map.latest_offset(), Offset(3));
        map.put(a, Offset(0)).unwrap();
        assert_eq!((map.get(a), map.get(b)), (Some(Offset(0)), Some(Offset(3))));
        assert_eq!(map.len(), 2);
        map.set_latest_offset(Offset(9));
        assert_eq!(map.latest_offset(), Offset(9));
    }

    #[test]
    fn two_maps_know_a_key_by_different_hashes() {
        let (one, other) = (
            OffsetMap::new(240, 0.9).unwrap(),
            OffsetMap::new(240, 0.9).unwrap(),
        );
        assert_ne!(one.hash(b"key"), other.hash(b"key"));
    }

    proptest! {
        #[test]
        fn it_answers_as_a_hash_map_does(
            slots in 2u64..300,
            factor in 0.5f64..=1.0,
            puts in proptest::collection::vec((0u16..200, 0i64..1000), 0..400),
        ) {
            let mut map = map(slots.max(4), factor);
            let mut model = HashMap::new();
            for (key, offset) in puts {
                if map.is_full() {
                    break;
                }
                let hash = map.hash(&key.to_be_bytes());
                map.put(hash, Offset(offset)).unwrap();
                model.insert(key, offset);
            }
            prop_assert_eq!(map.len(), model.len() as u64);
            for key in 0u16..220 {
                let hash = map.hash(&key.to_be_bytes());
                prop_assert_eq!(map.get(hash).map(|o| o.0), model.get(&key).copied());
            }
        }
    }
}
