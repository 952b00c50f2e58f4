//! When a new segment begins and what is on disk then. log.md 2.9, 2.10, 4, 14.3, hard-cases.md HC27.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a failure fails the test"
)]

mod support;

use klog::config::ConfigSet;
use klog::error::ErrorKind;
use klog::log::{AppendOptions, Log};
use klog::types::TimestampMs;

use support::engine::{Home, NOW, append, builder, fill, five, offsets, rec, segments, t0};

fn at(log: &Log, ts: i64) {
    append(log, &[rec(ts, "k", "v")]);
}

fn bases(log: &Log) -> Vec<i64> {
    segments(log).into_iter().map(|(base, _)| base).collect()
}

#[test]
fn log_md_14_3_a_segment_takes_batches_up_to_its_size_and_not_one_more() {
    let home = Home::new().set("internal.segment.bytes", 2 * 116);
    let log = t0(&home.open());
    append(&log, &five(1000));
    append(&log, &five(1001));
    assert_eq!(segments(&log), [(0, 232)]);
    append(&log, &five(1002));
    assert_eq!(segments(&log), [(0, 232), (10, 116)]);
}

#[test]
fn log_md_3_4_an_append_larger_than_a_segment_is_refused_and_changes_nothing() {
    let home = Home::new().set("internal.segment.bytes", 116);
    let log = t0(&home.open());
    append(&log, &five(1000));
    let before = home.files();
    let mut six = five(1001);
    six.push(rec(1001, "kk", "vv"));
    let refused = log
        .append(&mut builder(&six), &AppendOptions::default())
        .unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::RecordListTooLarge);
    assert_eq!((segments(&log), home.files()), (vec![(0, 116)], before));
    assert_eq!(append(&log, &five(1002)).first_offset.0, 5);
}

#[test]
fn hc27_a_time_counts_from_the_first_batch_and_never_backwards() {
    let home = Home::new().set("segment.ms", 1000);
    let log = t0(&home.open());
    for (ts, segments) in [
        (NOW + 3_000_000, 1),
        (NOW - 100_000, 1),
        (NOW + 2_999_000, 1),
        (NOW + 3_001_000, 1),
        (NOW + 3_001_001, 2),
    ] {
        at(&log, ts);
        assert_eq!(bases(&log).len(), segments, "{ts}");
    }
    assert_eq!(bases(&log), [0, 4]);
}

#[test]
fn log_md_2_10_without_a_time_in_the_first_batch_the_clock_counts() {
    let home = Home::new().set("segment.ms", 1000);
    let log = t0(&home.open());
    at(&log, -1);
    home.clock.set(TimestampMs(NOW + 1000));
    at(&log, NOW + 50_000);
    assert_eq!(bases(&log), [0]);
    home.clock.set(TimestampMs(NOW + 1001));
    at(&log, -1);
    assert_eq!(bases(&log), [0, 2]);
    // With a time in the first batch a batch without one never rolls.
    let home = Home::new().set("segment.ms", 1000);
    let log = t0(&home.open());
    at(&log, NOW);
    home.clock.set(TimestampMs(NOW + 1_000_000));
    at(&log, -1);
    assert_eq!(bases(&log), [0]);
}

#[test]
fn log_md_2_10_the_time_of_the_first_batch_is_found_again_after_a_restart() {
    let home = Home::new().set("segment.ms", 1000);
    let manager = home.open();
    at(&t0(&manager), 5000);
    at(&t0(&manager), 5900);
    manager.close().unwrap();
    let manager = home.open();
    let log = t0(&manager);
    at(&log, 6000);
    assert_eq!(bases(&log), [0]);
    at(&log, 6001);
    assert_eq!(bases(&log), [0, 3]);
}

#[test]
fn log_append_time_is_the_time_that_rolls() {
    let home = Home::new()
        .set("segment.ms", 1000)
        .set("message.timestamp.type", "LogAppendTime");
    let log = t0(&home.open());
    at(&log, 1);
    home.clock.set(TimestampMs(NOW + 1000));
    at(&log, NOW * 2);
    assert_eq!(bases(&log), [0]);
    home.clock.set(TimestampMs(NOW + 1001));
    at(&log, 1);
    assert_eq!(bases(&log), [0, 2]);
}

#[test]
fn a_log_that_is_compacted_rolls_in_time_for_its_compaction() {
    let home = Home::new()
        .set("cleanup.policy", "compact")
        .set("max.compaction.lag.ms", 500);
    let log = t0(&home.open());
    at(&log, NOW);
    at(&log, NOW + 500);
    at(&log, NOW + 501);
    assert_eq!(bases(&log), [0, 2]);
}

#[test]
fn hc27_b_a_tiny_index_rolls_with_each_append_and_begins_the_empty_segment_anew() {
    let home = Home::new().set("segment.index.bytes", 12);
    let manager = home.open();
    let log = t0(&manager);
    for i in 0..3 {
        at(&log, NOW + i);
    }
    assert_eq!(segments(&log), [(0, 70), (1, 70), (2, 70)]);
    // The first append found segment 0 empty and its index full, and began it anew in its place: Kafka lets its files make
    // way for fresh ones of the same names, and has the old ones lie about until their removal.
    assert_eq!(home.retired_files(), [""; 0]);
    manager.close().unwrap();
    let manager = home.open();
    assert_eq!(manager.report(), []);
    assert_eq!(segments(&t0(&manager)), [(0, 70), (1, 70), (2, 70)]);
}

#[test]
fn hc27_c_jitter_is_drawn_once_for_each_segment_and_never_takes_all_room() {
    let home = Home::new()
        .set("segment.ms", 1000)
        .set("segment.jitter.ms", 5000);
    // How long a segment lived when it was rolled: up to 1000 ms, less its jitter of 0 to 999.
    let mut lives = Vec::new();
    for _ in 0..24 {
        let copy = home.copied();
        let log = t0(&copy.open());
        at(&log, NOW);
        let mut life = 0;
        while bases(&log).len() == 1 {
            life += 50;
            at(&log, NOW + life);
            assert!(life <= 1050, "a segment outlived segment.ms");
        }
        lives.push(life);
    }
    lives.sort_unstable();
    lives.dedup();
    assert!(lives.len() > 3, "jitter does not vary: {lives:?}");
}

#[test]
fn hc27_d_a_segment_time_of_0_is_refused() {
    let mut set = ConfigSet::broker();
    let refused = set.set_topic("t", "segment.ms", "0").unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidConfig);
    set.set_topic("t", "segment.ms", "1").unwrap();
}

#[test]
fn log_md_4_7_what_a_roll_leaves_on_disk() {
    let home = Home::new();
    let manager = home.open();
    let log = t0(&manager);
    append(&log, &five(1000));
    log.roll().unwrap();
    let len = |name: &str| home.read(name).len();
    assert_eq!(
        (
            len("0.log"),
            len("0.index"),
            len("0.timeindex"),
            len("5.log")
        ),
        (116, 0, 12, 0)
    );
    assert!(home.has("5.snapshot"));
    // The indexes of the new segment come when it is closed; nothing is as long as it could become (D92).
    append(&log, &five(1001));
    assert_eq!(
        home.files()
            .iter()
            .filter(|name| name.starts_with("5."))
            .count(),
        2,
        "{:?}",
        home.files()
    );
    manager.close().unwrap();
    assert_eq!((len("5.index"), len("5.timeindex")), (0, 12));
}

#[test]
fn log_md_4_4_stray_files_of_the_new_base_do_not_survive_a_roll() {
    let home = Home::new();
    let manager = home.open();
    let log = t0(&manager);
    fill(&log, 2);
    for name in ["2.log", "2.index", "2.timeindex", "2.txnindex"] {
        home.write(name, [9; 24]);
    }
    log.roll().unwrap();
    assert_eq!(home.read("2.log").len(), 0);
    for name in ["2.index", "2.timeindex", "2.txnindex"] {
        assert!(!home.has(name), "{name}");
    }
    fill(&log, 2);
    manager.close().unwrap();
    assert_eq!(home.open().report(), []);
}

#[test]
fn log_md_4_2_rolling_an_empty_log_replaces_its_segment() {
    let home = Home::new();
    let manager = home.open();
    let log = t0(&manager);
    assert_eq!(log.roll().unwrap().0, 0);
    fill(&log, 3);
    assert_eq!(log.roll().unwrap().0, 3);
    assert_eq!(log.roll().unwrap().0, 3);
    assert_eq!(segments(&log), [(0, 216), (3, 0)]);
    assert_eq!(append(&log, &[rec(NOW, "k", "v")]).first_offset.0, 3);
    manager.close().unwrap();
    assert_eq!(home.open().report(), []);
}

#[test]
fn a_new_configuration_counts_from_the_next_append() {
    let home = Home::new();
    let log = t0(&home.open());
    append(&log, &five(1000));
    append(&log, &five(1001));
    assert_eq!(bases(&log), [0]);
    let small = Home::at(&home.dir)
        .set("internal.segment.bytes", 200)
        .config();
    log.set_config(std::sync::Arc::clone(small.log_config("t")));
    append(&log, &five(1002));
    append(&log, &five(1003));
    assert_eq!(bases(&log), [0, 10, 15]);
}

#[test]
fn a_preallocated_segment_is_cut_when_it_is_done() {
    let home = Home::new()
        .set("preallocate", "true")
        .set("internal.segment.bytes", 4096);
    let manager = home.open();
    let log = t0(&manager);
    assert_eq!(home.read("0.log").len(), 4096);
    fill(&log, 3);
    assert_eq!(
        (log.segment_list()[0].size_bytes(), home.read("0.log").len()),
        (216, 4096)
    );
    log.roll().unwrap();
    assert_eq!(
        (home.read("0.log").len(), home.read("3.log").len()),
        (216, 4096)
    );
    manager.close().unwrap();
    assert_eq!(home.read("3.log").len(), 0);
    // A crash leaves the zeros, which recovery cuts; klog then appends where they began.
    let manager = home.open();
    assert_eq!(manager.report(), []);
    t0(&manager).roll().unwrap();
    fill(&t0(&manager), 1);
    manager.abandon();
    let manager = home.open_unclean(0);
    assert_eq!(t0(&manager).end_offset().0, 4);
    assert_eq!(home.sizes(".log").last().unwrap().1, 72);
}

#[test]
fn d46_an_index_larger_than_what_is_configured_now_counts_as_full() {
    let home = Home::new().set("index.interval.bytes", 0);
    let manager = home.open();
    fill(&t0(&manager), 20);
    manager.close().unwrap();
    let before = (home.read("0.index"), home.read("0.timeindex"));
    assert!(before.0.len() > 32 && before.1.len() > 32);
    let lowered = Home::at(&home.dir)
        .set("index.interval.bytes", 0)
        .set("segment.index.bytes", 32);
    for is_clean in [true, false] {
        let manager = if is_clean {
            lowered.open()
        } else {
            lowered.open_unclean(0)
        };
        let log = t0(&manager);
        assert_eq!(offsets(&log, 0).len(), 20);
        manager.close().unwrap();
        if is_clean {
            assert_eq!((home.read("0.index"), home.read("0.timeindex")), before);
        }
    }
    // Full as it is, the next append goes to a segment of its own.
    let manager = lowered.open();
    let log = t0(&manager);
    fill(&log, 1);
    assert_eq!(
        segments(&log)
            .iter()
            .map(|(base, _)| *base)
            .collect::<Vec<_>>(),
        [0, 20]
    );
    assert_eq!(offsets(&log, 0).len(), 21);
}
