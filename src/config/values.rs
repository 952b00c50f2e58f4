//! The values that were set, by key. Reading a key that was not set gives its default.

use std::collections::BTreeMap;

use super::key::{Key, KeyDef, Read, Scope, Synonym};
use super::topic_keys::{RETENTION_MS, TOPIC_KEYS};
use super::value::{Value, check};
use crate::error::Result;

/// Checked values of the keys of one level.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Values(BTreeMap<&'static str, Value>);

impl Values {
    /// Keeps a value that has passed its key's rule.
    pub(super) fn set(&mut self, key: &KeyDef, value: Value) {
        self.0.insert(key.name, value);
    }

    /// The value that was set.
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// The value that was set, or the default.
    pub(super) fn effective(&self, key: &KeyDef) -> Value {
        self.get(key.name)
            .cloned()
            .unwrap_or_else(|| key.default_value())
    }

    /// The same, as the type of the key.
    pub(super) fn read<T: Read>(&self, key: &Key<T>) -> T {
        T::read(&self.effective(&key.def))
    }

    /// The keys that were set, by name.
    pub(super) fn keys(&self) -> impl Iterator<Item = &'static str> {
        self.0.keys().copied()
    }

    /// Takes over everything that is set in `other`.
    pub(super) fn overlay(&mut self, other: &Self) {
        self.0
            .extend(other.0.iter().map(|(key, value)| (*key, value.clone())));
    }

    /// The topic values that these broker values give: of each topic key the first synonym that is set (config.md 4).
    /// They are not checked, since the cross-key checks come first.
    pub(super) fn to_topic_values(&self) -> Self {
        let of_key = |key: &KeyDef| {
            key.synonyms
                .iter()
                .find_map(|synonym| convert(synonym, self.get(synonym.key)?))
        };
        let mut topic = Self::default();
        for key in TOPIC_KEYS {
            if let Some(value) = of_key(key) {
                topic.set(key, value);
            }
        }
        // 4.1: of log.retention.ms and its like every negative number means "for ever".
        if topic.read(&RETENTION_MS) < 0 {
            topic.set(&RETENTION_MS.def, Value::Long(-1));
        }
        topic
    }

    /// Checks topic values that came from broker keys under the names and rules of the topic keys (config.md 2.2).
    pub(super) fn check_as_topic_values(&self) -> Result<()> {
        TOPIC_KEYS
            .iter()
            .filter_map(|key| Some((key, self.get(key.name)?)))
            .try_for_each(|(key, value)| check(key, value))
    }
}

/// A broker's value in the unit of the topic key. Only durations have a factor, and those are LONG at topic level.
fn convert(synonym: &Synonym, value: &Value) -> Option<Value> {
    Some(match value {
        Value::Null => return None,
        Value::Int(number) if synonym.factor > 1 => {
            Value::Long(i64::from(*number).saturating_mul(synonym.factor))
        }
        other => other.clone(),
    })
}

/// The rows of one level.
pub(super) fn table(scope: Scope) -> &'static [&'static KeyDef] {
    match scope {
        Scope::Broker => super::broker_keys::BROKER_KEYS,
        Scope::Topic => TOPIC_KEYS,
    }
}

/// The row of a key.
pub(super) fn find(scope: Scope, name: &str) -> Option<&'static KeyDef> {
    table(scope).iter().copied().find(|key| key.name == name)
}
