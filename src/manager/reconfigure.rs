//! Changing the configuration while logs are open. Implements manager.md 12.
//!
//! What a log uses of its configuration it asks for each time, or when its next segment begins (config.md 5.11). A log that is
//! made or loaded meanwhile gets the new one too: it is in the list of logs when that is gone through, or sees it.

use std::sync::Arc;

use super::Manager;
use crate::config::{ConfigSet, Resolved, TopicOverrides};
use crate::error::Result;
use crate::log::Log;

impl Manager {
    /// Changes broker keys: what new topics, and those without overrides of these keys, start from, and what the manager itself
    /// goes by. Either all of the changes are made or none. INVALID_CONFIG for keys that cannot be changed while logs are
    /// open.
    pub fn set_config(&self, changes: &ConfigSet) -> Result<()> {
        let _one_at_a_time = self.reconfiguring.lock();
        self.check_open()?;
        let before = self.config();
        let after = Arc::new(before.with_changes(changes)?);
        after.broker.check_dirs(&self.given_dirs)?;
        self.config.store(Arc::clone(&after));
        self.cleaning.set_rate(&after.broker, &self.clock);
        for log in self.current_and_future() {
            log.set_config(Arc::clone(after.log_config(&log.partition().topic)));
            if after.broker.producer_id_expiration_ms != before.broker.producer_id_expiration_ms {
                log.set_producer_expiration_ms(after.broker.producer_id_expiration_ms);
            }
        }
        self.end_unwanted_cleaning()
    }

    /// Gives a topic these overrides, instead of those that it had. Its logs, also those to come, go by them from now on, and are
    /// managed (manager.md 2.2).
    pub fn set_topic_config(&self, topic: &str, overrides: &TopicOverrides) -> Result<()> {
        let _one_at_a_time = self.reconfiguring.lock();
        self.check_open()?;
        let after: Arc<Resolved> = Arc::new(self.config().with_topic(topic, overrides)?);
        self.config.store(Arc::clone(&after));
        for log in self.current_and_future() {
            if *log.partition().topic == *topic {
                log.set_config(Arc::clone(after.log_config(topic)));
            }
        }
        self.end_unwanted_cleaning()
    }

    /// A log that is not to be compacted any more is not compacted on.
    fn end_unwanted_cleaning(&self) -> Result<()> {
        for log in self.logs() {
            if !log.config().cleanup_policy.compact && self.cleaning_progress(&log).is_some() {
                self.without_cleaning(log.partition(), || Ok(()))?;
            }
        }
        Ok(())
    }

    /// Every log, and every copy on its way.
    fn current_and_future(&self) -> Vec<Arc<Log>> {
        let mut logs = self.logs();
        logs.extend(self.futures.read().values().cloned());
        logs
    }
}
