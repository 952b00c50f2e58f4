//! Producers, transactions and look-ups by time as lines of the canonical text.

use std::fmt::Write;

use crate::error::Result;
use crate::log::{Log, TimeTarget};
use crate::types::TimestampMs;

/// The `producer` and `pbatch` lines of a log, by rising producer id.
#[must_use]
pub fn producer_lines(log: &Log) -> String {
    let mut text = String::new();
    for (id, producer) in log.producers() {
        let last = producer.snapshot_entry(id);
        let txn_first = last
            .txn_first_offset
            .map_or_else(|| "-".to_owned(), |offset| offset.to_string());
        let _ = writeln!(
            text,
            "producer {id} epoch={} last_seq={} last_offset={} offset_delta={} ts={} coordinator_epoch={} txn_first={txn_first}",
            last.epoch,
            last.last_sequence,
            last.last_offset,
            last.offset_delta,
            last.timestamp,
            last.coordinator_epoch,
        );
        for batch in &producer.batches {
            let _ = writeln!(
                text,
                "pbatch {id} seq={}..{} offset={}..{} ts={}",
                batch.first_sequence(),
                batch.last_sequence,
                batch.first_offset(),
                batch.last_offset,
                batch.timestamp
            );
        }
    }
    text
}

/// The `aborted` lines of a log: the entries of its transaction indexes, segment by segment.
pub fn aborted_lines(log: &Log) -> Result<String> {
    let mut text = String::new();
    for segment in log.segment_list() {
        for txn in segment.aborted_txns()?.iter() {
            let _ = writeln!(
                text,
                "aborted {} producer={} first={} last={} lso={}",
                segment.base_offset(),
                txn.producer_id,
                txn.first_offset,
                txn.last_offset,
                txn.last_stable_offset
            );
        }
    }
    Ok(text)
}

/// The `open` lines of a log: its open transactions by rising first offset, those whose producer wrote last at least
/// `older_ms` before `now`.
#[must_use]
pub fn open_lines(log: &Log, now: TimestampMs, older_ms: i64) -> String {
    let mut open: Vec<_> = log
        .producers()
        .into_iter()
        .filter_map(|(id, producer)| {
            let last = producer.snapshot_entry(id);
            let age_ms = now.0.saturating_sub(last.timestamp.0);
            let first = last.txn_first_offset.filter(|_| age_ms >= older_ms)?;
            Some((first, id, last.timestamp, age_ms))
        })
        .collect();
    open.sort_unstable();
    let mut text = String::new();
    for (first, id, timestamp, age_ms) in open {
        let _ = writeln!(
            text,
            "open producer={id} first={first} ts={timestamp} age_ms={age_ms}"
        );
    }
    text
}

/// The `lso` line of a log.
#[must_use]
pub fn stable_line(log: &Log) -> String {
    format!("lso {}\n", log.last_stable_offset())
}

/// The `time` line of a look-up by Kafka's number for a time.
pub fn time_line(log: &Log, timestamp: i64) -> Result<String> {
    let found = log.offset_for_timestamp(TimeTarget::from_kafka(timestamp)?)?;
    Ok(match found {
        None => format!("time {timestamp} none\n"),
        Some(record) => {
            let epoch = record
                .leader_epoch
                .map_or_else(|| "-".to_owned(), |epoch| epoch.to_string());
            format!(
                "time {timestamp} offset={} ts={} epoch={epoch}\n",
                record.offset, record.timestamp
            )
        }
    })
}
