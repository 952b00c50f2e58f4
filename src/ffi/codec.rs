//! Batches to records and back, without a log.

use std::ffi::c_void;

use super::append::{TIMESTAMP_NOW, codec_of, producer_epoch_of, push_record, with_builder};
use super::args::{
    array, array_mut, buffer, bytes, check_flags, check_output, check_required, check_reserved,
    copy_growable, read_input,
};
use super::constants::*;
use super::cursor::{lend, lend_header};
use super::guard::guard;
use super::types::{
    klog_append_options, klog_error, klog_header, klog_read_result, klog_record, klog_status,
};
use crate::error::{Error, ErrorKind, Result};
use crate::format::batch::Batch;
use crate::format::batches::Batches;
use crate::format::builder::{BatchBuilder, BatchOptions};
use crate::format::codec::Codec;
use crate::format::decoder::RecordDecoder;
use crate::format::packed::{BATCH_ENTRY_BYTES, HEAD_BYTES, PackedReader, PackedWriter};
use crate::format::record::RecordParts;
use crate::io::{Clock, SystemClock};
use crate::types::{LeaderEpoch, Offset, ProducerId, TimestampMs};

/// Decodes whole record batches of any origin and magic: as many as fit cap records and buf_cap bytes. Records point into
/// batches, or into buf where bytes had to be decompressed; header arrays are in buf too. out->records says how many there are,
/// out->bytes how many bytes of batches they took: go on behind those. KLOG_ERR_END if no whole batch is left; out is written
/// then too. Bytes behind the last whole batch, which a read with KLOG_READ_SLICE may give, are not looked at.
///
/// flags: KLOG_READ_CONTROL gives control records too; else they are passed over, and records may be 0. KLOG_ERR_BUFFER_TOO_SMALL
/// if the first batch does not fit: out->records and out->bytes_needed are the cap and the buf_cap that it needs.
/// KLOG_ERR_CORRUPT_MESSAGE, KLOG_ERR_INVALID_RECORD or KLOG_ERR_UNSUPPORTED_COMPRESSION_TYPE if the first batch is damaged,
/// with err->position in batches; batches before a damaged one are given first. Each batch's checksum is checked.
///
/// Thread class T0, cost class C1. batches, records and buf are required unless their size is 0; out is required; err is
/// nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_decode(
    batches: *const c_void,
    len: usize,
    flags: u32,
    records: *mut klog_record,
    cap: usize,
    buf: *mut c_void,
    buf_cap: usize,
    out: *mut klog_read_result,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_decode", err, |_| {
        check_output(out, "out")?;
        check_flags(flags, KLOG_READ_CONTROL, "flags")?;
        let batches = bytes(batches, len, "batches")?;
        let places = array_mut(records, cap, "records")?;
        let room = buffer(buf, buf_cap, "buf")?;
        let mut lender = Lender {
            places,
            room,
            parts: Vec::new(),
            decoder: RecordDecoder::new(),
        };
        decode(batches, flags, out, |batch| lender.give(batch))
    })
}

/// As klog_decode, as a packed buffer of at most cap bytes; its head says how long it is. out->bytes counts bytes of batches.
/// With KLOG_READ_BATCH_INFO in flags an entry of kind 2 tells of each batch in front of its first record.
///
/// Thread class T0, cost class C1. batches is required unless len is 0; buf and out are required; err is nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_decode_packed(
    batches: *const c_void,
    len: usize,
    flags: u32,
    buf: *mut c_void,
    cap: usize,
    out: *mut klog_read_result,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_decode_packed", err, |_| {
        check_output(out, "out")?;
        check_required(buf, "buf")?;
        check_flags(flags, KLOG_READ_CONTROL | KLOG_READ_BATCH_INFO, "flags")?;
        let tells_batches = flags & KLOG_READ_BATCH_INFO != 0;
        let batches = bytes(batches, len, "batches")?;
        let room = buffer(buf, cap, "buf")?;
        let first = Batches::new(batches).next_batch().ok().flatten();
        let first = first.map_or(-1, |batch| batch.header().base_offset.0);
        let mut writer = PackedWriter::new(room, first);
        let mut decoder = RecordDecoder::new();
        let answer = decode(batches, flags, out, |batch| {
            pack(&mut decoder, writer.as_mut(), batch, tells_batches)
        });
        // Also an empty buffer is a whole one.
        let _ = writer.map(PackedWriter::finish);
        answer
    })
}

/// What giving a batch came to.
enum Given {
    /// So many records.
    Records(usize),
    /// It did not fit: it needs room for so many records and so many bytes.
    TooLarge { records: usize, bytes: usize },
}

/// Gives batch after batch as long as they fit, and writes how far it came.
fn decode(
    bytes: &[u8],
    flags: u32,
    out: *mut klog_read_result,
    mut give: impl FnMut(&Batch<'_>) -> Result<Given>,
) -> Result<()> {
    let mut answer = nothing();
    let mut walk = Batches::new(bytes);
    loop {
        let position = walk.position();
        let given = walk.next_batch().and_then(|batch| {
            let Some(batch) = batch else { return Ok(None) };
            let is_hidden =
                batch.header().attributes.is_control() && flags & KLOG_READ_CONTROL == 0;
            let given = if is_hidden {
                Given::Records(0)
            } else {
                give(&batch).map_err(|e| {
                    e.at_offset(batch.header().base_offset)
                        .at_position(position as u64)
                })?
            };
            Ok(Some((*batch.header(), given)))
        });
        match given {
            Ok(Some((header, Given::Records(count)))) => {
                if answer.batches == 0 {
                    answer.first_offset = header.base_offset.0;
                }
                answer.batches += 1;
                answer.records = answer
                    .records
                    .saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
                answer.next_offset = header.last_offset.saturating_next().0;
                answer.bytes = walk.position() as u64;
            }
            Ok(Some((header, Given::TooLarge { records, bytes }))) if position == 0 => {
                answer.records = u32::try_from(records).unwrap_or(u32::MAX);
                answer.bytes_needed = bytes as u64;
                copy_growable(out, answer);
                return Err(Error::new(
                    ErrorKind::BufferTooSmall,
                    format!(
                        "the batch at offset {} needs room for {records} records and {bytes} bytes",
                        header.base_offset
                    ),
                )
                .at_offset(header.base_offset));
            }
            Err(error) if position == 0 => return Err(error),
            Ok(Some((_, Given::TooLarge { .. })) | None) | Err(_) => break,
        }
    }
    copy_growable(out, answer);
    if answer.bytes == 0 {
        return Err(Error::new(
            ErrorKind::End,
            format!("no whole batch is left in {} bytes", bytes.len()),
        ));
    }
    Ok(())
}

/// The result of a decoding that found nothing; there is no log to tell of.
fn nothing() -> klog_read_result {
    klog_read_result {
        struct_size: 0,
        flags: 0,
        bytes: 0,
        bytes_needed: 0,
        records: 0,
        batches: 0,
        first_offset: -1,
        next_offset: -1,
        log_start_offset: -1,
        high_watermark: -1,
        last_stable_offset: -1,
        log_end_offset: -1,
        aborted_txns: 0,
        reserved0: 0,
        segment_base_offset: -1,
        position: 0,
        aborted_upto: -1,
        reserved: [0; 3],
    }
}

/// Places of the caller that are not used yet.
struct Lender<'c> {
    places: &'c mut [klog_record],
    room: &'c mut [u8],
    parts: Vec<RecordParts>,
    decoder: RecordDecoder,
}

impl Lender<'_> {
    fn give(&mut self, batch: &Batch<'_>) -> Result<Given> {
        self.parts.clear();
        self.decoder.begin(batch)?;
        let (mut count, mut headers, mut discarded) = (0, 0, 0);
        // Once it is known not to fit it is only counted, in little memory.
        let mut fits = true;
        while let Some(parts) = self.decoder.next_parts(batch)? {
            count += 1;
            headers += self.decoder.view(batch, &parts).headers.len();
            fits = fits
                && count <= self.places.len()
                && self.decoder.inflated().len() <= self.room.len();
            if fits {
                self.parts.push(parts);
            } else {
                let before = self.decoder.inflated().len();
                self.decoder.discard_consumed();
                discarded += before - self.decoder.inflated().len();
            }
        }
        let inflated = discarded + self.decoder.inflated().len();
        let needed = inflated + header_bytes(headers);
        if !fits || needed > self.room.len() {
            return Ok(Given::TooLarge {
                records: count,
                bytes: needed,
            });
        }
        let room = std::mem::take(&mut self.room);
        let (bytes, room) = room.split_at_mut_checked(inflated).unwrap_or_default();
        bytes.copy_from_slice(self.decoder.inflated());
        let source = if self.decoder.is_inflating() {
            &*bytes
        } else {
            batch.bytes()
        };
        let (array, room) = room
            .split_at_mut_checked(header_bytes(headers))
            .unwrap_or_default();
        self.room = room;
        // SAFETY: a header is two pointers and two integers, for which all bytes are values.
        let (_, mut lent_headers, _) = unsafe { array.align_to_mut::<klog_header>() };
        let facts = *self.decoder.facts();
        let places = std::mem::take(&mut self.places);
        let (used, unused) = places.split_at_mut_checked(count).unwrap_or_default();
        self.places = unused;
        for (place, parts) in used.iter_mut().zip(&self.parts) {
            let record = parts.of(source, &facts);
            let (own, rest) = std::mem::take(&mut lent_headers)
                .split_at_mut_checked(record.headers.len())
                .unwrap_or_default();
            lent_headers = rest;
            for (header, lent) in record.headers.zip(own.iter_mut()) {
                *lent = lend_header(header);
            }
            *place = lend(&record, own);
        }
        Ok(Given::Records(count))
    }
}

/// Room for an array of headers, wherever it begins.
fn header_bytes(count: usize) -> usize {
    match count {
        0 => 0,
        count => count * size_of::<klog_header>() + align_of::<klog_header>() - 1,
    }
}

/// Adds the records of a batch to a packed buffer, all or none. Without a writer there is no room for anything.
fn pack(
    decoder: &mut RecordDecoder,
    mut writer: Option<&mut PackedWriter<'_>>,
    batch: &Batch<'_>,
    tells_batches: bool,
) -> Result<Given> {
    let mark = writer.as_ref().map(|writer| writer.mark());
    decoder.begin(batch)?;
    let (mut count, mut bytes, mut fits) = (0, HEAD_BYTES, writer.is_some());
    let walked = loop {
        match decoder.next(batch) {
            Ok(Some(record)) => {
                if tells_batches && count == 0 {
                    bytes += BATCH_ENTRY_BYTES;
                    let told = |w: &mut PackedWriter<'_>| w.push_batch(batch.header());
                    fits = fits && writer.as_mut().is_some_and(|w| told(w));
                }
                count += 1;
                bytes += PackedWriter::entry_bytes(&record);
                fits = fits && writer.as_mut().is_some_and(|writer| writer.push(&record));
            }
            Ok(None) => break Ok(()),
            Err(e) => break Err(e),
        }
    };
    if (!fits || walked.is_err())
        && let Some((writer, mark)) = writer.zip(mark)
    {
        writer.rewind(mark);
    }
    walked?;
    if fits {
        return Ok(Given::Records(count));
    }
    Ok(Given::TooLarge {
        records: count,
        bytes,
    })
}

/// Encodes records as one batch of magic 2 with the offsets from base_offset on, for klog_append_batches of a follower, or for
/// the network. Of opts count: compression (KLOG_COMPRESSION_CONFIG is none, there is no topic) and its level, the producer with
/// KLOG_APPEND_HAS_PRODUCER, KLOG_APPEND_TRANSACTIONAL, the leader epoch with KLOG_APPEND_HAS_EPOCH (else -1, as a producer
/// sends it); the others must be 0. The time of records without one is the system's.
///
/// The size of the batch goes to *needed; 0 for no records. KLOG_ERR_BUFFER_TOO_SMALL if cap is less. KLOG_ERR_TOO_LARGE,
/// KLOG_ERR_INVALID_TIMESTAMP, KLOG_ERR_INVALID_ARGUMENT with err->record_index.
///
/// Thread class T0, cost class C1. records is required unless count is 0; buf may be null with cap 0; opts, needed and err are
/// nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_encode(
    records: *const klog_record,
    count: usize,
    opts: *const klog_append_options,
    base_offset: i64,
    buf: *mut c_void,
    cap: usize,
    needed: *mut usize,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_encode", err, |_| {
        let records = array(records, count, "records")?;
        let options = encode_options(opts, base_offset)?;
        let room = buffer(buf, cap, "buf")?;
        let now = SystemClock.now();
        with_builder(|builder| {
            for (index, record) in records.iter().enumerate() {
                push_record(builder, record, index, now)?;
            }
            give_batch(builder, &options, room, needed)
        })
    })
}

/// As klog_encode, from a packed buffer of len bytes.
///
/// Thread class T0, cost class C1. packed is required; buf may be null with cap 0; opts, needed and err are nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_encode_packed(
    packed: *const c_void,
    len: usize,
    opts: *const klog_append_options,
    base_offset: i64,
    buf: *mut c_void,
    cap: usize,
    needed: *mut usize,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_encode_packed", err, |_| {
        check_required(packed, "packed")?;
        let mut reader = PackedReader::new(bytes(packed, len, "packed")?)?;
        let options = encode_options(opts, base_offset)?;
        let room = buffer(buf, cap, "buf")?;
        let now = SystemClock.now();
        with_builder(|builder| {
            while let Some(record) = reader.next_record()? {
                let timestamp = match record.timestamp {
                    TimestampMs(TIMESTAMP_NOW) => now,
                    given => given,
                };
                builder.push(timestamp, record.key, record.value, record.headers)?;
            }
            give_batch(builder, &options, room, needed)
        })
    })
}

fn encode_options(opts: *const klog_append_options, base_offset: i64) -> Result<BatchOptions> {
    let given = read_input(opts)?;
    let known = KLOG_APPEND_HAS_PRODUCER | KLOG_APPEND_HAS_EPOCH | KLOG_APPEND_TRANSACTIONAL;
    check_flags(given.flags, known, "opts.flags")?;
    check_reserved(&given.reserved, "opts")?;
    let unused = [
        (given.origin != 0, "origin"),
        (given.durability != 0, "durability"),
        (given.expected_log_end != 0, "expected_log_end"),
        (given.record_errors_cap != 0, "record_errors_cap"),
    ];
    if let Some((_, name)) = unused.iter().find(|(is_set, _)| *is_set) {
        return Err(Error::invalid_argument(format!(
            "opts.{name} must be 0: a batch that goes into no log has none"
        )));
    }
    if base_offset < 0 {
        return Err(Error::invalid_argument(format!(
            "base_offset is {base_offset}, offsets begin at 0"
        )));
    }
    let has = |flag| given.flags & flag != 0;
    if has(KLOG_APPEND_TRANSACTIONAL) && !has(KLOG_APPEND_HAS_PRODUCER) {
        return Err(Error::invalid_argument(
            "KLOG_APPEND_TRANSACTIONAL needs KLOG_APPEND_HAS_PRODUCER",
        ));
    }
    let mut options = BatchOptions {
        base_offset: Offset(base_offset),
        codec: codec_of(given.compression)?.unwrap_or(Codec::None),
        level: Some(given.compression_level).filter(|&level| level != 0),
        transactional: has(KLOG_APPEND_TRANSACTIONAL),
        ..BatchOptions::default()
    };
    if has(KLOG_APPEND_HAS_EPOCH) {
        options.leader_epoch = LeaderEpoch(given.leader_epoch);
    }
    if has(KLOG_APPEND_HAS_PRODUCER) {
        options.producer_id = ProducerId(given.producer_id);
        options.producer_epoch = producer_epoch_of(given.producer_epoch, "opts.producer_epoch")?;
        options.base_sequence = given.base_sequence;
    }
    Ok(options)
}

/// Gives the batch of a builder to the caller, or what it needs.
fn give_batch(
    builder: &mut BatchBuilder,
    options: &BatchOptions,
    room: &mut [u8],
    needed: *mut usize,
) -> Result<()> {
    let batch: &[u8] = match builder.record_count() {
        0 => &[],
        count if i64::from(count) > i64::MAX - options.base_offset.0 => {
            return Err(Error::invalid_argument(format!(
                "{count} records do not fit behind offset {}",
                options.base_offset
            )));
        }
        _ => builder.finish(options)?,
    };
    if !needed.is_null() {
        // SAFETY: not null, and the header requires a size_t there.
        unsafe { needed.write_unaligned(batch.len()) };
    }
    match room.get_mut(..batch.len()) {
        Some(place) => {
            place.copy_from_slice(batch);
            Ok(())
        }
        None => Err(Error::new(
            ErrorKind::BufferTooSmall,
            format!(
                "the batch needs {} bytes, {} are given",
                batch.len(),
                room.len()
            ),
        )
        .at_position(batch.len() as u64)),
    }
}
