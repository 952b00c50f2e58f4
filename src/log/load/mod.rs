//! Loading one log from its directory: what a crash left is put in order, and what was not flushed is read again.
//! Implements log.md 8.
//!
//! The passes, in order: [`leftovers`] finishes or undoes replacements of segments; then segments are opened, and those
//! whose indexes are missing or wrong mended; then what lies above the recovery point is recovered; then offsets, epochs
//! and producers follow from what is there. Any error leaves the log unopened; an I/O error never cuts data.

mod ahead;
mod entries;
mod leftovers;
mod progress;
mod split;
mod threads;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

pub use threads::SpareThreads;

use super::NewName;
use super::epoch_file::{EpochFile, EpochFileState};
use super::producer_log::{Durability, ProducerLog, RebuildRange, Shutdown};
use super::report::{FindingKind, LoadNotes};
use super::segments::SegmentList;
use super::watermark::HighWatermark;
use crate::config::LogConfig;
use crate::error::{ErrorKind, Result};
use crate::format::batch::{Batch, BatchHeader};
use crate::format::epoch_checkpoint;
use crate::format::names::{FileState, SegmentFile, SegmentFileKind};
use crate::format::txn_index::AbortedTxn;
use crate::format::uuid::Uuid;
use crate::io::{Clock, FileSystem};
use crate::segment::{
    BatchScan, IndexFiles, RecoverySink, Segment, SegmentOptions, SegmentWriter, rename_files,
};
use crate::state::epochs::EpochCache;
use crate::types::{Offset, TimestampMs};
use ahead::{Ahead, ReadAhead};
pub(super) use entries::list_segment_files;
use entries::{note_foreign_entries, read_topic_id, segment_files};

pub use progress::RecoveryProgress;

/// What is known of a log before it is loaded.
#[derive(Clone, Debug)]
pub struct LoadOptions {
    /// Whether its directory was closed in order.
    pub shutdown: Shutdown,
    /// From the recovery-point checkpoint; 0 without an entry.
    pub recovery_point: Offset,
    /// From the log-start checkpoint; 0 without an entry.
    pub log_start: Offset,
    /// The log's configuration.
    pub config: Arc<LogConfig>,
    /// After how many ms without a batch a producer is forgotten (`producer.id.expiration.ms`).
    pub producer_expiration_ms: i64,
    /// Who moves the high watermark.
    pub high_watermark: HighWatermark,
    /// Who keeps how far a recovery has come, if anybody.
    pub progress: Option<Arc<dyn RecoveryProgress>>,
    /// Threads that may help to recover segments.
    pub spare_threads: Arc<SpareThreads>,
    /// If its directory was made just now: nothing in it relies on names that are durable before the first flush.
    pub new_name: Option<NewName>,
}

/// A log as loading found and left it.
pub(super) struct Loaded {
    pub(super) segments: SegmentList,
    pub(super) writer: SegmentWriter,
    pub(super) end: Offset,
    pub(super) log_start: Offset,
    pub(super) recovery_point: Offset,
    /// Everything below was recovered and is durable, and whoever asked for the load was told so.
    pub(super) recovered_below: Offset,
    pub(super) producers: ProducerLog,
    pub(super) epochs: EpochFile,
    pub(super) topic_id: Option<Uuid>,
    pub(super) notes: LoadNotes,
}

/// Loads the log of `dir`. A segment that holds offsets too far from its base is split where recovery meets it, and the load
/// begins again (log.md 8.6).
pub(super) fn load(
    fs: &Arc<dyn FileSystem>,
    clock: &dyn Clock,
    dir: &Arc<Path>,
    options: &LoadOptions,
) -> Result<Loaded> {
    let loaded = load_whole(fs, clock, dir, options);
    if let Some(progress) = &options.progress {
        progress.ends();
    }
    loaded
}

fn load_whole(
    fs: &Arc<dyn FileSystem>,
    clock: &dyn Clock,
    dir: &Arc<Path>,
    options: &LoadOptions,
) -> Result<Loaded> {
    let mut notes = LoadNotes::default();
    let mut split_last = None;
    loop {
        if let Some(progress) = &options.progress {
            progress.begins();
        }
        let mut overflowing = None;
        match load_once(fs, clock, dir, options, &mut overflowing) {
            Ok(mut loaded) => {
                notes.notes.append(&mut loaded.notes.notes);
                loaded.notes.notes = notes.notes;
                return Ok(loaded);
            }
            Err(e) if e.kind() == ErrorKind::SegmentOverflow && overflowing != split_last => {
                let Some(base) = overflowing else {
                    return Err(e);
                };
                let parts = split::split(fs, dir, base, segment_options(&options.config))?;
                let parts: Vec<String> = parts.iter().map(ToString::to_string).collect();
                notes.note(
                    FindingKind::Repaired,
                    format!(
                        "split segment {base}, which holds offsets too far from its base, at {}",
                        parts.join(", ")
                    ),
                );
                split_last = overflowing;
            }
            Err(e) => return Err(e),
        }
    }
}

fn load_once(
    fs: &Arc<dyn FileSystem>,
    clock: &dyn Clock,
    dir: &Arc<Path>,
    options: &LoadOptions,
    overflowing: &mut Option<Offset>,
) -> Result<Loaded> {
    let mut notes = LoadNotes::default();
    let topic_id = read_topic_id(&**fs, dir, &mut notes)?;
    let entries = fs.list(dir)?;
    note_foreign_entries(&entries, &mut notes);
    let files = segment_files(&entries);
    let mut changed = leftovers::settle(fs, dir, files.clone(), &mut notes)?;
    let files = if changed {
        list_segment_files(&**fs, dir)?
    } else {
        files
    };

    let (mut epochs, epoch_state) = EpochFile::open(fs, dir)?;
    if options.new_name.is_none() && may_never_have_been_flushed(options) {
        epochs.distrust();
    }
    let mut loader = Loader {
        fs,
        dir,
        options,
        now: clock.now(),
        epochs,
        notes,
        segments: Vec::new(),
        snapshots: None,
        had_segments: false,
        recovered_below: Offset::ZERO,
        overflowing,
    };
    changed |= loader.open_segments(files)?;
    let (writer, segments) = loader.recover_log(&mut changed)?;
    loader.finish(segments, writer, topic_id, &epoch_state, changed)
}

/// Whether its process may have been killed before the first flush, so that nothing of the log is durable by itself.
fn may_never_have_been_flushed(options: &LoadOptions) -> bool {
    options.shutdown == Shutdown::Unclean && options.recovery_point <= options.log_start
}

struct Loader<'a> {
    fs: &'a Arc<dyn FileSystem>,
    dir: &'a Arc<Path>,
    options: &'a LoadOptions,
    now: TimestampMs,
    epochs: EpochFile,
    notes: LoadNotes,
    /// Opened so far, rising.
    segments: Vec<Arc<Segment>>,
    /// Of the producer snapshots in the directory, once they were asked for.
    snapshots: Option<BTreeSet<Offset>>,
    /// Whether any segment was found that holds what the checkpointed log start leaves.
    had_segments: bool,
    /// See [`Loaded::recovered_below`].
    recovered_below: Offset,
    /// Told to who asked for the load: the segment that cannot be recovered before it is split.
    overflowing: &'a mut Option<Offset>,
}

impl Loader<'_> {
    fn segment_options(&self) -> SegmentOptions {
        segment_options(&self.options.config)
    }

    fn list(&self) -> SegmentList {
        SegmentList::new(self.segments.iter().cloned())
    }

    /// Opens every segment and mends its indexes (log.md 8.4). Whether the directory changed.
    fn open_segments(&mut self, mut files: Vec<SegmentFile>) -> Result<bool> {
        files
            .retain(|file| file.state == FileState::Live && file.kind != SegmentFileKind::Snapshot);
        let logs: Vec<Offset> = files
            .iter()
            .filter(|f| f.kind == SegmentFileKind::Log)
            .map(|f| f.offset)
            .collect();
        let mut changed = false;
        for orphan in files.iter().filter(|f| !logs.contains(&f.offset)) {
            self.notes.note(
                FindingKind::Repaired,
                format!("removed {}: it has no .log file", orphan.name()),
            );
            self.fs.remove_file(&self.dir.join(orphan.name()))?;
            changed = true;
        }
        // From the floor of the recovery point on; all of them if it is below the first.
        let recovery_point = self.options.recovery_point;
        let recovered_from = logs
            .iter()
            .rfind(|&&base| base <= recovery_point)
            .or(logs.first())
            .copied();
        for base in logs {
            let segment = Segment::open(self.fs, self.dir, base, self.segment_options(), self.now)?;
            let will_be_recovered =
                self.options.shutdown == Shutdown::Unclean && Some(base) >= recovered_from;
            let opened = self.mend_indexes(segment, will_be_recovered)?;
            self.segments.push(opened);
        }
        Ok(changed)
    }

    fn mend_indexes(
        &mut self,
        segment: Arc<Segment>,
        will_be_recovered: bool,
    ) -> Result<Arc<Segment>> {
        if will_be_recovered {
            return Ok(segment);
        }
        let base = segment.base_offset();
        let why = match segment.check_index_files() {
            Ok(IndexFiles::Sane) => return Ok(segment),
            Ok(IndexFiles::Wrong) => {
                self.notes.note(
                    FindingKind::Repaired,
                    format!("rebuilt the indexes of segment {base}"),
                );
                self.notes.indexes_rebuilt += 1;
                self.expect(std::slice::from_ref(&segment));
                segment.rebuild_indexes()?;
                segment.sync_index_files()?;
                if let Some(progress) = &self.options.progress {
                    progress.has_read(segment.size_bytes());
                    progress.segment_done();
                }
                return Ok(segment);
            }
            Ok(IndexFiles::OffsetIndexMissing) => "its offset index is missing".to_owned(),
            Err(e) if e.kind() == ErrorKind::CorruptIndex => e.to_string(),
            Err(e) => return Err(e),
        };
        self.expect(std::slice::from_ref(&segment));
        let (mut writer, _) = self.recover_segment(segment, &why, None)?;
        finish_recovered(&mut writer)?;
        Ok(writer.close())
    }

    /// Tells whoever watches which segments will be read again.
    fn expect(&self, segments: &[Arc<Segment>]) {
        if let Some(progress) = &self.options.progress {
            let bytes = segments.iter().map(|segment| segment.size_bytes()).sum();
            progress.expects(segments.len() as u64, bytes);
        }
    }

    /// Recovers one segment with a state of producers made for it from the segments below (log.md 8.5). The bytes to be cut
    /// by [`finish_recovered`], until which its files are as they were.
    fn recover_segment(
        &mut self,
        segment: Arc<Segment>,
        why: &str,
        ahead: Option<Ahead>,
    ) -> Result<(SegmentWriter, u64)> {
        let base = segment.base_offset();
        let mut producers = self.producers()?;
        let range = RebuildRange {
            log_start: self.options.log_start,
            end: base,
            now: self.now,
        };
        producers.rebuild(&self.list(), range, Shutdown::Unclean, &mut self.notes)?;
        let progress = self.options.progress.as_deref();
        let mut sink = Sink {
            producers: &mut producers,
            epochs: self.epochs.cache_mut(),
            notes: &mut self.notes,
            // Who looked ahead has told how much it read.
            progress: progress.filter(|_| ahead.is_none()),
        };
        let recovered = match ahead {
            Some(ahead) => ahead.recover(segment, &mut sink),
            None => segment.recover(&mut sink),
        };
        let (writer, recovery) = recovered.inspect_err(|e| {
            if e.kind() == ErrorKind::SegmentOverflow {
                *self.overflowing = Some(base);
            }
        })?;
        producers.take_snapshot(Durability::Synced)?;
        self.snapshots = Some(producers.into_snapshots());
        if let Some(progress) = progress {
            progress.segment_done();
        }
        self.notes.segments_recovered += 1;
        self.notes.bytes_truncated += recovery.truncated_bytes;
        if let Some(reason) = recovery.reason {
            self.notes.note(
                FindingKind::Recovered,
                format!(
                    "segment {base} ({why}): cut off {} bytes: {reason}",
                    recovery.truncated_bytes
                ),
            );
        } else {
            self.notes
                .note(FindingKind::Recovered, format!("segment {base} ({why})"));
        }
        Ok((writer, recovery.truncated_bytes))
    }

    /// Recovers what was not flushed, or, after a clean shutdown, what does not look like one (log.md 8.7, 8.11).
    fn recover_log(&mut self, changed: &mut bool) -> Result<(SegmentWriter, SegmentList)> {
        let mut writer = match self.options.shutdown {
            Shutdown::Unclean => self.recover_unflushed(changed)?,
            Shutdown::Clean => self.recover_bad_tail()?,
        };
        if self.drop_shadowed_segment()? {
            *changed = true;
            writer = None;
        }
        if let Some(last) = self.segments.last()
            && last.read_next_offset()? < self.options.log_start
        {
            self.notes.note(
                FindingKind::Recovered,
                format!(
                    "all segments end below the log start offset {}: the log begins anew there",
                    self.options.log_start
                ),
            );
            for segment in std::mem::take(&mut self.segments) {
                self.retire(&segment)?;
            }
            self.fs.sync_dir(self.dir)?;
            *changed = true;
            writer = None;
            let _ = self.epochs.cache_mut().clear();
            ProducerLog::open(self.fs, self.dir, self.options.producer_expiration_ms, None)?
                .restart_at(self.options.log_start)?;
        }
        self.had_segments = !self.segments.is_empty();
        let writer = match (writer, self.segments.last()) {
            (Some(writer), _) => writer,
            (None, Some(last)) => Arc::clone(last).into_writer()?,
            (None, None) => {
                *changed = true;
                self.create_segment(self.options.log_start)?
            }
        };
        self.segments
            .retain(|s| s.base_offset() != writer.segment().base_offset());
        self.segments.push(Arc::clone(writer.segment()));
        Ok((writer, self.list()))
    }

    /// Drops an empty last segment whose offsets the one before has already: what a roll left that failed. Taken for the
    /// log's end it would give them out again (hard-cases.md 0.5). Whether there was one.
    fn drop_shadowed_segment(&mut self) -> Result<bool> {
        let [.., before, last] = self.segments.as_slice() else {
            return Ok(false);
        };
        if last.size_bytes() > 0 {
            return Ok(false);
        }
        let end = match before.read_next_offset() {
            Ok(end) => end,
            // Damage that nobody asked to look for.
            Err(e) if e.is_corrupt_data() => return Ok(false),
            Err(e) => return Err(e),
        };
        if end <= last.base_offset() {
            return Ok(false);
        }
        let last = Arc::clone(last);
        self.notes.note(
            FindingKind::Repaired,
            format!(
                "dropped the empty segment {}: the log goes on to {end} before it",
                last.base_offset()
            ),
        );
        self.retire(&last)?;
        self.fs.sync_dir(self.dir)?;
        self.segments.pop();
        Ok(true)
    }

    fn create_segment(&self, base: Offset) -> Result<SegmentWriter> {
        let preallocate = Some(self.options.config.initial_file_bytes()).filter(|&bytes| bytes > 0);
        let mut writer = Segment::create(
            self.fs,
            self.dir,
            base,
            self.segment_options(),
            preallocate,
            self.now,
        )?;
        // With its index files, as Kafka's first reader makes them.
        writer.finish_indexes()?;
        Ok(writer)
    }

    /// The writer of the last segment if that was recovered.
    fn recover_unflushed(&mut self, changed: &mut bool) -> Result<Option<SegmentWriter>> {
        let unflushed: Vec<Arc<Segment>> = {
            let list = self.list();
            let from_floor = list.from_floor(self.options.recovery_point);
            if from_floor.is_empty() {
                list.iter().cloned().collect()
            } else {
                from_floor.to_vec()
            }
        };
        self.expect(&unflushed);
        std::thread::scope(|scope| {
            let options = self.options;
            let progress = options.progress.as_deref();
            let ahead = ReadAhead::new(scope, &options.spare_threads, progress);
            self.recover_in_turn(unflushed, ahead, changed)
        })
    }

    /// Recovers one segment after the other, with what others have looked at ahead.
    fn recover_in_turn(
        &mut self,
        unflushed: Vec<Arc<Segment>>,
        mut ahead: ReadAhead<'_, '_>,
        changed: &mut bool,
    ) -> Result<Option<SegmentWriter>> {
        let mut active = None;
        let mut queue = unflushed.into_iter();
        while let Some(segment) = queue.next() {
            let base = segment.base_offset();
            let looked_at = ahead.take(base);
            ahead.look_at(queue.as_slice());
            let (mut writer, truncated) =
                self.recover_segment(segment, "not known to be flushed", looked_at)?;
            if truncated > 0 {
                // What comes behind a gap can never be reached in order. It goes before the bytes do: after a crash in
                // between nothing would tell the gap.
                for behind in queue.by_ref() {
                    self.notes.note(
                        FindingKind::Recovered,
                        format!(
                            "retired segment {}: it lies behind the bytes cut off",
                            behind.base_offset()
                        ),
                    );
                    self.notes.bytes_truncated += behind.size_bytes();
                    self.retire(&behind)?;
                    if let Some(progress) = &self.options.progress {
                        progress.segment_done();
                    }
                    self.segments
                        .retain(|s| s.base_offset() != behind.base_offset());
                    *changed = true;
                }
                self.fs.sync_dir(self.dir)?;
            }
            finish_recovered(&mut writer)?;
            self.tell_progress(queue.as_slice().first())?;
            if self
                .segments
                .last()
                .is_some_and(|last| last.base_offset() == base)
            {
                active = Some(writer);
            } else {
                writer.close();
            }
        }
        Ok(active)
    }

    /// All in front of `next` is durable: so must be the leader epochs that were found there, before anybody relies on it.
    fn tell_progress(&mut self, next: Option<&Arc<Segment>>) -> Result<()> {
        let (Some(progress), Some(next)) = (&self.options.progress, next) else {
            return Ok(());
        };
        self.epochs.store()?;
        progress.recovered_below(next.base_offset())?;
        self.recovered_below = next.base_offset();
        Ok(())
    }

    fn recover_bad_tail(&mut self) -> Result<Option<SegmentWriter>> {
        let Some(last) = self.segments.last().cloned() else {
            return Ok(None);
        };
        let Err(problem) = last.check_tail()? else {
            return Ok(None);
        };
        let why = format!("closed in order, but its end is not: {problem}");
        let (mut writer, _) = self.recover_segment(last, &why, None)?;
        finish_recovered(&mut writer)?;
        Ok(Some(writer))
    }

    /// Puts a segment out of use: its files are renamed and removed later.
    fn retire(&mut self, segment: &Arc<Segment>) -> Result<()> {
        let base = segment.base_offset();
        rename_files(
            &**self.fs,
            self.dir,
            base,
            FileState::Live,
            FileState::Deleted,
        )?;
        let mut producers = self.producers()?;
        producers.retire(base)?;
        self.snapshots = Some(producers.into_snapshots());
        Ok(())
    }

    /// Producers without any state. The directory is looked at once for the snapshots that it has.
    fn producers(&mut self) -> Result<ProducerLog> {
        let known = self.snapshots.take();
        let expiration_ms = self.options.producer_expiration_ms;
        ProducerLog::open(self.fs, self.dir, expiration_ms, known)
    }

    fn finish(
        mut self,
        segments: SegmentList,
        writer: SegmentWriter,
        topic_id: Option<Uuid>,
        epoch_state: &EpochFileState,
        changed: bool,
    ) -> Result<Loaded> {
        let end = writer.segment().read_next_offset()?;
        let first_base = segments.first().map_or(end, |s| s.base_offset());
        let log_start = self.options.log_start.max(first_base);
        let recovery_point = match self.options.shutdown {
            Shutdown::Clean if self.had_segments => end,
            _ => self.options.recovery_point.min(end),
        }
        .max(log_start);

        if let EpochFileState::Malformed(problem) = epoch_state {
            let rebuilt = epochs_of(&segments)?;
            self.notes.note(
                FindingKind::Repaired,
                format!("rebuilt {} from the log: {problem}", epoch_checkpoint::FILE),
            );
            *self.epochs.cache_mut() = rebuilt;
        }
        let _ = self.epochs.cache_mut().truncate_from_end(end);
        // By the checkpointed start, not by the first base: so Kafka does (log.md 8.9).
        let _ = self
            .epochs
            .cache_mut()
            .truncate_from_start(self.options.log_start);
        self.epochs.store()?;

        let mut producers =
            ProducerLog::open(self.fs, self.dir, self.options.producer_expiration_ms, None)?;
        let bases: Vec<Offset> = segments.iter().map(|s| s.base_offset()).collect();
        producers.remove_known_strays(&bases)?;
        let range = RebuildRange {
            log_start,
            end,
            now: self.now,
        };
        producers.rebuild(&segments, range, self.options.shutdown, &mut self.notes)?;
        if self.options.new_name.is_none() {
            // Of thousands of logs few are used soon.
            segments.iter().for_each(|segment| segment.file().rest());
        }
        let is_changed = changed || self.notes.segments_recovered > 0;
        if is_changed && self.options.new_name.is_none() {
            self.fs.sync_dir(self.dir)?;
        }
        Ok(Loaded {
            segments,
            writer,
            end,
            log_start,
            recovery_point,
            recovered_below: self.recovered_below,
            producers,
            epochs: self.epochs,
            topic_id,
            notes: self.notes,
        })
    }
}

/// Brings what recovery found into the files, and makes it durable: what is appended next must not join bytes that a power
/// cut brings back, and what was found once must not go.
fn finish_recovered(writer: &mut SegmentWriter) -> Result<()> {
    writer.finish()?;
    writer.segment().sync_all()
}

/// What a segment of a log with this configuration fixes when it is opened.
pub(super) fn segment_options(config: &LogConfig) -> SegmentOptions {
    SegmentOptions {
        index_interval_bytes: u64::from(config.index_interval_bytes),
        index_bytes_max: u64::from(config.segment_index_bytes),
    }
}

/// What recovery tells the log.
struct Sink<'a> {
    producers: &'a mut ProducerLog,
    epochs: &'a mut EpochCache,
    notes: &'a mut LoadNotes,
    progress: Option<&'a dyn RecoveryProgress>,
}

impl RecoverySink for Sink<'_> {
    fn batch(
        &mut self,
        header: &BatchHeader,
        control: Option<&Batch<'_>>,
    ) -> Result<Option<AbortedTxn>> {
        if let Some(progress) = self.progress {
            progress.has_read(u64::from(header.size_bytes));
        }
        if header.is_v2() {
            let _ = self
                .epochs
                .assign_recovered(header.leader_epoch, header.base_offset);
        }
        let completed = self.producers.apply(header, control, self.notes);
        Ok(completed
            .filter(|(txn, _)| txn.is_aborted)
            .map(|(txn, last_stable_offset)| AbortedTxn {
                producer_id: txn.producer_id,
                first_offset: txn.first_offset,
                last_offset: txn.last_offset,
                last_stable_offset,
            }))
    }
}

/// The epochs that the batch headers of a whole log tell (deviations.md D53).
fn epochs_of(segments: &SegmentList) -> Result<EpochCache> {
    let mut epochs = EpochCache::default();
    for segment in segments {
        let mut scan = BatchScan::headers(Arc::clone(segment.file()), 0..segment.size_bytes());
        loop {
            match scan.next_batch() {
                Ok(Some(scanned)) if scanned.header.is_v2() => {
                    let _ = epochs
                        .assign_recovered(scanned.header.leader_epoch, scanned.header.base_offset);
                }
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(e) if e.is_corrupt_data() => break,
                Err(e) => return Err(e),
            }
        }
    }
    Ok(epochs)
}
