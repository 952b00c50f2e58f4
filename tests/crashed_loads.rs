//! Crashes while a log is loaded: at every operation of a recovery the process is killed, or the power cut, and the next
//! load ends where the first would have. log.md 8.2, 8.7, hard-cases.md HC15, HC16.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod crash;

use std::sync::Arc;

use crash::{Record, T};
use klog::config::Resolved;
use klog::format::builder::BatchOptions;
use klog::io::{FileSystem, ManualClock, OpenMode, SimFs};
use klog::types::{LeaderEpoch, Offset, TimestampMs};

/// How an interrupted replacement of the segments 0 and 10 by two new ones is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Replacement {
    /// The new segments are complete.
    Complete,
    /// The first of them still has its first name.
    Unfinished,
    /// The bytes of this one are torn.
    Torn(i64),
}

/// Writes a segment of batches of one record at these offsets, with an index file that leads nowhere.
fn write_segment(disk: &SimFs, base: i64, suffix: &str, offsets: &[i64], value: &str, torn: bool) {
    let mut bytes = Vec::new();
    for offset in offsets {
        let record = Record {
            value: Some(value.into()),
            ..plain_record(*offset)
        };
        let options = BatchOptions {
            base_offset: Offset(*offset),
            leader_epoch: LeaderEpoch(0),
            ..BatchOptions::default()
        };
        bytes.extend_from_slice(crash::builder_of(&[record]).finish(&options).unwrap());
    }
    if torn {
        bytes.truncate(bytes.len() - 1);
    }
    for (kind, content) in [("log", &bytes), ("index", &vec![0; 8])] {
        let path = format!("{}/a-0/{base:020}.{kind}{suffix}", crash::DIR);
        disk.open(path.as_ref(), OpenMode::Truncate)
            .unwrap()
            .write_at(content, 0)
            .unwrap();
    }
}

fn plain_record(offset: i64) -> Record {
    Record {
        timestamp: T,
        key: Some(format!("k{offset}").into()),
        value: None,
        headers: Vec::new(),
        epoch: 0,
    }
}

/// A log of the segments 0, 10 and 20, of which the first two are being replaced; what must be read from it then.
fn replaced_log(replacement: Replacement) -> (SimFs, Vec<(i64, &'static str)>) {
    let disk = SimFs::new();
    let dir = format!("{}/a-0", crash::DIR);
    klog::io::create_dir_all(&disk, dir.as_ref()).unwrap();
    let (first, second) = ((0..10).collect::<Vec<_>>(), (10..20).collect::<Vec<_>>());
    write_segment(&disk, 0, "", &first, "old", false);
    write_segment(&disk, 10, "", &second, "old", false);
    write_segment(&disk, 20, "", &[20, 21], "active", false);
    let first_suffix = if replacement == Replacement::Unfinished {
        ".cleaned"
    } else {
        ".swap"
    };
    let (kept_first, kept_second) = ([1, 4], [6, 12, 19]);
    write_segment(
        &disk,
        0,
        first_suffix,
        &kept_first,
        "new",
        replacement == Replacement::Torn(0),
    );
    write_segment(
        &disk,
        6,
        ".swap",
        &kept_second,
        "new",
        replacement == Replacement::Torn(6),
    );
    disk.sync_all();
    let active = [20, 21].map(|offset| (offset, "active"));
    let rest: Vec<_> = if replacement == Replacement::Complete {
        kept_first
            .into_iter()
            .chain(kept_second)
            .map(|offset| (offset, "new"))
            .collect()
    } else {
        (0..20).map(|offset| (offset, "old")).collect()
    };
    (disk, rest.into_iter().chain(active).collect())
}

#[test]
fn a_replacement_of_segments_is_finished_or_undone_whatever_crashes_come() {
    let config = crash::config(&[]);
    let read = |disk: &SimFs| values_in(disk, &config);
    let mut crashes = 0;
    for replacement in [
        Replacement::Complete,
        Replacement::Unfinished,
        Replacement::Torn(0),
        Replacement::Torn(6),
    ] {
        let (disk, expected) = replaced_log(replacement);
        let expected: Vec<_> = expected
            .into_iter()
            .map(|(o, value)| (o, value.to_owned()))
            .collect();
        disk.record_moments();
        assert_eq!(read(&disk), expected, "{replacement:?}");
        for (i, moment) in disk.take_moments().iter().enumerate() {
            assert_eq!(
                read(&moment.after_kill()),
                expected,
                "{replacement:?}, kill at moment {i}"
            );
            for seed in 0..60 {
                let again = moment.after_power_cut(seed);
                again.record_moments();
                assert_eq!(
                    read(&again),
                    expected,
                    "{replacement:?}, power cut {seed} at moment {i}"
                );
                let moments = again.take_moments();
                let second = &moments[usize::try_from(seed).unwrap() % moments.len()];
                assert_eq!(
                    read(&second.after_power_cut(seed)),
                    expected,
                    "{replacement:?}, power cut {seed} at moment {i}, then another"
                );
                crashes += 1;
            }
        }
    }
    println!("power_cuts: {crashes} crashes while replacements of segments were settled");
    assert!(crashes >= 3000, "too little is covered");
}

/// Records that a log holds, with their offsets and values.
fn values_in(disk: &SimFs, config: &Arc<Resolved>) -> Vec<(i64, String)> {
    let manager = crash::open(disk, &Arc::new(ManualClock::new(TimestampMs(T))), config).unwrap();
    let log = manager.log(&crash::partition("a")).unwrap();
    let records = crash::read_from(&log, Offset(0), 0, 1000).unwrap();
    assert_eq!(
        log.end_offset().0,
        records.last().map_or(0, |(offset, _)| offset + 1)
    );
    manager.abandon();
    let text = |record: &Record| String::from_utf8(record.value.clone().unwrap()).unwrap();
    records
        .iter()
        .map(|(offset, record)| (*offset, text(record)))
        .collect()
}

/// What a power cut left of the segments of a log that was not klog's: the first of three is torn, the others are whole.
/// Wherever the recovery is interrupted, nothing behind the tear is ever read, and the log ends there.
#[test]
fn what_lies_behind_a_torn_segment_never_comes_back_whatever_crashes_come() {
    let config = crash::config(&[]);
    let mut crashes = 0;
    for has_index in [true, false] {
        let disk = SimFs::new();
        let dir = format!("{}/a-0", crash::DIR);
        klog::io::create_dir_all(&disk, dir.as_ref()).unwrap();
        for (base, torn) in [(0, true), (10, false), (20, false)] {
            write_segment(
                &disk,
                base,
                "",
                &(base..base + 10).collect::<Vec<_>>(),
                "old",
                torn,
            );
            if !has_index {
                disk.remove_file(format!("{dir}/{base:020}.index").as_ref())
                    .unwrap();
            }
        }
        disk.sync_all();
        let expected: Vec<_> = (0..9).map(|offset| (offset, "old".to_owned())).collect();
        disk.record_moments();
        assert_eq!(values_in(&disk, &config), expected);
        for (i, moment) in disk.take_moments().iter().enumerate() {
            assert_eq!(
                values_in(&moment.after_kill(), &config),
                expected,
                "kill at moment {i}"
            );
            for seed in 0..100 {
                let again = moment.after_power_cut(seed);
                assert_eq!(
                    values_in(&again, &config),
                    expected,
                    "power cut {seed} at moment {i}"
                );
                let third = again.after_power_cut(seed + 1);
                assert_eq!(
                    values_in(&third, &config),
                    expected,
                    "power cut {seed} at moment {i}, and another"
                );
                crashes += 1;
            }
        }
    }
    println!("power_cuts: {crashes} crashes while a torn segment was recovered");
    assert!(crashes >= 3000, "too little is covered");
}

#[test]
fn a_split_of_a_segment_is_finished_or_undone_whatever_crashes_come() {
    let config = crash::config(&[]);
    let far = 3_000_000_000;
    let offsets: Vec<i64> = (0..5).chain(far..far + 5).collect();
    let disk = SimFs::new();
    let dir = format!("{}/a-0", crash::DIR);
    klog::io::create_dir_all(&disk, dir.as_ref()).unwrap();
    write_segment(&disk, 0, "", &offsets, "old", false);
    disk.sync_all();
    let expected: Vec<_> = offsets
        .iter()
        .map(|&offset| (offset, "old".to_owned()))
        .collect();
    disk.record_moments();
    assert_eq!(values_in(&disk, &config), expected);
    let moments = disk.take_moments();
    assert!(moments.len() > 20, "{}", moments.len());
    for (i, moment) in moments.iter().enumerate() {
        assert_eq!(
            values_in(&moment.after_kill(), &config),
            expected,
            "kill at moment {i}"
        );
        for seed in 0..50 {
            let again = moment.after_power_cut(seed);
            assert_eq!(
                values_in(&again, &config),
                expected,
                "power cut {seed} at moment {i}"
            );
            let third = again.after_power_cut(seed + 1);
            assert_eq!(
                values_in(&third, &config),
                expected,
                "power cut {seed} at moment {i}, and another"
            );
        }
    }
}

/// A log of ten segments that was not closed in order, and of which nothing is known to be durable.
fn ten_segments() -> SimFs {
    let disk = SimFs::new();
    let dir = format!("{}/a-0", crash::DIR);
    klog::io::create_dir_all(&disk, dir.as_ref()).unwrap();
    let value = "a long value ".repeat(800);
    for base in (0..1000).step_by(100) {
        let offsets: Vec<i64> = (base..base + 100).collect();
        write_segment(&disk, base, "", &offsets, &value, false);
    }
    disk.sync_all();
    disk
}

/// Half of a recovery is not done twice: what was recovered is durable, and the next load begins behind it (D90).
#[test]
fn d90_a_recovery_that_was_interrupted_goes_on() {
    let config = crash::config(&[]);
    let disk = ten_segments();
    let before = disk.counts().bytes_read;
    disk.record_moments();
    let clock = Arc::new(ManualClock::new(TimestampMs(T)));
    let manager = crash::open(&disk, &clock, &config).unwrap();
    let whole = disk.counts().bytes_read - before;
    assert_eq!(manager.open_counts().segments_recovered, 10);
    manager.abandon();
    let moments = disk.take_moments();
    let mut half = None;
    for (i, moment) in moments.iter().enumerate() {
        let again = moment.after_power_cut(1);
        let before = again.counts().bytes_read;
        let manager = crash::open(&again, &clock, &config).unwrap();
        let read = again.counts().bytes_read - before;
        let recovered = manager.open_counts().segments_recovered;
        let end = manager.log(&crash::partition("a")).unwrap().end_offset();
        assert_eq!(end, Offset(1000), "moment {i}");
        manager.abandon();
        if recovered == 5 {
            half.get_or_insert((i, read));
        }
    }
    let (moment, read) = half.expect("some moment lies in the middle");
    println!(
        "crashed_loads: {whole} bytes read by a whole recovery, {read} after one that ended at moment {moment}"
    );
    assert!(read * 10 <= whole * 6, "{read} of {whole}");
}

/// Nor is a whole one, though nothing was flushed since: the checkpoints that come after it say how far it was told.
#[test]
fn d90_a_checkpoint_does_not_take_back_what_a_recovery_told() {
    let config = crash::config(&[]);
    let clock = Arc::new(ManualClock::new(TimestampMs(T)));
    for checkpoints in 0..3 {
        let disk = ten_segments();
        let manager = crash::open(&disk, &clock, &config).unwrap();
        for _ in 0..checkpoints {
            manager.checkpoint().unwrap();
        }
        manager.abandon();
        let again = disk.after_power_cut(1);
        let manager = crash::open(&again, &clock, &config).unwrap();
        assert_eq!(manager.open_counts().segments_recovered, 1, "{checkpoints}");
        let end = manager.log(&crash::partition("a")).unwrap().end_offset();
        assert_eq!(end, Offset(1000));
        manager.abandon();
    }
}
