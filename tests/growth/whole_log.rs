//! What goes through a whole log: append, scan, open, recovery, cleaning.

use klog::cleaner::examine::{Active, examine};
use klog::cleaner::pass::{PassOptions, Surroundings, clean};
use klog::cleaner::watch::Watch;
use klog::log::CursorOptions;
use klog::types::{Offset, TimestampMs};

use crate::counted::{Disk, Done, SEGMENT_BATCHES, append_one, assert_linear};
use crate::support::engine::{NOW, t0};

const SEGMENTS: [i64; 3] = [10, 100, 1000];

/// Calls and bytes, each linear.
fn assert_both_linear(what: &str, costs: &[(i64, Done)]) {
    let of = |cost: fn(&Done) -> u64| -> Vec<(i64, u64)> {
        costs
            .iter()
            .map(|(size, done)| (*size, cost(done)))
            .collect()
    };
    assert_linear(&format!("{what}, calls"), &of(Done::calls));
    assert_linear(&format!("{what}, bytes"), &of(Done::bytes));
}

fn each(what: &str, work: impl Fn(i64) -> Done) {
    let costs = SEGMENTS.map(|segments| {
        let done = work(segments);
        println!("{what}, {segments} segments: {done}");
        (segments, done)
    });
    assert_both_linear(what, &costs);
}

#[test]
fn opening_after_a_clean_stop_is_linear_in_segments() {
    each("open", |segments| {
        let disk = Disk::log_of(segments);
        let (done, manager) = disk.count(|| disk.open());
        assert_eq!(t0(&manager).segments().len() as i64, segments);
        manager.abandon();
        done
    });
}

#[test]
fn a_scan_is_linear() {
    each("scan", |segments| {
        let disk = Disk::log_of(segments);
        let manager = disk.open();
        let log = t0(&manager);
        let (done, found) = disk.count(|| {
            let mut cursor = log.cursor(Offset::ZERO, CursorOptions::default());
            let mut found = 0;
            loop {
                let records = cursor.next_records(1000).unwrap();
                if records.is_empty() {
                    break found;
                }
                found += records.len() as i64;
            }
        });
        assert_eq!(found, log.end_offset().0);
        manager.abandon();
        done
    });
}

#[test]
fn recovery_is_linear() {
    each("recover", |segments| {
        let disk = Disk::segmented();
        let manager = disk.open();
        let log = t0(&manager);
        (0..segments * SEGMENT_BATCHES).for_each(|n| append_one(&log, n));
        let killed = disk.after_kill();
        manager.abandon();
        let (done, manager) = killed.count(|| killed.open());
        assert_eq!(t0(&manager).end_offset().0, segments * SEGMENT_BATCHES);
        manager.abandon();
        // A look may be at all names of the log: one for each segment would be the square of them.
        assert!(done.looks <= 20, "{segments} segments: {done}");
        done
    });
}

#[test]
fn an_append_does_not_mind_what_is_there() {
    let mut before = None;
    for segments in SEGMENTS {
        let disk = Disk::log_of(segments);
        let manager = disk.open();
        let log = t0(&manager);
        // Into a new segment, so that the roll is in front of what is counted.
        append_one(&log, 0);
        let (done, ()) = disk.count(|| (1..10).for_each(|n| append_one(&log, n)));
        println!("nine appends behind {segments} segments: {done}");
        // Once a segment, its first header is read: the segment's age is counted from that batch on.
        assert_eq!(
            (done.writes, done.reads, done.calls()),
            (9, 1, 10),
            "{done}"
        );
        let rolled = disk.count(|| (10..20).for_each(|n| append_one(&log, n))).0;
        println!("ten appends and a roll behind {segments} segments: {rolled}");
        let cost = (rolled.calls(), rolled.bytes());
        assert_eq!(*before.get_or_insert(cost), cost, "{rolled}");
        manager.abandon();
    }
}

#[test]
fn cleaning_is_linear() {
    each("clean", |segments| {
        let disk = Disk::compacted();
        let manager = disk.open();
        let log = t0(&manager);
        // Each key twice: in the first half of the log and in the second.
        let keys = segments * SEGMENT_BATCHES / 2;
        (0..segments * SEGMENT_BATCHES).for_each(|n| append_one(&log, n % keys));
        log.roll().unwrap();
        let now = TimestampMs(NOW + 1_000_000);
        let (done, cleaned) = disk.count(|| {
            let watch = Watch::default();
            let options = PassOptions::new(now, 1 << 20);
            let examined = examine(&log, None, Active::AsItIs, now).unwrap();
            clean(&log, &examined, &options, Surroundings::new(&watch)).unwrap()
        });
        assert_eq!(cleaned.stats.kept_records() as i64, keys);
        manager.abandon();
        done
    });
}
