//! One log: which files are there, its segments in order, and the small files beside them.

use std::collections::BTreeMap;
use std::path::Path;

use super::segment::{self, Rank, Walk};
use super::{
    EPOCHS, IGNORED, Known, LEFTOVER, MISSING, NO_ID, REBUILT, Report, SMALL, STATE, small_files,
};
use crate::error::Result;
use crate::format::epoch_checkpoint;
use crate::format::names::{FileState, SegmentFile, SegmentFileKind};
use crate::format::partition_metadata;
use crate::io::{DirEntry, EntryKind, FileSystem};
use crate::segment::path_of;
use crate::state::epochs::EpochCache;
use crate::types::{Offset, TopicPartition};

/// Names of a partition's directory besides those of segments.
const NAMES: [&str; 3] = [
    epoch_checkpoint::FILE,
    partition_metadata::FILE,
    partition_metadata::CORRUPT_FILE,
];

/// Looks at a log.
pub(super) fn check(
    fs: &dyn FileSystem,
    dir: &Path,
    partition: &TopicPartition,
    known: &Known<'_>,
    report: &mut Report,
) -> Result<()> {
    report.verdict.looked.logs += 1;
    let mut entries = fs.list(dir)?;
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    let files = sort(dir, &entries, report);
    let bases: Vec<Offset> = files
        .iter()
        .filter(|(_, kinds)| kinds.contains(&SegmentFileKind::Log))
        .map(|(base, _)| *base)
        .collect();
    for (base, kinds) in &files {
        for kind in kinds {
            let path = path_of(dir, *base, *kind);
            if *kind == SegmentFileKind::Snapshot {
                small_files::producers(fs, &path, report)?;
            } else if !bases.contains(base) {
                report.damage(&path, None, "an index without its log", MISSING);
            }
        }
    }
    let lines = small_files::epochs(fs, dir, report)?;
    let has_id = small_files::topic_id(fs, dir, report)?;
    let cleaned_upto = known
        .cleaned_upto
        .get(partition)
        .copied()
        .unwrap_or(Offset(-1));
    let start = known.log_starts.get(partition).copied();
    let first = bases.first().copied().unwrap_or(Offset::ZERO);
    if let Some(start) = start.filter(|start| *start < first) {
        let what = format!("offsets {start}..{first} are missing: the log starts at {start}");
        let path = path_of(dir, first, SegmentFileKind::Log);
        report.damage(&path, None, what, MISSING);
    }
    if bases.is_empty() {
        report.damage(dir, None, "there is no segment", MISSING);
    }
    let cache = lines.as_ref().map(|lines| EpochCache::from_lines(lines));
    // Logs of old formats have none.
    let epochs = cache.clone().filter(|cache| !cache.is_empty());
    let mut walk = Walk::new(first, start.unwrap_or(first), epochs, cleaned_upto);
    for (i, base) in bases.iter().enumerate() {
        let next = bases.get(i + 1).copied();
        let rank = match next {
            Some(_) => Rank::Sealed,
            None => Rank::Active {
                is_clean: known.is_clean,
            },
        };
        segment::check(fs, dir, *base, next, rank, &mut walk, report)?;
    }
    let end = walk.expected;
    if !walk.has_old {
        for (path, at, what) in walk.unknown_epochs.drain(..) {
            report.damage(&path, Some(at), what, EPOCHS);
        }
    }
    let active = bases.last().copied().unwrap_or(Offset::ZERO);
    snapshots(dir, &files, active, end, walk.has_producers, report);
    let path = dir.join(epoch_checkpoint::FILE);
    match &cache {
        None if has_id && walk.has_epochs => {
            report.damage(&path, None, "the file is missing", EPOCHS);
        }
        Some(cache) if cache.is_empty() && walk.has_epochs => {
            report.damage(&path, None, "it has no epoch, the batches have", EPOCHS);
        }
        Some(cache) => {
            if let Some(entry) = cache
                .entries()
                .iter()
                .find(|entry| entry.start_offset > end)
            {
                let what = format!(
                    "epoch {} begins at {}, behind the log end {end}",
                    entry.epoch, entry.start_offset
                );
                report.damage(&path, None, what, EPOCHS);
            }
        }
        None => {}
    }
    if !has_id && walk.has_epochs {
        let path = dir.join(partition_metadata::FILE);
        report.note(
            &path,
            None,
            "the file is missing: the log has no topic id",
            NO_ID,
        );
    }
    points(dir, partition, end, known, report);
    Ok(())
}

/// Snapshots of producers that are not where the log has them.
fn snapshots(
    dir: &Path,
    files: &BTreeMap<Offset, Vec<SegmentFileKind>>,
    active: Offset,
    end: Offset,
    has_producers: bool,
    report: &mut Report,
) {
    let has = |offset: &Offset, kind| files.get(offset).is_some_and(|kinds| kinds.contains(&kind));
    let mut newest = None;
    for offset in files
        .keys()
        .filter(|offset| has(offset, SegmentFileKind::Snapshot))
    {
        let path = path_of(dir, *offset, SegmentFileKind::Snapshot);
        if *offset > end {
            let what = format!("it is of offset {offset}, behind the log end {end}");
            report.note(&path, None, what, STATE);
        } else if *offset < active && !has(offset, SegmentFileKind::Log) {
            report.note(&path, None, "it is of an offset inside a segment", STATE);
        } else {
            newest = Some(*offset);
        }
    }
    // A roll and a close write one each.
    if has_producers && active > Offset::ZERO && newest.is_none_or(|newest| newest < active) {
        let what = format!("no snapshot of producers at {active} or above");
        report.note(dir, None, what, STATE);
    }
}

/// Checkpoints of the log directory that do not fit the log.
fn points(
    dir: &Path,
    partition: &TopicPartition,
    end: Offset,
    known: &Known<'_>,
    report: &mut Report,
) {
    let files = [
        (
            known.recovery_points,
            crate::format::checkpoint::RECOVERY_POINT_FILE,
        ),
        (known.log_starts, crate::format::checkpoint::LOG_START_FILE),
    ];
    for (offsets, name) in files {
        let Some(offset) = offsets.get(partition).filter(|offset| **offset > end) else {
            continue;
        };
        let path = dir.parent().unwrap_or(dir).join(name);
        let what = format!("{partition} {offset} lies behind the log end {end}");
        let words = if name == crate::format::checkpoint::LOG_START_FILE {
            MISSING
        } else {
            SMALL
        };
        report.damage(&path, None, what, words);
    }
}

/// The live files of each offset. Others are told.
fn sort(
    dir: &Path,
    entries: &[DirEntry],
    report: &mut Report,
) -> BTreeMap<Offset, Vec<SegmentFileKind>> {
    let mut files: BTreeMap<Offset, Vec<SegmentFileKind>> = BTreeMap::new();
    for entry in entries {
        let path = dir.join(&entry.name);
        match SegmentFile::parse(&entry.name) {
            Some(file) if entry.kind == EntryKind::File => match file.state {
                FileState::Live => files.entry(file.offset).or_default().push(file.kind),
                FileState::Cleaned | FileState::Swap => {
                    report.note(
                        &path,
                        None,
                        "a replacement of segments was interrupted",
                        LEFTOVER,
                    );
                }
                FileState::Deleted => {
                    report.note(&path, None, "it waits for its removal", LEFTOVER);
                }
            },
            Some(_) => report.damage(&path, None, "not a file", REBUILT),
            None => {
                let is_known = entry
                    .name
                    .to_str()
                    .is_some_and(|name| NAMES.contains(&name));
                if !is_known {
                    report.note(&path, None, "a name that is none of Kafka's", IGNORED);
                }
            }
        }
    }
    files
}
