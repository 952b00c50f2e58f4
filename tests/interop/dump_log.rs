//! `klog dump-log` beside Kafka's own tool: the same options on the same files, the same bytes.
//!
//! `make test` takes a random sample of all files and options, `KLOG_DUMPS=all` (in `make test-long`) all of them.

use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

use flate2::read::GzDecoder;

use crate::kafka::referee;
use crate::support::random::Random;
use crate::support::{command, fixture, tree};

/// How many runs of each test.
const SAMPLE: usize = 250;

const DECODERS: [&str; 5] = [
    "offsets",
    "transaction-log",
    "cluster-metadata",
    "remote-log-metadata",
    "share-group-state",
];

/// What a run printed, and how it ended.
#[derive(Debug, PartialEq, Eq)]
struct Printed {
    out: Vec<u8>,
    err: String,
    code: i32,
}

fn by_klog(args: &[String]) -> Printed {
    let output = Command::new(command::binary())
        .arg("dump-log")
        .args(args)
        .output()
        .unwrap();
    Printed {
        out: output.stdout,
        err: String::from_utf8(output.stderr).unwrap(),
        code: output.status.code().unwrap(),
    }
}

fn by_kafka(args: &[String], home: &Path) -> Printed {
    let mut request = vec!["dumptool", home.to_str().unwrap()];
    request.extend(args.iter().map(String::as_str));
    let ended = referee().line(&request);
    let mut err = fs::read_to_string(home.join("err")).unwrap();
    let thrown = ended.trim_end().strip_prefix("thrown ");
    if let Some(thrown) = thrown {
        err = format!("{err}Exception in thread \"main\" {thrown}\n");
    }
    Printed {
        out: fs::read(home.join("out")).unwrap(),
        err,
        code: i32::from(thrown.is_some()),
    }
}

/// What is told of an exception is not compared: damage is described in klog's own words.
fn without_exception(mut printed: Printed) -> Printed {
    if let Some(at) = printed.err.find("Exception in thread") {
        printed.err.truncate(at);
    }
    printed
}

/// Where two outputs part.
fn first_difference(klog: &Printed, kafka: &Printed) -> String {
    let lines = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let (a, b) = (lines(&klog.out), lines(&kafka.out));
    let at = (0..a.len().max(b.len())).find(|&i| a.get(i) != b.get(i));
    format!(
        "line {at:?}\n  klog:  {:?}\n  Kafka: {:?}\nklog: {} {}\nKafka: {} {}",
        at.and_then(|i| a.get(i)),
        at.and_then(|i| b.get(i)),
        klog.code,
        klog.err,
        kafka.code,
        kafka.err
    )
}

/// Both print the same; whether there was an exception.
fn ensure_same(args: &[String], home: &Path) -> bool {
    // klog first: Kafka's tool creates an index that is missing.
    let klog = by_klog(args);
    let kafka = by_kafka(args, home);
    let thrown = kafka.code != 0;
    // Kafka's LZ4 copies from where it writes; to klog such a block is damaged.
    if klog.err.contains("0 is not a valid match offset") {
        assert!(kafka.out.starts_with(&klog.out), "{args:?}");
        return thrown;
    }
    let (klog, kafka) = (without_exception(klog), without_exception(kafka));
    assert!(
        klog == kafka,
        "{args:?}: {}",
        first_difference(&klog, &kafka)
    );
    thrown
}

fn args(files: &str, options: &[&str]) -> Vec<String> {
    ["--files", files]
        .iter()
        .chain(options)
        .map(|&arg| arg.to_owned())
        .collect()
}

fn files_of(dir: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = tree::content(dir)
        .into_keys()
        .map(|path| dir.join(path))
        .filter(|path| path.is_file())
        .collect();
    files.sort();
    files
}

/// The options that mean something for a file.
fn options_for(file: &Path) -> Vec<Vec<String>> {
    let owned = |options: &[&str]| options.iter().map(|&o| o.to_owned()).collect::<Vec<_>>();
    match file.extension().and_then(OsStr::to_str) {
        Some("log" | "checkpoint") => {
            let mut all = vec![
                owned(&[]),
                owned(&["--print-data-log"]),
                owned(&["--deep-iteration", "--max-bytes", "3000"]),
                owned(&["--print-data-log", "--skip-record-metadata"]),
            ];
            all.extend(DECODERS.map(|decoder| vec![format!("--{decoder}-decoder")]));
            all
        }
        Some("index" | "timeindex") => vec![
            owned(&[]),
            owned(&["--verify-index-only"]),
            owned(&["--index-sanity-check"]),
            owned(&["--max-message-size", "300"]),
        ],
        _ => vec![owned(&[])],
    }
}

fn wants_all() -> bool {
    std::env::var("KLOG_DUMPS").is_ok_and(|wanted| wanted == "all")
}

#[test]
fn klog_prints_files_of_every_kind_as_kafkas_tool() {
    let mut random = Random::from_env("klog_prints_files_of_every_kind_as_kafkas_tool");
    let home = tree::scratch();
    let fixtures: Vec<_> = fixture::NAMES
        .iter()
        .map(|name| fixture::extract(name))
        .collect();
    let files: Vec<PathBuf> = fixtures
        .iter()
        .flat_map(|fixture| files_of(&fixture.dir))
        .collect();
    let (mut runs, mut thrown) = (0, 0);
    if wants_all() {
        for file in &files {
            for options in options_for(file) {
                let options: Vec<&str> = options.iter().map(String::as_str).collect();
                thrown += usize::from(ensure_same(
                    &args(file.to_str().unwrap(), &options),
                    home.path(),
                ));
                runs += 1;
            }
        }
    } else {
        for _ in 0..SAMPLE {
            let file = random.pick(&files);
            let options = options_for(file);
            let options: Vec<&str> = random.pick(&options).iter().map(String::as_str).collect();
            thrown += usize::from(ensure_same(
                &args(file.to_str().unwrap(), &options),
                home.path(),
            ));
            runs += 1;
        }
    }
    eprintln!("{runs} runs, {thrown} with an exception");
    // All at once: what is wrong is told at the end, in the order of Kafka's tables.
    for fixture in &fixtures {
        let files: Vec<String> = files_of(&fixture.dir)
            .iter()
            .filter(|file| {
                ["log", "index", "timeindex"]
                    .iter()
                    .any(|e| file.extension() == Some(OsStr::new(e)))
            })
            .filter(|file| !file.to_str().unwrap().contains("/t-"))
            .map(|file| file.to_str().unwrap().to_owned())
            .collect();
        ensure_same(&args(&files.join(","), &["--deep-iteration"]), home.path());
    }
}

#[test]
fn klog_prints_damaged_files_as_kafkas_tool() {
    let mut random = Random::from_env("klog_prints_damaged_files_as_kafkas_tool");
    let home = tree::scratch();
    let fixtures: Vec<_> = fixture::NAMES
        .iter()
        .map(|name| fixture::extract(name))
        .collect();
    let files: Vec<PathBuf> = fixtures
        .iter()
        .flat_map(|fixture| files_of(&fixture.dir))
        .filter(|file| {
            let known = ["log", "index", "timeindex", "snapshot", "txnindex"];
            known
                .iter()
                .any(|e| file.extension() == Some(OsStr::new(e)))
        })
        .collect();
    let rounds = if wants_all() { 20 * SAMPLE } else { SAMPLE };
    let mut thrown = 0;
    for _ in 0..rounds {
        let file = random.pick(&files);
        let damaged = tree::scratch();
        let target = with_siblings(file, damaged.path());
        let victims = files_of(damaged.path());
        let victim = if random.once_in(3) {
            random.pick(&victims)
        } else {
            &target
        };
        damage(victim, &mut random);
        let options = options_for(&target);
        let options: Vec<&str> = random.pick(&options).iter().map(String::as_str).collect();
        thrown += usize::from(ensure_same(
            &args(target.to_str().unwrap(), &options),
            home.path(),
        ));
    }
    assert!(
        thrown > rounds / 50,
        "{thrown} of {rounds} ended with an exception"
    );
}

/// Copies a file and those of the same segment.
fn with_siblings(file: &Path, to: &Path) -> PathBuf {
    let stem = file.file_stem().unwrap();
    for sibling in fs::read_dir(file.parent().unwrap()).unwrap() {
        let sibling = sibling.unwrap().path();
        if sibling.is_file() && sibling.file_stem() == Some(stem) {
            fs::copy(&sibling, to.join(sibling.file_name().unwrap())).unwrap();
        }
    }
    to.join(file.file_name().unwrap())
}

fn damage(file: &Path, random: &mut Random) {
    let mut bytes = fs::read(file).unwrap();
    for _ in 0..=random.below(3) {
        if bytes.is_empty() {
            break;
        }
        // Most often near the start, where everything means something.
        let bound = if random.once_in(2) {
            bytes.len()
        } else {
            bytes.len().min(120)
        };
        let at = random.below(bound);
        match random.below(6) {
            0 | 1 => bytes[at] ^= 1 << random.below(8),
            2 => bytes[at] = u8::try_from(random.below(256)).unwrap(),
            3 => bytes.truncate(at),
            4 => {
                let end = (at + 1 + random.below(8)).min(bytes.len());
                bytes.drain(at..end);
            }
            _ => {
                let end = (at + 8).min(bytes.len());
                bytes[at..end].fill(if random.once_in(2) { 0 } else { 0xff });
            }
        }
    }
    fs::write(file, bytes).unwrap();
}

/// Records of every type and version of the internal topics, with random content, some of them damaged.
#[test]
fn klog_reads_records_of_internal_topics_as_kafkas_tool() {
    let home = tree::scratch();
    let log = home.path().join("00000000000000000000.log");
    let records = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interop/records");
    for name in DECODERS.iter().chain(&["control"]) {
        let packed = fs::File::open(records.join(format!("{name}.log.gz"))).unwrap();
        let mut bytes = Vec::new();
        GzDecoder::new(packed).read_to_end(&mut bytes).unwrap();
        fs::write(&log, bytes).unwrap();
        let own = format!("--{name}-decoder");
        let options = if *name == "control" {
            "--print-data-log"
        } else {
            &own
        };
        let args = args(log.to_str().unwrap(), &[options]);
        assert!(!ensure_same(&args, home.path()), "{name}");
        let printed = String::from_utf8(by_klog(&args).out).unwrap();
        let read = match *name {
            "remote-log-metadata" => "Metadata{",
            "control" => " {\"version\":",
            _ => "\"data\":{",
        };
        let count = printed.lines().filter(|line| line.contains(read)).count();
        assert!(count > 30, "{name}: only {count} were read");
    }
}

/// A difference would be found: a byte of the output, and an end by an exception.
#[test]
fn a_difference_to_kafkas_tool_would_be_found() {
    let home = tree::scratch();
    let fixture = fixture::extract("kafka-4.4.0-broker");
    let file = fixture.dir.join("codec-gzip-0/00000000000000000000.log");
    let plain = args(file.to_str().unwrap(), &[]);
    let deep = args(file.to_str().unwrap(), &["--deep-iteration"]);
    assert_ne!(by_klog(&plain), by_kafka(&deep, home.path()));
    assert_eq!(by_klog(&plain), by_kafka(&plain, home.path()));
    fs::write(&file, [0; 100]).unwrap();
    let kafka = by_kafka(&plain, home.path());
    assert_eq!(kafka.code, 1);
    assert_eq!(by_klog(&plain), kafka);
}
