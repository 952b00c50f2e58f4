//! Rows of many logs in one directory.

use std::fs;
use std::ops::RangeFrom;
use std::path::{Path, PathBuf};
use std::time::Instant;

use klog::format::builder::BatchBuilder;
use klog::log::AppendOptions;
use klog::manager::{CreateOptions, Manager};
use klog::types::TopicPartition;

use super::data::{Data, TIME};
use super::directories::{many, open, options};
use super::held::held;
use super::kafka::number;
use super::rounds::{A_SECOND, Contest, KafkaWork, Row, Work, cost};
use super::{Bench, fresh, made_for};

/// A directory for the next round. Those before stay: ext4 walks over the inodes that were freed in the last seconds with each
/// file that it makes, which would be all that is measured.
fn next_of(dir: &Path, rounds: &mut RangeFrom<u32>) -> PathBuf {
    let round = rounds.next().unwrap();
    fresh(&dir.join(round.to_string()))
}

fn create_by_klog(data: &Data, dir: PathBuf, logs: u32, is_flushed: bool) -> Work<'_> {
    let mut rounds = 0..;
    Box::new(move || {
        let manager = open(&next_of(&dir, &mut rounds));
        let mut builder = BatchBuilder::new();
        let began = Instant::now();
        for n in 0..logs.cast_signed() {
            let partition = TopicPartition::new("t", n);
            let log = manager
                .get_or_create_log(&partition, &CreateOptions::default())
                .unwrap();
            data.fill(&mut builder, 0, 1, TIME);
            log.append(&mut builder, &AppendOptions::default()).unwrap();
            if is_flushed {
                log.flush().unwrap();
            }
        }
        let seconds = began.elapsed().as_secs_f64();
        manager.abandon();
        f64::from(logs) / seconds
    })
}

fn create_by_kafka(dir: PathBuf, logs: u32, is_flushed: bool) -> KafkaWork<'static> {
    let mut rounds = 0..;
    Box::new(move |kafka| {
        let dir = next_of(&dir, &mut rounds);
        let fields = [logs.to_string(), u8::from(is_flushed).to_string()];
        let fields = [fields[0].as_str(), fields[1].as_str()];
        f64::from(logs) / kafka.seconds_with_records("create", &dir, &fields)
    })
}

fn open_by_klog(dir: PathBuf, logs: u32) -> Work<'static> {
    Box::new(move || {
        let options = options(&dir);
        let began = Instant::now();
        let manager = Manager::open(options).unwrap();
        let seconds = began.elapsed().as_secs_f64();
        assert_eq!(manager.logs().len(), logs as usize);
        manager.close().unwrap();
        f64::from(logs) / seconds
    })
}

fn open_by_kafka(dir: PathBuf, logs: u32) -> KafkaWork<'static> {
    Box::new(move |kafka| f64::from(logs) / kafka.seconds("load", &dir, &["2"]))
}

fn close_by_klog(dir: PathBuf, logs: u32) -> Work<'static> {
    Box::new(move || {
        let manager = open(&dir);
        assert_eq!(manager.logs().len(), logs as usize);
        let began = Instant::now();
        manager.close().unwrap();
        f64::from(logs) / began.elapsed().as_secs_f64()
    })
}

fn close_by_kafka(dir: PathBuf, logs: u32) -> KafkaWork<'static> {
    Box::new(move |kafka| f64::from(logs) / kafka.seconds("close", &dir, &[]))
}

const OPEN: &str = "open many logs after a clean stop";
const CLOSE: &str = "close many logs";

pub(crate) fn rows(bench: &mut Bench) {
    let data = Data::new();
    let logs = bench.size.partitions;
    let made = |name: &str| bench.path("made").join(name);
    let (by_klog, by_kafka) = (made("klog"), made("kafka"));
    let (each_by_klog, each_by_kafka) = (made("each-klog"), made("each-kafka"));
    bench.run_slow(Contest {
        name: "create many logs",
        includes: "without topic id, each with a batch of one record; 1,000 of them, 5,000 in the long run; klog leaves names and leader epochs to the first flush, Kafka syncs the epochs",
        unit: A_SECOND,
        klog: create_by_klog(&data, by_klog, logs, false),
        kafka: Some((create_by_kafka(by_kafka, logs, false), Some(4.0))),
        other: None,
        limit: None,
    });
    let few = (logs / 10).max(1);
    bench.run_slow(Contest {
        name: "create logs, and flush each",
        includes: "as above, a tenth as many, each on the disk before the next: records, epochs and, of klog, names",
        unit: A_SECOND,
        klog: create_by_klog(&data, each_by_klog, few, true),
        kafka: Some((create_by_kafka(each_by_kafka, few, true), None)),
        other: None,
        limit: None,
    });
    // The inodes of what the rows above made go before anything else is made.
    let _ = fs::remove_dir_all(bench.path("made"));
    let (klog, kafka) = (bench.path("many-klog"), bench.path("many-kafka"));
    let is_wanted = [OPEN, CLOSE, IDLE[0].0]
        .iter()
        .any(|name| bench.wants(name));
    if !is_wanted {
        return;
    }
    made_for([&klog, &kafka], |dir| many(dir, logs.cast_signed()));
    bench.run(Contest {
        name: OPEN,
        includes: "2 threads, the default; the same number",
        unit: A_SECOND,
        klog: open_by_klog(klog.clone(), logs),
        kafka: Some((open_by_kafka(kafka.clone(), logs), Some(10.0))),
        other: None,
        limit: None,
    });
    bench.run_slow(Contest {
        name: CLOSE,
        includes: "directory as above, loaded and untouched: all that is to be durable made so, and the marker of a clean stop",
        unit: A_SECOND,
        klog: close_by_klog(klog.clone(), logs),
        kafka: Some((close_by_kafka(kafka.clone(), logs), None)),
        other: None,
        limit: None,
    });
    if bench.wants(IDLE[0].0) {
        idle(bench, &klog, &kafka);
    }
}

/// What a partition costs that nobody uses, and how much of each klog may take.
const IDLE: [(&str, &str, f64); 3] = [
    ("idle partition, memory", "KB of heap", 4096.0),
    ("idle partition, descriptors", "descriptors", 0.0),
    ("idle partition, mappings", "mappings", 0.0),
];

fn idle(bench: &mut Bench, klog: &Path, kafka: &Path) {
    let logs = f64::from(bench.size.partitions);
    let asked = bench.kafka.as_mut();
    let answer = asked.map(|asked| asked.ask(&["idle", kafka.to_str().unwrap()]));
    let before = held();
    let manager = open(klog);
    let after = held();
    assert_eq!(manager.logs().len(), bench.size.partitions as usize);
    let keys = ["heap", "descriptors", "mappings"];
    for (n, (name, unit, most)) in IDLE.into_iter().enumerate() {
        let each = (after[n] - before[n]) / logs;
        let by_kafka = answer.as_ref().map(|answer| number(answer, keys[n]) / logs);
        let floor = by_kafka.map(|each| if most > 0.0 { each / most } else { 20.0 });
        bench.add(Row::new(
            (
                name,
                "directory as above, loaded and untouched; klog may take 4 KB, and no descriptor or mapping each",
                cost(unit, if n == 0 { 1024.0 } else { 1.0 }),
            ),
            vec![each],
            by_kafka.map(|each| (vec![each], floor)),
            None,
        ));
    }
    manager.close().unwrap();
}
