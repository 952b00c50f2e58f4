//! Kafka's answers about the mixed fixture (fixtures/README.md 3.1): offsets for times, and what reads give. Isolation
//! beyond the log end, epochs and aborted transactions come with the issues that bring them.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::cast_possible_wrap,
    reason = "a failure fails the test"
)]

mod support;

use std::collections::BTreeMap;
use std::sync::Arc;

use klog::format::names::parse_topic_partition;
use klog::log::{FirstBatch, Log, ReadOptions, TimeTarget};
use klog::types::Offset;

use support::engine::Home;
use support::fixture;

fn fields(text: &str) -> BTreeMap<&str, &str> {
    text.split(' ')
        .filter_map(|word| word.split_once('='))
        .collect()
}

fn number(fields: &BTreeMap<&str, &str>, key: &str) -> i64 {
    fields[key].parse().unwrap()
}

fn check_time(log: &Log, query: &str) {
    let (target, answer) = query.split_once(' ').unwrap();
    let target = TimeTarget::from_kafka(target.parse().unwrap()).unwrap();
    let found = log.offset_for_timestamp(target).unwrap().map_or_else(
        || "none".to_owned(),
        |r| {
            let epoch = r
                .leader_epoch
                .map_or_else(|| "-".to_owned(), |epoch| epoch.to_string());
            format!("offset={} ts={} epoch={epoch}", r.offset, r.timestamp)
        },
    );
    assert_eq!(found, answer, "{} time {query}", log.partition());
}

fn check_read(log: &Log, query: &str, buffer: &mut [u8]) {
    let (asked, answer) = query.split_once(" => ").unwrap();
    let (asked, said) = (fields(asked), fields(answer));
    let what = format!("{} read {query}", log.partition());
    let options = ReadOptions {
        max_bytes: asked["max"].parse().unwrap(),
        first_batch: if asked["min_one"] == "1" {
            FirstBatch::Always
        } else {
            FirstBatch::IfItFits
        },
    };
    let found = log.read(Offset(number(&asked, "from")), buffer, &options);
    if let Some(name) = answer.strip_prefix("error ") {
        assert_eq!(
            found.unwrap_err().kind().name(),
            format!("KLOG_ERR_{name}"),
            "{what}"
        );
        return;
    }
    let found = found.unwrap();
    assert_eq!(i64::from(found.batches), number(&said, "batches"), "{what}");
    assert_eq!(found.is_first_larger, said["incomplete"] == "1", "{what}");
    if found.batches > 0 {
        let place = (found.segment_base_offset.0, found.position as i64);
        assert_eq!(
            place,
            (number(&said, "seg"), number(&said, "pos")),
            "{what}"
        );
        assert_eq!(found.first_offset.0, number(&said, "first"), "{what}");
        assert_eq!(found.next_offset.0 - 1, number(&said, "last"), "{what}");
        // Kafka's slice may end inside a batch.
        assert!(found.bytes as i64 <= number(&said, "bytes"), "{what}");
    }
}

#[test]
fn klog_answers_the_queries_as_kafka_does() {
    let fixture = fixture::extract("kafka-4.4.0-mixed");
    let manager = Home::at(&fixture.dir).open();
    let queries = fixture::text("kafka-4.4.0-mixed.queries.txt");
    let mut buffer = vec![0; 4 << 20];
    let mut current: Option<Arc<Log>> = None;
    let (mut times, mut reads) = (0, 0);
    for line in queries.lines() {
        let (word, rest) = line.split_once(' ').unwrap();
        match (word, &current) {
            ("log", _) => {
                let (partition, said) = rest.split_once(' ').unwrap();
                let log = manager
                    .log(&parse_topic_partition(partition).unwrap())
                    .unwrap();
                let info = log.info();
                let found = format!(
                    "start={} end={} hw={} lso={}",
                    info.log_start_offset,
                    info.log_end_offset,
                    info.high_watermark,
                    info.last_stable_offset
                );
                assert_eq!(found, said, "{partition}");
                current = Some(log);
            }
            ("time", Some(log)) => {
                times += 1;
                check_time(log, rest);
            }
            // With one replica the high watermark is the log end.
            ("read", Some(log)) if !rest.contains("iso=committed") => {
                reads += 1;
                check_read(log, rest, &mut buffer);
            }
            _ => {}
        }
    }
    assert!(times >= 300 && reads >= 90, "{times} times, {reads} reads");
    manager.abandon();
}
