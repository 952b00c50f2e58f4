//! Compaction: what of a log can be cleaned, the map from key to last offset, which records stay, the segments in place of
//! the old ones.
//!
//! [`examine::examine`] looks at a log, [`pass::clean`] cleans it; [`state`] keeps two from cleaning one log at a time, and
//! lets others wait for the end of a pass. Which log is next, checkpoints and threads are [`crate::manager`]'s.
//!
//! Promises: what stays is what Kafka 4.4.0 would keep, in the same batches; a batch whose checksum is wrong is never written
//! anew; memory is bounded by the map and a few buffers; after any crash the log has the old segments or the new ones.
//! Implements cleaner.md 1-9. What a crashed cleaner left in a directory is finished or taken back by `log::load`.

pub mod choose;
pub mod examine;
pub mod filter;
pub mod grouping;
pub mod offset_map;
mod output;
pub mod pass;
mod rewrite;
mod source;
pub mod state;
pub mod stats;
pub mod throttle;
pub mod transactions;
pub mod watch;
