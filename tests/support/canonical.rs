//! The canonical text (fixtures/README.md 2) taken apart: a head, then the lines of each log.

use std::collections::BTreeMap;

use super::engine::Rec;

/// A text: lines before the first log, then the logs in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Text {
    pub(crate) head: Vec<String>,
    /// Partition and lines, in the order of the text.
    pub(crate) logs: Vec<(String, LogLines)>,
}

/// The lines of one log, the `log` line first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LogLines(pub(crate) Vec<String>);

impl Text {
    pub(crate) fn parse(text: &str) -> Self {
        let mut parsed = Self::default();
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("log ") {
                let partition = rest.split(' ').next().unwrap_or(rest).to_owned();
                parsed
                    .logs
                    .push((partition, LogLines(vec![line.to_owned()])));
            } else {
                match parsed.logs.last_mut() {
                    Some((_, lines)) => lines.0.push(line.to_owned()),
                    None => parsed.head.push(line.to_owned()),
                }
            }
        }
        parsed
    }

    pub(crate) fn partitions(&self) -> Vec<&str> {
        self.logs
            .iter()
            .map(|(partition, _)| partition.as_str())
            .collect()
    }

    pub(crate) fn log(&self, partition: &str) -> &LogLines {
        self.get(partition)
            .unwrap_or_else(|| panic!("no log {partition} in the text"))
    }

    pub(crate) fn get(&self, partition: &str) -> Option<&LogLines> {
        self.logs
            .iter()
            .find(|(name, _)| name == partition)
            .map(|(_, lines)| lines)
    }
}

/// A batch line of the text.
#[derive(Clone, Debug)]
pub(crate) struct BatchLine(BTreeMap<String, String>);

impl BatchLine {
    pub(crate) fn number(&self, key: &str) -> i64 {
        self.text(key)
            .parse()
            .unwrap_or_else(|_| panic!("{key} is no number in {:?}", self.0))
    }

    pub(crate) fn text(&self, key: &str) -> &str {
        self.0
            .get(key)
            .unwrap_or_else(|| panic!("no {key} in {:?}", self.0))
    }
}

/// A segment of a log's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SegmentLines {
    pub(crate) base: i64,
    pub(crate) size: u64,
    /// `oi` and `ti` lines.
    pub(crate) index: Vec<String>,
    /// `batch` lines and all that follows.
    pub(crate) content: Vec<String>,
}

impl SegmentLines {
    pub(crate) fn batches(&self) -> Vec<BatchLine> {
        self.content
            .iter()
            .filter_map(|line| line.strip_prefix("batch "))
            .map(fields)
            .map(BatchLine)
            .collect()
    }
}

fn fields(line: &str) -> BTreeMap<String, String> {
    let pairs = line.split(' ').filter_map(|word| word.split_once('='));
    pairs
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
}

impl LogLines {
    pub(crate) fn is_error(&self) -> bool {
        self.0[0].ends_with(" error")
    }

    /// A field of the `log` line.
    pub(crate) fn field(&self, key: &str) -> String {
        let found = fields(&self.0[0]).remove(key);
        found.unwrap_or_else(|| panic!("no {key} in {}", self.0[0]))
    }

    pub(crate) fn number(&self, key: &str) -> i64 {
        self.field(key).parse().unwrap()
    }

    /// The same lines with another value in the `log` line.
    #[must_use]
    pub(crate) fn with_field(&self, key: &str, value: impl ToString) -> Self {
        let mut changed = self.clone();
        let old = format!(" {key}={}", self.field(key));
        changed.0[0] = self.0[0].replace(&old, &format!(" {key}={}", value.to_string()));
        changed
    }

    /// Lines that begin with this word.
    pub(crate) fn starting(&self, word: &str) -> Vec<&str> {
        let front = format!("{word} ");
        self.0
            .iter()
            .filter(|line| line.starts_with(&front))
            .map(String::as_str)
            .collect()
    }

    /// The same lines without those that begin with one of these words.
    #[must_use]
    pub(crate) fn without(&self, words: &[&str]) -> Self {
        let keep = |line: &&String| !words.contains(&line.split(' ').next().unwrap_or_default());
        Self(self.0.iter().filter(keep).cloned().collect())
    }

    /// The same lines without the `file` lines of producer snapshots.
    #[must_use]
    pub(crate) fn without_snapshot_files(&self) -> Self {
        Self(
            self.0
                .iter()
                .filter(|l| !(l.starts_with("file ") && l.ends_with(".snapshot")))
                .cloned()
                .collect(),
        )
    }

    /// The same lines with what a snapshot keeps of a producer's batches: the last one, and not its own time.
    #[must_use]
    pub(crate) fn with_last_producer_batches(&self) -> Self {
        let mut kept: Vec<String> = Vec::new();
        let producer = |line: &str| {
            line.strip_prefix("pbatch ")
                .and_then(|l| l.split(' ').next())
                .map(str::to_owned)
        };
        for line in &self.0 {
            let Some(id) = producer(line) else {
                kept.push(line.clone());
                continue;
            };
            if kept.last().is_some_and(|last| producer(last) == Some(id)) {
                kept.pop();
            }
            kept.push(line.split(" ts=").next().unwrap_or(line).to_owned());
        }
        Self(kept)
    }

    pub(crate) fn segments(&self) -> Vec<SegmentLines> {
        let mut found: Vec<SegmentLines> = Vec::new();
        for line in &self.0 {
            match line.split(' ').next().unwrap_or_default() {
                "seg" => {
                    let (_, rest) = line.split_once(' ').unwrap();
                    let (base, size) = rest.split_once(" size=").unwrap();
                    found.push(SegmentLines {
                        base: base.parse().unwrap(),
                        size: size.parse().unwrap(),
                        index: Vec::new(),
                        content: Vec::new(),
                    });
                }
                "oi" | "ti" => found.last_mut().unwrap().index.push(line.clone()),
                "batch" | "rec" | "ctl" | "bad" | "rest" => {
                    found.last_mut().unwrap().content.push(line.clone());
                }
                _ => {}
            }
        }
        found
    }

    /// The same lines with other segments.
    #[must_use]
    pub(crate) fn with_segments(&self, segments: &[SegmentLines]) -> Self {
        let mut lines = vec![self.0[0].clone()];
        for segment in segments {
            lines.push(format!("seg {} size={}", segment.base, segment.size));
            lines.extend(segment.index.iter().cloned());
            lines.extend(segment.content.iter().cloned());
        }
        let state = self.without(&[
            "log", "seg", "oi", "ti", "batch", "rec", "ctl", "bad", "rest",
        ]);
        lines.extend(state.0);
        Self(lines).with_field("segments", segments.len())
    }
}

/// Where two texts of a log differ: a few lines to read when a test fails.
pub(crate) fn difference(expected: &LogLines, found: &LogLines) -> Option<String> {
    if expected == found {
        return None;
    }
    let same = expected
        .0
        .iter()
        .zip(&found.0)
        .take_while(|(a, b)| a == b)
        .count();
    let tail = |lines: &[String]| {
        lines
            .iter()
            .skip(same)
            .take(5)
            .map(|l| format!("    {l}\n"))
            .collect::<String>()
    };
    Some(format!(
        "{}: line {} differs\n  expected\n{}  found\n{}",
        expected.0[0],
        same + 1,
        tail(&expected.0),
        tail(&found.0)
    ))
}

/// The `rec` line of a record.
pub(crate) fn record_line(offset: i64, timestamp: i64, record: &Rec) -> String {
    let mut line = format!(
        "rec {offset} ts={timestamp} key={} value={}",
        bytes_text(record.key.as_deref()),
        bytes_text(record.value.as_deref())
    );
    let header = |(key, value): &(String, Option<Vec<u8>>)| {
        format!(
            "{}:{}",
            bytes_text(Some(key.as_bytes())),
            bytes_text(value.as_deref())
        )
    };
    if !record.headers.is_empty() {
        let headers: Vec<String> = record.headers.iter().map(header).collect();
        line += " headers=";
        line += &headers.join(",");
    }
    line
}

fn bytes_text(bytes: Option<&[u8]>) -> String {
    match bytes {
        None => "null".to_owned(),
        Some([]) => "empty".to_owned(),
        Some(short) if short.len() <= 64 => hex(short),
        Some(long) => format!("#{}/{:08x}", long.len(), crc32c::crc32c(long)),
    }
}

/// Bytes as lower case hex.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn unhex(text: &str) -> Vec<u8> {
    let digits = text.trim().as_bytes();
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}
