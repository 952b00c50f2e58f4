//! What `make install` installs, moved to another prefix, as programs find it: pkg-config, CMake, the dynamic loader, static
//! linking, a second Rust library in the same program. Implements c-abi.md 5.2.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::panic)]

#[path = "support/native.rs"]
#[allow(dead_code, reason = "each test takes what it needs")]
mod native;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use native::{ROOT, data_dir, library_dir, printed, run};

/// The version of glibc that an installed library may ask for: what std asks for on the oldest system that is built on.
const GLIBC_MAX: (u32, u32) = (2, 34);

/// An installation. What lies in it was installed under `/usr` and moved.
struct Installed {
    scratch: tempfile::TempDir,
    prefix: PathBuf,
}

impl Installed {
    fn new() -> Self {
        Self::under("/usr", &[])
    }

    fn under(prefix: &str, settings: &[(&str, &str)]) -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let stage = scratch.path().join("stage");
        run(Command::new(format!("{ROOT}/packaging/install"))
            .env("ARCHIVE", library_dir().join("libklog.a"))
            .env("COMMAND", env!("CARGO_BIN_EXE_klog"))
            .env("VERSION", env!("CARGO_PKG_VERSION"))
            .env("PREFIX", prefix)
            .env("DESTDIR", &stage)
            .envs(settings.iter().copied()));
        let moved = scratch.path().join("moved here");
        std::fs::rename(stage.join(prefix.trim_start_matches('/')), &moved).unwrap();
        Self {
            prefix: moved,
            scratch,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.prefix.join(name)
    }

    fn lib(&self) -> PathBuf {
        self.path("lib")
    }

    fn pkg_config(&self, args: &[&str]) -> Vec<String> {
        let said = printed(
            Command::new("pkg-config")
                .args(args)
                .arg("klog")
                .env("PKG_CONFIG_PATH", self.lib().join("pkgconfig")),
        );
        // The prefix has a space, which pkg-config marks for a shell.
        said.replace("\\ ", "\u{1}")
            .split_whitespace()
            .map(|word| word.replace('\u{1}', " "))
            .collect()
    }

    /// Runs a program that was linked with the shared library, on an empty directory.
    fn run(&self, program: &Path, name: &str) -> String {
        let data = data_dir(self.scratch.path(), name);
        printed(
            Command::new(program)
                .arg(data)
                .env("LD_LIBRARY_PATH", self.lib()),
        )
    }
}

/// The names that `nm` prints with these arguments.
fn symbols(args: &[&str], file: &Path) -> BTreeSet<String> {
    printed(Command::new("nm").args(args).arg(file))
        .lines()
        .filter_map(|line| Some(line.split_whitespace().nth(2)?.to_owned()))
        .collect()
}

fn exports() -> BTreeSet<String> {
    let script = std::fs::read_to_string(format!("{ROOT}/packaging/klog.map")).unwrap();
    script
        .lines()
        .filter_map(|line| Some(line.trim().strip_suffix(';')?.to_owned()))
        .filter(|name| name.starts_with("klog_"))
        .collect()
}

#[test]
fn the_libraries_have_their_names_their_symbols_and_nothing_else() {
    let installed = Installed::new();
    let version = env!("CARGO_PKG_VERSION");
    let lib = installed.lib();
    let link = |name: &str| std::fs::read_link(lib.join(name)).unwrap();
    assert_eq!(link("libklog.so"), Path::new("libklog.so.0"));
    assert_eq!(
        link("libklog.so.0"),
        Path::new(&format!("libklog.so.{version}"))
    );
    let shared = lib.join(format!("libklog.so.{version}"));
    let versioned: BTreeSet<String> =
        symbols(&["-D", "--defined-only", "--with-symbol-versions"], &shared)
            .into_iter()
            .filter(|name| name != "KLOG_0_1")
            .collect();
    let wanted: BTreeSet<String> = exports()
        .iter()
        .map(|name| format!("{name}@@KLOG_0_1"))
        .collect();
    assert_eq!(versioned, wanted);
    assert_eq!(
        symbols(&["-g", "--defined-only"], &lib.join("libklog.a")),
        exports()
    );
    let dynamic = printed(Command::new("readelf").arg("-dW").arg(&shared));
    for part in ["[libklog.so.0]", "NODELETE", "NOW"] {
        assert!(dynamic.contains(part), "{part}: {dynamic}");
    }
    assert!(!dynamic.contains("RPATH") && !dynamic.contains("RUNPATH"));
    // Lines lie in a file of their own, which the library names.
    let debug = lib.join(format!("libklog.so.{version}.debug"));
    let sections = |file: &Path| printed(Command::new("readelf").arg("-SW").arg(file));
    assert!(sections(&debug).contains(".debug_line"));
    assert!(!sections(&shared).contains(".debug_line"));
    assert!(sections(&shared).contains(".gnu_debuglink"));
    for name in [
        "klog.h",
        "klog_pack.h",
        "klog.hpp",
        "klog_base.hpp",
        "klog_data.hpp",
        "klog_log.hpp",
    ] {
        assert!(installed.path("include").join(name).exists(), "{name}");
    }
    assert!(printed(Command::new(installed.path("bin/klog")).arg("--version")).contains(version));
}

#[test]
fn the_library_asks_for_no_newer_glibc_than_it_says() {
    let installed = Installed::new();
    let needs = printed(
        Command::new("objdump")
            .arg("-T")
            .arg(installed.lib().join("libklog.so")),
    );
    let newest = needs
        .split("GLIBC_")
        .skip(1)
        .filter_map(|rest| {
            let mut numbers = rest
                .split(|c: char| !c.is_ascii_digit())
                .map(|n| n.parse::<u32>().unwrap_or(0));
            Some((numbers.next()?, numbers.next()?))
        })
        .max();
    assert!(newest.is_some_and(|v| v <= GLIBC_MAX), "{newest:?}");
}

#[test]
fn pkg_config_leads_to_both_libraries() {
    let installed = Installed::new();
    assert_eq!(
        installed.pkg_config(&["--modversion"]),
        [env!("CARGO_PKG_VERSION")]
    );
    let scratch = installed.scratch.path();
    let shared = scratch.join("shared");
    run(Command::new("cc")
        .arg(format!("{ROOT}/examples/quickstart.c"))
        .args(installed.pkg_config(&["--cflags", "--libs"]))
        .arg("-o")
        .arg(&shared));
    assert!(installed.run(&shared, "a").contains("read the same"));
    let fixed = scratch.join("static");
    let private = installed.pkg_config(&["--cflags", "--libs", "--static"]);
    run(Command::new("cc")
        .arg(format!("{ROOT}/examples/quickstart.c"))
        .args(["-o".as_ref(), fixed.as_os_str()])
        .args(private.iter().map(|word| match word.as_str() {
            "-lklog" => "-l:libklog.a",
            other => other,
        })));
    let data = data_dir(scratch, "b");
    assert!(printed(Command::new(&fixed).arg(data)).contains("read the same"));
    let cpp = scratch.join("cpp");
    run(Command::new("c++")
        .args(["-std=c++17", &format!("{ROOT}/tests/cpp/everything.cpp")])
        .args(installed.pkg_config(&["--cflags", "--libs"]))
        .arg("-o")
        .arg(&cpp));
    assert!(installed.run(&cpp, "c").contains("checks"));
}

#[test]
fn a_library_directory_with_an_architecture_in_its_name_is_found_too() {
    let installed = Installed::under(
        "/usr",
        &[
            ("LIBDIR", "/usr/lib/x86_64-linux-gnu"),
            ("INCLUDEDIR", "/usr/include/klog-0"),
        ],
    );
    let lib = installed.path("lib/x86_64-linux-gnu");
    let said = printed(
        Command::new("pkg-config")
            .args(["--variable=includedir", "klog"])
            .env("PKG_CONFIG_PATH", lib.join("pkgconfig")),
    );
    let include = std::fs::canonicalize(said.trim().replace("\\ ", " ")).unwrap();
    assert!(include.join("klog.h").exists(), "{said}");
    let config = std::fs::read_to_string(lib.join("cmake/klog/klogConfig.cmake")).unwrap();
    assert!(
        config.contains("${CMAKE_CURRENT_LIST_DIR}/../../../.."),
        "{config}"
    );
    assert!(
        config.contains("lib/x86_64-linux-gnu/libklog.a"),
        "{config}"
    );
}

#[test]
fn cmake_finds_the_targets_of_its_version_and_no_other() {
    let installed = Installed::new();
    let build = installed.scratch.path().join("build");
    let configure = |wanted: &str| {
        let _ = std::fs::remove_dir_all(&build);
        Command::new("cmake")
            .arg("-S")
            .arg(format!("{ROOT}/tests/packaging"))
            .arg("-B")
            .arg(&build)
            .arg(format!("-DROOT={ROOT}"))
            .arg(format!("-DWANTED={wanted}"))
            .arg(format!(
                "-DCMAKE_PREFIX_PATH={}",
                installed.prefix.display()
            ))
            .output()
            .unwrap_or_else(|e| panic!("cmake: {e}; `make test` installs what it needs"))
    };
    for refused in ["0.2", "0.1.99", "1", "1.0"] {
        assert!(!configure(refused).status.success(), "{refused}");
    }
    let found = configure("0.1");
    assert!(
        found.status.success(),
        "{}{}",
        String::from_utf8_lossy(&found.stdout),
        String::from_utf8_lossy(&found.stderr)
    );
    run(Command::new("cmake").arg("--build").arg(&build));
    for (program, says) in [("shared", "same"), ("static", "same"), ("cpp", "checks")] {
        let said = installed.run(&build.join(program), program);
        assert!(said.contains(says), "{said}");
    }
    let linked = printed(Command::new("readelf").arg("-dW").arg(build.join("static")));
    assert!(!linked.contains("libklog"), "{linked}");
}

#[test]
fn it_is_loaded_and_unloaded_again_and_again() {
    let installed = Installed::new();
    let program = installed.scratch.path().join("dlopen");
    run(Command::new("cc")
        .args([
            "-std=c99",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-D_POSIX_C_SOURCE=200809L",
        ])
        .arg("-I")
        .arg(installed.path("include"))
        .arg(format!("{ROOT}/tests/c/dlopen.c"))
        .args(["-o".as_ref(), program.as_os_str(), "-ldl".as_ref()]));
    let data = data_dir(installed.scratch.path(), "data");
    let said = printed(
        Command::new(program)
            .arg(installed.lib().join("libklog.so.0"))
            .arg(data),
    );
    assert_eq!(said, "offset 49\n");
}

#[test]
fn two_rust_libraries_are_linked_into_one_program() {
    let installed = Installed::new();
    let scratch = installed.scratch.path();
    let other = scratch.join("libother.a");
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    run(Command::new(rustc)
        .args([
            "--edition=2024",
            "--crate-type=staticlib",
            "--crate-name=other",
        ])
        .arg(format!("{ROOT}/tests/packaging/other.rs"))
        .arg("-o")
        .arg(&other));
    let program = scratch.join("two");
    run(Command::new("cc")
        .arg("-I")
        .arg(installed.path("include"))
        .arg(format!("{ROOT}/tests/packaging/two.c"))
        .arg(installed.lib().join("libklog.a"))
        .arg(&other)
        .args(native::STATIC_NEEDS)
        .arg("-o")
        .arg(&program));
    run(Command::new(program).arg(data_dir(scratch, "data")));
}

/// A page for the whole and one for each command; what is in them is tested beside the command.
#[test]
fn every_command_has_its_page_of_the_manual() {
    let installed = Installed::new();
    let of_command = installed.scratch.path().join("pages");
    run(Command::new(installed.path("bin/klog"))
        .args(["man", "--out"])
        .arg(&of_command));
    let names = |dir: &Path| -> BTreeSet<std::ffi::OsString> {
        let entries = std::fs::read_dir(dir).unwrap();
        entries.map(|entry| entry.unwrap().file_name()).collect()
    };
    let pages = installed.path("share/man/man1");
    assert_eq!(names(&pages), names(&of_command));
    assert!(names(&pages).len() > 15);
    for name in names(&pages) {
        assert_eq!(
            std::fs::read(pages.join(&name)).unwrap(),
            std::fs::read(of_command.join(&name)).unwrap()
        );
    }
}
