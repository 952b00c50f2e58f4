//! klog follows the directory of a live broker: while clients produce, and the broker rolls, cleans and deletes, it sees what a
//! consumer sees, and never anything else.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use klog::error::ErrorKind;
use klog::log::{Cursor, CursorOptions, Isolation, Log};
use klog::manager::Manager;
use klog::types::{Offset, TopicPartition};

use crate::broker::{home_at, place};
use crate::support::broker::{Broker, Seen, Wants};

/// How many acknowledged records of each topic are waited for.
const RECORDS: u32 = 900;
/// How long the broker may take to be done with what is left.
const PATIENCE: Duration = Duration::from_secs(30);
const SMALL: (&str, &str) = ("internal.segment.bytes", "6000");
const AT_ONCE: (&str, &str) = ("file.delete.delay.ms", "100");

/// A reader that goes on and on through a log, and what it has seen.
struct Reader {
    log: Arc<Log>,
    wants: Wants,
    cursor: Cursor,
    next: i64,
    seen: BTreeMap<i64, Seen>,
    /// How often its place was gone when it came back.
    leaps: usize,
}

fn cursor(log: &Arc<Log>, from: i64, wants: Wants) -> Cursor {
    let options = CursorOptions {
        isolation: match wants {
            Wants::Everything => Isolation::HighWatermark,
            Wants::Committed => Isolation::TxnCommitted,
        },
        ..CursorOptions::default()
    };
    log.cursor(Offset(from), options)
}

impl Reader {
    fn new(manager: &Manager, topic: &str, wants: Wants) -> Self {
        let log = manager.log(&TopicPartition::new(topic, 0)).unwrap();
        Self {
            cursor: cursor(&log, 0, wants),
            log,
            wants,
            next: 0,
            seen: BTreeMap::new(),
            leaps: 0,
        }
    }

    /// Takes what there is now.
    fn read_on(&mut self) {
        loop {
            let records = match self.cursor.next_records(500) {
                Ok(records) => records,
                // Retention was faster.
                Err(e) if e.kind() == ErrorKind::OffsetOutOfRange => {
                    let start = self.log.start_offset().0;
                    assert!(start > self.next, "{e}: of {start}");
                    self.next = start;
                    self.leaps += 1;
                    self.cursor.seek(Offset(start));
                    continue;
                }
                Err(e) => panic!("{}: {e}", self.log.partition()),
            };
            if records.is_empty() {
                return;
            }
            for record in records.iter() {
                let seen = seen_of(&record);
                assert!(seen.offset >= self.next, "{} came twice", seen.offset);
                self.next = seen.offset + 1;
                self.seen.insert(seen.offset, seen);
            }
        }
    }

    /// All that the log has now, as a reader who comes now sees it.
    fn all_now(&self) -> Vec<Seen> {
        let mut cursor = cursor(&self.log, self.log.start_offset().0, self.wants);
        let mut all = Vec::new();
        loop {
            let records = cursor.next_records(500).unwrap();
            if records.is_empty() {
                return all;
            }
            all.extend(records.iter().map(|record| seen_of(&record)));
        }
    }
}

/// Sets a flag at the end of a scope.
struct OnDrop<'f>(&'f AtomicBool);

impl Drop for OnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

fn seen_of(record: &klog::format::record::Record<'_>) -> Seen {
    let text = |bytes: Option<&[u8]>| String::from_utf8(bytes.unwrap().to_vec()).unwrap();
    Seen {
        offset: record.offset.0,
        key: text(record.key),
        value: text(record.value),
    }
}

/// Nothing was seen that clients did not write; with `is_all` also all that they wrote.
fn ensure_seen(reader: &Reader, written: &[Seen], is_all: bool) {
    let name = reader.log.partition();
    for record in written {
        match reader.seen.get(&record.offset) {
            Some(seen) => assert_eq!(seen, record, "{name}"),
            None => assert!(!is_all, "{name}: {record:?} was not seen"),
        }
    }
    if reader.wants == Wants::Committed {
        let written: BTreeMap<i64, &Seen> = written.iter().map(|r| (r.offset, r)).collect();
        for seen in reader.seen.values() {
            assert!(
                written.contains_key(&seen.offset),
                "{name}: {seen:?} was not committed"
            );
        }
    }
}

#[test]
fn a_follower_of_a_live_broker_sees_what_a_consumer_sees_while_it_rolls_cleans_and_deletes() {
    let (_root, dir) = place();
    let mut broker = Broker::start(&dir);
    broker.create("kept", 1, &[SMALL]);
    broker.create("short", 1, &[SMALL, AT_ONCE, ("retention.bytes", "12000")]);
    let compacted = [
        SMALL,
        AT_ONCE,
        ("cleanup.policy", "compact"),
        ("min.cleanable.dirty.ratio", "0.01"),
    ];
    broker.create("latest", 1, &compacted);
    broker.create("paid", 1, &[SMALL]);
    for topic in ["kept", "short", "latest"] {
        broker.flood(&format!("{topic}-0"), None);
    }
    broker.flood("paid-0", Some("till"));

    let follower = home_at(&dir).set_broker("klog.max.open.files", 20).follow();
    let mut readers: Vec<Reader> = ["kept", "short", "latest", "paid"]
        .into_iter()
        .flat_map(|topic| [Wants::Everything, Wants::Committed].map(|wants| (topic, wants)))
        .map(|(topic, wants)| Reader::new(&follower, topic, wants))
        .collect();
    let ended = AtomicBool::new(false);
    let looks = AtomicUsize::new(0);
    let mut written: BTreeMap<&str, Vec<Seen>> = BTreeMap::new();
    std::thread::scope(|scope| {
        let follow = || {
            let mut is_last = false;
            while !is_last {
                is_last = ended.load(Ordering::SeqCst);
                follower.refresh().unwrap();
                readers.iter_mut().for_each(Reader::read_on);
                looks.fetch_add(1, Ordering::SeqCst);
            }
        };
        let following = scope.spawn(follow);
        {
            // Also when the broker fails.
            let _end = OnDrop(&ended);
            for count in [RECORDS / 3, RECORDS] {
                for topic in ["kept", "short", "latest", "paid"] {
                    broker.acknowledged(&format!("{topic}-0"), count);
                }
                broker.wait_until_cleaned("latest-0", i64::from(count / 2));
            }
            broker.calm();
            for topic in ["kept", "short", "latest", "paid"] {
                written.insert(topic, broker.acknowledged(&format!("{topic}-0"), RECORDS));
            }
        }
        following.join().unwrap();
    });

    for reader in &readers {
        let topic = &*reader.log.partition().topic;
        ensure_seen(reader, &written[topic], ["kept", "paid"].contains(&topic));
        let info = reader.log.info();
        println!(
            "{topic} {:?}: {} records seen, {} leaps, {} segments, from {} to {}",
            reader.wants,
            reader.seen.len(),
            reader.leaps,
            info.segments,
            info.log_start_offset,
            info.log_end_offset
        );
        assert!(info.log_end_offset.0 >= i64::from(RECORDS), "{topic}");
        assert_eq!(
            info.log_start_offset > Offset(0),
            topic == "short",
            "{topic}"
        );
        assert!(
            info.segments > 5 || ["short", "latest"].contains(&topic),
            "{topic}"
        );
    }
    println!("{looks:?} looks");
    // The broker still cleans and deletes; once it does no more all is the same.
    for reader in &readers {
        let name = reader.log.partition().to_string();
        let deadline = Instant::now() + PATIENCE;
        loop {
            let consumed = broker.consume(&name, reader.wants);
            follower.refresh().unwrap();
            let found = reader.all_now();
            if found == consumed {
                break;
            }
            let again = broker.consume(&name, reader.wants);
            assert!(
                again != consumed || Instant::now() < deadline,
                "{name}, {:?}: {} records where a consumer has {}",
                reader.wants,
                found.len(),
                consumed.len()
            );
        }
    }
    follower.close().unwrap();
    broker.stop();
}
