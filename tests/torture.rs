//! A process killed at any moment, again and again, on a real file system: what was acknowledged is there, what was deleted
//! stays away, and nothing else is. design.md 5.
//!
//! The child says what it is about to do before a call that takes something away, and what is so after each call. The
//! directory that a kill leaves must agree with both. Each life opens what the one before left, so a kill may find a
//! recovery, and a recovery of a recovery.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a failure fails the test"
)]

mod support;

use std::collections::BTreeMap;
use std::env;
use std::path::Path;
use std::sync::Arc;

use klog::format::codec::Codec;
use klog::format::names::parse_topic_partition;
use klog::log::{AppendOptions, Log, WriteDurability};
use klog::manager::{Manager, Pass};
use klog::types::Offset;

use support::child::{self, Worker};
use support::engine::{Home, NOW, builder, log, rec, scan, segments};
use support::random::Random;
use support::tree;

const TEST: &str = "no_kill_loses_or_brings_back_anything";
const SEED: &str = "KLOG_TEST_CHILD_SEED";
const LIFE: &str = "KLOG_TEST_CHILD_LIFE";
/// How often the child is killed; `make test-long` asks for more.
const KILLS: &str = "KLOG_KILLS";
const RETAINED_BYTES: u64 = 8_000;

/// Its records are all kept.
const KEPT: &str = "kept-0";
/// Retention by size.
const SIZED: &str = "sized-0";
/// Records are deleted from its start, and it is truncated.
const CUT: &str = "cut-0";
/// Deleted and made again: each life has values of its own.
const AGAIN: &str = "again-0";
const LOGS: [&str; 4] = [KEPT, SIZED, CUT, AGAIN];

fn home_at(dir: &Path) -> Home {
    Home::at(dir)
        .set_broker("log.roll.jitter.ms", 0)
        .set_for("kept", "internal.segment.bytes", 6000)
        .set_for("kept", "retention.ms", -1)
        .set_for("sized", "internal.segment.bytes", 2000)
        .set_for("sized", "retention.bytes", RETAINED_BYTES)
        .set_for("cut", "internal.segment.bytes", 1500)
        .set_for("cut", "index.interval.bytes", 100)
        .set_for("again", "internal.segment.bytes", 1500)
        .set_for("again", "file.delete.delay.ms", 2000)
}

/// What the record at an offset must be: it is wrong in any other place.
fn value(name: &str, life: i64, offset: i64) -> String {
    let mut random = Random::new(offset.cast_unsigned());
    let filler = "x".repeat(random.below(120));
    format!("{name}/{life}/{offset}/{filler}")
}

/// The life that values of a log carry: only one log has several.
fn life_of(name: &str, life: i64) -> i64 {
    if name == AGAIN { life } else { 0 }
}

/// The child: works until it is killed.
fn work(dir: &Path) {
    let number = |key: &str| env::var(key).unwrap().parse::<u64>().unwrap();
    let mut random = Random::new(number(SEED));
    let mut life = number(LIFE).cast_signed();
    child::say("opening");
    let home = home_at(dir);
    let manager = home.open();
    child::say("opened");
    // Without its log a new life begins.
    if manager.log(&parse_topic_partition(AGAIN).unwrap()).is_err() {
        life += 1;
        child::say(&format!("reborn {AGAIN} {life}"));
    }
    let mut logs = LOGS.map(|name| log(&manager, name));
    // Between batches: a truncation in a batch drops all of it, and leaves a gap up to where the log goes on.
    let mut ends = vec![logs[2].end_offset()];
    for _ in 0.. {
        let at = random.below(LOGS.len());
        let (name, log) = (LOGS[at], &logs[at]);
        match random.below(40) {
            0 => {
                log.roll().unwrap();
            }
            1 => manager.checkpoint().unwrap(),
            2 => log.flush().unwrap(),
            3 | 4 => {
                home.clock.advance(random.between(0, 40_000));
                manager.tick().unwrap();
            }
            5 | 6 => {
                let log = &logs[1];
                let done = manager.retain(log, Pass::Apply).unwrap();
                child::say(&format!("start {SIZED} {}", done.log_start));
            }
            7 if name == CUT => {
                let before = random.between(log.start_offset().0, log.end_offset().0 + 1);
                child::say(&format!("dropping {name} {before}"));
                let start = manager.delete_records(log, Offset(before)).unwrap();
                child::say(&format!("start {name} {start}"));
            }
            8 if name == CUT => {
                let from = log.start_offset();
                ends.retain(|end| *end >= from);
                let to = *random.pick(&ends);
                child::say(&format!("truncating {name} {to}"));
                manager.truncate_to(log, to).unwrap();
                ends.retain(|end| *end <= to);
            }
            9 if name == AGAIN && random.once_in(3) => {
                life += 1;
                child::say(&format!("reborn {name} {life}"));
                manager.delete_log(log.partition()).unwrap();
                child::say(&format!("deleted {name} {life}"));
                logs[at] = self::log(&manager, name);
            }
            _ => {
                append_some(&mut random, log, name, life_of(name, life));
                if name == CUT {
                    ends.push(log.end_offset());
                }
            }
        }
    }
}

fn append_some(random: &mut Random, log: &Log, name: &str, life: i64) {
    let from = log.end_offset().0;
    let count = random.between(1, 5);
    let records: Vec<_> = (from..from + count)
        .map(|offset| rec(NOW, "k", &value(name, life, offset)))
        .collect();
    let durability = if random.once_in(30) {
        WriteDurability::Synced
    } else {
        WriteDurability::PageCache
    };
    let options = AppendOptions {
        codec: Some(*random.pick(&Codec::ALL)),
        durability,
        ..AppendOptions::default()
    };
    log.append(&mut builder(&records), &options).unwrap();
    child::say(&format!("end {name} {}", log.end_offset()));
}

/// What is known of a log from what the child said.
#[derive(Clone, Copy, Default)]
struct Known {
    /// Acknowledged, or what a call may have lowered it to.
    least_end: i64,
    least_start: i64,
    /// What a call may have raised it to.
    most_start: i64,
    /// The life that is acknowledged, and the one that may have begun.
    least_life: i64,
    most_life: i64,
}

#[derive(Default)]
struct Counts {
    recoveries: usize,
    appends: usize,
    drops: usize,
    truncations: usize,
    deletions: usize,
    retentions: usize,
}

fn hear(known: &mut BTreeMap<&'static str, Known>, counts: &mut Counts, line: &str) {
    let words: Vec<&str> = line.split(' ').collect();
    let [what, name, number] = words[..] else {
        return;
    };
    let name = LOGS.into_iter().find(|log| *log == name).unwrap();
    let number: i64 = number.parse().unwrap();
    let log = known.entry(name).or_default();
    match what {
        "end" => {
            counts.appends += 1;
            // Whatever was begun before is done.
            *log = Known {
                least_end: number,
                least_life: log.most_life,
                ..*log
            };
        }
        "start" => {
            let count = if name == CUT {
                &mut counts.drops
            } else {
                &mut counts.retentions
            };
            *count += usize::from(number > log.least_start);
            log.least_start = log.least_start.max(number);
        }
        "dropping" => log.most_start = log.most_start.max(number),
        "truncating" => {
            counts.truncations += usize::from(number < log.least_end);
            log.least_end = log.least_end.min(number);
        }
        "reborn" => {
            // Until it is acknowledged, the life before may be there as well, whole.
            log.most_life = number;
            log.least_end = 0;
        }
        "deleted" => {
            counts.deletions += 1;
            log.least_life = number;
        }
        other => panic!("the child said {other}"),
    }
}

fn check(manager: &Manager, name: &str, known: &mut Known, round: usize) {
    let Ok(log) = manager.log(&parse_topic_partition(name).unwrap()) else {
        assert!(
            name == AGAIN || known.least_end == 0,
            "kill {round}: {name} is gone"
        );
        assert!(
            known.least_end == 0,
            "kill {round}: {name} is gone with records up to {}",
            known.least_end
        );
        return;
    };
    let (start, end) = (log.start_offset().0, log.end_offset().0);
    assert!(
        end >= known.least_end,
        "kill {round}: {name} ends at {end}, acknowledged was up to {}",
        known.least_end
    );
    assert!(
        start >= known.least_start,
        "kill {round}: {name} starts at {start}: records below {} came back",
        known.least_start
    );
    if name == SIZED {
        let bytes: u64 = segments(&log).iter().map(|(_, bytes)| bytes).sum();
        assert!(
            start == 0 || bytes >= RETAINED_BYTES,
            "kill {round}: {name} starts at {start} and has only {bytes} bytes"
        );
    } else {
        assert!(
            start <= known.most_start,
            "kill {round}: {name} starts at {start}, records were deleted below {} at most",
            known.most_start
        );
    }
    check_records(&log, name, known, round);
    known.least_end = end;
    known.least_start = start;
    known.most_start = known.most_start.max(start);
}

fn check_records(log: &Arc<Log>, name: &str, known: &mut Known, round: usize) {
    let (start, end) = (log.start_offset().0, log.end_offset().0);
    let mut next = start;
    let mut lives = known.least_life..=known.most_life;
    for found in scan(log, start) {
        let (offset, _, found) = found.unwrap();
        assert_eq!(offset, next, "kill {round}: {name} has a hole");
        if lives.clone().count() > 1 {
            let life = lives
                .find(|life| value(name, life_of(name, *life), offset) == found)
                .unwrap_or_else(|| panic!("kill {round}: {name} has {found} at {offset}"));
            (known.least_life, known.most_life) = (life, life);
            lives = life..=life;
        }
        assert_eq!(
            found,
            value(name, life_of(name, *lives.start()), offset),
            "kill {round}: {name} at {offset}"
        );
        next += 1;
    }
    assert_eq!(next, end, "kill {round}: {name} misses records at its end");
}

#[test]
fn no_kill_loses_or_brings_back_anything() {
    if let Some(dir) = child::work_dir() {
        return work(&dir);
    }
    let kills: usize = env::var(KILLS).map_or(100, |text| text.parse().unwrap());
    let mut random = Random::from_env(TEST);
    let root = tree::scratch();
    let mut known: BTreeMap<&'static str, Known> = BTreeMap::new();
    let mut counts = Counts::default();
    for round in 0..kills {
        let life = known.get(AGAIN).map_or(0, |log| log.most_life);
        let settings = [(SEED, random.u64().to_string()), (LIFE, life.to_string())];
        let mut child = Worker::start(TEST, root.path(), &settings);
        // One kill in five finds the load of what the last one left.
        let lines = if random.once_in(5) {
            1
        } else {
            2 + random.below(300)
        };
        let mut heard: Vec<String> = (0..lines).map(|_| child.next_line()).collect();
        heard.extend(child.kill());
        counts.recoveries += usize::from(!heard.iter().any(|line| line == "opened"));
        for line in &heard {
            hear(&mut known, &mut counts, line);
        }
        // A copy is looked at: the next life recovers what the kill left.
        let copy = home_at(root.path()).copied();
        let manager = copy.open();
        for name in LOGS {
            let log = known.entry(name).or_default();
            check(&manager, name, log, round);
        }
        if random.once_in(10) {
            // Now and then a clean close comes between.
            let manager = home_at(root.path()).open();
            manager.close().unwrap();
        }
    }
    println!(
        "{kills} kills, {} of them in a load; acknowledged: {} appends, {} deletions of records, {} truncations, {} deleted logs, {} retentions",
        counts.recoveries,
        counts.appends,
        counts.drops,
        counts.truncations,
        counts.deletions,
        counts.retentions
    );
    for (count, what) in [
        (counts.recoveries, "kills in a load"),
        (counts.drops, "deletions of records"),
        (counts.truncations, "truncations"),
        (counts.deletions, "deleted logs"),
        (counts.retentions, "retentions"),
    ] {
        assert!(count >= kills / 20, "only {count} {what} in {kills} kills");
    }
}
