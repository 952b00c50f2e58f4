//! The list of all keys, for documentation and for callers that want to show them.

use std::fmt;

use super::key::{Effect, KeyDef, Scope, ValueType};
use super::suggest::topic_key_of;
use super::value::Value;
use super::values::table;

/// What there is to know about a key.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct KeyDescription {
    /// The key.
    pub key: &'static str,
    /// Its level. Keys of both levels are described twice.
    pub scope: Scope,
    /// The type of its values.
    pub value_type: ValueType,
    /// The default as text; `None` if the key is not set by default.
    pub default: Option<String>,
    /// Which values are allowed, in words; empty if all of the type are.
    pub range: String,
    /// Whether it can be changed while logs are open.
    pub dynamic: bool,
    /// Whether Kafka leaves it out of its documentation.
    pub internal: bool,
    /// Whether it does anything in klog.
    pub effect: Effect,
    /// Of a broker key: the topic key that it gives the default of. Of a topic key: the broker keys that give its
    /// default, of which the first that is set wins.
    pub related: Vec<&'static str>,
    /// What it is for, with units.
    pub doc: &'static str,
}

impl KeyDescription {
    fn of(key: &KeyDef) -> Self {
        let default = key.default_value();
        Self {
            key: key.name,
            scope: key.scope,
            value_type: key.value_type,
            default: (default != Value::Null).then(|| default.to_string()),
            range: key.rule.to_string(),
            dynamic: key.dynamic,
            internal: key.internal,
            effect: key.effect,
            related: match key.scope {
                Scope::Broker => topic_key_of(key.name).into_iter().collect(),
                Scope::Topic => key.synonyms.iter().map(|synonym| synonym.key).collect(),
            },
            doc: key.doc,
        }
    }
}

/// One `name: value` a line, without lines that have nothing to say.
impl fmt::Display for KeyDescription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "key: {}", self.key)?;
        writeln!(f, "scope: {}", self.scope)?;
        writeln!(f, "type: {}", self.value_type)?;
        writeln!(f, "default: {}", self.default.as_deref().unwrap_or("null"))?;
        if !self.range.is_empty() {
            writeln!(f, "range: {}", self.range)?;
        }
        writeln!(f, "dynamic: {}", if self.dynamic { "yes" } else { "no" })?;
        if self.internal {
            writeln!(f, "internal: yes")?;
        }
        if self.effect == Effect::Stored {
            writeln!(f, "effect: none, checked and kept")?;
        }
        if !self.related.is_empty() {
            let level = match self.scope {
                Scope::Broker => "topic key",
                Scope::Topic => "broker keys",
            };
            writeln!(f, "{level}: {}", self.related.join(", "))?;
        }
        writeln!(f, "doc: {}", self.doc)
    }
}

/// The keys that klog knows, broker keys first. Keys that are only ignored are not among them (config.md 7, 8).
pub fn describe_all() -> impl Iterator<Item = KeyDescription> {
    rows().map(KeyDescription::of)
}

/// One of [`describe_all`], from 0; `None` after the last.
#[must_use]
pub fn describe(index: usize) -> Option<KeyDescription> {
    rows().nth(index).map(KeyDescription::of)
}

fn rows() -> impl Iterator<Item = &'static KeyDef> {
    table(Scope::Broker)
        .iter()
        .chain(table(Scope::Topic))
        .copied()
}
