//! A file system whose operations are told before they are done, and may be refused or held up: for tests that count syncs,
//! let an operation fail, or stop a call in the middle.

use std::fmt::Debug;
use std::ops::Range;
use std::os::fd::RawFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::pin::{PinMemory, PinnedBytes};
use super::{DirEntry, File, FileIdentity, FileLock, FileSystem, Mapping, OpenMode, Stat};
use crate::error::Result;
use crate::types::TimestampMs;

/// What is about to be done to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileOperation {
    /// [`FileSystem::open`].
    Open,
    /// [`File::read_at`].
    Read,
    /// [`File::write_at`].
    Write,
    /// [`File::set_len`].
    SetLen,
    /// [`File::sync`].
    Sync,
    /// [`File::map`] and [`File::pin`].
    Map,
    /// [`FileSystem::create_dir`].
    CreateDir,
    /// [`FileSystem::list`].
    List,
    /// [`FileSystem::rename`], of the old name.
    Rename,
    /// [`FileSystem::remove_file`] and [`FileSystem::remove_dir`].
    Remove,
    /// [`FileSystem::sync_dir`].
    SyncDir,
    /// [`FileSystem::set_modified`].
    SetModified,
    /// [`FileSystem::lock`].
    Lock,
}

impl FileOperation {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::Open,
        Self::Read,
        Self::Write,
        Self::SetLen,
        Self::Sync,
        Self::Map,
        Self::CreateDir,
        Self::List,
        Self::Rename,
        Self::Remove,
        Self::SyncDir,
        Self::SetModified,
        Self::Lock,
    ];

    /// Its name in lower case.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Read => "read",
            Self::Write => "write",
            Self::SetLen => "set_len",
            Self::Sync => "sync",
            Self::Map => "map",
            Self::CreateDir => "create_dir",
            Self::List => "list",
            Self::Rename => "rename",
            Self::Remove => "remove",
            Self::SyncDir => "sync_dir",
            Self::SetModified => "set_modified",
            Self::Lock => "lock",
        }
    }
}

/// Who is told.
pub trait FileWatch: Debug + Send + Sync {
    /// Comes before each operation, on the thread that does it. An error is the operation's, which then is not done.
    fn before(&self, operation: FileOperation, path: &Path) -> Result<()>;
}

/// Another file system, and who is told of what is done to it.
#[derive(Debug)]
pub struct WatchedFs {
    base: Arc<dyn FileSystem>,
    watch: Arc<dyn FileWatch>,
}

impl WatchedFs {
    /// Over another file system.
    #[must_use]
    pub fn new(base: Arc<dyn FileSystem>, watch: Arc<dyn FileWatch>) -> Self {
        Self { base, watch }
    }
}

#[derive(Debug)]
struct WatchedFile {
    base: Arc<dyn File>,
    path: PathBuf,
    watch: Arc<dyn FileWatch>,
}

impl WatchedFile {
    fn tell(&self, operation: FileOperation) -> Result<()> {
        self.watch.before(operation, &self.path)
    }
}

impl File for WatchedFile {
    fn read_at(&self, buf: &mut [u8], position: u64) -> Result<usize> {
        self.tell(FileOperation::Read)?;
        self.base.read_at(buf, position)
    }

    fn write_at(&self, buf: &[u8], position: u64) -> Result<()> {
        self.tell(FileOperation::Write)?;
        self.base.write_at(buf, position)
    }

    fn len(&self) -> Result<u64> {
        self.base.len()
    }

    fn identity(&self) -> Result<FileIdentity> {
        self.base.identity()
    }

    fn take_in_growth(&self) -> Result<u64> {
        self.base.take_in_growth()
    }

    fn set_len(&self, len: u64) -> Result<()> {
        self.tell(FileOperation::SetLen)?;
        self.base.set_len(len)
    }

    fn sync(&self) -> Result<()> {
        self.tell(FileOperation::Sync)?;
        self.base.sync()
    }

    fn map(&self, len: u64) -> Result<Mapping> {
        self.tell(FileOperation::Map)?;
        self.base.map(len)
    }

    fn pin(&self, range: Range<u64>, memory: PinMemory) -> Result<PinnedBytes> {
        self.tell(FileOperation::Map)?;
        self.base.pin(range, memory)
    }

    fn is_pinned_behind(&self, len: u64) -> Result<bool> {
        self.base.is_pinned_behind(len)
    }

    fn ready(&self) -> Result<()> {
        self.base.ready()
    }

    fn rest(&self) {
        self.base.rest();
    }

    fn raw_fd(&self) -> Option<RawFd> {
        self.base.raw_fd()
    }
}

impl FileSystem for WatchedFs {
    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn File>> {
        self.watch.before(FileOperation::Open, path)?;
        Ok(Arc::new(WatchedFile {
            base: self.base.open(path, mode)?,
            path: path.to_path_buf(),
            watch: Arc::clone(&self.watch),
        }))
    }

    fn create_dir(&self, path: &Path) -> Result<()> {
        self.watch.before(FileOperation::CreateDir, path)?;
        self.base.create_dir(path)
    }

    fn list(&self, dir: &Path) -> Result<Vec<DirEntry>> {
        self.watch.before(FileOperation::List, dir)?;
        self.base.list(dir)
    }

    fn stat(&self, path: &Path) -> Result<Stat> {
        self.base.stat(path)
    }

    fn canonicalize(&self, path: &Path) -> Result<PathBuf> {
        self.base.canonicalize(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.watch.before(FileOperation::Rename, from)?;
        self.base.rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> Result<()> {
        self.watch.before(FileOperation::Remove, path)?;
        self.base.remove_file(path)
    }

    fn remove_dir(&self, path: &Path) -> Result<()> {
        self.watch.before(FileOperation::Remove, path)?;
        self.base.remove_dir(path)
    }

    fn sync_dir(&self, dir: &Path) -> Result<()> {
        self.watch.before(FileOperation::SyncDir, dir)?;
        self.base.sync_dir(dir)
    }

    fn set_modified(&self, path: &Path, time: TimestampMs) -> Result<()> {
        self.watch.before(FileOperation::SetModified, path)?;
        self.base.set_modified(path, time)
    }

    fn lock(&self, path: &Path) -> Result<Option<Box<dyn FileLock>>> {
        self.watch.before(FileOperation::Lock, path)?;
        self.base.lock(path)
    }
}
