//! What takes the room of a log directory, file by file, whether a log knows of the file or not.

use std::collections::BTreeMap;
use std::path::Path;

use super::ensure_is_dir;
use crate::error::Result;
use crate::format::names::{DirKind, FileState, SegmentFile, SegmentFileKind, classify_dir};
use crate::io::{EntryKind, FileSystem};

/// What files are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileUse {
    /// `.log` files of logs.
    Segments,
    /// Offset, time and transaction indexes.
    Indexes,
    /// Snapshots of producers.
    Snapshots,
    /// Marked as deleted, and not removed yet.
    Deleted,
    /// In directories that no broker reads any more, or not yet: `-stray`, `-future`.
    Marked,
    /// KRaft's own log: `__cluster_metadata`.
    ClusterMetadata,
    /// All else: checkpoints, what is not Kafka's.
    Other,
}

/// Files of one use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// How many.
    pub files: u64,
    /// Their lengths.
    pub bytes: u64,
    /// What they take on the disk: files with holes take less than their lengths.
    pub allocated_bytes: u64,
}

/// Looks at the names and sizes of all files of a log directory and of the directories in it. Nothing is read.
pub fn disk_use(fs: &dyn FileSystem, dir: &Path) -> Result<BTreeMap<FileUse, Taken>> {
    ensure_is_dir(fs, dir)?;
    let mut found = BTreeMap::new();
    for entry in fs.list(dir)? {
        let path = dir.join(&entry.name);
        if entry.kind != EntryKind::Dir {
            add(fs, &path, FileUse::Other, &mut found)?;
            continue;
        }
        let kind = classify_dir(&entry.name);
        let files = match fs.list(&path) {
            // A live owner removes what it has deleted.
            Err(e) if e.is_not_found() => continue,
            files => files?,
        };
        for file in files {
            let what = match kind {
                DirKind::Delete => FileUse::Deleted,
                DirKind::Stray | DirKind::Future(_) => FileUse::Marked,
                DirKind::Log(_) => use_of(SegmentFile::parse(&file.name)),
                DirKind::ClusterMetadata => FileUse::ClusterMetadata,
                _ => FileUse::Other,
            };
            add(fs, &path.join(&file.name), what, &mut found)?;
        }
    }
    Ok(found)
}

fn use_of(file: Option<SegmentFile>) -> FileUse {
    match file {
        None => FileUse::Other,
        Some(file) if file.state == FileState::Deleted => FileUse::Deleted,
        Some(file) => match file.kind {
            SegmentFileKind::Log => FileUse::Segments,
            SegmentFileKind::Snapshot => FileUse::Snapshots,
            _ => FileUse::Indexes,
        },
    }
}

fn add(
    fs: &dyn FileSystem,
    path: &Path,
    what: FileUse,
    found: &mut BTreeMap<FileUse, Taken>,
) -> Result<()> {
    match fs.stat(path) {
        Ok(stat) if stat.kind == EntryKind::File => {
            let taken = found.entry(what).or_default();
            taken.files += 1;
            taken.bytes += stat.len;
            taken.allocated_bytes += stat.allocated;
            Ok(())
        }
        Ok(_) => Ok(()),
        Err(e) if e.is_not_found() => Ok(()),
        Err(e) => Err(e),
    }
}
