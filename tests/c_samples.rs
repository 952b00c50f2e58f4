//! The samples in bindings/c: short, compiled strictly, doing what they say, clean under valgrind.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::panic)]

#[path = "support/native.rs"]
#[allow(dead_code, reason = "each test takes what it needs")]
mod native;
#[path = "support/skip.rs"]
mod skip;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use native::{Linking, ROOT, compile_c, data_dir, printed, run_watched, run_watched_with, scratch};

fn sample(scratch: &Path, name: &str) -> PathBuf {
    let source = format!("{ROOT}/bindings/c/{name}.c");
    compile_c(scratch, Path::new(&source), name, Linking::Shared, &[])
}

/// Runs a sample on an empty directory.
fn said(name: &str) -> String {
    let scratch = scratch();
    let program = sample(scratch.path(), name);
    printed(Command::new(program).arg(data_dir(scratch.path(), "data")))
}

fn names() -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(format!("{ROOT}/bindings/c"))
        .unwrap()
        .filter_map(|entry| {
            let name = entry.unwrap().file_name().into_string().unwrap();
            Some(name.strip_suffix(".c")?.to_owned())
        })
        .collect();
    names.sort();
    names
}

#[test]
fn every_sample_is_short_and_tested_here() {
    let names = names();
    let all = [
        "append",
        "appender",
        "compaction",
        "epoll",
        "fetch",
        "retention",
        "sendfile",
    ];
    assert_eq!(names, all);
    for name in &names {
        let text = std::fs::read_to_string(format!("{ROOT}/bindings/c/{name}.c")).unwrap();
        assert!(text.lines().count() < 80, "{name}");
        assert!(text.contains(&format!("Usage: {name} DIR")), "{name}");
    }
    let all: String = names
        .iter()
        .map(|name| std::fs::read_to_string(format!("{ROOT}/bindings/c/{name}.c")).unwrap())
        .collect();
    for verb in [
        "klog_manager_open(",
        "klog_append(",
        "klog_read(",
        "klog_clean(",
    ] {
        assert!(all.contains(verb), "{verb}");
    }
}

#[test]
fn append_says_where_records_went() {
    assert_eq!(
        said("append"),
        "one record at 0\n3 records at 1..3\nnot appended: the log ends at 4\nappended at 4\n"
    );
}

#[test]
fn fetch_follows_what_another_program_appends() {
    let scratch = scratch();
    let data = data_dir(scratch.path(), "data");
    let append = sample(scratch.path(), "append");
    let fetch = sample(scratch.path(), "fetch");
    printed(Command::new(&append).arg(&data));
    let mut follower = Command::new(fetch)
        .args([data.as_os_str(), "10".as_ref()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // The second five come while it follows, or before it looks; it gives ten in either case.
    printed(Command::new(&append).arg(&data));
    let mut text = String::new();
    std::io::Read::read_to_string(follower.stdout.as_mut().unwrap(), &mut text).unwrap();
    assert!(follower.wait().unwrap().success(), "{text}");
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("fetched "), "{text}");
    let five = [
        "order-1=paid",
        "order-2=new",
        "order-3=new",
        "order-4=new",
        "order-2=new",
    ];
    let expected: Vec<String> = (0..10).map(|n| format!("{n} {}", five[n % 5])).collect();
    assert_eq!(lines[1..], expected);
}

#[test]
fn retention_tells_first_and_then_does_it() {
    assert_eq!(
        said("retention"),
        "appended: offsets 0..9 in 3 segments\n\
         1 segments would go\n\
         nothing has: offsets 0..9 in 3 segments\n\
         1 segments went\n\
         after retention: offsets 3..9 in 2 segments\n"
    );
}

#[test]
fn epoll_hears_of_what_comes() {
    assert_eq!(said("epoll"), "0: tick\n1: tick\n2: tick\n");
}

/// What samples in other languages print for the same.
#[test]
fn samples_say_what_those_in_other_languages_say() {
    for (name, others) in [
        (
            "compaction",
            &[
                "go/examples/compaction/output.txt",
                "java/examples/Compaction.out",
            ][..],
        ),
        ("append", &["java/examples/Append.out"]),
        ("retention", &["java/examples/Retention.out"]),
    ] {
        let said = said(name);
        for other in others {
            let path = format!("{ROOT}/bindings/{other}");
            assert_eq!(said, std::fs::read_to_string(path).unwrap(), "{other}");
        }
    }
}

#[test]
fn an_appender_is_followed_by_a_cursor_that_waits() {
    assert_eq!(
        said("appender"),
        "followed 1000 records\nthen: KLOG_ERR_CANCELLED\n"
    );
}

#[test]
fn sendfile_sends_what_lies_in_the_file() {
    assert_eq!(said("sendfile"), "2 two\n3 three\n4 four\n");
}

#[test]
fn samples_are_clean_under_valgrind() {
    if skip::is_skipped("valgrind") {
        return;
    }
    let scratch = scratch();
    for name in names() {
        let program = sample(scratch.path(), &name);
        let data = data_dir(scratch.path(), &format!("{name}-data"));
        if name == "fetch" {
            printed(Command::new(sample(scratch.path(), "append")).arg(&data));
            // Following compares the content of an Option together with its tag, where the compiler likes that better, and
            // drops what comes of it if there is no content. Valgrind sees the comparison alone.
            let options = ["--undef-value-errors=no"];
            run_watched_with(&options, &program, &[&data, Path::new("5")]);
        } else {
            run_watched(&program, &[&data]);
        }
    }
}
