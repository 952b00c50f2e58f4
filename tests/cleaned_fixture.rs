//! klog's cleaner against Kafka's `Cleaner` on the logs of `kafka-4.4.0-mixed`, four cases each, pass after pass
//! (fixtures/README.md 3.2): the counts of each pass, the segments after it, and the whole log after the last.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::format_collect,
    reason = "a failure fails the test"
)]

mod support;

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use klog::cleaner::examine::{Active, examine};
use klog::cleaner::filter::Fate;
use klog::cleaner::pass::{PassOptions, Surroundings, clean};
use klog::cleaner::stats::Cleaned;
use klog::cleaner::watch::Watch;
use klog::format::names::{SegmentFileKind, parse_topic_partition};
use klog::inspect::log_text;
use klog::io::RealFs;
use klog::log::Log;
use klog::types::{Offset, TimestampMs};

use support::canonical::Text;
use support::cleaned::{Case, Pass, cases, without_sizes};
use support::command::Run;
use support::engine::{Home, segments};
use support::{command, fixture, tree};

/// The clock of the loads, and the time of a segment that is rolled.
const LOADED_AT: i64 = 1_767_225_600_000;

#[test]
fn an_open_log_is_cleaned_as_kafka_cleans_it() {
    let mut problems = Vec::new();
    let mut exact = 0;
    let cases = cases();
    for case in &cases {
        match compare(case) {
            Ok(is_exact) => exact += usize::from(is_exact),
            Err(problem) => problems.push(format!("{} {}: {problem}", case.partition, case.letter)),
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    // What is uncompressed is the same byte for byte.
    assert!(
        exact >= 4,
        "{exact} of {} are the same to the byte",
        cases.len()
    );
}

/// Whether klog leaves what Kafka left, to the byte or but for what the compressor made; else the difference.
fn compare(case: &Case) -> Result<bool, String> {
    let found = clean_all(case);
    let expected = expected_text(case);
    if found == expected {
        return Ok(true);
    }
    if case.partition == "mix-keyed-0" {
        return Err(difference(&expected, &found));
    }
    let reduced = |text: &str| -> String {
        let lines = text.lines().filter_map(without_sizes);
        lines.map(|line| line + "\n").collect()
    };
    let (expected, found) = (reduced(&expected), reduced(&found));
    if expected == found {
        Ok(false)
    } else {
        Err(difference(&expected, &found))
    }
}

fn difference(expected: &str, found: &str) -> String {
    let lines = expected.lines().zip(found.lines()).enumerate();
    for (i, (expected, found)) in lines {
        if expected != found {
            return format!("line {}\n  expected {expected}\n  found    {found}", i + 1);
        }
    }
    format!(
        "{} lines expected, {} found",
        expected.lines().count(),
        found.lines().count()
    )
}

fn expected_text(case: &Case) -> String {
    let mut text = String::new();
    for pass in &case.passes {
        let number = |key| pass.number(key);
        let _ = writeln!(
            text,
            "pass first_uncleanable={} clean_bytes={} cleanable_bytes={}\n{}\n{}",
            number("first_uncleanable"),
            number("clean_bytes"),
            number("cleanable_bytes"),
            pass.cleaned,
            pass.after
        );
    }
    // The indexes of the active segment are in memory until it is closed (deviations.md D92).
    let active = case.text.iter().rev().find_map(|line| {
        let base = line.strip_prefix("seg ")?.split(' ').next()?;
        base.parse::<i64>().ok()
    });
    let active = format!("file {:020}", active.unwrap());
    let in_memory = [format!("{active}.index"), format!("{active}.timeindex")];
    for line in case.text.iter().filter(|line| !in_memory.contains(line)) {
        let _ = writeln!(text, "{line}");
    }
    text
}

fn clean_all(case: &Case) -> String {
    let fixture = fixture::extract("kafka-4.4.0-mixed");
    let mut home = Home::at(&fixture.dir);
    for (key, value) in case.config() {
        home = home.set_for(case.topic(), key, value);
    }
    home.clock.set(TimestampMs(LOADED_AT));
    let manager = home.open();
    let log = manager
        .log(&parse_topic_partition(&case.partition).unwrap())
        .unwrap();
    if case.rolls() {
        log.roll().unwrap();
        let active = log.segments().last().cloned().unwrap();
        let time = TimestampMs(LOADED_AT);
        active.set_modified(SegmentFileKind::Log, time).unwrap();
    }
    let mut text = String::new();
    for pass in &case.passes {
        text += &one_pass(case, pass, &log);
    }
    let active = log.segments().last().unwrap().base_offset();
    let in_memory = [".index", ".timeindex"].map(|end| format!("file {:020}{end}", active.0));
    let lines = log_text(&RealFs, &log).unwrap();
    for line in lines
        .lines()
        .skip(1)
        .filter(|line| !in_memory.iter().any(|name| name == line))
    {
        let _ = match line.strip_prefix("seg ") {
            None => writeln!(text, "{line}"),
            Some(rest) => {
                let base = rest.split(' ').next().unwrap().parse().unwrap();
                let segments = log.segments();
                let modified = segments.floor(Offset(base)).unwrap().modified().unwrap();
                writeln!(text, "{line} mtime={modified}")
            }
        };
    }
    manager.close().unwrap();
    text
}

fn one_pass(case: &Case, pass: &Pass, log: &Arc<Log>) -> String {
    let now = TimestampMs(pass.number("now"));
    let first_dirty = Offset(pass.number("first_dirty"));
    let examined = examine(log, Some(first_dirty), Active::AsItIs, now).unwrap();
    let dirty = examined.cleanable;
    let options = PassOptions {
        load_factor: case.get("load_factor").parse().unwrap(),
        ..PassOptions::new(now, pass.number("map_bytes").cast_unsigned())
    };
    let watch = Watch::default();
    let cleaned = clean(log, &examined, &options, Surroundings::new(&watch));
    let after: Vec<String> = segments(log)
        .iter()
        .map(|(base, size)| format!("{base}:{size}"))
        .collect();
    format!(
        "pass first_uncleanable={} clean_bytes={} cleanable_bytes={}\n{}\nafter {}\n",
        dirty.first_uncleanable,
        dirty.clean_bytes,
        dirty.cleanable_bytes,
        cleaned.map_or_else(
            |e| format!("cleaned error {e}"),
            |cleaned| line_of(&cleaned)
        ),
        after.join(" ")
    )
}

fn line_of(cleaned: &Cleaned) -> String {
    let stats = &cleaned.stats;
    format!(
        "cleaned end={} read={} written={} bytes_read={} bytes_written={} invalid={}",
        cleaned.end,
        stats.read_records,
        stats.kept_records(),
        stats.read_bytes,
        stats.written_bytes,
        stats.records(Fate::DropNoKey)
    )
}

/// Pass by pass through the command, which opens and closes the directory each time.
#[test]
fn the_command_cleans_as_kafka_does() {
    let mut problems = Vec::new();
    for case in &cases() {
        if let Err(problem) = compare_command(case) {
            problems.push(format!("{} {}: {problem}", case.partition, case.letter));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

fn compare_command(case: &Case) -> Result<(), String> {
    let fixture = fixture::extract("kafka-4.4.0-mixed");
    for (i, pass) in case.passes.iter().enumerate() {
        let rolls = case.rolls() && i == 0;
        let before = tree::content(&fixture.dir);
        let dry = run_pass(&fixture.dir, case, pass, rolls, &["--dry-run"]);
        assert_eq!(
            tree::differences(&before, &tree::content(&fixture.dir)),
            [""; 0],
            "a dry run changed something"
        );
        let wet = run_pass(&fixture.dir, case, pass, rolls, &[]);
        assert_eq!(
            (dry.code, wet.code),
            (0, 0),
            "{} {}",
            dry.stderr,
            wet.stderr
        );
        assert_eq!(dry.stdout, wet.stdout, "what a dry run says comes true");
        let is_exact = case.partition == "mix-keyed-0";
        let line = |text: &str| -> Option<String> {
            if is_exact {
                Some(text.trim().to_owned())
            } else {
                without_sizes(text.trim())
            }
        };
        if line(&wet.stdout) != line(&pass.cleaned) {
            return Err(format!(
                "pass {i}: expected {}, found {}",
                pass.cleaned, wet.stdout
            ));
        }
    }
    let text = Text::parse(&command::dump(&fixture.dir));
    let found = text.log(&case.partition).0.iter().map(String::as_str);
    let expected = case.text.iter().map(String::as_str);
    let kept = |line: &&str| {
        let word = line.split(' ').next().unwrap_or_default();
        ["seg", "batch", "rec", "ctl", "epoch"].contains(&word)
    };
    let is_exact = case.partition == "mix-keyed-0";
    let normal = |line: &str| {
        let line = line.split(" mtime=").next().unwrap_or(line);
        if is_exact {
            Some(line.to_owned())
        } else {
            without_sizes(line)
        }
    };
    let lines = |of: Vec<&str>| {
        of.into_iter()
            .filter_map(normal)
            .map(|l| l + "\n")
            .collect::<String>()
    };
    let (expected, found) = (
        lines(expected.filter(kept).collect()),
        lines(found.filter(kept).collect()),
    );
    if expected == found {
        Ok(())
    } else {
        Err(difference(&expected, &found))
    }
}

fn run_pass(dir: &Path, case: &Case, pass: &Pass, rolls: bool, more: &[&str]) -> Run {
    let mut args: Vec<String> = vec![
        "clean".to_owned(),
        dir.display().to_string(),
        case.partition.clone(),
        format!("--first-dirty-offset={}", pass.number("first_dirty")),
        format!("--now-ms={}", pass.number("now")),
        format!("--map-bytes={}", pass.number("map_bytes")),
        "--config".to_owned(),
        format!(
            "log.cleaner.io.buffer.load.factor={}",
            case.get("load_factor")
        ),
    ];
    for (key, value) in case.config() {
        args.extend(["--config".to_owned(), format!("{key}={value}")]);
    }
    args.extend(rolls.then(|| "--roll".to_owned()));
    args.extend(more.iter().map(|&arg| arg.to_owned()));
    command::klog(args)
}
