//! State kept beside a log: producers and their transactions, leader epochs. Pure state machines: no I/O, no lock, no
//! clock; whoever owns them writes their files.
//!
//! Promises: the same batches in the same order give the state that Kafka 4.4.0 has, and the same appends are let in.
//! Implements state.md 4, 5, 7.
#![deny(clippy::indexing_slicing)]

pub mod append_rules;
mod at_rest;
#[cfg(test)]
mod at_rest_model;
pub mod epochs;
#[cfg(test)]
mod model;
pub mod producer;
pub mod producers;
pub mod transactions;
