//! Which log is cleaned, from where, and what others do meanwhile: cleaner.md 1-3, 10, hard-cases.md HC10.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use klog::cleaner::filter::Fate;
use klog::config::ConfigSet;
use klog::error::ErrorKind;
use klog::log::{CursorOptions, EventKind, Log};
use klog::manager::{CleanOptions, Manager, ManagerOptions, Pass, Roll, Task};
use klog::service::{Background, EventOptions, EventStream, metrics};
use klog::types::{Offset, TimestampMs};

use crate::support::engine::{Home, NOW, append, fill, log, rec, segments, t0};
use crate::support::tree;

const CLEANER_FILE: &str = "cleaner-offset-checkpoint";

fn home() -> Home {
    Home::new().set("cleanup.policy", "compact")
}

fn checkpoint(home: &Home) -> String {
    fs::read_to_string(home.dir.join(CLEANER_FILE)).unwrap_or_default()
}

/// `fill(9)` rolled after 3 and 6.
fn filled(manager: &Manager) -> Arc<Log> {
    let log = t0(manager);
    for _ in 0..2 {
        fill(&log, 3);
        log.roll().unwrap();
    }
    fill(&log, 3);
    log
}

fn clean(manager: &Manager, log: &Arc<Log>) -> Option<i64> {
    let cleaned = manager.clean(log, &CleanOptions::default()).unwrap();
    cleaned.map(|cleaned| cleaned.end.0)
}

#[test]
fn hc10_a_pass_from_any_checkpoint_ends() {
    for (stored, start, cleaned, after) in [
        ("", 0, Some(6), "t 0 6\n"),
        ("t 0 3\n", 0, Some(6), "t 0 6\n"),
        ("t 0 4\n", 0, Some(6), "t 0 6\n"),
        ("t 0 6\n", 0, None, "t 0 6\n"),
        ("t 0 7\n", 0, None, "t 0 7\n"),
        ("t 0 9\n", 0, None, "t 0 9\n"),
        ("t 0 10\n", 0, Some(6), "t 0 6\n"),
        ("t 0 2\n", 3, Some(6), "t 0 6\n"),
        // deviations.md D84: a file that cannot be read counts as empty.
        ("what is this\n", 0, Some(6), "t 0 6\n"),
    ] {
        let home = home();
        let manager = home.open();
        let log = filled(&manager);
        if start > 0 {
            manager.delete_records(&log, Offset(start)).unwrap();
        }
        if !stored.is_empty() {
            fs::write(home.dir.join(CLEANER_FILE), format!("0\n1\n{stored}")).unwrap();
        }
        assert_eq!(clean(&manager, &log), cleaned, "{stored:?}");
        assert_eq!(checkpoint(&home), format!("0\n1\n{after}"), "{stored:?}");
        assert_eq!(clean(&manager, &log), None, "{stored:?}");
        manager.close().unwrap();
    }
}

#[test]
fn kafka_6266_a_checkpoint_that_does_not_fit_is_rewritten_even_if_nothing_is_cleaned() {
    let home = home();
    let manager = home.open();
    fill(&t0(&manager), 3);
    fs::write(home.dir.join(CLEANER_FILE), "0\n2\nt 0 99\ngone 3 5\n").unwrap();
    let done = manager
        .clean_filthiest(&CleanOptions::default(), &BTreeSet::new())
        .unwrap();
    assert!(done.is_none());
    assert_eq!(checkpoint(&home), "0\n1\nt 0 0\n");
}

#[test]
fn the_filthiest_comes_first_and_others_than_compacted_and_managed_logs_never() {
    let home =
        home()
            .set_for("u", "cleanup.policy", "compact")
            .set_for("plain", "retention.ms", 1000);
    {
        // A log that was there before and was given no configuration.
        let manager = home.open();
        filled_with(&log(&manager, "unmanaged-0"), 1);
        manager.close().unwrap();
    }
    let manager = home.open();
    filled_with(&log(&manager, "t-0"), 1);
    filled_with(&log(&manager, "u-0"), 4);
    filled_with(&log(&manager, "plain-0"), 4);
    fs::write(home.dir.join(CLEANER_FILE), "0\n2\nt 0 1\nu 0 1\n").unwrap();
    let options = CleanOptions {
        min_dirty_ratio: Some(0.01),
        ..CleanOptions::default()
    };
    let mut order = Vec::new();
    while let Some(pass) = manager.clean_filthiest(&options, &BTreeSet::new()).unwrap() {
        pass.outcome.unwrap();
        order.push(pass.partition.to_string());
    }
    assert_eq!(order, ["u-0", "t-0"]);
    let log = log(&manager, "plain-0");
    let refused = manager.clean(&log, &CleanOptions::default()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidConfig);
}

/// One segment with a record, `dirty` with another, and an active one.
fn filled_with(log: &Log, dirty: i64) {
    for _ in 0..=dirty {
        fill(log, 1);
        log.roll().unwrap();
    }
}

#[test]
fn cleaner_md_3_6_a_log_that_cannot_be_cleaned_is_given_up_until_it_is_asked_for() {
    let home = home().set_for("u", "cleanup.policy", "compact,delete");
    let manager = home.open();
    let damaged = filled(&manager);
    let other = log(&manager, "u-0");
    filled_with(&other, 2);
    home.flip("0.log", 70);
    assert!(!manager.clean_turn(None).unwrap(), "the filthiest fails");
    let given_up = manager.uncleanable();
    assert_eq!(given_up[0].0.to_string(), "t-0");
    assert_eq!(given_up[0].1.kind(), ErrorKind::CorruptMessage);
    assert_eq!(checkpoint(&home), "0\n1\nt 0 0\n");
    assert!(manager.clean_turn(None).unwrap(), "the others go on");
    assert!(!manager.clean_turn(None).unwrap());
    home.flip("0.log", 70);
    assert_eq!(
        clean(&manager, &damaged),
        Some(6),
        "it is asked for by name"
    );
    assert!(manager.uncleanable().is_empty());
}

#[test]
fn cleaner_md_10_a_cut_below_the_checkpoint_makes_the_rest_dirty_again() {
    let home = home();
    let manager = home.open();
    let log = filled(&manager);
    assert_eq!(clean(&manager, &log), Some(6));
    manager.truncate_to(&log, Offset(4)).unwrap();
    assert_eq!(
        checkpoint(&home),
        "0\n1\nt 0 0\n",
        "all became one segment, and that is the active one"
    );
    // What comes now would lie below a checkpoint that stayed.
    append(&log, &[rec(NOW, "k0", "new")]);
    append(&log, &[rec(NOW, "k1", "new")]);
    log.roll().unwrap();
    assert!(clean(&manager, &log).is_some());
    assert_eq!(keys(&log), ["k2=v2", "k3=v3", "k0=new", "k1=new"]);
    manager.truncate_fully(&log, Offset(2), None).unwrap();
    assert_eq!(checkpoint(&home), "0\n1\nt 0 2\n");
}

fn keys(log: &Arc<Log>) -> Vec<String> {
    let mut cursor = log.cursor(Offset::ZERO, CursorOptions::default());
    let mut found = Vec::new();
    loop {
        let records = cursor.next_records(100).unwrap();
        if records.is_empty() {
            return found;
        }
        let text =
            |bytes: Option<&[u8]>| String::from_utf8_lossy(bytes.unwrap_or(b"-")).into_owned();
        found.extend(
            records
                .iter()
                .map(|r| format!("{}={}", text(r.key), text(r.value))),
        );
    }
}

#[test]
fn a_log_made_anew_is_dirty_from_its_start() {
    let home = home();
    let manager = home.open();
    let log = filled(&manager);
    assert_eq!(clean(&manager, &log), Some(6));
    manager.delete_log(log.partition()).unwrap();
    assert_eq!(checkpoint(&home), "0\n0\n");
    let anew = filled(&manager);
    assert_eq!(clean(&manager, &anew), Some(6));
    let gone = manager.clean(&log, &CleanOptions::default()).unwrap_err();
    assert_eq!(gone.kind(), ErrorKind::UnknownTopicOrPartition);
}

#[test]
fn pauses_count_and_hold_passes_back() {
    let home = home();
    let manager = home.open();
    let log = filled(&manager);
    manager.pause_cleaning(log.partition()).unwrap();
    manager.pause_cleaning(log.partition()).unwrap();
    let busy = manager.clean(&log, &CleanOptions::default()).unwrap_err();
    assert_eq!(busy.kind(), ErrorKind::CleanPaused);
    assert!(!manager.clean_turn(None).unwrap());
    manager.resume_cleaning(log.partition()).unwrap();
    assert!(!manager.clean_turn(None).unwrap());
    // Others pause and resume for themselves.
    manager.truncate_to(&log, Offset(8)).unwrap();
    manager.resume_cleaning(log.partition()).unwrap();
    assert!(manager.resume_cleaning(log.partition()).is_err());
    assert!(manager.clean_turn(None).unwrap());
}

#[test]
fn a_dry_run_counts_what_a_pass_does_and_changes_nothing() {
    let home = home();
    let manager = home.open();
    let log = filled(&manager);
    append(&log, &[rec(NOW, "k0", "new"), rec(NOW, "k9", "new")]);
    let before = (tree::content(&home.dir), segments(&log));
    let dry = CleanOptions {
        pass: Some(Pass::DryRun),
        roll: Roll::First,
        ..CleanOptions::default()
    };
    let planned = manager.clean(&log, &dry).unwrap().unwrap();
    assert_eq!((tree::content(&home.dir), segments(&log)), before);
    assert_eq!(planned.stats.records(Fate::DropSuperseded), 1);
    let wet = CleanOptions { pass: None, ..dry };
    assert_eq!(manager.clean(&log, &wet).unwrap().unwrap(), planned);
}

#[test]
fn what_is_appended_during_a_dry_run_is_not_looked_at() {
    let home = home();
    let manager = home.open();
    let log = filled(&manager);
    let append_more = || {
        append(&log, &[rec(NOW, "k0", "new")]);
        Ok(())
    };
    let dry = CleanOptions {
        pass: Some(Pass::DryRun),
        roll: Roll::First,
        ..CleanOptions::default()
    };
    let alone = manager.clean(&log, &dry).unwrap().unwrap();
    let watched = CleanOptions {
        cancel: Some(&append_more),
        ..dry
    };
    let beside = manager.clean(&log, &watched).unwrap().unwrap();
    assert!(log.end_offset() > Offset(9));
    assert_eq!(beside, alone);
}

#[test]
fn a_pass_can_be_cancelled_and_leaves_nothing_behind() {
    let home = home();
    let manager = home.open();
    let log = filled(&manager);
    let cancel = || Err(klog::Error::new(ErrorKind::Cancelled, "enough"));
    let options = CleanOptions {
        cancel: Some(&cancel),
        ..CleanOptions::default()
    };
    let error = manager.clean(&log, &options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    assert!(manager.uncleanable().is_empty());
    assert!(home.files().iter().all(|name| !name.ends_with(".cleaned")));
    assert_eq!(checkpoint(&home), "", "what was not cleaned is not noted");
    assert_eq!(clean(&manager, &log), Some(6));
}

#[test]
fn cleaner_md_2_8_logs_that_are_compacted_and_deleted_lose_old_segments_too() {
    let home = Home::new()
        .set("cleanup.policy", "compact,delete")
        .set("retention.ms", 1000);
    let manager = home.open();
    let log = filled(&manager);
    log.roll().unwrap();
    home.clock.set(TimestampMs(NOW + 100_000));
    assert!(manager.clean_turn(None).unwrap());
    assert_eq!(log.start_offset(), Offset(9));
    assert_eq!(segments(&log), [(9, 0)]);
}

#[test]
fn readers_of_a_segment_that_is_replaced_read_on() {
    let home = home().set("index.interval.bytes", 100);
    let manager = home.open();
    let log = filled(&manager);
    append(&log, &[rec(NOW, "k0", "new"), rec(NOW, "k4", "new")]);
    let mut cursor = log.cursor(Offset::ZERO, CursorOptions::default());
    assert_eq!(
        cursor.next_records(1).unwrap().get(0).unwrap().offset,
        Offset(0)
    );
    let old = log.segment_list();
    log.roll().unwrap();
    assert_eq!(clean(&manager, &log), Some(11));
    // By offset, in an object whose files have other names now.
    for segment in &old {
        let found = segment
            .translate(segment.base_offset().next(), segment.size_bytes())
            .unwrap();
        assert_eq!(found.unwrap().base_offset, segment.base_offset().next());
    }
    let rest = cursor.next_records(100).unwrap();
    assert!(rest.iter().all(|record| record.offset > Offset(0)));
    assert_eq!(keys(&log).len(), 9);
    log.remove_retired_by(TimestampMs(i64::MAX)).unwrap();
    assert_eq!(home.retired_files(), [""; 0]);
    assert_eq!(keys(&log).len(), 9);
}

/// Appends, reads, cuts, deletions of records, retention and passes at once: no key ever shows an older value than before
/// once nothing cuts the log, and the latest value of each key is there at the end.
#[test]
fn passes_run_beside_everything_else() {
    let home = Home::new()
        .set("cleanup.policy", "compact")
        .set("internal.segment.bytes", 2000)
        .set("delete.retention.ms", 0);
    let manager = home.open();
    let log = t0(&manager);
    let stop = AtomicBool::new(false);
    let rounds = 150;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let options = CleanOptions {
                map_bytes: Some(24 * 20),
                ..CleanOptions::default()
            };
            while !stop.load(Ordering::SeqCst) {
                match manager.clean(&log, &options) {
                    Ok(_) => {}
                    Err(e) => assert!(
                        matches!(
                            e.kind(),
                            ErrorKind::CleanAborted | ErrorKind::CleanPaused | ErrorKind::Busy
                        ),
                        "{e}"
                    ),
                }
            }
        });
        scope.spawn(|| {
            while !stop.load(Ordering::SeqCst) {
                let start = log.start_offset();
                let mut cursor = log.cursor(start, CursorOptions::default());
                let mut last = Offset(-1);
                loop {
                    let records = match cursor.next_records(50) {
                        Ok(records) => records,
                        // Cut, or deleted, meanwhile.
                        Err(e) if e.kind() == ErrorKind::OffsetOutOfRange => break,
                        Err(e) => panic!("{e}"),
                    };
                    let Some(newest) = records.iter().last().map(|r| r.offset) else {
                        break;
                    };
                    assert!(newest > last);
                    last = newest;
                }
            }
        });
        scope.spawn(|| {
            for i in 0..rounds {
                for k in 0..10 {
                    append(&log, &[rec(NOW, &format!("k{k}"), &format!("{i}"))]);
                }
                if i % 10 == 9 {
                    manager.truncate_to(&log, log.end_offset() + -5).unwrap();
                }
                if i % 25 == 24 {
                    manager.retain(&log, Pass::Apply).unwrap();
                }
                if i == rounds - 1 {
                    for k in 0..10 {
                        append(&log, &[rec(NOW, &format!("k{k}"), "last")]);
                    }
                }
            }
            stop.store(true, Ordering::SeqCst);
        });
    });
    log.roll().unwrap();
    while clean(&manager, &log).is_some() {}
    let mut found = keys(&log);
    found.sort();
    let expected: Vec<String> = (0..10).map(|k| format!("k{k}=last")).collect();
    assert_eq!(found, expected);
    manager.close().unwrap();
    let manager = home.open();
    assert!(manager.report().is_empty(), "{:?}", manager.report());
}

#[test]
fn a_tick_cleans_and_threads_do_too() {
    let home = home().set("min.cleanable.dirty.ratio", 0.01);
    let manager = Arc::new(home.open());
    let log = filled(&manager);
    append(&log, &[rec(NOW, "k0", "new")]);
    log.roll().unwrap();
    let ticked = manager.tick().unwrap();
    assert!(ticked.tasks.contains(&Task::Cleaner), "{ticked:?}");
    assert_eq!(keys(&log).len(), 9);
    assert_eq!(checkpoint(&home), "0\n1\nt 0 10\n");

    append(&log, &[rec(NOW, "k1", "new")]);
    log.roll().unwrap();
    let background = Background::start(&manager, Arc::new(AtomicBool::new(false))).unwrap();
    let deadline = std::time::Duration::from_secs(20);
    let started = std::time::Instant::now();
    manager
        .await_cleaned(&log, Offset(11), &|| {
            assert!(
                started.elapsed() < deadline,
                "{:?}",
                background.last_failure()
            );
            Ok(())
        })
        .unwrap();
    assert_eq!(keys(&log).len(), 9);
    home.clock.set(TimestampMs(NOW + 1_000_000));
    assert!(!manager.tick().unwrap().tasks.contains(&Task::Cleaner));
    drop(background);
    manager.close().unwrap();
}

/// Waits for threads of the background.
fn until(what: &str, is_so: impl Fn() -> bool) {
    let started = std::time::Instant::now();
    while !is_so() {
        assert!(
            started.elapsed() < std::time::Duration::from_secs(30),
            "{what}"
        );
        std::thread::yield_now();
    }
}

#[test]
fn cleaner_md_3_13_threads_come_and_go_with_the_configuration() {
    let home = home().set_broker("log.cleaner.backoff.ms", 1);
    let manager = Arc::new(home.open());
    let background = Background::start(&manager, Arc::new(AtomicBool::new(false))).unwrap();
    assert_eq!(background.cleaner_threads(), 1);
    for threads in [2, 4, 2, 1] {
        let mut changes = ConfigSet::broker();
        changes
            .set("log.cleaner.threads", &threads.to_string())
            .unwrap();
        manager.set_config(&changes).unwrap();
        until("threads", || background.cleaner_threads() == threads);
    }
    let mut too_many = ConfigSet::broker();
    too_many.set("log.cleaner.threads", "3").unwrap();
    assert!(manager.set_config(&too_many).is_err());
    drop(background);
    manager.close().unwrap();
}

#[test]
fn cleaner_md_11_4_what_the_cleaner_shows_of_itself() {
    let home = home().set("min.cleanable.dirty.ratio", 0.01);
    let manager = home.open();
    let nothing = manager.cleaner_gauges();
    assert_eq!(nothing.time_since_last_run_ms, 0);
    assert_eq!((nothing.recopy_percent, nothing.max_dirty_percent), (0, 0));
    let log = filled(&manager);
    for n in 0..9 {
        append(&log, &[rec(NOW, &format!("k{n}"), "new")]);
    }
    log.roll().unwrap();
    assert!(manager.clean_turn(None).unwrap());
    home.clock.advance(1234);
    let gauges = manager.cleaner_gauges();
    assert_eq!(gauges.max_dirty_percent, 100);
    assert_eq!(gauges.time_since_last_run_ms, 1234);
    assert!((1..100).contains(&gauges.recopy_percent), "{gauges:?}");
    assert_eq!(gauges.dirs.len(), 1);
    assert_eq!((gauges.dirs[0].partitions, gauges.dirs[0].bytes), (0, 0));

    // A log that is given up is counted, and told as an event and as metrics.
    let stream = EventStream::open(&manager, EventOptions::default()).unwrap();
    append(&log, &[rec(NOW, "k0", "newer")]);
    log.roll().unwrap();
    let (base, _) = *home
        .sizes(".log")
        .iter()
        .rev()
        .find(|(_, bytes)| *bytes > 0)
        .unwrap();
    home.flip(&format!("{base}.log"), 65);
    assert!(!manager.clean_turn(None).unwrap());
    let given_up = manager.cleaner_gauges().dirs[0].clone();
    assert_eq!(given_up.partitions, 1);
    assert!(given_up.bytes > 0);
    let text = metrics::text(&manager).unwrap();
    assert!(text.contains("uncleanable"), "{text}");
    let told = stream.poll(100, Some(std::time::Duration::ZERO)).unwrap();
    assert!(
        told.iter()
            .any(|e| e.kind == EventKind::TaskFailed && e.text.contains("t-0")),
        "{told:?}"
    );
    manager.close().unwrap();
}

#[test]
fn a_pass_over_an_interrupted_one_begins_anew() {
    let home = home();
    let manager = home.open();
    let log = filled(&manager);
    // What an earlier pass left when its process was killed.
    home.write("0.log.cleaned", b"half a segment");
    home.write("0.txnindex.cleaned", b"half an index");
    assert_eq!(clean(&manager, &log), Some(6));
    assert!(!home.has("0.txnindex") && !home.has("0.txnindex.cleaned"));
    assert_eq!(keys(&log).len(), 9);
}

#[test]
fn d85_the_entry_of_the_directory_that_holds_the_log_counts() {
    let home = home();
    let other = Home::new();
    let manager = home.open();
    filled(&manager);
    manager.close().unwrap();
    fs::write(home.dir.join(CLEANER_FILE), "0\n1\nt 0 3\n").unwrap();
    fs::write(other.dir.join(CLEANER_FILE), "0\n1\nt 0 6\n").unwrap();
    let options = ManagerOptions::new(vec![other.dir.clone(), home.dir.clone()], home.config());
    let manager = Manager::open(options).unwrap();
    let log = t0(&manager);
    let cleaned = manager
        .clean(&log, &CleanOptions::default())
        .unwrap()
        .unwrap();
    assert_eq!((cleaned.end, cleaned.stats.mapped_records), (Offset(6), 3));
    assert_eq!(checkpoint(&home), "0\n1\nt 0 6\n");
    manager.close().unwrap();
}

/// Whoever deletes a log or closes the manager does not wait for a pass to come to its end, and finds the log in order.
#[test]
fn a_log_is_deleted_and_a_manager_closed_while_a_pass_runs() {
    for round in 0..30 {
        let home = home().set("internal.segment.bytes", 500);
        let manager = home.open();
        let log = t0(&manager);
        for i in 0..60 {
            append(&log, &[rec(NOW, &format!("k{}", i % 7), &format!("{i}"))]);
        }
        log.roll().unwrap();
        let reached = AtomicBool::new(false);
        let wait = || {
            reached.store(true, Ordering::SeqCst);
            std::thread::yield_now();
            Ok(())
        };
        let options = CleanOptions {
            cancel: Some(&wait),
            ..CleanOptions::default()
        };
        std::thread::scope(|scope| {
            let pass = scope.spawn(|| manager.clean(&log, &options));
            while !reached.load(Ordering::SeqCst) {
                std::hint::spin_loop();
            }
            match round % 3 {
                0 => manager.close().unwrap(),
                1 => manager.delete_log(log.partition()).unwrap(),
                _ => manager.pause_cleaning(log.partition()).unwrap(),
            }
            match pass.join().unwrap() {
                Ok(_) => {}
                Err(e) => assert!(
                    matches!(
                        e.kind(),
                        ErrorKind::CleanAborted
                            | ErrorKind::Closed
                            | ErrorKind::UnknownTopicOrPartition
                    ),
                    "{e}"
                ),
            }
        });
        manager.close().unwrap();
        let manager = home.open();
        assert!(manager.report().is_empty(), "{:?}", manager.report());
        let found = keys(&t0(&manager));
        assert!(round % 3 == 1 || found.len() >= 7, "{found:?}");
    }
}

/// cleaner.md 1.12, KAFKA-8362, 15082.
#[test]
fn a_log_that_moves_takes_its_checkpoint_along_and_is_cleaned_on() {
    let (home, other) = (home(), Home::new());
    fs::write(other.dir.join(CLEANER_FILE), "0\n1\nt 0 9\n").unwrap();
    let options = ManagerOptions::new(vec![home.dir.clone(), other.dir.clone()], home.config());
    let manager = Manager::open(options).unwrap();
    let log = filled(&manager);
    let (from, to) = if log.dir().starts_with(&home.dir) {
        (&home, &other)
    } else {
        (&other, &home)
    };
    fs::write(from.dir.join(CLEANER_FILE), "0\n1\nt 0 3\n").unwrap();
    manager.move_log(&log, &to.dir, || Ok(())).unwrap();
    assert_eq!(
        (checkpoint(from), checkpoint(to)),
        ("0\n0\n".to_owned(), "0\n1\nt 0 3\n".to_owned())
    );
    // The copy has segments of its own.
    let roll = CleanOptions {
        roll: Roll::First,
        ..CleanOptions::default()
    };
    let cleaned = manager.clean(&log, &roll).unwrap().unwrap();
    assert_eq!(
        (cleaned.end, checkpoint(to)),
        (Offset(9), "0\n1\nt 0 9\n".to_owned())
    );
    // A move that is given up leaves nothing paused.
    let enough = || Err(klog::Error::new(ErrorKind::Cancelled, "enough"));
    manager.move_log(&log, &from.dir, enough).unwrap_err();
    assert!(manager.resume_cleaning(log.partition()).is_err());
    manager.close().unwrap();
}

/// Shows that the thread sanitizer, under which the two above run in `make test-long`, finds a race.
#[test]
#[ignore = "a race on purpose"]
fn a_planted_race_is_found() {
    struct Shared(std::cell::UnsafeCell<u64>);
    // SAFETY: it is not safe: that is what is to be found.
    unsafe impl Sync for Shared {}
    let shared = Shared(std::cell::UnsafeCell::new(0));
    let shared = &shared;
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(move || {
                for _ in 0..1000 {
                    // SAFETY: as above.
                    unsafe { *shared.0.get() += 1 };
                }
            });
        }
    });
}
