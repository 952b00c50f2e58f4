//! Compaction: which log to clean first, the map from key to last offset, which records stay, the swap of the cleaned
//! segments.
//!
//! Will own the cleaner's checkpoint and its threads' work, above `log` and below `manager`. Implements cleaner.md 1-9, from
//! the issue on compaction on; until then nothing is compacted.
//!
//! What a crashed cleaner left in a directory is already finished or taken back by the load: that is part of
//! `log::load`.
