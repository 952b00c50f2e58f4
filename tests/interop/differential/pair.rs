//! Runs a stream on Kafka's log and on another one, and compares after each step.

use std::fs;
use std::path::PathBuf;

use klog::format::batch::Batch;
use klog::format::decoder::RecordDecoder;
use tempfile::TempDir;

use super::coverage::Coverage;
use super::files;
use super::kafka_side::KafkaSide;
use super::op::{Ending, Op, Reopen, What};
use super::settings::Settings;
use super::side::{Answer, Opening, Refusal, Side, Slice, State};
use crate::support::engine::NOW;
use crate::support::tree;

/// Where the two differ.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    /// What differs, to know the same failure again.
    pub(crate) kind: String,
    pub(crate) text: String,
    /// The steps up to there.
    pub(crate) ops: Vec<Op>,
}

/// Runs the steps that `next` draws, until there are none.
pub(crate) fn run(
    settings: &Settings,
    other: &mut dyn Side,
    coverage: &mut Coverage,
    mut next: impl FnMut(&State) -> Option<Op>,
) -> Result<(), Failure> {
    let mut pair = Pair::open(settings, other, coverage);
    let mut ops = Vec::new();
    let mut go = || -> Result<(), (String, String)> {
        while let Some(op) = next(&pair.state).filter(|_| !pair.is_lost) {
            ops.push(op.clone());
            pair.step(&op)?;
        }
        if pair.is_lost { Ok(()) } else { pair.end() }
    };
    let result = go();
    pair.let_go();
    result.map_err(|(kind, text)| Failure { kind, text, ops })
}

/// What differs, and how.
type Difference = (String, String);

fn difference(kind: impl Into<String>, text: impl Into<String>) -> Difference {
    (kind.into(), text.into())
}

struct Pair<'a> {
    settings: &'a Settings,
    kafka: KafkaSide,
    other: &'a mut dyn Side,
    coverage: &'a mut Coverage,
    root: TempDir,
    is_open: (bool, bool),
    /// Whether Kafka does not open its log any more.
    is_lost: bool,
    now: i64,
    /// Recovery point and log start as the next kill finds them.
    checkpoint: (i64, i64),
    is_checkpointed: bool,
    state: State,
    /// First and last offsets of batches.
    batches: Vec<(i64, i64)>,
}

impl<'a> Pair<'a> {
    fn open(settings: &'a Settings, other: &'a mut dyn Side, coverage: &'a mut Coverage) -> Self {
        let root = tree::scratch();
        let mut pair = Self {
            settings,
            kafka: KafkaSide::new(&settings.pairs),
            other,
            coverage,
            root,
            is_open: (false, false),
            is_lost: false,
            now: NOW,
            checkpoint: (0, 0),
            is_checkpointed: false,
            state: State::default(),
            batches: Vec::new(),
        };
        for dir in [pair.kafka_dir(), pair.other_dir()] {
            fs::create_dir(dir).unwrap();
        }
        let anew = Reopen {
            ending: Ending::Close,
            swap: false,
        };
        pair.open_both(anew)
            .unwrap_or_else(|(_, text)| panic!("a new log: {text}"));
        pair
    }

    fn kafka_dir(&self) -> PathBuf {
        self.root.path().join("kafka")
    }

    fn other_dir(&self) -> PathBuf {
        self.root.path().join("other")
    }

    fn opening(&self, clean: bool) -> Opening {
        Opening {
            clean,
            recovery_point: self.checkpoint.0,
            start: self.checkpoint.1,
            now: self.now,
        }
    }

    fn open_both(&mut self, after: Reopen) -> Result<(), Difference> {
        let clean = after.ending == Ending::Close;
        let opening = self.opening(clean);
        let (kafka_dir, other_dir) = (self.kafka_dir(), self.other_dir());
        let by_kafka = self.kafka.open(&kafka_dir, &opening);
        self.is_open.0 = by_kafka.is_ok();
        let by_other = self.other.open(&other_dir, &opening);
        self.is_open.1 = by_other.is_ok();
        match (by_kafka, by_other) {
            (Ok(()), Ok(())) => {
                if !clean && after.swap {
                    self.settle_recovered_epochs();
                }
                self.state = self.compared_state()?;
                Ok(())
            }
            (Err(kafka), _) if !clean && kafka.class == "InvalidTxnStateException" => {
                // D96: Kafka forgot a transaction below its start, took a batch that this one forbids, and cannot recover
                // what it wrote. There is nothing to compare with any more.
                self.coverage.add("tolerated D96");
                self.is_lost = true;
                Ok(())
            }
            (Err(kafka), _) => Err(difference("Kafka opens", kafka.text)),
            (_, Err(other)) => Err(difference("open", other.text)),
        }
    }

    /// D92: a killed klog leaves no index of its last segment. Kafka recovers such a segment before all others, and takes its
    /// epochs for the first ones.
    fn settle_recovered_epochs(&mut self) {
        let (kafka, other) = (self.kafka.state(), self.other.state());
        if kafka.epochs != other.epochs {
            self.coverage.add("tolerated D92");
            self.kafka.forget_epochs(&other);
        }
    }

    /// Lets go of what is open, to end early.
    fn let_go(&mut self) {
        if std::mem::take(&mut self.is_open.0) {
            self.kafka.kill();
        }
        if std::mem::take(&mut self.is_open.1) {
            self.other.kill();
        }
    }

    fn step(&mut self, op: &Op) -> Result<(), Difference> {
        match op {
            Op::Reopen(reopen) => return self.reopen(*reopen),
            Op::Checkpoint => {
                self.checkpoint = (self.state.recovery_point, self.start_to_checkpoint());
                self.is_checkpointed = true;
                return Ok(());
            }
            Op::Clock(now) => self.now = *now,
            _ => {}
        }
        let by_kafka = self.kafka.apply(op);
        let by_other = self.other.apply(op);
        self.compare_answers(op, &by_kafka, &by_other)?;
        let is_append = matches!(op, Op::Append(_));
        let took_nothing = match &by_kafka {
            Answer::Refused(_) => true,
            Answer::Appended(appended) => appended.last < self.state.end,
            _ => false,
        };
        if is_append && took_nothing {
            self.settle_traces();
        }
        let is_cut = matches!(op, Op::Truncate(_) | Op::TruncateFully { .. });
        if is_cut {
            self.settle_watermark();
        }
        let before = std::mem::take(&mut self.state);
        self.state = self.compared_state()?;
        self.count(op, &by_kafka, &before);
        if is_cut {
            // The manager writes recovery points at once (manager.md 7.5), the start within a minute. Kafka does not load a
            // log whose start goes back below a transaction that it has forgotten and seen go on.
            self.checkpoint = (self.state.recovery_point, self.start_to_checkpoint());
            let end = self.state.end;
            self.batches.retain(|(_, last)| *last < end);
        }
        Ok(())
    }

    /// D1: an append that Kafka refuses, or knows as a duplicate, may leave an epoch and a roll. The epoch is taken back,
    /// the roll done on the other side too.
    fn settle_traces(&mut self) {
        let kafka = self.kafka.state();
        let other = self.other.state();
        let mut is_settled = false;
        if kafka.epochs != self.state.epochs {
            let before = self.state.clone();
            self.kafka.forget_epochs(&before);
            self.other.forget_epochs(&before);
            is_settled = true;
        }
        if kafka.segments != self.state.segments {
            self.coverage.add("roll by a refused append");
            if other.segments.len() == self.state.segments.len() {
                self.other.apply(&Op::Roll);
            }
            is_settled = true;
        }
        if is_settled {
            self.coverage.add("tolerated D1");
        }
    }

    /// D98: after a cut Kafka takes transactions that have ended for open ones, once it looks at them again, until the high
    /// watermark is set. It is set to what it is.
    fn settle_watermark(&mut self) {
        let kafka = self.kafka.state();
        let offset = kafka.high_watermark;
        if offset < kafka.start || kafka.end <= offset {
            return;
        }
        let again = Op::HighWatermark {
            offset,
            as_follower: false,
        };
        self.kafka.apply(&again);
        self.other.apply(&again);
        if self.kafka.state().stable != kafka.stable {
            self.coverage.add("tolerated D98");
        }
    }

    /// The state of both, which is the same.
    fn compared_state(&mut self) -> Result<State, Difference> {
        let mut kafka = self.kafka.state();
        let other = self.other.state();
        if kafka.high_watermark != other.high_watermark
            && self.kafka.batch_base(other.high_watermark) == Some(kafka.high_watermark)
        {
            // D23: Kafka moves it to where a batch begins.
            self.coverage.add("tolerated D23");
            self.kafka.apply(&Op::HighWatermark {
                offset: other.high_watermark,
                as_follower: false,
            });
            kafka = self.kafka.state();
        }
        let moved = self.kafka.batch_base(other.stable);
        if kafka.stable != other.stable
            && moved.map(|moved| moved.min(kafka.high_watermark)) == Some(kafka.stable)
        {
            // D23 again.
            self.coverage.add("tolerated D23");
            kafka.stable = other.stable;
        }
        same("start", &kafka.start, &other.start)?;
        same("end", &kafka.end, &other.end)?;
        same(
            "high watermark",
            &kafka.high_watermark,
            &other.high_watermark,
        )?;
        same("last stable offset", &kafka.stable, &other.stable)?;
        if self.settings.reencodes {
            let bases = |state: &State| state.segments.iter().map(|s| s.0).collect::<Vec<_>>();
            same("segments", &bases(&kafka), &bases(&other))?;
        } else {
            same("segments", &kafka.segments, &other.segments)?;
        }
        same(
            "recovery point",
            &kafka.recovery_point,
            &other.recovery_point,
        )?;
        same("epochs", &kafka.epochs, &other.epochs)?;
        same("producers", &kafka.producers, &other.producers)?;
        same("aborted transactions", &kafka.aborted, &other.aborted)?;
        same("snapshots", &kafka.snapshots, &other.snapshots)?;
        Ok(kafka)
    }

    fn compare_answers(
        &mut self,
        op: &Op,
        kafka: &Answer,
        other: &Answer,
    ) -> Result<(), Difference> {
        let same = match (kafka, other) {
            (Answer::Refused(kafka), Answer::Refused(other)) => {
                if let Some(id) = tolerance(op, kafka, other) {
                    self.coverage.add(format!("tolerated {id}"));
                    true
                } else {
                    is_same_error(kafka, other)
                }
            }
            (Answer::Slice(kafka), Answer::Slice(other)) if self.settings.reencodes => {
                (kafka.aborted == other.aborted && records(kafka) == records(other))
                    || self.is_beside_moved_watermark(kafka, other)
            }
            (Answer::Slice(kafka), Answer::Slice(other)) => {
                kafka == other || self.is_beside_moved_watermark(kafka, other)
            }
            (kafka, other) => kafka == other,
        };
        if same {
            return Ok(());
        }
        Err(difference(
            format!("answer to {}", kind_of(op)),
            format!("Kafka: {}\nother: {}", text_of(kafka), text_of(other)),
        ))
    }

    /// D23: where a watermark lies in a hole Kafka moves it behind that, and a read from the hole finds no bytes below the
    /// watermark instead of none at all. It says more of what it does not give then.
    fn is_beside_moved_watermark(&mut self, by_kafka: &Slice, by_other: &Slice) -> bool {
        let (kafka, other) = (self.kafka.state(), self.other.state());
        let is_moved = kafka.high_watermark != other.high_watermark || kafka.stable != other.stable;
        let is_nothing = by_kafka.bytes.is_empty() && by_other.bytes.is_empty();
        if is_moved && is_nothing {
            self.coverage.add("tolerated D23");
        }
        is_moved && is_nothing
    }

    fn count(&mut self, op: &Op, answer: &Answer, before: &State) {
        let roll = self.kafka.take_roll();
        if let Op::Append(append) = op {
            self.coverage.add(format!("{:?}", append.what));
        }
        match (op, answer) {
            (_, Answer::Refused(refusal)) => self.coverage.refusal(refusal),
            (Op::Append(append), Answer::Appended(appended)) => {
                self.coverage.appended(append, appended, before);
                if appended.first >= before.end {
                    self.batches.push((appended.first, appended.last));
                }
            }
            (_, Answer::Text(text)) => {
                self.coverage.step(op, before, &self.state, &self.batches);
                self.coverage_of_text(op, text);
            }
            (_, Answer::Slice(slice)) => {
                self.coverage.step(op, before, &self.state, &self.batches);
                if !slice.aborted.is_empty() {
                    self.coverage.add("read with aborted transactions");
                }
            }
            (_, Answer::Appended(_)) => {}
        }
        if let (Some(numbers), Answer::Appended(appended)) = (roll, answer)
            && appended.last >= before.end
        {
            let base = before.segments.last().map_or(0, |segment| segment.0);
            let spans_too_far = appended.last - base > i64::from(i32::MAX);
            let incoming = self.state.active_size();
            let lag = self.settings.compaction_lag_ms;
            self.coverage
                .roll(&numbers, incoming as i64, spans_too_far, lag);
        }
    }

    fn coverage_of_text(&mut self, op: &Op, text: &str) {
        let (found, what) = match op {
            Op::Timestamp(_) => (text != "none", "time"),
            Op::EpochEnd(_) => (text != "-", "epoch"),
            Op::Aborted { .. } => (text != "-", "aborted"),
            _ => return,
        };
        let found = if found { "found" } else { "not found" };
        self.coverage.add(format!("{what} {found}"));
    }

    /// A start at the first segment is not written down (manager.md 7.4).
    fn start_to_checkpoint(&self) -> i64 {
        let first = self.state.segments.first().map_or(0, |segment| segment.0);
        if self.state.start > first {
            self.state.start
        } else {
            0
        }
    }

    fn reopen(&mut self, reopen: Reopen) -> Result<(), Difference> {
        self.coverage.ending(reopen, self.is_checkpointed);
        match reopen.ending {
            Ending::Close => self.close()?,
            Ending::Kill => self.let_go(),
        }
        if reopen.swap {
            let aside = self.root.path().join("aside");
            let (kafka, other) = (self.kafka_dir().join("t-0"), self.other_dir().join("t-0"));
            fs::rename(&kafka, &aside).unwrap();
            fs::rename(&other, &kafka).unwrap();
            fs::rename(&aside, &other).unwrap();
        }
        self.is_checkpointed = false;
        self.open_both(reopen)
    }

    fn close(&mut self) -> Result<(), Difference> {
        self.checkpoint = (self.state.end, self.start_to_checkpoint());
        self.is_open = (false, false);
        self.kafka.close();
        self.other.close();
        let differ = files::differences(
            &self.kafka_dir(),
            &self.other_dir(),
            &self.state,
            self.settings.reencodes,
        );
        if differ.is_empty() {
            return Ok(());
        }
        Err(difference(
            "files",
            format!("Kafka's left, the other's right\n{}", differ.join("\n")),
        ))
    }

    /// Closes both for good, and compares what both make of what they left.
    fn end(&mut self) -> Result<(), Difference> {
        self.close()?;
        let opening = self.opening(true);
        let (kafka_dir, other_dir) = (self.kafka_dir(), self.other_dir());
        for dir in [&kafka_dir, &other_dir] {
            files::write_checkpoints(dir, &opening);
        }
        let kafka = self.kafka.dump(&kafka_dir);
        let other = self.other.dump(&other_dir);
        match files::dump_difference(&kafka, &other, self.settings.reencodes) {
            None => Ok(()),
            Some(text) => Err(difference("dump", text)),
        }
    }
}

/// Whether the two errors are the same.
fn is_same_error(kafka: &Refusal, other: &Refusal) -> bool {
    let is_named_alike = match (kafka.class.as_str(), other.name.as_str()) {
        // Kafka has no name for it (c-abi.md 4, status 2).
        ("IllegalArgumentException", "INVALID_ARGUMENT") => true,
        _ => kafka.name == other.name && kafka.class_if_unnamed() == other.class_if_unnamed(),
    };
    is_named_alike && kafka.records == other.records
}

/// The deviation that lets the two errors differ.
fn tolerance(op: &Op, kafka: &Refusal, klog: &Refusal) -> Option<&'static str> {
    let Op::Append(append) = op else { return None };
    let by_what = match append.what {
        What::ShortBatch => Some(("D3", "CORRUPT_MESSAGE")),
        What::OverflowingSize => Some(("D4", "CORRUPT_MESSAGE")),
        What::UnknownCodec => Some(("D5", "UNSUPPORTED_COMPRESSION_TYPE")),
        What::BrokenStream => Some(("D7", "CORRUPT_MESSAGE")),
        What::WrongDeltas => Some(("D10", "INVALID_RECORD")),
        What::NegativeTimestamp => Some(("D11", "INVALID_TIMESTAMP")),
        What::NegativeLeaderEpoch => Some(("D13", "INVALID_ARGUMENT")),
        What::UnknownMarker => Some(("D14", "INVALID_RECORD")),
        What::OverlongVarint => Some(("D16", "INVALID_RECORD")),
        What::KeyPastMessage => Some(("D17", "INVALID_RECORD")),
        _ => None,
    };
    if let Some((id, expected)) = by_what
        && kafka.name != klog.name
        && klog.name == expected
    {
        return Some(id);
    }
    match (kafka.class.as_str(), klog.name.as_str()) {
        ("OffsetsOutOfOrderException", "OFFSETS_OUT_OF_ORDER")
        | ("UnexpectedAppendOffsetException", "UNEXPECTED_APPEND_OFFSET") => Some("D22"),
        // A producer that is not whole in a batch that is made anew.
        ("IllegalArgumentException", "INVALID_RECORD") => {
            ["Invalid negative", "without a valid producer"]
                .iter()
                .any(|reason| kafka.text.contains(reason))
                .then_some("D97")
        }
        _ => None,
    }
}

impl Refusal {
    /// What tells errors without a name of their own apart.
    fn class_if_unnamed(&self) -> &str {
        match self.name.as_str() {
            "UNKNOWN_SERVER_ERROR" => &self.class,
            _ => "",
        }
    }
}

fn same<T: PartialEq + std::fmt::Debug>(
    what: &str,
    kafka: &T,
    other: &T,
) -> Result<(), Difference> {
    if kafka == other {
        return Ok(());
    }
    Err(difference(
        what,
        format!("{what}\nKafka: {kafka:?}\nother: {other:?}"),
    ))
}

fn kind_of(op: &Op) -> String {
    let text = op.to_string();
    match op {
        Op::Append(append) => format!("{:?}", append.what),
        _ => text.split([' ', '(']).next().unwrap_or(&text).to_owned(),
    }
}

fn text_of(answer: &Answer) -> String {
    match answer {
        Answer::Refused(refusal) => refusal.text.clone(),
        Answer::Slice(slice) => {
            let (bytes, crc) = (slice.bytes.len(), crc32c::crc32c(&slice.bytes));
            let Slice {
                place,
                is_first_larger,
                aborted,
                ..
            } = slice;
            format!(
                "{bytes} bytes, crc {crc:08x}, at {place:?}, first larger {is_first_larger}, aborted {aborted:?}"
            )
        }
        other => format!("{other:?}"),
    }
}

/// The records of a slice: offset, time, key and value.
fn records(slice: &Slice) -> Vec<String> {
    let mut found = Vec::new();
    let mut decoder = RecordDecoder::new();
    let mut rest = slice.bytes.as_slice();
    while let Ok(batch) = Batch::new(rest) {
        decoder.begin(&batch).unwrap();
        while let Some(record) = decoder.next(&batch).unwrap() {
            let (key, value) = (record.key, record.value);
            found.push(format!(
                "{} {} {key:?} {value:?}",
                record.offset, record.timestamp
            ));
        }
        rest = &rest[batch.bytes().len()..];
    }
    found
}
