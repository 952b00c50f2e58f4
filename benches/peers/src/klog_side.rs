//! klog itself.

use std::hint::black_box;
use std::sync::Arc;

use klog::config::ConfigSet;
use klog::format::builder::BatchBuilder;
use klog::log::{AppendOptions, CursorOptions, Log, WriteDurability};
use klog::manager::{CreateOptions, Manager, ManagerOptions};
use klog::types::{Offset, TimestampMs, TopicPartition};

use super::peer::{EACH, Job, Peer, Result, Work, at_random, in_threads, timed};

pub struct Klog;

impl Peer for Klog {
    fn name(&self) -> &'static str {
        "klog"
    }

    fn does(&self) -> &'static str {
        "CRC-32C made and checked; copied once in, lent out; a batch is one pwrite; a sync is an fdatasync"
    }

    fn run(&mut self, job: &Job<'_>) -> Result<f64> {
        let config = Arc::new(ConfigSet::broker().resolve()?);
        let manager = Manager::open(ManagerOptions::new(vec![job.dir.to_path_buf()], config))?;
        let partition = TopicPartition::new("t", 0);
        let log = manager.get_or_create_log(&partition, &CreateOptions::default())?;
        let seconds = match job.work {
            Work::Append => timed(|| append(job, &log, EACH, WriteDurability::PageCache, job.size)),
            Work::Single => timed(|| append(job, &log, 1, WriteDurability::PageCache, job.size)),
            Work::Synced => in_threads(job.threads, |_| {
                append(
                    job,
                    &log,
                    1,
                    WriteDurability::Synced,
                    job.size / job.threads,
                )
            }),
            Work::Scan => timed(|| scan(job, &log)),
            Work::Random => timed(|| random(job, &log)),
        };
        manager.close()?;
        seconds
    }
}

fn append(
    job: &Job<'_>,
    log: &Log,
    each: u64,
    durability: WriteDurability,
    size: u64,
) -> Result<()> {
    let options = AppendOptions {
        durability,
        ..AppendOptions::default()
    };
    let mut builder = BatchBuilder::new();
    let time = TimestampMs(1_700_000_000_000);
    for n in (0..size).step_by(each as usize) {
        builder.clear();
        for n in n..n + each {
            let (key, value) = job.data.record(n);
            builder.push(time, Some(key), Some(value), [].into_iter())?;
        }
        black_box(log.append(&mut builder, &options)?);
    }
    Ok(())
}

fn scan(job: &Job<'_>, log: &Arc<Log>) -> Result<()> {
    let mut cursor = log.cursor(Offset::ZERO, CursorOptions::default());
    let mut found = 0;
    loop {
        let records = cursor.next_records(1000)?;
        if records.is_empty() {
            break;
        }
        for record in records.iter() {
            black_box((record.key, record.value));
            found += 1;
        }
    }
    assert_eq!(found, job.size);
    Ok(())
}

fn random(job: &Job<'_>, log: &Arc<Log>) -> Result<()> {
    let options = CursorOptions {
        read_bytes: 1 << 14,
        ..CursorOptions::default()
    };
    let mut cursor = log.cursor(Offset::ZERO, options);
    at_random(job.size, log.end_offset().0 as u64, |offset| {
        cursor.seek(Offset(offset as i64));
        let records = cursor.next_records(1)?;
        let record = records.get(0).ok_or("no record")?;
        assert_eq!(black_box(record).offset.0 as u64, offset);
        Ok(())
    })
}
