//! An append that the leader assigns offsets to: which way it takes, and what each of its batches must be. Implements
//! state.md 3.1-3.3 and 3.12.

use std::ops::Range;

use super::in_place::{OffsetRule, keep};
use super::rebuild::{check_structure, rebuild};
use super::records::Rules;
use super::scratch::with_scratch;
use super::shallow::Analysis;
use super::{Origin, ensure_batch_size};
use crate::config::{Compression, LogConfig};
use crate::error::{Error, RecordFlaws, Result};
use crate::format::batch::{Batch, BatchHeader};
use crate::format::codec::Codec;
use crate::types::TimestampMs;

/// The one batch that a leader append stores: ready but for base offset and leader epoch, which
/// [`crate::format::batch::stamp`] writes.
#[derive(Debug)]
pub(in crate::log) struct Validated {
    /// Its bytes, with base offset 0.
    pub(in crate::log) bytes: Vec<u8>,
    /// What they say in front.
    pub(in crate::log) header: BatchHeader,
    /// The time of the append if the topic's timestamps are that; else -1.
    pub(in crate::log) log_append_time: TimestampMs,
}

/// How the batch to be stored comes about.
enum Way {
    /// It is the one that was sent.
    Keep(OffsetRule),
    /// It is made anew from the records.
    Rebuild(Target),
}

/// What a new batch is compressed with.
#[derive(Clone, Copy)]
pub(super) struct Target {
    pub(super) codec: Codec,
    pub(super) level: Option<i32>,
}

/// The codec that a topic stores, of batches that came with `source` (state.md 3.1).
pub(in crate::log) fn target_codec(compression: Compression, source: Codec) -> Codec {
    match compression {
        Compression::Producer => source,
        Compression::Uncompressed => Codec::None,
        Compression::Gzip => Codec::Gzip,
        Compression::Snappy => Codec::Snappy,
        Compression::Lz4 => Codec::Lz4,
        Compression::Zstd => Codec::Zstd,
    }
}

/// Judges every record of an append of a client or coordinator, and makes the batch to be stored.
pub(in crate::log) fn validate_leader(
    bytes: &[u8],
    analysis: &Analysis,
    origin: Origin,
    config: &LogConfig,
    now: TimestampMs,
) -> Result<Validated> {
    let Some((_, first)) = analysis.batches.first() else {
        return Err(Error::invalid_record("an append has no batch"));
    };
    let is_single = first.is_v2() || analysis.source_codec != Codec::None;
    if is_single && analysis.batches.len() > 1 {
        return Err(Error::invalid_record(format!(
            "an append has one batch if it is compressed or of magic 2, here are {}",
            analysis.batches.len()
        )));
    }
    let rules = Rules::new(config, now);
    let batch_at = |range: &Range<usize>| Batch::new(bytes.get(range.clone()).unwrap_or_default());
    let batches = || {
        analysis.batches.iter().map(|(range, header)| {
            check_batch(first, header, origin)?;
            batch_at(range)
        })
    };
    let stored = with_scratch(config, |scratch| match way(analysis, origin, config) {
        Way::Keep(offsets) => match batches().next() {
            Some(batch) => keep(&batch?, offsets, &rules, &mut scratch.decoder),
            None => Err(Error::invalid_record("an append has no batch")),
        },
        Way::Rebuild(target) => {
            if analysis.source_codec == Codec::None && target.codec == Codec::None {
                let all = analysis.batches.iter().map(|(range, _)| batch_at(range));
                check_structure(all, &mut scratch.decoder)?;
            }
            let limit = config.max_message_bytes;
            let made = rebuild(batches(), first, target, &rules, limit, scratch)?;
            let size_bytes = Batch::new(&made)?.header().size_bytes;
            ensure_batch_size(size_bytes, limit)?;
            Ok(made)
        }
    })?;
    let header = *Batch::new(&stored)?.header();
    Ok(Validated {
        bytes: stored,
        header,
        log_append_time: rules.append_time().unwrap_or(TimestampMs::NONE),
    })
}

/// state.md 3.2.
fn way(analysis: &Analysis, origin: Origin, config: &LogConfig) -> Way {
    let source = analysis.source_codec;
    let codec = target_codec(config.compression, source);
    let mut headers = analysis.batches.iter().map(|(_, header)| header);
    let keeps = if source == Codec::None && codec == Codec::None {
        headers.all(BatchHeader::is_v2)
    } else {
        // Control records are not compressed unless they came so.
        headers.next().is_some_and(|first| {
            (source == codec && first.is_v2())
                || (source == Codec::None && first.attributes.is_control())
        })
    };
    if !keeps {
        // A level belongs to the codec that the topic names.
        let level = config.compression_level();
        return Way::Rebuild(Target { codec, level });
    }
    let is_free = origin != Origin::Client && source == Codec::None && codec == Codec::None;
    Way::Keep(if is_free {
        OffsetRule::Any
    } else {
        OffsetRule::FromZero
    })
}

/// state.md 3.3 (a)-(f). A batch without records, which no offset could be assigned to, is refused to all.
fn check_batch(first: &BatchHeader, header: &BatchHeader, origin: Origin) -> Result<()> {
    if header.magic != first.magic {
        return Err(Error::invalid_record(format!(
            "a batch of magic {} stands in an append of magic {}",
            header.magic, first.magic
        ))
        .with_flaws(RecordFlaws {
            magic: 1,
            ..RecordFlaws::default()
        }));
    }
    if !header.is_v2() {
        return Ok(());
    }
    let range = i64::from(header.last_offset_delta()) + 1;
    let is_client = origin == Origin::Client;
    // Kafka counts what it checks of clients only.
    let flaws = RecordFlaws {
        offset_or_sequence: u64::from(is_client),
        ..RecordFlaws::default()
    };
    if header.record_count <= 0 || (is_client && range != i64::from(header.record_count)) {
        return Err(Error::invalid_record(format!(
            "a batch claims {} records over {range} offsets",
            header.record_count
        ))
        .with_flaws(flaws));
    }
    if !is_client {
        return Ok(());
    }
    if header.attributes.is_control() {
        return Err(
            Error::invalid_record("a producer may not append a control batch").with_flaws(flaws),
        );
    }
    if header.has_producer_id() && header.base_sequence < 0 {
        return Err(Error::invalid_record(format!(
            "a batch of the producer {} has the base sequence {}",
            header.producer_id, header.base_sequence
        ))
        .with_flaws(flaws));
    }
    Ok(())
}
