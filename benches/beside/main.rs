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
//! and larger logs.
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
mod through_abi;

#[path = "../support/clock.rs"]
mod clock;
#[path = "../support/compacted.rs"]
mod compacted;
#[path = "../support/directories.rs"]
mod directories;
#[path = "../../tests/support/jvm.rs"]
mod jvm;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use data::Data;
use kafka::Kafka;
use rounds::{Contest, Row};

/// How much is measured.
struct Size {
    /// Rounds that count.
    rounds: usize,
    /// The same of work that takes seconds.
    rounds_of_slow: usize,
    /// Batches of a hundred records that are appended, and read.
    batches: u64,
    partitions: u32,
    /// How long a row may take before it begins no new round.
    patience: Duration,
}

const USUAL: Size = Size {
    rounds: 7,
    rounds_of_slow: 3,
    batches: 10_000,
    partitions: 1000,
    patience: Duration::from_secs(20),
};

const LONG: Size = Size {
    rounds: 21,
    rounds_of_slow: 7,
    batches: 40_000,
    partitions: 5000,
    patience: Duration::from_mins(10),
};

/// What all rows share.
struct Bench {
    size: Size,
    data: Data,
    kafka: Kafka,
    root: tempfile::TempDir,
    words: Vec<String>,
    rows: Vec<Row>,
}

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
            let row = contest.run(rounds, self.size.patience, &mut self.kafka);
            table::print(&row);
            self.rows.push(row);
        }
    }
}

/// An empty directory of this name.
fn fresh(dir: &Path) -> PathBuf {
    let _ = std::fs::remove_dir_all(dir);
    std::fs::create_dir_all(dir).unwrap();
    dir.to_path_buf()
}

fn main() {
    let began = Instant::now();
    let args: Vec<String> = std::env::args().skip(1).collect();
    let size = if args.iter().any(|arg| arg == "--long") {
        LONG
    } else {
        USUAL
    };
    // On the file system that the project lies on: a directory for temporary files may be in memory.
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("target");
    std::fs::create_dir_all(&place).unwrap();
    let root = tempfile::tempdir_in(&place).unwrap();
    let data = Data::new();
    data.write(&root.path().join("records"));
    let mut bench = Bench {
        size,
        kafka: Kafka::start(&root.path().join("records")),
        data,
        root,
        words: args.into_iter().filter(|a| !a.starts_with('-')).collect(),
        rows: Vec::new(),
    };
    table::print_head();
    append::rows(&mut bench);
    read::rows(&mut bench);
    synced::rows(&mut bench);
    recovery::rows(&mut bench);
    clean::rows(&mut bench);
    many::rows(&mut bench);
    append::more_rows(&mut bench);
    read::more_rows(&mut bench);
    recovery::more_rows(&mut bench);
    through_abi::rows(&mut bench);
    let missed = bench.rows.iter().filter(|row| !row.is_met()).count();
    println!(
        "{} rows in {} s, {missed} missed",
        bench.rows.len(),
        began.elapsed().as_secs()
    );
    if bench.words.is_empty() {
        let facts = machine::facts(&mut bench.kafka, bench.root.path(), began.elapsed());
        table::write(&bench.rows, &facts);
    }
}
