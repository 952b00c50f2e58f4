//! What the integration tests share. Each test binary uses the part it needs.
#![allow(
    dead_code,
    unused_imports,
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    clippy::format_collect,
    clippy::needless_pass_by_value,
    reason = "helpers of tests: a failure here fails the test that asked"
)]

pub(crate) mod asleep;
pub(crate) mod broker;
pub(crate) mod browser;
pub(crate) mod canonical;
pub(crate) mod child;
pub(crate) mod cleaned;
pub(crate) mod command;
pub(crate) mod engine;
pub(crate) mod fixture;
pub(crate) mod jvm;
pub(crate) mod model;
pub(crate) mod producing;
pub(crate) mod random;
pub(crate) mod raw;
pub(crate) mod referee;
pub(crate) mod shim;
pub(crate) mod skip;
pub(crate) mod tree;
