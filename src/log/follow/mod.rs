//! A log that another process owns: read only, brought up to date when asked.
//!
//! Nothing is written, and no lock is taken. The log is loaded on an overlay, so it is what a load would leave of the files;
//! each look takes in what its owner did since: what was appended ([`take_in`]), segments that came, went or were replaced,
//! and where the log starts. Only what is new is read. If the log was cut, or its active segment is another one, it is loaded
//! anew ([`reload`]).
//!
//! Readers take no lock here either. What they hold stays as it was: a file whose name is gone is read on while it is open,
//! and one that was closed meanwhile is never mistaken for another of that name; then the reader looks again.

mod listing;
mod reload;
mod take_in;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use parking_lot::Mutex;

use super::load::LoadOptions;
use super::lock_order::{Level, Locked};
use super::watermark::clamped;
use super::{HighWatermark, LoadNotes, Log, LogPlace, SegmentList, Writer};
use crate::error::{Error, ErrorKind, Result};
use crate::format::uuid::Uuid;
use crate::format::{epoch_checkpoint, partition_metadata};
use crate::io::{
    Clock, FileIdentity, FileSystem, OverlayFs, SMALL_FILE_BYTES_MAX, Stat, SystemClock,
    read_parsed,
};
use crate::segment::{IndexFiles, Scanned, Segment};
use crate::state::epochs::EpochCache;
use crate::types::{Offset, TimestampMs};

use listing::{Below, Listing};
use take_in::Progress;

/// How often one call looks at files that go away meanwhile.
const LOOKS_MAX: usize = 20;
/// A directory may change again within the same tick of its clock, which need not be ours: only once it was listed again so
/// long after its time of change was first seen does that time tell that nothing changed.
const TICK_MS: i64 = 2000;

/// What the owner of a log has stored about it outside of the log's directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// From the recovery-point checkpoint; 0 without an entry.
    pub recovery_point: Offset,
    /// From the log-start checkpoint; 0 without an entry.
    pub log_start: Offset,
    /// From the high-watermark checkpoint. It counts only if the high watermark does not follow the log end.
    pub high_watermark: Option<Offset>,
}

/// What has become of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refreshed {
    /// It is up to date.
    UpToDate,
    /// Its directory is gone, or another log is there: this one was deleted, or moved.
    Gone,
}

/// What a log is that another process owns.
#[derive(Debug)]
pub(super) struct Follower {
    producer_expiration_ms: i64,
    /// Held while the log is looked at; the append lock comes after it.
    view: Mutex<View>,
}

/// What was seen at the last look.
#[derive(Debug)]
struct View {
    dir: FileIdentity,
    /// When the directory was listed, unless it must be again.
    listed: Option<Listed>,
    listing: Listing,
    /// Whether it was loaded and not compared with the directory since: what changed under the load may be missing.
    is_new: bool,
    /// The last batch of the active segment: if it is another one now, the log was cut.
    last: Option<Scanned>,
    stored: Stored,
}

/// When a directory was listed.
#[derive(Clone, Copy, Debug)]
struct Listed {
    /// Its time of change then.
    modified: TimestampMs,
    /// The first listing with this time of change, and the last one.
    first: TimestampMs,
    last: TimestampMs,
}

impl Listed {
    /// Listed once more, with what was known of earlier times.
    fn again(before: Option<Self>, modified: TimestampMs, now: TimestampMs) -> Self {
        let before = before.filter(|before| before.modified == modified);
        Self {
            modified,
            first: before.map_or(now, |before| before.first),
            last: now,
        }
    }

    /// Whether a directory's time of change tells that nothing came or went in it since it was listed.
    fn is_current(&self, modified: TimestampMs) -> bool {
        let apart = self.last.0.saturating_sub(self.first.0);
        self.modified == modified && modified.0 > 0 && apart >= TICK_MS
    }
}

/// What a look ended with.
enum Look {
    Done,
    /// Segments came that the listing does not know.
    Again,
    /// The log must be loaded anew; what lies below this offset is known to be good.
    Reload(Offset),
}

impl Log {
    /// Opens the log of a directory that another process may own, which stays as it is. `place.fs` is only read from.
    pub fn follow(place: LogPlace, options: &LoadOptions) -> Result<(Self, LoadNotes)> {
        let (dir, fs) = (
            Arc::<Path>::from(place.dir.as_path()),
            Arc::clone(&place.fs),
        );
        let options = LoadOptions {
            progress: None,
            ..options.clone()
        };
        let identity = fs.stat(&dir)?.identity;
        let (mut loaded, listing) = reload::load(&fs, &*place.clock, &dir, &options)?;
        let notes = std::mem::take(&mut loaded.notes);
        let last = loaded.writer.segment().last_batch()?;
        let view = View {
            dir: identity,
            listed: None,
            listing,
            is_new: true,
            last,
            stored: Stored {
                recovery_point: options.recovery_point,
                log_start: options.log_start,
                high_watermark: match options.high_watermark {
                    HighWatermark::FollowsEnd => None,
                    HighWatermark::SetByCaller(at) => at,
                },
            },
        };
        let mut log = Self::of_loaded(place, &options, loaded);
        log.follower = Some(Box::new(Follower {
            producer_expiration_ms: options.producer_expiration_ms,
            view: Mutex::new(view),
        }));
        // What the owner did while it was loaded.
        match log.refresh(None)? {
            Refreshed::UpToDate => Ok((log, notes)),
            Refreshed::Gone => Err(gone(&log.dir())),
        }
    }

    /// For a reader that failed: whether its log is another one by now, since what it read was taken away by the owner. The
    /// log is looked at once, and again only while there is something new each time.
    pub(super) fn finds_more(&self, error: &Error, refreshes: &mut usize) -> Result<bool> {
        let may_be_lost = error.is_not_found() || error.is_corrupt_data();
        if self.follower.is_none() || !may_be_lost || *refreshes >= LOOKS_MAX {
            return Ok(false);
        }
        let before = (self.segments(), self.cuts.load(Ordering::SeqCst));
        if self.refresh(None)? == Refreshed::Gone {
            self.mark_deleted();
        }
        let is_first = *refreshes == 0;
        *refreshes += 1;
        let is_same = Arc::ptr_eq(&before.0, &self.segments())
            && before.1 == self.cuts.load(Ordering::SeqCst);
        Ok(is_first || !is_same)
    }

    /// READ_ONLY for a log that another process owns.
    pub fn check_owned(&self) -> Result<()> {
        if self.follower.is_none() {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::ReadOnly,
            format!(
                "the log {} is open for reading only; to change it, open its directory as the owner when no other process is",
                self.partition
            ),
        )
        .in_partition(self.partition.partition))
    }

    /// Takes in what the owner of the log did since the last look, with what it has stored outside of the log's directory, if
    /// that was looked at. A log that this process owns is up to date. Reads that run keep what they have; what the owner is
    /// in the middle of writing is not seen yet.
    pub fn refresh(&self, stored: Option<&Stored>) -> Result<Refreshed> {
        self.check_open()?;
        let Some(follower) = &self.follower else {
            return Ok(Refreshed::UpToDate);
        };
        let mut view = Locked::new(Level::Flush, || follower.view.lock());
        if let Some(stored) = stored {
            view.stored = *stored;
        }
        let mut looks = 0;
        loop {
            looks += 1;
            let Some(stat) = self.stat_dir(&view)? else {
                return Ok(Refreshed::Gone);
            };
            let looked = self.look(&mut view, &stat).and_then(|look| match look {
                Look::Done => Ok(true),
                Look::Again => Ok(false),
                Look::Reload(good_below) => {
                    view.listed = None;
                    self.reload(&mut view, follower, good_below).map(|()| false)
                }
            });
            match looked {
                Ok(true) => return Ok(Refreshed::UpToDate),
                // What has not settled by now is taken in next time.
                Ok(false) if looks >= LOOKS_MAX => return Ok(Refreshed::UpToDate),
                Ok(false) => {}
                Err(e) if e.is_changed_meanwhile() && looks < LOOKS_MAX => view.listed = None,
                Err(e) => return Err(e),
            }
        }
    }

    /// The log's directory, if it is still the one it was.
    fn stat_dir(&self, view: &View) -> Result<Option<Stat>> {
        match self.fs.stat(&self.dir()) {
            Ok(stat) => Ok(Some(stat).filter(|stat| stat.identity == view.dir)),
            Err(e) if e.is_not_found() => Ok(None),
            Err(e) => Err(e),
        }
    }

    fn look(&self, view: &mut View, dir: &Stat) -> Result<Look> {
        let mut is_listed_anew = false;
        let is_current = view
            .listed
            .is_some_and(|listed| listed.is_current(dir.modified));
        if !is_current {
            let now = SystemClock.now();
            self.look_at_topic_id()?;
            let Some(listing) = Listing::settled(&*self.fs, &self.dir())? else {
                return Ok(Look::Again);
            };
            if let Some(look) = self.compare(view, &listing)? {
                return Ok(look);
            }
            view.listed = Some(Listed::again(view.listed, dir.modified, now));
            view.listing = listing;
            is_listed_anew = true;
        }
        if self.was_cut(view.last.as_ref())? {
            return Ok(Look::Reload(Offset::ZERO));
        }
        let progress = self.take_in(&view.listing, &mut view.last)?;
        if is_listed_anew {
            self.look_at_epochs(view.stored.log_start)?;
        }
        self.settle(view);
        view.is_new = false;
        Ok(match progress {
            Progress::AtEnd => Look::Done,
            Progress::Rolled => {
                view.listed = None;
                Look::Again
            }
            Progress::Odd => Look::Reload(Offset::ZERO),
        })
    }

    /// Brings the segments up to the active one to what the directory has now. What to do if that cannot be.
    fn compare(&self, view: &View, now: &Listing) -> Result<Option<Look>> {
        let active = self.end.load().segment_base;
        let below = view.listing.below(now, active);
        let is_unknown = below == Below::Unknown;
        if is_unknown && view.listing.log(active) != now.log(active) {
            return Ok(Some(Look::Reload(Offset::ZERO)));
        }
        if !view
            .listing
            .are_gone_since(now, active, &*self.fs, &self.dir())?
        {
            return Ok(Some(Look::Again));
        }
        if is_unknown {
            return Ok(Some(Look::Reload(active)));
        }
        // Where a replacement was found half done the load has finished it in memory.
        let is_same = below == Below::Unchanged
            && (now.is_replacing() || now.has_bases(&self.segments(), active));
        if !is_same && !self.take_over_below(view, now, active)? {
            return Ok(Some(Look::Reload(active)));
        }
        Ok(None)
    }

    /// The topic id may be stored after the log was made. NOT_FOUND if it is another one: another log is there.
    fn look_at_topic_id(&self) -> Result<()> {
        let path = self.dir().join(partition_metadata::FILE);
        let read = read_parsed(
            &*self.fs,
            &path,
            SMALL_FILE_BYTES_MAX,
            partition_metadata::parse,
        )?;
        let Some(Ok(found)) = read else {
            return Ok(());
        };
        let mut known = self.topic_id.lock();
        match *known {
            None => *known = Some(found),
            Some(id) if id == found || id == Uuid::ZERO => {}
            Some(_) => return Err(gone(&self.dir())),
        }
        Ok(())
    }

    /// Takes over the leader epochs that the owner has stored: of those whose records are gone no batch tells.
    fn look_at_epochs(&self, log_start: Offset) -> Result<()> {
        let path = self.dir().join(epoch_checkpoint::FILE);
        let read = read_parsed(
            &*self.fs,
            &path,
            SMALL_FILE_BYTES_MAX,
            epoch_checkpoint::parse,
        )?;
        let Some(Ok(lines)) = read else {
            return Ok(());
        };
        let mut writer = self.lock_writer();
        let mut next = EpochCache::from_lines(&lines);
        let _ = next.truncate_from_end(writer.end);
        // A new one is in the log before it is in the file.
        for known in writer.epochs.cache().entries() {
            let _ = next.assign_recovered(known.epoch, known.start_offset);
        }
        let _ = next.truncate_from_start(log_start);
        *writer.epochs.cache_mut() = next;
        Ok(())
    }

    /// Brings the segments below the active one to what the directory has. `false` if one is not as a closed one should be.
    fn take_over_below(&self, view: &View, listing: &Listing, active: Offset) -> Result<bool> {
        let list = self.segments();
        let mut taken = Vec::new();
        for base in listing.bases_below(active) {
            let known = list.floor(base).filter(|s| s.base_offset() == base);
            let is_same = view.listing.log(base) == listing.log(base);
            let segment = match known.filter(|_| is_same) {
                Some(known) => Arc::clone(known),
                None => match self.open_closed(base)? {
                    Some(opened) => opened,
                    None => return Ok(false),
                },
            };
            taken.push(segment);
        }
        let above = list.iter().filter(|s| s.base_offset() >= active);
        taken.extend(above.cloned());
        let taken = SegmentList::new(taken);
        // Before the segments go: to a reader their records are gone from then on, and are no gap.
        if let Some(first) = taken.first() {
            self.follow_start(&mut self.lock_writer(), first.base_offset());
        }
        self.segments.store(Arc::new(taken));
        Ok(true)
    }

    /// A segment that its owner has closed, with what belongs to it taken into memory: its transaction index may be replaced
    /// with it. `None` if its files are not as they should be.
    fn open_closed(&self, base: Offset) -> Result<Option<Arc<Segment>>> {
        let options = super::load::segment_options(&self.config());
        let fs = overlay(&self.fs);
        let segment = Segment::open(&fs, &self.dir(), base, options, self.clock.now())?;
        match segment.check_index_files() {
            Ok(IndexFiles::Sane) => Ok(Some(segment)),
            Ok(IndexFiles::OffsetIndexMissing | IndexFiles::Wrong) => Ok(None),
            Err(e) if e.kind() == ErrorKind::CorruptIndex => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Whether the active segment lost bytes that are known, or has others in their place.
    fn was_cut(&self, last: Option<&Scanned>) -> Result<bool> {
        let active = Arc::clone(self.lock_writer().active.segment());
        if active.file().take_in_growth()? < active.size_bytes() {
            return Ok(true);
        }
        let Some(last) = last else { return Ok(false) };
        Ok(take_in::header_at(&active, last)? != Some(last.header))
    }

    /// Lets the log start at `start`, if it starts below.
    fn follow_start(&self, writer: &mut Writer, start: Offset) {
        if start > self.start_offset() {
            writer.producers.raise_start(start);
            self.start.store(start.0, Ordering::SeqCst);
            self.publish(writer);
        }
    }

    /// Moves the log start, the recovery point and the high watermark to what is stored, and to what the segments allow.
    fn settle(&self, view: &View) {
        let stored = &view.stored;
        let mut writer = self.lock_writer();
        let end = writer.end;
        let first = self.segments().first().map_or(end, |s| s.base_offset());
        let start = stored.log_start.min(end).max(first);
        if view.is_new {
            self.start.store(start.0, Ordering::SeqCst);
        }
        self.follow_start(&mut writer, start);
        let start = self.start_offset();
        let recovery_point = stored.recovery_point.min(end).max(start);
        self.recovery_point
            .store(recovery_point.0, Ordering::SeqCst);
        if let Some(stored) = stored.high_watermark
            && writer.is_watermark_manual
        {
            writer.settle_at(clamped(stored, start, end));
        }
        self.publish(&writer);
    }
}

/// A file system on which a load may change what it likes, once.
fn overlay(fs: &Arc<dyn FileSystem>) -> Arc<dyn FileSystem> {
    Arc::new(OverlayFs::new(Arc::clone(fs)))
}

fn gone(dir: &Path) -> Error {
    let not_found = std::io::Error::from_raw_os_error(libc::ENOENT);
    Error::from_io("find the log of", dir, &not_found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_taken_for_unchanged_only_when_its_time_can_tell() {
        let at = |before, modified, now| {
            Some(Listed::again(
                before,
                TimestampMs(modified),
                TimestampMs(now),
            ))
        };
        let is_current = |listed: Option<Listed>, modified| {
            listed.is_some_and(|listed| listed.is_current(TimestampMs(modified)))
        };
        // Its clock is another one than ours.
        let once = at(None, 77_000, 1000);
        assert!(!is_current(once, 77_000), "it may change within the tick");
        assert!(!is_current(at(once, 77_000, 2999), 77_000));
        let later = at(once, 77_000, 3000);
        assert!(is_current(later, 77_000));
        assert!(!is_current(later, 77_001));
        assert!(!is_current(at(later, 77_001, 9000), 77_001));
        // Without times of change, and with a clock that was set back.
        assert!(!is_current(at(at(None, 0, 1000), 0, 9000), 0));
        assert!(!is_current(at(once, 77_000, 10), 77_000));
    }
}
