//! A stock Kafka broker in a process of its own (`tests/interop`, class BrokerHost), with Kafka's clients. A test that fails
//! while one is there prints the end of the broker's log.
#![allow(
    clippy::panic,
    reason = "a broker that does not do what it is asked fails the test"
)]

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::jvm::Jvm;
use super::tree;

const MAIN_CLASS: &str = "io.klog.interop.BrokerHost";
const HEAP_MIB: u32 = 256;
/// How many lines of its log a failure shows.
const LOG_LINES: usize = 150;
/// A broker keeps no recovery point of KRaft's own log: its last segment is looked through at each start.
const METADATA_LOG: &str = "__cluster_metadata-0";
/// What the warnings speak of that are about logs; others are about elections and connections.
const ABOUT_LOGS: [&str; 10] = [
    "LogLoader",
    "ProducerStateManager",
    "UnifiedLog",
    "LocalLog",
    "LogCleaner",
    "LogManager",
    "stray",
    "orrupt",
    "checkpoint",
    "index",
];

/// A record as a client has it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Seen {
    pub(crate) offset: i64,
    pub(crate) key: String,
    pub(crate) value: String,
}

/// Which records a consumer gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wants {
    Everything,
    Committed,
}

/// A broker that runs.
pub(crate) struct Broker {
    jvm: Jvm,
    dir: PathBuf,
    log: PathBuf,
    /// What it said of its logs while it started.
    at_start: Vec<String>,
}

impl Broker {
    /// Starts a broker on a directory, which it formats if it is empty, and waits until it serves. Its log goes into a file
    /// beside the directory.
    ///
    /// # Panics
    /// If it does not start.
    pub(crate) fn start(dir: &Path) -> Self {
        let log = dir.with_extension("broker-log");
        let errors = File::create(&log)
            .unwrap_or_else(|error| panic!("cannot write {}: {error}", log.display()));
        let jvm = Jvm::start(
            MAIN_CLASS,
            HEAP_MIB,
            &[dir.as_os_str()],
            Stdio::from(errors),
        );
        let mut broker = Self {
            jvm,
            dir: dir.to_path_buf(),
            log,
            at_start: Vec::new(),
        };
        broker.at_start = broker.remarks();
        broker
    }

    /// What it said at its start about logs that are not as they should be: errors, repairs, warnings.
    pub(crate) fn remarks_at_start(&self) -> &[String] {
        &self.at_start
    }

    /// The same since the last call.
    pub(crate) fn remarks(&mut self) -> Vec<String> {
        let said = self.lines(&["logs"]);
        said.into_iter().filter(|line| is_remark(line)).collect()
    }

    /// Makes a topic.
    pub(crate) fn create(&mut self, topic: &str, partitions: u32, settings: &[(&str, &str)]) {
        let settings: Vec<String> = settings.iter().map(|(k, v)| format!("{k}={v}")).collect();
        let partitions = partitions.to_string();
        let mut fields = vec!["create", topic, &partitions];
        fields.extend(settings.iter().map(String::as_str));
        self.lines(&fields);
    }

    /// A producer without transactions: `kind` is `plain` or `idempotent`. What was acknowledged.
    pub(crate) fn produce(
        &mut self,
        partition: &str,
        codec: &str,
        kind: &str,
        first: u32,
        count: u32,
    ) -> Vec<Seen> {
        let numbers = (first.to_string(), count.to_string());
        self.records(&["produce", partition, codec, kind, &numbers.0, &numbers.1])
    }

    /// One transaction: `end` is `commit` or `abort`.
    pub(crate) fn transact(
        &mut self,
        partition: &str,
        id: &str,
        end: &str,
        first: u32,
        count: u32,
    ) -> Vec<Seen> {
        let numbers = (first.to_string(), count.to_string());
        self.records(&["transact", partition, id, end, &numbers.0, &numbers.1])
    }

    /// Produces in the background, from now on; with an id in transactions.
    pub(crate) fn flood(&mut self, partition: &str, id: Option<&str>) {
        let mut fields = vec!["flood", partition];
        fields.extend(id);
        self.lines(&fields);
    }

    /// Ends the producers in the background; all that they sent is acknowledged.
    pub(crate) fn calm(&mut self) {
        self.lines(&["calm"]);
    }

    /// Waits until the producers in the background have so many acknowledged records; all that a partition has.
    pub(crate) fn acknowledged(&mut self, partition: &str, count: u32) -> Vec<Seen> {
        self.records(&["acknowledged", partition, &count.to_string()])
    }

    /// All records of a partition, from its beginning.
    pub(crate) fn consume(&mut self, partition: &str, wants: Wants) -> Vec<Seen> {
        self.records(&["consume", partition, isolation(wants)])
    }

    /// Reads as a member of a group, which has read the partition then.
    pub(crate) fn consume_as(&mut self, group: &str, partition: &str) -> Vec<Seen> {
        self.records(&["consume", partition, isolation(Wants::Committed), group])
    }

    /// Where a group goes on.
    pub(crate) fn position(&mut self, group: &str, partition: &str) -> i64 {
        let answer = self.lines(&["position", group, partition]);
        answer[0]
            .parse()
            .unwrap_or_else(|_| panic!("{group} has no position in {partition}"))
    }

    /// Waits until the cleaner has cleaned a log up to an offset.
    pub(crate) fn wait_until_cleaned(&mut self, partition: &str, offset: i64) {
        self.lines(&["cleaned", partition, &offset.to_string()]);
    }

    /// Stops it in order; nothing may have been wrong with its logs since its start.
    ///
    /// # Panics
    /// If it said so, or has renamed a log to be a stray one.
    pub(crate) fn stop(mut self) {
        self.lines(&["stop"]);
        let remarks = self.remarks();
        assert!(remarks.is_empty(), "while it ran: {remarks:#?}");
        self.ensure_no_strays();
    }

    /// Kills it.
    pub(crate) fn kill(mut self) {
        self.jvm.kill();
        self.ensure_no_strays();
    }

    /// # Panics
    /// If a log was renamed to be a stray one.
    pub(crate) fn ensure_no_strays(&self) {
        let strays: Vec<_> = tree::partitions(&self.dir)
            .into_iter()
            .filter(|name| name.ends_with("-stray"))
            .collect();
        assert!(strays.is_empty(), "the broker disowned {strays:?}");
    }

    fn records(&mut self, fields: &[&str]) -> Vec<Seen> {
        let record = |line: &String| {
            let mut words = line.splitn(3, ' ');
            let (Some(offset), Some(key), Some(value)) = (words.next(), words.next(), words.next())
            else {
                panic!("not a record: {line:?}")
            };
            Seen {
                offset: offset
                    .parse()
                    .unwrap_or_else(|_| panic!("not a record: {line:?}")),
                key: key.to_owned(),
                value: value.to_owned(),
            }
        };
        self.lines(fields).iter().map(record).collect()
    }

    fn lines(&mut self, fields: &[&str]) -> Vec<String> {
        let answer = self
            .jvm
            .exchange(fields)
            .unwrap_or_else(|error| panic!("the broker is gone at {fields:?}: {error}"));
        match answer {
            Ok(text) => text.lines().map(str::to_owned).collect(),
            Err(text) => panic!("the broker refuses {fields:?}: {text}"),
        }
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let log = std::fs::read_to_string(&self.log).unwrap_or_default();
            let lines: Vec<&str> = log.lines().collect();
            let shown = &lines[lines.len().saturating_sub(LOG_LINES)..];
            eprintln!("the end of the broker's log:\n{}", shown.join("\n"));
        }
    }
}

fn isolation(wants: Wants) -> &'static str {
    match wants {
        Wants::Everything => "read_uncommitted",
        Wants::Committed => "read_committed",
    }
}

fn is_remark(line: &str) -> bool {
    match line.split_once(' ') {
        Some(("warn", text)) => ABOUT_LOGS.iter().any(|word| text.contains(word)),
        Some(("recovered", text)) => !text.contains(METADATA_LOG),
        _ => true,
    }
}
