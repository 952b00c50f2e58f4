//! What an append must be, before anything is written: pure functions of bytes, configuration and a given time. No I/O, no
//! lock, no clock. Implements state.md 1.1-1.3 (2, 5, 6), 2 and 3.
//!
//! The way of an append: [`analyze`] looks at the headers of all batches (every origin). For a leader [`validate_leader`]
//! then judges every record and makes the one batch that is stored: the batch as it came but for timestamp type and max
//! timestamp (`in_place`), or a new one of other codec or format (`rebuild`). Records that klog encodes itself are judged
//! by [`check_built`] from what their builder noted.
//!
//! Promises: the caller's bytes are never written and copied once at most; the checks come in Kafka's order, so that an
//! append with two faults gets Kafka's answer; what is accepted is one valid batch of magic 2 with the offsets 0..n-1, where
//! the producer is a client; compressed batches are looked at as a stream that holds one record at a time.

mod in_place;
mod leader;
mod origin;
mod rebuild;
mod records;
mod scratch;
mod shallow;
#[cfg(test)]
mod tests;

pub(super) use leader::{target_codec, validate_leader};
pub use origin::Origin;
pub(super) use records::check_built;
pub(super) use shallow::{analyze, ensure_batch_size};
