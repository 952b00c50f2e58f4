//! Appending to a segment, and closing it for writing. Implements log.md 2.5-2.7, 2.19, records.md 6.7, 7.4.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use once_cell::sync::OnceCell;

use super::index::{GrowingIndexes, Indexes, TimeRoom};
use super::time::MaxTimestamp;
use super::{IndexCapacity, Segment};
use crate::error::Result;
use crate::format::batch::BatchHeader;
use crate::format::names::SegmentFileKind;
use crate::format::offset_index::OffsetEntry;
use crate::format::time_index::TimeEntry;
use crate::io::{File, FileSystem, OpenMode};
use crate::types::TimestampMs;

/// The one writer of a segment, held under the append lock of its log.
#[derive(Debug)]
pub struct SegmentWriter {
    segment: Arc<Segment>,
    growing: Arc<Indexes>,
    bytes_since_entry: u64,
    max_timestamp: MaxTimestamp,
    /// Max timestamp of the first batch, known once it was needed (log.md 2.10).
    rolling_timestamp: Option<TimestampMs>,
    /// Whether the index files say what is in memory.
    files_are_current: bool,
    /// What takes the place of the file when it is cut, made before; see [`Segment::prefix_if_pinned`].
    prefix: Option<Arc<dyn File>>,
}

impl SegmentWriter {
    /// The writer of a segment whose indexes grow.
    pub(super) fn new(segment: Arc<Segment>, files_are_current: bool) -> Result<Self> {
        let max_timestamp = segment.max_timestamp()?;
        Ok(Self {
            growing: segment.indexes(),
            segment,
            bytes_since_entry: 0,
            max_timestamp,
            rolling_timestamp: None,
            files_are_current,
            prefix: None,
        })
    }

    /// With a file that was made to take the place of the segment's when that is cut.
    pub(super) fn with_prefix(mut self, prefix: Option<Arc<dyn File>>) -> Self {
        self.prefix = prefix;
        self
    }

    /// The segment that it writes.
    #[must_use]
    pub fn segment(&self) -> &Arc<Segment> {
        &self.segment
    }

    fn indexes(&self) -> Option<&GrowingIndexes> {
        match &*self.growing {
            Indexes::Growing(growing) => Some(growing),
            Indexes::Closed(_) => None,
        }
    }

    /// Whether an index has no room for another entry, so that the next append rolls (log.md 2.9).
    #[must_use]
    pub fn is_index_full(&self) -> bool {
        self.indexes()
            .is_some_and(|g| g.is_offset_index_full() || g.is_time_index_full())
    }

    /// What time-based rolling counts from: max timestamp of the first batch, none for an empty segment.
    pub fn rolling_timestamp(&mut self) -> Result<Option<TimestampMs>> {
        if self.rolling_timestamp.is_none() && self.segment.size_bytes() > 0 {
            self.rolling_timestamp = self.segment.first_batch_timestamp()?;
        }
        Ok(self.rolling_timestamp)
    }

    /// Writes whole batches behind the end, where they do not count yet. When this fails some bytes may lie there: the
    /// caller cuts them off with [`Self::cut_back`].
    pub fn store(&mut self, bytes: &[u8]) -> Result<()> {
        self.segment.file.write_at(bytes, self.segment.size_bytes())
    }

    /// Lets the batches count that were stored last, of which `headers` are the fixed parts in order.
    pub fn commit(&mut self, headers: &[BatchHeader]) {
        let mut position = self.segment.size_bytes();
        let before = self.max_timestamp;
        for header in headers {
            if header.max_timestamp > self.max_timestamp.timestamp {
                self.max_timestamp = MaxTimestamp {
                    timestamp: header.max_timestamp,
                    offset: header.last_offset,
                };
            }
            if self.bytes_since_entry > self.segment.options.index_interval_bytes {
                self.add_entries(header, position);
                self.bytes_since_entry = 0;
            }
            self.bytes_since_entry += u64::from(header.size_bytes);
            position += u64::from(header.size_bytes);
        }
        if self.max_timestamp != before {
            *self.segment.max_timestamp.lock() = Some(self.max_timestamp);
        }
        self.files_are_current = false;
        // Stored last: whoever sees the size sees the bytes.
        self.segment.size_bytes.store(position, Ordering::SeqCst);
    }

    fn add_entries(&self, header: &BatchHeader, position: u64) {
        let (Some(growing), Ok(position)) = (self.indexes(), u32::try_from(position)) else {
            return;
        };
        growing.add_offset(OffsetEntry {
            offset: header.last_offset,
            position,
        });
        let MaxTimestamp { timestamp, offset } = self.max_timestamp;
        growing.maybe_add_time(TimeEntry { timestamp, offset }, TimeRoom::Usual);
    }

    /// Cuts off what a failed append left behind the end, or what a cut of the log took. Where somebody holds such bytes
    /// ([`crate::io::File::pin`]) the file is replaced by its prefix, durably, and [`Self::segment`] is another one from now
    /// on: that before can still be read, up to where it was cut.
    pub fn cut_back(&mut self) -> Result<()> {
        let segment = &self.segment;
        let prefix = match self.prefix.take() {
            None => segment.prefix_if_pinned(segment.size_bytes())?,
            made => made,
        };
        match prefix {
            None => segment.file.set_len(segment.size_bytes()),
            Some(prefix) => {
                self.segment = segment.swapped_for(prefix)?;
                Ok(())
            }
        }
    }

    /// Brings the files to the state in which a closed segment has them (log.md 2.19): a preallocated tail of the log is
    /// cut, the index files have all entries and the last time entry. Nothing is synced. What is in memory stays as it
    /// is, so appending may go on; then this is to be done again.
    pub fn finish(&mut self) -> Result<()> {
        if self.segment.file.len()? != self.segment.size_bytes() {
            self.cut_back()?;
        }
        self.finish_indexes()
    }

    /// Brings the index files to the state in which a closed segment has them.
    pub fn finish_indexes(&mut self) -> Result<()> {
        if let Some(growing) = self.indexes()
            && !self.files_are_current
        {
            let segment = &self.segment;
            let MaxTimestamp { timestamp, offset } = self.max_timestamp;
            let last_time = Some(TimeEntry { timestamp, offset }).filter(|_| timestamp.is_some());
            let (offsets, times) = growing.encode_finished(last_time);
            overwrite(
                &*segment.fs,
                &segment.path(SegmentFileKind::OffsetIndex),
                &offsets,
            )?;
            overwrite(
                &*segment.fs,
                &segment.path(SegmentFileKind::TimeIndex),
                &times,
            )?;
            self.files_are_current = true;
        }
        Ok(())
    }

    /// Ends writing for good, after [`Self::finish`]: from now on the indexes are read from their files.
    pub fn close(self) -> Arc<Segment> {
        self.segment
            .indexes
            .store(Arc::new(Indexes::Closed(OnceCell::new())));
        self.segment
    }
}

/// Writes a file that nobody trusts before its segment was closed in order: in place, exactly as long as `content`.
pub(super) fn overwrite(fs: &dyn FileSystem, path: &Path, content: &[u8]) -> Result<()> {
    let file = fs.open(path, OpenMode::Create)?;
    if !content.is_empty() {
        file.write_at(content, 0)?;
    }
    if file.len()? != content.len() as u64 {
        file.set_len(content.len() as u64)?;
    }
    Ok(())
}

impl Segment {
    /// The indexes of a segment that has none yet.
    pub(super) fn empty_indexes(&self) -> Indexes {
        let capacity = IndexCapacity::of_bytes(self.options.index_bytes_max);
        Indexes::Growing(Box::new(GrowingIndexes::new(self.base_offset, capacity)))
    }
}
