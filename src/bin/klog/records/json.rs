//! A JSON object a record. Bytes that are no UTF-8 stand as base64 under the name with `_base64`.

use std::io::Write;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use klog::error::{Error, Result};
use klog::format::batch::{BatchHeader, TimestampType};
use klog::format::codec::Codec;
use klog::format::record::Record;
use klog::types::LeaderEpoch;
use serde_json::{Map, Value};

use super::Incoming;

pub(super) fn write(
    out: &mut dyn Write,
    record: &Record<'_>,
    batch: &BatchHeader,
) -> std::io::Result<()> {
    write!(
        out,
        r#"{{"offset":{},"timestamp":{},"timestamp_type":"{}","#,
        record.offset,
        record.timestamp,
        record.timestamp_type.name()
    )?;
    write_bytes(out, "key", record.key)?;
    out.write_all(b",")?;
    write_bytes(out, "value", record.value)?;
    out.write_all(br#","headers":["#)?;
    for (i, header) in record.headers.enumerate() {
        out.write_all(if i == 0 { b"{" } else { b",{" })?;
        write_bytes(out, "key", Some(header.key))?;
        out.write_all(b",")?;
        write_bytes(out, "value", header.value)?;
        out.write_all(b"}")?;
    }
    let codec = batch.attributes.codec().unwrap_or(Codec::None).name();
    write!(
        out,
        r#"],"codec":"{codec}","leader_epoch":{}"#,
        record.leader_epoch
    )?;
    if batch.has_producer_id() {
        write!(
            out,
            r#","producer_id":{},"producer_epoch":{},"sequence":{},"transactional":{}"#,
            batch.producer_id, batch.producer_epoch, record.sequence, record.is_transactional
        )?;
    }
    out.write_all(b"}\n")
}

fn write_bytes(out: &mut dyn Write, name: &str, bytes: Option<&[u8]>) -> std::io::Result<()> {
    match bytes.map(std::str::from_utf8) {
        None => write!(out, r#""{name}":null"#),
        Some(Ok(text)) => {
            write!(out, r#""{name}":"#)?;
            serde_json::to_writer(out, text).map_err(std::io::Error::from)
        }
        Some(Err(_)) => {
            let encoded = STANDARD.encode(bytes.unwrap_or_default());
            write!(out, r#""{name}_base64":"{encoded}""#)
        }
    }
}

pub(super) fn read(line: &[u8]) -> Result<Incoming> {
    let value: Value = serde_json::from_slice(line)
        .map_err(|e| Error::invalid_argument(format!("this is not JSON: {e}")))?;
    let Value::Object(fields) = value else {
        return Err(wrong("the line", "a JSON object"));
    };
    let mut headers = Vec::new();
    match fields.get("headers") {
        None | Some(Value::Null) => {}
        Some(Value::Array(list)) => {
            for header in list {
                let Value::Object(header) = header else {
                    return Err(wrong("a header", "an object with key and value"));
                };
                let key = bytes(header, "key")?.ok_or_else(|| wrong("a header's key", "text"))?;
                headers.push((key, bytes(header, "value")?));
            }
        }
        Some(_) => return Err(wrong("headers", "an array")),
    }
    let codec = match fields.get("codec") {
        None | Some(Value::Null) => None,
        Some(name) => Some(
            (0..8)
                .filter_map(Codec::from_id)
                .find(|codec| name.as_str() == Some(codec.name()))
                .ok_or_else(|| wrong("codec", "none, gzip, snappy, lz4 or zstd"))?,
        ),
    };
    let epoch = number(&fields, "leader_epoch")?.map(i32::try_from);
    Ok(Incoming {
        offset: number(&fields, "offset")?,
        timestamp: number(&fields, "timestamp")?,
        is_append_time: fields.get("timestamp_type").and_then(Value::as_str)
            == Some(TimestampType::LogAppendTime.name()),
        key: bytes(&fields, "key")?,
        value: bytes(&fields, "value")?,
        headers,
        codec,
        leader_epoch: match epoch {
            None => LeaderEpoch::NONE,
            Some(Ok(epoch)) => LeaderEpoch(epoch),
            Some(Err(_)) => return Err(wrong("leader_epoch", "a number of 32 bits")),
        },
    })
}

fn number(fields: &Map<String, Value>, name: &str) -> Result<Option<i64>> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => value
            .as_i64()
            .map(Some)
            .ok_or_else(|| wrong(name, "a whole number of 64 bits")),
    }
}

fn bytes(fields: &Map<String, Value>, name: &str) -> Result<Option<Vec<u8>>> {
    let encoded_name = format!("{name}_base64");
    match (fields.get(name), fields.get(&encoded_name)) {
        (None | Some(Value::Null), None | Some(Value::Null)) => Ok(None),
        (Some(Value::String(text)), None) => Ok(Some(text.clone().into_bytes())),
        (None, Some(Value::String(text))) => STANDARD
            .decode(text)
            .map(Some)
            .map_err(|e| wrong(&encoded_name, &format!("base64 ({e})"))),
        (Some(_), Some(_)) => Err(wrong(name, &format!("alone, not beside {encoded_name}"))),
        (Some(_), None) => Err(wrong(name, "text or null")),
        (None, Some(_)) => Err(wrong(&encoded_name, "text")),
    }
}

fn wrong(what: &str, expected: &str) -> Error {
    Error::invalid_argument(format!("{what} has to be {expected}"))
}
