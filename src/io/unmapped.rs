//! A file system whose files are not mapped: what would be a mapping is a copy that was read. For network file systems, and
//! for data that other processes may cut while it is looked at: touching a mapping behind the end of its file ends the
//! process (hard-cases.md HC42 (b)).

use std::ops::Range;
use std::os::fd::RawFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::pin::{PinMemory, PinnedBytes, read_range};
use super::{DirEntry, File, FileIdentity, FileLock, FileSystem, Mapping, OpenMode, Stat};
use crate::error::Result;
use crate::types::TimestampMs;

/// Another file system, without mappings.
#[derive(Debug)]
pub struct UnmappedFs(Arc<dyn FileSystem>);

impl UnmappedFs {
    /// Over another file system.
    #[must_use]
    pub fn new(base: Arc<dyn FileSystem>) -> Self {
        Self(base)
    }
}

#[derive(Debug)]
struct UnmappedFile(Arc<dyn File>);

impl File for UnmappedFile {
    fn read_at(&self, buf: &mut [u8], position: u64) -> Result<usize> {
        self.0.read_at(buf, position)
    }

    fn write_at(&self, buf: &[u8], position: u64) -> Result<()> {
        self.0.write_at(buf, position)
    }

    fn len(&self) -> Result<u64> {
        self.0.len()
    }

    fn identity(&self) -> Result<FileIdentity> {
        self.0.identity()
    }

    fn take_in_growth(&self) -> Result<u64> {
        self.0.take_in_growth()
    }

    fn set_len(&self, len: u64) -> Result<()> {
        self.0.set_len(len)
    }

    fn sync(&self) -> Result<()> {
        self.0.sync()
    }

    fn map(&self, len: u64) -> Result<Mapping> {
        read_range(&*self.0, 0..len).map(Mapping::from_bytes)
    }

    fn pin(&self, range: Range<u64>, _memory: PinMemory) -> Result<PinnedBytes> {
        self.0.pin(range, PinMemory::Copied)
    }

    fn is_pinned_behind(&self, len: u64) -> Result<bool> {
        self.0.is_pinned_behind(len)
    }

    fn ready(&self) -> Result<()> {
        self.0.ready()
    }

    fn rest(&self) {
        self.0.rest();
    }

    fn raw_fd(&self) -> Option<RawFd> {
        self.0.raw_fd()
    }
}

impl FileSystem for UnmappedFs {
    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn File>> {
        Ok(Arc::new(UnmappedFile(self.0.open(path, mode)?)))
    }

    fn create_dir(&self, path: &Path) -> Result<()> {
        self.0.create_dir(path)
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

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.0.rename(from, to)
    }

    fn exchange(&self, one: &Path, other: &Path) -> Result<bool> {
        self.0.exchange(one, other)
    }

    fn remove_file(&self, path: &Path) -> Result<()> {
        self.0.remove_file(path)
    }

    fn remove_dir(&self, path: &Path) -> Result<()> {
        self.0.remove_dir(path)
    }

    fn sync_dir(&self, dir: &Path) -> Result<()> {
        self.0.sync_dir(dir)
    }

    fn set_modified(&self, path: &Path, time: TimestampMs) -> Result<()> {
        self.0.set_modified(path, time)
    }

    fn lock(&self, path: &Path) -> Result<Option<Box<dyn FileLock>>> {
        self.0.lock(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::RealFs;

    #[test]
    fn what_another_process_cuts_can_be_read_on() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        let fs = UnmappedFs::new(Arc::new(RealFs));
        let file = fs.open(&path, OpenMode::Create).unwrap();
        file.write_at(&[7; 10_000], 0).unwrap();
        let map = file.map(10_000).unwrap();
        let pinned = file.pin(0..10_000, PinMemory::Mapped).unwrap();
        RealFs
            .open(&path, OpenMode::ReadWrite)
            .unwrap()
            .set_len(0)
            .unwrap();
        assert_eq!((map[9_999], pinned[9_999]), (7, 7));
    }
}
