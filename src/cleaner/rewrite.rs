//! A batch through the filter: what is kept of it, and the bytes in its place. Implements cleaner.md 6.5-6.9, 6.13,
//! deviations.md D82.
//!
//! The records are walked once to learn what stays. Most batches then go whole, or stay whole: only one that loses some, or
//! gets a horizon or another format, is decoded again and written anew.

use super::filter::{self, BatchRule, Fate, Kept, Outcome, RecordFacts, Retention};
use super::offset_map::{KeyHash, OffsetMap};
use super::pass::RECORDS_TOGETHER;
use super::stats::{BatchFate, Stats};
use crate::error::{Error, ErrorKind, Result};
use crate::format::batch::{Batch, BatchHeader};
use crate::format::builder::{BatchBuilder, BatchOptions};
use crate::format::decoder::{InnerRule, RecordDecoder};
use crate::format::record::{Record, RecordParts};
use crate::types::{LeaderEpoch, Offset, ProducerId, TimestampMs};

/// Filters batches one after the other, in memory that is used again.
pub(super) struct Rewriter {
    decoder: RecordDecoder,
    builder: BatchBuilder,
    /// Some records of the batch: all of them, if they are not many.
    judged: Vec<Judged>,
    verdicts: Verdicts,
    held_bytes_max: Option<usize>,
}

/// Which records of a batch are kept, a bit for each: of a small compressed batch there may be a billion.
#[derive(Default)]
struct Verdicts {
    words: Vec<u64>,
    len: usize,
}

impl Verdicts {
    fn clear(&mut self) {
        self.words.clear();
        self.len = 0;
    }

    fn push(&mut self, is_kept: bool) {
        let bit = self.len % 64;
        if bit == 0 {
            self.words.push(0);
        }
        if let Some(word) = self.words.last_mut() {
            *word |= u64::from(is_kept) << bit;
        }
        self.len += 1;
    }

    fn iter(&self) -> impl Iterator<Item = bool> {
        (0..self.len).map(|i| {
            let word = self.words.get(i / 64).copied().unwrap_or_default();
            word >> (i % 64) & 1 == 1
        })
    }
}

/// A record of the batch that is filtered.
struct Judged {
    /// Where its bytes are in the batch, if that is not compressed.
    parts: RecordParts,
    facts: RecordFacts,
    /// Of its key, if there is one.
    hash: Option<KeyHash>,
}

/// What a batch's fate depends on besides its records.
pub(super) struct Decided {
    pub(super) rule: BatchRule,
    pub(super) retention: Retention,
    /// It is the marker of a transaction of which nothing is left.
    pub(super) starts_horizon: bool,
    pub(super) new_horizon: Option<TimestampMs>,
}

impl Rewriter {
    pub(super) fn new(max_body_bytes: usize, held_bytes_max: Option<usize>) -> Self {
        let mut decoder = RecordDecoder::new();
        decoder.set_max_body_bytes(max_body_bytes);
        if let Some(bytes) = held_bytes_max {
            decoder.bound_memory(bytes);
        }
        decoder.set_inner_rule(InnerRule::AsCleaner);
        Self {
            decoder,
            builder: BatchBuilder::new(),
            judged: Vec::new(),
            verdicts: Verdicts::default(),
            held_bytes_max,
        }
    }

    /// The bytes in place of a batch, none if nothing is left; counts what became of its records. `tell` hears each fate
    /// and what was written.
    pub(super) fn filter<'a>(
        &'a mut self,
        batch: &Batch<'a>,
        decided: &Decided,
        map: &OffsetMap,
        stats: &mut Stats,
    ) -> Result<Option<&'a [u8]>> {
        let header = *batch.header();
        stats.read_bytes += u64::from(header.size_bytes);
        let kept = if decided.retention == Retention::Delete {
            // Not even parsed: the header says how many there were.
            let records = u64::try_from(header.record_count).unwrap_or(0);
            let fate = if decided.rule.is_control {
                Fate::DropMarker
            } else {
                Fate::DropAborted
            };
            stats.count(fate, records);
            Kept::default()
        } else {
            self.judge(batch, decided, map, stats)?
        };
        let outcome = filter::outcome(
            &header,
            decided.retention,
            kept,
            decided.starts_horizon,
            decided.new_horizon,
        );
        stats.count_batch(BatchFate::of(outcome, decided.retention));
        let bytes = match outcome {
            Outcome::Nothing => return Ok(None),
            Outcome::Verbatim => batch.bytes(),
            Outcome::Empty => self.empty(&header)?,
            Outcome::Rewritten(horizon) => self.rewrite(batch, horizon)?,
        };
        stats.written_bytes += bytes.len() as u64;
        Ok(Some(bytes))
    }

    /// Decides on each record; what is kept is remembered in order.
    fn judge(
        &mut self,
        batch: &Batch<'_>,
        decided: &Decided,
        map: &OffsetMap,
        stats: &mut Stats,
    ) -> Result<Kept> {
        self.verdicts.clear();
        self.decoder.begin(batch)?;
        let mut kept = Kept::default();
        loop {
            self.judged.clear();
            while self.judged.len() < RECORDS_TOGETHER
                && let Some(parts) = self.decoder.advance(batch)?
            {
                let record = self.decoder.view(batch, &parts);
                self.judged.push(Judged {
                    facts: RecordFacts {
                        offset: record.offset,
                        has_key: record.key.is_some(),
                        has_value: record.value.is_some(),
                    },
                    hash: record.key.map(|key| map.hash(key)),
                    parts,
                });
            }
            map.warm(self.judged.iter().filter_map(|judged| judged.hash));
            for judged in &self.judged {
                let latest = || judged.hash.and_then(|hash| map.get(hash));
                let fate = filter::fate_of(&decided.rule, &judged.facts, latest);
                stats.count(fate, 1);
                kept.of += 1;
                if fate.keeps() {
                    kept.records += 1;
                    kept.has_tombstone |= !judged.facts.has_value;
                }
                self.verdicts.push(fate.keeps());
            }
            if self.judged.len() < RECORDS_TOGETHER {
                stats.read_records += kept.of;
                return Ok(kept);
            }
        }
    }

    /// A batch that says what the old one said, without a record.
    fn empty(&mut self, header: &BatchHeader) -> Result<&[u8]> {
        self.builder.clear();
        let options = BatchOptions {
            last_offset_delta: Some(header.last_offset_delta()),
            max_timestamp: Some(header.max_timestamp),
            ..options_of(header, header.base_offset)
        };
        self.builder.finish(&options).map(|bytes| &*bytes)
    }

    /// A batch of magic 2 with the kept records.
    fn rewrite(&mut self, batch: &Batch<'_>, horizon: Option<TimestampMs>) -> Result<&[u8]> {
        let header = batch.header();
        check_producer(header)?;
        self.builder.clear();
        if let Some(horizon) = horizon {
            self.builder.set_delete_horizon(horizon);
        }
        let mut base = header.is_v2().then_some(header.base_offset);
        let Self {
            decoder,
            builder,
            judged,
            verdicts,
            held_bytes_max,
        } = self;
        if decoder.is_inflating() || judged.len() < verdicts.len {
            // What was decompressed is gone: it may be more than fits memory.
            let mut is_kept = verdicts.iter();
            decoder.begin(batch)?;
            while let Some(record) = decoder.next(batch)? {
                if is_kept.next() == Some(true) {
                    push(builder, &mut base, &record)?;
                }
                if let Some(max) = *held_bytes_max
                    && builder.uncompressed_bytes() > max
                {
                    let what =
                        format!("what is kept of a batch has more bytes than the limit of {max}");
                    return Err(Error::new(ErrorKind::TooLarge, what));
                }
            }
        } else {
            for (judged, _) in judged.iter().zip(verdicts.iter()).filter(|(_, keep)| *keep) {
                let record = judged.parts.of(batch.bytes(), decoder.facts());
                push(builder, &mut base, &record)?;
            }
        }
        let base = base.unwrap_or(header.base_offset);
        let options = BatchOptions {
            // Of an old format it ends with its last record.
            last_offset_delta: header.is_v2().then(|| header.last_offset_delta()),
            codec: header.attributes.codec()?,
            ..options_of(header, base)
        };
        self.builder.finish(&options).map(|bytes| &*bytes)
    }
}

/// Adds a record to a batch that begins at `base`, or with the record.
fn push(builder: &mut BatchBuilder, base: &mut Option<Offset>, record: &Record<'_>) -> Result<()> {
    let base = *base.get_or_insert(record.offset);
    let delta = i32::try_from(record.offset - base).map_err(|_| {
        Error::new(
            ErrorKind::InvalidRecord,
            format!(
                "the record at offset {} lies too far from {base}, the first of its batch",
                record.offset
            ),
        )
        .at_offset(record.offset)
    })?;
    builder.push_at(
        delta,
        record.timestamp,
        record.key,
        record.value,
        record.headers,
    )
}

/// What a batch in place of another says besides its records.
fn options_of(header: &BatchHeader, base_offset: Offset) -> BatchOptions {
    let append_time = header.magic > 0 && header.attributes.is_log_append_time();
    let common = BatchOptions {
        base_offset,
        log_append_time: append_time.then_some(header.max_timestamp),
        ..BatchOptions::default()
    };
    if header.is_v2() {
        BatchOptions {
            leader_epoch: header.leader_epoch,
            producer_id: header.producer_id,
            producer_epoch: header.producer_epoch,
            base_sequence: header.base_sequence,
            transactional: header.attributes.is_transactional(),
            control: header.attributes.is_control(),
            ..common
        }
    } else {
        BatchOptions {
            leader_epoch: LeaderEpoch::NONE,
            producer_id: ProducerId::NONE,
            ..common
        }
    }
}

/// What a batch must say of its producer to be written again (cleaner.md 6.9).
fn check_producer(header: &BatchHeader) -> Result<()> {
    let problem = if header.attributes.is_transactional() && !header.has_producer_id() {
        "is transactional and has no producer id"
    } else if header.has_producer_id() && header.producer_epoch == -1 {
        "has a producer id and no producer epoch"
    } else if header.has_producer_id()
        && header.base_sequence < 0
        && !header.attributes.is_control()
    {
        "has a producer id and no sequence number"
    } else {
        return Ok(());
    };
    Err(Error::invalid_record(format!(
        "the batch at offset {} {problem}: it cannot be written again",
        header.base_offset
    ))
    .at_offset(header.base_offset))
}
