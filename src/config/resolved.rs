//! A configuration that is complete: checked across keys, with types and units.
//!
//! Implements config.md 1.5, 4 and 6.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::broker_config::{BrokerConfig, check_across_keys};
use super::key::Scope;
use super::log_config::{LogConfig, TopicDefaults, TopicOverrides};
use super::set::{ConfigSet, ConfigWarning};
use crate::error::Result;

/// What a [`ConfigSet`] of broker keys comes to.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Resolved {
    /// What the manager reads.
    pub broker: BrokerConfig,
    /// What topics start from.
    pub topic_defaults: TopicDefaults,
    /// Everything worth a warning event when the configuration is used.
    pub warnings: Vec<ConfigWarning>,
    default_log_config: Arc<LogConfig>,
    topics: BTreeMap<String, Arc<LogConfig>>,
    /// What it was made from.
    source: ConfigSet,
}

impl ConfigSet {
    /// Checks across keys (config.md 6, in its order) and gives the typed configuration.
    ///
    /// # Errors
    /// `InvalidConfig` with the first check that fails; `InvalidArgument` if this is not a set of broker keys.
    pub fn resolve(&self) -> Result<Resolved> {
        self.expect_scope(Scope::Broker)?;
        let topic_values = self.values.to_topic_values();
        check_across_keys(&self.values, &topic_values)?;
        let topic_defaults = TopicDefaults::from_broker(topic_values)?;
        let mut topics = BTreeMap::new();
        for (topic, overrides) in &self.topics {
            let config = topic_defaults
                .overlaid(overrides)
                .map_err(|e| e.context(format_args!("topic {topic}")))?;
            topics.insert(topic.clone(), Arc::new(config));
        }
        let broker = BrokerConfig::read(&self.values);
        let mut warnings = self.warnings().to_vec();
        warnings.extend(broker.cleaner.warning());
        Ok(Resolved {
            broker,
            default_log_config: Arc::new(topic_defaults.log_config()),
            topic_defaults,
            warnings,
            topics,
            source: self.clone(),
        })
    }
}

impl Resolved {
    /// This configuration with changes of broker keys on top, if all of them may be made while logs are open; overrides of
    /// topics stay (manager.md 12.2).
    ///
    /// # Errors
    /// As [`ConfigSet::with_changes`] and [`ConfigSet::resolve`].
    pub fn with_changes(&self, changes: &ConfigSet) -> Result<Self> {
        self.source.with_changes(changes)?.resolve()
    }

    /// This configuration with these overrides for a topic, instead of those that it had (manager.md 12.3).
    ///
    /// # Errors
    /// `InvalidConfig` if they contradict each other.
    pub fn with_topic(&self, topic: &str, overrides: &TopicOverrides) -> Result<Self> {
        let config = self
            .topic_defaults
            .overlaid(overrides)
            .map_err(|e| e.context(format_args!("topic {topic}")))?;
        let mut changed = self.clone();
        changed.topics.insert(topic.to_owned(), Arc::new(config));
        changed
            .source
            .topics
            .insert(topic.to_owned(), overrides.clone());
        Ok(changed)
    }

    /// The overrides that a topic was given, which may be none at all; `None` if nothing was said about the topic
    /// (manager.md 2.2).
    pub fn overrides_for(&self, topic: &str) -> Option<&TopicOverrides> {
        self.topics.get(topic).map(|config| &config.overrides)
    }

    /// The configuration of a topic's logs; the defaults if nothing was said about it. Logs share it.
    pub fn log_config(&self, topic: &str) -> &Arc<LogConfig> {
        self.topics.get(topic).unwrap_or(&self.default_log_config)
    }

    /// The configuration of topics about which nothing was said.
    pub fn default_log_config(&self) -> &Arc<LogConfig> {
        &self.default_log_config
    }

    /// The topics that were given a configuration, by name.
    pub fn topics(&self) -> impl Iterator<Item = &str> {
        self.topics.keys().map(String::as_str)
    }
}
