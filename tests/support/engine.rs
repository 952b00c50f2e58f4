//! klog's engine over a directory of the test, and the notation of hard-cases.md 0.2.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use klog::config::{ConfigSet, Resolved};
use klog::error::Error;
use klog::format::builder::{BatchBuilder, BatchOptions};
use klog::format::names::parse_topic_partition;
use klog::format::record::Header;
use klog::inspect::{DumpOptions, dump};
use klog::io::{FileSystem, ManualClock, RealFs};
use klog::log::{
    AppendOptions, AppendResult, Cursor, CursorOptions, FirstBatch, Log, ReadOptions, ReadResult,
};
use klog::manager::{Access, CreateOptions, Manager, ManagerOptions, MissingDir};
use klog::types::{LeaderEpoch, Offset, TimestampMs};
use tempfile::TempDir;

use super::canonical::{LogLines, Text};
use super::tree;

/// The clock of a new [`Home`].
pub(crate) const NOW: i64 = 1_767_000_000_000;
pub(crate) const CLEAN_MARKER: &str = ".kafka_cleanshutdown";

/// A log directory with the configuration that it is opened with. The log of most tests is `t-0`.
pub(crate) struct Home {
    pub(crate) dir: PathBuf,
    pub(crate) clock: Arc<ManualClock>,
    settings: Vec<(String, String, String)>,
    broker: Vec<(String, String)>,
    root: Option<TempDir>,
}

impl Home {
    /// An empty directory.
    pub(crate) fn new() -> Self {
        let root = tree::scratch();
        let dir = root.path().join("logs");
        fs::create_dir(&dir).unwrap();
        Self {
            root: Some(root),
            ..Self::at(&dir)
        }
    }

    /// A directory that is there already.
    pub(crate) fn at(dir: &Path) -> Self {
        Self {
            dir: dir.to_path_buf(),
            clock: Arc::new(ManualClock::new(TimestampMs(NOW))),
            settings: Vec::new(),
            broker: Vec::new(),
            root: None,
        }
    }

    /// With a topic key for `t`.
    #[must_use]
    pub(crate) fn set(self, key: &str, value: impl ToString) -> Self {
        self.set_for("t", key, value)
    }

    #[must_use]
    pub(crate) fn set_for(mut self, topic: &str, key: &str, value: impl ToString) -> Self {
        self.settings
            .push((topic.to_owned(), key.to_owned(), value.to_string()));
        self
    }

    /// With a broker key.
    #[must_use]
    pub(crate) fn set_broker(mut self, key: &str, value: impl ToString) -> Self {
        self.broker.push((key.to_owned(), value.to_string()));
        self
    }

    /// An independent copy of the directory, with the same configuration.
    pub(crate) fn copied(&self) -> Self {
        let mut copy = Self::new();
        tree::copy(&self.dir, &copy.dir);
        copy.settings.clone_from(&self.settings);
        copy.broker.clone_from(&self.broker);
        copy
    }

    pub(crate) fn config(&self) -> Arc<Resolved> {
        let mut set = ConfigSet::broker();
        for (key, value) in &self.broker {
            set.set(key, value).unwrap();
        }
        for (topic, key, value) in &self.settings {
            set.set_topic(topic, key, value).unwrap();
        }
        Arc::new(set.resolve().unwrap())
    }

    pub(crate) fn open(&self) -> Manager {
        self.try_open().unwrap()
    }

    pub(crate) fn try_open(&self) -> Result<Manager, Error> {
        Manager::open(self.options())
    }

    /// A manager that only reads, whoever owns the directory.
    pub(crate) fn follow(&self) -> Manager {
        Manager::open(ManagerOptions {
            access: Access::ReadOnly,
            ..self.options()
        })
        .unwrap()
    }

    pub(crate) fn options(&self) -> ManagerOptions {
        ManagerOptions {
            dirs: vec![self.dir.clone()],
            missing_dir: MissingDir::Refuse,
            access: Access::Own,
            config: self.config(),
            fs: Arc::new(RealFs),
            clock: Arc::clone(&self.clock) as Arc<dyn klog::io::Clock>,
            recovery_threads: Some(1),
            broker_epoch: -1,
            high_watermarks: klog::manager::HighWatermarks::FollowEnd,
            progress: None,
        }
    }

    /// Opens as after a crash: without the marker, with this recovery point of `t-0`.
    pub(crate) fn open_unclean(&self, recovery_point: i64) -> Manager {
        self.forget_marker();
        self.checkpoint("recovery-point-offset-checkpoint", recovery_point);
        self.open()
    }

    /// What a crash leaves: no clean-shutdown marker.
    pub(crate) fn forget_marker(&self) {
        let _ = fs::remove_file(self.dir.join(CLEAN_MARKER));
    }

    pub(crate) fn is_clean(&self) -> bool {
        self.dir.join(CLEAN_MARKER).exists()
    }

    /// Writes a checkpoint file with one entry, that of `t-0`.
    pub(crate) fn checkpoint(&self, file: &str, offset: i64) {
        fs::write(self.dir.join(file), format!("0\n1\nt 0 {offset}\n")).unwrap();
    }

    /// The checkpointed log start of `t-0`.
    pub(crate) fn start_checkpoint(&self, offset: i64) {
        self.checkpoint("log-start-offset-checkpoint", offset);
    }

    /// A path in the directory of `t-0`; a name that begins with an offset and a dot gets its 20 digits.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.join("t-0").join(file_name(name))
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).unwrap();
    }

    /// Adds bytes to the end of a file.
    pub(crate) fn extend(&self, name: &str, bytes: &[u8]) {
        let mut content = self.read(name);
        content.extend_from_slice(bytes);
        self.write(name, content);
    }

    pub(crate) fn cut(&self, name: &str, len: usize) {
        let content = self.read(name);
        self.write(name, &content[..len]);
    }

    /// Flips the lowest bit of a byte.
    pub(crate) fn flip(&self, name: &str, at: usize) {
        let mut content = self.read(name);
        content[at] ^= 1;
        self.write(name, content);
    }

    pub(crate) fn remove(&self, name: &str) {
        fs::remove_file(self.path(name)).unwrap();
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    /// The names in the directory of `t-0` with short numbers, those that wait for their removal apart.
    pub(crate) fn files(&self) -> Vec<String> {
        self.names()
            .into_iter()
            .filter(|name| !name.ends_with(".deleted"))
            .collect()
    }

    pub(crate) fn retired_files(&self) -> Vec<String> {
        self.names()
            .into_iter()
            .filter(|name| name.ends_with(".deleted"))
            .collect()
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.dir.join("t-0"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names.iter().map(|name| short_name(name)).collect()
    }

    /// The files of one segment kind or state, such as `.log`: bases and sizes.
    pub(crate) fn sizes(&self, ending: &str) -> Vec<(i64, u64)> {
        self.names()
            .into_iter()
            .filter_map(|name| {
                let base = name.strip_suffix(ending)?.parse().ok()?;
                Some((base, fs::metadata(self.path(&name)).unwrap().len()))
            })
            .collect()
    }

    /// The canonical text of `t-0` as a load would leave it.
    pub(crate) fn dump(&self) -> LogLines {
        Text::parse(&self.dump_all()).log("t-0").clone()
    }

    pub(crate) fn dump_all(&self) -> String {
        let fs: Arc<dyn FileSystem> = Arc::new(RealFs);
        let mut out = Vec::new();
        let options = DumpOptions {
            only: None,
            config: self.config(),
            now: TimestampMs(0),
        };
        dump(&fs, &self.dir, &options, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }
}

/// `0.log` for `00000000000000000000.log`.
fn short_name(name: &str) -> String {
    match name.split_once('.') {
        Some((digits, rest))
            if digits.len() == 20 && digits.bytes().all(|b| b.is_ascii_digit()) =>
        {
            format!("{}.{rest}", digits.parse::<i64>().unwrap())
        }
        _ => name.to_owned(),
    }
}

fn file_name(name: &str) -> String {
    match name.split_once('.') {
        Some((digits, rest)) if digits.parse::<u64>().is_ok() && digits.len() < 20 => {
            format!("{digits:0>20}.{rest}")
        }
        _ => name.to_owned(),
    }
}

/// The log `t-0`, made if need be.
pub(crate) fn t0(manager: &Manager) -> Arc<Log> {
    log(manager, "t-0")
}

pub(crate) fn log(manager: &Manager, partition: &str) -> Arc<Log> {
    manager
        .get_or_create_log(
            &parse_topic_partition(partition).unwrap(),
            &CreateOptions::default(),
        )
        .unwrap()
}

/// A record as the tests write it down.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rec {
    pub(crate) ts: i64,
    pub(crate) key: Option<Vec<u8>>,
    pub(crate) value: Option<Vec<u8>>,
    pub(crate) headers: Vec<(String, Option<Vec<u8>>)>,
}

/// A record with a time, a key and a value.
pub(crate) fn rec(ts: i64, key: &str, value: &str) -> Rec {
    Rec {
        ts,
        key: Some(key.into()),
        value: Some(value.into()),
        headers: Vec::new(),
    }
}

impl Rec {
    pub(crate) fn push_to(&self, builder: &mut BatchBuilder) {
        let headers: Vec<Header<'_>> = self
            .headers
            .iter()
            .map(|(key, value)| Header {
                key: key.as_bytes(),
                value: value.as_deref(),
            })
            .collect();
        let (key, value) = (self.key.as_deref(), self.value.as_deref());
        builder
            .push(TimestampMs(self.ts), key, value, headers.iter().copied())
            .unwrap();
    }
}

pub(crate) fn builder(records: &[Rec]) -> BatchBuilder {
    let mut builder = BatchBuilder::new();
    for record in records {
        record.push_to(&mut builder);
    }
    builder
}

/// One batch with these records and settings, ready to lie in a file.
pub(crate) fn batch(records: &[Rec], options: &BatchOptions) -> Vec<u8> {
    builder(records).finish(options).unwrap().to_vec()
}

/// `v2@o{a=1,b=2}`: one uncompressed batch of leader epoch 0 at base offset `o`.
pub(crate) fn v2(base: i64, pairs: &[(&str, &str)]) -> Vec<u8> {
    let records: Vec<Rec> = pairs
        .iter()
        .map(|(key, value)| rec(NOW, key, value))
        .collect();
    let options = BatchOptions {
        base_offset: Offset(base),
        leader_epoch: LeaderEpoch(0),
        ..BatchOptions::default()
    };
    batch(&records, &options)
}

/// The batch of log.md 14: five records of 2-byte keys and values, 116 bytes, the last record with `max`.
pub(crate) fn five(max: i64) -> Vec<Rec> {
    (0..5)
        .map(|i| rec(max, &format!("k{i}"), &format!("v{i}")))
        .collect()
}

/// Appends records as one batch with leader epoch 0.
pub(crate) fn append(log: &Log, records: &[Rec]) -> AppendResult {
    append_in_epoch(log, records, 0)
}

pub(crate) fn append_in_epoch(log: &Log, records: &[Rec], epoch: i32) -> AppendResult {
    let options = AppendOptions {
        leader_epoch: Some(LeaderEpoch(epoch)),
        ..AppendOptions::default()
    };
    log.append(&mut builder(records), &options).unwrap()
}

/// `fill(n)`: n appends, each a batch of one record of key `k<i>` and value `v<i>`: 72 bytes while `i` has one digit.
pub(crate) fn fill(log: &Log, n: i64) {
    let from = log.end_offset().0;
    for i in from..from + n {
        append(log, &[rec(NOW + i, &format!("k{i}"), &format!("v{i}"))]);
    }
}

/// Reads whole batches from `start` on, as many as fit `max_bytes`, one at least.
pub(crate) fn read(
    log: &Log,
    start: i64,
    max_bytes: usize,
) -> Result<(ReadResult, Vec<u8>), Error> {
    let mut buffer = vec![0; 1 << 20];
    let options = ReadOptions {
        max_bytes,
        first_batch: FirstBatch::Always,
        ..ReadOptions::default()
    };
    let result = log.read(Offset(start), &mut buffer, &options)?;
    buffer.truncate(result.bytes);
    Ok((result, buffer))
}

/// What a cursor gives from `start` to the end of the log: offset, key and value of each record, or the error of a batch.
pub(crate) fn scan(log: &Arc<Log>, start: i64) -> Vec<Result<(i64, String, String), Error>> {
    let mut cursor = log.cursor(Offset(start), CursorOptions::default());
    let mut found = Vec::new();
    loop {
        match step(&mut cursor) {
            Ok(records) if records.is_empty() => return found,
            Ok(records) => found.extend(records.into_iter().map(Ok)),
            Err(error) => found.push(Err(error)),
        }
    }
}

fn step(cursor: &mut Cursor) -> Result<Vec<(i64, String, String)>, Error> {
    let text =
        |bytes: Option<&[u8]>| String::from_utf8_lossy(bytes.unwrap_or(b"null")).into_owned();
    let records = cursor.next_records(1000)?;
    Ok(records
        .iter()
        .map(|r| (r.offset.0, text(r.key), text(r.value)))
        .collect())
}

/// Offsets of all records that a cursor gives; each must be good.
pub(crate) fn offsets(log: &Arc<Log>, start: i64) -> Vec<i64> {
    scan(log, start)
        .into_iter()
        .map(|record| record.unwrap().0)
        .collect()
}

/// Bases and sizes of the segments.
pub(crate) fn segments(log: &Log) -> Vec<(i64, u64)> {
    log.segment_list()
        .iter()
        .map(|s| (s.base_offset().0, s.size_bytes()))
        .collect()
}

/// Leader epochs and where they begin.
pub(crate) fn epochs(log: &Log) -> Vec<(i32, i64)> {
    log.epochs()
        .iter()
        .map(|e| (e.epoch.0, e.start_offset.0))
        .collect()
}
