//! What klog closes, Kafka opens without a word and leaves as it is; and the two take turns in one directory.

use std::fs;

use klog::format::builder::BatchOptions;
use klog::format::codec::Codec;
use klog::log::AppendOptions;
use klog::manager::{Manager, ManagerOptions};
use klog::types::{ProducerId, TimestampMs};

use crate::kafka::{KafkaLog, Opening, ensure_kafka_takes_it_as_it_is, ensure_same_dump};
use crate::support::engine::{Home, NOW, Rec, batch, builder, log};
use crate::support::fixture;
use crate::support::random::{Random, any_records};
use crate::support::tree;
use crate::written::{home_at, write_all_kinds};

#[test]
fn kafka_opens_and_closes_what_klog_closed_and_no_byte_changes() {
    let mut random =
        Random::from_env("kafka_opens_and_closes_what_klog_closed_and_no_byte_changes");
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

/// Directories of real brokers, with all their eras, producers and open transactions: klog appends to each log.
#[test]
fn kafka_opens_and_closes_what_klog_appended_to_brokers_directories() {
    let mut random =
        Random::from_env("kafka_opens_and_closes_what_klog_appended_to_brokers_directories");
    for name in fixture::NAMES {
        let fixture = fixture::extract(name);
        // Kafka opens the logs of a deleted topic and changes them; klog does not look at them (D63).
        for partition in tree::partitions(&fixture.dir)
            .iter()
            .filter(|name| name.ends_with("-delete"))
        {
            fs::remove_dir_all(fixture.dir.join(partition)).unwrap();
        }
        // One append at least: a log that starts at its end gets and loses its snapshot with every other load of Kafka's
        // (state.md 6.6), so that nothing can be left which Kafka leaves as it is.
        let home = Home::at(&fixture.dir);
        let manager = home.open();
        let logs = manager.logs();
        assert!(manager.failed_logs().is_empty());
        for log in &logs {
            for _ in 0..=random.below(4) {
                let codec = Codec::from_id(random.below(5) as u8);
                let options = AppendOptions {
                    codec,
                    ..AppendOptions::default()
                };
                log.append(&mut builder(&any_records(&mut random)), &options)
                    .unwrap();
                if random.once_in(4) {
                    log.roll().unwrap();
                }
            }
        }
        manager.close().unwrap();
        ensure_kafka_takes_it_as_it_is(&fixture.dir);
        ensure_same_dump(&fixture.dir);
    }
}

/// Logs of real brokers move to another directory, one after the other, and are appended to in between: Kafka opens that one
/// and has every record.
#[test]
fn kafka_opens_what_klog_moved_from_one_directory_to_another() {
    let mut random = Random::from_env("kafka_opens_what_klog_moved_from_one_directory_to_another");
    for name in ["kafka-4.4.0-broker", "kafka-4.4.0-mixed", "kafka-legacy"] {
        let fixture = fixture::extract(name);
        let root = tree::scratch();
        let dirs = [fixture.dir.clone(), root.path().to_path_buf()];
        let config = Home::at(&fixture.dir).config();
        let manager = Manager::open(ManagerOptions::new(dirs.to_vec(), config)).unwrap();
        let mut moved = 0;
        for log in manager.logs() {
            let records = any_records(&mut random);
            log.append(&mut builder(&records), &AppendOptions::default())
                .unwrap();
            manager.move_log(&log, &dirs[1], || Ok(())).unwrap();
            let records = any_records(&mut random);
            log.append(&mut builder(&records), &AppendOptions::default())
                .unwrap();
            moved += 1;
        }
        assert!(moved >= 3, "{name}");
        manager.close().unwrap();
        ensure_kafka_takes_it_as_it_is(&dirs[1]);
        ensure_same_dump(&dirs[1]);
        assert_eq!(tree::partitions(&dirs[1]).len(), moved);
    }
}

/// A batch of an idempotent or transactional producer, as Kafka's client sends it.
fn producer_batch(
    random: &mut Random,
    producer: i64,
    sequence: &mut i32,
    transactional: bool,
) -> Vec<u8> {
    let records: Vec<Rec> = any_records(random);
    let options = BatchOptions {
        producer_id: ProducerId(producer),
        producer_epoch: 0,
        base_sequence: *sequence,
        transactional,
        codec: Codec::from_id(random.below(5) as u8).unwrap(),
        ..BatchOptions::default()
    };
    *sequence += records.len() as i32;
    batch(&records, &options)
}

/// The marker that ends a transaction.
fn marker(producer: i64, commits: bool) -> Vec<u8> {
    let record = Rec {
        ts: NOW,
        key: Some(vec![0, 0, 0, u8::from(commits)]),
        value: Some(vec![0, 0, 0, 0, 0, 7]),
        headers: Vec::new(),
    };
    let options = BatchOptions {
        producer_id: ProducerId(producer),
        producer_epoch: 0,
        transactional: true,
        control: true,
        ..BatchOptions::default()
    };
    batch(&[record], &options)
}

#[test]
fn kafka_and_klog_take_turns_in_one_log() {
    let mut random = Random::from_env("kafka_and_klog_take_turns_in_one_log");
    let root = tree::scratch();
    let home = Home::at(root.path())
        .set("internal.segment.bytes", 3000)
        .set("index.interval.bytes", 300)
        .set("segment.index.bytes", 96);
    let settings = [
        ("internal.segment.bytes", "3000".to_owned()),
        ("index.interval.bytes", "300".to_owned()),
        ("segment.index.bytes", "96".to_owned()),
    ];
    let mut sequences = [0; 3];
    let mut open_txn = false;
    let mut end = 0;
    for turn in 0..12 {
        let now = NOW + turn * 10_000;
        home.clock.set(TimestampMs(now));
        if turn % 2 == 0 {
            let manager = home.open();
            assert_eq!(
                manager.report(),
                [],
                "turn {turn}: Kafka left something to do"
            );
            let log = log(&manager, "t-0");
            assert_eq!(log.end_offset().0, end, "turn {turn}");
            for _ in 0..random.below(12) {
                log.append(
                    &mut builder(&any_records(&mut random)),
                    &AppendOptions::default(),
                )
                .unwrap();
                if random.once_in(6) {
                    log.roll().unwrap();
                }
            }
            end = log.end_offset().0;
            manager.close().unwrap();
            ensure_kafka_takes_it_as_it_is(root.path());
        } else {
            let opening = Opening {
                clean: true,
                recovery_point: 0,
                start: 0,
                now,
                settings: &settings,
            };
            let kafka = KafkaLog::open(root.path(), "t-0", &opening);
            let epoch = turn as i32;
            for _ in 0..random.below(12) {
                match random.below(5) {
                    0 => {
                        kafka.append(
                            epoch,
                            &batch(&any_records(&mut random), &BatchOptions::default()),
                        );
                    }
                    1 if open_txn => {
                        let commits = random.once_in(2);
                        kafka.append_marker(epoch, &marker(2, commits));
                        open_txn = false;
                    }
                    2 => {
                        kafka.append(
                            epoch,
                            &producer_batch(&mut random, 2, &mut sequences[2], true),
                        );
                        open_txn = true;
                    }
                    3 => kafka.roll(),
                    n => {
                        let producer = n % 2;
                        let sequence = &mut sequences[producer];
                        kafka.append(
                            epoch,
                            &producer_batch(&mut random, producer as i64, sequence, false),
                        );
                    }
                }
            }
            end = kafka.text().log("t-0").number("end");
            kafka.close();
        }
        let text = ensure_same_dump(root.path());
        assert_eq!(text.log("t-0").number("end"), end);
    }
    // Something of everything must have come.
    let text = ensure_same_dump(root.path());
    let log = text.log("t-0");
    assert!(log.segments().len() > 3 && end > 30, "{}", log.0[0]);
    assert!(!log.starting("producer").is_empty());
}
