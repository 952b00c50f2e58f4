//! What a move makes of a log, and what it refuses.

use std::path::{Path, PathBuf};

use klog::manager::{CreateOptions, HighWatermarks};
use klog::types::{Offset, TopicPartition};
use klog::{Error, ErrorKind};

use super::support::engine::{self, NOW, builder, rec, scan};
use super::*;

#[test]
fn a_moved_log_is_what_it_was_before_and_after_a_reopening() {
    let two = Two::new();
    let manager = two.open();
    let log = log_in(&manager, A);
    eventful(&manager, &log);
    let before = content(&log);
    move_to(&manager, &log, B).unwrap();
    assert_eq!(content(&log), before);
    assert_eq!(&*log.dir(), Path::new("/disk-b/t-0"));
    assert!(Arc::ptr_eq(&log, &manager.log(&t0()).unwrap()));
    assert_eq!(two.served(), [Path::new("/disk-b/t-0")]);
    // What it knows of producers came along: also of one whose records are gone.
    let again = log
        .append(&mut builder(&[rec(NOW, "gone", "x")]), &stamp(3, 0, false))
        .unwrap();
    assert_eq!(again.first_offset, Offset(0));
    assert_eq!(content(&log), before);
    // And back, and on.
    move_to(&manager, &log, A).unwrap();
    fill(&log, 3);
    let after = content(&log);
    assert_eq!(after.records.len(), before.records.len() + 3);
    manager.close().unwrap();
    let manager = two.open();
    let mut reopened = content(&manager.log(&t0()).unwrap());
    // An epoch without a record does not outlive a load.
    reopened.epochs.clone_from(&after.epochs);
    assert_eq!(reopened, after);
    assert!(manager.report().is_empty(), "{:?}", manager.report());
    manager.close().unwrap();
}

#[test]
fn an_empty_log_and_one_that_begins_high_move_too() {
    for start in [0, 7] {
        let two = Two::new();
        let manager = two.open();
        let log = log_in(&manager, A);
        if start > 0 {
            manager.truncate_fully(&log, Offset(start), None).unwrap();
        }
        move_to(&manager, &log, B).unwrap();
        assert_eq!(
            (log.start_offset(), log.end_offset()),
            (Offset(start), Offset(start))
        );
        fill(&log, 2);
        assert_eq!(engine::offsets(&log, start), [start, start + 1]);
        manager.close().unwrap();
        let log = two.open().log(&t0()).unwrap();
        assert_eq!(
            (log.start_offset(), log.end_offset()),
            (Offset(start), Offset(start + 2))
        );
    }
}
#[test]
fn a_move_that_is_interrupted_goes_on_from_what_was_copied() {
    let two = Two::new();
    let manager = two.open();
    let log = log_in(&manager, A);
    let value = "v".repeat(60_000);
    for i in 0..64 {
        log.append(
            &mut builder(&[rec(NOW + i, "k", &value)]),
            &AppendOptions::default(),
        )
        .unwrap();
    }
    log.flush().unwrap();
    let mut steps = 0;
    let stopped = manager
        .move_log(&log, Path::new(B), || {
            steps += 1;
            if steps > 3 {
                return Err(Error::new(ErrorKind::TimedOut, "enough"));
            }
            Ok(())
        })
        .unwrap_err();
    assert_eq!(stopped.kind(), ErrorKind::TimedOut);
    let futures = manager.futures();
    assert_eq!(futures.len(), 1);
    assert!(futures[0].1.starts_with(B));
    manager.close().unwrap();

    let manager = two.open();
    assert_eq!(manager.futures(), futures, "found again");
    let log = manager.log(&t0()).unwrap();
    let written = two.disk.counts().bytes_written;
    move_to(&manager, &log, B).unwrap();
    let written = two.disk.counts().bytes_written - written;
    assert!(
        (1_000_000..3_000_000).contains(&written),
        "{written} bytes of 3.8 million"
    );
    assert_eq!(scan(&log, 0).len(), 64);
    assert_eq!(manager.futures(), []);

    // To where it is: a move elsewhere is given up.
    let _ = manager.move_log(&log, Path::new(A), || {
        Err(Error::new(ErrorKind::Cancelled, "no"))
    });
    assert_eq!(manager.futures().len(), 1);
    move_to(&manager, &log, B).unwrap();
    assert_eq!((manager.futures(), two.served().len()), (Vec::new(), 1));
    manager.close().unwrap();
}

#[test]
fn what_cannot_move_is_refused_before_anything_is_done() {
    let two = Two::new();
    let manager = two.open();
    let log = log_in(&manager, A);
    fill(&log, 1);
    let unknown = move_to(&manager, &log, "/disk-c").unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::LogDirNotFound);

    let mut nested = None;
    manager
        .move_log(&log, Path::new(B), || {
            nested.get_or_insert_with(|| move_to(&manager, &log, B));
            Ok(())
        })
        .unwrap();
    assert_eq!(nested.unwrap().unwrap_err().kind(), ErrorKind::Busy);

    // 213 characters are the most that leave room for the mark.
    for (len, fits) in [(213, true), (214, false), (249, false)] {
        let long = TopicPartition::new("x".repeat(len), 0);
        let options = CreateOptions {
            dir: Some(PathBuf::from(A)),
            ..CreateOptions::default()
        };
        let long = manager.get_or_create_log(&long, &options).unwrap();
        let moved = move_to(&manager, &long, B);
        match moved {
            Ok(()) => assert!(fits),
            Err(e) => assert!(!fits && e.kind() == ErrorKind::InvalidTopic, "{e:?}"),
        }
    }
    assert!(manager.dirs().iter().all(|dir| dir.failure.is_none()));
    manager.close().unwrap();
}

#[test]
fn a_high_watermark_that_the_caller_moves_stays_where_it_is() {
    let mut two = Two::new();
    two.high_watermarks = HighWatermarks::FromCheckpoint;
    let manager = two.open();
    let log = log_in(&manager, A);
    fill(&log, 6);
    log.set_high_watermark(Offset(4)).unwrap();
    move_to(&manager, &log, B).unwrap();
    assert_eq!(
        (log.high_watermark(), log.end_offset()),
        (Offset(4), Offset(6))
    );
    assert_eq!(log.raise_high_watermark(Offset(5)).unwrap(), Offset(5));
    drop((manager, log));
    let killed = Two {
        disk: two.disk.after_kill(),
        ..two
    };
    let log = killed.open().log(&t0()).unwrap();
    assert_eq!(
        (log.high_watermark(), log.end_offset()),
        (Offset(4), Offset(6))
    );
}

#[test]
fn manager_md_9_6_a_copy_without_its_log_is_kept_and_can_be_promoted() {
    let two = Two::new();
    let manager = two.open();
    let log = log_in(&manager, A);
    fill(&log, 9);
    let mut steps = 0;
    let _ = manager.move_log(&log, Path::new(B), || {
        steps += 1;
        if steps > 3 {
            return Err(Error::new(ErrorKind::Cancelled, "no"));
        }
        Ok(())
    });
    let refused = manager.promote_future(&t0()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
    manager.close().unwrap();
    let alone = two.try_open_in(&[B]).unwrap();
    assert_eq!(
        alone.log(&t0()).unwrap_err().kind(),
        ErrorKind::UnknownTopicOrPartition
    );
    let log = alone.promote_future(&t0()).unwrap();
    assert_eq!(
        (log.end_offset(), &*log.dir()),
        (Offset(9), Path::new("/disk-b/t-0"))
    );
    fill(&log, 1);
    alone.close().unwrap();

    // Now there are two. Neither is served until somebody says which.
    let manager = two.open();
    assert_eq!(
        manager.log(&t0()).unwrap_err().kind(),
        ErrorKind::DuplicateLog
    );
    let files = two.disk.files_below(Path::new("/"));
    for wrong in ["/disk-c", "/disk-a/x"] {
        assert!(manager.resolve(&t0(), Path::new(wrong)).is_err());
    }
    assert!(
        manager
            .resolve(&TopicPartition::new("u", 0), Path::new(A))
            .is_err()
    );
    assert_eq!(two.disk.files_below(Path::new("/")), files);
    manager.resolve(&t0(), Path::new(A)).unwrap();
    assert!(
        manager.resolve(&t0(), Path::new(B)).is_err(),
        "the last one stays"
    );
    assert_eq!(manager.retry_log(&t0()).unwrap().end_offset(), Offset(10));
    manager.close().unwrap();
    assert_eq!(two.open().log(&t0()).unwrap().end_offset(), Offset(10));
}
