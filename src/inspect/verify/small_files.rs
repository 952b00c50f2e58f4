//! The small files of a log directory and of a partition: checkpoints, epochs, ids, snapshots.

use std::path::Path;
use std::sync::Arc;

use super::{EPOCHS, IGNORED, Report, SMALL, STARTUP, STATE};
use crate::error::Result;
use crate::format::checkpoint::{
    self, CLEANER_FILE, HIGH_WATERMARK_FILE, LOG_START_FILE, Offsets, RECOVERY_POINT_FILE,
};
use crate::format::epoch_checkpoint::{self, EpochEntry};
use crate::format::{marker, meta_properties, partition_metadata, snapshot};
use crate::io::{DirEntry, File, FileSystem, OpenMode, SMALL_FILE_BYTES_MAX};
use crate::types::to_usize;

/// Names of a log directory that are Kafka's, or any system's.
const NAMES: [&str; 10] = [
    CLEANER_FILE,
    HIGH_WATERMARK_FILE,
    LOG_START_FILE,
    RECOVERY_POINT_FILE,
    marker::FILE,
    meta_properties::FILE,
    ".lock",
    "bootstrap.checkpoint",
    "lost+found",
    "remote-log-index-cache",
];

pub(super) struct Checkpoints {
    pub(super) recovery_points: Offsets,
    pub(super) log_starts: Offsets,
    pub(super) cleaned_upto: Offsets,
}

/// The content of a small file; none if it is not there, or larger than such a file can be, which is told.
pub(super) fn read_small(
    fs: &dyn FileSystem,
    path: &Path,
    report: &mut Report,
) -> Result<Option<Vec<u8>>> {
    let Some((file, len)) = open_upto(fs, path, SMALL_FILE_BYTES_MAX, report)? else {
        return Ok(None);
    };
    let mut content = vec![0; to_usize(len)];
    let read = file.read_at(&mut content, 0)?;
    content.truncate(read);
    Ok(Some(content))
}

/// Opens a file, and how long it is.
fn open_upto(
    fs: &dyn FileSystem,
    path: &Path,
    bytes_max: u64,
    report: &mut Report,
) -> Result<Option<(Arc<dyn File>, u64)>> {
    let file = match fs.open(path, OpenMode::Read) {
        Ok(file) => file,
        Err(e) if e.is_not_found() => return Ok(None),
        Err(e) => return Err(e),
    };
    let len = file.len()?;
    if len > bytes_max {
        report.damage(
            path,
            None,
            format!("{len} bytes, far more than such a file has"),
            STARTUP,
        );
        return Ok(None);
    }
    Ok(Some((file, len)))
}

/// Reads the checkpoints of a log directory and looks at its `meta.properties`.
pub(super) fn checkpoints(
    fs: &dyn FileSystem,
    dir: &Path,
    report: &mut Report,
) -> Result<Checkpoints> {
    let mut of = |name: &str| -> Result<Offsets> {
        let path = dir.join(name);
        let content = read_small(fs, &path, report)?.unwrap_or_default();
        match checkpoint::parse(&content) {
            Ok(offsets) => {
                for (partition, offset) in offsets.iter().filter(|(_, offset)| offset.0 < 0) {
                    report.damage(
                        &path,
                        None,
                        format!("{partition} has the offset {offset}"),
                        SMALL,
                    );
                }
                Ok(offsets)
            }
            Err(e) => {
                report.damage(&path, None, e.to_string(), SMALL);
                Ok(Offsets::new())
            }
        }
    };
    let checkpoints = Checkpoints {
        recovery_points: of(RECOVERY_POINT_FILE)?,
        log_starts: of(LOG_START_FILE)?,
        cleaned_upto: of(CLEANER_FILE)?,
    };
    of(HIGH_WATERMARK_FILE)?;
    let path = dir.join(meta_properties::FILE);
    if let Some(content) = read_small(fs, &path, report)?
        && let Err(e) = meta_properties::parse(&content)
    {
        report.damage(&path, None, e.to_string(), STARTUP);
    }
    Ok(checkpoints)
}

/// Tells of a name in a log directory that is nobody's.
pub(super) fn name_in_dir(path: &Path, entry: &DirEntry, report: &mut Report) {
    let is_known = entry.name.to_str().is_some_and(|name| {
        NAMES.contains(&name) || Path::new(name).extension().is_some_and(|e| e == "tmp")
    });
    if !is_known && report.verdict.flaws.len() < super::FLAWS_MAX {
        report.note(path, None, "a file whose name is none of Kafka's", IGNORED);
    }
}

/// The leader epochs of a partition; none if the file is missing or cannot be understood.
pub(super) fn epochs(
    fs: &dyn FileSystem,
    dir: &Path,
    report: &mut Report,
) -> Result<Option<Vec<EpochEntry>>> {
    let path = dir.join(epoch_checkpoint::FILE);
    let Some(content) = read_small(fs, &path, report)? else {
        return Ok(None);
    };
    match epoch_checkpoint::parse(&content) {
        Err(e) => {
            report.damage(&path, None, e.to_string(), STARTUP);
            Ok(None)
        }
        Ok(lines) => {
            let mut pairs = lines.iter().zip(lines.iter().skip(1));
            if let Some((a, b)) =
                pairs.find(|(a, b)| a.epoch >= b.epoch || a.start_offset >= b.start_offset)
            {
                let what = format!(
                    "epoch {} from {} is followed by epoch {} from {}: both have to rise",
                    a.epoch, a.start_offset, b.epoch, b.start_offset
                );
                report.damage(&path, None, what, EPOCHS);
            }
            Ok(Some(lines))
        }
    }
}

/// Looks at the topic id of a partition. Whether it has one.
pub(super) fn topic_id(fs: &dyn FileSystem, dir: &Path, report: &mut Report) -> Result<bool> {
    let path = dir.join(partition_metadata::FILE);
    let Some(content) = read_small(fs, &path, report)? else {
        return Ok(false);
    };
    if let Err(e) = partition_metadata::parse(&content) {
        report.damage(&path, None, e.to_string(), STARTUP);
    }
    Ok(true)
}

/// Looks at a snapshot of producers.
pub(super) fn producers(fs: &dyn FileSystem, path: &Path, report: &mut Report) -> Result<()> {
    if let Some((file, len)) = open_upto(fs, path, snapshot::BYTES_MAX, report)?
        && let Err(e) =
            snapshot::read_entries(len, &mut |to, at| file.read_at(to, at), &mut |_| {})?
    {
        report.damage(path, None, e.to_string(), STATE);
    }
    Ok(())
}
