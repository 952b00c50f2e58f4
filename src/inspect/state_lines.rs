//! Producers, transactions and look-ups by time as lines of the canonical text.

use std::fmt::Write;

use super::batch_text::{Print, TEXT_BYTES};
use crate::error::Result;
use crate::log::{Log, TimeTarget};
use crate::state::producer::Producer;
use crate::types::{ProducerId, TimestampMs};

/// So many producers are looked at together.
const PRODUCERS_OF_LOOK: usize = 1000;

/// The `producer` and `pbatch` lines of a log, by rising producer id.
#[must_use]
pub fn producer_lines(log: &Log) -> String {
    let mut all = String::new();
    let printed = print_producers(log, &mut |text| {
        all.push_str(text);
        text.clear();
        Ok(())
    });
    debug_assert!(printed.is_ok(), "memory takes any text");
    all
}

/// The lines of [`producer_lines`], which may be a million, some at a time.
pub fn print_producers(log: &Log, print: &mut Print<'_>) -> Result<()> {
    let (mut text, mut after) = (String::new(), None);
    loop {
        let some = log.producers_after(after, PRODUCERS_OF_LOOK);
        let Some((last, _)) = some.last() else {
            return Ok(());
        };
        after = Some(*last);
        for (id, producer) in &some {
            write_producer(&mut text, *id, producer);
        }
        print(&mut text)?;
    }
}

fn write_producer(text: &mut String, id: ProducerId, producer: &Producer) {
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

/// The `aborted` lines of a log, some at a time: the entries of its transaction indexes, segment by segment.
pub fn print_aborted(log: &Log, print: &mut Print<'_>) -> Result<()> {
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
            if text.len() >= TEXT_BYTES {
                print(&mut text)?;
            }
        }
    }
    print(&mut text)
}

/// The `open` lines of a log, some at a time: its open transactions by rising first offset, those whose producer wrote last at
/// least `older_ms` before `now`.
pub fn print_open(log: &Log, now: TimestampMs, older_ms: i64, print: &mut Print<'_>) -> Result<()> {
    let (mut open, mut after) = (Vec::new(), None);
    loop {
        let some = log.producers_after(after, PRODUCERS_OF_LOOK);
        let Some((last, _)) = some.last() else {
            break;
        };
        after = Some(*last);
        open.extend(some.iter().filter_map(|(id, producer)| {
            let age_ms = now.0.saturating_sub(producer.last_timestamp.0);
            let first = producer.txn_first_offset.filter(|_| age_ms >= older_ms)?;
            Some((first, *id, producer.last_timestamp))
        }));
    }
    open.sort_unstable();
    let mut text = String::new();
    for (first, id, timestamp) in open {
        let age_ms = now.0.saturating_sub(timestamp.0);
        let _ = writeln!(
            text,
            "open producer={id} first={first} ts={timestamp} age_ms={age_ms}"
        );
        if text.len() >= TEXT_BYTES {
            print(&mut text)?;
        }
    }
    print(&mut text)
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
