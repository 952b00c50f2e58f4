//! What is counted and measured, under Kafka's names: one [table](METRICS) that descriptions, values and the OpenMetrics text
//! all read. Implements manager.md 14.
//!
//! Kafka's meters are counters here: their rates are for who reads them twice to work out. Nothing here costs an append or a
//! read more than an addition to a number of its own log.

mod table;
mod text;

use std::ffi::CStr;
use std::sync::Arc;

use crate::error::Result;
use crate::log::{FlushStats, Log, LogCounts};
use crate::manager::{CleanerGauges, DirStats, Manager, Snapshot, Uncleanable};

pub use table::METRICS;

/// What kind of value it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// It rises and falls.
    Gauge,
    /// It only rises, from the opening of its manager, log or topic on: Kafka's meter.
    Counter,
    /// How often, of Kafka's timer; it only rises.
    TimerCount,
    /// How long all of them took together, of Kafka's timer; it only rises.
    TimerSum,
}

/// One row of the table.
#[derive(Debug)]
pub struct Metric {
    name: &'static CStr,
    kind: MetricKind,
    unit: &'static CStr,
    help: &'static CStr,
    source: Source,
}

/// Where a value comes from, which says by what it is told apart too.
#[derive(Debug)]
enum Source {
    /// One of the manager.
    Manager(fn(&Snapshot) -> u64),
    /// One of each directory, with this label.
    Dir(&'static str, fn(&DirStats) -> u64),
    /// One of each log that is being loaded: labels `dir` and `threadNum`.
    Loading,
    /// One of each log: labels `topic`, `partition` and, of a copy that is being moved, `is_future`. How those of all logs
    /// become one.
    Log(fn(&Log) -> u64, Together),
    /// One of each topic, and one of all.
    Topic(fn(&LogCounts) -> u64),
    /// One of all topics.
    AllTopics(fn(&LogCounts) -> u64),
    /// One of all flushes.
    Flush(fn(&FlushStats) -> u64),
    /// One of the cleaner.
    Cleaner(fn(&CleanerGauges) -> u64),
    /// One of the cleaner for each directory: label `logDirectory`.
    DirtyDir(fn(&Uncleanable) -> u64),
}

/// What the values of all logs are together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Together {
    Sum,
    Max,
}

impl Metric {
    /// Kafka's name: that of the MBean, without its tags. Of a timer the second row has the attribute behind it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name.to_str().unwrap_or_default()
    }

    /// [`Self::name`] with a NUL behind it.
    #[must_use]
    pub fn c_name(&self) -> &'static CStr {
        self.name
    }

    /// What kind of value it is.
    #[must_use]
    pub fn kind(&self) -> MetricKind {
        self.kind
    }

    /// Its unit; empty for a plain number.
    #[must_use]
    pub fn unit(&self) -> &'static str {
        self.unit.to_str().unwrap_or_default()
    }

    /// [`Self::unit`] with a NUL behind it.
    #[must_use]
    pub fn c_unit(&self) -> &'static CStr {
        self.unit
    }

    /// What it says, in a sentence.
    #[must_use]
    pub fn help(&self) -> &'static str {
        self.help.to_str().unwrap_or_default()
    }

    /// [`Self::help`] with a NUL behind it.
    #[must_use]
    pub fn c_help(&self) -> &'static CStr {
        self.help
    }
}

/// Everything that the values are taken from, at one moment.
struct View {
    stats: Snapshot,
    cleaner: CleanerGauges,
}

impl View {
    fn new(manager: &Manager) -> Result<Self> {
        Ok(Self {
            stats: manager.stats()?,
            cleaner: manager.cleaner_gauges(),
        })
    }
}

/// The values of all [`METRICS`], in their order. With a log those of this log, of its topic, of its directory, or of the
/// manager, whichever is the narrowest that there is. Without one those of the whole manager: numbers of logs and directories
/// are added up, of RetentionSizeInPercent it is the largest. CLOSED once the manager, or the log, was closed.
pub fn read(manager: &Manager, only: Option<&Arc<Log>>) -> Result<Vec<u64>> {
    if let Some(log) = only {
        log.check_open()?;
        if !manager.serves(log) {
            let message = format!("the log {} is not of this manager", log.partition());
            return Err(manager.unknown(log.partition(), message));
        }
    }
    let view = View::new(manager)?;
    Ok(METRICS
        .iter()
        .map(|metric| value(&metric.source, &view, only))
        .collect())
}

/// All of them as OpenMetrics text (version 1.0.0), `# EOF` included: what a scraper gets. CLOSED once the manager was closed.
pub fn text(manager: &Manager) -> Result<String> {
    Ok(text::render(&View::new(manager)?))
}

fn value(source: &Source, view: &View, only: Option<&Arc<Log>>) -> u64 {
    let stats = &view.stats;
    let is_here = |path: &std::path::Path| only.is_none_or(|log| log.dir().parent() == Some(path));
    match source {
        Source::Manager(of) => of(stats),
        Source::Dir(_, of) => {
            let here = stats.dirs.iter().filter(|dir| is_here(&dir.path));
            here.map(of).sum()
        }
        Source::Loading => {
            let here = stats.dirs.iter().filter(|dir| is_here(&dir.path));
            here.map(|dir| dir.opening.segments_left).sum()
        }
        Source::Log(of, together) => {
            let values = stats
                .logs
                .iter()
                .filter(|log| only.is_none_or(|only| Arc::ptr_eq(only, log)))
                .map(|log| of(log));
            match together {
                Together::Sum => values.fold(0, u64::saturating_add),
                Together::Max => values.max().unwrap_or(0),
            }
        }
        Source::Topic(of) => match only {
            None => of(&stats.all_topics),
            Some(log) => stats.topics.get(&*log.partition().topic).map_or(0, of),
        },
        Source::AllTopics(of) => of(&stats.all_topics),
        Source::Flush(of) => of(&stats.flushes),
        Source::Cleaner(of) => of(&view.cleaner),
        Source::DirtyDir(of) => {
            let here = view.cleaner.dirs.iter().filter(|dir| is_here(&dir.path));
            here.map(of).sum()
        }
    }
}
