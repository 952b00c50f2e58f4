//! Another file system for reading, memory for every change: an ordinary load on an overlay answers exactly what a
//! load would leave, and writes nothing (design.md 3).
//!
//! A file of the base is seen as long as it was when it was first opened here; what a live owner appends later stays
//! unseen, so that one look is consistent with itself, until somebody asks for it ([`File::take_in_growth`]). Names that the
//! base loses meanwhile are simply gone.

use std::collections::BTreeMap;
use std::ops::Range;
use std::os::fd::RawFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};

use super::{
    Clock, DirEntry, EntryKind, File, FileIdentity, FileLock, FileSystem, Mapping, OpenMode,
    PinMemory, PinnedBytes, Stat, SystemClock,
};
use crate::error::{Error, Result};
use crate::types::{TimestampMs, to_usize};

/// Changed bytes are kept in pages of this size.
const PAGE_BYTES: u64 = 4096;

/// A file system that reads from a base and keeps every change in memory.
#[derive(Debug)]
pub struct OverlayFs {
    base: Arc<dyn FileSystem>,
    clock: Arc<dyn Clock>,
    names: Mutex<BTreeMap<PathBuf, Node>>,
}

/// What the overlay knows of a name, in place of what the base says.
#[derive(Clone, Debug)]
enum Node {
    /// Removed here, or moved away.
    Gone,
    /// A directory made here.
    Dir,
    /// A file opened here: of the base as far as it is unchanged.
    File(Arc<OverlayFile>),
}

impl OverlayFs {
    /// An overlay over `base` without any change yet.
    #[must_use]
    pub fn new(base: Arc<dyn FileSystem>) -> Self {
        Self::with_clock(base, Arc::new(SystemClock))
    }

    /// The same, with the clock by which what is changed gets its times.
    #[must_use]
    pub fn with_clock(base: Arc<dyn FileSystem>, clock: Arc<dyn Clock>) -> Self {
        Self {
            base,
            clock,
            names: Mutex::new(BTreeMap::new()),
        }
    }

    /// The names that differ from the base by now: created, changed or removed. Sorted.
    #[must_use]
    pub fn changed_paths(&self) -> Vec<PathBuf> {
        let names = self.names.lock();
        let changed = names.iter().filter(|(_, node)| match node {
            Node::Gone | Node::Dir => true,
            Node::File(file) => file.is_changed(),
        });
        changed.map(|(path, _)| path.clone()).collect()
    }

    fn not_found(action: &str, path: &Path) -> Error {
        Error::from_io(
            action,
            path,
            &std::io::Error::from_raw_os_error(libc::ENOENT),
        )
    }

    /// Whether a directory above `path` was removed or moved away here, so that the base has no say below it.
    fn is_cut_off(names: &BTreeMap<PathBuf, Node>, path: &Path) -> bool {
        path.ancestors()
            .skip(1)
            .any(|above| matches!(names.get(above), Some(Node::Gone)))
    }

    /// The file of this name as the overlay sees it, taken in from the base if need be.
    fn adopt(
        &self,
        names: &mut BTreeMap<PathBuf, Node>,
        action: &str,
        path: &Path,
    ) -> Result<Arc<OverlayFile>> {
        match names.get(path) {
            Some(Node::File(file)) => return Ok(Arc::clone(file)),
            Some(Node::Gone) => return Err(Self::not_found(action, path)),
            Some(Node::Dir) => {
                return Err(Error::from_io(
                    action,
                    path,
                    &std::io::Error::from_raw_os_error(libc::EISDIR),
                ));
            }
            None if Self::is_cut_off(names, path) => return Err(Self::not_found(action, path)),
            None => {}
        }
        let base = self.base.open(path, OpenMode::Read)?;
        let modified = self.base.stat(path)?.modified;
        let len = base.len()?;
        let file = Arc::new(OverlayFile {
            path: path.into(),
            base: Some(base),
            content: RwLock::new(Content {
                base_len: len,
                len,
                pages: BTreeMap::new(),
                changed: false,
                modified,
            }),
            clock: Arc::clone(&self.clock),
        });
        names.insert(path.to_path_buf(), Node::File(Arc::clone(&file)));
        Ok(file)
    }
}

impl FileSystem for OverlayFs {
    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn File>> {
        let mut names = self.names.lock();
        match self.adopt(&mut names, "open", path) {
            Ok(file) => {
                if mode == OpenMode::Truncate {
                    file.set_len(0)?;
                }
                Ok(file)
            }
            Err(e) if e.is_not_found() && matches!(mode, OpenMode::Create | OpenMode::Truncate) => {
                let file = Arc::new(OverlayFile {
                    path: path.into(),
                    base: None,
                    content: RwLock::new(Content {
                        base_len: 0,
                        len: 0,
                        pages: BTreeMap::new(),
                        changed: true,
                        modified: self.clock.now(),
                    }),
                    clock: Arc::clone(&self.clock),
                });
                names.insert(path.to_path_buf(), Node::File(Arc::clone(&file)));
                Ok(file)
            }
            Err(e) => Err(e),
        }
    }

    fn create_dir(&self, path: &Path) -> Result<()> {
        if self
            .stat(path)
            .is_ok_and(|stat| stat.kind == EntryKind::Dir)
        {
            return Ok(());
        }
        self.names.lock().insert(path.to_path_buf(), Node::Dir);
        Ok(())
    }

    fn list(&self, dir: &Path) -> Result<Vec<DirEntry>> {
        let names = self.names.lock();
        let own = matches!(names.get(dir), Some(Node::Dir));
        if matches!(names.get(dir), Some(Node::Gone)) || (!own && Self::is_cut_off(&names, dir)) {
            return Err(Self::not_found("list", dir));
        }
        let mut entries = if own {
            Vec::new()
        } else {
            self.base.list(dir)?
        };
        entries.retain(|entry| !names.contains_key(&dir.join(&entry.name)));
        for (path, node) in names
            .range(dir.to_path_buf()..)
            .take_while(|(path, _)| path.starts_with(dir))
        {
            let Some(name) = path
                .strip_prefix(dir)
                .ok()
                .filter(|rest| rest.components().count() == 1)
            else {
                continue;
            };
            let kind = match node {
                Node::Gone => continue,
                Node::Dir => EntryKind::Dir,
                Node::File(_) => EntryKind::File,
            };
            entries.push(DirEntry {
                name: name.as_os_str().to_owned(),
                kind,
            });
        }
        Ok(entries)
    }

    fn stat(&self, path: &Path) -> Result<Stat> {
        let names = self.names.lock();
        match names.get(path) {
            Some(Node::Gone) => Err(Self::not_found("stat", path)),
            Some(Node::Dir) => Ok(Stat {
                kind: EntryKind::Dir,
                len: 0,
                allocated: 0,
                modified: self.clock.now(),
                identity: own_identity(0),
            }),
            Some(Node::File(file)) => {
                let content = file.content.read();
                let identity = own_identity(Arc::as_ptr(file) as u64);
                Ok(Stat {
                    kind: EntryKind::File,
                    len: content.len,
                    allocated: content.len,
                    modified: content.modified,
                    identity,
                })
            }
            None if Self::is_cut_off(&names, path) => Err(Self::not_found("stat", path)),
            None => self.base.stat(path),
        }
    }

    fn canonicalize(&self, path: &Path) -> Result<PathBuf> {
        match self.base.canonicalize(path) {
            Err(e) if e.is_not_found() && self.stat(path).is_ok() => Ok(path.to_path_buf()),
            other => other,
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        let stat = self.stat(from)?;
        if stat.kind == EntryKind::Dir {
            // The children move first; the base's content below the old name is then cut off.
            self.create_dir(to)?;
            for entry in self.list(from)? {
                self.rename(&from.join(&entry.name), &to.join(&entry.name))?;
            }
            self.names.lock().insert(from.to_path_buf(), Node::Gone);
            return Ok(());
        }
        let mut names = self.names.lock();
        let file = self.adopt(&mut names, "rename", from)?;
        file.content.write().changed = true;
        names.insert(to.to_path_buf(), Node::File(file));
        names.insert(from.to_path_buf(), Node::Gone);
        Ok(())
    }

    fn remove_file(&self, path: &Path) -> Result<()> {
        match self.stat(path)?.kind {
            EntryKind::Dir => Err(Error::from_io(
                "remove",
                path,
                &std::io::Error::from_raw_os_error(libc::EISDIR),
            )),
            EntryKind::File | EntryKind::Other => {
                self.names.lock().insert(path.to_path_buf(), Node::Gone);
                Ok(())
            }
        }
    }

    fn remove_dir(&self, path: &Path) -> Result<()> {
        if !self.list(path)?.is_empty() {
            let not_empty = std::io::Error::from_raw_os_error(libc::ENOTEMPTY);
            return Err(Error::from_io("remove directory", path, &not_empty));
        }
        self.names.lock().insert(path.to_path_buf(), Node::Gone);
        Ok(())
    }

    fn sync_dir(&self, _dir: &Path) -> Result<()> {
        Ok(())
    }

    fn set_modified(&self, path: &Path, time: TimestampMs) -> Result<()> {
        let file = self.adopt(&mut self.names.lock(), "set the time of", path)?;
        let mut content = file.content.write();
        content.modified = time;
        content.changed = true;
        Ok(())
    }

    fn lock(&self, _path: &Path) -> Result<Option<Box<dyn FileLock>>> {
        // Whoever only looks takes no lock.
        Ok(Some(Box::new(NoLock)))
    }
}

/// Of what is here, which the base does not know.
fn own_identity(number: u64) -> FileIdentity {
    FileIdentity {
        device: u64::MAX,
        inode: number,
        born_ns: 0,
    }
}

#[derive(Debug)]
struct NoLock;

impl FileLock for NoLock {}

#[derive(Debug)]
struct OverlayFile {
    path: Box<Path>,
    base: Option<Arc<dyn File>>,
    content: RwLock<Content>,
    clock: Arc<dyn Clock>,
}

#[derive(Debug)]
struct Content {
    /// How much of the base's beginning is still seen where no page covers it.
    base_len: u64,
    len: u64,
    /// Changed pages by page number; bytes beyond `len` are zero.
    pages: BTreeMap<u64, Box<[u8]>>,
    changed: bool,
    modified: TimestampMs,
}

impl OverlayFile {
    fn is_changed(&self) -> bool {
        self.content.read().changed
    }

    /// Fills `buf` from the base; what lies beyond it is zero.
    fn read_base(&self, base_len: u64, buf: &mut [u8], position: u64) -> Result<()> {
        let wanted = to_usize(base_len.saturating_sub(position)).min(buf.len());
        let (from_base, beyond) = buf.split_at_mut(wanted);
        if let Some(base) = self.base.as_ref().filter(|_| wanted > 0) {
            let read = base.read_at(from_base, position)?;
            if read < wanted {
                // The owner cut the file since we looked at it.
                return Err(Error::corrupt(format!(
                    "{} ends at {} where it had {base_len} bytes when it was opened",
                    self.path.display(),
                    position + read as u64
                ))
                .in_file(&self.path)
                .at_position(position)
                .as_cut_meanwhile());
            }
        }
        beyond.fill(0);
        Ok(())
    }
}

impl File for OverlayFile {
    fn read_at(&self, buf: &mut [u8], position: u64) -> Result<usize> {
        let content = self.content.read();
        let wanted = to_usize(content.len.saturating_sub(position)).min(buf.len());
        if content.pages.is_empty() {
            self.read_base(content.base_len, &mut buf[..wanted], position)?;
            return Ok(wanted);
        }
        let mut done = 0;
        while done < wanted {
            let at = position + done as u64;
            let in_page = to_usize(at % PAGE_BYTES);
            let n = (to_usize(PAGE_BYTES) - in_page).min(wanted - done);
            match content.pages.get(&(at / PAGE_BYTES)) {
                Some(page) => buf[done..done + n].copy_from_slice(&page[in_page..in_page + n]),
                None => self.read_base(content.base_len, &mut buf[done..done + n], at)?,
            }
            done += n;
        }
        Ok(wanted)
    }

    fn write_at(&self, buf: &[u8], position: u64) -> Result<()> {
        let mut content = self.content.write();
        let mut done = 0;
        while done < buf.len() {
            let at = position + done as u64;
            let number = at / PAGE_BYTES;
            let in_page = to_usize(at % PAGE_BYTES);
            let n = (to_usize(PAGE_BYTES) - in_page).min(buf.len() - done);
            if !content.pages.contains_key(&number) {
                let mut page = vec![0; to_usize(PAGE_BYTES)].into_boxed_slice();
                self.read_base(content.base_len, &mut page, number * PAGE_BYTES)?;
                content.pages.insert(number, page);
            }
            if let Some(page) = content.pages.get_mut(&number) {
                page[in_page..in_page + n].copy_from_slice(&buf[done..done + n]);
            }
            done += n;
        }
        content.len = content.len.max(position + buf.len() as u64);
        content.changed = true;
        content.modified = self.clock.now();
        Ok(())
    }

    fn len(&self) -> Result<u64> {
        Ok(self.content.read().len)
    }

    fn identity(&self) -> Result<FileIdentity> {
        match &self.base {
            Some(base) => base.identity(),
            None => Ok(own_identity(std::ptr::from_ref(self) as u64)),
        }
    }

    fn take_in_growth(&self) -> Result<u64> {
        let mut content = self.content.write();
        if let Some(base) = &self.base
            && content.pages.is_empty()
        {
            content.base_len = base.len()?;
            content.len = content.base_len;
        }
        Ok(content.len)
    }

    fn set_len(&self, len: u64) -> Result<()> {
        let mut content = self.content.write();
        if len == content.len {
            return Ok(());
        }
        if len < content.len {
            content.base_len = content.base_len.min(len);
            content.pages.split_off(&len.div_ceil(PAGE_BYTES));
            if let Some(page) = content.pages.get_mut(&(len / PAGE_BYTES)) {
                page[to_usize(len % PAGE_BYTES)..].fill(0);
            }
        }
        content.len = len;
        content.changed = true;
        content.modified = self.clock.now();
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }

    fn map(&self, len: u64) -> Result<Mapping> {
        let mut bytes = vec![0; to_usize(len)];
        let read = self.read_at(&mut bytes, 0)?;
        bytes.truncate(read);
        Ok(Mapping::from_bytes(bytes))
    }

    fn pin(&self, range: Range<u64>, memory: PinMemory) -> Result<PinnedBytes> {
        let content = self.content.read();
        match &self.base {
            Some(base) if content.pages.is_empty() && range.end <= content.base_len => {
                base.pin(range, memory)
            }
            _ => {
                drop(content);
                super::pin::read_range(self, range).map(PinnedBytes::copied)
            }
        }
    }

    fn raw_fd(&self) -> Option<RawFd> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::sim::SimFs;
    use proptest::prelude::*;

    fn overlay_over(files: &[(&str, &[u8])]) -> (Arc<SimFs>, OverlayFs) {
        let base = Arc::new(SimFs::new());
        base.create_dir(Path::new("/d")).unwrap();
        for (name, content) in files {
            let file = base
                .open(&Path::new("/d").join(name), OpenMode::Truncate)
                .unwrap();
            file.write_at(content, 0).unwrap();
        }
        (Arc::clone(&base), OverlayFs::new(base))
    }

    fn names(fs: &dyn FileSystem) -> Vec<String> {
        let mut names: Vec<_> = fs
            .list(Path::new("/d"))
            .unwrap()
            .into_iter()
            .map(|e| e.name.into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn what_an_owner_appends_counts_when_it_is_asked_for() {
        let (base, overlay) = overlay_over(&[("a", b"0123456789")]);
        let path = Path::new("/d/a");
        let file = overlay.open(path, OpenMode::ReadWrite).unwrap();
        file.set_len(4).unwrap();
        let owned = base.open(path, OpenMode::ReadWrite).unwrap();
        owned.write_at(b"abc", 10).unwrap();
        assert_eq!(file.len().unwrap(), 4);
        assert_eq!(file.take_in_growth().unwrap(), 13);
        let mut bytes = [0; 13];
        assert_eq!(file.read_at(&mut bytes, 0).unwrap(), 13);
        assert_eq!(&bytes, b"0123456789abc");
        owned.set_len(2).unwrap();
        assert_eq!(file.take_in_growth().unwrap(), 2);
        // What was changed here is not its owner's any more.
        file.write_at(b"x", 0).unwrap();
        owned.write_at(b"more", 2).unwrap();
        assert_eq!(file.take_in_growth().unwrap(), 2);
        assert_eq!(file.identity().unwrap(), owned.identity().unwrap());
    }

    #[test]
    fn changes_stay_in_memory_and_are_listed() {
        let (base, overlay) = overlay_over(&[("a", b"aaaa"), ("b", b"bbbb"), ("c", b"cccc")]);
        let path = |name: &str| Path::new("/d").join(name);
        overlay
            .open(&path("a"), OpenMode::ReadWrite)
            .unwrap()
            .write_at(b"XX", 1)
            .unwrap();
        overlay.remove_file(&path("b")).unwrap();
        overlay.rename(&path("c"), &path("d")).unwrap();
        assert_eq!(names(&overlay), ["a", "d"]);
        assert_eq!(
            crate::io::read_file(&overlay, &path("a")).unwrap().unwrap(),
            b"aXXa"
        );
        assert_eq!(
            crate::io::read_file(&overlay, &path("d")).unwrap().unwrap(),
            b"cccc"
        );
        assert!(overlay.stat(&path("c")).unwrap_err().is_not_found());
        assert_eq!(names(&*base), ["a", "b", "c"]);
        assert_eq!(
            crate::io::read_file(&*base, &path("a")).unwrap().unwrap(),
            b"aaaa"
        );
        assert_eq!(overlay.changed_paths(), ["a", "b", "c", "d"].map(path));
    }

    #[test]
    fn what_the_owner_appends_after_the_first_look_stays_unseen() {
        let (base, overlay) = overlay_over(&[("a", b"1234")]);
        let seen = overlay.open(Path::new("/d/a"), OpenMode::Read).unwrap();
        base.open(Path::new("/d/a"), OpenMode::ReadWrite)
            .unwrap()
            .write_at(b"5678", 4)
            .unwrap();
        let mut buf = [0; 8];
        assert_eq!(seen.read_at(&mut buf, 0).unwrap(), 4);
        assert_eq!(overlay.stat(Path::new("/d/a")).unwrap().len, 4);
    }

    #[test]
    fn a_file_cut_by_its_owner_gives_an_error_and_not_zeros() {
        let (base, overlay) = overlay_over(&[("a", b"12345678")]);
        let seen = overlay.open(Path::new("/d/a"), OpenMode::Read).unwrap();
        base.open(Path::new("/d/a"), OpenMode::ReadWrite)
            .unwrap()
            .set_len(2)
            .unwrap();
        assert!(seen.read_at(&mut [0; 8], 0).is_err());
    }

    #[test]
    fn a_renamed_directory_takes_its_files_along() {
        let (_base, overlay) = overlay_over(&[("a", b"1")]);
        overlay.rename(Path::new("/d"), Path::new("/e")).unwrap();
        assert!(overlay.list(Path::new("/d")).unwrap_err().is_not_found());
        assert!(
            overlay
                .open(Path::new("/d/a"), OpenMode::Read)
                .unwrap_err()
                .is_not_found()
        );
        assert_eq!(
            crate::io::read_file(&overlay, Path::new("/e/a"))
                .unwrap()
                .unwrap(),
            b"1"
        );
    }

    proptest! {
        #[test]
        fn an_overlay_file_behaves_like_the_plain_bytes(
            start in proptest::collection::vec(any::<u8>(), 0..9000),
            steps in proptest::collection::vec((any::<bool>(), 0u64..12000, 1usize..6000, any::<u8>()), 0..12),
        ) {
            let (_base, overlay) = overlay_over(&[("a", &start)]);
            let file = overlay.open(Path::new("/d/a"), OpenMode::ReadWrite).unwrap();
            let mut model = start;
            for (write, position, n, byte) in steps {
                if write {
                    file.write_at(&vec![byte; n], position).unwrap();
                    let end = to_usize(position) + n;
                    if model.len() < end {
                        model.resize(end, 0);
                    }
                    model[to_usize(position)..end].fill(byte);
                } else {
                    file.set_len(position).unwrap();
                    model.resize(to_usize(position), 0);
                }
                prop_assert_eq!(&crate::io::read_file(&overlay, Path::new("/d/a")).unwrap().unwrap(), &model);
            }
        }
    }
}
