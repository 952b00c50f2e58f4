//! Reads and look-ups by time: klog gives what Kafka gives for the same log.

use std::path::Path;
use std::sync::Arc;

use klog::log::{FirstBatch, Log, ReadOptions, TimeTarget};
use klog::types::Offset;

use crate::kafka::{KafkaLog, Opening, field, number_of};
use crate::support::canonical::{hex, unhex};
use crate::support::engine::{Home, NOW};
use crate::support::random::Random;
use crate::support::referee::error_name;
use crate::support::{fixture, tree};
use crate::written::{home_at, write_all_kinds};

fn open_kafka(dir: &Path, partition: &str, start: i64) -> KafkaLog {
    let opening = Opening {
        clean: true,
        recovery_point: 0,
        start,
        now: NOW,
        settings: &[],
    };
    KafkaLog::open(dir, partition, &opening)
}

/// What of Kafka's slice is whole batches: sizes are in the batches.
fn whole_batches(slice: &[u8]) -> &[u8] {
    let mut end = 0;
    while let Some(size) = slice.get(end + 8..end + 12) {
        let next = end + 12 + u32::from_be_bytes(size.try_into().unwrap()) as usize;
        if next > slice.len() {
            break;
        }
        end = next;
    }
    &slice[..end]
}

fn compare_read(log: &Log, kafka: &KafkaLog, from: i64, max_bytes: usize, first_batch: FirstBatch) {
    let what = format!(
        "{} from {from} max {max_bytes} {first_batch:?}",
        log.partition()
    );
    let mut buffer = vec![0; 1 << 20];
    let klog = log.read(
        Offset(from),
        &mut buffer,
        &ReadOptions {
            max_bytes,
            first_batch,
            ..ReadOptions::default()
        },
    );
    match kafka.read(from, max_bytes, first_batch == FirstBatch::Always) {
        Err(error) => {
            let name = error_name(&error);
            assert_eq!(
                klog.unwrap_err().kind().name(),
                format!("KLOG_ERR_{name}"),
                "{what}"
            );
        }
        Ok(answer) => {
            let klog = klog.unwrap_or_else(|error| panic!("{what}: {error}, Kafka: {answer}"));
            let slice = unhex(field(&answer, "data"));
            let whole = whole_batches(&slice);
            assert_eq!(hex(&buffer[..klog.bytes]), hex(whole), "{what}");
            assert_eq!(
                klog.is_first_larger,
                field(&answer, "incomplete") == "1",
                "{what}"
            );
            if !whole.is_empty() {
                let place = (klog.segment_base_offset.0, klog.position as i64);
                assert_eq!(
                    place,
                    (number_of(&answer, "seg"), number_of(&answer, "pos")),
                    "{what}"
                );
                assert_eq!(
                    i64::from(klog.batches),
                    number_of(&answer, "batches"),
                    "{what}"
                );
                assert_eq!(klog.first_offset.0, number_of(&answer, "first"), "{what}");
                assert_eq!(klog.next_offset.0, number_of(&answer, "last") + 1, "{what}");
            }
        }
    }
}

fn compare_time(log: &Log, kafka: &KafkaLog, target: i64) {
    let klog = log
        .offset_for_timestamp(TimeTarget::from_kafka(target).unwrap())
        .unwrap();
    let said = klog.map_or_else(
        || "none".to_owned(),
        |r| {
            let epoch = r
                .leader_epoch
                .map_or_else(|| "-".to_owned(), |epoch| epoch.to_string());
            format!("offset={} ts={} epoch={epoch}", r.offset, r.timestamp)
        },
    );
    assert_eq!(
        said,
        kafka.timestamp(target),
        "{} time {target}",
        log.partition()
    );
}

/// Random reads and look-ups of every log of a directory.
fn compare_all(home: &Home, random: &mut Random, tries: usize) {
    let manager = home.open();
    let copy = tree::scratch();
    tree::copy(&home.dir, copy.path());
    for log in manager.logs() {
        let (start, end) = (log.start_offset().0, log.end_offset().0);
        let kafka = open_kafka(copy.path(), &log.partition().to_string(), start);
        let mut froms: Vec<i64> = vec![start - 1, start, end - 1, end, end + 1];
        froms.extend((0..tries).map(|_| random.between(start, end + 1)));
        for from in froms.into_iter().filter(|from| *from >= 0) {
            let max_bytes = match random.below(6) {
                0 => 0,
                1 => 1,
                2 => random.below(100),
                3 => random.below(2000),
                4 => random.below(20_000),
                _ => 1 << 20,
            };
            let first = if random.once_in(3) {
                FirstBatch::IfItFits
            } else {
                FirstBatch::Always
            };
            compare_read(&log, &kafka, from, max_bytes, first);
        }
        for target in times_of(&log, random, tries) {
            compare_time(&log, &kafka, target);
        }
        kafka.close();
    }
    manager.abandon();
}

/// Special targets, times around those that the batches have, and some far off.
fn times_of(log: &Arc<Log>, random: &mut Random, tries: usize) -> Vec<i64> {
    let mut targets = vec![-1, -2, -3, -4, -7, 0, 1, NOW, i64::MAX];
    let mut seen = Vec::new();
    for segment in log.segment_list() {
        seen.push(segment.max_timestamp().unwrap().timestamp.0);
    }
    for _ in 0..tries {
        targets.push(NOW + random.between(-6000, 12_000));
        targets.push(*random.pick(&seen) + random.between(-2, 3));
    }
    targets.retain(|target| ![-5, -6].contains(target));
    targets
}

#[test]
fn klog_reads_what_kafka_reads_of_what_klog_wrote() {
    let mut random = Random::from_env("klog_reads_what_kafka_reads_of_what_klog_wrote");
    let root = tree::scratch();
    let home = home_at(root.path());
    let manager = home.open();
    write_all_kinds(&home, &manager, &mut random);
    manager.close().unwrap();
    compare_all(&home, &mut random, 40);
}

/// Every era, holes and empty batches of compaction, log starts inside a segment, offsets beyond 2^32.
#[test]
fn klog_reads_what_kafka_reads_of_brokers_directories() {
    let mut random = Random::from_env("klog_reads_what_kafka_reads_of_brokers_directories");
    for name in [
        "kafka-4.4.0-mixed",
        "kafka-legacy",
        "kafka-4.4.0-broker",
        "kafka-3.9.1-clean",
    ] {
        let fixture = fixture::extract(name);
        compare_all(&Home::at(&fixture.dir), &mut random, 12);
    }
}
