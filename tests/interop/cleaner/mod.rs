//! Random logs cleaned by Kafka's `Cleaner` and by klog's, pass after pass, with appends, rolls, restarts and a moving clock
//! and high watermark in between: after each pass both have the same segments, batches, records, indexes and transaction
//! indexes, and the same counts. Where no compressor had a hand in it the files are the same to the byte.
//!
//! `KLOG_SEED=N` runs one log, `KLOG_SEEDS=N` another number of them.

mod coverage;
mod pair;
mod stream;

use parking_lot::Mutex;

use crate::run::Seeds;
use coverage::Coverage;

/// How many seeds `make test` runs.
const SEEDS: u64 = 200;

#[test]
fn klog_cleans_as_kafka_cleans() {
    let seeds = Seeds::from_env(SEEDS);
    let all = Mutex::new(Coverage::default());
    seeds.run("interop cleaner::klog_cleans_as_kafka_cleans", |seed| {
        let mut coverage = Coverage::default();
        let result = pair::run(seed, &mut coverage);
        all.lock().merge(&coverage);
        result
    });
    let coverage = all.into_inner();
    println!("{}", coverage.text());
    if seeds.are_all_of(SEEDS) {
        assert_eq!(coverage.missing(), [""; 0]);
    }
}
