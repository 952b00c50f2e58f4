//! Batches and records in the canonical text. Implements fixtures/README.md 2.4.

use std::fmt::Write as _;

use crate::error::Result;
use crate::format::batch::Batch;
use crate::format::codec::Decompressor;
use crate::format::control::{self, ABORT, COMMIT};
use crate::format::crc::crc32c;
use crate::format::decoder::RecordDecoder;
use crate::format::legacy;
use crate::format::record::Record;

/// Values up to this length are printed whole.
const WHOLE_BYTES: usize = 64;

/// The line of a batch and those of its records.
pub(super) fn write_batch(
    out: &mut String,
    position: u64,
    batch: &Batch<'_>,
    decoder: &mut RecordDecoder,
) -> Result<()> {
    let header = batch.header();
    let is_valid = batch.ensure_valid().is_ok();
    let mut records = String::new();
    let mut count = i64::from(header.record_count);
    if is_valid {
        let written = write_records(&mut records, batch, decoder)?;
        if !header.is_v2() {
            count = written;
        }
    }
    let base = match (header.is_v2(), is_valid) {
        (true, _) => header.base_offset.to_string(),
        (false, true) => legacy::base_offset(batch, &mut Decompressor::new())?.to_string(),
        (false, false) => "-".to_owned(),
    };
    let count = if header.is_v2() || is_valid { count.to_string() } else { "-".to_owned() };
    let codec = header.attributes.codec().map_or("unknown", crate::format::codec::Codec::name);
    let of_v2 = |value: String| if header.is_v2() { value } else { "-".to_owned() };
    let _ = writeln!(
        out,
        "batch pos={position} base={base} last={} count={count} magic={} codec={codec} tstype={} base_ts={} max_ts={} \
         horizon={} producer={} pepoch={} seq={} lepoch={} txn={} ctl={} size={} crc={:08x} crc_ok={}",
        header.last_offset,
        header.magic,
        header.timestamp_type().name(),
        of_v2(header.base_timestamp.to_string()),
        header.max_timestamp,
        header.delete_horizon().map_or_else(|| "-".to_owned(), |h| h.to_string()),
        of_v2(header.producer_id.to_string()),
        of_v2(header.producer_epoch.to_string()),
        of_v2(header.base_sequence.to_string()),
        of_v2(header.leader_epoch.to_string()),
        u8::from(header.is_v2() && header.attributes.is_transactional()),
        u8::from(header.is_v2() && header.attributes.is_control()),
        header.size_bytes,
        header.crc,
        u8::from(is_valid),
    );
    out.push_str(&records);
    Ok(())
}

fn write_records(out: &mut String, batch: &Batch<'_>, decoder: &mut RecordDecoder) -> Result<i64> {
    decoder.begin(batch)?;
    let mut count = 0;
    while let Some(record) = decoder.next(batch)? {
        count += 1;
        if batch.header().is_v2() && record.is_control {
            write_control(out, &record)?;
        } else {
            write_record(out, &record);
        }
    }
    Ok(count)
}

fn write_record(out: &mut String, record: &Record<'_>) {
    let _ = write!(out, "rec {} ts={} key=", record.offset, record.timestamp);
    write_bytes(out, record.key);
    out.push_str(" value=");
    write_bytes(out, record.value);
    for (i, header) in record.headers.enumerate() {
        out.push_str(if i == 0 { " headers=" } else { "," });
        write_bytes(out, Some(header.key));
        out.push(':');
        write_bytes(out, header.value);
    }
    out.push('\n');
}

fn write_control(out: &mut String, record: &Record<'_>) -> Result<()> {
    let key = control::parse_key(record.key)?;
    let _ = write!(out, "ctl {} ts={} key_version={} type=", record.offset, record.timestamp, key.version);
    match key.control_type {
        ABORT | COMMIT => {
            let marker = control::parse_end_marker(key, record.value)?;
            let name = if marker.commit { "commit" } else { "abort" };
            let _ = write!(
                out,
                "{name} value_version={} coordinator_epoch={}",
                marker.version, marker.coordinator_epoch
            );
        }
        other => {
            let _ = write!(out, "{other} value=");
            write_bytes(out, record.value);
        }
    }
    out.push('\n');
    Ok(())
}

fn write_bytes(out: &mut String, bytes: Option<&[u8]>) {
    match bytes {
        None => out.push_str("null"),
        Some([]) => out.push_str("empty"),
        Some(bytes) if bytes.len() <= WHOLE_BYTES => {
            for byte in bytes {
                let _ = write!(out, "{byte:02x}");
            }
        }
        Some(bytes) => {
            let _ = write!(out, "#{}/{:08x}", bytes.len(), crc32c(bytes));
        }
    }
}
