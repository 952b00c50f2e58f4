//! How keys and values of records are shown.

use super::java::decode_utf8;
use super::out::Out;
use super::records::number;
use super::remote;
use super::schema::{self, Bytes, Json, Message, Nothing, Reading, Writer};
use super::schema::{group, metadata, share, transaction};
use super::stop::{Result, Thrown};

/// A key or a value; a message of an old format may not have room for it.
pub(crate) type Part<'a> = std::result::Result<Option<&'a [u8]>, Thrown>;

/// A way to show keys and values.
#[derive(Clone, Copy)]
pub(crate) enum Parser {
    /// Each by a decoder of its own.
    Plain {
        key: Decoder,
        value: Decoder,
    },
    /// As what a coordinator keeps in its topic.
    Coordinator(Coordinator),
    ClusterMetadata,
    RemoteLogMetadata,
}

/// Decoders of Kafka's that klog has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Decoder {
    Text,
    Int,
    Long,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coordinator {
    Group,
    Transaction,
    Share,
}

impl Parser {
    pub(crate) fn print(
        self,
        out: &mut Out<'_>,
        prefix: &str,
        offset: i64,
        key: Part<'_>,
        value: Part<'_>,
    ) -> Result<()> {
        match self {
            Self::Plain {
                key: of_key,
                value: of_value,
            } => {
                let key = key?.map(|bytes| Plain::new(of_key, bytes)).transpose()?;
                let value = value?
                    .map(|bytes| Plain::new(of_value, bytes))
                    .transpose()?;
                let mut prefix = prefix;
                if let Some(key) = key {
                    out.text(prefix).text("key: ");
                    key.print(out);
                    prefix = " ";
                }
                if let Some(value) = value {
                    out.text(prefix).text("payload: ");
                    value.print(out);
                }
                Ok(())
            }
            Self::Coordinator(coordinator) => coordinator.print(out, prefix, offset, key, value),
            Self::ClusterMetadata => {
                out.text(prefix).text("payload: ");
                cluster_metadata(out, offset, value);
                Ok(())
            }
            Self::RemoteLogMetadata => {
                out.text(prefix).text("payload: ");
                remote::print(out, offset, value);
                Ok(())
            }
        }
    }
}

enum Plain<'a> {
    Text(&'a [u8]),
    Number(i64),
}

impl<'a> Plain<'a> {
    fn new(decoder: Decoder, bytes: &'a [u8]) -> Result<Self> {
        Ok(match decoder {
            Decoder::Text => Self::Text(bytes),
            Decoder::Int => Self::Number(number(bytes, 4)?),
            Decoder::Long => Self::Number(number(bytes, 8)?),
        })
    }

    fn print(&self, out: &mut Out<'_>) {
        match self {
            Self::Text(bytes) => decode_utf8(bytes, |piece| {
                out.bytes(piece);
            }),
            Self::Number(number) => {
                out.int(*number);
            }
        }
    }
}

/// Why a record of a coordinator is not shown.
enum Unread {
    UnknownType(i16),
    Failed(Thrown),
}

impl From<Thrown> for Unread {
    fn from(thrown: Thrown) -> Self {
        Self::Failed(thrown)
    }
}

/// A record that can be shown.
struct Readable<'a> {
    record_type: i16,
    key: (&'static Message, Bytes<'a>),
    value: Option<(Reading, i16, Bytes<'a>)>,
}

impl Coordinator {
    fn print(
        self,
        out: &mut Out<'_>,
        prefix: &str,
        offset: i64,
        key: Part<'_>,
        value: Part<'_>,
    ) -> Result<()> {
        // Whether there is a key is asked for outside of what may fail.
        if key.as_ref().is_err_and(Thrown::is_out_of_bounds) {
            key?;
            return Ok(());
        }
        if let Ok(None) = key {
            return Err(Thrown::runtime(format!(
                "Failed to decode message at offset {offset} using the specified decoder (message had a missing key)"
            ))
            .into());
        }
        out.text(prefix).text("key: ");
        match self.read(key, value) {
            Ok(record) => record.print(out),
            Err(Unread::UnknownType(unknown)) => {
                out.text("Unknown record type ").int(unknown);
                out.text(" at offset ").int(offset).text(", skipping.");
            }
            Err(Unread::Failed(thrown)) => {
                out.text("Error at offset ")
                    .int(offset)
                    .text(", skipping. ");
                out.text(thrown.message_or_null());
            }
        }
        Ok(())
    }

    fn records(self) -> &'static [(i16, &'static Message, &'static Message)] {
        match self {
            Self::Group => group::RECORDS,
            Self::Transaction => transaction::RECORDS,
            Self::Share => share::RECORDS,
        }
    }

    fn read<'a>(self, key: Part<'a>, value: Part<'a>) -> std::result::Result<Readable<'a>, Unread> {
        let (key, value) = (key?.unwrap_or_default(), value?);
        let mut key = Bytes::new(key);
        let record_type = version(&mut key, "key")?;
        let known = self.records().iter().find(|(id, _, _)| *id == record_type);
        let &(_, key_message, value_message) = known.ok_or(Unread::UnknownType(record_type))?;
        let key_body = key;
        // Keys are read as if their type were their version, and written as version 0.
        let reading = Reading::new(key_message, 0, 0);
        read(&reading, key, record_type, "key")?;
        let mut readable = Readable {
            record_type,
            key: (key_message, key_body),
            value: None,
        };
        if let Some(value) = value {
            let mut value = Bytes::new(value);
            let version = version(&mut value, "value")?;
            if !(value_message.lowest..=value_message.highest).contains(&version) {
                return Err(Thrown::runtime(format!(
                    "Found an unknown record version {version} for {record_type} type"
                ))
                .into());
            }
            let reading = self.value_reading(value_message, version, value);
            read(&reading, value, version, "value")?;
            readable.value = Some((reading, version, value));
        }
        Ok(readable)
    }

    /// What is particular to some values.
    fn value_reading(self, message: &'static Message, version: i16, value: Bytes<'_>) -> Reading {
        let reading = Reading::new(message, version, version);
        match (self, message.name) {
            (Self::Group, "GroupMetadataValue") if is_of_consumers(version, value) => {
                reading.opening_nested()
            }
            (Self::Transaction, "TransactionLogValue") => {
                reading.naming("transactionStatus", transaction_state)
            }
            _ => reading,
        }
    }
}

/// Whether the protocol type, the first field of a group, is that of consumers.
fn is_of_consumers(version: i16, mut value: Bytes<'_>) -> bool {
    let len = if version >= 4 {
        value.varint().map(|len| len.wrapping_sub(1))
    } else {
        value.int16().map(i32::from)
    };
    len.and_then(|len| value.slice(len))
        .is_ok_and(|text| text == b"consumer")
}

fn transaction_state(id: i64) -> Option<&'static str> {
    Some(match id {
        0 => "Empty",
        1 => "Ongoing",
        2 => "PrepareCommit",
        3 => "PrepareAbort",
        4 => "CompleteCommit",
        5 => "CompleteAbort",
        6 => "Dead",
        7 => "PrepareEpochFence",
        _ => return None,
    })
}

fn version(bytes: &mut Bytes<'_>, name: &str) -> std::result::Result<i16, Thrown> {
    bytes
        .int16()
        .map_err(|_| Thrown::runtime(format!("Could not read version from {name}'s buffer.")))
}

fn read(
    reading: &Reading,
    mut bytes: Bytes<'_>,
    version: i16,
    name: &str,
) -> std::result::Result<(), Thrown> {
    reading.message(&mut bytes, &mut Nothing).map_err(|thrown| {
        Thrown::runtime(format!(
            "Could not read record with version {version} from {name}'s buffer due to: {}.",
            thrown.message_or_null()
        ))
    })
}

impl Readable<'_> {
    fn print(&self, out: &mut Out<'_>) {
        let (message, mut key) = (self.key.0, self.key.1);
        let mut json = Writer::new(out);
        json.raw("{\"type\":\"");
        json.int(self.record_type.into());
        json.raw("\",\"data\":");
        // All of it was read before.
        let _ = Reading::new(message, 0, 0).message(&mut key, &mut json);
        json.raw("} payload: ");
        let Some((reading, version, value)) = &self.value else {
            json.raw("<DELETE>");
            return;
        };
        json.raw("{\"version\":\"");
        json.int((*version).into());
        json.raw("\",\"data\":");
        let _ = reading.message(&mut value.clone(), &mut json);
        json.raw("}");
    }
}

/// Prints a record of the metadata log, or why it cannot be read. No value is as one without bytes.
fn cluster_metadata(out: &mut Out<'_>, offset: i64, value: Part<'_>) {
    match value.and_then(|value| metadata_record(value.unwrap_or_default())) {
        Ok((name, message, version, body)) => {
            let mut json = Writer::new(out);
            json.raw("{\"type\":\"");
            json.raw(name);
            json.raw("\",\"version\":");
            json.int(version.into());
            json.raw(",\"data\":");
            schema::print(message, body, version, version, out);
            out.text("}");
        }
        Err(thrown) => {
            out.text("Error at ").int(offset).text(", skipping. ");
            out.text(thrown.message_or_null());
        }
    }
}

type MetadataRecord<'a> = (&'static str, &'static Message, i16, &'a [u8]);

fn metadata_record(value: &[u8]) -> std::result::Result<MetadataRecord<'_>, Thrown> {
    let mut bytes = Bytes::new(value);
    let (id, version) = frame(&mut bytes)?;
    let known = metadata::RECORDS.iter().find(|(known, _, _)| *known == id);
    let &(_, name, message) = known.ok_or_else(|| unknown_metadata(id))?;
    let body = &value[bytes.position()..];
    let len = schema::check(message, body, version, version).map_err(|_| unreadable(id))?;
    ensure_all_read(body.len() - len, id)?;
    Ok((name, message, version, body))
}

/// The type that no record has.
pub(crate) fn unknown_metadata(id: i16) -> Thrown {
    parse_error(format!(
        "org.apache.kafka.common.errors.UnsupportedVersionException: Unknown metadata id {id}"
    ))
}

pub(crate) fn unreadable(id: i16) -> Thrown {
    parse_error(format!("Failed to deserialize record with type {id}"))
}

pub(crate) fn ensure_all_read(left: usize, id: i16) -> std::result::Result<(), Thrown> {
    if left > 0 {
        return Err(parse_error(format!(
            "Found {left} byte(s) of garbage after {id}"
        )));
    }
    Ok(())
}

fn parse_error(message: String) -> Thrown {
    Thrown::new(
        "org.apache.kafka.server.common.serialization.MetadataParseException",
        message,
    )
}

/// What is in front of each record: the version of that itself, which is 1, the type and the version of the record.
pub(crate) fn frame(bytes: &mut Bytes<'_>) -> std::result::Result<(i16, i16), Thrown> {
    let mut number = |what: &str| {
        let value = bytes
            .varint()
            .map_err(|_| parse_error(format!("Error while reading {what}")))?;
        if value > i32::from(i16::MAX) {
            return Err(parse_error(format!("Value for {what} was too large.")));
        }
        // Java cuts off what does not fit.
        let [_, _, high, low] = value.to_be_bytes();
        Ok(i16::from_be_bytes([high, low]))
    };
    match number("frame version")? {
        0 => return Err(parse_error(
            "Could not deserialize metadata record with frame version 0. Note that upgrades from the preview release of KRaft in 2.8 to newer versions are not supported.".into(),
        )),
        1 => {}
        other => return Err(parse_error(format!(
            "Could not deserialize metadata record due to unknown frame version {other}(only frame version 1 is supported)"
        ))),
    }
    Ok((number("type")?, number("version")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(parser: Parser, key: Option<&[u8]>, value: Option<&[u8]>) -> String {
        let mut bytes = Vec::new();
        let mut out = Out::new(&mut bytes);
        parser.print(&mut out, " ", 7, Ok(key), Ok(value)).unwrap();
        out.flush();
        drop(out);
        String::from_utf8(bytes).unwrap()
    }

    const OFFSETS: Parser = Parser::Coordinator(Coordinator::Group);
    const TRANSACTIONS: Parser = Parser::Coordinator(Coordinator::Transaction);

    #[test]
    fn an_offset_of_a_group_is_shown() {
        let key = b"\x00\x01\x00\x01g\x00\x02t\"\x00\x00\x00\x03";
        let value = b"\x00\x03\x00\x00\x00\x00\x00\x00\x00\x2a\xff\xff\xff\xff\x00\x01\n\x00\x00\x00\x00\x00\x00\x00\x05";
        assert_eq!(
            printed(OFFSETS, Some(key), Some(value)),
            " key: {\"type\":\"1\",\"data\":{\"group\":\"g\",\"topic\":\"t\\\"\",\"partition\":3}} \
             payload: {\"version\":\"3\",\"data\":{\"offset\":42,\"leaderEpoch\":-1,\"metadata\":\"\\n\",\"commitTimestamp\":5}}"
        );
        assert_eq!(
            printed(OFFSETS, Some(key), None),
            " key: {\"type\":\"1\",\"data\":{\"group\":\"g\",\"topic\":\"t\\\"\",\"partition\":3}} payload: <DELETE>"
        );
    }

    #[test]
    fn a_transaction_has_the_name_of_its_state_and_only_tags_that_say_something() {
        let key = b"\x00\x00\x00\x01x";
        // Version 1: id, epoch, timeout, state, no partitions, two times, then a tag that has its default, and one that has not.
        let mut value =
            b"\x00\x01\x00\x00\x00\x00\x00\x00\x00\x09\x00\x02\x00\x00\x00\x3c\x04\x01".to_vec();
        value.extend_from_slice(&[0; 16]);
        value.extend_from_slice(b"\x02\x00\x08\xff\xff\xff\xff\xff\xff\xff\xff\x03\x02\x00\x02");
        assert_eq!(
            printed(TRANSACTIONS, Some(key), Some(&value)),
            " key: {\"type\":\"0\",\"data\":{\"transactionalId\":\"x\"}} payload: {\"version\":\"1\",\"data\":\
             {\"producerId\":9,\"producerEpoch\":2,\"nextProducerEpoch\":2,\"transactionTimeoutMs\":60,\"transactionStatus\":\"CompleteCommit\",\
             \"transactionPartitions\":[],\"transactionLastUpdateTimestampMs\":0,\"transactionStartTimestampMs\":0}}"
        );
    }

    #[test]
    fn a_record_of_the_metadata_log_has_its_type() {
        let value = b"\x01\x02\x00\x03ab\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00";
        assert_eq!(
            printed(Parser::ClusterMetadata, None, Some(value)),
            " payload: {\"type\":\"TOPIC_RECORD\",\"version\":0,\"data\":{\"name\":\"ab\",\"topicId\":\"AAAAAAAAAAAAAAAAAAAAAQ\"}}"
        );
    }

    #[test]
    fn what_is_not_known_or_damaged_is_named_as_such() {
        assert_eq!(
            printed(OFFSETS, Some(b"\x00\x63"), None),
            " key: Unknown record type 99 at offset 7, skipping."
        );
        assert_eq!(
            printed(OFFSETS, Some(b"\x00\x02\x00\x05g"), None),
            " key: Error at offset 7, skipping. Could not read record with version 2 from key's buffer due to: \
             Error reading byte array of 5 byte(s): only 1 byte(s) available."
        );
        assert_eq!(
            printed(Parser::ClusterMetadata, None, Some(b"\x01\x7b\x00")),
            " payload: Error at 7, skipping. org.apache.kafka.common.errors.UnsupportedVersionException: Unknown metadata id 123"
        );
        assert_eq!(
            printed(Parser::RemoteLogMetadata, None, Some(b"\x00")),
            " payload: Error at offset 7, skipping. Could not deserialize metadata record with frame version 0. Note that \
             upgrades from the preview release of KRaft in 2.8 to newer versions are not supported."
        );
    }

    #[test]
    fn a_deleted_remote_partition_is_shown() {
        let mut value = b"\x01\x02\x00\x02t".to_vec();
        value.extend_from_slice(&[0; 16]);
        value.extend_from_slice(
            b"\x00\x00\x00\x04\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x05\x02\x00",
        );
        assert_eq!(
            printed(Parser::RemoteLogMetadata, None, Some(&value)),
            " payload: RemotePartitionDeleteMetadata{topicPartition=AAAAAAAAAAAAAAAAAAAAAA:t-4, \
             state=DELETE_PARTITION_FINISHED, eventTimestampMs=5, brokerId=1}"
        );
    }
}
