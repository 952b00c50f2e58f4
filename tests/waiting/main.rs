//! Waiting for what comes into logs: each end, bytes, many logs at once, cuts, closes, tokens. c-abi.md 1.8, 3.1, 3.2.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a failure fails the test"
)]

#[path = "../support/mod.rs"]
mod support;
mod waiters;

use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::time::Duration;

use klog::error::ErrorKind;
use klog::io::Deadline;
use klog::log::{
    Condition, CursorOptions, Isolation, Log, ProducerStamp, ReadOptions, TxnMarker, WaitKind,
};
use klog::manager::Manager;
use klog::service::{
    CancelToken, Ending, EventOptions, EventStream, Patience, Waiter, next_records_waiting,
    read_waiting, wait,
};
use klog::types::{Offset, ProducerId};

use support::asleep::{all_woken, woken};
use support::engine::{Home, NOW, builder, fill, log, rec, t0};

fn condition(kind: WaitKind, offset: i64) -> Condition {
    Condition {
        kind,
        offset: Offset(offset),
        min_bytes: 0,
    }
}

fn end_above(offset: i64) -> Condition {
    condition(WaitKind::LogEnd, offset)
}

fn waits(log: &Log, condition: Condition) -> Result<i64, ErrorKind> {
    waits_for(log, condition, &Patience::ENDLESS)
}

fn waits_for(log: &Log, condition: Condition, patience: &Patience<'_>) -> Result<i64, ErrorKind> {
    wait(log, condition, patience)
        .map(|offset| offset.0)
        .map_err(|e| e.kind())
}

fn now(log: &Log, condition: Condition) -> Result<i64, ErrorKind> {
    waits_for(log, condition, &Patience::NONE)
}

#[test]
fn each_end_wakes_who_waits_for_it_and_nobody_else() {
    let home = Home::new();
    let manager = home.open();
    let t = t0(&manager);
    t.leave_high_watermark_to_caller().unwrap();
    assert_eq!(woken(|| waits(&t, end_above(0)), || fill(&t, 1)), Ok(1));
    assert_eq!(now(&t, end_above(0)), Ok(1));
    assert_eq!(now(&t, end_above(1)), Err(ErrorKind::TimedOut));
    let marked = condition(WaitKind::HighWatermark, 0);
    assert_eq!(now(&t, marked), Err(ErrorKind::TimedOut));
    // An append is not what this one waits for; the second wake is.
    let raised = woken(
        || waits(&t, marked),
        || {
            fill(&t, 1);
            t.set_high_watermark(Offset(2)).unwrap();
        },
    );
    assert_eq!(raised, Ok(2));
    let durable = condition(WaitKind::Durable, 0);
    assert_eq!(now(&t, durable), Err(ErrorKind::TimedOut));
    assert_eq!(woken(|| waits(&t, durable), || t.flush().unwrap()), Ok(2));
    // A roll makes durable what lies before it.
    fill(&t, 1);
    let durable = condition(WaitKind::Durable, 2);
    assert_eq!(
        woken(
            || waits(&t, durable),
            || {
                t.roll().unwrap();
            }
        ),
        Ok(3)
    );
    manager.close().unwrap();
}

#[test]
fn the_last_stable_offset_waits_for_the_end_of_a_transaction() {
    let home = Home::new();
    let manager = home.open();
    let t = t0(&manager);
    let options = klog::log::AppendOptions {
        producer: Some(ProducerStamp {
            id: ProducerId(7),
            epoch: 0,
            base_sequence: 0,
            is_transactional: true,
        }),
        txn_version: Some(1),
        ..Default::default()
    };
    t.append(&mut builder(&[rec(NOW, "k", "v")]), &options)
        .unwrap();
    let stable = condition(WaitKind::LastStable, 0);
    assert_eq!(now(&t, end_above(0)), Ok(1));
    assert_eq!(now(&t, stable), Err(ErrorKind::TimedOut));
    let marker = TxnMarker {
        producer_id: ProducerId(7),
        producer_epoch: 0,
        commit: true,
        coordinator_epoch: 0,
    };
    let ended = woken(
        || waits(&t, stable),
        || {
            t.append_marker(&marker, &klog::log::AppendOptions::default())
                .unwrap();
        },
    );
    assert_eq!(ended, Ok(2));
    manager.close().unwrap();
}

#[test]
fn enough_bytes_are_waited_for_across_segments() {
    let home = Home::new();
    let manager = home.open();
    let t = t0(&manager);
    fill(&t, 2);
    // 72 bytes a batch.
    let bytes = |offset, min_bytes| Condition {
        min_bytes,
        ..end_above(offset)
    };
    assert_eq!(now(&t, bytes(0, 144)), Ok(2));
    assert_eq!(now(&t, bytes(0, 145)), Err(ErrorKind::TimedOut));
    assert_eq!(now(&t, bytes(1, 72)), Ok(2));
    assert_eq!(now(&t, bytes(1, 73)), Err(ErrorKind::TimedOut));
    let got = woken(
        || waits(&t, bytes(1, 4 * 72)),
        || {
            fill(&t, 1);
            t.roll().unwrap();
            fill(&t, 1);
            // So far three batches: it must not be woken by them, and goes on if it is.
            fill(&t, 1);
        },
    );
    assert_eq!(got, Ok(5));
    manager.close().unwrap();
}

#[test]
fn closing_deleting_and_cutting_wake_with_their_statuses() {
    let home = Home::new();
    let manager = home.open();
    let (t, u) = (t0(&manager), log(&manager, "u-0"));
    fill(&t, 5);
    let cut = woken(
        || wait(&t, end_above(5), &Patience::ENDLESS),
        || {
            manager.truncate_to(&t, Offset(3)).unwrap();
        },
    );
    let cut = cut.unwrap_err();
    assert_eq!(
        (cut.kind(), cut.offset()),
        (ErrorKind::OffsetOutOfRange, Some(3))
    );
    // Who waits for what is to come is not cut, and gets it.
    let ahead = woken(
        || waits(&t, end_above(5)),
        || {
            manager.truncate_to(&t, Offset(2)).unwrap();
            fill(&t, 4);
        },
    );
    assert_eq!(ahead, Ok(6));
    let anew = woken(
        || waits(&t, end_above(6)),
        || manager.truncate_fully(&t, Offset(100), None).unwrap(),
    );
    assert_eq!(anew, Ok(100));
    let gone = woken(
        || waits(&u, end_above(0)),
        || manager.delete_log(u.partition()).unwrap(),
    );
    assert_eq!(gone, Err(ErrorKind::UnknownTopicOrPartition));
    let closed = all_woken(
        (0..4)
            .map(|n| {
                let t = &t;
                move || waits(t, end_above(100 + n))
            })
            .collect(),
        || manager.close().unwrap(),
    );
    assert_eq!(closed, [Err(ErrorKind::Closed); 4]);
    assert_eq!(now(&t, end_above(0)), Err(ErrorKind::Closed));
    let manager = home.open();
    let t = t0(&manager);
    let left = woken(|| waits(&t, end_above(100)), || manager.abandon());
    assert_eq!(left, Err(ErrorKind::Closed));
}

#[test]
fn who_waited_for_what_came_and_was_cut_before_its_end_got_there_is_told() {
    let home = Home::new();
    let manager = home.open();
    let t = t0(&manager);
    t.leave_high_watermark_to_caller().unwrap();
    fill(&t, 1);
    // The offset is ahead of the log at first, in it later, and cut off then; the high watermark never gets there.
    let cut = woken(
        || waits(&t, condition(WaitKind::HighWatermark, 3)),
        || {
            fill(&t, 5);
            manager.truncate_to(&t, Offset(2)).unwrap();
        },
    );
    assert_eq!(cut, Err(ErrorKind::OffsetOutOfRange));
    manager.close().unwrap();
}

#[test]
fn a_directory_that_goes_out_of_use_wakes_those_that_wait_for_any_log_in_it() {
    let home = Home::new();
    let manager = home.open();
    let (t, other) = (t0(&manager), log(&manager, "u-0"));
    fill(&t, 1);
    let woken = all_woken(
        [&t, &other]
            .map(|log| move || waits(log, end_above(1)))
            .into(),
        || {
            std::fs::remove_dir_all(home.dir.join("t-0")).unwrap();
            t.roll().unwrap_err();
        },
    );
    assert_eq!(woken, [Err(ErrorKind::DirOffline); 2]);
    // What is there is there.
    assert_eq!(now(&t, end_above(0)), Ok(1));
    assert!(manager.close().is_err());
}

type Call<'c> = Box<dyn FnOnce() -> Result<i64, ErrorKind> + Send + 'c>;

#[test]
fn a_token_ends_the_calls_that_carry_it_and_no_others() {
    let home = Home::new();
    let manager = home.open();
    let t = t0(&manager);
    let events = EventStream::open(&manager, EventOptions::default()).unwrap();
    let (fired, other) = (CancelToken::default(), CancelToken::default());
    let carried = Patience::ENDLESS.cancelled_by(&fired);
    let spared = Patience::ENDLESS.cancelled_by(&other);
    let first = |patience: Patience<'_>| waits_for(&t, end_above(0), &patience);
    let polls = || match events.poll_each(&carried, |_| klog::service::Take::More) {
        Ok(_) => Ok(-7),
        Err(e) => Err(e.kind()),
    };
    let reads = || {
        let mut cursor = t.cursor(Offset(0), CursorOptions::default());
        let read = next_records_waiting(&mut cursor, 10, 0, &carried);
        let answer = read.map(|records| records.len()).map_err(|e| e.kind());
        assert_eq!(cursor.position(), Offset(0));
        answer.map(|_| -7)
    };
    let calls: Vec<Call<'_>> = vec![
        Box::new(|| first(carried)),
        Box::new(|| first(carried)),
        Box::new(polls),
        Box::new(reads),
        Box::new(|| first(spared)),
        Box::new(|| first(Patience::ENDLESS)),
    ];
    let left = AtomicUsize::new(4);
    let calls: Vec<_> = calls
        .into_iter()
        .map(|call| {
            let left = &left;
            move || {
                let answer = call();
                if answer == Err(ErrorKind::Cancelled) {
                    left.fetch_sub(1, Ordering::SeqCst);
                }
                answer
            }
        })
        .collect();
    let answers = all_woken(calls, || {
        fired.fire();
        while left.load(Ordering::SeqCst) > 0 {
            std::thread::yield_now();
        }
        // The others still wait for this.
        fill(&t, 1);
    });
    let cancelled = Err(ErrorKind::Cancelled);
    assert_eq!(
        answers,
        [cancelled, cancelled, cancelled, cancelled, Ok(1), Ok(1)]
    );
    // For ever, also if what is waited for is there.
    assert_eq!(first(carried), cancelled);
    assert_eq!(first(spared), Ok(1));
    manager.close().unwrap();
}

#[test]
fn the_end_of_what_a_call_waits_for_closes_it() {
    let home = Home::new();
    let manager = home.open();
    let t = t0(&manager);
    let ending = Ending::default();
    let patience = Patience::ENDLESS.ended_by(&ending);
    let closed = woken(|| waits_for(&t, end_above(0), &patience), || ending.come());
    assert_eq!(closed, Err(ErrorKind::Closed));
    assert_eq!(
        waits_for(&t, end_above(0), &patience),
        Err(ErrorKind::Closed)
    );
    manager.close().unwrap();
}

#[test]
fn a_timeout_is_waited_for_and_no_longer() {
    let home = Home::new();
    let manager = home.open();
    let t = t0(&manager);
    let began = std::time::Instant::now();
    let time = Duration::from_millis(30);
    let answer = waits_for(&t, end_above(0), &Patience::of(time));
    assert_eq!(answer, Err(ErrorKind::TimedOut));
    assert!(began.elapsed() >= time);
    manager.close().unwrap();
}

/// Appends and waits run against each other, so that each append finds somebody who is about to sleep. One lost wake-up and
/// this never ends.
#[test]
fn no_wake_up_is_lost_under_stress() {
    const ROUNDS: i64 = 3000;
    let home = Home::new();
    let manager = home.open();
    let t = t0(&manager);
    let seen = [AtomicI64::new(0), AtomicI64::new(0), AtomicI64::new(0)];
    std::thread::scope(|scope| {
        for (number, seen) in seen.iter().enumerate() {
            let (t, manager) = (&t, &manager);
            scope.spawn(move || {
                let token = CancelToken::default();
                let waiter = Waiter::open(manager).unwrap();
                for offset in 0..ROUNDS {
                    match number {
                        0 => drop(waits(t, end_above(offset)).unwrap()),
                        1 => {
                            let patience = Patience::ENDLESS.cancelled_by(&token);
                            waits_for(t, condition(WaitKind::HighWatermark, offset), &patience)
                                .unwrap();
                        }
                        _ => {
                            waiter
                                .arm(t, end_above(offset), Deadline::NEVER, offset, None)
                                .unwrap();
                            let ready = waiter.poll(1, &Patience::ENDLESS).unwrap();
                            assert_eq!(ready[0].tag, offset);
                        }
                    }
                    seen.store(offset + 1, Ordering::SeqCst);
                }
            });
        }
        // The next one comes as soon as all have seen this one, and are on their way to sleep.
        for offset in 0..ROUNDS {
            fill(&t, 1);
            while seen
                .iter()
                .any(|seen| seen.load(Ordering::SeqCst) <= offset)
            {
                std::thread::yield_now();
            }
        }
    });
    manager.close().unwrap();
}

/// A read that waits; how many bytes it gave.
fn read(
    log: &Log,
    start: i64,
    min_bytes: u64,
    patience: &Patience<'_>,
) -> Result<usize, ErrorKind> {
    let mut buffer = vec![0; 1 << 16];
    let options = ReadOptions::default();
    read_waiting(log, Offset(start), &options, min_bytes, patience, || {
        log.read(Offset(start), &mut buffer, &options)
            .map(|read| (read, ()))
    })
    .map(|(read, ())| read.bytes)
    .map_err(|e| e.kind())
}

#[test]
fn a_read_waits_for_bytes_and_gives_what_there_is_in_the_end() {
    let home = Home::new();
    let manager = home.open();
    let t = t0(&manager);
    assert_eq!(read(&t, 0, 0, &Patience::NONE), Ok(0));
    let brief = Duration::from_millis(10);
    assert_eq!(
        read(&t, 0, 0, &Patience::of(brief)),
        Err(ErrorKind::TimedOut)
    );
    assert_eq!(
        woken(|| read(&t, 0, 0, &Patience::ENDLESS), || fill(&t, 1)),
        Ok(72)
    );
    // Less than is wanted when the time is up is given.
    assert_eq!(read(&t, 0, 100, &Patience::of(brief)), Ok(72));
    let two = woken(|| read(&t, 0, 100, &Patience::ENDLESS), || fill(&t, 1));
    assert_eq!(two, Ok(144));
    // More than fits is not waited for.
    let mut small = vec![0; 100];
    let options = ReadOptions {
        max_bytes: 100,
        ..ReadOptions::default()
    };
    let (first, ()) = read_waiting(&t, Offset(0), &options, 1 << 40, &Patience::ENDLESS, || {
        t.read(Offset(0), &mut small, &options)
            .map(|read| (read, ()))
    })
    .unwrap();
    assert_eq!(first.bytes, 72);
    assert_eq!(
        read(&t, 3, 1, &Patience::ENDLESS),
        Err(ErrorKind::OffsetOutOfRange)
    );
    let cut = woken(
        || read(&t, 2, 1, &Patience::ENDLESS),
        || {
            manager.truncate_to(&t, Offset(0)).unwrap();
        },
    );
    assert_eq!(cut, Err(ErrorKind::OffsetOutOfRange));
    let closed = woken(
        || read(&t, 0, 1, &Patience::ENDLESS),
        || manager.close().unwrap(),
    );
    assert_eq!(closed, Err(ErrorKind::Closed));
}

#[test]
fn a_cursor_waits_at_the_end_of_what_it_may_read() {
    let home = Home::new();
    let manager = home.open();
    let t = t0(&manager);
    t.leave_high_watermark_to_caller().unwrap();
    fill(&t, 1);
    let options = CursorOptions {
        isolation: Isolation::HighWatermark,
        ..CursorOptions::default()
    };
    let mut cursor = t.cursor(Offset(0), options);
    let mut next = |max, min_bytes, patience: &Patience<'_>| {
        next_records_waiting(&mut cursor, max, min_bytes, patience)
            .map(|records| records.iter().map(|r| r.offset.0).collect::<Vec<_>>())
            .map_err(|e| e.kind())
    };
    assert_eq!(next(10, 0, &Patience::NONE), Ok(vec![]));
    let got = woken(
        || next(10, 0, &Patience::ENDLESS),
        || {
            fill(&t, 1);
            t.set_high_watermark(Offset(1)).unwrap();
        },
    );
    assert_eq!(got, Ok(vec![0]));
    let got = woken(
        || next(10, 140, &Patience::ENDLESS),
        || {
            fill(&t, 1);
            t.set_high_watermark(Offset(3)).unwrap();
        },
    );
    assert_eq!(got, Ok(vec![1, 2]));
    // What was read ahead is given without a wait, whatever is asked for.
    fill(&t, 2);
    t.set_high_watermark(Offset(5)).unwrap();
    assert_eq!(next(1, 0, &Patience::ENDLESS), Ok(vec![3]));
    assert_eq!(next(1, 1 << 30, &Patience::ENDLESS), Ok(vec![4]));
    let brief = Patience::of(Duration::from_millis(5));
    assert_eq!(next(1, 0, &brief), Err(ErrorKind::TimedOut));
    manager.close().unwrap();
}

#[test]
fn a_follower_is_woken_by_its_refresh() {
    let home = Home::new();
    let manager: Manager = home.open();
    let t = t0(&manager);
    fill(&t, 1);
    let follower = home.follow();
    let seen = t0(&follower);
    let got = woken(
        || waits(&seen, end_above(1)),
        || {
            fill(&t, 2);
            follower.refresh().unwrap();
        },
    );
    assert_eq!(got, Ok(3));
    let gone = woken(
        || waits(&seen, end_above(3)),
        || {
            manager.delete_log(t.partition()).unwrap();
            follower.refresh().unwrap();
        },
    );
    assert_eq!(gone, Err(ErrorKind::UnknownTopicOrPartition));
    follower.close().unwrap();
    manager.close().unwrap();
}
