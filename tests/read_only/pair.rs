//! An owner and a follower of one directory, and what must be the same of both.

use std::sync::Arc;

use klog::format::names::parse_topic_partition;
use klog::format::record::Record;
use klog::format::txn_index::AbortedTxn;
use klog::log::{ControlRecords, CursorOptions, Isolation, Log};
use klog::manager::Manager;
use klog::types::Offset;

use crate::support::engine::{Home, epochs, t0};

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
        .chain([TimeTarget::MaxTimestamp, TimeTarget::Earliest])
        .map(|target| format!("{:?}", log.offset_for_timestamp(target).unwrap()))
        .collect()
}

/// The aborted transactions of which records are left: of others a load knows that were cut off an owner's memory.
fn aborted(log: &Log) -> Vec<AbortedTxn> {
    let start = log.start_offset();
    let mut found = log.aborted_txns(start, Offset::MAX).unwrap();
    found.retain(|txn| txn.first_offset >= start);
    found
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
}

/// The same but for producers that have nothing open: a load may know less of them than an owner, by the snapshots there are.
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
    assert_eq!(epochs(followed), epochs(owned));
    assert_eq!(aborted(followed), aborted(owned));
    assert_eq!(by_times(followed), by_times(owned));
}
