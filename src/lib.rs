//! klog: Apache Kafka's log as an embeddable library.
//!
//! Opens real Kafka log directories in process, without a JVM and without a broker: reads them, repairs them, appends to
//! them, and leaves them so that a stock Kafka 4.4.0 broker takes them over. Programs in other languages use the C ABI
//! (`include/klog.h`, made from [`ffi`]); this is the engine below it.
//!
//! ```
//! use std::sync::Arc;
//!
//! use klog::config::ConfigSet;
//! use klog::format::builder::BatchBuilder;
//! use klog::format::record::Header;
//! use klog::log::{AppendOptions, CursorOptions};
//! use klog::manager::{CreateOptions, Manager, ManagerOptions};
//! use klog::types::{Offset, TimestampMs, TopicPartition};
//!
//! # fn main() -> klog::Result<()> {
//! # let temporary = tempfile::tempdir().expect("a temporary directory");
//! # let data_dir = temporary.path().to_path_buf();
//! let config = Arc::new(ConfigSet::broker().resolve()?);
//! let manager = Manager::open(ManagerOptions::new(vec![data_dir], config))?;
//! let log = manager.get_or_create_log(&TopicPartition::new("orders", 0), &CreateOptions::default())?;
//!
//! let mut batch = BatchBuilder::new();
//! let header = Header { key: b"trace", value: Some(b"1f") };
//! batch.push(TimestampMs(1_700_000_000_000), Some(b"key"), Some(b"value"), [header].into_iter())?;
//! let appended = log.append(&mut batch, &AppendOptions::default())?;
//! assert_eq!(appended.first_offset, Offset(0));
//!
//! let mut cursor = log.cursor(Offset::ZERO, CursorOptions::default());
//! let records = cursor.next_records(100)?;
//! assert_eq!(records.get(0).and_then(|record| record.value), Some(&b"value"[..]));
//!
//! manager.close()
//! # }
//! ```
//!
//! # Layers
//!
//! Each imports only from those below it (`tests/architecture.rs`); docs/design.md has the picture.
//!
//! | module | owns |
//! |---|---|
//! | [`ffi`] | the C ABI: argument checks, handles, panics to statuses |
//! | [`inspect`], [`service`] | looking without writing; what programs want on top of a manager |
//! | [`manager`] | directories, locks, checkpoints, all logs |
//! | [`cleaner`] | compaction |
//! | [`log`] | one partition: append, read, look up, roll, flush, load |
//! | [`segment`] | one segment: the `.log` and its indexes |
//! | [`state`] | producers, transactions, leader epochs: pure state machines |
//! | [`mod@format`] | bytes to values and back, one file a format |
//! | [`io`] | the file system and the clock: real, overlay, simulated |
//! | [`config`] | Kafka's keys |
//! | [`error`], [`types`] | the error with its statuses; offsets, epochs, timestamps |
//!
//! # Features
//!
//! - `cli` (default): the `klog` command. Library-only builds turn it off and need none of its crates.
//! - `header`: renders `klog.h` while building; `make header` puts it in its place.
//! - `sim`: the simulated file system that cuts the power, fails and fills up, for tests of programs on top of klog too.
//! - `test-hooks`: exports `klog_testing_` functions; only klog's own tests want it.
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

pub mod cleaner;
pub mod config;
pub mod error;
pub mod ffi;
pub mod format;
pub mod inspect;
pub mod io;
pub mod log;
pub mod manager;
pub mod segment;
pub mod service;
pub mod state;
pub mod types;

pub use error::{Error, ErrorKind, RecordError, Result};
