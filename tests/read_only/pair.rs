//! An owner and a follower of one directory, and what must be the same of both.

use std::sync::Arc;

use klog::format::names::parse_topic_partition;
use klog::format::record::Record;
use klog::log::{ControlRecords, CursorOptions, Isolation, Log};
use klog::manager::Manager;

use crate::support::engine::{Home, epochs, t0};
use crate::support::producing::aborted;

/// A directory with an owner that has the log `t-0`, and a follower of it.
pub(crate) struct Pair {
    pub(crate) home: Home,
    pub(crate) owner: Manager,
    pub(crate) follower: Manager,
}

impl Pair {
    pub(crate) fn new(home: Home) -> Self {
        let owner = home.open();
        t0(&owner);
        let follower = home.follow();
        Self {
            home,
            owner,
            follower,
        }
    }

    /// The log of the owner and that of the follower.
    pub(crate) fn logs(&self) -> (Arc<Log>, Arc<Log>) {
        (t0(&self.owner), followed(&self.follower, "t-0"))
    }

    /// Refreshes; then both must have the same.
    pub(crate) fn ensure_same(&self) {
        let (owned, followed) = self.logs();
        self.follower.refresh_log(&followed).unwrap();
        ensure_same(&owned, &followed);
    }
}

pub(crate) fn followed(manager: &Manager, partition: &str) -> Arc<Log> {
    let partition = parse_topic_partition(partition).unwrap();
    manager.log(&partition).unwrap()
}

/// A record with all that a reader sees of it.
pub(crate) type Whole = (i64, i64, Option<Vec<u8>>, Option<Vec<u8>>);

fn whole(record: &Record<'_>) -> Whole {
    (
        record.offset.0,
        record.timestamp.0,
        record.key.map(<[u8]>::to_vec),
        record.value.map(<[u8]>::to_vec),
    )
}

/// All that a cursor gives.
pub(crate) fn all(log: &Arc<Log>, isolation: Isolation) -> Vec<Whole> {
    let options = CursorOptions {
        isolation,
        control_records: ControlRecords::Show,
        ..CursorOptions::default()
    };
    let mut cursor = log.cursor(log.start_offset(), options);
    let mut found = Vec::new();
    loop {
        let records = cursor.next_records(1000).unwrap();
        if records.is_empty() {
            return found;
        }
        found.extend(records.iter().map(|record| whole(&record)));
    }
}

/// What a look-up for each of some times finds.
fn by_times(log: &Log) -> Vec<String> {
    use klog::log::TimeTarget;
    use klog::types::TimestampMs;
    let times = (0..8).map(|i| TimeTarget::At(TimestampMs(crate::support::engine::NOW + 3 * i)));
    times
        .chain([TimeTarget::MaxTimestamp])
        .map(|target| format!("{:?}", log.offset_for_timestamp(target).unwrap()))
        .collect()
}

/// Of each producer what a load knows too: of its batches a snapshot has the last one, a cut leaves an owner with fewer.
fn producers(log: &Log) -> Vec<String> {
    let producers = log.producers().into_iter();
    producers
        .map(|(id, p)| {
            format!(
                "{id}/{} {} {:?}",
                p.epoch, p.coordinator_epoch, p.txn_first_offset
            )
        })
        .collect()
}

/// The follower has what the owner has: records, offsets, producers, epochs, transactions.
pub(crate) fn ensure_same(owned: &Arc<Log>, followed: &Arc<Log>) {
    ensure_same_log(owned, followed);
    assert_eq!(producers(followed), producers(owned));
    assert_eq!(aborted(followed), aborted(owned));
}

/// The same but for producers that have nothing open, and for transactions that begin below the log start: of these a load
/// knows what the snapshots tell that there are, an owner more or less.
pub(crate) fn ensure_same_log(owned: &Arc<Log>, followed: &Arc<Log>) {
    let (own, seen) = (owned.info(), followed.info());
    assert_eq!(
        (
            seen.log_start_offset,
            seen.log_end_offset,
            seen.high_watermark,
            seen.last_stable_offset,
            seen.topic_id,
            seen.segments,
            seen.bytes,
        ),
        (
            own.log_start_offset,
            own.log_end_offset,
            own.high_watermark,
            own.last_stable_offset,
            own.topic_id,
            own.segments,
            own.bytes,
        )
    );
    for isolation in [Isolation::LogEnd, Isolation::TxnCommitted] {
        assert_eq!(
            all(followed, isolation),
            all(owned, isolation),
            "{isolation:?}"
        );
    }
    let open = |log: &Log| -> Vec<_> {
        let producers = log.producers().into_iter();
        producers
            .filter_map(|(id, p)| Some((id, p.txn_first_offset?)))
            .collect()
    };
    assert_eq!(open(followed), open(owned));
    // One that begins at the end has no batch: a load drops it.
    let with_batches = |log: &Log| {
        let mut epochs = epochs(log);
        epochs.retain(|&(_, start)| start < log.end_offset().0);
        epochs
    };
    assert_eq!(with_batches(followed), with_batches(owned));
    assert_eq!(by_times(followed), by_times(owned));
}
