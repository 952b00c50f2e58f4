//! How what klog does to the disk grows with segments, bytes and partitions: counted where klog meets the file system, so that no
//! busy machine makes a difference. Look-ups cost the same in a log of one segment and in one of a thousand; nothing costs more
//! than linear. `make bench` has the times.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a failure fails the test"
)]

#[path = "../support/mod.rs"]
mod support;

mod counted;
mod look_ups;
mod partitions;
mod whole_log;
