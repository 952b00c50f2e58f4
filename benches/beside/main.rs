//! klog beside Kafka's own storage classes and beside the machine: `make bench`.
//!
//! Each row is a contest of its own. Its contestants do the same work in turns, round by round, in one run, and the first
//! round is thrown away: so all see the same machine, and the JVM is warm. What a contestant does beside the work (making and
//! removing files, opening, closing) is not measured. The table is printed and put into docs/benchmarks.md.
//!
//! Where one thread works without waiting, its processor time is taken (of the JVM only that of the thread that calls, which
//! leaves its compilers and collectors out); else the time on the wall.
//!
//! Words on the command line choose rows whose names have one of them, and nothing is written then; `--long` takes more rounds
//! and larger logs; `--smoke` runs every row once with next to nothing and without Kafka, and writes nothing: a test that the
//! rows work.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    dead_code,
    reason = "a benchmark"
)]

mod append;
mod bindings;
mod clean;
mod codecs;
mod data;
mod kafka;
mod machine;
mod many;
mod read;
mod recovery;
mod rounds;
mod synced;
mod table;
mod tail;
mod threads;
mod through_abi;

#[path = "../support/clock.rs"]
mod clock;
#[path = "../support/compacted.rs"]
mod compacted;
#[path = "../support/directories.rs"]
mod directories;
#[path = "../support/held.rs"]
mod held;
#[path = "../../tests/support/jvm.rs"]
mod jvm;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use data::Data;
use kafka::Kafka;
use rounds::{Contest, Row, Verdict};

/// How much is measured.
struct Size {
    /// Rounds that count.
    rounds: usize,
    /// The same of work that takes seconds.
    rounds_of_slow: usize,
    /// Batches of a hundred records that are appended, and read.
    batches: u64,
    partitions: u32,
    /// Look-ups and reads of single batches.
    look_ups: u64,
    /// Appends that are synced one after the other, by one thread.
    synced: u64,
    /// Bytes of the log that is recovered.
    recovered_bytes: u64,
    /// Records of the log that is cleaned.
    cleaned: u64,
    /// Of a tail reader, in a round.
    tail_records: u64,
    /// How long a row of which something is asked may take before it begins no new round; others a quarter of that.
    patience: Duration,
    /// How long all but the rows of other languages may take; what is left of it is shared by the rows to come.
    budget: Duration,
}

const USUAL: Size = Size {
    rounds: 7,
    rounds_of_slow: 3,
    batches: 10_000,
    partitions: 1000,
    look_ups: 50_000,
    synced: 300,
    recovered_bytes: 500 << 20,
    cleaned: 2_000_000,
    tail_records: 2000,
    patience: Duration::from_secs(20),
    budget: Duration::from_mins(6),
};

const LONG: Size = Size {
    rounds: 21,
    rounds_of_slow: 7,
    batches: 40_000,
    partitions: 5000,
    tail_records: 10_000,
    patience: Duration::from_mins(10),
    budget: Duration::from_hours(2),
    ..USUAL
};

const SMOKE: Size = Size {
    rounds: 1,
    rounds_of_slow: 1,
    batches: 40,
    partitions: 4,
    look_ups: 20,
    synced: 4,
    recovered_bytes: 1 << 20,
    cleaned: 4000,
    tail_records: 20,
    patience: Duration::ZERO,
    budget: Duration::ZERO,
};

/// What all rows share.
struct Bench {
    size: Size,
    data: Data,
    /// Not in a smoke test.
    kafka: Option<Kafka>,
    root: tempfile::TempDir,
    words: Vec<String>,
    rows: Vec<Row>,
    began: Instant,
}

/// As many rows a run has, about.
const ROWS: u32 = 75;

impl Bench {
    fn wants(&self, name: &str) -> bool {
        self.words.is_empty() || self.words.iter().any(|word| name.contains(word.as_str()))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Lets the contestants take turns, if the row is wanted.
    fn run(&mut self, contest: Contest<'_>) {
        self.run_rounds(self.size.rounds, contest);
    }

    fn run_slow(&mut self, contest: Contest<'_>) {
        self.run_rounds(self.size.rounds_of_slow, contest);
    }

    fn run_rounds(&mut self, rounds: usize, contest: Contest<'_>) {
        if self.wants(contest.name) {
            let patience = self.patience(contest.has_floor());
            let row = contest.run(rounds, patience, self.kafka.as_mut());
            self.add(row);
        }
    }

    /// How long the next row may take: some shares of what is left, for not every row needs its own.
    fn patience(&self, has_floor: bool) -> Duration {
        let left = self.size.budget.saturating_sub(self.began.elapsed());
        let rows = ROWS.saturating_sub(self.rows.len() as u32).max(5);
        let (patience, shares) = if has_floor {
            (self.size.patience, 4)
        } else {
            (self.size.patience / 4, 2)
        };
        patience.min(left * shares / rows)
    }

    fn add(&mut self, row: Row) {
        table::print(&row);
        self.rows.push(row);
    }
}

/// An empty directory of this name.
fn fresh(dir: &Path) -> PathBuf {
    let _ = std::fs::remove_dir_all(dir);
    std::fs::create_dir_all(dir).unwrap();
    dir.to_path_buf()
}

/// Makes a directory in memory where there is such a place, since making many logs syncs much, and gives each contestant a copy.
fn made_for(dirs: [&Path; 2], make: impl FnOnce(&Path)) {
    let root =
        in_memory().unwrap_or_else(|| tempfile::tempdir_in(dirs[0].parent().unwrap()).unwrap());
    let made = root.path().join("made");
    make(&fresh(&made));
    for dir in dirs {
        compacted::copy(&made, dir);
    }
}

/// A directory in memory, if the machine has a place for it.
fn in_memory() -> Option<tempfile::TempDir> {
    tempfile::tempdir_in("/dev/shm").ok()
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| args.iter().any(|arg| arg == flag);
    let size = match (has("--long"), has("--smoke")) {
        (_, true) => SMOKE,
        (true, false) => LONG,
        (false, false) => USUAL,
    };
    // On the file system that the project lies on: a directory for temporary files may be in memory.
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("target");
    std::fs::create_dir_all(&place).unwrap();
    let root = tempfile::tempdir_in(&place).unwrap();
    let data = Data::new();
    data.write(&root.path().join("records"));
    let mut bench = Bench {
        size,
        kafka: (!has("--smoke")).then(|| Kafka::start(&root.path().join("records"))),
        data,
        root,
        words: args
            .iter()
            .filter(|a| !a.starts_with('-'))
            .cloned()
            .collect(),
        rows: Vec::new(),
        began: Instant::now(),
    };
    table::print_head();
    append::rows(&mut bench);
    read::rows(&mut bench);
    synced::rows(&mut bench);
    recovery::rows(&mut bench);
    clean::rows(&mut bench);
    many::rows(&mut bench);
    append::more_rows(&mut bench);
    threads::rows(&mut bench);
    read::more_rows(&mut bench);
    tail::rows(&mut bench);
    synced::more_rows(&mut bench);
    recovery::more_rows(&mut bench);
    clean::more_rows(&mut bench);
    through_abi::rows(&mut bench);
    if has("--smoke") {
        println!("{} rows ran", bench.rows.len());
        return;
    }
    bindings::rows(&mut bench);
    let count = |is_it: fn(Verdict) -> bool| {
        let verdicts = bench.rows.iter().map(Row::verdict);
        verdicts.filter(|verdict| is_it(*verdict)).count()
    };
    let missed = count(|verdict| verdict == Verdict::Missed);
    let beyond = count(|verdict| matches!(verdict, Verdict::BeyondRaw(..)));
    let took = bench.began.elapsed();
    println!(
        "{} rows in {} s, {missed} missed, {beyond} beyond what raw reads and writes reach",
        bench.rows.len(),
        took.as_secs()
    );
    if bench.words.is_empty() {
        let facts = machine::facts(bench.kafka.as_mut(), bench.root.path(), took);
        table::write(&bench.rows, &facts);
    }
}
