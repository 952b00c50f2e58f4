//! Another file system for reading only: what would change it is refused, so that nothing above can.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{DirEntry, File, FileLock, FileSystem, OpenMode, Stat};
use crate::error::{Error, ErrorKind, Result};
use crate::types::TimestampMs;

/// A file system that reads from a base and answers READ_ONLY to every change.
#[derive(Debug)]
pub struct ReadOnlyFs(Arc<dyn FileSystem>);

impl ReadOnlyFs {
    /// Over another file system.
    #[must_use]
    pub fn new(base: Arc<dyn FileSystem>) -> Self {
        Self(base)
    }
}

fn refused<T>(action: &str, path: &Path) -> Result<T> {
    Err(Error::new(
        ErrorKind::ReadOnly,
        format!(
            "cannot {action} {}: its directory is open for reading only",
            path.display()
        ),
    )
    .in_file(path))
}

impl FileSystem for ReadOnlyFs {
    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn File>> {
        match mode {
            // Who writes into a file that was opened so is refused by the system.
            OpenMode::Read => self.0.open(path, mode),
            OpenMode::ReadWrite | OpenMode::Create | OpenMode::Truncate => {
                refused("open for writing", path)
            }
        }
    }

    fn create_dir(&self, path: &Path) -> Result<()> {
        refused("create", path)
    }

    fn list(&self, dir: &Path) -> Result<Vec<DirEntry>> {
        self.0.list(dir)
    }

    fn stat(&self, path: &Path) -> Result<Stat> {
        self.0.stat(path)
    }

    fn canonicalize(&self, path: &Path) -> Result<PathBuf> {
        self.0.canonicalize(path)
    }

    fn rename(&self, from: &Path, _to: &Path) -> Result<()> {
        refused("rename", from)
    }

    fn remove_file(&self, path: &Path) -> Result<()> {
        refused("remove", path)
    }

    fn remove_dir(&self, path: &Path) -> Result<()> {
        refused("remove", path)
    }

    fn sync_dir(&self, dir: &Path) -> Result<()> {
        refused("sync", dir)
    }

    fn set_modified(&self, path: &Path, _time: TimestampMs) -> Result<()> {
        refused("set the time of", path)
    }

    fn lock(&self, path: &Path) -> Result<Option<Box<dyn FileLock>>> {
        refused("lock", path)
    }
}
