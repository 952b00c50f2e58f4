//! Retention, deletion and the tasks that do it by time. manager.md 4, 5, 8, hard-cases.md HC23 to HC26.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a failure fails the test"
)]

mod support;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use klog::error::ErrorKind;
use klog::format::names::parse_topic_partition;
use klog::log::{AppendOptions, CursorOptions, Isolation, Log};
use klog::manager::{Manager, Pass, Task};
use klog::types::{LeaderEpoch, Offset, TimestampMs};

use support::command::klog;
use support::engine::{Home, NOW, append, builder, fill, log, offsets, rec, segments, t0};
use support::tree;

/// One record with a time, in a segment of its own.
fn one(log: &Log, ts: i64) {
    append(log, &[rec(ts, "k", "v")]);
    log.roll().unwrap();
}

fn retain(manager: &Manager, log: &Arc<Log>) -> (usize, i64) {
    let done = manager.retain(log, Pass::Apply).unwrap();
    assert_eq!(done.log_end, log.end_offset());
    (done.deleted.segments, done.log_start.0)
}

fn bases(log: &Log) -> Vec<i64> {
    segments(log).into_iter().map(|(base, _)| base).collect()
}

#[test]
fn hc23_times_in_other_units() {
    let home = Home::new().set("retention.ms", 1000);
    let manager = home.open();
    let log = t0(&manager);
    let too_new = log.append(
        &mut builder(&[rec(NOW * 1000, "k", "v")]),
        &AppendOptions::default(),
    );
    assert_eq!(too_new.unwrap_err().kind(), ErrorKind::InvalidTimestamp);
    assert_eq!(log.end_offset().0, 0);
    // A follower takes what its leader has; one segment with a time far off protects all behind it.
    for (offset, ts) in (0..).zip([1000, NOW * 1000, 2000, 3000]) {
        let mut bytes = support::engine::batch(
            &[rec(ts, "k", "v")],
            &klog::format::builder::BatchOptions::default(),
        );
        klog::format::batch::stamp(&mut bytes, Offset(offset), LeaderEpoch(0));
        let options = AppendOptions {
            origin: klog::log::Origin::Replication,
            ..AppendOptions::default()
        };
        log.append_batches(&bytes, &options).unwrap();
        log.roll().unwrap();
    }
    assert_eq!(retain(&manager, &log), (1, 1));
    assert_eq!(bases(&log), [1, 2, 3, 4]);
    // Seconds: gone by the next pass, the active segment too.
    let week = Home::new().set("retention.ms", 7 * 86_400_000);
    let manager = week.open();
    let log = t0(&manager);
    append(&log, &[rec(1_700_000_000, "k", "v")]);
    assert_eq!(retain(&manager, &log), (1, 1));
    assert_eq!((bases(&log), log.end_offset().0), (vec![1], 1));
}

#[test]
fn hc24_segments_without_times_and_a_missing_time_index() {
    let home = Home::new().set("retention.ms", 1000);
    let manager = home.open();
    let log = t0(&manager);
    one(&log, -1);
    let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1);
    std::fs::File::options()
        .write(true)
        .open(home.path("0.log"))
        .unwrap()
        .set_modified(old)
        .unwrap();
    assert_eq!(retain(&manager, &log), (1, 1));

    let home = Home::new().set("retention.ms", 1000);
    let manager = home.open();
    let log = t0(&manager);
    fill(&log, 3);
    log.roll().unwrap();
    fill(&log, 1);
    manager.close().unwrap();
    home.remove("0.timeindex");
    std::fs::File::options()
        .write(true)
        .open(home.path("0.log"))
        .unwrap()
        .set_modified(old)
        .unwrap();
    let manager = home.open();
    let log = t0(&manager);
    assert_eq!(retain(&manager, &log), (0, 0), "the records are fresh");
}

#[test]
fn hc25_everything_is_expired() {
    let home = Home::new().set("retention.ms", 1000);
    let manager = home.open();
    let log = t0(&manager);
    one(&log, 1000);
    one(&log, 1001);
    append(&log, &[rec(1002, "k", "v")]);
    let mut cursor = log.cursor(Offset(0), CursorOptions::default());
    assert_eq!(cursor.next_records(1).unwrap().len(), 1);
    assert_eq!(retain(&manager, &log), (3, 3));
    assert_eq!(
        (bases(&log), log.start_offset().0, log.end_offset().0),
        (vec![3], 3, 3)
    );
    assert_eq!(
        retain(&manager, &log),
        (0, 3),
        "an empty segment is not rolled again"
    );
    assert_eq!(bases(&log), [3]);
    fill(&log, 1);
    assert_eq!(offsets(&log, 3), [3]);

    let home = Home::new().set("retention.ms", 1000);
    let manager = home.open();
    let log = t0(&manager);
    log.leave_high_watermark_to_caller().unwrap();
    for ts in [1000, 1001, 1002] {
        one(&log, ts);
    }
    for (hw, expected) in [(0, (0, 0)), (1, (1, 1)), (2, (1, 2)), (3, (1, 3))] {
        log.set_high_watermark(Offset(hw)).unwrap();
        assert_eq!(retain(&manager, &log), expected, "high watermark {hw}");
    }
}

#[test]
fn hc26_sizes_at_the_border() {
    for (bytes, expected) in [(216, 0), (145, 0), (144, 1), (143, 1), (0, 3), (-1, 0)] {
        let home = Home::new()
            .set("retention.bytes", bytes)
            .set("retention.ms", -1);
        let manager = home.open();
        let log = t0(&manager);
        for _ in 0..3 {
            fill(&log, 1);
            log.roll().unwrap();
        }
        assert_eq!(
            segments(&log).iter().map(|(_, size)| size).sum::<u64>(),
            216
        );
        let dry = manager.retain(&log, Pass::DryRun).unwrap();
        assert_eq!(dry.deleted.segments, expected, "{bytes}");
        assert_eq!(bases(&log).len(), 4);
        assert_eq!(retain(&manager, &log).0, expected, "{bytes}");
    }
}

#[test]
fn deleted_records_go_with_their_segments_whatever_the_policy() {
    let home = Home::new().set("cleanup.policy", "compact");
    let manager = home.open();
    let log = t0(&manager);
    for i in 0..4 {
        one(&log, 1000 + i);
    }
    log.delete_records(Offset(2)).unwrap();
    assert_eq!(
        manager.retain_all(Pass::Apply).unwrap(),
        [],
        "compacted logs are the cleaner's"
    );
    assert_eq!(retain(&manager, &log), (2, 2));
    assert_eq!(bases(&log), [2, 3, 4]);
}

#[test]
fn readers_go_on_and_files_go_after_their_delay() {
    let home = Home::new()
        .set("retention.ms", 1000)
        .set("file.delete.delay.ms", 5000)
        .set("index.interval.bytes", 0);
    let manager = home.open();
    let log = t0(&manager);
    for i in 0..10 {
        append(&log, &[rec(1000 + i, "k", "v")]);
    }
    log.roll().unwrap();
    let segment = log.segment_list()[0].clone();
    assert_eq!(retain(&manager, &log), (1, 10));
    let retired = ["0.index.deleted", "0.log.deleted", "0.timeindex.deleted"];
    assert_eq!(home.retired_files(), retired);
    // Who holds the segment looks offsets up and reads.
    let place = segment
        .translate(Offset(5), segment.size_bytes())
        .unwrap()
        .unwrap();
    assert_eq!(place.base_offset.0, 5);
    home.clock.set(TimestampMs(NOW + 4999));
    assert_eq!(log.remove_retired().unwrap(), Some(TimestampMs(NOW + 5000)));
    assert_eq!(home.retired_files(), retired);
    home.clock.set(TimestampMs(NOW + 5000));
    manager.run(Task::DeleteFiles).unwrap();
    assert_eq!(home.retired_files(), [""; 0]);
    let mut first = [0; 8];
    segment.file().read_at(&mut first, place.position).unwrap();
    assert_eq!(i64::from_be_bytes(first), 5);
}

/// Before a segment goes the log start is on disk: a name that a power cut brings back is below it.
#[test]
fn d32_the_log_start_is_stored_first() {
    let home = Home::new().set("retention.ms", 1000);
    let manager = home.open();
    let log = t0(&manager);
    one(&log, 1000);
    one(&log, 1001);
    fill(&log, 1);
    retain(&manager, &log);
    let stored = std::fs::read_to_string(home.dir.join("log-start-offset-checkpoint")).unwrap();
    assert_eq!(stored, "0\n1\nt 0 2\n");
    std::fs::rename(home.path("1.log.deleted"), home.path("1.log")).unwrap();
    manager.abandon();
    let log = t0(&home.open());
    assert_eq!((log.start_offset().0, offsets(&log, 2)), (2, vec![2]));
}

#[test]
fn a_directory_without_configurations_is_left_as_it_is() {
    let home = Home::new()
        .set_for("compacted", "cleanup.policy", "compact")
        .set_for("forever", "retention.ms", -1)
        .set_for("short", "retention.ms", 1000);
    let manager = home.open();
    for partition in ["compacted-0", "forever-0", "short-0"] {
        let log = log(&manager, partition);
        for i in 0..5 {
            one(&log, 1000 + i);
        }
        fill(&log, 1);
    }
    manager.close().unwrap();
    let files = |home: &Home| {
        let content = tree::content(&home.dir);
        content
            .into_iter()
            .filter(|(path, _)| path.components().count() > 1)
            .collect::<tree::Content>()
    };
    let before = files(&home);
    let plain = Home::at(&home.dir);
    let manager = plain.open();
    assert!(manager.logs().iter().all(|log| !manager.is_managed(log)));
    for minute in 0..30 * 24 * 60 {
        plain.clock.set(TimestampMs(NOW + minute * 60_000));
        manager.tick().unwrap();
    }
    manager.abandon();
    let after = files(&home);
    assert_eq!(tree::differences(&before, &after), [""; 0]);
    // With the configurations, the same days take what they say.
    let manager = home.open();
    for minute in 0..10 {
        home.clock.set(TimestampMs(NOW + minute * 60_000));
        manager.tick().unwrap();
    }
    assert_eq!(bases(&log(&manager, "short-0")), [6]);
    assert_eq!(bases(&log(&manager, "forever-0")).len(), 6);
    // The closed ones became one.
    assert_eq!(bases(&log(&manager, "compacted-0")).len(), 2);
}

#[test]
fn a_log_is_deleted_at_once_and_made_again_without_what_it_was() {
    let home = Home::new();
    let manager = home.open();
    let old = log(&manager, "t-0");
    let partition = parse_topic_partition("t-0").unwrap();
    fill(&old, 5);
    let mut cursor = old.cursor(Offset(0), CursorOptions::default());
    assert_eq!(cursor.next_records(2).unwrap().len(), 2);
    manager.delete_log(&partition).unwrap();
    for error in [
        old.append(
            &mut builder(&[rec(NOW, "k", "v")]),
            &AppendOptions::default(),
        )
        .unwrap_err(),
        old.flush().unwrap_err(),
        old.roll().unwrap_err(),
        old.truncate_to(Offset(1)).unwrap_err(),
        old.delete_records(Offset(1)).unwrap_err(),
        old.remove_retired().unwrap_err(),
        manager.log(&partition).unwrap_err(),
        manager.delete_log(&partition).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::UnknownTopicOrPartition, "{error}");
    }
    let new = log(&manager, "t-0");
    assert_eq!((new.end_offset().0, new.epochs().len()), (0, 0));
    fill(&new, 2);
    let marked = |home: &Home| {
        let mut names: Vec<String> = std::fs::read_dir(&home.dir)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.ends_with("-delete"))
            .collect();
        names.sort();
        names
    };
    assert_eq!(marked(&home).len(), 1);
    assert!(marked(&home)[0].starts_with("t-0."), "{:?}", marked(&home));
    manager.close().unwrap();
    // The next manager removes it after the delay, counted anew.
    let manager = home.open();
    home.clock.set(TimestampMs(NOW + 59_999));
    manager.run(Task::DeleteLogs).unwrap();
    assert_eq!(marked(&home).len(), 1);
    home.clock.set(TimestampMs(NOW + 60_000));
    manager.run(Task::DeleteLogs).unwrap();
    assert_eq!(marked(&home), [""; 0]);
    assert_eq!(offsets(&t0(&manager), 0), [0, 1]);
}

/// Aborted records of a segment that retention takes are not given to who reads committed ones.
#[test]
fn a_committed_reader_beside_retention_never_sees_aborted_records() {
    let home = Home::new()
        .set("retention.bytes", 3000)
        .set("internal.segment.bytes", 400);
    let manager = Arc::new(home.open());
    let log = t0(&manager);
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let options = CursorOptions {
                    isolation: Isolation::TxnCommitted,
                    ..CursorOptions::default()
                };
                let mut cursor = log.cursor(log.start_offset(), options);
                while !done.load(std::sync::atomic::Ordering::SeqCst) {
                    match cursor.next_records(10) {
                        Ok(records) => {
                            for record in records.iter() {
                                assert_ne!(
                                    record.timestamp.0, 1,
                                    "an aborted record at {}",
                                    record.offset
                                );
                            }
                        }
                        Err(e) if e.kind() == ErrorKind::OffsetOutOfRange => {}
                        Err(e) => panic!("{e}"),
                    }
                    let behind = log.end_offset().0 - 20;
                    cursor.seek(Offset(behind.max(log.start_offset().0)));
                }
            });
        }
        for n in 0..1500 {
            // Aborted ones have the time 1.
            let abort = n % 2 == 0;
            let ts = if abort { 1 } else { 2 };
            support::producing::step(&format!("T 1/0 {n}+1"))
                .at(ts)
                .append(&log)
                .unwrap();
            let marker = if abort { "A 1/0 0" } else { "C 1/0 0" };
            support::producing::step(marker).append(&log).unwrap();
            if n % 5 == 0 {
                manager.retain(&log, Pass::Apply).unwrap();
                log.remove_retired_by(TimestampMs(i64::MAX)).unwrap();
            }
        }
        done.store(true, std::sync::atomic::Ordering::SeqCst);
    });
    assert!(log.start_offset().0 > 2000);
}

#[test]
fn the_command_retains_logs_whose_configuration_is_given() {
    let home = Home::new().set_for("a", "retention.ms", -1);
    let manager = home.open();
    for partition in ["a-0", "a-1", "b-0"] {
        let log = log(&manager, partition);
        for i in 0..3 {
            one(&log, 1000 + i);
        }
    }
    manager.close().unwrap();
    let dir = home.dir.to_str().unwrap();
    let before = tree::content(&home.dir);
    let ms = "--now-ms=100000";
    let dry = klog([
        "retain",
        dir,
        ms,
        "--dry-run",
        "--config",
        "a:retention.ms=1000",
    ]);
    assert_eq!(
        dry.stdout,
        "retained a-0 deleted=3 start=3 end=3\nretained a-1 deleted=3 start=3 end=3\n"
    );
    assert_eq!(tree::content(&home.dir), before, "a dry run writes nothing");
    let named = klog(["retain", dir, "a-1", ms, "--config", "retention.ms=1000"]);
    assert_eq!(
        (named.code, named.stdout.as_str()),
        (0, "retained a-1 deleted=3 start=3 end=3\n")
    );
    let all = klog(["retain", dir, ms, "--config", "a:retention.ms=98999"]);
    assert_eq!(
        all.stdout,
        "retained a-0 deleted=1 start=1 end=3\nretained a-1 deleted=0 start=3 end=3\n"
    );
    assert!(all.stderr.contains("b-0: left alone"), "{}", all.stderr);
    let refused = klog(["retain", dir, "b-0", ms]);
    assert_eq!((refused.code, refused.stdout.as_str()), (1, ""));
    assert!(
        refused.stderr.contains("no configuration"),
        "{}",
        refused.stderr
    );
    assert!(
        !home
            .dir
            .join("a-0/00000000000000000000.log.deleted")
            .exists()
    );
    assert_eq!(offsets(&log(&home.open(), "a-0"), 1), [1, 2]);
}

#[test]
fn a_thread_in_the_background_does_what_is_due_until_it_is_dropped() {
    let home = Home::new().set("retention.ms", 1000);
    let manager = Arc::new(home.open());
    let log = t0(&manager);
    one(&log, 1000);
    fill(&log, 1);
    home.clock.set(TimestampMs(NOW + 60_000));
    let background = klog::service::Background::start(&manager, Arc::default()).unwrap();
    // The thread ends only after the tick that it began with.
    drop(background);
    assert_eq!(bases(&log), [2]);
    let background = klog::service::Background::start(&manager, Arc::default()).unwrap();
    assert!(background.last_failure().is_none());
    manager.close().unwrap();
    drop(background);
}
