//! Splitting a segment that holds offsets too far from its base, which old versions of Kafka could write. Implements log.md
//! 8.6, 11.1, 11.4.
//!
//! The new files take the place of the old ones in the steps of any replacement of segments, so that a crash leaves the one
//! or the others ([`super::leftovers`]). They have no indexes yet: the load that asked for the split recovers them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};
use crate::format::names::{FileState, SegmentFile, SegmentFileKind};
use crate::io::{FileSystem, OpenMode};
use crate::segment::{BatchScan, Segment, SegmentOptions, rename_files};
use crate::types::{MAX_RELATIVE_OFFSET, Offset, TimestampMs, to_usize};

/// How much is copied at a time.
const CHUNK_BYTES: usize = 1024 * 1024;

/// A stretch of the old file that becomes a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    base: Offset,
    start: u64,
    end: u64,
}

/// Splits the segment at `base`. The bases of what it became.
pub(super) fn split(
    fs: &Arc<dyn FileSystem>,
    dir: &Arc<Path>,
    base: Offset,
    options: SegmentOptions,
) -> Result<Vec<Offset>> {
    let segment = Segment::open(fs, dir, base, options, TimestampMs(0))?;
    let parts = parts_of(&segment)?;
    if parts.iter().all(|part| part.base == base) {
        return Err(Error::new(
            ErrorKind::SegmentOverflow,
            format!("segment {base} cannot be split: it holds one batch, or none"),
        ));
    }
    let path = |base, state| -> PathBuf {
        let file = SegmentFile::live(base, SegmentFileKind::Log);
        dir.join(file.in_state(state).name())
    };
    let modified = segment.modified()?;
    for part in &parts {
        let cleaned = path(part.base, FileState::Cleaned);
        copy(&**fs, &segment, *part, &cleaned)?;
        fs.set_modified(&cleaned, modified)?;
    }
    fs.sync_dir(dir)?;
    // From the highest on: one that is still unfinished tells that those above it are not all there are.
    for part in parts.iter().rev() {
        fs.rename(
            &path(part.base, FileState::Cleaned),
            &path(part.base, FileState::Swap),
        )?;
        fs.sync_dir(dir)?;
    }
    rename_files(&**fs, dir, base, FileState::Live, FileState::Deleted)?;
    fs.sync_dir(dir)?;
    for part in &parts {
        fs.rename(
            &path(part.base, FileState::Swap),
            &path(part.base, FileState::Live),
        )?;
    }
    fs.sync_dir(dir)?;
    Ok(parts.iter().map(|part| part.base).collect())
}

/// As much as fits a base, then from the next batch on as much as fits its offset. What is no whole batch at the end stays
/// with the last part, for recovery to judge.
fn parts_of(segment: &Arc<Segment>) -> Result<Vec<Part>> {
    let size_bytes = segment.size_bytes();
    let mut scan = BatchScan::headers(Arc::clone(segment.file()), 0..size_bytes);
    let mut parts: Vec<Part> = Vec::new();
    loop {
        let scanned = match scan.next_batch() {
            Ok(Some(scanned)) => scanned,
            Ok(None) => break,
            Err(e) if e.is_corrupt_data() => break,
            Err(e) => return Err(e),
        };
        let last = scanned.header.last_offset;
        match parts.last_mut() {
            Some(part) if last - part.base <= i64::from(MAX_RELATIVE_OFFSET) => {
                part.end = scanned.end();
            }
            _ => parts.push(Part {
                base: scan.base_offset_of(&scanned)?,
                start: scanned.position,
                end: scanned.end(),
            }),
        }
    }
    if let Some(last) = parts.last_mut() {
        last.end = size_bytes;
    }
    Ok(parts)
}

fn copy(fs: &dyn FileSystem, segment: &Segment, part: Part, to: &Path) -> Result<()> {
    let file = fs.open(to, OpenMode::Truncate)?;
    let mut buffer = vec![0; CHUNK_BYTES.min(to_usize(part.end - part.start))];
    let mut at = part.start;
    while at < part.end {
        let wanted = buffer.len().min(to_usize(part.end - at));
        let chunk = buffer.get_mut(..wanted).unwrap_or_default();
        let read = segment.file().read_at(chunk, at)?;
        if read == 0 {
            return Err(Error::corrupt(format!(
                "segment {} ends at {at}, {} bytes were expected",
                segment.base_offset(),
                part.end
            )));
        }
        file.write_at(chunk.get(..read).unwrap_or_default(), at - part.start)?;
        at += read as u64;
    }
    file.sync()
}
