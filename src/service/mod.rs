//! What programs want on top of a manager: an appender that gathers records of many threads, waiting for records to come,
//! events, metrics.
//!
//! Will sit above `manager` and below `ffi`, and beside `inspect`. It has no code before the issues on those subjects.
