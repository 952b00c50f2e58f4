//! Random histories of a directory, with the checks at each of their moments.

use std::sync::Arc;

use super::check::Crash;
use super::crash::{self, Expected, Random, Record, T};
use super::{Checked, Covered, count};
use klog::config::Resolved;
use klog::format::codec::Codec;
use klog::format::uuid::Uuid;
use klog::io::{ManualClock, SimFs};
use klog::log::{AppendOptions, Log, WriteDurability};
use klog::manager::{CreateOptions, Manager};
use klog::types::{LeaderEpoch, Offset, TimestampMs};

/// What is known of a log.
#[derive(Clone, Default)]
pub(crate) struct Model {
    pub(crate) topic: &'static str,
    pub(crate) records: Vec<Record>,
    /// So many are below a flush that returned.
    pub(crate) durable: usize,
    pub(crate) topic_id: Option<Uuid>,
}

/// One random history of a directory, with the checks at each of its moments.
pub(crate) struct History {
    pub(crate) random: Random,
    pub(crate) disk: SimFs,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) now: i64,
    pub(crate) config: Arc<Resolved>,
    pub(crate) manager: Option<Manager>,
    pub(crate) models: Vec<Model>,
    /// Whether the directory was closed in order.
    pub(crate) clean: bool,
    pub(crate) next_id: u64,
    pub(crate) told: Vec<String>,
    pub(crate) covered: Covered,
}

impl History {
    pub(crate) fn new(seed: u64) -> Self {
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

    pub(crate) fn run(&mut self) -> Checked {
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
    pub(crate) fn step(
        &mut self,
        name: &str,
        act: impl FnOnce(&mut Self) -> Checked<String>,
    ) -> Checked {
        let (before, was_clean) = (self.models.clone(), self.clean);
        self.disk.record_moments();
        let told = act(self).map_err(|problem| format!("{name}: {problem}"))?;
        self.told.push(format!("{name} {told}"));
        let moments = self.disk.take_moments();
        let last = moments.len() - 1;
        // The first moment is the last one of the step before.
        for (i, moment) in moments.iter().enumerate().skip(1) {
            let (from, clean) = if i == last {
                (&self.models, self.clean)
            } else {
                (&before, false)
            };
            let after_cut = self.expected(from, |model| model.durable);
            let after_kill = self.expected(from, |model| model.records.len());
            let cut_seed = self.random.next();
            let at = |what: &str| {
                format!(
                    "moment {i} of {last} in step {}, {what}",
                    self.told.len() - 1
                )
            };
            count(&self.covered.cuts);
            let crash = Crash {
                history: self,
                clean,
                durable: &after_cut,
            };
            crash
                .check(&moment.after_power_cut(cut_seed), &after_cut, cut_seed)
                .map_err(|problem| {
                    format!("{}: {problem}", at(&format!("power cut {cut_seed:#x}")))
                })?;
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
    pub(crate) fn expected(
        &self,
        from: &[Model],
        at_least: impl Fn(&Model) -> usize,
    ) -> Vec<Expected> {
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

    pub(crate) fn manager(&self) -> &Manager {
        self.manager.as_ref().unwrap()
    }

    pub(crate) fn random_log(&mut self) -> (usize, Arc<Log>) {
        let i = self.random.below(self.models.len());
        (
            i,
            self.manager()
                .log(&crash::partition(self.models[i].topic))
                .unwrap(),
        )
    }

    pub(crate) fn open(&mut self) -> Checked<String> {
        let manager =
            crash::open(&self.disk, &self.clock, &self.config).map_err(|e| format!("{e:?}"))?;
        if self.clean {
            crash::check_nothing_done(&manager)?;
        }
        // What a recovery found stays from now on, synced.
        let expected = self.expected(&self.models, |model| model.durable);
        let mut ends = Vec::new();
        for (model, expected) in self.models.iter_mut().zip(expected) {
            let end =
                crash::check_log(&manager, &expected, &mut self.random)?.ok_or("a log is gone")?;
            model.records.truncate(end);
            model.durable = end;
            ends.push(end);
        }
        self.manager = Some(manager);
        self.clean = false;
        Ok(format!("{ends:?}"))
    }

    pub(crate) fn create(&mut self, topic: &'static str) -> Checked<String> {
        if self.models.iter().any(|model| model.topic == topic) {
            return Ok("again".to_owned());
        }
        let topic_id = self.random.one_in(2).then(|| self.random_uuid());
        let options = CreateOptions {
            topic_id,
            dir: None,
            ..CreateOptions::default()
        };
        self.manager()
            .get_or_create_log(&crash::partition(topic), &options)
            .map_err(|e| format!("{e:?}"))?;
        self.models.push(Model {
            topic,
            topic_id,
            ..Model::default()
        });
        Ok(format!("{topic_id:?}"))
    }

    pub(crate) fn random_uuid(&mut self) -> Uuid {
        let mut id = [1; 16];
        id[8..].copy_from_slice(&self.random.next().to_be_bytes());
        Uuid(id)
    }

    pub(crate) fn append(&mut self, durability: WriteDurability) -> Checked<String> {
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
            Err(e) if e.kind() == klog::ErrorKind::RecordListTooLarge => {
                return Ok("refused".to_owned());
            }
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
        model.durable = model
            .durable
            .max(usize::try_from(log.recovery_point().0).unwrap());
        Ok(format!(
            "{n} to {} in epoch {epoch}, durable {}",
            model.topic, model.durable
        ))
    }

    pub(crate) fn roll(&mut self) -> Checked<String> {
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

    pub(crate) fn flush(&mut self) -> Checked<String> {
        let (i, log) = self.random_log();
        log.flush().map_err(|e| format!("{e:?}"))?;
        self.models[i].durable = self.models[i].records.len();
        Ok(self.models[i].topic.to_owned())
    }

    pub(crate) fn flush_partly(&mut self) -> Checked<String> {
        let (i, log) = self.random_log();
        let upto = self.random.below(self.models[i].records.len() + 3);
        log.flush_to(Offset(i64::try_from(upto).unwrap()))
            .map_err(|e| format!("{e:?}"))?;
        let model = &mut self.models[i];
        model.durable = model.durable.max(upto.min(model.records.len()));
        Ok(format!("{} to {upto}", model.topic))
    }

    pub(crate) fn checkpoint(&mut self) -> Checked<String> {
        self.manager().checkpoint().map_err(|e| format!("{e:?}"))?;
        Ok(String::new())
    }

    pub(crate) fn assign_topic_id(&mut self) -> Checked<String> {
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
    pub(crate) fn advance(&mut self) -> Checked<String> {
        self.now += 1 + i64::try_from(self.random.below(1000)).unwrap();
        self.clock.set(TimestampMs(self.now));
        Ok(String::new())
    }

    pub(crate) fn close(&mut self) -> Checked<String> {
        self.manager().close().map_err(|e| format!("{e:?}"))?;
        self.manager = None;
        for model in &mut self.models {
            model.durable = model.records.len();
        }
        self.clean = true;
        count(&self.covered.clean);
        Ok(String::new())
    }

    pub(crate) fn kill(&mut self) {
        self.disk = self.disk.after_kill();
        self.manager = None;
        // What the process wrote is not lost, though not durable either.
        self.told.push("kill".to_owned());
    }

    pub(crate) fn cut(&mut self) {
        let seed = self.random.next();
        self.disk = self.disk.after_power_cut(seed);
        self.manager = None;
        self.told.push(format!("power cut {seed:#x}"));
    }
}

pub(crate) fn random_config(
    random: &mut Random,
) -> (Arc<Resolved>, Vec<(&'static str, &'static str)>) {
    let mut keys = vec![
        (
            "internal.segment.bytes",
            *random.pick(&["700", "1200", "2000", "4000", "100000"]),
        ),
        (
            "index.interval.bytes",
            *random.pick(&["0", "0", "150", "4096"]),
        ),
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
