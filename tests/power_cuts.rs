//! The durability contract (design.md 5) at every moment of random histories: the power is cut, or the process killed,
//! before each change of the simulated disk, and the directory opened again.
//!
//! After a cut everything is there that a flush or a synced append covered, and nothing but a prefix of what was
//! appended; after a kill everything that an append returned; after a clean close everything, and nothing is left to do.
//! A second crash comes while the first is recovered from, or right after, and what was seen once stays.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod crash;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crash::run::Seeds;
use crash::{Expected, Random, Record, T};
use klog::config::Resolved;
use klog::format::checkpoint::{self, RECOVERY_POINT_FILE};
use klog::format::codec::Codec;
use klog::format::uuid::Uuid;
use klog::inspect::{DumpOptions, dump};
use klog::io::{FileSystem, ManualClock, SimFs};
use klog::log::{AppendOptions, Log, WriteDurability};
use klog::manager::{CreateOptions, Manager};
use klog::types::{LeaderEpoch, Offset, TimestampMs};

/// How many histories `make test` runs.
const SEEDS: u64 = 1000;
/// At so many moments the power was cut then, at least.
const CUTS_MIN: u64 = 100_000;

#[test]
fn the_durability_contract_holds_at_every_moment() {
    let seeds = Seeds::from_env(SEEDS);
    let covered = Covered::default();
    seeds.run("power_cuts", |seed| {
        let mut history = History::new(seed);
        let outcome = history.run();
        covered.add(&history.covered);
        outcome.map_err(|problem| format!("{problem}\nhistory:\n  {}", history.told.join("\n  ")))
    });
    let [cuts, kills, second, clean] = covered.values();
    println!(
        "power_cuts: {} seeds, {cuts} moments of power cuts, {kills} of kills, {second} second crashes, {clean} clean closes",
        seeds.count()
    );
    if seeds.are_all_of(SEEDS) {
        assert!(cuts >= CUTS_MIN && kills >= CUTS_MIN / 4, "too little is covered");
        assert!(second >= CUTS_MIN && clean >= SEEDS, "too little is covered");
    }
}

/// How much was covered.
#[derive(Default)]
struct Covered {
    cuts: AtomicU64,
    kills: AtomicU64,
    second: AtomicU64,
    clean: AtomicU64,
}

impl Covered {
    fn values(&self) -> [u64; 4] {
        [&self.cuts, &self.kills, &self.second, &self.clean].map(|n| n.load(Ordering::SeqCst))
    }

    fn add(&self, other: &Self) {
        for (total, n) in [&self.cuts, &self.kills, &self.second, &self.clean].into_iter().zip(other.values())
        {
            total.fetch_add(n, Ordering::SeqCst);
        }
    }
}

fn count(n: &AtomicU64) {
    n.fetch_add(1, Ordering::SeqCst);
}

/// What is known of a log.
#[derive(Clone, Default)]
struct Model {
    topic: &'static str,
    records: Vec<Record>,
    /// So many are below a flush that returned.
    durable: usize,
    topic_id: Option<Uuid>,
}

/// One random history of a directory, with the checks at each of its moments.
struct History {
    random: Random,
    disk: SimFs,
    clock: Arc<ManualClock>,
    now: i64,
    config: Arc<Resolved>,
    manager: Option<Manager>,
    models: Vec<Model>,
    /// Whether the directory was closed in order.
    clean: bool,
    next_id: u64,
    told: Vec<String>,
    covered: Covered,
}

type Checked<T = ()> = Result<T, String>;

impl History {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed ^ 0x706f_7765_7200_0000);
        let config = random_config(&mut random);
        Self {
            told: vec![format!("config {:?}", config.1)],
            config: config.0,
            random,
            disk: SimFs::new(),
            clock: Arc::new(ManualClock::new(TimestampMs(T))),
            now: T,
            manager: None,
            models: Vec::new(),
            clean: false,
            next_id: 0,
            covered: Covered::default(),
        }
    }

    fn run(&mut self) -> Checked {
        self.step("open", Self::open)?;
        self.step("create a", |h| h.create("a"))?;
        for _ in 0..12 + self.random.below(8) {
            match self.random.below(32) {
                0..=9 => self.step("append", |h| h.append(WriteDurability::PageCache))?,
                10..=12 => self.step("append synced", |h| h.append(WriteDurability::Synced))?,
                13..=15 => self.step("roll", Self::roll)?,
                16..=18 => self.step("flush", Self::flush)?,
                19 => self.step("flush partly", Self::flush_partly)?,
                20..=22 => self.step("checkpoint", Self::checkpoint)?,
                23 => self.step("assign a topic id", Self::assign_topic_id)?,
                24..=25 => self.step("create b", |h| h.create("b"))?,
                26 => self.step("advance the clock", Self::advance)?,
                27..=28 => {
                    self.step("close", Self::close)?;
                    self.step("reopen", Self::open)?;
                }
                29 => {
                    self.kill();
                    self.step("open after a kill", Self::open)?;
                }
                _ => {
                    self.cut();
                    self.step("open after a power cut", Self::open)?;
                }
            }
        }
        self.step("close", Self::close)
    }

    /// Does one step and checks each moment of it.
    fn step(&mut self, name: &str, act: impl FnOnce(&mut Self) -> Checked<String>) -> Checked {
        let (before, was_clean) = (self.models.clone(), self.clean);
        self.disk.record_moments();
        let told = act(self).map_err(|problem| format!("{name}: {problem}"))?;
        self.told.push(format!("{name} {told}"));
        let moments = self.disk.take_moments();
        let last = moments.len() - 1;
        // The first moment is the last one of the step before.
        for (i, moment) in moments.iter().enumerate().skip(1) {
            let (from, clean) = if i == last { (&self.models, self.clean) } else { (&before, false) };
            let after_cut = self.expected(from, |model| model.durable);
            let after_kill = self.expected(from, |model| model.records.len());
            let cut_seed = self.random.next();
            let at = |what: &str| format!("moment {i} of {last} in step {}, {what}", self.told.len() - 1);
            count(&self.covered.cuts);
            let crash = Crash { history: self, clean, durable: &after_cut };
            crash
                .check(&moment.after_power_cut(cut_seed), &after_cut, cut_seed)
                .map_err(|problem| format!("{}: {problem}", at(&format!("power cut {cut_seed:#x}"))))?;
            if i == last || cut_seed.is_multiple_of(3) {
                count(&self.covered.kills);
                crash
                    .check(&moment.after_kill(), &after_kill, cut_seed)
                    .map_err(|problem| format!("{}: {problem}", at("kill")))?;
            }
        }
        let _ = was_clean;
        Ok(())
    }

    /// What must be there at a moment: at least what `from` promises, at most what there is now.
    fn expected(&self, from: &[Model], at_least: impl Fn(&Model) -> usize) -> Vec<Expected> {
        let all = self.models.iter().enumerate().map(|(i, now)| {
            let before = from.get(i);
            Expected {
                topic: now.topic.to_owned(),
                records: now.records.clone(),
                at_least: before.map_or(0, &at_least).min(now.records.len()),
                at_most: now.records.len(),
                exists: before.is_some(),
                topic_ids: vec![before.and_then(|model| model.topic_id), now.topic_id],
            }
        });
        all.collect()
    }

    fn manager(&self) -> &Manager {
        self.manager.as_ref().unwrap()
    }

    fn random_log(&mut self) -> (usize, Arc<Log>) {
        let i = self.random.below(self.models.len());
        (i, self.manager().log(&crash::partition(self.models[i].topic)).unwrap())
    }

    fn open(&mut self) -> Checked<String> {
        let manager = crash::open(&self.disk, &self.clock, &self.config).map_err(|e| format!("{e:?}"))?;
        if self.clean {
            crash::check_nothing_done(&manager)?;
        }
        // What a recovery found stays from now on, synced.
        let expected = self.expected(&self.models, |model| model.durable);
        let mut ends = Vec::new();
        for (model, expected) in self.models.iter_mut().zip(expected) {
            let end = crash::check_log(&manager, &expected, &mut self.random)?.ok_or("a log is gone")?;
            model.records.truncate(end);
            model.durable = end;
            ends.push(end);
        }
        self.manager = Some(manager);
        self.clean = false;
        Ok(format!("{ends:?}"))
    }

    fn create(&mut self, topic: &'static str) -> Checked<String> {
        if self.models.iter().any(|model| model.topic == topic) {
            return Ok("again".to_owned());
        }
        let topic_id = self.random.one_in(2).then(|| self.random_uuid());
        let options = CreateOptions { topic_id, dir: None };
        self.manager().get_or_create_log(&crash::partition(topic), &options).map_err(|e| format!("{e:?}"))?;
        self.models.push(Model { topic, topic_id, ..Model::default() });
        Ok(format!("{topic_id:?}"))
    }

    fn random_uuid(&mut self) -> Uuid {
        let mut id = [1; 16];
        id[8..].copy_from_slice(&self.random.next().to_be_bytes());
        Uuid(id)
    }

    fn append(&mut self, durability: WriteDurability) -> Checked<String> {
        let (i, log) = self.random_log();
        let latest = log.epochs().last().map_or(0, |e| e.epoch.0);
        let epoch = latest + i32::from(self.random.one_in(6));
        let mut records: Vec<Record> = (0..=self.random.below(5))
            .map(|n| Record::random(&mut self.random, self.next_id + n as u64, self.now))
            .collect();
        self.next_id += records.len() as u64;
        let codec = *self.random.pick(&[
            Codec::None,
            Codec::None,
            Codec::None,
            Codec::Lz4,
            Codec::Snappy,
            Codec::Gzip,
            Codec::Zstd,
        ]);
        let options = AppendOptions {
            leader_epoch: Some(LeaderEpoch(epoch)),
            codec: Some(codec),
            durability,
            ..AppendOptions::default()
        };
        let result = if self.random.one_in(4) {
            log.append_batches(&crash::batch_of(&records, codec), &options)
        } else {
            log.append(&mut crash::builder_of(&records), &options)
        };
        let result = match result {
            Err(e) if e.kind() == klog::ErrorKind::RecordListTooLarge => return Ok("refused".to_owned()),
            other => other.map_err(|e| format!("{e:?}"))?,
        };
        let model = &mut self.models[i];
        if usize::try_from(result.first_offset.0) != Ok(model.records.len()) {
            return Err(format!("the append got the offset {}", result.first_offset));
        }
        for record in &mut records {
            record.epoch = epoch;
            if result.log_append_time.is_some() {
                record.timestamp = result.log_append_time.0;
            }
        }
        let n = records.len();
        model.records.append(&mut records);
        if durability == WriteDurability::Synced {
            model.durable = model.records.len();
        }
        // A recovery point is a promise too.
        model.durable = model.durable.max(usize::try_from(log.recovery_point().0).unwrap());
        Ok(format!("{n} to {} in epoch {epoch}, durable {}", model.topic, model.durable))
    }

    fn roll(&mut self) -> Checked<String> {
        let (i, log) = self.random_log();
        match log.roll() {
            Ok(base) if usize::try_from(base.0) != Ok(self.models[i].records.len()) => {
                Err(format!("the new segment begins at {base}"))
            }
            // An empty active segment of the same base stays.
            Ok(base) => Ok(format!("{} at {base}", self.models[i].topic)),
            Err(e) => Err(format!("{e:?}")),
        }
    }

    fn flush(&mut self) -> Checked<String> {
        let (i, log) = self.random_log();
        log.flush().map_err(|e| format!("{e:?}"))?;
        self.models[i].durable = self.models[i].records.len();
        Ok(self.models[i].topic.to_owned())
    }

    fn flush_partly(&mut self) -> Checked<String> {
        let (i, log) = self.random_log();
        let upto = self.random.below(self.models[i].records.len() + 3);
        log.flush_to(Offset(i64::try_from(upto).unwrap())).map_err(|e| format!("{e:?}"))?;
        let model = &mut self.models[i];
        model.durable = model.durable.max(upto.min(model.records.len()));
        Ok(format!("{} to {upto}", model.topic))
    }

    fn checkpoint(&mut self) -> Checked<String> {
        self.manager().checkpoint().map_err(|e| format!("{e:?}"))?;
        Ok(String::new())
    }

    fn assign_topic_id(&mut self) -> Checked<String> {
        let (i, log) = self.random_log();
        let id = self.random_uuid();
        match (log.assign_topic_id(id), self.models[i].topic_id) {
            (Ok(()), None) => self.models[i].topic_id = Some(id),
            (Err(e), Some(_)) if e.kind() == klog::ErrorKind::InconsistentTopicId => {}
            (other, _) => return Err(format!("{other:?}")),
        }
        Ok(format!("{id} to {}", self.models[i].topic))
    }

    #[allow(clippy::unnecessary_wraps, reason = "a step as the others")]
    fn advance(&mut self) -> Checked<String> {
        self.now += 1 + i64::try_from(self.random.below(1000)).unwrap();
        self.clock.set(TimestampMs(self.now));
        Ok(String::new())
    }

    fn close(&mut self) -> Checked<String> {
        self.manager().close().map_err(|e| format!("{e:?}"))?;
        self.manager = None;
        for model in &mut self.models {
            model.durable = model.records.len();
        }
        self.clean = true;
        count(&self.covered.clean);
        Ok(String::new())
    }

    fn kill(&mut self) {
        self.disk = self.disk.after_kill();
        self.manager = None;
        // What the process wrote is not lost, though not durable either.
        self.told.push("kill".to_owned());
    }

    fn cut(&mut self) {
        let seed = self.random.next();
        self.disk = self.disk.after_power_cut(seed);
        self.manager = None;
        self.told.push(format!("power cut {seed:#x}"));
    }
}

fn random_config(random: &mut Random) -> (Arc<Resolved>, Vec<(&'static str, &'static str)>) {
    let mut keys = vec![
        ("internal.segment.bytes", *random.pick(&["700", "1200", "2000", "4000", "100000"])),
        ("index.interval.bytes", *random.pick(&["0", "0", "150", "4096"])),
    ];
    let rare = [
        ("preallocate", "true"),
        ("segment.index.bytes", *random.pick(&["12", "24", "48"])),
        ("flush.messages", *random.pick(&["1", "3", "7"])),
        ("message.timestamp.type", "LogAppendTime"),
        ("segment.ms", "500"),
        ("compression.type", *random.pick(&["gzip", "zstd"])),
    ];
    for key in rare {
        if random.one_in(6) {
            keys.push(key);
        }
    }
    (crash::config(&keys), keys)
}

/// The recovery points on a disk: everything below is promised to be there.
fn recovery_points(disk: &SimFs) -> Checked<checkpoint::Offsets> {
    let path = format!("{}/{RECOVERY_POINT_FILE}", crash::DIR);
    let content = klog::io::read_file(disk, path.as_ref()).map_err(|e| format!("{e:?}"))?;
    checkpoint::parse(&content.unwrap_or_default()).map_err(|e| format!("{e:?}"))
}

/// Checks what a crash left.
struct Crash<'h> {
    history: &'h History,
    /// Whether the directory was closed in order before.
    clean: bool,
    /// What a power cut leaves.
    durable: &'h [Expected],
}

impl Crash<'_> {
    fn open(&self, disk: &SimFs) -> Checked<Manager> {
        let clock = Arc::new(ManualClock::new(TimestampMs(self.history.now)));
        crash::open(disk, &clock, &self.history.config).map_err(|e| format!("opening: {e:?}"))
    }

    /// Opens the disk and compares. What was found becomes the expectation of what follows: all of it, and no more.
    fn open_and_compare(
        &self,
        disk: &SimFs,
        expected: &[Expected],
        random: &mut Random,
    ) -> Checked<(Manager, Vec<Expected>)> {
        let promised = recovery_points(disk)?;
        let manager = self.open(disk)?;
        if let Some(failed) = manager.failed_logs().first() {
            return Err(format!("log {} does not open: {:?}", failed.partition, failed.error));
        }
        let was_clean = manager.dirs()[0].was_clean;
        if was_clean {
            crash::check_nothing_done(&manager)?;
        } else if self.clean {
            return Err("the marker of the clean close is gone".to_owned());
        }
        let mut found = Vec::new();
        for expected in expected {
            let mut expected = expected.clone();
            if was_clean && expected.exists && self.clean {
                expected.at_least = expected.at_most;
            }
            let Some(end) = crash::check_log(&manager, &expected, random)? else { continue };
            let point = promised.get(&crash::partition(&expected.topic)).map_or(0, |point| point.0);
            if usize::try_from(point).unwrap() > end {
                return Err(format!(
                    "the recovery point of {} was {point}, it has {end} records",
                    expected.topic
                ));
            }
            let topic_id = manager.log(&crash::partition(&expected.topic)).unwrap().topic_id();
            expected.records.truncate(end);
            found.push(Expected {
                at_least: end,
                at_most: end,
                exists: true,
                topic_ids: vec![topic_id],
                ..expected
            });
        }
        Ok((manager, found))
    }

    fn check(&self, disk: &SimFs, expected: &[Expected], seed: u64) -> Checked {
        let mut random = Random::new(seed);
        let then = ["a second crash", "appends", "another open", "a clean close", "a look"][random.below(5)];
        if then == "a second crash" {
            disk.record_moments();
        }
        let (manager, found) = self.open_and_compare(disk, expected, &mut random)?;
        count(&self.history.covered.second);
        let checked = match then {
            "a second crash" => {
                drop(manager);
                self.second_crash(disk, &found, &mut random)
            }
            "appends" => self.appends(disk, &manager, found, &mut random),
            "another open" => {
                manager.abandon();
                // The first open took the marker: only the second one recovers.
                let was_clean = manager.dirs()[0].was_clean;
                let once = (!was_clean).then(|| crash::files(disk));
                self.another_open(disk, once, &found, &mut random)
            }
            "a clean close" => {
                manager.close().map_err(|e| format!("{e:?}"))?;
                self.clean_close(disk, &found, &mut random)
            }
            _ => {
                manager.abandon();
                self.look(disk, &found)
            }
        };
        checked.map_err(|problem| format!("then {then}: {problem}"))
    }

    /// The crash comes while the first one is recovered from, or when that is done: then nothing that was found goes.
    fn second_crash(&self, disk: &SimFs, found: &[Expected], random: &mut Random) -> Checked {
        let moments = disk.take_moments();
        let i = random.below(moments.len());
        let (name, again) = if random.one_in(3) {
            // A process that dies leaves everything for which the first crash had an answer.
            ("kill", moments[i].after_kill())
        } else {
            ("cut", moments[i].after_power_cut(random.next()))
        };
        let expected = if i + 1 == moments.len() || name == "kill" { found } else { self.durable };
        let crash = Crash { clean: false, ..*self };
        crash
            .open_and_compare(&again, expected, random)
            .map_err(|problem| format!("{name} at moment {i} of {}: {problem}", moments.len() - 1))?;
        Ok(())
    }

    /// Appends get the next offsets, and a cut after them takes nothing that was found, and brings nothing back.
    fn appends(
        &self,
        disk: &SimFs,
        manager: &Manager,
        mut found: Vec<Expected>,
        random: &mut Random,
    ) -> Checked {
        for (n, expected) in found.iter_mut().enumerate() {
            let log = manager.log(&crash::partition(&expected.topic)).unwrap();
            for _ in 0..=random.below(3) {
                let id = 1_000_000 + 1000 * n as u64 + expected.records.len() as u64;
                let mut record = Record::random(random, id, self.history.now);
                let durability = *random.pick(&[
                    WriteDurability::PageCache,
                    WriteDurability::PageCache,
                    WriteDurability::Synced,
                ]);
                let options = AppendOptions { durability, ..AppendOptions::default() };
                let result = log
                    .append(&mut crash::builder_of(std::slice::from_ref(&record)), &options)
                    .map_err(|e| format!("{e:?}"))?;
                if usize::try_from(result.first_offset.0) != Ok(expected.records.len()) {
                    return Err(format!("the append got the offset {}", result.first_offset));
                }
                record.epoch = log.epochs().last().map_or(0, |e| e.epoch.0);
                if result.log_append_time.is_some() {
                    record.timestamp = result.log_append_time.0;
                }
                expected.records.push(record);
                expected.at_most += 1;
                if durability == WriteDurability::Synced {
                    expected.at_least = expected.at_most;
                }
            }
        }
        let crash = Crash { clean: false, ..*self };
        let seed = random.next();
        crash
            .open_and_compare(&disk.after_power_cut(seed), &found, random)
            .map_err(|problem| format!("cut {seed:#x}: {problem}"))?;
        Ok(())
    }

    /// Opening what was opened changes nothing.
    fn another_open(
        &self,
        disk: &SimFs,
        once: Option<crash::Files>,
        found: &[Expected],
        random: &mut Random,
    ) -> Checked {
        let crash = Crash { clean: false, ..*self };
        let (manager, _) = crash.open_and_compare(disk, found, random)?;
        manager.abandon();
        match once.and_then(|once| crash::difference(&once, &crash::files(disk))) {
            None => Ok(()),
            Some(what) => Err(format!("the files differ: {what}")),
        }
    }

    /// After a close nothing is left to do, whatever comes.
    fn clean_close(&self, disk: &SimFs, found: &[Expected], random: &mut Random) -> Checked {
        let crash = Crash { clean: true, ..*self };
        let after = if random.one_in(2) { disk.after_kill() } else { disk.after_power_cut(random.next()) };
        crash.open_and_compare(&after, found, random)?;
        count(&self.history.covered.clean);
        Ok(())
    }

    /// A dump tells what opening finds, and changes nothing.
    fn look(&self, disk: &SimFs, found: &[Expected]) -> Checked {
        let before = crash::files(disk);
        let base: Arc<dyn FileSystem> = Arc::new(disk.clone());
        let options = DumpOptions {
            only: None,
            config: Arc::clone(&self.history.config),
            now: TimestampMs(self.history.now),
        };
        let mut text = Vec::new();
        dump(&base, crash::DIR.as_ref(), &options, &mut text).map_err(|e| format!("{e:?}"))?;
        let text = String::from_utf8(text).unwrap();
        for expected in found {
            let line = format!("log {}-0 start=0 end={} ", expected.topic, expected.at_most);
            if !text.contains(&line) {
                return Err(format!("the dump does not say {line:?}:\n{text}"));
            }
        }
        match crash::difference(&before, &crash::files(disk)) {
            None => Ok(()),
            Some(what) => Err(format!("the look changed files: {what}")),
        }
    }
}
