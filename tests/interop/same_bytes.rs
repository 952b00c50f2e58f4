//! The same appends to klog and to Kafka, under the same clock and settings, make the same files.

use std::path::Path;

use klog::format::builder::BatchOptions;
use klog::format::codec::Codec;
use klog::log::AppendOptions;
use klog::types::{LeaderEpoch, ProducerId, TimestampMs};

use crate::kafka::{KafkaLog, Opening, ensure_same_dump, partition_files, referee};
use crate::support::canonical::{hex, unhex};
use crate::support::engine::{Home, NOW, Rec, batch, builder, t0};
use crate::support::random::{Random, any_record, any_records};
use crate::support::tree;

/// A record as the referee takes it.
fn record_field(record: &Rec) -> String {
    let bytes = |bytes: &Option<Vec<u8>>| bytes.as_deref().map_or_else(|| "null".to_owned(), hex);
    let headers: Vec<String> = record
        .headers
        .iter()
        .map(|(name, value)| format!("{}={}", hex(name.as_bytes()), bytes(value)))
        .collect();
    format!(
        "{}:{}:{}:{}",
        record.ts,
        bytes(&record.key),
        bytes(&record.value),
        headers.join(",")
    )
}

#[test]
fn an_uncompressed_batch_has_the_bytes_of_kafkas() {
    let mut random = Random::from_env("an_uncompressed_batch_has_the_bytes_of_kafkas");
    for _ in 0..300 {
        let mut records = any_records(&mut random);
        if random.once_in(20) {
            records.extend((0..300).map(|_| any_record(&mut random)));
        }
        let with_producer = random.once_in(2);
        let append_time = random.once_in(4).then(|| NOW + random.between(0, 1000));
        let base = *random.pick(&[0, 1, 127, 1 << 33, i64::MAX / 2]);
        let options = BatchOptions {
            base_offset: klog::types::Offset(base),
            leader_epoch: LeaderEpoch(random.between(-1, 5) as i32),
            log_append_time: append_time.map(TimestampMs),
            producer_id: ProducerId(if with_producer {
                random.between(0, 1 << 40)
            } else {
                -1
            }),
            producer_epoch: if with_producer {
                random.between(0, 1 << 14) as i16
            } else {
                -1
            },
            base_sequence: if with_producer {
                random.between(0, 1 << 30) as i32
            } else {
                -1
            },
            transactional: with_producer && random.once_in(2),
            ..BatchOptions::default()
        };
        let mut request: Vec<String> = vec![
            "batch".to_owned(),
            base.to_string(),
            "none".to_owned(),
            if append_time.is_some() {
                "append"
            } else {
                "create"
            }
            .to_owned(),
            append_time.unwrap_or(-1).to_string(),
            format!("producer={}", options.producer_id),
            format!("pepoch={}", options.producer_epoch),
            format!("seq={}", options.base_sequence),
            format!("txn={}", u8::from(options.transactional)),
            format!("lepoch={}", options.leader_epoch),
        ];
        request.extend(records.iter().map(record_field));
        let request: Vec<&str> = request.iter().map(String::as_str).collect();
        let kafka = unhex(&referee().line(&request));
        assert_eq!(
            hex(&batch(&records, &options)),
            hex(&kafka),
            "{records:?} {options:?}"
        );
    }
}

/// How a run rolls and indexes.
struct Kind {
    name: &'static str,
    settings: &'static [(&'static str, &'static str)],
    /// By how much the clock goes on with an append: none, once or twice this, so that limits are met exactly too.
    step_ms: i64,
    least_segments: usize,
}

const KINDS: [Kind; 6] = [
    Kind {
        name: "many entries, rolled by size",
        settings: &[
            ("index.interval.bytes", "100"),
            ("internal.segment.bytes", "9000"),
        ],
        step_ms: 10,
        least_segments: 4,
    },
    Kind {
        name: "an entry for each batch, rolled by a full offset index",
        settings: &[
            ("index.interval.bytes", "0"),
            ("segment.index.bytes", "120"),
        ],
        step_ms: 10,
        least_segments: 8,
    },
    Kind {
        name: "rolled by a full time index",
        settings: &[
            ("index.interval.bytes", "50"),
            ("segment.index.bytes", "61"),
        ],
        step_ms: 10,
        least_segments: 8,
    },
    Kind {
        name: "rolled by time",
        settings: &[("segment.ms", "2000"), ("index.interval.bytes", "300")],
        step_ms: 250,
        least_segments: 5,
    },
    Kind {
        name: "the log's time",
        settings: &[
            ("message.timestamp.type", "LogAppendTime"),
            ("segment.ms", "3000"),
            ("index.interval.bytes", "200"),
        ],
        step_ms: 300,
        least_segments: 4,
    },
    Kind {
        name: "all defaults",
        settings: &[],
        step_ms: 500,
        least_segments: 1,
    },
];

/// klog's and Kafka's log in two directories.
struct Pair {
    home: Home,
    by_kafka: tempfile::TempDir,
}

impl Pair {
    fn open_kafka(&self, kind: &Kind, now: i64) -> KafkaLog {
        let settings: Vec<(&str, String)> = kind
            .settings
            .iter()
            .map(|(k, v)| (*k, (*v).to_owned()))
            .collect();
        let opening = Opening {
            clean: true,
            recovery_point: 0,
            start: 0,
            now,
            settings: &settings,
        };
        KafkaLog::open(self.by_kafka.path(), "t-0", &opening)
    }

    /// Files and bytes alike, but for snapshots of earlier closings, which Kafka leaves to its next load.
    fn ensure_alike(&self, what: &str) {
        let klog = partition_files(&self.home.dir);
        let mut kafka = partition_files(self.by_kafka.path());
        let is_snapshot = |path: &Path| path.extension() == Some("snapshot".as_ref());
        kafka.retain(|path, _| !is_snapshot(path) || klog.contains_key(path));
        assert_eq!(
            tree::differences(&klog, &kafka),
            [""; 0],
            "{what}: klog (left) and Kafka (right)"
        );
    }
}

#[test]
fn the_same_appends_and_rolls_make_the_same_files() {
    let mut random = Random::from_env("the_same_appends_and_rolls_make_the_same_files");
    for kind in &KINDS {
        let home = kind
            .settings
            .iter()
            .fold(Home::new(), |home, (key, value)| home.set(key, value));
        let pair = Pair {
            home,
            by_kafka: tree::scratch(),
        };
        let mut now = NOW;
        let mut epoch = 0;
        // The second opening goes on in the last segment, the third in what that left.
        for life in 0..3 {
            pair.home.clock.set(TimestampMs(now));
            let manager = pair.home.open();
            let log = t0(&manager);
            let kafka = pair.open_kafka(kind, now);
            for _ in 0..60 {
                now += random.between(0, 3) * kind.step_ms;
                pair.home.clock.set(TimestampMs(now));
                kafka.set_now(now);
                if random.once_in(15) {
                    epoch += random.between(1, 3) as i32;
                }
                if random.once_in(25) {
                    log.roll().unwrap();
                    kafka.roll();
                    continue;
                }
                let mut records = any_records(&mut random);
                if random.once_in(2) {
                    // Times that rise with the clock, so that time decides about rolling.
                    for record in &mut records {
                        record.ts = now;
                    }
                }
                let codec = Codec::from_id(random.below(5) as u8).unwrap();
                let options = AppendOptions {
                    leader_epoch: Some(LeaderEpoch(epoch)),
                    codec: Some(codec),
                    ..AppendOptions::default()
                };
                // A producer's batch, which both keep but for offset, epoch and time.
                let bytes = batch(
                    &records,
                    &BatchOptions {
                        codec,
                        ..BatchOptions::default()
                    },
                );
                let own = random.once_in(2);
                let result = if own {
                    log.append(&mut builder(&records), &options).unwrap()
                } else {
                    log.append_batches(&bytes, &options).unwrap()
                };
                assert_eq!(
                    kafka.append(epoch, &bytes),
                    result.first_offset.0,
                    "{}",
                    kind.name
                );
            }
            // Alike while open, as far as klog has written its indexes: the segments that are done.
            let text = kafka.text();
            assert_eq!(text.log("t-0").number("end"), log.end_offset().0);
            let rolled: Vec<(i64, u64)> = text
                .log("t-0")
                .segments()
                .iter()
                .map(|s| (s.base, s.size))
                .collect();
            assert_eq!(
                crate::support::engine::segments(&log),
                rolled,
                "{}: life {life}",
                kind.name
            );
            kafka.close();
            manager.close().unwrap();
            pair.ensure_alike(&format!("{}: life {life}", kind.name));
        }
        let segments = ensure_same_dump(&pair.home.dir).log("t-0").segments().len();
        assert!(
            segments >= kind.least_segments,
            "{}: only {segments} segments",
            kind.name
        );
    }
}
