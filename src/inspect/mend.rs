//! What a repair sets right that no recovery does: bytes that no checksum covers, and segments that a replacement left behind.
//!
//! Each is changed only where the rest of the log tells what it was. A recovery comes afterwards.

use std::path::{Path, PathBuf};

use super::verify::{Severity, Verdict};
use crate::error::Result;
use crate::format::batch::{LEADER_EPOCH_AT, MAGIC_AT};
use crate::format::names::{FileState, SegmentFile, SegmentFileKind};
use crate::io::{FileSystem, OpenMode, remove_file_if_exists};
use crate::segment::{BatchScan, Scanned, path_of};
use crate::types::{LeaderEpoch, Offset};

/// The only format whose checksum leaves the magic out.
const MAGIC: i8 = 2;

/// Sets right what can be in the damaged logs of `dir`.
pub(super) fn mend(fs: &dyn FileSystem, dir: &Path, verdict: &Verdict) -> Result<()> {
    let mut last = None;
    for flaw in &verdict.flaws {
        let Some(partition) = flaw.partition.as_ref() else {
            continue;
        };
        if flaw.severity != Severity::Damage || last == Some(partition) {
            continue;
        }
        last = Some(partition);
        let log = dir.join(partition.to_string());
        for base in bases(fs, &log)? {
            mend_magic(fs, &path_of(&log, base, SegmentFileKind::Log))?;
        }
        mend_offsets(fs, &log)?;
        remove_superseded(fs, &log)?;
        mend_epochs(fs, &log)?;
    }
    Ok(())
}

/// The segments of a log.
fn bases(fs: &dyn FileSystem, log: &Path) -> Result<Vec<Offset>> {
    let mut bases: Vec<Offset> = fs
        .list(log)?
        .iter()
        .filter_map(|entry| SegmentFile::parse(&entry.name))
        .filter(|file| file.kind == SegmentFileKind::Log && file.state == FileState::Live)
        .map(|file| file.offset)
        .collect();
    bases.sort();
    Ok(bases)
}

fn scan(fs: &dyn FileSystem, path: &Path) -> Result<BatchScan> {
    let file = fs.open(path, OpenMode::Read)?;
    let len = file.len()?;
    Ok(BatchScan::new(file, 0..len))
}

/// The next batch with a good checksum; none where a recovery would cut.
fn next_good(scan: &mut BatchScan) -> Result<Option<Scanned>> {
    let found = scan.next_batch().and_then(|next| {
        if let Some(scanned) = &next {
            scan.ensure_valid(scanned)?;
        }
        Ok(next)
    });
    match found {
        Err(e) if e.is_corrupt_data() => Ok(None),
        other => other,
    }
}

fn write(fs: &dyn FileSystem, path: &Path, position: u64, bytes: &[u8]) -> Result<()> {
    let file = fs.open(path, OpenMode::ReadWrite)?;
    file.write_at(bytes, position)?;
    file.sync()
}

/// A batch with a magic that does not exist and a checksum that is good is one of magic 2.
fn mend_magic(fs: &dyn FileSystem, path: &Path) -> Result<()> {
    let mut scan = scan(fs, path)?;
    while let Some(scanned) = next_good(&mut scan)? {
        if !(0..=MAGIC).contains(&scanned.header.magic) {
            let at = scanned.position + MAGIC_AT as u64;
            write(fs, path, at, &MAGIC.to_be_bytes())?;
        }
    }
    Ok(())
}

/// Removes segments that the one before replaced: it has batches of theirs to the last, and none in their range that they have
/// not.
fn remove_superseded(fs: &dyn FileSystem, log: &Path) -> Result<()> {
    let mut bases = bases(fs, log)?.into_iter();
    let Some(mut first) = bases.next() else {
        return Ok(());
    };
    for second in bases {
        let path = |base| path_of(log, base, SegmentFileKind::Log);
        if !replaces(fs, &path(first), &path(second), second)? {
            first = second;
            continue;
        }
        for kind in [
            SegmentFileKind::Log,
            SegmentFileKind::OffsetIndex,
            SegmentFileKind::TimeIndex,
            SegmentFileKind::TxnIndex,
        ] {
            remove_file_if_exists(fs, &path_of(log, second, kind))?;
        }
        fs.sync_dir(log)?;
    }
    Ok(())
}

/// Whether the segment at `new` holds what compaction left of the one at `old`, which begins at `base`.
fn replaces(fs: &dyn FileSystem, new: &Path, old: &Path, base: Offset) -> Result<bool> {
    let (mut new, mut old) = (scan(fs, new)?, scan(fs, old)?);
    let (mut met, mut end_of_new) = (false, None);
    let mut old_batch = next_good(&mut old)?;
    while let Some(batch) = next_good(&mut new)? {
        end_of_new = Some(batch.header.last_offset);
        if batch.header.last_offset < base {
            continue;
        }
        let range = |scanned: &Scanned| {
            let header = &scanned.header;
            (header.base_offset, header.last_offset)
        };
        // Batches keep their range when records of them go; whole ones may be gone.
        while old_batch
            .as_ref()
            .is_some_and(|old| old.header.last_offset < batch.header.last_offset)
        {
            old_batch = next_good(&mut old)?;
        }
        match &old_batch {
            Some(old) if range(old) == range(&batch) => met = true,
            // It goes beyond the old one: there were more that it replaced.
            None if met => {}
            _ => return Ok(false),
        }
    }
    let mut end_of_old = old_batch;
    while let Some(next) = next_good(&mut old)? {
        end_of_old = Some(next);
    }
    let is_covered = end_of_old.is_none_or(|old| Some(old.header.last_offset) <= end_of_new);
    Ok(met && is_covered)
}

/// A batch and where it is.
struct Found {
    path: PathBuf,
    scanned: Scanned,
}

/// One batch whose offsets are not between those of its neighbours, which leave room for exactly as many, gets those.
fn mend_offsets(fs: &dyn FileSystem, log: &Path) -> Result<()> {
    let mut end_before: Option<Offset> = None;
    let mut current: Option<Found> = None;
    for base in bases(fs, log)? {
        let path = path_of(log, base, SegmentFileKind::Log);
        let mut scan = scan(fs, &path)?;
        while let Some(scanned) = next_good(&mut scan)? {
            let next = scanned.header.base_offset;
            if let Some(Found { path, scanned: odd }) = &current {
                let header = &odd.header;
                let expected = end_before.map_or(Offset(-1), Offset::saturating_next);
                let count = i64::from(header.last_offset_delta()) + 1;
                let is_odd = header.base_offset < expected || header.last_offset >= next;
                let fits = end_before.is_some() && next.0.checked_sub(expected.0) == Some(count);
                if header.is_v2() && is_odd && fits {
                    write(fs, path, odd.position, &expected.0.to_be_bytes())?;
                    end_before = Some(Offset(next.0 - 1));
                } else {
                    end_before = Some(header.last_offset);
                }
            }
            let path = path.clone();
            current = Some(Found { path, scanned });
        }
    }
    Ok(())
}

/// A batch whose leader epoch is above those behind it, or below those before.
struct Odd {
    path: PathBuf,
    position: u64,
    epoch: LeaderEpoch,
}

/// Leader epochs never fall. One batch between others that says otherwise gets theirs.
fn mend_epochs(fs: &dyn FileSystem, log: &Path) -> Result<()> {
    let mut before: Option<LeaderEpoch> = None;
    let mut current: Option<Odd> = None;
    for base in bases(fs, log)? {
        let path = path_of(log, base, SegmentFileKind::Log);
        let mut scan = scan(fs, &path)?;
        while let Some(scanned) = next_good(&mut scan)? {
            let header = &scanned.header;
            if !header.is_v2() || header.leader_epoch.0 < 0 {
                continue;
            }
            let next = header.leader_epoch;
            if let Some(odd) = &mut current {
                let is_above = odd.epoch > next && before.is_none_or(|before| before <= next);
                let is_below = before.is_some_and(|before| odd.epoch < before && before <= next);
                if is_above || is_below {
                    odd.epoch = before.unwrap_or(next);
                    let at = odd.position + LEADER_EPOCH_AT as u64;
                    write(fs, &odd.path, at, &odd.epoch.0.to_be_bytes())?;
                }
                before = Some(odd.epoch);
            }
            current = Some(Odd {
                path: path.clone(),
                position: scanned.position,
                epoch: next,
            });
        }
    }
    Ok(())
}
