//! What happens to a log while it moves happens to the copy.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use klog::ErrorKind;
use klog::config::ConfigSet;
use klog::io::RealFs;
use klog::log::{AppendOptions, CursorOptions, Log, WriteDurability};
use klog::manager::{CreateOptions, Manager, ManagerOptions};
use klog::types::Offset;

use super::support::engine::{self, NOW, builder, rec, segments};
use super::*;

/// What happens to the log between two steps of a move.
type Meanwhile = fn(&Manager, &Arc<Log>);

#[test]
fn what_happens_to_the_log_meanwhile_happens_to_the_copy() {
    let cases: [(&str, Meanwhile); 6] = [
        ("appends", |_, log| fill(log, 7)),
        ("a cut, then other records", |m, log| {
            m.truncate_to(log, Offset(11)).unwrap();
            for i in 0..9 {
                let record = rec(NOW, "other", &i.to_string());
                log.append(&mut builder(&[record]), &AppendOptions::default())
                    .unwrap();
            }
        }),
        ("all is dropped", |m, log| {
            m.truncate_fully(log, Offset(40), None).unwrap();
            fill(log, 3);
        }),
        ("begins lower", |m, log| {
            m.truncate_fully(log, Offset(2), None).unwrap();
            fill(log, 30);
        }),
        ("records are deleted", |m, log| {
            m.delete_records(log, Offset(13)).unwrap();
        }),
        ("segments are deleted", |m, log| {
            log.roll().unwrap();
            m.delete_records(log, log.end_offset()).unwrap();
            m.retain(log, klog::manager::Pass::Apply).unwrap();
        }),
    ];
    for (name, meanwhile) in cases {
        for at_step in 1..6 {
            let two = Two::new();
            let manager = two.open();
            let log = log_in(&manager, A);
            eventful(&manager, &log);
            let mut step = 0;
            manager
                .move_log(&log, Path::new(B), || {
                    step += 1;
                    if step == at_step {
                        meanwhile(&manager, &log);
                    }
                    Ok(())
                })
                .unwrap_or_else(|e| panic!("{name} at {at_step}: {e:?}"));
            assert!(step >= 4, "{step}");
            let moved = content(&log);
            assert!(log.dir().starts_with(B));

            // The same without a move.
            let other = Two::new();
            let reference = other.open();
            let log = log_in(&reference, A);
            eventful(&reference, &log);
            if at_step <= step {
                meanwhile(&reference, &log);
            }
            assert_eq!(moved, content(&log), "{name} at {at_step}");
            manager.close().unwrap();
            let reopened = two.open();
            let log = reopened.log(&t0()).unwrap();
            assert_eq!(content(&log).records, moved.records, "{name} at {at_step}");
            assert_eq!(log.start_offset().0, moved.start, "{name} at {at_step}");
        }
    }
}

#[test]
fn a_log_that_is_deleted_while_it_moves_is_gone() {
    let two = Two::new();
    let manager = two.open();
    let log = log_in(&manager, A);
    eventful(&manager, &log);
    let mut step = 0;
    let moved = manager.move_log(&log, Path::new(B), || {
        step += 1;
        if step == 3 {
            manager.delete_log(&t0()).unwrap();
        }
        Ok(())
    });
    assert_eq!(
        moved.unwrap_err().kind(),
        ErrorKind::UnknownTopicOrPartition
    );
    assert_eq!((two.served(), manager.futures()), (Vec::new(), Vec::new()));
    let log = log_in(&manager, B);
    assert_eq!(log.end_offset(), Offset(0));
    manager.close().unwrap();
}

#[test]
fn a_manager_that_is_closed_while_a_log_moves_leaves_both_directories_in_order() {
    let two = Two::new();
    let manager = two.open();
    let log = log_in(&manager, A);
    eventful(&manager, &log);
    let mut step = 0;
    let moved = manager.move_log(&log, Path::new(B), || {
        step += 1;
        if step == 3 {
            manager.close().unwrap();
        }
        Ok(())
    });
    assert_eq!(moved.unwrap_err().kind(), ErrorKind::Closed);
    let manager = two.open();
    assert!(manager.dirs().iter().all(|dir| dir.was_clean));
    assert_eq!(manager.futures().len(), 1);
    let log = manager.log(&t0()).unwrap();
    move_to(&manager, &log, B).unwrap();
    assert_eq!(log.end_offset(), Offset(22));
}

/// Threads append, synced and not, and read, while the log goes from one directory to the other and back.
#[test]
fn a_log_moves_while_others_append_and_read() {
    let root = support::tree::scratch();
    let dirs: Vec<PathBuf> = ["a", "b"].iter().map(|d| root.path().join(d)).collect();
    for dir in &dirs {
        std::fs::create_dir(dir).unwrap();
    }
    let mut set = ConfigSet::broker();
    set.set("log.segment.bytes", "1048576").unwrap();
    let config = Arc::new(set.resolve().unwrap());
    let open = || {
        Manager::open(ManagerOptions {
            fs: Arc::new(RealFs),
            ..ManagerOptions::new(dirs.clone(), Arc::clone(&config))
        })
        .unwrap()
    };
    let manager = open();
    let log = manager
        .get_or_create_log(&t0(), &CreateOptions::default())
        .unwrap();
    let is_done = AtomicBool::new(false);
    let acknowledged = AtomicI64::new(0);
    // Appended while a log moves: the copy has to run after it.
    let wanted = AtomicI64::new(0);
    let value = "v".repeat(5000);
    let moves = 12;
    std::thread::scope(|scope| {
        for n in 0..2 {
            let (log, is_done, acknowledged, value) = (&log, &is_done, &acknowledged, &value);
            let wanted = &wanted;
            scope.spawn(move || {
                let mut count = 0;
                while !is_done.load(Ordering::SeqCst) {
                    let options = AppendOptions {
                        durability: if count % 8 == 0 {
                            WriteDurability::Synced
                        } else {
                            WriteDurability::PageCache
                        },
                        ..AppendOptions::default()
                    };
                    let record = rec(NOW, &format!("{n}"), &format!("{count} {value}"));
                    let result = log.append(&mut builder(&[record]), &options).unwrap();
                    acknowledged.fetch_max(result.last_offset.0 + 1, Ordering::SeqCst);
                    count += 1;
                    // Not more than the test has room for.
                    while result.last_offset.0 > wanted.load(Ordering::SeqCst)
                        && !is_done.load(Ordering::SeqCst)
                    {
                        std::thread::yield_now();
                    }
                }
            });
        }
        scope.spawn(|| {
            let mut cursor = log.cursor(Offset::ZERO, CursorOptions::default());
            let mut next = [0, 0];
            let mut offset = 0;
            loop {
                let was_done = is_done.load(Ordering::SeqCst);
                let records = cursor.next_records(50).unwrap();
                for record in records.iter() {
                    assert_eq!(record.offset.0, offset);
                    offset += 1;
                    let of: usize = String::from_utf8_lossy(record.key.unwrap())
                        .parse()
                        .unwrap();
                    let text = String::from_utf8_lossy(record.value.unwrap()).into_owned();
                    assert!(
                        text.starts_with(&format!("{} ", next[of])),
                        "{of}: {text:.20}"
                    );
                    next[of] += 1;
                }
                if records.is_empty() && was_done {
                    assert_eq!(offset, log.end_offset().0);
                    return;
                }
            }
        });
        for n in 0..moves {
            let grown = acknowledged.load(Ordering::SeqCst) + 20;
            wanted.store(grown + 400, Ordering::SeqCst);
            while acknowledged.load(Ordering::SeqCst) < grown {
                std::thread::yield_now();
            }
            let to = &dirs[usize::from(log.dir().starts_with(&dirs[0]))];
            manager
                .move_log(&log, to, || Ok(()))
                .unwrap_or_else(|e| panic!("move {n}: {e:?}"));
            assert!(log.dir().starts_with(to));
        }
        is_done.store(true, Ordering::SeqCst);
    });
    let end = log.end_offset();
    assert_eq!(end.0, acknowledged.load(Ordering::SeqCst));
    assert!(segments(&log).len() > 1);
    manager.close().unwrap();
    let manager = open();
    let log = manager.log(&t0()).unwrap();
    assert_eq!(log.end_offset(), end);
    assert_eq!(engine::offsets(&log, 0), (0..end.0).collect::<Vec<_>>());
    manager.remove_deleted().unwrap();
    println!("moves: {moves} moves, {} records meanwhile", end.0);
}
