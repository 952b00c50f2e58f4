//! The only code that meets the operating system: files, directories, locks, clocks.
//!
//! Everything above works through two seams, [`FileSystem`] and [`Clock`]. Behind the first stand [`RealFs`] (thin over
//! libc) and, with the feature `sim`, `SimFs` (an in-memory disk that forgets what was not synced, fails on demand and
//! counts). Over either go [`PooledFs`] (few descriptors for many files), [`UnmappedFs`] (copies in place of mappings),
//! [`ReadOnlyFs`] (refuses every change) and [`OverlayFs`] (another file system for reading, memory for every change: how klog
//! looks without writing). For tests there is `WatchedFs`, which tells of each operation before it is done.
//!
//! Promises: errors name the action and the path and keep the errno; a write either stores all bytes or answers an
//! error (some bytes may then be on the disk, the caller cuts them back); no call is retried after a failed sync; every
//! descriptor is close-on-exec; nothing is mapped for writing. Implements design.md 3, c-abi.md 1.11 and 1.12.
#![allow(clippy::disallowed_methods)] // this is the place that the rule keeps free

mod bell;
mod clock;
mod deadline;
mod eventfd;
mod mapping;
mod overlay;
mod pin;
mod pool;
mod read_only;
mod real;
#[cfg(any(test, feature = "sim"))]
pub mod sim;
pub mod thread;
mod unmapped;
mod wait_fd;
#[cfg(any(test, feature = "sim", feature = "test-hooks"))]
mod watched;

use std::ffi::OsString;
use std::fmt::Debug;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};
use crate::types::TimestampMs;

pub use bell::{Bell, Heard};
pub use clock::{Clock, ManualClock, Stopwatch, SystemClock};
pub use deadline::Deadline;
pub use eventfd::EventFd;
pub use mapping::Mapping;
pub use overlay::OverlayFs;
pub use pin::{PinMemory, PinnedBytes};
pub use pool::{PooledFs, default_max_open};
pub use read_only::ReadOnlyFs;
pub use real::RealFs;
#[cfg(any(test, feature = "sim"))]
pub use sim::SimFs;
pub use unmapped::UnmappedFs;
pub use wait_fd::WaitFd;
#[cfg(any(test, feature = "sim", feature = "test-hooks"))]
pub use watched::{FileOperation, FileWatch, WatchedFs};

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// For reading; it must exist.
    Read,
    /// For reading and writing; it must exist.
    ReadWrite,
    /// For reading and writing; created empty if it does not exist.
    Create,
    /// For reading and writing; created, or emptied if it exists.
    Truncate,
}

/// What an entry of a directory is, symbolic links followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Dir,
    /// Anything else: a socket, a device, a dangling link.
    Other,
}

/// One entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirEntry {
    /// The name without its directory; any bytes.
    pub name: OsString,
    /// What it is.
    pub kind: EntryKind,
}

/// What is known of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// What it is.
    pub kind: EntryKind,
    /// Length in bytes.
    pub len: u64,
    /// Bytes that it takes on the disk: fewer than its length if it has holes.
    pub allocated: u64,
    /// Time of the last modification of the content.
    pub modified: TimestampMs,
    /// Which file or directory it is.
    pub identity: FileIdentity,
}

/// Which file or directory something is, whatever its name: equal for two names of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileIdentity {
    /// The device that it is on.
    pub device: u64,
    /// Its number there; that of a removed one is given out again.
    pub inode: u64,
    /// When it was made, in ns, where the system tells: so two are told apart that had one number after each other. Else 0.
    pub born_ns: u128,
}

/// An open file. All calls may run at the same time from any thread.
pub trait File: Send + Sync + Debug {
    /// Reads at `position` until `buf` is full or the file ends; the number of bytes read.
    fn read_at(&self, buf: &mut [u8], position: u64) -> Result<usize>;
    /// Writes all of `buf` at `position`. On an error any prefix of it may have been stored.
    fn write_at(&self, buf: &[u8], position: u64) -> Result<()>;
    /// The length in bytes.
    fn len(&self) -> Result<u64>;
    /// Where the first bytes at or behind `position` are that were ever written: all in front of them are zero. `None` if only
    /// a hole comes, or nothing. Where that cannot be told all bytes count as written.
    fn written_from(&self, position: u64) -> Result<Option<u64>> {
        let len = self.len()?;
        Ok(Some(position).filter(|at| *at < len))
    }
    /// Which file it is, whatever has its name by now.
    fn identity(&self) -> Result<FileIdentity>;
    /// The length in bytes now, also where this is a look that stands still otherwise: what another process appended counts
    /// from here on.
    fn take_in_growth(&self) -> Result<u64> {
        self.len()
    }
    /// Whether the file has no bytes.
    fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }
    /// Cuts the file, or extends it with zeros.
    fn set_len(&self, len: u64) -> Result<()>;
    /// Makes content and length durable. After a failure the content must be taken for lost (hard-cases.md HC41).
    fn sync(&self) -> Result<()>;
    /// The first `len` bytes as memory, for reading. The file must be that long at least.
    fn map(&self, len: u64) -> Result<Mapping>;
    /// A stretch of the file as memory and, where there are descriptors, as a region of one. Both stay as they are, whatever
    /// becomes of this file and its name; [`Self::set_len`] must not cut below it ([`Self::is_pinned_behind`]). A stretch that
    /// the file does not have is CORRUPT_MESSAGE.
    fn pin(&self, range: Range<u64>, _memory: PinMemory) -> Result<PinnedBytes> {
        pin::read_range(self, range).map(PinnedBytes::copied)
    }
    /// Whether somebody in this process holds bytes of the file itself behind the first `len`.
    fn is_pinned_behind(&self, _len: u64) -> Result<bool> {
        Ok(false)
    }
    /// Sees to it that the file is open: what follows at once will not fail for want of a descriptor.
    fn ready(&self) -> Result<()> {
        Ok(())
    }
    /// Gives back what can be taken again by the next use: nobody is known to want the file soon.
    fn rest(&self) {}
    /// The descriptor, where there is one.
    fn raw_fd(&self) -> Option<std::os::fd::RawFd>;
}

/// An exclusive lock on a file, held until this is dropped. Dropping removes the file, then unlocks.
pub trait FileLock: Send + Sync + Debug {}

/// A file system. All calls may run at the same time from any thread.
pub trait FileSystem: Send + Sync + Debug {
    /// Opens a regular file.
    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn File>>;
    /// Makes one directory; its parent exists. An existing directory is not an error.
    fn create_dir(&self, path: &Path) -> Result<()>;
    /// The entries of a directory, in no order.
    fn list(&self, dir: &Path) -> Result<Vec<DirEntry>>;
    /// What a path leads to; an error with ENOENT if nothing.
    fn stat(&self, path: &Path) -> Result<Stat>;
    /// The path without symbolic links and `..`.
    fn canonicalize(&self, path: &Path) -> Result<PathBuf>;
    /// Renames a file or directory, replacing a file of the new name, atomically.
    fn rename(&self, from: &Path, to: &Path) -> Result<()>;
    /// Gives two directories each other's name, atomically. `false` if that cannot be done here; nothing has changed then.
    fn exchange(&self, one: &Path, other: &Path) -> Result<bool> {
        let _ = (one, other);
        Ok(false)
    }
    /// Removes a file.
    fn remove_file(&self, path: &Path) -> Result<()>;
    /// Removes an empty directory.
    fn remove_dir(&self, path: &Path) -> Result<()>;
    /// Makes the names in a directory durable.
    fn sync_dir(&self, dir: &Path) -> Result<()>;
    /// Sets the modification time of a file.
    fn set_modified(&self, path: &Path, time: TimestampMs) -> Result<()>;
    /// Creates `path` if need be and takes an exclusive lock on it without waiting; `None` if another owner has it.
    fn lock(&self, path: &Path) -> Result<Option<Box<dyn FileLock>>>;
}

/// Whether anything is at `path`.
pub fn exists(fs: &dyn FileSystem, path: &Path) -> Result<bool> {
    match fs.stat(path) {
        Ok(_) => Ok(true),
        Err(e) if e.is_not_found() => Ok(false),
        Err(e) => Err(e),
    }
}

/// No checkpoint and no other file of properties or lines is larger: some 250,000 lines.
pub const SMALL_FILE_BYTES_MAX: u64 = 16 << 20;

/// The whole content of a small file; `None` if it does not exist. One above [`SMALL_FILE_BYTES_MAX`] is CORRUPT_STATE before
/// memory is taken for it.
pub fn read_file(fs: &dyn FileSystem, path: &Path) -> Result<Option<Vec<u8>>> {
    read_parsed(fs, path, SMALL_FILE_BYTES_MAX, |content| {
        Ok(content.to_vec())
    })?
    .transpose()
}

/// Reads a small file and takes its content in; `None` if it does not exist. The outer error is one of reading, the inner one of
/// the content: that it cannot be understood, or has more than `bytes_max`, for which no memory is taken.
pub fn read_parsed<T>(
    fs: &dyn FileSystem,
    path: &Path,
    bytes_max: u64,
    parse: impl FnOnce(&[u8]) -> Result<T>,
) -> Result<Option<Result<T>>> {
    let (file, len) = match open_bounded(fs, path, bytes_max)? {
        None => return Ok(None),
        Some(Err(e)) => return Ok(Some(Err(e))),
        Some(Ok(opened)) => opened,
    };
    let mut content = vec![0; crate::types::to_usize(len)];
    let read = file.read_at(&mut content, 0)?;
    content.truncate(read);
    Ok(Some(parse(&content)))
}

/// Opens a file for reading, and how long it is; `None` if it does not exist. The inner error is that it has more than
/// `bytes_max`.
#[allow(
    clippy::type_complexity,
    reason = "as read_parsed, of which it is the beginning"
)]
pub fn open_bounded(
    fs: &dyn FileSystem,
    path: &Path,
    bytes_max: u64,
) -> Result<Option<Result<(Arc<dyn File>, u64)>>> {
    let file = match fs.open(path, OpenMode::Read) {
        Ok(file) => file,
        Err(e) if e.is_not_found() => return Ok(None),
        Err(e) => return Err(e),
    };
    let len = file.len()?;
    if len > bytes_max {
        return Ok(Some(Err(Error::new(
            ErrorKind::CorruptState,
            format!("it has {len} bytes, more than the {bytes_max} that such a file can have"),
        )
        .in_file(path))));
    }
    Ok(Some(Ok((file, len))))
}

/// Removes a file; that it is not there is fine. Whether it was.
pub fn remove_file_if_exists(fs: &dyn FileSystem, path: &Path) -> Result<bool> {
    match fs.remove_file(path) {
        Ok(()) => Ok(true),
        Err(e) if e.is_not_found() => Ok(false),
        Err(e) => Err(e),
    }
}

/// Makes the name of an existing file or directory durable in its parent, where that may be opened.
pub fn sync_name(fs: &dyn FileSystem, path: &Path) -> Result<()> {
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty());
    match parent.map(|parent| fs.sync_dir(parent)) {
        Some(Err(e)) if !matches!(e.os_errno(), Some(libc::EACCES | libc::EPERM)) => Err(e),
        _ => Ok(()),
    }
}

/// Makes a directory and those above it that are missing, each made durable in its parent (manager.md 1.3 step 2). So is
/// the lowest that exists: an earlier call may not have got that far.
pub fn create_dir_all(fs: &dyn FileSystem, path: &Path) -> Result<()> {
    if exists(fs, path)? {
        return sync_name(fs, path);
    }
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty());
    if let Some(parent) = parent {
        create_dir_all(fs, parent)?;
    }
    fs.create_dir(path)?;
    match parent {
        Some(parent) => fs.sync_dir(parent),
        None => Ok(()),
    }
}

/// Replaces a small file so that a power cut leaves the old or the new content, never a mixture: write `NAME.tmp`,
/// sync, rename, sync the directory (records.md 10.6).
pub fn replace_file(fs: &dyn FileSystem, path: &Path, content: &[u8]) -> Result<()> {
    replace_file_unnamed(fs, path, content)?;
    match path.parent() {
        Some(dir) => fs.sync_dir(dir),
        None => Ok(()),
    }
}

/// As [`replace_file`] without the sync of its directory: after a power cut the file is the old or the new one, and whole.
pub fn replace_file_unnamed(fs: &dyn FileSystem, path: &Path, content: &[u8]) -> Result<()> {
    replace_file_by(fs, path, content, |file| file.sync())
}

/// As [`replace_file`] without any sync: whole after a crash of the process, anything after a power cut.
pub fn replace_file_loosely(fs: &dyn FileSystem, path: &Path, content: &[u8]) -> Result<()> {
    replace_file_by(fs, path, content, |_| Ok(()))
}

fn replace_file_by(
    fs: &dyn FileSystem,
    path: &Path,
    content: &[u8],
    sync: impl FnOnce(&dyn File) -> Result<()>,
) -> Result<()> {
    let mut tmp = path.as_os_str().to_owned();
    tmp.push(".tmp");
    let tmp = PathBuf::from(tmp);
    let file = fs.open(&tmp, OpenMode::Truncate)?;
    file.write_at(content, 0)?;
    sync(&*file)?;
    drop(file);
    fs.rename(&tmp, path)
}
