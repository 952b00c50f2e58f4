//! A log to be cleaned, in the notation of cleaner.md 12: `a:1` is a record, `a:-` a tombstone, `null:1` has no key.

use std::sync::Arc;

use klog::cleaner::examine::{Active, examine};
use klog::cleaner::pass::{PassOptions, Surroundings, clean};
use klog::cleaner::stats::Cleaned;
use klog::cleaner::watch::Watch;
use klog::error::Error;
use klog::format::batch::Batch;
use klog::format::builder::{BatchBuilder, BatchOptions};
use klog::format::codec::Codec;
use klog::format::control;
use klog::format::decoder::RecordDecoder;
use klog::format::names::SegmentFileKind;
use klog::format::record::Record;
use klog::log::{AppendOptions, Log, Origin};
use klog::manager::Manager;
use klog::segment::{BatchScan, Segment};
use klog::types::{LeaderEpoch, Offset, ProducerId, TimestampMs};

use crate::support::engine::{Home, t0};

/// The time of records that do not say another one.
pub(crate) const TS: i64 = 1_000_000;
/// The time of the first pass.
pub(crate) const NOW: i64 = 2_000_000;

/// A log, how it is cleaned, and where it is dirty from.
pub(crate) struct Bench {
    pub(crate) home: Home,
    pub(crate) manager: Manager,
    pub(crate) log: Arc<Log>,
    pub(crate) slots: u64,
    pub(crate) load_factor: f64,
    pub(crate) first_dirty: i64,
    pub(crate) segment_bytes_max: u64,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::with(&[])
    }

    /// With other topic keys than cleaner.md 12 has.
    pub(crate) fn with(keys: &[(&str, i64)]) -> Self {
        let mut home = Home::new().set("cleanup.policy", "compact");
        let all = [
            ("internal.segment.bytes", 1024),
            ("delete.retention.ms", 1000),
        ];
        for (key, value) in all.iter().chain(keys) {
            home = home.set(key, value);
        }
        let manager = home.open();
        let log = t0(&manager);
        Self {
            home,
            manager,
            log,
            slots: 100,
            load_factor: 0.75,
            first_dirty: 0,
            segment_bytes_max: u64::from(klog::types::MAX_RELATIVE_OFFSET),
        }
    }

    /// Loads the log again, as it was closed.
    pub(crate) fn reopen(&mut self) {
        self.manager.close().unwrap();
        self.load();
    }

    pub(crate) fn load(&mut self) {
        self.manager = self.home.open();
        self.log = t0(&self.manager);
    }

    pub(crate) fn raw(&self, bytes: &[u8]) {
        let options = AppendOptions {
            origin: Origin::Replication,
            leader_epoch: Some(LeaderEpoch(0)),
            ..AppendOptions::default()
        };
        self.log.append_batches(bytes, &options).unwrap();
    }

    pub(crate) fn batch(&self, records: &str, options: &BatchOptions) {
        let base = options.base_offset.max(self.log.end_offset());
        let options = BatchOptions {
            base_offset: base,
            leader_epoch: LeaderEpoch(0),
            ..*options
        };
        self.raw(&build(records, &options, None));
    }

    pub(crate) fn plain(&self, records: &str) {
        self.batch(records, &BatchOptions::default());
    }

    /// At an offset above the log end.
    pub(crate) fn plain_at(&self, offset: i64, records: &str) {
        let base_offset = Offset(offset);
        self.batch(
            records,
            &BatchOptions {
                base_offset,
                ..BatchOptions::default()
            },
        );
    }

    pub(crate) fn packed(&self, codec: Codec, records: &str) {
        self.batch(
            records,
            &BatchOptions {
                codec,
                ..BatchOptions::default()
            },
        );
    }

    /// Of an idempotent producer.
    pub(crate) fn idem(&self, id: i64, sequence: i32, records: &str) {
        self.batch(records, &of(id, sequence, false));
    }

    /// In a transaction.
    pub(crate) fn txn(&self, id: i64, sequence: i32, records: &str) {
        self.batch(records, &of(id, sequence, true));
    }

    pub(crate) fn commit(&self, id: i64) {
        self.marker(id, true, 0);
    }

    pub(crate) fn abort(&self, id: i64) {
        self.marker(id, false, 0);
    }

    pub(crate) fn marker(&self, id: i64, commit: bool, epoch: i16) {
        let options = BatchOptions {
            base_offset: self.log.end_offset(),
            leader_epoch: LeaderEpoch(0),
            producer_epoch: epoch,
            ..of(id, -1, true)
        };
        let mut builder = BatchBuilder::new();
        let time = TimestampMs(TS);
        let bytes = control::write_end_marker(&mut builder, commit, 0, time, &options).unwrap();
        self.raw(bytes);
    }

    pub(crate) fn roll(&self) {
        self.log.roll().unwrap();
    }

    /// Forgets all producers.
    pub(crate) fn expire(&self) {
        self.log.expire_producers().unwrap();
        assert!(self.log.producers().is_empty());
    }

    /// Sets the modification time of a segment.
    pub(crate) fn modified(&self, base: i64, time: i64) {
        let segments = self.log.segments();
        let segment = segments.floor(Offset(base)).unwrap();
        segment
            .set_modified(SegmentFileKind::Log, TimestampMs(time))
            .unwrap();
    }

    /// One pass from where the last one ended.
    pub(crate) fn pass(&mut self, now: i64) -> Cleaned {
        let cleaned = self.try_pass(now).unwrap();
        self.first_dirty = cleaned.end.0;
        cleaned
    }

    /// One pass over the whole log.
    pub(crate) fn again(&mut self, now: i64) -> Cleaned {
        self.first_dirty = 0;
        self.pass(now)
    }

    pub(crate) fn try_pass(&self, now: i64) -> Result<Cleaned, Error> {
        let now = TimestampMs(now);
        let examined = examine(
            &self.log,
            Some(Offset(self.first_dirty)),
            Active::AsItIs,
            now,
        )?;
        let options = PassOptions {
            load_factor: self.load_factor,
            segment_bytes_max: self.segment_bytes_max,
            ..PassOptions::new(now, self.slots * 24)
        };
        let watch = Watch::default();
        clean(&self.log, &examined, &options, Surroundings::new(&watch))
    }

    /// The segments but the active one: `{0: ...} {7: ...}`.
    pub(crate) fn shape(&self) -> String {
        let segments = self.log.segments();
        let all: Vec<String> = segments
            .iter()
            .take(segments.len() - 1)
            .map(|segment| {
                let batches = batches(segment);
                let space = if batches.is_empty() { "" } else { " " };
                format!("{{{}:{space}{}}}", segment.base_offset(), batches.join(" "))
            })
            .collect();
        all.join(" ")
    }

    /// Sizes of the batches of all segments but the active one.
    pub(crate) fn sizes(&self) -> Vec<u32> {
        let segments = self.log.segments();
        let mut sizes = Vec::new();
        for segment in segments.iter().take(segments.len() - 1) {
            let mut scan = BatchScan::new(Arc::clone(segment.file()), 0..segment.size_bytes());
            while let Some(scanned) = scan.next_batch().unwrap() {
                sizes.push(scanned.header.size_bytes);
            }
        }
        sizes
    }

    /// Entries of the transaction indexes: base of the segment, producer, first and last offset, last stable offset.
    pub(crate) fn aborted(&self) -> Vec<(i64, i64, i64, i64, i64)> {
        let mut found = Vec::new();
        for segment in self.log.segments().iter() {
            for txn in segment.aborted_txns().unwrap().iter() {
                found.push((
                    segment.base_offset().0,
                    txn.producer_id.0,
                    txn.first_offset.0,
                    txn.last_offset.0,
                    txn.last_stable_offset.0,
                ));
            }
        }
        found
    }
}

pub(crate) fn of(id: i64, sequence: i32, transactional: bool) -> BatchOptions {
    BatchOptions {
        producer_id: ProducerId(id),
        producer_epoch: 0,
        base_sequence: sequence,
        transactional,
        ..BatchOptions::default()
    }
}

/// Key, value and time of `a:1` or `a:1@1000`.
pub(crate) fn parse(record: &str) -> (Option<&str>, Option<&str>, i64) {
    let (pair, ts) = match record.split_once('@') {
        Some((pair, ts)) => (pair, ts.parse().unwrap()),
        None => (record, TS),
    };
    let (key, value) = pair.split_once(':').unwrap();
    (
        Some(key).filter(|&key| key != "null"),
        Some(value).filter(|&value| value != "-"),
        ts,
    )
}

pub(crate) fn build(records: &str, options: &BatchOptions, horizon: Option<i64>) -> Vec<u8> {
    let mut builder = BatchBuilder::new();
    if let Some(horizon) = horizon {
        builder.set_delete_horizon(TimestampMs(horizon));
    }
    for record in records.split_whitespace() {
        let (key, value, ts) = parse(record);
        let (key, value) = (key.map(str::as_bytes), value.map(str::as_bytes));
        builder
            .push(TimestampMs(ts), key, value, [].into_iter())
            .unwrap();
    }
    builder.finish(options).unwrap().to_vec()
}

fn batches(segment: &Arc<Segment>) -> Vec<String> {
    let mut scan = BatchScan::new(Arc::clone(segment.file()), 0..segment.size_bytes());
    let mut found = Vec::new();
    while let Some(scanned) = scan.next_batch().unwrap() {
        let batch = scan.bytes_of(&scanned).unwrap();
        batch.ensure_valid().unwrap();
        found.push(describe(&batch));
    }
    found
}

/// `T P(7,0,0) gzip [0..1| 0=a:1 1=b:1] DH=5`; a marker is `ABORT P(7)` or `COMMIT P(7)`.
pub(crate) fn describe(batch: &Batch<'_>) -> String {
    let header = batch.header();
    let mut decoder = RecordDecoder::new();
    decoder.begin(batch).unwrap();
    let mut records = Vec::new();
    let mut marker = None;
    while let Some(record) = decoder.next(batch).unwrap() {
        if header.attributes.is_control() {
            let key = control::parse_key(record.key).unwrap();
            marker = Some(match key.control_type {
                control::ABORT => "ABORT",
                control::COMMIT => "COMMIT",
                _ => "CONTROL",
            });
        } else {
            records.push(text_of(&record));
        }
    }
    let mut text = String::new();
    if header.magic != 2 {
        text += &format!("m{} ", header.magic);
    }
    let id = header.producer_id;
    match marker {
        Some(marker) => text += &format!("{marker} P({id}) "),
        None if header.has_producer_id() => {
            let transactional = if header.attributes.is_transactional() {
                "T "
            } else {
                ""
            };
            let control = if header.attributes.is_control() {
                "C "
            } else {
                ""
            };
            let sequence = header.base_sequence;
            text += &format!("{control}{transactional}P({id},{sequence}) ");
        }
        None => {}
    }
    let codec = header.attributes.codec().unwrap();
    if codec != Codec::None {
        text += &format!("{} ", codec.name());
    }
    let (base, last) = (header.base_offset, header.last_offset);
    text += &match (marker, records.is_empty()) {
        (Some(_), _) => format!("[{base}]"),
        (None, true) => format!("n0 [{base}..{last}]"),
        (None, false) => format!("[{base}..{last}| {}]", records.join(" ")),
    };
    if let Some(horizon) = header.delete_horizon() {
        text += &format!(" DH={horizon}");
    }
    text
}

fn text_of(record: &Record<'_>) -> String {
    let text = |bytes: Option<&[u8]>, none: &str| {
        bytes.map_or(none.to_owned(), |b| String::from_utf8_lossy(b).into_owned())
    };
    let ts = if record.timestamp.0 == TS {
        String::new()
    } else {
        format!("@{}", record.timestamp)
    };
    format!(
        "{}={}:{}{ts}",
        record.offset,
        text(record.key, "null"),
        text(record.value, "-")
    )
}
