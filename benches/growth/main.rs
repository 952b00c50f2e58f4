//! How time and memory grow with bytes, segments and partitions: `make growth`.
//!
//! Each piece of work is measured at sizes ten times as large as the one before, the shortest of some times, since what others
//! do on the machine only adds. Over the sizes an exponent is fitted: 1 is linear. A curve that is worse than linear fails, and so
//! does a look-up that takes much longer in a large log than in a small one. The curves go to docs/growth as pictures, the figures
//! to docs/benchmarks.md. `tests/growth` counts the same at the file system, whatever the machine is doing.
//!
//! `--long` takes ten times as much; `--smoke` next to nothing, and writes nothing: a test that all of it works.
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

mod bytes;
mod curve;
mod partitions;
mod picture;
mod segments;

#[path = "../support/clock.rs"]
mod clock;
#[path = "../support/compacted.rs"]
mod compacted;
#[path = "../beside/data.rs"]
mod data;
#[path = "../support/directories.rs"]
mod directories;
#[path = "../support/held.rs"]
mod held;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use curve::{Chart, Curve};

const BEGIN: &str = "<!-- made by `make growth`: begin -->";
const END: &str = "<!-- made by `make growth`: end -->";

/// The sizes that are measured.
struct Sizes {
    megabytes: &'static [u64],
    segments: &'static [u64],
    partitions: &'static [u64],
    look_ups: u64,
    rounds: usize,
}

const USUAL: Sizes = Sizes {
    megabytes: &[1, 10, 100, 1000],
    segments: &[1, 10, 100, 1000],
    partitions: &[1, 10, 100, 1000, 5000],
    look_ups: 20_000,
    rounds: 3,
};

const LONG: Sizes = Sizes {
    megabytes: &[1, 10, 100, 1000, 10_000],
    segments: &[1, 10, 100, 1000, 10_000, 100_000],
    partitions: &[1, 10, 100, 1000, 5000, 20_000],
    ..USUAL
};

const SMOKE: Sizes = Sizes {
    megabytes: &[1, 2],
    segments: &[1, 4],
    partitions: &[1, 4],
    look_ups: 10,
    rounds: 1,
};

/// The shortest of some times.
fn shortest(rounds: usize, mut work: impl FnMut() -> f64) -> f64 {
    (0..rounds).map(|_| work()).fold(f64::INFINITY, f64::min)
}

/// Seconds on the wall, and what came of it.
fn timed<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let began = Instant::now();
    let result = work();
    (began.elapsed().as_secs_f64(), result)
}

/// An empty directory of this name.
fn fresh(dir: &Path) -> PathBuf {
    let _ = fs::remove_dir_all(dir);
    fs::create_dir_all(dir).unwrap();
    dir.to_path_buf()
}

/// In memory where there is such a place, and it is not too much: how fast a disk syncs is not the question.
fn place(is_long: bool) -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() && !is_long {
        return tempfile::tempdir_in(memory).unwrap();
    }
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("target");
    fs::create_dir_all(&target).unwrap();
    tempfile::tempdir_in(target).unwrap()
}

fn main() {
    let began = Instant::now();
    let args: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| args.iter().any(|arg| arg == flag);
    let (is_long, is_smoke) = (has("--long"), has("--smoke"));
    let sizes = match (is_long, is_smoke) {
        (_, true) => SMOKE,
        (true, false) => LONG,
        (false, false) => USUAL,
    };
    let root = place(is_long);
    // The first opening of all sets up what is no log's.
    drop(directories::open(&fresh(&root.path().join("first"))));
    let [of_segments, look_ups, memory_of_segments] = segments::curves(&sizes, root.path());
    let [of_partitions, memory_of_partitions] = partitions::curves(&sizes, root.path());
    let charts = [
        Chart {
            file: "bytes",
            title: "Work on a whole log, over its bytes",
            x: "megabytes",
            y: "seconds",
            curves: bytes::curves(&sizes, root.path()),
        },
        Chart {
            file: "look-ups",
            title: "A look-up, over the segments of the log",
            x: "segments",
            y: "microseconds",
            curves: look_ups,
        },
        Chart {
            file: "segments",
            title: "Opening a log, over its segments",
            x: "segments",
            y: "seconds",
            curves: of_segments,
        },
        Chart {
            file: "partitions",
            title: "A directory, over its partitions",
            x: "partitions",
            y: "seconds",
            curves: of_partitions,
        },
        Chart {
            file: "memory",
            title: "Memory that is held, over what is open",
            x: "segments of one log, or partitions",
            y: "kilobytes of heap",
            curves: memory_of_segments
                .into_iter()
                .chain(memory_of_partitions)
                .collect(),
        },
    ];
    let all = || charts.iter().flat_map(|chart| &chart.curves);
    let mut table = String::new();
    table.push_str("| work | unit | at each size | exponent | |\n|---|---|---|---|---|\n");
    for chart in &charts {
        for curve in &chart.curves {
            println!("{}", curve.line(chart));
            writeln!(table, "{}", curve.row(chart)).unwrap();
        }
    }
    let took = began.elapsed().as_secs();
    println!("{} curves in {took} s", all().count());
    if is_smoke {
        for chart in &charts {
            assert!(picture::draw(chart).ends_with("</svg>\n"));
        }
        return;
    }
    write(&charts, &table);
    if !all().all(Curve::is_good) {
        eprintln!("a curve grows worse than it may");
        std::process::exit(1);
    }
}

/// The pictures, and the table between its marks.
fn write(charts: &[Chart], table: &str) {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    fs::create_dir_all(docs.join("growth")).unwrap();
    for chart in charts {
        let path = docs.join("growth").join(format!("{}.svg", chart.file));
        fs::write(path, picture::draw(chart)).unwrap();
    }
    let path = docs.join("benchmarks.md");
    let old = fs::read_to_string(&path).unwrap();
    let (before, rest) = old.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    fs::write(&path, format!("{before}{BEGIN}\n{table}{END}{after}")).unwrap();
}
