//! What happened in the logs that were cleaned: a comparison in which a decision never fell says nothing of it.

use std::collections::BTreeMap;
use std::fmt::Write;

use klog::cleaner::filter::Fate;
use klog::cleaner::stats::{BatchFate, Stats};

/// How often each thing happened.
#[derive(Default)]
pub(super) struct Coverage(BTreeMap<String, u64>);

/// Each must have happened at least so often in the seeds of `make test`.
const FLOORS: [(&str, u64); 32] = [
    ("pass", 500),
    ("pass: nothing to clean", 20),
    ("pass: map full", 100),
    ("pass: keys mapped", 1000),
    ("pass: inside a segment", 50),
    ("pass: several groups", 100),
    ("pass: several segments became one", 100),
    ("pass: a segment became empty", 50),
    ("pass: below an open transaction", 50),
    ("pass: below the high watermark", 50),
    ("log: plain", 50),
    ("log: compressed", 30),
    ("log: legacy", 30),
    ("producers expired", 20),
    ("restarted", 20),
    ("aborted transactions listed", 100),
    ("record DropAborted", 200),
    ("record DropMarker", 20),
    ("record KeepControl", 200),
    ("record KeepUnmapped", 200),
    ("record DropNoKey", 200),
    ("record DropSuperseded", 1000),
    ("record KeepLatest", 1000),
    ("record KeepTombstone", 200),
    ("record DropTombstone", 100),
    ("batch DeletedUnread", 100),
    ("batch Deleted", 200),
    ("batch EmptyForProducer", 100),
    ("batch EmptyAtHighWatermark", 5),
    ("batch Verbatim", 1000),
    ("batch Rewritten", 200),
    ("batch RewrittenWithHorizon", 100),
];

impl Coverage {
    pub(super) fn count(&mut self, what: &str, times: u64) {
        if times > 0 {
            *self.0.entry(what.to_owned()).or_default() += times;
        }
    }

    pub(super) fn count_if(&mut self, what: &str, happened: bool) {
        self.count(what, u64::from(happened));
    }

    pub(super) fn stats(&mut self, stats: &Stats) {
        for fate in Fate::ALL {
            self.count(&format!("record {fate:?}"), stats.records(fate));
        }
        for fate in BatchFate::ALL {
            self.count(&format!("batch {fate:?}"), stats.batches(fate));
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (what, times) in &other.0 {
            self.count(what, *times);
        }
    }

    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for (what, times) in &self.0 {
            writeln!(text, "{times:>9} {what}").unwrap();
        }
        text
    }

    /// What did not happen often enough.
    pub(super) fn missing(&self) -> Vec<String> {
        let too_few = FLOORS.iter().filter_map(|(what, floor)| {
            let times = self.0.get(*what).copied().unwrap_or(0);
            (times < *floor).then(|| format!("{what}: {times}, at least {floor} were expected"))
        });
        too_few.collect()
    }
}
