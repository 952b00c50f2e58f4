//! Snapshots of producers, and indexes of aborted transactions.

use super::Dump;
use super::batches::{i16_at, i32_at, i64_at, u32_at};
use super::file_name::FileName;
use super::source::Source;
use super::stop::{Result, Thrown};

/// Version, checksum and count.
const HEAD_BYTES: u64 = 10;
const ENTRY_BYTES: u64 = 46;
const ABORTED_BYTES: u64 = 34;
/// After so many entries of aborted transactions a hole is looked for.
const HOLE_ENTRIES: u64 = 4096;
/// How much is read at once for the checksum.
const STEP_BYTES: usize = 256 * 1024;
/// More entries than this no list of Kafka's has.
const ENTRIES_MAX: i32 = 1_000_000;

impl Dump<'_> {
    /// Prints a `.snapshot` file. One that is damaged is told of, and the next file goes on.
    pub(crate) fn producer_snapshot(&mut self, name: &FileName) -> Result<()> {
        let mut source = Source::open(name.path())?;
        let count = match check_snapshot(&mut source)? {
            Ok(count) => count,
            Err(flaw) => {
                self.console.complain(&flaw);
                return Ok(());
            }
        };
        for n in 0..u64::from(count) {
            let entry = source.at(HEAD_BYTES + n * ENTRY_BYTES, 46)?.to_vec();
            self.producer(&entry).ok_or_else(Thrown::out_of_bounds)?;
            self.console.out.check()?;
        }
        Ok(())
    }

    fn producer(&mut self, entry: &[u8]) -> Option<()> {
        let last_sequence = i32_at(entry, 10)?;
        let last_offset = i64_at(entry, 14)?;
        let delta = i32_at(entry, 22)?;
        let timestamp = i64_at(entry, 26)?;
        let first_in_transaction = i64_at(entry, 38)?;
        let out = &mut self.console.out;
        out.text("producerId: ").int(i64_at(entry, 0)?);
        out.text(" producerEpoch: ").int(i16_at(entry, 8)?);
        out.text(" coordinatorEpoch: ").int(i32_at(entry, 34)?);
        if first_in_transaction >= 0 {
            out.text(" currentTxnFirstOffset: OptionalLong[")
                .int(first_in_transaction)
                .text("]");
        } else {
            out.text(" currentTxnFirstOffset: OptionalLong.empty");
        }
        out.text(" lastTimestamp: ").int(timestamp);
        if last_offset >= 0 {
            out.text(" firstSequence: ")
                .int(first_sequence(last_sequence, delta));
            out.text(" lastSequence: ").int(last_sequence);
            out.text(" lastOffset: ").int(last_offset);
            out.text(" offsetDelta: ").int(delta);
            out.text(" timestamp: ").int(timestamp);
        }
        out.line_end();
        Some(())
    }

    /// Prints a `.txnindex` file.
    pub(crate) fn transaction_index(&mut self, name: &FileName) -> Result<()> {
        name.offset()?;
        let mut source = match Source::open(name.path()) {
            Ok(source) => source,
            Err(super::stop::Stop::Thrown(_)) => return Ok(()),
            Err(e) => return Err(e),
        };
        let entries = source.len() / ABORTED_BYTES;
        // Kafka has all entries before it prints the first.
        let mut n = 0;
        while n < entries {
            let version = i16_at(source.at(n * ABORTED_BYTES, 34)?, 0).unwrap_or_default();
            if version != 0 {
                return Err(Thrown::kafka(format!(
                    "Unexpected aborted transaction version {version} in transaction index {}, supported version range is 0 to 0",
                    name.absolute()
                ))
                .into());
            }
            n += 1;
            // A hole is of version 0.
            if n % HOLE_ENTRIES == 0 {
                let written = source.written_from(n * ABORTED_BYTES)?;
                n = written.map_or(entries, |at| n.max(at / ABORTED_BYTES));
            }
        }
        for n in 0..entries {
            let entry = source.at(n * ABORTED_BYTES, 34)?;
            let field = |at| i64_at(entry, at).ok_or_else(Thrown::out_of_bounds);
            let out = &mut self.console.out;
            out.text("version: 0 producerId: ").int(field(2)?);
            out.text(" firstOffset: ").int(field(10)?);
            out.text(" lastOffset: ").int(field(18)?);
            out.text(" lastStableOffset: ").int(field(26)?).line_end();
            out.check()?;
        }
        Ok(())
    }
}

/// The sequence number of the first record of a batch whose last one has `last`.
fn first_sequence(last: i32, delta: i32) -> i32 {
    if last < delta {
        i32::MAX
            .wrapping_sub(delta.wrapping_sub(last))
            .wrapping_add(1)
    } else {
        last.wrapping_sub(delta)
    }
}

/// How many entries a snapshot has, or what is wrong with it.
fn check_snapshot(source: &mut Source) -> Result<std::result::Result<u32, String>> {
    let head = source.at(0, 10)?;
    let schema = |what: &str| Ok(Err(format!("Snapshot failed schema validation: {what}")));
    let Some(version) = i16_at(head, 0) else {
        return schema("null");
    };
    if version != 1 {
        return schema(&format!(
            "Snapshot contained an unknown file version {version}"
        ));
    }
    let (Some(stored), Some(count)) = (u32_at(head, 2), i32_at(head, 6)) else {
        return schema("null");
    };
    let remaining = source.len() - HEAD_BYTES;
    let Ok(entries) = u32::try_from(count) else {
        return schema("non-nullable field producerEntries was serialized as null");
    };
    if u64::from(entries) > remaining {
        return schema(&format!(
            "Tried to allocate a collection of size {count}, but there are only {remaining} bytes remaining."
        ));
    }
    if count > ENTRIES_MAX {
        return schema(&format!(
            "Tried to read a collection of size {count}, which exceeds the maximum allowed size of {ENTRIES_MAX}."
        ));
    }
    if u64::from(entries) * ENTRY_BYTES > remaining {
        return schema("null");
    }
    let computed = checksum(source)?;
    if computed != stored {
        return Ok(Err(format!(
            "Snapshot is corrupt (CRC is no longer valid). Stored crc: {stored}. Computed crc: {computed}"
        )));
    }
    Ok(Ok(entries))
}

/// The checksum of all that lies behind the one that is stored.
fn checksum(source: &mut Source) -> Result<u32> {
    let zeros = vec![0; STEP_BYTES];
    let (mut computed, mut at) = (0, 6);
    while at < source.len() {
        // Gigabytes of a hole count as what they are, and need not be read.
        let written = source.written_from(at)?.unwrap_or(source.len());
        let is_hole = written > at;
        let end = if is_hole { written } else { source.len() };
        let n = usize::try_from(end - at).map_or(STEP_BYTES, |n| n.min(STEP_BYTES));
        let piece = if is_hole {
            zeros.get(..n).unwrap_or_default()
        } else {
            source.at(at, n)?
        };
        if piece.is_empty() {
            break;
        }
        computed = crc32c::crc32c_append(computed, piece);
        at += piece.len() as u64;
    }
    Ok(computed)
}

#[cfg(test)]
mod tests {
    use super::first_sequence;

    #[test]
    fn the_first_sequence_wraps_below_zero() {
        assert_eq!(first_sequence(9, 4), 5);
        assert_eq!(first_sequence(0, 1), i32::MAX);
    }
}
