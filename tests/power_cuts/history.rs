//! Random histories of a directory, with the checks at each of their moments.

use std::sync::Arc;

use super::check::Crash;
use super::crash::change::{Change, Kinds};
use super::crash::check::{Found, check_log};
use super::crash::model::{After, Expected, Model};
use super::crash::{self, Random, T};
use super::{Checked, Covered, count};
use klog::config::Resolved;
use klog::format::uuid::Uuid;
use klog::io::{ManualClock, SimFs};
use klog::log::{Log, WriteDurability};
use klog::manager::{CreateOptions, HighWatermarks, Manager};
use klog::types::{Offset, TimestampMs};

/// One random history of a directory, with the checks at each of its moments.
pub(crate) struct History {
    pub(crate) random: Random,
    pub(crate) disk: SimFs,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) now: i64,
    pub(crate) config: Arc<Resolved>,
    pub(crate) manager: Option<Manager>,
    pub(crate) models: Vec<Model>,
    pub(crate) kinds: Kinds,
    pub(crate) high_watermarks: HighWatermarks,
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
        let kinds = Kinds::random(&mut random);
        let high_watermarks = *random.pick(&[
            HighWatermarks::FollowEnd,
            HighWatermarks::FollowEnd,
            HighWatermarks::FromCheckpoint,
        ]);
        Self {
            told: vec![format!(
                "config {:?} {kinds:?} {high_watermarks:?}",
                config.1
            )],
            kinds,
            high_watermarks,
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
        for _ in 0..9 + self.random.below(6) {
            if self.models.is_empty() {
                self.step("create a again", |h| h.create("a"))?;
            }
            if self.random.one_in(5) {
                let is_manual = self.is_manual();
                let other = Change::other(&mut self.random, self.kinds, is_manual);
                if let Some(change) = other {
                    let name = match &change {
                        Change::TruncateTo(_) => "cut",
                        Change::TruncateFully(_) => "drop",
                        _ => "change",
                    };
                    self.step(name, |h| h.make(&change))?;
                    continue;
                }
            }
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
        let before = self.models.clone();
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
            let after_cut = self.expected(from, After::PowerCut);
            let after_kill = self.expected(from, After::Kill);
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
        Ok(())
    }

    /// What must be there at a moment: at least what `from` promises, at most what there is now.
    pub(crate) fn expected(&self, from: &[Model], after: After) -> Vec<Expected> {
        let all = self.models.iter().enumerate();
        all.map(|(i, now)| Expected::between(from.get(i), now, after))
            .collect()
    }

    pub(crate) fn is_manual(&self) -> bool {
        self.high_watermarks == HighWatermarks::FromCheckpoint
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
        let manager = crash::open_with(&self.disk, &self.clock, &self.config, self.high_watermarks)
            .map_err(|e| format!("{e:?}"))?;
        let begins_anew = |model: &Model| model.was_cut && model.start == model.end;
        if self.clean && !self.models.iter().any(begins_anew) {
            crash::check_nothing_done(&manager)?;
        }
        // What a recovery found stays from now on, synced.
        let expected = self.expected(&self.models, After::PowerCut);
        let mut ends = Vec::new();
        for (mut model, expected) in std::mem::take(&mut self.models).into_iter().zip(expected) {
            // One that was made and never flushed may be gone.
            if let Some(found) = check_log(&manager, &expected, &mut self.random)? {
                adopt(&mut model, found);
                ends.push((found.start, found.end, found.batches));
                self.models.push(model);
            }
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
        self.models
            .push(Model::new(topic, topic_id, self.is_manual()));
        Ok(format!("{topic_id:?}"))
    }

    pub(crate) fn random_uuid(&mut self) -> Uuid {
        let mut id = [1; 16];
        id[8..].copy_from_slice(&self.random.next().to_be_bytes());
        Uuid(id)
    }

    pub(crate) fn append(&mut self, durability: WriteDurability) -> Checked<String> {
        let (now, kinds) = (self.now, self.kinds);
        let change = Change::append(&mut self.random, kinds, durability, &mut self.next_id, now);
        self.make(&change)
    }

    pub(crate) fn make(&mut self, change: &Change) -> Checked<String> {
        let i = self.random.below(self.models.len());
        let manager = self.manager.as_ref().unwrap();
        Ok(change.make(manager, &mut self.models[i])?)
    }

    pub(crate) fn roll(&mut self) -> Checked<String> {
        let (i, log) = self.random_log();
        match log.roll() {
            Ok(base) if base.0 != self.models[i].end => {
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
        self.models[i].flushed_whole();
        Ok(self.models[i].topic.to_owned())
    }

    pub(crate) fn flush_partly(&mut self) -> Checked<String> {
        let (i, log) = self.random_log();
        let end = usize::try_from(self.models[i].end).unwrap();
        let upto = i64::try_from(self.random.below(end + 3)).unwrap();
        log.flush_to(Offset(upto)).map_err(|e| format!("{e:?}"))?;
        let model = &mut self.models[i];
        model.flushed(upto);
        model.is_named = true;
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
            model.flushed_whole();
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

/// What a recovery found stays from now on, synced.
pub(crate) fn adopt(model: &mut Model, found: Found) {
    if found.batches < model.batches.len() {
        model.batches.truncate(found.batches);
    }
    model.durable = found.batches;
    model.is_named = true;
    (model.start, model.end) = (found.start, found.end);
    model.max_start = model.max_start.max(found.start);
    model.high_watermark = model.high_watermark.map(|_| found.high_watermark);
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
