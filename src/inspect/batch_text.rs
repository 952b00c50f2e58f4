//! Batches and records in the canonical text. Implements fixtures/README.md 2.4.

use std::fmt::Write as _;

use crate::error::{Error, ErrorKind, Result};
use crate::format::batch::Batch;
use crate::format::codec::Decompressor;
use crate::format::control::{self, ABORT, COMMIT};
use crate::format::crc::crc32c;
use crate::format::decoder::RecordDecoder;
use crate::format::legacy;
use crate::format::record::Record;
use crate::segment::{BatchScan, Scanned};

/// Values up to this length are printed whole.
const WHOLE_BYTES: usize = 64;

/// Batches above this size, and records that are decompressed to more, are not listed.
pub(super) const HELD_BYTES_MAX: u32 = 16 << 20;
/// Text is given on when there is so much of it.
pub(super) const TEXT_BYTES: usize = 64 * 1024;

/// Takes text over and leaves none.
pub type Print<'p> = dyn FnMut(&mut String) -> Result<()> + 'p;

/// The line of a batch and those of its records. The inner answer is what kept it from listing them all: a good checksum says
/// nothing of what is inside.
pub(super) fn write_batch(
    out: &mut String,
    scan: &mut BatchScan,
    scanned: &Scanned,
    decoder: &mut RecordDecoder,
    print: &mut Print<'_>,
) -> Result<Option<Error>> {
    let header = scanned.header;
    let is_valid = match scan.ensure_valid(scanned) {
        Ok(()) => true,
        Err(e) if e.is_corrupt_data() => false,
        Err(e) => return Err(e),
    };
    if header.size_bytes > HELD_BYTES_MAX {
        write_header(out, scanned, is_valid, None);
        let problem = || {
            let bytes = header.size_bytes;
            Error::new(ErrorKind::TooLarge, format!("it has {bytes} bytes"))
        };
        return Ok(is_valid.then(problem));
    }
    if !is_valid {
        write_header(out, scanned, false, None);
        return Ok(None);
    }
    let batch = scan.bytes_of(scanned)?;
    if header.is_v2() {
        write_header(out, scanned, true, None);
    } else {
        // Only the messages tell how many there are.
        let mut count = 0_u32;
        let _ = walk(&batch, decoder, |_| {
            count += 1;
            Ok(Ok(()))
        })?;
        write_header(out, scanned, true, Some((&batch, count)));
    }
    let written = walk(&batch, decoder, |record| {
        let written = if header.is_v2() && record.is_control {
            write_control(out, record)
        } else {
            write_record(out, record, print)?;
            Ok(())
        };
        if out.len() >= TEXT_BYTES {
            print(out)?;
        }
        Ok(written)
    })?;
    Ok(written.err())
}

/// Goes over the records of a batch. The inner error is what is wrong with them.
fn walk(
    batch: &Batch<'_>,
    decoder: &mut RecordDecoder,
    mut each: impl FnMut(&Record<'_>) -> Result<Result<()>>,
) -> Result<Result<()>> {
    if let Err(e) = decoder.begin(batch) {
        return Ok(Err(e));
    }
    loop {
        match decoder.next(batch) {
            Ok(None) => return Ok(Ok(())),
            Err(e) => return Ok(Err(e)),
            Ok(Some(record)) => {
                if let Err(e) = each(&record)? {
                    return Ok(Err(e));
                }
            }
        }
    }
}

/// The line of a batch. `messages` is one of an old format, with the number of its messages.
fn write_header(
    out: &mut String,
    scanned: &Scanned,
    is_valid: bool,
    messages: Option<(&Batch<'_>, u32)>,
) {
    let (position, header) = (scanned.position, &scanned.header);
    let unknown = || "-".to_owned();
    let (base, count) = if header.is_v2() {
        (
            header.base_offset.to_string(),
            header.record_count.to_string(),
        )
    } else if let Some((batch, count)) = messages {
        let mut decompressor = Decompressor::new();
        decompressor.bound_memory(HELD_BYTES_MAX as usize);
        let base = legacy::base_offset(batch, &mut decompressor);
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
}

fn write_record(out: &mut String, record: &Record<'_>, print: &mut Print<'_>) -> Result<()> {
    let _ = write!(out, "rec {} ts={} key=", record.offset, record.timestamp);
    write_bytes(out, record.key);
    out.push_str(" value=");
    write_bytes(out, record.value);
    for (i, header) in record.headers.enumerate() {
        out.push_str(if i == 0 { " headers=" } else { "," });
        write_bytes(out, Some(header.key));
        out.push(':');
        write_bytes(out, header.value);
        // There may be millions of them.
        if out.len() >= TEXT_BYTES {
            print(out)?;
        }
    }
    out.push('\n');
    Ok(())
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
