//! klog in turns with other queues and logs that a program may embed: `make peers`, and the end of `make bench-long`.
//!
//! Each piece of work is done by all, round by round, with the same records; the first round is thrown away. Time is that on the
//! wall: some have threads of their own. Opening, closing and removing is not counted. A peer that is not there, or fails, is said
//! in a line, and the others go on. The table goes to docs/benchmarks.md.
//!
//! Arguments: `--long`, and the program in Go and the class path in Java where they could be built: `--go=FILE`, `--java=PATH`.
#![allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)]

mod child;
mod commitlog_side;
mod fjall_side;
mod klog_side;
mod peer;
mod raft_engine_side;
#[cfg(has_rocksdb)]
mod rocksdb_side;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use std::{env, fs};

use peer::{Data, Job, Peer, Result, Work};

const BEGIN: &str = "<!-- made by `make peers`: begin -->";
const END: &str = "<!-- made by `make peers`: end -->";

/// What Chronicle Queue needs of a JVM.
const OPENED: [&str; 12] = [
    "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
    "--add-exports=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-exports=jdk.unsupported/sun.misc=ALL-UNNAMED",
    "--add-exports=jdk.compiler/com.sun.tools.javac.file=ALL-UNNAMED",
    "--add-opens=jdk.compiler/com.sun.tools.javac=ALL-UNNAMED",
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
    "--add-opens=java.base/java.lang.reflect=ALL-UNNAMED",
    "--add-opens=java.base/java.io=ALL-UNNAMED",
    "--add-opens=java.base/java.util=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "-Dchronicle.analytics.disable=true",
];

/// A row of work.
struct Row {
    name: &'static str,
    work: Work,
    size: u64,
    threads: u64,
}

fn rows(scale: u64) -> [Row; 7] {
    let row = |name, work, size, threads| Row {
        name,
        work,
        size,
        threads,
    };
    [
        row("append, one by one", Work::Single, 100_000 * scale, 1),
        row(
            "random read, appended one by one",
            Work::Random,
            20_000 * scale,
            1,
        ),
        row("append, 100 a batch", Work::Append, 200_000 * scale, 1),
        row("random read, 100 a batch", Work::Random, 20_000 * scale, 1),
        row("scan, 100 a batch", Work::Scan, 200_000 * scale, 1),
        row("append and sync, 1 thread", Work::Synced, 100 * scale, 1),
        row("append and sync, 16 threads", Work::Synced, 640 * scale, 16),
    ]
}

/// All that are there; klog comes last, as in the other benchmarks.
fn peers(args: &[String], records: &Path) -> Vec<Box<dyn Peer>> {
    let argument = |name: &str| {
        let found = args
            .iter()
            .find_map(|arg| arg.strip_prefix(name)?.strip_prefix('='));
        found.filter(|value| !value.is_empty()).map(str::to_owned)
    };
    let mut peers: Vec<Box<dyn Peer>> = Vec::new();
    #[cfg(has_rocksdb)]
    peers.push(Box::new(rocksdb_side::RocksDb));
    #[cfg(not(has_rocksdb))]
    println!("RocksDB: left out: its library is not installed");
    peers.push(Box::new(raft_engine_side::RaftEngine));
    peers.push(Box::new(commitlog_side::Commitlog));
    peers.push(Box::new(fjall_side::Fjall));
    let go = argument("--go").map(|program| {
        let does = "no checksum; copied in and out, a segment is read as a whole; a write a batch; a sync is an fsync; one lock";
        child::Program::start("tidwall/wal", does, &mut Command::new(program), records)
    });
    let java = argument("--java").map(|class_path| {
        let does = "no checksum; copied into memory that is mapped, no system call; a sync is an msync; one lock in the file";
        let mut command = Command::new("java");
        command
            .args(OPENED)
            .args(["-cp", &class_path, "io.klog.peers.Chronicle"]);
        child::Program::start("Chronicle Queue", does, &mut command, records)
    });
    for (name, program) in [("tidwall/wal", go), ("Chronicle Queue", java)] {
        match program {
            Some(Ok(program)) => peers.push(Box::new(program)),
            Some(Err(error)) => println!("{name}: left out: {error}"),
            None => println!("{name}: left out: it could not be built"),
        }
    }
    peers.push(Box::new(klog_side::Klog));
    peers
}

fn fresh(dir: &Path) {
    let _ = fs::remove_dir_all(dir);
    fs::create_dir_all(dir).unwrap();
}

/// A contestant that takes turns, and how much it did a second.
struct Turns {
    peer: Box<dyn Peer>,
    dir: PathBuf,
    rates: Vec<f64>,
    failure: Option<String>,
}

impl Turns {
    fn take(&mut self, row: &Row, data: &Data) -> Result<f64> {
        let reads = matches!(row.work, Work::Scan | Work::Random);
        if !reads {
            fresh(&self.dir);
        }
        if row.work == Work::Synced {
            // Else the syncs of one also wait for what another left, and for what was removed.
            let _ = Command::new("sync").status();
        }
        let job = Job {
            work: row.work,
            dir: &self.dir,
            data,
            size: row.size,
            threads: row.threads,
        };
        Ok(row.size as f64 / self.peer.run(&job)?)
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Lets all take turns; a line of the table for each peer.
fn run(row: &Row, rounds: usize, data: &Data, all: &mut [Turns]) -> String {
    for turns in &mut *all {
        turns.rates.clear();
        turns.failure = None;
    }
    for round in 0..=rounds {
        for turns in &mut *all {
            if turns.failure.is_some() {
                continue;
            }
            match turns.take(row, data) {
                Ok(rate) if round > 0 => turns.rates.push(rate),
                Ok(_) => {}
                Err(error) => turns.failure = Some(error.to_string()),
            }
        }
    }
    let (klog, peers) = all.split_last().unwrap();
    let mut text = String::new();
    for peer in peers {
        let name = peer.peer.name();
        if let Some(failure) = &peer.failure {
            println!("{}, {name}: left out: {failure}", row.name);
            continue;
        }
        let ratios = klog
            .rates
            .iter()
            .zip(&peer.rates)
            .map(|(klog, peer)| klog / peer);
        let ratio = median(ratios.collect());
        let [of_klog, of_peer] =
            [&klog.rates, &peer.rates].map(|rates| median(rates.clone()) / 1000.0);
        println!(
            "{:<34} {name:<16} {of_peer:>10.2} k/s; klog {of_klog:>10.2} k/s: {ratio:.2}",
            row.name
        );
        let verdict = if ratio < 1.0 {
            "**faster than klog**"
        } else {
            ""
        };
        writeln!(
            text,
            "| {} | {name} | {of_peer:.2} | {of_klog:.2} | {ratio:.2} | {verdict} |",
            row.name
        )
        .unwrap();
    }
    text
}

fn main() {
    let began = Instant::now();
    let args: Vec<String> = env::args().skip(1).collect();
    let is_long = args.iter().any(|arg| arg == "--long");
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let place = here.join("../../target");
    fs::create_dir_all(&place).unwrap();
    let root = tempfile::tempdir_in(place.canonicalize().unwrap()).unwrap();
    let data = Data::new();
    let records = root.path().join("records");
    data.write(&records);
    let mut all: Vec<Turns> = peers(&args, &records)
        .into_iter()
        .map(|peer| Turns {
            dir: root.path().join(peer.name().replace('/', "-")),
            peer,
            rates: Vec::new(),
            failure: None,
        })
        .collect();
    let (scale, rounds) = if is_long { (10, 7) } else { (1, 3) };
    let mut table = String::from(
        "| work | peer | its k rec/s | klog's k rec/s | klog / peer | |\n|---|---|---|---|---|---|\n",
    );
    // Rows that read do so from what the row in front of them left.
    for row in &rows(scale) {
        table.push_str(&run(row, rounds, &data, &mut all));
    }
    table.push_str("\nWhat each does:\n\n");
    for turns in &all {
        writeln!(table, "- {}: {}.", turns.peer.name(), turns.peer.does()).unwrap();
    }
    println!("{} s", began.elapsed().as_secs());
    let path = here.join("../../docs/benchmarks.md");
    let old = fs::read_to_string(&path).unwrap();
    let (before, rest) = old.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    fs::write(&path, format!("{before}{BEGIN}\n{table}{END}{after}")).unwrap();
}
