//! Values of keys: their types, how text becomes a value, and the rules a value has to meet.
//!
//! A value exists only if it has passed its key's rule. Texts of errors are Kafka's, which name the key.
//!
//! Implements config.md 1.1-1.4 and the refusal of 1.7.

use std::fmt;

use super::key::{KeyDef, Rule, ValueType};
use crate::error::{Error, ErrorKind, Result};

/// The value of a key.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// Not set, where a key has no default.
    Null,
    Boolean(bool),
    Int(i32),
    Long(i64),
    Double(f64),
    String(String),
    List(Vec<String>),
}

/// As [`super::ConfigSet::get`] gives it: text that parses to the same value.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Boolean(value) => value.fmt(f),
            Self::Int(value) => value.fmt(f),
            Self::Long(value) => value.fmt(f),
            Self::Double(value) => f.write_str(&java_double(*value)),
            Self::String(value) => f.write_str(value),
            Self::List(items) => f.write_str(&items.join(",")),
        }
    }
}

/// A value and whether items of a list were dropped because they were there already.
#[derive(Debug, PartialEq)]
pub(super) struct Parsed {
    pub(super) value: Value,
    pub(super) dropped_duplicates: bool,
}

/// Turns text into the value of a key and checks it.
pub(super) fn parse(key: &KeyDef, text: &str) -> Result<Parsed> {
    if has_provider(text) {
        return Err(invalid(
            key,
            text,
            "values of config providers are not resolved here; give the value itself",
        ));
    }
    let trimmed = text.trim_matches(|c: char| c <= ' ');
    let not_a_number = || {
        invalid(
            key,
            text,
            format_args!("Not a number of type {}", key.value_type),
        )
    };
    let mut dropped_duplicates = false;
    let value = match key.value_type {
        ValueType::Boolean if trimmed.eq_ignore_ascii_case("true") => Value::Boolean(true),
        ValueType::Boolean if trimmed.eq_ignore_ascii_case("false") => Value::Boolean(false),
        ValueType::Boolean => {
            return Err(invalid(
                key,
                text,
                "Expected value to be either true or false",
            ));
        }
        ValueType::Int => Value::Int(trimmed.parse().map_err(|_| not_a_number())?),
        ValueType::Long => Value::Long(trimmed.parse().map_err(|_| not_a_number())?),
        ValueType::Double => Value::Double(parse_double(trimmed).ok_or_else(not_a_number)?),
        ValueType::String => Value::String(trimmed.to_string()),
        ValueType::List => {
            let mut items = split_list(trimmed);
            if key.rule.wants_distinct_items() {
                let before = items.len();
                items = distinct(items);
                dropped_duplicates = items.len() < before;
            }
            Value::List(items)
        }
    };
    check(key, &value)?;
    Ok(Parsed {
        value,
        dropped_duplicates,
    })
}

/// Checks a value against its key's rule.
pub(super) fn check(key: &KeyDef, value: &Value) -> Result<()> {
    // NaN fails no comparison: a bound is broken only by a number beyond it, as in Kafka.
    let in_range = |min: f64, max: f64| match number(value) {
        Some(number) if number < min => Some(format!("Value must be at least {min}")),
        Some(number) if number > max => Some(format!("Value must be no more than {max}")),
        _ => None,
    };
    let broken = match (key.rule, value) {
        (_, Value::Null) | (Rule::Any, _) | (Rule::GzipLevel, Value::Int(-1 | 1..=9)) => None,
        (Rule::AtLeast(min), _) => in_range(min, f64::INFINITY),
        (Rule::Between(min, max), _) => in_range(min, max),
        (Rule::GzipLevel, _) => Some("Value must be between 1 and 9 or equal to -1".to_string()),
        (Rule::Share, _) => match number(value) {
            Some(share) if share > 0.0 && share <= 1.0 => None,
            _ => Some("Value must be greater than 0 and no more than 1".to_string()),
        },
        (Rule::OneOf(names), Value::String(text)) => (!names.contains(&text.as_str()))
            .then(|| format!("String must be one of: {}", names.join(", "))),
        (Rule::NonEmpty, Value::String(text)) => text
            .is_empty()
            .then(|| "String must be non-empty".to_string()),
        (Rule::NeverTrue(reason), Value::Boolean(true)) => {
            return Err(Error::new(
                ErrorKind::InvalidConfig,
                format!("{}: {reason}", key.name),
            ));
        }
        (Rule::SomeItems | Rule::Items | Rule::ItemsOf(_), Value::List(items)) => {
            return check_list(key, items);
        }
        (Rule::Replicas, Value::List(items)) => {
            return if is_replica_list(items) {
                Ok(())
            } else {
                Err(not_replicas(key, items))
            };
        }
        _ => None,
    };
    match broken {
        Some(text) => Err(invalid(key, value, format_args!("{text}{}", key.hint))),
        None => Ok(()),
    }
}

fn check_list(key: &KeyDef, items: &[String]) -> Result<()> {
    let of_list = |text: &str| {
        Error::new(
            ErrorKind::InvalidConfig,
            format!("Configuration '{}' {text}", key.name),
        )
    };
    if items.is_empty() && key.rule == Rule::SomeItems {
        return Err(of_list(
            "must not be empty. Valid values include: any non-empty value",
        ));
    }
    for item in items {
        if item.is_empty() {
            return Err(of_list("values must not be empty."));
        }
        if let Rule::ItemsOf(names) = key.rule
            && !names.contains(&item.as_str())
        {
            return Err(invalid(
                key,
                item,
                format_args!("String must be one of: {}", names.join(", ")),
            ));
        }
    }
    Ok(())
}

/// `*` alone, or pairs of a partition and a broker. Empty items count for nothing, as in Kafka.
fn is_replica_list(items: &[String]) -> bool {
    let is_id = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let is_pair = |item: &str| {
        item.split_once(':')
            .is_some_and(|(p, b)| is_id(p) && is_id(b))
    };
    let items: Vec<&str> = items
        .iter()
        .map(String::as_str)
        .filter(|item| !item.is_empty())
        .collect();
    items == ["*"] || items.into_iter().all(is_pair)
}

fn not_replicas(key: &KeyDef, items: &[String]) -> Error {
    let text = format!(
        "{} must be the literal '*' or a list of replicas in the following format: \
         [partitionId]:[brokerId],[partitionId]:[brokerId],...",
        key.name
    );
    invalid(key, format_args!("[{}]", items.join(", ")), text)
}

fn invalid(key: &KeyDef, value: impl fmt::Display, text: impl fmt::Display) -> Error {
    let message = format!(
        "Invalid value {value} for configuration {}: {text}",
        key.name
    );
    Error::new(ErrorKind::InvalidConfig, message)
}

/// A number as Kafka compares it with a bound.
#[allow(clippy::cast_precision_loss)] // bounds are small; what is rounded is far beyond them
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Int(value) => Some(f64::from(*value)),
        Value::Long(value) => Some(*value as f64),
        Value::Double(value) => Some(*value),
        _ => None,
    }
}

/// Whether Kafka would ask a config provider: `${name:key}` somewhere in the text.
fn has_provider(text: &str) -> bool {
    text.split("${").skip(1).any(|rest| {
        rest.split_once('}')
            .is_some_and(|(inside, _)| inside.contains(':'))
    })
}

/// Items between commas, without the blanks around them; an empty text is the empty list.
fn split_list(trimmed: &str) -> Vec<String> {
    if trimmed.is_empty() {
        return Vec::new();
    }
    let blanks = |c: char| matches!(c, ' ' | '\t' | '\n' | '\x0b' | '\x0c' | '\r');
    trimmed
        .split(',')
        .map(|item| item.trim_matches(blanks).to_string())
        .collect()
}

fn distinct(items: Vec<String>) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    items
        .into_iter()
        .filter(|item| seen.insert(item.clone()))
        .collect()
}

/// A number as Java's `Double` reads it: with an optional `f` or `d` at its end, `NaN` and `Infinity` spelled so.
/// Hexadecimal ones are not taken.
fn parse_double(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    match unsigned {
        "NaN" => return Some(f64::NAN),
        "Infinity" => {
            return Some(if text.starts_with('-') {
                f64::NEG_INFINITY
            } else {
                f64::INFINITY
            });
        }
        _ => {}
    }
    // Rust reads names like "inf" too; of Java's numbers the first character is a digit or the point.
    if !unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    text.strip_suffix(['f', 'F', 'd', 'D'])
        .unwrap_or(text)
        .parse()
        .ok()
}

/// A number as Java's `Double` prints it.
fn java_double(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_string();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.to_string();
    }
    if value == 0.0 || (1e-3..1e7).contains(&value.abs()) {
        return format!("{value:?}");
    }
    let printed = format!("{value:E}");
    match printed.split_once('E') {
        Some((mantissa, exponent)) if !mantissa.contains('.') => format!("{mantissa}.0E{exponent}"),
        _ => printed,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn doubles_are_read_and_printed_as_java_does() {
        for (text, value, printed) in [
            ("0.5", 0.5, "0.5"),
            ("1e-1", 0.1, "0.1"),
            (".5", 0.5, "0.5"),
            ("1.", 1.0, "1.0"),
            ("+0.5f", 0.5, "0.5"),
            ("0.5D", 0.5, "0.5"),
            ("1e999", f64::INFINITY, "Infinity"),
            ("-Infinity", f64::NEG_INFINITY, "-Infinity"),
            ("1.7976931348623157E308", f64::MAX, "1.7976931348623157E308"),
            ("10000000", 1e7, "1.0E7"),
            ("9999999", 9_999_999.0, "9999999.0"),
            ("0.0001", 1e-4, "1.0E-4"),
            ("-0.0", -0.0, "-0.0"),
        ] {
            let parsed = parse_double(text).unwrap();
            assert_eq!(
                (parsed, java_double(parsed)),
                (value, printed.to_string()),
                "{text}"
            );
        }
        assert!(parse_double("NaN").is_some_and(f64::is_nan));
        for text in [
            "inf", "nan", "infinity", "INFINITY", "", "+", ".", "5e", "1_0", "f", "0x1p-1", "0.5ff",
        ] {
            assert_eq!(parse_double(text), None, "{text}");
        }
    }

    #[test]
    fn only_a_complete_provider_reference_counts_as_one() {
        for text in [
            "${file:/x:y}",
            "a${env:B}c",
            "${x}${y:z}",
            "${:}",
            "${${a:b}",
        ] {
            assert!(has_provider(text), "{text}");
        }
        for text in ["", "${x}", "$ {a:b}", "${a:b", "a:b}", "{a:b}"] {
            assert!(!has_provider(text), "{text}");
        }
    }
}
