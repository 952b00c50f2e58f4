//! Kafka 4.4.0 as referee over directories that klog wrote, recovered or read: see README.md beside this file. All tests
//! share one JVM.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    clippy::format_collect,
    reason = "a failure fails the test"
)]

#[path = "../support/mod.rs"]
mod support;

#[path = "../crash/run.rs"]
mod run;

mod kafka;

mod adoption;
mod appends;
mod broker;
mod clean_close;
mod cleaner;
mod copied;
mod damaged;
mod differential;
mod dump_log;
mod dump_speed;
mod dump_tool;
mod followed;
mod framings;
mod from_go;
mod killed;
mod reads;
mod recovered;
mod repaired;
mod retention;
mod same_bytes;
mod written;
