//! What happens in a manager, as a stream: each kind of event, what opening found, a stream that is full, and the end.
//! c-abi.md 3.2, manager.md 11.2.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a failure fails the test"
)]

mod support;

use std::sync::Arc;
use std::time::Duration;

use klog::error::ErrorKind;
use klog::log::{Event, EventKind, Log};
use klog::manager::{Manager, Pass, Task};
use klog::service::{Descriptor, EventOptions, EventStream, Take};
use klog::types::{Offset, TimestampMs};

use support::asleep::woken;
use support::engine::{Home, NOW, fill, log, t0};

fn stream(manager: &Manager, options: EventOptions) -> EventStream {
    EventStream::open(manager, options).unwrap()
}

fn all(manager: &Manager) -> EventStream {
    stream(manager, EventOptions::default())
}

/// Everything that waits in a stream.
fn drain(events: &EventStream) -> Vec<Arc<Event>> {
    match events.poll(usize::MAX, Some(Duration::ZERO)) {
        Err(e) if e.kind() == ErrorKind::TimedOut => Vec::new(),
        other => other.unwrap(),
    }
}

fn kinds(events: &EventStream) -> Vec<EventKind> {
    drain(events).iter().map(|event| event.kind).collect()
}

/// The one event of a kind among others.
fn the_one(events: &[Arc<Event>], kind: EventKind) -> &Event {
    let found: Vec<_> = events.iter().filter(|event| event.kind == kind).collect();
    assert_eq!(found.len(), 1, "{kind:?} in {events:#?}");
    found[0]
}

fn is_of(event: &Event, home: &Home, log: &Log) -> bool {
    event.dir.as_ref() == Some(&home.dir) && event.partition.as_ref() == Some(log.partition())
}

#[test]
fn what_happens_to_logs_is_told_with_its_numbers() {
    let home = Home::new()
        .set("retention.ms", 1000)
        .set("file.delete.delay.ms", 0);
    let manager = home.open();
    let events = all(&manager);
    let log = t0(&manager);
    let told = drain(&events);
    let created = the_one(&told, EventKind::LogCreated);
    assert!(
        is_of(created, &home, &log) && created.time.0 == NOW,
        "{created:?}"
    );
    for _ in 0..3 {
        fill(&log, 1);
        log.roll().unwrap();
    }
    let rolls: Vec<Option<Offset>> = drain(&events)
        .iter()
        .map(|event| {
            assert!(
                event.kind == EventKind::Rolled && is_of(event, &home, &log),
                "{event:?}"
            );
            event.offset
        })
        .collect();
    assert_eq!(rolls, [1, 2, 3].map(|base| Some(Offset(base))));
    fill(&log, 2);
    manager.truncate_to(&log, Offset(4)).unwrap();
    // What cuts nothing is nothing.
    manager.truncate_to(&log, Offset(9)).unwrap();
    let told = drain(&events);
    assert_eq!(told.len(), 1, "{told:?}");
    let cut = the_one(&told, EventKind::Truncated);
    assert!(is_of(cut, &home, &log));
    assert_eq!(cut.offset, Some(Offset(4)));
    home.clock.set(TimestampMs(NOW + 1002));
    manager.retain(&log, Pass::DryRun).unwrap();
    assert_eq!(kinds(&events), []);
    manager.retain(&log, Pass::Apply).unwrap();
    let told = drain(&events);
    assert_eq!(told.len(), 1, "{told:?}");
    let deleted = the_one(&told, EventKind::SegmentsDeleted);
    assert!(is_of(deleted, &home, &log) && deleted.time.0 == NOW + 1002);
    // The second one is just 1000 ms old.
    assert_eq!(
        (deleted.offset, deleted.count, deleted.bytes),
        (Some(Offset(2)), Some(2), Some(144))
    );
    manager.truncate_fully(&log, Offset(50), None).unwrap();
    let told = drain(&events);
    assert_eq!(
        the_one(&told, EventKind::Truncated).offset,
        Some(Offset(50))
    );
    manager.delete_log(log.partition()).unwrap();
    let told = drain(&events);
    assert!(is_of(the_one(&told, EventKind::LogDeleted), &home, &log));
    manager.close().unwrap();
}

#[test]
fn who_comes_after_the_opening_hears_what_it_found() {
    let home = Home::new();
    let manager = home.open();
    fill(&t0(&manager), 3);
    fill(&log(&manager, "u-0"), 1);
    fill(&log(&manager, "w-0"), 1);
    manager.close().unwrap();
    home.forget_marker();
    home.extend("0.log", b"no batch");
    std::fs::create_dir(home.dir.join("lost+found")).unwrap();
    let broken = home.dir.join("w-0/00000000000000000000.log");
    std::fs::remove_file(&broken).unwrap();
    std::os::unix::fs::symlink("/nowhere/at/all", &broken).unwrap();
    std::fs::write(home.dir.join("log-start-offset-checkpoint"), "garbage\n").unwrap();
    let manager = open_with_text(&home, "no.such.key=5\n");
    fill(&t0(&manager), 1);
    t0(&manager).roll().unwrap();
    // It comes late, and is told of the opening all the same; not of what came between.
    let first = all(&manager);
    let told = drain(&first);
    assert_eq!(told.len(), manager.report().len(), "{told:#?}");
    assert!(told.iter().all(|event| event.time.0 == NOW));
    let recovered: Vec<&Arc<Event>> = told
        .iter()
        .filter(|e| e.kind == EventKind::Recovered && e.text.contains("cut off 8 bytes"))
        .collect();
    assert_eq!(recovered.len(), 1, "{told:#?}");
    assert_eq!(recovered[0].partition.as_ref().unwrap().to_string(), "t-0");
    let failed = the_one(&told, EventKind::LoadFailed);
    assert_eq!(failed.partition.as_ref().unwrap().to_string(), "w-0");
    assert_eq!(failed.status, Some(ErrorKind::KafkaStorage));
    assert!(
        the_one(&told, EventKind::Ignored)
            .text
            .contains("lost+found")
    );
    let config = the_one(&told, EventKind::Config);
    assert!(
        config.text.contains("no.such.key") && config.dir.is_none(),
        "{config:?}"
    );
    let repaired = the_one(&told, EventKind::Repaired);
    assert!(repaired.text.contains("log-start-offset-checkpoint"));
    assert!(repaired.partition.is_none());
    // So is the next one; and the first one is not told again.
    assert_eq!(drain(&all(&manager)), told);
    assert_eq!(kinds(&first), []);
    // Only what is wanted.
    let only = stream(
        &manager,
        EventOptions {
            kinds: EventKind::Config.bit() | EventKind::Rolled.bit(),
            ..EventOptions::default()
        },
    );
    log(&manager, "new-0");
    fill(&t0(&manager), 1);
    t0(&manager).roll().unwrap();
    assert_eq!(kinds(&only), [EventKind::Config, EventKind::Rolled]);
    manager.close().unwrap();
}

/// Opens with a text of properties, in which a key that nobody knows is a warning.
fn open_with_text(home: &Home, text: &str) -> Manager {
    use klog::config::ConfigSet;
    use klog::io::Clock;
    use klog::manager::ManagerOptions;
    let mut set = ConfigSet::broker();
    set.load_properties(text.as_bytes()).unwrap();
    let config = Arc::new(set.resolve().unwrap());
    Manager::open(ManagerOptions {
        clock: Arc::clone(&home.clock) as Arc<dyn Clock>,
        ..ManagerOptions::new(vec![home.dir.clone()], config)
    })
    .unwrap()
}

#[test]
fn a_directory_that_goes_offline_and_tasks_that_fail_are_told() {
    let home = Home::new();
    let manager = home.open();
    let (t, other) = (t0(&manager), log(&manager, "u-0"));
    fill(&t, 1);
    let events = all(&manager);
    // The log's directory is gone: the roll that finds out takes the log directory offline.
    std::fs::remove_dir_all(home.dir.join("t-0")).unwrap();
    let error = t.roll().unwrap_err();
    assert!(error.took_dir_offline());
    // Once, however many find it.
    t.roll().unwrap_err();
    other.roll().unwrap_err();
    let told = drain(&events);
    assert_eq!(told.len(), 1, "{told:?}");
    let offline = the_one(&told, EventKind::DirOffline);
    assert_eq!(
        (offline.dir.as_ref(), offline.status, &offline.partition),
        (Some(&home.dir), Some(ErrorKind::KafkaStorage), &None)
    );
    // It still is: who comes later hears of it.
    assert_eq!(kinds(&all(&manager)), [EventKind::DirOffline]);
    home.clock.set(TimestampMs(NOW + 60_000));
    manager.tick().unwrap_err();
    let told = drain(&events);
    let failed: Vec<_> = told
        .iter()
        .filter(|event| event.text.starts_with(Task::DeleteFiles.name()))
        .collect();
    assert_eq!(failed.len(), 1, "{told:#?}");
    assert_eq!(
        (failed[0].kind, failed[0].status),
        (EventKind::TaskFailed, Some(ErrorKind::DirOffline))
    );
    assert!(told.iter().all(|event| event.kind == EventKind::TaskFailed));
    assert!(manager.close().is_err());
}

#[test]
fn a_directory_that_cannot_be_opened_is_told_once() {
    let (home, other) = (Home::new(), Home::new());
    std::fs::write(other.dir.join("meta.properties"), "version=7\n").unwrap();
    let manager = klog::manager::Manager::open(klog::manager::ManagerOptions::new(
        vec![home.dir.clone(), other.dir.clone()],
        home.config(),
    ))
    .unwrap();
    let told = drain(&all(&manager));
    assert_eq!(told.len(), 1, "{told:#?}");
    let offline = the_one(&told, EventKind::DirOffline);
    assert_eq!(offline.dir.as_ref(), Some(&other.dir));
    assert!(offline.text.contains("version"), "{offline:?}");
    // Closing tells of it too.
    assert!(manager.close().is_err());
}

#[test]
fn a_full_stream_keeps_the_oldest_counts_the_rest_and_holds_nobody_up() {
    let home = Home::new();
    let manager = home.open();
    let log = t0(&manager);
    let options = EventOptions {
        capacity: 3,
        ..EventOptions::default()
    };
    let (full, other) = (stream(&manager, options), all(&manager));
    for _ in 0..10 {
        fill(&log, 1);
        log.roll().unwrap();
    }
    let of = |events: &EventStream| -> Vec<(EventKind, Option<Offset>, Option<u64>)> {
        drain(events)
            .iter()
            .map(|e| (e.kind, e.offset, e.count))
            .collect()
    };
    let rolled = |base: i64| (EventKind::Rolled, Some(Offset(base)), None);
    let lost = |count| (EventKind::Lost, None, Some(count));
    assert_eq!(of(&full), [rolled(1), rolled(2), rolled(3), lost(7)]);
    assert_eq!(of(&full), []);
    assert_eq!(of(&other).len(), 10, "another stream loses nothing by it");
    // Half empty: the loss stands in its place.
    for _ in 0..4 {
        fill(&log, 1);
        log.roll().unwrap();
    }
    let two = full.poll(2, None).unwrap();
    assert_eq!(two.len(), 2);
    fill(&log, 1);
    log.roll().unwrap();
    assert_eq!(of(&full), [rolled(13), lost(1), rolled(15)]);
    manager.close().unwrap();
}

#[test]
fn an_event_that_is_put_back_comes_again() {
    let home = Home::new();
    let manager = home.open();
    let events = all(&manager);
    log(&manager, "t-0");
    log(&manager, "t-1");
    let mut offered = 0;
    let taken = events
        .poll_each(&klog::service::Patience::ENDLESS, |_| {
            offered += 1;
            if offered == 1 {
                Take::More
            } else {
                Take::PutBack
            }
        })
        .unwrap();
    assert_eq!((taken, offered), (1, 2));
    let rest = drain(&events);
    assert_eq!(rest.len(), 1);
    assert_eq!(rest[0].partition.as_ref().unwrap().partition, 1);
    let bad = EventOptions {
        kinds: 1 << 60,
        ..EventOptions::default()
    };
    let refused = EventStream::open(&manager, bad).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
    manager.close().unwrap();
    let closed = EventStream::open(&manager, EventOptions::default()).unwrap_err();
    assert_eq!(closed.kind(), ErrorKind::Closed);
}

/// Runs `wake` when another thread sleeps in a poll without limit; what that one was answered.
fn polled_while(events: &EventStream, wake: impl FnOnce()) -> Result<Vec<Arc<Event>>, ErrorKind> {
    woken(|| events.poll(10, None).map_err(|e| e.kind()), wake)
}

#[test]
fn who_waits_is_woken_by_an_event_by_the_end_of_the_manager_and_of_the_stream() {
    let home = Home::new();
    let manager = home.open();
    let events = stream(
        &manager,
        EventOptions {
            descriptor: Descriptor::EventFd,
            ..EventOptions::default()
        },
    );
    let told = polled_while(&events, || {
        log(&manager, "t-0");
    });
    assert_eq!(told.unwrap()[0].kind, EventKind::LogCreated);
    let other = all(&manager);
    assert_eq!(
        polled_while(&other, || other.close()).unwrap_err(),
        ErrorKind::Closed
    );
    log(&manager, "t-1");
    drain(&events);
    let ended = polled_while(&events, || manager.close().unwrap());
    assert_eq!(ended.unwrap_err(), ErrorKind::Closed);
    let after = events.poll(1, Some(Duration::ZERO)).unwrap_err();
    assert_eq!(after.kind(), ErrorKind::Closed);
    // Also by what closes without writing.
    let manager = home.open();
    let events = all(&manager);
    let ended = polled_while(&events, || manager.abandon());
    assert_eq!(ended.unwrap_err(), ErrorKind::Closed);
}
