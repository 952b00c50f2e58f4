//! Changes of broker keys while logs are open.
//!
//! Implements config.md 5.12, and manager.md 12.1 and 12.5 as far as they decide what may change.

use super::broker_keys::{BACKGROUND_THREADS, CLEANER_ENABLE, CLEANER_THREADS, RECOVERY_THREADS};
use super::key::{Key, Scope};
use super::set::ConfigSet;
use super::values::find;
use crate::error::{Error, ErrorKind, Result};

impl ConfigSet {
    /// This configuration with changes on top, if all of them may be made while logs are open. What the changes do not
    /// mention stays. The result still has to be resolved.
    ///
    /// # Errors
    /// `InvalidConfig` naming the keys that cannot be changed, or a number of threads that goes beyond half or double
    /// the current one; `InvalidArgument` if either is not a set of broker keys, or the changes name topics.
    pub fn with_changes(&self, changes: &Self) -> Result<Self> {
        self.expect_scope(Scope::Broker)?;
        changes.expect_scope(Scope::Broker)?;
        if let Some(topic) = changes.topics.keys().next() {
            return Err(Error::invalid_argument(format!(
                "overrides of topic {topic} cannot be changed along with broker keys; change the topic's own"
            )));
        }
        let fixed: Vec<&str> = changes
            .values
            .keys()
            .filter(|key| !find(Scope::Broker, key).is_some_and(|row| row.dynamic))
            .collect();
        if !fixed.is_empty() {
            return Err(refused(format!(
                "Cannot update these configs dynamically: [{}]",
                fixed.join(", ")
            )));
        }
        let mut changed = self.clone();
        changed.values.overlay(&changes.values);
        for key in [&RECOVERY_THREADS, &BACKGROUND_THREADS] {
            check_pool_size(self, &changed, key)?;
        }
        check_cleaner_threads(self, &changed)?;
        Ok(changed)
    }
}

/// config.md 5.12. At least 1 is the key's own rule.
fn check_pool_size(current: &ConfigSet, changed: &ConfigSet, key: &Key<i32>) -> Result<()> {
    let (old, new) = (current.values.read(key), changed.values.read(key));
    let text = match Step::of(old, new) {
        Step::Fine => return Ok(()),
        Step::TooSmall => format!("value should be at least half the current value {old}"),
        Step::TooLarge => {
            format!("value should not be greater than double the current value {old}")
        }
    };
    Err(refused(format!(
        "Dynamic thread count update validation failed for {}={new}, {text}",
        key.def.name
    )))
}

/// config.md 2.3. Without a cleaner there is no thread to count from.
fn check_cleaner_threads(current: &ConfigSet, changed: &ConfigSet) -> Result<()> {
    let (old, new) = (
        current.values.read(&CLEANER_THREADS),
        changed.values.read(&CLEANER_THREADS),
    );
    if !current.values.read(&CLEANER_ENABLE) {
        return Ok(());
    }
    let text = match Step::of(old, new) {
        _ if new < 1 => "should be at least 1".to_string(),
        Step::Fine => return Ok(()),
        Step::TooSmall => format!("cannot be reduced to less than half the current value {old}"),
        Step::TooLarge => {
            format!("cannot be increased to more than double the current value {old}")
        }
    };
    Err(refused(format!(
        "log.cleaner.threads={new}: Log cleaner threads {text}"
    )))
}

enum Step {
    Fine,
    TooSmall,
    TooLarge,
}

impl Step {
    fn of(old: i32, new: i32) -> Self {
        if new < old / 2 {
            Self::TooSmall
        } else if i64::from(new) > i64::from(old) * 2 {
            Self::TooLarge
        } else {
            Self::Fine
        }
    }
}

fn refused(text: String) -> Error {
    Error::new(ErrorKind::InvalidConfig, text)
}
