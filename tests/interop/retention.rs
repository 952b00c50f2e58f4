//! Retention by Kafka and by klog of the same log: the same segments remain.

use std::sync::Arc;

use klog::error::ErrorKind;
use klog::format::builder::BatchOptions;
use klog::log::{AppendOptions, Log, Origin};
use klog::manager::{Manager, Pass};
use klog::types::{LeaderEpoch, Offset, TimestampMs};

use crate::kafka::{KafkaLog, Opening, field, number_of};
use crate::support::engine::{Home, NOW, batch, rec, segments, t0};
use crate::support::random::Random;
use crate::support::tree;

const SEEDS: u64 = 200;

/// How often each thing happened; none of it may be missing.
#[derive(Debug, Default)]
struct Seen {
    deleted: usize,
    all_deleted: usize,
    kept_by_watermark: usize,
    below_start: usize,
    by_start_alone: usize,
}

fn settings(random: &mut Random) -> Vec<(&'static str, String)> {
    let policies = ["delete", "delete", "delete", "compact,delete", "compact"];
    let mut settings = vec![
        ("internal.segment.bytes", "1000000".to_owned()),
        (
            "retention.bytes",
            random.pick(&[-1, 0, 150, 400, 1000]).to_string(),
        ),
        (
            "retention.ms",
            random.pick(&[-1, 0, 500, 5000, 100_000]).to_string(),
        ),
        ("cleanup.policy", (*random.pick(&policies)).to_owned()),
        ("message.timestamp.after.max.ms", i64::MAX.to_string()),
    ];
    if random.once_in(3) {
        settings.push(("index.interval.bytes", "0".to_owned()));
    }
    settings
}

/// One log on both sides.
struct Pair {
    home: Home,
    manager: Manager,
    log: Arc<Log>,
    kafka: KafkaLog,
    now: i64,
    _dir: tempfile::TempDir,
}

impl Pair {
    fn new(random: &mut Random) -> Self {
        let settings = settings(random);
        let home = settings
            .iter()
            .fold(Home::new(), |home, (key, value)| home.set(key, value));
        let manager = home.open();
        let log = t0(&manager);
        log.leave_high_watermark_to_caller().unwrap();
        let dir = tree::scratch();
        let opening = Opening {
            clean: true,
            recovery_point: 0,
            start: 0,
            now: NOW,
            settings: &settings,
        };
        let kafka = KafkaLog::open(dir.path(), "t-0", &opening);
        Self {
            home,
            manager,
            log,
            kafka,
            now: NOW,
            _dir: dir,
        }
    }

    fn append(&self, random: &mut Random) {
        let ages = [0, 400, 600, 4000, 6000, 90_000, -3000];
        let ts = if random.once_in(12) {
            -1
        } else {
            self.now - random.pick(&ages)
        };
        let n = random.below(4) + 1;
        let records: Vec<_> = (0..n).map(|_| rec(ts, "key", "some value")).collect();
        let mut bytes = batch(&records, &BatchOptions::default());
        klog::format::batch::stamp(&mut bytes, self.log.end_offset(), LeaderEpoch(0));
        let options = AppendOptions {
            origin: Origin::Replication,
            ..AppendOptions::default()
        };
        self.log.append_batches(&bytes, &options).unwrap();
        self.kafka.follow(0, &bytes);
    }

    fn step(&mut self, random: &mut Random) {
        let end = self.log.end_offset().0;
        match random.below(10) {
            0..=4 => self.append(random),
            5..=6 => {
                self.log.roll().unwrap();
                self.kafka.roll();
            }
            7 => {
                let hw = if random.once_in(4) {
                    random.between(0, end + 1)
                } else {
                    end
                };
                let by_klog = self.log.set_high_watermark(Offset(hw)).unwrap().0;
                assert_eq!(self.kafka.set_high_watermark(hw), by_klog);
            }
            8 => {
                let to = random.between(0, end + 2);
                let by_kafka = self.kafka.delete_records(to);
                match self.log.delete_records(Offset(to)) {
                    Ok(_) => assert!(by_kafka.is_ok(), "{by_kafka:?}"),
                    Err(e) => {
                        assert_eq!(e.kind(), ErrorKind::OffsetOutOfRange);
                        assert!(by_kafka.is_err(), "{by_kafka:?}");
                    }
                }
            }
            _ => {
                self.now += random.between(0, 4000);
                self.home.clock.set(TimestampMs(self.now));
                self.kafka.set_now(self.now);
            }
        }
    }

    fn retain(&self, seen: &mut Seen, place: &str) {
        let log = &self.log;
        let before = segments(log).len();
        let done = self.manager.retain(log, Pass::Apply).unwrap();
        let by_kafka = self.kafka.retain();
        assert_eq!(done.deleted.segments as i64, by_kafka, "{place}");
        let info = self.kafka.info();
        let list: Vec<String> = segments(log)
            .iter()
            .map(|(base, size)| format!("{base}:{size}"))
            .collect();
        assert_eq!(list.join(","), field(&info, "segments"), "{place}");
        assert_eq!(log.start_offset().0, number_of(&info, "start"), "{place}");
        assert_eq!(log.end_offset().0, number_of(&info, "end"), "{place}");
        seen.deleted += done.deleted.segments;
        seen.all_deleted += usize::from(done.deleted.segments == before);
        seen.kept_by_watermark += usize::from(log.high_watermark() < log.end_offset());
        seen.below_start += usize::from(log.start_offset().0 > segments(log)[0].0);
        let by_start = !log.config().cleanup_policy.delete && done.deleted.segments > 0;
        seen.by_start_alone += usize::from(by_start);
    }
}

fn run(seed: u64, seen: &mut Seen) {
    let mut random = Random::new(seed);
    let mut pair = Pair::new(&mut random);
    for step in 0..40 {
        pair.step(&mut random);
        if step % 4 == 3 {
            pair.retain(seen, &format!("seed {seed}, step {step}"));
        }
    }
    pair.kafka.close();
    pair.manager.abandon();
}

#[test]
fn the_same_segments_remain() {
    let count = std::env::var("KLOG_SEEDS").map_or(SEEDS, |n| n.parse().unwrap());
    let mut random = Random::from_env("retention::the_same_segments_remain");
    let mut seen = Seen::default();
    for _ in 0..count {
        run(random.u64(), &mut seen);
    }
    println!("{seen:?}");
    let Seen {
        deleted,
        all_deleted,
        kept_by_watermark,
        below_start,
        by_start_alone,
    } = seen;
    assert!(deleted > 500 && all_deleted > 20 && kept_by_watermark > 100);
    assert!(below_start > 50 && by_start_alone > 5);
}
