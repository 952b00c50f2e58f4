//! The worked examples of cleaner.md 12, the cases HC1-HC10 of hard-cases.md, and what the cleaner does beside others.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    clippy::format_collect,
    clippy::format_push_string,
    clippy::case_sensitive_file_extension_comparisons,
    reason = "a failure fails the test"
)]

#[path = "../support/mod.rs"]
mod support;

mod bench;

mod examples;
mod hard_cases;
mod large;
mod manager;
