//! What klog closes, Kafka opens without a word and leaves as it is; and the other way round.

use crate::kafka::ensure_kafka_takes_it_as_it_is;
use crate::support::random::Random;
use crate::support::tree;
use crate::written::{home_at, write_all_kinds};

#[test]
fn kafka_opens_and_closes_what_klog_closed_and_no_byte_changes() {
    let mut random = Random::from_env("kafka_opens_and_closes_what_klog_closed_and_no_byte_changes");
    let root = tree::scratch();
    let home = home_at(root.path());
    // Several openings: each begins new segments of old logs, and finds what the one before left.
    for _ in 0..3 {
        let manager = home.open();
        assert_eq!(manager.report(), []);
        write_all_kinds(&home, &manager, &mut random);
        manager.close().unwrap();
        ensure_kafka_takes_it_as_it_is(root.path());
    }
}
