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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::SimFs;

    #[test]
    fn every_change_is_refused_and_reading_is_not() {
        let disk = SimFs::new();
        let (dir, file) = (Path::new("/d"), Path::new("/d/f"));
        disk.create_dir(dir).unwrap();
        let owned = disk.open(file, OpenMode::Create).unwrap();
        owned.write_at(b"content", 0).unwrap();
        let before = disk.counts().changes;
        let fs = ReadOnlyFs::new(Arc::new(disk.clone()));
        let changes = [
            fs.open(file, OpenMode::ReadWrite).map(drop),
            fs.open(file, OpenMode::Create).map(drop),
            fs.open(file, OpenMode::Truncate).map(drop),
            fs.create_dir(Path::new("/e")),
            fs.rename(file, Path::new("/d/g")),
            fs.remove_file(file),
            fs.remove_dir(dir),
            fs.sync_dir(dir),
            fs.set_modified(file, TimestampMs(1)),
            fs.lock(file).map(drop),
        ];
        for change in changes {
            assert_eq!(change.unwrap_err().kind(), ErrorKind::ReadOnly);
        }
        assert_eq!(disk.counts().changes, before);
        assert_eq!(fs.list(dir).unwrap().len(), 1);
        assert_eq!(fs.canonicalize(dir).unwrap(), dir);
        let mut bytes = [0; 7];
        let opened = fs.open(file, OpenMode::Read).unwrap();
        assert_eq!(
            opened.read_at(&mut bytes, 0).unwrap() as u64,
            fs.stat(file).unwrap().len
        );
    }
}
