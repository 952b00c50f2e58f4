//! `klog copy` and `klog cat --follow` on the directory of a live broker that rolls, cleans and deletes under a flood of producers.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread::JoinHandle;

use crate::broker::place;
use crate::kafka::ensure_kafka_takes_it_as_it_is;
use crate::support::broker::{Broker, Seen, Wants};
use crate::support::command::{binary, klog};

/// Up to which offset logs are followed; the first copy is made when this many records of each are there.
const FOLLOWED: u32 = 600;
const RECORDS: u32 = 1200;
const SMALL: (&str, &str) = ("internal.segment.bytes", "6000");
const AT_ONCE: (&str, &str) = ("file.delete.delay.ms", "100");
const TOPICS: [&str; 4] = ["kept", "short", "latest", "paid"];

fn record(line: &str) -> Seen {
    let mut fields = line.splitn(3, '\t').map(str::to_owned);
    Seen {
        offset: fields.next().unwrap().parse().unwrap(),
        key: fields.next().unwrap(),
        value: fields.next().unwrap(),
    }
}

/// Prints a log while it grows, up to an offset.
fn follow(dir: &Path, topic: &str) -> JoinHandle<Output> {
    let child = Command::new(binary())
        .args(["cat", dir.to_str().unwrap(), &format!("{topic}-0")])
        .args(["--follow", "--committed", "--template=%o\\t%k\\t%v"])
        .args(["--to", &FOLLOWED.to_string()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Its pipes are read from the beginning on.
    std::thread::spawn(|| child.wait_with_output().unwrap())
}

fn records_in(dir: &Path, topic: &str) -> Vec<Seen> {
    let partition = format!("{topic}-0");
    let run = klog([
        "cat",
        dir.to_str().unwrap(),
        &partition,
        "--committed",
        "--template=%o\\t%k\\t%v",
    ]);
    assert_eq!(run.code, 0, "{topic}: {}", run.stderr);
    run.stdout.lines().map(record).collect()
}

/// The segments of a log: size, inode and time of change of each.
fn segments(log: &Path) -> BTreeMap<String, (u64, u64, i64)> {
    fs::read_dir(log)
        .unwrap()
        .map(Result::unwrap)
        .filter(|entry| entry.path().extension().is_some_and(|e| e == "log"))
        .map(|entry| {
            let meta = entry.metadata().unwrap();
            let name = entry.file_name().into_string().unwrap();
            let changed = meta.mtime() * 1_000_000_000 + meta.mtime_nsec();
            (name, (meta.len(), meta.ino(), changed))
        })
        .collect()
}

/// What `klog copy` said of each log.
struct Copied {
    text: String,
}

impl Copied {
    fn make(from: &Path, to: &Path) -> Self {
        let run = klog(["copy".as_ref(), from.as_os_str(), to.as_os_str()]);
        assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
        let verified = klog(["verify", to.to_str().unwrap()]);
        assert_eq!(verified.code, 0, "{}", verified.stdout);
        Self { text: run.stdout }
    }

    fn number(&self, topic: &str, field: &str) -> i64 {
        let start = format!("copied {topic}-0 ");
        let line = self.text.lines().find(|line| line.starts_with(&start));
        let value = line
            .unwrap()
            .split(&format!(" {field}="))
            .nth(1)
            .unwrap_or_else(|| panic!("no {field} in {line:?}"));
        value.split(' ').next().unwrap().parse().unwrap()
    }
}

/// A copy has what was written below its end, of a compacted log the last record of each key at least, and nothing else.
fn ensure_prefix(dir: &Path, copied: &Copied, written: &BTreeMap<&str, Vec<Seen>>) {
    for topic in TOPICS {
        let (start, end) = (copied.number(topic, "start"), copied.number(topic, "end"));
        let expected: BTreeMap<i64, &Seen> = written[topic]
            .iter()
            .filter(|seen| (start..end).contains(&seen.offset))
            .map(|seen| (seen.offset, seen))
            .collect();
        let found: BTreeMap<i64, Seen> = records_in(dir, topic)
            .into_iter()
            .map(|seen| (seen.offset, seen))
            .collect();
        for seen in found.values() {
            assert_eq!(expected.get(&seen.offset), Some(&seen), "{topic}");
        }
        let mut last: BTreeMap<&str, i64> = BTreeMap::new();
        for seen in expected.values() {
            last.insert(&seen.key, seen.offset);
        }
        let has_all = match topic {
            "latest" => last.values().all(|offset| found.contains_key(offset)),
            // A transaction that was open when it was copied is none of what is committed.
            "paid" => expected.keys().zip(found.keys()).all(|(a, b)| a == b),
            _ => expected.len() == found.len(),
        };
        assert!(
            has_all,
            "{topic} {start}..{end}: {} of {}",
            found.len(),
            expected.len()
        );
        assert_eq!(start > 0, topic == "short", "{topic} starts at {start}");
    }
}

#[test]
fn copies_and_followers_of_a_live_brokers_directory_have_what_was_written() {
    let (root, dir) = place();
    let to = root.path().join("copy");
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
    let followers = TOPICS.map(|topic| (topic, follow(&dir, topic)));
    for topic in &TOPICS[..3] {
        broker.flood(&format!("{topic}-0"), None);
    }
    broker.flood("paid-0", Some("till"));

    let mut copies = Vec::new();
    let mut held = BTreeMap::new();
    for count in [FOLLOWED, RECORDS] {
        for topic in TOPICS {
            broker.acknowledged(&format!("{topic}-0"), count);
        }
        broker.wait_until_cleaned("latest-0", i64::from(count / 2));
        let copied = Copied::make(&dir, &to);
        let kept = segments(&to.join("kept-0"));
        // Each copy as it was when it was made.
        let as_it_was = root.path().join(format!("copy-{count}"));
        crate::support::tree::copy(&to, &as_it_was);
        if !copies.is_empty() {
            ensure_only_new_travelled(&held, &kept, copied.number("kept", "new_bytes"));
        }
        held = kept;
        copies.push((as_it_was, copied));
    }
    broker.calm();
    let mut written: BTreeMap<&str, Vec<Seen>> = BTreeMap::new();
    for topic in TOPICS {
        // Of the log with transactions what was committed.
        written.insert(topic, broker.acknowledged(&format!("{topic}-0"), RECORDS));
    }
    for (topic, child) in followers {
        let output = child.join().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{topic}: {said}");
        let printed: Vec<Seen> = String::from_utf8(output.stdout)
            .unwrap()
            .lines()
            .map(record)
            .collect();
        assert!(printed.is_sorted_by(|a, b| a.offset < b.offset), "{topic}");
        let below = |seen: &&Seen| seen.offset < i64::from(FOLLOWED);
        let expected: Vec<&Seen> = written[topic].iter().filter(below).collect();
        assert!(
            printed.iter().all(|seen| expected.contains(&seen)),
            "{topic}"
        );
        if ["kept", "paid"].contains(&topic) {
            assert_eq!(printed.len(), expected.len(), "{topic}");
            assert!(!said.contains("before they were read"), "{topic}: {said}");
        } else {
            // What is still there was there when it came by.
            let left = broker.consume(&format!("{topic}-0"), Wants::Committed);
            let left = left.iter().filter(below);
            assert!(left.clone().all(|seen| printed.contains(seen)), "{topic}");
        }
        println!("{topic}: {} of {} followed", printed.len(), expected.len());
    }
    broker.stop();
    for (copy, copied) in &copies {
        ensure_prefix(copy, copied, &written);
        ensure_kafka_takes_it_as_it_is(copy);
    }
}

/// Segments that were there whole are the same files, untouched; the bytes told are those that came.
fn ensure_only_new_travelled(
    before: &BTreeMap<String, (u64, u64, i64)>,
    after: &BTreeMap<String, (u64, u64, i64)>,
    told: i64,
) {
    let sealed = before.len() - 1;
    assert!(
        sealed > 2 && after.len() > before.len() + 2,
        "{before:?} {after:?}"
    );
    for (name, file) in before.iter().take(sealed) {
        assert_eq!(after.get(name), Some(file), "{name}");
    }
    let bytes =
        |files: &BTreeMap<String, (u64, u64, i64)>| files.values().map(|f| f.0).sum::<u64>();
    assert_eq!(told, i64::try_from(bytes(after) - bytes(before)).unwrap());
}
