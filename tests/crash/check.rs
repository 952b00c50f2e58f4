//! Compares a log with what is expected of it, in every way that it can be read.

use std::sync::Arc;

use super::model::{Expected, Known, Model, State, Stored};
use super::{Random, partition, read_as};
use klog::format::batch::{Batch, BatchHeader, Next, next_in_memory};
use klog::log::{Isolation, Log, ReadOptions};
use klog::manager::Manager;
use klog::types::Offset;

/// Where a log that was checked begins and ends, and how many of the batches it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) start: i64,
    pub(crate) end: i64,
    pub(crate) batches: usize,
    pub(crate) high_watermark: i64,
}

/// Compares an opened log with what is expected.
pub(crate) fn check_log(
    manager: &Manager,
    expected: &Expected,
    random: &mut Random,
) -> Result<Option<Found>, String> {
    let topic = expected.topic;
    let log = match manager.log(&partition(topic)) {
        Ok(log) => log,
        Err(e) if e.kind() == klog::ErrorKind::UnknownTopicOrPartition && !expected.exists => {
            return Ok(None);
        }
        Err(e) => return Err(format!("log {topic}: {e:?}")),
    };
    check_opened(&log, expected, random)
        .map(Some)
        .map_err(|problem| format!("log {topic}: {problem}"))
}

/// As [`check_log`], of a log that is at hand.
pub(crate) fn check_opened(
    log: &Arc<Log>,
    expected: &Expected,
    random: &mut Random,
) -> Result<Found, String> {
    let (start, end) = (log.start_offset().0, log.end_offset().0);
    let batches = check_range(expected, start, end)?;
    let model = &expected.batches[..batches];
    let visible = Model {
        batches: model.to_vec(),
        ..Model::default()
    }
    .below(start);
    // A log may start below its first segment: what lies there was dropped.
    let first_base = log.segments().first().map_or(0, |s| s.base_offset().0);
    check_headers(log, start.max(first_base), &model[visible..])?;
    let high_watermark = log.high_watermark().0;
    let is_possible = if expected.is_manual {
        (start..=end.max(start)).contains(&high_watermark)
    } else {
        high_watermark == end
    };
    if !is_possible {
        return Err(format!(
            "the high watermark is {high_watermark} of {start}..{end}"
        ));
    }
    check_records(log, start.max(first_base), model, random)?;
    check_epochs(log, expected, start, model)?;
    check_state(log, expected, start, model)?;
    if !expected.topic_ids.contains(&log.topic_id()) {
        return Err(format!("the topic id is {:?}", log.topic_id()));
    }
    Ok(Found {
        start,
        end,
        batches,
        high_watermark,
    })
}

/// How many of the batches are there, told from where the log ends.
fn check_range(expected: &Expected, start: i64, end: i64) -> Result<usize, String> {
    if expected.anew == Some(end) && expected.starts.contains(&start) && start == end {
        return Ok(0);
    }
    let batches = expected.batches.partition_point(|batch| batch.last < end);
    let next = expected.batches.get(batches).map(|batch| batch.base);
    // A log that lost what lies below its start begins anew there, be that inside a batch.
    let is_cut_well = next.is_none_or(|next| end <= next) || start == end;
    if !is_cut_well || end > expected.end_at_most {
        return Err(format!(
            "it ends at {end}, the batch {batches} begins at {next:?}, the end was {}",
            expected.end_at_most
        ));
    }
    if batches < expected.at_least || batches > expected.at_most {
        return Err(format!(
            "{batches} batches, but at least {} and at most {} must be there",
            expected.at_least, expected.at_most
        ));
    }
    if !expected.starts.contains(&start) {
        return Err(format!(
            "it starts at {start}, not at {:?}",
            expected.starts
        ));
    }
    Ok(batches)
}

/// Whether the batches from the log start on are those of the model, by what their headers say.
fn check_headers(log: &Log, start: i64, model: &[Stored]) -> Result<(), String> {
    let mut buffer = vec![0; 16 * 1024];
    let mut next = Offset(start);
    let mut model = model.iter();
    loop {
        let read = log
            .read(next, &mut buffer, &ReadOptions::default())
            .map_err(|e| format!("reading at {next}: {e:?}"))?;
        if read.bytes == 0 {
            return match model.next() {
                None => Ok(()),
                Some(missing) => Err(format!("missing is {missing:?}")),
            };
        }
        let mut rest = &buffer[..read.bytes];
        while let Ok(Next::Batch(size)) = next_in_memory(rest) {
            let batch = Batch::new(&rest[..size as usize]).map_err(|e| format!("{e:?}"))?;
            batch.ensure_valid().map_err(|e| format!("{e:?}"))?;
            let header = batch.header();
            let expected = model.next();
            if !expected.is_some_and(|stored| is_header_of(header, stored)) {
                return Err(format!("there is {header:?}, expected was {expected:?}"));
            }
            rest = &rest[size as usize..];
        }
        next = read.next_offset;
    }
}

pub(crate) fn is_header_of(header: &BatchHeader, stored: &Stored) -> bool {
    let (id, epoch, sequence, transactional) = stored.stamp.map_or((-1, -1, -1, false), |s| {
        (s.id, s.epoch, s.sequence, s.transactional)
    });
    let sequence = if stored.marker.is_some() {
        -1
    } else {
        sequence
    };
    header.base_offset.0 == stored.base
        && header.last_offset.0 == stored.last
        && header.leader_epoch.0 == stored.epoch
        && header.max_timestamp.0 == stored.max_timestamp
        && header.producer_id.0 == id
        && header.producer_epoch == epoch
        && header.base_sequence == sequence
        && header.attributes.is_transactional() == transactional
        && header.attributes.is_control() == stored.marker.is_some()
}

/// Whether a cursor of each isolation gives the records that it should.
fn check_records(
    log: &Arc<Log>,
    start: i64,
    model: &[Stored],
    random: &mut Random,
) -> Result<(), String> {
    let (stable, high_watermark) = (log.last_stable_offset().0, log.high_watermark().0);
    let read_bytes = *random.pick(&[1, 200, 1000, 16_384]);
    let per_call = *random.pick(&[1, 3, 1000]);
    for isolation in [
        Isolation::LogEnd,
        Isolation::HighWatermark,
        Isolation::TxnCommitted,
    ] {
        let expected = match isolation {
            Isolation::LogEnd => Model::records(model, start, i64::MAX),
            Isolation::HighWatermark => Model::records(model, start, high_watermark),
            Isolation::TxnCommitted => Model::committed(model, start, stable),
        };
        let found = read_as(isolation, log, Offset(start), read_bytes, per_call)
            .map_err(|e| format!("it cannot be read to {isolation:?}: {e:?}"))?;
        if let Some(at) = (0..found.len().max(expected.len()))
            .find(|&i| found.get(i).map(|(offset, r)| (*offset, r)) != expected.get(i).copied())
        {
            return Err(format!(
                "read to {isolation:?} (high watermark {high_watermark}, stable {stable}), the record {at} is {:?}, expected was {:?}",
                found.get(at),
                expected.get(at)
            ));
        }
    }
    Ok(())
}

fn check_epochs(
    log: &Log,
    expected: &Expected,
    start: i64,
    model: &[Stored],
) -> Result<(), String> {
    let found: Vec<(i32, i64)> = log
        .epochs()
        .iter()
        .map(|e| (e.epoch.0, e.start_offset.0))
        .collect();
    let right = Model::epochs(model);
    let fits = if expected.max_start == 0 && !expected.was_cut {
        found == right
    } else {
        // What was deleted at the front takes its epochs along, a batch that was cut may leave its own; what is known must be
        // right.
        let rises = found.is_sorted_by(|a, b| a.0 < b.0 && a.1 < b.1);
        let visible = model.iter().filter(|batch| batch.last >= start);
        let mut wrong = visible.filter(|batch| {
            let known = found
                .iter()
                .rfind(|(_, from)| *from <= batch.base.max(start));
            known.map_or(expected.max_start == 0, |(epoch, _)| *epoch != batch.epoch)
        });
        rises && wrong.next().is_none()
    };
    if fits {
        Ok(())
    } else {
        Err(format!("the epochs are {found:?}, not {right:?}"))
    }
}

/// Producers, transactions and the last stable offset against a replay of the batches. What lies below the log start may
/// have been forgotten with all that it told.
fn check_state(log: &Log, expected: &Expected, start: i64, model: &[Stored]) -> Result<(), String> {
    let forgotten = if expected.max_start == 0 {
        0
    } else {
        let visible = model.partition_point(|batch| batch.base < expected.max_start);
        visible.min(model.len())
    };
    let states: Vec<State> = (0..=forgotten)
        .map(|from| State::of(&model[from..]))
        .collect();
    let mut problem = Ok(());
    for state in &states {
        let checked = check_producers(log, state).and_then(|()| check_stable(log, state, start));
        if checked.is_ok() {
            problem = Ok(());
            break;
        }
        if problem.is_ok() {
            problem = checked;
        }
    }
    problem?;
    check_aborted(log, &states, start)
}

fn check_producers(log: &Log, state: &State) -> Result<(), String> {
    let found = log.producers();
    let ids: Vec<i64> = found.iter().map(|(id, _)| id.0).collect();
    if !state.producers.keys().copied().eq(ids.iter().copied()) {
        return Err(format!(
            "the producers are {ids:?}, not {:?}",
            state.producers.keys()
        ));
    }
    for (id, producer) in &found {
        let right = &state.producers[&id.0];
        let known = Known {
            epoch: producer.epoch,
            coordinator_epoch: producer.coordinator_epoch,
            last_timestamp: producer.last_timestamp.0,
            open_from: producer.txn_first_offset.map(|first| first.0),
            batches: producer
                .batches
                .iter()
                .map(|b| {
                    [
                        b.first_sequence().into(),
                        b.last_sequence.into(),
                        b.first_offset().0,
                        b.last_offset.0,
                    ]
                })
                .collect(),
        };
        // A snapshot has only the last batch of each.
        let fits = right.batches.ends_with(&known.batches)
            && right.batches.is_empty() == known.batches.is_empty();
        let rest = Known {
            batches: right.batches.clone(),
            ..known.clone()
        };
        if !fits || rest != *right {
            return Err(format!("the producer {id} is {known:?}, not {right:?}"));
        }
    }
    Ok(())
}

fn check_stable(log: &Log, state: &State, start: i64) -> Result<(), String> {
    let (found, high_watermark) = (log.last_stable_offset().0, log.high_watermark().0);
    let (low, high) = state.stable(high_watermark, start);
    if (low..=high).contains(&found) {
        Ok(())
    } else {
        Err(format!(
            "the last stable offset is {found}, not of {low}..={high} (high watermark {high_watermark})"
        ))
    }
}

/// The entries of the transaction indexes: each aborted transaction once, in order, in the segment of its marker.
fn check_aborted(log: &Log, states: &[State], start: i64) -> Result<(), String> {
    let mut found = Vec::new();
    let segments = log.segment_list();
    for (i, segment) in segments.iter().enumerate() {
        let above = segments.get(i + 1).map_or(i64::MAX, |s| s.base_offset().0);
        for txn in segment.aborted_txns().map_err(|e| format!("{e:?}"))?.iter() {
            if !(segment.base_offset().0..above).contains(&txn.last_offset.0) {
                return Err(format!("{txn:?} is in segment {}", segment.base_offset()));
            }
            found.push([
                txn.producer_id.0,
                txn.first_offset.0,
                txn.last_offset.0,
                txn.last_stable_offset.0,
            ]);
        }
    }
    if !found.is_sorted_by(|a, b| a[2] < b[2]) {
        return Err(format!(
            "the aborted transactions are out of order: {found:?}"
        ));
    }
    let aborted = |state: &State| -> Vec<_> {
        let all = state.ended.iter().filter(|e| !e.commit).copied();
        all.collect()
    };
    for entry in &found {
        let is_right = states.iter().flat_map(aborted).any(|e| {
            [e.id, e.first, e.last] == entry[..3] && e.stable.contains(&entry[3])
                || (states.len() > 1
                    && [e.id, e.first, e.last] == entry[..3]
                    && (start..=e.last + 1).contains(&entry[3].max(start)))
        });
        if !is_right {
            return Err(format!(
                "the aborted transaction {entry:?} is not of {:?}",
                aborted(&states[0])
            ));
        }
    }
    // Those that a reader can meet are all there.
    let full = aborted(&states[0]);
    let missing = full.iter().filter(|e| e.first >= start).find(|e| {
        !found
            .iter()
            .any(|entry| [e.id, e.last] == [entry[0], entry[2]])
    });
    match missing {
        None => Ok(()),
        Some(missing) => Err(format!("{missing:?} is not among {found:?}")),
    }
}
