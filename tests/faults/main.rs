//! Every operation of a script fails, one after the other and with every kind of error; the disk is full, or dies.
//!
//! A failure surfaces with its errno and path. What failed changed nothing: the log is as it was, a full disk or a lack
//! of descriptors lets the same call succeed later, with the same offsets. A failed sync or an I/O error takes the
//! directory offline, and then nothing claims that it was closed in order. Whatever happens, the next open finds what was
//! appended (design.md 5.3-5.6, hard-cases.md HC22, HC41).
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

#[path = "../crash/mod.rs"]
mod crash;

mod chosen;
mod world;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crash::Random;
use crash::model::{After, Expected, Model};
use crash::run::Seeds;
use klog::config::Resolved;
use klog::io::sim::{Fault, Op, OpKind};
use klog::{Error, ErrorKind};
use world::{Checked, Step, World, config, script};

/// How many scripts have each of their operations fail.
const SEEDS: u64 = 12;

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
fn run_with(
    steps: &[Step],
    config: &Arc<Resolved>,
    op: &Op,
    fault: Fault,
    counts: &Counts,
) -> Checked {
    let errno = fault.errno;
    let mut surfaced = false;
    let mut world = World::new(config);
    world.disk.inject(fault);
    count(&counts.runs);
    for (i, step) in steps.iter().enumerate() {
        let was_open = world.manager.is_some();
        let ends: Vec<i64> = world.models.iter().map(|model| model.end).collect();
        let Err(error) = world.act(step) else {
            continue;
        };
        let at = |problem: String| format!("step {i} {step:?} failed ({error:?}), then: {problem}");
        count(&counts.surfaced);
        surfaced = true;
        check_error(&error, op, errno).map_err(at)?;
        let ends_now: Vec<i64> = world.models.iter().map(|model| model.end).collect();
        // An append that was stored and then could not be synced is in the log, and the directory offline: whether the disk
        // has it nobody can say.
        let adopted = ends != ends_now;
        if adopted && op.kind != OpKind::Sync {
            return Err(at(format!(
                "the failed append moved {ends:?} to {ends_now:?}"
            )));
        }
        if let Step::Change(log, change) = step
            && change.is_cut()
        {
            world.check_failed_cut(*log).map_err(at)?;
            count(&counts.retried);
            world.act(step).map_err(|e| at(format!("again: {e:?}")))?;
            continue;
        }
        world.settle(step);
        world.check_unchanged().map_err(at)?;
        if let Some(manager) = &world.manager {
            let offline = manager.dirs()[0].failure.is_some();
            let is_sync = matches!(op.kind, OpKind::Sync | OpKind::SyncDir);
            let lasts =
                errno == libc::EIO || (is_sync && errno == libc::ENOSPC) || op.kind == OpKind::Sync;
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
    world
        .check_unchanged()
        .map_err(|e| format!("at the end: {e}"))
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
    let [runs, surfaced, offline, retried] = [
        &counts.runs,
        &counts.surfaced,
        &counts.offline,
        &counts.retried,
    ]
    .map(|n| n.load(Ordering::SeqCst));
    println!(
        "faults: {runs} runs with one failure, {surfaced} surfaced, {offline} took the directory offline, {retried} retried"
    );
    if seeds.are_all_of(SEEDS) {
        assert!(
            runs >= 12_000 && offline >= 1500 && retried >= 12_000,
            "too little is covered"
        );
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
        let Err(error) = world.act(step) else {
            continue;
        };
        let offline = match step {
            Step::Create(..) => ErrorKind::KafkaStorage,
            _ => ErrorKind::DirOffline,
        };
        if error.os_errno() != Some(libc::EIO) && error.kind() != offline {
            return Err(format!("{step:?} failed with {error:?}"));
        }
        match step {
            Step::Create(topic, id) if world.models.iter().all(|model| model.topic != *topic) => {
                created = Some((*topic, *id));
            }
            _ => {}
        }
    }
    world.manager = None;
    let in_doubt = |world: &World, after: After| -> Vec<Expected> {
        let all = world.models.iter();
        all.map(|model| Expected::in_doubt(model, after)).collect()
    };
    let mut expected = in_doubt(&world, After::Kill);
    if let Some((topic, id)) = created {
        expected.push(Expected::between(
            None,
            &Model::new(topic, id, false),
            After::Kill,
        ));
    }
    let killed = world.disk.after_kill();
    world
        .check_what_is_there(&killed, &expected)
        .map_err(|e| format!("after a kill: {e}"))?;
    for (expected, durable) in expected.iter_mut().zip(in_doubt(&world, After::PowerCut)) {
        *expected = durable;
    }
    let cut = world.disk.after_power_cut(last_op);
    world
        .check_what_is_there(&cut, &expected)
        .map_err(|e| format!("after a power cut: {e}"))
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
    assert!(
        !seeds.are_all_of(60) || runs >= 15_000,
        "too little is covered"
    );
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
        let Err(error) = world.act(step) else {
            continue;
        };
        let at = |problem: String| format!("step {i} {step:?} failed ({error:?}), then: {problem}");
        count(full);
        if error.kind() != ErrorKind::NoSpace || error.os_errno() != Some(libc::ENOSPC) {
            return Err(at("a full disk is NO_SPACE".to_owned()));
        }
        if world
            .manager
            .as_ref()
            .is_some_and(|manager| manager.dirs()[0].failure.is_some())
        {
            return Err(at("the directory is offline".to_owned()));
        }
        if let Step::Change(log, change) = step
            && change.is_cut()
        {
            world.disk.set_capacity(u64::MAX);
            world.check_failed_cut(*log).map_err(at)?;
            world.act(step).map_err(|e| at(format!("again: {e:?}")))?;
            limit(&world, random.below(500));
            continue;
        }
        world.settle(step);
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
        world
            .act(&Step::Open)
            .map_err(|e| at(format!("opening again: {e:?}")))?;
        world.act(step).map_err(|e| at(format!("again: {e:?}")))?;
        limit(&world, random.below(500));
    }
    world.disk.set_capacity(u64::MAX);
    world
        .check_unchanged()
        .map_err(|e| format!("at the end: {e}"))
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
    assert!(
        !seeds.are_all_of(400) || full >= 1000,
        "too little is covered"
    );
}
