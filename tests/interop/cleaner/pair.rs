//! One log on both sides, and the comparison after each pass.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use klog::cleaner::examine::{Active, examine};
use klog::cleaner::filter::Fate;
use klog::cleaner::pass::{PassOptions, Surroundings, clean};
use klog::cleaner::stats::Cleaned;
use klog::cleaner::watch::Watch;
use klog::inspect::log_text;
use klog::io::RealFs;
use klog::log::{AppendOptions, Log, Origin};
use klog::manager::Manager;
use klog::types::{LeaderEpoch, Offset, TimestampMs};

use super::coverage::Coverage;
use super::stream::{Kind, Piece, Stream};
use crate::kafka::{KafkaLog, Opening};
use crate::support::canonical::difference;
use crate::support::canonical::{LogLines, Text};
use crate::support::cleaned::without_sizes;
use crate::support::engine::{Home, NOW, t0};
use crate::support::random::Random;
use crate::support::tree;

const DAY_MS: i64 = 86_400_000;

/// Kafka cannot clean this log any more, so there is nothing to compare with.
const GIVEN_UP: &str = "given up";

/// How a log is cleaned.
#[derive(Clone, Debug)]
struct Settings {
    kind: Kind,
    pairs: Vec<(&'static str, String)>,
    delete_retention_ms: i64,
    load_factor: f64,
    slots: i64,
}

impl Settings {
    fn any(random: &mut Random, seed: u64) -> Self {
        let kind = match seed % 5 {
            0..=2 => Kind::Plain,
            3 => Kind::Compressed,
            _ => Kind::Legacy,
        };
        let delete_retention_ms = *random.pick(&[0, 1000, 1000, DAY_MS]);
        // Sizes that a compressor has a hand in must not decide about groups.
        let segment_bytes = if kind == Kind::Plain {
            *random.pick(&[700, 1500, 5000, 1 << 20])
        } else {
            1 << 20
        };
        let index_bytes = if kind == Kind::Plain {
            *random.pick(&[96, 400, 1 << 20])
        } else {
            1 << 20
        };
        let min_lag_ms = *random.pick(&[0, 0, 0, 300]);
        let pairs = vec![
            ("cleanup.policy", "compact".to_owned()),
            ("internal.segment.bytes", segment_bytes.to_string()),
            ("segment.index.bytes", index_bytes.to_string()),
            (
                "index.interval.bytes",
                random.pick(&[1, 150, 4096]).to_string(),
            ),
            ("delete.retention.ms", delete_retention_ms.to_string()),
            ("min.compaction.lag.ms", min_lag_ms.to_string()),
        ];
        Self {
            kind,
            pairs,
            delete_retention_ms,
            load_factor: *random.pick(&[0.75, 0.9, 1.0]),
            slots: *random.pick(&[3, 5, 8, 30, 1000]),
        }
    }
}

/// A log that both have.
struct Pair<'c> {
    settings: Settings,
    kafka: KafkaLog,
    kafka_dir: std::path::PathBuf,
    home: Home,
    manager: Manager,
    log: Arc<Log>,
    now: i64,
    /// Where batches begin, and the end.
    bases: Vec<i64>,
    coverage: &'c mut Coverage,
    _root: tempfile::TempDir,
}

pub(super) fn run(seed: u64, coverage: &mut Coverage) -> Result<(), String> {
    let mut random = Random::new(seed);
    let settings = Settings::any(&mut random, seed);
    coverage.count(
        match settings.kind {
            Kind::Plain => "log: plain",
            Kind::Compressed => "log: compressed",
            Kind::Legacy => "log: legacy",
        },
        1,
    );
    let story = format!("{settings:?}");
    let mut stream = Stream::new(&mut random, settings.kind);
    let mut pair = Pair::new(settings, coverage);
    let mut checkpoint: Option<i64> = None;
    for round in 0..5 {
        let pieces = if round == 0 { 60 } else { 5 + random.below(25) };
        for _ in 0..pieces {
            let piece = stream.next(&mut random);
            pair.follow(&piece);
            if random.once_in(8) {
                pair.roll();
            }
        }
        if random.once_in(4) {
            // Something that would go, but for being the last below the high watermark.
            pair.follow(&stream.keyless());
            pair.roll();
        }
        pair.high_watermark(&mut random);
        if random.once_in(6) {
            pair.restart();
        }
        for _ in 0..=random.below(3) {
            pair.step_clock(&mut random);
            // Now and then from somewhere else than the checkpoint: each offset must do.
            let from = match random.below(5) {
                0 => Some(random.between(-1, pair.log.end_offset().0 + 2)),
                1 => None,
                _ => checkpoint,
            };
            match pair.clean(from) {
                Ok(Some(end)) => checkpoint = Some(end),
                Ok(None) => {}
                Err(problem) if problem == GIVEN_UP => return Ok(()),
                Err(problem) => {
                    return Err(format!("round {round}, from {from:?}: {problem}\n{story}"));
                }
            }
        }
    }
    pair.end();
    Ok(())
}

impl<'c> Pair<'c> {
    fn new(settings: Settings, coverage: &'c mut Coverage) -> Self {
        let root = tree::scratch();
        let kafka_dir = root.path().join("kafka");
        fs::create_dir(&kafka_dir).unwrap();
        let mut home = Home::new();
        for (key, value) in &settings.pairs {
            home = home.set(key, value);
        }
        let manager = home.open();
        let log = t0(&manager);
        log.leave_high_watermark_to_caller().unwrap();
        let kafka = open_kafka(&kafka_dir, &settings, NOW, 0);
        Self {
            settings,
            kafka,
            kafka_dir,
            home,
            manager,
            log,
            now: NOW,
            bases: vec![0],
            coverage,
            _root: root,
        }
    }

    fn follow(&mut self, piece: &Piece) {
        self.kafka.follow(1, &piece.bytes);
        let options = AppendOptions {
            origin: Origin::Replication,
            leader_epoch: Some(LeaderEpoch(1)),
            ..AppendOptions::default()
        };
        self.log.append_batches(&piece.bytes, &options).unwrap();
        self.bases.pop();
        self.bases.push(piece.base);
        self.bases.push(self.log.end_offset().0);
    }

    fn roll(&mut self) {
        self.kafka.roll();
        self.log.roll().unwrap();
    }

    /// To where a batch begins, or the end: elsewhere Kafka moves it (deviations.md D23).
    fn high_watermark(&mut self, random: &mut Random) {
        let end = *self.bases.last().unwrap();
        let near = self.bases.len() - 1 - random.below(self.bases.len().min(12));
        let to = if random.once_in(2) {
            end
        } else {
            self.bases[near]
        };
        let to = to.max(self.log.high_watermark().0);
        let kafka = self.kafka.set_high_watermark(to);
        let klog = self.log.set_high_watermark(Offset(to)).unwrap().0;
        assert_eq!(klog, kafka);
    }

    fn step_clock(&mut self, random: &mut Random) {
        let retention = self.settings.delete_retention_ms;
        let step = *random.pick(&[0, 1, 200, retention, retention + 1]);
        self.now += step;
        if random.once_in(12) {
            self.now += DAY_MS + 1;
        }
        self.kafka.set_now(self.now);
        self.home.clock.set(TimestampMs(self.now));
        if random.once_in(4) {
            let left = self.kafka.expire();
            let expired = self.log.expire_producers().unwrap();
            assert_eq!(self.log.producers().len() as i64, left);
            self.coverage.count_if("producers expired", expired > 0);
        }
    }

    /// Both close and load the log again; a snapshot knows less of a producer than memory.
    fn restart(&mut self) {
        let high_watermark = self.log.high_watermark().0;
        let kafka = std::mem::replace(&mut self.kafka, KafkaLog::none());
        kafka.close();
        self.manager.close().unwrap();
        let end = self.log.end_offset().0;
        self.kafka = open_kafka(&self.kafka_dir, &self.settings, self.now, end);
        self.manager = self.home.open();
        self.log = t0(&self.manager);
        self.log.leave_high_watermark_to_caller().unwrap();
        self.kafka.set_high_watermark(high_watermark);
        self.log.set_high_watermark(Offset(high_watermark)).unwrap();
        self.coverage.count("restarted", 1);
    }

    /// Real times of files that nothing cleaned yet would make tombstones of old formats depend on when the test runs.
    fn settle_times(&self) {
        for dir in [&self.kafka_dir, &self.home.dir] {
            for entry in fs::read_dir(dir.join("t-0")).unwrap() {
                let path = entry.unwrap().path();
                if path.extension() != Some("log".as_ref()) {
                    continue;
                }
                let base: i64 = path.file_stem().unwrap().to_str().unwrap().parse().unwrap();
                let modified = fs::metadata(&path).unwrap().modified().unwrap();
                let wanted = NOW / 1000 * 1000 + base * 37;
                let far = UNIX_EPOCH + Duration::from_millis((NOW + 30 * DAY_MS).cast_unsigned());
                if modified > far {
                    let time = UNIX_EPOCH + Duration::from_millis(wanted.cast_unsigned());
                    let file = fs::File::options().write(true).open(&path).unwrap();
                    file.set_modified(time).unwrap();
                }
            }
        }
    }

    /// One pass on both sides; the offset that is dirty from then on, if there was anything to clean.
    fn clean(&mut self, from: Option<i64>) -> Result<Option<i64>, String> {
        self.settle_times();
        let map_bytes = self.settings.slots * 24;
        let kafka = self.kafka.clean(from, map_bytes, self.settings.load_factor);
        let kafka = kafka.map_err(|error| {
            let lines = error.lines().filter(|line| !line.starts_with("warn "));
            lines
                .take(12)
                .map(|line| format!("{line}\n"))
                .collect::<String>()
        });
        let examined = examine(
            &self.log,
            from.map(Offset),
            Active::AsItIs,
            TimestampMs(self.now),
        )
        .unwrap();
        let dirty = examined.cleanable;
        let mut klog = format!(
            "first_dirty={} first_uncleanable={} clean_bytes={} cleanable_bytes={}\n",
            dirty.first_dirty, dirty.first_uncleanable, dirty.clean_bytes, dirty.cleanable_bytes
        );
        let before = self.log.segments().len();
        let mut end = None;
        if dirty.cleanable_bytes > 0 {
            let options = PassOptions {
                load_factor: self.settings.load_factor,
                ..PassOptions::new(TimestampMs(self.now), map_bytes.cast_unsigned())
            };
            let watch = Watch::default();
            let cleaned = clean(&self.log, &examined, &options, Surroundings::new(&watch))
                .map_err(|e| format!("klog: {e}; Kafka: {kafka:?}"))?;
            klog += &line_of(&cleaned);
            self.cover(&cleaned, dirty.first_uncleanable.0, before);
            end = Some(cleaned.end.0);
        } else {
            self.coverage.count("pass: nothing to clean", 1);
        }
        match kafka {
            Ok(kafka) => same_lines(&kafka, &klog, self.settings.kind)?,
            // Kafka gives the log up here: for a full index, which klog leaves as it is (D20), and for a message of an old
            // format of which an empty batch would have to stay (D82).
            Err(error)
                if error.contains("Empty batches are only supported")
                    || error.contains("to a full ") =>
            {
                self.coverage.count("Kafka gave up", 1);
                return Err(GIVEN_UP.to_owned());
            }
            Err(error) => return Err(format!("Kafka: {error}; klog: {klog}")),
        }
        self.compare()?;
        Ok(end)
    }

    fn cover(&mut self, cleaned: &Cleaned, first_uncleanable: i64, segments_before: usize) {
        let segments = self.log.segments();
        let active = segments.last().unwrap().base_offset().0;
        let is_full = cleaned.end.0 < first_uncleanable;
        let is_inside = segments.iter().all(|s| s.base_offset() != cleaned.end);
        let emptied = segments
            .iter()
            .any(|s| s.size_bytes() == 0 && s.base_offset().0 < active);
        let aborted: usize = segments
            .iter()
            .map(|s| s.aborted_txns().unwrap().len())
            .sum();
        let stable = self.log.last_stable_offset();
        let high_watermark = self.log.high_watermark();
        let coverage = &mut *self.coverage;
        coverage.count("pass", 1);
        coverage.stats(&cleaned.stats);
        coverage.count("pass: keys mapped", cleaned.stats.map_keys);
        coverage.count_if("pass: map full", is_full);
        coverage.count_if("pass: inside a segment", is_inside && is_full);
        coverage.count_if(
            "pass: several segments became one",
            segments.len() < segments_before,
        );
        coverage.count_if("pass: several groups", segments.len() > 2);
        coverage.count_if("pass: a segment became empty", emptied);
        let is_held = first_uncleanable < active;
        coverage.count_if(
            "pass: below an open transaction",
            is_held && stable < high_watermark,
        );
        coverage.count_if(
            "pass: below the high watermark",
            is_held && stable == high_watermark,
        );
        coverage.count("aborted transactions listed", aborted as u64);
    }

    /// The whole log as each has it.
    fn compare(&self) -> Result<(), String> {
        let kafka = self.kafka.text().log("t-0").clone();
        let klog = log_text(&RealFs, &self.log).unwrap();
        let klog = Text::parse(&klog).log("t-0").clone();
        let active = self.log.segments().last().unwrap().base_offset();
        let lines = |lines: &LogLines| -> LogLines {
            let kept = lines.0.iter().filter(|line| !is_left_out(line, active));
            if self.settings.kind == Kind::Plain {
                LogLines(kept.cloned().collect())
            } else {
                LogLines(kept.filter_map(|line| without_sizes(line)).collect())
            }
        };
        if let Some(difference) = difference(&lines(&kafka), &lines(&klog)) {
            return Err(difference);
        }
        if self.settings.kind == Kind::Plain {
            self.same_files()?;
        }
        Ok(())
    }

    /// The files of all segments but the active one, whose indexes klog keeps in memory.
    fn same_files(&self) -> Result<(), String> {
        let active = self.log.segments().last().unwrap().base_offset();
        let files = |dir: &Path| {
            let mut files = tree::content(&dir.join("t-0"));
            files.retain(|path, _| {
                let name = path.to_str().unwrap();
                let (base, ending) = name.split_once('.').unwrap_or((name, ""));
                let is_segment = ["log", "index", "timeindex", "txnindex"].contains(&ending);
                is_segment && base.parse().is_ok_and(|base: i64| base < active.0)
            });
            files
        };
        let times = |dir: &Path| -> Vec<_> {
            let logs = files(dir)
                .into_keys()
                .filter(|path| path.extension() == Some("log".as_ref()));
            logs.map(|path| {
                let metadata = fs::metadata(dir.join("t-0").join(&path)).unwrap();
                (path, metadata.modified().unwrap())
            })
            .collect()
        };
        let differ = tree::differences(&files(&self.kafka_dir), &files(&self.home.dir));
        if !differ.is_empty() {
            return Err(format!("Kafka's files are left, klog's right: {differ:?}"));
        }
        if times(&self.kafka_dir) != times(&self.home.dir) {
            return Err("the times of the segments differ".to_owned());
        }
        Ok(())
    }

    fn end(self) {
        self.kafka.close();
        self.manager.close().unwrap();
    }
}

fn open_kafka(dir: &Path, settings: &Settings, now: i64, recovery_point: i64) -> KafkaLog {
    KafkaLog::open(
        dir,
        "t-0",
        &Opening {
            clean: true,
            recovery_point,
            start: 0,
            now,
            settings: &settings.pairs,
        },
    )
}

/// What is not the cleaner's: the log line with its topic id, the files of the active segment's indexes and of snapshots, and
/// a last stable offset as Kafka tells it (deviations.md D23, D92).
fn is_left_out(line: &str, active: Offset) -> bool {
    let is_index = [".index", ".timeindex"].map(|end| format!("file {:020}{end}", active.0));
    line.starts_with("log ")
        || line.starts_with("lso ")
        || line.ends_with(".snapshot")
        || line == "file partition.metadata"
        || is_index.iter().any(|name| name == line)
}

fn line_of(cleaned: &Cleaned) -> String {
    let stats = &cleaned.stats;
    format!(
        "cleaned end={} read={} written={} bytes_read={} bytes_written={} invalid={}\n",
        cleaned.end,
        stats.read_records,
        stats.kept_records(),
        stats.read_bytes,
        stats.written_bytes,
        stats.records(Fate::DropNoKey)
    )
}

fn same_lines(kafka: &str, klog: &str, kind: Kind) -> Result<(), String> {
    let normal = |text: &str| -> Vec<String> {
        let lines = text.lines();
        if kind == Kind::Plain {
            lines.map(str::to_owned).collect()
        } else {
            lines.filter_map(without_sizes).collect()
        }
    };
    if normal(kafka) == normal(klog) {
        Ok(())
    } else {
        Err(format!("Kafka: {kafka}klog:  {klog}"))
    }
}
