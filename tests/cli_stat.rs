//! `klog stat`: its counts are those of the records, its reasons those that hold a log back.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::cast_precision_loss,
    reason = "a failure fails the test"
)]

mod support;

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;
use support::command::klog;
use support::engine::{Home, NOW, append, rec, t0};
use support::{fixture, tree};

fn stat(dir: &Path, more: &[&str]) -> Value {
    let run = klog([&["stat", "--json", dir.to_str().unwrap()], more].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    serde_json::from_str(&run.stdout).unwrap()
}

#[test]
fn the_counts_are_those_of_the_records() {
    let fixture = fixture::extract("kafka-4.4.0-broker");
    let before = tree::content(&fixture.dir);
    let all = stat(&fixture.dir, &[]);
    let mut codecs = BTreeSet::new();
    let mut tombstones = 0;
    for log in all["logs"].as_array().unwrap() {
        let partition = log["log"].as_str().unwrap();
        let (mut keys, mut own_tombstones, mut null_keys) = (BTreeSet::new(), 0, 0);
        // From the first record that is stored, which may lie below the start.
        let text = klog([
            "cat",
            fixture.dir.to_str().unwrap(),
            partition,
            "--format=json",
        ])
        .stdout;
        for line in text.lines() {
            let record: Value = serde_json::from_str(line).unwrap();
            let key = if record.get("key_base64").is_some() {
                &record["key_base64"]
            } else {
                &record["key"]
            };
            let has_value = !record["value"].is_null() || record.get("value_base64").is_some();
            if key.is_null() {
                null_keys += 1;
            } else {
                keys.insert(key.to_string());
                own_tombstones += i64::from(!has_value);
            }
        }
        codecs.extend(log["codecs"].as_object().unwrap().keys().cloned());
        tombstones += own_tombstones;
        if partition.starts_with("trimmed") {
            continue;
        }
        assert_eq!(log["tombstones"], own_tombstones, "{partition}");
        assert_eq!(log["null_keys"], null_keys, "{partition}");
        let off = (log["keys"].as_f64().unwrap() - keys.len() as f64).abs();
        assert!(
            off <= 1.0 + 0.03 * keys.len() as f64,
            "{partition}: {off} of {}",
            keys.len()
        );
        for parts in ["codecs", "days"] {
            let sum = |field: &str| -> u64 {
                let parts = log[parts].as_object().unwrap().values();
                parts.map(|part| part[field].as_u64().unwrap()).sum()
            };
            for field in ["batches", "records", "bytes", "payload_bytes"] {
                assert_eq!(
                    sum(field),
                    log["total"][field].as_u64().unwrap(),
                    "{partition}"
                );
            }
        }
    }
    assert_eq!(codecs.len(), 5, "{codecs:?}");
    assert!(tombstones > 10);
    assert!(
        tree::content(&fixture.dir) == before,
        "looking wrote something"
    );
}

#[test]
fn what_holds_a_log_back_is_named_with_its_key_and_offset() {
    let home = Home::new()
        .set("internal.segment.bytes", 4096)
        .set("cleanup.policy", "compact");
    let manager = home.open();
    let log = t0(&manager);
    for i in 0..100 {
        append(&log, &[rec(NOW, &format!("k{}", i % 5), &"v".repeat(100))]);
    }
    manager.close().unwrap();
    let now = format!("--now-ms={}", NOW + 1000);
    let of = |config: &[&str]| -> Value {
        let mut args = vec!["t-0", now.as_str()];
        for pair in config {
            args.extend(["--config", pair]);
        }
        stat(&home.dir, &args)["logs"][0].clone()
    };
    let plain = of(&[]);
    assert_eq!(plain["has_config"], false);
    assert!(
        plain["clean"]["why"]
            .as_str()
            .unwrap()
            .contains("cleanup.policy has no compact")
    );
    let why = plain["retain"]["why"].as_str().unwrap();
    assert!(
        why.contains("retention.ms=604800000 takes the oldest segment, at 0, in 604799000 ms"),
        "{why}"
    );
    let dirty = of(&["cleanup.policy=compact"]);
    assert!(
        dirty["clean"]["saves_bytes"].as_u64().unwrap() > 5000,
        "{dirty}"
    );
    assert!(
        dirty["clean"]["why"]
            .as_str()
            .unwrap()
            .starts_with("would be cleaned from 0 to ")
    );
    assert!(
        dirty["retain"]["why"]
            .as_str()
            .unwrap()
            .contains("cleanup.policy has no delete")
    );
    let lag = of(&["cleanup.policy=compact", "min.compaction.lag.ms=5000"]);
    let why = lag["clean"]["why"].as_str().unwrap();
    assert!(
        why.contains("min.compaction.lag.ms=5000 holds it back at 0"),
        "{why}"
    );
    let large = of(&[
        "cleanup.policy=compact",
        "internal.segment.bytes=1000000",
        "min.cleanable.dirty.ratio=1",
    ]);
    let why = large["clean"]["why"].as_str().unwrap();
    assert!(
        why.contains("min.cleanable.dirty.ratio=1 holds it back"),
        "{why}"
    );
    let small = of(&["retention.bytes=5000"]);
    assert!(
        small["retain"]["segments"].as_u64().unwrap() >= 1,
        "{small}"
    );
    let keeps = of(&["retention.ms=-1"]);
    let why = keeps["retain"]["why"].as_str().unwrap();
    assert!(
        why.contains("retention.ms=-1") && why.contains("retention.bytes=-1"),
        "{why}"
    );
}
