//! Pairs of numbers without end: what was found wrong in a hostile file may be more than memory is for it. What is too much is
//! put aside in a file without a name, in sorted runs.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use klog::io::{File, FileSystem, OpenMode, RealFs};

use super::stop::Result;

/// How many pairs are held.
const RUN_PAIRS: usize = 256 * 1024;
const PAIR_BYTES: usize = 16;
/// How many pairs of each run are read at once.
const READ_PAIRS: usize = 512;

/// In which order pairs are given.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    AsFound,
    /// By the first number; of equal ones the last that was found.
    Rising,
    Falling,
}

/// A list of pairs.
pub(crate) struct Pairs {
    order: Order,
    run_length: usize,
    held: Vec<(i64, i64)>,
    aside: Option<Aside>,
}

struct Aside {
    file: Arc<dyn File>,
    /// Where each run ends, in pairs.
    ends: Vec<u64>,
}

impl Pairs {
    pub(crate) fn new(order: Order) -> Self {
        Self::with_runs_of(RUN_PAIRS, order)
    }

    fn with_runs_of(run_length: usize, order: Order) -> Self {
        Self {
            order,
            run_length,
            held: Vec::new(),
            aside: None,
        }
    }

    pub(crate) fn push(&mut self, first: i64, second: i64) -> Result<()> {
        if self.held.len() == self.run_length {
            self.put_aside()?;
        }
        self.held.push((first, second));
        Ok(())
    }

    /// No more will come for now: many are put aside, so that many lists take no more room than one.
    pub(crate) fn rest(&mut self) -> Result<()> {
        if self.held.len() > READ_PAIRS {
            self.put_aside()?;
            self.held = Vec::new();
        }
        Ok(())
    }

    /// What numbers are sorted by.
    fn key(order: Order, first: i64) -> i64 {
        if order == Order::Falling {
            !first
        } else {
            first
        }
    }

    fn sort(&mut self) {
        let order = self.order;
        if order != Order::AsFound {
            // Stable: equal ones stay as they were found.
            self.held.sort_by_key(|&(first, _)| Self::key(order, first));
        }
    }

    fn put_aside(&mut self) -> Result<()> {
        self.sort();
        let aside = if let Some(aside) = &mut self.aside {
            aside
        } else {
            self.aside.insert(Aside {
                file: nameless_file()?,
                ends: Vec::new(),
            })
        };
        let start = aside.ends.last().copied().unwrap_or(0);
        for (i, part) in self.held.chunks(READ_PAIRS).enumerate() {
            let bytes: Vec<u8> = part
                .iter()
                .flat_map(|(first, second)| [first.to_le_bytes(), second.to_le_bytes()])
                .flatten()
                .collect();
            let at = start + (i * READ_PAIRS) as u64;
            aside.file.write_at(&bytes, at * PAIR_BYTES as u64)?;
        }
        aside.ends.push(start + self.held.len() as u64);
        self.held.clear();
        Ok(())
    }

    /// Gives all pairs in order.
    pub(crate) fn each(&mut self, mut take: impl FnMut(i64, i64)) -> Result<()> {
        self.sort();
        let mut runs = self.runs();
        if self.order == Order::AsFound {
            for run in &mut runs {
                while let Some((first, second)) = run.next()? {
                    take(first, second);
                }
            }
            return Ok(());
        }
        let order = self.order;
        let mut fronts = BinaryHeap::new();
        for (i, run) in runs.iter_mut().enumerate() {
            if let Some((first, second)) = run.next()? {
                fronts.push(Reverse((Self::key(order, first), i, second)));
            }
        }
        let mut last: Option<(i64, i64)> = None;
        while let Some(Reverse((key, i, second))) = fronts.pop() {
            if let Some((before, value)) = last.filter(|(before, _)| *before != key) {
                take(Self::key(order, before), value);
            }
            last = Some((key, second));
            if let Some((first, second)) = runs[i].next()? {
                fronts.push(Reverse((Self::key(order, first), i, second)));
            }
        }
        if let Some((key, value)) = last {
            take(Self::key(order, key), value);
        }
        Ok(())
    }

    fn runs(&self) -> Vec<Run<'_>> {
        let mut runs = Vec::new();
        let mut start = 0;
        if let Some(aside) = &self.aside {
            for &end in &aside.ends {
                runs.push(Run {
                    file: Some(&*aside.file),
                    at: start,
                    end,
                    held: Vec::new(),
                    given: 0,
                });
                start = end;
            }
        }
        runs.push(Run {
            file: None,
            at: 0,
            end: 0,
            held: self.held.clone(),
            given: 0,
        });
        runs
    }
}

/// One run, read from its start on.
struct Run<'a> {
    file: Option<&'a dyn File>,
    at: u64,
    end: u64,
    held: Vec<(i64, i64)>,
    given: usize,
}

impl Run<'_> {
    fn next(&mut self) -> Result<Option<(i64, i64)>> {
        if self.given == self.held.len() {
            self.fill()?;
        }
        let next = self.held.get(self.given).copied();
        self.given += usize::from(next.is_some());
        Ok(next)
    }

    fn fill(&mut self) -> Result<()> {
        let Some(file) = self.file else { return Ok(()) };
        let n = usize::try_from(self.end - self.at)
            .unwrap_or(usize::MAX)
            .min(READ_PAIRS);
        let mut bytes = vec![0; n * PAIR_BYTES];
        file.read_at(&mut bytes, self.at * PAIR_BYTES as u64)?;
        self.at += n as u64;
        self.given = 0;
        self.held = bytes
            .chunks_exact(PAIR_BYTES)
            .map(|pair| {
                let number = |at| {
                    pair[at..]
                        .first_chunk()
                        .map_or(0, |b| i64::from_le_bytes(*b))
                };
                (number(0), number(8))
            })
            .collect();
        Ok(())
    }
}

/// A file for as long as it is open.
fn nameless_file() -> Result<Arc<dyn File>> {
    let mut random = [0; 8];
    let _ = getrandom::fill(&mut random);
    let name = format!(
        "klog-dump-log-{}-{:016x}",
        std::process::id(),
        u64::from_le_bytes(random)
    );
    let path = std::env::temp_dir().join(name);
    let file = RealFs.open(&path, OpenMode::Create)?;
    RealFs.remove_file(&path)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_come_in_order_wherever_they_were_kept() {
        for run_length in [2, 7, 1000] {
            for order in [Order::AsFound, Order::Rising, Order::Falling] {
                let mut pairs = Pairs::with_runs_of(run_length, order);
                let mut expected = Vec::new();
                for i in 0..100 {
                    let first = i * 37 % 23 - 11;
                    pairs.push(first, i).unwrap();
                    if order != Order::AsFound {
                        expected.retain(|(known, _)| *known != first);
                    }
                    expected.push((first, i));
                }
                match order {
                    Order::AsFound => {}
                    Order::Rising => expected.sort_unstable(),
                    Order::Falling => expected.sort_by_key(|(first, _)| Reverse(*first)),
                }
                let mut found = Vec::new();
                pairs
                    .each(|first, second| found.push((first, second)))
                    .unwrap();
                assert_eq!(found, expected, "runs of {run_length}");
            }
        }
    }
}
