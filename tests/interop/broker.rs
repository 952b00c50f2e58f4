//! A stock broker and klog take turns on one directory: each finds what the other left, as its own.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use klog::format::codec::Codec;
use klog::io::{Clock, SystemClock};
use klog::log::{AppendOptions, Log, ProducerStamp, TxnMarker};
use klog::manager::{CleanOptions, Manager, Pass, Roll};
use klog::types::ProducerId;
use tempfile::TempDir;

use crate::kafka::ensure_same_dump;
use crate::support::broker::{Broker, Seen, Wants};
use crate::support::canonical::Text;
use crate::support::child::{self, Worker};
use crate::support::engine::{Home, builder, log, rec, scan};
use crate::support::tree;

/// Small segments, so that there are several.
const SEGMENT_BYTES: &str = "3000";
const SMALL: (&str, &str) = ("internal.segment.bytes", SEGMENT_BYTES);
/// How many records a test has written before it kills the writer.
const BEFORE_A_KILL: u32 = 200;
/// Looks at a directory in use.
const LOOKS: u32 = 6;

/// A directory for a broker, and a place for the broker's log beside it.
pub(crate) fn place() -> (TempDir, PathBuf) {
    let root = tree::scratch();
    let dir = root.path().join("data");
    std::fs::create_dir(&dir).unwrap();
    (root, dir)
}

/// klog on a broker's directory. Clients' records have the time of the machine; so has klog.
pub(crate) fn home_at(dir: &Path) -> Home {
    let home = Home::at(dir);
    home.clock.set(SystemClock.now());
    home
}

/// Records of a partition by offset, as far as they are known to be there.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    records: BTreeMap<i64, Seen>,
    aborted: BTreeSet<i64>,
}

impl Known {
    pub(crate) fn add(&mut self, seen: Vec<Seen>) {
        for record in seen {
            let other = self.records.insert(record.offset, record.clone());
            assert!(
                other.is_none_or(|other| other == record),
                "the offset {} was given out twice",
                record.offset
            );
        }
    }

    pub(crate) fn add_aborted(&mut self, seen: Vec<Seen>) {
        self.aborted.extend(seen.iter().map(|record| record.offset));
        self.add(seen);
    }

    pub(crate) fn forget_below(&mut self, start: i64) {
        self.records.retain(|&offset, _| offset >= start);
    }

    pub(crate) fn wanted(&self, wants: Wants) -> Vec<Seen> {
        let is_wanted =
            |record: &&Seen| wants == Wants::Everything || !self.aborted.contains(&record.offset);
        self.records.values().filter(is_wanted).cloned().collect()
    }

    /// A consumer must get exactly these.
    pub(crate) fn ensure_consumed(&self, broker: &mut Broker, partition: &str) {
        for wants in [Wants::Everything, Wants::Committed] {
            let consumed = broker.consume(partition, wants);
            assert_eq!(consumed, self.wanted(wants), "{partition}, {wants:?}");
        }
    }

    /// All of them must be among what somebody found, and for each key nothing may be there that nobody wrote.
    fn ensure_among(&self, found: &[Seen], who: &str) {
        let found: BTreeMap<i64, &Seen> = found.iter().map(|r| (r.offset, r)).collect();
        for record in self.records.values() {
            assert_eq!(
                found.get(&record.offset),
                Some(&record),
                "{who} does not have what was acknowledged"
            );
        }
    }

    /// What the cleaner may leave of them: only what was written, and the last record of every key.
    fn ensure_cleaned(&self, found: &[Seen]) {
        let mut last: BTreeMap<&str, &Seen> = BTreeMap::new();
        for record in self.records.values() {
            last.insert(&record.key, record);
        }
        for record in found {
            assert_eq!(self.records.get(&record.offset), Some(record));
        }
        for record in last.values() {
            assert!(found.contains(record), "{record:?} is gone");
        }
    }
}

/// klog appends `count` batches of one to three records with keys of its own.
pub(crate) fn append(log: &Arc<Log>, count: i64) -> Vec<Seen> {
    let mut seen = Vec::new();
    for n in 0..count {
        let options = AppendOptions {
            codec: Codec::from_id((n % 5) as u8),
            ..AppendOptions::default()
        };
        seen.extend(append_as(log, 1 + n % 3, &options));
    }
    seen
}

fn append_as(log: &Log, count: i64, options: &AppendOptions) -> Vec<Seen> {
    let first = log.end_offset().0;
    let records: Vec<Seen> = (first..first + count)
        .map(|offset| Seen {
            offset,
            key: format!("klog-{offset}"),
            value: format!("of klog at {offset}"),
        })
        .collect();
    let now = log.now().0;
    let built: Vec<_> = records.iter().map(|r| rec(now, &r.key, &r.value)).collect();
    let result = log.append(&mut builder(&built), options).unwrap();
    assert_eq!(result.first_offset.0, first);
    records
}

/// klog writes a transaction of a producer, from the sequence 0 on.
pub(crate) fn transact(log: &Log, producer_id: i64, commit: bool, count: i64) -> Vec<Seen> {
    let producer_id = ProducerId(producer_id);
    let options = AppendOptions {
        producer: Some(ProducerStamp {
            id: producer_id,
            epoch: 0,
            base_sequence: 0,
            is_transactional: true,
        }),
        ..AppendOptions::default()
    };
    let seen = append_as(log, count, &options);
    let marker = TxnMarker {
        producer_id,
        producer_epoch: 0,
        commit,
        coordinator_epoch: 0,
    };
    log.append_marker(&marker, &AppendOptions::default())
        .unwrap();
    seen
}

/// All records of a log as klog reads them.
fn read(log: &Arc<Log>) -> Vec<Seen> {
    scan(log, log.start_offset().0)
        .into_iter()
        .map(|record| {
            let (offset, key, value) = record.unwrap();
            Seen { offset, key, value }
        })
        .collect()
}

/// klog must have taken the directory without a finding: nothing to repair, nothing to recover.
fn ensure_in_order(manager: &Manager) {
    assert_eq!(manager.report(), []);
    assert!(manager.failed_logs().is_empty());
    assert_eq!(manager.open_counts(), klog::manager::OpenCounts::default());
}

#[test]
fn a_broker_serves_what_klog_appended_and_left_of_its_logs() {
    let (_root, dir) = place();
    let names = ["plain-0", "plain-1", "latest-0", "paid-0"];
    let mut known: BTreeMap<&str, Known> = names
        .map(|name| (name, Known::default()))
        .into_iter()
        .collect();
    let mut broker = Broker::start(&dir);
    broker.create("plain", 2, &[SMALL]);
    broker.create("paid", 1, &[SMALL]);
    broker.create(
        "latest",
        1,
        &[
            SMALL,
            ("cleanup.policy", "compact"),
            ("min.cleanable.dirty.ratio", "0.01"),
        ],
    );
    let mut first = 0;
    for codec in ["none", "gzip", "snappy", "lz4", "zstd"] {
        for (name, kind) in [
            ("plain-0", "idempotent"),
            ("plain-1", "plain"),
            ("latest-0", "idempotent"),
        ] {
            let seen = broker.produce(name, codec, kind, first, 50);
            known.get_mut(name).unwrap().add(seen);
        }
        first += 50;
    }
    let paid = known.get_mut("paid-0").unwrap();
    paid.add(broker.transact("paid-0", "till", "commit", 0, 40));
    paid.add_aborted(broker.transact("paid-0", "till", "abort", 40, 30));
    paid.add(broker.transact("paid-0", "till", "commit", 70, 20));
    broker.wait_until_cleaned("latest-0", 100);
    let read_by_group = broker.consume_as("readers", "plain-1").len() as i64;
    broker.stop();

    let home = home_at(&dir)
        .set_for("plain", "internal.segment.bytes", SEGMENT_BYTES)
        .set_for("plain", "retention.bytes", 6000)
        .set_for("paid", "internal.segment.bytes", SEGMENT_BYTES)
        .set_for("latest", "cleanup.policy", "compact");
    let manager = home.open();
    ensure_in_order(&manager);
    for name in names {
        let log = log(&manager, name);
        let latest = log.info().latest_epoch;
        known.get_mut(name).unwrap().add(append(&log, 40));
        assert_eq!(log.info().latest_epoch, latest);
    }
    let cleaned_end = clean_behind_broker(&manager, &dir, &known["latest-0"]);
    let paid = known.get_mut("paid-0").unwrap();
    let log_paid = log(&manager, "paid-0");
    paid.add(transact(&log_paid, 5000, true, 7));
    paid.add_aborted(transact(&log_paid, 5001, false, 7));
    for retained in manager.retain_all(Pass::Apply).unwrap() {
        let name = retained.partition.to_string();
        let expired = name.starts_with("plain");
        assert_eq!(retained.deleted.segments > 0, expired, "{name}");
        if expired {
            let start = retained.log_start.0;
            known.get_mut(name.as_str()).unwrap().forget_below(start);
        }
    }
    manager.close().unwrap();

    let mut broker = Broker::start(&dir);
    assert_eq!(broker.remarks_at_start(), [""; 0]);
    for name in ["plain-0", "plain-1", "paid-0"] {
        known[name].ensure_consumed(&mut broker, name);
    }
    known["latest-0"].ensure_cleaned(&broker.consume("latest-0", Wants::Committed));
    assert_eq!(broker.position("readers", "plain-1"), read_by_group);
    // Its logs go on, those with klog's producers too.
    for name in ["plain-0", "latest-0"] {
        let seen = broker.produce(name, "lz4", "idempotent", 0, 20);
        known.get_mut(name).unwrap().add(seen);
    }
    clean_behind_klog(&mut broker, cleaned_end, known.get_mut("latest-0").unwrap());
    let paid = known.get_mut("paid-0").unwrap();
    paid.add(broker.transact("paid-0", "till", "commit", 90, 20));
    for name in ["plain-0", "paid-0"] {
        known[name].ensure_consumed(&mut broker, name);
    }
    broker.stop();

    let manager = home_at(&dir).open();
    ensure_in_order(&manager);
    for name in ["plain-0", "plain-1", "paid-0"] {
        assert_eq!(
            read(&log(&manager, name)),
            known[name].wanted(Wants::Everything)
        );
    }
    known["latest-0"].ensure_cleaned(&read(&log(&manager, "latest-0")));
    manager.close().unwrap();
    ensure_same_dump(&dir);
}

/// klog's cleaner goes on from the broker's checkpoint; how far it came.
fn clean_behind_broker(manager: &Manager, dir: &Path, known: &Known) -> i64 {
    let by_broker = cleaned_upto(dir, "latest 0");
    let latest = log(manager, "latest-0");
    let options = CleanOptions {
        roll: Roll::First,
        ..CleanOptions::default()
    };
    let cleaned = manager.clean(&latest, &options).unwrap().unwrap();
    let new_records = (cleaned.end.0 - by_broker).cast_unsigned();
    assert!(by_broker >= 100 && cleaned.stats.mapped_records <= new_records + 100);
    assert_eq!(cleaned_upto(dir, "latest 0"), cleaned.end.0);
    known.ensure_cleaned(&read(&latest));
    cleaned.end.0
}

/// The broker's cleaner goes on from klog's checkpoint.
fn clean_behind_klog(broker: &mut Broker, by_klog: i64, known: &mut Known) {
    for first in [20, 70, 120] {
        known.add(broker.produce("latest-0", "none", "idempotent", first, 50));
    }
    broker.wait_until_cleaned("latest-0", by_klog + 1);
    known.ensure_cleaned(&broker.consume("latest-0", Wants::Committed));
}

/// The first dirty offset that is stored for a log.
fn cleaned_upto(dir: &Path, partition: &str) -> i64 {
    let stored = std::fs::read_to_string(dir.join("cleaner-offset-checkpoint")).unwrap();
    let line = stored.lines().find_map(|line| line.strip_prefix(partition));
    line.unwrap().trim().parse().unwrap()
}

const KILL_TEST: &str = "broker::what_a_broker_or_klog_acknowledged_is_read_after_each_was_killed";

/// The child: klog appends to both logs until it is killed. It says each record when its append returned.
fn append_until_killed(dir: &Path) {
    let manager = home_at(dir).open();
    let logs = ["plain-0", "paid-0"].map(|name| log(&manager, name));
    for n in 0.. {
        for log in &logs {
            for seen in append(log, 1) {
                child::say(&format!(
                    "{} {} {} {}",
                    log.partition(),
                    seen.offset,
                    seen.key,
                    seen.value
                ));
            }
            if n % 40 == 39 {
                log.roll().unwrap();
            }
        }
    }
}

fn heard(lines: Vec<String>, known: &mut BTreeMap<&str, Known>) {
    for line in lines {
        let mut words = line.splitn(4, ' ').map(str::to_owned);
        let mut word = || words.next().unwrap();
        let name = word();
        let seen = Seen {
            offset: word().parse().unwrap(),
            key: word(),
            value: word(),
        };
        known.get_mut(name.as_str()).unwrap().add(vec![seen]);
    }
}

#[test]
fn what_a_broker_or_klog_acknowledged_is_read_after_each_was_killed() {
    if let Some(dir) = child::work_dir() {
        return append_until_killed(&dir);
    }
    let (_root, dir) = place();
    let names = ["plain-0", "paid-0"];
    let mut known: BTreeMap<&str, Known> = names
        .map(|name| (name, Known::default()))
        .into_iter()
        .collect();
    let mut broker = Broker::start(&dir);
    broker.create("plain", 1, &[SMALL]);
    broker.create("paid", 1, &[SMALL]);
    flood(&mut broker, &mut known);
    broker.kill();

    // klog recovers what the broker left, and leaves nothing to recover.
    let manager = home_at(&dir).open();
    assert!(manager.failed_logs().is_empty());
    assert!(manager.open_counts().segments_recovered > 0);
    for name in names {
        let log = log(&manager, name);
        known[name].ensure_among(&read(&log), "klog");
        known.get_mut(name).unwrap().add(append(&log, 20));
    }
    manager.close().unwrap();
    let mut broker = Broker::start(&dir);
    assert_eq!(broker.remarks_at_start(), [""; 0]);
    ensure_all_consumed(&mut broker, &known);
    flood(&mut broker, &mut known);
    broker.kill();

    // klog recovers, and is killed itself; the broker recovers what it left.
    let mut worker = Worker::start(KILL_TEST, &dir, &[]);
    let mut lines: Vec<String> = (0..BEFORE_A_KILL).map(|_| worker.next_line()).collect();
    lines.extend(worker.kill());
    heard(lines, &mut known);
    let mut broker = Broker::start(&dir);
    let remarks = broker.remarks_at_start();
    assert!(remarks.iter().any(|line| line.starts_with("recovered ")));
    assert!(
        !remarks.iter().any(|line| line.starts_with("error ")),
        "{remarks:#?}"
    );
    ensure_all_consumed(&mut broker, &known);
    broker.stop();

    let manager = home_at(&dir).open();
    ensure_in_order(&manager);
    for name in names {
        known[name].ensure_among(&read(&log(&manager, name)), "klog");
    }
    manager.close().unwrap();
    ensure_same_dump(&dir);
}

/// Clients produce, the one in transactions, until there is enough to lose.
fn flood(broker: &mut Broker, known: &mut BTreeMap<&str, Known>) {
    broker.flood("plain-0", None);
    broker.flood("paid-0", Some("till"));
    for (name, known) in known {
        known.add(broker.acknowledged(name, BEFORE_A_KILL));
    }
}

/// The transaction that was open when the broker was killed is in the way of readers until its producer comes back.
fn ensure_all_consumed(broker: &mut Broker, known: &BTreeMap<&str, Known>) {
    broker.transact("paid-0", "till", "commit", 0, 1);
    for (name, known) in known {
        known.ensure_among(&broker.consume(name, Wants::Committed), "a consumer");
    }
}

/// The records of a partition in a directory that somebody has open.
fn look(dir: &Path, partition: &str) -> Vec<Seen> {
    let text = Text::parse(&home_at(dir).dump_all());
    let unhex = |hex: &str| -> String {
        let bytes = hex.as_bytes().chunks(2);
        let bytes = bytes.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16));
        String::from_utf8(bytes.map(Result::unwrap).collect()).unwrap()
    };
    let record = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        Seen {
            offset: words[1].parse().unwrap(),
            key: unhex(words[3].strip_prefix("key=").unwrap()),
            value: unhex(words[4].strip_prefix("value=").unwrap()),
        }
    };
    let lines = text.log(partition).starting("rec");
    lines.into_iter().map(record).collect()
}

#[test]
fn a_look_at_a_live_brokers_directory_sees_every_record_that_a_consumer_sees() {
    let (_root, dir) = place();
    let mut broker = Broker::start(&dir);
    broker.create("plain", 1, &[SMALL]);
    broker.flood("plain-0", None);
    let mut segments = 0;
    for round in 1..=LOOKS {
        // Produced meanwhile, and rolled.
        broker.acknowledged("plain-0", round * 100);
        let mut consumed = Known::default();
        consumed.add(broker.consume("plain-0", Wants::Everything));
        consumed.ensure_among(&look(&dir, "plain-0"), "a look");
        segments = tree::content(&dir.join("plain-0"))
            .keys()
            .filter(|path| path.extension().is_some_and(|ending| ending == "log"))
            .count();
    }
    assert!(segments > 5, "hardly anything was rolled");
    broker.stop();
}
