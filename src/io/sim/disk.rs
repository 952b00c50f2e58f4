//! What the simulated disk holds: inodes with their content as it is and as it is durable.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::super::{DirEntry, EntryKind, FileIdentity, Stat};
use crate::types::{TimestampMs, to_usize};

/// Number of an inode.
pub(super) type Ino = u64;

const ROOT: Ino = 1;

/// No inode number is given out twice.
pub(super) fn identity_of(ino: Ino) -> FileIdentity {
    FileIdentity {
        device: 1,
        inode: ino,
        born_ns: 0,
    }
}

/// A change of a file that no sync has made durable yet.
#[derive(Clone)]
pub(super) enum FileChange {
    Write { position: usize, bytes: Arc<[u8]> },
    SetLen(usize),
}

/// A change of a directory that no sync has made durable yet: names with what they lead to then. A rename changes two
/// names at once and survives as a whole or not at all.
pub(super) type DirChange = Vec<(OsString, Option<Ino>)>;

#[derive(Clone)]
pub(super) enum Node {
    File {
        content: Arc<Vec<u8>>,
        durable: Arc<Vec<u8>>,
        pending: Vec<FileChange>,
        modified: TimestampMs,
    },
    Dir {
        names: BTreeMap<OsString, Ino>,
        durable: BTreeMap<OsString, Ino>,
        pending: Vec<DirChange>,
    },
}

/// The whole disk; cloning it is cheap, contents are shared.
#[derive(Clone)]
pub(super) struct Disk {
    pub(super) nodes: BTreeMap<Ino, Node>,
    next_ino: Ino,
    locks: BTreeSet<PathBuf>,
    /// Modification times come from this, one more with each change: deterministic and rising.
    ticks: i64,
}

impl Disk {
    pub(super) fn new() -> Self {
        let root = Node::Dir {
            names: BTreeMap::new(),
            durable: BTreeMap::new(),
            pending: Vec::new(),
        };
        Self {
            nodes: BTreeMap::from([(ROOT, root)]),
            next_ino: ROOT + 1,
            locks: BTreeSet::new(),
            ticks: 0,
        }
    }

    pub(super) fn without_locks(&self) -> Self {
        Self {
            locks: BTreeSet::new(),
            ..self.clone()
        }
    }

    pub(super) fn lookup(&self, path: &Path) -> Option<Ino> {
        let mut at = ROOT;
        for part in path.components() {
            match part {
                Component::RootDir | Component::CurDir => {}
                Component::Normal(name) => match self.nodes.get(&at) {
                    Some(Node::Dir { names, .. }) => at = *names.get(name)?,
                    _ => return None,
                },
                Component::ParentDir | Component::Prefix(_) => return None,
            }
        }
        Some(at)
    }

    fn parent<'p>(&self, path: &'p Path) -> Result<(Ino, &'p OsStr), i32> {
        let name = path.file_name().ok_or(libc::EINVAL)?;
        let dir = self
            .lookup(path.parent().ok_or(libc::EINVAL)?)
            .ok_or(libc::ENOENT)?;
        if self.is_dir(dir) {
            Ok((dir, name))
        } else {
            Err(libc::ENOTDIR)
        }
    }

    pub(super) fn is_dir(&self, ino: Ino) -> bool {
        matches!(self.nodes.get(&ino), Some(Node::Dir { .. }))
    }

    fn change_names(&mut self, dir: Ino, change: DirChange) {
        if let Some(Node::Dir { names, pending, .. }) = self.nodes.get_mut(&dir) {
            apply_names(names, &change);
            pending.push(change);
        }
    }

    fn add(&mut self, path: &Path, node: Node) -> Result<Ino, i32> {
        let (dir, name) = self.parent(path)?;
        let name = name.to_owned();
        if self.lookup(path).is_some() {
            return Err(libc::EEXIST);
        }
        let ino = self.next_ino;
        self.next_ino += 1;
        self.nodes.insert(ino, node);
        self.change_names(dir, vec![(name, Some(ino))]);
        Ok(ino)
    }

    pub(super) fn create_file(&mut self, path: &Path) -> Result<Ino, i32> {
        let modified = self.tick();
        let empty = Arc::new(Vec::new());
        self.add(
            path,
            Node::File {
                content: Arc::clone(&empty),
                durable: empty,
                pending: Vec::new(),
                modified,
            },
        )
    }

    pub(super) fn create_dir(&mut self, path: &Path) -> Result<(), i32> {
        let node = Node::Dir {
            names: BTreeMap::new(),
            durable: BTreeMap::new(),
            pending: Vec::new(),
        };
        self.add(path, node).map(|_| ())
    }

    pub(super) fn rename(&mut self, from: &Path, to: &Path) -> Result<(), i32> {
        let ino = self.lookup(from).ok_or(libc::ENOENT)?;
        if let Some(target) = self.lookup(to) {
            match (self.is_dir(ino), self.is_dir(target)) {
                (false, false) => {}
                (true, true) if self.list(to)?.is_empty() => {}
                (true, true) => return Err(libc::ENOTEMPTY),
                (true, false) => return Err(libc::ENOTDIR),
                (false, true) => return Err(libc::EISDIR),
            }
        }
        let (from_dir, from_name) = self.parent(from)?;
        let (to_dir, to_name) = self.parent(to)?;
        let (gone, come) = (
            (from_name.to_owned(), None),
            (to_name.to_owned(), Some(ino)),
        );
        if from_dir == to_dir {
            self.change_names(from_dir, vec![gone, come]);
        } else {
            self.change_names(to_dir, vec![come]);
            self.change_names(from_dir, vec![gone]);
        }
        Ok(())
    }

    pub(super) fn remove(&mut self, path: &Path, kind: EntryKind) -> Result<(), i32> {
        let ino = self.lookup(path).ok_or(libc::ENOENT)?;
        match (self.is_dir(ino), kind) {
            (true, EntryKind::Dir) if !self.list(path)?.is_empty() => return Err(libc::ENOTEMPTY),
            (true, EntryKind::File) => return Err(libc::EISDIR),
            (false, EntryKind::Dir) => return Err(libc::ENOTDIR),
            _ => {}
        }
        let (dir, name) = self.parent(path)?;
        let change = vec![(name.to_owned(), None)];
        self.change_names(dir, change);
        Ok(())
    }

    pub(super) fn list(&self, dir: &Path) -> Result<Vec<DirEntry>, i32> {
        let ino = self.lookup(dir).ok_or(libc::ENOENT)?;
        let Some(Node::Dir { names, .. }) = self.nodes.get(&ino) else {
            return Err(libc::ENOTDIR);
        };
        let kind = |ino: &Ino| {
            if self.is_dir(*ino) {
                EntryKind::Dir
            } else {
                EntryKind::File
            }
        };
        Ok(names
            .iter()
            .map(|(name, ino)| DirEntry {
                name: name.clone(),
                kind: kind(ino),
            })
            .collect())
    }

    pub(super) fn stat(&self, ino: Ino) -> Stat {
        let (kind, len, modified) = match self.nodes.get(&ino) {
            Some(Node::File {
                content, modified, ..
            }) => (EntryKind::File, content.len() as u64, *modified),
            _ => (EntryKind::Dir, 0, TimestampMs(0)),
        };
        Stat {
            kind,
            len,
            allocated: len,
            modified,
            identity: identity_of(ino),
        }
    }

    fn tick(&mut self) -> TimestampMs {
        self.ticks += 1;
        TimestampMs(self.ticks)
    }

    pub(super) fn content(&self, ino: Ino) -> &[u8] {
        match self.nodes.get(&ino) {
            Some(Node::File { content, .. }) => content,
            _ => &[],
        }
    }

    pub(super) fn write(&mut self, ino: Ino, position: u64, bytes: &[u8]) {
        let now = self.tick();
        if bytes.is_empty() {
            return;
        }
        if let Some(Node::File {
            content,
            pending,
            modified,
            ..
        }) = self.nodes.get_mut(&ino)
        {
            let change = FileChange::Write {
                position: to_usize(position),
                bytes: bytes.into(),
            };
            change.apply(Arc::make_mut(content));
            pending.push(change);
            *modified = now;
        }
    }

    pub(super) fn set_len(&mut self, ino: Ino, len: usize) {
        let now = self.tick();
        if let Some(Node::File {
            content,
            pending,
            modified,
            ..
        }) = self.nodes.get_mut(&ino)
        {
            let change = FileChange::SetLen(len);
            change.apply(Arc::make_mut(content));
            pending.push(change);
            *modified = now;
        }
    }

    pub(super) fn set_modified(&mut self, ino: Ino, time: TimestampMs) {
        if let Some(Node::File { modified, .. }) = self.nodes.get_mut(&ino) {
            *modified = time;
        }
    }

    pub(super) fn sync_file(&mut self, ino: Ino) {
        if let Some(Node::File {
            content,
            durable,
            pending,
            ..
        }) = self.nodes.get_mut(&ino)
        {
            *durable = Arc::clone(content);
            pending.clear();
        }
    }

    pub(super) fn sync_dir(&mut self, dir: &Path) -> Result<(), i32> {
        let ino = self.lookup(dir).ok_or(libc::ENOENT)?;
        match self.nodes.get_mut(&ino) {
            Some(Node::Dir {
                names,
                durable,
                pending,
            }) => {
                durable.clone_from(names);
                pending.clear();
                Ok(())
            }
            _ => Err(libc::ENOTDIR),
        }
    }

    pub(super) fn sync_all(&mut self) {
        for node in self.nodes.values_mut() {
            match node {
                Node::File {
                    content,
                    durable,
                    pending,
                    ..
                } => {
                    *durable = Arc::clone(content);
                    pending.clear();
                }
                Node::Dir {
                    names,
                    durable,
                    pending,
                } => {
                    durable.clone_from(names);
                    pending.clear();
                }
            }
        }
    }

    /// Bytes of all files that have a name; those of removed ones are free.
    pub(super) fn bytes_used(&self) -> u64 {
        let names = self.nodes.values().filter_map(|node| match node {
            Node::Dir { names, .. } => Some(names.values()),
            Node::File { .. } => None,
        });
        let named: BTreeSet<Ino> = names.flatten().copied().collect();
        named
            .into_iter()
            .map(|ino| self.content(ino).len() as u64)
            .sum()
    }

    pub(super) fn take_lock(&mut self, path: &Path) -> bool {
        self.locks.insert(path.to_path_buf())
    }

    pub(super) fn release_lock(&mut self, path: &Path) {
        self.locks.remove(path);
    }

    pub(super) fn files_below(&self, dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
        let mut found = Vec::new();
        let mut todo = vec![dir.to_path_buf()];
        while let Some(at) = todo.pop() {
            match self.lookup(&at).and_then(|ino| self.nodes.get(&ino)) {
                Some(Node::Dir { names, .. }) => {
                    todo.extend(names.keys().map(|name| at.join(name)));
                }
                Some(Node::File { content, .. }) => found.push((at, content.as_ref().clone())),
                None => {}
            }
        }
        found.sort();
        found
    }
}

pub(super) fn apply_names(names: &mut BTreeMap<OsString, Ino>, change: &DirChange) {
    for (name, ino) in change {
        match ino {
            Some(ino) => names.insert(name.clone(), *ino),
            None => names.remove(name),
        };
    }
}

impl FileChange {
    pub(super) fn apply(&self, content: &mut Vec<u8>) {
        match self {
            Self::Write { position, bytes } => {
                let end = position + bytes.len();
                if content.len() < end {
                    content.resize(end, 0);
                }
                content[*position..end].copy_from_slice(bytes);
            }
            Self::SetLen(len) => content.resize(*len, 0),
        }
    }
}
