//! The C++ header: compiled in every mode without a warning, with and without exceptions and RTTI, and run with both
//! libraries, under valgrind and the sanitizers.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::panic)]

#[path = "support/native.rs"]
#[allow(dead_code, reason = "each test takes what it needs")]
mod native;
#[path = "support/skip.rs"]
mod skip;

use std::path::{Path, PathBuf};
use std::process::Command;

use native::{
    CONCURRENT, Linking, ROOT, SANITIZERS, compilers, data_dir, part_of_rounds, play, printed, run,
    run_watched, scenarios, scratch,
};

/// The modes that a program may be in: none may see a warning, or lack anything.
const MODES: [&[&str]; 3] = [
    &[],
    &["-fno-exceptions", "-fno-rtti"],
    &["-DKLOG_DEBUG", "-DKLOG_EXCEPTIONS=0"],
];

fn compiler(name: &str, standard: &str) -> Command {
    let mut cxx = Command::new(name);
    cxx.args([
        &format!("-std={standard}"),
        "-g",
        "-Wall",
        "-Wextra",
        "-Wpedantic",
        "-Wconversion",
        "-Wsign-conversion",
        "-Wshadow",
        "-Wnon-virtual-dtor",
        "-Werror",
        "-pthread",
    ]);
    cxx.args([
        format!("-I{ROOT}/include"),
        format!("-I{ROOT}/bindings/cpp"),
    ]);
    cxx
}

fn everything(scratch: &Path, standard: &str, linking: Linking, mode: &[&str]) -> PathBuf {
    let program = scratch.join(format!("everything-{standard}-{}", mode.len()));
    let mut cxx = compiler("c++", standard);
    cxx.args(mode)
        .arg(format!("{ROOT}/tests/cpp/everything.cpp"))
        .arg("-o")
        .arg(&program);
    linking.add_to(&mut cxx, scratch);
    run(&mut cxx);
    program
}

#[test]
fn the_header_compiles_in_every_mode_without_a_warning() {
    for name in compilers(&["c++", "clang++"]) {
        for standard in ["c++17", "c++20", "c++2b"] {
            for mode in MODES {
                run(compiler(name, standard)
                    .args(mode)
                    .arg("-fsyntax-only")
                    .arg(format!("{ROOT}/tests/cpp/everything.cpp")));
            }
        }
    }
}

/// What is as good as it is in C, without a class.
const LEFT_IN_C: [&str; 3] = [
    "klog_features",
    "klog_version_number",
    "klog_version_string",
];

#[test]
fn every_function_of_the_library_is_in_the_header() {
    let headers: String = std::fs::read_dir(format!("{ROOT}/bindings/cpp"))
        .unwrap()
        .map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap())
        .collect();
    let script = std::fs::read_to_string(format!("{ROOT}/packaging/klog.map")).unwrap();
    let missing: Vec<&str> = script
        .lines()
        .filter_map(|line| line.trim().strip_suffix(';'))
        .filter(|name| name.starts_with("klog_"))
        .filter(|name| {
            !headers.contains(&format!("{name}(")) && !headers.contains(&format!(", {name}>"))
        })
        .collect();
    assert_eq!(missing, LEFT_IN_C);
}

#[test]
fn everything_of_the_header_works_with_both_libraries() {
    let scratch = scratch();
    for (n, (standard, linking, mode)) in [
        ("c++17", Linking::Shared, MODES[1]),
        ("c++20", Linking::Static, MODES[2]),
    ]
    .into_iter()
    .enumerate()
    {
        let program = everything(scratch.path(), standard, linking, mode);
        let data = data_dir(scratch.path(), &n.to_string());
        let said = printed(Command::new(program).arg(data));
        assert!(said.ends_with(" checks\n"), "{said}");
    }
}

#[test]
fn everything_is_clean_under_valgrind() {
    if skip::is_skipped("valgrind") {
        return;
    }
    let scratch = scratch();
    let program = everything(scratch.path(), "c++17", Linking::Shared, MODES[0]);
    let data = data_dir(scratch.path(), "data");
    run_watched(&program, &[&data]);
}

#[test]
fn everything_is_clean_under_the_address_and_undefined_sanitizers() {
    if skip::is_skipped("sanitizers") {
        return;
    }
    let scratch = scratch();
    let program = everything(scratch.path(), "c++20", Linking::Static, &SANITIZERS);
    run(Command::new(program).arg(data_dir(scratch.path(), "data")));
}

fn scenarios_program(scratch: &Path, linking: Linking, mode: &[&str]) -> PathBuf {
    let program = scratch.join("scenarios");
    let mut cxx = compiler("c++", "c++17");
    cxx.args(mode)
        .arg(format!("{ROOT}/tests/cpp/scenarios.cpp"))
        .arg("-o")
        .arg(&program);
    linking.add_to(&mut cxx, scratch);
    run(&mut cxx);
    program
}

/// The scenarios that every binding runs: what Kafka 4.4.0 answered (tests/scenarios/README.md).
#[test]
fn scenarios_get_the_answers_that_kafka_gave() {
    let scratch = scratch();
    let program = scenarios_program(scratch.path(), Linking::Shared, &[]);
    for scenario in scenarios() {
        play(&program, scratch.path(), &scenario, &[]);
    }
    let wrong = scratch.path().join("wrong.scn");
    std::fs::write(&wrong, "topic a\nend > 7\n").unwrap();
    let told = Command::new(&program)
        .arg(&wrong)
        .arg(data_dir(scratch.path(), "wrong"))
        .output()
        .unwrap();
    let told = String::from_utf8(told.stdout).unwrap();
    assert_eq!(told, "line 2: end: 0, expected 7\n2 steps, 1 wrong\n");
    let parts = ["1", &part_of_rounds()];
    play(&program, scratch.path(), Path::new(CONCURRENT), &parts);
}

#[test]
fn scenarios_are_clean_under_the_address_and_undefined_sanitizers() {
    if skip::is_skipped("sanitizers") {
        return;
    }
    let scratch = scratch();
    let program = scenarios_program(scratch.path(), Linking::Static, &SANITIZERS);
    for scenario in scenarios() {
        play(&program, scratch.path(), &scenario, &[]);
    }
    let parts = ["10", "50"];
    play(&program, scratch.path(), Path::new(CONCURRENT), &parts);
}

/// The C++ program of the README.
#[test]
fn the_readmes_program_does_what_it_says() {
    let scratch = scratch();
    let readme = std::fs::read_to_string(format!("{ROOT}/README.md")).unwrap();
    let (_, behind) = readme.split_once("```cpp\n").unwrap();
    let source = scratch.path().join("readme.cpp");
    std::fs::write(&source, behind.split_once("```").unwrap().0).unwrap();
    let program = scratch.path().join("readme");
    let mut cxx = compiler("c++", "c++17");
    cxx.arg(&source).arg("-o").arg(&program);
    Linking::Shared.add_to(&mut cxx, scratch.path());
    run(&mut cxx);
    let data = scratch.path().join("data");
    for expected in ["0 paid\n", "0 paid\n1 paid\n"] {
        assert_eq!(printed(Command::new(&program).arg(&data)), expected);
    }
}
