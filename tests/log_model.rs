//! A log against the simplest model of one, a list of records: whatever is appended, rolled, flushed, closed or killed,
//! every way of reading gives what the list has. And many threads at one log.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod crash;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use crash::run::Seeds;
use crash::{Random, Record, T};
use klog::ErrorKind;
use klog::config::Resolved;
use klog::format::batch::{Batch, Next, next_in_memory};
use klog::format::codec::Codec;
use klog::io::{ManualClock, SimFs};
use klog::log::{
    AppendOptions, CursorOptions, FirstBatch, Log, ReadOptions, TimeTarget, WriteDurability,
};
use klog::manager::{CreateOptions, Manager};
use klog::types::{LeaderEpoch, Offset, TimestampMs};

const SEEDS: u64 = 400;

type Checked<T = ()> = Result<T, String>;

struct World {
    disk: SimFs,
    clock: Arc<ManualClock>,
    config: Arc<Resolved>,
    manager: Manager,
    log: Arc<Log>,
    /// All records, by offset.
    records: Vec<Record>,
    /// The batches by their first offset, with their bytes.
    batches: Vec<(i64, Vec<u8>)>,
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
        let manager = crash::open(&disk, &clock, &config).unwrap();
        let log = manager
            .get_or_create_log(&crash::partition("a"), &CreateOptions::default())
            .unwrap();
        Self {
            disk,
            clock,
            config,
            manager,
            log,
            records: Vec::new(),
            batches: Vec::new(),
            random,
            now: T,
            reads: 0,
        }
    }

    fn end(&self) -> i64 {
        i64::try_from(self.records.len()).unwrap()
    }

    fn step(&mut self) -> Checked<String> {
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
                self.reopen()?;
                crash::check_nothing_done(&self.manager)?;
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
        let latest = self.log.epochs().last().map_or(0, |e| e.epoch.0);
        let epoch = latest + i32::from(self.random.one_in(8));
        let n = 1 + self.random.below(6);
        let first = self.end();
        let mut records: Vec<Record> = (0..n)
            .map(|i| {
                Record::random(
                    &mut self.random,
                    u64::try_from(first).unwrap() + i as u64,
                    self.now,
                )
            })
            .collect();
        let codec = *self.random.pick(&Codec::ALL);
        let options = AppendOptions {
            leader_epoch: Some(LeaderEpoch(epoch)),
            codec: Some(codec),
            ..AppendOptions::default()
        };
        let result = if self.random.one_in(3) {
            self.log
                .append_batches(&crash::batch_of(&records, codec), &options)
        } else {
            self.log.append(&mut crash::builder_of(&records), &options)
        };
        let result = match result {
            Err(e) if e.kind() == ErrorKind::RecordListTooLarge => return Ok("refused".to_owned()),
            other => other.map_err(|e| format!("{e:?}"))?,
        };
        let max = records.iter().map(|r| r.timestamp).max().unwrap();
        let append_time = result.log_append_time;
        let expected = (
            first,
            first + i64::try_from(n).unwrap() - 1,
            append_time.0.max(max),
            n,
        );
        let max_timestamp = if append_time.is_some() {
            append_time.0
        } else {
            max
        };
        let got = (
            result.first_offset.0,
            result.last_offset.0,
            result.max_timestamp.0.max(max),
            usize::try_from(result.records).unwrap(),
        );
        if got != expected || result.max_timestamp.0 != max_timestamp {
            return Err(format!("the append answers {result:?}, not {expected:?}"));
        }
        for record in &mut records {
            record.epoch = epoch;
            if append_time.is_some() {
                record.timestamp = append_time.0;
            }
        }
        self.records.append(&mut records);
        let mut buffer = vec![0; 10_000];
        let read = self
            .log
            .read(Offset(first), &mut buffer, &ReadOptions::default())
            .map_err(|e| format!("{e:?}"))?;
        if (read.bytes as u64, read.batches) != (result.bytes_appended, 1) {
            return Err(format!("of {result:?} can be read {read:?}"));
        }
        self.batches.push((first, buffer[..read.bytes].to_vec()));
        Ok(format!("append {n} at {first}"))
    }

    fn reopen(&mut self) -> Checked {
        self.disk = self.disk.after_kill();
        self.manager =
            crash::open(&self.disk, &self.clock, &self.config).map_err(|e| format!("{e:?}"))?;
        self.log = self
            .manager
            .log(&crash::partition("a"))
            .map_err(|e| format!("{e:?}"))?;
        Ok(())
    }

    fn check_time(&mut self) -> Checked {
        let numbered = || (0i64..).zip(&self.records);
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
            self.records
                .iter()
                .rev()
                .step_by(3)
                .flat_map(|r| [r.timestamp, r.timestamp + 1]),
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
        let max = self.records.iter().map(|r| r.timestamp).max();
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
        for outside in [-1, self.end() + 1, i64::MIN, i64::MAX] {
            match self
                .log
                .read(Offset(outside), &mut [0; 100], &ReadOptions::default())
            {
                Err(e) if e.kind() == ErrorKind::OffsetOutOfRange => {}
                other => return Err(format!("reading at {outside}: {other:?}")),
            }
        }
        for start in 0..=self.end() {
            if self.end() > 12 && !self.random.one_in(4) {
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
        let at = self.batches.partition_point(|(first, _)| *first <= start);
        let expected = if start == self.end() {
            &[]
        } else {
            &self.batches[at - 1..]
        };
        let buffer_bytes = *self.random.pick(&[10, 150, 600, 5000]);
        let max_bytes = *self.random.pick(&[0, 1, 200, 1000, usize::MAX]);
        let first_batch = *self
            .random
            .pick(&[FirstBatch::Always, FirstBatch::IfItFits]);
        let mut buffer = vec![0; buffer_bytes];
        let options = ReadOptions {
            max_bytes,
            first_batch,
            ..ReadOptions::default()
        };
        let read = self.log.read(Offset(start), &mut buffer, &options);
        let Some((first, first_bytes)) = expected.first() else {
            return match read {
                Ok(read) if read.bytes == 0 && read.next_offset.0 == start => Ok(()),
                other => Err(format!("at the end: {other:?}")),
            };
        };
        let is_larger = first_bytes.len() > max_bytes;
        if is_larger && first_batch == FirstBatch::IfItFits {
            return match read {
                // Who wants no bytes hears nothing of the first batch.
                Ok(read) if read.bytes == 0 && read.is_first_larger == (max_bytes > 0) => Ok(()),
                other => Err(format!("the first batch does not fit: {other:?}")),
            };
        }
        if first_bytes.len() > buffer_bytes {
            return match read {
                Err(e)
                    if e.kind() == ErrorKind::BufferTooSmall
                        && e.position() == Some(first_bytes.len() as u64) =>
                {
                    Ok(())
                }
                other => Err(format!("the buffer is too small: {other:?}")),
            };
        }
        let read = read.map_err(|e| format!("{e:?}"))?;
        if (read.first_offset.0, read.is_first_larger) != (*first, false) {
            return Err(format!("{read:?}, the first batch is at {first}"));
        }
        let mut rest = &buffer[..read.bytes];
        let mut next = start;
        for (n, (first, bytes)) in expected.iter().take(read.batches as usize).enumerate() {
            let Ok(Next::Batch(size)) = next_in_memory(rest) else {
                return Err(format!("{read:?}: no batch {n}"));
            };
            let (one, behind) = rest.split_at(size as usize);
            if one != bytes {
                return Err(format!("{read:?}: batch {n} at {first} differs"));
            }
            next = Batch::new(one).unwrap().header().last_offset.0 + 1;
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
        let expected = (start..).zip(&self.records[usize::try_from(start).unwrap()..]);
        if found
            .iter()
            .map(|(offset, record)| (*offset, record))
            .ne(expected)
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
        let to = i64::try_from(self.random.below(self.records.len() + 1)).unwrap();
        cursor.seek(Offset(to));
        let slice = cursor.next_records(1).map_err(|e| format!("{e:?}"))?;
        match slice.get(0) {
            Some(record) if record.offset.0 == to => Ok(()),
            None if to == self.end() => Ok(()),
            other => Err(format!(
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
