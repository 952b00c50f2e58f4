//! [`ConfigSet`]: keys and values as a caller gives them, checked one by one.
//!
//! A call that fails changes nothing. Everything that a caller should hear about without it being an error is kept as a
//! warning.
//!
//! Implements config.md 1.5-1.7, 7 and 8, and c-abi.md 3.2.9.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

use super::key::{KeyDef, Scope};
use super::log_config::TopicOverrides;
use super::other_keys::{OldKey, find_old_key, is_cluster_key};
use super::properties::{Property, parse_properties};
use super::suggest::advice;
use super::topic_name;
use super::value::{Value, parse};
use super::values::{Values, find};
use crate::error::{Error, ErrorKind, Result};

/// Something about a configuration that is no error.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConfigWarning {
    /// The line of the properties text, from 1; `None` if the key came by a call.
    pub line: Option<usize>,
    /// The key concerned, as it was written.
    pub key: String,
    /// One sentence that names the key.
    pub text: String,
}

impl fmt::Display for ConfigWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        f.write_str(&self.text)
    }
}

/// Keys and values of a broker with the overrides of its topics, or of one topic.
///
/// # Examples
/// ```
/// use klog::config::ConfigSet;
///
/// let mut config = ConfigSet::broker();
/// config.load_properties(b"log.retention.hours=24\ntopic.audit.cleanup.policy=compact\n")?;
/// config.set("log.segment.bytes", "16777216")?;
/// let resolved = config.resolve()?;
/// assert_eq!(resolved.log_config("audit").retention_ms, Some(86_400_000));
/// assert!(resolved.log_config("audit").cleanup_policy.compact);
/// assert!(resolved.overrides_for("other").is_none());
/// # Ok::<(), klog::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigSet {
    scope: Scope,
    pub(super) values: Values,
    pub(super) topics: BTreeMap<String, TopicOverrides>,
    warnings: Vec<ConfigWarning>,
    /// Texts of `warnings`: each is given once.
    warned: HashSet<String>,
}

/// What a key is to klog.
enum Known {
    Row(&'static KeyDef),
    /// Ignored with a warning.
    Old(&'static OldKey),
    /// Ignored silently.
    Cluster,
    Unknown,
}

impl Known {
    fn of(scope: Scope, key: &str) -> Self {
        if let Some(row) = find(scope, key) {
            Self::Row(row)
        } else if let Some(old) = find_old_key(scope, key) {
            Self::Old(old)
        } else if is_cluster_key(scope, key) {
            Self::Cluster
        } else {
            Self::Unknown
        }
    }
}

impl ConfigSet {
    /// An empty set of broker keys: Kafka's defaults.
    #[must_use]
    pub fn broker() -> Self {
        Self::new(Scope::Broker)
    }

    /// An empty set of topic keys: overrides of one topic.
    #[must_use]
    pub fn topic() -> Self {
        Self::new(Scope::Topic)
    }

    fn new(scope: Scope) -> Self {
        Self {
            scope,
            values: Values::default(),
            topics: BTreeMap::new(),
            warnings: Vec::new(),
            warned: HashSet::new(),
        }
    }

    /// The level of the keys that this set takes.
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// Sets a key. Keys of older versions are ignored with a warning, those that concern a cluster silently.
    ///
    /// # Errors
    /// `InvalidConfig` for a value that the key does not take, `UnknownConfig` for a key that neither Kafka nor klog
    /// has at this level; the message names the key, and the nearest known one.
    pub fn set(&mut self, key: &str, value: &str) -> Result<()> {
        match Known::of(self.scope, key) {
            Known::Row(row) => {
                let value = self.parse(row, key, value, None)?;
                self.values.set(row, value);
            }
            Known::Old(old) => self.warn(None, key, old.warning(key)),
            Known::Cluster => {}
            Known::Unknown => return Err(unknown(self.scope, key)),
        }
        Ok(())
    }

    /// Sets a key of one topic, which also makes the topic a managed one (manager.md 2.2).
    ///
    /// # Errors
    /// As [`Self::set`]; also `InvalidTopic` for a name that no topic may have, and `InvalidArgument` if this is not a
    /// set of broker keys.
    pub fn set_topic(&mut self, topic: &str, key: &str, value: &str) -> Result<()> {
        self.check_topic(topic)?;
        let in_topic = |error: Error| error.context(format_args!("topic {topic}"));
        match Known::of(Scope::Topic, key) {
            Known::Row(row) => {
                let value = self.parse(row, key, value, None).map_err(in_topic)?;
                self.overrides_mut(topic).values_mut().set(row, value);
            }
            Known::Old(old) => {
                self.warn(None, key, format!("topic {topic}: {}", old.warning(key)));
                self.overrides_mut(topic);
            }
            Known::Cluster | Known::Unknown => return Err(in_topic(unknown(Scope::Topic, key))),
        }
        Ok(())
    }

    /// Gives a topic a configuration without an override: it is managed, with the defaults (manager.md 2.2). What was
    /// set for it stays.
    ///
    /// # Errors
    /// `InvalidTopic` and `InvalidArgument` as [`Self::set_topic`].
    pub fn manage_topic(&mut self, topic: &str) -> Result<()> {
        self.check_topic(topic)?;
        self.overrides_mut(topic);
        Ok(())
    }

    /// Sets what a properties text says, on top of what is set already. For a broker it may have lines
    /// `topic.<name>.<key>` too; `<key>` is the longest topic key that ends the line and leaves a valid name.
    ///
    /// Returns the warnings that this text adds, of unknown keys too; they are also kept for [`Self::warnings`].
    ///
    /// # Errors
    /// `InvalidConfig` for a bad value or a malformed text; the line is in the message and in
    /// [`Error::record_index`].
    pub fn load_properties(&mut self, text: &[u8]) -> Result<Vec<ConfigWarning>> {
        let properties = parse_properties(text)?;
        // On a copy, for an error must leave nothing behind.
        let mut loaded = self.clone();
        for property in &properties {
            loaded.load(property).map_err(|error| {
                error
                    .context(format_args!("line {}", property.line))
                    .at_record(property.line)
            })?;
        }
        let new_warnings = loaded
            .warnings
            .iter()
            .skip(self.warnings.len())
            .cloned()
            .collect();
        *self = loaded;
        Ok(new_warnings)
    }

    /// The effective value of a key as text, set or default; `None` if it has neither, or is one that is only ignored.
    /// Numbers and lists come in one spelling, whatever theirs was.
    ///
    /// # Errors
    /// `UnknownConfig` as [`Self::set`].
    pub fn get(&self, key: &str) -> Result<Option<String>> {
        match Known::of(self.scope, key) {
            Known::Row(row) => {
                let value = self.values.effective(row);
                Ok((value != Value::Null).then(|| value.to_string()))
            }
            Known::Old(_) | Known::Cluster => Ok(None),
            Known::Unknown => Err(unknown(self.scope, key)),
        }
    }

    /// The warnings so far, in the order in which they came up.
    pub fn warnings(&self) -> &[ConfigWarning] {
        &self.warnings
    }

    /// The keys as overrides of a topic.
    ///
    /// # Errors
    /// `InvalidArgument` if this is a set of broker keys.
    pub fn topic_overrides(&self) -> Result<TopicOverrides> {
        self.expect_scope(Scope::Topic)?;
        let mut overrides = TopicOverrides::default();
        overrides.values_mut().overlay(&self.values);
        Ok(overrides)
    }

    fn load(&mut self, property: &Property) -> Result<()> {
        let Property { line, key, value } = property;
        let topic_line = if self.scope == Scope::Broker {
            topic_name::split_line(key)
        } else {
            None
        };
        let known = match topic_line {
            Some((_, topic_key)) => Known::of(Scope::Topic, topic_key),
            None => Known::of(self.scope, key),
        };
        if let Some((topic, _)) = topic_line {
            self.overrides_mut(topic);
        }
        match known {
            Known::Row(row) => {
                let in_topic = |error: Error| match topic_line {
                    Some((topic, _)) => error.context(format_args!("topic {topic}")),
                    None => error,
                };
                let parsed = self.parse(row, key, value, Some(*line)).map_err(in_topic)?;
                if is_probably_utf8(value) {
                    let text = format!(
                        "{key} is read as ISO-8859-1, as Kafka does; write other characters as \\uXXXX"
                    );
                    self.warn(Some(*line), key, text);
                }
                match topic_line {
                    Some((topic, _)) => self.overrides_mut(topic).values_mut().set(row, parsed),
                    None => self.values.set(row, parsed),
                }
            }
            Known::Old(old) => self.warn(Some(*line), key, old.warning(key)),
            Known::Cluster => {}
            Known::Unknown => self.warn(
                Some(*line),
                key,
                unknown(self.scope, key).message().to_string(),
            ),
        }
        Ok(())
    }

    /// Parses a value; `written` is the key with which warnings are filed.
    fn parse(
        &mut self,
        row: &KeyDef,
        written: &str,
        value: &str,
        line: Option<usize>,
    ) -> Result<Value> {
        let parsed = parse(row, value)?;
        if parsed.dropped_duplicates {
            self.warn(
                line,
                written,
                format!("{written} has duplicate items; the first of each is kept"),
            );
        }
        Ok(parsed.value)
    }

    /// Keeps a warning, once.
    fn warn(&mut self, line: Option<usize>, key: &str, text: String) {
        if self.warned.insert(text.clone()) {
            self.warnings.push(ConfigWarning {
                line,
                key: key.to_string(),
                text,
            });
        }
    }

    fn overrides_mut(&mut self, topic: &str) -> &mut TopicOverrides {
        self.topics.entry(topic.to_string()).or_default()
    }

    fn check_topic(&self, topic: &str) -> Result<()> {
        self.expect_scope(Scope::Broker)?;
        if topic_name::is_valid(topic) {
            return Ok(());
        }
        let text = format!(
            "topic name {topic:?} must be 1 to 249 of a-z, A-Z, 0-9, '.', '_', '-', and not . or .."
        );
        Err(Error::new(ErrorKind::InvalidTopic, text))
    }

    pub(super) fn expect_scope(&self, scope: Scope) -> Result<()> {
        if self.scope == scope {
            return Ok(());
        }
        Err(Error::invalid_argument(format!(
            "this takes a configuration of {scope} keys, not of {} keys",
            self.scope
        )))
    }
}

fn unknown(scope: Scope, key: &str) -> Error {
    Error::new(
        ErrorKind::UnknownConfig,
        format!("Unknown {scope} config name: {key}; {}", advice(scope, key)),
    )
}

/// Whether characters look like the bytes of UTF-8 text, so that the author of the file meant others.
fn is_probably_utf8(value: &str) -> bool {
    if value.is_ascii() {
        return false;
    }
    let bytes: Option<Vec<u8>> = value
        .chars()
        .map(|c| u8::try_from(u32::from(c)).ok())
        .collect();
    bytes.is_some_and(|bytes| std::str::from_utf8(&bytes).is_ok())
}
