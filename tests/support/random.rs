//! Numbers for random tests: a seed gives the same ones everywhere, and is printed so that a failure can be seen again.

use std::env;

use super::engine::{NOW, Rec};

/// A small generator (splitmix64).
pub(crate) struct Random(u64);

impl Random {
    /// Seeded by `KLOG_SEED`; without it the same numbers each time, so that a test run tells of the change it tests.
    /// `make test-long` draws new seeds. Prints how to run the test again.
    pub(crate) fn from_env(test: &str) -> Self {
        let seed = match env::var("KLOG_SEED") {
            Ok(text) => text
                .parse()
                .unwrap_or_else(|_| panic!("KLOG_SEED={text} is not a number")),
            Err(_) => 2026,
        };
        println!("{test}: run again with KLOG_SEED={seed}");
        Self(seed)
    }

    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `bound`, which is above 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.u64() % bound as u64) as usize
    }

    /// From `low` on, below `high`.
    pub(crate) fn between(&mut self, low: i64, high: i64) -> i64 {
        low + (self.u64() % (high - low) as u64) as i64
    }

    /// True once in `n` times.
    pub(crate) fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub(crate) fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }

    pub(crate) fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.u64() as u8).collect()
    }
}

/// A record of any shape: null and empty keys and values, headers, times that fall, are equal or missing.
pub(crate) fn any_record(random: &mut Random) -> Rec {
    let bytes = |random: &mut Random, most: usize| match random.below(6) {
        0 => None,
        1 => Some(Vec::new()),
        2 => Some(vec![b'x'; random.below(most) + 1]),
        _ => {
            let len = random.below(most) + 1;
            Some(random.bytes(len))
        }
    };
    let ts = match random.below(8) {
        0 => -1,
        1 => 0,
        2 => NOW,
        _ => NOW + random.between(-5000, 5000),
    };
    let names = ["", "trace", "trace", "größe", "a-longer-name-of-a-header"];
    let headers = if random.once_in(3) {
        random.below(4)
    } else {
        0
    };
    Rec {
        ts,
        key: bytes(random, 20),
        value: bytes(random, 300),
        headers: (0..headers)
            .map(|_| ((*random.pick(&names)).to_owned(), bytes(random, 10)))
            .collect(),
    }
}

/// One to six records.
pub(crate) fn any_records(random: &mut Random) -> Vec<Rec> {
    (0..=random.below(6)).map(|_| any_record(random)).collect()
}
