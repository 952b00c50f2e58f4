//! `klog cat` and `klog append`: what one prints, the other takes.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a failure fails the test"
)]

mod support;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use klog::format::builder::{BatchBuilder, BatchOptions};
use klog::format::codec::Codec;
use klog::format::record::Header;
use klog::log::{AppendOptions, CursorOptions, Isolation};
use klog::types::{Offset, TimestampMs};

use support::canonical::Text;
use support::command::{binary, klog, klog_in_64_mib};
use support::engine::{Home, NOW, append, fill, rec, t0};
use support::{command, fixture};

fn klog_fed(args: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(binary())
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let feeder = std::thread::spawn(move || {
        // One that fails early reads no further.
        let _ = stdin.write_all(&input);
    });
    let output = child.wait_with_output().unwrap();
    feeder.join().unwrap();
    output
}

fn cat(dir: &Path, partition: &str, more: &[&str]) -> Vec<u8> {
    let mut args = vec!["cat", dir.to_str().unwrap(), partition];
    args.extend(more);
    let output = klog_fed(&args, b"");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{partition} {more:?}: {said}");
    output.stdout
}

fn lines(dir: &Path, partition: &str, more: &[&str]) -> Vec<String> {
    let text = String::from_utf8(cat(dir, partition, more)).unwrap();
    text.lines().map(str::to_owned).collect()
}

fn append_to(dir: &Path, more: &[&str], input: &[u8]) -> String {
    let mut args = vec!["append", dir.to_str().unwrap(), "t-0", "--create"];
    args.extend(more);
    let output = klog_fed(&args, input);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{more:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

/// The text of the records without their offsets.
fn without_offsets(text: &[u8]) -> Vec<&[u8]> {
    text.split(|b| *b == b'\n')
        .map(|line| &line[line.iter().position(|b| *b == b'\t').unwrap_or(0)..])
        .collect()
}

/// A log with every codec, nulls, empties, headers, and bytes that are no text.
fn odd_log() -> Home {
    let home = Home::new();
    let manager = home.open();
    let log = t0(&manager);
    let all: Vec<u8> = (0..=255).collect();
    for codec in [
        Codec::None,
        Codec::Gzip,
        Codec::Snappy,
        Codec::Lz4,
        Codec::Zstd,
    ] {
        let mut builder = BatchBuilder::new();
        let contents: [Option<&[u8]>; 6] = [
            None,
            Some(b""),
            Some(&all),
            Some(b"\\N"),
            Some("tab\tpercent % \"quoted\" \u{1f600} comma , equals = null \0".as_bytes()),
            Some(b"a\nb\r\n"),
        ];
        for (i, key) in contents.into_iter().enumerate() {
            for value in contents {
                let headers = [
                    Header {
                        key: b"",
                        value: None,
                    },
                    Header {
                        key: b"a=,b",
                        value: key,
                    },
                    Header {
                        key: b"a=,b",
                        value,
                    },
                    Header {
                        key: b"\xff",
                        value: Some(b""),
                    },
                ];
                let time = TimestampMs(NOW + i64::try_from(i).unwrap());
                builder
                    .push(time, key, value, headers[..i.min(4)].iter().copied())
                    .unwrap();
            }
        }
        let options = AppendOptions {
            codec: Some(codec),
            ..AppendOptions::default()
        };
        log.append(&mut builder, &options).unwrap();
    }
    manager.close().unwrap();
    home
}

#[test]
fn what_cat_prints_of_an_odd_log_append_takes_in_every_format() {
    let home = odd_log();
    let text = cat(&home.dir, "t-0", &[]);
    assert_eq!(without_offsets(&text).len(), 5 * 36 + 1);
    let formats: [&[&str]; 3] = [
        &["--format=text"],
        &["--format=json"],
        &["--template=%T|%h|%k|%v;%o"],
    ];
    for format in formats {
        for keep in [&[][..], &["--keep-offsets"]] {
            let copy = Home::new();
            let printed = cat(&home.dir, "t-0", format);
            let said = append_to(&copy.dir, &[format, keep].concat(), &printed);
            assert!(said.starts_with("appended records=180 "), "{said}");
            assert_eq!(
                without_offsets(&cat(&copy.dir, "t-0", &[])),
                without_offsets(&text),
                "{format:?} {keep:?}"
            );
        }
    }
    let copy = Home::new();
    let json = cat(&home.dir, "t-0", &["--format=json"]);
    append_to(&copy.dir, &["--format=json"], &json);
    let codecs = |dir: &Path| -> Vec<String> {
        let text = command::dump(dir);
        let mut codecs: Vec<String> = text
            .split("codec=")
            .skip(1)
            .map(|rest| rest.split(' ').next().unwrap().to_owned())
            .collect();
        codecs.dedup();
        codecs
    };
    assert_eq!(codecs(&home.dir).len(), 5);
    assert_eq!(codecs(&home.dir), codecs(&copy.dir));
}

#[test]
fn logs_of_real_brokers_come_through_every_format() {
    let mut logs = 0;
    for name in fixture::NAMES.iter().filter(|name| !name.contains("torn")) {
        let fixture = fixture::extract(name);
        let dump = Text::parse(&command::dump(&fixture.dir));
        for partition in dump.logs.iter().map(|(name, _)| name) {
            logs += 1;
            let text = cat(&fixture.dir, partition, &[]);
            let copy = Home::new();
            let json = cat(&fixture.dir, partition, &["--format=json"]);
            append_to(&copy.dir, &["--format=json", "--keep-offsets"], &json);
            assert_eq!(cat(&copy.dir, "t-0", &[]), text, "{name} {partition}");
            let again: Vec<u8> = cat(&copy.dir, "t-0", &["--format=json"]);
            assert_eq!(
                again.split(|b| *b == b'\n').count(),
                json.split(|b| *b == b'\n').count()
            );
        }
    }
    assert!(logs > 10, "{logs} logs");
}

/// Of every format, with transactions and their markers, delete horizons and both kinds of timestamps.
#[test]
fn raw_batches_keep_every_byte() {
    let wanted = [
        " magic=0 ",
        " magic=1 ",
        " magic=2 ",
        " tstype=append ",
        " txn=1 ",
        " ctl=1 ",
    ];
    let mut seen = [0; 6];
    let mut horizons = 0;
    for name in ["kafka-4.4.0-mixed", "kafka-4.4.0-broker", "kafka-legacy"] {
        let fixture = fixture::extract(name);
        let dump = Text::parse(&command::dump(&fixture.dir));
        for (partition, log) in &dump.logs {
            let raw = cat(&fixture.dir, partition, &["--format=raw"]);
            let copy = Home::new();
            append_to(&copy.dir, &["--format=raw"], &raw);
            assert_eq!(cat(&copy.dir, "t-0", &["--format=raw"]), raw, "{partition}");
            // A batch that the log starts inside of is copied whole.
            let from = format!("--from={}", log.field("start"));
            for more in [&[from.as_str()][..], &[&from, "--committed"]] {
                assert_eq!(
                    cat(&copy.dir, "t-0", more),
                    cat(&fixture.dir, partition, more),
                    "{partition} {more:?}"
                );
            }
            let copied = Text::parse(&command::dump(&copy.dir));
            let copied = copied.log("t-0");
            // Batches are the same but for where they lie.
            let batches = |lines: Vec<&str>| -> Vec<String> {
                lines
                    .iter()
                    .map(|line| line.split_once(" base=").unwrap().1.to_owned())
                    .collect()
            };
            let batches = (
                batches(log.starting("batch")),
                batches(copied.starting("batch")),
            );
            assert!(batches.0.ends_with(&batches.1), "{partition}");
            assert!(log.number("start") > 0 || batches.0 == batches.1);
            // The copy knows those too that have expired. What compaction took told of producers as well.
            let producers = copied.starting("producer");
            let is_known = |line: &&str| producers.contains(line);
            if !partition.contains("compact") {
                assert!(log.starting("producer").iter().all(is_known), "{partition}");
            }
            for (seen, word) in seen.iter_mut().zip(wanted) {
                *seen += batches.1.iter().filter(|line| line.contains(word)).count();
            }
            horizons += batches
                .1
                .iter()
                .filter(|line| !line.contains(" horizon=- "))
                .count();
        }
    }
    println!("{seen:?} of {wanted:?}, {horizons} delete horizons");
    assert!(seen.iter().all(|count| *count > 0) && horizons > 0);
}

/// Records keep their kind of timestamp, and are no part of a transaction any more.
#[test]
fn records_of_transactions_and_of_append_time_become_plain_records() {
    let (mut append_times, mut transactions) = (0, 0);
    for name in ["kafka-4.4.0-mixed", "kafka-4.4.0-broker", "kafka-legacy"] {
        let fixture = fixture::extract(name);
        let dump = Text::parse(&command::dump(&fixture.dir));
        for (partition, log) in &dump.logs {
            let json = cat(&fixture.dir, partition, &["--format=json"]);
            let copy = Home::new();
            append_to(&copy.dir, &["--format=json", "--keep-offsets"], &json);
            let copied = Text::parse(&command::dump(&copy.dir));
            let copied = copied.log("t-0");
            let count =
                |lines: Vec<&str>, word: &str| lines.iter().filter(|l| l.contains(word)).count();
            assert_eq!(count(copied.starting("batch"), " txn=1 "), 0, "{partition}");
            assert!(copied.starting("ctl").is_empty(), "{partition}");
            let word = " tstype=append ";
            let had = count(log.starting("batch"), word);
            assert_eq!(
                had > 0,
                count(copied.starting("batch"), word) > 0,
                "{partition}"
            );
            append_times += had;
            transactions += count(log.starting("batch"), " txn=1 ");
        }
    }
    assert!(
        append_times > 0 && transactions > 0,
        "{append_times} {transactions}"
    );
}

#[test]
fn a_follower_goes_on_at_the_start_of_a_log_that_retention_was_faster_in() {
    let home = Home::new();
    let manager = home.open();
    let log = t0(&manager);
    fill(&log, 10);
    log.delete_records(Offset(4)).unwrap();
    manager.close().unwrap();
    let dir = home.dir.to_str().unwrap();
    let args = ["cat", dir, "t-0", "--from=0", "--template=%o"];
    let refused = klog(args);
    assert!(
        refused.stderr.contains("OFFSET_OUT_OF_RANGE"),
        "{}",
        refused.stderr
    );
    let followed = klog([&args[..], &["--follow", "--count=2"]].concat());
    assert_eq!((followed.code, followed.stdout.as_str()), (0, "4\n5\n"));
    assert!(
        followed
            .stderr
            .contains("offsets 0..4 were deleted before they were read"),
        "{}",
        followed.stderr
    );
}

#[test]
fn committed_prints_what_a_cursor_gives() {
    let fixture = fixture::extract("kafka-4.4.0-mixed");
    let manager = Home::at(&fixture.dir).follow();
    let mut passed_over = 0;
    for log in manager.logs() {
        let options = CursorOptions {
            isolation: Isolation::TxnCommitted,
            ..CursorOptions::default()
        };
        let mut cursor = log.cursor(log.start_offset(), options);
        let mut expected = Vec::new();
        loop {
            let records = cursor.next_records(100).unwrap();
            if records.is_empty() {
                break;
            }
            expected.extend(records.iter().map(|r| r.offset.to_string()));
        }
        let partition = log.partition().to_string();
        let printed = lines(&fixture.dir, &partition, &["--committed", "--template=%o"]);
        assert_eq!(printed, expected, "{partition}");
        passed_over += lines(&fixture.dir, &partition, &[]).len() - printed.len();
    }
    assert!(passed_over > 0, "no transaction was aborted or open");
}

#[test]
fn places_counts_and_filters_choose_records() {
    let home = Home::new();
    let manager = home.open();
    let log = t0(&manager);
    for i in 0..10 {
        let key = format!("k{i}");
        let mut builder = BatchBuilder::new();
        let value = i.to_string();
        let header = Header {
            key: b"n",
            value: Some(value.as_bytes()),
        };
        let headers = [header];
        let some = if i % 2 == 0 { &headers[..] } else { &[] };
        builder
            .push(
                TimestampMs(NOW + i),
                Some(key.as_bytes()),
                Some(b"v"),
                some.iter().copied(),
            )
            .unwrap();
        log.append(&mut builder, &AppendOptions::default()).unwrap();
    }
    manager.close().unwrap();
    let offsets = |more: &[&str]| -> String {
        lines(&home.dir, "t-0", &[&["--template=%o"], more].concat()).join(" ")
    };
    let time = format!("@{}", NOW + 4);
    assert_eq!(offsets(&["--from=3", "--to=6"]), "3 4 5");
    assert_eq!(offsets(&["--from=-2"]), "8 9");
    assert_eq!(offsets(&["--from=-99", "-n", "2"]), "0 1");
    assert_eq!(offsets(&["--from", &time, "--count=3"]), "4 5 6");
    assert_eq!(offsets(&["--to", &time]), "0 1 2 3");
    assert_eq!(offsets(&["--from=@2199-01-01T00:00:00Z"]), "");
    assert_eq!(offsets(&["--from=@2000-01-01T00:00:00Z", "-n1"]), "0");
    assert_eq!(offsets(&["--from=end"]), "");
    assert_eq!(offsets(&["--key=k7"]), "7");
    assert_eq!(offsets(&["--key-prefix=k", "--header=n", "-n3"]), "0 2 4");
    assert_eq!(offsets(&["--header=n=6"]), "6");
    assert_eq!(offsets(&["--header=n=6", "--header=m"]), "");
    let dir = home.dir.to_str().unwrap();
    let beyond = klog(["cat", dir, "t-0", "--from=11"]);
    assert_eq!(beyond.code, 1);
    assert!(
        beyond.stderr.contains("OFFSET_OUT_OF_RANGE"),
        "{}",
        beyond.stderr
    );
    for wrong in [
        &["--from=yesterday"][..],
        &["--template=%q"],
        &["--format=raw", "-n1"],
    ] {
        let run = klog([&["cat", dir, "t-0"], wrong].concat());
        assert_eq!(run.code, 2, "{wrong:?}: {}", run.stderr);
    }
}

#[test]
fn follow_prints_what_an_owner_appends_meanwhile() {
    let home = Home::new();
    let manager = home.open();
    let log = t0(&manager);
    fill(&log, 1);
    let before = log.end_offset();
    let mut child = Command::new(binary())
        .args([
            "cat",
            home.dir.to_str().unwrap(),
            "t-0",
            "--follow",
            "--template=%o",
        ])
        .args(["--count", &(before.0 + 20).to_string()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut printed = BufReader::new(child.stdout.take().unwrap()).lines();
    for offset in 0..before.0 {
        assert_eq!(printed.next().unwrap().unwrap(), offset.to_string());
    }
    for i in 0..20 {
        append(&log, &[rec(NOW, "k", "v")]);
        if i == 10 {
            log.roll().unwrap();
        }
        assert_eq!(printed.next().unwrap().unwrap(), (before.0 + i).to_string());
    }
    assert!(child.wait().unwrap().success());
    manager.close().unwrap();
}

#[test]
fn a_bad_line_is_named_and_what_came_before_it_stays() {
    let home = Home::new();
    let dir = home.dir.to_str().unwrap();
    let input = b"0\t5\tk\tv\n1\t5\tk\n";
    let output = klog_fed(
        &["append", dir, "t-0", "--create", "--batch-bytes=1"],
        input,
    );
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        said.contains("line 2 of standard input: 3 fields"),
        "{said}"
    );
    assert!(home.is_clean());
    let missing = klog_fed(&["append", dir, "u-0"], b"");
    assert!(String::from_utf8_lossy(&missing.stderr).contains("--create"));
    for template in ["%k%v", "%kx%v", "%k\\n%v", "%K", "%T-%v"] {
        let args = ["append", dir, "t-0", "--template", template];
        assert_eq!(klog_fed(&args, b"").status.code(), Some(2), "{template}");
    }
    let garbage = klog_fed(&["append", dir, "t-0", "--format=raw"], &[7; 100]);
    let said = String::from_utf8_lossy(&garbage.stderr);
    assert!(said.contains("byte 0 of standard input"), "{said}");
}

#[test]
fn a_reader_that_leaves_ends_it_quietly() {
    let home = Home::new();
    let manager = home.open();
    for _ in 0..200 {
        fill(&t0(&manager), 100);
    }
    manager.close().unwrap();
    let line = format!(
        "set -o pipefail; {} cat {} t-0 | head -n 1",
        binary(),
        home.dir.display()
    );
    let output = Command::new("bash").args(["-c", &line]).output().unwrap();
    assert!(output.status.success());
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), 1);
}

#[test]
fn a_batch_that_says_it_is_huge_takes_no_memory() {
    let home = Home::new();
    let manager = home.open();
    fill(&t0(&manager), 1);
    manager.close().unwrap();
    // A whole batch by its header, of 1 GB of nothing.
    let mut builder = BatchBuilder::new();
    builder
        .push(
            TimestampMs(NOW),
            None,
            Some(b"v"),
            std::iter::empty::<Header<'_>>(),
        )
        .unwrap();
    let bytes = builder
        .finish(&BatchOptions {
            base_offset: Offset(1),
            ..BatchOptions::default()
        })
        .unwrap();
    let mut bytes = bytes.to_vec();
    bytes[8..12].copy_from_slice(&(1_i32 << 30).to_be_bytes());
    home.extend("0.log", &bytes);
    let file = fs::File::options()
        .write(true)
        .open(home.path("0.log"))
        .unwrap();
    file.set_len((1 << 31) - 100).unwrap();
    for format in ["text", "raw"] {
        let dir = home.dir.to_str().unwrap();
        let output = klog_in_64_mib(["cat", dir, "t-0", "--format", format]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(0 | 1)), "{said}");
    }
}
