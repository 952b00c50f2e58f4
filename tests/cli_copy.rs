//! `klog copy`: a copy is a prefix of its log that opens as one that was closed in order, also beside a live owner; and the
//! open transactions that `klog transactions` tells of.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a failure fails the test"
)]

mod support;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use klog::manager::CleanOptions;
use support::canonical::Text;
use support::command::klog;
use support::engine::{Home, append, rec, t0};
use support::{command, fixture, tree};

fn copy(from: &Path, to: &Path) -> String {
    let run = klog(["copy".as_ref(), from.as_os_str(), to.as_os_str()]);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    run.stdout
}

fn cat(dir: &Path, partition: &str) -> Vec<String> {
    let run = klog(["cat", dir.to_str().unwrap(), partition]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    run.stdout.lines().map(str::to_owned).collect()
}

fn sum(said: &str, field: &str) -> u64 {
    said.lines()
        .map(|line| {
            let rest = line.split(&format!(" {field}=")).nth(1).unwrap();
            rest.split(' ').next().unwrap().parse::<u64>().unwrap()
        })
        .sum()
}

#[test]
fn a_copy_of_a_brokers_directory_has_its_logs_and_a_second_one_moves_nothing() {
    for name in [
        "kafka-4.4.0-broker",
        "kafka-4.4.0-mixed",
        "kafka-legacy",
        "kafka-4.4.0-crash",
    ] {
        let fixture = fixture::extract(name);
        let before = tree::content(&fixture.dir);
        let to = fixture.dir.with_extension("copy");
        let said = copy(&fixture.dir, &to);
        assert!(
            tree::content(&fixture.dir) == before,
            "{name} was written to"
        );
        assert!(sum(&said, "new_bytes") > 100_000, "{said}");
        let verified = klog(["verify", to.to_str().unwrap()]);
        assert_eq!(verified.code, 0, "{name}: {}", verified.stdout);
        let (own, other) = (command::dump(&fixture.dir), command::dump(&to));
        let (own, other) = (Text::parse(&own), Text::parse(&other));
        assert_eq!(own.logs.len(), other.logs.len());
        for (partition, lines) in &own.logs {
            let copied = other.log(partition);
            for field in ["start", "end", "segments", "topic_id"] {
                assert_eq!(
                    lines.field(field),
                    copied.field(field),
                    "{name} {partition}"
                );
            }
            assert_eq!(
                cat(&fixture.dir, partition),
                cat(&to, partition),
                "{name} {partition}"
            );
        }
        let again = copy(&fixture.dir, &to);
        assert_eq!(sum(&again, "new_bytes"), 0, "{again}");
        assert_eq!(sum(&again, "new_segments"), 0, "{again}");
    }
}

#[test]
fn only_what_is_new_travels_and_what_was_replaced() {
    let home = Home::new()
        .set("internal.segment.bytes", 16_384)
        .set("cleanup.policy", "compact");
    let manager = home.open();
    let log = t0(&manager);
    let to = home.dir.with_extension("copy");
    for i in 0..300 {
        append(
            &log,
            &[rec(
                support::engine::NOW,
                &format!("k{}", i % 7),
                &"v".repeat(100),
            )],
        );
    }
    let first = copy(&home.dir, &to);
    assert!(sum(&first, "segments") > 1, "{first}");
    append(&log, &[rec(support::engine::NOW, "k", "v")]);
    let second = copy(&home.dir, &to);
    assert_eq!(sum(&second, "new_segments"), 1, "{second}");
    assert!(sum(&second, "new_bytes") < 100, "{second}");
    manager
        .clean(&log, &CleanOptions::default())
        .unwrap()
        .unwrap();
    let third = copy(&home.dir, &to);
    assert_eq!(cat(&to, "t-0"), cat(&home.dir, "t-0"), "{third}");
    // What is there and is another log's is no prefix: it goes.
    let file = to.join("t-0/00000000000000000000.log");
    let mut bytes = fs::read(&file).unwrap();
    bytes.truncate(bytes.len() / 2);
    fs::write(&file, bytes).unwrap();
    copy(&home.dir, &to);
    assert_eq!(cat(&to, "t-0"), cat(&home.dir, "t-0"));
    manager.close().unwrap();
}

struct StopsWhenDropped(Arc<AtomicBool>);

impl Drop for StopsWhenDropped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[test]
fn a_copy_beside_an_owner_who_appends_rolls_and_cleans_opens_clean_and_holds_a_prefix() {
    let home = Home::new()
        .set("internal.segment.bytes", 20_000)
        .set("cleanup.policy", "compact")
        .set("file.delete.delay.ms", 0);
    let manager = home.open();
    let log = t0(&manager);
    // Then a checkpoint tells that it is compacted.
    for i in 0..200 {
        append(
            &log,
            &[rec(
                support::engine::NOW,
                &format!("k{}", i % 50),
                &format!("{i} {}", "v".repeat(200)),
            )],
        );
    }
    manager
        .clean(&log, &CleanOptions::default())
        .unwrap()
        .unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let to = home.dir.with_extension("copy");
    std::thread::scope(|scope| {
        // Also if an assertion fails: the scope waits for its threads.
        let _stops = StopsWhenDropped(Arc::clone(&stop));
        scope.spawn(|| {
            let mut i = 200_u64;
            while !stop.load(Ordering::SeqCst) && i < 100_000 {
                let key = format!("k{}", i % 50);
                append(
                    &log,
                    &[rec(
                        support::engine::NOW,
                        &key,
                        &format!("{i} {}", "v".repeat(200)),
                    )],
                );
                i += 1;
                if i.is_multiple_of(400) {
                    let _ = manager.clean(&log, &CleanOptions::default()).unwrap();
                    log.remove_retired_by(klog::types::TimestampMs(i64::MAX))
                        .unwrap();
                }
            }
        });
        let mut ends = Vec::new();
        for _ in 0..6 {
            let before = log.end_offset().0;
            let said = copy(&home.dir, &to);
            let end = i64::try_from(sum(&said, "end")).unwrap();
            assert!(end >= before, "{said}: {before} were there");
            ends.push(end);
            let verified = klog(["verify", to.to_str().unwrap()]);
            assert_eq!(verified.code, 0, "{}", verified.stdout);
            // Each record is the one that was appended at that offset, and each key has its last one below the end.
            let mut last = std::collections::BTreeMap::new();
            for line in cat(&to, "t-0") {
                let fields: Vec<&str> = line.split('\t').collect();
                let offset: i64 = fields[0].parse().unwrap();
                assert_eq!(fields[2], format!("k{}", offset % 50));
                assert!(fields[3].starts_with(&format!("{offset} ")), "{line}");
                last.insert(fields[2].to_owned(), offset);
            }
            if end > 50 {
                assert_eq!(last.len(), 50);
                assert!(
                    last.values().all(|offset| *offset >= end - 50),
                    "{last:?} {end}"
                );
            }
        }
        assert!(ends.is_sorted(), "{ends:?}");
    });
    manager.close().unwrap();
}

#[test]
fn a_copy_refuses_to_go_where_it_would_do_harm() {
    let home = Home::new();
    let manager = home.open();
    append(&t0(&manager), &[rec(support::engine::NOW, "k", "v")]);
    let dir = home.dir.to_str().unwrap();
    let onto = klog(["copy", dir, dir]);
    assert_eq!(onto.code, 1);
    assert!(onto.stderr.contains("onto itself"), "{}", onto.stderr);
    let busy = Home::new();
    let owner = busy.open();
    let refused = klog(["copy", dir, busy.dir.to_str().unwrap()]);
    assert!(refused.stderr.contains("DIR_LOCKED"), "{}", refused.stderr);
    let missing = klog([
        "copy",
        dir,
        busy.dir.with_extension("new").to_str().unwrap(),
        "u-0",
    ]);
    assert!(missing.stderr.contains("u-0"), "{}", missing.stderr);
    owner.close().unwrap();
    manager.close().unwrap();
}

#[test]
fn transactions_of_all_logs_and_those_that_hang() {
    let fixture = fixture::extract("kafka-4.4.0-broker");
    let dir = fixture.dir.to_str().unwrap();
    let all = klog(["transactions", dir, "--now-ms=1800000000000"]);
    assert_eq!(all.code, 0, "{}", all.stderr);
    let open: Vec<&str> = all
        .stdout
        .lines()
        .filter(|line| line.contains(" open producer="))
        .collect();
    assert_eq!(open.len(), 2, "{}", all.stdout);
    assert!(open.iter().all(|line| line.starts_with("payments-0 open ")));
    let logs = all
        .stdout
        .lines()
        .filter(|line| line.contains(" lso "))
        .count();
    assert_eq!(logs, klog(["ls", dir]).stdout.lines().count());
    let ages: Vec<i64> = open
        .iter()
        .map(|line| line.rsplit('=').next().unwrap().parse().unwrap())
        .collect();
    let hanging = |more: &[&str]| {
        let args = [
            &["transactions", dir, "--hanging", "--now-ms=1800000000000"],
            more,
        ]
        .concat();
        let run = klog(args);
        assert_eq!(run.code, 0, "{}", run.stderr);
        run.stdout.lines().count()
    };
    assert_eq!(hanging(&[]), 2);
    let oldest = ages.iter().max().unwrap();
    assert_eq!(
        hanging(&["--older-than", &format!("{oldest}ms")]),
        ages.iter().filter(|age| *age == oldest).count()
    );
    assert_eq!(hanging(&["--older-than", &format!("{}ms", oldest + 1)]), 0);
    let one = klog([
        "transactions",
        dir,
        "payments-0",
        "--hanging",
        "--older-than=1d",
        "--now-ms=1800000000000",
    ]);
    assert!(one.stdout.starts_with("open producer="), "{}", one.stdout);
    assert_eq!(klog(["transactions", dir, "--older-than=1d"]).code, 2);
}
