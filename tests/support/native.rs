//! Programs in C and C++ that are compiled against the library as cargo built it for the tests, and run.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub(crate) const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// What the static library needs besides.
pub(crate) const STATIC_NEEDS: [&str; 4] = ["-lgcc_s", "-lpthread", "-ldl", "-lm"];

/// What the sanitizers are asked for.
pub(crate) const SANITIZERS: [&str; 2] =
    ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];

/// Runs a command that must succeed.
pub(crate) fn run(command: &mut Command) -> Output {
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

/// What a command that must succeed prints.
pub(crate) fn printed(command: &mut Command) -> String {
    String::from_utf8(run(command).stdout).unwrap()
}

/// Runs a program under valgrind: no error, nothing lost.
pub(crate) fn run_watched(program: &Path, args: &[&Path]) {
    run_watched_with(&[], program, args);
}

/// As above, with more options for valgrind.
pub(crate) fn run_watched_with(options: &[&str], program: &Path, args: &[&Path]) {
    let mut valgrind = Command::new("valgrind");
    valgrind.args([
        "--quiet",
        "--error-exitcode=9",
        "--leak-check=full",
        "--errors-for-leak-kinds=definite,indirect",
        "--show-leak-kinds=definite,indirect",
    ]);
    run(valgrind.args(options).arg(program).args(args));
}

/// Where cargo builds the libraries beside the tests: cargo copies them one directory up only for `cargo build`.
pub(crate) fn library_dir() -> PathBuf {
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
pub(crate) fn scratch() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(
        library_dir().join("libklog.so"),
        dir.path().join("libklog.so.0"),
    )
    .unwrap();
    dir
}

/// An empty directory for a program to work in.
pub(crate) fn data_dir(scratch: &Path, name: &str) -> PathBuf {
    let dir = scratch.join(name);
    std::fs::create_dir(&dir).unwrap();
    dir
}

/// Which of the two libraries a program gets.
#[derive(Clone, Copy)]
pub(crate) enum Linking {
    Shared,
    Static,
}

impl Linking {
    /// Adds the library to a command that links.
    pub(crate) fn add_to(self, compiler: &mut Command, scratch: &Path) {
        match self {
            Self::Shared => {
                compiler
                    .arg(format!("-L{}", library_dir().display()))
                    .arg("-lklog");
                compiler.arg(format!("-Wl,-rpath,{}", scratch.display()));
            }
            Self::Static => {
                compiler
                    .arg(library_dir().join("libklog.a"))
                    .args(STATIC_NEEDS);
            }
        }
    }
}

/// Compiles a C program of one file, strictly.
pub(crate) fn compile_c(
    scratch: &Path,
    source: &Path,
    name: &str,
    linking: Linking,
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
    linking.add_to(&mut cc, scratch);
    run(&mut cc);
    program
}

/// The scenarios of many threads.
pub(crate) const CONCURRENT: &str = "tests/scenarios/concurrent/S6.scn";

/// Which part of a scenario's close races is run: a tenth, or as the environment says.
pub(crate) fn part_of_rounds() -> String {
    std::env::var("KLOG_PART_OF_ROUNDS").unwrap_or_else(|_| "10".to_owned())
}

/// The scenarios of one thread.
pub(crate) fn scenarios() -> Vec<PathBuf> {
    let mut scenarios: Vec<PathBuf> = std::fs::read_dir(format!("{ROOT}/tests/scenarios"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "scn"))
        .collect();
    scenarios.sort();
    assert!(scenarios.len() >= 5, "{scenarios:?}");
    scenarios
}

/// Runs one scenario by a program in a directory of its own: no step may be wrong.
pub(crate) fn play(program: &Path, scratch: &Path, scenario: &Path, parts: &[&str]) {
    let dir = tempfile::tempdir_in(scratch).unwrap();
    let told = printed(
        Command::new(program)
            .arg(scenario)
            .arg(dir.path())
            .args(parts),
    );
    assert!(
        told.ends_with(" steps, 0 wrong\n"),
        "{}: {told}",
        scenario.display()
    );
}

/// Those of these compilers that are on this machine; the first must be.
pub(crate) fn compilers(names: &[&'static str]) -> Vec<&'static str> {
    let is_here = |name: &&str| Command::new(name).arg("--version").output().is_ok();
    let found: Vec<_> = names.iter().copied().filter(|name| is_here(name)).collect();
    assert_eq!(
        found.first(),
        names.first(),
        "`make test` installs what it needs"
    );
    found
}
