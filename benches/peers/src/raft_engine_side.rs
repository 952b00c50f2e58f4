//! TiKV's raft-engine, a record as the entry of one group.

use std::hint::black_box;
use std::sync::Mutex;

use protobuf::well_known_types::BytesValue;
use raft_engine::{Config, Engine, LogBatch, MessageExt, ReadableSize};

use super::peer::{EACH, Job, Peer, Result, Work, at_random, in_threads, timed};

const GROUP: u64 = 1;

pub struct RaftEngine;

/// An entry has its index in front of the record.
#[derive(Clone)]
struct Indexed;

impl MessageExt for Indexed {
    type Entry = BytesValue;

    fn index(entry: &BytesValue) -> u64 {
        u64::from_be_bytes(entry.value[..8].try_into().unwrap())
    }
}

fn entry(job: &Job<'_>, n: u64) -> BytesValue {
    let mut entry = BytesValue::new();
    entry.value = [&(n + 1).to_be_bytes()[..], job.data.payload(n)].concat();
    entry
}

impl Peer for RaftEngine {
    fn name(&self) -> &'static str {
        "raft-engine"
    }

    fn does(&self) -> &'static str {
        "CRC-32 of each batch made and checked; encoded as protobuf messages; a write a batch, an index in memory; a sync is an fdatasync that writers share"
    }

    fn run(&mut self, job: &Job<'_>) -> Result<f64> {
        let engine = Engine::open(Config {
            dir: job.dir.to_str().unwrap().to_owned(),
            // Nobody else compresses.
            batch_compression_threshold: ReadableSize(0),
            ..Config::default()
        })?;
        match job.work {
            Work::Append | Work::Single => timed(|| {
                let each = if job.work == Work::Append { EACH } else { 1 };
                let mut batch = LogBatch::default();
                for n in (0..job.size).step_by(each as usize) {
                    let entries: Vec<BytesValue> = (n..n + each).map(|n| entry(job, n)).collect();
                    batch.add_entries::<Indexed>(GROUP, &entries)?;
                    engine.write(&mut batch, false)?;
                }
                Ok(())
            }),
            Work::Synced => {
                // A group each: the entries of one have to come in order.
                let groups = Mutex::new(GROUP);
                in_threads(job.threads, |_| {
                    let group = {
                        let mut groups = groups.lock().unwrap();
                        *groups += 1;
                        *groups
                    };
                    let mut batch = LogBatch::default();
                    for n in 0..job.size / job.threads {
                        batch.add_entries::<Indexed>(group, &[entry(job, n)])?;
                        engine.write(&mut batch, true)?;
                    }
                    Ok(())
                })
            }
            Work::Scan => timed(|| {
                let mut entries = Vec::new();
                for from in (1..=job.size).step_by(1000) {
                    entries.clear();
                    let upto = (from + 1000).min(job.size + 1);
                    engine.fetch_entries_to::<Indexed>(GROUP, from, upto, None, &mut entries)?;
                    assert_eq!(black_box(&entries).len() as u64, upto - from);
                }
                Ok(())
            }),
            Work::Random => {
                let end = engine.last_index(GROUP).ok_or("nothing is there")?;
                timed(|| {
                    at_random(job.size, end, |n| {
                        let entry = engine.get_entry::<Indexed>(GROUP, n + 1)?;
                        black_box(entry.ok_or("no record")?);
                        Ok(())
                    })
                })
            }
        }
    }
}
