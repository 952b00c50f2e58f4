//! The library that is loaded into the klog command to end it at a moment, or to measure it: `tests/c/shim.c`.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles it into a directory.
pub(crate) fn build(root: &Path) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/shim.c");
    let library = root.join("shim.so");
    let mut cc = Command::new("cc");
    cc.args([
        "-std=gnu11",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-shared",
        "-fPIC",
        "-O1",
    ])
    .arg(source)
    .arg("-o")
    .arg(&library)
    .arg("-ldl");
    assert!(cc.status().unwrap().success());
    library
}
