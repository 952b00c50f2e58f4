//! The records of a batch of magic 2, as they are printed.

use klog::error::{Error, ErrorKind};
use klog::format::batch::Batch;
use klog::format::decoder::RecordDecoder;
use klog::format::record::{Headers, Record, RecordParts};

use super::batches::{BatchAt, V2_HEADER_BYTES, i32_at, i64_at};
use super::file_name::FileName;
use super::java::decode_utf8;
use super::log::V2Header;
use super::parser::Part;
use super::source::Source;
use super::stop::{Result, Stop, Thrown};
use super::streamed;
use super::{Dump, HELD_BYTES};

/// What is printed of a record.
pub(crate) struct Shown<'a> {
    pub(crate) offset: i64,
    pub(crate) timestamp: i64,
    pub(crate) key_size: i32,
    pub(crate) value_size: i32,
    pub(crate) key: Option<&'a [u8]>,
    pub(crate) value: Option<&'a [u8]>,
}

/// Prints the records of batches.
#[derive(Default)]
pub(crate) struct Records {
    decoder: RecordDecoder,
    collected: Vec<RecordParts>,
}

/// Whether all records of a batch were collected.
enum Collected {
    All,
    TooMany,
}

/// How many records are collected.
const COLLECTED_MAX: usize = 32 * 1024;

impl Records {
    pub(crate) fn print(
        &mut self,
        dump: &mut Dump<'_>,
        at: &BatchAt,
        source: &mut Source,
        name: &FileName,
        last_offset: &mut i64,
    ) -> Result<()> {
        if at.size < V2_HEADER_BYTES as u64 {
            return Err(Thrown::out_of_bounds().into());
        }
        let header = at.header(source, name, V2_HEADER_BYTES)?;
        let header = V2Header::parse(header).ok_or_else(Thrown::out_of_bounds)?;
        ensure_count(&header, at.magic)?;
        if header.count == 0 {
            return Ok(());
        }
        if at.size > HELD_BYTES as u64 {
            return streamed::print(dump, at, &header, source, name, last_offset);
        }
        let bytes = source.at(at.position, usize::try_from(at.size).unwrap_or(usize::MAX))?;
        let batch = Batch::new(bytes)?;
        self.decoder.bound_memory(HELD_BYTES);
        let mut print = |record: &Record<'_>| {
            let shown = shown(record);
            dump.gap(shown.offset, last_offset, name)?;
            dump.record(&header, &shown, record.sequence, record.headers)?;
            dump.console.out.check()
        };
        // Kafka has all records of a compressed batch before it prints the first.
        if batch.header().attributes.is_compressed() {
            let known = match self.collect(&batch) {
                Ok(Collected::All) => {
                    for parts in &self.collected {
                        print(&parts.of(self.decoder.inflated(), self.decoder.facts()))?;
                    }
                    return Ok(());
                }
                Ok(Collected::TooMany) => self.walk(&batch, |_| Ok(())),
                Err(e) => Err(e),
            };
            if let Err(e) = known {
                if is_too_large(&e) {
                    return streamed::print(dump, at, &header, source, name, last_offset);
                }
                return Err(e);
            }
        }
        self.walk(&batch, print)
    }

    /// Collects the records of a compressed batch, if they are not too many for that.
    fn collect(&mut self, batch: &Batch<'_>) -> Result<Collected> {
        self.collected.clear();
        self.decoder.begin(batch).map_err(thrown)?;
        while let Some(parts) = self.decoder.next_parts(batch).map_err(thrown)? {
            self.collected.push(parts);
            if self.collected.len() == COLLECTED_MAX || self.decoder.inflated().len() > HELD_BYTES {
                return Ok(Collected::TooMany);
            }
        }
        Ok(Collected::All)
    }

    fn walk(
        &mut self,
        batch: &Batch<'_>,
        mut each: impl FnMut(&Record<'_>) -> Result<()>,
    ) -> Result<()> {
        self.decoder.begin(batch).map_err(thrown)?;
        while let Some(record) = self.decoder.next(batch).map_err(thrown)? {
            each(&record)?;
        }
        Ok(())
    }
}

fn shown<'a>(record: &Record<'a>) -> Shown<'a> {
    let size = |bytes: Option<&[u8]>| {
        bytes.map_or(-1, |bytes| i32::try_from(bytes.len()).unwrap_or(i32::MAX))
    };
    Shown {
        offset: record.offset.0,
        timestamp: record.timestamp.0,
        key_size: size(record.key),
        value_size: size(record.value),
        key: record.key,
        value: record.value,
    }
}

/// The text that the decoder gives a record above the limit.
fn is_too_large(stop: &Stop) -> bool {
    matches!(stop, Stop::Thrown(Thrown { message: Some(text), .. }) if text.contains("above the limit"))
}

fn ensure_count(header: &V2Header, magic: i8) -> Result<()> {
    if header.count < 0 {
        return Err(Thrown::invalid_record(format!(
            "Found invalid record count {} in magic v{magic} batch",
            header.count
        ))
        .into());
    }
    Ok(())
}

/// What is wrong with a batch is what Kafka throws.
pub(crate) fn thrown(error: Error) -> Stop {
    match error.kind() {
        ErrorKind::NoMemory => Stop::Failed(error),
        ErrorKind::UnsupportedCompressionType => Thrown::illegal_argument(error.message()).into(),
        ErrorKind::CorruptMessage => Thrown::kafka(error.message()).into(),
        _ => Thrown::invalid_record(error.message()).into(),
    }
}

impl Dump<'_> {
    /// Notes where offsets do not follow each other.
    pub(crate) fn gap(
        &mut self,
        offset: i64,
        last_offset: &mut i64,
        name: &FileName,
    ) -> Result<()> {
        if offset != last_offset.wrapping_add(1) {
            self.summary.gaps.of(name)?.push(*last_offset, offset)?;
        }
        *last_offset = offset;
        Ok(())
    }

    /// Prints a record of magic 2.
    pub(crate) fn record(
        &mut self,
        header: &V2Header,
        shown: &Shown<'_>,
        sequence: i32,
        headers: Headers<'_>,
    ) -> Result<()> {
        let keys = headers.map(|header| header.key);
        self.record_head(header, shown, sequence, keys)?;
        if self.options.prints_contents && !header.is_control() {
            self.contents(shown.offset, Ok(shown.key), Ok(shown.value))?;
        }
        self.console.out.line_end();
        Ok(())
    }

    /// Prints what stands in front of key and value.
    pub(crate) fn record_head<'a>(
        &mut self,
        header: &V2Header,
        shown: &Shown<'_>,
        sequence: i32,
        header_keys: impl Iterator<Item = &'a [u8]>,
    ) -> Result<()> {
        if !self.options.skips_record_metadata {
            self.record_metadata(header.timestamp_type(), shown);
            let out = &mut self.console.out;
            out.text(" sequence: ").int(sequence).text(" headerKeys: [");
            for (i, key) in header_keys.enumerate() {
                if i > 0 {
                    out.text(",");
                }
                decode_utf8(key, |piece| {
                    out.bytes(piece);
                });
            }
            out.text("]");
            if header.is_control() {
                self.control(shown)?;
            }
        }
        Ok(())
    }

    pub(crate) fn record_metadata(&mut self, timestamp_type: &str, shown: &Shown<'_>) {
        let out = &mut self.console.out;
        out.text("| offset: ").int(shown.offset);
        out.text(" ")
            .text(timestamp_type)
            .text(": ")
            .int(shown.timestamp);
        out.text(" keySize: ").int(shown.key_size);
        out.text(" valueSize: ").int(shown.value_size);
    }

    /// Prints key and value in the way that was asked for.
    pub(crate) fn contents(&mut self, offset: i64, key: Part<'_>, value: Part<'_>) -> Result<()> {
        let prefix = if self.options.skips_record_metadata {
            "| "
        } else {
            " "
        };
        self.options
            .parser
            .print(&mut self.console.out, prefix, offset, key, value)
    }
}

/// Reads a number as Kafka's decoders for numbers do.
pub(crate) fn number(bytes: &[u8], width: usize) -> Result<i64> {
    let number = if width == 4 {
        i32_at(bytes, 0).map(i64::from)
    } else {
        i64_at(bytes, 0)
    };
    Ok(number.ok_or_else(Thrown::underflow)?)
}

/// The largest time of the records of a batch, at least -1.
pub(crate) fn max_timestamp(at: &BatchAt, source: &mut Source, name: &FileName) -> Result<i64> {
    if at.magic < 2 {
        return super::legacy::max_timestamp(at, source);
    }
    if at.size < V2_HEADER_BYTES as u64 {
        return Err(Thrown::out_of_bounds().into());
    }
    let header = at.header(source, name, V2_HEADER_BYTES)?;
    let header = V2Header::parse(header).ok_or_else(Thrown::out_of_bounds)?;
    ensure_count(&header, at.magic)?;
    if at.size > HELD_BYTES as u64 {
        return streamed::max_timestamp(at, &header, source);
    }
    let bytes = source.at(at.position, usize::try_from(at.size).unwrap_or(usize::MAX))?;
    let batch = Batch::new(bytes)?;
    let mut records = Records::default();
    records.decoder.bound_memory(HELD_BYTES);
    let mut latest = -1;
    let walked = records.walk(&batch, |record| {
        latest = latest.max(record.timestamp.0);
        Ok(())
    });
    match walked {
        Err(e) if is_too_large(&e) => streamed::max_timestamp(at, &header, source),
        other => other.map(|()| latest),
    }
}
