//! Sets what cargo does not: the soname of the shared library, and that it is never unloaded. With the feature `header`
//! renders the C header into OUT_DIR.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // The soname is the ABI number, not the version (c-abi.md 2.2). Thread-locals of Rust do not survive an unload.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libklog.so.0");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,relro,-z,now");
    #[cfg(feature = "header")]
    header::render();
}

#[cfg(feature = "header")]
mod header {
    use std::path::PathBuf;

    /// The files of the header, in the order of reading.
    const SOURCES: [&str; 26] = [
        "constants.rs",
        "types/basics.rs",
        "types/manager.rs",
        "types/append.rs",
        "types/read.rs",
        "types/upkeep.rs",
        "version.rs",
        "config.rs",
        "manager.rs",
        "log.rs",
        "append.rs",
        "many.rs",
        "appender.rs",
        "read.rs",
        "cursor.rs",
        "view.rs",
        "codec.rs",
        "offsets.rs",
        "truncate.rs",
        "maintain.rs",
        "clean.rs",
        "moving.rs",
        "cancel.rs",
        "wait.rs",
        "metrics.rs",
        "events.rs",
    ];

    pub(super) fn render() {
        let root = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
        let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it")).join("klog.h");
        println!("cargo:rerun-if-changed=cbindgen.toml");
        let config = cbindgen::Config::from_file(root.join("cbindgen.toml"))
            .expect("cbindgen.toml is readable");
        let mut builder = cbindgen::Builder::new().with_config(config);
        for source in SOURCES {
            let path = root.join("src/ffi").join(source);
            println!("cargo:rerun-if-changed={}", path.display());
            builder = builder.with_src(path);
        }
        builder
            .generate()
            .expect("src/ffi can be rendered")
            .write_to_file(&out);
    }
}
