//! Messages in the records of Kafka's internal topics: tables of their fields, and one reader for all of them that writes
//! them as JSON.
//!
//! A message is read twice: once to know that it can be read, once to print it. So nothing of it is held.

mod bytes;
pub(crate) mod consumer;
pub(crate) mod group;
mod json;
pub(crate) mod metadata;
pub(crate) mod raft;
mod read;
pub(crate) mod share;
pub(crate) mod streams;
pub(crate) mod transaction;

pub(crate) use bytes::Bytes;
pub(crate) use json::{Json, Nothing, Writer};
pub(crate) use read::{Reading, skip_tags};

use super::out::Out;
use super::stop::Thrown;

/// The largest version.
const MAX: i16 = i16::MAX;

/// A message: its versions and its fields.
pub(crate) struct Message {
    pub(crate) name: &'static str,
    pub(crate) lowest: i16,
    pub(crate) highest: i16,
    /// From this version on sizes are varints, and fields may have tags.
    flexible: i16,
    fields: &'static [Field],
}

/// A part of a message that has fields of its own.
pub(crate) struct Struct {
    /// Its name, if it is refused in versions that its message does not have.
    limited: Option<&'static str>,
    fields: &'static [Field],
}

/// A field: in which versions it is there, may be null, or has a tag.
pub(crate) struct Field {
    name: &'static str,
    kind: Kind,
    since: i16,
    until: i16,
    nullable: i16,
    tag: Option<(u32, i16)>,
    default: Default,
}

/// What a field holds.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Bool,
    Int8,
    Int16,
    Uint16,
    Int32,
    Int64,
    Float64,
    Uuid,
    Text,
    Binary,
    /// Bytes of a member's subscription or assignment, which are a message of another protocol where they can be read.
    Nested(&'static Message),
    Struct(&'static Struct),
    Array(&'static Kind),
}

/// What a field has that is not there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Default {
    /// 0, nothing, false.
    Zero,
    Number(i64),
    Null,
}

/// A message with no tags and sizes of fixed width.
const fn rigid(name: &'static str, versions: (i16, i16), fields: &'static [Field]) -> Message {
    flexible(name, versions, MAX, fields)
}

const fn flexible(
    name: &'static str,
    (lowest, highest): (i16, i16),
    flexible: i16,
    fields: &'static [Field],
) -> Message {
    Message {
        name,
        lowest,
        highest,
        flexible,
        fields,
    }
}

/// A part that belongs to one field.
const fn inner(name: &'static str, fields: &'static [Field]) -> Struct {
    Struct {
        limited: Some(name),
        fields,
    }
}

/// A part that several fields share.
const fn common(fields: &'static [Field]) -> Struct {
    Struct {
        limited: None,
        fields,
    }
}

/// A field of all versions, never null.
const fn field(name: &'static str, kind: Kind) -> Field {
    Field {
        name,
        kind,
        since: 0,
        until: MAX,
        nullable: MAX,
        tag: None,
        default: Default::Zero,
    }
}

impl Field {
    const fn since(mut self, version: i16) -> Self {
        self.since = version;
        self
    }

    const fn until(mut self, version: i16) -> Self {
        self.until = version;
        self
    }

    /// May be null from this version on.
    const fn nullable(mut self, version: i16) -> Self {
        self.nullable = version;
        self
    }

    /// Has a tag from this version on.
    const fn tagged(mut self, tag: u32, version: i16) -> Self {
        self.tag = Some((tag, version));
        self
    }

    const fn or(mut self, default: i64) -> Self {
        self.default = Default::Number(default);
        self
    }

    const fn or_null(mut self) -> Self {
        self.default = Default::Null;
        self
    }

    fn is_in(&self, version: i16) -> bool {
        (self.since..=self.until).contains(&version)
    }

    fn tag_in(&self, version: i16) -> Option<u32> {
        self.tag
            .and_then(|(tag, since)| (version >= since).then_some(tag))
    }

    fn is_nullable_in(&self, version: i16) -> bool {
        version >= self.nullable && self.nullable != MAX
    }
}

/// Whether `bytes` begin with a message of version `read` that can be written as version `written`. How many bytes it has.
pub(crate) fn check(
    message: &'static Message,
    bytes: &[u8],
    read: i16,
    written: i16,
) -> Result<usize, Thrown> {
    let mut reader = Bytes::new(bytes);
    Reading::new(message, read, written).message(&mut reader, &mut Nothing)?;
    Ok(reader.position())
}

/// Prints a message that was checked.
pub(crate) fn print(
    message: &'static Message,
    bytes: &[u8],
    read: i16,
    written: i16,
    out: &mut Out<'_>,
) {
    let mut reader = Bytes::new(bytes);
    // It was checked: nothing can be wrong with it.
    let _ = Reading::new(message, read, written).message(&mut reader, &mut Writer::new(out));
}
