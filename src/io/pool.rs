//! Many files over few descriptors: files that are in use are closed when others are wanted, and opened again when they are.
//!
//! What was written to a file is synced before it is closed: the system tells a failed write-back to descriptors that are
//! open, and a later sync must not be told that all is well. A file whose name goes keeps its descriptor: it could not be
//! opened again.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use arc_swap::{ArcSwap, ArcSwapOption};
use parking_lot::Mutex;

use super::{
    DirEntry, File, FileIdentity, FileLock, FileSystem, Mapping, OpenMode, PinMemory, PinnedBytes,
    Stat,
};
use crate::error::{Error, ErrorKind, Result};
use crate::types::TimestampMs;

/// Descriptors that are left to the host program and to what klog opens besides.
const LEFT_TO_OTHERS: u64 = 64;
/// Fewer than this is no use.
const LEAST_OPEN: usize = 16;

/// How many files may be open by default: three quarters of what the process may open, less some for others.
#[must_use]
pub fn default_max_open() -> usize {
    let limit = super::real::descriptor_limit();
    let share = (limit / 4 * 3).saturating_sub(LEFT_TO_OTHERS);
    usize::try_from(share).unwrap_or(usize::MAX).max(LEAST_OPEN)
}

/// A file system that keeps at most so many files open.
#[derive(Debug)]
pub struct PooledFs {
    inner: Arc<dyn FileSystem>,
    pool: Arc<Pool>,
}

#[derive(Debug)]
struct Pool {
    max_open: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Files that are open and may be closed, those looked at last at the end.
    ring: VecDeque<Weak<Slot>>,
    open: usize,
    /// Every file that is in use, by its name as bytes: paths would be compared part by part.
    in_use: BTreeMap<OsString, Vec<Weak<Slot>>>,
}

/// A file in use, open or not.
#[derive(Debug)]
struct Slot {
    /// Changed under the pool's lock only.
    path: ArcSwap<PathBuf>,
    mode: OpenMode,
    handle: ArcSwapOption<Handle>,
    /// Whether it was used since the ring last came by.
    is_touched: AtomicBool,
    /// Whether it was written to since it was last synced.
    is_dirty: AtomicBool,
    /// Which file it was when it was closed last: another process may have put another one in its place.
    closed_as: Mutex<Option<FileIdentity>>,
    /// Whether it must stay open.
    is_pinned: AtomicBool,
    /// That it could not be synced when it was to be closed.
    failed_sync: Mutex<Option<Error>>,
}

#[derive(Debug)]
struct Handle {
    file: Arc<dyn File>,
}

impl PooledFs {
    /// Over another file system, with at most `max_open` files open; those that must stay open count beyond that.
    #[must_use]
    pub fn new(inner: Arc<dyn FileSystem>, max_open: usize) -> Self {
        Self {
            inner,
            pool: Arc::new(Pool {
                max_open: max_open.max(1),
                state: Mutex::default(),
            }),
        }
    }

    /// How many files are open that may be closed.
    #[must_use]
    pub fn open_files(&self) -> usize {
        self.pool.state.lock().open
    }

    /// Lets the files of these names stay open: their names go.
    fn pin(&self, path: &Path) -> Result<()> {
        let found = self.pool.state.lock().in_use.remove(path.as_os_str());
        found
            .iter()
            .flatten()
            .filter_map(Weak::upgrade)
            .try_for_each(|slot| self.pool.pin(&slot, &*self.inner))
    }
}

impl Slot {
    /// Gives its descriptor back, what was written synced before. Under the pool's lock.
    fn close(&self) {
        if let Some(handle) = self.handle.load_full()
            && self.is_dirty.swap(false, Ordering::SeqCst)
            && let Err(error) = handle.file.sync()
        {
            self.failed_sync.lock().get_or_insert(error);
        }
        if let Some(handle) = self.handle.swap(None) {
            *self.closed_as.lock() = handle.file.identity().ok();
        }
    }

    /// ENOENT if another file has the name by now: who goes on with it as with the old one would read what never was.
    fn check_same(&self, opened: &dyn File) -> Result<()> {
        let Some(closed_as) = *self.closed_as.lock() else {
            return Ok(());
        };
        if opened.identity()? == closed_as {
            return Ok(());
        }
        let gone = std::io::Error::from_raw_os_error(libc::ENOENT);
        Err(Error::from_io("open", &self.path.load(), &gone)
            .context("another file was put in its place while it was in use"))
    }
}

impl Pool {
    /// The open file of a slot, opened if need be.
    fn handle_of(&self, slot: &Arc<Slot>, fs: &dyn FileSystem) -> Result<Arc<Handle>> {
        if let Some(handle) = slot.handle.load_full() {
            slot.is_touched.store(true, Ordering::Relaxed);
            return Ok(handle);
        }
        let mut state = self.state.lock();
        if let Some(handle) = slot.handle.load_full() {
            return Ok(handle);
        }
        let file = self.open(&mut state, fs, &slot.path.load(), slot.mode)?;
        slot.check_same(&*file)?;
        let handle = Arc::new(Handle { file });
        slot.handle.store(Some(Arc::clone(&handle)));
        state.open += 1;
        state.ring.push_back(Arc::downgrade(slot));
        Ok(handle)
    }

    /// Makes room for a file that is about to be opened, and lets it be known by its name.
    fn reserve(&self, slot: &Arc<Slot>) {
        let mut state = self.state.lock();
        make_room(&mut state, self.max_open);
        state.open += 1;
        let slots = state
            .in_use
            .entry(PathBuf::clone(&slot.path.load()).into_os_string())
            .or_default();
        slots.push(Arc::downgrade(slot));
    }

    /// Puts the open file in its slot; who pinned it meanwhile has opened it already.
    fn fill(&self, slot: &Arc<Slot>, file: Arc<dyn File>) {
        let mut state = self.state.lock();
        if slot.is_pinned.load(Ordering::SeqCst) {
            state.open = state.open.saturating_sub(1);
            return;
        }
        slot.handle.store(Some(Arc::new(Handle { file })));
        state.ring.push_back(Arc::downgrade(slot));
    }

    /// Closes a file that may be closed, if it has nothing that would have to be synced first.
    fn close(&self, slot: &Arc<Slot>) {
        let mut state = self.state.lock();
        let is_kept = slot.is_pinned.load(Ordering::SeqCst) || slot.is_dirty.load(Ordering::SeqCst);
        if is_kept || slot.handle.load().is_none() {
            return;
        }
        // Opened a moment ago, it stands at the end.
        let is_it = |weak: &Weak<Slot>| std::ptr::eq(weak.as_ptr(), Arc::as_ptr(slot));
        if let Some(at) = state.ring.iter().rposition(is_it) {
            state.ring.remove(at);
            slot.close();
            state.open = state.open.saturating_sub(1);
        }
    }

    /// A file that could not be opened needs no room.
    fn forget(&self, slot: &Arc<Slot>) {
        let mut state = self.state.lock();
        state.open = state.open.saturating_sub(1);
        state.forget_name(slot);
    }

    /// The process is out of descriptors: closes half of what is open. Whether that was worth it.
    fn close_half(&self) -> bool {
        let mut state = self.state.lock();
        let is_worth_it = state.open > LEAST_OPEN;
        if is_worth_it {
            let half = state.open.div_ceil(2);
            make_room(&mut state, half);
        }
        is_worth_it
    }

    /// Opens a file where there is room for it. If the process is out of descriptors half of what is open is closed.
    fn open(
        &self,
        state: &mut State,
        fs: &dyn FileSystem,
        path: &Path,
        mode: OpenMode,
    ) -> Result<Arc<dyn File>> {
        make_room(state, self.max_open);
        match fs.open(path, mode) {
            Err(e) if e.kind() == ErrorKind::NoFiles && state.open > LEAST_OPEN => {
                make_room(state, state.open.div_ceil(2));
                fs.open(path, mode)
            }
            other => other,
        }
    }

    /// Lets a file stay open.
    fn pin(&self, slot: &Slot, fs: &dyn FileSystem) -> Result<()> {
        let mut state = self.state.lock();
        if slot.is_pinned.load(Ordering::SeqCst) {
            return Ok(());
        }
        if slot.handle.load().is_some() {
            state.open = state.open.saturating_sub(1);
        } else {
            let file = self.open(&mut state, fs, &slot.path.load(), slot.mode)?;
            slot.check_same(&*file)?;
            slot.handle.store(Some(Arc::new(Handle { file })));
        }
        slot.is_pinned.store(true, Ordering::SeqCst);
        Ok(())
    }
}

impl State {
    /// Takes out what is known of the files below a directory: their names within it, and who uses them.
    fn take_below(&mut self, dir: &Path) -> Vec<(PathBuf, Vec<Weak<Slot>>)> {
        let mut inside = dir.as_os_str().to_owned();
        inside.push("/");
        let is_inside = |path: &OsStr| path.as_bytes().starts_with(inside.as_os_str().as_bytes());
        let from_here = self.in_use.range(inside.clone()..);
        let below: Vec<OsString> = from_here
            .map(|(path, _)| path)
            .take_while(|path| is_inside(path))
            .cloned()
            .collect();
        let take = |path: OsString| {
            let slots = self.in_use.remove(&path)?;
            let within = Path::new(&path).strip_prefix(dir).ok()?;
            Some((within.to_path_buf(), slots))
        };
        below.into_iter().filter_map(take).collect()
    }

    /// From now on the files that were taken out are below another directory.
    fn put_below(&mut self, dir: &Path, files: Vec<(PathBuf, Vec<Weak<Slot>>)>) {
        for (within, slots) in files {
            let path = Arc::new(dir.join(within));
            for slot in slots.iter().filter_map(Weak::upgrade) {
                slot.path.store(Arc::clone(&path));
            }
            let known = self.in_use.entry(path.as_os_str().to_owned()).or_default();
            known.extend(slots);
        }
    }

    /// A file is no longer in use by its name.
    fn forget_name(&mut self, slot: &Arc<Slot>) {
        if let Some(slots) = self.in_use.get_mut(slot.path.load().as_os_str()) {
            slots.retain(|other| !std::ptr::eq(other.as_ptr(), Arc::as_ptr(slot)));
            if slots.is_empty() {
                self.in_use.remove(slot.path.load().as_os_str());
            }
        }
    }
}

/// Closes files until one more may be open, as far as there are any that may be closed.
fn make_room(state: &mut State, max_open: usize) {
    let mut looks = 2 * state.ring.len();
    while state.open >= max_open && looks > 0 {
        looks -= 1;
        let Some(weak) = state.ring.pop_front() else {
            return;
        };
        let Some(slot) = weak.upgrade() else { continue };
        if slot.is_pinned.load(Ordering::SeqCst) {
            continue;
        }
        if slot.is_touched.swap(false, Ordering::Relaxed) {
            state.ring.push_back(weak);
            continue;
        }
        slot.close();
        state.open -= 1;
    }
}

/// A file of the pool.
#[derive(Debug)]
struct PooledFile {
    slot: Arc<Slot>,
    pool: Arc<Pool>,
    fs: Arc<dyn FileSystem>,
}

impl PooledFile {
    fn handle(&self) -> Result<Arc<Handle>> {
        self.pool.handle_of(&self.slot, &*self.fs)
    }
}

impl Drop for PooledFile {
    fn drop(&mut self) {
        let mut state = self.pool.state.lock();
        let is_open = self.slot.handle.swap(None).is_some();
        if is_open && !self.slot.is_pinned.load(Ordering::SeqCst) {
            state.open = state.open.saturating_sub(1);
        }
        state.forget_name(&self.slot);
        // Small files come and go; what is left of them must not pile up.
        if state.ring.len() > 2 * state.open + LEAST_OPEN {
            state.ring.retain(|weak| weak.strong_count() > 0);
        }
    }
}

impl File for PooledFile {
    fn ready(&self) -> Result<()> {
        self.handle().map(|_| ())
    }

    fn read_at(&self, buf: &mut [u8], position: u64) -> Result<usize> {
        self.handle()?.file.read_at(buf, position)
    }

    fn write_at(&self, buf: &[u8], position: u64) -> Result<()> {
        let handle = self.handle()?;
        self.slot.is_dirty.store(true, Ordering::SeqCst);
        let written = handle.file.write_at(buf, position);
        // Closed meanwhile, it may have been synced before this was written.
        self.slot.is_dirty.store(true, Ordering::SeqCst);
        written
    }

    fn len(&self) -> Result<u64> {
        self.handle()?.file.len()
    }

    fn identity(&self) -> Result<FileIdentity> {
        self.handle()?.file.identity()
    }

    fn take_in_growth(&self) -> Result<u64> {
        self.handle()?.file.take_in_growth()
    }

    fn set_len(&self, len: u64) -> Result<()> {
        let handle = self.handle()?;
        self.slot.is_dirty.store(true, Ordering::SeqCst);
        let cut = handle.file.set_len(len);
        self.slot.is_dirty.store(true, Ordering::SeqCst);
        cut
    }

    fn sync(&self) -> Result<()> {
        let handle = self.handle()?;
        if let Some(error) = &*self.slot.failed_sync.lock() {
            return Err(error.clone());
        }
        self.slot.is_dirty.store(false, Ordering::SeqCst);
        handle.file.sync()
    }

    fn map(&self, len: u64) -> Result<Mapping> {
        self.handle()?.file.map(len)
    }

    fn pin(&self, range: Range<u64>, memory: PinMemory) -> Result<PinnedBytes> {
        self.handle()?.file.pin(range, memory)
    }

    fn is_pinned_behind(&self, len: u64) -> Result<bool> {
        self.handle()?.file.is_pinned_behind(len)
    }

    fn rest(&self) {
        self.pool.close(&self.slot);
    }

    fn raw_fd(&self) -> Option<std::os::fd::RawFd> {
        self.pool.pin(&self.slot, &*self.fs).ok()?;
        self.handle().ok()?.file.raw_fd()
    }
}

impl FileSystem for PooledFs {
    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn File>> {
        let slot = Arc::new(Slot {
            path: ArcSwap::from_pointee(path.to_path_buf()),
            // It is there then, and is not to be made or emptied again.
            mode: match mode {
                OpenMode::Read => OpenMode::Read,
                OpenMode::ReadWrite | OpenMode::Create | OpenMode::Truncate => OpenMode::ReadWrite,
            },
            handle: ArcSwapOption::empty(),
            is_touched: AtomicBool::new(false),
            is_dirty: AtomicBool::new(false),
            closed_as: Mutex::new(None),
            is_pinned: AtomicBool::new(false),
            failed_sync: Mutex::new(None),
        });
        self.pool.reserve(&slot);
        // Without the lock: others open theirs meanwhile.
        let opened = match self.inner.open(path, mode) {
            Err(e) if e.kind() == ErrorKind::NoFiles && self.pool.close_half() => {
                self.inner.open(path, mode)
            }
            other => other,
        };
        match opened {
            Ok(file) => {
                self.pool.fill(&slot, file);
                Ok(Arc::new(PooledFile {
                    slot,
                    pool: Arc::clone(&self.pool),
                    fs: Arc::clone(&self.inner),
                }))
            }
            Err(e) => {
                self.pool.forget(&slot);
                Err(e)
            }
        }
    }

    fn create_dir(&self, path: &Path) -> Result<()> {
        self.inner.create_dir(path)
    }

    fn list(&self, dir: &Path) -> Result<Vec<DirEntry>> {
        self.inner.list(dir)
    }

    fn stat(&self, path: &Path) -> Result<Stat> {
        self.inner.stat(path)
    }

    fn canonicalize(&self, path: &Path) -> Result<PathBuf> {
        self.inner.canonicalize(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.pin(from)?;
        self.pin(to)?;
        // With the lock: nobody opens a file below by the old name when that is gone.
        let mut state = self.pool.state.lock();
        self.inner.rename(from, to)?;
        let below = state.take_below(from);
        state.put_below(to, below);
        Ok(())
    }

    fn exchange(&self, one: &Path, other: &Path) -> Result<bool> {
        self.pin(one)?;
        self.pin(other)?;
        let mut state = self.pool.state.lock();
        let is_done = self.inner.exchange(one, other)?;
        if is_done {
            let (below_one, below_other) = (state.take_below(one), state.take_below(other));
            state.put_below(other, below_one);
            state.put_below(one, below_other);
        }
        Ok(is_done)
    }

    fn remove_file(&self, path: &Path) -> Result<()> {
        self.pin(path)?;
        self.inner.remove_file(path)
    }

    fn remove_dir(&self, path: &Path) -> Result<()> {
        self.inner.remove_dir(path)
    }

    fn sync_dir(&self, dir: &Path) -> Result<()> {
        self.inner.sync_dir(dir)
    }

    fn set_modified(&self, path: &Path, time: TimestampMs) -> Result<()> {
        self.inner.set_modified(path, time)
    }

    fn lock(&self, path: &Path) -> Result<Option<Box<dyn FileLock>>> {
        self.inner.lock(path)
    }
}

#[cfg(test)]
#[cfg(feature = "sim")]
mod tests;
