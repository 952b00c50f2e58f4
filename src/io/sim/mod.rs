//! A disk in memory that behaves as badly as a real one may.
//!
//! It knows which bytes and which names were synced. It can cut the power (what was not synced is kept, dropped or torn,
//! by seed), fail any operation with any errno, fill up, and it counts what is done to it. All crash tests of klog run
//! on it, and programs that embed klog can run theirs (feature `sim`).
//!
//! The model of a power cut is deliberately harsher than one file system's: unsynced writes of a file survive or not one
//! by one, in units of a sector; unsynced changes of a directory survive or not one by one, a rename as a whole. A sync
//! of a file makes its content and length durable, not its name. Implements design.md 3 and 5.

mod disk;
mod power;

use std::fmt;
use std::os::fd::RawFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use super::{
    DirEntry, EntryKind, File, FileIdentity, FileLock, FileSystem, Mapping, OpenMode, Stat,
};
use crate::error::{Error, Result};
use crate::types::{TimestampMs, to_usize};
use disk::{Disk, Ino};

/// What is done to the disk, as it is counted, failed and traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OpKind {
    /// A file is opened without being made.
    Open,
    /// A file is made, or emptied on opening.
    Create,
    /// Bytes are read.
    Read,
    /// Bytes are written.
    Write,
    /// A file is cut or extended.
    SetLen,
    /// A file is synced.
    Sync,
    /// A directory is made.
    CreateDir,
    /// A name is changed.
    Rename,
    /// A file or directory is removed.
    Remove,
    /// A directory is synced.
    SyncDir,
    /// A directory is listed, or a path looked up.
    Look,
}

impl OpKind {
    /// Whether it changes what the disk holds or what is durable.
    #[must_use]
    pub fn is_change(self) -> bool {
        !matches!(self, Self::Open | Self::Read | Self::Look)
    }
}

/// One operation as [`SimFs::trace`] lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Op {
    /// What was done.
    pub kind: OpKind,
    /// To which file or directory.
    pub path: PathBuf,
    /// How many bytes were read or written.
    pub bytes: usize,
}

/// A failure to come.
#[derive(Clone)]
pub struct Fault {
    /// Which operations count; all of them when `None`.
    pub kind: Option<OpKind>,
    /// Which paths count: those that contain this text.
    pub path_part: String,
    /// How many matching operations still succeed before.
    pub skip: u64,
    /// How many fail then; `u64::MAX` for ever.
    pub times: u64,
    /// The error number.
    pub errno: i32,
    /// Of a failing write, how many bytes are stored all the same.
    pub stored_bytes: usize,
}

impl Fault {
    /// The next operation of `kind` on a path with `path_part` fails once with `errno`.
    #[must_use]
    pub fn once(kind: OpKind, path_part: &str, errno: i32) -> Self {
        Self {
            kind: Some(kind),
            path_part: path_part.to_owned(),
            skip: 0,
            times: 1,
            errno,
            stored_bytes: 0,
        }
    }
}

/// How often each thing was done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Operations that change something ([`OpKind::is_change`]).
    pub changes: u64,
    /// Reads of bytes, and the bytes.
    pub reads: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Writes of bytes.
    pub writes: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Syncs of files.
    pub syncs: u64,
    /// Syncs of directories.
    pub dir_syncs: u64,
}

/// The simulated file system. Clones share one disk.
#[derive(Clone)]
pub struct SimFs {
    shared: Arc<Mutex<Shared>>,
}

struct Shared {
    disk: Disk,
    counts: Counts,
    faults: Vec<Fault>,
    capacity_bytes: u64,
    powered: bool,
    trace: Option<Vec<Op>>,
    snapshots: Option<Vec<Disk>>,
    all_pinned: bool,
}

impl fmt::Debug for SimFs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimFs").finish_non_exhaustive()
    }
}

impl Default for SimFs {
    fn default() -> Self {
        Self::new()
    }
}

impl SimFs {
    /// An empty disk with a root directory.
    #[must_use]
    pub fn new() -> Self {
        Self::on(Disk::new())
    }

    fn on(disk: Disk) -> Self {
        let shared = Shared {
            disk,
            counts: Counts::default(),
            faults: Vec::new(),
            capacity_bytes: u64::MAX,
            powered: true,
            trace: None,
            snapshots: None,
            all_pinned: false,
        };
        Self {
            shared: Arc::new(Mutex::new(shared)),
        }
    }

    /// The disk as it is found after the power failed now and came back. What was synced is there; what was not is
    /// kept, dropped or torn as `seed` decides. This disk goes on as if nothing had happened.
    #[must_use]
    pub fn after_power_cut(&self, seed: u64) -> Self {
        Self::on(power::cut(&self.shared.lock().disk, seed))
    }

    /// The disk as a process finds it that starts after this one was killed: everything written is there.
    #[must_use]
    pub fn after_kill(&self) -> Self {
        Self::on(self.shared.lock().disk.without_locks())
    }

    /// Makes everything durable that the disk holds, as `sync(1)` does.
    pub fn sync_all(&self) {
        self.shared.lock().disk.sync_all();
    }

    /// From now on the state of the disk before each change is kept; [`Self::take_moments`] gives them.
    pub fn record_moments(&self) {
        self.shared.lock().snapshots = Some(Vec::new());
    }

    /// The disk as it was before each change since [`Self::record_moments`], and as it is now: every moment at which
    /// the power can fail.
    #[must_use]
    pub fn take_moments(&self) -> Vec<Self> {
        let mut shared = self.shared.lock();
        let mut moments = shared.snapshots.take().unwrap_or_default();
        moments.push(shared.disk.clone());
        moments.into_iter().map(Self::on).collect()
    }

    /// From now on somebody is taken to hold all bytes of every file ([`File::is_pinned_behind`]).
    pub fn pin_everything(&self) {
        self.shared.lock().all_pinned = true;
    }

    /// Adds a failure to come.
    pub fn inject(&self, fault: Fault) {
        self.shared.lock().faults.push(fault);
    }

    /// Forgets the failures to come.
    pub fn clear_faults(&self) {
        self.shared.lock().faults.clear();
    }

    /// How many bytes all files together may have; writes beyond it store what fits and fail with ENOSPC.
    pub fn set_capacity(&self, bytes: u64) {
        self.shared.lock().capacity_bytes = bytes;
    }

    /// What was done so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.shared.lock().counts.clone()
    }

    /// From now on operations are listed.
    pub fn start_trace(&self) {
        self.shared.lock().trace = Some(Vec::new());
    }

    /// The operations since [`Self::start_trace`].
    #[must_use]
    pub fn trace(&self) -> Vec<Op> {
        self.shared.lock().trace.clone().unwrap_or_default()
    }

    /// All files below `dir` with their content, by path; for comparing.
    #[must_use]
    pub fn files_below(&self, dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
        self.shared.lock().disk.files_below(dir)
    }
}

impl Shared {
    /// Counts an operation and lets it fail if it is due to; a failing write says how many bytes it stores first.
    fn before(
        &mut self,
        kind: OpKind,
        path: &Path,
        bytes: usize,
    ) -> std::result::Result<(), (Error, usize)> {
        if !self.powered {
            return Err((os_error("use", path, libc::EIO), 0));
        }
        if kind.is_change() {
            if let Some(snapshots) = &mut self.snapshots {
                snapshots.push(self.disk.clone());
            }
            self.counts.changes += 1;
        }
        match kind {
            OpKind::Read => {
                self.counts.reads += 1;
                self.counts.bytes_read += bytes as u64;
            }
            OpKind::Write => {
                self.counts.writes += 1;
                self.counts.bytes_written += bytes as u64;
            }
            OpKind::Sync => self.counts.syncs += 1,
            OpKind::SyncDir => self.counts.dir_syncs += 1,
            _ => {}
        }
        if let Some(trace) = &mut self.trace {
            trace.push(Op {
                kind,
                path: path.to_path_buf(),
                bytes,
            });
        }
        for fault in &mut self.faults {
            let matches = fault.kind.is_none_or(|k| k == kind)
                && path.to_string_lossy().contains(&fault.path_part)
                && fault.times > 0;
            if !matches {
                continue;
            }
            if fault.skip > 0 {
                fault.skip -= 1;
                continue;
            }
            fault.times = if fault.times == u64::MAX {
                u64::MAX
            } else {
                fault.times - 1
            };
            let opens =
                kind == OpKind::SyncDir && matches!(fault.errno, libc::EMFILE | libc::ENFILE);
            let error = match kind {
                // A directory is opened to be synced, and that alone can lack descriptors.
                OpKind::Sync | OpKind::SyncDir if !opens => {
                    Error::from_sync(path, &std::io::Error::from_raw_os_error(fault.errno))
                }
                _ => os_error("use", path, fault.errno),
            };
            return Err((error, fault.stored_bytes.min(bytes)));
        }
        Ok(())
    }

    fn check(&mut self, kind: OpKind, path: &Path) -> Result<()> {
        self.before(kind, path, 0).map_err(|(error, _)| error)
    }
}

fn os_error(action: &str, path: &Path, errno: i32) -> Error {
    Error::from_io(action, path, &std::io::Error::from_raw_os_error(errno))
}

impl FileSystem for SimFs {
    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn File>> {
        let mut shared = self.shared.lock();
        let existing = shared.disk.lookup(path);
        let changes = match (existing, mode) {
            (Some(_), OpenMode::Truncate) | (None, OpenMode::Create | OpenMode::Truncate) => {
                OpKind::Create
            }
            _ => OpKind::Open,
        };
        shared.check(changes, path)?;
        let ino = match existing {
            Some(ino) if shared.disk.is_dir(ino) => {
                return Err(os_error("open", path, libc::EISDIR));
            }
            Some(ino) => {
                if mode == OpenMode::Truncate {
                    shared.disk.set_len(ino, 0);
                }
                ino
            }
            None if changes == OpKind::Create => shared
                .disk
                .create_file(path)
                .map_err(|errno| os_error("create", path, errno))?,
            None => return Err(os_error("open", path, libc::ENOENT)),
        };
        Ok(Arc::new(SimFile {
            fs: self.clone(),
            ino,
            path: path.to_path_buf(),
        }))
    }

    fn create_dir(&self, path: &Path) -> Result<()> {
        let mut shared = self.shared.lock();
        if shared
            .disk
            .lookup(path)
            .is_some_and(|ino| shared.disk.is_dir(ino))
        {
            return Ok(());
        }
        shared.check(OpKind::CreateDir, path)?;
        shared
            .disk
            .create_dir(path)
            .map_err(|errno| os_error("create directory", path, errno))
    }

    fn list(&self, dir: &Path) -> Result<Vec<DirEntry>> {
        let mut shared = self.shared.lock();
        shared.check(OpKind::Look, dir)?;
        shared
            .disk
            .list(dir)
            .map_err(|errno| os_error("list", dir, errno))
    }

    fn stat(&self, path: &Path) -> Result<Stat> {
        let mut shared = self.shared.lock();
        shared.check(OpKind::Look, path)?;
        let ino = shared
            .disk
            .lookup(path)
            .ok_or_else(|| os_error("stat", path, libc::ENOENT))?;
        Ok(shared.disk.stat(ino))
    }

    fn canonicalize(&self, path: &Path) -> Result<PathBuf> {
        let shared = self.shared.lock();
        shared
            .disk
            .lookup(path)
            .ok_or_else(|| os_error("resolve", path, libc::ENOENT))?;
        Ok(path.components().collect())
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        let mut shared = self.shared.lock();
        shared.check(OpKind::Rename, from)?;
        shared
            .disk
            .rename(from, to)
            .map_err(|errno| os_error("rename", from, errno))
    }

    fn remove_file(&self, path: &Path) -> Result<()> {
        let mut shared = self.shared.lock();
        shared.check(OpKind::Remove, path)?;
        shared
            .disk
            .remove(path, EntryKind::File)
            .map_err(|errno| os_error("remove", path, errno))
    }

    fn remove_dir(&self, path: &Path) -> Result<()> {
        let mut shared = self.shared.lock();
        shared.check(OpKind::Remove, path)?;
        shared
            .disk
            .remove(path, EntryKind::Dir)
            .map_err(|errno| os_error("remove directory", path, errno))
    }

    fn sync_dir(&self, dir: &Path) -> Result<()> {
        let mut shared = self.shared.lock();
        shared.check(OpKind::SyncDir, dir)?;
        shared
            .disk
            .sync_dir(dir)
            .map_err(|errno| os_error("sync directory", dir, errno))
    }

    fn set_modified(&self, path: &Path, time: TimestampMs) -> Result<()> {
        let mut shared = self.shared.lock();
        let ino = shared
            .disk
            .lookup(path)
            .ok_or_else(|| os_error("set the time of", path, libc::ENOENT))?;
        shared.disk.set_modified(ino, time);
        Ok(())
    }

    fn lock(&self, path: &Path) -> Result<Option<Box<dyn FileLock>>> {
        drop(self.open(path, OpenMode::Create)?);
        let taken = self.shared.lock().disk.take_lock(path);
        Ok(taken.then(|| {
            Box::new(SimLock {
                fs: self.clone(),
                path: path.to_path_buf(),
            }) as Box<dyn FileLock>
        }))
    }
}

#[derive(Debug)]
struct SimLock {
    fs: SimFs,
    path: PathBuf,
}

impl FileLock for SimLock {}

impl Drop for SimLock {
    fn drop(&mut self) {
        let _ = self.fs.remove_file(&self.path);
        self.fs.shared.lock().disk.release_lock(&self.path);
    }
}

#[derive(Debug)]
struct SimFile {
    fs: SimFs,
    ino: Ino,
    path: PathBuf,
}

impl File for SimFile {
    fn read_at(&self, buf: &mut [u8], position: u64) -> Result<usize> {
        let mut shared = self.fs.shared.lock();
        shared
            .before(OpKind::Read, &self.path, buf.len())
            .map_err(|(error, _)| error.at_position(position))?;
        let content = shared.disk.content(self.ino);
        let from = to_usize(position).min(content.len());
        let n = buf.len().min(content.len() - from);
        buf[..n].copy_from_slice(&content[from..from + n]);
        Ok(n)
    }

    fn write_at(&self, buf: &[u8], position: u64) -> Result<()> {
        let mut shared = self.fs.shared.lock();
        if let Err((error, stored)) = shared.before(OpKind::Write, &self.path, buf.len()) {
            shared.disk.write(self.ino, position, &buf[..stored]);
            return Err(error.at_position(position));
        }
        let end = position + buf.len() as u64;
        let grows = end.saturating_sub(shared.disk.content(self.ino).len() as u64);
        let room = match shared.capacity_bytes {
            u64::MAX => u64::MAX,
            capacity => capacity.saturating_sub(shared.disk.bytes_used()),
        };
        if grows > room {
            let stored = buf.len() - to_usize((grows - room).min(buf.len() as u64));
            shared.disk.write(self.ino, position, &buf[..stored]);
            return Err(os_error("write", &self.path, libc::ENOSPC).at_position(position));
        }
        shared.disk.write(self.ino, position, buf);
        Ok(())
    }

    fn len(&self) -> Result<u64> {
        Ok(self.fs.shared.lock().disk.content(self.ino).len() as u64)
    }

    fn identity(&self) -> Result<FileIdentity> {
        Ok(disk::identity_of(self.ino))
    }

    fn set_len(&self, len: u64) -> Result<()> {
        let mut shared = self.fs.shared.lock();
        shared.check(OpKind::SetLen, &self.path)?;
        shared.disk.set_len(self.ino, to_usize(len));
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        let mut shared = self.fs.shared.lock();
        shared.check(OpKind::Sync, &self.path)?;
        shared.disk.sync_file(self.ino);
        Ok(())
    }

    fn map(&self, len: u64) -> Result<Mapping> {
        let shared = self.fs.shared.lock();
        let content = shared.disk.content(self.ino);
        let len = to_usize(len).min(content.len());
        Ok(Mapping::from_bytes(content[..len].to_vec()))
    }

    fn is_pinned_behind(&self, len: u64) -> Result<bool> {
        let shared = self.fs.shared.lock();
        Ok(shared.all_pinned && shared.disk.content(self.ino).len() as u64 > len)
    }

    fn raw_fd(&self) -> Option<RawFd> {
        None
    }
}

#[cfg(test)]
mod tests;
