//! Directories that klog writes, in every way that it can: Kafka has in them what klog has.

use std::path::Path;
use std::sync::Arc;

use klog::format::codec::Codec;
use klog::format::uuid::Uuid;
use klog::log::{AppendOptions, Log};
use klog::manager::{CreateOptions, Manager};
use klog::types::{LeaderEpoch, TimestampMs, TopicPartition};

use crate::kafka::ensure_same_dump;
use crate::support::canonical::{Text, record_line};
use crate::support::engine::{Home, NOW, Rec, builder, log};
use crate::support::random::{Random, any_records};
use crate::support::tree;

/// The codecs as `compression.type` names them.
pub(crate) const CODECS: [&str; 5] = ["uncompressed", "gzip", "snappy", "lz4", "zstd"];

/// Settings for [`write_all_kinds`].
pub(crate) fn home_at(dir: &Path) -> Home {
    let mut home = Home::at(dir);
    for codec in CODECS {
        home = home.set_for(codec, "compression.type", codec);
    }
    home.set_for("rolled", "internal.segment.bytes", 3000)
        .set_for("rolled", "index.interval.bytes", 200)
        .set_for("small-index", "segment.index.bytes", 60)
        .set_for("small-index", "index.interval.bytes", 100)
        .set_for("aged", "segment.ms", 1000)
        .set_for("stamped", "message.timestamp.type", "LogAppendTime")
}

/// The `rec` lines that a log must have: what was appended, in order.
pub(crate) type Appended = Vec<(String, Vec<String>)>;

/// A log with a topic id; a new one if it is not there yet.
fn create(manager: &Manager, topic: &str, partition: i32) -> Arc<Log> {
    let partition = TopicPartition::new(topic, partition);
    manager.log(&partition).unwrap_or_else(|_| {
        let options = CreateOptions {
            topic_id: Some(Uuid::random().unwrap()),
            dir: None,
            ..CreateOptions::default()
        };
        manager.get_or_create_log(&partition, &options).unwrap()
    })
}

/// Appends to a log and notes what it must have now.
fn put(appended: &mut Appended, log: &Log, records: &[Rec], options: &AppendOptions) {
    let result = log.append(&mut builder(records), options).unwrap();
    let name = log.partition().to_string();
    let at = appended
        .iter()
        .position(|(known, _)| *known == name)
        .unwrap_or_else(|| {
            appended.push((name, Vec::new()));
            appended.len() - 1
        });
    for (record, offset) in records.iter().zip(result.first_offset.0..) {
        // With the log's time a record has that, whatever the producer said.
        let timestamp = if result.log_append_time.is_some() {
            result.log_append_time.0
        } else {
            record.ts
        };
        appended[at].1.push(record_line(offset, timestamp, record));
    }
}

/// Writes logs of every kind that klog can write.
pub(crate) fn write_all_kinds(home: &Home, manager: &Manager, random: &mut Random) -> Appended {
    let mut appended = Appended::new();
    let usual = AppendOptions::default();
    for codec in CODECS {
        let log = create(manager, codec, 0);
        for _ in 0..30 {
            put(&mut appended, &log, &any_records(random), &usual);
        }
        // One that does not fit a codec's block, and one that packs well.
        let large = |value: Vec<u8>| Rec {
            ts: NOW,
            key: None,
            value: Some(value),
            headers: Vec::new(),
        };
        put(
            &mut appended,
            &log,
            &[large(random.bytes(200_000)), large(vec![7; 300_000])],
            &usual,
        );
    }
    // Any codec in one log, whatever the topic says; partitions of one topic.
    for partition in [0, 1, 10] {
        let log = create(manager, "rolled", partition);
        for i in 0..120 {
            let codec = Codec::from_id((i % 5) as u8);
            put(
                &mut appended,
                &log,
                &any_records(random),
                &AppendOptions { codec, ..usual },
            );
            if random.once_in(40) {
                log.roll().unwrap();
            }
        }
    }
    let small = create(manager, "small-index", 0);
    let aged = create(manager, "aged", 0);
    let stamped = create(manager, "stamped", 3);
    for i in 0..40 {
        home.clock.set(TimestampMs(NOW + 150 * i));
        put(&mut appended, &small, &any_records(random), &usual);
        let mut records = any_records(random);
        for (record, n) in records.iter_mut().zip(0..) {
            record.ts = NOW + 100 * i + n;
        }
        put(&mut appended, &aged, &records, &usual);
        let codec = Codec::from_id(if i % 2 == 0 { 0 } else { 4 });
        put(
            &mut appended,
            &stamped,
            &any_records(random),
            &AppendOptions { codec, ..usual },
        );
    }
    // Without a topic id; with several leader epochs, of which some wrote nothing.
    let epochs = log(manager, "epochs-2");
    let latest = epochs.info().latest_epoch.map_or(0, |epoch| epoch.0);
    for epoch in [0, 1, 1, 4, 9] {
        let leader_epoch = Some(LeaderEpoch(latest + epoch));
        put(
            &mut appended,
            &epochs,
            &any_records(random),
            &AppendOptions {
                leader_epoch,
                ..usual
            },
        );
    }
    create(manager, "never-written", 0);
    log(manager, "rolled-empty-0").roll().unwrap();
    appended
}

/// What klog shows must be what was appended: Kafka and klog could agree on something else.
pub(crate) fn ensure_has(text: &Text, appended: &Appended) {
    for (partition, expected) in appended {
        let found = text.log(partition).starting("rec");
        assert_eq!(found, *expected, "{partition}");
    }
}

#[test]
fn kafka_has_what_klog_wrote_and_closed() {
    let mut random = Random::from_env("kafka_has_what_klog_wrote_and_closed");
    let root = tree::scratch();
    let home = home_at(root.path());
    let manager = home.open();
    let appended = write_all_kinds(&home, &manager, &mut random);
    manager.close().unwrap();
    let text = ensure_same_dump(root.path());
    assert!(text.head.contains(&"clean yes".to_owned()));
    ensure_has(&text, &appended);
    for (name, least) in [("rolled-0", 5), ("small-index-0", 5), ("aged-0", 3)] {
        assert!(
            text.log(name).segments().len() >= least,
            "{name} was hardly rolled"
        );
    }
}

#[test]
fn kafka_has_what_klog_wrote_and_did_not_close() {
    let mut random = Random::from_env("kafka_has_what_klog_wrote_and_did_not_close");
    let root = tree::scratch();
    let home = home_at(root.path());
    let manager = home.open();
    let appended = write_all_kinds(&home, &manager, &mut random);
    // Looked at while it is open, and as a process leaves it that ends without closing.
    let text = ensure_same_dump(root.path());
    ensure_has(&text, &appended);
    manager.checkpoint().unwrap();
    ensure_has(&ensure_same_dump(root.path()), &appended);
    manager.abandon();
    let text = ensure_same_dump(root.path());
    assert!(text.head.contains(&"clean no".to_owned()));
    ensure_has(&text, &appended);
}
