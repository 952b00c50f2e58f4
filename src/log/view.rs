//! Views: stored batches where they lie, as memory and as a region of the file, without a copy. What a view holds stays as it
//! is until it is dropped, whatever becomes of the segment, the log and its manager. Implements c-abi.md 1.3.1, 1.11.3.
//!
//! Retention, the cleaner and a cut of whole segments take names away, and a file without a name keeps its bytes. Where a
//! segment would be cut below what a view holds, it is replaced (segment/replace.rs). A view is taken like a read: pinned
//! first, then it counts if no cut came in between; and a cut, once it is announced, looks for pins. So one of both sees
//! the other.

use std::os::fd::RawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Log;
use super::read::{Place, ReadCut, ReadOptions, ReadResult};
use crate::error::Result;
use crate::io::{PinMemory, PinnedBytes};
use crate::types::Offset;

/// Stored batches of one segment.
///
/// ```
/// # use std::sync::Arc;
/// # use klog::config::ConfigSet;
/// # use klog::format::builder::BatchBuilder;
/// # use klog::log::{AppendOptions, ReadOptions};
/// # use klog::manager::{CreateOptions, Manager, ManagerOptions};
/// # use klog::types::{Offset, TimestampMs, TopicPartition};
/// # fn main() -> klog::Result<()> {
/// # let temporary = tempfile::tempdir().expect("a temporary directory");
/// # let config = Arc::new(ConfigSet::broker().resolve()?);
/// # let manager = Manager::open(ManagerOptions::new(vec![temporary.path().to_path_buf()], config))?;
/// # let log = manager.get_or_create_log(&TopicPartition::new("orders", 0), &CreateOptions::default())?;
/// let mut batch = BatchBuilder::new();
/// batch.push(TimestampMs(1), None, Some(b"value"), [].into_iter())?;
/// let appended = log.append(&mut batch, &AppendOptions::default())?;
///
/// let view = log.view(Offset::ZERO, &ReadOptions::default())?;
/// assert_eq!(view.bytes().len() as u64, appended.bytes_appended);
/// assert_eq!(view.next_offset(), Offset(1));
/// manager.close()?;
/// assert_eq!(view.bytes()[16], 2, "the magic of the batch, read after the close");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct View {
    pinned: PinnedBytes,
    first_offset: Offset,
    next_offset: Offset,
    segment_base_offset: Offset,
    position: u64,
    is_first_larger: bool,
    readable_upto: Offset,
    _count: Count,
}

/// What a view adds to the bytes that its manager counts.
#[derive(Debug)]
struct Count {
    of: Arc<AtomicU64>,
    bytes: u64,
}

impl Count {
    fn new(of: &Arc<AtomicU64>, bytes: u64) -> Self {
        of.fetch_add(bytes, Ordering::SeqCst);
        Self {
            of: Arc::clone(of),
            bytes,
        }
    }
}

impl Drop for Count {
    fn drop(&mut self) {
        self.of.fetch_sub(self.bytes, Ordering::SeqCst);
    }
}

impl View {
    /// The batches as they are stored. Their checksums were not checked. While another process owns the files that a manager
    /// only reads, it must not cut them: a mapping behind the end of its file must not be touched. Over
    /// [`crate::io::UnmappedFs`] this is a copy, which has no such rule.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.pinned
    }

    /// Whether [`Self::bytes`] are the pages of the file, and no copy.
    #[must_use]
    pub fn is_mapped(&self) -> bool {
        self.pinned.is_mapped()
    }

    /// A descriptor of the segment file, the view's own, open as long as the view is. The bytes lie in it from
    /// [`Self::position`] on. `None` without bytes, and on file systems that have no descriptors.
    #[must_use]
    pub fn fd(&self) -> Option<RawFd> {
        self.pinned.region().map(|(fd, _)| fd)
    }

    /// First offset of the first batch, which may be below the one asked for; that one if there is no whole batch.
    #[must_use]
    pub fn first_offset(&self) -> Offset {
        self.first_offset
    }

    /// Where to go on: behind the last whole batch.
    #[must_use]
    pub fn next_offset(&self) -> Offset {
        self.next_offset
    }

    /// Base of the segment that the bytes lie in, -1 if there was nothing to read.
    #[must_use]
    pub fn segment_base_offset(&self) -> Offset {
        self.segment_base_offset
    }

    /// Where the first byte lies in the segment file.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Whether the first batch was left out because it is larger than `max_bytes`; see [`ReadResult::is_first_larger`].
    #[must_use]
    pub fn is_first_larger(&self) -> bool {
        self.is_first_larger
    }

    /// How far its isolation let read when it was taken.
    #[must_use]
    pub fn readable_upto(&self) -> Offset {
        self.readable_upto
    }
}

impl Log {
    /// Holds stored batches of one segment, from the one that holds `start` on, at most to where the log ends now: what
    /// [`Log::read`] with a buffer of any size would give, in place of a copy. Nothing to read is a view without bytes.
    /// OFFSET_OUT_OF_RANGE below the log start and above the log end.
    ///
    /// With [`super::Isolation::TxnCommitted`] the aborted transactions that go with it are those of
    /// [`Log::aborted_txns`] from `start` to [`View::next_offset`].
    pub fn view(&self, start: Offset, options: &ReadOptions) -> Result<View> {
        let view = self.between_cuts(|| self.view_once(start, options))?;
        self.counters.gave(view.bytes().len());
        Ok(view)
    }

    fn view_once(&self, start: Offset, options: &ReadOptions) -> Result<View> {
        let (nothing, place) = self.locate(start, options)?;
        let readable_upto = nothing.readable_upto(options.isolation);
        let (found, end) = match &place {
            None => (nothing, None),
            Some(place) => place.view_of(options, &nothing)?,
        };
        let pinned = match (&place, end) {
            (Some(place), Some(end)) if end > found.position => place
                .segment
                .file()
                .pin(found.position..end, PinMemory::Mapped)?,
            _ => PinnedBytes::copied(Vec::new()),
        };
        let bytes = pinned.len() as u64;
        Ok(View {
            pinned,
            first_offset: found.first_offset,
            next_offset: found.next_offset,
            segment_base_offset: found.segment_base_offset,
            position: found.position,
            is_first_larger: found.is_first_larger,
            readable_upto,
            _count: Count::new(self.health().monitor().pinned_bytes(), bytes),
        })
    }
}

impl Place {
    /// What a view from here holds, and where in the file it ends. Nothing of it is touched.
    fn view_of(
        &self,
        options: &ReadOptions,
        nothing: &ReadResult,
    ) -> Result<(ReadResult, Option<u64>)> {
        let mut found = self.answer(options, nothing);
        if options.cut == ReadCut::BehindBatch && self.is_first_left_out(options) {
            return Ok((found, None));
        }
        let limit = self.first.position + self.wanted_bytes(options) as u64;
        let whole = self.segment.end_of_batches(&self.first, limit)?;
        if let Some((_, next_offset)) = whole {
            found.first_offset = self.first.base_offset;
            found.next_offset = next_offset;
        }
        let end = match options.cut {
            ReadCut::AtMaxBytes => Some(limit),
            ReadCut::BehindBatch => whole.map(|(end, _)| end),
        };
        Ok((found, end))
    }
}
