//! The referee as the tests use it.

use std::path::Path;

use parking_lot::{MappedMutexGuard, Mutex, MutexGuard};

use crate::support::canonical::{Text, difference};
use crate::support::command;
use crate::support::referee::{ManagerReport, Referee};
use crate::support::tree::{self, Content};

static REFEREE: Mutex<Option<Referee>> = Mutex::new(None);

/// The one referee of this test binary, started when first asked for. Hold it no longer than a request.
pub(crate) fn referee() -> MappedMutexGuard<'static, Referee> {
    MutexGuard::map(REFEREE.lock(), |referee| referee.get_or_insert_with(Referee::start))
}

/// Kafka's text of a directory must be klog's. The text.
pub(crate) fn ensure_same_dump(dir: &Path) -> Text {
    let kafka = referee().dump(dir);
    let klog = command::dump(dir);
    let (kafka_text, klog_text) = (Text::parse(&kafka), Text::parse(&klog));
    assert_eq!(klog_text.head, kafka_text.head);
    assert_eq!(klog_text.partitions(), kafka_text.partitions());
    let differ: Vec<String> = kafka_text
        .logs
        .iter()
        .filter_map(|(partition, lines)| difference(lines, klog_text.log(partition)))
        .collect();
    assert!(differ.is_empty(), "expected is Kafka's, found is klog's\n{}", differ.concat());
    assert_eq!(klog, kafka);
    klog_text
}

/// The partitions of a directory with all their files, and nothing beside them. What waits for its removal does not count.
pub(crate) fn partition_files(dir: &Path) -> Content {
    let counts = |path: &Path| path.components().count() > 1 && path.extension() != Some("deleted".as_ref());
    tree::content(dir).into_iter().filter(|(path, _)| counts(path)).collect()
}

/// Kafka opens and closes a directory that klog closed in order: it has nothing to remark, finds the logs that klog has,
/// and leaves every file of a partition as it was.
pub(crate) fn ensure_kafka_takes_it_as_it_is(dir: &Path) -> ManagerReport {
    let expected: Vec<String> = Text::parse(&command::dump(dir))
        .logs
        .iter()
        .map(|(partition, log)| format!("{partition} start={} end={}", log.field("start"), log.field("end")))
        .collect();
    let before = partition_files(dir);
    let report = referee().manager(dir).unwrap_or_else(|error| panic!("Kafka does not start: {error}"));
    assert_eq!(report.remarks, [""; 0]);
    assert_eq!(report.logs, expected);
    assert!(report.clean);
    assert_eq!(
        tree::differences(&before, &partition_files(dir)),
        [""; 0],
        "before (left) and after Kafka (right)"
    );
    report
}
