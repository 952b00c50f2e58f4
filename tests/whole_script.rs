//! One script of every kind of call, over two directories: each of its operations fails once, and the power is cut, or the
//! process killed, at each of its moments. The error surfaces, nothing is torn, and the next opening agrees with a model.
//! design.md 5, hard-cases.md HC22, HC41.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a failure fails the test"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use klog::config::{ConfigSet, Resolved};
use klog::format::builder::BatchBuilder;
use klog::io::sim::{Fault, OpKind};
use klog::io::{FileSystem, ManualClock, SimFs};
use klog::log::{AppendOptions, CursorOptions, Log, WriteDurability};
use klog::manager::{CreateOptions, Manager, ManagerOptions, Pass, Task};
use klog::types::{Offset, TimestampMs, TopicPartition};
use klog::{Error, ErrorKind};

const NOW: i64 = 1_767_000_000_000;
const DIRS: [&str; 2] = ["/disk-a", "/disk-b"];

/// A call of the script; the number is the partition's.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Call {
    Open,
    Create(i32, usize),
    Append(i32),
    AppendSynced(i32),
    Roll(i32),
    Flush(i32),
    Retain(i32),
    DeleteRecords(i32),
    /// Cuts so many records off.
    Truncate(i32, i64),
    TruncateFully(i32),
    Checkpoint,
    Move(i32, usize),
    Delete(i32),
    Run(Task),
    Close,
}

use Call::{
    Append, AppendSynced, Checkpoint, Close, Create, Delete, DeleteRecords, Flush, Move, Open,
    Retain, Roll, Run, Truncate, TruncateFully,
};

/// What retention leaves of the larger logs is small, so that it has something to do.
const SCRIPT: [Call; 58] = [
    Open,
    Create(0, 0),
    Append(0),
    AppendSynced(0),
    Append(0),
    Roll(0),
    Append(0),
    Create(1, 1),
    Append(1),
    Roll(1),
    AppendSynced(1),
    Checkpoint,
    Append(0),
    Roll(0),
    Append(0),
    Retain(0),
    Flush(0),
    DeleteRecords(1),
    Append(1),
    Move(0, 1),
    Append(0),
    AppendSynced(0),
    Truncate(0, 1),
    Append(0),
    Run(Task::DeleteFiles),
    Create(2, 0),
    Append(2),
    Delete(1),
    Append(2),
    Create(1, 0),
    Append(1),
    Run(Task::DeleteLogs),
    Move(1, 1),
    Roll(1),
    Append(1),
    Truncate(1, 2),
    Append(1),
    Append(2),
    Close,
    Open,
    Append(0),
    Append(1),
    Move(2, 1),
    Append(2),
    TruncateFully(2),
    Append(2),
    Flush(2),
    Roll(2),
    Append(2),
    Retain(2),
    DeleteRecords(0),
    Move(2, 0),
    Checkpoint,
    Delete(0),
    Run(Task::HighWatermarks),
    AppendSynced(2),
    Append(1),
    Close,
];

/// The partition that a call is about.
fn concerns(call: Call) -> Option<i32> {
    match call {
        Open | Checkpoint | Run(_) | Close => None,
        Create(n, _)
        | Append(n)
        | AppendSynced(n)
        | Roll(n)
        | Flush(n)
        | Retain(n)
        | DeleteRecords(n)
        | Truncate(n, _)
        | TruncateFully(n)
        | Move(n, _)
        | Delete(n) => Some(n),
    }
}

/// A log as a reader sees it.
#[derive(Clone, Debug, PartialEq, Default)]
struct Content {
    start: i64,
    end: i64,
    records: Vec<(i64, String)>,
}

fn content(log: &Arc<Log>) -> Content {
    let start = log.start_offset();
    let mut cursor = log.cursor(start, CursorOptions::default());
    let mut records = Vec::new();
    loop {
        let found = match cursor.next_records(100) {
            Ok(found) => found,
            Err(e) => {
                // The failure to come was meant for this look: it comes once.
                assert!(e.os_errno().is_some(), "{e:?}");
                return content(log);
            }
        };
        if found.is_empty() {
            return Content {
                start: start.0,
                end: log.end_offset().0,
                records,
            };
        }
        records.extend(found.iter().map(|r| {
            let value = String::from_utf8_lossy(r.value.unwrap_or_default());
            (r.offset.0, value.into_owned())
        }));
    }
}

/// What a partition may be found as.
#[derive(Clone, Debug, Default)]
struct Model {
    /// What it is if nothing is in doubt; `None`: there is none.
    now: Option<Content>,
    /// What it may be on disk instead, since calls failed.
    or: Vec<Option<Content>>,
    /// Below this the records were synced.
    durable: i64,
    /// Whether its directory could not be opened.
    is_unserved: bool,
}

struct World {
    disk: SimFs,
    config: Arc<Resolved>,
    manager: Option<Manager>,
    models: BTreeMap<i32, Model>,
    appended: u32,
    /// What openings told of directories and logs that failed.
    told: Vec<i32>,
}

fn partition(n: i32) -> TopicPartition {
    TopicPartition::new("t", n)
}

/// Whether a log lies between what it was and what a cut that failed was to make of it.
fn is_half_cut(found: Option<&Content>, before: Option<&Content>, after: Option<&Content>) -> bool {
    match (found, before, after) {
        (Some(found), Some(before), Some(after)) => {
            found.end >= after.end && before.records.starts_with(&found.records)
        }
        _ => false,
    }
}

impl World {
    fn new() -> Self {
        let disk = SimFs::new();
        for dir in DIRS {
            disk.create_dir(Path::new(dir)).unwrap();
        }
        disk.sync_dir(Path::new("/")).unwrap();
        let mut set = ConfigSet::broker();
        set.set_topic("t", "retention.bytes", "200").unwrap();
        set.set_topic("t", "file.delete.delay.ms", "0").unwrap();
        set.set("log.segment.delete.delay.ms", "0").unwrap();
        Self {
            disk,
            config: Arc::new(set.resolve().unwrap()),
            manager: None,
            models: (0..3).map(|n| (n, Model::default())).collect(),
            appended: 0,
            told: Vec::new(),
        }
    }

    fn open_on(&self, disk: &SimFs) -> Result<Manager, Error> {
        Manager::open(ManagerOptions {
            fs: Arc::new(disk.clone()),
            clock: Arc::new(ManualClock::new(TimestampMs(NOW))),
            recovery_threads: Some(1),
            ..ManagerOptions::new(
                DIRS.iter().map(PathBuf::from).collect(),
                Arc::clone(&self.config),
            )
        })
    }

    fn log(&self, n: i32) -> Result<Arc<Log>, Error> {
        self.manager.as_ref().unwrap().log(&partition(n))
    }

    /// Makes a call, as a program would.
    fn make(&mut self, call: Call) -> Result<(), Error> {
        if call == Open {
            self.manager = None;
            let manager = self.open_on(&self.disk)?;
            let offline = manager.dirs().into_iter().filter_map(|dir| dir.failure);
            self.told.extend(offline.filter_map(|e| e.os_errno()));
            for failed in manager.failed_logs() {
                self.told.extend(failed.error.os_errno());
                manager.retry_log(&failed.partition)?;
            }
            self.manager = Some(manager);
            return Ok(());
        }
        if let Append(n) | AppendSynced(n) = call {
            self.appended += 1;
            let mut builder = BatchBuilder::new();
            let value = format!("{n}:{} {}", self.appended, "v".repeat(30));
            builder
                .push(
                    TimestampMs(NOW),
                    None,
                    Some(value.as_bytes()),
                    [].into_iter(),
                )
                .unwrap();
            let options = AppendOptions {
                durability: if matches!(call, AppendSynced(_)) {
                    WriteDurability::Synced
                } else {
                    WriteDurability::PageCache
                },
                ..AppendOptions::default()
            };
            return self.log(n)?.append(&mut builder, &options).map(drop);
        }
        let manager = self.manager.as_ref().unwrap();
        match call {
            Open | Append(_) | AppendSynced(_) => unreachable!(),
            Create(n, dir) => {
                let options = CreateOptions {
                    dir: Some(PathBuf::from(DIRS[dir])),
                    ..CreateOptions::default()
                };
                manager.get_or_create_log(&partition(n), &options).map(drop)
            }
            Roll(n) => self.log(n)?.roll().map(drop),
            Flush(n) => self.log(n)?.flush(),
            Retain(n) => manager.retain(&self.log(n)?, Pass::Apply).map(drop),
            DeleteRecords(n) => {
                let log = self.log(n)?;
                let middle = i64::midpoint(log.start_offset().0, log.end_offset().0);
                manager.delete_records(&log, Offset(middle)).map(drop)
            }
            Truncate(n, records) => {
                let log = self.log(n)?;
                let target = Offset((log.end_offset().0 - records).max(log.start_offset().0));
                manager.truncate_to(&log, target).map(drop)
            }
            TruncateFully(n) => manager.truncate_fully(&self.log(n)?, Offset(50), None),
            Checkpoint => manager.checkpoint(),
            Move(n, dir) => manager.move_log(&self.log(n)?, Path::new(DIRS[dir]), || Ok(())),
            Delete(n) => manager.delete_log(&partition(n)),
            Run(task) => manager.run(task),
            Close => manager.close(),
        }
    }

    /// What a partition would be after a call that succeeds.
    fn predicted(&self, call: Call, n: i32) -> Option<Content> {
        let mut after = self.models[&n].now.clone();
        match (call, &mut after) {
            (Create(m, _), None) if m == n => return Some(Content::default()),
            (Delete(m), _) if m == n => return None,
            (Append(m) | AppendSynced(m), Some(log)) if m == n => {
                let value = format!("{n}:{} {}", self.appended + 1, "v".repeat(30));
                log.records.push((log.end, value));
                log.end += 1;
            }
            (Truncate(m, records), Some(log)) if m == n => {
                log.end = (log.end - records).max(log.start);
                log.records.retain(|(offset, _)| *offset < log.end);
            }
            (TruncateFully(m), Some(log)) if m == n => {
                *log = Content {
                    start: 50,
                    end: 50,
                    records: Vec::new(),
                };
            }
            (DeleteRecords(m), Some(log)) if m == n => {
                log.start = i64::midpoint(log.start, log.end);
                log.records.retain(|(offset, _)| *offset >= log.start);
            }
            _ => {}
        }
        after
    }

    /// Makes a call and keeps the models true to it. The error, if it fails.
    fn step(&mut self, call: Call) -> Result<(), Error> {
        let predicted: BTreeMap<i32, Option<Content>> =
            (0..3).map(|n| (n, self.predicted(call, n))).collect();
        let made = self.make(call);
        if matches!(call, Close) || self.manager.is_none() {
            return made;
        }
        for (n, after) in predicted {
            let found = self
                .log(n)
                .ok()
                .map(|log| (content(&log), log.recovery_point().0));
            let model = self.models.get_mut(&n).unwrap();
            let before = model.now.clone();
            let is_offline = self
                .manager
                .as_ref()
                .unwrap()
                .dirs()
                .iter()
                .any(|dir| dir.failure.is_some());
            if is_offline && found.is_none() && (call == Open || model.is_unserved) {
                // Its directory failed when it was opened: it is served the next time.
                model.is_unserved = true;
                continue;
            }
            model.is_unserved = false;
            let (found, durable) = match found {
                Some((found, durable)) => (Some(found), durable),
                None => (None, 0),
            };
            let is_retained = |found: &Option<Content>| match (found, &after) {
                (Some(found), Some(after)) if call == Retain(n) => {
                    found.end == after.end && after.records.ends_with(&found.records)
                }
                _ => false,
            };
            if made.is_ok() {
                // What an earlier call left in doubt shows when the directory is opened again.
                let settled = call == Open
                    && (model.or.contains(&found)
                        || model
                            .or
                            .iter()
                            .any(|or| is_half_cut(found.as_ref(), or.as_ref(), after.as_ref())));
                assert!(
                    found == after || is_retained(&found) || settled,
                    "{call:?}: t-{n} is {found:?}, not {after:?}"
                );
                // A call that had nothing to do says nothing.
                if call == Open || (concerns(call) == Some(n) && found != before) {
                    model.or.clear();
                }
                // What is in doubt stays so: a flush with nothing to do says nothing.
                model.durable = if model.or.is_empty() {
                    durable
                } else {
                    model.durable.min(durable)
                };
            } else {
                assert!(
                    found == after || found == before || is_retained(&found),
                    "{call:?} failed ({made:?}): t-{n} is {found:?}, neither {before:?} nor {after:?}"
                );
                if found != after || found != before {
                    // Whichever it is, the disk may have the other.
                    let other = if found == before { after } else { before };
                    model.or.push(other);
                }
                model.durable = model.durable.min(durable);
                if call == TruncateFully(n) {
                    // Half of it is any beginning of what was there.
                    model.durable = 0;
                }
            }
            model.now = found;
        }
        made
    }

    /// Opens a disk and compares.
    fn check(&self, disk: &SimFs, models: &[(i32, Vec<Option<Content>>, i64)], at: &str) {
        let manager = self.open_on(disk).unwrap_or_else(|e| panic!("{at}: {e:?}"));
        for (n, candidates, durable) in models {
            let failed: Vec<ErrorKind> = manager
                .failed_logs()
                .iter()
                .filter(|failed| failed.partition == partition(*n))
                .map(|failed| failed.error.kind())
                .collect();
            assert!(failed.is_empty(), "{at}: t-{n} failed: {failed:?}");
            let found = manager.log(&partition(*n)).ok().map(|log| content(&log));
            let fits = |candidate: &Option<Content>| match (candidate, &found) {
                (None, None) => true,
                (Some(expected), Some(found)) => {
                    // A prefix of what was there, down to what was synced; retention may have gone on.
                    let prefix: Vec<_> = expected
                        .records
                        .iter()
                        .filter(|(offset, _)| *offset < found.end && *offset >= found.start)
                        .cloned()
                        .collect();
                    found.end <= expected.end
                        && found.end >= (*durable).min(expected.end)
                        && found.records == prefix
                }
                _ => false,
            };
            assert!(
                candidates.iter().any(fits),
                "{at}: t-{n} is {found:?}, expected was one of {candidates:?}, durable below {durable}"
            );
        }
        manager
            .close()
            .unwrap_or_else(|e| panic!("{at}: closing: {e:?}"));
        let again = self.open_on(disk).unwrap();
        assert!(again.dirs().iter().all(|dir| dir.was_clean), "{at}");
        again.close().unwrap();
    }

    fn candidates(&self) -> Vec<(i32, Vec<Option<Content>>, i64)> {
        let of = |(n, model): (&i32, &Model)| {
            let all = [&model.now].into_iter().chain(&model.or);
            (*n, all.cloned().collect(), model.durable)
        };
        self.models.iter().map(of).collect()
    }
}

#[test]
fn the_script_covers_what_it_should() {
    let has = |is_it: fn(&Call) -> bool| SCRIPT.iter().any(is_it);
    assert!(SCRIPT.len() >= 40);
    assert!(
        has(|c| matches!(c, Append(_)))
            && has(|c| matches!(c, Roll(_)))
            && has(|c| matches!(c, Flush(_)))
    );
    assert!(
        has(|c| matches!(c, Retain(_)))
            && has(|c| matches!(c, Truncate(..)))
            && has(|c| *c == Checkpoint)
    );
    assert!(
        has(|c| matches!(c, Move(..))) && has(|c| matches!(c, Delete(_))) && has(|c| *c == Close)
    );
}

#[test]
fn every_operation_of_the_script_fails_once() {
    let operations = {
        let mut world = World::new();
        world.disk.start_trace();
        for call in SCRIPT {
            world.step(call).unwrap();
        }
        world.disk.trace()
    };
    let (mut surfaced, mut offline) = (0_usize, 0_usize);
    for (n, op) in operations.iter().enumerate() {
        for errno in [libc::EIO, libc::ENOSPC] {
            let at = format!("operation {n} {op:?} fails with {errno}");
            let mut world = World::new();
            world.disk.inject(Fault {
                kind: None,
                path_part: String::new(),
                skip: n as u64,
                times: 1,
                errno,
                stored_bytes: op.bytes / 2,
            });
            let mut has_surfaced = false;
            for call in SCRIPT {
                if call != Open && world.manager.is_none() {
                    continue;
                }
                let Err(e) = world.step(call) else { continue };
                if e.os_errno() == Some(errno) {
                    has_surfaced = true;
                }
                if call == Open {
                    // Tried again, as a person would.
                    world
                        .step(Open)
                        .unwrap_or_else(|e| panic!("{at}: again: {e:?}"));
                }
            }
            has_surfaced |= world.told.contains(&errno);
            surfaced += usize::from(has_surfaced);
            if let Some(manager) = &world.manager {
                offline += usize::from(manager.dirs().iter().any(|dir| dir.failure.is_some()));
            }
            // The lock itself ends with its owner; the directory of a note goes with the next opening.
            let name = op.path.file_name().unwrap_or_default().to_string_lossy();
            let is_minor =
                op.kind == OpKind::Remove && (name == ".lock" || name.ends_with("-delete"));
            assert!(
                has_surfaced || is_minor || !op.kind.is_change(),
                "{at}: it did not surface"
            );
            world.manager = None;
            world.disk.clear_faults();
            let candidates = world.candidates();
            world.check(&world.disk.after_kill(), &candidates, &at);
        }
    }
    println!(
        "whole script: {} operations, {} failures, {surfaced} surfaced, {offline} took a directory offline",
        operations.len(),
        2 * operations.len()
    );
    assert!(operations.len() >= 1500 && surfaced >= 2500);
}

#[test]
fn the_script_is_interrupted_at_every_moment() {
    let mut world = World::new();
    let mut moments_checked = 0;
    for (step, call) in SCRIPT.into_iter().enumerate() {
        let before = world.candidates();
        world.disk.record_moments();
        world.step(call).unwrap();
        let after = world.candidates();
        for (n, moment) in world.disk.take_moments().into_iter().enumerate() {
            // What holds at each moment of a call: before it or behind it, and durable what was so at both ends.
            let durable = |a: i64, b: i64| a.min(b);
            let both = |is_kill: bool| -> Vec<_> {
                before
                    .iter()
                    .zip(&after)
                    .map(|((n, a, x), (_, b, y))| {
                        let mut all: Vec<Option<Content>> = a.iter().chain(b).cloned().collect();
                        // A log that nothing was flushed of goes as a whole.
                        if !is_kill && durable(*x, *y) == 0 {
                            all.push(None);
                        }
                        let shortest = all.iter().flatten().map(|c| c.end).min().unwrap_or(0);
                        let floor = match call {
                            // Half of it is any beginning of what was there.
                            TruncateFully(_) => 0,
                            _ if is_kill => shortest,
                            _ => durable(*x, *y).min(shortest),
                        };
                        (*n, all, floor)
                    })
                    .collect()
            };
            let at = format!("step {step} {call:?}, moment {n}");
            for seed in 0..2 {
                let cut = moment.after_power_cut(seed * 7919 + n as u64);
                world.check(&cut, &both(false), &format!("{at}, power cut {seed}"));
                moments_checked += 1;
            }
            world.check(&moment.after_kill(), &both(true), &format!("{at}, kill"));
            moments_checked += 1;
        }
    }
    println!("whole script: {moments_checked} interruptions");
    assert!(moments_checked >= 3000);
}
