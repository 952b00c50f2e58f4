//! One partition's log: append, read, look up, roll, flush, load, close.
//!
//! A [`Log`] is shared by any number of threads. One at a time appends, under the append lock; readers take no lock:
//! they look at an immutable list of segments and at a published end, and never beyond it.
//!
//! **Lock order**, outermost first: the flush lock, the append lock, then small ones under which nothing is waited for: a
//! segment's for its largest timestamp, that of the list of those who wait for the log (`waits`). Debug builds check the
//! first two, but for who freezes a log. No fsync of log data happens under the append lock.
//!
//! Promises: an append that returned is in the log for every reader and survives a crash of the process; a refused or
//! failed one changes nothing; what a flush covered survives a power cut. Implements log.md 1 and 3-10.

mod append;
mod catch_up;
mod close;
mod committed;
mod copy;
mod counters;
mod cursor;
mod end;
mod epoch_file;
mod events;
mod flush;
mod flush_group;
mod follow;
mod freeze;
mod health;
mod info;
mod leader_epochs;
mod load;
mod lock_order;
mod lookup;
mod monitor;
mod producer_log;
mod read;
mod replace;
mod report;
mod retention;
mod retired;
mod roll;
mod segments;
mod staging;
mod start;
mod truncate;
mod validation;
mod view;
mod waits;
mod watch;
mod watermark;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicU64, Ordering};

use arc_swap::ArcSwap;
use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::config::LogConfig;
use crate::error::{Error, ErrorKind, Result};
use crate::format::partition_metadata;
use crate::format::uuid::Uuid;
use crate::io::{Clock, FileSystem, replace_file};
use crate::segment::SegmentWriter;
use crate::types::{Offset, TopicPartition};

pub use append::{
    AppendOptions, AppendResult, LeaderEpochRule, ProducerStamp, TxnMarker, WriteDurability,
};
pub use catch_up::CopyStep;
pub use counters::LogCounts;
pub use cursor::{ControlRecords, Cursor, CursorOptions, RecordSlice};
pub use end::{LogEnd, Watermarks};
pub(crate) use events::EventListener;
pub use events::{Event, EventKind};
pub use follow::{Refreshed, Stored};
pub use freeze::Frozen;
pub use health::{DirHealth, NewName};
pub use info::LogInfo;
pub use load::{LoadOptions, RecoveryProgress, SpareThreads};
pub use lookup::TimeTarget;
pub use monitor::FlushStats;
pub(crate) use monitor::Monitor;
pub use producer_log::Shutdown;
pub use read::{FirstBatch, Isolation, ReadCut, ReadOptions, ReadResult};
pub use replace::{LastOfProducer, LastOfProducers, Shape};
pub use report::{Finding, FindingKind, LoadNotes, escape};
pub use retention::{Deleted, Expired, RetentionInput, SegmentAge, expired_segments};
pub use roll::{RollInput, RollReason, should_roll};
pub use segments::SegmentList;
pub use validation::Origin;
pub use view::View;
pub(crate) use waits::{Enlisted, Wake};
pub(crate) use watch::Watch;
pub use watch::{Condition, WaitKind};
pub use watermark::HighWatermark;

use counters::LogCounters;
use end::PublishedEnd;
use epoch_file::EpochFile;
use flush_group::FlushGroup;
use follow::Follower;
use load::Loaded;
use lock_order::{Level, Locked};
use producer_log::ProducerLog;
use retired::Retired;
use roll::PendingRoll;
use waits::WaitList;

/// Where a log lives and what it shares with the others.
#[derive(Clone, Debug)]
pub struct LogPlace {
    /// Its topic and partition.
    pub partition: TopicPartition,
    /// Its directory.
    pub dir: PathBuf,
    /// The file system.
    pub fs: Arc<dyn FileSystem>,
    /// The wall clock.
    pub clock: Arc<dyn Clock>,
    /// The state of the log directory that it lives in.
    pub health: Arc<DirHealth>,
}

/// A log that is open.
#[derive(Debug)]
pub struct Log {
    partition: TopicPartition,
    home: ArcSwap<Home>,
    fs: Arc<dyn FileSystem>,
    clock: Arc<dyn Clock>,
    config: ArcSwap<LogConfig>,
    segments: ArcSwap<SegmentList>,
    end: PublishedEnd,
    /// How often the log was cut short: a reader that meets another number than before looks again.
    cuts: AtomicU64,
    start: AtomicI64,
    recovery_point: AtomicI64,
    /// What a recovery made durable: the recovery point that is stored may be so high (deviations.md D90).
    recovered_below: AtomicI64,
    /// When the recovery point last rose, or the log was opened.
    last_flush: AtomicI64,
    state: AtomicU8,
    topic_id: Mutex<Option<Uuid>>,
    writer: Mutex<Writer>,
    /// Whether whoever would change the log has to wait. Changed under the append lock only.
    is_frozen: AtomicBool,
    /// Told when the log is frozen no more.
    thawed: Condvar,
    flush: Mutex<()>,
    flush_group: FlushGroup,
    retired: Mutex<Retired>,
    counters: LogCounters,
    waits: Arc<WaitList>,
    /// If another process owns it.
    follower: Option<Box<Follower>>,
}

/// Where a log lives now: it may move (manager.md 9).
#[derive(Debug)]
struct Home {
    dir: Arc<Path>,
    health: Arc<DirHealth>,
}

/// What only the holder of the append lock touches.
#[derive(Debug)]
struct Writer {
    active: SegmentWriter,
    end: Offset,
    high_watermark: Offset,
    /// Whether the high watermark is the caller's to move.
    is_watermark_manual: bool,
    producers: ProducerLog,
    epochs: EpochFile,
    /// Of the active segment (log.md 2.3).
    roll_jitter_ms: i64,
    /// Why nothing can be appended until the log is opened again: garbage behind the end that could not be cut off.
    broken: Option<Error>,
    names: Names,
    pending_roll: PendingRoll,
    /// Whether a failed append was cut off and that is not durable yet.
    unsynced_cut: bool,
}

/// How far the names of the files of a log are durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Names {
    Durable,
    /// A roll made a segment: its name is durable before anything is appended to it, since what lies before it is.
    OfNewSegment,
    /// The log was made since the last flush, and no power cut has to spare anything of it: the name of its directory, and
    /// those in it, become durable with the first bytes.
    OfNewLog(NewName),
    /// As before, and a flush is about to make them durable: what is replaced from now on it may miss.
    BeingSynced(NewName),
}

impl Names {
    /// Whether they must be durable before an append: one that is flushed has failed, or is in the log, and not both because
    /// a name could not be synced.
    fn come_first(self, is_flushed: bool) -> bool {
        match self {
            Self::Durable => false,
            Self::OfNewSegment => true,
            Self::OfNewLog(_) | Self::BeingSynced(_) => is_flushed,
        }
    }
}

/// A log is open until it is closed; then every call answers CLOSED.
const OPEN: u8 = 0;
const CLOSED: u8 = 1;
/// Its partition was deleted: it is gone for every call.
const DELETED: u8 = 2;

impl Log {
    /// Opens the log of a directory, which exists, with everything that loading has to put in order.
    pub fn open(place: LogPlace, options: &LoadOptions) -> Result<(Self, LoadNotes)> {
        let dir: Arc<Path> = place.dir.as_path().into();
        let mut loaded = load::load(&place.fs, &*place.clock, &dir, options)?;
        let notes = std::mem::take(&mut loaded.notes);
        Ok((Self::of_loaded(place, options, loaded), notes))
    }

    /// A log as loading left it.
    fn of_loaded(place: LogPlace, options: &LoadOptions, loaded: Loaded) -> Self {
        let opened_at = place.clock.now().0;
        let (start, recovery_point) = (loaded.log_start, loaded.recovery_point);
        let recovered_below = loaded.recovered_below;
        let topic_id = loaded.topic_id;
        let (segments, writer) = Self::writer_of(options, loaded);
        let end = LogEnd {
            offset: writer.end,
            segment_base: writer.active.segment().base_offset(),
            position: writer.active.segment().size_bytes(),
        };
        let watermarks = watermark::of(&writer.producers, writer.high_watermark, start);
        Self {
            partition: place.partition,
            home: ArcSwap::from_pointee(Home {
                dir: place.dir.into(),
                health: place.health,
            }),
            fs: place.fs,
            clock: place.clock,
            config: ArcSwap::new(Arc::clone(&options.config)),
            segments: ArcSwap::from_pointee(segments),
            end: PublishedEnd::new(end, watermarks),
            cuts: AtomicU64::new(0),
            start: AtomicI64::new(start.0),
            recovery_point: AtomicI64::new(recovery_point.0),
            recovered_below: AtomicI64::new(recovered_below.0),
            last_flush: AtomicI64::new(opened_at),
            state: AtomicU8::new(OPEN),
            topic_id: Mutex::new(topic_id),
            writer: Mutex::new(writer),
            is_frozen: AtomicBool::new(false),
            thawed: Condvar::new(),
            flush: Mutex::new(()),
            flush_group: FlushGroup::default(),
            retired: Mutex::new(Retired::default()),
            counters: LogCounters::default(),
            waits: Arc::default(),
            follower: None,
        }
    }

    /// What loading left, for who appends next.
    fn writer_of(options: &LoadOptions, loaded: Loaded) -> (SegmentList, Writer) {
        let (high_watermark, is_watermark_manual) = match options.high_watermark {
            HighWatermark::FollowsEnd => (loaded.end, false),
            HighWatermark::SetByCaller(at) => {
                let at = at.unwrap_or(loaded.log_start);
                (watermark::clamped(at, loaded.log_start, loaded.end), true)
            }
        };
        let mut writer = Writer {
            active: loaded.writer,
            end: loaded.end,
            high_watermark,
            is_watermark_manual,
            producers: loaded.producers,
            epochs: loaded.epochs,
            roll_jitter_ms: roll::draw_jitter_ms(&options.config),
            broken: None,
            names: options.new_name.map_or(Names::Durable, Names::OfNewLog),
            pending_roll: PendingRoll::None,
            unsynced_cut: false,
        };
        writer.settle_at(high_watermark);
        (loaded.segments, writer)
    }

    /// Its topic and partition.
    #[must_use]
    pub fn partition(&self) -> &TopicPartition {
        &self.partition
    }

    /// Its directory now: a log that is moved lies elsewhere then.
    #[must_use]
    pub fn dir(&self) -> Arc<Path> {
        Arc::clone(&self.home.load().dir)
    }

    /// The state of the log directory that it lives in.
    fn health(&self) -> Arc<DirHealth> {
        Arc::clone(&self.home.load().health)
    }

    /// Its configuration now.
    #[must_use]
    pub fn config(&self) -> Arc<LogConfig> {
        self.config.load_full()
    }

    /// Replaces its configuration; each value counts from its next use on (config.md 5.11).
    pub fn set_config(&self, config: Arc<LogConfig>) {
        self.config.store(config);
    }

    /// After how many ms without a batch a producer is forgotten, from now on.
    pub fn set_producer_expiration_ms(&self, expiration_ms: i64) {
        self.lock_writer()
            .producers
            .set_expiration_ms(expiration_ms);
    }

    /// Its segments now.
    #[must_use]
    pub fn segments(&self) -> Arc<SegmentList> {
        self.segments.load_full()
    }

    /// The next offset to be assigned.
    #[must_use]
    pub fn end_offset(&self) -> Offset {
        self.end.offset()
    }

    /// The first offset that can be read.
    #[must_use]
    pub fn start_offset(&self) -> Offset {
        Offset(self.start.load(Ordering::SeqCst))
    }

    /// Below this offset everything was flushed.
    #[must_use]
    pub fn recovery_point(&self) -> Offset {
        Offset(self.recovery_point.load(Ordering::SeqCst))
    }

    /// The recovery point to be stored: that of Kafka's log does not rise when it is recovered, so that a crash soon after
    /// would have all of it read again.
    #[must_use]
    pub fn stored_recovery_point(&self) -> Offset {
        let recovered_below = self.recovered_below.load(Ordering::SeqCst);
        self.recovery_point().max(Offset(recovered_below))
    }

    /// Its topic id.
    #[must_use]
    pub fn topic_id(&self) -> Option<Uuid> {
        *self.topic_id.lock()
    }

    /// Gives the log its topic id and stores it. The same id again is fine; another one is INCONSISTENT_TOPIC_ID.
    pub fn assign_topic_id(&self, id: Uuid) -> Result<()> {
        self.check_open()?;
        self.health().check()?;
        let mut known = self.topic_id.lock();
        if *known != Some(id) {
            self.check_owned()?;
        }
        match *known {
            Some(own) if own == id => Ok(()),
            Some(own) => Err(Error::new(
                ErrorKind::InconsistentTopicId,
                format!(
                    "the log {} has the topic id {own}, not {id}",
                    self.partition
                ),
            )
            .in_partition(self.partition.partition)),
            None => {
                let path = self.dir().join(partition_metadata::FILE);
                replace_file(&*self.fs, &path, &partition_metadata::write(id))
                    .map_err(|e| self.health().judge(e))?;
                *known = Some(id);
                Ok(())
            }
        }
    }

    /// CLOSED once the log, or its manager, was closed; UNKNOWN_TOPIC_OR_PARTITION once the log was deleted.
    pub fn check_open(&self) -> Result<()> {
        let (kind, what) = match self.state.load(Ordering::SeqCst) {
            OPEN => return Ok(()),
            DELETED => (ErrorKind::UnknownTopicOrPartition, "was deleted"),
            _ => (ErrorKind::Closed, "is closed"),
        };
        Err(
            Error::new(kind, format!("the log {} {what}", self.partition))
                .in_partition(self.partition.partition),
        )
    }

    /// Whether its partition was deleted.
    #[must_use]
    pub fn is_deleted(&self) -> bool {
        self.state.load(Ordering::SeqCst) == DELETED
    }

    /// Tells what happened to the log, if anybody wants to hear it.
    fn tell(&self, kind: EventKind, details: impl FnOnce(Event) -> Event) {
        let health = self.health();
        let monitor = health.monitor();
        monitor.events().publish(kind, || {
            details(Event {
                dir: Some(health.path().to_path_buf()),
                partition: Some(self.partition.clone()),
                ..Event::new(kind, monitor.now())
            })
        });
    }

    /// Takes the append lock.
    fn lock_writer(&self) -> Locked<MutexGuard<'_, Writer>> {
        Locked::new(Level::Append, || self.unfrozen_writer())
    }

    /// Lets readers see what the writer has.
    fn publish(&self, writer: &Writer) {
        let end = LogEnd {
            offset: writer.end,
            segment_base: writer.active.segment().base_offset(),
            position: writer.active.segment().size_bytes(),
        };
        let watermarks = watermark::of(
            &writer.producers,
            writer.high_watermark,
            self.start_offset(),
        );
        self.end.publish(end, watermarks);
        self.waits.notify(self);
    }
}
