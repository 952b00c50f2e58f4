//! Tests of the configuration as a whole. Values marked [run] in config.md were seen with Kafka 4.4.0's own classes.
#![allow(clippy::unwrap_used, clippy::panic)]

mod changes;
mod checks;
mod derived;
mod keys;
mod sources;
mod values;

use super::{ConfigSet, LogConfig, Resolved};
use crate::error::{ErrorKind, Result};

/// A set of broker keys with these values.
fn broker(pairs: &[(&str, &str)]) -> ConfigSet {
    let mut config = ConfigSet::broker();
    for (key, value) in pairs {
        config.set(key, value).unwrap();
    }
    config
}

fn resolve(pairs: &[(&str, &str)]) -> Result<Resolved> {
    broker(pairs).resolve()
}

/// The topic defaults that broker keys give.
fn defaults(pairs: &[(&str, &str)]) -> LogConfig {
    resolve(pairs).unwrap().topic_defaults.log_config()
}

/// The configuration of a topic with these overrides on a broker without settings.
fn topic(pairs: &[(&str, &str)]) -> Result<LogConfig> {
    let mut config = ConfigSet::topic();
    for (key, value) in pairs {
        config.set(key, value)?;
    }
    super::TopicDefaults::default().overlaid(&config.topic_overrides()?)
}

/// The text with which a value is refused.
#[track_caller]
fn refusal<T: std::fmt::Debug>(result: Result<T>) -> String {
    let error = result.unwrap_err();
    assert_eq!(
        (error.kind(), error.kafka_code()),
        (ErrorKind::InvalidConfig, 40),
        "{error}"
    );
    error.message().to_string()
}
