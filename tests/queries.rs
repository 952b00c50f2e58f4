//! Kafka's answers about the mixed fixture (fixtures/README.md 3.1), each of them: look-ups by time, producers and
//! transactions by the commands, reads, aborted transactions and epochs through the C interface.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::wildcard_imports,
    clippy::cast_possible_wrap,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a failure fails the test"
)]

#[macro_use]
#[path = "abi/calls.rs"]
#[allow(
    dead_code,
    unused_macros,
    reason = "shared with the tests of the C interface"
)]
mod calls;
mod support;

use std::collections::BTreeMap;
use std::ffi::CString;
use std::fmt::Write as _;

use calls::*;
use klog::ffi::constants::*;
use klog::ffi::cursor::*;
use klog::ffi::log::*;
use klog::ffi::offsets::*;
use klog::ffi::read::*;
use klog::ffi::types::*;

use support::command::klog;
use support::fixture::{self, Fixture};

const NAME: &str = "kafka-4.4.0-mixed";

fn fields(text: &str) -> BTreeMap<&str, &str> {
    text.split(' ')
        .filter_map(|word| word.split_once('='))
        .collect()
}

/// The lines of one log.
struct Queries {
    partition: String,
    said: String,
    lines: Vec<String>,
}

impl Queries {
    fn all() -> Vec<Self> {
        let mut found: Vec<Self> = Vec::new();
        for line in fixture::text(&format!("{NAME}.queries.txt"))
            .lines()
            .skip(1)
        {
            if let Some(rest) = line.strip_prefix("log ") {
                let (partition, said) = rest.split_once(' ').unwrap();
                found.push(Self {
                    partition: partition.to_owned(),
                    said: said.to_owned(),
                    lines: Vec::new(),
                });
            } else {
                found.last_mut().unwrap().lines.push(line.to_owned());
            }
        }
        found
    }

    /// The lines that begin with one of these words, as the command is to print them.
    fn text(&self, words: &[&str]) -> String {
        let wanted = |line: &&String| {
            words
                .iter()
                .any(|word| line.starts_with(&format!("{word} ")))
        };
        let lines = self.lines.iter().filter(wanted);
        lines.fold(String::new(), |mut text, line| {
            let _ = writeln!(text, "{line}");
            text
        })
    }
}

fn command(fixture: &Fixture, words: &[&str]) -> String {
    let dir = fixture.dir.to_str().unwrap();
    let (name, rest) = words.split_first().unwrap();
    let mut args = vec![*name, dir];
    args.extend(rest);
    let run = klog(args);
    assert_eq!(run.code, 0, "{words:?}: {}", run.stderr);
    run.stdout
}

/// Later than all records of the fixture.
const NOW: &str = "1767300000000";

/// The `open` lines of what Kafka says of producers.
fn open_lines(producers: &str) -> String {
    let now: i64 = NOW.parse().unwrap();
    let mut open = Vec::new();
    for line in producers.lines() {
        let field = |name: &str| -> &str {
            let rest = line.split(&format!(" {name}=")).nth(1).unwrap();
            rest.split(' ').next().unwrap()
        };
        let Ok(first) = field("txn_first").parse::<i64>() else {
            continue;
        };
        let ts: i64 = field("ts").parse().unwrap();
        let id = line.split(' ').nth(1).unwrap();
        let age = now - ts;
        open.push((
            first,
            format!("open producer={id} first={first} ts={ts} age_ms={age}\n"),
        ));
    }
    open.sort();
    open.into_iter().map(|(_, line)| line).collect()
}

#[test]
fn the_commands_print_what_kafka_answers() {
    let fixture = fixture::extract(NAME);
    let before = support::tree::content(&fixture.dir);
    let (mut times, mut producers, mut aborted) = (0, 0, 0);
    for log in Queries::all() {
        let partition = log.partition.as_str();
        let time = log.text(&["time"]);
        let targets: Vec<String> = time
            .lines()
            .map(|line| format!("--timestamp={}", line.split(' ').nth(1).unwrap()))
            .collect();
        let mut words = vec!["offsets", partition];
        words.extend(targets.iter().map(String::as_str));
        assert_eq!(command(&fixture, &words), time, "{partition}");
        let expected = log.text(&["producer", "pbatch"]);
        assert_eq!(
            command(&fixture, &["producers", partition]),
            expected,
            "{partition}"
        );
        // Those of a range look like those of the segments but for their first field.
        let entries: String = log
            .text(&["aborted"])
            .lines()
            .filter(|line| !line.starts_with("aborted from="))
            .fold(String::new(), |text, line| text + line + "\n");
        let expected = log.text(&["lso"]) + &entries + &open_lines(&log.text(&["producer"]));
        assert_eq!(
            command(&fixture, &["transactions", partition, "--now-ms", NOW]),
            expected,
            "{partition}"
        );
        times += targets.len();
        producers += log.text(&["producer"]).lines().count();
        aborted += entries.lines().count();
    }
    assert!(
        times == 320 && producers == 21 && aborted > 20,
        "{times} times, {producers} producers, {aborted} aborted transactions"
    );
    assert_eq!(
        support::tree::content(&fixture.dir),
        before,
        "looking wrote something"
    );
}

/// The entries of a range, the walk of which begins with the segment of `from` (state.md 5.7).
fn aborted_in(log: klog_log, segment_base: i64, upto: i64) -> Vec<klog_aborted_txn> {
    let mut count = 0;
    let _ = klog_aborted_txns(
        log,
        segment_base,
        upto,
        std::ptr::null_mut(),
        0,
        &raw mut count,
        std::ptr::null_mut(),
    );
    // SAFETY: integers, for which zero is a value.
    let mut found = vec![unsafe { std::mem::zeroed::<klog_aborted_txn>() }; count];
    ok(|e| {
        klog_aborted_txns(
            log,
            segment_base,
            upto,
            found.as_mut_ptr(),
            count,
            &raw mut count,
            e,
        )
    });
    assert_eq!(count, found.len());
    found
}

/// The answer to a read in the words of the fixture.
fn read(log: klog_log, asked: &BTreeMap<&str, &str>, buffer: &mut [u8]) -> String {
    let mut options = init!(klog_read_options);
    options.flags = KLOG_READ_SLICE;
    if asked["min_one"] == "0" {
        options.flags |= KLOG_READ_NO_MIN_ONE;
    }
    options.max_bytes = asked["max"].parse().unwrap();
    options.isolation = match asked["iso"] {
        "log_end" => KLOG_ISOLATION_LOG_END,
        "high_watermark" => KLOG_ISOLATION_HIGH_WATERMARK,
        _ => KLOG_ISOLATION_TXN_COMMITTED,
    };
    let from: i64 = asked["from"].parse().unwrap();
    let mut result = init!(klog_read_result);
    let (status, message, _) = call(|e| {
        klog_read(
            log,
            from,
            &raw const options,
            buffer.as_mut_ptr().cast(),
            buffer.len(),
            &raw mut result,
            e,
        )
    });
    if status == KLOG_ERR_OFFSET_OUT_OF_RANGE {
        return "error OFFSET_OUT_OF_RANGE".to_owned();
    }
    assert_eq!(status, KLOG_OK, "{message}");
    let (first, last) = match result.batches {
        0 => (-1, -1),
        _ => (result.first_offset, result.next_offset - 1),
    };
    let aborted = if asked["iso"] == "committed" {
        let found = aborted_in(log, from, result.aborted_upto);
        assert_eq!(found.len(), result.aborted_txns as usize);
        let found: Vec<String> = found
            .iter()
            .map(|txn| format!("{}:{}", txn.producer_id, txn.first_offset))
            .collect();
        if found.is_empty() {
            "-".to_owned()
        } else {
            found.join(",")
        }
    } else {
        "none".to_owned()
    };
    format!(
        "seg={} pos={} bytes={} batches={} first={first} last={last} incomplete={} aborted={aborted}",
        result.segment_base_offset,
        result.position,
        result.bytes,
        result.batches,
        result.flags & KLOG_READF_FIRST_INCOMPLETE,
    )
}

fn segment_of(log: klog_log, offset: i64, buffer: &mut [u8]) -> i64 {
    let asked = format!("from={offset} max=0 iso=log_end min_one=0");
    let answer = read(log, &fields(&asked), buffer);
    fields(&answer)["seg"].parse().unwrap()
}

#[test]
fn the_c_interface_answers_as_kafka_does() {
    let fixture = fixture::extract(NAME);
    let owner = manager(&fixture.dir);
    let mut buffer = vec![0; 4 << 20];
    let (mut reads, mut ranges, mut epochs) = (0, 0, 0);
    for queries in Queries::all() {
        let (topic, partition) = queries.partition.rsplit_once('-').unwrap();
        let topic = CString::new(topic).unwrap();
        let mut log = klog_log { id: 0 };
        ok(|e| {
            klog_log_open(
                owner,
                topic.as_ptr(),
                NTS,
                partition.parse().unwrap(),
                std::ptr::null(),
                &raw mut log,
                e,
            )
        });
        let mut info = init!(klog_log_info);
        ok(|e| klog_log_get_info(log, &raw mut info, e));
        let found = format!(
            "start={} end={} hw={} lso={}",
            info.log_start_offset,
            info.log_end_offset,
            info.high_watermark,
            info.last_stable_offset
        );
        assert_eq!(found, queries.said, "{}", queries.partition);
        for line in &queries.lines {
            let (word, rest) = line.split_once(' ').unwrap();
            let (found, expected) = match word {
                "read" => {
                    reads += 1;
                    let (asked, answer) = rest.split_once(" => ").unwrap();
                    (read(log, &fields(asked), &mut buffer), answer)
                }
                "aborted" if rest.starts_with("from=") => {
                    ranges += 1;
                    let asked = fields(rest);
                    let from = segment_of(log, asked["from"].parse().unwrap(), &mut buffer);
                    let list: Vec<String> = aborted_in(log, from, asked["upto"].parse().unwrap())
                        .iter()
                        .map(|txn| {
                            format!(
                                "{}:{}:{}:{}",
                                txn.producer_id,
                                txn.first_offset,
                                txn.last_offset,
                                txn.last_stable_offset
                            )
                        })
                        .collect();
                    let list = if list.is_empty() {
                        "-".to_owned()
                    } else {
                        list.join(",")
                    };
                    (list, rest.rsplit_once(' ').unwrap().1)
                }
                "epoch_end" => {
                    epochs += 1;
                    let (epoch, expected) = rest.split_once(' ').unwrap();
                    let mut found = init!(klog_epoch_offset);
                    ok(|e| klog_offset_for_epoch(log, epoch.parse().unwrap(), &raw mut found, e));
                    let found = match found.end_offset {
                        -1 => "-".to_owned(),
                        offset => format!("{}:{offset}", found.leader_epoch),
                    };
                    (found, expected)
                }
                _ => continue,
            };
            assert_eq!(found, expected, "{} {line}", queries.partition);
        }
    }
    assert_eq!((reads, epochs), (192, 82));
    assert!(ranges > 60, "{ranges}");
    close(owner);
}

/// Offsets, keys and times of the records that committed transactions, and writers without one, left in a log below its last
/// stable offset; by the lines of Kafka's text.
fn committed_of(lines: &[String]) -> Vec<(i64, String)> {
    let stable: i64 = lines
        .iter()
        .find_map(|line| line.strip_prefix("lso "))
        .unwrap()
        .parse()
        .unwrap();
    let mut found = Vec::new();
    let mut pending: BTreeMap<i64, Vec<(i64, String)>> = BTreeMap::new();
    let (mut producer, mut is_transactional) = (-1, false);
    for line in lines {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let offset = || rest.split(' ').next().unwrap().parse::<i64>().unwrap();
        match word {
            "batch" => {
                let fields = fields(rest);
                producer = fields["producer"].parse().unwrap();
                is_transactional = fields["txn"] == "1";
            }
            "rec" => {
                let record = (offset(), rest.split_once(' ').unwrap().1.to_owned());
                if is_transactional {
                    pending.entry(producer).or_default().push(record);
                } else {
                    found.push(record);
                }
            }
            "ctl" => {
                let records = pending.remove(&producer).unwrap_or_default();
                if fields(rest)["type"] == "commit" {
                    found.extend(records);
                }
            }
            _ => {}
        }
    }
    found.retain(|(offset, _)| *offset < stable);
    found.sort();
    found
}

#[test]
fn a_committed_read_of_payments_gives_exactly_the_committed_records() {
    let fixture = fixture::extract("kafka-4.4.0-broker");
    let text = support::canonical::Text::parse(&fixture::expected("kafka-4.4.0-broker"));
    let expected = committed_of(&text.log("payments-0").0);
    let owner = manager(&fixture.dir);
    let mut log = klog_log { id: 0 };
    ok(|e| {
        klog_log_open(
            owner,
            c"payments".as_ptr(),
            NTS,
            0,
            std::ptr::null(),
            &raw mut log,
            e,
        )
    });
    for (max_bytes, at_once) in [(0, 100), (300, 3), (1, 1)] {
        let mut options = init!(klog_read_options);
        options.isolation = KLOG_ISOLATION_TXN_COMMITTED;
        options.max_bytes = max_bytes;
        let mut cursor = klog_cursor { id: 0 };
        ok(|e| klog_cursor_open(log, 0, &raw const options, &raw mut cursor, e));
        let mut found = Vec::new();
        // SAFETY: integers and pointers, for which zero is a value.
        let mut records = vec![unsafe { std::mem::zeroed::<klog_record>() }; at_once];
        let mut result = init!(klog_read_result);
        loop {
            let status = klog_cursor_next(
                cursor,
                records.as_mut_ptr(),
                at_once,
                &raw mut result,
                std::ptr::null_mut(),
            );
            if status == KLOG_ERR_END {
                break;
            }
            assert_eq!(status, KLOG_OK);
            for record in &records[..result.records as usize] {
                let key = if record.key.is_null() {
                    "null".to_owned()
                } else {
                    let key = record.key.cast::<u8>();
                    // SAFETY: lent by the cursor until its next call.
                    let key = unsafe { std::slice::from_raw_parts(key, record.key_len as usize) };
                    support::canonical::hex(key)
                };
                found.push((
                    record.offset,
                    format!("ts={} key={key}", record.timestamp_ms),
                ));
            }
        }
        assert_eq!(result.next_offset, 323, "the last stable offset");
        let expected: Vec<_> = expected
            .iter()
            .map(|(offset, rest)| (*offset, rest.split(" value=").next().unwrap().to_owned()))
            .collect();
        assert_eq!(found, expected);
        assert!(found.len() > 100, "{}", found.len());
    }
    close(owner);
}
