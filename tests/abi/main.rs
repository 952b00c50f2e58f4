//! The C ABI under good and bad input: every misuse answers a status and a message that names what and where, creates
//! nothing and loses nothing (c-abi.md 1; hard-cases.md HC44 (a), (b), (d)).
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap
)]

#[path = "../support/asleep.rs"]
mod asleep;
#[macro_use]
mod calls;
mod arguments;
mod changes;
mod codec;
mod data;
mod dirs;
mod gathering;
mod maintenance;
mod moves;
#[cfg(feature = "test-hooks")]
mod panics;
mod read_only;
mod telling;
mod threads;
mod transactions;
mod views;
mod waiting;
