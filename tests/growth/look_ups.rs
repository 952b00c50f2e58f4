//! Look-ups by offset and by time.

use std::sync::Arc;

use klog::log::{Log, ReadOptions, TimeTarget};
use klog::types::{Offset, TimestampMs};

use crate::counted::{Disk, Done, SEGMENT_BATCHES, append_one, time_of};
use crate::support::engine::t0;

const SEGMENTS: [i64; 4] = [1, 10, 100, 1000];

/// One batch at that offset.
fn read(log: &Log, offset: i64) {
    let options = ReadOptions {
        max_bytes: 1,
        ..ReadOptions::default()
    };
    let mut buffer = [0; 256];
    let read = log.read(Offset(offset), &mut buffer, &options).unwrap();
    assert_eq!((read.batches, read.next_offset), (1, Offset(offset + 1)));
}

fn find(log: &Log, offset: i64) {
    let target = TimeTarget::At(TimestampMs(time_of(offset)));
    let found = log.offset_for_timestamp(target).unwrap().unwrap();
    assert_eq!(found.offset, Offset(offset));
}

/// The dearest of look-ups all over the log.
fn dearest(disk: &Disk, log: &Arc<Log>, look_up: fn(&Log, i64)) -> Done {
    let end = log.end_offset().0;
    let step = (end / 50).max(1) as usize;
    let costs = (0..end).step_by(step).chain([end - 1]).map(|offset| {
        let (done, ()) = disk.count(|| look_up(log, offset));
        done
    });
    costs
        .max_by_key(|done| (done.calls(), done.bytes()))
        .unwrap()
}

/// In logs of so many segments: the dearest look-up when each has been used once, so that its indexes are there.
fn in_logs(what: &str, look_up: fn(&Log, i64)) -> Vec<Done> {
    let costs = SEGMENTS.map(|segments| {
        let disk = Disk::log_of(segments);
        let manager = disk.open();
        let log = t0(&manager);
        for segment in 0..segments {
            look_up(&log, segment * SEGMENT_BATCHES);
        }
        let cost = dearest(&disk, &log, look_up);
        println!("{what}, {segments} segments: {cost}");
        manager.abandon();
        cost
    });
    costs.to_vec()
}

fn assert_alike(costs: &[Done], calls_max: u64, bytes_max: u64) {
    for cost in costs {
        assert!(cost.calls() <= calls_max, "{cost}");
        assert!(cost.bytes() <= bytes_max, "{cost}");
    }
}

#[test]
fn a_read_by_offset_costs_the_same_in_a_thousand_segments() {
    assert_alike(&in_logs("read by offset", read), 2, 1024);
}

#[test]
fn a_look_up_by_time_costs_the_same_in_a_thousand_segments() {
    assert_alike(&in_logs("look-up by time", find), 2, 1024);
}

#[test]
fn a_look_up_costs_the_same_in_a_long_segment() {
    for (what, look_up) in [
        ("read by offset", read as fn(&Log, i64)),
        ("look-up by time", find),
    ] {
        for batches in [10, 100, 1000, 10_000] {
            let disk = Disk::new(i64::from(i32::MAX));
            let manager = disk.open();
            let log = t0(&manager);
            (0..batches).for_each(|n| append_one(&log, n));
            let cost = dearest(&disk, &log, look_up);
            println!("{what}, {batches} batches in a segment: {cost}");
            assert_alike(&[cost], 2, 1024);
            manager.abandon();
        }
    }
}

/// The first look-up in the last but one segment of a log that was just opened.
fn first(what: &str, segments: i64, look_up: fn(&Log, i64)) -> Done {
    let disk = Disk::log_of(segments);
    let manager = disk.open();
    let log = t0(&manager);
    let in_last_but_one = log.end_offset().0 - SEGMENT_BATCHES - 1;
    let (cost, ()) = disk.count(|| look_up(&log, in_last_but_one.max(0)));
    println!("first {what}, {segments} segments: {cost}");
    manager.abandon();
    cost
}

/// Its file and two indexes, which are read as they are small, and checked; then as ever.
#[test]
fn the_first_read_after_an_open_opens_the_files_of_one_segment() {
    for segments in SEGMENTS {
        let cost = first("read by offset", segments, read);
        assert_alike(&[cost], 2 + 7, 2048);
    }
}

/// Which segment may have a time only the segments in front of it can tell: each is asked once, by whoever comes first.
#[test]
fn the_first_look_up_by_time_opens_the_files_of_each_segment_at_most() {
    for segments in SEGMENTS {
        let cost = first("look-up by time", segments, find);
        let segments = segments as u64;
        assert_alike(&[cost], 1 + 7 * segments, 1024 * (segments + 1));
    }
}
