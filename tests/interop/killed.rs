//! klog killed in the middle of appends: Kafka and klog recover the same, and nothing is lost that was appended.

use std::collections::BTreeMap;
use std::path::Path;

use crate::kafka::ensure_same_dump;
use crate::support::canonical::Text;
use crate::support::child::{self, Worker};
use crate::support::engine::{Home, builder, log};
use crate::support::random::{Random, any_records};
use crate::support::tree;
use klog::format::codec::Codec;
use klog::log::{AppendOptions, WriteDurability};

const KILLS: usize = 12;
const TEST: &str = "killed::after_each_kill_kafka_and_klog_have_the_same_and_nothing_is_lost";
const SEED: &str = "KLOG_TEST_CHILD_SEED";
const LOGS: [&str; 4] = ["a-0", "a-1", "b-0", "stamped-0"];

fn home_at(dir: &Path) -> Home {
    Home::at(dir)
        .set_for("a", "internal.segment.bytes", 2500)
        .set_for("a", "index.interval.bytes", 150)
        .set_for("b", "segment.index.bytes", 48)
        .set_for("b", "index.interval.bytes", 0)
        .set_for("stamped", "message.timestamp.type", "LogAppendTime")
}

/// The child: appends until it is killed. It says the end of a log after each append.
fn append_until_killed(dir: &Path) {
    let mut random = Random::new(std::env::var(SEED).unwrap().parse().unwrap());
    let manager = home_at(dir).open();
    let logs = LOGS.map(|name| log(&manager, name));
    for log in &logs {
        child::say(&format!("{} {}", log.partition(), log.end_offset()));
    }
    loop {
        let log = random.pick(&logs);
        if random.once_in(60) {
            log.roll().unwrap();
        } else if random.once_in(200) {
            manager.checkpoint().unwrap();
        }
        let durability = if random.once_in(20) {
            WriteDurability::Synced
        } else {
            WriteDurability::PageCache
        };
        let codec = Codec::from_id(random.below(5) as u8);
        let options = AppendOptions {
            codec,
            durability,
            ..AppendOptions::default()
        };
        let mut records = any_records(&mut random);
        if random.once_in(50) {
            // Long enough that a kill finds it half written now and then.
            records[0].value = Some(random.bytes(1000));
        }
        log.append(&mut builder(&records), &options).unwrap();
        child::say(&format!("{} {}", log.partition(), log.end_offset()));
    }
}

/// The last end that the child said of each log.
fn ends(lines: impl IntoIterator<Item = String>) -> BTreeMap<String, i64> {
    let pairs = lines.into_iter().map(|line| {
        let (name, end) = line.split_once(' ').unwrap();
        (name.to_owned(), end.parse().unwrap())
    });
    pairs.collect()
}

fn content(text: &Text) -> BTreeMap<String, Vec<String>> {
    let lines = |log: &crate::support::canonical::LogLines| {
        log.segments()
            .into_iter()
            .flat_map(|s| s.content)
            .collect::<Vec<_>>()
    };
    text.logs
        .iter()
        .map(|(name, log)| (name.clone(), lines(log)))
        .collect()
}

#[test]
fn after_each_kill_kafka_and_klog_have_the_same_and_nothing_is_lost() {
    if let Some(dir) = child::work_dir() {
        return append_until_killed(&dir);
    }
    let mut random =
        Random::from_env("after_each_kill_kafka_and_klog_have_the_same_and_nothing_is_lost");
    let root = tree::scratch();
    let mut before: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for kill in 0..KILLS {
        let seed = random.u64().to_string();
        let mut child = Worker::start(TEST, root.path(), &[(SEED, seed)]);
        // At some moment between two appends, or in one: the child does not wait for this.
        let mut heard: Vec<String> = (0..=random.below(400)).map(|_| child.next_line()).collect();
        heard.extend(child.kill());
        let acknowledged = ends(heard);

        let text = ensure_same_dump(root.path());
        assert_eq!(text.head[1], "clean no", "kill {kill}");
        for (name, end) in &acknowledged {
            let found = text.log(name).number("end");
            assert!(
                found >= *end,
                "kill {kill}: {name} ends at {found}, appended was up to {end}"
            );
        }
        // What an earlier life left reads the same.
        let now = content(&text);
        for (name, lines) in &before {
            assert!(
                now[name].starts_with(lines),
                "kill {kill}: {name} reads differently"
            );
        }
        before = now;
    }
    assert!(
        before.values().all(|lines| lines.len() > 50),
        "hardly anything was appended"
    );
    // At the end klog recovers for real, and Kafka takes that as it is.
    let manager = home_at(root.path()).open();
    manager.close().unwrap();
    crate::kafka::ensure_kafka_takes_it_as_it_is(root.path());
    let after = content(&ensure_same_dump(root.path()));
    assert_eq!(after, before);
}
