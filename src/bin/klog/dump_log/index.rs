//! Offset indexes, held against their log.

use super::Dump;
use super::batches::{Walk, i32_at};
use super::file_name::FileName;
use super::log::ensure_segment;
use super::source::Source;
use super::stop::{Result, Stop, Thrown};

const ENTRY_BYTES: u64 = 8;
/// The entries at the end that a look-up tries first.
const WARM_ENTRIES: i64 = 8192 / ENTRY_BYTES.cast_signed();

/// An offset index as it lies in its file.
pub(crate) struct OffsetIndex {
    source: Source,
    base_offset: i64,
}

/// An entry.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) offset: i64,
    pub(crate) position: i32,
}

impl OffsetIndex {
    pub(crate) fn open(name: &FileName, base_offset: i64) -> Result<Self> {
        Ok(Self {
            source: open_index(name)?,
            base_offset,
        })
    }

    pub(crate) fn entries(&self) -> i64 {
        i64::try_from(self.source.len() / ENTRY_BYTES).unwrap_or(i64::MAX)
    }

    pub(crate) fn entry(&mut self, n: i64) -> Result<Entry> {
        let bytes = self.source.at(n.unsigned_abs() * ENTRY_BYTES, 8)?;
        let relative = i32_at(bytes, 0).ok_or_else(Thrown::out_of_bounds)?;
        let position = i32_at(bytes, 4).ok_or_else(Thrown::out_of_bounds)?;
        Ok(Entry {
            offset: self.base_offset.wrapping_add(relative.into()),
            position,
        })
    }

    /// The last entry at or below an offset, found by the same steps as Kafka's: in an index out of order they decide.
    pub(crate) fn lookup(&mut self, offset: i64) -> Result<Entry> {
        let none = Entry {
            offset: self.base_offset,
            position: 0,
        };
        let entries = self.entries();
        if entries == 0 {
            return Ok(none);
        }
        let first_warm = (entries - 1 - WARM_ENTRIES).max(0);
        let (mut low, mut high) = if self.entry(first_warm)?.offset < offset {
            (first_warm, entries - 1)
        } else if self.entry(0)?.offset > offset {
            return Ok(none);
        } else {
            (0, first_warm)
        };
        while low < high {
            let middle = i64::midpoint(low, high + 1);
            let found = self.entry(middle)?;
            match found.offset.cmp(&offset) {
                std::cmp::Ordering::Greater => high = middle - 1,
                std::cmp::Ordering::Less => low = middle,
                std::cmp::Ordering::Equal => return Ok(found),
            }
        }
        self.entry(low)
    }

    fn sanity_check(&mut self, name: &FileName) -> Result<()> {
        let last = self.entry(self.entries() - 1)?.offset;
        if last < self.base_offset {
            return Err(corrupt(format!(
                "Corrupt index found, index file {} has non-zero size but the last offset is {last} which is less than the base offset {}",
                name.absolute(),
                self.base_offset
            )));
        }
        ensure_multiple("Index", name, self.source.len(), ENTRY_BYTES)
    }
}

/// Opens an index, which cannot be larger than Java can map. One that is not there Kafka would create, and fail.
pub(crate) fn open_index(name: &FileName) -> Result<Source> {
    let source = Source::open(name.path()).map_err(|stop| match stop {
        Stop::Thrown(_) => Thrown::illegal_argument("Invalid max index size: -1").into(),
        other => other,
    })?;
    if source.len() > u64::from(i32::MAX.unsigned_abs()) {
        return Err(Thrown::illegal_argument("Size exceeds Integer.MAX_VALUE").into());
    }
    Ok(source)
}

pub(crate) fn corrupt(message: String) -> Stop {
    Thrown::new(
        "org.apache.kafka.storage.internals.log.CorruptIndexException",
        message,
    )
    .into()
}

pub(crate) fn ensure_multiple(what: &str, name: &FileName, len: u64, of: u64) -> Result<()> {
    if !len.is_multiple_of(of) {
        return Err(corrupt(format!(
            "{what} file {} is corrupt, found {len} bytes which is neither positive nor a multiple of {of}",
            name.absolute()
        )));
    }
    Ok(())
}

impl Dump<'_> {
    /// Prints a `.index` file.
    pub(crate) fn index(&mut self, name: &FileName) -> Result<()> {
        let base_offset = name.offset()?;
        let log_name = name.sibling(".log");
        let mut log = Source::open(log_name.path())?;
        let log_size = ensure_segment(&log, &log_name)?;
        let mut index = OffsetIndex::open(name, base_offset)?;
        if index.entries() == 0 {
            self.console
                .out
                .text(&name.to_string())
                .text(" is empty.\n");
            return Ok(());
        }
        if self.options.checks_sanity {
            index.sanity_check(name)?;
            self.console
                .out
                .text(&name.to_string())
                .text(" passed sanity check.\n");
            return Ok(());
        }
        for n in 0..index.entries() {
            let entry = index.entry(n)?;
            // What follows is room that was not used.
            if entry.offset == base_offset && n > 0 {
                return Ok(());
            }
            let (from, end) = slice(
                entry.position,
                self.options.max_message_size,
                log_size,
                &log_name,
            )?;
            let batch = Walk::new(from, end).next(&mut log, &log_name)?;
            let Some(batch) = batch else {
                return Err(Thrown {
                    class: "java.util.NoSuchElementException",
                    message: None,
                }
                .into());
            };
            let last_offset = batch.last_offset(&mut log, &log_name)?;
            if last_offset != entry.offset {
                let mismatches = self.summary.index_mismatches.of(name)?;
                mismatches.push(entry.offset, last_offset)?;
            }
            if !self.options.verifies_only {
                let out = &mut self.console.out;
                out.text("offset: ").int(entry.offset);
                out.text(" position: ").int(entry.position).line_end();
                out.check()?;
            }
        }
        Ok(())
    }
}

/// A stretch of a log as Kafka cuts it out.
pub(crate) fn slice(position: i32, size: i32, log_size: u64, log: &FileName) -> Result<(u64, u64)> {
    let shown = || format!("FileRecords(size={log_size}, file={log}, start=0, end=2147483647)");
    let refuse = |text: String| Err(Thrown::illegal_argument(text).into());
    let Ok(from) = u64::try_from(position) else {
        return refuse(format!(
            "Invalid position: {position} in read from {}",
            shown()
        ));
    };
    if from > log_size {
        return refuse(format!(
            "Slice from position {position} exceeds end position of {}",
            shown()
        ));
    }
    let Ok(size) = u64::try_from(size) else {
        return refuse(format!("Invalid size: {size} in read from {}", shown()));
    };
    Ok((from, (from + size).min(log_size)))
}
