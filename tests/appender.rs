//! Group commit: what many threads add gets into the log in few batches, in the order of the tickets, with the offsets told,
//! whoever does the work. c-abi.md 3.2.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a failure fails the test"
)]

mod support;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use klog::config::ConfigSet;
use klog::error::ErrorKind;
use klog::format::codec::Codec;
use klog::io::SimFs;
use klog::io::sim::{Fault, OpKind};
use klog::log::{AppendOptions, Condition, Log, ProducerStamp, WaitKind, WriteDurability};
use klog::manager::{Manager, ManagerOptions, MissingDir};
use klog::service::{
    Appender, AppenderOptions, AppenderThread, CancelToken, Leftover, Patience, Ticket, wait,
};
use klog::types::{Offset, ProducerId};

use support::asleep::{all_woken, woken};
use support::engine::{Home, NOW, Rec, fill, offsets, rec, scan, t0};

fn appender(log: &Arc<Log>, options: AppenderOptions) -> Appender {
    Appender::open(log, options).unwrap()
}

fn add(appender: &Appender, records: &[Rec]) -> Ticket {
    appender
        .add(&Patience::ENDLESS, |builder| {
            for record in records {
                record.push_to(builder);
            }
            Ok(())
        })
        .unwrap()
}

/// Adds one record.
fn add_one(appender: &Appender, key: &str) -> Ticket {
    add(appender, &[rec(NOW, key, "v")])
}

/// The offsets of a ticket.
fn got(appender: &Appender, ticket: Ticket) -> Result<(i64, i64), ErrorKind> {
    let done = appender.wait(ticket, &Patience::ENDLESS);
    done.map(|done| (done.first_offset.0, done.last_offset.0))
        .map_err(|e| e.kind())
}

/// Appends what lingers, and sees that the ticket's records are there.
fn got_by_flush(appender: &Appender, ticket: Ticket) {
    appender.flush(&Patience::ENDLESS).unwrap();
    got(appender, ticket).unwrap();
}

/// How many batches a log holds.
fn batches(log: &Log) -> u32 {
    support::engine::read(log, 0, usize::MAX).unwrap().0.batches
}

fn lingering() -> AppenderOptions {
    AppenderOptions {
        linger: Duration::from_hours(1),
        ..AppenderOptions::default()
    }
}

fn thread() -> Arc<AppenderThread> {
    Arc::new(AppenderThread::start(Arc::new(AtomicBool::new(false))).unwrap())
}

#[test]
fn each_add_learns_its_own_offsets_and_adds_share_a_batch() {
    let home = Home::new();
    let manager = home.open();
    let t = t0(&manager);
    fill(&t, 1);
    let a = appender(&t, lingering());
    let first = add_one(&a, "a");
    let second = add(&a, &[rec(NOW, "b", "v"), rec(NOW, "c", "v")]);
    let none = add(&a, &[]);
    let third = add_one(&a, "d");
    assert_eq!(none, Ticket::NOTHING);
    assert!(first < second && second < third);
    assert_eq!(t.end_offset(), Offset(1), "they linger");
    a.flush(&Patience::ENDLESS).unwrap();
    assert_eq!((t.end_offset(), batches(&t)), (Offset(5), 2));
    assert_eq!(got(&a, third), Ok((4, 4)));
    assert_eq!(got(&a, first), Ok((1, 1)));
    assert_eq!(got(&a, second), Ok((2, 3)));
    assert_eq!(got(&a, none), Ok((-1, -1)));
    for unknown in [4, u64::MAX] {
        assert_eq!(got(&a, Ticket(unknown)), Err(ErrorKind::InvalidArgument));
    }
    a.close(Leftover::Append).unwrap();
    manager.close().unwrap();
}

#[test]
fn batches_are_closed_by_their_size_and_by_what_the_topic_allows() {
    let home = Home::new().set("max.message.bytes", 300);
    let manager = home.open();
    let t = t0(&manager);
    let options = AppenderOptions {
        batch_bytes: 200,
        ..lingering()
    };
    let value = "v".repeat(90);
    // Two fit neither of both limits; one alone may be larger than batch_bytes, not than the topic allows.
    let a = appender(&t, options);
    for key in ["a", "b", "c"] {
        add(&a, &[rec(NOW, key, &value)]);
    }
    let large = add(&a, &[rec(NOW, "d", &"w".repeat(200))]);
    let too_large = add(&a, &[rec(NOW, "e", &"x".repeat(300))]);
    let behind = add_one(&a, "f");
    let refused = a.flush(&Patience::ENDLESS).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::MessageTooLarge);
    // It was told; the next flush has nothing to say.
    a.flush(&Patience::ENDLESS).unwrap();
    assert_eq!(got(&a, large), Ok((3, 3)));
    assert_eq!(got(&a, too_large), Err(ErrorKind::MessageTooLarge));
    assert_eq!(got(&a, behind), Ok((4, 4)), "it is not held up");
    assert_eq!(batches(&t), 5);
    manager.close().unwrap();
}

#[test]
fn an_add_that_is_refused_leaves_the_others_of_its_batch() {
    let home = Home::new();
    let manager = home.open();
    let t = t0(&manager);
    let a = appender(&t, lingering());
    let first = add_one(&a, "a");
    let refused = a.add(&Patience::ENDLESS, |builder| {
        rec(NOW, "b", "v").push_to(builder);
        builder.push(klog::types::TimestampMs(-5), None, None, [].into_iter())
    });
    let refused = refused.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidTimestamp);
    assert_eq!(refused.record_index(), Some(1), "by its own number");
    assert!(refused.message().contains("record 1"), "{refused}");
    let second = add_one(&a, "c");
    a.flush(&Patience::ENDLESS).unwrap();
    assert_eq!(got(&a, second), Ok((1, 1)));
    assert_eq!(got(&a, first), Ok((0, 0)));
    let keys: Vec<String> = scan(&t, 0).into_iter().map(|r| r.unwrap().1).collect();
    assert_eq!(keys, ["a", "c"]);
    manager.close().unwrap();
}

/// Threads add and wait; the log has every record once, each thread's in its order, at the offsets that it was told.
fn many_threads(options: AppenderOptions, manager: &Manager) -> (u32, usize) {
    const THREADS: usize = 8;
    const ADDS: usize = 250;
    let t = t0(manager);
    let a = appender(&t, options);
    let told: Vec<Vec<(i64, String)>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let a = &a;
                scope.spawn(move || {
                    let mut told = Vec::new();
                    for n in 0..ADDS {
                        let key = format!("{thread}-{n}");
                        let ticket = add_one(a, &key);
                        // Some wait for each, some for the last only.
                        if thread % 2 == 0 || n + 1 == ADDS {
                            told.push((got(a, ticket).unwrap().0, key));
                        }
                    }
                    told
                })
            })
            .collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    a.close(Leftover::Append).unwrap();
    let all: Vec<(i64, String, String)> = scan(&t, 0).into_iter().map(Result::unwrap).collect();
    assert_eq!(all.len(), THREADS * ADDS);
    for (offset, key) in told.iter().flatten() {
        assert_eq!(&all[usize::try_from(*offset).unwrap()].1, key);
    }
    for thread in 0..THREADS {
        let prefix = format!("{thread}-");
        let own: Vec<&str> = all
            .iter()
            .filter_map(|(_, key, _)| key.strip_prefix(&prefix))
            .collect();
        let expected: Vec<String> = (0..ADDS).map(|n| n.to_string()).collect();
        assert_eq!(own, expected, "thread {thread}");
    }
    let count = batches_of(&t);
    (count, all.len())
}

fn batches_of(log: &Log) -> u32 {
    let mut at = 0;
    let mut count = 0;
    loop {
        let (read, _) = support::engine::read(log, at, 1 << 19).unwrap();
        if read.bytes == 0 {
            return count;
        }
        count += read.batches;
        at = read.next_offset.0;
    }
}

#[test]
fn threads_that_add_share_batches_without_a_thread_of_the_appender() {
    let home = Home::new();
    let manager = home.open();
    let (batches, records) = many_threads(AppenderOptions::default(), &manager);
    assert!((batches as usize) < records, "{batches} batches");
    manager.close().unwrap();
}

#[test]
fn threads_that_add_share_batches_and_syncs_with_a_thread_and_a_full_queue() {
    let home = Home::new();
    let manager = home.open();
    let options = AppenderOptions {
        append: AppendOptions {
            durability: WriteDurability::Synced,
            codec: Some(Codec::Lz4),
            ..AppendOptions::default()
        },
        batch_bytes: 1000,
        queue_bytes: 2000,
        thread: Some(thread()),
        ..AppenderOptions::default()
    };
    let (batches, records) = many_threads(options, &manager);
    assert!((batches as usize) < records, "{batches} batches");
    let t = t0(&manager);
    assert_eq!(t.recovery_point(), t.end_offset(), "all of it is durable");
    manager.close().unwrap();
}

#[test]
fn the_thread_appends_what_nobody_waits_for_when_its_time_has_come() {
    let home = Home::new();
    let manager = home.open();
    let t = t0(&manager);
    let options = AppenderOptions {
        linger: Duration::from_millis(5),
        batch_bytes: 200,
        thread: Some(thread()),
        ..AppenderOptions::default()
    };
    let a = appender(&t, options);
    let end_above = |offset| Condition {
        kind: WaitKind::LogEnd,
        offset: Offset(offset),
        min_bytes: 0,
    };
    add_one(&a, "a");
    add_one(&a, "b");
    assert_eq!(
        wait(&t, end_above(1), &Patience::ENDLESS).unwrap(),
        Offset(2)
    );
    add_one(&a, "c");
    wait(&t, end_above(2), &Patience::ENDLESS).unwrap();
    drop(a);
    // Full ones do not linger.
    let a = appender(
        &t,
        AppenderOptions {
            batch_bytes: 100,
            thread: Some(thread()),
            ..lingering()
        },
    );
    for key in ["d", "e", "f", "g", "h", "i", "j"] {
        add_one(&a, key);
    }
    wait(&t, end_above(5), &Patience::ENDLESS).unwrap();
    drop(a);
    manager.close().unwrap();
}

#[test]
fn who_waits_lingers_and_a_flush_does_not() {
    let home = Home::new();
    let manager = home.open();
    let t = t0(&manager);
    let a = appender(&t, lingering());
    let ticket = add_one(&a, "a");
    let none = a.wait(ticket, &Patience::NONE).unwrap_err();
    assert_eq!(none.kind(), ErrorKind::TimedOut);
    let answer = woken(|| got(&a, ticket), || a.flush(&Patience::ENDLESS).unwrap());
    assert_eq!(answer, Ok((0, 0)));
    let ticket = add_one(&a, "b");
    let token = CancelToken::default();
    let carried = Patience::ENDLESS.cancelled_by(&token);
    let cancelled = woken(
        || a.wait(ticket, &carried).unwrap_err().kind(),
        || token.fire(),
    );
    assert_eq!(cancelled, ErrorKind::Cancelled);
    a.flush(&Patience::NONE).unwrap();
    assert_eq!(got(&a, ticket), Ok((1, 1)), "it is not lost by that");
    manager.close().unwrap();
}

#[test]
fn a_full_queue_holds_adds_up_or_refuses_them() {
    let home = Home::new();
    let manager = home.open();
    let t = &t0(&manager);
    let options = AppenderOptions {
        queue_bytes: 75,
        ..lingering()
    };
    let a = appender(t, options);
    add_one(&a, "a");
    add_one(&a, "b");
    // Full; nobody appends, so the next one that comes does.
    add_one(&a, "c");
    assert_eq!(t.end_offset(), Offset(2));
    // While somebody appends there is no room, and no work: the log stands still.
    add_one(&a, "d");
    let frozen = t.freeze().unwrap();
    let flushed = woken(
        || a.flush(&Patience::ENDLESS).map_err(|e| e.kind()),
        || {
            let try_add = |patience: &Patience<'_>| {
                a.add(patience, |builder| {
                    rec(NOW, "refused", "v").push_to(builder);
                    Ok(())
                })
                .unwrap_err()
                .kind()
            };
            assert_eq!(try_add(&Patience::NONE), ErrorKind::QueueFull);
            let brief = Patience::of(Duration::from_millis(10));
            assert_eq!(try_add(&brief), ErrorKind::TimedOut);
            let waited = woken(|| add_one(&a, "waited"), || drop(frozen));
            got_by_flush(&a, waited);
        },
    );
    assert_eq!(flushed, Ok(()));
    let keys: Vec<String> = scan(t, 0).into_iter().map(|r| r.unwrap().1).collect();
    assert_eq!(keys.last().unwrap(), "waited");
    assert!(!keys.iter().any(|key| key == "refused"));
    manager.close().unwrap();
}

#[test]
fn closing_appends_or_drops_what_is_left_and_wakes_who_waits() {
    let home = Home::new();
    let manager = home.open();
    let t = t0(&manager);
    let a = appender(&t, lingering());
    let ticket = add_one(&a, "a");
    let answers = all_woken((0..3).map(|_| || got(&a, ticket)).collect(), || {
        a.close(Leftover::Append).unwrap();
    });
    assert_eq!(answers, [Ok((0, 0)); 3]);
    let late = a.add(&Patience::ENDLESS, |_| Ok(())).unwrap_err();
    assert_eq!(late.kind(), ErrorKind::Closed);
    assert_eq!(
        got(&a, ticket),
        Ok((0, 0)),
        "what became of it is still told"
    );
    let a = appender(&t, lingering());
    let ticket = add_one(&a, "b");
    let answer = woken(|| got(&a, ticket), || a.close(Leftover::Drop).unwrap());
    assert_eq!(answer, Err(ErrorKind::Closed));
    assert_eq!(offsets(&t, 0), [0]);
    let a = appender(&t, lingering());
    let ticket = add_one(&a, "c");
    let answer = woken(|| got(&a, ticket), || manager.close().unwrap());
    assert_eq!(answer, Err(ErrorKind::Closed));
    assert_eq!(
        a.close(Leftover::Append).unwrap_err().kind(),
        ErrorKind::Closed
    );
    let none = Appender::open(&t, AppenderOptions::default()).unwrap_err();
    assert_eq!(none.kind(), ErrorKind::Closed);
}

#[test]
fn a_deleted_log_is_told_to_every_ticket() {
    let home = Home::new();
    let manager = home.open();
    let t = t0(&manager);
    let a = appender(&t, lingering());
    let tickets = [add_one(&a, "a"), add_one(&a, "b")];
    let answers = all_woken(
        tickets
            .iter()
            .map(|&ticket| {
                let a = &a;
                move || got(a, ticket)
            })
            .collect(),
        || manager.delete_log(t.partition()).unwrap(),
    );
    assert_eq!(answers, [Err(ErrorKind::UnknownTopicOrPartition); 2]);
    manager.close().unwrap();
}

#[test]
fn the_sequence_numbers_of_a_producer_go_on_from_batch_to_batch() {
    let home = Home::new().set("max.message.bytes", 200);
    let manager = home.open();
    let t = t0(&manager);
    let options = AppenderOptions {
        append: AppendOptions {
            producer: Some(ProducerStamp {
                id: ProducerId(5),
                epoch: 0,
                base_sequence: 0,
                is_transactional: false,
            }),
            txn_version: Some(1),
            ..AppendOptions::default()
        },
        ..AppenderOptions::default()
    };
    let a = appender(&t, options);
    let first = add(&a, &[rec(NOW, "a", "v"), rec(NOW, "b", "v")]);
    assert_eq!(got(&a, first), Ok((0, 1)));
    // A refused batch uses none.
    let refused = add(&a, &[rec(NOW, "x", &"x".repeat(300))]);
    assert_eq!(got(&a, refused), Err(ErrorKind::MessageTooLarge));
    let last = add_one(&a, "c");
    assert_eq!(got(&a, last), Ok((2, 2)));
    let mut cursor = t.cursor(Offset(0), klog::log::CursorOptions::default());
    let sequences: Vec<i32> = (cursor.next_records(10).unwrap().iter())
        .map(|record| record.sequence)
        .collect();
    assert_eq!(sequences, [0, 1, 2]);
    manager.close().unwrap();
}

#[test]
fn options_that_make_no_sense_are_refused() {
    let home = Home::new();
    let manager = home.open();
    let t = t0(&manager);
    let with = |append| AppenderOptions {
        append,
        ..AppenderOptions::default()
    };
    for append in [
        AppendOptions {
            expected_log_end: Some(Offset(0)),
            ..AppendOptions::default()
        },
        AppendOptions {
            origin: klog::log::Origin::Replication,
            ..AppendOptions::default()
        },
    ] {
        let refused = Appender::open(&t, with(append)).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
    }
    let follower = home.follow();
    let refused = Appender::open(&t0(&follower), AppenderOptions::default()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ReadOnly);
    // A queue for nothing takes one add at a time.
    let a = appender(
        &t,
        AppenderOptions {
            queue_bytes: 0,
            batch_bytes: 0,
            ..AppenderOptions::default()
        },
    );
    for key in ["a", "b", "c"] {
        add_one(&a, key);
    }
    a.close(Leftover::Append).unwrap();
    assert_eq!((offsets(&t, 0).len(), batches(&t)), (3, 3));
    manager.close().unwrap();
}

/// A manager on a simulated disk.
fn on_disk(fs: &SimFs) -> Manager {
    let config = Arc::new(ConfigSet::broker().resolve().unwrap());
    Manager::open(ManagerOptions {
        missing_dir: MissingDir::Create,
        fs: Arc::new(fs.clone()),
        ..ManagerOptions::new(vec![Path::new("/data").to_path_buf()], config)
    })
    .unwrap()
}

fn synced() -> AppenderOptions {
    AppenderOptions {
        append: AppendOptions {
            durability: WriteDurability::Synced,
            ..AppendOptions::default()
        },
        batch_bytes: 100,
        ..lingering()
    }
}

#[test]
fn a_disk_that_fails_is_told_to_every_ticket_that_it_concerns() {
    let fs = SimFs::new();
    let manager = on_disk(&fs);
    let t = t0(&manager);
    let a = appender(&t, lingering());
    let before = add_one(&a, "a");
    a.flush(&Patience::ENDLESS).unwrap();
    // A full disk is for the one batch only.
    fs.inject(Fault::once(OpKind::Write, ".log", libc::ENOSPC));
    let tickets = [add_one(&a, "b"), add_one(&a, "c")];
    let failed = a.flush(&Patience::ENDLESS).unwrap_err();
    assert_eq!(failed.kind(), ErrorKind::NoSpace);
    assert_eq!(failed.os_errno(), Some(libc::ENOSPC));
    for ticket in tickets {
        assert_eq!(got(&a, ticket), Err(ErrorKind::NoSpace));
    }
    assert_eq!(got(&a, before), Ok((0, 0)));
    let after = add_one(&a, "d");
    a.flush(&Patience::ENDLESS).unwrap();
    assert_eq!(got(&a, after), Ok((1, 1)));
    // A sync that fails is for all batches that it was to cover; nobody is told that they are durable.
    let a = appender(&t, synced());
    add_one(&a, "e");
    a.flush(&Patience::ENDLESS).unwrap();
    let tickets = ["f", "g", "h"].map(|key| add(&a, &[rec(NOW, key, &"v".repeat(60))]));
    fs.inject(Fault::once(OpKind::Sync, ".log", libc::EIO));
    for ticket in tickets {
        assert_eq!(got(&a, ticket), Err(ErrorKind::KafkaStorage));
    }
    let late = add_one(&a, "i");
    a.flush(&Patience::ENDLESS).unwrap_err();
    assert_eq!(got(&a, late), Err(ErrorKind::DirOffline));
    assert!(a.close(Leftover::Append).is_ok(), "all was told");
    assert!(manager.close().is_err());
}

#[test]
fn batches_that_wait_share_one_sync() {
    let fs = SimFs::new();
    let manager = on_disk(&fs);
    let t = t0(&manager);
    let a = appender(&t, synced());
    add_one(&a, "a");
    a.flush(&Patience::ENDLESS).unwrap();
    let before = fs.counts().syncs;
    for key in ["b", "c", "d", "e", "f"] {
        add(&a, &[rec(NOW, key, &"v".repeat(60))]);
    }
    a.flush(&Patience::ENDLESS).unwrap();
    assert_eq!(fs.counts().syncs - before, 1);
    assert_eq!((batches(&t), t.recovery_point()), (6, Offset(6)));
    manager.close().unwrap();
}
