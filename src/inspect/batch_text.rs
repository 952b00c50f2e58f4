//! Batches and records in the canonical text. Implements fixtures/README.md 2.4.

use std::fmt::Write as _;

use crate::error::{Error, Result};
use crate::format::batch::Batch;
use crate::format::codec::Decompressor;
use crate::format::control::{self, ABORT, COMMIT};
use crate::format::crc::crc32c;
use crate::format::decoder::RecordDecoder;
use crate::format::legacy;
use crate::format::record::Record;

/// Values up to this length are printed whole.
const WHOLE_BYTES: usize = 64;

/// The line of a batch and those of its records. The answer is what kept it from listing them all: a good checksum says
/// nothing of what is inside.
pub(super) fn write_batch(
    out: &mut String,
    position: u64,
    batch: &Batch<'_>,
    decoder: &mut RecordDecoder,
) -> Option<Error> {
    let header = batch.header();
    let is_valid = batch.ensure_valid().is_ok();
    let mut records = String::new();
    let mut count = 0;
    let mut problem = None;
    if is_valid {
        problem = write_records(&mut records, &mut count, batch, decoder).err();
    }
    let unknown = || "-".to_owned();
    let (base, count) = if header.is_v2() {
        (
            header.base_offset.to_string(),
            header.record_count.to_string(),
        )
    } else if is_valid {
        let base = legacy::base_offset(batch, &mut Decompressor::new());
        (
            base.map_or_else(|_| unknown(), |offset| offset.to_string()),
            count.to_string(),
        )
    } else {
        (unknown(), unknown())
    };
    let codec = header
        .attributes
        .codec()
        .map_or("unknown", crate::format::codec::Codec::name);
    let of_v2 = |value: String| {
        if header.is_v2() {
            value
        } else {
            "-".to_owned()
        }
    };
    let _ = writeln!(
        out,
        "batch pos={position} base={base} last={} count={count} magic={} codec={codec} tstype={} base_ts={} max_ts={} \
         horizon={} producer={} pepoch={} seq={} lepoch={} txn={} ctl={} size={} crc={:08x} crc_ok={}",
        header.last_offset,
        header.magic,
        header.timestamp_type().name(),
        of_v2(header.base_timestamp.to_string()),
        header.max_timestamp,
        header
            .delete_horizon()
            .map_or_else(|| "-".to_owned(), |h| h.to_string()),
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
    problem
}

fn write_records(
    out: &mut String,
    count: &mut u32,
    batch: &Batch<'_>,
    decoder: &mut RecordDecoder,
) -> Result<()> {
    decoder.begin(batch)?;
    while let Some(record) = decoder.next(batch)? {
        *count += 1;
        if batch.header().is_v2() && record.is_control {
            write_control(out, &record)?;
        } else {
            write_record(out, &record);
        }
    }
    Ok(())
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
    let is_end_of_txn = matches!(key.control_type, ABORT | COMMIT);
    let marker = if is_end_of_txn {
        Some(control::parse_end_marker(key, record.value)?)
    } else {
        None
    };
    let _ = write!(
        out,
        "ctl {} ts={} key_version={} type=",
        record.offset, record.timestamp, key.version
    );
    if let Some(marker) = marker {
        let name = if marker.commit { "commit" } else { "abort" };
        let (version, epoch) = (marker.version, marker.coordinator_epoch);
        let _ = write!(
            out,
            "{name} value_version={version} coordinator_epoch={epoch}"
        );
    } else {
        let _ = write!(out, "{} value=", key.control_type);
        write_bytes(out, record.value);
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
