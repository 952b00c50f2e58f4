//! Retention over the logs of a manager. Implements manager.md 5.1, 5.2, 5.8, 2.2.

use std::sync::Arc;

use super::Manager;
use crate::config::UnmanagedTopics;
use crate::error::Result;
use crate::log::{Deleted, Log};
use crate::types::{Offset, TopicPartition};

/// Whether a pass of retention is for real.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// What has expired goes.
    Apply,
    /// It is only counted.
    DryRun,
}

/// What retention did to a log, or would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retained {
    /// Which log.
    pub partition: TopicPartition,
    /// What went of it.
    pub deleted: Deleted,
    /// Where it starts.
    pub log_start: Offset,
    /// Where it ends.
    pub log_end: Offset,
}

impl Manager {
    /// Whether retention and cleaning may touch a log: it was made by this manager, or its topic was given a configuration,
    /// or all topics are managed (manager.md 2.2). The data directory does not say how long a topic's records are to be kept.
    #[must_use]
    pub fn is_managed(&self, log: &Log) -> bool {
        let config = self.config();
        config.broker.unmanaged_topics == UnmanagedTopics::Manage
            || config.overrides_for(&log.partition().topic).is_some()
            || self.made.lock().contains(log.partition())
            || !log.config().overrides.is_empty()
    }

    /// One pass of retention: the task `kafka-log-retention`. Logs that are compacted are left to the cleaner, unmanaged ones
    /// left alone. The first failure ends the pass.
    pub fn retain_all(&self, pass: Pass) -> Result<Vec<Retained>> {
        self.check_open()?;
        if pass == Pass::Apply {
            self.check_owned()?;
        }
        let mut done = Vec::new();
        for log in self.logs() {
            if self.is_managed(&log) && !log.config().cleanup_policy.compact {
                // The policy may change meanwhile: then the cleaner waits.
                let retained =
                    self.if_not_cleaned(log.partition(), || self.retain_now(&log, pass))?;
                done.extend(retained);
            }
        }
        Ok(done)
    }

    /// Retention of one log, whether managed or not: by its policy, records go by log start, size and time, or by log start
    /// alone.
    pub fn retain(&self, log: &Arc<Log>, pass: Pass) -> Result<Retained> {
        self.check_open()?;
        self.without_cleaning(log.partition(), || self.retain_now(log, pass))
    }

    /// As [`Self::retain`], by one who has seen to it that the log is not cleaned meanwhile.
    pub(super) fn retain_now(&self, log: &Arc<Log>, pass: Pass) -> Result<Retained> {
        self.check_open()?;
        let retained = |deleted, log_start| Retained {
            partition: log.partition().clone(),
            deleted,
            log_start,
            log_end: log.end_offset(),
        };
        if pass == Pass::DryRun {
            let expired = log.expired()?;
            let deleted = Deleted {
                segments: expired.segments,
                bytes: expired.bytes,
            };
            return Ok(retained(deleted, expired.log_start));
        }
        let deleted = self.delete_expired(log);
        log.end_retention();
        Ok(retained(deleted?, log.start_offset()))
    }

    fn delete_expired(&self, log: &Arc<Log>) -> Result<Deleted> {
        if !log.begin_retention()? {
            return Ok(Deleted::default());
        }
        // The log start is on disk before a segment goes: after a power cut a name may be back, and its records with it.
        self.checkpoint_dir_of(log)?;
        log.delete_below_start()
    }
}
