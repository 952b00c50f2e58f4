//! The state beside a log, told from the batches of its canonical text: leader epochs, producers, aborted transactions and
//! the last stable offset (state.md 4-7), for a log that begins at its first batch and whose producers never expire.

use std::collections::BTreeMap;

use super::canonical::{BatchLine, LogLines, SegmentLines};

#[derive(Clone, Debug)]
struct Producer {
    epoch: i64,
    last: Option<LastBatch>,
    timestamp: i64,
    coordinator_epoch: i64,
    open_from: Option<i64>,
}

#[derive(Clone, Copy, Debug)]
struct LastBatch {
    first_sequence: i64,
    last_sequence: i64,
    last_offset: i64,
    offset_delta: i64,
}

/// `epoch`, `producer`, `pbatch` (the last one of each), `aborted` and `lso` lines of a log that ends at `end`.
pub(crate) fn state_lines(segments: &[SegmentLines], end: i64) -> Vec<String> {
    let mut epochs: Vec<(i64, i64)> = Vec::new();
    let mut producers: BTreeMap<i64, Producer> = BTreeMap::new();
    let mut aborted = Vec::new();
    for segment in segments {
        for (batch, marker) in segment.batches().iter().zip(markers(segment)) {
            if batch.number("magic") < 2 {
                continue;
            }
            let epoch = batch.number("lepoch");
            if epoch >= 0 && epochs.last().is_none_or(|(latest, _)| epoch > *latest) {
                epochs.push((epoch, batch.number("base")));
            }
            if batch.number("producer") < 0 {
                continue;
            }
            if batch.text("ctl") == "0" {
                data(&mut producers, batch);
            } else if let Some(marker) = marker {
                aborted.extend(end_of_txn(&mut producers, segment.base, batch, &marker));
            }
        }
    }
    let mut lines: Vec<String> = epochs
        .iter()
        .map(|(epoch, start)| format!("epoch {epoch} {start}"))
        .collect();
    for (id, producer) in &producers {
        let Producer {
            epoch,
            last,
            timestamp,
            coordinator_epoch,
            open_from,
        } = producer;
        let open = open_from.map_or_else(|| "-".to_owned(), |offset| offset.to_string());
        let (sequence, offset, delta) = last.map_or((-1, -1, 0), |l| {
            (l.last_sequence, l.last_offset, l.offset_delta)
        });
        lines.push(format!(
            "producer {id} epoch={epoch} last_seq={sequence} last_offset={offset} offset_delta={delta} ts={timestamp} \
             coordinator_epoch={coordinator_epoch} txn_first={open}"
        ));
        if let Some(l) = last {
            lines.push(format!(
                "pbatch {id} seq={}..{} offset={}..{}",
                l.first_sequence,
                l.last_sequence,
                l.last_offset - l.offset_delta,
                l.last_offset
            ));
        }
    }
    lines.extend(aborted);
    let stable = producers
        .values()
        .filter_map(|p| p.open_from)
        .min()
        .unwrap_or(end);
    lines.push(format!("lso {stable}"));
    lines
}

fn of<'a>(producers: &'a mut BTreeMap<i64, Producer>, batch: &BatchLine) -> &'a mut Producer {
    let epoch = batch.number("pepoch");
    let producer = producers
        .entry(batch.number("producer"))
        .or_insert(Producer {
            epoch,
            last: None,
            timestamp: -1,
            coordinator_epoch: -1,
            open_from: None,
        });
    if producer.epoch != epoch {
        producer.epoch = epoch;
        producer.last = None;
    }
    producer
}

fn data(producers: &mut BTreeMap<i64, Producer>, batch: &BatchLine) {
    let (base, last) = (batch.number("base"), batch.number("last"));
    let producer = of(producers, batch);
    producer.timestamp = batch.number("max_ts");
    producer.last = Some(LastBatch {
        first_sequence: batch.number("seq"),
        last_sequence: batch.number("seq") + last - base,
        last_offset: last,
        offset_delta: last - base,
    });
    if batch.text("txn") == "1" && producer.open_from.is_none() {
        producer.open_from = Some(base);
    }
}

struct Marker {
    commits: bool,
    offset: i64,
    timestamp: i64,
    coordinator_epoch: i64,
}

/// For each batch of a segment the end of a transaction that it marks, if it does.
fn markers(segment: &SegmentLines) -> Vec<Option<Marker>> {
    let mut found = Vec::new();
    for line in &segment.content {
        if line.starts_with("batch ") {
            found.push(None);
        } else if let Some(rest) = line.strip_prefix("ctl ") {
            let (offset, rest) = rest.split_once(' ').unwrap();
            let field = |key: &str| {
                rest.split(' ')
                    .find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
                    .map(str::to_owned)
            };
            let kind = field("type").unwrap();
            if kind == "commit" || kind == "abort" {
                *found.last_mut().unwrap() = Some(Marker {
                    commits: kind == "commit",
                    offset: offset.parse().unwrap(),
                    timestamp: field("ts").unwrap().parse().unwrap(),
                    coordinator_epoch: field("coordinator_epoch").unwrap().parse().unwrap(),
                });
            }
        }
    }
    found
}

fn end_of_txn(
    producers: &mut BTreeMap<i64, Producer>,
    segment: i64,
    batch: &BatchLine,
    marker: &Marker,
) -> Option<String> {
    let id = batch.number("producer");
    let producer = of(producers, batch);
    producer.timestamp = marker.timestamp;
    producer.coordinator_epoch = marker.coordinator_epoch;
    let first = producer.open_from.take()?;
    if marker.commits {
        return None;
    }
    let others = producers
        .iter()
        .filter(|(other, _)| **other != id)
        .filter_map(|(_, p)| p.open_from);
    let stable = others.min().unwrap_or(marker.offset + 1);
    let last = marker.offset;
    Some(format!(
        "aborted {segment} producer={id} first={first} last={last} lso={stable}"
    ))
}

/// The lines that [`state_lines`] tells, as a text has them.
pub(crate) fn state_of(lines: &LogLines) -> Vec<String> {
    const TOLD: [&str; 5] = ["epoch", "producer", "pbatch", "aborted", "lso"];
    let is_told = |line: &&String| TOLD.contains(&line.split(' ').next().unwrap_or_default());
    lines
        .with_last_producer_batches()
        .0
        .iter()
        .filter(is_told)
        .cloned()
        .collect()
}
