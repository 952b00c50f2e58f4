//! The operating system's files, thin over std and libc.

use std::ffi::CString;
use std::fs;
use std::ops::Range;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use super::pin::{self, Pin, PinMemory, PinnedBytes};
use super::{
    DirEntry, EntryKind, File, FileIdentity, FileLock, FileSystem, Mapping, OpenMode, Stat,
};
use crate::error::{Error, Result};
use crate::types::{TimestampMs, to_usize};

/// The operating system's file system.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealFs;

#[derive(Debug)]
struct RealFile {
    file: fs::File,
    /// The name at opening, for messages.
    path: Box<Path>,
}

fn kind_of(metadata: &fs::Metadata) -> EntryKind {
    if metadata.is_file() {
        EntryKind::File
    } else if metadata.is_dir() {
        EntryKind::Dir
    } else {
        EntryKind::Other
    }
}

/// Milliseconds of a file time, cut as Java's `File.lastModified` cuts them.
fn modified_ms(metadata: &fs::Metadata) -> TimestampMs {
    TimestampMs(
        metadata
            .mtime()
            .saturating_mul(1000)
            .saturating_add(metadata.mtime_nsec() / 1_000_000),
    )
}

fn identity_of(metadata: &fs::Metadata) -> FileIdentity {
    // Not every file system tells when a file was made.
    let born = metadata.created().ok();
    let since = born.and_then(|born| born.duration_since(UNIX_EPOCH).ok());
    FileIdentity {
        device: metadata.dev(),
        inode: metadata.ino(),
        born_ns: since.map_or(0, |since| since.as_nanos()),
    }
}

impl File for RealFile {
    fn read_at(&self, buf: &mut [u8], position: u64) -> Result<usize> {
        let mut done = 0;
        while let Some(rest) = buf.get_mut(done..).filter(|rest| !rest.is_empty()) {
            match self.file.read_at(rest, position + done as u64) {
                Ok(0) => break,
                Ok(n) => done += n,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(Error::from_io("read", &self.path, &e).at_position(position)),
            }
        }
        Ok(done)
    }

    fn write_at(&self, buf: &[u8], position: u64) -> Result<()> {
        self.file
            .write_all_at(buf, position)
            .map_err(|e| Error::from_io("write", &self.path, &e).at_position(position))
    }

    fn len(&self) -> Result<u64> {
        let metadata = self
            .file
            .metadata()
            .map_err(|e| Error::from_io("stat", &self.path, &e))?;
        if kind_of(&metadata) == EntryKind::Other {
            // A pipe has no length, and neither a position to read at.
            let error = std::io::Error::from_raw_os_error(libc::ESPIPE);
            return Err(Error::from_io("measure", &self.path, &error)
                .context("a pipe, a socket or a device where a file has to be"));
        }
        Ok(metadata.len())
    }

    fn written_from(&self, position: u64) -> Result<Option<u64>> {
        let Ok(from) = libc::off_t::try_from(position) else {
            return Ok(None);
        };
        // SAFETY: the descriptor is open as long as `file`. Nothing here reads or writes at the position of the descriptor.
        let at = unsafe { libc::lseek(self.file.as_raw_fd(), from, libc::SEEK_DATA) };
        if let Ok(at) = u64::try_from(at) {
            return Ok(Some(at));
        }
        let error = std::io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::ENXIO) => Ok(None),
            // This file system does not tell.
            Some(libc::EINVAL) => Ok(Some(position)),
            _ => Err(Error::from_io("seek in", &self.path, &error).at_position(position)),
        }
    }

    fn identity(&self) -> Result<FileIdentity> {
        let metadata = self.file.metadata();
        let metadata = metadata.map_err(|e| Error::from_io("stat", &self.path, &e))?;
        Ok(identity_of(&metadata))
    }

    fn set_len(&self, len: u64) -> Result<()> {
        self.file
            .set_len(len)
            .map_err(|e| Error::from_io("resize", &self.path, &e).at_position(len))
    }

    fn sync(&self) -> Result<()> {
        // fdatasync: it covers the length, and nothing here depends on other metadata.
        self.file
            .sync_data()
            .map_err(|e| Error::from_sync(&self.path, &e))
    }

    fn map(&self, len: u64) -> Result<Mapping> {
        if len == 0 {
            return Ok(Mapping::from_bytes(Vec::new()));
        }
        // SAFETY: the mapping is read-only and not longer than the file, which `map` requires of its caller. klog
        // itself never cuts a file that is mapped; readers check the length before they touch a mapping of a file that
        // another process may cut (HC42). The bytes are only ever read as plain bytes, so a concurrent change can give
        // wrong bytes, which checksums find, but no invalid value.
        let map = unsafe {
            memmap2::MmapOptions::new()
                .len(to_usize(len))
                .map(&self.file)
        };
        map.map(Mapping::from_mmap)
            .map_err(|e| Error::from_io("map", &self.path, &e))
    }

    fn pin(&self, range: Range<u64>, memory: PinMemory) -> Result<PinnedBytes> {
        if range.is_empty() {
            return Ok(PinnedBytes::copied(Vec::new()));
        }
        let fd = OwnedFd::from(
            self.file
                .try_clone()
                .map_err(|e| Error::from_io("duplicate the descriptor of", &self.path, &e))?,
        );
        // Before the length is looked at: from now on nobody here cuts the file below the end.
        let pin = Pin::new(self.identity()?, range.end);
        if self.len()? < range.end {
            return Err(pin::cut_by_another(range.end).in_file(&self.path));
        }
        if memory == PinMemory::Mapped {
            let len = to_usize(range.end - range.start);
            let mut options = memmap2::MmapOptions::new();
            options.offset(range.start).len(len);
            // SAFETY: as in `map`; the pin keeps klog from cutting the file below the end of the mapping.
            match unsafe { options.map(&self.file) } {
                Ok(map) => return Ok(PinnedBytes::mapped(map, fd, range.start, pin)),
                Err(e) if e.raw_os_error() == Some(libc::ENOMEM) => {
                    return Err(Error::from_io("map", &self.path, &e));
                }
                // Not every file system has mappings.
                Err(_) => {}
            }
        }
        let bytes = pin::read_range(self, range.clone())?;
        Ok(PinnedBytes::beside_file(bytes, fd, range.start, pin))
    }

    fn is_pinned_behind(&self, len: u64) -> Result<bool> {
        Ok(pin::is_pinned_behind(self.identity()?, len))
    }

    fn raw_fd(&self) -> Option<RawFd> {
        Some(self.file.as_raw_fd())
    }
}

impl FileSystem for RealFs {
    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn File>> {
        let mut options = fs::OpenOptions::new();
        // A pipe in place of a file must not be waited for; files themselves know nothing of it.
        options.read(true).custom_flags(libc::O_NONBLOCK);
        match mode {
            OpenMode::Read => {}
            OpenMode::ReadWrite => {
                options.write(true);
            }
            OpenMode::Create => {
                options.write(true).create(true);
            }
            OpenMode::Truncate => {
                options.write(true).create(true).truncate(true);
            }
        }
        let file = options
            .open(path)
            .map_err(|e| Error::from_io("open", path, &e))?;
        Ok(Arc::new(RealFile {
            file,
            path: path.into(),
        }))
    }

    fn create_dir(&self, path: &Path) -> Result<()> {
        match fs::create_dir(path) {
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
            other => other.map_err(|e| Error::from_io("create directory", path, &e)),
        }
    }

    fn list(&self, dir: &Path) -> Result<Vec<DirEntry>> {
        let fail = |e: std::io::Error| Error::from_io("list", dir, &e);
        let mut entries = Vec::new();
        for entry in fs::read_dir(dir).map_err(fail)? {
            let entry = entry.map_err(fail)?;
            let kind = match entry.file_type().map_err(fail)? {
                t if t.is_file() => EntryKind::File,
                t if t.is_dir() => EntryKind::Dir,
                t if t.is_symlink() => {
                    fs::metadata(entry.path()).map_or(EntryKind::Other, |m| kind_of(&m))
                }
                _ => EntryKind::Other,
            };
            entries.push(DirEntry {
                name: entry.file_name(),
                kind,
            });
        }
        Ok(entries)
    }

    fn stat(&self, path: &Path) -> Result<Stat> {
        let metadata = fs::metadata(path).map_err(|e| Error::from_io("stat", path, &e))?;
        Ok(Stat {
            kind: kind_of(&metadata),
            len: metadata.len(),
            // In units of 512 bytes, whatever the file system's own are.
            allocated: metadata.blocks() * 512,
            modified: modified_ms(&metadata),
            identity: identity_of(&metadata),
        })
    }

    fn canonicalize(&self, path: &Path) -> Result<PathBuf> {
        fs::canonicalize(path).map_err(|e| Error::from_io("resolve", path, &e))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        fs::rename(from, to).map_err(|e| {
            Error::from_io("rename", from, &e).context(format_args!("renaming to {}", to.display()))
        })
    }

    fn exchange(&self, one: &Path, other: &Path) -> Result<bool> {
        let name = |path: &Path| CString::new(path.as_os_str().as_bytes());
        let (Ok(first), Ok(second)) = (name(one), name(other)) else {
            return Ok(false);
        };
        // SAFETY: both are strings that end with 0 and live as long as the call.
        let answer = unsafe {
            libc::renameat2(
                libc::AT_FDCWD,
                first.as_ptr(),
                libc::AT_FDCWD,
                second.as_ptr(),
                libc::RENAME_EXCHANGE,
            )
        };
        if answer == 0 {
            return Ok(true);
        }
        let error = std::io::Error::last_os_error();
        match error.raw_os_error() {
            // The file system, or the kernel, does not know how.
            Some(libc::EINVAL | libc::ENOSYS | libc::EOPNOTSUPP | libc::EXDEV) => Ok(false),
            _ => Err(Error::from_io("exchange", one, &error)
                .context(format_args!("exchanging with {}", other.display()))),
        }
    }

    fn remove_file(&self, path: &Path) -> Result<()> {
        fs::remove_file(path).map_err(|e| Error::from_io("remove", path, &e))
    }

    fn remove_dir(&self, path: &Path) -> Result<()> {
        fs::remove_dir(path).map_err(|e| Error::from_io("remove directory", path, &e))
    }

    fn sync_dir(&self, dir: &Path) -> Result<()> {
        let file = fs::File::open(dir).map_err(|e| Error::from_io("open directory", dir, &e))?;
        file.sync_all().map_err(|e| Error::from_sync(dir, &e))
    }

    fn set_modified(&self, path: &Path, time: TimestampMs) -> Result<()> {
        let fail = |e: std::io::Error| Error::from_io("set the time of", path, &e);
        let file = fs::File::open(path).map_err(fail)?;
        let time = UNIX_EPOCH + Duration::from_millis(u64::try_from(time.0).unwrap_or(0));
        file.set_modified(time).map_err(fail)
    }

    fn lock(&self, path: &Path) -> Result<Option<Box<dyn FileLock>>> {
        loop {
            let file = fs::OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(path)
                .map_err(|e| Error::from_io("open lock file", path, &e))?;
            if !try_lock_whole_file(&file).map_err(|e| Error::from_io("lock", path, &e))? {
                return Ok(None);
            }
            // The owner before us may have removed the file between our open and our lock; a lock on a file without a
            // name protects nothing (manager.md 1.5).
            let held = file
                .metadata()
                .map_err(|e| Error::from_io("stat", path, &e))?;
            match fs::metadata(path) {
                Ok(named) if (named.dev(), named.ino()) == (held.dev(), held.ino()) => {
                    let owner = std::process::id();
                    return Ok(Some(Box::new(OfdLock {
                        _file: file,
                        path: path.to_path_buf(),
                        owner,
                    })));
                }
                Ok(_) => {}
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
                Err(e) => return Err(Error::from_io("stat", path, &e)),
            }
        }
    }
}

/// An open-file-description lock: it conflicts with a JVM's lock on the same file, in this process and in others, and
/// does not vanish when something else in this process closes the file.
#[derive(Debug)]
struct OfdLock {
    _file: fs::File,
    path: PathBuf,
    /// The process that took it: a forked child shares the lock and may not end it.
    owner: u32,
}

impl FileLock for OfdLock {}

impl Drop for OfdLock {
    fn drop(&mut self) {
        // Kafka removes the file too; that it is gone already is fine. Closing the descriptor unlocks.
        if std::process::id() == self.owner {
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[allow(clippy::cast_possible_truncation)] // constants of libc, all small
fn try_lock_whole_file(file: &fs::File) -> std::io::Result<bool> {
    // SAFETY: all fields of flock are integers, for which zero is a value.
    let mut range: libc::flock = unsafe { std::mem::zeroed() };
    range.l_type = libc::F_WRLCK as libc::c_short;
    range.l_whence = libc::SEEK_SET as libc::c_short;
    // Start 0 and length 0: to the end of the file however it grows, the range that Java locks.
    // SAFETY: the descriptor is open for the duration of the call, and `range` outlives it.
    let answer = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const range) };
    if answer == 0 {
        return Ok(true);
    }
    let error = std::io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::EAGAIN | libc::EACCES) => Ok(false),
        _ => Err(error),
    }
}

/// How many descriptors this process may have.
pub(super) fn descriptor_limit() -> u64 {
    // SAFETY: integers, for which zero is a value.
    let mut limit: libc::rlimit = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes into a struct of its own type.
    match unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } {
        0 => limit.rlim_cur,
        // What every system has by default.
        _ => 1024,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_excludes_another_owner_also_by_another_path_and_leaves_no_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("d");
        RealFs.create_dir(&path).unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let held = RealFs.lock(&path.join(".lock")).unwrap();
        assert!(held.is_some());
        assert!(RealFs.lock(&path.join(".lock")).unwrap().is_none());
        assert!(RealFs.lock(&link.join(".lock")).unwrap().is_none());
        drop(held);
        assert!(!path.join(".lock").exists());
        assert!(RealFs.lock(&path.join(".lock")).unwrap().is_some());
    }

    #[test]
    fn the_real_and_the_simulated_disk_answer_alike() {
        let dir = tempfile::tempdir().unwrap();
        let sim = super::super::SimFs::new();
        let answers = |fs: &dyn FileSystem, root: &Path| -> Vec<String> {
            let mut said = Vec::new();
            let mut say = |what: &str, answer: Result<String>| {
                said.push(match answer {
                    Ok(text) => format!("{what}: {text}"),
                    Err(e) => format!("{what}: errno {:?}", e.os_errno()),
                });
            };
            let p = |name: &str| root.join(name);
            say(
                "no file",
                fs.open(&p("a"), OpenMode::Read).map(|_| String::new()),
            );
            say(
                "no dir",
                fs.open(&p("x/a"), OpenMode::Create).map(|_| String::new()),
            );
            say("mkdir", fs.create_dir(&p("d")).map(|()| String::new()));
            say(
                "mkdir again",
                fs.create_dir(&p("d")).map(|()| String::new()),
            );
            say(
                "open a directory",
                fs.open(&p("d"), OpenMode::ReadWrite).map(|_| String::new()),
            );
            let file = fs.open(&p("d/a"), OpenMode::Create).unwrap();
            say(
                "write with a gap",
                file.write_at(b"abc", 5).map(|()| String::new()),
            );
            say(
                "read",
                crate::io::read_file(fs, &p("d/a")).map(|c| format!("{c:?}")),
            );
            say(
                "remove a full directory",
                fs.remove_dir(&p("d")).map(|()| String::new()),
            );
            say(
                "rename",
                fs.rename(&p("d/a"), &p("d/b")).map(|()| String::new()),
            );
            say(
                "write under the new name",
                file.write_at(b"z", 0).map(|()| String::new()),
            );
            say(
                "read renamed",
                crate::io::read_file(fs, &p("d/b")).map(|c| format!("{c:?}")),
            );
            say(
                "rename nothing",
                fs.rename(&p("d/a"), &p("d/c")).map(|()| String::new()),
            );
            say("remove", fs.remove_file(&p("d/b")).map(|()| String::new()));
            say(
                "remove again",
                fs.remove_file(&p("d/b")).map(|()| String::new()),
            );
            say(
                "remove a directory as a file",
                fs.remove_file(&p("d")).map(|()| String::new()),
            );
            say("list", fs.list(&p("d")).map(|l| format!("{l:?}")));
            say("rmdir", fs.remove_dir(&p("d")).map(|()| String::new()));
            said
        };
        assert_eq!(answers(&RealFs, dir.path()), answers(&sim, Path::new("/")));
    }

    #[test]
    fn a_mapping_shows_the_bytes_of_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let file = RealFs
            .open(&dir.path().join("a"), OpenMode::Create)
            .unwrap();
        assert!(file.map(0).unwrap().is_empty());
        file.write_at(b"hello", 0).unwrap();
        assert_eq!(&*file.map(4).unwrap(), b"hell");
    }
}
