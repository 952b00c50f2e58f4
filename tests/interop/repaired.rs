//! Kafka loads what `klog repair` leaves of damaged directories as its own, without a remark.

use std::fs;

use crate::kafka::ensure_kafka_takes_it_as_it_is;
use crate::support::command::klog;
use crate::support::fixture;
use crate::support::tree;

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
        let kept = fixture.dir.with_extension("kept");
        let done = klog([
            "repair".as_ref(),
            "--apply".as_ref(),
            "--quarantine".as_ref(),
            kept.as_os_str(),
            fixture.dir.as_os_str(),
        ]);
        assert!(
            done.stdout.contains("quarantine "),
            "{archive}: {}",
            done.stderr
        );
        assert!(tree::content(&kept).len() > 50);
        let report = ensure_kafka_takes_it_as_it_is(&fixture.dir);
        assert!(report.logs.len() > 100, "{archive}: {}", report.logs.len());
    }
}
