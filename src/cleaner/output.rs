//! The segments that a group becomes: `.cleaned` files until they take the place of the old ones. Implements cleaner.md 4.5,
//! 4.8, 4.9, 4.11, deviations.md D83, D86.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::format::batch::BatchHeader;
use crate::format::names::SegmentFileKind;
use crate::format::txn_index::AbortedTxn;
use crate::log::Log;
use crate::segment::{Segment, SegmentWriter};
use crate::types::{MAX_RELATIVE_OFFSET, Offset, TimestampMs};

/// Batches are written when so many bytes of them are there.
const WRITE_BYTES: usize = 1024 * 1024;

/// Where the batches of a group go.
pub(super) enum Output<'l> {
    /// Into files.
    Files(Box<Files<'l>>),
    /// Nowhere: they are only counted.
    Nowhere,
}

/// Segments that are being written. What is not finished is removed when this is dropped.
pub(super) struct Files<'l> {
    log: &'l Log,
    /// Largest size of a segment.
    bytes_max: u64,
    /// The time that the segments get.
    modified: TimestampMs,
    done: Vec<Arc<Segment>>,
    writer: Option<SegmentWriter>,
    /// Batches that are not written yet.
    buffer: Vec<u8>,
    headers: Vec<BatchHeader>,
    aborted: Vec<AbortedTxn>,
    are_wanted: bool,
}

impl<'l> Files<'l> {
    /// Begins the first segment, which there is also if no batch comes: it keeps the place of the old ones.
    pub(super) fn begin(
        log: &'l Log,
        base: Offset,
        modified: TimestampMs,
        bytes_max: u64,
    ) -> Result<Self> {
        Ok(Self {
            log,
            bytes_max,
            modified,
            done: Vec::new(),
            writer: Some(log.create_cleaned(base)?),
            buffer: Vec::new(),
            headers: Vec::new(),
            aborted: Vec::new(),
            are_wanted: false,
        })
    }

    /// Adds a batch. Bytes that were written for it, which is often none.
    pub(super) fn add(&mut self, bytes: &[u8], aborted: Option<AbortedTxn>) -> Result<u64> {
        let header = BatchHeader::parse(bytes)
            .ok_or_else(|| Error::corrupt("a batch is too short for its format"))?;
        let mut written = 0;
        if let Some(writer) = &self.writer {
            let size = writer.segment().size_bytes() + self.buffer.len() as u64;
            let base = writer.segment().base_offset();
            let is_full = size > 0 && size + bytes.len() as u64 > self.bytes_max;
            if is_full {
                written += self.finish_segment()?;
                self.writer = Some(self.log.create_cleaned(header.base_offset)?);
            } else if header.last_offset - base > i64::from(MAX_RELATIVE_OFFSET) {
                return Err(Error::corrupt(format!(
                    "the offset {} lies too far from {base}, the base of its segment",
                    header.last_offset
                ))
                .at_offset(header.last_offset));
            }
        }
        self.buffer.extend_from_slice(bytes);
        self.headers.push(header);
        self.aborted.extend(aborted);
        if self.buffer.len() >= WRITE_BYTES {
            written += self.write()?;
        }
        Ok(written)
    }

    fn write(&mut self) -> Result<u64> {
        let written = self.buffer.len() as u64;
        if let Some(writer) = &mut self.writer
            && written > 0
        {
            writer.store(&self.buffer)?;
            writer.commit(&self.headers);
        }
        self.buffer.clear();
        self.headers.clear();
        Ok(written)
    }

    /// Completes the segment and makes it durable.
    fn finish_segment(&mut self) -> Result<u64> {
        let written = self.write()?;
        let Some(mut writer) = self.writer.take() else {
            return Ok(written);
        };
        // In the list from here on, so that it is removed if something fails.
        self.done.push(Arc::clone(writer.segment()));
        writer.finish()?;
        writer
            .segment()
            .append_all_aborted(&std::mem::take(&mut self.aborted))?;
        writer.segment().sync_all()?;
        for kind in [
            SegmentFileKind::Log,
            SegmentFileKind::OffsetIndex,
            SegmentFileKind::TimeIndex,
        ] {
            writer.segment().set_modified(kind, self.modified)?;
        }
        writer.close();
        Ok(written)
    }

    /// Completes all. Bytes that were written by this.
    pub(super) fn finish(&mut self) -> Result<u64> {
        self.finish_segment()
    }

    /// The segments, for the log to take over: it sees to what becomes of their files.
    pub(super) fn hand_over(&mut self) -> &[Arc<Segment>] {
        self.are_wanted = true;
        &self.done
    }
}

impl Drop for Files<'_> {
    fn drop(&mut self) {
        if self.are_wanted {
            return;
        }
        let open = self.writer.as_ref().map(SegmentWriter::segment);
        for segment in self.done.iter().chain(open) {
            self.log.discard_cleaned(segment.base_offset());
        }
    }
}
