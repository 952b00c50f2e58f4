//! Kafka loads what `klog repair` leaves of damaged directories as its own, without a remark.

use std::fs;

use std::path::{Path, PathBuf};

use crate::kafka::{ensure_kafka_takes_it_as_it_is, referee};
use crate::support::canonical::Text;
use crate::support::command::{self, klog};
use crate::support::fixture;
use crate::support::tree;

/// Repairs a directory; where what was cut is.
fn repair(dir: &Path) -> PathBuf {
    let kept = dir.with_extension("kept");
    let done = klog([
        "repair".as_ref(),
        "--apply".as_ref(),
        "--quarantine".as_ref(),
        kept.as_os_str(),
        dir.as_os_str(),
    ]);
    assert!(done.stdout.contains("quarantine "), "{}", done.stderr);
    kept
}

#[test]
fn kafka_loads_what_a_repair_leaves_of_the_torn_directories() {
    for archive in ["kafka-4.4.0-torn", "kafka-4.4.0-torn-clean"] {
        let fixture = fixture::extract(archive);
        // Kafka does not leave a log alone that starts at its end (state.md 6.6), nor one without a topic id.
        for partition in tree::partitions(&fixture.dir) {
            if ["start-", "metadata-"]
                .iter()
                .any(|name| partition.contains(name))
            {
                fs::remove_dir_all(fixture.dir.join(partition)).unwrap();
            }
        }
        let kept = repair(&fixture.dir);
        assert!(tree::content(&kept).len() > 50);
        let report = ensure_kafka_takes_it_as_it_is(&fixture.dir);
        assert!(report.logs.len() > 100, "{archive}: {}", report.logs.len());
    }
}

/// Kafka changes these when it loads them: logs that start at their end or behind it, and logs without a topic id. It has the
/// same logs afterwards, and nothing to complain of.
#[test]
fn kafka_loads_what_a_repair_leaves_of_logs_that_it_does_not_leave_alone() {
    for archive in ["kafka-4.4.0-torn", "kafka-4.4.0-torn-clean"] {
        let fixture = fixture::extract(archive);
        repair(&fixture.dir);
        let logs = Text::parse(&command::dump(&fixture.dir)).logs;
        let expected: Vec<String> = logs
            .iter()
            .map(|(name, log)| {
                format!(
                    "{name} start={} end={}",
                    log.field("start"),
                    log.field("end")
                )
            })
            .collect();
        let report = referee()
            .manager(&fixture.dir)
            .unwrap_or_else(|error| panic!("Kafka does not start: {error}"));
        let remarks: Vec<&String> = report
            .remarks
            .iter()
            .filter(|line| !line.starts_with("warn "))
            .collect();
        assert!(remarks.is_empty(), "{archive}: {remarks:#?}");
        assert_eq!(report.logs, expected, "{archive}");
        let odd = |line: &&String| {
            ["start-", "metadata-"]
                .iter()
                .any(|name| line.contains(name))
        };
        assert!(
            report.logs.iter().filter(odd).count() > 4,
            "{archive}: {:?}",
            report.logs
        );
        // What is still damaged for klog are records that are gone.
        let run = klog(["verify", "--json", fixture.dir.to_str().unwrap()]);
        let verdict: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
        for flaw in verdict["flaws"].as_array().unwrap() {
            let is_damage = flaw["severity"] == "damage";
            let what = flaw["what"].as_str().unwrap();
            assert!(
                !is_damage || what.contains("are missing"),
                "{archive}: {flaw}"
            );
        }
    }
}
