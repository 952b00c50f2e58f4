//! The durability contract (design.md 5) at every moment of random histories: the power is cut, or the process killed,
//! before each change of the simulated disk, and the directory opened again.
//!
//! After a cut everything is there that a flush or a synced append covered, and nothing but a prefix of what was
//! appended; after a kill everything that an append returned; after a clean close everything, and nothing is left to do.
//! A second crash comes while the first is recovered from, or right after, and what was seen once stays.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../crash/mod.rs"]
mod crash;

mod check;
mod history;

use std::sync::atomic::{AtomicU64, Ordering};

use crash::run::Seeds;
use history::History;

type Checked<T = ()> = Result<T, String>;

/// How many histories `make test` runs.
const SEEDS: u64 = 1000;
/// At so many moments the power was cut then, at least.
const CUTS_MIN: u64 = 100_000;

#[test]
fn the_durability_contract_holds_at_every_moment() {
    let seeds = Seeds::from_env(SEEDS);
    let covered = Covered::default();
    seeds.run("power_cuts", |seed| {
        let mut history = History::new(seed);
        let outcome = history.run();
        covered.add(&history.covered);
        outcome.map_err(|problem| format!("{problem}\nhistory:\n  {}", history.told.join("\n  ")))
    });
    let [cuts, kills, second, clean] = covered.values();
    println!(
        "power_cuts: {} seeds, {cuts} moments of power cuts, {kills} of kills, {second} second crashes, {clean} clean closes",
        seeds.count()
    );
    if seeds.are_all_of(SEEDS) {
        assert!(
            cuts >= CUTS_MIN && kills >= CUTS_MIN / 4,
            "too little is covered"
        );
        assert!(
            second >= CUTS_MIN && clean >= SEEDS,
            "too little is covered"
        );
    }
}

/// How much was covered.
#[derive(Default)]
struct Covered {
    cuts: AtomicU64,
    kills: AtomicU64,
    second: AtomicU64,
    clean: AtomicU64,
}

impl Covered {
    fn values(&self) -> [u64; 4] {
        [&self.cuts, &self.kills, &self.second, &self.clean].map(|n| n.load(Ordering::SeqCst))
    }

    fn add(&self, other: &Self) {
        for (total, n) in [&self.cuts, &self.kills, &self.second, &self.clean]
            .into_iter()
            .zip(other.values())
        {
            total.fetch_add(n, Ordering::SeqCst);
        }
    }
}

fn count(n: &AtomicU64) {
    n.fetch_add(1, Ordering::SeqCst);
}
