//! Where each topic key takes effect when it changes while its log is open: one row a key. Names, types, defaults and bounds
//! have theirs in src/config/tests/keys.rs. manager.md 12, config.md 5.11.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::too_many_lines,
    reason = "a failure fails the test"
)]

mod support;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use klog::config::{ConfigSet, Effect, KeyDescription, Scope, describe};
use klog::io::ManualClock;
use klog::log::{AppendOptions, CursorOptions, Log};
use klog::manager::{CreateOptions, Manager, ManagerOptions, Pass, Task};
use klog::types::{Offset, TimestampMs, TopicPartition};
use klog::{Error, ErrorKind};

use support::engine::{self, Home, NOW, builder, rec, segments, t0};

/// A log that is open with the defaults, to be looked at after a change.
struct Open {
    home: Home,
    manager: Manager,
    log: Arc<Log>,
}

impl Open {
    fn new() -> Self {
        let home = Home::new();
        let manager = home.open();
        let log = t0(&manager);
        Self { home, manager, log }
    }

    fn set(&self, key: &str, value: &str) {
        self.try_set(&[(key, value)]).unwrap();
    }

    fn try_set(&self, keys: &[(&str, &str)]) -> Result<(), Error> {
        let mut set = ConfigSet::topic();
        for (key, value) in keys {
            set.set(key, value)?;
        }
        self.manager.set_topic_config("t", &set.topic_overrides()?)
    }

    /// Appends a record of this many bytes and this time.
    fn append(&self, bytes: usize, ts: i64) -> Result<(), Error> {
        let record = rec(ts, "k", &"v".repeat(bytes));
        self.log
            .append(&mut builder(&[record]), &AppendOptions::default())
            .map(drop)
    }

    fn fill(&self, n: usize) {
        for _ in 0..n {
            self.append(1, NOW).unwrap();
        }
    }

    fn retain(&self) -> usize {
        self.manager
            .retain(&self.log, Pass::Apply)
            .unwrap()
            .deleted
            .segments
    }

    /// Rolls and gives the size of a file of the new segment.
    fn size_after_roll(&self, file: &str) -> u64 {
        let base = self.log.roll().unwrap();
        let path = self.home.path(&format!("{}.{file}", base.0));
        std::fs::metadata(path).map_or(0, |m| m.len())
    }

    fn codec_of_next_batch(&self) -> String {
        let at = self.log.end_offset();
        self.append(100, NOW).unwrap();
        let (_, batch) = engine::read(&self.log, at.0, 1).unwrap();
        format!(
            "{:?}",
            klog::format::batch::Batch::new(&batch)
                .unwrap()
                .header()
                .attributes
                .codec()
                .unwrap()
        )
    }
}

/// Shows when a key counts.
type Shown = fn(&Open);

enum Where {
    /// From the next use on.
    AtOnce(Shown),
    /// From the next segment on.
    NextSegment(Shown),
    /// It is what the cleaner goes by: tests/cleaner.rs.
    Cleaner,
    /// It has no effect in a storage library.
    Stored,
}

use Where::{AtOnce, Cleaner, NextSegment, Stored};

fn rows() -> BTreeMap<&'static str, Where> {
    let rows: Vec<(&'static str, Where)> = vec![
        (
            "cleanup.policy",
            AtOnce(|o| {
                let no_key = || {
                    o.log.append(
                        &mut builder(&[engine::Rec {
                            ts: NOW,
                            value: Some(vec![1]),
                            ..engine::Rec::default()
                        }]),
                        &AppendOptions::default(),
                    )
                };
                no_key().unwrap();
                o.set("cleanup.policy", "compact");
                assert_eq!(no_key().unwrap_err().kind(), ErrorKind::InvalidRecord);
            }),
        ),
        (
            "compression.gzip.level",
            AtOnce(|o| {
                o.try_set(&[
                    ("compression.type", "gzip"),
                    ("compression.gzip.level", "1"),
                ])
                .unwrap();
                assert_eq!(o.log.config().compression_level(), Some(1));
            }),
        ),
        (
            "compression.lz4.level",
            AtOnce(|o| {
                o.try_set(&[("compression.type", "lz4"), ("compression.lz4.level", "3")])
                    .unwrap();
                assert_eq!(o.log.config().compression_level(), Some(3));
            }),
        ),
        (
            "compression.zstd.level",
            AtOnce(|o| {
                o.try_set(&[
                    ("compression.type", "zstd"),
                    ("compression.zstd.level", "7"),
                ])
                .unwrap();
                assert_eq!(o.log.config().compression_level(), Some(7));
            }),
        ),
        (
            "compression.type",
            AtOnce(|o| {
                assert_eq!(o.codec_of_next_batch(), "None");
                o.set("compression.type", "zstd");
                assert_eq!(o.codec_of_next_batch(), "Zstd");
            }),
        ),
        (
            "file.delete.delay.ms",
            AtOnce(|o| {
                o.fill(1);
                o.log.roll().unwrap();
                o.set("file.delete.delay.ms", "5");
                o.manager.delete_records(&o.log, Offset(1)).unwrap();
                assert_eq!(o.retain(), 1);
                o.home.clock.advance(4);
                o.manager.run(Task::DeleteFiles).unwrap();
                assert!(!o.home.retired_files().is_empty());
                o.home.clock.advance(1);
                o.manager.run(Task::DeleteFiles).unwrap();
                assert!(o.home.retired_files().is_empty());
            }),
        ),
        (
            "flush.messages",
            AtOnce(|o| {
                o.fill(3);
                assert_eq!(o.log.recovery_point(), Offset(0));
                o.set("flush.messages", "2");
                o.fill(1);
                assert_eq!(o.log.recovery_point(), Offset(4));
            }),
        ),
        (
            "flush.ms",
            AtOnce(|o| {
                o.fill(1);
                o.home.clock.advance(1000);
                o.manager.run(Task::Flusher).unwrap();
                assert_eq!(o.log.recovery_point(), Offset(0));
                o.set("flush.ms", "1000");
                o.manager.run(Task::Flusher).unwrap();
                assert_eq!(o.log.recovery_point(), Offset(1));
            }),
        ),
        (
            "index.interval.bytes",
            NextSegment(|o| {
                o.set("index.interval.bytes", "0");
                o.fill(4);
                o.log.roll().unwrap();
                o.fill(4);
                o.log.roll().unwrap();
                let entries = o.home.sizes(".index");
                assert_eq!(
                    entries[..2],
                    [(0, 0), (4, 3 * 8)],
                    "not in the segment that was open"
                );
            }),
        ),
        (
            "internal.segment.bytes",
            AtOnce(|o| {
                o.fill(2);
                o.set("internal.segment.bytes", "100");
                o.fill(2);
                assert_eq!(segments(&o.log).len(), 3);
            }),
        ),
        (
            "max.decompressed.message.bytes",
            AtOnce(|o| {
                o.set("max.decompressed.message.bytes", "77");
                assert_eq!(o.log.config().max_decompressed_message_bytes, 77);
            }),
        ),
        (
            "max.message.bytes",
            AtOnce(|o| {
                o.append(500, NOW).unwrap();
                o.set("max.message.bytes", "400");
                assert_eq!(
                    o.append(500, NOW).unwrap_err().kind(),
                    ErrorKind::MessageTooLarge
                );
            }),
        ),
        (
            "message.timestamp.after.max.ms",
            AtOnce(|o| {
                o.append(1, NOW + 100).unwrap();
                o.set("message.timestamp.after.max.ms", "99");
                assert_eq!(
                    o.append(1, NOW + 100).unwrap_err().kind(),
                    ErrorKind::InvalidTimestamp
                );
            }),
        ),
        (
            "message.timestamp.before.max.ms",
            AtOnce(|o| {
                o.append(1, NOW - 100).unwrap();
                o.set("message.timestamp.before.max.ms", "99");
                assert_eq!(
                    o.append(1, NOW - 100).unwrap_err().kind(),
                    ErrorKind::InvalidTimestamp
                );
            }),
        ),
        (
            "message.timestamp.type",
            AtOnce(|o| {
                o.set("message.timestamp.type", "LogAppendTime");
                o.append(1, 5).unwrap();
                let mut cursor = o.log.cursor(Offset(0), CursorOptions::default());
                let records = cursor.next_records(1).unwrap();
                assert_eq!(records.get(0).unwrap().timestamp, TimestampMs(NOW));
            }),
        ),
        (
            "preallocate",
            NextSegment(|o| {
                o.try_set(&[("preallocate", "true"), ("segment.bytes", "1048576")])
                    .unwrap();
                o.fill(1);
                assert_eq!(o.home.sizes(".log")[0].1, 70);
                assert_eq!(o.size_after_roll("log"), 1_048_576);
            }),
        ),
        (
            "retention.bytes",
            AtOnce(|o| {
                o.fill(1);
                o.log.roll().unwrap();
                o.fill(1);
                assert_eq!(o.retain(), 0);
                o.set("retention.bytes", "70");
                assert_eq!(o.retain(), 1);
            }),
        ),
        (
            "retention.ms",
            AtOnce(|o| {
                o.fill(1);
                o.log.roll().unwrap();
                o.home.clock.advance(11);
                assert_eq!(o.retain(), 0);
                o.set("retention.ms", "10");
                assert_eq!(o.retain(), 1);
            }),
        ),
        (
            "segment.bytes",
            AtOnce(|o| {
                o.append(600_000, NOW).unwrap();
                o.set("segment.bytes", "1048576");
                o.append(600_000, NOW).unwrap();
                assert_eq!(segments(&o.log).len(), 2);
            }),
        ),
        (
            "segment.index.bytes",
            NextSegment(|o| {
                o.try_set(&[("segment.index.bytes", "16"), ("index.interval.bytes", "0")])
                    .unwrap();
                o.fill(9);
                assert_eq!(segments(&o.log).len(), 1);
                o.log.roll().unwrap();
                o.fill(9);
                assert!(segments(&o.log).len() > 3);
            }),
        ),
        (
            "segment.jitter.ms",
            NextSegment(|o| {
                // Drawn for a segment when it begins: that of the open one stays 0.
                o.try_set(&[("segment.ms", "1000"), ("segment.jitter.ms", "1000")])
                    .unwrap();
                o.append(1, NOW).unwrap();
                o.append(1, NOW + 1000).unwrap();
                assert_eq!(segments(&o.log).len(), 1);
            }),
        ),
        (
            "segment.ms",
            AtOnce(|o| {
                o.append(1, NOW).unwrap();
                o.append(1, NOW + 1001).unwrap();
                o.set("segment.ms", "1000");
                o.append(1, NOW + 1001).unwrap();
                assert_eq!(segments(&o.log).len(), 2);
            }),
        ),
        ("delete.retention.ms", Cleaner),
        ("max.compaction.lag.ms", Cleaner),
        ("min.cleanable.dirty.ratio", Cleaner),
        ("min.compaction.lag.ms", Cleaner),
        ("errors.deadletterqueue.group.enable", Stored),
        ("follower.replication.throttled.replicas", Stored),
        ("leader.replication.throttled.replicas", Stored),
        ("local.retention.bytes", Stored),
        ("local.retention.ms", Stored),
        ("min.insync.replicas", Stored),
        ("remote.copy.lag.bytes", Stored),
        ("remote.copy.lag.ms", Stored),
        ("remote.log.copy.disable", Stored),
        ("remote.log.delete.on.disable", Stored),
        ("remote.storage.enable", Stored),
        ("unclean.leader.election.enable", Stored),
    ];
    rows.into_iter().collect()
}

#[test]
fn every_topic_key_takes_effect_where_its_row_says() {
    let rows = rows();
    let keys: Vec<KeyDescription> = (0..)
        .map_while(describe)
        .filter(|key| key.scope == Scope::Topic)
        .collect();
    assert_eq!(keys.len(), rows.len());
    for key in keys {
        match rows
            .get(key.key)
            .unwrap_or_else(|| panic!("no row for {}", key.key))
        {
            AtOnce(shown) | NextSegment(shown) => {
                println!("{}", key.key);
                shown(&Open::new());
            }
            Cleaner => assert_eq!(key.effect, Effect::Used, "{}", key.key),
            Stored => assert!(
                key.effect == Effect::Stored || key.key.contains("remote"),
                "{}",
                key.key
            ),
        }
    }
}

#[test]
fn manager_md_12_2_defaults_change_below_what_a_topic_was_given() {
    let home = Home::new().set("retention.ms", 5);
    let manager = home.open();
    let (t, u) = (t0(&manager), engine::log(&manager, "u-0"));
    let mut changes = ConfigSet::broker();
    changes.set("log.retention.ms", "70").unwrap();
    changes.set("log.retention.bytes", "900").unwrap();
    manager.set_config(&changes).unwrap();
    let of = |log: &Log| (log.config().retention_ms, log.config().retention_bytes);
    assert_eq!(of(&t), (Some(5), Some(900)));
    assert_eq!(of(&u), (Some(70), Some(900)));
    assert_eq!(
        of(&engine::log(&manager, "v-0")),
        (Some(70), Some(900)),
        "made later"
    );
    // Managed stays who was given something, unmanaged who was not.
    assert!(manager.is_managed(&t));
    manager.close().unwrap();
    let manager = home.open();
    assert!(!manager.is_managed(&engine::log(&manager, "u-0")));
    manager.set_config(&changes).unwrap();
    assert!(!manager.is_managed(&engine::log(&manager, "u-0")));
    manager
        .set_topic_config("u", &ConfigSet::topic().topic_overrides().unwrap())
        .unwrap();
    assert!(manager.is_managed(&engine::log(&manager, "u-0")));
}

#[test]
fn manager_md_12_3_a_topic_is_given_a_new_set_for_all_its_logs() {
    let home = Home::new()
        .set("retention.ms", 5)
        .set("max.message.bytes", 77);
    let manager = home.open();
    let logs = [t0(&manager), engine::log(&manager, "t-1")];
    let mut set = ConfigSet::topic();
    set.set("retention.bytes", "8").unwrap();
    manager
        .set_topic_config("t", &set.topic_overrides().unwrap())
        .unwrap();
    for log in logs.into_iter().chain([engine::log(&manager, "t-2")]) {
        let config = log.config();
        assert_eq!(config.retention_bytes, Some(8));
        assert_eq!(
            config.retention_ms,
            Some(7 * 24 * 3_600_000),
            "not merged with what it had"
        );
        assert_eq!(config.max_message_bytes, 1_048_588);
    }
}

#[test]
fn the_other_dynamic_keys_of_the_broker_count_at_once() {
    let home = Home::new();
    let manager = home.open();
    let log = t0(&manager);
    let stamp = klog::log::ProducerStamp {
        id: klog::types::ProducerId(7),
        epoch: 0,
        base_sequence: 0,
        is_transactional: false,
    };
    let options = AppendOptions {
        producer: Some(stamp),
        ..AppendOptions::default()
    };
    log.append(&mut builder(&[rec(NOW, "k", "v")]), &options)
        .unwrap();
    home.clock.advance(1001);
    manager.run(Task::ProducerExpiry).unwrap();
    assert_eq!(log.producers().len(), 1);
    let mut changes = ConfigSet::broker();
    changes.set("producer.id.expiration.ms", "1000").unwrap();
    manager.set_config(&changes).unwrap();
    manager.run(Task::ProducerExpiry).unwrap();
    assert_eq!(log.producers().len(), 0);
    let mut too_many = ConfigSet::broker();
    too_many
        .set("num.recovery.threads.per.data.dir", "99")
        .unwrap();
    let refused = manager.set_config(&too_many).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidConfig);
    manager.close().unwrap();
}

/// manager.md 3.3: no new log in a cordoned directory, unless it is asked for.
#[test]
fn cordoned_directories_get_no_new_logs() {
    let root = support::tree::scratch();
    let dirs: Vec<PathBuf> = ["a", "b", "c"]
        .iter()
        .map(|d| root.path().join(d))
        .collect();
    for dir in &dirs {
        std::fs::create_dir(dir).unwrap();
    }
    let manager = Manager::open(ManagerOptions {
        clock: Arc::new(ManualClock::new(TimestampMs(NOW))),
        ..ManagerOptions::new(
            dirs.clone(),
            Arc::new(ConfigSet::broker().resolve().unwrap()),
        )
    })
    .unwrap();
    let make = |n: i32, dir: Option<&PathBuf>| {
        let options = CreateOptions {
            dir: dir.cloned(),
            ..CreateOptions::default()
        };
        let log = manager
            .get_or_create_log(&TopicPartition::new("t", n), &options)
            .unwrap();
        let home = log.dir().parent().unwrap().to_path_buf();
        dirs.iter().position(|dir| *dir == home).unwrap()
    };
    let cordon = |which: &str| {
        let mut changes = ConfigSet::broker();
        changes.set("cordoned.log.dirs", which).unwrap();
        manager.set_config(&changes).unwrap();
    };
    assert_eq!([0, 1, 2, 3].map(|n| make(n, None)), [0, 1, 2, 0]);
    cordon(dirs[1].to_str().unwrap());
    assert_eq!([4, 5, 6].map(|n| make(n, None)), [2, 0, 2]);
    assert_eq!(make(7, Some(&dirs[1])), 1);
    cordon("*");
    assert_eq!(make(8, None), 0);
    cordon("");
    assert_eq!(make(9, None), 1);
    manager.close().unwrap();
}
