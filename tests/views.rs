//! Views: what a read would give, in place; and it stays, whatever becomes of the log. c-abi.md 1.3.1, 1.11.3, 3.2.5.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::cast_sign_loss,
    clippy::cast_possible_truncation,
    reason = "a failure fails the test"
)]

mod support;

use std::os::fd::BorrowedFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use klog::error::ErrorKind;
use klog::format::batches::Batches;
use klog::io::{RealFs, UnmappedFs};
use klog::log::{FirstBatch, Isolation, Log, ReadCut, ReadOptions, View};
use klog::manager::Manager;
use klog::types::Offset;

use support::engine::{Home, NOW, append, fill, five, offsets, rec, t0};

fn view(log: &Log, start: i64) -> View {
    log.view(Offset(start), &ReadOptions::default()).unwrap()
}

/// The bytes of a view's region, through its descriptor.
fn through_fd(view: &View) -> Vec<u8> {
    let Some(fd) = view.fd() else {
        return Vec::new();
    };
    // A descriptor of its own: the view's stays the view's.
    // SAFETY: the view keeps it open.
    let own = unsafe { BorrowedFd::borrow_raw(fd) }
        .try_clone_to_owned()
        .unwrap();
    let mut bytes = vec![0; view.bytes().len()];
    std::fs::File::from(own)
        .read_exact_at(&mut bytes, view.position())
        .unwrap();
    bytes
}

/// The first offsets of the whole, good batches in a view.
fn batches(view: &View) -> Vec<i64> {
    let mut walk = Batches::new(view.bytes());
    let mut found = Vec::new();
    while let Some(batch) = walk.next_batch().unwrap() {
        found.push(batch.header().base_offset.0);
    }
    assert_eq!(walk.position(), view.bytes().len());
    found
}

/// A view whose bytes are compared again later.
struct Held {
    view: View,
    bytes: Vec<u8>,
}

impl Held {
    fn new(log: &Log, start: i64) -> Self {
        let view = view(log, start);
        let bytes = view.bytes().to_vec();
        assert!(!bytes.is_empty());
        Self { view, bytes }
    }

    #[track_caller]
    fn check(&self) {
        assert_eq!(self.view.bytes(), self.bytes);
        assert_eq!(through_fd(&self.view), self.bytes);
    }
}

fn inode(home: &Home, name: &str) -> u64 {
    std::fs::metadata(home.path(name)).unwrap().ino()
}

#[test]
fn a_view_gives_what_a_read_gives() {
    for unmapped in [false, true] {
        let home = Home::new()
            .set("internal.segment.bytes", 2000)
            .set("index.interval.bytes", 100);
        let mut options = home.options();
        if unmapped {
            options.fs = Arc::new(UnmappedFs::new(Arc::new(RealFs)));
        }
        let manager = Manager::open(options).unwrap();
        let log = t0(&manager);
        log.leave_high_watermark_to_caller().unwrap();
        fill(&log, 30);
        append(&log, &five(NOW));
        fill(&log, 30);
        log.set_high_watermark(Offset(37)).unwrap();
        assert!(log.segments().len() > 2);
        compare_all(&log, unmapped);
        assert_eq!(manager.pinned_bytes(), 0);
        manager.close().unwrap();
    }
}

fn compare_all(log: &Log, unmapped: bool) {
    let end = log.end_offset().0;
    let mut buffer = vec![0; 1 << 16];
    let mut compared = 0;
    for start in 0..=end {
        for max_bytes in [0, 1, 71, 72, 73, 144, 500, 1999, 1 << 16] {
            for (first_batch, cut, isolation) in [
                (FirstBatch::Always, ReadCut::BehindBatch, Isolation::LogEnd),
                (
                    FirstBatch::IfItFits,
                    ReadCut::BehindBatch,
                    Isolation::HighWatermark,
                ),
                (FirstBatch::Always, ReadCut::AtMaxBytes, Isolation::LogEnd),
                (
                    FirstBatch::IfItFits,
                    ReadCut::AtMaxBytes,
                    Isolation::HighWatermark,
                ),
            ] {
                let options = ReadOptions {
                    max_bytes,
                    first_batch,
                    isolation,
                    cut,
                };
                let read = log.read(Offset(start), &mut buffer, &options).unwrap();
                let view = log.view(Offset(start), &options).unwrap();
                let what = format!("{start} {options:?}");
                assert_eq!(view.bytes(), &buffer[..read.bytes], "{what}");
                assert_eq!(
                    (view.first_offset(), view.next_offset()),
                    (read.first_offset, read.next_offset),
                    "{what}"
                );
                assert_eq!(
                    (view.segment_base_offset(), view.position()),
                    (read.segment_base_offset, read.position),
                    "{what}"
                );
                assert_eq!(view.is_first_larger(), read.is_first_larger, "{what}");
                assert_eq!(through_fd(&view), view.bytes(), "{what}");
                assert_eq!(view.is_mapped(), !unmapped && read.bytes > 0, "{what}");
                compared += usize::from(read.bytes > 0);
            }
        }
    }
    assert!(compared > 1000, "{compared}");
    for outside in [-1, end + 1] {
        let error = log
            .view(Offset(outside), &ReadOptions::default())
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OffsetOutOfRange);
    }
}

#[test]
fn a_view_outlives_retention_deletion_and_the_close_of_everything() {
    let home = Home::new()
        .set("internal.segment.bytes", 150)
        .set("file.delete.delay.ms", 0)
        .set("retention.ms", 1);
    let manager = home.open();
    let log = t0(&manager);
    fill(&log, 6);
    let first = Held::new(&log, 0);
    let last = Held::new(&log, 5);
    assert_eq!(batches(&first.view), [0, 1]);
    assert_eq!(
        manager.pinned_bytes(),
        (first.bytes.len() + last.bytes.len()) as u64
    );
    home.clock.set(klog::types::TimestampMs(NOW + 1_000_000));
    log.delete_records(Offset(4)).unwrap();
    manager.retain(&log, klog::manager::Pass::Apply).unwrap();
    log.remove_retired().unwrap();
    assert!(!home.has("0.log"));
    first.check();
    manager.truncate_fully(&log, Offset(100), None).unwrap();
    log.remove_retired().unwrap();
    assert_eq!(home.sizes(".log"), [(100, 0)]);
    last.check();
    manager.close().unwrap();
    drop((manager, log));
    std::fs::remove_dir_all(home.dir.join("t-0")).unwrap();
    first.check();
    last.check();
}

#[test]
fn a_segment_of_a_view_is_not_cut_but_replaced() {
    let home = Home::new().set("index.interval.bytes", 100);
    let manager = home.open();
    let log = t0(&manager);
    fill(&log, 9);
    let held = Held::new(&log, 4);
    let old = inode(&home, "0.log");
    assert!(manager.truncate_to(&log, Offset(6)).unwrap());
    assert_ne!(inode(&home, "0.log"), old, "another file has the name");
    assert_eq!(home.sizes(".log"), [(0, 6 * 72)]);
    assert!(home.sizes(".log.cleaned").is_empty());
    held.check();

    // What is appended now is in the file that has the name, for readers too.
    append(&log, &five(NOW));
    held.check();
    assert_eq!(offsets(&log, 0), (0..11).collect::<Vec<_>>());
    assert_eq!(batches(&view(&log, 4)), [4, 5, 6]);
    let again = Held::new(&log, 0);
    assert!(manager.truncate_to(&log, Offset(2)).unwrap());
    held.check();
    again.check();
    fill(&log, 3);
    log.roll().unwrap();
    fill(&log, 1);
    manager.close().unwrap();
    assert!(home.is_clean());

    // And as a later open finds it.
    let manager = home.open();
    let log = t0(&manager);
    assert_eq!(offsets(&log, 0), (0..6).collect::<Vec<_>>());
    held.check();
    drop((held, again));
    // Nobody holds anything: it is cut in place.
    let old = inode(&home, "5.log");
    fill(&log, 2);
    manager.truncate_to(&log, Offset(6)).unwrap();
    assert_eq!(inode(&home, "5.log"), old);
    manager.close().unwrap();
}

#[test]
fn a_cut_above_what_a_view_holds_is_made_in_place() {
    let home = Home::new();
    let manager = home.open();
    let log = t0(&manager);
    fill(&log, 4);
    let held = Held::new(&log, 1);
    fill(&log, 4);
    let old = inode(&home, "0.log");
    manager.truncate_to(&log, Offset(4)).unwrap();
    assert_eq!(inode(&home, "0.log"), old);
    fill(&log, 2);
    held.check();
    manager.close().unwrap();
}

#[test]
fn a_cut_that_cannot_copy_what_it_leaves_changes_nothing() {
    let home = Home::new();
    let manager = home.open();
    let log = t0(&manager);
    fill(&log, 5);
    let held = Held::new(&log, 0);
    // Where the copy would be made there is something else.
    let in_the_way = home.path("0.log.cleaned");
    std::fs::create_dir(&in_the_way).unwrap();
    let error = manager.truncate_to(&log, Offset(3)).unwrap_err();
    assert_eq!(error.os_errno(), Some(libc::EISDIR), "{error}");
    assert_eq!(log.end_offset(), Offset(5));
    fill(&log, 1);
    std::fs::remove_dir(&in_the_way).unwrap();
    assert!(manager.truncate_to(&log, Offset(3)).unwrap());
    held.check();
    assert_eq!(offsets(&log, 0), [0, 1, 2]);
    manager.close().unwrap();
}

#[test]
fn a_view_of_one_manager_holds_against_a_later_one() {
    let home = Home::new();
    let manager = home.open();
    let log = t0(&manager);
    fill(&log, 6);
    let held = Held::new(&log, 0);
    manager.close().unwrap();
    drop((manager, log));

    let manager = home.open();
    let log = t0(&manager);
    manager.truncate_to(&log, Offset(2)).unwrap();
    fill(&log, 2);
    held.check();
    assert_eq!(manager.pinned_bytes(), 0, "another manager's");
    drop((manager, log));

    // A recovery cuts too, in front of what is damaged: here what was damaged before the view was taken.
    let manager = home.open_unclean(0);
    let log = t0(&manager);
    home.flip("0.log", 72 + 70);
    let damaged = Held::new(&log, 0);
    assert_eq!(damaged.bytes.len(), 4 * 72);
    manager.abandon();
    drop((manager, log));
    let manager = home.open_unclean(0);
    let log = t0(&manager);
    assert_eq!(offsets(&log, 0), [0]);
    assert_eq!(home.sizes(".log"), [(0, 72)]);
    damaged.check();
    fill(&log, 2);
    damaged.check();
    assert_eq!(offsets(&log, 0), [0, 1, 2]);
    manager.close().unwrap();
}

#[test]
fn a_view_of_a_follower_is_one_of_the_owners_files() {
    let home = Home::new();
    let manager = home.open();
    let log = t0(&manager);
    fill(&log, 5);
    let follower = home.follow();
    let followed = t0_of(&follower);
    let held = Held::new(&followed, 2);
    assert!(held.view.is_mapped());
    assert_eq!(follower.pinned_bytes(), held.bytes.len() as u64);
    // Owner and follower are in one process here, so the owner knows of it.
    manager.truncate_to(&log, Offset(3)).unwrap();
    append(&log, &[rec(NOW, "other", "record")]);
    held.check();
    follower.refresh().unwrap();
    assert_eq!(offsets(&followed, 0), [0, 1, 2, 3]);
    held.check();
    manager.close().unwrap();
}

fn t0_of(manager: &Manager) -> Arc<Log> {
    manager
        .log(&klog::types::TopicPartition::new("t", 0))
        .unwrap()
}

/// Views are taken, kept and looked at while the log is cut and written anew: each stays what it was, and each is whole.
#[test]
fn views_taken_while_a_log_is_cut_are_whole_and_stay() {
    let home = Home::new().set("index.interval.bytes", 200);
    let manager = home.open();
    let log = t0(&manager);
    fill(&log, 20);
    let is_over = AtomicBool::new(false);
    let taken = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for reader in 0..2 {
            let (log, is_over, taken) = (&log, &is_over, &taken);
            scope.spawn(move || {
                let mut kept: Vec<Held> = Vec::new();
                let mut n = reader;
                while !is_over.load(Ordering::SeqCst) {
                    n += 1;
                    let view = match log.view(Offset(n % 20), &ReadOptions::default()) {
                        Ok(view) => view,
                        Err(e) => {
                            assert_eq!(e.kind(), ErrorKind::OffsetOutOfRange, "{e}");
                            continue;
                        }
                    };
                    let _ = batches(&view);
                    let bytes = view.bytes().to_vec();
                    kept.push(Held { view, bytes });
                    if kept.len() > 8 {
                        kept.remove(n as usize % 8);
                    }
                    for held in &kept {
                        assert_eq!(held.view.bytes(), held.bytes);
                    }
                    taken.fetch_add(1, Ordering::SeqCst);
                }
                for held in kept.iter().filter(|held| !held.bytes.is_empty()) {
                    held.check();
                }
            });
        }
        for round in 0..200 {
            manager.truncate_to(&log, Offset(round % 19)).unwrap();
            while log.end_offset().0 < 20 {
                append(&log, &[rec(NOW + round, "key", &round.to_string())]);
            }
        }
        is_over.store(true, Ordering::SeqCst);
    });
    assert!(taken.load(Ordering::SeqCst) > 10);
    assert_eq!(manager.pinned_bytes(), 0);
    assert_eq!(offsets(&log, 0), (0..20).collect::<Vec<_>>());
    manager.close().unwrap();
}
