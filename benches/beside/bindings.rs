//! Rows of the same work from Go and from Java, beside C: each language's own program measures it, where its tools are there.

use std::path::Path;
use std::process::Command;

use super::Bench;
use super::rounds::{M_RECORDS, Row};

const APPEND_GO: &str = "build and append, Go";
const SCAN_GO: &str = "scan, Go";
const APPEND_JAVA: &str = "build and append, Java";
const SCAN_JAVA: &str = "scan, Java";
const GO_TIMES: &str = "40x";
const GO_TIMES_LONG: &str = "300x";

/// What a program printed; none, and a line about it, if it cannot be run.
fn said(command: &mut Command, what: &str) -> Option<String> {
    let output = command.current_dir(env!("CARGO_MANIFEST_DIR")).output();
    match output {
        Ok(output) if output.status.success() => {
            Some(String::from_utf8_lossy(&output.stdout).into_owned())
        }
        Ok(output) => {
            let error = String::from_utf8_lossy(&output.stderr);
            let error = if error.is_empty() {
                String::from_utf8_lossy(&output.stdout)
            } else {
                error
            };
            println!(
                "{what}: left out: {}",
                error.lines().last().unwrap_or_default()
            );
            None
        }
        Err(error) => {
            println!("{what}: left out: {error}");
            None
        }
    }
}

fn row(bench: &mut Bench, name: &'static str, includes: &'static str, ns: f64, ns_of_c: f64) {
    if bench.wants(name) {
        let rate = |ns: f64| vec![1e9 / ns];
        let other = Some(("C", rate(ns_of_c), None));
        bench.add(Row::new((name, includes, M_RECORDS), rate(ns), None, other));
    }
}

/// The number in front of a unit, as `go test -bench` prints metrics.
fn metric(text: &str, unit: &str) -> Option<f64> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let at = words.iter().position(|word| *word == unit)?;
    words.get(at.checked_sub(1)?)?.parse().ok()
}

fn go(bench: &mut Bench) {
    let times = if bench.size.rounds > 7 {
        GO_TIMES_LONG
    } else {
        GO_TIMES
    };
    let script = format!(
        "tests/run/go-lib >/dev/null 2>&1 && cd bindings/go && go test -run none -bench BesideC -benchtime {times} ."
    );
    let Some(text) = said(Command::new("sh").args(["-c", &script]), "Go") else {
        return;
    };
    let ns = |unit| metric(&text, unit);
    if let (Some(append), Some(of_c)) = (ns("append-go-ns"), ns("append-c-ns")) {
        let includes = "1,000 a batch, packed by Go; C: an array of structs, in the same run; the fastest of each";
        row(bench, APPEND_GO, includes, append, of_c);
    }
    if let (Some(scan), Some(of_c)) = (ns("scan-go-ns"), ns("scan-c-ns")) {
        let includes = "Cursor.Next, each record decoded; C: klog_cursor_next, in the same run; the fastest of each";
        row(bench, SCAN_GO, includes, scan, of_c);
    }
}

/// A line of the Java program's table: the work, C's ns, then ns, multiple and bytes over JNI, and of others.
fn java_line(text: &str, work: &str) -> Option<(f64, f64)> {
    let line = text
        .lines()
        .find(|line| line.split_whitespace().next() == Some(work))?;
    let mut words = line.split_whitespace().skip(1);
    let of_c = words.next()?.parse().ok()?;
    Some((words.next()?.parse().ok()?, of_c))
}

fn java(bench: &mut Bench) {
    let turns = if bench.size.rounds > 7 { "3" } else { "1" };
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("bindings/java/with-kafka/bench");
    let Some(text) = said(Command::new(program).arg(turns), "Java") else {
        return;
    };
    for (name, work) in [(APPEND_JAVA, "append"), (SCAN_JAVA, "scan")] {
        if let Some((ns, of_c)) = java_line(&text, work) {
            let includes = "1,000 records a call, over JNI, measured by JMH; C: structs, in turns; the fastest of each";
            row(bench, name, includes, ns, of_c);
        }
    }
}

pub(crate) fn rows(bench: &mut Bench) {
    if bench.wants(APPEND_GO) || bench.wants(SCAN_GO) {
        go(bench);
    }
    if bench.wants(APPEND_JAVA) || bench.wants(SCAN_JAVA) {
        java(bench);
    }
}
