//! How much faster `klog dump-log` is than Kafka's tool, each started as a user starts it, in turns.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use klog::format::builder::{BatchBuilder, BatchOptions};
use klog::types::{Offset, TimestampMs};

use crate::support::random::Random;
use crate::support::{command, fixture, jvm, tree};

const SMALL_FACTOR: u32 = 20;
const LARGE_FACTOR: u32 = 5;
const LARGE_BYTES: usize = 200 << 20;

/// How long a command takes. Its output goes into a file.
fn timed(mut command: Command, out: &Path) -> Duration {
    let out = fs::File::create(out).unwrap();
    let began = Instant::now();
    let status = command.stdout(out).stderr(Stdio::null()).status().unwrap();
    let took = began.elapsed();
    assert!(status.success(), "{command:?}");
    took
}

/// Both on a file, in turns: the shortest time of each. They must print the same.
fn in_turns(klog: &Path, file: &Path, turns: u32) -> (Duration, Duration) {
    let root = tree::scratch();
    let (ours, theirs) = (root.path().join("klog"), root.path().join("kafka"));
    let mut best = (Duration::MAX, Duration::MAX);
    for _ in 0..turns {
        let mut command = Command::new(klog);
        command
            .args(["dump-log", "--print-data-log", "--files"])
            .arg(file);
        best.0 = best.0.min(timed(command, &ours));
        let mut command = jvm::java_with_kafka();
        command
            .args([
                "org.apache.kafka.tools.DumpLogSegments",
                "--print-data-log",
                "--files",
            ])
            .arg(file);
        best.1 = best.1.min(timed(command, &theirs));
    }
    assert!(
        fs::read(&ours).unwrap() == fs::read(&theirs).unwrap(),
        "{}",
        file.display()
    );
    let bytes = fs::metadata(file).unwrap().len();
    println!(
        "{bytes} bytes: klog {:.1} ms, Kafka's tool {:.1} ms: {:.1} times",
        best.0.as_secs_f64() * 1e3,
        best.1.as_secs_f64() * 1e3,
        best.1.as_secs_f64() / best.0.as_secs_f64()
    );
    best
}

#[test]
fn a_small_file_is_printed_20_times_faster_than_by_kafkas_tool() {
    let fixture = fixture::extract("kafka-4.4.0-broker");
    let file = fixture.dir.join("codec-gzip-0/00000000000000000000.log");
    let (klog, kafka) = in_turns(Path::new(command::binary()), &file, 2);
    assert!(
        klog * SMALL_FACTOR <= kafka,
        "{klog:?}, Kafka's tool {kafka:?}"
    );
}

/// In `make test-long`, which names an optimised command in `KLOG_OPTIMISED`.
#[test]
#[ignore = "takes long, and an optimised command"]
fn a_large_file_is_printed_5_times_faster_than_by_kafkas_tool() {
    let klog = PathBuf::from(std::env::var_os("KLOG_OPTIMISED").unwrap());
    let mut random = Random::from_env("a_large_file_is_printed_5_times_faster_than_by_kafkas_tool");
    let root = tree::scratch();
    let file = root.path().join("00000000000000000000.log");
    let letters: Vec<u8> = random
        .bytes(1 << 20)
        .iter()
        .map(|b| b'a' + b % 26)
        .collect();
    let (mut bytes, mut builder, mut offset) = (Vec::new(), BatchBuilder::new(), 0);
    while bytes.len() < LARGE_BYTES {
        builder.clear();
        for _ in 0..100 {
            let at = random.below(letters.len() - 200);
            let value = &letters[at..at + 200];
            builder
                .push(
                    TimestampMs(1_700_000_000_000 + offset),
                    Some(&value[..10]),
                    Some(value),
                    [].into_iter(),
                )
                .unwrap();
        }
        let options = BatchOptions {
            base_offset: Offset(offset),
            ..BatchOptions::default()
        };
        bytes.extend_from_slice(builder.finish(&options).unwrap());
        offset += 100;
    }
    fs::write(&file, bytes).unwrap();
    let (klog, kafka) = in_turns(&klog, &file, 2);
    assert!(
        klog * LARGE_FACTOR <= kafka,
        "{klog:?}, Kafka's tool {kafka:?}"
    );
}
