//! A log that klog wrote in a directory of its own is handed to a broker, which serves it.

use std::ffi::OsStr;
use std::path::Path;

use klog::log::AppendOptions;
use klog::types::{LeaderEpoch, Offset};

use crate::broker::{Known, append, home_at, place, transact};
use crate::kafka::ensure_same_dump;
use crate::support::broker::{Broker, Seen, Wants};
use crate::support::command::{Run, klog};
use crate::support::engine::{Home, batch, log, rec};
use crate::support::tree;

fn adopt(source: &Path, broker: &Path, partition: &str) -> Run {
    let (source, broker) = (source.as_os_str(), broker.as_os_str());
    klog([OsStr::new("adopt"), source, broker, OsStr::new(partition)])
}

/// A log with all that a log can have: segments, codecs, transactions, a start above 0, later leader epochs than a young
/// broker's, and producers with the ids that a young broker gives out.
fn written_by_klog(home: &Home) -> Known {
    let mut known = Known::default();
    let manager = home.open();
    let log = log(&manager, "orders-0");
    for epoch in [0, 3, 9] {
        log.assign_epoch(LeaderEpoch(epoch), log.end_offset())
            .unwrap();
        known.add(append(&log, 30));
        log.roll().unwrap();
    }
    known.add(transact(&log, 3000, true, 5));
    known.add_aborted(transact(&log, 3001, false, 5));
    for id in 0..20 {
        known.add(idempotent(&log, id));
    }
    assert_eq!(log.delete_records(Offset(40)).unwrap(), Offset(40));
    known.forget_below(40);
    manager.close().unwrap();
    known
}

/// The first batch of a producer: three records with the sequences 0 to 2.
fn idempotent(log: &klog::log::Log, id: i64) -> Vec<Seen> {
    let first = log.end_offset().0;
    let seen: Vec<Seen> = (first..first + 3)
        .map(|offset| Seen {
            offset,
            key: "same".to_owned(),
            value: format!("of producer {id}"),
        })
        .collect();
    let records: Vec<_> = seen
        .iter()
        .map(|r| rec(log.now().0, &r.key, &r.value))
        .collect();
    let options = klog::format::builder::BatchOptions {
        producer_id: klog::types::ProducerId(id),
        producer_epoch: 0,
        base_sequence: 0,
        ..Default::default()
    };
    log.append_batches(&batch(&records, &options), &AppendOptions::default())
        .unwrap();
    seen
}

#[test]
fn a_broker_serves_a_log_that_klog_wrote_elsewhere() {
    let (_root, dir) = place();
    let source = tree::scratch();
    let home = home_at(source.path());
    let mut known = written_by_klog(&home);
    let before = tree::content(source.path());
    let mut broker = Broker::start(&dir);
    broker.create("orders", 2, &[("internal.segment.bytes", "3000")]);

    // A broker that runs keeps its directory.
    let run = adopt(source.path(), &dir, "orders-0");
    assert_eq!((run.code, run.stdout.as_str()), (1, ""), "{}", run.stderr);
    assert!(run.stderr.contains("another process"), "{}", run.stderr);
    broker.stop();

    let run = adopt(source.path(), &dir, "orders-0");
    let end = known.wanted(Wants::Everything).last().unwrap().offset + 1;
    let expected = format!("adopted orders-0 start=40 end={end}\n");
    assert_eq!((run.code, run.stdout), (0, expected), "{}", run.stderr);
    assert_eq!(
        tree::differences(&before, &tree::content(source.path())),
        [""; 0]
    );

    let mut broker = Broker::start(&dir);
    assert_eq!(broker.remarks_at_start(), [""; 0]);
    known.ensure_consumed(&mut broker, "orders-0");
    // The broker's first producers have ids that klog's had: their batches are no repetitions of those.
    for count in [3, 3, 3, 3] {
        known.add(broker.produce("orders-0", "none", "idempotent", 0, count));
    }
    known.add(broker.transact("orders-0", "till", "commit", 0, 3));
    known.ensure_consumed(&mut broker, "orders-0");
    broker.kill();

    // After a crash the broker recovers the adopted log as any other.
    let mut broker = Broker::start(&dir);
    let remarks = broker.remarks_at_start();
    assert!(
        !remarks.iter().any(|line| !line.starts_with("recovered ")),
        "{remarks:#?}"
    );
    known.add(broker.produce("orders-0", "zstd", "idempotent", 0, 3));
    known.ensure_consumed(&mut broker, "orders-0");
    broker.stop();
    ensure_same_dump(&dir);
}
