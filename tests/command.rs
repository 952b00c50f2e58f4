//! The contract of the `klog` command: what goes to standard output, exit codes, configuration.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::format_collect,
    reason = "a failure fails the test"
)]

mod support;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use klog::format::batch;

use support::canonical::Text;
use support::command::{Run, klog};
use support::engine::{CLEAN_MARKER, Home, NOW, append, fill, log, rec, t0, v2};
use support::{command, fixture, tree};

fn ls(dir: &Path, more: &[&str]) -> Run {
    run("ls", dir, more)
}

fn run(subcommand: &str, dir: &Path, more: &[&str]) -> Run {
    klog([&[subcommand, dir.to_str().unwrap()], more].concat())
}

/// A directory with `t-0` and `u-0` of three batches each, closed in order.
fn two_logs() -> Home {
    let home = Home::new();
    let manager = home.open();
    fill(&t0(&manager), 3);
    fill(&log(&manager, "u-0"), 3);
    manager.close().unwrap();
    home
}

/// A log that no load can open: its segment has more bytes than a segment can have.
fn add_unloadable_log(home: &Home) {
    let dir = home.dir.join("bad-0");
    fs::create_dir(&dir).unwrap();
    let file = fs::File::create(dir.join("00000000000000000000.log")).unwrap();
    file.set_len(1 << 31).unwrap();
}

#[test]
fn ls_prints_a_line_for_each_log_in_the_order_of_the_dump() {
    for name in fixture::NAMES {
        let fixture = fixture::extract(name);
        let dump = Text::parse(&command::dump(&fixture.dir));
        let expected: String = dump
            .logs
            .iter()
            .map(|(partition, lines)| {
                let segments = lines.segments();
                format!(
                    "{partition} start={} end={} segments={} bytes={} dir={}\n",
                    lines.field("start"),
                    lines.field("end"),
                    segments.len(),
                    segments.iter().map(|s| s.size).sum::<u64>(),
                    fixture.dir.join(partition).display(),
                )
            })
            .collect();
        let run = ls(&fixture.dir, &[]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert_eq!(run.stdout, expected, "{name}");
    }
}

#[test]
fn ls_changes_nothing() {
    let fixture = fixture::extract("kafka-4.4.0-torn");
    let (before, times) = (tree::content(&fixture.dir), tree::times(&fixture.dir));
    ls(&fixture.dir, &[]);
    assert_eq!(
        tree::differences(&before, &tree::content(&fixture.dir)),
        [""; 0]
    );
    assert_eq!(times, tree::times(&fixture.dir));
}

#[test]
fn what_loading_found_goes_to_standard_error() {
    let home = two_logs();
    home.write("notes.txt", "mine");
    for subcommand in ["ls", "dump", "recover"] {
        let run = run(subcommand, &home.dir, &[]);
        assert_eq!(run.code, 0);
        assert!(
            run.stderr.contains("t-0: left notes.txt alone"),
            "{subcommand}: {}",
            run.stderr
        );
        assert!(!run.stdout.contains("left notes.txt"));
    }
}

#[test]
fn dump_prints_the_lines_of_the_canonical_text_and_nothing_else() {
    const WORDS: [&str; 19] = [
        "dump",
        "clean",
        "meta",
        "checkpoint",
        "dir",
        "log",
        "seg",
        "oi",
        "ti",
        "batch",
        "rec",
        "ctl",
        "bad",
        "rest",
        "epoch",
        "producer",
        "pbatch",
        "aborted",
        "lso",
    ];
    let fixture = fixture::extract("kafka-4.4.0-torn-clean");
    let text = command::dump(&fixture.dir);
    assert!(text.starts_with("dump 1\nclean yes\n"));
    assert!(text.ends_with('\n'));
    for line in text.lines() {
        let word = line.split(' ').next().unwrap();
        assert!(WORDS.contains(&word) || word == "file", "{line}");
        assert!(!line.ends_with(' ') && !line.contains("  "), "{line:?}");
    }
}

#[test]
fn dump_of_one_log_prints_the_head_and_that_log() {
    let home = two_logs();
    let all = Text::parse(&command::dump(&home.dir));
    let one = run("dump", &home.dir, &["u-0"]);
    assert_eq!(one.code, 0);
    let one = Text::parse(&one.stdout);
    assert_eq!(one.head, all.head);
    assert_eq!(one.partitions(), ["u-0"]);
    assert_eq!(one.log("u-0"), all.log("u-0"));
}

#[test]
fn recover_prints_nothing_and_closes_the_directory_in_order() {
    let home = two_logs();
    home.forget_marker();
    home.extend("0.log", &[0; 30]);
    let run = run("recover", &home.dir, &[]);
    assert_eq!((run.code, run.stdout.as_str()), (0, ""));
    assert!(
        run.stderr.contains("t-0") && run.stderr.contains("cut off 30 bytes"),
        "{}",
        run.stderr
    );
    assert!(home.is_clean());
    assert_eq!(home.read("0.log").len(), 3 * 72);
    assert!(!home.dir.join(".lock").exists());
}

#[test]
fn a_log_that_does_not_load_is_said_and_leaves_the_others() {
    let home = two_logs();
    add_unloadable_log(&home);
    let listed = ls(&home.dir, &[]);
    assert_eq!(listed.code, 1);
    assert!(listed.stderr.contains("bad-0"), "{}", listed.stderr);
    let names: Vec<&str> = listed
        .stdout
        .lines()
        .map(|line| line.split(' ').next().unwrap())
        .collect();
    assert_eq!(names, ["t-0", "u-0"]);

    // To the text a failed log is a line; asked for by name it is the answer.
    let text = Text::parse(&command::dump(&home.dir));
    assert_eq!(text.partitions(), ["bad-0", "t-0", "u-0"]);
    assert_eq!(text.log("bad-0").0, ["log bad-0 error"]);

    let recovered = run("recover", &home.dir, &[]);
    assert_eq!((recovered.code, recovered.stdout.as_str()), (1, ""));
    assert!(recovered.stderr.contains("bad-0"));
    assert!(
        !home.dir.join(CLEAN_MARKER).exists(),
        "a directory with a failed log is not closed in order"
    );
}

/// hard-cases.md HC34, HC35: a good checksum around something that nobody can read.
#[test]
fn a_batch_that_cannot_be_read_is_told_and_does_not_hide_the_rest() {
    const UNKNOWN_CODEC: u8 = 7;
    const NOT_GZIP_THOUGH: u8 = 1;
    const CONTROL_BUT_NO_MARKER: u8 = 0x20;
    for attributes in [UNKNOWN_CODEC, NOT_GZIP_THOUGH, CONTROL_BUT_NO_MARKER] {
        let home = two_logs();
        let mut strange = v2(3, &[("k", "v")]);
        strange[22] |= attributes;
        batch::seal(&mut strange);
        home.extend("0.log", &strange);
        home.extend("0.log", &v2(4, &[("behind", "it")]));
        home.forget_marker();
        let run = run("dump", &home.dir, &[]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert!(
            run.stderr
                .contains("t-0: records of the batch at position 216"),
            "{}",
            run.stderr
        );
        let text = Text::parse(&run.stdout);
        let log = text.log("t-0");
        assert_eq!((log.number("end"), log.starting("batch").len()), (5, 5));
        let records: Vec<&str> = log
            .starting("rec")
            .iter()
            .map(|line| line.split(' ').nth(1).unwrap())
            .collect();
        assert_eq!(records, ["0", "1", "2", "4"]);
        assert_eq!(text.log("u-0").starting("rec").len(), 3);
    }
}

#[test]
fn a_missing_directory_and_a_file_are_errors_that_name_the_path() {
    let home = two_logs();
    let missing = home.dir.join("missing");
    let file = home.path("0.log");
    for subcommand in ["ls", "dump", "recover"] {
        for path in [&missing, &file] {
            let before = tree::content(&home.dir);
            let run = run(subcommand, path, &[]);
            assert_eq!((run.code, run.stdout.as_str()), (1, ""), "{subcommand}");
            assert!(
                run.stderr.contains(path.to_str().unwrap()),
                "{}",
                run.stderr
            );
            assert!(run.stderr.contains("LOG_DIR_NOT_FOUND"), "{}", run.stderr);
            assert_eq!(
                tree::differences(&before, &tree::content(&home.dir)),
                [""; 0]
            );
        }
    }
}

#[test]
fn an_unknown_partition_is_an_error_and_a_bad_name_wrong_usage() {
    let home = two_logs();
    let run_it = |name| run("dump", &home.dir, &[name]);
    let unknown = run_it("t-7");
    assert_eq!((unknown.code, unknown.stdout.as_str()), (1, ""));
    assert!(unknown.stderr.contains("t-7"), "{}", unknown.stderr);
    for bad in ["t", "t-x", "-1"] {
        let run = run_it(bad);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{bad}");
        assert!(run.stderr.contains(bad), "{}", run.stderr);
    }
}

#[test]
fn recover_does_not_touch_a_directory_that_is_in_use() {
    let home = two_logs();
    let manager = home.open();
    let before = tree::content(&home.dir);
    let run = run("recover", &home.dir, &[]);
    assert_eq!((run.code, run.stdout.as_str()), (1, ""));
    assert!(
        run.stderr.contains("DIR_LOCKED") && run.stderr.contains(home.dir.to_str().unwrap()),
        "{}",
        run.stderr
    );
    assert_eq!(
        tree::differences(&before, &tree::content(&home.dir)),
        [""; 0]
    );
    // Looking takes no lock.
    assert_eq!(ls(&home.dir, &[]).code, 0);
    manager.close().unwrap();
}

#[test]
fn wrong_usage_is_2_and_help_is_0() {
    for args in [
        &[][..],
        &["ls"],
        &["frob"],
        &["ls", "a", "b"],
        &["dump", "a", "t-0", "u-0"],
        &["ls", "--frob", "a"],
    ] {
        let run = klog(args);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{args:?}");
        assert!(run.stderr.contains("Usage: klog"), "{}", run.stderr);
    }
    for args in [
        &["--help"][..],
        &["help"],
        &["ls", "--help"],
        &["dump", "--help"],
        &["recover", "--help"],
    ] {
        let run = klog(args);
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{args:?}");
        assert!(run.stdout.contains("Usage: klog"), "{}", run.stdout);
    }
    let version = klog(["--version"]);
    assert_eq!(
        (version.code, version.stdout),
        (0, format!("klog {}\n", env!("CARGO_PKG_VERSION")))
    );
}

/// The index entries of the two logs' first segments. Unclean, so that recovery makes them with the settings given.
fn indexes_with(home: &Home, more: &[&str]) -> Vec<usize> {
    let run = run("dump", &home.dir, more);
    assert_eq!(run.code, 0, "{}", run.stderr);
    Text::parse(&run.stdout)
        .logs
        .iter()
        .map(|(_, lines)| lines.starting("oi").len())
        .collect()
}

#[test]
fn config_sets_broker_keys_and_keys_of_a_topic_or_of_the_log_named() {
    let home = two_logs();
    home.forget_marker();
    assert_eq!(indexes_with(&home, &[]), [0, 0]);
    assert_eq!(
        indexes_with(&home, &["--config", "log.index.interval.bytes=0"]),
        [2, 2]
    );
    assert_eq!(
        indexes_with(&home, &["--config", "t:index.interval.bytes=0"]),
        [2, 0]
    );
    assert_eq!(
        indexes_with(&home, &["u-0", "--config", "index.interval.bytes=0"]),
        [2]
    );
    let later_wins = [
        "--config",
        "t:index.interval.bytes=0",
        "--config",
        "t:index.interval.bytes=100",
    ];
    assert_eq!(indexes_with(&home, &later_wins), [1, 0]);
}

#[test]
fn properties_are_read_as_a_broker_reads_them_with_lines_for_topics() {
    let home = two_logs();
    home.forget_marker();
    let file = home.dir.join("../server.properties");
    let path = file.to_str().unwrap();
    fs::write(
        &file,
        "# a broker's\nlog.index.interval.bytes : 0\nnum.network.threads=3\n",
    )
    .unwrap();
    assert_eq!(indexes_with(&home, &["--properties", path]), [2, 2]);
    fs::write(&file, "topic.u.index.interval.bytes=0\n").unwrap();
    assert_eq!(indexes_with(&home, &["--properties", path]), [0, 2]);
    // A pair lies on top of the file, wherever it stands.
    let both = [
        "--config",
        "u:index.interval.bytes=5000",
        "--properties",
        path,
    ];
    assert_eq!(indexes_with(&home, &both), [0, 0]);
}

#[test]
fn an_unknown_key_is_a_warning_from_a_file_and_wrong_usage_from_the_command_line() {
    let home = two_logs();
    let file = home.dir.join("../server.properties");
    fs::write(&file, "\nlog.segment.byte=1048576\n").unwrap();
    for subcommand in ["ls", "dump", "recover"] {
        let run = run(
            subcommand,
            &home.dir,
            &["--properties", file.to_str().unwrap()],
        );
        assert_eq!(run.code, 0, "{}", run.stderr);
        let warnings: Vec<&str> = run
            .stderr
            .lines()
            .filter(|line| line.contains("log.segment.byte"))
            .collect();
        assert_eq!(warnings.len(), 1, "said once: {}", run.stderr);
        assert!(
            warnings[0].contains("server.properties: line 2: "),
            "{}",
            warnings[0]
        );
        assert!(
            warnings[0].contains("log.segment.bytes"),
            "names the nearest key: {}",
            warnings[0]
        );
    }
    for (pair, nearest) in [
        ("log.segment.byte=1048576", "log.segment.bytes"),
        ("t:segment.byte=1048576", "segment.bytes"),
        ("log.retention.mss=1", "log.retention.ms"),
    ] {
        let run = ls(&home.dir, &["--config", pair]);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{pair}");
        let (key, _) = pair
            .rsplit_once(':')
            .map_or((pair, ""), |(_, rest)| (rest, ""));
        assert!(
            run.stderr.contains(key.split('=').next().unwrap()),
            "{}",
            run.stderr
        );
        assert!(run.stderr.contains(nearest), "{}", run.stderr);
    }
}

#[test]
fn what_is_no_pair_and_no_value_is_wrong_usage() {
    let home = two_logs();
    for pair in [
        "log.segment.bytes",
        "log.segment.bytes=many",
        "t:segment.bytes=12",
        "t:=1",
        ":segment.bytes=1048576",
    ] {
        let run = ls(&home.dir, &["--config", pair]);
        assert_eq!(
            (run.code, run.stdout.as_str()),
            (2, ""),
            "{pair}: {}",
            run.stderr
        );
    }
}

#[test]
fn a_key_of_an_older_version_is_a_warning_wherever_it_comes_from() {
    let home = two_logs();
    let run = ls(&home.dir, &["--config", "log.message.format.version=3.0"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let warnings: Vec<&str> = run.stderr.lines().collect();
    assert_eq!(warnings.len(), 1, "{}", run.stderr);
    assert!(
        warnings[0].starts_with("klog: ") && warnings[0].contains("log.message.format.version"),
        "{}",
        warnings[0]
    );
}

#[test]
fn a_properties_file_that_cannot_be_read_is_an_error() {
    let home = two_logs();
    let file = home.dir.join("../server.properties");
    let missing = ls(&home.dir, &["--properties", file.to_str().unwrap()]);
    assert_eq!((missing.code, missing.stdout.as_str()), (1, ""));
    assert!(
        missing.stderr.contains("server.properties"),
        "{}",
        missing.stderr
    );
    fs::write(&file, "\n\nlog.segment.bytes=many\n").unwrap();
    let bad = ls(&home.dir, &["--properties", file.to_str().unwrap()]);
    assert_eq!((bad.code, bad.stdout.as_str()), (1, ""));
    assert!(
        bad.stderr.contains("server.properties: line 3"),
        "{}",
        bad.stderr
    );
}

#[test]
fn output_that_nobody_reads_is_fine_and_output_that_cannot_be_written_is_not() {
    let fixture = fixture::extract("kafka-4.4.0-broker");
    let mut child = Command::new(command::binary())
        .arg("dump")
        .arg(&fixture.dir)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The reader is gone before the text, which is longer than a pipe holds, was written.
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );

    for subcommand in ["ls", "dump"] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let mut command = Command::new(command::binary());
        let output = command
            .arg(subcommand)
            .arg(&fixture.dir)
            .stdout(full)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1), "{subcommand}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("output"));
    }
}

/// Two logs of which a record is superseded in each, the closed segments ready to be cleaned.
fn two_dirty_logs() -> Home {
    let home = Home::new();
    let manager = home.open();
    for partition in ["t-0", "u-0"] {
        let log = log(&manager, partition);
        fill(&log, 3);
        append(&log, &[rec(NOW, "k0", "new")]);
        log.roll().unwrap();
    }
    manager.close().unwrap();
    home
}

const COMPACT: [&str; 2] = ["--config", "t:cleanup.policy=compact"];
const CLEANED: &str = "cleaned end=4 read=4 written=3 bytes_read=289 bytes_written=217 invalid=0\n";

#[test]
fn clean_prints_a_line_for_each_pass_and_nothing_when_all_is_clean() {
    let home = two_dirty_logs();
    let before = tree::content(&home.dir);
    let dry = run("clean", &home.dir, &[&COMPACT[..], &["--dry-run"]].concat());
    assert_eq!(
        (dry.code, dry.stdout),
        (0, format!("t-0 {CLEANED}")),
        "{}",
        dry.stderr
    );
    assert_eq!(
        tree::differences(&before, &tree::content(&home.dir)),
        [""; 0]
    );
    // Only what was given a configuration.
    let cleaned = run("clean", &home.dir, &COMPACT);
    assert_eq!(
        (cleaned.code, cleaned.stdout),
        (0, format!("t-0 {CLEANED}")),
        "{}",
        cleaned.stderr
    );
    assert!(home.is_clean());
    assert_eq!(home.retired_files(), [""; 0]);
    for args in [&[][..], &["t-0"], &["t-0", "--dry-run"]] {
        let again = run("clean", &home.dir, &[args, &COMPACT[..]].concat());
        assert_eq!((again.code, again.stdout.as_str()), (0, ""), "{args:?}");
    }
    let named = run(
        "clean",
        &home.dir,
        &["u-0", "--config", "cleanup.policy=compact"],
    );
    assert_eq!((named.code, named.stdout.as_str()), (0, CLEANED));
}

#[test]
fn clean_refuses_a_log_that_is_not_compacted() {
    let home = two_dirty_logs();
    let before = tree::content(&home.dir.join("t-0"));
    for args in [
        &["t-0"][..],
        &["t-0", "--config", "retention.ms=5"],
        &["t-0", "--dry-run"],
    ] {
        let refused = run("clean", &home.dir, args);
        assert_eq!((refused.code, refused.stdout.as_str()), (1, ""), "{args:?}");
        assert!(
            refused.stderr.contains("cleanup.policy"),
            "{}",
            refused.stderr
        );
    }
    assert_eq!(
        tree::differences(&before, &tree::content(&home.dir.join("t-0"))),
        [""; 0]
    );
    for args in [
        &["--roll"][..],
        &["--first-dirty-offset=3"],
        &["t-0", "--map-bytes=x"],
    ] {
        assert_eq!(run("clean", &home.dir, args).code, 2, "{args:?}");
    }
}

#[test]
fn clean_says_cleaned_error_for_a_log_that_it_cannot_clean() {
    let home = two_dirty_logs();
    home.flip("0.log", 70);
    let both = [&COMPACT[..], &["--config", "u:cleanup.policy=compact"]].concat();
    for more in [&["--dry-run"][..], &[]] {
        let named = run("clean", &home.dir, &[&["t-0"], &COMPACT[..], more].concat());
        assert_eq!((named.code, named.stdout.as_str()), (1, "cleaned error\n"));
        assert!(named.stderr.contains("CORRUPT_MESSAGE"), "{}", named.stderr);
    }
    let all = run("clean", &home.dir, &both);
    assert_eq!(all.code, 1);
    assert_eq!(all.stdout, format!("t-0 cleaned error\nu-0 {CLEANED}"));
}
