//! Kafka's log as one side.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::op::{Append, Op, Origin, Read};
use super::side::{
    Answer, Appended, Opening, Producer, ProducerBatch, Refusal, Side, Slice, State,
};
use crate::kafka::{field, number_of, referee};
use crate::support::canonical::{hex, unhex};
use crate::support::referee::error_name;

/// A log that the referee drives.
pub(crate) struct KafkaSide {
    id: String,
    settings: Vec<(String, String)>,
    /// Kafka's numbers of the last roll for an append that [`Side::state`] heard of.
    rolled: Option<String>,
}

impl KafkaSide {
    pub(crate) fn new(settings: &[(&'static str, String)]) -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        Self {
            id: format!("d{}", NEXT.fetch_add(1, Ordering::SeqCst)),
            settings: settings
                .iter()
                .map(|(key, value)| ((*key).to_owned(), value.clone()))
                .collect(),
            rolled: None,
        }
    }

    /// Kafka's numbers of the last roll for an append.
    pub(crate) fn take_roll(&mut self) -> Option<String> {
        self.rolled.take()
    }

    fn ask(&self, command: &str, more: &[String]) -> Result<String, Refusal> {
        let mut request = vec![command, self.id.as_str()];
        request.extend(more.iter().map(String::as_str));
        referee().call(&request).map_err(|text| refusal(&text))
    }

    /// For what must succeed.
    fn line(&self, command: &str, more: &[String]) -> String {
        self.ask(command, more)
            .unwrap_or_else(|refusal| panic!("{command} {more:?}: {}", refusal.text))
    }

    fn append(&self, append: &Append) -> Answer {
        let mut request = vec![append.epoch.to_string(), hex(&append.bytes)];
        let command = if append.origin == Origin::Replication {
            "follow"
        } else {
            request.push(append.origin.name().to_owned());
            request.push(append.txn_version.unwrap_or(-1).to_string());
            "append"
        };
        match self.ask(command, &request) {
            Ok(line) => Answer::Appended(Appended {
                first: number_of(&line, "first"),
                last: number_of(&line, "last"),
                append_time: number_of(&line, "append_time"),
                max_timestamp: number_of(&line, "max_ts"),
                start: number_of(&line, "start"),
            }),
            Err(refusal) => Answer::Refused(refusal),
        }
    }

    fn read(&self, read: &Read) -> Answer {
        let request = [
            read.from.to_string(),
            read.max.to_string(),
            read.isolation.name().to_owned(),
            u8::from(read.min_one).to_string(),
            "data".to_owned(),
        ];
        match self.ask("read", &request) {
            Ok(line) => Answer::Slice(slice(&line)),
            Err(refusal) => Answer::Refused(refusal),
        }
    }
}

impl Side for KafkaSide {
    fn open(&mut self, dir: &Path, opening: &Opening) -> Result<(), Refusal> {
        let mut request = vec![
            dir.to_str().unwrap().to_owned(),
            "t-0".to_owned(),
            format!("clean={}", u8::from(opening.clean)),
            format!("rp={}", opening.recovery_point),
            format!("start={}", opening.start),
            format!("now={}", opening.now),
        ];
        request.extend(
            self.settings
                .iter()
                .map(|(key, value)| format!("{key}={value}")),
        );
        self.ask("open", &request).map(|_| ())
    }

    fn apply(&mut self, op: &Op) -> Answer {
        let number = |n: i64| vec![n.to_string()];
        let (command, request) = match op {
            Op::Append(append) => return self.append(append),
            Op::Read(read) => return self.read(read),
            Op::Clock(now) => ("now", number(*now)),
            Op::Roll => ("roll", Vec::new()),
            Op::Flush => ("flush", Vec::new()),
            Op::HighWatermark {
                offset,
                as_follower,
            } => {
                let command = if *as_follower { "maybe_hw" } else { "hw" };
                (command, number(*offset))
            }
            Op::Truncate(to) => ("truncate", number(*to)),
            Op::TruncateFully { to, start } => {
                let mut request = number(*to);
                request.extend(start.map(|start| start.to_string()));
                ("truncate_fully", request)
            }
            Op::DeleteRecords(to) => ("delete_records", number(*to)),
            Op::Expire => ("expire", Vec::new()),
            Op::Timestamp(target) => ("timestamp", number(*target)),
            Op::EpochEnd(epoch) => ("epoch_end", number(i64::from(*epoch))),
            Op::Aborted { from, upto } => ("aborted", vec![from.to_string(), upto.to_string()]),
            Op::Checkpoint | Op::Reopen(_) => panic!("{op} is none of one log"),
        };
        match self.ask(command, &request) {
            // What a high watermark became shows in the state.
            Ok(_) if matches!(op, Op::HighWatermark { .. }) => Answer::Text(String::new()),
            Ok(line) => {
                let line = line.trim_end();
                Answer::Text(match op {
                    Op::Aborted { from, .. } => ended_from(line, *from),
                    _ => line.to_owned(),
                })
            }
            Err(refusal) => Answer::Refused(refusal),
        }
    }

    fn state(&mut self) -> State {
        let text = self.line("state", &[]);
        if let Some(roll) = text.lines().find(|line| line.starts_with("roll ")) {
            self.rolled = Some(roll.to_owned());
        }
        parse_state(&text)
    }

    fn batch_base(&mut self, offset: i64) -> Option<i64> {
        let request = [&offset.to_string(), "1", "LOG_END", "1"].map(str::to_owned);
        let line = self.ask("read", &request).ok()?;
        Some(number_of(&line, "offset"))
    }

    fn forget_epochs(&mut self, before: &State) {
        let entries: Vec<String> = before
            .epochs
            .iter()
            .map(|(epoch, start)| format!("{epoch}:{start}"))
            .collect();
        self.line("epochs", &entries);
    }

    fn close(&mut self) {
        self.line("close", &[]);
    }

    fn kill(&mut self) {
        self.line("kill", &[]);
    }

    fn dump(&mut self, dir: &Path) -> String {
        referee().dump(dir)
    }
}

/// The transactions that ended at `from` or later: a fetch leaves out the others, Kafka's bare query does not (state.md 5.7).
fn ended_from(list: &str, from: i64) -> String {
    let ended = |txn: &&str| {
        let last = txn
            .split(':')
            .nth(2)
            .and_then(|last| last.parse::<i64>().ok());
        last.is_some_and(|last| last >= from)
    };
    let kept: Vec<&str> = list.split(',').filter(ended).collect();
    if kept.is_empty() {
        "-".to_owned()
    } else {
        kept.join(",")
    }
}

/// An error of the referee.
fn refusal(text: &str) -> Refusal {
    let class = text.split(':').next().unwrap_or_default().to_owned();
    assert_ne!(class, "BadRequest", "{text}");
    Refusal {
        name: error_name(text).to_owned(),
        class,
        records: text
            .lines()
            .filter_map(|line| {
                line.strip_prefix("record ")?
                    .split(' ')
                    .next()?
                    .parse()
                    .ok()
            })
            .collect(),
        text: text.trim_end().to_owned(),
    }
}

fn slice(line: &str) -> Slice {
    let pairs = |text: &str| {
        let (producer, first) = text.split_once(':').unwrap();
        (producer.parse().unwrap(), first.parse().unwrap())
    };
    Slice {
        place: (number_of(line, "seg"), number_of(line, "pos")),
        bytes: unhex(field(line, "data")),
        is_first_larger: field(line, "incomplete") == "1",
        aborted: match field(line, "aborted") {
            "-" | "none" => Vec::new(),
            list => list.split(',').map(pairs).collect(),
        },
    }
}

/// How many bytes of a slice are whole batches: sizes are in the batches.
pub(crate) fn whole_batches(slice: &[u8]) -> usize {
    let mut end = 0;
    while let Some(size) = slice.get(end + 8..end + 12) {
        let next = end + 12 + u32::from_be_bytes(size.try_into().unwrap()) as usize;
        if next > slice.len() {
            break;
        }
        end = next;
    }
    end
}

/// The answer of `state`.
fn parse_state(text: &str) -> State {
    let mut lines = text.lines();
    let info = lines.next().unwrap();
    let mut state = State {
        start: number_of(info, "start"),
        end: number_of(info, "end"),
        high_watermark: number_of(info, "hw"),
        stable: number_of(info, "lso"),
        recovery_point: number_of(info, "recovery_point"),
        segments: field(info, "segments")
            .split(',')
            .map(|segment| {
                let (base, size) = segment.split_once(':').unwrap();
                (base.parse().unwrap(), size.parse().unwrap())
            })
            .collect(),
        ..State::default()
    };
    for line in lines {
        let (kind, rest) = line.split_once(' ').unwrap();
        let word = |n: usize| rest.split(' ').nth(n).unwrap();
        let range = |key: &str| {
            let (low, high) = field(rest, key).split_once("..").unwrap();
            (low.parse::<i64>().unwrap(), high.parse::<i64>().unwrap())
        };
        match kind {
            "roll" => {}
            "epoch" => state
                .epochs
                .push((word(0).parse().unwrap(), word(1).parse().unwrap())),
            "producer" => {
                let producer = Producer {
                    epoch: field(rest, "epoch").parse().unwrap(),
                    coordinator_epoch: field(rest, "coordinator_epoch").parse().unwrap(),
                    timestamp: number_of(rest, "ts"),
                    txn_first: field(rest, "txn_first").parse().ok(),
                    batches: Vec::new(),
                };
                state.producers.insert(word(0).parse().unwrap(), producer);
            }
            "pbatch" => {
                let (sequences, offsets) = (range("seq"), range("offset"));
                let producer = state.producers.get_mut(&word(0).parse().unwrap());
                producer.unwrap().batches.push(ProducerBatch {
                    first_sequence: sequences.0 as i32,
                    last_sequence: sequences.1 as i32,
                    first: offsets.0,
                    last: offsets.1,
                    timestamp: number_of(rest, "ts"),
                });
            }
            "aborted" => state.aborted.push([
                word(0).parse().unwrap(),
                number_of(rest, "producer"),
                number_of(rest, "first"),
                number_of(rest, "last"),
                number_of(rest, "lso"),
            ]),
            "snapshot" => state.snapshots.push(word(0).parse().unwrap()),
            _ => panic!("unexpected line of the referee: {line}"),
        }
    }
    state
}
