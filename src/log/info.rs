//! A log at a glance.

use std::sync::Arc;

use super::{Log, LogCounts};
use crate::error::Result;
use crate::format::uuid::Uuid;
use crate::segment::Segment;
use crate::state::producer::Producer;
use crate::types::{LeaderEpoch, Offset, ProducerId, TimestampMs};

/// Offsets, epochs and sizes of a log at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogInfo {
    /// The first offset that can be read.
    pub log_start_offset: Offset,
    /// Readers of committed data stop here.
    pub high_watermark: Offset,
    /// Readers of committed transactions stop here.
    pub last_stable_offset: Offset,
    /// The next offset to be assigned.
    pub log_end_offset: Offset,
    /// Below this offset everything was flushed.
    pub recovery_point: Offset,
    /// The latest leader epoch.
    pub latest_epoch: Option<LeaderEpoch>,
    /// The topic's id.
    pub topic_id: Option<Uuid>,
    /// How many segments there are.
    pub segments: usize,
    /// Bytes of all `.log` files.
    pub bytes: u64,
    /// How many producers are known.
    pub producers: usize,
}

impl Log {
    /// The wall time, by the clock of its manager.
    #[must_use]
    pub fn now(&self) -> TimestampMs {
        self.clock.now()
    }

    /// The log at this moment.
    #[must_use]
    pub fn info(&self) -> LogInfo {
        let writer = self.lock_writer();
        let segments = self.segments();
        let (end, watermarks) = self.end.load_all();
        LogInfo {
            log_start_offset: self.start_offset(),
            high_watermark: watermarks.high_watermark,
            last_stable_offset: watermarks.last_stable_offset(),
            log_end_offset: end.offset,
            recovery_point: self.recovery_point(),
            latest_epoch: writer.epochs.cache().latest(),
            topic_id: self.topic_id(),
            segments: segments.len(),
            bytes: segments.iter().map(|s| s.size_bytes()).sum(),
            producers: writer.producers.producers().len(),
        }
    }

    /// What was counted since it was opened.
    #[must_use]
    pub fn counts(&self) -> LogCounts {
        self.counters.counts()
    }

    /// How large it was after the last pass of retention, in percent of `retention.bytes`; 0 before the first one, and where
    /// that limits nothing.
    #[must_use]
    pub fn retention_size_percent(&self) -> u64 {
        self.counters.retention_percent()
    }

    /// Bytes of all `.log` files.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.segments().iter().map(|s| s.size_bytes()).sum()
    }

    /// Every producer, by rising id.
    #[must_use]
    pub fn producers(&self) -> Vec<(ProducerId, Producer)> {
        self.producers_after(None, usize::MAX)
    }

    /// Up to `max` producers by rising id, from the one after `after` on: a look at many thousands, page by page.
    #[must_use]
    pub fn producers_after(
        &self,
        after: Option<ProducerId>,
        max: usize,
    ) -> Vec<(ProducerId, Producer)> {
        let writer = self.lock_writer();
        let producers = writer.producers.producers().iter_after(after);
        producers
            .take(max)
            .map(|(id, producer)| (id, producer.into_owned()))
            .collect()
    }

    /// Forgets producers that wrote nothing for `producer.id.expiration.ms` and have no open transaction (state.md 4.11).
    /// How many.
    pub fn expire_producers(&self) -> Result<usize> {
        let mut writer = self.lock_writer();
        self.check_open()?;
        self.check_owned()?;
        let now = self.clock.now();
        Ok(writer.producers.expire(now))
    }

    /// The segments, rising.
    #[must_use]
    pub fn segment_list(&self) -> Vec<Arc<Segment>> {
        self.segments().iter().cloned().collect()
    }
}
