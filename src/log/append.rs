//! Appending as a leader: offsets are assigned here, to what [`super::validation`] lets through. Implements log.md 3.
//!
//! Everything that can refuse an append comes before anything that changes the log. The batch is written, then its leader
//! epoch if that is new, then it counts: index entries, log end, state. What fails in between is cut back.

use super::roll::{PendingRoll, RollInput, Rolled, should_roll};
use super::validation::{
    Origin, analyze, check_built, ensure_batch_size, target_codec, validate_leader,
};
use super::{Log, Writer};
use crate::config::{LogConfig, TimestampType};
use crate::error::{Error, ErrorKind, Result};
use crate::format::batch::{self, Batch, BatchHeader};
use crate::format::builder::{BatchBuilder, BatchOptions};
use crate::format::codec::Codec;
use crate::types::{LeaderEpoch, MAX_RELATIVE_OFFSET, Offset, TimestampMs};

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

/// How to append.
#[derive(Clone, Copy, Debug, Default)]
pub struct AppendOptions {
    /// The leader epoch to stamp; `None` is the log's latest, 0 if it has none.
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
    /// First offset assigned; -1 if nothing was appended.
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

/// A batch that is ready but for its offset and epoch.
struct Ready<'b> {
    bytes: &'b mut [u8],
    header: BatchHeader,
    log_append_time: TimestampMs,
}

impl Log {
    /// Appends the records of `builder` as one batch, all or nothing. No records are no error: offsets -1.
    pub fn append(
        &self,
        builder: &mut BatchBuilder,
        options: &AppendOptions,
    ) -> Result<AppendResult> {
        self.check_open()?;
        let config = self.config();
        if builder.record_count() == 0 {
            return Ok(self.nothing_appended());
        }
        let now = self.clock.now();
        check_built(builder, &config, now)?;
        let log_append_time =
            (config.timestamp_type == TimestampType::LogAppendTime).then_some(now);
        let topic_codec = target_codec(config.compression, Codec::None);
        let codec = options.codec.unwrap_or(topic_codec);
        let level = options
            .level
            .or_else(|| config.compression_level().filter(|_| codec == topic_codec));
        let bytes = builder.finish(&BatchOptions {
            codec,
            level,
            log_append_time,
            ..BatchOptions::default()
        })?;
        let header = *Batch::new(bytes)?.header();
        ensure_batch_size(header.size_bytes, config.max_message_bytes)?;
        self.append_ready(
            Ready {
                bytes,
                header,
                log_append_time: log_append_time.unwrap_or(TimestampMs::NONE),
            },
            &config,
            options,
        )
    }

    /// Appends a ready batch of a producer, as a broker gets it, all or nothing; also messages of magic 0 and 1, which
    /// become one batch of magic 2. What follows the last whole batch is dropped; no whole batch is no error: offsets -1.
    /// `bytes` is not changed. An error that single records cause lists them ([`Error::record_errors`]).
    pub fn append_batches(&self, bytes: &[u8], options: &AppendOptions) -> Result<AppendResult> {
        self.check_open()?;
        let config = self.config();
        let analysis = analyze(
            bytes,
            Origin::Client,
            LeaderEpoch::NONE,
            config.max_message_bytes,
        )?;
        if analysis.valid_bytes == 0 {
            return Ok(self.nothing_appended());
        }
        let now = self.clock.now();
        let mut validated = validate_leader(bytes, &analysis, Origin::Client, &config, now)?;
        check_supported(&validated.header)?;
        self.append_ready(
            Ready {
                bytes: &mut validated.bytes,
                header: validated.header,
                log_append_time: validated.log_append_time,
            },
            &config,
            options,
        )
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

    fn append_ready(
        &self,
        mut ready: Ready<'_>,
        config: &LogConfig,
        options: &AppendOptions,
    ) -> Result<AppendResult> {
        let (result, unflushed) = loop {
            let appended = {
                let mut writer = self.lock_writer();
                let appended = self.append_locked(&mut writer, &mut ready, config, options);
                appended.map(|done| done.map(|result| (result, writer.end - self.recovery_point())))
            };
            match appended {
                Ok(Some(done)) => break done,
                Ok(None) => self.flush_for_append()?,
                Err(error) => return Err(self.sync_cut(error)),
            }
        };
        if options.durability == WriteDurability::Synced || unflushed >= config.flush_messages {
            self.flush_appended(result.last_offset.next())?;
        }
        Ok(result)
    }

    /// Appends under the append lock; `None` if [`Log::flush_for_append`] has to come first.
    fn append_locked(
        &self,
        writer: &mut Writer,
        ready: &mut Ready<'_>,
        config: &LogConfig,
        options: &AppendOptions,
    ) -> Result<Option<AppendResult>> {
        self.check_writable(writer)?;
        let epoch = leader_epoch(writer, options)?;
        let size_bytes = ready.bytes.len() as u64;
        if size_bytes > u64::from(config.segment_bytes) {
            return Err(Error::new(
                ErrorKind::RecordListTooLarge,
                format!(
                    "an append of {size_bytes} bytes, a segment has at most {} (segment.bytes)",
                    config.segment_bytes
                ),
            ));
        }
        let first_offset = writer.end;
        batch::stamp(ready.bytes, first_offset, epoch);
        let header = BatchHeader {
            base_offset: first_offset,
            last_offset: first_offset + i64::from(ready.header.last_offset_delta()),
            leader_epoch: epoch,
            ..ready.header
        };
        if !header.follows(first_offset)
            || header.last_offset - first_offset > i64::from(MAX_RELATIVE_OFFSET)
        {
            return Err(Error::new(
                ErrorKind::SegmentOverflow,
                format!(
                    "an append of the offsets {first_offset}..{} fits no segment",
                    header.last_offset
                ),
            )
            .at_offset(header.last_offset));
        }
        let rolled = self.maybe_roll(writer, &header, size_bytes, config)?;
        if rolled == Rolled::FlushFirst || writer.unsynced_names {
            return Ok(None);
        }
        self.write(writer, ready.bytes, &header)?;
        Ok(Some(AppendResult {
            first_offset,
            last_offset: header.last_offset,
            log_start_offset: self.start_offset(),
            log_append_time: ready.log_append_time,
            max_timestamp: header.max_timestamp,
            bytes_appended: size_bytes,
            records: u32::try_from(header.record_count).unwrap_or(0),
        }))
    }

    fn maybe_roll(
        &self,
        writer: &mut Writer,
        header: &BatchHeader,
        bytes: u64,
        config: &LogConfig,
    ) -> Result<Rolled> {
        let rolling_timestamp = writer.active.rolling_timestamp()?;
        let active = writer.active.segment();
        let reason = should_roll(&RollInput {
            base_offset: active.base_offset(),
            size_bytes: active.size_bytes(),
            max_size_bytes: u64::from(config.segment_bytes),
            incoming_bytes: bytes,
            incoming_last_offset: header.last_offset,
            incoming_max_timestamp: header.max_timestamp,
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
            self.roll_at(writer, header.base_offset)
        } else {
            Ok(Rolled::Done)
        }
    }

    /// Stores a batch and lets it count. If storing fails the log is as it was before, or refuses appends until it is
    /// opened again: no append ever lands behind garbage.
    fn write(&self, writer: &mut Writer, bytes: &[u8], header: &BatchHeader) -> Result<()> {
        let stored = writer
            .active
            .store(bytes)
            .and_then(|()| note_epoch(writer, header));
        if let Err(error) = stored {
            match writer.active.cut_back() {
                Ok(()) => writer.unsynced_cut = true,
                Err(cut) => writer.broken = Some(cut),
            }
            return Err(self
                .health
                .judge(error)
                .context(format_args!("append to {}", self.partition)));
        }
        writer.active.commit(std::slice::from_ref(header));
        writer.end = header.last_offset.next();
        writer.producers.set_map_end(writer.end);
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
                .health
                .judge(e)
                .context(format_args!("after a failed append ({error})")),
        }
    }

    pub(super) fn check_writable(&self, writer: &Writer) -> Result<()> {
        self.check_open()?;
        self.health.check()?;
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

/// Makes a new leader epoch durable (log.md 3.4 (7)). Also the old ones, if a new one before may have got into the file
/// although its append failed.
fn note_epoch(writer: &mut Writer, header: &BatchHeader) -> Result<()> {
    let mut next = writer.epochs.cache().clone();
    if next
        .assign(header.leader_epoch, header.base_offset)
        .is_change()
        || !writer.epochs.is_stored()
    {
        writer.epochs.store_as(next)?;
    }
    Ok(())
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

/// What klog cannot store yet.
fn check_supported(header: &BatchHeader) -> Result<()> {
    if header.has_producer_id() || header.attributes.is_transactional() {
        return Err(Error::new(
            ErrorKind::Unsupported,
            "a batch of an idempotent or transactional producer cannot be appended yet",
        ));
    }
    Ok(())
}
