//! Read-only managers: what they see of a directory that another one owns, and that they leave it as it is (c-abi.md 3.2.2).
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    reason = "a failure fails the test"
)]

#[path = "../support/mod.rs"]
mod support;

mod cleaned;
mod cost;
mod followed;
mod gone;
mod missed;
mod pair;
mod random_history;
mod rolled;
mod tail;
mod threads;
mod untouched;
