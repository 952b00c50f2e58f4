//! What a row of the key tables says, and how a row is written.
//!
//! A row is the only place that knows a key's name, type, default, rule, level and text; parsing, checks, typed
//! configurations, listings and documentation read it. [`Key`] ties a row to the Rust type that it is read as.
//!
//! Implements the columns of config.md 2, 3 and 9.

use std::fmt;
use std::marker::PhantomData;

use super::value::Value;

/// The level that a key belongs to, and with it the kind of a [`super::ConfigSet`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// A key of `server.properties`; klog's own keys are of this level.
    Broker,
    /// A key of one topic.
    Topic,
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Broker => "broker",
            Self::Topic => "topic",
        })
    }
}

/// The type of a key's value, as Kafka names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueType {
    /// `true` or `false`, in any case.
    Boolean,
    /// A decimal number of 32 bits.
    Int,
    /// A decimal number of 64 bits.
    Long,
    /// A floating-point number of 64 bits.
    Double,
    /// Text.
    String,
    /// Items separated by commas.
    List,
}

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Boolean => "BOOLEAN",
            Self::Int => "INT",
            Self::Long => "LONG",
            Self::Double => "DOUBLE",
            Self::String => "STRING",
            Self::List => "LIST",
        })
    }
}

/// What a key does in klog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// It governs something.
    Used,
    /// It is checked and kept, for what it governs is not part of a storage library.
    Stored,
}

/// What a value has to be. Bounds are inclusive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Rule {
    Any,
    AtLeast(f64),
    Between(f64, f64),
    /// -1 or 1 to 9.
    GzipLevel,
    /// More than 0, at most 1.
    Share,
    OneOf(&'static [&'static str]),
    NonEmpty,
    /// A switch that klog cannot turn on; the text says why.
    NeverTrue(&'static str),
    /// Items that are not empty, each once.
    Items,
    /// The same, and at least one.
    SomeItems,
    /// Items out of these, each once.
    ItemsOf(&'static [&'static str]),
    /// `*`, or pairs of partition and broker.
    Replicas,
}

impl Rule {
    pub(super) const fn wants_distinct_items(self) -> bool {
        matches!(self, Self::Items | Self::SomeItems | Self::ItemsOf(_))
    }
}

/// The rule in words; empty where every value of the type is fine.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => Ok(()),
            Self::AtLeast(min) => write!(f, "at least {min}"),
            Self::Between(min, max) => write!(f, "{min} to {max}"),
            Self::GzipLevel => f.write_str("1 to 9, or -1"),
            Self::Share => f.write_str("above 0, up to 1"),
            Self::OneOf(names) => f.write_str(&names.join(", ")),
            Self::NonEmpty => f.write_str("not empty"),
            Self::NeverTrue(_) => f.write_str("false"),
            Self::Items => f.write_str("no empty item"),
            Self::SomeItems => f.write_str("at least one item, none empty"),
            Self::ItemsOf(names) => write!(f, "any of {}", names.join(", ")),
            Self::Replicas => f.write_str("* or partition:broker,..."),
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum DefaultValue {
    Null,
    Boolean(bool),
    Int(i32),
    Long(i64),
    Double(f64),
    String(&'static str),
    List(&'static [&'static str]),
}

/// A broker key that a topic key takes its default from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Synonym {
    pub(super) key: &'static str,
    /// What the broker's number is multiplied with.
    pub(super) factor: i64,
}

/// One row of a table.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyDef {
    pub(super) name: &'static str,
    pub(super) scope: Scope,
    pub(super) value_type: ValueType,
    default: DefaultValue,
    pub(super) rule: Rule,
    /// Added to the text of a broken rule: what to do instead.
    pub(super) hint: &'static str,
    /// Whether it can be changed while the logs are open.
    pub(super) dynamic: bool,
    /// Whether Kafka hides it from its documentation.
    pub(super) internal: bool,
    pub(super) effect: Effect,
    /// Of a topic key: the broker keys that give its default; the first that is set wins.
    pub(super) synonyms: &'static [Synonym],
    pub(super) doc: &'static str,
}

impl KeyDef {
    pub(super) fn default_value(&self) -> Value {
        match self.default {
            DefaultValue::Null => Value::Null,
            DefaultValue::Boolean(value) => Value::Boolean(value),
            DefaultValue::Int(value) => Value::Int(value),
            DefaultValue::Long(value) => Value::Long(value),
            DefaultValue::Double(value) => Value::Double(value),
            DefaultValue::String(value) => Value::String(value.to_string()),
            DefaultValue::List(items) => {
                Value::List(items.iter().map(ToString::to_string).collect())
            }
        }
    }
}

/// A row whose values are read as `T`. Only the constructors below make one, so the row's type and default fit `T`.
#[derive(Clone, Copy)]
pub(super) struct Key<T> {
    pub(super) def: KeyDef,
    reads: PhantomData<fn() -> T>,
}

impl<T> Key<T> {
    const fn new(
        name: &'static str,
        value_type: ValueType,
        default: DefaultValue,
        doc: &'static str,
    ) -> Self {
        Self {
            def: KeyDef {
                name,
                scope: Scope::Broker,
                value_type,
                default,
                rule: Rule::Any,
                hint: "",
                dynamic: false,
                internal: false,
                effect: Effect::Used,
                synonyms: &[],
                doc,
            },
            reads: PhantomData,
        }
    }

    pub(super) const fn rule(mut self, rule: Rule) -> Self {
        self.def.rule = rule;
        self
    }

    pub(super) const fn at_least(self, min: i32) -> Self {
        self.rule(Rule::AtLeast(min as f64))
    }

    pub(super) const fn between(self, min: i32, max: i32) -> Self {
        self.rule(Rule::Between(min as f64, max as f64))
    }

    pub(super) const fn hint(mut self, hint: &'static str) -> Self {
        self.def.hint = hint;
        self
    }

    pub(super) const fn dynamic(mut self) -> Self {
        self.def.dynamic = true;
        self
    }

    pub(super) const fn internal(mut self) -> Self {
        self.def.internal = true;
        self
    }

    pub(super) const fn stored(mut self) -> Self {
        self.def.effect = Effect::Stored;
        self
    }

    pub(super) const fn from(mut self, synonyms: &'static [Synonym]) -> Self {
        self.def.synonyms = synonyms;
        self
    }

    /// Puts the row into a table. Every topic key can be changed at any time (config.md 3).
    pub(super) const fn within(mut self, scope: Scope) -> Self {
        self.def.scope = scope;
        self.def.dynamic |= matches!(scope, Scope::Topic);
        self
    }
}

/// What a row can be read as.
pub(super) trait Read: Sized {
    /// The value as this type. A value of another type cannot come up; it would read as nothing, zero or empty.
    fn read(value: &Value) -> Self;
}

macro_rules! readable {
    ($($type:ty: $name:ident, $nullable:ident, $variant:ident($default:ty);)*) => {$(
        impl Key<$type> {
            pub(super) const fn $name(name: &'static str, default: $default, doc: &'static str) -> Self {
                Self::new(name, ValueType::$variant, DefaultValue::$variant(default), doc)
            }
        }

        impl Key<Option<$type>> {
            #[allow(dead_code)] // not every type has a key without a default
            pub(super) const fn $nullable(name: &'static str, doc: &'static str) -> Self {
                Self::new(name, ValueType::$variant, DefaultValue::Null, doc)
            }
        }

        impl Read for $type {
            fn read(value: &Value) -> Self {
                <Option<Self> as Read>::read(value).unwrap_or_default()
            }
        }

        impl Read for Option<$type> {
            fn read(value: &Value) -> Self {
                match value {
                    Value::$variant(value) => Some(value.clone()),
                    _ => None,
                }
            }
        }
    )*};
}

readable! {
    i32: int, int_or_null, Int(i32);
    i64: long, long_or_null, Long(i64);
    f64: double, double_or_null, Double(f64);
    bool: boolean, boolean_or_null, Boolean(bool);
    String: string, string_or_null, String(&'static str);
    Vec<String>: list, list_or_null, List(&'static [&'static str]);
}

/// Declares a table: every row as a constant to read it by, and all of them in order.
macro_rules! keys {
    ($(#[$doc:meta])* $table:ident, $scope:ident; $($id:ident: $type:ty = $row:expr;)*) => {
        $(pub(super) static $id: Key<$type> = $row.within(Scope::$scope);)*

        $(#[$doc])*
        pub(super) static $table: &[&KeyDef] = &[$(&$id.def,)*];
    };
}
pub(super) use keys;
