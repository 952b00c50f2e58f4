//! klog's cleaner beside Kafka's, in one run: 2 million records of 114 bytes with 200 thousand keys, 100 a batch, one thread.
//!
//! Contestants take turns on fresh copies of one log; the first round is thrown away, so that the JVM is warm. `make bench`
//! runs it; a ratio below its floor fails, and so does a pass that takes more memory than its map and some buffers.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::cast_precision_loss,
    reason = "a benchmark"
)]

#[path = "support/compacted.rs"]
mod compacted;

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use compacted::{KEYS, MAP_BYTES, RECORDS, copy, open, write_log};
use klog::cleaner::examine::{Active, examine};
use klog::cleaner::pass::{PassOptions, Surroundings, clean};
use klog::cleaner::watch::Watch;
use klog::types::TimestampMs;

const ROUNDS: usize = 4;
/// What is asked of klog, in times of Kafka.
const FLOOR: f64 = 3.0;
/// A pass may take so much beside the map.
const BUFFERS_MIB: u64 = 32;

/// The most memory that the process had since the last call, in MiB.
fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib: u64 = peak
        .unwrap()
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .unwrap();
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    kib / 1024
}

fn clean_by_klog(dir: &Path) -> (f64, u64) {
    let (manager, log) = open(dir);
    let before = {
        peak_mib();
        peak_mib()
    };
    let started = Instant::now();
    let now = TimestampMs(1_800_000_000_000);
    let examined = examine(&log, None, Active::AsItIs, now).unwrap();
    let watch = Watch::default();
    let options = PassOptions::new(now, MAP_BYTES);
    let cleaned = clean(&log, &examined, &options, Surroundings::new(&watch)).unwrap();
    let seconds = started.elapsed().as_secs_f64();
    assert_eq!(cleaned.stats.map_keys, cleaned.stats.kept_records());
    let taken = peak_mib().saturating_sub(before);
    manager.close().unwrap();
    (seconds, taken)
}

/// Kafka's classes in a JVM that may optimise, behind the protocol of `tests/interop`.
struct Kafka {
    child: Child,
    answers: BufReader<std::process::ChildStdout>,
}

impl Kafka {
    fn start() -> Option<Self> {
        let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interop/target");
        let jar = target.join("klog-interop.jar");
        if !jar.is_file() {
            return None;
        }
        let class_path = format!("{}:{}/lib/*", jar.display(), target.display());
        let java = std::env::var_os("JAVA_HOME").map_or_else(
            || PathBuf::from("java"),
            |home| PathBuf::from(home).join("bin/java"),
        );
        let mut child = Command::new(java)
            .args(["-Xmx1g", "-cp", &class_path, "io.klog.interop.Referee"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .ok()?;
        let answers = BufReader::new(child.stdout.take()?);
        Some(Self { child, answers })
    }

    fn ask(&mut self, fields: &[&str]) -> String {
        let stdin = self.child.stdin.as_mut().unwrap();
        writeln!(stdin, "{}", fields.join("\t")).unwrap();
        stdin.flush().unwrap();
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        let (status, len) = line.trim().split_once(' ').unwrap();
        let mut text = vec![0; len.parse().unwrap()];
        self.answers.read_exact(&mut text).unwrap();
        let text = String::from_utf8_lossy(&text).into_owned();
        assert_eq!(status, "ok", "{text}");
        text
    }

    fn clean(&mut self, dir: &Path) -> f64 {
        let end = RECORDS.to_string();
        self.ask(&[
            "open",
            "x",
            dir.to_str().unwrap(),
            "t-0",
            "clean=1",
            &format!("rp={end}"),
            "start=0",
            "now=1800000000000",
            "cleanup.policy=compact",
            "segment.bytes=67108864",
        ]);
        self.ask(&["hw", "x", &end]);
        let started = Instant::now();
        let answer = self.ask(&["clean", "x", "-", &MAP_BYTES.to_string(), "0.9"]);
        let seconds = started.elapsed().as_secs_f64();
        assert!(answer.contains(&format!("end={end} ")), "{answer}");
        self.ask(&["kill", "x"]);
        seconds
    }
}

impl Drop for Kafka {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn main() {
    let shm = Path::new("/dev/shm");
    let root = if shm.is_dir() {
        tempfile::tempdir_in(shm)
    } else {
        tempfile::tempdir()
    };
    let root = root.unwrap();
    let (source, work) = (root.path().join("source"), root.path().join("work"));
    write_log(&source);
    let mut kafka = Kafka::start();
    let mut ratios = Vec::new();
    let (mut klog_seconds, mut kafka_seconds, mut memory) = (Vec::new(), Vec::new(), 0);
    for round in 0..=ROUNDS {
        copy(&source, &work);
        let (klog, taken) = clean_by_klog(&work);
        let by_kafka = kafka.as_mut().map(|kafka| {
            copy(&source, &work);
            kafka.clean(&work)
        });
        if round > 0 {
            klog_seconds.push(klog);
            memory = memory.max(taken);
            if let Some(by_kafka) = by_kafka {
                kafka_seconds.push(by_kafka);
                ratios.push(by_kafka / klog);
            }
        }
    }
    let middle = |values: &mut Vec<f64>| -> f64 {
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or(0.0)
    };
    let rate = |seconds: f64| RECORDS as f64 / seconds / 1e6;
    println!(
        "clean {RECORDS} records, {KEYS} keys: klog {:.2} M rec/s, {memory} MiB",
        rate(middle(&mut klog_seconds))
    );
    let fits = memory <= MAP_BYTES / (1 << 20) + BUFFERS_MIB;
    let is_fast = if ratios.is_empty() {
        println!("no Kafka to compare with: run `make interop` first");
        true
    } else {
        let ratio = middle(&mut ratios);
        println!(
            "    Kafka {:.2} M rec/s   ratio {ratio:.2}   floor {FLOOR}",
            rate(middle(&mut kafka_seconds))
        );
        ratio >= FLOOR
    };
    if !(fits && is_fast) {
        std::process::exit(1);
    }
}
