//! Kafka's configuration keys, and klog's few own.
//!
//! One table says everything about a key: name, type, default, rule, level, relation between broker and topic, text.
//! Parsing, checks, typed configurations and listings read it.
//!
//! A caller fills a [`ConfigSet`] by calls or from a properties text; a bad value fails at once. [`ConfigSet::resolve`]
//! checks across keys and gives a [`Resolved`]: the [`BrokerConfig`] that a manager reads, the [`TopicDefaults`], and
//! for every topic the [`LogConfig`] that its logs share. Whether a topic was given a configuration at all is kept,
//! for a topic found on disk without one is not managed.
//!
//! Errors are `InvalidConfig` or `UnknownConfig`, with Kafka's text where Kafka has one, and always name the key.
//! Imports `error` only; reads no file and no clock.
//!
//! Implements config.md.

mod broker_config;
mod broker_keys;
mod choices;
mod describe;
mod dynamic;
mod key;
mod log_config;
mod other_keys;
mod properties;
mod resolved;
mod set;
mod suggest;
#[cfg(test)]
mod tests;
mod topic_keys;
mod topic_name;
mod value;
mod values;

pub use broker_config::{BrokerConfig, CleanerConfig, CordonedDirs};
pub use choices::{CleanupPolicy, Compression, TimestampType, UnmanagedTopics};
pub use describe::{KeyDescription, describe, describe_all};
pub use key::{Effect, Scope, ValueType};
pub use log_config::{LogConfig, TopicDefaults, TopicOverrides};
pub use properties::{Property, parse_properties};
pub use resolved::Resolved;
pub use set::{ConfigSet, ConfigWarning};
