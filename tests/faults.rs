//! Every operation of a script fails, one after the other and with every kind of error; the disk is full, or dies.
//!
//! A failure surfaces with its errno and path. What failed changed nothing: the log is as it was, a full disk or a lack
//! of descriptors lets the same call succeed later, with the same offsets. A failed sync or an I/O error takes the
//! directory offline, and then nothing claims that it was closed in order. Whatever happens, the next open finds what was
//! appended (design.md 5.3-5.6, hard-cases.md HC22, HC41).
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod crash;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crash::run::Seeds;
use crash::{Expected, Random, Record, T};
use klog::config::Resolved;
use klog::format::codec::Codec;
use klog::format::uuid::Uuid;
use klog::inspect::{DumpOptions, dump};
use klog::io::sim::{Fault, Op, OpKind};
use klog::io::{FileSystem, ManualClock, SimFs};
use klog::log::{AppendOptions, Log, TimeTarget, WriteDurability};
use klog::manager::{CreateOptions, Manager};
use klog::types::{LeaderEpoch, Offset, TimestampMs};
use klog::{Error, ErrorKind};

/// How many scripts have each of their operations fail.
const SEEDS: u64 = 12;

type Checked<T = ()> = Result<T, String>;

/// One call. Which log it is for is a number that counts modulo the logs that there are.
#[derive(Clone, Debug)]
enum Step {
    Open,
    Create(&'static str, Option<Uuid>),
    Append { log: usize, records: Vec<Record>, codec: Codec, new_epoch: bool, durability: WriteDurability },
    Roll(usize),
    Flush(usize),
    Checkpoint,
    AssignTopicId(usize, Uuid),
    Read(usize),
    LookUp(usize),
    Close,
}

#[derive(Clone, Default)]
struct Model {
    topic: &'static str,
    records: Vec<Record>,
    durable: usize,
    topic_id: Option<Uuid>,
    /// What failed calls may have stored all the same.
    doubtful_ids: Vec<Uuid>,
}

/// A disk, a manager on it, and what must be in there.
struct World {
    disk: SimFs,
    clock: Arc<ManualClock>,
    config: Arc<Resolved>,
    manager: Option<Manager>,
    models: Vec<Model>,
    random: Random,
}

fn script(random: &mut Random) -> Vec<Step> {
    let mut next_id = 0;
    let uuid = |random: &mut Random| {
        let mut id = [2; 16];
        id[8..].copy_from_slice(&random.next().to_be_bytes());
        Uuid(id)
    };
    let mut steps = vec![Step::Open, Step::Create("a", random.one_in(2).then(|| uuid(random)))];
    for i in 0..16 {
        let log = random.below(2);
        steps.push(match random.below(16) {
            0..=6 => {
                let n = 1 + random.below(3);
                next_id += n as u64;
                Step::Append {
                    log,
                    records: (0..n).map(|k| Record::random(random, next_id + k as u64 * 1000, T)).collect(),
                    codec: *random.pick(&[Codec::None, Codec::None, Codec::Lz4]),
                    new_epoch: random.one_in(4),
                    durability: *random.pick(&[
                        WriteDurability::PageCache,
                        WriteDurability::PageCache,
                        WriteDurability::Synced,
                    ]),
                }
            }
            7..=8 => Step::Roll(log),
            9 => Step::Flush(log),
            10 => Step::Checkpoint,
            11 => Step::AssignTopicId(log, uuid(random)),
            12 => Step::Create("b", None),
            13 => Step::Read(log),
            14 => Step::LookUp(log),
            _ => Step::Close,
        });
        if i == 8 || matches!(steps.last(), Some(Step::Close)) {
            steps.extend([Step::Close, Step::Open]);
        }
    }
    steps.push(Step::Close);
    steps
}

fn config(random: &mut Random) -> Arc<Resolved> {
    let mut keys = vec![
        ("internal.segment.bytes", *random.pick(&["700", "1200", "4000"])),
        ("index.interval.bytes", *random.pick(&["0", "150"])),
    ];
    for key in [("preallocate", "true"), ("segment.index.bytes", "24"), ("flush.messages", "2")] {
        if random.one_in(3) {
            keys.push(key);
        }
    }
    crash::config(&keys)
}

impl World {
    fn new(config: &Arc<Resolved>) -> Self {
        Self {
            disk: SimFs::new(),
            clock: Arc::new(ManualClock::new(TimestampMs(T))),
            config: Arc::clone(config),
            manager: None,
            models: Vec::new(),
            random: Random::new(7),
        }
    }

    fn manager(&self) -> &Manager {
        self.manager.as_ref().unwrap()
    }

    fn log(&self, i: usize) -> (usize, Arc<Log>) {
        let i = i % self.models.len();
        (i, self.manager().log(&crash::partition(self.models[i].topic)).unwrap())
    }

    /// Does one step and notes it, if it succeeds.
    fn act(&mut self, step: &Step) -> Result<(), Error> {
        match step {
            Step::Open => {
                if self.manager.is_none() {
                    let manager = crash::open(&self.disk, &self.clock, &self.config)?;
                    if let Some(failed) = manager.failed_logs().first() {
                        return Err(failed.error.clone());
                    }
                    self.manager = Some(manager);
                    for model in &mut self.models {
                        model.durable = model.records.len();
                    }
                }
            }
            Step::Create(topic, topic_id) => {
                let options = CreateOptions { topic_id: *topic_id, dir: None };
                self.manager().get_or_create_log(&crash::partition(topic), &options)?;
                if self.models.iter().all(|model| model.topic != *topic) {
                    self.models.push(Model { topic, topic_id: *topic_id, ..Model::default() });
                }
            }
            Step::Append { log, records, codec, new_epoch, durability } => {
                let (i, log) = self.log(*log);
                let latest = log.epochs().last().map_or(0, |e| e.epoch.0);
                let epoch = latest + i32::from(*new_epoch);
                let options = AppendOptions {
                    leader_epoch: Some(LeaderEpoch(epoch)),
                    codec: Some(*codec),
                    durability: *durability,
                    ..AppendOptions::default()
                };
                let result = match log.append(&mut crash::builder_of(records), &options) {
                    Err(e) if e.kind() == ErrorKind::RecordListTooLarge => return Ok(()),
                    other => other?,
                };
                let model = &mut self.models[i];
                assert_eq!(
                    usize::try_from(result.first_offset.0),
                    Ok(model.records.len()),
                    "offsets have no gap"
                );
                model.records.extend(records.iter().map(|r| Record { epoch, ..r.clone() }));
                if *durability == WriteDurability::Synced {
                    model.durable = model.records.len();
                }
            }
            Step::Roll(log) => {
                let (i, log) = self.log(*log);
                let base = log.roll()?;
                assert_eq!(usize::try_from(base.0), Ok(self.models[i].records.len()));
            }
            Step::Flush(log) => {
                let (i, log) = self.log(*log);
                log.flush()?;
                self.models[i].durable = self.models[i].records.len();
            }
            Step::Checkpoint => self.manager().checkpoint()?,
            Step::AssignTopicId(log, id) => {
                let (i, log) = self.log(*log);
                if self.models[i].topic_id.is_none() {
                    self.models[i].doubtful_ids.push(*id);
                    log.assign_topic_id(*id)?;
                    self.models[i].topic_id = Some(*id);
                }
            }
            Step::Read(log) => {
                let (i, log) = self.log(*log);
                let found = crash::read_from(&log, Offset(0), 300, 2)?;
                assert_eq!(found.len(), self.models[i].records.len());
            }
            Step::LookUp(log) => {
                log_for_time(&self.log(*log).1)?;
            }
            Step::Close => {
                if let Some(manager) = self.manager.take() {
                    manager.close()?;
                    for model in &mut self.models {
                        model.durable = model.records.len();
                    }
                }
            }
        }
        Ok(())
    }

    /// What must be in the logs; `at_least` says how much of each.
    fn expected(&self, at_least: impl Fn(&Model) -> usize) -> Vec<Expected> {
        let one = |model: &Model| Expected {
            topic: model.topic.to_owned(),
            at_least: at_least(model),
            at_most: model.records.len(),
            records: model.records.clone(),
            exists: true,
            topic_ids: match model.topic_id {
                Some(id) => vec![Some(id)],
                None => [None].into_iter().chain(model.doubtful_ids.iter().copied().map(Some)).collect(),
            },
        };
        self.models.iter().map(one).collect()
    }

    /// An append that was stored and then could not be synced is in the log, and the directory offline: whether the disk
    /// has it nobody can say. Whether that is what happened.
    fn adopt_unsynced(&mut self, step: &Step, op: &Op) -> Checked<bool> {
        let (Step::Append { log, records, new_epoch, .. }, Some(_)) = (step, &self.manager) else {
            return Ok(false);
        };
        let (i, log) = self.log(*log);
        let had = self.models[i].records.len();
        let has = usize::try_from(log.end_offset().0).unwrap();
        if has == had {
            return Ok(false);
        }
        if has != had + records.len() || op.kind != OpKind::Sync {
            return Err(format!("the failed append moved the end from {had} to {has}"));
        }
        let latest = self.models[i].records.last().map_or(0, |r| r.epoch);
        let epoch = latest + i32::from(*new_epoch);
        self.models[i].records.extend(records.iter().map(|r| Record { epoch, ..r.clone() }));
        Ok(true)
    }

    /// Opens another disk and compares it with what is expected.
    fn check_disk(&mut self, disk: &SimFs, expected: &[Expected]) -> Checked<Manager> {
        let manager = crash::open(disk, &self.clock, &self.config).map_err(|e| format!("opening: {e:?}"))?;
        self.check_logs(&manager, expected)?;
        Ok(manager)
    }

    /// As [`Self::check_disk`], where logs may be missing.
    fn check_what_is_there(&mut self, disk: &SimFs, expected: &[Expected]) -> Checked {
        let manager = crash::open(disk, &self.clock, &self.config).map_err(|e| format!("opening: {e:?}"))?;
        for expected in expected {
            crash::check_log(&manager, expected, &mut self.random)?;
        }
        Ok(())
    }

    fn check_logs(&mut self, manager: &Manager, expected: &[Expected]) -> Checked {
        for expected in expected {
            crash::check_log(manager, expected, &mut self.random)?.ok_or("a log is gone")?;
        }
        Ok(())
    }

    /// Whatever failed: the process sees what it saw before, and so does one that finds the disk after a crash.
    fn check_unchanged(&mut self) -> Checked {
        let exactly = self.expected(|model| model.records.len());
        if let Some(manager) = self.manager.take() {
            let checked = self.check_logs(&manager, &exactly);
            self.manager = Some(manager);
            checked?;
        }
        let killed = self.disk.after_kill();
        self.check_disk(&killed, &exactly).map_err(|e| format!("after a kill: {e}"))?;
        let seed = self.random.next();
        let cut = self.disk.after_power_cut(seed);
        let after_cut = self.expected(|model| model.durable);
        self.check_disk(&cut, &after_cut).map_err(|e| format!("after the power cut {seed:#x}: {e}"))?;
        Ok(())
    }

    /// A directory that is offline says so to everyone, and is not closed in order. Then it is opened again.
    fn check_offline(&mut self) -> Checked {
        for i in 0..self.models.len() {
            let (i, log) = self.log(i);
            let record = Record::random(&mut Random::new(1), 1, T);
            let append = log.append(&mut crash::builder_of(&[record]), &AppendOptions::default()).map(|_| ());
            let unflushed = self.models[i].durable < self.models[i].records.len()
                && log.recovery_point() < log.end_offset();
            let flush = if unflushed { log.flush() } else { log.roll().map(|_| ()) };
            for outcome in [append, flush] {
                match outcome {
                    Err(e) if e.kind() == ErrorKind::DirOffline && e.took_dir_offline() => {}
                    other => return Err(format!("offline, but {other:?}")),
                }
            }
        }
        let manager = self.manager.take().unwrap();
        if manager.close().is_ok() {
            return Err("a directory that is offline was closed in order".to_owned());
        }
        drop(manager);
        self.reopen_unclean()
    }

    fn reopen_unclean(&mut self) -> Checked {
        let exactly = self.expected(|model| model.records.len());
        let manager = crash::open(&self.disk, &self.clock, &self.config).map_err(|e| format!("{e:?}"))?;
        if manager.dirs()[0].was_clean {
            return Err("there is a marker of a clean close".to_owned());
        }
        self.check_logs(&manager, &exactly)?;
        for model in &mut self.models {
            model.durable = model.records.len();
        }
        self.manager = Some(manager);
        Ok(())
    }
}

fn log_for_time(log: &Arc<Log>) -> Result<(), Error> {
    log.offset_for_timestamp(TimeTarget::At(TimestampMs(T)))?;
    log.offset_for_timestamp(TimeTarget::MaxTimestamp)?;
    Ok(())
}

/// How many failures there were, and what became of them.
#[derive(Default)]
struct Counts {
    runs: AtomicU64,
    surfaced: AtomicU64,
    offline: AtomicU64,
    retried: AtomicU64,
}

fn count(n: &AtomicU64) {
    n.fetch_add(1, Ordering::SeqCst);
}

/// The operations of a script when nothing fails.
fn trace(steps: &[Step], config: &Arc<Resolved>) -> Vec<Op> {
    let mut world = World::new(config);
    world.disk.start_trace();
    for step in steps {
        world.act(step).unwrap();
    }
    world.disk.trace()
}

/// Runs a script with one failure to come; each step that fails is tried again. Only a lock file that stays is nothing to
/// tell: the lock itself ends with its owner.
fn run_with(steps: &[Step], config: &Arc<Resolved>, op: &Op, fault: Fault, counts: &Counts) -> Checked {
    let errno = fault.errno;
    let mut surfaced = false;
    let mut world = World::new(config);
    world.disk.inject(fault);
    count(&counts.runs);
    for (i, step) in steps.iter().enumerate() {
        let was_open = world.manager.is_some();
        let Err(error) = world.act(step) else { continue };
        let at = |problem: String| format!("step {i} {step:?} failed ({error:?}), then: {problem}");
        count(&counts.surfaced);
        surfaced = true;
        check_error(&error, op, errno).map_err(at)?;
        let adopted = world.adopt_unsynced(step, op).map_err(at)?;
        world.check_unchanged().map_err(at)?;
        if let Some(manager) = &world.manager {
            let offline = manager.dirs()[0].failure.is_some();
            let is_sync = matches!(op.kind, OpKind::Sync | OpKind::SyncDir);
            let lasts = errno == libc::EIO || (is_sync && errno == libc::ENOSPC) || op.kind == OpKind::Sync;
            if offline && !lasts {
                return Err(at("the directory is offline".to_owned()));
            }
            if !offline && lasts && op.kind.is_change() {
                return Err(at("the directory is not offline".to_owned()));
            }
            if offline {
                count(&counts.offline);
                world.check_offline().map_err(at)?;
            }
        } else if was_open {
            // A close that failed.
            world.reopen_unclean().map_err(at)?;
        }
        if !adopted {
            count(&counts.retried);
            world.act(step).map_err(|e| at(format!("again: {e:?}")))?;
        }
    }
    let is_lock = op.kind == OpKind::Remove && op.path.ends_with(".lock");
    if !surfaced && !is_lock {
        return Err("the failure did not surface".to_owned());
    }
    world.check_unchanged().map_err(|e| format!("at the end: {e}"))
}

/// A failure carries what the operating system said, and where.
fn check_error(error: &Error, op: &Op, errno: i32) -> Checked {
    let is_sync = matches!(op.kind, OpKind::Sync | OpKind::SyncDir);
    let kind = match errno {
        libc::ENOSPC if !is_sync => ErrorKind::NoSpace,
        libc::EMFILE if op.kind != OpKind::Sync => ErrorKind::NoFiles,
        _ => ErrorKind::KafkaStorage,
    };
    if error.os_errno() != Some(errno) || error.kind() != kind {
        return Err(format!("the error should be {kind} with errno {errno}"));
    }
    match error.path() {
        Some(path) if path.starts_with("/") => Ok(()),
        path => Err(format!("the error names {path:?}")),
    }
}

#[test]
fn every_operation_fails_once_with_every_error_and_nothing_is_lost() {
    let counts = Counts::default();
    let seeds = Seeds::from_env(SEEDS);
    seeds.run("faults", |seed| {
        let mut random = Random::new(seed ^ 0x6661_756c_7400);
        let config = config(&mut random);
        let steps = script(&mut random);
        let ops = trace(&steps, &config);
        for (n, op) in ops.iter().enumerate() {
            let mut faults = vec![(libc::EIO, 0), (libc::ENOSPC, 0), (libc::EMFILE, 0)];
            if op.kind == OpKind::Write {
                faults.extend([(libc::ENOSPC, op.bytes / 2), (libc::ENOSPC, op.bytes), (libc::EIO, op.bytes / 3)]);
            }
            for (errno, stored_bytes) in faults {
                let fault = Fault {
                    kind: None,
                    path_part: String::new(),
                    skip: n as u64,
                    times: 1,
                    errno,
                    stored_bytes,
                };
                run_with(&steps, &config, op, fault, &counts).map_err(|problem| {
                    format!(
                        "operation {n} {op:?} fails with {errno} after {stored_bytes} bytes: {problem}\nscript:\n  {}",
                        steps.iter().map(|s| format!("{s:?}")).collect::<Vec<_>>().join("\n  ")
                    )
                })?;
            }
        }
        Ok(())
    });
    let [runs, surfaced, offline, retried] =
        [&counts.runs, &counts.surfaced, &counts.offline, &counts.retried].map(|n| n.load(Ordering::SeqCst));
    println!(
        "faults: {runs} runs with one failure, {surfaced} surfaced, {offline} took the directory offline, {retried} retried"
    );
    if seeds.are_all_of(SEEDS) {
        assert!(runs >= 12_000 && offline >= 1500 && retried >= 12_000, "too little is covered");
    }
}

/// Runs a script on a disk that works up to an operation and then no more, and looks at what it holds.
fn run_until_death(steps: &[Step], config: &Arc<Resolved>, last_op: u64) -> Checked {
    let mut world = World::new(config);
    world.disk.inject(Fault {
        kind: None,
        path_part: String::new(),
        skip: last_op,
        times: u64::MAX,
        errno: libc::EIO,
        stored_bytes: usize::try_from(last_op % 90).unwrap(),
    });
    // Of each log the first append that failed: it may be in the file, whole or in part.
    let mut maybe: BTreeMap<usize, Vec<Record>> = BTreeMap::new();
    let mut created = None;
    for step in steps {
        let can_be_done = match step {
            Step::Open => true,
            Step::Create(..) | Step::Checkpoint | Step::Close => world.manager.is_some(),
            _ => world.manager.is_some() && !world.models.is_empty(),
        };
        if !can_be_done {
            continue;
        }
        let Err(error) = world.act(step) else { continue };
        let offline = match step {
            Step::Create(..) => ErrorKind::KafkaStorage,
            _ => ErrorKind::DirOffline,
        };
        if error.os_errno() != Some(libc::EIO) && error.kind() != offline {
            return Err(format!("{step:?} failed with {error:?}"));
        }
        match step {
            Step::Append { log, records, new_epoch, .. } => {
                let i = *log % world.models.len();
                let latest = world.models[i].records.last().map_or(0, |r| r.epoch);
                let epoch = latest + i32::from(*new_epoch);
                let left = records.iter().map(|r| Record { epoch, ..r.clone() }).collect();
                maybe.entry(i).or_insert(left);
            }
            Step::Create(topic, id) if world.models.iter().all(|model| model.topic != *topic) => {
                created = Some((*topic, *id));
            }
            _ => {}
        }
    }
    world.manager = None;
    let mut expected = world.expected(|model| model.records.len());
    for (i, left) in maybe {
        expected[i].records.extend(left);
        expected[i].at_most = expected[i].records.len();
    }
    if let Some((topic, id)) = created {
        expected.push(Expected {
            topic: topic.to_owned(),
            records: Vec::new(),
            at_least: 0,
            at_most: 0,
            exists: false,
            topic_ids: vec![None, id],
        });
    }
    let killed = world.disk.after_kill();
    world.check_what_is_there(&killed, &expected).map_err(|e| format!("after a kill: {e}"))?;
    for (expected, model) in expected.iter_mut().zip(&world.models) {
        expected.at_least = model.durable;
    }
    let cut = world.disk.after_power_cut(last_op);
    world.check_what_is_there(&cut, &expected).map_err(|e| format!("after a power cut: {e}"))
}

#[test]
fn a_disk_that_dies_at_any_operation_keeps_what_was_appended() {
    let runs = AtomicU64::new(0);
    let seeds = Seeds::from_env(60);
    seeds.run("faults", |seed| {
        let mut random = Random::new(seed ^ 0x6465_6174_6800);
        let config = config(&mut random);
        let steps = script(&mut random);
        for n in 0..trace(&steps, &config).len() as u64 {
            count(&runs);
            run_until_death(&steps, &config, n)
                .map_err(|problem| format!("from operation {n} on all fail: {problem}"))?;
        }
        Ok(())
    });
    let runs = runs.load(Ordering::SeqCst);
    println!("faults: {runs} disks that died");
    assert!(!seeds.are_all_of(60) || runs >= 15_000, "too little is covered");
}

/// Runs a script on a disk that is full again and again.
fn run_on_full_disk(
    steps: &[Step],
    config: &Arc<Resolved>,
    random: &mut Random,
    full: &AtomicU64,
) -> Checked {
    let mut world = World::new(config);
    let limit = |world: &World, free: usize| {
        let files = world.disk.files_below("/".as_ref());
        let used: usize = files.iter().map(|(_, content)| content.len()).sum();
        world.disk.set_capacity((used + free) as u64);
    };
    limit(&world, random.below(1500));
    for (i, step) in steps.iter().enumerate() {
        let Err(error) = world.act(step) else { continue };
        let at = |problem: String| format!("step {i} {step:?} failed ({error:?}), then: {problem}");
        count(full);
        if error.kind() != ErrorKind::NoSpace || error.os_errno() != Some(libc::ENOSPC) {
            return Err(at("a full disk is NO_SPACE".to_owned()));
        }
        if world.manager.as_ref().is_some_and(|manager| manager.dirs()[0].failure.is_some()) {
            return Err(at("the directory is offline".to_owned()));
        }
        // Reading and looking work without a free byte.
        world.check_unchanged().map_err(at)?;
        world.check_dump().map_err(at)?;
        if random.one_in(3) {
            limit(&world, 0);
            // Opening on a full disk may fail, and loses nothing.
            drop(world.manager.take());
            if world.act(&Step::Open).is_err() {
                world.check_unchanged().map_err(at)?;
            }
        }
        world.disk.set_capacity(u64::MAX);
        world.act(&Step::Open).map_err(|e| at(format!("opening again: {e:?}")))?;
        world.act(step).map_err(|e| at(format!("again: {e:?}")))?;
        limit(&world, random.below(500));
    }
    world.disk.set_capacity(u64::MAX);
    world.check_unchanged().map_err(|e| format!("at the end: {e}"))
}

impl World {
    /// A dump tells what is there.
    fn check_dump(&self) -> Checked {
        let base: Arc<dyn FileSystem> = Arc::new(self.disk.clone());
        let options = DumpOptions { only: None, config: Arc::clone(&self.config), now: TimestampMs(T) };
        let mut text = Vec::new();
        dump(&base, crash::DIR.as_ref(), &options, &mut text).map_err(|e| format!("dump: {e:?}"))?;
        let text = String::from_utf8(text).unwrap();
        for model in &self.models {
            let line = format!("log {}-0 start=0 end={} ", model.topic, model.records.len());
            if !text.contains(&line) {
                return Err(format!("the dump does not say {line:?}:\n{text}"));
            }
        }
        Ok(())
    }
}

#[test]
fn a_full_disk_is_an_error_of_one_call_and_loses_nothing() {
    let full = AtomicU64::new(0);
    let seeds = Seeds::from_env(400);
    seeds.run("faults", |seed| {
        let mut random = Random::new(seed ^ 0x6675_6c6c_0000);
        let config = config(&mut random);
        let steps = script(&mut random);
        run_on_full_disk(&steps, &config, &mut random, &full)
    });
    let full = full.load(Ordering::SeqCst);
    println!("faults: {full} times the disk was full");
    assert!(!seeds.are_all_of(400) || full >= 1000, "too little is covered");
}

/// A log on a disk of its own with `n` records, each a batch of 72 bytes (hard-cases.md 0.2).
fn filled(n: usize) -> World {
    let mut world = World::new(&crash::config(&[]));
    world.act(&Step::Open).unwrap();
    world.act(&Step::Create("a", None)).unwrap();
    for i in 0..n {
        append_one(&mut world, i).unwrap();
    }
    world
}

fn append_one(world: &mut World, i: usize) -> Result<(), Error> {
    let record = Record {
        timestamp: T,
        key: Some(format!("k{i}").into()),
        value: Some(format!("v{i}").into()),
        headers: Vec::new(),
        epoch: 0,
    };
    world.act(&Step::Append {
        log: 0,
        records: vec![record],
        codec: Codec::None,
        new_epoch: false,
        durability: WriteDurability::PageCache,
    })
}

const FIRST_LOG: &str = "a-0/00000000000000000000.log";

fn log_bytes(disk: &SimFs) -> usize {
    let path = format!("{}/{FIRST_LOG}", crash::DIR);
    klog::io::read_file(disk, path.as_ref()).unwrap().unwrap().len()
}

#[test]
fn hc22_a_short_write_is_cut_back_before_the_call_returns() {
    let mut world = filled(5);
    assert_eq!(log_bytes(&world.disk), 360);
    let fault = Fault::once(OpKind::Write, FIRST_LOG, libc::ENOSPC);
    world.disk.inject(Fault { stored_bytes: 30, ..fault });
    assert_eq!(append_one(&mut world, 5).unwrap_err().kind(), ErrorKind::NoSpace);
    assert_eq!(log_bytes(&world.disk), 360);
    world.check_unchanged().unwrap();
    append_one(&mut world, 5).unwrap();
    assert_eq!(log_bytes(&world.disk), 432);
    world.check_unchanged().unwrap();
}

#[test]
fn hc22_no_append_lands_behind_garbage_that_could_not_be_cut() {
    let mut world = filled(5);
    world.disk.inject(Fault { stored_bytes: 30, ..Fault::once(OpKind::Write, FIRST_LOG, libc::ENOSPC) });
    world.disk.inject(Fault::once(OpKind::SetLen, FIRST_LOG, libc::ENOSPC));
    assert_eq!(append_one(&mut world, 5).unwrap_err().kind(), ErrorKind::NoSpace);
    assert_eq!(log_bytes(&world.disk), 390, "the cut failed");
    let refused = append_one(&mut world, 5).unwrap_err();
    assert_eq!((refused.kind(), refused.os_errno()), (ErrorKind::KafkaStorage, None));
    assert!(refused.message().contains("takes no appends until it is opened again"), "{refused}");
    assert!(world.log(0).1.roll().is_err());
    world.check_unchanged().unwrap();
    let manager = world.manager.take().unwrap();
    assert!(manager.close().is_err(), "nothing claims that it was closed in order");
    drop(manager);
    world.reopen_unclean().unwrap();
    append_one(&mut world, 5).unwrap();
    assert_eq!(log_bytes(&world.disk), 432);
}

#[test]
fn a_new_epoch_that_was_refused_is_not_found_later() {
    let mut world = filled(3);
    // The file with the new epoch has its name; that the directory could not be synced refuses the append.
    world.disk.inject(Fault::once(OpKind::SyncDir, "a-0", libc::EMFILE));
    let (_, log) = world.log(0);
    let options = AppendOptions { leader_epoch: Some(LeaderEpoch(7)), ..AppendOptions::default() };
    let record = Record::random(&mut Random::new(1), 1, T);
    assert_eq!(
        log.append(&mut crash::builder_of(&[record]), &options).unwrap_err().kind(),
        ErrorKind::NoFiles
    );
    assert_eq!(log.epochs(), crash::epochs_of(&world.models[0].records));
    world.check_unchanged().unwrap();
    // The old leader goes on: its records are its own after the next open too.
    append_one(&mut world, 3).unwrap();
    world.check_unchanged().unwrap();
}

#[test]
fn hc22_a_failed_roll_leaves_the_old_segment_active_and_no_new_one() {
    for (kind, errno) in [(OpKind::Create, libc::EMFILE), (OpKind::SetLen, libc::ENOSPC)] {
        let mut world =
            World::new(&crash::config(&[("preallocate", "true"), ("internal.segment.bytes", "2000")]));
        world.act(&Step::Open).unwrap();
        world.act(&Step::Create("a", None)).unwrap();
        append_one(&mut world, 0).unwrap();
        world.disk.inject(Fault::once(kind, "00000000000000000001.log", errno));
        assert_eq!(world.act(&Step::Roll(0)).unwrap_err().os_errno(), Some(errno));
        assert_eq!(world.log(0).1.segments().len(), 1);
        append_one(&mut world, 1).unwrap();
        let logs = crash::files(&world.disk)
            .into_iter()
            .filter(|(path, _)| path.extension().is_some_and(|e| e == "log"));
        assert_eq!(logs.count(), 1, "a file that stays is the end of the log for the next load");
        world.check_unchanged().unwrap();
        world.act(&Step::Roll(0)).unwrap();
        append_one(&mut world, 2).unwrap();
        world.check_unchanged().unwrap();
    }
}

#[test]
fn hc41_a_failed_sync_is_final_for_the_directory() {
    for errno in [libc::EIO, libc::ENOSPC] {
        let mut world = filled(3);
        world.act(&Step::Create("b", None)).unwrap();
        world.act(&Step::Flush(0)).unwrap();
        append_one(&mut world, 3).unwrap();
        world.disk.inject(Fault::once(OpKind::Sync, FIRST_LOG, errno));
        let error = world.act(&Step::Flush(0)).unwrap_err();
        assert_eq!((error.kind(), error.os_errno()), (ErrorKind::KafkaStorage, Some(errno)));
        assert!(error.took_dir_offline());
        let (_, log) = world.log(0);
        assert_eq!(log.recovery_point(), Offset(3), "the recovery point stays");
        // Later syncs would succeed: nobody asks for one.
        let syncs = world.disk.counts().syncs;
        assert_eq!(log.flush().unwrap_err().kind(), ErrorKind::DirOffline);
        world.check_offline().unwrap();
        assert!(world.disk.counts().syncs > syncs, "the next open recovers");
    }
}

#[test]
fn hc22_an_error_in_recovery_fails_the_one_log_and_changes_none() {
    for (kind, path) in [
        (OpKind::Read, FIRST_LOG),
        (OpKind::Open, FIRST_LOG),
        (OpKind::Create, "a-0/00000000000000000006.snapshot"),
        (OpKind::Write, "a-0/00000000000000000006.snapshot"),
        (OpKind::Sync, "a-0/00000000000000000003.log"),
        (OpKind::SyncDir, "a-0"),
    ] {
        for errno in [libc::EIO, libc::ENOSPC, libc::EMFILE] {
            let mut world = filled(3);
            world.act(&Step::Roll(0)).unwrap();
            for i in 3..6 {
                append_one(&mut world, i).unwrap();
            }
            world.act(&Step::Create("b", None)).unwrap();
            let disk = world.disk.after_kill();
            let before = crash::files(&disk);
            disk.inject(Fault::once(kind, path, errno));
            let manager = crash::open(&disk, &world.clock, &world.config).unwrap();
            let failed = manager.failed_logs();
            assert_eq!(failed.len(), 1, "{kind:?} {path} {errno}");
            assert_eq!((&*failed[0].partition.topic, failed[0].error.os_errno()), ("a", Some(errno)));
            assert!(manager.log(&crash::partition("b")).is_ok());
            let is_log =
                |file: &&(std::path::PathBuf, Vec<u8>)| file.0.extension().is_some_and(|e| e == "log");
            assert!(
                crash::files(&disk).iter().filter(is_log).eq(before.iter().filter(is_log)),
                "no log was changed"
            );
            drop(manager);
            let exactly = world.expected(|model| model.records.len());
            world.check_disk(&disk, &exactly).unwrap();
        }
    }
}
