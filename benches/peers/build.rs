//! RocksDB takes part where the distribution's library is installed.

use std::path::Path;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let header = "/usr/include/rocksdb/c.h";
    println!("cargo:rerun-if-changed={header}");
    if Path::new(header).exists() {
        println!("cargo:rustc-cfg=has_rocksdb");
        println!("cargo:rustc-link-lib=rocksdb");
    }
}
