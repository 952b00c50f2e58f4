//! What a page tells, out of any number of logs in bounded room: sums of all, rows of the largest, details of the very largest.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use klog::inspect::stat::{Cleaning, Deleting, LogStat, Share, Timeline};

/// So many topics have a bar.
pub(crate) const TOPICS_MAX: usize = 30;
/// So many logs have a row.
pub(crate) const ROWS_MAX: usize = 200;
/// So many logs have plots.
pub(crate) const DETAILS_MAX: usize = 12;

/// What a reader wants to know of a log by one look.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) start: i64,
    pub(crate) end: i64,
    pub(crate) segments: usize,
    pub(crate) total: Share,
    pub(crate) keys: u64,
    pub(crate) tombstones: u64,
    pub(crate) clean_saves: Option<u64>,
    pub(crate) clean: String,
    pub(crate) retention_takes: (usize, u64),
    pub(crate) retention: String,
}

/// Logs of which one thing is true.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Group {
    pub(crate) logs: u64,
    pub(crate) stored_bytes: u64,
    /// What would go of them.
    pub(crate) goes_bytes: u64,
}

/// What a topic has.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TopicSum {
    pub(crate) partitions: u64,
    pub(crate) total: Share,
}

/// Sums over all logs, and the largest ones.
#[derive(Default)]
pub(crate) struct Gathered {
    pub(crate) logs: u64,
    pub(crate) segments: u64,
    pub(crate) total: Share,
    pub(crate) codecs: BTreeMap<&'static str, Share>,
    pub(crate) timeline: Timeline,
    pub(crate) due: Timeline,
    pub(crate) batch_sizes: BTreeMap<u32, Share>,
    pub(crate) tombstones: u64,
    pub(crate) null_keys: u64,
    pub(crate) unread_batches: u64,
    /// Logs whose topic was given no configuration.
    pub(crate) unconfigured: u64,
    pub(crate) clean_saves: u64,
    pub(crate) retention_takes: (u64, u64),
    pub(crate) cleaning: BTreeMap<Cleaning, Group>,
    pub(crate) deleting: BTreeMap<Deleting, Group>,
    topics: BTreeMap<String, TopicSum>,
    /// The largest logs, the largest first: by bytes, then by name.
    rows: BTreeMap<Rank, Row>,
    details: BTreeMap<Rank, LogStat>,
}

type Rank = (Reverse<u64>, String, i32);

impl Gathered {
    /// Takes a log in.
    pub(crate) fn add(&mut self, stat: LogStat) {
        self.logs += 1;
        self.segments += stat.segments as u64;
        self.total += stat.total;
        self.tombstones += stat.tombstones;
        self.null_keys += stat.null_keys;
        self.unread_batches += stat.unread_batches;
        self.unconfigured += u64::from(!stat.has_config);
        self.timeline.merge(&stat.timeline);
        self.due.merge(&stat.due);
        for (codec, share) in &stat.codecs {
            *self.codecs.entry(codec).or_default() += *share;
        }
        for (size, share) in &stat.batch_sizes {
            *self.batch_sizes.entry(*size).or_default() += *share;
        }
        let saves = stat.clean_saves.unwrap_or(0);
        let (segments, bytes) = stat.retention_takes;
        self.clean_saves += saves;
        self.retention_takes.0 += segments as u64;
        self.retention_takes.1 += bytes;
        let stored = stat.total.stored_bytes;
        let count = |group: &mut Group, goes_bytes| {
            group.logs += 1;
            group.stored_bytes += stored;
            group.goes_bytes += goes_bytes;
        };
        count(self.cleaning.entry(stat.cleaning).or_default(), saves);
        count(self.deleting.entry(stat.deleting).or_default(), bytes);
        let topic = self
            .topics
            .entry(stat.partition.topic.to_string())
            .or_default();
        topic.partitions += 1;
        topic.total += stat.total;
        let partition = &stat.partition;
        let rank = (
            Reverse(stored),
            partition.topic.to_string(),
            partition.partition,
        );
        keep(&mut self.rows, ROWS_MAX, rank.clone(), || Row::of(&stat));
        keep(&mut self.details, DETAILS_MAX, rank, || stat);
    }

    /// The largest logs, the largest first.
    pub(crate) fn rows(&self) -> impl ExactSizeIterator<Item = &Row> {
        self.rows.values()
    }

    /// The very largest, with all that is known of them.
    pub(crate) fn details(&self) -> impl ExactSizeIterator<Item = &LogStat> {
        self.details.values()
    }

    /// All topics, the largest first.
    pub(crate) fn topics(&self) -> Vec<(&str, TopicSum)> {
        let mut topics: Vec<(&str, TopicSum)> = self
            .topics
            .iter()
            .map(|(name, sum)| (name.as_str(), *sum))
            .collect();
        // Stable: those of one size stay in the order of their names.
        topics.sort_by_key(|(_, sum)| Reverse(sum.total.stored_bytes));
        topics
    }
}

/// Puts a value among the first `most`.
fn keep<T>(map: &mut BTreeMap<Rank, T>, most: usize, rank: Rank, value: impl FnOnce() -> T) {
    if map.len() >= most && map.last_key_value().is_some_and(|(last, _)| *last < rank) {
        return;
    }
    map.insert(rank, value());
    if map.len() > most {
        map.pop_last();
    }
}

impl Row {
    fn of(stat: &LogStat) -> Self {
        Self {
            name: stat.partition.to_string(),
            start: stat.start.0,
            end: stat.end.0,
            segments: stat.segments,
            total: stat.total,
            keys: stat.keys,
            tombstones: stat.tombstones,
            clean_saves: stat.clean_saves,
            clean: stat.clean.clone(),
            retention_takes: stat.retention_takes,
            retention: stat.retention.clone(),
        }
    }
}
