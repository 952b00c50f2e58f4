//! Every command on files that are made to do harm: it ends, with an answer or an error, takes no more than 64 MB of resident
//! memory (VmHWM of the child at its end, its code included), and does not panic. And every command whose reader
//! leaves ends without a word.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::format_collect,
    reason = "a failure fails the test"
)]

#[path = "../support/mod.rs"]
mod support;

mod batches;
mod state;

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use flate2::Compression;
use flate2::write::GzEncoder;
use klog::format::batch;
use klog::format::crc::crc32c;
use klog::format::legacy::{OldMessage, write_message};
use klog::format::txn_index::AbortedTxn;
use klog::types::{Offset, ProducerId, TimestampMs};
use tempfile::TempDir;

use support::command::binary;
use support::engine::{CLEAN_MARKER, Home, fill, t0, v2};
use support::{fixture, shim, tree};

/// The largest peak of resident memory.
const PEAK_KIB: u64 = 64 * 1024;
const SEGMENT: &str = "00000000000000000000";

/// Commands as `Q` for a quarantine and `T` for a target that are not there, `D` for the directory, `L` for the files of the log.
const COMMANDS: [&str; 20] = [
    "ls D",
    "dump D",
    "offsets D t-0 --timestamp=5 --timestamp=1700000000001 --timestamp=-3",
    "transactions D",
    "producers D t-0",
    "cat D t-0",
    "cat D t-0 --format=raw",
    "verify D",
    "stat D",
    "report D -o T",
    "retain D --dry-run",
    "clean D --dry-run --config log.cleanup.policy=compact --config log.cleaner.min.cleanable.ratio=0 --map-bytes=1048576",
    "clean D t-0 --roll --config log.cleanup.policy=compact --config log.cleaner.min.cleanable.ratio=0 --map-bytes=1048576",
    "repair D",
    "dump-log --print-data-log --files L",
    "copy D T",
    "append D t-0",
    "recover D",
    "repair D --apply --quarantine Q",
    "retain D --config log.retention.ms=1",
];

/// Those that write have a directory of their own.
const WRITING: [&str; 5] = [
    "append",
    "recover",
    "repair D --apply",
    "clean D t-0",
    "retain D --config",
];

/// So much of an output is read where it has no end.
const OUTPUT_BYTES_MAX: u64 = 8 << 20;

/// Ends the command when it takes more processor time than anything here may.
const SECONDS_MAX: u64 = 20;
/// And when it waits for something that does not come.
const WAITED_SECONDS_MAX: u64 = 300;

/// Runs a command that takes no more than so much memory; its exit code and what it said on standard error.
fn run(args: &[String], peak_kib: u64, what: &str) -> (Option<i32>, String) {
    static SHIM: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_, shim) = SHIM.get_or_init(|| {
        let root = tree::scratch();
        let shim = shim::build(root.path());
        (root, shim)
    });
    let scratch = tree::scratch();
    let (peak, errors) = (scratch.path().join("peak"), scratch.path().join("errors"));
    let mut child = Command::new("bash")
        .args([
            "-c",
            &format!(
                "ulimit -t {SECONDS_MAX}; exec timeout {WAITED_SECONDS_MAX} env LD_PRELOAD=\"$SHIM\" \"$0\" \"$@\""
            ),
        ])
        .arg(binary())
        .args(args)
        .env("SHIM", shim)
        .env("KLOG_PEAK", &peak)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(File::create(&errors).unwrap())
        .spawn()
        .unwrap();
    let mut output = child.stdout.take().unwrap().take(OUTPUT_BYTES_MAX);
    std::io::copy(&mut output, &mut std::io::sink()).unwrap();
    // Its reader leaves.
    drop(output);
    let status = child.wait().unwrap();
    let mut bytes = Vec::new();
    File::open(&errors)
        .unwrap()
        .take(10_000)
        .read_to_end(&mut bytes)
        .unwrap();
    let said = String::from_utf8_lossy(&bytes).into_owned();
    assert!(!said.contains("panicked"), "{what}: {args:?}: {said}");
    // One that was killed has written none.
    let peak = fs::read_to_string(&peak)
        .unwrap_or_else(|e| panic!("{what}: {args:?}: {e}: {status} {said}"));
    let peak: u64 = peak.parse().unwrap();
    assert!(peak <= peak_kib, "{what}: {args:?} took {peak} KiB");
    (status.code(), said)
}

/// Every command on a directory.
fn run_all(home: &Home, what: &str) {
    run_within(|_| PEAK_KIB, home, what);
}

/// Every command on a directory, each within its own limit.
fn run_within(peak_kib: impl Fn(&str) -> u64, home: &Home, what: &str) {
    for line in COMMANDS {
        let scratch = tree::scratch();
        let mut dir = home.dir.clone();
        if WRITING.iter().any(|name| line.starts_with(name)) {
            dir = scratch.path().join("logs");
            let copied = Command::new("cp")
                .args(["-a", "--sparse=always"])
                .arg(&home.dir)
                .arg(&dir)
                .status();
            assert!(copied.unwrap().success());
        }
        let files: Vec<String> = fs::read_dir(dir.join("t-0"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .map(|path| path.to_str().unwrap().to_owned())
            .collect();
        let args: Vec<String> = line
            .split(' ')
            .map(|word| match word {
                "D" => dir.to_str().unwrap().to_owned(),
                "L" => files.join(","),
                "T" | "Q" => scratch.path().join(word).to_str().unwrap().to_owned(),
                word => word.to_owned(),
            })
            .collect();
        let (code, said) = run(&args, peak_kib(line), what);
        assert!(
            matches!(code, Some(0 | 1)),
            "{what}: {line}: {code:?} {said}"
        );
        assert!(
            code == Some(0)
                || line.starts_with("verify")
                || line.starts_with("repair")
                || !said.is_empty(),
            "{what}: {line}"
        );
    }
}

/// A directory with a small log; `t-0/NAME` and `NAME` can be put beside it.
fn small() -> Home {
    let home = Home::new();
    let manager = home.open();
    fill(&t0(&manager), 1);
    manager.close().unwrap();
    home
}

/// As if it had been closed in order: nothing is recovered, and files are taken as they are.
fn close_in_order(home: &Home) {
    fs::write(
        home.dir.join(CLEAN_MARKER),
        "{\"version\":0,\"brokerEpoch\":1}",
    )
    .unwrap();
}

fn sparse(path: &Path, bytes: u64) {
    let file = File::options()
        .create(true)
        .write(true)
        .truncate(false)
        .open(path)
        .unwrap();
    file.set_len(bytes).unwrap();
}

/// Every kind of file that there is, as long as an index or a segment may be and longer.
#[test]
fn sparse_files_take_little_memory() {
    let names = [
        ("t-0", "00000000000000000000.log"),
        ("t-0", "00000000000000000000.index"),
        ("t-0", "00000000000000000000.timeindex"),
        ("t-0", "00000000000000000000.txnindex"),
        ("t-0", "00000000000000000001.snapshot"),
        ("t-0", "leader-epoch-checkpoint"),
        ("t-0", "partition.metadata"),
        ("", "recovery-point-offset-checkpoint"),
        ("", "replication-offset-checkpoint"),
        ("", "log-start-offset-checkpoint"),
        ("", "cleaner-offset-checkpoint"),
        ("", "meta.properties"),
        ("", CLEAN_MARKER),
    ];
    for (dir, name) in names {
        for bytes in [SEGMENT_BYTES_MAX, 10 << 30] {
            for is_closed in [false, true] {
                // It makes no difference to files that are read as a whole, if they are.
                let is_of_segment = name.starts_with('0');
                if (!is_of_segment && bytes == SEGMENT_BYTES_MAX)
                    || (name == CLEAN_MARKER && is_closed)
                {
                    continue;
                }
                let home = small();
                home.forget_marker();
                sparse(&home.dir.join(dir).join(name), bytes);
                if is_closed {
                    close_in_order(&home);
                }
                let what = format!("{name} of {bytes} bytes, closed in order: {is_closed}");
                run_all(&home, &what);
            }
        }
    }
}

/// Nobody writes to them: who waited for that would wait for ever.
#[test]
fn pipes_in_place_of_files_are_not_waited_for() {
    for name in [
        "t-0/00000000000000000000.log",
        "t-0/00000000000000000000.index",
        "t-0/00000000000000000000.timeindex",
        "t-0/00000000000000000000.txnindex",
        "t-0/00000000000000000001.snapshot",
        "t-0/leader-epoch-checkpoint",
        "t-0/partition.metadata",
        "recovery-point-offset-checkpoint",
        "log-start-offset-checkpoint",
        "cleaner-offset-checkpoint",
        "meta.properties",
        CLEAN_MARKER,
    ] {
        let home = small();
        let path = home.dir.join(name);
        let _ = fs::remove_file(&path);
        assert!(
            Command::new("mkfifo")
                .arg(&path)
                .status()
                .unwrap()
                .success()
        );
        run_all(&home, &format!("a pipe as {name}"));
    }
}

/// As long as a file of a segment may be.
const SEGMENT_BYTES_MAX: u64 = (1 << 31) - 2;

/// Where the log is as long, its indexes may be as well.
#[test]
fn sparse_indexes_beside_a_sparse_log_take_little_memory() {
    for is_closed in [false, true] {
        let home = small();
        home.forget_marker();
        for kind in ["log", "index", "timeindex", "txnindex"] {
            sparse(&home.path(&format!("0.{kind}")), SEGMENT_BYTES_MAX);
        }
        if is_closed {
            close_in_order(&home);
        }
        run_all(&home, &format!("a sparse segment, closed: {is_closed}"));
        // What a segment of later offsets has is all below it.
        let home = small();
        home.forget_marker();
        for kind in ["log", "index", "timeindex", "txnindex"] {
            sparse(&home.path(&format!("7.{kind}")), SEGMENT_BYTES_MAX);
        }
        if is_closed {
            close_in_order(&home);
        }
        run_all(
            &home,
            &format!("a sparse second segment, closed: {is_closed}"),
        );
    }
}

/// All of them are recovered by whoever looks: what each takes must not add up.
#[test]
fn hundreds_of_small_segments_that_were_not_flushed_take_little_memory() {
    let home = Home::new().set("internal.segment.bytes", 200);
    let manager = home.open();
    let log = t0(&manager);
    for _ in 0..400 {
        fill(&log, 2);
    }
    assert!(log.segments().len() >= 400);
    manager.abandon();
    run_all(&home, "hundreds of small segments");
}

/// Lines and raw batches that are too large are refused before memory is taken for them.
#[test]
fn input_without_end_is_refused() {
    for (format, feed) in [
        ("text", "0\\t1\\tk\\t"),
        ("json", "{\\\"value\\\":\\\""),
        (
            "raw",
            "\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x7f\\xff\\xff\\xf0\\x00\\x00\\x00\\x00\\x02",
        ),
    ] {
        let home = small();
        let line = format!(
            "(printf \"{feed}\"; head -c 300000000 /dev/zero | tr '\\0' x) | \"$0\" append \"$1\" t-0 --format={format}"
        );
        let script = home.dir.join("../feed");
        fs::write(&script, line).unwrap();
        let output = Command::new("bash")
            .args(["-c", &format!("ulimit -d {PEAK_KIB}; exec bash \"$@\"")])
            .arg("bash")
            .arg(&script)
            .env("MALLOC_ARENA_MAX", "1")
            .output();
        let _ = output.unwrap();
        let args: Vec<PathBuf> = vec![binary().into(), home.dir.clone()];
        let output = Command::new("bash")
            .args([
                "-c",
                &format!(
                    "ulimit -d {PEAK_KIB}; {}",
                    fs::read_to_string(&script).unwrap()
                ),
            ])
            .args(args)
            .env("MALLOC_ARENA_MAX", "1")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{format}: {said}");
        assert!(said.contains("TOO_LARGE"), "{format}: {said}");
        assert!(home.is_clean(), "{format}");
    }
}

/// The first byte is read, and then no more.
#[test]
fn every_command_ends_quietly_when_its_reader_leaves() {
    let fixture = fixture::extract("kafka-4.4.0-torn");
    let dir = fixture.dir.to_str().unwrap();
    let scratch = tree::scratch();
    let (target, kept) = (scratch.path().join("copy"), scratch.path().join("kept"));
    let log = fixture
        .dir
        .join("t-whole-tx-0")
        .join(format!("{SEGMENT}.log"));
    let log = log.to_str().unwrap();
    let commands: Vec<Vec<&str>> = vec![
        vec!["ls", dir],
        vec!["dump", dir],
        vec![
            "offsets",
            dir,
            "t-whole-tx-0",
            "--timestamp=1",
            "--timestamp=-1",
        ],
        vec!["transactions", dir],
        vec!["producers", dir, "t-whole-tx-0"],
        vec!["cat", dir, "t-whole-tx-0"],
        vec!["cat", dir, "t-whole-tx-0", "--format=raw"],
        vec!["verify", dir],
        vec!["verify", dir, "--json"],
        vec!["stat", dir],
        vec!["stat", dir, "--json"],
        vec!["repair", dir],
        vec!["copy", dir, target.to_str().unwrap()],
        vec![
            "retain",
            dir,
            "--config",
            "t-whole:retention.ms=1",
            "--dry-run",
        ],
        vec![
            "clean",
            dir,
            "--config",
            "log.cleanup.policy=compact",
            "--dry-run",
        ],
        vec!["dump-log", "--print-data-log", "--files", log],
        vec!["completions", "bash"],
        vec!["help"],
        vec!["cat", "--help"],
        vec![
            "repair",
            dir,
            "--apply",
            "--quarantine",
            kept.to_str().unwrap(),
        ],
    ];
    for args in commands {
        // Nobody reads from the beginning on: the first write fails.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let child = Command::new(binary())
            .args(&args)
            .stdin(Stdio::null())
            .stdout(writer)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let ended = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(
            !said.contains("panicked") && !said.to_lowercase().contains("pipe"),
            "{args:?}: {said}"
        );
        assert!(
            matches!(ended.status.code(), Some(0 | 1)),
            "{args:?}: {:?} {said}",
            ended.status
        );
    }
}
