//! The C ABI: argument checks, handles, panics to statuses. No logic; everything is done by the crate's public API.
//!
//! One file a noun. `include/klog.h` is rendered from these files by cbindgen, in the order of `build.rs`; the comments
//! here are the manual that C programmers read. Every exported function runs inside `guard::guard`: a panic becomes
//! KLOG_ERR_PANIC and poisons its manager. Implements c-abi.md.
//!
//! `unsafe` stands here only where a caller's pointer is followed, behind the checks of `args`.
#![deny(clippy::indexing_slicing)]
#![allow(non_camel_case_types)] // C's names
#![allow(clippy::wildcard_imports)] // constants and structs are the vocabulary of every file here
#![allow(clippy::not_unsafe_ptr_arg_deref)]
// A C function cannot be marked unsafe without every caller of the Rust tests being it too; pointers are checked for null
// and sizes, and the header states the rest.
#![allow(clippy::missing_safety_doc)]

pub mod append;
pub mod appender;
pub(crate) mod args;
pub mod cancel;
pub mod clean;
pub(crate) mod closing;
pub mod codec;
pub mod config;
pub mod constants;
pub mod cursor;
pub mod error;
pub mod events;
pub(crate) mod guard;
pub(crate) mod handles;
pub mod layout;
pub mod log;
pub mod maintain;
pub mod manager;
pub mod many;
pub mod metrics;
pub mod moving;
pub mod offsets;
pub mod read;
#[cfg(feature = "test-hooks")]
pub mod testing;
pub(crate) mod tokens;
pub mod truncate;
pub mod types;
pub mod version;
pub mod view;
pub mod wait;
