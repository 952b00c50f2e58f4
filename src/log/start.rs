//! Where a log starts: deleting records from its front. Implements log.md 10.1, 10.2, state.md 6.10, 7.6, 8.5.

use std::sync::atomic::Ordering;

use super::Log;
use crate::error::{Error, ErrorKind, Result};
use crate::types::Offset;

impl Log {
    /// Deletes the records below `before` for readers, as DeleteRecords does; -1 is the high watermark. Their bytes stay
    /// until retention takes their segments. Where the log starts now: it never moves back. OFFSET_OUT_OF_RANGE above the
    /// high watermark and below -1; POLICY_VIOLATION is not asked for here, a compacted log may be cut too.
    pub fn delete_records(&self, before: Offset) -> Result<Offset> {
        let before = if before == Offset::NONE {
            self.high_watermark()
        } else {
            before
        };
        if before.0 < 0 {
            return Err(Error::new(
                ErrorKind::OffsetOutOfRange,
                format!("records cannot be deleted below the offset {before}"),
            )
            .in_partition(self.partition.partition)
            .at_offset(before));
        }
        self.raise_start(before)?;
        Ok(self.start_offset())
    }

    /// Lets the log start at `start`, if it starts below. Whether it moved.
    pub(super) fn raise_start(&self, start: Offset) -> Result<bool> {
        // What a checkpoint says of a log that a power cut took would be believed of the next one of its name.
        self.ensure_named()?;
        let mut writer = self.lock_writer();
        self.check_writable(&writer)?;
        if start > writer.high_watermark {
            return Err(Error::new(
                ErrorKind::OffsetOutOfRange,
                format!(
                    "the log {} cannot start at {start}, above its high watermark {}",
                    self.partition, writer.high_watermark
                ),
            )
            .in_partition(self.partition.partition)
            .at_offset(start));
        }
        if start <= self.start_offset() {
            return Ok(false);
        }
        // The file first: when it cannot be written nothing has changed.
        let mut epochs = writer.epochs.cache().clone();
        if epochs.truncate_from_start(start).is_change()
            && let Err(error) = writer.epochs.store_as(epochs)
        {
            let error = self.health().judge(error);
            if self.health().check().is_ok() {
                // The new file may have its name although that is not known to be durable: what failed is not found later.
                let _ = writer.epochs.store().map_err(|e| self.health().judge(e));
            }
            return Err(error);
        }
        self.start.store(start.0, Ordering::SeqCst);
        self.recovery_point.fetch_max(start.0, Ordering::SeqCst);
        writer.producers.raise_start(start);
        self.publish(&writer);
        Ok(true)
    }
}
