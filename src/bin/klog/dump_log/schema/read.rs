//! Reads a message by its table, and writes it as JSON: the fields in the order of the table, those with a tag only if they
//! are not what they are by default.

use super::super::stop::Thrown;
use super::bytes::Bytes;
use super::json::{Json, Nothing};
use super::{Default, Field, Kind, Message};

type Result<T> = std::result::Result<T, Thrown>;

const ELEMENTS_MAX: i32 = 1_000_000;
const TEXT_BYTES_MAX: i32 = 32_767;

/// The name of a number, if it has one.
type Names = fn(i64) -> Option<&'static str>;

/// Whether a field may be null, and how a part that is null is told from one that is there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nullable {
    Not,
    ByByte,
    ByVarint,
}

impl Nullable {
    fn is_null_part(self, bytes: &mut Bytes<'_>) -> Result<bool> {
        Ok(match self {
            Self::Not => false,
            Self::ByByte => bytes.int8()? < 0,
            Self::ByVarint => bytes.varint()? <= 0,
        })
    }
}

/// How one message is read and written.
#[derive(Clone, Copy)]
pub(crate) struct Reading {
    message: &'static Message,
    read: i16,
    written: i16,
    /// What is written instead of numbers of a field.
    names: Option<(&'static str, Names)>,
    /// Whether bytes that are messages of another protocol are shown as such.
    opens_nested: bool,
}

impl Reading {
    pub(crate) fn new(message: &'static Message, read: i16, written: i16) -> Self {
        Self {
            message,
            read: read.max(message.lowest),
            written: written.max(message.lowest),
            names: None,
            opens_nested: false,
        }
    }

    /// With names for the numbers of one field.
    pub(crate) fn naming(mut self, field: &'static str, name: Names) -> Self {
        self.names = Some((field, name));
        self
    }

    /// With the messages of members shown as such.
    pub(crate) fn opening_nested(mut self) -> Self {
        self.opens_nested = true;
        self
    }

    pub(crate) fn message(&self, bytes: &mut Bytes<'_>, json: &mut impl Json) -> Result<()> {
        self.structure(self.message.fields, bytes, json)
    }

    fn is_flexible(&self) -> bool {
        self.read >= self.message.flexible
    }

    fn structure(
        &self,
        fields: &'static [Field],
        bytes: &mut Bytes<'_>,
        json: &mut impl Json,
    ) -> Result<()> {
        // Where each field with a tag is: they may come in any order.
        let mut tagged = [None; 16];
        let mut start = *bytes;
        if self.is_flexible() {
            for field in fields.iter().filter(|field| self.is_read_in_place(field)) {
                self.value(
                    field.name,
                    field.kind,
                    self.nullable(field),
                    bytes,
                    &mut Nothing,
                )?;
            }
            self.tags(fields, bytes, &mut tagged)?;
        }
        let mut separator = "{\"";
        for (field, tagged) in fields.iter().zip(tagged) {
            if !field.is_in(self.written) {
                // What is read is there only to be passed over.
                if self.is_read_in_place(field) {
                    self.value(
                        field.name,
                        field.kind,
                        self.nullable(field),
                        &mut start,
                        &mut Nothing,
                    )?;
                }
                continue;
            }
            let has_tag = field.tag_in(self.written).is_some();
            if self.is_read_in_place(field) {
                open(json, &mut separator, field.name);
                self.value(
                    field.name,
                    field.kind,
                    self.nullable(field),
                    &mut start,
                    json,
                )?;
            } else if let Some(mut place) = tagged {
                if !self.is_default(field, place)? {
                    open(json, &mut separator, field.name);
                    self.value(
                        field.name,
                        field.kind,
                        self.nullable(field),
                        &mut place,
                        json,
                    )?;
                }
            } else if !has_tag {
                open(json, &mut separator, field.name);
                write_default(field, json);
            }
        }
        json.raw(if separator == "{\"" { "{}" } else { "}" });
        if !self.is_flexible() {
            *bytes = start;
        }
        Ok(())
    }

    fn is_read_in_place(&self, field: &Field) -> bool {
        field.is_in(self.read) && (!self.is_flexible() || field.tag_in(self.read).is_none())
    }

    fn nullable(&self, field: &Field) -> Nullable {
        if !field.is_nullable_in(self.read) {
            Nullable::Not
        } else if self.is_flexible() && field.tag_in(self.read).is_some() {
            Nullable::ByVarint
        } else {
            Nullable::ByByte
        }
    }

    fn tags<'a>(
        &self,
        fields: &'static [Field],
        bytes: &mut Bytes<'a>,
        tagged: &mut [Option<Bytes<'a>>; 16],
    ) -> Result<()> {
        let count = bytes.tag_count()?;
        for _ in 0..count {
            let tag = bytes.varint()?;
            let size = bytes.varint()?;
            let known = fields.iter().position(|field| {
                field
                    .tag
                    .is_some_and(|(known, _)| i64::from(known) == i64::from(tag))
            });
            let Some(i) = known else {
                bytes.slice(size)?;
                continue;
            };
            let field = &fields[i];
            if !field.is_in(self.read) || field.tag_in(self.read).is_none() {
                return Err(Thrown::runtime(format!(
                    "Tag {tag} is not valid for version {}",
                    self.read
                )));
            }
            tagged[i] = Some(*bytes);
            // The size is not looked at: the field ends where it ends.
            self.value(
                field.name,
                field.kind,
                self.nullable(field),
                bytes,
                &mut Nothing,
            )?;
        }
        Ok(())
    }

    fn is_default(&self, field: &Field, mut bytes: Bytes<'_>) -> Result<bool> {
        if let Kind::Array(_) | Kind::Text | Kind::Binary | Kind::Nested(_) = field.kind {
            let len = self.length(field.kind, &mut bytes)?;
            return Ok(match field.default {
                Default::Null => len < 0,
                _ => len == 0,
            });
        }
        let default = match field.default {
            Default::Number(number) => number,
            Default::Zero | Default::Null => 0,
        };
        Ok(match field.kind {
            Kind::Bool => i64::from(bytes.int8()? != 0) == default,
            Kind::Int8 => i64::from(bytes.int8()?) == default,
            Kind::Int16 => i64::from(bytes.int16()?) == default,
            Kind::Uint16 => i64::from(bytes.int16()?.cast_unsigned()) == default,
            Kind::Int32 => i64::from(bytes.int32()?) == default,
            Kind::Int64 => bytes.int64()? == default,
            Kind::Uuid => bytes.uuid()? == [0; 16],
            Kind::Struct(part) => {
                if self.nullable(field).is_null_part(&mut bytes)? {
                    return Ok(false);
                }
                for field in part
                    .fields
                    .iter()
                    .filter(|field| self.is_read_in_place(field))
                {
                    if !self.is_default(field, bytes)? {
                        return Ok(false);
                    }
                    self.value(
                        field.name,
                        field.kind,
                        self.nullable(field),
                        &mut bytes,
                        &mut Nothing,
                    )?;
                }
                // What nobody knows makes a difference too.
                !self.is_flexible() || bytes.tag_count()? == 0
            }
            _ => false,
        })
    }

    /// The size of what has one; below 0 is null.
    fn length(&self, kind: Kind, bytes: &mut Bytes<'_>) -> Result<i32> {
        if self.is_flexible() {
            return Ok(bytes.varint()?.wrapping_sub(1));
        }
        match kind {
            Kind::Text => bytes.int16().map(i32::from),
            _ => bytes.int32(),
        }
    }

    fn value(
        &self,
        name: &str,
        kind: Kind,
        nullable: Nullable,
        bytes: &mut Bytes<'_>,
        json: &mut impl Json,
    ) -> Result<()> {
        match kind {
            Kind::Bool => {
                let value = bytes.int8()? != 0;
                json.raw(if value { "true" } else { "false" });
            }
            Kind::Int8 => self.number(name, bytes.int8()?.into(), json),
            Kind::Int16 => json.int(bytes.int16()?.into()),
            Kind::Uint16 => json.int(bytes.int16()?.cast_unsigned().into()),
            Kind::Int32 => json.int(bytes.int32()?.into()),
            Kind::Int64 => json.int(bytes.int64()?),
            Kind::Float64 => json.float(bytes.float64()?),
            Kind::Uuid => json.uuid(&bytes.uuid()?),
            Kind::Text | Kind::Binary | Kind::Nested(_) | Kind::Array(_) => {
                let len = self.length(kind, bytes)?;
                if len < 0 {
                    return null(name, nullable, json);
                }
                self.sized(name, kind, len, bytes, json)?;
            }
            Kind::Struct(part) => {
                if nullable.is_null_part(bytes)? {
                    return null(name, nullable, json);
                }
                if let Some(name) = part.limited
                    && self.read > self.message.highest
                {
                    return Err(Thrown::new(
                        "org.apache.kafka.common.errors.UnsupportedVersionException",
                        format!("Can't read version {} of {name}", self.read),
                    ));
                }
                self.structure(part.fields, bytes, json)?;
            }
        }
        Ok(())
    }

    fn number(&self, name: &str, value: i64, json: &mut impl Json) {
        match self.names {
            Some((field, names)) if field == name => match names(value) {
                Some(found) => json.string(found.as_bytes()),
                None => json.string(value.to_string().as_bytes()),
            },
            _ => json.int(value),
        }
    }

    fn sized(
        &self,
        name: &str,
        kind: Kind,
        len: i32,
        bytes: &mut Bytes<'_>,
        json: &mut impl Json,
    ) -> Result<()> {
        match kind {
            Kind::Text => {
                if len > TEXT_BYTES_MAX {
                    return Err(Thrown::runtime(format!(
                        "string field {name} had invalid length {len}"
                    )));
                }
                json.string(bytes.slice(len)?);
            }
            Kind::Nested(message) if self.opens_nested => {
                nested(message, bytes.slice(len)?, json);
            }
            Kind::Array(element) => self.elements(name, *element, len, bytes, json)?,
            _ => json.binary(bytes.slice(len)?),
        }
        Ok(())
    }

    fn elements(
        &self,
        name: &str,
        element: Kind,
        len: i32,
        bytes: &mut Bytes<'_>,
        json: &mut impl Json,
    ) -> Result<()> {
        let remaining = bytes.remaining();
        if usize::try_from(len).unwrap_or(usize::MAX) > remaining {
            return Err(Thrown::runtime(format!(
                "Tried to allocate a collection of size {len}, but there are only {remaining} bytes remaining."
            )));
        }
        if len > ELEMENTS_MAX {
            return Err(Thrown::runtime(format!(
                "Tried to read a collection of size {len}, which exceeds the maximum allowed size of {ELEMENTS_MAX}."
            )));
        }
        let named;
        let name = if let Kind::Text = element {
            named = format!("{name} element");
            &named
        } else {
            name
        };
        json.raw("[");
        for i in 0..len {
            if i > 0 {
                json.raw(",");
            }
            self.value(name, element, Nullable::Not, bytes, json)?;
        }
        json.raw("]");
        Ok(())
    }
}

/// Passes over tags that nobody knows.
pub(crate) fn skip_tags(bytes: &mut Bytes<'_>) -> Result<()> {
    for _ in 0..bytes.tag_count()? {
        bytes.varint()?;
        let size = bytes.varint()?;
        bytes.slice(size)?;
    }
    Ok(())
}

/// A message in bytes of another, which begins with its version. What cannot be read stays bytes.
fn nested(message: &'static Message, bytes: &[u8], json: &mut impl Json) {
    let mut reader = Bytes::new(bytes);
    let read = reader.int16().and_then(|version| {
        let body = reader;
        Reading::new(message, version, version).message(&mut reader, &mut Nothing)?;
        Ok((version, body))
    });
    match read {
        Ok((version, mut body)) => {
            let _ = Reading::new(message, version, version).message(&mut body, json);
        }
        Err(_) => json.binary(bytes),
    }
}

fn null(name: &str, nullable: Nullable, json: &mut impl Json) -> Result<()> {
    if nullable == Nullable::Not {
        return Err(Thrown::runtime(format!(
            "non-nullable field {name} was serialized as null"
        )));
    }
    json.raw("null");
    Ok(())
}

fn open(json: &mut impl Json, separator: &mut &'static str, name: &str) {
    json.raw(separator);
    json.raw(name);
    json.raw("\":");
    *separator = ",\"";
}

fn write_default(field: &Field, json: &mut impl Json) {
    match (field.default, field.kind) {
        (Default::Null, _) => json.raw("null"),
        (Default::Number(number), _) => json.int(number),
        (Default::Zero, Kind::Bool) => json.raw("false"),
        (Default::Zero, Kind::Float64) => json.float(0.0),
        (Default::Zero, Kind::Uuid) => json.uuid(&[0; 16]),
        (Default::Zero, Kind::Text | Kind::Binary | Kind::Nested(_)) => json.raw("\"\""),
        (Default::Zero, Kind::Array(_)) => json.raw("[]"),
        (Default::Zero, Kind::Struct(_)) => json.raw("{}"),
        (Default::Zero, _) => json.int(0),
    }
}
