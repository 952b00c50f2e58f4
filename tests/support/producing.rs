//! Appends in the notation of state.md 11: `I p/e s+n`, `T p/e s+n`, `P n`, `C p/e c`, `A p/e c`, and what they answer.

use std::sync::Arc;

use klog::error::{Error, ErrorKind};
use klog::format::builder::{BatchBuilder, BatchOptions};
use klog::format::control;
use klog::log::{AppendOptions, AppendResult, LeaderEpochRule, Log, Origin};
use klog::types::{LeaderEpoch, ProducerId, TimestampMs};

use super::engine::{NOW, Rec, batch, rec};

/// A batch to be appended, in state.md's words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step<'s> {
    text: &'s str,
    origin: Origin,
    epoch: i32,
    version: i16,
    timestamp: i64,
}

/// `I 1/0 0+2` and the like, from a client under leader epoch 0. Markers come from a coordinator.
pub(crate) fn step(text: &str) -> Step<'_> {
    let is_marker = text.starts_with(['A', 'C']);
    Step {
        text,
        origin: if is_marker {
            Origin::Coordinator
        } else {
            Origin::Client
        },
        epoch: 0,
        version: 0,
        timestamp: NOW,
    }
}

impl Step<'_> {
    pub(crate) fn epoch(self, epoch: i32) -> Self {
        Self { epoch, ..self }
    }

    pub(crate) fn origin(self, origin: Origin) -> Self {
        Self { origin, ..self }
    }

    pub(crate) fn version(self, version: i16) -> Self {
        Self { version, ..self }
    }

    pub(crate) fn at(self, timestamp: i64) -> Self {
        Self { timestamp, ..self }
    }

    /// The bytes of the batch, with offset 0.
    pub(crate) fn bytes(self) -> Vec<u8> {
        let words: Vec<&str> = self.text.split(' ').collect();
        let [kind, rest @ ..] = &words[..] else {
            panic!("{}", self.text)
        };
        let mut options = BatchOptions::default();
        let records = |n: i64| -> Vec<Rec> {
            let at = |i| {
                if self.timestamp < 0 {
                    -1
                } else {
                    self.timestamp + i
                }
            };
            (0..n)
                .map(|i| rec(at(i), &format!("k{i}"), &format!("v{i}")))
                .collect()
        };
        if *kind == "P" {
            return batch(&records(rest[0].parse().unwrap()), &options);
        }
        let (id, epoch) = rest[0].split_once('/').unwrap();
        options.producer_id = ProducerId(id.parse().unwrap());
        options.producer_epoch = epoch.parse().unwrap();
        if matches!(*kind, "A" | "C") {
            let coordinator_epoch = rest[1].parse().unwrap();
            let mut builder = BatchBuilder::new();
            let commit = *kind == "C";
            let time = TimestampMs(self.timestamp);
            return control::write_end_marker(
                &mut builder,
                commit,
                coordinator_epoch,
                time,
                &options,
            )
            .unwrap()
            .to_vec();
        }
        let (sequence, n) = rest[1].split_once('+').unwrap();
        options.base_sequence = sequence.parse().unwrap();
        options.transactional = *kind == "T";
        batch(&records(n.parse().unwrap()), &options)
    }

    /// Appends it. A follower's batch gets the log end for its offset.
    pub(crate) fn append(self, log: &Log) -> Result<AppendResult, Error> {
        let mut bytes = self.bytes();
        let options = AppendOptions {
            origin: self.origin,
            leader_epoch: Some(LeaderEpoch(self.epoch)),
            epoch_rule: LeaderEpochRule::TakeAny,
            txn_version: Some(self.version),
            ..AppendOptions::default()
        };
        if matches!(self.origin, Origin::Replication | Origin::RaftLeader) {
            klog::format::batch::stamp(&mut bytes, log.end_offset(), LeaderEpoch(self.epoch));
        }
        log.append_batches(&bytes, &options)
    }

    /// Appends it; it must land at these offsets.
    pub(crate) fn at_offsets(self, log: &Log, first: i64, last: i64) -> AppendResult {
        let result = self
            .append(log)
            .unwrap_or_else(|e| panic!("{}: {e}", self.text));
        assert_eq!(
            (result.first_offset.0, result.last_offset.0),
            (first, last),
            "{}",
            self.text
        );
        result
    }

    /// Appends it; it must be refused so, and change nothing.
    pub(crate) fn refused(self, log: &Arc<Log>, kind: ErrorKind) -> Error {
        let before = state_of(log);
        let error = self.append(log).expect_err(self.text);
        assert_eq!(error.kind(), kind, "{}: {error}", self.text);
        assert_eq!(state_of(log), before, "{} changed something", self.text);
        error
    }
}

/// Two transactions that are aborted, at the offsets 0 to 5.
pub(crate) fn two_aborted(log: &Log) {
    step("T 1/0 0+2").at_offsets(log, 0, 1);
    step("A 1/0 0").at_offsets(log, 2, 2);
    step("T 2/0 0+2").at_offsets(log, 3, 4);
    step("A 2/0 0").at_offsets(log, 5, 5);
}

/// All that an append may change.
pub(crate) fn state_of(log: &Log) -> String {
    let info = log.info();
    format!("{info:?} {:?} {:?}", log.epochs(), log.producers())
}

/// `q[..]` of a producer: `2..3@2..3 4..5@4..5`.
pub(crate) fn queue(log: &Log, producer_id: i64) -> String {
    let producers = log.producers();
    let Some((_, producer)) = producers.iter().find(|(id, _)| id.0 == producer_id) else {
        return "none".to_owned();
    };
    let batches: Vec<String> = producer
        .batches
        .iter()
        .map(|b| {
            format!(
                "{}..{}@{}..{}",
                b.first_sequence(),
                b.last_sequence,
                b.first_offset(),
                b.last_offset
            )
        })
        .collect();
    batches.join(" ")
}

/// The entries of the transaction indexes: `pid:first..marker lso`.
pub(crate) fn aborted(log: &Log) -> Vec<(i64, String)> {
    let mut found = Vec::new();
    for segment in log.segment_list() {
        for txn in segment.aborted_txns().unwrap().iter() {
            let text = format!(
                "{}:{}..{} {}",
                txn.producer_id, txn.first_offset, txn.last_offset, txn.last_stable_offset
            );
            found.push((segment.base_offset().0, text));
        }
    }
    found
}
