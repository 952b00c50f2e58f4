//! Deleting, rolling, flushing, cutting and reading at the same time: no directory goes offline for it, and nobody sees what is
//! not there. hard-cases.md HC43, deviations.md D28.
#![allow(clippy::unwrap_used, reason = "a failure fails the test")]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use klog::ErrorKind;
use klog::log::{AppendOptions, CursorOptions, Isolation, WriteDurability};
use klog::manager::{CleanOptions, CreateOptions, Pass, Task};
use klog::types::{Offset, TopicPartition};

use support::engine::{Home, NOW, builder, rec, t0};

/// How many rounds `make test` does of what hard-cases.md asks to be done 10,000 times in a row; `KLOG_ROUNDS` says another
/// number.
fn rounds() -> u64 {
    std::env::var("KLOG_ROUNDS").map_or(10_000, |n| n.parse().unwrap())
}

/// What a call may answer that meets a log that was deleted, or cut, meanwhile.
fn is_benign(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::UnknownTopicOrPartition | ErrorKind::OffsetOutOfRange
    )
}

#[test]
fn hc43_a_a_flush_that_meets_a_deleted_log_or_segment_is_no_failure() {
    let home = Home::new().set_broker("log.segment.delete.delay.ms", 0);
    let manager = home.open();
    let is_done = AtomicBool::new(false);
    let flushed = AtomicU64::new(0);
    let mut refused = 0_u64;
    std::thread::scope(|scope| {
        // Flushes, ticks and checkpoints by others, as fast as they can.
        for worker in 0..2 {
            let (manager, is_done, flushed) = (&manager, &is_done, &flushed);
            scope.spawn(move || {
                while !is_done.load(Ordering::SeqCst) {
                    for log in manager.logs() {
                        match log.flush() {
                            Ok(()) => {
                                flushed.fetch_add(1, Ordering::SeqCst);
                            }
                            Err(e) => assert!(is_benign(e.kind()), "{e:?}"),
                        }
                    }
                    if worker == 0 {
                        for task in [Task::Checkpoint, Task::DeleteFiles, Task::DeleteLogs] {
                            if let Err(e) = manager.run(task) {
                                assert!(is_benign(e.kind()), "{task:?}: {e:?}");
                            }
                        }
                    }
                }
            });
        }
        for round in 0..rounds() {
            let partition = TopicPartition::new("t", i32::try_from(round % 4).unwrap());
            let log = manager
                .get_or_create_log(&partition, &CreateOptions::default())
                .unwrap();
            let append = |value: &str| {
                log.append(
                    &mut builder(&[rec(NOW, "k", value)]),
                    &AppendOptions::default(),
                )
                .unwrap();
            };
            append("a");
            log.roll().unwrap();
            append("b");
            if round % 3 == 0 {
                manager
                    .delete_records(&log, Offset(log.end_offset().0 - 1))
                    .unwrap();
                manager.retain(&log, Pass::Apply).unwrap();
            } else {
                manager.delete_log(&partition).unwrap();
                let stale = log.append(
                    &mut builder(&[rec(NOW, "k", "c")]),
                    &AppendOptions::default(),
                );
                assert_eq!(
                    stale.unwrap_err().kind(),
                    ErrorKind::UnknownTopicOrPartition
                );
                refused += 1;
            }
            assert!(
                manager.dirs()[0].failure.is_none(),
                "round {round}: {:?}",
                manager.dirs()[0].failure
            );
        }
        is_done.store(true, Ordering::SeqCst);
    });
    println!(
        "races: {} rounds, {} flushes by others, {refused} stale handles",
        rounds(),
        flushed.load(Ordering::SeqCst)
    );
    manager.close().unwrap();
    assert!(home.is_clean());
}

/// (b): tiny indexes, so that segments roll all the time; one appends, one cuts at the high watermark, four read.
#[test]
fn hc43_b_readers_of_a_log_that_rolls_and_is_cut_see_only_what_was_written() {
    let home = Home::new()
        .set("index.interval.bytes", 0)
        .set("segment.index.bytes", 80)
        .set("file.delete.delay.ms", 0);
    let manager = home.open();
    let log = t0(&manager);
    log.leave_high_watermark_to_caller().unwrap();
    let is_done = AtomicBool::new(false);
    let read = AtomicU64::new(0);
    let cuts = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for reader in 0..4 {
            let (log, is_done, read) = (&log, &is_done, &read);
            scope.spawn(move || {
                let isolation = if reader % 2 == 0 {
                    Isolation::HighWatermark
                } else {
                    Isolation::TxnCommitted
                };
                let options = CursorOptions {
                    isolation,
                    ..CursorOptions::default()
                };
                let mut cursor = log.cursor(Offset::ZERO, options);
                let mut next = 0;
                while !is_done.load(Ordering::SeqCst) {
                    let records = match cursor.next_records(64) {
                        Ok(records) => records,
                        Err(e) => {
                            assert!(is_benign(e.kind()), "{e:?}");
                            continue;
                        }
                    };
                    for record in records.iter() {
                        assert_eq!(
                            record.offset.0, next,
                            "below the high watermark nothing is cut"
                        );
                        next += 1;
                        let value = String::from_utf8_lossy(record.value.unwrap()).into_owned();
                        let (offset, _) = value.split_once(' ').unwrap();
                        assert_eq!(offset.parse::<i64>().unwrap(), record.offset.0);
                        read.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
        let (log2, is_done2, cuts2, manager2) = (Arc::clone(&log), &is_done, &cuts, &manager);
        scope.spawn(move || {
            while !is_done2.load(Ordering::SeqCst) {
                let high_watermark = log2.high_watermark();
                // What lies above it was acknowledged to nobody.
                if manager2.truncate_to(&log2, high_watermark).unwrap() {
                    cuts2.fetch_add(1, Ordering::SeqCst);
                }
                if cuts2.load(Ordering::SeqCst) % 16 == 0 {
                    manager2.run(Task::DeleteFiles).unwrap();
                }
            }
        });
        // Until there were enough of them, whatever the machine is busy with.
        for n in 0..2_000_000 {
            if n >= 3000
                && cuts.load(Ordering::SeqCst) >= 60
                && read.load(Ordering::Relaxed) >= 1000
            {
                break;
            }
            let expected = log.end_offset();
            let value = format!("{} {n}", expected.0);
            let options = AppendOptions {
                expected_log_end: Some(expected),
                durability: if n % 64 == 0 {
                    WriteDurability::Synced
                } else {
                    WriteDurability::PageCache
                },
                ..AppendOptions::default()
            };
            match log.append(&mut builder(&[rec(NOW, "k", &value)]), &options) {
                // Raised only up to what is known to be there: the cutter may come in between.
                Ok(done) if n % 3 == 0 => {
                    let _ = log.raise_high_watermark(done.last_offset.next());
                }
                Ok(_) => {}
                Err(e) => assert_eq!(e.kind(), ErrorKind::LogEndMismatch, "{e:?}"),
            }
        }
        is_done.store(true, Ordering::SeqCst);
    });
    let (read, cuts) = (read.load(Ordering::SeqCst), cuts.load(Ordering::SeqCst));
    println!(
        "races: {read} records read, {cuts} cuts, {} segments",
        log.segments().len()
    );
    assert!(cuts > 20 && read > 500 && manager.dirs()[0].failure.is_none());
    manager.close().unwrap();
}

/// (c): what a cursor has lent of a segment stays when the cleaner replaces it; its files go, and the space comes back.
#[test]
fn hc43_c_what_was_lent_of_a_segment_stays_when_it_is_replaced() {
    let home = Home::new()
        .set("cleanup.policy", "compact")
        .set("file.delete.delay.ms", 0);
    let manager = home.open();
    let log = t0(&manager);
    let value = "v".repeat(2000);
    for n in 0..200 {
        let record = rec(NOW, &format!("k{}", n % 4), &format!("{n} {value}"));
        log.append(&mut builder(&[record]), &AppendOptions::default())
            .unwrap();
    }
    log.roll().unwrap();
    let before: u64 = home.sizes(".log").iter().map(|(_, bytes)| bytes).sum();
    let mut cursor = log.cursor(Offset::ZERO, CursorOptions::default());
    let lent = cursor.next_records(100).unwrap();
    let seen: Vec<Vec<u8>> = lent.iter().map(|r| r.value.unwrap().to_vec()).collect();
    let cleaned = manager.clean(&log, &CleanOptions::default()).unwrap();
    assert_eq!(cleaned.unwrap().stats.kept_records(), 4);
    manager.run(Task::DeleteFiles).unwrap();
    assert_eq!(home.retired_files(), [""; 0]);
    let now: Vec<Vec<u8>> = lent.iter().map(|r| r.value.unwrap().to_vec()).collect();
    assert_eq!(now, seen);
    let after: u64 = home.sizes(".log").iter().map(|(_, bytes)| bytes).sum();
    assert!(after * 20 < before, "{after} of {before} bytes are left");
    // It goes on, with what it has read already and then with what there is now.
    let mut rest = Vec::new();
    loop {
        let records = cursor.next_records(1000).unwrap();
        if records.is_empty() {
            break;
        }
        rest.extend(records.iter().map(|r| r.offset.0));
    }
    assert!(rest.is_sorted() && rest[0] >= 100);
    assert_eq!(rest[rest.len() - 4..], [196, 197, 198, 199]);
    manager.close().unwrap();
}
