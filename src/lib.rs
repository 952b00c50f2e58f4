//! klog: Apache Kafka's log as an embeddable library.
#![warn(rustdoc::all)]
#![cfg_attr(
    test,
    allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_possible_wrap,
        clippy::format_push_string
    )
)]

pub mod config;
pub mod error;
pub mod ffi;
pub mod format;
pub mod inspect;
pub mod io;
pub mod log;
pub mod manager;
pub mod segment;
pub mod state;
pub mod types;

pub use error::{Error, ErrorKind, Result};
