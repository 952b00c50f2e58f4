//! klog: Apache Kafka's log as an embeddable library.
#![warn(rustdoc::all)]

pub mod error;
pub mod io;
pub mod types;

pub use error::{Error, ErrorKind, Result};
