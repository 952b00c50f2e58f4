//! What the crash tests share: seeded choices, records that tell where they come from, a manager on the simulated disk,
//! calls that change a log, a model of one, and the comparison of the two.
#![allow(dead_code, reason = "each test binary uses the part it needs")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod appends;
pub(crate) mod change;
pub(crate) mod check;
pub(crate) mod model;
mod random;
pub(crate) mod run;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use klog::config::{ConfigSet, Resolved};
use klog::format::builder::{BatchBuilder, BatchOptions};
use klog::format::codec::Codec;
use klog::format::record::Header;
use klog::io::{ManualClock, SimFs};
use klog::log::{Cursor, CursorOptions, FindingKind, Isolation, Log};
use klog::manager::{HighWatermarks, Manager, ManagerOptions, MissingDir, OpenCounts};
use klog::types::{Offset, TimestampMs, TopicPartition};

pub(crate) use random::Random;

/// The log directory of every test.
pub(crate) const DIR: &str = "/data/logs";
/// What the clocks show at first.
pub(crate) const T: i64 = 1_700_000_000_000;

/// A record with all that a reader sees of it but its offset, which is its place in the list.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) timestamp: i64,
    pub(crate) key: Option<Vec<u8>>,
    pub(crate) value: Option<Vec<u8>>,
    pub(crate) headers: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    pub(crate) epoch: i32,
}

impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |b: &Option<Vec<u8>>| {
            let shown = b
                .as_deref()
                .map(|b| String::from_utf8_lossy(&b[..b.len().min(24)]).into_owned());
            shown.unwrap_or_else(|| "null".to_owned())
        };
        write!(
            f,
            "{}@{} {:?}={:?}",
            self.epoch,
            self.timestamp,
            text(&self.key),
            text(&self.value)
        )?;
        if self.headers.is_empty() {
            Ok(())
        } else {
            write!(f, " +{} headers", self.headers.len())
        }
    }
}

impl Record {
    /// A record of any shape; `id` is in it somewhere, so that no two are alike.
    pub(crate) fn random(random: &mut Random, id: u64, now: i64) -> Self {
        let id = format!("#{id}#").into_bytes();
        let len = *random.pick(&[0, 3, 20, 20, 60, 200]);
        // Half of the values compress well.
        let filler = if random.one_in(2) {
            vec![b'v'; len]
        } else {
            random.bytes(len)
        };
        let value = [id.clone(), filler].concat();
        let headers = match random.below(4) {
            0 => vec![
                (b"h".to_vec(), None),
                (Vec::new(), Some(vec![7; random.below(9)])),
            ],
            1 => vec![(b"name".to_vec(), Some(id.clone()))],
            _ => Vec::new(),
        };
        let (key, value) = match random.below(6) {
            0 => (None, Some(value)),
            1 => (Some(id), None),
            2 => (Some(Vec::new()), Some(value)),
            3 => (Some(id), Some(Vec::new())),
            _ => (
                Some(format!("k{}", random.below(5)).into_bytes()),
                Some(value),
            ),
        };
        let timestamp = now - *random.pick(&[0, 0, 0, 1, 500]) + *random.pick(&[0, 0, 7]);
        Self {
            timestamp,
            key,
            value,
            headers,
            epoch: 0,
        }
    }

    pub(crate) fn push_into(&self, builder: &mut BatchBuilder) {
        let headers: Vec<Header<'_>> = self
            .headers
            .iter()
            .map(|(key, value)| Header {
                key,
                value: value.as_deref(),
            })
            .collect();
        let time = TimestampMs(self.timestamp);
        builder
            .push(
                time,
                self.key.as_deref(),
                self.value.as_deref(),
                headers.iter().copied(),
            )
            .unwrap();
    }
}

/// The records in a builder, ready to be appended.
pub(crate) fn builder_of(records: &[Record]) -> BatchBuilder {
    let mut builder = BatchBuilder::new();
    for record in records {
        record.push_into(&mut builder);
    }
    builder
}

/// The records as a ready batch of a producer.
pub(crate) fn batch_of(records: &[Record], codec: Codec) -> Vec<u8> {
    builder_of(records)
        .finish(&BatchOptions {
            codec,
            ..BatchOptions::default()
        })
        .unwrap()
        .to_vec()
}

/// A configuration with keys of the topics `a` and `b`.
pub(crate) fn config(keys: &[(&str, &str)]) -> Arc<Resolved> {
    let mut set = ConfigSet::broker();
    for topic in ["a", "b"] {
        for (key, value) in keys {
            set.set_topic(topic, key, value).unwrap();
        }
    }
    Arc::new(set.resolve().unwrap())
}

/// Opens the directory on a disk, with one thread, so that the order of what is done is always the same.
pub(crate) fn open(
    fs: &SimFs,
    clock: &Arc<ManualClock>,
    config: &Arc<Resolved>,
) -> Result<Manager, klog::Error> {
    open_with(fs, clock, config, HighWatermarks::FollowEnd)
}

/// As [`open`], with high watermarks of either kind.
pub(crate) fn open_with(
    fs: &SimFs,
    clock: &Arc<ManualClock>,
    config: &Arc<Resolved>,
    high_watermarks: HighWatermarks,
) -> Result<Manager, klog::Error> {
    Manager::open(ManagerOptions {
        dirs: vec![DIR.into()],
        missing_dir: MissingDir::Create,
        access: klog::manager::Access::Own,
        config: Arc::clone(config),
        fs: Arc::new(fs.clone()),
        clock: Arc::clone(clock) as Arc<dyn klog::io::Clock>,
        recovery_threads: Some(1),
        broker_epoch: -1,
        high_watermarks,
        progress: None,
    })
}

pub(crate) fn partition(topic: &str) -> TopicPartition {
    TopicPartition::new(topic, 0)
}

/// Everything that a cursor gives from `start` on, with offsets.
pub(crate) fn read_from(
    log: &Arc<Log>,
    start: Offset,
    read_bytes: usize,
    per_call: usize,
) -> Result<Vec<(i64, Record)>, klog::Error> {
    read_as(Isolation::LogEnd, log, start, read_bytes, per_call)
}

/// As [`read_from`], of an isolation.
pub(crate) fn read_as(
    isolation: Isolation,
    log: &Arc<Log>,
    start: Offset,
    read_bytes: usize,
    per_call: usize,
) -> Result<Vec<(i64, Record)>, klog::Error> {
    let mut cursor: Cursor = log.cursor(
        start,
        CursorOptions {
            read_bytes,
            isolation,
            ..CursorOptions::default()
        },
    );
    let mut all = Vec::new();
    loop {
        let slice = cursor.next_records(per_call)?;
        if slice.is_empty() {
            return Ok(all);
        }
        for record in slice.iter() {
            let headers = record
                .headers
                .map(|h| (h.key.to_vec(), h.value.map(<[u8]>::to_vec)))
                .collect();
            all.push((
                record.offset.0,
                Record {
                    timestamp: record.timestamp.0,
                    key: record.key.map(<[u8]>::to_vec),
                    value: record.value.map(<[u8]>::to_vec),
                    headers,
                    epoch: record.leader_epoch.0,
                },
            ));
        }
    }
}

/// Whether opening found nothing to do.
pub(crate) fn check_nothing_done(manager: &Manager) -> Result<(), String> {
    let done = manager
        .report()
        .iter()
        .find(|f| f.kind != FindingKind::Config);
    match done {
        None if manager.open_counts() == OpenCounts::default() => Ok(()),
        None => Err(format!("opening did {:?}", manager.open_counts())),
        Some(finding) => Err(format!("opening found {finding}")),
    }
}

/// Files by path, with their content.
pub(crate) type Files = Vec<(std::path::PathBuf, Vec<u8>)>;

/// All files of the log directory, for comparing; left out are those of a lock, those that wait for their removal, and
/// the zeros that a preallocated log ends with.
pub(crate) fn files(fs: &SimFs) -> Files {
    let mut files = fs.files_below(Path::new(DIR));
    files.retain(|(path, _)| {
        !path.ends_with(".lock") && path.extension().is_none_or(|e| e != "deleted")
    });
    for (_, content) in files
        .iter_mut()
        .filter(|(path, _)| path.extension().is_some_and(|e| e == "log"))
    {
        let end = content
            .iter()
            .rposition(|&byte| byte != 0)
            .map_or(0, |last| last + 1);
        content.truncate(end);
    }
    files
}

/// The first file that differs.
pub(crate) fn difference(before: &Files, after: &Files) -> Option<String> {
    let lost = before.iter().find(|file| !after.contains(file));
    let come = after.iter().find(|file| !before.contains(file));
    match (lost, come) {
        (None, None) => None,
        (lost, come) => {
            let show = |file: Option<&(std::path::PathBuf, Vec<u8>)>| {
                file.map_or_else(
                    || "-".to_owned(),
                    |(path, bytes)| {
                        let shown = &bytes[..bytes.len().min(64)];
                        format!("{} ({} bytes: {shown:02x?})", path.display(), bytes.len())
                    },
                )
            };
            Some(format!("before {}; after {}", show(lost), show(come)))
        }
    }
}
