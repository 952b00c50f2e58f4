//! A whole log directory made of any bytes: opened, read, looked at, appended to, closed and opened again.
//!
//! The input is a list of files. Most of them are what a log has, as good as it could be or with a few bytes changed; the
//! rest are any bytes under any name.

use std::path::PathBuf;
use std::sync::Arc;

use klog::config::{ConfigSet, Resolved};
use klog::format::batch::HEADER_BYTES;
use klog::format::builder::{BatchBuilder, BatchOptions};
use klog::format::codec::{Codec, Compressor};
use klog::format::crc::crc32c;
use klog::format::legacy::{OldMessage, write_message, write_wrapper};
use klog::inspect::{DumpOptions, dump};
use klog::io::{FileSystem, ManualClock, OpenMode, SimFs};
use klog::log::{AppendOptions, ControlRecords, CursorOptions, FindingKind, Log};
use klog::manager::{Manager, ManagerOptions, MissingDir};
use klog::types::{LeaderEpoch, Offset, ProducerId, TimestampMs, TopicPartition};
use klog::{Error, ErrorKind};

use super::Choices;

const DIR: &str = "/data";
const LOG_DIR: &str = "/data/a-0";
const NOW: TimestampMs = TimestampMs(1_700_000_100_000);
const BASES: [i64; 8] = [0, 3, 10, 20, 1000, 0x8000_0003, i64::MAX - 5, i64::MAX];
const KINDS: [&str; 5] = ["log", "index", "timeindex", "txnindex", "snapshot"];
const STATES: [&str; 4] = ["", ".swap", ".cleaned", ".deleted"];
const FILES_MAX: usize = 24;
/// A cursor that gives nothing new for so many calls goes round in circles.
const CALLS_MAX: usize = 5_000;

pub(super) fn body(data: &[u8]) {
    let disk = SimFs::new();
    disk.create_dir(DIR.as_ref()).unwrap();
    disk.create_dir(LOG_DIR.as_ref()).unwrap();
    let mut choices = Choices(data);
    let config = config(choices.u8());
    for _ in 0..FILES_MAX {
        if choices.is_empty() {
            break;
        }
        let (path, content) = file(&mut choices);
        // A name may be what a file has already as a directory, or too odd.
        if let Ok(file) = disk.open(&path, OpenMode::Truncate) {
            file.write_at(&content, 0).unwrap();
        }
    }
    disk.sync_all();
    check(&disk, &config);
}

fn config(choice: u8) -> Arc<Resolved> {
    let mut set = ConfigSet::broker();
    let interval = ["4096", "0", "100"][usize::from(choice) % 3];
    set.set_topic("a", "index.interval.bytes", interval)
        .unwrap();
    if choice & 0x80 != 0 {
        set.set_topic("a", "internal.segment.bytes", "300").unwrap();
    }
    set.set_topic("a", "max.decompressed.message.bytes", "100000")
        .unwrap();
    Arc::new(set.resolve().unwrap())
}

fn file(choices: &mut Choices<'_>) -> (PathBuf, Vec<u8>) {
    let of_segment = |choices: &mut Choices<'_>, kind: &str, state: &str| {
        let base = BASES[choices.below(BASES.len())];
        PathBuf::from(format!("{LOG_DIR}/{base:020}.{kind}{state}"))
    };
    match choices.below(16) {
        0..=4 => {
            let state = STATES[[0, 0, 0, 0, 1, 2, 3][choices.below(7)]];
            (of_segment(choices, "log", state), segment(choices))
        }
        5..=7 => {
            let kind = KINDS[choices.below(5)];
            let state = STATES[[0, 0, 0, 1, 2, 3][choices.below(6)]];
            (
                of_segment(choices, kind, state),
                choices.long_bytes().to_vec(),
            )
        }
        8 => (of_segment(choices, "snapshot", ""), snapshot(choices)),
        9 => {
            let text = format!("0\n1\n{} {}\n", choices.below(4), BASES[choices.below(8)]);
            (
                format!("{LOG_DIR}/leader-epoch-checkpoint").into(),
                text.into(),
            )
        }
        10 => {
            let name = [
                "leader-epoch-checkpoint",
                "partition.metadata",
                "leader-epoch-checkpoint.tmp",
            ];
            (
                format!("{LOG_DIR}/{}", name[choices.below(3)]).into(),
                choices.long_bytes().to_vec(),
            )
        }
        11..=12 => {
            let name = [
                "recovery-point-offset-checkpoint",
                "log-start-offset-checkpoint",
            ][choices.below(2)];
            let offset = BASES[choices.below(8)].wrapping_add(i64::from(choices.u8() % 4));
            (
                format!("{DIR}/{name}").into(),
                format!("0\n1\na 0 {offset}\n").into(),
            )
        }
        13 => (format!("{DIR}/.kafka_cleanshutdown").into(), Vec::new()),
        14 => {
            let name = [
                "recovery-point-offset-checkpoint",
                "log-start-offset-checkpoint",
                "meta.properties",
            ];
            (
                format!("{DIR}/{}", name[choices.below(3)]).into(),
                choices.long_bytes().to_vec(),
            )
        }
        _ => {
            let len = choices.below(30);
            let name = String::from_utf8_lossy(choices.bytes(len)).replace(['/', '\0'], "_");
            (
                format!("{LOG_DIR}/n{name}").into(),
                choices.long_bytes().to_vec(),
            )
        }
    }
}

fn snapshot(choices: &mut Choices<'_>) -> Vec<u8> {
    let mut bytes = [&[0, 1, 0, 0, 0, 0][..], choices.long_bytes()].concat();
    let crc = crc32c(&bytes[6..]);
    bytes[2..6].copy_from_slice(&crc.to_be_bytes());
    bytes
}

/// Batches one behind the other, then a few bytes changed.
fn segment(choices: &mut Choices<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut next = BASES[choices.below(BASES.len())];
    for _ in 0..choices.below(6) {
        next = next.wrapping_add(i64::from(choices.u8() % 8).saturating_sub(4).max(0));
        next = batch(choices, &mut bytes, next);
    }
    for _ in 0..choices.below(4) {
        let at = usize::from(u16::from_be_bytes(choices.array())) % bytes.len().max(1);
        match choices.below(4) {
            0 => bytes.truncate(at),
            1 => bytes.extend_from_slice(choices.long_bytes()),
            2 => bytes.extend_from_slice(&vec![0; at]),
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = choices.u8();
                }
            }
        }
    }
    bytes
}

/// One batch at an offset; the offset behind it.
fn batch(choices: &mut Choices<'_>, out: &mut Vec<u8>, base: i64) -> i64 {
    let kind = choices.u8();
    let count = 1 + i64::from(choices.u8() % 4);
    let timestamp = |i: i64| TimestampMs(1_700_000_000_000 + i);
    let last = base.wrapping_add(count - 1);
    if kind % 8 == 7 {
        let magic = i8::try_from(choices.below(2)).unwrap();
        let mut inner = Vec::new();
        for i in 0..count {
            let offset = Offset(if magic == 0 { base.wrapping_add(i) } else { i });
            let message = OldMessage {
                offset,
                timestamp: timestamp(i),
                key: Some(b"k"),
                value: Some(b"old"),
            };
            write_message(&mut inner, magic, 0, &message);
        }
        let wrapper = OldMessage {
            offset: Offset(last),
            timestamp: timestamp(count),
            key: None,
            value: None,
        };
        let codec = [Codec::Gzip, Codec::Snappy, Codec::Lz4][choices.below(3)];
        write_wrapper(
            out,
            magic,
            0,
            codec,
            &wrapper,
            &inner,
            &mut Compressor::new(),
        )
        .unwrap();
        return last.wrapping_add(1);
    }
    let is_control = kind % 8 == 6;
    let mut builder = BatchBuilder::new();
    for i in 0..count {
        let (key, value): (&[u8], &[u8]) = if is_control {
            (&[0, 0, 0, 0], &[0, 0, 0, 0, 0, 1])
        } else {
            (b"key", b"a value of a record")
        };
        builder
            .push(timestamp(i), Some(key), Some(value), [].into_iter())
            .unwrap();
        if is_control {
            break;
        }
    }
    let has_producer = kind & 0x20 != 0 || is_control;
    let options = BatchOptions {
        base_offset: Offset(base),
        leader_epoch: LeaderEpoch(i32::from(choices.u8() % 4) - 1),
        codec: Codec::ALL[choices.below(5)],
        producer_id: ProducerId(if has_producer {
            i64::from(choices.u8() % 3)
        } else {
            -1
        }),
        producer_epoch: i16::from(choices.u8() % 2),
        base_sequence: if has_producer && !is_control {
            i32::from(choices.u8() % 10)
        } else {
            -1
        },
        transactional: is_control || kind & 0x40 != 0,
        control: is_control,
        last_offset_delta: Some(i32::try_from(count - 1).unwrap()),
        ..BatchOptions::default()
    };
    let bytes = builder.finish(&options).unwrap();
    if kind & 0x18 == 0x18 {
        // Fields outside the checksum, and inside it with the checksum made anew.
        let at = choices.below(HEADER_BYTES);
        bytes[at] = choices.u8();
        if choices.below(2) == 1 {
            klog::format::batch::seal(bytes);
        }
    }
    out.extend_from_slice(bytes);
    last.wrapping_add(1)
}

/// What an open log is, as far as a reader sees it.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    start: Offset,
    end: Offset,
    records: Vec<(Offset, u32)>,
}

fn open(disk: &SimFs, config: &Arc<Resolved>) -> Result<Manager, Error> {
    Manager::open(ManagerOptions {
        dirs: vec![DIR.into()],
        missing_dir: MissingDir::Refuse,
        access: klog::manager::Access::Own,
        config: Arc::clone(config),
        fs: Arc::new(disk.clone()),
        clock: Arc::new(ManualClock::new(NOW)),
        recovery_threads: Some(1),
        broker_epoch: -1,
        high_watermarks: klog::manager::HighWatermarks::FollowEnd,
        progress: None,
    })
}

fn log_of(manager: &Manager) -> Result<Arc<Log>, Error> {
    manager.log(&TopicPartition::new("a", 0))
}

fn check(disk: &SimFs, config: &Arc<Resolved>) {
    let given = disk.files_below("/".as_ref());
    let looked = look(disk, config);
    assert!(
        disk.files_below("/".as_ref()) == given,
        "looking changes nothing"
    );

    let first = disk.after_kill();
    let manager = match open(&first, config) {
        Ok(manager) => manager,
        Err(error) => {
            // Only what the directory itself says can keep it from being opened.
            assert_eq!(error.kind(), ErrorKind::CorruptState, "{error:?}");
            assert!(looked.is_none());
            return;
        }
    };
    let Ok(log) = log_of(&manager) else {
        check_failed(&manager, &first, config);
        return;
    };
    let seen = see(&log);
    let was_clean = manager.dirs()[0].was_clean;
    if let Some(text) = looked {
        let line = format!("log a-0 start={} end={} ", seen.start, seen.end);
        assert!(
            text.contains(&line),
            "a look sees what opening leaves: {line:?} in\n{text}"
        );
    }

    // A process that dies now loses nothing, and the next one finds the same.
    manager.abandon();
    let killed = first.after_kill();
    let manager = open(&killed, config).unwrap();
    let log = match log_of(&manager) {
        Ok(log) => log,
        // What was believed the first time holds offsets that fit no segment, which a recovery refuses.
        Err(error) if was_clean && error.kind() == ErrorKind::SegmentOverflow => return,
        Err(error) => panic!("what was opened once is not opened again: {error:?}"),
    };
    let again = see(&log);
    if was_clean {
        // What was believed the first time is read now, and ends in front of the first bytes that are wrong.
        assert!(
            again.end <= seen.end && seen.records.starts_with(&again.records),
            "opened again after a kill"
        );
    } else {
        assert_eq!(
            (again.start, again.end),
            (seen.start, seen.end),
            "opened again after a kill"
        );
        assert_same(&seen.records, &again.records, "opened again after a kill");
    }

    let Some(expected) = append_at_the_end(&log, again) else {
        return;
    };
    log.flush().unwrap();

    // Closed in order, it opens as it was, and nothing is left to do.
    manager.close().unwrap();
    let manager = open(&killed.after_power_cut(1), config).unwrap();
    assert!(manager.dirs()[0].was_clean);
    let log = log_of(&manager).expect("what was closed is opened again");
    assert_eq!(
        (log.start_offset(), log.end_offset()),
        (expected.start, expected.end)
    );
    let done = manager
        .report()
        .iter()
        .find(|f| !matches!(f.kind, FindingKind::Ignored | FindingKind::Config));
    assert!(
        done.is_none(),
        "after a clean close there is something to do: {}",
        done.unwrap()
    );
    let closed = see(&log);
    assert_same(
        &expected.records,
        &closed.records,
        "closed in order and opened again",
    );
}

/// Appends go on at the end of what was seen. What is to be seen then, where that can be said.
fn append_at_the_end(log: &Arc<Log>, mut expected: Seen) -> Option<Seen> {
    let mut builder = BatchBuilder::new();
    builder
        .push(NOW, Some(b"new"), Some(b"one"), [].into_iter())
        .unwrap();
    match log.append(&mut builder, &AppendOptions::default()) {
        Ok(result) => {
            assert_eq!(result.first_offset, expected.end);
            // Segments that nobody writes so, with offsets of later ones, have no order to be kept.
            if expected
                .records
                .iter()
                .any(|(offset, _)| *offset >= expected.end)
            {
                return None;
            }
            let appended = see_from(log, result.first_offset);
            assert!(
                appended.len() == 1 && appended[0].0 == result.first_offset,
                "appended at {}, found {appended:?}",
                result.first_offset
            );
            expected.end = expected.end.next();
            expected.records.extend(appended);
        }
        // At the end of all offsets nothing fits any more.
        Err(error) => assert!(
            expected.end.0 > i64::MAX - 3 || error.kind() == ErrorKind::KafkaStorage,
            "an append is refused: {error:?}"
        ),
    }
    Some(expected)
}

fn assert_same(before: &[(Offset, u32)], after: &[(Offset, u32)], when: &str) {
    if before != after {
        let at = before.iter().zip(after).take_while(|(a, b)| a == b).count();
        let (lost, come) = (before.get(at), after.get(at));
        panic!(
            "{when}: {} records were {}, number {at} is {come:?}, was {lost:?}",
            after.len(),
            before.len()
        );
    }
}

/// A log that does not open leaves the directory without a marker, and fails alike again.
fn check_failed(manager: &Manager, disk: &SimFs, config: &Arc<Resolved>) {
    let failed = &manager.failed_logs()[0].error;
    assert!(
        !failed.is_io() && failed.kind() != ErrorKind::Bug,
        "{failed:?}"
    );
    assert!(!failed.message().is_empty());
    manager.close().unwrap();
    let again = open(&disk.after_kill(), config).unwrap();
    assert!(
        !again.dirs()[0].was_clean,
        "a directory with a log that failed is not closed in order"
    );
    // What was believed, and was wrong, is recovered now.
    if !manager.dirs()[0].was_clean {
        assert_eq!(log_of(&again).unwrap_err().kind(), failed.kind());
    }
}

fn look(disk: &SimFs, config: &Arc<Resolved>) -> Option<String> {
    let base: Arc<dyn FileSystem> = Arc::new(disk.clone());
    let options = DumpOptions {
        only: None,
        config: Arc::clone(config),
        now: NOW,
    };
    let mut text = Vec::new();
    dump(&base, DIR.as_ref(), &options, &mut text).ok()?;
    Some(String::from_utf8(text).unwrap())
}

fn see(log: &Arc<Log>) -> Seen {
    let info = log.info();
    assert!(info.log_start_offset <= info.log_end_offset, "{info:?}");
    assert_eq!(
        (info.log_start_offset, info.log_end_offset),
        (log.start_offset(), log.end_offset())
    );
    for target in [
        TimestampMs(0),
        TimestampMs(1_700_000_000_001),
        TimestampMs(i64::MAX),
    ] {
        let _ = log.offset_for_timestamp(klog::log::TimeTarget::At(target));
    }
    let _ = log.offset_for_timestamp(klog::log::TimeTarget::MaxTimestamp);
    Seen {
        start: info.log_start_offset,
        end: info.log_end_offset,
        records: see_from(log, info.log_start_offset),
    }
}

/// Everything that can be read from an offset on: the cursor comes to the end, over whatever cannot be read.
fn see_from(log: &Arc<Log>, start: Offset) -> Vec<(Offset, u32)> {
    let options = CursorOptions {
        read_bytes: 4096,
        control_records: ControlRecords::Show,
        ..CursorOptions::default()
    };
    let mut cursor = log.cursor(start, options);
    let mut all = Vec::new();
    let mut place = cursor.position();
    let mut errors_here = 0;
    for _ in 0..CALLS_MAX {
        match cursor.next_records(7) {
            Ok(slice) if slice.is_empty() => return all,
            Ok(slice) => {
                errors_here = 0;
                for record in slice.iter() {
                    assert!(record.offset >= start);
                    let sum = crc32c(record.key.unwrap_or(b"-"))
                        ^ crc32c(record.value.unwrap_or(b"-")).rotate_left(1);
                    all.push((record.offset, sum));
                }
            }
            Err(error) => {
                assert!(!error.is_io(), "{error:?}");
                // Bytes that are no batch hide where the next one begins: the cursor stays in front of them. An error
                // behind good records comes with the next call, and once.
                errors_here = if cursor.position() == place {
                    errors_here + 1
                } else {
                    0
                };
                if errors_here > 2 {
                    return all;
                }
            }
        }
        assert!(
            cursor.position() >= place,
            "a cursor does not go back: {} after {place}",
            cursor.position()
        );
        place = cursor.position();
    }
    panic!(
        "the cursor does not come to an end, it is at {} of {}",
        cursor.position(),
        log.end_offset()
    );
}

pub(super) fn seeds() -> Vec<Vec<u8>> {
    // A batch: kind, records, epoch, codec, producer epoch.
    let plain = |epoch: u8, codec: u8| [0, 2, epoch, codec, 0].to_vec();
    // A segment file: what it is, its state, its name, the first offset, how many batches, each with its distance, then
    // how many changes.
    let log = |state: u8, base: u8, batches: &[Vec<u8>], changes: &[u8]| {
        let count = u8::try_from(batches.len()).unwrap();
        let with_distance: Vec<u8> = batches.iter().flat_map(|b| [&[4], &**b].concat()).collect();
        [&[0, state, base, base, count], &*with_distance, changes].concat()
    };
    let good = [plain(1, 0), plain(1, 3), plain(2, 4)];
    let marker = vec![13];
    let recovery_point = |base: u8| vec![11, 0, base, 0];
    let producer = vec![0x60, 1, 1, 0, 1, 0, 3];
    let abort = vec![6, 0, 1, 0, 1, 0];
    let old = vec![7, 2, 1, 0];
    let files = |files: &[Vec<u8>]| [&[1], &*files.concat()].concat();
    vec![
        files(&[log(0, 0, &good, &[0])]),
        files(&[log(0, 0, &good, &[0]), marker.clone()]),
        files(&[
            log(0, 0, &good[..1], &[0]),
            log(0, 1, &good, &[0]),
            recovery_point(1),
        ]),
        files(&[
            log(0, 0, &[producer.clone(), abort, plain(1, 1)], &[0]),
            vec![8, 1, 0, 4, 0, 0, 0, 0],
        ]),
        files(&[log(0, 0, &[old, plain(1, 0)], &[0]), vec![9, 1, 0]]),
        files(&[log(0, 0, &good, &[1, 0, 200, 0]), marker.clone()]),
        files(&[
            log(0, 0, &good, &[1, 0, 90, 3, 7]),
            log(0, 3, &good[..1], &[0]),
        ]),
        files(&[
            log(0, 0, &good, &[0]),
            log(4, 0, &good[..1], &[0]),
            marker.clone(),
        ]),
        files(&[
            log(0, 0, &good, &[0]),
            log(5, 0, &good[..1], &[0]),
            log(4, 1, &good[..1], &[0]),
        ]),
        files(&[
            log(0, 0, &good, &[0]),
            vec![
                5, 1, 0, 0, 0, 16, 0, 0, 0, 5, 0, 0, 0, 90, 0, 0, 0, 9, 0, 0, 1, 1,
            ],
            marker,
        ]),
        files(&[log(0, 6, &good, &[0]), vec![12, 1, 6, 1]]),
        files(&[
            vec![10, 1, 0, 3, b'x', b'y', b'z'],
            vec![
                14, 2, 0, 9, b'v', b'e', b'r', b's', b'i', b'o', b'n', b'=', b'7',
            ],
        ]),
        files(&[log(
            0,
            0,
            &[vec![0x18, 2, 1, 0, 0, 3, 9, 1], producer],
            &[0],
        )]),
    ]
}
