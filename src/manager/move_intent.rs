//! What tells, after a crash, that a log was on its way out of a directory when its copy in another one took its place.
//!
//! For a moment both directories have the partition. Before that moment the old one gets a directory marked `-delete`, which
//! any owner removes, Kafka too, with the name of the new place in it; at that time the copy is complete and nothing is
//! appended. Who finds both and the note takes the copy. Who finds the note and not both takes it away before anything is
//! appended, as it would be wrong then. Implements manager.md 9.5.

use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::delete::{DELETE, remove_tree};
use crate::error::Result;
use crate::format::names::{DirKind, classify_dir, marked_dir_name};
use crate::format::uuid::Uuid;
use crate::io::{EntryKind, FileSystem, OpenMode, SMALL_FILE_BYTES_MAX, read_parsed};
use crate::types::TopicPartition;

/// The file with the new place, within the marked directory.
const FILE: &str = "moved-to";

/// That a log moves from one directory to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MoveIntent {
    /// Its directory so far.
    pub(super) from: PathBuf,
    /// Its directory from now on.
    pub(super) to: PathBuf,
    note: PathBuf,
}

impl MoveIntent {
    /// A note that is to be written.
    pub(super) fn new(partition: &TopicPartition, from: &Path, to: &Path) -> Result<Self> {
        let dir = from.parent().unwrap_or(from);
        Ok(Self {
            from: from.to_path_buf(),
            to: to.to_path_buf(),
            note: dir.join(marked_dir_name(partition, Uuid::random()?, DELETE)),
        })
    }

    /// Writes it, durably. If that fails it may be there or not, and must be cleared.
    pub(super) fn write(&self, fs: &dyn FileSystem) -> Result<()> {
        fs.create_dir(&self.note)?;
        let content = [
            self.from.file_name().unwrap_or_default().as_bytes(),
            b"\n",
            self.to.as_os_str().as_bytes(),
            b"\n",
        ];
        let file = fs.open(&self.note.join(FILE), OpenMode::Truncate)?;
        file.write_at(&content.concat(), 0)?;
        file.sync()?;
        fs.sync_dir(&self.note)?;
        fs.sync_dir(self.note.parent().unwrap_or(&self.note))
    }

    /// All that are noted in a directory.
    pub(super) fn find_all(fs: &dyn FileSystem, dir: &Path) -> Result<Vec<Self>> {
        let mut found = Vec::new();
        for entry in fs.list(dir)? {
            if entry.kind != EntryKind::Dir || classify_dir(&entry.name) != DirKind::Delete {
                continue;
            }
            let note = dir.join(&entry.name);
            let read = read_parsed(fs, &note.join(FILE), SMALL_FILE_BYTES_MAX, |content| {
                Ok(content.to_vec())
            })?;
            if let Some(Ok(content)) = read {
                found.extend(Self::parse(dir, note, &content));
            }
        }
        Ok(found)
    }

    /// Half a note is none: it was not durable when the crash came, and the copy had not taken its place yet.
    fn parse(dir: &Path, note: PathBuf, content: &[u8]) -> Option<Self> {
        let content = content.strip_suffix(b"\n")?;
        let line_end = content.iter().position(|&byte| byte == b'\n')?;
        let (name, to) = content.split_at(line_end);
        Some(Self {
            from: dir.join(OsStr::from_bytes(name)),
            to: PathBuf::from(std::ffi::OsString::from_vec(to.get(1..)?.to_vec())),
            note,
        })
    }

    /// Marks the old directory to be deleted, durably. Its new name.
    pub(super) fn put_away(
        &self,
        fs: &dyn FileSystem,
        partition: &TopicPartition,
    ) -> Result<PathBuf> {
        let dir = self.from.parent().unwrap_or(&self.from);
        let removed = dir.join(marked_dir_name(partition, Uuid::random()?, DELETE));
        fs.rename(&self.from, &removed)?;
        fs.sync_dir(dir)?;
        Ok(removed)
    }

    /// Takes the note away, durably.
    pub(super) fn clear(&self, fs: &dyn FileSystem) -> Result<()> {
        let file = self.note.join(FILE);
        match fs.remove_file(&file).and_then(|()| fs.sync_dir(&self.note)) {
            Err(e) if e.is_not_found() => {}
            other => other?,
        }
        // An empty one does no harm: whoever opens the directory next removes it.
        let _ = remove_tree(fs, &self.note);
        Ok(())
    }
}
