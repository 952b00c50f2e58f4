//! `klog dump-log` where Kafka's tool is no measure: large and hostile files in little memory, and output that nobody reads on.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a failure fails the test"
)]

mod support;

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use klog::format::builder::{BatchBuilder, BatchOptions};
use klog::format::codec::Codec;
use klog::types::TimestampMs;

use support::random::Random;
use support::{command, fixture, tree};

/// The whole address space that the command gets, code and all.
const MEMORY_KIB: u32 = 64 * 1024;

fn dump_in_little_memory(file: &Path, options: &[&str]) -> Output {
    Command::new("sh")
        .args(["-c", &format!("ulimit -v {MEMORY_KIB}; exec \"$@\"")])
        .args(["sh", command::binary(), "dump-log", "--files"])
        .arg(file)
        .args(options)
        .output()
        .unwrap()
}

fn log_in(dir: &Path) -> PathBuf {
    dir.join("00000000000000000000.log")
}

/// Text that hardly any codec makes small.
fn noise(random: &mut Random, len: usize) -> Vec<u8> {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bytes = random.bytes(len).into_iter();
    bytes.map(|byte| LETTERS[usize::from(byte & 63)]).collect()
}

#[test]
fn batches_and_records_of_any_size_are_printed_in_little_memory() {
    let mut random =
        Random::from_env("batches_and_records_of_any_size_are_printed_in_little_memory");
    let root = tree::scratch();
    let file = log_in(root.path());
    // One record that is larger than what may be held, and many small ones behind it.
    let mut values = vec![noise(&mut random, 13 << 20)];
    values.extend((0..30).map(|_| noise(&mut random, 200_000)));
    for codec in [
        Codec::None,
        Codec::Gzip,
        Codec::Snappy,
        Codec::Lz4,
        Codec::Zstd,
    ] {
        let mut builder = BatchBuilder::new();
        for value in &values {
            let headers = [klog::format::record::Header {
                key: b"h",
                value: None,
            }];
            builder
                .push(
                    TimestampMs(5),
                    Some(b"key"),
                    Some(value),
                    headers.into_iter(),
                )
                .unwrap();
        }
        let options = BatchOptions {
            codec,
            ..BatchOptions::default()
        };
        fs::write(&file, builder.finish(&options).unwrap()).unwrap();
        assert!(
            fs::metadata(&file).unwrap().len() > 12 << 20,
            "{codec:?} is held"
        );

        let dump = dump_in_little_memory(&file, &["--print-data-log"]);
        assert!(
            dump.status.success(),
            "{codec:?}: {}",
            String::from_utf8_lossy(&dump.stderr)
        );
        let text = String::from_utf8(dump.stdout).unwrap();
        let mut lines = text.lines().skip(2);
        assert!(
            lines.next().unwrap().ends_with("isvalid: true"),
            "{codec:?}"
        );
        for (offset, value) in values.iter().enumerate() {
            let expected = format!(
                "| offset: {offset} CreateTime: 5 keySize: 3 valueSize: {} sequence: -1 headerKeys: [h] key: key payload: {}",
                value.len(),
                String::from_utf8_lossy(value)
            );
            assert!(
                lines.next() == Some(&expected),
                "{codec:?}: record {offset}"
            );
        }
        assert_eq!(lines.next(), None, "{codec:?}");
    }
}

#[test]
fn sparse_and_hostile_files_take_little_memory() {
    let root = tree::scratch();
    let file = log_in(root.path());
    let sparse = File::create(&file).unwrap();
    // As large as a segment may be, and larger.
    for (size, said) in [
        (
            i32::MAX as u64,
            "Found record size 0 smaller than minimum record overhead (14)",
        ),
        (
            10 << 30,
            "is larger than the maximum allowed segment size of 2147483647",
        ),
    ] {
        sparse.set_len(size).unwrap();
        let dump = dump_in_little_memory(&file, &["--print-data-log"]);
        let err = String::from_utf8(dump.stderr).unwrap();
        assert_eq!(dump.status.code(), Some(1), "{err}");
        assert!(err.contains(said), "{err}");
    }
    // One batch over all of it, which claims more records than there are.
    sparse.set_len(300 << 20).unwrap();
    let mut header = [0; 61];
    header[8..12].copy_from_slice(&((300 << 20) - 12_i32).to_be_bytes());
    header[16] = 2;
    header[57..].copy_from_slice(&i32::MAX.to_be_bytes());
    sparse.write_all_at(&header, 0).unwrap();
    for codec in 0..5 {
        sparse.write_all_at(&[0, codec], 21).unwrap();
        let dump = dump_in_little_memory(&file, &["--print-data-log"]);
        let err = String::from_utf8(dump.stderr).unwrap();
        assert_eq!(dump.status.code(), Some(1), "codec {codec}: {err}");
        let text = String::from_utf8(dump.stdout).unwrap();
        assert!(text.ends_with("isvalid: false\n"), "codec {codec}: {err}");
    }
    // Indexes of the largest size.
    for ending in ["index", "timeindex"] {
        let index = file.with_extension(ending);
        File::create(&index)
            .unwrap()
            .set_len(2_147_483_640)
            .unwrap();
        let dump = dump_in_little_memory(&index, &[]);
        assert!(dump.status.code().is_some(), "{:?}", dump.status);
    }
}

#[test]
fn the_command_ends_quietly_when_nobody_reads_on() {
    let fixture = fixture::extract("kafka-4.4.0-broker");
    let log = fixture.dir.join("rolled-0/00000000000000000000.log");
    let files = vec![log.to_str().unwrap(); 50].join(",");
    let mut child = Command::new(command::binary())
        .args(["dump-log", "--print-data-log", "--files", &files])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut begin = [0; 100];
    child
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut begin)
        .unwrap();
    drop(child.stdout.take());
    let ended = child.wait_with_output().unwrap();
    assert!(ended.status.success(), "{:?}", ended.status);
    assert_eq!(String::from_utf8_lossy(&ended.stderr), "");
}

#[test]
fn nothing_is_created_and_usage_is_checked() {
    let root = tree::scratch();
    let file = log_in(root.path());
    File::create(&file).unwrap().write_all(b"").unwrap();
    let index = file.with_extension("timeindex");
    File::create(&index).unwrap();
    let before = tree::content(root.path());
    let run = command::klog(["dump-log", "--files", index.to_str().unwrap()]);
    assert_eq!(run.code, 1);
    assert_eq!(tree::content(root.path()), before);
    let run = command::klog([
        "dump-log",
        "--files",
        "a.log",
        "--value-decoder-class",
        "org.example.Mine",
    ]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("klog runs no Java classes"),
        "{}",
        run.stderr
    );
    let run = command::klog(["dump-log", "--help"]);
    assert_eq!(run.code, 0);
    assert!(
        run.stdout.contains("--share-group-state-decoder"),
        "{}",
        run.stdout
    );
    assert_eq!(command::klog(["dump-log", "--version"]).stdout, "4.4.0\n");
}

#[test]
fn gaps_without_end_are_told_in_little_memory() {
    let root = tree::scratch();
    let file = log_in(root.path());
    let mut builder = BatchBuilder::new();
    let mut bytes = Vec::new();
    let count = 600_000;
    for n in 0..count {
        builder.clear();
        builder
            .push(TimestampMs(5), None, None, [].into_iter())
            .unwrap();
        let options = BatchOptions {
            base_offset: klog::types::Offset(2 * n),
            ..BatchOptions::default()
        };
        bytes.extend_from_slice(builder.finish(&options).unwrap());
    }
    fs::write(&file, bytes).unwrap();
    let dump = dump_in_little_memory(&file, &["--deep-iteration"]);
    let err = String::from_utf8(dump.stderr).unwrap();
    assert!(dump.status.success(), "{}", &err[..err.len().min(500)]);
    let mut lines = err.lines();
    assert!(
        lines
            .next()
            .unwrap()
            .starts_with("Non-consecutive offsets in /")
    );
    for n in 1..count {
        let expected = format!("  {} is followed by {}", 2 * n - 2, 2 * n);
        assert_eq!(lines.next(), Some(expected.as_str()));
    }
    assert_eq!(lines.next(), None);
}
