//! The referee as the tests use it.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::{MappedMutexGuard, Mutex, MutexGuard};

use crate::support::canonical::{BatchLine, LogLines, SegmentLines, Text, difference, hex};
use crate::support::command;
use crate::support::referee::{ManagerReport, Referee};
use crate::support::tree::{self, Content};

static REFEREE: Mutex<Option<Referee>> = Mutex::new(None);

/// The one referee of this test binary, started when first asked for. Hold it no longer than a request.
pub(crate) fn referee() -> MappedMutexGuard<'static, Referee> {
    MutexGuard::map(REFEREE.lock(), |referee| {
        referee.get_or_insert_with(Referee::start)
    })
}

/// Where klog's text of a log is not Kafka's. A last stable offset that no batch begins with moves, in Kafka, to the base of
/// the batch that holds it, or of the first one behind it (D23); klog keeps it.
pub(crate) fn unlike(kafka: &LogLines, klog: &LogLines) -> Option<String> {
    let mut expected = kafka.clone();
    let stable = |lines: &LogLines| {
        lines
            .0
            .iter()
            .find_map(|line| line.strip_prefix("lso ")?.parse::<i64>().ok())
    };
    if let (Some(by_kafka), Some(by_klog)) = (stable(kafka), stable(klog)) {
        let batches: Vec<BatchLine> = klog
            .segments()
            .iter()
            .flat_map(SegmentLines::batches)
            .collect();
        let holds = batches.iter().find(|batch| batch.number("last") >= by_klog);
        if by_klog >= klog.number("start")
            && holds.is_some_and(|batch| batch.text("base") == by_kafka.to_string())
        {
            let lso = expected.0.iter_mut().find(|line| line.starts_with("lso "));
            *lso.unwrap() = format!("lso {by_klog}");
        }
    }
    difference(&expected, klog)
}

/// Kafka's text of a directory must be klog's. The text.
pub(crate) fn ensure_same_dump(dir: &Path) -> Text {
    let kafka = referee().dump(dir);
    let klog = command::dump(dir);
    let (kafka_text, klog_text) = (Text::parse(&kafka), Text::parse(&klog));
    assert_eq!(klog_text.head, kafka_text.head);
    assert_eq!(klog_text.partitions(), kafka_text.partitions());
    let differ: Vec<String> = kafka_text
        .logs
        .iter()
        .filter_map(|(partition, lines)| unlike(lines, klog_text.log(partition)))
        .collect();
    assert!(
        differ.is_empty(),
        "expected is Kafka's, found is klog's\n{}",
        differ.concat()
    );
    klog_text
}

/// The partitions of a directory with all their files, and nothing beside them. What waits for its removal does not count.
pub(crate) fn partition_files(dir: &Path) -> Content {
    let counts =
        |path: &Path| path.components().count() > 1 && path.extension() != Some("deleted".as_ref());
    tree::content(dir)
        .into_iter()
        .filter(|(path, _)| counts(path))
        .collect()
}

/// Kafka opens and closes a directory that klog closed in order: it has nothing to remark, finds the logs that klog has,
/// and leaves every file of a partition as it was.
pub(crate) fn ensure_kafka_takes_it_as_it_is(dir: &Path) -> ManagerReport {
    let expected: Vec<String> = Text::parse(&command::dump(dir))
        .logs
        .iter()
        .map(|(partition, log)| {
            format!(
                "{partition} start={} end={}",
                log.field("start"),
                log.field("end")
            )
        })
        .collect();
    let before = partition_files(dir);
    let report = referee()
        .manager(dir)
        .unwrap_or_else(|error| panic!("Kafka does not start: {error}"));
    assert_eq!(report.remarks, [""; 0]);
    assert_eq!(report.logs, expected);
    assert!(report.clean);
    assert_eq!(
        tree::differences(&before, &partition_files(dir)),
        [""; 0],
        "before (left) and after Kafka (right)"
    );
    report
}

/// A log that Kafka has open, step by step driven.
pub(crate) struct KafkaLog {
    id: String,
}

/// How Kafka opens a log.
pub(crate) struct Opening<'a> {
    pub(crate) clean: bool,
    pub(crate) recovery_point: i64,
    pub(crate) start: i64,
    pub(crate) now: i64,
    pub(crate) settings: &'a [(&'a str, String)],
}

impl KafkaLog {
    pub(crate) fn open(dir: &Path, partition: &str, opening: &Opening<'_>) -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let id = NEXT.fetch_add(1, Ordering::SeqCst).to_string();
        let mut request = vec![
            "open".to_owned(),
            id.clone(),
            dir.to_str().unwrap().to_owned(),
            partition.to_owned(),
        ];
        request.push(format!("clean={}", u8::from(opening.clean)));
        request.push(format!("rp={}", opening.recovery_point));
        request.push(format!("start={}", opening.start));
        request.push(format!("now={}", opening.now));
        request.extend(
            opening
                .settings
                .iter()
                .map(|(key, value)| format!("{key}={value}")),
        );
        let request: Vec<&str> = request.iter().map(String::as_str).collect();
        referee().line(&request);
        Self { id }
    }

    fn ask(&self, command: &str, more: &[&str]) -> String {
        referee().line(&[&[command, &self.id], more].concat())
    }

    pub(crate) fn set_now(&self, now: i64) {
        self.ask("now", &[&now.to_string()]);
    }

    /// Appends batches as the leader does; the first offset.
    pub(crate) fn append(&self, epoch: i32, batches: &[u8]) -> i64 {
        number_of(
            &self.ask("append", &[&epoch.to_string(), &hex(batches)]),
            "first",
        )
    }

    /// Appends what may be refused; the whole answer, or the text of the error.
    pub(crate) fn try_append(&self, epoch: i32, batches: &[u8]) -> Result<String, String> {
        referee().call(&["append", &self.id, &epoch.to_string(), &hex(batches)])
    }

    /// Appends a marker of a transaction.
    pub(crate) fn append_marker(&self, epoch: i32, batch: &[u8]) {
        self.ask(
            "append",
            &[&epoch.to_string(), &hex(batch), "COORDINATOR", "0"],
        );
    }

    /// Appends batches as a follower does.
    pub(crate) fn follow(&self, epoch: i32, batches: &[u8]) {
        self.ask("follow", &[&epoch.to_string(), &hex(batches)]);
    }

    /// Deletes what has expired; how many segments.
    pub(crate) fn retain(&self) -> i64 {
        number_of(&self.ask("retain", &[]), "deleted")
    }

    /// Raises the log start.
    pub(crate) fn delete_records(&self, to: i64) -> Result<String, String> {
        referee().call(&["delete_records", &self.id, &to.to_string()])
    }

    /// No log: stands in for one that was closed.
    pub(crate) fn none() -> Self {
        Self { id: String::new() }
    }

    /// Forgets the producers that have expired; how many are left.
    pub(crate) fn expire(&self) -> i64 {
        number_of(&self.ask("expire", &[]), "producers")
    }

    /// One pass of the cleaner; the answer, or the text of the error.
    pub(crate) fn clean(
        &self,
        checkpoint: Option<i64>,
        map_bytes: i64,
        load_factor: f64,
    ) -> Result<String, String> {
        let checkpoint = checkpoint.map_or("-".to_owned(), |offset| offset.to_string());
        let (map_bytes, load_factor) = (map_bytes.to_string(), load_factor.to_string());
        referee().call(&["clean", &self.id, &checkpoint, &map_bytes, &load_factor])
    }

    /// Moves the high watermark; what it became.
    pub(crate) fn set_high_watermark(&self, to: i64) -> i64 {
        number_of(&self.ask("hw", &[&to.to_string()]), "hw")
    }

    pub(crate) fn info(&self) -> String {
        self.ask("info", &[])
    }

    pub(crate) fn roll(&self) {
        self.ask("roll", &[]);
    }

    pub(crate) fn text(&self) -> Text {
        Text::parse(&self.ask("text", &[]))
    }

    pub(crate) fn read(&self, from: i64, max: usize, min_one: bool) -> Result<String, String> {
        let min_one = if min_one { "1" } else { "0" };
        let request = [
            "read",
            &self.id,
            &from.to_string(),
            &max.to_string(),
            "LOG_END",
            min_one,
            "data",
        ]
        .map(str::to_owned);
        let request: Vec<&str> = request.iter().map(String::as_str).collect();
        referee()
            .call(&request)
            .map(|line| line.trim_end().to_owned())
    }

    pub(crate) fn timestamp(&self, target: i64) -> String {
        self.ask("timestamp", &[&target.to_string()])
    }

    /// Closes as a clean shutdown does.
    pub(crate) fn close(self) {
        self.ask("close", &[]);
    }
}

/// A field `KEY=VALUE` of an answer.
pub(crate) fn field<'a>(answer: &'a str, key: &str) -> &'a str {
    let found = answer
        .split_whitespace()
        .find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
    found.unwrap_or_else(|| panic!("no {key} in {answer}"))
}

pub(crate) fn number_of(answer: &str, key: &str) -> i64 {
    field(answer, key).parse().unwrap()
}
