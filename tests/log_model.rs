//! A log against the simplest model of one, a list of batches: whatever is appended, rolled, flushed, cut, deleted, closed or killed,
//! every way of reading gives what the list has. And many threads at one log.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod crash;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use crash::change::{Change, Kinds};
use crash::check::{check_opened, is_header_of};
use crash::model::{Expected, Model};
use crash::run::Seeds;
use crash::{Random, Record, T};
use klog::ErrorKind;
use klog::config::Resolved;
use klog::format::batch::{Batch, Next, next_in_memory};
use klog::io::{ManualClock, SimFs};
use klog::log::{
    AppendOptions, CursorOptions, FirstBatch, Isolation, Log, ReadOptions, TimeTarget,
    WriteDurability,
};
use klog::manager::{CreateOptions, HighWatermarks, Manager};
use klog::types::{Offset, TimestampMs};

const SEEDS: u64 = 640;

type Checked<T = ()> = Result<T, String>;

struct World {
    disk: SimFs,
    clock: Arc<ManualClock>,
    config: Arc<Resolved>,
    manager: Manager,
    log: Arc<Log>,
    model: Model,
    kinds: Kinds,
    high_watermarks: HighWatermarks,
    next_id: u64,
    random: Random,
    now: i64,
    reads: u64,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed ^ 0x6d6f_6465_6c00);
        let mut keys = vec![
            (
                "internal.segment.bytes",
                *random.pick(&["600", "1500", "5000", "1000000"]),
            ),
            (
                "index.interval.bytes",
                *random.pick(&["0", "100", "500", "4096"]),
            ),
        ];
        for key in [
            ("segment.index.bytes", "24"),
            ("message.timestamp.type", "LogAppendTime"),
            ("compression.type", "zstd"),
            ("segment.ms", "300"),
            ("preallocate", "true"),
        ] {
            if random.one_in(5) {
                keys.push(key);
            }
        }
        let config = crash::config(&keys);
        let clock = Arc::new(ManualClock::new(TimestampMs(T)));
        let disk = SimFs::new();
        let high_watermarks =
            *random.pick(&[HighWatermarks::FollowEnd, HighWatermarks::FromCheckpoint]);
        let manager = crash::open_with(&disk, &clock, &config, high_watermarks).unwrap();
        let log = manager
            .get_or_create_log(&crash::partition("a"), &CreateOptions::default())
            .unwrap();
        let is_manual = high_watermarks == HighWatermarks::FromCheckpoint;
        Self {
            model: Model::new("a", None, is_manual),
            kinds: Kinds::random(&mut random),
            high_watermarks,
            next_id: 0,
            disk,
            clock,
            config,
            manager,
            log,
            random,
            now: T,
            reads: 0,
        }
    }

    fn end(&self) -> i64 {
        self.model.end
    }

    fn step(&mut self) -> Checked<String> {
        if self.random.one_in(4) {
            let is_manual = self.high_watermarks == HighWatermarks::FromCheckpoint;
            let other = Change::other(&mut self.random, self.kinds, is_manual);
            if let Some(change) = other {
                return self.make(&change);
            }
        }
        match self.random.below(16) {
            0..=8 => self.append(),
            9 => {
                self.log.roll().map_err(|e| format!("{e:?}"))?;
                Ok("roll".to_owned())
            }
            10 => {
                self.log.flush().map_err(|e| format!("{e:?}"))?;
                Ok("flush".to_owned())
            }
            11 => {
                self.now += i64::try_from(self.random.below(400)).unwrap();
                self.clock.set(TimestampMs(self.now));
                Ok("advance".to_owned())
            }
            12 => {
                self.manager.close().map_err(|e| format!("{e:?}"))?;
                let begins_anew = self.model.was_cut && self.model.start == self.model.end;
                let high_watermark = self.log.high_watermark();
                self.reopen()?;
                if !begins_anew {
                    crash::check_nothing_done(&self.manager)?;
                }
                if self.log.high_watermark()
                    != high_watermark
                        .min(self.log.end_offset())
                        .max(self.log.start_offset())
                {
                    return Err(format!("the high watermark was {high_watermark}"));
                }
                Ok("close and reopen".to_owned())
            }
            13 => {
                self.manager.abandon();
                self.reopen()?;
                Ok("kill and reopen".to_owned())
            }
            _ => {
                self.check_time()?;
                self.check_reads()?;
                Ok("check".to_owned())
            }
        }
    }

    fn append(&mut self) -> Checked<String> {
        let change = Change::append(
            &mut self.random,
            self.kinds,
            WriteDurability::PageCache,
            &mut self.next_id,
            self.now,
        );
        self.make(&change)
    }

    fn make(&mut self, change: &Change) -> Checked<String> {
        let done = change.make(&self.manager, &mut self.model)?;
        Ok(done)
    }

    fn reopen(&mut self) -> Checked {
        self.disk = self.disk.after_kill();
        self.manager =
            crash::open_with(&self.disk, &self.clock, &self.config, self.high_watermarks)
                .map_err(|e| format!("{e:?}"))?;
        self.log = self
            .manager
            .log(&crash::partition("a"))
            .map_err(|e| format!("{e:?}"))?;
        let expected = Expected::exactly(&self.model);
        let found = check_opened(&self.log, &expected, &mut self.random)?;
        (self.model.start, self.model.end) = (found.start, found.end);
        self.model.max_start = self.model.max_start.max(found.start);
        self.model.batches.truncate(found.batches);
        self.model.high_watermark = self.model.high_watermark.map(|_| found.high_watermark);
        Ok(())
    }

    fn check_time(&mut self) -> Checked {
        // Markers and compressed batches have times of their own there: only logs of plain records are asked.
        if self.kinds.producers || self.model.max_start > 0 {
            return Ok(());
        }
        let records = Model::records(&self.model.batches, 0, i64::MAX);
        let numbered = || records.iter().copied();
        let answer =
            |found: Option<(i64, &Record)>| found.map(|(offset, r)| (r.timestamp, offset, r.epoch));
        let ask = |target| {
            let found = self
                .log
                .offset_for_timestamp(target)
                .map_err(|e| format!("{target:?}: {e:?}"))?;
            Ok::<_, String>(found.map(|f| {
                (
                    f.timestamp.0,
                    f.offset.0,
                    f.leader_epoch.map_or(-1, |e| e.0),
                )
            }))
        };
        let mut targets = vec![T - 1000, self.now, self.now + 8];
        targets.extend(
            records
                .iter()
                .rev()
                .step_by(3)
                .flat_map(|(_, r)| [r.timestamp, r.timestamp + 1]),
        );
        for target in targets {
            let naive = answer(numbered().find(|(_, r)| r.timestamp >= target));
            let found = ask(TimeTarget::At(TimestampMs(target)))?;
            if found != naive {
                return Err(format!(
                    "for the time {target} there is {found:?}, not {naive:?}"
                ));
            }
        }
        let max = records.iter().map(|(_, r)| r.timestamp).max();
        let naive = answer(numbered().find(|(_, r)| Some(r.timestamp) == max));
        let found = ask(TimeTarget::MaxTimestamp)?;
        if found != naive {
            return Err(format!(
                "the largest timestamp is found at {found:?}, not {naive:?}"
            ));
        }
        let end = ask(TimeTarget::Latest)?.map(|(_, offset, _)| offset);
        let start = ask(TimeTarget::Earliest)?.map(|(_, offset, _)| offset);
        if (start, end) != (Some(0), Some(self.end())) {
            return Err(format!("the ends are {start:?} and {end:?}"));
        }
        Ok(())
    }

    fn check_reads(&mut self) -> Checked {
        let expected = Expected::exactly(&self.model);
        check_opened(&self.log, &expected, &mut self.random)?;
        let start = self.model.start.max(self.model.first_base);
        for outside in [start - 1, self.end() + 1, i64::MIN, i64::MAX] {
            match self
                .log
                .read(Offset(outside), &mut [0; 100], &ReadOptions::default())
            {
                Err(e) if e.kind() == ErrorKind::OffsetOutOfRange => {}
                other => return Err(format!("reading at {outside}: {other:?}")),
            }
        }
        let start_of_all = start;
        for start in start..=self.end() {
            if self.end() - start_of_all > 12 && !self.random.one_in(4) {
                continue;
            }
            self.reads += 1;
            self.check_read(start)
                .map_err(|e| format!("read at {start}: {e}"))?;
            self.check_cursor(start)
                .map_err(|e| format!("cursor at {start}: {e}"))?;
        }
        Ok(())
    }

    /// A read gives whole batches, from the one that holds the offset on, as many as fit.
    fn check_read(&mut self, start: i64) -> Checked {
        let isolation = *self.random.pick(&[
            Isolation::LogEnd,
            Isolation::HighWatermark,
            Isolation::TxnCommitted,
        ]);
        let upper = match isolation {
            Isolation::LogEnd => i64::MAX,
            Isolation::HighWatermark => self.log.high_watermark().0,
            Isolation::TxnCommitted => self.log.last_stable_offset().0,
        };
        let expected: Vec<_> = self
            .model
            .batches
            .iter()
            .filter(|batch| batch.last >= start && batch.last < upper && start < upper)
            .collect();
        let buffer_bytes = *self.random.pick(&[10, 150, 600, 5000]);
        let max_bytes = *self.random.pick(&[0, 1, 200, 1000, usize::MAX]);
        let first_batch = *self
            .random
            .pick(&[FirstBatch::Always, FirstBatch::IfItFits]);
        let mut buffer = vec![0; buffer_bytes];
        let options = ReadOptions {
            max_bytes,
            first_batch,
            isolation,
            ..ReadOptions::default()
        };
        let whole = self
            .log
            .read(
                Offset(start),
                &mut vec![0; 10_000],
                &ReadOptions {
                    max_bytes: 1,
                    isolation,
                    ..ReadOptions::default()
                },
            )
            .map_err(|e| format!("{e:?}"))?;
        let read = self.log.read(Offset(start), &mut buffer, &options);
        let Some(first) = expected.first() else {
            return match read {
                Ok(read) if read.bytes == 0 && read.next_offset.0 >= start => Ok(()),
                other => Err(format!("at the end: {other:?}")),
            };
        };
        let first_bytes = whole.bytes;
        let is_larger = first_bytes > max_bytes;
        if is_larger && first_batch == FirstBatch::IfItFits {
            return match read {
                // Who wants no bytes hears nothing of the first batch.
                Ok(read) if read.bytes == 0 && read.is_first_larger == (max_bytes > 0) => Ok(()),
                other => Err(format!("the first batch does not fit: {other:?}")),
            };
        }
        if first_bytes > buffer_bytes {
            return match read {
                Err(e)
                    if e.kind() == ErrorKind::BufferTooSmall
                        && e.position() == Some(first_bytes as u64) =>
                {
                    Ok(())
                }
                other => Err(format!("the buffer is too small: {other:?}")),
            };
        }
        let read = read.map_err(|e| format!("{e:?}"))?;
        if (read.first_offset.0, read.is_first_larger) != (first.base, false) {
            return Err(format!("{read:?}, the first batch is {first:?}"));
        }
        let mut rest = &buffer[..read.bytes];
        let mut next = start;
        for (n, batch) in expected.iter().take(read.batches as usize).enumerate() {
            let Ok(Next::Batch(size)) = next_in_memory(rest) else {
                return Err(format!("{read:?}: no batch {n}"));
            };
            let (one, behind) = rest.split_at(size as usize);
            let one = Batch::new(one).unwrap();
            one.ensure_valid().map_err(|e| format!("{e:?}"))?;
            if !is_header_of(one.header(), batch) {
                return Err(format!("{read:?}: batch {n} {batch:?} differs"));
            }
            next = one.header().last_offset.0 + 1;
            rest = behind;
        }
        if !rest.is_empty() || read.next_offset.0 != next || read.log_end_offset.0 != self.end() {
            return Err(format!(
                "{read:?}, {} bytes are left, the next offset is {next}",
                rest.len()
            ));
        }
        Ok(())
    }

    fn check_cursor(&mut self, start: i64) -> Checked {
        let read_bytes = *self.random.pick(&[1, 100, 700, 0]);
        let per_call = *self.random.pick(&[1, 2, 5, 1000]);
        let found = crash::read_from(&self.log, Offset(start), read_bytes, per_call)
            .map_err(|e| format!("{e:?}"))?;
        let expected = Model::records(&self.model.batches, start, i64::MAX);
        if found
            .iter()
            .map(|(offset, record)| (*offset, record))
            .ne(expected.iter().copied())
        {
            return Err(format!(
                "{} records of {} to {}",
                found.len(),
                start,
                self.end()
            ));
        }
        // A cursor that is moved in mid-batch forgets what it was about to give.
        let mut cursor = self.log.cursor(
            Offset(start),
            CursorOptions {
                read_bytes,
                ..CursorOptions::default()
            },
        );
        let _ = cursor.next_records(1).map_err(|e| format!("{e:?}"))?;
        let first = self.model.start.max(self.model.first_base);
        let span = usize::try_from(self.end() - first + 1).unwrap();
        let to = first + i64::try_from(self.random.below(span)).unwrap();
        cursor.seek(Offset(to));
        let slice = cursor.next_records(1).map_err(|e| format!("{e:?}"))?;
        let expected = Model::records(&self.model.batches, to, i64::MAX);
        match (slice.get(0), expected.first()) {
            (Some(record), Some((next, _))) if record.offset.0 == *next => Ok(()),
            (None, None) => Ok(()),
            (other, _) => Err(format!(
                "moved to {to}, it gives {:?}",
                other.map(|r| r.offset)
            )),
        }
    }
}

#[test]
fn every_way_of_reading_gives_what_was_appended() {
    let (steps, reads) = (AtomicU64::new(0), AtomicU64::new(0));
    let seeds = Seeds::from_env(SEEDS);
    seeds.run("log_model", |seed| {
        let mut world = World::new(seed);
        let mut told = Vec::new();
        let outcome = (0..40).try_for_each(|_| {
            steps.fetch_add(1, Ordering::SeqCst);
            world.step().map(|done| told.push(done))
        });
        let outcome = outcome
            .and_then(|()| world.check_time())
            .and_then(|()| world.check_reads());
        reads.fetch_add(world.reads, Ordering::SeqCst);
        outcome.map_err(|problem| format!("{problem}\nsteps: {}", told.join(", ")))
    });
    let (steps, reads) = (steps.into_inner(), reads.into_inner());
    println!(
        "log_model: {} seeds, {steps} steps, {reads} offsets read from in two ways",
        seeds.count()
    );
    assert!(
        !seeds.are_all_of(SEEDS) || reads >= 20_000,
        "too little is covered"
    );
}

/// Ends the threads that wait for it, also when an assertion failed.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Threads that append to the log at once, and how often each of them does.
const WRITERS: i64 = 6;
const EACH: i64 = 1500;

/// The `n`th record of a writer.
fn record_of(writer: i64, n: i64) -> Record {
    Record {
        timestamp: T + n,
        key: Some(writer.to_be_bytes().to_vec()),
        value: Some(n.to_be_bytes().to_vec()),
        headers: Vec::new(),
        epoch: 0,
    }
}

/// Every second writer wants its records synced, and raises `durable` to their end.
fn write(log: &Log, writer: i64, durable: &AtomicI64) {
    let durability = if writer % 2 == 0 {
        WriteDurability::Synced
    } else {
        WriteDurability::PageCache
    };
    let options = AppendOptions {
        durability,
        ..AppendOptions::default()
    };
    for n in 0..EACH {
        let mut builder = crash::builder_of(&[record_of(writer, n)]);
        let appended = log.append(&mut builder, &options).unwrap();
        if durability == WriteDurability::Synced {
            assert!(log.recovery_point() > appended.last_offset);
            durable.fetch_max(appended.last_offset.0 + 1, Ordering::SeqCst);
        }
        if n % 200 == 7 * writer {
            log.roll().unwrap();
        }
    }
}

/// Reads near the end of the log, again and again.
fn read_along(log: &Arc<Log>, done: &AtomicBool) {
    let mut last = 0;
    while !done.load(Ordering::SeqCst) {
        let end = log.end_offset();
        let read = crash::read_from(log, Offset(last), 900, 50).unwrap();
        let count = i64::try_from(read.len()).unwrap();
        assert!(
            count >= end.0 - last,
            "a reader sees all up to an end that was published"
        );
        let mut expected = last..;
        assert!(
            read.iter()
                .all(|(offset, _)| Some(*offset) == expected.next())
        );
        last = (last + count).saturating_sub(30).max(0);
    }
}

/// Writers of all kinds, rolls, flushes, readers and power cuts at the same time.
#[test]
fn many_threads_append_roll_flush_and_read_one_log() {
    let disk = SimFs::new();
    let clock = Arc::new(ManualClock::new(TimestampMs(T)));
    let config = crash::config(&[
        ("internal.segment.bytes", "1500"),
        ("index.interval.bytes", "100"),
    ]);
    let manager = crash::open(&disk, &clock, &config).unwrap();
    let log = manager
        .get_or_create_log(&crash::partition("a"), &CreateOptions::default())
        .unwrap();
    let done = AtomicBool::new(false);
    let durable = AtomicI64::new(0);
    std::thread::scope(|scope| {
        let end = SetOnDrop(&done);
        let (log, done, durable) = (&log, &done, &durable);
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| scope.spawn(move || write(log, writer, durable)))
            .collect();
        for _ in 0..2 {
            scope.spawn(move || read_along(log, done));
        }
        scope.spawn(|| {
            let mut seed = 0;
            while !done.load(Ordering::SeqCst) {
                // What was durable before the cut must be there after it.
                let at_least = durable.load(Ordering::SeqCst);
                let after = disk.after_power_cut(seed);
                let again = crash::open(&after, &clock, &config).unwrap();
                let end = again.log(&crash::partition("a")).unwrap().end_offset();
                assert!(
                    end.0 >= at_least,
                    "power cut {seed}: the log ends at {end}, durable was {at_least}"
                );
                seed += 1;
            }
        });
        for writer in writers {
            writer.join().unwrap();
        }
        drop(end);
    });
    let all = crash::read_from(&log, Offset(0), 0, 1000).unwrap();
    for writer in 0..WRITERS {
        let own = all
            .iter()
            .map(|(_, record)| record)
            .filter(|record| record.key == record_of(writer, 0).key);
        let expected = (0..EACH).map(|n| record_of(writer, n).value);
        assert!(own.map(|record| record.value.clone()).eq(expected));
    }
    manager.close().unwrap();
    let again = crash::open(&disk.after_power_cut(1), &clock, &config).unwrap();
    crash::check_nothing_done(&again).unwrap();
    assert_eq!(
        again.log(&crash::partition("a")).unwrap().end_offset().0,
        WRITERS * EACH
    );
}
