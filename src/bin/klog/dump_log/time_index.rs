//! Time indexes, held against their log.

use super::Dump;
use super::batches::{BatchAt, Walk, i32_at, i64_at};
use super::file_name::FileName;
use super::index::{OffsetIndex, corrupt, ensure_multiple, open_index, slice};
use super::log::ensure_segment;
use super::records::max_timestamp;
use super::source::Source;
use super::stop::{Result, Thrown};

const ENTRY_BYTES: u64 = 12;

struct TimeIndex {
    source: Source,
    base_offset: i64,
}

impl TimeIndex {
    fn entries(&self) -> u64 {
        self.source.len() / ENTRY_BYTES
    }

    /// Time and offset of an entry.
    fn entry(&mut self, n: u64) -> Result<(i64, i64)> {
        let bytes = self.source.at(n * ENTRY_BYTES, 12)?;
        let time = i64_at(bytes, 0).ok_or_else(Thrown::out_of_bounds)?;
        let relative = i32_at(bytes, 8).ok_or_else(Thrown::out_of_bounds)?;
        Ok((time, self.base_offset.wrapping_add(relative.into())))
    }

    fn sanity_check(&mut self, name: &FileName) -> Result<()> {
        if self.entries() > 0 {
            let (first_time, _) = self.entry(0)?;
            let (time, offset) = self.entry(self.entries() - 1)?;
            let found = |what: &str, last: i64, first: i64| {
                corrupt(format!(
                    "Corrupt time index found, time index file ({}) has non-zero size but the last {what} is {last} which is less than the first {what} {first}",
                    name.absolute()
                ))
            };
            if time < first_time {
                return Err(found("timestamp", time, first_time));
            }
            if offset < self.base_offset {
                return Err(found("offset", offset, self.base_offset));
            }
        }
        ensure_multiple("Time index", name, self.source.len(), ENTRY_BYTES)
    }
}

/// Finds batches for the entries of an index. Kafka reads all headers from an entry's place to the end of the log for each
/// of them; that they can be read is known once for all places on the same chain of batches.
struct Finder {
    log: Source,
    name: FileName,
    size: u64,
    /// A place from which every header to the end could be read.
    sound_from: Option<u64>,
}

impl Finder {
    /// The first batch from `from` on that ends at or behind `offset`.
    fn find(&mut self, from: u64, offset: i64) -> Result<Option<BatchAt>> {
        self.ensure_sound(from)?;
        let mut walk = Walk::new(from, self.size);
        while let Some(batch) = walk.next(&mut self.log, &self.name)? {
            if batch.last_offset(&mut self.log, &self.name)? >= offset {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }

    fn ensure_sound(&mut self, from: u64) -> Result<()> {
        if let Some(sound) = self.sound_from.filter(|&sound| sound <= from) {
            let mut walk = Walk::new(sound, self.size);
            while walk.position() < from {
                if walk.next(&mut self.log, &self.name)?.is_none() {
                    break;
                }
            }
            if walk.position() == from {
                self.sound_from = Some(from);
                return Ok(());
            }
        }
        let mut walk = Walk::new(from, self.size);
        while walk.next(&mut self.log, &self.name)?.is_some() {}
        self.sound_from = Some(from);
        Ok(())
    }
}

impl Dump<'_> {
    /// Prints a `.timeindex` file.
    pub(crate) fn time_index(&mut self, name: &FileName) -> Result<()> {
        let base_offset = name.offset()?;
        let log_name = name.sibling(".log");
        let log = Source::open(log_name.path())?;
        let size = ensure_segment(&log, &log_name)?;
        let mut offsets = OffsetIndex::open(&name.sibling(".index"), base_offset)?;
        let mut times = TimeIndex {
            source: open_index(name)?,
            base_offset,
        };
        if self.options.checks_sanity {
            times.sanity_check(name)?;
            self.console
                .out
                .text(&name.to_string())
                .text(" passed sanity check.\n");
            return Ok(());
        }
        let mut finder = Finder {
            log,
            name: log_name,
            size,
            sound_from: None,
        };
        let mut time_before = -1;
        for n in 0..times.entries() {
            let (time, offset) = times.entry(n)?;
            // What follows is room that was not used.
            if offset == base_offset && n > 0 {
                return Ok(());
            }
            self.time_entry(name, (time, offset), time_before, &mut offsets, &mut finder)?;
            if !self.options.verifies_only {
                let out = &mut self.console.out;
                out.text("timestamp: ").int(time);
                out.text(" offset: ").int(offset).line_end();
                out.check()?;
            }
            time_before = time;
        }
        Ok(())
    }

    /// Holds one entry against the log.
    fn time_entry(
        &mut self,
        name: &FileName,
        (time, offset): (i64, i64),
        time_before: i64,
        offsets: &mut OffsetIndex,
        finder: &mut Finder,
    ) -> Result<()> {
        let place = offsets.lookup(offset)?.position;
        let (from, _) = slice(place, i32::MAX, finder.size, &finder.name)?;
        let Some(batch) = finder.find(from, offset)? else {
            self.summary.not_found.of(name)?.push(offset, -1)?;
            return Ok(());
        };
        let last_offset = batch.last_offset(&mut finder.log, &finder.name)?;
        if last_offset != offset {
            self.summary.not_found.of(name)?.push(offset, last_offset)?;
            return Ok(());
        }
        let latest = max_timestamp(&batch, &mut finder.log, &finder.name)?;
        if latest != time {
            self.summary.time_mismatches.of(name)?.push(time, latest)?;
        }
        if time_before >= time {
            self.summary
                .out_of_order
                .of(name)?
                .push(time, time_before)?;
        }
        Ok(())
    }
}
