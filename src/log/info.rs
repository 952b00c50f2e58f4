//! A log at a glance.

use std::sync::Arc;

use super::Log;
use crate::format::epoch_checkpoint::EpochEntry;
use crate::format::uuid::Uuid;
use crate::segment::Segment;
use crate::state::producers::Producer;
use crate::types::{LeaderEpoch, Offset, ProducerId, TimestampMs};

/// Offsets, epochs and sizes of a log at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogInfo {
    /// The first offset that can be read.
    pub log_start_offset: Offset,
    /// Readers of committed data stop here. The log end: klog is its only replica.
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

    /// Readers of committed transactions stop here.
    #[must_use]
    pub fn last_stable_offset(&self) -> Offset {
        let writer = self.lock_writer();
        let first_unstable = writer
            .producers
            .producers()
            .transactions
            .first_unstable_offset();
        first_unstable.map_or(writer.end, |first| first.min(writer.end))
    }

    /// The log at this moment.
    #[must_use]
    pub fn info(&self) -> LogInfo {
        let writer = self.lock_writer();
        let segments = self.segments();
        let log_end_offset = writer.end;
        let first_unstable = writer
            .producers
            .producers()
            .transactions
            .first_unstable_offset();
        LogInfo {
            log_start_offset: self.start_offset(),
            high_watermark: log_end_offset,
            // A transaction may have begun below where the log starts by now (log.md 1.7).
            last_stable_offset: first_unstable.map_or(log_end_offset, |first| {
                first.max(self.start_offset()).min(log_end_offset)
            }),
            log_end_offset,
            recovery_point: self.recovery_point(),
            latest_epoch: writer.epochs.cache().latest(),
            topic_id: self.topic_id(),
            segments: segments.len(),
            bytes: segments.iter().map(|s| s.size_bytes()).sum(),
            producers: writer.producers.producers().len(),
        }
    }

    /// The leader epochs, rising.
    #[must_use]
    pub fn epochs(&self) -> Vec<EpochEntry> {
        self.lock_writer().epochs.cache().entries().to_vec()
    }

    /// Every producer, by rising id.
    #[must_use]
    pub fn producers(&self) -> Vec<(ProducerId, Producer)> {
        let writer = self.lock_writer();
        writer
            .producers
            .producers()
            .iter()
            .map(|(id, producer)| (id, producer.clone()))
            .collect()
    }

    /// The segments, rising.
    #[must_use]
    pub fn segment_list(&self) -> Vec<Arc<Segment>> {
        self.segments().iter().cloned().collect()
    }
}
