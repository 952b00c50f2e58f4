//! Copies of logs, also of a live owner's: each a prefix of its log that opens as if it had been closed in order.
//!
//! The source is read as a follower reads it. Only what the copy does not hold yet is read in full: a segment is the same if
//! every batch header in it is, checksums included. What the owner removes or replaces meanwhile shows when the list of
//! segments is asked for again, and that log is copied once more, which costs what has changed. The copy is then recovered:
//! every new batch is summed, indexes are made from the log, and the directory is closed in order.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::config::Resolved;
use crate::error::{Error, ErrorKind, Result};
use crate::format::checkpoint::{self, CLEANER_FILE, LOG_START_FILE, Offsets, RECOVERY_POINT_FILE};
use crate::format::names::{FileState, SegmentFile, SegmentFileKind};
use crate::format::{epoch_checkpoint, marker, partition_metadata};
use crate::io::{
    File, FileSystem, OpenMode, SMALL_FILE_BYTES_MAX, create_dir_all, exists, read_parsed,
    remove_file_if_exists, replace_file,
};
use crate::log::{Finding, Log};
use crate::manager::{Access, Manager, ManagerOptions};
use crate::segment::{BatchScan, Segment, path_of};
use crate::types::{Offset, TopicPartition, to_usize};

/// Bytes that are copied at a time.
const PIECE_BYTES: usize = 1 << 20;
/// How often a log is looked at that its owner changes meanwhile.
const LOOKS_MAX: usize = 20;

/// What became of a log's copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copied {
    /// Which log.
    pub partition: TopicPartition,
    /// Where the copy starts.
    pub start: Offset,
    /// Where it ends.
    pub end: Offset,
    /// Segments of it.
    pub segments: usize,
    /// Segments that travelled, whole or their end.
    pub segments_copied: usize,
    /// Bytes that travelled.
    pub bytes_copied: u64,
}

/// How far a log was copied.
struct Travelled {
    segments: usize,
    bytes: u64,
    /// The first offset that is new in the copy.
    changed_from: Option<Offset>,
}

/// Copies the logs of `source`, or those named, into `target`, which is made if it is not there. Logs that `target` holds are
/// brought up to date; others in it are left alone.
pub fn copy(
    fs: &Arc<dyn FileSystem>,
    source: &Path,
    target: &Path,
    only: &[TopicPartition],
    config: &Arc<Resolved>,
) -> Result<(Vec<Copied>, Vec<Finding>)> {
    super::ensure_is_dir(&**fs, source)?;
    let from = Manager::open(ManagerOptions {
        fs: Arc::clone(fs),
        access: Access::ReadOnly,
        ..ManagerOptions::new(vec![source.to_path_buf()], Arc::clone(config))
    })?;
    create_dir_all(&**fs, target)?;
    if fs.canonicalize(source)? == fs.canonicalize(target)? {
        return Err(Error::invalid_argument(
            "a directory cannot be copied onto itself",
        ));
    }
    let lock = fs.lock(&target.join(".lock"))?.ok_or_else(|| {
        Error::new(
            ErrorKind::DirLocked,
            format!("{} is in use by another process", target.display()),
        )
        .in_file(target)
    })?;
    if remove_file_if_exists(&**fs, &target.join(marker::FILE))? {
        fs.sync_dir(target)?;
    }
    let wanted: Vec<TopicPartition> = if only.is_empty() {
        from.logs()
            .iter()
            .map(|log| log.partition().clone())
            .collect()
    } else {
        only.to_vec()
    };
    let mut travelled = BTreeMap::new();
    for partition in &wanted {
        match copy_log(&**fs, &from, partition, source, target) {
            Ok(Some(done)) => {
                travelled.insert(partition.clone(), done);
            }
            // Its owner deleted it meanwhile: it is no part of the directory any more.
            Ok(None) if only.is_empty() => {}
            Ok(None) => return Err(from.log(partition).err().unwrap_or_else(|| gone(partition))),
            Err(e) => return Err(e.context(partition)),
        }
    }
    let mut findings = from.report().to_vec();
    // Opening takes it anew.
    drop(lock);
    let copy = Manager::open(ManagerOptions {
        fs: Arc::clone(fs),
        ..ManagerOptions::new(vec![target.to_path_buf()], Arc::clone(config))
    })?;
    findings.extend(
        copy.report()
            .iter()
            .filter(|finding| finding.status.is_some())
            .cloned(),
    );
    let mut done = Vec::new();
    for (partition, travelled) in travelled {
        let info = copy.log(&partition)?.info();
        done.push(Copied {
            partition,
            start: info.log_start_offset,
            end: info.log_end_offset,
            segments: info.segments,
            segments_copied: travelled.segments,
            bytes_copied: travelled.bytes,
        });
    }
    copy.close()?;
    Ok((done, findings))
}

fn gone(partition: &TopicPartition) -> Error {
    Error::new(
        ErrorKind::UnknownTopicOrPartition,
        format!("the log {partition} went away while it was copied"),
    )
}

/// Copies a log until its list of segments is the one that was copied. None if it is gone.
fn copy_log(
    fs: &dyn FileSystem,
    from: &Manager,
    partition: &TopicPartition,
    source: &Path,
    target: &Path,
) -> Result<Option<Travelled>> {
    let to = target.join(partition.to_string());
    create_dir_all(fs, &to)?;
    let mut total = Travelled {
        segments: 0,
        bytes: 0,
        changed_from: None,
    };
    for _ in 0..LOOKS_MAX {
        let log = match from.log(partition) {
            Ok(log) => log,
            Err(e) if e.kind() == ErrorKind::UnknownTopicOrPartition => return Ok(None),
            Err(e) => return Err(e),
        };
        let before = shape(&log);
        let looked = copy_segments(fs, &log, &to, &mut total);
        from.refresh_log(&log)?;
        match looked {
            Err(e) if e.is_changed_meanwhile() => continue,
            Err(e) if e.is_corrupt_data() && shape(&log) != before => continue,
            other => other?,
        }
        // The active segment may have grown: what was copied of it is a prefix.
        if !is_same_but_longer(&before, &shape(&log)) {
            continue;
        }
        settle(fs, &log, source, target, &to, &before, &total)?;
        return Ok(Some(total));
    }
    Err(Error::new(
        ErrorKind::Busy,
        format!(
            "its segments changed {LOOKS_MAX} times while they were copied; copy it again when less is cleaned"
        ),
    ))
}

/// The segments of a log: which file, and how long.
type ShapeOf = Vec<(Offset, u64, u64)>;

fn shape(log: &Log) -> ShapeOf {
    log.segment_list()
        .iter()
        .map(|segment| {
            let inode = segment.file().identity().map_or(0, |id| id.inode);
            (segment.base_offset(), inode, segment.size_bytes())
        })
        .collect()
}

fn is_same_but_longer(before: &ShapeOf, after: &ShapeOf) -> bool {
    // Segments that came behind do not matter; one that went in front does: the copy would begin before the log.
    before.len() <= after.len()
        && before.iter().zip(after).enumerate().all(|(i, (b, a))| {
            let may_grow = i + 1 == before.len();
            b.0 == a.0 && b.1 == a.1 && (b.2 == a.2 || (may_grow && a.2 > b.2))
        })
}

fn copy_segments(fs: &dyn FileSystem, log: &Log, to: &Path, total: &mut Travelled) -> Result<()> {
    let segments = log.segment_list();
    let listed: Vec<Offset> = segments.iter().map(|s| s.base_offset()).collect();
    for entry in fs.list(to)? {
        let Some(file) = SegmentFile::parse(&entry.name) else {
            continue;
        };
        let is_old = !listed.contains(&file.offset) && file.kind != SegmentFileKind::Snapshot;
        if is_old || file.state != FileState::Live {
            remove_file_if_exists(fs, &to.join(&entry.name))?;
        }
    }
    for segment in &segments {
        copy_segment(fs, segment, to, total)?;
    }
    fs.sync_dir(to)
}

/// Brings the copy of a segment up to date.
fn copy_segment(
    fs: &dyn FileSystem,
    segment: &Arc<Segment>,
    to: &Path,
    total: &mut Travelled,
) -> Result<()> {
    let base = segment.base_offset();
    let size = segment.size_bytes();
    let path = path_of(to, base, SegmentFileKind::Log);
    let (target, held, is_new) = match fs.open(&path, OpenMode::ReadWrite) {
        Ok(file) => {
            let held = file.len()?;
            (file, held, false)
        }
        Err(e) if e.is_not_found() => (fs.open(&path, OpenMode::Create)?, 0, true),
        Err(e) => return Err(e),
    };
    let (same_bytes, same_upto) = same_prefix(segment.file(), &target, held.min(size), base)?;
    if same_bytes == size && held == size && !is_new {
        return Ok(());
    }
    if held > same_bytes {
        target.set_len(same_bytes)?;
    }
    let mut piece = vec![0; PIECE_BYTES];
    let mut at = same_bytes;
    while at < size {
        let n = to_usize(size - at).min(PIECE_BYTES);
        let bytes = piece.get_mut(..n).unwrap_or_default();
        if segment.file().read_at(bytes, at)? < n {
            return Err(Error::corrupt("the segment became shorter").at_position(at));
        }
        target.write_at(bytes, at)?;
        at += n as u64;
    }
    target.sync()?;
    for kind in [
        SegmentFileKind::OffsetIndex,
        SegmentFileKind::TimeIndex,
        SegmentFileKind::TxnIndex,
    ] {
        remove_file_if_exists(fs, &path_of(to, base, kind))?;
    }
    total.segments += 1;
    total.bytes += size - same_bytes;
    total.changed_from = Some(
        total
            .changed_from
            .map_or(same_upto, |from| from.min(same_upto)),
    );
    Ok(())
}

/// How many bytes at the beginning of two files are the same batches, and the offset behind them.
fn same_prefix(
    a: &Arc<dyn File>,
    b: &Arc<dyn File>,
    len: u64,
    base: Offset,
) -> Result<(u64, Offset)> {
    let mut scans = (
        BatchScan::headers(Arc::clone(a), 0..len),
        BatchScan::headers(Arc::clone(b), 0..len),
    );
    let mut same = (0, base);
    loop {
        let (of_a, of_b) = match (scans.0.next_batch(), scans.1.next_batch()) {
            (Ok(Some(a)), Ok(Some(b))) => (a, b),
            (Err(e), _) | (_, Err(e)) if !e.is_corrupt_data() => return Err(e),
            _ => return Ok(same),
        };
        if of_a.header != of_b.header {
            return Ok(same);
        }
        same = (of_a.end(), of_a.header.last_offset.saturating_next());
    }
}

/// Writes what belongs to the log besides its segments, so that opening the copy recovers what is new in it.
fn settle(
    fs: &dyn FileSystem,
    log: &Log,
    source: &Path,
    target: &Path,
    to: &Path,
    shape: &ShapeOf,
    total: &Travelled,
) -> Result<()> {
    let partition = log.partition();
    if let Some(id) = log.topic_id() {
        replace_file(
            fs,
            &to.join(partition_metadata::FILE),
            &partition_metadata::write(id),
        )?;
    }
    replace_file(
        fs,
        &to.join(epoch_checkpoint::FILE),
        &epoch_checkpoint::write(&log.epochs()),
    )?;
    let first = shape.first().map_or(Offset::ZERO, |(base, ..)| *base);
    if let Some(from) = total.changed_from {
        for entry in fs.list(to)? {
            let snapshot = SegmentFile::parse(&entry.name)
                .filter(|file| file.kind == SegmentFileKind::Snapshot && file.offset > from);
            if snapshot.is_some() {
                remove_file_if_exists(fs, &to.join(&entry.name))?;
            }
        }
    }
    let start = log.start_offset();
    set(
        fs,
        target,
        LOG_START_FILE,
        partition,
        (start > first).then_some(start),
    )?;
    let cleaned = offsets(fs, &source.join(CLEANER_FILE))?
        .get(partition)
        .copied();
    set(fs, target, CLEANER_FILE, partition, cleaned)?;
    if let Some(from) = total.changed_from {
        let known = offsets(fs, &target.join(RECOVERY_POINT_FILE))?;
        let point = known.get(partition).copied().unwrap_or(Offset::ZERO);
        set(
            fs,
            target,
            RECOVERY_POINT_FILE,
            partition,
            Some(point.min(from)),
        )?;
    }
    Ok(())
}

fn offsets(fs: &dyn FileSystem, path: &Path) -> Result<Offsets> {
    let read = read_parsed(fs, path, SMALL_FILE_BYTES_MAX, checkpoint::parse)?;
    Ok(read.and_then(Result::ok).unwrap_or_default())
}

fn set(
    fs: &dyn FileSystem,
    dir: &Path,
    name: &str,
    partition: &TopicPartition,
    offset: Option<Offset>,
) -> Result<()> {
    let path: PathBuf = dir.join(name);
    let mut known = offsets(fs, &path)?;
    match offset {
        Some(offset) => known.insert(partition.clone(), offset),
        None => known.remove(partition),
    };
    if known.is_empty() && !exists(fs, &path)? {
        return Ok(());
    }
    replace_file(fs, &path, &checkpoint::write(&known))
}
