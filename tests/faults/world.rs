//! A disk, a manager on it, and a model of what must be in there, whatever fails.

use std::sync::Arc;

use super::crash::{self, Expected, Random, Record, T};
use klog::config::Resolved;
use klog::format::codec::Codec;
use klog::format::uuid::Uuid;
use klog::inspect::{DumpOptions, dump};
use klog::io::sim::{Op, OpKind};
use klog::io::{FileSystem, ManualClock, SimFs};
use klog::log::{AppendOptions, Log, TimeTarget, WriteDurability};
use klog::manager::{CreateOptions, Manager};
use klog::types::{LeaderEpoch, Offset, TimestampMs};
use klog::{Error, ErrorKind};

pub(crate) type Checked<T = ()> = Result<T, String>;

/// One call. Which log it is for is a number that counts modulo the logs that there are.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Open,
    Create(&'static str, Option<Uuid>),
    Append {
        log: usize,
        records: Vec<Record>,
        codec: Codec,
        new_epoch: bool,
        durability: WriteDurability,
    },
    Roll(usize),
    Flush(usize),
    Checkpoint,
    AssignTopicId(usize, Uuid),
    Read(usize),
    LookUp(usize),
    Close,
}

#[derive(Clone, Default)]
pub(crate) struct Model {
    pub(crate) topic: &'static str,
    pub(crate) records: Vec<Record>,
    pub(crate) durable: usize,
    pub(crate) topic_id: Option<Uuid>,
    /// What failed calls may have stored all the same.
    pub(crate) doubtful_ids: Vec<Uuid>,
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
                let n = 1 + random.below(3);
                next_id += n as u64;
                Step::Append {
                    log,
                    records: (0..n)
                        .map(|k| Record::random(random, next_id + k as u64 * 1000, T))
                        .collect(),
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
                    for model in &mut self.models {
                        model.durable = model.records.len();
                    }
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
                    self.models.push(Model {
                        topic,
                        topic_id: *topic_id,
                        ..Model::default()
                    });
                }
            }
            Step::Append {
                log,
                records,
                codec,
                new_epoch,
                durability,
            } => {
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
                model
                    .records
                    .extend(records.iter().map(|r| Record { epoch, ..r.clone() }));
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
    pub(crate) fn expected(&self, at_least: impl Fn(&Model) -> usize) -> Vec<Expected> {
        let one = |model: &Model| Expected {
            topic: model.topic.to_owned(),
            at_least: at_least(model),
            at_most: model.records.len(),
            records: model.records.clone(),
            exists: true,
            topic_ids: match model.topic_id {
                Some(id) => vec![Some(id)],
                None => [None]
                    .into_iter()
                    .chain(model.doubtful_ids.iter().copied().map(Some))
                    .collect(),
            },
        };
        self.models.iter().map(one).collect()
    }

    /// An append that was stored and then could not be synced is in the log, and the directory offline: whether the disk
    /// has it nobody can say. Whether that is what happened.
    pub(crate) fn adopt_unsynced(&mut self, step: &Step, op: &Op) -> Checked<bool> {
        let (
            Step::Append {
                log,
                records,
                new_epoch,
                ..
            },
            Some(_),
        ) = (step, &self.manager)
        else {
            return Ok(false);
        };
        let (i, log) = self.log(*log);
        let had = self.models[i].records.len();
        let has = usize::try_from(log.end_offset().0).unwrap();
        if has == had {
            return Ok(false);
        }
        if has != had + records.len() || op.kind != OpKind::Sync {
            return Err(format!(
                "the failed append moved the end from {had} to {has}"
            ));
        }
        let latest = self.models[i].records.last().map_or(0, |r| r.epoch);
        let epoch = latest + i32::from(*new_epoch);
        self.models[i]
            .records
            .extend(records.iter().map(|r| Record { epoch, ..r.clone() }));
        Ok(true)
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
            crash::check_log(&manager, expected, &mut self.random)?;
        }
        Ok(())
    }

    pub(crate) fn check_logs(&mut self, manager: &Manager, expected: &[Expected]) -> Checked {
        for expected in expected {
            crash::check_log(manager, expected, &mut self.random)?.ok_or("a log is gone")?;
        }
        Ok(())
    }

    /// Whatever failed: the process sees what it saw before, and so does one that finds the disk after a crash.
    pub(crate) fn check_unchanged(&mut self) -> Checked {
        let exactly = self.expected(|model| model.records.len());
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
        let after_cut = self.expected(|model| model.durable);
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
            let unflushed = self.models[i].durable < self.models[i].records.len()
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
        let exactly = self.expected(|model| model.records.len());
        let manager =
            crash::open(&self.disk, &self.clock, &self.config).map_err(|e| format!("{e:?}"))?;
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
        for model in &self.models {
            let line = format!("log {}-0 start=0 end={} ", model.topic, model.records.len());
            if !text.contains(&line) {
                return Err(format!("the dump does not say {line:?}:\n{text}"));
            }
        }
        Ok(())
    }
}
