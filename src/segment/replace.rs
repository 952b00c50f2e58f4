//! Cutting a segment whose bytes somebody holds: its file is not cut but replaced, under its name, by one that has the bytes
//! that are left. Implements c-abi.md 1.11.3.
//!
//! The new file is a `.cleaned` one until it is durable, which every load, Kafka's too, removes; then it takes the name, and
//! the directory is synced. A crash leaves the whole segment or what the cut leaves of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU8, AtomicU64, Ordering};

use arc_swap::ArcSwap;
use parking_lot::Mutex;

use super::Segment;
use crate::error::{Error, Result};
use crate::format::names::{FileState, SegmentFile, SegmentFileKind};
use crate::io::{File, OpenMode};

/// How much is copied at a time.
const STEP_BYTES: u64 = 1024 * 1024;

impl Segment {
    /// If somebody holds bytes behind the first `len`: a file with these, durable, that can take the place of the segment's.
    pub(super) fn prefix_if_pinned(&self, len: u64) -> Result<Option<Arc<dyn File>>> {
        if !self.file.is_pinned_behind(len)? {
            return Ok(None);
        }
        let path = self.dir.join(self.prefix_file().name());
        let file = self.fs.open(&path, OpenMode::Truncate)?;
        let copied = self
            .copy_prefix(&*file, len)
            .and_then(|()| file.sync())
            .map_err(|e| {
                e.context("copying what a cut leaves of a segment that a view holds bytes of")
            });
        if let Err(error) = copied {
            // What is left of it goes at the next load, should it not go now.
            let _ = self.fs.remove_file(&path);
            return Err(error);
        }
        Ok(Some(file))
    }

    fn copy_prefix(&self, to: &dyn File, len: u64) -> Result<()> {
        let mut buffer = Vec::new();
        let mut at = 0;
        while at < len {
            let step = (len - at).min(STEP_BYTES);
            buffer.resize(crate::types::to_usize(step), 0);
            if self.file.read_at(&mut buffer, at)? < buffer.len() {
                return Err(Error::corrupt(format!(
                    "segment {} ends before the position {len}",
                    self.base_offset
                ))
                .at_position(at));
            }
            to.write_at(&buffer, at)?;
            at += step;
        }
        Ok(())
    }

    /// Gives the name of the segment's file to `prefix`, durably. The segment over it; this one still reads the old file.
    pub(super) fn swapped_for(&self, prefix: Arc<dyn File>) -> Result<Arc<Self>> {
        let from = self.dir.join(self.prefix_file().name());
        self.fs.rename(&from, &self.path(SegmentFileKind::Log))?;
        self.fs.sync_dir(&self.dir)?;
        Ok(Arc::new(Self {
            fs: Arc::clone(&self.fs),
            dir: Arc::clone(&self.dir),
            base_offset: self.base_offset,
            state: AtomicU8::new(self.state.load(Ordering::SeqCst)),
            options: self.options,
            file: prefix,
            size_bytes: AtomicU64::new(self.size_bytes()),
            created: AtomicI64::new(self.created.load(Ordering::SeqCst)),
            max_timestamp: Mutex::new(*self.max_timestamp.lock()),
            indexes: ArcSwap::new(self.indexes()),
            aborted: Mutex::new(self.aborted.lock().clone()),
        }))
    }

    fn prefix_file(&self) -> SegmentFile {
        SegmentFile::live(self.base_offset, SegmentFileKind::Log).in_state(FileState::Cleaned)
    }
}
