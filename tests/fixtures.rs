//! klog against directories that real Kafka brokers wrote: what it says of them, that looking leaves them alone, and what
//! it leaves when it recovers them. `fixtures/README.md` tells what each directory shows.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a failure fails the test"
)]

mod support;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use klog::config::ConfigSet;
use klog::io::{ManualClock, RealFs};
use klog::manager::{Manager, ManagerOptions, MissingDir};
use klog::types::TimestampMs;

use support::canonical::{LogLines, Text, difference};
use support::{command, fixture, tree};

macro_rules! for_each_fixture {
    ($($name:ident: $archive:literal;)*) => {
        mod looking_prints_what_kafka_has {
            $(#[test] fn $name() { super::dump_equals_the_expected_text($archive); })*
        }
        mod recovering_leaves_what_looking_showed {
            $(#[test] fn $name() { super::recover_then_dump_again($archive); })*
        }
        #[test]
        fn every_archive_is_tested() {
            assert_eq!([$($archive),*], fixture::NAMES);
            let archives = fs::read_dir(fixture::folder()).unwrap().filter(|entry| {
                entry.as_ref().unwrap().file_name().to_string_lossy().ends_with(".tar.gz")
            });
            assert_eq!(archives.count(), fixture::NAMES.len());
        }
    };
}

for_each_fixture! {
    kafka_3_9_1_clean: "kafka-3.9.1-clean";
    kafka_4_4_0_broker: "kafka-4.4.0-broker";
    kafka_4_4_0_crash: "kafka-4.4.0-crash";
    kafka_4_4_0_mixed: "kafka-4.4.0-mixed";
    kafka_4_4_0_torn: "kafka-4.4.0-torn";
    kafka_4_4_0_torn_checkpoint: "kafka-4.4.0-torn-checkpoint";
    kafka_4_4_0_torn_clean: "kafka-4.4.0-torn-clean";
    kafka_legacy: "kafka-legacy";
}

fn dump_equals_the_expected_text(archive: &str) {
    let fixture = fixture::extract(archive);
    let (bytes, times) = (tree::content(&fixture.dir), tree::times(&fixture.dir));
    let found = command::dump(&fixture.dir);
    assert_eq!(
        tree::differences(&bytes, &tree::content(&fixture.dir)),
        [""; 0],
        "looking changed something"
    );
    assert_eq!(times, tree::times(&fixture.dir), "looking changed a time");

    let expected = fixture::expected(archive);
    if found == expected {
        return;
    }
    // What deviates by a rule has its own assertions in deviating.rs.
    let deviating = fixture::deviating();
    let (expected, found) = (Text::parse(&expected), Text::parse(&found));
    assert_eq!(found.head, expected.head);
    assert_eq!(found.partitions(), expected.partitions());
    let differ: Vec<String> = expected
        .logs
        .iter()
        .filter(|(partition, _)| !deviating.iter().any(|d| d.covers(archive, partition)))
        .filter_map(|(partition, lines)| difference(lines, found.log(partition)))
        .collect();
    assert!(differ.is_empty(), "{}", differ.concat());
}

/// After a recovery for real the same text is printed. What differs by the nature of the thing:
/// - the head, because the marker is there now and the checkpoints were written anew;
/// - `recovery_point`: everything was flushed when the directory was closed, so it is the log end;
/// - `file` lines of snapshots, because closing writes one at the log end and a load removes older ones;
/// - of a producer that was replayed up to five batches are remembered, and only the last one once it came from a
///   snapshot;
/// - a leader epoch that begins at the log end is an assignment without data, which a load drops (hard-cases.md
///   HC40 (d)); only a load that itself cuts the epochs at the log start shows it.
fn recover_then_dump_again(archive: &str) {
    let fixture = fixture::extract(archive);
    let before = Text::parse(&command::dump(&fixture.dir));

    // With the clock of the dump, at which no producer expires.
    let same_clock = tree::scratch();
    let copy = same_clock.path().join(archive);
    tree::copy(&fixture.dir, &copy);
    recover_at_time_zero(&copy);
    let after = Text::parse(&command::dump(&copy));
    assert_eq!(after.partitions(), before.partitions());
    let mut differ = Vec::new();
    for (partition, lines) in &before.logs {
        let expected = as_closed(lines).with_last_producer_batches();
        let found = after
            .log(partition)
            .without_snapshot_files()
            .with_last_producer_batches();
        differ.extend(difference(&expected, &found));
    }
    assert!(differ.is_empty(), "{}", differ.concat());
    ensure_clean(&after);

    // The command has the time of today: producers of long ago are forgotten, as in Kafka.
    let run = command::recover(&fixture.dir);
    assert_eq!(run.stdout, "", "recover says nothing on standard output");
    let after = Text::parse(&command::dump(&fixture.dir));
    let mut differ = Vec::new();
    for (partition, lines) in &before.logs {
        let expected = as_closed(lines).without(&["producer", "pbatch"]);
        let found = after
            .log(partition)
            .without_snapshot_files()
            .without(&["producer", "pbatch"]);
        differ.extend(difference(&expected, &found));
    }
    assert!(differ.is_empty(), "{}", differ.concat());
    ensure_clean(&after);
}

fn as_closed(lines: &LogLines) -> LogLines {
    let end = lines.field("end");
    let mut closed = lines
        .with_field("recovery_point", &end)
        .without_snapshot_files();
    closed
        .0
        .retain(|line| !(line.starts_with("epoch ") && line.ends_with(&format!(" {end}"))));
    closed
}

/// No log of any fixture fails in klog, so the directory is closed in order.
fn ensure_clean(text: &Text) {
    assert!(text.logs.iter().all(|(_, lines)| !lines.is_error()));
    assert_eq!(text.head[1], "clean yes");
}

fn recover_at_time_zero(dir: &Path) {
    let manager = Manager::open(ManagerOptions {
        dirs: vec![dir.to_path_buf()],
        missing_dir: MissingDir::Refuse,
        access: klog::manager::Access::Own,
        config: Arc::new(ConfigSet::broker().resolve().unwrap()),
        fs: Arc::new(RealFs),
        clock: Arc::new(ManualClock::new(TimestampMs(0))),
        recovery_threads: None,
        broker_epoch: -1,
        high_watermarks: klog::manager::HighWatermarks::FollowEnd,
        progress: None,
    });
    manager.unwrap().close().unwrap();
}

#[test]
fn these_are_the_shared_fixtures() {
    let shared = env::var_os("KLOG_SHARED_FIXTURES").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/fixtures"),
        PathBuf::from,
    );
    if !shared.is_dir() {
        return;
    }
    let differ = tree::differences(&tree::content(&shared), &tree::content(&fixture::folder()));
    assert_eq!(
        differ,
        [""; 0],
        "tests/fixtures (right) and {} (left)",
        shared.display()
    );
}
