//! The appends among the calls: of leaders and followers, of producers and coordinators, and what they must answer.

use super::change::{Done, End, Part, Who, wrong};
use super::model::{Marker, Model, Stamp, State, Stored};
use super::{Record, builder_of};
use klog::ErrorKind;
use klog::format::batch::increment_sequence;
use klog::format::builder::{BatchBuilder, BatchOptions};
use klog::format::codec::Codec;
use klog::format::control;
use klog::log::{AppendOptions, Log, Origin, ProducerStamp, TxnMarker, WriteDurability};
use klog::types::{LeaderEpoch, Offset, ProducerId, TimestampMs};

pub(super) fn options(epoch: i32, codec: Codec, durability: WriteDurability) -> AppendOptions {
    AppendOptions {
        leader_epoch: Some(LeaderEpoch(epoch)),
        codec: Some(codec),
        durability,
        ..AppendOptions::default()
    }
}

pub(super) fn next_epoch(log: &Log, model: &Model, is_new: bool) -> i32 {
    let latest = log.epochs().last().map_or(0, |e| e.epoch.0);
    let stored = model.batches.last().map_or(0, |batch| batch.epoch);
    latest.max(stored) + i32::from(is_new)
}

/// What a producer writes next, by what the log knows of it.
pub(super) fn next_stamp(log: &Log, who: Who, new_epoch: bool) -> Option<Stamp> {
    let (id, transactional) = match who {
        Who::Nobody => return None,
        Who::Producer(id) => (id, false),
        Who::Transaction(id) => (id, true),
    };
    let producers = log.producers();
    let known = producers.iter().find(|(known, _)| known.0 == id);
    let (epoch, sequence) = match known {
        // A producer that nobody knows may come with any sequence.
        None => (0, if id == 2 { i32::MAX - 2 } else { 0 }),
        Some((_, known)) if new_epoch => (known.epoch + 1, 0),
        Some((_, known)) => (
            known.epoch,
            known
                .batches
                .back()
                .map_or(0, |last| increment_sequence(last.last_sequence, 1)),
        ),
    };
    Some(Stamp {
        id,
        epoch,
        sequence,
        transactional,
    })
}

pub(super) fn batch_options(stamp: Option<Stamp>, codec: Codec) -> BatchOptions {
    let mut options = BatchOptions {
        codec,
        ..BatchOptions::default()
    };
    if let Some(stamp) = stamp {
        options.producer_id = ProducerId(stamp.id);
        options.producer_epoch = stamp.epoch;
        options.base_sequence = stamp.sequence;
        options.transactional = stamp.transactional;
    }
    options
}

pub(super) fn ready_batch(records: &[Record], stamp: Option<Stamp>, codec: Codec) -> Vec<u8> {
    let mut builder = builder_of(records);
    builder
        .finish(&batch_options(stamp, codec))
        .unwrap()
        .to_vec()
}

pub(super) fn stored(
    base: i64,
    records: &[Record],
    epoch: i32,
    append_time: TimestampMs,
    stamp: Option<Stamp>,
    append: u64,
) -> Stored {
    let records: Vec<Record> = records
        .iter()
        .map(|record| Record {
            epoch,
            timestamp: if append_time.is_some() {
                append_time.0
            } else {
                record.timestamp
            },
            ..record.clone()
        })
        .collect();
    Stored {
        base,
        last: base + i64::try_from(records.len()).unwrap() - 1,
        max_timestamp: records.iter().map(|r| r.timestamp).max().unwrap(),
        records,
        epoch,
        stamp,
        marker: None,
        append,
    }
}

pub(super) fn note_synced(model: &mut Model, durability: WriteDurability) {
    if durability == WriteDurability::Synced {
        model.flushed_whole();
    }
}

pub(super) fn append(
    log: &Log,
    model: &mut Model,
    records: &[Record],
    stamp: Option<Stamp>,
    is_ready: bool,
    options: &AppendOptions,
) -> Done {
    let codec = options.codec.unwrap();
    let result = if is_ready {
        log.append_batches(&ready_batch(records, stamp, codec), options)
    } else {
        let options = AppendOptions {
            producer: stamp.map(|stamp| ProducerStamp {
                id: ProducerId(stamp.id),
                epoch: stamp.epoch,
                base_sequence: stamp.sequence,
                is_transactional: stamp.transactional,
            }),
            ..*options
        };
        log.append(&mut builder_of(records), &options)
    };
    let result = match result {
        Err(e) if e.kind() == ErrorKind::RecordListTooLarge => return Ok("refused".to_owned()),
        other => other?,
    };
    if result.first_offset.0 != model.end {
        return Err(wrong(format!("the append got {result:?}")));
    }
    model.appends += 1;
    let epoch = options.leader_epoch.unwrap().0;
    let batch = stored(
        model.end,
        records,
        epoch,
        result.log_append_time,
        stamp,
        model.appends,
    );
    let told = format!("{}..{} epoch {epoch} {stamp:?}", batch.base, batch.last);
    model.push(batch);
    note_synced(model, options.durability);
    Ok(told)
}

/// What the marker of a transaction says.
pub(super) fn marker_of(epoch: i16, coordinator_epoch: i32, end: End) -> (Stamp, Marker) {
    let stamp = Stamp {
        id: end.id,
        epoch: if epoch < 0 {
            0
        } else {
            epoch + i16::from(end.raises_epoch)
        },
        sequence: -1,
        transactional: true,
    };
    let marker = Marker {
        commit: end.commit,
        coordinator_epoch: coordinator_epoch.max(0) + i32::from(end.new_coordinator),
    };
    (stamp, marker)
}

pub(super) fn append_end(
    log: &Log,
    model: &mut Model,
    end: End,
    durability: WriteDurability,
) -> Done {
    let (stamp, marker) = next_end(log, end);
    let epoch = next_epoch(log, model, false);
    let options = AppendOptions {
        leader_epoch: Some(LeaderEpoch(epoch)),
        txn_version: Some(if end.raises_epoch { 2 } else { 1 }),
        durability,
        ..AppendOptions::default()
    };
    let marker_to_write = TxnMarker {
        producer_id: ProducerId(stamp.id),
        producer_epoch: stamp.epoch,
        commit: marker.commit,
        coordinator_epoch: marker.coordinator_epoch,
    };
    let result = log.append_marker(&marker_to_write, &options)?;
    if result.first_offset.0 != model.end || result.last_offset.0 != model.end {
        return Err(wrong(format!("the marker got {result:?}")));
    }
    model.appends += 1;
    let told = format!("{end:?} at {}", model.end);
    let time = result.max_timestamp.0;
    model.push(marker_batch(model, model.end, epoch, time, stamp, marker));
    note_synced(model, durability);
    Ok(told)
}

/// The marker that a producer's coordinator writes next.
pub(super) fn next_end(log: &Log, end: End) -> (Stamp, Marker) {
    let producers = log.producers();
    let known = producers.iter().find(|(known, _)| known.0 == end.id);
    marker_of(
        known.map_or(-1, |(_, p)| p.epoch),
        known.map_or(-1, |(_, p)| p.coordinator_epoch),
        end,
    )
}

pub(super) fn marker_batch(
    model: &Model,
    base: i64,
    epoch: i32,
    timestamp: i64,
    stamp: Stamp,
    marker: Marker,
) -> Stored {
    Stored {
        base,
        last: base,
        records: Vec::new(),
        epoch,
        max_timestamp: timestamp,
        stamp: Some(stamp),
        marker: Some(marker),
        append: model.appends,
    }
}

/// The batches of a follower's append, as their leader has them.
pub(super) fn follow(
    log: &Log,
    model: &mut Model,
    parts: &[Part],
    gap: i64,
    epoch: i32,
    durability: WriteDurability,
) -> Done {
    let (after, bytes) = followed(log, model, parts, gap, epoch);
    let options = AppendOptions {
        origin: Origin::Replication,
        leader_epoch: Some(LeaderEpoch(epoch)),
        durability,
        ..AppendOptions::default()
    };
    let result = match log.append_batches(&bytes, &options) {
        Err(e) if e.kind() == ErrorKind::RecordListTooLarge => return Ok("refused".to_owned()),
        other => other?,
    };
    if result.last_offset.0 != after.end - 1 {
        return Err(wrong(format!("the follower's append got {result:?}")));
    }
    let told = format!(
        "followed {}..{} epoch {epoch}: {:?}",
        model.end + gap,
        after.end,
        after.batches[model.batches.len()..]
            .iter()
            .map(|b| (b.stamp, b.marker.map(|m| m.commit)))
            .collect::<Vec<_>>()
    );
    *model = after;
    note_synced(model, durability);
    Ok(told)
}

/// The log as it will be, and the bytes that make it so.
pub(super) fn followed(
    log: &Log,
    model: &Model,
    parts: &[Part],
    gap: i64,
    epoch: i32,
) -> (Model, Vec<u8>) {
    let mut after = model.clone();
    after.appends += 1;
    let mut bytes = Vec::new();
    let mut base = model.end + gap;
    for part in parts {
        let state = State::of(&after.batches);
        let (batch, mut encoded) = match part {
            Part::Data(who, records, codec) => {
                let stamp = leaders_stamp(&state, *who);
                let none = TimestampMs::NONE;
                let batch = stored(base, records, epoch, none, stamp, after.appends);
                (batch, ready_batch(records, stamp, *codec))
            }
            Part::End(end) => {
                let known = state.producers.get(&end.id);
                let (stamp, marker) = marker_of(
                    known.map_or(-1, |p| p.epoch),
                    known.map_or(-1, |p| p.coordinator_epoch),
                    *end,
                );
                let now = log.now();
                let encoded = control::write_end_marker(
                    &mut BatchBuilder::new(),
                    marker.commit,
                    marker.coordinator_epoch,
                    now,
                    &batch_options(Some(stamp), Codec::None),
                )
                .unwrap()
                .to_vec();
                let batch = marker_batch(&after, base, epoch, now.0, stamp, marker);
                (batch, encoded)
            }
        };
        klog::format::batch::stamp(&mut encoded, Offset(base), LeaderEpoch(epoch));
        bytes.extend(encoded);
        base = batch.last + 1;
        after.push(batch);
    }
    (after, bytes)
}

pub(super) fn leaders_stamp(state: &State, who: Who) -> Option<Stamp> {
    let (id, transactional) = match who {
        Who::Nobody => return None,
        Who::Producer(id) => (id, false),
        Who::Transaction(id) => (id, true),
    };
    let known = state.producers.get(&id);
    Some(Stamp {
        id,
        epoch: known.map_or(0, |known| known.epoch),
        sequence: known
            .and_then(|known| known.batches.last())
            .map_or(0, |last| {
                increment_sequence(i32::try_from(last[1]).unwrap(), 1)
            }),
        transactional,
    })
}

/// The last batch that a log knows of a producer, if the model has it too.
pub(super) fn last_of(log: &Log, model: &Model, id: i64) -> Option<Stored> {
    let producers = log.producers();
    let (_, known) = producers.iter().find(|(known, _)| known.0 == id)?;
    let last = known.batches.back()?;
    model
        .batches
        .iter()
        .find(|batch| batch.last == last.last_offset.0)
        .cloned()
}

pub(super) fn repeat(log: &Log, model: &Model, id: i64) -> Done {
    let Some(last) = last_of(log, model, id) else {
        return Ok("nothing to repeat".to_owned());
    };
    let bytes = ready_batch(&last.records, last.stamp, Codec::None);
    let options = options(
        next_epoch(log, model, false),
        Codec::None,
        WriteDurability::PageCache,
    );
    let result = match log.append_batches(&bytes, &options) {
        Err(e) if e.kind() == ErrorKind::RecordListTooLarge => return Ok("refused".to_owned()),
        other => other?,
    };
    if (
        result.first_offset.0,
        result.last_offset.0,
        result.bytes_appended,
    ) == (last.base, last.last, 0)
    {
        Ok(format!("repeated {}..{}", last.base, last.last))
    } else {
        Err(wrong(format!("the repeated {last:?} got {result:?}")))
    }
}

pub(super) fn skip_sequence(log: &Log, model: &Model, id: i64) -> Done {
    let Some(last) = last_of(log, model, id) else {
        return Ok("nothing to skip".to_owned());
    };
    let stamp = last.stamp.map(|stamp| Stamp {
        sequence: increment_sequence(stamp.sequence, 100),
        ..stamp
    });
    let bytes = ready_batch(&last.records, stamp, Codec::None);
    let options = options(
        next_epoch(log, model, false),
        Codec::None,
        WriteDurability::PageCache,
    );
    match log.append_batches(&bytes, &options) {
        Err(e)
            if matches!(
                e.kind(),
                ErrorKind::OutOfOrderSequenceNumber | ErrorKind::RecordListTooLarge
            ) =>
        {
            Ok("refused a sequence".to_owned())
        }
        Err(e) => Err(e.into()),
        Ok(result) => Err(wrong(format!("a skipped sequence got {result:?}"))),
    }
}
