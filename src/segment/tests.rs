//! Appends, look-ups, cuts and recoveries of one segment on a simulated disk, and the bytes of its indexes.

use std::path::Path;
use std::sync::Arc;

use super::*;
use crate::format::batch::{Batch, BatchHeader};
use crate::format::builder::{BatchBuilder, BatchOptions};
use crate::format::goldens::{T, unhex};
use crate::format::offset_index::OffsetEntry;
use crate::format::time_index::TimeEntry;
use crate::format::txn_index::AbortedTxn;
use crate::io::{OpenMode, SimFs, read_file};

mod look_ups;

const OPTIONS: SegmentOptions = SegmentOptions {
    index_interval_bytes: 4096,
    index_bytes_max: 10 * 1024 * 1024,
};

struct Nothing;

impl RecoverySink for Nothing {
    fn batch(
        &mut self,
        _: &BatchHeader,
        _: Option<&Batch<'_>>,
    ) -> crate::Result<Option<AbortedTxn>> {
        Ok(None)
    }
}

/// A batch of records `k<i>`=`v<i>` with timestamps rising by one up to `max`.
fn batch(base: i64, records: i64, max: i64, value_bytes: usize) -> Vec<u8> {
    let mut builder = BatchBuilder::new();
    for i in 0..records {
        let ts = TimestampMs((max - (records - 1 - i)).max(0));
        builder
            .push(
                ts,
                Some(b"kk"),
                Some(&vec![b'v'; value_bytes]),
                [].into_iter(),
            )
            .unwrap();
    }
    let options = BatchOptions {
        base_offset: Offset(base),
        ..BatchOptions::default()
    };
    builder.finish(&options).unwrap().to_vec()
}

fn sim() -> (SimFs, Arc<dyn FileSystem>, Arc<Path>) {
    let sim = SimFs::new();
    sim.create_dir(Path::new("/t-0")).unwrap();
    (sim.clone(), Arc::new(sim), Path::new("/t-0").into())
}

fn writer(
    fs: &Arc<dyn FileSystem>,
    dir: &Arc<Path>,
    base: i64,
    options: SegmentOptions,
) -> SegmentWriter {
    Segment::create(fs, dir, Offset(base), options, None, TimestampMs(0)).unwrap()
}

fn close(mut writer: SegmentWriter) -> Arc<Segment> {
    writer.finish().unwrap();
    writer.close()
}

fn append(writer: &mut SegmentWriter, batches: &[Vec<u8>]) {
    let headers: Vec<_> = batches
        .iter()
        .map(|b| *Batch::new(b).unwrap().header())
        .collect();
    writer.store(&batches.concat()).unwrap();
    writer.commit(&headers);
}

fn file(fs: &dyn FileSystem, name: &str) -> Option<Vec<u8>> {
    read_file(fs, &Path::new("/t-0").join(name)).unwrap()
}

fn offsets(segment: &Segment) -> Vec<(i64, u32)> {
    let entries = segment.with_indexes(|i| i.offset_entries()).unwrap();
    entries
        .into_iter()
        .map(|OffsetEntry { offset, position }| (offset.0, position))
        .collect()
}

fn times(segment: &Segment) -> Vec<(i64, i64)> {
    let entries = segment.with_indexes(|i| i.time_entries()).unwrap();
    entries
        .into_iter()
        .map(|TimeEntry { timestamp, offset }| (timestamp.0, offset.0))
        .collect()
}

#[test]
fn g_segment_index_entries_of_single_appends() {
    let (_, fs, dir) = sim();
    let mut w = writer(
        &fs,
        &dir,
        1000,
        SegmentOptions {
            index_interval_bytes: 146,
            ..OPTIONS
        },
    );
    // The golden's appends: last offset, size, max timestamp.
    for (base, last, size, max) in [
        (1000, 1000, 73, T),
        (1001, 1001, 73, T + 5),
        (1002, 1002, 73, T + 5),
        (1003, 1003, 73, T + 3),
        (1004, 1005, 85, T + 10),
        (1006, 1006, 73, T + 9),
        (1007, 1007, 73, T + 20),
        (1008, 1008, 73, T + 1),
    ] {
        let records = last - base + 1;
        let bytes = (0..40)
            .map(|n| batch(base, records, max, n))
            .find(|b| b.len() == size)
            .unwrap();
        append(&mut w, &[bytes]);
    }
    let segment = close(w);
    assert_eq!(
        file(&*fs, "00000000000000001000.index").unwrap(),
        unhex("00000003000000db0000000600000179")
    );
    assert_eq!(
        file(&*fs, "00000000000000001000.timeindex").unwrap(),
        unhex("0000018bcfe56805000000010000018bcfe5680a000000050000018bcfe5681400000007")
    );
    assert_eq!(
        segment.max_timestamp().unwrap(),
        MaxTimestamp {
            timestamp: TimestampMs(T + 20),
            offset: Offset(1007)
        }
    );
    // Recovery writes the same bytes for a segment written in one go.
    let again = Segment::open(&fs, &dir, Offset(1000), *segment.options(), TimestampMs(0)).unwrap();
    again.recover(&mut Nothing).unwrap().0.finish().unwrap();
    assert_eq!(
        file(&*fs, "00000000000000001000.index").unwrap(),
        unhex("00000003000000db0000000600000179")
    );
}

fn five(base: i64, max: i64) -> Vec<u8> {
    let built = batch(base, 5, max, 2);
    assert_eq!(built.len(), 116, "the batch of log.md 14");
    built
}

#[test]
fn log_md_14_1_one_append_of_several_batches_writes_several_entries() {
    let (_, fs, dir) = sim();
    let mut w = writer(
        &fs,
        &dir,
        0,
        SegmentOptions {
            index_interval_bytes: 100,
            ..OPTIONS
        },
    );
    append(
        &mut w,
        &[five(0, 1000), five(5, 1001), five(10, 1002), five(15, 1003)],
    );
    assert_eq!(offsets(w.segment()), [(9, 116), (14, 232), (19, 348)]);
    assert_eq!(times(w.segment()), [(1001, 9), (1002, 14), (1003, 19)]);
}

#[test]
fn log_md_14_2_and_d20_a_full_index_stays_full_and_the_append_succeeds() {
    let (_, fs, dir) = sim();
    let mut w = writer(
        &fs,
        &dir,
        0,
        SegmentOptions {
            index_interval_bytes: 100,
            index_bytes_max: 48,
        },
    );
    let batches: Vec<_> = (0..12).map(|i| five(5 * i, 1000 + i)).collect();
    append(&mut w, &batches);
    assert_eq!(w.segment().size_bytes(), 1392);
    assert_eq!(offsets(w.segment()).len(), 6);
    assert_eq!(times(w.segment()).len(), 3);
    assert!(w.is_index_full());
    let segment = close(w);
    assert_eq!(
        times(&segment).last(),
        Some(&(1011, 59)),
        "the free slot is for the last entry"
    );
    assert_eq!(
        segment
            .translate(Offset(57), 1392)
            .unwrap()
            .unwrap()
            .base_offset,
        Offset(55)
    );
}

#[test]
fn translate_finds_the_batch_that_holds_an_offset_or_the_next_one() {
    let (_, fs, dir) = sim();
    let mut w = writer(
        &fs,
        &dir,
        0,
        SegmentOptions {
            index_interval_bytes: 0,
            ..OPTIONS
        },
    );
    append(&mut w, &[five(0, 1), five(10, 2), five(20, 3)]);
    let segment = close(w);
    let at = |o| {
        segment
            .translate(Offset(o), 348)
            .unwrap()
            .map(|b| (b.base_offset.0, b.position))
    };
    assert_eq!(at(0), Some((0, 0)));
    assert_eq!(at(4), Some((0, 0)));
    assert_eq!(at(5), Some((10, 116)), "a hole leads to the next batch");
    assert_eq!(at(24), Some((20, 232)));
    assert_eq!(at(25), None);
    assert_eq!(
        segment.translate(Offset(20), 300).unwrap(),
        None,
        "nothing beyond the given end"
    );
    assert_eq!(segment.read_next_offset().unwrap(), Offset(25));
}

#[test]
fn hc11_a_wrong_offset_index_is_made_anew_before_it_is_used() {
    let (_, fs, dir) = sim();
    let mut w = writer(
        &fs,
        &dir,
        0,
        SegmentOptions {
            index_interval_bytes: 0,
            ..OPTIONS
        },
    );
    append(&mut w, &[five(0, 1), five(5, 2), five(10, 3), five(15, 4)]);
    let options = *w.segment().options();
    close(w);
    let good = file(&*fs, "00000000000000000000.index").unwrap();
    let good_times = file(&*fs, "00000000000000000000.timeindex").unwrap();
    assert_eq!(good.len(), 24);
    let mut position = good.clone();
    position[20..24].copy_from_slice(&1_000_000u32.to_be_bytes());
    let mut swapped = good.clone();
    swapped[3] = 20;
    let mut wrong_batch = good.clone();
    wrong_batch[23] = 232;
    let mut negative = good.clone();
    negative[0] = 0x80;
    for damaged in [
        position,
        swapped,
        wrong_batch,
        negative,
        vec![0; 32],
        [good.clone(), vec![1; 3]].concat(),
    ] {
        let path = segment_path("00000000000000000000.index");
        write_all(&*fs, &path, &damaged);
        let segment = Segment::open(&fs, &dir, Offset(0), options, TimestampMs(0)).unwrap();
        assert_eq!(
            segment.check_index_files().unwrap(),
            open::IndexFiles::Wrong,
            "{damaged:?}"
        );
        assert_eq!(segment.read_next_offset().unwrap(), Offset(20));
        assert_eq!(
            file(&*fs, "00000000000000000000.index").unwrap(),
            good,
            "{damaged:?}"
        );
    }
    let mut later = good_times.clone();
    later[24 + 7] += 1;
    for damaged in [&[], &[0; 12][..], &[0; 24], &good_times[..13], &later] {
        let path = segment_path("00000000000000000000.timeindex");
        write_all(&*fs, &path, damaged);
        let segment = Segment::open(&fs, &dir, Offset(0), options, TimestampMs(0)).unwrap();
        assert_eq!(
            segment.check_index_files().unwrap(),
            open::IndexFiles::Wrong
        );
        segment.rebuild_indexes().unwrap();
        assert_eq!(times(&segment), [(2, 9), (3, 14), (4, 19)]);
    }
}

fn segment_path(name: &str) -> std::path::PathBuf {
    Path::new("/t-0").join(name)
}

fn write_all(fs: &dyn FileSystem, path: &Path, content: &[u8]) {
    let file = fs.open(path, OpenMode::Truncate).unwrap();
    if !content.is_empty() {
        file.write_at(content, 0).unwrap();
    }
}

#[test]
fn recovery_cuts_in_front_of_the_first_wrong_byte() {
    let (_, fs, dir) = sim();
    let good = [five(0, 1), five(5, 2), five(10, 3)].concat();
    let flip = |at: usize| {
        let mut bytes = good.clone();
        bytes[at] ^= 1;
        bytes
    };
    let cases: Vec<(Vec<u8>, u64)> = vec![
        (good.clone(), 348),
        (flip(120 + 60), 116),
        (flip(116 + 11), 116),
        (flip(300), 232),
        (good[..347].to_vec(), 232),
        (good[..240].to_vec(), 232),
        ([good.clone(), vec![0; 4096]].concat(), 348),
        ([good.clone(), vec![7; 5]].concat(), 348),
        // HC13: offsets that go back end the log, whatever the index interval.
        ([good.clone(), five(2, 9)].concat(), 348),
        ([good.clone(), five(10, 9)].concat(), 348),
        ([good.clone(), five(100, 9)].concat(), 464),
    ];
    for (bytes, kept) in cases {
        for interval in [0, 4096] {
            write_all(&*fs, &segment_path("00000000000000000000.log"), &bytes);
            let options = SegmentOptions {
                index_interval_bytes: interval,
                ..OPTIONS
            };
            let segment = Segment::open(&fs, &dir, Offset(0), options, TimestampMs(0)).unwrap();
            let (mut writer, recovery) = segment.recover(&mut Nothing).unwrap();
            assert_eq!(
                file(&*fs, "00000000000000000000.log").unwrap(),
                bytes,
                "cut only when finished"
            );
            writer.finish().unwrap();
            assert_eq!(writer.segment().size_bytes(), kept);
            assert_eq!(recovery.truncated_bytes, bytes.len() as u64 - kept);
            assert_eq!(recovery.reason.is_some(), recovery.truncated_bytes > 0);
            assert_eq!(
                file(&*fs, "00000000000000000000.log").unwrap(),
                bytes[..kept as usize]
            );
        }
    }
}

#[test]
fn hc22_an_io_error_in_recovery_cuts_nothing() {
    let (disk, fs, dir) = sim();
    let bytes = [five(0, 1), five(5, 2)].concat();
    write_all(&*fs, &segment_path("00000000000000000000.log"), &bytes);
    disk.inject(crate::io::sim::Fault::once(
        crate::io::sim::OpKind::Read,
        ".log",
        libc::EIO,
    ));
    let segment = Segment::open(&fs, &dir, Offset(0), OPTIONS, TimestampMs(0)).unwrap();
    assert!(segment.recover(&mut Nothing).is_err());
    assert_eq!(file(&*fs, "00000000000000000000.log").unwrap(), bytes);
}

#[test]
fn hc12_bytes_behind_the_last_batch_are_noticed() {
    let (_, fs, dir) = sim();
    let good = [five(0, 1), five(5, 2)].concat();
    for (tail, in_order) in [
        (0, true),
        (1, false),
        (10, false),
        (17, false),
        (18, false),
        (100, false),
    ] {
        write_all(
            &*fs,
            &segment_path("00000000000000000000.log"),
            &[good.clone(), vec![0; tail]].concat(),
        );
        let segment = Segment::open(&fs, &dir, Offset(0), OPTIONS, TimestampMs(0)).unwrap();
        segment.rebuild_indexes().unwrap();
        assert_eq!(segment.check_tail().unwrap().is_ok(), in_order, "{tail}");
    }
}

#[test]
fn hc42_b_an_index_cut_by_another_process_is_an_error_and_no_signal() {
    let dir = tempfile::tempdir().unwrap();
    let fs: Arc<dyn FileSystem> = Arc::new(crate::io::RealFs);
    let path: Arc<Path> = dir.path().into();
    let mut w = writer(
        &fs,
        &path,
        0,
        SegmentOptions {
            index_interval_bytes: 0,
            ..OPTIONS
        },
    );
    let batches: Vec<_> = (0..2000).map(|i| five(5 * i, 1000 + i)).collect();
    append(&mut w, &batches);
    let size = w.segment().size_bytes();
    let segment = close(w);
    assert!(segment.translate(Offset(9000), size).unwrap().is_some());
    for name in [
        "00000000000000000000.index",
        "00000000000000000000.timeindex",
    ] {
        fs.open(&dir.path().join(name), OpenMode::ReadWrite)
            .unwrap()
            .set_len(0)
            .unwrap();
    }
    assert_eq!(
        segment.translate(Offset(9000), size).unwrap_err().kind(),
        crate::ErrorKind::CorruptIndex
    );
    assert!(
        segment
            .find_by_timestamp(TimestampMs(2500), Offset(0), size, 1000)
            .is_err()
    );
    // The log itself is read by pread: a file that shrank gives an error too.
    fs.open(
        &dir.path().join("00000000000000000000.log"),
        OpenMode::ReadWrite,
    )
    .unwrap()
    .set_len(0)
    .unwrap();
    let mut scan = BatchScan::new(Arc::clone(segment.file()), 0..size);
    assert!(scan.next_batch().is_err());
}

#[test]
fn hc42_c_existing_empty_indexes_grow_by_entries() {
    let (_, fs, dir) = sim();
    for end in ["log", "index", "timeindex"] {
        write_all(
            &*fs,
            &segment_path(&format!("00000000000000000000.{end}")),
            &[],
        );
    }
    let options = SegmentOptions {
        index_interval_bytes: 0,
        ..OPTIONS
    };
    let segment = Segment::open(&fs, &dir, Offset(0), options, TimestampMs(0)).unwrap();
    let mut w = segment.into_writer().unwrap();
    append(&mut w, &[five(0, 1), five(5, 2)]);
    close(w);
    assert_eq!(file(&*fs, "00000000000000000000.index").unwrap().len(), 8);
    assert_eq!(
        file(&*fs, "00000000000000000000.timeindex").unwrap().len(),
        12
    );
}

#[test]
fn log_md_2_14_the_first_record_at_or_after_a_time() {
    let (_, fs, dir) = sim();
    let mut w = writer(&fs, &dir, 0, OPTIONS);
    append(&mut w, &[five(0, 104), five(5, 204), five(10, 154)]);
    let segment = w.segment();
    let find = |t, start| {
        segment
            .find_by_timestamp(TimestampMs(t), Offset(start), 348, 1000)
            .unwrap()
            .map(|r| (r.timestamp.0, r.offset.0))
    };
    assert_eq!(find(0, 0), Some((100, 0)));
    assert_eq!(find(103, 0), Some((103, 3)));
    assert_eq!(find(105, 0), Some((200, 5)));
    assert_eq!(find(105, 8), Some((203, 8)));
    assert_eq!(find(205, 0), None);
    assert_eq!(find(152, 10), Some((152, 12)));
}
