//! Appending: records and ready batches of a leader, which get their offsets here, and batches of a follower, which bring
//! them. Implements log.md 3, state.md 1.
//!
//! Everything that can refuse an append comes before anything that changes the log. The batches are written, then a new
//! leader epoch and the aborted transactions that end with them, then they count: index entries, log end, producers,
//! watermarks. What fails in between is cut back.

use std::ops::Range;

use super::leader_epochs::note_epochs;
use super::roll::{PendingRoll, RollInput, Rolled, should_roll};
use super::staging::{self, Changes, Outcome};
use super::validation::{self, Origin};
use super::{Log, Writer};
use crate::config::{LogConfig, TimestampType};
use crate::error::{Error, ErrorKind, Result};
use crate::format::batch::{self, Batch, BatchHeader};
use crate::format::builder::{BatchBuilder, BatchOptions};
use crate::format::codec::Codec;
use crate::format::control;
use crate::state::append_rules::TxnVersion;
use crate::types::{LeaderEpoch, MAX_RELATIVE_OFFSET, Offset, ProducerId, TimestampMs};

/// When an append counts as stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum WriteDurability {
    /// When the operating system has it, as in Kafka: it survives a crash of the process.
    #[default]
    PageCache,
    /// When the disk has it: it survives a power cut.
    Synced,
}

/// What a leader epoch below the log's latest means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum LeaderEpochRule {
    /// FENCED_LEADER_EPOCH: an old leader writes.
    #[default]
    RefuseOlder,
    /// As Kafka's log: later epochs are forgotten (state.md 7.3).
    TakeAny,
}

/// Whose batch it is that records are appended as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProducerStamp {
    /// The producer, at least 0.
    pub id: ProducerId,
    /// Its epoch, at least 0.
    pub epoch: i16,
    /// Sequence of the first record, at least 0.
    pub base_sequence: i32,
    /// Whether the records belong to its transaction.
    pub is_transactional: bool,
}

/// The end of a producer's transaction, as its coordinator writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TxnMarker {
    /// The producer.
    pub producer_id: ProducerId,
    /// Its epoch.
    pub producer_epoch: i16,
    /// Whether the transaction is committed, not aborted.
    pub commit: bool,
    /// Epoch of the coordinator: one that is older than the last is fenced.
    pub coordinator_epoch: i32,
}

/// How to append.
#[derive(Clone, Copy, Debug, Default)]
pub struct AppendOptions {
    /// Who appends. Records that are not in batches yet are always a client's.
    pub origin: Origin,
    /// Whose batch the records are; ready batches say it themselves.
    pub producer: Option<ProducerStamp>,
    /// Appends only if this is the log end: LOG_END_MISMATCH, with the log end as its offset, if it is not. So several
    /// writers that each build on what they read are safe.
    pub expected_log_end: Option<Offset>,
    /// By which version of the transaction protocol markers among ready batches are written: 0, 1 or 2. A follower needs to
    /// say none.
    pub txn_version: Option<i16>,
    /// The leader epoch to stamp; `None` is the log's latest, 0 if it has none. For a follower, the epoch of its leader:
    /// batches of a later one are left out.
    pub leader_epoch: Option<LeaderEpoch>,
    /// What an epoch below the latest means.
    pub epoch_rule: LeaderEpochRule,
    /// How records are compressed; `None` is the topic's `compression.type`. Ready batches keep their own.
    pub codec: Option<Codec>,
    /// The codec's level; `None` is the topic's, where its `compression.type` is this codec, else the codec's default.
    pub level: Option<i32>,
    /// When the append counts as stored.
    pub durability: WriteDurability,
}

/// What an append did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AppendResult {
    /// First offset assigned; -1 if nothing was appended, and for a follower's batches of an old format, which do not say.
    pub first_offset: Offset,
    /// Last offset assigned; -1 if nothing was appended.
    pub last_offset: Offset,
    /// The first offset that can be read.
    pub log_start_offset: Offset,
    /// The time of the append if the topic's timestamps are that; else -1.
    pub log_append_time: TimestampMs,
    /// The largest timestamp; -1 for none.
    pub max_timestamp: TimestampMs,
    /// Bytes written.
    pub bytes_appended: u64,
    /// How many records.
    pub records: u32,
}

/// Batches that passed what can be checked without the log's state.
enum Incoming<'b> {
    /// One batch of a leader append: it gets its offset and epoch under the append lock.
    Assigned {
        bytes: &'b mut [u8],
        header: BatchHeader,
    },
    /// Batches that have theirs, and where each lies.
    Kept {
        bytes: &'b [u8],
        batches: &'b [(Range<usize>, BatchHeader)],
    },
}

/// Batches with their final offsets.
struct Stamped<'b> {
    bytes: &'b [u8],
    headers: &'b [BatchHeader],
}

impl Stamped<'_> {
    /// Each batch with its place in the bytes.
    fn batches(&self) -> impl Iterator<Item = (Range<usize>, &BatchHeader)> {
        let mut at = 0;
        self.headers.iter().map(move |header| {
            let start = at;
            at += header.size_bytes as usize;
            (start..at, header)
        })
    }

    fn first(&self) -> Option<&BatchHeader> {
        self.headers.first()
    }

    /// The first offset, as far as headers tell it: in a wrapper of an old format only its content does (state.md 2.3).
    fn known_first_offset(&self) -> Option<Offset> {
        self.first().filter(|h| h.is_v2()).map(|h| h.base_offset)
    }

    fn last_offset(&self) -> Offset {
        self.headers.last().map_or(Offset::NONE, |h| h.last_offset)
    }

    fn max_timestamp(&self) -> TimestampMs {
        let all = self.headers.iter().map(|h| h.max_timestamp);
        all.max()
            .unwrap_or(TimestampMs::NONE)
            .max(TimestampMs::NONE)
    }
}

impl Log {
    /// Appends the records of `builder` as one batch of a client, all or nothing. No records are no error: offsets -1.
    pub fn append(
        &self,
        builder: &mut BatchBuilder,
        options: &AppendOptions,
    ) -> Result<AppendResult> {
        self.check_open()?;
        self.check_owned()?;
        if options.origin != Origin::Client {
            return Err(Error::invalid_argument(
                "another origin than a client brings ready batches, not records",
            ));
        }
        self.check_expected_end(self.end_offset(), options)?;
        let config = self.config();
        if builder.record_count() == 0 {
            return Ok(self.nothing_appended());
        }
        let now = self.clock.now();
        validation::check_built(builder, &config, now)
            .inspect_err(|e| self.counters.refused(e, 0))?;
        let log_append_time =
            (config.timestamp_type == TimestampType::LogAppendTime).then_some(now);
        let topic_codec = validation::target_codec(config.compression, Codec::None);
        let codec = options.codec.unwrap_or(topic_codec);
        let level = options
            .level
            .or_else(|| config.compression_level().filter(|_| codec == topic_codec));
        let mut batch = BatchOptions {
            codec,
            level,
            log_append_time,
            ..BatchOptions::default()
        };
        if let Some(producer) = options.producer {
            check_stamp(&producer)?;
            batch.producer_id = producer.id;
            batch.producer_epoch = producer.epoch;
            batch.base_sequence = producer.base_sequence;
            batch.transactional = producer.is_transactional;
        }
        let bytes = builder.finish(&batch)?;
        let header = *Batch::new(bytes)?.header();
        let size_bytes = u64::from(header.size_bytes);
        validation::ensure_batch_size(header.size_bytes, config.max_message_bytes)
            .inspect_err(|e| self.counters.refused(e, size_bytes))?;
        let append_time = log_append_time.unwrap_or(TimestampMs::NONE);
        let done = self.append_incoming(
            Incoming::Assigned { bytes, header },
            append_time,
            &config,
            options,
        )?;
        self.counters.appended(&done, size_bytes);
        Ok(done)
    }

    /// Appends ready batches, all or nothing: of a client one batch, as a broker gets it, or messages of magic 0 and 1, which
    /// become one batch of magic 2; of a follower as many as there are. What follows the last whole batch and is less than
    /// another one is dropped; no whole batch is no error: offsets -1. `bytes` is not changed. An error that single records
    /// cause lists them ([`Error::record_errors`]).
    pub fn append_batches(&self, bytes: &[u8], options: &AppendOptions) -> Result<AppendResult> {
        self.check_open()?;
        self.check_owned()?;
        self.check_expected_end(self.end_offset(), options)?;
        let config = self.config();
        let (origin, epoch) = (options.origin, options.leader_epoch);
        let size_bytes = bytes.len() as u64;
        let analysis = validation::analyze(
            bytes,
            origin,
            epoch.unwrap_or(LeaderEpoch(i32::MAX)),
            config.max_message_bytes,
        )
        .inspect_err(|e| self.counters.refused(e, size_bytes))?;
        if analysis.batches.is_empty() {
            return Ok(self.nothing_appended());
        }
        if matches!(origin, Origin::Client | Origin::Coordinator) {
            let now = self.clock.now();
            let mut validated = validation::validate_leader(bytes, &analysis, origin, &config, now)
                .inspect_err(|e| self.counters.refused(e, size_bytes))?;
            let incoming = Incoming::Assigned {
                bytes: &mut validated.bytes,
                header: validated.header,
            };
            let log_append_time = validated.log_append_time;
            let done = self.append_incoming(incoming, log_append_time, &config, options)?;
            self.counters.appended(&done, size_bytes);
            return Ok(done);
        }
        let incoming = Incoming::Kept {
            bytes: bytes.get(..analysis.valid_bytes).unwrap_or_default(),
            batches: &analysis.batches,
        };
        self.append_incoming(incoming, TimestampMs::NONE, &config, options)
    }

    /// Ends a transaction as its coordinator does. `options` may say epoch, durability, the version of the transaction
    /// protocol (1 by default) and the expected log end.
    pub fn append_marker(
        &self,
        marker: &TxnMarker,
        options: &AppendOptions,
    ) -> Result<AppendResult> {
        if marker.producer_id.0 < 0 || marker.producer_epoch < 0 {
            return Err(Error::invalid_argument(format!(
                "a marker for the producer {} with the epoch {}: neither may be negative",
                marker.producer_id, marker.producer_epoch
            )));
        }
        let mut builder = BatchBuilder::new();
        let batch = BatchOptions {
            producer_id: marker.producer_id,
            producer_epoch: marker.producer_epoch,
            ..BatchOptions::default()
        };
        let bytes = control::write_end_marker(
            &mut builder,
            marker.commit,
            marker.coordinator_epoch,
            self.clock.now(),
            &batch,
        )?;
        self.append_batches(
            bytes,
            &AppendOptions {
                origin: Origin::Coordinator,
                txn_version: options.txn_version.or(Some(1)),
                ..*options
            },
        )
    }

    /// Whether the log ends where the caller means it to (c-abi.md 3.2.3).
    fn check_expected_end(&self, end: Offset, options: &AppendOptions) -> Result<()> {
        match options.expected_log_end {
            Some(expected) if expected != end => Err(Error::new(
                ErrorKind::LogEndMismatch,
                format!(
                    "the log {} ends at {end}, not at {expected}: somebody appended meanwhile",
                    self.partition
                ),
            )
            .in_partition(self.partition.partition)
            .at_offset(end)),
            _ => Ok(()),
        }
    }

    fn nothing_appended(&self) -> AppendResult {
        AppendResult {
            first_offset: Offset::NONE,
            last_offset: Offset::NONE,
            log_start_offset: self.start_offset(),
            log_append_time: TimestampMs::NONE,
            max_timestamp: TimestampMs::NONE,
            bytes_appended: 0,
            records: 0,
        }
    }

    fn append_incoming(
        &self,
        mut incoming: Incoming<'_>,
        log_append_time: TimestampMs,
        config: &LogConfig,
        options: &AppendOptions,
    ) -> Result<AppendResult> {
        let version = options
            .txn_version
            .map(TxnVersion::from_number)
            .transpose()?;
        let (result, unflushed) = loop {
            let appended = {
                let mut writer = self.lock_writer();
                let appended =
                    self.append_locked(&mut writer, &mut incoming, version, config, options);
                appended.map(|done| done.map(|result| (result, writer.end - self.recovery_point())))
            };
            match appended {
                Ok(Some(done)) => break done,
                Ok(None) => self.flush_for_append()?,
                Err(error) => return Err(self.sync_cut(error)),
            }
        };
        let is_due = result.bytes_appended > 0 && unflushed >= config.flush_messages;
        if options.durability == WriteDurability::Synced || is_due {
            self.flush_appended(result.last_offset.next())?;
        }
        // That of a duplicate is its own.
        if result.log_append_time.is_some() {
            return Ok(result);
        }
        Ok(AppendResult {
            log_append_time,
            ..result
        })
    }

    /// Appends under the append lock; `None` if [`Log::flush_for_append`] has to come first.
    fn append_locked(
        &self,
        writer: &mut Writer,
        incoming: &mut Incoming<'_>,
        version: Option<TxnVersion>,
        config: &LogConfig,
        options: &AppendOptions,
    ) -> Result<Option<AppendResult>> {
        self.check_writable(writer)?;
        self.check_expected_end(writer.end, options)?;
        let assigned;
        let kept: Vec<BatchHeader>;
        let stamped = match incoming {
            Incoming::Assigned { bytes, header } => {
                let epoch = leader_epoch(writer, options)?;
                batch::stamp(bytes, writer.end, epoch);
                assigned = [BatchHeader {
                    base_offset: writer.end,
                    last_offset: writer.end + i64::from(header.last_offset_delta()),
                    leader_epoch: epoch,
                    ..*header
                }];
                Stamped {
                    bytes,
                    headers: &assigned,
                }
            }
            Incoming::Kept { bytes, batches } => {
                kept = batches.iter().map(|(_, header)| *header).collect();
                check_kept(&kept, writer.end)?;
                Stamped {
                    bytes,
                    headers: &kept,
                }
            }
        };
        check_append_size(&stamped, config)?;
        check_range(&stamped, writer.end)?;
        let producers = writer.producers.producers();
        let changes = match staging::check(
            producers,
            stamped.bytes,
            stamped.batches(),
            options.origin,
            version,
        )? {
            Outcome::Changes(changes) => changes,
            Outcome::Duplicate(repeated) => {
                return Ok(Some(AppendResult {
                    first_offset: repeated.first_offset(),
                    last_offset: repeated.last_offset,
                    log_start_offset: self.start_offset(),
                    log_append_time: repeated.timestamp,
                    max_timestamp: stamped.max_timestamp(),
                    bytes_appended: 0,
                    records: record_count(&stamped),
                }));
            }
        };
        let rolled = self.maybe_roll(writer, &stamped, config)?;
        let is_flushed =
            options.durability == WriteDurability::Synced || config.flush_messages < i64::MAX;
        if rolled == Rolled::FlushFirst || writer.names.come_first(is_flushed) {
            return Ok(None);
        }
        let first_offset = stamped.known_first_offset().unwrap_or(Offset::NONE);
        self.write(writer, &stamped, changes)?;
        Ok(Some(AppendResult {
            first_offset,
            last_offset: stamped.last_offset(),
            log_start_offset: self.start_offset(),
            log_append_time: TimestampMs::NONE,
            max_timestamp: stamped.max_timestamp(),
            bytes_appended: stamped.bytes.len() as u64,
            records: record_count(&stamped),
        }))
    }

    fn maybe_roll(
        &self,
        writer: &mut Writer,
        stamped: &Stamped<'_>,
        config: &LogConfig,
    ) -> Result<Rolled> {
        let rolling_timestamp = writer.active.rolling_timestamp()?;
        let active = writer.active.segment();
        let reason = should_roll(&RollInput {
            base_offset: active.base_offset(),
            size_bytes: active.size_bytes(),
            max_size_bytes: u64::from(config.segment_bytes),
            incoming_bytes: stamped.bytes.len() as u64,
            incoming_last_offset: stamped.last_offset(),
            incoming_max_timestamp: stamped.max_timestamp(),
            max_age_ms: config
                .max_segment_ms()
                .saturating_sub(writer.roll_jitter_ms),
            rolling_timestamp,
            created: active.created(),
            now: self.clock.now(),
            is_index_full: writer.active.is_index_full(),
        });
        // What is appended now would lie behind the flush that a roll waits for.
        if reason.is_some() || writer.pending_roll != PendingRoll::None {
            // A follower's offsets may begin above the log end (log.md 3.5).
            let lowest = stamped.last_offset() + -i64::from(MAX_RELATIVE_OFFSET);
            let base = stamped.known_first_offset().unwrap_or(lowest);
            self.roll_at(writer, base.max(writer.end))
        } else {
            Ok(Rolled::Done)
        }
    }

    /// Stores batches and lets them count. If storing fails the log is as it was before, or refuses appends until it is
    /// opened again: no append ever lands behind garbage.
    fn write(&self, writer: &mut Writer, stamped: &Stamped<'_>, changes: Changes) -> Result<()> {
        let aborted = changes.aborted(writer.producers.producers());
        let segment = writer.active.segment().clone();
        let had_aborted = if aborted.is_empty() {
            0
        } else {
            segment.aborted_txns()?.len()
        };
        segment.file().ready().map_err(|e| self.health().judge(e))?;
        let stored = writer
            .active
            .store(stamped.bytes)
            .and_then(|()| {
                aborted
                    .iter()
                    .try_for_each(|txn| segment.append_aborted(txn))
            })
            .and_then(|()| note_epochs(writer, stamped.headers));
        if let Err(error) = stored {
            let cut = writer.active.cut_back().and_then(|()| {
                // To be made durable whatever becomes of the index: else a power cut brings the batches back.
                writer.unsynced_cut = true;
                if aborted.is_empty() {
                    Ok(())
                } else {
                    segment.keep_aborted(had_aborted)
                }
            });
            if let Err(cut) = cut {
                writer.broken = Some(cut);
            }
            return Err(self
                .health()
                .judge(error)
                .context(format_args!("append to {}", self.partition)));
        }
        writer.active.commit(stamped.headers);
        writer.end = stamped.last_offset().next();
        changes.merge_into(writer.producers.producers_mut());
        let end = writer.end;
        writer.producers.set_map_end(end);
        writer.follow_end();
        self.publish(writer);
        Ok(())
    }

    /// Makes durable that a failed append was cut off: after a power cut it must not be found. Also when the directory went
    /// offline meanwhile, since no sync of this file has failed by then. The error to answer.
    fn sync_cut(&self, error: Error) -> Error {
        let segment = {
            let mut writer = self.lock_writer();
            if !std::mem::take(&mut writer.unsynced_cut) {
                return error;
            }
            writer.active.segment().clone()
        };
        match segment.file().sync() {
            Ok(()) => error,
            Err(e) => self
                .health()
                .judge(e)
                .context(format_args!("after a failed append ({error})")),
        }
    }

    pub(super) fn check_writable(&self, writer: &Writer) -> Result<()> {
        self.check_open()?;
        self.check_owned()?;
        self.health().check()?;
        match &writer.broken {
            None => Ok(()),
            Some(cause) => Err(Error::new(
                ErrorKind::KafkaStorage,
                format!(
                    "the log {} takes no appends until it is opened again: {cause}",
                    self.partition
                ),
            )
            .in_partition(self.partition.partition)),
        }
    }
}

/// What batches that bring their offsets must fulfil against the log (state.md 2.6, 7.3, log.md 3.10).
fn check_kept(headers: &[BatchHeader], end: Offset) -> Result<()> {
    let Some(first) = headers.first() else {
        return Ok(());
    };
    // The base of a wrapper of an old format stands inside it.
    let offset = if first.is_v2() {
        first.base_offset
    } else {
        first.last_offset
    };
    if offset < end {
        return Err(Error::new(
            ErrorKind::UnexpectedAppendOffset,
            format!("an append of a follower begins at {offset}, below the log end {end}"),
        )
        .at_offset(offset));
    }
    let mut expected = end;
    for header in headers {
        // Kafka compares last offsets only. A load would take the log to end where an offset comes twice.
        if !header.follows(expected) && header.last_offset != Offset::MAX {
            return Err(Error::new(
                ErrorKind::OffsetsOutOfOrder,
                format!(
                    "a batch of a follower has the offsets {}..{}, expected was {expected} or more",
                    header.base_offset, header.last_offset
                ),
            )
            .at_offset(header.base_offset));
        }
        expected = header.last_offset.saturating_next();
    }
    match headers.iter().find(|h| h.is_v2() && h.leader_epoch.0 < 0) {
        Some(header) => Err(Error::invalid_argument(format!(
            "the batch of a follower at offset {} has the leader epoch {}",
            header.base_offset, header.leader_epoch
        ))
        .at_offset(header.base_offset)),
        None => Ok(()),
    }
}

fn check_append_size(stamped: &Stamped<'_>, config: &LogConfig) -> Result<()> {
    let size_bytes = stamped.bytes.len();
    if size_bytes as u64 <= u64::from(config.segment_bytes) {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::RecordListTooLarge,
        format!(
            "an append of {size_bytes} bytes, a segment has at most {} (segment.bytes)",
            config.segment_bytes
        ),
    ))
}

/// Whether the offsets fit one segment, and there is one behind them (log.md 3.9).
fn check_range(stamped: &Stamped<'_>, end: Offset) -> Result<()> {
    let first = stamped.first().map_or(end, |h| h.base_offset);
    let last = stamped.last_offset();
    // Behind the largest offset there would be no log end.
    let is_range = first <= last && last < Offset::MAX;
    if is_range && last - first <= i64::from(MAX_RELATIVE_OFFSET) {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::SegmentOverflow,
        format!("an append of the offsets {first}..{last} fits no segment"),
    )
    .at_offset(last))
}

fn record_count(stamped: &Stamped<'_>) -> u32 {
    let counts = stamped.headers.iter().map(|h| h.record_count.max(0));
    counts.fold(0, |sum: u32, n| sum.saturating_add(n.unsigned_abs()))
}

/// A producer that is named must be a possible one.
fn check_stamp(producer: &ProducerStamp) -> Result<()> {
    if producer.id.0 >= 0 && producer.epoch >= 0 && producer.base_sequence >= 0 {
        return Ok(());
    }
    Err(Error::invalid_argument(format!(
        "producer {}, epoch {}, base sequence {}: none may be negative",
        producer.id, producer.epoch, producer.base_sequence
    )))
}

/// The epoch to stamp (c-abi.md 3.2.4).
fn leader_epoch(writer: &Writer, options: &AppendOptions) -> Result<LeaderEpoch> {
    let latest = writer.epochs.cache().latest();
    let Some(epoch) = options.leader_epoch else {
        return Ok(latest.unwrap_or(LeaderEpoch(0)));
    };
    if epoch.0 < 0 {
        return Err(Error::invalid_argument(format!(
            "the leader epoch {epoch} is negative"
        )));
    }
    match latest {
        Some(latest) if epoch < latest && options.epoch_rule == LeaderEpochRule::RefuseOlder => {
            Err(Error::new(
                ErrorKind::FencedLeaderEpoch,
                format!("the leader epoch {epoch} is older than the log's latest, {latest}"),
            ))
        }
        _ => Ok(epoch),
    }
}
