//! State kept beside a log: producers and their transactions, leader epochs. Pure state machines: no I/O, no lock, no
//! clock; whoever owns them writes their files.
//!
//! Promises: the same batches in the same order give the state that Kafka 4.4.0 has. Implements state.md 4, 5, 7 as far
//! as loading needs them; what an append checks against this state comes with append semantics.
#![deny(clippy::indexing_slicing)]

pub mod epochs;
pub mod producers;
pub mod transactions;
