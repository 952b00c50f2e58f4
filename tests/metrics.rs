//! Metrics under Kafka's names: the table, exact values after a known history, the OpenMetrics text, and the progress of an
//! opening. manager.md 14.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a failure fails the test"
)]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use klog::config::ConfigSet;
use klog::error::{ErrorKind, Result};
use klog::format::batch::stamp;
use klog::format::builder::{BatchBuilder, BatchOptions};
use klog::format::crc::crc32;
use klog::io::{DirEntry, File, FileLock, FileSystem, ManualClock, OpenMode, RealFs, Stat};
use klog::log::{AppendOptions, Log, Origin, TxnMarker};
use klog::manager::{CreateOptions, DirOpening, Manager, ManagerOptions, OpenProgress, Pass};
use klog::service::metrics::{self, METRICS, MetricKind};
use klog::types::{LeaderEpoch, ProducerId, TimestampMs, TopicPartition};

use support::engine::{Home, NOW, append, batch, builder, fill, log, offsets, read, rec, t0};
use support::tree;

/// manager.md 14, row by row: MBean type, names, what kind. Of a timer there are two rows.
const ROWS: &[(&str, &[&str], MetricKind)] = &[
    (
        "kafka.log:type=LogManager",
        &[
            "OfflineLogDirectoryCount",
            "CordonedLogDirectoryCount",
            "LogDirectoryOffline",
            "LogDirectoryCordoned",
            "remainingLogsToRecover",
            "remainingSegmentsToRecover",
        ],
        MetricKind::Gauge,
    ),
    (
        "kafka.log:type=Log",
        &[
            "NumLogSegments",
            "LogStartOffset",
            "LogEndOffset",
            "Size",
            "RetentionSizeInPercent",
        ],
        MetricKind::Gauge,
    ),
    (
        "kafka.log:type=LogFlushStats",
        &["LogFlushRateAndTimeMs"],
        MetricKind::TimerCount,
    ),
    (
        "kafka.log:type=LogFlushStats",
        &["LogFlushRateAndTimeMs,attribute=Sum"],
        MetricKind::TimerSum,
    ),
    (
        "kafka.log:type=LogCleaner",
        &[
            "max-buffer-utilization-percent",
            "max-clean-time-secs",
            "max-compaction-delay-secs",
            "cleaner-recopy-percent",
            "DeadThreadCount",
        ],
        MetricKind::Gauge,
    ),
    (
        "kafka.log:type=LogCleanerManager",
        &[
            "uncleanable-partitions-count",
            "uncleanable-bytes",
            "max-dirty-percent",
            "time-since-last-run-ms",
        ],
        MetricKind::Gauge,
    ),
    (
        "kafka.server:type=BrokerTopicMetrics",
        &[
            "MessagesInPerSec",
            "BytesInPerSec",
            "BytesOutPerSec",
            "BytesRejectedPerSec",
            "NoKeyCompactedTopicRecordsPerSec",
            "InvalidMagicNumberRecordsPerSec",
            "InvalidMessageCrcRecordsPerSec",
            "InvalidOffsetOrSequenceRecordsPerSec",
        ],
        MetricKind::Counter,
    ),
];

#[test]
fn manager_md_14_every_row_is_in_the_table_and_no_other() {
    let expected: Vec<(String, MetricKind)> = ROWS
        .iter()
        .flat_map(|(of, names, kind)| {
            names
                .iter()
                .map(move |name| (format!("{of},name={name}"), *kind))
        })
        .collect();
    let table: Vec<(String, MetricKind)> = METRICS
        .iter()
        .map(|metric| (metric.name().to_owned(), metric.kind()))
        .collect();
    assert_eq!(table, expected);
    for metric in METRICS {
        assert!(metric.help().ends_with('.'), "{}", metric.name());
        assert_eq!(metric.c_help().to_str(), Ok(metric.help()));
        assert_eq!(metric.c_name().to_str(), Ok(metric.name()));
        assert_eq!(metric.c_unit().to_str(), Ok(metric.unit()));
    }
}

/// The value of one metric, by the end of its name.
fn value(manager: &Manager, only: Option<&Arc<Log>>, name: &str) -> u64 {
    let values = metrics::read(manager, only).unwrap();
    assert_eq!(values.len(), METRICS.len());
    let ending = format!("name={name}");
    let at = METRICS.iter().position(|m| m.name().ends_with(&ending));
    values[at.unwrap_or_else(|| panic!("no metric {name}"))]
}

fn values<const N: usize>(
    manager: &Manager,
    only: Option<&Arc<Log>>,
    names: [&str; N],
) -> [u64; N] {
    names.map(|name| value(manager, only, name))
}

const TOPIC: [&str; 4] = [
    "MessagesInPerSec",
    "BytesInPerSec",
    "BytesOutPerSec",
    "BytesRejectedPerSec",
];

#[test]
fn counters_are_exact_after_a_known_history() {
    let home = Home::new().set("max.message.bytes", 200);
    let manager = home.open();
    let (t0, t1) = (log(&manager, "t-0"), log(&manager, "t-1"));
    let other = log(&manager, "u-0");
    // 72 bytes each, as records.md has it; of t-1 one, of u-0 four.
    fill(&t0, 3);
    fill(&t1, 1);
    fill(&other, 4);
    assert_eq!(values(&manager, None, TOPIC), [8, 8 * 72, 0, 0]);
    assert_eq!(values(&manager, Some(&t0), TOPIC), [4, 4 * 72, 0, 0]);
    assert_eq!(values(&manager, Some(&other), TOPIC), [4, 4 * 72, 0, 0]);
    // Ready batches count as they came.
    let ready = batch(
        &[rec(NOW, "a", "1"), rec(NOW, "b", "2")],
        &BatchOptions::default(),
    );
    t0.append_batches(&ready, &AppendOptions::default())
        .unwrap();
    let ready_bytes = ready.len() as u64;
    assert_eq!(value(&manager, Some(&t0), "MessagesInPerSec"), 6);
    assert_eq!(
        value(&manager, Some(&t0), "BytesInPerSec"),
        4 * 72 + ready_bytes
    );
    // A follower's are not its own.
    let mut copied = batch(&[rec(NOW, "a", "1")], &BatchOptions::default());
    stamp(&mut copied, t1.end_offset(), LeaderEpoch(0));
    let replication = AppendOptions {
        origin: Origin::Replication,
        ..AppendOptions::default()
    };
    t1.append_batches(&copied, &replication).unwrap();
    assert_eq!(value(&manager, Some(&t1), "MessagesInPerSec"), 6);
    assert_eq!(value(&manager, Some(&t1), "LogEndOffset"), 2);
    // A transaction's marker is a record of the leader.
    let marker = TxnMarker {
        producer_id: ProducerId(1),
        producer_epoch: 0,
        commit: true,
        coordinator_epoch: 0,
    };
    t1.append_marker(&marker, &AppendOptions::default())
        .unwrap();
    assert_eq!(value(&manager, Some(&t1), "MessagesInPerSec"), 7);
    // Reads, of whole batches and of records.
    let (result, _) = read(&t0, 0, 150).unwrap();
    assert_eq!(result.bytes, 144);
    assert_eq!(value(&manager, Some(&t0), "BytesOutPerSec"), 144);
    assert_eq!(offsets(&other, 0), [0, 1, 2, 3]);
    assert_eq!(value(&manager, Some(&other), "BytesOutPerSec"), 4 * 72);
    assert_eq!(value(&manager, None, "BytesOutPerSec"), 144 + 4 * 72);
    // What is refused for its size, in either form.
    let too_large = [rec(NOW, "k", &"v".repeat(300))];
    let refused = t0.append(&mut builder(&too_large), &AppendOptions::default());
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::MessageTooLarge);
    let ready = batch(&too_large, &BatchOptions::default());
    let refused = t0.append_batches(&ready, &AppendOptions::default());
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::MessageTooLarge);
    assert_eq!(
        value(&manager, Some(&t0), "BytesRejectedPerSec"),
        2 * ready.len() as u64
    );
    assert_eq!(value(&manager, Some(&other), "BytesRejectedPerSec"), 0);
    assert_eq!(value(&manager, Some(&t0), "MessagesInPerSec"), 7);
    manager.close().unwrap();
    let closed = metrics::read(&manager, None).unwrap_err();
    assert_eq!(closed.kind(), ErrorKind::Closed);
    let closed = metrics::text(&manager).unwrap_err();
    assert_eq!(closed.kind(), ErrorKind::Closed);
}

/// A message of format 0 or 1 with a key and a value (records.md 4).
fn message(magic: u8, offset: i64) -> Vec<u8> {
    let mut body = vec![magic, 0];
    if magic == 1 {
        body.extend(NOW.to_be_bytes());
    }
    for part in [b"k", b"v"] {
        body.extend(1i32.to_be_bytes());
        body.extend(part);
    }
    let size = i32::try_from(body.len() + 4).unwrap();
    let mut bytes = offset.to_be_bytes().to_vec();
    bytes.extend(size.to_be_bytes());
    bytes.extend(crc32(&body).to_be_bytes());
    bytes.extend(body);
    bytes
}

#[test]
fn refused_records_are_counted_by_what_is_wrong_with_them() {
    const INVALID: [&str; 4] = [
        "NoKeyCompactedTopicRecordsPerSec",
        "InvalidMagicNumberRecordsPerSec",
        "InvalidMessageCrcRecordsPerSec",
        "InvalidOffsetOrSequenceRecordsPerSec",
    ];
    let home = Home::new().set_for("c", "cleanup.policy", "compact");
    let manager = home.open();
    let (t, compacted) = (t0(&manager), log(&manager, "c-0"));
    let client = AppendOptions::default();
    let mut keyless = BatchBuilder::new();
    for key in [None, Some(&b"k"[..]), None] {
        keyless
            .push(TimestampMs(NOW), key, Some(b"v"), std::iter::empty())
            .unwrap();
    }
    let refused = compacted.append(&mut keyless, &client).unwrap_err();
    assert_eq!(refused.record_errors().len(), 2);
    assert_eq!(values(&manager, None, INVALID), [2, 0, 0, 0]);
    // The same as a ready batch.
    let ready = keyless.finish(&BatchOptions::default()).unwrap().to_vec();
    compacted.append_batches(&ready, &client).unwrap_err();
    assert_eq!(values(&manager, None, INVALID), [4, 0, 0, 0]);
    // A wrong checksum.
    let mut damaged = ready.clone();
    *damaged.last_mut().unwrap() ^= 1;
    let refused = t.append_batches(&damaged, &client).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::CorruptMessage);
    assert_eq!(values(&manager, None, INVALID), [4, 0, 1, 0]);
    // A batch of a producer without a sequence.
    let options = BatchOptions {
        producer_id: ProducerId(7),
        producer_epoch: 0,
        base_sequence: -1,
        ..BatchOptions::default()
    };
    let no_sequence = batch(&[rec(NOW, "k", "v")], &options);
    t.append_batches(&no_sequence, &client).unwrap_err();
    assert_eq!(values(&manager, None, INVALID), [4, 0, 1, 1]);
    // Messages of two formats.
    let mut mixed = message(0, 0);
    mixed.extend(message(1, 1));
    t.append_batches(&mixed, &client).unwrap_err();
    assert_eq!(values(&manager, None, INVALID), [4, 1, 1, 1]);
    // They are of all topics: a log does not narrow them.
    assert_eq!(values(&manager, Some(&t), INVALID), [4, 1, 1, 1]);
    assert_eq!(values(&manager, None, TOPIC), [0, 0, 0, 0]);
    manager.close().unwrap();
}

#[test]
fn gauges_of_logs_show_what_the_logs_are() {
    const LOG: [&str; 5] = [
        "NumLogSegments",
        "LogStartOffset",
        "LogEndOffset",
        "Size",
        "RetentionSizeInPercent",
    ];
    let home = Home::new()
        .set("retention.bytes", 200)
        .set("retention.ms", -1);
    let manager = home.open();
    let log = t0(&manager);
    for _ in 0..5 {
        fill(&log, 1);
        log.roll().unwrap();
    }
    let other = support::engine::log(&manager, "u-0");
    fill(&other, 1);
    assert_eq!(values(&manager, Some(&log), LOG), [6, 0, 5, 360, 0]);
    assert_eq!(values(&manager, Some(&other), LOG), [1, 0, 1, 72, 0]);
    manager.retain(&log, Pass::DryRun).unwrap();
    assert_eq!(value(&manager, None, "RetentionSizeInPercent"), 0);
    manager.retain(&log, Pass::Apply).unwrap();
    assert_eq!(values(&manager, Some(&log), LOG), [4, 2, 5, 216, 108]);
    assert_eq!(values(&manager, None, LOG), [5, 2, 6, 288, 108]);
    // Flushes are of all logs. Rolls flush too; nothing to flush is none.
    let flushes = value(&manager, None, "LogFlushRateAndTimeMs");
    assert!(flushes >= 5, "{flushes}");
    fill(&log, 1);
    log.flush().unwrap();
    log.flush().unwrap();
    assert_eq!(value(&manager, None, "LogFlushRateAndTimeMs"), flushes + 1);
    manager.close().unwrap();
    let (home, another) = (Home::new(), Home::new());
    let (manager, another) = (home.open(), another.open());
    let foreign = metrics::read(&manager, Some(&t0(&another))).unwrap_err();
    assert_eq!(foreign.kind(), ErrorKind::UnknownTopicOrPartition);
    manager.close().unwrap();
    another.close().unwrap();
}

#[test]
fn what_a_deleted_log_counted_stays_counted() {
    let home = Home::new();
    let manager = home.open();
    let (t0, t1) = (log(&manager, "t-0"), log(&manager, "t-1"));
    fill(&t0, 3);
    fill(&t1, 2);
    manager.delete_log(t0.partition()).unwrap();
    assert_eq!(values(&manager, Some(&t1), TOPIC), [5, 360, 0, 0]);
    assert_eq!(values(&manager, None, TOPIC), [5, 360, 0, 0]);
    let gone = metrics::read(&manager, Some(&t0)).unwrap_err();
    assert_eq!(gone.kind(), ErrorKind::UnknownTopicOrPartition);
    // With its last log a topic is forgotten, and begins anew with the next one.
    manager.delete_log(t1.partition()).unwrap();
    assert_eq!(values(&manager, None, TOPIC), [5, 360, 0, 0]);
    assert!(!parse(&metrics::text(&manager).unwrap()).has_label("topic", "t"));
    let again = log(&manager, "t-0");
    fill(&again, 1);
    assert_eq!(values(&manager, Some(&again), TOPIC), [1, 72, 0, 0]);
    assert_eq!(values(&manager, None, TOPIC), [6, 432, 0, 0]);
    manager.close().unwrap();
}

#[test]
fn directories_that_are_offline_or_cordoned_are_counted() {
    const DIRS: [&str; 4] = [
        "OfflineLogDirectoryCount",
        "CordonedLogDirectoryCount",
        "LogDirectoryOffline",
        "LogDirectoryCordoned",
    ];
    let root = tree::scratch();
    let paths: Vec<PathBuf> = ["a", "b\"\\\nc"].map(|name| root.path().join(name)).into();
    for path in &paths {
        std::fs::create_dir(path).unwrap();
    }
    let mut set = ConfigSet::broker();
    set.set("cordoned.log.dirs", paths[1].to_str().unwrap())
        .unwrap();
    let config = Arc::new(set.resolve().unwrap());
    let manager = Manager::open(ManagerOptions::new(paths.clone(), config)).unwrap();
    let logs = [0, 1].map(|n| {
        let options = CreateOptions {
            dir: Some(paths[n].clone()),
            ..CreateOptions::default()
        };
        let n = i32::try_from(n).unwrap();
        manager
            .get_or_create_log(&TopicPartition::new("t", n), &options)
            .unwrap()
    });
    assert_eq!(values(&manager, None, DIRS), [0, 1, 0, 1]);
    let in_second = logs.iter().find(|log| log.dir().starts_with(&paths[1]));
    let in_second = in_second.unwrap();
    assert_eq!(values(&manager, Some(in_second), DIRS), [0, 1, 0, 1]);
    // Its directory is gone: the roll that finds out takes the whole log directory offline.
    fill(in_second, 1);
    std::fs::remove_dir_all(in_second.dir()).unwrap();
    in_second.roll().unwrap_err();
    assert_eq!(values(&manager, None, DIRS), [1, 1, 1, 1]);
    assert_eq!(values(&manager, Some(in_second), DIRS), [1, 1, 1, 1]);
    let first = logs.iter().find(|log| log.dir().starts_with(&paths[0]));
    assert_eq!(values(&manager, first, DIRS), [1, 1, 0, 0]);
    let text = parse(&metrics::text(&manager).unwrap());
    let offline = "kafka_log_LogManager_LogDirectoryOffline";
    for (path, expected) in paths.iter().zip(["0", "1"]) {
        let labels = [("logDirectory", path.to_str().unwrap())];
        assert_eq!(text.value(offline, &labels), Some(expected));
    }
    assert!(manager.close().is_err());
}

/// OpenMetrics text, taken apart again by its grammar; what breaks it is a failure.
struct Exposition {
    families: BTreeMap<String, Family>,
    samples: BTreeMap<(String, Vec<(String, String)>), String>,
}

#[derive(Debug, Default)]
struct Family {
    kind: String,
    unit: String,
    help: String,
}

impl Exposition {
    fn value(&self, name: &str, labels: &[(&str, &str)]) -> Option<&str> {
        let labels = labels
            .iter()
            .map(|(label, content)| ((*label).to_owned(), (*content).to_owned()))
            .collect();
        self.samples
            .get(&(name.to_owned(), labels))
            .map(String::as_str)
    }

    fn has_label(&self, label: &str, content: &str) -> bool {
        let mut all = self.samples.keys().flat_map(|(_, labels)| labels);
        all.any(|(l, c)| l == label && c == content)
    }
}

fn is_name(name: &str) -> bool {
    let first = name.chars().next().unwrap_or('0');
    (first.is_ascii_alphabetic() || first == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn parse(text: &str) -> Exposition {
    let mut found = Exposition {
        families: BTreeMap::new(),
        samples: BTreeMap::new(),
    };
    let body = text.strip_suffix("# EOF\n").expect("it ends with # EOF");
    let mut current = String::new();
    for line in body.lines() {
        if let Some(comment) = line.strip_prefix("# ") {
            let [what, name, rest] =
                <[&str; 3]>::try_from(comment.splitn(3, ' ').collect::<Vec<_>>())
                    .unwrap_or_else(|_| panic!("{line}"));
            assert!(is_name(name), "{line}");
            if name != current {
                assert!(
                    !found.families.contains_key(name),
                    "the family {name} is not in one piece"
                );
                name.clone_into(&mut current);
                found.families.insert(current.clone(), Family::default());
            }
            let family = found.families.get_mut(name).unwrap();
            let field = match what {
                "TYPE" => &mut family.kind,
                "UNIT" => &mut family.unit,
                "HELP" => &mut family.help,
                _ => panic!("{line}"),
            };
            assert!(field.is_empty() && !rest.is_empty(), "{line}");
            rest.clone_into(field);
            assert!(
                family.unit.is_empty() || name.ends_with(&format!("_{}", family.unit)),
                "{line}"
            );
            continue;
        }
        let (name, labels, value) = parse_sample(line);
        let suffix = name
            .strip_prefix(&current)
            .unwrap_or_else(|| panic!("{line} stands in the family {current}"));
        let family = &found.families[&current];
        let allowed: &[&str] = match &*family.kind {
            "gauge" => &[""],
            "counter" => &["_total"],
            "summary" => &["_count", "_sum"],
            other => panic!("a type that is not used: {other}"),
        };
        assert!(allowed.contains(&suffix), "{line}");
        assert!(!family.help.is_empty(), "{line}");
        let before = found.samples.insert((name, labels), value);
        assert!(before.is_none(), "twice: {line}");
    }
    found
}

/// `name{label="content",...} value`.
fn parse_sample(line: &str) -> (String, Vec<(String, String)>, String) {
    let name_end = line.find(['{', ' ']).unwrap();
    let (name, mut rest) = line.split_at(name_end);
    assert!(is_name(name), "{line}");
    let mut labels = Vec::new();
    while let Some(next) = rest.strip_prefix(['{', ',']) {
        let (label, content) = next.split_once("=\"").unwrap();
        assert!(is_name(label), "{line}");
        let mut text = String::new();
        let mut chars = content.char_indices();
        let end = loop {
            match chars.next().unwrap() {
                (at, '"') => break at,
                (_, '\\') => text.push(match chars.next().unwrap().1 {
                    'n' => '\n',
                    c @ ('\\' | '"') => c,
                    c => panic!("\\{c} in {line}"),
                }),
                (_, c) => text.push(c),
            }
        };
        labels.push((label.to_owned(), text));
        rest = &content[end + 1..];
    }
    let names: BTreeSet<&String> = labels.iter().map(|(label, _)| label).collect();
    assert_eq!(names.len(), labels.len(), "{line}");
    let value = rest.trim_start_matches('}').strip_prefix(' ').unwrap();
    assert!(value.parse::<f64>().is_ok(), "{line}");
    (name.to_owned(), labels, value.to_owned())
}

#[test]
fn the_text_is_openmetrics_and_says_what_the_values_say() {
    let home = Home::new().set("retention.ms", -1);
    let manager = home.open();
    let (t, u) = (t0(&manager), log(&manager, "u.v_w-12"));
    fill(&t, 3);
    fill(&u, 1);
    read(&t, 0, 1000).unwrap();
    t.flush().unwrap();
    let raw = metrics::text(&manager).unwrap();
    assert!(raw.is_ascii() && !raw.contains("\n\n"));
    let text = parse(&raw);
    // A family for each metric; a timer's two rows are one.
    assert_eq!(text.families.len(), METRICS.len() - 1);
    let units: BTreeSet<&str> = text.families.values().map(|f| &*f.unit).collect();
    assert_eq!(
        units,
        BTreeSet::from(["", "bytes", "milliseconds", "percent", "seconds"])
    );
    let bytes_in = "kafka_server_BrokerTopicMetrics_BytesInPerSec_bytes_total";
    assert_eq!(text.value(bytes_in, &[]), Some("288"));
    assert_eq!(text.value(bytes_in, &[("topic", "t")]), Some("216"));
    assert_eq!(text.value(bytes_in, &[("topic", "u.v_w")]), Some("72"));
    let partition = [("topic", "u.v_w"), ("partition", "12")];
    assert_eq!(
        text.value("kafka_log_Log_LogEndOffset", &partition),
        Some("1")
    );
    assert_eq!(
        text.value("kafka_log_Log_Size_bytes", &partition),
        Some("72")
    );
    let dir = [("dir", home.dir.to_str().unwrap())];
    assert_eq!(
        text.value("kafka_log_LogManager_remainingLogsToRecover", &dir),
        Some("0")
    );
    let timer = "kafka_log_LogFlushStats_LogFlushRateAndTimeMs_milliseconds";
    assert_eq!(text.families[timer].kind, "summary");
    let count = text.value(&format!("{timer}_count"), &[]);
    assert_eq!(
        count,
        Some(&*value(&manager, None, "LogFlushRateAndTimeMs").to_string())
    );
    let sum: f64 = text
        .value(&format!("{timer}_sum"), &[])
        .unwrap()
        .parse()
        .unwrap();
    assert!(sum > 0.0 && sum < 60_000.0, "{sum}");
    // All that the whole manager has one value of.
    for (name, expected) in [
        ("kafka_log_LogCleaner_DeadThreadCount", "0"),
        (
            "kafka_server_BrokerTopicMetrics_MessagesInPerSec_total",
            "4",
        ),
        (
            "kafka_server_BrokerTopicMetrics_InvalidMessageCrcRecordsPerSec_total",
            "0",
        ),
        ("kafka_log_LogManager_OfflineLogDirectoryCount", "0"),
    ] {
        assert_eq!(text.value(name, &[]), Some(expected), "{name}");
    }
    manager.close().unwrap();
}

type Look = dyn Fn() + Send + Sync;

/// The real file system, and a look at something whenever a file gets its name.
struct Spy(Box<Look>);

impl std::fmt::Debug for Spy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Spy")
    }
}

impl FileSystem for Spy {
    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn File>> {
        RealFs.open(path, mode)
    }
    fn create_dir(&self, path: &Path) -> Result<()> {
        RealFs.create_dir(path)
    }
    fn list(&self, dir: &Path) -> Result<Vec<DirEntry>> {
        RealFs.list(dir)
    }
    fn stat(&self, path: &Path) -> Result<Stat> {
        RealFs.stat(path)
    }
    fn canonicalize(&self, path: &Path) -> Result<PathBuf> {
        RealFs.canonicalize(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        (self.0)();
        RealFs.rename(from, to)
    }
    fn remove_file(&self, path: &Path) -> Result<()> {
        RealFs.remove_file(path)
    }
    fn remove_dir(&self, path: &Path) -> Result<()> {
        RealFs.remove_dir(path)
    }
    fn sync_dir(&self, dir: &Path) -> Result<()> {
        RealFs.sync_dir(dir)
    }
    fn set_modified(&self, path: &Path, time: TimestampMs) -> Result<()> {
        RealFs.set_modified(path, time)
    }
    fn lock(&self, path: &Path) -> Result<Option<Box<dyn FileLock>>> {
        RealFs.lock(path)
    }
}

/// Opens as after a crash; what could be seen of the opening meanwhile, and when it was done.
fn watched_open(home: &Home) -> (Vec<DirOpening>, DirOpening) {
    let progress = Arc::new(OpenProgress::default());
    let seen: Arc<Mutex<Vec<DirOpening>>> = Arc::default();
    let look = {
        let (progress, seen) = (Arc::clone(&progress), Arc::clone(&seen));
        move || seen.lock().unwrap().extend(progress.dirs())
    };
    let manager = Manager::open(ManagerOptions {
        fs: Arc::new(Spy(Box::new(look))),
        clock: Arc::new(ManualClock::new(TimestampMs(NOW))),
        recovery_threads: Some(1),
        progress: Some(Arc::clone(&progress)),
        ..ManagerOptions::new(vec![home.dir.clone()], home.config())
    })
    .unwrap();
    let done = progress.dirs().remove(0);
    manager.abandon();
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    (seen, done)
}

#[test]
fn the_progress_of_a_recovery_is_seen_while_it_lasts() {
    let home = Home::new();
    let manager = home.open();
    for name in ["t-0", "t-1", "t-2"] {
        let log = log(&manager, name);
        for _ in 0..4 {
            fill(&log, 10);
            log.roll().unwrap();
        }
        fill(&log, 1);
    }
    let bytes: u64 = manager.logs().iter().map(|log| log.size_bytes()).sum();
    manager.abandon();
    let (seen, done) = watched_open(&home);
    assert!(seen.len() > 6, "{}", seen.len());
    let left: BTreeSet<u64> = seen.iter().map(|dir| dir.logs_left).collect();
    assert!(left.is_superset(&BTreeSet::from([1, 2, 3])), "{left:?}");
    for dir in &seen {
        assert_eq!((&dir.path, dir.logs_total), (&home.dir, 3));
        assert!(dir.bytes_done <= dir.bytes_total && dir.bytes_total <= bytes);
        assert!(dir.at_work.len() <= 1);
        let sums = dir.at_work.iter().fold((0, 0), |(segments, left), log| {
            (
                segments + log.segments_left,
                left + log.bytes_total - log.bytes_done,
            )
        });
        assert_eq!(
            sums,
            (dir.segments_left, dir.bytes_total - dir.bytes_done),
            "what is left is that of the logs at work"
        );
    }
    // Each log counts its segments down to one that is left when the last one but one is told of.
    for number in 0..3 {
        let of_log: Vec<u64> = seen
            .iter()
            .flat_map(|dir| &dir.at_work)
            .filter(|log| log.partition == TopicPartition::new("t", number))
            .map(|log| log.segments_left)
            .collect();
        assert!(of_log.is_sorted_by(|a, b| a >= b), "{of_log:?}");
        assert!(
            BTreeSet::from_iter(of_log.clone()).is_superset(&BTreeSet::from([1, 2, 3])),
            "{of_log:?}"
        );
    }
    let half = seen
        .iter()
        .filter(|dir| dir.bytes_done > 0 && dir.bytes_done < bytes)
        .count();
    assert!(half >= 6, "only {half} looks between begin and end");
    assert_eq!((done.logs_left, done.segments_left), (0, 0));
    assert_eq!((done.bytes_done, done.bytes_total), (bytes, bytes));
    assert!(done.at_work.is_empty());
}

#[test]
fn after_a_clean_stop_there_is_nothing_to_read_again() {
    let home = Home::new();
    let manager = home.open();
    append(&t0(&manager), &[rec(NOW, "k", "v")]);
    manager.close().unwrap();
    let (_, done) = watched_open(&home);
    assert_eq!(
        (done.logs_total, done.logs_left, done.bytes_total),
        (1, 0, 0)
    );
    // One index that is missing: that segment is.
    let manager = home.open();
    t0(&manager).roll().unwrap();
    manager.close().unwrap();
    home.remove("0.index");
    let (_, done) = watched_open(&home);
    assert_eq!(done.bytes_total, 70);
    assert_eq!(done.bytes_done, 70);
}
