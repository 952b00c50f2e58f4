//! The crate commitlog.

use std::hint::black_box;
use std::sync::Mutex;

use commitlog::message::{MessageBuf, MessageSet};
use commitlog::{CommitLog, LogOptions, ReadLimit};

use super::peer::{EACH, Job, Peer, Result, Work, at_random, timed};

pub struct Commitlog;

/// Of a message, beside its payload.
const HEADER_BYTES: usize = 20;

impl Peer for Commitlog {
    fn name(&self) -> &'static str {
        "commitlog"
    }

    fn does(&self) -> &'static str {
        "CRC-32C of each record made and checked; a write a batch; copied in and out; does not sync; one lock"
    }

    fn run(&mut self, job: &Job<'_>) -> Result<f64> {
        let log = Mutex::new(CommitLog::new(LogOptions::new(job.dir))?);
        let size = job.size;
        match job.work {
            Work::Append => timed(|| {
                let mut log = log.lock().unwrap();
                let mut batch = MessageBuf::default();
                for n in (0..size).step_by(EACH as usize) {
                    batch.clear();
                    for n in n..n + EACH {
                        batch
                            .push(job.data.payload(n))
                            .map_err(|e| format!("{e:?}"))?;
                    }
                    black_box(log.append(&mut batch)?);
                }
                Ok(())
            }),
            Work::Single => timed(|| {
                let mut log = log.lock().unwrap();
                for n in 0..size {
                    black_box(log.append_msg(job.data.payload(n))?);
                }
                Ok(())
            }),
            Work::Synced => {
                Err("its flush syncs no record: it is that of File, which does nothing".into())
            }
            Work::Scan => timed(|| {
                let log = log.lock().unwrap();
                let (mut next, end) = (0, log.next_offset());
                while next < end {
                    let found = log.read(next, ReadLimit::max_bytes(1 << 18))?;
                    found
                        .verify_hashes()
                        .map_err(|n| format!("record {n} is damaged"))?;
                    for message in found.iter() {
                        black_box(message.payload());
                        next = message.offset() + 1;
                    }
                }
                assert_eq!(next, size);
                Ok(())
            }),
            Work::Random => timed(|| {
                let log = log.lock().unwrap();
                let limit = ReadLimit::max_bytes(job.data.payload_bytes() + HEADER_BYTES);
                at_random(size, log.next_offset(), |offset| {
                    let found = log.read(offset, limit)?;
                    found
                        .verify_hashes()
                        .map_err(|n| format!("record {n} is damaged"))?;
                    let message = found.iter().next().ok_or("no record")?;
                    assert_eq!(black_box(message.offset()), offset);
                    Ok(())
                })
            }),
        }
    }
}
