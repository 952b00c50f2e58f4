//! The producers of a log with their snapshot files. Implements state.md 6, log.md 8.10.
//!
//! A snapshot is named after the offset up to which it holds the state. It is written under its final name and synced
//! before anything relies on it; one that is damaged is removed, and an older one or the log itself has the state.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::report::{FindingKind, LoadNotes};
use super::segments::SegmentList;
use crate::error::Result;
use crate::format::batch::{Batch, BatchHeader};
use crate::format::control::{self, ControlBatch};
use crate::format::decoder::RecordDecoder;
use crate::format::names::{FileState, SegmentFile, SegmentFileKind};
use crate::format::snapshot;
use crate::io::{EntryKind, File, FileSystem, OpenMode, open_bounded, remove_file_if_exists};
use crate::segment::{BatchScan, Segment};
use crate::state::producer::{Oddity, StagedProducer};
use crate::state::producers::Producers;
use crate::state::transactions::CompletedTxn;
use crate::types::{Offset, ProducerId, TimestampMs};

/// Whether a file is durable when the call returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Durability {
    /// Only when the next flush comes.
    Later,
    /// At once.
    Synced,
}

/// The state of the producers up to [`ProducerLog::map_end`], and the snapshots on disk.
#[derive(Debug)]
pub(super) struct ProducerLog {
    fs: Arc<dyn FileSystem>,
    dir: Arc<Path>,
    producers: Producers,
    map_end: Offset,
    last_snapshot: Offset,
    snapshots: BTreeSet<Offset>,
    expiration_ms: i64,
    /// A snapshot that was written and not synced.
    unsynced: Option<Arc<dyn File>>,
}

/// How far a rebuild goes, and from where.
#[derive(Clone, Copy, Debug)]
pub(super) struct RebuildRange {
    /// Where the log starts.
    pub(super) log_start: Offset,
    /// Up to where the state is wanted.
    pub(super) end: Offset,
    /// The time by which producers expire.
    pub(super) now: TimestampMs,
}

impl ProducerLog {
    /// The state of no producer, with the snapshots that lie in the directory: `known`, if somebody has looked.
    pub(super) fn open(
        fs: &Arc<dyn FileSystem>,
        dir: &Arc<Path>,
        expiration_ms: i64,
        known: Option<BTreeSet<Offset>>,
    ) -> Result<Self> {
        let mut opened = Self {
            fs: Arc::clone(fs),
            dir: Arc::clone(dir),
            producers: Producers::default(),
            map_end: Offset::ZERO,
            last_snapshot: Offset::ZERO,
            snapshots: BTreeSet::new(),
            expiration_ms,
            unsynced: None,
        };
        opened.snapshots = match known {
            Some(known) => known,
            None => opened.list_snapshots()?,
        };
        Ok(opened)
    }

    /// The offsets of the snapshots that there are.
    pub(super) fn into_snapshots(self) -> BTreeSet<Offset> {
        self.snapshots
    }

    fn list_snapshots(&self) -> Result<BTreeSet<Offset>> {
        let entries = self.fs.list(&self.dir)?;
        let files = entries
            .iter()
            .filter(|e| e.kind == EntryKind::File)
            .filter_map(|e| SegmentFile::parse(&e.name));
        Ok(files
            .filter(|f| f.kind == SegmentFileKind::Snapshot && f.state == FileState::Live)
            .map(|f| f.offset)
            .collect())
    }

    fn path(&self, offset: Offset) -> PathBuf {
        self.dir
            .join(SegmentFile::live(offset, SegmentFileKind::Snapshot).name())
    }

    /// The producers.
    #[must_use]
    pub(super) fn producers(&self) -> &Producers {
        &self.producers
    }

    /// The producers, for settling transactions.
    pub(super) fn producers_mut(&mut self) -> &mut Producers {
        &mut self.producers
    }

    /// After how many ms without a batch a producer is forgotten, from now on.
    pub(super) fn set_expiration_ms(&mut self, expiration_ms: i64) {
        self.expiration_ms = expiration_ms;
    }

    /// Forgets the producers that have expired.
    pub(super) fn expire(&mut self, now: TimestampMs) -> usize {
        self.producers.expire(now, self.expiration_ms)
    }

    /// The log starts at `start` now: transactions that ended below are gone, and there is no older state (state.md 6.10).
    pub(super) fn raise_start(&mut self, start: Offset) {
        self.producers.transactions.on_log_start(start);
        self.map_end = self.map_end.max(start);
        self.last_snapshot = self.snapshots.last().copied().unwrap_or(start);
    }

    /// The state holds up to this offset now.
    pub(super) fn set_map_end(&mut self, offset: Offset) {
        self.map_end = offset;
    }

    /// Writes a snapshot if the state went on since the last one (state.md 6.2).
    pub(super) fn take_snapshot(&mut self, durability: Durability) -> Result<()> {
        if self.map_end <= self.last_snapshot {
            return Ok(());
        }
        let file = write_snapshot(&*self.fs, &self.path(self.map_end), &self.producers)?;
        match durability {
            Durability::Synced => file.sync()?,
            Durability::Later => self.unsynced = Some(file),
        }
        self.snapshots.insert(self.map_end);
        self.last_snapshot = self.map_end;
        Ok(())
    }

    /// The snapshot that is still to be synced; it counts as synced from now on.
    pub(super) fn take_unsynced(&mut self) -> Option<Arc<dyn File>> {
        self.unsynced.take()
    }

    /// The snapshot that was taken could not be synced. There is none after it: a roll waits for the sync.
    pub(super) fn put_back_unsynced(&mut self, file: Arc<dyn File>) {
        self.unsynced.get_or_insert(file);
    }

    fn remove(&mut self, offset: Offset) -> Result<()> {
        remove_file_if_exists(&*self.fs, &self.path(offset))?;
        self.snapshots.remove(&offset);
        Ok(())
    }

    /// Renames the snapshot of a segment that goes away, to be removed later (state.md 6.3).
    pub(super) fn retire(&mut self, offset: Offset) -> Result<()> {
        if self.snapshots.remove(&offset) {
            let file = SegmentFile::live(offset, SegmentFileKind::Snapshot);
            let retired = self.dir.join(file.in_state(FileState::Deleted).name());
            match self.fs.rename(&self.path(offset), &retired) {
                Err(e) if e.is_not_found() => {}
                other => other?,
            }
        }
        Ok(())
    }

    /// Removes all snapshots and forgets all producers; the state begins anew at `start` (log.md 8.7 (b)).
    pub(super) fn restart_at(&mut self, start: Offset) -> Result<()> {
        self.producers.clear();
        for offset in std::mem::take(&mut self.snapshots) {
            remove_file_if_exists(&*self.fs, &self.path(offset))?;
        }
        self.map_end = start;
        self.last_snapshot = Offset::ZERO;
        Ok(())
    }

    /// Looks at the directory again and removes snapshots that belong to no segment, but for the last one if it is newer
    /// than every segment (state.md 6.4).
    pub(super) fn remove_strays(&mut self, segment_bases: &[Offset]) -> Result<()> {
        self.snapshots = self.list_snapshots()?;
        self.remove_known_strays(segment_bases)
    }

    /// As [`Self::remove_strays`], of those that are known.
    pub(super) fn remove_known_strays(&mut self, segment_bases: &[Offset]) -> Result<()> {
        let strays: Vec<Offset> = self
            .snapshots
            .iter()
            .filter(|o| !segment_bases.contains(o))
            .copied()
            .collect();
        let newest_base = segment_bases.iter().max();
        let kept = strays
            .last()
            .filter(|&&last| newest_base.is_none_or(|&base| last >= base))
            .copied();
        for stray in strays.into_iter().filter(|&stray| Some(stray) != kept) {
            self.remove(stray)?;
        }
        Ok(())
    }

    /// Removes what the next load would remove first of all, once the log ends with a snapshot. Where no snapshot would be
    /// left, all stay: Kafka's load would take that for a log whose snapshots were lost, and write others.
    pub(super) fn tidy(&mut self, segment_bases: &[Offset], range: RebuildRange) -> Result<()> {
        self.remove_strays(segment_bases)?;
        if range.end > range.log_start {
            self.drop_out_of_range(range)?;
        }
        Ok(())
    }

    /// Makes the state up to `range.end` from the newest snapshot that can be read and the batches behind it
    /// (state.md 6.5-6.7). Snapshots are written at the last two segment bases and at the end.
    pub(super) fn rebuild(
        &mut self,
        segments: &SegmentList,
        range: RebuildRange,
        shutdown: Shutdown,
        notes: &mut LoadNotes,
    ) -> Result<()> {
        let last_base = segments.last().map(|s| s.base_offset());
        let mut snapshot_at = [
            last_base
                .and_then(|base| segments.below(base))
                .map(|s| s.base_offset()),
            last_base,
        ];
        // Without any snapshot Kafka believes a clean shutdown to mean that there were no producers, and writes empty
        // snapshots from the very start. The same files are written here, with what the log says (D49).
        let believed_empty = self.snapshots.is_empty() && shutdown == Shutdown::Clean;
        let was_empty = !believed_empty && self.producers.is_empty() && self.map_end >= range.end;
        self.drop_out_of_range(range)?;
        if believed_empty {
            self.producers.clear();
            self.last_snapshot = Offset::ZERO;
            // Also where the log does not begin yet, and at the very base where it begins inside a segment.
            for base in snapshot_at
                .iter_mut()
                .filter(|base| base.is_some_and(|b| b <= range.log_start))
            {
                self.map_end = base.take().unwrap_or_default();
                self.take_snapshot(Durability::Synced)?;
            }
            self.map_end = range.log_start;
        } else if self.map_end != range.end {
            self.producers.clear();
            self.load_newest(range, shutdown, notes)?;
        } else {
            self.raise_start(range.log_start);
        }
        if range.end > self.map_end && !was_empty {
            self.replay(segments, range, &snapshot_at, notes)?;
        }
        self.map_end = range.end;
        self.take_snapshot(Durability::Synced)
    }

    fn drop_out_of_range(&mut self, range: RebuildRange) -> Result<()> {
        let out: Vec<Offset> = self
            .snapshots
            .iter()
            .filter(|&&o| o > range.end || o <= range.log_start)
            .copied()
            .collect();
        out.into_iter().try_for_each(|offset| self.remove(offset))
    }

    fn load_newest(
        &mut self,
        range: RebuildRange,
        shutdown: Shutdown,
        notes: &mut LoadNotes,
    ) -> Result<()> {
        while let Some(&newest) = self.snapshots.last() {
            match self.load_snapshot(newest, range.now)? {
                Ok(()) => {
                    if shutdown == Shutdown::Unclean {
                        // A roll leaves its sync to the next flush, which may not have come.
                        self.fs.open(&self.path(newest), OpenMode::Read)?.sync()?;
                    }
                    self.map_end = newest;
                    self.last_snapshot = newest;
                    return Ok(());
                }
                Err(e) => {
                    notes.note(
                        FindingKind::Repaired,
                        format!("removed the producer snapshot at {newest}: {e}"),
                    );
                    self.remove(newest)?;
                }
            }
        }
        self.map_end = range.log_start;
        self.last_snapshot = range.log_start;
        Ok(())
    }

    /// Takes in a snapshot. The inner error is that it is damaged: then nothing of it was.
    fn load_snapshot(&mut self, offset: Offset, now: TimestampMs) -> Result<Result<()>> {
        let (file, len) = match open_bounded(&*self.fs, &self.path(offset), snapshot::BYTES_MAX)? {
            None => return Ok(snapshot::parse(&[]).map(drop)),
            Some(Err(e)) => return Ok(Err(e)),
            Some(Ok(opened)) => opened,
        };
        let mut loading = self.producers.load(now, self.expiration_ms);
        let read = snapshot::read_entries(len, &mut |to, at| file.read_at(to, at), &mut |stored| {
            loading.take(&stored.entry());
        });
        drop(loading);
        if !matches!(read, Ok(Ok(()))) {
            // Its owner may have cut it after its checksum was found right.
            self.producers.clear();
        }
        read
    }

    fn replay(
        &mut self,
        segments: &SegmentList,
        range: RebuildRange,
        snapshot_at: &[Option<Offset>; 2],
        notes: &mut LoadNotes,
    ) -> Result<()> {
        let holds_end = segments.floor(range.end).map(|s| s.base_offset());
        for segment in segments.range(self.map_end, range.end) {
            let base = segment.base_offset();
            let start = base.max(self.map_end).max(range.log_start);
            self.map_end = start;
            if snapshot_at.contains(&Some(base)) {
                self.take_snapshot(Durability::Synced)?;
            }
            let mut replay = Replay::default();
            match self.replay_segment(
                segment,
                start,
                holds_end == Some(base),
                range.end,
                &mut replay,
                notes,
            ) {
                // Flushed data that cannot be read is no reason not to open a log: what lies before it is known.
                Err(e) if e.is_corrupt_data() => notes.note(
                    FindingKind::Ignored,
                    format!("segment {base} tells of producers only as far as it can be read: {e}"),
                ),
                other => other?,
            }
            replay.merge_into(&mut self.producers);
        }
        Ok(())
    }

    /// Takes in the batches of a segment from the one that holds `start` on, before the one that holds `end` if the
    /// segment holds that.
    fn replay_segment(
        &self,
        segment: &Arc<Segment>,
        start: Offset,
        holds_end: bool,
        end: Offset,
        replay: &mut Replay,
        notes: &mut LoadNotes,
    ) -> Result<()> {
        let mut until = segment.size_bytes();
        if holds_end {
            match segment.position_of(end, until) {
                Ok(Some(position)) => until = position,
                Ok(None) => {}
                // The walk below meets the same place, with what lies before it.
                Err(e) if e.is_corrupt_data() => {}
                Err(e) => return Err(e),
            }
        }
        let Some(first) = segment.position_of(start, until)? else {
            return Ok(());
        };
        let mut scan = BatchScan::headers(Arc::clone(segment.file()), first..until);
        while let Some(scanned) = scan.next_batch()? {
            if scanned.header.has_producer_id() {
                let control = if control::is_marker(&scanned.header) {
                    Some(scan.bytes_of(&scanned)?)
                } else {
                    None
                };
                replay.batch(&self.producers, &scanned.header, control.as_ref(), notes);
            }
        }
        Ok(())
    }

    /// Takes in one batch that lies in the log, at once; an aborted transaction that ends with it comes back with the
    /// last stable offset that the index stores.
    pub(super) fn apply(
        &mut self,
        header: &BatchHeader,
        control: Option<&Batch<'_>>,
        notes: &mut LoadNotes,
    ) -> Option<(CompletedTxn, Offset)> {
        let mut replay = Replay::default();
        let completed = if header.has_producer_id() {
            replay.batch(&self.producers, header, control, notes)
        } else {
            None
        };
        for change in replay.staged.into_values() {
            self.producers.merge(change);
        }
        if header.is_v2() {
            self.map_end = header.last_offset.next();
        }
        let completed = completed?;
        let last_stable_offset = self
            .producers
            .transactions
            .last_stable_offset_at(&completed);
        self.producers.transactions.complete(&completed);
        Some((completed, last_stable_offset))
    }
}

/// Writes the snapshot of a state under its final name.
pub(super) fn write_snapshot(
    fs: &dyn FileSystem,
    path: &Path,
    producers: &Producers,
) -> Result<Arc<dyn File>> {
    // Truncated first: no byte of an older, longer file may remain (hard-cases.md HC18).
    let file = fs.open(path, OpenMode::Truncate)?;
    snapshot::write_pieces(|| producers.stored(), &mut |piece, at| {
        file.write_at(piece, at)
    })?;
    Ok(file)
}

/// Whether the directory was closed in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shutdown {
    /// The clean-shutdown marker was there.
    Clean,
    /// It was not.
    Unclean,
}

/// Changes of producers by the batches of one stretch of the log, merged at its end.
#[derive(Default)]
struct Replay {
    staged: HashMap<ProducerId, StagedProducer>,
    completed: Vec<CompletedTxn>,
    decoder: Option<RecordDecoder>,
}

impl Replay {
    fn of(&mut self, producers: &Producers, producer_id: ProducerId) -> &mut StagedProducer {
        self.staged
            .entry(producer_id)
            .or_insert_with(|| producers.stage(producer_id))
    }

    fn batch(
        &mut self,
        producers: &Producers,
        header: &BatchHeader,
        control: Option<&Batch<'_>>,
        notes: &mut LoadNotes,
    ) -> Option<CompletedTxn> {
        if header.attributes.is_control() && !control::is_marker(header) {
            notes.note(
                FindingKind::Ignored,
                format!(
                    "the control batch at offset {} ends no transaction: it has {} bytes",
                    header.base_offset, header.size_bytes
                ),
            );
            return None;
        }
        let Some(batch) = control else {
            if let Some(Oddity::NotTransactional) =
                self.of(producers, header.producer_id).replay_data(header)
            {
                notes.note(
                    FindingKind::Ignored,
                    format!(
                        "the batch at offset {} of producer {} is not transactional although a transaction is open",
                        header.base_offset, header.producer_id
                    ),
                );
            }
            return None;
        };
        match control::read_control_batch(
            batch,
            self.decoder.get_or_insert_with(control::marker_decoder),
        ) {
            // Its producer is known from now on, all the same.
            Ok(ControlBatch::Empty) => {
                self.of(producers, header.producer_id);
                None
            }
            Ok(ControlBatch::EndTxn(marker, timestamp)) => {
                let completed = self
                    .of(producers, header.producer_id)
                    .replay_marker(header, marker, timestamp);
                self.completed.extend(completed);
                completed
            }
            Err(e) => {
                // A good checksum around something that is no marker: kept, without effect (records.md 3.6, D51).
                notes.note(
                    FindingKind::Ignored,
                    format!(
                        "the control batch at offset {} ends no transaction: {e}",
                        header.base_offset
                    ),
                );
                None
            }
        }
    }

    fn merge_into(self, producers: &mut Producers) {
        for change in self.staged.into_values() {
            producers.merge(change);
        }
        for completed in &self.completed {
            producers.transactions.complete(completed);
        }
    }
}
