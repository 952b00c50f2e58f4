//! The `klog` command as a child process.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output};

/// What a run of the command gave.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Where the command is.
pub(crate) fn binary() -> &'static str {
    option_env!("CARGO_BIN_EXE_klog")
        .unwrap_or_else(|| panic!("the klog command was not built: feature cli"))
}

/// Runs `klog` with these arguments.
pub(crate) fn klog<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Run {
    let Output {
        status,
        stdout,
        stderr,
    } = Command::new(binary()).args(args).output().unwrap();
    Run {
        code: status
            .code()
            .unwrap_or_else(|| panic!("klog was ended by a signal: {status}")),
        stdout: String::from_utf8(stdout).unwrap(),
        stderr: String::from_utf8(stderr).unwrap(),
    }
}

/// `klog dump DIR`, which must succeed.
pub(crate) fn dump(dir: &Path) -> String {
    done(klog([OsStr::new("dump"), dir.as_os_str()])).stdout
}

/// `klog recover DIR`, which must succeed.
pub(crate) fn recover(dir: &Path) -> Run {
    done(klog([OsStr::new("recover"), dir.as_os_str()]))
}

fn done(run: Run) -> Run {
    assert_eq!(run.code, 0, "klog failed: {}", run.stderr);
    run
}

/// Runs `klog` so that it can have no more than 64 MiB of memory besides its own code: what is mapped to be written to counts,
/// used or not.
pub(crate) fn klog_in_64_mib<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Output {
    Command::new("bash")
        .args(["-c", "ulimit -d 65536 && exec \"$0\" \"$@\"", binary()])
        .args(args)
        // Each thread's own heap would count with all its room.
        .env("MALLOC_ARENA_MAX", "1")
        .output()
        .unwrap()
}
