//! One pass over a log: the keys of its dirty part are mapped, then its segments are written anew without the records that
//! have a later one. Implements cleaner.md 4 and 5.
//!
//! Nothing changes before a group of segments is complete on disk; then it takes the place of the old ones in one step. A
//! pass that ends early leaves the groups that it swapped, which is no harm: cleaning again gives the same.
//!
//! The checksum of every batch is checked in both phases (deviations.md D81): a key that a flipped bit made up must not
//! have a good record dropped, and a damaged batch must not be sealed under a new checksum.

use std::sync::Arc;

use super::choose::Cleanable;
use super::examine::Examined;
use super::filter::{self, BatchRule, LastOfProducer, LegacyTombstones};
use super::grouping::{GroupLimits, SegmentSize, group_segments};
use super::offset_map::{KeyHash, OffsetMap};
use super::output::{Files, Output};
use super::rewrite::{Decided, Rewriter};
use super::source::Source;
use super::stats::{Cleaned, Stats};
use super::throttle::Throttle;
use super::transactions::{CleanedTransactions, Marker};
use super::watch::{CancelCheck, Phase, Steps, Watch};
use crate::config::LogConfig;
use crate::error::Result;
use crate::format::decoder::{InnerRule, RecordDecoder};
use crate::format::txn_index::AbortedTxn;
use crate::format::{offset_index, time_index};
use crate::log::{LastOfProducers, Log, LogEnd, SegmentList, Shape};
use crate::segment::Segment;
use crate::types::{MAX_RELATIVE_OFFSET, Offset, TimestampMs, to_usize};

/// Whether a pass is for real.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The log is cleaned.
    Clean,
    /// What that would do is only counted.
    DryRun,
}

/// How a pass is done.
#[derive(Clone, Copy, Debug)]
pub struct PassOptions {
    /// The time by which tombstones go, and from which their horizon is counted.
    pub now: TimestampMs,
    /// Memory of the offset map.
    pub map_bytes: u64,
    /// Share of its slots that is used.
    pub load_factor: f64,
    /// The largest segment that is written. A file has no more than 2147483647 bytes; tests set less.
    pub segment_bytes_max: u64,
    /// How much is read at a time, unless one batch is larger.
    pub read_bytes: usize,
    /// A larger batch, and one that is decompressed to more than a few times this where it has to be held, is TOO_LARGE; `None`
    /// holds what there is.
    pub held_bytes_max: Option<usize>,
    /// Whether it is for real.
    pub purpose: Purpose,
}

/// So many records are looked up together.
pub(super) const RECORDS_TOGETHER: usize = 8192;

/// Less than this at a time makes a pass slow.
pub const READ_BYTES_MIN: usize = 1 << 20;

impl PassOptions {
    /// For real, with a map of so many bytes of which nine tenths are used.
    #[must_use]
    pub fn new(now: TimestampMs, map_bytes: u64) -> Self {
        Self {
            now,
            map_bytes,
            load_factor: 0.9,
            segment_bytes_max: u64::from(MAX_RELATIVE_OFFSET),
            read_bytes: READ_BYTES_MIN,
            held_bytes_max: None,
            purpose: Purpose::Clean,
        }
    }
}

/// What a pass shares with others.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// Where others follow it, and end it.
    pub watch: &'a Watch,
    /// Keeps reads and writes below a rate.
    pub throttle: Option<&'a Throttle>,
    /// Whether the caller wants it to end.
    pub cancel: Option<CancelCheck<'a>>,
}

impl<'a> Surroundings<'a> {
    /// Only the watch: as fast as it goes, to the end.
    #[must_use]
    pub fn new(watch: &'a Watch) -> Self {
        Self {
            watch,
            throttle: None,
            cancel: None,
        }
    }
}

/// Cleans a log as far as it was found to be cleanable. CLEAN_ABORTED if it was asked to end, or the log was cut meanwhile; CORRUPT_MESSAGE with file
/// and position if a batch is damaged.
pub fn clean(
    log: &Log,
    examined: &Examined,
    options: &PassOptions,
    surroundings: Surroundings<'_>,
) -> Result<Cleaned> {
    let dirty = examined.cleanable;
    // deviations.md D87: an empty round moves nothing.
    if dirty.first_dirty >= dirty.first_uncleanable {
        return Ok(Cleaned {
            end: dirty.first_dirty,
            stats: Stats::default(),
        });
    }
    let config = log.config();
    let mut pass = Pass {
        log,
        segments: Arc::clone(&examined.segments),
        shape: examined.shape,
        end: examined.end,
        aborted: Vec::new(),
        dirty,
        options,
        map: OffsetMap::new(options.map_bytes, options.load_factor)?,
        stats: Stats::default(),
        steps: Steps::new(
            surroundings.watch,
            surroundings.throttle,
            surroundings.cancel,
        ),
        config,
    };
    surroundings
        .watch
        .begin(dirty.first_dirty, dirty.first_uncleanable, options.now);
    let done = pass.run();
    surroundings.watch.enter(Phase::Idle, 0);
    done.map(|end| Cleaned {
        end,
        stats: pass.stats,
    })
}

struct Pass<'a> {
    log: &'a Log,
    segments: Arc<SegmentList>,
    shape: Shape,
    end: LogEnd,
    /// Of each segment that has any, the aborted transactions of its index.
    aborted: Vec<(Offset, Arc<Vec<AbortedTxn>>)>,
    dirty: Cleanable,
    options: &'a PassOptions,
    map: OffsetMap,
    stats: Stats,
    steps: Steps<'a>,
    config: Arc<LogConfig>,
}

impl Pass<'_> {
    fn run(&mut self) -> Result<Offset> {
        for segment in self.segments.iter() {
            let aborted = segment.aborted_txns()?;
            if !aborted.is_empty() {
                self.aborted.push((segment.base_offset(), aborted));
            }
        }
        let legacy_horizon = self.legacy_horizon()?;
        self.map_dirty()?;
        let end = self.map.latest_offset().next();
        self.stats.map_slots = self.map.slots();
        self.stats.map_keys = self.map.len();

        let sources = segments_between(&self.segments, Offset::ZERO, end).to_vec();
        let bytes = sources.iter().map(|segment| self.bytes_of(segment)).sum();
        self.steps.watch.enter(Phase::Copying, bytes);
        let mut copy = Copying {
            transactions: CleanedTransactions::bounded(self.options.held_bytes_max),
            rewriter: Rewriter::new(
                to_usize(u64::from(self.config.max_decompressed_message_bytes)),
                self.options.held_bytes_max,
            ),
            legacy_horizon,
        };
        for group in self.groups(&sources)? {
            let group = sources.get(group).unwrap_or_default();
            self.clean_group(group, &mut copy)?;
        }
        Ok(end)
    }

    /// Tombstones of magic 0 and 1 go from segments that are not younger than this (cleaner.md 4.1).
    fn legacy_horizon(&self) -> Result<TimestampMs> {
        let clean = segments_between(&self.segments, Offset::ZERO, self.dirty.first_dirty);
        let Some(last) = clean.last() else {
            return Ok(TimestampMs(0));
        };
        let modified = last.modified()?;
        Ok(TimestampMs(
            modified.0.wrapping_sub(self.config.delete_retention_ms),
        ))
    }

    /// The aborted transactions that a range may hold data of (cleaner.md 9.2): from the segment that holds `from` on.
    fn collect_aborted(&self, from: Offset, upper: Offset) -> Vec<AbortedTxn> {
        let Some(floor) = self.segments.floor(from).map(|s| s.base_offset()) else {
            return Vec::new();
        };
        let log_start = self.log.start_offset();
        let first = self.aborted.partition_point(|(base, _)| *base < floor);
        let mut found = Vec::new();
        let entries = self.aborted.get(first..).unwrap_or_default();
        for txn in entries.iter().flat_map(|(_, txns)| txns.iter()) {
            if txn.last_offset >= log_start && txn.first_offset < upper {
                found.push(*txn);
            }
            if txn.last_stable_offset >= upper {
                break;
            }
        }
        found
    }

    /// Where the next segment begins: below it lie the offsets of this one.
    fn upper_of(&self, segment: &Segment) -> Offset {
        let from_here = self.segments.from_floor(segment.base_offset());
        let next = from_here.get(1).map(|next| next.base_offset());
        next.unwrap_or(self.end.offset)
    }

    /// How far a segment is read: what is appended to the active one during a dry run lies behind.
    fn bytes_of(&self, segment: &Segment) -> u64 {
        let bytes = segment.size_bytes();
        if segment.base_offset() == self.end.segment_base {
            bytes.min(self.end.position)
        } else {
            bytes
        }
    }

    fn groups(&self, sources: &[Arc<Segment>]) -> Result<Vec<std::ops::Range<usize>>> {
        let mut sizes = Vec::with_capacity(sources.len());
        for segment in sources {
            let (offsets, times) = segment.with_indexes(|indexes| indexes.entry_counts())?;
            sizes.push(SegmentSize {
                base: segment.base_offset(),
                log_bytes: segment.size_bytes(),
                offset_index_bytes: (offsets * offset_index::ENTRY_BYTES) as u64,
                time_index_bytes: (times * time_index::ENTRY_BYTES) as u64,
            });
        }
        let limits = GroupLimits {
            log_bytes: u64::from(self.config.segment_bytes),
            index_bytes: u64::from(self.config.segment_index_bytes),
        };
        Ok(group_segments(&sizes, limits, self.dirty.first_uncleanable))
    }

    /// Learns the last offset of each key of the dirty part, as far as the map has room (cleaner.md 5).
    fn map_dirty(&mut self) -> Result<()> {
        let Cleanable {
            first_dirty,
            first_uncleanable,
            ..
        } = self.dirty;
        let dirty = segments_between(&self.segments, first_dirty, first_uncleanable).to_vec();
        let bytes = dirty.iter().map(|segment| self.bytes_of(segment)).sum();
        self.steps.watch.enter(Phase::Mapping, bytes);
        let mut mapping = Mapping {
            transactions: CleanedTransactions::bounded(self.options.held_bytes_max),
            decoder: RecordDecoder::new(),
            keys: Vec::new(),
        };
        let aborted = self.collect_aborted(first_dirty, first_uncleanable);
        mapping.transactions.add(&aborted);
        mapping.decoder.set_max_body_bytes(to_usize(u64::from(
            self.config.max_decompressed_message_bytes,
        )));
        if let Some(bytes) = self.options.held_bytes_max {
            mapping.decoder.bound_memory(bytes);
        }
        mapping.decoder.set_inner_rule(InnerRule::AsCleaner);
        for (i, segment) in dirty.iter().enumerate() {
            self.steps.check()?;
            if self.map_segment(segment, &mut mapping)? == Room::Full {
                break;
            }
            let next = dirty
                .get(i + 1)
                .map_or(first_uncleanable, |next| next.base_offset());
            // Also over a gap at the segment's end (KAFKA-8764).
            self.map.set_latest_offset(next + -1);
        }
        self.steps.settle()
    }

    fn map_segment(&mut self, segment: &Arc<Segment>, mapping: &mut Mapping) -> Result<Room> {
        let start = self.dirty.first_dirty;
        let entry = segment.with_indexes(|indexes| indexes.floor_offset(start))?;
        let position = entry.map_or(0, |entry| u64::from(entry.position));
        let upper = self.upper_of(segment);
        let positions = position..self.bytes_of(segment);
        let mut source = Source::new(segment, positions, upper, self.options);
        while let Some(scanned) = source.next()? {
            let header = scanned.header;
            let batch = source
                .scan
                .bytes_of(&scanned)
                .and_then(|batch| batch.ensure_valid().map(|()| batch))
                .map_err(|e| source.name.put_on(e, &scanned))?;
            self.stats.mapped_bytes += u64::from(header.size_bytes);
            let mapped = map_batch(&batch, start, &mut self.map, mapping, &mut self.stats)
                .map_err(|e| source.name.put_on(e, &scanned))?;
            if mapped == Room::Full {
                return Ok(Room::Full);
            }
            if header.last_offset >= start {
                self.map.set_latest_offset(header.last_offset);
            }
            self.steps.read(u64::from(header.size_bytes))?;
        }
        Ok(Room::Left)
    }

    /// Writes a group of segments anew and puts the result in their place.
    fn clean_group(&mut self, group: &[Arc<Segment>], copy: &mut Copying) -> Result<()> {
        let (Some(first), Some(last)) = (group.first(), group.last()) else {
            return Ok(());
        };
        let mut output = match self.options.purpose {
            Purpose::DryRun => Output::Nowhere,
            Purpose::Clean => Output::Files(Box::new(Files::begin(
                self.log,
                first.base_offset(),
                last.modified()?,
                self.options.segment_bytes_max,
            )?)),
        };
        let producers = self.log.last_of_producers();
        for (i, segment) in group.iter().enumerate() {
            let upper = match group.get(i + 1) {
                Some(next) => next.base_offset(),
                None => segment.read_next_offset()?,
            };
            let aborted = self.collect_aborted(segment.base_offset(), upper);
            copy.transactions.add(&aborted);
            self.copy_segment(segment, copy, &producers, &mut output)?;
        }
        if let Output::Files(files) = &mut output {
            let written = files.finish()?;
            self.steps.throttled(written);
            let new = files.hand_over();
            self.steps.watch.go_on_to(Phase::Swapping);
            self.log.replace_segments(new, group, self.shape)?;
            self.steps.watch.go_on_to(Phase::Copying);
        }
        Ok(())
    }

    fn copy_segment(
        &mut self,
        segment: &Arc<Segment>,
        copy: &mut Copying,
        producers: &LastOfProducers,
        output: &mut Output<'_>,
    ) -> Result<()> {
        self.steps.check()?;
        let legacy_tombstones = if segment.modified()? > copy.legacy_horizon {
            LegacyTombstones::Keep
        } else {
            LegacyTombstones::Drop
        };
        let high_watermark = self.log.high_watermark();
        let now = self.options.now;
        let new_horizon = filter::new_horizon(now, self.config.delete_retention_ms);
        let upper = self.upper_of(segment);
        let positions = 0..self.bytes_of(segment);
        let mut source = Source::new(segment, positions, upper, self.options);
        while let Some(scanned) = source.next()? {
            let header = scanned.header;
            let batch = source
                .scan
                .bytes_of(&scanned)
                .and_then(|batch| batch.ensure_valid().map(|()| batch))
                .map_err(|e| source.name.put_on(e, &scanned))?;
            let is_control = header.attributes.is_control();
            let marker = if is_control {
                copy.transactions
                    .on_control(&batch)
                    .map_err(|e| source.name.put_on(e, &scanned))?
            } else {
                Marker {
                    can_discard: copy.transactions.on_data(&header),
                    aborted: None,
                }
            };
            let discards_records = filter::discards_records(&header, marker.can_discard, now);
            let known = if header.has_producer_id() {
                producers
                    .get(header.producer_id)
                    .map(|last| match last.data {
                        Some(offset) => LastOfProducer::Data(offset),
                        None => LastOfProducer::MarkersOf(last.epoch),
                    })
            } else {
                None
            };
            let decided = Decided {
                rule: BatchRule {
                    discards_records,
                    is_control,
                    is_v2: header.is_v2(),
                    horizon: header.delete_horizon(),
                    mapped_upto: self.map.latest_offset(),
                    legacy_tombstones,
                    now,
                },
                retention: filter::batch_retention(
                    &header,
                    known,
                    high_watermark,
                    discards_records,
                ),
                starts_horizon: is_control && marker.can_discard,
                new_horizon,
            };
            let written = copy
                .rewriter
                .filter(&batch, &decided, &self.map, &mut self.stats)
                .map_err(|e| source.name.put_on(e, &scanned))?;
            if let (Output::Files(files), Some(bytes)) = (&mut *output, written) {
                let written = files.add(bytes, marker.aborted)?;
                self.steps.throttled(written);
            }
            self.steps.read(u64::from(header.size_bytes))?;
        }
        self.steps.settle()
    }
}

/// What is kept over the groups of a pass.
struct Copying {
    transactions: CleanedTransactions,
    rewriter: Rewriter,
    legacy_horizon: TimestampMs,
}

/// What is kept while the dirty part is mapped.
struct Mapping {
    transactions: CleanedTransactions,
    decoder: RecordDecoder,
    /// Of some records of the batch that is mapped: each one's offset, and the hash of its key if that counts.
    keys: Vec<(Offset, Option<KeyHash>)>,
}

/// Whether the map has room for a further key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Room {
    Left,
    Full,
}

fn map_batch(
    batch: &crate::format::batch::Batch<'_>,
    start: Offset,
    map: &mut OffsetMap,
    mapping: &mut Mapping,
    stats: &mut Stats,
) -> Result<Room> {
    let Mapping {
        transactions,
        decoder,
        keys,
    } = mapping;
    let header = batch.header();
    if header.attributes.is_control() {
        transactions.on_control(batch)?;
        stats.mapped_records += 1;
        return Ok(Room::Left);
    }
    if transactions.on_data(header) {
        stats.mapped_records += u64::try_from(header.record_count).unwrap_or(0);
        return Ok(Room::Left);
    }
    decoder.begin(batch)?;
    loop {
        keys.clear();
        while keys.len() < RECORDS_TOGETHER
            && let Some(record) = decoder.next(batch)?
        {
            let key = record.key.filter(|_| record.offset >= start);
            keys.push((record.offset, key.map(|key| map.hash(key))));
        }
        if keys.is_empty() {
            return Ok(Room::Left);
        }
        map.warm(keys.iter().filter_map(|(_, hash)| *hash));
        for &(offset, hash) in keys.iter() {
            if let Some(hash) = hash {
                if map.is_full() {
                    return Ok(Room::Full);
                }
                map.put(hash, offset)?;
            }
            stats.mapped_records += 1;
        }
    }
}

/// The segments that may hold offsets of `[from, to)`; none if that is empty.
fn segments_between(segments: &SegmentList, from: Offset, to: Offset) -> &[Arc<Segment>] {
    if from < to {
        segments.range(from, to)
    } else {
        &[]
    }
}
