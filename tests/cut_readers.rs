//! Readers of a log that is cut meanwhile, again and again: each answer is of one state that the log had, with good checksums
//! and without records of aborted transactions, or it is OFFSET_OUT_OF_RANGE. log.md 9, design.md 4.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod crash;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use crash::{Random, Record, T};
use klog::ErrorKind;
use klog::format::batch::{Batch, Next, next_in_memory};
use klog::format::decoder::RecordDecoder;
use klog::io::{ManualClock, SimFs};
use klog::log::{AppendOptions, Isolation, Log, ProducerStamp, ReadOptions, TimeTarget, TxnMarker};
use klog::manager::{CreateOptions, Manager};
use klog::types::{Offset, ProducerId, TimestampMs};

/// Ends the threads that wait for it, also when an assertion failed.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Where the log was cut, by how often it had been cut before.
type Cuts = Mutex<Vec<i64>>;

/// A record of the log after so many cuts.
fn record_after(cuts: usize, aborted: bool) -> Record {
    Record {
        timestamp: T,
        key: Some(if aborted { b"aborted" } else { b"written" }.to_vec()),
        value: Some(cuts.to_be_bytes().to_vec()),
        headers: Vec::new(),
        epoch: 0,
    }
}

/// Appends, also transactions that are all aborted, and cuts again and again.
fn append_and_cut(manager: &Manager, log: &Arc<Log>, cuts: &Cuts) {
    let mut random = Random::new(5);
    for epoch in 0..1500 {
        let n = cuts.lock().unwrap().len();
        for _ in 0..random.below(6) {
            let mut builder = crash::builder_of(&[record_after(n, false)]);
            log.append(&mut builder, &AppendOptions::default()).unwrap();
        }
        let options = AppendOptions {
            producer: Some(ProducerStamp {
                id: ProducerId(1),
                epoch,
                base_sequence: 0,
                is_transactional: true,
            }),
            ..AppendOptions::default()
        };
        log.append(&mut crash::builder_of(&[record_after(n, true)]), &options)
            .unwrap();
        let marker = TxnMarker {
            producer_id: ProducerId(1),
            producer_epoch: epoch,
            commit: false,
            coordinator_epoch: 0,
        };
        log.append_marker(&marker, &AppendOptions::default())
            .unwrap();
        let end = log.end_offset().0;
        let back = i64::try_from(random.below(12)).unwrap();
        let target = (end - back).max(0);
        if random.one_in(3) && target < end {
            cuts.lock().unwrap().push(target);
            if random.one_in(20) {
                manager
                    .truncate_fully(log, Offset(target), Some(Offset(target)))
                    .unwrap();
            } else {
                manager.truncate_to(log, Offset(target)).unwrap();
            }
        }
    }
}

/// Reads anywhere: what comes is of one state of the log, or it is told that nothing is there.
fn read_across_cuts(log: &Arc<Log>, cuts: &Cuts, done: &AtomicBool, seed: u64) -> u64 {
    let mut random = Random::new(seed);
    let mut buffer = vec![0; 4000];
    let mut answers = 0;
    while !done.load(Ordering::SeqCst) {
        let end = usize::try_from(log.end_offset().0).unwrap();
        let at = end.saturating_sub(random.below(40));
        let at = Offset(i64::try_from(at).unwrap());
        let isolation = *random.pick(&[
            Isolation::LogEnd,
            Isolation::HighWatermark,
            Isolation::TxnCommitted,
        ]);
        let options = ReadOptions {
            isolation,
            ..ReadOptions::default()
        };
        let mut seen = Vec::new();
        match log.read(at, &mut buffer, &options) {
            Ok(read) => {
                let mut rest = &buffer[..read.bytes];
                while let Ok(Next::Batch(size)) = next_in_memory(rest) {
                    let batch = Batch::new(&rest[..size as usize]).unwrap();
                    batch.ensure_valid().unwrap();
                    let header = *batch.header();
                    if !header.attributes.is_control() {
                        let mut decoder = RecordDecoder::new();
                        decoder.begin(&batch).unwrap();
                        let record = decoder.next(&batch).unwrap().unwrap();
                        let n = record.value.unwrap().try_into().unwrap();
                        seen.push((header.last_offset.0, usize::from_be_bytes(n)));
                    }
                    rest = &rest[size as usize..];
                }
                answers += 1;
            }
            Err(e) => assert_eq!(e.kind(), ErrorKind::OffsetOutOfRange, "{e:?}"),
        }
        check_one_state(&seen, &cuts.lock().unwrap());
        match crash::read_as(Isolation::TxnCommitted, log, at, 500, 7) {
            Ok(records) => assert!(
                records
                    .iter()
                    .all(|(_, record)| record.key.as_deref() == Some(b"written")),
                "a record of an aborted transaction"
            ),
            Err(e) => assert_eq!(e.kind(), ErrorKind::OffsetOutOfRange, "{e:?}"),
        }
        match log.offset_for_timestamp(TimeTarget::MaxTimestamp) {
            Ok(_) => {}
            Err(e) => panic!("{e:?}"),
        }
    }
    answers
}

/// Batches of one answer: none of them was cut before another one was written.
fn check_one_state(seen: &[(i64, usize)], cuts: &[i64]) {
    let newest = seen.iter().map(|(_, n)| *n).max().unwrap_or(0);
    for (offset, written_after) in seen {
        let cut_since = &cuts[*written_after..newest];
        assert!(
            cut_since.iter().all(|target| offset < target),
            "the batch at {offset} was cut before others of {seen:?} were written"
        );
    }
}

#[test]
fn readers_meet_one_state_of_a_log_that_is_cut_meanwhile() {
    let disk = SimFs::new();
    let clock = Arc::new(ManualClock::new(TimestampMs(T)));
    let config = crash::config(&[
        ("internal.segment.bytes", "900"),
        ("index.interval.bytes", "0"),
    ]);
    let manager = crash::open(&disk, &clock, &config).unwrap();
    let log = manager
        .get_or_create_log(&crash::partition("a"), &CreateOptions::default())
        .unwrap();
    let (done, cuts) = (AtomicBool::new(false), Cuts::default());
    let answers: u64 = std::thread::scope(|scope| {
        let end = SetOnDrop(&done);
        let (log, cuts, done) = (&log, &cuts, &done);
        let readers: Vec<_> = (0..3)
            .map(|seed| scope.spawn(move || read_across_cuts(log, cuts, done, seed)))
            .collect();
        append_and_cut(&manager, log, cuts);
        drop(end);
        readers.into_iter().map(|r| r.join().unwrap()).sum()
    });
    let cuts = cuts.into_inner().unwrap().len();
    println!("cut_readers: {answers} answers while the log was cut {cuts} times");
    assert!(cuts > 300 && answers > 100, "too little is covered");
}
