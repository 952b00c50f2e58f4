//! Commands that write, ended by a signal at each of many moments: the directory is one that opens, nothing that was there is
//! lost, and the same command completes when it is run again.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a failure fails the test"
)]

mod support;

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use klog::format::names::parse_topic_partition;
use klog::format::uuid::Uuid;
use klog::manager::CreateOptions;

use support::command::{binary, klog};
use support::engine::{Home, NOW, append, rec, t0};
use support::{shim, tree};

/// At how many moments of each command it is ended; the signals take turns.
const MOMENTS: u64 = 14;
const SIGNALS: [i32; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGKILL];

/// Where a case works: `logs` and what else it makes.
struct Place(tempfile::TempDir);

impl Place {
    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }
}

struct Case {
    name: &'static str,
    /// What is in `logs`, and in `other`.
    make: fn(&Place),
    /// The arguments; the number tells the runs apart.
    args: fn(&Place, u32) -> Vec<String>,
    input: fn() -> Vec<u8>,
    /// The directory that is to be like that of an undisturbed run at the end.
    result: &'static str,
}

fn lines() -> Vec<u8> {
    (0..200)
        .flat_map(|i| format!("{i}\t{NOW}\tk{}\t{}\n", i % 5, "v".repeat(100)).into_bytes())
        .collect()
}

/// Some segments of `t-0`, closed in order.
fn make_logs(place: &Place, name: &str) -> Home {
    let home = Home::at(Path::new(&place.path(name))).set("internal.segment.bytes", 4096);
    fs::create_dir_all(&home.dir).unwrap();
    let manager = home.open();
    let log = t0(&manager);
    for i in 0..150 {
        append(
            &log,
            &[rec(NOW + i, &format!("k{}", i % 7), &"v".repeat(80))],
        );
    }
    manager.close().unwrap();
    home
}

fn clean(place: &Place) {
    make_logs(place, "logs");
}

fn crashed(place: &Place) {
    let home = make_logs(place, "logs");
    home.forget_marker();
    fs::remove_file(home.dir.join("recovery-point-offset-checkpoint")).unwrap();
}

fn damaged(place: &Place) {
    let home = make_logs(place, "logs");
    home.extend("0.index", &[7; 100]);
    let last = *home.sizes(".log").last().unwrap();
    let name = format!("{}.log", last.0);
    home.flip(&name, usize::try_from(last.1 / 2).unwrap() + 40);
}

fn for_adoption(place: &Place) {
    make_logs(place, "logs");
    let broker = Home::at(Path::new(&place.path("other")));
    fs::create_dir_all(&broker.dir).unwrap();
    let manager = broker.open();
    let options = CreateOptions {
        topic_id: Some(Uuid::parse("Ehx7oGy6RYuFZd6eHiM37g").unwrap()),
        ..CreateOptions::default()
    };
    let partition = parse_topic_partition("t-0").unwrap();
    manager.get_or_create_log(&partition, &options).unwrap();
    manager.close().unwrap();
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

const CASES: [Case; 7] = [
    Case {
        name: "append",
        make: clean,
        args: |place, _| owned(&["append", &place.path("logs"), "t-0", "--batch-bytes=1000"]),
        input: lines,
        result: "logs",
    },
    Case {
        name: "clean",
        make: clean,
        args: |place, _| {
            owned(&[
                "clean",
                &place.path("logs"),
                "t-0",
                "--config",
                "cleanup.policy=compact",
                "--roll",
            ])
        },
        input: Vec::new,
        result: "logs",
    },
    Case {
        name: "retain",
        make: clean,
        args: |place, _| {
            owned(&[
                "retain",
                &place.path("logs"),
                "t-0",
                "--config",
                "retention.bytes=6000",
            ])
        },
        input: Vec::new,
        result: "logs",
    },
    Case {
        name: "recover",
        make: crashed,
        args: |place, _| owned(&["recover", &place.path("logs")]),
        input: Vec::new,
        result: "logs",
    },
    Case {
        name: "repair",
        make: damaged,
        args: |place, run| {
            let kept = place.path(&format!("kept-{run}"));
            owned(&[
                "repair",
                &place.path("logs"),
                "--apply",
                "--quarantine",
                &kept,
            ])
        },
        input: Vec::new,
        result: "logs",
    },
    Case {
        name: "copy",
        make: clean,
        args: |place, _| owned(&["copy", &place.path("logs"), &place.path("other")]),
        input: Vec::new,
        result: "other",
    },
    Case {
        name: "adopt",
        make: for_adoption,
        args: |place, _| owned(&["adopt", &place.path("logs"), &place.path("other"), "t-0"]),
        input: Vec::new,
        result: "other",
    },
];

impl Case {
    fn run(&self, place: &Place, run: u32, envs: &[(&str, String)]) -> Output {
        let mut child = Command::new(binary())
            .args((self.args)(place, run))
            .envs(envs.iter().map(|(key, value)| (*key, value.as_str())))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // One that ends early reads no further.
        let _ = std::io::Write::write_all(&mut stdin, &(self.input)());
        drop(stdin);
        child.wait_with_output().unwrap()
    }
}

fn place() -> Place {
    Place(tree::scratch())
}

/// Records without their offsets; none if there is no such log.
fn records(dir: &str) -> Vec<String> {
    let run = klog(["cat", dir, "t-0"]);
    assert!(
        run.code == 0
            || run.stderr.contains("UNKNOWN_TOPIC")
            || run.stderr.contains("LOG_DIR_NOT_FOUND"),
        "{}",
        run.stderr
    );
    let without = |line: &str| line.split_once('\t').unwrap().1.to_owned();
    run.stdout.lines().map(without).collect()
}

/// Each record in the order of `from`, which may have more.
fn is_among(records: &[String], from: &[String]) -> bool {
    let mut from = from.iter();
    records
        .iter()
        .all(|record| from.any(|other| other == record))
}

fn ensure_recovers(case: &Case, shim: &Path) -> u64 {
    let preload = ("LD_PRELOAD", shim.to_str().unwrap().to_owned());
    let whole = place();
    (case.make)(&whole);
    let before = records(&whole.path("logs"));
    let count = whole.path("calls");
    let done = case.run(&whole, 0, &[preload.clone(), ("KLOG_CALLS", count.clone())]);
    let said = String::from_utf8_lossy(&done.stderr);
    let printed = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{}: {said}{printed}", case.name);
    let expected = records(&whole.path(case.result));
    let calls: u64 = fs::read_to_string(count).unwrap().parse().unwrap();
    let mut moments: Vec<u64> = (1..=3).collect();
    moments.extend((0..MOMENTS).map(|i| 1 + (calls - 1) * i / (MOMENTS - 1)));
    for (moment, signal) in moments.iter().zip(SIGNALS.iter().cycle()) {
        let what = format!(
            "{} ended by signal {signal} at call {moment} of {calls}",
            case.name
        );
        let place = place();
        (case.make)(&place);
        let envs = [
            preload.clone(),
            ("KLOG_DIE_AT", moment.to_string()),
            ("KLOG_DIE_BY", signal.to_string()),
        ];
        let ended = case.run(&place, 1, &envs);
        // What shells tell as 130 for SIGINT.
        assert_eq!(
            ended.status.signal(),
            Some(*signal),
            "{what}: {:?}",
            ended.status
        );
        // It opens, by whoever looks, and has what it had, or what it is to have, or something in between.
        let now = records(&place.path("logs"));
        let fits = match case.name {
            "append" => now.starts_with(&before) && expected.starts_with(&now),
            _ => is_among(&now, &before),
        };
        assert!(fits, "{what}: {} records of {}", now.len(), before.len());
        if case.result == "logs" && case.name != "append" {
            assert!(is_among(&expected, &now), "{what}");
        }
        let again = case.run(&place, 2, &[]);
        let said = String::from_utf8_lossy(&again.stderr);
        let is_done_already = case.name == "adopt" && records(&place.path("other")) == expected;
        assert!(again.status.success() || is_done_already, "{what}: {said}");
        let now = records(&place.path(case.result));
        match case.name {
            "append" => {
                let (first, second) = now.split_at(now.len() - 200);
                assert!(expected.starts_with(first), "{what}");
                assert_eq!(second, &expected[expected.len() - 200..], "{what}");
            }
            _ => assert_eq!(now, expected, "{what}"),
        }
        let verified = klog(["verify", &place.path(case.result)]);
        assert_eq!(verified.code, 0, "{what}: {}", verified.stdout);
        assert!(
            !Path::new(&place.path(case.result)).join(".lock").exists(),
            "{what}"
        );
        if case.name == "repair" {
            ensure_all_is_kept(&place, &whole, &what);
        }
    }
    calls
}

/// What the undisturbed repair put into its quarantine is in one of the two others.
fn ensure_all_is_kept(place: &Place, whole: &Place, what: &str) {
    let kept = |place: &Place, run: u32| {
        let path = PathBuf::from(place.path(&format!("kept-{run}")));
        if path.exists() {
            tree::content(&path)
        } else {
            tree::Content::default()
        }
    };
    let (first, second) = (kept(place, 1), kept(place, 2));
    for (path, bytes) in kept(whole, 0) {
        if bytes.is_some() && path.extension().is_none_or(|e| e != "kafka_cleanshutdown") {
            let is_kept = first.get(&path) == Some(&bytes) || second.get(&path) == Some(&bytes);
            assert!(is_kept, "{what}: {} is not kept", path.display());
        }
    }
}

#[test]
fn a_command_that_is_ended_by_a_signal_leaves_what_the_next_run_completes() {
    let root = tree::scratch();
    let shim = shim::build(root.path());
    for case in &CASES {
        let calls = ensure_recovers(case, &shim);
        assert!(calls > 3, "{} made {calls} calls", case.name);
        println!("{}: {calls} calls that change something", case.name);
    }
}

#[test]
fn a_shell_sees_130_after_an_interrupt() {
    let root = tree::scratch();
    let shim = shim::build(root.path());
    let place = place();
    crashed(&place);
    let line = format!("{} recover {}; echo $?", binary(), place.path("logs"));
    let output = Command::new("bash")
        .args(["-c", &line])
        .env("LD_PRELOAD", &shim)
        .env("KLOG_DIE_AT", "2")
        .env("KLOG_DIE_BY", libc::SIGINT.to_string())
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "130\n",
        "{output:?}"
    );
}
