//! The entries of a log's directory that are no batches: which files are Kafka's, and the topic id. Implements log.md 8.1,
//! manager.md 1.7, deviations.md D38, D54.

use std::path::Path;

use super::super::report::{FindingKind, LoadNotes};
use crate::error::Result;
use crate::format::names::SegmentFile;
use crate::format::uuid::Uuid;
use crate::format::{epoch_checkpoint, partition_metadata};
use crate::io::{DirEntry, EntryKind, FileSystem, SMALL_FILE_BYTES_MAX, read_parsed};

/// The files of a directory whose names are Kafka's, by offset and kind.
pub(in crate::log) fn list_segment_files(
    fs: &dyn FileSystem,
    dir: &Path,
) -> Result<Vec<SegmentFile>> {
    Ok(segment_files(&fs.list(dir)?))
}

/// Those of a directory's entries, by offset and kind.
pub(super) fn segment_files(entries: &[DirEntry]) -> Vec<SegmentFile> {
    let mut files: Vec<SegmentFile> = entries
        .iter()
        .filter(|entry| entry.kind == EntryKind::File)
        .filter_map(|entry| SegmentFile::parse(&entry.name))
        .collect();
    files.sort();
    files
}

/// Names what is in the directory and not Kafka's; it is left alone (hard-cases.md HC21).
pub(super) fn note_foreign_entries(entries: &[DirEntry], notes: &mut LoadNotes) {
    let mut names: Vec<_> = entries.iter().collect();
    names.sort_by(|a, b| a.name.cmp(&b.name));
    for entry in names {
        let known = entry.kind == EntryKind::File
            && (SegmentFile::parse(&entry.name).is_some() || is_fixed_name(&entry.name));
        if !known {
            notes.note(
                FindingKind::Ignored,
                format!("left {} alone: no file of Kafka's", entry.name.display()),
            );
        }
    }
}

fn is_fixed_name(name: &std::ffi::OsStr) -> bool {
    let name = name.to_string_lossy();
    let plain = name.strip_suffix(".tmp").unwrap_or(&name);
    plain == epoch_checkpoint::FILE
        || plain == partition_metadata::FILE
        || name == partition_metadata::CORRUPT_FILE
}

/// The topic id; a file that does not parse is put aside (deviations.md D54).
pub(super) fn read_topic_id(
    fs: &dyn FileSystem,
    dir: &Path,
    notes: &mut LoadNotes,
) -> Result<Option<Uuid>> {
    let path = dir.join(partition_metadata::FILE);
    let read = read_parsed(fs, &path, SMALL_FILE_BYTES_MAX, partition_metadata::parse)?;
    let Some(parsed) = read else {
        return Ok(None);
    };
    match parsed {
        Ok(id) => Ok(Some(id)),
        Err(e) => {
            fs.rename(&path, &dir.join(partition_metadata::CORRUPT_FILE))?;
            fs.sync_dir(dir)?;
            notes.note(
                FindingKind::Repaired,
                format!(
                    "renamed {} to {}: {e}",
                    partition_metadata::FILE,
                    partition_metadata::CORRUPT_FILE
                ),
            );
            Ok(None)
        }
    }
}
