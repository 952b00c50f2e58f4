//! The header and the library as C and C++ programs see them: compiled in every mode without a warning, linked both ways,
//! clean under valgrind and the sanitizers; the header is fresh and only klog_ symbols are exported.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::panic)]

#[path = "support/skip.rs"]
mod skip;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

fn run(command: &mut Command) -> Output {
    let output = command
        .output()
        .unwrap_or_else(|e| panic!("{command:?}: {e}; `make test` installs what it needs"));
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

/// Where cargo builds the libraries beside the tests: cargo copies them one directory up only for `cargo build`.
fn library_dir() -> PathBuf {
    let mut dir = std::env::current_exe().unwrap();
    dir.pop();
    assert!(
        dir.join("libklog.so").exists(),
        "{} has no libklog.so",
        dir.display()
    );
    dir
}

/// A scratch directory with the soname that programs look for.
fn scratch() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(
        library_dir().join("libklog.so"),
        dir.path().join("libklog.so.0"),
    )
    .unwrap();
    dir
}

enum Linking {
    Shared,
    Static,
}

fn compile(scratch: &Path, source: &str, name: &str, linking: &Linking, extra: &[&str]) -> PathBuf {
    compile_file(scratch, &Path::new(ROOT).join(source), name, linking, extra)
}

fn compile_file(
    scratch: &Path,
    source: &Path,
    name: &str,
    linking: &Linking,
    extra: &[&str],
) -> PathBuf {
    let program = scratch.join(name);
    let mut cc = Command::new("cc");
    cc.args([
        "-std=c99",
        "-g",
        "-Wall",
        "-Wextra",
        "-pedantic",
        "-Werror",
        "-D_POSIX_C_SOURCE=200809L",
    ]);
    cc.arg(format!("-I{ROOT}/include"))
        .args(extra)
        .arg(source)
        .arg("-o")
        .arg(&program);
    match linking {
        Linking::Shared => {
            cc.arg(format!("-L{}", library_dir().display()))
                .arg("-lklog");
            cc.arg(format!("-Wl,-rpath,{}", scratch.display()));
        }
        Linking::Static => {
            cc.arg(library_dir().join("libklog.a"))
                .args(["-lgcc_s", "-lpthread", "-ldl", "-lm"]);
        }
    }
    run(&mut cc);
    program
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

/// An empty directory for a program to work in.
fn data_dir(scratch: &Path, name: &str) -> PathBuf {
    let dir = scratch.join(name);
    std::fs::create_dir(&dir).unwrap();
    dir
}

#[test]
fn the_header_compiles_in_every_mode_without_a_warning() {
    let program = "#include \"klog.h\"\n#include \"klog.h\"\n\
                   int main(void) { klog_read_options o = KLOG_INIT(klog_read_options);\n\
                   return o.struct_size == sizeof o && o.flags == 0 ? 0 : 1; }\n";
    let scratch = tempfile::tempdir().unwrap();
    for (compiler, standards, extension) in [
        ("cc", &["c99", "c11", "c17", "c2x"][..], "c"),
        (
            "c++",
            &["c++11", "c++14", "c++17", "c++20", "c++23"][..],
            "cpp",
        ),
    ] {
        let source = scratch.path().join(format!("header.{extension}"));
        std::fs::write(&source, program).unwrap();
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
                run(command.arg(&source).arg("-o").arg(&binary));
                run(&mut Command::new(&binary));
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

#[test]
fn only_klog_symbols_are_exported_and_every_one_is_declared() {
    let output = run(Command::new("nm")
        .args(["-D", "--defined-only"])
        .arg(library_dir().join("libklog.so")));
    let exported: Vec<String> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| line.split_whitespace().last().unwrap().to_owned())
        .collect();
    assert!(
        exported.iter().all(|name| name.starts_with("klog_")),
        "{exported:?}"
    );
    let header = std::fs::read_to_string(format!("{ROOT}/include/klog.h")).unwrap();
    for name in &exported {
        assert!(
            header.contains(&format!("{name}(")),
            "{name} is exported and not declared"
        );
    }
    assert!(exported.len() >= 38, "{}", exported.len());
    let dynamic = run(Command::new("readelf")
        .arg("-d")
        .arg(library_dir().join("libklog.so")));
    let dynamic = String::from_utf8(dynamic.stdout).unwrap();
    assert!(
        dynamic.contains("[libklog.so.0]") && dynamic.contains("NODELETE"),
        "{dynamic}"
    );
}

#[test]
fn the_quickstart_and_the_misuse_program_run_with_both_libraries() {
    for linking in [Linking::Shared, Linking::Static] {
        let scratch = scratch();
        let quickstart = compile(
            scratch.path(),
            "examples/quickstart.c",
            "quickstart",
            &linking,
            &[],
        );
        let output = run(Command::new(quickstart).arg(data_dir(scratch.path(), "q")));
        assert!(
            String::from_utf8(output.stdout)
                .unwrap()
                .ends_with("closed, opened again, read the same\n")
        );
        let misuse = compile(scratch.path(), "tests/c/misuse.c", "misuse", &linking, &[]);
        run(Command::new(misuse).arg(data_dir(scratch.path(), "m")));
    }
}

#[test]
fn the_readmes_program_does_what_it_says() {
    let scratch = scratch();
    let source = readme_program(scratch.path());
    let program = compile_file(scratch.path(), &source, "readme", &Linking::Shared, &[]);
    let data = scratch.path().join("data");
    for expected in ["0 paid\n", "0 paid\n1 paid\n"] {
        let output = run(Command::new(&program).arg(&data));
        assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
    }
}

#[test]
fn both_programs_are_clean_under_valgrind() {
    if skip::is_skipped("valgrind") {
        return;
    }
    let scratch = scratch();
    for (source, name) in [
        ("examples/quickstart.c", "quickstart"),
        ("tests/c/misuse.c", "misuse"),
    ] {
        let program = compile(scratch.path(), source, name, &Linking::Shared, &[]);
        let mut valgrind = Command::new("valgrind");
        valgrind.args([
            "--quiet",
            "--error-exitcode=9",
            "--leak-check=full",
            "--errors-for-leak-kinds=definite,indirect",
        ]);
        valgrind.args(["--show-leak-kinds=definite,indirect"]);
        run(valgrind
            .arg(program)
            .arg(data_dir(scratch.path(), &format!("{name}-data"))));
    }
}

#[test]
fn both_programs_are_clean_under_the_address_and_undefined_sanitizers() {
    if skip::is_skipped("sanitizers") {
        return;
    }
    let scratch = scratch();
    for (source, name) in [
        ("examples/quickstart.c", "quickstart"),
        ("tests/c/misuse.c", "misuse"),
    ] {
        let flags = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
        let program = compile(scratch.path(), source, name, &Linking::Static, &flags);
        run(Command::new(program).arg(data_dir(scratch.path(), &format!("{name}-data"))));
    }
}

/// The scenarios that every binding runs, from C: what Kafka 4.4.0 answered (tests/scenarios/README.md).
#[test]
fn scenarios_get_the_answers_that_kafka_gave() {
    let scratch = scratch();
    let source = "tests/c/scenarios.c";
    let program = compile(scratch.path(), source, "scenarios", &Linking::Shared, &[]);
    let mut scenarios: Vec<PathBuf> = std::fs::read_dir(format!("{ROOT}/tests/scenarios"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "scn"))
        .collect();
    scenarios.sort();
    assert!(scenarios.len() >= 5, "{scenarios:?}");
    for scenario in scenarios {
        let name = scenario.file_stem().unwrap().to_string_lossy().into_owned();
        let dir = data_dir(scratch.path(), &name);
        let told = run(Command::new(&program).arg(&scenario).arg(dir));
        let told = String::from_utf8_lossy(&told.stdout).into_owned();
        assert!(told.ends_with(" steps, 0 wrong\n"), "{name}: {told}");
    }
}
