//! What a crash must have left.

use std::sync::Arc;

use super::crash::change::{Change, Kinds};
use super::crash::check::check_log;
use super::crash::model::{After, Expected, Model};
use super::crash::{self, Random};
use super::history::{History, adopt};
use super::{Checked, count};
use klog::format::checkpoint::{self, RECOVERY_POINT_FILE};
use klog::inspect::{DumpOptions, dump};
use klog::io::{FileSystem, ManualClock, SimFs};
use klog::log::WriteDurability;
use klog::manager::Manager;
use klog::types::TimestampMs;

/// The recovery points on a disk: everything below is promised to be there.
pub(crate) fn recovery_points(disk: &SimFs) -> Checked<checkpoint::Offsets> {
    let path = format!("{}/{RECOVERY_POINT_FILE}", crash::DIR);
    let content = klog::io::read_file(disk, path.as_ref()).map_err(|e| format!("{e:?}"))?;
    checkpoint::parse(&content.unwrap_or_default()).map_err(|e| format!("{e:?}"))
}

/// Checks what a crash left.
pub(crate) struct Crash<'h> {
    pub(crate) history: &'h History,
    /// Whether the directory was closed in order before.
    pub(crate) clean: bool,
    /// What a power cut leaves.
    pub(crate) durable: &'h [Expected],
}

impl Crash<'_> {
    pub(crate) fn open(&self, disk: &SimFs) -> Checked<Manager> {
        let clock = Arc::new(ManualClock::new(TimestampMs(self.history.now)));
        let history = self.history;
        crash::open_with(disk, &clock, &history.config, history.high_watermarks)
            .map_err(|e| format!("opening: {e:?}"))
    }

    /// Opens the disk and compares. What was found becomes the expectation of what follows: all of it, and no more.
    pub(crate) fn open_and_compare(
        &self,
        disk: &SimFs,
        expected: &[Expected],
        random: &mut Random,
    ) -> Checked<(Manager, Vec<Model>)> {
        let promised = recovery_points(disk)?;
        let manager = self.open(disk)?;
        if let Some(failed) = manager.failed_logs().first() {
            return Err(format!(
                "log {} does not open: {:?}",
                failed.partition, failed.error
            ));
        }
        let was_clean = manager.dirs()[0].was_clean;
        // A log whose start lies behind all that a cut left begins anew there. A cut takes the whole batch that holds its
        // offset, so that what is left may end in front of a start below the cut.
        let begins_anew = |log: &Expected| {
            let kept = log.batches[..log.at_most].last();
            let kept_end = kept.map_or(0, |batch| batch.last + 1);
            let is_behind = log.starts.iter().any(|start| *start > kept_end);
            log.was_cut && (is_behind || log.starts.contains(&log.end_at_most))
        };
        if was_clean {
            if !expected.iter().any(begins_anew) {
                crash::check_nothing_done(&manager)?;
            }
        } else if self.clean {
            return Err("the marker of the clean close is gone".to_owned());
        }
        let mut found = Vec::new();
        for expected in expected {
            let mut expected = expected.clone();
            if was_clean && expected.exists && self.clean {
                expected.at_least = expected.at_most;
            }
            let Some(in_log) = check_log(&manager, &expected, random)? else {
                continue;
            };
            // What a recovery point vouches for is there: also when the log was cut since, and appended to.
            let partition = crash::partition(expected.topic);
            let point = promised.get(&partition).map_or(0, |point| point.0);
            let mut lost = expected.batches[in_log.batches..expected.at_most].iter();
            let vouches_for = if in_log.start == in_log.end || expected.anew.is_some() {
                None
            } else {
                lost.find(|batch| batch.last < point)
            };
            let now = recovery_points(disk)?;
            let now = now.get(&partition).map_or(0, |point| point.0);
            if vouches_for.is_some() || now > in_log.end {
                return Err(format!(
                    "the recovery point of {} was {point}, then {now}, it ends at {}",
                    expected.topic, in_log.end
                ));
            }
            let mut model = Model {
                topic: expected.topic,
                batches: expected.batches,
                max_start: expected.max_start,
                was_cut: expected.was_cut,
                generation: expected.generation,
                high_watermark: expected.is_manual.then_some(0),
                topic_id: manager.log(&partition).unwrap().topic_id(),
                appends: 1_000_000,
                ..Model::default()
            };
            adopt(&mut model, in_log);
            found.push(model);
        }
        Ok((manager, found))
    }

    pub(crate) fn check(&self, disk: &SimFs, expected: &[Expected], seed: u64) -> Checked {
        let mut random = Random::new(seed);
        let then = [
            "a second crash",
            "appends",
            "another open",
            "a clean close",
            "a look",
        ][random.below(5)];
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
    pub(crate) fn second_crash(
        &self,
        disk: &SimFs,
        found: &[Model],
        random: &mut Random,
    ) -> Checked {
        let moments = disk.take_moments();
        let i = random.below(moments.len());
        let (name, again) = if random.one_in(3) {
            // A process that dies leaves everything for which the first crash had an answer.
            ("kill", moments[i].after_kill())
        } else {
            ("cut", moments[i].after_power_cut(random.next()))
        };
        let all = exactly(found);
        let expected = if i + 1 == moments.len() || name == "kill" {
            &all
        } else {
            self.durable
        };
        let crash = Crash {
            clean: false,
            ..*self
        };
        crash
            .open_and_compare(&again, expected, random)
            .map_err(|problem| {
                format!("{name} at moment {i} of {}: {problem}", moments.len() - 1)
            })?;
        Ok(())
    }

    /// Appends get the next offsets, and a cut after them takes nothing that was found, and brings nothing back.
    pub(crate) fn appends(
        &self,
        disk: &SimFs,
        manager: &Manager,
        mut found: Vec<Model>,
        random: &mut Random,
    ) -> Checked {
        let kinds = Kinds {
            cuts: random.one_in(2) && self.history.kinds.cuts,
            ..self.history.kinds
        };
        let mut told = Vec::new();
        for (n, model) in found.iter_mut().enumerate() {
            let mut id = 1_000_000 + 1000 * n as u64;
            for _ in 0..=random.below(3) {
                let durability = *random.pick(&[
                    WriteDurability::PageCache,
                    WriteDurability::PageCache,
                    WriteDurability::Synced,
                ]);
                let other = random
                    .one_in(6)
                    .then(|| Change::other(random, kinds, false));
                let change = other.flatten().unwrap_or_else(|| {
                    Change::append(random, kinds, durability, &mut id, self.history.now)
                });
                told.push(change.make(manager, model)?);
            }
        }
        let crash = Crash {
            clean: false,
            ..*self
        };
        let seed = random.next();
        crash
            .open_and_compare(&disk.after_power_cut(seed), &promised(&found), random)
            .map_err(|problem| format!("{told:?}, cut {seed:#x}: {problem}"))?;
        Ok(())
    }

    /// Opening what was opened changes nothing.
    pub(crate) fn another_open(
        &self,
        disk: &SimFs,
        once: Option<crash::Files>,
        found: &[Model],
        random: &mut Random,
    ) -> Checked {
        let crash = Crash {
            clean: false,
            ..*self
        };
        let (manager, _) = crash.open_and_compare(disk, &exactly(found), random)?;
        manager.abandon();
        let files = |mut files: crash::Files| {
            // Deleting moves an epoch up to the log start; if that is the log end the second load forgets it, as Kafka's does
            // (log.md 8.9).
            if found.iter().any(|model| model.max_start > 0) {
                files.retain(|(path, _)| !path.ends_with("leader-epoch-checkpoint"));
            }
            files
        };
        match once.and_then(|once| crash::difference(&files(once), &files(crash::files(disk)))) {
            None => Ok(()),
            Some(what) => Err(format!("the files differ: {what}")),
        }
    }

    /// After a close nothing is left to do, whatever comes.
    pub(crate) fn clean_close(
        &self,
        disk: &SimFs,
        found: &[Model],
        random: &mut Random,
    ) -> Checked {
        let crash = Crash {
            clean: true,
            ..*self
        };
        let after = if random.one_in(2) {
            disk.after_kill()
        } else {
            disk.after_power_cut(random.next())
        };
        crash.open_and_compare(&after, &exactly(found), random)?;
        count(&self.history.covered.clean);
        Ok(())
    }

    /// A dump tells what opening finds, and changes nothing.
    pub(crate) fn look(&self, disk: &SimFs, found: &[Model]) -> Checked {
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
        for model in found {
            let Model {
                topic, start, end, ..
            } = model;
            let line = format!("log {topic}-0 start={start} end={end} ");
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

fn exactly(found: &[Model]) -> Vec<Expected> {
    found.iter().map(Expected::exactly).collect()
}

/// What a power cut leaves of logs that were found and appended to.
fn promised(found: &[Model]) -> Vec<Expected> {
    let between = |model| Expected::between(Some(model), model, After::PowerCut);
    found.iter().map(between).collect()
}
