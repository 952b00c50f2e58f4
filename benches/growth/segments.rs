//! Curves over the segments of a log.

use std::path::Path;

use klog::config::LogConfig;
use klog::format::builder::BatchBuilder;
use klog::log::{AppendOptions, Log, ReadOptions, Shutdown, TimeTarget};
use klog::types::{Offset, TimestampMs};

use super::clock::Worked;
use super::curve::{Asked, Curve};
use super::data::{Data, TIME, next, open_log};
use super::held::held;
use super::{Sizes, fresh, shortest, timed};

/// Records of a segment, in one batch: few, so that the look-up counts and not the batch.
const RECORDS: u64 = 10;
/// In a log of ten times as many segments at most so many times what it takes: more memory and more files are visited.
const LOOK_UP_TIMES: f64 = 1.6;

fn write(dir: &Path, segments: u64) {
    let data = Data::new();
    let log = open_log(
        &fresh(dir).join("t-0"),
        LogConfig::default(),
        Shutdown::Unclean,
    );
    let mut builder = BatchBuilder::new();
    for n in 0..segments {
        if n > 0 {
            log.roll().unwrap();
        }
        data.fill(&mut builder, 0, RECORDS, TIME + (n * RECORDS) as i64);
        log.append(&mut builder, &AppendOptions::default()).unwrap();
    }
    log.close().unwrap();
}

fn find(log: &Log, offset: i64) {
    let target = TimeTarget::At(TimestampMs(TIME + offset));
    let found = log.offset_for_timestamp(target).unwrap().unwrap();
    assert_eq!(found.offset.0, offset);
}

fn read(log: &Log, offset: i64, buffer: &mut [u8]) {
    let options = ReadOptions {
        max_bytes: 1,
        ..ReadOptions::default()
    };
    let read = log.read(Offset(offset), buffer, &options).unwrap();
    assert_eq!(read.batches, 1);
}

/// Microseconds of one of many, all over the log.
fn each(look_ups: u64, end: u64, mut look_up: impl FnMut(i64)) -> f64 {
    let mut state = 1;
    let began = Worked::start();
    for _ in 0..look_ups {
        state = next(state);
        look_up(((state >> 33) % end).cast_signed());
    }
    began.seconds() / look_ups as f64 * 1e6
}

/// Opening; look-ups; memory.
pub(crate) fn curves(sizes: &Sizes, root: &Path) -> [Vec<Curve>; 3] {
    let dir = root.join("segments");
    let decades = (sizes.segments[sizes.segments.len() - 1] as f64).log10();
    let look_up = Asked::AtMostTimes(LOOK_UP_TIMES.powf(decades));
    let mut open = Curve::new("open", Asked::Linear);
    let mut first = Curve::new("open, and the first look-up by time", Asked::Linear);
    let mut by_offset = Curve::new("read by offset", look_up);
    let mut by_time = Curve::new("look-up by time", look_up);
    let mut memory = Curve::new("a log, by segments", Asked::Linear);
    for &segments in sizes.segments {
        write(&dir, segments);
        let end = segments * RECORDS;
        let again = || open_log(&dir.join("t-0"), LogConfig::default(), Shutdown::Clean);
        let before = held()[0];
        let mut log = again();
        memory.add(segments, (held()[0] - before) / 1024.0);
        open.add(
            segments,
            shortest(sizes.rounds, || {
                log.close().unwrap();
                let (seconds, opened) = timed(again);
                log = opened;
                seconds
            }),
        );
        first.add(
            segments,
            shortest(sizes.rounds, || {
                log.close().unwrap();
                let (seconds, opened) = timed(|| {
                    let log = again();
                    find(&log, end.cast_signed() - 1);
                    log
                });
                log = opened;
                seconds
            }),
        );
        let mut buffer = vec![0; 1 << 14];
        // Once in each segment, so that its indexes are open.
        for segment in 0..segments {
            read(&log, (segment * RECORDS).cast_signed(), &mut buffer);
        }
        by_offset.add(
            segments,
            shortest(sizes.rounds, || {
                each(sizes.look_ups, end, |offset| {
                    read(&log, offset, &mut buffer);
                })
            }),
        );
        by_time.add(
            segments,
            shortest(sizes.rounds, || {
                each(sizes.look_ups, end, |offset| find(&log, offset))
            }),
        );
        log.close().unwrap();
    }
    fresh(&dir);
    [vec![open, first], vec![by_offset, by_time], vec![memory]]
}
