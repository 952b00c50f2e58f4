//! Compaction over the logs of a manager: which log is next, one pass over it, its checkpoint. Implements cleaner.md 2.1, 2.6,
//! 2.8, 3.2-3.6, c-abi.md 3.2.13, 3.2.14.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::cleaning::Work;
use super::dirs::LogDir;
use super::{Manager, Pass};
use crate::cleaner::choose::filthiest;
use crate::cleaner::examine::{Active, Examined, examine};
use crate::cleaner::pass::{self, PassOptions, Purpose, READ_BYTES_MIN, Surroundings};
use crate::cleaner::stats::{Cleaned, Stats};
use crate::cleaner::throttle::Throttle;
use crate::cleaner::watch::CancelCheck;
use crate::error::{Error, ErrorKind, Result};
use crate::io::Stopwatch;
use crate::log::{EventKind, Log};
use crate::types::{MAX_RELATIVE_OFFSET, Offset, TopicPartition};

/// Whether the active segment, which is never cleaned, ends first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Roll {
    /// It stays as it is.
    #[default]
    Leave,
    /// A new one begins, so that all that is in the log can be cleaned.
    First,
}

/// How logs are cleaned. The default is as the configuration says, for real.
#[derive(Clone, Copy, Default)]
pub struct CleanOptions<'a> {
    /// Memory of the offset map; `None` is a thread's share of `log.cleaner.dedupe.buffer.size`.
    pub map_bytes: Option<u64>,
    /// Only logs of which a larger share is dirty; `None` is each log's `min.cleanable.dirty.ratio`. A log that is named
    /// is cleaned whatever its share is.
    pub min_dirty_ratio: Option<f64>,
    /// Where the dirty part of the named log begins; `None` is where its checkpoint says.
    pub first_dirty: Option<Offset>,
    /// Whether the active segment of the named log ends first.
    pub roll: Roll,
    /// Bytes a second that are read and written; `None` is `log.cleaner.io.max.bytes.per.second`.
    pub io_bytes_per_second: Option<f64>,
    /// A larger batch is not cleaned, nor one that is decompressed to more where it has to be held: TOO_LARGE. `None` holds what
    /// there is, as Kafka does.
    pub held_bytes_max: Option<usize>,
    /// Whether it is for real.
    pub pass: Option<Pass>,
    /// Asked from time to time; its error ends the pass.
    pub cancel: Option<CancelCheck<'a>>,
}

impl CleanOptions<'_> {
    fn is_dry(&self) -> bool {
        self.pass == Some(Pass::DryRun)
    }

    fn active(&self) -> Active {
        if self.roll == Roll::First && self.is_dry() {
            Active::AsIfRolled
        } else {
            Active::AsItIs
        }
    }
}

/// A pass over a log, and how it ended.
#[derive(Debug)]
pub struct CleanedLog {
    /// Which log.
    pub partition: TopicPartition,
    /// What was done, or why it failed.
    pub outcome: Result<Cleaned>,
}

impl Manager {
    /// One pass over a log, whatever share of it is dirty, also if it was given up before. `None` if there is nothing to
    /// clean. INVALID_CONFIG if its `cleanup.policy` has no `compact`; BUSY if another pass runs on it, CLEAN_PAUSED if it is paused.
    pub fn clean(&self, log: &Arc<Log>, options: &CleanOptions<'_>) -> Result<Option<Cleaned>> {
        self.check_cleans(options)?;
        log.check_open()?;
        if !log.config().cleanup_policy.compact {
            return Err(Error::new(
                ErrorKind::InvalidConfig,
                format!(
                    "{} is not compacted: its cleanup.policy has no compact, and records would go that it is to keep",
                    log.partition()
                ),
            )
            .in_partition(log.partition().partition));
        }
        if options.roll == Roll::First && !options.is_dry() {
            log.roll()?;
        }
        let Some(work) = self.begin_work(log.partition())? else {
            return Err(self.not_free(log.partition()));
        };
        let checkpoint = match options.first_dirty {
            Some(offset) => Some(offset),
            None => self.cleaner_offset(log)?,
        };
        let examined = examine(log, checkpoint, options.active(), self.clock.now())?;
        if examined.cleanable.cleanable_bytes == 0 {
            self.repair_checkpoint(log, &examined, options)?;
            work.end()?;
            return Ok(None);
        }
        self.run_pass(log, work, &examined, options).map(Some)
    }

    /// As [`Self::clean`], with a pass that failed as an outcome: an error is one of the call.
    pub fn clean_one(
        &self,
        partition: &TopicPartition,
        options: &CleanOptions<'_>,
    ) -> Result<Option<CleanedLog>> {
        let outcome = match self.clean(&self.log(partition)?, options) {
            Ok(None) => return Ok(None),
            Ok(Some(cleaned)) => Ok(cleaned),
            // That it may not be cleaned at all is no pass that failed.
            Err(e) if e.kind() == ErrorKind::InvalidConfig => return Err(e),
            Err(e) => Err(e),
        };
        Ok(Some(CleanedLog {
            partition: partition.clone(),
            outcome,
        }))
    }

    /// One pass over the log of which the largest share is dirty, among those that are managed and compacted and of which
    /// enough is dirty (cleaner.md 2.6); `None` if there is none. Those in `skipped` are passed over.
    pub fn clean_filthiest(
        &self,
        options: &CleanOptions<'_>,
        skipped: &BTreeSet<TopicPartition>,
    ) -> Result<Option<CleanedLog>> {
        self.check_cleans(options)?;
        let mut found = Vec::new();
        let mut max_dirty_ratio: f64 = 0.0;
        for log in self.logs() {
            let config = log.config();
            if !config.cleanup_policy.compact
                || !self.is_managed(&log)
                || self.is_uncleanable(log.partition())
                || skipped.contains(log.partition())
                || !self.dir_of(&log).is_some_and(LogDir::is_online)
            {
                continue;
            }
            match self.examine_for_choice(&log, options) {
                Ok(Some(examined)) => {
                    let min_ratio = options
                        .min_dirty_ratio
                        .unwrap_or(config.min_cleanable_dirty_ratio);
                    max_dirty_ratio = max_dirty_ratio.max(examined.cleanable.ratio());
                    if examined.cleanable.is_candidate(min_ratio) {
                        found.push((log, examined));
                    }
                }
                Ok(None) => {}
                Err(e) => {
                    self.note_outcome(log.partition(), Some(&e));
                    return Ok(Some(CleanedLog {
                        partition: log.partition().clone(),
                        outcome: Err(e),
                    }));
                }
            }
        }
        self.cleaning
            .last_runs
            .note_choice(max_dirty_ratio, self.clock.now());
        loop {
            let cleanables: Vec<_> = found.iter().map(|(_, e)| e.cleanable).collect();
            let Some(at) = filthiest(&cleanables) else {
                return Ok(None);
            };
            let (log, examined) = found.remove(at);
            // Somebody else may have been faster.
            if let Some(work) = self.begin_work(log.partition())? {
                return Ok(Some(CleanedLog {
                    partition: log.partition().clone(),
                    outcome: self.run_pass(&log, work, &examined, options),
                }));
            }
        }
    }

    fn check_cleans(&self, options: &CleanOptions<'_>) -> Result<()> {
        self.check_open()?;
        if options.is_dry() {
            return Ok(());
        }
        self.check_owned()
    }

    fn examine_for_choice(
        &self,
        log: &Arc<Log>,
        options: &CleanOptions<'_>,
    ) -> Result<Option<Examined>> {
        let Some(work) = self.begin_work(log.partition())? else {
            return Ok(None);
        };
        let checkpoint = self.cleaner_offset(log)?;
        let examined = examine(log, checkpoint, Active::AsItIs, self.clock.now())?;
        self.repair_checkpoint(log, &examined, options)?;
        work.end()?;
        Ok(Some(examined))
    }

    /// A checkpoint that does not fit the log is written anew, whether the log is cleaned now or not (KAFKA-6266).
    fn repair_checkpoint(
        &self,
        log: &Log,
        examined: &Examined,
        options: &CleanOptions<'_>,
    ) -> Result<()> {
        if examined.rewrites_checkpoint && !options.is_dry() {
            self.store_cleaner_offset(log, examined.cleanable.first_dirty)?;
        }
        Ok(())
    }

    fn run_pass(
        &self,
        log: &Arc<Log>,
        work: Work<'_>,
        examined: &Examined,
        options: &CleanOptions<'_>,
    ) -> Result<Cleaned> {
        let config = self.config();
        let cleaner = &config.broker.cleaner;
        let map_bytes = options
            .map_bytes
            .unwrap_or_else(|| u64::from(cleaner.map_bytes_per_thread()));
        let own_throttle = options
            .io_bytes_per_second
            .and_then(|rate| Throttle::new(rate, &self.clock));
        let pass_options = PassOptions {
            now: self.clock.now(),
            map_bytes,
            load_factor: cleaner.io_buffer_load_factor,
            segment_bytes_max: u64::from(MAX_RELATIVE_OFFSET),
            read_bytes: READ_BYTES_MIN.max(cleaner.io_buffer_bytes_per_thread() as usize),
            held_bytes_max: options.held_bytes_max,
            purpose: if options.is_dry() {
                Purpose::DryRun
            } else {
                Purpose::Clean
            },
        };
        let shared_throttle = self.cleaning.throttle();
        let watch = Arc::clone(&work.watch);
        let surroundings = Surroundings {
            watch: &watch,
            throttle: own_throttle.as_ref().or(shared_throttle.as_deref()),
            cancel: options.cancel,
        };
        let waited = |throttle: Option<&Throttle>| throttle.map_or(0, |t| t.waited().as_millis());
        let waited_before = waited(surroundings.throttle);
        let stopwatch = Stopwatch::start();
        let mut outcome = pass::clean(log, examined, &pass_options, surroundings);
        if let Ok(cleaned) = &mut outcome {
            let waited = waited(surroundings.throttle) - waited_before;
            cleaned.stats.throttled_ms = u64::try_from(waited).unwrap_or(u64::MAX);
            if !options.is_dry() {
                let elapsed_ns = stopwatch.elapsed_ns();
                self.cleaning
                    .last_runs
                    .note_pass(elapsed_ns, examined, &cleaned.stats);
            }
        }
        let outcome = outcome.map_err(|e| match self.dir_of(log) {
            Some(dir) => dir.health.judge(e),
            None => e,
        });
        if options.is_dry() {
            work.end()?;
            return outcome;
        }
        self.note_outcome(log.partition(), outcome.as_ref().err());
        // Also after a failure: where the dirty part begins is known now, if it was not before (cleaner.md 3.4).
        let end = match &outcome {
            Ok(cleaned) => Some(cleaned.end),
            Err(e) if was_stopped(e) => None,
            Err(_) => Some(examined.cleanable.first_dirty),
        };
        let stored = work.end_with(|| match end {
            Some(end) => self.store_cleaner_offset(log, end),
            None => Ok(()),
        });
        let cleaned = outcome?;
        stored?;
        if let Some(dir) = self.dir_of(log) {
            self.tell(EventKind::Cleaned, dir, log.partition());
        }
        Ok(cleaned)
    }

    /// A turn of the cleaner (cleaner.md 3.2): a pass over the filthiest log, then retention of the logs that are compacted.
    /// Whether a log was cleaned. `cancel` ends the pass. One that failed is no failure of the turn: [`Self::uncleanable`] tells of it.
    pub fn clean_turn(&self, cancel: Option<CancelCheck<'_>>) -> Result<bool> {
        let options = CleanOptions {
            cancel,
            ..CleanOptions::default()
        };
        let cleaned = self.clean_filthiest(&options, &BTreeSet::new())?;
        match cleaned {
            Some(CleanedLog {
                outcome: Err(e), ..
            }) if !was_stopped(&e) => Ok(false),
            cleaned => {
                self.retain_compacted()?;
                Ok(cleaned.is_some())
            }
        }
    }

    /// Retention of the managed logs that are compacted (cleaner.md 2.8): what lies below the log start goes, and with
    /// `delete` in the policy what is too much or too old.
    fn retain_compacted(&self) -> Result<()> {
        for log in self.logs() {
            let partition = log.partition();
            if !log.config().cleanup_policy.compact
                || !self.is_managed(&log)
                || self.is_uncleanable(partition)
            {
                continue;
            }
            if let Some(work) = self.begin_work(partition)? {
                let retained = self.retain_now(&log, Pass::Apply);
                work.end()?;
                match retained {
                    // It went meanwhile.
                    Err(e) if e.kind() == ErrorKind::UnknownTopicOrPartition => {}
                    other => drop(other?),
                }
            }
        }
        Ok(())
    }

    /// Waits until a log is clean up to an offset: its checkpoint is at or above it. `go_on` is asked meanwhile; its error is
    /// answered.
    pub fn await_cleaned(
        &self,
        log: &Log,
        offset: Offset,
        go_on: &dyn Fn() -> Result<()>,
    ) -> Result<()> {
        loop {
            self.check_open()?;
            log.check_open()?;
            if self
                .cleaner_offset(log)?
                .is_some_and(|stored| stored >= offset)
            {
                return Ok(());
            }
            go_on()?;
            self.cleaning.wait_a_little();
        }
    }
}

/// Whether a pass ended early because somebody wanted it to.
fn was_stopped(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Cancelled | ErrorKind::TimedOut | ErrorKind::CleanAborted
    )
}

/// What passes did, all together.
#[must_use]
pub fn total(passes: &[CleanedLog]) -> Stats {
    let mut total = Stats::default();
    for cleaned in passes.iter().filter_map(|pass| pass.outcome.as_ref().ok()) {
        total += cleaned.stats;
    }
    total
}
