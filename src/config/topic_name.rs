//! Names of topics, and how a line of a properties text names a topic and one of its keys.
//!
//! Implements c-abi.md 3.2.9 and the names of manager.md 3.6.

use super::key::Scope;
use super::other_keys::{OldKey, old_keys};
use super::values::table;

/// What a line about one topic begins with.
pub(super) const PREFIX: &str = "topic.";

const MAX_LENGTH: usize = 249;

/// Whether a topic may have this name.
pub(super) fn is_valid(name: &str) -> bool {
    let is_legal = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    !matches!(name, "" | "." | "..") && name.len() <= MAX_LENGTH && name.bytes().all(is_legal)
}

/// Takes `topic.<name>.<key>` apart: the key is the longest one that ends the line and leaves a valid name. Keys of
/// older versions count, so that they are ignored as such.
pub(super) fn split_line(line: &str) -> Option<(&str, &'static str)> {
    let rest = line.strip_prefix(PREFIX)?;
    let known = table(Scope::Topic).iter().map(|key| key.name);
    let old = old_keys(Scope::Topic).filter_map(OldKey::exact_name);
    known
        .chain(old)
        .filter_map(|key| Some((rest.strip_suffix(key)?.strip_suffix('.')?, key)))
        .filter(|(topic, _)| is_valid(topic))
        .max_by_key(|(_, key)| key.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_key_that_leaves_a_name_is_taken() {
        for (line, expect) in [
            (
                "topic.a.delete.retention.ms",
                Some(("a", "delete.retention.ms")),
            ),
            ("topic.a.retention.ms", Some(("a", "retention.ms"))),
            (
                "topic.delete.retention.ms",
                Some(("delete", "retention.ms")),
            ),
            (
                "topic.a.b-c_D.9.local.retention.bytes",
                Some(("a.b-c_D.9", "local.retention.bytes")),
            ),
            (
                "topic.a.internal.segment.bytes",
                Some(("a", "internal.segment.bytes")),
            ),
            (
                "topic.internal.segment.bytes",
                Some(("internal", "segment.bytes")),
            ),
            (
                "topic.a.message.format.version",
                Some(("a", "message.format.version")),
            ),
            ("topic...retention.ms", None),
            ("topic....retention.ms", None),
            ("topic..a.retention.ms", Some((".a", "retention.ms"))),
            ("topic.retention.ms", None),
            ("topic.a b.retention.ms", None),
            ("topic.a", None),
            ("topics.a.retention.ms", None),
        ] {
            assert_eq!(split_line(line), expect, "{line}");
        }
        let long = "x".repeat(249);
        assert!(split_line(&format!("topic.{long}.flush.ms")).is_some());
        assert!(split_line(&format!("topic.{long}x.flush.ms")).is_none());
    }
}
