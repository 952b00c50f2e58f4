//! Bytes on disk and the values they stand for: one format, one file. No I/O, no lock, no clock.
//!
//! Promises: what is written is what Kafka 4.4.0 writes for the same values; what Kafka reads is read, with the same
//! tolerance; no input makes this layer panic, and none makes it allocate more than the input justifies. Implements
//! records.md.
#![deny(clippy::indexing_slicing)]

pub mod batch;
pub mod batches;
pub mod builder;
mod bytes;
pub mod checkpoint;
pub mod codec;
pub mod control;
pub mod crc;
pub mod decoder;
pub mod epoch_checkpoint;
pub mod legacy;
pub mod marker;
pub mod meta_properties;
pub mod names;
pub mod offset_index;
pub mod packed;
pub mod partition_metadata;
pub mod record;
pub mod skim;
pub mod snapshot;
pub mod time_index;
pub mod txn_index;
pub mod uuid;
pub mod varint;

#[cfg(test)]
pub(crate) mod goldens;
