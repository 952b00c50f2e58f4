//! The key-value store fjall, offsets as keys.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};

use super::peer::{EACH, Job, Peer, Result, Work, at_random, in_threads, timed};

pub struct Fjall;

impl Peer for Fjall {
    fn name(&self) -> &'static str {
        "fjall"
    }

    fn does(&self) -> &'static str {
        "checksums of journal and blocks; copied to journal, tree in memory and, later, tables; a sync is an fdatasync, by a batch"
    }

    fn run(&mut self, job: &Job<'_>) -> Result<f64> {
        let database = Database::builder(job.dir).open()?;
        let items = database.keyspace("t", KeyspaceCreateOptions::default)?;
        match job.work {
            Work::Append => timed(|| append(job, &database, &items)),
            Work::Single => timed(|| {
                for n in 0..job.size {
                    items.insert(n.to_be_bytes(), job.data.payload(n))?;
                }
                Ok(())
            }),
            Work::Synced => {
                let next = AtomicU64::new(0);
                in_threads(job.threads, |_| {
                    for _ in 0..job.size / job.threads {
                        let n = next.fetch_add(1, Ordering::Relaxed);
                        let mut batch = database.batch().durability(Some(PersistMode::SyncData));
                        batch.insert(&items, n.to_be_bytes(), job.data.payload(n));
                        batch.commit()?;
                    }
                    Ok(())
                })
            }
            Work::Scan => timed(|| {
                let mut found = 0;
                for item in items.iter() {
                    black_box(item.into_inner()?);
                    found += 1;
                }
                assert_eq!(found, job.size);
                Ok(())
            }),
            Work::Random => {
                let end = items.len()? as u64;
                timed(|| {
                    at_random(job.size, end, |n| {
                        black_box(items.get(n.to_be_bytes())?.ok_or("no record")?);
                        Ok(())
                    })
                })
            }
        }
    }
}

fn append(job: &Job<'_>, database: &Database, items: &Keyspace) -> Result<()> {
    for n in (0..job.size).step_by(EACH as usize) {
        let mut batch = database.batch();
        for n in n..n + EACH {
            batch.insert(items, n.to_be_bytes(), job.data.payload(n));
        }
        batch.commit()?;
    }
    Ok(())
}
