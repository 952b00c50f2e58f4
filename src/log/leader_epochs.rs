//! Leader epochs of a log. Implements state.md 7.

use super::{Log, Names, Writer};
use crate::error::{Error, ErrorKind, Result};
use crate::format::batch::BatchHeader;
use crate::format::epoch_checkpoint::EpochEntry;
use crate::types::{LeaderEpoch, Offset};

impl Log {
    /// The leader epochs, rising.
    #[must_use]
    pub fn epochs(&self) -> Vec<EpochEntry> {
        self.lock_writer().epochs.cache().entries().to_vec()
    }

    /// Where an epoch ended, or the nearest one below it that the log has; `None` for an epoch that the log cannot know
    /// (state.md 7.5). What a follower asks its leader before it cuts its log.
    #[must_use]
    pub fn end_offset_for_epoch(&self, epoch: LeaderEpoch) -> Option<(LeaderEpoch, Offset)> {
        let writer = self.lock_writer();
        writer.epochs.cache().end_offset_for(epoch, writer.end)
    }

    /// Whether `expected` is the log's latest leader epoch, 0 if it has none; `None` is always right. FENCED_LEADER_EPOCH if
    /// the log has a newer one, UNKNOWN_LEADER_EPOCH if it has an older one: what a broker answers a fetch with.
    pub fn check_leader_epoch(&self, expected: Option<LeaderEpoch>) -> Result<()> {
        let Some(expected) = expected else {
            return Ok(());
        };
        let latest = self.lock_writer().epochs.cache().latest();
        let latest = latest.unwrap_or(LeaderEpoch(0));
        let refused = |kind, what| {
            let text = format!("the log's latest leader epoch is {latest}, {expected} is {what}");
            Err(Error::new(kind, text).in_partition(self.partition.partition))
        };
        match expected.cmp(&latest) {
            std::cmp::Ordering::Less => refused(ErrorKind::FencedLeaderEpoch, "older"),
            std::cmp::Ordering::Greater => refused(ErrorKind::UnknownLeaderEpoch, "not known yet"),
            std::cmp::Ordering::Equal => Ok(()),
        }
    }

    /// Notes that a leader epoch begins at an offset, and makes that durable (state.md 7.2): entries that contradict it go.
    pub fn assign_epoch(&self, epoch: LeaderEpoch, start_offset: Offset) -> Result<()> {
        if epoch.0 < 0 || start_offset.0 < 0 {
            return Err(Error::invalid_argument(format!(
                "the leader epoch {epoch} at offset {start_offset}: neither may be negative"
            )));
        }
        let mut writer = self.lock_writer();
        self.check_writable(&writer)?;
        let mut next = writer.epochs.cache().clone();
        if next.assign(epoch, start_offset).is_change() {
            writer
                .epochs
                .store_as(next)
                .map_err(|e| self.health().judge(e))?;
        }
        Ok(())
    }
}

/// Makes new leader epochs durable (log.md 3.4 (7)): batches of old formats have none, and end what is known of them. Also
/// the old ones, if new ones before may have got into the file although their append failed.
pub(super) fn note_epochs(writer: &mut Writer, headers: &[BatchHeader]) -> Result<()> {
    let is_known = |header: &BatchHeader| {
        header.is_v2() && writer.epochs.cache().latest() == Some(header.leader_epoch)
    };
    if writer.epochs.is_stored() && headers.iter().all(is_known) {
        return Ok(());
    }
    let mut next = writer.epochs.cache().clone();
    let mut is_changed = !writer.epochs.is_stored();
    for header in headers {
        let change = if header.is_v2() {
            next.assign(header.leader_epoch, header.base_offset)
        } else {
            next.clear()
        };
        is_changed |= change.is_change();
    }
    if is_changed {
        match writer.names {
            // Every power cut leaves a log that is recovered from its beginning, with its epochs.
            Names::OfNewLog(_) => writer.epochs.store_loosely(next)?,
            _ => writer.epochs.store_as(next)?,
        }
    }
    Ok(())
}
