//! Offsets for times. Implements log.md 6.

use super::Log;
use super::read::readable_bytes;
use crate::error::{Error, ErrorKind, Result};
use crate::segment::RecordTime;
use crate::types::{LeaderEpoch, Offset, TimestampMs, to_usize};

/// What is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeTarget {
    /// The log end: -1 in Kafka's protocol.
    Latest,
    /// The log start: -2, and -4 without tiered storage.
    Earliest,
    /// The first record with the largest timestamp: -3.
    MaxTimestamp,
    /// The first record at or after a time.
    At(TimestampMs),
}

impl TimeTarget {
    /// Kafka's numbers: below 0 they have meanings. -5 and -6 ask for tiered storage: UNSUPPORTED. Others, also below -6,
    /// are times.
    pub fn from_kafka(timestamp: i64) -> Result<Self> {
        match timestamp {
            -1 => Ok(Self::Latest),
            -2 | -4 => Ok(Self::Earliest),
            -3 => Ok(Self::MaxTimestamp),
            -5 | -6 => Err(Error::new(
                ErrorKind::Unsupported,
                format!(
                    "the timestamp {timestamp} asks for tiered storage, which klog does not have"
                ),
            )),
            other => Ok(Self::At(TimestampMs(other))),
        }
    }
}

impl Log {
    /// The offset for a time; `None` if no record qualifies. For the ends of the log the timestamp of the answer is -1.
    pub fn offset_for_timestamp(&self, target: TimeTarget) -> Result<Option<RecordTime>> {
        self.check_open()?;
        match target {
            TimeTarget::Latest => {
                let writer = self.lock_writer();
                Ok(Some(end_of_log(writer.end, writer.epochs.cache().latest())))
            }
            TimeTarget::Earliest => {
                let start = self.start_offset();
                let first = self.lock_writer().epochs.cache().earliest();
                Ok(Some(end_of_log(
                    start,
                    first.filter(|e| e.start_offset <= start).map(|e| e.epoch),
                )))
            }
            TimeTarget::MaxTimestamp => self.between_cuts(|| self.find_max_timestamp()),
            TimeTarget::At(timestamp) => self.between_cuts(|| self.find_timestamp(timestamp)),
        }
    }

    fn max_body_bytes(&self) -> usize {
        to_usize(u64::from(self.config().max_decompressed_message_bytes))
    }

    /// The answer of the first segment whose largest timestamp qualifies, even if it has none (log.md 6.3).
    fn find_timestamp(&self, target: TimestampMs) -> Result<Option<RecordTime>> {
        let end = self.end.load();
        let segments = self.segments();
        let Some(segment) = segments.first_reaching(target)? else {
            return Ok(None);
        };
        let readable = readable_bytes(segment, end);
        segment.find_by_timestamp(target, self.start_offset(), readable, self.max_body_bytes())
    }

    fn find_max_timestamp(&self) -> Result<Option<RecordTime>> {
        let end = self.end.load();
        let mut best = None;
        for segment in &*self.segments() {
            let max = segment.max_timestamp()?;
            if best
                .as_ref()
                .is_none_or(|(_, best): &(_, crate::segment::MaxTimestamp)| {
                    max.timestamp > best.timestamp
                })
            {
                best = Some((segment.clone(), max));
            }
        }
        match best {
            Some((segment, max)) => {
                let readable = readable_bytes(&segment, end);
                segment.find_max_timestamp(max, readable, self.max_body_bytes())
            }
            None => Ok(None),
        }
    }
}

fn end_of_log(offset: Offset, leader_epoch: Option<LeaderEpoch>) -> RecordTime {
    RecordTime {
        timestamp: TimestampMs::NONE,
        offset,
        leader_epoch,
    }
}
