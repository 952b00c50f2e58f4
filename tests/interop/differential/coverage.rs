//! Counts what the streams have really done: a test that tries nothing passes too.

use std::collections::BTreeMap;

use klog::format::batch::{BatchHeader, Next, next_in_memory};

use super::op::{Append, Ending, Op, Origin, Reopen};
use super::side::{Appended, Refusal, State};

/// How often each thing happened.
#[derive(Clone, Debug, Default)]
pub(crate) struct Coverage(BTreeMap<String, u64>);

/// What must happen in the seeds of `make test`, besides every [`super::op::What`].
const REQUIRED: &[&str] = &[
    // Each error of an append, of a read or of an argument (state.md 10).
    "error CORRUPT_MESSAGE",
    "error INVALID_PRODUCER_EPOCH",
    "error INVALID_RECORD",
    "error INVALID_TIMESTAMP",
    "error INVALID_TXN_STATE",
    "error MESSAGE_TOO_LARGE",
    "error OFFSET_OUT_OF_RANGE",
    "error OUT_OF_ORDER_SEQUENCE_NUMBER",
    "error RECORD_LIST_TOO_LARGE",
    "error TRANSACTION_COORDINATOR_FENCED",
    "error IllegalArgumentException",
    "error OffsetsOutOfOrderException",
    "error UnexpectedAppendOffsetException",
    // Each reason to roll (log.md 2.9, 4).
    "roll asked for",
    "roll of an empty segment",
    "roll by a refused append",
    "roll: size",
    "roll: time",
    "roll: compaction lag",
    "roll: offset index",
    "roll: time index",
    "roll: offset range",
    // Each kind of truncation (log.md 9).
    "truncation at or above the end",
    "truncation at a segment",
    "truncation at a batch",
    "truncation inside a batch",
    "truncation below the start",
    "truncation of everything",
    "truncation of everything with a start",
    "start raised",
    "start not raised",
    // Ends.
    "close",
    "close and swap",
    "kill",
    "kill and swap",
    "kill after a checkpoint",
    // Markers that were taken.
    "marker abort, version 0",
    "marker abort, version 1",
    "marker abort, version 2",
    "marker commit, version 0",
    "marker commit, version 1",
    "marker commit, version 2",
    "marker abort, follower",
    "marker commit, follower",
    // Batches that were taken.
    "CLIENT none",
    "CLIENT gzip",
    "CLIENT snappy",
    "CLIENT lz4",
    "CLIENT zstd",
    "CLIENT magic 0",
    "CLIENT magic 1",
    "CLIENT transactional",
    "CLIENT idempotent",
    "REPLICATION none",
    "REPLICATION gzip",
    "REPLICATION snappy",
    "REPLICATION lz4",
    "REPLICATION zstd",
    "REPLICATION magic 0",
    "REPLICATION magic 1",
    "REPLICATION transactional",
    "RAFT_LEADER none",
    "COORDINATOR none",
    "duplicate",
    "nothing appended",
    "producer expired",
    // Queries.
    "read LOG_END",
    "read HIGH_WATERMARK",
    "read TXN_COMMITTED",
    "read with aborted transactions",
    "time found",
    "time not found",
    "epoch found",
    "epoch not found",
    "aborted found",
    // What deviations.md allows.
    "tolerated D1",
    "tolerated D3",
    "tolerated D4",
    "tolerated D5",
    "tolerated D7",
    "tolerated D10",
    "tolerated D11",
    "tolerated D13",
    "tolerated D14",
    "tolerated D16",
    "tolerated D17",
    "tolerated D22",
    "tolerated D23",
];

impl Coverage {
    pub(crate) fn add(&mut self, what: impl Into<String>) {
        *self.0.entry(what.into()).or_default() += 1;
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (what, count) in &other.0 {
            *self.0.entry(what.clone()).or_default() += count;
        }
    }

    /// What must have happened and has not.
    pub(crate) fn missing(&self) -> Vec<String> {
        let tried = super::op::ALL_TRIED.iter().map(|what| format!("{what:?}"));
        REQUIRED
            .iter()
            .map(|what| (*what).to_owned())
            .chain(tried)
            .filter(|what| !self.0.contains_key(what))
            .collect()
    }

    /// A line for each count.
    pub(crate) fn text(&self) -> String {
        let lines = self
            .0
            .iter()
            .map(|(what, count)| format!("{count:8} {what}\n"));
        lines.collect()
    }

    pub(crate) fn refusal(&mut self, refusal: &Refusal) {
        let name = if refusal.name == "UNKNOWN_SERVER_ERROR" {
            &refusal.class
        } else {
            &refusal.name
        };
        self.add(format!("error {name}"));
    }

    pub(crate) fn ending(&mut self, reopen: Reopen, is_checkpointed: bool) {
        let ending = match reopen.ending {
            Ending::Close => "close",
            Ending::Kill => "kill",
        };
        self.add(ending);
        if reopen.swap {
            self.add(format!("{ending} and swap"));
        }
        if reopen.ending == Ending::Kill && is_checkpointed {
            self.add("kill after a checkpoint");
        }
    }

    /// An append that was taken.
    pub(crate) fn appended(&mut self, append: &Append, answer: &Appended, before: &State) {
        if answer.first < 0 && answer.last < 0 {
            self.add("nothing appended");
            return;
        }
        if answer.last < before.end {
            self.add("duplicate");
            return;
        }
        let mut rest = append.bytes.as_slice();
        while let Ok(Next::Batch(size)) = next_in_memory(rest) {
            let (batch, behind) = rest.split_at(size as usize);
            self.batch(append, batch);
            rest = behind;
        }
    }

    fn batch(&mut self, append: &Append, bytes: &[u8]) {
        let Some(header) = BatchHeader::parse(bytes) else {
            return;
        };
        let origin = append.origin.name();
        let attributes = header.attributes;
        if header.magic < 2 {
            self.add(format!("{origin} magic {}", header.magic));
        }
        if let Ok(codec) = attributes.codec() {
            self.add(format!("{origin} {codec}"));
        }
        if header.magic == 2 && attributes.is_control() {
            // The type stands behind five lengths and the version, each of one byte or two.
            let kind = match bytes.get(69) {
                Some(0) => "abort",
                _ => "commit",
            };
            if append.origin == Origin::Replication {
                self.add(format!("marker {kind}, follower"));
            } else if let Some(version) = append.txn_version {
                self.add(format!("marker {kind}, version {version}"));
            }
        } else if header.magic == 2 && attributes.is_transactional() {
            self.add(format!("{origin} transactional"));
        } else if header.has_producer_id() {
            self.add(format!("{origin} idempotent"));
        }
    }

    /// Which of Kafka's numbers made it roll for an append; they are as they were before it. They do not tell how long
    /// compaction may be behind.
    pub(crate) fn roll(
        &mut self,
        numbers: &str,
        incoming: i64,
        spans_too_far: bool,
        compaction_lag_ms: i64,
    ) {
        let pairs: Vec<(i64, i64)> = numbers
            .split([' ', ',', ')'])
            .filter_map(|word| {
                let (is, most) = word.split_once('/')?;
                Some((is.parse().ok()?, most.parse().ok()?))
            })
            .collect();
        let [size, offsets, times, age] = pairs[..] else {
            panic!("not the numbers of a roll: {numbers}");
        };
        self.add(format!(
            "roll: {}",
            if size.0 + incoming > size.1 {
                "size"
            } else if size.0 > 0 && age.0 > age.1 {
                "time"
            } else if offsets.0 >= offsets.1 {
                "offset index"
            } else if times.0 >= times.1 - 1 {
                "time index"
            } else if spans_too_far {
                "offset range"
            } else if age.0 > compaction_lag_ms {
                "compaction lag"
            } else {
                panic!("for which reason? {numbers}")
            }
        ));
    }

    /// What a step that is no append, and was not refused, has done.
    pub(crate) fn step(&mut self, op: &Op, before: &State, after: &State, batches: &[(i64, i64)]) {
        match op {
            Op::Roll => {
                let is_replaced = before.segments.len() == after.segments.len();
                self.add(if is_replaced {
                    "roll of an empty segment"
                } else {
                    "roll asked for"
                });
            }
            Op::Truncate(to) => self.add(if *to >= before.end {
                "truncation at or above the end"
            } else if *to < before.start {
                "truncation below the start"
            } else if before.segments.iter().any(|(base, _)| base == to) {
                "truncation at a segment"
            } else if batches.iter().any(|(first, last)| first < to && to <= last) {
                "truncation inside a batch"
            } else if batches.iter().any(|(first, _)| first == to) {
                "truncation at a batch"
            } else {
                "truncation elsewhere"
            }),
            Op::TruncateFully { start, .. } => self.add(if start.is_some() {
                "truncation of everything with a start"
            } else {
                "truncation of everything"
            }),
            Op::DeleteRecords(_) => self.add(if before.start == after.start {
                "start not raised"
            } else {
                "start raised"
            }),
            Op::Expire if after.producers.len() < before.producers.len() => {
                self.add("producer expired");
            }
            Op::Read(read) => self.add(format!("read {}", read.isolation.name())),
            _ => {}
        }
    }
}
