//! Log files and metadata snapshots, batch by batch and record by record.

use klog::format::codec::Codec;

use super::batches::{BatchAt, V2_HEADER_BYTES, Walk, i16_at, i32_at, i64_at, u32_at};
use super::file_name::{FileName, parse_number};
use super::legacy;
use super::records::Records;
use super::source::Source;
use super::stop::{Result, Thrown};
use super::{Dump, HELD_BYTES};

/// How much of a batch is held at once for its checksum.
const STEP_BYTES: usize = 256 * 1024;

impl Dump<'_> {
    /// Prints a `.log` or `.checkpoint` file.
    pub(crate) fn log(&mut self, name: &FileName) -> Result<()> {
        self.log_head(name)?;
        let mut source = Source::open(name.path())?;
        let size = ensure_segment(&source, name)?;
        let max_bytes = self.options.max_bytes;
        let limit = u64::try_from(max_bytes).map_err(|_| {
            Thrown::illegal_argument(format!(
                "Invalid size: {max_bytes} in read from FileRecords(size={size}, file={name}, start=0, end=2147483647)"
            ))
        })?;
        let end = size.min(limit);
        let mut walk = Walk::new(0, end);
        let mut last_offset = -1;
        let mut records = Records::default();
        while let Some(batch) = walk.next(&mut source, name)? {
            // As one piece, where it may be held.
            if batch.size <= HELD_BYTES as u64 {
                source.at(batch.position, usize::try_from(batch.size).unwrap_or(0))?;
            }
            self.batch(&batch, &mut source, name)?;
            if self.options.is_deep() {
                if batch.magic < 2 {
                    legacy::records(self, &batch, &mut source, name, &mut last_offset)?;
                } else {
                    records.print(self, &batch, &mut source, name, &mut last_offset)?;
                }
            }
            self.console.out.check()?;
        }
        let trailing = end - walk.position();
        if trailing > 0 && max_bytes == i32::MAX {
            let out = &mut self.console.out;
            out.text("Found ").text(&trailing.to_string());
            out.text(" invalid bytes at the end of ")
                .text(name.name())
                .line_end();
        }
        Ok(())
    }

    fn log_head(&mut self, name: &FileName) -> Result<()> {
        let out = &mut self.console.out;
        if name.suffix() == Some(".log") {
            let offset = name.offset()?;
            out.text("Log starting offset: ").int(offset).line_end();
        } else if name.name() == "bootstrap.checkpoint" {
            out.text("KRaft bootstrap snapshot\n");
        } else {
            let (offset, epoch) = snapshot_id(name.name())?;
            out.text("Snapshot end offset: ").int(offset);
            out.text(", epoch: ").int(epoch).line_end();
        }
        Ok(())
    }

    fn batch(&mut self, batch: &BatchAt, source: &mut Source, name: &FileName) -> Result<()> {
        if batch.magic < 2 {
            return legacy::batch(self, batch, source, name);
        }
        let header: [u8; V2_HEADER_BYTES] = batch
            .header(source, name, V2_HEADER_BYTES)?
            .try_into()
            .unwrap_or([0; V2_HEADER_BYTES]);
        let header = V2Header::parse(&header).ok_or_else(Thrown::out_of_bounds)?;
        let is_valid = is_valid_v2(batch, header.crc, source)?;
        let out = &mut self.console.out;
        out.text("baseOffset: ").int(batch.offset);
        out.text(" lastOffset: ")
            .int(header.last_offset(batch.offset));
        out.text(" count: ").int(header.count);
        out.text(" baseSequence: ").int(header.base_sequence);
        out.text(" lastSequence: ").int(header.last_sequence());
        out.text(" producerId: ").int(header.producer_id);
        out.text(" producerEpoch: ").int(header.producer_epoch);
        out.text(" partitionLeaderEpoch: ").int(header.leader_epoch);
        out.text(" isTransactional: ")
            .bool(header.is_transactional());
        out.text(" isControl: ").bool(header.is_control());
        match header.delete_horizon() {
            Some(time) => out
                .text(" deleteHorizonMs: OptionalLong[")
                .int(time)
                .text("]"),
            None => out.text(" deleteHorizonMs: OptionalLong.empty"),
        };
        let codec = codec_name(header.attributes)?;
        out.text(" position: ").int(position(batch));
        out.text(" ")
            .text(header.timestamp_type())
            .text(": ")
            .int(header.max_timestamp);
        out.text(" size: ").int(size(batch));
        out.text(" magic: ").int(batch.magic);
        out.text(" compresscodec: ").text(codec);
        out.text(" crc: ").int(header.crc);
        out.text(" isvalid: ").bool(is_valid).line_end();
        Ok(())
    }
}

/// The header of a batch of magic 2, or of a larger one.
pub(crate) struct V2Header {
    pub(crate) leader_epoch: i32,
    pub(crate) crc: u32,
    pub(crate) attributes: i16,
    last_offset_delta: i32,
    pub(crate) base_timestamp: i64,
    pub(crate) max_timestamp: i64,
    pub(crate) producer_id: i64,
    pub(crate) producer_epoch: i16,
    pub(crate) base_sequence: i32,
    pub(crate) count: i32,
}

impl V2Header {
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        Some(Self {
            leader_epoch: i32_at(bytes, 12)?,
            crc: u32_at(bytes, 17)?,
            attributes: i16_at(bytes, 21)?,
            last_offset_delta: i32_at(bytes, 23)?,
            base_timestamp: i64_at(bytes, 27)?,
            max_timestamp: i64_at(bytes, 35)?,
            producer_id: i64_at(bytes, 43)?,
            producer_epoch: i16_at(bytes, 51)?,
            base_sequence: i32_at(bytes, 53)?,
            count: i32_at(bytes, 57)?,
        })
    }

    fn last_offset(&self, base: i64) -> i64 {
        base.wrapping_add(self.last_offset_delta.into())
    }

    fn last_sequence(&self) -> i32 {
        if self.base_sequence == -1 {
            -1
        } else {
            increment_sequence(self.base_sequence, self.last_offset_delta)
        }
    }

    fn is_transactional(&self) -> bool {
        self.attributes & 0x10 != 0
    }

    pub(crate) fn is_control(&self) -> bool {
        self.attributes & 0x20 != 0
    }

    fn delete_horizon(&self) -> Option<i64> {
        (self.attributes & 0x40 != 0).then_some(self.base_timestamp)
    }

    pub(crate) fn is_log_append_time(&self) -> bool {
        self.attributes & 0x08 != 0
    }

    pub(crate) fn timestamp_type(&self) -> &'static str {
        timestamp_type(self.attributes)
    }
}

/// The name of the type that the attributes have.
pub(crate) fn timestamp_type(attributes: i16) -> &'static str {
    if attributes & 0x08 == 0 {
        "CreateTime"
    } else {
        "LogAppendTime"
    }
}

/// The name of the codec that the attributes have.
pub(crate) fn codec_name(attributes: i16) -> std::result::Result<&'static str, Thrown> {
    let id = attributes & 0x07;
    let codec = u8::try_from(id).ok().and_then(Codec::from_id);
    match codec {
        Some(Codec::None) => Ok("none"),
        Some(Codec::Gzip) => Ok("gzip"),
        Some(Codec::Snappy) => Ok("snappy"),
        Some(Codec::Lz4) => Ok("lz4"),
        Some(Codec::Zstd) => Ok("zstd"),
        None => Err(Thrown::illegal_argument(format!(
            "Unknown compression type id: {id}"
        ))),
    }
}

/// Sequence numbers begin again at 0 behind the largest.
pub(crate) fn increment_sequence(sequence: i32, increment: i32) -> i32 {
    if sequence > i32::MAX.wrapping_sub(increment) {
        increment
            .wrapping_sub(i32::MAX.wrapping_sub(sequence))
            .wrapping_sub(1)
    } else {
        sequence.wrapping_add(increment)
    }
}

pub(crate) fn position(batch: &BatchAt) -> i64 {
    i64::try_from(batch.position).unwrap_or(i64::MAX)
}

pub(crate) fn size(batch: &BatchAt) -> i64 {
    i64::try_from(batch.size).unwrap_or(i64::MAX)
}

fn is_valid_v2(batch: &BatchAt, stored: u32, source: &mut Source) -> Result<bool> {
    if batch.size < V2_HEADER_BYTES as u64 {
        return Ok(false);
    }
    let end = batch.position + batch.size;
    let mut at = batch.position + 21;
    let mut computed = 0;
    while at < end {
        let n = usize::try_from(end - at)
            .unwrap_or(usize::MAX)
            .min(STEP_BYTES);
        let piece = source.at(at, n)?;
        if piece.is_empty() {
            return Ok(false);
        }
        computed = crc32c::crc32c_append(computed, piece);
        at += piece.len() as u64;
    }
    Ok(computed == stored)
}

/// Kafka opens no segment above the largest that it writes. The size of the file.
pub(crate) fn ensure_segment(source: &Source, name: &FileName) -> Result<u64> {
    let size = source.len();
    if size > u64::from(i32::MAX.unsigned_abs()) {
        return Err(Thrown::kafka(format!(
            "The size of segment {name} ({size}) is larger than the maximum allowed segment size of 2147483647"
        ))
        .into());
    }
    Ok(size)
}

/// Offset and epoch of a metadata snapshot: 20 and 10 digits.
fn snapshot_id(name: &str) -> std::result::Result<(i64, i32), Thrown> {
    let part = |from: usize, to: usize| {
        name.get(from..to).ok_or_else(|| {
            Thrown::new(
                "java.lang.StringIndexOutOfBoundsException",
                format!("begin {from}, end {to}, length {}", name.len()),
            )
        })
    };
    Ok((parse_number(part(0, 20)?)?, parse_number(part(21, 31)?)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_wrap_to_zero() {
        assert_eq!(increment_sequence(5, 3), 8);
        assert_eq!(increment_sequence(i32::MAX, 1), 0);
        assert_eq!(increment_sequence(i32::MAX - 1, 3), 1);
    }

    #[test]
    fn the_name_of_a_snapshot_has_offset_and_epoch() {
        assert_eq!(
            snapshot_id("00000000000000000123-0000000007.checkpoint").unwrap(),
            (123, 7)
        );
        assert!(snapshot_id("short.checkpoint").is_err());
    }
}
