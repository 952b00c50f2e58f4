//! A disk, a manager on it, and a model of what must be in there, whatever fails.

use std::sync::Arc;

use super::crash::change::{Change, Failure, Kinds};
use super::crash::check::check_log;
use super::crash::model::{After, Expected, Model};
use super::crash::{self, Random, Record, T};
use klog::config::Resolved;
use klog::format::uuid::Uuid;
use klog::inspect::{DumpOptions, dump};
use klog::io::{FileSystem, ManualClock, SimFs};
use klog::log::{AppendOptions, Log, TimeTarget, WriteDurability};
use klog::manager::{CreateOptions, Manager};
use klog::types::{Offset, TimestampMs};
use klog::{Error, ErrorKind};

pub(crate) type Checked<T = ()> = Result<T, String>;

/// One call. Which log it is for is a number that counts modulo the logs that there are.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Open,
    Create(&'static str, Option<Uuid>),
    Change(usize, Change),
    Roll(usize),
    Flush(usize),
    Checkpoint,
    AssignTopicId(usize, Uuid),
    Read(usize),
    LookUp(usize),
    Close,
}

/// A disk, a manager on it, and what must be in there.
pub(crate) struct World {
    pub(crate) disk: SimFs,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) config: Arc<Resolved>,
    pub(crate) manager: Option<Manager>,
    pub(crate) models: Vec<Model>,
    pub(crate) random: Random,
}

pub(crate) fn script(random: &mut Random) -> Vec<Step> {
    let mut next_id = 0;
    let kinds = Kinds::random(random);
    let uuid = |random: &mut Random| {
        let mut id = [2; 16];
        id[8..].copy_from_slice(&random.next().to_be_bytes());
        Uuid(id)
    };
    let mut steps = vec![
        Step::Open,
        Step::Create("a", random.one_in(2).then(|| uuid(random))),
    ];
    for i in 0..16 {
        let log = random.below(2);
        steps.push(match random.below(16) {
            0..=6 => {
                let durability = *random.pick(&[
                    WriteDurability::PageCache,
                    WriteDurability::PageCache,
                    WriteDurability::Synced,
                ]);
                let other = random
                    .one_in(4)
                    .then(|| Change::other(random, kinds, false));
                let change = other
                    .flatten()
                    .unwrap_or_else(|| Change::append(random, kinds, durability, &mut next_id, T));
                Step::Change(log, change)
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

pub(crate) fn config(random: &mut Random) -> Arc<Resolved> {
    let mut keys = vec![
        (
            "internal.segment.bytes",
            *random.pick(&["700", "1200", "4000"]),
        ),
        ("index.interval.bytes", *random.pick(&["0", "150"])),
    ];
    for key in [
        ("preallocate", "true"),
        ("segment.index.bytes", "24"),
        ("flush.messages", "2"),
    ] {
        if random.one_in(3) {
            keys.push(key);
        }
    }
    crash::config(&keys)
}

impl World {
    pub(crate) fn new(config: &Arc<Resolved>) -> Self {
        Self {
            disk: SimFs::new(),
            clock: Arc::new(ManualClock::new(TimestampMs(T))),
            config: Arc::clone(config),
            manager: None,
            models: Vec::new(),
            random: Random::new(7),
        }
    }

    pub(crate) fn manager(&self) -> &Manager {
        self.manager.as_ref().unwrap()
    }

    pub(crate) fn log(&self, i: usize) -> (usize, Arc<Log>) {
        let i = i % self.models.len();
        (
            i,
            self.manager()
                .log(&crash::partition(self.models[i].topic))
                .unwrap(),
        )
    }

    /// Does one step and notes it, if it succeeds.
    pub(crate) fn act(&mut self, step: &Step) -> Result<(), Error> {
        match step {
            Step::Open => {
                if self.manager.is_none() {
                    let manager = crash::open(&self.disk, &self.clock, &self.config)?;
                    if let Some(failed) = manager.failed_logs().first() {
                        return Err(failed.error.clone());
                    }
                    self.manager = Some(manager);
                    self.take_ends();
                }
            }
            Step::Create(topic, topic_id) => {
                let options = CreateOptions {
                    topic_id: *topic_id,
                    dir: None,
                    ..CreateOptions::default()
                };
                self.manager()
                    .get_or_create_log(&crash::partition(topic), &options)?;
                if self.models.iter().all(|model| model.topic != *topic) {
                    self.models.push(Model::new(topic, *topic_id, false));
                }
            }
            Step::Change(log, change) => {
                let i = *log % self.models.len();
                let manager = self.manager.as_ref().unwrap();
                match change.make(manager, &mut self.models[i]) {
                    Ok(_) => {}
                    Err(Failure::Klog(error)) => return Err(error),
                    Err(Failure::Wrong(what)) => panic!("{what}"),
                }
            }
            Step::Roll(log) => {
                let (i, log) = self.log(*log);
                let base = log.roll()?;
                assert_eq!(base.0, self.models[i].end);
            }
            Step::Flush(log) => {
                let (i, log) = self.log(*log);
                log.flush()?;
                self.models[i].flushed_whole();
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
                let model = &self.models[i];
                let start = model.start.max(model.first_base);
                let found = crash::read_from(&log, Offset(start), 300, 2)?;
                let right = Model::records(&model.batches, model.start, i64::MAX);
                assert_eq!(found.len(), right.len());
            }
            Step::LookUp(log) => {
                log_for_time(&self.log(*log).1)?;
            }
            Step::Close => {
                if let Some(manager) = self.manager.take() {
                    manager.close()?;
                    for model in &mut self.models {
                        model.flushed_whole();
                    }
                }
            }
        }
        Ok(())
    }

    /// What must be in the logs; `after` says how much of each.
    pub(crate) fn expected(&self, after: After) -> Vec<Expected> {
        self.models
            .iter()
            .map(|model| Expected::in_doubt(model, after))
            .collect()
    }

    /// Takes the logs as they were found, without a look at what is in them.
    fn take_ends(&mut self) {
        let manager = self.manager.as_ref().unwrap();
        for model in &mut self.models {
            let log = manager.log(&crash::partition(model.topic)).unwrap();
            let expected = Expected::in_doubt(model, After::Kill);
            let after = Model {
                batches: expected.batches,
                ..Model::default()
            };
            (model.start, model.end) = (log.start_offset().0, log.end_offset().0);
            model.batches = after.batches[..after.below(model.end)].to_vec();
            model.flushed_whole();
            model.max_start = expected.max_start;
            model.was_cut = expected.was_cut;
            model.doubt = None;
        }
    }

    /// Takes the logs as they were found, which must fit.
    pub(crate) fn adopt(&mut self) -> Checked {
        let manager = self.manager.take().unwrap();
        let adopted = self.adopt_from(&manager);
        self.manager = Some(manager);
        adopted
    }

    fn adopt_from(&mut self, manager: &Manager) -> Checked {
        for model in &mut self.models {
            let expected = Expected::in_doubt(model, After::Kill);
            let found = check_log(manager, &expected, &mut self.random)?.ok_or("a log is gone")?;
            model.batches = expected.batches[..found.batches].to_vec();
            model.durable = found.batches;
            model.is_named = true;
            (model.start, model.end) = (found.start, found.end);
            model.max_start = expected.max_start;
            model.was_cut = expected.was_cut;
            model.doubt = None;
        }
        Ok(())
    }

    /// What failed has changed nothing, but where it could not be synced how far a log was deleted from its front.
    pub(crate) fn settle(&mut self, step: &Step) {
        let is_offline = self
            .manager
            .as_ref()
            .is_some_and(|manager| manager.dirs()[0].failure.is_some());
        if !is_offline || !matches!(step, Step::Change(_, Change::DeleteRecords(_))) {
            for model in &mut self.models {
                model.doubt = None;
            }
        }
    }

    /// A cut that failed has done nothing, or has cut the log, which takes no appends then. What a crash leaves is between the
    /// two. The log is opened again.
    pub(crate) fn check_failed_cut(&mut self, i: usize) -> Checked {
        let i = i % self.models.len();
        let model = self.models[i].clone();
        let expected: Vec<Expected> = self
            .models
            .iter()
            .map(|model| Expected::in_doubt(model, After::Kill))
            .collect();
        let (_, log) = self.log(i);
        let is_cut = (log.start_offset().0, log.end_offset().0) != (model.start, model.end);
        if is_cut {
            let record = Record::random(&mut Random::new(1), 1, T);
            match log.append(&mut crash::builder_of(&[record]), &AppendOptions::default()) {
                Err(e) if matches!(e.kind(), ErrorKind::KafkaStorage | ErrorKind::DirOffline) => {}
                other => return Err(format!("after a failed cut {other:?}")),
            }
        }
        let killed = self.disk.after_kill();
        self.check_disk(&killed, &expected)
            .map_err(|e| format!("after a kill: {e}"))?;
        let seed = self.random.next();
        let cut = self.disk.after_power_cut(seed);
        let durable: Vec<Expected> = self
            .models
            .iter()
            .map(|model| Expected::in_doubt(model, After::PowerCut))
            .collect();
        self.check_disk(&cut, &durable)
            .map_err(|e| format!("after the power cut {seed:#x}: {e}"))?;
        self.manager.take().unwrap().abandon();
        self.manager =
            Some(crash::open(&self.disk, &self.clock, &self.config).map_err(|e| format!("{e:?}"))?);
        self.adopt()
    }

    /// Opens another disk and compares it with what is expected.
    pub(crate) fn check_disk(&mut self, disk: &SimFs, expected: &[Expected]) -> Checked<Manager> {
        let manager =
            crash::open(disk, &self.clock, &self.config).map_err(|e| format!("opening: {e:?}"))?;
        self.check_logs(&manager, expected)?;
        Ok(manager)
    }

    /// As [`Self::check_disk`], where logs may be missing.
    pub(crate) fn check_what_is_there(&mut self, disk: &SimFs, expected: &[Expected]) -> Checked {
        let manager =
            crash::open(disk, &self.clock, &self.config).map_err(|e| format!("opening: {e:?}"))?;
        for expected in expected {
            check_log(&manager, expected, &mut self.random)?;
        }
        Ok(())
    }

    pub(crate) fn check_logs(&mut self, manager: &Manager, expected: &[Expected]) -> Checked {
        for expected in expected {
            check_log(manager, expected, &mut self.random)?;
        }
        Ok(())
    }

    /// Whatever failed: the process sees what it saw before, and so does one that finds the disk after a crash.
    pub(crate) fn check_unchanged(&mut self) -> Checked {
        let exactly = self.expected(After::Kill);
        if let Some(manager) = self.manager.take() {
            let checked = self.check_logs(&manager, &exactly);
            self.manager = Some(manager);
            checked?;
        }
        let killed = self.disk.after_kill();
        self.check_disk(&killed, &exactly)
            .map_err(|e| format!("after a kill: {e}"))?;
        let seed = self.random.next();
        let cut = self.disk.after_power_cut(seed);
        let after_cut = self.expected(After::PowerCut);
        self.check_disk(&cut, &after_cut)
            .map_err(|e| format!("after the power cut {seed:#x}: {e}"))?;
        Ok(())
    }

    /// A directory that is offline says so to everyone, and is not closed in order. Then it is opened again.
    pub(crate) fn check_offline(&mut self) -> Checked {
        for i in 0..self.models.len() {
            let (i, log) = self.log(i);
            let record = Record::random(&mut Random::new(1), 1, T);
            let append = log
                .append(&mut crash::builder_of(&[record]), &AppendOptions::default())
                .map(|_| ());
            let unflushed = self.models[i].durable < self.models[i].batches.len()
                && log.recovery_point() < log.end_offset();
            let flush = if unflushed {
                log.flush()
            } else {
                log.roll().map(|_| ())
            };
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

    pub(crate) fn reopen_unclean(&mut self) -> Checked {
        let manager =
            crash::open(&self.disk, &self.clock, &self.config).map_err(|e| format!("{e:?}"))?;
        if manager.dirs()[0].was_clean {
            return Err("there is a marker of a clean close".to_owned());
        }
        self.adopt_from(&manager)?;
        self.manager = Some(manager);
        Ok(())
    }
}

pub(crate) fn log_for_time(log: &Arc<Log>) -> Result<(), Error> {
    log.offset_for_timestamp(TimeTarget::At(TimestampMs(T)))?;
    log.offset_for_timestamp(TimeTarget::MaxTimestamp)?;
    Ok(())
}

impl World {
    /// A dump tells what is there.
    pub(crate) fn check_dump(&self) -> Checked {
        let base: Arc<dyn FileSystem> = Arc::new(self.disk.clone());
        let options = DumpOptions {
            only: None,
            config: Arc::clone(&self.config),
            now: TimestampMs(T),
        };
        let mut text = Vec::new();
        dump(&base, crash::DIR.as_ref(), &options, &mut text)
            .map_err(|e| format!("dump: {e:?}"))?;
        let text = String::from_utf8(text).unwrap();
        // A segment that was made for an append which failed may begin above the end.
        let as_before = self.models.iter().filter(|m| m.rolled_to <= m.end);
        for model in as_before {
            let Model { topic, end, .. } = model;
            let start = model.start.max(model.first_base);
            let line = format!("log {topic}-0 start={start} end={end} ");
            if !text.contains(&line) {
                return Err(format!("the dump does not say {line:?}:\n{text}"));
            }
        }
        Ok(())
    }
}
