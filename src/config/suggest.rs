//! What a key that nobody knows was probably meant to be.
//!
//! Implements the suggestions of config.md 1.6.

use super::key::{KeyDef, Scope};
use super::topic_name;
use super::values::{find, table};

/// Longer keys are compared by their beginning: the longest known one has 50 characters.
const MAX_COMPARED: usize = 128;

/// What to say about an unknown key, after its name.
pub(super) fn advice(scope: Scope, key: &str) -> String {
    let other_level = match scope {
        Scope::Broker => find(Scope::Topic, key),
        Scope::Topic => find(Scope::Broker, key),
    };
    match (scope, other_level) {
        (Scope::Broker, Some(topic_key)) => match topic_key.synonyms.first() {
            Some(synonym) => {
                format!(
                    "it is a topic key: set {} for all topics, or topic.<name>.{key} for one",
                    synonym.key
                )
            }
            None => format!("it is a topic key: set topic.<name>.{key} for one topic"),
        },
        (Scope::Topic, Some(_)) => match topic_key_of(key) {
            Some(topic_key) => format!("it is a broker key: the topic key is {topic_key}"),
            None => format!(
                "it is a broker key; the nearest topic key is {}",
                nearest(scope, key).0
            ),
        },
        (Scope::Broker, None) if key.starts_with(topic_name::PREFIX) => {
            match nearest_topic_line(key) {
                Some(line) => format!("the nearest known one is {line}"),
                None => "after topic. it needs the name of a topic and a topic key".to_string(),
            }
        }
        _ => format!("the nearest known one is {}", nearest(scope, key).0),
    }
}

/// The topic key that a broker key gives the default of.
pub(super) fn topic_key_of(broker_key: &str) -> Option<&'static str> {
    let gives = |key: &KeyDef| key.synonyms.iter().any(|synonym| synonym.key == broker_key);
    table(Scope::Topic)
        .iter()
        .find(|key| gives(key))
        .map(|key| key.name)
}

/// The known key with the fewest edits to this one, and their number.
fn nearest(scope: Scope, key: &str) -> (&'static str, usize) {
    let key: String = key.chars().take(MAX_COMPARED).collect();
    let length = key.chars().count();
    let mut best = ("", usize::MAX);
    for known in table(scope) {
        // At least so many edits, which spares most comparisons of a text full of unknown keys.
        if known.name.len().abs_diff(length) < best.1 {
            let edits = strsim::osa_distance(known.name, &key);
            if edits < best.1 {
                best = (known.name, edits);
            }
        }
    }
    best
}

/// `topic.<name>.<key>` where the end of the text is nearest to a topic key.
fn nearest_topic_line(line: &str) -> Option<String> {
    let rest = line.strip_prefix(topic_name::PREFIX)?;
    rest.match_indices('.')
        .take(MAX_COMPARED)
        .map(|(dot, _)| rest.split_at(dot))
        .filter(|(topic, _)| topic_name::is_valid(topic))
        .map(|(topic, tail)| (topic, nearest(Scope::Topic, tail.trim_start_matches('.'))))
        .min_by_key(|(_, (_, edits))| *edits)
        .map(|(topic, (key, _))| format!("{}{topic}.{key}", topic_name::PREFIX))
}
