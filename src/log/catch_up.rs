//! A log as the copy of another one in this process: how far both are the same, and what the copy takes next. Implements
//! manager.md 9.2.

use super::append::{AppendOptions, LeaderEpochRule};
use super::read::{FirstBatch, Isolation, ReadCut, ReadOptions};
use super::{Log, Origin};
use crate::error::{ErrorKind, Result};
use crate::format::batch::BatchHeader;
use crate::types::Offset;

/// How much is copied at a time, unless one batch is larger.
const CHUNK_BYTES: usize = 1 << 20;

/// What became of a step of copying.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyStep {
    /// So many bytes came.
    Appended(u64),
    /// The source has nothing more.
    CaughtUp,
    /// The source has lost what the copy would take next: the copy must begin anew at `first`, and start at `start`.
    BeginAt {
        /// Where the first batch begins that the source still has; its end if there is none.
        first: Offset,
        /// Where the source starts.
        start: Offset,
    },
}

impl Log {
    /// How often the log was cut short, or went on elsewhere: what a copy knows of it counts only until that changes.
    #[must_use]
    pub fn cut_count(&self) -> u64 {
        self.cuts.load(std::sync::atomic::Ordering::SeqCst)
    }

    /// Appends what `source` has next to this log, its copy. `buffer` is kept for the next step.
    pub fn copy_from(&self, source: &Log, buffer: &mut Vec<u8>) -> Result<CopyStep> {
        let (own_end, start) = (self.end_offset(), source.start_offset());
        let max_bytes = CHUNK_BYTES.min(self.config().segment_bytes as usize);
        let from = own_end.max(start);
        let found = match read_at(source, from, max_bytes, buffer) {
            Err(e) if e.kind() == ErrorKind::OffsetOutOfRange && from < source.start_offset() => {
                // Its start has just gone on.
                return Ok(CopyStep::Appended(0));
            }
            other => other?,
        };
        let batches = buffer.get(..found).unwrap_or_default();
        // What lies in a wrapper of an old format only its content tells; none of it can be asked for below the start.
        let first = BatchHeader::parse(batches).filter(BatchHeader::is_v2);
        let first = first.map_or(start, |first| first.base_offset.min(start));
        // A batch that the source starts within is not to be cut: the copy begins below its own start then.
        let is_empty = own_end <= self.start_offset();
        if own_end < start && own_end != first || is_empty && own_end > first {
            return Ok(CopyStep::BeginAt { first, start });
        }
        if batches.is_empty() {
            return Ok(CopyStep::CaughtUp);
        }
        let options = AppendOptions {
            origin: Origin::Replication,
            epoch_rule: LeaderEpochRule::TakeAny,
            ..AppendOptions::default()
        };
        let appended = self.append_batches(batches, &options)?;
        Ok(CopyStep::Appended(appended.bytes_appended))
    }

    /// Up to where this log, an older copy of `source`, has the same batches, if it has others behind: they are not of the
    /// source. `None` if all that it has is.
    pub fn first_difference(&self, source: &Log) -> Result<Option<Offset>> {
        let from = self.start_offset().max(source.start_offset());
        if from >= self.end_offset() {
            return Ok(None);
        }
        let (mut own, mut other) = (Batches::new(self, from), Batches::new(source, from));
        let mut same_below = from;
        while let Some((batch, next)) = own.next()? {
            if other.next()? != Some((batch, next)) {
                return Ok(Some(same_below));
            }
            same_below = next;
        }
        Ok(None)
    }
}

/// Reads whole batches into `buffer`, which grows for a batch that needs it. How many bytes.
fn read_at(log: &Log, from: Offset, max_bytes: usize, buffer: &mut Vec<u8>) -> Result<usize> {
    let options = ReadOptions {
        isolation: Isolation::LogEnd,
        max_bytes,
        first_batch: FirstBatch::Always,
        cut: ReadCut::BehindBatch,
    };
    buffer.resize(buffer.len().max(max_bytes), 0);
    loop {
        match log.read(from, buffer, &options) {
            Err(e) if e.kind() == ErrorKind::BufferTooSmall => {
                let needed = e.position().and_then(|bytes| usize::try_from(bytes).ok());
                match needed.filter(|&needed| needed > buffer.len()) {
                    Some(needed) => buffer.resize(needed, 0),
                    None => return Err(e),
                }
            }
            other => return Ok(other?.bytes),
        }
    }
}

/// The batches of a log, one after the other.
struct Batches<'l> {
    log: &'l Log,
    buffer: Vec<u8>,
    /// What of the buffer is still to be given.
    left: std::ops::Range<usize>,
    next: Offset,
}

impl<'l> Batches<'l> {
    fn new(log: &'l Log, from: Offset) -> Self {
        Self {
            log,
            buffer: Vec::new(),
            left: 0..0,
            next: from,
        }
    }

    /// The next one, and the offset behind it.
    fn next(&mut self) -> Result<Option<(&[u8], Offset)>> {
        if self.left.is_empty() {
            if self.next >= self.log.end_offset() {
                return Ok(None);
            }
            let read = read_at(self.log, self.next, CHUNK_BYTES, &mut self.buffer)?;
            if read == 0 {
                return Ok(None);
            }
            self.left = 0..read;
        }
        let rest = self.buffer.get(self.left.clone()).unwrap_or_default();
        let Some(header) = BatchHeader::parse(rest) else {
            return Ok(None);
        };
        let size = header.size_bytes as usize;
        self.left.start += size;
        self.next = header.last_offset.next();
        Ok(rest.get(..size).map(|batch| (batch, self.next)))
    }
}
