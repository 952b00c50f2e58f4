//! The header and the library as C and C++ programs see them: compiled in every mode without a warning, linked both ways,
//! clean under valgrind and the sanitizers; the header is fresh and only klog_ symbols are exported.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::panic)]

#[path = "support/native.rs"]
#[allow(dead_code, reason = "each test takes what it needs")]
mod native;
#[path = "support/skip.rs"]
mod skip;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use native::{
    CONCURRENT, Linking, ROOT, SANITIZERS, compile_c, compilers, data_dir, library_dir,
    part_of_rounds, play, run, run_watched, run_watched_with, scenarios, scratch,
};

fn compile(scratch: &Path, source: &str, name: &str, linking: Linking, extra: &[&str]) -> PathBuf {
    compile_c(scratch, &Path::new(ROOT).join(source), name, linking, extra)
}

/// The C program of the README.
fn readme_program(scratch: &Path) -> PathBuf {
    let readme = std::fs::read_to_string(format!("{ROOT}/README.md")).unwrap();
    let (_, behind) = readme.split_once("```c\n").unwrap();
    let (program, _) = behind.split_once("```").unwrap();
    let source = scratch.join("readme.c");
    std::fs::write(&source, program).unwrap();
    source
}

#[test]
fn the_header_compiles_in_every_mode_without_a_warning() {
    let program = "#include \"klog.h\"\n#include \"klog.h\"\n#include \"klog_pack.h\"\n\
                   int main(void) { klog_read_options o = KLOG_INIT(klog_read_options);\n\
                   return o.struct_size == sizeof o && o.flags == 0 ? 0 : 1; }\n";
    let scratch = tempfile::tempdir().unwrap();
    for (names, standards, extension) in [
        (["cc", "clang"], &["c99", "c11", "c17", "c2x"][..], "c"),
        (
            ["c++", "clang++"],
            &["c++11", "c++14", "c++17", "c++20", "c++2b"][..],
            "cpp",
        ),
    ] {
        let source = scratch.path().join(format!("header.{extension}"));
        std::fs::write(&source, program).unwrap();
        for compiler in compilers(&names) {
            for standard in standards {
                for shape in [&[][..], &["-fshort-enums"]] {
                    let binary = scratch.path().join("header");
                    let mut command = Command::new(compiler);
                    command
                        .arg(format!("-std={standard}"))
                        .arg(format!("-I{ROOT}/include"))
                        .args(shape);
                    command.args([
                        "-Wall",
                        "-Wextra",
                        "-pedantic",
                        "-Wconversion",
                        "-Wundef",
                        "-Wpadded",
                        "-Werror",
                    ]);
                    if extension == "c" {
                        command.arg("-Wstrict-prototypes");
                    }
                    run(command.arg(&source).arg("-o").arg(&binary));
                    run(&mut Command::new(&binary));
                }
            }
        }
    }
}

#[cfg(feature = "header")]
#[test]
fn the_committed_header_is_the_one_that_the_sources_render() {
    let rendered = std::fs::read_to_string(concat!(env!("OUT_DIR"), "/klog.h")).unwrap();
    let committed = std::fs::read_to_string(format!("{ROOT}/include/klog.h")).unwrap();
    assert!(
        rendered == committed,
        "include/klog.h is not what src/ffi says: run `make header` and commit it"
    );
}

/// The functions of the header, as `make header` puts them into the version script of the shipped library.
#[test]
fn header_library_and_version_script_have_the_same_functions() {
    let output = run(Command::new("nm")
        .args(["-D", "--defined-only"])
        .arg(library_dir().join("libklog.so")));
    let exported: BTreeSet<String> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| line.split_whitespace().last().unwrap().to_owned())
        // Those of a library for tests.
        .filter(|name| !name.starts_with("klog_testing_"))
        .collect();
    let header = std::fs::read_to_string(format!("{ROOT}/include/klog.h")).unwrap();
    let declared: BTreeSet<String> = header
        .lines()
        .filter(|line| !line.starts_with([' ', '/', '#', '*']))
        .filter_map(|line| line.split_once('(')?.0.split([' ', '*']).next_back())
        .filter(|name| name.starts_with("klog_") && *name != "klog_init")
        .map(str::to_owned)
        .collect();
    let script = std::fs::read_to_string(format!("{ROOT}/packaging/klog.map")).unwrap();
    let mapped: BTreeSet<String> = script
        .lines()
        .filter_map(|line| Some(line.trim().strip_suffix(';')?.to_owned()))
        .filter(|name| name.starts_with("klog_"))
        .collect();
    assert_eq!(exported, declared, "the library and klog.h");
    assert_eq!(mapped, declared, "klog.map and klog.h: run `make header`");
    assert!(exported.len() >= 60, "{}", exported.len());
    let dynamic = run(Command::new("readelf")
        .arg("-d")
        .arg(library_dir().join("libklog.so")));
    let dynamic = String::from_utf8(dynamic.stdout).unwrap();
    assert!(
        dynamic.contains("[libklog.so.0]") && dynamic.contains("NODELETE"),
        "{dynamic}"
    );
}

/// Among it hc44 (c): what was lent is touched and freed after the close of the manager, handles are closed twice, null, stale
/// and of another type; and (d): a forked child.
#[test]
fn the_quickstart_and_the_misuse_program_run_with_both_libraries() {
    for linking in [Linking::Shared, Linking::Static] {
        let scratch = scratch();
        let quickstart = compile(
            scratch.path(),
            "examples/quickstart.c",
            "quickstart",
            linking,
            &[],
        );
        let output = run(Command::new(quickstart).arg(data_dir(scratch.path(), "q")));
        assert!(
            String::from_utf8(output.stdout)
                .unwrap()
                .ends_with("closed, opened again, read the same\n")
        );
        let misuse = compile(scratch.path(), "tests/c/misuse.c", "misuse", linking, &[]);
        run(Command::new(misuse).arg(data_dir(scratch.path(), "m")));
    }
}

#[test]
fn the_readmes_program_does_what_it_says() {
    let scratch = scratch();
    let source = readme_program(scratch.path());
    let program = compile_c(scratch.path(), &source, "readme", Linking::Shared, &[]);
    let data = scratch.path().join("data");
    for expected in ["0 paid\n", "0 paid\n1 paid\n"] {
        let output = run(Command::new(&program).arg(&data));
        assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
    }
}

/// Programs that take a directory, and end with 0 if all was as it must be.
const PROGRAMS: [(&str, &str); 4] = [
    ("examples/quickstart.c", "quickstart"),
    ("tests/c/misuse.c", "misuse"),
    ("tests/c/pack.c", "pack"),
    ("tests/c/faults.c", "faults"),
];

#[test]
fn programs_are_clean_under_valgrind() {
    if skip::is_skipped("valgrind") {
        return;
    }
    let scratch = scratch();
    for (source, name) in PROGRAMS {
        let program = compile(scratch.path(), source, name, Linking::Shared, &["-pthread"]);
        let data = data_dir(scratch.path(), &format!("{name}-data"));
        run_watched(&program, &[&data]);
    }
}

#[test]
fn programs_are_clean_under_the_address_and_undefined_sanitizers() {
    if skip::is_skipped("sanitizers") {
        return;
    }
    let scratch = scratch();
    for (source, name) in PROGRAMS {
        let flags = [SANITIZERS[0], SANITIZERS[1], "-pthread"];
        let program = compile(scratch.path(), source, name, Linking::Static, &flags);
        run(Command::new(program).arg(data_dir(scratch.path(), &format!("{name}-data"))));
    }
}

/// Packed buffers of the inline helpers, with seeds that were not used before.
#[test]
fn buffers_that_c_packs_are_what_the_library_takes_and_broken_ones_are_told() {
    let scratch = scratch();
    let linking = Linking::Shared;
    let program = compile(scratch.path(), "tests/c/pack.c", "pack", linking, &["-O1"]);
    let time = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap();
    let given = std::env::var("KLOG_SEED").ok();
    let seed = given.unwrap_or_else(|| time.as_nanos().to_string());
    println!("KLOG_SEED={seed}");
    for n in 0..5 {
        let data = data_dir(scratch.path(), &format!("pack{n}"));
        run(Command::new(&program).arg(data).arg(format!("{seed}{n}")));
    }
}

/// The scenarios that every binding runs, from C: what Kafka 4.4.0 answered (tests/scenarios/README.md).
#[test]
fn scenarios_get_the_answers_that_kafka_gave() {
    let scratch = scratch();
    let source = "tests/c/scenarios.c";
    let program = compile(scratch.path(), source, "scenarios", Linking::Shared, &[]);
    for scenario in scenarios() {
        play(&program, scratch.path(), &scenario, &[]);
    }
}

fn concurrent(scratch: &Path, linking: Linking, extra: &[&str]) -> PathBuf {
    let extra = [&["-pthread"], extra].concat();
    compile(scratch, "tests/c/concurrent.c", "many", linking, &extra)
}

#[test]
fn many_threads_write_follow_clean_and_race_with_a_close() {
    let scratch = scratch();
    let program = concurrent(scratch.path(), Linking::Shared, &[]);
    let parts = ["1", &part_of_rounds()];
    play(&program, scratch.path(), Path::new(CONCURRENT), &parts);
}

/// More threads than cores by far: each call of each ends, with what it was asked for or with CLOSED.
#[test]
fn hc44_c_calls_of_64_threads_during_a_close_end() {
    let scratch = scratch();
    let program = concurrent(scratch.path(), Linking::Shared, &[]);
    let scenario = scratch.path().join("64.scn");
    std::fs::write(&scenario, "topic a\nclose_race threads=64 rounds=10 > ok\n").unwrap();
    play(&program, scratch.path(), &scenario, &[]);
}

#[test]
fn many_threads_are_clean_under_the_sanitizers_and_valgrind() {
    let scratch = scratch();
    if !skip::is_skipped("sanitizers") {
        let program = concurrent(scratch.path(), Linking::Static, &SANITIZERS);
        play(
            &program,
            scratch.path(),
            Path::new(CONCURRENT),
            &["10", "50"],
        );
    }
    if !skip::is_skipped("valgrind") {
        let program = concurrent(scratch.path(), Linking::Shared, &[]);
        let data = data_dir(scratch.path(), "valgrind");
        let arguments = [Path::new(CONCURRENT), &data, "100".as_ref(), "200".as_ref()];
        run_watched_with(&["--fair-sched=yes"], &program, &arguments);
    }
}
