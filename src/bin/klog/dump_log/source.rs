//! A file that is read piece by piece: as much of it is held as is looked at, whatever its size.

use std::path::Path;
use std::sync::Arc;

use klog::io::{File, FileSystem, OpenMode, RealFs};

use super::stop::{Result, Thrown};

/// How much is read at once.
const WINDOW_BYTES: usize = 256 * 1024;

/// A window over a file.
pub(crate) struct Source {
    file: Arc<dyn File>,
    len: u64,
    window: Vec<u8>,
    /// Where the window begins in the file.
    at: u64,
}

impl Source {
    /// Opens for reading; nothing is created.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let file = RealFs.open(path, OpenMode::Read).map_err(|e| {
            if e.is_not_found() {
                no_such_file(path).into()
            } else {
                super::stop::Stop::from(e)
            }
        })?;
        let len = file.len()?;
        Ok(Self {
            file,
            len,
            window: Vec::new(),
            at: 0,
        })
    }

    /// The file itself.
    pub(crate) fn file(&self) -> Arc<dyn File> {
        Arc::clone(&self.file)
    }

    /// The length of the file when it was opened.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Where the first bytes at or behind `position` are that are no hole.
    pub(crate) fn written_from(&self, position: u64) -> Result<Option<u64>> {
        Ok(self.file.written_from(position)?)
    }

    /// `n` bytes at `position`; fewer where the file ends.
    pub(crate) fn at(&mut self, position: u64, n: usize) -> Result<&[u8]> {
        let behind = position
            .checked_sub(self.at)
            .and_then(|start| usize::try_from(start).ok())
            .filter(|start| start.saturating_add(n) <= self.window.len());
        let start = if let Some(start) = behind {
            start
        } else {
            self.fill(position, n.max(WINDOW_BYTES))?;
            0
        };
        let end = (start + n).min(self.window.len());
        Ok(&self.window[start..end])
    }

    fn fill(&mut self, position: u64, n: usize) -> Result<()> {
        let left = usize::try_from(self.len.saturating_sub(position)).unwrap_or(usize::MAX);
        let n = n.min(left);
        // What one large batch needed is not held for ever.
        if self.window.capacity() > 2 * n.max(WINDOW_BYTES) {
            self.window = Vec::new();
        }
        self.window.resize(n, 0);
        self.at = position;
        let read = self.file.read_at(&mut self.window, position);
        self.window.truncate(*read.as_ref().unwrap_or(&0));
        read?;
        Ok(())
    }
}

pub(crate) fn no_such_file(path: &Path) -> Thrown {
    Thrown::new(
        "java.nio.file.NoSuchFileException",
        path.display().to_string(),
    )
}
