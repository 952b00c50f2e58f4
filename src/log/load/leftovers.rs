//! What an interrupted replacement or deletion of segments left: finished if the new segments are complete, undone if not.
//! Implements log.md 8.1-8.3, W9, hard-cases.md HC15, HC16.
//!
//! A crash may come here too, and the next load has only the names to go by: what proves that a set is not to be used
//! goes last, and what a set replaces goes before the set gets its names. A directory sync stands between.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use crate::error::Result;
use crate::format::names::{FileState, SegmentFile, SegmentFileKind};
use crate::io::{FileSystem, OpenMode};
use crate::log::report::{FindingKind, LoadNotes};
use crate::segment::BatchScan;
use crate::types::Offset;

/// The offsets that a complete set of `.swap` files replaces: everything from `first` on and below `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Replaced {
    first: Offset,
    end: Offset,
}

/// Puts the directory in order, which has these files. Whether it changed.
pub(super) fn settle(
    fs: &Arc<dyn FileSystem>,
    dir: &Path,
    mut files: Vec<SegmentFile>,
    notes: &mut LoadNotes,
) -> Result<bool> {
    let mut changed = false;
    // Files are renamed from .cleaned to .swap from the highest base down, so a .cleaned file proves that the .swap
    // files at its base and above are not all there (KAFKA-6264).
    let unfinished = files
        .iter()
        .filter(|f| f.state == FileState::Cleaned)
        .map(|f| f.offset)
        .min();
    let is_of_unfinished =
        |f: &SegmentFile| f.state == FileState::Swap && unfinished.is_some_and(|u| f.offset >= u);
    for file in files
        .iter()
        .filter(|f| f.state == FileState::Cleaned || is_of_unfinished(f))
    {
        notes.note(
            FindingKind::Repaired,
            format!("removed {}: its replacement was not complete", file.name()),
        );
    }
    changed |= remove_all(&**fs, dir, files.iter().filter(|f| is_of_unfinished(f)))?;
    changed |= remove_all(
        &**fs,
        dir,
        files.iter().filter(|f| f.state == FileState::Cleaned),
    )?;
    files.retain(|f| match f.state {
        FileState::Live | FileState::Deleted => true,
        FileState::Swap => !is_of_unfinished(f),
        FileState::Cleaned => false,
    });

    match replaced_by(fs, dir, &files)? {
        Swaps::None => {}
        Swaps::Broken(broken, problem) => {
            notes.note(
                FindingKind::Repaired,
                format!(
                    "removed a set of .swap files, kept the segments: {}: {problem}",
                    broken.name()
                ),
            );
            let originals = originals_of(&files);
            changed |= take_back(&**fs, dir, &originals, notes)?;
            let swaps = files.iter().filter(|f| f.state == FileState::Swap);
            changed |= remove_all(&**fs, dir, swaps.filter(|&f| *f != broken))?;
            changed |= remove_all(&**fs, dir, [&broken])?;
            files.retain(|f| f.state != FileState::Swap && !originals.contains(f));
        }
        Swaps::Complete(range) => {
            notes.note(
                FindingKind::Repaired,
                format!(
                    "finished replacing offsets {} to {}",
                    range.first, range.end
                ),
            );
            // Nothing of a segment with the base of a new one stays, though that may be empty and cover no offset.
            let has_new = |old: &SegmentFile| {
                old.kind != SegmentFileKind::Snapshot
                    && files.contains(&SegmentFile {
                        kind: SegmentFileKind::Log,
                        state: FileState::Swap,
                        ..*old
                    })
            };
            let old = files
                .iter()
                .filter(|f| f.state == FileState::Live && (is_replaced(f, range) || has_new(f)));
            changed |= remove_all(&**fs, dir, old)?;
        }
    }
    // Not before it is known that nothing of it is wanted back.
    changed |= remove_all(
        &**fs,
        dir,
        files.iter().filter(|f| f.state == FileState::Deleted),
    )?;
    for swap in files.iter().filter(|f| f.state == FileState::Swap) {
        changed = true;
        fs.rename(
            &dir.join(swap.name()),
            &dir.join(swap.in_state(FileState::Live).name()),
        )?;
    }
    if changed {
        fs.sync_dir(dir)?;
    }
    Ok(changed)
}

/// The files that a replacement had already put out of use, if its new segments turn out to be no good: those from the first
/// new one up to the next segment that is still there. Others that wait for their removal do not come back.
fn originals_of(files: &[SegmentFile]) -> Vec<SegmentFile> {
    let bases = |state, kind| {
        files
            .iter()
            .filter(move |f| f.state == state && f.kind == kind)
            .map(|f| f.offset)
    };
    let Some(first) = bases(FileState::Swap, SegmentFileKind::Log).min() else {
        return Vec::new();
    };
    let live: Vec<Offset> = bases(FileState::Live, SegmentFileKind::Log).collect();
    let next = live
        .iter()
        .copied()
        .filter(|&base| base > first)
        .min()
        .unwrap_or(first);
    files
        .iter()
        .filter(|f| f.state == FileState::Deleted && f.kind != SegmentFileKind::Snapshot)
        .filter(|f| first <= f.offset && f.offset < next)
        .filter(|f| !files.contains(&f.in_state(FileState::Live)))
        .copied()
        .collect()
}

/// Gives those files their names again, from the highest base down: what a crash leaves of that is what
/// [`originals_of`] goes on with. Whether there were any.
fn take_back(
    fs: &dyn FileSystem,
    dir: &Path,
    originals: &[SegmentFile],
    notes: &mut LoadNotes,
) -> Result<bool> {
    let bases: BTreeSet<Offset> = originals.iter().map(|f| f.offset).collect();
    for &base in bases.iter().rev() {
        for original in originals.iter().filter(|f| f.offset == base) {
            notes.note(
                FindingKind::Repaired,
                format!("took back {}", original.name()),
            );
            fs.rename(
                &dir.join(original.name()),
                &dir.join(original.in_state(FileState::Live).name()),
            )?;
        }
        fs.sync_dir(dir)?;
    }
    Ok(!bases.is_empty())
}

/// Removes files, so that whatever is done next is done after it on the disk too. Whether there were any.
fn remove_all<'f>(
    fs: &dyn FileSystem,
    dir: &Path,
    files: impl IntoIterator<Item = &'f SegmentFile>,
) -> Result<bool> {
    let mut any = false;
    for file in files {
        fs.remove_file(&dir.join(file.name()))?;
        any = true;
    }
    if any {
        fs.sync_dir(dir)?;
    }
    Ok(any)
}

fn is_replaced(file: &SegmentFile, range: Replaced) -> bool {
    range.first <= file.offset && file.offset < range.end
}

enum Swaps {
    /// No log is being replaced.
    None,
    /// All of them are whole.
    Complete(Replaced),
    /// One is not: which, and what is wrong.
    Broken(SegmentFile, String),
}

/// Reads every `.log.swap` whole before anything is replaced: a torn one must not cost the originals.
fn replaced_by(fs: &Arc<dyn FileSystem>, dir: &Path, files: &[SegmentFile]) -> Result<Swaps> {
    let mut range: Option<Replaced> = None;
    for swap in files
        .iter()
        .filter(|f| f.state == FileState::Swap && f.kind == SegmentFileKind::Log)
    {
        let end = match whole_segment_end(fs, &dir.join(swap.name()), swap.offset)? {
            Ok(end) => end,
            Err(problem) => return Ok(Swaps::Broken(*swap, problem)),
        };
        range = Some(range.map_or(
            Replaced {
                first: swap.offset,
                end,
            },
            |r| Replaced {
                first: r.first.min(swap.offset),
                end: r.end.max(end),
            },
        ));
    }
    Ok(range.map_or(Swaps::None, Swaps::Complete))
}

/// The offset behind the last batch of a file that holds nothing but good batches with rising offsets from `base` on;
/// else what is wrong.
fn whole_segment_end(
    fs: &Arc<dyn FileSystem>,
    path: &Path,
    base: Offset,
) -> Result<std::result::Result<Offset, String>> {
    let file = fs.open(path, OpenMode::Read)?;
    let len = file.len()?;
    BatchScan::new(file, 0..len).end_of_valid(base)
}
